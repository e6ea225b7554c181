/* SPDX-License-Identifier: ISC */
#ifndef MCP_MCP_H
#define MCP_MCP_H

/* The methods of all revisions of MCP. A client is one peer with one session,
 * over any transport. The transport passes each message to mcp_handle(), and
 * gives the client a turn with mcp_poll_add() and mcp_dispatch(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "mcp/calls.h"
#include "base/io.h"
#include "base/options.h"
#include "mcp/rpc.h"

/* The kind of peer that a client is. Over HTTP, an error that belongs to no
 * request has no id. Over stdio it has the id null (MCP 2025-11-25,
 * transports). */
enum mcp_peer {
	MCP_STDIO,       /* the peer on stdin and stdout */
	MCP_HTTP,        /* a peer with an HTTP session (H5) */
	MCP_HTTP_SHARED  /* all peers without an HTTP session: they share no
	                  * directory, and their calls run in parallel (H6) */
};

/* Opens a client. Messages to it are sent by the function `send`, whose first
 * argument is `transport`. Returns NULL if no random number is available for
 * the name of the client's session. */
struct client *mcp_open(const struct options *, enum mcp_peer, rpc_send *,
                        void *transport);
void mcp_free(struct client *);  /* NULL is ignored */

/* Handles a message, and sends its response to the return address `to`, now or
 * later. `now` is the time in ms. Returns what has become of the message. */
enum rpc_outcome mcp_handle(struct client *, void *to,
                            const struct rpc_message *, int64_t now);

/* Appends an error that the transport sends itself. `id` is that of the message
 * to which the error responds, or JSON_NONE. */
void mcp_error(const struct client *, struct buf *, struct json id, int code,
               const char *text);

/* Both functions take queue_space, the number of bytes of responses that the
 * transport can queue. A response for which there is no space is sent in a
 * later turn (P10). */
void mcp_poll_add(struct client *, size_t queue_space, struct loop *);
void mcp_dispatch(struct client *, size_t queue_space, const struct loop *);

/* Returns how many bytes the open calls occupy. If they occupy more than
 * MCP_BACKLOG, which a single message cannot reach, the transport accepts no
 * more calls (P10). */
enum { MCP_BACKLOG = 24 << 20 };
size_t mcp_backlog(const struct client *);

/* Terminates all commands (L1). May be called once. The client needs further
 * turns until mcp_closed() returns true. */
void mcp_close(struct client *, int64_t now);
bool mcp_closed(const struct client *);

#endif
