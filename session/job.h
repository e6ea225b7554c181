#ifndef SESSION_JOB_H
#define SESSION_JOB_H

/* One command from its request to its end. A tool's reader fills it in, its
 * session runs it, and results are written from it. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "exec.h"
#include "base/io.h"
#include "base/list.h"
#include "base/options.h"
#include "output/output.h"

/* In the queue; in the foreground; in the background; ended, or refused */
enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_TASK, JOB_FINISHED };

enum job_refused {
	JOB_ACCEPTED,
	JOB_CLOSED,              /* the session is closed (L2) */
	JOB_WAITED,              /* could not be started in time (K2) */
	JOB_TOO_MANY,            /* ten tasks run already (T2) */
	JOB_NO_DIR,              /* `start_dir` can't be entered (D7) */
	JOB_LOST_DIR,            /* `tracked_dir` is gone (D5) */
	JOB_NO_ID,               /* no random number for its id (T1) */
	JOB_NO_LOG, JOB_NO_START, JOB_NO_TERMINAL  /* for want of it (A2, E7) */
};

/* One stream of what it prints, and how far that has been looked at (T3) */
struct job_stream {
	struct output *text;     /* NULL: it has not begun */
	struct output_cursor seen;
};

struct secret;  /* in secret.c */

struct job {
	const struct options *options;
	const char *session;     /* its name; the log has the last 8 digits */

	/* What was asked for. A job without `do_work` is a command. */
	struct exec exec;        /* its command, and how that stands */
	void (*do_work)(struct job *, const char *dir);  /* at once (X2) */
	void *work;              /* what that is about */
	void (*free_work)(void *);
	size_t work_bytes;       /* of its memory, for job_bytes() */
	struct buf description;  /* for the list of tasks (T7) */
	char *cwd;               /* where it starts (D7), or NULL */
	int64_t timeout;         /* ms; in the background 0: none (W4) */
	bool capped;             /* `timeout` was above the most there can be */
	bool background;         /* a task from the start */
	struct output_bounds bounds;  /* of what is shown of its output */
	struct buf client;       /* JSON members of its records: who sent it */

	/* How it stands */
	enum job_state state;
	enum job_refused refused;
	int error;               /* errno, with JOB_NO_* and JOB_LOST_DIR */
	char *start_dir;         /* where it was to start; NULL: not tried yet */
	char *tracked_dir;       /* the session's, when it was started */
	char *dir;               /* where the next command starts */
	char id[33];             /* of a task, in hex; else empty */
	int64_t call;            /* its number in the log; 0: not started */
	int64_t started_at, ended_at;  /* ms; 0: not yet */
	int64_t deadline;        /* ms; when its time is up; or NEVER */
	int64_t call_limit;      /* ms that its call may be open (K2); 0: any */
	int64_t hand_over_at;    /* ms; when that time is up; or NEVER */
	bool timed_out, killed, cancelled;
	bool shows_dir;          /* its result has its directory as text (K4) */
	bool by_server;          /* its deadline is that of --bg-timeout (T5) */
	bool no_room;            /* it became no task: ten run (E5, K2) */
	int64_t patience;        /* ms; `call_limit`, once that has ended the
	                          * wait of the client; else 0 */
	bool abandoned;          /* the timer of its client ended its call (E6) */
	bool not_run;            /* ... and a result has yet to report that the
	                          * command could not be started */
	bool survivor_logged;    /* the log has that it survives (E12) */
	struct job_stream out, err;
	struct exec_prompt prompt;  /* of its terminal; BUSY if it takes no
	                          * input */
	struct buf typed;        /* lines: the end of what was typed and may be
	                          * echoed (W3) */

	/* What a result has reported: session_mark_...() notes it */
	bool prompt_told;        /* that its terminal asks, and how to answer */
	int64_t asked_at;        /* ms; `since` of the prompt told last (I3) */
	bool screen_told;        /* that its screen is not shown (I6) */
	bool end_told;           /* that the task has ended (T8) */
	bool abandoned_told;     /* what became of it after its call (E6) */
	bool survivor_told;      /* that it survives its cancellation (E12) */

	/* The session's alone */
	struct list *list;       /* the list of the session that it is in */
	struct list_node node;   /* in that list */
	bool parallel;           /* it takes no place in the order (D7, H6) */
	int holders;             /* calls that hold it, and will let it go */
	bool read;               /* its result, a task's, has been taken */
	struct secret *secret;   /* NULL: its terminal has asked for none */
};

struct job *job_new(const struct options *);  /* zeroed but for that */
void job_free(struct job *);  /* after its exec_free(); NULL is fine */
size_t job_bytes(const struct job *);  /* of memory, while it is queued (P10) */

bool job_is_task(const struct job *);  /* has it been in the background? */
int64_t job_elapsed(const struct job *, int64_t now);  /* ms */
const char *job_status(const struct job *, bool ended);  /* a result's (B) */
bool job_survives(const struct job *);  /* can boris not end it (E12)? */
bool job_takes_input(const struct job *);  /* while its terminal is there */
/* Returns whether the job's program is about to start. After JOB_START_WAIT, for
 * instance because of a hung mount, it is not about to any more. */
enum { JOB_START_WAIT = 1000 };  /* ms */
bool job_is_starting(const struct job *, int64_t now);

/* Refreshes `prompt`. A terminal for which no call waits is checked only for
 * whether it asks for a secret (I5). */
void job_read_prompt(struct job *, int64_t now);

/* Marks all output of a job that runs as reported by a result. (What a finished
 * task has printed last is shown to all calls that wait for it.) */
void job_mark_output_reported(struct job *);
/* Marks what the result of a call about a task has reported: that its screen is
 * not shown, and whether its terminal asks for input. */
void job_mark_screen_reported(struct job *);
void job_mark_prompt_reported(struct job *, const struct exec_prompt *);

#endif
