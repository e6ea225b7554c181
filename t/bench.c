/* SPDX-License-Identifier: ISC */
/* bench: measures the cost of boris (Q2, Q3, Q6). t/bench builds and runs it.
 *
 *	bench calls BORIS SHELL     calls of true, compared with SHELL alone
 *	bench output BORIS BYTES    commands that print BYTES bytes, compared
 *	                            with a pipe to cat
 *	bench requests BORIS        messages of 10 MB
 *	bench idle BORIS            memory of an idle boris
 *
 * Exits with status 1 if a goal is missed. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CALLS = 1000,         /* number of calls in the part calls */
	TIMES = 5,            /* repetitions in the other parts */
	BIG = 10000000,       /* size of a big message, bytes */
	RESPONSE_MAX = 1 << 20
};

#define INITIALIZE "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"," \
	"\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}," \
	"\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n"
#define CALL "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
	"\"params\":{\"name\":\"bash\",\"arguments\":{\"command\":\"%s\"}}}\n"

struct server {
	pid_t pid;
	int to, from;
};

static char response[RESPONSE_MAX + 1];
static bool missed;

static void
check(bool ok, const char *name)
{
	if (ok)
		return;
	perror(name);
	exit(2);
}

static double
seconds(clockid_t clock)
{
	struct timespec t;

	check(clock_gettime(clock, &t) == 0, "clock");
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
percentile(double *t, int n, int percent)
{
	qsort(t, (size_t)n, sizeof(*t), compare);
	return t[n * percent / 100];
}

static void
goal(bool met, const char *sign, double bound)
{
	printf("  %s %g %s\n", sign, bound, met ? "met" : "MISSED");
	fflush(stdout);
	missed = missed || !met;
}

/* -- Processes --------------------------------------------------------- */

static pid_t
spawn(char *const argv[], int in, int out, int err)
{
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (pid > 0)
		return pid;
	if (in >= 0)
		dup2(in, 0);
	if (out >= 0)
		dup2(out, 1);
	if (err >= 0)
		dup2(err, 2);
	execv(argv[0], argv);
	_exit(127);
}

static void
open_pipe(int end[2])
{
	check(pipe(end) == 0, "pipe");
	fcntl(end[0], F_SETFD, FD_CLOEXEC);
	fcntl(end[1], F_SETFD, FD_CLOEXEC);
}

static void
reap(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid && status == 0,
	    "exit of a child");
}

