/* SPDX-License-Identifier: ISC */
#define _XOPEN_SOURCE 700
#define _DARWIN_C_SOURCE  /* O_NOFOLLOW on macOS */

#include "session/secret.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/message.h"
#include "base/random.h"
#include "base/tempfile.h"
#include "output/spool.h"
#include "session/log.h"

enum {
	SESSION = 16,        /* number of digits in a session name */
	ID = 8,              /* number of digits in a FIFO's id */
	ACCEPTED = 0400,     /* file mode that boris sets on the FIFO to confirm
	                      * that it has typed the secret into the
	                      * terminal */
	ANSWER_TIME = 10000  /* maximum time in ms that `boris --secret` waits
	                      * for the server to read the secret */
};
#define FIFO ".secret"
#define PROMPT ".prompt"

/* The FIFO through which the user enters a secret for a job's program */
struct secret {
	int fd;           /* descriptor of the FIFO; -1 if there is none, or 0
	                   * if there has never been one */
	int in_poll;
	char id[ID + 1];  /* random id used in the names of the FIFO and the
	                   * prompt file */
	struct buf path;  /* path of the FIFO, without its suffix */
};

/* Overwrites a secret with zeros. The pointer is volatile so that the compiler
 * cannot optimize the stores away. */
static void
wipe(volatile char *p, size_t n)
{
	while (n-- > 0)
		*p++ = 0;
}

/* Returns the path with the given suffix, FIFO or PROMPT, appended. The string
 * is valid until the next call to this function. */
static const char *
path_with(struct buf *path, const char *ending)
{
	size_t len = path->len;

	buf_fmt(path, "%s", ending);
	buf_text(path);
	path->len = len;
	return path->data;
}

void
secret_close(struct job *job, bool typed)
{
	struct secret *s = job->secret;

	if (s == NULL || s->path.len == 0)
		return;
	/* fchmod() cannot fail here, because boris owns the FIFO. */
	if (typed)
		fchmod(s->fd, ACCEPTED);
	/* Another process may already have removed the files. */
	tempfile_remove(job->options->files, path_with(&s->path, FIFO));
	tempfile_remove(job->options->files, path_with(&s->path, PROMPT));
	buf_free(&s->path);
	fd_close(&s->fd);
}

/* Returns whether the file has the given type, belongs to the current user, and
 * is not accessible to other users. */
static bool
is_private(int fd, mode_t type)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (st.st_mode & S_IFMT) != type)
		return false;
	return (st.st_mode & 0077) == 0 && st.st_uid == geteuid();
}

/* Opens a file only if it belongs to the current user and is not accessible to
 * other users, because another user could have created the file, or moved a
 * readable file to this path. Returns the descriptor, or -1. */
static int
open_own(const char *name, int flags, mode_t type)
{
	int fd = open(name, flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !is_private(fd, type))
		fd_close(&fd);
	return fd;
}

/* Adds a file to the list of temporary files. If the list is full, first
 * removes the session's oldest file whose stream has ended (O5). Returns
 * whether the file was added. */
static bool
add_file(struct job *job, const char *path)
{
	return spool_make_room(job->spool) &&
	    tempfile_add(job->options->files, path) == 0;
}

/* Creates the FIFO and opens it for reading and writing. Opening it for writing
 * as well avoids end of file when the last writer closes it. On failure, s->fd
 * is -1. */
static void
create_fifo(struct job *job)
{
	struct secret *s = job->secret;

	if (add_file(job, path_with(&s->path, PROMPT)) &&
	    add_file(job, path_with(&s->path, FIFO)) &&
	    mkfifo(s->path.data, 0600) == 0)
		s->fd = open_own(s->path.data, O_RDWR, S_IFIFO);
}

/* Writes the last line of the terminal's output to the prompt file, so that
 * `boris --secret` can show it. On failure, `boris --secret` shows no
 * prompt. */
static void
write_prompt(struct job *job)
{
	const char *name = path_with(&job->secret->path, PROMPT);
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct buf line = { NULL, 0, 0 };

	output_last_line(job->out.text, &line);
	if (fd >= 0 && line.len > 0 && write(fd, line.data, line.len) < 0)
		unlink(name);
	fd_close(&fd);
	buf_free(&line);
}

/* Creates the FIFO and the prompt file. Their names contain a fresh random id,
 * so that other users cannot guess the names and create the files first. On
 * failure, the next call tries again. */
