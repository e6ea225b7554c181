/* SPDX-License-Identifier: ISC */
#define _XOPEN_SOURCE 700  /* Request getrlimit(), and SIGTRAP on FreeBSD. */

#include "exec.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/text.h"
#include "run/guard.h"
#include "run/proc.h"
#include "run/spawn.h"

/* The states of a command
 *
 *	RUNNING --- shell exits ---> SETTLING --- SETTLE ---> ORPHANED
 *	   |                            |                        |
 *	   +----------------------------+------------------------+
 *	   | exec_stop(): SIGTERM
 *	   v
 *	STOPPING --- foreign for FOREIGN_GRACE ---------> SURVIVED
 *	   |                                                  ^
 *	   | PROC_GRACE: SIGKILL                              |
 *	   v                                                  |
 *	KILLED ----- foreign for FOREIGN_GRACE, --------------+
 *	             or PROC_GIVE_UP
 *
 * SETTLE, FOREIGN_GRACE, PROC_GRACE and PROC_GIVE_UP are times. proc.h
 * defines the last two.
 *
 * From every state except RUNNING, a command enters GONE when all of its
 * processes have exited. "Foreign" means that only processes of another user
 * are left, which boris is not permitted to signal. From SURVIVED, a command
 * returns to SETTLING if its shell exits after all, and to STOPPING if
 * exec_stop() is called again and the surviving process is foreign.
 *
 * In SETTLING, boris waits for processes that are about to exit or to start a
 * session of their own, so that it does not report them as left running
 * (E4, B7). In ORPHANED, processes of the command were left running. In
 * SURVIVED, boris has given up: a process belongs to another user, or is stuck
 * in the kernel.
 *
 * A command ends when it enters ORPHANED or GONE. It also ends when it enters
 * SURVIVED after its shell has exited. From then on, its exit status and output
 * are complete, and `ended` is true. boris polls the process group as soon as
 * the shell has exited or cannot be signalled. */

enum {
	SETTLE = 20,            /* duration of EXEC_SETTLING, in ms */
	SETTLE_POLL = 4,        /* poll interval for a process group in the
	                         * state EXEC_SETTLING, in ms */
	STOP_POLL = 16,         /* poll interval for a process group that is
	                         * being terminated, in ms */
	ORPHAN_POLL = 10000,    /* poll interval for processes that were left
	                         * running, in ms */
	/* time, in ms, that boris waits for another user's processes to exit on
	 * their own, as sudo does shortly after its command */
	FOREIGN_GRACE = 100,
	TYPED_MAX = 4 << 20,    /* maximum size of queued input, in bytes */
	PIPE_FULL = 1 << 20,    /* maximum capacity of a pipe, in bytes */
	READ_SIZE = 64 << 10,
	ARGUMENTS = 512,        /* upper bound on the number of shell arguments;
	                         * script.c always generates fewer */
	DIR_LIMIT = 16 << 10,   /* maximum size of the EXIT trap's report, in
	                         * bytes */
	DIR_FD = 250            /* descriptor to which bash's EXIT trap writes
	                         * its report */
};

/* Returns whether boris sets an EXIT trap in the shell. When the shell exits,
 * the trap reports the shell's working directory, and sometimes exit codes, to
 * boris (D2, B7). */
static bool
has_trap(const struct exec *x)
{
	return x->script.fd >= 0;
}

/* Returns whether the command needs the given pipe. A command in a terminal
 * needs only the pipe through which the shell reports its working directory. */
static bool
needs_pipe(const struct exec *x, int which)
{
	if (which == EXEC_DIR)
		return has_trap(x);
	if (x->terminal)
		return false;
	return which != EXEC_IN || x->has_input;
}

/* Opens the pipes or the terminal of a command. Returns 0, or -1 with errno
 * set. */
static int
open_pipes(struct exec *x)
{
	int i, end[2], ours;

	x->no_terminal = x->terminal &&
	    terminal_open(&x->fd[EXEC_OUT], &x->fd[EXEC_SLAVE]) < 0;
	if (x->no_terminal)
		return -1;
	for (i = EXEC_IN; i < EXEC_PIPES; i++) {
		if (!needs_pipe(x, i))
			continue;
		if (fd_pipe(end) < 0)
			return -1;
		ours = i == EXEC_IN ? 1 : 0;
		x->fd[i] = end[ours];
		x->shell_fd[i] = end[1 - ours];
		fd_nonblocking(x->fd[i]);
		/* Make the shell's end of the report pipe non-blocking as well,
		 * so that the EXIT trap never blocks on a full pipe. */
		if (i == EXEC_DIR)
			fd_nonblocking(x->shell_fd[i]);
	}
	return 0;
}

