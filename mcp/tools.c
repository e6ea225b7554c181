#define _POSIX_C_SOURCE 200809L

#include "mcp/tools.h"

#include <string.h>

#include "base/text.h"
#include "session/edit.h"

enum {
	SNIPPET = 80,          /* bytes of a value, or a name, that are shown */
	NAMES_TOLD = 10,       /* unknown names of one call (P4) */
	DESCRIBED_MOST = 1480, /* bytes; then no further --write name (F4) */
	WAIT_UNTIL = 30000,    /* ms; of a wait with `until` (W2) */
	WAIT_BLOCK = 30000,    /* ms; of one with `block` and no timeout */
	WAIT_TERMINAL = 10000  /* ms; of one for a terminal (W2) */
};

enum { BASH, TASK_OUTPUT, EDIT, TOOLS };

static bool
is_offered(const struct options *o, const struct tool *t)
{
	return *(const int64_t *)(const void *)((const char *)o + t->option);
}

/* -- Arguments --------------------------------------------------------- */

enum {
	COMMAND, TIMEOUT, IN_BACKGROUND, TTY, INPUT, CHECK_PID, KILL_PID,
	TASK_ID, WAIT, BLOCK, UNTIL, NEW, CWD, STDIN, TRUNCATE, LIMIT,
	DESCRIPTION, PATH, OLD, NEW_TEXT, ALL, ARGUMENTS
};

enum {
	EMPTY = 1,      /* the empty value of its type ("", 0, false) is one.
	                 * Otherwise "", 0, false, [] and {} count as absent,
	                 * because some clients fill in all arguments (P4) */
	HANDLE = 2,     /* it names a task, by its id or its pid, as returned */
	NAME = 4,       /* of a file: `most` counts bytes; it has no NUL */
	LINE = 8,       /* it has no newline */
	COMMAND_TEXT = 16,  /* it is not blank, and has no NUL */
	TYPED = 32,     /* it goes with `input` (I2) */
	WORD = 64,      /* it is one of truncate_words[] */
	REQUIRED = 128, /* only null counts as absent */
	UNLISTED = 256  /* it is accepted, but not in the schema */
};

/* The words of TRUNCATE_HEAD and so on */
static const char *const truncate_words[] = { "head", "tail", "both" };

/* What an argument should be, and what the model is told of it by bash,
 * task_output and edit. The numbers in these texts are those of options.h. */
