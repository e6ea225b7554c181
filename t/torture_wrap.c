/* SPDX-License-Identifier: ISC */
/* Wrappers that make boris's calls of the C library fail, for t/torture. boris
 * is linked with -Wl,--wrap=NAME for each __wrap_NAME in this file.
 * t/torture.py chooses the call that fails, in shared memory. Without that
 * memory, no call fails.
 *
 * Each call fails with an error that the kernel may return for it. Functions
 * that never fail if their arguments are valid are not wrapped (t/torture lists
 * them). */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* Processes that make calls: boris, a child of boris before exec, the guard */
enum process { IN_BORIS, IN_CHILD, IN_GUARD, PROCESSES };

/* smallest allocation whose size is taken to be determined by a peer, bytes */
enum { SIZED = 16384 };

/* The control block, which t/torture.py shares with boris */
struct torture {
	long long process;  /* process whose call fails */
	long long at;       /* number of the call that fails, from 1 */
	long long times;    /* number of calls that fail because they need the
	                     * same resource, including the first one */
	volatile long long stop;             /* set if no more calls fail */
	volatile long long count[PROCESSES]; /* number of calls by process */
	volatile long long failed;           /* number of failed calls */
	char name[32];      /* name of the first failed call, or "" */
	char resource[32];  /* resource that this call needed */
};

static struct torture *control;
static enum process process = IN_BORIS;

/* Counts a call. Returns whether it must fail, and sets errno in that case. */
static bool
fails(const char *name, const char *resource, int error)
{
	struct torture *t = control;
	long long n;

	if (t == NULL || t->stop)
		return false;
	n = ++t->count[process];
	if (process != t->process || n < t->at)
		return false;
	if (n == t->at) {
		strncpy(t->name, name, sizeof(t->name) - 1);
		strncpy(t->resource, resource, sizeof(t->resource) - 1);
	} else if (t->failed == 0 || t->failed >= t->times ||
	    strcmp(t->resource, resource) != 0) {
		return false;
	}
	t->failed++;
	errno = error;
	return true;
}

#define WRAP(type, name, resource, error, failed, params, args) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		if (fails(#name, resource, error)) \
			return failed; \
		return __real_##name args; \
	}

