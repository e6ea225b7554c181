/* SPDX-License-Identifier: ISC */
/* Writes the results of tool calls. A result contains a status, notes, and a
 * command's output. If the output is truncated, a line in it reports the
 * truncation. That line is written by show_notice() in output/output.c and
 * spool_report() in output/spool.c. */
#define _POSIX_C_SOURCE 200809L

#include "mcp/results.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fmt.h"
#include "base/text.h"
#include "json.h"
#include "session/edit.h"
#include "session/secret.h"

enum {
	HEADINGS = 40,        /* maximum combined size of the headings "stdout:"
	                       * and "stderr:", in bytes */
	FOREGROUND_END = 48,  /* number of bytes reserved after each foreground
	                       * command in a list, for its run time and the
	                       * number of waiting calls */
	LIST_END = 140,       /* maximum size of the text that follows a task
	                       * list, in bytes */
	FACTS_MIN = 60,       /* minimum number of bytes to reserve in a result
	                       * for the status, exit code, task id and
	                       * directory */
	QUEUED_MIN = 100,     /* shortest queueing time that a note reports, in
	                       * ms */
	LINE_MIN = 68,        /* minimum size to which a line in a task list is
	                       * shortened, in bytes */
	HEADING_LINES = 20,   /* maximum number of lines in a result, not
	                       * counting the lines of stdout and stderr (K3) */
	FILES_FEW = 24,       /* lowest open-file limit with which a command can
	                       * be started */
	ENDED_SHOWN = 60,     /* maximum number of characters of a command shown
	                       * in a note */
	/* Maximum size of a command in a note, in bytes. With it, the notes of
	 * note_session() are never cut, because they fit in three quarters of
	 * the smallest limit, 1500 of 2000 bytes (K3). At most, three abandoned
	 * calls need 156 bytes each in addition to their commands, three ended
	 * tasks 71, a survivor 114, the number of other tasks 21, and the
	 * separators 12: 828 + 7 * 96 = 1500. */
	ENDED_BYTES = 96
};

/* A result being built, both as text and as structured data (B6) */
struct result {
	const struct caller *caller;
	struct session *session;
	const struct call_request *request;
	struct job *job;
	int64_t now;
	bool starts_job;    /* whether this call started the job */
	enum results_about about;
	bool is_task;       /* whether the job is a task */
	bool reads_task;    /* whether `about` is ABOUT_TASK_STATE */
	bool ended;         /* whether the result reports the job's end */
	struct buf heading; /* text for the first line of the result; empty
	                     * unless a foreground command timed out */
	struct buf notes;   /* all notes for the result, separated by "; " */
	size_t events;      /* size, in bytes, of the notes about events, which
	                     * are at the end of `notes`; only one result
	                     * contains such a note */
	struct buf text, data;
};

/* Expands to the two buf_fmt() arguments for a %-.*s conversion, which appends
 * the first COMMAND_SHOWN characters of `text`. The text comes from the client,
 * so its control characters must be escaped. The flag '-' does this; see
 * base/fmt.h. */
#define SHOWN(text) (int)utf8_cut((text), COMMAND_SHOWN), (text)->data

/* Shortens text to at most `max` bytes, which must be 3 or more. Keeps its
 * beginning and its last `keep` bytes, and replaces the middle with "...". If
 * `max` is too small for `keep` bytes and "...", keeps only the beginning,
 * followed by "...". */
static void
cut_before(struct buf *text, size_t keep, size_t max)
{
	size_t kept = keep + 3 <= max ? keep : 0;
	size_t end = max - kept - 3;
	const char *tail = text->data + text->len - kept;

	if (text->len <= max)
		return;
	while (end > 0 && utf8_continues((unsigned char)text->data[end]))
		end--;
	memcpy(text->data + end, "...", 3);
	memmove(text->data + end + 3, tail, kept);
	text->len = end + 3 + kept;
}

/* Shortens the rest of the text, which begins at the offset `from`, to at most
 * `max` bytes. */
static void
cut_line(struct buf *text, size_t from, size_t max)
{
	struct buf line = { text->data + from, text->len - from,
	    text->cap - from };

	cut_before(&line, 0, max);
	text->len = from + line.len;
}

/* Appends a command or a description, shortened to fit in a note. */
static void
put_short(struct buf *b, const struct buf *text)
{
	size_t from = b->len;

	buf_fmt(b, "%-.*s", (int)utf8_cut(text, ENDED_SHOWN), text->data);
	cut_line(b, from, ENDED_BYTES);
}

/* Shortens a result's text to the maximum size that the client accepts (K3).
 * Keeps the text's beginning and its last `keep` bytes. */
static void
cut_text(struct buf *text, const struct caller *caller, size_t keep)
{
	if (caller->bytes > 0)
		cut_before(text, keep, (size_t)caller->bytes);
}

/* Appends a file name as printable text. Shortens a long name in the middle, so
 * that the message that contains it fits in a result (K3). */
static void
put_name(struct buf *b, const struct caller *caller, const char *name)
{
	size_t from = b->len, max = (size_t)caller->bytes / 4, keep = max / 2;
	struct buf shown;

	buf_fmt(b, "%-s", name);
	if (caller->bytes == 0 || b->len - from <= max)
		return;
	while (utf8_continues((unsigned char)b->data[b->len - keep]))
		keep--;
	shown = (struct buf){ b->data + from, b->len - from, b->cap - from };
	cut_before(&shown, keep, max);
	b->len = from + shown.len;
}

/* Appends the members of a tool result to `b`, then frees `text` and `data`. If
 * `data` is empty, marks the result as an error, because only errors have no
 * structured data. */
static void
put_result(struct buf *b, const struct caller *caller, struct buf *text,
           struct buf *data)
{
	bool error = data->len == 0;

	cut_text(text, caller, 0);
	buf_fmt(b, "\"content\":[{\"type\":\"text\",\"text\":");
	json_string(b, text->data, text->len);
	buf_fmt(b, "}]");
	if (!error && caller->data) {
		buf_fmt(b, ",\"structuredContent\":{");
		buf_put(b, data->data, data->len);
		buf_fmt(b, "}");
	}
	buf_fmt(b, error ? ",\"isError\":true" : ",\"isError\":false");
	buf_free(text);
	buf_free(data);
}

/* -- Notes ------------------------------------------------------------- */

/* A note is a short sentence for the AI model that called the tool. It reports
 * a fact that is not evident from the output, or suggests what the model can do
 * next (B7). The note_...() functions add notes to a result. */
static const char separator[] = "; ";

static void note(struct buf *notes, const char *format, ...) FMT_CHECKED(2, 3);

/* Appends a note, preceded by a separator unless it is the first note. */
static void
note(struct buf *notes, const char *format, ...)
{
	va_list arguments;

	if (notes->len > 0)
		buf_fmt(notes, "%s", separator);
	va_start(arguments, format);
	buf_vfmt(notes, format, arguments);
	va_end(arguments);
}

/* Returns whether the job has ended without running its command, because its
 * process could not change to the directory or could not start the shell. */
static bool
was_not_run(const struct job *job)
{
	if (job->rejected != REJECT_NONE)
		return true;
	return job->exec.shell_ended &&
	    job->exec.outcome.stage != PROC_ENTERED;
}

