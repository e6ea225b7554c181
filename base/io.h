/* SPDX-License-Identifier: ISC */
#ifndef BASE_IO_H
#define BASE_IO_H

/* The poll set, the clock, descriptors, and output queues. In each turn of the
 * event loop, the x_poll_add() functions of all modules add descriptors and
 * deadlines to the poll set. After poll(), their x_dispatch() functions handle
 * the descriptors that are ready. Only loop_wait() blocks. */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"

#define NEVER INT64_MAX  /* a deadline that never passes */

/* The state of the event loop, which is zeroed before the first turn */
struct loop {
	int64_t now;     /* monotonic time in ms, read once per turn */
	int64_t until;   /* earliest deadline of this turn, in ms */
	bool child;      /* true if a child may have exited since the last
	                  * turn */
	bool end;        /* true if a signal has asked boris to exit */
	struct pollfd *set;
	int count;       /* true if a signal to exit has arrived */
	int cap;         /* number of entries allocated for the poll set */
};

/* Returns the monotonic time in ms. Code in the event loop uses loop->now
 * instead. */
int64_t clock_now(void);
/* Appends the current date and time in the format of RFC 3339, such as
 * 2026-01-31T23:59:59.123Z. */
void clock_date(struct buf *);

/* Starts a turn of the event loop with an empty poll set and no deadline. */
void loop_begin(struct loop *);
/* Waits until a descriptor is ready or the earliest deadline has passed. No
 * other function blocks. */
void loop_wait(struct loop *);
/* Adds a descriptor to the poll set of this turn. Returns its index for
 * loop_events(), or -1 if fd is negative. */
int loop_add(struct loop *, int fd, short events);
/* Returns the events that poll() has reported for the poll set's entry with
 * this index. Returns 0 if the index is -1. */
short loop_events(const struct loop *, int index);
/* Adds a deadline, in ms, to this turn of the event loop. */
void loop_until(struct loop *, int64_t deadline);

/* Creates a pipe whose ends are close-on-exec. Returns 0, or -1 with errno
 * set. */
int fd_pipe(int end[2]);
/* Calls read(), and repeats the call if a signal interrupts it. Returns the
 * number of bytes read, or -1 with errno set. */
ssize_t fd_read(int fd, void *to, size_t n);
/* Sets O_NONBLOCK on a descriptor. Returns its previous flags, or -1 with errno
 * set. */
int fd_nonblocking(int fd);
/* Makes a descriptor close-on-exec. */
void fd_cloexec(int fd);
/* Closes the descriptor and sets it to -1. Does nothing if it is negative.
 * Preserves errno. */
void fd_close(int *fd);

/* The state of the stdio or HTTP transport after a turn of the event loop */
enum transport_state {
	TRANSPORT_SERVES,
	TRANSPORT_ENDS,      /* boris is exiting, after a signal or end of
	                      * file */
	TRANSPORT_CLOSED     /* all responses are sent, or the client has closed
	                      * the connection */
};

/* A queue of bytes for a client that may be slow to read. Responses are never
 * dropped, but progress notifications may be (P10). Some clients lose a
 * progress notification that they read together with its response (O7).
 * Therefore no progress is added after a response, and a response replaces all
 * queued progress of which no byte has been written. */
struct queue {
	struct buf bytes;
	size_t written;    /* number of bytes at the start of the queue that are
	                    * already written */
	size_t progress;   /* number of bytes of progress at the start of the
	                    * queue */
};

/* time that boris waits for a slow client before it exits, ms (P10) */
enum { QUEUE_END_WAIT = 200 };

/* Returns the number of bytes in the queue that are not written yet. */
size_t queue_unwritten(const struct queue *);
/* Appends a message to the queue. An empty queue takes over the message's
 * memory, which cannot fail. Otherwise, returns false with the queue unchanged
 * if allocation fails (E7). */
bool queue_put(struct queue *, struct buf *message);
/* Appends a progress notification, unless the queue contains a response or is
 * too long. Returns whether the notification was appended. */
bool queue_progress(struct queue *, const struct buf *);
/* Removes all bytes from the queue and frees its memory. */
void queue_free(struct queue *);
/* Writes as much of the queue as the descriptor accepts without blocking.
 * Returns 0, or -1 with errno set if the write fails. */
int queue_flush(struct queue *, int fd);

#endif
