#define _POSIX_C_SOURCE 200809L

#include "calls.h"

#include <stdlib.h>
#include <string.h>

enum {
	LISTENERS = 32,        /* subscriptions held open at a time */
	PROGRESS_GAP = 100,    /* ms: at most ten a second (O7) */
	PROGRESS_PAUSE = 20,   /* ms that news waits: a command often ends right
	                        * after it, and clients lose progress that they
	                        * read together with the response */
	PROGRESS_SILENCE = 10000,  /* ms */
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
	struct buf text;       /* what from.id and token point to */
	struct json token;     /* for progress; JSON_NONE: none */
	struct job *job;       /* CALL_RUN: the session's */
	struct tools_call look;  /* CALL_LOOK: what is asked */
	int64_t deadline;      /* ms; CALL_LOOK: how long it waits */
	int64_t read;          /* ms; when it was */
	int64_t last;          /* ms, of the last progress */
	int64_t news;          /* ms, since when there is some; 0: none */
	struct output_cursor out, err;  /* what progress has shown */
};

/* -- Answers ----------------------------------------------------------- */

static void
post(const struct calls_request *r, enum mcp_kind kind, int error,
     struct buf *message)
{
	struct buf *answers;

	if (message->failed)
		return;
	if (r->batch == NULL) {
		r->calls->send(r->calls->transport, r->to, kind, error,
		    message);
		return;
	}
	answers = &r->batch->answers;
	buf_putc(answers, answers->len > 0 ? ',' : '[');
	buf_put(answers, message->data, message->len);
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
	struct buf b = { NULL, 0, 0, false };

	calls_put_error(&b, r->calls, r->id, code, message, data);
	post(r, r->stateless ? MCP_RESPONSE : MCP_REFUSAL, code, &b);
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
	failed = b.failed || members->failed;
	if (!failed)
		post(r, MCP_RESPONSE, 0, &b);
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

	if (batch == NULL || --batch->open > 0)
		return;
	r->batch = NULL;
	memset(&r->id, 0, sizeof(r->id));
	if (batch->answers.len > 0)
		buf_putc(&batch->answers, ']');
	if (batch->answers.failed)
		calls_error(r, JSONRPC_INTERNAL,
		    "Out of memory for the results", NULL);
	else if (batch->answers.len > 0)
		post(r, MCP_RESPONSE, 0, &batch->answers);
	buf_free(&batch->answers);
	free(batch);
}

/* -- Calls ------------------------------------------------------------- */

/* A call among the others; NULL: no memory, and that has been answered. */
static struct call *
open_call(const struct calls_request *r, struct json token, enum call_kind kind)
{
	struct calls *c = r->calls;
	struct call *call = calloc(1, sizeof(*call));
	struct buf text = { NULL, 0, 0, false };
	size_t id_len;

	json_verbatim(r->id, &text);
	id_len = text.len;
	if (json_type(token) == JSON_STRING || json_type(token) == JSON_NUMBER)
		json_verbatim(token, &text);
	if (call == NULL || text.failed) {
		free(call);
		buf_free(&text);
		calls_error(r, JSONRPC_INTERNAL, "Out of memory", NULL);
		return NULL;
	}
	call->kind = kind;
	call->text = text;
	call->from = *r;
	call->from.id.text = text.data;
	call->from.id.len = id_len;
	if (text.len > id_len) {
		call->token.text = text.data + id_len;
		call->token.len = text.len - id_len;
	}
	call->deadline = NEVER;
	call->read = call->last = c->now;
	if (r->batch != NULL)
		r->batch->open++;
	call->next = c->first;
	if (c->first != NULL)
		c->first->previous = call;
	c->first = call;
	c->open++;
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
	c->open--;
	c->listening -= call->kind == CALL_LISTEN;
	calls_batch_end(&call->from);
	buf_free(&call->text);
	tools_call_free(&call->look);
	free(call);
}

