/* SPDX-License-Identifier: ISC */
/* When a call is answered depends on what it asks for:
 *
 *   run a command   when the command has ended or has become a task
 *   start a task    at once, or after a wait for the task
 *   read a task,    after a wait for the task, which ends when the task ends,
 *   type into it    when the text `until` is printed, when the terminal waits
 *                   for input, when new output is followed by silence, or when
 *                   the time is up, whichever comes first (W2, W3)
 *   kill a task     when the task has ended, or boris cannot terminate it
 *   list tasks      when any task has ended, or when the time is up (T7)
 *
 * A wait also ends when the client stops waiting for the response (K2). While
 * the call is open, progress messages are due if the client wants them (O7). */
#define _POSIX_C_SOURCE 200809L

#include "mcp/wait.h"

#include "base/io.h"
#include "output/output.h"

enum {
	NOW = 0,             /* a time in the past */
	QUIET = 300,         /* silence after new output that ends a wait, in ms
	                      * (W2) */
	QUIET_TYPED = 2000,  /* silence that ends a wait after input was typed,
	                      * in ms */
	BURST = 100          /* time after `until` was printed in which the
	                      * program may complete the line, in ms (W3) */
};

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns the time, in ms, at which the wait that the call asks for is over, or
 * at which its client stops waiting, if that is earlier. */
static int64_t
end_of_wait(const struct call *call)
{
	int64_t end = call->wait_until;

	if (call->orphaned)
		return NOW;
	/* If the call starts the task, the wait begins when its command is
	 * started. */
	if (call->request.action == CALL_RUN && call->job != NULL)
		end = call->job->started_at + call->request.time;
	return earlier(end, call->answer_by);
}

/* Returns whether the terminal waits for input and no result has reported that.
 * If the call waits for `until`, it must be certain that the terminal waits. */
static bool
has_new_prompt(const struct call *call)
{
	const struct job *job = call->job;
	const struct prompt *p = &job->prompt;

	if (p->state == TERMINAL_BUSY || p->since == job->asked_at)
		return false;
	return p->state == TERMINAL_PROMPTS || call->request.until.len == 0;
}

/* Returns whether the job has printed output that no result has shown yet,
 * neither of this call nor of another one. */
static bool
has_unseen_output(const struct job *job)
{
	if (job->out.text == NULL)
		return false;
	return output_has_new(job->out.text, &job->out.seen) ||
	    output_has_new(job->err.text, &job->err.seen);
}

/* Returns whether the call waits for new output and there is some. */
static bool
has_new_output(const struct call *call)
{
	if (call->request.until.len > 0 || !call->request.only_new)
		return false;
	return call->watch.new_output && has_unseen_output(call->job);
}

/* Returns the time, in ms, at which a call about a running task is answered. */
static int64_t
task_answer_at(const struct call *call, int64_t now)
{
	bool typed = call->request.action == CALL_TYPE;
	const struct job *job = call->job;
	int64_t end = end_of_wait(call);

	/* The answer to the start of a task reports whether its program could
	 * be started. */
	if (call->request.action == CALL_RUN && job_is_starting(job, now))
		return NEVER;
	if (call->watch.seen_at > 0)
		return call->watch.seen_at + BURST;
	if (has_new_prompt(call))
		return NOW;
	/* A program that is busy has not responded to the typed input yet. */
	if ((typed && job->prompt.not_reading) || !has_new_output(call))
		return end;
	return earlier(end,
	    call->watch.printed_at + (typed ? QUIET_TYPED : QUIET));
}

/* Returns the time, in ms, at which a call with a job is answered. */
static int64_t
job_answer_at(const struct call *call, int64_t now)
{
	const struct job *job = call->job;
	bool may_end;

	/* due.c decides when the session ends a command or hands it over
	 * (K2). */
	if (job->state == JOB_QUEUED || job->state == JOB_RUNNING)
		return NEVER;
	if (job->state == JOB_FINISHED)
		return NOW;
	/* A command in the foreground has become a task (E5). */
	if (call->request.action == CALL_RUN && !job->background)
		return NOW;
	if (call->request.action != CALL_KILL)
		return task_answer_at(call, now);
	/* If the task belongs to another user, wait until the session has given
	 * up the kill. */
	may_end = job->kill_requested && job->exec.foreign;
	return job_survives(job) && !may_end ? NOW : NEVER;
}

/* Returns the time, in ms, at which a list of tasks is answered: at once if a
 * task has ended or none runs; otherwise at the end of the wait (T7). */
static int64_t
list_answer_at(const struct call *call, const struct session *s)
{
	const struct job *job = session_next_task(s, NULL);

	while (job != NULL && job->state == JOB_TASK)
		job = session_next_task(s, job);
	if (job != NULL || s->tasks == 0)
		return NOW;
	return end_of_wait(call);
}

struct call_due
wait_due(const struct call *call, const struct session *s, int64_t now)
{
	struct call_due due = { NEVER, false, NEVER };

	if (call->tool == NULL)
		return due;
	if (call->job != NULL)
		due.answer_at = job_answer_at(call, now);
	else
		due.answer_at = list_answer_at(call, s);
	due.by_limit = due.answer_at == call->answer_by &&
	    call->answer_by != NEVER;
	if (call->token.len > 0 && !call->orphaned)
		due.progress_at = call->progress_at;
	return due;
}
