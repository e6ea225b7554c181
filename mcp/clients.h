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

/* A client that boris recognises by its name. Each limit in this struct is a
 * little lower than the real limit of the client. */
struct known_client {
	const char *name;            /* the name in clientInfo.name */
	const char *extra_argument;  /* name of an argument that the client adds
	                              * to every call and that boris ignores, or
	                              * NULL */
	int bytes;                   /* maximum size of a result's text that the
	                              * client accepts in full, in bytes; 0 if
	                              * unlimited */
	int lines;                   /* maximum number of lines of a result's
	                              * text that the client accepts in full; 0
	                              * if unlimited */
	/* Maximum time that a call may stay open, in ms; 0 if unlimited. The
	 * client stops waiting for the response a little later. When the time
	 * is up, boris sends the output so far, and a command that is still
	 * running becomes a task. */
	int call_limit;
	bool takes_late_answer;      /* whether the client accepts a response
	                              * after its own timeout has expired */
	bool shows_data;             /* whether the client passes structured
	                              * data to the model, along with or instead
	                              * of the result's text */
};

/* The client that sent a request. `revision` is NULL before the handshake. */
struct caller {
	const struct revision *revision;
	const struct known_client *client;  /* the client's row in
	                                     * known_clients[]; the last row if
	                                     * it is unknown */
	bool shared;         /* whether the caller shares one session with other
	                      * clients */
	bool data;           /* whether results contain structured data as well
	                      * as text */
	int64_t bytes;       /* maximum size of a result's text, in bytes; 0 if
	                      * unlimited */
	int64_t lines;       /* maximum number of lines of a result's text; 0 if
	                      * unlimited */
	int64_t call_limit;  /* maximum time that a call may stay open, in ms; 0
	                      * if unlimited */
};

/* Looks up the client named in `info`, which is the clientInfo object, or
 * JSON_NONE if there is none. Returns a caller with that client's limits. The
 * options --call-limit and --result-limit override these limits, and
 * --structured overrides the default for structured data. */
struct caller caller_find(const struct options *, const struct revision *,
                          struct json info, bool shared);

/* Returns whether the caller uses an MCP revision that has no handshake. */
bool caller_is_stateless(const struct caller *);

#endif
