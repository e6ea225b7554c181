#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "proc.h"
#include "script.h"

enum {
	SETTLE = 20,            /* ms in which what a shell leaves may end */
	POLL_MOST = 32,         /* ms between polls of a group, at most */
	REVIEW = 10000,         /* ms between polls of what was left running */
	PIPE_CLOSED = 10,       /* ms from the end of its last pipe to one */
	UNWATCHED = 3,          /* ms; most have ended before that (Q3) */
	SILENCE = 300,          /* ms; then a terminal may prompt (I3), ... */
	CERTAIN = 100,          /* ... or does, where that is certain */
	CHECK = 250,            /* ms between checks of that */
	TYPED_MOST = 4 << 20,   /* bytes that wait to be typed */
	PIPE_FULL = 1 << 20,    /* bytes; no pipe holds more by default */
	READ_SIZE = 64 << 10,
	ARGUMENTS = 32,         /* more than Linux takes of PIECE bytes */
	DIR_LIMIT = 16 << 10    /* bytes a directory's name may have */
};

/* The pipes of a command, by their descriptor there; DIR tells the directory in
 * which it ended. With a terminal its master is OUT. Its other end boris keeps
 * open as SLAVE: so its program may close it, and open it again. */
enum { IN, OUT, ERR, DIR, PIPES, SLAVE = IN };

struct exec {
	struct exec_report *report;  /* the owner's */
	struct exec *next;    /* in its list */
	struct guard *guard;
	struct proc_group *group;  /* the guard's; NULL: not begun, or gone */
	int64_t deadline;     /* ms; when the state ends by itself */
	int64_t poll_at;      /* ms; when to poll an ended shell's group, */
	int64_t pace;         /* and ms from then to the next time */
	bool terminal;
	int64_t typed;        /* ms; of the last input, or the start */
	int64_t printed;      /* ms; of the last output; 0: none since then */
	int64_t checked;      /* ms; when `prompt` was found */
	enum terminal_prompt prompt;
	size_t line;          /* bytes of the unfinished line that was typed */
	int fd[PIPES];        /* our ends of its pipes; -1: none, or closed */
	int poll[PIPES];      /* their indexes in the poll set */
	struct output *text[PIPES];  /* the owner's; NULL: it is dropped */
	struct queue input;   /* still to be written to its stdin, or typed */
	struct script script;
};

/* -- The start --------------------------------------------------------- */

/* 0, or -1 with errno; the caller closes them in either case. The directory's
 * is non-blocking at both ends: if it is full, the trap does not wait. */
static int
open_pipes(struct exec_command *c, bool dir, int ours[], int theirs[])
{
	int i, end[2], us;

	if (c->terminal) {
		c->no_terminal = terminal_open(end) < 0;
		if (c->no_terminal)
			return -1;
		ours[OUT] = end[0];
		ours[SLAVE] = end[1];
	}
	for (i = c->terminal ? DIR : IN; i < PIPES; i++) {
		if ((i == IN && c->input == NULL) || (i == DIR && !dir))
			continue;
		us = i == IN;
		if (proc_pipe(end, i == DIR ? -1 : us) < 0)
			return -1;
		ours[i] = end[us];
		theirs[i] = end[!us];
	}
	return 0;
}

/* 0, or -1 with errno */
static int
start_shell(struct exec *x, const struct exec_command *c, char *pwd,
            const int theirs[])
{
	char *argv[ARGUMENTS] = { (char *)c->shell };
	char *text = x->script.args.data;
	int n = 1, status, fd[PIPES];
	struct proc_child child = {
		argv, c->env, c->dir, fd, x->script.fd, c->terminal
	};

	while (text < x->script.args.data + x->script.args.len &&
	    n < ARGUMENTS - 1) {
		argv[n++] = text;
		text += strlen(text) + 1;
	}
	if (n == ARGUMENTS - 1) {
		errno = E2BIG;  /* the kernel's limit is lower */
		return -1;
	}
	memcpy(fd, theirs, sizeof(fd));
	if (c->terminal)
		fd[IN] = fd[OUT] = fd[ERR] = x->fd[SLAVE];
	else if (c->input == NULL)
		fd[IN] = c->no_input;
	c->env[0] = pwd;
	status = proc_start(&child, x->group);
	c->env[0] = "PWD=/";
	return status;
}

static void
write_input(struct exec *x)
{
	/* EPIPE: it does not read it, which is no error (B5). */
	if (x->fd[IN] < 0 || (queue_flush(&x->input, x->fd[IN]) == 0 &&
	    queue_unwritten(&x->input) > 0))
		return;
	fd_close(&x->fd[IN]);
	queue_free(&x->input);
}

