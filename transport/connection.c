/* One socket: its states, deadlines and streams. The rules of what is asked are
 * http.c's, which has the map of HTTP; its text is httpmsg.c's. */
#define _POSIX_C_SOURCE 200809L

#include "transport/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

enum {
	READ_SIZE = 16 << 10,
	SEND_SIZE = 64 << 10,    /* bytes that the kernel holds for a peer */
	HEAD_TIME = 10000,       /* ms; for a request's headers (H8) */
	PEER_TIME = 60000,       /* ms; without a byte, also between requests */
	CLOSE_TIME = 2000,       /* ms; for the peer to close after us */
	COMMENT_TIME = 15000     /* ms; of silence on a stream (H7) */
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

int
connection_listen(const char *address, int *port)
{
	union address a;
	bool v4 = strchr(address, ':') == NULL;
	socklen_t len = v4 ? sizeof(a.v4) : sizeof(a.v6);
	in_port_t *bound = v4 ? &a.v4.sin_port : &a.v6.sin6_port;
	int fd, on = 1, size = SEND_SIZE;

	memset(&a, 0, sizeof(a));
	a.any.sa_family = v4 ? AF_INET : AF_INET6;
	inet_pton(a.any.sa_family, address, v4 ? (void *)&a.v4.sin_addr
	    : &a.v6.sin6_addr);
	*bound = htons((uint16_t)*port);
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
	if (bind(fd, &a.any, len) == 0 && listen(fd, 128) == 0 &&
	    getsockname(fd, &a.any, &len) == 0) {
		*port = ntohs(*bound);
		return fd;
	}
	fd_close(&fd);
	return -1;
}

/* Who is at its other end: 192.0.2.1:4711 or [2001:db8:0:0:0:0:0:1]:4711.
 * (inet_ntop() would bring printf() into a static binary, 16 KB.) */
static void
put_address(struct buf *b, const union address *a)
{
	bool v4 = a->any.sa_family == AF_INET;
	const unsigned char *p = v4 ? (const unsigned char *)&a->v4.sin_addr
	    : a->v6.sin6_addr.s6_addr;
	int i;

	for (i = 0; i < 4 && v4; i++)
		buf_add(b, i > 0 ? "." : "", NUM(p[i]));
	for (i = 0; i < 16 && !v4; i += 2) {
		buf_add(b, i > 0 ? ":" : "[");
		hex_put(b, (size_t)p[i] << 8 | p[i + 1]);
	}
	buf_add(b, v4 ? ":" : "]:",
	    NUM(ntohs(v4 ? a->v4.sin_port : a->v6.sin6_port)));
}

bool
connection_accept(struct connection *c, int listener, int64_t now)
{
	struct buf from = { c->from, 0, sizeof(c->from) };
	union address a;
	socklen_t len = sizeof(a);

	c->fd = accept(listener, &a.any, &len);
	if (c->fd < 0)
		return false;
	c->now = now;
	c->deadline = now + HEAD_TIME;
	fd_cloexec(c->fd);
	fd_nonblocking(c->fd);
	put_address(&from, &a);
	return true;
}

void
connection_lose(struct connection *c)
{
	c->state = CONNECTION_GONE;
}

/* deadline: if it is NEVER, connection_flush() sets one. */
static void
enter(struct connection *c, enum connection_state state, int64_t deadline)
{
	c->state = state;
	c->deadline = deadline;
}

void
connection_answer(struct connection *c, struct buf *response, bool stream)
{
	struct request *r = &c->request;
	bool whole = r->state == REQUEST_WHOLE;

	if (!whole)
		request_drop(r);
	if (whole || r->last)
		enter(c, stream ? CONNECTION_STREAM : CONNECTION_WRITING,
		    NEVER);
	if (!queue_put(&c->out, response))
		connection_lose(c);
	buf_free(response);
}

bool
connection_event(struct connection *c, const struct buf *message,
                 bool progress)
{
	struct buf b = { NULL, 0, 0 };
	bool taken;

	if (queue_unwritten(&c->out) == 0)
		c->deadline = NEVER;
	stream_event(&b, &c->request, message);
	taken = progress ? queue_progress(&c->out, &b) : queue_put(&c->out, &b);
	buf_free(&b);
	return taken;
}

void
connection_end_stream(struct connection *c)
{
	if (!c->request.http10)
		buf_add(&c->out.bytes, "0\r\n\r\n");
	enter(c, CONNECTION_WRITING, NEVER);
}

void
connection_refuse(struct connection *c, int status)
{
	struct buf b = { NULL, 0, 0 };

	c->request.last = true;
	if (!c->request.dropped) {
		response_begin(&b, &c->request, status, NULL, 0);
		buf_add(&b, "\r\n");
	}
	connection_answer(c, &b, false);
}

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
	if (n <= 0 || c->state == CONNECTION_CLOSING)
		return;
	if (!buf_reserve(&c->in, (size_t)n)) {
		if (c->state == CONNECTION_READING)
			connection_refuse(c, 503);
		else
			connection_lose(c);
		return;
	}
	buf_put(&c->in, bytes, (size_t)n);
	if (c->state == CONNECTION_READING &&
	    c->request.state != REQUEST_HEAD)
		c->deadline = c->now + PEER_TIME;
}