/* Adds a note saying that a task has ended, or that boris could not terminate
 * it after its timeout (T8). */
static void
note_ended_task(struct buf *b, const struct job *job)
{
	struct buf purpose = { NULL, 0, 0 };

	put_short(&purpose, job->description.len > 0 ? &job->description
	    : &job->exec.text);
	if (was_not_run(job))
		note(b, "task %s ended, but its command was not run (%s)",
		    job->id, buf_text(&purpose));
	else if (job->forgotten && job->exec.shell_ended)
		note(b, "task %s ended with exit code %d, and its output was "
		    "discarded (%s)", job->id, job->exec.status,
		    buf_text(&purpose));
	else if (job->exec.shell_ended)
		note(b, "task %s ended with exit code %d (%s)", job->id,
		    job->exec.status, buf_text(&purpose));
	else
		note(b, "task %s timed out but could not be stopped (%s)",
		    job->id, buf_text(&purpose));
	buf_free(&purpose);
}

/* Adds a note saying that boris could not terminate a cancelled command
 * (E12). */
static void
note_cancelled_survivor(struct buf *b, const struct job *job)
{
	struct buf survivor = { NULL, 0, 0 }, command = { NULL, 0, 0 };

	exec_put_survivor(&job->exec, &survivor);
	put_short(&command, &job->exec.text);
	note(b, "a cancelled command could not be stopped: %s (%s)",
	    buf_text(&survivor), buf_text(&command));
	buf_free(&survivor);
	buf_free(&command);
}

/* Adds notes about ended tasks not yet reported in any result (T8). */
static void
note_ended(struct buf *b, struct session *s)
{
	struct job *job = NULL;
	int n = 0, more;

	while ((job = session_next_unreported_end(s, job)) != NULL) {
		if (n < SESSION_ENDS_REPORTED)
			note_ended_task(b, job);
		n++;
	}
	more = n - SESSION_ENDS_REPORTED;
	if (more > 0)
		note(b, more == 1 ? "%d more task ended"
		    : "%d more tasks ended", more);
}

/* Adds notes about cancelled commands that boris could not terminate (E12). One
 * result reports at most SESSION_SURVIVORS_REPORTED of these commands, and
 * later results report the rest. */
static void
note_survivors(struct buf *b, struct session *s)
{
	struct job *job = NULL;
	int n;

	for (n = 0; n < SESSION_SURVIVORS_REPORTED; n++) {
		job = session_next_survivor(s, job);
		if (job == NULL)
			return;
		note_cancelled_survivor(b, job);
	}
}

/* Adds a note if boris could not terminate one of the command's processes
 * (E12). */
static void
note_survivor(struct result *r)
{
	struct buf survivor = { NULL, 0, 0 };

	if (!job_survives(r->job))
		return;
	exec_put_survivor(&r->job->exec, &survivor);
	note(&r->notes, "%s", buf_text(&survivor));
	buf_free(&survivor);
}

/* Returns the start of the note about a call: the reason why the client may not
 * have received its response. */
static const char *
describe_loss(const struct job *job)
{
	return job->lost ? "the response to your call may have been lost"
	    : "your call timed out";
}

/* Adds the note of note_abandoned_call() for a command that boris could not
 * terminate (E12). */
static void
note_unstopped_call(struct buf *b, const struct job *job, const char *command)
{
	const char *why = describe_loss(job);

	if (job->forgotten)
		note(b, "%s; its command could not be stopped, and its output "
		    "was discarded: %s", why, command);
	else
		note(b, "%s; its command could not be stopped; read its output "
		    "with task_output and task_id %s: %s", why, job->id,
		    command);
}

/* Adds the note of note_abandoned_call() for a command that has ended. The
 * command's output was discarded because newer tasks have ended. */
static void
note_forgotten_call(struct buf *b, const struct job *job, const char *command)
{
	if (job->too_many_tasks && !job->lost)
		note(b, "your call timed out; boris terminated its command, "
		    "because %d background tasks were already running, and "
		    "discarded its output: %s", job->options->tasks_max,
		    command);
	else
		note(b, "%s; its command ended with exit code %d, and its "
		    "output was discarded: %s", describe_loss(job),
		    job->exec.status, command);
}

/* Adds a note saying whether a command is still running, how it ended, or that
 * it was not run. The call that requested the command exceeded the client's
 * timeout, or the call's response may have been lost (E6, H7). */
static void
note_abandoned_call(struct buf *b, const struct job *job)
{
	const char *why = describe_loss(job), *text;
	struct buf command = { NULL, 0, 0 };

	put_short(&command, &job->exec.text);
	text = buf_text(&command);
	if (was_not_run(job))
		note(b, "%s; its command was not run: %s", why, text);
	else if (job->state != JOB_FINISHED)
		note(b, "%s; its command keeps running as task %s: %s", why,
		    job->id, text);
	else if (!job->exec.shell_ended)
		note_unstopped_call(b, job, text);
	else if (job->forgotten)
		note_forgotten_call(b, job, text);
	else if (job->too_many_tasks && !job->lost)
		note(b, "your call timed out; boris terminated its command, "
		    "because %d background tasks were already running; read "
		    "its output with task_output and task_id %s: %s",
		    job->options->tasks_max, job->id, text);
	else
		note(b, "%s; its command ended as task %s with exit code %d: "
		    "%s", why, job->id, job->exec.status, text);
	buf_free(&command);
}

/* Adds notes about calls that exceeded the client's timeout, and about their
 * commands (E6). One result reports at most SESSION_ABANDONED_REPORTED of these
 * calls, and later results report the rest. */
static void
note_abandoned(struct buf *b, struct session *s)
{
	struct job *job = NULL;
	int n;

	for (n = 0; n < SESSION_ABANDONED_REPORTED; n++) {
		job = session_next_abandoned(s, job);
		if (job == NULL)
			return;
		note_abandoned_call(b, job);
	}
}

/* Adds notes about events in the session: calls that exceeded the client's
 * timeout, tasks that have ended, and cancelled commands that boris could not
 * terminate. Later results do not repeat these notes. */
static void
note_session(struct buf *b, struct session *s)
{
	note_abandoned(b, s);
	note_ended(b, s);
	note_survivors(b, s);
}

/* If the expired timeout was under one second, adds a note saying that timeouts
 * are in milliseconds (B7). */
static void
note_unit(struct buf *b, const struct job *job)
{
	if (job->timeout < 1000)
		note(b, "timeout is in milliseconds");
}

/* Returns whether the client has cancelled the job's call because of a
 * client-side timeout (E6). */
static bool
has_timed_out_call(const struct job *job)
{
	return job->abandoned && !job->lost;
}

/* Adds a note saying that a command was terminated because of the client's
 * timeout for the call (E6, K2). note_limits() adds a note explaining why the
 * command could not continue as a task. */
