/* SPDX-License-Identifier: ISC */
#ifndef SESSION_JOB_H
#define SESSION_JOB_H

/* A job is one command or one edit, from its request to its end. The tool that
 * reads the request fills in the job, a session runs it, and results are
 * written from it. Only session.c changes the state of a job. */

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
	JOB_RUNNING,  /* running in the foreground */
	JOB_TASK,     /* running in the background */
	JOB_FINISHED  /* ended, or rejected */
};

/* The reason why a job was rejected */
enum job_rejection {
	REJECT_NONE,
	REJECT_CLOSED,      /* the session is closed (L2) */
	REJECT_LATE,        /* the job could not be started in time (K2) */
	REJECT_TOO_MANY,    /* too many tasks are running (T2) */
	REJECT_NO_DIR,      /* boris cannot change to `start_dir` (D7) */
	REJECT_LOST_DIR,    /* `tracked_dir` no longer exists (D5) */
	REJECT_NO_ID,       /* no random number is available for the task's id
	                     * (T1) */
	REJECT_NO_LOG,      /* the log cannot be written (A2) */
	REJECT_NO_START,    /* the program cannot be started (E7) */
	REJECT_NO_TERMINAL  /* no terminal is available (E7) */
};

/* One output stream of a job */
struct job_stream {
	struct output *text;        /* output of the stream; NULL until the job
	                             * is started */
	struct output_cursor seen;  /* end of the output that a result has
	                             * shown */
};

struct secret;  /* in secret.c */

struct job {
	const struct options *options;
	const char *session;  /* name of the session; the log contains its last
	                       * 8 digits */

	/* The request. If `do_work` is NULL, the job is a command. */
	struct exec exec;             /* the command and its state */
	/* Carries out an edit. If it sets `work_at`, it is called again. Returns
	 * REJECT_NONE, or the reason why the edit is rejected. */
	enum job_rejection (*do_work)(struct job *, const char *dir,
	                              int64_t now);
	void *work;                   /* the edit that do_work() carries out */
	void (*free_work)(void *);
	size_t work_bytes;            /* memory that `work` occupies, in
	                               * bytes */
	struct buf description;       /* purpose of the command, for the list of
	                               * tasks */
	char *cwd;                    /* directory given for this job, or
	                               * NULL */
	int64_t timeout;              /* timeout of the command, in ms; 0 for a
	                               * task without a timeout */
	bool capped;                  /* `timeout` was reduced to the maximum */
	bool background;              /* the job is a task from the start */
	struct output_bounds bounds;  /* limits of the output that results
	                               * show */
	struct buf client;            /* the client that sent the request, as
	                               * JSON members for the log */

	/* The state */
	enum job_state state;
	enum job_rejection rejected;
	int error;                  /* errno that explains `rejected` */
	char *start_dir;            /* directory of the command; NULL until the
	                             * start */
	char *tracked_dir;          /* directory that the session tracked at the
	                             * start */
	char *dir;                  /* directory in which the next command will
	                             * start */
	char id[33];                /* id of a task, in hexadecimal; otherwise
	                             * empty; set by session.c, which moves a
	                             * job with an id to LIST_BACKGROUND */
	int64_t work_at;            /* time of the next call of do_work(), in
	                             * ms; 0 before the first call and after the
	                             * last one */
	bool work_started;          /* the edit was made or has failed, so its
	                             * outcome must be reported */
	int64_t log_number;         /* number of the job in the log; 0 until the
	                             * start */
	int64_t queued_at;          /* time at which the job was queued, in
	                             * ms */
	int64_t started_at;         /* time of the start, in ms; 0 until then */
	int64_t ended_at;           /* time of the end, or of the rejection in
	                             * the queue, in ms; 0 until then */
	int64_t deadline;           /* end of the timeout, in ms; or NEVER */
	int64_t call_limit;         /* maximum time for which the call can be
	                             * open (mcp/clients.h), in ms; 0 if there
	                             * is no limit */
	int64_t hand_over_at;       /* time at which the call reaches
	                             * `call_limit` and the command becomes a
	                             * task, in ms; or NEVER */
	bool timed_out;             /* the command was terminated because its
	                             * timeout expired, or because its call
	                             * ended and it could not become a task */
	bool kill_requested;        /* kill_pid or the end of the session has
	                             * requested a kill, and boris has not given
	                             * up */
	bool cancelled;
	bool shows_dir;             /* the text of the result shows `dir` */
	bool server_deadline;       /* `deadline` is that of --bg-timeout */
	bool too_many_tasks;        /* the job could not become a task, since
	                             * too many were running */
	bool limit_reached;         /* `call_limit` has ended the call, or
	                             * prevented the start of the job; not set
	                             * if the call was abandoned */
	bool abandoned;             /* a timer of the client has ended the
	                             * call */
	bool not_run;               /* the job was abandoned and rejected, and
	                             * no result has reported that */
	bool survivor_logged;       /* the log contains a record that boris
	                             * cannot terminate the command */
	struct job_stream out;
	struct job_stream err;
	struct prompt prompt;       /* whether the terminal waits for input;
	                             * BUSY if it does not take input */
	struct buf typed;           /* end of the typed lines, which the
	                             * terminal may echo */

