/* SPDX-License-Identifier: ISC */
/* Request the declaration of syscall(), which is not part of POSIX. */
#ifdef __linux__
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define _BSD_SOURCE       /* needed by glibc before 2.20 */
#else
#define _POSIX_C_SOURCE 200809L
#endif
/* With POSIX_ONLY, Linux-specific code is omitted, so that the portable code
 * can be tested on Linux. */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif

#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#ifdef ON_LINUX
#include <sys/syscall.h>
#include <sys/time.h>
#endif

#include "base/buf.h"
#include "base/io.h"
#include "base/message.h"

#if defined(ON_LINUX) && defined(SYS_getrandom)
/* Does nothing. SIGALRM needs a handler, so that it interrupts getrandom(). */
static void
on_alarm(int sig)
{
	(void)sig;
}

/* Waits until the kernel's random number generator is ready. If the wait takes
 * more than one second, prints a message to stderr. Before Linux 5.6, the wait
 * can take minutes. All signals are unblocked during the wait, so that they can
 * terminate boris. Returns the result of getrandom(). */
static ssize_t
wait_for_random(void *bytes, size_t n)
{
	struct sigaction action = { .sa_handler = on_alarm }, old_action;
	/* Repeat the alarm, because the first one may arrive just before the
	 * system call that it should interrupt. */
	struct itimerval second = { { 1, 0 }, { 1, 0 } };
	struct itimerval off = { { 0, 0 }, { 0, 0 } };
	bool reported = false;
	sigset_t none, before;
	ssize_t got;

	sigaction(SIGALRM, &action, &old_action);
	setitimer(ITIMER_REAL, &second, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &before);
	got = syscall(SYS_getrandom, bytes, n, 0);
	while (got < 0 && errno == EINTR) {
		if (!reported)
			stderr_line("boris: waiting for the kernel's random "
			    "number generator to be initialized");
		reported = true;
		got = syscall(SYS_getrandom, bytes, n, 0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &old_action, NULL);
	return got;
}
#endif

/* Fills the array with n random bytes. Returns the number of bytes, or -1 with
 * errno set. The error is ENOSYS if the system has no getrandom(). */
static ssize_t
get_random(void *bytes, size_t n)
{
#if defined(ON_LINUX) && defined(SYS_getrandom)
	enum { NONBLOCK = 1 };  /* value of GRND_NONBLOCK in the kernel */
	ssize_t got = syscall(SYS_getrandom, bytes, n, NONBLOCK);

	if (got < 0 && errno == EAGAIN)
		got = wait_for_random(bytes, n);
	return got;
#else
	(void)bytes;
	(void)n;
	errno = ENOSYS;
	return -1;
#endif
}

bool
random_hex(char *hex, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char byte[RANDOM_MAX];
	ssize_t got = get_random(byte, n);
	int fd = -1;
	size_t i;

	/* Read /dev/urandom only if getrandom() does not exist. After any other
	 * error, the generator may not be seeded yet, and the bytes could be
	 * guessed. */
	if (got < 0 && errno == ENOSYS)
		fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		got = read(fd, byte, n);
	fd_close(&fd);
	hex[0] = '\0';
	if (got != (ssize_t)n)
		return false;
	for (i = 0; i < n; i++) {
		hex[2 * i] = digits[byte[i] >> 4];
		hex[2 * i + 1] = digits[byte[i] & 15];
	}
	hex[2 * n] = '\0';
	return true;
}