static void
note_ended_with_call(struct buf *b, const struct job *job)
{
	bool ended = job->exec.shell_ended;
	int64_t queued = job_queued(job);

	if (has_timed_out_call(job))
		note(b, ended ? "the command was terminated when your call "
		    "timed out"
		    : "the command could not be stopped when your call timed "
		    "out");
	else if (queued >= QUEUED_MIN)
		note(b, ended
		    ? "the command was terminated after %.1f s, because this "
		    "client waits at most %.1f s and the command had been "
		    "queued for %.1f s"
		    : "the command could not be stopped after %.1f s; this "
		    "client waits at most %.1f s, and the command had been "
		    "queued for %.1f s",
		    fmt_seconds(job->call_limit - queued),
		    fmt_seconds(job->call_limit), fmt_seconds(queued));
	else
		note(b, ended
		    ? "the command was terminated after %.1f s, the longest "
		    "this client waits"
		    : "the command could not be stopped after %.1f s, the "
		    "longest this client waits",
		    fmt_seconds(job->call_limit));
}

/* Adds a note saying that a task's timeout has expired (E5, T5). */
static void
note_task_timeout(struct buf *b, const struct job *job)
{
	bool ended = job->exec.shell_ended;

	if (job->server_deadline) {
		note(b, ended
		    ? "the task was terminated, because the server's time "
		    "limit for tasks (--bg-timeout) expired"
		    : "the server's time limit for tasks (--bg-timeout) has "
		    "expired");
		return;
	}
	note(b, ended ? "the task was terminated, because its timeout expired"
	    : "the timeout of the task has expired");
	if (ended)
		note_unit(b, job);
}

/* Writes a heading saying that a foreground command has timed out (B). Adds
 * notes on how to run longer commands. */
static void
note_timeout(struct result *r)
{
	struct buf *b = &r->notes;

	buf_fmt(&r->heading, "Command timed out after %jdms", r->job->timeout);
	note_unit(b, r->job);
	note(b, "use run_in_background for servers and long jobs, and tty "
	    "for interactive programs");
}

/* Adds notes about limits that affected the command: a timeout that expired or
 * was reduced (E5, K2), or the maximum number of running tasks. Also adds a
 * note if the command was terminated because the session was closed. */
static void
note_limits(struct result *r)
{
	const struct job *job = r->job;
	struct buf *b = &r->notes;

	if (job->too_many_tasks &&
	    (has_timed_out_call(job) || job->limit_reached))
		note_ended_with_call(b, job);
	else if (job->timed_out && r->is_task)
		note_task_timeout(b, job);
	else if (job->timed_out)
		note_timeout(r);
	if (job->capped && r->starts_job)
		note(b, "timeout reduced to the maximum, %jd ms", job->timeout);
	if (job->too_many_tasks)
		note(b, "the command was not continued as a task, because %d "
		    "background tasks are running, which is the maximum",
		    job->options->tasks_max);
	if (job->kill_requested && !r->is_task)
		note(b, "the session was closed");
}

/* If a process group in the terminal is stopped, adds a note that names the
 * signal, if it is known, and tells the model what to do. */
static void
note_stopped(struct result *r)
{
	int group = r->request->stopped;
	struct buf *b = &r->notes;

	if (group == 0)
		return;
	switch (r->request->stop_signal) {
	case SIGTTIN:
		note(b, "process group %d was stopped by SIGTTIN, because it "
		    "tried to read from the terminal in the background (if it "
		    "was started with timeout, use timeout --foreground)",
		    group);
		return;
	case SIGTTOU:
		note(b, "process group %d was stopped by SIGTTOU, because it "
		    "tried to change the terminal in the background (if it was "
		    "started with timeout, use timeout --foreground)", group);
		return;
	case SIGTSTP:
		note(b, "process group %d was stopped by SIGTSTP (Ctrl-Z)",
		    group);
		break;
	case SIGSTOP:
		note(b, "process group %d was stopped by SIGSTOP", group);
		break;
	default:
		note(b, "process group %d is stopped", group);
	}
	note(b, "continue it with: kill -CONT -- -%d", group);
}

/* Adds notes about a foreground command that has become a task: why it did, and
 * how to wait for it or terminate it. A command becomes a task when its timeout
 * expires (E5) or when the client is about to stop waiting for the response
 * (K2). */
static void
note_hand_over(struct result *r)
{
	const struct job *job = r->job;
	struct buf *b = &r->notes;

	if (job->limit_reached) {
		note(b, "this client waits at most %.1f s, so the command "
		    "keeps running as task %s until its timeout of %jd s",
		    fmt_seconds(job->call_limit), job->id, job->timeout / 1000);
	} else {
		note(b, "the command timed out after %jd ms and keeps running "
		    "as task %s", job->timeout, job->id);
		note_unit(b, job);
	}
	note(b, r->session->shared
	    ? "wait for it with task_output, or stop it with kill_pid %d and "
	    "this task_id"
	    : "wait for it with task_output, or stop it with kill_pid %d",
	    job->exec.pid);
}

/* Adds a note saying that the wait ended because of the client's timeout for
 * the call (K2). */
static void
note_wait_ended(struct buf *b, const struct caller *caller)
{
	note(b, "the wait ended after %.1f s, the longest this client waits; "
	    "wait again", fmt_seconds(caller->call_limit));
}

/* Adds a note saying that the program is, or may be, waiting for input (I3). If
 * `reported` is set, the note is short, because an earlier result has already
 * explained how to respond. */
static void
note_prompt(struct buf *b, const struct prompt *p, bool reported)
{
	if (p->secret)
		note(b, reported ? "the program is asking for a secret"
		    : "the program is asking for a secret; to enter it, "
		    "call bash with input and this task_id");
	else if (p->state == TERMINAL_PROMPTS)
		note(b, reported ? "the program is waiting for input"
		    : "the program is waiting for input; to respond, call "
		    "bash with input and this task_id");
	else
		note(b, reported ? "the program may be waiting for input"
		    : "the program may be waiting for input; to respond, "
		    "call bash with input and this task_id");
}

/* Appends a word of a shell command, quoting it if necessary. */
static void
put_word(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";

	if (word[strspn(word, plain)] == '\0') {
		buf_fmt(b, "%s", word);
		return;
	}
	buf_putc(b, '\'');
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			buf_fmt(b, "'\\'");
		buf_putc(b, *word);
	}
	buf_putc(b, '\'');
}

/* Adds a note explaining how the user can type the secret that the program is
 * asking for (I5). */
static void
note_secret(struct buf *b, const struct job *job)
{
	const struct options *o = job->options;
	struct buf self = { NULL, 0, 0 }, dir = { NULL, 0, 0 };

	put_word(&self, o->self);
	put_word(&dir, o->tmpdir);
	if (strcmp(o->tmpdir, "/tmp") == 0)
		note(b, "or ask your user to type it after running: %s "
		    "--secret=%s",
		    buf_text(&self), secret_id(job));
	else
		note(b, "or ask your user to type it after running: TMPDIR=%s %s "
		    "--secret=%s",
		    buf_text(&dir), buf_text(&self), secret_id(job));
	buf_free(&self);
	buf_free(&dir);
}

/* Adds notes about a running task: why the result is being sent now, what to do
 * next, and whether the terminal is waiting for input. */
