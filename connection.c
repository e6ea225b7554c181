#define _POSIX_C_SOURCE 200809L

#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	READ_SIZE = 16 << 10,
	SEND_SIZE = 64 << 10,    /* bytes that the kernel holds for a peer */

	/* ms */
	HEAD_TIME = 10000,       /* for a request's headers (H8) */
	PEER_TIME = 60000,       /* without a byte of a body or of a response */
	CLOSE_TIME = 2000,       /* for the peer to close after us */
	COMMENT_TIME = 15000     /* of silence on a stream (H7) */
};

/* -- The socket -------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool
parse_address(union address *a, const char *text)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1)
		a->v4.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1)
		a->v6.sin6_family = AF_INET6;
	return a->any.sa_family != AF_UNSPEC;
}

int
connection_is_loopback(const char *address)
{
	union address a;

	if (!parse_address(&a, address))
		return -1;
	if (a.any.sa_family == AF_INET)
		return ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
}

int
connection_listen(const char *address, int *port)
{
	int fd, on = 1, size = SEND_SIZE;
	union address a;
	bool v4 = parse_address(&a, address) && a.any.sa_family == AF_INET;
	socklen_t len = v4 ? sizeof(a.v4) : sizeof(a.v6);
	in_port_t *bound = v4 ? &a.v4.sin_port : &a.v6.sin6_port;

	fd = socket(a.any.sa_family, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	fd_cloexec(fd);
	fd_nonblocking(fd);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* Accepted connections inherit these two. With the latter small answers
	 * do not wait for the peer's acknowledgements. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*bound = htons((uint16_t)*port);
	if (bind(fd, &a.any, len) == 0 && listen(fd, 128) == 0 &&
	    getsockname(fd, &a.any, &len) == 0) {
		*port = ntohs(*bound);
		return fd;
	}
	fd_close(&fd);
	return -1;
}

/* Who is at its other end: 192.0.2.1:4711 or [2001:0db8: ... :0001]:4711.
 * (inet_ntop() would bring printf() into a static binary, 16 KB.) */
static void
put_address(struct buf *b, const union address *a)
{
	bool v4 = a->any.sa_family == AF_INET;
	const unsigned char *p = v4 ? (const unsigned char *)&a->v4.sin_addr
	    : a->v6.sin6_addr.s6_addr;
	int i;

	for (i = 0; i < 4 && v4; i++)
		buf_number(b, i > 0 ? "." : "", p[i], "");
	for (i = 0; i < 16 && !v4; i++) {
		buf_puts(b, i == 0 ? "[" : i % 2 == 0 ? ":" : "");
		buf_putc(b, "0123456789abcdef"[p[i] >> 4]);
		buf_putc(b, "0123456789abcdef"[p[i] & 15]);
	}
	buf_number(b, v4 ? ":" : "]:", ntohs(v4 ? a->v4.sin_port
	    : a->v6.sin6_port), "");
	buf_putc(b, '\0');
}

bool
connection_accept(struct connection *c, int listener, int64_t now)
{
	struct buf from = { c->from, 0, sizeof(c->from), false };
	union address a;
	socklen_t len = sizeof(a);

	memset(&a, 0, sizeof(a));
	c->fd = accept(listener, &a.any, &len);
	if (c->fd < 0)
		return false;
	c->now = now;
	c->in_poll = -1;
	c->read_by = NEVER;
	c->deadline = now + HEAD_TIME;
	fd_cloexec(c->fd);
	fd_nonblocking(c->fd);
	put_address(&from, &a);
	return true;
}

/* -- Answers ----------------------------------------------------------- */

/* Once it is written, the connection goes on, or closes. */
static void
end_answer(struct connection *c)
{
	c->state = CONNECTION_WRITING;
	c->deadline = NEVER;
}

static bool
put(struct connection *c, struct buf *b)
{
	bool taken = queue_put(&c->out, b);

	buf_free(b);
	return taken;
}

