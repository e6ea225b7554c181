#define _POSIX_C_SOURCE 200809L

#include "calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

enum {
	LISTENS = 32,          /* subscriptions at a time */
	LOOKS = 1000,          /* looks at tasks at a time (P6) */
	QUIET = 300,           /* ms of silence that end a wait for news (W2) */
	QUIET_TYPED = 2000,    /* ms, if something was typed */
	ASKS_LOOK = 50,        /* ms between looks whether a terminal asks: a
	                        * change of its settings is no event (I3) */
	SEARCHED = 256 << 10,  /* bytes, more than is kept of a stream (W3) */
	PROGRESS_GAP = 100,    /* ms: at most ten a second (O7) */
	PROGRESS_PAUSE = 20,   /* ms from news to progress: a command often ends
	                        * right then, and clients lose progress that
	                        * they read together with the response */
	PROGRESS_SILENCE = 10000,  /* ms; then there is progress without news */
	PROGRESS_SIZE = 4000   /* bytes of each stream */
};

#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

struct calls_batch {
	struct buf answers;
	int open;              /* answers still to come, +1 while it is read */
};

enum call_kind {
	CALL_RUN,              /* a command */
	CALL_LOOK,             /* at a task, or for its end */
	CALL_LISTEN            /* subscriptions/listen: until the end */
};

struct call {
	struct call *next, *previous;
	enum call_kind kind;
	struct calls_request from;
	struct buf text;       /* what from.id and token point into */
	struct json token;     /* for progress; JSON_NONE: none */
	struct job *job;       /* CALL_RUN: the session's */
	struct tools_call look;  /* what is asked */
	int64_t deadline;      /* ms; CALL_LOOK: until then it waits */
	int64_t read;          /* ms; when the request was read */
	int64_t last;          /* ms; of the last progress */
	int64_t pause;         /* ms; until then there is none */
	int64_t news;          /* ms; of the first news since then; 0: none */
	struct watched {
		struct output_cursor shown;     /* as progress */
		struct output_cursor searched;  /* for `until` */
		struct buf tail;  /* the end of that: `until` may begin there */
	} out, err;

	/* CALL_LOOK that waits for more than the end (W2, W3): */
	bool seen;             /* `until` was printed */
	int echoes;            /* so often it will be, as the echo of `input` */
	int64_t printed;       /* ms; of the last output; 0: none yet */
};

/* -- Answers ----------------------------------------------------------- */

/* False: there was no memory for it. (Of an array that is known at its end.) */
static bool
post(const struct calls_request *r, enum mcp_kind kind, int error,
     struct buf *message)
{
	struct buf *answers;

	if (message->failed)
		return false;
	if (r->batch == NULL) {
		if (!r->calls->send(r->calls->transport, r->to, kind, error,
		    message))
			return false;
		if (kind != MCP_NOTICE)
			r->calls->outcome = MCP_ANSWERED;
		return true;
	}
	if (r->to == NULL && !r->calls->null_id)
		return true;  /* over HTTP, and the connection has gone */
	answers = &r->batch->answers;
	r->calls->batched -= answers->len;
	buf_putc(answers, answers->len > 0 ? ',' : '[');
	buf_put(answers, message->data, message->len);
	r->calls->batched += answers->len;
	return true;
}

static void
put_envelope(struct buf *b, const struct calls *c, struct json id)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\"");
	if (id.text != NULL || c->null_id)
		buf_puts(b, ",\"id\":");
	if (id.text != NULL)
		json_verbatim(id, b);
	else if (c->null_id)
		buf_puts(b, "null");
}

void
calls_put_error(struct buf *b, const struct calls *c, struct json id, int code,
                const char *message, const struct buf *data)
{
	put_envelope(b, c, id);
	buf_puts(b, ",\"error\":{\"code\":");
	buf_int(b, code);
	buf_puts(b, ",\"message\":");
	json_string(b, message, strlen(message));
	if (data != NULL) {
		buf_puts(b, ",\"data\":");
		buf_put(b, data->data, data->len);
	}
	buf_puts(b, "}}");
}