static void
note_running(struct result *r)
{
	const struct job *job = r->job;
	const struct call_request *req = r->request;
	bool asks = r->reads_task && req->prompt.state != TERMINAL_BUSY;
	struct buf *b = &r->notes;

	if (r->about == ABOUT_HAND_OVER)
		note_hand_over(r);
	if (req->limit_reached && req->action == CALL_KILL)
		note(b, "the task has not ended within %.1f s, the longest "
		    "this client waits, but it is still being terminated; wait "
		    "for it with task_output",
		    fmt_seconds(r->caller->call_limit));
	else if (req->limit_reached)
		note_wait_ended(b, r->caller);
	if (job_dir_hangs(job, r->now))
		note(b, job_survives(job)
		    ? "the directory %-s does not respond, so the command was "
		    "not run"
		    : "the directory %-s does not respond, so the command has "
		    "not been run yet", job->start_dir);
	if (r->starts_job && job->background && !asks)
		note(b, r->session->shared
		    ? "use task_output to read the task's output, or kill_pid "
		    "%d and this task_id to stop it"
		    : "use task_output to read the task's output, or kill_pid "
		    "%d to stop it",
		    job->exec.pid);
	if (req->no_enter)
		note(b, "Enter was not typed; to press it now, send \\n as "
		    "input (Ctrl-C is \\u0003)");
	note_stopped(r);
	if (!asks)
		return;
	note_prompt(b, &req->prompt, job->prompt_reported);
	if (req->prompt.secret && req->secret)
		note_secret(b, job);
}

/* Adds notes saying that the text given as `until` was not printed, and listing
 * possible reasons (W3). */
static void
note_until_missed(struct result *r)
{
	const struct job *job = r->job;
	const struct call_request *req = r->request;
	struct buf *b = &r->notes;
	int64_t printed = output_bytes(job->out.text) +
	    output_bytes(job->err.text);
	bool may_buffer = !r->ended && !job->exec.terminal;

	note(b, r->starts_job
	    ? "the until text \"%-.*s\" was not printed (it is plain text, not "
	    "a pattern)"
	    : "the until text \"%-.*s\" was not printed since the last read "
	    "(it is plain text, not a pattern)", SHOWN(&req->until));
	if (req->time < 1000)
		note(b, "wait is in milliseconds");
	if (may_buffer && printed == 0)
		note(b, "nothing was printed: without a terminal, a program "
		    "may buffer its output (use stdbuf -oL or tty)");
}

/* Explanations of why the working directory was not updated, and what to do
 * about it (D2) */
static const char *const reports[] = {
	[REPORT_NO_FD] = "the working directory was not updated, because the "
	    "limit on open files (ulimit -n) is too low",
	[REPORT_REPLACED] = "the working directory was not updated, because "
	    "another program replaced the shell (exec); use cd in a separate "
	    "command",
	[REPORT_TRAP] = "the working directory was not updated, because the "
	    "command sets its own EXIT trap; use cd in a separate command",
	[REPORT_LOST] = "the working directory was not updated, because the "
	    "shell did not report it; use cd in a separate command"
};

/* Adds a note saying that some of the command's processes are still running,
 * with instructions for terminating them (E4). */
static void
note_orphans(struct buf *b, const struct exec *x)
{
	if (x->terminal || x->other_groups)
		note(b, "the command left processes running, and any further "
		    "output from them is not shown; to stop them, run: pkill "
		    "-s %d", x->pid);
	else
		note(b, "the command left processes running, and any further "
		    "output from them is not shown; to stop them, run: kill "
		    "-- -%d", x->pid);
}

/* Adds notes on how the command ended and on any of its processes that are
 * still running. */
static void
note_end(struct result *r)
{
	const struct job *job = r->job;
	const struct exec *x = &job->exec;
	bool by_boris = job->timed_out || job->kill_requested;
	int signal = x->status - 128;
	struct buf *b = &r->notes;

	if (x->outcome.stage != PROC_ENTERED) {
		note(b, job_elapsed(job, r->now) >= JOB_START_WAIT
		    ? "the directory %-s did not respond, so the command was "
		    "not run"
		    : "the command was stopped before it had changed to the "
		    "directory %-s, so it was not run", job->start_dir);
		return;
	}
	if (x->orphans)
		note_orphans(b, x);
	if (x->signalled && !by_boris)
		note(b, signal == SIGKILL
		    ? "the shell was killed by signal %d, which boris did not "
		    "send (perhaps the system ran out of memory); the rest of "
		    "the command was not run"
		    : "the shell was killed by signal %d, which boris did not "
		    "send; the rest of the command was not run", signal);
	if (!r->is_task && !by_boris && x->report != REPORT_OK)
		note(b, "%s", reports[x->report]);
	if (x->pipeline != NULL)
		note(b, "exit codes of the last pipeline: %s", x->pipeline);
}

static void
note_events(struct result *r)
{
	struct buf events = { NULL, 0, 0 };

	note_session(&events, r->session);
	r->events = events.len;
	if (events.len > 0)
		note(&r->notes, "%s", buf_text(&events));
	buf_free(&events);
}

/* -- Lists of tasks ---------------------------------------------------- */

/* Returns the maximum size of a line in the task list, in bytes, chosen so that
 * the complete list fits in a result (K3). The returned size is never less than
 * LINE_MIN. */
static size_t
line_max(const struct result *r)
{
	int64_t left = r->caller->bytes - LIST_END - (int64_t)r->text.len -
	    (int64_t)r->notes.len;
	int lines = 2;  /* 2 for the last lines, which may report the numbers of
	                 * waiting calls */
	const struct job *running = NULL;
	struct job *job = NULL;

	if (r->caller->bytes == 0)
		return SIZE_MAX;
	while ((job = session_next_task(r->session, job)) != NULL)
		lines++;
	while ((running = session_next_running(r->session, running)) != NULL)
		lines++;
	return left > lines * LINE_MIN ? (size_t)(left / lines) - 1
	    : LINE_MIN;
}

/* Appends a task to the structured data, as a JSON object. */
static void
put_task_data(struct result *r, const struct job *job)
{
	struct buf *d = &r->data;
	bool ended = job->state == JOB_FINISHED;
	bool first = d->len == 0 || d->data[d->len - 1] != '}';

	buf_fmt(d, first ? "{" : ",{");
	json_put(d, "task_id", job->id);
	json_put_number(d, "pid", job->exec.pid);
	json_put(d, "status", job_status(job, ended));
	json_put_number(d, "elapsed_ms", job_elapsed(job, r->now));
	if (ended && job->exec.shell_ended && !was_not_run(job))
		json_put_number(d, "exit_code", job->exec.status);
	if (job->description.len > 0)
		json_put_bytes(d, "description", job->description.data,
		    job->description.len);
	json_put_bytes(d, "command", job->exec.text.data,
	    utf8_cut(&job->exec.text, COMMAND_SHOWN));
	buf_fmt(d, "}");
}

