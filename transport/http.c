/* SPDX-License-Identifier: ISC */
/* MCP over HTTP consists of four modules. Each depends only on those below it:
 *
 * http.c        peers, sessions, and the routing of messages (H1, H5-H9)
 * access.c      who may send requests: tokens, origins, hosts (H3, H4)
 * connection.c  one connection: its states, deadlines and streams (H7, H8)
 * httpmsg.c     HTTP/1.1 messages: parses requests, writes responses (H8) */
#define _POSIX_C_SOURCE 200809L

#include "transport/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/list.h"
#include "base/message.h"
#include "base/random.h"
#include "mcp/mcp.h"
#include "mcp/revisions.h"
#include "transport/access.h"
#include "transport/connection.h"

enum {
	CONNECTIONS = 64,         /* maximum number of connections (H8) */
	SESSIONS = 64,            /* maximum number of open sessions (H5) */
	SESSION_BYTES = 16,       /* number of random bytes in an
	                           * Mcp-Session-Id */
	BODY_BUDGET = 1 << 20,    /* once the bodies handled in one iteration of
	                           * the event loop reach this total size, in
	                           * bytes, all partly read bodies must wait for
	                           * the next iteration (P6) */
	LONG_RESULT = 16 << 10,   /* maximum size, in bytes, of a message that
	                           * boris sends without checking for free
	                           * memory first (E7) */
	PEER_SPARE = 64 << 10,    /* free memory required for a new peer, in
	                           * bytes */
	ACCEPT_PAUSE = 20,        /* pause after a failed attempt to accept a
	                           * connection, in ms (E7) */
	HEADER_MISMATCH = -32020  /* error code of MCP 2026-07-28, transports */
};

#define JSON_TYPE "application/json"
#define TOO_LONG "the message is longer than 16 MiB, the maximum\n"

/* A peer: the program at the other end of one HTTP connection */
struct peer {
	struct list_node node;
	struct connection connection;
	bool authenticated;      /* true once a request to /mcp has passed the
	                          * access checks, until a request lacks the
	                          * right token or the token changes (H8) */
	const char *session_id;  /* id of the session that the request opens;
	                          * NULL if it opens none */
	struct client *client;   /* MCP client that handles the call whose
	                          * response has not been written completely;
	                          * NULL if there is no such call */
};

/* A session of a legacy client, identified by its Mcp-Session-Id */
struct http_session {
	struct list_node node;
	struct client *client;
	char id[2 * SESSION_BYTES + 1];
	int64_t used;  /* time, in ms, at which the session was last in use */
	bool closing;  /* the session is closing, and its id is no longer
	                * accepted */
};

struct http {
	const struct options *options;
	struct client *shared;  /* MCP client for all requests that have no
	                         * session */
	struct list sessions;   /* list of struct http_session */
	struct list peers;      /* list of struct peer, in order of arrival */
	struct buf origin;      /* http://ADDRESS:PORT */
	struct access access;
	int listener;           /* listening socket, or -1 once it has been
	                         * closed */
	int in_poll;            /* index of the listening socket in the poll
	                         * set */
	int64_t accept_at;      /* time of the next attempt to accept a
	                         * connection, in ms */
	int64_t flush_until;    /* deadline, in ms, for writing the last
	                         * responses; NEVER until all sessions are
	                         * closed */
	size_t handled;         /* total size of the bodies handled in this
	                         * iteration of the event loop, in bytes */
	int64_t started;        /* time at which boris started listening, in
	                         * ms */
	int64_t now;            /* current time, in ms, read once per iteration
	                         * of the event loop */
};

/* clang-tidy reports uses of freed memory here, because it does not see that
 * free_gone_peers() removes each peer from the list before it frees the peer.
 * NOLINTBEGIN(clang-analyzer-unix.Malloc) */

/* Returns the peer that contains the list node, or NULL if the node is NULL. */
static struct peer *
peer_at(struct list_node *n)
{
	return n != NULL ? LIST_ITEM(n, struct peer, node) : NULL;
}

static struct http_session *
session_at(struct list_node *n)
{
	return n != NULL ? LIST_ITEM(n, struct http_session, node) : NULL;
}

static struct peer *
first_peer(const struct http *h)
{
	return peer_at(h->peers.first);
}

static struct peer *
next_peer(const struct peer *p)
{
	return peer_at(p->node.next);
}

/* NOLINTEND(clang-analyzer-unix.Malloc) */

static struct http_session *
first_session(const struct http *h)
{
	return session_at(h->sessions.first);
}

static struct http_session *
next_session(const struct http_session *s)
{
	return session_at(s->node.next);
}

/* -- Responses --------------------------------------------------------- */

/* Returns whether the path names the MCP endpoint. Some clients append a
 * trailing slash to their configured URL (H1). */
