#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

/* One client's commands: their order (P7), the directory that one hands to the
 * next (D1), the tasks in the background (T), what commands left running (E4),
 * closing (L). Has never heard of JSON.
 *
 * What it is asked to run is a job. A session never calls back: the room above
 * holds the job that it waits for, looks at its state, and lets it go. */

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
	bool shared;             /* no tracked directory, side by side (H6) */
	bool closing;
	bool dir_told;           /* a result has named its directory (K4) */
	bool uncancelled;        /* a cancelled command survives, and no result
	                          * may have told that (E12) */
	bool edited;             /* a file, in this turn: the rest waits (P6) */
	char name[17];           /* the process's name and eight more digits */
	int64_t calls;           /* jobs that were started, or tried to */
	char *dir;               /* the tracked directory */
	struct buf ids;          /* that its tasks have had */
	struct spool spool;
	struct list list[LISTS]; /* all jobs that are not forgotten, each list
	                          * in the order in which they entered it */
	struct list execs;  /* the commands of these jobs */
	size_t queued;           /* bytes held by the queue (P10) */
	int waiting;             /* number of jobs in the queue */
	int waiting_parallel;    /* number of these that are parallel */
	int running, tasks;      /* in the foreground, in the background */
	int running_parallel;    /* number of parallel jobs that are running */
	int not_run;             /* jobs with that flag */
};

/* NULL: there is no random number for its name. */
struct session *session_open(const struct options *, bool shared);
void session_free(struct session *);  /* NULL is fine */

void session_run(struct session *, struct job *);  /* queues and holds it */
/* Finds the task with that id, or else with that pid, among those that run or
 * are unread. Returns NULL if there is none. Where all clients share the tasks,
 * a pid is not enough (H6). */
struct job *session_find_task(struct session *, const struct buf *id,
                              int64_t pid);
void session_hold(struct job *);  /* for a call, until session_let_go() */
/* Those that run or are unread, one after the other; NULL: no more. */
struct job *session_next_task(const struct session *,
                              const struct job *after);
/* The next of these for a note (T8): it has ended, no result has told that,
 * and no call waits for it. */
struct job *session_next_untold(struct session *, const struct job *after);
/* The next command for a note that was cancelled, but that boris could not end,
 * and that no result has told (E12). */
struct job *session_next_uncancelled(struct session *, const struct job *after);

/* Returns the next job whose call was abandoned and of which no result has
 * reported that, or NULL (E6). */
struct job *session_next_abandoned(struct session *, const struct job *after);

/* A job stays while a call holds it. When it has ended, and all calls have let
 * it go, it is forgotten; but a task stays until a call lets it go with `read`:
 * its final result was taken (T3). */
void session_let_go(struct session *, struct job *, bool read);

/* When the transport has accepted a result, what it has reported is marked, so
 * that no later result reports it again. */
enum {
	SESSION_ENDED_TOLD = 3,      /* ends that the notes report (T8) */
	SESSION_ABANDONED_TOLD = 3   /* abandoned calls that they report (E6) */
};
/* Marks what the notes of a result or an error have reported: ended tasks,
 * abandoned calls, commands that boris could not end. */
void session_mark_notes_reported(struct session *);
/* Marks what a list of all tasks has reported. */
void session_mark_list_reported(struct session *);

/* E6: takes it out of the queue or terminates it. T4: ends a task. */
void session_cancel(struct session *, struct job *, int64_t now);
void session_kill(struct job *, int64_t now);
/* Keeps a command whose call was ended by a timer of the client: as a running
 * task, or, once it has ended, as a finished task that is unread (E6). A queued
 * command is started if its turn has come. */
void session_abandon(struct session *, struct job *, int64_t now);
/* Returns the command for which the order waits (P7), or NULL. In a shared
 * session it is always NULL. */
const struct job *session_running(const struct session *);
/* Returns the next of all commands in the foreground, or NULL. In a shared
 * session it is always NULL, since they may be those of another client (H6). */
const struct job *session_next_running(const struct session *,
                                       const struct job *after);
void session_poll_add(struct session *, struct loop *);
/* Reads what the commands print, which of them have ended, and whether terminals
 * wait for input. */
void session_read(struct session *, const struct loop *);
/* Does what is due for each job: ends it, makes it a task, starts it. */
void session_act(struct session *, const struct loop *);
void session_close(struct session *, int64_t now);  /* L1: once */
bool session_closed(const struct session *);  /* and nothing lives on */

#endif
