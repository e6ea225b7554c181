/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "mcp/tools.h"

#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "session/edit.h"

enum {
	SNIPPET = 80,          /* maximum size in bytes of a value or name shown
	                        * in an error */
	NAMES_LISTED = 10,     /* maximum number of unknown arguments listed in
	                        * an error (P4) */
	DESCRIBED_MAX = 1780,  /* maximum size in bytes of a tool description
	                        * that lists the --write directories (F4) */
	WAIT_UNTIL = 30000,    /* default time to wait for `until`, in ms
	                        * (W2) */
	WAIT_BLOCK = 30000,    /* default wait with `block`, in ms */
	WAIT_TERMINAL = 10000  /* default wait after typing into a terminal, in
	                        * ms (W2) */
};

/* Indexes of the rows of tools[] */
enum { BASH, TASK_OUTPUT, EDIT, TOOLS };

/* Returns whether boris's command line options enable the tool. */
static bool
is_offered(const struct options *o, const struct tool *t)
{
	return *(const int64_t *)(const void *)((const char *)o + t->option);
}

/* -- Arguments --------------------------------------------------------- */

/* Indexes of the rows of arguments[]. To add an argument:
 * 1. Add its index here, before ARGUMENTS.
 * 2. Describe it in arguments[], with `help` for each tool that accepts it.
 * 3. Use it in read_command(), read_input(), read_pid(), read_task() or
 *    read_edit(), and store its value in struct call_request or struct job.
 * 4. If it conflicts with other arguments, reject it in read_bash() or a
 *    similar function.
 * 5. Describe it in doc/SPEC and doc/CHANGES, and test it. */
enum {
	COMMAND, TIMEOUT, IN_BACKGROUND, TTY, INPUT, CHECK_PID, KILL_PID,
	TASK_ID, WAIT, BLOCK, UNTIL, NEW, CWD, STDIN, TRUNCATE, LIMIT,
	DESCRIPTION, PATH, OLD, NEW_TEXT, ALL, ARGUMENTS
};

/* Flags of an argument */
enum {
	/* The values "", 0 and false are meaningful for this argument. Without
	 * this flag, they are treated as absent, because some clients fill in
	 * all arguments (P4). */
	EMPTY = 1,
	HANDLE = 2,          /* the value is a task id or pid, given as a string
	                      * or a number */
	NAME = 4,            /* the value is a file name of at most `max` bytes,
	                      * without NULs */
	LINE = 8,            /* the value must not contain a newline */
	COMMAND_TEXT = 16,   /* the value must not be blank or contain a NUL */
	TYPED = 32,          /* the argument may be combined with `input`
	                      * (I2) */
	WORD = 64,           /* the value must be one of the words in
	                      * truncate_words[] */
	BLANK_COUNTS = 128,  /* only null counts as absent; "" is not treated as
	                      * absent, and 0 is rejected as a value of the
	                      * wrong type */
	UNLISTED = 256       /* the argument is accepted, but not listed in the
	                      * schema */
};

/* The words for the argument `truncate`, indexed by enum truncate.
 * TRUNCATE_RECENT has no word. */
static const char *const truncate_words[] = { "head", "tail", "both" };
enum { TRUNCATE_WORDS = 3 };

/* The arguments of all tools. The numbers in `help` and `must_be` must match
 * `min`, `max` and the limits in base/options.h. */
