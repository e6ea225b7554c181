#define _POSIX_C_SOURCE 200809L

#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	METHOD_NOT_FOUND = -32601,
	INVALID_PARAMS = -32602,
	INTERNAL_ERROR = -32603,
	UNSUPPORTED_VERSION = -32022,

	LISTENS = 32,          /* subscriptions held open at a time */
	PROGRESS_GAP = 100,    /* ms: at most ten a second (O7) */
	PROGRESS_PAUSE = 20,   /* ms that news waits: the end may be near, and
	                        * what is glued to it is lost (O7) */
	PROGRESS_SILENCE = 10000,  /* ms */
	PROGRESS_SIZE = 4000,  /* bytes of each stream */
	NAME_SHOWN = 100       /* bytes of an unknown name that are quoted */
};

/* What a revision adds. A new one is a row here. */
struct revision {
	const char *name;
	bool stateless;   /* no handshake: every request says its version, and
	                   * every result what it is */
	bool batches;     /* arrays of messages */
};

static const struct revision revisions[] = {
	{ "2026-07-28", true, false },
	{ "2025-11-25", false, false },
	{ "2025-06-18", false, false },
	{ "2025-03-26", false, true },
	{ "2024-11-05", false, false },
	{ NULL, false, false }
};

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"
#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define SERVER "{\"name\":\"boris\",\"version\":\"" BORIS_VERSION "\"}"

/* A client's calls that are answered later, the newest first */
struct client {
	const struct mcp_options *options;
	struct session *session;
	mcp_send *send;
	void *transport;
	enum mcp_peer peer;
	const struct revision *revision;  /* the handshake's; NULL before */
	struct call *calls;
	int listening;         /* calls of subscriptions/listen among them */
	int64_t now;           /* ms, of this turn */
};

/* The answers to one array, sent together when all are there */
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
	void *to;              /* its return address */
	bool abandoned;        /* nobody is there any more */
	struct batch *batch;   /* the array it was part of; NULL: none */
	const struct revision *revision;
	struct buf id;         /* its JSON text */
	struct buf token;      /* the progress token's; empty: none */
	struct job *job;       /* CALL_RUN: the session's */
	struct tools_call look;    /* CALL_LOOK: what is asked */
	int64_t deadline;      /* ms; CALL_LOOK: how long it waits */
	int64_t last;          /* ms, of the last progress; 0: none yet */
	int64_t news;          /* ms, since when there is some; 0 none */
	struct output_mark out, err;  /* what progress has shown */
};

/* A message being handled */
struct request {
	struct client *client;
	void *to;
	struct batch *batch;
	const struct revision *revision;  /* whose rules it is under */
	const struct mcp_message *message;
	bool held;             /* the answer comes later */
};

/* -- Writing ----------------------------------------------------------- */

static void
post(struct client *c, void *to, struct batch *batch, enum mcp_kind kind,
     int error, struct buf *message)
{
	if (message->failed)
		return;  /* not even memory to say so */
	if (batch == NULL) {
		c->send(c->transport, to, kind, error, message);
		return;
	}
	buf_putc(&batch->answers, batch->answers.len > 0 ? ',' : '[');
	buf_put(&batch->answers, message->data, message->len);
}

static void
put_envelope(struct buf *b, const struct client *c, struct json id)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\"");
	if (id.text != NULL) {
		buf_puts(b, ",\"id\":");
		json_verbatim(id, b);
	} else if (c->peer == MCP_STDIO) {
		buf_puts(b, ",\"id\":null");
	}
}

