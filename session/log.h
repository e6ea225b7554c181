#ifndef SESSION_LOG_H
#define SESSION_LOG_H

/* The log (A): a record of what boris did, for the person who runs it; one JSON
 * object in a line for each event. Without --log, the functions do nothing and
 * succeed. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"

struct log;  /* the open file */

/* Opens the file, or creates it with mode 0600 (A3). If *log is open already,
 * replaces its file (H9). /dev/stderr is descriptor 2, which is not opened
 * again. Returns NULL; or the reason of a failure, with *log unchanged. */
const char *log_open(struct log **, const char *file);

/* The functions that return an int are called before what they record is done.
 * They return 0; or -1 with errno set, and then it must not be done (A2). */

/* Records that a command is started, or an edit is made; job->call is its
 * number. place: the directory of the command, or the file of the edit. */
int log_start(const struct job *, const char *event, const char *path);

/* Records that a client types this text into a terminal; without the text if
 * the terminal asks for a secret. */
int log_input(const struct job *, const struct buf *text, bool secret);

/* Records that a person types a secret into a terminal (I5). */
int log_user_input(const struct job *);

/* Records that a command cannot be terminated (E12). */
void log_survivor(const struct job *);

/* Records that a job has ended with this status, could not be started, or is
 * left running. error: what went wrong, or NULL. path: the file of an edit,
 * with symbolic links resolved; or NULL. now: ms, as of clock_now(). */
void log_end(const struct job *, const char *status, const char *error,
             const char *path, int64_t now);

#endif