static const struct argument {
	const char *name;
	unsigned char type;    /* enum json_type */
	unsigned short flags;  /* those above */
	short least;           /* of an integer, or of a string's characters */
	int most;              /* the same; 0: no bound */
	const char *says[TOOLS];  /* NULL: it is not taken */
	const char *right;     /* what it should be, beside its type; or NULL */
	/* The name that models know it by from other tools (P4): accepted, but
	 * not in the schema; or NULL. */
	const char *also[TOOLS];
} arguments[ARGUMENTS] = {
	[COMMAND] = { "command", JSON_STRING, COMMAND_TEXT, .says = {
	    "What to run" }, .right = " that is not blank and has no NUL "
	    "character (\\0 for printf)" },
	[TIMEOUT] = { "timeout", JSON_NUMBER, 0, 1, 0, { "Milliseconds until "
	    "it is terminated, at most 600000; of a task at most 86400000, "
	    "default none" },
	    .right = " of milliseconds from 1 to 600000 (task: 86400000)" },
	[IN_BACKGROUND] = { "run_in_background", JSON_BOOL, .says = {
	    "true: start a task, return at once or after wait or until" } },
	[TTY] = { "tty", JSON_BOOL, .says = {
	    "true: start a task with a terminal, to talk to a program" } },
	[INPUT] = { "input", JSON_STRING, EMPTY | TYPED, .says = { "Instead of "
	    "command, with task_id: type this into its terminal (\\n is "
	    "Enter, \\u0003 Ctrl-C, \\u0004 end of file), return what it "
	    "prints" } },
	[CHECK_PID] = { "check_pid", JSON_NUMBER, HANDLE, .says = {
	    "Instead of command: look at the task of this pid" } },
	[KILL_PID] = { "kill_pid", JSON_NUMBER, HANDLE, .says = {
	    "Instead of command: end the task of this pid" } },
	[TASK_ID] = { "task_id", JSON_STRING, HANDLE | TYPED, .says = { "The "
	    "task to type into or that of check_pid or kill_pid, where its "
	    "start asks for it", "As bash has returned it" } },
	[WAIT] = { "wait", JSON_NUMBER, EMPTY | TYPED, .says = { "For a task: "
	    "milliseconds to wait (default 0; with tty or input 10000, with "
	    "until 30000)", "Milliseconds to wait for "
	    "its end, or with new for new output, at most 600000 (default 0)" },
	    .right = " of milliseconds from 0 to 600000",
	    .also = { [TASK_OUTPUT] = "timeout" } },
	[BLOCK] = { "block", JSON_BOOL, EMPTY | UNLISTED, .says = {
	    [TASK_OUTPUT] = "false: do not wait" } },
	[UNTIL] = { "until", JSON_STRING, LINE | TYPED, 1, 1000, { "With "
	    "command (implies run_in_background), tty or input: return when "
	    "this text has been printed", "Wait until this text has been "
	    "printed since the last look (default of wait: 30000)" },
	    .right = " of 1 to 1000 characters in a line" },
	[NEW] = { "new", JSON_BOOL, .says = {
	    [TASK_OUTPUT] = "true: only what is new since the last look" } },
	[CWD] = { "cwd", JSON_STRING, NAME, 1, PATH_MOST,
	    { "Directory of this call only; with an absolute one it runs in "
	    "parallel; ~ and variables are not expanded" },
	    " of at most 4096 bytes, the name of a directory",
	    { "workdir" } },
	[STDIN] = { "stdin", JSON_STRING, .says = {
	    "What the command reads as standard input" } },
	[TRUNCATE] = { "truncate", JSON_STRING, WORD | TYPED, .says = {
	    "Which part of long output to return", "As in bash" },
	    .right = ", one of head, tail and both" },
	[LIMIT] = { "limit", JSON_NUMBER, TYPED, 200, 100000,
	    { "At most so many characters of each stream", "As in bash" },
	    .right = " from 200 to 100000" },
	[DESCRIPTION] = { "description", JSON_STRING, TYPED, .says = {
	    "What it is for, in short, for the list of tasks" } },
	[PATH] = { "path", JSON_STRING, NAME | REQUIRED, 1, PATH_MOST, {
	    [EDIT] = "The file, absolute or in the working directory" },
	    " of at most 4096 bytes, the name of a file",
	    { [EDIT] = "file_path" } },
	[OLD] = { "old", JSON_STRING, .says = {
	    [EDIT] = "The text to replace, exactly as it stands there" },
	    .also = { [EDIT] = "old_string" } },
	[NEW_TEXT] = { "new", JSON_STRING, REQUIRED, .says = {
	    [EDIT] = "What comes in its place, or the whole new file" },
	    .also = { [EDIT] = "new_string" } },
	[ALL] = { "all", JSON_BOOL, .says = {
	    [EDIT] = "true: replace it wherever it stands" },
	    .also = { [EDIT] = "replace_all" } }
};

/* What other shells' tools are called, and what does it here (P4) */
static const struct foreign {
	const char *name;
	int tool;              /* this one, */
	const char *how;       /* used so */
} foreign[] = {
	{ "Bash", BASH, "" },
	{ "exec_command", BASH, "" },
	{ "shell", BASH, "" },
	{ "BashOutput", TASK_OUTPUT, "" },
	{ "TaskOutput", TASK_OUTPUT, "" },
	{ "KillShell", BASH, " with kill_pid" },
	{ "KillBash", BASH, " with kill_pid" },
	{ "TaskStop", BASH, " with kill_pid" },
	{ "write_stdin", BASH, " with input and task_id" }
};

/* A call whose arguments are being read. The functions that read return false
 * if one is wrong, and the refusal says which. */
struct reading {
	const struct tool *tools;  /* all of them; which is called: */
	int tool;
	const struct options *options;
	const struct caller *caller;
	struct json given[ARGUMENTS];
	struct json name[ARGUMENTS];  /* as it was given */
	int64_t number[ARGUMENTS];  /* an integer, or the place among words */
	struct job **job;
	struct want *want;
	struct buf *refusal;
};