/* data: JSON text, or NULL */
static void
put_error(struct buf *b, const struct client *c, struct json id, int code,
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

static void
fail_with(const struct request *r, struct json id, int code,
          const char *message, const struct buf *data)
{
	struct buf b = { NULL, 0, 0, false };

	put_error(&b, r->client, id, code, message, data);
	post(r->client, r->to, r->batch,
	    r->revision == NULL ? MCP_REFUSAL : MCP_RESPONSE, code, &b);
	buf_free(&b);
}

static void
fail(const struct request *r, int code, const char *message)
{
	fail_with(r, r->message->id, code, message, NULL);
}

/* {"jsonrpc":"2.0","id":ID,"result":{ and in the stateless era what it is.
 * Members then come with put_member(). */
static void
begin(struct buf *b, const struct client *c, const struct revision *revision,
      struct json id)
{
	put_envelope(b, c, id);
	buf_puts(b, ",\"result\":{");
	if (revision->stateless)
		buf_puts(b, "\"resultType\":\"complete\"");
}

/* A comma where one is due */
static void
member(struct buf *b)
{
	if (b->len > 0 && b->data[b->len - 1] != '{')
		buf_putc(b, ',');
}

static void
finish(struct buf *b, const struct revision *revision)
{
	if (revision->stateless) {
		member(b);
		buf_puts(b, "\"_meta\":{\"" META_SERVER "\":" SERVER "}");
	}
	buf_puts(b, "}}");
}

/* Sends it, or that there was no memory for it. */
static void
answer(struct client *c, void *to, struct batch *batch, struct json id,
       struct buf *b)
{
	if (b->failed) {
		buf_free(b);
		put_error(b, c, id, INTERNAL_ERROR,
		    "Out of memory for the result", NULL);
		post(c, to, batch, MCP_RESPONSE, INTERNAL_ERROR, b);
	} else {
		post(c, to, batch, MCP_RESPONSE, 0, b);
	}
	buf_free(b);
}

/* -- Calls ------------------------------------------------------------- */

static void
batch_done(struct client *c, struct batch *batch)
{
	if (batch == NULL || --batch->open > 0)
		return;
	if (batch->answers.len > 0) {
		buf_putc(&batch->answers, ']');
		c->send(c->transport, batch->to, MCP_RESPONSE, 0,
		    &batch->answers);
	}
	buf_free(&batch->answers);
	free(batch);
}

static struct json
slice(const struct buf *b)
{
	struct json j;

	j.text = b->data;
	j.len = b->len;
	return j;
}

/* A call among the others; NULL: no memory, and the request has been answered
 * so. */
static struct call *
open_call(struct request *r, enum call_kind kind)
{
	struct client *c = r->client;
	struct call *call = calloc(1, sizeof(*call));
	struct json token = json_get(r->message->meta, "progressToken");

	if (call != NULL) {
		json_verbatim(r->message->id, &call->id);
		if (json_type(token) == JSON_STRING ||
		    json_type(token) == JSON_NUMBER)
			json_verbatim(token, &call->token);
	}
	if (call == NULL || call->id.failed || call->token.failed) {
		if (call != NULL) {
			buf_free(&call->id);
			buf_free(&call->token);
		}
		free(call);
		fail(r, INTERNAL_ERROR, "Out of memory");
		return NULL;
	}
	call->kind = kind;
	call->to = r->to;
	call->batch = r->batch;
	if (r->batch != NULL)
		r->batch->open++;
	call->revision = r->revision;
	call->next = c->calls;
	if (c->calls != NULL)
		c->calls->previous = call;
	c->calls = call;
	if (kind == CALL_LISTEN)
		c->listening++;
	r->held = true;
	return call;
}

static void
close_call(struct client *c, struct call *call)
{
	if (call->previous != NULL)
		call->previous->next = call->next;
	else
		c->calls = call->next;
	if (call->next != NULL)
		call->next->previous = call->previous;
	if (call->kind == CALL_LISTEN)
		c->listening--;
	batch_done(c, call->batch);
	buf_free(&call->id);
	buf_free(&call->token);
	tools_call_free(&call->look);
	free(call);
}

/* The result of a call: begun, filled in by the caller, sent here. */
static void
begin_call(struct buf *b, const struct client *c, const struct call *call)
{
	begin(b, c, call->revision, slice(&call->id));
	member(b);
}

static void
end_call(struct client *c, struct call *call, struct buf *b)
{
	finish(b, call->revision);
	if (!call->abandoned)
		answer(c, call->to, call->batch, slice(&call->id), b);
	buf_free(b);
	close_call(c, call);
}

static void
cancel_call(struct client *c, struct call *call)
{
	if (call->kind == CALL_RUN)
		session_cancel(c->session, call->job, c->now);
	close_call(c, call);
}

/* -- Methods ----------------------------------------------------------- */

static void
do_initialize(struct request *r)
{
	struct client *c = r->client;
	const struct revision *v, *latest = revisions;
	struct json wanted = json_get(r->message->params, "protocolVersion");
	struct buf b = { NULL, 0, 0, false };

	if (json_type(wanted) != JSON_STRING) {
		fail(r, INVALID_PARAMS,
		    "params lack protocolVersion (a string)");
		return;
	}
	for (v = revisions; v->name != NULL; v++) {
		if (v->stateless)
			continue;
		if (latest->stateless)
			latest = v;
		if (json_is(wanted, v->name))
			break;
	}
	c->revision = v->name != NULL ? v : latest;
	begin(&b, c, c->revision, r->message->id);
	buf_add(&b, "\"protocolVersion\":\"", c->revision->name,
	    "\",\"capabilities\":{\"tools\":{}}," "\"serverInfo\":" SERVER);
	finish(&b, c->revision);
	answer(c, r->to, r->batch, r->message->id, &b);
}

static void
do_ping(struct request *r)
{
	static const struct revision plain = { "", false, false };
	struct buf b = { NULL, 0, 0, false };

	begin(&b, r->client, &plain, r->message->id);
	finish(&b, &plain);
	answer(r->client, r->to, r->batch, r->message->id, &b);
}

/* How long the answer may be kept: it never changes. */
static void
put_caching(struct buf *b, const struct revision *revision)
{
	if (revision->stateless)
		buf_puts(b, ",\"ttlMs\":3600000,\"cacheScope\":\"public\"");
}

/* The versions that need no handshake, as an array */
static void
put_versions(struct buf *b)
{
	const struct revision *v;
	bool first = true;

	buf_putc(b, '[');
	for (v = revisions; v->name != NULL; v++) {
		if (!v->stateless)
			continue;
		buf_add(b, first ? "\"" : ",\"", v->name);
		buf_putc(b, '"');
		first = false;
	}
	buf_putc(b, ']');
}

static void
do_discover(struct request *r)
{
	struct buf b = { NULL, 0, 0, false };

	begin(&b, r->client, r->revision, r->message->id);
	buf_puts(&b, ",\"supportedVersions\":");
	put_versions(&b);
	buf_puts(&b, ",\"capabilities\":{\"tools\":{}}");
	put_caching(&b, r->revision);
	finish(&b, r->revision);
	answer(r->client, r->to, r->batch, r->message->id, &b);
}

static void
do_list(struct request *r)
{
	struct buf b = { NULL, 0, 0, false };

	if (json_type(json_get(r->message->params, "cursor")) != JSON_NONE) {
		fail(r, INVALID_PARAMS, "Unknown cursor: all tools are on the "
		    "one page that is asked for without");
		return;
	}
	begin(&b, r->client, r->revision, r->message->id);
	member(&b);
	buf_puts(&b, "\"tools\":");
	tools_list(&b, &r->client->options->tools);
	put_caching(&b, r->revision);
	finish(&b, r->revision);
	answer(r->client, r->to, r->batch, r->message->id, &b);
}

static void
do_listen(struct request *r)
{
	struct client *c = r->client;
	struct buf b = { NULL, 0, 0, false };

	if (json_type(json_get(r->message->params, "notifications")) != JSON_OBJECT) {
		fail(r, INVALID_PARAMS,
		    "params lack notifications (an object)");
		return;
	}
	if (c->listening == LISTENS) {
		fail(r, INTERNAL_ERROR, "Too many subscriptions are open");
		return;
	}
	if (open_call(r, CALL_LISTEN) == NULL)
		return;
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "subscriptions/acknowledged\",\"params\":{\"_meta\":{\""
	    META_SUBSCRIPTION "\":");
	json_verbatim(r->message->id, &b);
	buf_puts(&b, "},\"notifications\":{}}}");
	if (!b.failed)
		c->send(c->transport, r->to, MCP_NOTICE, 0, &b);
	buf_free(&b);
}

