/* SPDX-License-Identifier: ISC */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define _GNU_SOURCE  /* Request POLLRDHUP. */
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "transport/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fmt.h"

/* The event that the peer has closed its sending side. poll() reports it even
 * before boris has read all bytes that the peer sent. Where it does not exist,
 * boris has to read these bytes first. */
#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

enum {
	READ_SIZE = 16 << 10,
	SEND_SIZE = 64 << 10,  /* size of a socket's send buffer, in bytes */
	HEAD_TIME = 10000,     /* time limit for receiving request headers, in
	                        * ms (H8) */
	PEER_TIME = 60000,     /* time limit, in ms, for the peer to send more
	                        * of a body, to read more of a response, or to
	                        * start the next request */
	CLOSE_TIME = 2000,     /* time limit for the peer to close its side, in
	                        * ms */
	COMMENT_TIME = 15000   /* interval of keep-alive comments on an idle
	                        * event stream, in ms (H7) */
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Fills in a socket address from an IPv4 or IPv6 literal and a port. Returns
 * the length of the address. */
static socklen_t
parse_address(union address *a, const char *literal, int port)
{
	memset(a, 0, sizeof(*a));
	if (literal[strcspn(literal, ":")] == '\0') {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((uint16_t)port);
		inet_pton(AF_INET, literal, &a->v4.sin_addr);
		return sizeof(a->v4);
	}
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons((uint16_t)port);
	inet_pton(AF_INET6, literal, &a->v6.sin6_addr);
	return sizeof(a->v6);
}

static int
port_of(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohs(a->v4.sin_port);
	return ntohs(a->v6.sin6_port);
}

int
connection_listen(const char *address, int *port)
{
	union address a;
	socklen_t len = parse_address(&a, address, *port);
	int fd, on = 1, size = SEND_SIZE;

	fd = socket(a.any.sa_family, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	fd_cloexec(fd);
	fd_nonblocking(fd);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* Accepted connections inherit SO_SNDBUF and TCP_NODELAY from the
	 * listening socket. Without TCP_NODELAY, a small response may be
	 * delayed until the peer has acknowledged an earlier one. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(fd, &a.any, len) == 0 && listen(fd, 128) == 0 &&
	    getsockname(fd, &a.any, &len) == 0) {
		*port = port_of(&a);
		return fd;
	}
	fd_close(&fd);
	return -1;
}

/* Appends an address with its port, such as 192.0.2.1:4711 or
 * [2001:db8:0:0:0:0:0:1]:4711. Does not call inet_ntop(), because that would
 * pull in printf() and add 16 KB to a static binary. */
static void
put_address(struct buf *b, const union address *a)
{
	const unsigned char *p;
	int i;

	if (a->any.sa_family == AF_INET) {
		p = (const unsigned char *)&a->v4.sin_addr;
		buf_fmt(b, "%d.%d.%d.%d:%d", p[0], p[1], p[2], p[3],
		    port_of(a));
		return;
	}
	p = a->v6.sin6_addr.s6_addr;
	for (i = 0; i < 16; i += 2) {
		buf_putc(b, i > 0 ? ':' : '[');
		hex_put(b, (size_t)p[i] << 8 | p[i + 1]);
	}
	buf_fmt(b, "]:%d", port_of(a));
}

bool
connection_accept(struct connection *c, int listener, int64_t now)
{
	struct buf from = { c->from, 0, sizeof(c->from) };
	union address a;
	socklen_t len = sizeof(a);

	memset(&a, 0, sizeof(a));
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
connection_abort(struct connection *c)
{
	c->state = CONNECTION_GONE;
}

/* Sets the state and its deadline, in ms. If the deadline is NEVER and the
 * state is CONNECTION_STREAM or CONNECTION_WRITING, flush() sets the actual
 * deadline. */
static void
set_state(struct connection *c, enum connection_state state, int64_t deadline)
{
	c->state = state;
	c->deadline = deadline;
}

/* Queues the contents of the buffer `response`, either a complete response or
 * the status line and headers of a stream, and frees the buffer. Moves to the
 * state `next`, unless the rest of the request must be read first. */
static void
queue_response(struct connection *c, struct buf *response,
               enum connection_state next)
{
	struct request *r = &c->request;
	bool complete = r->state == REQUEST_DONE;

	if (!complete)
		request_drop(r);
	if (complete || r->last)
		set_state(c, next, NEVER);
	if (!queue_put(&c->out, response))
		connection_abort(c);
	buf_free(response);
}

void
connection_respond(struct connection *c, struct buf *response)
{
	queue_response(c, response, CONNECTION_WRITING);
}

void
connection_begin_stream(struct connection *c, struct buf *head)
{
	queue_response(c, head, CONNECTION_STREAM);
}

/* Must be called before bytes are queued for a stream. Clears the deadline if
 * the queue is empty, so that flush() sets a new deadline for these bytes. */
static void
restart_deadline(struct connection *c)
{
	if (queue_unwritten(&c->out) == 0)
		c->deadline = NEVER;
}

bool
connection_event(struct connection *c, const struct buf *message)
{
	struct buf b = { NULL, 0, 0 };
	bool queued;

	restart_deadline(c);
	stream_event(&b, &c->request, message);
	queued = queue_put(&c->out, &b);
	buf_free(&b);
	return queued;
}

bool
connection_progress(struct connection *c, const struct buf *message)
{
	struct buf b = { NULL, 0, 0 };
	bool queued;

	restart_deadline(c);
	stream_event(&b, &c->request, message);
	queued = queue_progress(&c->out, &b);
	buf_free(&b);
	return queued;
}

/* Sends a keep-alive comment on an idle event stream, so that proxies do not
 * close the connection (H7). */
static void
send_comment(struct connection *c)
{
	struct buf b = { NULL, 0, 0 };

	restart_deadline(c);
	stream_comment(&b, &c->request);
	queue_progress(&c->out, &b);
	buf_free(&b);
}

void
connection_end_stream(struct connection *c)
{
	stream_end(&c->out.bytes, &c->request);
	set_state(c, CONNECTION_WRITING, NEVER);
}

bool
connection_has_responded(const struct connection *c)
{
	return c->state == CONNECTION_READING ||
	    c->state == CONNECTION_CLOSING;
}

void
connection_reject(struct connection *c, int status)
{
	struct buf b = { NULL, 0, 0 };

	c->request.last = true;
	/* If the body is being discarded, the response has already been
	 * sent. */
	if (!c->request.dropped) {
		response_begin(&b, &c->request, status, "", 0);
		buf_add(&b, "\r\n");
	}
	connection_respond(c, &b);
}

/* Returns whether the peer has closed its sending side or the connection is
 * broken. There may still be unread bytes that the peer sent before that. */
static bool
has_hung_up(int fd)
{
	struct pollfd p = { fd, POLLRDHUP, 0 };  /* and POLLERR, POLLHUP */
	char byte;

	return poll(&p, 1, 0) > 0 || recv(fd, &byte, 1, MSG_PEEK) == 0;
}

/* Reads once. Closes the connection if that fails. */
static void
read_input(struct connection *c)
{
	char bytes[READ_SIZE];
	ssize_t n = read(c->fd, bytes, sizeof(bytes));

	c->eof = n == 0;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		connection_abort(c);
	if (n <= 0 || c->state == CONNECTION_CLOSING)
		return;
	if (!buf_reserve(&c->in, (size_t)n)) {
		if (c->state == CONNECTION_READING)
			connection_reject(c, 503);
		else
			connection_abort(c);
		return;
	}
	buf_put(&c->in, bytes, (size_t)n);
	if (c->state == CONNECTION_READING &&
	    c->request.state != REQUEST_HEAD)
		c->deadline = c->now + PEER_TIME;
}

void
connection_read(struct connection *c, const struct loop *loop)
{
	short events = loop_events(loop, c->in_poll);

	c->now = loop->now;
	if (events & POLLIN)
		read_input(c);
	else if (events & (POLLERR | POLLHUP | POLLNVAL))
		connection_abort(c);
	/* Check even if poll() has reported POLLRDHUP, because loop_wait()
	 * reports all events if poll() fails. */
	if (events != 0)
		c->hung_up = has_hung_up(c->fd);
}

void
connection_close(struct connection *c)
{
	c->request.last = true;
	if (c->state == CONNECTION_READING)
		set_state(c, CONNECTION_WRITING, NEVER);
}

int
connection_next(struct connection *c)
{
	struct request *r = &c->request;
	bool started = r->started;
	int event;

	if (c->state != CONNECTION_READING)
		return REQUEST_NEEDS_INPUT;
	event = request_read(r, &c->in);
	if (!started && r->started)
		c->deadline = c->now + HEAD_TIME;
	if (event == REQUEST_HAS_HEAD)
		c->deadline = c->now + PEER_TIME;
	else if (event == REQUEST_COMPLETE && r->dropped)
		set_state(c, CONNECTION_WRITING, NEVER);
	else if (event == REQUEST_COMPLETE)
		set_state(c, CONNECTION_CALL, NEVER);
	else if (event == REQUEST_NEEDS_INPUT && c->eof)
		connection_close(c);
	else if (event != REQUEST_NEEDS_INPUT && !request_can_drop(r))
		connection_reject(c, event);
	/* In all states after CONNECTION_CALL, the response is already queued
	 * or sent, so http.c must not handle the request again. */
	return c->state <= CONNECTION_CALL ? event : REQUEST_NEEDS_INPUT;
}

void
connection_free(struct connection *c)
{
	close(c->fd);
	buf_free(&c->in);
	queue_free(&c->out);
	request_free(&c->request);
}

/* Returns whether the event loop must handle the connection in its next
 * iteration even if no input arrives. This is the case after the end of a
 * response if bytes of the next request have already been received or the peer
 * has closed its sending side. */
static bool
has_work(const struct connection *c)
{
	if (c->state != CONNECTION_READING || c->request.started)
		return false;
	return c->in.len > 0 || c->eof;
}

void
connection_poll_add(struct connection *c, struct loop *loop)
{
	short events = queue_unwritten(&c->out) > 0 ? POLLOUT : 0;

	if (!c->eof && c->state != CONNECTION_WRITING &&
	    c->in.len <= REQUEST_HEAD_LIMIT)
		events |= POLLIN;
	if (!c->hung_up)
		events |= POLLRDHUP;
	c->in_poll = loop_add(loop, c->fd, events);
	loop_until(loop, c->deadline);
	if (has_work(c))
		loop_until(loop, loop->now);
}

/* Starts reading the next request after a response has been written. After the
 * last response, shuts the connection down instead. */
static void
end_response(struct connection *c)
{
	if (c->request.last || c->in.len == 0)
		buf_free(&c->in);
	if (c->request.last) {
		shutdown(c->fd, SHUT_WR);
		set_state(c, CONNECTION_CLOSING, c->now + CLOSE_TIME);
	} else {
		request_free(&c->request);
		set_state(c, CONNECTION_READING, c->now + PEER_TIME);
	}
}

/* Writes as many queued bytes as the peer accepts, and updates the deadline. */
static void
flush(struct connection *c)
{
	bool responding = c->state == CONNECTION_STREAM ||
	    c->state == CONNECTION_WRITING;
	size_t before = queue_unwritten(&c->out), left;

	if (queue_flush(&c->out, c->fd) < 0) {
		connection_abort(c);
		return;
	}
	left = queue_unwritten(&c->out);
	/* While an event stream is idle, the connection's deadline is the time
	 * of the next keep-alive comment. */
	if (responding && (left < before || c->deadline == NEVER))
		c->deadline = c->now + (left > 0 ? PEER_TIME : COMMENT_TIME);
	if (left == 0 && c->state == CONNECTION_WRITING)
		end_response(c);
}

static void
handle_deadline(struct connection *c)
{
	if (c->state == CONNECTION_STREAM && queue_unwritten(&c->out) == 0)
		send_comment(c);
	else if (c->state == CONNECTION_READING && c->request.started)
		connection_reject(c, 408);
	else
		connection_abort(c);
}

void
connection_end_turn(struct connection *c)
{
	if (c->now >= c->deadline)
		handle_deadline(c);
	if (c->state != CONNECTION_GONE)
		flush(c);
	if (c->state == CONNECTION_CLOSING && c->eof)
		connection_abort(c);
}