/* A body that comes after the answer is dropped. But a peer that expects "100
 * Continue" may send it or not: nobody knows what comes next. */
bool
connection_answer(struct connection *c, struct response *response)
{
	struct request *r = &c->request;
	struct buf b = { NULL, 0, 0, false };
	bool whole = r->state == REQUEST_WHOLE;

	c->last |= r->last || (!whole && r->field[FIELD_EXPECT] != NULL);
	response->last = c->last;
	response_put(&b, r, response);
	if (!put(c, &b))
		return false;
	if (response->body == NULL) {
		c->state = CONNECTION_STREAM;
		c->deadline = c->now + COMMENT_TIME;
	} else if (whole || c->last) {
		end_answer(c);
	} else {
		request_drop(r);
		c->state = CONNECTION_DROPPING;
	}
	return true;
}

bool
connection_event(struct connection *c, enum connection_event kind,
                 const struct buf *message)
{
	struct buf b = { NULL, 0, 0, false };
	bool taken;

	if (kind != EVENT_LAST || message != NULL)
		stream_event(&b, &c->request, message);
	if (kind == EVENT_LAST)
		stream_end(&b, &c->request);
	c->deadline = c->now + COMMENT_TIME;
	if (kind == EVENT_PROGRESS) {
		taken = queue_progress(&c->out, &b);
		buf_free(&b);
		return taken;
	}
	taken = put(c, &b);
	if (taken && kind == EVENT_LAST)
		end_answer(c);
	return taken;
}

void
connection_lose(struct connection *c)
{
	c->state = CONNECTION_GONE;
}

/* Without memory, so it is written at once. Behind what is still unread the
 * end of the connection has to do. Without an error a stream breaks off, so
 * that nobody takes it for one that has ended. */
void
connection_fail(struct connection *c, const struct buf *error)
{
	static const struct buf none = { NULL, 0, 0, false };
	char text[CONNECTION_ERROR + 1024];
	struct buf b = { text, 0, sizeof(text), false };
	struct response response = { error != NULL ? 200 : 503,
	    "application/json", "", 0, &none, true };

	if (error != NULL) {
		response.body = error->data;
		response.len = error->len;
	}
	if (c->state != CONNECTION_STREAM) {
		response_put(&b, &c->request, &response);
	} else if (error != NULL) {
		stream_event(&b, &c->request, error);
		stream_end(&b, &c->request);
	}
	if (queue_unwritten(&c->out) > 0 || b.len == 0 ||
	    write(c->fd, b.data, b.len) != (ssize_t)b.len) {
		connection_lose(c);
	} else {
		c->last = true;
		end_answer(c);
	}
}

void
connection_refuse(struct connection *c, int status, const char *text)
{
	struct buf none = { NULL, 0, 0, false };
	struct response response = { status, "text/plain", text, strlen(text),
	    &none, true };

	c->last = true;
	if (c->state == CONNECTION_DROPPING)
		end_answer(c);
	else if (!connection_answer(c, &response))
		connection_fail(c, NULL);
}

/* -- Requests ---------------------------------------------------------- */

