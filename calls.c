#define _POSIX_C_SOURCE 200809L

#include "calls.h"

#include <stdlib.h>
#include <string.h>

enum {
	LISTENS = 32,          /* subscriptions held open at a time */
	PROGRESS_GAP = 100,    /* ms: at most ten a second (O7) */
	PROGRESS_PAUSE = 20,   /* ms that news waits: the end may be near, and
	                        * what is glued to it is lost (O7) */
	PROGRESS_SILENCE = 10000,  /* ms */
	PROGRESS_SIZE = 4000   /* bytes of each stream */
};

#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

struct batch {
	void *to;
	struct buf answers;
	int open;              /* answers still to come, +1 while it is read */
};

enum call_kind {
	CALL_RUN,              /* a command */
	CALL_LOOK,             /* at a task, or for its end */
	CALL_LISTEN            /* subscriptions/listen: until the end */
};

/* A request whose answer comes later */
struct call {
	struct call *next, *previous;
	enum call_kind kind;
	struct reply_to from;
	bool abandoned;        /* nobody is there any more */
	struct buf id;         /* what from.id points to */
	struct buf token;      /* the progress token's text; empty: none */
	struct job *job;       /* CALL_RUN: the session's */
	struct tools_call look;  /* CALL_LOOK: what is asked */
	int64_t deadline;      /* ms; CALL_LOOK: how long it waits */
	int64_t read;          /* ms; when it was */
	int64_t last;          /* ms, of the last progress */
	int64_t news;          /* ms, since when there is some; 0 none */
	struct output_cursor out, err;  /* what progress has shown */
};

/* -- Writing ----------------------------------------------------------- */

static void
post(const struct reply_to *to, enum mcp_kind kind, int error,
     struct buf *message)
{
	struct buf *answers;

	if (message->failed)
		return;  /* not even memory to say so */
	if (to->batch == NULL) {
		to->calls->send(to->calls->transport, to->to, kind, error,
		    message);
		return;
	}
	answers = &to->batch->answers;
	buf_putc(answers, answers->len > 0 ? ',' : '[');
	buf_put(answers, message->data, message->len);
}

static void
put_envelope(struct buf *b, const struct calls *c, struct json id)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\"");
	if (id.text != NULL) {
		buf_puts(b, ",\"id\":");
		json_verbatim(id, b);
	} else if (c->null_id) {
		buf_puts(b, ",\"id\":null");
	}
}

void
reply_put_error(struct buf *b, const struct calls *c, struct json id, int code,
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
reply_error(const struct reply_to *to, int code, const char *message,
             const struct buf *data)
{
	struct buf b = { NULL, 0, 0, false };

	reply_put_error(&b, to->calls, to->id, code, message, data);
	post(to, to->era == ERA_UNKNOWN ? MCP_REFUSAL : MCP_RESPONSE, code,
	    &b);
	buf_free(&b);
}

/* In the stateless era a result says what it is, and all that there are have a
 * member. */
void
reply_begin(struct buf *b, const struct reply_to *to)
{
	put_envelope(b, to->calls, to->id);
	buf_puts(b, ",\"result\":{");
	if (to->era == ERA_STATELESS)
		buf_puts(b, "\"resultType\":\"complete\",\"_meta\":{\""
		    META_SERVER "\":" MCP_SERVER_INFO "},");
}

/* Where there was no memory for it, that is said. */
void
reply_send(const struct reply_to *to, struct buf *b)
{
	buf_puts(b, "}}");
	if (b->failed) {
		buf_free(b);
		reply_put_error(b, to->calls, to->id, JSONRPC_INTERNAL,
		    "Out of memory for the result", NULL);
		post(to, MCP_RESPONSE, JSONRPC_INTERNAL, b);
	} else {
		post(to, MCP_RESPONSE, 0, b);
	}
	buf_free(b);
}

/* -- Calls ------------------------------------------------------------- */

struct batch *
batch_begin(void *to)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (batch == NULL)
		return NULL;
	batch->to = to;
	batch->open = 1;
	return batch;
}

bool
batch_end(struct calls *c, struct batch *batch)
{
	if (batch == NULL || --batch->open > 0)
		return false;
	if (batch->answers.len > 0) {
		buf_putc(&batch->answers, ']');
		c->send(c->transport, batch->to, MCP_RESPONSE, 0,
		    &batch->answers);
	}
	buf_free(&batch->answers);
	free(batch);
	return true;
}

static void
free_call(struct call *call)
{
	buf_free(&call->id);
	buf_free(&call->token);
	tools_call_free(&call->look);
	free(call);
}

