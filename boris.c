#ifdef __linux__
#define _DEFAULT_SOURCE  /* syscall */
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

/* boris: an agent's shell over MCP. Options, signals, the loop; and stdio:
 * lines in, a queue of lines out (SPEC.md C, P5, P9, P10). */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "group.h"
#include "json.h"
#include "loop.h"
#include "mcp.h"

extern char **environ;

enum {
	LINE_LIMIT = 16 << 20,   /* bytes of one message (P5) */
	UNREAD_LIMIT = 4 << 20,  /* bytes of responses, or of commands, after
	                          * which nothing more is read (P10) */
	FLUSH_SIZE = 64 << 10,   /* bytes worth a write of their own */
	READ_SIZE = 64 << 10,
	KEEP_SIZE = 128 << 10,   /* bigger buffers go when they are empty */
	SAFE_WRITE = 4096        /* bytes poll() promises room for */
};

/* The one thing at file scope that changes: the handler writes to it. */
static int signal_pipe[2] = { -1, -1 };

/* -- Saying things to people ------------------------------------------- */

/* Neither blocks nor fails, whatever became of standard error (C3). */
static void
say(const struct buf *b)
{
	struct pollfd p;

	p.fd = 2;
	p.events = POLLOUT;
	p.revents = 0;
	if (!b->failed && poll(&p, 1, 0) == 1 && (p.revents & POLLOUT))
		if (write(2, b->data, b->len) < 0)
			return;  /* there is nowhere left to say it */
}

/* A newline in a wrong value does not make two lines of it. */
static void
put_line(struct buf *b, const char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			buf_putc(b, '?');
		else
			buf_putc(b, *s);
	}
}

/* One line for the person at the command line, and the end. Before the loop
 * only. */
static void
fatal(int status, const char *what, const char *value, const char *right)
{
	struct buf b = { NULL, 0, 0, false };

	buf_puts(&b, "boris: ");
	put_line(&b, what);
	if (value != NULL) {
		buf_puts(&b, " ");
		put_line(&b, value);
	}
	buf_puts(&b, ": ");
	buf_puts(&b, right);
	buf_puts(&b, "\n");
	say(&b);
	exit(status);
}

/* -- Options ----------------------------------------------------------- */

struct options {
	char *workdir;
	int64_t timeout, bg_timeout;   /* s */
	int64_t on_timeout, truncate, structured, no_bash;  /* choices */
	int64_t save_limit;            /* MiB */
	int64_t help, version;
};

enum kind { TEXT, NUMBER, CHOICE, FLAG };

/* An option is a row: --help is printed from it, the variable is read by it,
 * a wrong value is refused with it. */
static const struct option {
	const char *name, *env, *value;
	enum kind kind;
	size_t at;
	int64_t least, most, preset;
	const char *choices[4];
	const char *help;
} option_table[] = {
#define AT(member) offsetof(struct options, member)
	{ "workdir", "BORIS_WORKDIR", "DIR", TEXT, AT(workdir), 0, 0, 0,
	  { NULL }, "initial working directory (default: where boris was "
	  "started)" },
	{ "timeout", "BORIS_TIMEOUT", "SECONDS", NUMBER, AT(timeout),
	  1, 600, 120, { NULL },
	  "time a command gets when the call names none, 1 to 600 "
	  "(120)" },
	{ "bg-timeout", "BORIS_BG_TIMEOUT", "SECONDS", NUMBER, AT(bg_timeout),
	  0, 1000000000, 0, { NULL },
	  "terminate a background task older than this (default 0: never)" },
	{ "on-timeout", "BORIS_ON_TIMEOUT", "kill|background", CHOICE,
	  AT(on_timeout), 0, 0, 0, { "kill", "background", NULL },
	  "what happens to a command that outlives its timeout (default "
	  "kill)" },
	{ "truncate", "BORIS_TRUNCATE", "head|tail|both", CHOICE,
	  AT(truncate), 0, 0, 0, { "head", "tail", "both", NULL },
	  "which end of long output is returned (default head)" },
	{ "save-limit", "BORIS_SAVE_LIMIT", "MIB", NUMBER, AT(save_limit),
	  0, 1000000, 64, { NULL },
	  "how much of one long stream is saved in a file (default 64; 0: "
	  "none)" },
	{ "structured", "BORIS_STRUCTURED", "on|off", CHOICE, AT(structured),
	  0, 0, 0, { "on", "off", NULL },
	  "off: results are text alone, without structuredContent (default "
	  "on)" },
	{ "no-bash", "BORIS_NO_BASH", NULL, FLAG, AT(no_bash), 0, 1, 0,
	  { NULL }, "do not offer the bash and task_output tools" },
	{ "help", NULL, NULL, FLAG, AT(help), 0, 1, 0, { NULL },
	  "print this and exit" },
	{ "version", NULL, NULL, FLAG, AT(version), 0, 1, 0, { NULL },
	  "print the version and exit" }
#undef AT
};

