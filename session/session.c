/* SPDX-License-Identifier: ISC */
/* A session keeps its jobs in four lists. list_for() decides which list a job
 * belongs to:
 *
 *   LIST_QUEUE ----> LIST_FOREGROUND ----> LIST_ENDED
 *        |                  |
 *        | start of         | hand-over: the command
 *        | a task           | becomes a task
 *        v                  v
 *   LIST_BACKGROUND <-------+
 *
 * A rejected job, and an edit that was made, moves from LIST_QUEUE directly to
 * LIST_ENDED. If the call of a job was abandoned, a later result has to report
 * what happened, so the job enters LIST_BACKGROUND even if it was rejected
 * (`not_run`) or if its command ended in the foreground (keep_result()).
 *
 * In each iteration of the event loop, session_act() asks due.c what is due for
 * each job, and carries it out. It handles the running commands before the
 * queue, so that a job which is waiting for a command starts in the iteration
 * in which that command ends (P7).
 *
 * A hand-over (E5, K2) gives the command an id and moves it to LIST_BACKGROUND,
 * but does not affect its processes. A finished task stays in its list until
 * its result has been read, or until a note has reported its end after its
 * output was discarded (`forgotten`). Any other job is freed when it has ended,
 * no call refers to it, and all its processes have exited. */
#define _POSIX_C_SOURCE 200809L

#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/random.h"
#include "base/text.h"
#include "run/proc.h"
#include "session/due.h"
#include "session/log.h"
#include "session/secret.h"

enum {
	ID_LEN = 8,       /* number of digits in a task id, except in a shared
	                   * session, where ids are secrets with 32 digits */
	TEXT_KEPT = 800,  /* length in bytes to which a started command's text
	                   * is truncated (T7) */
	/* Maximum number of rejected jobs kept until a result reports them
	 * (E6) */
	NOT_RUN_MAX = 10,
	/* Maximum number of forgotten tasks to keep until a result reports
	 * their end (T2). The output of a forgotten task was discarded. */
	FORGOTTEN_MAX = 10
};

/* Returns the job that contains the list node, or NULL if the node is NULL. */
static struct job *
job_at(struct list_node *node)
{
	return node != NULL ? LIST_ITEM(node, struct job, node) : NULL;
}

static struct job *
first_in(const struct session *s, enum session_list list)
{
	return job_at(s->list[list].first);
}

/* Returns the next job in the list, or NULL at the end. */
static struct job *
next_in(const struct job *job)
{
	return job_at(job->node.next);
}

/* Returns the list in which the job belongs. A job with a task id belongs in
 * LIST_BACKGROUND in any state. */
static struct list *
list_for(struct session *s, const struct job *job)
{
	if (job_has_id(job) || job->not_run)
		return &s->list[LIST_BACKGROUND];
	if (job->state == JOB_QUEUED)
		return &s->list[LIST_QUEUE];
	if (job->state == JOB_RUNNING)
		return &s->list[LIST_FOREGROUND];
	return &s->list[LIST_ENDED];
}

static void
enter_list(struct list *list, struct job *job)
{
	list_append(list, &job->node);
	job->list = list;
}

static void
leave_list(struct job *job)
{
	list_remove(job->list, &job->node);
	job->list = NULL;
}

/* Moves the job to the list that list_for() returns. */
static void
update_list(struct session *s, struct job *job)
{
	if (job->list != list_for(s, job)) {
		leave_list(job);
		enter_list(list_for(s, job), job);
	}
}

/* If n is 1, adds the job to the session's counts for the job's state. If n is
 * -1, removes the job from these counts. */
static void
count_job(struct session *s, const struct job *job, int n)
{
	int parallel = job->parallel ? n : 0;

	switch (job->state) {
	case JOB_QUEUED:
		s->waiting += n;
		s->waiting_parallel += parallel;
		if (n > 0)
			s->queued += job_bytes(job);
		else
			s->queued -= job_bytes(job);
		break;
	case JOB_RUNNING:
		s->running += n;
		s->running_parallel += parallel;
		break;
	case JOB_TASK:
		s->tasks += n;
		break;
	case JOB_FINISHED:
		break;
	}
}

/* Changes the job's state, updates the session's job counts, and moves the job
 * to the appropriate list. No other function may change the state. */
static void
set_state(struct session *s, struct job *job, enum job_state state)
{
	count_job(s, job, -1);
	if (job->state == JOB_TASK && state == JOB_FINISHED)
		s->tasks_ended++;
	job->state = state;
	count_job(s, job, 1);
	/* Clear the prompt. boris checks the terminal only while the job is a
	 * running task, so a stale prompt would never be cleared. */
	job->prompt = (struct prompt){ .state = TERMINAL_BUSY };
	update_list(s, job);
}

static void
session_drop(struct session *s, struct job *job)
{
	leave_list(job);
	secret_free(job);
	exec_free(&s->execs, &job->exec);
	job_free(job);
}

/* Returns whether the job is a running task, or a finished task whose result a
 * client can still read. */
static bool
is_listed(const struct job *job)
{
	return job_has_id(job) && !job->read && !job->forgotten;
}

/* Returns whether the client has stopped waiting for the tool call and has yet
 * to be told what happened to its job. */
