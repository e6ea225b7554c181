#ifndef LOOP_H
#define LOOP_H

/* What session.c and exec.c still call by its old name */

#include "io.h"

#define loop_watch loop_add
#define loop_got loop_events

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
