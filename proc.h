#ifndef PROC_H
#define PROC_H

/* Processes: how a shell is begun, which process groups live, how they are
 * signalled, terminals, random numbers (SPEC C3, E1-E3, I1, T1).
 *
 * Each shell leads a session and a process group; its pid is the number of
 * both. A process belongs to the command if it is in that session, also when it
 * has a group of its own (`set -m` gives one to each job). The leader stays a
 * zombie until the group has gone, so that the number can't pass to a stranger
 * (E3). kill(-group, 0) succeeds as long as there is the zombie, so whether
 * anything else lives takes a look into /proc. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A child to be started; all of it is the caller's. */
struct proc_child {
	char **argv, **env;   /* argv[0]: the program, absolute */
	const char *dir;      /* absolute; where it starts */
	const int *fd;        /* what becomes its descriptors 0, 1 and 2; and
	                       * `extra`, or fd[3] is -1 */
	int extra;
	bool terminal;        /* descriptor 0 is to control it (I1) */
	volatile pid_t *slot;  /* the child writes its pid there; or NULL */
};

/* Before the first child: signals that were ignored when boris started are at
 * their default from now on (C3). Where /proc can't be used, boris becomes the
 * parent of all below it that lose theirs. */
void proc_prepare(void);

/* In a forked child: the signals that boris handles are at their default, none
 * is blocked. */
void proc_default_signals(void);

/* Closes all descriptors from `lowest` on, now or at the next exec. */
void proc_close_from(int lowest, bool on_exec);

/* Begins the program. Returns its pid; or -1 with errno, and no child is left.
 * boris's own directory is / afterwards. */
pid_t proc_start(const struct proc_child *);

/* Two ends of a pipe that no program inherits, end[ours] non-blocking, or both
 * where that is -1. Returns 0, or -1 with errno. */
int proc_pipe(int end[2], int ours);

/* A terminal of 50 lines and 200 columns that no program inherits: end[0] is
 * its master, non-blocking, end[1] what a program reads and writes (I1).
 * Returns 0, or -1 with errno. */
int proc_terminal(int end[2]);

enum { PROC_GRACE = 5000 };  /* ms from SIGTERM to SIGKILL (E2) */

struct proc_group {
	struct proc_group *next;  /* in a list; NULL: none */
	pid_t id;
	bool young;  /* its leader was begun so lately that pids have not been
	              * given out all around since */
	bool orphaned;  /* boris is not the parent: the leader counts too */
	bool lives;  /* what proc_look() found */
	bool led;    /* so does its leader, if it counts */
	bool scattered;  /* of them, some have other groups of the session */
};

/* Finds out which groups of a list live; the leader of each is a zombie by now.
 * Zombies count as gone. No process escapes it by forking. One walk through
 * /proc serves all groups. */
void proc_look(struct proc_group *list);

/* Signals all processes of the groups; after SIGTERM SIGCONT too, for those
 * that are stopped (E2). No leader has been reaped, so the numbers are ours. */
void proc_signal(const struct proc_group *list, int sig);

enum { PROC_RANDOM = 16 };  /* bytes asked for at a time, at most */

/* n random bytes as 2n lowercase hexadecimal digits and a NUL. False: the host
 * has no source of random numbers, or no descriptor to read it (T1). */
bool proc_random(char *hex, size_t n);

#endif
