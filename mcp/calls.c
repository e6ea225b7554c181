#define _POSIX_C_SOURCE 200809L

#include "mcp/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/results.h"
#include "mcp/watch.h"
#include "session/log.h"
#include "session/secret.h"

enum {
	WAITS = 1000,          /* calls about tasks, or subscriptions (P6) */
	QUIET = 300,           /* ms of silence that end a wait for news (W2) */
	QUIET_TYPED = 2000,    /* ms, if something was typed */
	BURST = 100,           /* ms after `until`: its line may go on (W3) */
	PROMPT_POLL = 50,      /* ms between checks whether a terminal prompts:
	                        * a change of its settings is no event (I3) */
	PROGRESS_GAP = 100,    /* ms from news to progress (O7); clients lose it
	                        * if they read it together with the response */
	PROGRESS_SILENCE = 10000,  /* ms; then there is progress without news */
	PROGRESS_SIZE = 4000,  /* bytes of each stream */
	PROGRESS_ROOM = 2048,  /* bytes of the rest of the message */
	RESULT_SMALL = 4096,   /* bytes; such results need no check for memory */
	RESULT_TIMES = 12      /* as many times its output a result can take */
};

#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* An open call holds its job until it is answered or cancelled. */
struct call {
	struct call *next, *previous;
	struct client *client; /* whose call it is */
	struct reply reply;
	struct buf text;       /* what reply.id and token point into */
	struct json token;     /* for progress; empty: none */
	const struct tool *tool;  /* NULL: subscriptions/listen */
	struct job *job;       /* NULL: a list, or a subscription */
	struct want want;
	int64_t due;           /* ms; when to answer it; NEVER: not by time */
	int64_t deadline;      /* ms; of its wait */
	int64_t limit;         /* ms; until when it is held open at most (K2) */
	int64_t read_at;       /* ms; when the request was read */
	int64_t progress_at;   /* ms; of the next progress */
	struct output_cursor out_shown, err_shown;  /* as progress */
	struct watch watch;    /* of the task's output */
	enum terminal_mode mode;  /* of the terminal when it was typed into */
};

/* A new call in the list; NULL: too many, or no memory, which is answered. */
static struct call *
open_call(struct client *c, const struct reply *r, struct json token,
          bool waits)
{
	struct buf text = { NULL, 0, 0 };
	struct call *call;
	int64_t number;
	size_t id_len;

	/* A call on its own is always accepted; but their number is up to the
	 * client. */
	if ((waits && c->waits == WAITS) ||
	    (c->first != NULL && !mem_is_there(MEM_SPARE)) ||
	    !buf_reserve(&text, JSON_GROWTH * (r->id.len + token.len))) {
		rpc_error(r, JSONRPC_INTERNAL, waits && c->waits == WAITS
		    ? "Too many calls wait" : "Out of memory", NULL);
		return NULL;
	}
	json_verbatim(r->id, &text);
	id_len = text.len;
	if (json_type(token) == JSON_STRING || json_int(token, &number))
		json_verbatim(token, &text);
	c->answers.outcome = RPC_LATER;
	call = mem_get(sizeof(*call));
	call->client = c;
	call->text = text;
	call->reply = *r;
	call->reply.id = (struct json){ text.data, id_len };
	call->token = (struct json){ text.data + id_len, text.len - id_len };
	call->due = call->deadline = call->limit = NEVER;
	if (r->caller.call_limit > 0)
		call->limit = c->now + r->caller.call_limit;
	call->read_at = c->now;
	call->progress_at = c->now + PROGRESS_SILENCE;
	call->previous = c->last;
	*(c->last != NULL ? &c->last->next : &c->first) = call;
	c->last = call;
	c->waits += waits;
	c->bytes += call->text.len;
	return call;
}

/* read: its answer was taken, so a finished task is forgotten (T3). */
static void
close_call(struct call *call, bool read)
{
	struct client *c = call->client;

	*(call->previous != NULL ? &call->previous->next : &c->first) =
	    call->next;
	*(call->next != NULL ? &call->next->previous : &c->last) =
	    call->previous;
	c->waits -= call->tool == NULL || call->want.action != WANT_RUN;
	c->bytes -= call->text.len;
	if (call->job != NULL)
		session_let_go(c->session, call->job, read);
	buf_free(&call->text);
	watch_free(&call->watch);
	want_free(&call->want);
	free(call);
}

