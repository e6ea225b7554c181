/* The map of HTTP (H). Each module calls those below it:
 *
 * http.c        peers, sessions, which client a message is for (H1, H5, H6, H9)
 * access.c      who may send requests: tokens, origins, hosts (H3, H4)
 * connection.c  one socket: its states, deadlines and streams (H7, H8)
 * httpmsg.c     HTTP/1.1 as text: a request read, a response written (H8) */
#define _POSIX_C_SOURCE 200809L

#include "transport/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "mcp/clients.h"
#include "mcp/mcp.h"
#include "transport/access.h"
#include "transport/connection.h"

enum {
	CONNECTIONS = 64,        /* at a time, at most (H8) */
	SESSIONS = 64,           /* legacy ones (H5) */
	SESSION_BYTES = 16,      /* random ones of an Mcp-Session-Id */
	LONG_RESULT = 16 << 10,  /* bytes; its memory may be refused (E7) */
	PEER_SPARE = 64 << 10,   /* bytes that are left when one is accepted */
	ACCEPT_PAUSE = 20,       /* ms, when there is no descriptor left (E7) */
	HEADER_MISMATCH = -32020 /* MCP 2026-07-28, transports */
};

#define JSON_TYPE "application/json"
#define TOO_LONG "a message can have 16 MiB\n"

/* Who is at the other end of a connection */
struct peer {
	struct peer *next;
	struct connection connection;
	bool authenticated;      /* it has shown the token; or, where none is
	                          * needed, has asked something of /mcp */
	const char *session_id;  /* of the session that it opens; or NULL */
	struct client *client;   /* that has its open call; or NULL */
};

/* One Mcp-Session-Id */
struct http_session {
	struct http_session *next;
	struct client *client;
	char id[2 * SESSION_BYTES + 1];
	int64_t used;            /* ms; when a request was last in flight */
	bool ended;              /* it is closing; its id is no longer known */
};

struct http {
	const struct options *options;
	struct client *shared;           /* the modern requests' */
	struct http_session *sessions;
	struct peer *peers;              /* in the order they came */
	struct buf origin;               /* http://ADDRESS:PORT */
	struct access access;
	int listener, in_poll;           /* -1: it listens no more */
	int64_t accept_at;               /* ms; of the next try, if one fails */
	int64_t leave_by;                /* ms, once every session is closed */
	int64_t started;                 /* ms */
	int64_t now;                     /* ms, of this turn */
};

/* Some clients add a slash to the URL that they are given (H1). */
static bool
is_endpoint(const char *path)
{
	return strcmp(path, "/mcp") == 0 || strcmp(path, "/mcp/") == 0;
}

/* Appends the headers that depend on the request, and the empty line. */
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
	/* Pages of the origin may read the response, unless it says that the
	 * origin is not allowed (H4). */
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

/* Responds with a body of that type. An empty body has none. */
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

/* Responds with a text, which may be empty. Returns true, so that its caller can
 * return that it has responded. */
static bool
respond_text(struct peer *p, int status, const char *text)
{
	respond(p, status, "text/plain", text, strlen(text));
	return true;
}

/* Begins to respond with a stream of events. */
static void
begin_stream(struct peer *p)
{
	struct buf b = { NULL, 0, 0 };

	stream_begin(&b, &p->connection.request);
	put_headers(&b, p, 200);
	connection_begin_stream(&p->connection, &b);
}

/* The HTTP status of a JSON-RPC answer (MCP 2026-07-28, transports). Earlier
 * revisions answer a well-formed request with 200, errors too. */
static int
status_of(enum rpc_kind kind, int error, bool modern)
{
	if (error == JSONRPC_PARSE_ERROR || error == JSONRPC_INVALID_REQUEST)
		return 400;
	if (modern && error == JSONRPC_NO_METHOD)
		return 404;
	return modern && kind == RPC_REFUSAL ? 400 : 200;
}

/* Called from within mcp.c, so it only queues. */
static bool
http_send(void *transport, void *to, enum rpc_kind kind, int error,
          struct buf *message)
{
	const struct http *h = transport;
	struct peer *p = to;
	struct connection *c;

