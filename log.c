#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"

enum { PIECE = 512 };  /* bytes that a pipe takes at once, if any (PIPE_BUF) */

struct log {
	int fd;     /* 2: stderr, which is not boris's alone */
	bool torn;  /* what was written last is not the end of a line */
};

/* -- The file ---------------------------------------------------------- */

/* O_NONBLOCK, also for open(): a FIFO is refused, not waited for. */
struct log *
log_open(const char *file, const char **why)
{
	bool is_stderr = strcmp(file, "/dev/stderr") == 0;
	struct log *log = calloc(1, sizeof(*log));
	char last = '\n';
	struct stat st;

	*why = strerror(ENOMEM);
	if (log == NULL)
		return NULL;
	log->fd = is_stderr ? 2 : open(file, O_RDWR | O_APPEND | O_CREAT |
	    O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
	if (log->fd < 0 || fstat(log->fd, &st) < 0) {
		*why = strerror(errno);
	} else if (!is_stderr && !S_ISREG(st.st_mode) &&
	    !S_ISCHR(st.st_mode)) {
		*why = "must be a regular file or a character device";
	} else {
		/* If it can't be read, a blank line is no harm. */
		if (!is_stderr && S_ISREG(st.st_mode) && st.st_size > 0 &&
		    pread(log->fd, &last, 1, st.st_size - 1) < 1)
			last = '\0';
		log->torn = last != '\n';
		return log;
	}
	log_free(log);
	return NULL;
}

void
log_free(struct log *log)
{
	if (log != NULL && log->fd > 2)
		close(log->fd);
	free(log);
}

/* Who reads stderr is not waited for, nor is it made non-blocking, since others
 * write to it: so it gets pieces that it has room for. */
static int
write_line(struct log *log, const char *p, size_t n)
{
	struct pollfd out = { .fd = 2, .events = POLLOUT };
	ssize_t done;

	for (; n > 0; p += done, n -= (size_t)done) {
		errno = EAGAIN;
		if (log->fd == 2 && poll(&out, 1, 0) < 1)
			return -1;
		done = write(log->fd, p, log->fd == 2 && n > PIECE ? PIECE : n);
		if (done < 1)
			return -1;
		log->torn = p[done - 1] != '\n';
	}
	return 0;
}

/* -- Records ----------------------------------------------------------- */

/* The newline in front is written only where a torn line is to be mended. */
struct record
log_begin(const struct log_session *s, const char *event)
{
	struct record r = { s->log, { NULL, 0, 0, false } };

	if (r.log == NULL)
		return r;
	buf_puts(&r.text, "\n{\"time\":\"");
	clock_date(&r.text);
	buf_add(&r.text, "\",\"event\":\"", event, "\"");
	log_text(&r, "session", s->id);
	return r;
}

/* Appends ,"name": -- false: there is no log. */
static bool
put_name(struct record *r, const char *name)
{
	if (r->log != NULL)
		buf_add(&r->text, ",\"", name, "\":");
	return r->log != NULL;
}

void
log_string(struct record *r, const char *name, const void *bytes, size_t n)
{
	if (put_name(r, name))
		json_string(&r->text, bytes, n);
}

void
log_text(struct record *r, const char *name, const char *text)
{
	if (text != NULL)
		log_string(r, name, text, strlen(text));
}

void
log_json(struct record *r, const char *name, struct json value)
{
	if (value.text != NULL && put_name(r, name))
		json_verbatim(value, &r->text);
}

void
log_number(struct record *r, const char *name, int64_t n)
{
	if (put_name(r, name))
		buf_int(&r->text, n);
}

void
log_flag(struct record *r, const char *name, bool flag)
{
	if (flag && put_name(r, name))
		buf_puts(&r->text, "true");
}

void
log_members(struct record *r, const struct buf *members)
{
	if (r->log == NULL)
		return;
	buf_put(&r->text, members->data, members->len);
	r->text.failed = r->text.failed || members->failed;
}

int
log_end(struct record *r)
{
	size_t skip = r->log == NULL || !r->log->torn;
	int status = -1, error;

	if (r->log == NULL)
		return 0;
	buf_puts(&r->text, "}\n");
	errno = ENOMEM;
	if (!r->text.failed)
		status = write_line(r->log, r->text.data + skip,
		    r->text.len - skip);
	error = errno;
	buf_free(&r->text);
	errno = error;
	return status;
}
