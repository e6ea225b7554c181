/* bench: what boris costs, each figure in turn with what it is held against
 * (SPEC Q2, Q3, E, O6, P5, P10; `sh t/bench` builds and runs it).
 *
 *	bench [-ql] [-d NOBASH] BORIS [PART...]
 *	bench -p KIND BYTES                prints that: plain, coloured
 *
 * -q: smaller, in some seconds; -l: commands print a whole GiB each time.
 *
 * NOBASH is a program that runs its arguments where there is no /bin/bash.
 * Calls are judged by their 10th percentiles: they hold on a busy machine.
 * Long things are run several times; the shortest counts. What is said per
 * second is per second of boris's own processor time. */
#define _DEFAULT_SOURCE  /* vfork */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 7,          /* each gives one ratio: their spread is shown */
	BLOCK = 64 << 10,
	ANSWER = 1 << 20     /* bytes that the longest answer may have */
};

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"," \
	"\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}," \
	"\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n"
#define TRUE "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
	"\"params\":{\"name\":\"bash\",\"arguments\":{\"command\":\"true\"}}}\n"

struct bench {
	const char *self, *boris, *nobash, *tmp;
	bool quick;
	long long size;  /* bytes that a command prints */
	int missed;
};

struct server {
	pid_t pid;
	int to, from;
	long rss;    /* KiB when it had answered `initialize` */
};

static char answer[ANSWER + 1];

static void
die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what,
	    errno ? strerror(errno) : "unexpected");
	exit(1);
}

/* -- Time -------------------------------------------------------------- */

static double
seconds(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		die("clock");
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
now(void)
{
	return seconds(CLOCK_MONOTONIC);
}

/* Processor time that the server has used itself, without its commands */
static double
used(const struct server *s)
{
	clockid_t clock;

	if (clock_getcpuclockid(s->pid, &clock) != 0)
		die("clock of boris");
	return seconds(clock);
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
	int i = n * percent / 100;

	qsort(t, (size_t)n, sizeof(*t), compare);
	return t[i < n ? i : n - 1];
}

/* -- The table --------------------------------------------------------- */

static void
say(const char *what, const char *format, ...)
{
	va_list args;

	printf("%-34s ", what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fflush(stdout);
}

static void
goal(struct bench *b, bool met, const char *text)
{
	printf("  %-14s %s\n", text, met ? "met" : "MISSED");
	b->missed += !met;
	fflush(stdout);
}

/* Two series of times in ROUNDS rounds of n: p10 and p50 of each, the ratio
 * of the p10s, and how far those of the rounds lie apart. */
static void
report(struct bench *b, const char *what, double *a, double *c, int n,
       double most)
{
	double ratio[ROUNDS], pa, pc, ma, mc;
	char text[32];
	int i;

	for (i = 0; i < ROUNDS; i++)
		ratio[i] = percentile(a + i * n, n, 10) /
		    percentile(c + i * n, n, 10);
	pa = percentile(a, n * ROUNDS, 10);
	ma = percentile(a, n * ROUNDS, 50);
	pc = percentile(c, n * ROUNDS, 10);
	mc = percentile(c, n * ROUNDS, 50);
	qsort(ratio, ROUNDS, sizeof(*ratio), compare);
	say(what, "%7.3f/%7.3f  %7.3f/%7.3f ms  %5.2f (%.2f-%.2f)", pa * 1e3,
	    ma * 1e3, pc * 1e3, mc * 1e3, pa / pc, ratio[0],
	    ratio[ROUNDS - 1]);
	snprintf(text, sizeof(text), "<= %.2f", most);
	goal(b, pa / pc <= most, text);
}

/* -- Processes --------------------------------------------------------- */

/* By vfork(), as boris does it: fork() of a bigger program flatters. */
static pid_t
spawn(char *const argv[], int in, int out, int err)
{
	pid_t pid = vfork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	signal(SIGPIPE, SIG_DFL);
	if ((in >= 0 && dup2(in, 0) < 0) || (out >= 0 && dup2(out, 1) < 0) ||
	    (err >= 0 && dup2(err, 2) < 0))
		_exit(126);
	execv(argv[0], argv);
	_exit(127);
}

static void
open_pipe(int end[2])
{
	if (pipe(end) < 0)
		die("pipe");
	fcntl(end[0], F_SETFD, FD_CLOEXEC);
	fcntl(end[1], F_SETFD, FD_CLOEXEC);
}

static void
reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0 || status != 0) {
		errno = 0;
		die("a program that should have ended well");
	}
}

