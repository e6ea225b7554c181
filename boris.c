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

#include "base/buf.h"
#include "base/io.h"
#include "base/message.h"
#include "base/options.h"
#include "base/random.h"
#include "base/tempfile.h"
#include "output/output.h"
#include "run/environment.h"
#include "run/fence.h"
#include "run/guard.h"
#include "run/proc.h"
#include "run/script.h"
#include "run/spawn.h"
#include "session/log.h"
#include "session/secret.h"
#include "transport/http.h"
#include "transport/stdio.h"

/* The only variable of the program at file scope: the handler writes to it. */
static int signal_pipe[2] = { -1, -1 };

static void
on_signal(int sig)
{
	char c = sig == SIGCHLD ? 'c' : sig == SIGHUP ? 'h' : 's';
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
catch(int sig, void (*handler)(int))
{
	struct sigaction action = {
		.sa_handler = handler, .sa_flags = SA_RESTART | SA_NOCLDSTOP
	};

	sigaction(sig, &action, NULL);
}

/* Over stdio a SIGHUP that was ignored at the start, by nohup, does nothing
 * (C3). Over HTTP it always reloads: otherwise a revoked token would stay valid
 * (H9). */
static void
catch_signals(const struct options *o)
{
	struct sigaction hup;
	bool ignored;
	sigset_t none;

	sigaction(SIGHUP, NULL, &hup);
	ignored = hup.sa_handler == SIG_IGN && !o->http;
	if (fd_pipe(signal_pipe) < 0)
		fatal(1, "pipe: %s", strerror(errno));
	fd_nonblocking(signal_pipe[0]);
	fd_nonblocking(signal_pipe[1]);
	catch(SIGPIPE, on_nothing);
	catch(SIGXFSZ, on_nothing);
	catch(SIGTERM, on_signal);
	catch(SIGINT, on_signal);
	catch(SIGHUP, ignored ? on_nothing : on_signal);
	catch(SIGQUIT, on_signal);
	catch(SIGCHLD, on_signal);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Reaps every child until boris has ended, and then its guard, which ends what
 * is left: when process 1 ends, the kernel kills all. While boris runs, other
 * signals are passed on to it; since they are blocked, none is lost. */
static int
mind_children(pid_t boris, const struct guard *guard)
{
	pid_t pid, awaited = boris;
	int sig, status, result = 0;
	sigset_t all;

	sigfillset(&all);
	while (awaited != 0 && kill(awaited, 0) == 0) {
		sigwait(&all, &sig);
		if (sig != SIGCHLD && awaited != boris)
			break;
		if (sig != SIGCHLD)
			kill(boris, sig);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != boris)
				continue;
			result = WIFEXITED(status) ? WEXITSTATUS(status)
			    : 128 + WTERMSIG(status);
			awaited = guard_pid(guard);
		}
	}
	return result;
}

/* The first process of a container inherits all that lose their parent. So it
 * becomes a small init without descriptors, and boris goes on as its child. */
static void
leave_process_1(const struct guard *guard)
{
	pid_t pid;

	/* If it were ignored, no child would leave a status to wait for. */
	catch(SIGCHLD, on_nothing);
	pid = fork();
	if (pid < 0)
		fatal(1, "fork: %s", strerror(errno));
	if (pid > 0) {
		spawn_close_from(0);
		exit(mind_children(pid, guard));
	}
	/* In the foreground of a terminal, if there is one, with a group of
	 * its own: Ctrl-C then comes once, not through the parent as well. */
	setpgid(0, 0);
	tcsetpgrp(0, getpid());
}

struct boris {
	struct options options;
	struct loop loop;
	struct stdio *stdio;  /* the transport is this, */
	struct http *http;    /* or this; the other is NULL */
	enum transport_state state;
};

