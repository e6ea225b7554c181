/* SPDX-License-Identifier: ISC */
#ifndef SESSION_LOG_H
#define SESSION_LOG_H

/* The log of boris's actions, for the person who runs the server (A). Each
 * record is one line with a JSON object. Without --log, the functions of this
 * module do nothing and succeed. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"

struct log;  /* the open file */

/* Opens the log, and creates it with mode 0600 if necessary (A3). If *log is
 * already open, replaces its file (H9). /dev/stderr means descriptor 2, which
 * is not opened again. Returns NULL on success. On failure, returns the reason
 * and leaves *log unchanged. */
const char *log_open(struct log **, const char *file);

/* Functions that return an int must be called before the action that they
 * record. They return 0, or -1 with errno set. If they fail, the caller must
 * not carry out the action (A2). */

/* Records the start of a command or of an edit. job->log_number is its number.
 * `path` is the directory of the command or the file of the edit. */
int log_start(const struct job *, const char *event, const char *path);

/* Records that a client types the given text into a terminal. If the terminal
 * asks for a secret, the record does not contain the text. */
int log_input(const struct job *, const struct buf *text, bool secret);

/* Records that a person types a secret into a terminal (I5). */
int log_user_input(const struct job *);

/* Records that boris cannot terminate a command (E12). */
void log_survivor(const struct job *);

/* Records that a job has ended, could not be started, or is left running.
 * `error` is the reason for a failure, or NULL. `path` is the file of an edit,
 * with symbolic links resolved, or NULL. `now` is the time of clock_now(), in
 * ms. */
void log_end(const struct job *, const char *status, const char *error,
             const char *path, int64_t now);

#endif
