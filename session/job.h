/* SPDX-License-Identifier: ISC */
#ifndef SESSION_JOB_H
#define SESSION_JOB_H

/* A job is one command or one edit that a client has requested. A session runs
 * its jobs, and only session.c changes the state of a job. */

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
	REJECT_LATE,        /* the tool call had little or no time left (K2) */
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
	struct output *text;        /* the stream's output; NULL until the job
	                             * is started */
	struct output_cursor seen;  /* position up to which results have already
	                             * shown the output */
};

struct secret;  /* in secret.c */

struct job {
	const struct options *options;
	const char *session;  /* name of the session; the log contains only its
	                       * last 8 digits */
	struct spool *spool;  /* saved output of the session */

	/* The members below describe the request. The job is a command if
	 * `do_work` is NULL, and an edit otherwise. */
	struct exec exec;             /* the command and its state */
	/* Performs an edit. If the edit is not finished, sets `work_at` to the
	 * time at which this function must be called again. Returns
	 * REJECT_NONE, or the reason why the edit is rejected. */
	enum job_rejection (*do_work)(struct job *, const char *dir,
	                              int64_t now);
	void *work;                   /* the edit that do_work() performs */
	void (*free_work)(void *);
	size_t work_bytes;            /* memory that `work` occupies, in
	                               * bytes */
	struct buf description;       /* purpose of the command, shown in the
	                               * list of tasks */
	char *cwd;                    /* directory given in the request, or
	                               * NULL */
	int64_t timeout;              /* timeout of the command, in ms; 0 for a
	                               * task without a timeout */
	bool capped;                  /* `timeout` was reduced to the maximum */
	bool background;              /* the command is started in the
	                               * background, as a task */
	struct output_bounds bounds;  /* limits of the output in results */
	struct buf client;            /* name, version and address of the client
	                               * that sent the request, as JSON members
	                               * for the log */

	/* The members below describe the state of the job. */
	enum job_state state;
	enum job_rejection rejected;
	int error;                  /* errno that explains `rejected` */
	char *start_dir;            /* directory in which the command is
	                             * started; NULL before the start */
	char *tracked_dir;          /* the session's directory at the start of
	                             * the job */
	char *dir;                  /* directory in which the session's next
	                             * command will start */
	char id[33];                /* task id in hexadecimal; empty if the job
	                             * has none. Set only by session.c, which
	                             * keeps jobs with an id in
	                             * LIST_BACKGROUND. */
	int64_t work_at;            /* time of the next call to do_work(), in
	                             * ms; 0 before the first call and after the
	                             * last one */
	bool work_started;          /* the file has been edited, or the edit has
	                             * failed, and a result must report the
	                             * outcome */
	int64_t log_number;         /* job number in the log; 0 until
	                             * assigned */
	int64_t queued_at;          /* time at which the job was queued, in
	                             * ms */
	int64_t started_at;         /* time at which the job was started, in ms;
	                             * 0 until then */
	int64_t ended_at;           /* time at which the job ended or was
	                             * rejected, in ms; 0 until then */
	int64_t deadline;           /* time at which the timeout expires, in ms,
	                             * or NEVER */
	int64_t call_limit;         /* the client's timeout for the tool call
	                             * (mcp/clients.h), in ms; 0 if there is
	                             * none */
	int64_t hand_over_at;       /* time at which the client stops waiting
	                             * and the command becomes a task, in ms, or
	                             * NEVER */
	bool timed_out;             /* the command was terminated because its
	                             * timeout expired, or because it could not
	                             * become a task when its client stopped
	                             * waiting */
	bool kill_requested;        /* boris is terminating or has terminated
	                             * the command, because of a kill_pid
	                             * request or because the session is
	                             * closing */
	bool cancelled;
	bool shows_dir;             /* the result shows `dir` */
	bool server_deadline;       /* `deadline` comes from --bg-timeout */
	bool too_many_tasks;        /* the job could not become a task because
	                             * the maximum number of tasks was already
	                             * running */
	bool limit_reached;         /* boris ended the tool call because of
	                             * `call_limit`, not because the client
	                             * cancelled it */
	bool abandoned;             /* the client cancelled the tool call
	                             * because of a client-side timeout */
	bool lost;                  /* the client may not have received the
	                             * response to the tool call; `abandoned` is
	                             * set, too */
	bool not_run;               /* the job was rejected, `abandoned` is set,
	                             * and no result has reported the rejection
	                             * yet */
	bool forgotten;             /* the output of the finished task was
	                             * discarded, because too many finished
	                             * tasks had unread results; set only by
	                             * session.c */
	bool survivor_logged;       /* whether the log says that boris cannot
	                             * kill the command */
	struct job_stream out;
	struct job_stream err;
	struct prompt prompt;       /* whether a program in the terminal is
	                             * waiting for input */
	struct buf typed;           /* the lines last typed into the terminal,
	                             * which may echo them */

