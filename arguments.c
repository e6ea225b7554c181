#define _POSIX_C_SOURCE 200809L

#include "arguments.h"

#include <stdlib.h>
#include <string.h>

#include "limits.h"

enum { SNIPPET = 80 };  /* bytes of a wrong value that are quoted */

const char *const tool_names[TOOLS] = { "bash", "task_output", "edit" };

#define OF_WAIT "(default of wait: " SAID(WAIT_UNTIL) ")"
#define NAME_OF " of at most " SAID(PATH_MOST) " bytes, the name of a "

/* An argument is a row: its name and type, what it should be, and what the
 * model is told of it by each tool that takes it. It makes the schemas. */
static const struct argument {
	const char *name;
	enum json_type type;
	int least;            /* of an integer */
	const char *right;    /* what it should be, beside its type */
	const char *described[TOOLS];  /* NULL: not taken */
} arguments[] = {
	{ "command", JSON_STRING, 0, " that is not blank and has no NUL "
	  "character (\\0 for printf)", { [BASH] = "What to run" } },
	{ "timeout", JSON_NUMBER, 1,
	  " of milliseconds from 1 to " SAID(TIMEOUT_MOST) " (of a task: to "
	  SAID(TASK_TIMEOUT_MOST) ", or absent for none)",
	  { [BASH] = "Milliseconds until the command is terminated, at most "
	    SAID(TIMEOUT_MOST) ". With run_in_background or tty: at most "
	    SAID(TASK_TIMEOUT_MOST) ", default none" } },
	{ "run_in_background", JSON_BOOL, 0, "",
	  { [BASH] = "true: start it as a task and return at once, or after "
	    "wait or until" } },
	{ "tty", JSON_BOOL, 0, "",
	  { [BASH] = "true: start it as a task with a terminal, for a program "
	    "that talks back" } },
	{ "input", JSON_STRING, 0, "",
	  { [BASH] = "Instead of command, with task_id: type this into the "
	    "terminal of that task (\\\\n is Enter, \\\\u0003 Ctrl-C, "
	    "\\\\u0004 end of file) and return what it then prints" } },
	{ "check_pid", JSON_NUMBER, 0, ", the pid of a background task",
	  { [BASH] = "Instead of command: look at the task of this pid" } },
	{ "kill_pid", JSON_NUMBER, 0, ", the pid of a background task",
	  { [BASH] = "Instead of command: end the task of this pid" } },
	{ "task_id", JSON_STRING, 0, ", the task_id that bash has returned",
	  { [BASH] = "The task to type into; or that of check_pid or "
	    "kill_pid, where the result of the start asks for it",
	    [TASK_OUTPUT] = "As bash has returned it" } },
	{ "wait", JSON_NUMBER, 0, " of milliseconds from 0 to " SAID(WAIT_MOST),
	  { [BASH] = "With run_in_background, tty or input: milliseconds to "
	    "wait, at most " SAID(WAIT_MOST) " (default 0; with tty or input "
	    SAID(WAIT_TERMINAL) ")",
	    [TASK_OUTPUT] = "Milliseconds to wait for its end, or with new "
	    "for new output, at most " SAID(WAIT_MOST) " (default 0)" } },
	{ "until", JSON_STRING, 0,
	  " of 1 to " SAID(UNTIL_MOST) " characters without a newline",
	  { [BASH] = "With run_in_background, tty or input: return as soon as "
	    "this text has been printed " OF_WAIT,
	    [TASK_OUTPUT] = "Wait until this text has been printed since the "
	    "last look " OF_WAIT } },
	{ "new", JSON_BOOL, 0, "",
	  { [TASK_OUTPUT] = "true: only what was printed since the last "
	    "look" } },
	{ "cwd", JSON_STRING, 0, NAME_OF "directory",
	  { [BASH] = "Directory to start in; ~ and variables are not "
	    "expanded" } },
	{ "stdin", JSON_STRING, 0, "",
	  { [BASH] = "What the command reads as standard input" } },
	{ "truncate", JSON_STRING, 0, ", \"head\", \"tail\" or \"both\"",
	  { [BASH] = "Which part of long output to return" } },
	{ "limit", JSON_NUMBER, LIMIT_LEAST,
	  " from " SAID(LIMIT_LEAST) " to " SAID(LIMIT_MOST),
	  { [BASH] = "At most so many characters of each stream are "
	    "returned" } },
	{ "description", JSON_STRING, 0, "",
	  { [BASH] = "What it is for, in a few words; shown in the list of "
	    "tasks" } },
	{ "path", JSON_STRING, 0, NAME_OF "file",
	  { [EDIT] = "The file, absolute or relative to the working "
	    "directory" } },
	{ "old", JSON_STRING, 0, " that stands in the file, not empty, and "
	  "not what new is; absent, the file is made",
	  { [EDIT] = "The text to replace, exactly as it stands there" } },
	{ "new", JSON_STRING, 0, "",
	  { [EDIT] = "What comes in its place, or the whole new file" } },
	{ "all", JSON_BOOL, 0, "",
	  { [EDIT] = "true: replace it wherever it stands" } }
};

