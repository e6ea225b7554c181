/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "session/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/message.h"
#include "json.h"

enum { LOCK_TIME = 1000 };  /* maximum time to wait for the lock on the log, in
                             * ms */

struct log {
	int fd;          /* descriptor of the log; 2 means stderr, which boris
	                  * may share with other processes */
	bool torn;       /* the last record was only partly written */
	bool lock_busy;  /* another process still has the lock */
};

/* Returns whether records can be appended to the file. A FIFO is rejected,
 * because writing to it could block. */
static bool
is_log_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode);
}

const char *
log_open(struct log **log, const char *file)
{
	int fd = 2;

	if (strcmp(file, "/dev/stderr") != 0) {
		fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_NOCTTY |
		    O_NONBLOCK | O_CLOEXEC, 0600);
		if (fd < 0)
			return strerror(errno);
		if (!is_log_file(fd)) {
			close(fd);
			return "must be a regular file or a character device";
		}
	}
	if (*log == NULL)
		*log = mem_get(sizeof(**log));
	else if ((*log)->fd != 2)
		close((*log)->fd);
	(*log)->fd = fd;
	return NULL;
}

/* Starts a record with the JSON members that all records have. The record
 * begins with a newline, which ends an incomplete line left by an earlier
 * write. If there is no such line, write_record() omits the newline. Returns
 * false if there is no log. */
static bool
log_begin(struct buf *b, const struct job *job, const char *event)
{
	if (job->options->log == NULL)
		return false;
	buf_fmt(b, "\n{\"time\":\"");
	clock_date(b);
	buf_fmt(b, "\"");
	json_put(b, "event", event);
	json_put(b, "session", job->session + 8);
	if (job->log_number > 0)
		json_put_number(b, "call", job->log_number);
	if (job_has_id(job))
		json_put(b, "task_id", job->id);
	if (job->exec.pid > 0)
		json_put_number(b, "pid", job->exec.pid);
	return true;
}

/* Locks the log. The kernel writes a record page by page, so without the lock,
 * boris could mistake a record that another server is writing for an incomplete
 * line. boris waits at most LOCK_TIME and then continues without the lock,
 * because any process that can open the log can keep it locked. */
static void
lock_file(struct log *log)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int tries = log->lock_busy ? 1 : LOCK_TIME;  /* one per millisecond */

	for (; tries > 0; tries--) {
		log->lock_busy = fcntl(log->fd, F_SETLK, &lock) < 0 &&
		    (errno == EAGAIN || errno == EACCES);
		if (!log->lock_busy)
			return;
		poll(NULL, 0, 1);
	}
}

static void
unlock_file(struct log *log)
{
	struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	fcntl(log->fd, F_SETLK, &lock);
}

/* Returns whether the log ends with an incomplete line, for instance after the
 * disk was full. In that case, the next record must begin with a newline.
 * Returns true if the last byte cannot be read, because an extra newline does
 * no harm. */
static bool
ends_torn(int fd)
{
	char last = '\0';
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size == 0)
		return false;
	return pread(fd, &last, 1, st.st_size - 1) < 1 || last != '\n';
}

/* Writes the record with one write(), so that it is not interleaved with those
 * of other processes. Omits the newline at the start of the record, unless the
 * log ends with an incomplete line. Returns 0, or -1 with errno set. */
static int
write_record(struct log *log, struct buf *b)
{
	bool is_stderr = log->fd == 2;
	ssize_t done;

	buf_drop(b, log->torn ? 0 : 1);
	if (is_stderr)
		done = (ssize_t)stderr_write(b->data, b->len);
	else
		done = write(log->fd, b->data, b->len);
	if (done > 0)
		log->torn = done < (ssize_t)b->len;
	if (done == (ssize_t)b->len)
		return 0;
	if (done > 0 && !is_stderr)
		errno = ENOSPC;
	return -1;
}

/* Completes the record, writes it to the log, and frees it. Returns 0, or -1
 * with errno set. */