void
calls_error(const struct calls_request *r, int code, const char *message,
            const struct buf *data)
{
	enum mcp_kind kind = r->stateless ? MCP_RESPONSE : MCP_REFUSAL;
	struct buf b = { NULL, 0, 0, false }, *reserve = &r->calls->reserve;

	calls_put_error(&b, r->calls, r->id, code, message, data);
	if (!post(r, kind, code, &b)) {
		reserve->len = 0;
		calls_put_error(reserve, r->calls, r->id, JSONRPC_INTERNAL,
		    "Out of memory", NULL);
		if (!post(r, kind, JSONRPC_INTERNAL, reserve))
			r->calls->outcome = MCP_NO_MEMORY;
		/* The transport may have taken it over. */
		buf_room(reserve, CALLS_RESERVE);
		reserve->failed = false;
	}
	buf_free(&b);
}

void
calls_result(const struct calls_request *r, struct buf *members)
{
	struct buf b = { NULL, 0, 0, false };
	bool failed;

	put_envelope(&b, r->calls, r->id);
	buf_puts(&b, ",\"result\":{");
	if (r->stateless)
		buf_puts(&b, "\"resultType\":\"complete\",\"_meta\":{\""
		    META_SERVER "\":" MCP_SERVER_INFO "},");
	buf_put(&b, members->data, members->len);
	buf_puts(&b, "}}");
	failed = members->failed || !post(r, MCP_RESPONSE, 0, &b);
	buf_free(&b);
	buf_free(members);
	if (failed)
		calls_error(r, JSONRPC_INTERNAL, "Out of memory for the result",
		    NULL);
}

bool
calls_batch_begin(struct calls_request *r)
{
	r->batch = calloc(1, sizeof(*r->batch));
	if (r->batch == NULL)
		return false;
	r->batch->open = 1;
	return true;
}

void
calls_batch_end(struct calls_request *r)
{
	struct calls_batch *batch = r->batch;
	bool failed;

	if (batch == NULL || --batch->open > 0)
		return;
	r->batch = NULL;
	r->calls->batched -= batch->answers.len;
	memset(&r->id, 0, sizeof(r->id));
	if (batch->answers.len > 0)
		buf_putc(&batch->answers, ']');
	failed = batch->answers.failed || (batch->answers.len > 0 &&
	    !post(r, MCP_RESPONSE, 0, &batch->answers));
	buf_free(&batch->answers);
	free(batch);
	if (failed)
		calls_error(r, JSONRPC_INTERNAL,
		    "Out of memory for the results", NULL);
}

/* -- Calls ------------------------------------------------------------- */

/* A new call in the list; NULL: no memory, which has been answered. */
static struct call *
open_call(const struct calls_request *r, struct json token, enum call_kind kind)
{
	struct calls *c = r->calls;
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
		calls_error(r, JSONRPC_INTERNAL, "Out of memory", NULL);
		return NULL;
	}
	c->outcome = MCP_LATER;
	call->kind = kind;
	call->text = text;
	call->from = *r;
	call->from.id.text = text.data;
	call->from.id.len = id_len;
	call->token.text = text.len > id_len ? text.data + id_len : NULL;
	call->token.len = text.len - id_len;
	call->deadline = NEVER;
	call->read = call->last = c->now;
	call->pause = c->now + PROGRESS_GAP;
	if (r->batch != NULL)
		r->batch->open++;
	call->next = c->first;
	if (c->first != NULL)
		c->first->previous = call;
	c->first = call;
	c->open++;
	c->held += call->text.len;
	c->looks += kind == CALL_LOOK;
	c->listens += kind == CALL_LISTEN;
	return call;
}

static void
close_call(struct call *call)
{
	struct calls *c = call->from.calls;

	*(call->previous != NULL ? &call->previous->next : &c->first) =
	    call->next;
	if (call->next != NULL)
		call->next->previous = call->previous;
	c->open--;
	c->held -= call->text.len;
	c->looks -= call->kind == CALL_LOOK;
	c->listens -= call->kind == CALL_LISTEN;
	calls_batch_end(&call->from);
	buf_free(&call->text);
	buf_free(&call->out.tail);
	buf_free(&call->err.tail);
	tools_call_free(&call->look);
	free(call);
}

static void
end_call(struct call *call, struct buf *result)
{
	calls_result(&call->from, result);
	close_call(call);
}

/* Without a session all clients share the tasks: whoever asks by pid has to
 * know the id as well (H6). */
static struct job *
task_of(const struct call *call)
{
	struct session *s = call->from.calls->session;
	const struct tools_call *look = &call->look;
	struct job *job;

	if (look->id.len == 0 && session_stateless(s))
		return NULL;
	job = session_task(s, &look->id, look->pid);
	if (job != NULL && look->by_pid && job->pid != look->pid)
		return NULL;
	return job;
}

