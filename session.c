#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec.h"
#include "limits.h"
#include "path.h"
#include "proc.h"
#include "records.h"
#include "spool.h"

enum {
	TEXT_KEPT = 800,  /* bytes of a command, while and after it runs (T7) */
	DUE_SOON = 10000  /* ms (K2) */
};

struct session {
	const struct session_options *options;
	bool stateless;          /* no tracked directory, side by side (H6) */
	bool closing;
	bool recorded;           /* its beginning is in the log */
	bool begun;              /* a result has named its directory (K4) */
	bool cancelled;          /* the last foreground command was (B7) */
	bool edited;             /* in this turn: the next edit waits (P6) */
	char name[SECRET_SESSION + 1];  /* its files', in part the process's */
	struct log_session log;
	struct secret_place secrets;
	int64_t calls;           /* commands that were started, or tried to */
	char *dir;               /* the tracked directory */
	uint32_t last_id;        /* of a task */
	struct spool spool;
	struct job *first, *last;
	struct exec_list execs;  /* theirs */
	size_t queued;           /* bytes held by those that wait */
};

/* -- Jobs -------------------------------------------------------------- */

static int
count(const struct session *s, enum job_state state)
{
	const struct job *job;
	int n = 0;

	for (job = s->first; job != NULL; job = job->own.next)
		n += job->state == state;
	return n;
}

static void
drop(struct session *s, struct job *job)
{
	*(job->own.previous != NULL ? &job->own.previous->own.next
	    : &s->first) = job->own.next;
	*(job->own.next != NULL ? &job->own.next->own.previous
	    : &s->last) = job->own.previous;
	secret_close(job, false);
	exec_free(&s->execs, job->own.exec);
	job_free(job);
}

static size_t
job_bytes(const struct job *job)
{
	const struct job_request *r = &job->asked;

	return sizeof(*job) + r->text.cap + r->input.cap + r->client.cap +
	    (r->edit != NULL ? r->edit->old.cap + r->edit->new.cap : 0) +
	    (r->cwd != NULL ? strlen(r->cwd) : 0);
}

/* Is it a finished task that nobody has read? */
static bool
is_unread(const struct job *job)
{
	return job->state == JOB_FINISHED && job_is_task(job) &&
	    !job->own.read;
}

static void
free_output(struct job *job)
{
	output_free(job->out.text);
	output_free(job->err.text);
	job->out.text = job->err.text = NULL;
}

/* A finished job that nobody holds or will read loses its output; with nothing
 * left running it goes itself. */
static void
drop_if_done(struct session *s, struct job *job)
{
	if (job->state != JOB_FINISHED || job->own.holders > 0 ||
	    is_unread(job))
		return;
	free_output(job);
	if (job->own.exec == NULL)
		drop(s, job);
}

static void
refuse(struct job *job, enum job_refused why)
{
	job->refused = why;
	job->state = JOB_FINISHED;
}

static void
set_dir(char **at, char *dir)
{
	free(*at);
	*at = dir;
}

/* -- The directory ----------------------------------------------------- */

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
refuse_dir(struct session *s, struct job *job, const char *tried)
{
	const char *cwd = job->asked.cwd, *to = s->options->workdir;
	char *dir;

	job->refused = JOB_NO_DIR;
	set_dir(&job->dir, strdup(tried));
	if (s->stateless ||
	    (cwd != NULL && (cwd[0] == '/' || enterable(s->dir))))
		return;
	job->refused = JOB_LOST_DIR;
	dir = strdup(enterable(to) ? to : "/");
	if (dir == NULL)
		return;  /* the next command says so again */
	set_dir(&job->dir, s->dir);
	s->dir = dir;
}

