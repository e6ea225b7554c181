/* libFuzzer target for mcp.c, and with it tools.c, session.c and output.c:
 *
 *     clang -fsanitize=fuzzer,address,undefined t/fuzz_mcp.c mcp.c \
 *         calls.c tools.c results.c session.c output.c spool.c json.c io.c
 *
 * The first byte says how boris was started; what follows is lines. Commands
 * are not run and files not edited: the functions of exec.h and edit.h are here,
 * and what a command does is read from its text. Time passes at blank lines, and as fast as it may. What
 * stands in a line for what only boris knows: \001 the last task's id; and at
 * its head \002 or \003: the peer of the line before goes away (mcp_forget).
 *
 * Whatever comes in: what goes out is JSON on one line; it has jsonrpc; every
 * request is answered once, under its own id, with either a result or an error,
 * at its own address; nothing else is answered; and everything ends. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../edit.h"
#include "../exec.h"
#include "../guard.h"
#include "../mcp.h"
#include "../proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	LINES = 300,      /* of one input; the rest is not looked at */
	TURNS = 100000,   /* in which all must have come to its end */
	FIRST_PID = 1000
};

/* Requests with one id, as boris writes it */
struct asked {
	struct buf id;
	int requests, answers;
	bool maybe;       /* cancelled, or its peer is gone: perhaps no answer */
};

struct peer {
	int answers;      /* that went to it */
	bool gone;
};

static struct fuzz {
	struct client *client;
	struct loop loop;
	struct asked asked[LINES * 4];
	int ids;
	struct peer peer[LINES];
	int lines;
	int nulls, null_answers;  /* errors about what bears no id */
	bool no_null;     /* no "id":null in errors */
	bool http;        /* each line has an address of its own */
	bool slow;        /* progress is refused */
	bool gone;        /* a peer has: what it asked is answered to NULL */
	pid_t pid;
	int randoms;
	char task[JOB_ID];
} f;

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz_mcp: %s\n", what);
	abort();
}

/* -- Commands that do not run (exec.h) --------------------------------- */

struct exec {
	struct exec *next;
	struct exec_report *report;
	int turns, looks;
	int64_t deadline, printed;
	struct output *out, *err;
	struct buf text, input;
	bool terminal;
};

static bool
said(const struct exec *x, char c)
{
	return x->text.len > 0 && memchr(x->text.data, c, x->text.len) != NULL;
}

/* Where a command "cd " REST ends: /REST */
static void
change_dir(struct exec *x)
{
	size_t n = x->text.len;

	if (n < 4 || memcmp(x->text.data, "cd ", 3) != 0)
		return;
	x->report->dir = malloc(n - 1);
	must(x->report->dir != NULL, "memory");
	x->report->dir[0] = '/';
	memcpy(x->report->dir + 1, x->text.data + 3, n - 3);
	x->report->dir[n - 2] = '\0';
}

/* What comes of it is as long as `new` is. */
void
edit_run(struct edit *e, struct guard *guard, const char *name)
{
	(void)guard, (void)name;
	must(e->path[0] == '/' && (e->makes || e->old.len > 0), "an edit");
	e->outcome = (enum edit_outcome)(e->new.len % (EDIT_BROKEN + 1));
	e->error = ENOENT;
	e->count = e->makes ? 0 : (int64_t)e->new.len;
	buf_put(&e->shown, e->old.data, e->old.len);
}

void
edit_free(struct edit *e)
{
	if (e == NULL)
		return;
	free(e->path);
	buf_free(&e->old);
	buf_free(&e->new);
	buf_free(&e->shown);
	free(e);
}

void
proc_prepare(bool visible)
{
	(void)visible;
}

bool
proc_random(char *hex, size_t n)
{
	memset(hex, '0', 2 * n);
	sprintf(hex + 2 * n - 8, "%08x", (unsigned)++f.randoms);
	return true;
}

