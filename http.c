#define _POSIX_C_SOURCE 200809L

#include "http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "connection.h"
#include "proc.h"

enum {
	CONNECTIONS = 64,        /* at a time, at most (H8) */
	SESSIONS = 64,           /* legacy ones (H5) */
	SESSION_BYTES = 16,      /* random ones of an Mcp-Session-Id */
	ACCEPT_PAUSE = 20        /* ms, when there is no descriptor left (E7) */
};

enum { HEADER_MISMATCH = -32020 };  /* MCP 2026-07-28, transports */

#define JSON_TYPE "application/json"

/* Who is at the other end of a connection */
struct peer {
	struct peer *next;
	struct connection connection;
	bool authenticated;      /* a request of it was authorized */
	bool cors;               /* this request's origin may read the answer */
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
	const struct http_options *options;
	const struct mcp_options *mcp;
	struct client *anyone;           /* the modern requests' */
	struct http_session *sessions;
	struct peer *peers;              /* in the order they came */
	struct buf origin;               /* http://ADDRESS:PORT, NUL */
	int listener, in_poll;           /* -1: it listens no more */
	int places;                      /* for connections */
	int64_t accept_at;               /* ms; not before, after a failure */
	int64_t leave_by;                /* ms, once every session is closed */
	int64_t now;                     /* ms, of this turn */
};

/* -- Answers ----------------------------------------------------------- */

/* Without a body it begins a stream. False: there is no memory for it. */
static bool
respond(struct peer *p, int status, const char *type, const char *body,
        size_t len)
{
	struct buf headers = { NULL, 0, 0, false };
	struct response response = { status, type, body, len, &headers, false };
	bool taken;

	rules_headers(&headers, &p->connection.request, status, p->cors,
	    p->session_id);
	taken = connection_answer(&p->connection, &response);
	buf_free(&headers);
	return taken;
}

static void
answer(struct peer *p, int status, const char *type, const char *text)
{
	if (!respond(p, status, type, text, strlen(text)))
		connection_fail(&p->connection, NULL);
}

/* The HTTP status of a JSON-RPC answer (MCP 2026-07-28, transports). Earlier
 * revisions answer a well-formed request with 200, errors too. */
static int
status_of(enum mcp_kind kind, int error, bool modern)
{
	if (error == JSONRPC_PARSE_ERROR || error == JSONRPC_INVALID_REQUEST)
		return 400;
	if (modern && error == JSONRPC_NO_METHOD)
		return 404;
	return modern && kind == MCP_REFUSAL ? 400 : 200;
}

/* Called from within mcp.c, so it only queues. */
static bool
http_send(void *transport, void *to, enum mcp_kind kind, int error,
          struct buf *message)
{
	const struct http *h = transport;
	struct peer *p = to;
	struct connection *c;
	bool stream, taken;

	if (p == NULL || p->connection.state == CONNECTION_GONE)
		return true;
	c = &p->connection;
	if (kind == MCP_NOTICE && c->state == CONNECTION_CALL)
		respond(p, 200, NULL, NULL, 0);
	stream = c->state == CONNECTION_STREAM;
	if (kind == MCP_PROGRESS || kind == MCP_NOTICE)
		return stream && connection_event(c, kind == MCP_NOTICE
		    ? EVENT_MORE : EVENT_PROGRESS, message);
	if (error != 0)
		p->session_id = NULL;
	taken = stream ? connection_event(c, EVENT_LAST, message)
	    : respond(p, status_of(kind, error, p->client == h->anyone),
	    JSON_TYPE, message->data, message->len);
	if (!taken && error == JSONRPC_INTERNAL &&
	    message->len <= CONNECTION_ERROR) {
		connection_fail(c, message);
		return true;
	}
	return taken;
}

/* -- Sessions ---------------------------------------------------------- */

/* NULL: there is none, or no id. */
static struct http_session *
find_session(struct http *h, const char *id)
{
	struct http_session *s = id != NULL ? h->sessions : NULL;

	while (s != NULL && (s->ended || !same_secret(id, s->id)))
		s = s->next;
	return s;
}

/* NULL: there are too many, or no memory. */
static struct http_session *
open_session(struct http *h)
{
	struct http_session *s;
	int n = 0;

	for (s = h->sessions; s != NULL; s = s->next)
		n += !s->ended;
	s = n < SESSIONS ? calloc(1, sizeof(*s)) : NULL;
	if (s == NULL)
		return NULL;
	s->client = mcp_open(h->mcp, MCP_HTTP, http_send, h);
	if (s->client == NULL || !proc_random(s->id, SESSION_BYTES)) {
		mcp_free(s->client);
		free(s);
		return NULL;
	}
	s->next = h->sessions;
	h->sessions = s;
	return s;
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
		if (!s->ended && (mcp_version(s->client) == NULL ||
		    h->now >= s->used + h->options->session_timeout))
			end_session(h, s);
		if (!s->ended || !mcp_closed(s->client)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		mcp_free(s->client);
		free(s);
	}
}