static const struct argument {
	const char *name;
	enum json_type type;
	int flags;
	int min;              /* minimum value of an integer, or minimum length
	                       * of a string */
	int max;              /* maximum value of an integer, or maximum length
	                       * of a string; 0 for no maximum */
	/* The description of this argument for each tool, or NULL if the tool
	 * does not accept it */
	const char *help[TOOLS];
	const char *must_be;  /* description of a valid value, to follow
	                       * "argument X must be" in an error */
	/* An alias of this argument for each tool, or NULL. The alias is the
	 * name that models know from other agents' tools (P4). Aliases are
	 * accepted, but not listed in the schema. */
	const char *alias[TOOLS];
} arguments[ARGUMENTS] = {
	[COMMAND] = {
		.name = "command",
		.type = JSON_STRING,
		.flags = COMMAND_TEXT,
		.help = { [BASH] = "The shell command to run" },
		.must_be = "a non-blank string without NUL characters"
	},
	[TIMEOUT] = {
		.name = "timeout",
		.type = JSON_NUMBER,
		.min = 1,
		/* `max` is not set, because larger values are not an error.
		 * read_command() reduces them to the maximum (W4). */
		.help = { [BASH] = "Maximum run time in "
		    "milliseconds, up to 600000 (for background tasks, up to "
		    "86400000; by default, they have no limit)" },
		.must_be = "a number of milliseconds from 1 to 600000 "
		    "(86400000 for a background task)"
	},
	[IN_BACKGROUND] = {
		.name = "run_in_background",
		.type = JSON_BOOL,
		.help = { [BASH] = "Set to true to run the command as "
		    "a background task; the call returns at once unless wait "
		    "or until is given" },
		.must_be = "true or false"
	},
	[TTY] = {
		.name = "tty",
		.type = JSON_BOOL,
		.help = { [BASH] = "Set to true to run the command as "
		    "a background task with its own terminal, for interactive "
		    "programs" },
		.must_be = "true or false"
	},
	[INPUT] = {
		.name = "input",
		.type = JSON_STRING,
		.flags = EMPTY | TYPED,
		.help = { [BASH] = "Text to type into the terminal of "
		    "the task given by task_id (\\n is Enter, \\u0003 Ctrl-C, "
		    "\\u0004 end of file); the call returns the new output" },
		.must_be = "a string"
	},
	[CHECK_PID] = {
		.name = "check_pid",
		.type = JSON_NUMBER,
		.flags = HANDLE,
		.help = { [BASH] = "Process ID of a background task; the "
		    "call returns its status and output" },
		.must_be = "a process ID that bash returned"
	},
	[KILL_PID] = {
		.name = "kill_pid",
		.type = JSON_NUMBER,
		.flags = HANDLE,
		.help = { [BASH] = "Process ID of a background task to "
		    "stop" },
		.must_be = "a process ID that bash returned"
	},
	[TASK_ID] = {
		.name = "task_id",
		.type = JSON_STRING,
		.flags = HANDLE | TYPED,
		.help = { [BASH] = "ID of the task to type input into, as "
		    "returned by bash; with check_pid or kill_pid, needed only "
		    "if a note says so",
		    [TASK_OUTPUT] = "ID of the task, as returned by bash" },
		.must_be = "a task ID that bash returned"
	},
	[WAIT] = {
		.name = "wait",
		.type = JSON_NUMBER,
		.flags = EMPTY | TYPED,
		/* `max` is not set, because larger values are not an error.
		 * read_wait() reduces them to the maximum (W2). */
		.help = { [BASH] = "Maximum time in milliseconds to wait for "
		    "a background task (default: 0; with tty or input: 10000; "
		    "with until: 30000)",
		    [TASK_OUTPUT] = "Maximum time in milliseconds to wait for "
		    "the task to end, or for new output if new is true "
		    "(default: 0; maximum: 600000)" },
		.must_be = "a number of milliseconds from 0 to 600000",
		.alias = { [TASK_OUTPUT] = "timeout" }
	},
	[BLOCK] = {
		.name = "block",
		.type = JSON_BOOL,
		.flags = EMPTY | UNLISTED,
		.help = { [TASK_OUTPUT] = "Set to false to return at once" },
		.must_be = "true or false"
	},
	[UNTIL] = {
		.name = "until",
		.type = JSON_STRING,
		.flags = LINE | TYPED,
		.min = 1,
		.max = 1000,
		.help = { [BASH] = "Plain text to wait for; the command runs "
		    "as a background task, and the call returns when it "
		    "prints this text",
		    [TASK_OUTPUT] = "Plain text to wait for in new output "
		    "(with until, the default of wait is 30000)" },
		.must_be = "a string of 1 to 1000 characters without "
		    "newlines"
	},
	[NEW] = {
		.name = "new",
		.type = JSON_BOOL,
		.help = { [TASK_OUTPUT] = "Set to true to return only "
		    "output that no earlier call has returned" },
		.must_be = "true or false"
	},
	[CWD] = {
		.name = "cwd",
		.type = JSON_STRING,
		.flags = NAME,
		.min = 1,
		.max = PATH_LIMIT,
		.help = { [BASH] = "Working directory for this call only (~ "
		    "and variables are not expanded); if the path is absolute, "
		    "the call can run in parallel with any other call" },
		.must_be = "a string of at most 4096 bytes, the path of a "
		    "directory",
		.alias = { [BASH] = "workdir" }
	},
	[STDIN] = {
		.name = "stdin",
		.type = JSON_STRING,
		.help = { [BASH] = "Text to pass to the command on standard "
		    "input" },
		.must_be = "a string"
	},
	[TRUNCATE] = {
		.name = "truncate",
		.type = JSON_STRING,
		.flags = WORD | TYPED,
		.help = { [BASH] = "Which part of long output to return: the "
		    "start (head), the end (tail) or both",
		    [TASK_OUTPUT] = "Which part of long output to return: the "
		    "start (head), the end (tail) or both" },
		.must_be = "\"head\", \"tail\" or \"both\""
	},
	[LIMIT] = {
		.name = "limit",
		.type = JSON_NUMBER,
		.flags = TYPED,
		.min = 200,
		.max = 100000,
		.help = { [BASH] = "Maximum number of characters to return "
		    "from each of stdout and stderr (200 to 100000)",
		    [TASK_OUTPUT] = "Maximum number of characters to return "
		    "from each of stdout and stderr (200 to 100000)" },
		.must_be = "an integer from 200 to 100000"
	},
	[DESCRIPTION] = {
		.name = "description",
		.type = JSON_STRING,
		.flags = TYPED,
		.help = { [BASH] = "Short description of what the command "
		    "does, shown in the list of tasks" },
		.must_be = "a string"
	},
	[PATH] = {
		.name = "path",
		.type = JSON_STRING,
		.flags = NAME | BLANK_COUNTS,
		.min = 1,
		.max = PATH_LIMIT,
		.help = { [EDIT] = "Path to the file, absolute or relative to "
		    "the working directory" },
		.must_be = "a string of at most 4096 bytes, the path of a "
		    "file",
		.alias = { [EDIT] = "file_path" }
	},
	[OLD] = {
		.name = "old",
		.type = JSON_STRING,
		.help = { [EDIT] = "Text to replace, exactly as it appears in "
		    "the file; omit it to create a file" },
		.must_be = "a string",
		.alias = { [EDIT] = "old_string" }
	},
	[NEW_TEXT] = {
		.name = "new",
		.type = JSON_STRING,
		.flags = BLANK_COUNTS,
		.help = { [EDIT] = "Replacement for old, or the complete "
		    "content of a new file" },
		.must_be = "a string",
		.alias = { [EDIT] = "new_string" }
	},
	[ALL] = {
		.name = "all",
		.type = JSON_BOOL,
		.help = { [EDIT] = "Set to true to replace all occurrences of "
		    "old" },
		.must_be = "true or false",
		.alias = { [EDIT] = "replace_all" }
	}
};

/* Names of tools in other shell servers, which an AI model may know. If the
 * model calls such a tool, the error names the boris tool to use instead
 * (P4). */
static const struct foreign {
	const char *name;
	int tool;         /* index in tools[] of the boris tool to use */
	const char *use;  /* text that names the boris tool and how to use it */
} foreign[] = {
	{ "Bash", BASH, "bash" },
	{ "exec_command", BASH, "bash" },
	{ "shell", BASH, "bash" },
	{ "BashOutput", TASK_OUTPUT, "task_output" },
	{ "TaskOutput", TASK_OUTPUT, "task_output" },
	{ "KillShell", BASH, "bash with kill_pid" },
	{ "KillBash", BASH, "bash with kill_pid" },
	{ "TaskStop", BASH, "bash with kill_pid" },
	{ "write_stdin", BASH, "bash with input and task_id" },
	{ "Edit", EDIT, "edit" },
	{ "MultiEdit", EDIT, "edit" },
	{ "str_replace", EDIT, "edit" },
	{ "Write", EDIT, "edit without old to create a file" }
};

