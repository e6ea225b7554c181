#define _POSIX_C_SOURCE 200809L

#include "results.h"

#include <errno.h>
#include <string.h>

#include "json.h"
#include "limits.h"
#include "notes.h"

enum {
	HEADINGS = 40,         /* bytes between the facts and the streams, */
	HEADING_LINES = 20     /* and lines of all that is no stream (K3) */
};

#define BEFORE_TEXT "\"content\":[{\"type\":\"text\",\"text\":"
#define BEHIND_TEXT "}]"
#define ERROR ",\"isError\":true"

/* The members of a result, from its text and, if there is some, its data; frees
 * both. */
static void
put_result(struct buf *b, bool error, struct buf *text, struct buf *data)
{
	buf_puts(b, BEFORE_TEXT);
	json_string(b, text->data, text->len);
	buf_puts(b, BEHIND_TEXT);
	if (data->len > 0) {
		buf_puts(b, ",\"structuredContent\":");
		buf_put(b, data->data, data->len);
		buf_puts(b, "}");
	}
	buf_puts(b, error ? ERROR : ",\"isError\":false");
	b->failed = b->failed || text->failed || data->failed;
	buf_free(text);
	buf_free(data);
}

struct json
results_error(const struct buf *b)
{
	struct json text = { NULL, 0 };

	if (b->failed)
		return text;
	text.text = b->data + strlen(BEFORE_TEXT);
	text.len = b->len - strlen(BEFORE_TEXT BEHIND_TEXT ERROR);
	return text;
}

void
results_refusal(struct buf *b, struct session *s, struct buf *text)
{
	struct buf none = { NULL, 0, 0, false }, note = none;

	if (s != NULL)
		notes_put_ended(&note, s);
	if (note.len > 0 && text->len > 0)
		buf_puts(text, text->data[text->len - 1] == '\n' ? "note: "
		    : "\nnote: ");
	buf_put(text, note.data, note.len);
	buf_free(&note);
	put_result(b, true, text, &none);
}

/* As much of a text of the client's as is shown */
static void
put_start(struct buf *b, const struct buf *text)
{
	json_escaped(b, text->data, buf_cut(text, COMMAND_SHOWN));
}

static void
put_path(struct buf *b, const char *path)
{
	json_escaped(b, path, strlen(path));
}

/* -- Results ----------------------------------------------------------- */

/* A result that is written as text and as data (B6) */
struct result {
	struct subject of;
	const struct reader *reader;
	struct buf note;       /* all notes */
	size_t headline;       /* bytes of it that the text begins with */
	struct buf text, data;
};

static void
text_name(struct result *r, const char *name)
{
	buf_add(&r->text, r->text.len > 0 ? "\n" : "", name, ": ");
}

static void
data_name(struct result *r, const char *name)
{
	buf_add(&r->data, ",\"", name, "\":");
}

static void
data_string(struct result *r, const char *name, const char *s)
{
	data_name(r, name);
	json_string(&r->data, s, strlen(s));
}

static void
data_bytes(struct result *r, const char *name, const struct buf *b)
{
	data_name(r, name);
	json_string(&r->data, b->data, b->len);
}

static void
data_number(struct result *r, const char *name, int64_t n)
{
	data_name(r, name);
	buf_int(&r->data, n);
}

/* As text and as data */
static void
put_number(struct result *r, const char *name, int64_t n)
{
	text_name(r, name);
	buf_int(&r->text, n);
	data_number(r, name, n);
}

static void
put_exit_code(struct result *r)
{
	const char *name = job_signal(r->of.job);

	put_number(r, "exit_code", r->of.job->end.status);
	if (name != NULL) {
		buf_add(&r->text, " (", name, ")");
		data_string(r, "signal", name);
	}
	if (r->of.job->timed_out)
		buf_puts(&r->data, ",\"timed_out\":true");
}