struct exec *
exec_start(struct exec_list *list, struct exec_command *c,
           struct exec_report *report, struct output *out, struct output *err,
           int64_t now)
{
	struct exec *x;

	(void)now;
	memset(report, 0, sizeof(*report));
	must(memchr(c->text, '\0', c->len) == NULL, "a NUL in a command");
	must(c->dir[0] == '/', "a directory that is not absolute");
	c->no_terminal = c->terminal && c->text[0] == 'S';
	if (c->text[0] == 'D' || c->text[0] == 'S') {
		errno = c->text[0] == 'D' ? ENOENT : EAGAIN;
		return NULL;
	}
	x = calloc(1, sizeof(*x));
	must(x != NULL, "memory");
	x->report = report;
	x->report->pid = ++f.pid;
	x->deadline = NEVER;
	x->out = out;
	x->err = err;
	x->terminal = c->terminal;
	x->turns = c->text[0] >= '0' && c->text[0] <= '9'
	    ? c->text[0] - '0' : 1;
	buf_put(&x->text, c->text, c->len);
	if (c->input != NULL) {
		x->input = *c->input;
		memset(c->input, 0, sizeof(*c->input));
	}
	x->next = list->first;
	list->first = x;
	return x;
}

/* Prints, and has ended: unless there is a `!` in it, which goes on, or an `&`,
 * of which something is left running, up to the third turn. A terminal prints
 * what was typed, three bytes a turn, and goes on until that is an `x`. */
static void
go_on(struct exec *x, int64_t now)
{
	struct exec_report *r = x->report;
	size_t n;

	if (x->terminal && r->state == EXEC_RUNNING && x->input.len > 0) {
		n = x->input.len < 3 ? x->input.len : 3;
		output_write(x->out, x->input.data, n);
		x->turns = memchr(x->input.data, 'x', n) != NULL ? 0 : 1;
		x->printed = now;
		buf_drop(&x->input, n);
		return;
	}
	if (x->terminal && r->state == EXEC_RUNNING && x->turns > 0) {
		if (x->printed == 0)
			output_write(x->out, x->text.data, x->text.len);
		x->printed = now;
		return;
	}
	if (r->state == EXEC_RUNNING && x->turns-- > 0) {
		output_write(x->out, x->text.data, x->text.len);
		if (x->input.len > 0)
			output_write(x->err, x->input.data, x->input.len);
		return;
	}
	if (r->state == EXEC_LEFT && ++x->looks >= 3)
		r->state = EXEC_GONE;
	if ((r->state == EXEC_RUNNING && said(x, '!')) ||
	    (r->state == EXEC_STOPPING && said(x, '~') && now < x->deadline) ||
	    r->ended)
		return;
	if (r->state == EXEC_RUNNING)
		change_dir(x);
	r->status = r->state == EXEC_RUNNING ? 0 : 128 + 15;
	r->orphans = said(x, '&') && r->state == EXEC_RUNNING;
	r->shell_ended = r->ended = true;
	r->state = r->orphans ? EXEC_LEFT : EXEC_GONE;
	x->deadline = NEVER;
}

void
exec_dispatch(struct exec_list *list, const struct loop *loop)
{
	struct exec *x;

	for (x = list->first; x != NULL; x = x->next)
		go_on(x, loop->now);
}

void
exec_read(struct exec *x, int64_t now)
{
	x->printed = now;
	if (x->report->state == EXEC_RUNNING)
		output_write(x->out, "+", 1);
}

void
exec_poll_add(struct exec_list *list, struct loop *loop)
{
	const struct exec *x;

	for (x = list->first; x != NULL; x = x->next) {
		if (x->report->state == EXEC_RUNNING && x->input.len == 0 &&
		    x->terminal)
			continue;
		if (x->report->state == EXEC_RUNNING &&
		    (x->turns >= 0 || !said(x, '!')))
			loop_until(loop, loop->now + 7);
		if (x->report->state == EXEC_KILLED ||
		    x->report->state == EXEC_LEFT)
			loop_until(loop, loop->now);
		loop_until(loop, x->deadline);
	}
}

int
exec_type(struct exec *x, const struct buf *text, int64_t now, bool *echoed)
{
	(void)now;
	must(x->terminal, "typed where there is no terminal");
	errno = said(x, 'E') ? EPIPE : E2BIG;
	if (said(x, 'E') || text->len > 4095)
		return -1;
	*echoed = !said(x, 's');
	buf_put(&x->input, text->data, text->len);
	return 0;
}

