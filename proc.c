#ifdef __linux__
#define _GNU_SOURCE  /* vfork, pipe2, syscall */
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "buf.h"

enum {
	FEW_PIDS = 16384,  /* so many are asked one by one */
	ROUNDS = 50        /* of looking at what has been begun meanwhile */
};

/* -- Signals ----------------------------------------------------------- */

/* Does /proc show the pids that our own calls return? Not where it is missing,
 * nor in a pid namespace that still sees an outer /proc. */
static bool
proc_is_ours(void)
{
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	return atoi(self) == getpid();
}

void
proc_prepare(void)
{
	struct sigaction action;
	int sig;

#ifdef __linux__
	static const long zero[16];

	if (!proc_is_ours())
		prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	/* sigaction() does not reach the signals that a C library keeps for
	 * itself. All zero is the default, on every processor. */
	for (sig = 32; sig < 35; sig++)
		syscall(SYS_rt_sigaction, sig, zero, NULL, 8);
#endif
	memset(&action, 0, sizeof(action));
	for (sig = 1; sig <= 64; sig++) {
		if (sigaction(sig, NULL, &action) == 0 &&
		    action.sa_handler == SIG_IGN) {
			action.sa_handler = SIG_DFL;
			sigaction(sig, &action, NULL);
		}
	}
}

/* -- A child ----------------------------------------------------------- */

int
proc_pipe(int end[2], int ours)
{
#ifdef __linux__
	if (pipe2(end, O_CLOEXEC) < 0)
		return -1;
#else
	if (pipe(end) < 0)
		return -1;
	fcntl(end[0], F_SETFD, FD_CLOEXEC);
	fcntl(end[1], F_SETFD, FD_CLOEXEC);
#endif
	if (ours != 1)
		fcntl(end[0], F_SETFL, O_NONBLOCK);
	if (ours != 0)
		fcntl(end[1], F_SETFL, O_NONBLOCK);
	return 0;
}

/* Opens the other end of that master; -1 with errno. (ptsname() would bring
 * printf() into a static binary, 16 KB.) */
static int
open_slave(int master)
{
#ifdef TIOCGPTN
	struct buf name = { NULL, 0, 0, false };
	unsigned number;
	int fd = -1;

	if (ioctl(master, TIOCGPTN, &number) < 0)
		return -1;
	buf_puts(&name, "/dev/pts/");
	buf_int(&name, number);
	buf_putc(&name, '\0');
	errno = ENOMEM;
	if (!name.failed)
		fd = open(name.data, O_RDWR | O_NOCTTY | O_CLOEXEC);
	buf_free(&name);
	return fd;
#else
	return open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
#endif
}

int
proc_terminal(int end[2])
{
	struct winsize size = { 50, 200, 0, 0 };
	int error;

	end[1] = -1;
	end[0] = posix_openpt(O_RDWR | O_NOCTTY);
	if (end[0] < 0)
		return -1;
	fcntl(end[0], F_SETFD, FD_CLOEXEC);
	fcntl(end[0], F_SETFL, O_NONBLOCK);
	if (grantpt(end[0]) == 0 && unlockpt(end[0]) == 0)
		end[1] = open_slave(end[0]);
	if (end[1] >= 0) {
		/* The request is an int in musl, while POWER's constant is an
		 * unsigned long. */
		ioctl(end[1], (unsigned)TIOCSWINSZ, &size);
		return 0;
	}
	error = errno;
	close(end[0]);
	errno = error;
	return -1;
}