	/* What results have reported. The session_mark_...() and job_mark_...()
	 * functions set these members. */
	bool prompt_reported;     /* a result has reported that the terminal
	                           * waits for input, and how to answer */
	int64_t asked_at;         /* `since` of the last prompt that was
	                           * reported, in ms */
	bool end_reported;        /* a result has reported the end of the
	                           * task */
	bool abandoned_reported;  /* a result has reported what happened after
	                           * the call was abandoned */
	bool survivor_reported;   /* a result has reported that boris could not
	                           * terminate the cancelled command */

	/* Private to session.c */
	struct list *list;      /* the list of the session that contains the
	                         * job */
	struct list_node node;  /* node of the job in `list` */
	bool parallel;          /* the job runs in parallel with the queue */
	int refs;               /* number of calls that refer to the job */
	bool read;              /* the final result of the task was sent */

	/* Private to secret.c */
	struct secret *secret;  /* FIFO for a secret; NULL until it is needed */
};

/* Returns a new job. Its members are zeroed, except for `options` and
 * `hand_over_at`. */
struct job *job_new(const struct options *);
/* Frees a job whose command was freed by exec_free(). Does nothing if the job
 * is NULL. */
void job_free(struct job *);
/* Returns the size of the memory that the job occupies in the queue, in bytes
 * (P10). */
size_t job_bytes(const struct job *);

/* Returns whether the job has the id of a task. That includes finished tasks,
 * and commands that ended in the foreground after their call was abandoned. The
 * state JOB_TASK means that the task is running. */
bool job_has_id(const struct job *);
/* Returns how long the job has been running or, if it has ended, how long it
 * ran, in ms. */
int64_t job_elapsed(const struct job *, int64_t now);
/* Returns how long the job was queued before it was started or given up, in
 * ms. */
int64_t job_queued(const struct job *);
/* Returns the status that a result reports (B), such as "running". `ended` says
 * whether the result reports that the job has ended. */
const char *job_status(const struct job *, bool ended);
/* Returns whether boris cannot terminate the job's command (E12). */
bool job_survives(const struct job *);
/* Returns whether the job is a running task with a terminal. */
bool job_takes_input(const struct job *);
/* Returns whether the job is an edit that has been started, and that waits for
 * the next call of do_work(). */
bool job_is_waiting_edit(const struct job *);
/* Returns whether the job's program is being started. After JOB_START_WAIT,
 * returns false, because the start may be blocked, for instance by a hung
 * mount. */
enum { JOB_START_WAIT = 1000 };  /* ms */
bool job_is_starting(const struct job *, int64_t now);
/* Returns whether the job's program was not started within JOB_START_WAIT, so
 * that its directory seems not to respond (E11). */
bool job_dir_hangs(const struct job *, int64_t now);

/* Updates `prompt`. If no call waits for the job, the function only checks
 * whether its terminal asks for a secret (I5). */
void job_read_prompt(struct job *, int64_t now);

/* Marks all output of a running job as reported by a result. The last output of
 * a finished task is not marked, since every call that waits for the task shows
 * it. */
void job_mark_output_reported(struct job *);
/* Marks that a result has reported the given prompt of the job's terminal. */
void job_mark_prompt_reported(struct job *, const struct prompt *);

#endif