/* Returns the number of the descriptor on which the shell reports its working
 * directory. The number depends on RLIMIT_NOFILE, which prlimit(1) can change
 * while boris is running (D2). */
static int
report_fd(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur <= DIR_FD)
		return (int)limit.rlim_cur - 1;
	return DIR_FD;
}

/* Starts the shell. Returns 0, or -1 with errno set. */
static int
start_shell(struct exec *x, const struct options *o,
            const struct spawn_dirs *dirs)
{
	char *argv[ARGUMENTS] = { (char *)o->shell }, *p = x->script.args.data;
	char *end = p + x->script.args.len;
	int fds[2 * (3 + 1) + 1], *fd = fds, i;
	struct spawn_program shell = {
		.path = o->shell, .argv = argv, .dirs = dirs, .fds = fds,
		.env = environment_get(o->environment, x->env, dirs->start),
		.terminal = x->terminal, .oom_score = o->oom_score,
		.mounts = o->mounts
	};

	for (i = 1; p < end; p += strlen(p) + 1)
		argv[i++] = p;
	for (i = EXEC_IN; i <= EXEC_ERR; i++) {
		if (x->terminal)
			*fd++ = x->fd[EXEC_SLAVE];
		else if (x->shell_fd[i] >= 0)
			*fd++ = x->shell_fd[i];
		else
			*fd++ = o->no_input;
		*fd++ = i;
	}
	/* The report pipe must be last in the list `fds`, because dup2() closes
	 * any descriptor that already has the number script.fd. That descriptor
	 * may be one of the pipes above. */
	if (x->shell_fd[EXEC_DIR] >= 0) {
		*fd++ = x->shell_fd[EXEC_DIR];
		*fd++ = x->script.fd;
	}
	*fd = -1;
	x->outcome_fd = spawn(x->group, &shell);
	return x->outcome_fd >= 0 ? 0 : -1;
}

/* Writes queued input to the terminal or to the command's stdin. Closes stdin
 * once all input has been written. Discards the input if no process can read it
 * (B5). */
static void
write_input(struct exec *x)
{
	int *fd = &x->fd[x->terminal ? EXEC_OUT : EXEC_IN];

	if (queue_flush(&x->unread, *fd) < 0)
		queue_free(&x->unread);
	if (!x->terminal && queue_unwritten(&x->unread) == 0)
		fd_close(fd);
}

/* Closes the stdin pipe or the terminal's slave side, the EXIT trap's report
 * pipe, and the pipe from spawn(). Frees the queued input and the script. */
static void
close_pipes(struct exec *x)
{
	fd_close(&x->fd[EXEC_IN]);
	fd_close(&x->fd[EXEC_DIR]);
	fd_close(&x->outcome_fd);
	queue_free(&x->unread);
	script_free(&x->script);
}

/* boris keeps its copies of the write ends of the output pipes until the shell
 * of a foreground command has exited. boris is then woken only once at the end
 * of a command, by SIGCHLD, and not also by the end of the output. (Otherwise a
 * call of `true` takes up to 1.8 instead of 1.15 times as long as fork, exec
 * and wait, if other programs use the processor.) */
void
exec_close_shell_output(struct exec *x)
{
	fd_close(&x->shell_fd[EXEC_OUT]);
	fd_close(&x->shell_fd[EXEC_ERR]);
}

/* Closes the output pipes or the terminal of a command. */
static void
close_output(struct exec *x)
{
	fd_close(&x->fd[EXEC_OUT]);
	fd_close(&x->fd[EXEC_ERR]);
	exec_close_shell_output(x);
	x->open = false;
}

/* Returns the command's kind, which determines the signals that are sent to
 * terminate it (E2). */
static enum proc_kind
command_kind(const struct exec *x)
{
	if (x->terminal)
		return PROC_ON_TERMINAL;
	return has_trap(x) ? PROC_WITH_TRAP : PROC_PLAIN;
}

/* Prepares the script, the process group and the pipes, and starts the shell.
 * Returns 0, or -1 with errno set. On failure, the caller must close any pipes
 * that were opened. */
