#define _POSIX_C_SOURCE 200809L

#include "mcp/results.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "json.h"
#include "session/edit.h"

enum {
	HEADINGS = 40,         /* bytes of the lines "stdout:" and "stderr:" */
	FOREGROUND_END = 40,   /* bytes after a command in that list */
	LIST_END = 120,        /* bytes after the lines of a list of tasks */
	FACTS_LEAST = 60,      /* bytes of the first lines of a result */
	LINE_LEAST = 60,       /* bytes of such a line, however many there are */
	HEADING_LINES = 20,    /* lines of a result that are no output (K3) */
	ENDED_SHOWN = 60,      /* characters of what an ended task is for */
	ENDED_BYTES = 150,     /* the same in bytes; so six such notes fit in
	                        * three quarters of any limit (K3) */
	SEMICOLON = 2          /* bytes behind each note */
};

/* What a result is about, and what is written of it, as text and data (B6) */
struct result {
	const struct caller *caller;
	struct session *session;
	const struct want *want;
	struct job *job;
	int64_t now;
	bool start;            /* the job was given by this call */
	bool task;             /* it is one, not a foreground command */
	bool looks;            /* this shows how a task stands */
	bool ended;            /* it is said to have ended */
	size_t told;           /* bytes at the end of `notes`: those about
	                        * abandoned calls and ended tasks (E6, T8) */
	struct buf notes, text, data;
};

/* With NUM() and SECS() at each place the binary has 600 bytes more. */
static void
put_number(struct buf *b, const char *before, int64_t n, const char *behind)
{
	buf_add(b, before, NUM(n), behind);
}

static void
put_seconds(struct buf *b, const char *before, int64_t ms, const char *behind)
{
	buf_add(b, before, SECS(ms), behind);
}

/* On one line: control characters (C0, DEL, C1) as JSON escapes them */
static void
put_visible(struct buf *b, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i;

	for (i = 0; i < n; i++) {
		bool c1 = p[i] == 0xc2 && i + 1 < n &&
		    (p[i + 1] & 0xe0) == 0x80;

		if (p[i] < ' ') {
			json_escaped(b, p + i, 1);
		} else if (c1 || p[i] == 0x7f) {
			i += c1;
			buf_add(b, "\\u00", (char[]){ "789"[(p[i] >> 4) - 7],
			    "0123456789abcdef"[p[i] & 15], '\0' });
		} else {
			buf_putc(b, text[i]);
		}
	}
}

static void
put_dir(struct buf *b, const char *before, const char *dir)
{
	buf_add(b, before);
	put_visible(b, dir, strlen(dir));
}

/* As much of a text of the client's as is shown */
static void
put_start(struct buf *b, const struct buf *text)
{
	put_visible(b, text->data, utf8_cut(text, COMMAND_SHOWN));
}

/* Cuts a text to `most` bytes, in front of its last `keep` bytes. `most` must
 * be larger than `keep` by 3 at least. */
static void
cut_before(struct buf *text, size_t keep, size_t most)
{
	size_t end = most - keep - 3;
	const char *kept = text->data + text->len - keep;

	if (text->len <= most)
		return;
	while (end > 0 && utf8_continues((unsigned char)text->data[end]))
		end--;
	memcpy(text->data + end, "...", 3);
	memmove(text->data + end + 3, kept, keep);
	text->len = end + 3 + keep;
}

/* Cuts what was appended to a text since it had `from` bytes. */
static void
cut_line(struct buf *text, size_t from, size_t most)
{
	struct buf line = { text->data + from, text->len - from,
	    text->cap - from };

	cut_before(&line, 0, most);
	text->len = from + line.len;
}

/* Appends the start of what a task is for, as a note shows it. */
static void
put_short(struct buf *b, const struct buf *text)
{
	size_t from = b->len;

	put_visible(b, text->data, utf8_cut(text, ENDED_SHOWN));
	cut_line(b, from, ENDED_BYTES);
}

/* Cuts a text that is longer than its client lets through (K3), in front of its
 * last `keep` bytes. */
static void
cut_text(struct buf *text, const struct caller *caller, size_t keep)
{
	if (caller->bytes > 0)
		cut_before(text, keep, (size_t)caller->bytes);
}

/* The members of a result, or of an error if it has no data; frees both. */
static void
put_result(struct buf *b, const struct caller *caller, struct buf *text,
           struct buf *data)
{
	cut_text(text, caller, 0);
	buf_add(b, "\"content\":[{\"type\":\"text\",\"text\":");
	json_string(b, text->data, text->len);
	buf_add(b, "}]");
	if (data->len > 0 && caller->data) {
		buf_add(b, ",\"structuredContent\":{");
		buf_put(b, data->data, data->len);
		buf_add(b, "}");
	}
	buf_add(b, ",\"isError\":", data->len > 0 ? "false" : "true");
	buf_free(text);
	buf_free(data);
}

