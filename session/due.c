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
	PARALLEL_MAX = 16,     /* maximum number of foreground commands running
	                        * in parallel (D7) */
	TIMEOUT_SOON = 10000,  /* maximum time, in ms, for which a call is held
	                        * open beyond `call_limit` to wait for its
	                        * command's own timeout (K2) */
	START_MIN = 1000       /* minimum time, in ms, that must be left for a
	                        * call before boris starts a job that cannot
	                        * become a task (K2) */
};

/* Returns the given action, due at the time `now`, in ms. */
static struct job_due
due_now(enum due_action action, int64_t now)
{
	return (struct job_due){ action, now };
}

/* Returns DUE_NOTHING with `at`, the time at which to reconsider the job, in ms
 * or NEVER. */
static struct job_due
due_later(int64_t at)
{
	return (struct job_due){ DUE_NOTHING, at };
}

/* Returns whether the client is no longer waiting for the job. */
static bool
is_overdue(const struct job *job, int64_t now)
{
	return now >= job->hand_over_at;
}

/* Returns whether the job must wait because an earlier edit is waiting for a
 * locked file. */
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
 * client stops waiting, at job->hand_over_at: less than START_MIN, and less
 * than the job has already waited. If the command's own timeout would expire at
 * most TIMEOUT_SOON after that time, boris waits for the timeout, so the time
 * suffices (K2). */
static bool
has_little_time(const struct job *job, int64_t now)
{
	int64_t left = job->hand_over_at - now;
	int64_t waited = now - job->queued_at;

	if (left >= START_MIN || left >= waited)
		return false;
	return job->timeout > left + TIMEOUT_SOON;
}

/* Chooses the action that starts or rejects the next queued job. */
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
	/* Do not start a job shortly before its client stops waiting if the
	 * maximum number of tasks is running. The job could not become a task,
	 * so boris would terminate it. */
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
	/* While the queue is paused, the job needs no timer. When the pause
	 * ends, the event loop wakes up and reconsiders the job. */
	if (!job->parallel && queue->paused)
		return due_later(NEVER);
	return due_now(DUE_GIVE_UP, now);
}

/* Returns the action for a job whose timeout has expired. */
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
	/* Do nothing more while the command is being terminated. */
	if (job->exec.state != EXEC_RUNNING)
		return due_later(NEVER);
	if (now >= job->deadline)
		return due_now(choose_timeout(job), now);
	if (job->state != JOB_RUNNING)
		return due_later(job->deadline);
	if (!is_overdue(job, now))
		return due_later(job->hand_over_at < job->deadline
		    ? job->hand_over_at : job->deadline);
	/* If the command's timeout is about to expire, wait until it does
	 * (K2). */
	if (job->deadline <= now + TIMEOUT_SOON)
		return due_later(job->deadline);
	return due_now(DUE_HAND_OVER, now);
}