static bool
is_unreported(const struct job *job)
{
	return job->abandoned && job->abandoned_report == 0;
}

/* Returns whether the job is a forgotten task whose end has yet to be reported,
 * or is in a report that has not been sent yet. Returns false in a shared
 * session, where no note reports the end of a task (H6). */
static bool
is_forgotten_unreported(const struct session *s, const struct job *job)
{
	if (!job->forgotten || job->read || s->shared)
		return false;
	return job->end_report != REPORT_SENT ||
	    (job->abandoned && job->abandoned_report != REPORT_SENT);
}

/* Frees the output of a finished job if no tool call refers to the job and no
 * later result needs the output. Also frees the job itself, unless a note must
 * still report it, or one of its processes is still running or still holds an
 * output pipe open. */
static void
drop_if_done(struct session *s, struct job *job)
{
	bool alive = job->exec.state != EXEC_NEW &&
	    (job->exec.state != EXEC_GONE || job->exec.open);

	if (job->state != JOB_FINISHED)
		return;
	if (!alive)
		exec_free(&s->execs, &job->exec);
	if (job->refs > 0 || is_listed(job) || job->not_run)
		return;
	output_free(job->out.text);
	output_free(job->err.text);
	job->out.text = job->err.text = NULL;
	if (!alive && !is_forgotten_unreported(s, job))
		session_drop(s, job);
}

/* Keeps an abandoned job that was rejected until a result has reported that its
 * command was not run. Does nothing if NOT_RUN_MAX such jobs are already kept
 * (E6). The caller must call update_list(). */
static void
keep_rejected(struct session *s, struct job *job)
{
	if (s->not_run == NOT_RUN_MAX)
		return;
	job->not_run = true;
	s->not_run++;
}

static void
session_reject(struct session *s, struct job *job, enum job_rejection why)
{
	job->rejected = why;
	if (job->abandoned)
		keep_rejected(s, job);
	set_state(s, job, JOB_FINISHED);
}

/* Returns whichever of the two jobs ended first. The first argument may be
 * NULL. */
static struct job *
find_older(struct job *oldest, struct job *job)
{
	if (oldest == NULL || job->ended_at < oldest->ended_at)
		return job;
	return oldest;
}

/* If more than `unread_max` finished tasks have unread results, forgets the
 * task that ended first, that is, discards its output, and returns true.
 * Otherwise returns false. If no result has reported the end of the forgotten
 * task yet, keeps the task without its output, so that a note can report its
 * end (T8, E6). */
static bool
forget_oldest(struct session *s)
{
	struct job *job, *oldest = NULL;
	int unread = 0;

	for (job = first_in(s, LIST_BACKGROUND); job != NULL;
	    job = next_in(job)) {
		if (job->state != JOB_FINISHED || !is_listed(job) ||
		    job->refs > 0)
			continue;
		unread++;
		oldest = find_older(oldest, job);
	}
	if (oldest == NULL || unread <= s->options->unread_max)
		return false;
	oldest->forgotten = true;
	drop_if_done(s, oldest);
	return true;
}

/* If more than FORGOTTEN_MAX forgotten tasks have yet to be reported, gives up
 * reporting the one that ended first and returns true. Otherwise returns
 * false. */
static bool
drop_oldest_forgotten(struct session *s)
{
	struct job *job, *oldest = NULL;
	int forgotten = 0;

	for (job = first_in(s, LIST_BACKGROUND); job != NULL;
	    job = next_in(job)) {
		if (!is_forgotten_unreported(s, job))
			continue;
		forgotten++;
		oldest = find_older(oldest, job);
	}
	if (oldest == NULL || forgotten <= FORGOTTEN_MAX)
		return false;
	oldest->read = true;
	drop_if_done(s, oldest);
	return true;
}

static void
record_end(const struct job *job, int64_t now)
{
	bool rejected = job->rejected != REJECT_NONE;
	const char *status = job_status(job, job->state == JOB_FINISHED);

	if (job->cancelled)
		status = "cancelled";
	else if (rejected)
		status = "not_started";
	log_end(job, status, rejected ? strerror(job->error) : NULL, NULL, now);
}

/* Returns whether any task of the session has ever had this id. */
static bool
has_had_id(const struct session *s, const char *id)
{
	size_t i;

	for (i = 0; i < s->ids.len; i += ID_LEN) {
		if (memcmp(s->ids.data + i, id, ID_LEN) == 0)
			return true;
	}
	return false;
}

/* Gives the job a task id that is unique within this session (T1), and moves
 * the job to LIST_BACKGROUND. Returns false if no random number is
 * available. */
static bool
give_id(struct session *s, struct job *job)
{
	do {
		if (!random_hex(job->id, s->shared ? 16 : 4))
			return false;
	} while (has_had_id(s, job->id));
	if (!s->shared)
		buf_put(&s->ids, job->id, ID_LEN);
	update_list(s, job);
	return true;
}

/* Clears a rejected job's task id, if it has one, and moves the job to the
 * appropriate list. */
static void
remove_id(struct session *s, struct job *job)
{
	job->id[0] = '\0';
	update_list(s, job);
}

