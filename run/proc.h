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
	PROC_GRACE = 5000,   /* delay between SIGTERM and SIGKILL, in ms */
	PROC_GIVE_UP = 5000  /* time to wait for processes to exit after
	                      * SIGKILL, in ms */
};

/* The state of a process or process group. If the processes of a group have
 * different states, the group has the state that comes last in this enum. */
enum proc_found {
	PROC_GONE,     /* only zombies are left */
	PROC_FOREIGN,  /* alive, but boris is not permitted to signal it */
	PROC_UNKNOWN,  /* the state cannot be determined */
	PROC_LIVES
};

/* How far the child process got in starting a program, as recorded by the
 * child */
struct proc_outcome {
	enum { PROC_FORKED, PROC_ENTERING, PROC_ENTERED } stage;
	int error;     /* errno value if the start failed, otherwise 0 */
	bool tracked;  /* true if chdir() failed for spawn_dirs.start but
	                * succeeded for spawn_dirs.tracked */
	bool workdir;  /* true if chdir() failed for spawn_dirs.start but
	                * succeeded for spawn_dirs.workdir */
};

/* The kind of command, which determines the signals that boris sends between
 * the first SIGTERM and SIGKILL. A table in proc.c lists these signals. */
enum proc_kind {
	PROC_PLAIN,        /* command with no terminal and no EXIT trap */
	PROC_WITH_TRAP,    /* command whose shell runs boris's EXIT trap */
	PROC_ON_TERMINAL   /* command in a terminal */
};

/* A process group, and the progress of its termination (E2). boris shares this
 * struct's memory with the guard process, which completes the termination if
 * boris is killed (L4). */
struct proc_group {
	struct list_node node;  /* node in a list of process groups */
	pid_t id;             /* pid of the leader; 0 if no process was
	                       * started */
	int64_t started;      /* start time of the command, in ms */
	enum proc_kind kind;
	int send;             /* signal that proc_signal() must send, or 0 */
	/* The next four members are set by proc_stop(). */
	int64_t retry_at;     /* time at which a second SIGTERM is due, in ms,
	                       * or NEVER */
	int64_t hangup_at;    /* time at which SIGHUP is due, in ms, or NEVER */
	int64_t kill_at;      /* time at which SIGKILL is due, in ms; 0 if the
	                       * process group is not being terminated */
	bool term_children;   /* true if boris must send SIGTERM again once the
	                       * group leader has exited */
	struct proc_outcome outcome;
	bool lacks_fd;        /* true if dup2() to a descriptor above 2
	                       * failed */
	bool leader_ended;    /* true if the leader is known to be a zombie; set
	                       * only by the leader's parent process */
	bool leader_foreign;  /* true if the last attempt to signal the leader
	                       * failed with EPERM */
	enum proc_found found;  /* result of the last poll */
	pid_t survivor;       /* pid of a remaining process found by the last
	                       * poll, or 0 */
	bool leader_lives;    /* true if the last poll found the leader alive */
	bool other_groups;    /* true if the last poll found processes in other
	                       * process groups of the same session */
};

/* Returns whether a child process has exited, but does not reap the child. If
 * the child has exited, sets *status to the exit status that a shell would
 * report, and *signalled to whether a signal killed the child. */
bool proc_ended(pid_t, int *status, bool *signalled);

/* Reads a short file in /proc/PID, or in /proc if pid is 0, as a string. Reads
 * only the start of the file if `size` is too small for all of it. Returns the
 * number of bytes read, or -1 with errno set. */
ssize_t proc_read(pid_t, const char *file, char *text, size_t size);

/* Fields of /proc/PID/stat for a process or thread */
struct proc_stat {
	char state;     /* state letter, such as 'T' for stopped or 'Z' for
	                 * zombie; 0 if unknown */
	pid_t parent;
	pid_t group;
	int threads;    /* number of threads */
	int exit_code;  /* signal that stopped the process; 0 if unknown */
};

/* Reads the fields of a struct proc_stat from /proc/PID/stat. Returns 0, or -1
 * with errno set. */
int proc_stat(pid_t, struct proc_stat *);

/* Returns whether /proc is usable for finding processes. The pids in /proc must
 * be those that getpid() and fork() return, and /proc/loadavg must report the
 * last allocated pid. /proc is not usable on systems other than Linux, in
 * gVisor, or in a pid namespace whose /proc belongs to an outer namespace. */
bool proc_visible(void);

/* Find out which process groups in a list contain processes other than zombies,
 * and record the result in each group. `visible` is true if /proc is usable.
 * One search through /proc then covers the entire list, and no process can
 * escape the search by forking. The parent process of the group leaders must
 * call proc_poll(). All other processes must call proc_poll_orphans(), because
 * they cannot wait for the leaders with waitpid(). */
void proc_poll(const struct list *groups, bool visible, int64_t now);
void proc_poll_orphans(const struct list *groups, bool visible);

/* Initializes a zeroed process group for a command of the given kind. `now` is
 * the command's start time, in ms. */
void proc_prepare(struct proc_group *, enum proc_kind, int64_t now);
/* Starts terminating a process group (E2): sets `send` to SIGTERM, which the
 * next call to proc_signal() sends. */
void proc_stop(struct proc_group *, int64_t now);
/* Sets `send` to the next signal for a process group that is being terminated.
 * Leaves `send` unchanged if no signal is due. `leaderless` is true if the
 * leader has exited but other processes remain in the group. */
void proc_stop_due(struct proc_group *, bool leaderless, int64_t now);
/* Returns the time, in ms, at which proc_stop_due() must be called next. */
int64_t proc_stop_due_at(const struct proc_group *);

/* Sends the signal in `send` to all processes of each group, and sets `send` to
 * 0. Sends SIGCONT after SIGTERM. Each group must have a member or an unreaped
 * leader. Sets `leader_foreign` if boris is not permitted to signal the group's
 * leader, for example because the leader has called setuid(0). */
void proc_signal(const struct list *groups);

#endif
