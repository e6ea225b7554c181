/* SPDX-License-Identifier: ISC */
/* Decides when a job is started, and how long the next job waits for it.
 *
 * A session starts its jobs one by one, in the order of their requests, since
 * each command starts in the directory in which the one before it has ended
 * (P7). A job with an absolute `cwd` does not depend on that directory, so it
 * runs in parallel with the queue. A task runs in the background, so the queue
 * waits only for its start.
 *
 * A client waits for the response to a call only until job->hand_over_at (K2).
 * What happens at that time depends on the state of the job:
 *
 *   running        The job becomes a task (a hand-over), and the next job
 *                  starts. If its own timeout expires soon, boris waits for
 *                  that timeout instead.
 *   next to start  The job is started and handed over at once.
 *   queued         The job is rejected.
 *
 * If the maximum number of tasks is running, a job cannot be handed over and is
 * terminated instead. A job that would soon be terminated is not started. */
#define _POSIX_C_SOURCE 200809L

#include "session/due.h"

#include "base/io.h"

enum {
	PARALLEL_MAX = 16,     /* maximum number of foreground commands that run
	                        * in parallel (D7) */
	TIMEOUT_SOON = 10000,  /* if a command's timeout expires within this
	                        * time, in ms, boris waits for it instead of
	                        * making the command a task (K2) */
	START_MIN = 1000       /* minimum time that a call must stay open to
	                        * start a job that cannot become a task, in ms
	                        * (K2) */
};

/* Returns an action that is due now. */
static struct job_due
due_now(enum due_action action, int64_t now)
{
	return (struct job_due){ action, now };
}

/* Returns the decision to do nothing before the time `at`, in ms. */
static struct job_due
due_later(int64_t at)
{
	return (struct job_due){ DUE_NOTHING, at };
}

/* Returns whether the client has stopped waiting for the job. */
static bool
is_overdue(const struct job *job, int64_t now)
{
	return now >= job->hand_over_at;
}

/* Returns whether the job must wait because an earlier edit waits for a locked
 * file. */
static bool
waits_for_edit(const struct job *job, const struct queue_state *queue)
{
	return queue->edit_waits && !job_is_waiting_edit(job);
}

static bool
can_start(const struct job *job, const struct queue_state *queue)
{
	if (!job->parallel)
		return queue->running_in_order == 0 && !queue->paused &&
		    !waits_for_edit(job, queue);
	return job->background || queue->running_parallel < PARALLEL_MAX;
}

/* Returns whether too little time is left to start a queued job before its
 * client stops waiting. Returns false if the command's own timeout expires at
 * most TIMEOUT_SOON later, because boris waits for that timeout (K2). */
static bool
has_little_time(const struct job *job, int64_t now)
{
	int64_t left = job->hand_over_at - now;
	int64_t waited = now - job->queued_at;

	if (left >= START_MIN || left >= waited)
		return false;
	return job->timeout > left + TIMEOUT_SOON;
}

/* Decides how to start the next job in the queue, or why to reject it. */
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
	/* Do not start a job that would soon be terminated because it cannot
	 * become a task. */
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
	/* No timer is needed, because boris decides again when the pause of the
	 * queue ends. */
	if (!job->parallel && queue->paused)
		return due_later(NEVER);
	return due_now(DUE_GIVE_UP, now);
}

/* Returns the action that is due when the timeout of the job expires. */
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
	/* Take no further action while the command is being terminated. */
	if (job->exec.state != EXEC_RUNNING)
		return due_later(NEVER);
	if (now >= job->deadline)
		return due_now(choose_timeout(job), now);
	if (job->state != JOB_RUNNING)
		return due_later(job->deadline);
	if (!is_overdue(job, now))
		return due_later(job->hand_over_at < job->deadline
		    ? job->hand_over_at : job->deadline);
	/* If the command's timeout expires soon, wait for it (K2). */
	if (job->deadline <= now + TIMEOUT_SOON)
		return due_later(job->deadline);
	return due_now(DUE_HAND_OVER, now);
}