static void
cancel_call(struct call *call)
{
	struct client *c = call->client;
	struct job *job = call->job;

	if (call->tool != NULL && call->want.action == WANT_RUN) {
		if (!job_is_task(job))
			session_cancel(c->session, job, c->now);
		/* This call has started the task. Without a session nobody else
		 * knows its id, so nobody could end it (H6, H7). */
		else if (c->session->shared)
			session_kill(job, c->now);
	}
	close_call(call, false);
}

static void
search_news(struct call *call)
{
	if (call->want.until.len > 0 || call->want.only_new)
		watch_read(&call->watch, call->job, call->client->now);
}

/* -- When a call is answered (W2, K2) ------------------------------------ */

/* When the wait is over or, if that is sooner, the client gives up. For one
 * that takes a late answer only the wait counts (K2). */
static int64_t
end_of_wait(struct call *call)
{
	if (call->reply.caller.client->takes_late_answer)
		call->limit = NEVER;
	return call->limit < call->deadline ? call->limit : call->deadline;
}

/* When the wait for a running task ends, as known now; NEVER: with the task */
static int64_t
wait_ends(struct call *call)
{
	const struct want *w = &call->want;
	int64_t end, silent = call->watch.printed_at +
	    (w->action == WANT_TYPE ? QUIET_TYPED : QUIET);
	struct job *job = call->job;
	struct exec_prompt p;

	/* If boris cannot end the task, it is `killed` no longer. */
	if (w->action == WANT_KILL)
		return job_survives(job) && !job->killed ? 0 : NEVER;
	/* The wait of a task's start begins when its command does. */
	if (call->deadline == NEVER)
		call->deadline = job->started_at + w->time;
	end = end_of_wait(call);
	/* The answer to a start says whether the program has started. */
	if (w->action == WANT_RUN && session_starts(job, call->client->now))
		return NEVER;
	if (call->watch.seen_at > 0)
		return call->watch.seen_at + BURST;
	/* With `until` only what is certain ends the wait. */
	p = exec_prompts(&job->exec, EXEC_ANY, call->client->now);
	if (p.since != job->asked_at && (p.state == TERMINAL_PROMPTS ||
	    (p.state != TERMINAL_BUSY && w->until.len == 0)))
		return 0;
	if (w->action == WANT_TYPE && p.at_work)
		return end;
	/* What another call has shown meanwhile is not new any more. */
	if (w->until.len == 0 && w->only_new && call->watch.news &&
	    (output_news(job->out.text, &job->out.seen) ||
	    output_news(job->err.text, &job->err.seen)) && silent < end)
		return silent;
	return end;
}

/* A list waits for the end of any task, as long as one runs (T7). */
static int64_t
list_due(struct call *call)
{
	struct session *s = call->client->session;
	struct job *job = NULL;

	while ((job = session_next_task(s, job)) != NULL) {
		if (job->state != JOB_TASK)
			return 0;
	}
	return s->tasks > 0 ? end_of_wait(call) : 0;
}

/* When the call is to be answered, as far as is known now */
static int64_t
answer_due(struct call *call)
{
	struct job *job = call->job;

	if (call->tool == NULL)
		return NEVER;
	if (job == NULL)
		return list_due(call);
	/* The session ends this in time (K2). */
	if (job->state <= JOB_RUNNING)
		return NEVER;
	if (job->out.text != NULL)
		search_news(call);
	/* It has ended; or has just gone on from foreground to task (E5). */
	if (job->state == JOB_FINISHED ||
	    (call->want.action == WANT_RUN && !job->background))
		return 0;
	return wait_ends(call);
}

/* Returns whether the answer shows how a finished job ended, so that a task can
 * be forgotten (T3). The answer to a start that nobody waited for does not. */
static bool
shows_end(const struct call *call)
{
	const struct want *w = &call->want;
	const struct job *job = call->job;

	if (job == NULL || job->refused != JOB_ACCEPTED || !job->background)
		return true;
	return w->action != WANT_RUN || w->time > 0;
}

/* Returns whether a line was typed without its Enter. A program that reads
 * single keys reacts to them; a line editor only draws them, and waits. */
static bool
lacks_enter(const struct call *call)
{
	if (!call->want.no_enter || call->mode != TERMINAL_KEYS)
		return call->want.no_enter;
	return watch_has_only_echo(&call->watch) &&
	    call->want.prompt.state != TERMINAL_BUSY &&
	    !output_is_screen(call->job->out.text);
}

