/* SPDX-License-Identifier: ISC */
#ifndef MCP_REVISIONS_H
#define MCP_REVISIONS_H

/* The revisions of MCP (P1). To add a revision, add a row to the table in
 * revisions.c. If the revision has other methods or members, change mcp.c,
 * rpc.c and tools.c as well. */

#include <stdbool.h>
#include "base/buf.h"
#include "json.h"

/* A revision of MCP */
struct revision {
	const char *name;
	bool stateless;  /* the revision has no handshake, so every request
	                  * names its revision */
};

/* Returns the revision with the given name, or NULL if there is none. If
 * `stateless` is set, searches only the stateless revisions; otherwise, only
 * those with a handshake. */
const struct revision *revision_find(const char *name, bool stateless);
/* Returns the revision with the given name, a JSON string, like
 * revision_find(). */
const struct revision *revision_find_json(struct json name, bool stateless);

/* Returns the newest revision that has a handshake. */
const struct revision *revision_newest_with_handshake(void);

/* Appends the names of the stateless revisions as a JSON array. */
void revisions_put_stateless(struct buf *);

#endif