/* Runs SHELL -c COMMAND and reads its stdout and stderr to their ends. */
static void
bare_call(char *shell, char *command)
{
	char *argv[] = { shell, "-c", command, NULL };
	struct pollfd set[2];
	int out[2], err[2], open = 2, i;
	char bytes[65536];
	pid_t pid;

	open_pipe(out);
	open_pipe(err);
	pid = spawn(argv, -1, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	set[0].fd = out[0];
	set[1].fd = err[0];
	set[0].events = set[1].events = POLLIN;
	while (open > 0) {
		check(poll(set, 2, -1) > 0, "poll");
		for (i = 0; i < 2; i++) {
			if (set[i].revents == 0 ||
			    read(set[i].fd, bytes, sizeof(bytes)) > 0)
				continue;
			close(set[i].fd);
			set[i].fd = -1;
			open--;
		}
	}
	reap(pid);
}

/* Sends a message and reads the response, which must be a result. */
static void
request(const struct server *s, const char *line, size_t len)
{
	size_t got = 0;
	ssize_t n;

	for (; len > 0; line += n, len -= (size_t)n)
		check((n = write(s->to, line, len)) > 0, "write to boris");
	do {
		n = read(s->from, response + got, RESPONSE_MAX - got);
		check(n > 0, "read from boris");
		got += (size_t)n;
	} while (response[got - 1] != '\n');
	response[got] = '\0';
	check(strstr(response, "\"result\":") != NULL, response);
}

static struct server
start(char *boris)
{
	char *argv[] = { boris, NULL };
	int to[2], from[2];
	struct server s;

	open_pipe(to);
	open_pipe(from);
	s.pid = spawn(argv, to[0], from[1], -1);
	close(to[0]);
	close(from[1]);
	s.to = to[1];
	s.from = from[0];
	request(&s, INITIALIZE, strlen(INITIALIZE));
	return s;
}

static void
stop(const struct server *s)
{
	close(s->to);
	close(s->from);
	reap(s->pid);
}

/* Returns the processor time of the server without its commands, seconds. */
static double
cpu_time(const struct server *s)
{
	clockid_t clock;

	check(clock_getcpuclockid(s->pid, &clock) == 0, "clock of boris");
	return seconds(clock);
}

/* -- Q3 ---------------------------------------------------------------- */

static void
bench_calls(char *boris, char *shell)
{
	static double a[CALLS], b[CALLS];
	struct server s = start(boris);
	char line[256];
	double t, pa, pb;
	int i;

	snprintf(line, sizeof(line), CALL, "true");
	for (i = 0; i < 20; i++)
		request(&s, line, strlen(line));
	for (i = 0; i < CALLS; i++) {
		t = seconds(CLOCK_MONOTONIC);
		request(&s, line, strlen(line));
		a[i] = seconds(CLOCK_MONOTONIC) - t;
		t = seconds(CLOCK_MONOTONIC);
		bare_call(shell, "true");
		b[i] = seconds(CLOCK_MONOTONIC) - t;
	}
	stop(&s);
	pa = percentile(a, CALLS, 10);
	pb = percentile(b, CALLS, 10);
	printf("call of true, %-18s %7.3f %7.3f ms  x %.2f", shell, pa * 1e3,
	    pb * 1e3, pa / pb);
	goal(pa / pb <= 1.20, "<=", 1.20);
}

/* -- Q6 ---------------------------------------------------------------- */

static const struct kind {
	const char *name, *text;
	double goal;       /* largest ratio to the time of cat */
} kinds[] = {
	{ "lines", "one of the lines of some log, as they often are", 2 },
	{ "short", "y", 2 },
	{ "coloured", "\033[32mINFO\033[0m \033[1;34mserver\033[0m: "
	    "request 4711 took \033[33m12 ms\033[0m", 3 },
	{ NULL, NULL, 0 }
};

static void
bench_output(char *boris, const char *bytes)
{
	double a[TIMES], b[TIMES], t, pa, pb;
	char command[256], line[512];
	const struct kind *k;
	struct server s;
	int i;

	for (k = kinds; k->name != NULL; k++) {
		setenv("LINE", k->text, 1);
		for (i = 0; i < TIMES; i++) {
			snprintf(command, sizeof(command),
			    "yes $LINE | head -c %s", bytes);
			snprintf(line, sizeof(line), CALL, command);
			s = start(boris);
			t = seconds(CLOCK_MONOTONIC);
			request(&s, line, strlen(line));
			a[i] = seconds(CLOCK_MONOTONIC) - t;
			stop(&s);
			strcat(command, " | cat >/dev/null");
			t = seconds(CLOCK_MONOTONIC);
			bare_call("/bin/sh", command);
			b[i] = seconds(CLOCK_MONOTONIC) - t;
		}
		pa = percentile(a, TIMES, 0);
		pb = percentile(b, TIMES, 0);
		printf("prints %s bytes, %-9s %8.3f %7.3f s   x %.2f", bytes,
		    k->name, pa, pb, pa / pb);
		goal(pa / pb <= k->goal, "<=", k->goal);
	}
}

/* Messages of 10 MB, in which a text is repeated */
static const struct { const char *name, *before, *text, *after; } bigs[] = {
	{ "one plain string", "\"",
	  "The quick brown fox jumps over the lazy dog, 0123456789 times. ",
	  "\"" },
	{ "a program's text", "\"",
	  "\\tif (strcmp(name, \\\"none\\\") == 0)\\n\\t\\treturn NULL;\\n",
	  "\"" },
	{ "UTF-8", "\"", "\xd0\x91\xd0\xbe\xd1\x80\xd0\xb8\xd1\x81 "
	  "\xe6\x97\xa5\xe6\x9c\xac caf\xc3\xa9 \xf0\x9f\x90\x9a ", "\"" },
	{ "escapes alone", "\"", "\\n\\t\\\"\\\\\\u0416", "\"" },
	{ "small members", "[",
	  "{\"id\":12345,\"name\":\"a b\",\"on\":true,\"no\":null},", "{}]" },
	{ "numbers", "[", "1,-20,3.5e3,", "0]" }
};

static void
bench_requests(char *boris)
{
	char *line = malloc(BIG + 1024);
	struct server s = start(boris);
	double cpu[TIMES], rate;
	size_t len, i;
	int k;

	check(line != NULL, "memory");
	for (i = 0; i < sizeof(bigs) / sizeof(bigs[0]); i++) {
		len = (size_t)sprintf(line, "{\"jsonrpc\":\"2.0\",\"id\":1,"
		    "\"method\":\"ping\",\"params\":{\"x\":%s", bigs[i].before);
		while (len < BIG)
			len += (size_t)sprintf(line + len, "%s", bigs[i].text);
		len += (size_t)sprintf(line + len, "%s}}\n", bigs[i].after);
		for (k = 0; k < TIMES; k++) {
			cpu[k] = cpu_time(&s);
			request(&s, line, len);
			cpu[k] = cpu_time(&s) - cpu[k];
		}
		rate = (double)len / percentile(cpu, TIMES, 0) / 1e6;
		printf("10 MB request, %-17s %8.0f MB/s", bigs[i].name, rate);
		goal(rate >= 150, ">=", 150);
	}
	stop(&s);
	free(line);
}

/* -- Q2 ---------------------------------------------------------------- */

static void
bench_idle(char *boris)
{
	struct server s = start(boris);
	long n, resident = 0, private = 0;
	char path[64], row[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", (long)s.pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(row, sizeof(row), f) != NULL) {
		if (sscanf(row, "Rss: %ld", &n) == 1)
			resident = n;
		if (sscanf(row, "Private_Clean: %ld", &n) == 1 ||
		    sscanf(row, "Private_Dirty: %ld", &n) == 1)
			private += n;
	}
	printf("idle, resident %21ld KiB", resident);
	goal(resident <= 1024, "<=", 1024);
	printf("idle, private %22ld KiB", private);
	goal(private <= 256, "<=", 256);
	if (f != NULL)
		fclose(f);
	stop(&s);
}

int
main(int argc, char *argv[])
{
	const char *part = argc > 2 ? argv[1] : "";

	signal(SIGPIPE, SIG_IGN);
	if (strcmp(part, "calls") == 0 && argc > 3)
		bench_calls(argv[2], argv[3]);
	else if (strcmp(part, "output") == 0 && argc > 3)
		bench_output(argv[2], argv[3]);
	else if (strcmp(part, "requests") == 0)
		bench_requests(argv[2]);
	else if (strcmp(part, "idle") == 0)
		bench_idle(argv[2]);
	else
		check(false, "invalid arguments; run t/bench");
	return missed;
}
