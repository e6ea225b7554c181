#ifndef LINES_H
#define LINES_H

/* MCP over stdio: lines in, a queue of lines out (P5, P9, P10). Neither end
 * is ever waited for. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "loop.h"
#include "mcp.h"

struct lines {
	struct client *client;    /* the one peer */
	int in_place, out_place;
	int in_flags, out_flags;  /* to be put back; -1: not changed */
	bool in_ended;            /* end of file */
	bool out_gone;            /* its reader has hung up */
	bool out_last;            /* nothing more enters the queue (E7) */
	bool skipping;            /* inside a line that is too long (P5) */
	bool begun;               /* past the place of a byte order mark */
	struct buf in;            /* read and not yet handled */
	size_t taken;             /* of it: handled all the same */
	size_t looked;            /* of it: no newline behind `taken` */
	int64_t keep_until;       /* ms; how long a big one stays when empty */
	struct buf out;
	size_t written;           /* of it */
	size_t progress;          /* bytes at its front that are progress */
	int64_t now;              /* ms, of this turn */
	int64_t lag_until;        /* ms, how long its reader is given time; 0:
	                           * it does not lag behind */
};

int lines_open(struct lines *, const struct mcp_options *);  /* 0, or -1
                                                              * without memory */
void lines_free(struct lines *);

void lines_want(struct lines *, struct loop *);
void lines_ready(struct lines *, const struct loop *);
void lines_flush(struct lines *);  /* writes what goes without waiting */

/* Is everything that was sent us read, handled and answered into the queue? */
bool lines_done(const struct lines *);

#endif
