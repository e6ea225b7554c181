/* More than POSIX: MAP_ANONYMOUS everywhere; syscall, closefrom.
 * (FreeBSD and OpenBSD show all to those who ask for nothing.) */
#ifdef __linux__
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define _BSD_SOURCE       /* the same before glibc 2.20 */
#endif
#define _DARWIN_C_SOURCE  /* macOS */
#define _NETBSD_SOURCE
/* POSIX_ONLY leaves out what is Linux only, so that the rest can be tested. */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif

#include "run/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef ON_LINUX
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "base/io.h"
#include "base/text.h"

enum {
	OOM_SCORE = 500,    /* oom_score_adj of what boris starts */
	HANG_UP = 1000,     /* ms from SIGTERM to SIGHUP (T4) */
	EARLY = 50,         /* ms; a command that is ended within them ... */
	AGAIN = 20,         /* ... gets a second SIGTERM after these */
	SHORT_LIFE = 250,   /* ms in which pids do not wrap around */
	FEW_PIDS = 16384,   /* so many are looked at one by one */
	ROUNDS = 50         /* of walk_since(), each for what came meanwhile */
};

void
proc_prepare(bool visible)
{
	struct sigaction action;
	int sig;

#ifdef ON_LINUX
	const long zero[16] = { 0 };

	/* It outlives exec: who started boris may have set it. */
	prctl(PR_SET_CHILD_SUBREAPER, (long)!visible, 0L, 0L, 0L);
	/* sigaction() can't reach those of a C library. Zero is SIG_DFL. */
	for (sig = 32; sig < 35; sig++)
		syscall(SYS_rt_sigaction, sig, zero, NULL, _NSIG / 8);
#else
	(void)visible;
#endif
	for (sig = 1; sig <= 64; sig++) {
		if (sigaction(sig, NULL, &action) == 0 &&
		    action.sa_handler == SIG_IGN) {
			action.sa_handler = SIG_DFL;
			sigaction(sig, &action, NULL);
		}
	}
}

int
proc_pipe(int end[2], int ours)
{
#ifdef ON_LINUX
	if (syscall(SYS_pipe2, end, O_CLOEXEC) < 0)
		return -1;
#else
	if (pipe(end) < 0)
		return -1;
	fd_cloexec(end[0]);
	fd_cloexec(end[1]);
#endif
	if (ours != 1)
		fcntl(end[0], F_SETFL, O_NONBLOCK);
	if (ours != 0)
		fcntl(end[1], F_SETFL, O_NONBLOCK);
	return 0;
}

/* Retries after EINTR, because this may be the last read of the pipe. */
ssize_t
proc_take(int end, void *to, size_t n)
{
	ssize_t got;

	do
		got = read(end, to, n);
	while (got < 0 && errno == EINTR);
	return got;
}

/* The C library's fork() has 1.7 KB for threads, which boris does not have.
 * (After the bare call getpid() is wrong in glibc before 2.25.) */
pid_t
proc_fork(void)
{
#if defined(ON_LINUX) && defined(SYS_fork) && !defined(__GLIBC__)
	return (pid_t)syscall(SYS_fork);
#else
	return fork();
#endif
}

/* Closes the descriptors from `first` to `last`, if there are any. */
static void
close_between(int first, int last)
{
	if (first > last)
		return;
#if defined(ON_LINUX) && defined(SYS_close_range)
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
#endif
	for (; first <= last && first < 1024; first++)
		close(first);
}

void
proc_close_from(int lowest)
{
#if defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
	closefrom(lowest);
#else
	close_between(lowest, INT_MAX);
#endif
}