enum { OPTIONS = sizeof(option_table) / sizeof(option_table[0]) };

static int64_t *
number_of(struct options *o, const struct option *row)
{
	return (int64_t *)(void *)((char *)o + row->at);
}

/* "boris: --timeout=0: must be ..." or "boris: BORIS_TIMEOUT=0: ..." */
static void
refuse(const struct option *row, const char *value, bool env)
{
	struct buf what = { NULL, 0, 0, false }, right = what;
	int i;

	buf_puts(&what, env ? row->env : "--");
	buf_puts(&what, env ? "" : row->name);
	buf_puts(&what, value == NULL ? "" : "=");
	buf_puts(&what, value == NULL ? "" : value);
	buf_putc(&what, '\0');
	buf_puts(&right, "must be ");
	if (row->kind == NUMBER) {
		buf_puts(&right, "a whole number from ");
		buf_int(&right, row->least);
		buf_puts(&right, " to ");
		buf_int(&right, row->most);
	} else if (row->kind == FLAG) {
		buf_puts(&right, env ? "1 or 0" : "given without a value");
	} else if (row->kind == TEXT) {
		buf_puts(&right, "given a value: ");
		buf_puts(&right, row->value);
	}
	for (i = 0; row->kind == CHOICE && row->choices[i] != NULL; i++) {
		buf_puts(&right, i > 0 ? " or " : "");
		buf_puts(&right, row->choices[i]);
	}
	buf_putc(&right, '\0');
	fatal(2, what.data, NULL, right.data);
}

static bool
parse_number(const char *s, int64_t least, int64_t most, int64_t *n)
{
	*n = 0;
	if (*s == '\0')
		return false;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9' || *n > most)
			return false;
		*n = *n * 10 + (*s - '0');
	}
	return *n >= least && *n <= most;
}

static void
set_option(struct options *o, const struct option *row, const char *value,
           bool env)
{
	int i;

	switch (row->kind) {
	case TEXT:
		if (*value == '\0')
			refuse(row, value, env);
		memcpy((char *)o + row->at, &value, sizeof(value));
		return;
	case NUMBER:
	case FLAG:
		if (!parse_number(value, row->least, row->most,
		    number_of(o, row)))
			refuse(row, value, env);
		return;
	case CHOICE:
		for (i = 0; row->choices[i] != NULL; i++) {
			if (strcmp(value, row->choices[i]) == 0) {
				*number_of(o, row) = i;
				return;
			}
		}
		refuse(row, value, env);
	}
}

/* --name=value, --name value, --flag; returns how many words that were */
static int
read_option(struct options *o, char **word, bool given[])
{
	const char *name = *word + 2, *value = strchr(*word, '=');
	size_t n = value != NULL ? (size_t)(value++ - name) : strlen(name);
	int i, used = 1;

	for (i = 0; i < OPTIONS; i++) {
		if (strlen(option_table[i].name) == n &&
		    memcmp(option_table[i].name, name, n) == 0)
			break;
	}
	if (strncmp(*word, "--", 2) != 0 || i == OPTIONS)
		fatal(2, *word, NULL, "not an option; see boris --help");
	if (option_table[i].kind == FLAG) {
		if (value != NULL)
			refuse(&option_table[i], value, false);
		value = "1";
	} else if (value == NULL) {
		value = word[1];
		used = 2;
		if (value == NULL)
			refuse(&option_table[i], NULL, false);
	}
	set_option(o, &option_table[i], value, false);
	given[i] = true;
	return used;
}

