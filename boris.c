#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

/* boris: an agent's shell over MCP. This file has the process: its descriptors,
 * its signals, the event loop and the exit (C3, E8, L1). */

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

/* Kinds of signals, as on_signal() writes them to the pipe */
enum { SIGNAL_CHILD = 'c', SIGNAL_RELOAD = 'h', SIGNAL_END = 'e' };

/* Writes the kind of the signal to the pipe, which wakes the loop. */
static void
on_signal(int sig)
{
	char kind = SIGNAL_END;
	int saved = errno;

	if (sig == SIGCHLD)
		kind = SIGNAL_CHILD;
	else if (sig == SIGHUP)
		kind = SIGNAL_RELOAD;
	/* If the pipe is full, it has enough bytes to wake the loop. */
	if (write(signal_pipe[1], &kind, 1) < 0)
		errno = saved;
}

/* Does nothing, but makes write() fail with EPIPE or EFBIG. If the signal were
 * ignored instead, commands would inherit that. */
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

/* Sets all signal handlers and unblocks all signals. Over stdio, SIGHUP does
 * nothing if it was ignored at the start, as by nohup (C3). Over HTTP it always
 * reloads; otherwise a revoked token would stay valid (H9). */
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

/* Reaps every child until boris has exited, and then its guard, which ends what
 * is left: when process 1 exits, the kernel kills all processes. Passes other
 * signals on to boris while it runs; since they are blocked, none is lost.
 * Returns the exit status of boris. */
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
		for (pid = waitpid(-1, &status, WNOHANG); pid > 0;
		    pid = waitpid(-1, &status, WNOHANG)) {
			if (pid != boris)
				continue;
			result = WIFEXITED(status) ? WEXITSTATUS(status)
			    : 128 + WTERMSIG(status);
			awaited = guard_pid(guard);
		}
	}
	return result;
}

/* Makes this process, the first of a container, an init without descriptors,
 * because it inherits all processes that lose their parent. boris continues as
 * its child. */
static void
leave_process_1(const struct guard *guard)
{
	pid_t pid;

	/* If SIGCHLD were ignored, waitpid() would return no status. */
	catch(SIGCHLD, on_nothing);
	pid = fork();
	if (pid < 0)
		fatal(1, "fork: %s", strerror(errno));
	if (pid > 0) {
		spawn_close_from(0);
		exit(mind_children(pid, guard));
	}
	/* boris gets a process group of its own, in the foreground of the
	 * terminal if there is one. Otherwise Ctrl-C would reach it twice, the
	 * second time through its parent. */
	setpgid(0, 0);
	tcsetpgrp(0, getpid());
}

struct boris {
	struct options options;
	struct loop loop;
	struct stdio *stdio;  /* the transport, or NULL */
	struct http *http;    /* the transport, or NULL */
	enum transport_state state;
};

/* Makes the random name of this boris, and the token of --generate-token. */
static void
make_random(struct options *o)
{
	char token[2 * RANDOM_MAX + 1];

	if (!random_hex(o->name, (sizeof(o->name) - 1) / 2) ||
	    !random_hex(token, RANDOM_MAX))
		fatal(1, "start: there is no source of random numbers");
	if (o->generate_token)
		o->token = mem_copy(token);
}

static void
open_log(struct options *o)
{
	const char *why;

	if (o->log_file == NULL)
		return;
	why = log_open(&o->log, o->log_file);
	if (why != NULL)
		fatal(1, "--log (BORIS_LOG) %s: %s", o->log_file, why);
}

/* Returns a descriptor that reads end of file, or -1 with errno set (B4). */
static int
open_no_input(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int empty[2];

	if (fd < 0 && fd_pipe(empty) == 0) {
		fd = empty[0];
		close(empty[1]);
	}
	return fd;
}

/* Fills in the options that boris finds or makes at the start, and leaves
 * process 1. */
