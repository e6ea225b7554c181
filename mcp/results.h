#ifndef MCP_RESULTS_H
#define MCP_RESULTS_H

/* The result of a call, as text and as data (B6), its notes (B7, T8), and
 * errors. Each function appends the members of one to a buffer, and changes
 * nothing but a saved file: what was reported is marked later. now: ms. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"
#include "mcp/rpc.h"
#include "mcp/want.h"
#include "session/session.h"

/* An error with this text, which is freed. Like every result it tells which
 * tasks of the session have ended (T8), and fits its client (K3). */
void results_refusal(struct buf *, const struct caller *, struct session *,
                     struct buf *text);
/* Nothing was done, since its record could not be written (A2): errno */
void results_unlogged(struct buf *, const struct caller *, struct session *,
                      int error);
/* Why the session has refused the job (T2, D5, E7) */
void results_refused(struct buf *, const struct caller *, struct session *,
                     const struct job *, int64_t now);
/* All tasks of a session (T7) */
void results_list(struct buf *, const struct caller *, struct session *,
                  const struct want *, int64_t now);
void results_no_task(struct buf *, const struct caller *, struct session *,
                     const struct want *, int64_t now);
/* Nothing was typed; error: the errno of exec_type(). */
void results_not_typed(struct buf *, const struct caller *, struct session *,
                       const struct job *, int error);
/* The end of a command, or the start of a task; or how a task stands */
void results_job(struct buf *, const struct caller *, struct session *,
                 struct job *, const struct want *, int64_t now);
/* What has come of an edit (X4) */
void results_edit(struct buf *, const struct caller *, struct session *,
                  struct job *, const struct want *, int64_t now);

#endif
