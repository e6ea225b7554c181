/* SPDX-License-Identifier: ISC */
#ifndef RUN_SPAWN_H
#define RUN_SPAWN_H

/* Starts programs in child processes with the right descriptors, signals and
 * directory (C3, E1, E10, E11). A child is the leader of a new session and
 * process group. */

#include <stdbool.h>

#include "run/mounts.h"
#include "run/proc.h"

/* file that contains the OOM score of the process that opens it (E10) */
#define SPAWN_OOM_SCORE "/proc/self/oom_score_adj"

/* Prepares boris before it starts its first child. Signals that were ignored
 * get their default action (C3). If `visible` is false, /proc does not show
 * boris's children. boris then becomes a subreaper, so that it inherits
 * orphaned descendants. */
void spawn_prepare(bool visible);

/* Directories for the start of a program, as absolute paths */
struct spawn_dirs {
	const char *start;    /* directory in which the program starts */
	const char *tracked;  /* directory to check if the program cannot start
	                       * in `start` (D5) */
	const char *workdir;  /* another directory to check if the program
	                       * cannot start in `start` */
};

/* The description of a program to start */
struct spawn_program {
	const char *path;     /* absolute path of the program */
	char **argv;
	char **env;
	const struct spawn_dirs *dirs;
	/* descriptors of the child, as pairs of a descriptor of boris and its
	 * number in the child, with -1 at the end. The pairs must include the
	 * numbers 0 to 2, and only the last number may be above 2. The
	 * descriptors are copied with dup2() in this order, so no number may
	 * equal boris's descriptor in a later pair. */
	const int *fds;
	bool terminal;        /* true if descriptor 0 is the program's terminal
	                       * (I1) */
	int oom_score;        /* descriptor of boris's own oom_score_adj file,
	                       * open for writing, or -1 */
	struct mounts *mounts;  /* mount table, which shows whether a directory
	                         * may hang (E11) */
};

/* Starts a program as the leader of a zeroed process group. The child itself
 * changes to the directory, because that may block forever on a hung mount.
 * Returns the non-blocking reading end of a pipe, or -1 with errno set if no
 * child was created. At end of file on the pipe, the program has started or the
 * child has exited, and the group's `outcome` is complete. Sets lacks_fd of the
 * group if a descriptor above 2 is not available. */
int spawn(struct proc_group *, const struct spawn_program *);

/* Closes the given descriptor and all higher ones. */
void spawn_close_from(int lowest);

#endif
