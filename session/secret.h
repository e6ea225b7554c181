#ifndef SESSION_SECRET_H
#define SESSION_SECRET_H

/* A person's way to a terminal that asks for a secret (I5). While it does,
 * boris keeps a FIFO, DIR/boris-SESSION-ID.secret, into which `boris --secret`,
 * another process of the same user, writes a line; DIR/boris-SESSION-ID.prompt
 * has the terminal's last line. When the line is typed, boris sets the FIFO's
 * mode to 0400, and then closes its end: so the writer knows. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "session/job.h"

/* For each job; only a task with a terminal has a FIFO, while it runs. A line
 * is typed if the terminal still asks; the log says only that it came. */
void secret_poll_add(struct job *, struct loop *);
void secret_dispatch(struct job *, const struct loop *);
/* Makes the FIFO if the terminal asks, else removes it. Returns whether it
 * exists. */
bool secret_offer(struct job *);
/* The id of the job's FIFO; secret_offer() has returned true for the job. */
const char *secret_id(const struct job *);
/* Removes the FIFO, if there is one. taken: its line was typed. */
void secret_close(struct job *, bool taken);
/* Removes the FIFO and frees the memory; before job_free(). */
void secret_free(struct job *);

/* The command `boris --secret`: a person types what a terminal asks. dir: where
 * the FIFOs are, absolute; id: of several, or empty. Returns an exit status: 0,
 * it was taken; or 1, and stderr says why not. */
int secret_ask(const char *dir, const char *id);

#endif
