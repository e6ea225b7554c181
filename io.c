#define _POSIX_C_SOURCE 200809L

#include "io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	SHORT_TURN = 10,      /* ms, when something could not be watched */
	LONG_TURN = 1000000,  /* ms; a deadline further off is an early turn */
	SEND_SIZE = 64 << 10, /* bytes the system holds for a slow peer */
	KEEP_SIZE = 4 << 10,  /* bytes; more goes when the queue is empty */
	DROP_SIZE = 64 << 10  /* bytes written before the rest moves up */
};

/* -- The poll set and the clock ---------------------------------------- */

/* The tests build a boris whose clock runs ten times as fast, and wait for
 * six seconds where it waits for a minute. */
#ifndef CLOCK_FACTOR
#define CLOCK_FACTOR 1
#endif

static int64_t
clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000) * CLOCK_FACTOR;
}

void
loop_init(struct loop *loop)
{
	memset(loop, 0, sizeof(*loop));
	loop->until = NEVER;
	loop->now = clock_now();
}

void
loop_free(struct loop *loop)
{
	free(loop->set);
	loop->set = NULL;
	loop->count = loop->room = 0;
}

void
loop_begin(struct loop *loop)
{
	loop->count = 0;
	loop->until = NEVER;
	loop->child = false;
}

static int
timeout_of(const struct loop *loop)
{
	int64_t left = loop->until - loop->now;

	if (loop->until == NEVER)
		return -1;
	if (left <= 0)
		return 0;
	left = (left + CLOCK_FACTOR - 1) / CLOCK_FACTOR;
	return left > LONG_TURN ? LONG_TURN : (int)left;
}

void
loop_wait(struct loop *loop)
{
	int i;

	/* The turn before has taken its time. */
	if (loop->until != NEVER)
		loop->now = clock_now();
	if (poll(loop->set, (nfds_t)loop->count, timeout_of(loop)) < 0) {
		/* EINTR: the signal's byte is in its pipe, which the next turn
		 * sees. Nothing was reported for this one. */
		for (i = 0; i < loop->count; i++)
			loop->set[i].revents = 0;
	}
	loop->now = clock_now();
}

int
loop_add(struct loop *loop, int fd, short events)
{
	struct pollfd *more;
	int room;

	if (fd < 0)
		return -1;
	if (loop->count == loop->room) {
		room = loop->room ? loop->room * 2 : 16;
		more = realloc(loop->set, (size_t)room * sizeof(*more));
		if (more == NULL) {
			loop_until(loop, loop->now + SHORT_TURN);
			return -1;
		}
		loop->set = more;
		loop->room = room;
	}
	loop->set[loop->count].fd = fd;
	loop->set[loop->count].events = events;
	loop->set[loop->count].revents = 0;
	return loop->count++;
}

short
loop_events(const struct loop *loop, int index)
{
	return index < 0 ? 0 : loop->set[index].revents;
}

void
loop_until(struct loop *loop, int64_t deadline)
{
	if (deadline < loop->until)
		loop->until = deadline;
}

/* -- Descriptors ------------------------------------------------------- */

int
fd_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	return flags;
}

int
fd_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags >= 0 && fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0)
		return -1;
	return flags;
}

/* -- Listening --------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Its length, 0: it is no address. */
static socklen_t
parse_address(union address *a, const char *text, int port)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((uint16_t)port);
		return sizeof(a->v4);
	}
	if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons((uint16_t)port);
		return sizeof(a->v6);
	}
	return 0;
}

int
address_is_loopback(const char *address)
{
	union address a;

	if (parse_address(&a, address, 0) == 0)
		return -1;
	if (a.any.sa_family == AF_INET)
		return ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
}

int
fd_listen(const char *address, int *port)
{
	int fd, error, on = 1, size = SEND_SIZE;
	union address a;
	socklen_t len = parse_address(&a, address, *port);

	fd = socket(a.any.sa_family, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	fd_cloexec(fd);
	fd_nonblocking(fd);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* These pass to the connections. Small answers do not wait for the
	 * peer's acknowledgements. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(fd, &a.any, len) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, &a.any, &len) < 0) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	*port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port
	    : a.v6.sin6_port);
	return fd;
}

/* -- Bytes for a slow reader ------------------------------------------- */

size_t
queue_unwritten(const struct queue *q)
{
	return q->bytes.len - q->written;
}

struct buf *
queue_append(struct queue *q)
{
	if (q->progress > 0 && q->written == 0) {
		buf_drop(&q->bytes, q->progress);
		q->progress = 0;
	}
	return &q->bytes;
}

bool
queue_progress(struct queue *q, const struct buf *message)
{
	if (q->bytes.len > 0 || message->failed)
		return false;
	buf_put(&q->bytes, message->data, message->len);
	q->progress = q->bytes.len;
	return true;
}

/* However slowly it is read, the queue is at most twice as long as what is
 * unread (P10), and no byte is moved more than once for one that has left. */
static void
drop_written(struct queue *q)
{
	if (q->written == q->bytes.len) {
		if (q->bytes.cap > KEEP_SIZE)
			buf_free(&q->bytes);
		q->bytes.len = 0;
	} else if (q->written > DROP_SIZE &&
	    q->written > queue_unwritten(q)) {
		buf_drop(&q->bytes, q->written);
	} else {
		return;
	}
	q->written = q->progress = 0;
}

int
queue_flush(struct queue *q, int fd)
{
	size_t end;
	ssize_t n;

	while (q->written < q->bytes.len) {
		end = q->progress > q->written ? q->progress : q->bytes.len;
		n = write(fd, q->bytes.data + q->written, end - q->written);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			return -1;
		if (n < 0)
			break;
		q->written += (size_t)n;
	}
	drop_written(q);
	return 0;
}

void
queue_free(struct queue *q)
{
	buf_free(&q->bytes);
	q->written = q->progress = 0;
}
