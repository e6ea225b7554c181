#define _XOPEN_SOURCE 700  /* getrlimit; SIGTRAP on FreeBSD */

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
 *	          the shell ends            20 ms
 *	  RUNNING ----------------> SETTLING ------> LINGERS
 *	     |                       |    ^             |
 *	     |     exec_stop()       |    |             |
 *	     +<----------------------+----|-------------+
 *	     |                            |
 *	     v      100 ms: foreign       | the shell ends
 *	  STOPPING ----------------+      | after all
 *	   | ^                     v      |
 *	   | +------------------ SURVIVED-+
 *	   |     exec_stop()       ^
 *	   |     if foreign        |
 *	   | 5 s                   |
 *	   v                       |
 *	  KILLED ------------------+
 *	     100 ms: foreign; 5 s: any
 *
 * From all of these a command enters GONE when nothing of it lives. "Foreign"
 * means that only processes of another user live.
 *
 * Each state ends as follows. "Gone" means that nothing of the command lives.
 *
 *	RUNNING   the shell has ended                        SETTLING
 *	SETTLING  gone                                       GONE
 *	          20 ms: something lives, or it is unknown   LINGERS
 *	LINGERS   gone                                       GONE
 *	STOPPING  gone                                       GONE
 *	          100 ms: only another user's processes live SURVIVED
 *	          5 s                                        KILLED
 *	KILLED    gone                                       GONE
 *	          100 ms: only another user's processes live SURVIVED
 *	          5 s                                        SURVIVED
 *	SURVIVED  gone                                       GONE
 *	          the shell has ended after all              SETTLING
 *	          exec_stop(), and the survivor is foreign   STOPPING
 *
 * exec_stop() also leads from RUNNING, SETTLING and LINGERS to STOPPING, which
 * sends SIGTERM. KILLED sends SIGKILL. SETTLING exists because processes
 * that are just about to end, or to move to a session of their own, are not
 * counted as left running (E4, B7).
 *
 * A command ends (`ended`, with status and output) as it enters LINGERS or
 * GONE, or SURVIVED if its shell has ended. Its group is polled once its shell
 * has ended, or cannot be signalled. */

enum {
	SETTLE = 20,            /* ms of EXEC_SETTLING */
	POLL_SETTLING = 4,      /* ms between two polls of a group in it */
	POLL = 16,              /* ms between polls of a group being ended */
	REVIEW = 10000,         /* ms between polls of what was left running */
	FAREWELL = 100,         /* ms in which another user's process may exit,
	                         * as sudo does when its command has ended */
	/* ms from the start in which boris does not poll a command's output.
	 * Without this boris is woken twice more in each call. On a busy host
	 * with two processors, a call of `true` then takes 1.37 instead of 1.21
	 * times fork, exec and wait (medians of ten runs of t/bench calls). */
	YOUNG = 3,
	SILENCE = 300,          /* ms without output after which a terminal may
	                         * prompt (I3) */
	CERTAIN = 100,          /* likewise where /proc shows that it does */
	CHECK = 250,            /* ms between two checks of that */
	TYPED_MAX = 4 << 20,   /* bytes of input that are kept */
	PIPE_FULL = 1 << 20,    /* bytes; no pipe holds more by default */
	READ_SIZE = 64 << 10,
	ARGUMENTS = 512,        /* more than a command's pieces (script.c) */
	DIR_LIMIT = 16 << 10,   /* bytes a directory's name may have */
	INHERITED = 250         /* a shell's fd for its directory (EXEC_DIR) */
};

/* Returns whether the command gets this pipe. With a terminal it gets only the
 * one for the directory. */
static bool
needs_pipe(const struct exec *x, int which)
{
	if (which == EXEC_DIR)
		return x->script.fd >= 0;
	if (x->terminal)
		return false;
	return which != EXEC_IN || x->has_input;
}

/* Opens the command's pipes or its terminal; theirs[] are the other ends of the
 * pipes. Returns 0, or -1 with errno set. */