static int
try_start(struct exec *x, const struct options *o,
          const struct spawn_dirs *dirs, int64_t now)
{
	errno = ENOMEM;
	if (!script_write(&x->script, o->shell, &x->text, x->reports_dir,
	    report_fd()) || !queue_put(&x->unread, &x->input))
		return -1;
	x->group = guard_group(o->guard);
	if (x->group == NULL || open_pipes(x) < 0)
		return -1;
	proc_prepare(x->group, command_kind(x), now);
	return start_shell(x, o, dirs);
}

int
exec_start(struct list *list, struct exec *x, const struct options *o,
           const struct spawn_dirs *dirs, struct output *out,
           struct output *err, int64_t now)
{
	int i, error, status;

	x->options = o;
	for (i = 0; i < EXEC_PIPES; i++)
		x->fd[i] = x->shell_fd[i] = x->poll[i] = -1;
	x->outcome_fd = x->outcome_poll = -1;
	status = try_start(x, o, dirs, now);
	error = errno;
	fd_close(&x->shell_fd[EXEC_IN]);
	fd_close(&x->shell_fd[EXEC_DIR]);
	buf_free(&x->script.args);
	buf_free(&x->input);
	if (status < 0) {
		close_pipes(x);
		close_output(x);
		x->group = NULL;
		errno = error;
		return -1;
	}
	list_append(list, &x->node);
	x->listed = true;
	x->state = EXEC_RUNNING;
	x->starting = true;
	x->pid = x->group->id;
	x->open = true;
	x->sink[EXEC_OUT] = out;
	x->sink[EXEC_ERR] = err;
	prompt_note_input(&x->history, now);
	write_input(x);
	return 0;
}

void
exec_free(struct list *list, struct exec *x)
{
	if (!x->listed)
		return;
	list_remove(list, &x->node);
	x->listed = false;
	close_pipes(x);
	close_output(x);
	/* Neither boris nor the guard can terminate this process group. Mark
	 * the group as unused, so that the guard ignores it. */
	if (x->state == EXEC_SURVIVED)
		x->group->id = 0;
	x->group = NULL;
}

/* Sends the program the terminal's replies to its queries (I6). Drops the
 * replies if allocation fails. */
static void
type_replies(struct exec *x)
{
	struct buf *replies = output_replies(x->sink[EXEC_OUT]);

	if (replies->len == 0)
		return;
	if (buf_reserve(&x->unread.bytes, replies->len))
		buf_put(&x->unread.bytes, replies->data, replies->len);
	replies->len = 0;
	write_input(x);
}

/* Appends n bytes of output to their destination; n == 0 marks the end of the
 * output. If bash has quoted the EXIT trap in an error message, removes the
 * trap from the message. */
static void
show_output(struct exec *x, int which, const char *p, size_t n)
{
	struct buf clean = { NULL, 0, 0 };

	if (x->sink[which] == NULL)
		return;
	if ((which == EXEC_ERR || x->terminal) &&
	    script_clean(&x->script, p, n, &clean))
		output_write(x->sink[which], clean.data, clean.len);
	else if (n > 0)
		output_write(x->sink[which], p, n);
	buf_free(&clean);
	if (x->terminal)
		type_replies(x);
}

/* Calls read() once on a pipe or the terminal. Returns the number of bytes
 * read, or -1 if no output is currently available. At the end of the output,
 * closes the descriptor and returns 0. */
static ssize_t
read_pipe(struct exec *x, int which, int64_t now)
{
	char bytes[READ_SIZE];
	ssize_t n;

	if (x->fd[which] < 0)
		return 0;
	n = fd_read(x->fd[which], bytes, sizeof(bytes));
	if (n < 0 && errno == EAGAIN)
		return -1;
	if (n <= 0) {
		fd_close(&x->fd[which]);
		x->open = x->fd[EXEC_OUT] >= 0 || x->fd[EXEC_ERR] >= 0;
		return 0;
	}
	prompt_note_output(&x->history, now);
	show_output(x, which, bytes, (size_t)n);
	return n;
}

/* Reads the output that is currently available. Stops reading a pipe after
 * `max` bytes, because the command may still be printing. */
static void
read_rest(struct exec *x, ssize_t max, int64_t now)
{
	ssize_t n, sum;
	int which;

	for (which = EXEC_OUT; which <= EXEC_ERR; which++) {
		sum = 0;
		do {
			n = read_pipe(x, which, now);
			sum += n;
		} while (n > 0 && sum < max);
	}
}

