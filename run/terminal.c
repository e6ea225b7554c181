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

enum { PATH_SIZE = 4096 };  /* bytes; no link's text is longer */

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
	/* musl takes an int; POWER's constant is an unsigned long. */
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
/* Returns whether this system call waits for events, one of which may be
 * input. */
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

/* Copies what a link in /proc/PID/fd leads to. Only the text of the link is
 * read: stat() and open() would wait for a hung mount. Returns its length, or 0
 * if it cannot be read. */
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

/* Returns whether that descriptor of the process is the terminal, or /dev/tty.
 * A program in a chroot sees them below another directory, so only the ends of
 * the names are compared. */
static bool
leads_to(pid_t pid, int64_t fd, const char *terminal)
{
	char text[PATH_SIZE];
	size_t len = read_link(pid, fd, text, sizeof(text));

	return ends_with(text, len, terminal) ||
	    ends_with(text, len, "/dev/tty");
}

/* Returns whether the program is 64-bit if boris is, and 32-bit if not. If they
 * differ, the program's system calls have other numbers. The stack of a 32-bit
 * program is below 4 GiB, that of a 64-bit program above. rest: the call's six
 * arguments and the stack pointer as /proc/PID/syscall shows them, or NULL. */
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

/* Returns whether /proc shows system calls by the numbers that this boris was
 * built with. An emulator such as qemu-user shows those of its host. */
static bool
numbers_are_ours(void)
{
	char text[256];
	const char *rest;

	if (proc_read(getpid(), "syscall", text, sizeof(text)) < 0)
		return false;
	return digits_value(text, 10, &rest) == SYS_read;
}

/* Finds out whether a thread of that group waits for input from the terminal.
 * /proc/PID/syscall shows the number of the system call that the thread is in,
 * and its arguments; or -1, if it is in none, or "running". */
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
		return TERMINAL_BUSY;  /* It has ended. */
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

/* Returns whether the main thread of the process is in no system call. */
static bool
main_thread_runs(pid_t process)
{
	char text[2];

	return proc_read(process, "syscall", text, sizeof(text)) > 0 &&
	    *text == 'r';  /* "running" */
}

/* Finds out whether one of the threads of a process waits for input. If the
 * main thread runs, the process is busy, whatever events its other threads wait
 * for. */
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
		return TERMINAL_BUSY;  /* It has ended. */
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

/* Finds out whether one of the processes of a group waits for input. */
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
	/* The last command's group may be gone before a shell takes over. */
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
/* Returns whether the process, or one that it descends from within the session,
 * is in the group. */
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