static int
open_pipes(struct exec *x, int theirs[])
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
		theirs[i] = end[1 - ours];
		fd_nonblocking(x->fd[i]);
		/* If this pipe is full, the trap must not wait. */
		if (i == EXEC_DIR)
			fd_nonblocking(theirs[i]);
	}
	return 0;
}

/* Returns the number of EXEC_DIR's pipe in a shell. The limit is read each
 * time, since prlimit can lower it while boris runs (D2). */
static int
report_fd(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur <= INHERITED)
		return (int)limit.rlim_cur - 1;
	return INHERITED;
}

/* Starts the shell with its ends of the pipes. Returns 0, or -1 with errno
 * set. */
static int
start_shell(struct exec *x, const struct options *o,
            const struct spawn_dirs *dirs, const int theirs[])
{
	char *argv[ARGUMENTS] = { (char *)o->shell }, *p = x->script.args.data;
	char *end = p + x->script.args.len;
	int fds[2 * (3 + 1) + 1], *fd = fds, i;
	struct spawn_program shell = {
		.path = o->shell, .argv = argv, .dirs = dirs, .fds = fds,
		.env = environment_get(o->environment, x->env, dirs->start),
		.terminal = x->terminal, .oom_score = o->oom_score
	};

	for (i = 1; p < end; p += strlen(p) + 1)
		argv[i++] = p;
	for (i = EXEC_IN; i <= EXEC_ERR; i++) {
		if (x->terminal)
			*fd++ = x->fd[EXEC_SLAVE];
		else if (theirs[i] >= 0)
			*fd++ = theirs[i];
		else
			*fd++ = o->no_input;
		*fd++ = i;
	}
	/* The pipe for the directory comes last, since its number in the shell
	 * may be that of another end here. */
	if (theirs[EXEC_DIR] >= 0) {
		*fd++ = theirs[EXEC_DIR];
		*fd++ = x->script.fd;
	}
	*fd = -1;
	x->outcome_fd = spawn(x->group, &shell);
	return x->outcome_fd >= 0 ? 0 : -1;
}

/* Writes input to the terminal or to the command's stdin, and closes stdin
 * after the last byte. It is no error if no process reads it (B5). */
static void
write_input(struct exec *x)
{
	int *fd = &x->fd[x->terminal ? EXEC_OUT : EXEC_IN];

	if (queue_flush(&x->unread, *fd) < 0)
		queue_free(&x->unread);
	if (!x->terminal && queue_unwritten(&x->unread) == 0)
		fd_close(fd);
}

/* Closes the pipes for the input, the directory and the start, and frees
 * buffers. */
static void
close_pipes(struct exec *x)
{
	fd_close(&x->fd[EXEC_IN]);
	fd_close(&x->fd[EXEC_DIR]);
	fd_close(&x->outcome_fd);
	queue_free(&x->unread);
	script_free(&x->script);
}

/* Closes the pipes for the output, or the terminal. */
static void
close_output(struct exec *x)
{
	fd_close(&x->fd[EXEC_OUT]);
	fd_close(&x->fd[EXEC_ERR]);
	x->open = false;
}

/* Prepares the script, the group and the pipes, and starts the shell. Returns
 * 0, or -1 with errno set, and then some of them may be prepared. */
static int
try_start(struct exec *x, const struct options *o,
          const struct spawn_dirs *dirs, int theirs[], int64_t now)
{
	errno = ENOMEM;
	if (!script_write(&x->script, o->shell, &x->text, x->reports_dir,
	    report_fd()) || !queue_put(&x->unread, &x->input))
		return -1;
	x->group = guard_group(o->guard);
	if (x->group == NULL || open_pipes(x, theirs) < 0)
		return -1;
	x->group->started = now;
	if (x->terminal)
		x->group->follow_up = SIGHUP;
	else if (x->script.fd >= 0)
		x->group->follow_up = SIGTERM;
	return start_shell(x, o, dirs, theirs);
}

