/* SPDX-License-Identifier: ISC */
#define _XOPEN_SOURCE 700
/* With POSIX_ONLY, Linux-specific code is omitted, so that the portable code
 * can be tested on Linux. */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif

#include "run/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fmt.h"
#include "base/io.h"

/* How the processes of a command are found
 *
 * kill(-id, 0) does not show whether any process of a command is alive. It also
 * succeeds if only zombies are left, and it does not find processes that are in
 * the command's session but in another process group. Therefore boris walks
 * through /proc. For each pid, it calls getsid() and, if the session matches,
 * reads the state of the process from /proc/PID/stat.
 *
 * A process that forks and exits again and again can escape such a walk. But
 * Linux allocates pids in ascending order, and /proc/loadavg reports the last
 * one. After the walk, boris checks all pids that were allocated during the
 * walk, then all pids that were allocated during that check, and so on, until
 * there are no new ones:
 *
 *	step                   pids checked       last pid afterwards
 *	1. walk through /proc  all in /proc       4003 (was 4000)
 *	2. check new pids      4001 to 4003       4004
 *	3. check new pids      4004               4004: no process escaped
 *
 * For a command that was started less than PID_WRAP_MIN ago, all pids are
 * greater than the pid of its leader. boris checks only these pids and omits
 * the walk. (Without this shortcut, a tool call that runs `true` takes 25 %
 * longer on a host with 220 processes.)
 *
 * If /proc is not usable, boris inherits the orphans of its commands on Linux
 * (see spawn_prepare()). As long as a process group has members, at least one
 * of them is then a child of boris, so waitpid(-id) finds it. On other systems,
 * where init inherits orphans, boris also calls kill(-id, 0). In both cases,
 * processes that have left the process group are not found.
 *
 * How the processes are terminated
 *
 *	at once            SIGTERM, and SIGCONT, so that stopped processes
 *	                   can act on it
 *	after TERM_RETRY   SIGTERM again for a shell with an EXIT trap, if the
 *	                   command is younger than EARLY_STOP (E2 d)
 *	after HANGUP       SIGHUP for a command in a terminal (T4 b)
 *	leader has exited  SIGTERM again for children forked while the first
 *	                   SIGTERM was being sent (E2 c)
 *	after PROC_GRACE   SIGKILL, repeated until no process is left
 *
 * proc_stop() and proc_stop_due() decide which signal is due, and proc_signal()
 * sends it. Their state is in struct proc_group, so the guard continues at the
 * same point if boris is killed. */

enum {
	HANGUP = 1000,      /* delay between SIGTERM and SIGHUP, in ms (T4) */
	EARLY_STOP = 50,    /* maximum age, in ms, of a command that may be sent
	                     * a second SIGTERM (E2 d) */
	TERM_RETRY = 20,    /* delay between the first two SIGTERMs, in ms */
	PID_WRAP_MIN = 250, /* shortest time, in ms, in which pids can wrap
	                     * around */
	/* maximum number of new pids to check one by one; if there are more,
	 * boris walks through /proc */
	PID_RANGE_MAX = 16384,
	/* maximum number of steps in a search for processes; each step checks
	 * the pids that were allocated during the previous step */
	SCAN_ROUNDS = 50
};

bool
proc_ended(pid_t pid, int *status, bool *signalled)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid == 0)
		return false;
	*signalled = info.si_code != CLD_EXITED;
	*status = *signalled ? 128 + info.si_status : info.si_status & 255;
	return true;
}

/* -- What /proc shows --------------------------------------------------- */