/* A call whose arguments are being read. A function that rejects an argument
 * writes the reason to `error` and returns false. */
struct arg_reader {
	const struct tool *tools;
	int tool;                      /* index of the called tool */
	const struct options *options;
	const struct caller *caller;
	struct json given[ARGUMENTS];  /* value of each argument in the call;
	                                * JSON_NONE if absent */
	struct json name[ARGUMENTS];   /* name under which each argument was
	                                * passed, possibly an alias */
	int64_t number[ARGUMENTS];     /* value of each integer argument; for
	                                * `truncate`, index of the given word in
	                                * truncate_words[] */
	struct job **job;              /* where to store the job, if the tool
	                                * call creates one */
	struct call_request *request;
	struct buf *error;
};

/* Returns the default timeout of a foreground command, in ms. The default is
 * TIMEOUT_MAX if the client has a call limit and --timeout is not given. In
 * that case, the command becomes a task when the call limit is reached, so
 * boris need not terminate it early (K2). */
static int64_t
default_timeout(const struct options *o, const struct caller *r)
{
	if (o->timeout > 0)
		return o->timeout;
	return r->call_limit > 0 ? TIMEOUT_MAX : TIMEOUT_DEFAULT;
}

static bool
is_given(const struct arg_reader *r, int argument)
{
	return r->given[argument].text != NULL;
}

static bool reject(struct arg_reader *, const char *format, ...)
    FMT_CHECKED(2, 3);

/* Writes an error to r->error. Always returns false, so that callers can return
 * the result. */
static bool
reject(struct arg_reader *r, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	buf_vfmt(r->error, format, values);
	va_end(values);
	return false;
}

/* Returns true if the argument was given. Otherwise, rejects the call and
 * returns false. */
static bool
require(struct arg_reader *r, int argument)
{
	const struct argument *a = &arguments[argument];

	if (is_given(r, argument))
		return true;
	return reject(r, "argument \"%s\" is missing: %s", a->name,
	    a->help[r->tool]);
}

/* Appends an item to a list, after a separator unless it is the first item. */
static void
put_item(struct buf *list, const char *separator, const char *item)
{
	if (list->len > 0)
		buf_fmt(list, "%s", separator);
	buf_fmt(list, "%s", item);
}

/* The start of a JSON text, with "..." appended if it is truncated */
struct snippet {
	char text[SNIPPET + sizeof("...")];
};

/* Copies at most SNIPPET bytes of a value's or name's JSON text, and appends
 * "..." if the text is longer. Returns the copy. The last character before the
 * "..." may be incomplete; json_string() replaces incomplete characters. */
static const char *
snippet(struct snippet *s, struct json value)
{
	size_t len = value.len < SNIPPET ? value.len : SNIPPET;
	const char *end = value.len > SNIPPET ? "..." : "";

	memcpy(s->text, value.text, len);
	memcpy(s->text + len, end, strlen(end) + 1);
	return s->text;
}

static bool
reject_value(struct arg_reader *r, int argument)
{
	struct snippet name, value;

	return reject(r, "argument %s must be %s, not %s",
	    snippet(&name, r->name[argument]), arguments[argument].must_be,
	    snippet(&value, r->given[argument]));
}

/* Rejects a call that sets one argument under two names, such as `cwd` and its
 * alias `workdir`. Always returns false. */
static bool
reject_both(struct arg_reader *r, struct json one, struct json other)
{
	struct snippet first, second;

	return reject(r, "%s and %s set the same argument; give only one of "
	    "them", snippet(&first, one), snippet(&second, other));
}

/* Returns the index of the argument with the given name, or ARGUMENTS if the
 * tool does not accept it. */
static int
find_argument(struct json name, int tool)
{
	const struct argument *a;
	int i;

	for (i = 0; i < ARGUMENTS; i++) {
		a = &arguments[i];
		if (a->help[tool] == NULL)
			continue;
		if (json_is(name, a->name))
			break;
		if (a->alias[tool] != NULL && json_is(name, a->alias[tool]))
			break;
	}
	return i;
}

/* Returns whether the argument is listed in the tool's schema. */
static bool
is_listed(const struct argument *a, int tool)
{
	return a->help[tool] != NULL && !(a->flags & UNLISTED);
}

/* Returns the first enabled tool that accepts an argument with the given name,
 * or NULL. */
static const struct tool *
find_other_tool(const struct arg_reader *r, struct json name)
{
	int i;

	for (i = 0; i < TOOLS; i++) {
		if (is_offered(r->options, &r->tools[i]) &&
		    find_argument(name, i) < ARGUMENTS)
			return &r->tools[i];
	}
	return NULL;
}

/* Appends the name of an unknown argument to the list. If another enabled tool
 * accepts this argument, also appends the name of that tool. */
static void
put_unknown(struct buf *list, const struct arg_reader *r, struct json name)
{
	const struct tool *other = find_other_tool(r, name);
	struct buf item = { NULL, 0, 0 };
	struct snippet start;

	if (other != NULL)
		buf_fmt(&item, "%s (an argument of %s)",
		    snippet(&start, name), other->name);
	else
		buf_fmt(&item, "%s", snippet(&start, name));
	put_item(list, ", ", buf_text(&item));
	buf_free(&item);
}

/* Rejects a call with unknown arguments. The error lists them and the arguments
 * that the tool accepts. Always returns false. */
static bool
reject_unknown(struct arg_reader *r, int n, struct buf *unknown)
{
	struct buf known = { NULL, 0, 0 };
	int i;

	for (i = 0; i < ARGUMENTS; i++) {
		if (is_listed(&arguments[i], r->tool))
			put_item(&known, ", ", arguments[i].name);
	}
	reject(r, n == 1 ? "unknown argument %s; %s accepts %s"
	    : "unknown arguments %s; %s accepts %s", buf_text(unknown),
	    r->tools[r->tool].name, buf_text(&known));
	buf_free(&known);
	return false;
}