#define CALL(name, error, params, args) \
	WRAP(int, name, #name, error, -1, params, args)

/* -- Memory ------------------------------------------------------------ */

/* Smaller allocations always succeed here, since boris exits if one of them
 * fails (E7). */
#define MEMORY(name, size, failed, params, args) \
	void *__real_##name params; \
	void *__wrap_##name params; \
	void *__wrap_##name params \
	{ \
		if ((size) >= SIZED && fails(#name, "memory", ENOMEM)) \
			return failed; \
		return __real_##name args; \
	}

MEMORY(malloc, n, NULL, (size_t n), (n))
MEMORY(calloc, n * m, NULL, (size_t n, size_t m), (n, m))
MEMORY(realloc, n, NULL, (void *p, size_t n), (p, n))
MEMORY(mmap, n, MAP_FAILED,
       (void *p, size_t n, int protection, int flags, int fd, off_t at),
       (p, n, protection, flags, fd, at))

/* -- Descriptors ------------------------------------------------------- */

#define DESCRIPTOR(name, params, args) \
	WRAP(int, name, "descriptors", EMFILE, -1, params, args)

DESCRIPTOR(pipe, (int *end), (end))
DESCRIPTOR(socket, (int a, int b, int c), (a, b, c))
DESCRIPTOR(posix_openpt, (int flags), (flags))
DESCRIPTOR(accept, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n))
WRAP(DIR *, opendir, "descriptors", EMFILE, NULL, (const char *name), (name))

#define OPEN(name, start, args) \
	int __real_##name(start int flags, ...); \
	int __wrap_##name(start int flags, ...); \
	int __wrap_##name(start int flags, ...) \
	{ \
		va_list list; \
		mode_t mode = 0; \
		va_start(list, flags); \
		if (flags & O_CREAT) \
			mode = va_arg(list, mode_t); \
		va_end(list); \
		if (fails(#name, "descriptors", EMFILE)) \
			return -1; \
		return __real_##name args; \
	}
#define COMMA ,

OPEN(open, const char *path COMMA, (path, flags, mode))
OPEN(open64, const char *path COMMA, (path, flags, mode))
OPEN(openat, int dir COMMA const char *path COMMA, (dir, path, flags, mode))
OPEN(openat64, int dir COMMA const char *path COMMA,
     (dir, path, flags, mode))

/* dup2() cannot fail in the guard, which only replaces descriptor 0. */
int __real_dup2(int from, int to);
int __wrap_dup2(int from, int to);

int
__wrap_dup2(int from, int to)
{
	if (process != IN_GUARD && fails("dup2", "dup2", EMFILE))
		return -1;
	return __real_dup2(from, to);
}

/* Other operations on an open descriptor cannot fail. */
int __real_fcntl(int fd, int operation, ...);
int __wrap_fcntl(int fd, int operation, ...);

int
__wrap_fcntl(int fd, int operation, ...)
{
	va_list list;
	long arg;

	va_start(list, operation);
	arg = va_arg(list, long);
	va_end(list);
	if ((operation == F_DUPFD || operation == F_DUPFD_CLOEXEC) &&
	    fails("fcntl", "descriptors", EMFILE))
		return -1;
	return __real_fcntl(fd, operation, arg);
}

int __wrap_fcntl64(int fd, int operation, long arg);

int
__wrap_fcntl64(int fd, int operation, long arg)
{
	return __wrap_fcntl(fd, operation, arg);
}

/* -- Reading and writing ----------------------------------------------- */

CALL(fstat, EIO, (int fd, struct stat *s), (fd, s))
CALL(fstat64, EIO, (int fd, struct stat64 *s), (fd, s))

/* Returns whether the transfer of n bytes succeeds; otherwise sets errno. A
 * file fails with an error of the disk, whereas a pipe, a socket or a terminal
 * is only not ready. The transfer of one byte, which is how signal handlers
 * report, fails only for files. */
static bool
transfers(int fd, const char *name, size_t n, int file_error, int other_error)
{
	struct stat st;
	bool file;

	if (control == NULL)
		return true;
	file = __real_fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (file)
		return !fails(name, name, file_error);
	return n == 1 || !fails(name, file_error == EIO ? "input" : "output",
	    other_error);
}

#define TRANSFER(name, file_error, other_error, params, args) \
	ssize_t __real_##name params; \
	ssize_t __wrap_##name params; \
	ssize_t __wrap_##name params \
	{ \
		if (!transfers(fd, #name, (size_t)n, file_error, \
		    other_error)) \
			return -1; \
		return __real_##name args; \
	}

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);

/* A child of boris that reads its descriptor 0 is the guard. */
ssize_t
__wrap_read(int fd, void *p, size_t n)
{
	if (process == IN_CHILD && fd == 0)
		process = IN_GUARD;
	if (!transfers(fd, "read", n, EIO, EINTR))
		return -1;
	return __real_read(fd, p, n);
}

TRANSFER(pread, EIO, EINTR, (int fd, void *p, size_t n, off_t at),
     (fd, p, n, at))
TRANSFER(pread64, EIO, EINTR, (int fd, void *p, size_t n, off64_t at),
     (fd, p, n, at))
TRANSFER(write, ENOSPC, EAGAIN, (int fd, const void *p, size_t n), (fd, p, n))
TRANSFER(pwrite, ENOSPC, EAGAIN, (int fd, const void *p, size_t n, off_t at),
     (fd, p, n, at))
CALL(poll, ENOMEM, (struct pollfd *p, nfds_t n, int ms), (p, n, ms))

/* -- Files ------------------------------------------------------------- */

CALL(access, ENOMEM, (const char *p, int mode), (p, mode))
CALL(stat, ENOMEM, (const char *p, struct stat *s), (p, s))
CALL(stat64, ENOMEM, (const char *p, struct stat64 *s), (p, s))
CALL(chdir, ENOMEM, (const char *p), (p))
CALL(fchmod, EIO, (int fd, mode_t mode), (fd, mode))
CALL(fchown, EIO, (int fd, uid_t uid, gid_t gid), (fd, uid, gid))
CALL(flock, ENOLCK, (int fd, int operation), (fd, operation))
CALL(fstatfs, EIO, (int fd, struct statfs *s), (fd, s))
CALL(fstatfs64, EIO, (int fd, struct statfs64 *s), (fd, s))
CALL(fstatvfs, EIO, (int fd, struct statvfs *s), (fd, s))
CALL(fstatvfs64, EIO, (int fd, struct statvfs64 *s), (fd, s))
CALL(fsync, EIO, (int fd), (fd))
CALL(ftruncate, EIO, (int fd, off_t n), (fd, n))
CALL(ftruncate64, EIO, (int fd, off64_t n), (fd, n))
CALL(unlink, EIO, (const char *p), (p))
CALL(fstatat, ENOMEM, (int dir, const char *p, struct stat *s, int flags),
     (dir, p, s, flags))
CALL(fstatat64, ENOMEM, (int dir, const char *p, struct stat64 *s, int flags),
     (dir, p, s, flags))
CALL(linkat, EIO, (int a, const char *from, int b, const char *to, int flags),
     (a, from, b, to, flags))
CALL(renameat, EIO, (int a, const char *from, int b, const char *to),
     (a, from, b, to))
CALL(unlinkat, EIO, (int dir, const char *p, int flags), (dir, p, flags))
CALL(mkdir, ENOSPC, (const char *p, mode_t mode), (p, mode))
CALL(mkfifo, ENOSPC, (const char *p, mode_t mode), (p, mode))
WRAP(char *, realpath, "realpath", ENOMEM, NULL, (const char *p, char *to),
     (p, to))
WRAP(ssize_t, readlink, "readlink", ENOMEM, -1,
     (const char *p, char *to, size_t n), (p, to, n))
WRAP(struct dirent *, readdir, "readdir", EIO, NULL, (DIR *dir), (dir))
WRAP(struct dirent64 *, readdir64, "readdir", EIO, NULL, (DIR *dir), (dir))

/* -- Processes --------------------------------------------------------- */

pid_t __real_fork(void);
pid_t __wrap_fork(void);

pid_t
__wrap_fork(void)
{
	pid_t pid;

	if (fails("fork", "processes", EAGAIN))
		return -1;
	pid = __real_fork();
	if (pid == 0)
		process = IN_CHILD;
	return pid;
}

pid_t __wrap_vfork(void);

/* A wrapper cannot return twice, as vfork() does. */
pid_t
__wrap_vfork(void)
{
	return __wrap_fork();
}

CALL(execve, ENOMEM, (const char *p, char *const *argv, char *const *env),
     (p, argv, env))
CALL(setpgid, EPERM, (pid_t pid, pid_t group), (pid, group))
CALL(prctl, EINVAL, (int option, long a, long b, long c, long d),
     (option, a, b, c, d))
CALL(mount, ENOMEM, (const char *from, const char *to, const char *type,
     unsigned long flags, const void *data), (from, to, type, flags, data))
CALL(umount2, ENOMEM, (const char *p, int flags), (p, flags))
CALL(unshare, ENOSPC, (int flags), (flags))

/* kill() with signal 0 only checks a permission, so it is not made to fail
 * (E11). */
int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);

int
__wrap_kill(pid_t pid, int sig)
{
	if (sig != 0 && fails("kill", "kill", EPERM))
		return -1;
	return __real_kill(pid, sig);
}

/* -- Terminals and sockets --------------------------------------------- */

CALL(grantpt, EACCES, (int fd), (fd))
CALL(unlockpt, EINVAL, (int fd), (fd))
CALL(tcgetattr, EIO, (int fd, struct termios *t), (fd, t))
CALL(tcgetpgrp, EIO, (int fd), (fd))
CALL(tcsetattr, EIO, (int fd, int when, const struct termios *t),
     (fd, when, t))
CALL(bind, ENOMEM, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
CALL(listen, ENOMEM, (int fd, int n), (fd, n))
CALL(getsockname, ENOBUFS, (int fd, struct sockaddr *a, socklen_t *n),
     (fd, a, n))
CALL(setsockopt, ENOMEM, (int fd, int level, int option, const void *p,
     socklen_t n), (fd, level, option, p, n))

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

int
__wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (fails("ioctl", "ioctl", EIO))
		return -1;
	return __real_ioctl(fd, request, arg);
}

/* -- System calls without a function of their own ------------------------- */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static bool
syscall_fails(long number)
{
	switch (number) {
	case SYS_rt_sigaction:
		return false;
	case SYS_pipe2:
		return fails("pipe2", "descriptors", EMFILE);
#ifdef SYS_pidfd_send_signal
	case SYS_pidfd_send_signal:  /* counts as kill() */
		return fails("pidfd_send_signal", "kill", EPERM);
#endif
#ifdef SYS_pidfd_open
	case SYS_pidfd_open:
		return fails("pidfd_open", "descriptors", EMFILE);
#endif
#ifdef SYS_landlock_create_ruleset
	case SYS_landlock_create_ruleset:
		return fails("landlock_create_ruleset", "descriptors",
		    EMFILE);
	case SYS_landlock_add_rule:
		return fails("landlock_add_rule", "landlock", ENOMEM);
	case SYS_landlock_restrict_self:
		return fails("landlock_restrict_self", "landlock", ENOMEM);
#endif
	default:
		return fails("syscall", "syscall", ENOSYS);
	}
}

/* It reads six arguments even if the caller passes fewer, so the address
 * sanitizer must not check it. */
__attribute__((no_sanitize("address"))) long
__wrap_syscall(long number, ...)
{
	va_list list;
	long a[6];
	int i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (syscall_fails(number))
		return -1;
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* -- Initialisation ---------------------------------------------------- */

void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_open(const char *path, int flags, ...);

__attribute__((constructor)) static void
map_control(void)
{
	const char *path = getenv("TORTURE");
	int fd = path != NULL ? __real_open(path, O_RDWR) : -1;
	void *p;

	if (fd < 0)
		return;
	p = __real_mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	close(fd);
	unsetenv("TORTURE");
	control = p != MAP_FAILED ? p : NULL;
}