static void
cancel_call(struct call *call)
{
	struct calls *c = call->from.calls;
	struct job *job = call->kind == CALL_LOOK ? task_of(call) : call->job;

	if (call->kind == CALL_RUN)
		session_cancel(c->session, job, c->now);
	/* The start of a task, being waited for: without a session nobody
	 * knows its id yet, and nobody could end it (H6, H7). */
	if (call->look.action == TOOLS_RUN && call->kind == CALL_LOOK &&
	    session_stateless(c->session) && job != NULL)
		session_kill(job, c->now);
	close_call(call);
}

/* -- Waiting (W2, W3) --------------------------------------------------- */

/* Where the text ends that is first found at `from` or behind; 0: nowhere. */
static size_t
find(const struct buf *b, const struct buf *text, size_t from)
{
	for (; text->len > 0 && from + text->len <= b->len; from++) {
		if (memcmp(b->data + from, text->data, text->len) == 0)
			return from + text->len;
	}
	return 0;
}

/* Searches what is new of one stream, together with the tail of what was
 * searched before. */
static void
search(struct call *call, struct output *text, struct watched *w)
{
	const struct buf *until = &call->look.until;
	struct buf *b = &w->tail;
	size_t keep = until->len > 0 ? until->len - 1 : 0, at = 0;

	if (!output_news(text, &w->searched))
		return;
	call->printed = call->from.calls->now;
	if (output_rewritten(text, &w->searched))
		b->len = 0;  /* it was of the line as it had been before */
	output_since(text, &w->searched, SEARCHED, b);
	while (!call->seen && (at = find(b, until, at)) > 0) {
		call->seen = call->echoes == 0;
		call->echoes -= !call->seen;
		call->look.echoed = true;
		if (b->len - at < keep)
			keep = b->len - at;
	}
	if (b->len > keep)
		buf_drop(b, b->len - keep);
	buf_shrink(b);  /* a thousand may wait */
	b->failed = false;  /* without memory this part was not searched */
}

static void
search_news(struct call *call, struct job *job)
{
	if (call->look.until.len == 0 && !call->look.only_new)
		return;
	search(call, job->out.text, &call->out);
	search(call, job->err.text, &call->err);
}

/* When the wait ends, as far as is known now; NEVER: with the task */
static int64_t
wait_ends(struct call *call, struct job *job)
{
	const struct tools_call *look = &call->look;
	int64_t quiet = look->action == TOOLS_TYPE ? QUIET_TYPED : QUIET;
	int64_t asks;
	bool secret;

	if (look->action == TOOLS_KILL)
		return call->deadline;
	search_news(call, job);
	asks = session_asks(job, call->from.calls->now, &secret);
	if (call->seen || (asks > 0 && asks != job->told))
		return 0;
	/* What another call has shown meanwhile is not new any more. */
	if (look->until.len == 0 && look->only_new && call->printed > 0 &&
	    (output_news(job->out.text, &job->out.seen) ||
	    output_news(job->err.text, &job->err.seen)) &&
	    call->printed + quiet < call->deadline)
		return call->printed + quiet;
	return call->deadline;
}

/* Types what is to be typed. False: that can't be, which has been answered. */
static bool
type(struct call *call, struct job *job)
{
	struct tools_call *look = &call->look;
	struct buf b = { NULL, 0, 0, false };
	size_t at = 0;
	bool echoed;

	if (look->input.len == 0 && job->asked.terminal)
		return true;
	/* What was printed before is no answer to this, nor its echo. */
	search_news(call, job);
	call->printed = 0;
	if (session_type(job, &look->input, &echoed) < 0) {
		results_not_typed(&b, job, errno);
		end_call(call, &b);
		return false;
	}
	while (echoed && (at = find(&look->input, &look->until, at)) > 0)
		call->echoes++;
	buf_free(&look->input);
	return true;
}

/* Does another call wait for the same task? Both get its result (T3). */
static bool
others_wait(const struct call *call)
{
	const struct call *other = call->from.calls->first;

	for (; other != NULL; other = other->next) {
		if (other != call && other->kind == CALL_LOOK &&
		    task_of(other) == task_of(call))
			return true;
	}
	return false;
}

/* Answers a look if the task has ended or is not there, if what it waits for
 * has come, or if the time is up. False: not yet. */