/* A flag beats its environment variable, an empty variable is none (C1). */
static void
read_options(struct options *o, char **argv)
{
	bool given[OPTIONS] = { false };
	const char *value;
	int i;

	memset(o, 0, sizeof(*o));
	for (i = 0; i < OPTIONS; i++) {
		if (option_table[i].kind != TEXT)
			*number_of(o, &option_table[i]) =
			    option_table[i].preset;
	}
	while (*argv != NULL)
		argv += read_option(o, argv, given);
	for (i = 0; i < OPTIONS; i++) {
		if (option_table[i].env == NULL || given[i] || o->help)
			continue;
		value = getenv(option_table[i].env);
		if (value != NULL && *value != '\0')
			set_option(o, &option_table[i], value, true);
	}
}

/* A row of --help: option and variable, then what it is */
static void
put_row(struct buf *b, const struct option *row)
{
	buf_puts(b, "  --");
	buf_puts(b, row->name);
	if (row->value != NULL) {
		buf_puts(b, "=");
		buf_puts(b, row->value);
	}
	if (row->env != NULL) {
		buf_puts(b, "  [");
		buf_puts(b, row->env);
		buf_puts(b, row->kind == FLAG ? "=1]" : "]");
	}
	buf_puts(b, "\n        ");
	buf_puts(b, row->help);
	buf_puts(b, "\n");
}

static void
print(const struct buf *b)
{
	size_t at = 0;
	ssize_t n;

	while (at < b->len && (n = write(1, b->data + at, b->len - at)) > 0)
		at += (size_t)n;
	exit(b->failed || at < b->len ? 1 : 0);
}

static void
print_help(void)
{
	struct buf b = { NULL, 0, 0, false };
	int i;

	buf_puts(&b, "boris " BORIS_VERSION ": a shell for an AI agent, as an "
	    "MCP server on stdin and stdout\n\n"
	    "usage: boris [OPTION]...\n\n"
	    "An MCP client starts boris and speaks JSON-RPC with it, one "
	    "message a line.\n"
	    "boris runs what it is told, as the user it runs as.\n\n"
	    "An option is --name=value or --name value. It beats its "
	    "variable [in brackets].\n\n");
	for (i = 0; i < OPTIONS; i++)
		put_row(&b, &option_table[i]);
	buf_puts(&b, "\nExit status: 0 after end of input or a signal, 1 when it "
	    "cannot start,\n2 when an option is wrong.\n"
	    "The manual: man boris\n");
	print(&b);
}

static void
print_version(void)
{
	struct buf b = { NULL, 0, 0, false };

	buf_puts(&b, "boris " BORIS_VERSION "\n");
	print(&b);
}

/* -- The process ------------------------------------------------------- */

static void
on_signal(int sig)
{
	char c = sig == SIGCHLD ? 'c' : 's';
	int saved = errno;

	/* A full pipe holds enough of them already. */
	if (write(signal_pipe[1], &c, 1) < 0)
		errno = saved;
	errno = saved;
}

/* The calls that such a signal would end say EPIPE and EFBIG instead. With a
 * handler rather than ignored: exec sets a handler back, nothing else. */
static void
on_nothing(int sig)
{
	(void)sig;
}

/* Whatever was ignored at the start is not any more, for boris and for its
 * commands (C3). The end may be asked for at once: until the pipe is there
 * signals wait. */
static void
catch_signals(void)
{
	static const int ours[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
	struct sigaction action;
	sigset_t all;
	size_t i;
	int sig;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);

	memset(&action, 0, sizeof(action));
	for (sig = 1; sig <= 64; sig++) {
		if (sigaction(sig, NULL, &action) == 0 &&
		    action.sa_handler == SIG_IGN) {
			action.sa_handler = SIG_DFL;
			sigaction(sig, &action, NULL);
		}
	}
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_nothing;
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (ours[i] == SIGCHLD)
			action.sa_flags |= SA_NOCLDSTOP;
		sigaction(ours[i], &action, NULL);
	}
}

