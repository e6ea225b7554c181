#define _POSIX_C_SOURCE 200809L

#include "mcp/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/results.h"
#include "session/session.h"
#include "mcp/tools.h"

enum { NAME_SHOWN = 120 };  /* bytes of a name that a client gives itself */

#define NEEDS_VERSION "params._meta needs " RPC_META_VERSION \
	" (a string); or begin with initialize"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"

/* A message being handled */
struct mcp_request {
	struct client *client;
	const struct rpc_message *message;
	struct reply reply;
	struct buf result;     /* its members; or the data of an error, */
	int code;              /* whose code this is, */
	struct buf refusal;    /* and whose text this may be */
};

/* Appends what the client calls itself, unless that is too long (A1). */
static void
put_client(struct buf *b, struct json info)
{
	struct json name = json_get(info, "name");
	struct json version = json_get(info, "version");

	if (json_type(name) == JSON_STRING && name.len < NAME_SHOWN)
		json_put_value(b, "client", name);
	if (json_type(version) == JSON_STRING && version.len < NAME_SHOWN)
		json_put_value(b, "version", version);
}

/* -- Methods ----------------------------------------------------------- */

/* Each answers its request, now or later, or returns what is wrong with it. */

static const char *
answer_now(struct mcp_request *r)
{
	rpc_result(&r->reply, &r->result);
	return NULL;
}

static const char *
do_initialize(struct mcp_request *r)
{
	struct client *c = r->client;
	struct json info = json_get(r->message->params, "clientInfo");
	struct json wanted = json_get(r->message->params, "protocolVersion");
	const struct revision *v = revision_find_json(wanted, false);

	if (json_type(wanted) != JSON_STRING)
		return "params lack protocolVersion (a string)";
	if (v == NULL)
		v = revision_newest_with_handshake();
	c->caller = caller_find(c->options, v, info, c->session->shared);
	buf_free(&c->said);
	put_client(&c->said, info);
	json_put(&r->result, "protocolVersion", v->name);
	buf_add(&r->result, ",\"capabilities\":{\"tools\":{}},"
	    "\"serverInfo\":" MCP_SERVER_INFO);
	tools_instructions(&r->result, c->options);
	return answer_now(r);
}

/* For how long, and for whom, a client may keep the answer (2026-07-28) */
#define CACHING(scope) ",\"ttlMs\":3600000,\"cacheScope\":\"" scope "\""

static const char *
do_discover(struct mcp_request *r)
{
	buf_add(&r->result, "\"supportedVersions\":");
	revisions_put_stateless(&r->result);
	buf_add(&r->result, ",\"capabilities\":{\"tools\":{}}"
	    CACHING("public"));
	tools_instructions(&r->result, r->client->options);
	return answer_now(r);
}

static const char *
do_list(struct mcp_request *r)
{
	struct json cursor = json_get(r->message->params, "cursor");

	/* Some clients send null or "" for the first page. */
	if (json_type(cursor) != JSON_NONE && json_type(cursor) != JSON_NULL &&
	    !json_is(cursor, ""))
		return "Unknown cursor: there is one page of tools";
	buf_add(&r->result, "\"tools\":");
	tools_list(&r->result, r->client->options, &r->reply.caller);
	if (caller_is_stateless(&r->reply.caller))
		buf_add(&r->result, CACHING("private"));
	return answer_now(r);
}

static const char *
do_listen(struct mcp_request *r)
{
	struct json wanted = json_get(r->message->params, "notifications");

	if (json_type(wanted) != JSON_OBJECT)
		return "params lack notifications (an object)";
	calls_listen(r->client, &r->reply);
	return NULL;
}