	if (p == NULL || p->connection.state == CONNECTION_GONE)
		return true;
	c = &p->connection;
	/* The response and the queue each copy it, and have headers, too. */
	if (message->len > LONG_RESULT && !mem_is_there(3 * message->len))
		return false;
	if (error != 0)
		p->session_id = NULL;
	if (kind == RPC_NOTICE && c->state == CONNECTION_CALL)
		begin_stream(p);
	if (kind == RPC_NOTICE || kind == RPC_PROGRESS)
		return c->state == CONNECTION_STREAM &&
		    (kind == RPC_PROGRESS ? connection_progress(c, message)
		    : connection_event(c, message));
	if (c->state != CONNECTION_STREAM)
		respond_json(p, status_of(kind, error,
		    p->client == h->shared), message);
	else if (connection_event(c, message))
		connection_end_stream(c);
	else
		return false;
	return true;
}

/* Begins to close it (L1); review_sessions() frees it once it is closed. */
static void
end_session(struct http *h, struct http_session *s)
{
	s->ended = true;
	mcp_close(s->client, h->now);
}

/* Ends sessions whose handshake has failed, or that are idle for long (H5).
 * Frees those that are closed: all is answered, so no connection has them. */
static void
review_sessions(struct http *h)
{
	struct http_session **at = &h->sessions, *s;

	while ((s = *at) != NULL) {
		if (!s->ended && (s->client->caller.revision == NULL ||
		    h->now >= s->used + h->options->session_timeout))
			end_session(h, s);
		if (s->ended && mcp_closed(s->client)) {
			*at = s->next;
			mcp_free(s->client);
			free(s);
		} else {
			at = &s->next;
		}
	}
}

static struct client *
refuse_message(struct http *h, struct peer *p, const struct rpc_message *m,
               int status, int code, const char *text)
{
	struct buf b = { NULL, 0, 0 };
	struct json id = m->id;

	/* With a response's id this could pass for the answer to a request. */
	if (!rpc_is_request(m))
		id.text = NULL;
	mcp_error(h->shared, &b, id, code, text);
	respond_json(p, status, &b);
	buf_free(&b);
	return NULL;
}

/* Does the header's value, which may be NULL, stand for that JSON string? What
 * headers can't hold comes as "=?base64?...?=" (RFC 4648). What is no string is
 * left to mcp.c to refuse. */
static bool
header_says(const char *value, struct json string)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
	    "nopqrstuvwxyz0123456789+/", before[] = "=?base64?";
	char text[REQUEST_HEAD_LIMIT], *end = text;
	size_t n, i, bits = 0;

	if (value == NULL || json_type(string) != JSON_STRING)
		return json_type(string) != JSON_STRING;
	if (strncmp(value, before, strlen(before)) != 0)
		return json_is(string, value);
	value += strlen(before);
	n = strspn(value, digits);
	for (i = 0; i < n; i++) {
		bits = bits << 6 | (size_t)(strchr(digits, value[i]) - digits);
		if (i % 4 > 0)
			*end++ = (char)(bits >> (6 - i % 4 * 2) & 255);
	}
	*end = '\0';
	i = strspn(value + n, "=");
	return i <= 2 && (n + i) % 4 == 0 && strcmp(value + n + i, "?=") == 0 &&
	    json_is(string, text) && strlen(text) == (size_t)(end - text);
}

static struct client *
route_modern(struct http *h, struct peer *p, const struct rpc_message *m)
{
	const char *const *field = p->connection.request.field;

	/* Notifications are passed over: one could cancel anybody's call. */
	if (m->id.text == NULL && json_type(m->method) == JSON_STRING &&
	    json_is(m->jsonrpc, "2.0")) {
		respond_text(p, 202, "");
		return NULL;
	}
	if (rpc_is_response(m))
		return refuse_message(h, p, m, 400, JSONRPC_INVALID_REQUEST,
		    "Not a request");
	/* mcp.c refuses what is no request, or has no version in _meta. */
	if (rpc_is_request(m) && m->version.text != NULL &&
	    (!header_says(field[FIELD_MCP_VERSION], m->version) ||
	    !header_says(field[FIELD_MCP_METHOD], m->method) ||
	    (json_is(m->method, "tools/call") &&
	    !header_says(field[FIELD_MCP_NAME], m->name))))
		return refuse_message(h, p, m, 400, HEADER_MISMATCH,
		    "MCP-Protocol-Version, Mcp-Method and Mcp-Name have to be "
		    "what _meta, method and params.name say");
	return h->shared;
}

/* Finds the open session that the request names; NULL if there is none. */
static struct http_session *
find_session(const struct http *h, const struct peer *p)
{
	const char *id = p->connection.request.field[FIELD_MCP_SESSION];
	struct http_session *s = id != NULL ? h->sessions : NULL;

	while (s != NULL && (s->ended || !access_same_secret(id, s->id)))
		s = s->next;
	return s;
}