static bool
is_endpoint(const char *path)
{
	return strcmp(path, "/mcp") == 0 || strcmp(path, "/mcp/") == 0;
}

/* Appends the headers that depend on the request and the status, and the empty
 * line that ends the headers. */
static void
put_headers(struct buf *b, const struct peer *p, int status)
{
	const struct request *r = &p->connection.request;
	const char *origin = r->field[FIELD_ORIGIN];

	if (status == 401)
		buf_add(b, "WWW-Authenticate: Bearer\r\n");
	if (status == 405 || status == 204)
		buf_add(b, is_endpoint(r->path)
		    ? "Allow: POST, DELETE, OPTIONS\r\n"
		    : "Allow: GET, HEAD\r\n");
	/* Allow web pages from this origin to read the response, unless the
	 * request was rejected because of its origin or host (H4). */
	if (origin != NULL && status != 403)
		buf_fmt(b, "Access-Control-Allow-Origin: %s\r\n"
		    "Vary: Origin\r\n"
		    "Access-Control-Expose-Headers: "
		    "Mcp-Session-Id, WWW-Authenticate\r\n"
		    "Access-Control-Allow-Methods: GET, POST, DELETE\r\n"
		    "Access-Control-Allow-Headers: Authorization, "
		    "Content-Type, Accept, Mcp-Session-Id, "
		    "MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
		    "Last-Event-ID\r\n"
		    "Access-Control-Max-Age: 86400\r\n", origin);
	if (p->session_id != NULL)
		buf_fmt(b, "Mcp-Session-Id: %s\r\n", p->session_id);
	buf_add(b, "\r\n");
}

/* Responds with a body of the given content type. An empty body has no
 * Content-Type. */
static void
respond(struct peer *p, int status, const char *type, const char *body,
        size_t len)
{
	struct request *r = &p->connection.request;
	struct buf b = { NULL, 0, 0 };

	response_begin(&b, r, status, type, len);
	put_headers(&b, p, status);
	if (strcmp(r->verb, "HEAD") != 0)
		buf_put(&b, body, len);
	connection_respond(&p->connection, &b);
}

static void
respond_json(struct peer *p, int status, const struct buf *json)
{
	respond(p, status, JSON_TYPE, json->data, json->len);
}

/* Responds with a plain-text body, which may be empty. Always returns true, so
 * that callers can return the result. */
static bool
respond_text(struct peer *p, int status, const char *text)
{
	respond(p, status, "text/plain", text, strlen(text));
	return true;
}

/* Starts responding with a stream of server-sent events. */
static void
begin_stream(struct peer *p)
{
	struct buf b = { NULL, 0, 0 };

	stream_begin(&b, &p->connection.request);
	put_headers(&b, p, 200);
	connection_begin_stream(&p->connection, &b);
}

/* Returns the HTTP status of a JSON-RPC response (MCP 2026-07-28, transports).
 * In earlier revisions, every response to a well-formed request has status 200,
 * even an error response. */
static int
status_of(enum rpc_kind kind, int error, bool modern)
{
	if (error == JSONRPC_PARSE_ERROR || error == JSONRPC_INVALID_REQUEST)
		return 400;
	if (!modern)
		return 200;
	if (error == JSONRPC_NO_METHOD)
		return 404;
	return kind == RPC_REJECTION ? 400 : 200;
}

/* Sends the result or the error of a request, and ends the request's stream if
 * it has one. Returns false if allocation fails. */
static bool
send_response(struct peer *p, int status, const struct buf *message)
{
	if (p->connection.state != CONNECTION_STREAM) {
		respond_json(p, status, message);
		return true;
	}
	if (!connection_event(&p->connection, message))
		return false;
	connection_end_stream(&p->connection);
	return true;
}

/* Sends a notification about a request on the request's stream, starting the
 * stream if necessary. Returns false if the notification cannot be sent. */
static bool
send_notice(struct peer *p, const struct buf *message)
{
	if (p->connection.state == CONNECTION_CALL)
		begin_stream(p);
	return p->connection.state == CONNECTION_STREAM &&
	    connection_event(&p->connection, message);
}

/* Queues a message for a peer (see rpc_send in mcp/rpc.h). Does not write to
 * the connection, because mcp.c calls this function while handling another
 * message. */
static bool
http_send(void *transport, void *to, enum rpc_kind kind, int error,
          struct buf *message)
{
	const struct http *h = transport;
	struct peer *p = to;

