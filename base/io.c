/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fmt.h"

/* queue size, in bytes, above which progress notifications are no longer
 * queued */
enum { PROGRESS_MAX = 64 << 10 };

/* The clock runs faster than real time by this factor. The tests build boris
 * with a factor of 10, so that a timeout of one minute takes six seconds. */
#ifndef CLOCK_FACTOR
#define CLOCK_FACTOR 1
#endif

int64_t
clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000) * CLOCK_FACTOR;
}

void
clock_date(struct buf *b)
{
	struct timespec t;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &t);
	gmtime_r(&t.tv_sec, &tm);
	buf_fmt(b, "%d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
	    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
	    (int)(t.tv_nsec / 1000000));
}

void
loop_begin(struct loop *loop)
{
	loop->count = 0;
	loop->until = NEVER;
	loop->child = loop->end = false;
}

void
loop_wait(struct loop *loop)
{
	nfds_t count = (nfds_t)loop->count;
	int64_t left = 0;
	int ready;

	/* Read the clock again, because this iteration of the event loop may
	 * have taken some time. */
	loop->now = clock_now();
	if (loop->until > loop->now)
		left = (loop->until - loop->now - 1) / CLOCK_FACTOR + 1;
	if (left > INT_MAX)
		left = INT_MAX;
	ready = poll(loop->set, count, (int)left);
	/* If a signal interrupted poll(), its handler may have written to the
	 * signal pipe. Poll again without waiting, because boris must read this
	 * pipe before it handles expired deadlines. */
	if (ready < 0)
		ready = poll(loop->set, count, 0);
	/* If poll() fails for lack of memory, every descriptor is treated as
	 * ready, because loop_add() sets revents to events. That is safe,
	 * because all descriptors are non-blocking. */
	if (ready < 0)
		poll(NULL, 0, 10);
	loop->now = clock_now();
}

int
loop_add(struct loop *loop, int fd, short events)
{
	if (fd < 0)
		return -1;
	if (loop->count == loop->cap) {
		loop->cap += 64;
		loop->set = mem_resize(loop->set,
		    (size_t)loop->cap * sizeof(*loop->set));
	}
	loop->set[loop->count] = (struct pollfd){ fd, events, events };
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

int
fd_pipe(int end[2])
{
	if (pipe(end) < 0)
		return -1;
	fd_cloexec(end[0]);
	fd_cloexec(end[1]);
	return 0;
}

ssize_t
fd_read(int fd, void *to, size_t n)
{
	ssize_t got;

	do
		got = read(fd, to, n);
	while (got < 0 && errno == EINTR);
	return got;
}

int
fd_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -1 : flags;
}

void
fd_cloexec(int fd)
{
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

size_t
queue_unwritten(const struct queue *q)
{
	return q->bytes.len - q->written;
}

bool
queue_put(struct queue *q, struct buf *message)
{
	struct buf *b = &q->bytes;

	if (q->progress > 0 && q->written == 0) {
		buf_drop(b, q->progress);
		q->progress = 0;
	}
	if (b->len > 0) {
		if (!buf_reserve(b, message->len))
			return false;
		buf_put(b, message->data, message->len);
		return true;
	}
	buf_free(b);
	*b = *message;
	memset(message, 0, sizeof(*message));
	return true;
}

bool
queue_progress(struct queue *q, const struct buf *message)
{
	if (q->bytes.len > q->progress || q->bytes.len > PROGRESS_MAX)
		return false;
	buf_put(&q->bytes, message->data, message->len);
	q->progress = q->bytes.len;
	return true;
}

void
queue_free(struct queue *q)
{
	buf_free(&q->bytes);
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
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0)
			return -1;
		q->written += (size_t)n;
	}
	/* Moving the unwritten bytes is expensive, so remove the written bytes
	 * only once they make up more than half of the queue (P10). */
	if (q->written > queue_unwritten(q) && q->written >= q->progress) {
		buf_drop(&q->bytes, q->written);
		q->written = q->progress = 0;
	}
	if (q->bytes.len == 0)
		buf_free(&q->bytes);
	return 0;
}