static int
log_finish(struct buf *b, const struct job *job)
{
	struct log *log = job->options->log;
	int result, error;

	buf_fmt(b, "}\n");
	if (log->fd == 2) {
		result = write_record(log, b);
		error = errno;
	} else {
		lock_file(log);
		log->torn = ends_torn(log->fd);
		result = write_record(log, b);
		error = errno;
		unlock_file(log);
	}
	buf_free(b);
	errno = error;
	return result;
}

/* Frees an incomplete record after an allocation failure, for instance when a
 * client sends a very long command (E7). Returns -1 with errno set. */
static int
log_give_up(struct buf *b)
{
	buf_free(b);
	errno = ENOMEM;
	return -1;
}

/* Appends the JSON members that describe a command. Returns false if allocation
 * fails. */
static bool
put_command(struct buf *b, const struct job *job, const char *dir)
{
	json_put(b, "cwd", dir);
	json_put_true(b, "tty", job->exec.terminal);
	json_put_true(b, "background", job->background);
	return json_try_bytes(b, "command", job->exec.text.data,
	    job->exec.text.len);
}

int
log_start(const struct job *job, const char *event, const char *path)
{
	struct buf b = { NULL, 0, 0 };

	if (!log_begin(&b, job, event))
		return 0;
	if (job->do_work != NULL)
		json_put(&b, "path", path);
	else if (!put_command(&b, job, path))
		return log_give_up(&b);
	if (job->client.len > 0) {
		buf_putc(&b, ',');
		buf_put(&b, job->client.data, job->client.len);
	}
	return log_finish(&b, job);
}

int
log_input(const struct job *job, const struct buf *text, bool secret)
{
	struct buf b = { NULL, 0, 0 };

	if (!log_begin(&b, job, "input"))
		return 0;
	json_put_true(&b, "secret", secret);
	if (!secret && !json_try_bytes(&b, "input", text->data, text->len))
		return log_give_up(&b);
	return log_finish(&b, job);
}

int
log_user_input(const struct job *job)
{
	struct buf b = { NULL, 0, 0 };

	if (!log_begin(&b, job, "input"))
		return 0;
	json_put_true(&b, "secret", true);
	json_put(&b, "by", "user");
	return log_finish(&b, job);
}

/* If boris cannot terminate the command, appends a note that says why (E12). */
static void
put_survivor(struct buf *b, const struct job *job)
{
	struct buf note = { NULL, 0, 0 };

	if (!job_survives(job))
		return;
	exec_put_survivor(&job->exec, &note);
	json_put_bytes(b, "note", note.data, note.len);
	buf_free(&note);
}

void
log_survivor(const struct job *job)
{
	struct buf b = { NULL, 0, 0 };

	if (!log_begin(&b, job, "not_killed"))
		return;
	if (job->exec.survivor > 0)
		json_put_number(&b, "survivor_pid", job->exec.survivor);
	put_survivor(&b, job);
	log_finish(&b, job);
}

void
log_end(const struct job *job, const char *status, const char *error,
        const char *path, int64_t now)
{
	struct buf b = { NULL, 0, 0 };

	if (!log_begin(&b, job, "end"))
		return;
	json_put(&b, "status", status);
	json_put(&b, "error", error);
	json_put(&b, "path", path);
	if (job->exec.ended && job->exec.shell_ended) {
		json_put_number(&b, "exit_code", job->exec.status);
		json_put(&b, "signal", exec_signal(&job->exec));
	}
	put_survivor(&b, job);
	if (job->started_at > 0)
		json_put_number(&b, "elapsed_ms", job_elapsed(job, now));
	if (job->exec.pid > 0) {
		json_put_number(&b, "stdout_bytes",
		    output_bytes(job->out.text));
		json_put_number(&b, "stderr_bytes",
		    output_bytes(job->err.text));
	}
	/* Failure to log the end can be ignored, because the log already
	 * contains the start of the job. */
	log_finish(&b, job);
}