/* The shell of a foreground command says where it ended (D1). */
static void
track_dir(struct session *s, struct job *job)
{
	const char *dir = job->end.dir;

	if (dir == NULL || s->stateless || job->timed_out ||
	    job->killed || job->own.cancelled || strcmp(dir, s->dir) == 0)
		return;
	set_dir(&s->dir, job->end.dir);
	job->end.dir = NULL;
	job->tells_dir = true;
}

/* -- The end of a command ---------------------------------------------- */

/* Of tasks that have finished unread so many are kept; those that ended first
 * are forgotten, unless a call holds them. */
static void
forget_oldest(struct session *s)
{
	struct job *job, *oldest;
	int unread;

	do {
		oldest = NULL;
		unread = 0;
		for (job = s->first; job != NULL; job = job->own.next) {
			if (!is_unread(job) || job->own.holders > 0)
				continue;
			unread++;
			if (oldest == NULL || job->ended < oldest->ended)
				oldest = job;
		}
		if (unread > UNREAD_MOST) {
			oldest->own.read = true;
			drop_if_done(s, oldest);
		}
	} while (unread > UNREAD_MOST + 1);
}

static void
finish(struct session *s, struct job *job, int64_t now)
{
	bool task = job->state == JOB_TASK;

	secret_close(job, false);
	job->ended = now;
	job->state = JOB_FINISHED;
	if (task && job->killed)
		job->asked.bounds.how = TRUNCATE_LOOK;  /* T4 */
	output_end(job->out.text);
	output_end(job->err.text);
	record_end(&s->log, job, now);
	if (task)
		return;
	track_dir(s, job);
	s->cancelled = job->own.cancelled;
	/* So does the first result of the session (K4). */
	job->tells_dir |= job->timed_out || (!s->begun && !s->stateless);
	s->begun = true;
	set_dir(&job->dir, strdup(s->dir));
}

/* What an ended command left running, or what holds its pipes, is ended with
 * the session. */
static void
check_rest(struct session *s, struct job *job, int64_t now)
{
	const struct exec_report *left = &job->end;

	if (left->state == EXEC_GONE && !left->open) {
		exec_free(&s->execs, job->own.exec);
		job->own.exec = NULL;
	} else if (s->closing && left->state == EXEC_LEFT) {
		exec_stop(job->own.exec, now);
	}
}

/* -- The start --------------------------------------------------------- */

/* Eight digits that no other task of the session has had: all 2^32 come before
 * one comes again (T1). */
static void
next_id(struct session *s, char *id)
{
	int i;

	s->last_id += 0x9E3779B1;  /* odd: 2^32 times the golden ratio */
	for (i = 0; i < 8; i++)
		id[i] = "0123456789abcdef"[s->last_id >> (28 - 4 * i) & 15];
	id[8] = '\0';
}

/* Makes a task of what runs. Of its own deadline and the server's limit the
 * earlier counts (T5, W4). False: there is no random number for its id. */
static bool
become_task(struct session *s, struct job *job, int64_t now)
{
	int64_t limit = s->options->bg_timeout, own = job->own.deadline;

	if (s->stateless && !proc_random(job->id, (JOB_ID - 1) / 2)) {
		job->id[0] = '\0';
		return false;
	}
	if (!s->stateless)
		next_id(s, job->id);
	job->state = JOB_TASK;
	job->by_server = limit > 0 && now + limit < own;
	job->own.deadline = job->by_server ? now + limit : own;
	return true;
}

