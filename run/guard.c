/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "run/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tempfile.h"
#include "run/spawn.h"

/* The guard, boris's second process
 *
 * If boris is killed with SIGKILL, or must exit before its commands have
 * exited, the guard terminates the remaining process groups and removes boris's
 * temporary files.
 *
 *	    boris                                guard
 *	      |  fork, before the first command    |
 *	      +----------------------------------->|
 *	      |                                    |  blocks in read()
 *	      |  writes struct guard, which        |  on the pipe
 *	      |  both processes share              |
 *	      |                                    |
 *	    exits or is killed: the kernel         |
 *	    closes the write end of the pipe ----->|  read() returns 0
 *	                                           |  reads struct guard
 *	                                           |  removes the files
 *	                                           |  terminates the groups
 *	                                         exits
 *
 * Only boris holds the write end of the pipe, so the guard notices every way in
 * which boris can exit. The guard executes no other program.
 *
 * A process group is in use from the moment when its id is set, by the child
 * before it calls exec, until boris sets the id to 0 because all processes of
 * the group have exited. The state of a group that is being terminated is in
 * struct proc_group, so the guard continues at the point that boris had
 * reached. If the guard was killed, boris starts a new one before the next
 * command. */

enum {
	GROUPS = 4096,  /* maximum number of process groups in use */
	PACE = 20       /* poll interval for the process groups, in ms */
};

/* The state of the guard process, in memory that it shares with boris */
struct guard {
	struct proc_group group[GROUPS];
	int used;      /* number of entries of `group` that have ever been
	                * used */
	const struct options *options;
	volatile bool unfinished;  /* true while an edit is unfinished and the
	                            * guard must remove `file` */
	char file[4096];
	pid_t pid;     /* pid of the guard process, or 0 if it is not running */
	int pipe;      /* write end of the pipe, open until boris exits */
};

static void
remove_files(const struct guard *g)
{
	if (g->unfinished)
		unlink(g->file);
	tempfile_remove_all(g->options->files);
}

/* Sets `list` to all process groups that are in use. A group is in use if its
 * id is not 0. */
static void
list_used(struct guard *g, struct list *list)
{
	struct proc_group *at;

	*list = (struct list){ NULL, NULL };
	for (at = g->group; at < g->group + g->used; at++) {
		if (at->id != 0)
			list_append(list, &at->node);
	}
}

static bool
has_used(const struct guard *g)
{
	const struct proc_group *at;

	for (at = g->group; at < g->group + g->used; at++) {
		if (at->id != 0)
			return true;
	}
	return false;
}

/* Uses the result of proc_poll_orphans() to decide which signal a process group
 * must receive next. If no process is left that the guard is permitted to
 * signal, sets the group's id to 0. The guard then no longer tries to terminate
 * the group. */
static void
advance_group(struct proc_group *group, int64_t now)
{
	if (group->found == PROC_GONE || group->found == PROC_FOREIGN)
		group->id = 0;
	else if (group->kill_at == 0)
		proc_stop(group, now);
	else
		proc_stop_due(group, !group->leader_lives, now);
}

/* Terminates all process groups (E2). Does not send SIGTERM again to groups
 * that boris was already terminating (L1). */
static void
stop_groups(struct guard *g)
{
	int64_t now = clock_now(), give_up = now + PROC_GRACE + PROC_GIVE_UP;
	struct list groups;
	struct list_node *n;
	struct proc_group *at;

	for (at = g->group; at < g->group + g->used; at++) {
		at->term_children = false;
		/* The guard is not the parent of the group leaders, so it
		 * cannot tell with waitid() whether they are zombies. */
		at->leader_ended = false;
	}
	while (has_used(g) && now < give_up) {
		list_used(g, &groups);
		proc_poll_orphans(&groups, g->options->visible);
		for (n = groups.first; n != NULL; n = n->next)
			advance_group(LIST_ITEM(n, struct proc_group, node),
			    now);
		list_used(g, &groups);
		proc_signal(&groups);
		poll(NULL, 0, PACE);
		now = clock_now();
	}
}

