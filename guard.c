#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "guard.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"

enum {
	GROUPS = 4096,  /* that can be left at a time */
	HELD = 512,     /* descriptors that it takes over, at most */
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
	int socket;    /* boris's end; its end of file is boris's end */
};

/* -- The second process ------------------------------------------------ */

/* Is it of the form that spool.c makes: PREFIX, 8 more digits, -N.log; or
 * secret.c: -ID.secret, -ID.prompt? */
static bool
is_ours(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n) != 0)
		return false;
	name += n;
	if (strspn(name, "0123456789abcdef") != 8 || name[8] != '-')
		return false;
	name += 9;
	n = strspn(name, "0123456789abcdef");
	name += n;
	return n > 0 && (strcmp(name, ".log") == 0 ||
	    strcmp(name, ".secret") == 0 || strcmp(name, ".prompt") == 0);
}

static void
remove_files(const struct guard *g)
{
	DIR *dir = chdir(g->dir) == 0 ? opendir(".") : NULL;
	const struct dirent *entry;

	if (g->unfinished)
		unlink(g->file);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (is_ours(entry->d_name, g->prefix))
			unlink(entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
}

/* One descriptor on its way from boris */
struct parcel {
	struct msghdr message;
	struct iovec part;
	char byte;
	union {
		size_t align;
		char bytes[64];
	} control;
};

static void
prepare(struct parcel *p)
{
	memset(p, 0, sizeof(*p));
	p->part.iov_base = &p->byte;
	p->part.iov_len = 1;
	p->message.msg_iov = &p->part;
	p->message.msg_iovlen = 1;
	p->message.msg_control = p->control.bytes;
	p->message.msg_controllen = sizeof(p->control.bytes);
}

/* What boris shares, to be read until it ends once boris has gone */
struct held {
	struct pollfd fd[HELD];
	int count;
};

/* Closes those that nobody writes to any more. */
static void
drop_ended(struct held *held)
{
	int i = held->count;

	if (poll(held->fd, (nfds_t)held->count, 0) < 1)
		return;
	while (i-- > 0) {
		if ((held->fd[i].revents & (POLLHUP | POLLERR)) == 0)
			continue;
		close(held->fd[i].fd);
		held->fd[i] = held->fd[--held->count];
	}
}

/* Waits for what boris hands over. False: it has gone. */
static bool
take_over(struct held *held)
{
	const struct cmsghdr *c;
	struct parcel p;
	ssize_t n;

	drop_ended(held);
	prepare(&p);
	n = recvmsg(0, &p.message, 0);
	c = n > 0 ? CMSG_FIRSTHDR(&p.message) : NULL;
	if (c != NULL && held->count < HELD) {
		memcpy(&held->fd[held->count].fd, CMSG_DATA(c), sizeof(int));
		held->fd[held->count++].events = POLLIN;
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Reads, for some milliseconds, what comes, and drops it: who says good-bye is
 * neither blocked nor ended by SIGPIPE (L1). */
static void
drain(struct held *held)
{
	int64_t end = clock_now() + PACE;
	char bytes[4096];
	struct pollfd *p;
	ssize_t n;

	while (clock_now() < end &&
	    poll(held->fd, (nfds_t)held->count, PACE) > 0) {
		for (p = held->fd; p < held->fd + held->count; p++) {
			if (p->revents == 0)
				continue;
			n = read(p->fd, bytes, sizeof(bytes));
			if (n == 0 || (n < 0 && errno != EAGAIN)) {
				close(p->fd);
				p->fd = -1;
			}
		}
	}
}

/* Forgets the groups that have gone: their numbers may be given anew. */
static void
keep_living(struct proc_group **list, bool visible, int64_t now)
{
	if (*list != NULL)
		proc_poll(*list, visible, false, now);
	while (*list != NULL) {
		if ((*list)->found != PROC_GONE)
			list = &(*list)->next;
		else
			*list = (*list)->next;
	}
}

/* Ends all that live as boris would have done (E2), or goes on where it left
 * off: then they have had their SIGTERM, and get no other (L1). */
static void
end_groups(struct guard *g, struct held *held)
{
	int64_t now = clock_now(), give_up = now + PROC_GRACE + PROC_GIVE_UP;
	struct proc_group *list = NULL, *at;

	for (at = g->group; at < g->group + g->used; at++) {
		if (at->id == 0)
			continue;
		at->repeats = false;
		at->next = list;
		list = at;
	}
	for (; now < give_up; now = clock_now()) {
		keep_living(&list, g->visible, now);
		if (list == NULL)
			return;
		for (at = list; at != NULL; at = at->next) {
			if (at->kill_at == 0)
				proc_stop(at, now);
			else
				proc_stop_on(at, !at->led, now);
		}
		proc_signal(list);
		drain(held);
	}
}

/* No descriptor of the client's stays open, so that it sees the end of boris at
 * once; and no signal to the client's process group reaches another session. */
static void
stand_guard(struct guard *g, int socket)
{
	struct held held = { .count = 0 };

	setsid();
	proc_default_signals();
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (dup2(socket, 0) < 0)
		_exit(1);
	proc_close_from(1);
	while (take_over(&held))
		;
	remove_files(g);
	end_groups(g, &held);
	remove_files(g);
	_exit(0);
}

/* -- In boris ---------------------------------------------------------- */

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

/* 0, or -1 with errno */
static int
begin(struct guard *g)
{
	sigset_t all, before;
	int end[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, end) < 0)
		return -1;
	fd_cloexec(end[0]);
	fd_cloexec(end[1]);
	fd_nonblocking(end[1]);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = proc_fork();
	if (pid == 0)
		stand_guard(g, end[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(end[0]);
	g->pid = pid > 0 ? pid : 0;
	g->socket = end[1];
	if (pid < 0)
		close(end[1]);
	return pid < 0 ? -1 : 0;
}

/* If it was killed itself, it does not run. */
static bool
runs(struct guard *g)
{
	if (g->pid > 0 && waitpid(g->pid, NULL, WNOHANG) != 0) {
		close(g->socket);
		g->pid = 0;
	}
	return g->pid > 0;
}

struct proc_group *
guard_group(struct guard *g)
{
	struct proc_group *at = g->group;

	if (!runs(g) && begin(g) < 0)
		return NULL;
	while (at < g->group + g->used && at->id != 0)
		at++;
	if (at == g->group + GROUPS) {
		errno = EAGAIN;
		return NULL;
	}
	if (at == g->group + g->used)
		g->used++;
	memset(at, 0, sizeof(*at));
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
	if (!runs(g) && begin(g) < 0)
		return -1;
	g->unfinished = true;
	return 0;
}

void
guard_reap(struct guard *g)
{
	const struct proc_group *at;
	siginfo_t info;

	runs(g);
	for (;;) {
		memset(&info, 0, sizeof(info));
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid == 0)
			return;
		for (at = g->group; at < g->group + g->used; at++) {
			if (at->id == info.si_pid)
				return;  /* a leader, whose time will come */
		}
		waitpid(info.si_pid, NULL, 0);
	}
}

void
guard_share(struct guard *g, int fd)
{
	struct parcel p;
	struct cmsghdr *c;

	if (fd < 0 || !runs(g))
		return;
	prepare(&p);
	c = CMSG_FIRSTHDR(&p.message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	c->cmsg_len = (socklen_t)(CMSG_DATA(c) - (unsigned char *)c) +
	    sizeof(fd);
	p.message.msg_controllen = c->cmsg_len;
	/* If it can't be sent, its writer may be ended by SIGPIPE. */
	sendmsg(g->socket, &p.message, 0);
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
		if (!runs(g))
			begin(g);
	} else if (runs(g)) {
		kill(g->pid, SIGKILL);
		close(g->socket);
		waitpid(g->pid, NULL, 0);
		g->pid = 0;
	}
	munmap(g, sizeof(*g));
}