static void
write_typed(struct exec *x)
{
	/* EIO: it has hung up. */
	if (queue_flush(&x->input, x->fd[OUT]) < 0)
		queue_free(&x->input);
}

/* So that who says good-bye when boris has gone is not ended by SIGPIPE (L1) */
void
exec_share(const struct exec *x)
{
	if (x->group != NULL && x->group->id != 0) {
		guard_share(x->guard, x->fd[OUT]);
		guard_share(x->guard, x->fd[ERR]);
	}
}

void
exec_free(struct exec_list *list, struct exec *x)
{
	struct exec **at = &list->first;
	int i;

	if (x == NULL)
		return;
	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	exec_share(x);
	for (i = 0; i < PIPES; i++)
		fd_close(&x->fd[i]);
	queue_free(&x->input);
	script_free(&x->script);
	x->report->open = false;
	free(x);
}

struct exec *
exec_start(struct exec_list *list, struct exec_command *c,
           struct exec_report *report, struct output *out, struct output *err,
           int64_t now)
{
	struct exec *x = calloc(1, sizeof(*x));
	struct buf pwd = { NULL, 0, 0, false };
	int theirs[PIPES], i, error, status = -1;

	if (x == NULL)
		return NULL;
	memset(report, 0, sizeof(*report));
	x->report = report;
	x->next = list->first;
	list->first = x;
	list->guard = x->guard = c->guard;
	for (i = 0; i < PIPES; i++)
		x->fd[i] = x->poll[i] = theirs[i] = -1;
	script_write(&x->script, c->shell, c->text, c->len, c->tells_dir);
	buf_puts(&pwd, "PWD=");
	buf_put(&pwd, c->dir, strlen(c->dir) + 1);
	errno = ENOMEM;
	if (!x->script.args.failed && !pwd.failed &&
	    (x->group = guard_group(c->guard)) != NULL &&
	    open_pipes(c, x->script.fd >= 0, x->fd, theirs) == 0) {
		x->group->started = now;
		x->group->second = c->terminal ? SIGHUP
		    : x->script.fd >= 0 ? SIGTERM : 0;
		status = start_shell(x, c, pwd.data, theirs);
	}
	error = errno;
	for (i = 0; i < PIPES; i++)
		fd_close(&theirs[i]);
	buf_free(&x->script.args);
	buf_free(&pwd);
	if (status < 0) {
		exec_free(list, x);
		errno = error;
		return NULL;
	}
	report->pid = x->group->id;
	report->open = true;
	x->terminal = c->terminal;
	x->text[OUT] = out;
	x->text[ERR] = err;
	x->typed = now;
	x->deadline = NEVER;
	if (c->input != NULL) {
		x->input.bytes = *c->input;
		memset(c->input, 0, sizeof(*c->input));
		write_input(x);
	}
	return x;
}

/* -- The pipes --------------------------------------------------------- */

static void
show(struct exec *x, int which, const char *p, size_t n)
{
	struct output *to = x->text[which];
	struct buf clean = { NULL, 0, 0, false };

	if (to == NULL)
		return;
	if ((which == ERR || x->terminal) &&
	    script_clean(&x->script, p, n, &clean))
		output_write(to, clean.data, clean.len);
	else
		output_write(to, p, n);
	buf_free(&clean);
}

/* One read: the number of bytes; 0 at the end, and closes it; -1: none now. */
static ssize_t
take(struct exec *x, int which, int64_t now)
{
	char bytes[READ_SIZE];
	ssize_t n;

	if (x->fd[which] < 0)
		return 0;
	while ((n = read(x->fd[which], bytes, sizeof(bytes))) < 0 &&
	    errno == EINTR)
		;
	if (n < 0 && errno == EAGAIN)
		return -1;
	if (n <= 0) {
		fd_close(&x->fd[which]);
		x->report->open = x->fd[OUT] >= 0 || x->fd[ERR] >= 0;
		return 0;
	}
	x->printed = now;
	show(x, which, bytes, (size_t)n);
	return n;
}

/* What is in the pipes by now, and once `most` bytes of one have been read, no
 * more: somebody may go on printing. */
static void
take_rest(struct exec *x, ssize_t most, int64_t now)
{
	ssize_t n, sum;
	int which;

	for (which = OUT; which <= ERR; which++) {
		sum = 0;
		while (sum < most && (n = take(x, which, now)) > 0)
			sum += n;
	}
}

