#define _POSIX_C_SOURCE 200809L

#include "mcp/wait.h"

#include "base/io.h"
#include "output/output.h"

enum {
	NOW = 0,               /* a time that has passed */
	QUIET = 300,           /* ms of silence that end a wait for news (W2) */
	QUIET_TYPED = 2000,    /* ms, if something was typed */
	BURST = 100            /* ms after `until`: its line may go on (W3) */
};

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns when the wait that the call asks for is over or, if that is sooner,
 * when its client stops waiting. */
static int64_t
end_of_wait(const struct call *call)
{
	int64_t end = call->wait_until;

	if (call->orphaned)
		return NOW;
	/* The wait of a task's start begins when its command does. */
	if (call->request.action == CALL_RUN && call->job != NULL)
		end = call->job->started_at + call->request.time;
	return earlier(end, call->answer_by);
}

/* Returns whether the terminal asks for input, and no result has reported that.
 * With `until` only what is certain counts. */
static bool
has_new_prompt(const struct call *call)
{
	const struct job *job = call->job;
	const struct exec_prompt *p = &job->prompt;

	if (p->state == TERMINAL_BUSY || p->since == job->asked_at)
		return false;
	return p->state == TERMINAL_PROMPTS || call->request.until.len == 0;
}

/* Returns whether the job has printed something that no result has shown. What
 * another call has shown meanwhile is not new any more. */
static bool
has_unseen_output(const struct job *job)
{
	if (job->out.text == NULL)
		return false;
	return output_news(job->out.text, &job->out.seen) ||
	    output_news(job->err.text, &job->err.seen);
}

/* Returns whether the call waits for news, and there is some. */
static bool
has_news(const struct call *call)
{
	if (call->request.until.len > 0 || !call->request.only_new)
		return false;
	return call->watch.news && has_unseen_output(call->job);
}

/* Returns when the wait for a running task ends. */
static int64_t
task_answer_at(const struct call *call, int64_t now)
{
	bool typed = call->request.action == CALL_TYPE;
	const struct job *job = call->job;
	int64_t end = end_of_wait(call);

	/* The answer to a start says whether the program has started. */
	if (call->request.action == CALL_RUN && job_is_starting(job, now))
		return NEVER;
	if (call->watch.seen_at > 0)
		return call->watch.seen_at + BURST;
	if (has_new_prompt(call))
		return NOW;
	/* A program that is at work has not yet answered what was typed. */
	if ((typed && job->prompt.not_reading) || !has_news(call))
		return end;
	return earlier(end,
	    call->watch.printed_at + (typed ? QUIET_TYPED : QUIET));
}

/* Returns when a call that holds a job is answered. */
static int64_t
job_answer_at(const struct call *call, int64_t now)
{
	const struct job *job = call->job;
	bool may_end;

	/* due.c decides when the session ends or hands over a command (K2). */
	if (job->state == JOB_QUEUED || job->state == JOB_RUNNING)
		return NEVER;
	if (job->state == JOB_FINISHED)
		return NOW;
	/* A command in the foreground has become a task (E5). */
	if (call->request.action == CALL_RUN && !job->background)
		return NOW;
	if (call->request.action != CALL_KILL)
		return task_answer_at(call, now);
	/* A kill of another user's task is given up if boris cannot end it. */
	may_end = job->kill_requested && job->exec.foreign;
	return job_survives(job) && !may_end ? NOW : NEVER;
}

/* Returns when a list of the tasks is answered: at the end of any task, as long
 * as one runs (T7). */
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
	due.by_limit = due.answer_at == call->answer_by && call->answer_by != NEVER;
	if (call->token.len > 0 && !call->orphaned)
		due.progress_at = call->progress_at;
	return due;
}
