#ifndef GUARD_H
#define GUARD_H

/* The guard: a second process that ends what boris has started, and removes its
 * files, when boris itself was killed and no handler could (SPEC L4). It sleeps
 * until then. What it has to know is in memory that both share. */

#include <stdbool.h>
#include <sys/types.h>

struct guard;

/* Not begun yet. Its files are those in `dir` whose names begin with `prefix`;
 * both are the caller's. NULL, with errno: no memory to share. */
struct guard *guard_open(const char *dir, const char *prefix);

/* Begins the process if it does not run, and gives a slot for the number of a
 * group, which holds as long as that is not 0. NULL, with errno: it can't be
 * begun, or there are too many groups. */
volatile pid_t *guard_slot(struct guard *);

/* boris ends by itself: the guard goes too, and is waited for. NULL is fine. */
void guard_free(struct guard *);

#endif