/* Where has it ended (D2), and what did its exit code hide (B7)? */
static void
take_dir(struct exec *x)
{
	char text[DIR_LIMIT];
	const char *dir, *codes;
	ssize_t n = -1;

	errno = EINTR;
	while (x->fd[DIR] >= 0 && n < 0 && errno == EINTR)
		n = read(x->fd[DIR], text, sizeof(text));
	fd_close(&x->fd[DIR]);
	/* cppcheck-suppress legacyUninitvar */
	dir = n > 0 ? script_told(text, (size_t)n, &codes) : NULL;
	if (dir == NULL)
		return;
	x->report->dir = strdup(dir);
	x->report->dir_lost = x->report->dir == NULL;
	if (x->report->status == 0 &&
	    strlen(codes) < sizeof(x->report->pipeline))
		memcpy(x->report->pipeline, codes, strlen(codes) + 1);
}

/* -- The states -------------------------------------------------------- */

/* What leads from one to the next, when what is said here is found or is over:
 *
 *	RUNNING     its shell has ended                   LEAVING
 *	LEAVING     nothing of it lives                   GONE
 *	            20 ms: something does, or who knows   LEFT
 *	LEFT        nothing of it lives                   GONE
 *	STOPPING    nothing of it lives                   GONE
 *	            5 s                                   KILLED
 *	KILLED      nothing of it lives, or 5 s           GONE
 *
 * and from all of the first three exec_stop() to STOPPING. A group is polled
 * only once its shell has ended. The command ends as it gets to LEFT or GONE;
 * with GONE the number of its group is free. */

/* When to poll the group again: soon at first. What was left running is polled
 * for all commands in the same turn, since it takes a walk through /proc. */
static void
poll_later(struct exec *x, int64_t now)
{
	x->poll_at = now + x->pace;
	x->pace = x->pace * 2 > POLL_MOST ? POLL_MOST : x->pace * 2;
	if (x->report->state == EXEC_LEFT)
		x->poll_at = now - now % REVIEW + REVIEW;
	else if (now < x->deadline && x->deadline < x->poll_at)
		x->poll_at = x->deadline;
}

static void
enter(struct exec *x, enum exec_state state, int64_t now)
{
	x->report->state = state;
	x->deadline = state == EXEC_LEAVING ? now + SETTLE :
	    state == EXEC_STOPPING ? x->group->kill_at :
	    state == EXEC_KILLED ? now + PROC_GIVE_UP : NEVER;
	x->pace = 1;
	poll_later(x, now);
}

/* Has its shell ended? It is a zombie then (E3). */
static bool
see_end(struct exec *x, int64_t now)
{
	struct exec_report *r = x->report;

	if (r->shell_ended || x->group == NULL ||
	    !proc_ended(r->pid, &r->status, &r->signalled))
		return false;
	r->shell_ended = true;
	if (r->state == EXEC_RUNNING)
		enter(x, EXEC_LEAVING, now);
	x->poll_at = now;
	return true;
}

static void
end_command(struct exec *x, int64_t now)
{
	if (x->report->ended)
		return;
	take_rest(x, PIPE_FULL, now);
	show(x, x->terminal ? OUT : ERR, NULL, 0);
	take_dir(x);
	/* What was left running may hold the pipes (E4): they are read on, to
	 * block nobody, and dropped. A terminal ends with its shell (I4). */
	x->text[OUT] = x->text[ERR] = NULL;
	if (x->terminal) {
		fd_close(&x->fd[OUT]);
		x->report->open = false;
	}
	/* What was left running reads end of file, as under any shell. */
	fd_close(&x->fd[IN]);
	queue_free(&x->input);
	script_free(&x->script);
	x->report->ended = true;
}

/* Nothing of it lives; or it sleeps in the kernel, or is another user's: then
 * not even SIGKILL has ended it. */
static void
let_go(struct exec *x, int64_t now)
{
	if (!x->report->shell_ended)
		x->report->status = 128 + SIGKILL;
	end_command(x, now);
	if (x->report->shell_ended)
		proc_reap(x->report->pid);
	x->report->orphans = false;
	x->group->id = 0;
	x->group = NULL;
	enter(x, EXEC_GONE, now);
}

void
exec_stop(struct exec *x, int64_t now)
{
	if (x->group == NULL || x->report->state == EXEC_STOPPING ||
	    x->report->state == EXEC_KILLED)
		return;
	proc_stop(x->group, now);
	enter(x, EXEC_STOPPING, now);
}