static struct job *
task_of(struct client *c, const struct tools_call *look)
{
	if (look->id.len > 0)
		return session_task(c->session, look->id.data);
	return session_task_by_pid(c->session, look->pid);
}

/* A look at a task: answered when it has ended, or is not there, or the time
 * is up. */
static void
try_look(struct client *c, struct call *call)
{
	struct job *job = task_of(c, &call->look);
	struct buf b = { NULL, 0, 0, false };
	bool finished;

	finished = job != NULL && job_report(job)->state == JOB_FINISHED;
	if (job != NULL && !finished && c->now < call->deadline)
		return;
	begin_call(&b, c, call);
	if (job == NULL)
		tools_no_task(&b, &call->look);
	else
		tools_result(&b, &c->options->tools, job, &call->look);
	/* Read is forgotten, unless the reading failed. */
	if (finished && !b.failed)
		session_forget(c->session, job);
	end_call(c, call, &b);
}

static void
do_look(struct request *r, struct tools_call *asked)
{
	struct client *c = r->client;
	struct call *call = open_call(r, CALL_LOOK);
	struct job *job;

	if (call == NULL)
		return;
	call->look = *asked;
	memset(asked, 0, sizeof(*asked));
	call->deadline = c->now + call->look.wait;
	job = task_of(c, &call->look);
	if (job != NULL) {
		job_read(job);
		if (call->look.id.len == 0) {
			/* The number may be another's later on. */
			buf_puts(&call->look.id, job_report(job)->id);
			buf_putc(&call->look.id, '\0');
		}
	}
	if (job != NULL && call->look.action == TOOLS_KILL) {
		session_kill(c->session, job, c->now);
		call->deadline = NEVER;
	}
	try_look(c, call);
}