/* Appends to the text a line of at most `max` bytes that describes a task. */
static void
put_task_line(struct result *r, const struct job *job, size_t max)
{
	const struct exec *x = &job->exec;
	bool ended = job->state == JOB_FINISHED;
	const char *status = job_status(job, ended);
	double time = fmt_seconds(job_elapsed(job, r->now));
	struct buf *t = &r->text, purpose = { NULL, 0, 0 };
	size_t line;

	if (job->description.len > 0)
		buf_fmt(&purpose, "%-.*s: %-.*s", SHOWN(&job->description),
		    SHOWN(&x->text));
	else
		buf_fmt(&purpose, "%-.*s", SHOWN(&x->text));
	buf_end_line(t);
	line = t->len;
	if (ended && x->shell_ended && !was_not_run(job))
		buf_fmt(t, "%s  pid %d  %s  exit_code %d  %.1f s  %s", job->id,
		    x->pid, status, x->status, time, buf_text(&purpose));
	else
		buf_fmt(t, "%s  pid %d  %s  %.1f s  %s", job->id, x->pid,
		    status, time, buf_text(&purpose));
	cut_line(t, line, max);
	buf_free(&purpose);
}

/* Appends all tasks, or only the running ones, to both the text and the
 * structured data of the result. */
static void
list_tasks(struct result *r, bool running)
{
	size_t max = line_max(r);
	struct job *job = NULL;

	while ((job = session_next_task(r->session, job)) != NULL) {
		if (running && job->state != JOB_TASK)
			continue;
		put_task_data(r, job);
		put_task_line(r, job, max);
	}
	if (session_next_task(r->session, NULL) == NULL)
		buf_fmt(&r->text, r->text.len > 0 ? "\nno tasks" : "no tasks");
}

/* Appends a line of at most `max` bytes for each foreground command, and the
 * number of calls that are waiting (T7). */
static void
list_foreground(struct result *r, size_t max)
{
	const struct session *s = r->session;
	const struct job *job = NULL;
	struct buf line = { NULL, 0, 0 };
	int queued = s->waiting - s->waiting_parallel;
	double time;

	while ((job = session_next_running(s, job)) != NULL) {
		time = fmt_seconds(job_elapsed(job, r->now));
		buf_fmt(&line, "running in the foreground: %-.*s",
		    SHOWN(&job->exec.text));
		cut_line(&line, 0, max - FOREGROUND_END);
		buf_fmt(&r->text, "\n%s, for %.1f s", buf_text(&line), time);
		if (!job->parallel) {
			buf_fmt(&r->text, "; calls waiting for it: %d", queued);
			queued = 0;
		}
		buf_free(&line);
	}
	if (queued > 0)
		buf_fmt(&r->text, "\ncalls in the queue: %d", queued);
	if (s->waiting_parallel > 0)
		buf_fmt(&r->text, "\ncalls waiting for a command with an "
		    "absolute cwd to end: %d", s->waiting_parallel);
}

void
results_list(struct buf *b, const struct caller *caller, struct session *s,
             const struct call_request *request, int64_t now)
{
	struct result r = { .caller = caller, .session = s, .now = now };
	size_t max;

	if (request->limit_reached)
		note_wait_ended(&r.notes, caller);
	note_abandoned(&r.notes, s);
	max = line_max(&r);
	if (r.notes.len > 0)
		json_put(&r.data, "note", buf_text(&r.notes));
	json_name(&r.data, "tasks");
	buf_fmt(&r.data, "[");
	list_tasks(&r, false);
	buf_fmt(&r.data, "]");
	list_foreground(&r, max);
	if (r.notes.len > 0)
		buf_fmt(&r.text, "\nnote: %s", buf_text(&r.notes));
	cut_text(&r.text, caller, r.notes.len);
	buf_free(&r.notes);
	put_result(b, caller, &r.text, &r.data);
}

/* -- Errors ------------------------------------------------------------ */

/* Appends a line containing the notes from note_session(), if there are any. */
static void
put_events(struct buf *text, struct session *s)
{
	struct buf events = { NULL, 0, 0 };

	note_session(&events, s);
	if (events.len > 0) {
		buf_end_line(text);
		buf_fmt(text, "note: %s", buf_text(&events));
	}
	buf_free(&events);
}

void
results_error(struct buf *b, const struct caller *caller, struct session *s,
                struct buf *text)
{
	struct buf none = { NULL, 0, 0 };
	size_t len = text->len;

	put_events(text, s);
	cut_text(text, caller, text->len - len);
	put_result(b, caller, text, &none);
}

/* System call errors and what the model can do about them. `why` replaces
 * strerror()'s text where that text is unclear. */
enum subject { REASON_ANY, REASON_EDIT, REASON_INPUT };
static const struct reason {
	enum subject about;
	int error;
	const char *why, *advice;
} reasons[] = {
	{ REASON_INPUT, ENOTTY, "the task has no terminal",
	  "start the command with tty: true" },
	{ REASON_INPUT, EPIPE, "the task has ended or closed its terminal",
	  "read the remaining output with task_output" },
	{ REASON_INPUT, E2BIG, "the terminal would truncate it",
	  "split it with newlines, or write it to a file" },
	{ REASON_INPUT, ENOBUFS,
	  "the program reads too slowly, and at most 4 MiB of input can wait",
	  "type less, or write the text to a file" },
	{ REASON_EDIT, EEXIST, NULL,
	  "to change the file, set \"old\" to the text to replace" },
	{ REASON_EDIT, EFBIG, NULL,
	  "the file can have at most 16 MiB, before and after the edit" },
	{ REASON_EDIT, EINVAL, NULL, "path must name a regular file" },
	{ REASON_ANY, EAGAIN, "no more processes can be started",
	  "try again later" },
	{ REASON_ANY, EMFILE, "too many open files", "try again later" },
	{ REASON_ANY, ENFILE, "too many open files", "try again later" },
	{ REASON_ANY, E2BIG, NULL,
	  "shorten the command: pass long text in stdin, or write it to a "
	  "file in parts" }
};

static const struct reason *
find_reason(enum subject about, int error)
{
	size_t i, n = sizeof(reasons) / sizeof(reasons[0]);
	bool fits;

	for (i = 0; i < n; i++) {
		fits = reasons[i].about == about ||
		    reasons[i].about == REASON_ANY;
		if (fits && reasons[i].error == error)
			return &reasons[i];
	}
	return NULL;
}

/* Returns whether the open-file limit is too low to start a command, even if no
 * other command is running. If so, stores the limit in *limit. */
static bool
permits_few_files(int64_t *limit)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= FILES_FEW)
		return false;
	*limit = (int64_t)files.rlim_cur;
	return true;
}

/* Replaces the contents of `text` with the reason for an error and with advice
 * on what to do next. `error` is an errno value. Returns the new contents as a
 * string. */
static const char *
reason_text(struct buf *text, enum subject about, int error)
{
	const struct reason *r = find_reason(about, error);
	const char *why = r != NULL ? r->why : NULL;
	int64_t limit;

	text->len = 0;
	if (error == EMFILE && permits_few_files(&limit)) {
		note(text, "too many open files: this server can open only %jd "
		    "(ulimit -n); ask your user to raise that limit",
		    limit);
		return buf_text(text);
	}
	note(text, "%s", why != NULL ? why : strerror(error));
	if (r != NULL)
		note(text, "%s", r->advice);
	return buf_text(text);
}

void
results_unlogged(struct buf *b, const struct caller *caller, struct session *s,
                 int error)
{
	struct buf t = { NULL, 0, 0 };

	buf_fmt(&t, "nothing was done: cannot write the log of this server: "
	    "%s; tell your user", strerror(error));
	results_error(b, caller, s, &t);
}