int
exec_start(struct list *list, struct exec *x, const struct options *o,
           const struct spawn_dirs *dirs, struct output *out,
           struct output *err, int64_t now)
{
	int theirs[EXEC_PIPES], i, error, status;

	x->options = o;
	for (i = 0; i < EXEC_PIPES; i++)
		x->fd[i] = x->poll[i] = theirs[i] = -1;
	x->outcome_fd = x->outcome_poll = -1;
	status = try_start(x, o, dirs, theirs, now);
	error = errno;
	for (i = 0; i < EXEC_PIPES; i++)
		fd_close(&theirs[i]);
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
	x->typed_at = now;
	x->deadline = NEVER;
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
	/* The guard could not end this either. */
	if (x->state == EXEC_SURVIVED)
		x->group->id = 0;
	x->group = NULL;
}

/* Types what the terminal answers to its program's queries (I6). Without memory
 * there is no answer. */
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

/* Passes output on, without the trap that a syntax error quotes. n is 0 at the
 * end of the stream. */
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

/* Reads once from a pipe or the terminal. Returns the number of bytes; 0 at its
 * end, which closes it; -1 if there are none now. */
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
	x->printed_at = now;
	show_output(x, which, bytes, (size_t)n);
	return n;
}

/* Reads what is in the pipes by now, but of each at most one read past `most`
 * bytes, since the command may keep printing. */
static void
read_rest(struct exec *x, ssize_t most, int64_t now)
{
	ssize_t n, sum;
	int which;

	for (which = EXEC_OUT; which <= EXEC_ERR; which++) {
		sum = 0;
		do {
			n = read_pipe(x, which, now);
			sum += n;
		} while (n > 0 && sum < most);
	}
}

/* Sets when the group is polled next. All commands that have left processes
 * running are polled in the same turn, since a poll walks through /proc. */
static void
poll_later(struct exec *x, int64_t now)
{
	if (x->state == EXEC_LINGERS || x->state == EXEC_SURVIVED)
		x->poll_at = now - now % REVIEW + REVIEW;
	else
		x->poll_at = now + (x->state == EXEC_SETTLING ? POLL_SETTLING
		    : POLL);
}

static void
enter_state(struct exec *x, enum exec_state state, int64_t now)
{
	x->state = state;
	x->entered_at = now;
	if (state == EXEC_SETTLING)
		x->deadline = now + SETTLE;
	else if (state == EXEC_STOPPING)
		x->deadline = x->group->kill_at;
	else if (state == EXEC_KILLED)
		x->deadline = now + PROC_GIVE_UP;
	else
		x->deadline = NEVER;
	poll_later(x, now);
}

/* Notes that the program has started, when the child has closed its end of the
 * outcome's pipe. If it could not be started, the command ends soon. */
static void
read_outcome(struct exec *x)
{
	char byte;

	if (x->outcome_fd < 0 || fd_read(x->outcome_fd, &byte, 1) != 0)
		return;
	fd_close(&x->outcome_fd);
	x->starting = x->group->outcome.error != 0;
}

/* Notes the end of the shell, which is a zombie then (E3). Returns whether it
 * has ended since the last call. */
static bool
note_shell_end(struct exec *x, int64_t now)
{
	if (x->shell_ended || x->group == NULL ||
	    !proc_ended(x->pid, &x->status, &x->signalled))
		return false;
	x->shell_ended = true;
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

/* Returns why the ended shell has reported no directory. */
static enum exec_report
find_missing_report(const struct exec *x)
{
	const struct script *s = &x->script;
	const char *name = strrchr(x->options->shell, '/') + 1;
	char comm[32];

	if (!x->shell_ended || x->signalled)
		return REPORT_OK;
	if (x->group->lacks_fd)
		return REPORT_NO_FD;
	if (s->syntax_error)
		return s->own_trap ? REPORT_LOST : REPORT_OK;
	/* A zombie keeps the name of the last program that it executed. */
	if (x->options->visible && proc_read(x->pid, "comm", comm,
	    sizeof(comm)) > 0) {
		comm[strcspn(comm, "\n")] = '\0';
		if (strcmp(comm, name) != 0)
			return REPORT_REPLACED;
	}
	return s->own_trap ? REPORT_TRAP : REPORT_LOST;
}

/* Reads the rest of the output and the shell's report. Processes that were left
 * running may hold the pipes (E4): these stay open and are read, so that no
 * process blocks, but the output is dropped. A terminal ends with its shell
 * (I4). */
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
		return;  /* SIGKILL is pending. */
	proc_stop(x->group, now);
	enter_state(x, EXEC_STOPPING, now);
}

