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
#define SERVER_INFO "{\"name\":\"boris\",\"version\":\"" BORIS_VERSION "\"}"

/* A peer; its calls that are answered later, the newest first */
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

/* Where an answer goes, under which id and by whose rules */
struct address {
	struct client *client;
	void *to;              /* the transport's */
	struct batch *batch;   /* the array that was asked in; NULL: none */
	const struct revision *revision;  /* NULL: not known yet */
	struct json id;
};

/* A message being handled */
struct request {
	struct address from;
	const struct mcp_message *message;
	bool held;             /* the answer comes later */
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
	struct address from;
	bool abandoned;        /* nobody is there any more */
	struct buf id;         /* what from.id points to */
	struct buf token;      /* the progress token's text; empty: none */
	struct job *job;       /* CALL_RUN: the session's */
	struct tools_call look;  /* CALL_LOOK: what is asked */
	int64_t deadline;      /* ms; CALL_LOOK: how long it waits */
	int64_t read;          /* ms; when it was */
	int64_t last;          /* ms, of the last progress */
	int64_t news;          /* ms, since when there is some; 0 none */
	struct output_mark out, err;  /* what progress has shown */
};

/* -- Writing ----------------------------------------------------------- */

static void
post(const struct address *to, enum mcp_kind kind, int error,
     struct buf *message)
{
	struct buf *answers;