static void
do_run(struct request *r, struct tools_call *asked)
{
	struct client *c = r->client;
	struct call *call = open_call(r, CALL_RUN);
	struct buf b = { NULL, 0, 0, true };

	if (call == NULL)
		return;
	call->job = session_run(c->session, &asked->job, call);
	if (call->job == NULL)
		end_call(c, call, &b);
}

/* "Unknown tool: nope" */
static void
fail_naming(const struct request *r, const char *what, struct json name)
{
	struct buf text = { NULL, 0, 0, false };
	size_t n;

	buf_puts(&text, what);
	n = text.len;
	json_decode(name, &text);
	if (text.len > n + NAME_SHOWN) {
		text.len = n + NAME_SHOWN;  /* json_string() mends a cut */
		buf_puts(&text, "...");
	}
	buf_putc(&text, '\0');
	fail(r, INVALID_PARAMS, text.failed ? what : text.data);
	buf_free(&text);
}

static void
refuse_arguments(const struct request *r, const struct buf *refusal)
{
	struct buf b = { NULL, 0, 0, false };

	begin(&b, r->client, r->revision, r->message->id);
	member(&b);
	tools_refusal(&b, refusal->data, refusal->len);
	finish(&b, r->revision);
	answer(r->client, r->to, r->batch, r->message->id, &b);
}

