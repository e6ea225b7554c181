#define _POSIX_C_SOURCE 200809L

#include "mcp/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mcp/results.h"
#include "session/log.h"
#include "session/secret.h"

enum {
	WAITS = 1000,          /* calls about tasks, or subscriptions (P6) */
	QUIET = 300,           /* ms of silence that end a wait for news (W2) */
	QUIET_TYPED = 2000,    /* ms, if something was typed */
	BURST = 100,           /* ms after `until`: its line may go on (W3) */
	PROMPT_POLL = 50,      /* ms between checks whether a terminal prompts:
	                        * a change of its settings is no event (I3) */
	ECHO_MOST = 4096,      /* bytes of what was typed that are recognised */
	ECHO_MARGIN = 100,     /* bytes; a longer typed line may be broken at
	                        * the terminal's margin, or scrolled */
	ECHO_LIMIT = 100,      /* drawings of typed lines that are recognised */
	PRINTED_KEPT = 8192,   /* bytes of the last output, to recognise them */
	PROGRESS_GAP = 100,    /* ms from news to progress (O7); clients lose it
	                        * if they read it together with the response */
	PROGRESS_SILENCE = 10000,  /* ms; then there is progress without news */
	PROGRESS_SIZE = 4000,  /* bytes of each stream */
	PROGRESS_ROOM = 2048,  /* bytes of the rest of the message */
	RESULT_SMALL = 4096,   /* bytes; such results need no check for memory */
	RESULT_TIMES = 12      /* as many times its output a result can take */
};

#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* What is looked for in the output of a task */
struct until {
	struct pattern text;   /* `until` */
	struct buf input;      /* the start of what was typed */
	bool echo;             /* a line of `input` is still to be echoed: */
	struct pattern typed;  /* that line */
	size_t behind;         /* where in `input` the line after it begins */
	int64_t seen;          /* ms; when the text was printed; 0: not yet */
	bool news;             /* more than echo and white space was printed */
	bool redraw;           /* a line editor may draw the first line again */
	int redrawn;           /* how often typed text was drawn again */
};

/* How far one stream has been read */
struct watched {
	struct output_cursor shown;     /* as progress */
	struct output_cursor searched;  /* for `until` and news */
	struct place {
		size_t text, typed;  /* bytes of each pattern matched so far */
		bool whole;    /* all of `typed` stands in this line */
	} at;
	struct buf printed;    /* the last output, if something was typed */
};

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
	struct watched out, err;
	struct until until;
	enum terminal_mode mode;  /* of the terminal when it was typed into */
	int64_t printed_at;    /* ms; of the last output; 0: none yet */
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
	pattern_free(&call->until.text);
	pattern_free(&call->until.typed);
	buf_free(&call->until.input);
	buf_free(&call->out.printed);
	buf_free(&call->err.printed);
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

/* -- Until and echo (W3) ------------------------------------------------- */

/* Begins to expect the echo of the next line that was typed, if any was. */
static void
expect_line(struct until *u)
{
	size_t begin = u->behind, end = begin;

	pattern_free(&u->typed);
	while (end < u->input.len && u->input.data[end] != '\n' &&
	    u->input.data[end] != '\r')
		end++;
	u->behind = end + 1;
	/* Without the memory an echo counts as news. */
	u->echo = begin < u->input.len &&
	    pattern_open(&u->typed, u->input.data + begin, end - begin);
}

/* Appends to `typed` what was typed, as the echo shows it: a control character
 * ends a line, and control sequences (of a bracketed paste) are left out. Keeps
 * only the last ECHO_MOST bytes. */
