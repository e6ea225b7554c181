#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* waitid */

#include "exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guard.h"
#include "proc.h"
#include "script.h"

enum {
	GIVE_UP = 5000,         /* ms after SIGKILL; then it is let be */
	HANG_UP = 1000,         /* ms from SIGTERM to SIGHUP (T4) */
	EARLY = 50,             /* ms; a command that is ended within them ... */
	AGAIN = 20,             /* ... gets a second SIGTERM after these */
	SILENCE = 300,          /* ms; then a terminal may be asking (I3) */
	UNHELD_LOOK = 100,      /* ms between reads of one that is unheld */
	LINE_MOST = 4095,       /* bytes of a line that a terminal takes (I2) */
	TYPED_MOST = 4 << 20,   /* bytes that wait to be typed */
	LOOK_MOST = 32,         /* ms between looks at a group, at most */
	REVIEW = 10000,         /* ms between looks at which orphans live */
	LOOK_AFTER_PIPE = 10,   /* ms from the end of an orphan's pipe to one */
	SETTLE = 20,            /* ms in which what a shell leaves may end */
	SHORT_LIFE = 250,       /* ms in which pids do not wrap around */
	QUIET = 3,              /* ms in which a new command's pipes are not
	                         * watched: most commands end before that, and
	                         * every turn of the loop costs (Q3) */
	PIPE_FULL = 1 << 20,    /* bytes; no pipe holds more by default */
	READ_SIZE = 64 << 10,
	ARGUMENTS = 32,           /* more than Linux takes of that size */
	DIR_LIMIT = 16 << 10      /* bytes a directory's name may have */
};

/* The pipes of a command, by their descriptor there; DIR tells the directory in
 * which it ended. With a terminal boris's end of that is OUT. */
enum { IN, OUT, ERR, DIR, PIPES };

struct exec {
	struct exec_report *report;  /* the owner's */
	struct exec *next;    /* in its list */
	struct proc_group group;  /* for proc_look() and proc_signal() */
	volatile pid_t *slot;  /* the guard's, for the group's number */
	int send;             /* a signal to be sent to the group; 0: none */
	int64_t started;      /* ms */
	int64_t deadline;     /* ms; of the grace, while stopping */
	int64_t look;         /* ms; when to look at the group again */
	int64_t pause;        /* ms from that look to the next; 0: before the
	                       * first one after the shell's end, 1: before
	                       * the first one after SIGTERM */
	bool terminal;
	bool unheld;          /* no program had it open at the last read */
	int64_t again;        /* ms; when to send a second signal, while
	                       * stopping */
	int64_t printed;      /* ms; of the last output; 0: none since the last
	                       * input */
	size_t line;          /* bytes of the unfinished line that was typed */
	int fd[PIPES];        /* our ends of its pipes; -1: none, or closed */
	int poll[PIPES];      /* their indexes in the poll set */
	struct output *text[PIPES];  /* where OUT and ERR go, the owner's; NULL:
	                              * what is read is dropped */
	struct queue input;   /* still to be written to its stdin, or typed */
	struct script script;
};

/* -- The start --------------------------------------------------------- */

static void
shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Opens the pipes, ours[] and theirs[]. 0, or -1 with errno; the caller closes
 * them in either case. Both ends of the directory's are non-blocking: if the
 * command has filled it, the trap does not wait. */
