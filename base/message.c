#define _POSIX_C_SOURCE 200809L

#include "base/message.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 512 };  /* bytes; a pipe with room takes so many (PIPE_BUF) */

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

void
stderr_all(const char *const *part)
{
	char line[1024];  /* there may be no memory to ask for */
	size_t n = 0;
	const char *c;

	for (; *part != NULL; part++) {
		for (c = *part; *c != '\0' && n < sizeof(line) - 1; c++)
			line[n++] = iscntrl((unsigned char)*c) ? '?' : *c;
	}
	line[n++] = '\n';
	stderr_write(line, n);  /* if it fails, there is nowhere to say so */
}

void
fatal(int status, const char *what, const char *value, const char *right)
{
	stderr_line("boris: ", what, value != NULL ? " " : "",
	    value != NULL ? value : "", ": ", right);
	exit(status);
}
