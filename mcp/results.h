/* SPDX-License-Identifier: ISC */
#ifndef MCP_RESULTS_H
#define MCP_RESULTS_H

/* Writes the results of tool calls, as text and as structured data (B6), with
 * notes that tell the model what to do next (B7), and errors.
 *
 * Each function appends the members of one JSON-RPC result to a buffer, for a
 * caller and its session. A result is never longer than its client accepts
 * (K3), and contains notes about the session's tasks and abandoned calls (T8,
 * E6). The functions do not change the session or a job, except that they may
 * create the saved file of a long output. calls.c later marks what was
 * reported. `now` is the current time, in ms. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"
#include "mcp/rpc.h"
#include "mcp/request.h"
#include "session/session.h"

/* The kinds of results, each named after what it reports */
enum results_about {
	ABOUT_COMMAND_END,  /* a foreground command has ended */
	ABOUT_TASK_START,   /* a task has started; the call does not wait for
	                     * its output */
	ABOUT_HAND_OVER,    /* a foreground command has become a task (E5, K2);
	                     * the result contains the output so far */
	ABOUT_TASK_STATE    /* a task is running or has ended; the result
	                     * contains the task's output */
};
/* Returns which kind of result to send for the given job and request. */
enum results_about results_about(const struct job *,
                                 const struct call_request *);

/* Writes an error result with the given text, and frees the text. */
void results_error(struct buf *, const struct caller *, struct session *,
                     struct buf *text);
/* Writes an error result saying that nothing was done because the call could
 * not be logged (A2). `error` is the errno of the failed write. */
void results_unlogged(struct buf *, const struct caller *, struct session *,
                      int error);
/* Writes an error result that explains why a command or an edit was not started
 * (T2, D5, E7). */
void results_rejected(struct buf *, const struct caller *, struct session *,
                     const struct job *, int64_t now);
/* Writes a result that lists all tasks of the session (T7). */
void results_list(struct buf *, const struct caller *, struct session *,
                  const struct call_request *, int64_t now);
/* Writes an error result saying that no task has the requested id or pid. */
void results_no_task(struct buf *, const struct caller *, struct session *,
                     const struct call_request *, int64_t now);
/* Writes an error result that explains why the input was not typed into the
 * task's terminal. `error` is the errno set by exec_type(). */
void results_not_typed(struct buf *, const struct caller *, struct session *,
                       const struct job *, int error);
/* Writes the result of a tool call that concerns a command or a task.
 * results_about() returns which event or state the result reports. */
void results_job(struct buf *, const struct caller *, struct session *,
                 struct job *, const struct call_request *, int64_t now);
/* Writes a result that reports the outcome of an edit (X4). */
void results_edit(struct buf *, const struct caller *, struct session *,
                  struct job *, const struct call_request *, int64_t now);

#endif