static void
do_call(struct request *r)
{
	const struct tools_options *options = &r->client->options->tools;
	struct json name = r->message->name;
	struct json arguments = r->message->arguments;
	struct buf refusal = { NULL, 0, 0, false };
	struct tools_call call;
	enum tool tool;

	if (json_type(name) != JSON_STRING) {
		fail(r, INVALID_PARAMS, "params lack name (a string)");
		return;
	}
	tool = tools_find(options, name);
	if (tool == TOOL_NONE) {
		fail_naming(r, "Unknown tool: ", name);
		return;
	}
	if (arguments.text != NULL && json_type(arguments) != JSON_OBJECT) {
		fail(r, INVALID_PARAMS, "arguments must be an object");
		return;
	}
	if (!tools_read(options, tool, arguments, &call, &refusal))
		refuse_arguments(r, &refusal);
	else if (call.action == TOOLS_RUN)
		do_run(r, &call);
	else
		do_look(r, &call);
	tools_call_free(&call);
	buf_free(&refusal);
}

/* A method is a row: which eras have it, and what does it. */
static const struct method {
	const char *name;
	bool legacy, stateless;
	void (*run)(struct request *);
} methods[] = {
	{ "tools/call", true, true, do_call },
	{ "tools/list", true, true, do_list },
	{ "ping", true, false, do_ping },
	{ "initialize", true, false, do_initialize },
	{ "server/discover", false, true, do_discover },
	{ "subscriptions/listen", false, true, do_listen },
	{ NULL, false, false, NULL }
};

static void
dispatch(struct request *r)
{
	const struct method *m;

	for (m = methods; m->name != NULL; m++) {
		if (!json_is(r->message->method, m->name))
			continue;
		if (r->revision->stateless ? m->stateless : m->legacy) {
			m->run(r);
			return;
		}
	}
	fail(r, METHOD_NOT_FOUND, "Method not found");
}

/* -- The two eras ------------------------------------------------------ */

static void
refuse_version(const struct request *r, struct json version)
{
	struct buf data = { NULL, 0, 0, false };

	buf_puts(&data, "{\"supported\":");
	put_versions(&data);
	buf_puts(&data, ",\"requested\":");
	json_verbatim(version, &data);
	buf_puts(&data, "}");
	fail_with(r, r->message->id, UNSUPPORTED_VERSION,
	    "Unsupported protocol version", data.failed ? NULL : &data);
	buf_free(&data);
}

static bool
has_string(struct json object, const char *name)
{
	return json_type(json_get(object, name)) == JSON_STRING;
}

/* A request that says its own version (mcp.md 8): refused in boris's order */
static void
handle_stateless(struct request *r)
{
	struct json version = r->message->version;
	static const char *const names[] = { META_CAPABILITIES, META_CLIENT };
	struct json found[2];
	const struct revision *v;

	if (json_type(version) != JSON_STRING) {
		fail(r, INVALID_PARAMS,
		    "_meta's " META_VERSION " must be a string");
		return;
	}
	for (v = revisions; v->name != NULL; v++) {
		if (v->stateless && json_is(version, v->name))
			break;
	}
	if (v->name == NULL) {
		refuse_version(r, version);
		return;
	}
	json_members(r->message->meta, names, found, 2);
	if (json_type(found[0]) != JSON_OBJECT) {
		fail(r, INVALID_PARAMS, "params._meta lacks "
		    META_CAPABILITIES " (an object)");
		return;
	}
	if (found[1].text != NULL && (json_type(found[1]) != JSON_OBJECT ||
	    !has_string(found[1], "name") ||
	    !has_string(found[1], "version"))) {
		fail(r, INVALID_PARAMS, "_meta's " META_CLIENT " must be an "
		    "object with strings name and version");
		return;
	}
	r->revision = v;
	dispatch(r);
}