	if (p == NULL || p->connection.state == CONNECTION_GONE)
		return false;
	/* The message is copied into a response and then into the output queue.
	 * If there is no memory for these copies, fail here, because buf_put()
	 * would make boris exit. */
	if (message->len > LONG_RESULT && !mem_is_available(3 * message->len))
		return false;
	/* If an initialize request fails, end_expired_sessions() closes the new
	 * session in this iteration of the event loop, so the response must not
	 * include the session's id. */
	if (error != 0)
		p->session_id = NULL;
	if (kind == RPC_NOTICE)
		return send_notice(p, message);
	if (kind == RPC_PROGRESS)
		return p->connection.state == CONNECTION_STREAM &&
		    connection_progress(&p->connection, message);
	return send_response(p, status_of(kind, error, p->client == h->shared),
	    message);
}

/* Rejects a message with the given HTTP status and a JSON-RPC error with the
 * given code and text. Always returns NULL, because no client handles the
 * message; callers can return this result. */
static struct client *
reject_message(struct http *h, struct peer *p, const struct rpc_message *m,
               int status, int code, const char *text)
{
	struct buf b = { NULL, 0, 0 };
	struct json id = m->id;

	/* If the message is a response, do not copy the response's id into the
	 * error, because the client could mistake the error for the response to
	 * one of its own requests. */
	if (!rpc_is_request(m))
		id.text = NULL;
	mcp_error(h->shared, &b, id, code, text);
	respond_json(p, status, &b);
	buf_free(&b);
	return NULL;
}

/* -- Sessions ---------------------------------------------------------- */

/* Finds the open session named in the Mcp-Session-Id header. Returns NULL if
 * there is no such session. */
static struct http_session *
find_session(const struct http *h, const struct peer *p)
{
	const char *id = p->connection.request.field[FIELD_MCP_SESSION];
	struct http_session *s;

	if (id == NULL)
		return NULL;
	for (s = first_session(h); s != NULL; s = next_session(s)) {
		if (!s->closing && access_same_secret(id, s->id))
			return s;
	}
	return NULL;
}

static int
count_sessions(const struct http *h)
{
	const struct http_session *s;
	int n = 0;

	for (s = first_session(h); s != NULL; s = next_session(s)) {
		if (!s->closing)
			n++;
	}
	return n;
}

/* Returns the session named in the Mcp-Session-Id header. If there is no such
 * session, rejects the request and returns NULL. */
static struct http_session *
named_session(struct http *h, struct peer *p, const struct rpc_message *m)
{
	const char *id = p->connection.request.field[FIELD_MCP_SESSION];
	const char *version = p->connection.request.field[FIELD_MCP_VERSION];
	struct http_session *s = find_session(h, p);

	if (version != NULL && revision_find(version, false) == NULL)
		reject_message(h, p, m, 400, JSONRPC_INVALID_REQUEST,
		    "MCP-Protocol-Version must be a supported version that has "
		    "sessions");
	else if (s == NULL)
		reject_message(h, p, m, id != NULL ? 404 : 400,
		    JSONRPC_INVALID_REQUEST,
		    "Mcp-Session-Id is missing or does not name an open "
		    "session; start one with initialize");
	else
		return s;
	return NULL;
}

/* Opens a session. put_headers() adds the session's id to the response. If the
 * session cannot be opened, rejects the request and returns NULL. */
static struct http_session *
open_session(struct http *h, struct peer *p, const struct rpc_message *m)
{
	struct http_session *s;

	if (count_sessions(h) == SESSIONS) {
		reject_message(h, p, m, 503, JSONRPC_INVALID_REQUEST,
		    "64 sessions are open, which is the maximum; close one "
		    "with DELETE, or wait until one expires");
		return NULL;
	}
	s = mem_get(sizeof(*s));
	s->client = mcp_open(h->options, MCP_HTTP, http_send, h);
	if (s->client == NULL || !random_hex(s->id, SESSION_BYTES)) {
		reject_message(h, p, m, 503, JSONRPC_INTERNAL,
		    "no random number is available for the session ID; try "
		    "again later");
		mcp_free(s->client);
		free(s);
		return NULL;
	}
	list_append(&h->sessions, &s->node);
	p->session_id = s->id;
	return s;
}

/* Starts closing the session (L1). free_closed_sessions() frees the session
 * later. */
static void
end_session(struct http *h, struct http_session *s)
{
	s->closing = true;
	mcp_close(s->client, h->now);
}

/* Returns whether the session must be closed, either because its initialize
 * request was rejected or because it has been idle for too long (H5). */
static bool
has_expired(const struct http *h, const struct http_session *s)
{
	return s->client->caller.revision == NULL ||
	    h->now >= s->used + h->options->session_timeout;
}

static void
end_expired_sessions(struct http *h)
{
	struct http_session *s;

	for (s = first_session(h); s != NULL; s = next_session(s)) {
		if (!s->closing && has_expired(h, s))
			end_session(h, s);
	}
}

/* Frees closed sessions. No peer still uses a closed session, because all of
 * the session's requests have been answered. */
