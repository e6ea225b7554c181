#define _POSIX_C_SOURCE 200809L

#include "tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIMEOUT_MOST = 600000,  /* ms */
	SNIPPET = 80            /* bytes of a wrong value that are quoted */
};

/* -- What is offered --------------------------------------------------- */

static const char output_schema[] =
	",\"outputSchema\":{\"type\":\"object\",\"properties\":{"
	"\"status\":{\"type\":\"string\",\"enum\":[\"completed\",\"running\","
	"\"timed_out\",\"killed\"]},"
	"\"stdout\":{\"type\":\"string\"},\"stderr\":{\"type\":\"string\"},"
	"\"exit_code\":{\"type\":\"integer\"},"
	"\"timed_out\":{\"type\":\"boolean\"},"
	"\"task_id\":{\"type\":\"string\"},\"pid\":{\"type\":\"integer\"},"
	"\"stdout_chars\":{\"type\":\"integer\"},"
	"\"stderr_chars\":{\"type\":\"integer\"},"
	"\"stdout_file\":{\"type\":\"string\"},"
	"\"stderr_file\":{\"type\":\"string\"},"
	"\"cwd\":{\"type\":\"string\"},\"note\":{\"type\":\"string\"}},"
	"\"required\":[\"status\"]}";

static const char meta[] =
	",\"_meta\":{\"anthropic/maxResultSizeChars\":200000}}";

static const char bash_input[] =
	"\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
	"\"command\":{\"type\":\"string\"},"
	"\"timeout\":{\"type\":\"integer\","
	"\"description\":\"milliseconds, at most 600000\"},"
	"\"run_in_background\":{\"type\":\"boolean\"},"
	"\"check_pid\":{\"type\":\"integer\","
	"\"description\":\"look at a background task\"},"
	"\"kill_pid\":{\"type\":\"integer\","
	"\"description\":\"kill a background task\"},"
	"\"cwd\":{\"type\":\"string\","
	"\"description\":\"directory to start in\"},"
	"\"stdin\":{\"type\":\"string\","
	"\"description\":\"text for standard input\"},"
	"\"truncate\":{\"type\":\"string\","
	"\"enum\":[\"head\",\"tail\",\"both\"],"
	"\"description\":\"which end of long output to return\"},"
	"\"description\":{\"type\":\"string\"}},"
	"\"additionalProperties\":false}";

static const char task_input[] =
	"\"inputSchema\":{\"type\":\"object\",\"properties\":{"
	"\"task_id\":{\"type\":\"string\"},"
	"\"wait\":{\"type\":\"integer\",\"description\":"
	"\"milliseconds to wait for its end, 0 to 600000\"},"
	"\"new\":{\"type\":\"boolean\",\"description\":"
	"\"only what was printed since the last look\"}},"
	"\"required\":[\"task_id\"],\"additionalProperties\":false}";

static const char *const truncations[] = { "head", "tail", "both" };

static void
put_description(struct buf *b, const struct tools_options *o)
{
	buf_puts(b, "Runs a command in a shell (bash, or sh where there is "
	    "none). Give exactly one of command, check_pid, kill_pid. The "
	    "working directory persists from call to call for the life of "
	    "the server process; nothing else does, neither variables nor "
	    "functions. A call that must not depend on earlier ones passes "
	    "cwd. No terminal, and stdin is empty unless you pass stdin: use "
	    "non-interactive flags (-y). A non-zero exit_code is a result, "
	    "not an error. After timeout (default ");
	buf_int(b, o->timeout);
	buf_add(b, o->background ?
	    " ms) the command goes on as a background task." :
	    " ms) the command is terminated: SIGTERM, SIGKILL 5 s later; "
	    "its output up to then is returned.",
	    " For servers and long jobs set run_in_background: it "
	    "returns task_id and pid at once; read with task_output (or "
	    "check_pid), end with kill_pid. At most 10 tasks run at a time. "
	    "A task's result is kept until it is read once, the last 10 "
	    "unread; all tasks, and what commands leave running, end with "
	    "the server. stdout and stderr come apart, escape sequences "
	    "removed. Long output is cut, by default ", o->truncate ==
	    TRUNCATE_TAIL ? "to its last 2000 lines or 50 KB (tail)" :
	    o->truncate == TRUNCATE_BOTH ?
	    "to its first 10000 and last 20000 characters (both)" :
	    "to its first 30000 characters (head)",
	    "; the line that says so names a file with all of it: "
	    "read that with grep, sed or tail. Calls run one at a time, in "
	    "order.");
}

