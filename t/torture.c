/* torture: each allocation and each system call of boris, of its children
 * before exec and of its guard fails in turn, and boris keeps its promises.
 *
 *	torture [-s SECONDS] [-j JOBS] BORIS [SCENARIO...]
 *	torture -1 BORIS SCENARIO WHO TIMES N
 *
 * Behind `make torture`. BORIS is linked with t/torture_wrap.c. Each SCENARIO,
 * else all, is played first without a failure, which counts the calls, and then
 * once for each call N of each WHO (boris, child, guard), which fails once
 * (TIMES is 1), with the next nine that want the same (10), or with all of
 * these until the shortage is over (0). With -s some of this, as much as fits
 * into so many seconds. -1 plays one, and shows what was said.
 *
 * What boris promises (SPEC E7, E8, L3, L4): it does not crash, nor hang; each
 * request is answered once, and truly; the next one works as soon as the
 * shortage is over; no process, zombie, file or descriptor is left. Before it
 * has answered anything it may say what is missing and end with status 1 (2: of
 * an option's); later only where all further calls fail. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../buf.h"
#include "../json.h"
#include "torture.h"

enum {
	PATIENCE = 10000,  /* ms for anything to come */
	IDS = 64,          /* requests of one run */
	DENSE = 300        /* calls that all fail in turn; of later ones fewer
	                    * and fewer: they are walks through /proc */
};

static const char *const classes[CLASSES] = { "boris", "child", "guard" };

struct run {
	const struct scenario *what;
	const char *binary;
	char dir[200];         /* its own; boris's TMPDIR is tmp in it */
	struct torture *control;
	bool show;             /* what is said */
	pid_t boris;           /* 0: it has ended, with this status: */
	int status;
	bool killed;           /* by us */
	bool closing;          /* told to end by us */
	bool joined;           /* requests are parts of an array */
	int in, out;           /* -1: closed */
	int port;              /* over HTTP */
	char session[64];      /* Mcp-Session-Id */
	int ids;               /* requests sent */
	struct buf heard;      /* what has come of a line */
	struct buf answer[IDS];  /* by id */
	int answers[IDS];
	bool wanted[IDS];      /* must be answered: not cancelled */
	int nulls;             /* requests of messages that were not read, as
	                        * errors have said */
	int of_array;          /* requests of which one error without an id
	                        * says that; else 1 */
	bool before;           /* nothing was answered yet */
	bool greeted;          /* the handshake has succeeded */
	bool excused;          /* it has ended with status 1, and may have */
	bool no_files;         /* files could not be removed */
	int fds;               /* of boris at the end; 0: not known */
	char wrong[600];       /* the first violation, or empty */
};

struct scenario {
	const char *name;
	void (*play)(struct run *);
	const char *options[4];
	bool http;
	bool leaves;    /* something runs on until the end */
};

/* -- Words ------------------------------------------------------------- */

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
die(const char *what)
{
	perror(what);
	exit(2);
}

/* Notes what is wrong, unless something was before. */
static void
wrong(struct run *r, const char *format, ...)
{
	va_list list;
	size_t i;

	if (r->wrong[0] != '\0')
		return;
	va_start(list, format);
	vsnprintf(r->wrong, sizeof(r->wrong), format, list);
	va_end(list);
	for (i = 0; r->wrong[i] != '\0'; i++)
		if (r->wrong[i] < ' ')
			r->wrong[i] = ' ';
}

static char *
path_of(const struct run *r, const char *name)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	return path;
}

static bool
exists(const struct run *r, const char *name)
{
	return access(path_of(r, name), F_OK) == 0;
}

/* The first line of a file, or "" */
static const char *
first_line(const char *path)
{
	static char line[1000];
	FILE *f = fopen(path, "r");

	line[0] = '\0';
	if (f != NULL && fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	if (f != NULL)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* -- Processes --------------------------------------------------------- */

/* State of a process, as /proc has it; 0: there is none */
static char
state_of(pid_t pid)
{
	char path[40], text[512], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	text[0] = '\0';
	if (f != NULL && fgets(text, sizeof(text), f) == NULL)
		text[0] = '\0';
	if (f != NULL)
		fclose(f);
	p = strrchr(text, ')');
	return p != NULL ? p[2] : 0;
}

/* Its children: how many there are, and how many of them are zombies */
static int
children_of(pid_t pid, int *zombies)
{
	char path[60];
	FILE *f;
	int n = 0, child;

	*zombies = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
	    (int)pid);
	f = fopen(path, "r");
	while (f != NULL && fscanf(f, "%d", &child) == 1) {
		n++;
		*zombies += state_of(child) == 'Z';
	}
	if (f != NULL)
		fclose(f);
	return n;
}

static int
descriptors_of(pid_t pid)
{
	char path[40];
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		closedir(dir);
	return n;
}

/* Reaps what has ended: we inherit all that boris leaves. */
static bool
reap(struct run *r, bool wait)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, wait ? 0 : WNOHANG)) > 0) {
		if (pid != r->boris)
			continue;
		r->boris = 0;
		r->status = status;
		if (wait)
			return true;
	}
	return pid < 0;  /* nobody is left */
}

static bool
runs(struct run *r)
{
	if (r->boris > 0)
		reap(r, false);
	return r->boris > 0;
}

static void
nap(int ms)
{
	poll(NULL, 0, ms);
}

/* -- Hearing ----------------------------------------------------------- */

static void
take_message(struct run *r, struct json message)
{
	struct json id = json_get(message, "id");
	int64_t n;

	if (json_type(json_get(message, "method")) != JSON_NONE)
		return;  /* progress */
	r->before = false;
	if (!json_int(id, &n) || n < 1 || n > r->ids) {
		r->nulls += r->of_array;
		if (r->control->failed == 0 || json_type(id) == JSON_NUMBER)
			wrong(r, "an answer to nobody: %.*s", (int)message.len,
			    message.text);
		return;
	}
	if (r->answers[n]++ > 0)
		wrong(r, "request %d is answered twice", (int)n);
	r->answer[n].len = 0;
	buf_put(&r->answer[n], message.text, message.len);
}

static void
take_text(struct run *r, const char *text, size_t len)
{
	struct json message = json_check(text, len), each;
	size_t at = 0;

	if (r->show)
		printf("<- %.*s\n", len > 1000 ? 1000 : (int)len, text);
	if (json_type(message) == JSON_NONE)
		wrong(r, "no JSON: %.*s", (int)len, text);
	if (json_type(message) != JSON_ARRAY) {
		take_message(r, message);
		return;
	}
	while (json_next(message, &at, NULL, &each))
		take_message(r, each);
}