static void
free_closed_sessions(struct http *h)
{
	struct http_session *s, *next;

	for (s = first_session(h); s != NULL; s = next) {
		next = next_session(s);
		if (!s->closing || !mcp_closed(s->client))
			continue;
		list_remove(&h->sessions, &s->node);
		mcp_free(s->client);
		free(s);
	}
}

/* -- Messages (H5, H6) -------------------------------------------------- */

/* Decodes base64 (RFC 4648) terminated by "?=". Stores the result and a
 * terminating NUL in `text`, which must be long enough. Returns false if the
 * value is malformed or the result contains a NUL. */
static bool
decode_base64(const char *value, char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
	    "nopqrstuvwxyz0123456789+/";
	size_t n = strspn(value, digits), i, bits = 0;
	size_t padding = strspn(value + n, "=");
	char *end = text;

	for (i = 0; i < n; i++) {
		bits = bits << 6 | (size_t)(strchr(digits, value[i]) - digits);
		if (i % 4 > 0)
			*end++ = (char)(bits >> (6 - i % 4 * 2) & 255);
	}
	*end = '\0';
	if (padding > 2 || (n + padding) % 4 != 0)
		return false;
	return strcmp(value + n + padding, "?=") == 0 &&
	    strlen(text) == (size_t)(end - text);
}

/* Returns whether a header's value equals `string`, a member of the message.
 * The value may be encoded as "=?base64?...?=". Returns false if the value is
 * NULL, which means that the header is missing. Returns true if the member is
 * missing or is not a string, because mcp.c then rejects the message. */
static bool
header_matches(const char *value, struct json string)
{
	static const char prefix[] = "=?base64?";
	char text[REQUEST_HEAD_LIMIT];

	if (json_type(string) != JSON_STRING)
		return true;
	if (value == NULL)
		return false;
	if (strncmp(value, prefix, strlen(prefix)) != 0)
		return json_is(string, value);
	return decode_base64(value + strlen(prefix), text) &&
	    json_is(string, text);
}

/* Returns whether the headers contain the same version, method and tool name as
 * the message. */
static bool
headers_match(const struct peer *p, const struct rpc_message *m)
{
	const char *const *field = p->connection.request.field;

	if (!header_matches(field[FIELD_MCP_VERSION], m->version) ||
	    !header_matches(field[FIELD_MCP_METHOD], m->method))
		return false;
	return !json_is(m->method, "tools/call") ||
	    header_matches(field[FIELD_MCP_NAME], m->name);
}

static bool
is_notification(const struct rpc_message *m)
{
	return m->id.text == NULL && json_type(m->method) == JSON_STRING &&
	    json_is(m->jsonrpc, "2.0");
}

static bool
is_handshake(const struct rpc_message *m)
{
	return rpc_is_request(m) && json_is(m->method, "initialize");
}

/* Returns whether the message is stateless. This is the case if the message
 * contains a version in _meta, or if it is a server/discover request without a
 * session. This is also the case if the MCP-Protocol-Version header names a
 * revision of MCP that has no sessions, unless the message is an initialize
 * request. */
static bool
is_modern(const struct peer *p, const struct rpc_message *m)
{
	const char *const *field = p->connection.request.field;
	const char *version = field[FIELD_MCP_VERSION];

	if (m->version.text != NULL)
		return true;
	if (json_is(m->method, "server/discover") &&
	    field[FIELD_MCP_SESSION] == NULL)
		return true;
	return version != NULL && !is_handshake(m) &&
	    revision_find(version, true) != NULL;
}


/* Returns the client that handles a stateless message. All stateless messages
 * share one client. If the message is a notification or a response, or if the
 * HTTP headers do not match the message, sends an HTTP response and returns
 * NULL. */
static struct client *
route_modern(struct http *h, struct peer *p, const struct rpc_message *m)
{
	/* Ignore notifications. All stateless clients share one list of open
	 * calls, so a notification that cancels a call could cancel another
	 * client's call. */
	if (is_notification(m)) {
		respond_text(p, 202, "");
		return NULL;
	}
	if (rpc_is_response(m))
		return reject_message(h, p, m, 400, JSONRPC_INVALID_REQUEST,
		    "a response was received, but a request was expected");
	/* Check the headers only if the message is a request with a version in
	 * _meta, because mcp.c rejects all other messages. */
	if (rpc_is_request(m) && m->version.text != NULL &&
	    !headers_match(p, m))
		return reject_message(h, p, m, 400, HEADER_MISMATCH,
		    "the headers MCP-Protocol-Version, Mcp-Method and Mcp-Name "
		    "must match _meta, method and params.name");
	return h->shared;
}

/* Returns the client of the session that the message belongs to. An initialize
 * request may open a new session. If the message is rejected, returns NULL. */