static bool
try_look(struct call *call)
{
	struct calls *c = call->from.calls;
	struct job *job = task_of(call);
	bool finished = job != NULL && job->state == JOB_FINISHED;
	struct output_cursor out = { 0, 0, 0, 0 }, err = out;
	struct buf b = { NULL, 0, 0, false };
	int64_t asks;

	if (job != NULL && c->now < wait_ends(call, job) && !finished)
		return false;
	if (job == NULL) {
		results_no_task(&b, c->session, &call->look, c->now);
	} else {
		call->look.unseen = call->look.until.len > 0 && !call->seen;
		asks = session_asks(job, c->now, &call->look.secret);
		call->look.asks = asks > 0;
		if (asks > 0)
			job->told = asks;
		out = job->out.seen;
		err = job->err.seen;
		results_job(&b, call->from.data, c->session, job, &call->look,
		    c->now);
	}
	/* What has been read is forgotten, unless the reading failed, or others
	 * wait for it: they get the same (T3). */
	if (finished && !b.failed && !others_wait(call)) {
		session_forget(c->session, job);
	} else if (finished) {
		job->out.seen = out;
		job->err.seen = err;
	}
	end_call(call, &b);
	return true;
}

/* Reads what the task has printed until now. That may be more than is kept, so
 * the calls that wait for a text search it here. */
static void
read_task(struct calls *c, struct job *job)
{
	struct call *call;

	session_read(job, c->now);
	for (call = c->first; call != NULL; call = call->next) {
		if (call->kind == CALL_LOOK && task_of(call) == job)
			search_news(call, job);
	}
}

/* From now on the call looks at that task, by its id: the pid may be another
 * task's later on. */
static void
begin_look(struct call *call, struct job *job)
{
	struct tools_call *look = &call->look;

	look->by_pid = false;
	look->id.len = 0;
	buf_puts(&look->id, job->id);
	call->out.searched = call->out.shown = job->out.seen;
	call->err.searched = call->err.shown = job->err.seen;
	call->deadline = call->from.calls->now + look->wait;
}

void
calls_tool(const struct calls_request *r, struct json token,
           struct tools_call *asked)
{
	enum call_kind kind = asked->action == TOOLS_RUN ? CALL_RUN : CALL_LOOK;
	struct calls *c = r->calls;
	struct buf b = { NULL, 0, 0, false };
	struct call *call;
	struct job *job;

	if (asked->action == TOOLS_LIST) {
		results_list(&b, r->data, c->session, c->now);
		calls_result(r, &b);
		return;
	}
	if (kind == CALL_LOOK && c->looks == LOOKS) {
		calls_error(r, JSONRPC_INTERNAL, "Too many calls wait", NULL);
		return;
	}
	call = open_call(r, token, kind);
	if (call == NULL)
		return;
	call->look = *asked;
	memset(asked, 0, sizeof(*asked));
	if (kind == CALL_RUN) {
		call->job = session_run(c->session, &call->look.job, call);
		if (call->job == NULL) {
			calls_error(r, JSONRPC_INTERNAL, "Out of memory", NULL);
			close_call(call);
		}
		return;
	}
	job = task_of(call);
	if (job != NULL) {
		begin_look(call, job);
		read_task(c, job);
	}
	if (job != NULL && call->look.action == TOOLS_TYPE &&
	    !type(call, job))
		return;
	if (job != NULL && call->look.action == TOOLS_KILL) {
		session_kill(job, c->now);
		call->deadline = NEVER;
	}
	try_look(call);
}

void
calls_listen(const struct calls_request *r)
{
	struct buf b = { NULL, 0, 0, false };
	struct json no_token = { NULL, 0 };

	if (r->calls->listens == LISTENS) {
		calls_error(r, JSONRPC_INTERNAL,
		    "Too many subscriptions are open", NULL);
		return;
	}
	if (open_call(r, no_token, CALL_LISTEN) == NULL)
		return;
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "subscriptions/acknowledged\",\"params\":{\"_meta\":{\""
	    META_SUBSCRIPTION "\":");
	json_verbatim(r->id, &b);
	buf_puts(&b, "},\"notifications\":{}}}");
	post(r, MCP_NOTICE, 0, &b);
	buf_free(&b);
}

void
calls_cancel(struct calls *c, struct json id)
{
	struct call *call = c->first;

	while (call != NULL && !json_equal(call->from.id, id))
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
		if (call->from.to != to)
			continue;
		if (call->from.batch != NULL) {
			c->batched -= call->from.batch->answers.len;
			buf_free(&call->from.batch->answers);
		}
		call->from.to = NULL;
		call->token.text = NULL;  /* nobody looks at progress */
		call->look.wait = 0;  /* nor waits for a task */
		if (cancel || call->kind != CALL_RUN)
			cancel_call(call);
	}
}

