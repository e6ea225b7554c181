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
	PIECE = 512,       /* bytes; a pipe that is ready takes as many */
	LINE_SIZE = 1024   /* bytes of a message; the rest is cut off */
};

/* Opens stderr, a pipe or a terminal, again with O_NONBLOCK: the flags of the
 * descriptor 2 are shared with other processes. Returns a descriptor, or -1. */
static int
reopen_stderr(void)
{
	return open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);
}

/* Writes until all n bytes are written, at most `most` of them at a time, or
 * until the descriptor takes no more. Returns the number of bytes written, with
 * errno set if that is not all. */
static size_t
write_ready(int fd, const char *p, size_t n, size_t most)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };
	size_t at = 0, piece;
	ssize_t done = 1;

	while (at < n && done > 0) {
		errno = EAGAIN;
		done = poll(&out, 1, 0);
		if (done > 0) {
			piece = n - at < most ? n - at : most;
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

	/* A file does not block; opened again, it would be overwritten. */
	if (fstat(2, &st) < 0 || S_ISREG(st.st_mode))
		return write_ready(2, p, n, n);
	own = reopen_stderr();
	/* Without a descriptor of its own, boris writes pieces when there is
	 * room for them. That can wait on a stopped terminal. */
	if (own < 0)
		return write_ready(2, p, n, PIECE);
	done = write_ready(own, p, n, n);
	error = errno;
	close(own);
	errno = error;
	return done;
}

/* A line of a message. It needs no allocation, because the message may be that
 * there is no memory. */
struct line {
	char text[LINE_SIZE];
	size_t len;
};

/* Appends what fits, with "?" in place of control characters. */
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

/* Writes the line. If that fails, there is nowhere to report it. */
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