/* ms. At its call's limit a command becomes a task: so it can be long (K2). */
static int64_t
usual_timeout(const struct options *o, const struct caller *r)
{
	return o->timeout > 0 ? o->timeout
	    : r->call_limit > 0 ? TIMEOUT_MOST : TIMEOUT_USUAL;
}

static bool
is_given(const struct reading *r, int argument)
{
	return r->given[argument].text != NULL;
}

#define refuse_call(r, ...) (buf_add((r)->refusal, __VA_ARGS__), false)

static bool
must_have(struct reading *r, int argument)
{
	const struct argument *a = &arguments[argument];

	return is_given(r, argument) || refuse_call(r, "argument \"", a->name,
	    "\" is missing: ", a->says[r->tool]);
}

/* The start of a value; json_string() mends a character that is cut. */
static void
put_snippet(struct buf *b, struct json value)
{
	buf_put(b, value.text, value.len < SNIPPET ? value.len : SNIPPET);
	buf_add(b, value.len > SNIPPET ? "..." : "");
}

/* 'argument "timeout" must be X, not Y' */
static bool
refuse_value(struct reading *r, int argument)
{
	const struct argument *a = &arguments[argument];

	buf_add(r->refusal, "argument ");
	put_snippet(r->refusal, r->name[argument]);
	buf_add(r->refusal, " must be ", a->type == JSON_BOOL ? "true or false"
	    : a->type == JSON_NUMBER ? "an integer" : "a string",
	    a->flags & HANDLE ? ", as bash has returned it"
	    : a->right != NULL ? a->right : "", ", not ");
	put_snippet(r->refusal, r->given[argument]);
	return false;
}

/* Refuses two names that mean the same argument. */
static bool
refuse_both(struct reading *r, struct json one, struct json other)
{
	buf_free(r->refusal);
	put_snippet(r->refusal, one);
	buf_add(r->refusal, " and ");
	put_snippet(r->refusal, other);
	return refuse_call(r, " mean the same argument; give one of them");
}

/* Finds the argument of that name among those that the tool accepts; returns
 * ARGUMENTS if there is none. */
static int
find_argument(struct json name, int tool)
{
	const struct argument *a;
	int i;

	for (i = 0; i < ARGUMENTS; i++) {
		a = &arguments[i];
		if (a->says[tool] == NULL)
			continue;
		if (json_is(name, a->name))
			break;
		if (a->also[tool] != NULL && json_is(name, a->also[tool]))
			break;
	}
	return i;
}

/* Is it in the tool's schema? */
static bool
is_listed(const struct argument *a, int tool)
{
	return a->says[tool] != NULL && !(a->flags & UNLISTED);
}

/* Adds an argument that the tool does not take, and which tool here does. */
static void
add_unknown(struct reading *r, struct json name)
{
	int other = 0;

	buf_add(r->refusal, r->refusal->len == 0 ? "unknown argument " : ", ");
	put_snippet(r->refusal, name);
	while (other < TOOLS && (!is_offered(r->options, &r->tools[other]) ||
	    find_argument(name, other) == ARGUMENTS))
		other++;
	if (other < TOOLS)
		buf_add(r->refusal, ", which ", r->tools[other].name, " takes");
}

/* "5000" counts as 5000, and "true" as true (P4). */
static struct json
unquoted(struct json value, enum json_type type)
{
	struct json inner;

	if (json_type(value) != JSON_STRING || value.len < 3)
		return value;
	inner = json_check(value.text + 1, value.len - 2);
	return json_type(inner) == type ? inner : value;
}

/* Is it of its type, and a number within its bounds? */
static bool
is_right(struct reading *r, int i)
{
	const struct argument *a = &arguments[i];
	struct json value = r->given[i];
	int64_t *n = &r->number[i];

	if (a->flags & HANDLE)
		return json_int(value, n) || json_type(value) == JSON_STRING;
	if (a->type == JSON_NUMBER)
		return json_int(value, n) && *n >= a->least &&
		    (a->most == 0 || *n <= a->most);
	while (a->flags & WORD && *n < 3 && !json_is(value, truncate_words[*n]))
		++*n;
	return json_type(value) == a->type && *n < 3;
}

