#ifndef RUN_GUARD_H
#define RUN_GUARD_H

/* The guard: a second process that ends the commands and removes the files that
 * boris has left, if boris was killed or had to exit before all commands had
 * ended (L1, L4). It sleeps until then. Both processes share the memory that
 * has what the guard needs to know. */

#include <stdbool.h>
#include <sys/types.h>
#include "base/options.h"
#include "run/proc.h"

struct guard;

/* Prepares a guard, which also removes the temporary files. Starts no process
 * yet. Ends boris if there is no memory to share. */
struct guard *guard_open(const struct options *);

/* Starts the process if it does not run, and returns a zeroed group. The group
 * is the caller's from when its id is set until that is 0. Returns NULL with
 * errno set if the process cannot be started, or if there are too many
 * groups. */
struct proc_group *guard_group(struct guard *);
/* Starts the process if it does not run, and tells it to remove this file at
 * the end as well; a later call with another name replaces it, one with NULL
 * takes it back (X3). The path is absolute, and no file has it yet. Returns 0,
 * or -1 with errno set if the process cannot be started or the path is too
 * long. */
int guard_file(struct guard *, const char *path);

/* Reaps the children that boris has inherited, not started (E8). */
void guard_reap(struct guard *);
/* Returns the process's pid, or 0 if it does not run. The pid is in shared
 * memory, so that the parent which boris was forked from (E8) can ask for
 * it. */
pid_t guard_pid(const struct guard *);
/* Kills the process, unless a group is still taken (L1). */
void guard_end(struct guard *);

#endif