static struct client *
route_to_session(struct http *h, struct peer *p, const struct rpc_message *m)
{
	struct http_session *s;

	/* After boris has restarted, clients may still send the ids of old
	 * sessions (H5). */
	if (is_handshake(m) && find_session(h, p) == NULL)
		s = open_session(h, p, m);
	else
		s = named_session(h, p, m);
	if (s == NULL)
		return NULL;
	s->used = h->now;
	return s->client;
}

/* Returns the client that is to handle the message, or NULL if the message has
 * already been answered. */
static struct client *
route(struct http *h, struct peer *p, const struct rpc_message *m)
{
	struct client *to;

	if (is_modern(p, m))
		to = route_modern(h, p, m);
	else if (m->root.text == NULL)
		to = h->shared;  /* rejects it: it is not JSON */
	else
		to = route_to_session(h, p, m);
	if (to != NULL && mcp_backlog(to) > MCP_BACKLOG &&
	    json_is(m->method, "tools/call"))
		return reject_message(h, p, m, 503, JSONRPC_INTERNAL,
		    "too many calls are queued; wait until some end, or cancel "
		    "them");
	return to;
}

/* Returns whether the message is a stateless tool call whose peer has already
 * disconnected. Such a call must not be run (H7). */
static bool
is_abandoned(const struct http *h, const struct peer *p,
             const struct rpc_message *m)
{
	return p->client == h->shared && p->connection.hung_up &&
	    json_is(m->method, "tools/call");
}

/* Handles the message in the body of a complete request. */
static void
handle_message(struct http *h, struct peer *p)
{
	const struct request *r = &p->connection.request;
	enum rpc_outcome outcome = RPC_ANSWERED;
	struct rpc_message m;  /* its values point into the body */

	rpc_parse(&m, r->body.len > 0 ? r->body.data : "", r->body.len);
	m.address = p->connection.from;
	m.in_doubt = p->connection.hung_up;
	p->client = route(h, p, &m);
	if (is_abandoned(h, p, &m))
		connection_abort(&p->connection);
	else if (p->client != NULL)
		outcome = mcp_handle(p->client, p, &m, h->now);
	if (outcome == RPC_NO_ANSWER)
		respond_text(p, 202, "");
	/* An answered call is kept until its response has been written. */
	if (p->client != NULL && !calls_await(p->client, p))
		p->client = NULL;
}

/* -- Requests (H1, H3, H4) ---------------------------------------------- */

static bool
has_verb(const struct request *r, const char *verb)
{
	return strcmp(r->verb, verb) == 0;
}

static bool
has_token(const struct http *h, const struct request *r)
{
	return access_has_token(&h->access, r->field[FIELD_AUTHORIZATION]);
}

/* Returns whether the request is a CORS preflight, with which a browser asks
 * whether a web page may send the actual request. */
static bool
is_preflight(const struct request *r)
{
	return has_verb(r, "OPTIONS") && r->field[FIELD_ORIGIN] != NULL &&
	    r->field[FIELD_PREFLIGHT] != NULL;
}

/* The functions below return true if they have responded to the request, so
 * that its body is not needed. Otherwise they return false. */

/* Rejects a request that does not contain the token, if one is set (H3).
 * Returns whether the request was rejected. */
static bool
reject_token(const struct http *h, struct peer *p)
{
	if (h->options->token == NULL || has_token(h, &p->connection.request))
		return false;
	p->authenticated = false;
	return respond_text(p, 401,
	    "the header Authorization: Bearer TOKEN is missing or wrong\n");
}

/* Responds to a request for /health. The response is detailed if the request
 * contains the token (H1). Always returns true. */
static bool
respond_health(const struct http *h, struct peer *p)
{
	const struct request *r = &p->connection.request;
	int tasks = h->shared->session->tasks;
	const struct http_session *s;
	struct buf b = { NULL, 0, 0 };

	if (!has_verb(r, "GET") && !has_verb(r, "HEAD"))
		return respond_text(p, 405, "/health accepts only GET and "
		    "HEAD\n");
	for (s = first_session(h); s != NULL; s = next_session(s))
		tasks += s->client->session->tasks;
	buf_putc(&b, '{');
	json_put(&b, "status", "ok");
	if (has_token(h, r)) {
		json_put(&b, "version", BORIS_VERSION);
		json_put_number(&b, "uptime_s", (h->now - h->started) / 1000);
		json_put_number(&b, "sessions", count_sessions(h));
		json_put_number(&b, "tasks", tasks);
	}
	buf_putc(&b, '}');
	respond_json(p, 200, &b);
	buf_free(&b);
	return true;
}

/* Responds to a DELETE request and closes the session that it names. Always
 * returns true. */
static bool
delete_session(struct http *h, struct peer *p)
{
	const struct rpc_message none = { .id = { NULL, 0 } };
	struct http_session *s = named_session(h, p, &none);

	if (s == NULL)
		return true;
	end_session(h, s);
	return respond_text(p, 204, "");
}

