/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

/* boris is an MCP server that gives an AI agent a shell. This file contains
 * main(), the signal handlers, the event loop, and the cleanup at exit. In the
 * loop, no function except loop_wait() blocks. */

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
#include "run/mounts.h"
#include "run/proc.h"
#include "run/script.h"
#include "run/spawn.h"
#include "session/log.h"
#include "session/secret.h"
#include "transport/http.h"
#include "transport/stdio.h"

/* The pipe that wakes the event loop after a signal. It is the only variable at
 * file scope, and is needed because a signal handler cannot be passed a
 * pointer. */
static int signal_pipe[2] = { -1, -1 };

/* Bytes that signal handlers write to the signal pipe, one for each kind of
 * signal */
enum { SIGNAL_CHILD = 'c', SIGNAL_RELOAD = 'h', SIGNAL_END = 'e' };

/* Writes the SIGNAL_ constant for the signal to the signal pipe, to wake the
 * event loop. */
static void
on_signal(int sig)
{
	char kind = SIGNAL_END;
	int saved = errno;

	if (sig == SIGCHLD)
		kind = SIGNAL_CHILD;
	else if (sig == SIGHUP)
		kind = SIGNAL_RELOAD;
	/* If the pipe is full, the bytes in it wake the loop anyway, so this
	 * byte is not needed. */
	if (write(signal_pipe[1], &kind, 1) < 0)
		errno = saved;
}

/* A signal handler that does nothing. With this handler for SIGPIPE, for
 * example, write() fails with EPIPE instead of terminating boris. Unlike
 * SIG_IGN, a handler is reset by execve(), so commands do not inherit it. */
static void
do_nothing(int sig)
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

/* Installs all signal handlers and unblocks all signals. Over stdio, SIGHUP
 * remains ignored if it was ignored at startup, for example by nohup (C3). Over
 * HTTP, SIGHUP always reloads the token, so that a token can be revoked
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
		fatal(1, "cannot create a pipe: %s", strerror(errno));
	fd_nonblocking(signal_pipe[0]);
	fd_nonblocking(signal_pipe[1]);
	catch(SIGPIPE, do_nothing);
	catch(SIGXFSZ, do_nothing);
	catch(SIGTERM, on_signal);
	catch(SIGINT, on_signal);
	catch(SIGHUP, ignored ? do_nothing : on_signal);
	catch(SIGQUIT, on_signal);
	catch(SIGCHLD, on_signal);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs as process 1 until both boris and its guard have exited. Process 1 must
 * exit last, because the kernel kills all other processes when process 1 exits.
 * Reaps all children. Receives the blocked signals with sigwait() and forwards
 * them to boris. After boris has exited, a signal ends the wait for the guard.
 * Returns boris's exit status. */
static int
reap_children(pid_t boris, const struct guard *guard)
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

/* Forks when boris runs as process 1 of a container. The parent becomes an init
 * process, which holds no descriptors and reaps orphans. boris continues in the
 * child. */
static void
fork_from_init(const struct guard *guard)
{
	pid_t pid;

	/* Install a handler for SIGCHLD. If SIGCHLD were ignored, waitpid()
	 * could not report exit statuses. */
	catch(SIGCHLD, do_nothing);
	pid = fork();
	if (pid < 0)
		fatal(1, "cannot fork: %s", strerror(errno));
	if (pid > 0) {
		spawn_close_from(0);
		exit(reap_children(pid, guard));
	}
	/* Move boris to a foreground process group of its own. Otherwise it
	 * would receive SIGINT twice after Ctrl-C, from the terminal and from
	 * its parent. */
	setpgid(0, 0);
	tcsetpgrp(0, getpid());
}

struct boris {
	struct options options;
	struct loop loop;
	struct stdio *stdio;  /* stdio transport, or NULL */
	struct http *http;    /* HTTP transport, or NULL */
	enum transport_state state;
};

/* Generates the random name of this boris process, and the token for
 * --generate-token. Exits if there is no source of random numbers. */
static void
make_random(struct options *o)
{
	char token[2 * RANDOM_MAX + 1];

	if (!random_hex(o->name, (sizeof(o->name) - 1) / 2) ||
	    !random_hex(token, RANDOM_MAX))
		fatal(1, "cannot start: no source of random numbers");
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
		fatal(1, "--log=%s: cannot open the log: %s", o->log_file, why);
}

/* Opens a descriptor that always reads as end of file (B4). Returns the
 * descriptor, or -1 with errno set. */
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

/* Sets the options that options_read() leaves to boris.c, installs the signal
 * handlers, and forks if boris is process 1. Exits on failure. */
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
		fork_from_init(o->guard);
	open_log(o);
	o->oom_score = open(SPAWN_OOM_SCORE, O_RDWR | O_CLOEXEC);
	o->no_input = open_no_input();
	/* Leave the initial directory, so that its file system can be
	 * unmounted. */
	if (o->no_input < 0 || chdir("/") < 0)
		fatal(1, "cannot start: %s", strerror(errno));
	catch_signals(o);
	spawn_prepare(o->visible);
}