/* What stands before the output */
static void
put_facts(struct result *r, int64_t now)
{
	const struct job *job = r->of.job;
	const char *status = job_status(job, r->of.ended);
	size_t skip = r->headline > 0 ? r->headline + strlen("; ") : 0;
	int64_t time = job_elapsed(job, now);

	buf_put(&r->text, r->note.data, r->headline);
	if (r->of.task) {
		text_name(r, "status");
		buf_puts(&r->text, status);
	}
	buf_add(&r->data, "{\"status\":\"", status, "\"");
	if (r->of.ended)
		put_exit_code(r);
	if (r->note.len > 0)
		data_bytes(r, "note", &r->note);
	if (r->of.task) {
		text_name(r, "task_id");
		buf_puts(&r->text, job->id);
		data_string(r, "task_id", job->id);
		put_number(r, "pid", job->end.pid);
	} else if (job->dir != NULL) {
		data_string(r, "cwd", job->dir);
		if (job->tells_dir) {
			text_name(r, "cwd");
			put_path(&r->text, job->dir);
		}
	}
	data_number(r, "elapsed_ms", time);
	if (time >= 1000 || (!r->of.ended &&
	    (r->of.looks || !job->asked.background))) {
		text_name(r, "elapsed");
		buf_time(&r->text, time);
	}
	if (r->note.len > skip) {
		text_name(r, "note");
		buf_put(&r->text, r->note.data + skip, r->note.len - skip);
	}
}

/* A stream of it as it is shown */
struct shown {
	const char *name, *chars, *file;  /* its members of the data */
	struct job_stream *stream;
	struct output_cursor before;      /* how far it had been looked at */
	struct buf text;
	int64_t lines;
	struct output_view view;
};

static void
show(const struct result *r, struct shown *s, int64_t bytes, int64_t lines)
{
	struct output_bounds most = r->of.job->asked.bounds;
	size_t i;

	most.bytes = bytes;
	most.lines = lines;
	buf_free(&s->text);
	s->stream->seen = s->before;
	output_show(s->stream->text, &s->stream->seen, r->of.looks &&
	    r->of.asked->only_new, &most, s->name, &s->text, &s->view);
	s->lines = 0;
	for (i = 0; i < s->text.len; i++)
		s->lines += s->text.data[i] == '\n';
}

/* What one of two gets of all there is: what it needs, if that is less than
 * half, else what the other leaves */
static int64_t
share(int64_t all, int64_t ours, int64_t other)
{
	return ours <= all / 2 || ours + other <= all ? ours
	    : other <= all / 2 ? all - other : all / 2;
}

/* Cuts both streams so that together they fit what the client lets through
 * (K3). */
static void
fit(const struct result *r, struct shown s[2])
{
	int64_t bytes = r->reader->bytes, lines = r->reader->lines;
	int64_t most[2], rows[2], head = (int64_t)r->text.len + HEADINGS;
	int i;

	bytes = bytes == 0 ? INT32_MAX : bytes > head ? bytes - head : 1;
	lines = lines == 0 ? INT32_MAX : lines - HEADING_LINES;
	for (i = 0; i < 2; i++) {
		most[i] = share(bytes, (int64_t)s[i].text.len,
		    (int64_t)s[!i].text.len);
		rows[i] = share(lines, s[i].lines, s[!i].lines);
	}
	for (i = 0; i < 2; i++) {
		if ((int64_t)s[i].text.len > most[i] || s[i].lines > rows[i])
			show(r, &s[i], most[i], rows[i]);
	}
}

static void
put_stream(struct result *r, struct shown *s)
{
	struct buf *t = &r->text;

	data_bytes(r, s->name, &s->text);
	if (s->text.len > 0) {
		buf_end_line(t);
		buf_add(t, "\n", s->name, ":\n");
		buf_put(t, s->text.data, s->text.len);
	}
	t->failed = t->failed || s->text.failed;
	buf_free(&s->text);
}

static void
put_output(struct result *r, struct job *job)
{
	struct shown shown[2] = {
		{ .name = "stdout", .chars = "stdout_chars",
		  .file = "stdout_file", .stream = &job->out },
		{ .name = "stderr", .chars = "stderr_chars",
		  .file = "stderr_file", .stream = &job->err }
	};
	size_t len = r->text.len;
	int i;

	for (i = 0; i < 2; i++) {
		shown[i].before = shown[i].stream->seen;
		show(r, &shown[i], 0, 0);
	}
	fit(r, shown);
	for (i = 0; i < 2; i++)
		put_stream(r, &shown[i]);
	for (i = 0; i < 2; i++) {
		if (shown[i].view.chars >= 0)
			data_number(r, shown[i].chars, shown[i].view.chars);
	}
	for (i = 0; i < 2; i++) {
		if (shown[i].view.file != NULL)
			data_string(r, shown[i].file, shown[i].view.file);
	}
	if (r->text.len == len)
		buf_add(&r->text, "\n\n(no ", r->of.looks &&
		    r->of.asked->only_new ? "new " : "", "output)");
}

