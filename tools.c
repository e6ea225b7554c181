#define _POSIX_C_SOURCE 200809L

#include "tools.h"

#include <string.h>

#include "arguments.h"
#include "limits.h"

enum { DIR_SHOWN = 60 };  /* bytes of a directory in a description */

bool
tools_offer(const struct tools_options *o, int tool)
{
	return tool == EDIT ? o->edit : o->bash;
}

/* -- Descriptions ------------------------------------------------------ */

/* In ms. A command that outlives its call goes on, so it gets longer (K2). */
static int64_t
usual_timeout(const struct tools_options *o, const struct reader *r)
{
	return o->timeout > 0 ? o->timeout : r->call_limit > 0 ? TIMEOUT_MOST
	    : TIMEOUT_USUAL;
}

/* What the fences hold, in sentences (F4): the first directory, and how many
 * more there are */
static void
put_fences(struct buf *b, const struct tools_options *o)
{
	const char *dir = o->write;
	size_t len = dir != NULL ? strlen(dir) : 0;
	int more = 0;

	if (dir != NULL) {
		buf_puts(b, " Commands write nowhere but below ");
		json_escaped(b, dir, len < DIR_SHOWN ? len : DIR_SHOWN);
		buf_puts(b, len < DIR_SHOWN ? "" : "...");
		while (*(dir += strlen(dir) + 1) != '\0')
			more++;
		if (more > 0) {
			buf_puts(b, " and ");
			buf_int(b, more);
			buf_puts(b, " more");
		}
		buf_puts(b, ".");
	}
	if (o->no_network)
		buf_puts(b, " Commands reach no network but their own "
		    "loopback.");
	if (o->hidden > 0) {
		buf_puts(b, " Of ");
		buf_int(b, o->hidden);
		buf_puts(b, o->hidden == 1
		    ? " path they see nothing: it is hidden."
		    : " paths they see nothing: they are hidden.");
	}
}

static void
describe_bash(struct buf *b, const struct tools_options *o,
              const struct reader *r, bool shared)
{
	static const char *const kept[] = {
		[TRUNCATE_HEAD] = "its first " SAID(HEAD_FIRST) " and last "
		    SAID(HEAD_LAST) " characters (head)",
		[TRUNCATE_TAIL] = "its last " SAID(TAIL_LINES) " lines or "
		    SAID(TAIL_BYTES) " bytes (tail)",
		[TRUNCATE_BOTH] = "its first " SAID(BOTH_FIRST) " and last "
		    SAID(BOTH_LAST) " characters (both)"
	};

	buf_add(b, "Runs a command in bash (sh where there is none) and "
	    "returns exit code, stdout and stderr. Give exactly one of "
	    "command, input, check_pid, kill_pid. ", shared
	    ? "Each command starts in the server's directory, or in cwd. "
	    "Nothing stays for the next call: put cd, "
	    : "cd and cwd move the working directory for the calls that "
	    "follow. Nothing else stays: put ",
	    "export, or . venv/bin/activate &&, into each command that needs "
	    "it. Calls made together may run in any order: join with && what "
	    "must not. There is no terminal, editor or pager, and stdin is "
	    "empty: use flags such as -y and -m; ", o->edit
	    ? "change or make a file with edit"
	    : "write a file with cat >F and stdin",
	    ". A program that talks back (python, gdb, ssh, a password): "
	    "tty: true; the result comes when it waits for input; answer with "
	    "input and its task_id. An exit code other than 0 is a result, "
	    "not an error. After timeout (default ");
	buf_int(b, usual_timeout(o, r));
	buf_add(b, o->background ?
	    " ms) the command goes on as a background task." :
	    " ms) the command is terminated; what it printed is returned.",
	    " A longer job: run_in_background with wait. A server: "
	    "run_in_background with until, a plain text that it prints when "
	    "ready. Read tasks with task_output, end them with kill_pid",
	    shared ? " and task_id" : "", ". At most " SAID(TASKS_MOST)
	    " run at a time; all end with this server. Long output is cut, by "
	    "default to ", kept[o->truncate],
	    ", and all of it is saved in a file that the result names: do "
	    "not pipe into head or tail, grep that file. For builds and tests "
	    "limit: 2000 with truncate: tail is mostly enough.");
	put_fences(b, o);
}