/* If the text inside a JSON string is itself a JSON value of the given type,
 * returns that value. For example, the string "5000" becomes the number 5000,
 * and "true" becomes true (P4). Otherwise, returns the argument unchanged. */
static struct json
unquoted(struct json value, enum json_type type)
{
	struct json inner;

	if (json_type(value) != JSON_STRING || value.len < 3)
		return value;
	inner = json_check(value.text + 1, value.len - 2);
	return json_type(inner) == type ? inner : value;
}

/* Returns the index of the string in truncate_words[], or TRUNCATE_WORDS if it
 * is not in the table. */
static int
find_word(struct json value)
{
	int i = 0;

	while (i < TRUNCATE_WORDS && !json_is(value, truncate_words[i]))
		i++;
	return i;
}

/* Checks the type of argument i and, for an integer, its range. Stores an
 * integer, or a word's index in truncate_words[], in r->number[i]. Returns
 * whether the value is valid. */
static bool
check_value(struct arg_reader *r, int i)
{
	const struct argument *a = &arguments[i];
	struct json value = r->given[i];
	int64_t *n = &r->number[i];

	if (a->flags & HANDLE)
		return json_int(value, n) || json_type(value) == JSON_STRING;
	if (a->type == JSON_NUMBER) {
		if (!json_int(value, n) || *n < a->min)
			return false;
		return a->max == 0 || *n <= a->max;
	}
	if (a->flags & WORD) {
		*n = find_word(value);
		if (*n == TRUNCATE_WORDS)
			return false;
	}
	return json_type(value) == a->type;
}

/* Returns whether the value is "", 0, false, [] or {}. A number with an
 * exponent does not count as 0, because it may be the hexadecimal id of a task,
 * such as 0e123456. */
static bool
is_blank(struct json value)
{
	struct json name, item;
	size_t at = 0;
	int64_t n;

	switch (json_type(value)) {
	case JSON_BOOL:
		return !json_true(value);
	case JSON_NUMBER:
		return json_int(value, &n) && n == 0 &&
		    memchr(value.text, 'e', value.len) == NULL;
	case JSON_STRING:
		return json_is(value, "");
	case JSON_ARRAY:
	case JSON_OBJECT:
		return !json_next(value, &at, &name, &item);
	default:
		return false;
	}
}

/* Returns whether an argument with this value counts as absent (P4). */
static bool
counts_as_absent(const struct argument *a, struct json value)
{
	bool has_meaning = a->flags & EMPTY && json_type(value) == a->type;

	if (json_type(value) == JSON_NULL)
		return true;
	if (a->flags & BLANK_COUNTS || has_meaning)
		return false;
	return is_blank(value);
}

/* Stores the value of argument i in r->given[i], unless counts_as_absent()
 * returns true for it. If a name occurs more than once, the last value counts.
 * Returns false if the call contains both the argument's name and its alias. */
static bool
store_member(struct arg_reader *r, int i, struct json name, struct json value)
{
	const struct argument *a = &arguments[i];
	enum json_type type = a->flags & HANDLE ? JSON_NUMBER : a->type;
	bool renamed = is_given(r, i) && !json_equal(r->name[i], name);

	value = unquoted(value, type);
	if (counts_as_absent(a, value)) {
		if (!renamed)
			r->given[i].text = NULL;
		return true;
	}
	if (renamed)
		return reject_both(r, r->name[i], name);
	r->given[i] = value;
	r->name[i] = name;
	return true;
}

/* Returns whether the argument is added by the client rather than the model
 * (K1). */
static bool
is_added_by_client(const struct arg_reader *r, struct json name)
{
	const char *added = r->caller->client->extra_argument;

	return added != NULL && json_is(name, added);
}

/* Stores the values of the call's arguments in r->given[]. Ignores the extra
 * argument that some clients add to every call. Returns false if the call is
 * rejected, for example because an argument is unknown. */
static bool
sort_members(struct arg_reader *r, struct json members)
{
	struct json name, value;
	struct buf unknown = { NULL, 0, 0 };
	bool accepted = true;
	size_t at = 0;
	int i, n = 0;

	while (accepted && json_next(members, &at, &name, &value)) {
		i = find_argument(name, r->tool);
		if (i < ARGUMENTS) {
			accepted = store_member(r, i, name, value);
		} else if (!is_added_by_client(r, name)) {
			if (n < NAMES_LISTED)
				put_unknown(&unknown, r, name);
			n++;
		}
	}
	if (accepted && n > 0)
		accepted = reject_unknown(r, n, &unknown);
	buf_free(&unknown);
	return accepted;
}

static bool
is_too_long(const struct argument *a, const struct buf *b)
{
	if (a->max == 0)
		return false;
	if (a->flags & NAME)
		return b->len > (size_t)a->max;
	return utf8_cut(b, a->max) < b->len;
}

/* Returns whether a decoded string has a valid length and contains no character
 * that is forbidden for the argument. */
static bool
is_valid_text(const struct argument *a, struct buf *b)
{
	if (b->len == 0)
		return a->min == 0 && !(a->flags & COMMAND_TEXT);
	if (is_too_long(a, b))
		return false;
	if (a->flags & LINE && buf_has(b, '\n'))
		return false;
	if (a->flags & (NAME | COMMAND_TEXT) && buf_has(b, '\0'))
		return false;
	if (a->flags & COMMAND_TEXT)
		return strspn(buf_text(b), " \t\n\r\v\f") < b->len;
	return true;
}

/* Decodes string argument i into `b`, if the call contains it. Returns false if
 * the call is rejected because the string is invalid or allocation fails. */
static bool
decode_text(struct arg_reader *r, int i, struct buf *b)
{
	const struct argument *a = &arguments[i];

	if (!is_given(r, i))
		return true;
	if (!json_decode(r->given[i], b))
		return reject(r, "out of memory while reading %s", a->name);
	return is_valid_text(a, b) || reject_value(r, i);
}

static bool
decode_path(struct arg_reader *r, int argument, char **name)
{
	struct buf b = { NULL, 0, 0 };
	bool accepted = decode_text(r, argument, &b);

	if (is_given(r, argument))
		*name = buf_text(&b);
	return accepted;
}

