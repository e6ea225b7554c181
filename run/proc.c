#define _XOPEN_SOURCE 700
/* POSIX_ONLY leaves out what is Linux only, so that the rest can be tested. */
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

/* How a process group is found
 *
 * kill(-id, 0) is not enough to see whether anything of a command lives: it
 * also succeeds for zombies, and it does not find processes of the session that
 * have a group of their own. So boris walks through /proc. For each pid it asks
 * getsid() for the session, and reads the state of members from /proc/PID/stat.
 *
 * A process that forks and exits again and again can stay ahead of such a walk.
 * But Linux gives out pids in ascending order, and /proc/loadavg shows the last
 * one. So boris then asks all pids that were given out during the walk, and
 * those that were given out meanwhile, until there are none:
 *
 *	last pid  4000            4003            4004       4004
 *	          walk of /proc   4001 to 4003    4004       no process escaped
 *
 * All processes of a command that is younger than PID_WRAP_MIN have pids after
 * its leader's, so these are asked at once and the walk is left out. (With the
 * walk a call of `true` takes 25 % longer on a host with 220 processes.)
 *
 * Where /proc is not visible, or not Linux's, boris inherits the orphans of its
 * commands (spawn_prepare() asks for that on Linux). While a group has any
 * member, one of them is then a child of boris, and waitpid(-id) finds it. On
 * other systems init inherits orphans, so kill(-id, 0) is tried as well. In
 * both cases processes that left the group are not found.
 *
 * How it is ended
 *
 *	at once   SIGTERM, and SIGCONT, so that stopped processes receive it
 *	20 ms     SIGTERM again to a bash with a trap that is stopped within
 *	          50 ms of its start (see proc_stop())
 *	1 s       SIGHUP to a terminal's group (T4)
 *	later     SIGTERM once more when the leader has ended, to children that
 *	          were forked as the first one arrived
 *	5 s       SIGKILL, again and again until nothing is left
 *
 * proc_stop() and proc_stop_due() decide what is due, proc_signal() sends it.
 * boris's guard continues at the same point if boris is killed, since all this
 * is in the struct. */