void
tools_list(struct buf *b, const struct tools_options *o)
{
	buf_room(b, 5 << 10);  /* at once */
	buf_puts(b, "[");
	if (o->offered) {
		buf_puts(b, "{\"name\":\"bash\","
		    "\"title\":\"Run a shell command\",\"description\":\"");
		put_description(b, o);
		buf_add(b, bash_input, o->structured ? output_schema : "",
		    ",\"annotations\":{\"readOnlyHint\":false,"
		    "\"destructiveHint\":true,\"idempotentHint\":false,"
		    "\"openWorldHint\":true}", meta,
		    ",{\"name\":\"task_output\","
		    "\"title\":\"Read a background task\",\"description\":\""
		    "Output and status of a background task of bash. While "
		    "it runs: the output so far, of long output the end. "
		    "When it has ended: the final output and exit_code, once; "
		    "then the task is forgotten. Rather than polling, set "
		    "wait: the answer comes when the task ends, or after that "
		    "time. An unknown task_id is an error: start anew.\",",
		    task_input, o->structured ? output_schema : "",
		    ",\"annotations\":{\"readOnlyHint\":true,"
		    "\"openWorldHint\":false}", meta);
	}
	buf_puts(b, "]");
}

enum tool
tools_find(const struct tools_options *o, struct json name)
{
	if (!o->offered)
		return TOOL_NONE;
	if (json_is(name, "bash"))
		return TOOL_BASH;
	if (json_is(name, "task_output"))
		return TOOL_TASK_OUTPUT;
	return TOOL_NONE;
}

/* -- Arguments --------------------------------------------------------- */

enum {
	COMMAND, TIMEOUT, IN_BACKGROUND, CHECK_PID, KILL_PID, CWD, STDIN,
	TRUNCATE, DESCRIPTION, BASH_ARGUMENTS,
	TASK_ID = 0, WAIT, NEW, TASK_ARGUMENTS
};

struct argument {
	const char *name;
	enum json_type type;
	const char *right;  /* what it should be */
};

static const struct argument bash_arguments[] = {
	{ "command", JSON_STRING, "a string, the command to run" },
	{ "timeout", JSON_NUMBER,
	  "an integer number of milliseconds from 1 to 600000" },
	{ "run_in_background", JSON_BOOL, "true or false" },
	{ "check_pid", JSON_NUMBER,
	  "an integer, the pid of a background task" },
	{ "kill_pid", JSON_NUMBER,
	  "an integer, the pid of a background task" },
	{ "cwd", JSON_STRING, "a string, the directory to start in" },
	{ "stdin", JSON_STRING, "a string, what the command reads" },
	{ "truncate", JSON_STRING, "\"head\", \"tail\" or \"both\"" },
	{ "description", JSON_STRING, "a string" }
};

static const struct argument task_arguments[] = {
	{ "task_id", JSON_STRING,
	  "a string, the task_id that bash has returned" },
	{ "wait", JSON_NUMBER,
	  "an integer number of milliseconds from 0 to 600000" },
	{ "new", JSON_BOOL, "true or false" }
};

/* "timeout must be X, not Y" */
static bool
wrong(struct buf *b, const struct argument *a, struct json value)
{
	size_t n = value.len, at = 0;
	int step;

	buf_add(b, "argument \"", a->name, "\" must be ", a->right, ", not ");
	if (n > SNIPPET) {
		while (at < SNIPPET && (step = utf8_length((const unsigned
		    char *)value.text + at, n - at)) > 0)
			at += (size_t)step;
		buf_put(b, value.text, at);
		buf_puts(b, "...");
	} else {
		buf_put(b, value.text, n);
	}
	return false;
}

static bool
unknown(struct buf *b, const char *tool, const struct argument *a, int n,
        struct json name)
{
	int i;

	buf_puts(b, "unknown argument ");
	buf_put(b, name.text, name.len < SNIPPET ? name.len : 0);
	buf_add(b, "; ", tool, " takes ");
	for (i = 0; i < n; i++) {
		buf_add(b, i > 0 ? ", " : "", a[i].name);
	}
	return false;
}

/* Sorts the members into given[]; of equal names the last counts, and null
 * is as good as absent. False: a wrong one is told. */
