#define _POSIX_C_SOURCE 200809L

#include "calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "results.h"
#include "until.h"

enum {
	LISTENS = 32,          /* subscriptions at a time */
	WAITS = 1000,          /* calls about tasks at a time (P6) */
	QUIET = 300,           /* ms of silence that end a wait for news (W2) */
	QUIET_TYPED = 2000,    /* ms, if something was typed */
	BURST = 100,           /* ms behind `until`, whose line goes on (W3) */
	PROMPT_POLL = 50,      /* ms between checks whether a terminal prompts:
	                        * a change of its settings is no event (I3) */
	PROGRESS_GAP = 100,    /* ms: at most ten a second (O7) */
	PROGRESS_PAUSE = 20,   /* ms from news to progress; clients lose it if
	                        * they read it together with the response */
	PROGRESS_SILENCE = 10000,  /* ms; then there is progress without news */
	PROGRESS_SIZE = 4000   /* bytes of each stream */
};

#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* An open call holds its job until it is answered or cancelled. */
struct call {
	struct call *next, *previous;
	struct calls *calls;   /* those that it is of */
	struct reply reply;
	struct buf text;       /* what from.id and token point into */
	struct json token;     /* for progress; JSON_NONE: none */
	struct job *job;       /* NULL: subscriptions/listen */
	struct tools_call asked;
	int64_t due;           /* ms; of its answer; NEVER: with some event */
	int64_t deadline;      /* ms; of its wait */
	int64_t limit;         /* ms; how long it is held open at most (K2) */
	int64_t read;          /* ms; when the request was read */
	int64_t last;          /* ms; of the last progress */
	int64_t pause;         /* ms; until then there is none */
	int64_t news;          /* ms; of the first news since then; 0: none */
	struct watched {
		struct output_cursor shown;     /* as progress */
		struct output_cursor searched;  /* for `until` */
		struct until_place place;
	} out, err;

	/* Of a wait for more than the end (W2, W3): */
	struct until until;
	int64_t printed;       /* ms; of the last output; 0: none yet */
	int64_t seen;          /* ms; when `until` was; 0: not yet */
};

/* A new call in the list; NULL: no memory, which has been answered. */
static struct call *
open_call(struct calls *c, const struct reply *r, struct json token)
{
	struct call *call = calloc(1, sizeof(*call));
	struct buf text = { NULL, 0, 0, false };
	int64_t number;
	size_t id_len;

	json_verbatim(r->id, &text);
	id_len = text.len;
	if (json_type(token) == JSON_STRING || json_int(token, &number))
		json_verbatim(token, &text);
	if (call == NULL || text.failed) {
		free(call);
		buf_free(&text);
		answer_error(r, JSONRPC_INTERNAL, "Out of memory", NULL);
		return NULL;
	}
	c->answers.outcome = MCP_LATER;
	call->calls = c;
	call->text = text;
	call->reply = *r;
	call->reply.id.text = text.data;
	call->reply.id.len = id_len;
	call->token.text = text.len > id_len ? text.data + id_len : NULL;
	call->token.len = text.len - id_len;
	call->due = call->deadline = call->limit = NEVER;
	if (r->reader.call_limit > 0)
		call->limit = c->now + r->reader.call_limit;
	call->read = call->last = c->now;
	call->pause = c->now + PROGRESS_GAP;
	batch_join(&call->reply);
	call->next = c->first;
	if (c->first != NULL)
		c->first->previous = call;
	c->first = call;
	c->open++;
	c->held += call->text.len;
	return call;
}

static bool
is_wait(const struct call *call)
{
	return call->asked.action != TOOLS_RUN &&
	    call->asked.action != TOOLS_NONE;
}

/* read: its answer was taken, so a finished task is forgotten (T3). */
static void
close_call(struct call *call, bool read)
{
	struct calls *c = call->calls;

	*(call->previous != NULL ? &call->previous->next : &c->first) =
	    call->next;
	if (call->next != NULL)
		call->next->previous = call->previous;
	c->open--;
	c->held -= call->text.len;
	c->waits -= is_wait(call);
	c->listens -= call->asked.action == TOOLS_NONE;
	if (call->job != NULL)
		session_let_go(c->session, call->job, read);
	batch_end(&call->reply);
	buf_free(&call->text);
	until_free(&call->until);
	tools_call_free(&call->asked);
	free(call);
}