/* Reads the arguments `wait` and `until` (W2, W3). `default_time` is the time
 * to wait, in ms, if neither is given. Returns false if the call is
 * rejected. */
static bool
read_wait(struct arg_reader *r, int64_t default_time)
{
	struct call_request *req = r->request;

	req->time = default_time;
	if (is_given(r, UNTIL))
		req->time = WAIT_UNTIL;
	if (is_given(r, WAIT))
		req->time = r->number[WAIT];
	if (req->time > WAIT_MAX)
		req->time = WAIT_MAX;
	return decode_text(r, UNTIL, &req->until);
}

/* Reads the arguments `truncate` and `limit` of a tool call that reads, kills
 * or types into a task. */
static void
read_bounds(struct arg_reader *r)
{
	struct call_request *req = r->request;

	req->truncates = is_given(r, TRUNCATE);
	req->truncate = (enum truncate)r->number[TRUNCATE];
	req->limit = is_given(r, LIMIT) ? r->number[LIMIT] : 0;
}

/* Reads which task the call names. `argument` is TASK_ID, CHECK_PID or
 * KILL_PID. request->id gets the text of task_id or, if that is absent, of
 * `argument`. It may be an id, or the digits of a pid (T1). request->pid gets
 * the number in `argument`, or 0 if that is a string. A shared server accepts a
 * pid only together with the id of its task, which is a secret (H6). */
static bool
read_handle(struct arg_reader *r, int argument)
{
	int named_by = is_given(r, TASK_ID) ? TASK_ID : argument;

	r->request->pid = r->number[argument];
	if (json_type(r->given[named_by]) == JSON_STRING)
		return decode_text(r, named_by, &r->request->id);
	json_verbatim(r->given[named_by], &r->request->id);
	return true;
}

static int64_t
choose_timeout(const struct arg_reader *r, bool background)
{
	if (is_given(r, TIMEOUT))
		return r->number[TIMEOUT];
	return background ? 0 : default_timeout(r->options, r->caller);
}

static enum environment_kind
choose_environment(bool terminal, bool background)
{
	if (terminal)
		return ENV_TERMINAL;
	return background ? ENV_TASK : ENV_COMMAND;
}

/* Decodes a command's string arguments into its job. Returns false if the call
 * is rejected. */
static bool
decode_command_texts(struct arg_reader *r, struct job *job)
{
	if (!decode_text(r, COMMAND, &job->exec.text) ||
	    !decode_text(r, STDIN, &job->exec.input))
		return false;
	return decode_text(r, DESCRIPTION, &job->description) &&
	    decode_path(r, CWD, &job->cwd);
}

/* Reads the arguments of a tool call that runs a command, and stores them in a
 * new job. Returns false if the call is rejected. */
static bool
read_command(struct arg_reader *r, bool background)
{
	struct job *job = *r->job = job_new(r->options);
	bool terminal = json_true(r->given[TTY]);
	int64_t max = background ? TASK_TIMEOUT_MAX : TIMEOUT_MAX;

	if (is_given(r, TASK_ID))
		return reject(r, "\"task_id\" cannot be used with \"command\"; "
		    "read a task with task_output, or type into it with "
		    "\"input\"");
	if (terminal && is_given(r, STDIN))
		return reject(r, "\"stdin\" cannot be used with \"tty\"; "
		    "start the program without \"stdin\", then type into its "
		    "terminal with \"input\" and \"task_id\"");
	job->background = background;
	job->timeout = choose_timeout(r, background);
	job->capped = job->timeout > max;
	if (job->capped)
		job->timeout = max;
	job->bounds.mode = is_given(r, TRUNCATE)
	    ? (enum truncate)r->number[TRUNCATE] : r->options->truncate;
	job->bounds.limit = r->number[LIMIT];
	job->exec.terminal = terminal;
	job->exec.env = choose_environment(terminal, background);
	job->exec.has_input = is_given(r, STDIN);
	if (!decode_command_texts(r, job))
		return false;
	job->description.len = utf8_cut(&job->description, COMMAND_SHOWN);
	buf_shrink(&job->description);
	return read_wait(r, terminal ? WAIT_TERMINAL : 0);
}

/* Reads the arguments of a tool call with `input`, which is typed into a task's
 * terminal (I2). Returns false if the call is rejected. */
static bool
read_input(struct arg_reader *r)
{
	int i;

	for (i = 0; i < ARGUMENTS; i++) {
		if (is_given(r, i) && !(arguments[i].flags & TYPED))
			return reject(r, "\"%s\" cannot be used with "
			    "\"input\", which accepts only task_id, wait, "
			    "until, truncate, limit and description",
			    arguments[i].name);
	}
	r->request->action = CALL_TYPE;
	r->request->only_new = true;
	read_bounds(r);
	if (!require(r, TASK_ID) || !read_handle(r, TASK_ID))
		return false;
	return decode_text(r, INPUT, &r->request->input) &&
	    read_wait(r, WAIT_TERMINAL);
}

/* Checks that a call to the bash tool contains exactly one of command, input,
 * check_pid and kill_pid. Otherwise, rejects the call and returns false. */
static bool
check_action(struct arg_reader *r)
{
	static const int actions[] = { COMMAND, INPUT, CHECK_PID, KILL_PID };
	struct buf given = { NULL, 0, 0 };
	int i, n = 0;

	for (i = 0; i < 4; i++) {
		if (!is_given(r, actions[i]))
			continue;
		put_item(&given, " and ", arguments[actions[i]].name);
		n++;
	}
	if (n > 1)
		reject(r, "%s were given; give only one of \"command\", "
		    "\"input\", \"check_pid\" or \"kill_pid\"",
		    buf_text(&given));
	else if (n == 0 && is_given(r, TASK_ID))
		reject(r, "missing argument: give exactly one of \"command\", "
		    "\"input\", \"check_pid\" or \"kill_pid\"; to read a "
		    "task, use task_output");
	else if (n == 0)
		reject(r, "missing argument: give exactly one of \"command\", "
		    "\"input\", \"check_pid\" or \"kill_pid\"");
	buf_free(&given);
	return n == 1;
}