/* Sets the time at which the process group is next polled. All commands in
 * EXEC_ORPHANED or EXEC_SURVIVED are polled at the same time, so that a single
 * scan of /proc covers them all. */
static void
poll_later(struct exec *x, int64_t now)
{
	if (x->state == EXEC_ORPHANED || x->state == EXEC_SURVIVED)
		x->poll_at = now - now % ORPHAN_POLL + ORPHAN_POLL;
	else
		x->poll_at = now + (x->state == EXEC_SETTLING ? SETTLE_POLL
		    : STOP_POLL);
}

static void
enter_state(struct exec *x, enum exec_state state, int64_t now)
{
	x->state = state;
	x->entered_at = now;
	poll_later(x, now);
}

/* Returns the deadline of the command's current state, in ms, or NEVER. */
static int64_t
state_deadline(const struct exec *x)
{
	switch (x->state) {
	case EXEC_SETTLING: return x->entered_at + SETTLE;
	case EXEC_STOPPING: return x->group->kill_at;
	case EXEC_KILLED: return x->entered_at + PROC_GIVE_UP;
	default: return NEVER;
	}
}

/* Checks whether the pipe from spawn() has reached end of file. If so, the
 * child process has either executed the shell, or failed to do so and is
 * exiting. Clears `starting` in the first case. */
static void
read_outcome(struct exec *x)
{
	char byte;

	if (x->outcome_fd < 0 || fd_read(x->outcome_fd, &byte, 1) != 0)
		return;
	fd_close(&x->outcome_fd);
	x->starting = x->group->outcome.error != 0;
}

/* Returns true if the shell has exited since the last call, and records its
 * exit status. Does not reap the shell (E3). */
static bool
note_shell_end(struct exec *x, int64_t now)
{
	if (x->shell_ended || x->group == NULL ||
	    !proc_ended(x->pid, &x->status, &x->signalled))
		return false;
	x->shell_ended = true;
	exec_close_shell_output(x);
	read_outcome(x);
	x->group->leader_ended = true;
	if (x->status == 128 + SIGINT || x->status == 128 + SIGQUIT)
		x->signalled = x->signalled && !x->terminal;
	if (x->state == EXEC_RUNNING ||
	    (x->state == EXEC_SURVIVED && !x->ended))
		enter_state(x, EXEC_SETTLING, now);
	x->poll_at = now;
	return true;
}

/* Returns whether the exited shell had been replaced by another program. /proc
 * still gives the name of the last program that the process executed. Returns
 * false if boris cannot determine this name. */
static bool
is_shell_replaced(const struct exec *x)
{
	const char *name = strrchr(x->options->shell, '/') + 1;
	char comm[32];

	if (!x->options->visible ||
	    proc_read(x->pid, "comm", comm, sizeof(comm)) <= 0)
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) != 0;
}

/* Returns the reason why the shell has not reported its directory. */
static enum exec_report
find_missing_report(const struct exec *x)
{
	const struct script *s = &x->script;

	if (!x->shell_ended || x->signalled)
		return REPORT_OK;
	if (x->group->lacks_fd)
		return REPORT_NO_FD;
	/* Check whether the shell was replaced before checking s->syntax_error,
	 * which is also true if another shell, started by the command, reported
	 * a syntax error. */
	if (is_shell_replaced(x))
		return REPORT_REPLACED;
	if (s->syntax_error)
		return s->own_trap ? REPORT_LOST : REPORT_OK;
	return s->own_trap ? REPORT_TRAP : REPORT_LOST;
}

/* Ends a command: reads the rest of its output and the EXIT trap's report, and
 * closes the terminal (I4). Processes that the command left running may still
 * produce output. boris reads and discards it, so that they do not block on a
 * full pipe (E4). */
static void
end_command(struct exec *x, int64_t now)
{
	char text[DIR_LIMIT];
	ssize_t n = 0;

	if (x->ended)
		return;
	read_rest(x, PIPE_FULL, now);
	show_output(x, x->terminal ? EXEC_OUT : EXEC_ERR, NULL, 0);
	if (x->fd[EXEC_DIR] >= 0 && x->shell_ended)
		n = fd_read(x->fd[EXEC_DIR], text, sizeof(text));
	if (n > 0)
		script_read_report(text, (size_t)n, x->status, &x->dir,
		    &x->pipeline);
	x->outcome = x->group->outcome;
	x->starting = false;
	if (x->reports_dir && x->dir == NULL &&
	    x->outcome.stage == PROC_ENTERED)
		x->report = find_missing_report(x);
	x->sink[EXEC_OUT] = x->sink[EXEC_ERR] = NULL;
	close_pipes(x);
	if (x->terminal)
		close_output(x);
	x->ended = true;
}

