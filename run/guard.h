/* SPDX-License-Identifier: ISC */
#ifndef RUN_GUARD_H
#define RUN_GUARD_H

/* The guard: a second process that terminates any remaining commands and
 * removes temporary files if boris is killed or must exit early (L1, L4). Until
 * then, the guard sleeps. boris lists the commands and files in shared
 * memory. */

#include <stdbool.h>
#include <sys/types.h>
#include "base/options.h"
#include "run/proc.h"

struct guard;

/* Creates the guard's shared memory, but does not start the process. boris
 * exits if allocation fails. */
struct guard *guard_open(const struct options *);

/* Starts the guard process if it is not running, and returns a zeroed process
 * group in shared memory. The caller sets the group's id. The group is in use
 * as long as its id is not 0. Returns NULL with errno set if the guard cannot
 * be started or too many process groups are in use. */
struct proc_group *guard_group(struct guard *);
/* Makes the guard remove a file if boris is killed (X3). The path must be
 * absolute, and the file must not exist yet. A new path replaces the previous
 * one, and NULL cancels the removal. Starts the guard if it is not running.
 * Returns 0, or -1 with errno set if the guard cannot be started or the path is
 * too long. */
int guard_file(struct guard *, const char *path);

/* Reaps exited children that boris has not started itself, such as orphans that
 * it has inherited (E8). */
void guard_reap(struct guard *);
/* Returns the pid of the guard process, or 0 if it is not running. The pid is
 * in shared memory, so the init process from which boris was forked can call
 * this function too (E8). */
pid_t guard_pid(const struct guard *);
/* Kills the guard process, unless a process group is still in use (L1). */
void guard_end(struct guard *);

#endif