/* Turns a foreground command that has ended into a finished task, so that a
 * client can still read its result. If no task id is available, the result is
 * lost. */
static void
keep_result(struct session *s, struct job *job)
{
	(void)give_id(s, job);
}

/* Rejects a job whose process could not change to the job's directory. If the
 * reason is that the session's directory is inaccessible, the session changes
 * to --workdir, or to / if --workdir is inaccessible, too (D5). */
static void
reject_dir(struct session *s, struct job *job)
{
	const struct proc_outcome *r = &job->exec.outcome;
	bool relative = job->cwd == NULL || job->cwd[0] != '/';

	if (s->shared || !relative || r->tracked) {
		session_reject(s, job, REJECT_NO_DIR);
		return;
	}
	session_reject(s, job, REJECT_LOST_DIR);
	if (strcmp(s->dir, job->tracked_dir) != 0)
		return;  /* the session already has another directory */
	free(s->dir);
	s->dir = mem_copy(r->workdir ? s->options->workdir : "/");
	s->dir_reported = false;
}

/* Marks a job as rejected because its program could not be started, and logs
 * this. */
static void
reject_start(struct session *s, struct job *job, int64_t now)
{
	job->error = job->exec.outcome.error;
	job->ended_at = now;
	if (job->exec.outcome.stage == PROC_ENTERING)
		reject_dir(s, job);
	else
		session_reject(s, job, REJECT_NO_START);
	record_end(job, now);
}

/* Returns whether the command has changed the session's directory, that is,
 * whether its shell exited normally and reported a different directory (D1). */
static bool
has_moved(const struct session *s, const struct job *job)
{
	const char *dir = job->exec.dir;

	if (job->timed_out || job->kill_requested || job->cancelled)
		return false;
	return dir != NULL && !s->shared && strcmp(dir, s->dir) != 0;
}

/* Updates the session's directory after a foreground command, and decides
 * whether the command's result includes the directory. */
static void
track_dir(struct session *s, struct job *job)
{
	char *dir = s->dir;

	if (has_moved(s, job)) {
		s->dir = job->exec.dir;
		job->exec.dir = dir;  /* freed with the command */
		job->shows_dir = true;
	}
	if (job->timed_out || job->exec.report != REPORT_OK)
		job->shows_dir = true;
	/* The first result of a session always includes the session's directory
	 * (K4). */
	if (!s->dir_reported && !s->shared)
		job->shows_dir = true;
	/* The client may never receive this result. Until it has been sent,
	 * later results include the directory, too (H7, E6). */
	if (job->shows_dir)
		s->dir_reported = false;
	job->dir = mem_copy(s->dir);
}

static void
finish(struct session *s, struct job *job, int64_t now)
{
	bool task = job->state == JOB_TASK;

	secret_close(job, false);
	job->ended_at = now;
	set_state(s, job, JOB_FINISHED);
	/* Show the recent output of a killed task, just as results do for a
	 * running task (T4). */
	if (task && job->kill_requested)
		job->bounds.mode = TRUNCATE_RECENT;
	output_end(job->out.text);
	output_end(job->err.text);
	record_end(job, now);
	if (task)
		return;
	/* A command with `cwd` does not change the session's directory (D7). */
	if (job->cwd == NULL)
		track_dir(s, job);
	if (job->abandoned)
		keep_result(s, job);
}

/* The result of turning a job into a task */
enum task_start {
	TASK_STARTED,
	TASK_TOO_MANY,  /* too many tasks are running */
	TASK_NO_ID      /* no random number is available for the task's id */
};

/* Turns a job that is running or about to start into a task. The task's
 * deadline is its own timeout or the server's limit, whichever is earlier (T5,
 * W4). */
static enum task_start
become_task(struct session *s, struct job *job, int64_t now)
{
	int64_t limit = s->options->bg_timeout;

	if (s->tasks == s->options->tasks_max)
		return TASK_TOO_MANY;
	if (!give_id(s, job))
		return TASK_NO_ID;
	set_state(s, job, JOB_TASK);
	job->server_deadline = limit > 0 && now + limit < job->deadline;
	if (job->server_deadline)
		job->deadline = now + limit;
	return TASK_STARTED;
}

/* Turns a running job into a task, and closes descriptors that a task does not
 * need. Returns the result of become_task(). */
static enum task_start
continue_as_task(struct session *s, struct job *job, int64_t now)
{
	enum task_start started = become_task(s, job, now);

	if (started == TASK_STARTED)
		exec_close_shell_output(&job->exec);
	return started;
}

/* Allocates the output streams of a job. Returns 0, or -1 with errno set. */
static int
open_outputs(struct session *s, struct job *job)
{
	job->out.text = output_new(s->options, &s->spool, job->bounds.limit,
	    job->exec.terminal);
	job->err.text = output_new(s->options, &s->spool, job->bounds.limit,
	    false);
	if (job->out.text != NULL && job->err.text != NULL)
		return 0;
	output_free(job->out.text);
	output_free(job->err.text);
	job->out.text = job->err.text = NULL;
	errno = ENOMEM;
	return -1;
}

/* Starts a job's command in job->start_dir. Returns REJECT_NONE on success. On
 * failure, sets errno and returns the reason. */
