#define _POSIX_C_SOURCE 200809L

#include "tools.h"

#include <string.h>

#include "results.h"

enum {
	TIMEOUT_MOST = 600000,     /* ms */
	TASK_MOST = 86400000,      /* ms, of a task's own timeout (W4) */
	WAIT_UNTIL = 30000,        /* ms, when a call names none (W2) */
	WAIT_ASKS = 10000,         /* ms, of one about a terminal */
	UNTIL_MOST = 1000,         /* characters (W3) */
	SNIPPET = 80,              /* bytes of a wrong value that are quoted */
	DIR_NAMES = 100            /* bytes of names in a description */
};

/* -- What is offered --------------------------------------------------- */

#define STRING(name) "\"" name "\":{\"type\":\"string\"}"
#define INTEGER(name) "\"" name "\":{\"type\":\"integer\"}"

static const char output_schema[] =
	",\"outputSchema\":{\"type\":\"object\",\"properties\":{"
	"\"status\":{\"type\":\"string\",\"enum\":[\"completed\",\"running\","
	"\"timed_out\",\"killed\"]}," INTEGER("exit_code") ","
	STRING("signal") ",\"timed_out\":{\"type\":\"boolean\"},"
	STRING("note") "," STRING("task_id") "," INTEGER("pid") ","
	STRING("cwd") "," INTEGER("elapsed_ms") "," STRING("stdout") ","
	STRING("stderr") "," INTEGER("stdout_chars") ","
	INTEGER("stderr_chars") "," STRING("stdout_file") ","
	STRING("stderr_file");

static const char list_schema[] =
	",\"tasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}";

static const char meta[] =
	",\"_meta\":{\"anthropic/maxResultSizeChars\":200000,"
	"\"anthropic/alwaysLoad\":true}}";

enum tool { BASH, TASK_OUTPUT };
static const char *const names[] = { "bash", "task_output" };

/* An argument is a row: its name and type, what it should be, and what the
 * model is told of it by the tools that take it. It makes the schemas. */
static const struct argument {
	const char *name;
	enum json_type type;
	int64_t least, most;  /* of an integer */
	const char *right;    /* what it should be */
	const char *told[2];  /* of bash, of task_output; NULL: not taken */
} arguments[] = {
	{ "command", JSON_STRING, 0, 0, "a string, the command to run",
	  { "What to run", NULL } },
	{ "timeout", JSON_NUMBER, 1, INT64_MAX,
	  "an integer number of milliseconds from 1 to 600000 (of a task: to "
	  "86400000, or absent for none)",
	  { "Milliseconds until the command is terminated, at most 600000. "
	    "With run_in_background or tty: at most 86400000, default none",
	    NULL } },
	{ "run_in_background", JSON_BOOL, 0, 0, "true or false",
	  { "true: start it as a task and return at once, or after wait or "
	    "until. For servers, watchers and long jobs", NULL } },
	{ "tty", JSON_BOOL, 0, 0, "true or false",
	  { "true: start it as a task with a terminal, for programs that ask: "
	    "a REPL, gdb, ssh, a password. Returns when it waits for input",
	    NULL } },
	{ "input", JSON_STRING, 0, 0, "a string, what to type",
	  { "Instead of command, with task_id: type this into the terminal of "
	    "that task (\\\\n is Enter, \\\\u0003 Ctrl-C, \\\\u0004 end of "
	    "file) and return what it then prints", NULL } },
	{ "check_pid", JSON_NUMBER, INT64_MIN, INT64_MAX,
	  "an integer, the pid of a background task",
	  { "Instead of command: look at the task of this pid, as returned "
	    "by run_in_background", NULL } },
	{ "kill_pid", JSON_NUMBER, INT64_MIN, INT64_MAX,
	  "an integer, the pid of a background task",
	  { "Instead of command: end the task of this pid", NULL } },
	{ "task_id", JSON_STRING, 0, 0,
	  "a string, the task_id that bash has returned",
	  { "The task to type into; or that of check_pid or kill_pid, where "
	    "the result of the start asks for it",
	    "As bash has returned it" } },
	{ "wait", JSON_NUMBER, 0, 600000,
	  "an integer number of milliseconds from 0 to 600000",
	  { "With run_in_background, tty or input: milliseconds to wait, at "
	    "most 600000 (default 0; with tty or input 10000)",
	    "Milliseconds to wait for its end, or with new for new output, "
	    "at most 600000 (default 0)" } },
	{ "until", JSON_STRING, 0, 0,
	  "a string of 1 to 1000 characters without a newline",
	  { "With run_in_background, tty or input: return as soon as this "
	    "text has been printed (default of wait: 30000)",
	    "Wait until this text has been printed since the last look "
	    "(default of wait: 30000)" } },
	{ "new", JSON_BOOL, 0, 0, "true or false",
	  { NULL, "true: only what was printed since the last look" } },
	{ "cwd", JSON_STRING, 0, 0, "a string, the name of a directory, "
	  "absolute or relative to the working directory",
	  { "Directory to start in; a foreground command then moves the "
	    "working directory as cd would. ~ and variables are not "
	    "expanded", NULL } },
	{ "stdin", JSON_STRING, 0, 0, "a string, what the command reads",
	  { "What the command reads as standard input; else it is empty",
	    NULL } },
	{ "truncate", JSON_STRING, 0, 0, "\"head\", \"tail\" or \"both\"",
	  { "Which part of long output to return", NULL } },
	{ "description", JSON_STRING, 0, 0, "a string",
	  { "What it is for, in a few words; shown in the list of tasks",
	    NULL } }
};

