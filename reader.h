#ifndef READER_H
#define READER_H

/* Whom an answer is for: what its revision of MCP and its client make of it. */

#include <stdbool.h>
#include "clients.h"

/* What a revision differs in; the table is in mcp.c. */
struct revision {
	const char *name;
	bool stateless;    /* no handshake: every request says its version, and
	                    * every result what it is */
	bool batches;      /* arrays of messages */
};

struct reader {
	const struct revision *revision;  /* NULL: before the handshake */
	const struct known_client *client;
	bool data;         /* results hold the data too (B6) */
	int64_t bytes, lines;  /* of a result's text, at most (K3); 0: any */
	int64_t call_limit;    /* ms a call may be held open (K2); 0: any */
};

static inline bool
reader_is_stateless(const struct reader *r)
{
	return r->revision != NULL && r->revision->stateless;
}

#endif