/* The yardstick of a call: SHELL -c true, its two pipes read to their ends */
static void
bare_call(const char *shell)
{
	char *argv[4];
	struct pollfd set[2];
	int out[2], err[2], open = 2, i;
	char byte[512];
	pid_t pid;

	argv[0] = (char *)shell;
	argv[1] = "-c";
	argv[2] = "true";
	argv[3] = NULL;
	open_pipe(out);
	open_pipe(err);
	pid = spawn(argv, -1, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	set[0].fd = out[0];
	set[1].fd = err[0];
	set[0].events = set[1].events = POLLIN;
	while (open > 0) {
		if (poll(set, 2, -1) < 0)
			die("poll");
		for (i = 0; i < 2; i++) {
			if (set[i].revents == 0 ||
			    read(set[i].fd, byte, sizeof(byte)) > 0)
				continue;
			close(set[i].fd);
			set[i].fd = -1;
			open--;
		}
	}
	reap(pid);
}

static void
run_shell(const char *command)
{
	char *argv[4];

	argv[0] = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
	argv[1] = "-c";
	argv[2] = (char *)command;
	argv[3] = NULL;
	reap(spawn(argv, -1, -1, -1));
}

/* -- The server -------------------------------------------------------- */

static void
put(const struct server *s, const char *text, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(s->to, text, len);
		if (n < 0)
			die("write to boris");
		text += n;
		len -= (size_t)n;
	}
}

/* One line into answer[] */
static void
get(const struct server *s)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(s->from, answer + len, ANSWER - len);
		if (n <= 0)
			die("read from boris");
		len += (size_t)n;
	} while (answer[len - 1] != '\n' && len < ANSWER);
	answer[len] = '\0';
}

static void
ask(const struct server *s, const char *line)
{
	put(s, line, strlen(line));
	get(s);
}

/* A member of /proc/PID/FILE: the number behind its name; -1: not there */
static long
member(pid_t pid, const char *file, const char *name)
{
	char path[64], line[256];
	FILE *f;
	long value = -1;

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, file);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtol(line + strlen(name), NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	return value;
}

/* BORIS [OPTION [OPTION]], under the program `in`, if that is not NULL */
static void
start(struct server *s, const struct bench *b, const char *in,
      const char *option, const char *second)
{
	char *argv[5];
	int to[2], from[2], n = 0;

	if (in != NULL)
		argv[n++] = (char *)in;
	argv[n++] = (char *)b->boris;
	if (option != NULL)
		argv[n++] = (char *)option;
	if (second != NULL)
		argv[n++] = (char *)second;
	argv[n] = NULL;
	open_pipe(to);
	open_pipe(from);
	s->pid = spawn(argv, to[0], from[1], -1);
	close(to[0]);
	close(from[1]);
	s->to = to[1];
	s->from = from[0];
	ask(s, HELLO);
}

static void
stop(const struct server *s)
{
	close(s->to);
	while (read(s->from, answer, ANSWER) > 0)
		;
	close(s->from);
	reap(s->pid);
}

/* -- A call, a start --------------------------------------------------- */

static void
bench_call(struct bench *b, const char *shell, const char *in, double most)
{
	int n = b->quick ? 40 : 150, i;
	double *a = calloc((size_t)(2 * ROUNDS * n), sizeof(*a));
	double *c = a + ROUNDS * n, t;
	char what[64];
	struct server s;

	if (a == NULL)
		die("memory");
	start(&s, b, in, NULL, NULL);
	for (i = 0; i < 20; i++)
		ask(&s, TRUE);
	for (i = 0; i < ROUNDS * n; i++) {
		t = now();
		ask(&s, TRUE);
		a[i] = now() - t;
		t = now();
		bare_call(shell);
		c[i] = now() - t;
	}
	stop(&s);
	snprintf(what, sizeof(what), "call of true, %s", shell);
	report(b, what, a, c, n, most);
	free(a);
}

