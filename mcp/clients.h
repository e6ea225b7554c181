#ifndef MCP_CLIENTS_H
#define MCP_CLIENTS_H

/* What boris knows of the programs that call it: the table of known clients
 * (K1), and the caller of a request. A new client is one row in clients.c. */

#include <stdbool.h>
#include <stdint.h>
#include "base/options.h"
#include "json.h"
#include "mcp/revisions.h"

/* A client that boris knows by name */
struct known_client {
	const char *name;      /* clientInfo.name */
	const char *extra_argument;      /* argument that it adds to calls; or NULL */
	int bytes;             /* text of a result that it passes on complete,
	                        * less a margin (K3); 0: any length */
	int lines;             /* the same in lines; 0: any number */
	int call_limit;        /* ms after which boris answers a call or hands
	                        * its command over: the client's own limit less
	                        * a margin (K2); 0: no limit */
	bool takes_late_answer;  /* the client accepts an answer after its own
	                          * limit */
	bool shows_data;       /* to the model, with or instead of text (B6) */
};

/* Whom an answer is for. A zeroed `revision` means: before the handshake. */
struct caller {
	const struct revision *revision;
	const struct known_client *client;  /* never NULL */
	bool shared;           /* one of many, without a session (H6) */
	bool data;             /* results contain the data, too (B6) */
	int64_t bytes;         /* of a result's text, at most (K3); 0: any */
	int64_t lines;         /* of a result's text, at most (K3); 0: any */
	int64_t call_limit;    /* ms that a call may be open (K2); 0: any */
};

/* Returns what is known of the client with this clientInfo, which may be
 * JSON_NONE, with the limits that the options set. */
struct caller caller_find(const struct options *, const struct revision *,
                          struct json info, bool shared);

/* Returns whether the caller uses a revision without a handshake. */
bool caller_is_stateless(const struct caller *);

#endif
