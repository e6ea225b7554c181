/* SPDX-License-Identifier: ISC */
/* bench: what boris costs, each figure in turn with what it is held against
 * (Q2, Q3, Q6). t/bench builds and runs it.
 *
 *	bench calls BORIS SHELL            a call of true in that shell
 *	bench output BORIS BYTES           commands that print so many, by yes(1)
 *	bench requests BORIS               messages of 10 MB
 *	bench idle BORIS                   memory at rest
 *
 * Ends with 1 where a goal was missed. */
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

enum { CALLS = 1000, TIMES = 5, BIG = 10000000, ANSWER = 1 << 20 };

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"," \
	"\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}," \
	"\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n"
#define CALL "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
	"\"params\":{\"name\":\"bash\",\"arguments\":{\"command\":\"%s\"}}}\n"

struct server {
	pid_t pid;
	int to, from;
};

static char answer[ANSWER + 1];
static bool missed;

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(2);
}

static double
seconds(clockid_t clock)
{
	struct timespec t;

	must(clock_gettime(clock, &t) == 0, "clock");
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

	must(pid >= 0, "fork");
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
	must(pipe(end) == 0, "pipe");
	fcntl(end[0], F_SETFD, FD_CLOEXEC);
	fcntl(end[1], F_SETFD, FD_CLOEXEC);
}

static void
reap(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && status == 0, "a child's end");
}

/* SHELL -c COMMAND, its two pipes read to their ends */
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
		must(poll(set, 2, -1) > 0, "poll");
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

static void
ask(const struct server *s, const char *line, size_t len)
{
	size_t got = 0;
	ssize_t n;

	for (; len > 0; line += n, len -= (size_t)n)
		must((n = write(s->to, line, len)) > 0, "write to boris");
	do {
		n = read(s->from, answer + got, ANSWER - got);
		must(n > 0, "read from boris");
		got += (size_t)n;
	} while (answer[got - 1] != '\n');
	answer[got] = '\0';
	must(strstr(answer, "\"result\":") != NULL, answer);
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
	ask(&s, HELLO, strlen(HELLO));
	return s;
}

static void
stop(const struct server *s)
{
	close(s->to);
	close(s->from);
	reap(s->pid);
}

/* Processor time that the server has used itself, without its commands */
static double
used(const struct server *s)
{
	clockid_t clock;

	must(clock_getcpuclockid(s->pid, &clock) == 0, "clock of boris");
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
		ask(&s, line, strlen(line));
	for (i = 0; i < CALLS; i++) {
		t = seconds(CLOCK_MONOTONIC);
		ask(&s, line, strlen(line));
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
	double most;
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
			ask(&s, line, strlen(line));
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
		goal(pa / pb <= k->most, "<=", k->most);
	}
}

/* A message of 10 MB: a text again and again */
static const struct { const char *what, *before, *text, *after; } bigs[] = {
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

	must(line != NULL, "memory");
	for (i = 0; i < sizeof(bigs) / sizeof(bigs[0]); i++) {
		len = (size_t)sprintf(line, "{\"jsonrpc\":\"2.0\",\"id\":1,"
		    "\"method\":\"ping\",\"params\":{\"x\":%s", bigs[i].before);
		while (len < BIG)
			len += (size_t)sprintf(line + len, "%s", bigs[i].text);
		len += (size_t)sprintf(line + len, "%s}}\n", bigs[i].after);
		for (k = 0; k < TIMES; k++) {
			cpu[k] = used(&s);
			ask(&s, line, len);
			cpu[k] = used(&s) - cpu[k];
		}
		rate = (double)len / percentile(cpu, TIMES, 0) / 1e6;
		printf("10 MB request, %-17s %8.0f MB/s", bigs[i].what, rate);
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
		must(false, "usage: t/bench");
	return missed;
}
