/* SPDX-License-Identifier: ISC */
#ifndef MCP_REVISIONS_H
#define MCP_REVISIONS_H

/* The MCP revisions (P1). To add one, add a row to the table in revisions.c. If
 * its methods or members differ, also change mcp.c, rpc.c and tools.c. */

#include <stdbool.h>
#include "base/buf.h"
#include "json.h"

/* A revision of MCP */
struct revision {
	const char *name;
	bool stateless;  /* the revision has no handshake, so every request
	                  * names its revision */
};

/* Returns the revision with the given name, or NULL if it is unknown. If
 * `stateless` is set, searches only the revisions without a handshake;
 * otherwise, only those with one. */
const struct revision *revision_find(const char *name, bool stateless);
/* Returns the revision with the given name, a JSON string, like
 * revision_find(). */
const struct revision *revision_find_json(struct json name, bool stateless);

/* Returns the newest revision that has a handshake. */
const struct revision *revision_newest_with_handshake(void);

/* Appends the names of the revisions without a handshake as a JSON array. */
void revisions_put_stateless(struct buf *);

#endif
