#ifndef MCP_RESULTS_H
#define MCP_RESULTS_H

/* Writes the results of calls, as text and as data (B6), with notes that tell
 * the model what to do next (B7), and errors.
 *
 * Each function appends the members of one JSON-RPC result to a buffer, for a
 * caller and its session. The result fits in what the client lets through (K3),
 * and has notes about tasks and abandoned calls of the session (T8, E6). No
 * function changes the session or a job, except that the file of a long output
 * may be created. What was reported is marked later. now: ms. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"
#include "mcp/rpc.h"
#include "mcp/request.h"
#include "session/session.h"

/* What the result of an accepted call with a job is about */
enum results_about {
	ABOUT_COMMAND_END,     /* the end of a command in the foreground */
	ABOUT_TASK_START,      /* the start of a task for whose output the call
	                        * did not wait: the result shows none */
	ABOUT_HAND_OVER,       /* a command in the foreground that became a task
	                        * (E5, K2), with its output so far */
	ABOUT_TASK_STATE       /* the state or the end of a task, with its
	                        * output: it was started by another call, or
	                        * this call has waited after starting it */
};
/* Returns which of these the result is about. */
enum results_about results_about(const struct job *,
                                 const struct call_request *);

/* Writes an error with this text, which it frees. */
void results_error(struct buf *, const struct caller *, struct session *,
                     struct buf *text);
/* Writes that nothing was done, because the record of the call could not be
 * written (A2). error: errno. */
void results_unlogged(struct buf *, const struct caller *, struct session *,
                      int error);
/* Writes why the session has rejected the job (T2, D5, E7). */
void results_rejected(struct buf *, const struct caller *, struct session *,
                     const struct job *, int64_t now);
/* Writes the list of all tasks of the session (T7). */
void results_list(struct buf *, const struct caller *, struct session *,
                  const struct call_request *, int64_t now);
/* Writes that no task has the id or the pid that was given. */
void results_no_task(struct buf *, const struct caller *, struct session *,
                     const struct call_request *, int64_t now);
/* Writes that nothing was typed. error: errno of exec_type(). */
void results_not_typed(struct buf *, const struct caller *, struct session *,
                       const struct job *, int error);
/* Writes the end of a command, the start of a task, or the state of a task. */
void results_job(struct buf *, const struct caller *, struct session *,
                 struct job *, const struct call_request *, int64_t now);
/* Writes the outcome of an edit (X4). */
void results_edit(struct buf *, const struct caller *, struct session *,
                  struct job *, const struct call_request *, int64_t now);

#endif
