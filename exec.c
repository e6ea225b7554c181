#define _XOPEN_SOURCE 700  /* getrlimit; SIGTRAP on FreeBSD */

#include "exec.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "run/guard.h"
#include "run/proc.h"

enum {
	SETTLE = 20,            /* ms in which what a shell leaves may end */
	POLL_SETTLING = 4,      /* ms between polls of a group: at first, */
	POLL = 16,              /* while it is being ended, */
	REVIEW = 10000,         /* and of what was left running */
	FAREWELL = 100,         /* ms in which another user's process may exit,
	                         * as sudo does when its command has ended */
	UNWATCHED = 3,          /* ms from the start without a poll (Q3) */
	SILENCE = 300,          /* ms; then a terminal may prompt (I3), ... */
	CERTAIN = 100,          /* ... or does, where /proc shows that */
	CHECK = 250,            /* ms between checks of that */
	TYPED_MOST = 4 << 20,   /* bytes that wait to be typed */
	PIPE_FULL = 1 << 20,    /* bytes; no pipe holds more by default */
	READ_SIZE = 64 << 10,
	ARGUMENTS = 512,        /* more than a command's pieces (script.c) */
	DIR_LIMIT = 16 << 10,   /* bytes a directory's name may have */
	INHERITED = 250         /* a shell's fd for its directory (EXEC_DIR) */
};

/* 0, or -1 with errno. The directory's is non-blocking at both ends: if it is
 * full, the trap does not wait. */