static void
prepare(struct options *o)
{
	make_random(o);
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
	open_log(o);
	o->oom_score = open(SPAWN_OOM_SCORE, O_RDWR | O_CLOEXEC);
	o->no_input = open_no_input();
	/* boris keeps no directory busy. */
	if (o->no_input < 0 || chdir("/") < 0)
		fatal(1, "start: %s", strerror(errno));
	catch_signals(o);
	spawn_prepare(o->visible);
}

/* Starts to listen, raises the fences, and prints what a person can do. */
static void
begin_serving(struct boris *b)
{
	const struct options *o = &b->options;

	if (o->http)
		b->http = http_open(o);
	fence_raise(o);
	if (b->http == NULL) {
		b->stdio = stdio_open(o);
		if (isatty(0))  /* started by a person (C4) */
			stderr_line("boris " BORIS_VERSION " is an MCP server: "
			    "a program starts it and writes JSON-RPC to it. "
			    "See boris --help. Control-D ends it.");
		return;
	}
	if (o->generate_token)
		stderr_line("boris: token %s", o->token);
	stderr_line("boris: listening on %s/mcp", http_origin(b->http));
}

/* Opens the log and reads the token file again, on SIGHUP over HTTP (H9). */
static void
reload(struct options *o)
{
	const char *why = NULL;

	if (o->log != NULL)
		why = log_open(&o->log, o->log_file);
	if (why != NULL)
		stderr_line("boris: --log %s: %s; the old one stays",
		    o->log_file, why);
	why = NULL;
	if (o->token_file != NULL)
		why = options_read_token(o, O_NONBLOCK);
	if (why != NULL)
		stderr_line("boris: --token-file %s: %s; the old token stays",
		    o->token_file, why);
}

/* Notes which kinds of signals have arrived. Bytes that do not fit into the
 * array are read in the next turn. */
static void
read_signals(struct boris *b)
{
	char kinds[64];
	ssize_t n = read(signal_pipe[0], kinds, sizeof(kinds)), i;

	for (i = 0; i < n; i++) {
		if (kinds[i] == SIGNAL_CHILD)
			b->loop.child = true;
		else if (kinds[i] == SIGNAL_RELOAD && b->http != NULL)
			reload(&b->options);
		else
			b->loop.end = true;
	}
}

/* Waits until something is ready or due, and reads the signals. */
static void
wait_for_events(struct boris *b)
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
}

/* One turn of the loop. The transport reads requests and opens them as calls;
 * then, for each client, mcp_dispatch() has three phases:
 *
 *	read    session_read(), calls_read(): output, ended processes, prompts
 *	decide  due.c for each job, wait.c for each call: what is due
 *	act     session_act(), calls_act(): start, end, hand over, answer
 *
 * Decisions change nothing. Each is taken just before its action, so that it
 * sees what the actions before it have changed in this turn. */
static void
turn(struct boris *b)
{
	wait_for_events(b);
	/* Once the end has begun, a signal makes boris exit at once, and its
	 * guard does the rest: clients close stdin, soon send SIGTERM, and soon
	 * after that SIGKILL (L1). */
	if (b->loop.end && b->state == TRANSPORT_ENDS)
		b->state = TRANSPORT_CLOSED;
	else if (b->http != NULL)
		b->state = http_dispatch(b->http, &b->loop);
	else
		b->state = stdio_dispatch(b->stdio, &b->loop);
}

/* Opens those of the descriptors 0 to 2 that are closed, so that no other file
 * takes their place (C3). */
static void
fill_descriptors(void)
{
	int fd = 0;

	while (fd >= 0 && fd < 3)
		fd = open("/dev/null", O_RDWR);
}

int
main(int argc, char **argv)
{
	struct boris b = { .state = TRANSPORT_SERVES };
	sigset_t all;

	(void)argc;
	/* Block all signals until catch_signals(). */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	fill_descriptors();
	/* Read the options before process 1 forks, so that neither process
	 * shows a token (H3). */
	options_read(&b.options, argv);
	/* Close what the client left open (F3, Q5), now that a token has been
	 * read from it. */
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
	/* exit() instead of return keeps all memory reachable from `b` for
	 * tools that search for leaks (Q5). */
	exit(0);
}
