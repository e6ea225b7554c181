/* SPDX-License-Identifier: ISC */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

/* One client's session: its queue of jobs (P7), the working directory that each
 * command passes on to the next (D1), its background tasks (T), and its end
 * (L). The module does not depend on JSON.
 *
 * A command or an edit that a session runs is a job. The session never calls
 * the layer above. That layer keeps a reference to the job it waits for, reads
 * its state, and releases the reference. In each iteration of the event loop,
 * session_read() updates the state of the jobs. Then session_act() carries out
 * what due.c decides. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/io.h"
#include "base/list.h"
#include "session/job.h"
#include "base/options.h"
#include "output/spool.h"

enum session_list {
	LIST_QUEUE,       /* jobs that have not been started yet */
	LIST_FOREGROUND,  /* commands running in the foreground */
	LIST_BACKGROUND,  /* running and finished tasks, which have ids, and
	                   * jobs with `not_run` set */
	LIST_ENDED,       /* all other jobs that have ended or were rejected */
	LISTS
};

/* A session. Other modules may access only `shared`, `closing`, `dir`, `queued`
 * and the job counts, and must not modify them. */
struct session {
	const struct options *options;
	bool shared;              /* the session is shared by all clients that
	                           * have no session of their own. A shared
	                           * session does not track the working
	                           * directory and runs all commands in
	                           * parallel. */
	bool closing;
	bool dir_reported;        /* a result has included the current
	                           * directory */
	bool has_survivors;       /* there may be a cancelled command that boris
	                           * could not terminate and that no result has
	                           * reported yet */
	bool edited;              /* an edit was made in this iteration of the
	                           * event loop, so the queue is paused */
	char name[17];            /* 8 hexadecimal digits that identify the
	                           * boris process, followed by 8 random ones */
	int64_t last_log_number;  /* `log_number` of the last logged job */
	int64_t last_report;      /* number of the last report */
	char *dir;                /* the tracked working directory */
	struct buf ids;           /* all task ids so far, concatenated */
	struct spool spool;
	struct list list[LISTS];  /* lists of all jobs, each in order of
	                           * insertion */
	struct list execs;        /* the commands of all jobs */
	size_t queued;            /* memory used by queued jobs, in bytes */
	int waiting;              /* number of queued jobs */
	int waiting_parallel;     /* number of queued jobs with `parallel`
	                           * set */
	int running;              /* number of foreground jobs */
	int running_parallel;     /* number of foreground jobs with `parallel`
	                           * set */
	int tasks;                /* number of running tasks */
	int64_t tasks_ended;      /* number of tasks that have ended so far */
	int not_run;              /* number of jobs with `not_run` set */
};

/* Opens a session. Returns NULL if its random name cannot be generated. */
struct session *session_open(const struct options *, bool shared);
/* Frees the session and all its jobs. Does nothing if the session is NULL. */
void session_free(struct session *);

/* Takes ownership of a job and adds it to the queue. The job's tool call holds
 * one reference to it, as if taken with session_ref(). */
void session_run(struct session *, struct job *);
/* Cancels the job of a cancelled tool call (E6): removes it from the queue, or
 * terminates its command. */
void session_cancel(struct session *, struct job *, int64_t now);
/* Preserves the command of a tool call that the client cancelled because of a
 * client-side timeout (E6). A running command becomes a task, and an ended
 * command becomes a finished task. A queued command is started as a task if it
 * can start at once, and is rejected otherwise. A later result reports that a
 * rejected command was not run. */
void session_abandon(struct session *, struct job *, int64_t now);
/* Records that the client may not have received the response to the job's tool
 * call (H7). A later result reports what became of the command: it keeps
 * running as a task, has ended, or was rejected. The result of a foreground
 * command that has ended is kept as that of a finished task. If the response
 * included the session's directory, a later result includes it again. */
void session_keep(struct session *, struct job *);
/* Terminates a task's command (T4). */
void session_kill(struct job *, int64_t now);
/* Terminates a task whose id no client knows, and does not keep its result (E6,
 * H6). */
void session_discard(struct job *, int64_t now);

/* Finds the task with the given id or, if there is none, with the given pid.
 * Searches running tasks and finished tasks whose results have not been read.
 * Returns NULL if there is no such task. In a shared session, ignores the pid,
 * because a pid, unlike an id, is not secret (H6). */
struct job *session_find_task(struct session *, const struct buf *id,
                              int64_t pid);
