/* More than POSIX: syscall() on Linux. */
#ifdef __linux__
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define _BSD_SOURCE       /* the same before glibc 2.20 */
#else
#define _POSIX_C_SOURCE 200809L
#endif
/* POSIX_ONLY leaves out what is Linux only, so that the rest can be tested. */
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
/* Interrupts getrandom(). */
static void
on_alarm(int sig)
{
	(void)sig;
}

/* Waits until the kernel's random number generator is ready, and reports that
 * on stderr after a second. Since Linux 5.6 a waiting getrandom() makes the
 * generator ready within one or two seconds; before, it may take minutes, so
 * signals that terminate boris are unblocked. Returns what getrandom()
 * returns. */
static ssize_t
wait_for_random(void *bytes, size_t n)
{
	struct sigaction action = { .sa_handler = on_alarm }, old_action;
	/* It repeats, in case the first one comes just before the call. */
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
			    "number generator");
		reported = true;
		got = syscall(SYS_getrandom, bytes, n, 0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	sigaction(SIGALRM, &old_action, NULL);
	return got;
}
#endif

/* Fills the array with n random bytes. Returns their number, or -1 with errno
 * set, ENOSYS if the system does not have getrandom(). */
static ssize_t
get_random(void *bytes, size_t n)
{
#if defined(ON_LINUX) && defined(SYS_getrandom)
	enum { NONBLOCK = 1 };  /* the kernel's GRND_NONBLOCK */
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

	/* With any other error /dev/urandom may not be ready either. Then its
	 * bytes can be guessed. */
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