static bool
is_due(const struct exec *x, int64_t now)
{
	return x->group != NULL && x->report->shell_ended && now >= x->poll_at;
}

/* The one function that moves a state on. polled: the group was, in this turn.
 * A process that is just about to end, or to get a session of its own, is not
 * left running: so a command is LEAVING for a while (E4, B7). */
static void
act(struct exec *x, bool polled, int64_t now)
{
	enum exec_state state = x->report->state;
	struct proc_group *g = x->group;
	bool late = now >= x->deadline;

	if (g == NULL)
		return;
	if ((polled && g->found == PROC_GONE) ||
	    (late && state == EXEC_KILLED)) {
		let_go(x, now);
		return;
	}
	if (polled)
		poll_later(x, now);
	switch (state) {
	case EXEC_LEAVING:
		if (!late)
			break;
		x->report->orphans = g->found == PROC_LIVES;
		x->report->elsewhere = g->elsewhere;
		end_command(x, now);
		enter(x, EXEC_LEFT, now);
		break;
	case EXEC_STOPPING:
		if (late || g->send == 0)
			proc_stop_on(g, polled, now);
		if (late)
			enter(x, EXEC_KILLED, now);
		break;
	case EXEC_KILLED:
		if (polled)
			proc_stop_on(g, true, now);
		break;
	default:
		break;
	}
}

static void
poll_groups(struct exec_list *list, int64_t now)
{
	struct proc_group *due = NULL;
	struct exec *x;

	for (x = list->first; x != NULL; x = x->next) {
		if (is_due(x, now)) {
			x->group->next = due;
			due = x->group;
		}
	}
	if (due != NULL)
		proc_poll(due, guard_visible(list->guard), true, now);
	for (x = list->first; x != NULL; x = x->next)
		act(x, is_due(x, now), now);
}

static void
send_signals(struct exec_list *list)
{
	struct proc_group *due = NULL;
	struct exec *x;

	for (x = list->first; x != NULL; x = x->next) {
		if (x->group != NULL && x->group->send != 0) {
			x->group->next = due;
			due = x->group;
		}
	}
	if (due != NULL)
		proc_signal(due);
}

/* -- Turns ------------------------------------------------------------- */

void
exec_poll_add(struct exec_list *list, struct loop *loop)
{
	struct exec *x;
	short events;
	bool quiet;

	for (x = list->first; x != NULL; x = x->next) {
		quiet = x->report->state == EXEC_RUNNING &&
		    loop->now < x->group->started + UNWATCHED;
		if (quiet)
			loop_until(loop, x->group->started + UNWATCHED);
		events = x->terminal && queue_unwritten(&x->input) > 0
		    ? POLLIN | POLLOUT : POLLIN;
		x->poll[OUT] = loop_add(loop, quiet ? -1 : x->fd[OUT], events);
		x->poll[ERR] = loop_add(loop, quiet ? -1 : x->fd[ERR], POLLIN);
		x->poll[IN] = loop_add(loop, x->terminal ? -1 : x->fd[IN],
		    POLLOUT);
		if (x->group == NULL)
			continue;
		loop_until(loop, x->group->send != 0 ? loop->now : x->deadline);
		if (x->group->second != 0 && x->report->state == EXEC_STOPPING)
			loop_until(loop, x->group->second_at);
		if (x->report->shell_ended)
			loop_until(loop, x->poll_at);
	}
}

/* Reads and writes what can be. Was its shell found to have ended? */
static bool
transfer(struct exec *x, const struct loop *loop)
{
	bool open = x->report->open;

	if (loop_events(loop, x->poll[OUT]) & POLLOUT)
		write_typed(x);
	if (loop_events(loop, x->poll[OUT]) & ~POLLOUT)
		take(x, OUT, loop->now);
	if (loop_events(loop, x->poll[ERR]))
		take(x, ERR, loop->now);
	if (loop_events(loop, x->poll[IN]))
		write_input(x);
	/* When what was left running closes its last pipe, it mostly ends. */
	if (x->report->state == EXEC_LEFT && open && !x->report->open)
		x->poll_at = loop->now + PIPE_CLOSED;
	return loop->child && see_end(x, loop->now);
}

void
exec_dispatch(struct exec_list *list, const struct loop *loop)
{
	bool ended = false;
	struct exec *x;

	for (x = list->first; x != NULL; x = x->next)
		ended = transfer(x, loop) || ended;
	poll_groups(list, loop->now);
	send_signals(list);
	/* Another child than these has ended, or may have. */
	if (loop->child && list->guard != NULL &&
	    (!ended || !guard_visible(list->guard)))
		guard_reap(list->guard);
}