/* -- Notes ------------------------------------------------------------- */

/* Notes say what the model has to know beyond the output, and can do next (B7):
 * short sentences, each with "; " behind it, which is taken off the last. */
#define AS_LONG " s, as long as this client waits"
#define WAIT_ENDED "the wait was ended after "

/* Which tasks have ended since that was last said (T8), and which cancelled
 * commands have not (E12) */
static void
note_ended(struct buf *b, struct session *s)
{
	const struct buf *name;
	struct job *job = NULL;
	int n = 0;

	while ((job = session_next_untold(s, job)) != NULL) {
		if (n++ >= SESSION_ENDED_TOLD)
			continue;
		name = job->description.len > 0 ? &job->description
		    : &job->exec.text;
		if (job->exec.shell_ended)
			buf_add(b, "task ", job->id, " has ended: exit code ",
			    NUM(job->exec.status), " (");
		else
			buf_add(b, "task ", job->id, " has timed out, but was "
			    "not ended (");
		put_short(b, name);
		buf_add(b, "); ");
	}
	if (n > SESSION_ENDED_TOLD)
		put_number(b, "and ", n - SESSION_ENDED_TOLD,
		    " more tasks have ended; ");
	job = NULL;
	while ((job = session_next_uncancelled(s, job)) != NULL) {
		buf_add(b, "a cancelled command was not ended: ");
		exec_put_survivor(&job->exec, b);
		buf_add(b, " (");
		put_short(b, &job->exec.text);
		buf_add(b, "); ");
	}
}

/* What boris could not end (E12) */
static void
note_survivor(struct result *r)
{
	if (!job_survives(r->job))
		return;
	exec_put_survivor(&r->job->exec, &r->notes);
	buf_add(&r->notes, "; ");
}

/* Reports what became of the commands whose calls were ended by a timer of the
 * client (E6). */
static void
note_abandoned(struct buf *b, struct session *s)
{
	const struct buf *command;
	struct job *job = NULL;
	int n;

	for (n = 0; n < SESSION_ABANDONED_TOLD; n++) {
		job = session_next_abandoned(s, job);
		if (job == NULL)
			return;
		command = &job->exec.text;
		if (job->not_run)
			buf_add(b, "your call timed out; its command was not "
			    "run: ");
		else if (job->state == JOB_FINISHED && !job->exec.shell_ended)
			buf_add(b, "your call timed out; its command could not "
			    "be ended: ");
		else if (job->state == JOB_FINISHED)
			buf_add(b, "your call timed out; its command has ended "
			    "as task ", job->id, " with exit code ",
			    NUM(job->exec.status), ": ");
		else
			buf_add(b, "your call timed out; its command keeps "
			    "running as task ", job->id, ": ");
		put_short(b, command);
		buf_add(b, "; ");
	}
}

/* The maximum that is meant is options->tasks_most (T2). */
#define TASKS_FULL " background tasks are running, which is the maximum"
#define END_ONE "; end one with kill_pid, or wait until one has ended"
#define END_ONE_BY_ID "; end one with kill_pid and its task_id, or wait until " \
	"one has ended"

/* Appends the unit of a timeout that has expired, if it may have been meant as
 * seconds (B7). */
static void
note_unit(struct buf *b, const struct job *job)
{
	if (job->timeout < 1000)
		buf_add(b, "timeout is in milliseconds; ");
}

/* What has ended it: its own timeout (a foreground command's text begins with
 * that, B), or the limit of its call (E5, K2) */
static void
note_limits(struct result *r)
{
	const struct job *job = r->job;
	struct buf *b = &r->notes;

	if (job->no_room && job->abandoned) {
		buf_add(b, job->exec.shell_ended
		    ? "terminated when your call timed out; "
		    : "given up when your call timed out; ");
	} else if (job->no_room && job->patience > 0) {
		put_seconds(b, job->exec.shell_ended ? "terminated after "
		    : "given up after ", job->patience, AS_LONG "; ");
	} else if (job->timed_out && r->task && !job->exec.shell_ended) {
		buf_add(b, job->by_server ? "--bg-timeout, this server's "
		    "limit, has passed; " : "its timeout has passed; ");
	} else if (job->timed_out && r->task) {
		buf_add(b, "terminated by ", job->by_server ? "--bg-timeout, "
		    "this server's limit; " : "its timeout; ");
		if (!job->by_server)
			note_unit(b, job);
	} else if (job->timed_out) {
		put_number(b, "Command timed out after ", job->timeout, "ms; ");
		buf_put(&r->text, b->data, b->len - SEMICOLON);
		note_unit(b, job);
		buf_add(b, "use run_in_background for longer jobs and servers, "
		    "and tty for interactive programs; ");
	}
	if (job->capped && r->start)
		put_number(b, "timeout counts as ", job->timeout,
		    ", the most; ");
	if (job->no_room)
		put_number(b, "not continued as a task, since ",
		    job->options->tasks_most, TASKS_FULL "; ");
	if (job->killed && !r->task)
		buf_add(b, "session is closed; ");
}