static bool
read_arguments(struct json arguments, const char *tool,
               const struct argument *a, struct json given[], int n,
               struct buf *refusal)
{
	struct json name, value;
	size_t at = 0;
	int i;

	memset(given, 0, (size_t)n * sizeof(*given));
	while (json_next(arguments, &at, &name, &value)) {
		for (i = 0; i < n && !json_is(name, a[i].name); i++)
			;
		if (i == n)
			return unknown(refusal, tool, a, n, name);
		given[i] = value;
	}
	for (i = 0; i < n; i++) {
		if (json_type(given[i]) == JSON_NULL)
			memset(&given[i], 0, sizeof(given[i]));
		if (given[i].text != NULL && json_type(given[i]) != a[i].type)
			return wrong(refusal, &a[i], given[i]);
	}
	return true;
}

/* An integer within bounds; too much counts as `most`, when that is allowed.
 * Absent: *value stays. */
static bool
read_integer(const struct argument *a, struct json given, int64_t least,
             int64_t most, bool cap, int64_t *value, struct buf *refusal)
{
	int64_t n;

	if (given.text == NULL)
		return true;
	if (!json_int(given, &n) || n < least || (n > most && !cap))
		return wrong(refusal, a, given);
	*value = n > most ? most : n;
	return true;
}

static bool
has_nul(const struct buf *b)
{
	return b->len > 0 && memchr(b->data, '\0', b->len) != NULL;
}

static bool
is_blank(const struct buf *b)
{
	size_t i;

	for (i = 0; i < b->len; i++) {
		if (strchr(" \t\n\r\v\f", b->data[i]) == NULL ||
		    b->data[i] == '\0')
			return false;
	}
	return true;
}

static bool
read_command(struct json given, struct job_request *job, struct buf *refusal)
{
	json_decode(given, &job->text);
	if (has_nul(&job->text)) {
		buf_puts(refusal, "argument \"command\" contains a NUL "
		    "character (\\u0000), which no shell command can; "
		    "write it as \\0 for printf, or pass it in a file");
		return false;
	}
	if (is_blank(&job->text)) {
		buf_puts(refusal, "argument \"command\" is blank; it must be "
		    "a command to run, such as \"ls -l\"");
		return false;
	}
	return true;
}

static bool
read_cwd(struct json given, struct job_request *job, struct buf *refusal)
{
	struct buf b = { NULL, 0, 0, false };

	if (given.text == NULL)
		return true;
	json_decode(given, &b);
	if (b.len == 0 || has_nul(&b)) {
		buf_puts(refusal, "argument \"cwd\" is ");
		buf_put(refusal, given.text, given.len);
		buf_puts(refusal, ", which is no directory; it must be the "
		    "name of one, absolute or relative to the working "
		    "directory");
		buf_free(&b);
		return false;
	}
	buf_putc(&b, '\0');
	job->cwd = b.data;
	if (b.failed)
		job->text.failed = true;
	return true;
}

static bool
read_truncate(struct json given, enum truncate *truncate, struct buf *refusal)
{
	int i;

	if (given.text == NULL)
		return true;
	for (i = 0; i < 3; i++) {
		if (json_is(given, truncations[i])) {
			*truncate = (enum truncate)i;
			return true;
		}
	}
	return wrong(refusal, &bash_arguments[TRUNCATE], given);
}

static bool
no_memory(struct buf *refusal)
{
	buf_puts(refusal, "out of memory; try again later");
	return false;
}

static bool
read_run(const struct tools_options *o, const struct json given[],
         struct job_request *job, struct buf *refusal)
{
	job->timeout = o->timeout;
	job->truncate = o->truncate;
	job->background = json_true(given[IN_BACKGROUND]);
	if (!read_command(given[COMMAND], job, refusal) ||
	    !read_integer(&bash_arguments[TIMEOUT], given[TIMEOUT], 1,
	    TIMEOUT_MOST, true, &job->timeout, refusal) ||
	    !read_cwd(given[CWD], job, refusal) ||
	    !read_truncate(given[TRUNCATE], &job->truncate, refusal))
		return false;
	if (given[STDIN].text != NULL) {
		job->has_input = true;
		json_decode(given[STDIN], &job->input);
	}
	if (job->text.failed || job->input.failed)
		return no_memory(refusal);
	return true;
}

static bool
read_bash(const struct tools_options *o, struct json arguments,
          struct tools_call *call, struct buf *refusal)
{
	struct json given[BASH_ARGUMENTS];
	const struct argument *a = bash_arguments;
	enum truncate ignored;
	int64_t timeout = 1;
	int n;