void
connection_read(struct connection *c, const struct loop *loop)
{
	short events = loop_events(loop, c->in_poll);
	char bytes[READ_SIZE];
	ssize_t n = 0;

	c->now = loop->now;
	if (events & POLLIN) {
		n = read(c->fd, bytes, sizeof(bytes));
		c->ended = n == 0;
	} else if (events & (POLLERR | POLLHUP | POLLNVAL)) {
		connection_lose(c);
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		connection_lose(c);
	if (n > 0 && c->state != CONNECTION_CLOSING)
		buf_put(&c->in, bytes, (size_t)n);
	if (!c->in.failed)
		return;
	/* A part of it is lost, so nothing can be taken behind it. */
	buf_free(&c->in);
	c->last = true;
	if (c->state <= CONNECTION_DROPPING)
		connection_refuse(c, 503, "out of memory\n");
}

int
connection_take(struct connection *c)
{
	struct request *r = &c->request;
	bool begun = r->begun;
	int64_t had = r->taken;
	int event = REQUEST_WAITS;

	if (c->state > CONNECTION_DROPPING)
		return event;
	event = request_take(r, &c->in);
	if (event == REQUEST_ASKS) {
		c->deadline = c->now + PEER_TIME;
	} else if (event == REQUEST_ENDS && c->state == CONNECTION_READING) {
		c->state = CONNECTION_CALL;
		c->deadline = NEVER;
	} else if (event == REQUEST_ENDS) {
		end_answer(c);
		event = REQUEST_WAITS;
	} else if (event == REQUEST_WAITS) {
		if (!begun && r->begun)
			c->deadline = c->now + HEAD_TIME;
		else if (r->taken > had)
			c->deadline = c->now + PEER_TIME;
		if (c->ended) {
			c->last = true;
			end_answer(c);
		}
	} else if (event != 413) {
		connection_refuse(c, event, "");
		event = REQUEST_WAITS;
	}
	return event;
}

void
connection_go_on(struct connection *c)
{
	const struct request *r = &c->request;
	struct buf b = { NULL, 0, 0, false };

	if (r->field[FIELD_EXPECT] == NULL || r->http10 || c->in.len > 0 ||
	    r->state == REQUEST_WHOLE)
		return;
	buf_puts(&b, "HTTP/1.1 100 Continue\r\n\r\n");
	if (!put(c, &b))
		connection_fail(c, NULL);
}

/* -- Turns ------------------------------------------------------------- */

void
connection_free(struct connection *c)
{
	close(c->fd);
	buf_free(&c->in);
	queue_free(&c->out);
	request_free(&c->request);
}

void
connection_poll_add(struct connection *c, struct loop *loop)
{
	short events = queue_unwritten(&c->out) > 0 ? POLLOUT : 0;

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

void
connection_close(struct connection *c)
{
	c->last = true;
	if (c->state <= CONNECTION_DROPPING)
		end_answer(c);
}

static void
flush(struct connection *c)
{
	size_t before = queue_unwritten(&c->out), left;

	if (queue_flush(&c->out, c->fd) < 0) {
		connection_lose(c);
		return;
	}
	left = queue_unwritten(&c->out);
	if (left == 0)
		c->read_by = NEVER;
	else if (left < before || c->read_by == NEVER)
		c->read_by = c->now + PEER_TIME;
	if (left > 0 || c->state != CONNECTION_WRITING)
		return;
	if (c->last || c->in.len == 0)
		buf_free(&c->in);
	if (c->last) {
		shutdown(c->fd, SHUT_WR);
		c->state = CONNECTION_CLOSING;
		c->deadline = c->now + CLOSE_TIME;
	} else {
		request_free(&c->request);
		c->state = CONNECTION_READING;
		c->deadline = c->now + PEER_TIME;
	}
}

/* What the state waited for has not come in time. */
static void
expire(struct connection *c)
{
	if (c->state == CONNECTION_DROPPING ||
	    (c->state == CONNECTION_READING && c->request.begun)) {
		connection_refuse(c, 408, "");
	} else if (c->state == CONNECTION_STREAM) {
		/* So that no proxy takes the silence for the end */
		c->deadline = c->now + COMMENT_TIME;
		if (queue_unwritten(&c->out) == 0)
			connection_event(c, EVENT_PROGRESS, NULL);
	} else {
		connection_lose(c);
	}
}

void
connection_end_turn(struct connection *c)
{
	if (c->now >= c->deadline)
		expire(c);
	if (c->state != CONNECTION_GONE)
		flush(c);
	if (c->now >= c->read_by ||
	    (c->ended && c->state == CONNECTION_CLOSING))
		connection_lose(c);
}
