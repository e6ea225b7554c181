#ifdef __linux__
#define _DEFAULT_SOURCE  /* MAP_ANONYMOUS */
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "proc.h"

enum {
	GROUPS = 4096,    /* that can be left at a time */
	LOOK = 20         /* ms from one look at the groups to the next */
};

/* All of it is in memory that both processes share. */
struct guard {
	volatile pid_t group[GROUPS];  /* 0: a free slot */
	const char *dir, *prefix;
	pid_t pid;  /* 0: it does not run */
	int alive;  /* the end of a pipe; boris alone holds it while it lives */
};

/* -- The second process ------------------------------------------------ */

static void
remove_files(const struct guard *g)
{
	DIR *dir = chdir(g->dir) == 0 ? opendir(".") : NULL;
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, g->prefix, strlen(g->prefix)) == 0)
			unlink(entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Forgets the groups that have gone: their numbers may be given anew. */
static void
keep_living(struct proc_group **list)
{
	if (*list != NULL)
		proc_look(*list);
	while (*list != NULL) {
		if ((*list)->lives)
			list = &(*list)->next;
		else
			*list = (*list)->next;
	}
}

/* A child that its leader forked in the instant of the first SIGTERM has missed
 * it (E2). */
static void
end_late_children(const struct proc_group *g)
{
	for (; g != NULL; g = g->next) {
		if (!g->led)
			kill(-g->id, SIGTERM);
	}
}

/* SIGTERM to all that live, and after the grace SIGKILL, as boris would have
 * done (E2); the latter again and again, since a process may have forked. */
static void
end_groups(const struct guard *g)
{
	static struct proc_group group[GROUPS];
	struct proc_group *list = NULL;
	int64_t kill_at, give_up;
	int i;

	for (i = 0; i < GROUPS; i++) {
		if (g->group[i] == 0)
			continue;
		group[i].id = g->group[i];
		group[i].orphaned = true;
		group[i].next = list;
		list = &group[i];
	}
	keep_living(&list);
	proc_signal(list, SIGTERM);
	kill_at = clock_now() + PROC_GRACE;
	give_up = kill_at + PROC_GRACE;
	poll(NULL, 0, LOOK);
	keep_living(&list);
	end_late_children(list);
	while (list != NULL && clock_now() < give_up) {
		if (clock_now() >= kill_at)
			proc_signal(list, SIGKILL);
		poll(NULL, 0, LOOK);
		keep_living(&list);
	}
}

/* No descriptor of the client's stays open, so that it sees the end of boris at
 * once. In a session of its own it gets no signal that is sent to the client's
 * process group. */
static void
stand_guard(const struct guard *g, int alive)
{
	char byte;

	setsid();
	proc_default_signals();
	if (chdir("/") < 0 || dup2(alive, 0) < 0)
		_exit(1);
	proc_close_from(1, false);
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	remove_files(g);
	end_groups(g);
	_exit(0);
}

/* -- In boris ---------------------------------------------------------- */

struct guard *
guard_open(const char *dir, const char *prefix)
{
	struct guard *g = mmap(NULL, sizeof(*g), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (g == MAP_FAILED)
		return NULL;
	g->dir = dir;
	g->prefix = prefix;
	return g;
}

/* 0, or -1 with errno */
static int
begin(struct guard *g)
{
	sigset_t all, before;
	int end[2];
	pid_t pid;

	if (proc_pipe(end, 1) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		stand_guard(g, end[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(end[0]);
	g->pid = pid > 0 ? pid : 0;
	g->alive = end[1];
	if (pid < 0)
		close(end[1]);
	return pid < 0 ? -1 : 0;
}

volatile pid_t *
guard_slot(struct guard *g)
{
	int i;

	/* If it was killed itself, it is begun anew. */
	if (g->pid > 0 && waitpid(g->pid, NULL, WNOHANG) != 0) {
		close(g->alive);
		g->pid = 0;
	}
	if (g->pid == 0 && begin(g) < 0)
		return NULL;
	for (i = 0; i < GROUPS; i++) {
		if (g->group[i] == 0)
			return &g->group[i];
	}
	errno = EAGAIN;
	return NULL;
}

void
guard_free(struct guard *g)
{
	if (g == NULL)
		return;
	if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		close(g->alive);
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	munmap(g, sizeof(*g));
}