static void
open_fifo(struct job *job)
{
	struct secret *s = job->secret;

	s->fd = -1;
	if (!random_hex(s->id, ID / 2))
		return;
	buf_fmt(&s->path, "%s/boris-%s-%s", job->options->tmpdir, job->session,
	    s->id);
	create_fifo(job);
	if (s->fd >= 0)
		write_prompt(job);
	else
		secret_close(job, false);
}

/* Returns the job's struct secret, creating it if necessary. */
static struct secret *
secret_of(struct job *job)
{
	if (job->secret == NULL)
		job->secret = mem_get(sizeof(*job->secret));
	return job->secret;
}

const char *
secret_id(const struct job *job)
{
	return job->secret->id;
}

void
secret_free(struct job *job)
{
	secret_close(job, false);
	free(job->secret);
	job->secret = NULL;
}

bool
secret_offer(struct job *job)
{
	struct secret *s;

	if (!job_takes_input(job))
		return false;
	s = secret_of(job);
	if (!job->prompt.secret || job->prompt.state == TERMINAL_BUSY)
		secret_close(job, false);
	else if (s->fd <= 0)
		open_fifo(job);
	return s->fd > 0;
}

void
secret_poll_add(struct job *job, struct loop *loop)
{
	struct secret *s;

	if (!job_takes_input(job))
		return;
	s = secret_of(job);
	s->in_poll = loop_add(loop, s->fd > 0 ? s->fd : -1, POLLIN);
	loop_until(loop, job->prompt.recheck_at);
}

/* Logs that the user has entered a secret, then types the line with the secret
 * into the terminal. Returns whether the line was typed. If the log cannot be
 * written, the line is not typed. */
static bool
type_secret(struct job *job, const char *line, size_t len, int64_t now)
{
	return log_user_input(job) == 0 &&
	    exec_type_unseen(&job->exec, line, len, now) == 0;
}

void
secret_dispatch(struct job *job, const struct loop *loop)
{
	struct secret *s = job->secret;
	bool ready = s != NULL && s->fd > 0 &&
	    loop_events(loop, s->in_poll) != 0;
	char bytes[LINE_TYPED_MAX];
	const char *end = NULL;
	bool typed = false;
	ssize_t n;

	if (!secret_offer(job) || !ready)
		return;
	/* Use only the first line of the input. */
	n = read(s->fd, bytes, sizeof(bytes));
	if (n > 0)
		end = memchr(bytes, '\n', (size_t)n);
	if (end != NULL)
		typed = type_secret(job, bytes, (size_t)(end + 1 - bytes),
		    loop->now);
	secret_close(job, typed);
	job_read_prompt(job, loop->now);
	wipe(bytes, sizeof(bytes));
}

/* Prints to stderr the FIFO's id and the last line of the job's terminal, as
 * "ID: LINE". */
static void
show_prompt(const char *fifo)
{
	struct buf path = { NULL, 0, 0 };
	char line[512];
	ssize_t n = 0;
	int fd;

	buf_put(&path, fifo, strlen(fifo) - strlen(FIFO));
	fd = open_own(path_with(&path, PROMPT), O_RDONLY, S_IFREG);
	if (fd >= 0)
		n = read(fd, line, sizeof(line) - 1);
	fd_close(&fd);
	line[n > 0 ? n : 0] = '\0';
	stderr_line("%s: %s", buf_text(&path) + path.len - ID, line);
	buf_free(&path);
}

/* Returns whether a file name is that of a FIFO for a secret. If `id` is not
 * empty, the name must contain it. */
static bool
is_fifo_name(const char *name, const char *id)
{
	const size_t before = strlen("boris-") + SESSION + strlen("-");

	if (strlen(name) != before + ID + strlen(FIFO))
		return false;
	return strncmp(name, "boris-", strlen("boris-")) == 0 &&
	    strncmp(name + before, id, strlen(id)) == 0 &&
	    strcmp(name + before + ID, FIFO) == 0;
}

/* Opens each FIFO that a running boris server is reading from, and prints its
 * id and prompt to stderr. If `id` is not empty, considers only the FIFO with
 * that id. Returns the number of FIFOs opened, and sets *fd to the descriptor
 * of the last one. */
static int
find_fifos(const char *id, int *fd)
{
	DIR *dir = opendir(".");
	const struct dirent *entry;
	int one, found = 0;

	if (dir == NULL)
		return 0;
	for (entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
		if (!is_fifo_name(entry->d_name, id))
			continue;
		one = open_own(entry->d_name, O_WRONLY, S_IFIFO);
		if (one >= 0) {
			show_prompt(entry->d_name);
			*fd = one;
			found++;
		}
	}
	closedir(dir);
	return found;
}