/* One word for a shell, in quotes unless it needs none, and a blank */
static void
put_word(struct buf *b, const char *before, const char *word)
{
	const char *quote = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDE"
	    "FGHIJKLMNOPQRSTUVWXYZ0123456789_./+-")] == '\0' ? "" : "'";

	buf_add(b, before, quote);
	for (; *word != '\0'; word++) {
		buf_add(b, *word == '\'' ? "'\\'" : "");
		buf_putc(b, *word);
	}
	buf_add(b, quote, " ");
}

/* A process on the terminal that is stopped: by which signal, and what to do */
static void
note_stopped(struct result *r)
{
	const struct want *w = r->want;
	struct buf *b = &r->notes;

	if (w->stopped == 0)
		return;
	put_number(b, "process group ", w->stopped, " is stopped");
	switch (w->stop_signal) {
	case SIGTTIN:
		buf_add(b, " by SIGTTIN, because it reads from the terminal in "
		    "the background (with timeout, use timeout --foreground)");
		break;
	case SIGTTOU:
		buf_add(b, " by SIGTTOU, because it changes the terminal in "
		    "the background (with timeout, use timeout --foreground)");
		break;
	case SIGTSTP:
		buf_add(b, " by SIGTSTP (Ctrl-Z)");
		break;
	case SIGSTOP:
		buf_add(b, " by SIGSTOP");
		break;
	}
	if (w->stop_signal == SIGTTIN || w->stop_signal == SIGTTOU)
		buf_add(b, "; ");
	else
		put_number(b, "; continue it with kill -CONT -- -", w->stopped,
		    "; ");
}

/* Appends why a command in the foreground has become a task, and what to do
 * with it: its timeout has expired (E5), or its client would wait no longer
 * (K2). */
static void
note_hand_over(struct result *r)
{
	const struct job *job = r->job;
	struct buf *b = &r->notes;

	if (job->patience > 0) {
		put_seconds(b, "this client waits at most ", job->patience,
		    " s, so the command keeps running as task ");
		buf_add(b, job->id);
		put_number(b, ", until its timeout of ", job->timeout / 1000,
		    " s; ");
	} else {
		put_number(b, "the command timed out after ", job->timeout,
		    "ms and keeps running as task ");
		buf_add(b, job->id, "; ");
		note_unit(b, job);
	}
	put_number(b, "wait for it with task_output, or end it with kill_pid ",
	    job->exec.pid, r->session->shared ? " and this task_id; " : "; ");
}

/* A task that runs: what became of a wait, and how to go on. Where its terminal
 * asks: how to answer, told once, and how a person can (I5) */
static void
note_running(struct result *r)
{
	const struct job *job = r->job;
	const struct options *o = job->options;
	const struct want *w = r->want;
	const struct exec_prompt *p = &w->prompt;
	bool asks = r->looks && p->state != TERMINAL_BUSY;
	struct buf *b = &r->notes;

	if (r->start && !job->background)
		note_hand_over(r);
	if (w->patience > 0)
		put_seconds(b, WAIT_ENDED, w->patience,
		    AS_LONG ": wait again; ");
	if (job->exec.starting) {
		put_dir(b, "the directory ", job->start_dir);
		buf_add(b, " does not respond, so nothing has been run yet; ");
	}
	if (r->start && job->background && !asks)
		put_number(b, "read with task_output, end with kill_pid ",
		    job->exec.pid, r->session->shared
		    ? " and this task_id; " : "; ");
	if (w->no_enter)
		buf_add(b, "no Enter was typed: end input with \\n (Ctrl-C "
		    "is \\u0003); ");
	note_stopped(r);
	if (asks)
		buf_add(b, p->secret ? "it asks for a secret"
		    : p->state == TERMINAL_PROMPTS ? "it waits for input"
		    : "it may wait for input", job->prompt_told ? "; "
		    : ": answer with this task_id; ");
	if (!asks || !p->secret || !w->secret)
		return;
	buf_add(b, "or your user types it there: ");
	if (strcmp(o->tmpdir, "/tmp") != 0)
		put_word(b, "TMPDIR=", o->tmpdir);
	put_word(b, "", o->self);
	buf_add(b, "--secret=", job->secret.id, "; ");
}