bool
calls_await(const struct calls *c, const void *to)
{
	const struct call *call = c->first;

	while (call != NULL && call->from.to != to)
		call = call->next;
	return call != NULL;
}

/* -- Progress (O7, W1) ------------------------------------------------- */

/* The job whose output the call gets; NULL: none, or it has not started. */
static struct job *
job_of(const struct call *call)
{
	struct job *job = call->kind == CALL_RUN ? call->job : task_of(call);

	return job != NULL && job->out.text != NULL ? job : NULL;
}

/* When a call's next progress is due; NEVER: nobody has asked for any. */
static int64_t
progress_due(struct call *call)
{
	int64_t due = call->last + PROGRESS_SILENCE;
	struct job *job;

	if (call->token.text == NULL)
		return NEVER;
	job = job_of(call);
	if (job != NULL && (output_news(job->out.text, &call->out.shown) ||
	    output_news(job->err.text, &call->err.shown))) {
		if (call->news == 0)
			call->news = call->from.calls->now;
		due = call->news + PROGRESS_PAUSE;
	}
	return due > call->pause ? due : call->pause;
}

static void
send_progress(struct call *call)
{
	struct calls *c = call->from.calls;
	struct buf text = { NULL, 0, 0, false }, b = text;
	struct output_cursor out = call->out.shown, err = call->err.shown;
	struct job *job = job_of(call);

	if (job != NULL) {
		output_since(job->out.text, &out, PROGRESS_SIZE, &text);
		output_since(job->err.text, &err, PROGRESS_SIZE, &text);
	}
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "progress\",\"params\":{\"progressToken\":");
	json_verbatim(call->token, &b);
	buf_puts(&b, ",\"progress\":");
	buf_int(&b, c->now - call->read);
	buf_puts(&b, ",\"message\":");
	json_string(&b, text.data, text.len);
	buf_puts(&b, "}}");
	/* If it is not taken, the next one, before long, holds this text. */
	call->pause = c->now + PROGRESS_PAUSE;
	if (!b.failed && !text.failed && c->send(c->transport, call->from.to,
	    MCP_PROGRESS, 0, &b)) {
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
	struct call *call;
	struct job *job;

	for (call = c->first; call != NULL; call = call->next) {
		job = call->kind == CALL_LOOK ? task_of(call) : NULL;
		if (job != NULL)
			loop_until(loop, wait_ends(call, job));
		if (job != NULL && job->asked.terminal)
			loop_until(loop, loop->now + ASKS_LOOK);
		loop_until(loop, progress_due(call));
	}
}

/* Answers a job's call; or, if that is the start of a task with a wait, lets it
 * wait on (W2). */
static void
tell(struct calls *c, struct job *job)
{
	struct call *call = job->call;
	struct buf b = { NULL, 0, 0, false };

	if (call == NULL)
		return;
	if (job->id[0] != '\0' && call->look.wait > 0) {
		call->kind = CALL_LOOK;
		call->job = NULL;
		c->looks++;
		begin_look(call, job);
		return;
	}
	if (job->refused != JOB_ACCEPTED)
		results_refused(&b, c->session, job, c->now);
	else
		results_job(&b, call->from.data, c->session, job, NULL, c->now);
	end_call(call, &b);
}

void
calls_dispatch(struct calls *c)
{
	struct call *call, *next;
	struct job *job;

	while ((job = session_next(c->session)) != NULL) {
		tell(c, job);
		session_release(c->session, job);
	}
	for (call = c->first; call != NULL; call = next) {
		next = call->next;
		if (call->kind == CALL_LOOK && try_look(call))
			continue;
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
		if (call->kind != CALL_LISTEN)
			continue;
		call->from.stateless = false;  /* it has a _meta of its own */
		buf_puts(&b, "\"resultType\":\"complete\","
		    "\"_meta\":{\"" META_SUBSCRIPTION "\":");
		json_verbatim(call->from.id, &b);
		buf_putc(&b, '}');
		end_call(call, &b);
	}
}

void
calls_free(struct calls *c)
{
	/* close_call() moves c->first on, which the analyzer doesn't see. */
	while (c->first != NULL)
		close_call(c->first);  /* NOLINT(clang-analyzer-unix.Malloc) */
}
