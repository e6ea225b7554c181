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

/* The second process
 *
 * boris may be killed by SIGKILL, or its host may have no time for it to end
 * its commands. Then its guard ends the process groups that are left and
 * removes boris's temporary files.
 *
 *	boris   writes struct guard and the groups           shared memory
 *	guard   reads them after boris has ended             shared memory
 *	guard   waits in read() for the end of this pipe <-- boris holds its end
 *
 * The guard is a child of boris, forked before the first command. It executes
 * no other program. boris alone holds the writing end of the pipe, so the
 * kernel closes that end when boris ends, in whatever way. Until then the guard
 * sleeps.
 *
 * A group is "taken" from when its id is set, by the child before exec, until
 * boris sets the id to 0 once nothing of the group lives. All that has been
 * decided about its end is in struct proc_group, so the guard continues there.
 * boris starts a new guard before a command if the old one was killed. */

enum {
	GROUPS = 4096,  /* number of groups that can be taken at a time */
	PACE = 20       /* ms from one poll of the groups to the next */
};

struct guard {  /* in memory that both processes share */
	struct proc_group group[GROUPS];
	int used;      /* number of groups that have ever been taken */
	const struct options *options;
	volatile bool unfinished;  /* an edit is; `file` is to be removed */
	char file[4096];
	pid_t pid;     /* 0: it does not run */
	int pipe;      /* boris's end of it, closed when boris ends */
};

static void
remove_files(const struct guard *g)
{
	if (g->unfinished)
		unlink(g->file);
	tempfile_remove_all(g->options->files);
}

/* Makes a list of all groups that are taken. */
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

/* Decides what is due for a group that was polled, as boris would have done. A
 * group that lives only in processes of another user is left alone. */
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

/* Ends all groups (E2). Those that boris has started to end have received
 * SIGTERM, and get no second one (L1). */
static void
stop_groups(struct guard *g)
{
	int64_t now = clock_now(), give_up = now + PROC_GRACE + PROC_GIVE_UP;
	struct list groups;
	struct list_node *n;
	struct proc_group *at;

	for (at = g->group; at < g->group + g->used; at++) {
		at->resend_term = false;
		/* The leaders are no children of this process. */
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

/* Runs in the guard's process. It keeps no descriptor of the client's open, so
 * that the client notices at once when boris ends. setsid() removes it from the
 * process group that a client may send SIGKILL to. All other signals are
 * blocked. */
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
	remove_files(g);  /* again, in case the first call failed (E7) */
	_exit(0);
}

struct guard *
guard_open(const struct options *options)
{
	struct guard *g = mem_shared(sizeof(*g));

	g->options = options;
	return g;
}

/* Returns the first group with that id, or with 0 the first that is free; NULL
 * if there is none. */
static struct proc_group *
find_group(struct guard *g, pid_t id)
{
	struct proc_group *at = g->group;

	while (at < g->group + g->used && at->id != id)
		at++;
	return at < g->group + g->used ? at : NULL;
}

/* Notes that the process has ended, or resumes it if it was stopped. Returns
 * whether it runs. */
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

/* Starts the process, unless it runs. Returns 0, or -1 with errno set. */
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
		fd_close(&end[1]);  /* errno stays */
		return -1;
	}
	g->pid = pid;
	g->pipe = end[1];
	/* Before its setsid() a SIGKILL to boris's group would end it, too. */
	while (check_process(g) && getsid(pid) != pid)
		poll(NULL, 0, 1);
	errno = EAGAIN;  /* the reason if it was killed meanwhile */
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
	errno = EAGAIN;  /* the reason if all are taken */
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
	/* The call between both stores keeps a compiler from reordering them,
	 * so that the guard never removes the file of an incomplete name. */
	memcpy(g->file, path, strlen(path) + 1);
	g->unfinished = start_process(g) == 0;
	return g->unfinished ? 0 : -1;
}

void
guard_reap(struct guard *g)
{
	/* A guard that was killed has a successor, if there is a group. */
	if (has_used(g))
		start_process(g);
	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid == 0)
			return;
		/* A leader is reaped when its command has ended. */
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