/* Reads the arguments of a tool call with check_pid or kill_pid. Returns false
 * if the call is rejected. */
static bool
read_pid(struct arg_reader *r)
{
	bool ends = is_given(r, KILL_PID);

	read_bounds(r);
	r->request->action = ends ? CALL_KILL : CALL_READ;
	r->request->only_new = ends;
	r->request->by_pid = true;
	return read_handle(r, ends ? KILL_PID : CHECK_PID);
}

/* Removes an empty `input`, because some clients fill in all arguments.
 * However, keeps the empty `input` if the call has a task_id but no command,
 * check_pid or kill_pid, because such a call reads the terminal without typing
 * into it. */
static void
drop_empty_input(struct arg_reader *r)
{
	bool other_action = is_given(r, COMMAND) || is_given(r, CHECK_PID) ||
	    is_given(r, KILL_PID);
	bool reads_terminal = is_given(r, TASK_ID) && !other_action;

	if (!reads_terminal && json_is(r->given[INPUT], ""))
		r->given[INPUT].text = NULL;
}

/* Reads the arguments of a call to the bash tool, which runs a command, types
 * into a task's terminal, or reads or kills a task. Returns false if the call
 * is rejected. */
static bool
read_bash(struct arg_reader *r)
{
	bool runs = is_given(r, COMMAND);
	bool background = json_true(r->given[IN_BACKGROUND]) ||
	    json_true(r->given[TTY]) || is_given(r, UNTIL);
	bool waits = r->number[WAIT] > 0;

	drop_empty_input(r);
	if (!check_action(r))
		return false;
	if (is_given(r, INPUT))
		return read_input(r);
	if (!runs && (waits || is_given(r, UNTIL)))
		return reject(r, "\"wait\" and \"until\" cannot be used with "
		    "\"check_pid\" or \"kill_pid\"; use task_output instead");
	/* Accept `wait: 0` for a foreground command, because some clients fill
	 * in all arguments. */
	if (runs && !background && waits)
		return reject(r, "\"wait\" requires \"run_in_background\", "
		    "\"tty\", \"until\" or \"input\"; to limit the run time "
		    "of a command, use \"timeout\"; to wait for a running "
		    "task, use task_output");
	return runs ? read_command(r, background) : read_pid(r);
}

static bool
read_task(struct arg_reader *r)
{
	bool listed = !is_given(r, TASK_ID);
	bool blocks = json_true(r->given[BLOCK]);

	if (is_given(r, BLOCK) && is_given(r, WAIT) &&
	    json_is(r->name[WAIT], "wait"))
		return reject_both(r, r->name[WAIT], r->name[BLOCK]);
	/* Tasks in a shared session cannot be listed, because their ids are
	 * secret (H6). */
	if (listed && r->caller->shared)
		return require(r, TASK_ID);
	if (listed && is_given(r, UNTIL))
		return reject(r, "\"until\" requires \"task_id\"; without "
		    "\"task_id\", task_output lists all tasks");
	if (listed && is_given(r, NEW))
		return reject(r, "\"new\" requires \"task_id\"; without "
		    "\"task_id\", task_output lists all tasks");
	r->request->action = listed ? CALL_LIST : CALL_READ;
	r->request->only_new = json_true(r->given[NEW]);
	read_bounds(r);
	if (!listed && !read_handle(r, TASK_ID))
		return false;
	if (!read_wait(r, blocks ? WAIT_BLOCK : 0))
		return false;
	/* Do not wait if block is false, even if timeout was given. */
	if (is_given(r, BLOCK) && !blocks)
		r->request->time = 0;
	return true;
}

static bool
read_edit(struct arg_reader *r)
{
	struct job *job = *r->job = job_new(r->options);
	struct edit *e = mem_get(sizeof(*e));

	job->do_work = edit_run;
	job->work = e;
	job->free_work = edit_free;
	e->creates = !is_given(r, OLD);
	e->all = json_true(r->given[ALL]);
	if (!require(r, PATH) || !require(r, NEW_TEXT))
		return false;
	if (json_equal(r->given[OLD], r->given[NEW_TEXT]))
		return reject(r, "\"old\" and \"new\" are identical; to create "
		    "a file, omit \"old\"");
	if (!decode_text(r, OLD, &e->old) ||
	    !decode_text(r, NEW_TEXT, &e->new) ||
	    !decode_path(r, PATH, &e->path))
		return false;
	job->work_bytes = e->old.cap + e->new.cap + strlen(e->path);
	return true;
}

/* -- Descriptions ------------------------------------------------------ */

/* Appends a sentence that lists the --write directories to a tool's
 * description. If the description would become too long, omits some
 * directories, but never shortens a path, because a shortened path would be
 * wrong (F4). */
static void
put_writable(struct buf *b, const struct options *o)
{
	const char *subject = o->bash ? "Commands can write" :
	    "Files can be changed";
	size_t len, used = b->len + strlen(subject) +
	    strlen("  only below ");
	struct buf named = { NULL, 0, 0 };
	const char *at;
	int left = 0;

	for (at = o->write; *at != '\0'; at += strlen(at) + 1) {
		len = named.len + strlen(at);
		if (named.len > 0)
			len += strlen(", ");
		if (used + len > DESCRIBED_MAX)
			left++;
		else
			put_item(&named, ", ", at);
	}
	if (named.len == 0)
		buf_fmt(b, " %s only below %d directories, whose names are too "
		    "long for this description.", subject, left);
	else if (left > 0)
		buf_fmt(b, " %s only below %s and %d more.", subject,
		    buf_text(&named), left);
	else
		buf_fmt(b, " %s only below %s.", subject, buf_text(&named));
	buf_free(&named);
}

static int
count_names(const char *list)
{
	const char *at = list;
	int n = 0;

	for (; at != NULL && *at != '\0'; at += strlen(at) + 1)
		n++;
	return n;
}

/* Appends a description of the restrictions that the kernel enforces on
 * commands (F4). */