/* Why the directory did not follow the command (D2), and what to do */
#define NOT_UPDATED "the working directory was not updated, because "
#define CD_ALONE ", so use cd in a separate command; "
static const char *const reports[] = {
	[REPORT_OK] = "",
	[REPORT_NO_FD] = NOT_UPDATED "the limit on open files is too low; ",
	[REPORT_REPLACED] = NOT_UPDATED "another program replaced the shell "
	    "(exec)" CD_ALONE,
	[REPORT_TRAP] = NOT_UPDATED "the command sets its own EXIT trap"
	    CD_ALONE,
	[REPORT_LOST] = NOT_UPDATED "the shell did not report it" CD_ALONE
};

#define LEFT_RUNNING "the command left processes running, and their further " \
	"output is not shown; end them with: "

/* What ended it, and what it left */
static void
note_end(struct result *r)
{
	const struct job *job = r->job;
	const struct exec *x = &job->exec;
	struct buf *b = &r->notes;

	if (x->outcome.stage != PROC_ENTERED) {
		put_dir(b, "the directory ", job->start_dir);
		buf_add(b, " did not respond, so nothing was run; ");
		return;
	}
	if (x->orphans)
		put_number(b, x->terminal || x->elsewhere
		    ? LEFT_RUNNING "pkill -s " : LEFT_RUNNING "kill -- -",
		    x->pid, "; ");
	if (x->signalled && !job->timed_out && !job->killed)
		put_number(b, "the shell was ended by signal ", x->status - 128,
		    x->status == 128 + SIGKILL ? ", not by boris (or "
		    "memory ran out): the rest was not run; "
		    : ", not by boris: the rest was not run; ");
	if (!r->task && !job->timed_out && !job->killed)
		buf_add(b, reports[x->report]);
	if (x->pipeline != NULL)
		buf_add(b, "exit codes of the last pipeline: ", x->pipeline,
		    "; ");
}

/* Returns how many bytes a line of the list of tasks may have, so that all of
 * them fit in what the client lets through (K3). */
static size_t
line_most(const struct result *r)
{
	int64_t left = r->caller->bytes - LIST_END - (int64_t)r->text.len -
	    (int64_t)r->notes.len;
	int lines = 1;  /* that of the waiting calls */
	const struct job *running = NULL;
	struct job *job = NULL;

	if (r->caller->bytes == 0)
		return SIZE_MAX;
	while ((job = session_next_task(r->session, job)) != NULL)
		lines++;
	while ((running = session_next_running(r->session, running)) != NULL)
		lines++;
	return left > lines * LINE_LEAST ? (size_t)(left / lines) - 1
	    : LINE_LEAST;
}

/* All tasks, or those that run: each is a line, and an object of the data. */
static void
list_tasks(struct result *r, bool running)
{
	struct buf *t = &r->text, *d = &r->data;
	size_t most = line_most(r), line;
	struct job *job = NULL;

	while ((job = session_next_task(r->session, job)) != NULL) {
		bool ended = job->state == JOB_FINISHED;
		const char *status = job_status(job, ended);
		int64_t time = job_elapsed(job, r->now);

		if (running && job->state != JOB_TASK)
			continue;
		buf_add(d, d->len > 0 && d->data[d->len - 1] == '}'
		    ? ",{" : "{");
		json_put(d, "task_id", job->id);
		json_put_number(d, "pid", job->exec.pid);
		json_put(d, "status", status);
		json_put_number(d, "elapsed_ms", time);
		buf_end_line(t);
		line = t->len;
		buf_add(t, job->id, "  pid ", NUM(job->exec.pid), "  ", status);
		if (ended && job->exec.shell_ended) {
			json_put_number(d, "exit_code", job->exec.status);
			put_number(t, "  exit_code ", job->exec.status, "");
		}
		put_seconds(t, "  ", time, " s  ");
		if (job->description.len > 0) {
			put_start(t, &job->description);
			buf_add(t, ": ");
			json_put_bytes(d, "description", job->description.data,
			    job->description.len);
		}
		put_start(t, &job->exec.text);
		cut_line(t, line, most);
		json_put_bytes(d, "command", job->exec.text.data,
		    utf8_cut(&job->exec.text, COMMAND_SHOWN));
		buf_add(d, "}");
	}
	if (session_next_task(r->session, NULL) == NULL)
		buf_add(t, t->len > 0 ? "\n" : "", "no tasks");
}

/* Appends the commands in the foreground, each on a line of at most so many
 * bytes, and how many calls wait for them (T7). */
