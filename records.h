#ifndef RECORDS_H
#define RECORDS_H

/* What the log says of commands (A1): each function writes one record. */

#include <stdint.h>
#include "buf.h"
#include "job.h"
#include "json.h"
#include "log.h"

/* These three are called before what they tell of is done (A2): 0; or -1 with
 * errno, and it must not be done. */

/* A job is about to be started in that directory; job->call is its number. */
int record_start(const struct log_session *, const struct job *,
                 const char *dir);
int record_edit(const struct log_session *, const struct job *);
/* This is about to be typed into its terminal, by a client (its members for the
 * log), or NULL: by a person, unseen (I5). The text is left out where the
 * terminal takes a line and does not show it. now: ms. */
int record_input(const struct log_session *, const struct job *,
                 const struct buf *text, const struct buf *client, int64_t now);

/* It has ended, or could not be started, or is left running. */
void record_end(const struct log_session *, const struct job *, int64_t now);
/* A call was answered with that error, about that job or, NULL, about none. */
void record_refused(const struct log_session *, const struct job *,
                    const struct buf *client, struct json error);

#endif
