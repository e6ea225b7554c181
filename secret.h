#ifndef SECRET_H
#define SECRET_H

/* A person's way to a terminal that asks for a secret (I5): while it does boris
 * keeps a FIFO, into which ask.c, another process of the same user, writes a
 * line. Its name is DIR/boris-SESSION-ID.secret, where ID is the start of the
 * task's; DIR/boris-SESSION-ID.prompt has the terminal's last line. When boris
 * closes it, its mode is the answer: SECRET_TAKEN, or what it was. */

#include <stdbool.h>
#include <stdint.h>
#include "buf.h"
#include "io.h"

enum {
	SECRET_ID = 8,         /* digits of an ID */
	SECRET_SESSION = 24,   /* of a session's name */
	SECRET_LINE = 4095,    /* bytes of a secret, its newline too */
	SECRET_TAKEN = 0400
};
#define SECRET_FIFO ".secret"
#define SECRET_PROMPT ".prompt"  /* as long */

struct job;
struct log_session;

/* A part of its job. Zeroed: there is none yet. */
struct secret {
	int fd;          /* of the FIFO; 0: there is none */
	int in_poll;
	int64_t again;   /* ms; when to see whether the terminal asks */
	struct buf path; /* its name, up to the ID */
};

/* Where it is, and what takes the record of it; all is the session's. */
struct secret_place {
	const char *dir, *session;
	const struct log_session *log;
};

/* For each job; only a task with a terminal has one, while it runs. A line
 * that came is typed if the terminal still asks, and its record is written. */
void secret_poll_add(struct job *, struct loop *);
void secret_dispatch(struct job *, const struct secret_place *,
                     const struct loop *);
/* Is there one, if it is made now, where the terminal asks? */
bool secret_offer(struct job *, const struct secret_place *, int64_t now);
void secret_close(struct job *, bool taken);  /* if there is one */

/* Overwrites it, also where nobody reads it any more. */
void secret_wipe(volatile char *, size_t n);

#endif
