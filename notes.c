#define _POSIX_C_SOURCE 200809L

#include "notes.h"

#include <signal.h>
#include <string.h>

#include "json.h"
#include "limits.h"

enum {
	ENDED_MOST = 3,    /* tasks whose end is told in one result (T8) */
	ENDED_SHOWN = 60,  /* characters of what each of them is for */
	LONG_QUEUE = 2000, /* ms in the queue that are told */
	SHORT_WAIT = 100   /* ms; a wait below that was meant in seconds */
};

static void
note(struct buf *b, const char *text)
{
	buf_add(b, b->len > 0 ? "; " : "", text);
}

static void
note_number(struct buf *b, const char *text, int64_t n, const char *behind)
{
	note(b, text);
	buf_int(b, n);
	buf_puts(b, behind);
}

static void
note_time(struct buf *b, const char *text, int64_t ms, const char *behind)
{
	note(b, text);
	buf_time(b, ms);
	buf_puts(b, behind);
}

/* A timeout that ended it; returns the headline's bytes. */
static size_t
note_timeout(struct buf *b, const struct subject *r)
{
	const struct job *job = r->job;
	size_t headline = 0;

	if (!r->task) {
		note_number(b, "Command timed out after ", job->asked.timeout,
		    "ms");
		headline = b->len;
	} else {
		note(b, job->by_server
		    ? "terminated by --bg-timeout, this server's limit"
		    : "terminated by its timeout");
	}
	if (!job->by_server && job->asked.timeout < 1000)
		note_number(b, "timeout is in milliseconds, and may be up to ",
		    job->asked.background ? TASK_TIMEOUT_MOST : TIMEOUT_MOST,
		    "");
	else if (!r->task)
		note(b, "timeout may be up to " SAID(TIMEOUT_MOST) "; what "
		    "takes longer, a server or a watcher: run_in_background "
		    "with wait; what wants a person to answer: tty");
	return headline;
}

/* How long it runs, and who waits for that */
static size_t
note_limits(struct buf *b, const struct subject *r, bool start)
{
	const struct job *job = r->job;
	size_t headline = 0;

	if (job->timed_out && job->held == 0)
		headline = note_timeout(b, r);
	if (job->asked.capped && start)
		note_number(b, "timeout counts as ", job->asked.timeout,
		    ", the most there can be");
	if (start && r->task && !r->ended && job->asked.background &&
	    job->asked.timeout > 0 && job->asked.timeout < 1000)
		note_number(b, "it will be terminated after ",
		    job->asked.timeout, " ms: timeout is in milliseconds");
	if (job->no_room && job->held > 0)
		note_time(b, "terminated after ", job->held, ", as long as "
		    "this client waits for a call");
	if (job->no_room)
		note(b, "it was terminated rather than put in the background, "
		    "since " SAID(TASKS_MOST) " background tasks are running "
		    "already, the most there can be");
	if (job->killed && !r->task)
		note(b, "session is closed");
	if (!r->task && r->asked->queued >= LONG_QUEUE)
		note_time(b, "it waited ", r->asked->queued,
		    " for the command before it");
	if (job->behind_cancelled && start)
		note(b, "the command before it was cancelled, and has ended");
	return headline;
}

/* A person may type the secret (I5). */
static void
note_secret(struct buf *b, const struct job *job, const char *dir)
{
	note(b, "or your user types it, unseen here, on that host: ");
	if (strcmp(dir, "/tmp") != 0)
		buf_add(b, "TMPDIR='", dir, "' ");
	buf_puts(b, "boris --secret=");
	buf_put(b, job->id, SECRET_ID);
	buf_puts(b, " (then wait with task_output)");
}

/* A task that runs: what became of a wait, and how to go on */
static void
note_running(struct buf *b, const struct subject *r, bool start)
{
	const struct job *job = r->job;
	const struct tools_call *asked = r->asked;

	if (start && job->held > 0) {
		note_time(b, "still running after ", job->held, ", as long as "
		    "this client waits for a call; it goes on as a background "
		    "task, and its timeout still holds: ");
		buf_int(b, job->asked.timeout);
		buf_puts(b, "ms; to wait for its end give task_output wait");
	} else if (start && !job->asked.background) {
		note_number(b, "still running after ", job->asked.timeout,
		    "ms; it goes on as a background task");
	}
	if (asked->held > 0)
		note_time(b, "the wait was ended after ", asked->held,
		    ", as long as this client waits for a call: wait again");
	else if (r->looks && asked->wait > 0 && asked->wait < SHORT_WAIT)
		note(b, "wait is in milliseconds, up to " SAID(WAIT_MOST));
	if (start && !asked->prompts)
		note_number(b, "read it with task_output, end it with "
		    "kill_pid ", job->end.pid,
		    session_stateless(r->session) ? " and this task_id" : "");
	if (asked->no_enter)
		note(b, "no Enter was typed: input ended without a newline "
		    "(\\n in JSON; Ctrl-C is \\u0003)");
	if (r->looks && asked->prompts) {
		note(b, asked->secret
		    ? "it asks for a secret, which is not shown"
		    : r->asked->certain ? "it waits for input"
		    : "it may wait for input");
		if (!job->prompted)
			buf_puts(b, ": give input with this task_id");
		if (asked->secret && asked->secret_dir != NULL)
			note_secret(b, job, asked->secret_dir);
	}
}

