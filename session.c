#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec.h"
#include "limits.h"
#include "proc.h"
#include "spool.h"

enum {
	TEXT_KEPT = 800  /* bytes of a command, while and after it runs (T7) */
};

/* A job and what only the session sees of it; the rooms above have a pointer to
 * the first member. It is there as long as it waits or runs, has something to
 * tell, is a result kept for its reader, or has left something running (E4). */
struct held_job {
	struct job job;
	struct held_job *next, *previous;  /* in the order in which they came */
	char id[SESSION_ID];     /* its task's, once it is one */
	int64_t deadline;        /* ms; of its timeout */
	bool cancelled;          /* nobody wants to hear of it */
	bool news;               /* its call is to be told something */
	bool kept;               /* a finished task that nobody has read */
	struct exec *exec;       /* until nothing of it remains; or NULL */
	struct exec_report report;  /* how it stands, once started */
};

struct session {
	const struct session_options *options;
	bool stateless;          /* no tracked directory, side by side (H6) */
	bool closing;
	char name[25];           /* its files': the process's and its own */
	char *dir;               /* the tracked directory */
	struct spool spool;
	struct held_job *first, *last;
	int running, tasks, kept;  /* how many of them are that */
	struct exec_list execs;  /* theirs */
	size_t queued;           /* bytes held by those that wait */
};

/* -- Jobs -------------------------------------------------------------- */

void
job_request_free(struct job_request *asked)
{
	buf_free(&asked->text);
	buf_free(&asked->input);
	buf_free(&asked->description);
	free(asked->cwd);
	memset(asked, 0, sizeof(*asked));
}

static void
free_output(struct held_job *h)
{
	output_free(h->job.out.text);
	output_free(h->job.err.text);
	h->job.out.text = h->job.err.text = NULL;
}

static void
drop(struct session *s, struct held_job *h)
{
	*(h->previous != NULL ? &h->previous->next : &s->first) = h->next;
	*(h->next != NULL ? &h->next->previous : &s->last) = h->previous;
	exec_free(&s->execs, h->exec);
	free_output(h);
	job_request_free(&h->job.asked);
	free(h->job.dir);
	free(h->report.dir);
	free(h);
}

static size_t
job_bytes(const struct held_job *h)
{
	const struct job_request *r = &h->job.asked;

	return sizeof(*h) + r->text.cap + r->input.cap +
	    (r->cwd != NULL ? strlen(r->cwd) : 0);
}

/* A finished job that has nothing to tell loses its output; with nothing left
 * running it goes itself. */
static void
drop_if_done(struct session *s, struct held_job *h)
{
	if (h->job.state != JOB_FINISHED || h->news || h->kept)
		return;
	free_output(h);
	if (h->exec == NULL)
		drop(s, h);
}

static void
refuse(struct held_job *h, enum job_refused why)
{
	h->job.refused = why;
	h->job.state = JOB_FINISHED;
	h->news = true;
}

static void
set_dir(char **at, char *dir)
{
	free(*at);
	*at = dir;
}

/* -- The directory ----------------------------------------------------- */

void
session_tidy(char *path)
{
	size_t len = 0, part;
	const char *p;

	for (p = path; *p != '\0'; p += part) {
		part = strcspn(p, "/");
		if (part == 0) {
			part = 1;
		} else if (part == 2 && p[0] == '.' && p[1] == '.') {
			while (len > 0 && path[--len] != '/')
				;
		} else if (part != 1 || p[0] != '.') {
			path[len++] = '/';
			memmove(path + len, p, part);
			len += part;
		}
	}
	if (len == 0)
		path[len++] = '/';
	path[len] = '\0';
}

/* Where `cd name` leads to from the tracked directory; NULL: no memory. */
static char *
resolve(const struct session *s, const char *name)
{
	struct buf b = { NULL, 0, 0, false };

	if (name[0] == '/')
		buf_puts(&b, name);
	else
		buf_add(&b, s->dir, "/", name);
	buf_putc(&b, '\0');
	if (b.failed)
		buf_free(&b);
	else
		session_tidy(b.data);
	return b.data;
}

static bool
enterable(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	    access(dir, X_OK) == 0;
}

/* The directory that was tried, by `cwd` or as the tracked one, can't be
 * entered. If the latter has gone, --workdir takes its place (D5). */
static void
refuse_dir(struct session *s, struct held_job *h, const char *tried)
{
	const char *cwd = h->job.asked.cwd, *to = s->options->workdir;
	char *dir;

	h->job.refused = JOB_NO_DIR;
	set_dir(&h->job.dir, strdup(tried));
	if (s->stateless ||
	    (cwd != NULL && (cwd[0] == '/' || enterable(s->dir))))
		return;
	h->job.refused = JOB_LOST_DIR;
	dir = strdup(enterable(to) ? to : "/");
	if (dir == NULL)
		return;  /* the next command says so again */
	set_dir(&h->job.dir, s->dir);
	s->dir = dir;
}

