#ifndef MCP_REVISIONS_H
#define MCP_REVISIONS_H

/* The revisions of MCP (P1). A new revision is one row in revisions.c, unless
 * it has other methods or members: those are in mcp.c, rpc.c and tools.c. */

#include <stdbool.h>
#include "base/buf.h"
#include "json.h"

/* A revision of MCP */
struct revision {
	const char *name;
	bool stateless;        /* without a handshake: every request names its
	                        * revision */
};

/* Each of these two returns the revision of that name, or NULL if there is none
 * of that era. */
const struct revision *revision_find(const char *name, bool stateless);
const struct revision *revision_find_json(struct json name, bool stateless);

/* Returns the newest revision that has a handshake. */
const struct revision *revision_newest_with_handshake(void);

/* Appends the names of the stateless revisions as a JSON array. */
void revisions_put_stateless(struct buf *);

#endif