/* None is handled, none blocked. */
static void
default_signals(void)
{
	/* Those that boris handles; proc_prepare() has reset all others. */
	static const int handled[] = {
		SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD, SIGPIPE, SIGXFSZ
	};
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;
	size_t i;

	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaction(handled[i], &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Gives the child its descriptors, as struct proc_program says, and closes
 * all others: while it waits for its directory it must not keep a client's
 * connection or the guard's pipe open (L4). Returns 0, or -1 with errno set. */
static int
take_descriptors(struct proc_group *g, const int *fd, int done)
{
	int kept = 2, low, high;

	for (; *fd >= 0; fd += 2) {
		/* Keep the pipe open if its number is needed. If that fails,
		 * boris takes the program as started until the child exits. */
		if (fd[1] == done)
			done = fcntl(done, F_DUPFD_CLOEXEC, 3);
		/* dup2() of one onto itself leaves it close-on-exec. */
		if (fd[0] == fd[1])
			fcntl(fd[0], F_SETFD, 0);
		else if (dup2(fd[0], fd[1]) < 0) {
			if (fd[1] <= 2)
				return -1;
			g->lacks_fd = true;
		}
		kept = fd[1];
	}
	low = kept < done ? kept : done;
	high = kept < done ? done : kept;
	close_between(3, low - 1);
	close_between(low > 2 ? low + 1 : 3, high - 1);
	close_between(high + 1, INT_MAX);
	return 0;
}

/* Changes to the directory of the command. If that fails, notes whether the
 * others can be entered. Returns 0, or -1 with errno set. */
static int
enter_directory(struct proc_outcome *r, const struct proc_dirs *dirs)
{
	int error;

	r->stage = PROC_ENTERING;
	if (chdir(dirs->start) == 0) {
		r->stage = PROC_ENTERED;
		return 0;
	}
	error = errno;
	r->tracked = chdir(dirs->tracked) == 0;
	r->workdir = chdir(dirs->workdir) == 0;
	errno = error;
	return -1;
}

static void
write_oom_score(int fd, int score)
{
	const char *text = NUM(score);

	if (pwrite(fd, text, strlen(text), 0) < 0)
		errno = 0;
}

/* Makes that process the kernel's choice before boris when memory runs out (E10).
 * fd: its oom_score_adj, or -1. Returns the value before. A value is never
 * lowered, and it is no error if the kernel refuses. */
static int
raise_oom_score(int fd)
{
	char text[8] = "";
	int before;

	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return OOM_SCORE;
	before = atoi(text);
	if (before < OOM_SCORE)
		write_oom_score(fd, OOM_SCORE);
	return before;
}

/* Runs in the child, and returns only if the program cannot be started, with
 * errno set. All signals are blocked until they are at their default, so no
 * handler of boris's runs here (E1). They are unblocked before the directory is
 * entered: a child that waits there must be killable. */
static void
exec_child(struct proc_group *g, const struct proc_program *program, int done)
{
	int fd;

	setsid();
	g->id = getpid();
	if (take_descriptors(g, program->fds, done) < 0)
		return;
	fd = open(PROC_OOM_SCORE, O_RDWR | O_CLOEXEC);
	raise_oom_score(fd);
	fd_close(&fd);
	if (program->terminal && ioctl(0, TIOCSCTTY, 0) < 0)
		return;
	default_signals();
	if (enter_directory(&g->outcome, program->dirs) == 0)
		execve(program->path, program->argv, program->env);
}

int
proc_spawn(struct proc_group *g, const struct options *o,
           const struct proc_program *program)
{
	sigset_t all, before;
	int end[2], error, score;
	pid_t pid;

	if (proc_pipe(end, 0) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* With --write or --hide the child inherits the score, since Landlock
	 * keeps it from writing its own. */
	score = raise_oom_score(o->oom_score);
	pid = proc_fork();
	if (pid == 0) {
		exec_child(g, program, end[1]);
		g->outcome.error = errno;
		_exit(127);
	}
	error = errno;
	if (score < OOM_SCORE)
		write_oom_score(o->oom_score, score);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(end[1]);
	if (pid < 0) {
		close(end[0]);
		errno = error;
		return -1;
	}
	g->id = pid;
	return end[0];
}

bool
proc_ended(pid_t pid, int *status, bool *signalled)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid == 0)
		return false;
	*signalled = info.si_code != CLD_EXITED;
	*status = *signalled ? 128 + info.si_status : info.si_status & 255;
	return true;
}

/* -- Which groups live -------------------------------------------------- */

ssize_t
proc_read(pid_t pid, const char *file, char *text, size_t size)
{
	char name[64];
	struct buf path = { name, 0, sizeof(name) };
	ssize_t n = -1;
	int fd;

	buf_add(&path, "/proc/", pid > 0 ? NUM(pid) : "", file);
	fd = open(buf_text(&path), O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, size - 1);
	fd_close(&fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* Does the process belong to another user, so that boris may not signal it? */
static bool
is_foreign(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == EPERM;
}

/* Gone is a zombie without threads, state Z or X. */
static enum proc_found
find_process(pid_t pid)
{
	char text[1024], *p;
	int i;

	if (proc_read(pid, "/stat", text, sizeof(text)) < 0) {
		if (errno != ENOENT && errno != ESRCH)
			return PROC_UNKNOWN;
		/* With hidepid /proc does not show processes of others. */
		return is_foreign(pid) ? PROC_FOREIGN : PROC_GONE;
	}
	p = strrchr(text, ')');  /* the name before it may hold anything */
	if (p == NULL || (p[2] != 'Z' && p[2] != 'X'))
		return is_foreign(pid) ? PROC_FOREIGN : PROC_LIVES;
	for (i = 0; i < 18 && p != NULL; i++)
		p = strchr(p + 1, ' ');
	if (p == NULL || atoi(p + 1) <= 1)
		return PROC_GONE;
	return is_foreign(pid) ? PROC_FOREIGN : PROC_LIVES;
}

/* The group whose session a process is in, whatever its own group (L3) */
static struct proc_group *
find_session(struct proc_group *g, pid_t pid)
{
	pid_t session = getsid(pid);

	while (g != NULL && g->id != session)
		g = g->next;
	return g;
}

static void
note_if_member(struct proc_group *list, pid_t pid, bool parent)
{
	struct proc_group *g = find_session(list, pid);
	enum proc_found found;
	bool elsewhere;

	if (g == NULL || (pid == g->id && parent && g->leader_ended))
		return;
	elsewhere = getpgid(pid) != g->id;
	if (g->found == PROC_LIVES && !elsewhere && pid != g->id)
		return;
	found = find_process(pid);
	if (found == PROC_GONE)
		return;
	if (g->found == PROC_GONE || found == PROC_LIVES ||
	    (g->found == PROC_FOREIGN && found == PROC_UNKNOWN)) {
		g->found = found;
		g->survivor = pid;
	}
	g->led = g->led || pid == g->id;
	g->elsewhere = g->elsewhere || elsewhere;
}

/* The pid that Linux gave out last, in /proc/loadavg; 0: it is not told. */
static pid_t
last_pid(void)
{
	char text[128], *p;

	proc_read(0, "loadavg", text, sizeof(text));
	p = strrchr(text, ' ');
	return p == NULL ? 0 : (pid_t)atoi(p + 1);
}

bool
proc_visible(void)
{
#ifdef ON_LINUX
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	return atoi(self) == getpid() && last_pid() > 0;
#else
	return false;
#endif
}

/* What is stopped goes on, to see SIGTERM. */
static void
send_signal(pid_t pid, int sig)
{
	kill(pid, sig);
	if (sig == SIGTERM)
		kill(pid, SIGCONT);
}

/* Looks at each process in /proc, and notes it, or signals it if it has a group
 * of its own. (Between getsid() and kill() no stranger gets the pid: Linux
 * gives all other pids out first.) False: /proc can't be read. */
static bool
walk(struct proc_group *list, bool parent, bool signals)
{
	DIR *dir = opendir("/proc");
	const struct proc_group *g;
	struct dirent *entry;
	pid_t pid;
	bool all;

	if (dir == NULL)
		return false;
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		pid = (pid_t)atoi(entry->d_name);
		if (pid > 0 && !signals)
			note_if_member(list, pid, parent);
		else if (pid > 0 && (g = find_session(list, pid)) != NULL &&
		    getpgid(pid) != g->id)
			send_signal(pid, g->send);
	}
	all = errno == 0;
	closedir(dir);
	return all;
}

/* A process that forks and exits again and again can stay ahead of a walk
 * through /proc. But Linux gives out pids in order. So all pids given out since
 * `from` (0: all that there are) are asked, until none was given out meanwhile:
 * then nobody has escaped. False: that can't be known. */
static bool
walk_since(struct proc_group *list, pid_t from, bool parent)
{
	pid_t last, pid;
	int round;

	for (round = 0; round < ROUNDS; round++, from = last) {
		last = last_pid();
		if (last == 0 || last == from)
			return last != 0;
		if (from == 0 || from > last || last - from > FEW_PIDS) {
			if (!walk(list, parent, false))
				return false;
			continue;
		}
		for (pid = from + 1; pid <= last; pid++)
			note_if_member(list, pid, parent);
	}
	return false;
}

/* Without /proc boris inherits orphans (proc_prepare). So while a group has any
 * member, waitpid() finds a child of ours in it, which holds the number, so
 * that no zombie has to (E3). Who left the group is not found. */
static void
poll_children(struct proc_group *g, bool parent)
{
	const bool ours = parent;
	pid_t pid;

#ifndef ON_LINUX  /* Here init inherits orphans: kill() is to find them. */
	parent = false;
#endif
	for (; g != NULL; g = g->next) {
		/* The leader's status is not read here. */
		pid = 0;
		if (!ours || g->leader_ended) {
			while ((pid = waitpid(-g->id, NULL, WNOHANG)) > 0)
				;
		} else {
			g->survivor = g->id;
		}
		if ((pid == 0 || !parent) && is_foreign(-g->id))
			g->found = PROC_FOREIGN;
		else if (pid == 0 || (!parent && kill(-g->id, 0) == 0))
			g->found = PROC_LIVES;
		g->led = !parent && kill(g->id, 0) == 0;
	}
}

void
proc_poll(struct proc_group *list, bool visible, bool parent, int64_t now)
{
	pid_t from = list->id;
	struct proc_group *g;
	bool known = true;

	/* All that a young command has started has pids behind its own. */
	for (g = list; g != NULL; g = g->next) {
		g->found = PROC_GONE;
		g->survivor = 0;
		g->led = g->elsewhere = false;
		if (!parent || !g->leader_ended ||
		    now - g->started >= SHORT_LIFE)
			from = 0;
		else if (g->id < from)
			from = g->id;
	}
	if (visible)
		known = walk_since(list, from, parent);
	else
		poll_children(list, parent);
	for (g = list; g != NULL && !known; g = g->next) {
		if (g->found == PROC_GONE || g->found == PROC_FOREIGN)
			g->found = PROC_UNKNOWN;
	}
}

void
proc_stop(struct proc_group *g, int64_t now)
{
	g->send = SIGTERM;
	g->kill_at = now + PROC_GRACE;
	g->repeats = true;
	/* If SIGTERM comes as a bash with a trap forks, the child does not get
	 * it, and bash waits for that. This happens mostly at the start. */
	if (g->follow_up == SIGTERM && now - g->started >= EARLY)
		g->follow_up = 0;
	g->follow_up_at = now + (g->follow_up == SIGTERM ? AGAIN : HANG_UP);
}

void
proc_stop_due(struct proc_group *g, bool leaderless, int64_t now)
{
	if (now >= g->kill_at) {
		g->send = SIGKILL;
	} else if (leaderless && g->repeats) {
		/* A child born as the first came may have missed it (E2). */
		g->send = SIGTERM;
		g->repeats = false;
	} else if (now >= g->follow_up_at && g->follow_up != 0) {
		g->send = g->follow_up;
		g->follow_up = 0;
	}
}

void
proc_signal(struct proc_group *list)
{
	struct proc_group *g;

	for (g = list; g != NULL; g = g->next) {
		/* A child that has just been forked has no group yet. */
		if (kill(-g->id, 0) < 0 && errno == ESRCH)
			send_signal(g->id, g->send);
		send_signal(-g->id, g->send);
		g->leader_foreign = is_foreign(g->id);
	}
	/* Where /proc can't be read the others get none. */
	walk(list, false, true);
	for (g = list; g != NULL; g = g->next)
		g->send = 0;
}