static void
unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
set_flags(int fd)
{
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* What the client left open is nothing for commands. Linux does it in one
 * call, if it is not older than 5.11. */
static void
keep_from_commands(void)
{
	int fd;

#if defined(__linux__) && defined(SYS_close_range)
	if (syscall(SYS_close_range, 3, ~0U, 4) == 0)  /* 4: on exec only */
		return;
#endif
	for (fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* No file of a client's becomes one of 0 to 2, and none goes on to commands.
 * Without /dev a pipe with nobody at its other end does as well. */
static void
fill_descriptors(void)
{
	int fd, got, end[2];

	for (fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		got = open("/dev/null", O_RDWR);
		if (got < 0 && pipe(end) == 0) {
			got = dup2(end[fd == 0 ? 0 : 1], fd);
			if (end[0] != fd)
				close(end[0]);
			if (end[1] != fd)
				close(end[1]);
		}
	}
	keep_from_commands();
}

/* The directory boris was started in, as its user calls it */
static char *
current_dir(void)
{
	const char *pwd = getenv("PWD");
	struct stat a, b;
	size_t size = 256;
	char *dir = NULL, *more;

	if (pwd != NULL && pwd[0] == '/' && stat(pwd, &a) == 0 &&
	    stat(".", &b) == 0 && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino)
		return strdup(pwd);
	while ((more = realloc(dir, size)) != NULL) {
		dir = more;
		if (getcwd(dir, size) != NULL)
			return dir;
		if (errno != ERANGE)
			break;
		size *= 2;
	}
	free(dir);
	return strdup("/");
}

static char *
absolute(const char *name)
{
	struct buf b = { NULL, 0, 0, false };
	char *dir;

	if (name[0] == '/')
		return strdup(name);
	dir = current_dir();
	if (dir == NULL)
		return NULL;
	buf_puts(&b, dir);
	buf_puts(&b, "/");
	buf_puts(&b, name);
	buf_putc(&b, '\0');
	free(dir);
	return b.data;
}

/* --workdir, or where boris is; a directory that can be entered (C2) */
static char *
find_workdir(const char *given)
{
	struct stat st;
	char *dir = given != NULL ? absolute(given) : current_dir();

	if (dir == NULL)
		fatal(1, "start", NULL, "out of memory");
	if (given == NULL)
		return dir;
	errno = 0;
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    access(dir, X_OK) < 0)
		fatal(2, "--workdir (BORIS_WORKDIR)", given,
		    errno == EACCES
		    ? "cannot be entered; must be a directory that can"
		    : "must be a directory that is there");
	return dir;
}

/* What commands see of the environment: all of it but PWD, which each gets
 * its own of, and what only boris is to know (H3). Slot 0 is for PWD. */
static char **
make_environment(void)
{
	static const char *const hidden[] = { "PWD=", "BORIS_TOKEN=" };
	size_t n = 0, i, kept = 1;
	char **env;

	while (environ[n] != NULL)
		n++;
	env = malloc((n + 2) * sizeof(*env));
	if (env == NULL)
		fatal(1, "start", NULL, "out of memory");
	env[0] = "PWD=/";
	for (i = 0; i < n; i++) {
		if (strncmp(environ[i], hidden[0], 4) != 0 &&
		    strncmp(environ[i], hidden[1], 12) != 0)
			env[kept++] = environ[i];
	}
	env[kept] = NULL;
	return env;
}

static void
fill_options(struct mcp_options *m, const struct options *o)
{
	const char *tmp = getenv("TMPDIR");

	memset(m, 0, sizeof(*m));
	m->session.shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash"
	    : "/bin/sh";
	m->session.workdir = find_workdir(o->workdir);
	m->session.tmpdir = absolute(tmp != NULL && *tmp != '\0' ? tmp
	    : "/tmp");
	m->session.env = make_environment();
	m->session.bg_timeout = o->bg_timeout * 1000;
	m->session.save_limit = o->save_limit << 20;
	m->session.background = o->on_timeout == 1;
	m->tools.offered = !o->no_bash;
	m->tools.structured = o->structured == 0;
	m->tools.background = o->on_timeout == 1;
	m->tools.timeout = o->timeout * 1000;
	m->tools.truncate = (enum truncate)o->truncate;
	tools_list(&m->list, &m->tools);
	if (m->session.tmpdir == NULL || m->list.failed)
		fatal(1, "start", NULL, "out of memory");
}

static void
free_options(struct mcp_options *m)
{
	free((char *)m->session.workdir);
	free((char *)m->session.tmpdir);
	free(m->session.env);
	buf_free(&m->list);
}

/* -- stdio: lines in, a queue of lines out ----------------------------- */

struct stdio {
	struct client client;
	int in_place, out_place;
	int in_flags, out_flags;  /* to be put back; -1: not changed */
	bool in_ended;            /* end of file */
	bool out_gone;            /* its reader has hung up */
	bool skipping;            /* inside a line that is too long (P5) */
	bool begun;               /* past the place of a byte order mark */
	struct buf in;            /* read and not yet handled */
	size_t looked;            /* of it: there is no newline */
	struct buf out;
	size_t written;           /* of it */
	size_t progress;          /* bytes at its front that are progress */
};

static bool
congested(const struct stdio *io)
{
	return io->out.len - io->written > UNREAD_LIMIT ||
	    mcp_backlog(&io->client) > UNREAD_LIMIT;
}

static void
drop_output(struct stdio *io)
{
	buf_free(&io->out);
	io->written = io->progress = 0;
}

/* One write. Progress is never in the same one as what follows it (O7). */
static ssize_t
write_some(struct stdio *io)
{
	size_t n = io->out.len - io->written;

	if (io->progress > io->written)
		n = io->progress - io->written;
	if (io->out_flags < 0 && n > SAFE_WRITE)
		n = SAFE_WRITE;  /* blocking, a terminal: in small bites */
	return write(1, io->out.data + io->written, n);
}

static void
flush(struct stdio *io)
{
	ssize_t n;

	while (io->written < io->out.len && !io->out_gone) {
		n = write_some(io);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n < 0) {
			/* A full disk may get room; a pipe gets no reader. */
			io->out_gone = true;
			break;
		}
		io->written += (size_t)n;
		if (io->written >= io->progress)
			io->progress = 0;
		if (io->out_flags < 0)
			break;
	}
	if (io->out_gone || io->written == io->out.len) {
		io->written = io->progress = 0;
		if (io->out.cap > KEEP_SIZE || io->out_gone)
			buf_free(&io->out);
		io->out.len = 0;
	} else if (io->written > io->out.len / 2 &&
	    io->written > FLUSH_SIZE) {
		buf_drop(&io->out, io->written);
		io->written = io->progress = 0;
	}
}

/* Progress only enters an empty queue, so it stands at the front, and what
 * has not begun to be written gives way to a response. */
static bool
stdio_send(void *transport, void *to, enum mcp_kind kind, int error,
           const struct buf *message)
{
	struct stdio *io = transport;

	(void)to;
	(void)error;
	if (io->out_gone)
		return true;
	if (kind == MCP_PROGRESS && io->out.len > 0)
		return false;
	if (kind != MCP_PROGRESS && io->progress > 0 && io->written == 0) {
		buf_drop(&io->out, io->progress);
		io->progress = 0;
	}
	buf_put(&io->out, message->data, message->len);
	buf_putc(&io->out, '\n');
	if (io->out.failed) {
		/* No memory even for the queue: who waits for an answer that
		 * cannot come is better served by the end (E7). */
		drop_output(io);
		io->out_gone = true;
		return true;
	}
	if (kind == MCP_PROGRESS) {
		io->progress = io->out.len;
		flush(io);
	} else if (io->out.len - io->written >= FLUSH_SIZE) {
		flush(io);
	}
	return true;
}

static bool
is_space(const char *p, size_t n)
{
	while (n > 0 && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++, n--;
	return n == 0;
}

static void
handle_line(struct stdio *io, const char *p, size_t n, int64_t now)
{
	if (!io->begun && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3, n -= 3;
	io->begun = true;
	if (n > LINE_LIMIT)
		mcp_too_long(&io->client, NULL);
	else if (!is_space(p, n))
		mcp_message(&io->client, NULL, p, n, now);
}

/* Handles the lines that are there; stops when nobody reads the answers. */
static void
handle_lines(struct stdio *io, int64_t now)
{
	size_t at = 0;
	char *end;

	while (io->in.len > io->looked && !congested(io)) {
		end = memchr(io->in.data + io->looked, '\n',
		    io->in.len - io->looked);
		if (end == NULL) {
			io->looked = io->in.len;
			break;
		}
		io->looked = (size_t)(end - io->in.data) + 1;
		if (!io->skipping)
			handle_line(io, io->in.data + at,
			    io->looked - 1 - at, now);
		io->skipping = false;
		at = io->looked;
	}
	if (at > 0) {
		buf_drop(&io->in, at);
		io->looked -= at;
	}
	if (io->skipping || (io->looked == io->in.len &&
	    io->in.len > LINE_LIMIT)) {
		if (!io->skipping)
			mcp_too_long(&io->client, NULL);
		io->skipping = true;
		buf_free(&io->in);
		io->looked = 0;
	}
	if (io->in.len == 0 && io->in.cap > KEEP_SIZE)
		buf_free(&io->in);
}

static void
read_input(struct stdio *io, int64_t now)
{
	ssize_t n;

	if (!buf_room(&io->in, READ_SIZE)) {
		/* No memory for the rest of this line: as if too long (E7) */
		buf_free(&io->in);
		io->looked = 0;
		if (!io->skipping)
			mcp_too_long(&io->client, NULL);
		io->skipping = true;
		return;
	}
	n = read(0, io->in.data + io->in.len, READ_SIZE);
	if (n < 0 && (errno == EINTR || errno == EAGAIN ||
	    errno == EWOULDBLOCK))
		return;
	if (n > 0) {
		io->in.len += (size_t)n;
		return;
	}
	io->in_ended = true;
	/* A last line without its newline is a line (mcp.md 1). */
	if (io->in.len > 0 && !io->skipping &&
	    io->in.data[io->in.len - 1] != '\n')
		buf_putc(&io->in, '\n');
	(void)now;
}

/* A pipe or socket is made non-blocking; for a terminal, which others use
 * too, poll() and small writes do. -1: it was not changed. */
static int
make_nonblocking(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) < 0 ||
	    (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)))
		return -1;
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return flags;
}