/* Returns whether the result is about a task that was started before, or whose
 * start has waited for output: it shows how the task stands. */
static bool
shows_task(const struct call *call)
{
	return job_is_task(call->job) &&
	    (call->want.action != WANT_RUN || call->want.time > 0);
}

/* Marks what the result of the call has reported. */
static void
mark_reported(struct call *call)
{
	struct session *s = call->client->session;
	struct job *job = call->job;

	if (job == NULL) {
		session_mark_list_reported(s);
		return;
	}
	session_mark_notes_reported(s);
	if (shows_task(call) || !job->background)
		job_mark_output_reported(job);
	if (shows_task(call) && job->out.text != NULL) {
		job_mark_screen_reported(job);
		job_mark_prompt_reported(job, &call->want.prompt);
	}
}

/* Answers the call if that is due; false: not yet. */
static bool
try_answer(struct call *call)
{
	struct client *c = call->client;
	struct session *s = c->session;
	struct job *job = call->job;
	struct want *w = &call->want;
	struct buf b = { NULL, 0, 0 };
	size_t n = 0;
	bool taken;

	call->due = answer_due(call);
	if (c->now < call->due || c->room == 0)
		return false;
	if (call->due == call->limit)
		w->patience = call->reply.caller.call_limit;
	/* Is there memory for the result, as text, data and JSON, each with
	 * room to grow, and in the queue? What was printed sizes it (E7). */
	if (job != NULL && job->out.text != NULL)
		n = output_size(job->out.text) + output_size(job->err.text);
	if (n > RESULT_SMALL && !mem_is_there(n * RESULT_TIMES + MEM_SPARE)) {
		rpc_error(&call->reply, JSONRPC_INTERNAL, RPC_NO_MEMORY, NULL);
		close_call(call, false);
		return true;
	}
	if (job == NULL) {
		results_list(&b, &call->reply.caller, s, w, c->now);
	} else if (job->refused != JOB_ACCEPTED) {
		results_refused(&b, &call->reply.caller, s, job, c->now);
	} else {
		w->until_missed = w->until.len > 0 && call->watch.seen_at == 0;
		w->prompt = exec_prompts(&job->exec, EXEC_ANY, c->now);
		if (w->prompt.at_work)
			w->stopped = exec_stopped(&job->exec, &w->stop_signal);
		w->no_enter = lacks_enter(call);
		w->secret = secret_offer(job, c->now);
		call->tool->put(&b, &call->reply.caller, s, job, w, c->now);
	}
	c->room -= b.len < c->room ? b.len : c->room;
	taken = rpc_result(&call->reply, &b);
	if (taken)
		mark_reported(call);
	close_call(call, taken && shows_end(call));
	return true;
}

/* Records the input, then types it; or appends to `wrong` why that failed. */
static void
type_input(struct call *call, struct buf *wrong)
{
	const struct buf *input = &call->want.input;
	struct job *job = call->job;
	struct client *c = call->client;
	size_t i;

	call->mode = TERMINAL_UNSEEN;
	if (input->len == 0 && job->exec.terminal)
		return;
	/* What was printed before is neither an answer nor an echo of it. */
	search_news(call);
	watch_restart(&call->watch);
	if (job_takes_input(job) && c->options->log != NULL &&
	    log_input(job, input,
	    exec_prompts(&job->exec, EXEC_ANY, c->now).secret) < 0)
		results_unlogged(wrong, &call->reply.caller, c->session, errno);
	else if (exec_type(&job->exec, input, c->now, &call->mode) < 0)
		results_not_typed(wrong, &call->reply.caller, c->session, job,
		    errno);
	/* Text without a control character may lack its Enter. */
	call->want.no_enter = true;
	for (i = 0; i < input->len; i++)
		call->want.no_enter &= (unsigned char)input->data[i] >= ' ' &&
		    input->data[i] != 0x7f;
	watch_typed(&call->watch, job, input, call->mode);
	buf_free(&call->want.input);
}

/* Reads what the task has printed until now. That may be more than is kept, so
 * the calls that wait for a text search it here. */