static const char *
do_call(struct mcp_request *r)
{
	const struct rpc_message *m = r->message;
	struct client *c = r->client;
	struct want want = { .action = WANT_RUN };
	struct json token = json_get(m->meta, "progressToken");
	const struct tool *tool;
	struct job *job = NULL;

	if (token.len > RPC_ID_MOST)
		return "_meta.progressToken must be at most 1024 bytes long";
	if (json_type(m->name) != JSON_STRING)
		return "params lack name (a string)";
	if (m->arguments.text != NULL && json_type(m->arguments) != JSON_OBJECT)
		return "arguments must be an object";
	tool = tools_find(c->options, m->name, &r->refusal);
	if (tool == NULL)
		return buf_text(&r->refusal);
	if (!tools_read(tool, c->options, &r->reply.caller, m->arguments, &job,
	    &want, &r->refusal)) {
		results_refusal(&r->result, &r->reply.caller, c->session,
		    &r->refusal);
		if (rpc_result(&r->reply, &r->result))
			session_mark_notes_reported(c->session);
	} else {
		if (job != NULL && c->options->log != NULL) {
			/* In the stateless era each request says who sends. */
			if (caller_is_stateless(&r->reply.caller))
				put_client(&job->client,
				    json_get(m->meta, META_CLIENT));
			else
				buf_put(&job->client, c->said.data,
				    c->said.len);
			json_put(&job->client, "address", m->address);
		}
		if (calls_tool(c, &r->reply, token, tool, job, &want))
			return NULL;
	}
	job_free(job);
	want_free(&want);
	return NULL;
}

/* A method is a row: in which eras it exists, and what does it. */
static const struct method {
	const char *name;
	bool legacy, stateless;
	const char *(*run)(struct mcp_request *);
} methods[] = {
	{ "tools/call", true, true, do_call },
	{ "tools/list", true, true, do_list },
	{ "ping", true, false, answer_now },
	{ "initialize", true, false, do_initialize },
	{ "server/discover", false, true, do_discover },
	{ "subscriptions/listen", false, true, do_listen },
	{ NULL, false, false, NULL }
};

/* What is wrong with a modern request's version, or with the rest of its _meta
 * (MCP 2026-07-28, basic; M8); NULL: nothing, and its caller is set. */
static const char *
read_meta(struct mcp_request *r)
{
	struct json version = r->message->version, meta = r->message->meta;
	struct json client = json_get(meta, META_CLIENT);
	const struct revision *v = revision_find_json(version, true);

	if (json_type(version) != JSON_STRING)
		return NEEDS_VERSION;
	if (v == NULL) {
		buf_add(&r->result, "{\"supported\":");
		revisions_put_stateless(&r->result);
		/* The schema wants it as it came, however long. */
		if (buf_reserve(&r->result, JSON_GROWTH * version.len +
		    NAME_SHOWN))
			json_put_value(&r->result, "requested", version);
		buf_add(&r->result, "}");
		r->code = MCP_UNSUPPORTED_VERSION;
		return "Unsupported protocol version";
	}
	if (json_type(json_get(meta, META_CAPABILITIES)) != JSON_OBJECT)
		return "params._meta lacks " META_CAPABILITIES " (an object)";
	if (client.text != NULL &&
	    (json_type(json_get(client, "name")) != JSON_STRING ||
	    json_type(json_get(client, "version")) != JSON_STRING))
		return "_meta's " META_CLIENT " must be an object with "
		    "strings name and version";
	r->reply.caller = caller_find(r->client->options, v, client,
	    r->client->session->shared);
	return NULL;
}

/* The era is decided message by message, by the first rule that fits (M3; MCP
 * 2026-07-28, versioning). */
static const char *
handle_request(struct mcp_request *r)
{
	const struct rpc_message *m = r->message;
	const struct caller *caller = &r->reply.caller;
	const struct method *method;
	const char *wrong = NULL;

	if (m->params.text != NULL && json_type(m->params) != JSON_OBJECT)
		return "params must be an object";
	if (m->meta.text != NULL && json_type(m->meta) != JSON_OBJECT)
		return "params._meta must be an object";
	if (m->version.text != NULL)
		wrong = read_meta(r);
	else if (json_is(m->method, "server/discover") ||
	    (caller->revision == NULL && !json_is(m->method, "initialize") &&
	    (caller->shared || !json_is(m->method, "ping"))))
		wrong = NEEDS_VERSION;
	if (wrong != NULL)
		return wrong;
	for (method = methods; method->name != NULL; method++) {
		if ((caller_is_stateless(caller) ? method->stateless
		    : method->legacy) && json_is(m->method, method->name))
			return method->run(r);
	}
	r->code = JSONRPC_NO_METHOD;
	return "Method not found";
}