static void
start_command(struct session *s, struct job *job, const char *dir, int64_t now)
{
	const struct session_options *o = s->options;
	struct job_request *asked = &job->asked;
	struct exec_command command;

	memset(&command, 0, sizeof(command));
	command.shell = o->shell;
	command.text = asked->text.data;
	command.len = asked->text.len;
	command.dir = dir;
	command.env = o->env[asked->terminal ? SCRIPT_TERMINAL
	    : asked->background ? SCRIPT_TASK : SCRIPT_COMMAND];
	command.terminal = asked->terminal;
	command.tells_dir = !asked->background && !s->stateless;
	command.no_input = o->no_input;
	command.guard = o->guard;
	command.input = asked->has_input ? &asked->input : NULL;
	errno = ENOMEM;
	job->out.text = output_new(&s->spool, job->asked.bounds.limit,
	    job->asked.terminal);
	job->err.text = output_new(&s->spool, job->asked.bounds.limit, false);
	if (job->out.text != NULL && job->err.text != NULL)
		job->own.exec = exec_start(&s->execs, &command, &job->end,
		    job->out.text, job->err.text, now);
	if (command.no_terminal)
		job->refused = JOB_NO_TERMINAL;
}

static void
start(struct session *s, struct job *job, int64_t now)
{
	struct job_request *asked = &job->asked;
	char *dir = asked->cwd != NULL ? path_from(s->dir, asked->cwd)
	    : strdup(s->dir);

	if (asked->cwd != NULL && dir != NULL)
		path_tidy(dir);  /* as `cd` does */
	errno = ENOMEM;
	job->own.deadline = asked->timeout > 0 ? now + asked->timeout : NEVER;
	job->call = ++s->calls;
	if (dir != NULL && (!asked->background || become_task(s, job, now))) {
		if (record_start(&s->log, job, dir) == 0)
			start_command(s, job, dir, now);
		else
			job->refused = JOB_NO_LOG;  /* A2 */
	}
	if (job->own.exec == NULL) {
		job->error = errno;
		job->id[0] = '\0';
		free_output(job);  /* there may be one stream's alone */
		refuse(job, job->refused != JOB_ACCEPTED ? job->refused
		    : JOB_NO_START);
		record_end(&s->log, job, now);
		if (dir != NULL && job->refused != JOB_NO_LOG &&
		    !enterable(dir))
			refuse_dir(s, job, dir);
		free(dir);
		return;
	}
	free(dir);
	if (asked->text.len > TEXT_KEPT)
		asked->text.len = TEXT_KEPT;  /* for the list of tasks */
	buf_shrink(&asked->text);
	job->started = now;
	if (asked->background && !asked->terminal)
		exec_share(job->own.exec);  /* others when it closes (Q3) */
	if (asked->background)
		return;
	job->state = JOB_RUNNING;
	job->behind_cancelled = s->cancelled;
	s->cancelled = false;
}

/* An edit runs in no shell, and is done at once (X2). */
static void
edit(struct session *s, struct job *job, int64_t now)
{
	struct edit *e = job->asked.edit;
	char *path = path_from(s->dir, e->path);

	e->error = ENOMEM;
	job->call = ++s->calls;
	job->state = JOB_FINISHED;
	if (path != NULL) {
		free(e->path);
		e->path = path;
		if (record_edit(&s->log, job) == 0) {
			edit_run(e, s->options->guard, s->name);
		} else {
			job->error = errno;
			refuse(job, JOB_NO_LOG);
		}
	}
	if (e->outcome == EDIT_DONE || e->outcome == EDIT_BROKEN)
		job->started = now;
	s->edited = true;
}

/* The queue moves on, in order; foreground commands one by one (P7). */
static void
start_next(struct session *s, int64_t now)
{
	int most = s->stateless ? SESSION_ASIDE : 1;
	struct job *job, *next;

	s->edited = false;
	for (job = s->first; job != NULL && !s->edited; job = next) {
		next = job->own.next;
		if (job->state != JOB_QUEUED)
			continue;
		if (!s->closing && !(job->asked.background && s->stateless) &&
		    count(s, JOB_RUNNING) == most)
			return;
		s->queued -= job_bytes(job);
		if (s->closing)
			refuse(job, JOB_CLOSED);
		else if (job->asked.background &&
		    count(s, JOB_TASK) == TASKS_MOST)
			refuse(job, JOB_TOO_MANY);
		else if (job->asked.edit != NULL)
			edit(s, job, now);
		else
			start(s, job, now);
	}
}

