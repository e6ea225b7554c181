#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "terminal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#ifdef ON_LINUX
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#endif

#include "io.h"
#include "proc.h"

/* -- Its two ends ------------------------------------------------------ */

/* Opens the other end of that master; -1 with errno. (ptsname() would bring
 * printf() into a static binary, 16 KB.) */
static int
open_slave(int master)
{
#ifdef TIOCGPTN
	char name[32];
	struct buf b = { name, 0, sizeof(name), false };
	unsigned number;

	if (ioctl(master, TIOCGPTN, &number) < 0)
		return -1;
	buf_number(&b, "/dev/pts/", number, "");
	buf_putc(&b, '\0');
	return open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
#else
	return open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
#endif
}

int
terminal_open(int end[2])
{
	struct winsize size = { 50, 200, 0, 0 };

	end[1] = -1;
	end[0] = posix_openpt(O_RDWR | O_NOCTTY);
	if (end[0] < 0)
		return -1;
	fd_cloexec(end[0]);
	fcntl(end[0], F_SETFL, O_NONBLOCK);
	if (grantpt(end[0]) == 0 && unlockpt(end[0]) == 0)
		end[1] = open_slave(end[0]);
	if (end[1] >= 0) {
		/* An int in musl; POWER's constant is an unsigned long. */
		ioctl(end[1], (unsigned)TIOCSWINSZ, &size);
		return 0;
	}
	fd_close(&end[0]);
	return -1;
}

/* -- What is typed ------------------------------------------------------ */

bool
terminal_mode(int master, bool *lines, bool *shows)
{
	struct termios mode;

	if (tcgetattr(master, &mode) < 0)
		return false;
	*lines = (mode.c_lflag & ICANON) != 0;
	*shows = (mode.c_lflag & ECHO) != 0;
	return true;
}

/* Does the terminal send or drop the line at this character? */
static bool
ends_line(const struct termios *mode, unsigned char c)
{
	static const int always[] = { VEOF, VEOL, VKILL };
	static const int signals[] = { VINTR, VQUIT, VSUSP };
	int i;

	for (i = 0; i < 3 && c != _POSIX_VDISABLE; i++) {
		if (c == mode->c_cc[always[i]] ||
		    ((mode->c_lflag & ISIG) && c == mode->c_cc[signals[i]]))
			return true;
	}
	return c == '\n' || (c == '\r' && (mode->c_iflag & ICRNL));
}

size_t
terminal_line(int master, size_t line, const struct buf *text)
{
	struct termios mode;
	unsigned char c;
	size_t i;

	if (tcgetattr(master, &mode) < 0)
		return 0;
	for (i = 0; i < text->len && line <= TERMINAL_LINE; i++) {
		c = (unsigned char)text->data[i];
		if (ends_line(&mode, c))
			line = 0;
		else if (c != mode.c_cc[VERASE])
			line++;
		else if (line > 0)
			line--;
	}
	return line;
}

/* -- Who reads it ------------------------------------------------------- */

#ifdef ON_LINUX
/* Does this system call wait for events, one of which may be input? */
static bool
waits_for_events(long number)
{
	static const long calls[] = {
#ifdef SYS_poll
		SYS_poll, SYS_epoll_wait,
#endif
#ifdef SYS_select
		SYS_select,
#endif
#ifdef SYS__newselect
		SYS__newselect,
#endif
#ifdef SYS_ppoll
		SYS_ppoll, SYS_pselect6,
#endif
#ifdef SYS_ppoll_time64
		SYS_ppoll_time64, SYS_pselect6_time64,
#endif
		SYS_epoll_pwait
	};
	size_t i = 0;

	while (i < sizeof(calls) / sizeof(calls[0]) && calls[i] != number)
		i++;
	return i < sizeof(calls) / sizeof(calls[0]);
}

/* Are the system calls of that program numbered as ours: has it the same class,
 * byte order and machine in the head of its file (ELF)? */