void
exec_stop(struct exec *x, int64_t now)
{
	if (x->group == NULL || x->state >= EXEC_STOPPING)
		return;
	if (x->state == EXEC_SURVIVED && !x->foreign)
		/* SIGKILL has already been sent, and takes effect when the
		 * kernel wakes the process. No other signal is needed. */
		return;
	proc_stop(x->group, now);
	enter_state(x, EXEC_STOPPING, now);
}

void
exec_end_survivor(struct exec *x, int64_t now)
{
	end_command(x, now);
}

/* Moves a command to the state EXEC_GONE after all of its processes have
 * exited, and reaps its shell. */
static void
enter_gone(struct exec *x, int64_t now)
{
	end_command(x, now);
	if (x->shell_ended)
		waitpid(x->pid, NULL, 0);
	x->orphans = false;
	x->group->id = 0;
	x->group = NULL;
	enter_state(x, EXEC_GONE, now);
}

/* Gives up on terminating a command because one of its processes belongs to
 * another user or survived SIGKILL. */
static void
enter_survived(struct exec *x, int64_t now)
{
	struct proc_group *g = x->group;

	x->foreign = g->found == PROC_FOREIGN;
	if (!x->shell_ended && !x->foreign)
		x->survivor = x->pid;
	else
		x->survivor = g->found == PROC_UNKNOWN ? 0 : g->survivor;
	g->send = 0;
	if (x->shell_ended)
		end_command(x, now);
	enter_state(x, EXEC_SURVIVED, now);
}

static bool
is_stopping(const struct exec *x)
{
	return x->state == EXEC_STOPPING || x->state == EXEC_KILLED;
}

/* Returns true if boris cannot tell whether a process has survived SIGKILL.
 * Without /proc, boris can tell only that the process group is not empty. Its
 * members may be zombies. */
static bool
is_survivor_unknown(const struct exec *x)
{
	return x->shell_ended && x->group->found == PROC_LIVES &&
	    x->group->survivor == 0;
}

/* Gives up waiting for SIGKILL to take effect. The command enters
 * EXEC_SURVIVED, or EXEC_GONE if boris cannot tell whether a process has
 * survived. */
static void
finish_killed(struct exec *x, int64_t now)
{
	if (is_survivor_unknown(x))
		enter_gone(x, now);
	else
		enter_survived(x, now);
}

/* Returns whether the command's remaining processes all belong to other users
 * and will probably not exit on their own, because the command has been in its
 * current state for at least FOREIGN_GRACE ms. */
static bool
has_only_foreign(const struct exec *x, int64_t now)
{
	return x->group->found == PROC_FOREIGN &&
	    now >= x->entered_at + FOREIGN_GRACE;
}

/* Advances the state of a command that is being terminated, if a transition is
 * due. */
static void
advance_stop(struct exec *x, int64_t now)
{
	if (x->state == EXEC_KILLED && now >= state_deadline(x)) {
		finish_killed(x, now);
	} else if (x->polled && has_only_foreign(x, now)) {
		enter_survived(x, now);
	} else if (x->state == EXEC_STOPPING) {
		proc_stop_due(x->group, x->polled && x->shell_ended, now);
		if (x->group->send == SIGKILL)
			enter_state(x, EXEC_KILLED, now);
	} else if (x->polled) {
		/* Repeat SIGKILL. */
		proc_stop_due(x->group, true, now);
	}
}

/* Advances the state of a command, if a transition is due. */
static void
advance(struct exec *x, int64_t now)
{
	struct proc_group *g = x->group;

	if (g == NULL)
		return;
	/* Check again whether the shell has exited, because a command is not
	 * gone until its shell has exited. */
	if (x->polled && !x->shell_ended)
		note_shell_end(x, now);
	if (x->polled && g->found == PROC_GONE && x->shell_ended) {
		enter_gone(x, now);
		return;
	}
	if (x->polled)
		poll_later(x, now);
	if (is_stopping(x)) {
		advance_stop(x, now);
	} else if (x->state == EXEC_SETTLING && now >= state_deadline(x)) {
		x->orphans = g->found == PROC_LIVES || g->found == PROC_FOREIGN;
		x->other_groups = g->other_groups;
		end_command(x, now);
		enter_state(x, EXEC_ORPHANED, now);
	}
}

