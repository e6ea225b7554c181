#define _POSIX_C_SOURCE 200809L

#include "records.h"

#include <string.h>

/* As far as the job has them: "call", "task_id", "pid" */
static struct record
begin(const struct log_session *s, const struct job *job, const char *event)
{
	struct record r = log_begin(s, event);

	if (job->call > 0)
		log_number(&r, "call", job->call);
	if (job_is_task(job))
		log_text(&r, "task_id", job->id);
	if (job->end.pid > 0)
		log_number(&r, "pid", job->end.pid);
	return r;
}

int
record_start(const struct log_session *s, const struct job *job,
             const char *dir)
{
	struct record r = begin(s, job, "start");

	log_text(&r, "cwd", dir);
	log_flag(&r, "tty", job->asked.terminal);
	log_flag(&r, "background", job->asked.background);
	log_string(&r, "command", job->asked.text.data, job->asked.text.len);
	log_members(&r, &job->asked.client);
	return log_end(&r);
}

int
record_edit(const struct log_session *s, const struct job *job)
{
	struct record r = begin(s, job, "edit");

	log_text(&r, "path", job->asked.edit->path);
	log_members(&r, &job->asked.client);
	return log_end(&r);
}

int
record_input(const struct log_session *s, const struct job *job,
             const struct buf *text, const struct buf *client, int64_t now)
{
	struct record r;

	if (s->log == NULL)
		return 0;  /* without a look at the terminal */
	r = begin(s, job, "input");
	if (client == NULL || job_prompts(job, now).secret)
		log_flag(&r, "secret", true);
	else
		log_string(&r, "input", text->data, text->len);
	if (client == NULL)
		log_text(&r, "by", "user");
	else
		log_members(&r, client);
	return log_end(&r);
}

void
record_end(const struct log_session *s, const struct job *job, int64_t now)
{
	struct record r = begin(s, job, "end");

	log_text(&r, "status", job->own.cancelled ? "cancelled"
	    : job->refused != JOB_ACCEPTED ? "not_started"
	    : job_status(job, job->state == JOB_FINISHED));
	if (job->refused != JOB_ACCEPTED) {
		log_text(&r, "error", strerror(job->error));
	} else {
		if (job->end.ended) {
			log_number(&r, "exit_code", job->end.status);
			log_text(&r, "signal", job_signal(job));
		}
		log_number(&r, "elapsed_ms", job_elapsed(job, now));
		log_number(&r, "stdout_bytes", output_bytes(job->out.text));
		log_number(&r, "stderr_bytes", output_bytes(job->err.text));
	}
	/* If it can't be written: its start says what was done. */
	log_end(&r);
}

void
record_refused(const struct log_session *s, const struct job *job,
               const struct buf *client, struct json error)
{
	struct record r = job != NULL ? begin(s, job, "refused")
	    : log_begin(s, "refused");

	if (job != NULL && job->call == 0)
		log_string(&r, "command", job->asked.text.data,
		    job->asked.text.len);
	log_json(&r, "error", error);
	log_members(&r, client);
	/* If it can't be written: nothing was done. */
	log_end(&r);
}