void
results_not_typed(struct buf *b, const struct caller *caller,
                  struct session *s, const struct job *job, int error)
{
	struct buf t = { NULL, 0, 0 }, reason = { NULL, 0, 0 };
	const char *why = reason_text(&reason, REASON_INPUT, error);

	if (error == E2BIG)
		buf_fmt(&t, "nothing was typed into task %s: a line is longer "
		    "than %d bytes: %s", job->id, LINE_TYPED_MAX, why);
	else
		buf_fmt(&t, "nothing was typed into task %s: %s", job->id,
		    why);
	buf_free(&reason);
	results_error(b, caller, s, &t);
}

void
results_no_task(struct buf *b, const struct caller *caller, struct session *s,
                const struct call_request *request, int64_t now)
{
	struct result r = { .caller = caller, .session = s, .now = now };
	struct buf *t = &r.text;

	if (request->by_pid && request->pid != 0)
		buf_fmt(t, "no background process with pid %jd\n",
		    request->pid);
	else
		buf_fmt(t, "task not found: %-.*s\n", SHOWN(&request->id));
	if (s->shared) {
		buf_fmt(t, "A finished task is removed after its final output "
		    "has been read, or after many newer tasks have ended. This "
		    "server finds a task only by its task_id.");
	} else {
		buf_fmt(t, "A finished task is removed after its final output "
		    "has been read, or after many newer tasks have ended. "
		    "Current tasks:");
		list_tasks(&r, false);
	}
	buf_free(&r.data);
	results_error(b, caller, s, t);
}

/* Adds a note on what to do when the maximum number of tasks is already running
 * (T2). */
static void
note_end_one(struct buf *t, const struct session *s)
{
	note(t, s->shared
	    ? "stop one with kill_pid and its task_id, or wait until one ends"
	    : "stop one with kill_pid, or wait until one ends");
}

/* Writes an error saying that a task was not started because the maximum number
 * of tasks is already running (T2). */
static void
put_too_many_tasks(struct result *r, const struct job *job)
{
	struct buf *t = &r->text;

	note(t, "the command was not started, because %d background tasks are "
	    "running, which is the maximum", job->options->tasks_max);
	note_end_one(t, r->session);
	if (!r->session->shared)
		list_tasks(r, true);
}

/* Writes an error saying that a command was not started in time, and naming
 * what it was waiting for (K2). */
static void
put_not_started(struct buf *t, const struct session *s, const struct job *job)
{
	const struct job *running = job->parallel ? NULL : session_running(s);
	int64_t queued = job_queued(job);

	if (queued < job->call_limit)
		note(t, "not run: the command was queued for %.1f s, so it "
		    "would have been terminated after %.1f s, because this "
		    "client waits at most %.1f s", fmt_seconds(queued),
		    fmt_seconds(job->call_limit - queued),
		    fmt_seconds(job->call_limit));
	else
		note(t, "not run: still queued after %.1f s, the longest this "
		    "client waits", fmt_seconds(job->call_limit));
	if (job->too_many_tasks) {
		note(t, "%d background tasks are running, which is the maximum",
		    job->options->tasks_max);
		note_end_one(t, s);
	} else if (running != NULL) {
		note(t, "running: %-.*s", SHOWN(&running->exec.text));
	} else if (session_waits_for_edit(s)) {
		note(t, "an edit is waiting for a file that another program "
		    "has locked");
	} else if (s->shared) {
		note(t, "%d commands are running", s->running_parallel);
	} else {
		note(t, "%d commands with an absolute cwd are running",
		    s->running_parallel);
	}
}

/* Writes an error saying that boris cannot change to a command's working
 * directory (D5, D7). */
static void
put_bad_dir(struct result *r, const struct job *job, const char *why)
{
	bool lost = job->rejected == REJECT_LOST_DIR;
	const char *dir = lost ? job->tracked_dir : job->start_dir;
	const char *cwd = job->cwd != NULL ? job->cwd : "";
	struct buf name = { NULL, 0, 0 }, next = { NULL, 0, 0 };
	struct buf *t = &r->text;

	put_name(&name, r->caller, dir);
	put_name(&next, r->caller, r->session->dir);
	note(t, cwd[0] != '\0'
	    ? "cwd: cannot change to directory %s: %s; the command was not run"
	    : "cannot change to directory %s: %s; the command was not run",
	    buf_text(&name), why);
	if (lost)
		note(t, "the next command starts in %s", buf_text(&next));
	buf_free(&name);
	buf_free(&next);
	if (cwd[0] == '~' || strchr(cwd, '$') != NULL)
		note(t, "cwd does not expand ~ or variables; use cd in the "
		    "command instead");
}

void
results_rejected(struct buf *b, const struct caller *caller, struct session *s,
                const struct job *job, int64_t now)
{
	struct result r = { .caller = caller, .session = s, .now = now };
	struct buf *t = &r.text, reason = { NULL, 0, 0 };
	const char *why = reason_text(&reason, REASON_ANY, job->error);

	switch (job->rejected) {
	case REJECT_TOO_MANY:
		put_too_many_tasks(&r, job);
		break;
	case REJECT_LATE:
		put_not_started(t, s, job);
		break;
	case REJECT_NO_DIR:
	case REJECT_LOST_DIR:
		put_bad_dir(&r, job, why);
		break;
	case REJECT_NO_LOG:
		buf_free(&reason);
		results_unlogged(b, caller, s, job->error);
		return;
	case REJECT_NO_ID:
		buf_fmt(t, "the task could not be started, because no random "
		    "number is available for its ID; try again later");
		break;
	case REJECT_NO_TERMINAL:
		buf_fmt(t, "cannot open a terminal (/dev/ptmx, /dev/pts): %s",
		    why);
		break;
	case REJECT_NO_START:
		buf_fmt(t, "the command was not run: cannot start the shell "
		    "%s: %s",
		    job->options->shell, why);
		break;
	default:
		buf_fmt(t, "not run, because the session was closed");
	}
	buf_free(&reason);
	buf_free(&r.data);
	results_error(b, caller, s, t);
}

/* -- Edits ------------------------------------------------------------- */

/* Appends to `b` the line numbers of the occurrences found by an edit. */
static void
put_line_numbers(struct buf *b, const struct edit *e)
{
	int64_t i;

	if (e->count == 1) {
		buf_fmt(b, "on line %jd", e->lines[0]);
		return;
	}
	buf_fmt(b, "%jd times, on lines %jd", e->count, e->lines[0]);
	for (i = 1; i < EDIT_LINES && i < e->count; i++)
		buf_fmt(b, ", %jd", e->lines[i]);
	if (e->count > EDIT_LINES)
		buf_fmt(b, " and others");
}

/* Appends the error of an edit that failed without changing the file. `why` is
 * the reason. */