/* Fills in what is found or made at the start, and leaves process 1. */
static void
prepare(struct options *o)
{
	char token[2 * RANDOM_MOST + 1];
	const char *why;
	int empty[2];

	if (!random_hex(o->name, (sizeof(o->name) - 1) / 2) ||
	    !random_hex(token, RANDOM_MOST))
		fatal(1, "start: there is no source of random numbers");
	if (o->generate_token)
		o->token = mem_copy(token);
	o->shell = script_shell();
	if (o->bash)
		options_check_visible(o, o->shell, "the shell");
	o->environment = environment_open();
	o->visible = proc_visible();
	o->files = tempfile_open(o->tmpdir);
	o->guard = guard_open(o);
	o->store = mem_get(sizeof(*o->store));
	if (getpid() == 1)
		leave_process_1(o->guard);
	why = o->log_file != NULL ? log_open(&o->log, o->log_file) : NULL;
	if (why != NULL)
		fatal(1, "--log (BORIS_LOG) %s: %s", o->log_file, why);
	o->oom_score = o->write != NULL || o->hide != NULL
	    ? open(SPAWN_OOM_SCORE, O_RDWR | O_CLOEXEC) : -1;
	o->no_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (o->no_input < 0 && fd_pipe(empty) == 0) {
		o->no_input = empty[0];  /* It ends at once, too (B4). */
		close(empty[1]);
	}
	/* boris itself keeps no directory busy. */
	if (o->no_input < 0 || chdir("/") < 0)
		fatal(1, "start: %s", strerror(errno));
	catch_signals(o);
	spawn_prepare(o->visible);
}

/* Begins to listen, raises the fences, and tells a person what can be done. */
static void
begin_serving(struct boris *b)
{
	const struct options *o = &b->options;

	if (o->http)
		b->http = http_open(o);
	fence_raise(o);
	if (b->http == NULL) {
		b->stdio = stdio_open(o);
		if (isatty(0))  /* a person's (C4) */
			stderr_line("boris " BORIS_VERSION " is an MCP server: "
			    "a program starts it and writes JSON-RPC to it. "
			    "See boris --help. Control-D ends it.");
		return;
	}
	if (o->generate_token)
		stderr_line("boris: token %s", o->token);
	stderr_line("boris: listening on %s/mcp", http_origin(b->http));
}

/* H9: at SIGHUP, over HTTP, opens the log and reads the token file anew. */
static void
reload(struct options *o)
{
	const char *why = o->log != NULL ? log_open(&o->log, o->log_file)
	    : NULL;

	if (why != NULL)
		stderr_line("boris: --log %s: %s; the old one stays",
		    o->log_file, why);
	why = o->token_file != NULL ? options_read_token(o, O_NONBLOCK) : NULL;
	if (why != NULL)
		stderr_line("boris: --token-file %s: %s; the old token stays",
		    o->token_file, why);
}

/* What does not fit is read in the next turn. */
static void
read_signals(struct boris *b)
{
	char bytes[64];
	ssize_t n = read(signal_pipe[0], bytes, sizeof(bytes));

	while (n-- > 0) {
		b->loop.child |= bytes[n] == 'c';
		if (bytes[n] == 'h' && b->http != NULL)
			reload(&b->options);
		else
			b->loop.end |= bytes[n] != 'c';
	}
}

/* Once the end has begun a signal makes boris leave at once; its guard goes on:
 * clients close stdin, soon send SIGTERM, and soon after that SIGKILL (L1). */
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
		read_signals(b);
	if (b->loop.end && b->state == TRANSPORT_ENDS)
		b->state = TRANSPORT_CLOSED;
	else if (b->http != NULL)
		b->state = http_dispatch(b->http, &b->loop);
	else
		b->state = stdio_dispatch(b->stdio, &b->loop);
}

int
main(int argc, char **argv)
{
	struct boris b = { .state = TRANSPORT_SERVES };
	sigset_t all;
	int fd;

	(void)argc;
	/* All are blocked until catch_signals(), even those that end boris. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Those of 0 to 2 that are closed are filled, so that nothing opened
	 * later takes their place (C3); what the client left open is closed
	 * (F3, Q5), but not before a token has been read from it. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < 3);
	/* Before the fork: process 1 is to show no token either (H3). */
	options_read(&b.options, argv);
	spawn_close_from(3);
	if (b.options.secret != NULL)
		exit(secret_ask(b.options.tmpdir, b.options.secret));
	prepare(&b.options);
	begin_serving(&b);
	while (b.state != TRANSPORT_CLOSED)
		turn(&b);
	if (b.http != NULL)
		http_end(b.http);
	else
		stdio_end(b.stdio);
	guard_end(b.options.guard);
	close(b.options.no_input);
	fd_close(&b.options.oom_score);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
	/* exit(), not return: so tools that look for leaks find all memory that
	 * is not freed still reachable from `b` (Q5). */
	exit(0);
}
