#ifndef RUN_GUARD_H
#define RUN_GUARD_H

/* The guard: a second process that ends what boris has started, and removes its
 * files, when boris was killed, or left before all had ended (SPEC L1, L4). It
 * sleeps until then. What it has to know is in memory that both share. */

#include <stdbool.h>
#include <sys/types.h>
#include "base/options.h"
#include "run/proc.h"

struct guard;

/* Begins no process yet: prepares one that removes the temporary files
 * too. Where there is no memory to share it ends boris. */
struct guard *guard_open(const struct options *);

/* Begins the process if it does not run, and returns a zeroed group. It is the
 * caller's from when its id is set until that is 0. NULL, with errno: the
 * process can't be begun, or there are too many groups. */
struct proc_group *guard_group(struct guard *);
/* Begins the process likewise, which at the end is to remove this file too; a
 * later call with NULL takes that back (X3). The name is absolute, and no file
 * has it yet. -1, with errno: it can't be begun, or the name is too long. */
int guard_file(struct guard *, const char *path);

/* Reaps the children that boris has inherited, not begun (E8). */
void guard_reap(struct guard *);
/* The process's pid, 0 if it does not run. It is in shared memory, so that the
 * parent that boris was forked from (E8) can ask for it, too. */
pid_t guard_pid(const struct guard *);
/* Kills the process, unless a group is still taken (L1). */
void guard_end(struct guard *);

#endif
