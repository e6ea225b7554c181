#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

/* boris: an agent's shell over MCP. The process: its descriptors, signals,
 * the loop, its end (C3, E8, L1). */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask.h"
#include "fence.h"
#include "guard.h"
#include "http.h"
#include "io.h"
#include "log.h"
#include "stdio.h"
#include "mcp.h"
#include "options.h"
#include "proc.h"

/* The only variable of the program at file scope: the handler writes to it. */
static int signal_pipe[2] = { -1, -1 };

/* -- The process ------------------------------------------------------- */

static void
on_signal(int sig)
{
	char c = sig == SIGCHLD ? 'c' : 's';
	int saved = errno;

	/* If the pipe is full, there is enough in it to wake the loop. */
	if (write(signal_pipe[1], &c, 1) < 0)
		errno = saved;
}

/* With this handler write() fails with EPIPE or EFBIG, and boris goes on. If
 * the signal were ignored instead, commands would inherit that. */
static void
on_nothing(int sig)
{
	(void)sig;
}

static void
catch(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &action, NULL);
}

/* Installs the handlers and unblocks all signals. A SIGHUP that was ignored,
 * by nohup, does not end boris (C3). */
static void
catch_signals(void)
{
	struct sigaction hup;
	sigset_t none;

	sigaction(SIGHUP, NULL, &hup);
	if (proc_pipe(signal_pipe, -1) < 0)
		fatal(1, "pipe", NULL, strerror(errno));
	catch(SIGPIPE, on_nothing, 0);
	catch(SIGXFSZ, on_nothing, 0);
	catch(SIGTERM, on_signal, SA_RESTART);
	catch(SIGINT, on_signal, SA_RESTART);
	catch(SIGHUP, hup.sa_handler == SIG_IGN ? on_nothing : on_signal,
	    SA_RESTART);
	catch(SIGQUIT, on_signal, SA_RESTART);
	catch(SIGCHLD, on_signal, SA_RESTART | SA_NOCLDSTOP);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* One end of a pipe whose other end is closed: reading gives end of file (0),
 * writing fails (1). -1 with errno. */
static int
half_pipe(int which)
{
	int end[2];

	if (proc_pipe(end, !which) < 0)
		return -1;
	close(end[!which]);
	return end[which];
}

/* Opens those of 0 to 2 that are closed, so that nothing opened later takes
 * their place (C3); and closes what the client left open (F3, Q5). */
static void
fill_descriptors(void)
{
	int fd, end;

	for (fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		end = half_pipe(fd > 0);
		dup2(end, fd);
		if (end != fd)
			close(end);
	}
	proc_close_from(3);
}

/* What boris starts is the kernel's first choice when memory runs out: all
 * inherit this, so the largest goes first (E10). It is never lowered. False: it
 * was not raised, which is no error. */
static bool
offer_memory(void)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	char text[8] = "";
	bool raised;

	raised = read(fd, text, sizeof(text) - 1) > 0 && atoi(text) < 500 &&
	    pwrite(fd, "500", 3, 0) == 3;
	fd_close(&fd);
	return raised;
}

/* The stdin of commands that are given none, also without /dev/null (B4) */
static int
open_no_input(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd : half_pipe(0);
}

/* -- Process 1 (E8) ---------------------------------------------------- */

/* Reaps every child until boris has ended, and its guard, which ends what is
 * left: when process 1 ends, the kernel kills all. Other signals are passed
 * on to boris; as they are blocked, none is lost between two waits. */
static int
mind_children(pid_t boris, const struct guard *guard)
{
	sigset_t all;
	int sig = SIGCHLD, status, result = -1;
	pid_t pid, last = boris;

	sigfillset(&all);
	for (;;) {
		sigwait(&all, &sig);
		if (sig != SIGCHLD && result >= 0)
			return result;
		if (sig != SIGCHLD)
			kill(boris, sig);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid == boris) {
				result = WIFEXITED(status)
				    ? WEXITSTATUS(status)
				    : 128 + WTERMSIG(status);
				last = guard_pid(guard);
				alarm((PROC_GRACE + PROC_GIVE_UP) / 1000 + 1);
			} else if (pid == last) {
				last = 0;
			}
		}
		if (result >= 0 && (last == 0 || pid < 0))
			return result;
	}
}

/* The first process of a container inherits all that lose their parent. So it
 * becomes a small init without descriptors, and boris goes on as its child. */
static void
leave_process_1(const struct guard *guard)
{
	pid_t pid;

	/* If it were ignored, no child would leave a status to wait for. */
	catch(SIGCHLD, on_nothing, 0);
	pid = proc_fork();
	if (pid < 0)
		fatal(1, "fork", NULL, strerror(errno));
	if (pid > 0) {
		proc_close_from(0);
		exit(mind_children(pid, guard));
	}
	/* In the foreground of a terminal, if there is one, with a group of
	 * its own: Ctrl-C then comes once, not through the parent as well. */
	setpgid(0, 0);
	tcsetpgrp(0, getpid());
}

/* -- Words for the person there ---------------------------------------- */

static void
greet(void)
{
	if (!isatty(0))
		return;
	say("boris " BORIS_VERSION " is an MCP server: a program starts it and "
	    "speaks JSON-RPC with it,");
	say("one message a line. boris --help says how to set it up. To try it "
	    "by hand, paste:");
	say("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-11-25\"}}");
	say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"bash\",\"arguments\":{\"command\":"
	    "\"uname -a\"}}}");
	say("Control-D ends it.");
}

