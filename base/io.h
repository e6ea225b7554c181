#ifndef BASE_IO_H
#define BASE_IO_H

/* The poll set, the clock, descriptors, and bytes for a slow reader. Each turn
 * x_poll_add() says what a room waits for, x_dispatch() does what it can. */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"

#define NEVER INT64_MAX  /* a deadline that does not come */

/* Zeroed: before the first turn */
struct loop {
	int64_t now;     /* milliseconds, monotonic, the same all turn */
	int64_t until;   /* the nearest deadline of this turn */
	bool child;      /* a child may have ended since the last turn */
	bool end;        /* a signal has asked for the end */
	struct pollfd *set;
	int count, room;
};

int64_t clock_now(void);  /* milliseconds, monotonic; loop->now in the loop */
void clock_date(struct buf *);  /* RFC 3339: 2026-01-31T23:59:59.123Z */

void loop_begin(struct loop *);  /* a new turn: nothing is waited for */
void loop_wait(struct loop *);   /* the one place where boris blocks */
/* Its index in this turn's set, for loop_events(); -1: fd is below 0. */
int loop_add(struct loop *, int fd, short events);
short loop_events(const struct loop *, int index);  /* revents; 0 for -1 */
void loop_until(struct loop *, int64_t deadline);  /* wait no longer */

/* Opens a pipe that no program inherits. Returns 0, or -1 with errno set. */
int fd_pipe(int end[2]);
/* Reads as read() does, but is never interrupted by a signal. */
ssize_t fd_read(int fd, void *to, size_t n);
int fd_nonblocking(int fd);  /* the flags before, or -1 */
void fd_cloexec(int fd);
void fd_close(int *fd);  /* if it is open; then it is -1; errno stays */

/* How a transport stands at the end of a turn */
enum transport_state {
	TRANSPORT_SERVES,
	TRANSPORT_ENDS,      /* a signal or the end of input has begun that */
	TRANSPORT_CLOSED     /* all is sent, or nobody reads it */
};

/* Bytes on their way to a reader. Responses are never dropped, progress may be
 * (P10). A client that reads progress and its response at once loses the
 * progress (O7), so the two never share a write: no progress is queued behind a
 * response, and a response removes progress of which no byte is written. */
struct queue {
	struct buf bytes;
	size_t written;    /* so many of them are written */
	size_t progress;   /* so many at the front are progress */
};

enum { QUEUE_END_WAIT = 200 };  /* ms for the reader at the end (P10) */

size_t queue_unwritten(const struct queue *);
/* Queues a message. An empty queue takes its memory over, and never refuses;
 * false: the memory for it is refused (E7), and nothing of it is queued. */
bool queue_put(struct queue *, struct buf *message);
bool queue_progress(struct queue *, const struct buf *);  /* false: not taken */
void queue_free(struct queue *);  /* empty again */
/* Writes what it can without waiting. 0; or -1 with errno: nobody reads. */
int queue_flush(struct queue *, int fd);

#endif