static void
read_output(struct client *c, struct job *job)
{
	struct call *call;

	/* Once a turn, so that all who ask in one turn are told the same. */
	if (c->just_read == job || job->state != JOB_TASK)
		return;
	c->just_read = job;
	exec_read(&job->exec, c->now);
	for (call = c->first; call != NULL; call = call->next) {
		if (call->job == job)
			search_news(call);
	}
}

/* Returns the task that the call is about, or NULL. */
static struct job *
find_task(struct session *s, const struct want *w)
{
	struct job *job = session_find_task(s, &w->id, w->pid);

	if (job == NULL || !s->shared)
		return job;
	/* A call that gives a pid, too, must give that of this task (H6). */
	if (w->by_pid && w->pid != 0 && job->exec.pid != w->pid)
		return NULL;
	return job;
}

/* A call about a task: it holds that, and types or kills. False: that can't be,
 * which has been answered. */
static bool
open_wait(struct client *c, struct call *call)
{
	struct want *w = &call->want;
	struct buf wrong = { NULL, 0, 0 };
	struct job *job = find_task(c->session, w);

	call->job = job;
	if (job != NULL) {
		session_hold(job);
		watch_begin(&call->watch, job);
		call->out_shown = job->out.seen;
		call->err_shown = job->err.seen;
		read_output(c, job);
		if (w->action == WANT_TYPE)
			type_input(call, &wrong);
		else if (w->action == WANT_KILL)
			session_kill(job, c->now);
	} else {
		results_no_task(&wrong, &call->reply.caller, c->session, w,
		    c->now);
	}
	if (wrong.len == 0)
		return true;
	if (rpc_result(&call->reply, &wrong))
		session_mark_notes_reported(c->session);
	close_call(call, false);
	return false;
}

bool
calls_tool(struct client *c, const struct reply *r, struct json token,
           const struct tool *tool, struct job *job, const struct want *want)
{
	struct call *call = open_call(c, r, token, job == NULL);

	if (call == NULL)
		return false;
	call->tool = tool;
	call->want = *want;
	/* (`until` has so few characters that this is never refused.) */
	watch_open(&call->watch, &call->want.until);
	if (job != NULL) {
		call->job = job;
		job->call_limit = r->caller.call_limit;
		job->hand_over_at = call->limit;
		session_run(c->session, job);
	} else {
		call->deadline = c->now + call->want.time;
		if (call->want.action == WANT_LIST || open_wait(c, call))
			try_answer(call);
	}
	return true;
}

void
calls_listen(struct client *c, const struct reply *r)
{
	struct buf b = { NULL, 0, 0 };

	if (open_call(c, r, (struct json){ NULL, 0 }, true) == NULL)
		return;
	buf_add(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "subscriptions/acknowledged\",\"params\":{\"_meta\":{\""
	    META_SUBSCRIPTION "\":");
	json_verbatim(r->id, &b);
	buf_add(&b, "},\"notifications\":{}}}");
	rpc_post(r, RPC_NOTICE, 0, &b);
	buf_free(&b);
}

/* Returns the open call whose request has that id, or NULL. */
static struct call *
find_call(struct client *c, struct json id)
{
	struct call *call = c->first;

	/* No request has such an id, and it would take long to compare. */
	if (id.len > RPC_ID_MOST)
		return NULL;
	while (call != NULL && !json_equal(call->reply.id, id))
		call = call->next;
	return call;
}

void
calls_cancel(struct client *c, struct json id)
{
	struct call *call = find_call(c, id);

	if (call != NULL)
		cancel_call(call);
}

/* Does the call wait for a command that it has started or queued itself? */
static bool
runs_command(const struct call *call)
{
	return call->tool != NULL && call->want.action == WANT_RUN &&
	    call->job->do_work == NULL;
}

void
calls_abandon(struct client *c, struct json id)
{
	struct call *call = find_call(c, id);

	if (call == NULL)
		return;
	if (!runs_command(call) || c->session->shared) {
		cancel_call(call);
		return;
	}
	session_abandon(c->session, call->job, c->now);
	close_call(call, false);
}

void
calls_forget(struct client *c, void *to, bool cancel, int64_t now)
{
	struct call *call, *next;

	c->now = now;
	for (call = c->first; call != NULL; call = next) {
		next = call->next;
		if (call->reply.to != to)
			continue;
		call->reply.to = NULL;
		call->token.len = 0;  /* nobody looks at progress */
		call->want.time = 0;  /* nor waits for a task */
		if (cancel || call->job == NULL ||
		    call->want.action != WANT_RUN || job_is_task(call->job))
			cancel_call(call);
	}
}