void
results_job(struct buf *b, const struct reader *reader, struct session *s,
            struct job *job, const struct tools_call *asked, int64_t now)
{
	bool task = job_is_task(job), looks = task &&
	    (asked->action != TOOLS_RUN || asked->wait > 0);
	bool ended = job->state == JOB_FINISHED && (looks || !task);
	struct result r = { .of = { s, job, asked, looks, task, ended },
	    .reader = reader };

	r.headline = notes_put(&r.note, &r.of);
	put_facts(&r, now);
	/* Not for the start of a task that nobody waited for */
	if (looks || !job->asked.background)
		put_output(&r, job);
	r.text.failed = r.text.failed || r.note.failed;
	buf_free(&r.note);
	if (!reader->data)
		buf_free(&r.data);
	put_result(b, false, &r.text, &r.data);
}

/* One task as a line of text, and as data */
static void
put_task(struct result *r, int64_t now)
{
	const struct job *job = r->of.job;
	const char *status = job_status(job, job->state == JOB_FINISHED);
	const struct buf *description = &job->asked.description;
	struct buf *t = &r->text;

	buf_add(&r->data, "{\"task_id\":\"", job->id, "\"");
	data_number(r, "pid", job->end.pid);
	data_string(r, "status", status);
	data_number(r, "elapsed_ms", job_elapsed(job, now));
	buf_add(t, t->len > 0 ? "\n" : "", job->id);
	buf_number(t, "  pid ", job->end.pid, "  ");
	buf_puts(t, status);
	if (job->state == JOB_FINISHED) {
		data_number(r, "exit_code", job->end.status);
		buf_number(t, "  exit_code ", job->end.status, "");
	}
	buf_puts(t, "  ");
	buf_time(t, job_elapsed(job, now));
	buf_puts(t, "  ");
	if (description->len > 0) {
		data_bytes(r, "description", description);
		put_start(t, description);
		buf_puts(t, ": ");
	}
	put_start(t, &job->asked.text);
	data_name(r, "command");
	json_string(&r->data, job->asked.text.data,
	    buf_cut(&job->asked.text, COMMAND_SHOWN));
	buf_puts(&r->data, "}");
}

static void
put_tasks(struct result *r, struct session *s, bool running, int64_t now)
{
	const char *before = "";

	while ((r->of.job = session_next_task(s, r->of.job)) != NULL) {
		if (running && r->of.job->state != JOB_TASK)
			continue;
		r->of.job->end_reported |= r->of.job->state == JOB_FINISHED;
		buf_puts(&r->data, before);
		put_task(r, now);
		before = ",";
	}
	if (before[0] == '\0')
		buf_add(&r->text, r->text.len > 0 ? "\n" : "", "no tasks");
}

void
results_list(struct buf *b, const struct reader *reader, struct session *s,
             int64_t now)
{
	const struct job *running;
	struct result r;
	int waiting;

	memset(&r, 0, sizeof(r));
	if (session_stateless(s)) {
		buf_puts(&r.text, "argument \"task_id\" is missing: tasks are "
		    "not listed here, where many clients share this server");
		results_refusal(b, NULL, &r.text);
		return;
	}
	buf_puts(&r.data, "{\"tasks\":[");
	put_tasks(&r, s, false, now);
	buf_puts(&r.data, "]");
	running = session_running(s, &waiting);
	if (running != NULL) {
		buf_puts(&r.text, "\nin the foreground: ");
		put_start(&r.text, &running->asked.text);
		buf_puts(&r.text, ", for ");
		buf_time(&r.text, job_elapsed(running, now));
		buf_number(&r.text, "; waiting for it: ", waiting, "");
	}
	if (!reader->data)
		buf_free(&r.data);
	put_result(b, false, &r.text, &r.data);
}

/* -- Errors ------------------------------------------------------------ */

/* Appends the list of tasks, or of those that run, to a text. */
static void
add_tasks(struct buf *t, struct session *s, bool running, int64_t now)
{
	struct result r;

	memset(&r, 0, sizeof(r));
	r.text = *t;
	put_tasks(&r, s, running, now);
	*t = r.text;
	buf_free(&r.data);
}

