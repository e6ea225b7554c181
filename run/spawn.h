/* SPDX-License-Identifier: ISC */
#ifndef RUN_SPAWN_H
#define RUN_SPAWN_H

/* Starts programs in child processes, and sets up their descriptors, signals
 * and directory (C3, E1, E10, E11). Each child is the leader of a new session
 * and process group. */

#include <stdbool.h>

#include "run/mounts.h"
#include "run/proc.h"

/* path of the file through which a process reads and changes its own OOM score
 * (E10) */
#define SPAWN_OOM_SCORE "/proc/self/oom_score_adj"

/* Prepares boris for starting children. Must be called before the first child
 * is started. Resets ignored signals to their default action (C3). `visible` is
 * true if /proc is usable. If /proc is not usable, boris becomes a subreaper on
 * Linux, so that it inherits orphaned descendants. */
void spawn_prepare(bool visible);

/* The initial directory of a program, and two other directories. If the child
 * cannot change to the initial directory, it checks whether it can change to
 * the others, and records the results in struct proc_outcome. All paths are
 * absolute. */
struct spawn_dirs {
	const char *start;    /* initial directory of the program */
	const char *tracked;  /* session's directory, checked if the change to
	                       * `start` fails (D5) */
	const char *workdir;  /* directory given with --workdir, checked
	                       * likewise */
};

/* A program to start in a child process */
struct spawn_program {
	const char *path;     /* absolute path of the program */
	char **argv;
	char **env;
	const struct spawn_dirs *dirs;
	/* the child's descriptors: pairs of a descriptor in boris and its
	 * number in the child, terminated by -1. The child's numbers must
	 * include 0 to 2, and only the last one may be above 2. dup2() copies
	 * the descriptors in this order. A child's number must not equal
	 * boris's descriptor in a later pair; otherwise that descriptor would
	 * be overwritten before it is copied. */
	const int *fds;
	bool terminal;        /* true if descriptor 0 is the program's terminal
	                       * (I1) */
	int oom_score;        /* descriptor of boris's own oom_score_adj file,
	                       * open for writing, or -1 */
	struct mounts *mounts;  /* mount table, used to detect file systems that
	                         * may hang (E11) */
};

/* Starts a program as the leader of a zeroed process group. The child itself
 * changes to the directory, because that may block forever on a hung mount.
 * Returns the non-blocking read end of a pipe, or -1 with errno set if no child
 * was created. At end of file on the pipe, the program has started or the child
 * has exited, and the group's `outcome` is complete. Sets the group's
 * `lacks_fd` if a descriptor above 2 is not available. */
int spawn(struct proc_group *, const struct spawn_program *);

/* Closes the given descriptor and all higher ones. */
void spawn_close_from(int lowest);

#endif
