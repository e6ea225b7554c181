/* SPDX-License-Identifier: ISC */
#ifndef SESSION_DUE_H
#define SESSION_DUE_H

/* Decides what to do with a job, and when. The functions of this module change
 * nothing; session.c carries out the actions. */

#include <stdbool.h>
#include <stdint.h>
#include "session/job.h"

enum due_action {
	DUE_NOTHING,  /* nothing is due yet */

	/* Actions for a queued job */
	DUE_START,
	DUE_START_LATE,   /* start the job as a task, since the client no longer
	                   * waits (K2) */
	DUE_WORK,         /* carry out the edit */
	DUE_REJECT_TASK,  /* reject the job, since too many tasks are running
	                   * (T2) */
	DUE_GIVE_UP,      /* reject the job, since it could not be started in
	                   * time (K2) */
	DUE_REJECT_LATE,  /* reject the job, since too many tasks are running
	                   * and its client has stopped waiting or soon will
	                   * (K2) */

	/* Actions for a started job */
	DUE_END,       /* finish the job, since its command has ended */
	DUE_FAIL,      /* reject the job, since its program could not be
	                * started */
	DUE_TIME_OUT,  /* terminate the command, since its timeout has expired
	                * (E2) */
	DUE_KEEP,      /* make the job a task, since its timeout has expired
	                * (E5) */
	DUE_HAND_OVER  /* make the job a task, since the client no longer waits
	                * (K2) */
};

/* An action, and the time at which it is due */
struct job_due {
	enum due_action action;
	int64_t at;  /* time of the action, in ms; if the action is DUE_NOTHING,
	              * the time at which to decide again, or NEVER */
};

/* The state of a session that determines which queued jobs can start (P7) */
struct queue_state {
	int running_in_order;  /* number of running jobs for which the queue
	                        * waits */
	int running_parallel;  /* number of foreground jobs that run in parallel
	                        * with the queue */
	bool paused;           /* the queue is paused until the next turn of the
	                        * event loop */
	bool edit_waits;       /* an edit has been started and waits for a
	                        * locked file */
	bool tasks_full;       /* no more tasks can be started */
};

/* Returns the action that is due for a queued job. Must be called after the
 * actions for earlier jobs in the queue were carried out. */
struct job_due due_queued(const struct job *, const struct queue_state *,
                          int64_t now);
/* Returns the next action for a started job. When it has been carried out,
 * another action may be due at the same time. */
struct job_due due_started(const struct job *, int64_t now);

#endif