/* What the reason of a cancellation contains if a timer of the client has run
 * out, and not because a person or a model has decided (E6) */
static const char *const timeout_reasons[] = {
	"Request timed out",          /* the TypeScript SDK, 1.32 */
	"request timeout",            /* rmcp, the Rust SDK */
	"context deadline exceeded",  /* the Go SDK */
	"Timeout",                    /* LangChain4j; a TimeoutError */
	NULL
};

static bool
is_timeout(struct json reason)
{
	const char *const *known = timeout_reasons;
	struct buf text = { NULL, 0, 0 };
	bool found = false;

	if (json_decode(reason, &text)) {
		for (; *known != NULL && !found; known++)
			found = strstr(buf_text(&text), *known) != NULL;
	}
	buf_free(&text);
	return found;
}

static void
handle_cancelled(struct client *c, const struct rpc_message *m)
{
	struct json id = json_get(m->params, "requestId");

	if (is_timeout(json_get(m->params, "reason")))
		calls_abandon(c, id);
	else
		calls_cancel(c, id);
}

enum rpc_outcome
mcp_handle(struct client *c, void *to, const struct rpc_message *m,
           int64_t now)
{
	struct mcp_request r = { .client = c, .message = m,
	    .reply = { &c->answers, to, c->caller, m->id },
	    .code = JSONRPC_INVALID_PARAMS };
	const char *wrong = rpc_wrong_envelope(m);

	c->now = now;
	c->answers.outcome = RPC_NO_ANSWER;
	/* A response is passed over: boris asks for nothing. */
	if (rpc_is_response(m))
		return RPC_NO_ANSWER;
	if (wrong != NULL)
		r.code = m->whole.text == NULL ? JSONRPC_PARSE_ERROR
		    : JSONRPC_INVALID_REQUEST;
	else if (m->id.text != NULL)
		wrong = handle_request(&r);
	else if (json_is(m->method, "notifications/cancelled"))
		handle_cancelled(c, m);
	if (wrong != NULL)
		rpc_error(&r.reply, r.code, wrong,
		    r.result.len > 0 ? &r.result : NULL);
	buf_free(&r.result);
	buf_free(&r.refusal);
	return c->answers.outcome;
}

void
mcp_error(const struct client *c, struct buf *b, struct json id, int code,
          const char *text)
{
	rpc_put_error(b, &c->answers, id, code, text, NULL);
}

struct client *
mcp_open(const struct options *options, enum mcp_peer peer, rpc_send *send,
         void *transport)
{
	struct client *c = mem_get(sizeof(*c));

	c->options = options;
	c->answers = (struct answers){ send, transport, peer == MCP_STDIO,
	    RPC_NO_ANSWER };
	c->session = session_open(options, peer == MCP_HTTP_SHARED);
	if (c->session == NULL) {
		mcp_free(c);
		return NULL;
	}
	c->caller = caller_find(options, NULL, (struct json){ NULL, 0 },
	    c->session->shared);
	return c;
}

void
mcp_free(struct client *c)
{
	if (c == NULL)
		return;
	calls_free(c);
	session_free(c->session);
	buf_free(&c->said);
	free(c);
}

void
mcp_poll_add(struct client *c, size_t room, struct loop *loop)
{
	c->room = room;
	session_poll_add(c->session, loop);
	calls_poll_add(c, loop);
}

void
mcp_dispatch(struct client *c, size_t room, const struct loop *loop)
{
	c->room = room;
	c->now = loop->now;
	session_read(c->session, loop);
	calls_read(c);
	session_act(c->session, loop);
	calls_act(c);
}

size_t
mcp_backlog(const struct client *c)
{
	return c->session->queued + c->bytes;
}

void
mcp_close(struct client *c, int64_t now)
{
	c->now = now;
	session_close(c->session, now);
	calls_close(c);
}

bool
mcp_closed(const struct client *c)
{
	return session_closed(c->session);
}