static void
list_foreground(struct result *r, size_t most)
{
	const struct session *s = r->session;
	const struct job *job = NULL;
	struct buf *t = &r->text;
	size_t line;

	while ((job = session_next_running(s, job)) != NULL) {
		buf_add(t, "\n");
		line = t->len;
		buf_add(t, "in the foreground: ");
		put_start(t, &job->exec.text);
		cut_line(t, line, most - FOREGROUND_END);
		put_seconds(t, ", for ", job_elapsed(job, r->now), " s");
		if (!job->parallel)
			put_number(t, "; waiting for it: ",
			    s->waiting - s->waiting_parallel, "");
	}
	if (s->waiting_parallel > 0)
		put_number(t, "\nwaiting for one of those with an absolute "
		    "cwd: ", s->waiting_parallel, "");
}

void
results_list(struct buf *b, const struct caller *caller, struct session *s,
             const struct want *want, int64_t now)
{
	struct result r = { .caller = caller, .session = s, .now = now };
	size_t most;

	note_abandoned(&r.notes, s);
	most = line_most(&r);
	if (r.notes.len > 0) {
		r.notes.len -= SEMICOLON;
		json_put(&r.data, "note", buf_text(&r.notes));
	}
	json_name(&r.data, "tasks");
	buf_add(&r.data, "[");
	list_tasks(&r, false);
	buf_add(&r.data, "]");
	list_foreground(&r, most);
	if (want->patience > 0)
		put_seconds(&r.text, "\n" WAIT_ENDED, want->patience, AS_LONG
		    ": wait again");
	if (r.notes.len > 0)
		buf_add(&r.text, "\nnote: ", buf_text(&r.notes));
	cut_text(&r.text, caller, r.notes.len);
	buf_free(&r.notes);
	put_result(b, caller, &r.text, &r.data);
}

/* -- Errors ------------------------------------------------------------ */

/* The ended tasks, as a line of their own (T8) */
static void
put_ended(struct buf *text, struct session *s)
{
	if (session_next_untold(s, NULL) == NULL &&
	    session_next_abandoned(s, NULL) == NULL &&
	    session_next_uncancelled(s, NULL) == NULL)
		return;
	buf_end_line(text);
	buf_add(text, "note: ");
	note_abandoned(text, s);
	note_ended(text, s);
	text->len -= SEMICOLON;
}

void
results_refusal(struct buf *b, const struct caller *caller, struct session *s,
                struct buf *text)
{
	struct buf none = { NULL, 0, 0 };
	size_t len = text->len;

	put_ended(text, s);
	cut_text(text, caller, text->len - len);
	put_result(b, caller, text, &none);
}

/* What the model can do about the system's reason. `why` stands where the words
 * of strerror() say too little. */
static const struct reason {
	enum subject { ABOUT_ANY, ABOUT_EDIT, ABOUT_INPUT } about;
	int error;
	const char *why, *then;
} reasons[] = {
	{ ABOUT_INPUT, ENOTTY, "it has no terminal",
	  "; start the command with tty: true" },
	{ ABOUT_INPUT, EPIPE, "it has ended, or closed its terminal",
	  "; read what is left with task_output" },
	{ ABOUT_INPUT, E2BIG, "its terminal would cut it",
	  "; put newlines into it, or write it to a file" },
	{ ABOUT_INPUT, ENOBUFS, "it reads too slowly, and 4 MiB at most may "
	  "wait for that", "; type less, or write it to a file" },
	{ ABOUT_EDIT, ENOENT, NULL, "; without old a file is made, in a "
	  "directory that is there; ~ and variables are not expanded" },
	{ ABOUT_EDIT, EEXIST, NULL, "; give old to change it, or remove it" },
	{ ABOUT_EDIT, EFBIG, NULL, "; at most 16 MiB, before and after" },
	{ ABOUT_EDIT, EINVAL, NULL, "; it must be a regular file" },
	{ ABOUT_ANY, EAGAIN, "no processes are left", "; try again later" },
	{ ABOUT_ANY, EMFILE, "no descriptors are left", "; try again later" },
	{ ABOUT_ANY, ENFILE, "no descriptors are left", "; try again later" },
	{ ABOUT_ANY, E2BIG, NULL, "; a command may have 1 MiB: pass more as "
	  "stdin, or write a file in pieces" },
	{ ABOUT_ANY, 0, NULL, "" }
};

static void
put_reason(struct buf *t, enum subject about, int error)
{
	const struct reason *r = reasons;

	while (r->error != 0 && (r->error != error ||
	    (r->about != about && r->about != ABOUT_ANY)))
		r++;
	buf_add(t, r->why != NULL ? r->why : strerror(error), r->then);
}

void
results_unlogged(struct buf *b, const struct caller *caller, struct session *s,
                 int error)
{
	struct buf t = { NULL, 0, 0 };

	buf_add(&t, "nothing was done: the log of this server cannot be "
	    "written: ", strerror(error), "; tell your user");
	results_refusal(b, caller, s, &t);
}