/* Is it "", 0, false, [] or {}? A number with an exponent is not: it may be a
 * task's id, such as 0e123456. */
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

/* Does the value count as if the argument were absent (P4)? */
static bool
counts_as_absent(const struct argument *a, struct json value)
{
	bool has_meaning = a->flags & EMPTY && json_type(value) == a->type;

	if (json_type(value) == JSON_NULL)
		return true;
	if (a->flags & REQUIRED || has_meaning)
		return false;
	return is_blank(value);
}

/* Notes a member as given[i], unless it counts as absent. Of members of the
 * same name the last one counts. Two names of one argument are an error. */
static bool
take_member(struct reading *r, int i, struct json name, struct json value)
{
	const struct argument *a = &arguments[i];
	enum json_type type = a->flags & HANDLE ? JSON_NUMBER
	    : (enum json_type)a->type;
	bool renamed = is_given(r, i) && !json_equal(r->name[i], name);

	value = unquoted(value, type);
	if (counts_as_absent(a, value)) {
		if (!renamed)
			r->given[i].text = NULL;
		return true;
	}
	if (renamed)
		return refuse_both(r, r->name[i], name);
	r->given[i] = value;
	r->name[i] = name;
	return true;
}

/* Sorts the members into given[]. One that the client has added of its own
 * accord is dropped (K1). */
static bool
sort_members(struct reading *r, struct json members)
{
	const char *added = r->caller->client->adds, *before = " takes ";
	struct json name, value;
	size_t at = 0;
	int i, unknown = 0;

	while (json_next(members, &at, &name, &value)) {
		i = find_argument(name, r->tool);
		if (i < ARGUMENTS && !take_member(r, i, name, value))
			return false;
		if (i < ARGUMENTS)
			continue;
		if ((added == NULL || !json_is(name, added)) &&
		    unknown++ < NAMES_TOLD)
			add_unknown(r, name);
	}
	if (unknown == 0)
		return true;
	buf_add(r->refusal, "; ", r->tools[r->tool].name);
	for (i = 0; i < ARGUMENTS; i++) {
		if (is_listed(&arguments[i], r->tool)) {
			buf_add(r->refusal, before, arguments[i].name);
			before = ", ";
		}
	}
	return false;
}

/* Decodes a string, if it is given, and looks at its bounds. */
static bool
take_text(struct reading *r, int i, struct buf *b)
{
	const struct argument *a = &arguments[i];

	if (!is_given(r, i))
		return true;
	if (!json_decode(r->given[i], b))
		return refuse_call(r, "out of memory for ", a->name);
	if ((a->least > 0 && b->len == 0) ||
	    (a->most > 0 && (a->flags & NAME ? b->len > (size_t)a->most
	    : utf8_cut(b, a->most) < b->len)) ||
	    (a->flags & LINE && buf_has(b, '\n')) ||
	    (a->flags & (NAME | COMMAND_TEXT) && buf_has(b, '\0')) ||
	    (a->flags & COMMAND_TEXT &&
	    strspn(buf_text(b), " \t\n\r\v\f") == b->len))
		return refuse_value(r, i);
	return true;
}

static bool
take_path(struct reading *r, int argument, char **name)
{
	struct buf b = { NULL, 0, 0 };
	bool taken = take_text(r, argument, &b);

	if (is_given(r, argument))
		*name = buf_text(&b);
	return taken;
}

/* `wait` and `until` of any tool (W2, W3) */
static bool
take_wait(struct reading *r, int64_t usual)
{
	struct want *w = r->want;

	w->time = is_given(r, WAIT) ? r->number[WAIT]
	    : is_given(r, UNTIL) ? WAIT_UNTIL : usual;
	if (w->time > WAIT_MOST)
		w->time = WAIT_MOST;
	return take_text(r, UNTIL, &w->until);
}

/* `truncate` and `limit` of a call that reads a task */
static void
take_bounds(struct reading *r)
{
	struct want *w = r->want;

	w->truncates = is_given(r, TRUNCATE);
	w->truncate = (enum truncate)r->number[TRUNCATE];
	w->limit = is_given(r, LIMIT) ? r->number[LIMIT] : 0;
}

/* The task that task_id names, or else argument `pid`: check_pid or kill_pid.
 * Each may be a string, and have an id or a pid in it (T1). */
