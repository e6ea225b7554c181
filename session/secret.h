/* SPDX-License-Identifier: ISC */
#ifndef SESSION_SECRET_H
#define SESSION_SECRET_H

/* Lets a person type a secret that a terminal asks for, so that it does not
 * pass through the conversation with the model (I5).
 *
 * While a terminal asks for a secret, boris keeps a FIFO,
 * DIR/boris-SESSION-ID.secret, and a file with the last line of the terminal,
 * DIR/boris-SESSION-ID.prompt. The command `boris --secret`, another process of
 * the same user, writes a line to the FIFO. boris types this line into the
 * terminal, changes the mode of the FIFO to 0400 as a confirmation, and closes
 * its end. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "session/job.h"

/* Adds the job's FIFO to the poll set, if there is one. Only a running task
 * with a terminal can have one. */
void secret_poll_add(struct job *, struct loop *);

/* Reads a line from the job's FIFO if one is available. Types the line into the
 * terminal if the terminal still asks for a secret. The line is not logged. */
void secret_dispatch(struct job *, const struct loop *);

/* Creates a FIFO for the secret if the job's terminal asks for one; otherwise
 * removes the FIFO. Returns whether the FIFO exists. */
bool secret_offer(struct job *);

/* Returns the id of the job's FIFO. The last call of secret_offer() must have
 * returned true. */
const char *secret_id(const struct job *);

/* Removes the job's FIFO, if there is one. If `typed` is true, first confirms
 * to the program that wrote to the FIFO that the secret was typed into the
 * terminal. */
void secret_close(struct job *, bool typed);

/* Removes the FIFO and frees the struct secret. Must be called before
 * job_free(). */
void secret_free(struct job *);

/* Runs `boris --secret`: reads a secret from stdin and sends it to a FIFO.
 * `dir` is the absolute path of the directory that contains the FIFOs. `id` is
 * the FIFO's id, or empty if there is only one FIFO. Returns the exit status: 0
 * if the secret was typed; otherwise 1, with a message on stderr. */
int secret_ask(const char *dir, const char *id);

#endif
