#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* SIGTRAP on FreeBSD */

#include "job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SHOWN = 400 };  /* bytes of the last line, at most */

void
job_request_free(struct job_request *asked)
{
	buf_free(&asked->text);
	buf_free(&asked->input);
	buf_free(&asked->description);
	buf_free(&asked->client);
	edit_free(asked->edit);
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

const char *
job_status(const struct job *job, bool ended)
{
	if (!ended)
		return "running";
	if (job->killed)
		return "killed";
	return job->timed_out ? "timed_out" : "completed";
}

const char *
job_signal(const struct job *job)
{
#define NAME(sig) [sig] = #sig
	static const char *const names[] = {
		NAME(SIGHUP), NAME(SIGINT), NAME(SIGQUIT), NAME(SIGILL),
		NAME(SIGTRAP), NAME(SIGABRT), NAME(SIGBUS), NAME(SIGFPE),
		NAME(SIGKILL), NAME(SIGUSR1), NAME(SIGSEGV), NAME(SIGUSR2),
		NAME(SIGPIPE), NAME(SIGALRM), NAME(SIGTERM), NAME(SIGXCPU),
		NAME(SIGXFSZ), NAME(SIGVTALRM), NAME(SIGPROF), NAME(SIGSYS)
	};
	size_t sig = (size_t)job->end.status - 128;

	return sig < sizeof(names) / sizeof(names[0]) ? names[sig] : NULL;
}

void
job_last_line(const struct job *job, struct buf *b)
{
	struct output_cursor start = { 0, 0, 0, 0 };
	size_t line;

	output_since(job->out.text, &start, LINE_SHOWN, b);
	while (b->len > 0 && b->data[b->len - 1] == '\n')
		b->len--;
	for (line = b->len; line > 0 && b->data[line - 1] != '\n'; line--)
		;
	buf_drop(b, line);
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

bool
job_takes_input(const struct job *job)
{
	return job->asked.terminal && job->state == JOB_TASK;
}

int
job_type(struct job *job, const struct buf *text, int64_t now, bool *echoed)
{
	if (job_takes_input(job))
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
	struct exec_prompt p = { TERMINAL_BUSY, false, true, 0, NEVER };

	if (job->state == JOB_TASK)
		p = exec_prompts(job->own.exec, now);
	return p;
}
