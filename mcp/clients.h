/* SPDX-License-Identifier: ISC */
#ifndef MCP_CLIENTS_H
#define MCP_CLIENTS_H

/* Known MCP clients and their limits (K1). To add a client, add a row to the
 * table in clients.c. */

#include <stdbool.h>
#include <stdint.h>
#include "base/options.h"
#include "json.h"
#include "mcp/revisions.h"

/* A client that boris recognises by its name */
struct known_client {
	const char *name;            /* the name in clientInfo.name */
	const char *extra_argument;  /* argument that the client adds to each
	                              * call, or NULL */
	int bytes;                   /* size above which the client truncates a
	                              * text, less a margin, in bytes; 0 if it
	                              * truncates no text */
	int lines;                   /* number of lines above which the client
	                              * truncates a text, less a margin; 0 if it
	                              * truncates no text */
	/* The client's timeout for a call, less a margin, in ms; 0 if there is
	 * no timeout. After this time, boris sends the result, and a command
	 * that still runs becomes a task. */
	int call_limit;
	bool takes_late_answer;      /* the client accepts a response after its
	                              * timeout */
	bool shows_data;             /* the client passes structured data to the
	                              * model, with or instead of the text */
};

/* The client that sent a request. `revision` is NULL before the handshake. */
struct caller {
	const struct revision *revision;
	const struct known_client *client;  /* row in the table of known
	                                     * clients; never NULL */
	bool shared;         /* the caller shares one session with other
	                      * clients */
	bool data;           /* results contain structured data in addition to
	                      * text */
	int64_t bytes;       /* maximum size of a result's text, in bytes; 0 if
	                      * there is no limit */
	int64_t lines;       /* maximum number of lines of a result's text; 0 if
	                      * there is no limit */
	int64_t call_limit;  /* maximum time for which a call may be open, in
	                      * ms; 0 if there is no limit */
};

/* Returns the caller with the given clientInfo, which may be JSON_NONE. Options
 * override the limits of the known client. */
struct caller caller_find(const struct options *, const struct revision *,
                          struct json info, bool shared);

/* Returns whether the caller uses a revision of MCP without a handshake. */
bool caller_is_stateless(const struct caller *);

#endif