enum {
	COMMAND, TIMEOUT, IN_BACKGROUND, TTY, INPUT, CHECK_PID, KILL_PID,
	TASK_ID, WAIT, UNTIL, NEW, CWD, STDIN, TRUNCATE, DESCRIPTION, ARGUMENTS
};

static void
put_input_schema(struct buf *b, enum tool tool)
{
	const struct argument *a;
	const char *before = "";

	buf_puts(b, "\",\"inputSchema\":{\"type\":\"object\","
	    "\"properties\":{");
	for (a = arguments; a < arguments + ARGUMENTS; a++) {
		if (a->told[tool] == NULL)
			continue;
		buf_add(b, before, "\"", a->name, "\":{\"type\":\"",
		    a->type == JSON_STRING ? "string" :
		    a->type == JSON_BOOL ? "boolean" : "integer",
		    "\",\"description\":\"", a->told[tool], "\"",
		    a == &arguments[TRUNCATE]
		    ? ",\"enum\":[\"head\",\"tail\",\"both\"]}" : "}");
		before = ",";
	}
	buf_puts(b, "},\"additionalProperties\":false}");
}

/* The names of directories, as many as there is room for in a description (B6),
 * and how many more there are. */
static void
put_dirs(struct buf *b, const char *dir)
{
	struct buf name = { NULL, 0, 0, false };
	size_t room = DIR_NAMES;
	int more = 0;

	for (; *dir != '\0'; dir += strlen(dir) + 1) {
		json_string(&name, dir, strlen(dir));
		if (name.len > room) {
			more++;
		} else if (!name.failed) {
			buf_puts(b, room < DIR_NAMES ? ", " : "");
			buf_put(b, name.data + 1, name.len - 2);
			room -= name.len;
		}
		buf_free(&name);
	}
	if (more > 0) {
		buf_puts(b, room < DIR_NAMES ? " and " : "");
		buf_int(b, more);
		buf_puts(b, " more");
	}
}

/* What the fences hold, in a sentence (F4) */
static void
put_fences(struct buf *b, const struct tools_options *o)
{
	if (o->write == NULL && !o->no_network)
		return;
	buf_puts(b, " Commands ");
	if (o->write != NULL) {
		buf_puts(b, "write nowhere but below ");
		put_dirs(b, o->write);
		buf_puts(b, o->no_network ? ", and " : "");
	}
	buf_puts(b, o->no_network
	    ? "reach no network but their own loopback." : ".");
}

static void
put_description(struct buf *b, const struct tools_options *o, bool shared)
{
	buf_add(b, "Runs a command in a shell (bash, or sh where there is "
	    "none) and returns its exit code, stdout and stderr. Give exactly "
	    "one of command, input, check_pid, kill_pid. ", shared
	    ? "Each command starts in the server's directory, or in cwd. "
	    "Nothing stays for the next call: put cd, "
	    : "cd and the argument cwd both move the working directory, which "
	    "stays for the next call; a command that must not depend on that "
	    "gives cwd. Nothing else stays: put ",
	    "export, or . venv/bin/activate &&, into each command that needs "
	    "it. There is no terminal, no editor and no pager, and stdin is "
	    "empty: use flags such as -y and -m. For a program that talks back "
	    "(python, gdb, ssh, a password) start it with tty: true; the "
	    "result comes when it waits for input. Answer with input and its "
	    "task_id; that result holds what it prints then. An exit code "
	    "other than 0 is a result, not an error. After timeout (default ");
	buf_int(b, o->timeout);
	buf_add(b, o->background ?
	    " ms) the command goes on as a background task." :
	    " ms) the command is terminated; what it printed is returned.",
	    " A server: run_in_background with until, a text that it prints "
	    "when it is ready. Read tasks with task_output, end them with "
	    "kill_pid (the pid that the start has returned",
	    shared ? ", and its task_id" : "", "). At most 10 run at a time; "
	    "all end with this server. Long output is cut, by default to ",
	    o->truncate == TRUNCATE_TAIL ?
	    "its last 2000 lines or 50 KB (tail)" :
	    o->truncate == TRUNCATE_BOTH ?
	    "its first 10000 and last 20000 characters (both)" :
	    "its first 30000 and last 2000 characters (head)",
	    ", and all of it is saved in a file that the result names: do "
	    "not pipe into head or tail, read that file with grep or sed.",
	    shared ? "" : " Foreground commands run one at a time.");
	put_fences(b, o);
}