void
exec_read(struct exec *x, int64_t now)
{
	take_rest(x, READ_SIZE / 8, now);  /* less than is kept of it */
	see_end(x, now);
}

/* -- The terminal ------------------------------------------------------ */

int
exec_type(struct exec *x, const struct buf *text, int64_t now, bool *echoed)
{
	struct buf *typed;
	bool lines, shows;
	size_t line = 0;

	errno = x->terminal ? EPIPE : ENOTTY;
	if (x->fd[OUT] < 0 || !x->terminal ||
	    !terminal_mode(x->fd[OUT], &lines, &shows))
		return -1;
	if (lines)
		line = terminal_line(x->fd[OUT], x->line, text);
	errno = line > TERMINAL_LINE ? E2BIG : ENOBUFS;
	if (line > TERMINAL_LINE ||
	    queue_unwritten(&x->input) + text->len > TYPED_MOST)
		return -1;
	/* A program that reads single keys mostly prints them itself. */
	*echoed = !lines || shows;
	if (text->len == 0)
		return 0;
	typed = queue_append(&x->input);
	buf_put(typed, text->data, text->len);
	if (typed->failed) {
		typed->failed = false;  /* what came before is still typed */
		errno = ENOMEM;
		return -1;
	}
	x->line = line;
	x->typed = now;
	x->printed = 0;
	write_typed(x);
	return 0;
}

bool
exec_reads_keys(const struct exec *x)
{
	bool lines, shows;

	return x->terminal && x->fd[OUT] >= 0 &&
	    terminal_mode(x->fd[OUT], &lines, &shows) && !lines;
}

/* What is known at once. again: NEVER if it can't prompt, else when certain. */
static struct exec_prompt
begin_prompt(const struct exec *x, bool *lines, bool *shows)
{
	struct exec_prompt p = { TERMINAL_BUSY, false, true, x->typed, NEVER };

	if (x->printed > x->typed)
		p.since = x->printed;
	if (!x->terminal || x->fd[OUT] < 0 ||
	    !terminal_mode(x->fd[OUT], lines, shows))
		return p;
	p.secret = *lines && !*shows;
	if (queue_unwritten(&x->input) == 0)
		p.again = p.since + CERTAIN;
	return p;
}

/* Where it can't be known, it may prompt if something was printed since the
 * last input, and it takes keys or hides them, or the line has not ended. */
struct exec_prompt
exec_prompts(struct exec *x, int64_t now)
{
	bool lines, shows;
	struct exec_prompt p = begin_prompt(x, &lines, &shows);

	if (now < p.again)
		return p;
	if (now >= x->checked + CHECK) {
		x->checked = now;
		x->prompt = guard_visible(x->guard)
		    ? terminal_prompts(x->fd[OUT], x->fd[SLAVE])
		    : TERMINAL_MAY_PROMPT;
		exec_read(x, now);  /* it may have printed before it read */
	}
	p.again = x->checked + CHECK;
	if (x->checked < p.since + CERTAIN || x->printed > p.since)
		return p;  /* that was before */
	p.state = x->prompt;
	p.at_work = p.state == TERMINAL_BUSY;
	if (p.state != TERMINAL_MAY_PROMPT)
		return p;
	if (x->printed == 0 || (lines && !p.secret &&
	    !output_within_line(x->text[OUT])) || now < x->printed + SILENCE)
		p.state = TERMINAL_BUSY;
	if (now < x->printed + SILENCE && x->printed + SILENCE < p.again)
		p.again = x->printed + SILENCE;
	return p;
}

struct exec_prompt
exec_asks_secret(struct exec *x, bool fresh, int64_t now)
{
	bool lines, shows;
	struct exec_prompt p = begin_prompt(x, &lines, &shows);

	if (fresh)
		x->checked = 0;
	if (p.secret && p.again != NEVER)
		return exec_prompts(x, now);
	if (now >= p.again)
		p.again = NEVER;
	return p;
}

int
exec_type_unseen(struct exec *x, const char *line, size_t n, int64_t now)
{
	bool lines, shows;

	if (!terminal_mode(x->fd[OUT], &lines, &shows) || !lines || shows ||
	    write(x->fd[OUT], line, n) != (ssize_t)n)
		return -1;
	x->line = 0;
	x->typed = now;
	x->printed = 0;
	return 0;
}