static enum job_rejection
start_command(struct session *s, struct job *job, int64_t now)
{
	struct spawn_dirs dirs = { job->start_dir, s->dir,
	    s->options->workdir };
	struct exec *x = &job->exec;

	if (open_outputs(s, job) < 0)
		return REJECT_NO_START;
	/* become_task() fails here only if no task id is available, because the
	 * number of running tasks has already been checked. */
	if (job->background && become_task(s, job, now) != TASK_STARTED) {
		errno = EIO;
		return REJECT_NO_ID;
	}
	/* Never run a command that could not be logged (A2). */
	if (log_start(job, "start", job->start_dir) < 0)
		return REJECT_NO_LOG;
	if (exec_start(&s->execs, x, s->options, &dirs, job->out.text,
	    job->err.text, now) < 0)
		return x->no_terminal ? REJECT_NO_TERMINAL : REJECT_NO_START;
	if (job->background)
		exec_close_shell_output(x);
	return REJECT_NONE;
}

/* Starts a job's command in its directory, or rejects the job. If the new
 * process cannot change to the directory, reject_start() rejects the job
 * later. */
static void
session_start(struct session *s, struct job *job, int64_t now)
{
	char *dir = path_from(s->dir, job->cwd != NULL ? job->cwd : s->dir);
	struct exec *x = &job->exec;
	enum job_rejection why;

	if (job->cwd != NULL)
		path_tidy(dir);  /* resolve . and .. as `cd` does */
	job->log_number = ++s->last_log_number;
	job->start_dir = dir;
	job->tracked_dir = mem_copy(s->dir);
	set_state(s, job, JOB_RUNNING);
	job->deadline = job->timeout > 0 ? now + job->timeout : NEVER;
	x->reports_dir = !job->background && !s->shared && job->cwd == NULL;
	why = start_command(s, job, now);
	if (why != REJECT_NONE) {
		job->error = errno;
		session_reject(s, job, why);
		remove_id(s, job);
		record_end(job, now);
		return;
	}
	if (x->text.len > TEXT_KEPT)
		x->text.len = TEXT_KEPT;  /* for the list of tasks */
	buf_shrink(&x->text);
	job->started_at = now;
}

/* Terminates a command whose timeout has expired or whose call has been open
 * for too long. */
static void
time_out(struct job *job, int64_t now)
{
	job->deadline = NEVER;
	job->timed_out = true;
	exec_stop(&job->exec, now);
}

/* The reason why a tool call ends before its job */
enum call_end {
	CALL_LIMIT_REACHED,  /* the client's timeout for the call is about to
	                      * expire (K2) */
	CALL_ABANDONED       /* the client cancelled the call because of a
	                      * client-side timeout (E6) */
};

/* Returns the reason why a tool call ends before its job. */
static enum call_end
call_end_of(const struct job *job)
{
	return job->abandoned ? CALL_ABANDONED : CALL_LIMIT_REACHED;
}

/* Turns a foreground command into a task, or terminates the command if too many
 * tasks are running (K2). Does nothing if the command is already being
 * terminated. */
static void
hand_over(struct session *s, struct job *job, enum call_end why, int64_t now)
{
	job->hand_over_at = NEVER;
	if (job->exec.state != EXEC_RUNNING)
		return;
	switch (continue_as_task(s, job, now)) {
	case TASK_STARTED:
		break;
	case TASK_TOO_MANY:
		job->too_many_tasks = true;
		time_out(job, now);
		break;
	case TASK_NO_ID:
		return;  /* the command stays in the foreground */
	}
	job->limit_reached = why == CALL_LIMIT_REACHED;
}

/* Returns whether the job can run in parallel with the session's other jobs.
 * This is the case if the job does not use the session's directory (D7), or if
 * the session does not track a directory (H6). Returns false for an edit, which
 * is short and does not need to run in parallel. */
static bool
is_parallel(const struct session *s, const struct job *job)
{
	if (job->do_work != NULL)
		return false;
	return s->shared || (job->cwd != NULL && job->cwd[0] == '/');
}

/* Returns whether the queue is paused because a task is being started. The
 * pause ensures that tool calls which start tasks are answered in order. */
static bool
waits_for_start(const struct session *s, int64_t now)
{
	const struct job *job;
	bool ordered;

	for (job = first_in(s, LIST_BACKGROUND); job != NULL;
	    job = next_in(job)) {
		ordered = job->background && !job->parallel;
		if (ordered && job_is_starting(job, now))
			return true;
	}
	return false;
}

bool
session_waits_for_edit(const struct session *s)
{
	const struct job *job;

	if (s->shared)
		return false;
	/* Jobs that do not run in parallel start in order, so if an edit is
	 * already in progress, it is the first such job in the queue. */
	job = first_in(s, LIST_QUEUE);
	while (job != NULL && job->parallel)
		job = next_in(job);
	return job != NULL && job_is_waiting_edit(job);
}

/* Starts or continues an edit (X2). An edit that has to wait stays in the
 * queue. */
static void
do_work(struct session *s, struct job *job, int64_t now)
{
	enum job_rejection rejected;

	if (job->started_at == 0) {
		job->log_number = ++s->last_log_number;
		job->started_at = now;
	}
	job->work_at = 0;
	rejected = job->do_work(job, s->dir, now);
	if (job->work_started)
		s->edited = true;
	if (rejected != REJECT_NONE)
		session_reject(s, job, rejected);
	else if (job->work_at == 0)
		set_state(s, job, JOB_FINISHED);
}

