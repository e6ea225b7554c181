#ifndef RUN_SPAWN_H
#define RUN_SPAWN_H

/* Starts programs: fork, descriptors, signals, directory, exec (C3, E1, E10,
 * E11). */

#include <stdbool.h>

#include "run/proc.h"

/* The kernel's file about the process that opens it (E10) */
#define SPAWN_OOM_SCORE "/proc/self/oom_score_adj"

/* Prepares boris before the first child: signals that were found ignored get
 * their default action from now on (C3). If boris cannot see its children in
 * /proc (`visible` is false), it becomes the parent of all descendants that
 * lose theirs. */
void spawn_prepare(bool visible);

/* The directories of a start, all absolute */
struct spawn_dirs {
	const char *start;    /* where the program starts */
	const char *tracked;  /* another one to try if that fails (D5) */
	const char *workdir;  /* likewise */
};

/* A program to be started */
struct spawn_program {
	const char *path;     /* absolute */
	char **argv;
	char **env;
	const struct spawn_dirs *dirs;
	/* Pairs of a descriptor of boris's and its number in the child, at
	 * least for 0 to 2, then -1. They are copied by dup2() in that order,
	 * so no number may be a later pair's source, and only the last number
	 * may be above 2. */
	const int *fds;
	bool terminal;        /* descriptor 0 is its terminal (I1) */
	int oom_score;        /* boris's own oom_score_adj, open for writing, or
	                       * -1 if the system has none */
};

/* Starts the program in a child process, as the leader of a zeroed group. The
 * group's lacks_fd is set if the number above 2 is not available. The child
 * changes to its directory itself, since that may take for ever on a hung
 * mount. Returns the non-blocking reading end of a pipe, which reaches its end
 * once the program has started or the child has exited: then the group's
 * outcome is complete. Returns -1 with errno set if there is no child. */
int spawn(struct proc_group *, const struct spawn_program *);

/* Closes the descriptor `lowest` and all above it. */
void spawn_close_from(int lowest);

#endif