static bool
take_handle(struct reading *r, int pid)
{
	int id = is_given(r, TASK_ID) ? TASK_ID : pid;

	r->want->pid = r->number[pid];
	if (json_type(r->given[id]) != JSON_STRING)
		json_verbatim(r->given[id], &r->want->id);
	return take_text(r, id, &r->want->id);
}

/* What is to be run */
static bool
read_command(struct reading *r, bool background)
{
	struct job *job = *r->job = job_new(r->options);
	bool terminal = json_true(r->given[TTY]);
	int64_t most = background ? TASK_TIMEOUT_MOST : TIMEOUT_MOST;

	if (is_given(r, TASK_ID))
		return refuse_call(r, "task_id does not go with command; to "
		    "read a task use task_output, to type into it input");
	if (terminal && is_given(r, STDIN))
		return refuse_call(r, "stdin does not go with tty; give input "
		    "with the task_id that the start returns");
	job->background = background;
	job->timeout = is_given(r, TIMEOUT) ? r->number[TIMEOUT]
	    : background ? 0 : usual_timeout(r->options, r->caller);
	job->capped = job->timeout > most;
	if (job->capped)
		job->timeout = most;
	job->bounds.how = is_given(r, TRUNCATE)
	    ? (enum truncate)r->number[TRUNCATE] : r->options->truncate;
	job->bounds.limit = r->number[LIMIT];
	job->exec.terminal = terminal;
	job->exec.env = terminal ? ENV_TERMINAL : background ? ENV_TASK
	    : ENV_COMMAND;
	job->exec.has_input = is_given(r, STDIN);
	if (!take_text(r, COMMAND, &job->exec.text) ||
	    !take_text(r, STDIN, &job->exec.input) ||
	    !take_text(r, DESCRIPTION, &job->description) ||
	    !take_path(r, CWD, &job->cwd))
		return false;
	job->description.len = utf8_cut(&job->description, COMMAND_SHOWN);
	buf_shrink(&job->description);
	return take_wait(r, terminal ? WAIT_TERMINAL : 0);
}

/* What is to be typed (I2) */
static bool
read_input(struct reading *r)
{
	int i;

	for (i = 0; i < ARGUMENTS; i++) {
		if (is_given(r, i) && !(arguments[i].flags & TYPED))
			return refuse_call(r, arguments[i].name, " does not go "
			    "with input, which takes task_id, wait, until, "
			    "truncate, limit and description");
	}
	r->want->action = WANT_TYPE;
	r->want->only_new = true;
	take_bounds(r);
	return must_have(r, TASK_ID) && take_handle(r, TASK_ID) &&
	    take_text(r, INPUT, &r->want->input) && take_wait(r, WAIT_TERMINAL);
}

static bool
read_bash(struct reading *r)
{
	static const int ways[] = { COMMAND, INPUT, CHECK_PID, KILL_PID };
	bool runs = is_given(r, COMMAND), ends = is_given(r, KILL_PID);
	int i, n = 0;
	bool background = runs && (json_true(r->given[IN_BACKGROUND]) ||
	    json_true(r->given[TTY]) || is_given(r, UNTIL));
	bool types = is_given(r, TASK_ID) && !runs && !ends &&
	    !is_given(r, CHECK_PID);

	/* An empty input reads a terminal, unless it was only filled in. */
	if (!types && json_is(r->given[INPUT], ""))
		r->given[INPUT].text = NULL;
	for (i = 0; i < 4; i++) {
		if (is_given(r, ways[i]))
			buf_add(r->refusal, n++ > 0 ? " and " : "",
			    arguments[ways[i]].name);
	}
	if (n != 1)
		return refuse_call(r, n == 0 ? "none" : "", " given; give "
		    "exactly one of command, input, check_pid and kill_pid",
		    n == 0 && is_given(r, TASK_ID)
		    ? "; to read a task use task_output" : "");
	buf_free(r->refusal);
	if (is_given(r, INPUT))
		return read_input(r);
	if (!runs && (is_given(r, UNTIL) || r->number[WAIT] > 0))
		return refuse_call(r, "wait and until do not go with "
		    "check_pid and kill_pid; use task_output");
	/* In the foreground a wait of 0 was only filled in. */
	if (!background && r->number[WAIT] > 0)
		return refuse_call(r, "wait goes with until, with "
		    "run_in_background: true, tty: true or input, or in "
		    "task_output");
	if (runs)
		return read_command(r, background);
	take_bounds(r);
	r->want->action = ends ? WANT_KILL : WANT_LOOK;
	r->want->only_new = ends;
	r->want->by_pid = true;
	return take_handle(r, ends ? KILL_PID : CHECK_PID);
}

