/* SPDX-License-Identifier: ISC */
#ifndef MCP_REVISIONS_H
#define MCP_REVISIONS_H

/* The MCP revisions (P1). To add one, add a row to the table in revisions.c. If
 * its methods or the members of its messages differ, also change mcp.c, rpc.c
 * and tools.c. */

#include <stdbool.h>
#include "base/buf.h"
#include "json.h"

/* A revision of MCP */
struct revision {
	const char *name;
	bool stateless;  /* whether this revision has no handshake, so that
	                  * every request names the revision */
};

/* Returns the MCP revision with the given name, or NULL if it is unknown.
 * Searches the revisions without a handshake if `stateless` is true, and those
 * with a handshake otherwise. */
const struct revision *revision_find(const char *name, bool stateless);
/* Like revision_find(), but takes the name as a JSON string. */
const struct revision *revision_find_json(struct json name, bool stateless);

/* Returns the newest MCP revision that has a handshake. */
const struct revision *revision_newest_with_handshake(void);

/* Appends a JSON array with the names of all MCP revisions that have no
 * handshake. */
void revisions_put_stateless(struct buf *);

#endif