static int
stdio_open(struct stdio *io, const struct mcp_options *options)
{
	memset(io, 0, sizeof(*io));
	io->in_flags = make_nonblocking(0);
	io->out_flags = make_nonblocking(1);
	return mcp_open(&io->client, options, false, stdio_send, io);
}

static void
stdio_free(struct stdio *io)
{
	mcp_free(&io->client);
	buf_free(&io->in);
	buf_free(&io->out);
	if (io->out_flags >= 0)
		fcntl(1, F_SETFL, io->out_flags);
	if (io->in_flags >= 0)
		fcntl(0, F_SETFL, io->in_flags);
}

static void
stdio_want(struct stdio *io, struct loop *loop)
{
	bool lines = io->in.len > io->looked;

	io->in_place = io->out_place = -1;
	if (!congested(io)) {
		if (lines)
			loop_until(loop, loop->now);
		else if (!io->in_ended)
			io->in_place = loop_watch(loop, 0, POLLIN);
	}
	/* Also with nothing to write: whether its reader hangs up (P9) */
	if (!io->out_gone)
		io->out_place = loop_watch(loop, 1,
		    io->written < io->out.len ? POLLOUT : 0);
}

static void
stdio_ready(struct stdio *io, const struct loop *loop)
{
	short got = loop_got(loop, io->out_place);

	if (got & POLLOUT)
		flush(io);
	else if (got & (POLLERR | POLLHUP | POLLNVAL))
		io->out_gone = true;
	if (io->out_gone)
		drop_output(io);
	if (loop_got(loop, io->in_place))
		read_input(io, loop->now);
	handle_lines(io, loop->now);
}

