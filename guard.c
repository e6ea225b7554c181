#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "guard.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"

enum {
	GROUPS = 4096,  /* that can be left at a time */
	PACE = 20       /* ms from one poll of the groups to the next */
};

/* All of it is in memory that both processes share. */
struct guard {
	struct proc_group group[GROUPS];
	int used;      /* so many of them have ever been taken */
	const char *dir, *prefix;
	volatile bool unfinished;  /* so is this file: */
	char file[4096];
	bool visible;  /* /proc */
	pid_t pid;     /* 0: it does not run */
	int pipe;      /* boris's end; that it is closed is boris's end */
};

/* Is it of the form that spool.c makes: PREFIX, 8 more digits, -N.log; or
 * secret.c: -ID.secret, -ID.prompt? */
static bool
is_ours(const char *name, const char *prefix)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0 || strspn(name + n, digits) != 8 ||
	    name[n + 8] != '-')
		return false;
	name += n + 9;
	n = strspn(name, digits);
	return n > 0 && (strcmp(name + n, ".log") == 0 ||
	    strcmp(name + n, ".secret") == 0 ||
	    strcmp(name + n, ".prompt") == 0);
}

static void
remove_files(const struct guard *g)
{
	DIR *dir = chdir(g->dir) == 0 ? opendir(".") : NULL;
	const struct dirent *entry;

	if (g->unfinished)
		unlink(g->file);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (is_ours(entry->d_name, g->prefix))
			unlink(entry->d_name);
	}
	closedir(dir);
}

/* Ends all that live as boris would have done (E2), or goes on where it left
 * off: then they have had their SIGTERM, and get no other (L1). */
static void
end_groups(struct guard *g)
{
	int64_t now = clock_now(), give_up = now + PROC_GRACE + PROC_GIVE_UP;
	struct proc_group *list = NULL, **link, *at;

	for (at = g->group; at < g->group + g->used; at++) {
		at->repeats = false;
		at->next = list;
		if (at->id != 0)
			list = at;
	}
	for (; list != NULL && now < give_up; now = clock_now()) {
		proc_poll(list, g->visible, false, now);
		for (link = &list; (at = *link) != NULL;) {
			if (at->found == PROC_GONE) {
				*link = at->next;  /* no number to signal */
				continue;
			}
			if (at->kill_at == 0)
				proc_stop(at, now);
			else
				proc_stop_on(at, !at->led, now);
			link = &at->next;
		}
		proc_signal(list);
		poll(NULL, 0, list != NULL ? PACE : 0);
	}
}

/* No descriptor of the client's stays open, so that it sees the end of boris at
 * once; and no signal to the client's process group reaches another session. */
static void
stand_guard(struct guard *g, int pipe, int ready)
{
	char byte = 0;

	setsid();
	if (write(ready, &byte, 1) < 0)
		_exit(1);
	proc_default_signals();
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (dup2(pipe, 0) < 0)
		_exit(1);
	proc_close_from(1);
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	remove_files(g);
	end_groups(g);
	remove_files(g);
	_exit(0);
}

struct guard *
guard_open(const char *dir, const char *prefix)
{
	struct guard *g = proc_shared(sizeof(*g));

	if (g == NULL)
		return NULL;
	g->dir = dir;
	g->prefix = prefix;
	g->visible = proc_visible();
	return g;
}

bool
guard_visible(const struct guard *g)
{
	return g->visible;
}

/* The first group of that number (0: that is free), NULL: there is none. */
static struct proc_group *
find_group(struct guard *g, pid_t id)
{
	struct proc_group *at = g->group;

	while (at < g->group + g->used && at->id != id)
		at++;
	return at < g->group + g->used ? at : NULL;
}

/* Does it run? It may have been killed itself. */
static bool
guard_runs(struct guard *g)
{
	if (g->pid > 0 && waitpid(g->pid, NULL, WNOHANG) != 0) {
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
	int end[2], ready[2] = { -1, -1 };
	char byte;
	pid_t pid = -1;

	if (guard_runs(g))
		return 0;
	if (proc_pipe(end, 1) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (proc_pipe(ready, 1) == 0)
		pid = proc_fork();
	if (pid == 0)
		stand_guard(g, end[0], ready[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	fd_close(&end[0]);
	fd_close(&ready[1]);
	/* Until it has a session of its own, a signal to boris's process group
	 * would end it as well. */
	if (pid > 0 && read(ready[0], &byte, 1) < 1)
		pid = -1;
	fd_close(&ready[0]);
	if (pid < 0) {
		fd_close(&end[1]);  /* errno stays */
		return -1;
	}
	g->pid = pid;
	g->pipe = end[1];
	return 0;
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
	if (at != NULL)
		memset(at, 0, sizeof(*at));
	else
		errno = EAGAIN;
	return at;
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
	/* The calls behind this keep the order: a name that was written in
	 * part, which may be another file's, is never removed. */
	memcpy(g->file, path, strlen(path) + 1);
	if (guard_begin(g) < 0)
		return -1;
	g->unfinished = true;
	return 0;
}

void
guard_reap(struct guard *g)
{
	siginfo_t info;

	/* One that was killed has a successor, as long as there is a group. */
	if (g->pid > 0 && !guard_runs(g))
		guard_begin(g);
	for (;;) {
		memset(&info, 0, sizeof(info));
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
guard_free(struct guard *g)
{
	const struct proc_group *at;

	if (g == NULL)
		return;
	at = g->group;
	while (at < g->group + g->used && at->id == 0)
		at++;
	if (at < g->group + g->used) {
		guard_begin(g);
	} else if (guard_runs(g)) {
		kill(g->pid, SIGKILL);
		close(g->pipe);
		waitpid(g->pid, NULL, 0);
	}
	munmap(g, sizeof(*g));
}