static void
bench_calls(struct bench *b)
{
	if (access("/bin/bash", X_OK) == 0)
		bench_call(b, "/bin/bash", NULL, 1.15);
	else
		printf("call of true, /bin/bash: skipped, there is none\n");
	if (access("/bin/bash", X_OK) != 0)
		bench_call(b, "/bin/sh", NULL, 1.18);
	else if (b->nobash != NULL)
		bench_call(b, "/bin/sh", b->nobash, 1.18);
	else
		printf("call of true, /bin/sh: skipped, /bin/bash cannot be "
		    "hidden here (root, unshare)\n");
}

static void
bench_start(struct bench *b)
{
	static char *argv[] = { "/bin/true", NULL };
	enum { MOST = 150 };
	double a[ROUNDS * MOST], c[ROUNDS * MOST], t;
	int n = b->quick ? 40 : MOST, i;
	struct server s;

	for (i = 0; i < ROUNDS * n; i++) {
		t = now();
		start(&s, b, NULL, NULL, NULL);
		a[i] = now() - t;
		stop(&s);
		t = now();
		reap(spawn(argv, -1, -1, -1));
		c[i] = now() - t;
	}
	report(b, "start to answer, /bin/true", a, c, n, 0.5);
}

/* -- Output ------------------------------------------------------------ */

/* What `bench -p` writes: a block of lines again and again */
static int
print(const char *kind, long long bytes)
{
	static char block[BLOCK];
	const char *form = strcmp(kind, "coloured") == 0
	    ? "\033[2m2026-01-01T12:00:00\033[0m \033[1;32mINFO\033[0m "
	      "\033[36mserver\033[0m request %d done in 12 ms\n"
	    : "2026-01-01T12:00:00 INFO server request %d done in 12 ms\n";
	size_t len = 0, n;
	ssize_t done;
	int i = 0;

	while (len + 128 < sizeof(block))
		len += (size_t)sprintf(block + len, form, 10000 + i++);
	while (bytes > 0) {
		n = bytes < (long long)len ? (size_t)bytes : len;
		done = write(1, block, n);
		if (done < 0)
			return 1;
		bytes -= done;
	}
	return 0;
}

/* A command whose output goes by: what it prints, how boris is started. The
 * yardstick is the same through `cat`, into /dev/null; or into a file, where
 * boris saves all of it. One sixteenth is what the default saves of a GiB. */
static const struct flood {
	const char *what, *kind, *option;
	int saved;  /* sixteenths of it */
	double most;
} floods[] = {
	{ "prints, nothing saved", "plain", NULL, 0, 4.0 },
	{ "prints, a part saved", "plain", NULL, 1, 4.0 },
	{ "prints, all of it saved", "plain", NULL, 16, 4.0 },
	{ "prints, tail, a part saved", "plain", "--truncate=tail", 1, 4.0 },
	{ "prints, both, a part saved", "plain", "--truncate=both", 1, 4.0 },
	{ "prints by yes and head", "yes", NULL, 1, 4.0 },
	{ "prints, coloured", "coloured", NULL, 1, 6.0 },
	{ "prints, coloured, tail", "coloured", "--truncate=tail", 1, 6.0 }
};

enum { FLOODS = sizeof(floods) / sizeof(floods[0]), TIMES = 8 };

static void
put_command(char *to, size_t room, const struct bench *b,
            const struct flood *f, long long size)
{
	if (strcmp(f->kind, "yes") == 0)
		snprintf(to, room, "yes 'one of the lines of some log' | "
		    "head -c %lld", size);
	else
		snprintf(to, room, "'%s' -p %s %lld", b->self, f->kind, size);
}

static double
bare_flood(const struct bench *b, const struct flood *f, long long size)
{
	char command[4096];
	double t = now();

	put_command(command, sizeof(command) / 2, b, f, size);
	snprintf(command + strlen(command), sizeof(command) / 2, f->saved == 16
	    ? " | cat >'%s/bench.cat'" : " | cat >/dev/null", b->tmp);
	run_shell(command);
	return now() - t;
}