/* Everything that was read has been handled, and answered into the queue. */
static bool
stdio_done(const struct stdio *io)
{
	return io->in_ended && io->in.len == io->looked &&
	    !mcp_unanswered(&io->client);
}

/* -- The whole --------------------------------------------------------- */

struct boris {
	struct loop loop;
	struct stdio stdio;
	int signals_place;
	bool signalled;   /* told to end */
	bool closing;
	bool ended;
};

static void
signals_ready(struct boris *b)
{
	char bytes[64];
	ssize_t n, i;
	bool told = false;

	if (!loop_got(&b->loop, b->signals_place))
		return;
	while ((n = read(signal_pipe[0], bytes, sizeof(bytes))) > 0) {
		for (i = 0; i < n; i++) {
			if (bytes[i] == 'c')
				b->loop.child = true;
			else
				told = true;
		}
	}
	if (!told)
		return;
	/* Clients close stdin, wait 2 s, send SIGTERM, wait 2 s and send
	 * SIGKILL: after the first of these there is no time for a grace. */
	mcp_close(&b->stdio.client, b->loop.now,
	    b->stdio.in_ended || b->closing);
	b->signalled = b->closing = true;
}

/* Children that are nobody's: process 1 inherits them (E8). */
static void
reap_strangers(struct boris *b)
{
	pid_t dead[32];
	int i, n;

	if (!b->loop.child)
		return;
	n = group_dead_children(dead, 32);
	for (i = 0; i < n; i++) {
		if (!session_owns(&b->stdio.client.session, dead[i]))
			group_reap_stranger(dead[i]);
	}
}