void
tools_list(struct buf *b, const struct tools_options *o, bool data,
           bool shared)
{
	static const char title[] = "\",\"title\":\"";
	static const char described[] = "\",\"description\":\"";

	buf_puts(b, "[");
	if (o->offered) {
		buf_add(b, "{\"name\":\"bash", title, "Run a shell command",
		    described);
		put_description(b, o, shared);
		put_input_schema(b, BASH);
		if (data)
			buf_add(b, output_schema,
			    "},\"required\":[\"status\"]}");
		buf_add(b, ",\"annotations\":{\"readOnlyHint\":false,"
		    "\"destructiveHint\":true,\"idempotentHint\":false,"
		    "\"openWorldHint\":true}", meta,
		    ",{\"name\":\"task_output", title,
		    "Read a background task", described,
		    "Output and status of a background task of bash",
		    shared ? "" : ", or without task_id the list of all "
		    "tasks", ". While it runs: the last 10000 characters so "
		    "far. When it has ended: its final output and exit code, "
		    "once; then the task is forgotten. Do not poll: set wait, "
		    "and the answer comes when the task has ended, or until "
		    "has been printed, or the time is up.");
		put_input_schema(b, TASK_OUTPUT);
		if (data)
			buf_add(b, output_schema, list_schema, "}}");
		buf_add(b, ",\"annotations\":{\"readOnlyHint\":true,"
		    "\"openWorldHint\":false}", meta);
	}
	buf_puts(b, "]");
}

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

static bool
unknown(struct buf *b, enum tool tool, struct json name, bool elsewhere)
{
	const char *before = " takes ";
	int i;

	buf_puts(b, "unknown argument ");
	put_snippet(b, name);
	if (elsewhere)
		buf_add(b, ", which ", names[!tool], " takes");
	buf_add(b, "; ", names[tool]);
	for (i = 0; i < ARGUMENTS; i++) {
		if (arguments[i].told[tool] != NULL) {
			buf_add(b, before, arguments[i].name);
			before = ", ";
		}
	}
	return false;
}

static bool
is_right(const struct argument *a, struct json value)
{
	int64_t n;

	if (json_type(value) != a->type)
		return false;
	return a->type != JSON_NUMBER ||
	    (json_int(value, &n) && n >= a->least && n <= a->most);
}

/* Sorts the members into given[]; of equal names the last counts, and null
 * counts as absent. False: one is wrong, and the refusal says which. So it is
 * with all functions below. */
static bool
read_arguments(struct json members, enum tool tool, struct json given[],
               struct buf *refusal)
{
	struct json name, value;
	size_t at = 0;
	int i;

	memset(given, 0, ARGUMENTS * sizeof(*given));
	while (json_next(members, &at, &name, &value)) {
		for (i = 0; i < ARGUMENTS; i++) {
			if (json_is(name, arguments[i].name))
				break;
		}
		if (i == ARGUMENTS || arguments[i].told[tool] == NULL)
			return unknown(refusal, tool, name, i < ARGUMENTS);
		given[i] = value;
	}
	for (i = 0; i < ARGUMENTS; i++) {
		if (json_type(given[i]) == JSON_NULL)
			memset(&given[i], 0, sizeof(given[i]));
		if (given[i].text != NULL &&
		    !is_right(&arguments[i], given[i]))
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

static bool
read_cwd(struct json given, struct job_request *job, struct buf *refusal)
{
	struct buf b = { NULL, 0, 0, false };

	if (given.text == NULL)
		return true;
	json_decode(given, &b);
	if (!b.failed && (b.len == 0 || has(&b, '\0'))) {
		buf_free(&b);
		wrong(refusal, CWD, given);
		return refuse(refusal, "; nothing was run");
	}
	buf_putc(&b, '\0');
	job->cwd = b.data;
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
	    results_cut(b, UNTIL_MOST) < b->len || has(b, '\n')))
		return wrong(refusal, UNTIL, given[UNTIL]);
	call->wait = given[UNTIL].text != NULL ? WAIT_UNTIL : usual;
	json_int(given[WAIT], &call->wait);
	return true;
}