	if (message->failed)
		return;  /* not even memory to say so */
	if (to->batch == NULL) {
		to->client->send(to->client->transport, to->to, kind, error,
		    message);
		return;
	}
	answers = &to->batch->answers;
	buf_putc(answers, answers->len > 0 ? ',' : '[');
	buf_put(answers, message->data, message->len);
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
fail_with(const struct address *to, int code, const char *message,
          const struct buf *data)
{
	struct buf b = { NULL, 0, 0, false };

	put_error(&b, to->client, to->id, code, message, data);
	post(to, to->revision == NULL ? MCP_REFUSAL : MCP_RESPONSE, code, &b);
	buf_free(&b);
}

static void
fail(const struct address *to, int code, const char *message)
{
	fail_with(to, code, message, NULL);
}

/* A result up to its members, each of which the caller puts behind it, with
 * commas between; then send_result(). In the stateless era a result says what
 * it is, and all that there are have a member. */
static void
begin_result(struct buf *b, const struct address *to)
{
	put_envelope(b, to->client, to->id);
	buf_puts(b, ",\"result\":{");
	if (to->revision != NULL && to->revision->stateless)
		buf_puts(b, "\"resultType\":\"complete\",\"_meta\":{\""
		    META_SERVER "\":" SERVER_INFO "},");
}

/* Sends it, or that there was no memory for it. */
static void
send_result(const struct address *to, struct buf *b)
{
	buf_puts(b, "}}");
	if (b->failed) {
		buf_free(b);
		put_error(b, to->client, to->id, INTERNAL_ERROR,
		    "Out of memory for the result", NULL);
		post(to, MCP_RESPONSE, INTERNAL_ERROR, b);
	} else {
		post(to, MCP_RESPONSE, 0, b);
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

static void
free_call(struct call *call)
{
	buf_free(&call->id);
	buf_free(&call->token);
	tools_call_free(&call->look);
	free(call);
}

/* A call among the others; NULL: no memory, and the request has been answered
 * so. */
static struct call *
open_call(struct request *r, enum call_kind kind)
{
	struct client *c = r->from.client;
	struct call *call = calloc(1, sizeof(*call));
	struct json token = json_get(r->message->meta, "progressToken");
	bool failed = call == NULL;

	if (!failed) {
		json_verbatim(r->from.id, &call->id);
		if (json_type(token) == JSON_STRING ||
		    json_type(token) == JSON_NUMBER)
			json_verbatim(token, &call->token);
		failed = call->id.failed || call->token.failed;
	}
	if (failed) {
		if (call != NULL)
			free_call(call);
		fail(&r->from, INTERNAL_ERROR, "Out of memory");
		return NULL;
	}
	call->kind = kind;
	call->from = r->from;
	call->from.id.text = call->id.data;
	call->from.id.len = call->id.len;
	call->read = call->last = c->now;
	if (call->from.batch != NULL)
		call->from.batch->open++;
	call->next = c->calls;
	if (c->calls != NULL)
		c->calls->previous = call;
	c->calls = call;
	c->listening += kind == CALL_LISTEN;
	r->held = true;
	return call;
}

static void
close_call(struct call *call)
{
	struct client *c = call->from.client;

	if (call->previous != NULL)
		call->previous->next = call->next;
	else
		c->calls = call->next;
	if (call->next != NULL)
		call->next->previous = call->previous;
	c->listening -= call->kind == CALL_LISTEN;
	batch_done(c, call->from.batch);
	free_call(call);
}

static void
end_call(struct call *call, struct buf *b)
{
	if (!call->abandoned)
		send_result(&call->from, b);
	buf_free(b);
	close_call(call);
}

static void
cancel_call(struct call *call)
{
	struct client *c = call->from.client;

	if (call->kind == CALL_RUN)
		session_cancel(c->session, call->job, c->now);
	close_call(call);
}

/* -- Methods ----------------------------------------------------------- */

/* Each answers its request, or holds it; or returns what is wrong with its
 * params. */

static const char *
do_initialize(struct request *r)
{
	struct client *c = r->from.client;
	const struct revision *v, *latest = revisions;
	struct json wanted = json_get(r->message->params, "protocolVersion");
	struct buf b = { NULL, 0, 0, false };

	if (json_type(wanted) != JSON_STRING)
		return "params lack protocolVersion (a string)";
	for (v = revisions; v->name != NULL; v++) {
		if (latest->stateless)
			latest = v;
		if (!v->stateless && json_is(wanted, v->name))
			break;
	}
	c->revision = v->name != NULL ? v : latest;
	begin_result(&b, &r->from);
	buf_add(&b, "\"protocolVersion\":\"", c->revision->name,
	    "\",\"capabilities\":{\"tools\":{}},"
	    "\"serverInfo\":" SERVER_INFO);
	send_result(&r->from, &b);
	return NULL;
}

static const char *
do_ping(struct request *r)
{
	struct buf b = { NULL, 0, 0, false };

	begin_result(&b, &r->from);
	send_result(&r->from, &b);
	return NULL;
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
	const char *before = "[\"";

	for (v = revisions; v->name != NULL; v++) {
		if (!v->stateless)
			continue;
		buf_add(b, before, v->name, "\"");
		before = ",\"";
	}
	buf_putc(b, ']');
}

static const char *
do_discover(struct request *r)
{
	struct buf b = { NULL, 0, 0, false };

	begin_result(&b, &r->from);
	buf_puts(&b, "\"supportedVersions\":");
	put_versions(&b);
	buf_puts(&b, ",\"capabilities\":{\"tools\":{}}");
	put_caching(&b, r->from.revision);
	send_result(&r->from, &b);
	return NULL;
}

static const char *
do_list(struct request *r)
{
	struct buf b = { NULL, 0, 0, false };

	if (json_type(json_get(r->message->params, "cursor")) != JSON_NONE)
		return "Unknown cursor: all tools are on the one page that is "
		    "asked for without";
	begin_result(&b, &r->from);
	buf_puts(&b, "\"tools\":");
	tools_list(&b, &r->from.client->options->tools);
	put_caching(&b, r->from.revision);
	send_result(&r->from, &b);
	return NULL;
}

static const char *
do_listen(struct request *r)
{
	struct client *c = r->from.client;
	struct buf b = { NULL, 0, 0, false };

	if (json_type(json_get(r->message->params, "notifications")) !=
	    JSON_OBJECT)
		return "params lack notifications (an object)";
	if (c->listening == LISTENS) {
		fail(&r->from, INTERNAL_ERROR,
		    "Too many subscriptions are open");
		return NULL;
	}
	if (open_call(r, CALL_LISTEN) == NULL)
		return NULL;
	buf_puts(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	    "subscriptions/acknowledged\",\"params\":{\"_meta\":{\""
	    META_SUBSCRIPTION "\":");
	json_verbatim(r->from.id, &b);
	buf_puts(&b, "},\"notifications\":{}}}");
	if (!b.failed)
		c->send(c->transport, r->from.to, MCP_NOTICE, 0, &b);
	buf_free(&b);
	return NULL;
}

static struct job *
task_of(struct client *c, const struct tools_call *look)
{
	return session_task(c->session, look->id.data, look->pid);
}

/* A look at a task: answered when it has ended, or is not there, or the time
 * is up. */
static void
try_look(struct call *call)
{
	struct client *c = call->from.client;
	struct job *job = task_of(c, &call->look);
	struct buf b = { NULL, 0, 0, false };
	bool finished;

	finished = job != NULL && job->state == JOB_FINISHED;
	if (job != NULL && !finished && c->now < call->deadline)
		return;
	begin_result(&b, &call->from);
	if (job == NULL)
		tools_no_task(&b, &call->look);
	else
		tools_result(&b, &c->options->tools, job, &call->look);
	/* Read is forgotten, unless the reading failed. */
	if (finished && !b.failed)
		session_forget(c->session, job);
	end_call(call, &b);
}

static void
begin_look(struct request *r, struct tools_call *asked)
{
	struct client *c = r->from.client;
	struct call *call = open_call(r, CALL_LOOK);
	struct job *job;

	if (call == NULL)
		return;
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
	try_look(call);
}

static void
begin_run(struct request *r, struct tools_call *asked)
{
	struct call *call = open_call(r, CALL_RUN);
	struct buf b = { NULL, 0, 0, true };

	if (call == NULL)
		return;
	call->job = session_run(r->from.client->session, &asked->job, call);
	if (call->job == NULL)
		end_call(call, &b);
}

/* "Unknown tool: nope" */
static void
fail_unknown_tool(struct request *r, struct json name)
{
	struct buf text = { NULL, 0, 0, false };
	const size_t most = strlen("Unknown tool: ") + NAME_SHOWN;

	buf_puts(&text, "Unknown tool: ");
	json_decode(name, &text);
	if (text.len > most) {
		text.len = most;  /* json_string() mends a cut character */
		buf_puts(&text, "...");
	}
	buf_putc(&text, '\0');
	fail(&r->from, INVALID_PARAMS,
	    text.failed ? "Unknown tool" : text.data);
	buf_free(&text);
}

static const char *
do_call(struct request *r)
{
	const struct tools_options *options = &r->from.client->options->tools;
	const struct mcp_message *m = r->message;
	struct buf refusal = { NULL, 0, 0, false }, b = refusal;
	struct tools_call call;
	enum tool tool;

	if (json_type(m->name) != JSON_STRING)
		return "params lack name (a string)";
	tool = tools_find(options, m->name);
	if (tool == TOOL_NONE) {
		fail_unknown_tool(r, m->name);
		return NULL;
	}
	if (m->arguments.text != NULL && json_type(m->arguments) != JSON_OBJECT)
		return "arguments must be an object";
	if (!tools_read(options, tool, m->arguments, &call, &refusal)) {
		begin_result(&b, &r->from);
		tools_refusal(&b, refusal.data, refusal.len);
		send_result(&r->from, &b);
	} else if (call.action == TOOLS_RUN) {
		begin_run(r, &call);
	} else {
		begin_look(r, &call);
	}
	tools_call_free(&call);
	buf_free(&refusal);
	return NULL;
}

/* A method is a row: which eras have it, and what does it. */
static const struct method {
	const char *name;
	bool legacy, stateless;
	const char *(*run)(struct request *);
} methods[] = {
	{ "tools/call", true, true, do_call },
	{ "tools/list", true, true, do_list },
	{ "ping", true, false, do_ping },
	{ "initialize", true, false, do_initialize },
	{ "server/discover", false, true, do_discover },
	{ "subscriptions/listen", false, true, do_listen }
};

static const char *
run_method(struct request *r)
{
	bool stateless = r->from.revision->stateless;
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if ((stateless ? methods[i].stateless : methods[i].legacy) &&
		    json_is(r->message->method, methods[i].name))
			return methods[i].run(r);
	}
	fail(&r->from, METHOD_NOT_FOUND, "Method not found");
	return NULL;
}

/* -- The two eras ------------------------------------------------------ */

static void
refuse_version(struct request *r)
{
	struct buf data = { NULL, 0, 0, false };

	buf_puts(&data, "{\"supported\":");
	put_versions(&data);
	buf_puts(&data, ",\"requested\":");
	json_verbatim(r->message->version, &data);
	buf_puts(&data, "}");
	fail_with(&r->from, UNSUPPORTED_VERSION,
	    "Unsupported protocol version", data.failed ? NULL : &data);
	buf_free(&data);
}

static bool
has_string(struct json object, const char *name)
{
	return json_type(json_get(object, name)) == JSON_STRING;
}

/* A request that says its own version (MCP 2026-07-28, basic). The text
 * prescribes no order of refusals. */
static const char *
handle_stateless(struct request *r)
{
	static const char *const names[] = { META_CAPABILITIES, META_CLIENT };
	struct json version = r->message->version, found[2];
	const struct revision *v;

	if (json_type(version) != JSON_STRING)
		return "_meta's " META_VERSION " must be a string";
	for (v = revisions; v->name != NULL; v++) {
		if (v->stateless && json_is(version, v->name))
			break;
	}
	if (v->name == NULL) {
		refuse_version(r);
		return NULL;
	}
	json_members(r->message->meta, names, found, 2);
	if (json_type(found[0]) != JSON_OBJECT)
		return "params._meta lacks " META_CAPABILITIES " (an object)";
	if (found[1].text != NULL && (json_type(found[1]) != JSON_OBJECT ||
	    !has_string(found[1], "name") ||
	    !has_string(found[1], "version")))
		return "_meta's " META_CLIENT " must be an object with "
		    "strings name and version";
	r->from.revision = v;
	return run_method(r);
}

/* The era is decided message by message: the first rule that fits counts
 * (MCP 2026-07-28, versioning). */
static const char *
handle_request(struct request *r)
{
	const struct mcp_message *m = r->message;
	const struct client *c = r->from.client;

	if (m->params.text != NULL && json_type(m->params) != JSON_OBJECT)
		return "params must be an object";
	if (m->meta.text != NULL && json_type(m->meta) != JSON_OBJECT)
		return "params._meta must be an object";
	if (r->from.batch != NULL && (m->version.text != NULL ||
	    json_is(m->method, "initialize"))) {
		fail(&r->from, INVALID_REQUEST, "Not allowed in a batch");
		return NULL;
	}
	if (m->version.text != NULL)
		return handle_stateless(r);
	if (json_is(m->method, "initialize"))
		return do_initialize(r);
	if (json_is(m->method, "server/discover"))
		return "params._meta lacks " META_VERSION " (a string)";
	if (c->revision != NULL) {
		r->from.revision = c->revision;
		return run_method(r);
	}
	if (json_is(m->method, "ping") && c->peer != MCP_HTTP_STATELESS)
		return do_ping(r);
	return "params._meta lacks " META_VERSION " (a string); or begin with "
	    "initialize";
}

static void
handle_cancelled(struct client *c, struct json params)
{
	struct json id = json_get(params, "requestId");
	struct call *call = c->calls;

	while (call != NULL && !json_equal(call->from.id, id))
		call = call->next;
	if (call != NULL)
		cancel_call(call);
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
	enum json_type id = json_type(m->id);
	struct request r;
	const char *wrong = NULL;

	memset(&r, 0, sizeof(r));
	r.from.client = c;
	r.from.to = to;
	r.from.batch = batch;
	r.message = m;
	if (m->method.text == NULL && (m->result.text != NULL ||
	    m->error.text != NULL))
		return false;  /* a response; boris has asked nothing */
	if (id == JSON_STRING || id == JSON_NUMBER)
		r.from.id = m->id;
	if (json_type(m->whole) != JSON_OBJECT)
		fail(&r.from, INVALID_REQUEST, "Not a request");
	else if (id != JSON_NONE && r.from.id.text == NULL)
		fail(&r.from, INVALID_REQUEST,
		    "id must be a string or a number");
	else if (!json_is(m->jsonrpc, "2.0"))
		fail(&r.from, INVALID_REQUEST, "jsonrpc must be \"2.0\"");
	else if (json_type(m->method) != JSON_STRING)
		fail(&r.from, INVALID_REQUEST, "method must be a string");
	else if (id != JSON_NONE)
		wrong = handle_request(&r);
	else if (json_is(m->method, "notifications/cancelled"))
		handle_cancelled(c, m->params);
	if (wrong != NULL)
		fail(&r.from, INVALID_PARAMS, wrong);
	return r.held;
}

static void
fail_unread(struct client *c, void *to, int code, const char *message)
{
	struct address address;

	memset(&address, 0, sizeof(address));
	address.client = c;
	address.to = to;
	fail(&address, code, message);
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

/* -- Progress (O7, W1) ------------------------------------------------- */

/* Whose output a call is about; NULL: there is none, at least not yet. */
static struct job *
job_of(const struct call *call)
{
	struct job *job = call->kind == CALL_RUN ? call->job
	    : task_of(call->from.client, &call->look);

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
	struct client *c = call->from.client;
	struct buf text = { NULL, 0, 0, false }, b = text;
	struct output_mark out = call->out, err = call->err;
	struct job *job = job_of(call);

	if (job != NULL) {
		output_since(job->out.text, &out, PROGRESS_SIZE, "",
		    &text);
		output_since(job->err.text, &err, PROGRESS_SIZE, "",
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
			c->calls->job->call = NULL;
		close_call(c->calls);
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
		call = job->call;
		if (call != NULL) {
			begin_result(&b, &call->from);
			if (job->refused != JOB_ACCEPTED)
				tools_refused(&b, c->session, job);
			else
				tools_result(&b, &c->options->tools, job,
				    NULL);
			end_call(call, &b);
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
		if (c->now >= progress_due(call, c->now))
			send_progress(call, c->now);
		if (call->kind == CALL_LOOK)
			try_look(call);
	}
}

void
mcp_forget(struct client *c, void *to, bool cancel, int64_t now)
{
	struct call *call, *next;

	c->now = now;
	for (call = c->calls; call != NULL; call = next) {
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

	while (call != NULL && (call->abandoned || call->from.to != to))
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
		put_envelope(&b, c, call->from.id);
		buf_puts(&b, ",\"result\":{\"resultType\":\"complete\","
		    "\"_meta\":{\"" META_SUBSCRIPTION "\":");
		buf_put(&b, call->id.data, call->id.len);
		buf_putc(&b, '}');
		end_call(call, &b);
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
