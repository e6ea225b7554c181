#ifndef BASE_IO_H
#define BASE_IO_H

/* The poll set, the clock, descriptors, and queues of bytes for slow readers.
 * In each turn of the loop a module's x_poll_add() adds what the module waits
 * for, and its x_dispatch() acts on what is ready. */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"

#define NEVER INT64_MAX  /* a deadline that never passes */

/* The state of the event loop; zeroed before the first turn */
struct loop {
	int64_t now;     /* ms, monotonic; the same during a turn */
	int64_t until;   /* ms; the nearest deadline of this turn */
	bool child;      /* a child may have exited since the last turn */
	bool end;        /* a signal has asked boris to exit */
	struct pollfd *set;
	int count;       /* number of entries in the set */
	int room;        /* number of entries that it has memory for */
};

/* Returns the monotonic time, ms. In the loop, loop->now is used instead. */
int64_t clock_now(void);
/* Appends the time of day as in RFC 3339: 2026-01-31T23:59:59.123Z */
void clock_date(struct buf *);

/* Starts a turn: the set is empty and there is no deadline. */
void loop_begin(struct loop *);
/* Waits until a descriptor is ready or a deadline has passed. No other function
 * blocks. */
void loop_wait(struct loop *);
/* Adds a descriptor to the set of this turn. Returns its index for
 * loop_events(), or -1 if fd is below 0. */
int loop_add(struct loop *, int fd, short events);
/* Returns the revents of an entry; 0 for the index -1. */
short loop_events(const struct loop *, int index);
/* Adds a deadline, ms. */
void loop_until(struct loop *, int64_t deadline);

/* Opens a pipe that no program inherits. Returns 0, or -1 with errno set. */
int fd_pipe(int end[2]);
/* Reads as read() does, but is never interrupted by a signal. */
ssize_t fd_read(int fd, void *to, size_t n);
/* Sets O_NONBLOCK. Returns the flags from before, or -1 with errno set. */
int fd_nonblocking(int fd);
/* Sets FD_CLOEXEC. */
void fd_cloexec(int fd);
/* Closes the descriptor unless it is below 0; sets it to -1. Keeps errno. */
void fd_close(int *fd);

/* State of a transport at the end of a turn */
enum transport_state {
	TRANSPORT_SERVES,
	TRANSPORT_ENDS,      /* after a signal or the end of input */
	TRANSPORT_CLOSED     /* all is sent, or there is no reader */
};

/* Bytes that wait for a slow reader. Responses are never dropped; progress may
 * be (P10). A client that reads progress and its response at once loses the
 * progress (O7), so the two never share a write: no progress is queued after a
 * response, and a response removes progress that is completely unwritten. */
struct queue {
	struct buf bytes;
	size_t written;    /* number of these that are written */
	size_t progress;   /* number of bytes of progress, at the front */
};

enum { QUEUE_END_WAIT = 200 };  /* ms for the reader when boris exits (P10) */

/* Returns the number of bytes that are not written yet. */
size_t queue_unwritten(const struct queue *);
/* Appends a message. An empty queue takes the message's memory and cannot fail.
 * Returns false, with nothing appended, if allocation fails (E7). */
bool queue_put(struct queue *, struct buf *message);
/* Appends progress, unless there is a response or too much progress in the
 * queue. Returns whether it did. */
bool queue_progress(struct queue *, const struct buf *);
/* Empties the queue. */
void queue_free(struct queue *);
/* Writes what can be written without waiting. Returns 0, or -1 with errno set
 * if there is no reader. */
int queue_flush(struct queue *, int fd);

#endif