static void
note_unseen(struct buf *b, const struct subject *r, bool start)
{
	const struct output_cursor begin = { 0, 0, 0, 0 };
	const struct job *job = r->job;

	note(b, r->asked->echoed
	    ? "not seen in time but as the echo of what was typed: "
	    : r->ended ? "not seen before it ended: "
	    : start ? "not seen in time: "
	    : "not seen in time, since the last look: ");
	buf_put(b, r->asked->until.data, r->asked->until.len);
	buf_puts(b, " (until is plain text, no pattern)");
	if (!r->ended && !job->asked.terminal &&
	    !output_news(job->out.text, &begin) &&
	    !output_news(job->err.text, &begin))
		note(b, "nothing was printed at all: a program may hold its "
		    "output back where there is no terminal (python3 -u, "
		    "stdbuf -oL, tty)");
}

/* What ended it, and what it left */
static void
note_end(struct buf *b, const struct subject *r)
{
	const struct job *job = r->job;
	bool in_session = job->asked.terminal || job->end.elsewhere;
	int sig = job->end.status - 128;

	if (job->end.orphans) {
		note_number(b, in_session
		    ? "it left processes running, in session "
		    : "it left processes running, in group ", job->end.pid,
		    job->asked.terminal ? "; they have lost their terminal"
		    : "; what they print is not shown");
		buf_puts(b, in_session ? "; end them with pkill -s "
		    : "; end them with kill -- -");
		buf_int(b, job->end.pid);
	}
	if (job_killed_by_others(job)) {
		note_number(b, "the shell itself was ended by signal ", sig,
		    ", which boris did not send; what stood behind in the "
		    "command was not run");
		if (!r->task && (sig == SIGTERM || sig == SIGKILL ||
		    sig == SIGINT || sig == SIGHUP))
			buf_puts(b, " (pkill -f matches its own command line; "
			    "write pkill -f '[n]ame')");
		if (sig == SIGKILL)
			buf_puts(b, " (or memory ran out)");
	}
	if (!r->task && job->end.dir_lost)
		note(b, "the directory in which it ended could not be kept, for "
		    "want of memory: the next command starts where this one "
		    "did, unless it gives cwd");
	else if (!r->task && job->dir == NULL)
		note(b, "where the next command starts cannot be said, for "
		    "want of memory; see pwd");
	if (job->end.pipeline[0] != '\0') {
		note(b, "exit codes of the last pipeline: ");
		buf_puts(b, job->end.pipeline);
	}
}

void
notes_put_ended(struct buf *b, struct session *s)
{
	const struct buf *name;
	struct job *job = NULL;
	int n = 0;

	while (!session_stateless(s) &&
	    (job = session_next_task(s, job)) != NULL) {
		if (job->state != JOB_FINISHED || job->end_reported ||
		    job->own.holders > 0 || n++ >= ENDED_MOST)
			continue;
		job->end_reported = true;
		name = job->asked.description.len > 0 ? &job->asked.description
		    : &job->asked.text;
		buf_add(b, b->len > 0 ? "; task " : "task ", job->id,
		    " has ended: exit code ");
		buf_int(b, job->end.status);
		buf_puts(b, " (");
		json_name(b, name->data, buf_cut(name, ENDED_SHOWN));
		buf_puts(b, ")");
	}
	if (n > ENDED_MOST)
		note_number(b, "and ", n - ENDED_MOST, " more tasks have ended");
}

size_t
notes_put(struct buf *b, const struct subject *r)
{
	bool start = r->asked->action == TOOLS_RUN;
	size_t headline = note_limits(b, r, start);

	if (r->task && !r->ended)
		note_running(b, r, start);
	if (r->looks && r->asked->unseen)
		note_unseen(b, r, start);
	if (r->ended)
		note_end(b, r);
	if (output_is_screen(r->job->out.text) && r->looks &&
	    !r->job->screen_reported) {
		note(b, "a full-screen program: its screen is not shown");
		r->job->screen_reported = true;
	}
	notes_put_ended(b, r->session);
	if (r->looks && r->asked->prompts)
		r->job->prompted = true;
	return headline;
}
