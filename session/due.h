/* SPDX-License-Identifier: ISC */
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
	DUE_START_LATE,   /* start the job as a task, since its client no longer
	                   * waits (K2) */
	DUE_WORK,         /* carry out the edit */
	DUE_REJECT_TASK,  /* reject the job, since too many tasks are running
	                   * (T2) */
	DUE_GIVE_UP,      /* reject the job, since it could not be started in
	                   * time (K2) */
	DUE_REJECT_LATE,  /* reject the job, since too many tasks are running
	                   * and it would soon be terminated (K2) */

	/* Actions for a job that has been started */
	DUE_END,       /* finish the job, since its command has ended */
	DUE_FAIL,      /* reject the job, since its program could not be
	                * started */
	DUE_TIME_OUT,  /* terminate the command, since its timeout has expired
	                * (E2) */
	DUE_KEEP,      /* make the job a task, since its timeout has expired
	                * (E5) */
	DUE_HAND_OVER  /* make the job a task, since its client no longer waits
	                * (K2) */
};

/* An action, and the time at which it is due */
struct job_due {
	enum due_action action;
	int64_t at;  /* time of the action, in ms; with DUE_NOTHING, the time to
	              * decide again unless something happens before, or
	              * NEVER */
};

/* The state of a session that decides which queued jobs can be started (P7) */
struct queue_state {
	int running_in_order;  /* number of running jobs that the queue waits
	                        * for */
	int running_parallel;  /* number of foreground jobs that run in parallel
	                        * with the queue */
	bool paused;           /* the queue is paused until a later turn */
	bool edit_waits;       /* an edit has started and waits for its file */
	bool tasks_full;       /* no more tasks can be started */
};

/* Returns the action that is due for a job in the queue. The actions that are
 * due for the jobs before it must have been carried out. */
struct job_due due_queued(const struct job *, const struct queue_state *,
                          int64_t now);
/* Returns the next action that is due for a job that has been started. After
 * the action was carried out, another one may be due at the same time. */
struct job_due due_started(const struct job *, int64_t now);

#endif