/* Which era a request belongs to: the first that fits (mcp.md 3) */
static void
handle_request(struct request *r)
{
	const struct mcp_message *m = r->message;

	if (m->params.text != NULL && json_type(m->params) != JSON_OBJECT) {
		fail(r, INVALID_PARAMS, "params must be an object");
		return;
	}
	if (m->meta.text != NULL && json_type(m->meta) != JSON_OBJECT) {
		fail(r, INVALID_PARAMS, "params._meta must be an object");
		return;
	}
	if (r->batch != NULL && (m->version.text != NULL ||
	    json_is(m->method, "initialize"))) {
		fail(r, INVALID_REQUEST, "Not allowed in a batch");
		return;
	}
	if (m->version.text != NULL) {
		handle_stateless(r);
	} else if (json_is(m->method, "initialize")) {
		do_initialize(r);
	} else if (json_is(m->method, "server/discover")) {
		fail(r, INVALID_PARAMS, "params._meta lacks " META_VERSION
		    " (a string)");
	} else if (r->client->revision != NULL) {
		r->revision = r->client->revision;
		dispatch(r);
	} else if (json_is(m->method, "ping") &&
	    r->client->peer != MCP_HTTP_STATELESS) {
		do_ping(r);
	} else {
		fail(r, INVALID_PARAMS, "params._meta lacks " META_VERSION
		    " (a string); or begin with initialize");
	}
}

static void
handle_cancelled(struct client *c, struct json params)
{
	struct json id = json_get(params, "requestId");
	struct call *call = c->calls;

	while (call != NULL && !json_equal(slice(&call->id), id))
		call = call->next;
	if (call != NULL)
		cancel_call(c, call);
}

/* -- Messages ---------------------------------------------------------- */

static void
split(struct mcp_message *m, struct json whole)
{
	static const char *const names[] = {
		"jsonrpc", "id", "method", "params", "result", "error"
	}, *const of_params[] = { "_meta", "name", "arguments" };
	struct json found[6];

	memset(m, 0, sizeof(*m));
	json_members(whole, names, found, 6);
	m->whole = whole;
	m->jsonrpc = found[0];
	m->id = found[1];
	m->method = found[2];
	if (json_type(found[3]) != JSON_NULL)
		m->params = found[3];  /* null counts as absent */
	m->result = found[4];
	m->error = found[5];
	json_members(m->params, of_params, found, 3);
	m->meta = found[0];
	m->name = found[1];
	if (json_type(found[2]) != JSON_NULL)
		m->arguments = found[2];
	m->version = json_get(m->meta, META_VERSION);
}

void
mcp_parse(struct mcp_message *m, const char *text, size_t len)
{
	split(m, json_check(text, len));
}

bool
mcp_is_request(const struct mcp_message *m)
{
	return json_type(m->method) == JSON_STRING && m->id.text != NULL;
}

/* True: the answer comes later. */
static bool
handle(struct client *c, void *to, struct batch *batch,
       const struct mcp_message *m)
{
	struct json none = { NULL, 0 };
	enum json_type id = json_type(m->id);
	struct request r;

	memset(&r, 0, sizeof(r));
	r.client = c;
	r.to = to;
	r.batch = batch;
	r.message = m;
	if (json_type(m->whole) != JSON_OBJECT) {
		fail_with(&r, none, INVALID_REQUEST, "Not a request", NULL);
		return false;
	}
	if (m->method.text == NULL && (m->result.text != NULL ||
	    m->error.text != NULL))
		return false;  /* a response; boris has asked nothing */
	if (id != JSON_NONE && id != JSON_STRING && id != JSON_NUMBER) {
		fail_with(&r, none, INVALID_REQUEST,
		    "id must be a string or a number", NULL);
		return false;
	}
	if (!json_is(m->jsonrpc, "2.0"))
		fail(&r, INVALID_REQUEST, "jsonrpc must be \"2.0\"");
	else if (json_type(m->method) != JSON_STRING)
		fail(&r, INVALID_REQUEST, "method must be a string");
	else if (id != JSON_NONE)
		handle_request(&r);
	else if (json_is(m->method, "notifications/cancelled"))
		handle_cancelled(c, m->params);
	return r.held;
}

static void
fail_unread(struct client *c, void *to, int code, const char *message)
{
	struct request r;
	struct json none = { NULL, 0 };

	memset(&r, 0, sizeof(r));
	r.client = c;
	r.to = to;
	fail_with(&r, none, code, message, NULL);
}