void
results_not_typed(struct buf *b, const struct caller *caller,
                  struct session *s, const struct job *job, int error)
{
	struct buf t = { NULL, 0, 0 };

	buf_add(&t, "nothing was typed into task ", job->id, ": ");
	if (error == E2BIG)
		put_number(&t, "a line has over ", LINE_TYPED_MOST, " bytes: ");
	put_reason(&t, ABOUT_INPUT, error);
	results_refusal(b, caller, s, &t);
}

void
results_no_task(struct buf *b, const struct caller *caller, struct session *s,
                const struct want *want, int64_t now)
{
	struct result r = { .caller = caller, .session = s, .now = now };

	if (want->by_pid && want->pid != 0) {
		put_number(&r.text, "no background process with pid ",
		    want->pid, "");
	} else {
		buf_add(&r.text, "task not found: ");
		put_start(&r.text, &want->id);
	}
	buf_add(&r.text, "\nIt may have been read, dropped for newer ones, or "
	    "be another server's. ", s->shared
	    ? "Its task_id is always needed here."
	    : "The tasks that there are:");
	if (!s->shared)
		list_tasks(&r, false);
	buf_free(&r.data);
	results_refusal(b, caller, s, &r.text);
}

void
results_refused(struct buf *b, const struct caller *caller, struct session *s,
                const struct job *job, int64_t now)
{
	struct result r = { .caller = caller, .session = s, .now = now };
	const char *cwd = job->cwd != NULL ? job->cwd : "", *dir;
	const struct job *running = job->parallel ? NULL : session_running(s);
	struct buf *t = &r.text;

	switch (job->refused) {
	case JOB_TOO_MANY:
		put_number(t, "", job->options->tasks_most, TASKS_FULL
		    ", so nothing was started");
		buf_add(t, s->shared ? END_ONE_BY_ID : END_ONE);
		if (!s->shared)
			list_tasks(&r, true);
		buf_free(&r.data);
		break;
	case JOB_WAITED:
		put_seconds(t, "not run: still queued after ", job->patience,
		    " s, the longest this client waits");
		if (running != NULL) {
			buf_add(t, "; running: ");
			put_start(t, &running->exec.text);
		} else if (s->tasks == job->options->tasks_most) {
			put_number(t, "; ", s->tasks, TASKS_FULL);
			buf_add(t, s->shared ? END_ONE_BY_ID : END_ONE);
		} else {
			put_number(t, "; ", s->running_parallel, s->shared
			    ? " commands are running"
			    : " commands with an absolute cwd are running");
		}
		break;
	case JOB_NO_DIR:
	case JOB_LOST_DIR:
		dir = job->refused == JOB_LOST_DIR ? job->tracked_dir
		    : job->start_dir;
		buf_add(t, cwd[0] != '\0' ? "cwd " : "the directory ");
		put_visible(t, dir, strlen(dir));
		buf_add(t, " cannot be entered: ");
		put_reason(t, ABOUT_ANY, job->error);
		buf_add(t, "; nothing was run");
		if (job->refused == JOB_LOST_DIR) {
			buf_add(t, "; the next command starts in ");
			put_visible(t, s->dir, strlen(s->dir));
		}
		if (cwd[0] == '~' || strchr(cwd, '$') != NULL)
			buf_add(t, "; ~ and variables are not expanded in "
			    "cwd; use cd");
		break;
	case JOB_NO_LOG:
		results_unlogged(b, caller, s, job->error);
		return;
	case JOB_NO_ID:
		buf_add(t, "the task could not be started: no random number is "
		    "available for its id; try again later");
		break;
	case JOB_NO_TERMINAL:
		buf_add(t, "no terminal could be had (/dev/ptmx, /dev/pts): ");
		put_reason(t, ABOUT_ANY, job->error);
		break;
	case JOB_NO_START:
		buf_add(t, "the command could not be started: the shell ",
		    job->options->shell, ": ");
		put_reason(t, ABOUT_ANY, job->error);
		break;
	default:
		buf_add(t, "session is closed");
	}
	results_refusal(b, caller, s, t);
}

/* What came of an edit, and what would be right (X4) */
static const char *const outcomes[] = {
	[EDIT_FAILED] = "nothing was changed: ",
	[EDIT_DONE] = "replaced ", [EDIT_IN_PLACE] = "replaced ",
	[EDIT_NOT_FOUND] = "old was not found; look at the file",
	[EDIT_SPACED] = "old was not found; but for white space it stands ",
	[EDIT_SEVERAL] = "give all: true, or in old more lines around the "
	    "place: it was found ",
	[EDIT_CHANGED] = "the file has changed meanwhile: nothing was done; "
	    "try again",
	[EDIT_LOCKED] = "another program keeps the file locked: nothing was "
	    "done; try again later",
	[EDIT_BROKEN] = "it may be changed in part, and could not be put back: "
};

