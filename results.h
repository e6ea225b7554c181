#ifndef RESULTS_H
#define RESULTS_H

/* The result of a call, as text for the model and as data (B). Each function
 * appends the members of one to a buffer: "content":..., "structuredContent":
 * ..., "isError":... Bytes in, bytes out. */

#include <stdbool.h>
#include <stdint.h>
#include "buf.h"
#include "json.h"
#include "reader.h"
#include "session.h"
#include "tools.h"

/* An error of this text, which is freed; session: whose ended tasks it
 * tells of, too (T8), or NULL */
void results_refusal(struct buf *, struct session *, struct buf *text);
/* The text of such a result, for the log; JSON_NONE: there was no memory */
struct json results_error(const struct buf *);
/* Nothing was done, since its record could not be written (A2): errno */
void results_unlogged(struct buf *, int error);

/* The end of a command, or the start of a task; or how a task stands, as the
 * call asks. now: ms. */
void results_job(struct buf *, const struct reader *, struct session *,
                 struct job *, const struct tools_call *, int64_t now);

/* What has come of an edit (X4) */
void results_edit(struct buf *, const struct reader *, struct session *,
                  const struct edit *);

/* All tasks of a session (T7); where ids are secrets, an error (H6) */
void results_list(struct buf *, const struct reader *, struct session *,
                  int64_t now);

/* The task that is asked for is not there. */
void results_no_task(struct buf *, struct session *,
                     const struct tools_call *, int64_t now);

/* Nothing was typed; error: the errno of job_type(). */
void results_not_typed(struct buf *, const struct job *, int error);

/* What the session says when it refuses: the 11th task (T2), a lost directory
 * (D5), what the system is short of (E7) */
void results_refused(struct buf *, struct session *, const struct job *,
                     int64_t now);

#endif