/* Whether it is time to close, and then to leave */
static void
look_for_end(struct boris *b)
{
	struct stdio *io = &b->stdio;

	if (!b->closing && (stdio_done(io) || io->out_gone)) {
		b->closing = true;
		mcp_close(&io->client, b->loop.now, false);
	}
	if (!b->closing)
		return;
	flush(io);
	if (!mcp_closed(&io->client))
		return;
	/* After a signal nobody is waited for, else for the reader (P10). */
	b->ended = b->signalled || io->out_gone || io->out.len == 0;
}

static void
greet(void)
{
	struct buf b = { NULL, 0, 0, false };

	if (!isatty(0))
		return;
	buf_puts(&b, "boris " BORIS_VERSION " is an MCP server: a program "
	    "starts it and speaks JSON-RPC with it,\none message a line. "
	    "boris --help says how to set it up. To try it by hand, paste:\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"bash\",\"arguments\":{\"command\":"
	    "\"uname -a\"}}}\nControl-D ends it.\n");
	say(&b);
	buf_free(&b);
}

static void
serve(const struct mcp_options *options)
{
	struct boris b;

	memset(&b, 0, sizeof(b));
	loop_init(&b.loop);
	if (stdio_open(&b.stdio, options) < 0)
		fatal(1, "start", NULL, "out of memory");
	while (!b.ended) {
		loop_begin(&b.loop);
		b.signals_place = loop_watch(&b.loop, signal_pipe[0], POLLIN);
		stdio_want(&b.stdio, &b.loop);
		mcp_want(&b.stdio.client, &b.loop);
		loop_wait(&b.loop);
		signals_ready(&b);
		stdio_ready(&b.stdio, &b.loop);
		mcp_ready(&b.stdio.client, &b.loop);
		flush(&b.stdio);
		reap_strangers(&b);
		look_for_end(&b);
	}
	stdio_free(&b.stdio);
	loop_free(&b.loop);
}

int
main(int argc, char **argv)
{
	struct options o;
	struct mcp_options options;

	fill_descriptors();
	catch_signals();
	read_options(&o, argc > 0 ? argv + 1 : argv);
	if (o.help)
		print_help();
	if (o.version)
		print_version();
	if (pipe(signal_pipe) < 0)
		fatal(1, "pipe", NULL, strerror(errno));
	set_flags(signal_pipe[0]);
	set_flags(signal_pipe[1]);
	fill_options(&options, &o);
	unblock_signals();
	/* boris itself keeps no directory busy. */
	if (chdir("/") < 0)
		fatal(1, "/", NULL, strerror(errno));
	greet();
	serve(&options);
	free_options(&options);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
	return 0;
}