void
proc_default_signals(void)
{
	/* Those that boris handles; proc_prepare() has reset all others. */
	static const int handled[] = {
		SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD, SIGPIPE, SIGXFSZ
	};
	struct sigaction action;
	sigset_t none;
	size_t i;

	memset(&action, 0, sizeof(action));
	action.sa_handler = SIG_DFL;
	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaction(handled[i], &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void
proc_close_from(int lowest, bool on_exec)
{
#if defined(__linux__) && defined(SYS_close_range)
	int close_on_exec = 4;  /* CLOSE_RANGE_CLOEXEC, since Linux 5.11 */

	if (syscall(SYS_close_range, lowest, ~0U,
	    on_exec ? close_on_exec : 0) == 0)
		return;
#endif
	for (; lowest < 1024; lowest++) {
		if (on_exec)
			fcntl(lowest, F_SETFD, FD_CLOEXEC);
		else
			close(lowest);
	}
}

/* The child, up to the program; returns only if that can't be begun. It shares
 * the parent's memory (vfork), so it changes nothing but its own locals.
 * Signals are unblocked last, when they are at their default, so that no
 * handler of boris's ever runs here (E1). */
static void
become(const struct proc_child *c)
{
	const int *fd = c->fd;

	setsid();
	if (c->slot != NULL)
		*c->slot = getpid();
	if (dup2(fd[0], 0) < 0 || dup2(fd[1], 1) < 0 || dup2(fd[2], 2) < 0)
		return;
	/* dup2() of a descriptor onto itself leaves it close-on-exec. */
	if (fd[3] == c->extra)
		fcntl(fd[3], F_SETFD, 0);
	else if (fd[3] >= 0 && dup2(fd[3], c->extra) < 0)
		return;
	if (c->terminal && ioctl(0, TIOCSCTTY, 0) < 0)
		return;
	proc_default_signals();
	execve(c->argv[0], c->argv, c->env);
}

/* vfork() copies no memory, which saves a tenth of what a call of `true` costs,
 * and lets the child tell the parent why exec failed. (Where vfork() is a
 * fork(), as under valgrind, such a shell just ends with 127.) */
pid_t
proc_start(const struct proc_child *c)
{
	volatile int error = 0;  /* written by the child */
	sigset_t all, before;
	pid_t pid;

	/* The parent itself goes there, so it knows at once if that fails, and
	 * back again: it must not keep a file system from being unmounted. */
	if (chdir(c->dir) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
#ifdef __linux__
	pid = vfork();
#else
	pid = fork();
#endif
	if (pid == 0) {
		become(c);
		error = errno;
		_exit(127);
	}
	if (pid < 0)
		error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid > 0 && error != 0) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	if (c->slot != NULL)
		*c->slot = pid > 0 ? pid : 0;
	if (chdir("/") < 0)  /* cannot be */
		error = errno;
	errno = error;
	return pid;
}

/* -- Which groups live -------------------------------------------------- */

/* The start of a short text file, with a NUL behind it; empty if it can't be
 * read. */
static void
read_start(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
}

/* Is it dead, state Z or X, and no other thread of it alive? If its entry can't
 * be read, it counts as alive. */
static bool
is_zombie(pid_t pid)
{
	struct buf path = { NULL, 0, 0, false };
	char text[1024] = "", *p;
	int i;

	buf_puts(&path, "/proc/");
	buf_int(&path, pid);
	buf_put(&path, "/stat", 6);
	if (!path.failed)
		read_start(path.data, text, sizeof(text));
	buf_free(&path);
	p = strrchr(text, ')');  /* the name before it may hold anything */
	if (p == NULL || (p[2] != 'Z' && p[2] != 'X'))
		return false;
	for (i = 0; i < 18 && p != NULL; i++)
		p = strchr(p + 1, ' ');
	return p == NULL || atoi(p + 1) <= 1;  /* its threads */
}

/* A process of the session may be in any group of it (L3). */
static void
note_if_member(struct proc_group *g, pid_t pid)
{
	pid_t session = getsid(pid);
	bool elsewhere;

	for (; g != NULL; g = g->next) {
		if (g->id != session || (pid == session && !g->orphaned))
			continue;
		elsewhere = getpgid(pid) != session;
		if ((g->lives && !elsewhere && pid != session) ||
		    is_zombie(pid))
			continue;
		g->lives = true;
		g->led = g->led || pid == session;
		g->scattered = g->scattered || elsewhere;
	}
}

/* The pid that Linux gave out last: the fifth word of /proc/loadavg. 0: it
 * can't be read. */
static pid_t
last_pid(void)
{
	char text[128], *p;

	read_start("/proc/loadavg", text, sizeof(text));
	p = strrchr(text, ' ');
	return p == NULL ? 0 : (pid_t)atoi(p + 1);
}

/* The next process in /proc; 0: there are no more. */
static pid_t
next_pid(DIR *dir)
{
	struct dirent *entry;
	pid_t pid = 0;

	while (pid <= 0 && dir != NULL && (entry = readdir(dir)) != NULL)
		pid = (pid_t)atoi(entry->d_name);
	return pid;
}

/* Sees every process that lives from before the look until after it. False:
 * /proc can't be read. */
static bool
look_at_all(struct proc_group *list)
{
	DIR *dir = opendir("/proc");
	pid_t pid;

	if (dir == NULL)
		return false;
	while ((pid = next_pid(dir)) > 0)
		note_if_member(list, pid);
	closedir(dir);
	return true;
}

/* A process that forks and exits again and again can stay ahead of a walk
 * through /proc. But Linux gives out pids in order. So all pids given out since
 * `from` (0: all that there are) are looked at, until none was given out during
 * the look: then nobody has escaped it. False: that can't be known. */
static bool
look_since(struct proc_group *list, pid_t from)
{
	pid_t last, pid;
	int round;

	for (round = 0; (last = last_pid()) != from; round++) {
		if (last == 0 || round == ROUNDS)
			return false;
		if (from > 0 && from < last && last - from <= FEW_PIDS) {
			for (pid = from + 1; pid <= last; pid++)
				note_if_member(list, pid);
		} else if (!look_at_all(list)) {
			return false;
		}
		from = last;
	}
	return from > 0;
}

/* Without /proc boris inherits every process that loses its parent
 * (proc_prepare). So while anything of a group lives, one of it is our child,
 * and holds the number. The leader is reaped here; its status is known already.
 * What has left the group is not found. */
static void
look_at_children(struct proc_group *g)
{
	pid_t pid;

	for (; g != NULL; g = g->next) {
		while ((pid = waitpid(-g->id, NULL, WNOHANG)) > 0)
			;
		g->lives = pid == 0;
#ifdef __linux__
		if (!g->orphaned)
			continue;
#endif
		/* Elsewhere init inherits them, and the number is not held. */
		g->lives = g->lives || kill(-g->id, 0) == 0;
	}
}

void
proc_look(struct proc_group *list)
{
	struct proc_group *g;
	pid_t from = list->id;

	/* All that a young command has started has pids behind its own; mostly
	 * there are none. */
	for (g = list; g != NULL; g = g->next) {
		g->lives = g->led = g->scattered = false;
		if (!g->young)
			from = 0;
		else if (g->id < from)
			from = g->id;
	}
	if (!proc_is_ours()) {
		look_at_children(list);
	} else if (!look_since(list, from)) {
		/* Out of descriptors, say: none is taken for gone. */
		for (g = list; g != NULL; g = g->next)
			g->lives = true;
	}
}

/* -- Signals to groups -------------------------------------------------- */

/* A process of the session with a group of its own. A pidfd, where there is
 * one, makes sure that no later process of its pid is hit (E3). */
static void
signal_stray(pid_t pid, pid_t session, int sig)
{
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0) {
		if (getsid(pid) == session)
			syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
		close(fd);
		return;
	}
#endif
	if (getsid(pid) == session)
		kill(pid, sig);
}

void
proc_signal(const struct proc_group *list, int sig)
{
	const struct proc_group *g;
	DIR *dir = opendir("/proc");
	pid_t pid, session;

	for (g = list; g != NULL; g = g->next)
		kill(-g->id, sig);
	while ((pid = next_pid(dir)) > 0) {
		session = getsid(pid);
		if (getpgid(pid) == session)
			continue;
		for (g = list; g != NULL; g = g->next) {
			if (g->id == session)
				signal_stray(pid, session, sig);
		}
	}
	if (dir != NULL)
		closedir(dir);
	if (sig == SIGTERM)
		proc_signal(list, SIGCONT);  /* some may be stopped */
}

/* -- Random numbers ----------------------------------------------------- */

bool
proc_random(char *hex, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	unsigned char byte[PROC_RANDOM];
	ssize_t got = -1;
	size_t i;
	int fd;

#if defined(__linux__) && defined(SYS_getrandom)
	got = syscall(SYS_getrandom, byte, n, 1);  /* 1: do not wait */
#endif
	if (got != (ssize_t)n) {
		fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return false;
		got = read(fd, byte, n);
		close(fd);
	}
	for (i = 0; i < n && got == (ssize_t)n; i++) {
		*hex++ = digit[byte[i] >> 4];
		*hex++ = digit[byte[i] & 15];
	}
	*hex = '\0';
	return got == (ssize_t)n;
}