static void
end_call(struct call *call, struct buf *result)
{
	struct calls *c = call->calls;
	const struct job *job = call->job;

	c->room -= result->len < c->room ? result->len : c->room;
	close_call(call, answer_result(&call->reply, result,
	    job == NULL || job->started == 0
	    ? "Out of memory; nothing was run" : job_is_task(job)
	    ? "No room for the result; the task can still be read"
	    : "The command was run, but there is no room for its result"));
}

/* Whose it is, as members of its records */
static const struct buf *
client_of(const struct call *call)
{
	return call->asked.action == TOOLS_RUN ? &call->job->asked.client
	    : &call->asked.job.client;
}

static void
log_refused(const struct call *call, const struct buf *result)
{
	record_refused(session_log(call->calls->session), call->job,
	    client_of(call), results_error(result));
}

/* Answers that nothing was done, nor read. */
static void
refuse_call(struct call *call, struct buf *result)
{
	log_refused(call, result);
	answer_result(&call->reply, result, "Out of memory; nothing was done");
	close_call(call, false);
}

static void
cancel_call(struct call *call)
{
	struct calls *c = call->calls;
	struct job *job = call->job;

	if (call->asked.action == TOOLS_RUN && !job_is_task(job))
		session_cancel(c->session, job, c->now);
	/* The start of a task, being waited for: without a session nobody
	 * knows its id yet, and nobody could end it (H6, H7). */
	else if (call->asked.action == TOOLS_RUN &&
	    session_stateless(c->session))
		session_kill(job, c->now);
	close_call(call, false);
}

/* -- Waiting (W2, W3) --------------------------------------------------- */

/* Reads what is new of one stream. */
static void
search(struct call *call, struct output *text, struct watched *w)
{
	const char *bytes;
	size_t n;

	while (output_news(text, &w->searched)) {
		/* What stood there of a line drawn anew counts no more. */
		if (output_rewritten(text, &w->searched))
			memset(&w->place, 0, sizeof(w->place));
		n = output_read(text, &w->searched, &bytes);
		until_read(&call->until, &w->place, bytes, n,
		    call->until.echo == ECHO_LATER &&
		    job_reads_keys(call->job));
		call->printed = call->calls->now;
		if (call->until.seen && call->seen == 0)
			call->seen = call->printed;
	}
}

static void
search_news(struct call *call)
{
	if (call->asked.until.len == 0 && !call->asked.only_new)
		return;
	search(call, call->job->out.text, &call->out);
	search(call, call->job->err.text, &call->err);
}

/* When the wait for a running task ends, as far as is known now; NEVER: with
 * the task */
static int64_t
wait_ends(struct call *call)
{
	const struct tools_call *asked = &call->asked;
	int64_t quiet = asked->action == TOOLS_TYPE ? QUIET_TYPED : QUIET;
	struct job *job = call->job;
	struct exec_prompt p;

	if (asked->action == TOOLS_KILL)
		return NEVER;
	/* A start that waits begins to do so with its command. */
	if (call->deadline == NEVER)
		call->deadline = job->started + asked->wait;
	/* A client that goes on without the call hears of its end (K2). */
	if (call->limit < call->deadline &&
	    !call->reply.reader.client->goes_on) {
		call->deadline = call->limit;
		call->asked.held = call->reply.reader.call_limit;
	}
	if (call->until.seen)
		return call->seen + BURST;
	/* With `until` only what is certain ends the wait. */
	p = job_prompts(job, call->calls->now);
	if (p.since != job->reported && (p.state == TERMINAL_PROMPTS ||
	    (p.state != TERMINAL_BUSY && asked->until.len == 0)))
		return 0;
	if (asked->action == TOOLS_TYPE && p.at_work)
		return call->deadline;
	/* What another call has shown meanwhile is not new any more. */
	if (call->asked.until.len == 0 && asked->only_new &&
	    call->until.news && (output_news(job->out.text, &job->out.seen) ||
	    output_news(job->err.text, &job->err.seen)) &&
	    call->printed + quiet < call->deadline)
		return call->printed + quiet;
	return call->deadline;
}

/* A list waits for the end of any task, as long as one runs (T7). */
static int64_t
list_due(const struct call *call)
{
	struct session *s = call->calls->session;
	struct job *job = NULL;
	bool running = false;

	while ((job = session_next_task(s, job)) != NULL) {
		if (job->state == JOB_FINISHED)
			return 0;
		running = true;
	}
	return running ? call->deadline : 0;
}

