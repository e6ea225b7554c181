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

enum job_state {
	JOB_QUEUED,
	JOB_RUNNING,             /* in the foreground */
	JOB_TASK,                /* in the background */
	JOB_FINISHED             /* ended, or refused */
};

/* Why a job was not run */
enum job_rejection {
	REJECT_NONE,
	REJECT_CLOSED,              /* the session is closed (L2) */
	REJECT_LATE,              /* it could not be started in time (K2) */
	REJECT_TOO_MANY,            /* too many tasks are running (T2) */
	REJECT_NO_DIR,              /* `start_dir` cannot be entered (D7) */
	REJECT_LOST_DIR,            /* `tracked_dir` no longer exists (D5) */
	REJECT_NO_ID,               /* no random number for its id (T1) */
	REJECT_NO_LOG,              /* the log cannot be written (A2) */
	REJECT_NO_START,            /* its program cannot be started (E7) */
	REJECT_NO_TERMINAL          /* no terminal is available (E7) */
};

/* One stream of a job's output */
struct job_stream {
	struct output *text;     /* NULL: the job has not been started */
	struct output_cursor seen;  /* end of what a result has shown (T3) */
};

struct secret;  /* in secret.c */

struct job {
	const struct options *options;
	const char *session;     /* its name; the log has the last 8 digits */

	/* The request. A job without `do_work` is a command. */
	struct exec exec;        /* the command and its state */
	void (*do_work)(struct job *, const char *dir, int64_t now);
	                         /* an edit (X2); called again if it sets
	                          * `work_at` */
	void *work;              /* the argument of do_work() */
	void (*free_work)(void *);
	size_t work_bytes;       /* bytes of memory of `work` */
	struct buf description;  /* for the list of tasks (T7) */
	char *cwd;               /* directory to start in (D7), or NULL */
	int64_t timeout;         /* ms; in the background 0: none (W4) */
	bool capped;             /* `timeout` was reduced to the maximum */
	bool background;         /* it is a task from the start */
	struct output_bounds bounds;  /* of the output that is shown */
	struct buf client;       /* who sent it: JSON members for the log */

	/* State */
	enum job_state state;
	enum job_rejection rejected;
	int error;               /* errno, with JOB_NO_* and REJECT_LOST_DIR */
	char *start_dir;         /* where it was started; NULL: not yet */
	char *tracked_dir;       /* the session's directory at the start */
	char *dir;               /* where the next command will start */
	char id[33];             /* of a task, in hex; else empty */
	int64_t work_at;         /* ms; when to call do_work() again; 0: not */
	bool work_begun;         /* do_work() has changed or refused something,
	                          * so its outcome has to be reported */
	int64_t call;            /* its number in the log; 0: not started */
	int64_t queued_at;       /* ms */
	int64_t started_at;      /* ms; 0: not yet */
	int64_t ended_at;        /* ms, also if it was given up in the queue;
	                          * 0: not yet */
	int64_t deadline;        /* ms; end of its timeout; or NEVER */
	int64_t call_limit;      /* ms; the caller's (clients.h); 0: none */
	int64_t hand_over_at;    /* ms; when its call reaches call_limit, and it
	                          * becomes a task (K2); or NEVER */
	bool timed_out;
	bool kill_requested;     /* by kill_pid or the end of the session, and
	                          * boris has not given up (E12) */
	bool cancelled;
	bool shows_dir;          /* the text of its result has `dir` (K4) */
	bool server_deadline;          /* its deadline is that of --bg-timeout (T5) */
	bool too_many_tasks;            /* it became no task: too many (E5, K2) */
	bool limit_reached;      /* its `call_limit` has ended its call, or
	                          * kept it from being started (K2) */
	bool abandoned;          /* a timer of its client ended its call (E6) */
	bool not_run;            /* it was abandoned and refused, and no result
	                          * has reported that */
	bool survivor_logged;    /* the log has that it survives (E12) */
	struct job_stream out;
	struct job_stream err;
	struct exec_prompt prompt;  /* of its terminal; BUSY if it takes no
	                          * input */
	struct buf typed;        /* end of the lines that were typed and may be
	                          * echoed (W3) */

	/* What results have reported: set by session_mark_...() and
	 * job_mark_...() */
	bool prompt_reported;    /* its terminal asks, and how to answer */
	int64_t asked_at;        /* ms; `since` of that prompt (I3) */
	bool end_reported;       /* the task has ended (T8) */
	bool abandoned_reported; /* what happened after its call ended (E6) */
	bool survivor_reported;  /* it survives its cancellation (E12) */

	/* For session.c only */
	struct list *list;       /* the list of the session that it is in */
	struct list_node node;   /* in that list */
	bool parallel;           /* it runs beside the order (D7, H6) */
	int refs;             /* number of calls that hold it */
	bool read;               /* the result of the finished task was sent */

	/* For secret.c only */
	struct secret *secret;   /* NULL: none yet */
};

/* Returns a new job, which is zeroed except for the options and deadlines. */
struct job *job_new(const struct options *);
/* Frees a job after its exec_free(). NULL does nothing. */
void job_free(struct job *);
/* Returns the bytes of memory that the job takes while it is queued (P10). */
size_t job_bytes(const struct job *);

/* Returns whether the job is or was in the background. */
bool job_is_task(const struct job *);
/* Returns for how many ms the job has been running, or ran. */
int64_t job_elapsed(const struct job *, int64_t now);
/* Returns for how many ms the job was queued before it started or was given
 * up. */
int64_t job_queued(const struct job *);
/* Returns the status that a result reports (B). ended: the job has ended. */
const char *job_status(const struct job *, bool ended);
/* Returns whether boris cannot end the job (E12). */
bool job_survives(const struct job *);
/* Returns whether the job is a running task with a terminal. */
bool job_takes_input(const struct job *);
/* Returns whether the job's program is about to start. After JOB_START_WAIT,
 * for instance because of a hung mount, it is not about to any more. */
enum { JOB_START_WAIT = 1000 };  /* ms */
bool job_is_starting(const struct job *, int64_t now);
/* Returns whether the job's program has not started within JOB_START_WAIT, so
 * that its directory seems not to respond (E11). */
bool job_dir_hangs(const struct job *, int64_t now);

/* Refreshes `prompt`. A terminal for which no call waits is checked only for
 * whether it asks for a secret (I5). */
void job_read_prompt(struct job *, int64_t now);

/* Marks all output of a job that runs as reported by a result. (What a finished
 * task has printed last is shown to all calls that wait for it.) */
void job_mark_output_reported(struct job *);
/* Marks what the result of a call about a task has reported: whether its
 * terminal asks for input. */
void job_mark_prompt_reported(struct job *, const struct exec_prompt *);

#endif
