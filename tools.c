#define _POSIX_C_SOURCE 200809L

#include "tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIMEOUT_MOST = 600000,  /* ms */
	SNIPPET = 80,           /* bytes of a wrong value that are quoted */
	DIR_NAMES = 120         /* bytes of names in a description */
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

/* Names of directories, and how many more there are: the description has its
 * limit (B6). */
static void
put_dirs(struct buf *b, const char *dir)
{
	struct buf name = { NULL, 0, 0, false };
	size_t room = DIR_NAMES, n;
	int more = 0;

	for (; *dir != '\0'; dir += n + 1) {
		n = strlen(dir);
		if (n > room) {
			more++;
			continue;
		}
		buf_puts(b, room < DIR_NAMES ? ", " : "");
		json_string(&name, dir, n);
		if (!name.failed)
			buf_put(b, name.data + 1, name.len - 2);
		buf_free(&name);
		room -= n;
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
	put_fences(b, o);
}

void
tools_list(struct buf *b, const struct tools_options *o)
{
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

/* -- Arguments --------------------------------------------------------- */

enum {
	COMMAND, TIMEOUT, IN_BACKGROUND, CHECK_PID, KILL_PID, CWD, STDIN,
	TRUNCATE, DESCRIPTION, BASH_ARGUMENTS,
	TASK_ID = 0, WAIT, NEW, TASK_ARGUMENTS
};

struct argument {
	const char *name;
	enum json_type type;
	int64_t least, most;  /* of an integer */
	const char *right;    /* what it should be */
};

static const struct argument bash_arguments[] = {
	{ "command", JSON_STRING, 0, 0, "a string, the command to run" },
	{ "timeout", JSON_NUMBER, 1, INT64_MAX,
	  "an integer number of milliseconds from 1 to 600000" },
	{ "run_in_background", JSON_BOOL, 0, 0, "true or false" },
	{ "check_pid", JSON_NUMBER, INT64_MIN, INT64_MAX,
	  "an integer, the pid of a background task" },
	{ "kill_pid", JSON_NUMBER, INT64_MIN, INT64_MAX,
	  "an integer, the pid of a background task" },
	{ "cwd", JSON_STRING, 0, 0, "a string, the name of a directory, "
	  "absolute or relative to the working directory" },
	{ "stdin", JSON_STRING, 0, 0, "a string, what the command reads" },
	{ "truncate", JSON_STRING, 0, 0, "\"head\", \"tail\" or \"both\"" },
	{ "description", JSON_STRING, 0, 0, "a string" }
};

static const struct argument task_arguments[] = {
	{ "task_id", JSON_STRING, 0, 0,
	  "a string, the task_id that bash has returned" },
	{ "wait", JSON_NUMBER, 0, TIMEOUT_MOST,
	  "an integer number of milliseconds from 0 to 600000" },
	{ "new", JSON_BOOL, 0, 0, "true or false" }
};

/* 'argument "timeout" must be X, not Y' */
static bool
wrong(struct buf *b, const struct argument *a, struct json value)
{
	buf_add(b, "argument \"", a->name, "\" must be ", a->right, ", not ");
	/* json_string() mends a character that is cut here. */
	buf_put(b, value.text, value.len < SNIPPET ? value.len : SNIPPET);
	buf_puts(b, value.len > SNIPPET ? "..." : "");
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
	for (i = 0; i < n; i++)
		buf_add(b, i > 0 ? ", " : "", a[i].name);
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
		if (given[i].text != NULL && !is_right(&a[i], given[i]))
			return wrong(refusal, &a[i], given[i]);
	}
	return true;
}

static bool
has_nul(const struct buf *b)
{
	return b->len > 0 && memchr(b->data, '\0', b->len) != NULL;
}

static bool
read_command(struct json given, struct job_request *job, struct buf *refusal)
{
	struct buf *text = &job->text;
	size_t i = 0;

	json_decode(given, text);
	if (has_nul(text)) {
		buf_puts(refusal, "argument \"command\" contains a NUL "
		    "character (\\u0000), which no shell command can; "
		    "write it as \\0 for printf, or pass it in a file");
		return false;
	}
	while (i < text->len && strchr(" \t\n\r\v\f", text->data[i]) != NULL)
		i++;
	if (i == text->len && !text->failed) {
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
	if (!b.failed && (b.len == 0 || has_nul(&b))) {
		buf_free(&b);
		return wrong(refusal, &bash_arguments[CWD], given);
	}
	buf_putc(&b, '\0');
	job->cwd = b.data;
	job->text.failed = job->text.failed || b.failed;
	return true;
}

static bool
read_truncate(struct json given, enum truncate *truncate, struct buf *refusal)
{
	static const char *const names[] = { "head", "tail", "both" };
	int i = 0;

	if (given.text == NULL)
		return true;
	while (i < 3 && !json_is(given, names[i]))
		i++;
	if (i == 3)
		return wrong(refusal, &bash_arguments[TRUNCATE], given);
	*truncate = (enum truncate)i;
	return true;
}

static bool
read_bash(const struct tools_options *o, struct json arguments,
          struct tools_call *call, struct buf *refusal)
{
	struct json given[BASH_ARGUMENTS];
	struct job_request *job = &call->job;
	int n;

	if (!read_arguments(arguments, "bash", bash_arguments, given,
	    BASH_ARGUMENTS, refusal))
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
	call->action = given[COMMAND].text != NULL ? TOOLS_RUN
	    : given[KILL_PID].text != NULL ? TOOLS_KILL : TOOLS_LOOK;
	call->by_pid = call->action != TOOLS_RUN;
	json_int(given[CHECK_PID], &call->pid);
	json_int(given[KILL_PID], &call->pid);
	job->timeout = o->timeout;
	json_int(given[TIMEOUT], &job->timeout);
	if (job->timeout > TIMEOUT_MOST)
		job->timeout = TIMEOUT_MOST;
	job->truncate = o->truncate;
	job->background = json_true(given[IN_BACKGROUND]);
	job->has_input = given[STDIN].text != NULL;
	if (!read_truncate(given[TRUNCATE], &job->truncate, refusal))
		return false;
	if (call->by_pid)
		return true;
	if (!read_command(given[COMMAND], job, refusal) ||
	    !read_cwd(given[CWD], job, refusal))
		return false;
	if (job->has_input)
		json_decode(given[STDIN], &job->input);
	return true;
}

static bool
read_task(struct json arguments, struct tools_call *call, struct buf *refusal)
{
	struct json given[TASK_ARGUMENTS];

	if (!read_arguments(arguments, "task_output", task_arguments, given,
	    TASK_ARGUMENTS, refusal))
		return false;
	if (given[TASK_ID].text == NULL) {
		buf_add(refusal, "argument \"task_id\" is missing; it must "
		    "be ", task_arguments[TASK_ID].right);
		return false;
	}
	call->action = TOOLS_LOOK;
	json_int(given[WAIT], &call->wait);
	call->only_new = json_true(given[NEW]);
	json_decode(given[TASK_ID], &call->id);
	buf_putc(&call->id, '\0');
	return true;
}

/* A result that is an error, of this text, which is freed */
static void
put_refusal(struct buf *b, struct buf *text)
{
	buf_puts(b, "\"content\":[{\"type\":\"text\",\"text\":");
	json_string(b, text->data, text->len);
	buf_puts(b, "}],\"isError\":true");
	b->failed = b->failed || text->failed;
	buf_free(text);
}

void
tools_read(const struct tools_options *o, struct json name,
           struct json arguments, struct tools_call *call, struct buf *result)
{
	struct buf refusal = { NULL, 0, 0, false };
	bool right;

	memset(call, 0, sizeof(*call));
	if (o->offered && json_is(name, "bash"))
		right = read_bash(o, arguments, call, &refusal);
	else if (o->offered && json_is(name, "task_output"))
		right = read_task(arguments, call, &refusal);
	else
		return;
	if (right && (call->job.text.failed || call->job.input.failed ||
	    call->id.failed)) {
		buf_puts(&refusal, "out of memory; try again later");
		right = false;
	}
	if (!right) {
		call->action = TOOLS_REFUSED;
		put_refusal(result, &refusal);
	}
}

void
tools_call_free(struct tools_call *call)
{
	job_request_free(&call->job);
	buf_free(&call->id);
}

/* -- Errors ------------------------------------------------------------ */

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
	put_refusal(b, &text);
}

/* The system's reason, and what a model can do about it */
static void
put_reason(struct buf *t, int error)
{
	static const struct {
		int error;
		const char *what, *advice;
	} known[] = {
		{ EAGAIN, "no processes left",
		  "try again when some have ended" },
		{ EMFILE, "no descriptors left",
		  "try again when some commands have ended" },
		{ ENFILE, "no descriptors left",
		  "try again when some commands have ended" },
		{ ENOMEM, "no memory left", "try again later" },
		{ E2BIG, "the command is too long", "at most 1 MiB: pass more "
		  "as stdin, or write it to a file in pieces" }
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].error == error) {
			buf_add(t, known[i].what, " (", strerror(error), "); ",
			    known[i].advice);
			return;
		}
	}
	buf_puts(t, strerror(error));
}

