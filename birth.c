#ifdef __linux__
#define _GNU_SOURCE  /* clone, vfork, syscall */
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "birth.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#endif

/* -- Signals ----------------------------------------------------------- */

/* The C libraries keep these to themselves, and so cannot set them back where
 * they were found ignored. All zero is the default, on every processor. */
static void
reset_hidden_signals(void)
{
#ifdef __linux__
	static const long zero[16];
	int sig;

	for (sig = 32; sig < 35; sig++)
		syscall(SYS_rt_sigaction, sig, zero, NULL, 8);
#endif
}

void
birth_prepare(void)
{
	struct sigaction action;
	int sig;

	reset_hidden_signals();
	memset(&action, 0, sizeof(action));
	for (sig = 1; sig <= 64; sig++) {
		if (sigaction(sig, NULL, &action) == 0 &&
		    action.sa_handler == SIG_IGN) {
			action.sa_handler = SIG_DFL;
			sigaction(sig, &action, NULL);
		}
	}
}

/* -- The child --------------------------------------------------------- */

enum failed { FAILED_ALONE, FAILED_DIR, FAILED_START };

struct failure {
	int error;
	enum failed what;
};

/* What the child is told. It may share the parent's memory (vfork), so it
 * writes to nothing but its own locals. */
struct child {
	const struct birth *birth;
	int report;  /* the pipe for what goes wrong */
	bool apart;  /* it shares the parent's descriptors, at first */
};

/* From here on its descriptors are its own: those of the crowd it never had.
 * -1: the system cannot do that. */
static int
leave_descriptors(void)
{
#if defined(__linux__) && defined(SYS_close_range)
	return (int)syscall(SYS_close_range, BIRTH_OTHERS, ~0U, 2);
	/* 2: unshare, for this process only */
#else
	return -1;
#endif
}

static void
become(const struct birth *b, int *report, enum failed *what)
{
	/* What boris handles; all else is at its default: birth_prepare() */
	static const int handled[] = {
		SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGPIPE, SIGXFSZ
	};
	struct sigaction dfl;
	sigset_t none;
	size_t i;

	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaction(handled[i], &dfl, NULL);
	setsid();
	*what = FAILED_DIR;
	if (chdir(b->dir) < 0)
		return;
	*what = FAILED_START;
	/* Pipes may sit on the very number that the copy of 1 wants. */
	if (*report == b->fd)
		*report = fcntl(*report, F_DUPFD_CLOEXEC, 10);
	if (dup2(b->in, 0) < 0 || dup2(b->out, 1) < 0 || dup2(b->err, 2) < 0)
		return;
	if (b->fd > 0 && dup2(1, b->fd) < 0)
		return;
	/* Last, so that no handler of boris's ever runs here (E1) */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(b->shell, b->argv, b->env);
}

static int
be_child(void *told)
{
	const struct child *child = told;
	struct failure failure;
	int report = child->report;

	memset(&failure, 0, sizeof(failure));
	failure.what = FAILED_ALONE;
	if (!child->apart || leave_descriptors() == 0)
		become(child->birth, &report, &failure.what);
	failure.error = errno;
	while (write(report, &failure, sizeof(failure)) < 0 && errno == EINTR)
		;
	_exit(127);
	return 0;  /* tcc does not know _exit() */
}

/* -- The parent -------------------------------------------------------- */

int
birth_pipe(int end[2])
{
	/* pipe2() would be one call instead of three, and is not POSIX. */
	if (pipe(end) < 0)
		return -1;
	fcntl(end[0], F_SETFD, FD_CLOEXEC);
	fcntl(end[1], F_SETFD, FD_CLOEXEC);
	return 0;
}

#if defined(__linux__) && !defined(__hppa__)  /* whose stacks grow upwards */
#define SHARES_ALL

/* valgrind knows no such clone() and ends. */
static bool
under_valgrind(void)
{
	static const char sign[] = "/vgpreload_";
	const char *p = getenv("LD_PRELOAD");

	for (; p != NULL; p = strchr(p + 1, '/')) {
		if (strncmp(p, sign, sizeof(sign) - 1) == 0)
			return true;
	}
	return false;
}

/* Like vfork(), which would copy every descriptor only for exec to close it:
 * for 600 of what was left behind (E9) that is a tenth of a call. -1: not so
 * here. */
static pid_t
share_all(struct child *child)
{
	enum { STACK = 16 << 10 };
	const struct birth *b = child->birth;
	long double stack[STACK / sizeof(long double)];

	if (!b->crowded || b->in >= BIRTH_OTHERS || b->out >= BIRTH_OTHERS ||
	    b->err >= BIRTH_OTHERS || child->report >= BIRTH_OTHERS ||
	    under_valgrind())
		return -1;
	child->apart = true;
	return clone(be_child, stack + STACK / sizeof(long double),
	    CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, child);
}

#endif

/* The child borrows boris's memory until it is another program, which saves
 * copying it: that is a tenth of what a call of `true` costs. */
static pid_t
make_child(struct child *child, bool alone)
{
	pid_t pid;

#ifdef SHARES_ALL
	if (!alone) {
		pid = share_all(child);
		if (pid > 0)
			return pid;
	}
	child->apart = false;
#else
	(void)alone;
#endif
#ifdef __linux__
	pid = vfork();
#else
	pid = fork();
#endif
	if (pid == 0)
		be_child(child);
	return pid;
}

/* -1: then it has ended, and *failure says why. */
static pid_t
try_birth(const struct birth *b, bool alone, struct failure *failure)
{
	struct child child;
	int report[2];
	sigset_t all, before;
	ssize_t n;
	pid_t pid;

	failure->what = FAILED_START;
	failure->error = 0;
	if (birth_pipe(report) < 0) {
		failure->error = errno;
		return -1;
	}
	child.birth = b;
	child.report = report[1];
	child.apart = false;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = make_child(&child, alone);
	if (pid < 0)
		failure->error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(report[1]);
	/* End of file: it has been replaced by the shell. After vfork() that
	 * is so already, elsewhere it is a moment's wait. */
	n = 0;
	if (pid > 0)
		while ((n = read(report[0], failure, sizeof(*failure))) < 0 &&
		    errno == EINTR)
			;
	close(report[0]);
	if (pid < 0 || n == 0)
		return pid;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != sizeof(*failure))
		failure->error = EIO;
	return -1;
}

pid_t
birth_give(const struct birth *b, bool *dir_failed)
{
	struct failure failure;
	pid_t pid = try_birth(b, !b->crowded, &failure);

	if (pid < 0 && failure.what == FAILED_ALONE)
		pid = try_birth(b, true, &failure);
	*dir_failed = pid < 0 && failure.what == FAILED_DIR;
	if (pid < 0)
		errno = failure.error;
	return pid;
}
