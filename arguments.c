#define _POSIX_C_SOURCE 200809L

#include "arguments.h"

#include <string.h>

#include "limits.h"

enum { SNIPPET = 80 };  /* bytes of a wrong value that are quoted */

const char *const tool_names[TOOLS] = { "bash", "task_output", "edit" };

#define BOOLEAN "true or false"
#define MILLISECONDS "an integer number of milliseconds from "
#define OF_WAIT "(default of wait: " SAID(WAIT_UNTIL) ")"

/* An argument is a row: its name and type, what it should be, and what the
 * model is told of it by each tool that takes it. It makes the schemas. */
static const struct argument {
	const char *name;
	enum json_type type;
	int64_t least, most;  /* of an integer */
	const char *right;    /* what it should be */
	const char *described[TOOLS];  /* NULL: not taken */
} arguments[] = {
	{ "command", JSON_STRING, 0, 0, "a string, the command to run",
	  { [BASH] = "What to run" } },
	{ "timeout", JSON_NUMBER, 1, INT64_MAX,
	  MILLISECONDS "1 to " SAID(TIMEOUT_MOST) " (of a task: to "
	  SAID(TASK_TIMEOUT_MOST) ", or absent for none)",
	  { [BASH] = "Milliseconds until the command is terminated, at most "
	    SAID(TIMEOUT_MOST) ". With run_in_background or tty: at most "
	    SAID(TASK_TIMEOUT_MOST) ", default none" } },
	{ "run_in_background", JSON_BOOL, 0, 0, BOOLEAN,
	  { [BASH] = "true: start it as a task and return at once, or after "
	    "wait or until. For servers, watchers and long jobs" } },
	{ "tty", JSON_BOOL, 0, 0, BOOLEAN,
	  { [BASH] = "true: start it as a task with a terminal, for programs "
	    "that ask: a REPL, gdb, ssh, a password. Returns when it waits "
	    "for input" } },
	{ "input", JSON_STRING, 0, 0, "a string, what to type",
	  { [BASH] = "Instead of command, with task_id: type this into the "
	    "terminal of that task (\\\\n is Enter, \\\\u0003 Ctrl-C, "
	    "\\\\u0004 end of file) and return what it then prints" } },
	{ "check_pid", JSON_NUMBER, INT64_MIN, INT64_MAX,
	  "an integer, the pid of a background task",
	  { [BASH] = "Instead of command: look at the task of this pid, as "
	    "returned by run_in_background" } },
	{ "kill_pid", JSON_NUMBER, INT64_MIN, INT64_MAX,
	  "an integer, the pid of a background task",
	  { [BASH] = "Instead of command: end the task of this pid" } },
	{ "task_id", JSON_STRING, 0, 0,
	  "a string, the task_id that bash has returned",
	  { [BASH] = "The task to type into; or that of check_pid or "
	    "kill_pid, where the result of the start asks for it",
	    [TASK_OUTPUT] = "As bash has returned it" } },
	{ "wait", JSON_NUMBER, 0, INT64_MAX,
	  MILLISECONDS "0 to " SAID(WAIT_MOST),
	  { [BASH] = "With run_in_background, tty or input: milliseconds to "
	    "wait, at most " SAID(WAIT_MOST) " (default 0; with tty or input "
	    SAID(WAIT_TERMINAL) ")",
	    [TASK_OUTPUT] = "Milliseconds to wait for its end, or with new "
	    "for new output, at most " SAID(WAIT_MOST) " (default 0)" } },
	{ "until", JSON_STRING, 0, 0,
	  "a string of 1 to " SAID(UNTIL_MOST) " characters without a newline",
	  { [BASH] = "With run_in_background, tty or input: return as soon as "
	    "this text has been printed " OF_WAIT,
	    [TASK_OUTPUT] = "Wait until this text has been printed since the "
	    "last look " OF_WAIT } },
	{ "new", JSON_BOOL, 0, 0, BOOLEAN,
	  { [TASK_OUTPUT] = "true: only what was printed since the last "
	    "look" } },
	{ "cwd", JSON_STRING, 0, 0, "the name of a directory, absolute or "
	  "relative to the working directory, of at most " SAID(CWD_MOST)
	  " bytes",
	  { [BASH] = "Directory to start in; a foreground command then moves "
	    "the working directory as cd would. ~ and variables are not "
	    "expanded" } },
	{ "stdin", JSON_STRING, 0, 0, "a string, what the command reads",
	  { [BASH] = "What the command reads as standard input; else it is "
	    "empty" } },
	{ "truncate", JSON_STRING, 0, 0, "\"head\", \"tail\" or \"both\"",
	  { [BASH] = "Which part of long output to return" } },
	{ "limit", JSON_NUMBER, LIMIT_LEAST, LIMIT_MOST,
	  "an integer from " SAID(LIMIT_LEAST) " to " SAID(LIMIT_MOST),
	  { [BASH] = "At most so many characters of each stream are "
	    "returned; 2000 is enough for most builds and tests" } },
	{ "description", JSON_STRING, 0, 0, "a string",
	  { [BASH] = "What it is for, in a few words; shown in the list of "
	    "tasks" } },
	{ "path", JSON_STRING, 0, 0, "the name of a file, absolute or relative "
	  "to the working directory, of at most " SAID(CWD_MOST) " bytes",
	  { [EDIT] = "The file, absolute or relative to the working "
	    "directory" } },
	{ "old", JSON_STRING, 0, 0, "a text that stands in the file, not empty, "
	  "and not what new is; absent, the file is made",
	  { [EDIT] = "The text to replace, exactly as it stands there. Absent: "
	    "make the file" } },
	{ "new", JSON_STRING, 0, 0, "a string, what comes in its place",
	  { [EDIT] = "What comes in its place, or the whole new file" } },
	{ "all", JSON_BOOL, 0, 0, BOOLEAN,
	  { [EDIT] = "true: replace it wherever it stands" } }
};

