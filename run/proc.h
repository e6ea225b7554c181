/* SPDX-License-Identifier: ISC */
#ifndef RUN_PROC_H
#define RUN_PROC_H

/* Finds and terminates the processes of commands (E1-E3, T1).
 *
 * The shell of a command leads a session and a process group. Its pid is the
 * number of both. All processes in the session belong to the command, including
 * those in other process groups, such as the jobs of `set -m`.
 *
 * boris must never signal a number that the kernel may have reused (E3). If
 * /proc is usable, the shell therefore stays a zombie until no other process of
 * the command is left. Otherwise it is reaped when its exit status is known.
 * The number of its process group is then in use as long as the group has a
 * member. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

enum {
	PROC_GRACE = 5000,   /* time from SIGTERM to SIGKILL, ms */
	PROC_GIVE_UP = 5000  /* time from SIGKILL until boris gives up, ms */
};

/* The state of a process or process group. The state of a group is the greatest
 * state of its processes. */
enum proc_found {
	PROC_GONE,     /* only zombies are left */
	PROC_FOREIGN,  /* alive, but boris is not permitted to signal it */
	PROC_UNKNOWN,  /* the state cannot be determined */
	PROC_LIVES
};

/* The progress of starting a program, as recorded by the child process */
struct proc_outcome {
	enum { PROC_FORKED, PROC_ENTERING, PROC_ENTERED } stage;
	int error;     /* errno if the start has failed, or 0 */
	bool tracked;  /* true if the child could change to spawn_dirs.tracked
	                * after it failed to change to spawn_dirs.start */
	bool workdir;  /* true if the child could change to spawn_dirs.workdir
	                * after it failed to change to spawn_dirs.start */
};

/* The kind of a command, which determines whether another signal is sent
 * between the first SIGTERM and SIGKILL */
enum proc_kind {
	PROC_PLAIN,        /* no further signal */
	PROC_WITH_TRAP,    /* a shell with an EXIT trap, which gets a second
	                    * SIGTERM if it has just started (E2 d) */
	PROC_ON_TERMINAL   /* a command in a terminal, which gets SIGHUP,
	                    * because interactive shells ignore SIGTERM (T4
	                    * b) */
};

/* A process group and the progress of its termination (E2). It is in memory
 * that boris shares with its guard process, which continues the termination if
 * boris is killed (L4). */
struct proc_group {
	struct list_node node;  /* node in the list that is passed to the
	                         * functions below */
	pid_t id;             /* pid of the leader; 0 if no process was
	                       * started */
	int64_t started;      /* time of the start, ms */
	enum proc_kind kind;
	int send;             /* signal that proc_signal() must send, or 0 */
	/* The next four members are set by proc_stop(). */
	int64_t retry_at;     /* time at which a shell with a trap gets SIGTERM
	                       * again, ms, or NEVER (E2 d) */
	int64_t hangup_at;    /* time at which SIGHUP is due, ms, or NEVER
	                       * (T4 b) */
	int64_t kill_at;      /* time at which SIGKILL is due, ms; 0 if the
	                       * group is not being terminated */
	bool term_children;   /* true if SIGTERM must be sent again after the
	                       * leader has exited (E2 c) */
	struct proc_outcome outcome;
	bool lacks_fd;        /* true if dup2() to a descriptor above 2 has
	                       * failed */
	bool leader_ended;    /* true if the leader is known to be a zombie;
	                       * only set in the leader's parent process */
	bool leader_foreign;  /* true if boris was not permitted to signal the
	                       * leader at the last attempt */
	enum proc_found found;  /* result of the last poll */
	pid_t survivor;       /* pid of a process that the last poll found, or
	                       * 0 */
	bool leader_lives;    /* true if the last poll found the leader alive */
	bool other_groups;    /* true if the last poll found processes in other
	                       * process groups of the session */
};

/* Returns whether a child process has exited. The child stays a zombie. Sets
 * *status to its exit status as a shell reports it, and *signalled to true if a
 * signal has killed it. */
bool proc_ended(pid_t, int *status, bool *signalled);

/* Reads the start of a short file in /proc/PID, or in /proc if pid is 0, as a
 * string. Returns the number of bytes, or -1 with errno set. */
ssize_t proc_read(pid_t, const char *file, char *text, size_t size);

/* Fields of /proc/PID/stat for a process or thread */
struct proc_stat {
	char state;     /* 'T' if stopped, 'Z' or 'X' if exited, 0 if unknown */
	pid_t parent;
	pid_t group;
	int threads;    /* number of threads */
	int exit_code;  /* signal that has stopped the process; 0 if unknown */
};

/* Reads /proc/PID/stat. Returns 0, or -1 with errno set. */
int proc_stat(pid_t, struct proc_stat *);

/* Returns whether /proc is usable: it must show the same pids as getpid() and
 * fork(), and the last pid in /proc/loadavg. It is not usable in gVisor, or in
 * a pid namespace whose /proc belongs to an outer namespace. */
bool proc_visible(void);

/* Find out which process groups of a list contain processes other than zombies.
 * One search through /proc covers the complete list, and no process can escape
 * it by forking. The parent of the leaders calls proc_poll(). Other processes
 * call proc_poll_orphans(). */
void proc_poll(const struct list *groups, bool visible, int64_t now);
void proc_poll_orphans(const struct list *groups, bool visible);

/* Records the kind and the start of a command in a zeroed process group. */
void proc_prepare(struct proc_group *, enum proc_kind, int64_t now);
/* Starts to terminate a process group: sets `send` to SIGTERM (E2). */
void proc_stop(struct proc_group *, int64_t now);
/* Sets `send` to the next signal if that signal is due now. `leaderless` is
 * true if the leader has exited but other processes are left. */
void proc_stop_due(struct proc_group *, bool leaderless, int64_t now);
/* Returns the time, in ms, at which proc_stop_due() must be called next. */
int64_t proc_stop_due_at(const struct proc_group *);

/* Sends the signals that are due to all processes of the groups, and SIGCONT
 * after each SIGTERM. Sets leader_foreign if boris is not permitted to signal
 * the leader, for example after setuid(0). Each group must have a member or an
 * unreaped leader. */
void proc_signal(const struct list *groups);

#endif