static bool
read_task(struct reading *r)
{
	bool listed = !is_given(r, TASK_ID);
	bool blocks = json_true(r->given[BLOCK]);

	if (is_given(r, BLOCK) && is_given(r, WAIT) &&
	    json_is(r->name[WAIT], "wait"))
		return refuse_both(r, r->name[WAIT], r->name[BLOCK]);
	/* Where many clients share the server ids are secrets (H6). */
	if (listed && r->caller->shared)
		return must_have(r, TASK_ID);
	if (listed && (is_given(r, UNTIL) || is_given(r, NEW)))
		return refuse_call(r, is_given(r, UNTIL) ? "until" : "new",
		    " goes with task_id; without it all tasks are listed");
	r->want->action = listed ? WANT_LIST : WANT_LOOK;
	r->want->only_new = json_true(r->given[NEW]);
	take_bounds(r);
	if (!listed && !take_handle(r, TASK_ID))
		return false;
	if (!take_wait(r, blocks ? WAIT_BLOCK : 0))
		return false;
	/* Without block a timeout says nothing. */
	if (is_given(r, BLOCK) && !blocks)
		r->want->time = 0;
	return true;
}

static bool
read_edit(struct reading *r)
{
	struct job *job = *r->job = job_new(r->options);
	struct edit *e = mem_get(sizeof(*e));

	job->do_work = edit_run;
	job->work = e;
	job->free_work = edit_free;
	e->makes = !is_given(r, OLD);
	e->all = json_true(r->given[ALL]);
	if (!must_have(r, PATH) || !must_have(r, NEW_TEXT))
		return false;
	if (json_equal(r->given[OLD], r->given[NEW_TEXT]))
		return refuse_call(r, "old must not equal new; omit old to "
		    "create a file");
	if (!take_text(r, OLD, &e->old) || !take_text(r, NEW_TEXT, &e->new) ||
	    !take_path(r, PATH, &e->path))
		return false;
	job->work_bytes = e->old.cap + e->new.cap + strlen(e->path);
	return true;
}

/* Names the directories of --write, as many as fit in the description. Each is
 * named in full, since the start of a path is not a path (F4). */
static void
put_writable(struct buf *b, const struct options *o)
{
	const char *at, *before = o->bash ? " Commands write nowhere but below "
	    : " Files are changed nowhere but below ";
	int named = 0, left = 0;
	size_t len;

	for (at = o->write; *at != '\0'; at += len + 1) {
		len = strlen(at);
		if (b->len + strlen(before) + len > DESCRIBED_MOST) {
			left++;
			continue;
		}
		buf_add(b, before, at);
		before = ", ";
		named++;
	}
	if (named == 0)
		buf_add(b, before, NUM(left), " directories, whose names are "
		    "too long for this description.");
	else if (left > 0)
		buf_add(b, " and ", NUM(left), " more.");
	else
		buf_add(b, ".");
}

/* Describes the fences, in sentences (F4). */
static void
put_fences(struct buf *b, const struct options *o)
{
	int hidden = 0;
	const char *at;

	for (at = o->hide; at != NULL && *at != '\0'; at += strlen(at) + 1)
		hidden++;
	if (o->no_network && o->bash)
		buf_add(b, " Commands reach no network but their own "
		    "loopback.");
	if (hidden > 0 && !o->bash)
		buf_add(b, " Hidden paths: ", NUM(hidden), ".");
	else if (hidden > 0)
		buf_add(b, " Of ", NUM(hidden), hidden == 1
		    ? " path they see nothing: it is hidden."
		    : " paths they see nothing: they are hidden.");
	if (o->write != NULL)
		put_writable(b, o);
}