/* The shell of a foreground command says where it ended (D1). */
static void
track_dir(struct session *s, struct held_job *h)
{
	const char *dir = h->report.dir;
	char *copy;

	if (dir == NULL || s->stateless || h->job.timed_out ||
	    h->job.killed || h->cancelled || strcmp(dir, s->dir) == 0)
		return;
	copy = strdup(dir);
	h->job.moved = copy != NULL;
	if (copy != NULL)
		set_dir(&s->dir, copy);
}

/* -- The end of a command ---------------------------------------------- */

/* Too many have finished unread: those that ended first are forgotten. */
static void
forget_oldest(struct session *s)
{
	struct held_job *h, *oldest;

	while (s->kept > UNREAD_MOST) {
		oldest = NULL;
		for (h = s->first; h != NULL; h = h->next) {
			if (h->kept && (oldest == NULL ||
			    h->job.ended < oldest->job.ended))
				oldest = h;
		}
		if (oldest == NULL)
			return;
		session_forget(s, &oldest->job);
	}
}

static void
finish(struct session *s, struct held_job *h, int64_t now)
{
	const struct exec_report *end = &h->report;
	bool task = h->job.state == JOB_TASK;

	h->job.exit_code = end->status;
	/* On a terminal Ctrl-C may have been typed, or Ctrl-\. */
	h->job.shot = end->signalled && !h->job.timed_out && !h->job.killed &&
	    !(h->job.asked.terminal &&
	    (end->status == 128 + SIGINT || end->status == 128 + SIGQUIT));
	h->job.orphans = end->lives ? end->pid : 0;
	h->job.scattered = end->scattered;
	h->job.ended = now;
	h->job.state = JOB_FINISHED;
	memcpy(h->job.pipeline, end->pipeline, sizeof(h->job.pipeline));
	if (task && h->job.killed)
		h->job.asked.truncate = TRUNCATE_LOOK;  /* T4 */
	output_end(h->job.out.text);
	output_end(h->job.err.text);
	if (task) {
		s->tasks--;
		/* If not even its start has been told, then after that. */
		h->kept = !h->news;
		s->kept += h->kept;
		return;
	}
	s->running--;
	track_dir(s, h);
	set_dir(&h->job.dir, strdup(s->dir));
	h->news = !h->cancelled;
}

/* What an ended command left running, or what holds its pipes, is ended with
 * the session. */
static void
check_rest(struct session *s, struct held_job *h, int64_t now)
{
	const struct exec_report *left = &h->report;

	if (!left->lives && !left->open) {
		exec_free(&s->execs, h->exec);
		h->exec = NULL;
	} else if (s->closing && left->state == EXEC_ENDED) {
		exec_stop(h->exec, false, now);
	}
}

/* -- The start --------------------------------------------------------- */

/* Of its own limit and the server's the earlier counts (T5, W4). */
static void
become_task(struct session *s, struct held_job *h, int64_t now)
{
	int64_t limit = s->options->bg_timeout;
	int64_t own = h->job.asked.background ? h->job.asked.timeout : 0;

	memcpy(h->job.id, h->id, sizeof(h->id));
	h->job.state = JOB_TASK;
	h->job.by_server = limit > 0 && (own == 0 || limit < own);
	if (!h->job.by_server)
		limit = own;
	h->deadline = limit > 0 ? now + limit : NEVER;
	h->news = !h->cancelled;
	s->tasks++;
}

/* What a job needs before its shell is begun; 0, or -1 with errno */
static int
prepare(struct session *s, struct held_job *h)
{
	if ((h->job.asked.background || s->options->background) &&
	    !proc_random(h->id, (SESSION_ID - 1) / 2))
		return -1;
	errno = ENOMEM;
	h->job.out.text = output_new(&s->spool);
	h->job.err.text = output_new(&s->spool);
	return h->job.out.text == NULL || h->job.err.text == NULL ? -1 : 0;
}