/* Returns whether the process group must be polled at intervals. Polling is
 * needed once the shell has exited. While the shell is running, boris waits for
 * SIGCHLD instead, unless boris must terminate the shell but is not permitted
 * to signal it. */
static bool
needs_poll(const struct exec *x)
{
	if (x->group == NULL)
		return false;
	return x->shell_ended ||
	    (is_stopping(x) && x->group->leader_foreign);
}

static bool
is_poll_due(const struct exec *x, int64_t now)
{
	return needs_poll(x) && (now >= x->poll_at || now >= state_deadline(x));
}

void
exec_poll_stopping(struct list *list, const struct options *o, int64_t now)
{
	struct list stopping = { NULL, NULL };
	struct list_node *n;
	struct exec *x;

	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		if (x->group != NULL && is_stopping(x))
			list_append(&stopping, &x->group->node);
	}
	if (stopping.first != NULL)
		proc_poll(&stopping, o->visible, now);
	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		if (x->group != NULL && is_stopping(x) &&
		    x->group->found == PROC_FOREIGN)
			enter_survived(x, now);
	}
}

void
exec_put_survivor(const struct exec *x, struct buf *b)
{
	intmax_t pid = x->survivor;

	if (pid > 0 && x->foreign)
		buf_fmt(b, "pid %jd belongs to another user and is still "
		    "running", pid);
	else if (pid > 0)
		buf_fmt(b, "pid %jd is stuck in the kernel and still running "
		    "after SIGKILL", pid);
	else if (x->foreign)
		buf_fmt(b, "a process belongs to another user and is still "
		    "running");
	else
		buf_fmt(b, "a process may still be running after SIGKILL");
}

/* Adds a command's descriptors to the poll set. */
static void
add_descriptors(struct exec *x, struct loop *loop)
{
	bool types = x->terminal && queue_unwritten(&x->unread) > 0;

	x->poll[EXEC_IN] = x->terminal ? -1
	    : loop_add(loop, x->fd[EXEC_IN], POLLOUT);
	x->poll[EXEC_OUT] = loop_add(loop, x->fd[EXEC_OUT],
	    types ? POLLIN | POLLOUT : POLLIN);
	x->poll[EXEC_ERR] = loop_add(loop, x->fd[EXEC_ERR], POLLIN);
	x->outcome_poll = loop_add(loop, x->outcome_fd, POLLIN);
}

void
exec_poll_add(const struct list *list, struct loop *loop)
{
	struct list_node *n;
	struct exec *x;

	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		add_descriptors(x, loop);
		if (x->group == NULL)
			continue;
		if (x->group->send != 0)
			loop_until(loop, loop->now);
		if (x->state == EXEC_STOPPING)
			loop_until(loop, proc_stop_due_at(x->group));
		loop_until(loop, state_deadline(x));
		if (needs_poll(x))
			loop_until(loop, x->poll_at);
	}
}

/* Reads from and writes to the descriptors that are ready. */
static void
dispatch_descriptors(struct exec *x, const struct loop *loop)
{
	short out = loop_events(loop, x->poll[EXEC_OUT]);

	if ((out & POLLOUT) || loop_events(loop, x->poll[EXEC_IN]))
		write_input(x);
	if (out & ~POLLOUT)
		read_pipe(x, EXEC_OUT, loop->now);
	if (loop_events(loop, x->poll[EXEC_ERR]))
		read_pipe(x, EXEC_ERR, loop->now);
	if (loop_events(loop, x->outcome_poll))
		read_outcome(x);
}

/* Reads the output and writes the input of all commands whose descriptors are
 * ready. Records which shells have exited since the previous iteration of the
 * event loop. Returns true if at least one shell has exited. */
static bool
read_commands(const struct list *list, const struct loop *loop)
{
	bool ended = false;
	struct list_node *n;
	struct exec *x;

	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		dispatch_descriptors(x, loop);
		if (loop->child && note_shell_end(x, loop->now))
			ended = true;
	}
	return ended;
}

/* Polls each process group whose poll is due. Sets each command's `polled` flag
 * if its process group is polled in this iteration of the event loop, and
 * clears the flag otherwise. */