static void
describe_bash(struct buf *b, const struct options *o, const struct caller *r)
{
	buf_add(b, "Give exactly one of command, input, check_pid, kill_pid. ",
	    r->shared
	    ? "Each command starts in the server's directory, or in cwd. "
	    "Nothing stays for the next call: put cd, "
	    : "cd moves the working directory for the calls that follow; cwd "
	    "applies to one call only. Calls with an absolute cwd run in "
	    "parallel and wait for no other call. Nothing else stays: put ",
	    "export, or . venv/bin/activate &&, into each command that needs "
	    "it. Calls made together may run in any order: join with && what "
	    "must not. There is no terminal, editor or pager, and stdin is "
	    "empty: use flags such as -y and -m; ", o->edit
	    ? "change or make a file with edit"
	    : "write a file with cat >F and stdin",
	    ". A program that talks back (python, gdb, ssh, a password): "
	    "tty: true; the result comes when it waits for input; answer with "
	    "input and its task_id. An exit code other than 0 is a result, "
	    "no error. After timeout (default ", NUM(usual_timeout(o, r)),
	    o->on_timeout ? " ms) the command goes on as a background task."
	    : " ms) the command is terminated.",
	    " A longer job: run_in_background with wait. A server: "
	    "until, a plain text that it prints when ready. Read tasks with "
	    "task_output, end them with kill_pid",
	    r->shared ? " and task_id" : "", ". At most ", NUM(o->tasks_most),
	    " run at a time; all end with this server. Long output is cut "
	    "(truncate: ", truncate_words[o->truncate], "), and saved whole "
	    "in a file that the result names: grep that, do not pipe into "
	    "head or tail. For builds and tests limit: 2000 with truncate: "
	    "tail is mostly enough.");
}

static void
describe_task(struct buf *b, const struct options *o, const struct caller *r)
{
	(void)o;
	buf_add(b, r->shared ? "" : " Without task_id: the list of all tasks.");
}

/* -- The tools --------------------------------------------------------- */

#define STRING(name) "\"" name "\":{\"type\":\"string\"}"
#define INTEGER(name) "\"" name "\":{\"type\":\"integer\"}"
#define RESULT "\"status\":{\"type\":\"string\",\"enum\":[\"completed\"," \
	"\"running\",\"timed_out\",\"killed\"]}," INTEGER("exit_code") "," \
	STRING("signal") ",\"timed_out\":{\"type\":\"boolean\"}," \
	STRING("note") "," STRING("task_id") "," INTEGER("pid") "," \
	STRING("cwd") "," INTEGER("elapsed_ms") "," STRING("stdout") "," \
	STRING("stderr") "," INTEGER("stdout_chars") "," \
	INTEGER("stderr_chars") "," STRING("stdout_file") "," \
	STRING("stderr_file")

static const struct tool tools[TOOLS] = {
	[BASH] = { "bash", "Run a shell command",
	    offsetof(struct options, bash),
	    "Runs shell commands on the host of this server: builds, tests, "
	    "git, files, servers, long jobs. Use the tool bash for each "
	    "command, and task_output for what runs in the background.",
	    "Runs a command in bash (or sh) and returns exit code, stdout and "
	    "stderr. ", describe_bash, "", RESULT, "},\"required\":"
	    "[\"status\"]", true, read_bash, results_job },
	[TASK_OUTPUT] = { "task_output", "Read a background task",
	    offsetof(struct options, bash), NULL,
	    "Output and status of a background task of bash. While it runs: "
	    "the last 10000 characters so far. When it has ended: its final "
	    "output and exit code, once; then the task is forgotten. Do not "
	    "poll: set wait, and the answer comes when the task has ended, or "
	    "until has been printed, or the time is up.", describe_task, "",
	    RESULT,
	    ",\"tasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}",
	    false, read_task, results_job },
	[EDIT] = { "edit", "Edit a file", offsetof(struct options, edit),
	    "Use the tool edit to change files on the host of this server.",
	    "Changes a file: replaces old, which must stand in it exactly "
	    "once (with all: at least once), by new; without old it makes the "
	    "file. Both are taken as they are, with tabs, spaces and "
	    "newlines: no patterns, no quoting. Give as many lines of old as "
	    "it takes to name one place. A newline stands for CRLF too. The "
	    "change is made whole or not at all; the result shows the lines "
	    "around it.", NULL, "\"required\":[\"path\",\"new\"],",
	    STRING("status"), "," STRING("text") "}", true, read_edit,
	    results_edit }
};