/* Rejects a POST request if its Content-Type or Accept header is unacceptable
 * or its body is too long. Returns whether the request was rejected. */
static bool
reject_post(struct peer *p)
{
	const struct request *r = &p->connection.request;
	const char *type = r->field[FIELD_CONTENT_TYPE];

	if (type == NULL || strchr(type, ',') != NULL ||
	    !field_lists(type, JSON_TYPE))
		return respond_text(p, 415,
		    "Content-Type must be application/json\n");
	if (r->has_accept && !(r->accepts_json && r->accepts_events))
		return respond_text(p, 406, "Accept must list application/json "
		    "and text/event-stream\n");
	if (r->left > REQUEST_BODY_LIMIT)
		return respond_text(p, 413, TOO_LONG);
	return false;
}

/* Responds to a request before its body is read, unless the response depends on
 * the body. Returns whether a response was sent. */
static bool
respond_early(struct http *h, struct peer *p)
{
	const struct request *r = &p->connection.request;
	const char *origin = r->field[FIELD_ORIGIN];

	p->session_id = NULL;
	if (!access_allows_host(&h->access, r->field[FIELD_HOST]))
		return respond_text(p, 403, "Host must name this machine, such "
		    "as localhost\n");
	if (origin != NULL && !access_allows_origin(&h->access, origin))
		return respond_text(p, 403,
		    "Origin is not allowed; allow it with --allow-origin\n");
	if (strcmp(r->path, "/health") == 0)
		return respond_health(h, p);
	if (!is_endpoint(r->path))
		return respond_text(p, 404, "unknown path; use /mcp or "
		    "/health\n");
	if (is_preflight(r))
		return respond_text(p, 204, "");
	if (reject_token(h, p))
		return true;
	p->authenticated = true;
	if (has_verb(r, "OPTIONS"))
		return respond_text(p, 204, "");
	if (has_verb(r, "DELETE"))
		return delete_session(h, p);
	if (!has_verb(r, "POST"))
		return respond_text(p, 405, "/mcp accepts only POST, DELETE "
		    "and OPTIONS\n");
	return reject_post(p);
}

/* Handles a request after its headers are complete and before its body is
 * read. */
static void
handle_headers(struct http *h, struct peer *p)
{
	struct connection *c = &p->connection;

	if (respond_early(h, p))
		return;
	/* The client is waiting for "100 Continue" before sending the body. */
	if (c->request.field[FIELD_EXPECT] != NULL)
		buf_add(&c->out.bytes, "HTTP/1.1 100 Continue\r\n\r\n");
}

/* Handles a request after its body is complete. */
static void
handle_body(struct http *h, struct peer *p)
{
	struct request *r = &p->connection.request;

	/* Check the token again, because SIGHUP may have replaced it since the
	 * headers were handled (H9). */
	if (!reject_token(h, p))
		handle_message(h, p);
	h->handled += r->body.len;
	/* Free the body now, because the call may stay open for a long
	 * time (P10). */
	request_drop(r);
}

/* Parses the received bytes. Handles each request when its headers are complete
 * and again when its body is complete. */
static void
handle_requests(struct http *h, struct peer *p)
{
	int event = connection_next(&p->connection);

	while (event != REQUEST_NEEDS_INPUT) {
		if (event == REQUEST_HAS_HEAD)
			handle_headers(h, p);
		else if (event == REQUEST_COMPLETE)
			handle_body(h, p);
		else if (event == 413)  /* a chunked body was too long */
			respond_text(p, event, TOO_LONG);
		else  /* 503: no memory for the body */
			respond_text(p, event, "out of memory\n");
		event = connection_next(&p->connection);
	}
}

/* -- Peers ------------------------------------------------------------- */

/* Updates the response to a peer's request at the end of an iteration of the
 * event loop. If the request was not answered in the iteration in which it
 * arrived, the response becomes an event stream. If the request was cancelled,
 * the stream ends (H7). */
static void
end_turn(struct peer *p)
{
	struct connection *c = &p->connection;

	if (c->state == CONNECTION_CALL)
		begin_stream(p);
	if (p->client != NULL && !calls_await(p->client, p)) {
		p->client = NULL;
		if (c->state == CONNECTION_STREAM)
			connection_end_stream(c);
	}
	connection_end_turn(c);
	if (p->client != NULL && connection_has_responded(c)) {
		calls_written(p->client, p);
		p->client = NULL;
	}
}

static bool
is_gone(const struct peer *p)
{
	return p->connection.state == CONNECTION_GONE;
}

/* For each peer whose connection is closed, cancels the open call if the call
 * belongs to no session (H7). */
static void
forget_gone_peers(struct http *h)
{
	struct peer *p;

	for (p = first_peer(h); p != NULL; p = next_peer(p)) {
		if (!is_gone(p) || p->client == NULL)
			continue;
		calls_forget(p->client, p, p->client == h->shared, h->now);
		p->client = NULL;
	}
}

