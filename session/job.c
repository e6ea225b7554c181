/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "session/job.h"

#include <stdlib.h>
#include <string.h>

struct job *
job_new(const struct options *options)
{
	struct job *job = mem_get(sizeof(*job));

	job->options = options;
	job->hand_over_at = NEVER;
	return job;
}

void
job_free(struct job *job)
{
	if (job == NULL)
		return;
	if (job->work != NULL)
		job->free_work(job->work);
	output_free(job->out.text);
	output_free(job->err.text);
	buf_free(&job->exec.text);
	buf_free(&job->exec.input);
	buf_free(&job->description);
	buf_free(&job->client);
	buf_free(&job->typed);
	free(job->exec.pipeline);
	free(job->exec.dir);
	free(job->cwd);
	free(job->start_dir);
	unread_close(&job->out.seen);
	unread_close(&job->err.seen);
	free(job->tracked_dir);
	free(job->dir);
	free(job);
}

size_t
job_bytes(const struct job *job)
{
	return sizeof(*job) + job->work_bytes + job->exec.text.cap +
	    job->exec.input.cap + job->client.cap + job->description.cap +
	    (job->cwd != NULL ? strlen(job->cwd) : 0);
}

bool
job_has_id(const struct job *job)
{
	return job->id[0] != '\0';
}

int64_t
job_elapsed(const struct job *job, int64_t now)
{
	return (job->ended_at > 0 ? job->ended_at : now) - job->started_at;
}

int64_t
job_queued(const struct job *job)
{
	return (job->started_at > 0 ? job->started_at : job->ended_at) -
	    job->queued_at;
}

const char *
job_status(const struct job *job, bool ended)
{
	/* If boris could not kill the command, the command may still be running
	 * even though the job has ended. */
	if (!ended || (job->kill_requested && !job->exec.shell_ended))
		return "running";
	if (job->rejected != REJECT_NONE)
		return "not_run";
	if (job->kill_requested)
		return "killed";
	return job->timed_out ? "timed_out" : "completed";
}

bool
job_survives(const struct job *job)
{
	return job->exec.state == EXEC_SURVIVED;
}

bool
job_is_waiting_edit(const struct job *job)
{
	return job->work_at > 0;
}

bool
job_is_starting(const struct job *job, int64_t now)
{
	return job->exec.starting && now < job->started_at + JOB_START_WAIT;
}

bool
job_dir_hangs(const struct job *job, int64_t now)
{
	return job->exec.starting && now >= job->started_at + JOB_START_WAIT;
}

bool
job_takes_input(const struct job *job)
{
	return job->exec.terminal && job->state == JOB_TASK;
}

void
job_read_prompt(struct job *job, int64_t now)
{
	if (!job_takes_input(job))
		return;
	if (job->refs > 0)
		job->prompt = exec_read_prompt(&job->exec, now);
	else
		job->prompt = exec_read_secret_prompt(&job->exec, now);
}

void
job_mark_output_reported(struct job *job)
{
	if (job->out.text == NULL || job->state == JOB_FINISHED)
		return;
	output_mark_shown(job->out.text, &job->out.seen);
	output_mark_shown(job->err.text, &job->err.seen);
}

void
job_mark_prompt_reported(struct job *job, const struct prompt *prompt)
{
	if (prompt->state == TERMINAL_BUSY)
		return;
	job->prompt_reported = true;
	job->asked_at = prompt->since;
}

void
job_mark_prompt_lost(struct job *job, const struct prompt *prompt)
{
	if (prompt->state == TERMINAL_BUSY || prompt->since != job->asked_at)
		return;
	job->prompt_reported = false;
	job->asked_at = 0;
}
