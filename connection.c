#define _POSIX_C_SOURCE 200809L

#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	READ_SIZE = 16 << 10,

	/* ms */
	HEAD_TIME = 10000,       /* for a request's headers (H8) */
	PEER_TIME = 60000,       /* without a byte of a body or of a response */
	CLOSE_TIME = 2000,       /* for the peer to close after us */
	COMMENT_TIME = 15000     /* of silence on a stream (H7) */
};

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

/* A stream breaks off, so that nobody takes it for one that has ended. Behind
 * another response the end of the connection has to do. */
void
connection_fail(struct connection *c)
{
	static const char text[] = "HTTP/1.1 503 \r\nContent-Length: 0\r\n"
	    "Connection: close\r\n\r\n";

	if (c->state == CONNECTION_STREAM || (queue_unwritten(&c->out) == 0 &&
	    write(c->fd, text, sizeof(text) - 1) < 0)) {
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
		connection_fail(c);
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
	if (n < 0 && errno != EAGAIN)
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
		connection_fail(c);
}

/* -- Turns ------------------------------------------------------------- */

/* Who is at its other end: 192.0.2.1:4711 or [2001:0db8: ... :0001]:4711.
 * (inet_ntop() would bring printf() into a static binary, 16 KB.) */
static void
put_address(char from[64], int fd)
{
	struct buf b = { from, 0, 64, false };
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a;
	socklen_t len = sizeof(a);
	const unsigned char *p = a.v6.sin6_addr.s6_addr;
	bool v4;
	int i;

	if (getpeername(fd, &a.any, &len) < 0)
		return;  /* it has gone already */
	v4 = a.any.sa_family == AF_INET;
	if (v4)
		p = (const unsigned char *)&a.v4.sin_addr;
	for (i = 0; i < 4 && v4; i++)
		buf_number(&b, i > 0 ? "." : "", p[i], "");
	for (i = 0; i < 16 && !v4; i++) {
		buf_puts(&b, i == 0 ? "[" : i % 2 == 0 ? ":" : "");
		buf_putc(&b, "0123456789abcdef"[p[i] >> 4]);
		buf_putc(&b, "0123456789abcdef"[p[i] & 15]);
	}
	buf_number(&b, v4 ? ":" : "]:", ntohs(v4 ? a.v4.sin_port
	    : a.v6.sin6_port), "");
	buf_putc(&b, '\0');
}

void
connection_open(struct connection *c, int fd, int64_t now)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->now = now;
	c->in_poll = -1;
	c->read_by = NEVER;
	c->deadline = now + HEAD_TIME;
	fd_cloexec(fd);
	fd_nonblocking(fd);
	put_address(c->from, fd);
}

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