enum {
	COMMAND, TIMEOUT, IN_BACKGROUND, TTY, INPUT, CHECK_PID, KILL_PID,
	TASK_ID, WAIT, UNTIL, NEW, CWD, STDIN, TRUNCATE, LIMIT, DESCRIPTION,
	PATH, OLD, NEW_TEXT, ALL, ARGUMENTS
};

/* A call whose arguments are being read. The functions that read return false
 * if one is wrong, and the refusal says which. */
struct reading {
	const struct tools_options *options;
	int tool;
	struct json given[ARGUMENTS];
	struct tools_call *call;
	struct buf *refusal;
	bool failed;  /* There was no memory. */
};

/* -- Refusals ---------------------------------------------------------- */

static bool
refuse(struct reading *r, const char *why)
{
	buf_puts(r->refusal, why);
	return false;
}

static bool
is_given(const struct reading *r, int argument)
{
	return r->given[argument].text != NULL;
}

/* It means nothing beside others: why says which. */
static bool
must_lack(struct reading *r, int argument, const char *why)
{
	if (!is_given(r, argument))
		return true;
	buf_puts(r->refusal, arguments[argument].name);
	return refuse(r, why);
}

static bool
must_have(struct reading *r, int argument, const char *what)
{
	if (is_given(r, argument))
		return true;
	buf_add(r->refusal, "argument \"", arguments[argument].name,
	    "\" is missing: ", what);
	return false;
}

/* The start of a value; json_string() mends a character that is cut. */
static void
put_snippet(struct buf *b, struct json value)
{
	buf_put(b, value.text, value.len < SNIPPET ? value.len : SNIPPET);
	buf_puts(b, value.len > SNIPPET ? "..." : "");
}

/* 'argument "timeout" must be X, not Y' */
static bool
wrong(struct reading *r, int argument)
{
	const struct argument *a = &arguments[argument];

	buf_add(r->refusal, "argument \"", a->name, "\" must be ",
	    a->type == JSON_BOOL ? "true or false"
	    : a->type == JSON_NUMBER ? "an integer" : "a string",
	    a->right, ", not ");
	put_snippet(r->refusal, r->given[argument]);
	return false;
}

/* -- Names and types --------------------------------------------------- */

/* What another shell's tools take, and what does it here */
static const char *const foreign[][2] = {
	{ "env", "write A=1 before the command" },
	{ "block", "give wait" }
};

/* The row of an argument that the tool takes; ARGUMENTS: it takes none of that
 * name */
static int
find_argument(struct json name, int tool)
{
	int i = 0;

	while (i < ARGUMENTS && (arguments[i].described[tool] == NULL ||
	    !json_is(name, arguments[i].name)))
		i++;
	return i;
}

/* One that the tool does not take; perhaps another does that is offered. */
static void
add_unknown(struct reading *r, struct json name)
{
	struct buf *b = r->refusal;
	size_t f;
	int other = 0;

	buf_puts(b, b->len == 0 ? "unknown argument " : ", ");
	put_snippet(b, name);
	while (other < TOOLS && (!tools_offer(r->options, other) ||
	    find_argument(name, other) == ARGUMENTS))
		other++;
	if (other < TOOLS)
		buf_add(b, ", which ", tool_names[other], " takes");
	for (f = 0; f < sizeof(foreign) / sizeof(foreign[0]); f++) {
		if (json_is(name, foreign[f][0]))
			buf_add(b, " (", foreign[f][1], ")");
	}
}

