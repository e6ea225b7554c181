/* SPDX-License-Identifier: ISC */
#ifndef MCP_CLIENTS_H
#define MCP_CLIENTS_H

/* The known clients (K1), and the caller of a request, with the limits that
 * boris observes for it. To add a client, add a row to the table in
 * clients.c. */

#include <stdbool.h>
#include <stdint.h>
#include "base/options.h"
#include "json.h"
#include "mcp/revisions.h"

/* A client that boris recognises by its name */
struct known_client {
	const char *name;            /* the name in clientInfo.name */
	const char *extra_argument;  /* argument that the client adds to calls;
	                              * or NULL */
	int bytes;                   /* maximum size of a result's text that the
	                              * client passes on uncut, less a margin,
	                              * in bytes; 0 if there is no limit */
	int lines;                   /* maximum number of lines of a result that
	                              * the client passes on uncut, less a
	                              * margin; 0 if there is no limit */
	/* Time after which boris answers a call or hands its command over, in
	 * ms: the client's own limit less a margin; 0 if there is no limit */
	int call_limit;
	bool takes_late_answer;      /* the client accepts an answer after its
	                              * own limit */
	bool shows_data;             /* the client shows structured data to the
	                              * model, with or instead of the text */
};

/* The sender of a request, who gets the response. `revision` is NULL before the
 * handshake. */
struct caller {
	const struct revision *revision;
	const struct known_client *client;  /* row of the table; never NULL */
	bool shared;         /* the caller is one of many clients without a
	                      * session */
	bool data;           /* results also contain structured data */
	int64_t bytes;       /* maximum size of a result's text, in bytes; 0 if
	                      * there is no limit */
	int64_t lines;       /* maximum number of lines of a result's text; 0 if
	                      * there is no limit */
	int64_t call_limit;  /* maximum time for which a call may be open, in
	                      * ms; 0 if there is no limit */
};

/* Returns the caller with the given clientInfo, which may be JSON_NONE. Its
 * limits are those of the known client, unless the options set others. */
struct caller caller_find(const struct options *, const struct revision *,
                          struct json info, bool shared);

/* Returns whether the caller uses a revision of MCP without a handshake. */
bool caller_is_stateless(const struct caller *);

#endif
