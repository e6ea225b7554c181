/* SPDX-License-Identifier: ISC */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

/* One client's session: its queue of jobs (P7), the working directory that each
 * command passes on to the next (D1), its background tasks (T), and its end
 * (L). The module does not depend on JSON.
 *
 * A command or an edit that a session runs is a job. The session never calls
 * the layer above. That layer keeps a reference to the job it waits for, reads
 * its state, and releases the reference. In each turn, session_read() updates
 * the state of the jobs; then session_act() carries out what due.c decides. */

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
	LIST_FOREGROUND,  /* commands that run in the foreground */
	LIST_BACKGROUND,  /* running and finished tasks, which have an id; and
	                   * jobs with the flag `not_run` */
	LIST_ENDED,       /* all other jobs that have ended or have been
	                   * rejected */
	LISTS
};

/* A session. Other modules may only read `shared`, `dir`, `queued` and the
 * counts of jobs. */
struct session {
	const struct options *options;
	bool shared;              /* it is shared by all clients without a
	                           * session: it tracks no directory and runs
	                           * all commands in parallel */
	bool closing;
	bool dir_reported;        /* a result has shown the directory */
	bool has_survivors;       /* a cancelled command could not be
	                           * terminated, and this may not have been
	                           * reported yet */
	bool edited;              /* an edit was made in this turn of the event
	                           * loop, so the queue is paused */
	char name[17];            /* name of the session: 8 digits of the
	                           * process, then 8 of the session */
	int64_t last_log_number;  /* `log_number` of the last logged job */
	char *dir;                /* the tracked working directory */
	struct buf ids;           /* all task ids so far, concatenated */
	struct spool spool;
	struct list list[LISTS];  /* all jobs; each list is in the order in
	                           * which jobs were added to it */
	struct list execs;        /* the commands of all jobs */
	size_t queued;            /* memory that queued jobs occupy, in bytes */
	int waiting;              /* number of queued jobs */
	int waiting_parallel;     /* number of queued jobs that run in
	                           * parallel */
	int running;              /* number of jobs that run in the
	                           * foreground */
	int running_parallel;     /* number of foreground jobs that run in
	                           * parallel */
	int tasks;                /* number of running tasks */
	int not_run;              /* number of jobs whose member `not_run` is
	                           * set */
};

/* Opens a session. Returns NULL if no random number is available for its
 * name. */
struct session *session_open(const struct options *, bool shared);
/* Frees the session and all its jobs. Does nothing if the session is NULL. */
void session_free(struct session *);

/* Adds a job to the queue, with one reference for its call. Takes ownership of
 * the job. */
void session_run(struct session *, struct job *);
/* Cancels the job of a cancelled call (E6): removes it from the queue, or
 * terminates its command. */
void session_cancel(struct session *, struct job *, int64_t now);
/* Keeps the command of a call that the client has ended because of its timeout
 * (E6). The command becomes a running task or, if it has ended, a finished
 * task. A queued command is started if its turn has come. */
void session_abandon(struct session *, struct job *, int64_t now);
/* Terminates the command of a task (T4). */
void session_kill(struct job *, int64_t now);

/* Finds the task with the given id or, if there is none, with the given pid.
 * Searches running tasks and finished tasks that have not been read. Returns
 * NULL if there is no such task. A shared session ignores the pid (H6). */
struct job *session_find_task(struct session *, const struct buf *id,
                              int64_t pid);
/* Adds a reference to a job for a call. session_unref() removes the
 * reference. */
void session_ref(struct job *);
/* Removes a call's reference to a job. A job that has ended is freed when no
 * call refers to it. A finished task is kept until `read` is set, which means
 * that its final result was sent (T3). */
void session_unref(struct session *, struct job *, bool read);

/* Each of these functions iterates over one kind of job. It returns the first
 * job if `after` is NULL, otherwise the job after `after`, or NULL at the
 * end. */

/* Iterates over running tasks and finished tasks that have not been read. */
struct job *session_next_task(const struct session *, const struct job *after);
/* Iterates over ended tasks whose end no result has reported, and for which no
 * call waits (T8). */
struct job *session_next_unreported_end(struct session *,
                                        const struct job *after);
/* Iterates over cancelled commands that boris could not terminate, if no result
 * has reported them yet (E12). */
struct job *session_next_survivor(struct session *, const struct job *after);
/* Iterates over jobs whose client has stopped waiting for the call, if no
 * result has reported this yet (E6). */
struct job *session_next_abandoned(struct session *, const struct job *after);
/* Iterates over commands in the foreground. Returns NULL in a shared session,
 * where the commands may belong to other clients (H6). */
const struct job *session_next_running(const struct session *,
                                       const struct job *after);

/* Returns the command for which the queue waits (P7), or NULL if there is none.
 * Always returns NULL in a shared session. */
const struct job *session_running(const struct session *);

/* Returns whether the queue waits for a started edit that is waiting itself,
 * usually because its file is locked (X5). In a shared session, other edits do
 * not wait for it. */
bool session_waits_for_edit(const struct session *);

/* The maximum numbers of events that the notes of one result report. After the
 * transport has accepted the result, these events are marked, so that no later
 * result repeats them. */
enum {
	SESSION_ENDS_REPORTED = 3,       /* ended tasks (T8) */
	SESSION_ABANDONED_REPORTED = 3,  /* calls whose client stopped waiting
	                                  * (E6) */
	SESSION_SURVIVORS_REPORTED = 1   /* cancelled commands that boris could
	                                  * not terminate (E12) */
};
/* Marks the events in the notes of a result or an error as reported: ended
 * tasks, calls whose client stopped waiting, and cancelled commands that boris
 * could not terminate. */
void session_mark_notes_reported(struct session *);
/* Marks the events that a list of all tasks shows as reported. */
void session_mark_list_reported(struct session *);

/* Adds the descriptors and deadlines of the session to the poll set. */
void session_poll_add(struct session *, struct loop *);
/* Reads the output of all commands. Checks which commands have ended and which
 * terminals wait for input. */
void session_read(struct session *, const struct loop *);
/* Carries out the actions that are due for each job: starts it, ends it, or
 * makes it a task. */
void session_act(struct session *, const struct loop *);
/* Terminates all commands. Must be called at most once. Then the event loop
 * must keep serving the session until session_closed() returns true (L1). */
void session_close(struct session *, int64_t now);
/* Returns whether a closing session can be freed: boris can terminate no more
 * processes, and no call refers to a job. */
bool session_closed(const struct session *);

#endif
