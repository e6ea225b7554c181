#define _POSIX_C_SOURCE 200809L

#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum {
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

struct client {
	const struct mcp_options *options;
	struct calls calls;
	enum mcp_peer peer;
	const struct revision *revision;  /* the handshake's; NULL before */
};

/* A message being handled */
struct request {
	struct client *client;
	struct reply_to from;
	const struct mcp_message *message;
	bool held;             /* the answer comes later */
};

/* -- Methods ----------------------------------------------------------- */

/* Each answers its request, or holds it; or returns what is wrong with its
 * params. */

static const char *
do_initialize(struct request *r)
{
	struct client *c = r->client;
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
	reply_begin(&b, &r->from);
	buf_add(&b, "\"protocolVersion\":\"", c->revision->name,
	    "\",\"capabilities\":{\"tools\":{}},"
	    "\"serverInfo\":" MCP_SERVER_INFO);
	reply_send(&r->from, &b);
	return NULL;
}

static const char *
do_ping(struct request *r)
{
	struct buf b = { NULL, 0, 0, false };

	reply_begin(&b, &r->from);
	reply_send(&r->from, &b);
	return NULL;
}

/* How long the answer may be kept: it never changes. */
static void
put_caching(struct buf *b, const struct reply_to *to)
{
	if (to->era == ERA_STATELESS)
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

	reply_begin(&b, &r->from);
	buf_puts(&b, "\"supportedVersions\":");
	put_versions(&b);
	buf_puts(&b, ",\"capabilities\":{\"tools\":{}}");
	put_caching(&b, &r->from);
	reply_send(&r->from, &b);
	return NULL;
}

static const char *
do_list(struct request *r)
{
	struct buf b = { NULL, 0, 0, false };

	if (json_type(json_get(r->message->params, "cursor")) != JSON_NONE)
		return "Unknown cursor: all tools are on the one page that is "
		    "asked for without";
	reply_begin(&b, &r->from);
	buf_puts(&b, "\"tools\":");
	tools_list(&b, &r->client->options->tools);
	put_caching(&b, &r->from);
	reply_send(&r->from, &b);
	return NULL;
}

static const char *
do_listen(struct request *r)
{
	if (json_type(json_get(r->message->params, "notifications")) !=
	    JSON_OBJECT)
		return "params lack notifications (an object)";
	r->held = calls_listen(&r->from);
	return NULL;
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
	reply_error(&r->from, JSONRPC_INVALID_PARAMS,
	    text.failed ? "Unknown tool" : text.data, NULL);
	buf_free(&text);
}

static const char *
do_call(struct request *r)
{
	const struct tools_options *options = &r->client->options->tools;
	const struct mcp_message *m = r->message;
	struct buf b = { NULL, 0, 0, false };
	struct json token = json_get(m->meta, "progressToken");
	struct tools_call call;

	if (json_type(m->name) != JSON_STRING)
		return "params lack name (a string)";
	if (m->arguments.text != NULL && json_type(m->arguments) != JSON_OBJECT)
		return "arguments must be an object";
	reply_begin(&b, &r->from);
	tools_read(options, m->name, m->arguments, &call, &b);
	if (call.action == TOOLS_UNKNOWN)
		fail_unknown_tool(r, m->name);
	else if (call.action == TOOLS_REFUSED)
		reply_send(&r->from, &b);
	else if (call.action == TOOLS_RUN)
		r->held = calls_run(&r->from, token, &call);
	else
		r->held = calls_look(&r->from, token, &call);
	tools_call_free(&call);
	buf_free(&b);
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
	bool stateless = r->from.era == ERA_STATELESS;
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if ((stateless ? methods[i].stateless : methods[i].legacy) &&
		    json_is(r->message->method, methods[i].name))
			return methods[i].run(r);
	}
	reply_error(&r->from, JSONRPC_NO_METHOD, "Method not found", NULL);
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
	reply_error(&r->from, MCP_UNSUPPORTED_VERSION,
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
	r->from.era = ERA_STATELESS;
	return run_method(r);
}

/* The era is decided message by message: the first rule that fits counts
 * (MCP 2026-07-28, versioning). */
