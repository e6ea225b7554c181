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

enum {
	GROUPS = 4096,  /* that can be taken at a time */
	PACE = 20       /* ms from one poll of the groups to the next */
};

struct guard {  /* in memory that both processes share */
	struct proc_group group[GROUPS];
	int used;      /* so many of them have ever been taken */
	const struct options *options;
	volatile bool unfinished;  /* an edit: `file` is to be removed */
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

static struct proc_group *
taken_groups(struct guard *g)
{
	struct proc_group *list = NULL, *at;

	for (at = g->group; at < g->group + g->used; at++) {
		if (at->id == 0)
			continue;
		at->next = list;
		list = at;
	}
	return list;
}

/* Ends each group as boris would have done (E2). One that boris has begun to
 * end has had its SIGTERM, and gets no second one (L1). */
static void
end_groups(struct guard *g)
{
	int64_t now = clock_now(), give_up = now + PROC_GRACE + PROC_GIVE_UP;
	struct proc_group *list, *at;

	for (at = taken_groups(g); at != NULL; at = at->next)
		at->repeats = false;
	for (; (list = taken_groups(g)) != NULL && now < give_up;
	    now = clock_now()) {
		proc_poll(list, g->options->visible, false, now);
		for (at = list; at != NULL; at = at->next) {
			/* What belongs to another user is left alone. */
			if (at->found == PROC_GONE || at->found == PROC_FOREIGN)
				at->id = 0;
			else if (at->kill_at == 0)
				proc_stop(at, now);
			else
				proc_stop_due(at, !at->led, now);
		}
		proc_signal(taken_groups(g));
		poll(NULL, 0, PACE);
	}
}

/* No descriptor of the client's stays open, so that it sees the end of boris at
 * once; and setsid() takes it out of the process group that a client may send
 * SIGKILL to. All other signals are blocked. */
static void
stand_guard(struct guard *g, int pipe)
{
	char byte;

	if (setsid() < 0 || dup2(pipe, 0) < 0)
		_exit(1);
	proc_close_from(1);
	while (read(0, &byte, 1) > 0)
		;
	remove_files(g);
	end_groups(g);
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

/* The first of that number; 0: the first that is free */
static struct proc_group *
find_group(struct guard *g, pid_t id)
{
	struct proc_group *at = g->group;

	while (at < g->group + g->used && at->id != id)
		at++;
	return at < g->group + g->used ? at : NULL;
}

/* Does it run? It may have been killed itself, or stopped. */
static bool
guard_runs(struct guard *g)
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

/* Begins it, unless it runs. 0, or -1 with errno */
static int
guard_begin(struct guard *g)
{
	sigset_t all, before;
	int end[2];
	pid_t pid;

	if (guard_runs(g))
		return 0;
	if (proc_pipe(end, 1) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = proc_fork();
	if (pid == 0)
		stand_guard(g, end[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(end[0]);
	if (pid < 0) {
		fd_close(&end[1]);  /* errno stays */
		return -1;
	}
	g->pid = pid;
	g->pipe = end[1];
	/* Before its setsid() a SIGKILL to boris's group would end it, too. */
	while (guard_runs(g) && getsid(pid) != pid)
		poll(NULL, 0, 1);
	errno = EAGAIN;  /* the reason if it was killed meanwhile */
	return g->pid > 0 ? 0 : -1;
}

struct proc_group *
guard_group(struct guard *g)
{
	struct proc_group *at;

	if (guard_begin(g) < 0)
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
	/* With a call between them a compiler keeps the order of both stores,
	 * so a name that is there in part, another file's, is not removed. */
	memcpy(g->file, path, strlen(path) + 1);
	g->unfinished = guard_begin(g) == 0;
	return g->unfinished ? 0 : -1;
}

void
guard_reap(struct guard *g)
{
	/* A guard that was killed has a successor, if there is a group. */
	if (taken_groups(g) != NULL)
		guard_begin(g);
	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid == 0 || find_group(g, info.si_pid) != NULL)
			return;  /* or it is a leader, whose time will come */
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
	if (taken_groups(g) != NULL) {
		guard_begin(g);
	} else if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		waitpid(g->pid, NULL, 0);
		close(g->pipe);
		g->pid = 0;
	}
}