ssize_t
proc_read(pid_t pid, const char *file, char *text, size_t size)
{
	char name[64];
	struct buf path = { name, 0, sizeof(name) };
	ssize_t n = -1;
	int fd;

	if (pid > 0)
		buf_fmt(&path, "/proc/%jd/%s", (intmax_t)pid, file);
	else
		buf_fmt(&path, "/proc/%s", file);
	fd = open(buf_text(&path), O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, size - 1);
	fd_close(&fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

int
proc_stat(pid_t pid, struct proc_stat *s)
{
	char text[1024];
	const char *p;
	int field;

	*s = (struct proc_stat){ 0 };
	if (proc_read(pid, "stat", text, sizeof(text)) < 0)
		return -1;
	/* Search for the last parenthesis, because the program name in the
	 * second field may contain any character. */
	p = strrchr(text, ')');
	for (field = 3; p != NULL; field++) {
		p = strchr(p, ' ');
		if (p == NULL)
			break;
		p++;
		switch (field) {
		case 3: s->state = *p; break;
		case 4: s->parent = (pid_t)atoi(p); break;
		case 5: s->group = (pid_t)atoi(p); break;
		case 20: s->threads = atoi(p); break;
		case 52: s->exit_code = atoi(p); break;
		}
	}
	return 0;
}

/* Returns the pid most recently allocated by Linux, or 0 if /proc does not
 * report it. */
static pid_t
last_pid(void)
{
	char text[128], *p;

	proc_read(0, "loadavg", text, sizeof(text));
	p = strrchr(text, ' ');
	return p == NULL ? 0 : (pid_t)atoi(p + 1);
}

bool
proc_visible(void)
{
#ifdef ON_LINUX
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	return atoi(self) == getpid() && last_pid() > 0;
#else
	return false;
#endif
}

/* Returns the next pid in an open /proc directory, 0 at its end, or -1 on
 * failure. */
static pid_t
next_pid(DIR *proc)
{
	const struct dirent *entry;
	pid_t pid = 0;

	while (pid <= 0) {
		errno = 0;
		entry = readdir(proc);
		if (entry == NULL)
			return errno == 0 ? 0 : -1;
		pid = (pid_t)atoi(entry->d_name);
	}
	return pid;
}

/* -- Which process groups are alive ------------------------------------ */

/* Returns whether boris is not permitted to signal a process because it belongs
 * to another user. A negative pid denotes a process group. */
static bool
is_foreign(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == EPERM;
}

/* Returns the state of a process. A zombie counts as exited unless some of its
 * threads are still running. */
static enum proc_found
find_process(pid_t pid)
{
	struct proc_stat s;

	if (proc_stat(pid, &s) < 0) {
		if (errno != ENOENT && errno != ESRCH)
			return PROC_UNKNOWN;
		/* If /proc is mounted with hidepid, it does not show the
		 * processes of other users. */
		return is_foreign(pid) ? PROC_FOREIGN : PROC_GONE;
	}
	if ((s.state == 'Z' || s.state == 'X') && s.threads <= 1)
		return PROC_GONE;
	return is_foreign(pid) ? PROC_FOREIGN : PROC_LIVES;
}

/* Returns the listed process group whose id equals the process's session id, or
 * NULL if there is none. The process itself may be in another process group of
 * that session (L3). */
static struct proc_group *
find_session(const struct list *groups, pid_t pid)
{
	pid_t session = getsid(pid);
	struct list_node *n;
	struct proc_group *g;

	for (n = groups->first; n != NULL; n = n->next) {
		g = LIST_ITEM(n, struct proc_group, node);
		if (g->id == session)
			return g;
	}
	return NULL;
}

/* Records the process in the process group that find_session() returns for it.
 * Does nothing if the process has exited or there is no such group. */
static void
note_if_member(const struct list *groups, pid_t pid)
{
	struct proc_group *g = find_session(groups, pid);
	enum proc_found found;
	bool other_group;

	if (g == NULL || (pid == g->id && g->leader_ended))
		return;
	other_group = getpgid(pid) != g->id;
	if (g->found == PROC_LIVES && !other_group && pid != g->id)
		/* Skip the process, because another live process in the same
		 * process group has already been found. */
		return;
	found = find_process(pid);
	if (found == PROC_GONE)
		return;
	if (found > g->found || found == PROC_LIVES) {
		g->found = found;
		g->survivor = pid;
	}
	g->leader_lives = g->leader_lives || pid == g->id;
	g->other_groups = g->other_groups || other_group;
}

/* Calls note_if_member() for all processes in /proc. Returns false if /proc
 * cannot be read. */
static bool
note_all(const struct list *groups)
{
	DIR *proc = opendir("/proc");
	pid_t pid;

	if (proc == NULL)
		return false;
	while ((pid = next_pid(proc)) > 0)
		note_if_member(groups, pid);
	closedir(proc);
	return pid == 0;
}

/* Calls note_if_member() for all pids allocated after the pid `from`, including
 * those that are allocated while this function runs. If `from` is 0, calls it
 * for all pids. Returns false if a process may have been missed. */
static bool
note_since(const struct list *groups, pid_t from)
{
	pid_t last, pid;
	int round;

	for (round = 0; round < SCAN_ROUNDS; round++) {
		last = last_pid();
		if (last == 0)
			return false;
		if (last == from)
			return true;
		if (from == 0 || from > last || last - from > PID_RANGE_MAX) {
			if (!note_all(groups))
				return false;
		} else {
			for (pid = from + 1; pid <= last; pid++)
				note_if_member(groups, pid);
		}
		from = last;
	}
	return false;
}

/* Searches /proc for the processes of the groups. Checks only pids allocated
 * after the pid `from`, or all pids if `from` is 0. If the search may have
 * missed a process, sets each group's state to PROC_UNKNOWN, unless the search
 * found a process in the group that boris is permitted to signal. */
static void
poll_proc(const struct list *groups, pid_t from)
{
	bool complete = note_since(groups, from);
	struct list_node *n;
	struct proc_group *g;

	for (n = groups->first; n != NULL && !complete; n = n->next) {
		g = LIST_ITEM(n, struct proc_group, node);
		if (g->found == PROC_GONE || g->found == PROC_FOREIGN)
			g->found = PROC_UNKNOWN;
	}
}

/* Returns the state of a process group, determined without /proc. Zombies count
 * as live processes. */
static enum proc_found
find_by_signal(pid_t id)
{
	if (is_foreign(-id))
		return PROC_FOREIGN;
	return kill(-id, 0) == 0 ? PROC_LIVES : PROC_GONE;
}

/* Reaps all exited children in a process group. Returns whether boris has any
 * children left in the group. */
static bool
reap_members(pid_t id)
{
	pid_t pid;

	do
		pid = waitpid(-id, NULL, WNOHANG);
	while (pid > 0);
	return pid == 0;
}

/* Uses waitpid() to find out which process groups are alive. Reaping a leader
 * is safe, because the kernel does not reuse the group's number as long as the
 * group has a member (E3). */
static void
poll_children(const struct list *groups)
{
	struct list_node *n;
	struct proc_group *g;
	bool children;

	for (n = groups->first; n != NULL; n = n->next) {
		g = LIST_ITEM(n, struct proc_group, node);
		children = true;
		if (g->leader_ended) {
			children = reap_members(g->id);
		} else {
			/* Do not reap the leader yet, because exec.c must read
			 * its exit status. */
			g->survivor = g->id;
		}
		if (children)
			g->found = is_foreign(-g->id) ? PROC_FOREIGN
			    : PROC_LIVES;
#ifndef ON_LINUX
		else
			g->found = find_by_signal(g->id);
#endif
	}
}

/* Returns the lowest pid among the group leaders, so that a search can start
 * after this pid. Returns 0 if the search must cover all pids, because a leader
 * is still running or because pids may have wrapped around since a command was
 * started. */
static pid_t
oldest_pid(const struct list *groups, int64_t now)
{
	const struct proc_group *g;
	struct list_node *n;
	pid_t oldest = 0;

	for (n = groups->first; n != NULL; n = n->next) {
		g = LIST_ITEM(n, struct proc_group, node);
		if (!g->leader_ended || now - g->started >= PID_WRAP_MIN)
			return 0;
		if (oldest == 0 || g->id < oldest)
			oldest = g->id;
	}
	return oldest;
}

/* Clears the results of the previous poll. */
static void
clear_findings(const struct list *groups)
{
	struct list_node *n;
	struct proc_group *g;

	for (n = groups->first; n != NULL; n = n->next) {
		g = LIST_ITEM(n, struct proc_group, node);
		g->found = PROC_GONE;
		g->survivor = 0;
		g->leader_lives = g->other_groups = false;
	}
}

void
proc_poll(const struct list *groups, bool visible, int64_t now)
{
	clear_findings(groups);
	if (visible)
		poll_proc(groups, oldest_pid(groups, now));
	else
		poll_children(groups);
}

void
proc_poll_orphans(const struct list *groups, bool visible)
{
	struct list_node *n;
	struct proc_group *g;

	clear_findings(groups);
	if (visible) {
		poll_proc(groups, 0);
		return;
	}
	for (n = groups->first; n != NULL; n = n->next) {
		g = LIST_ITEM(n, struct proc_group, node);
		g->found = find_by_signal(g->id);
		g->leader_lives = kill(g->id, 0) == 0;
	}
}

/* -- How process groups are terminated --------------------------------- */

void
proc_prepare(struct proc_group *g, enum proc_kind kind, int64_t now)
{
	g->kind = kind;
	g->started = now;
}

void
proc_stop(struct proc_group *g, int64_t now)
{
	g->send = SIGTERM;
	g->retry_at = g->hangup_at = NEVER;
	g->kill_at = now + PROC_GRACE;
	g->term_children = true;
	/* If bash has an EXIT trap and forks just as SIGTERM arrives, the child
	 * does not receive the signal, and bash waits for the child. This
	 * mostly happens shortly after bash starts. */
	if (g->kind == PROC_WITH_TRAP && now - g->started < EARLY_STOP)
		g->retry_at = now + TERM_RETRY;
	if (g->kind == PROC_ON_TERMINAL)
		g->hangup_at = now + HANGUP;
}

void
proc_stop_due(struct proc_group *g, bool leaderless, int64_t now)
{
	if (now >= g->kill_at) {
		g->send = SIGKILL;
	} else if (g->send != 0) {
		/* Do not overwrite a signal that proc_signal() has not sent
		 * yet. */
		return;
	} else if (leaderless && g->term_children) {
		/* Children forked while SIGTERM was being sent may have missed
		 * it. */
		g->send = SIGTERM;
		g->term_children = false;
	} else if (now >= g->retry_at) {
		g->send = SIGTERM;
		g->retry_at = NEVER;
	} else if (now >= g->hangup_at) {
		g->send = SIGHUP;
		g->hangup_at = NEVER;
	}
}

int64_t
proc_stop_due_at(const struct proc_group *g)
{
	int64_t at = g->kill_at;

	if (g->retry_at < at)
		at = g->retry_at;
	if (g->hangup_at < at)
		at = g->hangup_at;
	return at;
}

/* Sends a signal to a process or, if `pid` is negative, to the process group
 * with the id -pid. */
static void
send_signal(pid_t pid, int sig)
{
	kill(pid, sig);
	/* Resume stopped processes so that they can act on SIGTERM. */
	if (sig == SIGTERM)
		kill(pid, SIGCONT);
}

/* For each group, sends the signal in `send` to those processes of the group's
 * session that are in other process groups. Does nothing if /proc cannot be
 * read. A process's pid cannot be reused between getsid() and kill(), because
 * Linux reuses a pid only after it has allocated all other pids. */
static void
signal_other_groups(const struct list *groups)
{
	DIR *proc = opendir("/proc");
	const struct proc_group *g;
	pid_t pid;

	if (proc == NULL)
		return;
	while ((pid = next_pid(proc)) > 0) {
		g = find_session(groups, pid);
		if (g != NULL && getpgid(pid) != g->id)
			send_signal(pid, g->send);
	}
	closedir(proc);
}

void
proc_signal(const struct list *groups)
{
	struct list_node *n;
	struct proc_group *g;

	for (n = groups->first; n != NULL; n = n->next) {
		g = LIST_ITEM(n, struct proc_group, node);
		/* A child that was just forked may not be in its process group
		 * yet. */
		if (kill(-g->id, 0) < 0 && errno == ESRCH)
			send_signal(g->id, g->send);
		send_signal(-g->id, g->send);
		g->leader_foreign = is_foreign(g->id);
	}
	signal_other_groups(groups);
	for (n = groups->first; n != NULL; n = n->next)
		LIST_ITEM(n, struct proc_group, node)->send = 0;
}