void
results_no_task(struct buf *b, struct session *s,
                const struct tools_call *call, int64_t now)
{
	struct buf t = { NULL, 0, 0, false };

	if (call->by_pid) {
		buf_number(&t, "no background process with pid ", call->pid,
		    "");
	} else {
		buf_puts(&t, "task not found: ");
		put_start(&t, &call->id);
	}
	buf_add(&t, "\nIt may have been read already or dropped ("
	    SAID(UNREAD_MOST) " unread results are kept), or be another "
	    "server's. ", call->by_pid
	    ? "End what is no task by the command kill. " : "",
	    session_stateless(s) ? "Its task_id is always needed "
	    "here, beside check_pid and kill_pid too."
	    : "The tasks that there are:");
	if (!session_stateless(s))
		add_tasks(&t, s, false, now);
	results_refusal(b, NULL, &t);
}

void
results_not_typed(struct buf *b, const struct job *job, int error)
{
	struct buf t = { NULL, 0, 0, false };

	buf_add(&t, "nothing was typed: task ", job->id, error == ENOTTY
	    ? " has no terminal; start the command with tty: true to type "
	    "into it"
	    : error == EPIPE ? " has ended, or closed its terminal; read "
	    "what is left of it with task_output"
	    : error == E2BIG ? " reads whole lines, and its terminal cuts one "
	    "over " SAID(LINE_TYPED_MOST) " bytes; put newlines into it, or "
	    "write it to a file"
	    : error == ENOBUFS ? " reads more slowly than this: at most 4 MiB "
	    "may wait to be read; type less, or write it to a file"
	    : " could not be reached: no memory left; try again later");
	results_refusal(b, NULL, &t);
}

/* The system's reason, and what the model can do about it */
static void
put_reason(struct buf *t, int error, bool edit)
{
	static const struct {
		int error;
		bool edit;  /* said of an edit alone */
		const char *advice;
	} known[] = {
		{ EAGAIN, false, "no processes are left; try again when some "
		  "have ended" },
		{ EMFILE, false, "no descriptors are left; try again when some "
		  "commands have ended" },
		{ ENFILE, false, "no descriptors are left; try again when some "
		  "commands have ended" },
		{ ENOMEM, false, "try again later" },
		{ E2BIG, false, "the command may be at most 1 MiB long: pass "
		  "more as stdin, or write it to a file in pieces" },
		{ ENOENT, true, "without old a file is made, in a directory "
		  "that is there; ~ and variables are not expanded" },
		{ EEXIST, true, "give old to change it, or remove it first" },
		{ EFBIG, true, "at most " SAID(EDIT_MOST_MIB) " MiB, before "
		  "and after" },
		{ EINVAL, true, "it must be a regular file" },
		{ EACCES, true, "its owner, and boris, must have write "
		  "permission" },
		{ EPERM, true, "it may be immutable (lsattr)" }
	};
	size_t i;

	buf_puts(t, strerror(error));
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].error == error && (edit || !known[i].edit))
			buf_add(t, "; ", known[i].advice);
	}
}

static void
put_bad_dir(struct buf *t, struct session *s, const struct job *job)
{
	const char *cwd = job->asked.cwd, *next = session_dir(s);
	const char *dir = job->dir != NULL ? job->dir : "";

	buf_puts(t, job->refused == JOB_LOST_DIR ? "the working directory "
	    : cwd != NULL ? "cwd " : "the directory ");
	put_path(t, dir);
	buf_add(t, " cannot be entered", job->refused == JOB_LOST_DIR
	    ? " any more: " : ": ");
	put_reason(t, job->error, false);
	buf_puts(t, "; nothing was run");
	if (job->refused == JOB_LOST_DIR) {
		buf_puts(t, "; the next command starts in ");
		put_path(t, next);
	}
	if (cwd != NULL && (cwd[0] == '~' || strchr(cwd, '$') != NULL))
		buf_puts(t, "; ~ and variables are not expanded in cwd; use "
		    "cd");
}

void
results_unlogged(struct buf *b, int error)
{
	struct buf t = { NULL, 0, 0, false };

	buf_add(&t, "nothing was done: the log of this server cannot be "
	    "written: ", strerror(error), "; tell your user");
	results_refusal(b, NULL, &t);
}