/* Rejects a queued job that cannot be started in time. Its client is about to
 * stop waiting or has already done so (K2). */
static void
give_up(struct session *s, struct job *job, enum call_end why, int64_t now)
{
	job->limit_reached = why == CALL_LIMIT_REACHED;
	job->ended_at = now;
	session_reject(s, job, REJECT_LATE);
}

/* Returns the part of the session's state that due_queued() needs. */
static struct queue_state
get_queue_state(const struct session *s, int64_t now)
{
	/* Make at most one edit per iteration of the event loop, so that no
	 * iteration takes long (P6). */
	return (struct queue_state){
		.running_in_order = s->running - s->running_parallel,
		.running_parallel = s->running_parallel,
		.paused = s->edited || waits_for_start(s, now),
		.edit_waits = session_waits_for_edit(s),
		.tasks_full = s->tasks == s->options->tasks_max
	};
}

/* Carries out the given action for a queued job. */
static void
act_on_queued(struct session *s, struct job *job, enum due_action action,
              int64_t now)
{
	switch (action) {
	case DUE_REJECT_TASK:
		job->log_number = ++s->last_log_number;
		session_reject(s, job, REJECT_TOO_MANY);
		break;
	case DUE_WORK:
		do_work(s, job, now);
		break;
	case DUE_GIVE_UP:
		give_up(s, job, call_end_of(job), now);
		break;
	case DUE_REJECT_LATE:
		job->too_many_tasks = true;
		give_up(s, job, call_end_of(job), now);
		break;
	case DUE_START:
		session_start(s, job, now);
		break;
	case DUE_START_LATE:
		session_start(s, job, now);
		if (job->state == JOB_RUNNING)
			hand_over(s, job, call_end_of(job), now);
		break;
	default:
		break;
	}
}

/* Starts the queued jobs that can start: the next job in the queue, and any
 * that may run in parallel (P7, D7). */
static void
act_on_queue(struct session *s, int64_t now)
{
	struct job *job, *next;
	struct queue_state queue;
	struct job_due due;

	s->edited = false;
	queue = get_queue_state(s, now);
	for (job = first_in(s, LIST_QUEUE); job != NULL; job = next) {
		next = next_in(job);
		due = due_queued(job, &queue, now);
		if (due.action == DUE_NOTHING)
			continue;
		act_on_queued(s, job, due.action, now);
		queue = get_queue_state(s, now);
	}
}

/* Logs, once for each job, that boris cannot terminate its command. */
static void
log_survivor_once(struct job *job)
{
	if (!job->survivor_logged)
		log_survivor(job);
	job->survivor_logged = true;
}

/* Returns whether the job remains a running task if boris cannot terminate its
 * command. Returns false if the task's timeout has expired or the session is
 * closing. */
static bool
remains_task(const struct session *s, const struct job *job)
{
	return job->state == JOB_TASK && !job->timed_out && !s->closing;
}

/* Handles a command that boris cannot terminate (E12). Ends the job, unless the
 * job remains a running task. Stops trying to kill a running task if the
 * surviving process belongs to another user. If the process is stuck in the
 * kernel instead, the pending SIGKILL will terminate it. */
static void
act_on_survivor(struct session *s, struct job *job, int64_t now)
{
	if (!job_survives(job)) {
		job->survivor_logged = false;
		return;
	}
	log_survivor_once(job);
	if (job->cancelled)
		s->has_survivors = true;
	if (job->exec.ended)
		return;
	if (!remains_task(s, job))
		exec_end_survivor(&job->exec, now);
	else if (job->exec.foreign)
		job->kill_requested = false;
}

/* Turns a job whose timeout has expired into a task. If that is not possible,
 * terminates the job's command. */
static void
keep_or_time_out(struct session *s, struct job *job, int64_t now)
{
	enum task_start started;

	job->deadline = NEVER;
	started = continue_as_task(s, job, now);
	job->too_many_tasks = started == TASK_TOO_MANY;
	if (started != TASK_STARTED)
		time_out(job, now);
}

/* Carries out all due actions of a started job. */
static void
act_on_started(struct session *s, struct job *job, int64_t now)
{
	struct job_due due;

	do {
		due = due_started(job, now);
		switch (due.action) {
		case DUE_FAIL:
			reject_start(s, job, now);
			break;
		case DUE_END:
			finish(s, job, now);
			break;
		case DUE_TIME_OUT:
			time_out(job, now);
			break;
		case DUE_KEEP:
			keep_or_time_out(s, job, now);
			break;
		case DUE_HAND_OVER:
			hand_over(s, job, CALL_LIMIT_REACHED, now);
			break;
		default:
			break;
		}
	} while (due.action != DUE_NOTHING);
}

/* -- The session ------------------------------------------------------- */

