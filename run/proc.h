#ifndef RUN_PROC_H
#define RUN_PROC_H

/* Process groups: which of them live, and how they are ended (E1-E3, T1).
 *
 * Each shell leads a session and a process group; its pid is the number of
 * both. A process belongs to the command if it is in that session, also if it
 * has a group of its own (`set -m` gives one to each job). With /proc, the
 * leader stays a zombie until nothing of the group lives, so that the kernel
 * gives its number to no other process (E3). Without /proc, the leader is
 * reaped as soon as its status is known. The number stays taken while a child
 * of boris is in the group. On systems where init inherits orphans, it stays
 * taken only while the group has a member. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

enum {
	PROC_GRACE = 5000,   /* ms from SIGTERM to SIGKILL */
	PROC_GIVE_UP = 5000  /* ms from SIGKILL until boris gives up */
};

/* What is found of a process or a group. Of a group with several processes the
 * greatest value counts. */
enum proc_found {
	PROC_GONE,     /* nothing but zombies */
	PROC_FOREIGN,  /* it lives, but boris may not signal it */
	PROC_UNKNOWN,  /* it cannot be found out */
	PROC_LIVES
};

/* How far the start of a program has come; its child fills it in. */
struct proc_outcome {
	enum { PROC_FORKED, PROC_ENTERING, PROC_ENTERED } stage;
	int error;     /* errno: why the start failed; 0: it has not failed */
	bool tracked;  /* if it failed while PROC_ENTERING: whether the child
	                * could change to spawn_dirs.tracked */
	bool workdir;  /* likewise to spawn_dirs.workdir */
};

/* A process group, and how far its end has come (E2). It is in memory that
 * boris shares with its guard, which continues where boris has stopped (L4). */
struct proc_group {
	struct list_node node;  /* in the list that a function below is given */
	pid_t id;             /* its leader's pid; 0: none was started */
	int64_t started;      /* ms */
	int follow_up;        /* signal some ms after SIGTERM, or 0. SIGHUP: a
	                       * terminal (T4); SIGTERM: bash, a trap (E2) */
	int64_t follow_up_at;  /* when that is due, ms */
	int64_t kill_at;      /* when SIGKILL is due, ms; 0: not being ended */
	bool resend_term;         /* SIGTERM is sent again once its leader has
	                       * ended */
	int send;             /* signal for proc_signal(); 0: none */
	struct proc_outcome outcome;
	bool lacks_fd;        /* dup2() to a descriptor above 2 has failed */
	bool leader_ended;    /* its leader is known to be a zombie, a child of
	                       * this process */
	bool leader_foreign;  /* boris could not signal its leader last time */
	enum proc_found found;  /* result of the last poll */
	pid_t survivor;       /* pid of a process that the last poll has found;
	                       * 0: none, or its pid is not known */
	bool leader_lives;             /* the last poll has found its leader alive */
	bool other_groups;       /* the last poll has found processes in other
	                       * groups of its session */
};

/* Returns whether that child has ended; it stays a zombie. Sets *status as a
 * shell does. */
bool proc_ended(pid_t, int *status, bool *signalled);

/* Reads the start of a short file in /proc/PID, or in /proc if pid is 0, and
 * ends it with a NUL. Returns the number of bytes, or -1 with errno set. */
ssize_t proc_read(pid_t, const char *file, char *text, size_t size);

/* What /proc/PID/stat reports of a process or a thread */
struct proc_stat {
	char state;     /* 'T': stopped, 'Z' or 'X': ended; 0: unknown */
	pid_t parent;
	pid_t group;
	int threads;    /* number of threads */
	int exit_code;  /* if it is stopped: the signal; 0: unknown */
};

/* Returns 0, or -1 with errno set. */
int proc_stat(pid_t, struct proc_stat *);

/* Returns whether /proc can be used: its pids are those that getpid() and
 * fork() return here, and /proc/loadavg shows the pid that was given out last.
 * It cannot in a pid namespace that sees an outer /proc, nor in gVisor. */
bool proc_visible(void);

/* Finds out which groups of a list live. Zombies do not count. One walk through
 * /proc serves the whole list, and no process escapes it by forking.
 * proc_poll() is for the parent of the leaders, proc_poll_orphans() for another
 * process, which does not know of any leader that it has ended. */
void proc_poll(const struct list *groups, bool visible, int64_t now);
void proc_poll_orphans(const struct list *groups, bool visible);

/* Starts to end a group: sets `send` to SIGTERM (E2). */
void proc_stop(struct proc_group *, int64_t now);
/* Sets `send` to the signal that is due by now, if any. leaderless: the leader
 * has ended. */
void proc_stop_due(struct proc_group *, bool leaderless, int64_t now);

/* Sends what is due to all processes of the groups, and SIGCONT after SIGTERM.
 * Finds out whether the leader belongs to another user, as after setuid(0).
 * Each group's number must still be held, by its leader or another member. */
void proc_signal(const struct list *groups);

#endif