static void
put_fences(struct buf *b, const struct options *o)
{
	int hidden = count_names(o->hide);

	if (o->no_network && o->bash)
		buf_fmt(b, " Commands have no network except for a "
		    "loopback interface of their own.");
	if (hidden == 1)
		buf_fmt(b, " One path of this host is hidden and appears "
		    "empty.");
	else if (hidden > 1)
		buf_fmt(b, " %d paths of this host are hidden and appear "
		    "empty.", hidden);
	if (o->write != NULL)
		put_writable(b, o);
}

static void
describe_bash(struct buf *b, const struct options *o, const struct caller *r)
{
	buf_fmt(b, "Runs a shell command with bash (or sh) and returns its "
	    "exit code, stdout and stderr. Give exactly one of command, "
	    "input, check_pid and kill_pid. ");
	if (r->shared)
		buf_fmt(b, "Each command starts in the server's working "
		    "directory, or in cwd. The directory and environment "
		    "variables do not persist between calls, so repeat cd and "
		    "export, and activate virtual environments, in each "
		    "command that needs them. ");
	else
		buf_fmt(b, "If a command changes the working directory with "
		    "cd, later calls start there. The cwd argument applies to "
		    "one call only, and calls with an absolute cwd can run in "
		    "parallel with any other call. Environment variables do "
		    "not persist between calls, so repeat export, and activate "
		    "virtual environments, in each command that needs them. ");
	buf_fmt(b, "Calls sent together may run in any order, so use && "
	    "to join commands that depend on one another. ");
	buf_fmt(b, o->edit
	    ? "Commands have no terminal, editor or pager, and their stdin is "
	    "empty, so use non-interactive forms such as apt -y and git commit "
	    "-m. To create or change a file, use the edit tool. "
	    : "Commands have no terminal, editor or pager, and their stdin is "
	    "empty, so use non-interactive forms such as apt -y and git commit "
	    "-m. To write a file, run cat >FILE and give the text in stdin. ");
	buf_fmt(b, "For an interactive program (python, gdb, ssh, a password "
	    "prompt), set tty: true. The call returns when the program is "
	    "waiting for input; to respond, call bash with input and task_id. "
	    "A nonzero exit code is a normal result, not a tool error. ");
	buf_fmt(b, o->on_timeout
	    ? "A command that is still running after timeout (default %jd "
	    "ms) becomes a background task. "
	    : "A command that is still running after timeout (default %jd "
	    "ms) is terminated. ",
	    default_timeout(o, r));
	buf_fmt(b, "For jobs that take longer, use run_in_background with "
	    "wait. To start a server, use until with text that it prints "
	    "when ready. ");
	buf_fmt(b, r->shared
	    ? "Read the output of a task with task_output, and stop a task "
	    "with kill_pid and task_id. "
	    : "Read the output of a task with task_output, and stop a task "
	    "with kill_pid. ");
	buf_fmt(b, "At most %d tasks can run at a time, and all are "
	    "terminated when this server exits. Long output is truncated "
	    "(default: %s) and saved in full to a file named in the result; "
	    "search that file with grep instead of piping commands into head "
	    "or tail. For "
	    "builds and tests, limit: 2000 and truncate: tail are usually "
	    "enough.", o->tasks_max, truncate_words[o->truncate]);
}

static void
describe_task_output(struct buf *b, const struct options *o,
                     const struct caller *r)
{
	(void)o;
	buf_fmt(b, "Returns the status and output of a background task that "
	    "bash started. While the task is running, the result contains "
	    "the last 10000 characters of its output so far. Once the task has "
	    "ended, the next call returns its final output and exit code, then "
	    "removes the task. Instead of polling, set wait: the call "
	    "returns when the task ends, when it prints the text given in "
	    "until, or when the time is up.");
	if (!r->shared)
		buf_fmt(b, " Without task_id, the call lists all tasks.");
}

static void
describe_edit(struct buf *b, const struct options *o, const struct caller *r)
{
	(void)o;
	(void)r;
	buf_fmt(b, "Replaces text in a file, or creates a file. The old "
	    "argument is the text to replace, and new is its replacement. If "
	    "old is omitted, the file is created with new as its content. The "
	    "text to replace must occur exactly once in the file (with all set "
	    "to true: at least once). Both strings are taken literally, "
	    "including tabs, spaces and newlines, so do not use patterns or "
	    "quoting. Include enough surrounding lines in old to make it "
	    "unique. A newline in old also matches CRLF, and the file's line "
	    "endings are preserved. The edit is made in full or not at all, "
	    "and the result shows the lines around each change.");
}

/* -- The tools --------------------------------------------------------- */

#define STRING(name) "\"" name "\":{\"type\":\"string\"}"
#define INTEGER(name) "\"" name "\":{\"type\":\"integer\"}"
/* Properties in the JSON schema for structured data about a command or task */
#define RESULT "\"status\":{\"type\":\"string\",\"enum\":[\"completed\"," \
	"\"running\",\"timed_out\",\"killed\"]}," INTEGER("exit_code") "," \
	STRING("signal") ",\"timed_out\":{\"type\":\"boolean\"}," \
	STRING("note") "," STRING("task_id") "," INTEGER("pid") "," \
	STRING("cwd") "," INTEGER("elapsed_ms") "," STRING("stdout") "," \
	STRING("screen") "," \
	STRING("stderr") "," INTEGER("stdout_chars") "," \
	INTEGER("stderr_chars") "," STRING("stdout_file") "," \
	STRING("stderr_file")