void
mcp_error(const struct client *c, struct buf *b, const struct mcp_message *m,
          int code, const char *text)
{
	struct json id = { NULL, 0 };

	/* Under a response's id the client could take it for its answer. */
	if (mcp_is_request(m) && (json_type(m->id) == JSON_STRING ||
	    json_type(m->id) == JSON_NUMBER))
		id = m->id;
	put_error(b, c, id, code, text, NULL);
}

void
mcp_unread(struct client *c, void *to, bool too_long)
{
	if (too_long)
		fail_unread(c, to, INVALID_REQUEST, "The message is over "
		    "16 MiB long, the most that is taken");
	else
		fail_unread(c, to, INTERNAL_ERROR,
		    "Out of memory for the message");
}

static bool
handle_batch(struct client *c, void *to, struct json array)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	struct mcp_message m;
	struct json element;
	size_t at = 0;
	bool later;

	if (batch == NULL) {
		mcp_unread(c, to, false);
		return false;
	}
	batch->to = to;
	batch->open = 1;
	while (json_next(array, &at, NULL, &element)) {
		split(&m, element);
		handle(c, to, batch, &m);
	}
	later = batch->open > 1;
	batch_done(c, batch);
	return later;
}

bool
mcp_handle(struct client *c, void *to, const struct mcp_message *m,
           int64_t now)
{
	size_t at = 0;
	struct json first;

	c->now = now;
	if (m->whole.text == NULL) {
		fail_unread(c, to, PARSE_ERROR, "Parse error");
		return false;
	}
	if (json_type(m->whole) == JSON_ARRAY && c->revision != NULL &&
	    c->revision->batches && json_next(m->whole, &at, NULL, &first))
		return handle_batch(c, to, m->whole);
	return handle(c, to, NULL, m);
}

/* -- Progress (O7) ----------------------------------------------------- */

static bool
wants_progress(const struct call *call)
{
	return call->kind == CALL_RUN && call->token.len > 0 &&
	    !call->abandoned && job_report(call->job)->state == JOB_RUNNING;
}

static int64_t
progress_due(struct call *call, int64_t now)
{
	const struct output *out = job_stream(call->job, 1)->text;
	const struct output *err = job_stream(call->job, 2)->text;

	if (call->last == 0)
		call->last = job_report(call->job)->started;
	if (!output_news(out, &call->out) && !output_news(err, &call->err))
		return call->last + PROGRESS_SILENCE;
	if (call->news == 0)
		call->news = now;
	if (call->news + PROGRESS_PAUSE > call->last + PROGRESS_GAP)
		return call->news + PROGRESS_PAUSE;
	return call->last + PROGRESS_GAP;
}

