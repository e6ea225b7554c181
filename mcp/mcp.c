/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "mcp/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mcp/clients.h"
#include "mcp/results.h"
#include "mcp/revisions.h"
#include "mcp/tools.h"
#include "session/session.h"

enum {
	NAME_SHOWN = 120,   /* maximum length of a client's name in the log, in
	                     * characters */
	MEMBER_SPACE = 120  /* space for the name and punctuation of a JSON
	                     * member, in bytes */
};

#define NEEDS_VERSION "params._meta must contain the string " \
	RPC_META_VERSION ", or initialize must be sent first"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"

/* A received message and the response to it */
struct mcp_request {
	struct client *client;
	const struct rpc_message *message;
	struct reply reply;
	struct buf result;      /* members of the JSON-RPC result or, if the
	                         * request fails, the error's data */
	int code;               /* error code */
	struct buf error_text;  /* error message, if it is built at run time */
};

/* Appends a JSON member to a log entry. The member's value is the first
 * NAME_SHOWN characters of `string`. Appends nothing if `string` is not a JSON
 * string. */
static void
put_start(struct buf *b, const char *member, struct json string)
{
	struct buf text = { NULL, 0, 0 };

	if (json_type(string) == JSON_STRING && json_decode(string, &text))
		json_put_bytes(b, member, text.data,
		    utf8_cut(&text, NAME_SHOWN));
	buf_free(&text);
}

/* Appends the client's name and version as JSON members of a log entry
 * (A1). */
static void
put_client(struct buf *b, struct json info)
{
	put_start(b, "client", json_get(info, "name"));
	put_start(b, "version", json_get(info, "version"));
}

/* -- Methods ----------------------------------------------------------- */

/* Each function below handles one method. It sends the response, now or later,
 * and returns NULL. If the request is invalid, it returns an error message. */

static const char *
respond(struct mcp_request *r)
{
	rpc_result(&r->reply, &r->result);
	return NULL;
}

static const char *
do_initialize(struct mcp_request *r)
{
	struct client *c = r->client;
	struct json info = json_get(r->message->params, "clientInfo");
	struct json requested = json_get(r->message->params, "protocolVersion");
	const struct revision *v = revision_find_json(requested, false);

	if (json_type(requested) != JSON_STRING)
		return "params.protocolVersion is missing or not a string";
	if (v == NULL)
		v = revision_newest_with_handshake();
	c->caller = caller_find(c->options, v, info, c->session->shared);
	buf_free(&c->log_names);
	put_client(&c->log_names, info);
	json_put(&r->result, "protocolVersion", v->name);
	buf_add(&r->result, ",\"capabilities\":{\"tools\":{}},"
	    "\"serverInfo\":" MCP_SERVER_INFO);
	tools_instructions(&r->result, c->options);
	return respond(r);
}

/* Members of a result that specify how long clients may cache it and who may
 * share the cached copy (MCP 2026-07-28) */
#define CACHING(scope) ",\"ttlMs\":3600000,\"cacheScope\":\"" scope "\""

static const char *
do_discover(struct mcp_request *r)
{
	buf_add(&r->result, "\"supportedVersions\":");
	revisions_put_stateless(&r->result);
	buf_add(&r->result, ",\"capabilities\":{\"tools\":{}}"
	    CACHING("public"));
	tools_instructions(&r->result, r->client->options);
	return respond(r);
}

static const char *
do_list(struct mcp_request *r)
{
	struct json cursor = json_get(r->message->params, "cursor");

	/* Some clients send null or "" to request the first page. */
	if (json_type(cursor) != JSON_NONE && json_type(cursor) != JSON_NULL &&
	    !json_is(cursor, ""))
		return "unknown cursor; the list of tools has only one page";
	buf_add(&r->result, "\"tools\":");
	tools_list(&r->result, r->client->options, &r->reply.caller);
	if (caller_is_stateless(&r->reply.caller))
		buf_add(&r->result, CACHING("private"));
	return respond(r);
}

static const char *
do_listen(struct mcp_request *r)
{
	struct json requested = json_get(r->message->params, "notifications");

	if (json_type(requested) != JSON_OBJECT)
		return "params.notifications is missing or not an object";
	calls_listen(r->client, &r->reply);
	return NULL;
}