/* Each of these two returns NULL if it has answered the request. */

static struct http_session *
named_session(struct http *h, struct peer *p, const struct rpc_message *m)
{
	const char *id = p->connection.request.field[FIELD_MCP_SESSION];
	const char *version = p->connection.request.field[FIELD_MCP_VERSION];
	struct http_session *s = find_session(h, p);
	bool spoken = version == NULL || revision_find(version, false) != NULL;

	if (s != NULL && spoken)
		return s;
	refuse_message(h, p, m, spoken && id != NULL ? 404 : 400,
	    JSONRPC_INVALID_REQUEST, !spoken
	    ? "MCP-Protocol-Version is none that has sessions here"
	    : "Mcp-Session-Id is missing, or no session's; begin with "
	    "initialize");
	return NULL;
}

static struct http_session *
open_session(struct http *h, struct peer *p, const struct rpc_message *m)
{
	struct http_session *s;
	int n = 0;

	for (s = h->sessions; s != NULL; s = s->next)
		n += !s->ended;
	if (n == SESSIONS) {
		refuse_message(h, p, m, 503, JSONRPC_INVALID_REQUEST,
		    "64 sessions are open, the maximum; close one with DELETE, "
		    "or wait until one expires");
		return NULL;
	}
	s = mem_get(sizeof(*s));
	s->client = mcp_open(h->options, MCP_HTTP, http_send, h);
	if (s->client == NULL || !random_hex(s->id, SESSION_BYTES)) {
		refuse_message(h, p, m, 503, JSONRPC_INTERNAL,
		    "No random number is available for the session's id; try "
		    "again later");
		mcp_free(s->client);
		free(s);
		return NULL;
	}
	s->next = h->sessions;
	h->sessions = s;
	p->session_id = s->id;
	return s;
}

/* The client that a message is for; NULL: it has been answered. It is modern by
 * a version in _meta, by a modern one in the header (not for initialize), or as
 * server/discover that names no session. */
static struct client *
route(struct http *h, struct peer *p, const struct rpc_message *m)
{
	const char *const *field = p->connection.request.field;
	const char *version = field[FIELD_MCP_VERSION];
	bool named = field[FIELD_MCP_SESSION] != NULL;
	bool first = rpc_is_request(m) && json_is(m->method, "initialize");
	struct client *to = h->shared;
	struct http_session *s;

	if (m->version.text != NULL ||
	    (version != NULL && !first && revision_find(version, true) != NULL) ||
	    (json_is(m->method, "server/discover") && !named)) {
		to = route_modern(h, p, m);
	} else if (m->whole.text != NULL) {
		/* After a restart clients keep sending the old id (H5). */
		if (first && find_session(h, p) == NULL)
			s = open_session(h, p, m);
		else
			s = named_session(h, p, m);
		to = s != NULL ? s->client : NULL;
		if (s != NULL)
			s->used = h->now;
	}
	if (to != NULL && mcp_backlog(to) > MCP_BACKLOG &&
	    json_is(m->method, "tools/call"))
		return refuse_message(h, p, m, 503, JSONRPC_INTERNAL,
		    "Too much is queued; wait for it or cancel it");
	return to;
}

static void
take_message(struct http *h, struct peer *p)
{
	struct request *r = &p->connection.request;
	enum rpc_outcome outcome = RPC_ANSWERED;
	struct rpc_message m;  /* slices of the body */

	rpc_parse(&m, r->body.len > 0 ? r->body.data : "", r->body.len);
	m.address = p->connection.from;
	p->client = route(h, p, &m);
	if (p->client != NULL)
		outcome = mcp_handle(p->client, p, &m, h->now);
	if (outcome == RPC_NO_ANSWER)
		respond_text(p, 202, "");
	if (outcome != RPC_LATER)
		p->client = NULL;
	/* Its answer may take long (P10). */
	request_drop(r);
}

/* -- Requests: who may ask, and what (H1, H3, H4) ------------------------ */

static bool
answer_health(const struct http *h, struct peer *p)
{
	int tasks = h->shared->session->tasks, sessions = 0;
	const struct http_session *s;
	struct buf b = { NULL, 0, 0 };

	for (s = h->sessions; s != NULL; s = s->next) {
		tasks += s->client->session->tasks;
		sessions += !s->ended;
	}
	buf_putc(&b, '{');
	json_put(&b, "status", "ok");
	if (access_has_token(&h->access,
	    p->connection.request.field[FIELD_AUTHORIZATION])) {
		json_put(&b, "version", BORIS_VERSION);
		json_put_number(&b, "uptime_s", (h->now - h->started) / 1000);
		json_put_number(&b, "sessions", sessions);
		json_put_number(&b, "tasks", tasks);
	}
	buf_putc(&b, '}');
	respond_json(p, 200, &b);
	buf_free(&b);
	return true;
}

