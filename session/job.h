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
	struct output_cursor seen;  /* position up to which results have shown
	                             * the output */
};

struct secret;  /* in secret.c */

struct job {
	const struct options *options;
	const char *session;  /* name of the session; the log contains only its
	                       * last 8 digits */

	/* The request. The job is a command if `do_work` is NULL, otherwise an
	 * edit. */
	struct exec exec;             /* the command and its state */
	/* Makes an edit. If it sets `work_at`, it must be called again. Returns
	 * REJECT_NONE, or the reason why the edit is rejected. */
	enum job_rejection (*do_work)(struct job *, const char *dir,
	                              int64_t now);
	void *work;                   /* the edit that do_work() makes */
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
	bool background;              /* the job is a task from the start */
	struct output_bounds bounds;  /* limits of the output in results */
	struct buf client;            /* the client that sent the request, as
	                               * JSON members for the log */

	/* The state */
	enum job_state state;
	enum job_rejection rejected;
	int error;                  /* errno that explains `rejected` */
	char *start_dir;            /* directory in which the command starts;
	                             * NULL before the start */
	char *tracked_dir;          /* the session's directory when the job was
	                             * started */
	char *dir;                  /* directory in which the session's next
	                             * command will start */
	char id[33];                /* id of a task, in hexadecimal; otherwise
	                             * empty. Only session.c sets it; a job with
	                             * an id is in LIST_BACKGROUND. */
	int64_t work_at;            /* time of the next call of do_work(), in
	                             * ms; 0 before the first call and after the
	                             * last one */
	bool work_started;          /* the edit was made or has failed; a result
	                             * must report its outcome */
	int64_t log_number;         /* number of the job in the log; 0 before
	                             * the job is started */
	int64_t queued_at;          /* time at which the job was queued, in
	                             * ms */
	int64_t started_at;         /* time at which the job was started, in ms;
	                             * 0 before */
	int64_t ended_at;           /* time at which the job ended or was
	                             * rejected, in ms; 0 before */
	int64_t deadline;           /* time at which the timeout expires, in ms;
	                             * or NEVER */
	int64_t call_limit;         /* the client's timeout for the call
	                             * (mcp/clients.h), in ms; 0 if there is
	                             * none */
	int64_t hand_over_at;       /* time at which `call_limit` expires and
	                             * the command becomes a task, in ms; or
	                             * NEVER */
	bool timed_out;             /* the command was terminated because its
	                             * timeout expired, or because its call
	                             * ended and it could not become a task */
	bool kill_requested;        /* kill_pid or the end of the session
	                             * requires that the command is terminated,
	                             * and boris still tries to terminate it */
	bool cancelled;
	bool shows_dir;             /* the result shows `dir` */
	bool server_deadline;       /* `deadline` comes from --bg-timeout */
	bool too_many_tasks;        /* the job could not become a task, because
	                             * too many were running */
	bool limit_reached;         /* `call_limit` has expired, so the call
	                             * has ended or the job was not started;
	                             * not set if the client has ended the
	                             * call itself */
	bool abandoned;             /* the client has ended the call because of
	                             * its timeout */
	bool not_run;               /* the job was rejected after the client had
	                             * ended the call, and no result has
	                             * reported this */
	bool survivor_logged;       /* boris has logged that it cannot terminate
	                             * the command */
	struct job_stream out;
	struct job_stream err;
	struct prompt prompt;       /* whether the terminal waits for input */
	struct buf typed;           /* the last lines typed into the terminal,
	                             * which may echo them */

	/* Events that results have reported. Only the session_mark_...() and
	 * job_mark_...() functions set these members. */
	bool prompt_reported;     /* a result has reported that the terminal
	                           * waits for input, and how to respond */
	int64_t asked_at;         /* the member `since` of the last prompt that
	                           * a result has reported, in ms */
	bool end_reported;        /* a result has reported the end of the
	                           * task */
	bool abandoned_reported;  /* a result has reported the outcome of the
	                           * call that the client ended because of its
	                           * timeout */
	bool survivor_reported;   /* a result has reported that boris could not
	                           * terminate the cancelled command */

	/* Private to session.c */
	struct list *list;      /* the session's list that contains the job */
	struct list_node node;  /* node of the job in `list` */
	bool parallel;          /* the job can run in parallel with all
	                         * others */
	int refs;               /* number of open calls that refer to the job */
	bool read;              /* a client has received the final result of the
	                         * task */

	/* Private to secret.c */
	struct secret *secret;  /* FIFO through which a person enters a secret;
	                         * NULL until needed */
};

/* Returns a new job with zeroed members, except for `options` and
 * `hand_over_at`. */
struct job *job_new(const struct options *);
/* Frees a job. exec_free() must have freed its command. Does nothing if the job
 * is NULL. */
void job_free(struct job *);
/* Returns the memory that a queued job occupies, in bytes (P10). */
size_t job_bytes(const struct job *);

/* Returns whether the job has a task id. A command that has ended in the
 * foreground has one, too, if its client had stopped waiting for the call. */
bool job_has_id(const struct job *);
/* Returns the run time of the job until now or until its end, in ms. */
int64_t job_elapsed(const struct job *, int64_t now);
/* Returns the time from queuing the job to its start or rejection, in ms. */
int64_t job_queued(const struct job *);
/* Returns the job's status as shown in a result, such as "running" (B). `ended`
 * is true if the result reports the end of the job. */
const char *job_status(const struct job *, bool ended);
/* Returns whether boris has failed to terminate the job's command (E12). */
bool job_survives(const struct job *);
/* Returns whether the job is a running task with a terminal. */
bool job_takes_input(const struct job *);
/* Returns whether the job is an edit that has been started and waits, for
 * instance for a locked file. */
bool job_is_waiting_edit(const struct job *);
/* Returns whether the job's program is being started. Returns false after
 * JOB_START_WAIT, because a hung mount, for instance, can block a start for
 * very long. */
enum { JOB_START_WAIT = 1000 };  /* ms */
bool job_is_starting(const struct job *, int64_t now);
/* Returns whether the start of the program takes longer than JOB_START_WAIT, so
 * that its directory seems not to respond (E11). */
bool job_dir_hangs(const struct job *, int64_t now);

/* Checks whether the job's terminal waits for input, and updates `prompt`. If
 * no call waits for the job, only checks whether the terminal asks for a secret
 * (I5). */
void job_read_prompt(struct job *, int64_t now);

/* Marks the output of a running job as reported by a result. The last output of
 * a finished task is not marked, since each call that waits for the task shows
 * it. */
void job_mark_output_reported(struct job *);
/* Records that a result has reported the given prompt of the job's terminal. */
void job_mark_prompt_reported(struct job *, const struct prompt *);

#endif