/* Responds to a tool call with invalid arguments by sending an error result. */
static void
respond_bad_arguments(struct mcp_request *r)
{
	struct client *c = r->client;

	results_error(&r->result, &r->reply.caller, c->session, &r->error_text);
	calls_reject(c, &r->reply, &r->result);
}

/* Appends the sender's name and address to a tool call's log entry (A1). */
static void
put_sender(struct buf *b, const struct mcp_request *r)
{
	const struct rpc_message *m = r->message;
	const struct client *c = r->client;

	/* A stateless request contains the name of its client. */
	if (caller_is_stateless(&r->reply.caller))
		put_client(b, json_get(m->meta, META_CLIENT));
	else
		buf_put(b, c->log_names.data, c->log_names.len);
	json_put(b, "address", m->address);
}

static const char *
do_call(struct mcp_request *r)
{
	const struct rpc_message *m = r->message;
	struct client *c = r->client;
	struct call_request request = { .action = CALL_RUN };
	struct json token = json_get(m->meta, "progressToken");
	const struct tool *tool;
	struct job *job = NULL;
	bool accepted = false;

	if (token.len > RPC_ID_MAX)
		return "params._meta.progressToken must not be longer than "
		    "1024 bytes";
	if (json_type(m->name) != JSON_STRING)
		return "params.name is missing or not a string";
	if (m->arguments.text != NULL && json_type(m->arguments) != JSON_OBJECT)
		return "params.arguments must be an object";
	tool = tools_find(c->options, m->name, &r->error_text);
	if (tool == NULL)
		return buf_text(&r->error_text);
	if (tools_read(tool, c->options, &r->reply.caller, m->arguments, &job,
	    &request, &r->error_text)) {
		if (job != NULL && c->options->log != NULL)
			put_sender(&job->client, r);
		accepted = calls_tool(c, &r->reply, token, tool, job, &request);
	} else {
		respond_bad_arguments(r);
	}
	if (!accepted) {
		job_free(job);
		call_request_free(&request);
	}
	return NULL;
}

/* The MCP methods and the functions that handle them. `legacy` is true if the
 * method exists in MCP revisions with a handshake, and `stateless` is true if
 * it exists in revisions without one. */
static const struct method {
	const char *name;
	bool legacy, stateless;
	const char *(*run)(struct mcp_request *);
} methods[] = {
	{ .name = "tools/call", .legacy = true, .stateless = true,
	  .run = do_call },
	{ .name = "tools/list", .legacy = true, .stateless = true,
	  .run = do_list },
	{ .name = "ping", .legacy = true, .run = respond },
	{ .name = "initialize", .legacy = true, .run = do_initialize },
	{ .name = "server/discover", .stateless = true, .run = do_discover },
	{ .name = "subscriptions/listen", .stateless = true,
	  .run = do_listen },
	{ .name = NULL }
};

/* Returns the method with the given name, or NULL if the caller's protocol
 * revision has no such method. */
static const struct method *
find_method(struct json name, const struct caller *caller)
{
	bool stateless = caller_is_stateless(caller), exists;
	const struct method *method;

	for (method = methods; method->name != NULL; method++) {
		exists = stateless ? method->stateless : method->legacy;
		if (exists && json_is(name, method->name))
			return method;
	}
	return NULL;
}

/* Rejects a request with an unknown protocol version. The error must repeat the
 * version verbatim, however long it is. */
static const char *
reject_version(struct mcp_request *r, struct json version)
{
	buf_add(&r->result, "{\"supported\":");
	revisions_put_stateless(&r->result);
	if (buf_reserve(&r->result, JSON_GROWTH * version.len + MEMBER_SPACE))
		json_put_value(&r->result, "requested", version);
	buf_putc(&r->result, '}');
	r->code = MCP_UNSUPPORTED_VERSION;
	return "Unsupported protocol version";
}

/* Reads the protocol version and the other _meta members of a stateless
 * request, and sets r->reply.caller (M8; MCP 2026-07-28, basic). Returns NULL,
 * or an error message if a member is missing or invalid. */