/* Reads what boris says, for at most so long; false: nothing more comes. */
static bool
hear(struct run *r, int ms)
{
	struct pollfd p;
	char *end;
	ssize_t n;

	if (r->out < 0)
		return false;
	p.fd = r->out;
	p.events = POLLIN;
	if (poll(&p, 1, ms) < 1)
		return true;
	buf_room(&r->heard, 65536);
	n = read(r->out, r->heard.data + r->heard.len, 65536);
	if (n <= 0) {
		close(r->out);
		r->out = -1;
		if (r->heard.len > 0 && !r->killed)
			wrong(r, "half a message at the end");
		return false;
	}
	r->heard.len += (size_t)n;
	while ((end = memchr(r->heard.data, '\n', r->heard.len)) != NULL) {
		take_text(r, r->heard.data, (size_t)(end - r->heard.data));
		buf_drop(&r->heard, (size_t)(end - r->heard.data) + 1);
	}
	return true;
}

/* -- Saying ------------------------------------------------------------ */

static void
put(struct run *r, const char *text, size_t len)
{
	ssize_t n;

	if (r->show)
		printf("-> %.*s", len > 1000 ? 1000 : (int)len, text);
	while (len > 0 && r->in >= 0) {
		n = write(r->in, text, len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			hear(r, 1);
		else if (n < 0)
			return;
		else
			text += n, len -= (size_t)n;
	}
}

static void
send_text(struct run *r, const char *format, ...)
{
	char *text;
	va_list list;
	int n;

	va_start(list, format);
	n = vasprintf(&text, format, list);
	va_end(list);
	if (n < 0)
		die("vasprintf");
	put(r, text, (size_t)n);
	free(text);
}

/* -- HTTP -------------------------------------------------------------- */

/* Reads to the end of the response; 0: the connection was closed before it. */
static int
read_response(struct run *r, int fd, struct buf *b, int64_t until)
{
	struct pollfd p = { fd, POLLIN, 0 };
	char *head = NULL, *length;
	ssize_t n;

	while (now() < until) {
		buf_room(b, 65537);
		if (poll(&p, 1, 50) < 1) {
			if (!runs(r) && poll(&p, 1, 0) < 1)
				return 0;
			continue;
		}
		n = read(fd, b->data + b->len, 65536);
		if (n <= 0)
			return 0;
		b->len += (size_t)n;
		b->data[b->len] = '\0';
		head = strstr(b->data, "\r\n\r\n");
		if (head == NULL)
			continue;
		length = strcasestr(b->data, "\r\nContent-Length: ");
		if (length != NULL && length < head && b->len >=
		    (size_t)(head + 4 - b->data) + (size_t)atoi(length + 18))
			return atoi(b->data + 9);
		if ((length == NULL || length > head) && b->len >= 7 &&
		    memcmp(b->data + b->len - 7, "\r\n0\r\n\r\n", 7) == 0)
			return atoi(b->data + 9);
	}
	return -1;
}

/* Each event of a stream; the chunks' lengths stand between lines. */
static void
take_events(struct run *r, char *text)
{
	char *line, *end;

	for (line = strstr(text, "data: {"); line != NULL;
	     line = strstr(end, "data: {")) {
		end = strchr(line, '\n');
		if (end == NULL)
			return;
		take_text(r, line + 6, (size_t)(end - line - 6));
	}
}

/* Posts a message on a connection of its own, and takes what answers it. That
 * can't be accepted without memory, so a shortage for good is over some time. */
static int
post(struct run *r, const char *headers, const char *text)
{
	struct sockaddr_in a;
	struct buf b = { NULL, 0, 0, false };
	char head[600], *body, *id;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;

	memset(&a, 0, sizeof(a));
	a.sin_family = AF_INET;
	a.sin_port = htons((uint16_t)r->port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	snprintf(head, sizeof(head), "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
	    "Content-Type: application/json\r\nAccept: application/json, "
	    "text/event-stream\r\n%s%s%sContent-Length: %d\r\n%s\r\n",
	    r->session[0] != '\0' ? "Mcp-Session-Id: " : "", r->session,
	    r->session[0] != '\0' ? "\r\n" : "", (int)strlen(text), headers);
	if (r->show)
		printf("-> %s\n", text);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    write(fd, head, strlen(head)) > 0 &&
	    write(fd, text, strlen(text)) > 0)
		status = read_response(r, fd, &b, now() +
		    (r->control->times > 10 ? PATIENCE / 10 : PATIENCE));
	r->control->stop |= status < 0;
	if (status < 0)
		status = read_response(r, fd, &b, now() + PATIENCE);
	close(fd);
	if (r->show)
		printf("<- status %d\n", status);
	if (status == 0 && runs(r))
		wrong(r, "a connection is closed without a response: %s", text);
	if (status < 0)
		wrong(r, "no response: %s", text);
	if (status > 0) {
		body = strstr(b.data, "\r\n\r\n") + 4;
		id = strcasestr(b.data, "\r\nMcp-Session-Id: ");
		if (id != NULL && id < body)
			sscanf(id + 18, "%63[0-9a-zA-Z]", r->session);
		if (strcasestr(b.data, "\r\nContent-Type: text/event") != NULL)
			take_events(r, body);
		else if (body < b.data + b.len && *body == '{')
			take_text(r, body, strlen(body));
		else if (status >= 400)
			r->nulls++;
	}
	buf_free(&b);
	return status;
}

/* -- Requests ---------------------------------------------------------- */

#define META "\"io.modelcontextprotocol/protocolVersion\":" \
	"\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}"
#define MODERN "\"_meta\":{" META "}"

/* Sends a request and returns its id. */
static int
request(struct run *r, const char *method, const char *format, ...)
{
	char params[4000], text[5000], headers[200] = "";
	va_list list;
	int id = ++r->ids;

	va_start(list, format);
	vsnprintf(params, sizeof(params), format, list);
	va_end(list);
	r->wanted[id] = true;
	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%d,"
	    "\"method\":\"%s\",\"params\":{%s}}%s", id, method, params,
	    r->joined ? "" : "\n");
	if (!r->what->http) {
		put(r, text, strlen(text));
		return id;
	}
	if (strstr(params, META) != NULL)
		snprintf(headers, sizeof(headers), "MCP-Protocol-Version: "
		    "2026-07-28\r\nMcp-Method: %s\r\n%s", method,
		    strncmp(params, "\"name\":\"bash\"", 13) == 0
		    ? "Mcp-Name: bash\r\n" : strncmp(params,
		    "\"name\":\"task_output\"", 20) == 0
		    ? "Mcp-Name: task_output\r\n" : "");
	post(r, headers, text);
	return id;
}

/* Is it clear that a request will not be answered, since the message could not
 * be read, which was said? */
static bool
was_lost(const struct run *r)
{
	int i, missing = 0;

	for (i = 1; i <= r->ids; i++)
		missing += r->wanted[i] && r->answers[i] == 0;
	return missing <= r->nulls;
}

/* The answer, once it is there; JSON_NONE: boris has ended, or it was lost. */
static struct json
answer(struct run *r, int id)
{
	static const struct json none = { NULL, 0 };
	int64_t until = now() + PATIENCE;

	while (r->answers[id] == 0 && !was_lost(r) && !r->what->http &&
	    now() < until && hear(r, 100))
		;
	if (r->answers[id] > 0)
		return json_check(r->answer[id].data, r->answer[id].len);
	if (runs(r) && r->out >= 0 && !was_lost(r))
		wrong(r, "request %d is not answered", id);
	return none;
}

