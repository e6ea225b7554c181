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
	PIECE = 512,       /* bytes; a pipe with room takes so many (PIPE_BUF) */
	LINE_SIZE = 1024   /* bytes of a message; the rest is cut off */
};

/* A pipe or a terminal is opened anew, so that it does not wait: the flags of
 * descriptor 2 are shared with other processes. (A file does not wait, and
 * opened anew it would be written over.) If that fails, or this is not Linux,
 * it is given pieces when it has room, which can wait on a stopped terminal. */
size_t
stderr_write(const char *p, size_t n)
{
	struct pollfd out = { .fd = 2, .events = POLLOUT };
	size_t at = 0, most = n;
	ssize_t done = 1;
	struct stat st;
	int own = -1, error;

	if (fstat(2, &st) == 0 && !S_ISREG(st.st_mode)) {
		own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY |
		    O_CLOEXEC);
		out.fd = own < 0 ? 2 : own;
		most = own < 0 ? PIECE : n;
	}
	for (; at < n && done > 0; at += done > 0 ? (size_t)done : 0) {
		errno = EAGAIN;
		done = poll(&out, 1, 0);
		if (done > 0)
			done = write(out.fd, p + at, n - at < most ? n - at
			    : most);
	}
	error = errno;
	if (own >= 0)
		close(own);
	errno = error;
	return at;
}

/* A line that is put together here, since there may be no memory to ask for */
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