/* -- Time -------------------------------------------------------------- */

/* With --on-timeout=background a foreground command becomes a task, if there is
 * room (E5). Otherwise it is terminated, and so is a task (T5). */
static void
time_out(struct session *s, struct job *job, int64_t now)
{
	bool hand_over = s->options->background && job->state == JOB_RUNNING;

	job->own.deadline = NEVER;
	if (job->end.shell_ended)
		return;  /* it was in time (E4) */
	if (hand_over && count(s, JOB_TASK) < TASKS_MOST &&
	    become_task(s, job, now))
		return;
	job->no_room = hand_over;
	job->timed_out = true;
	exec_stop(job->own.exec, now);
}

void
session_hand_over(struct session *s, struct job *job, int64_t held,
                  int64_t now)
{
	if (job->state == JOB_QUEUED) {
		s->queued -= job_bytes(job);
		refuse(job, JOB_WAITED);
	} else if (job->end.state != EXEC_RUNNING || job->end.shell_ended ||
	    job->own.deadline <= now + DUE_SOON) {
		return;
	} else if (count(s, JOB_TASK) == TASKS_MOST ||
	    !become_task(s, job, now)) {
		job->own.deadline = NEVER;
		job->no_room = job->timed_out = true;
		exec_stop(job->own.exec, now);
	}
	job->held = held;
}

static void
check_job(struct session *s, struct job *job, int64_t now)
{
	if (job->state != JOB_FINISHED && job->end.ended)
		finish(s, job, now);
	if (job->state == JOB_FINISHED)
		check_rest(s, job, now);
	else if (now >= job->own.deadline && job->end.state == EXEC_RUNNING)
		time_out(s, job, now);
}

/* -- The session ------------------------------------------------------- */

struct session *
session_open(const struct session_options *options, bool stateless)
{
	struct session *s = calloc(1, sizeof(*s));
	const char *behind;

	if (s == NULL)
		return NULL;
	s->options = options;
	s->stateless = stateless;
	spool_init(&s->spool, options->tmpdir, s->name, options->save_limit);
	s->dir = strdup(options->workdir);
	memcpy(s->name, options->name, 16);
	s->log.log = options->log;
	s->log.id = s->name + 16;
	s->secrets = (struct secret_place){ options->tmpdir, s->name,
	    &s->log };
	if (s->dir == NULL || !proc_random(s->name + 16, 4)) {
		session_free(s);
		return NULL;
	}
	s->last_id = (uint32_t)digits_value(s->name + 16, 16, &behind);
	return s;
}

void
session_free(struct session *s)
{
	struct record r;

	if (s == NULL)
		return;
	while (s->first != NULL) {
		if (s->first->state == JOB_RUNNING ||
		    s->first->state == JOB_TASK)
			record_end(&s->log, s->first, clock_now());
		drop(s, s->first);
	}
	if (s->recorded) {
		r = log_begin(&s->log, "session_close");
		log_end(&r);  /* if it can't be: its commands have ended */
	}
	spool_free(&s->spool);
	free(s->dir);
	free(s);
}

void
session_begin(struct session *s, const struct buf *client)
{
	struct record r = log_begin(&s->log, "session_begin");

	log_members(&r, client);
	/* If it can't be written, no command can be started either. */
	s->recorded = log_end(&r) == 0 || s->recorded;
}

struct job *
session_run(struct session *s, struct job_request *asked)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job == NULL)
		return NULL;
	job->asked = *asked;
	memset(asked, 0, sizeof(*asked));
	job->own.holders = 1;
	job->own.previous = s->last;
	*(s->last != NULL ? &s->last->own.next : &s->first) = job;
	s->last = job;
	s->queued += job_bytes(job);
	return job;
}