/* Sends a call of bash, with further arguments. Each notes that it runs. */
static int
call(struct run *r, const char *command, const char *more)
{
	return request(r, "tools/call", "\"name\":\"bash\",\"arguments\":{"
	    "\"command\":\"echo >>ran.%d; %s\"%s}", r->ids + 1, command, more);
}

static int
look(struct run *r, const char *task, const char *more)
{
	return request(r, "tools/call", "\"name\":\"task_output\","
	    "\"arguments\":{\"task_id\":\"%s\"%s}", task, more);
}

static struct json
field(struct json answer, const char *name)
{
	return json_get(json_get(json_get(answer, "result"),
	    "structuredContent"), name);
}

/* A field that is a string, decoded; "": there is none. Two at a time. */
static const char *
string(struct json answer, const char *name)
{
	static struct buf two[2];
	static int which;
	struct buf *b = &two[which ^= 1];

	b->len = 0;
	json_decode(field(answer, name), b);
	buf_putc(b, '\0');
	return b->data;
}

/* What a tool's error, or the protocol's, says; NULL: it is a result */
static const char *
error_of(struct json answer)
{
	static struct buf b;
	struct json result = json_get(answer, "result"), block;
	size_t at = 0;

	b.len = 0;
	if (json_type(result) == JSON_NONE) {
		json_decode(json_get(json_get(answer, "error"), "message"),
		    &b);
	} else if (json_true(json_get(result, "isError"))) {
		if (json_next(json_get(result, "content"), &at, NULL, &block))
			json_decode(json_get(block, "text"), &b);
	} else {
		return NULL;
	}
	buf_putc(&b, '\0');
	return b.data;
}

/* -- Truth ------------------------------------------------------------- */

/* Does the text say that the command has run? */
static bool
says_ran(const char *text)
{
	static const char *const words[] = {
		"has run", "was run", "did run", "runs", "ran ", "has ended",
		"was started", "is running", "can still be read"
	};
	size_t i;

	if (strstr(text, "nothing was run") != NULL ||
	    strstr(text, "was not run") != NULL)
		return false;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(text, words[i]) != NULL)
			return true;
	return false;
}

/* Does a result say that something is missing? */
static bool
says_short(struct json a)
{
	return memmem(a.text, a.len, "memory", 6) != NULL ||
	    memmem(a.text, a.len, "lost", 4) != NULL ||
	    memmem(a.text, a.len, "missing", 7) != NULL ||
	    memmem(a.text, a.len, "could not", 9) != NULL;
}

/* An error must not be about a command that ran, unless it says so. */
static bool
is_error(struct run *r, struct json a, int id)
{
	char mark[20];
	const char *why;

	if (json_type(a) == JSON_NONE)
		return true;
	why = error_of(a);
	if (why == NULL)
		return false;
	snprintf(mark, sizeof(mark), "ran.%d", id);
	if (r->control->failed == 0 && !r->closing)
		wrong(r, "an error, and nothing had failed: %s", why);
	if (exists(r, mark) && !says_ran(why))
		wrong(r, "request %d has run, and the error does not say so: "
		    "%s", id, why);
	return true;
}

/* The end of a command, with any code if that is -1. False: an error, or no
 * answer. */
static bool
ended_so(struct run *r, int id, const char *status, int code, const char *out)
{
	struct json a = answer(r, id);
	int64_t is = -1;

	if (is_error(r, a, id))
		return false;
	if (strcmp(string(a, "status"), status) != 0 ||
	    !json_int(field(a, "exit_code"), &is) ||
	    (code >= 0 && is != code))
		wrong(r, "request %d should be %s, %d: %.*s", id, status, code,
		    (int)a.len, a.text);
	else if (out != NULL && strcmp(string(a, "stdout"), out) != 0 &&
	    !says_short(a))
		wrong(r, "request %d should print %s: %.*s", id, out,
		    (int)a.len, a.text);
	return true;
}

/* The task that an answer is about; "": none. Where there was no memory for
 * the answer the list has it. */
static const char *
task_of(struct run *r, int id)
{
	static char task[64];
	struct json a = answer(r, id), list, one = { NULL, 0 };
	struct buf b = { task, 0, sizeof(task) - 1, false };
	size_t at = 0;

	memset(task, 0, sizeof(task));
	if (!is_error(r, a, id)) {
		snprintf(task, sizeof(task), "%s", string(a, "task_id"));
	} else if (json_type(a) != JSON_NONE &&
	    strstr(error_of(a), "can still be read") != NULL) {
		r->control->stop = 1;
		list = answer(r, request(r, "tools/call",
		    "\"name\":\"task_output\",\"arguments\":{}"));
		if (json_next(field(list, "tasks"), &at, NULL, &one))
			json_decode(json_get(one, "task_id"), &b);
		else
			wrong(r, "the task is not listed: %.*s",
			    (int)list.len, list.text);
	}
	return task;
}

/* The end of a task, in this look or, if that was short of something, in one
 * when the shortage is over. */
static void
task_ends_so(struct run *r, const char *task, int id, const char *status,
             int code, const char *out)
{
	struct json a = answer(r, id);

	if (json_type(a) == JSON_NONE)
		return;
	if (error_of(a) != NULL) {
		if (r->control->failed == 0)
			wrong(r, "no task: %s", error_of(a));
		r->control->stop = 1;
		id = look(r, task, ",\"wait\":20000");
		a = answer(r, id);
	}
	if (error_of(a) != NULL)
		wrong(r, "the task has become unreadable: %s", error_of(a));
	else
		ended_so(r, id, status, code, out);
}

/* -- Scenarios --------------------------------------------------------- */

static void
play_commands(struct run *r)
{
	int a = request(r, "tools/list", "%s", ""), b, c, d;
	struct json list;

	b = call(r, "echo out; echo err >&2; exit 3", "");
	c = call(r, "cd sub; pwd", "");
	d = call(r, "pwd; read x", ",\"stdin\":\"text\\n\",\"cwd\":\"..\"");
	list = answer(r, a);
	if (json_type(list) != JSON_NONE && error_of(list) == NULL &&
	    json_type(json_get(json_get(list, "result"), "tools")) !=
	    JSON_ARRAY)
		wrong(r, "no tools: %.*s", (int)list.len, list.text);
	ended_so(r, b, "completed", 3, "out\n");
	ended_so(r, c, "completed", 0, NULL);
	ended_so(r, d, "completed", 0, NULL);
}

