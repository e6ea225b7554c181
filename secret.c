#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* fchmod on NetBSD */

#include "secret.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"
#include "records.h"

void
secret_wipe(volatile char *p, size_t n)
{
	while (n-- > 0)
		*p++ = 0;
}

/* -- The two files ----------------------------------------------------- */

/* The name of one of them: the end is put behind what both have. */
static const char *
name_of(struct secret *s, const char *end)
{
	memcpy(s->path.data + s->path.len, end, sizeof(SECRET_FIFO));
	return s->path.data;
}

static void
remove_both(struct secret *s)
{
	/* They may be gone: others may empty that directory. */
	unlink(name_of(s, SECRET_FIFO));
	unlink(name_of(s, SECRET_PROMPT));
	buf_free(&s->path);
}

void
secret_close(struct job *job, bool taken)
{
	struct secret *s = &job->own.secret;

	if (s->fd == 0)
		return;
	if (taken)
		fchmod(s->fd, SECRET_TAKEN);  /* it is our own */
	remove_both(s);
	close(s->fd);
	s->fd = 0;
}

/* What does not fit on the disk is not shown. */
static void
write_prompt(struct job *job)
{
	struct buf line = { NULL, 0, 0, false };
	ssize_t n = 0;
	int fd = open(name_of(&job->own.secret, SECRET_PROMPT),
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	job_last_line(job, &line);
	if (fd >= 0 && line.len > 0)
		n = write(fd, line.data, line.len);
	if (fd >= 0)
		close(fd);
	(void)n;
	buf_free(&line);
}

/* Open for writing too, so that it does not end when a writer goes. If it can't
 * be made, the next look tries it again. */
static void
open_fifo(struct job *job, const struct secret_place *at)
{
	struct secret *s = &job->own.secret;
	int fd = -1;

	buf_add(&s->path, at->dir, "/boris-", at->session, "-");
	buf_put(&s->path, job->id, SECRET_ID);
	if (!buf_room(&s->path, sizeof(SECRET_FIFO))) {
		buf_free(&s->path);
		return;
	}
	write_prompt(job);
	if (mkfifo(name_of(s, SECRET_FIFO), 0600) == 0)
		fd = open(s->path.data, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		remove_both(s);
	else
		s->fd = fd;
}

/* There is a FIFO as long as the terminal asks. */
static void
review(struct job *job, const struct secret_place *at, bool fresh, int64_t now)
{
	struct secret *s = &job->own.secret;
	struct exec_prompt p;
	bool asks;

	if (!job_takes_input(job))
		return;
	p = exec_asks_secret(job->own.exec, fresh, now);
	asks = p.secret && p.state != TERMINAL_BUSY;
	s->again = p.again;
	if (!asks)
		secret_close(job, false);
	else if (s->fd == 0)
		open_fifo(job, at);
}

/* -- Turns ------------------------------------------------------------- */

bool
secret_offer(struct job *job, const struct secret_place *at, int64_t now)
{
	review(job, at, false, now);
	return job->own.secret.fd != 0;
}

void
secret_poll_add(struct job *job, struct loop *loop)
{
	struct secret *s = &job->own.secret;

	if (!job_takes_input(job))
		return;
	s->in_poll = loop_add(loop, s->fd > 0 ? s->fd : -1, POLLIN);
	loop_until(loop, s->again);
}

/* The first line of what has come; the rest is dropped. */
static bool
take_line(struct job *job, const struct secret_place *at, int64_t now)
{
	char bytes[SECRET_LINE];
	ssize_t n = read(job->own.secret.fd, bytes, sizeof(bytes));
	const char *end = n > 0 ? memchr(bytes, '\n', (size_t)n) : NULL;
	bool taken = end != NULL &&
	    record_input(at->log, job, NULL, NULL, now) == 0 &&
	    exec_type_unseen(job->own.exec, bytes, (size_t)(end + 1 - bytes),
	    now) == 0;

	secret_wipe(bytes, sizeof(bytes));
	return taken;
}

void
secret_dispatch(struct job *job, const struct secret_place *at,
                const struct loop *loop)
{
	struct secret *s = &job->own.secret;
	bool came = s->fd != 0 && loop_events(loop, s->in_poll) != 0;

	review(job, at, came, loop->now);
	if (came && s->fd != 0)
		secret_close(job, take_line(job, at, loop->now));
}