/* Runs the guard process, in which all signals are blocked. The guard closes
 * all inherited descriptors except the read end of the pipe, so that the client
 * notices at once when boris exits. It calls setsid(), because a client may
 * send SIGKILL to boris's process group. */
static void
run_guard(struct guard *g, int pipe)
{
	char byte;

	if (setsid() < 0 || dup2(pipe, 0) < 0)
		_exit(1);
	spawn_close_from(1);
	while (read(0, &byte, 1) > 0)
		;
	remove_files(g);
	stop_groups(g);
	/* Try again to remove the files, in case a system call failed during
	 * the first call to remove_files() (E7). */
	remove_files(g);
	_exit(0);
}

struct guard *
guard_open(const struct options *options)
{
	struct guard *g = mem_shared(sizeof(*g));

	g->options = options;
	return g;
}

/* Returns the first entry of `group` with the given id, or NULL if there is no
 * such entry. Unused entries have the id 0. */
static struct proc_group *
find_group(struct guard *g, pid_t id)
{
	struct proc_group *at = g->group;

	while (at < g->group + g->used && at->id != id)
		at++;
	return at < g->group + g->used ? at : NULL;
}

/* Checks the guard process: resumes it if it is stopped, and reaps it if it has
 * exited. Returns whether it is running. */
static bool
check_process(struct guard *g)
{
	int status = 0;
	bool changed = g->pid > 0 &&
	    waitpid(g->pid, &status, WNOHANG | WUNTRACED) != 0;

	if (changed && WIFSTOPPED(status)) {
		kill(g->pid, SIGCONT);
	} else if (changed) {
		close(g->pipe);
		g->pid = 0;
	}
	return g->pid > 0;
}

/* Starts the guard unless it is already running. Returns 0, or -1 with errno
 * set. */
static int
start_process(struct guard *g)
{
	sigset_t all, before;
	int end[2];
	pid_t pid;

	if (check_process(g))
		return 0;
	if (fd_pipe(end) < 0)
		return -1;
	fd_nonblocking(end[1]);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		run_guard(g, end[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(end[0]);
	if (pid < 0) {
		fd_close(&end[1]);
		return -1;
	}
	g->pid = pid;
	g->pipe = end[1];
	/* Wait until the guard has called setsid(). Until then, a SIGKILL sent
	 * to boris's process group would kill the guard too. */
	while (check_process(g) && getsid(pid) != pid)
		poll(NULL, 0, 1);
	/* If the guard was killed before it called setsid(), fail with
	 * EAGAIN. */
	errno = EAGAIN;
	return g->pid > 0 ? 0 : -1;
}

struct proc_group *
guard_group(struct guard *g)
{
	struct proc_group *at;

	if (start_process(g) < 0)
		return NULL;
	at = find_group(g, 0);
	if (at == NULL && g->used < GROUPS)
		at = &g->group[g->used++];
	/* Fail with EAGAIN if too many process groups are in use. */
	errno = EAGAIN;
	return at != NULL ? memset(at, 0, sizeof(*at)) : NULL;
}

int
guard_file(struct guard *g, const char *path)
{
	g->unfinished = false;
	if (path == NULL)
		return 0;
	if (strlen(path) >= sizeof(g->file)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* Store the complete path before `unfinished` becomes true. Otherwise
	 * the guard could remove the wrong file. The call to start_process()
	 * between the two stores keeps the compiler from reordering them. */
	memcpy(g->file, path, strlen(path) + 1);
	g->unfinished = start_process(g) == 0;
	return g->unfinished ? 0 : -1;
}

void
guard_reap(struct guard *g)
{
	/* If the guard process was killed but a command's process group is
	 * still in use, start a new guard. */
	if (has_used(g))
		start_process(g);
	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid == 0)
			return;
		/* Do not reap this shell here. exec.c reaps it when all
		 * processes of its command have exited. */
		if (find_group(g, info.si_pid) != NULL)
			return;
		waitpid(info.si_pid, NULL, 0);
	}
}

pid_t
guard_pid(const struct guard *g)
{
	return g->pid;
}

void
guard_end(struct guard *g)
{
	if (has_used(g)) {
		start_process(g);
	} else if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		waitpid(g->pid, NULL, 0);
		close(g->pipe);
		g->pid = 0;
	}
}