static double
flood(const struct bench *b, const struct flood *f, long long size,
      double *own, long *peak)
{
	char line[4096], command[2048], save[64];
	struct server s;
	double t;
	long most;

	put_command(command, sizeof(command), b, f, size);
	snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":1,"
	    "\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
	    "\"arguments\":{\"command\":\"%s\"}}}\n", command);
	snprintf(save, sizeof(save), "--save-limit=%lld",
	    (size >> 24) * f->saved);
	start(&s, b, NULL, save, f->option);
	s.rss = member(s.pid, "smaps_rollup", "Rss:");
	t = now();
	ask(&s, line);
	t = now() - t;
	if (strstr(answer, "\"exit_code\":0") == NULL)
		die(command);
	*own = used(&s);
	most = member(s.pid, "status", "VmHWM:") - s.rss;
	if (most > *peak)
		*peak = most;
	stop(&s);
	return t;
}

static void
bench_floods(struct bench *b)
{
	long long size = b->size;
	double a[FLOODS][TIMES], c[FLOODS][TIMES], own[FLOODS][TIMES];
	double ratio[TIMES], least_a, least_c;
	long peak[FLOODS] = { 0 };
	char text[32];
	int i, k;

	for (k = 0; k < TIMES; k++) {
		for (i = 0; i < FLOODS; i++) {
			a[i][k] = flood(b, &floods[i], size, &own[i][k],
			    &peak[i]);
			c[i][k] = bare_flood(b, &floods[i], size);
		}
	}
	for (i = 0; i < FLOODS; i++) {
		for (k = 0; k < TIMES; k++)
			ratio[k] = a[i][k] / c[i][k];
		qsort(ratio, TIMES, sizeof(*ratio), compare);
		least_a = percentile(a[i], TIMES, 0);
		least_c = percentile(c[i], TIMES, 0);
		say(floods[i].what, "%7.0f/%7.0f  %7.0f/%7.0f ms  %5.2f "
		    "(%.2f-%.2f)", least_a * 1e3,
		    percentile(a[i], TIMES, 50) * 1e3, least_c * 1e3,
		    percentile(c[i], TIMES, 50) * 1e3, least_a / least_c,
		    ratio[0], ratio[TIMES - 1]);
		snprintf(text, sizeof(text), "<= %.2f", floods[i].most);
		goal(b, least_a / least_c <= floods[i].most, text);
		say("", "idle + %ld KiB at most; %.0f MB/s of its own time    ",
		    peak[i], (double)size / 1e6 /
		    percentile(own[i], TIMES, 0));
		goal(b, peak[i] <= 512, "<= 512 KiB");
	}
}

/* -- Ten tasks --------------------------------------------------------- */

static void
bench_tasks(struct bench *b)
{
	enum { MOST = 1000 };
	static const struct timespec pause = { 0, 5000000 };
	double wait[MOST], p50, p99;
	int n = b->quick ? 200 : MOST, i;
	char line[4096];
	struct server s;
	long peak;

	snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":1,"
	    "\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","
	    "\"arguments\":{\"run_in_background\":true,\"command\":"
	    "\"'%s' -p coloured 1000000000000\"}}}\n", b->self);
	start(&s, b, NULL, NULL, NULL);
	s.rss = member(s.pid, "smaps_rollup", "Rss:");
	for (i = 0; i < 10; i++) {
		ask(&s, line);
		if (strstr(answer, "\"isError\":false") == NULL)
			die("a task");
	}
	for (i = 0; i < n; i++) {
		nanosleep(&pause, NULL);
		wait[i] = now();
		ask(&s, PING);
		wait[i] = now() - wait[i];
	}
	peak = member(s.pid, "status", "VmHWM:") - s.rss;
	p50 = percentile(wait, n, 50);
	p99 = percentile(wait, n, 99);
	kill(s.pid, SIGTERM);
	stop(&s);
	say("ping while ten tasks flood", "p50 %.2f, p99 %.2f, most %.2f ms   "
	    "           ", p50 * 1e3, p99 * 1e3, wait[n - 1] * 1e3);
	goal(b, p99 <= 0.010, "p99 <= 10 ms");
	say("", "peak: idle + %4ld KiB                          ", peak);
	goal(b, peak <= 2048, "<= 2048 KiB");
}

/* -- Requests ---------------------------------------------------------- */

/* The same line n times, by another process; all its answers are read here.
 * Seconds of boris's processor time, the best of some. */
