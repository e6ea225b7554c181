#ifndef SESSION_SECRET_H
#define SESSION_SECRET_H

/* How a person types a secret that a terminal asks for (I5). While a terminal
 * asks, boris keeps a FIFO, DIR/boris-SESSION-ID.secret, and a file with the
 * terminal's last line, DIR/boris-SESSION-ID.prompt. `boris --secret`, another
 * process of the same user, writes a line to the FIFO. boris types the line
 * into the terminal, sets the FIFO's mode to 0400 as the answer to that
 * process, and closes its end. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "session/job.h"

/* Adds the job's FIFO to the poll set, if it has one. Only a running task with
 * a terminal can have one. */
void secret_poll_add(struct job *, struct loop *);

/* Reads a line from the FIFO if it is ready, and types it if the terminal still
 * asks. The log does not have the line. */
void secret_dispatch(struct job *, const struct loop *);

/* Creates the FIFO if the terminal asks, else removes it. Returns whether it
 * exists. */
bool secret_offer(struct job *);

/* Returns the id of the job's FIFO, after secret_offer() has returned true. */
const char *secret_id(const struct job *);

/* Removes the FIFO, if there is one. taken: its line was typed. */
void secret_close(struct job *, bool typed);

/* Removes the FIFO and frees the memory; before job_free(). */
void secret_free(struct job *);

/* Runs the command `boris --secret`: reads a secret from stdin and sends it.
 * dir: the directory of the FIFOs, absolute; id: that of the FIFO, or empty if
 * there is only one. Returns an exit status: 0 if the secret was typed, else 1,
 * with the reason on stderr. */
int secret_ask(const char *dir, const char *id);

#endif