bool
calls_await(const struct client *c, const void *to)
{
	const struct call *call = c->first;

	while (call != NULL &&
	    (to != NULL ? call->reply.to != to : call->tool == NULL))
		call = call->next;
	return call != NULL;
}

/* -- Progress (O7, W1) ------------------------------------------------- */

/* When a call's next progress is due, sooner with news; NEVER: none wanted. */
static int64_t
progress_due(struct call *call)
{
	struct job *job = call->job;
	int64_t soon = call->client->now + PROGRESS_GAP;

	if (call->token.len == 0)
		return NEVER;
	if (call->progress_at > soon && job != NULL && job->out.text != NULL &&
	    (output_news(job->out.text, &call->out_shown) ||
	    output_news(job->err.text, &call->err_shown)))
		call->progress_at = soon;
	return call->progress_at;
}

static void
send_progress(struct call *call)
{
	struct client *c = call->client;
	struct buf text = { NULL, 0, 0 }, b = text;
	struct output_cursor out = call->out_shown, err = call->err_shown;
	const struct job *job = call->job;

	if (job != NULL && job->out.text != NULL) {
		output_since(job->out.text, &out, PROGRESS_SIZE, &text);
		output_since(job->err.text, &err, PROGRESS_SIZE, &text);
		/* Nothing is new: the last line once more, since a client
		 * shows this in place of what was there. */
		if (text.len == 0)
			output_last_line(job->out.text, &text);
	} else if (job == NULL) {
		buf_add(&text, "waits for a task to end");
	} else if (job->parallel) {
		buf_add(&text, "waits for one of the commands that run in "
		    "parallel to end");
	} else {
		buf_add(&text, "waits for the command before it");
	}
	call->progress_at = c->now + PROGRESS_GAP;
	if (!buf_reserve(&b, PROGRESS_ROOM + text.len * 6)) {
		buf_free(&text);
		return;
	}
	buf_add(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "progress\",\"params\":{\"progressToken\":");
	json_verbatim(call->token, &b);
	buf_add(&b, ",\"progress\":",
	    seconds((char[32]){ 0 }, c->now - call->read_at, 3));
	json_put_bytes(&b, "message", text.data, text.len);
	buf_add(&b, "}}");
	/* If it is not taken, the next one, before long, holds this text. */
	if (rpc_post(&call->reply, RPC_PROGRESS, 0, &b)) {
		call->out_shown = out;
		call->err_shown = err;
		call->progress_at = c->now + PROGRESS_SILENCE;
	}
	buf_free(&text);
	buf_free(&b);
}

void
calls_poll_add(struct client *c, struct loop *loop)
{
	struct call *call;

	for (call = c->first; call != NULL; call = call->next) {
		if (c->room > 0)
			loop_until(loop, call->due);
		loop_until(loop, progress_due(call));
		if (call->job != NULL && job_takes_input(call->job))
			loop_until(loop, loop->now + PROMPT_POLL);
	}
}

void
calls_dispatch(struct client *c)
{
	struct call *call, *next;

	c->just_read = NULL;
	for (call = c->first; call != NULL; call = next) {
		next = call->next;
		if (!try_answer(call) && c->now >= progress_due(call))
			send_progress(call);
	}
}

/* Each open subscriptions/listen gets its result (MCP 2026-07-28). */
void
calls_close(struct client *c)
{
	struct buf b = { NULL, 0, 0 };
	struct call *call, *next;

	calls_dispatch(c);
	for (call = c->first; call != NULL; call = next) {
		/* The one before this was unlinked as it was freed. */
		next = call->next;  /* NOLINT(clang-analyzer-unix.Malloc) */
		if (call->tool != NULL)
			continue;
		/* Without a revision rpc_result() adds no _meta of its own. */
		call->reply.caller.revision = NULL;
		buf_add(&b, "\"resultType\":\"complete\","
		    "\"_meta\":{\"" META_SUBSCRIPTION "\":");
		json_verbatim(call->reply.id, &b);
		buf_putc(&b, '}');
		rpc_result(&call->reply, &b);
		close_call(call, false);
	}
}

void
calls_free(struct client *c)
{
	while (c->first != NULL)  /* close_call() moves it on. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		close_call(c->first, false);
}