/* Where one command says that the next starts it does, or the next says not. */
static void
play_directory(struct run *r)
{
	char said[300], out[300];
	struct json a;
	int i, id = call(r, "mkdir -p a/a/a/a; cd a", "");

	for (i = 0; i < 3; i++) {
		if (!ended_so(r, id, "completed", 0, NULL))
			return;
		a = answer(r, id);
		snprintf(said, sizeof(said), "%s", string(a, "cwd"));
		if (strcmp(said + strlen(said) - 2, "/a") != 0 &&
		    !says_short(a))
			wrong(r, "the directory is lost: %.*s", (int)a.len,
			    a.text);
		id = call(r, "pwd", "");
		if (!ended_so(r, id, "completed", 0, NULL))
			return;
		snprintf(out, sizeof(out), "%s", string(answer(r, id),
		    "stdout"));
		out[strcspn(out, "\n")] = '\0';
		if (said[0] != '\0' && strcmp(out, said) != 0 &&
		    !says_short(answer(r, id)))
			wrong(r, "%s was said, and the next one is in %s",
			    said, out);
		id = call(r, "cd a", "");
	}
	ended_so(r, id, "completed", 0, NULL);
}

/* (Where access() fails as boris starts, bash is not found, and sh taken.) */
static void
play_pipeline(struct run *r)
{
	int id = call(r, "echo hi | (read x; echo $x; exit 4) | (read x; echo $x)", "");

	if (ended_so(r, id, "completed", 0, "hi\n") &&
	    strstr(string(answer(r, id), "note"), "0 4 0") == NULL &&
	    !says_short(answer(r, id)) &&
	    strcmp(r->control->family, "access") != 0)
		wrong(r, "no exit codes: %.*s", (int)r->answer[id].len,
		    r->answer[id].data);
}

/* (A shell that SIGTERM could not be sent to is ended by SIGKILL.) */
static void
play_timeout(struct run *r)
{
	int a = call(r, "(trap '' TERM; read x <never) & echo hi; read x <never",
	    ",\"timeout\":5000"), b;

	b = request(r, "ping", "%s", "");
	answer(r, b);
	answer(r, a);
	ended_so(r, a, "timed_out",
	    strcmp(r->control->family, "kill") == 0 ? -1 : 143, "hi\n");
}

static void
play_task(struct run *r)
{
	int id = call(r, "echo one; read x <gate; echo two; exit 3",
	    ",\"run_in_background\":true");
	char task[64];
	int fd;

	snprintf(task, sizeof(task), "%s", task_of(r, id));
	if (task[0] == '\0')
		return;
	id = look(r, task, ",\"wait\":3000,\"until\":\"one\"");
	is_error(r, answer(r, id), 0);
	id = request(r, "tools/call", "\"name\":\"task_output\","
	    "\"arguments\":{}");
	is_error(r, answer(r, id), 0);
	fd = open(path_of(r, "gate"), O_RDWR);
	if (write(fd, "\n", 1) < 0)
		die("gate");
	id = look(r, task, ",\"wait\":100000");
	task_ends_so(r, task, id, "completed", 3, "one\ntwo\n");
	close(fd);
}

static int
end_task(struct run *r, const char *task)
{
	return request(r, "tools/call", "\"name\":\"bash\",\"arguments\":{"
	    "\"kill_pid\":\"%s\"}", task);
}

static void
play_kill(struct run *r)
{
	int id = call(r, "echo one; read x <never; echo two",
	    ",\"run_in_background\":true,\"wait\":2000");
	char task[64];

	snprintf(task, sizeof(task), "%s", task_of(r, id));
	if (task[0] == '\0')
		return;
	id = end_task(r, task);
	if (error_of(answer(r, id)) != NULL) {
		r->control->stop = 1;
		id = end_task(r, task);
	}
	if (!is_error(r, answer(r, id), 0) &&
	    strcmp(string(answer(r, id), "status"), "killed") != 0)
		wrong(r, "not killed: %.*s", (int)r->answer[id].len,
		    r->answer[id].data);
}

static void
play_until(struct run *r)
{
	int id = call(r, "echo start; echo ready >&2; read x <never",
	    ",\"run_in_background\":true,\"until\":\"ready\"");
	struct json a = answer(r, id);

	if (!is_error(r, a, id) && strstr(string(a, "note"), "not seen") !=
	    NULL && !says_short(a))
		wrong(r, "until was not seen: %.*s", (int)a.len, a.text);
}

static void
play_terminal(struct run *r)
{
	int id = call(r, "printf '? '; read x; echo got $x", ",\"tty\":true");
	char task[64];

	snprintf(task, sizeof(task), "%s", task_of(r, id));
	if (task[0] == '\0')
		return;
	id = request(r, "tools/call", "\"name\":\"bash\",\"arguments\":{"
	    "\"task_id\":\"%s\",\"input\":\"seven\\n\"}", task);
	if (error_of(answer(r, id)) != NULL) {
		r->control->stop = 1;
		id = request(r, "tools/call", "\"name\":\"bash\","
		    "\"arguments\":{\"task_id\":\"%s\","
		    "\"input\":\"seven\\n\"}", task);
	}
	if (error_of(answer(r, id)) == NULL &&
	    strcmp(string(answer(r, id), "status"), "completed") == 0 &&
	    strstr(string(answer(r, id), "stdout"), "got seven\n") == NULL)
		wrong(r, "no answer to what was typed: %.*s",
		    (int)r->answer[id].len, r->answer[id].data);
}

/* A file that is said to be whole is. */
static void
play_long(struct run *r)
{
	int id = call(r, "i=0; while [ $i -lt 9000 ]; do echo 123456789012345; "
	    "i=$((i+1)); done", "");
	struct json a;
	struct stat st;
	const char *file;

	if (!ended_so(r, id, "completed", 0, NULL))
		return;
	a = answer(r, id);
	file = string(a, "stdout_file");
	if (strstr(string(a, "stdout"), "[stdout truncated: 144000") == NULL &&
	    !says_short(a))
		wrong(r, "not truncated: %.*s", (int)a.len, a.text);
	if (file[0] == '\0' ? memmem(a.text, a.len, "not saved", 9) == NULL :
	    (stat(file, &st) < 0 || st.st_size != 144000) &&
	    memmem(a.text, a.len, "incomplete", 10) == NULL)
		wrong(r, "the file is not whole: %.*s", (int)a.len, a.text);
}

static void
play_stdin(struct run *r)
{
	char *text = malloc(210000);
	int id = ++r->ids, n;
	size_t len;

	r->wanted[id] = true;
	n = sprintf(text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":"
	    "\"tools/call\",\"params\":{\"name\":\"bash\",\"arguments\":{"
	    "\"command\":\"echo >>ran.%d; wc -c\",\"stdin\":\"", id, id);
	memset(text + n, 'x', 200000);
	len = (size_t)n + 200000;
	len += (size_t)sprintf(text + len, "\"}}}\n");
	put(r, text, len);
	free(text);
	ended_so(r, id, "completed", 0, "200000\n");
}

static void
play_cancel(struct run *r)
{
	int a = call(r, "read x <never", ""), b = call(r, "echo on", ""), i;

	for (i = 0; i < 200 && !exists(r, "ran.2") && runs(r); i++)
		nap(5);
	r->wanted[a] = false;
	send_text(r, "{\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/cancelled\",\"params\":{\"requestId\":%d}}\n", a);
	ended_so(r, b, "completed", 0, "on\n");
}