void
results_refused(struct buf *b, struct session *s, const struct job *job,
                int64_t now)
{
	const struct job *running;
	int waiting;
	struct buf t = { NULL, 0, 0, false };

	switch (job->refused) {
	case JOB_TOO_MANY:
		buf_add(&t, NOTES_TASKS_FULL, "; wait for one to end, or end "
		    "one with kill_pid");
		if (!session_stateless(s))
			add_tasks(&t, s, true, now);
		break;
	case JOB_WAITED:
		buf_puts(&t, "not run: it waited ");
		buf_time(&t, job->held);
		buf_puts(&t, ", as long as this client waits for a call, for "
		    "the command before it");
		running = session_running(s, &waiting);
		if (running != NULL) {
			buf_puts(&t, ", which still runs: ");
			put_start(&t, &running->asked.text);
		}
		break;
	case JOB_NO_DIR:
	case JOB_LOST_DIR:
		put_bad_dir(&t, s, job);
		break;
	case JOB_NO_LOG:
		results_unlogged(b, job->error);
		return;
	case JOB_NO_TERMINAL:
		buf_puts(&t, "no terminal could be had, which needs /dev/ptmx "
		    "and /dev/pts: ");
		put_reason(&t, job->error, false);
		break;
	case JOB_NO_START:
		buf_puts(&t, "the command could not be started: ");
		if (job->error == ENOENT || job->error == EACCES ||
		    job->error == ENOEXEC || job->error == ELOOP)
			buf_add(&t, "the shell ", session_shell(s), ": ");
		put_reason(&t, job->error, false);
		break;
	default:
		buf_puts(&t, "session is closed");
	}
	results_refusal(b, s, &t);
}

/* -- Edits ------------------------------------------------------------- */

/* What came of it, and what would be right (X4) */
static void
put_edit(struct buf *t, const struct edit *e)
{
	static const char *const said[] = {
		[EDIT_FAILED] = "nothing was changed: ",
		[EDIT_DONE] = "replaced ",
		[EDIT_NOT_FOUND] = "old was not found, nor a line like its "
		    "first one; look at the file",
		[EDIT_SPACED] = "old was not found; but for white space "
		    "it stands ",
		[EDIT_BEGUN] = "old was not found; its beginning stands ",
		[EDIT_SEVERAL] = "give all: true, or in old more of the lines "
		    "around the place that is meant: it was found ",
		[EDIT_BROKEN] = "it may be changed in part, and could not be "
		    "put back: "
	};
	bool failed = e->outcome == EDIT_FAILED || e->outcome == EDIT_BROKEN;
	int i;

	put_path(t, e->path);
	buf_add(t, ": ", e->outcome == EDIT_DONE && e->makes ? "made"
	    : said[e->outcome]);
	if (failed)
		put_reason(t, e->error, true);
	if (failed || e->count == 0)
		return;
	if (e->count > 1)
		buf_number(t, "", e->count, " times, ");
	buf_puts(t, e->count > 1 ? "in lines" : "in line");
	for (i = 0; i < EDIT_LINES && i < e->count; i++)
		buf_number(t, i == 0 ? " " : ", ", e->lines[i], "");
	buf_puts(t, e->count > EDIT_LINES ? " and so on" : "");
}

void
results_edit(struct buf *b, const struct reader *reader, struct session *s,
             const struct edit *e)
{
	bool error = e->outcome != EDIT_DONE;
	struct buf t = { NULL, 0, 0, false }, data = t, note = t;
	size_t most, n = e->shown.len;

	put_edit(&t, e);
	notes_put_ended(&note, s);
	if (note.len > 0)
		buf_puts(&t, "\nnote: ");
	buf_put(&t, note.data, note.len);
	buf_puts(&t, n > 0 ? "\n\n" : "");
	/* So many of the lines as the client lets through (K3) */
	most = reader->bytes > 0 ? (size_t)reader->bytes : SIZE_MAX / 2;
	while (n > 0 && (t.len + n > most || e->shown.data[n - 1] != '\n'))
		n--;
	buf_put(&t, e->shown.data, n);
	t.failed = t.failed || note.failed || e->shown.failed;
	buf_free(&note);
	if (!error && reader->data) {
		buf_puts(&data, "{\"status\":\"completed\",\"text\":");
		json_string(&data, t.data, t.len);
	}
	put_result(b, error, &t, &data);
}