static void
start(struct session *s, struct held_job *h, int64_t now)
{
	const struct session_options *o = s->options;
	struct job_request *asked = &h->job.asked;
	struct exec_command command;
	char *dir = asked->cwd != NULL ? resolve(s, asked->cwd)
	    : strdup(s->dir);

	memset(&command, 0, sizeof(command));
	command.shell = o->shell;
	command.text = asked->text.data;
	command.len = asked->text.len;
	command.dir = dir;
	command.env = asked->terminal ? o->terminal_env : o->env;
	command.terminal = asked->terminal;
	command.tells_dir = !asked->background && !s->stateless;
	command.no_input = o->no_input;
	command.guard = o->guard;
	command.input = asked->has_input ? &asked->input : NULL;
	if (dir != NULL && prepare(s, h) == 0)
		h->exec = exec_start(&s->execs, &command, &h->report,
		    h->job.out.text, h->job.err.text, now);
	if (h->exec == NULL) {
		h->job.error = errno;
		refuse(h, command.no_terminal ? JOB_NO_TERMINAL
		    : JOB_NO_START);
		if (dir != NULL && !enterable(dir))
			refuse_dir(s, h, dir);
	}
	free(dir);
	if (h->exec == NULL)
		return;
	if (asked->text.len > TEXT_KEPT)
		asked->text.len = TEXT_KEPT;  /* for the list of tasks */
	buf_shrink(&asked->text);
	h->job.pid = h->report.pid;
	h->job.started = now;
	if (asked->background) {
		become_task(s, h, now);
		return;
	}
	h->job.state = JOB_RUNNING;
	h->deadline = now + asked->timeout;
	s->running++;
}

/* The queue moves on, in order; foreground commands one by one (P7). */
static void
start_next(struct session *s, int64_t now)
{
	int most = s->stateless ? SESSION_ASIDE : 1;
	struct held_job *h;

	for (h = s->first; h != NULL; h = h->next) {
		if (h->job.state != JOB_QUEUED)
			continue;
		if (s->running == most && !s->closing &&
		    !(h->job.asked.background && s->stateless))
			return;
		s->queued -= job_bytes(h);
		if (s->closing)
			refuse(h, JOB_CLOSED);
		else if (h->job.asked.background && s->tasks == TASKS_MOST)
			refuse(h, JOB_TOO_MANY);
		else
			start(s, h, now);
	}
}

/* -- Time -------------------------------------------------------------- */

/* With --on-timeout=background a foreground command becomes a task, if there is
 * room (E5). Otherwise it is terminated, and so is a task (T5). */
static void
time_out(struct session *s, struct held_job *h, int64_t now)
{
	bool hand_over = s->options->background && h->job.state == JOB_RUNNING;

	if (h->report.shell_ended) {
		h->deadline = NEVER;  /* it was in time (E4) */
		return;
	}
	if (hand_over && s->tasks < TASKS_MOST) {
		s->running--;
		become_task(s, h, now);
		return;
	}
	h->deadline = NEVER;
	h->job.no_room = hand_over;
	h->job.timed_out = true;
	exec_stop(h->exec, false, now);
}

static void
check_job(struct session *s, struct held_job *h, int64_t now)
{
	enum exec_state state = h->report.state;

	if (h->job.state != JOB_FINISHED && state == EXEC_ENDED)
		finish(s, h, now);
	if (h->job.state == JOB_FINISHED)
		check_rest(s, h, now);
	else if (now >= h->deadline && state == EXEC_RUNNING)
		time_out(s, h, now);
}

/* -- The session ------------------------------------------------------- */

struct session *
session_open(const struct session_options *options, bool stateless)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->options = options;
	s->stateless = stateless;
	spool_init(&s->spool, options->tmpdir, s->name, options->save_limit);
	s->dir = strdup(options->workdir);
	memcpy(s->name, options->name, 16);
	if (s->dir == NULL || !proc_random(s->name + 16, 4)) {
		session_free(s);
		return NULL;
	}
	return s;
}

void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	while (s->first != NULL)
		drop(s, s->first);
	spool_free(&s->spool);
	free(s->dir);
	free(s);
}

struct job *
session_run(struct session *s, struct job_request *asked, void *call)
{
	struct held_job *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->job.asked = *asked;
	memset(asked, 0, sizeof(*asked));
	h->job.call = call;
	h->previous = s->last;
	*(s->last != NULL ? &s->last->next : &s->first) = h;
	s->last = h;
	s->queued += job_bytes(h);
	return &h->job;
}

struct job *
session_next(struct session *s)
{
	struct held_job *h = s->first;

	while (h != NULL && !h->news)
		h = h->next;
	return h != NULL ? &h->job : NULL;
}

void
session_release(struct session *s, struct job *job)
{
	struct held_job *h = (struct held_job *)job;

	job->call = NULL;
	h->news = false;
	h->kept = job->state == JOB_FINISHED && job->id[0] != '\0';
	s->kept += h->kept;
	drop_if_done(s, h);
}