static void
play_batch(struct run *r)
{
	int a, b, c;

	answer(r, request(r, "initialize",
	    "\"protocolVersion\":\"2025-03-26\""));
	r->joined = true;
	r->of_array = 3;
	put(r, "[", 1);
	a = call(r, "echo one", "");
	put(r, ",", 1);
	b = call(r, "echo two", "");
	put(r, ",", 1);
	c = request(r, "ping", "%s", "");
	put(r, "]\n", 2);
	r->joined = false;
	ended_so(r, a, "completed", 0, "one\n");
	ended_so(r, b, "completed", 0, "two\n");
	answer(r, c);
	r->of_array = 1;
}

static void
play_modern(struct run *r)
{
	int id = request(r, "tools/call", "\"name\":\"bash\",\"arguments\":{"
	    "\"command\":\"echo >>ran.%d; echo one; read -t .03 x <>never; echo two\"},"
	    "\"_meta\":{\"progressToken\":1," META "}", r->ids + 1);

	answer(r, request(r, "server/discover", "%s", MODERN));
	ended_so(r, id, "completed", 0, "one\ntwo\n");
}

static void
play_handover(struct run *r)
{
	int id = call(r, "echo one; read x <gate; echo two",
	    ",\"timeout\":1000");
	char task[64];
	int fd = open(path_of(r, "gate"), O_RDWR);

	snprintf(task, sizeof(task), "%s", task_of(r, id));
	if (task[0] != '\0') {
		if (write(fd, "\n", 1) < 0)
			die("gate");
		id = look(r, task, ",\"wait\":100000");
		task_ends_so(r, task, id, "completed", 0, "one\ntwo\n");
	}
	close(fd);
}

static void
play_left(struct run *r)
{
	int a = call(r, "read x <never >/dev/null 2>&1 & echo one", ""), b;

	/* Where /proc could not be read then, nobody knows, and nothing is
	 * said (E4). */
	if (ended_so(r, a, "completed", 0, "one\n") &&
	    strstr(string(answer(r, a), "note"), "kill") == NULL &&
	    !says_short(answer(r, a)) &&
	    strcmp(r->control->family, "readdir") != 0 &&
	    strcmp(r->control->family, "read") != 0 &&
	    strcmp(r->control->family, "descriptors") != 0)
		wrong(r, "what is left is not told");
	b = call(r, "echo two", "");
	if (ended_so(r, b, "completed", 0, "two\n") &&
	    string(answer(r, b), "note")[0] != '\0' &&
	    !says_short(answer(r, b)))
		wrong(r, "left running by an echo: %s", string(answer(r, b),
		    "note"));
}

/* Requests that were read are answered though stdin has ended (P9). */
static void
play_end(struct run *r)
{
	int a = call(r, "echo one", ""), b = call(r, "echo two", "");

	call(r, "read x <never", ",\"run_in_background\":true");
	close(r->in);
	r->in = -1;
	ended_so(r, a, "completed", 0, "one\n");
	ended_so(r, b, "completed", 0, "two\n");
}

static void
close_by_signal(struct run *r)
{
	r->closing = true;
	if (runs(r))
		kill(r->boris, SIGTERM);
}

static void
play_sigterm(struct run *r)
{
	int id = call(r, "read x <never", ",\"run_in_background\":true");

	answer(r, id);
	call(r, "trap '' TERM; read x <never & read x <never", "");
	call(r, "echo queued", "");
	nap(30);
	close_by_signal(r);
}

/* The guard's work: all ends, boris's files go, no others. */
static void
play_sigkill(struct run *r)
{
	int id = call(r, "i=0; while [ $i -lt 9000 ]; do echo 123456789012345; "
	    "i=$((i+1)); done; touch $TMPDIR/boris-mine; read x <never & "
	    "(trap '' TERM; read x <never) &", ""), i;

	answer(r, id);
	id = call(r, "read x <never & read x <never", ",\"run_in_background\":true");
	answer(r, id);
	id = call(r, "(set -m; read x <never & read x <never)", "");
	for (i = 0; i < 60 && !exists(r, "ran.4") && runs(r); i++)
		nap(5);
	if (runs(r)) {
		r->killed = true;
		kill(r->boris, SIGKILL);
	}
}

/* Never weaker than asked (F3). */
static void
play_fence(struct run *r)
{
	int id = request(r, "tools/call", "\"name\":\"bash\",\"arguments\":{"
	    "\"command\":\"echo >in/x; echo >out; echo done\"}");

	answer(r, id);
	if (exists(r, "out"))
		wrong(r, "boris serves without its fence");
}

/* An edit of in/f, which holds one line: what it says of that is so, and in has
 * nothing but what was there (X3). */
static void
edit(struct run *r, const char *more, const char *was, const char *is)
{
	int id = request(r, "tools/call", "\"name\":\"edit\",\"arguments\":{"
	    "\"path\":\"in/f\"%s}", more);
	struct json a = answer(r, id);
	const char *why = error_of(a);
	char line[1000];
	DIR *dir = opendir(path_of(r, "in"));
	struct dirent *entry;

	snprintf(line, sizeof(line), "%s", first_line(path_of(r, "in/f")));
	if (why != NULL && r->control->failed == 0)
		wrong(r, "an error, and nothing had failed: %s", why);
	if (why == NULL || says_ran(why) ||
	    (json_type(a) == JSON_NONE && strcmp(line, is) == 0))
		was = is;
	if (strcmp(line, was) != 0 &&
	    (why == NULL || strstr(why, "in part") == NULL))
		wrong(r, "the file holds %s, and not %s: %s", line, was,
		    why != NULL ? why : "no error");
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, ".boris-", 7) == 0 &&
		    strcmp(r->control->family, "unlink") != 0)
			wrong(r, "a file is left: %s", entry->d_name);
	if (dir != NULL)
		closedir(dir);
}

static void
write_line(struct run *r, const char *name, const char *line)
{
	FILE *f = fopen(path_of(r, name), "w");

	if (f == NULL || fputs(line, f) < 0 || fclose(f) < 0)
		die(name);
}

/* Made, replaced, and written in place */
static void
play_edit(struct run *r)
{
	char other[400];

	edit(r, ",\"new\":\"made\\n\"", "", "made");
	write_line(r, "in/f", "old\n");
	edit(r, ",\"old\":\"old\",\"new\":\"new\"", "old", "new");
	write_line(r, "in/f", "old\n");
	snprintf(other, sizeof(other), "%s", path_of(r, "sub/f"));
	if (link(path_of(r, "in/f"), other) < 0)
		die("sub/f");
	edit(r, ",\"old\":\"old\",\"new\":\"longer\"", "old", "longer");
}