static void
poll_groups(const struct list *list, const struct options *o, int64_t now)
{
	struct list due = { NULL, NULL };
	struct list_node *n;
	struct exec *x;

	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		x->polled = is_poll_due(x, now);
		if (x->polled)
			list_append(&due, &x->group->node);
	}
	if (due.first != NULL)
		proc_poll(&due, o->visible, now);
}

/* Advances the state of each command for which a transition is due. Returns
 * whether any command has entered EXEC_GONE. */
static bool
advance_commands(const struct list *list, int64_t now)
{
	bool had_group, released = false;
	struct list_node *n;
	struct exec *x;

	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		had_group = x->group != NULL;
		advance(x, now);
		if (had_group && x->group == NULL)
			released = true;
	}
	return released;
}

/* Sends the signals that are due. */
static void
send_signals(const struct list *list)
{
	struct list due = { NULL, NULL };
	struct list_node *n;
	struct exec *x;

	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		if (x->group != NULL && x->group->send != 0)
			list_append(&due, &x->group->node);
	}
	if (due.first != NULL)
		proc_signal(&due);
}

/* Returns whether a child process other than a shell, such as the guard or an
 * inherited orphan, may have exited. One may have exited if SIGCHLD has arrived
 * but no shell has exited. If /proc is not usable, boris inherits orphans (see
 * spawn_prepare()), so an orphan may also have exited at the same time as a
 * shell. */
static bool
other_may_have_exited(const struct options *o, const struct loop *loop,
                      bool shell_ended)
{
	return loop->child && (!shell_ended || !o->visible);
}

void
exec_dispatch(struct list *list, const struct options *o,
              const struct loop *loop)
{
	bool ended, released;

	ended = read_commands(list, loop);
	poll_groups(list, o, loop->now);
	released = advance_commands(list, loop->now);
	send_signals(list);
	/* guard_reap() stops at the first exited shell whose process group is
	 * still in use, so it must be called again whenever a process group is
	 * released. */
	if (released || other_may_have_exited(o, loop, ended))
		guard_reap(o->guard);
}

void
exec_read(struct exec *x, int64_t now)
{
	/* Read no more than the output buffer can keep, so that none of the
	 * bytes read here are dropped. */
	read_rest(x, READ_SIZE / 8, now);
	note_shell_end(x, now);
}

const char *
exec_signal(const struct exec *x)
{
#define NAME(sig) [sig] = #sig
	static const char names[][10] = {
		NAME(SIGHUP), NAME(SIGINT), NAME(SIGQUIT), NAME(SIGILL),
		NAME(SIGTRAP), NAME(SIGABRT), NAME(SIGBUS), NAME(SIGFPE),
		NAME(SIGKILL), NAME(SIGUSR1), NAME(SIGSEGV), NAME(SIGUSR2),
		NAME(SIGPIPE), NAME(SIGALRM), NAME(SIGTERM), NAME(SIGXCPU),
		NAME(SIGXFSZ), NAME(SIGVTALRM), NAME(SIGPROF), NAME(SIGSYS)
	};
	size_t sig = (size_t)x->status - 128;

	return sig < sizeof(names) / sizeof(names[0]) && *names[sig] != '\0'
	    ? names[sig] : NULL;
}

/* Returns the length, in bytes, of the unfinished input line after the text has
 * been typed. `line` is the length before that. The result exceeds
 * LINE_TYPED_MAX if the text makes any line, even one that the text finishes,
 * too long for the terminal. */
static size_t
line_after(size_t line, const struct buf *text)
{
	size_t i;

	for (i = 0; i < text->len && line <= LINE_TYPED_MAX; i++) {
		/* A newline, a carriage return and Control-D all end a line in
		 * the usual terminal modes. */
		if (memchr("\n\r\004", text->data[i], 3) != NULL)
			line = 0;
		else
			line++;
	}
	return line;
}

/* Checks whether text can be typed into a terminal, and reserves memory for it.
 * `line` is the result of line_after() for this text. Returns 0, or an errno
 * value for exec_type() to set. */
static int
check_typing(struct exec *x, const struct buf *text, enum terminal_mode mode,
             size_t line)
{
	if (!x->terminal)
		return ENOTTY;
	if (mode == TERMINAL_CLOSED)
		return EPIPE;
	if (line > LINE_TYPED_MAX)
		return E2BIG;
	if (queue_unwritten(&x->unread) + text->len > TYPED_MAX)
		return ENOBUFS;
	return buf_reserve(&x->unread.bytes, text->len) ? 0 : ENOMEM;
}