static double
pipelined(const struct bench *b, const char *line, long n)
{
	size_t len = strlen(line), fill = 0;
	static char block[BLOCK];
	double best = 0, t;
	long long left;
	struct server s;
	ssize_t got;
	pid_t pid;
	int i;
	long k;

	for (i = 0; i < TIMES; i++) {
		start(&s, b, NULL, NULL, NULL);
		ask(&s, line);
		left = (long long)strlen(answer) * n;
		t = used(&s);
		pid = fork();
		if (pid == 0) {
			for (k = 0, fill = 0; k < n; k++) {
				memcpy(block + fill, line, len);
				fill += len;
				if (fill + len > sizeof(block) || k == n - 1) {
					put(&s, block, fill);
					fill = 0;
				}
			}
			_exit(0);
		}
		while (left > 0) {
			got = read(s.from, answer, ANSWER);
			if (got <= 0)
				die("read from boris");
			left -= got;
		}
		t = used(&s) - t;
		reap(pid);
		stop(&s);
		if (i == 0 || t < best)
			best = t;
	}
	return best;
}

static void
bench_pipelined(struct bench *b)
{
	long n = b->quick ? 20000 : 200000;
	double rate;

	rate = (double)n / pipelined(b, LIST, n);
	say("tools/list, one after another", "%9.0f a second\n", rate);
	rate = (double)n / pipelined(b, PING, n);
	say("ping, one after another", "%9.0f a second\n", rate);
}

/* A request of 10 MB: a text again and again */
static const struct big {
	const char *what, *before, *text, *after;
	double least;  /* MB/s */
} bigs[] = {
	{ "10 MB request, one plain string", "\"x\":\"",
	  "The quick brown fox jumps over the lazy dog, 0123456789 times. ",
	  "\"", 150 },
	{ "10 MB request, a program's text", "\"x\":\"",
	  "\\tif (strcmp(name, \\\"none\\\") == 0)\\n\\t\\treturn NULL;\\n",
	  "\"", 150 },
	{ "10 MB request, UTF-8", "\"x\":\"",
	  "\xd0\x91\xd0\xbe\xd1\x80\xd0\xb8\xd1\x81 "
	  "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e caf\xc3\xa9 "
	  "\xf0\x9f\x90\x9a ", "\"", 150 },
	{ "10 MB request, escapes alone", "\"x\":\"",
	  "\\n\\t\\\"\\\\\\u0416", "\"", 150 },
	{ "10 MB request, small members", "\"x\":[",
	  "{\"id\":12345,\"name\":\"a b\",\"on\":true,\"no\":null},",
	  "{}]", 150 },
	{ "10 MB request, numbers", "\"x\":[", "1,-20,3.5e3,", "0]", 150 }
};

/* What it costs to read that many bytes from a pipe and let them go: how fast
 * this machine is just now */
static double
bare_read(const char *line, size_t len)
{
	int to[2], from[2];
	struct server s;
	double t;
	ssize_t n;

	open_pipe(to);
	open_pipe(from);
	s.pid = fork();
	if (s.pid == 0) {
		close(to[1]);
		while ((n = read(to[0], answer, BLOCK)) > 0)
			len -= (size_t)n < len ? (size_t)n : len;
		if (write(from[1], "\n", 1) != 1)
			_exit(1);
		pause();
	}
	close(to[0]);
	close(from[1]);
	s.to = to[1];
	s.from = from[0];
	put(&s, line, len);
	close(s.to);
	get(&s);
	t = used(&s);
	kill(s.pid, SIGKILL);
	close(s.from);
	waitpid(s.pid, NULL, 0);
	return t;
}

