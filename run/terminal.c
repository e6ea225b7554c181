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

#include "base/io.h"
#include "base/text.h"
#include "run/proc.h"

enum { PATH_SIZE = 4096 };  /* bytes; no link's text is longer */

/* Opens the other end of that master; -1 with errno. (ptsname() would bring
 * printf() into a static binary, 16 KB.) */
static int
open_slave(int master)
{
#ifdef TIOCGPTN
	char name[32];
	struct buf b = { name, 0, sizeof(name) };
	unsigned number;

	if (ioctl(master, TIOCGPTN, &number) < 0)
		return -1;
	buf_add(&b, "/dev/pts/", NUM(number));
	return open(buf_text(&b), O_RDWR | O_NOCTTY | O_CLOEXEC);
#else
	return open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
#endif
}

int
terminal_open(int *master, int *slave)
{
	struct winsize size = { 50, 200, 0, 0 };

	*slave = -1;
	*master = posix_openpt(O_RDWR | O_NOCTTY);
	if (*master < 0)
		return -1;
	fd_cloexec(*master);
	fcntl(*master, F_SETFL, O_NONBLOCK);
	if (grantpt(*master) == 0 && unlockpt(*master) == 0)
		*slave = open_slave(*master);
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
/* Does this system call wait for events, one of which may be input? */
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
read_link(const char *process, int64_t fd, char *text, size_t size)
{
	char name[64];
	struct buf b = { name, 0, sizeof(name) };
	ssize_t n;

	buf_add(&b, "/proc/", process, "/fd/", NUM(fd));
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

/* Is that descriptor of the process the terminal, or /dev/tty? A program in a
 * chroot sees them below another directory, so only the ends are compared. */
static bool
leads_to(pid_t pid, int64_t fd, const char *terminal)
{
	char text[PATH_SIZE];
	size_t len = read_link(NUM(pid), fd, text, sizeof(text));

	return ends_with(text, len, terminal) ||
	    ends_with(text, len, "/dev/tty");
}

/* Is this program 64-bit, as boris is? If not, its system calls are numbered
 * differently. Its stack tells: that of a 32-bit program lies below 4 GiB, that
 * of a 64-bit one above it. `rest` are six arguments and the stack pointer. */
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

/* What /proc/PID/stat says of a process or a thread */
struct stat_fields {
	char state;       /* 'T': stopped */
	pid_t parent, group;
	int exit_code;    /* if it is stopped: the signal; 0: unknown */
};

/* Reads them. Returns whether that succeeded. */
static bool
read_stat(pid_t pid, struct stat_fields *s)
{
	char text[1024];
	const char *p;
	int field;

	*s = (struct stat_fields){ 0 };
	if (proc_read(pid, "/stat", text, sizeof(text)) < 0)
		return false;
	p = strrchr(text, ')');  /* the name before it may hold anything */
	for (field = 2; p != NULL && field < 52; field++) {
		p = strchr(p, ' ');
		if (p == NULL)
			break;
		p++;
		switch (field + 1) {
		case 3: s->state = *p; break;
		case 4: s->parent = (pid_t)atoi(p); break;
		case 5: s->group = (pid_t)atoi(p); break;
		case 52: s->exit_code = atoi(p); break;
		}
	}
	return s->state != 0;
}

/* /proc/PID/syscall is the number of the call that the thread is in, and its
 * arguments; or -1, if it is in none, or "running". */
static enum terminal_prompt
thread_prompts(pid_t thread, pid_t group, const char *terminal)
{
	char text[256];
	const char *rest;
	struct stat_fields s;
	int64_t number;

	if (read_stat(thread, &s) && s.state == 'T')
		return TERMINAL_BUSY;
	if (proc_read(thread, "/syscall", text, sizeof(text)) < 0)
		return getpgid(thread) == group ? TERMINAL_MAY_PROMPT
		    : TERMINAL_BUSY;  /* it has ended */
	number = digits_value(text, 10, &rest);
	if (number < 0)
		return TERMINAL_BUSY;
	if (!has_our_calls(rest) || waits_for_events(number))
		return TERMINAL_MAY_PROMPT;
	if (number != SYS_read && number != SYS_readv)
		return TERMINAL_BUSY;
	return leads_to(thread, digits_value(rest + 3, 16, &rest), terminal)
	    ? TERMINAL_PROMPTS : TERMINAL_BUSY;
}

/* What is found of that process, by its threads; if it is 0, of all those in
 * the group. One whose main thread runs is at work, whatever its others do. */
static enum terminal_prompt
find_prompt(pid_t process, pid_t group, const char *terminal)
{
	enum terminal_prompt one, found = TERMINAL_BUSY;
	char name[64], main[2];
	struct buf b = { name, 0, sizeof(name) };
	const struct dirent *entry;
	bool any = process > 0;
	DIR *dir;
	pid_t pid;

	buf_add(&b, "/proc/", any ? NUM(process) : "", any ? "/task" : "");
	dir = opendir(buf_text(&b));
	if (dir == NULL)  /* it has ended, or may not be looked at */
		return any && getpgid(process) != group ? TERMINAL_BUSY
		    : TERMINAL_MAY_PROMPT;
	while (found != TERMINAL_PROMPTS && (entry = readdir(dir)) != NULL) {
		pid = (pid_t)atoi(entry->d_name);
		if (pid <= 0 || (process == 0 && getpgid(pid) != group))
			continue;
		any = true;
		one = process == 0 ? find_prompt(pid, group, terminal)
		    : thread_prompts(pid, group, terminal);
		found = one > found ? one : found;
	}
	closedir(dir);
	if (found == TERMINAL_MAY_PROMPT && process > 0 &&
	    proc_read(process, "/syscall", main, sizeof(main)) > 0 &&
	    *main == 'r')
		return TERMINAL_BUSY;
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
	    read_link("self", slave, terminal, sizeof(terminal)) > 0)
		return find_prompt(0, group, terminal);
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
	struct stat_fields s;

	while (pid > 0 && getsid(pid) == session && read_stat(pid, &s)) {
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
	struct stat_fields s;
	DIR *dir = foreground > 0 ? opendir("/proc") : NULL;

	while (dir != NULL && found == 0 && (entry = readdir(dir)) != NULL) {
		pid = (pid_t)atoi(entry->d_name);
		if (pid <= 0 || getsid(pid) != session || !read_stat(pid, &s))
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
