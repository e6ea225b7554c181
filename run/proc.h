#ifndef RUN_PROC_H
#define RUN_PROC_H

/* Processes: how a shell is begun, which process groups live, how they are
 * ended (SPEC C3, E1-E3, T1). Each shell leads a session and
 * a process group; its pid is the number of both. A process belongs to the
 * command if it is in that session, also when it has a group of its own (`set
 * -m` gives one to each job). The leader stays a zombie until the group has
 * gone, so that no stranger gets the number (E3). Since kill() finds zombies
 * too, it takes a walk through /proc to see whether anything else lives. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/options.h"

enum { PROC_GRACE = 5000, PROC_GIVE_UP = 5000 };  /* ms to SIGKILL, and after */
/* PROC_FOREIGN: processes live, but boris may not signal any of them. */
enum proc_found { PROC_GONE, PROC_FOREIGN, PROC_LIVES, PROC_UNKNOWN };

/* How far the start of a program has come; its child fills it in. */
struct proc_outcome {
	enum { PROC_FORKED, PROC_ENTERING, PROC_ENTERED } stage;
	int error;            /* errno: why the start failed; 0: it has not */
	bool tracked, workdir;  /* whether these of proc_dirs can be entered,
	                       * if the start failed while PROC_ENTERING */
};

/* A process group, and how far its end has come (E2). It is in memory that
 * boris shares with its guard, which goes on where boris left off (L4). */
struct proc_group {
	struct proc_group *next;  /* in a list; NULL: the last one */
	pid_t id;             /* its leader's pid; 0: none was begun */
	int64_t started;      /* ms */
	int follow_up;        /* signal some ms after SIGTERM, or 0. SIGHUP: a
	                       * terminal (T4); SIGTERM: bash, a trap (E2) */
	int64_t follow_up_at;  /* ms; when it is due */
	int64_t kill_at;      /* ms; when SIGKILL is; 0: nobody ends it yet */
	bool repeats;         /* SIGTERM comes also when its leader has ended */
	int send;             /* for proc_signal(); 0: nothing */
	struct proc_outcome outcome;
	bool lacks_fd;        /* dup2() failed for one of `fds` above 2 */
	bool leader_ended;    /* its leader is known to be a zombie of ours */
	bool leader_foreign;  /* boris may not signal its leader, as last tried */
	enum proc_found found;  /* by proc_poll(): does anything of it live? */
	pid_t survivor;       /* pid of a process that proc_poll() has found; 0:
	                       * none, or its pid is not known */
	bool led;             /* its leader lives */
	bool elsewhere;       /* some of it have other groups of its session */
};

/* Before the first child: signals found ignored are at their default from now
 * on (C3). Where /proc is not visible boris becomes the parent of all below it
 * that lose theirs, elsewhere it does not. */
void proc_prepare(bool visible);
/* The kernel's file about the process that opens it (E10) */
#define PROC_OOM_SCORE "/proc/self/oom_score_adj"
pid_t proc_fork(void);  /* fork() */
void proc_close_from(int lowest);  /* this descriptor and all above it */
/* Two ends of a pipe that no program inherits, end[ours] non-blocking, or both
 * where that is -1. Returns 0, or -1 with errno. */
int proc_pipe(int end[2], int ours);

/* Reads from a non-blocking pipe or terminal, as read() does, but is never
 * interrupted by a signal. */
ssize_t proc_take(int end, void *to, size_t n);

/* The directories of a start, absolute: where the program starts; and, if that
 * directory cannot be entered, two others to try (D5). */
struct proc_dirs { const char *start, *tracked, *workdir; };

/* A program to be started */
struct proc_program {
	const char *path;         /* absolute */
	char **argv;
	char **env;
	const struct proc_dirs *dirs;
	/* Pairs of a descriptor of boris's and its number in the child, at
	 * least for 0 to 2, then -1. They are copied by dup2() in that order,
	 * so no number may be a later pair's source, and only the last number
	 * may be above 2. */
	const int *fds;
	bool terminal;            /* descriptor 0 is its terminal (I1) */
};

/* Starts the program in a child process, as the leader of a zeroed group. The
 * group's lacks_fd is set if the number above 2 is not available. The child
 * changes to its directory itself, since that may take for ever on a hung mount.
 * Returns the non-blocking reading end of a pipe, which reaches its end once the
 * program has started or the child has exited: then the group's outcome is
 * complete. Returns -1 with errno set if there is no child. */
int proc_spawn(struct proc_group *, const struct options *,
               const struct proc_program *);

/* Has that child ended? It stays a zombie. *status is as in a shell. */
bool proc_ended(pid_t, int *status, bool *signalled);

/* The start of a short file in /proc/PID, or in /proc if pid is 0, with a NUL
 * behind it. The number of bytes, or -1 with errno. */
ssize_t proc_read(pid_t, const char *file, char *text, size_t size);
/* Does /proc show the pids that our own calls return, and which was given last?
 * Not in a pid namespace that sees an outer /proc, nor in gVisor. */
bool proc_visible(void);

/* Finds out which groups of a list live. Zombies do not count. parent: their
 * leaders are our children, and do not count once they have ended; else leaders
 * count, too. One walk through /proc serves all, and no process escapes it by
 * forking. */
void proc_poll(struct proc_group *list, bool visible, bool parent, int64_t now);

/* Begin to end a group, and go on with that: set `send` to what is due (E2). */
void proc_stop(struct proc_group *, int64_t now);
void proc_stop_due(struct proc_group *, bool leaderless, int64_t now);

/* Sends what is due to all processes of the groups, and SIGCONT behind SIGTERM.
 * Finds out whether the leader belongs to another user, as after setuid(0).
 * Each group's number must still be held, by its leader or another member. */
void proc_signal(struct proc_group *list);

#endif