void
connection_close(struct connection *c)
{
	c->request.last = true;
	if (c->state == CONNECTION_READING)
		enter(c, CONNECTION_WRITING, NEVER);
}

int
connection_take(struct connection *c)
{
	struct request *r = &c->request;
	bool begun = r->begun;
	int event;

	if (c->state != CONNECTION_READING)
		return REQUEST_WAITS;
	event = request_take(r, &c->in);
	if (!begun && r->begun)
		c->deadline = c->now + HEAD_TIME;
	if (event == REQUEST_ASKS)
		c->deadline = c->now + PEER_TIME;
	else if (event == REQUEST_ENDS)
		enter(c, r->dropped ? CONNECTION_WRITING : CONNECTION_CALL,
		    NEVER);
	else if (event == REQUEST_WAITS && c->ended)
		connection_close(c);
	else if (event != REQUEST_WAITS && r->state != REQUEST_BODY)
		connection_refuse(c, event);
	/* In states after CONNECTION_CALL the request has been answered. */
	return c->state <= CONNECTION_CALL ? event : REQUEST_WAITS;
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
	loop_until(loop, c->deadline);
	/* The next request may be in `in` already, or no more will come. */
	if (c->state == CONNECTION_READING && !c->request.begun &&
	    (c->in.len > 0 || c->ended))
		loop_until(loop, loop->now);
}

static void
connection_flush(struct connection *c)
{
	size_t before = queue_unwritten(&c->out), left;

	if (queue_flush(&c->out, c->fd) < 0) {
		connection_lose(c);
		return;
	}
	left = queue_unwritten(&c->out);
	/* If a stream has nothing to write, a comment is sent at its deadline,
	 * so that no proxy takes the silence for the end. */
	if ((c->state == CONNECTION_STREAM || c->state == CONNECTION_WRITING) &&
	    (left < before || c->deadline == NEVER))
		c->deadline = c->now + (left > 0 ? PEER_TIME : COMMENT_TIME);
	if (left > 0 || c->state != CONNECTION_WRITING)
		return;
	if (c->request.last || c->in.len == 0)
		buf_free(&c->in);
	if (c->request.last) {
		shutdown(c->fd, SHUT_WR);
		enter(c, CONNECTION_CLOSING, c->now + CLOSE_TIME);
	} else {
		request_free(&c->request);
		enter(c, CONNECTION_READING, c->now + PEER_TIME);
	}
}

void
connection_end_turn(struct connection *c)
{
	bool late = c->now >= c->deadline;

	if (late && c->state == CONNECTION_STREAM &&
	    queue_unwritten(&c->out) == 0)
		connection_event(c, NULL, true);
	else if (late && c->state == CONNECTION_READING && c->request.begun)
		connection_refuse(c, 408);
	else if (late)
		connection_lose(c);
	if (c->state != CONNECTION_GONE)
		connection_flush(c);
	if (c->state == CONNECTION_CLOSING && c->ended)
		connection_lose(c);
}
