#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

/* One client's commands: their order (P7), the directory that each command
 * hands to the next (D1), the tasks in the background (T), processes that
 * commands left running (E4), the end (L). It does not depend on JSON.
 *
 * What a session is asked to run is a job. It never calls back: the layer
 * above holds the job that it waits for, reads its state, and lets it go. Each
 * turn session_read() updates the state; then session_act() does what due.c
 * decides for each job. */

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
	LIST_QUEUE,              /* jobs that have not been started */
	LIST_FOREGROUND,         /* commands that run in the foreground */
	LIST_BACKGROUND,         /* tasks, running or finished */
	LIST_ENDED,              /* other jobs that were finished or refused */
	LISTS
};

/* Others only read `shared`, `dir`, `queued`, and the numbers of jobs. */
struct session {
	const struct options *options;
	bool shared;             /* by clients without sessions: it tracks no
	                          * directory and runs all in parallel (H6) */
	bool closing;
	bool dir_reported;       /* a result has named its directory (K4) */
	bool has_survivors;        /* a cancelled command survives, and perhaps no
	                          * result has reported that (E12) */
	bool edited;             /* a file, in this turn: the order pauses (P6) */
	char name[17];           /* the process's name and eight more digits */
	int64_t calls;           /* number of jobs that boris tried to start */
	char *dir;               /* the tracked directory */
	struct buf ids;          /* all ids of its tasks, concatenated */
	struct spool spool;
	struct list list[LISTS]; /* all jobs that are not forgotten, each list
	                          * in the order in which they entered it */
	struct list execs;  /* the commands of these jobs */
	size_t queued;           /* bytes held by the queue (P10) */
	int waiting;             /* number of jobs in the queue */
	int waiting_parallel;    /* number of these that are parallel */
	int running;             /* number of jobs that run in the foreground */
	int running_parallel;    /* number of these that are parallel */
	int tasks;               /* number of tasks that run */
	int not_run;             /* number of jobs with that flag */
};

/* Opens a session. Returns NULL if there is no random number for its name. */
struct session *session_open(const struct options *, bool shared);
/* Frees a session and all its jobs. NULL does nothing. */
void session_free(struct session *);

/* Takes over a job, queues it, and holds it for its call. */
void session_run(struct session *, struct job *);
/* Takes a job out of the queue or terminates it, because its call was cancelled
 * (E6). */
void session_cancel(struct session *, struct job *, int64_t now);
/* Keeps a command whose call was ended by a timer of the client: as a running
 * task, or, once it has ended, as a finished task that is unread (E6). A queued
 * command is started if its turn has come. */
void session_abandon(struct session *, struct job *, int64_t now);
/* Terminates a task (T4). */
void session_kill(struct job *, int64_t now);

/* Finds the task with that id, or else with that pid, among those that run or
 * are unread. Returns NULL if there is none. In a shared session a pid is not
 * enough (H6). */
struct job *session_find_task(struct session *, const struct buf *id,
                              int64_t pid);
/* Holds a job for a call, until session_unref(). */
void session_ref(struct job *);
/* Lets go of a job that a call has held. A job that has ended is forgotten when
 * no call holds it; but a task stays until a call lets it go with `read`: its
 * final result was sent (T3). */
void session_unref(struct session *, struct job *, bool read);

/* Each returns the next job of a kind after that one, the first after NULL; or
 * NULL if there are no more. */

/* Of the tasks that run or are unread */
struct job *session_next_task(const struct session *, const struct job *after);
/* Of the tasks that have ended, if no result has reported that and no call
 * waits for them (T8) */
struct job *session_next_unreported_end(struct session *,
                                        const struct job *after);
/* Of the cancelled commands that boris could not end, if no result has reported
 * that (E12) */
struct job *session_next_survivor(struct session *, const struct job *after);
/* Of the jobs whose call was abandoned, if no result has reported that (E6) */
struct job *session_next_abandoned(struct session *, const struct job *after);
/* Of the commands in the foreground; none in a shared session, since they may
 * be those of another client (H6) */
const struct job *session_next_running(const struct session *,
                                       const struct job *after);

/* Returns the command for which the order waits (P7), or NULL. In a shared
 * session it is always NULL. */
const struct job *session_running(const struct session *);

/* Returns whether the order waits for an edit that has begun, because its file
 * is locked (X5). In a shared session no other edit waits for it. */
bool session_waits_for_edit(const struct session *);

/* When the transport has accepted a result, what it has reported is marked, so
 * that no later result reports it again. */
enum {
	SESSION_ENDS_REPORTED = 3,      /* ended tasks in the notes (T8) */
	SESSION_ABANDONED_REPORTED = 3, /* abandoned calls in the notes (E6) */
	SESSION_SURVIVORS_REPORTED = 1  /* cancelled commands that boris could
	                                 * not end (E12) */
};
/* Marks what the notes of a result or an error have reported: ended tasks,
 * abandoned calls, commands that boris could not end. */
void session_mark_notes_reported(struct session *);
/* Marks what a list of all tasks has reported. */
void session_mark_list_reported(struct session *);

/* Adds what the session waits for to the poll set. */
void session_poll_add(struct session *, struct loop *);
/* Reads what the commands print, which of them have ended, and whether
 * terminals wait for input. */
void session_read(struct session *, const struct loop *);
/* Does what is due for each job: ends it, makes it a task, starts it. */
void session_act(struct session *, const struct loop *);
/* Terminates all commands, once; turns go on until session_closed() (L1). */
void session_close(struct session *, int64_t now);
/* Returns whether a closed session has nothing left that boris can end, and no
 * call holds a job. */
bool session_closed(const struct session *);

#endif