void
exec_write_off(struct exec *x, int64_t now)
{
	end_command(x, now);
}

/* Ends a command of which nothing lives, and gives its pid back. */
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

/* Gives up ending a command: a process of it belongs to another user, or has
 * survived SIGKILL. */
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
is_being_ended(const struct exec *x)
{
	return x->state == EXEC_STOPPING || x->state == EXEC_KILLED;
}

/* Returns whether it is unknown, without a /proc, if SIGKILL has had an effect.
 * What is left may be zombies whose parent does not wait for them. */
static bool
is_survivor_unknown(const struct exec *x)
{
	return x->shell_ended && x->group->found == PROC_LIVES &&
	    x->group->survivor == 0;
}

/* Moves on a command in EXEC_STOPPING. late: its deadline has come. */
static void
move_on_stopping(struct exec *x, bool polled, bool late, int64_t now)
{
	/* Do not replace the SIGTERM that is still to be sent, except by
	 * SIGKILL. */
	if (late || x->group->send == 0)
		proc_stop_due(x->group, polled && x->shell_ended, now);
	if (late)
		enter_state(x, EXEC_KILLED, now);
}

/* Ends or gives up a command in EXEC_KILLED whose deadline has come. */
static void
leave_killed(struct exec *x, int64_t now)
{
	if (is_survivor_unknown(x))
		enter_gone(x, now);
	else
		enter_survived(x, now);
}

/* Returns whether only another user's processes have been left for so long that
 * they will not exit by themselves. */
static bool
is_left_to_foreign(const struct exec *x, int64_t now)
{
	return x->group->found == PROC_FOREIGN &&
	    now >= x->entered_at + FAREWELL;
}

/* Moves on a command that is being ended. */
static void
move_on_end(struct exec *x, bool polled, int64_t now)
{
	bool late = now >= x->deadline;

	if (late && x->state == EXEC_KILLED)
		leave_killed(x, now);
	else if (polled && is_left_to_foreign(x, now))
		enter_survived(x, now);
	else if (x->state == EXEC_STOPPING)
		move_on_stopping(x, polled, late, now);
	else if (polled)
		proc_stop_due(x->group, true, now);
}

/* Moves a command on to its next state, by time or by the result of a poll.
 * polled: its group was polled in this turn. */
static void
move_on(struct exec *x, bool polled, int64_t now)
{
	struct proc_group *g = x->group;

	if (g == NULL)
		return;
	/* A shell that was polled may have ended since. */
	if (polled && !x->shell_ended)
		note_shell_end(x, now);
	if (polled && g->found == PROC_GONE && x->shell_ended) {
		enter_gone(x, now);
		return;
	}
	if (polled)
		poll_later(x, now);
	if (is_being_ended(x)) {
		move_on_end(x, polled, now);
	} else if (x->state == EXEC_SETTLING && now >= x->deadline) {
		x->orphans = g->found == PROC_LIVES || g->found == PROC_FOREIGN;
		x->elsewhere = g->elsewhere;
		end_command(x, now);
		enter_state(x, EXEC_LINGERS, now);
	}
}

static bool
needs_poll(const struct exec *x)
{
	if (x->group == NULL)
		return false;
	return x->shell_ended ||
	    (is_being_ended(x) && x->group->leader_foreign);
}

static bool
is_due(const struct exec *x, int64_t now)
{
	return needs_poll(x) && (now >= x->poll_at || now >= x->deadline);
}

