#define _POSIX_C_SOURCE 200809L

#include "http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proc.h"

enum {
	CONNECTIONS = 64,        /* at a time, at most (H8) */
	SESSIONS = 64,           /* legacy ones (H5) */
	READ_SIZE = 16 << 10,

	/* ms */
	HEAD_TIME = 10000,       /* for a request's headers (H8) */
	PEER_TIME = 60000,       /* without a request, a byte of its body, or a
	                          * byte of the response being read */
	CLOSE_TIME = 2000,       /* for the peer to close after us */
	COMMENT_TIME = 15000,    /* of silence on a stream (H7) */
	ACCEPT_PAUSE = 20        /* when there is no descriptor left (E7) */
};

enum { HEADER_MISMATCH = -32020 };  /* MCP 2026-07-28, transports */

#define JSON_TYPE "application/json"

enum connection_state {
	CONNECTION_READING,  /* a request is to come, or is on its way */
	CONNECTION_CALL,     /* it was handed over in this turn */
	CONNECTION_STREAM,   /* its answer takes long: a stream of events */
	CONNECTION_WRITING,  /* its answer is being written */
	CONNECTION_CLOSING,  /* the last one was written. The peer closes first:
	                      * otherwise it might not get all that we wrote */
	CONNECTION_GONE      /* to be freed this turn */
};

struct connection {
	struct connection *next;
	int fd, in_poll;
	enum connection_state state;
	int64_t deadline;     /* ms; what for depends on the state */
	int64_t read_by;      /* ms; when the peer must have read something */
	bool ended;           /* the peer sends no more */
	bool known;           /* a request on it was let in to /mcp */
	struct buf in;        /* received, not yet taken */
	struct queue out;
	struct request request;
	struct client *client;  /* to which the request was handed */
};

/* One Mcp-Session-Id */
struct http_session {
	struct http_session *next;
	struct client *client;
	char id[JOB_ID];
	int64_t used;         /* ms; when a request was last in flight */
	bool ended;           /* it is closing; its id is no longer known */
};

struct http {
	const struct http_options *options;
	const struct mcp_options *mcp;
	struct client *anyone;           /* the modern requests' */
	struct http_session *sessions;
	struct connection *connections;  /* in the order they came */
	struct buf origin;               /* http://ADDRESS:PORT, NUL */
	int listener, in_poll;           /* -1: it listens no more */
	int places;                      /* for connections */
	int64_t accept_at;               /* ms; not before, after a failure */
	int64_t leave_by;                /* ms, once every session is closed */
	int64_t now;                     /* ms, of this turn */
};

/* -- Answers ----------------------------------------------------------- */

/* Once it is written, the connection goes on, or closes. */
static void
end_answer(struct connection *c)
{
	c->state = CONNECTION_WRITING;
	c->deadline = NEVER;
}

/* If the request is answered before its body is there, the body is dropped as
 * it comes. But a peer that expects "100 Continue" may send it or not: nobody
 * can tell whether a body or a request comes next. */
static void
answer(struct connection *c, int status, const char *type, const char *body,
       size_t len)
{
	struct request *r = &c->request;
	bool whole = r->state == REQUEST_WHOLE;

	r->last |= !whole && r->field[FIELD_EXPECT] != NULL;
	response_put(queue_append(&c->out), r, status, type, body, len);
	if (whole || r->last)
		end_answer(c);
	else
		r->unwanted = true;
}

static void
answer_text(struct connection *c, int status, const char *text)
{
	answer(c, status, "text/plain", text, strlen(text));
}

static void
begin_stream(struct http *h, struct connection *c)
{
	stream_begin(queue_append(&c->out), &c->request);
	c->state = CONNECTION_STREAM;
	c->deadline = h->now + COMMENT_TIME;
}