/* A call among the others; NULL: no memory, and that has been answered. */
static struct call *
open_call(const struct reply_to *from, struct json token, enum call_kind kind)
{
	struct calls *c = from->calls;
	struct call *call = calloc(1, sizeof(*call));
	bool failed = call == NULL;

	if (!failed) {
		json_verbatim(from->id, &call->id);
		if (json_type(token) == JSON_STRING ||
		    json_type(token) == JSON_NUMBER)
			json_verbatim(token, &call->token);
		failed = call->id.failed || call->token.failed;
	}
	if (failed) {
		if (call != NULL)
			free_call(call);
		reply_error(from, JSONRPC_INTERNAL, "Out of memory", NULL);
		return NULL;
	}
	call->kind = kind;
	call->from = *from;
	call->from.id.text = call->id.data;
	call->from.id.len = call->id.len;
	call->read = call->last = c->now;
	if (from->batch != NULL)
		from->batch->open++;
	call->next = c->first;
	if (c->first != NULL)
		c->first->previous = call;
	c->first = call;
	c->listening += kind == CALL_LISTEN;
	return call;
}

static void
close_call(struct call *call)
{
	struct calls *c = call->from.calls;

	if (call->previous != NULL)
		call->previous->next = call->next;
	else
		c->first = call->next;
	if (call->next != NULL)
		call->next->previous = call->previous;
	c->listening -= call->kind == CALL_LISTEN;
	batch_end(c, call->from.batch);
	free_call(call);
}

static void
end_call(struct call *call, struct buf *b)
{
	if (!call->abandoned)
		reply_send(&call->from, b);
	buf_free(b);
	close_call(call);
}

static void
cancel_call(struct call *call)
{
	struct calls *c = call->from.calls;

	if (call->kind == CALL_RUN)
		session_cancel(c->session, call->job, c->now);
	close_call(call);
}

static struct job *
task_of(struct calls *c, const struct tools_call *look)
{
	return session_task(c->session, look->id.data, look->pid);
}

/* A look at a task: answered when it has ended, or is not there, or the time
 * is up. False: not yet. */
static bool
try_look(struct call *call)
{
	struct calls *c = call->from.calls;
	struct job *job = task_of(c, &call->look);
	struct buf b = { NULL, 0, 0, false };
	bool finished;

	finished = job != NULL && job->state == JOB_FINISHED;
	if (job != NULL && !finished && c->now < call->deadline)
		return false;
	reply_begin(&b, &call->from);
	if (job == NULL)
		tools_no_task(&b, &call->look);
	else
		tools_result(&b, c->tools, job, &call->look);
	/* Read is forgotten, unless the reading failed. */
	if (finished && !b.failed)
		session_forget(c->session, job);
	end_call(call, &b);
	return true;
}

bool
calls_look(const struct reply_to *from, struct json token,
           struct tools_call *asked)
{
	struct calls *c = from->calls;
	struct call *call = open_call(from, token, CALL_LOOK);
	struct job *job;

	if (call == NULL)
		return false;
	call->look = *asked;
	memset(asked, 0, sizeof(*asked));
	call->deadline = c->now + call->look.wait;
	job = task_of(c, &call->look);
	if (job != NULL) {
		session_read(job);
		/* The pid may be another's later on. */
		call->look.id.len = 0;
		buf_puts(&call->look.id, job->id);
		buf_putc(&call->look.id, '\0');
	}
	if (job != NULL && call->look.action == TOOLS_KILL) {
		session_kill(job, c->now);
		call->deadline = NEVER;
	}
	return !try_look(call);
}

bool
calls_run(const struct reply_to *from, struct json token,
          struct tools_call *asked)
{
	struct call *call = open_call(from, token, CALL_RUN);
	struct buf b = { NULL, 0, 0, true };

	if (call == NULL)
		return false;
	call->job = session_run(from->calls->session, &asked->job, call);
	if (call->job == NULL)
		end_call(call, &b);
	return call->job != NULL;
}

bool
calls_listen(const struct reply_to *from)
{
	struct calls *c = from->calls;
	struct buf b = { NULL, 0, 0, false };
	struct json none = { NULL, 0 };

	if (c->listening == LISTENS) {
		reply_error(from, JSONRPC_INTERNAL,
		    "Too many subscriptions are open", NULL);
		return false;
	}
	if (open_call(from, none, CALL_LISTEN) == NULL)
		return false;
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "subscriptions/acknowledged\",\"params\":{\"_meta\":{\""
	    META_SUBSCRIPTION "\":");
	json_verbatim(from->id, &b);
	buf_puts(&b, "},\"notifications\":{}}}");
	if (!b.failed)
		c->send(c->transport, from->to, MCP_NOTICE, 0, &b);
	buf_free(&b);
	return true;
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

/* -- Progress (O7, W1) ------------------------------------------------- */

/* Whose output a call is about; NULL: there is none, at least not yet. */
static struct job *
job_of(const struct call *call)
{
	struct job *job = call->kind == CALL_RUN ? call->job
	    : task_of(call->from.calls, &call->look);

	return job != NULL && job->out.text != NULL ? job : NULL;
}