static void
describe_task_output(struct buf *b, const struct tools_options *o,
                     const struct reader *r, bool shared)
{
	(void)o, (void)r;
	buf_add(b, "Output and status of a background task of bash",
	    shared ? "" : ", or without task_id the list of all tasks",
	    ". While it runs: the last " SAID(LOOK_LAST) " characters so far. "
	    "When it has ended: its final output and exit code, once; then the "
	    "task is forgotten. Do not poll: set wait, and the answer comes "
	    "when the task has ended, or until has been printed, or the time "
	    "is up.");
}

static void
describe_edit(struct buf *b, const struct tools_options *o,
              const struct reader *r, bool shared)
{
	(void)r, (void)shared;
	buf_puts(b, "Changes a file: replaces old, which must stand in it "
	    "exactly once (with all: at least once), by new; without old it "
	    "makes the file. Both are taken as they are, with tabs, spaces and "
	    "newlines: no patterns, no quoting. Give as many lines of old as "
	    "it takes to name one place. A newline stands for CRLF too. The "
	    "change is made whole or not at all; the result shows the lines "
	    "around it.");
	if (!o->bash)
		put_fences(b, o);
}

/* -- The tools --------------------------------------------------------- */

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

static const char edit_schema[] =
	",\"outputSchema\":{\"type\":\"object\",\"properties\":{"
	STRING("status") "," STRING("text") "}}";

/* A tool is a row. */
static const struct tool {
	const char *title;
	const char *does;         /* what other shells have tools for */
	void (*describe)(struct buf *, const struct tools_options *,
	    const struct reader *, bool shared);
	const char *schema, *schema_end;  /* of its results */
	const char *annotations;
} tools[TOOLS] = {
	[BASH] = { "Run a shell command",
	    " (run_in_background starts a task, input types into it, kill_pid "
	    "ends it)", describe_bash,
	    output_schema, "},\"required\":[\"status\"]}",
	    "\"readOnlyHint\":false,\"destructiveHint\":true,"
	    "\"idempotentHint\":false,\"openWorldHint\":true" },
	[TASK_OUTPUT] = { "Read a background task", " (reads a task)",
	    describe_task_output, output_schema, ",\"tasks\":{\"type\":"
	    "\"array\",\"items\":{\"type\":\"object\"}}}}",
	    "\"readOnlyHint\":true,\"openWorldHint\":false" },
	[EDIT] = { "Edit a file", " (changes or makes a file)",
	    describe_edit, edit_schema, "",
	    "\"readOnlyHint\":false,\"destructiveHint\":true,"
	    "\"idempotentHint\":false,\"openWorldHint\":false" }
};

void
tools_list(struct buf *b, const struct tools_options *o,
           const struct reader *r, bool shared)
{
	const char *before = "[";
	int i;

	for (i = 0; i < TOOLS; i++) {
		if (!tools_offer(o, i))
			continue;
		buf_add(b, before, "{\"name\":\"", tool_names[i],
		    "\",\"title\":\"", tools[i].title,
		    "\",\"description\":\"");
		tools[i].describe(b, o, r, shared);
		arguments_schema(b, i);
		if (r->data)
			buf_add(b, tools[i].schema, tools[i].schema_end);
		buf_add(b, ",\"annotations\":{", tools[i].annotations,
		    "},\"_meta\":{\"anthropic/maxResultSizeChars\":200000,"
		    "\"anthropic/alwaysLoad\":true}}");
		before = ",";
	}
	buf_puts(b, before[0] == '[' ? "[]" : "]");
}

void
tools_names(struct buf *b, const struct tools_options *o)
{
	const char *before = o->bash ? "; there are " : "; there is ";
	int i;

	for (i = 0; i < TOOLS; i++) {
		if (!tools_offer(o, i))
			continue;
		buf_add(b, before, tool_names[i], tools[i].does);
		before = o->edit && i == BASH ? ", " : " and ";
	}
}

void
tools_read(const struct tools_options *o, const struct reader *r,
           struct json name, struct json members, struct tools_call *call,
           struct buf *refusal)
{
	int tool = 0;

	memset(call, 0, sizeof(*call));
	while (tool < TOOLS && !json_is(name, tool_names[tool]))
		tool++;
	if (tool == TOOLS || !tools_offer(o, tool))
		return;
	call->action = TOOLS_RUN;
	call->job.timeout = usual_timeout(o, r);
	if (!arguments_read(o, tool, r->client->adds, members, call, refusal))
		call->action = TOOLS_REFUSED;
}

void
tools_call_free(struct tools_call *call)
{
	job_request_free(&call->job);
	buf_free(&call->id);
	buf_free(&call->input);
	buf_free(&call->until);
}