struct session *
session_open(const struct options *options, bool shared)
{
	struct session *s = mem_get(sizeof(*s));

	s->options = options;
	s->shared = shared;
	s->dir = mem_copy(options->workdir);
	/* A session's name consists of 16 hexadecimal digits. The first 8
	 * digits are the name of the boris process, and the last 8 are random.
	 * The log contains only the random digits. */
	memcpy(s->name, options->name, 8);
	s->spool = (struct spool){ .dir = options->tmpdir,
	    .files = options->files, .limit = options->save_limit };
	if (random_hex(s->name + 8, 4))
		return s;
	session_free(s);
	return NULL;
}

/* If boris could not terminate one of the job's processes, reports on stderr
 * that this process is still running after the end of the session (L3). */
static void
report_survivor(const struct job *job)
{
	struct buf text = { NULL, 0, 0 };

	if (!job_survives(job))
		return;
	exec_put_survivor(&job->exec, &text);
	stderr_line("boris: %s", buf_text(&text));
	buf_free(&text);
}

void
session_free(struct session *s)
{
	struct job *job;
	int i;

	if (s == NULL)
		return;
	exec_poll_stopping(&s->execs, s->options, clock_now());
	for (i = 0; i < LISTS; i++) {
		while ((job = first_in(s, i)) != NULL) {
			report_survivor(job);
			if (job->state == JOB_RUNNING || job->state == JOB_TASK)
				record_end(job, clock_now());
			session_drop(s, job);
		}
	}
	spool_free(&s->spool);
	buf_free(&s->ids);
	free(s->dir);
	free(s);
}

void
session_run(struct session *s, struct job *job)
{
	job->session = s->name;
	job->spool = &s->spool;
	job->refs = 1;
	job->parallel = is_parallel(s, job);
	enter_list(&s->list[LIST_QUEUE], job);
	count_job(s, job, 1);
	if (s->closing)
		session_reject(s, job, REJECT_CLOSED);
}

struct job *
session_find_task(struct session *s, const struct buf *id, int64_t pid)
{
	struct job *job, *with_pid = NULL;

	/* Start the search at the newest task, because the system may have
	 * reused the pid of a finished task. */
	job = job_at(s->list[LIST_BACKGROUND].last);
	for (; job != NULL; job = job_at(job->node.previous)) {
		if (!is_listed(job))
			continue;
		if (id->len == strlen(job->id) &&
		    memcmp(job->id, id->data, id->len) == 0)
			return job;
		if (with_pid == NULL && job->exec.pid == pid)
			with_pid = job;
	}
	return s->shared ? NULL : with_pid;
}

void
session_ref(struct job *job)
{
	job->refs++;
}

struct job *
session_next_task(const struct session *s, const struct job *after)
{
	struct job *job = after == NULL ? first_in(s, LIST_BACKGROUND)
	    : next_in(after);

	while (job != NULL && !is_listed(job))
		job = next_in(job);
	return job;
}

/* Returns whether the job is a task that has ended and whose end must be
 * reported in a note. No note is needed if a tool call is waiting for the task,
 * or if the end has been or will be reported in another way. */
static bool
is_unreported_end(const struct job *job)
{
	if (!job_has_id(job) || job->read)
		return false;
	if (job->state != JOB_FINISHED || job->refs > job->sent_refs)
		return false;
	return job->end_report == 0 && !is_unreported(job);
}

struct job *
session_next_unreported_end(struct session *s, const struct job *after)
{
	struct job *job = after == NULL ? first_in(s, LIST_BACKGROUND)
	    : next_in(after);

	/* The task may belong to another client in a shared session (H6). */
	if (s->shared)
		return NULL;
	while (job != NULL && !is_unreported_end(job))
		job = next_in(job);
	return job;
}

struct job *
session_next_abandoned(struct session *s, const struct job *after)
{
	struct job *job = after == NULL ? first_in(s, LIST_BACKGROUND)
	    : next_in(after);

	for (; job != NULL; job = next_in(job)) {
		if (is_unreported(job) && (!job->read || job->not_run))
			break;
	}
	return job;
}

struct job *
session_next_survivor(struct session *s, const struct job *after)
{
	struct job *job = after == NULL ? first_in(s, LIST_ENDED)
	    : next_in(after);

	/* In a shared session, a client must not see another client's command
	 * (H6). */
	if (s->shared || !s->has_survivors)
		return NULL;
	for (; job != NULL; job = next_in(job)) {
		if (job->cancelled && job_survives(job) &&
		    job->survivor_report == 0)
			break;
	}
	return job;
}

void
session_unref(struct session *s, struct job *job, bool read)
{
	job->refs--;
	if (read && job->state == JOB_FINISHED)
		job->read = true;
	drop_if_done(s, job);
}

void
session_unread(struct job *job)
{
	/* A cancelled job has no result. */
	if (job_has_id(job) && !job->cancelled)
		job->read = false;
}

/* Adds the unreported ends of up to SESSION_ENDS_REPORTED tasks to the report.
 * Returns the number of events added. */
static int
report_ends(struct session *s, int64_t report)
{
	struct job *ended;
	int n;

	for (n = 0; n < SESSION_ENDS_REPORTED; n++) {
		ended = session_next_unreported_end(s, NULL);
		if (ended == NULL)
			break;
		ended->end_report = report;
	}
	return n;
}

/* Adds the unreported ends of all listed tasks to the report. Returns the number
 * of events added. */