/* -- Messages ---------------------------------------------------------- */

/* Where a message goes: to a client; or it is refused, unless the status is 0:
 * a notification, that needs none. */
struct route {
	struct client *client;
	int status;        /* HTTP's */
	int code;          /* JSON-RPC's */
	const char *text;
};

static struct route
refuse(int status, int code, const char *text)
{
	return (struct route){ NULL, status, code, text };
}

static struct route
route_modern(struct http *h, const char *const *field,
             const struct mcp_message *m)
{
	struct route anyone = { h->anyone, 0, 0, NULL };

	if (m->whole.text != NULL && m->method.text == NULL)
		return refuse(400, JSONRPC_INVALID_REQUEST, "Not a request");
	/* A notification that cancels could name anybody's call. */
	if (json_type(m->method) == JSON_STRING && m->id.text == NULL &&
	    json_is(m->jsonrpc, "2.0"))
		return refuse(0, 0, NULL);
	if (!mcp_is_request(m) || m->version.text == NULL)
		return anyone;  /* who says what is wrong with it */
	if (json_type(m->version) == JSON_STRING &&
	    !rules_header_says(field[FIELD_MCP_VERSION], m->version))
		return refuse(400, HEADER_MISMATCH,
		    "MCP-Protocol-Version is not what _meta says");
	if (!rules_header_says(field[FIELD_MCP_METHOD], m->method))
		return refuse(400, HEADER_MISMATCH,
		    "Mcp-Method is not what method says");
	if (json_is(m->method, "tools/call") &&
	    json_type(m->name) == JSON_STRING &&
	    !rules_header_says(field[FIELD_MCP_NAME], m->name))
		return refuse(400, HEADER_MISMATCH,
		    "Mcp-Name is not what params.name says");
	return anyone;
}

static struct route
route_legacy(struct http *h, struct peer *p, const struct mcp_message *m,
             bool first)
{
	const char *const *field = p->connection.request.field;
	const char *id = field[FIELD_MCP_SESSION];
	const char *version = field[FIELD_MCP_VERSION];
	struct http_session *s;

	if (m->whole.text == NULL)  /* `anyone` says that it is not JSON */
		return (struct route){ h->anyone, 0, 0, NULL };
	if (version != NULL && !first &&
	    !mcp_speaks(version, strlen(version), false))
		return refuse(400, JSONRPC_INVALID_REQUEST,
		    "MCP-Protocol-Version is none that is spoken here");
	if (id == NULL && !first)
		return refuse(400, JSONRPC_INVALID_REQUEST,
		    "Mcp-Session-Id is missing; begin with initialize");
	s = id != NULL ? find_session(h, id) : open_session(h);
	if (s == NULL && id != NULL)
		return refuse(404, JSONRPC_INVALID_REQUEST,
		    "No such session; begin with initialize");
	if (s == NULL)
		return refuse(503, JSONRPC_INVALID_REQUEST,
		    "As many sessions are open as there can be");
	s->used = h->now;
	if (id == NULL)
		p->session_id = s->id;
	return (struct route){ s->client, 0, 0, NULL };
}

/* A version in _meta makes it modern, and so does one in the header, except for
 * initialize; server/discover is of that era alone. */
static struct route
route(struct http *h, struct peer *p, const struct mcp_message *m)
{
	const char *const *field = p->connection.request.field;
	const char *version = field[FIELD_MCP_VERSION];
	bool first = mcp_is_request(m) && json_is(m->method, "initialize");
	struct route to;

	if (m->version.text != NULL || (version != NULL && !first &&
	    mcp_speaks(version, strlen(version), true)) ||
	    (json_is(m->method, "server/discover") &&
	    field[FIELD_MCP_SESSION] == NULL))
		to = route_modern(h, field, m);
	else
		to = route_legacy(h, p, m, first);
	if (to.client != NULL && mcp_backlog(to.client) > MCP_BACKLOG &&
	    (json_is(m->method, "tools/call") ||
	    json_type(m->whole) == JSON_ARRAY))
		return refuse(503, JSONRPC_INTERNAL,
		    "Too much is queued; wait for it or cancel it");
	return to;
}

