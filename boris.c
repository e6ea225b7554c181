#ifdef __linux__
#define _DEFAULT_SOURCE  /* syscall */
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

/* boris: an agent's shell over MCP. The process: its descriptors, signals,
 * the loop, its end (SPEC.md C3, L1). */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "http.h"
#include "lines.h"
#include "loop.h"
#include "mcp.h"
#include "options.h"

/* The one thing at file scope that changes: the handler writes to it. */
static int signal_pipe[2] = { -1, -1 };

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

/* Until there is somebody to hear of them signals wait: the end may be asked
 * for at once. */
static void
block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

/* What else was ignored at the start is put right before it matters, when a
 * first command starts (C3, birth_prepare). */
static void
catch_signals(void)
{
	static const int ours[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
	struct sigaction action;
	size_t i;

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
			dup2(end[fd == 0 ? 0 : 1], fd);
			if (end[0] != fd)
				close(end[0]);
			if (end[1] != fd)
				close(end[1]);
		}
	}
	keep_from_commands();
}

/* -- Process 1 (E8) ---------------------------------------------------- */

/* Reaps every child until boris has ended, and passes on whatever signal
 * comes. Signals are all blocked, so none is lost between two waits. */
static int
mind_children(pid_t boris)
{
	sigset_t all;
	int sig, status;
	pid_t pid;

	sigfillset(&all);
	for (;;) {
		if (sigwait(&all, &sig) != 0)
			continue;
		if (sig != SIGCHLD) {
			kill(boris, sig);
			continue;
		}
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != boris)
				continue;
			return WIFEXITED(status) ? WEXITSTATUS(status)
			    : 128 + WTERMSIG(status);
		}
	}
}

/* A container's first process inherits all that lose their parent. So boris
 * goes on as its child, and it is a small init that keeps nothing of the
 * client's open. */
static void
leave_process_1(void)
{
	struct sigaction action;
	int fd;
	pid_t pid;

	/* Ignored, children would leave no status, and none to wait for. */
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_nothing;
	sigaction(SIGCHLD, &action, NULL);
	pid = fork();
	if (pid < 0)
		fatal(1, "fork", NULL, strerror(errno));
	if (pid > 0) {
		for (fd = 0; fd < 3; fd++)
			close(fd);
		exit(mind_children(pid));
	}
	/* A group of its own, in front of the terminal, if there is one: what
	 * is typed there shall come once, not from the parent as well. */
	setpgid(0, 0);
	tcsetpgrp(0, getpid());
}

/* -- The whole --------------------------------------------------------- */

struct boris {
	struct loop loop;
	struct lines lines;
	struct http *http;  /* instead; else NULL */
	int signals_place;
	bool signalled;   /* told to end */
	bool closing;
	bool ended;
};

static bool
told_to_end(struct boris *b)
{
	char bytes[64];
	ssize_t n, i;
	bool told = false;

	if (!loop_got(&b->loop, b->signals_place))
		return false;
	while ((n = read(signal_pipe[0], bytes, sizeof(bytes))) > 0) {
		for (i = 0; i < n; i++) {
			if (bytes[i] == 'c')
				b->loop.child = true;
			else
				told = true;
		}
	}
	return told;
}

static void
signals_ready(struct boris *b)
{
	if (!told_to_end(b))
		return;
	/* Clients close stdin, wait 2 s, send SIGTERM, wait 2 s and send
	 * SIGKILL: after the first of these there is no time for a grace. */
	mcp_close(b->lines.client, b->loop.now,
	    b->lines.in_ended || b->closing);
	b->signalled = b->closing = true;
}

/* Whether it is time to close, and then to leave */
static void
look_for_end(struct boris *b)
{
	struct lines *io = &b->lines;

	if (!b->closing && (lines_done(io) || io->out_gone)) {
		b->closing = true;
		mcp_close(io->client, b->loop.now, false);
	}
	if (!b->closing)
		return;
	lines_flush(io);
	if (!mcp_closed(io->client))
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
serve_lines(const struct mcp_options *options)
{
	struct boris b;

	memset(&b, 0, sizeof(b));
	loop_init(&b.loop);
	if (lines_open(&b.lines, options) < 0)
		fatal(1, "start", NULL, "out of memory");
	while (!b.ended) {
		loop_begin(&b.loop);
		b.signals_place = loop_watch(&b.loop, signal_pipe[0], POLLIN);
		lines_want(&b.lines, &b.loop);
		mcp_poll_add(b.lines.client, &b.loop);
		loop_wait(&b.loop);
		signals_ready(&b);
		lines_ready(&b.lines, &b.loop);
		mcp_dispatch(b.lines.client, &b.loop);
		lines_flush(&b.lines);
		look_for_end(&b);
	}
	lines_free(&b.lines);
	loop_free(&b.loop);
}

static void
announce(const struct http *http, bool token)
{
	struct buf b = { NULL, 0, 0, false };

	if (token) {
		buf_puts(&b, "boris: token ");
		buf_puts(&b, http->options->token);
		buf_puts(&b, "\n");
	}
	buf_puts(&b, "boris: listening on ");
	buf_puts(&b, http->origin.data);
	buf_puts(&b, "/mcp\n");
	say(&b);
	buf_free(&b);
}

static void
fail_to_listen(const struct http_options *o)
{
	struct buf b = { NULL, 0, 0, false };
	const char *why = strerror(errno);

	buf_puts(&b, o->address);
	buf_puts(&b, " port ");
	buf_int(&b, o->port);
	buf_putc(&b, '\0');
	fatal(1, "listen on", b.data, why);
}

static void
serve_http(const struct options *options)
{
	struct boris b;
	struct http http;

	memset(&b, 0, sizeof(b));
	b.http = &http;
	loop_init(&b.loop);
	if (http_open(&http, &options->http, &options->mcp) < 0)
		fail_to_listen(&options->http);
	announce(&http, options->say_token);
	while (!http_closed(&http)) {
		loop_begin(&b.loop);
		b.signals_place = loop_watch(&b.loop, signal_pipe[0], POLLIN);
		http_want(&http, &b.loop);
		loop_wait(&b.loop);
		if (told_to_end(&b)) {
			http_close(&http, b.loop.now, b.closing);
			b.closing = true;
		}
		http_ready(&http, &b.loop);
	}
	http_free(&http);
	loop_free(&b.loop);
}

int
main(int argc, char **argv)
{
	struct options options;

	block_signals();
	fill_descriptors();
	if (getpid() == 1)
		leave_process_1();
	catch_signals();
	options_read(&options, argc > 0 ? argv + 1 : argv);
	if (pipe(signal_pipe) < 0)
		fatal(1, "pipe", NULL, strerror(errno));
	set_flags(signal_pipe[0]);
	set_flags(signal_pipe[1]);
	unblock_signals();
	/* boris itself keeps no directory busy. */
	if (chdir("/") < 0)
		fatal(1, "/", NULL, strerror(errno));
	if (options.over_http) {
		serve_http(&options);
	} else {
		greet();
		serve_lines(&options.mcp);
	}
	options_free(&options);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
	return 0;
}