static void
end_stream(struct connection *c)
{
	stream_end(queue_append(&c->out), &c->request);
	end_answer(c);
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

/* Called from within mcp.c, so it only queues, and changes the state. */
static bool
http_send(void *transport, void *to, enum mcp_kind kind, int error,
          struct buf *message)
{
	struct http *h = transport;
	struct connection *c = to;
	struct buf b = { NULL, 0, 0, false };
	bool taken, stream;

	if (c == NULL)
		return true;
	c->deadline = h->now + COMMENT_TIME;
	if (kind == MCP_NOTICE && c->state == CONNECTION_CALL)
		begin_stream(h, c);
	stream = c->state == CONNECTION_STREAM;
	if (kind == MCP_PROGRESS && !stream)
		return false;
	if (error != 0)
		c->request.session_id = NULL;
	if (stream)
		stream_event(&b, &c->request, message);
	else
		response_put(&b, &c->request, status_of(kind, error,
		    c->client == h->anyone), JSON_TYPE, message->data,
		    message->len);
	taken = kind == MCP_PROGRESS ? queue_progress(&c->out, &b)
	    : queue_put(&c->out, &b);
	buf_free(&b);
	if (taken && stream && kind != MCP_PROGRESS && kind != MCP_NOTICE)
		end_stream(c);
	else if (taken && !stream)
		end_answer(c);
	return taken;
}

/* -- Connections ------------------------------------------------------- */

/* The peer has gone; if its call is a modern one, that is cancelled (H7). */
static void
lose(struct http *h, struct connection *c)
{
	if (c->state == CONNECTION_STREAM)
		mcp_forget(c->client, c, c->client == h->anyone, h->now);
	c->state = CONNECTION_GONE;
}

/* What may follow this request can't be understood. */
static void
break_off(struct connection *c, int status, const char *text)
{
	c->request.last = true;
	if (c->request.unwanted)
		end_answer(c);
	else
		answer_text(c, status, text);
}

static void
flush(struct http *h, struct connection *c)
{
	size_t before = queue_unwritten(&c->out), left;

	if (c->out.bytes.failed || queue_flush(&c->out, c->fd) < 0) {
		lose(h, c);
		return;
	}
	left = queue_unwritten(&c->out);
	if (left == 0)
		c->read_by = NEVER;
	else if (left < before || c->read_by == NEVER)
		c->read_by = h->now + PEER_TIME;
	if (left > 0 || c->state != CONNECTION_WRITING)
		return;
	if (c->request.last || c->in.len == 0)
		buf_free(&c->in);
	if (c->request.last) {
		shutdown(c->fd, SHUT_WR);
		c->state = CONNECTION_CLOSING;
		c->deadline = h->now + CLOSE_TIME;
	} else {
		request_free(&c->request);
		c->state = CONNECTION_READING;
		c->deadline = h->now + PEER_TIME;
	}
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
	if (s->client == NULL || !proc_random(s->id, (JOB_ID - 1) / 2)) {
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
end_session(struct http *h, struct http_session *s, bool at_once)
{
	s->ended = true;
	mcp_close(s->client, h->now, at_once);
}

/* Ends sessions whose handshake has failed, or in which no request has been in
 * flight for long (H5). Frees those that are closed: they have answered all
 * their calls, so no connection refers to them. */
static void
review_sessions(struct http *h)
{
	struct http_session **at = &h->sessions, *s;

	while ((s = *at) != NULL) {
		if (!s->ended && (mcp_version(s->client) == NULL ||
		    h->now >= s->used + h->options->session_timeout))
			end_session(h, s, false);
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

/* Why a message is not handed over; status 0: it is not refused. */
struct refusal {
	int status;        /* HTTP's */
	int code;          /* JSON-RPC's */
	const char *text;
};

static struct client *
refuse(struct refusal *why, int status, int code, const char *text)
{
	why->status = status;
	why->code = code;
	why->text = text;
	return NULL;
}

static struct client *
route_modern(struct http *h, const char *const *field,
             const struct mcp_message *m, struct refusal *why)
{
	if (m->whole.text != NULL && m->method.text == NULL)
		return refuse(why, 400, JSONRPC_INVALID_REQUEST,
		    "Not a request");
	/* A notification that cancels could name anybody's call. */
	if (json_type(m->method) == JSON_STRING && m->id.text == NULL &&
	    json_is(m->jsonrpc, "2.0"))
		return NULL;
	if (!mcp_is_request(m) || m->version.text == NULL)
		return h->anyone;  /* who says what is wrong with it */
	if (json_type(m->version) == JSON_STRING &&
	    !header_says(field[FIELD_MCP_VERSION], m->version))
		return refuse(why, 400, HEADER_MISMATCH,
		    "MCP-Protocol-Version is not what _meta says");
	if (!header_says(field[FIELD_MCP_METHOD], m->method))
		return refuse(why, 400, HEADER_MISMATCH,
		    "Mcp-Method is not what method says");
	if (json_is(m->method, "tools/call") &&
	    json_type(m->name) == JSON_STRING &&
	    !header_says(field[FIELD_MCP_NAME], m->name))
		return refuse(why, 400, HEADER_MISMATCH,
		    "Mcp-Name is not what params.name says");
	return h->anyone;
}

static struct client *
route_legacy(struct http *h, struct request *r, const struct mcp_message *m,
             bool first, struct refusal *why)
{
	const char *id = r->field[FIELD_MCP_SESSION];
	const char *version = r->field[FIELD_MCP_VERSION];
	struct http_session *s;

	if (m->whole.text == NULL)
		return h->anyone;  /* who says that it is not JSON */
	if (version != NULL && !first &&
	    !mcp_speaks(version, strlen(version), false))
		return refuse(why, 400, JSONRPC_INVALID_REQUEST,
		    "MCP-Protocol-Version is none that is spoken here");
	if (id == NULL && !first)
		return refuse(why, 400, JSONRPC_INVALID_REQUEST,
		    "Mcp-Session-Id is missing; begin with initialize");
	s = id != NULL ? find_session(h, id) : open_session(h);
	if (s == NULL && id != NULL)
		return refuse(why, 404, JSONRPC_INVALID_REQUEST,
		    "No such session; begin with initialize");
	if (s == NULL)
		return refuse(why, 503, JSONRPC_INVALID_REQUEST,
		    "As many sessions are open as there can be");
	s->used = h->now;
	if (id == NULL)
		r->session_id = s->id;
	return s->client;
}

/* The client that the message is for; NULL: none, and it is refused, or is a
 * notification. A version in _meta makes it modern, and so does one in the
 * header, except for initialize; server/discover is of that era alone. */
static struct client *
route(struct http *h, struct request *r, const struct mcp_message *m,
      struct refusal *why)
{
	const char *version = r->field[FIELD_MCP_VERSION];
	bool first = mcp_is_request(m) && json_is(m->method, "initialize");
	struct client *client;

	if (m->version.text != NULL || (version != NULL && !first &&
	    mcp_speaks(version, strlen(version), true)) ||
	    (json_is(m->method, "server/discover") &&
	    r->field[FIELD_MCP_SESSION] == NULL))
		client = route_modern(h, r->field, m, why);
	else
		client = route_legacy(h, r, m, first, why);
	if (client != NULL && mcp_backlog(client) > MCP_BACKLOG &&
	    (json_is(m->method, "tools/call") ||
	    json_type(m->whole) == JSON_ARRAY))
		return refuse(why, 503, JSONRPC_INTERNAL,
		    "Too much is queued; wait for it or cancel it");
	return client;
}

static void
hand_over(struct http *h, struct connection *c)
{
	struct buf *body = &c->request.body, b = { NULL, 0, 0, false };
	struct refusal why = { 0, 0, NULL };
	struct mcp_message m;  /* slices of the body */
	enum mcp_outcome outcome = MCP_WANTS_NONE;

	mcp_parse(&m, body->len > 0 ? body->data : "", body->len);
	c->state = CONNECTION_CALL;
	c->client = route(h, &c->request, &m, &why);
	if (c->client != NULL)
		outcome = mcp_handle(c->client, c, &m, h->now);
	if (why.status != 0) {
		mcp_error(h->anyone, &b, &m, why.code, why.text);
		answer(c, why.status, JSON_TYPE, b.data, b.len);
		buf_free(&b);
	} else if (outcome == MCP_WANTS_NONE) {
		answer_text(c, 202, "");
	} else if (outcome == MCP_NO_MEMORY) {
		lose(h, c);
	}
	buf_free(body);
}

/* -- Requests ---------------------------------------------------------- */

static void
answer_delete(struct http *h, struct connection *c)
{
	const char *id = c->request.field[FIELD_MCP_SESSION];
	const char *version = c->request.field[FIELD_MCP_VERSION];
	struct http_session *s = find_session(h, id);

	if (version != NULL && !mcp_speaks(version, strlen(version), false)) {
		answer_text(c, 400, "MCP-Protocol-Version is none that has "
		    "sessions here\n");
	} else if (s != NULL) {
		end_session(h, s, false);
		answer_text(c, 204, "");
	} else {
		answer_text(c, id == NULL ? 400 : 404, "Mcp-Session-Id is "
		    "missing, or no session's\n");
	}
}

/* The headers are there. Answers what needs no body, refusals above all. */
static void
begin_request(struct http *h, struct connection *c)
{
	static const char ok[] = "{\"status\":\"ok\"}";
	struct request *r = &c->request;
	const char *why;
	int status = request_check(r, &h->options->rules,
	    h->origin.data, &why);

	c->deadline = h->now + PEER_TIME;
	c->known |= r->let_in;
	if (status != 0)
		answer_text(c, status, why);
	else if (strcmp(r->path, "/health") == 0)
		answer(c, 200, JSON_TYPE, ok, sizeof(ok) - 1);
	else if (strcmp(r->verb, "OPTIONS") == 0)
		answer_text(c, 204, "");
	else if (strcmp(r->verb, "DELETE") == 0)
		answer_delete(h, c);
	else if (r->field[FIELD_EXPECT] != NULL && !r->http10 &&
	    c->in.len == 0 && r->state != REQUEST_WHOLE)
		buf_puts(queue_append(&c->out),
		    "HTTP/1.1 100 Continue\r\n\r\n");
}

/* Goes on with what has come; false: more has to come first. */
static bool
take_request(struct http *h, struct connection *c)
{
	struct request *r = &c->request;
	bool begun = r->begun;
	int64_t had = r->taken;
	int event = request_take(r, &c->in);

	switch (event) {
	case REQUEST_ASKS:
		begin_request(h, c);
		break;
	case REQUEST_ENDS:
		if (r->unwanted)
			end_answer(c);
		else if (r->body.failed)
			answer_text(c, 503, "out of memory\n");
		else
			hand_over(h, c);
		break;
	case REQUEST_WAITS:
		if (!begun && r->begun)
			c->deadline = h->now + HEAD_TIME;
		else if (r->taken > had)
			c->deadline = h->now + PEER_TIME;
		if (c->ended) {
			r->last = true;
			end_answer(c);
		}
		break;
	case 413:
		answer_text(c, 413, "a message can have 16 MiB\n");
		break;
	default:
		break_off(c, event, "");
	}
	return event != REQUEST_WAITS;
}

static void
connection_dispatch(struct http *h, struct connection *c,
                    const struct loop *loop)
{
	short events = loop_events(loop, c->in_poll);
	char bytes[READ_SIZE];
	ssize_t n = 0;

	if (events & POLLIN) {
		n = read(c->fd, bytes, sizeof(bytes));
		c->ended = n == 0;
	} else if (events & (POLLERR | POLLHUP | POLLNVAL)) {
		lose(h, c);
	}
	if (n > 0 && c->state != CONNECTION_CLOSING)
		buf_put(&c->in, bytes, (size_t)n);
	/* A legacy call goes on, and is answered: perhaps the peer has closed
	 * only its sending side (H7). */
	if (c->in.failed || (n < 0 && errno != EAGAIN) || (c->ended &&
	    c->state == CONNECTION_STREAM && c->client == h->anyone))
		lose(h, c);
	while (c->state == CONNECTION_READING && take_request(h, c))
		;
}

/* What the state waited for has not come in time. */
static void
expire(struct http *h, struct connection *c)
{
	if (c->state == CONNECTION_READING && c->request.begun) {
		break_off(c, 408, "");
	} else if (c->state == CONNECTION_STREAM) {
		/* So that no proxy takes the silence for the end */
		if (queue_unwritten(&c->out) == 0)
			stream_event(queue_append(&c->out), &c->request, NULL);
		c->deadline = h->now + COMMENT_TIME;
	} else {
		lose(h, c);
	}
}

/* The end of a turn. A call that mcp.c has not answered in it gets a stream at
 * once (H7); if it is then cancelled, the stream ends without an answer. */
static void
end_turn(struct http *h, struct connection *c)
{
	if (c->state == CONNECTION_CALL)
		begin_stream(h, c);
	if (c->state == CONNECTION_STREAM && !mcp_awaits(c->client, c))
		end_stream(c);
	if (h->now >= c->deadline)
		expire(h, c);
	if (c->state != CONNECTION_GONE)
		flush(h, c);
	if (h->now >= c->read_by ||
	    (c->ended && c->state == CONNECTION_CLOSING))
		lose(h, c);
}

static void
free_connections(struct http *h)
{
	struct connection **at = &h->connections, *c;

	while ((c = *at) != NULL) {
		if (c->state != CONNECTION_GONE) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		close(c->fd);
		buf_free(&c->in);
		queue_free(&c->out);
		request_free(&c->request);
		free(c);
		h->accept_at = 0;  /* there is a descriptor again */
	}
}

/* -- Listening --------------------------------------------------------- */

/* Connections may take a third of the descriptors that there can be; the rest
 * is for commands (H8). */
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
	struct connection *c, *oldest = NULL;
	int taken = 0;

	for (c = h->connections; c != NULL; c = c->next) {
		if (c->state == CONNECTION_GONE)
			continue;
		taken++;
		if (oldest == NULL &&
		    (!c->known || c->state == CONNECTION_CLOSING))
			oldest = c;
	}
	if (taken >= h->places && oldest != NULL) {
		lose(h, oldest);
		taken--;
	}
	return taken < h->places;
}

/* Adds it at the end of the list, so that requests which are whole at once are
 * carried out in the order of their connections (P7). Without a descriptor for
 * it the listener is not watched for a while: poll() would return at once,
 * again and again (E7). */
static void
accept_connection(struct http *h)
{
	int fd = accept(h->listener, NULL, NULL);
	struct connection **at = &h->connections, *c;

	c = fd < 0 ? NULL : calloc(1, sizeof(*c));
	if (c == NULL) {
		h->accept_at = h->now + ACCEPT_PAUSE;
		close(fd);
		return;
	}
	fd_cloexec(fd);
	fd_nonblocking(fd);
	c->fd = fd;
	c->read_by = NEVER;
	c->deadline = h->now + HEAD_TIME;
	if (!make_place(h))
		break_off(c, 503, "as many connections are open as there can "
		    "be\n");
	while (*at != NULL)
		at = &(*at)->next;
	*at = c;
}

void
http_free(struct http *h)
{
	struct connection *c;
	struct http_session *s;

	if (h == NULL)
		return;
	for (c = h->connections; c != NULL; c = c->next)
		c->state = CONNECTION_GONE;
	free_connections(h);
	while ((s = h->sessions) != NULL) {
		h->sessions = s->next;
		mcp_free(s->client);
		free(s);
	}
	mcp_free(h->anyone);
	buf_free(&h->origin);
	if (h->listener >= 0)
		close(h->listener);
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
	h->listener = fd_listen(options->address, &port);
	h->places = count_places();
	buf_add(&h->origin, v6 ? "http://[" : "http://", options->address,
	    v6 ? "]:" : ":");
	buf_int(&h->origin, port);
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
	struct connection *c;
	struct http_session *s;
	short events;

	h->in_poll = -1;
	if (loop->now >= h->accept_at)
		h->in_poll = loop_add(loop, h->listener, POLLIN);
	else
		loop_until(loop, h->accept_at);
	loop_until(loop, h->leave_by);
	for (c = h->connections; c != NULL; c = c->next) {
		events = queue_unwritten(&c->out) > 0 ? POLLOUT : 0;
		if (!c->ended && c->state != CONNECTION_WRITING &&
		    c->in.len <= REQUEST_HEAD_LIMIT)
			events |= POLLIN;
		c->in_poll = loop_add(loop, c->fd, events);
		loop_until(loop, c->read_by);
		loop_until(loop, c->deadline);
		/* The next request, or the end, may be in `in` already. */
		if (c->state == CONNECTION_READING && !c->request.begun &&
		    (c->in.len > 0 || c->ended))
			loop_until(loop, loop->now);
	}
	mcp_poll_add(h->anyone, loop);
	for (s = h->sessions; s != NULL; s = s->next) {
		mcp_poll_add(s->client, loop);
		if (!s->ended && !mcp_unanswered(s->client))
			loop_until(loop,
			    s->used + h->options->session_timeout);
	}
}

bool
http_dispatch(struct http *h, const struct loop *loop)
{
	struct connection *c;
	struct http_session *s;

	h->now = loop->now;
	for (c = h->connections; c != NULL; c = c->next)
		connection_dispatch(h, c, loop);
	if (loop_events(loop, h->in_poll))
		accept_connection(h);
	mcp_dispatch(h->anyone, loop);
	for (s = h->sessions; s != NULL; s = s->next) {
		/* Also for a call that is answered in this turn. */
		if (mcp_unanswered(s->client))
			s->used = h->now;
		mcp_dispatch(s->client, loop);
	}
	for (c = h->connections; c != NULL; c = c->next)
		end_turn(h, c);
	free_connections(h);
	review_sessions(h);
	if (h->listener >= 0 || h->sessions != NULL || !mcp_closed(h->anyone))
		return true;
	if (h->leave_by == NEVER)
		h->leave_by = h->now + QUEUE_LAST;
	c = h->connections;
	while (c != NULL && queue_unwritten(&c->out) == 0)
		c = c->next;
	return c != NULL && h->now < h->leave_by;
}

void
http_close(struct http *h, int64_t now)
{
	bool at_once = h->listener < 0;
	struct connection *c;
	struct http_session *s;

	h->now = now;
	if (h->listener >= 0)
		close(h->listener);
	h->listener = -1;
	mcp_close(h->anyone, now, at_once);
	for (s = h->sessions; s != NULL; s = s->next) {
		if (!s->ended || at_once)
			end_session(h, s, at_once);
	}
	for (c = h->connections; c != NULL; c = c->next) {
		c->request.last = true;
		if (c->state == CONNECTION_READING)
			end_answer(c);
	}
}
