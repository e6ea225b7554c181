#ifndef GUARD_H
#define GUARD_H

/* The guard: a second process that ends what boris has started, and removes its
 * files, when boris itself was killed and no handler could (SPEC L4). It sleeps
 * until then. What it has to know is in memory that both share. */

#include <stdbool.h>
#include <sys/types.h>

struct guard;

/* Prepares it, without the process. It removes the files in `dir` whose names
 * begin with `prefix`; both are the caller's. NULL, with errno: there is no
 * memory to share. */
struct guard *guard_open(const char *dir, const char *prefix);

/* Begins the process if it does not run, and returns a free slot for the number
 * of a process group; a slot of 0 is free. NULL, with errno: it can't be begun,
 * or there are too many groups. */
volatile pid_t *guard_slot(struct guard *);

/* boris ends by itself: the process is killed. NULL is fine. */
void guard_free(struct guard *);

#endif
