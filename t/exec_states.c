/* t/exec_states: the states of a command (exec.c) in every order of what may
 * happen to it, seven steps deep, with processes that heed signals or don't. No
 * process is begun: what exec.c calls is answered by a small world below, which
 * knows whose number is whose. What E1 to E4 and L1 promise is a row each. */

#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static ssize_t world_read(int fd, void *bytes, size_t n);
#define read world_read
#define fd_close world_close
#define proc_pipe world_pipe
#define proc_start world_start
#define proc_ended world_ended
#define proc_reap world_reap
#define proc_poll world_poll
#define proc_signal world_signal
#include "../exec.c"
#undef read

enum { DEPTH = 6, START = 1234567, SLACK = 33 };  /* ms that a poll is late */

enum step { SHELL_ENDS, OTHERS_END, TIME, STOP, PIPES_CLOSE, POLLS_FAIL, STEPS };
static const char *const step_name[] = {
	"the shell ends", "the others end", "time passes", "stop",
	"the pipes close", "polls fail, or do so no more"
};

enum promise { ONCE, OURS, ENDS, SOON, LEFT, TRUE_ORPHANS, GRACE, KILLED,
	REAPED, RESTS, PROMISES };
static const char *const promise_name[] = {
	"E2: it ends once, and prints nothing after that",
	"E3: nobody is signalled, polled or reaped whose number is not ours",
	"E2: there is no order without an end, once its shell has or it is stopped",
	"E2: it ends as soon as its group is gone",
	"E4: it ends when its shell does, whatever it leaves running",
	"E4: what it left running is said only where it was seen",
	"E2: SIGTERM comes first, SIGKILL not before the grace is over",
	"E2: what the grace does not end is killed",
	"E3: its leader is reaped once, and last",
	"P6: nothing is due again and again"
};
static const char *broken[PROMISES];

/* One command, as the kernel sees it */
static struct {
	bool heeds_term, others_heed, unkillable;
	bool shell, others;      /* they live */
	bool child;              /* SIGCHLD has come */
	bool reaped, closed, fails;
	bool found_living;       /* by the last poll that was answered */
	int ends, prints;
	int64_t now, stopped, killed, gone;  /* ms; 0: not yet */
	struct proc_group group;
	enum step order[DEPTH];
	int steps;
} w;

static void
must(bool ok, enum promise which)
{
	int i;

	if (ok || broken[which] != NULL)
		return;
	broken[which] = "";
	printf("broken: %s\n", promise_name[which]);
	for (i = 0; i < w.steps; i++)
		printf("        %s\n", step_name[w.order[i]]);
	printf("        (the shell %s SIGTERM, the others %s, SIGKILL %s)\n",
	    w.heeds_term ? "heeds" : "ignores",
	    w.others_heed ? "do" : "do not",
	    w.unkillable ? "ends nobody" : "ends all");
}

/* -- What exec.c calls ------------------------------------------------- */

static ssize_t
world_read(int fd, void *bytes, size_t n)
{
	(void)fd;
	(void)bytes;
	(void)n;
	if (w.closed)
		return 0;
	errno = EAGAIN;
	return -1;
}

void
world_close(int *fd)
{
	*fd = -1;
}

static void
note_gone(void)
{
	if (!w.shell && !w.others && w.gone == 0)
		w.gone = w.now;
}

static void
end_shell(void)
{
	w.child = w.child || w.shell;
	w.shell = false;
	note_gone();
}

static void
end_others(void)
{
	w.others = false;
	note_gone();
}

struct proc_group *
guard_group(struct guard *g)
{
	(void)g;
	memset(&w.group, 0, sizeof(w.group));
	return &w.group;
}

bool
guard_visible(const struct guard *g)
{
	(void)g;
	return true;
}

void
guard_share(struct guard *g, int fd)
{
	(void)g;
	(void)fd;
}

void
guard_reap(struct guard *g)
{
	(void)g;
}