	if (!read_arguments(arguments, "bash", a, given, BASH_ARGUMENTS,
	    refusal))
		return false;
	n = (given[COMMAND].text != NULL) + (given[CHECK_PID].text != NULL) +
	    (given[KILL_PID].text != NULL);
	if (n != 1) {
		buf_add(refusal,
		    n == 0 ? "argument \"command\" is missing: " : "too many: ",
		    "exactly one of command, check_pid and "
		    "kill_pid is required");
		return false;
	}
	if (given[COMMAND].text != NULL)
		return read_run(o, given, &call->job, refusal);
	call->by_pid = true;
	call->action = given[KILL_PID].text != NULL ? TOOLS_KILL
	    : TOOLS_LOOK;
	n = call->action == TOOLS_KILL ? KILL_PID : CHECK_PID;
	/* Of no use here, and wrong all the same when they are wrong */
	return read_integer(&a[TIMEOUT], given[TIMEOUT], 1, TIMEOUT_MOST,
	    true, &timeout, refusal) &&
	    read_truncate(given[TRUNCATE], &ignored, refusal) &&
	    read_integer(&a[n], given[n], INT64_MIN, INT64_MAX, false,
	    &call->pid, refusal);
}

static bool
read_task(struct json arguments, struct tools_call *call, struct buf *refusal)
{
	struct json given[TASK_ARGUMENTS];
	const struct argument *a = task_arguments;

	if (!read_arguments(arguments, "task_output", a, given,
	    TASK_ARGUMENTS, refusal))
		return false;
	call->action = TOOLS_LOOK;
	if (given[TASK_ID].text == NULL) {
		buf_add(refusal, "argument \"task_id\" is missing; it must "
		    "be ", a[TASK_ID].right);
		return false;
	}
	if (!read_integer(&a[WAIT], given[WAIT], 0, TIMEOUT_MOST, false,
	    &call->wait, refusal))
		return false;
	call->only_new = json_true(given[NEW]);
	json_decode(given[TASK_ID], &call->id);
	buf_putc(&call->id, '\0');
	return call->id.failed ? no_memory(refusal) : true;
}

bool
tools_read(const struct tools_options *o, enum tool tool,
           struct json arguments, struct tools_call *call, struct buf *refusal)
{
	memset(call, 0, sizeof(*call));
	if (tool == TOOL_BASH)
		return read_bash(o, arguments, call, refusal);
	return read_task(arguments, call, refusal);
}

void
tools_call_free(struct tools_call *call)
{
	job_request_free(&call->job);
	buf_free(&call->id);
}

/* -- Results ----------------------------------------------------------- */

void
tools_refusal(struct buf *b, const char *text, size_t len)
{
	buf_puts(b, "\"content\":[{\"type\":\"text\",\"text\":");
	json_string(b, text, len);
	buf_puts(b, "}],\"isError\":true");
}

void
tools_no_task(struct buf *b, const struct tools_call *call)
{
	struct buf text = { NULL, 0, 0, false };

	if (call->by_pid) {
		buf_puts(&text, "no background process with pid ");
		buf_int(&text, call->pid);
	} else {
		buf_puts(&text, "task not found: ");
		buf_put(&text, call->id.data, call->id.len - 1);
	}
	tools_refusal(b, text.data, text.len);
	b->failed = b->failed || text.failed;
	buf_free(&text);
}

static void
put_ids(struct buf *t, struct session *s)
{
	const struct job *task = NULL;
	const char *before = ": ";

	while ((task = session_next_task(s, task)) != NULL) {
		if (task->state != JOB_TASK)
			continue;
		buf_add(t, before, task->id, " (pid ");
		before = ", ";
		buf_int(t, task->pid);
		buf_puts(t, ")");
	}
}

/* The reason in words; the two that a model can do something about, in ours */
static void
put_reason(struct buf *t, int error)
{
	switch (error) {
	case EAGAIN:
		buf_puts(t, "no processes left (Resource temporarily "
		    "unavailable); try again when some have ended");
		break;
	case EMFILE:
	case ENFILE:
		buf_add(t, "no descriptors left (", strerror(error),
		    "); try again when some commands have ended");
		break;
	case ENOMEM:
		buf_puts(t, "no memory left (Cannot allocate memory); try "
		    "again later");
		break;
	case E2BIG:
		buf_puts(t, "the command is too long (Argument list too "
		    "long): at most 1 MiB; pass more as stdin, or write it "
		    "to a file in pieces");
		break;
	default:
		buf_puts(t, strerror(error));
	}
}