static void
hand_over(struct http *h, struct peer *p)
{
	const struct buf *body = &p->connection.request.body;
	enum mcp_outcome outcome = MCP_WANTS_NONE;
	struct buf b = { NULL, 0, 0, false };
	struct mcp_message m;  /* slices of the body */
	struct route to;

	mcp_parse(&m, body->len > 0 ? body->data : "", body->len);
	m.address = p->connection.from;
	to = route(h, p, &m);
	p->client = to.client;
	if (to.client != NULL)
		outcome = mcp_handle(to.client, p, &m, h->now);
	if (outcome != MCP_LATER)
		p->client = NULL;
	if (to.status != 0) {
		mcp_error(h->anyone, &b, &m, to.code, to.text);
		if (b.failed || !respond(p, to.status, JSON_TYPE, b.data,
		    b.len))
			outcome = MCP_NO_MEMORY;
		buf_free(&b);
	} else if (outcome == MCP_WANTS_NONE) {
		answer(p, 202, NULL, "");
	}
	if (outcome == MCP_NO_MEMORY)
		connection_fail(&p->connection, NULL);
}

/* -- Requests ---------------------------------------------------------- */

static void
answer_delete(struct http *h, struct peer *p)
{
	const char *id = p->connection.request.field[FIELD_MCP_SESSION];
	const char *version = p->connection.request.field[FIELD_MCP_VERSION];
	struct http_session *s = find_session(h, id);

	if (version != NULL && !mcp_speaks(version, strlen(version), false)) {
		answer(p, 400, "text/plain", "MCP-Protocol-Version is none "
		    "that has sessions here\n");
	} else if (s != NULL) {
		end_session(h, s);
		answer(p, 204, NULL, "");
	} else {
		answer(p, id == NULL ? 400 : 404, "text/plain",
		    "Mcp-Session-Id is missing, or no session's\n");
	}
}

/* The headers are there. Answers what needs no body, refusals above all. */
static void
begin_request(struct http *h, struct peer *p)
{
	const struct request *r = &p->connection.request;
	struct http_verdict verdict = rules_check(r, &h->options->rules,
	    h->origin.data);

	p->cors = verdict.cors;
	p->session_id = NULL;
	p->authenticated |= verdict.authorized;
	if (verdict.status != 0)
		answer(p, verdict.status, "text/plain", verdict.why);
	else if (strcmp(r->path, "/health") == 0)
		answer(p, 200, JSON_TYPE, "{\"status\":\"ok\"}");
	else if (strcmp(r->verb, "OPTIONS") == 0)
		answer(p, 204, NULL, "");
	else if (strcmp(r->verb, "DELETE") == 0)
		answer_delete(h, p);
	else
		connection_go_on(&p->connection);
}

/* Goes on with what has come. */
static void
take_requests(struct http *h, struct peer *p)
{
	int event;

	while ((event = connection_take(&p->connection)) != REQUEST_WAITS) {
		if (event == REQUEST_ASKS)
			begin_request(h, p);
		else if (event == 413)
			answer(p, 413, "text/plain",
			    "a message can have 16 MiB\n");
		else if (p->connection.request.body.failed)
			answer(p, 503, "text/plain", "out of memory\n");
		else
			hand_over(h, p);
	}
}

/* -- Peers ------------------------------------------------------------- */

/* A call that is not answered in its turn gets a stream (H7), without memory in
 * the next one. If it is then cancelled, that ends without an answer. */
static void
end_turn(struct peer *p)
{
	struct connection *c = &p->connection;

	if (c->state == CONNECTION_CALL)
		respond(p, 200, NULL, NULL, 0);
	if (p->client != NULL && !mcp_awaits(p->client, p)) {
		p->client = NULL;
		if (c->state == CONNECTION_STREAM &&
		    !connection_event(c, EVENT_LAST, NULL))
			connection_fail(c, NULL);
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
			mcp_forget(p->client, p, p->client == h->anyone,
			    h->now);
		connection_free(&p->connection);
		free(p);
		h->accept_at = 0;  /* there is a descriptor again */
	}
}

/* Connections may take a third of all descriptors, not the commands' (H8). */
static int
count_places(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur / 3 > CONNECTIONS)
		return CONNECTIONS;
	return (int)(limit.rlim_cur / 3);
}

/* When all places are taken, the oldest connection gives way that has never
 * shown a token (where none is asked for: has asked nothing of /mcp), or that
 * only waits for its peer to close (H8). False: there is none. */
static bool
make_place(struct http *h)
{
	struct peer *p, *oldest = NULL;
	int taken = 0;

	for (p = h->peers; p != NULL; p = p->next) {
		if (p->connection.state == CONNECTION_GONE)
			continue;
		taken++;
		if (oldest == NULL && (!p->authenticated ||
		    p->connection.state == CONNECTION_CLOSING))
			oldest = p;
	}
	if (taken >= h->places && oldest != NULL) {
		connection_lose(&oldest->connection);
		taken--;
	}
	return taken < h->places;
}

/* Adds it at the end of the list: requests that are whole at once are carried
 * out in the order of their connections (P7). Without a descriptor or memory
 * the listener is not watched for a while: poll() would not wait (E7). */
