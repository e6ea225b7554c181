#ifndef SESSION_DUE_H
#define SESSION_DUE_H

/* What is due for a job: decisions that depend on the state of the job, of its
 * session and on the time. These functions change nothing; session.c carries
 * the actions out. */

#include <stdbool.h>
#include <stdint.h>
#include "session/job.h"

enum due_action {
	DUE_NOTHING,           /* nothing is due yet */

	/* of a job in the queue */
	DUE_START,
	DUE_START_LATE,     /* its client waits no longer: as a task (K2) */
	DUE_WORK,        /* it is an edit */
	DUE_REJECT_TASK,    /* too many tasks are running (T2) */
	DUE_GIVE_UP,        /* it was not started in time (K2) */
	DUE_REJECT_LATE,    /* it would be terminated soon, because too many
	                     * tasks are running (K2) */

	/* of a job that has been started */
	DUE_END,            /* its command has ended */
	DUE_FAIL,           /* its program could not be started */
	DUE_TIME_OUT,       /* its timeout has passed: terminate it (E1) */
	DUE_KEEP,           /* ... or keep it as a task (E5) */
	DUE_HAND_OVER       /* its client waits no longer: make it a task (K2) */
};

struct job_due {
	enum due_action action;
	int64_t at;         /* ms; with DUE_NOTHING: when to decide again unless
	                     * something happens before; or NEVER */
};

/* What decides in which order a session starts its jobs (P7) */
struct queue_state {
	int running_in_order;        /* running jobs that the order waits for */
	int running_parallel;       /* running jobs in the foreground beside the order */
	bool paused;        /* the order continues in a later turn */
	bool edit_waits;          /* an edit has begun and waits (X5) */
	bool tasks_full;    /* no more tasks can be started (T2) */
};

/* Returns what to do with a job in the queue, given that this has been decided
 * for all jobs before it. */
struct job_due due_queued(const struct job *, const struct queue_state *,
                          int64_t now);
/* Returns what to do with a job that has been started, next: once that has been
 * done, something else may be due at the same time. */
struct job_due due_started(const struct job *, int64_t now);

#endif