static void
record_typed(struct buf *typed, const struct buf *input)
{
	size_t i = input->len > ECHO_MOST ? input->len - ECHO_MOST : 0;
	unsigned char c;

	for (; i < input->len; i++) {
		c = (unsigned char)input->data[i];
		if (c == 0x1b && i + 1 < input->len &&
		    input->data[i + 1] == '[') {
			i += 2;
			while (i < input->len && input->data[i] < '@')
				i++;
		} else {
			buf_putc(typed, c < ' ' || c == 0x7f ? '\n' : (char)c);
		}
	}
	buf_keep_end(typed, ECHO_MOST);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Returns the index of the character before text[i] in its line that is not a
 * blank, plus 1; or where the line begins. */
static size_t
skip_blanks(const char *text, size_t i, size_t begin)
{
	while (i > begin && is_blank(text[i - 1]))
		i--;
	return i;
}

/* Returns whether the output before printed[i] shows the part of a typed line
 * that comes before typed[at]. *begins is set if there is no such part. Blanks
 * are not compared, since those at the end of a line are not shown. */
static bool
shows_typed(const struct buf *typed, size_t at, const char *printed, size_t i,
            bool *begins)
{
	size_t begin = at, end = at, same = 0;
	bool is_long;

	while (begin > 0 && typed->data[begin - 1] != '\n')
		begin--;
	while (end < typed->len && typed->data[end] != '\n')
		end++;
	is_long = end - begin > ECHO_MARGIN;
	for (;;) {
		at = skip_blanks(typed->data, at, begin);
		*begins = at == begin && same == 0;
		if (at == begin || same == ECHO_MARGIN)
			return same > 0;
		i = skip_blanks(printed, i, 0);
		if (is_long && i > 0 && printed[i - 1] == '\n')
			i = skip_blanks(printed, i - 1, 0);
		if (i == 0 || printed[i - 1] != typed->data[at - 1])
			break;
		i--;
		at--;
		same++;
	}
	/* readline marks a long line whose start it does not show by '<'. */
	if (!is_long || same == 0 || i == 0 || printed[i - 1] != '<')
		return false;
	return i == 1 || printed[i - 2] == '\n';
}

/* Returns whether the occurrence of `until` that ends w->printed is a part of a
 * typed line that is drawn again: the kernel echoes what is typed while a
 * program is at work, and a line editor draws it once more after its prompt. */
static bool
is_redrawn(struct until *u, const struct watched *w, const struct buf *typed)
{
	size_t begin, at, before;
	bool begins;

	if (u->redrawn == ECHO_LIMIT || w->printed.len < u->text.len)
		return false;
	begin = w->printed.len - u->text.len;
	before = skip_blanks(w->printed.data, begin, 0);
	for (at = 0; at + u->text.len <= typed->len; at++) {
		if (memcmp(typed->data + at, u->text.bytes, u->text.len) != 0)
			continue;
		if (shows_typed(typed, at, w->printed.data, begin, &begins)) {
			u->redrawn++;
			return true;
		}
		/* If nothing is typed before it, it must follow a prompt. */
		if (begins && u->redraw && before > 0 &&
		    w->printed.data[before - 1] != '\n') {
			u->redraw = false;
			return true;
		}
	}
	return false;
}

/* Appends to w->printed. */
static void
keep_printed(struct watched *w, const char *bytes, size_t n)
{
	if (n > PRINTED_KEPT) {
		bytes += n - PRINTED_KEPT;
		n = PRINTED_KEPT;
	}
	buf_put(&w->printed, bytes, n);
	if (w->printed.len > 2 * PRINTED_KEPT)
		buf_keep_end(&w->printed, PRINTED_KEPT);
}

/* Removes the open line from w->printed: it is read anew. */
static void
forget_line(struct watched *w)
{
	struct buf *b = &w->printed;

	while (b->len > 0 && b->data[b->len - 1] != '\n')
		b->len--;
}

/* Returns whether a newline is the margin's, within the echo of a long line. */
static bool
within_echo(const struct until *u, const struct place *at)
{
	return u->echo && at->typed >= ECHO_MARGIN && !at->whole;
}

/* Reads what a stream prints next. typed: see struct job. */
static void
search_bytes(struct until *u, struct watched *w, const struct buf *typed,
             const char *bytes, size_t n, int64_t now)
{
	const char *end = bytes + n, *unkept = bytes;
	struct place *at = &w->at;

	for (; bytes < end; bytes++) {
		if (*bytes == '\n' && within_echo(u, at))
			continue;
		at->text = pattern_step(&u->text, at->text, *bytes);
		if (u->echo)
			at->typed = pattern_step(&u->typed, at->typed, *bytes);
		at->whole |= at->typed > 0 && at->typed == u->typed.len;
		u->news |= at->typed == 0 && (unsigned char)*bytes > ' ';
		/* A match within the echo does not count. */
		if (at->text > 0 && at->text == u->text.len &&
		    at->typed < at->text && u->seen == 0) {
			keep_printed(w, unkept, (size_t)(bytes + 1 - unkept));
			unkept = bytes + 1;
			if (!is_redrawn(u, w, typed))
				u->seen = now;
		}
		if (*bytes != '\n')
			continue;
		/* After a line that was the echo, the next line's may come. */
		if (u->echo && (at->whole || u->typed.len == 0))
			expect_line(u);
		else
			u->echo = false;
		at->typed = 0;
		at->whole = false;
	}
	if (u->text.len > 0 && typed->len > 0)
		keep_printed(w, unkept, (size_t)(end - unkept));
}

/* Reads what is new of one stream. */
static void
search(struct call *call, struct output *text, struct watched *w)
{
	const char *bytes;
	size_t n;

	while (output_news(text, &w->searched)) {
		if (output_rewritten(text, &w->searched)) {
			w->at = (struct place){ 0, 0, false };
			forget_line(w);
		}
		n = output_read(text, &w->searched, &bytes);
		call->printed_at = call->client->now;
		search_bytes(&call->until, w, &call->job->typed, bytes, n,
		    call->printed_at);
	}
}

static void
search_news(struct call *call)
{
	if (call->want.until.len == 0 && !call->want.only_new)
		return;
	search(call, call->job->out.text, &call->out);
	search(call, call->job->err.text, &call->err);
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
	int64_t end, silent = call->printed_at +
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
	if (call->until.seen > 0)
		return call->until.seen + BURST;
	/* With `until` only what is certain ends the wait. */
	p = exec_prompts(&job->exec, EXEC_ANY, call->client->now);
	if (p.since != job->asked_at && (p.state == TERMINAL_PROMPTS ||
	    (p.state != TERMINAL_BUSY && w->until.len == 0)))
		return 0;
	if (w->action == WANT_TYPE && p.at_work)
		return end;
	/* What another call has shown meanwhile is not new any more. */
	if (w->until.len == 0 && w->only_new && call->until.news &&
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
	const struct until *u = &call->until;
	const struct place *at = &call->out.at;
	bool drawn = u->echo && at->typed == u->typed.len && !u->news;

	if (!call->want.no_enter || call->mode != TERMINAL_KEYS)
		return call->want.no_enter;
	return drawn && call->want.prompt.state != TERMINAL_BUSY &&
	    !output_is_screen(call->job->out.text);
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
		w->until_missed = w->until.len > 0 && call->until.seen == 0;
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
		session_told(s, job, w);
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
	struct until *u = &call->until;
	size_t i;

	call->mode = TERMINAL_UNSEEN;
	if (input->len == 0 && job->exec.terminal)
		return;
	/* What was printed before is neither an answer nor an echo of it. */
	search_news(call);
	call->printed_at = u->seen = 0;
	u->news = false;
	call->out.at = (struct place){ 0, 0, false };
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
	buf_put(&u->input, input->data,
	    input->len < ECHO_MOST ? input->len : ECHO_MOST);
	if (call->mode != TERMINAL_UNSEEN) {
		record_typed(&job->typed, input);
		expect_line(u);
	}
	u->redraw = call->mode == TERMINAL_LINES;
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

/* A call about a task: it holds that, and types or kills. False: that can't be,
 * which has been answered. */
static bool
open_wait(struct client *c, struct call *call)
{
	struct want *w = &call->want;
	struct buf wrong = { NULL, 0, 0 };
	struct job *job = call->job = session_hold(c->session, w);

	if (job != NULL) {
		call->out.searched = call->out.shown = job->out.seen;
		call->err.searched = call->err.shown = job->err.seen;
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
		session_told(c->session, NULL, NULL);
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
	pattern_open(&call->until.text, call->want.until.data,
	    call->want.until.len);
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
	    (output_news(job->out.text, &call->out.shown) ||
	    output_news(job->err.text, &call->err.shown)))
		call->progress_at = soon;
	return call->progress_at;
}

static void
send_progress(struct call *call)
{
	struct client *c = call->client;
	struct buf text = { NULL, 0, 0 }, b = text;
	struct output_cursor out = call->out.shown, err = call->err.shown;
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
		call->out.shown = out;
		call->err.shown = err;
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
