/* SPDX-License-Identifier: ISC */
#ifndef MCP_MCP_H
#define MCP_MCP_H

/* Handles MCP messages of all protocol revisions, over any transport. The
 * transport creates a client for each session with mcp_open(). It passes each
 * received message to mcp_handle(), and calls mcp_poll_add() and mcp_dispatch()
 * in each iteration of the event loop. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "mcp/calls.h"
#include "base/io.h"
#include "base/options.h"
#include "mcp/rpc.h"

/* The kind of peer that a struct client represents. This kind determines the
 * error response to a request whose id boris cannot read. Over stdio, the
 * response contains the member "id":null. Over HTTP, the response has no id
 * (MCP 2025-11-25, transports). */
enum mcp_peer {
	MCP_STDIO,       /* the peer on stdin and stdout */
	MCP_HTTP,        /* an HTTP peer that has a session (H5) */
	MCP_HTTP_SHARED  /* all HTTP peers without a session; their calls run in
	                  * parallel and share no current directory (H6) */
};

/* Creates a client. `send` is called with `transport` as its first argument to
 * send messages to the client. Returns NULL if no random number is available
 * for the session's name. */
struct client *mcp_open(const struct options *, enum mcp_peer, rpc_send *,
                        void *transport);
void mcp_free(struct client *);  /* NULL is ignored */

/* Handles a message that was received at the time `now`, in ms. If the message
 * needs a response, sends the response to the address `to`, now or in a later
 * iteration of the event loop. Returns RPC_ANSWERED if the response has been
 * sent, RPC_LATER if it will be sent later, and RPC_NO_ANSWER otherwise. */
enum rpc_outcome mcp_handle(struct client *, void *to,
                            const struct rpc_message *, int64_t now);

/* Appends an error response to the buffer, which the transport then sends. `id`
 * is the failed request's id, or JSON_NONE. `code` is the JSON-RPC error code,
 * and `text` is the error message. */
void mcp_error(const struct client *, struct buf *, struct json id, int code,
               const char *text);

/* mcp_poll_add() adds the client's descriptors and deadlines to the poll set.
 * After poll(), mcp_dispatch() reads the commands' output, carries out the
 * actions that are due, and sends responses. `queue_space` is the space left in
 * the transport's queue, in bytes. When that space is used up, results are sent
 * in a later iteration of the event loop (P10). */
void mcp_poll_add(struct client *, size_t queue_space, struct loop *);
void mcp_dispatch(struct client *, size_t queue_space, const struct loop *);

/* Returns the memory that open calls use, in bytes. While they use more than
 * MCP_BACKLOG bytes, the transport accepts no more calls (P10). A single call
 * never uses that much memory. */
enum { MCP_BACKLOG = 24 << 20 };
size_t mcp_backlog(const struct client *);

/* Terminates all commands (L1). Must be called at most once. Afterwards, the
 * event loop must keep serving the client until mcp_closed() returns true.
 * `now` is the current time, in ms. */
void mcp_close(struct client *, int64_t now);
bool mcp_closed(const struct client *);

#endif