static const struct tool tools[TOOLS] = {
	[BASH] = {
		.name = "bash",
		.title = "Run a shell command",
		.option = offsetof(struct options, bash),
		.purpose = "Runs shell commands on this server's host: builds, "
		    "tests, git, file operations, servers and long jobs. Use "
		    "the bash tool to run each command, and task_output to "
		    "read the output of background tasks.",
		.describe = describe_bash,
		.required = "",
		.output_schema = "\"properties\":{" RESULT "},"
		    "\"required\":[\"status\"]",
		.destroys = true,
		.read = read_bash,
		.put = results_job
	},
	[TASK_OUTPUT] = {
		.name = "task_output",
		.title = "Read a background task",
		.option = offsetof(struct options, bash),
		.describe = describe_task_output,
		.required = "",
		.output_schema = "\"properties\":{" RESULT ","
		    "\"tasks\":{\"type\":\"array\","
		    "\"items\":{\"type\":\"object\"}}}",
		.destroys = false,
		.read = read_task,
		.put = results_job
	},
	[EDIT] = {
		.name = "edit",
		.title = "Edit a file",
		.option = offsetof(struct options, edit),
		.purpose = "Use the edit tool to create and change files on "
		    "this server's host.",
		.describe = describe_edit,
		.required = "\"required\":[\"path\",\"new\"],",
		.output_schema = "\"properties\":{" STRING("status") ","
		    STRING("text") "}",
		.destroys = true,
		.read = read_edit,
		.put = results_edit
	}
};

static const char *
type_name(enum json_type type)
{
	switch (type) {
	case JSON_STRING:
		return "string";
	case JSON_BOOL:
		return "boolean";
	default:
		return "integer";
	}
}

/* Appends the input schema of a tool, as a JSON member. */
static void
put_schema(struct buf *b, int tool)
{
	const struct argument *a;

	buf_fmt(b, ",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
	for (a = arguments; a < arguments + ARGUMENTS; a++) {
		if (!is_listed(a, tool))
			continue;
		json_name(b, a->name);
		buf_fmt(b, "{\"type\":\"%s\"", type_name(a->type));
		json_put(b, "description", a->help[tool]);
		if (a->flags & WORD)
			buf_fmt(b, ",\"enum\":[\"head\",\"tail\",\"both\"]");
		buf_fmt(b, "}");
	}
	buf_fmt(b, "},%s\"additionalProperties\":false}",
	    tools[tool].required);
}

/* Appends a tool to the tools/list result, as a JSON object. */
static void
put_tool(struct buf *b, int tool, struct buf *description, bool data)
{
	const struct tool *t = &tools[tool];

	buf_fmt(b, "{");
	json_put(b, "name", t->name);
	json_put(b, "title", t->title);
	json_put_bytes(b, "description", description->data, description->len);
	put_schema(b, tool);
	if (data)
		buf_fmt(b, ",\"outputSchema\":{\"type\":\"object\",%s}",
		    t->output_schema);
	buf_fmt(b, ",\"annotations\":{\"readOnlyHint\":false,"
	    "\"destructiveHint\":%s},\"_meta\":{"
	    "\"anthropic/maxResultSizeChars\":200000,"
	    "\"anthropic/alwaysLoad\":true}}", t->destroys ? "true" : "false");
}

void
tools_list(struct buf *b, const struct options *o, const struct caller *r)
{
	struct buf description = { NULL, 0, 0 };
	bool first = true;
	int i;

	buf_fmt(b, "[");
	for (i = 0; i < TOOLS; i++) {
		if (!is_offered(o, &tools[i]))
			continue;
		tools[i].describe(&description, o, r);
		/* List the restrictions that the kernel enforces, such as
		 * --no-network, only once: in the description of the first
		 * tool. */
		if (first)
			put_fences(&description, o);
		else
			buf_fmt(b, ",");
		first = false;
		put_tool(b, i, &description, r->data);
		buf_free(&description);
	}
	buf_fmt(b, "]");
}

void
tools_instructions(struct buf *b, const struct options *o)
{
	struct buf text = { NULL, 0, 0 };
	int i;

	for (i = 0; i < TOOLS; i++) {
		if (is_offered(o, &tools[i]) && tools[i].purpose != NULL)
			put_item(&text, " ", tools[i].purpose);
	}
	if (text.len > 0)
		json_put_bytes(b, "instructions", text.data, text.len);
	buf_free(&text);
}

/* Looks up a tool name used by other shell servers. Returns NULL if the name is
 * unknown or the equivalent boris tool is disabled. */
static const struct foreign *
find_foreign(const struct options *o, struct json name)
{
	size_t i, n = sizeof(foreign) / sizeof(foreign[0]);

	for (i = 0; i < n; i++) {
		if (json_is(name, foreign[i].name) &&
		    is_offered(o, &tools[foreign[i].tool]))
			return &foreign[i];
	}
	return NULL;
}

/* Writes an error for an unknown tool. The error lists the enabled tools. */
static void
put_unknown_tool(struct buf *b, const struct options *o, struct json name)
{
	const struct foreign *same = find_foreign(o, name);
	struct buf offered = { NULL, 0, 0 };
	struct snippet start;
	int i;

	for (i = 0; i < TOOLS; i++) {
		if (is_offered(o, &tools[i]))
			put_item(&offered, ", ", tools[i].name);
	}
	snippet(&start, name);
	if (same != NULL)
		buf_fmt(b, "unknown tool %s; use %s instead; available tools: "
		    "%s", start.text, same->use, buf_text(&offered));
	else if (offered.len > 0)
		buf_fmt(b, "unknown tool %s; available tools: %s", start.text,
		    buf_text(&offered));
	else
		buf_fmt(b, "unknown tool %s; no tools are available",
		    start.text);
	buf_free(&offered);
}

const struct tool *
tools_find(const struct options *o, struct json name, struct buf *unknown)
{
	int i;

	for (i = 0; i < TOOLS; i++) {
		if (is_offered(o, &tools[i]) && json_is(name, tools[i].name))
			return &tools[i];
	}
	put_unknown_tool(unknown, o, name);
	return NULL;
}

bool
tools_read(const struct tool *tool, const struct options *o,
           const struct caller *caller, struct json members, struct job **job,
           struct call_request *request, struct buf *error)
{
	struct arg_reader r = { .tools = tools, .tool = (int)(tool - tools),
	    .options = o, .caller = caller, .job = job, .request = request,
	    .error = error };
	int i;

	if (!sort_members(&r, members))
		return false;
	for (i = 0; i < ARGUMENTS; i++) {
		if (is_given(&r, i) && !check_value(&r, i))
			return reject_value(&r, i);
	}
	return tool->read(&r);
}