/* Answers what needs no body, refusals above all. False: its body may come. */
static bool
answer_headers(struct http *h, struct peer *p)
{
	const struct request *r = &p->connection.request;
	const char *host = r->field[FIELD_HOST];
	const char *origin = r->field[FIELD_ORIGIN];
	const char *type = r->field[FIELD_CONTENT_TYPE];
	const struct rpc_message none = { .id = { NULL, 0 } };
	struct http_session *s;
	bool options = strcmp(r->verb, "OPTIONS") == 0;
	bool preflight = origin != NULL && options &&
	    r->field[FIELD_PREFLIGHT] != NULL;

	p->session_id = NULL;
	if (!access_allows_host(&h->access, host))
		return respond_text(p, 403, "Host must be localhost\n");
	if (origin != NULL && !access_allows_origin(&h->access, origin))
		return respond_text(p, 403,
		    "Origin is not allowed here; see --allow-origin\n");
	if (strcmp(r->path, "/health") == 0)
		return strcmp(r->verb, "GET") == 0 ||
		    strcmp(r->verb, "HEAD") == 0 ? answer_health(h, p)
		    : respond_text(p, 405, "GET it\n");
	if (!is_endpoint(r->path))
		return respond_text(p, 404, "there are /mcp and /health\n");
	if (h->options->token != NULL && !preflight &&
	    !access_has_token(&h->access, r->field[FIELD_AUTHORIZATION]))
		return respond_text(p, 401,
		    "Authorization: Bearer TOKEN is missing or wrong\n");
	p->authenticated |= !preflight;
	if (options)
		return respond_text(p, 204, "");
	if (strcmp(r->verb, "DELETE") == 0) {
		s = named_session(h, p, &none);
		if (s != NULL)
			end_session(h, s);
		return s == NULL || respond_text(p, 204, "");
	}
	if (strcmp(r->verb, "POST") != 0)
		return respond_text(p, 405, "POST a message\n");
	if (type == NULL || strchr(type, ',') != NULL ||
	    !field_lists(type, JSON_TYPE))
		return respond_text(p, 415,
		    "Content-Type must be application/json\n");
	if (r->has_accept && !(r->accepts_json && r->accepts_events))
		return respond_text(p, 406, "Accept must list application/json "
		    "and text/event-stream\n");
	return r->left > REQUEST_BODY_LIMIT && respond_text(p, 413, TOO_LONG);
}

static void
take_requests(struct http *h, struct peer *p)
{
	int event;

	while ((event = connection_next(&p->connection)) != REQUEST_NEEDS_INPUT) {
		if (event == REQUEST_COMPLETE)
			take_message(h, p);
		else if (event != REQUEST_HAS_HEAD)
			respond_text(p, event, event == 413 ? TOO_LONG
			    : "out of memory\n");
		else if (!answer_headers(h, p) &&
		    p->connection.request.field[FIELD_EXPECT] != NULL)
			buf_add(&p->connection.out.bytes,
			    "HTTP/1.1 100 Continue\r\n\r\n");
	}
}

/* -- Peers ------------------------------------------------------------- */

/* A call that is not answered in its turn gets a stream (H7). If it is then
 * cancelled, that ends without an answer. */
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
}

/* Frees those that have gone. Their modern calls are cancelled (H7). */
static void
free_peers(struct http *h)
{
	struct peer **at = &h->peers, *p;

	while ((p = *at) != NULL) {
		if (p->connection.state != CONNECTION_GONE) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		if (p->client != NULL)
			calls_forget(p->client, p, p->client == h->shared,
			    h->now);
		connection_free(&p->connection);
		free(p);
	}
}

/* Adds a connection at the end of the list: requests that are whole at once are
 * carried out in the order of their connections (P7). If all places are taken,
 * or memory is short (E7), the oldest peer gives way that is not authenticated
 * or is closing (H8). */
