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
	PIECE = 512,       /* number of bytes that a pipe accepts without
	                    * blocking if poll() reports it as writable */
	LINE_SIZE = 1024   /* maximum size of a message, in bytes; longer
	                    * messages are truncated */
};

/* Reopens the pipe or terminal on stderr with O_NONBLOCK. Setting this flag on
 * descriptor 2 would affect other processes that share it. Returns the new
 * descriptor, or -1 with errno set. */
static int
reopen_stderr(void)
{
	return open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);
}

/* Writes up to n bytes, at most `max` at a time. Stops if the descriptor is not
 * ready or a write fails. Returns the number of bytes written. If this is less
 * than n, errno is set. */
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

	/* Write to a regular file directly, because such a write never blocks.
	 * If the file were reopened, the new descriptor would have offset 0 and
	 * overwrite earlier output. */
	if (fstat(2, &st) < 0 || S_ISREG(st.st_mode))
		return write_ready(2, p, n, n);
	own = reopen_stderr();
	/* If stderr cannot be reopened, write in small pieces, each after
	 * poll() has reported that stderr is writable. A write to a stopped
	 * terminal can still block. */
	if (own < 0)
		return write_ready(2, p, n, PIECE);
	done = write_ready(own, p, n, n);
	error = errno;
	close(own);
	errno = error;
	return done;
}

/* A line to be written to stderr. The text is held in a fixed-size array,
 * because memory may be exhausted when boris writes the line. */
struct line {
	char text[LINE_SIZE];
	size_t len;
};

/* Appends as many bytes to the line as fit. Control characters are replaced
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

/* Writes the line to stderr. Errors are ignored, because there is nowhere to
 * report them. */
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