static void
send_progress(struct client *c, struct call *call)
{
	struct buf text = { NULL, 0, 0, false }, b = { NULL, 0, 0, false };
	struct output_mark out = call->out, err = call->err;

	output_since(job_stream(call->job, 1)->text, &out, PROGRESS_SIZE,
	    "stdout", &text);
	output_since(job_stream(call->job, 2)->text, &err, PROGRESS_SIZE,
	    "stderr", &text);
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "progress\",\"params\":{\"progressToken\":");
	buf_put(&b, call->token.data, call->token.len);
	buf_puts(&b, ",\"progress\":");
	buf_int(&b, c->now - job_report(call->job)->started);
	buf_puts(&b, ",\"message\":");
	json_string(&b, text.data, text.len);
	buf_puts(&b, "}}");
	/* Refused, for a slow reader: the next one has all of it. */
	if (!b.failed && !text.failed && c->send(c->transport, call->to,
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

struct client *
mcp_open(const struct mcp_options *options, enum mcp_peer peer, mcp_send *send,
         void *transport)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->options = options;
	c->peer = peer;
	c->send = send;
	c->transport = transport;
	c->session = session_open(&options->session,
	    peer == MCP_HTTP_STATELESS);
	if (c->session == NULL) {
		free(c);
		return NULL;
	}
	return c;
}

void
mcp_free(struct client *c)
{
	if (c == NULL)
		return;
	while (c->calls != NULL) {
		if (c->calls->job != NULL)
			session_detach(c->calls->job);
		close_call(c, c->calls);
	}
	session_free(c->session);
	free(c);
}

void
mcp_poll_add(struct client *c, struct loop *loop)
{
	struct call *call;

	session_poll_add(c->session, loop);
	for (call = c->calls; call != NULL; call = call->next) {
		if (call->kind == CALL_LOOK)
			loop_until(loop, call->deadline);
		else if (wants_progress(call))
			loop_until(loop, progress_due(call, loop->now));
	}
}

/* Answers the calls whose jobs have something to tell. */
static void
answer_calls(struct client *c)
{
	struct buf b = { NULL, 0, 0, false };
	struct job *job;
	struct call *call;

	while ((job = session_next(c->session)) != NULL) {
		call = job_call(job);
		if (call != NULL) {
			begin_call(&b, c, call);
			if (job_report(job)->refused != JOB_ACCEPTED)
				tools_refused(&b, c->session, job);
			else
				tools_result(&b, &c->options->tools, job,
				    NULL);
			end_call(c, call, &b);
		}
		session_told(c->session, job);
	}
}

void
mcp_dispatch(struct client *c, const struct loop *loop)
{
	struct call *call, *next;

	c->now = loop->now;
	session_dispatch(c->session, loop);
	answer_calls(c);
	for (call = c->calls; call != NULL; call = next) {
		next = call->next;
		if (call->kind == CALL_LOOK)
			try_look(c, call);
		else if (wants_progress(call) &&
		    c->now >= progress_due(call, c->now))
			send_progress(c, call);
	}
}

void
mcp_forget(struct client *c, void *to, bool cancel, int64_t now)
{
	struct call *call, *next;

	c->now = now;
	for (call = c->calls; call != NULL; call = next) {
		next = call->next;
		if (call->to != to || call->abandoned)
			continue;
		call->abandoned = true;
		if (call->batch != NULL)
			call->batch->to = NULL;
		if (cancel || call->kind != CALL_RUN)
			cancel_call(c, call);
	}
}

size_t
mcp_backlog(const struct client *c)
{
	return session_queued(c->session);
}

bool
mcp_unanswered(const struct client *c)
{
	const struct call *call = c->calls;

	while (call != NULL && call->kind == CALL_LISTEN)
		call = call->next;
	return call != NULL;
}

bool
mcp_awaits(const struct client *c, const void *to)
{
	const struct call *call = c->calls;

	while (call != NULL && (call->abandoned || call->to != to))
		call = call->next;
	return call != NULL;
}

/* The subscriptions end with the server, and are told so. */
static void
end_listens(struct client *c)
{
	struct buf b = { NULL, 0, 0, false };
	struct call *call, *next;

	for (call = c->calls; call != NULL; call = next) {
		next = call->next;
		if (call->kind != CALL_LISTEN)
			continue;
		put_envelope(&b, c, slice(&call->id));
		buf_puts(&b, ",\"result\":{\"resultType\":\"complete\","
		    "\"_meta\":{\"" META_SUBSCRIPTION "\":");
		buf_put(&b, call->id.data, call->id.len);
		buf_puts(&b, "}}}");
		answer(c, call->to, NULL, slice(&call->id), &b);
		close_call(c, call);
	}
}

void
mcp_close(struct client *c, int64_t now, bool at_once)
{
	c->now = now;
	session_close(c->session, now, at_once);
	answer_calls(c);
	end_listens(c);
}

bool
mcp_closed(const struct client *c)
{
	return session_closed(c->session);
}

const char *
mcp_version(const struct client *c)
{
	return c->revision == NULL ? NULL : c->revision->name;
}

bool
mcp_speaks(const char *name, size_t len, bool stateless)
{
	const struct revision *v;

	for (v = revisions; v->name != NULL; v++) {
		if (v->stateless == stateless && strlen(v->name) == len &&
		    memcmp(v->name, name, len) == 0)
			return true;
	}
	return false;
}