static int
report_listed_ends(struct session *s, int64_t report)
{
	struct job *job = NULL;
	int n = 0;

	while ((job = session_next_task(s, job)) != NULL) {
		if (is_unreported_end(job)) {
			job->end_report = report;
			n++;
		}
	}
	return n;
}

/* Adds the abandoned jobs that no result has reported yet to the report, up to
 * the maximum number per result. Returns the number of events added. */
static int
report_abandoned(struct session *s, int64_t report)
{
	struct job *job;
	int n;

	for (n = 0; n < SESSION_ABANDONED_REPORTED; n++) {
		job = session_next_abandoned(s, NULL);
		if (job == NULL)
			break;
		job->abandoned_report = report;
		if (job->state == JOB_FINISHED)
			job->end_report = report;
	}
	return n;
}

/* Adds the cancelled jobs whose command boris could not terminate to the
 * report, up to the maximum number per result. Returns the number of events
 * added. */
static int
report_survivors(struct session *s, int64_t report)
{
	struct job *job;
	int n;

	for (n = 0; n < SESSION_SURVIVORS_REPORTED; n++) {
		job = session_next_survivor(s, NULL);
		if (job == NULL)
			break;
		job->survivor_report = report;
	}
	s->has_survivors = session_next_survivor(s, NULL) != NULL;
	return n;
}

int64_t
session_report_notes(struct session *s)
{
	int64_t report = ++s->last_report;
	int n = report_ends(s, report);

	n += report_abandoned(s, report);
	n += report_survivors(s, report);
	return n > 0 ? report : 0;
}

int64_t
session_report_list(struct session *s)
{
	int64_t report = ++s->last_report;
	int n = report_listed_ends(s, report);

	n += report_abandoned(s, report);
	return n > 0 ? report : 0;
}

/* Sets *event to `to` if it is the number of the report. Returns whether it
 * was. */
static bool
settle_event(int64_t *event, int64_t report, int64_t to)
{
	if (*event != report)
		return false;
	*event = to;
	return true;
}

/* Records that the report's events of a job have been sent. Frees the job if
 * nothing else needs it. */
static void
settle_sent(struct session *s, struct job *job, int64_t report)
{
	settle_event(&job->end_report, report, REPORT_SENT);
	settle_event(&job->survivor_report, report, REPORT_SENT);
	if (settle_event(&job->abandoned_report, report, REPORT_SENT) &&
	    job->not_run) {
		job->not_run = false;
		s->not_run--;
	}
	drop_if_done(s, job);
}

void
session_report_sent(struct session *s, int64_t report)
{
	struct job *job, *next;

	/* Most reports are empty, and the lists of jobs can be long. */
	if (report == 0)
		return;
	for (job = first_in(s, LIST_BACKGROUND); job != NULL; job = next) {
		next = next_in(job);
		settle_sent(s, job, report);
	}
	for (job = first_in(s, LIST_ENDED); job != NULL; job = next) {
		next = next_in(job);
		settle_sent(s, job, report);
	}
}

/* Records that no result has reported the report's events of a job. */
static void
settle_lost(struct session *s, struct job *job, int64_t report)
{
	settle_event(&job->end_report, report, 0);
	settle_event(&job->abandoned_report, report, 0);
	if (settle_event(&job->survivor_report, report, 0))
		s->has_survivors = true;
}

void
session_report_lost(struct session *s, int64_t report)
{
	struct job *job;

	if (report == 0)
		return;
	for (job = first_in(s, LIST_BACKGROUND); job != NULL;
	    job = next_in(job))
		settle_lost(s, job, report);
	for (job = first_in(s, LIST_ENDED); job != NULL; job = next_in(job))
		settle_lost(s, job, report);
}

void
session_mark_dir_reported(struct session *s, const struct job *job)
{
	if (job->shows_dir && strcmp(job->dir, s->dir) == 0)
		s->dir_reported = true;
}

void
session_cancel(struct session *s, struct job *job, int64_t now)
{
	job->cancelled = true;
	job->deadline = NEVER;
	if (job->state == JOB_QUEUED)
		set_state(s, job, JOB_FINISHED);
	else
		exec_stop(&job->exec, now);
}

/* Keeps a job that ended or was rejected before its call was abandoned, so that
 * a later result can report the job. */
static void
keep_ended(struct session *s, struct job *job)
{
	if (job->rejected == REJECT_NONE) {
		keep_result(s, job);
		return;
	}
	keep_rejected(s, job);
	update_list(s, job);
}

void
session_abandon(struct session *s, struct job *job, int64_t now)
{
	job->abandoned = true;
	if (job->state == JOB_QUEUED) {
		/* The client is no longer waiting, so the job now either starts
		 * as a task or is rejected. */
		job->hand_over_at = now;
	} else if (job->state == JOB_RUNNING) {
		hand_over(s, job, CALL_ABANDONED, now);
	} else if (!job_has_id(job)) {
		keep_ended(s, job);
	}
}

void
session_keep(struct session *s, struct job *job)
{
	if (job->shows_dir)
		s->dir_reported = false;
	job->abandoned = true;
	job->lost = true;
	if (!job_has_id(job))
		keep_ended(s, job);
}