/* Frees each peer whose connection is closed. forget_gone_peers() must have
 * been called. */
static void
free_gone_peers(struct http *h)
{
	struct peer *p, *next;

	for (p = first_peer(h); p != NULL; p = next) {
		next = next_peer(p);
		if (!is_gone(p))
			continue;
		list_remove(&h->peers, &p->node);
		connection_free(&p->connection);
		free(p);
	}
}

/* Returns the number of peers whose connection is not closed. */
static int
count_peers(const struct http *h)
{
	const struct peer *p;
	int n = 0;

	for (p = first_peer(h); p != NULL; p = next_peer(p)) {
		if (!is_gone(p))
			n++;
	}
	return n;
}

/* Finds the oldest peer that boris serves and that is not authenticated (H8).
 * Returns NULL if there is no such peer. */
static struct peer *
find_unauthenticated_peer(const struct http *h)
{
	struct peer *p;

	for (p = first_peer(h); p != NULL; p = next_peer(p)) {
		if (!p->authenticated &&
		    p->connection.state < CONNECTION_CLOSING)
			return p;
	}
	return NULL;
}

/* Finds the oldest peer whose connection boris has shut down. Returns NULL if
 * there is no such peer. */
static struct peer *
find_closing_peer(const struct http *h)
{
	struct peer *p = first_peer(h);

	while (p != NULL && p->connection.state != CONNECTION_CLOSING)
		p = next_peer(p);
	return p;
}

/* Disconnects peers until another one may connect (H8). Returns false if that
 * is impossible, because all connections are authenticated or fewer than
 * PEER_SPARE bytes of memory are available (E7). */
static bool
make_room(struct http *h)
{
	struct peer *p;

	while (count_peers(h) >= CONNECTIONS) {
		p = find_closing_peer(h);
		if (p == NULL)
			p = find_unauthenticated_peer(h);
		if (p == NULL)
			return false;
		connection_abort(&p->connection);
	}
	if (mem_is_available(PEER_SPARE))
		return true;
	/* A closing connection has already freed its buffers, so disconnecting
	 * its peer would not help. */
	p = find_unauthenticated_peer(h);
	if (p == NULL)
		return false;
	connection_abort(&p->connection);
	return true;
}

/* Accepts a connection and appends its peer to the list. Requests that are
 * completed in the same iteration of the event loop are handled in the order of
 * this list (P7). */
static void
accept_peer(struct http *h)
{
	struct peer *p = mem_get(sizeof(*p));

	if (!connection_accept(&p->connection, h->listener, h->now)) {
		/* accept() can fail, for example if boris has run out of
		 * descriptors. poll() would then report the same connection
		 * again immediately, so pause to avoid a busy loop (E7). */
		h->accept_at = h->now + ACCEPT_PAUSE;
		free(p);
		return;
	}
	/* The rejected peer may be one more than CONNECTIONS. When the next
	 * peer is accepted, the connection of this one is closing, and
	 * make_room() disconnects it. */
	if (!make_room(h))
		connection_reject(&p->connection, 503);
	list_append(&h->peers, &p->node);
}

/* Returns whether the rest of the peer's request must wait for a later
 * iteration of the event loop. If no request ever waited, several large
 * messages that are completed at the same time would delay all peers (P6). No
 * peer waits forever, because BODY_BUDGET is more than all other peers together
 * can send in one iteration. */
static bool
must_wait(const struct http *h, const struct peer *p)
{
	return h->handled >= BODY_BUDGET && p->connection.request.body.len > 0;
}

/* Handles the call of a peer that has closed its sending side. Cancels a
 * stateless call that has not been answered yet. A call in a session continues,
 * because the peer may still read the response (H7). */
static void
handle_hang_up(const struct http *h, struct peer *p)
{
	bool answered = p->connection.state == CONNECTION_WRITING;

	if (p->client == h->shared && !answered)
		connection_abort(&p->connection);
	else
		calls_doubt(p->client, p);
}

static void
read_peers(struct http *h, const struct loop *loop)
{
	struct peer *p;

	h->handled = 0;
	for (p = first_peer(h); p != NULL; p = next_peer(p)) {
		if (must_wait(h, p))
			continue;
		connection_read(&p->connection, loop);
		handle_requests(h, p);
		if (p->connection.hung_up && p->client != NULL)
			handle_hang_up(h, p);
	}
}

/* -- The interface ----------------------------------------------------- */

