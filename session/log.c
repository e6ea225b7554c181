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

enum { LOCK_TIME = 1000 };  /* ms; longest wait for the lock */

struct log {
	int fd;     /* 2: stderr, which is not boris's alone */
	bool torn;  /* the last record is there only in part */
	bool lock_held;  /* another process has not released its lock */
};

const char *
log_open(struct log **log, const char *file)
{
	bool is_stderr = strcmp(file, "/dev/stderr") == 0;
	struct stat st;
	/* A FIFO is refused, not waited for. */
	int fd = is_stderr ? 2 : open(file, O_RDWR | O_APPEND | O_CREAT |
	    O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0)
		return strerror(errno);
	if (!is_stderr && (fstat(fd, &st) < 0 ||
	    !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))) {
		close(fd);
		return "must be a regular file or a character device";
	}
	if (*log == NULL)
		*log = mem_get(sizeof(**log));
	else if ((*log)->fd != 2)
		close((*log)->fd);
	(*log)->fd = fd;
	return NULL;
}

/* Begins a record: a newline, which log_finish() drops unless it follows a torn
 * line, and what all records have, if the job has it. False: no log. */
static bool
log_begin(struct buf *b, const struct job *job, const char *event)
{
	if (job->options->log == NULL)
		return false;
	buf_add(b, "\n{\"time\":\"");
	clock_date(b);
	buf_add(b, "\"");
	json_put(b, "event", event);
	json_put(b, "session", job->session + 8);
	if (job->call > 0)
		json_put_number(b, "call", job->call);
	if (job_is_task(job))
		json_put(b, "task_id", job->id);
	if (job->exec.pid > 0)
		json_put_number(b, "pid", job->exec.pid);
	return true;
}

/* Locks the file, because a record that another server is writing at this
 * moment looks torn: the kernel writes it page by page. Commands can hold a
 * lock too, so boris goes on without one after LOCK_TIME, and then does not
 * wait again until that lock is released. */
static void
lock_file(struct log *log)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int tries = log->lock_held ? 1 : LOCK_TIME;

	for (; tries > 0; tries--) {
		log->lock_held = fcntl(log->fd, F_SETLK, &lock) < 0 &&
		    (errno == EAGAIN || errno == EACCES);
		if (!log->lock_held)
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

/* Writes the record in one piece, so that whoever else appends to the file does
 * so before or behind it, and frees it. 0, or -1 with errno. */
static int
log_finish(struct buf *b, const struct job *job)
{
	struct log *log = job->options->log;
	char last = '\0';
	struct stat st;
	ssize_t done;
	bool whole;
	int error;

	/* Another boris may have left a part of a line, or this one when the
	 * disk was full. If nobody can tell, a blank line is no harm. */
	if (log->fd != 2) {
		lock_file(log);
		log->torn = fstat(log->fd, &st) == 0 && st.st_size > 0 &&
		    (pread(log->fd, &last, 1, st.st_size - 1) < 1 ||
		    last != '\n');
	}
	buf_drop(b, log->torn ? 0 : 1);
	buf_add(b, "}\n");
	done = log->fd == 2 ? (ssize_t)stderr_write(b->data, b->len)
	    : write(log->fd, b->data, b->len);
	error = done > 0 && log->fd != 2 ? ENOSPC : errno;
	whole = done == (ssize_t)b->len;
	if (done > 0)
		log->torn = !whole;
	if (log->fd != 2)
		unlock_file(log);
	buf_free(b);
	errno = error;
	return whole ? 0 : -1;
}

/* The memory for a record that a client sizes was refused (E7). */
static int
log_give_up(struct buf *b)
{
	buf_free(b);
	errno = ENOMEM;
	return -1;
}

int
log_start(const struct job *job, const char *event, const char *what)
{
	struct buf b = { NULL, 0, 0 };
	bool whole = true;

	if (!log_begin(&b, job, event))
		return 0;
	if (job->do_work != NULL) {
		json_put(&b, "path", what);
	} else {
		json_put(&b, "cwd", what);
		json_put_true(&b, "tty", job->exec.terminal);
		json_put_true(&b, "background", job->background);
		whole = json_try_bytes(&b, "command", job->exec.text.data,
		    job->exec.text.len);
	}
	if (!whole)
		return log_give_up(&b);
	if (job->client.len > 0) {
		buf_add(&b, ",");
		buf_put(&b, job->client.data, job->client.len);
	}
	return log_finish(&b, job);
}

int
log_input(const struct job *job, const struct buf *text, bool unseen)
{
	struct buf b = { NULL, 0, 0 };

	if (!log_begin(&b, job, "input"))
		return 0;
	json_put_true(&b, "secret", unseen);
	if (!unseen && !json_try_bytes(&b, "input", text->data, text->len))
		return log_give_up(&b);
	json_put(&b, "by", text == NULL ? "user" : NULL);
	return log_finish(&b, job);
}

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
		json_put_number(&b, "pid", job->exec.survivor);
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
	/* If it can't be written: its start says what was done. */
	log_finish(&b, job);
}