static bool
add_known(struct reading *r)
{
	const char *before = " takes ";
	int i;

	buf_add(r->refusal, "; ", tool_names[r->tool]);
	for (i = 0; i < ARGUMENTS; i++) {
		if (arguments[i].described[r->tool] != NULL) {
			buf_add(r->refusal, before, arguments[i].name);
			before = ", ";
		}
	}
	return false;
}

/* "5000" counts as 5000, and "true" as true. */
static struct json
unquoted(struct json value, enum json_type type)
{
	struct json inner;

	if (json_type(value) != JSON_STRING || value.len < 3)
		return value;
	inner = json_check(value.text + 1, value.len - 2);
	return json_type(inner) == type ? inner : value;
}

/* Does it name a task, be it by an id or a pid? */
static bool
is_handle(int i)
{
	return i == CHECK_PID || i == KILL_PID || i == TASK_ID;
}

static bool
is_right(int i, struct json value)
{
	const struct argument *a = &arguments[i];
	int64_t n = 0;
	bool integer = json_int(value, &n);

	if (is_handle(i))
		return integer || json_type(value) == JSON_STRING;
	if (a->type == JSON_NUMBER)
		return integer && n >= a->least &&
		    (i != LIMIT || n <= LIMIT_MOST);
	return json_type(value) == a->type;
}

/* Is it as if absent? So is null, and, since some clients fill in everything,
 * beside a command an empty string, a pid of 0 and a wait of 0. */
static bool
is_empty(const struct reading *r, int i)
{
	struct json value = r->given[i];
	int64_t n;

	if (json_type(value) == JSON_NULL)
		return true;
	if (!is_given(r, COMMAND) || i == COMMAND || i == STDIN)
		return false;
	return json_is(value, "") || ((is_handle(i) || i == WAIT) &&
	    json_int(value, &n) && n == 0);
}

/* Sorts the members into given[]; of equal names the last counts. One that the
 * client has `added` of its own is dropped. */
static bool
read_members(struct reading *r, struct json members, const char *added)
{
	struct json name, value;
	size_t at = 0;
	int i;

	while (json_next(members, &at, &name, &value)) {
		i = find_argument(name, r->tool);
		if (i < ARGUMENTS)
			r->given[i] = unquoted(value, arguments[i].type);
		else if (added == NULL || !json_is(name, added))
			add_unknown(r, name);
	}
	if (r->refusal->len > 0)
		return add_known(r);
	for (i = 0; i < ARGUMENTS; i++) {
		if (is_empty(r, i))
			memset(&r->given[i], 0, sizeof(r->given[i]));
		if (is_given(r, i) && !is_right(i, r->given[i]))
			return wrong(r, i);
	}
	return true;
}

/* -- Values ------------------------------------------------------------ */

/* Decodes a string; of one that is not given the buffer stays empty. */
static void
take(struct reading *r, int argument, struct buf *b)
{
	json_decode(r->given[argument], b);
	r->failed |= b->failed;
}

static bool
has(const struct buf *b, char c)
{
	return b->len > 0 && memchr(b->data, c, b->len) != NULL;
}

static bool
read_command(struct reading *r)
{
	struct buf *text = &r->call->job.text;
	size_t i = 0;

	take(r, COMMAND, text);
	while (i < text->len && strchr(" \t\n\r\v\f", text->data[i]) != NULL)
		i++;
	return text->failed || (i < text->len && !has(text, '\0')) ||
	    wrong(r, COMMAND);
}

/* The name of a directory or a file */
static bool
read_name(struct reading *r, int argument, char **name)
{
	struct buf b = { NULL, 0, 0, false };

	if (!is_given(r, argument))
		return true;
	take(r, argument, &b);
	if (!b.failed && (b.len == 0 || b.len > PATH_MOST || has(&b, '\0'))) {
		buf_free(&b);
		return wrong(r, argument);
	}
	buf_putc(&b, '\0');
	r->failed |= b.failed;
	*name = b.data;
	return true;
}