static void
play_session(struct run *r)
{
	int a = call(r, "cd sub; echo out", ""), b, c;
	char task[64];

	b = call(r, "pwd", "");
	ended_so(r, a, "completed", 0, "out\n");
	ended_so(r, b, "completed", 0, NULL);
	c = call(r, "echo task; exit 2", ",\"run_in_background\":true");
	snprintf(task, sizeof(task), "%s", task_of(r, c));
	if (task[0] == '\0')
		return;
	c = look(r, task, ",\"wait\":20000");
	task_ends_so(r, task, c, "completed", 2, "task\n");
}

static void
play_stateless(struct run *r)
{
	int id = request(r, "tools/call", "\"name\":\"bash\",\"arguments\":{"
	    "\"command\":\"echo >>ran.%d; echo one; read -t .03 x <>never; echo two\"},"
	    "\"_meta\":{\"progressToken\":1," META "}", r->ids + 1);

	ended_so(r, id, "completed", 0, "one\ntwo\n");
	answer(r, request(r, "tools/list", "%s", MODERN));
}

/* Three at a time, of which one hangs up */
static void
play_crowd(struct run *r)
{
	struct sockaddr_in a;
	int fd[3], i, id;

	memset(&a, 0, sizeof(a));
	a.sin_family = AF_INET;
	a.sin_port = htons((uint16_t)r->port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (i = 0; i < 3; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd[i] < 0 || connect(fd[i], (struct sockaddr *)&a,
		    sizeof(a)) < 0)
			break;
	}
	id = call(r, "echo one", "");
	ended_so(r, id, "completed", 0, "one\n");
	while (i-- > 0)
		close(fd[i]);
}

static void
play_http_sigterm(struct run *r)
{
	answer(r, call(r, "read x <never", ",\"run_in_background\":true"));
	close_by_signal(r);
}

static const struct scenario scenarios[] = {
	{ "commands", play_commands, { NULL }, false, false },
	{ "directory", play_directory, { NULL }, false, false },
	{ "pipeline", play_pipeline, { NULL }, false, false },
	{ "timeout", play_timeout, { NULL }, false, false },
	{ "task", play_task, { NULL }, false, false },
	{ "kill", play_kill, { NULL }, false, false },
	{ "until", play_until, { NULL }, false, true },
	{ "terminal", play_terminal, { NULL }, false, true },
	{ "long", play_long, { NULL }, false, false },
	{ "stdin", play_stdin, { NULL }, false, false },
	{ "cancel", play_cancel, { NULL }, false, false },
	{ "batch", play_batch, { NULL }, false, false },
	{ "modern", play_modern, { NULL }, false, false },
	{ "handover", play_handover, { "--on-timeout=background" }, false,
	  false },
	{ "left", play_left, { NULL }, false, true },
	{ "end", play_end, { NULL }, false, false },
	{ "sigterm", play_sigterm, { NULL }, false, true },
	{ "sigkill", play_sigkill, { NULL }, false, true },
	{ "fence", play_fence, { "--write=in" }, false, false },
	{ "edit", play_edit, { "--edit" }, false, false },
	{ "session", play_session, { "--transport=http", "--port=0" }, true,
	  false },
	{ "stateless", play_stateless, { "--transport=http", "--port=0" },
	  true, false },
	{ "crowd", play_crowd, { "--transport=http", "--port=0" }, true,
	  false },
	{ "http-sigterm", play_http_sigterm,
	  { "--transport=http", "--port=0" }, true, true }
};

enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };

/* -- One run ----------------------------------------------------------- */

static void
remove_all(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char name[700];

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (unlink(name) < 0)
			remove_all(name);
	}
	if (dir != NULL)
		closedir(dir);
	rmdir(path);
}

static void
make_place(struct run *r)
{
	remove_all(r->dir);
	if (mkdir(r->dir, 0755) < 0 || mkdir(path_of(r, "tmp"), 0755) < 0 ||
	    mkdir(path_of(r, "in"), 0755) < 0 ||
	    mkdir(path_of(r, "sub"), 0755) < 0 ||
	    mkfifo(path_of(r, "gate"), 0600) < 0 ||
	    mkfifo(path_of(r, "never"), 0600) < 0)
		die(r->dir);
}

static void
start(struct run *r, const char *control)
{
	char env[2][320], *const environment[] = {
		env[0], env[1], "PATH=/usr/local/bin:/usr/bin:/bin",
		"ASAN_OPTIONS=exitcode=99:detect_leaks=0",
		"UBSAN_OPTIONS=exitcode=99", NULL
	};
	const char *argv[8] = { r->binary };
	int in[2], out[2], i;

	for (i = 0; i < 4; i++)
		argv[i + 1] = r->what->options[i];
	snprintf(env[0], sizeof(env[0]), "TORTURE=%s", control);
	snprintf(env[1], sizeof(env[1]), "TMPDIR=%s/tmp", r->dir);
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe2");
	r->boris = fork();
	if (r->boris < 0)
		die("fork");
	if (r->boris == 0) {
		if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 ||
		    dup2(open(path_of(r, "err"), O_CREAT | O_WRONLY |
		    O_APPEND | O_CLOEXEC, 0600), 2) < 0 ||
		    chdir(r->dir) < 0)
			_exit(97);
		execve(r->binary, (char **)argv, environment);
		_exit(98);
	}
	close(in[0]);
	close(out[1]);
	r->in = in[1];
	r->out = out[0];
	fcntl(r->in, F_SETFL, O_NONBLOCK);
}

/* Waits until it listens; false: it has ended, or could not say where. */
static bool
listens(struct run *r)
{
	int64_t until = now() + PATIENCE;
	const char *line;

	r->port = 0;
	while (runs(r) && now() < until) {
		line = first_line(path_of(r, "err"));
		if (sscanf(line, "boris: listening on http://127.0.0.1:%d/mcp",
		    &r->port) == 1 && strstr(line, "/mcp") != NULL)
			return true;
		if ((strcmp(r->control->name, "poll") == 0 ||
		    strcmp(r->control->name, "write") == 0) &&
		    now() > until - PATIENCE + PATIENCE / 20)
			return false;
		nap(2);
	}
	if (runs(r))
		wrong(r, "it does not listen");
	return false;
}

static void
say_hello(struct run *r)
{
	struct json a;

	r->before = true;
	r->session[0] = '\0';
	a = answer(r, request(r, "initialize",
	    "\"protocolVersion\":\"2025-11-25\""));
	if (json_type(a) == JSON_NONE)
		return;
	if (error_of(a) != NULL && r->control->failed == 0)
		wrong(r, "no handshake: %s", error_of(a));
	if (error_of(a) != NULL)
		a = answer(r, request(r, "initialize",
		    "\"protocolVersion\":\"2025-11-25\""));
	r->greeted = json_type(a) != JSON_NONE && error_of(a) == NULL;
}

/* Who can't be signalled time and again is another user's, and is let go. */
static bool
obeys(const struct run *r)
{
	return r->control->times == 1 ||
	    strcmp(r->control->family, "kill") != 0;
}