static bool
has_news(const struct call *call)
{
	struct job *job = job_of(call);

	return job != NULL &&
	    (output_news(job->out.text, &call->out) ||
	    output_news(job->err.text, &call->err));
}

/* When a call's next progress is due, by its token's will; NEVER: it has none
 * or wants none. */
static int64_t
progress_due(struct call *call, int64_t now)
{
	if (call->token.len == 0 || call->abandoned ||
	    call->kind == CALL_LISTEN)
		return NEVER;
	if (!has_news(call))
		return call->last + PROGRESS_SILENCE;
	if (call->news == 0)
		call->news = now;
	if (call->news + PROGRESS_PAUSE > call->last + PROGRESS_GAP)
		return call->news + PROGRESS_PAUSE;
	return call->last + PROGRESS_GAP;
}

static void
send_progress(struct call *call, int64_t now)
{
	struct calls *c = call->from.calls;
	struct buf text = { NULL, 0, 0, false }, b = text;
	struct output_cursor out = call->out, err = call->err;
	struct job *job = job_of(call);

	if (job != NULL) {
		output_since(job->out.text, &out, PROGRESS_SIZE,
		    &text);
		output_since(job->err.text, &err, PROGRESS_SIZE,
		    &text);
	}
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "progress\",\"params\":{\"progressToken\":");
	buf_put(&b, call->token.data, call->token.len);
	buf_puts(&b, ",\"progress\":");
	buf_int(&b, now - call->read);
	buf_puts(&b, ",\"message\":");
	json_string(&b, text.data, text.len);
	buf_puts(&b, "}}");
	/* Refused, for a slow reader: the next one has all of it. */
	if (!b.failed && !text.failed && c->send(c->transport, call->from.to,
	    MCP_PROGRESS, 0, &b)) {
		call->out = out;
		call->err = err;
		call->news = 0;
	}
	call->last = now;
	buf_free(&text);
	buf_free(&b);
}

/* -- Turns ------------------------------------------------------------- */

void
calls_poll_add(struct calls *c, struct loop *loop)
{
	struct call *call;

	for (call = c->first; call != NULL; call = call->next) {
		if (call->kind == CALL_LOOK)
			loop_until(loop, call->deadline);
		loop_until(loop, progress_due(call, loop->now));
	}
}

/* Answers the calls whose jobs have something to tell. */
static void
answer_calls(struct calls *c)
{
	struct buf b = { NULL, 0, 0, false };
	struct job *job;
	struct call *call;

	while ((job = session_next(c->session)) != NULL) {
		call = job->call;
		if (call != NULL) {
			reply_begin(&b, &call->from);
			if (job->refused != JOB_ACCEPTED)
				tools_refused(&b, c->session, job);
			else
				tools_result(&b, c->tools, job,
				    NULL);
			end_call(call, &b);
		}
		session_told(c->session, job);
	}
}

void
calls_dispatch(struct calls *c)
{
	struct call *call, *next;

	answer_calls(c);
	for (call = c->first; call != NULL; call = next) {
		next = call->next;
		if (c->now >= progress_due(call, c->now))
			send_progress(call, c->now);
		if (call->kind == CALL_LOOK)
			try_look(call);
	}
}

void
calls_forget(struct calls *c, void *to, bool cancel)
{
	struct call *call, *next;

	for (call = c->first; call != NULL; call = next) {
		next = call->next;
		if (call->from.to != to || call->abandoned)
			continue;
		call->abandoned = true;
		if (call->from.batch != NULL)
			call->from.batch->to = NULL;
		if (cancel || call->kind != CALL_RUN)
			cancel_call(call);
	}
}

bool
calls_unanswered(const struct calls *c)
{
	const struct call *call = c->first;

	while (call != NULL && call->kind == CALL_LISTEN)
		call = call->next;
	return call != NULL;
}

bool
calls_await(const struct calls *c, const void *to)
{
	const struct call *call = c->first;

	while (call != NULL && (call->abandoned || call->from.to != to))
		call = call->next;
	return call != NULL;
}

/* The subscriptions end with the server, and are told so (MCP 2026-07-28,
 * subscriptions). */
void
calls_close(struct calls *c)
{
	struct buf b = { NULL, 0, 0, false };
	struct call *call, *next;

	answer_calls(c);
	for (call = c->first; call != NULL; call = next) {
		next = call->next;
		if (call->kind != CALL_LISTEN)
			continue;
		put_envelope(&b, c, call->from.id);
		buf_puts(&b, ",\"result\":{\"resultType\":\"complete\","
		    "\"_meta\":{\"" META_SUBSCRIPTION "\":");
		buf_put(&b, call->id.data, call->id.len);
		buf_putc(&b, '}');
		end_call(call, &b);
	}
}

void
calls_free(struct calls *c)
{
	while (c->first != NULL) {
		if (c->first->job != NULL)
			c->first->job->call = NULL;
		close_call(c->first);
	}
}
