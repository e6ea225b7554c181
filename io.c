#define _POSIX_C_SOURCE 200809L

#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MORE = 64,            /* places, when the set is full */
	SHORT_TURN = 10,      /* ms, when descriptors could not be watched */
	PROGRESS_MOST = 64 << 10, /* bytes of it queued that take no more */
	LONG_MESSAGE = 16 << 10   /* bytes */
};

/* -- The poll set and the clock ---------------------------------------- */

/* The tests build a boris whose clock runs ten times as fast: what takes it a
 * minute takes them six seconds. */
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

static int
days_of(int year)
{
	return 365 + ((year % 4 == 0 && year % 100 != 0) || year % 400 == 0);
}

/* (gmtime_r() takes 600 bytes more of a static binary.) */
void
clock_date(struct buf *b)
{
	char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	static const char end[] = { 4, 7, 10, 13, 16, 19, 23 };
	char text[] = "0000-00-00T00:00:00.000Z", *p;
	int year = 1970, month = 0, i;
	int64_t part[7], time, day, n;
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	time = t.tv_sec;
	day = time / 86400;
	while (day >= days_of(year))
		day -= days_of(year++);
	days[1] += days_of(year) == 366;
	while (day >= days[month])
		day -= days[month++];
	part[0] = year;
	part[1] = month + 1;
	part[2] = day + 1;
	part[3] = time / 3600 % 24;
	part[4] = time / 60 % 60;
	part[5] = time % 60;
	part[6] = t.tv_nsec / 1000000;
	for (i = 0; i < 7; i++) {
		for (p = text + end[i], n = part[i]; n > 0; n /= 10)
			*--p = (char)('0' + n % 10);
	}
	buf_puts(b, text);
}

void
loop_free(struct loop *loop)
{
	if (loop->set != loop->first)
		free(loop->set);
	loop->set = NULL;
}

void
loop_begin(struct loop *loop)
{
	if (loop->set == NULL) {
		loop->set = loop->first;
		loop->room = MORE;
	}
	loop->count = 0;
	loop->until = NEVER;
	loop->child = loop->end = false;
}

/* Where poll() has no memory: all that is waited for is tried, since no
 * descriptor blocks, but not again and again at once (E7). */
static void
try_all(struct loop *loop)
{
	struct timespec pause = { 0, SHORT_TURN * 1000000 };
	int i;

	nanosleep(&pause, NULL);
	for (i = 0; i < loop->count; i++)
		loop->set[i].revents = loop->set[i].events;
}

void
loop_wait(struct loop *loop)
{
	int64_t left = 0;

	loop->now = clock_now();  /* the last turn has taken some time */
	if (loop->until > loop->now)
		left = (loop->until - loop->now - 1) / CLOCK_FACTOR + 1;
	/* After EINTR the signal's byte is in its pipe, which must be seen in
	 * this turn: a deadline may have passed meanwhile. */
	if (poll(loop->set, (nfds_t)loop->count, left < INT_MAX ? (int)left
	    : INT_MAX) < 0 && poll(loop->set, (nfds_t)loop->count, 0) < 0)
		try_all(loop);
	loop->now = clock_now();
}

static bool
grow(struct loop *loop)
{
	bool first = loop->set == loop->first;
	struct pollfd *more = realloc(first ? NULL : loop->set,
	    (size_t)(loop->room + MORE) * sizeof(*more));

	if (more == NULL)
		return false;
	if (first)
		memcpy(more, loop->first, sizeof(loop->first));
	loop->set = more;
	loop->room += MORE;
	return true;
}

int
loop_add(struct loop *loop, int fd, short events)
{
	if (fd < 0)
		return -1;
	if (loop->count == loop->room && !grow(loop)) {
		loop_until(loop, loop->now + SHORT_TURN);
		return -1;
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

/* False: no memory, and nothing is appended. */
static bool
append(struct buf *b, const struct buf *message)
{
	bool room = buf_room(b, message->len);

	b->failed = false;
	if (room)
		buf_put(b, message->data, message->len);
	return room;
}

bool
queue_put(struct queue *q, struct buf *message)
{
	struct buf *b = queue_append(q);
	bool copied = false;

	if (message->failed || b->failed)
		return false;
	if (b->len > 0 || message->len < LONG_MESSAGE)
		copied = append(b, message);
	if (copied || b->len > 0)
		return copied;
	buf_free(b);
	*b = *message;
	memset(message, 0, sizeof(*message));
	return true;
}

bool
queue_progress(struct queue *q, const struct buf *message)
{
	if (q->bytes.len > q->progress || q->bytes.len > PROGRESS_MOST ||
	    message->failed || q->bytes.failed ||
	    !append(&q->bytes, message))
		return false;
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
	if (q->written == q->bytes.len) {
		queue_free(q);
	} else if (q->written > queue_unwritten(q) &&
	    q->written >= q->progress) {
		/* So it is at most twice as long as what is unwritten (P10). */
		buf_drop(&q->bytes, q->written);
		q->written = q->progress = 0;
	}
	return 0;
}
