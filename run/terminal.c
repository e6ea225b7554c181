/* SPDX-License-Identifier: ISC */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif
#define _XOPEN_SOURCE 700

#include "run/terminal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#ifdef ON_LINUX
#include <sys/syscall.h>
#endif

#include "base/fmt.h"
#include "base/io.h"
#include "base/text.h"
#include "run/proc.h"

/* How one check for a prompt works
 *
 * A terminal prompts if a program is waiting for input from it. On Linux,
 * /proc/PID/syscall reports the system call in which a thread is blocked. boris
 * reads it for all threads of the terminal's foreground process group:
 *
 *	read from the terminal or /dev/tty           TERMINAL_PROMPTS
 *	poll, select or epoll                        TERMINAL_MAY_PROMPT
 *	  but the main thread is running             TERMINAL_BUSY
 *	another system call, or none                 TERMINAL_BUSY
 *	stopped                                      TERMINAL_BUSY
 *	the file cannot be read, or the program's
 *	  system calls may have other numbers        TERMINAL_MAY_PROMPT
 *
 * The result for the group is the greatest of these values. On systems other
 * than Linux, it is always TERMINAL_MAY_PROMPT. prompt.h explains when this
 * check is made, and how the result and the terminal's output decide whether
 * boris reports that a program is waiting for input. */

/* size of the buffer for a symbolic link's target, in bytes */
enum { PATH_SIZE = 4096 };

int
terminal_open(int *master, int *slave)
{
	struct winsize size = { 50, 200, 0, 0 };
	const char *name = NULL;

	*slave = -1;
	*master = posix_openpt(O_RDWR | O_NOCTTY);
	if (*master < 0)
		return -1;
	fd_cloexec(*master);
	fcntl(*master, F_SETFL, O_NONBLOCK);
	if (grantpt(*master) == 0 && unlockpt(*master) == 0)
		name = ptsname(*master);
	if (name != NULL)
		*slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0) {
		fd_close(master);
		return -1;
	}
	/* Cast the constant to unsigned. It is an unsigned long on POWER, but
	 * musl's ioctl() takes an int. */
	ioctl(*slave, (unsigned)TIOCSWINSZ, &size);
	return 0;
}

enum terminal_mode
terminal_mode(int master)
{
	struct termios mode;

	if (tcgetattr(master, &mode) < 0)
		return TERMINAL_CLOSED;
	if (!(mode.c_lflag & ICANON))
		return TERMINAL_KEYS;
	return mode.c_lflag & ECHO ? TERMINAL_LINES : TERMINAL_UNSEEN;
}

char
terminal_enter(int master)
{
	struct termios mode;

	if (tcgetattr(master, &mode) < 0)
		return '\n';
	if ((mode.c_lflag & ICANON) || (mode.c_iflag & ICRNL))
		return '\n';
	return '\r';
}

bool
terminal_has_unread(int slave)
{
#ifdef FIONREAD
	int n = 0;

	return ioctl(slave, FIONREAD, &n) == 0 && n > 0;
#else
	(void)slave;
	return false;
#endif
}

#ifdef ON_LINUX
/* Returns whether the system call is poll(), select() or a similar one that may
 * wait for terminal input. */
static bool
waits_for_events(long number)
{
	switch (number) {
#ifdef SYS_poll
	case SYS_poll: case SYS_epoll_wait:
#endif
#ifdef SYS__newselect
	case SYS__newselect:
#elif defined(SYS_select)
	case SYS_select:
#endif
#ifdef SYS_ppoll
	case SYS_ppoll: case SYS_pselect6:
#endif
#ifdef SYS_ppoll_time64
	case SYS_ppoll_time64: case SYS_pselect6_time64:
#endif
	case SYS_epoll_pwait:
		return true;
	default:
		return false;
	}
}

/* Reads a descriptor's symbolic link in /proc/PID/fd. Reads only the link
 * itself, because stat() and open() would block on a hung mount. Returns the
 * length of the link's target, or 0 if the link cannot be read. */
static size_t
read_link(pid_t process, int64_t fd, char *text, size_t size)
{
	char name[64];
	struct buf b = { name, 0, sizeof(name) };
	ssize_t n;

	buf_fmt(&b, "/proc/%jd/fd/%jd", (intmax_t)process, (intmax_t)fd);
	n = readlink(buf_text(&b), text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return strlen(text);
}

static bool
ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return n > 0 && len >= n && strcmp(text + len - n, end) == 0;
}

/* Returns whether a descriptor of the process refers to the terminal or to
 * /dev/tty. Compares only the last part of the descriptor's path in /proc,
 * because the path has an additional prefix if the program runs in a chroot. */
static bool
leads_to(pid_t pid, int64_t fd, const char *terminal)
{
	char text[PATH_SIZE];
	size_t len = read_link(pid, fd, text, sizeof(text));

	return ends_with(text, len, terminal) ||
	    ends_with(text, len, "/dev/tty");
}

/* Returns whether a program and boris have the same word size, and therefore
 * the same system call numbers. `rest` contains the arguments and the stack
 * pointer from /proc/PID/syscall, or is NULL. Only a 32-bit program has its
 * stack below 4 GiB. */
static bool
has_our_calls(const char *rest)
{
	int64_t stack;
	int i;

	for (i = 0; i < 6 && rest != NULL; i++)
		rest = strchr(rest + 1, ' ');
	if (rest == NULL || strncmp(rest, " 0x", 3) != 0)
		return false;
	stack = digits_value(rest + 3, 16, &rest);
	return (stack > UINT32_MAX) == (sizeof(void *) > 4);
}

/* Returns whether the system call numbers in /proc match those that boris was
 * built with. Under an emulator such as qemu-user, /proc reports the numbers of
 * the host instead. */