/* When the call is to be answered, as far as is known now */
static int64_t
answer_due(struct call *call)
{
	struct job *job = call->job;

	if (job == NULL)
		return call->asked.action == TOOLS_LIST ? list_due(call)
		    : NEVER;
	if (call->calls->now >= call->limit && (job->state == JOB_QUEUED ||
	    job->state == JOB_RUNNING)) {
		call->limit = NEVER;
		session_hand_over(call->calls->session, job,
		    call->reply.reader.call_limit, call->calls->now);
	}
	if (job->state == JOB_QUEUED || job->state == JOB_RUNNING)
		return call->limit;
	if (job->out.text != NULL)
		search_news(call);
	/* A foreground command that is a task has just become one (E5). */
	if (job->state == JOB_FINISHED || (call->asked.action == TOOLS_RUN &&
	    !job->asked.background))
		return 0;
	return wait_ends(call);
}

static void
put_answer(struct call *call, struct buf *b)
{
	struct calls *c = call->calls;
	struct tools_call *asked = &call->asked;
	struct job *job = call->job;
	struct output_cursor out, err;
	struct exec_prompt p;

	if (asked->action == TOOLS_LIST) {
		results_list(b, &call->reply.reader, c->session, c->now);
		return;
	}
	if (job->refused != JOB_ACCEPTED) {
		results_refused(b, c->session, job, c->now);
		if (job->call == 0)
			log_refused(call, b);
		return;
	}
	if (job->asked.edit != NULL) {
		results_edit(b, &call->reply.reader, c->session,
		    job->asked.edit);
		return;
	}
	out = job->out.seen;
	err = job->err.seen;
	asked->unseen = call->asked.until.len > 0 && !call->until.seen;
	asked->echoed = call->until.echoed;
	p = job_prompts(job, c->now);
	asked->secret = p.secret;
	asked->secret_dir = session_secret(c->session, job, c->now);
	asked->certain = p.state == TERMINAL_PROMPTS;
	asked->prompts = p.state != TERMINAL_BUSY;
	if (asked->prompts)
		job->reported = p.since;
	asked->queued = asked->action == TOOLS_RUN
	    ? job->started - call->read : 0;
	results_job(b, &call->reply.reader, c->session, job, asked, c->now);
	/* Whoever else waits for its end gets the same (T3). */
	if (job->state == JOB_FINISHED) {
		job->out.seen = out;
		job->err.seen = err;
	}
}

/* Answers the call if that is due; false: not yet. */
static bool
try_answer(struct call *call)
{
	struct buf b = { NULL, 0, 0, false };

	call->due = answer_due(call);
	if (call->calls->now < call->due || call->calls->room == 0)
		return false;
	if (call->due != call->deadline)
		call->asked.held = 0;
	put_answer(call, &b);
	end_call(call, &b);
	return true;
}

static bool
has_control(const struct buf *b)
{
	size_t i = 0;

	while (i < b->len && (unsigned char)b->data[i] >= ' ' &&
	    b->data[i] != 0x7f)
		i++;
	return i < b->len;
}

/* Records what is to be typed, and types it. False: nothing was typed, and the
 * result says why. */
static bool
write_input(struct call *call, bool *echoed, struct buf *result)
{
	const struct buf *input = &call->asked.input;
	int64_t now = call->calls->now;

	if (job_takes_input(call->job) &&
	    record_input(session_log(call->calls->session), call->job, input,
	    client_of(call), now) < 0) {
		results_unlogged(result, errno);
		return false;
	}
	errno = ENOMEM;
	if (until_type(&call->until, input) &&
	    job_type(call->job, input, now, echoed) == 0)
		return true;
	results_not_typed(result, call->job, errno);
	return false;
}

/* Types what is to be typed. False: that can't be, which has been answered. */
static bool
type(struct call *call)
{
	struct tools_call *asked = &call->asked;
	struct buf b = { NULL, 0, 0, false };
	bool keys = job_reads_keys(call->job), echoed = false;

	if (asked->input.len == 0 && call->job->asked.terminal)
		return true;
	/* What was printed before is no answer to this, nor its echo. */
	search_news(call);
	call->printed = call->seen = 0;
	call->until.seen = call->until.news = false;
	memset(&call->out.place, 0, sizeof(call->out.place));
	if (!write_input(call, &echoed, &b)) {
		refuse_call(call, &b);
		return false;
	}
	asked->no_enter = !keys && !has_control(&asked->input);
	call->until.echo = !echoed ? ECHO_NONE : keys ? ECHO_LINE : ECHO_TWICE;
	buf_free(&asked->input);
	return true;
}