/* PROC_GRACE, the 5 s from SIGTERM to SIGKILL, is in proc.h. */
enum {
	HANGUP = 1000,     /* ms from SIGTERM to SIGHUP (T4) */
	EARLY_STOP = 50,         /* ms from the start; a bash that is stopped within
	                     * them gets a second SIGTERM ... */
	SECOND_TERM = 20,         /* ms after the first one */
	PID_WRAP_MIN = 250,   /* ms in which pids do not wrap around */
	PID_RANGE_MAX = 16384,   /* number of pids that are asked one by one */
	SCAN_ROUNDS = 50         /* of note_since(), each for the pids given out
	                     * during the round before */
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
	/* The second field, the name, can contain any character. */
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

/* Returns the pid that Linux gave out last; 0 if /proc does not show it. */
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

/* Returns the next pid in an open /proc; 0 at its end, -1 on failure. */
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

/* -- Which groups live -------------------------------------------------- */

/* Returns whether the process, or with -id the group, belongs to another user,
 * so that boris may not signal it. */
static bool
is_foreign(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == EPERM;
}

/* Finds out whether a process lives. It is gone if it is a zombie whose threads
 * have all ended. */
static enum proc_found
find_process(pid_t pid)
{
	struct proc_stat s;

	if (proc_stat(pid, &s) < 0) {
		if (errno != ENOENT && errno != ESRCH)
			return PROC_UNKNOWN;
		/* With hidepid /proc does not show processes of others. */
		return is_foreign(pid) ? PROC_FOREIGN : PROC_GONE;
	}
	if ((s.state == 'Z' || s.state == 'X') && s.threads <= 1)
		return PROC_GONE;
	return is_foreign(pid) ? PROC_FOREIGN : PROC_LIVES;
}

/* Returns the group in whose session the process is, whatever the process's own
 * group (L3), or NULL. */
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

/* Notes the process in its group, if it is in one of them and lives. */
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
		return;  /* It would change nothing. */
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

/* Notes all processes that /proc shows. Returns false if it cannot be read. */
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

/* Notes all processes whose pids were given out after `from` (0: all
 * processes), and those that are started meanwhile. Returns false if a process
 * may have escaped. */
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

/* Finds what /proc shows of the groups, as note_since() does. */
static void
poll_proc(const struct list *groups, pid_t from)
{
	bool known = note_since(groups, from);
	struct list_node *n;
	struct proc_group *g;

	for (n = groups->first; n != NULL && !known; n = n->next) {
		g = LIST_ITEM(n, struct proc_group, node);
		if (g->found == PROC_GONE || g->found == PROC_FOREIGN)
			g->found = PROC_UNKNOWN;
	}
}

/* Finds out whether a group has members, without /proc; zombies count, too. */
static enum proc_found
find_by_signal(pid_t id)
{
	if (is_foreign(-id))
		return PROC_FOREIGN;
	return kill(-id, 0) == 0 ? PROC_LIVES : PROC_GONE;
}

/* Reaps the children in a group. Returns whether there are others, which have
 * not ended. */
static bool
reap_members(pid_t id)
{
	pid_t pid;

	do
		pid = waitpid(-id, NULL, WNOHANG);
	while (pid > 0);
	return pid == 0;
}

/* Finds out by waitpid() which groups live. The number of a group whose leader
 * is reaped stays taken while a child of boris is in the group (see "How a
 * process group is found"), so no zombie has to hold it (E3). */
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
			/* The leader is not reaped here, so that exec.c can
			 * read its status. */
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

/* Returns the pid after which those of all these groups come, or 0 if one of
 * them lives too long for that. */
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

/* Forgets what the last poll has found. */
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

/* -- How groups are ended ----------------------------------------------- */

void
proc_stop(struct proc_group *g, int64_t now)
{
	g->send = SIGTERM;
	g->kill_at = now + PROC_GRACE;
	g->resend_term = true;
	/* If SIGTERM arrives while a bash with a trap forks, the child does not
	 * receive it, and bash waits for the child. That happens mostly at the
	 * start. */
	if (g->follow_up == SIGTERM && now - g->started >= EARLY_STOP)
		g->follow_up = 0;
	g->follow_up_at = now + (g->follow_up == SIGTERM ? SECOND_TERM : HANGUP);
}

void
proc_stop_due(struct proc_group *g, bool leaderless, int64_t now)
{
	if (now >= g->kill_at) {
		g->send = SIGKILL;
	} else if (leaderless && g->resend_term) {
		/* A child that was forked as the first one arrived may have
		 * missed it (E2). */
		g->send = SIGTERM;
		g->resend_term = false;
	} else if (now >= g->follow_up_at && g->follow_up != 0) {
		g->send = g->follow_up;
		g->follow_up = 0;
	}
}

/* Sends a signal to the process, or with -id to the group. */
static void
send_signal(pid_t pid, int sig)
{
	kill(pid, sig);
	/* Resume stopped processes so that they receive SIGTERM. */
	if (sig == SIGTERM)
		kill(pid, SIGCONT);
}

/* Signals the processes of the sessions that have groups of their own. Does
 * nothing if /proc cannot be read. (If the process ends between getsid() and
 * kill(), its pid is not reused in that time, because Linux gives out all other
 * pids first.) */
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
		/* A child that has just been forked has no group yet. */
		if (kill(-g->id, 0) < 0 && errno == ESRCH)
			send_signal(g->id, g->send);
		send_signal(-g->id, g->send);
		g->leader_foreign = is_foreign(g->id);
	}
	signal_other_groups(groups);
	for (n = groups->first; n != NULL; n = n->next)
		LIST_ITEM(n, struct proc_group, node)->send = 0;
}
