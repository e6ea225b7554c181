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
	note(b, "");
	buf_number(b, text, n, behind);
}

static void
note_time(struct buf *b, const char *text, int64_t ms, const char *behind)
{
	note(b, text);
	buf_time(b, ms);
	buf_puts(b, behind);
}

static void
note_held(struct buf *b, const char *text, int64_t ms)
{
	note_time(b, text, ms, ", as long as this client waits for a call");
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
		note_held(b, "terminated after ", job->held);
	if (job->no_room) {
		note(b, "it did not go on in the background, since ");
		buf_puts(b, NOTES_TASKS_FULL);
	}
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

	if (start && !job->asked.background) {
		if (job->held > 0)
			note_held(b, "still running after ", job->held);
		else
			note_number(b, "still running after ",
			    job->asked.timeout, "ms");
		buf_puts(b, "; it goes on as a background task");
		if (job->held > 0)
			buf_number(b, ", and its timeout still holds: ",
			    job->asked.timeout, "ms; to wait for its end give "
			    "task_output wait");
	}
	if (asked->held > 0) {
		note_held(b, "the wait was ended after ", asked->held);
		buf_puts(b, ": wait again");
	} else if (r->looks && asked->wait > 0 && asked->wait < SHORT_WAIT) {
		note(b, "wait is in milliseconds, up to " SAID(WAIT_MOST));
	}
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
		note(b, "nothing was printed at all: without a terminal a "
		    "program may hold its output back (python3 -u, stdbuf "
		    "-oL, tty)");
}

/* What ended it, and what it left */
static void
note_end(struct buf *b, const struct subject *r)
{
	const struct job *job = r->job;
	bool in_session = job->asked.terminal || job->end.elsewhere;
	int sig = job->end.status - 128;

	if (job->end.orphans) {
		note(b, "it left processes running, in ");
		buf_number(b, in_session ? "session " : "group ",
		    job->end.pid, job->asked.terminal
		    ? "; they have lost their terminal"
		    : "; what they print is not shown");
		buf_puts(b, "; end them with ");
		buf_number(b, in_session ? "pkill -s " : "kill -- -",
		    job->end.pid, "");
	}
	if (job_killed_by_others(job)) {
		note_number(b, "the shell itself was ended by signal ", sig,
		    ", not by boris; the rest of the command was not run");
		if (!r->task && (sig == SIGTERM || sig == SIGKILL ||
		    sig == SIGINT || sig == SIGHUP))
			buf_puts(b, " (pkill -f matches its own command line; "
			    "write pkill -f '[n]ame')");
		if (sig == SIGKILL)
			buf_puts(b, " (or memory ran out)");
	}
	if (!r->task && job->end.dir_lost)
		note(b, "for want of memory the next command starts where this "
		    "one did, not where it ended, unless it gives cwd");
	else if (!r->task && job->dir == NULL)
		note(b, "for want of memory it is not said where the next "
		    "command starts; see pwd");
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
		json_escaped(b, name->data, buf_cut(name, ENDED_SHOWN));
		buf_puts(b, ")");
	}
	if (n > ENDED_MOST)
		note_number(b, "and ", n - ENDED_MOST,
		    " more tasks have ended");
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
