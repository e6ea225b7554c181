/* SPDX-License-Identifier: ISC */
#ifndef MCP_MCP_H
#define MCP_MCP_H

/* The methods of all MCP revisions. A client is one peer with one session over
 * any transport. The transport passes each message to mcp_handle(), and calls
 * mcp_poll_add() and mcp_dispatch() in every turn of the event loop. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "mcp/calls.h"
#include "base/io.h"
#include "base/options.h"
#include "mcp/rpc.h"

/* The kind of a client's connection. If the id of a request cannot be read, its
 * error has the id null over stdio, but no id over HTTP (MCP 2025-11-25,
 * transports). */
enum mcp_peer {
	MCP_STDIO,       /* the peer on stdin and stdout */
	MCP_HTTP,        /* a peer with an HTTP session (H5) */
	MCP_HTTP_SHARED  /* all peers without an HTTP session; their calls run
	                  * in parallel and share no current directory (H6) */
};

/* Opens a client. `send` sends messages to the client; its first argument is
 * `transport`. Returns NULL if no random number is available for the session
 * name. */
struct client *mcp_open(const struct options *, enum mcp_peer, rpc_send *,
                        void *transport);
void mcp_free(struct client *);  /* NULL is ignored */

/* Handles a message. Its response, if it needs one, is sent to the address
 * `to`, now or later. `now` is in ms. Returns the state of the response. */
enum rpc_outcome mcp_handle(struct client *, void *to,
                            const struct rpc_message *, int64_t now);

/* Appends an error response that the transport sends itself. `id` is the id of
 * the failed request, or JSON_NONE. */
void mcp_error(const struct client *, struct buf *, struct json id, int code,
               const char *text);

/* `queue_space` is the number of response bytes that the transport can still
 * queue. Larger responses are sent in a later turn (P10). */
void mcp_poll_add(struct client *, size_t queue_space, struct loop *);
void mcp_dispatch(struct client *, size_t queue_space, const struct loop *);

/* Returns the memory that open calls use, in bytes. While they use more than
 * MCP_BACKLOG, the transport accepts no more calls (P10). A single message
 * cannot reach this limit. */
enum { MCP_BACKLOG = 24 << 20 };
size_t mcp_backlog(const struct client *);

/* Terminates all commands (L1). Must be called at most once. Then the event
 * loop must keep serving the client until mcp_closed() returns true. */
void mcp_close(struct client *, int64_t now);
bool mcp_closed(const struct client *);

#endif
