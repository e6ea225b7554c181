#ifndef SESSION_DUE_H
#define SESSION_DUE_H

/* Decides what is due for a job, from the states of the job and its session and
 * from the time. The functions of this module change nothing; session.c carries
 * out the actions. */

#include <stdbool.h>
#include <stdint.h>
#include "session/job.h"

enum due_action {
	DUE_NOTHING,  /* nothing is due yet */

	/* Actions for a job in the queue */
	DUE_START,
	DUE_START_LATE,   /* start it as a task, since its client no longer
	                   * waits (K2) */
	DUE_WORK,         /* carry out the edit */
	DUE_REJECT_TASK,  /* reject it, since too many tasks are running (T2) */
	DUE_GIVE_UP,      /* reject it, since it could not be started in time
	                   * (K2) */
	DUE_REJECT_LATE,  /* reject it, since too many tasks are running and it
	                   * would soon be terminated (K2) */

	/* Actions for a job that has been started */
	DUE_END,       /* finish it, since its command has ended */
	DUE_FAIL,      /* reject it, since its program could not be started */
	DUE_TIME_OUT,  /* terminate it, since its timeout has expired (E2) */
	DUE_KEEP,      /* make it a task, since its timeout has expired (E5) */
	DUE_HAND_OVER  /* make it a task, since its client no longer waits
	                * (K2) */
};

/* An action, and the time at which it is due */
struct job_due {
	enum due_action action;
	int64_t at;  /* time of the action, ms; with DUE_NOTHING, the time to
	              * decide again unless something happens before, or
	              * NEVER */
};

/* The state of a session that decides which queued jobs can be started (P7) */
struct queue_state {
	int running_in_order;  /* number of running jobs that the queue waits
	                        * for */
	int running_parallel;  /* number of foreground jobs that run in parallel
	                        * to the queue */
	bool paused;           /* the queue continues in a later turn */
	bool edit_waits;       /* an edit has started and waits for its file
	                        * (X5) */
	bool tasks_full;       /* no more tasks can be started (T2) */
};

/* Returns the action that is due for a job in the queue. The actions that are
 * due for the jobs before it must have been carried out. */
struct job_due due_queued(const struct job *, const struct queue_state *,
                          int64_t now);
/* Returns the next action that is due for a job that has been started. After
 * the action was carried out, another one may be due at the same time. */
struct job_due due_started(const struct job *, int64_t now);

#endif