static int
open_pipes(struct exec_command *c, bool dir, int ours[], int theirs[])
{
	int i, end[2], us;

	if (c->terminal) {
		c->no_terminal = proc_terminal(end) < 0;
		if (c->no_terminal)
			return -1;
		ours[OUT] = end[0];
		theirs[OUT] = end[1];
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

/* Its pid, or -1 with errno */
static pid_t
start_shell(struct exec *x, const struct exec_command *c, char *pwd,
            const int theirs[])
{
	char *argv[ARGUMENTS] = { (char *)c->shell };
	char *text = x->script.args.data;
	int n = 1, fd[PIPES];
	struct proc_child child = {
		argv, c->env, c->dir, fd, x->script.fd, c->terminal, x->slot
	};
	pid_t pid;

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
		fd[IN] = fd[ERR] = fd[OUT];
	else if (c->input == NULL)
		fd[IN] = c->no_input;
	c->env[0] = pwd;
	pid = proc_start(&child);
	c->env[0] = "PWD=/";
	return pid;
}

static void
write_input(struct exec *x)
{
	/* EPIPE: it does not read it, which is no error (B5). */
	if (x->fd[IN] < 0 || (queue_flush(&x->input, x->fd[IN]) == 0 &&
	    queue_unwritten(&x->input) > 0))
		return;
	shut(&x->fd[IN]);
	queue_free(&x->input);
}

static void
write_typed(struct exec *x)
{
	/* EIO: it has hung up. */
	if (queue_flush(&x->input, x->fd[OUT]) < 0)
		queue_free(&x->input);
}

static void
reap(struct exec *x)
{
	if (x->report->lives && x->report->shell_ended)
		waitpid(x->report->pid, NULL, 0);
	x->report->lives = false;
	x->send = 0;
	x->look = NEVER;
	if (x->slot != NULL)
		*x->slot = 0;
	x->slot = NULL;
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
	for (i = 0; i < PIPES; i++)
		shut(&x->fd[i]);
	reap(x);
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
	int theirs[PIPES], i, error;
	pid_t pid = -1;

	if (x == NULL)
		return NULL;
	memset(report, 0, sizeof(*report));
	x->report = report;
	x->next = list->first;
	list->first = x;
	for (i = 0; i < PIPES; i++)
		x->fd[i] = x->poll[i] = theirs[i] = -1;
	script_write(&x->script, c->shell, c->text, c->len, c->tells_dir);
	buf_puts(&pwd, "PWD=");
	buf_put(&pwd, c->dir, strlen(c->dir) + 1);
	errno = ENOMEM;
	if (!x->script.args.failed && !pwd.failed &&
	    (c->guard == NULL || (x->slot = guard_slot(c->guard)) != NULL) &&
	    open_pipes(c, x->script.fd >= 0, x->fd, theirs) == 0)
		pid = start_shell(x, c, pwd.data, theirs);
	error = errno;
	for (i = 0; i < PIPES; i++)
		shut(&theirs[i]);
	buf_free(&x->script.args);
	buf_free(&pwd);
	if (pid < 0) {
		exec_free(list, x);
		errno = error;
		return NULL;
	}
	x->report->pid = x->group.id = pid;
	x->report->lives = x->report->open = true;
	x->terminal = c->terminal;
	x->text[OUT] = out;
	x->text[ERR] = err;
	x->started = now;
	x->deadline = x->look = x->again = NEVER;
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

/* One read. Returns the number of bytes; 0 at the end, and closes it; -1: there
 * is nothing now. A terminal gives EIO while no program has it open. It stays
 * open then: the shell may open it again, and closing it would hang it up. */
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
	x->unheld = x->terminal && n <= 0;
	if (x->unheld)
		return 0;
	if (n <= 0) {
		shut(&x->fd[which]);
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

	if (x->fd[DIR] >= 0)
		n = read(x->fd[DIR], text, sizeof(text));
	shut(&x->fd[DIR]);
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

/* -- The group --------------------------------------------------------- */

/* Has the leader ended? It stays a zombie for now (WNOWAIT, E3). */
static void
look_at_leader(struct exec *x)
{
	siginfo_t info;

	if (x->report->shell_ended || !x->report->lives)
		return;
	memset(&info, 0, sizeof(info));
	if (waitid(P_PID, (id_t)x->report->pid, &info,
	    WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return;
	x->report->shell_ended = true;
	x->look = 0;  /* at once */
	x->report->signalled = info.si_code != CLD_EXITED;
	x->report->status = x->report->signalled ? 128 + info.si_status
	    : info.si_status & 255;
}

static void
end(struct exec *x, int64_t now)
{
	if (x->report->state == EXEC_ENDED)
		return;
	take_rest(x, PIPE_FULL, now);
	show(x, x->terminal ? OUT : ERR, NULL, 0);
	take_dir(x);
	x->report->scattered = x->group.scattered;
	/* What was left running may hold the pipes (E4). They are read on, so
	 * that it is not blocked, and what comes is dropped. A terminal ends
	 * with its shell (I4). */
	x->text[OUT] = x->text[ERR] = NULL;
	if (x->terminal) {
		shut(&x->fd[OUT]);
		x->report->open = x->unheld = false;
	}
	/* What was left running reads end of file, as under any shell. */
	shut(&x->fd[IN]);
	queue_free(&x->input);
	script_free(&x->script);
	x->report->state = EXEC_ENDED;
	x->deadline = x->look = x->again = NEVER;
}

void
exec_stop(struct exec *x, bool at_once, int64_t now)
{
	enum exec_state state = at_once ? EXEC_KILLED : EXEC_STOPPING;

	if (!x->report->lives || x->report->state == EXEC_KILLED ||
	    x->report->state == state)
		return;
	x->report->state = state;
	x->send = at_once ? SIGKILL : SIGTERM;
	x->deadline = now + (at_once ? GIVE_UP : PROC_GRACE);
	/* With a trap bash puts SIGTERM off while it forks, and then waits for
	 * a child that has not got it: in a command's first moments mostly. */
	x->again = NEVER;
	if (!at_once && x->terminal)
		x->again = now + HANG_UP;
	else if (!at_once && x->fd[DIR] >= 0 && now - x->started < EARLY)
		x->again = now + AGAIN;
	x->look = now;
	x->pause = 1;
}

/* Acts on what a look at the group has found. A process that is just about to
 * end, or to get a session of its own, is not left running: before that is said
 * there is a second look (E4, B7). */
static void
looked(struct exec *x, bool lives, int64_t now)
{
	if (x->report->state == EXEC_RUNNING && lives && x->pause == 0) {
		x->pause = SETTLE;
		x->look = now + SETTLE;
		return;
	}
	if (x->report->state == EXEC_RUNNING || !lives)
		end(x, now);
	if (!lives) {
		reap(x);
		return;
	}
	x->look = NEVER;
	if (x->report->state == EXEC_ENDED)
		return;
	/* A child forked in the instant of the first SIGTERM has not seen it;
	 * after SIGKILL somebody may have forked. */
	if (x->report->state == EXEC_KILLED)
		x->send = SIGKILL;
	else if (x->pause == 1)
		x->send = SIGTERM;
	x->look = now + x->pause;
	x->pause = x->pause * 2 > LOOK_MOST ? LOOK_MOST : x->pause * 2;
}

static bool
is_due(const struct exec *x, int64_t now)
{
	return x->report->shell_ended && x->report->lives && now >= x->look;
}

/* Which of the groups left running (E4) still live is looked at every ten
 * seconds at most, and only when boris is awake anyway: it costs a walk through
 * /proc. */
static void
look_at_groups(struct exec_list *list, int64_t now)
{
	struct proc_group *due = NULL;
	struct exec *x;
	bool review = now >= list->review;

	for (x = list->first; x != NULL; x = x->next) {
		if (review && x->report->lives &&
		    x->report->state == EXEC_ENDED)
			x->look = now;
		if (!is_due(x, now))
			continue;
		x->group.young = now - x->started < SHORT_LIFE;
		x->group.next = due;
		due = &x->group;
	}
	if (review)
		list->review = now + REVIEW;
	if (due != NULL)
		proc_look(due);
	for (x = list->first; x != NULL; x = x->next) {
		if (is_due(x, now))
			looked(x, x->group.lives, now);
	}
}

static void
send_signals(struct exec_list *list, int sig)
{
	struct proc_group *due = NULL;
	struct exec *x;

	for (x = list->first; x != NULL; x = x->next) {
		if (x->send != sig || !x->report->lives)
			continue;
		x->send = 0;
		x->group.next = due;
		due = &x->group;
	}
	if (due != NULL)
		proc_signal(due, sig);
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
		    loop->now < x->started + QUIET;
		if (quiet)
			loop_until(loop, x->started + QUIET);
		events = x->terminal && queue_unwritten(&x->input) > 0
		    ? POLLIN | POLLOUT : POLLIN;
		x->poll[OUT] = loop_add(loop, quiet || x->unheld ? -1
		    : x->fd[OUT], events);
		x->poll[ERR] = loop_add(loop, quiet ? -1 : x->fd[ERR], POLLIN);
		x->poll[IN] = loop_add(loop, x->fd[IN], POLLOUT);
		loop_until(loop, x->send != 0 ? loop->now : x->deadline);
		loop_until(loop, x->again);
		if (x->unheld)
			loop_until(loop, loop->now + UNHELD_LOOK);
		if (x->report->shell_ended)
			loop_until(loop, x->look);
	}
}

/* Reads and writes what can be, and notes what has ended. */
static void
transfer(struct exec *x, const struct loop *loop)
{
	bool open = x->report->open;

	if (loop_events(loop, x->poll[OUT]) & POLLOUT)
		write_typed(x);
	if (x->unheld || (loop_events(loop, x->poll[OUT]) & ~POLLOUT) != 0)
		take(x, OUT, loop->now);
	if (loop_events(loop, x->poll[ERR]))
		take(x, ERR, loop->now);
	if (loop_events(loop, x->poll[IN]))
		write_input(x);
	if (loop->child)
		look_at_leader(x);
	/* When what was left running closes its last pipe, it mostly ends. */
	if (x->report->state == EXEC_ENDED && open && !x->report->open)
		x->look = loop->now + LOOK_AFTER_PIPE;
}

void
exec_dispatch(struct exec_list *list, const struct loop *loop)
{
	struct exec *x;

	for (x = list->first; x != NULL; x = x->next) {
		transfer(x, loop);
		if (loop->now >= x->again) {
			x->send = x->terminal ? SIGHUP : SIGTERM;
			x->again = NEVER;
		}
		if (loop->now < x->deadline)
			continue;
		if (x->report->state == EXEC_STOPPING) {
			exec_stop(x, true, loop->now);
		} else {
			/* It sleeps in the kernel, or is another user's: not
			 * even SIGKILL has ended it. */
			if (!x->report->shell_ended)
				x->report->status = 128 + SIGKILL;
			end(x, loop->now);
			reap(x);
		}
	}
	send_signals(list, SIGTERM);
	send_signals(list, SIGHUP);
	send_signals(list, SIGKILL);
	look_at_groups(list, loop->now);
}

void
exec_read(struct exec *x, int64_t now)
{
	take_rest(x, READ_SIZE / 8, now);  /* less than is kept of it */
	look_at_leader(x);
}

/* -- The terminal ------------------------------------------------------ */

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

/* The length of the unfinished line, once this text is typed behind it; more
 * than LINE_MOST: some line would be cut (I2). */
static size_t
typed_line(const struct termios *mode, size_t line, const struct buf *text)
{
	unsigned char c;
	size_t i;

	for (i = 0; i < text->len && line <= LINE_MOST; i++) {
		c = (unsigned char)text->data[i];
		if (ends_line(mode, c))
			line = 0;
		else if (c != mode->c_cc[VERASE])
			line++;
		else if (line > 0)
			line--;
	}
	return line;
}

int
exec_type(struct exec *x, const struct buf *text, bool *echoed)
{
	struct termios mode;
	struct buf *typed;
	size_t line = 0;

	errno = x->terminal ? EPIPE : ENOTTY;
	if (x->fd[OUT] < 0 || !x->terminal ||
	    tcgetattr(x->fd[OUT], &mode) < 0)
		return -1;
	if (mode.c_lflag & ICANON)
		line = typed_line(&mode, x->line, text);
	errno = line > LINE_MOST ? E2BIG : ENOBUFS;
	if (line > LINE_MOST ||
	    queue_unwritten(&x->input) + text->len > TYPED_MOST)
		return -1;
	/* A program that reads single keys mostly prints them itself. */
	*echoed = !(mode.c_lflag & ICANON) || (mode.c_lflag & ECHO);
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
	x->printed = 0;
	write_typed(x);
	return 0;
}

bool
exec_reads_keys(const struct exec *x)
{
	struct termios mode;

	return x->terminal && x->fd[OUT] >= 0 &&
	    tcgetattr(x->fd[OUT], &mode) == 0 && !(mode.c_lflag & ICANON);
}

int64_t
exec_asks(const struct exec *x, int64_t now, bool *secret)
{
	struct termios mode;

	*secret = false;
	if (!x->terminal || x->fd[OUT] < 0 || x->unheld ||
	    x->printed == 0 || now < x->printed + SILENCE ||
	    queue_unwritten(&x->input) > 0 ||
	    tcgetattr(x->fd[OUT], &mode) < 0)
		return 0;
	*secret = (mode.c_lflag & (ICANON | ECHO)) == ICANON;
	if ((mode.c_lflag & ICANON) && !*secret &&
	    !output_within_line(x->text[OUT]))
		return 0;
	return x->printed;
}