static void
put_edit_error(struct buf *t, const struct edit *e, const char *path,
               const char *why)
{
	buf_fmt(t, e->creates ? "%s: cannot create the file: %s"
	    : "%s: cannot edit the file: %s", path, why);
	if (e->error != ENOENT)
		return;
	if (strstr(e->path, "/~") != NULL || strchr(e->path, '$') != NULL)
		note(t, "~ and variables are not expanded in a path");
	else if (e->creates)
		note(t, "the directory must exist");
	else
		note(t, "to create a file, omit \"old\"");
}

/* Appends the outcome of an edit. */
static void
put_outcome(struct buf *t, const struct edit *e, const struct caller *caller)
{
	struct buf found = { NULL, 0, 0 }, reason = { NULL, 0, 0 };
	struct buf name = { NULL, 0, 0 };
	const char *path, *lines;
	const char *why = reason_text(&reason, REASON_EDIT, e->error);

	put_name(&name, caller, e->path);
	path = buf_text(&name);
	put_line_numbers(&found, e);
	lines = buf_text(&found);
	switch (e->outcome) {
	case EDIT_FAILED:
		put_edit_error(t, e, path, why);
		break;
	case EDIT_DONE:
		if (e->creates)
			buf_fmt(t, "%s: created", path);
		else
			buf_fmt(t, "%s: text replaced %s", path, lines);
		break;
	case EDIT_IN_PLACE:
		if (e->creates)
			buf_fmt(t, "%s: created (written in place)",
			    path);
		else
			buf_fmt(t, "%s: text replaced %s (written in place)",
			    path,
			    lines);
		break;
	case EDIT_NOT_FOUND:
		buf_fmt(t, "%s: the text in \"old\" was not found; read the "
		    "file and copy the text exactly", path);
		break;
	case EDIT_SPACE_DIFFERS:
		buf_fmt(t, "%s: the text in \"old\" was not found, but text "
		    "that differs only in white space occurs %s", path, lines);
		break;
	case EDIT_AMBIGUOUS:
		buf_fmt(t, "%s: the text in \"old\" occurs %s; add "
		    "surrounding lines to make it unique, or set \"all\" to "
		    "true", path, lines);
		break;
	case EDIT_CHANGED:
		buf_fmt(t, "%s: the file was not changed, because another "
		    "program changed it during the edit; try again", path);
		break;
	case EDIT_LOCKED:
		buf_fmt(t, "%s: the file was not changed, because another "
		    "program has locked it; try again later", path);
		break;
	case EDIT_BROKEN:
		buf_fmt(t, "%s: the file may be partly changed and could not "
		    "be restored: %s", path, why);
		break;
	}
	buf_free(&found);
	buf_free(&reason);
	buf_free(&name);
}

void
results_edit(struct buf *b, const struct caller *caller, struct session *s,
             struct job *job, const struct call_request *request, int64_t now)
{
	const struct edit *e = job->work;
	bool done = e->outcome == EDIT_DONE || e->outcome == EDIT_IN_PLACE;
	struct buf t = { NULL, 0, 0 }, data = { NULL, 0, 0 };
	size_t len;

	(void)request;
	(void)now;
	put_outcome(&t, e, caller);
	len = t.len;
	put_events(&t, s);
	cut_text(&t, caller, t.len - len);
	if (e->shown.len > 0) {
		buf_fmt(&t, "\n\n");
		buf_put(&t, e->shown.data, e->shown.len);
	}
	cut_text(&t, caller, 0);
	if (done) {
		json_put(&data, "status", "completed");
		json_put_bytes(&data, "text", t.data, t.len);
	}
	put_result(b, caller, &t, &data);
}

/* -- Commands and tasks ------------------------------------------------ */

/* Appends the heading and the notes, joined into one string, to the structured
 * data of the result. */
static void
put_notes_data(struct result *r)
{
	struct buf all = { NULL, 0, 0 };

	if (r->heading.len > 0)
		note(&all, "%s", buf_text(&r->heading));
	if (r->notes.len > 0)
		note(&all, "%s", buf_text(&r->notes));
	if (all.len > 0)
		json_put(&r->data, "note", buf_text(&all));
	buf_free(&all);
}

/* Appends everything except the output to the structured data of the result,
 * such as the job's status, notes and run time. The output itself is appended
 * by put_output(). */
static void
put_facts_data(struct result *r)
{
	const struct job *job = r->job;
	struct buf *d = &r->data;

	json_put(d, "status", job_status(job, r->ended));
	if (r->ended && job->exec.shell_ended) {
		json_put_number(d, "exit_code", job->exec.status);
		json_put(d, "signal", exec_signal(&job->exec));
	}
	if (r->ended)
		json_put_true(d, "timed_out", job->timed_out);
	put_notes_data(r);
	if (r->is_task) {
		json_put(d, "task_id", job->id);
		json_put_number(d, "pid", job->exec.pid);
	} else if (job->dir != NULL) {
		json_put(d, "cwd", job->dir);
	}
	json_put_number(d, "elapsed_ms", job_elapsed(job, r->now));
}

/* Appends a line with the command's exit code. If the command's shell was
 * killed by a signal, the line also names the signal. */
static void
put_exit_code(struct buf *t, const struct exec *x)
{
	const char *signal = exec_signal(x);

	buf_end_line(t);
	if (signal != NULL)
		buf_fmt(t, "exit_code: %d (%s)", x->status, signal);
	else
		buf_fmt(t, "exit_code: %d", x->status);
}

/* Shortens the lines that precede the output in a result, so that at least a
 * quarter of the result is left for the output (K3). The last of these lines
 * contain the run time and the notes; `tail` is their combined size, in
 * bytes. */
static void
cut_facts(struct result *r, size_t tail)
{
	size_t max = (size_t)r->caller->bytes / 4 * 3;

	if (r->caller->bytes == 0)
		return;
	/* If possible, keep the run time and all notes, and shorten the lines
	 * above them. If the notes are too long for that, keep only the
	 * notes about events, which come last. */
	if (tail + FACTS_MIN >= max)
		tail = r->events;
	cut_before(&r->text, tail, max);
}

/* Writes the lines that precede the output in a result: the status or exit
 * code, the task id, the directory, the run time and the notes. */
static void
put_facts(struct result *r)
{
	const struct job *job = r->job;
	bool exited = r->ended && job->exec.shell_ended;
	struct buf *t = &r->text;
	int64_t time = job_elapsed(job, r->now);
	bool waits = !r->ended && r->about != ABOUT_TASK_START;
	bool survives = r->ended && !exited;
	size_t facts_end;

	buf_put(t, r->heading.data, r->heading.len);
	/* A command that boris could not terminate has no exit code, so show
	 * its status instead. */
	if (r->is_task || (survives && r->heading.len == 0))
		buf_fmt(t, "status: %s", job_status(job, r->ended));
	if (exited)
		put_exit_code(t, &job->exec);
	if (r->is_task)
		buf_fmt(t, "\ntask_id: %s", job->id);
	if (r->is_task && !r->ended)
		buf_fmt(t, "\npid: %d", job->exec.pid);
	if (!r->is_task && job->dir != NULL && job->shows_dir)
		buf_fmt(t, "\ncwd: %-s", job->dir);
	facts_end = t->len;
	if (time >= 1000 || waits)
		buf_fmt(t, "\nelapsed: %.1f s", fmt_seconds(time));
	if (r->notes.len > 0)
		buf_fmt(t, "\nnote: %s", buf_text(&r->notes));
	cut_facts(r, t->len - facts_end);
}

