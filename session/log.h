#ifndef SESSION_LOG_H
#define SESSION_LOG_H

/* The log (A): what was done, for who runs boris, a JSON object a line. Without
 * --log there is none: then all of this does nothing, and succeeds. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"

struct log;  /* the file */

/* Opens it, or makes it with mode 0600 (A3); anew, if it is open (H9).
 * /dev/stderr is descriptor 2 as it is. NULL; or why not: all is as before. */
const char *log_open(struct log **, const char *file);

/* The first two are called before what they tell of is done: 0; or -1 with
 * errno, and it must not be done (A2). */

/* A command is about to be started in that directory, or an edit to be made of
 * that file; job->call is its number. */
int log_start(const struct job *, const char *event, const char *what);
/* This is about to be typed into its terminal; NULL: by a person. unseen: the
 * terminal does not show it, so neither does the log. */
int log_input(const struct job *, const struct buf *text, bool unseen);
/* It was to be ended, but survives (E12). */
void log_survivor(const struct job *);
/* It has ended, with this outcome, or could not be started, or is left running;
 * error: what went wrong, or NULL. path: where an edit's links led, or NULL. */
void log_end(const struct job *, const char *status, const char *error,
             const char *path, int64_t now);

#endif
