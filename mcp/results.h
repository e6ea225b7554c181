/* SPDX-License-Identifier: ISC */
#ifndef MCP_RESULTS_H
#define MCP_RESULTS_H

/* Writes the results of calls, as text and as data (B6), with notes that tell
 * the model what to do next (B7), and errors.
 *
 * Each function appends the members of one JSON-RPC result to a buffer, for a
 * caller and its session. A result is never longer than its client accepts
 * (K3), and has notes about tasks and abandoned calls of the session (T8, E6).
 * The functions do not change the session or a job, except that they may create
 * the file of a long output. calls.c later marks what was reported. `now` is
 * the current time, in ms. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"
#include "mcp/rpc.h"
#include "mcp/request.h"
#include "session/session.h"

/* What the result of a call reports */
enum results_about {
	ABOUT_COMMAND_END,  /* the end of a command in the foreground */
	ABOUT_TASK_START,   /* the start of a task, without output, because the
	                     * call did not wait */
	ABOUT_HAND_OVER,    /* a command in the foreground that has become a
	                     * task (E5, K2), and its output so far */
	ABOUT_TASK_STATE    /* the state or the end of a task, and its output */
};
/* Returns what the result of a call with the given job and request reports. */
enum results_about results_about(const struct job *,
                                 const struct call_request *);

/* Writes an error with the given text and frees the text. */
void results_error(struct buf *, const struct caller *, struct session *,
                     struct buf *text);
/* Writes an error: nothing was done, because the call could not be logged (A2).
 * `error` is an errno. */
void results_unlogged(struct buf *, const struct caller *, struct session *,
                      int error);
/* Writes an error: the reason why the command or edit was not started (T2, D5,
 * E7). */
void results_rejected(struct buf *, const struct caller *, struct session *,
                     const struct job *, int64_t now);
/* Writes the list of all tasks of the session (T7). */
void results_list(struct buf *, const struct caller *, struct session *,
                  const struct call_request *, int64_t now);
/* Writes an error: no task has the given id or pid. */
void results_no_task(struct buf *, const struct caller *, struct session *,
                     const struct call_request *, int64_t now);
/* Writes an error: the input was not typed. `error` is the errno of
 * exec_type(). */
void results_not_typed(struct buf *, const struct caller *, struct session *,
                       const struct job *, int error);
/* Writes the end of a command, the start of a task, or the state of a task. */
void results_job(struct buf *, const struct caller *, struct session *,
                 struct job *, const struct call_request *, int64_t now);
/* Writes the outcome of an edit (X4). */
void results_edit(struct buf *, const struct caller *, struct session *,
                  struct job *, const struct call_request *, int64_t now);

#endif