static bool
has_our_calls(pid_t pid)
{
	char ours[20], its[20];

	return proc_read(getpid(), "/exe", ours, sizeof(ours)) > 18 &&
	    proc_read(pid, "/exe", its, sizeof(its)) > 18 &&
	    memcmp(ours + 4, its + 4, 2) == 0 && ours[18] == its[18];
}

/* Is that descriptor of the process the terminal, or /dev/tty? */
static bool
leads_to(pid_t pid, int64_t fd, dev_t terminal)
{
	char name[64];
	struct buf b = { name, 0, sizeof(name), false };
	struct stat st;

	buf_number(&b, "/proc/", pid, "/fd/");
	buf_int(&b, fd);
	buf_putc(&b, '\0');
	return stat(name, &st) == 0 && S_ISCHR(st.st_mode) &&
	    (st.st_rdev == terminal ||
	    (major(st.st_rdev) == 5 && minor(st.st_rdev) == 0));
}

/* /proc/PID/syscall is the number of the call that the thread is in, and its
 * arguments; or a word, or -1, if it is in none. */
static enum terminal_prompt
thread_prompts(pid_t thread, pid_t group, dev_t terminal)
{
	char text[128];
	const char *rest;
	int64_t number;

	if (proc_read(thread, "/syscall", text, sizeof(text)) < 0)
		return getpgid(thread) == group ? TERMINAL_MAY_PROMPT
		    : TERMINAL_BUSY;  /* it has ended */
	number = digits_value(text, 10, &rest);
	if (number < 0)
		return TERMINAL_BUSY;
	if (!has_our_calls(thread) || waits_for_events(number))
		return TERMINAL_MAY_PROMPT;
	if ((number == SYS_read || number == SYS_readv) &&
	    strncmp(rest, " 0x", 3) == 0 &&
	    leads_to(thread, digits_value(rest + 3, 16, &rest), terminal))
		return TERMINAL_PROMPTS;
	return TERMINAL_BUSY;
}

static enum terminal_prompt
process_prompts(pid_t pid, pid_t group, dev_t terminal)
{
	enum terminal_prompt found = TERMINAL_BUSY, one;
	char name[64];
	struct buf b = { name, 0, sizeof(name), false };
	const struct dirent *entry;
	pid_t thread;
	DIR *dir;

	buf_number(&b, "/proc/", pid, "/task");
	buf_putc(&b, '\0');
	dir = opendir(name);
	if (dir == NULL)
		return thread_prompts(pid, group, terminal);
	while (found != TERMINAL_PROMPTS && (entry = readdir(dir)) != NULL) {
		thread = (pid_t)atoi(entry->d_name);
		one = thread > 0 ? thread_prompts(thread, group, terminal)
		    : TERMINAL_BUSY;
		found = one > found ? one : found;
	}
	closedir(dir);
	return found;
}

/* Its foreground group, empty for a moment when a shell takes it back */
static enum terminal_prompt
group_prompts(DIR *dir, pid_t group, dev_t terminal)
{
	enum terminal_prompt found = TERMINAL_BUSY, one;
	const struct dirent *entry;
	bool any = false;
	pid_t pid;

	while (found != TERMINAL_PROMPTS && (entry = readdir(dir)) != NULL) {
		pid = (pid_t)atoi(entry->d_name);
		if (pid <= 0 || getpgid(pid) != group)
			continue;
		any = true;
		one = process_prompts(pid, group, terminal);
		found = one > found ? one : found;
	}
	return any ? found : TERMINAL_MAY_PROMPT;
}
#endif

enum terminal_prompt
terminal_prompts(int master, int slave)
{
	enum terminal_prompt found = TERMINAL_MAY_PROMPT;
#ifdef ON_LINUX
	pid_t group = tcgetpgrp(master);
	struct stat st;
	DIR *dir = opendir("/proc");

	if (dir != NULL && group > 0 && fstat(slave, &st) == 0)
		found = group_prompts(dir, group, st.st_rdev);
	if (dir != NULL)
		closedir(dir);
#else
	(void)master;
	(void)slave;
#endif
	return found;
}