static void
end_call(struct call *call, struct buf *result)
{
	calls_result(&call->from, result);
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
task_of(const struct call *call)
{
	return session_task(call->from.calls->session, call->look.id.data,
	    call->look.pid);
}

/* Answers a look when the task has ended, or is not there, or the time is up.
 * False: not yet. */
static bool
try_look(struct call *call)
{
	struct calls *c = call->from.calls;
	struct job *job = task_of(call);
	bool finished = job != NULL && job->state == JOB_FINISHED;
	struct buf b = { NULL, 0, 0, false };

	if (job != NULL && !finished && c->now < call->deadline)
		return false;
	if (job == NULL)
		tools_no_task(&b, &call->look);
	else
		tools_result(&b, c->tools, job, &call->look);
	/* What has been read is forgotten, unless the reading failed. */
	if (finished && !b.failed)
		session_forget(c->session, job);
	end_call(call, &b);
	return true;
}

static void
run_command(struct call *call, struct job_request *asked)
{
	call->job = session_run(call->from.calls->session, asked, call);
	if (call->job == NULL) {
		calls_error(&call->from, JSONRPC_INTERNAL, "Out of memory",
		    NULL);
		close_call(call);
	}
}

void
calls_tool(const struct calls_request *r, struct json token,
           struct tools_call *asked)
{
	enum call_kind kind = asked->action == TOOLS_RUN ? CALL_RUN : CALL_LOOK;
	struct call *call = open_call(r, token, kind);
	struct job *job;

	if (call == NULL)
		return;
	if (kind == CALL_RUN) {
		run_command(call, &asked->job);
		return;
	}
	call->look = *asked;
	memset(asked, 0, sizeof(*asked));
	call->deadline = r->calls->now + call->look.wait;
	job = task_of(call);
	if (job != NULL) {
		session_read(job);
		/* The pid may be another's later on. */
		call->look.id.len = 0;
		buf_add(&call->look.id, job->id);
		buf_putc(&call->look.id, '\0');
	}
	if (job != NULL && call->look.action == TOOLS_KILL) {
		session_kill(job, r->calls->now);
		call->deadline = NEVER;
	}
	try_look(call);
}

void
calls_listen(const struct calls_request *r)
{
	struct buf b = { NULL, 0, 0, false };
	struct json no_token = { NULL, 0 };

	if (r->calls->listening == LISTENERS) {
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
		call->from.to = NULL;
		call->token.text = NULL;  /* nobody looks at progress */
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

/* Whose output a call is about; NULL: there is none, at least not yet. */
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
	int64_t due = call->last + PROGRESS_GAP;
	struct job *job;

	if (call->token.text == NULL)
		return NEVER;
	job = job_of(call);
	if (job == NULL || (!output_news(job->out.text, &call->out) &&
	    !output_news(job->err.text, &call->err)))
		return call->last + PROGRESS_SILENCE;
	if (call->news == 0)
		call->news = call->from.calls->now;
	return due > call->news + PROGRESS_PAUSE ? due
	    : call->news + PROGRESS_PAUSE;
}

static void
send_progress(struct call *call)
{
	struct calls *c = call->from.calls;
	struct buf text = { NULL, 0, 0, false }, b = text;
	struct output_cursor out = call->out, err = call->err;
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
	/* Where a slow reader refuses it, the next one has all of it. */
	if (!b.failed && !text.failed && c->send(c->transport, call->from.to,
	    MCP_PROGRESS, 0, &b)) {
		call->out = out;
		call->err = err;
		call->news = 0;
	}
	call->last = c->now;
	buf_free(&text);
	buf_free(&b);
}

/* -- Turns ------------------------------------------------------------- */

void
calls_poll_add(struct calls *c, struct loop *loop)
{
	struct call *call;

	for (call = c->first; call != NULL; call = call->next) {
		loop_until(loop, call->deadline);
		loop_until(loop, progress_due(call));
	}
}

void
calls_dispatch(struct calls *c)
{
	struct buf b = { NULL, 0, 0, false };
	struct call *call, *next;
	struct job *job;

	while ((job = session_next(c->session)) != NULL) {
		call = job->call;
		if (call != NULL && job->refused != JOB_ACCEPTED)
			tools_refused(&b, c->session, job);
		else if (call != NULL)
			tools_result(&b, c->tools, job, NULL);
		if (call != NULL)
			end_call(call, &b);
		session_told(c->session, job);
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
		next = call->next;
		if (call->kind != CALL_LISTEN)
			continue;
		call->from.stateless = false;  /* what follows is all of it */
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
	while (c->first != NULL)
		close_call(c->first);
}