/* What is to be run */
static bool
read_job(const struct tools_options *o, const struct json given[],
         struct job_request *job, struct buf *refusal)
{
	int64_t most = job->background ? TASK_MOST : TIMEOUT_MOST;

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
	job->timeout = job->background ? 0 : o->timeout;
	json_int(given[TIMEOUT], &job->timeout);
	job->capped = job->timeout > most;
	if (job->capped)
		job->timeout = most;
	job->has_input = given[STDIN].text != NULL;
	json_decode(given[STDIN], &job->input);
	json_decode(given[DESCRIPTION], &job->description);
	job->description.len = results_cut(&job->description, RESULTS_SHOWN);
	buf_shrink(&job->description);
	return read_command(given[COMMAND], &job->text, refusal) &&
	    read_cwd(given[CWD], job, refusal);
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
	json_decode(given[INPUT], &call->input);
	return read_wait(given, call, WAIT_ASKS, refusal);
}

static bool
read_bash(const struct tools_options *o, const struct json given[],
          struct tools_call *call, struct buf *refusal)
{
	bool run = given[COMMAND].text != NULL;
	bool look = given[CHECK_PID].text != NULL;
	bool kill = given[KILL_PID].text != NULL;
	int ways = run + look + kill + (given[INPUT].text != NULL);

	if (ways != 1) {
		buf_puts(refusal, ways > 1 ? "too many: "
		    : "argument \"command\" is missing: ");
		return refuse(refusal, ways == 0 && given[TASK_ID].text != NULL
		    ? "task_id counts only with input, check_pid or kill_pid; "
		    "to read a task use task_output"
		    : "exactly one of command, input, check_pid and kill_pid "
		    "is required");
	}
	if (given[INPUT].text != NULL)
		return read_input(given, call, refusal);
	call->job.terminal = json_true(given[TTY]);
	call->job.background = json_true(given[IN_BACKGROUND]) ||
	    call->job.terminal;
	if ((given[WAIT].text != NULL || given[UNTIL].text != NULL) &&
	    !(run && call->job.background))
		return refuse(refusal, "wait and until count only with "
		    "command and run_in_background: true or tty: true, with "
		    "input, or in task_output");
	call->job.truncate = o->truncate;
	if (!read_truncate(given[TRUNCATE], &call->job.truncate, refusal))
		return false;
	if (run)
		return read_job(o, given, &call->job, refusal) &&
		    read_wait(given, call, call->job.terminal ? WAIT_ASKS : 0,
		    refusal);
	call->action = kill ? TOOLS_KILL : TOOLS_LOOK;
	call->by_pid = true;
	/* An empty id is no task's; with none the pid is enough. */
	if (given[TASK_ID].text != NULL && call->id.len == 0)
		buf_putc(&call->id, '\0');
	json_int(given[kill ? KILL_PID : CHECK_PID], &call->pid);
	return true;
}

static bool
read_task(const struct json given[], struct tools_call *call,
          struct buf *refusal)
{
	int i;

	call->action = TOOLS_LOOK;
	call->only_new = json_true(given[NEW]);
	if (given[TASK_ID].text != NULL)
		return read_wait(given, call, 0, refusal);
	call->action = TOOLS_LIST;
	for (i = 0; i < ARGUMENTS; i++) {
		if (given[i].text == NULL)
			continue;
		buf_add(refusal, "argument \"task_id\" is missing: ",
		    arguments[i].name, " counts only with it; without any "
		    "argument all tasks are listed");
		return false;
	}
	return true;
}

void
tools_read(const struct tools_options *o, struct json name,
           struct json members, struct tools_call *call, struct buf *result)
{
	enum tool tool = json_is(name, names[BASH]) ? BASH : TASK_OUTPUT;
	struct json given[ARGUMENTS];
	struct buf refusal = { NULL, 0, 0, false };
	bool right;

	memset(call, 0, sizeof(*call));
	if (!o->offered || !json_is(name, names[tool]))
		return;
	call->action = TOOLS_RUN;
	right = read_arguments(members, tool, given, &refusal);
	if (right)
		json_decode(given[TASK_ID], &call->id);
	right = right && (tool == BASH ? read_bash(o, given, call, &refusal)
	    : read_task(given, call, &refusal));
	if (right && (call->job.text.failed || call->job.input.failed ||
	    call->job.description.failed || call->id.failed ||
	    call->input.failed || call->until.failed))
		right = refuse(&refusal, "out of memory; try again later");
	if (!right) {
		call->action = TOOLS_REFUSED;
		results_refusal(result, &refusal);
	}
}

void
tools_call_free(struct tools_call *call)
{
	job_request_free(&call->job);
	buf_free(&call->id);
	buf_free(&call->input);
	buf_free(&call->until);
}