static bool
numbers_are_ours(void)
{
	char text[256];
	const char *rest;

	if (proc_read(getpid(), "syscall", text, sizeof(text)) < 0)
		return false;
	return digits_value(text, 10, &rest) == SYS_read;
}

/* Returns whether a thread is reading from the terminal. /proc/PID/syscall
 * contains the system call that the thread is in, with its arguments. It
 * contains "-1" if the thread is blocked outside a system call, and "running"
 * if it is not blocked. */
static enum terminal_prompt
thread_prompts(pid_t thread, pid_t group, const char *terminal)
{
	char text[256];
	const char *rest;
	struct proc_stat s;
	int64_t number;

	if (proc_stat(thread, &s) == 0 && s.state == 'T')
		return TERMINAL_BUSY;
	if (proc_read(thread, "syscall", text, sizeof(text)) < 0) {
		if (getpgid(thread) == group)
			return TERMINAL_MAY_PROMPT;
		return TERMINAL_BUSY;  /* The thread has exited. */
	}
	number = digits_value(text, 10, &rest);
	if (number < 0)
		return TERMINAL_BUSY;
	if (!has_our_calls(rest) || waits_for_events(number))
		return TERMINAL_MAY_PROMPT;
	if (!numbers_are_ours())
		return TERMINAL_MAY_PROMPT;
	if (number != SYS_read && number != SYS_readv)
		return TERMINAL_BUSY;
	return leads_to(thread, digits_value(rest + 3, 16, &rest), terminal)
	    ? TERMINAL_PROMPTS : TERMINAL_BUSY;
}

/* Returns whether the main thread of a process is running rather than
 * blocked. */
static bool
main_thread_runs(pid_t process)
{
	char text[2];

	return proc_read(process, "syscall", text, sizeof(text)) > 0 &&
	    *text == 'r';  /* "running" */
}

/* Returns whether a thread of the process is reading from the terminal. If the
 * main thread is running, other threads that are waiting for events do not
 * count. */
static enum terminal_prompt
process_prompts(pid_t process, pid_t group, const char *terminal)
{
	enum terminal_prompt one, found = TERMINAL_BUSY;
	char name[64];
	struct buf b = { name, 0, sizeof(name) };
	const struct dirent *entry;
	pid_t thread;
	DIR *dir;

	buf_fmt(&b, "/proc/%jd/task", (intmax_t)process);
	dir = opendir(buf_text(&b));
	if (dir == NULL) {
		if (getpgid(process) == group)
			return TERMINAL_MAY_PROMPT;
		return TERMINAL_BUSY;  /* The process has exited. */
	}
	while (found != TERMINAL_PROMPTS && (entry = readdir(dir)) != NULL) {
		thread = (pid_t)atoi(entry->d_name);
		if (thread <= 0)
			continue;
		one = thread_prompts(thread, group, terminal);
		if (one > found)
			found = one;
	}
	closedir(dir);
	if (found == TERMINAL_MAY_PROMPT && main_thread_runs(process))
		return TERMINAL_BUSY;
	return found;
}

/* Returns whether a process of the group is reading from the terminal. */
static enum terminal_prompt
group_prompts(pid_t group, const char *terminal)
{
	enum terminal_prompt one, found = TERMINAL_BUSY;
	const struct dirent *entry;
	bool any = false;
	pid_t pid;
	DIR *dir = opendir("/proc");

	if (dir == NULL)
		return TERMINAL_MAY_PROMPT;
	while (found != TERMINAL_PROMPTS && (entry = readdir(dir)) != NULL) {
		pid = (pid_t)atoi(entry->d_name);
		if (pid <= 0 || getpgid(pid) != group)
			continue;
		any = true;
		one = process_prompts(pid, group, terminal);
		if (one > found)
			found = one;
	}
	closedir(dir);
	/* The foreground group may be empty briefly, until the shell puts its
	 * own group into the foreground. */
	return any ? found : TERMINAL_MAY_PROMPT;
}
#endif

enum terminal_prompt
terminal_prompts(int master, int slave)
{
#ifdef ON_LINUX
	pid_t group = tcgetpgrp(master);
	char terminal[PATH_SIZE];

	if (group > 0 &&
	    read_link(getpid(), slave, terminal, sizeof(terminal)) > 0)
		return group_prompts(group, terminal);
#else
	(void)master;
	(void)slave;
#endif
	return TERMINAL_MAY_PROMPT;
}

#ifdef ON_LINUX
/* Returns whether the process is in the process group or has an ancestor in
 * that group. Ignores ancestors outside the session. */
static bool
descends_from(pid_t pid, pid_t group, pid_t session)
{
	struct proc_stat s;

	while (pid > 0 && getsid(pid) == session &&
	    proc_stat(pid, &s) == 0) {
		if (s.group == group)
			return true;
		pid = s.parent;
	}
	return false;
}
#endif

pid_t
terminal_stopped(int master, pid_t session, int *signo)
{
	pid_t found = 0;
#ifdef ON_LINUX
	pid_t foreground = tcgetpgrp(master), pid;
	const struct dirent *entry;
	struct proc_stat s;
	DIR *dir = foreground > 0 ? opendir("/proc") : NULL;

	while (dir != NULL && found == 0 && (entry = readdir(dir)) != NULL) {
		pid = (pid_t)atoi(entry->d_name);
		if (pid <= 0 || getsid(pid) != session ||
		    proc_stat(pid, &s) < 0)
			continue;
		if (s.state == 'T' && descends_from(pid, foreground, session)) {
			found = s.group;
			*signo = s.exit_code;
		}
	}
	if (dir != NULL)
		closedir(dir);
#else
	(void)master;
	(void)session;
	(void)signo;
#endif
	return found;
}