void
tools_refused(struct buf *b, struct session *s, const struct job *job)
{
	const char *cwd = job->asked.cwd;
	const char *dir = job->dir != NULL ? job->dir : "";
	struct buf t = { NULL, 0, 0, false };

	switch (job->refused) {
	case JOB_TOO_MANY:
		buf_puts(&t, "10 background tasks are running, the most there "
		    "can be");
		if (!session_stateless(s))
			put_ids(&t, s);
		buf_puts(&t, "; wait for one to end, or end one with "
		    "kill_pid");
		break;
	case JOB_NO_DIR:
		buf_add(&t, cwd != NULL ? "cwd " : "the directory ",
		    dir, " cannot be entered: ");
		put_reason(&t, job->error);
		break;
	case JOB_LOST_DIR:
		buf_add(&t, "the working directory ",
		    dir,
		    " cannot be entered any more: ");
		put_reason(&t, job->error);
		buf_add(&t, "; nothing was run; the next command starts in ",
		    session_dir(s));
		break;
	case JOB_NO_START:
		buf_puts(&t, "the command could not be started: ");
		put_reason(&t, job->error);
		break;
	default:
		buf_puts(&t, "session is closed");
	}
	tools_refusal(b, t.data, t.len);
	b->failed = b->failed || t.failed;
	buf_free(&t);
}

/* What there is to say, once; then it is said as text and as data. */
struct result {
	const struct job *job;
	const struct tools_call *look;  /* what a look asked for; NULL: none */
	const char *status;
	bool task;            /* not an ordinary foreground result */
	bool output;          /* stdout and stderr are part of it */
	bool ended;
	struct buf out, err;
	struct output_view out_view, err_view;
	struct buf headline;  /* Command timed out after 5000ms */
	struct buf note;
};

static const char *
status_of(const struct job *job)
{
	if (job->state != JOB_FINISHED)
		return "running";
	if (job->killed)
		return "killed";
	return job->timed_out ? "timed_out" : "completed";
}

static void
put_notes(struct result *r)
{
	const struct job *job = r->job;

	if (job->timed_out && !r->task) {
		buf_puts(&r->headline, "Command timed out after ");
		buf_int(&r->headline, job->asked.timeout);
		buf_puts(&r->headline, "ms");
	} else if (job->timed_out) {
		buf_puts(&r->note, "terminated by --bg-timeout");
	}
	if (job->no_room)
		buf_puts(&r->note, "it was terminated rather than put in the "
		    "background, since 10 background tasks are running "
		    "already, the most there can be");
	if (job->killed && !r->task)
		buf_puts(&r->note, "session is closed");
	if (r->task && r->look == NULL && !job->asked.background) {
		buf_puts(&r->note, "still running after ");
		buf_int(&r->note, job->asked.timeout);
		buf_puts(&r->note, "ms; it goes on as a background task: read "
		    "it with task_output or check_pid, end it with kill_pid");
	}
}

/* One stream, as a look at a task or as the end of a command shows it */
static void
put_stream(const struct result *r, struct job_stream *s, const char *name,
           struct buf *text, struct output_view *view)
{
	if (r->look != NULL && r->look->only_new) {
		output_show_since(s->text, &s->seen, name, text);
		view->chars = -1;
		return;
	}
	output_show(s->text, r->job->asked.truncate, name, text, view);
	output_look(s->text, &s->seen);
}

static void
text_line(struct buf *t, const char *name, const char *value)
{
	if (t->len > 0)
		buf_putc(t, '\n');
	buf_add(t, name, value);
}

static void
text_number(struct buf *t, const char *name, int64_t value)
{
	text_line(t, name, "");
	buf_int(t, value);
}

/* A newline in the name would end the line: it is shown as \n. */
static void
text_dir(struct buf *t, const char *dir)
{
	text_line(t, "cwd: ", "");
	for (; *dir != '\0'; dir++) {
		if (*dir == '\n')
			buf_puts(t, "\\n");
		else
			buf_putc(t, *dir);
	}
}

static void
text_stream(struct buf *t, const char *name, const struct buf *stream)
{
	if (stream->len == 0)
		return;
	if (t->len > 0 && t->data[t->len - 1] != '\n')
		buf_putc(t, '\n');
	buf_putc(t, '\n');
	buf_add(t, name, ":\n");
	buf_put(t, stream->data, stream->len);
}