/* When the shortage is over all is as ever (E7). */
static void
probe(struct run *r)
{
	int id, i, zombies = 0, children = 0, fds = 0;
	const char *fd;

	if (r->killed || r->closing)
		return;
	r->control->stop = 1;
	if (!runs(r) || r->in < 0 || (r->what->http && r->port == 0))
		return;
	if (r->what->http || !r->greeted)
		say_hello(r);
	id = call(r, "cd /; echo /proc/$$/fd/*; exit 5", "");
	if (json_type(answer(r, id)) == JSON_NONE)
		return;
	if (!ended_so(r, id, "completed", 5, NULL))
		wrong(r, "does not recover: %s", error_of(answer(r, id)));
	for (fd = string(answer(r, id), "stdout"); *fd != '\0'; fd++)
		fds += *fd == ' ';
	/* 0 to 2, the directory's, and that in which the shell looks. */
	if (fds != 4 && runs(r))
		wrong(r, "a command has other descriptors: %s",
		    string(answer(r, id), "stdout"));
	for (i = 0; i < 200 && !r->what->leaves && obeys(r); i++) {
		children = children_of(r->boris, &zombies);
		if (children <= 1 && zombies == 0)
			break;
		nap(10);
	}
	if (!r->what->leaves && runs(r) && obeys(r) &&
	    (children > 1 || zombies > 0))
		wrong(r, "%d children are left, %d of them zombies", children,
		    zombies);
	r->fds = descriptors_of(r->boris);
}

/* Reads the rest, and waits for boris and all that it has started. */
static void
finish(struct run *r)
{
	int64_t until = now() + PATIENCE;
	int i;

	if (r->what->http && !r->killed && runs(r))
		kill(r->boris, SIGTERM);
	if (r->in >= 0)
		close(r->in);
	r->in = -1;
	while (r->out >= 0 && now() < until && hear(r, 100))
		;
	while (runs(r) && now() < until)
		nap(2);
	if (runs(r)) {
		wrong(r, "it does not end");
		kill(r->boris, SIGKILL);
		until += PATIENCE / 2;
	}
	while (!reap(r, false) && now() < until)
		nap(2);
	/* Who left his group is found by /proc alone. */
	i = 0;
	if (!reap(r, false)) {
		if (obeys(r) && (!r->killed || r->control->times <= 10 ||
		    (strcmp(r->control->family, "readdir") != 0 &&
		    strcmp(r->control->family, "descriptors") != 0)))
			wrong(r, "left running: %d children",
			    children_of(getpid(), &i));
		while (!reap(r, false)) {
			char path[60];
			FILE *f;
			int child;

			snprintf(path, sizeof(path),
			    "/proc/%d/task/%d/children", getpid(), getpid());
			f = fopen(path, "r");
			while (f != NULL && fscanf(f, "%d", &child) == 1)
				kill(child, SIGKILL);
			if (f != NULL)
				fclose(f);
			nap(10);
		}
	}
	if (r->out >= 0)
		close(r->out);
	r->out = -1;
}

static void
check_end(struct run *r)
{
	const char *err = first_line(path_of(r, "err"));
	struct torture *t = r->control;
	bool spoke;
	int i;

	if (strncmp(err, "boris: listening on", 19) == 0)
		err = "";
	spoke = err[0] != '\0';
	if (r->killed)
		return;
	if (WIFSIGNALED(r->status)) {
		wrong(r, "signal %d", WTERMSIG(r->status));
		return;
	}
	i = WEXITSTATUS(r->status);
	if ((i == 1 || (i == 2 && r->before)) && spoke && t->failed > 0 &&
	    (r->before || t->times > 10))
		r->excused = true;
	else if (i != 0)
		wrong(r, "status %d: %s", i, err);
	else if (spoke && t->failed == 0)
		wrong(r, "it says: %s", err);
	for (i = 1; i <= r->ids && !r->excused && !was_lost(r); i++)
		if (r->wanted[i] && r->answers[i] == 0 && !r->closing)
			wrong(r, "request %d is not answered", i);
}

/* Its own files have gone, no others have. */
static void
check_files(struct run *r)
{
	DIR *dir = opendir(path_of(r, "tmp"));
	struct dirent *entry;
	struct torture *t = r->control;
	bool mine = false;

	if (t->times > 10 && (strcmp(t->family, "unlink") == 0 ||
	    strcmp(t->family, "readdir") == 0 ||
	    strcmp(t->family, "descriptors") == 0))
		r->no_files = true;
	/* The guard goes there twice. */
	if (t->times > 1 && strcmp(t->family, "chdir") == 0)
		r->no_files = true;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, "boris-mine") == 0)
			mine = true;
		else if (entry->d_name[0] != '.' && !r->no_files)
			wrong(r, "a file is left: %s", entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	if (r->killed && !mine && exists(r, "ran.2"))
		wrong(r, "a file is gone that is not boris's");
}

/* Where the first call that failed was made: names of functions, the innermost
 * first */
static void
print_frames(const struct run *r, void *const frame[FRAMES])
{
	char command[500], name[200];
	FILE *names;
	int i, n;

	n = snprintf(command, sizeof(command), "addr2line -f -s -i -e %s",
	    r->binary);
	for (i = 2; i < FRAMES && frame[i] != NULL; i++)
		n += snprintf(command + n, sizeof(command) - (size_t)n, " %p",
		    (void *)((char *)frame[i] - 1));
	names = popen(command, "r");
	for (i = 0; names != NULL && fgets(name, sizeof(name), names) != NULL;
	     i++) {
		if (i % 2 == 0 && name[0] != '?' && name[0] != '_')
			printf(" %.*s", (int)strcspn(name, "\n"), name);
	}
	if (names != NULL)
		pclose(names);
}

/* Plays it once, into r->wrong. */
static void
play(struct run *r, int who, long times, long at)
{
	struct torture *t = r->control;
	char control[300];
	int i;

	snprintf(control, sizeof(control), "%s.control", r->dir);
	memset(t, 0, sizeof(*t));
	t->who = who;
	t->at = at;
	t->times = times > 0 ? times : 1000000000;
	r->wrong[0] = '\0';
	r->ids = r->fds = r->nulls = 0;
	r->killed = r->closing = r->joined = r->greeted = false;
	r->of_array = 1;
	r->excused = r->no_files = false;
	r->before = true;
	r->heard.len = 0;
	for (i = 0; i < IDS; i++) {
		r->answers[i] = 0;
		r->wanted[i] = false;
		r->answer[i].len = 0;
	}
	make_place(r);
	start(r, control);
	if (!r->what->http || listens(r)) {
		say_hello(r);
		if (runs(r))
			r->what->play(r);
	}
	probe(r);
	finish(r);
	check_end(r);
	check_files(r);
	if (r->show)
		printf("%s: %ld calls of boris, %ld of children, %ld of the "
		    "guard; %ld failed, the first was %s\nstderr: %s\n%s\n",
		    r->what->name, t->count[IN_BORIS], t->count[IN_CHILD],
		    t->count[IN_GUARD], t->failed, t->name,
		    first_line(path_of(r, "err")),
		    r->wrong[0] != '\0' ? r->wrong : "all is well");
	if (r->show && t->failed > 0)
		print_frames(r, t->frame);
}