static void
bench_bigs(struct bench *b)
{
	enum { SIZE = 10000000, AGAIN = 12 };
	static const char head[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{";
	char *line = malloc(SIZE + 1024);
	double cpu[AGAIN], wall[AGAIN], bare[AGAIN], t, rate;
	size_t len = 0, n;
	struct server s;
	char text[32];
	unsigned i;
	int k;

	if (line == NULL)
		die("memory");
	for (i = 0; i < sizeof(bigs) / sizeof(bigs[0]); i++) {
		n = strlen(bigs[i].text);
		len = (size_t)sprintf(line, "%s%s", head, bigs[i].before);
		while (len < SIZE) {
			memcpy(line + len, bigs[i].text, n);
			len += n;
		}
		len += (size_t)sprintf(line + len, "%s}}\n", bigs[i].after);
		start(&s, b, NULL, NULL, NULL);
		for (k = 0; k < (b->quick ? 4 : AGAIN); k++) {
			t = now();
			cpu[k] = used(&s);
			put(&s, line, len);
			get(&s);
			wall[k] = now() - t;
			cpu[k] = used(&s) - cpu[k];
			if (strstr(answer, "\"result\"") == NULL)
				die(bigs[i].what);
			bare[k] = bare_read(line, len);
		}
		stop(&s);
		rate = (double)len / percentile(cpu, k, 0) / 1e6;
		say(bigs[i].what, "%6.0f MB/s (median %.0f, by the clock %.0f)",
		    rate, (double)len / percentile(cpu, k, 50) / 1e6,
		    (double)len / percentile(wall, k, 0) / 1e6);
		snprintf(text, sizeof(text), ">= %.0f MB/s", bigs[i].least);
		goal(b, rate >= bigs[i].least, text);
	}
	say("10 MB read and let go", "%6.0f MB/s\n",
	    (double)len / percentile(bare, k, 0) / 1e6);
	free(line);
}

/* -- At rest ----------------------------------------------------------- */

static long
switches(pid_t pid)
{
	return member(pid, "status", "voluntary_ctxt_switches:") +
	    member(pid, "status", "nonvoluntary_ctxt_switches:");
}

static void
bench_idle(struct bench *b)
{
	struct timespec pause = { 10, 0 };
	struct server s;
	struct stat st;
	long before, rss, private;

	if (stat(b->boris, &st) == 0) {
		say("size of the binary", "%ld bytes                           "
		    "    ", (long)st.st_size);
		goal(b, st.st_size <= 131072, "<= 131072");
	}
	start(&s, b, NULL, NULL, NULL);
	rss = member(s.pid, "smaps_rollup", "Rss:");
	private = member(s.pid, "smaps_rollup", "Private_Clean:") +
	    member(s.pid, "smaps_rollup", "Private_Dirty:");
	if (rss >= 0) {
		say("idle, resident", "%ld KiB                              "
		    "        ", rss);
		goal(b, rss <= 1024, "<= 1024 KiB");
		say("idle, private", "%ld KiB                               "
		    "       ", private);
		goal(b, private <= 256, "<= 256 KiB");
	}
	ask(&s, TRUE);
	if (b->quick)
		pause.tv_sec = 3;
	nanosleep(&pause, NULL);  /* what ended commands leave to look after */
	before = switches(s.pid);
	nanosleep(&pause, NULL);
	say("idle after a call, turns", "%ld in %ld s                          "
	    "       ", switches(s.pid) - before, (long)pause.tv_sec);
	goal(b, switches(s.pid) == before, "none");
	stop(&s);
}

static const struct part {
	const char *name;
	void (*run)(struct bench *);
} parts[] = {
	{ "calls", bench_calls },
	{ "start", bench_start },
	{ "output", bench_floods },
	{ "tasks", bench_tasks },
	{ "pipelined", bench_pipelined },
	{ "requests", bench_bigs },
	{ "idle", bench_idle }
};

static bool
wanted(const char *name, char **words)
{
	if (*words == NULL)
		return true;
	while (*words != NULL && strcmp(*words, name) != 0)
		words++;
	return *words != NULL;
}

int
main(int argc, char **argv)
{
	struct bench b;
	unsigned i;
	int c;

	memset(&b, 0, sizeof(b));
	b.self = argv[0];
	b.tmp = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
	b.size = 256 << 20;
	while ((c = getopt(argc, argv, "qld:p:")) != -1) {
		if (c == 'p' && optind < argc)
			return print(optarg, strtoll(argv[optind], NULL, 10));
		else if (c == 'q')
			b.quick = true, b.size = 64 << 20;
		else if (c == 'l')
			b.size = 1 << 30;
		else if (c == 'd')
			b.nobash = optarg;
		else
			return 2;
	}
	if (optind == argc) {
		fprintf(stderr, "usage: bench [-ql] [-d NOBASH] BORIS "
		    "[PART...]\n");
		return 2;
	}
	b.boris = argv[optind];
	signal(SIGPIPE, SIG_IGN);
	printf("%-34s %-15s  %-15s     ratio, spread      %s\n", "",
	    "boris p10/p50", "held against", "goal");
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (wanted(parts[i].name, argv + optind + 1))
			parts[i].run(&b);
	}
	printf("%d missed\n", b.missed);
	return b.missed > 0;
}
