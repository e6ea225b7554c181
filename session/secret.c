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
#include "session/log.h"

enum {
	SESSION = 16,          /* digits of a session's name, */
	ID = 8,                /* and of an id */
	TAKEN = 0400,          /* the FIFO's mode, once its line is typed */
	ANSWER_TIME = 10000    /* ms for boris to take what was written */
};
#define FIFO ".secret"
#define PROMPT ".prompt"

/* The FIFO of a job whose terminal asks for a secret */
struct secret {
	int fd;                  /* of the FIFO; 0 or -1: there is none */
	int in_poll;
	char id[ID + 1];         /* in the names of its files */
	struct buf path;         /* its name, up to the ending */
};

/* Overwrites it; volatile, so that no compiler leaves that out. */
static void
wipe(volatile char *p, size_t n)
{
	while (n-- > 0)
		*p++ = 0;
}

static const char *
name_of(struct buf *path, const char *ending)
{
	size_t len = path->len;

	buf_add(path, ending);
	buf_text(path);
	path->len = len;
	return path->data;
}

void
secret_close(struct job *job, bool taken)
{
	struct secret *s = job->secret;

	if (s == NULL || s->path.len == 0)
		return;
	if (taken)
		fchmod(s->fd, TAKEN);  /* That cannot fail: it is ours. */
	/* They may be gone: others may empty that directory. */
	tempfile_remove(job->options->files, name_of(&s->path, FIFO));
	tempfile_remove(job->options->files, name_of(&s->path, PROMPT));
	buf_free(&s->path);
	fd_close(&s->fd);
}

/* Opens it if it has that type, is this user's, and is closed to others. Else
 * -1: another user may have put a file of his own there, or have moved there a
 * file of ours that he can read. */
static int
open_own(const char *name, int flags, mode_t type)
{
	int fd = open(name, flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || (st.st_mode & S_IFMT) != type ||
	    (st.st_mode & 0077) != 0 || st.st_uid != geteuid()))
		fd_close(&fd);
	return fd;
}

/* The id is random and new each time, so that no other user can foresee the
 * name and take it first. The FIFO is open for writing too, so that it does not
 * end when a writer goes. If it can't be made, the next look tries it again; if
 * the prompt's file can't be, only the prompt is not shown. */
static void
open_fifo(struct job *job)
{
	struct tempfiles *files = job->options->files;
	struct secret *s = job->secret;
	struct buf line = { NULL, 0, 0 };
	int fd;

	s->fd = -1;
	if (!random_hex(s->id, ID / 2))
		return;
	buf_add(&s->path, job->options->tmpdir, "/boris-", job->session, "-",
	    s->id);
	if (tempfile_add(files, name_of(&s->path, PROMPT)) == 0 &&
	    tempfile_add(files, name_of(&s->path, FIFO)) == 0 &&
	    mkfifo(s->path.data, 0600) == 0)
		s->fd = open_own(s->path.data, O_RDWR, S_IFIFO);
	if (s->fd < 0) {
		secret_close(job, false);
		return;
	}
	fd = open(name_of(&s->path, PROMPT),
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	output_last_line(job->out.text, &line);
	if (fd >= 0 && line.len > 0 && write(fd, line.data, line.len) < 0)
		unlink(name_of(&s->path, PROMPT));
	fd_close(&fd);
	buf_free(&line);
}

/* Returns the job's secret, a new one if it has none. */
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
	loop_until(loop, job->prompt.again);
}

void
secret_dispatch(struct job *job, const struct loop *loop)
{
	struct secret *s = job->secret;
	bool came = s != NULL && s->fd > 0 &&
	    loop_events(loop, s->in_poll) != 0;
	char bytes[LINE_TYPED_MOST];
	const char *end;
	ssize_t n;

	if (!secret_offer(job) || !came)
		return;
	/* The first line of what has come; the rest is dropped. */
	n = read(s->fd, bytes, sizeof(bytes));
	end = n > 0 ? memchr(bytes, '\n', (size_t)n) : NULL;
	secret_close(job, end != NULL &&
	    log_input(job, NULL, true) == 0 && exec_type_unseen(
	    &job->exec, bytes, (size_t)(end + 1 - bytes), loop->now) == 0);
	job_read_prompt(job, loop->now);
	wipe(bytes, sizeof(bytes));
}