static void
accept_peer(struct http *h)
{
	struct peer **at = &h->peers, *p = mem_get(sizeof(*p)), *oldest = NULL;
	int taken = 0;
	bool full;

	if (!connection_accept(&p->connection, h->listener, h->now)) {
		/* Without a descriptor poll() would not wait (E7). */
		h->accept_at = h->now + ACCEPT_PAUSE;
		free(p);
		return;
	}
	for (; *at != NULL; at = &(*at)->next) {
		taken++;
		if (oldest == NULL && (!(*at)->authenticated ||
		    (*at)->connection.state >= CONNECTION_CLOSING))
			oldest = *at;
	}
	*at = p;
	full = taken >= CONNECTIONS || !mem_is_there(PEER_SPARE);
	if (full && oldest != NULL)
		connection_abort(&oldest->connection);
	else if (full)
		connection_reject(&p->connection, 503);
}

struct http *
http_open(const struct options *options)
{
	bool v6 = strchr(options->address, ':') != NULL;
	struct http *h = mem_get(sizeof(*h));
	int port = options->port;

	h->options = options;
	h->shared = mcp_open(options, MCP_HTTP_SHARED, http_send, h);
	if (h->shared == NULL)
		fatal(1, "start: there is no random number");
	h->leave_by = NEVER;
	h->started = clock_now();
	h->listener = connection_listen(options->address, &port);
	if (h->listener < 0) {
		fatal(1, "listen on %s port %d: %s", options->address, port,
		    strerror(errno));
	}
	buf_add(&h->origin, v6 ? "http://[" : "http://", options->address,
	    v6 ? "]:" : ":", NUM(port));
	h->access = (struct access){ options, buf_text(&h->origin) };
	return h;
}

void
http_end(struct http *h)
{
	struct http_session *s;
	struct peer *p;

	for (p = h->peers; p != NULL; p = p->next)
		connection_free(&p->connection);
	for (s = h->sessions; s != NULL; s = s->next)
		mcp_free(s->client);
	mcp_free(h->shared);
}

const char *
http_origin(const struct http *h)
{
	return h->origin.data;
}

void
http_poll_add(struct http *h, struct loop *loop)
{
	struct http_session *s;
	struct peer *p;

	h->in_poll = loop_add(loop, loop->now < h->accept_at ? -1
	    : h->listener, POLLIN);
	if (loop->now < h->accept_at)
		loop_until(loop, h->accept_at);
	loop_until(loop, h->leave_by);
	for (p = h->peers; p != NULL; p = p->next)
		connection_poll_add(&p->connection, loop);
	mcp_poll_add(h->shared, SIZE_MAX, loop);
	for (s = h->sessions; s != NULL; s = s->next) {
		mcp_poll_add(s->client, SIZE_MAX, loop);
		if (!s->ended)
			loop_until(loop, s->used + h->options->session_timeout);
	}
}

enum transport_state
http_dispatch(struct http *h, const struct loop *loop)
{
	struct http_session *s;
	struct peer *p;

	h->now = loop->now;
	if (loop->end) {
		fd_close(&h->listener);
		mcp_close(h->shared, h->now);
	}
	for (p = h->peers; p != NULL; p = p->next) {
		if (loop->end)
			connection_close(&p->connection);
		connection_read(&p->connection, loop);
		take_requests(h, p);
		/* A legacy call goes on, and is answered: perhaps the peer has
		 * closed only its sending side (H7). */
		if (p->connection.ended && p->client == h->shared)
			connection_abort(&p->connection);
	}
	if (loop_events(loop, h->in_poll))
		accept_peer(h);
	mcp_dispatch(h->shared, SIZE_MAX, loop);
	for (s = h->sessions; s != NULL; s = s->next) {
		if (loop->end && !s->ended)
			end_session(h, s);
		/* Before mcp_dispatch() answers: that call counts, too. */
		if (calls_await(s->client, NULL))
			s->used = h->now;
		mcp_dispatch(s->client, SIZE_MAX, loop);
	}
	for (p = h->peers; p != NULL; p = p->next)
		end_turn(p);
	free_peers(h);
	review_sessions(h);
	if (h->listener >= 0)
		return TRANSPORT_SERVES;
	if (h->sessions != NULL || !mcp_closed(h->shared))
		return TRANSPORT_ENDS;
	if (h->leave_by == NEVER)
		h->leave_by = h->now + QUEUE_END_WAIT;
	p = h->peers;
	while (p != NULL && queue_unwritten(&p->connection.out) == 0)
		p = p->next;
	return p != NULL && h->now < h->leave_by ? TRANSPORT_ENDS
	    : TRANSPORT_CLOSED;
}
