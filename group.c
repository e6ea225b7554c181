#ifdef __linux__
#define _DEFAULT_SOURCE  /* syscall */
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* waitid */

#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "json.h"

enum {
	FEW_PIDS = 64,        /* so many are asked one by one */
	MANY_PIDS = 100000    /* more than that never are */
};

/* Dead but for its entry: state Z or X, and no thread of it lives on without
 * the first one. What cannot be read is taken for alive. */
static bool
is_zombie(pid_t pid)
{
	struct buf path = { NULL, 0, 0, false };
	char text[1024], *p;
	ssize_t n = -1;
	int fd, i;

	buf_puts(&path, "/proc/");
	buf_int(&path, pid);
	buf_puts(&path, "/stat");
	buf_putc(&path, '\0');
	fd = path.failed ? -1 : open(path.data, O_RDONLY | O_CLOEXEC);
	buf_free(&path);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strrchr(text, ')');  /* the name before it may hold anything */
	if (p == NULL || (p[2] != 'Z' && p[2] != 'X'))
		return false;
	for (i = 0; i < 18 && p != NULL; i++)
		p = strchr(p + 1, ' ');
	return p == NULL || atoi(p + 1) <= 1;
}

/* The leader opened a session of the same number, so whoever is of it is
 * ours, also in a group of its own: `set -m` gives each job one (L3). */
static bool
is_member(pid_t pid, pid_t group)
{
	return pid != group && getsid(pid) == group && !is_zombie(pid);
}

bool
group_search(const pid_t group[], bool lives[], int n)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int i, pids = 0;
	pid_t pid, its;

	if (dir == NULL)
		return false;
	memset(lives, 0, (size_t)n * sizeof(*lives));
	while ((entry = readdir(dir)) != NULL) {
		pid = (pid_t)atoi(entry->d_name);
		if (pid <= 0)
			continue;
		pids++;
		its = getsid(pid);
		for (i = 0; i < n && its > 0; i++) {
			if (group[i] == its && !lives[i])
				lives[i] = is_member(pid, its);
		}
	}
	closedir(dir);
	return pids > 0;
}

/* The pid that was given out last, in Linux's eyes: the fifth word of
 * /proc/loadavg. 0: not to be had. */
static pid_t
last_pid(void)
{
	char text[128], *p;
	ssize_t n;
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ' ');
	return p == NULL ? 0 : (pid_t)atoi(p + 1);
}

/* The same where there is no /proc: a child that only says its number. */
static pid_t
probe_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return pid;
}

static int
search_range(pid_t group, pid_t last)
{
	pid_t pid;

	for (pid = group + 1; pid <= last; pid++) {
		if (is_member(pid, group))
			return 1;
	}
	return 0;
}

int
group_lives(pid_t group, bool young)
{
#ifdef __linux__
	pid_t last;
	bool lives;

	/* Linux gives pids out in order: what a young command has forked has
	 * the numbers behind its own, and mostly there are none. */
	if (young) {
		last = last_pid();
		if (last >= group && last - group <= FEW_PIDS)
			return search_range(group, last);
	}
	if (group_search(&group, &lives, 1))
		return lives;
	last = probe_pid();
	if (last > group && last - group < MANY_PIDS)
		return search_range(group, last);
	return 1;  /* unknown: what may be there is not forgotten */
#else
	(void)group;
	(void)young;
	return -1;
#endif
}

/* One that has a group of its own. Held by a descriptor where that can be
 * had, so that it is this process and no later one of its number (E3). */
static void
signal_stray(pid_t pid, pid_t group, int sig)
{
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0) {
		if (getsid(pid) == group)
			syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
		close(fd);
		return;
	}
#endif
	if (getsid(pid) == group)
		kill(pid, sig);
}

static void
signal_strays(pid_t group, int sig)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t pid;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		pid = (pid_t)atoi(entry->d_name);
		if (pid > 0 && pid != group && getsid(pid) == group &&
		    getpgid(pid) != group)
			signal_stray(pid, group, sig);
	}
	if (dir != NULL)
		closedir(dir);
}

void
group_signal(pid_t group, int sig)
{
	kill(-group, sig);
	signal_strays(group, sig);
	if (sig != SIGKILL) {
		/* What is stopped could not act on it. */
		kill(-group, SIGCONT);
		signal_strays(group, SIGCONT);
	}
}

/* Our dead children by /proc: some may stand behind zombies that are kept */
static int
search_dead(pid_t dead[], int most)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	siginfo_t info;
	int n = 0;

	while (dir != NULL && n < most && (entry = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		memset(&info, 0, sizeof(info));
		if (pid > 0 && waitid(P_PID, (id_t)pid, &info,
		    WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
			dead[n++] = pid;
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

int
group_dead_children(pid_t dead[], int most)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid == 0)
		return 0;
	if (getpid() == 1)
		return search_dead(dead, most);
	dead[0] = info.si_pid;
	return 1;
}

void
group_reap_stranger(pid_t pid)
{
	waitpid(pid, NULL, WNOHANG);
}