/* Says "ID: the terminal's last line", for the FIFO of that name. */
static void
show_prompt(const char *fifo)
{
	struct buf path = { NULL, 0, 0 };
	char line[512];
	ssize_t n = 0;
	int fd;

	buf_put(&path, fifo, strlen(fifo) - strlen(FIFO));
	fd = open_own(name_of(&path, PROMPT), O_RDONLY, S_IFREG);
	if (fd >= 0)
		n = read(fd, line, sizeof(line) - 1);
	fd_close(&fd);
	line[n > 0 ? n : 0] = '\0';
	stderr_line("%s: %s", buf_text(&path) + path.len - ID, line);
	buf_free(&path);
}

/* Opens the FIFOs that somebody reads, of that id if it is not empty, and shows
 * their prompts. Returns how many; *fd is the last one's. */
static int
find_fifos(const char *id, int *fd)
{
	const size_t before = strlen("boris-") + SESSION + strlen("-");
	DIR *dir = opendir(".");
	const struct dirent *entry;
	int one, found = 0;
	const char *name;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		name = entry->d_name;
		if (strlen(name) != before + ID + strlen(FIFO) ||
		    strncmp(name, "boris-", strlen("boris-")) != 0 ||
		    strncmp(name + before, id, strlen(id)) != 0 ||
		    strcmp(name + before + ID, FIFO) != 0)
			continue;
		one = open_own(name, O_WRONLY, S_IFIFO);
		if (one >= 0) {
			show_prompt(name);
			*fd = one;
			found++;
		}
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

static void
interrupted(int sig)
{
	(void)sig;  /* pselect() returns, and that is all that is needed. */
}

/* A line from stdin, which a terminal does not show. A signal can end only the
 * wait for it, so the terminal is always put back. Returns the length with the
 * newline, which a file's last line may lack; 0: there is no line. */
static size_t
read_secret(char *line)
{
	static const int ends[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP
	};
	struct sigaction action = { .sa_handler = interrupted };
	struct termios before, hidden;
	bool terminal = tcgetattr(0, &before) == 0;
	size_t len = 0, i;
	sigset_t waiting;
	fd_set set;
	ssize_t n;

	sigfillset(&waiting);
	sigdelset(&waiting, SIGTTOU);  /* in the background it stops here */
	sigprocmask(SIG_SETMASK, &waiting, NULL);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigaction(ends[i], &action, NULL);
		sigdelset(&waiting, ends[i]);
	}
	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	if (terminal)
		tcsetattr(0, TCSAFLUSH, &hidden);
	do {
		FD_ZERO(&set);
		FD_SET(0, &set);
		n = pselect(1, &set, NULL, NULL, NULL, &waiting) < 0 ? -1
		    : read(0, line + len, LINE_TYPED_MOST - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < LINE_TYPED_MOST && line[len - 1] != '\n');
	if (terminal)
		tcsetattr(0, TCSAFLUSH, &before);
	if (n == 0 && len > 0)
		line[len++] = '\n';
	return n >= 0 && len > 0 && line[len - 1] == '\n' ? len : 0;
}

int
secret_ask(const char *dir, const char *id)
{
	int fd = -1, found = chdir(dir) == 0 ? find_fifos(id, &fd) : 0;
	struct pollfd closed = { .events = 0 };
	char line[LINE_TYPED_MOST + 1];
	struct stat st;
	bool taken;
	size_t len;

	if (found != 1) {
		if (found > 1)
			stderr_line("boris: several ask: give --secret=ID");
		else
			stderr_line("boris: no such terminal of yours asks for "
			    "a secret, in %s", dir);
		return 1;
	}
	stderr_line("boris: type it, unseen, and Enter");
	len = read_secret(line);
	/* Once boris has closed its end, the FIFO's mode is the answer. (All
	 * signals are blocked, SIGPIPE among them.) */
	closed.fd = fd;
	taken = len > 0 && write(fd, line, len) == (ssize_t)len &&
	    poll(&closed, 1, ANSWER_TIME) > 0 && fstat(fd, &st) == 0 &&
	    (st.st_mode & 0777) == TAKEN;
	wipe(line, sizeof(line));
	if (taken)
		stderr_line("boris: taken");
	else if (len > 0)
		stderr_line("boris: not taken: too late, or the log is full");
	else
		stderr_line("boris: nothing was typed");
	return taken ? 0 : 1;
}
