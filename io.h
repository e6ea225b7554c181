#ifndef IO_H
#define IO_H

/* The poll set, the clock, bytes for a slow reader. Each turn a room says in
 * x_poll_add() what it waits for, and does in x_dispatch() what it can. */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "buf.h"

#define NEVER INT64_MAX  /* a deadline that does not come */

/* Zeroed: before the first turn */
struct loop {
	int64_t now;     /* milliseconds, monotonic, the same all turn */
	int64_t until;   /* the nearest deadline of this turn */
	bool child;      /* a child may have ended since the last turn */
	bool end;        /* the first signal that asks for the end has come */
	struct pollfd *set;
	int count, room;
	struct pollfd first[64];  /* the set, until it has to be larger */
};

int64_t clock_now(void);  /* milliseconds, monotonic; loop->now in the loop */
void clock_date(struct buf *);  /* RFC 3339: 2026-01-31T23:59:59.123Z */

void loop_free(struct loop *);
void loop_begin(struct loop *);  /* a new turn: nothing is waited for */
void loop_wait(struct loop *);   /* the one place where boris blocks */

/* The descriptor's index in this turn's set, for loop_events(); -1: it is not
 * watched (fd is below 0; or no memory, and the turn is a short one). */
int loop_add(struct loop *, int fd, short events);
short loop_events(const struct loop *, int index);  /* revents; 0 for -1 */
void loop_until(struct loop *, int64_t deadline);  /* wait no longer */

int fd_nonblocking(int fd);  /* the flags before, or -1 */
void fd_cloexec(int fd);
void fd_close(int *fd);  /* if it is open; then it is -1; errno stays */

/* How a transport stands at the end of a turn */
enum transport_state {
	TRANSPORT_SERVES,
	TRANSPORT_ENDS,      /* a signal or the end of input has begun that */
	TRANSPORT_CLOSED,    /* all is sent, or nobody reads it */
	TRANSPORT_STARVED    /* so it is; an answer has found no memory (E7) */
};

/* Bytes on their way to a reader. Progress may be dropped, responses may not
 * (P10); and a client loses progress that it reads together with the response
 * (O7). So progress enters only where there is nothing else, gives way to what
 * comes next if nothing of it has been written, and never shares a write. */
struct queue {
	struct buf bytes;  /* failed: no memory; nothing more is appended */
	size_t written;    /* so many of them are written */
	size_t progress;   /* so many at the front are progress */
};

enum { QUEUE_END_WAIT = 200 };  /* ms for the reader at the end (P10) */

size_t queue_unwritten(const struct queue *);
struct buf *queue_append(struct queue *);  /* where to write what comes next */
/* Queues a message; a long one is taken over rather than copied. False: there
 * is no memory for it, and nothing of it is queued. */
bool queue_put(struct queue *, struct buf *message);
/* False: it was not taken. */
bool queue_progress(struct queue *, const struct buf *message);
void queue_free(struct queue *);  /* empty again */

/* Writes what it can without waiting. 0; or -1 with errno: nobody reads. */
int queue_flush(struct queue *, int fd);

#endif
