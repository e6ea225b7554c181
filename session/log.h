/* SPDX-License-Identifier: ISC */
#ifndef SESSION_LOG_H
#define SESSION_LOG_H

/* The log of boris's actions, for the server's operator (A). Each record is a
 * JSON object on one line. Without --log, the functions of this module do
 * nothing and succeed. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"

struct log;  /* the open file */

/* Opens the log, creating it with mode 0600 if necessary (A3). If *log is
 * already open, switches it to the given file (H9). /dev/stderr means
 * descriptor 2, which is not reopened. Returns NULL on success. On failure,
 * returns the reason and leaves *log unchanged. */
const char *log_open(struct log **, const char *file);

/* Each function below that returns an int must be called before the action that
 * it records. It returns 0, or -1 with errno set. On failure, the caller must
 * not carry out the action (A2). */

/* Records the start of a command or an edit in the log. The caller must have
 * set job->log_number. `event` is "start" or "edit". `path` is the command's
 * directory or the edited file. */
int log_start(const struct job *, const char *event, const char *path);

/* Records in the log that boris is about to type text from a client into a
 * terminal. If `secret` is true, the record omits the text. */
int log_input(const struct job *, const struct buf *text, bool secret);

/* Records in the log that boris is about to type a secret into a terminal. The
 * user entered the secret with `boris --secret` (I5). The record omits the
 * secret. */
int log_user_input(const struct job *);

/* Records in the log that boris cannot terminate a job's command (E12). */
void log_survivor(const struct job *);

/* Records in the log that a job has ended, could not be started, or is left
 * running. `error` is the reason for a failure, or NULL. `path` is the edited
 * file, with symbolic links resolved, or NULL. `now` is the time from
 * clock_now(), in ms. */
void log_end(const struct job *, const char *status, const char *error,
             const char *path, int64_t now);

#endif