static bool
read_truncate(struct reading *r, enum truncate *truncate)
{
	static const char *const words[] = {
		[TRUNCATE_HEAD] = "head", [TRUNCATE_TAIL] = "tail",
		[TRUNCATE_BOTH] = "both"
	};
	int i = 0;

	if (!is_given(r, TRUNCATE))
		return true;
	while (i <= TRUNCATE_BOTH && !json_is(r->given[TRUNCATE], words[i]))
		i++;
	if (i > TRUNCATE_BOTH)
		return wrong(r, TRUNCATE);
	*truncate = (enum truncate)i;
	return true;
}

/* `wait` and `until` of either tool (W2, W3) */
static bool
read_wait(struct reading *r, int64_t usual)
{
	struct tools_call *call = r->call;
	struct buf *b = &call->until;

	take(r, UNTIL, b);
	if (is_given(r, UNTIL) && !b->failed && (b->len == 0 ||
	    buf_cut(b, UNTIL_MOST) < b->len || has(b, '\n')))
		return wrong(r, UNTIL);
	call->wait = is_given(r, UNTIL) ? WAIT_UNTIL : usual;
	json_int(r->given[WAIT], &call->wait);
	if (call->wait > WAIT_MOST)
		call->wait = WAIT_MOST;
	return true;
}

/* A task by its id or its pid, if one is given; a string may be either. */
static void
read_handle(struct reading *r, int argument)
{
	struct json given = r->given[argument];
	struct tools_call *call = r->call;

	if (json_type(given) == JSON_STRING)
		take(r, argument, &call->id);
	else
		json_verbatim(given, &call->id);
	r->failed |= call->id.failed;
	json_int(unquoted(given, JSON_NUMBER), &call->pid);
}

/* -- Tools ------------------------------------------------------------- */

/* What is to be run */
static bool
read_job(struct reading *r)
{
	struct job_request *job = &r->call->job;
	int64_t most = job->background ? TASK_TIMEOUT_MOST : TIMEOUT_MOST;

	if (!must_lack(r, TASK_ID, " does not go with command; to read a task "
	    "use task_output, to type into it input"))
		return false;
	if (job->terminal && !must_lack(r, STDIN, " does not go with tty; give "
	    "input with the task_id that the start returns"))
		return false;
	if (job->terminal && !json_true(r->given[IN_BACKGROUND]) &&
	    !must_lack(r, IN_BACKGROUND, ": false does not go with tty: true, "
	    "which always starts a task"))
		return false;
	if (job->background)
		job->timeout = 0;
	json_int(r->given[TIMEOUT], &job->timeout);
	job->capped = job->timeout > most;
	if (job->capped)
		job->timeout = most;
	job->has_input = is_given(r, STDIN);
	take(r, STDIN, &job->input);
	take(r, DESCRIPTION, &job->description);
	job->description.len = buf_cut(&job->description, COMMAND_SHOWN);
	buf_shrink(&job->description);
	return read_command(r) && read_name(r, CWD, &job->cwd) &&
	    read_wait(r, job->terminal ? WAIT_TERMINAL : 0);
}

/* What is to be typed (I2) */
static bool
read_input(struct reading *r)
{
	int i;

	if (!must_have(r, TASK_ID, "as the start with tty: true has "
	    "returned it"))
		return false;
	for (i = 0; i < ARGUMENTS; i++) {
		if (i != INPUT && i != TASK_ID && i != WAIT && i != UNTIL &&
		    i != DESCRIPTION && !must_lack(r, i, " does not go with "
		    "input, which takes task_id, wait, until and description"))
			return false;
	}
	r->call->action = TOOLS_TYPE;
	r->call->only_new = true;
	read_handle(r, TASK_ID);
	take(r, INPUT, &r->call->input);
	return read_wait(r, WAIT_TERMINAL);
}

/* One of four arguments says what is to be done. */
static bool
read_way(struct reading *r)
{
	static const int ways[] = { COMMAND, INPUT, CHECK_PID, KILL_PID };
	struct buf *b = r->refusal;
	int i, n = 0;

	for (i = 0; i < 4; i++) {
		if (is_given(r, ways[i]))
			buf_add(b, n++ > 0 ? " and " : "",
			    arguments[ways[i]].name);
	}
	if (n == 1) {
		buf_free(b);
		return true;
	}
	buf_add(b, n == 0 ? "none" : "", " given; give exactly one of command, "
	    "input, check_pid and kill_pid", is_given(r, TASK_ID) && n == 0
	    ? "; to read a task use task_output" : "");
	return false;
}