/* Reads what the task has printed until now. That may be more than is kept, so
 * the calls that wait for a text search it here. */
static void
read_task(struct calls *c, struct job *job)
{
	struct call *call;

	/* Once a turn: what was asked in one turn was asked at once. */
	if (c->fresh == job)
		return;
	c->fresh = job;
	job_read(job, c->now);
	for (call = c->first; call != NULL; call = call->next) {
		if (call->job == job && job->state == JOB_TASK)
			search_news(call);
	}
}

/* A call about a task: it holds that. Without a session all clients share the
 * tasks: whoever asks by pid has to know the id as well (H6). */
static void
open_wait(struct calls *c, struct call *call)
{
	struct tools_call *asked = &call->asked;
	struct buf b = { NULL, 0, 0, false };
	struct job *job;

	job = session_task(c->session, &asked->id, asked->pid);
	if (job == NULL || (session_stateless(c->session) && asked->by_pid &&
	    job->end.pid != asked->pid)) {
		results_no_task(&b, c->session, asked, c->now);
		refuse_call(call, &b);
		return;
	}
	session_hold(job);
	call->job = job;
	call->out.searched = call->out.shown = job->out.seen;
	call->err.searched = call->err.shown = job->err.seen;
	call->deadline = c->now + asked->wait;
	read_task(c, job);
	if (asked->action == TOOLS_TYPE && !type(call))
		return;
	if (asked->action == TOOLS_KILL)
		session_kill(job, c->now);
	try_answer(call);
}

void
calls_tool(struct calls *c, const struct reply *r, struct json token,
           struct tools_call *asked)
{
	struct call *call;

	if (asked->action != TOOLS_RUN && c->waits == WAITS) {
		answer_error(r, JSONRPC_INTERNAL, "Too many calls wait", NULL);
		return;
	}
	call = open_call(c, r, token);
	if (call == NULL)
		return;
	call->asked = *asked;
	memset(asked, 0, sizeof(*asked));
	c->waits += is_wait(call);
	if (call->asked.action == TOOLS_LIST) {
		call->deadline = c->now + (session_stateless(c->session) ? 0
		    : call->asked.wait);
		try_answer(call);
		return;
	}
	if (until_open(&call->until, &call->asked.until)) {
		if (is_wait(call)) {
			open_wait(c, call);
			return;
		}
		call->job = session_run(c->session, &call->asked.job);
	}
	if (call->job == NULL) {
		answer_error(&call->reply, JSONRPC_INTERNAL, "Out of memory; "
		    "nothing was run", NULL);
		close_call(call, false);
	}
}

void
calls_listen(struct calls *c, const struct reply *r)
{
	struct buf b = { NULL, 0, 0, false };
	struct json no_token = { NULL, 0 };

	if (c->listens == LISTENS) {
		answer_error(r, JSONRPC_INTERNAL,
		    "Too many subscriptions are open", NULL);
		return;
	}
	if (open_call(c, r, no_token) == NULL)
		return;
	c->listens++;
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "subscriptions/acknowledged\",\"params\":{\"_meta\":{\""
	    META_SUBSCRIPTION "\":");
	json_verbatim(r->id, &b);
	buf_puts(&b, "},\"notifications\":{}}}");
	answer_notice(r, MCP_NOTICE, &b);
	buf_free(&b);
}

void
calls_cancel(struct calls *c, struct json id)
{
	struct call *call = c->first;

	while (call != NULL && !json_equal(call->reply.id, id))
		call = call->next;
	if (call != NULL)
		cancel_call(call);
}

void
calls_forget(struct calls *c, void *to, bool cancel)
{
	struct call *call, *next;

	for (call = c->first; call != NULL; call = next) {
		next = call->next;
		if (call->reply.to != to)
			continue;
		batch_drop(&call->reply);
		call->reply.to = NULL;
		call->token.text = NULL;  /* nobody looks at progress */
		call->asked.wait = 0;  /* nor waits for a task */
		if (cancel || call->asked.action != TOOLS_RUN ||
		    job_is_task(call->job))
			cancel_call(call);
	}
}

