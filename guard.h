#ifndef GUARD_H
#define GUARD_H

/* The guard: a second process that ends what boris has started, and removes its
 * files, when boris was killed, or left before all had ended (SPEC L1, L4). It
 * sleeps until then. What it has to know is in memory that both share. */

#include <stdbool.h>
#include <sys/types.h>
#include "proc.h"

struct guard;

/* Prepares it, without the process, to remove files in `dir` whose names are
 * spool.c's or secret.c's and begin with `prefix`; both are the caller's. NULL,
 * with errno: there is no memory to share. */
struct guard *guard_open(const char *dir, const char *prefix);

/* Can /proc be used (proc_visible)? Asked once, by guard_open(). */
bool guard_visible(const struct guard *);

/* Begins the process if it does not run, and returns a zeroed group; it is
 * taken as long as its id is not 0. NULL, with errno: the process can't be
 * begun, or there are too many groups. */
struct proc_group *guard_group(struct guard *);

/* Begins the process likewise; it removes this file too, of an absolute name
 * that is nobody else's, until NULL says that the file is finished (X3). -1,
 * with errno: the process can't be begun, or the name is too long. */
int guard_file(struct guard *, const char *path);

/* Reaps the children that boris has inherited, not begun (E8). */
void guard_reap(struct guard *);

/* What comes through this pipe or terminal, the process shall read once boris
 * has gone: who says good-bye is not ended by SIGPIPE (L1). */
void guard_share(struct guard *, int fd);

/* The process's pid, 0 if it does not run: also in a process from which boris
 * was forked, which has inherited it. */
pid_t guard_pid(const struct guard *);

/* Kills the process, unless a group is still taken. NULL is fine. */
void guard_free(struct guard *);

#endif