	/* Events already reported in a result. Only the session_report_...()
	 * and job_mark_...() functions set these members. */
	bool prompt_reported;     /* a result has already explained how to
	                           * respond to a prompt of the terminal */
	int64_t asked_at;         /* identifies the prompt reported last: time
	                           * of the last terminal input or output before
	                           * it, in ms */
	/* The reports that contain these events: the number of a report that is
	 * being sent, REPORT_SENT, or 0 if no result has reported the event
	 * (see session.h) */
	int64_t end_report;        /* the end of the task */
	int64_t abandoned_report;  /* what became of the job after its tool call
	                            * was abandoned */
	int64_t survivor_report;   /* boris could not terminate the cancelled
	                            * command */

	/* Private to session.c */
	struct list *list;      /* the session's list that contains the job */
	struct list_node node;  /* node of the job in `list` */
	bool parallel;          /* the job can run in parallel with the other
	                         * jobs of the session */
	int refs;               /* number of tool calls that refer to the job */
	int sent_refs;          /* number of these calls whose result reports
	                         * the job as running and is being written */
	bool read;              /* a client has received the final result of the
	                         * task, or no result will report the task */

	/* Private to secret.c */
	struct secret *secret;  /* FIFO through which the user enters a secret;
	                         * NULL until first needed */
};

/* Returns a new job with the given options. `hand_over_at` is NEVER, and all
 * other members are zero. */
struct job *job_new(const struct options *);
/* Frees a job. exec_free() must have freed its command. Does nothing if the job
 * is NULL. */
void job_free(struct job *);
/* Returns the memory that a queued job occupies, in bytes (P10). */
size_t job_bytes(const struct job *);

/* Returns whether the job has a task id. Every running or finished task has an
 * id, and so does a command that ended in the foreground after its client
 * stopped waiting. */
bool job_has_id(const struct job *);
/* Returns how long the job has been running, or ran until its end, in ms. */
int64_t job_elapsed(const struct job *, int64_t now);
/* Returns the time from queuing the job to its start or rejection, in ms. */
int64_t job_queued(const struct job *);
/* Returns the job status to show in a result, such as "running" (B). `ended`
 * says whether the result reports the end of the job; if not, the status is
 * always "running". A rejected job has the status "not_run", which only lists
 * show (T7). */
const char *job_status(const struct job *, bool ended);
/* Returns whether boris failed to terminate the job's command (E12). */
bool job_survives(const struct job *);
/* Returns whether the job is a running task with a terminal. */
bool job_takes_input(const struct job *);
/* Returns whether the job is an edit that has started but is waiting, for
 * instance for a locked file. */
bool job_is_waiting_edit(const struct job *);
/* Returns whether the job's program is still being started. Returns false after
 * JOB_START_WAIT even if the program has not started, because a hung mount, for
 * instance, can delay the start for a very long time. */
enum { JOB_START_WAIT = 1000 };  /* maximum time to wait for a program to start,
                                  * in ms */
bool job_is_starting(const struct job *, int64_t now);
/* Returns whether the job's program is still being started after
 * JOB_START_WAIT. In that case, the job's directory is probably not responding
 * (E11). */
bool job_dir_hangs(const struct job *, int64_t now);

/* Checks whether the job's terminal is waiting for input, and updates `prompt`.
 * If no tool call is waiting for the job, only checks whether the terminal is
 * asking for a secret (I5). */
void job_read_prompt(struct job *, int64_t now);

/* Marks the output of a running job as reported, so that the next result does
 * not show it again. For a full-screen program, marks only the rows on its
 * screen, because the result showed nothing else. Does nothing for a finished
 * job, so that each tool call waiting for the task shows its last output. */
void job_mark_output_reported(struct job *);
/* Records that a result has reported the given prompt of the job's terminal.
 * Does nothing if the state of the prompt is TERMINAL_BUSY. */
void job_mark_prompt_reported(struct job *, const struct prompt *);
/* Undoes job_mark_prompt_reported(), unless a result has reported another
 * prompt since then. */
void job_mark_prompt_lost(struct job *, const struct prompt *);

#endif