struct http *
http_open(const struct options *options)
{
	bool v6 = strchr(options->address, ':') != NULL;
	struct http *h = mem_get(sizeof(*h));
	int port = options->port;

	h->options = options;
	h->shared = mcp_open(options, MCP_HTTP_SHARED, http_send, h);
	if (h->shared == NULL)
		fatal(1, "cannot start: no source of random numbers");
	h->flush_until = NEVER;
	h->started = clock_now();
	h->listener = connection_listen(options->address, &port);
	if (h->listener < 0)
		fatal(1, "cannot listen on %s port %d: %s", options->address,
		    port, strerror(errno));
	buf_fmt(&h->origin, v6 ? "http://[%s]:%d" : "http://%s:%d",
	    options->address, port);
	h->access = (struct access){ options, buf_text(&h->origin) };
	return h;
}

void
http_end(struct http *h)
{
	struct http_session *s;
	struct peer *p;

	for (p = first_peer(h); p != NULL; p = next_peer(p))
		connection_free(&p->connection);
	for (s = first_session(h); s != NULL; s = next_session(s))
		mcp_free(s->client);
	mcp_free(h->shared);
}

const char *
http_origin(const struct http *h)
{
	return h->origin.data;
}

void
http_token_changed(struct http *h)
{
	struct peer *p;

	for (p = first_peer(h); p != NULL; p = next_peer(p))
		p->authenticated = false;
}

void
http_poll_add(struct http *h, struct loop *loop)
{
	bool pause = loop->now < h->accept_at;
	struct http_session *s;
	struct peer *p;

	h->in_poll = loop_add(loop, pause ? -1 : h->listener, POLLIN);
	if (pause)
		loop_until(loop, h->accept_at);
	loop_until(loop, h->flush_until);
	for (p = first_peer(h); p != NULL; p = next_peer(p))
		connection_poll_add(&p->connection, loop);
	mcp_poll_add(h->shared, SIZE_MAX, loop);
	for (s = first_session(h); s != NULL; s = next_session(s)) {
		mcp_poll_add(s->client, SIZE_MAX, loop);
		if (!s->closing)
			loop_until(loop, s->used + h->options->session_timeout);
	}
}

/* Closes the listening socket, stops accepting requests from all peers, and
 * starts closing all sessions (H9). */
static void
start_shutdown(struct http *h)
{
	struct http_session *s;
	struct peer *p;

	fd_close(&h->listener);
	mcp_close(h->shared, h->now);
	for (p = first_peer(h); p != NULL; p = next_peer(p))
		connection_close(&p->connection);
	for (s = first_session(h); s != NULL; s = next_session(s)) {
		if (!s->closing)
			end_session(h, s);
	}
}

static void
dispatch_sessions(struct http *h, const struct loop *loop)
{
	struct http_session *s;

	mcp_dispatch(h->shared, SIZE_MAX, loop);
	for (s = first_session(h); s != NULL; s = next_session(s)) {
		/* Check for open calls before mcp_dispatch() answers them, so
		 * that the session's idle time is counted from its last
		 * response. */
		if (calls_are_open(s->client))
			s->used = h->now;
		mcp_dispatch(s->client, SIZE_MAX, loop);
	}
}

/* Returns whether all responses have been written to the peers' connections. */
static bool
all_written(const struct http *h)
{
	const struct peer *p;

	for (p = first_peer(h); p != NULL; p = next_peer(p)) {
		if (queue_unwritten(&p->connection.out) > 0)
			return false;
	}
	return true;
}

/* Returns whether boris has stopped listening and all sessions are closed. */
static bool
is_closed(const struct http *h)
{
	return h->listener < 0 && h->sessions.first == NULL &&
	    mcp_closed(h->shared);
}

static enum transport_state
state_of(const struct http *h)
{
	if (h->listener >= 0)
		return TRANSPORT_SERVES;
	if (!is_closed(h))
		return TRANSPORT_ENDS;
	/* Give the peers a short time to read their last responses. */
	if (!all_written(h) && h->now < h->flush_until)
		return TRANSPORT_ENDS;
	return TRANSPORT_CLOSED;
}

enum transport_state
http_dispatch(struct http *h, const struct loop *loop)
{
	struct peer *p;

	h->now = loop->now;
	if (loop->end)
		start_shutdown(h);
	read_peers(h, loop);
	/* Cancel the calls of closed connections before dispatch_sessions()
	 * starts their commands. */
	forget_gone_peers(h);
	dispatch_sessions(h, loop);
	for (p = first_peer(h); p != NULL; p = next_peer(p))
		end_turn(p);
	/* Accept a peer only now, when the connections that other peers have
	 * closed are gone and do not count towards the limit. */
	if (loop_events(loop, h->in_poll))
		accept_peer(h);
	forget_gone_peers(h);
	free_gone_peers(h);
	end_expired_sessions(h);
	free_closed_sessions(h);
	if (h->flush_until == NEVER && is_closed(h))
		h->flush_until = h->now + QUEUE_END_WAIT;
	return state_of(h);
}
