/* SPDX-License-Identifier: ISC */
/* Make the headers declare syscall() and closefrom(), which POSIX does not
 * define. FreeBSD and OpenBSD need no macro, because they declare all functions
 * by default. */
#ifdef __linux__
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define _BSD_SOURCE       /* needed by glibc before 2.20 */
#endif
#define _DARWIN_C_SOURCE  /* macOS */
#define _NETBSD_SOURCE
/* With POSIX_ONLY, Linux-specific code is omitted, so that the portable code
 * can be tested on Linux. */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif

#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifdef ON_LINUX
#include <sys/prctl.h>
#include <sys/syscall.h>
#else
#define vfork fork  /* deprecated on some systems */
#endif

#include "base/fmt.h"
#include "base/io.h"

enum { OOM_SCORE = 500 };  /* oom_score_adj of all commands */

void
spawn_prepare(bool visible)
{
	struct sigaction action;
	int sig;

#ifdef ON_LINUX
	const long zero[16] = { 0 };

	/* boris needs the subreaper attribute only if /proc is not usable.
	 * Otherwise clear the attribute, because boris may have inherited
	 * it. */
	prctl(PR_SET_CHILD_SUBREAPER, (long)!visible, 0L, 0L, 0L);
	/* Use the system call directly, because sigaction() rejects the signals
	 * that the C library reserves for itself. A zeroed struct means
	 * SIG_DFL. */
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

/* Closes the descriptors from `first` to `last`. Does nothing if `first` is
 * greater than `last`. Uses close_range() if it is available, since a loop over
 * 1,024 descriptors would make a tool call that runs `true` take 15 %
 * longer. */
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
spawn_close_from(int lowest)
{
#if defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
	closefrom(lowest);
#else
	close_between(lowest, INT_MAX);
#endif
}

/* Resets all signal handlers to the default and unblocks all signals. */
static void
default_signals(void)
{
	/* signals for which boris installs handlers; spawn_prepare() has reset
	 * all other signals */
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

/* Gives the child the descriptors listed in `fd` (see spawn_program.fds).
 * Closes all other descriptors except `done`, the write end of spawn()'s pipe.
 * Otherwise a hung child would keep the client's connection or the guard's pipe
 * open (L4). Returns 0, or -1 with errno set. */
static int
copy_descriptors(struct proc_group *g, const int *fd, int done)
{
	int kept = 2, low, high;

	for (; *fd >= 0; fd += 2) {
		/* If the program needs the pipe's descriptor number, move the
		 * pipe to another number. If that fails, the pipe is closed too
		 * early, and until the child exits, boris assumes that the
		 * program has started. */
		if (fd[1] == done)
			done = fcntl(done, F_DUPFD_CLOEXEC, 3);
		/* If the two descriptors are the same, dup2() does nothing and
		 * FD_CLOEXEC stays set. Clear the flag, so that the program
		 * inherits the descriptor. */
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

/* Changes to the program's initial directory, dirs->start. If that fails,
 * records whether the child can change to dirs->tracked and to dirs->workdir.
 * Returns 0, or -1 with errno set. */
static int
enter_directory(struct proc_outcome *r, const struct spawn_dirs *dirs)
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
	char digits[16];
	struct buf text = { digits, 0, sizeof(digits) };

	buf_fmt(&text, "%d", score);
	if (pwrite(fd, text.data, text.len, 0) < 0)
		errno = 0;
}

/* Raises boris's OOM score before a fork. The child inherits the score, so that
 * the kernel kills the child first if memory runs out (E10). Does not lower a
 * score that is already higher, and ignores errors. `fd` is a descriptor for
 * boris's oom_score_adj, or -1. Returns the previous score, or OOM_SCORE if it
 * cannot be read. */
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

/* Starts the program in the child. Returns only on failure, with errno set. The
 * child changes only the process group and errno, because it may share boris's
 * memory (see create_child()).
 *
 * All signals stay blocked until their handlers are reset, so that no signal
 * handler of boris runs in the child (E1). The signals are unblocked before the
 * child changes to its directory, so that a child in a hung directory can be
 * killed. */
static void
exec_child(struct proc_group *g, const struct spawn_program *program, int done)
{
	setsid();
	g->id = getpid();
	if (copy_descriptors(g, program->fds, done) < 0)
		return;
	if (program->terminal && ioctl(0, TIOCSCTTY, 0) < 0)
		return;
	default_signals();
	if (enter_directory(&g->outcome, program->dirs) == 0)
		execve(program->path, program->argv, program->env);
}

static bool
is_in_proc(const char *dir)
{
	return strncmp(dir, "/proc/", 6) == 0;
}

/* Returns whether any of the directories is in /proc. A link in /proc can lead
 * to a mount in another process's namespace, which is not in boris's mount
 * table and may be unresponsive. */
static bool
has_proc_dir(const struct spawn_dirs *dirs)
{
	return is_in_proc(dirs->start) || is_in_proc(dirs->tracked) ||
	    is_in_proc(dirs->workdir);
}

/* Returns whether an unresponsive file system could block the child (E11). The
 * child accesses file systems when it changes to its directory, executes the
 * program or closes a file. */
static bool
may_hang(const struct spawn_program *program)
{
	return has_proc_dir(program->dirs) || !mounts_refresh(program->mounts);
}

/* Creates the child process. Returns its pid, or -1 with errno set.
 *
 * vfork() suspends boris until the child has executed the program or exited, so
 * it is used only if the child cannot hang. (If fork() is used instead, a tool
 * call that runs `true` takes 8 % longer in bash and 14 % longer in dash.)
 * After vfork(), the child shares boris's memory. This function is separate
 * from spawn(), so that the child cannot change the local variables of spawn().
 * Compilers never inline a function that calls vfork(). */
static pid_t
create_child(struct proc_group *g, const struct spawn_program *program,
             int done)
{
	pid_t pid = may_hang(program) ? fork() : vfork();

	if (pid == 0) {
		exec_child(g, program, done);
		g->outcome.error = errno;
		_exit(127);
	}
	return pid;
}

int
spawn(struct proc_group *g, const struct spawn_program *program)
{
	sigset_t all, before;
	int end[2], error, score;
	pid_t pid;

	if (fd_pipe(end) < 0)
		return -1;
	fd_nonblocking(end[0]);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* Raise the OOM score before the fork, because Landlock may prevent the
	 * child from changing its own score. */
	score = raise_oom_score(program->oom_score);
	pid = create_child(g, program, end[1]);
	error = errno;
	if (score < OOM_SCORE)
		write_oom_score(program->oom_score, score);
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
