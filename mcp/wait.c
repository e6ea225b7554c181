/* SPDX-License-Identifier: ISC */
/* Decides when a call is answered. That depends on what the call requests:
 *
 *   run a command   when the command has ended or has become a task
 *   start a task    at once, or after a wait for the task
 *   read a task,    after a wait for the task, which ends when the task ends,
 *   type into it    when the `until` text is printed, when a program in the
 *                   terminal is waiting for input, when output stops after new
 *                   output, or when the time is up, whichever happens first
 *                   (W2, W3)
 *   kill a task     when the task has ended, or boris cannot terminate it
 *                   (T4)
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
	QUIET = 300,         /* pause in the output, in ms, that ends a wait for
	                      * new output (W2) */
	QUIET_TYPED = 2000,  /* pause in the output, in ms, that ends a wait for
	                      * new output after `input` was typed (W2) */
	BURST = 100          /* delay, in ms, from the appearance of the `until`
	                      * text to the response, so that the rest of the
	                      * line can arrive (W3) */
};

/* When the response to a call is due, and why */
struct answer {
	int64_t at;  /* time in ms; see struct call_due */
	bool by_limit;
};

/* Returns a struct answer for a response that is due at the given time, in ms.
 * The member `by_limit` is false, because the time does not result from the
 * client's timeout. */
static struct answer
answer_at(int64_t at)
{
	return (struct answer){ at, false };
}

/* Returns when the call's wait ends: at the end of the requested time, or when
 * the client stops waiting, whichever is earlier. */
static struct answer
end_of_wait(const struct call *call)
{
	int64_t end = call->wait_until;

	if (call->orphaned)
		return answer_at(NOW);
	/* If the call starts the task, the waiting time is counted from the
	 * start of the command. */
	if (call->request.action == CALL_RUN && call->job != NULL)
		end = call->job->started_at + call->request.time;
	if (call->answer_by != NEVER && call->answer_by <= end)
		return (struct answer){ call->answer_by, true };
	return answer_at(end);
}

/* Returns whether a program in the terminal is waiting for input and no earlier
 * result has reported this prompt. For a call with `until`, returns true only
 * if boris is certain that the program is waiting. */
static bool
has_new_prompt(const struct call *call)
{
	const struct job *job = call->job;
	const struct prompt *p = &job->prompt;

	if (p->state == TERMINAL_BUSY || p->since == job->asked_at)
		return false;
	return p->state == TERMINAL_PROMPTS || call->request.until.len == 0;
}

/* Returns whether a result sent now would show output that no earlier result
 * has shown. */
static bool
has_unseen_output(const struct job *job)
{
	if (job->out.text == NULL)
		return false;
	return output_has_new_to_show(job->out.text, &job->out.seen) ||
	    output_has_new_to_show(job->err.text, &job->err.seen);
}

/* Returns whether the call is waiting for new output and the command has
 * printed some. */
static bool
has_new_output(const struct call *call)
{
	if (call->request.until.len > 0 || !call->request.only_new)
		return false;
	return call->watch.new_output && has_unseen_output(call->job);
}

/* Returns when to respond to a call that starts, reads or types into a running
 * task. */
static struct answer
task_answer(const struct call *call, int64_t now)
{
	bool typed = call->request.action == CALL_TYPE;
	const struct job *job = call->job;
	struct answer end = end_of_wait(call);
	int64_t quiet_at;

	/* Wait for the program to start, because the result reports whether it
	 * did. */
	if (call->request.action == CALL_RUN && job_is_starting(job, now))
		return answer_at(NEVER);
	if (call->watch.seen_at > 0)
		return answer_at(call->watch.seen_at + BURST);
	if (has_new_prompt(call))
		return answer_at(NOW);
	/* As long as the program is not reading from the terminal, a pause in
	 * its output does not mean that its response to the input is
	 * complete. */
	if ((typed && job->prompt.not_reading) || !has_new_output(call))
		return end;
	quiet_at = call->watch.printed_at + (typed ? QUIET_TYPED : QUIET);
	return quiet_at < end.at ? answer_at(quiet_at) : end;
}

/* Returns when to respond to a call that kills a task. If boris cannot
 * terminate the task, the response is due at once. Otherwise, the response is
 * due when the task has ended or the client stops waiting (T4, K2). */
static struct answer
kill_answer(const struct call *call)
{
	const struct job *job = call->job;
	/* If the process belongs to another user, wait until the session has
	 * given up trying to kill it. */
	bool may_end = job->kill_requested && job->exec.foreign;

	if (job_survives(job) && !may_end)
		return answer_at(NOW);
	if (call->answer_by != NEVER)
		return (struct answer){ call->answer_by, true };
	return answer_at(NEVER);
}

/* Returns when to respond to a call that runs a command or an edit, or that
 * reads, kills or types into a task. */
static struct answer
job_answer(const struct call *call, int64_t now)
{
	const struct job *job = call->job;

	/* Wait until the command ends or becomes a task (K2). */
	if (job->state == JOB_QUEUED || job->state == JOB_RUNNING)
		return answer_at(NEVER);
	if (job->state == JOB_FINISHED)
		return answer_at(NOW);
	/* The foreground command has just become a task (E5). */
	if (call->request.action == CALL_RUN && !job->background)
		return answer_at(NOW);
	if (call->request.action == CALL_KILL)
		return kill_answer(call);
	return task_answer(call, now);
}

/* Returns when to respond to a call that lists tasks: at once if a task has
 * ended or no task is running, and otherwise at the end of the wait (T7). */
static struct answer
list_answer(const struct call *call, const struct session *s)
{
	const struct job *job = session_next_task(s, NULL);

	/* Compare the numbers of ended tasks, because a task that has ended
	 * during the wait is no longer in the session if another call has read
	 * the task's result. */
	if (s->tasks_ended != call->tasks_ended)
		return answer_at(NOW);
	while (job != NULL && job->state == JOB_TASK)
		job = session_next_task(s, job);
	if (job != NULL || s->tasks == 0)
		return answer_at(NOW);
	return end_of_wait(call);
}

struct call_due
wait_due(const struct call *call, const struct session *s, int64_t now)
{
	struct call_due due = { NEVER, false, NEVER };
	struct answer answer;

	if (call->tool == NULL)
		return due;
	answer = call->job != NULL ? job_answer(call, now)
	    : list_answer(call, s);
	due.answer_at = answer.at;
	due.by_limit = answer.by_limit;
	if (call->token.len > 0 && !call->orphaned)
		due.progress_at = call->progress_at;
	return due;
}
