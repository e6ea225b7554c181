#define _POSIX_C_SOURCE 200809L

#include "session/due.h"

#include "base/io.h"

enum {
	PARALLEL_MAX = 16,  /* commands in the foreground in parallel (D7) */
	TIMEOUT_SOON = 10000,    /* ms; a timeout due so soon is waited for (K2) */
	START_MIN = 1000   /* ms; a job that cannot become a task is started
	                      * only if its call stays open for so long (K2) */
};

/* Returns that this is due now. */
static struct job_due
due_now(enum due_action action, int64_t now)
{
	return (struct job_due){ action, now };
}

/* Returns that nothing is due before that time. */
static struct job_due
due_later(int64_t at)
{
	return (struct job_due){ DUE_NOTHING, at };
}

/* Returns whether the call of the job has been open for as long as its client
 * waits. */
static bool
is_overdue(const struct job *job, int64_t now)
{
	return now >= job->hand_over_at;
}

/* Returns whether an edit has begun before this job, and waits. */
static bool
waits_for_edit(const struct job *job, const struct queue_state *queue)
{
	return queue->edit_waits && job->work_at == 0;
}

static bool
can_start(const struct job *job, const struct queue_state *queue)
{
	if (!job->parallel)
		return queue->running_in_order == 0 && !queue->paused &&
		    !waits_for_edit(job, queue);
	return job->background || queue->running_parallel < PARALLEL_MAX;
}

/* Returns whether a queued job has little time left until its client stops
 * waiting: less than START_MIN, and less than it has waited. It has enough
 * time if the command's own timeout ends before the client stops waiting, or at
 * most TIMEOUT_SOON later, because boris then waits for that timeout (K2). */
static bool
has_little_time(const struct job *job, int64_t now)
{
	int64_t left = job->hand_over_at - now;
	int64_t waited = now - job->queued_at;

	if (left >= START_MIN || left >= waited)
		return false;
	return job->timeout > left + TIMEOUT_SOON;
}

/* Returns how to start a job whose turn has come. */
static enum due_action
choose_start(const struct job *job, const struct queue_state *queue,
             int64_t now)
{
	if (job->background)
		return queue->tasks_full ? DUE_REJECT_TASK : DUE_START;
	if (job->do_work != NULL)
		return DUE_WORK;
	if (is_overdue(job, now))
		return queue->tasks_full ? DUE_REJECT_LATE : DUE_START_LATE;
	/* It could not become a task, and would be terminated soon. */
	if (queue->tasks_full && has_little_time(job, now))
		return DUE_REJECT_LATE;
	return DUE_START;
}

struct job_due
due_queued(const struct job *job, const struct queue_state *queue, int64_t now)
{
	if (job->work_at > now)
		return due_later(job->work_at);
	if (can_start(job, queue))
		return due_now(choose_start(job, queue, now), now);
	if (!is_overdue(job, now))
		return due_later(job->hand_over_at);
	/* The end of the pause makes boris decide again. Then its turn may
	 * come, so it needs no timer. */
	if (!job->parallel && queue->paused)
		return due_later(NEVER);
	return due_now(DUE_GIVE_UP, now);
}

/* Returns what the timeout of a job leads to. */
static enum due_action
choose_timeout(const struct job *job)
{
	if (job->state == JOB_RUNNING && job->options->on_timeout)
		return DUE_KEEP;
	return DUE_TIME_OUT;
}

struct job_due
due_started(const struct job *job, int64_t now)
{
	if (job->state == JOB_FINISHED)
		return due_later(NEVER);
	if (job->exec.ended && job->exec.outcome.error != 0)
		return due_now(DUE_FAIL, now);
	if (job->exec.ended)
		return due_now(DUE_END, now);
	/* A command that is already ending is left alone. */
	if (job->exec.state != EXEC_RUNNING)
		return due_later(NEVER);
	if (now >= job->deadline)
		return due_now(choose_timeout(job), now);
	if (job->state != JOB_RUNNING)
		return due_later(job->deadline);
	if (!is_overdue(job, now))
		return due_later(job->hand_over_at < job->deadline
		    ? job->hand_over_at : job->deadline);
	/* A timeout that is near is waited for (K2). */
	if (job->deadline <= now + TIMEOUT_SOON)
		return due_later(job->deadline);
	return due_now(DUE_HAND_OVER, now);
}
