#define _POSIX_C_SOURCE 200809L

#include "job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

void
job_request_free(struct job_request *asked)
{
	buf_free(&asked->text);
	buf_free(&asked->input);
	buf_free(&asked->description);
	free(asked->cwd);
	memset(asked, 0, sizeof(*asked));
}

void
job_free(struct job *job)
{
	output_free(job->out.text);
	output_free(job->err.text);
	job_request_free(&job->asked);
	free(job->dir);
	free(job->end.dir);
	free(job);
}

bool
job_is_task(const struct job *job)
{
	return job->id[0] != '\0';
}

int64_t
job_elapsed(const struct job *job, int64_t now)
{
	return (job->ended > 0 ? job->ended : now) - job->started;
}

bool
job_killed_by_others(const struct job *job)
{
	return job->end.signalled && !job->timed_out && !job->killed &&
	    !(job->asked.terminal && (job->end.status == 128 + SIGINT ||
	    job->end.status == 128 + SIGQUIT));
}

void
job_read(struct job *job, int64_t now)
{
	if (job->own.exec != NULL)
		exec_read(job->own.exec, now);
}

int
job_type(struct job *job, const struct buf *text, int64_t now, bool *echoed)
{
	if (job->asked.terminal && job->state == JOB_TASK)
		return exec_type(job->own.exec, text, now, echoed);
	errno = job->asked.terminal ? EPIPE : ENOTTY;
	return -1;
}

bool
job_reads_keys(const struct job *job)
{
	return job->state == JOB_TASK && exec_reads_keys(job->own.exec);
}

struct exec_prompt
job_prompts(const struct job *job, int64_t now)
{
	struct exec_prompt p = { TERMINAL_BUSY, false, 0, NEVER };

	if (job->state == JOB_TASK)
		p = exec_prompts(job->own.exec, now);
	return p;
}