/* An output stream in the result */
struct shown {
	const char *name;
	const struct job_stream *stream;
	struct buf text;
	int64_t lines;
	int64_t chars;  /* number of characters in the stream if `text` is
	                 * truncated; otherwise, -1 */
	bool only_screen;  /* whether `text` is the screen on which the stream
	                    * has ended, without the stream's text */
};

/* Sets s->text to the output of a stream, truncated to the given bounds. */
static void
show_stream(const struct result *r, struct shown *s,
            const struct output_bounds *bounds)
{
	bool only_new = r->reads_task && r->request->only_new;
	const struct output_cursor *seen = only_new ? &s->stream->seen : NULL;
	struct output *stream = s->stream->text;

	buf_free(&s->text);
	if (s->only_screen)
		s->chars = output_show_screen(stream, seen, bounds, s->name,
		    &s->text);
	else
		s->chars = output_show(stream, seen, bounds, s->name, &s->text);
	s->lines = buf_lines(s->text.data, s->text.len);
}

/* Returns how to truncate stdout or stderr. The arguments of the call being
 * answered override those of the call that started the command. By default,
 * only the end of a running command's output is shown (T3). */
static struct output_bounds
choose_bounds(const struct result *r, const struct output *text)
{
	struct output_bounds bounds = r->job->bounds;
	const struct call_request *req = r->request;
	bool ended = output_has_ended(text);

	if (!ended)
		bounds.mode = TRUNCATE_RECENT;
	if (req->limit > 0) {
		bounds.limit = req->limit;
		/* TRUNCATE_RECENT shows at most 10,000 characters, so use
		 * TRUNCATE_TAIL, which allows up to `limit` characters. */
		bounds.mode = ended ? bounds.mode : TRUNCATE_TAIL;
	}
	if (req->truncates)
		bounds.mode = req->truncate;
	return bounds;
}

/* Divides the limit `all` between two streams, and returns the share of one
 * stream: half of the limit, or more if `other`, the size of the other stream,
 * is less than half. Returns at least 1, because 0 means no limit. */
static int64_t
share(int64_t all, int64_t other)
{
	if (other > all / 2)
		other = all / 2;
	return all - other > 1 ? all - other : 1;
}

/* Sets the text of each stream, truncated so that both texts fit in one result
 * (K3). */
static void
show_streams(const struct result *r, struct shown s[2])
{
	const struct caller *c = r->caller;
	int64_t bytes = INT32_MAX, lines = INT32_MAX;
	struct output_bounds bounds;
	int i;

	if (c->bytes > 0)
		bytes = c->bytes - HEADINGS - (int64_t)r->text.len;
	if (c->lines > 0)
		lines = c->lines - HEADING_LINES;
	for (i = 0; i < 2; i++) {
		bounds = choose_bounds(r, s[i].stream->text);
		show_stream(r, &s[i], &bounds);
	}
	for (i = 0; i < 2; i++) {
		bounds = choose_bounds(r, s[i].stream->text);
		bounds.bytes = share(bytes, (int64_t)s[!i].text.len);
		bounds.lines = share(lines, s[!i].lines);
		if ((int64_t)s[i].text.len > bounds.bytes ||
		    s[i].lines > bounds.lines)
			show_stream(r, &s[i], &bounds);
	}
}

/* Appends the size of each truncated stream and the path of its saved file to
 * the structured data of the result. */
static void
put_truncated_data(struct buf *data, const struct shown s[2])
{
	if (s[0].chars >= 0)
		json_put_number(data, "stdout_chars", s[0].chars);
	if (s[1].chars >= 0 && !s[1].only_screen)
		json_put_number(data, "stderr_chars", s[1].chars);
	if (s[0].chars >= 0)
		json_put(data, "stdout_file", output_file(s[0].stream->text));
	if (s[1].chars >= 0 && !s[1].only_screen)
		json_put(data, "stderr_file", output_file(s[1].stream->text));
}

/* Appends stdout and stderr to both the text and the structured data of the
 * result. */
static void
put_output(struct result *r)
{
	struct shown s[2] = {
		{ .name = "stdout", .stream = &r->job->out },
		{ .name = "stderr", .stream = &r->job->err }
	};
	size_t len = r->text.len;
	int i;

	if (output_is_screen(r->job->out.text))
		s[0].name = "screen";
	/* A terminal has no stderr, so its place is free for the screen. */
	if (output_ended_in_screen(r->job->out.text))
		s[1] = (struct shown){ .name = "screen", .only_screen = true,
		    .stream = &r->job->out };
	/* Saving one stream must not remove the other stream's file, because
	 * this result may name both files. */
	output_hold_file(r->job->out.text);
	output_hold_file(r->job->err.text);
	show_streams(r, s);
	for (i = 0; i < 2; i++) {
		if (s[i].text.len > 0 || !s[i].only_screen)
			json_put_bytes(&r->data, s[i].name, s[i].text.data,
			    s[i].text.len);
		if (s[i].only_screen)
			json_put_bytes(&r->data, "stderr", "", 0);
		if (s[i].text.len == 0)
			continue;
		buf_end_line(&r->text);
		buf_fmt(&r->text, "\n%s:\n", s[i].name);
		buf_put(&r->text, s[i].text.data, s[i].text.len);
		buf_free(&s[i].text);
	}
	put_truncated_data(&r->data, s);
	output_release_file(r->job->out.text);
	output_release_file(r->job->err.text);
	if (r->text.len > len)
		return;
	buf_fmt(&r->text, r->reads_task && r->request->only_new
	    ? "\n\n(no new output)" : "\n\n(no output)");
}

enum results_about
results_about(const struct job *job, const struct call_request *request)
{
	if (!job_has_id(job))
		return ABOUT_COMMAND_END;
	if (request->action != CALL_RUN || request->time > 0)
		return ABOUT_TASK_STATE;
	return job->background ? ABOUT_TASK_START : ABOUT_HAND_OVER;
}

void
results_job(struct buf *b, const struct caller *caller, struct session *s,
            struct job *job, const struct call_request *request, int64_t now)
{
	struct result r = { .caller = caller, .session = s, .request = request,
	    .job = job, .now = now, .starts_job = request->action == CALL_RUN,
	    .is_task = job_has_id(job), .about = results_about(job, request) };

	r.reads_task = r.about == ABOUT_TASK_STATE;
	/* A result that reports a new task describes it as running, even if the
	 * task has already ended. A later result reports the task's end. */
	r.ended = job->state == JOB_FINISHED &&
	    (r.reads_task || r.about == ABOUT_COMMAND_END);
	note_limits(&r);
	if (r.is_task && !r.ended)
		note_running(&r);
	if (r.reads_task && request->until_missed)
		note_until_missed(&r);
	if (r.ended)
		note_end(&r);
	note_survivor(&r);
	note_events(&r);
	put_facts_data(&r);
	put_facts(&r);
	if (r.about != ABOUT_TASK_START)
		put_output(&r);
	buf_free(&r.heading);
	buf_free(&r.notes);
	put_result(b, caller, &r.text, &r.data);
}