bool
exec_reads_keys(const struct exec *x)
{
	return said(x, 'K');
}

struct exec_prompt
exec_prompts(struct exec *x, int64_t now)
{
	struct exec_prompt p = { TERMINAL_BUSY, false, false, 0, NEVER };

	if (x->terminal && said(x, 'A')) {
		p.state = said(x, 'K') ? TERMINAL_PROMPTS : TERMINAL_MAY_PROMPT;
		p.since = now;
	}
	return p;
}

/* None asks for a secret: that would make files. */
struct exec_prompt
exec_asks_secret(struct exec *x, bool fresh, int64_t now)
{
	(void)fresh;
	return exec_prompts(x, now);
}

int
exec_type_unseen(struct exec *x, const char *line, size_t n, int64_t now)
{
	(void)x, (void)line, (void)n, (void)now;
	return -1;
}

void
exec_stop(struct exec *x, int64_t now)
{
	if (x->report->ended)
		x->report->state = EXEC_GONE;
	else if (x->report->state == EXEC_RUNNING) {
		x->report->state = EXEC_STOPPING;
		x->deadline = said(x, '~') ? now + 5000 : now;
	}
}

void
exec_share(const struct exec *x)
{
	(void)x;
}

void
exec_free(struct exec_list *list, struct exec *x)
{
	struct exec **at = &list->first;

	if (x == NULL)
		return;
	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	buf_free(&x->input);
	buf_free(&x->text);
	free(x);
}

/* -- What may come in -------------------------------------------------- */

static void
expect(struct json id)
{
	struct buf text = { NULL, 0, 0, false };
	int i;

	json_verbatim(id, &text);
	for (i = 0; i < f.ids; i++) {
		if (f.asked[i].id.len == text.len &&
		    memcmp(f.asked[i].id.data, text.data, text.len) == 0)
			break;
	}
	if (i == f.ids) {
		f.asked[f.ids++].id = text;
		memset(&text, 0, sizeof(text));
	}
	f.asked[i].requests++;
	buf_free(&text);
}

static struct json
slice(const struct buf *b)
{
	struct json j;

	j.text = b->data;
	j.len = b->len;
	return j;
}

static void
forgive(struct json id)
{
	int i;

	for (i = 0; i < f.ids; i++) {
		if (json_equal(slice(&f.asked[i].id), id))
			f.asked[i].maybe = true;
	}
}

/* Looks at a message as boris has to. 1: it is a request. */
static int
look_at(struct json message)
{
	static const char *const names[] = {
		"jsonrpc", "id", "method", "params", "result", "error"
	};
	struct json m[6];
	enum json_type id;

	json_members(message, names, m, 6);
	if (m[2].text == NULL && (m[4].text != NULL || m[5].text != NULL))
		return 0;
	id = json_type(m[1]);
	if (id == JSON_STRING || id == JSON_NUMBER) {
		expect(m[1]);
		return 1;
	}
	if (json_type(message) == JSON_OBJECT && id == JSON_NONE &&
	    json_is(m[0], "2.0") && json_type(m[2]) == JSON_STRING) {
		if (json_is(m[2], "notifications/cancelled"))
			forgive(json_get(m[3], "requestId"));
		return 0;
	}
	f.nulls++;
	return 0;
}

/* How many requests the line holds; -1: it is a batch */
static int
look_at_line(const char *text, size_t len)
{
	const char *version = mcp_version(f.client);
	struct json line = json_check(text, len), element;
	size_t at = 0;

	if (json_type(line) != JSON_ARRAY && line.text != NULL)
		return look_at(line);
	if (line.text == NULL || version == NULL ||
	    strcmp(version, "2025-03-26") != 0 ||
	    !json_next(line, &at, NULL, &element)) {
		f.nulls++;
		return 0;
	}
	do {
		if (f.ids > LINES)
			return 1;  /* more than is kept of: see send_line() */
		look_at(element);
	} while (json_next(line, &at, NULL, &element));
	return -1;
}

/* -- What may go out --------------------------------------------------- */

