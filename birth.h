#ifndef BIRTH_H
#define BIRTH_H

/* The birth of a shell: the one place where a process of boris's becomes
 * another program, with the descriptors, signals, directory and session that
 * it is to have (SPEC.md C3, E1). */

#include <stdbool.h>
#include <sys/types.h>

/* All of it the caller's. */
struct birth {
	const char *shell, *dir;  /* absolute; which program, and where */
	char **argv, **env;
	int in, out, err;  /* what becomes 0, 1 and 2 */
	int fd;            /* a copy of 1 goes here, 3 to 9; 0: there is none */
	bool crowded;      /* many descriptors are open that it has no use of */
};

/* Descriptors from here on are not copied for a child when there is a crowd
 * of them. */
enum { BIRTH_OTHERS = 64 };

/* Before the first birth: signals that were ignored when boris started are
 * at their default from now on (C3). Seventy system calls, which would be a
 * tenth of boris's start, and a client waits for that. */
void birth_prepare(void);

/* The pid of the child, which has become the program and leads a session of
 * its own; or -1 with errno, and *dir_failed says whether it was `dir` that
 * could not be entered. No child is left then. */
pid_t birth_give(const struct birth *, bool *dir_failed);

/* pipe(), both ends closed on exec: 0, or -1 with errno */
int birth_pipe(int end[2]);

#endif