void
results_edit(struct buf *b, const struct caller *caller, struct session *s,
             struct job *job, const struct want *want, int64_t now)
{
	const struct edit *e = job->work;
	bool done = e->outcome == EDIT_DONE || e->outcome == EDIT_IN_PLACE;
	int64_t i, places = e->outcome == EDIT_CHANGED ? 0 : e->count;
	struct buf t = { NULL, 0, 0 }, data = t;
	size_t len;

	(void)want, (void)now;
	put_visible(&t, e->path, strlen(e->path));
	buf_add(&t, ": ", done && e->makes ? "made" : outcomes[e->outcome]);
	if (e->outcome == EDIT_FAILED || e->outcome == EDIT_BROKEN) {
		put_reason(&t, ABOUT_EDIT, e->error);
		places = 0;
	}
	if (places > 1)
		put_number(&t, "", places, " times, ");
	for (i = 0; i < EDIT_LINES && i < places; i++)
		put_number(&t, i > 0 ? ", " : places > 1 ? "in lines "
		    : "in line ", e->lines[i], "");
	buf_add(&t, places > EDIT_LINES ? " and so on" : "",
	    e->outcome == EDIT_IN_PLACE ? " (written in place)" : "");
	len = t.len;
	put_ended(&t, s);
	cut_text(&t, caller, t.len - len);
	buf_add(&t, e->shown.len > 0 ? "\n\n" : "");
	buf_put(&t, e->shown.data, e->shown.len);
	cut_text(&t, caller, 0);
	if (done) {
		json_put(&data, "status", "completed");
		json_put_bytes(&data, "text", t.data, t.len);
	}
	put_result(b, caller, &t, &data);
}

/* What stands before the output */
static void
put_facts(struct result *r)
{
	const struct job *job = r->job;
	const char *status = job_status(job, r->ended);
	bool exited = r->ended && job->exec.shell_ended;
	const char *signal = exec_signal(&job->exec);
	const char *notes = r->notes.len > 0 ? buf_text(&r->notes) : NULL;
	struct buf *t = &r->text, *d = &r->data;
	size_t headline = t->len > 0 ? t->len + SEMICOLON : 0, most, keep;
	int64_t time = job_elapsed(job, r->now);

	json_put(d, "status", status);
	/* A command that boris could not end has no exit code to begin with. */
	if (r->task || (r->ended && !exited && t->len == 0))
		buf_add(t, "status: ", status);
	if (exited) {
		json_put_number(d, "exit_code", job->exec.status);
		json_put(d, "signal", signal);
	}
	if (r->ended)
		json_put_true(d, "timed_out", job->timed_out);
	if (exited) {
		buf_end_line(t);
		put_number(t, "exit_code: ", job->exec.status, "");
		if (signal != NULL)
			buf_add(t, " (", signal, ")");
	}
	json_put(d, "note", notes);
	if (r->task) {
		json_put(d, "task_id", job->id);
		json_put_number(d, "pid", job->exec.pid);
		buf_add(t, "\ntask_id: ", job->id);
		if (!r->ended)
			put_number(t, "\npid: ", job->exec.pid, "");
	} else if (job->dir != NULL) {
		json_put(d, "cwd", job->dir);
		if (job->shows_dir) {
			buf_add(t, "\ncwd: ");
			put_visible(t, job->dir, strlen(job->dir));
		}
	}
	keep = t->len;
	json_put_number(d, "elapsed_ms", time);
	if (time >= 1000 || (!r->ended && (r->looks || !job->background)))
		put_seconds(t, "\nelapsed: ", time, " s");
	if (notes != NULL)
		buf_add(t, "\nnote: ", notes + headline);
	if (r->caller->bytes == 0)
		return;
	/* The name of the directory is cut first, then notes, but not those
	 * that no later result repeats. The rest is for the output. */
	most = (size_t)r->caller->bytes / 4 * 3;
	keep = t->len - keep;
	cut_before(t, keep + FACTS_LEAST < most ? keep : r->told, most);
}

/* A stream of it as it is shown */
struct shown {
	const char *name;
	const struct job_stream *stream;
	struct buf text;
	int64_t lines;
	struct output_view view;
};

static void
show_stream(const struct result *r, struct shown *s,
            const struct output_bounds *most)
{
	buf_free(&s->text);
	s->view = output_show(s->stream->text, r->looks && r->want->only_new
	    ? &s->stream->seen : NULL, most, s->name, &s->text);
	s->lines = buf_lines(s->text.data, s->text.len);
}

/* How a stream is cut: as this call asks, else as the start of the command did.
 * By default a stream that has not ended shows its end (T3). */