static void
check_notice(struct json message, enum mcp_kind kind)
{
	struct json params = json_get(message, "params");

	must(kind == MCP_NOTICE || kind == MCP_PROGRESS,
	    "a notification sent as a response");
	must(json_type(params) == JSON_OBJECT, "a notification's params");
	if (kind != MCP_PROGRESS)
		return;
	must(json_is(json_get(message, "method"), "notifications/progress"),
	    "progress");
	must(json_type(json_get(params, "progressToken")) != JSON_NONE &&
	    json_type(json_get(params, "message")) == JSON_STRING &&
	    json_type(json_get(params, "progress")) == JSON_NUMBER,
	    "progress is not whole");
}

static void
check_result(struct json result)
{
	struct json content = json_get(result, "content"), block, id;
	size_t at = 0;

	must(json_type(result) == JSON_OBJECT, "a result that is no object");
	if (content.text == NULL)
		return;
	must(json_type(content) == JSON_ARRAY &&
	    json_next(content, &at, NULL, &block) &&
	    json_is(json_get(block, "type"), "text") &&
	    json_type(json_get(block, "text")) == JSON_STRING &&
	    json_type(json_get(result, "isError")) == JSON_BOOL,
	    "a call's result");
	id = json_get(json_get(result, "structuredContent"), "task_id");
	if (id.len == JOB_ID + 1)
		memcpy(f.task, id.text + 1, JOB_ID - 1);
}

static void
check_response(struct json message, int error)
{
	struct json id = json_get(message, "id");
	struct json result = json_get(message, "result");
	struct json fault = json_get(message, "error");
	int64_t code = 0;
	int i;

	must((result.text != NULL) != (fault.text != NULL),
	    "either a result or an error");
	if (result.text != NULL) {
		check_result(result);
	} else {
		must(json_int(json_get(fault, "code"), &code) &&
		    json_type(json_get(fault, "message")) == JSON_STRING,
		    "an error's code and message");
	}
	must(error == 0 || error == code, "the code that was told");
	if (id.text == NULL || json_type(id) == JSON_NULL) {
		must(fault.text != NULL, "a result without an id");
		must((id.text == NULL) == f.no_null, "id: null");
		must(++f.null_answers <= f.nulls, "an error for nothing");
		return;
	}
	for (i = 0; i < f.ids; i++) {
		if (f.asked[i].id.len == id.len &&
		    memcmp(f.asked[i].id.data, id.text, id.len) == 0)
			break;
	}
	must(i < f.ids, "an answer to what was not asked");
	must(++f.asked[i].answers <= f.asked[i].requests,
	    "a second answer to one request");
}

static bool
take_message(void *transport, void *to, enum mcp_kind kind, int error,
             struct buf *message)
{
	struct json whole = json_check(message->data, message->len), element;
	size_t at = 0;

	must(transport == &f, "the transport");
	must(!message->failed && whole.text != NULL, "JSON");
	must(memchr(message->data, '\n', message->len) == NULL &&
	    whole.len == message->len, "one line");
	must(f.http || to == NULL, "whose answer it is");
	must(to != NULL || !f.http || f.gone, "nobody has gone");
	if (to != NULL) {
		must(!((struct peer *)to)->gone, "to one who has gone");
		((struct peer *)to)->answers += kind != MCP_NOTICE &&
		    kind != MCP_PROGRESS;
	}
	if (json_type(whole) == JSON_ARRAY) {
		must(kind == MCP_RESPONSE && whole.len > 2, "a batch");
		while (json_next(whole, &at, NULL, &element)) {
			must(json_is(json_get(element, "jsonrpc"), "2.0"),
			    "jsonrpc");
			check_response(element, 0);
		}
		return true;
	}
	must(json_is(json_get(whole, "jsonrpc"), "2.0"), "jsonrpc");
	if (json_get(whole, "method").text != NULL)
		check_notice(whole, kind);
	else
		check_response(whole, error);
	return kind != MCP_PROGRESS || !f.slow;
}

/* -- One input --------------------------------------------------------- */

/* A turn of the loop, without waiting */
static void
turn(void)
{
	loop_begin(&f.loop);
	mcp_poll_add(f.client, &f.loop);
	if (f.loop.until == NEVER)
		f.loop.now++;
	else if (f.loop.until > f.loop.now)
		f.loop.now = f.loop.until;
	mcp_dispatch(f.client, &f.loop);
}