enum {
	COMMAND, TIMEOUT, IN_BACKGROUND, TTY, INPUT, CHECK_PID, KILL_PID,
	TASK_ID, WAIT, UNTIL, NEW, CWD, STDIN, TRUNCATE, LIMIT, DESCRIPTION,
	PATH, OLD, NEW_TEXT, ALL, ARGUMENTS
};

/* -- Arguments --------------------------------------------------------- */

/* The start of a value; json_string() mends a character that is cut. */
static void
put_snippet(struct buf *b, struct json value)
{
	buf_put(b, value.text, value.len < SNIPPET ? value.len : SNIPPET);
	buf_puts(b, value.len > SNIPPET ? "..." : "");
}

/* 'argument "timeout" must be X, not Y' */
static bool
wrong(struct buf *b, int argument, struct json value)
{
	const struct argument *a = &arguments[argument];

	buf_add(b, "argument \"", a->name, "\" must be ", a->right, ", not ");
	put_snippet(b, value);
	return false;
}

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
add_unknown(struct buf *b, const struct tools_options *o, struct json name)
{
	size_t f;
	int other = 0;

	buf_puts(b, b->len == 0 ? "unknown argument " : ", ");
	put_snippet(b, name);
	while (other < TOOLS && (!tools_offer(o, other) ||
	    find_argument(name, other) == ARGUMENTS))
		other++;
	if (other < TOOLS)
		buf_add(b, ", which ", tool_names[other], " takes");
	for (f = 0; f < sizeof(foreign) / sizeof(foreign[0]); f++) {
		if (json_is(name, foreign[f][0]))
			buf_add(b, " (", foreign[f][1], ")");
	}
}

