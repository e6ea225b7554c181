/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "base/message.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"

enum {
	PIECE = 512,       /* number of bytes that can be written without
	                    * blocking to a pipe that poll() reports as
	                    * writable */
	LINE_SIZE = 1024   /* maximum size of a message, in bytes; longer
	                    * messages are cut off */
};

/* Opens the pipe or terminal on stderr a second time with O_NONBLOCK. Setting
 * this flag on descriptor 2 would affect other processes that share it. Returns
 * the new descriptor, or -1 with errno set. */
static int
reopen_stderr(void)
{
	return open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);
}

/* Writes n bytes, at most `max` at a time, until the descriptor accepts no
 * more. Returns the number of bytes written. If that is less than n, errno is
 * set. */
static size_t
write_ready(int fd, const char *p, size_t n, size_t max)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };
	size_t at = 0, piece;
	ssize_t done = 1;

	while (at < n && done > 0) {
		errno = EAGAIN;
		done = poll(&out, 1, 0);
		if (done > 0) {
			piece = n - at < max ? n - at : max;
			done = write(fd, p + at, piece);
		}
		if (done > 0)
			at += (size_t)done;
	}
	return at;
}

size_t
stderr_write(const char *p, size_t n)
{
	struct stat st;
	size_t done;
	int own, error;

	/* Do not reopen a regular file. Writing to it never blocks, and a new
	 * descriptor would overwrite the file from its start. */
	if (fstat(2, &st) < 0 || S_ISREG(st.st_mode))
		return write_ready(2, p, n, n);
	own = reopen_stderr();
	/* If stderr cannot be reopened, write small pieces while poll() reports
	 * that stderr is writable. Writing to a stopped terminal can still
	 * block. */
	if (own < 0)
		return write_ready(2, p, n, PIECE);
	done = write_ready(own, p, n, n);
	error = errno;
	close(own);
	errno = error;
	return done;
}

/* A line in a fixed array, because boris may be out of memory when it prints
 * the line */
struct line {
	char text[LINE_SIZE];
	size_t len;
};

/* Appends bytes to the line as far as they fit. Control characters are replaced
 * with "?". */
static void
put_piece(void *to, const char *bytes, size_t n)
{
	struct line *line = to;
	size_t i;

	for (i = 0; i < n && line->len < sizeof(line->text) - 1; i++) {
		bool control = iscntrl((unsigned char)bytes[i]);

		line->text[line->len++] = control ? '?' : bytes[i];
	}
}

/* Writes the line to stderr. Errors are ignored, because boris cannot report
 * them anywhere. */
static void
write_line(struct line *line)
{
	line->text[line->len++] = '\n';
	stderr_write(line->text, line->len);
}

void
stderr_line(const char *format, ...)
{
	struct line line = { .len = 0 };
	va_list arguments;

	va_start(arguments, format);
	fmt_pieces(put_piece, &line, format, arguments);
	va_end(arguments);
	write_line(&line);
}

void
fatal(int status, const char *format, ...)
{
	static const char prefix[] = "boris: ";
	struct line line = { .len = 0 };
	va_list arguments;

	put_piece(&line, prefix, sizeof(prefix) - 1);
	va_start(arguments, format);
	fmt_pieces(put_piece, &line, format, arguments);
	va_end(arguments);
	write_line(&line);
	exit(status);
}