void
exec_poll_ending(struct list *list, const struct options *o, int64_t now)
{
	struct list ending = { NULL, NULL };
	struct list_node *n;
	struct exec *x;

	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		if (x->group != NULL && is_being_ended(x))
			list_append(&ending, &x->group->node);
	}
	if (ending.first != NULL)
		proc_poll(&ending, o->visible, now);
	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		if (x->group != NULL && is_being_ended(x) &&
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

/* Adds the descriptors of a command to the poll set. Those of its output are
 * left out while it is young (see YOUNG). */
static void
add_descriptors(struct exec *x, struct loop *loop)
{
	bool young = x->state == EXEC_RUNNING &&
	    loop->now < x->group->started + YOUNG;
	bool types = x->terminal && queue_unwritten(&x->unread) > 0;

	x->poll[EXEC_IN] = x->terminal ? -1
	    : loop_add(loop, x->fd[EXEC_IN], POLLOUT);
	x->poll[EXEC_OUT] = x->poll[EXEC_ERR] = x->outcome_poll = -1;
	if (young) {
		loop_until(loop, x->group->started + YOUNG);
		return;
	}
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
		loop_until(loop, x->group->send != 0 ? loop->now : x->deadline);
		if (x->group->follow_up != 0 && x->state == EXEC_STOPPING)
			loop_until(loop, x->group->follow_up_at);
		if (needs_poll(x))
			loop_until(loop, x->poll_at);
	}
}

/* Reads and writes what the poll set has found ready. */
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

void
exec_dispatch(struct list *list, const struct options *o,
              const struct loop *loop)
{
	struct list polled = { NULL, NULL }, ending = { NULL, NULL };
	bool ended = false, released = false, held, inherited;
	struct list_node *n;
	struct exec *x;

	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		dispatch_descriptors(x, loop);
		if (loop->child && note_shell_end(x, loop->now))
			ended = true;
		if (is_due(x, loop->now))
			list_append(&polled, &x->group->node);
	}
	if (polled.first != NULL)
		proc_poll(&polled, o->visible, loop->now);
	for (n = list->first; n != NULL; n = n->next) {
		x = LIST_ITEM(n, struct exec, node);
		held = x->group != NULL;
		move_on(x, is_due(x, loop->now), loop->now);
		if (held && x->group == NULL)
			released = true;
		if (x->group != NULL && x->group->send != 0)
			list_append(&ending, &x->group->node);
	}
	if (ending.first != NULL)
		proc_signal(&ending);
	/* A SIGCHLD that no shell explains came from the guard or an inherited
	 * child. Without /proc boris is a subreaper: an orphan may have ended
	 * together with a shell. guard_reap() stops at the first shell that is
	 * still held, so it is also called after one was released. */
	inherited = loop->child && (!ended || !o->visible);
	if (released || inherited)
		guard_reap(o->guard);
}

void
exec_read(struct exec *x, int64_t now)
{
	read_rest(x, READ_SIZE / 8, now);  /* `sink` keeps all of that */
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

/* Returns the length of the unfinished line after the text was typed, in bytes.
 * If a line is too long for the terminal, returns more than LINE_TYPED_MAX. */
static size_t
line_after(size_t line, const struct buf *text)
{
	size_t i;

	for (i = 0; i < text->len && line <= LINE_TYPED_MAX; i++) {
		/* Enter and end of file send a line, however the terminal is
		 * set. */
		if (memchr("\n\r\004", text->data[i], 3) != NULL)
			line = 0;
		else
			line++;
	}
	return line;
}

/* Returns why the text cannot be typed, as exec_type() does in errno, or 0.
 * line: the length that line_after() has returned. */
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
	buf_put(&x->unread.bytes, text->data, text->len);
	x->line = line;
	x->typed_at = now;
	x->printed_at = 0;
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
	x->typed_at = now;
	x->printed_at = 0;
	return 0;
}