/* The newest first: the pid of an ended task may be that of a newer one. */
struct job *
session_task(struct session *s, const struct buf *id, int64_t pid)
{
	struct job *job = s->last, *by_pid = NULL;

	for (; job != NULL; job = job->own.previous) {
		if (job->state != JOB_TASK && !is_unread(job))
			continue;
		if (id->len == strlen(job->id) &&
		    memcmp(job->id, id->data, id->len) == 0)
			return job;
		if (by_pid == NULL && job->end.pid == pid)
			by_pid = job;
	}
	return s->stateless ? NULL : by_pid;
}

struct job *
session_next_task(struct session *s, const struct job *after)
{
	struct job *job = after == NULL ? s->first : after->own.next;

	while (job != NULL && job->state != JOB_TASK && !is_unread(job))
		job = job->own.next;
	return job;
}

void
session_hold(struct job *job)
{
	job->own.holders++;
}

void
session_let_go(struct session *s, struct job *job, bool read)
{
	job->own.holders--;
	job->own.read = job->own.read || (read && job->state == JOB_FINISHED);
	drop_if_done(s, job);
}

void
session_cancel(struct session *s, struct job *job, int64_t now)
{
	job->own.cancelled = true;
	job->own.deadline = NEVER;
	if (job->state == JOB_QUEUED) {
		s->queued -= job_bytes(job);
		job->state = JOB_FINISHED;
	} else if (job->own.exec != NULL) {
		exec_stop(job->own.exec, now);
	}
}

void
session_kill(struct job *job, int64_t now)
{
	if (job->state != JOB_TASK)
		return;
	job->killed = job->killed || !job->end.shell_ended;
	job->own.deadline = NEVER;
	exec_stop(job->own.exec, now);
}

const struct job *
session_running(const struct session *s, int *waiting)
{
	const struct job *job = s->first;

	*waiting = count(s, JOB_QUEUED);
	while (job != NULL && job->state != JOB_RUNNING)
		job = job->own.next;
	return job;
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

const struct log_session *
session_log(const struct session *s)
{
	return &s->log;
}

const char *
session_secret(const struct session *s, struct job *job, int64_t now)
{
	return secret_offer(job, &s->secrets, now) ? s->secrets.dir : NULL;
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
	struct job *job;

	exec_poll_add(&s->execs, loop);
	if (s->edited)
		loop_until(loop, loop->now);
	for (job = s->first; job != NULL; job = job->own.next) {
		if (job->state == JOB_RUNNING || job->state == JOB_TASK)
			loop_until(loop, job->own.deadline);
		secret_poll_add(job, loop);
	}
}

void
session_dispatch(struct session *s, const struct loop *loop)
{
	struct job *job, *next;

	exec_dispatch(&s->execs, loop);
	for (job = s->first; job != NULL; job = next) {
		next = job->own.next;
		secret_dispatch(job, &s->secrets, loop);
		if (job->own.exec != NULL) {
			check_job(s, job, loop->now);
			drop_if_done(s, job);
		}
	}
	forget_oldest(s);
	start_next(s, loop->now);
}

void
session_close(struct session *s, int64_t now)
{
	struct job *job;

	for (job = s->first; job != NULL; job = job->own.next) {
		job->killed = job->killed || ((job->state == JOB_RUNNING ||
		    job->state == JOB_TASK) && !job->end.shell_ended);
		job->own.deadline = NEVER;
		if (job->own.exec != NULL) {
			exec_share(job->own.exec);
			exec_stop(job->own.exec, now);
		}
	}
	s->closing = true;
	start_next(s, now);
}

/* What calls still hold has an answer to come. */
bool
session_closed(const struct session *s)
{
	const struct job *job;

	for (job = s->first; job != NULL; job = job->own.next) {
		if (job->own.holders > 0 || job->state == JOB_RUNNING ||
		    job->state == JOB_TASK ||
		    (job->own.exec != NULL && job->end.state != EXEC_GONE))
			return false;
	}
	return s->closing;
}
