#define _POSIX_C_SOURCE 200809L

#include "session/due.h"

#include "base/io.h"

enum {
	PARALLEL_MOST = 16,  /* commands in the foreground in parallel (D7) */
	DUE_SOON = 10000,    /* ms; a timeout due so soon is waited for (K2) */
	START_LEAST = 1000   /* ms; a job that cannot become a task is started
	                      * only if its call stays open for so long (K2) */
};

/* Returns that this is due now. */
static struct job_due
due_now(enum job_action action, int64_t now)
{
	return (struct job_due){ action, now };
}

/* Returns that nothing is due before that time. */
static struct job_due
due_later(int64_t at)
{
	return (struct job_due){ JOB_WAIT, at };
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
is_held(const struct job *job, const struct job_order *order)
{
	return order->held && job->work_at == 0;
}

static bool
can_start(const struct job *job, const struct job_order *order)
{
	if (!job->parallel)
		return order->ordered == 0 && !order->paused &&
		    !is_held(job, order);
	return job->background || order->parallel < PARALLEL_MOST;
}

/* Returns whether a queued job has little time left until its client stops
 * waiting: less than START_LEAST, and less than it has waited. It has enough
 * time if the command's own timeout ends before the client stops waiting, or at
 * most DUE_SOON later, because boris then waits for that timeout (K2). */
static bool
has_little_time(const struct job *job, int64_t now)
{
	int64_t left = job->hand_over_at - now;
	int64_t waited = now - job->queued_at;

	if (left >= START_LEAST || left >= waited)
		return false;
	return job->timeout > left + DUE_SOON;
}

/* Returns how to start a job whose turn has come. */
static enum job_action
choose_start(const struct job *job, const struct job_order *order, int64_t now)
{
	if (job->background)
		return order->tasks_full ? JOB_REJECT_TASK : JOB_START;
	if (job->do_work != NULL)
		return JOB_DO_WORK;
	if (is_overdue(job, now))
		return order->tasks_full ? JOB_REJECT_LATE : JOB_START_LATE;
	/* It could not become a task, and would be terminated soon. */
	if (order->tasks_full && has_little_time(job, now))
		return JOB_REJECT_LATE;
	return JOB_START;
}

struct job_due
due_queued(const struct job *job, const struct job_order *order, int64_t now)
{
	if (job->work_at > now)
		return due_later(job->work_at);
	if (can_start(job, order))
		return due_now(choose_start(job, order, now), now);
	if (!is_overdue(job, now))
		return due_later(job->hand_over_at);
	/* The end of the pause makes boris decide again. Then its turn may
	 * come, so it needs no timer. */
	if (!job->parallel && order->paused)
		return due_later(NEVER);
	return due_now(JOB_GIVE_UP, now);
}

/* Returns what the timeout of a job leads to. */
static enum job_action
choose_timeout(const struct job *job)
{
	if (job->state == JOB_RUNNING && job->options->on_timeout)
		return JOB_KEEP;
	return JOB_TIME_OUT;
}

struct job_due
due_started(const struct job *job, int64_t now)
{
	if (job->state == JOB_FINISHED)
		return due_later(NEVER);
	if (job->exec.ended && job->exec.outcome.error != 0)
		return due_now(JOB_FAIL, now);
	if (job->exec.ended)
		return due_now(JOB_END, now);
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
	if (job->deadline <= now + DUE_SOON)
		return due_later(job->deadline);
	return due_now(JOB_HAND_OVER, now);
}