void
session_discard(struct job *job, int64_t now)
{
	session_kill(job, now);
	job->cancelled = true;
	job->read = true;
}

void
session_kill(struct job *job, int64_t now)
{
	if (job->state == JOB_FINISHED)
		return;
	exec_stop(&job->exec, now);
	if (job_survives(job))
		return;  /* stuck in the kernel after SIGKILL */
	job->kill_requested = job->kill_requested || !job->exec.shell_ended;
	job->deadline = NEVER;
}

const struct job *
session_running(const struct session *s)
{
	const struct job *job = first_in(s, LIST_FOREGROUND);

	while (job != NULL && job->parallel)
		job = next_in(job);
	return job;
}

const struct job *
session_next_running(const struct session *s, const struct job *after)
{
	if (s->shared)
		return NULL;
	return after == NULL ? first_in(s, LIST_FOREGROUND) : next_in(after);
}

/* Returns whether the session is closing and boris cannot terminate the job's
 * command. If so, the next iteration of the event loop ends the job even though
 * its command is still running. */
static bool
is_left_behind(const struct session *s, const struct job *job)
{
	return s->closing && job_survives(job) && !job->exec.ended;
}

void
session_poll_add(struct session *s, struct loop *loop)
{
	struct queue_state queue = get_queue_state(s, loop->now);
	struct job *job;

	exec_poll_add(&s->execs, loop);
	if (s->edited)
		loop_until(loop, loop->now);
	for (job = first_in(s, LIST_QUEUE); job != NULL; job = next_in(job))
		loop_until(loop, due_queued(job, &queue, loop->now).at);
	for (job = first_in(s, LIST_FOREGROUND); job != NULL;
	    job = next_in(job))
		loop_until(loop, due_started(job, loop->now).at);
	for (job = first_in(s, LIST_BACKGROUND); job != NULL;
	    job = next_in(job)) {
		loop_until(loop, due_started(job, loop->now).at);
		if (job_is_starting(job, loop->now))
			loop_until(loop, job->started_at + JOB_START_WAIT);
		if (is_left_behind(s, job))
			loop_until(loop, loop->now);
		secret_poll_add(job, loop);
	}
}

/* If a command's timeout has expired, checks once more whether its shell has
 * exited, and reads its last output. If the shell has exited, the command is
 * treated as ended rather than as timed out (E4). */
static void
read_before_timeout(struct job *job, int64_t now)
{
	if (now >= job->deadline && job->exec.state == EXEC_RUNNING)
		exec_read(&job->exec, now);
}

void
session_read(struct session *s, const struct loop *loop)
{
	struct job *job;

	exec_dispatch(&s->execs, s->options, loop);
	for (job = first_in(s, LIST_FOREGROUND); job != NULL;
	    job = next_in(job))
		read_before_timeout(job, loop->now);
	for (job = first_in(s, LIST_BACKGROUND); job != NULL;
	    job = next_in(job)) {
		read_before_timeout(job, loop->now);
		job_read_prompt(job, loop->now);
	}
}

void
session_act(struct session *s, const struct loop *loop)
{
	int64_t now = loop->now;
	struct job *job, *next;

	for (job = first_in(s, LIST_FOREGROUND); job != NULL; job = next) {
		next = next_in(job);
		act_on_survivor(s, job, now);
		act_on_started(s, job, now);
		drop_if_done(s, job);
	}
	for (job = first_in(s, LIST_BACKGROUND); job != NULL; job = next) {
		next = next_in(job);
		secret_dispatch(job, loop);
		act_on_survivor(s, job, now);
		act_on_started(s, job, now);
		drop_if_done(s, job);
	}
	for (job = first_in(s, LIST_ENDED); job != NULL; job = next) {
		next = next_in(job);
		act_on_survivor(s, job, now);
		drop_if_done(s, job);
	}
	while (forget_oldest(s))
		;
	while (drop_oldest_forgotten(s))
		;
	act_on_queue(s, now);
}

void
session_close(struct session *s, int64_t now)
{
	struct job *job;
	int i;

	s->closing = true;
	while ((job = first_in(s, LIST_QUEUE)) != NULL) {
		if (job->work_started)  /* the edit has already been made */
			set_state(s, job, JOB_FINISHED);
		else
			session_reject(s, job, REJECT_CLOSED);
	}
	for (i = 0; i < LISTS; i++) {
		for (job = first_in(s, i); job != NULL; job = next_in(job)) {
			session_kill(job, now);
			/* Also stop processes that a finished command has left
			 * running. */
			exec_stop(&job->exec, now);
		}
	}
}

/* Returns whether all of the command's processes have exited, or boris has
 * given up terminating the remaining ones. */
static bool
is_finished(const struct exec *x)
{
	if (x->state == EXEC_SURVIVED)
		return x->ended;
	return x->state == EXEC_NEW || x->state == EXEC_GONE;
}

bool
session_closed(const struct session *s)
{
	const struct job *job;
	int i;

	for (i = 0; i < LISTS; i++) {
		for (job = first_in(s, i); job != NULL; job = next_in(job)) {
			if (job->refs > 0 || !is_finished(&job->exec))
				return false;
		}
	}
	return s->closing;
}