bool
calls_await(const struct calls *c, const void *to)
{
	const struct call *call = c->first;

	while (call != NULL && call->reply.to != to)
		call = call->next;
	return call != NULL;
}

/* -- Progress (O7, W1) ------------------------------------------------- */

/* The job whose output the call gets; NULL: none, or it has not started. */
static struct job *
job_of(const struct call *call)
{
	return call->job != NULL && call->job->out.text != NULL ? call->job
	    : NULL;
}

/* Notes when there is something new to be told. */
static void
note_news(struct call *call)
{
	struct job *job = job_of(call);

	if (call->token.text != NULL && call->news == 0 && job != NULL &&
	    (output_news(job->out.text, &call->out.shown) ||
	    output_news(job->err.text, &call->err.shown)))
		call->news = call->calls->now;
}

/* When a call's next progress is due; NEVER: nobody has asked for any. */
static int64_t
progress_due(const struct call *call)
{
	int64_t due = call->news > 0 ? call->news + PROGRESS_PAUSE
	    : call->last + PROGRESS_SILENCE;

	if (call->token.text == NULL)
		return NEVER;
	return due > call->pause ? due : call->pause;
}

static void
send_progress(struct call *call)
{
	struct calls *c = call->calls;
	struct buf text = { NULL, 0, 0, false }, b = text;
	struct output_cursor out = call->out.shown, err = call->err.shown;
	struct job *job = job_of(call);

	if (job != NULL) {
		output_since(job->out.text, &out, PROGRESS_SIZE, &text);
		output_since(job->err.text, &err, PROGRESS_SIZE, &text);
	}
	/* Nothing is new: the last line once more, since a client shows this
	 * in place of what was there. */
	if (text.len == 0 && job != NULL)
		job_last_line(job, &text);
	else if (call->job != NULL && call->job->state == JOB_QUEUED)
		buf_puts(&text, "waits for the command before it");
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "progress\",\"params\":{\"progressToken\":");
	json_verbatim(call->token, &b);
	buf_puts(&b, ",\"progress\":");
	buf_seconds(&b, c->now - call->read, 3);
	buf_puts(&b, ",\"message\":");
	json_string(&b, text.data, text.len);
	buf_puts(&b, "}}");
	/* If it is not taken, the next one, before long, holds this text. */
	call->pause = c->now + PROGRESS_PAUSE;
	if (!text.failed && answer_notice(&call->reply, MCP_PROGRESS, &b)) {
		call->out.shown = out;
		call->err.shown = err;
		call->news = 0;
		call->last = c->now;
		call->pause = c->now + PROGRESS_GAP;
	}
	buf_free(&text);
	buf_free(&b);
}

/* -- Turns ------------------------------------------------------------- */

void
calls_poll_add(struct calls *c, struct loop *loop)
{
	const struct call *call;

	for (call = c->first; call != NULL; call = call->next) {
		if (c->room > 0)
			loop_until(loop, call->due);
		loop_until(loop, progress_due(call));
		if (call->job != NULL && call->job->asked.terminal &&
		    call->job->state == JOB_TASK)
			loop_until(loop, loop->now + PROMPT_POLL);
	}
}

void
calls_dispatch(struct calls *c)
{
	struct call *call, *next;

	c->fresh = NULL;
	for (call = c->first; call != NULL; call = next) {
		next = call->next;
		if (try_answer(call))
			continue;
		note_news(call);
		if (c->now >= progress_due(call))
			send_progress(call);
	}
}

/* The subscriptions end with the server, and are told so (MCP 2026-07-28,
 * subscriptions). */
void
calls_close(struct calls *c)
{
	struct buf b = { NULL, 0, 0, false };
	struct call *call, *next;

	calls_dispatch(c);
	for (call = c->first; call != NULL; call = next) {
		/* The one before this was unlinked as it was freed. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		next = call->next;
		if (call->asked.action != TOOLS_NONE)
			continue;
		/* It has a _meta of its own. */
		call->reply.reader.revision = NULL;
		buf_puts(&b, "\"resultType\":\"complete\","
		    "\"_meta\":{\"" META_SUBSCRIPTION "\":");
		json_verbatim(call->reply.id, &b);
		buf_putc(&b, '}');
		end_call(call, &b);
	}
}

void
calls_free(struct calls *c)
{
	/* close_call() moves c->first on, which the analyzer doesn't see. */
	while (c->first != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		close_call(c->first, false);
}