static void
announce(const struct http *http, const struct options *options)
{
	if (options->generate_token)
		say("boris: token ", options->http.rules.token);
	say("boris: listening on ", http_origin(http), "/mcp");
}

static void
fail_to_listen(const struct http_options *options)
{
	const char *why = strerror(errno);
	struct buf b = { NULL, 0, 0, false };

	buf_puts(&b, options->address);
	buf_number(&b, " port ", options->port, "");
	buf_putc(&b, '\0');
	fatal(1, "listen on", b.failed ? NULL : b.data, why);
}

/* -- The whole --------------------------------------------------------- */

struct boris {
	struct loop loop;
	struct stdio *stdio;  /* the transport is this, */
	struct http *http;    /* or this; the other is NULL */
	enum transport_state state;
};

/* What does not fit is read in the next turn. */
static void
read_signals(struct loop *loop)
{
	char bytes[64];
	ssize_t n = read(signal_pipe[0], bytes, sizeof(bytes));

	if (n > 0) {
		loop->child = memchr(bytes, 'c', (size_t)n) != NULL;
		loop->end = memchr(bytes, 's', (size_t)n) != NULL;
	}
}

/* If the end has begun, at a signal boris leaves, and the guard does the rest:
 * clients send SIGKILL soon after the second sign (L1). */
static void
turn(struct boris *b)
{
	int signals;

	loop_begin(&b->loop);
	signals = loop_add(&b->loop, signal_pipe[0], POLLIN);
	if (b->http != NULL)
		http_poll_add(b->http, &b->loop);
	else
		stdio_poll_add(b->stdio, &b->loop);
	loop_wait(&b->loop);
	if (loop_events(&b->loop, signals))
		read_signals(&b->loop);
	if (b->loop.end && b->state == TRANSPORT_ENDS)
		b->state = TRANSPORT_CLOSED;
	else if (b->http != NULL)
		b->state = http_dispatch(b->http, &b->loop);
	else
		b->state = stdio_dispatch(b->stdio, &b->loop);
}

/* If it can't be written, no command can be started, and that is told (A2). */
static void
record_boris(const struct options *options, const char *event)
{
	const struct log_session none = { options->mcp.session.log, NULL };
	struct record r = log_begin(&none, event);

	log_number(&r, "pid", getpid());
	log_text(&r, "version", BORIS_VERSION);
	log_end(&r);
}

/* The exit status */
static int
serve(const struct options *options)
{
	const char *option, *missing;
	struct boris b = { .http = NULL };

	if (options->over_http) {
		b.http = http_open(&options->http, &options->mcp);
		if (b.http == NULL)
			fail_to_listen(&options->http);
	}
	option = fence_raise(&options->fence, &missing);
	if (option != NULL)
		fatal(1, option, missing, strerror(errno));
	record_boris(options, "boris_begin");
	if (b.http != NULL) {
		announce(b.http, options);
	} else {
		b.stdio = stdio_open(&options->mcp);
		if (b.stdio == NULL)
			fatal(1, "start", NULL, "out of memory");
		greet();
	}
	while (b.state <= TRANSPORT_ENDS)
		turn(&b);
	if (b.state == TRANSPORT_STARVED)
		say("boris: out of memory for an answer, so it ends");
	stdio_free(b.stdio);
	http_free(b.http);
	loop_free(&b.loop);
	record_boris(options, "boris_end");
	return b.state == TRANSPORT_STARVED;
}

int
main(int argc, char **argv)
{
	struct options options;
	struct session_options *session = &options.mcp.session;
	const char *why;
	char prefix[] = "boris-0123456789abcdef";
	sigset_t all;
	int status;

	/* Until catch_signals(): the one that ends boris may come earlier. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	fill_descriptors();
	/* Before the fork: process 1 is to show no token either (H3). */
	options_read(&options, argc > 0 ? argv + 1 : argv);
	if (options.secret != NULL) {
		status = ask_secret(session->tmpdir, options.secret);
		options_free(&options);
		return status;
	}
	if (!proc_random(prefix + 6, 8))
		fatal(1, "start", NULL, "no source of random numbers: neither "
		    "getrandom() nor /dev/urandom");
	session->name = prefix + 6;
	session->guard = guard_open(session->tmpdir, prefix);
	if (session->guard == NULL)
		fatal(1, "start", NULL, strerror(errno));
	if (getpid() == 1)
		leave_process_1(session->guard);
	if (options.log != NULL) {
		session->log = log_open(options.log, &why);
		if (session->log == NULL)
			fatal(1, "--log (BORIS_LOG)", options.log, why);
	}
	offer_memory();
	session->no_input = open_no_input();
	if (session->no_input < 0)
		fatal(1, "/dev/null", NULL, strerror(errno));
	catch_signals();
	proc_prepare(guard_visible(session->guard));
	/* boris itself keeps no directory busy. */
	if (chdir("/") < 0)
		fatal(1, "/", NULL, strerror(errno));
	status = serve(&options);
	guard_free(session->guard);
	log_free(session->log);
	options_free(&options);
	close(session->no_input);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
	return status;
}