static void
forget(bool cancel)
{
	struct peer *peer;
	int i;

	if (f.lines == 0 || !f.http)
		return;
	peer = &f.peer[f.lines - 1];
	mcp_forget(f.client, peer, cancel, f.loop.now);
	peer->gone = f.gone = true;
	for (i = 0; i < f.ids; i++)
		f.asked[i].maybe = true;
}

static void
send_line(const char *text, size_t len)
{
	struct peer *peer = &f.peer[f.lines];
	int requests, nulls = f.nulls;
	struct mcp_message m;
	bool later;

	if (f.lines == LINES)
		return;
	requests = look_at_line(text, len);
	if (f.ids > LINES)
		return;
	f.lines++;
	mcp_parse(&m, text, len);
	later = mcp_handle(f.client, f.http ? peer : NULL, &m,
	    f.loop.now) == MCP_LATER;
	if (!f.http || requests < 0)
		return;
	must(peer->answers == (later ? 0 : requests + f.nulls - nulls),
	    "an answer now, or one that is to come");
}

/* The line with what only boris knows put in */
static void
take_line(const char *text, size_t len)
{
	struct buf b = { NULL, 0, 0, false };
	size_t i;

	if (len > 0 && (*text == 2 || *text == 3)) {
		forget(*text == 3);
		text++, len--;
	}
	if (len == 0) {
		turn();
		return;
	}
	for (i = 0; i < len; i++) {
		if (text[i] == 1)
			buf_puts(&b, f.task);
		else
			buf_putc(&b, text[i]);
	}
	/* A copy of just that size: who reads past its end is seen. */
	if (b.len > 0)
		send_line(b.data, b.len);
	buf_free(&b);
}

static void
end(void)
{
	int i;

	for (i = 0; mcp_unanswered(f.client); i++) {
		must(i < TURNS, "never answered");
		turn();
	}
	mcp_close(f.client, f.loop.now);
	for (i = 0; !mcp_closed(f.client); i++) {
		must(i < TURNS, "never closed");
		turn();
	}
	for (i = 0; i < f.ids; i++)
		must(f.asked[i].maybe ||
		    f.asked[i].answers == f.asked[i].requests, "no answer");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *env[] = { "PWD=/", NULL };
	struct mcp_options options;
	enum mcp_peer peer;
	const char *p = (const char *)data + 1, *newline;
	size_t left = size - 1, n;
	int i;

	if (size == 0)
		return 0;
	memset(&f, 0, sizeof(f));
	memset(&options, 0, sizeof(options));
	options.session.shell = "/bin/sh";
	options.session.workdir = options.session.tmpdir = "/";
	options.session.env[0] = options.session.env[1] =
	    options.session.env[2] = env;
	options.session.name = "0123456789abcdef";
	options.session.bg_timeout = data[0] & 1 ? 30000 : 0;
	options.session.background = (data[0] & 2) != 0;
	options.tools.background = options.session.background;
	options.tools.bash = (data[0] & 60) != 60;
	options.tools.edit = (data[0] & 8) != 0;
	options.structured = data[0] & 4 ? MCP_DATA_OFF : MCP_DATA_AUTO;
	options.tools.timeout = 120000;
	options.tools.truncate = (enum truncate)((data[0] & 8) != 0);
	f.slow = (data[0] & 16) != 0;
	f.pid = FIRST_PID;
	f.loop.now = 1;
	f.no_null = (data[0] & 64) != 0;
	f.http = f.no_null || (data[0] & 32) != 0;
	peer = !f.no_null ? MCP_STDIO
	    : (data[0] & 128) != 0 ? MCP_HTTP : MCP_HTTP_STATELESS;
	f.client = mcp_open(&options, peer, take_message, &f);
	must(f.client != NULL, "memory");
	while (left > 0) {
		newline = memchr(p, '\n', left);
		n = newline != NULL ? (size_t)(newline - p) : left;
		take_line(p, n);
		n += newline != NULL;
		p += n;
		left -= n;
	}
	end();
	mcp_free(f.client);
	loop_free(&f.loop);
	for (i = 0; i < f.ids; i++)
		buf_free(&f.asked[i].id);
	return 0;
}