static void
accept_peer(struct http *h)
{
	struct peer **at = &h->peers, *p = calloc(1, sizeof(*p));

	if (p == NULL ||
	    !connection_accept(&p->connection, h->listener, h->now)) {
		h->accept_at = h->now + ACCEPT_PAUSE;
		free(p);
		return;
	}
	if (!make_place(h))
		connection_refuse(&p->connection, 503,
		    "as many connections are open as there can be\n");
	while (*at != NULL)
		at = &(*at)->next;
	*at = p;
}

/* -- The whole --------------------------------------------------------- */

void
http_free(struct http *h)
{
	struct http_session *s;
	struct peer *p;

	if (h == NULL)
		return;
	for (p = h->peers; p != NULL; p = p->next) {
		p->client = NULL;
		connection_lose(&p->connection);
	}
	free_peers(h);
	while ((s = h->sessions) != NULL) {
		h->sessions = s->next;
		mcp_free(s->client);
		free(s);
	}
	mcp_free(h->anyone);
	buf_free(&h->origin);
	fd_close(&h->listener);
	free(h);
}

struct http *
http_open(const struct http_options *options, const struct mcp_options *mcp)
{
	bool v6 = strchr(options->address, ':') != NULL;
	struct http *h = calloc(1, sizeof(*h));
	int error, port = options->port;

	if (h == NULL)
		return NULL;
	h->options = options;
	h->mcp = mcp;
	h->anyone = mcp_open(mcp, MCP_HTTP_STATELESS, http_send, h);
	h->leave_by = NEVER;
	h->listener = connection_listen(options->address, &port);
	h->places = count_places();
	buf_add(&h->origin, v6 ? "http://[" : "http://", options->address);
	buf_number(&h->origin, v6 ? "]:" : ":", port, "");
	buf_putc(&h->origin, '\0');
	if (h->listener >= 0 && h->anyone != NULL && !h->origin.failed)
		return h;
	error = errno;
	http_free(h);
	errno = error;
	return NULL;
}

const char *
http_origin(const struct http *h)
{
	return h->origin.data;
}

/* -- Turns ------------------------------------------------------------- */

void
http_poll_add(struct http *h, struct loop *loop)
{
	struct http_session *s;
	struct peer *p;

	h->in_poll = -1;
	if (loop->now >= h->accept_at)
		h->in_poll = loop_add(loop, h->listener, POLLIN);
	else
		loop_until(loop, h->accept_at);
	loop_until(loop, h->leave_by);
	for (p = h->peers; p != NULL; p = p->next)
		connection_poll_add(&p->connection, loop);
	mcp_poll_add(h->anyone, loop);
	for (s = h->sessions; s != NULL; s = s->next) {
		mcp_poll_add(s->client, loop);
		if (!s->ended && !mcp_unanswered(s->client))
			loop_until(loop,
			    s->used + h->options->session_timeout);
	}
}

static void
begin_end(struct http *h)
{
	struct http_session *s;
	struct peer *p;

	fd_close(&h->listener);
	mcp_close(h->anyone, h->now);
	for (s = h->sessions; s != NULL; s = s->next) {
		if (!s->ended)
			end_session(h, s);
	}
	for (p = h->peers; p != NULL; p = p->next)
		connection_close(&p->connection);
}

enum transport_state
http_dispatch(struct http *h, const struct loop *loop)
{
	struct http_session *s;
	struct peer *p;

	h->now = loop->now;
	if (loop->end)
		begin_end(h);
	for (p = h->peers; p != NULL; p = p->next) {
		connection_read(&p->connection, loop);
		take_requests(h, p);
		/* A legacy call goes on, and is answered: perhaps the peer has
		 * closed only its sending side (H7). */
		if (p->connection.ended && p->client == h->anyone)
			connection_lose(&p->connection);
	}
	if (loop_events(loop, h->in_poll))
		accept_peer(h);
	mcp_dispatch(h->anyone, loop);
	for (s = h->sessions; s != NULL; s = s->next) {
		/* Also for a call that is answered in this turn. */
		if (mcp_unanswered(s->client))
			s->used = h->now;
		mcp_dispatch(s->client, loop);
	}
	for (p = h->peers; p != NULL; p = p->next)
		end_turn(p);
	free_peers(h);
	review_sessions(h);
	if (h->listener >= 0)
		return TRANSPORT_SERVES;
	if (h->sessions != NULL || !mcp_closed(h->anyone))
		return TRANSPORT_ENDS;
	if (h->leave_by == NEVER)
		h->leave_by = h->now + QUEUE_END_WAIT;
	p = h->peers;
	while (p != NULL && queue_unwritten(&p->connection.out) == 0)
		p = p->next;
	return p != NULL && h->now < h->leave_by ? TRANSPORT_ENDS
	    : TRANSPORT_CLOSED;
}