/* Finds out anew whether the terminal prompts, and reads what it has printed
 * before. */
static void
check_prompt(struct exec *x, int64_t now)
{
	x->checked_at = now;
	x->prompt = TERMINAL_MAY_PROMPT;
	if (x->options->visible)
		x->prompt = terminal_prompts(x->fd[EXEC_OUT],
		    x->fd[EXEC_SLAVE]);
	exec_read(x, now);
}

/* Returns whether the terminal seems to prompt, where /proc does not show it:
 * it has printed since the last input and is silent; in TERMINAL_LINES it has
 * also left its last line unfinished. */
static bool
seems_to_prompt(const struct exec *x, enum terminal_mode mode, int64_t now)
{
	if (x->printed_at == 0 || now < x->printed_at + SILENCE)
		return false;
	return mode != TERMINAL_LINES || output_within_line(x->sink[EXEC_OUT]);
}

/* Fills in what is known without a check. Returns whether a check is possible:
 * the terminal is open, all input was read, and there was no output or input
 * for a while. */
static bool
begin_prompt(const struct exec *x, enum terminal_mode mode, int64_t now,
                 struct exec_prompt *p)
{
	*p = (struct exec_prompt){
		.state = TERMINAL_BUSY, .since = x->typed_at, .again = NEVER
	};
	if (x->printed_at > x->typed_at)
		p->since = x->printed_at;
	p->secret = mode == TERMINAL_CLOSED || mode == TERMINAL_UNSEEN;
	if (mode == TERMINAL_CLOSED || queue_unwritten(&x->unread) > 0 ||
	    terminal_has_unread(x->fd[EXEC_SLAVE]))
		return false;
	if (now >= p->since + CERTAIN)
		return true;
	p->again = p->since + CERTAIN;
	return false;
}

/* Fills in whether the terminal prompts, by a check that is not older than
 * CHECK. */
static void
find_prompt(struct exec *x, enum terminal_mode mode, int64_t now,
            struct exec_prompt *p)
{
	if (now >= x->checked_at + CHECK)
		check_prompt(x, now);
	p->again = x->checked_at + CHECK;
	/* A prompt that was found too early does not count. */
	if (x->checked_at < p->since + CERTAIN || x->printed_at > p->since)
		return;
	p->state = x->prompt;
	p->at_work = p->state == TERMINAL_BUSY;
	if (p->state == TERMINAL_MAY_PROMPT && !seems_to_prompt(x, mode, now))
		p->state = TERMINAL_BUSY;
}

static enum terminal_mode
find_mode(const struct exec *x)
{
	return x->terminal ? terminal_mode(x->fd[EXEC_OUT]) : TERMINAL_CLOSED;
}

struct exec_prompt
exec_read_prompt(struct exec *x, int64_t now)
{
	enum terminal_mode mode = find_mode(x);
	struct exec_prompt p;

	if (begin_prompt(x, mode, now, &p))
		find_prompt(x, mode, now, &p);
	return p;
}

struct exec_prompt
exec_read_secret_prompt(struct exec *x, int64_t now)
{
	enum terminal_mode mode = find_mode(x);
	struct exec_prompt p;

	if (begin_prompt(x, mode, now, &p) && p.secret)
		find_prompt(x, mode, now, &p);
	return p;
}

pid_t
exec_find_stopped(struct exec *x, int64_t now, int *signo)
{
	int master = x->fd[EXEC_OUT];

	if (!x->options->visible || !x->terminal || master < 0)
		return 0;
	/* Many calls can ask in one turn, and a check takes two walks through
	 * /proc. */
	if (now != x->stopped_at) {
		x->stopped_at = now;
		x->stopped = 0;
		/* A shell that reads the terminal knows of its stopped jobs. */
		if (terminal_prompts(master, x->fd[EXEC_SLAVE]) ==
		    TERMINAL_BUSY)
			x->stopped = terminal_stopped(master, x->pid,
			    &x->stop_signal);
	}
	*signo = x->stop_signal;
	return x->stopped;
}