static void
put_text(struct buf *t, const struct result *r)
{
	const struct job *job = r->job;

	buf_put(t, r->headline.data, r->headline.len);
	if (r->task) {
		text_line(t, "status: ", r->status);
		text_line(t, "task_id: ", job->id);
		text_number(t, "pid: ", job->pid);
	}
	if (r->ended)
		text_number(t, "exit_code: ", job->exit_code);
	if (!r->task && job->moved && job->dir != NULL)
		text_dir(t, job->dir);
	if (r->note.len > 0) {
		text_line(t, "note: ", "");
		buf_put(t, r->note.data, r->note.len);
	}
	text_stream(t, "stdout", &r->out);
	text_stream(t, "stderr", &r->err);
}

static void
data_string(struct buf *b, const char *name, const char *s, size_t n)
{
	buf_add(b, ",\"", name, "\":");
	json_string(b, s, n);
}

static void
data_number(struct buf *b, const char *name, int64_t value)
{
	buf_add(b, ",\"", name, "\":");
	buf_int(b, value);
}

static void
data_view(struct buf *b, const char *chars, const char *file,
          const struct output_view *view)
{
	if (view->chars >= 0)
		data_number(b, chars, view->chars);
	if (view->file != NULL)
		data_string(b, file, view->file, strlen(view->file));
}

static void
data_note(struct buf *b, const struct result *r)
{
	struct buf note = { NULL, 0, 0, false };

	buf_put(&note, r->headline.data, r->headline.len);
	if (r->headline.len > 0 && r->note.len > 0)
		buf_puts(&note, "; ");
	buf_put(&note, r->note.data, r->note.len);
	if (note.len > 0)
		data_string(b, "note", note.data, note.len);
	b->failed = b->failed || note.failed;
	buf_free(&note);
}

static void
put_data(struct buf *b, const struct result *r)
{
	const struct job *job = r->job;

	buf_add(b, ",\"structuredContent\":{\"status\":\"", r->status, "\"");
	if (r->output) {
		data_string(b, "stdout", r->out.data, r->out.len);
		data_string(b, "stderr", r->err.data, r->err.len);
	}
	if (r->ended)
		data_number(b, "exit_code", job->exit_code);
	if (r->ended && job->timed_out)
		buf_puts(b, ",\"timed_out\":true");
	if (r->task) {
		data_string(b, "task_id", job->id, strlen(job->id));
		data_number(b, "pid", job->pid);
	}
	if (r->output) {
		data_view(b, "stdout_chars", "stdout_file", &r->out_view);
		data_view(b, "stderr_chars", "stderr_file", &r->err_view);
	}
	if (!r->task && job->dir != NULL)
		data_string(b, "cwd", job->dir, strlen(job->dir));
	data_note(b, r);
	buf_puts(b, "}");
}

static void
result_free(struct result *r)
{
	buf_free(&r->out);
	buf_free(&r->err);
	buf_free(&r->headline);
	buf_free(&r->note);
}

void
tools_result(struct buf *b, const struct tools_options *o, struct job *job,
             const struct tools_call *look)
{
	struct buf text = { NULL, 0, 0, false };
	struct result r;

	memset(&r, 0, sizeof(r));
	r.job = job;
	r.look = look;
	r.task = job->id[0] != '\0';
	r.status = status_of(r.job);
	/* The start of a task has printed nothing yet: that is no output. */
	r.output = look != NULL || !job->asked.background;
	r.ended = job->state == JOB_FINISHED;
	if (look == NULL && r.task)
		r.status = "running", r.ended = false;
	put_notes(&r);
	if (r.output) {
		put_stream(&r, &job->out, "stdout", &r.out,
		    &r.out_view);
		put_stream(&r, &job->err, "stderr", &r.err,
		    &r.err_view);
	}
	put_text(&text, &r);
	buf_puts(b, "\"content\":[{\"type\":\"text\",\"text\":");
	json_string(b, text.data, text.len);
	buf_puts(b, "}]");
	if (o->structured)
		put_data(b, &r);
	buf_puts(b, ",\"isError\":false");
	b->failed = b->failed || text.failed || r.out.failed || r.err.failed ||
	    r.headline.failed || r.note.failed;
	buf_free(&text);
	result_free(&r);
}