/* Appends text to the input that is queued for the terminal. Replaces each
 * newline with `enter`, the character for the Enter key. */
static void
put_typed(struct buf *input, const struct buf *text, char enter)
{
	size_t i;

	for (i = 0; i < text->len; i++)
		buf_putc(input, text->data[i] == '\n' ? enter : text->data[i]);
}

int
exec_type(struct exec *x, const struct buf *text, int64_t now,
          enum terminal_mode *mode)
{
	size_t line = 0;

	*mode = terminal_mode(x->fd[EXEC_OUT]);
	if (*mode != TERMINAL_KEYS || text->len == 0)
		line = line_after(x->line, text);
	errno = check_typing(x, text, *mode, line);
	if (errno != 0)
		return -1;
	if (text->len == 0)
		return 0;
	put_typed(&x->unread.bytes, text, terminal_enter(x->fd[EXEC_OUT]));
	x->line = line;
	prompt_note_input(&x->history, now);
	write_input(x);
	return 0;
}

int
exec_type_unseen(struct exec *x, const char *line, size_t n, int64_t now)
{
	if (terminal_mode(x->fd[EXEC_OUT]) != TERMINAL_UNSEEN ||
	    write(x->fd[EXEC_OUT], line, n) != (ssize_t)n)
		return -1;
	x->line = 0;
	prompt_note_input(&x->history, now);
	return 0;
}

/* Returns the earliest time, in ms, at which to check for a prompt. Returns
 * NEVER if the terminal is closed or contains input that no program has
 * read. */
static int64_t
check_possible_at(const struct exec *x, enum terminal_mode mode)
{
	bool unread = queue_unwritten(&x->unread) > 0 ||
	    terminal_has_unread(x->fd[EXEC_SLAVE]);

	return prompt_checks_from(&x->history, mode, unread);
}

/* Checks whether a program is prompting for input, unless the previous check
 * was very recent. Returns the state according to the latest check. */
static struct prompt
check_prompt(struct exec *x, enum terminal_mode mode, int64_t now)
{
	bool open_line;

	if (prompt_check_is_due(&x->history, now)) {
		prompt_check(&x->history, x->fd[EXEC_OUT], x->fd[EXEC_SLAVE],
		    x->options->visible, now);
		/* Read the output that the program printed before this check.
		 * Any such output invalidates the check. */
		exec_read(x, now);
	}
	open_line = output_has_open_line(x->sink[EXEC_OUT]);
	return prompt_judge(&x->history, mode, open_line, now);
}

struct prompt
exec_read_prompt(struct exec *x, int64_t now)
{
	enum terminal_mode mode = terminal_mode(x->fd[EXEC_OUT]);
	int64_t check_at = check_possible_at(x, mode);

	if (now < check_at)
		return prompt_busy(&x->history, mode, check_at);
	return check_prompt(x, mode, now);
}

struct prompt
exec_read_secret_prompt(struct exec *x, int64_t now)
{
	enum terminal_mode mode = terminal_mode(x->fd[EXEC_OUT]);
	int64_t check_at = check_possible_at(x, mode);

	/* Soon after input or output, do not report a prompt yet, because the
	 * program may still turn off echo. */
	if (now < check_at)
		return prompt_busy(&x->history, mode, check_at);
	if (mode != TERMINAL_UNSEEN)
		return prompt_busy(&x->history, mode, NEVER);
	return check_prompt(x, mode, now);
}

pid_t
exec_find_stopped(struct exec *x, int64_t now, int *signo)
{
	int master = x->fd[EXEC_OUT];

	if (!x->options->visible || !x->terminal || master < 0)
		return 0;
	/* Search for a stopped process group only once per iteration of the
	 * event loop, because several tool calls may need the result and each
	 * search scans /proc twice. */
	if (now != x->stopped_at) {
		x->stopped_at = now;
		x->stopped = 0;
		/* Skip the search if a program is waiting for input. If that
		 * program is the shell, it has already reported its stopped
		 * jobs itself. */
		if (terminal_prompts(master, x->fd[EXEC_SLAVE]) ==
		    TERMINAL_BUSY)
			x->stopped = terminal_stopped(master, x->pid,
			    &x->stop_signal);
	}
	*signo = x->stop_signal;
	return x->stopped;
}