static void
interrupted(int sig)
{
	(void)sig;  /* The handler does nothing, because its only purpose is to
	             * make the signal interrupt pselect(). */
}

/* Blocks all signals except SIGTTOU, and sets *waiting to a mask with which
 * SIGINT, SIGTERM and similar signals can interrupt pselect(). The handler of
 * these signals does nothing, so boris can restore the terminal mode before it
 * exits. */
static void
block_signals(sigset_t *waiting)
{
	static const int ends[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP
	};
	struct sigaction action = { .sa_handler = interrupted };
	size_t i;

	sigfillset(waiting);
	/* SIGTTOU must stop boris if boris changes the terminal mode while in
	 * the background, so do not block this signal. */
	sigdelset(waiting, SIGTTOU);
	sigprocmask(SIG_SETMASK, waiting, NULL);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigaction(ends[i], &action, NULL);
		sigdelset(waiting, ends[i]);
	}
}

/* Reads a line from stdin. Adds a newline if the input ends without one.
 * Returns the length of the line, including the newline. Returns 0 if the input
 * is empty, the line is too long, reading fails, or a signal arrives. */
static size_t
read_line(char *line, const sigset_t *waiting)
{
	size_t len = 0;
	fd_set set;
	ssize_t n = 1;

	while (n > 0 && len < LINE_TYPED_MAX) {
		FD_ZERO(&set);
		FD_SET(0, &set);
		if (pselect(1, &set, NULL, NULL, NULL, waiting) < 0)
			return 0;
		n = read(0, line + len, LINE_TYPED_MAX - len);
		if (n > 0)
			len += (size_t)n;
		if (len > 0 && line[len - 1] == '\n')
			return len;
	}
	if (n != 0 || len == 0)
		return 0;
	line[len] = '\n';
	return len + 1;
}

/* Reads a line from stdin, with echo off if stdin is a terminal. Returns the
 * length of the line, including the newline, or 0 on failure; see
 * read_line(). */
static size_t
read_secret(char *line)
{
	struct termios before, hidden;
	bool terminal = tcgetattr(0, &before) == 0;
	sigset_t waiting;
	size_t len;

	block_signals(&waiting);
	if (!terminal)
		return read_line(line, &waiting);
	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	tcsetattr(0, TCSAFLUSH, &hidden);
	len = read_line(line, &waiting);
	tcsetattr(0, TCSAFLUSH, &before);
	return len;
}

/* Writes the line to the FIFO and waits until the boris server closes the FIFO.
 * Returns whether the server has typed the line into the terminal, which it
 * confirms by setting the FIFO's mode to ACCEPTED. SIGPIPE must be blocked. */
static bool
send_secret(int fd, const char *line, size_t len)
{
	struct pollfd closed = { .fd = fd, .events = 0 };
	struct stat st;

	if (write(fd, line, len) != (ssize_t)len)
		return false;
	if (poll(&closed, 1, ANSWER_TIME) <= 0 || fstat(fd, &st) < 0)
		return false;
	return (st.st_mode & 0777) == ACCEPTED;
}

/* Reads a secret from stdin and sends it to the FIFO. Returns the exit status
 * for boris --secret. */
static int
read_and_send(int fd)
{
	char line[LINE_TYPED_MAX + 1];
	size_t len;
	bool typed;

	stderr_line("boris: type the secret, which is not shown, and press "
	    "Enter");
	len = read_secret(line);
	typed = len > 0 && send_secret(fd, line, len);
	wipe(line, sizeof(line));
	if (len == 0) {
		stderr_line("boris: no secret was typed");
		return 1;
	}
	if (!typed) {
		stderr_line("boris: secret not accepted: the program no "
		    "longer waits for it, or the log cannot be written");
		return 1;
	}
	stderr_line("boris: secret accepted");
	return 0;
}

int
secret_ask(const char *dir, const char *id)
{
	int fd = -1, found = 0;

	if (chdir(dir) == 0)
		found = find_fifos(id, &fd);
	if (found == 0 && *id != '\0') {
		stderr_line("boris: --secret=%s: no program is waiting for "
		    "this secret (searched in %s; set TMPDIR if boris was "
		    "started with a different one)", id, dir);
		return 1;
	}
	if (found == 0) {
		stderr_line("boris: no program is waiting for a secret "
		    "(searched in %s; set TMPDIR if boris was started with a "
		    "different one)", dir);
		return 1;
	}
	if (found > 1) {
		stderr_line("boris: several programs are waiting for a secret; "
		    "choose one with --secret=ID");
		return 1;
	}
	return read_and_send(fd);
}