static void
put_schema(struct buf *b, int tool)
{
	const struct argument *a;

	buf_add(b, ",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
	for (a = arguments; a < arguments + ARGUMENTS; a++) {
		if (!is_listed(a, tool))
			continue;
		json_name(b, a->name);
		buf_add(b, "{\"type\":", a->type == JSON_STRING ? "\"string\""
		    : a->type == JSON_BOOL ? "\"boolean\"" : "\"integer\"");
		json_put(b, "description", a->says[tool]);
		buf_add(b, a->flags & WORD
		    ? ",\"enum\":[\"head\",\"tail\",\"both\"]}" : "}");
	}
	buf_add(b, "},", tools[tool].required,
	    "\"additionalProperties\":false}");
}

void
tools_list(struct buf *b, const struct options *o, const struct caller *r)
{
	const struct tool *t;
	const char *before = "[";
	struct buf text = { NULL, 0, 0 };
	int i;

	for (i = 0; i < TOOLS; i++) {
		t = &tools[i];
		if (!is_offered(o, t))
			continue;
		buf_add(&text, t->description);
		if (t->describe != NULL)
			t->describe(&text, o, r);
		/* The first one tells of the fences. */
		if (*before == '[')
			put_fences(&text, o);
		buf_add(b, before, "{");
		json_put(b, "name", t->name);
		json_put(b, "title", t->title);
		json_put_bytes(b, "description", text.data, text.len);
		buf_free(&text);
		put_schema(b, i);
		if (r->data)
			buf_add(b, ",\"outputSchema\":{\"type\":\"object\","
			    "\"properties\":{", t->schema, t->more, "}");
		buf_add(b, ",\"annotations\":{\"readOnlyHint\":false,"
		    "\"destructiveHint\":", t->destroys ? "true" : "false",
		    "},\"_meta\":{\"anthropic/maxResultSizeChars\":200000,"
		    "\"anthropic/alwaysLoad\":true}}");
		before = ",";
	}
	buf_add(b, *before == '[' ? "[]" : "]");
}

void
tools_instructions(struct buf *b, const struct options *o)
{
	struct buf text = { NULL, 0, 0 };
	int i;

	for (i = 0; i < TOOLS; i++) {
		if (!is_offered(o, &tools[i]) || tools[i].purpose == NULL)
			continue;
		buf_add(&text, text.len > 0 ? " " : "", tools[i].purpose);
	}
	if (text.len > 0)
		json_put_bytes(b, "instructions", text.data, text.len);
	buf_free(&text);
}

const struct tool *
tools_find(const struct options *o, struct json name, struct buf *unknown)
{
	const char *before = "; there is ";
	size_t i, n = sizeof(foreign) / sizeof(foreign[0]);

	for (i = 0; i < TOOLS; i++) {
		if (is_offered(o, &tools[i]) && json_is(name, tools[i].name))
			return &tools[i];
	}
	buf_add(unknown, "Unknown tool: ");
	put_snippet(unknown, name);
	for (i = 0; i < n; i++) {
		const struct tool *tool = &tools[foreign[i].tool];

		if (is_offered(o, tool) && json_is(name, foreign[i].name))
			buf_add(unknown, ": it is ", tool->name,
			    foreign[i].how, " here");
	}
	for (i = 0; i < TOOLS; i++) {
		if (is_offered(o, &tools[i])) {
			buf_add(unknown, before, tools[i].name);
			before = " and ";
		}
	}
	return NULL;
}

bool
tools_read(const struct tool *tool, const struct options *o,
           const struct caller *caller, struct json members, struct job **job,
           struct want *want, struct buf *refusal)
{
	struct reading r = { .tools = tools, .tool = (int)(tool - tools),
	    .options = o, .caller = caller, .job = job, .want = want,
	    .refusal = refusal };
	int i;

	if (!sort_members(&r, members))
		return false;
	for (i = 0; i < ARGUMENTS; i++) {
		if (is_given(&r, i) && !is_right(&r, i))
			return refuse_value(&r, i);
	}
	return tool->read(&r);
}
