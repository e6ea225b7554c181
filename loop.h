#ifndef LOOP_H
#define LOOP_H

/* The poll set and the clock. Every turn each room says in x_want() what it
 * waits for (loop_watch, loop_until), and does in x_ready() what has become
 * possible (loop_got, now). */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEVER INT64_MAX  /* a deadline that does not come */

struct loop {
	int64_t now;     /* milliseconds, monotonic, the same all turn */
	int64_t until;   /* the nearest deadline of this turn */
	bool child;      /* a child may have ended since the last turn */
	struct pollfd *set;
	int count, room;
};

void loop_init(struct loop *);
void loop_free(struct loop *);
void loop_begin(struct loop *);  /* a new turn: nothing is waited for */
void loop_wait(struct loop *);   /* the one place where boris blocks */

/* Its place in this turn's set, for loop_got(); -1: not watched (fd below 0,
 * or no memory, and then the turn is a short one). */
int loop_watch(struct loop *, int fd, short events);
short loop_got(const struct loop *, int place);  /* poll's revents; -1: 0 */
void loop_until(struct loop *, int64_t deadline);

/* Many quiet descriptors at the price of one (E9): what is added costs no
 * turn anything until it is readable. Linux has epoll for it; elsewhere
 * crowd_add() says no, and the caller watches them one by one. */
struct crowd {
	int fd;     /* below 0: none yet; give CROWD_EMPTY to a new one */
	int place;
};

#define CROWD_EMPTY { -1, -1 }

int crowd_add(struct crowd *, int fd, void *owner);  /* 0, or -1: watch it */
void crowd_remove(struct crowd *, int fd);
void crowd_free(struct crowd *);
void crowd_want(struct crowd *, struct loop *);
/* Up to `most` owners of what is readable now, into owner[]; how many. An
 * owner of two descriptors may be there twice. */
int crowd_ready(struct crowd *, const struct loop *, void *owner[], int most);

#endif