static int
open_pipes(struct exec *x, int theirs[])
{
	int i, end[2], ours;

	x->no_terminal = x->terminal &&
	    terminal_open(&x->fd[EXEC_OUT], &x->fd[EXEC_SLAVE]) < 0;
	if (x->no_terminal)
		return -1;
	for (i = x->terminal ? EXEC_DIR : EXEC_IN; i < EXEC_PIPES; i++) {
		if ((i == EXEC_IN && !x->has_input) ||
		    (i == EXEC_DIR && x->script.fd < 0))
			continue;
		ours = i == EXEC_IN;
		if (proc_pipe(end, i == EXEC_DIR ? -1 : ours) < 0)
			return -1;
		x->fd[i] = end[ours];
		theirs[i] = end[!ours];
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
            const struct proc_dirs *dirs, const int theirs[])
{
	char *argv[ARGUMENTS] = { (char *)o->shell }, *p = x->script.args.data;
	char *end = p + x->script.args.len;
	int fds[2 * (3 + 1) + 1], *fd = fds, i;
	struct proc_program shell = {
		.path = o->shell, .argv = argv, .dirs = dirs, .fds = fds,
		.env = environment_get(o->environment, x->env, dirs->start),
		.terminal = x->terminal
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
	x->outcome_fd = proc_spawn(x->group, o, &shell);
	return x->outcome_fd >= 0 ? 0 : -1;
}

/* Writes what is typed; or what its stdin is to read, and then closes that.
 * That nobody reads it is no error (B5). */
static void
write_input(struct exec *x)
{
	int *fd = &x->fd[x->terminal ? EXEC_OUT : EXEC_IN];

	if (queue_flush(&x->unread, *fd) < 0)
		queue_free(&x->unread);
	if (!x->terminal && queue_unwritten(&x->unread) == 0)
		fd_close(fd);
}

/* Closes the pipes of stdin and directory, frees buffers; all: output, too. */
static void
close_pipes(struct exec *x, bool all)
{
	fd_close(&x->fd[EXEC_IN]);
	fd_close(&x->fd[EXEC_DIR]);
	fd_close(&x->outcome_fd);
	queue_free(&x->unread);
	script_free(&x->script);
	if (all) {
		fd_close(&x->fd[EXEC_OUT]);
		fd_close(&x->fd[EXEC_ERR]);
		x->open = false;
	}
}

int
exec_start(struct exec_list *list, struct exec *x, const struct options *o,
           const struct proc_dirs *dirs, struct output *out,
           struct output *err, int64_t now)
{
	int theirs[EXEC_PIPES], i, error, status = -1;

	x->options = o;
	for (i = 0; i < EXEC_PIPES; i++)
		x->fd[i] = x->poll[i] = theirs[i] = -1;
	x->outcome_fd = x->outcome_poll = -1;
	errno = ENOMEM;
	if (script_write(&x->script, o->shell, &x->text, x->tells_dir,
	    report_fd()) && queue_put(&x->unread, &x->input) &&
	    (x->group = guard_group(o->guard)) != NULL &&
	    open_pipes(x, theirs) == 0) {
		x->group->started = now;
		x->group->follow_up = x->terminal ? SIGHUP
		    : x->script.fd >= 0 ? SIGTERM : 0;
		status = start_shell(x, o, dirs, theirs);
	}
	error = errno;
	for (i = 0; i < EXEC_PIPES; i++)
		fd_close(&theirs[i]);
	buf_free(&x->script.args);
	buf_free(&x->input);
	if (status < 0) {
		close_pipes(x, true);
		x->group = NULL;
		errno = error;
		return -1;
	}
	x->next = list->first;
	list->first = x;
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
exec_free(struct exec_list *list, struct exec *x)
{
	struct exec **at = &list->first;

	while (*at != NULL && *at != x)
		at = &(*at)->next;
	if (*at == NULL)
		return;
	*at = x->next;
	close_pipes(x, true);
	/* The guard could not end this either. */
	if (x->state == EXEC_SURVIVED)
		x->group->id = 0;
	x->group = NULL;
}

/* n is 0 at the end. */
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
}

/* One read: the number of bytes; 0 at the end, and closes it; -1: none now. */
static ssize_t
read_pipe(struct exec *x, int which, int64_t now)
{
	char bytes[READ_SIZE];
	ssize_t n;

	if (x->fd[which] < 0)
		return 0;
	n = proc_take(x->fd[which], bytes, sizeof(bytes));
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

/* What is in the pipes by now, but of each at most one read past `most` bytes:
 * somebody may go on printing. */
static void
read_rest(struct exec *x, ssize_t most, int64_t now)
{
	ssize_t n, sum;
	int which;

	for (which = EXEC_OUT; which <= EXEC_ERR; which++) {
		sum = 0;
		while (sum < most && (n = read_pipe(x, which, now)) > 0)
			sum += n;
	}
}

/* What leads from one state to the next, when that is found or is over:
 *
 *	RUNNING     its shell has ended                   SETTLING
 *	SETTLING    nothing of it lives                   GONE
 *	            20 ms: something does, or who knows   LINGERS
 *	LINGERS     nothing of it lives                   GONE
 *	STOPPING    nothing of it lives                   GONE
 *	            100 ms: only another user's processes SURVIVED
 *	            5 s                                   KILLED
 *	KILLED      nothing of it lives                   GONE
 *	            100 ms: only another user's processes SURVIVED
 *	            5 s                                   SURVIVED
 *	            5 s, and its program has not started  GONE
 *	SURVIVED    nothing of it lives                   GONE
 *	            its shell has ended after all         SETTLING
 *
 * and from RUNNING, SETTLING, LINGERS and SURVIVED exec_stop() to STOPPING. A
 * group is polled once its shell has ended, or cannot be signalled. The command
 * ends as it gets to LINGERS or GONE, or to SURVIVED if its shell has ended. */

/* What was left running is polled for all commands in the same turn, since it
 * takes a walk through /proc. */
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
	x->deadline = state == EXEC_SETTLING ? now + SETTLE :
	    state == EXEC_STOPPING ? x->group->kill_at :
	    state == EXEC_KILLED ? now + PROC_GIVE_UP : NEVER;
	poll_later(x, now);
}

/* Notes that the program has started, when the child has closed its end of the
 * outcome's pipe. If it could not be started, the command ends soon. */
static void
read_outcome(struct exec *x)
{
	char byte;

	if (x->outcome_fd < 0 || proc_take(x->outcome_fd, &byte, 1) != 0)
		return;
	fd_close(&x->outcome_fd);
	x->starting = x->group->outcome.error != 0;
}

/* Has its shell ended? It is a zombie then (E3). */
static bool
see_end(struct exec *x, int64_t now)
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
	if (x->options->visible && proc_read(x->pid, "/comm", comm,
	    sizeof(comm)) > 0) {
		comm[strcspn(comm, "\n")] = '\0';
		if (strcmp(comm, name) != 0)
			return REPORT_REPLACED;
	}
	return s->own_trap ? REPORT_TRAP : REPORT_LOST;
}

/* What was left running may hold the pipes (E4): they are read on, to block
 * nobody, and dropped. A terminal ends with its shell (I4). */
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
		n = proc_take(x->fd[EXEC_DIR], text, sizeof(text));
	if (n > 0)
		script_told(text, (size_t)n, x->status, &x->dir, &x->pipeline);
	x->outcome = x->group->outcome;
	x->starting = false;
	if (x->tells_dir && x->dir == NULL &&
	    x->outcome.stage == PROC_ENTERED)
		x->report = find_missing_report(x);
	x->sink[EXEC_OUT] = x->sink[EXEC_ERR] = NULL;
	close_pipes(x, x->terminal);
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
exec_abandon(struct exec *x, int64_t now)
{
	end_command(x, now);
}

/* Nothing of it lives: its number is given back. */
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

/* Its child is stuck in front of the command, in a directory that does not
 * respond (E11). SIGKILL is pending, so the command will never run. */
static void
enter_gone_unstarted(struct exec *x, int64_t now)
{
	x->status = 128 + SIGKILL;
	enter_gone(x, now);
	x->shell_ended = true;
}

/* Something of it lives that boris cannot end: it belongs to another user, or
 * has survived SIGKILL. */
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

/* Has SIGKILL had no effect as far as boris can tell, without a /proc? What is
 * left may be zombies whose parent does not wait for them. */
static bool
is_survivor_unknown(const struct exec *x)
{
	return x->shell_ended && x->group->found == PROC_LIVES &&
	    x->group->survivor == 0;
}

/* Moves on what is being ended. */
static void
move_on_end(struct exec *x, bool polled, int64_t now)
{
	struct proc_group *g = x->group;
	bool late = now >= x->deadline;
	/* Each of the two states lasts as long. */
	int64_t entered = x->deadline - PROC_GRACE;

	if (late && x->state == EXEC_KILLED && x->starting) {
		enter_gone_unstarted(x, now);
	} else if (late && x->state == EXEC_KILLED && is_survivor_unknown(x)) {
		enter_gone(x, now);
	} else if ((late && x->state == EXEC_KILLED) ||
	    (polled && g->found == PROC_FOREIGN && now >= entered + FAREWELL)) {
		enter_survived(x, now);
	} else if (x->state == EXEC_KILLED) {
		if (polled)
			proc_stop_due(g, true, now);
	} else {
		if (late || g->send == 0)
			proc_stop_due(g, polled && x->shell_ended, now);
		if (late)
			enter_state(x, EXEC_KILLED, now);
	}
}

/* Moves a state on by time or by poll. polled: this turn polled its group.
 * What is just about to end, or to get a session of its own, is not counted as
 * left running: so a command is SETTLING for a while (E4, B7). */
static void
move_on(struct exec *x, bool polled, int64_t now)
{
	struct proc_group *g = x->group;

	if (g == NULL)
		return;
	/* A shell that was polled may have ended since. */
	if (polled && !x->shell_ended)
		see_end(x, now);
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
exec_last_look(struct exec_list *list, const struct options *o, int64_t now)
{
	struct proc_group *polled = NULL;
	struct exec *x;

	for (x = list->first; x != NULL; x = x->next) {
		if (x->group != NULL && is_being_ended(x)) {
			x->group->next = polled;
			polled = x->group;
		}
	}
	if (polled != NULL)
		proc_poll(polled, o->visible, true, now);
	for (x = list->first; x != NULL; x = x->next) {
		if (x->group != NULL && is_being_ended(x) &&
		    x->group->found == PROC_FOREIGN)
			enter_survived(x, now);
	}
}

void
exec_put_survivor(const struct exec *x, struct buf *b)
{
	const char *state = x->foreign
	    ? "belongs to another user and is still running"
	    : "is stuck in the kernel and still running after SIGKILL";

	if (x->survivor > 0)
		buf_add(b, "pid ", NUM(x->survivor), " ", state);
	else if (x->foreign)
		buf_add(b, "a process ", state);
	else
		buf_add(b, "a process may still be running after SIGKILL");
}

void
exec_poll_add(struct exec_list *list, struct loop *loop)
{
	bool quiet;
	struct exec *x;

	for (x = list->first; x != NULL; x = x->next) {
		quiet = x->state == EXEC_RUNNING &&
		    loop->now < x->group->started + UNWATCHED;
		x->poll[EXEC_OUT] = loop_add(loop, quiet ? -1 : x->fd[EXEC_OUT],
		    x->terminal && queue_unwritten(&x->unread) > 0
		    ? POLLIN | POLLOUT : POLLIN);
		x->poll[EXEC_ERR] = loop_add(loop, quiet ? -1 : x->fd[EXEC_ERR],
		    POLLIN);
		x->poll[EXEC_IN] = loop_add(loop,
		    x->terminal ? -1 : x->fd[EXEC_IN], POLLOUT);
		x->outcome_poll = loop_add(loop, quiet ? -1 : x->outcome_fd,
		    POLLIN);
		if (x->group == NULL)
			continue;
		if (quiet)
			loop_until(loop, x->group->started + UNWATCHED);
		loop_until(loop, x->group->send != 0 ? loop->now : x->deadline);
		if (x->group->follow_up != 0 && x->state == EXEC_STOPPING)
			loop_until(loop, x->group->follow_up_at);
		if (needs_poll(x))
			loop_until(loop, x->poll_at);
	}
}

void
exec_dispatch(struct exec_list *list, const struct options *o,
              const struct loop *loop)
{
	struct proc_group *polled = NULL, *ending = NULL;
	bool ended = false, released = false, held;
	struct exec *x;
	short out;

	for (x = list->first; x != NULL; x = x->next) {
		out = loop_events(loop, x->poll[EXEC_OUT]);
		if ((out & POLLOUT) || loop_events(loop, x->poll[EXEC_IN]))
			write_input(x);
		if (out & ~POLLOUT)
			read_pipe(x, EXEC_OUT, loop->now);
		if (loop_events(loop, x->poll[EXEC_ERR]))
			read_pipe(x, EXEC_ERR, loop->now);
		if (loop_events(loop, x->outcome_poll))
			read_outcome(x);
		ended = (loop->child && see_end(x, loop->now)) || ended;
		if (is_due(x, loop->now)) {
			x->group->next = polled;
			polled = x->group;
		}
	}
	if (polled != NULL)
		proc_poll(polled, o->visible, true, loop->now);
	for (x = list->first; x != NULL; x = x->next) {
		held = x->group != NULL;
		move_on(x, is_due(x, loop->now), loop->now);
		released = released || (held && x->group == NULL);
		if (x->group != NULL && x->group->send != 0) {
			x->group->next = ending;
			ending = x->group;
		}
	}
	if (ending != NULL)
		proc_signal(ending);
	/* The child that has ended may be an inherited one. One SIGCHLD can
	 * stand for several children, and guard_reap() stops at a shell that
	 * is still held, so it is tried again when a shell was released. */
	if (released || (loop->child && (!ended || !o->visible)))
		guard_reap(o->guard);
}

void
exec_read(struct exec *x, int64_t now)
{
	read_rest(x, READ_SIZE / 8, now);  /* `sink` keeps all of that */
	see_end(x, now);
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

int
exec_type(struct exec *x, const struct buf *text, int64_t now,
          enum terminal_mode *mode)
{
	size_t line = x->line, i;

	*mode = terminal_mode(x->fd[EXEC_OUT]);
	/* Enter and end of file send a line, however the terminal is set. */
	for (i = 0; i < text->len && line <= LINE_TYPED_MOST; i++)
		line = *mode != TERMINAL_KEYS &&
		    memchr("\n\r\004", text->data[i], 3) == NULL ? line + 1 : 0;
	errno = !x->terminal ? ENOTTY : *mode == TERMINAL_CLOSED ? EPIPE
	    : line > LINE_TYPED_MOST ? E2BIG
	    : queue_unwritten(&x->unread) + text->len > TYPED_MOST ? ENOBUFS
	    : !buf_reserve(&x->unread.bytes, text->len) ? ENOMEM : 0;
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

/* Where /proc does not tell, it may prompt if it has printed since the last
 * input and is silent; but in TERMINAL_LINES only within an unended line. */
struct exec_prompt
exec_prompts(struct exec *x, enum exec_look look, int64_t now)
{
	struct exec_prompt p = { TERMINAL_BUSY, false, true, x->typed_at,
	    NEVER };
	enum terminal_mode mode = x->terminal
	    ? terminal_mode(x->fd[EXEC_OUT]) : TERMINAL_CLOSED;

	if (x->printed_at > x->typed_at)
		p.since = x->printed_at;
	p.secret = mode == TERMINAL_CLOSED || mode == TERMINAL_UNSEEN;
	if (mode == TERMINAL_CLOSED || queue_unwritten(&x->unread) > 0 ||
	    terminal_has_unread(x->fd[EXEC_SLAVE]))
		return p;
	if (now < p.since + CERTAIN)
		p.again = p.since + CERTAIN;
	if (p.again != NEVER || (look != EXEC_ANY && !p.secret))
		return p;
	if (now >= x->checked_at + CHECK) {
		x->checked_at = now;
		x->prompt = x->options->visible
		    ? terminal_prompts(x->fd[EXEC_OUT], x->fd[EXEC_SLAVE])
		    : TERMINAL_MAY_PROMPT;
		exec_read(x, now);  /* it may have printed before it read */
	}
	p.again = x->checked_at + CHECK;
	if (x->checked_at < p.since + CERTAIN || x->printed_at > p.since)
		return p;  /* `prompt` was found too early to count */
	p.state = x->prompt;
	p.at_work = p.state == TERMINAL_BUSY;
	if (p.state != TERMINAL_MAY_PROMPT)
		return p;
	if (x->printed_at == 0 || now < x->printed_at + SILENCE ||
	    (mode == TERMINAL_LINES && !output_within_line(x->sink[EXEC_OUT])))
		p.state = TERMINAL_BUSY;
	return p;
}

pid_t
exec_stopped(const struct exec *x, int *signo)
{
	if (!x->options->visible || x->fd[EXEC_OUT] < 0)
		return 0;
	return terminal_stopped(x->fd[EXEC_OUT], x->pid, signo);
}