static void
add_known(struct buf *b, int tool)
{
	const char *before = " takes ";
	int i;

	buf_add(b, "; ", tool_names[tool]);
	for (i = 0; i < ARGUMENTS; i++) {
		if (arguments[i].described[tool] != NULL) {
			buf_add(b, before, arguments[i].name);
			before = ", ";
		}
	}
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

/* A task is named by its id or its pid, wherever one of them is asked for. */
static bool
is_right(int i, struct json value)
{
	const struct argument *a = &arguments[i];
	int64_t n;

	if ((i == CHECK_PID || i == KILL_PID || i == TASK_ID) &&
	    json_type(value) == JSON_STRING)
		return true;
	if (i == TASK_ID)
		return json_int(value, &n);
	if (json_type(value) != a->type)
		return false;
	return a->type != JSON_NUMBER ||
	    (json_int(value, &n) && n >= a->least && n <= a->most);
}

/* Some clients fill in everything: beside a command an empty string, a pid of 0
 * and a wait of 0 count as absent. */
static void
drop_empty(struct json given[])
{
	int64_t n;
	int i;

	for (i = 0; i < ARGUMENTS && given[COMMAND].text != NULL; i++) {
		if (i != COMMAND && i != STDIN &&
		    (json_is(given[i], "") || ((i == CHECK_PID ||
		    i == KILL_PID || i == TASK_ID || i == WAIT) &&
		    json_int(given[i], &n) && n == 0)))
			memset(&given[i], 0, sizeof(given[i]));
	}
}

/* Sorts the members into given[]; of equal names the last counts, null is as if
 * absent, and what the client has added of its own is dropped. False: one is
 * wrong, and the refusal says which. So it is with all functions below. */
static bool
read_arguments(const struct tools_options *o, struct json members, int tool,
               const char *added, struct json given[], struct buf *refusal)
{
	struct json name, value;
	size_t at = 0;
	int i;

	memset(given, 0, ARGUMENTS * sizeof(*given));
	while (json_next(members, &at, &name, &value)) {
		i = find_argument(name, tool);
		if (i < ARGUMENTS)
			given[i] = unquoted(value, arguments[i].type);
		else if (added == NULL || !json_is(name, added))
			add_unknown(refusal, o, name);
	}
	if (refusal->len > 0) {
		add_known(refusal, tool);
		return false;
	}
	for (i = 0; i < ARGUMENTS; i++) {
		if (json_type(given[i]) == JSON_NULL)
			memset(&given[i], 0, sizeof(given[i]));
	}
	drop_empty(given);
	for (i = 0; i < ARGUMENTS; i++) {
		if (given[i].text != NULL && !is_right(i, given[i]))
			return wrong(refusal, i, given[i]);
	}
	return true;
}

static bool
refuse(struct buf *refusal, const char *why)
{
	buf_puts(refusal, why);
	return false;
}

static bool
has(const struct buf *b, char c)
{
	return b->len > 0 && memchr(b->data, c, b->len) != NULL;
}

static bool
read_command(struct json given, struct buf *text, struct buf *refusal)
{
	size_t i = 0;

	json_decode(given, text);
	if (has(text, '\0'))
		return refuse(refusal, "argument \"command\" contains a NUL "
		    "character (\\u0000), which no shell command can; "
		    "write it as \\0 for printf, or pass it in a file");
	while (i < text->len && strchr(" \t\n\r\v\f", text->data[i]) != NULL)
		i++;
	return i < text->len || text->failed ||
	    refuse(refusal, "argument \"command\" is blank; it must be "
	    "a command to run, such as \"ls -l\"");
}

/* The name of a directory or a file */
static bool
read_name(const struct json given[], int i, struct job_request *job,
          char **name, struct buf *refusal)
{
	struct buf b = { NULL, 0, 0, false };

	if (given[i].text == NULL)
		return true;
	json_decode(given[i], &b);
	if (!b.failed && (b.len == 0 || b.len > CWD_MOST || has(&b, '\0'))) {
		buf_free(&b);
		wrong(refusal, i, given[i]);
		return refuse(refusal, "; nothing was done");
	}
	buf_putc(&b, '\0');
	*name = b.data;
	job->text.failed = job->text.failed || b.failed;
	return true;
}

static bool
read_truncate(struct json given, enum truncate *truncate, struct buf *refusal)
{
	if (json_is(given, "head"))
		*truncate = TRUNCATE_HEAD;
	else if (json_is(given, "tail"))
		*truncate = TRUNCATE_TAIL;
	else if (json_is(given, "both"))
		*truncate = TRUNCATE_BOTH;
	else if (given.text != NULL)
		return wrong(refusal, TRUNCATE, given);
	return true;
}

/* `wait` and `until` of either tool (W2, W3) */
static bool
read_wait(const struct json given[], struct tools_call *call, int64_t usual,
          struct buf *refusal)
{
	struct buf *b = &call->until;

	json_decode(given[UNTIL], b);
	if (given[UNTIL].text != NULL && !b->failed && (b->len == 0 ||
	    buf_cut(b, UNTIL_MOST) < b->len || has(b, '\n')))
		return wrong(refusal, UNTIL, given[UNTIL]);
	call->wait = given[UNTIL].text != NULL ? WAIT_UNTIL : usual;
	json_int(given[WAIT], &call->wait);
	if (call->wait > WAIT_MOST)
		call->wait = WAIT_MOST;
	return true;
}

/* What is to be run */
static bool
read_job(const struct json given[], struct job_request *job,
         struct buf *refusal)
{
	int64_t most = job->background ? TASK_TIMEOUT_MOST : TIMEOUT_MOST;

	if (given[TASK_ID].text != NULL)
		return refuse(refusal, "task_id does not go with command; to "
		    "read a task use task_output, to type into it input");
	if (job->terminal && given[STDIN].text != NULL)
		return refuse(refusal, "stdin does not go with tty; give "
		    "input with the task_id that the start returns");
	if (job->terminal && given[IN_BACKGROUND].text != NULL &&
	    !json_true(given[IN_BACKGROUND]))
		return refuse(refusal, "run_in_background: false does not go "
		    "with tty: true, which always starts a task");
	if (job->background)
		job->timeout = 0;
	json_int(given[TIMEOUT], &job->timeout);
	job->capped = job->timeout > most;
	if (job->capped)
		job->timeout = most;
	job->has_input = given[STDIN].text != NULL;
	json_decode(given[STDIN], &job->input);
	json_decode(given[DESCRIPTION], &job->description);
	job->description.len = buf_cut(&job->description, COMMAND_SHOWN);
	buf_shrink(&job->description);
	return read_command(given[COMMAND], &job->text, refusal) &&
	    read_name(given, CWD, job, &job->cwd, refusal);
}

/* A task by its id or its pid; a string may be either. */
static void
read_handle(struct json given, struct tools_call *call)
{
	buf_free(&call->id);
	if (json_type(given) == JSON_STRING)
		json_decode(given, &call->id);
	else
		json_verbatim(given, &call->id);
	given = unquoted(given, JSON_NUMBER);
	call->pid = 0;
	json_int(given, &call->pid);
}

/* What is to be typed (I2) */
static bool
read_input(const struct json given[], struct tools_call *call,
           struct buf *refusal)
{
	int i;

	if (given[TASK_ID].text == NULL)
		return refuse(refusal, "argument \"task_id\" is missing: "
		    "input is typed into that task, as the start with tty: "
		    "true has returned it");
	for (i = 0; i < ARGUMENTS; i++) {
		if (given[i].text == NULL || i == INPUT || i == TASK_ID ||
		    i == WAIT || i == UNTIL || i == DESCRIPTION)
			continue;
		buf_add(refusal, arguments[i].name, " does not go with input, "
		    "which takes task_id, wait, until and description");
		return false;
	}
	call->action = TOOLS_TYPE;
	call->only_new = true;
	read_handle(given[TASK_ID], call);
	json_decode(given[INPUT], &call->input);
	return read_wait(given, call, WAIT_TERMINAL, refusal);
}

static bool
read_bash(const struct tools_options *o, const struct json given[],
          struct tools_call *call, struct buf *refusal)
{
	static const int ways[] = { COMMAND, INPUT, CHECK_PID, KILL_PID };
	const char *before = "too many of command, input, check_pid and "
	    "kill_pid: ";
	int i, n = 0;

	for (i = 0; i < 4; i++)
		n += given[ways[i]].text != NULL;
	for (i = 0; i < 4 && n > 1; i++) {
		if (given[ways[i]].text == NULL)
			continue;
		buf_add(refusal, before, arguments[ways[i]].name);
		before = " and ";
	}
	if (n > 1)
		return refuse(refusal, " were given; give exactly one");
	if (n == 0)
		return refuse(refusal, given[TASK_ID].text != NULL
		    ? "argument \"command\" is missing: task_id counts only "
		    "with input, check_pid or kill_pid; to read a task use "
		    "task_output"
		    : "argument \"command\" is missing: exactly one of "
		    "command, input, check_pid and kill_pid is required");
	if (given[INPUT].text != NULL)
		return read_input(given, call, refusal);
	call->job.terminal = json_true(given[TTY]);
	call->job.background = json_true(given[IN_BACKGROUND]) ||
	    call->job.terminal;
	if ((given[WAIT].text != NULL || given[UNTIL].text != NULL) &&
	    !(given[COMMAND].text != NULL && call->job.background))
		return refuse(refusal, "wait and until count only with "
		    "command and run_in_background: true or tty: true, with "
		    "input, or in task_output");
	call->job.bounds.how = o->truncate;
	json_int(given[LIMIT], &call->job.bounds.limit);
	if (!read_truncate(given[TRUNCATE], &call->job.bounds.how, refusal))
		return false;
	if (given[COMMAND].text != NULL)
		return read_job(given, &call->job, refusal) &&
		    read_wait(given, call, call->job.terminal
		    ? WAIT_TERMINAL : 0, refusal);
	call->action = given[KILL_PID].text != NULL ? TOOLS_KILL : TOOLS_LOOK;
	call->only_new = call->action == TOOLS_KILL;
	call->by_pid = true;
	read_handle(given[call->action == TOOLS_KILL ? KILL_PID : CHECK_PID],
	    call);
	if (given[TASK_ID].text != NULL) {
		buf_free(&call->id);
		json_decode(given[TASK_ID], &call->id);
	}
	return true;
}

static bool
read_task(const struct json given[], struct tools_call *call,
          struct buf *refusal)
{
	int i;

	call->action = TOOLS_LOOK;
	call->only_new = json_true(given[NEW]);
	if (given[TASK_ID].text != NULL) {
		read_handle(given[TASK_ID], call);
		return read_wait(given, call, 0, refusal);
	}
	call->action = TOOLS_LIST;
	for (i = 0; i < ARGUMENTS; i++) {
		if (given[i].text == NULL || i == WAIT)
			continue;
		buf_add(refusal, "argument \"task_id\" is missing: ",
		    arguments[i].name, " counts only with it; without it all "
		    "tasks are listed, with wait as soon as one has ended");
		return false;
	}
	return read_wait(given, call, 0, refusal);
}

static bool
read_edit(const struct json given[], struct job_request *job,
          struct buf *refusal)
{
	struct edit *e = &job->edit;

	if (given[PATH].text == NULL || given[NEW_TEXT].text == NULL)
		return refuse(refusal, given[PATH].text == NULL
		    ? "argument \"path\" is missing: the file to change"
		    : "argument \"new\" is missing: what comes in place of "
		    "old, or \"\"");
	if (json_is(given[OLD], "") || json_equal(given[OLD], given[NEW_TEXT]))
		return wrong(refusal, OLD, given[OLD]);
	job->edits = true;
	e->makes = given[OLD].text == NULL;
	e->all = json_true(given[ALL]);
	json_decode(given[OLD], &e->old);
	json_decode(given[NEW_TEXT], &e->new);
	return read_name(given, PATH, job, &e->path, refusal);
}

bool
arguments_read(const struct tools_options *o, int tool, const char *added,
               struct json members, struct tools_call *call,
               struct buf *refusal)
{
	struct json given[ARGUMENTS];

	if (!read_arguments(o, members, tool, added, given, refusal) ||
	    !(tool == BASH ? read_bash(o, given, call, refusal)
	    : tool == EDIT ? read_edit(given, &call->job, refusal)
	    : read_task(given, call, refusal)))
		return false;
	return !(call->job.text.failed || call->job.input.failed ||
	    call->job.description.failed || call->job.edit.old.failed ||
	    call->job.edit.new.failed ||
	    call->id.failed ||
	    call->input.failed || call->until.failed) ||
	    refuse(refusal, "out of memory; try again later");
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
		    a->type == JSON_STRING ? "string" :
		    a->type == JSON_BOOL ? "boolean" : "integer",
		    "\",\"description\":\"", a->described[tool], "\"",
		    a == &arguments[TRUNCATE]
		    ? ",\"enum\":[\"head\",\"tail\",\"both\"]}" : "}");
		before = ",";
	}
	buf_add(b, "},", tool == EDIT ? "\"required\":[\"path\",\"new\"],"
	    : "", "\"additionalProperties\":false}");
}
