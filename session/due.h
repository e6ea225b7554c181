/* SPDX-License-Identifier: ISC */
#ifndef SESSION_DUE_H
#define SESSION_DUE_H

/* Decides what to do with a job, and when. The functions of this module have no
 * side effects; session.c carries out the actions. */

#include <stdbool.h>
#include <stdint.h>
#include "session/job.h"

enum due_action {
	DUE_NOTHING,  /* nothing is due yet */

	/* Actions for a queued job */
	DUE_START,
	DUE_START_LATE,   /* start the job as a task because the client is no
	                   * longer waiting (K2) */
	DUE_WORK,         /* carry out the edit */
	DUE_REJECT_TASK,  /* reject the job because too many tasks are running
	                   * (T2) */
	DUE_GIVE_UP,      /* reject the job because it could not be started in
	                   * time (K2) */
	DUE_REJECT_LATE,  /* reject the job because it cannot become a task and
	                   * its call has little or no time left (K2) */

	/* Actions for a started job */
	DUE_END,       /* finish the job because its command has ended */
	DUE_FAIL,      /* reject the job because its program could not be
	                * started */
	DUE_TIME_OUT,  /* terminate the command because its timeout has expired
	                * (E2) */
	DUE_KEEP,      /* turn the job into a task because its timeout has
	                * expired (E5) */
	DUE_HAND_OVER  /* turn the job into a task because the client is no
	                * longer waiting (K2) */
};

/* An action and the time at which it is due */
struct job_due {
	enum due_action action;
	int64_t at;  /* time of the action, in ms; for DUE_NOTHING, time of the
	              * next decision, or NEVER */
};

/* The part of a session's state that due_queued() needs (P7) */
struct queue_state {
	int running_in_order;  /* number of foreground commands that must end
	                        * before the next job in the queue can start */
	int running_parallel;  /* number of foreground commands running in
	                        * parallel with other jobs */
	bool paused;           /* the queue is paused because an edit was made
	                        * in this iteration of the event loop, or
	                        * because a task is being started */
	bool edit_waits;       /* an edit in progress cannot continue yet, for
	                        * instance because its file is locked */
	bool tasks_full;       /* the maximum number of tasks is already
	                        * running */
};

/* Returns the action that is due for a queued job. Must be called in queue
 * order, after the actions for earlier jobs have been carried out. */
struct job_due due_queued(const struct job *, const struct queue_state *,
                          int64_t now);
/* Returns the next action for a started job. session_act() carries out the
 * action and calls this function again, until nothing more is due. */
struct job_due due_started(const struct job *, int64_t now);

#endif