static const char *
read_meta(struct mcp_request *r)
{
	struct json version = r->message->version, meta = r->message->meta;
	struct json client = json_get(meta, META_CLIENT);
	const struct revision *v = revision_find_json(version, true);

	if (json_type(version) != JSON_STRING)
		return NEEDS_VERSION;
	if (v == NULL)
		return reject_version(r, version);
	if (json_type(json_get(meta, META_CAPABILITIES)) != JSON_OBJECT)
		return "params._meta must contain the object "
		    META_CAPABILITIES;
	if (client.text != NULL &&
	    (json_type(json_get(client, "name")) != JSON_STRING ||
	    json_type(json_get(client, "version")) != JSON_STRING))
		return META_CLIENT " in params._meta must be an object with "
		    "the strings name and version";
	r->reply.caller = caller_find(r->client->options, v, client,
	    r->client->session->shared);
	return NULL;
}

/* Returns whether a request must be rejected because its _meta contains no
 * protocol version. */
static bool
needs_version(const struct rpc_message *m, const struct caller *caller)
{
	if (json_is(m->method, "server/discover"))
		return true;
	if (caller->revision != NULL || json_is(m->method, "initialize"))
		return false;
	/* Before the handshake, a session accepts only ping. */
	return caller->shared || !json_is(m->method, "ping");
}

/* Handles a request. The same client may send both stateless requests and
 * requests that use a revision with a handshake (M3; MCP 2026-07-28,
 * versioning). Returns NULL, or an error message if the request is rejected. */
static const char *
handle_request(struct mcp_request *r)
{
	const struct rpc_message *m = r->message;
	const struct method *method;
	const char *wrong = NULL;

	if (m->params.text != NULL && json_type(m->params) != JSON_OBJECT)
		return "params must be an object";
	if (m->meta.text != NULL && json_type(m->meta) != JSON_OBJECT)
		return "params._meta must be an object";
	if (m->version.text != NULL)
		wrong = read_meta(r);
	else if (needs_version(m, &r->reply.caller))
		wrong = NEEDS_VERSION;
	if (wrong != NULL)
		return wrong;
	method = find_method(m->method, &r->reply.caller);
	if (method != NULL)
		return method->run(r);
	r->code = JSONRPC_NO_METHOD;
	return "Method not found";
}

/* Reasons that clients give when they cancel a call because of a timeout. Any
 * other cancellation is assumed to come from the user or the model (E6). */
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
		while (*known != NULL && !found)
			found = strstr(buf_text(&text), *known++) != NULL;
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
	    .reply = { .channel = &c->channel, .to = to,
	        .caller = c->caller, .id = m->id, .in_doubt = m->in_doubt },
	    .code = JSONRPC_INVALID_PARAMS };
	const char *wrong = rpc_wrong_envelope(m);

	c->now = now;
	c->channel.outcome = RPC_NO_ANSWER;
	/* Ignore responses: boris sends no requests. */
	if (rpc_is_response(m))
		return RPC_NO_ANSWER;
	if (wrong != NULL)
		r.code = m->root.text == NULL ? JSONRPC_PARSE_ERROR
		    : JSONRPC_INVALID_REQUEST;
	else if (m->id.text != NULL)
		wrong = handle_request(&r);
	else if (json_is(m->method, "notifications/cancelled"))
		handle_cancelled(c, m);
	if (wrong != NULL)
		rpc_error(&r.reply, r.code, wrong,
		    r.result.len > 0 ? &r.result : NULL);
	buf_free(&r.result);
	buf_free(&r.error_text);
	return c->channel.outcome;
}

void
mcp_error(const struct client *c, struct buf *b, struct json id, int code,
          const char *text)
{
	rpc_put_error(b, &c->channel, id, code, text, NULL);
}

struct client *
mcp_open(const struct options *options, enum mcp_peer peer, rpc_send *send,
         void *transport)
{
	struct client *c = mem_get(sizeof(*c));

	c->options = options;
	c->channel = (struct rpc_channel){ .send = send, .transport = transport,
	    .null_id = peer == MCP_STDIO, .confirms = peer != MCP_STDIO };
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
	buf_free(&c->log_names);
	free(c);
}

void
mcp_poll_add(struct client *c, size_t queue_space, struct loop *loop)
{
	c->queue_space = queue_space;
	session_poll_add(c->session, loop);
	calls_poll_add(c, loop);
}

void
mcp_dispatch(struct client *c, size_t queue_space, const struct loop *loop)
{
	c->queue_space = queue_space;
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