int
world_pipe(int end[2], int ours)
{
	(void)ours;
	end[0] = 100;
	end[1] = 101;
	return 0;
}

int
world_start(const struct proc_child *c, struct proc_group *g)
{
	(void)c;
	g->id = 4711;
	return 0;
}

bool
world_ended(pid_t pid, int *status, bool *signalled)
{
	must(pid == 4711 && !w.reaped, OURS);
	*status = 0;
	*signalled = false;
	return !w.shell;
}

void
world_reap(pid_t pid)
{
	must(pid == 4711 && !w.reaped && !w.shell, REAPED);
	must(!w.others || w.unkillable, REAPED);
	w.reaped = true;
}

void
world_poll(struct proc_group *list, bool visible, bool parent, int64_t now)
{
	(void)visible;
	(void)parent;
	(void)now;
	must(list->id == 4711 && list->next == NULL && !w.reaped && !w.shell,
	    OURS);
	list->found = w.fails ? PROC_UNKNOWN : w.others ? PROC_LIVES
	    : PROC_GONE;
	w.found_living = list->found == PROC_LIVES;
	list->led = list->elsewhere = false;
}

void
world_signal(struct proc_group *list)
{
	int sig = list->send;

	must(list->id == 4711 && list->next == NULL && !w.reaped, OURS);
	list->send = 0;
	if (sig == SIGKILL) {
		must(w.stopped > 0 && w.now >= w.stopped + PROC_GRACE, GRACE);
		w.killed = w.killed > 0 ? w.killed : w.now;
		if (!w.unkillable) {
			end_shell();
			end_others();
		}
		return;
	}
	must(sig == SIGTERM && w.killed == 0, GRACE);
	w.stopped = w.stopped > 0 ? w.stopped : w.now;
	if (w.heeds_term)
		end_shell();
	if (w.others_heed)
		end_others();
}

void
output_write(struct output *text, const void *bytes, size_t n)
{
	(void)text;
	(void)bytes;
	w.prints += n > 0;
}

bool
output_within_line(const struct output *text)
{
	(void)text;
	return false;
}

/* -- One order --------------------------------------------------------- */

struct play {
	struct exec_list list;
	struct exec_report report;
	struct exec *exec;
	struct loop loop;
	bool ended;
};

static void
begin(struct play *p)
{
	struct exec_command c;

	memset(p, 0, sizeof(*p));
	memset(&c, 0, sizeof(c));
	c.shell = "/bin/sh";
	c.text = "x";
	c.len = 1;
	c.dir = "/";
	c.env = (char *[]){ "PWD=/", NULL };
	w.now = START;
	p->exec = exec_start(&p->list, &c, &p->report, NULL, NULL, w.now);
	if (p->exec == NULL)
		abort();
}

/* A turn of the loop at w.now */
static void
turn(struct play *p)
{
	int i;

	loop_begin(&p->loop);
	p->loop.now = w.now;
	exec_poll_add(&p->list, &p->loop);
	for (i = 0; i < p->loop.count; i++)
		p->loop.set[i].revents = w.closed ? POLLHUP : 0;
	p->loop.child = w.child;
	w.child = false;
	exec_dispatch(&p->list, &p->loop);
	w.ends += p->report.ended && !p->ended;
	must(p->report.ended || !p->ended, ONCE);
	if (p->report.ended && !p->ended) {
		must(p->report.shell_ended || w.unkillable, ONCE);
		/* Who is stopped waits for all, who is not for the shell. */
		must(!p->report.orphans || w.found_living, TRUE_ORPHANS);
		must(w.stopped == 0 || w.gone > 0 || w.unkillable, ENDS);
	}
	p->ended = p->report.ended;
}

/* Until the next moment for which exec.c asks; false: there is none before
 * `end`. */