static struct output_bounds
choose_bounds(const struct result *r, const struct output *text)
{
	struct output_bounds bounds = r->job->bounds;
	const struct want *w = r->want;
	bool ended = output_ended(text);

	if (!ended)
		bounds.how = TRUNCATE_LOOK;
	if (w->limit > 0) {
		bounds.limit = w->limit;
		/* TRUNCATE_LOOK has a limit of its own. */
		bounds.how = ended ? bounds.how : TRUNCATE_TAIL;
	}
	if (w->truncates)
		bounds.how = w->truncate;
	return bounds;
}

/* How much one of two streams gets: what the other leaves, or half, if that is
 * more; at least 1, since 0 would be no bound. */
static int64_t
share(int64_t all, int64_t other)
{
	if (other > all / 2)
		other = all / 2;
	return all - other > 1 ? all - other : 1;
}

/* Both streams, cut so that together they fit what the client lets through */
static void
put_output(struct result *r)
{
	struct shown s[2] = {
		{ .name = "stdout", .stream = &r->job->out },
		{ .name = "stderr", .stream = &r->job->err }
	};
	size_t len = r->text.len;
	int64_t bytes = r->caller->bytes > 0
	    ? r->caller->bytes - HEADINGS - (int64_t)len : INT32_MAX;
	int64_t lines = r->caller->lines > 0 ? r->caller->lines - HEADING_LINES
	    : INT32_MAX;
	struct output_bounds most;
	int i;

	for (i = 0; i < 2; i++) {
		most = choose_bounds(r, s[i].stream->text);
		show_stream(r, &s[i], &most);
	}
	for (i = 0; i < 2; i++) {
		most = choose_bounds(r, s[i].stream->text);
		most.bytes = share(bytes, (int64_t)s[!i].text.len);
		most.lines = share(lines, s[!i].lines);
		if ((int64_t)s[i].text.len > most.bytes ||
		    s[i].lines > most.lines)
			show_stream(r, &s[i], &most);
	}
	for (i = 0; i < 2; i++) {
		json_put_bytes(&r->data, s[i].name, s[i].text.data,
		    s[i].text.len);
		if (s[i].text.len == 0)
			continue;
		buf_end_line(&r->text);
		buf_add(&r->text, "\n", s[i].name, ":\n");
		buf_put(&r->text, s[i].text.data, s[i].text.len);
		buf_free(&s[i].text);
	}
	for (i = 0; i < 2; i++) {
		if (s[i].view.chars >= 0)
			json_put_number(&r->data, i == 0 ? "stdout_chars"
			    : "stderr_chars", s[i].view.chars);
	}
	json_put(&r->data, "stdout_file", s[0].view.file);
	json_put(&r->data, "stderr_file", s[1].view.file);
	if (r->text.len == len)
		buf_add(&r->text, "\n\n(no ", r->looks && r->want->only_new
		    ? "new " : "", "output)");
}

void
results_job(struct buf *b, const struct caller *caller, struct session *s,
            struct job *job, const struct want *want, int64_t now)
{
	struct result r = { .caller = caller, .session = s, .want = want,
	    .job = job, .now = now, .start = want->action == WANT_RUN,
	    .task = job_is_task(job) };
	size_t told;

	r.looks = r.task && (!r.start || want->time > 0);
	r.ended = job->state == JOB_FINISHED && (r.looks || !r.task);
	note_limits(&r);
	if (r.task && !r.ended)
		note_running(&r);
	if (r.looks && want->until_missed) {
		buf_add(&r.notes, "not seen", r.start ? ": "
		    : " since the last look: ");
		put_start(&r.notes, &want->until);
		buf_add(&r.notes, " (until is plain text, no pattern); ");
		if (want->time < 1000)
			buf_add(&r.notes, "wait is in milliseconds; ");
		if (!r.ended && !job->exec.terminal &&
		    output_bytes(job->out.text) +
		    output_bytes(job->err.text) == 0)
			buf_add(&r.notes, "nothing was printed: without a "
			    "terminal a program may hold its output back "
			    "(stdbuf -oL, tty); ");
	}
	if (r.ended)
		note_end(&r);
	note_survivor(&r);
	if (r.looks && !job->screen_told && output_is_screen(job->out.text))
		buf_add(&r.notes, "a full-screen program: its screen is not "
		    "shown; ");
	told = r.notes.len;
	note_abandoned(&r.notes, s);
	note_ended(&r.notes, s);
	r.notes.len -= r.notes.len > 0 ? SEMICOLON : 0;
	r.told = r.notes.len > told ? r.notes.len - told : 0;
	put_facts(&r);
	/* The start of a task that nobody waited for has no output. */
	if (r.looks || !job->background)
		put_output(&r);
	buf_free(&r.notes);
	put_result(b, caller, &r.text, &r.data);
}
