/* SPDX-License-Identifier: ISC */
#ifndef SESSION_SECRET_H
#define SESSION_SECRET_H

/* Lets the user type a secret that a terminal is asking for, so that it does
 * not pass through the conversation with the model (I5).
 *
 * While a terminal is asking for a secret, boris keeps a FIFO,
 * DIR/boris-SESSION-ID.secret, and a file with the terminal's last line,
 * DIR/boris-SESSION-ID.prompt. The command `boris --secret`, another process of
 * the same user, writes a line to the FIFO. boris types this line into the
 * terminal, changes the mode of the FIFO to 0400 as a confirmation, and closes
 * its end. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "session/job.h"

/* Adds the job's FIFO, if any, to the poll set. Only a running task with a
 * terminal can have a FIFO. */
void secret_poll_add(struct job *, struct loop *);

/* Reads a line from the job's FIFO if one is available, and types it into the
 * terminal if the terminal is still asking for a secret. The line is not
 * logged. */
void secret_dispatch(struct job *, const struct loop *);

/* Creates a FIFO for the secret if the job's terminal is asking for one;
 * otherwise removes the FIFO. Returns whether the FIFO exists. */
bool secret_offer(struct job *);

/* Returns the id of the job's FIFO. The last call to secret_offer() must have
 * returned true. */
const char *secret_id(const struct job *);

/* Removes the job's FIFO, if any. `typed` is true if the secret was typed into
 * the terminal. In that case, first confirms success to the program that wrote
 * the secret to the FIFO. */
void secret_close(struct job *, bool typed);

/* Removes the FIFO and frees the struct secret. Must be called before
 * job_free(). */
void secret_free(struct job *);

/* Runs `boris --secret`: reads a secret from stdin and sends it to a FIFO.
 * `dir` is the absolute path of the directory that contains the FIFOs. `id` is
 * the FIFO's id, or empty if there is only one FIFO. Returns the exit status: 0
 * if the secret was typed into the terminal; otherwise 1, with a message on
 * stderr. */
int secret_ask(const char *dir, const char *id);

#endif