void
session_cancel(struct session *s, struct job *job, int64_t now)
{
	struct held_job *h = (struct held_job *)job;

	job->call = NULL;
	h->cancelled = true;
	h->deadline = NEVER;
	if (job->state == JOB_QUEUED) {
		s->queued -= job_bytes(h);
		drop(s, h);
	} else if (h->exec != NULL) {
		exec_stop(h->exec, false, now);
	}
}

void
session_read(struct job *job, int64_t now)
{
	struct held_job *h = (struct held_job *)job;

	if (h->exec != NULL)
		exec_read(h->exec, now);
}

/* -- Tasks ------------------------------------------------------------- */

/* The newest first: the pid of an ended task may be that of a newer one. */
struct job *
session_task(struct session *s, const struct buf *id, int64_t pid)
{
	struct held_job *h = s->last;

	for (; h != NULL; h = h->previous) {
		if ((h->job.state == JOB_TASK || h->kept) && (id->len == 0
		    ? h->job.pid == pid : id->len == SESSION_ID - 1 &&
		    memcmp(h->id, id->data, id->len) == 0))
			return &h->job;
	}
	return NULL;
}

struct job *
session_next_task(struct session *s, const struct job *after)
{
	struct held_job *h = after == NULL ? s->first
	    : ((const struct held_job *)after)->next;

	while (h != NULL && h->job.state != JOB_TASK && !h->kept)
		h = h->next;
	return h != NULL ? &h->job : NULL;
}

void
session_kill(struct job *job, int64_t now)
{
	struct held_job *h = (struct held_job *)job;

	if (job->state != JOB_TASK)
		return;
	job->killed = job->killed || !h->report.shell_ended;
	h->deadline = NEVER;
	exec_stop(h->exec, false, now);
}

int
session_type(struct job *job, const struct buf *text, bool *echoed)
{
	struct held_job *h = (struct held_job *)job;

	if (job->asked.terminal && job->state == JOB_TASK)
		return exec_type(h->exec, text, echoed);
	errno = job->asked.terminal ? EPIPE : ENOTTY;
	return -1;
}

int64_t
session_asks(const struct job *job, int64_t now, bool *secret)
{
	const struct held_job *h = (const struct held_job *)job;

	*secret = false;
	return job->state == JOB_TASK ? exec_asks(h->exec, now, secret) : 0;
}

void
session_forget(struct session *s, struct job *job)
{
	struct held_job *h = (struct held_job *)job;

	s->kept -= h->kept;
	h->kept = false;
	drop_if_done(s, h);
}

const char *
session_dir(const struct session *s)
{
	return s->dir;
}

bool
session_stateless(const struct session *s)
{
	return s->stateless;
}

const char *
session_shell(const struct session *s)
{
	return s->options->shell;
}

size_t
session_queued(const struct session *s)
{
	return s->queued;
}

/* -- Turns ------------------------------------------------------------- */

void
session_poll_add(struct session *s, struct loop *loop)
{
	struct held_job *h;

	exec_poll_add(&s->execs, loop);
	if (s->kept > UNREAD_MOST)
		loop_until(loop, loop->now);
	for (h = s->first; h != NULL; h = h->next) {
		if (h->job.state == JOB_RUNNING || h->job.state == JOB_TASK)
			loop_until(loop, h->deadline);
		if (h->news || (h->job.state == JOB_QUEUED && s->running == 0))
			loop_until(loop, loop->now);
	}
}

void
session_dispatch(struct session *s, const struct loop *loop)
{
	struct held_job *h, *next;

	/* Not right after the end of a task: if it is being waited for, it has
	 * been read by now, and another result need not go for it. */
	forget_oldest(s);
	exec_dispatch(&s->execs, loop);
	for (h = s->first; h != NULL; h = next) {
		next = h->next;
		if (h->exec != NULL) {
			check_job(s, h, loop->now);
			drop_if_done(s, h);
		}
	}
	start_next(s, loop->now);
}

void
session_close(struct session *s, int64_t now, bool at_once)
{
	struct held_job *h;

	for (h = s->first; h != NULL; h = h->next) {
		h->job.killed = h->job.killed ||
		    ((h->job.state == JOB_RUNNING || h->job.state == JOB_TASK) &&
		    !h->report.shell_ended);
		h->deadline = NEVER;
		if (h->exec != NULL)
			exec_stop(h->exec, at_once || s->closing, now);
	}
	s->closing = true;
	start_next(s, now);
}

bool
session_closed(const struct session *s)
{
	const struct held_job *h;

	for (h = s->first; h != NULL; h = h->next) {
		if (h->news || (h->exec != NULL && h->report.lives))
			return false;
	}
	return s->closing && s->running == 0 && s->tasks == 0;
}