/* Starts the transport, and applies the restrictions of --write, --hide and
 * --no-network. Over HTTP, prints the address on stderr. Over stdio, prints a
 * hint if a user has started boris in a terminal. */
static void
start_serving(struct boris *b)
{
	struct options *o = &b->options;

	if (o->http)
		b->http = http_open(o);
	fence_raise(o);
	o->mounts = mounts_open();
	if (b->http == NULL) {
		b->stdio = stdio_open(o);
		/* If stdin is a terminal, boris was started by a user, not by a
		 * client (C4). */
		if (isatty(0))
			stderr_line("boris " BORIS_VERSION " is an MCP server, "
			    "waiting for JSON-RPC messages on stdin. MCP "
			    "clients start it themselves; see boris --help. "
			    "Press Ctrl-D to exit.");
		return;
	}
	if (o->generate_token)
		stderr_line("boris: generated token: %s", o->token);
	stderr_line("boris: listening on %s/mcp", http_origin(b->http));
}

/* Rereads the token file. If that fails, reports the failure on stderr and
 * keeps the old token (H9). */
static void
reload_token(struct boris *b)
{
	struct options *o = &b->options;
	char *old = mem_copy(o->token);
	const char *why = options_read_token(o, O_NONBLOCK);

	if (why != NULL)
		stderr_line("boris: --token-file=%s: cannot read the token: "
		    "%s; still using the old token", o->token_file, why);
	else if (strcmp(o->token, old) != 0)
		http_token_changed(b->http);
	free(old);
}

/* Handles SIGHUP if the transport is HTTP: reopens the log and rereads the
 * token file (H9). */
static void
reload(struct boris *b)
{
	struct options *o = &b->options;
	const char *why = NULL;

	if (o->log != NULL)
		why = log_open(&o->log, o->log_file);
	if (why != NULL)
		stderr_line("boris: --log=%s: cannot open the log: %s; still "
		    "writing to the old file", o->log_file, why);
	if (o->token_file != NULL)
		reload_token(b);
}

/* Reads the signal pipe and handles the signals that have arrived. Bytes that
 * do not fit in the array are read in the next iteration of the event loop. */
static void
read_signals(struct boris *b)
{
	char kinds[64];
	ssize_t n = read(signal_pipe[0], kinds, sizeof(kinds)), i;

	for (i = 0; i < n; i++) {
		if (kinds[i] == SIGNAL_CHILD)
			b->loop.child = true;
		else if (kinds[i] == SIGNAL_RELOAD && b->http != NULL)
			reload(b);
		else
			b->loop.end = true;
	}
}

/* Waits until a descriptor is ready or the earliest deadline has passed. Then
 * reads the signal pipe if a signal has arrived. */
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

/* Runs one iteration (turn) of the event loop. The transport reads requests and
 * opens them as calls. Then, for each client, mcp_dispatch() has three phases:
 *
 *	read    session_read(), calls_read(): output, exited processes, prompts
 *	decide  due.c for each job, wait.c for each call: which actions are due
 *	act     session_act(), calls_act(): start or stop jobs, send results
 *
 * Functions that decide change no state. Each decision is made just before its
 * action, so it takes earlier actions of the same iteration into account. */
static void
run_turn(struct boris *b)
{
	wait_for_events(b);
	/* If a signal arrives while boris is already exiting, exit at once,
	 * because the client may soon send SIGKILL. The guard process then
	 * terminates the remaining commands (L1). */
	if (b->loop.end && b->state == TRANSPORT_ENDS)
		b->state = TRANSPORT_CLOSED;
	else if (b->http != NULL)
		b->state = http_dispatch(b->http, &b->loop);
	else
		b->state = stdio_dispatch(b->stdio, &b->loop);
}

/* Opens /dev/null on each closed descriptor from 0 to 2, so that no other file
 * is opened under one of these numbers (C3). */
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
	/* Block all signals until catch_signals() has installed their
	 * handlers. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	fill_descriptors();
	/* options_read() overwrites a token in the arguments, so that the
	 * process list does not show it (H3). Read the options before boris
	 * forks, because otherwise the other process's copy of the arguments
	 * would still contain the token. */
	options_read(&b.options, argv);
	/* Close the descriptors that boris has inherited from the client (F3,
	 * Q5). Read the options first, because a token may come from one of
	 * these descriptors. */
	spawn_close_from(3);
	if (b.options.secret != NULL)
		exit(secret_ask(b.options.tmpdir, b.options.secret));
	prepare(&b.options);
	start_serving(&b);
	while (b.state != TRANSPORT_CLOSED)
		run_turn(&b);
	if (b.http != NULL)
		http_end(b.http);
	else
		stdio_end(b.stdio);
	guard_end(b.options.guard);
	close(b.options.no_input);
	fd_close(&b.options.oom_score);
	mounts_close(b.options.mounts);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
	/* Call exit() instead of returning from main(), so that leak checkers
	 * can still reach all memory through `b` (Q5). */
	exit(0);
}