static void
put_running(struct buf *t, struct session *s)
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

void
tools_refused(struct buf *b, struct session *s, const struct job *job)
{
	const char *dir = job->dir != NULL ? job->dir : "";
	struct buf t = { NULL, 0, 0, false };

	switch (job->refused) {
	case JOB_TOO_MANY:
		buf_puts(&t, "10 background tasks are running, the most there "
		    "can be");
		if (!session_stateless(s))
			put_running(&t, s);
		buf_puts(&t, "; wait for one to end, or end one with "
		    "kill_pid");
		break;
	case JOB_NO_DIR:
		buf_add(&t, job->asked.cwd != NULL ? "cwd " : "the directory ",
		    dir, " cannot be entered: ");
		put_reason(&t, job->error);
		break;
	case JOB_LOST_DIR:
		buf_add(&t, "the working directory ", dir,
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
	put_refusal(b, &t);
}

/* -- Results ----------------------------------------------------------- */

/* What there is to say, said as text and as data (B6) */
struct result {
	const struct job *job;
	const struct tools_call *look;  /* what a look asked for; NULL: none */
	bool task;             /* not an ordinary foreground result */
	bool ended;
	struct buf note;       /* all of them */
	size_t headline;       /* of note, what the text begins with */
	struct buf text, data;
};

static const char *
status_of(const struct result *r)
{
	if (!r->ended)
		return "running";
	if (r->job->killed)
		return "killed";
	return r->job->timed_out ? "timed_out" : "completed";
}

/* Where one more note is written */
static struct buf *
next_note(struct result *r)
{
	if (r->note.len > 0)
		buf_puts(&r->note, "; ");
	return &r->note;
}

static void
put_notes(struct result *r)
{
	const struct job *job = r->job;

	if (job->timed_out && !r->task) {
		buf_puts(next_note(r), "Command timed out after ");
		buf_int(&r->note, job->asked.timeout);
		buf_puts(&r->note, "ms");
		r->headline = r->note.len;
	} else if (job->timed_out) {
		buf_puts(next_note(r), "terminated by --bg-timeout");
	}
	if (job->no_room)
		buf_puts(next_note(r), "it was terminated rather than put in "
		    "the background, since 10 background tasks are running "
		    "already, the most there can be");
	if (job->killed && !r->task)
		buf_puts(next_note(r), "session is closed");
	if (r->task && r->look == NULL && !job->asked.background) {
		buf_puts(next_note(r), "still running after ");
		buf_int(&r->note, job->asked.timeout);
		buf_puts(&r->note, "ms; it goes on as a background task: read "
		    "it with task_output or check_pid, end it with kill_pid");
	}
}

static void
text_name(struct result *r, const char *name)
{
	buf_add(&r->text, r->text.len > 0 ? "\n" : "", name, ": ");
}

static void
data_name(struct result *r, const char *name)
{
	buf_add(&r->data, r->data.len > 0 ? ",\"" : "{\"", name, "\":");
}

static void
data_string(struct result *r, const char *name, const char *s, size_t len)
{
	data_name(r, name);
	json_string(&r->data, s, len);
}

/* As text and as data */
static void
put_string(struct result *r, const char *name, const char *s)
{
	text_name(r, name);
	buf_puts(&r->text, s);
	data_string(r, name, s, strlen(s));
}

static void
put_number(struct result *r, const char *name, int64_t n)
{
	text_name(r, name);
	buf_int(&r->text, n);
	data_name(r, name);
	buf_int(&r->data, n);
}

static void
put_cwd(struct result *r, const char *dir)
{
	data_string(r, "cwd", dir, strlen(dir));
	if (!r->job->moved)
		return;
	text_name(r, "cwd");
	/* A newline in the name would end the line. */
	for (; *dir != '\0'; dir++)
		buf_put(&r->text, *dir == '\n' ? "\\n" : dir,
		    *dir == '\n' ? 2 : 1);
}

/* What stands before the output */
static void
put_facts(struct result *r)
{
	const struct job *job = r->job;
	size_t skip = r->headline > 0 ? r->headline + strlen("; ") : 0;

	buf_put(&r->text, r->note.data, r->headline);
	if (r->task)
		put_string(r, "status", status_of(r));
	else
		data_string(r, "status", status_of(r), strlen(status_of(r)));
	if (r->ended)
		put_number(r, "exit_code", job->exit_code);
	if (r->ended && job->timed_out)
		buf_puts(&r->data, ",\"timed_out\":true");
	if (r->note.len > 0)
		data_string(r, "note", r->note.data, r->note.len);
	if (r->task) {
		put_string(r, "task_id", job->id);
		put_number(r, "pid", job->pid);
	} else if (job->dir != NULL) {
		put_cwd(r, job->dir);
	}
	if (r->note.len > skip) {
		text_name(r, "note");
		buf_put(&r->text, r->note.data + skip, r->note.len - skip);
	}
}

static void
put_output(struct result *r, struct job_stream *out, struct job_stream *err)
{
	static const char *const names[] = { "stdout", "stderr" };
	static const char *const chars[] = { "stdout_chars", "stderr_chars" };
	static const char *const files[] = { "stdout_file", "stderr_file" };
	struct output_view view[2] = { { -1, NULL }, { -1, NULL } };
	struct buf *t = &r->text, b = { NULL, 0, 0, false };
	struct job_stream *s;
	int i;

	for (i = 0; i < 2; i++) {
		s = i == 0 ? out : err;
		if (r->look != NULL && r->look->only_new) {
			output_show_since(s->text, &s->seen, names[i], &b);
		} else {
			output_show(s->text, r->job->asked.truncate, names[i],
			    &b, &view[i]);
			output_look(s->text, &s->seen);
		}
		data_string(r, names[i], b.data, b.len);
		if (b.len > 0) {
			buf_add(t, t->len > 0 && t->data[t->len - 1] != '\n' ?
			    "\n\n" : "\n", names[i], ":\n");
			buf_put(t, b.data, b.len);
		}
		t->failed = t->failed || b.failed;
		buf_free(&b);
	}
	for (i = 0; i < 2; i++) {
		if (view[i].chars >= 0) {
			data_name(r, chars[i]);
			buf_int(&r->data, view[i].chars);
		}
	}
	for (i = 0; i < 2; i++) {
		if (view[i].file != NULL)
			data_string(r, files[i], view[i].file,
			    strlen(view[i].file));
	}
}

void
tools_result(struct buf *b, const struct tools_options *o, struct job *job,
             const struct tools_call *look)
{
	struct result r;

	memset(&r, 0, sizeof(r));
	r.job = job;
	r.look = look;
	r.task = job->id[0] != '\0';
	r.ended = job->state == JOB_FINISHED && (look != NULL || !r.task);
	put_notes(&r);
	put_facts(&r);
	/* The start of a task has printed nothing yet: that is no output. */
	if (look != NULL || !job->asked.background)
		put_output(&r, &job->out, &job->err);
	buf_puts(b, "\"content\":[{\"type\":\"text\",\"text\":");
	json_string(b, r.text.data, r.text.len);
	buf_puts(b, "}]");
	if (o->structured) {
		buf_puts(b, ",\"structuredContent\":");
		buf_put(b, r.data.data, r.data.len);
		buf_puts(b, "}");
	}
	buf_puts(b, ",\"isError\":false");
	b->failed = b->failed || r.note.failed || r.text.failed ||
	    r.data.failed;
	buf_free(&r.note);
	buf_free(&r.text);
	buf_free(&r.data);
}