static bool
pass_time(struct play *p, int64_t end)
{
	loop_begin(&p->loop);
	p->loop.now = w.now;
	exec_poll_add(&p->list, &p->loop);
	if (p->loop.until > end)
		return false;
	if (p->loop.until > w.now)
		w.now = p->loop.until;
	turn(p);
	return true;
}

/* All turns that are due at this moment. */
static void
settle(struct play *p)
{
	int turns = 0;

	do {
		turn(p);
		loop_begin(&p->loop);
		p->loop.now = w.now;
		exec_poll_add(&p->list, &p->loop);
		must(++turns < 20, RESTS);
	} while ((p->loop.until <= w.now || w.child) && turns < 20);
}

static void
take_step(struct play *p, enum step step)
{
	switch (step) {
	case SHELL_ENDS:
		end_shell();
		break;
	case OTHERS_END:
		end_others();
		break;
	case TIME:
		pass_time(p, NEVER - 1);
		break;
	case STOP:
		exec_stop(p->exec, w.now);
		break;
	case PIPES_CLOSE:
		w.closed = true;
		break;
	case POLLS_FAIL:
		w.fails = !w.fails;
		break;
	case STEPS:
		break;
	}
	settle(p);
}

/* Lets time pass until nothing is due, or orphans alone are watched. */
static void
let_pass(struct play *p, int64_t until)
{
	int turns = 0;

	while (turns < 5000 && pass_time(p, until)) {
		settle(p);
		turns++;
	}
	must(turns < 5000, RESTS);
	w.now = until;
}

static void
play(void)
{
	struct play p;
	bool stopped;
	int i;

	begin(&p);
	for (i = 0; i < w.steps; i++)
		take_step(&p, w.order[i]);
	w.fails = false;
	stopped = p.report.state == EXEC_STOPPING ||
	    p.report.state == EXEC_KILLED;
	let_pass(&p, w.now + SETTLE + SLACK);
	must(!w.shell || !p.report.ended || w.unkillable, ONCE);
	must(w.shell || stopped || p.report.ended, LEFT);
	must(w.gone == 0 || p.report.ended, SOON);
	let_pass(&p, w.now + PROC_GRACE + PROC_GIVE_UP + SLACK);
	must(w.shell || p.report.ended, ENDS);
	must(!stopped || (p.report.ended && p.report.state == EXEC_GONE), ENDS);
	must(!stopped || w.killed > 0 || w.gone > 0, KILLED);
	must(w.ends <= 1, ONCE);
	let_pass(&p, w.now + REVIEW + SLACK);
	must(w.gone == 0 || w.unkillable || (p.report.state == EXEC_GONE &&
	    w.reaped && w.group.id == 0), REAPED);
	exec_free(&p.list, p.exec);
	free(p.report.dir);
	loop_free(&p.loop);
}

/* The next order of w.steps steps; false: that was the last one. */
static bool
next_order(void)
{
	int i;

	for (i = 0; i < w.steps; i++) {
		if (++w.order[i] < STEPS)
			return true;
		w.order[i] = 0;
	}
	return false;
}

int
main(void)
{
	enum step order[DEPTH] = { 0 };
	long orders = 0;
	int world, steps, i, bad = 0;

	for (world = 0; world < 8; world++) {
		for (steps = 0; steps <= DEPTH; steps++) {
			memset(order, 0, sizeof(order));
			do {
				memset(&w, 0, sizeof(w));
				memcpy(w.order, order, sizeof(order));
				w.steps = steps;
				w.heeds_term = world & 1;
				w.others_heed = world & 2;
				w.unkillable = world & 4;
				w.shell = w.others = true;
				play();
				memcpy(w.order, order, sizeof(order));
				orders++;
			} while (next_order() &&
			    memcpy(order, w.order, sizeof(order)));
		}
	}
	for (i = 0; i < PROMISES; i++)
		bad += broken[i] != NULL;
	printf("%ld orders\n%d passed, %d failed\n", orders, PROMISES - bad, bad);
	return bad > 0;
}