/* Takes a reference to a job on behalf of a tool call. The caller must release
 * it with session_unref(). */
void session_ref(struct job *);
/* Releases a tool call's reference to a job. A job that has ended is freed once
 * no tool call refers to it. A finished task is kept until `read` is set, that
 * is, until its final result has been sent (T3). */
void session_unref(struct session *, struct job *, bool read);
/* Makes a task that a client has read readable again, because a result with part
 * of its output has been lost (H7). Does nothing if the job is no task. */
void session_unread(struct job *);

/* Each of the following functions iterates over one kind of job. It returns the
 * job following `after`, the first job if `after` is NULL, or NULL at the
 * end. */

/* Iterates over running tasks, and over finished tasks whose results can still
 * be read. */
struct job *session_next_task(const struct session *, const struct job *after);
/* Iterates over finished tasks whose end has yet to be reported: no tool call
 * is waiting for them, and no result has reported their end (T8). The output of
 * such a task may have been discarded (`forgotten`). */
struct job *session_next_unreported_end(struct session *,
                                        const struct job *after);
/* Iterates over cancelled commands that boris could not terminate and that have
 * not been reported in any result yet (E12). */
struct job *session_next_survivor(struct session *, const struct job *after);
/* Iterates over jobs whose client stopped waiting for the tool call and that no
 * result has reported since then (E6). */
struct job *session_next_abandoned(struct session *, const struct job *after);
/* Iterates over foreground commands. Returns NULL in a shared session, where
 * the commands may belong to other clients (H6). */
const struct job *session_next_running(const struct session *,
                                       const struct job *after);

/* Returns the command that the queue is waiting for (P7), or NULL if there is
 * none. Always returns NULL in a shared session. */
const struct job *session_running(const struct session *);

/* Returns whether a started edit is waiting and blocks the queue, usually
 * because another process has locked its file (X5). Returns false in a shared
 * session, where an edit does not block the queue. */
bool session_waits_for_edit(const struct session *);

/* Maximum numbers of events reported in the notes of one result. After the
 * transport has accepted the result, boris marks the events as reported, so
 * that no later result repeats them. These events are a report, which has a
 * number. When the result has been sent, session_report_sent() must be called.
 * If the result is lost before that, session_report_lost() makes later results
 * repeat the events. */
enum {
	SESSION_ENDS_REPORTED = 3,       /* number of ended tasks (T8) */
	SESSION_ABANDONED_REPORTED = 3,  /* number of tool calls abandoned by
	                                  * their client (E6) */
	SESSION_SURVIVORS_REPORTED = 1   /* number of cancelled commands that
	                                  * boris could not terminate (E12) */
};
/* Value of job->..._report if the result with the report has been sent */
enum { REPORT_SENT = -1 };
/* Marks as reported the events mentioned in the notes of a result or an error:
 * ended tasks, abandoned tool calls, and cancelled commands that boris could
 * not terminate. Returns the number of the report, or 0 if no event was
 * marked. */
int64_t session_report_notes(struct session *);
/* Marks the ended tasks and the abandoned tool calls as reported. Must be
 * called after a result has listed all tasks. Returns the number of the report,
 * or 0 if no event was marked. */
int64_t session_report_list(struct session *);
/* Frees the jobs that were only kept because the report could be lost. Does
 * nothing if the report is 0. */
void session_report_sent(struct session *, int64_t report);
/* Marks the events of the report as not reported. Does nothing if the report is
 * 0. */
void session_report_lost(struct session *, int64_t report);
/* Marks the session's directory as reported if the result of the job's command
 * included this directory (K4). */
void session_mark_dir_reported(struct session *, const struct job *);

/* Adds the session's descriptors and deadlines to the poll set. */
void session_poll_add(struct session *, struct loop *);
/* Reads the output of all commands. Checks which commands have ended and which
 * terminals are waiting for input. */
void session_read(struct session *, const struct loop *);
/* Carries out all due actions: starts jobs, ends jobs, and turns jobs into
 * tasks. */
void session_act(struct session *, const struct loop *);
/* Terminates all commands. Must be called at most once. Afterwards, the event
 * loop must continue to call session_poll_add(), session_read() and
 * session_act() until session_closed() returns true (L1). */
void session_close(struct session *, int64_t now);
/* Returns whether a closing session can be freed. This is the case if no
 * process remains that boris could still terminate, and no tool call refers to
 * any of the session's jobs. */
bool session_closed(const struct session *);

#endif