/* -- All runs ---------------------------------------------------------- */

/* One run; the runs of all jobs are a list. */
struct point {
	int scenario, who;
	long times, at;
};

/* What the jobs share */
struct share {
	volatile long next;  /* point to be played */
	volatile long played;
};

static void
open_run(struct run *r, const char *binary, int number)
{
	const char *tmp = getenv("TMPDIR");
	char control[300];
	int fd;

	memset(r, 0, sizeof(*r));
	r->binary = binary;
	snprintf(r->dir, sizeof(r->dir), "%s/run%d",
	    tmp != NULL ? tmp : "/tmp", number);
	snprintf(control, sizeof(control), "%s.control", r->dir);
	fd = open(control, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct torture)) < 0)
		die(control);
	r->control = mmap(NULL, sizeof(struct torture),
	    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->control == MAP_FAILED)
		die("mmap");
	close(fd);
	r->in = r->out = -1;
}

static void
close_run(struct run *r)
{
	char control[300];

	snprintf(control, sizeof(control), "%s.control", r->dir);
	unlink(control);
	remove_all(r->dir);
}

/* Tells of a violation, if it is there in one of two further runs, too: else the
 * machine was busy. */
static void
tell(struct run *r, int who, long times, long at)
{
	char first[sizeof(r->wrong)];
	struct torture was = *r->control;
	int again = 0, i;

	strcpy(first, r->wrong);
	for (i = 0; i < 2; i++) {
		play(r, who, times, at);
		again += r->wrong[0] != '\0';
	}
	if (again == 0)
		return;
	printf("%s %s %ld %ld: %s:", r->what->name, classes[who], times, at,
	    was.name);
	print_frames(r, was.frame);
	printf(": %s\n", first);
	fflush(stdout);
}

/* Plays a scenario without failures; how many calls each makes, and how many
 * descriptors boris then has. */
static void
count_calls(struct run *r, long count[CLASSES], int *fds)
{
	int who;

	play(r, IN_BORIS, 1, 0);
	if (r->wrong[0] != '\0')
		tell(r, IN_BORIS, 1, 0);
	for (who = 0; who < CLASSES; who++)
		count[who] = r->control->count[who];
	*fds = r->fds;
}

/* All points of the scenarios named, or of all. */
static struct point *
list_points(struct run *r, char **names, int fds[SCENARIOS], long *n)
{
	static const long times[] = { 1, 10, 0 };
	long count[CLASSES], at, room = 0;
	struct point *list = NULL;
	int s, who, i;

	*n = 0;
	for (s = 0; s < SCENARIOS; s++) {
		for (i = 0; names[i] != NULL &&
		    strcmp(names[i], scenarios[s].name) != 0; i++)
			;
		if (names[0] != NULL && names[i] == NULL)
			continue;
		r->what = &scenarios[s];
		count_calls(r, count, &fds[s]);
		for (who = 0; who < CLASSES; who++) {
			for (at = 1; at <= count[who]; at += 1 + at / DENSE) {
				for (i = 0; i < 3; i++) {
					if (*n == room)
						list = realloc(list,
						    (size_t)(room += 4096) *
						    sizeof(*list));
					if (list == NULL)
						die("realloc");
					list[*n].scenario = s;
					list[*n].who = who;
					list[*n].times = times[i];
					list[(*n)++].at = at;
				}
			}
		}
	}
	return list;
}

static void
shuffle(struct point *list, long n)
{
	struct point one;
	long i, j;

	srand((unsigned)time(NULL));
	for (i = n - 1; i > 0; i--) {
		j = rand() % (i + 1);
		one = list[i];
		list[i] = list[j];
		list[j] = one;
	}
}

/* A job: plays what is next, until all is, or the time is up. */
static void
work(struct share *share, const struct point *list, long n,
     const int fds[SCENARIOS], const char *binary, int number, int64_t until)
{
	struct run r;
	long i;

	open_run(&r, binary, number);
	while (now() < until &&
	    (i = __sync_fetch_and_add(&share->next, 1)) < n) {
		r.what = &scenarios[list[i].scenario];
		play(&r, list[i].who, list[i].times, list[i].at);
		if (fds[list[i].scenario] > 0 &&
		    r.fds > fds[list[i].scenario])
			wrong(&r, "%d descriptors of boris's are left open",
			    r.fds - fds[list[i].scenario]);
		if (r.wrong[0] != '\0')
			tell(&r, list[i].who, list[i].times, list[i].at);
		__sync_fetch_and_add(&share->played, 1);
	}
	close_run(&r);
	exit(0);
}

static int
play_one(char **argv)
{
	struct run r;
	int s, who = 0;

	open_run(&r, argv[0], 0);
	for (s = 0; s < SCENARIOS; s++)
		if (strcmp(scenarios[s].name, argv[1]) == 0)
			r.what = &scenarios[s];
	while (who < CLASSES - 1 && strcmp(classes[who], argv[2]) != 0)
		who++;
	if (r.what == NULL)
		return 2;
	r.show = true;
	play(&r, who, atol(argv[3]), atol(argv[4]));
	close_run(&r);
	return r.wrong[0] != '\0';
}

int
main(int argc, char **argv)
{
	struct share *share = mmap(NULL, sizeof(*share),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct point *list;
	struct run r;
	char line[2000];
	FILE *out;
	int pipes[2], fds[SCENARIOS] = { 0 }, c, seconds = 0, jobs = 4, i;
	long n, bad = 0;
	bool one = false;

	while ((c = getopt(argc, argv, "s:j:1")) != -1) {
		if (c == 's')
			seconds = atoi(optarg);
		else if (c == 'j')
			jobs = atoi(optarg);
		else if (c == '1')
			one = true;
		else
			return 2;
	}
	argv += optind;
	argc -= optind;
	if (argc < 1 || (one && argc != 5))
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	if (one)
		return play_one(argv);
	if (share == MAP_FAILED || pipe(pipes) < 0)
		die("torture");
	open_run(&r, argv[0], -1);
	list = list_points(&r, argv + 1, fds, &n);
	close_run(&r);
	if (seconds > 0)
		shuffle(list, n);
	fflush(stdout);
	for (i = 0; i < jobs; i++) {
		if (fork() > 0)
			continue;
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		dup2(pipes[1], 1);
		close(pipes[0]);
		close(pipes[1]);
		work(share, list, n, fds, argv[0], i,
		    seconds > 0 ? now() + 1000 * seconds : INT64_MAX);
	}
	close(pipes[1]);
	out = fdopen(pipes[0], "r");
	while (fgets(line, sizeof(line), out) != NULL) {
		bad++;
		fputs(line, stdout);
		fflush(stdout);
	}
	while (wait(NULL) > 0)
		;
	printf("%ld runs of %ld\n%ld passed, %ld failed\n", share->played, n,
	    share->played - bad, bad);
	return bad > 0;
}