static bool
read_bash(struct reading *r)
{
	struct tools_call *call = r->call;
	struct job_request *job = &call->job;
	bool ends = is_given(r, KILL_PID);

	if (!read_way(r))
		return false;
	if (is_given(r, INPUT))
		return read_input(r);
	job->terminal = json_true(r->given[TTY]);
	job->background = json_true(r->given[IN_BACKGROUND]) || job->terminal;
	if ((is_given(r, WAIT) || is_given(r, UNTIL)) &&
	    !(is_given(r, COMMAND) && job->background))
		return refuse(r, "wait and until count only with "
		    "run_in_background: true, tty: true or input, or in "
		    "task_output");
	job->bounds.how = r->options->truncate;
	json_int(r->given[LIMIT], &job->bounds.limit);
	if (!read_truncate(r, &job->bounds.how))
		return false;
	if (is_given(r, COMMAND))
		return read_job(r);
	call->action = ends ? TOOLS_KILL : TOOLS_LOOK;
	call->only_new = ends;
	call->by_pid = true;
	read_handle(r, ends ? KILL_PID : CHECK_PID);
	if (is_given(r, TASK_ID)) {
		buf_free(&call->id);
		take(r, TASK_ID, &call->id);
	}
	return true;
}

static bool
read_task(struct reading *r)
{
	bool listed = !is_given(r, TASK_ID);
	int i;

	for (i = 0; i < ARGUMENTS && listed; i++) {
		if (i != WAIT && !must_lack(r, i, " counts only with task_id; "
		    "without it all tasks are listed, with wait as soon as one "
		    "has ended"))
			return false;
	}
	r->call->action = listed ? TOOLS_LIST : TOOLS_LOOK;
	r->call->only_new = json_true(r->given[NEW]);
	read_handle(r, TASK_ID);
	return read_wait(r, 0);
}

static bool
read_edit(struct reading *r)
{
	struct job_request *job = &r->call->job;
	struct edit *e = calloc(1, sizeof(*e));

	job->edit = e;
	r->failed = e == NULL;
	if (e == NULL)
		return true;
	if (!must_have(r, PATH, "the file to change") ||
	    !must_have(r, NEW_TEXT, "what comes in place of old, or \"\""))
		return false;
	if (json_is(r->given[OLD], "") ||
	    json_equal(r->given[OLD], r->given[NEW_TEXT]))
		return wrong(r, OLD);
	e->makes = !is_given(r, OLD);
	e->all = json_true(r->given[ALL]);
	take(r, OLD, &e->old);
	take(r, NEW_TEXT, &e->new);
	return read_name(r, PATH, &e->path);
}

bool
arguments_read(const struct tools_options *o, int tool, const char *added,
               struct json members, struct tools_call *call,
               struct buf *refusal)
{
	static bool (*const read[TOOLS])(struct reading *) = {
		[BASH] = read_bash, [TASK_OUTPUT] = read_task,
		[EDIT] = read_edit
	};
	struct reading r = { o, tool, { { NULL, 0 } }, call, refusal, false };

	return read_members(&r, members, added) && read[tool](&r) &&
	    (!r.failed || refuse(&r, "out of memory; try again later"));
}

void
arguments_schema(struct buf *b, int tool)
{
	const struct argument *a;
	const char *before = "";

	buf_puts(b, "\",\"inputSchema\":{\"type\":\"object\","
	    "\"properties\":{");
	for (a = arguments; a < arguments + ARGUMENTS; a++) {
		if (a->described[tool] == NULL)
			continue;
		buf_add(b, before, "\"", a->name, "\":{\"type\":\"",
		    a->type == JSON_STRING ? "string"
		    : a->type == JSON_BOOL ? "boolean" : "integer",
		    "\",\"description\":\"", a->described[tool], "\"",
		    a == &arguments[TRUNCATE]
		    ? ",\"enum\":[\"head\",\"tail\",\"both\"]}" : "}");
		before = ",";
	}
	buf_add(b, "},", tool == EDIT ? "\"required\":[\"path\",\"new\"],"
	    : "", "\"additionalProperties\":false}");
}
