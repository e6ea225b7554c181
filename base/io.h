/* SPDX-License-Identifier: ISC */
#ifndef BASE_IO_H
#define BASE_IO_H

/* The poll set, the clock, descriptors, and output queues. In each iteration of
 * the event loop, the x_poll_add() functions of all modules add descriptors and
 * deadlines to the poll set. After poll(), their x_dispatch() functions handle
 * the descriptors that are ready. Only loop_wait() blocks. */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"

#define NEVER INT64_MAX  /* a deadline that never passes */

/* The state of the event loop, which is zeroed before the first iteration */
struct loop {
	int64_t now;     /* monotonic time in ms, read once per iteration */
	int64_t until;   /* earliest deadline of this iteration, in ms */
	bool child;      /* true if a child may have exited since the previous
	                  * iteration */
	bool end;        /* true if a signal has asked boris to exit */
	struct pollfd *set;
	int count;       /* number of entries in the poll set */
	int cap;         /* number of entries allocated for the poll set */
};

/* Returns the monotonic time in ms. Code in the event loop uses loop->now
 * instead. */
int64_t clock_now(void);
/* Appends the current date and time in the format of RFC 3339, such as
 * 2026-01-31T23:59:59.123Z. */
void clock_date(struct buf *);

/* Starts an iteration of the event loop with an empty poll set and no
 * deadline. */
void loop_begin(struct loop *);
/* Waits until a descriptor in the poll set is ready or the earliest deadline of
 * this iteration has passed. Then sets loop->now to the current time. */
void loop_wait(struct loop *);
/* Adds a descriptor to the poll set for this iteration. Returns its index for
 * loop_events(), or -1 if fd is negative. */
int loop_add(struct loop *, int fd, short events);
/* Returns the events that poll() reported for the entry `index` of the poll
 * set, or 0 if the index is -1. */
short loop_events(const struct loop *, int index);
/* Makes loop_wait() return no later than the given deadline, in ms. The
 * deadline applies only to this iteration of the event loop. */
void loop_until(struct loop *, int64_t deadline);

/* Creates a pipe whose ends are close-on-exec. Returns 0, or -1 with errno
 * set. */
int fd_pipe(int end[2]);
/* Calls read(), retrying if a signal interrupts it. Returns the number of bytes
 * read, or -1 with errno set. */
ssize_t fd_read(int fd, void *to, size_t n);
/* Sets O_NONBLOCK on a descriptor. Returns its previous flags, or -1 with errno
 * set. */
int fd_nonblocking(int fd);
/* Makes a descriptor close-on-exec. */
void fd_cloexec(int fd);
/* Closes the descriptor and sets it to -1. Does nothing if it is negative.
 * Preserves errno. */
void fd_close(int *fd);

/* The state of the transport (stdio or HTTP) */
enum transport_state {
	TRANSPORT_SERVES,
	TRANSPORT_ENDS,      /* boris is exiting after a signal or end of file
	                      * on stdin */
	TRANSPORT_CLOSED     /* boris exits after this iteration of the event
	                      * loop */
};

/* A queue of bytes for a client that may be slow to read. Responses are never
 * dropped, but progress notifications may be (P10). Some clients lose a
 * progress notification that they read together with its response (O7).
 * Therefore no progress notification is added after a response. When a response
 * is added, queued progress notifications are dropped, unless writing them has
 * already begun. */
struct queue {
	struct buf bytes;
	size_t written;    /* number of bytes at the start of the queue that
	                    * have already been written */
	size_t progress;   /* number of bytes at the start of the queue that
	                    * belong to progress notifications */
};

/* time, in ms, that boris waits for a slow client before it exits (P10) */
enum { QUEUE_END_WAIT = 200 };

/* Returns the number of unwritten bytes in the queue. */
size_t queue_unwritten(const struct queue *);
/* Appends a message to the queue. An empty queue takes over the message's
 * memory, so that appending cannot fail. Otherwise, memory is allocated. If
 * that fails, returns false and appends nothing (E7). */
bool queue_put(struct queue *, struct buf *message);
/* Appends a progress notification, unless the queue contains a response or is
 * too long. Returns whether the notification was appended. */
bool queue_progress(struct queue *, const struct buf *);
/* Empties the queue and frees its memory. */
void queue_free(struct queue *);
/* Writes as much of the queue as the descriptor accepts without blocking.
 * Returns 0, or -1 with errno set if the write fails. */
int queue_flush(struct queue *, int fd);

#endif