static const char *
handle_request(struct request *r)
{
	const struct mcp_message *m = r->message;
	const struct client *c = r->client;

	if (m->params.text != NULL && json_type(m->params) != JSON_OBJECT)
		return "params must be an object";
	if (m->meta.text != NULL && json_type(m->meta) != JSON_OBJECT)
		return "params._meta must be an object";
	if (r->from.batch != NULL && (m->version.text != NULL ||
	    json_is(m->method, "initialize"))) {
		reply_error(&r->from, JSONRPC_INVALID_REQUEST,
		    "Not allowed in a batch", NULL);
		return NULL;
	}
	if (m->version.text != NULL)
		return handle_stateless(r);
	if (json_is(m->method, "initialize"))
		return do_initialize(r);
	if (json_is(m->method, "server/discover"))
		return "params._meta lacks " META_VERSION " (a string)";
	if (c->revision != NULL) {
		r->from.era = ERA_LEGACY;
		return run_method(r);
	}
	if (json_is(m->method, "ping") && c->peer != MCP_HTTP_STATELESS)
		return do_ping(r);
	return "params._meta lacks " META_VERSION " (a string); or begin with "
	    "initialize";
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

/* What is wrong with the envelope (JSON-RPC 2.0, sections 4 and 5); NULL:
 * nothing. */
static const char *
wrong_envelope(const struct mcp_message *m)
{
	enum json_type id = json_type(m->id);

	if (json_type(m->whole) != JSON_OBJECT)
		return "Not a request";
	if (id != JSON_NONE && id != JSON_STRING && id != JSON_NUMBER)
		return "id must be a string or a number";
	if (!json_is(m->jsonrpc, "2.0"))
		return "jsonrpc must be \"2.0\"";
	if (json_type(m->method) != JSON_STRING)
		return "method must be a string";
	return NULL;
}

/* True: the answer comes later. */
static bool
handle(struct client *c, void *to, struct batch *batch,
       const struct mcp_message *m)
{
	struct request r;
	const char *wrong = wrong_envelope(m);

	memset(&r, 0, sizeof(r));
	r.client = c;
	r.from.calls = &c->calls;
	r.from.to = to;
	r.from.batch = batch;
	r.message = m;
	if (json_type(m->id) == JSON_STRING || json_type(m->id) == JSON_NUMBER)
		r.from.id = m->id;
	if (m->method.text == NULL && (m->result.text != NULL ||
	    m->error.text != NULL))
		return false;  /* a response; boris has asked nothing */
	if (wrong != NULL) {
		reply_error(&r.from, JSONRPC_INVALID_REQUEST, wrong, NULL);
	} else if (m->id.text != NULL) {
		wrong = handle_request(&r);
		if (wrong != NULL)
			reply_error(&r.from, JSONRPC_INVALID_PARAMS, wrong,
			    NULL);
	} else if (json_is(m->method, "notifications/cancelled")) {
		calls_cancel(&c->calls, json_get(m->params, "requestId"));
	}
	return r.held;
}

static void
fail_unread(struct client *c, void *to, int code, const char *message)
{
	struct reply_to nobody;

	memset(&nobody, 0, sizeof(nobody));
	nobody.calls = &c->calls;
	nobody.to = to;
	reply_error(&nobody, code, message, NULL);
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
	reply_put_error(b, &c->calls, id, code, text, NULL);
}

void
mcp_unread(struct client *c, void *to, bool too_long)
{
	if (too_long)
		fail_unread(c, to, JSONRPC_INVALID_REQUEST, "The message is over "
		    "16 MiB long, the most that is taken");
	else
		fail_unread(c, to, JSONRPC_INTERNAL,
		    "Out of memory for the message");
}

static bool
handle_batch(struct client *c, void *to, struct json array)
{
	struct batch *batch = batch_begin(to);
	struct mcp_message m;
	struct json element;
	size_t at = 0;

	if (batch == NULL) {
		mcp_unread(c, to, false);
		return false;
	}
	while (json_next(array, &at, NULL, &element)) {
		split(&m, element);
		handle(c, to, batch, &m);
	}
	return !batch_end(&c->calls, batch);
}

bool
mcp_handle(struct client *c, void *to, const struct mcp_message *m,
           int64_t now)
{
	size_t at = 0;
	struct json first;

	c->calls.now = now;
	if (m->whole.text == NULL) {
		fail_unread(c, to, JSONRPC_PARSE_ERROR, "Parse error");
		return false;
	}
	if (json_type(m->whole) == JSON_ARRAY && c->revision != NULL &&
	    c->revision->batches && json_next(m->whole, &at, NULL, &first))
		return handle_batch(c, to, m->whole);
	return handle(c, to, NULL, m);
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
	c->calls.tools = &options->tools;
	c->calls.send = send;
	c->calls.transport = transport;
	c->calls.null_id = peer == MCP_STDIO;
	c->calls.session = session_open(&options->session,
	    peer == MCP_HTTP_STATELESS);
	if (c->calls.session == NULL) {
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
	calls_free(&c->calls);
	session_free(c->calls.session);
	free(c);
}

void
mcp_poll_add(struct client *c, struct loop *loop)
{
	session_poll_add(c->calls.session, loop);
	calls_poll_add(&c->calls, loop);
}

void
mcp_dispatch(struct client *c, const struct loop *loop)
{
	c->calls.now = loop->now;
	session_dispatch(c->calls.session, loop);
	calls_dispatch(&c->calls);
}

void
mcp_forget(struct client *c, void *to, bool cancel, int64_t now)
{
	c->calls.now = now;
	calls_forget(&c->calls, to, cancel);
}

size_t
mcp_backlog(const struct client *c)
{
	return session_queued(c->calls.session);
}

bool
mcp_unanswered(const struct client *c)
{
	return calls_unanswered(&c->calls);
}

bool
mcp_awaits(const struct client *c, const void *to)
{
	return calls_await(&c->calls, to);
}

void
mcp_close(struct client *c, int64_t now, bool at_once)
{
	c->calls.now = now;
	session_close(c->calls.session, now, at_once);
	calls_close(&c->calls);
}

bool
mcp_closed(const struct client *c)
{
	return session_closed(c->calls.session);
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
