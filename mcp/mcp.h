#ifndef MCP_MCP_H
#define MCP_MCP_H

/* MCP's methods in all revisions. A client is one peer with one session, over
 * any transport. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "mcp/calls.h"
#include "base/io.h"
#include "base/options.h"
#include "mcp/rpc.h"

/* Over HTTP an error that answers no request has no id, rather than null
 * (MCP 2025-11-25, transports). */
enum mcp_peer {
	MCP_STDIO,             /* one peer for good, of either era */
	MCP_HTTP,              /* one with a session of the transport's (H5) */
	MCP_HTTP_SHARED        /* all those without: they share no directory,
	                        * and their calls run side by side (H6) */
};

/* NULL: its session has no name for want of a random number. */
struct client *mcp_open(const struct options *, enum mcp_peer, rpc_send *,
                        void *transport);
void mcp_free(struct client *);  /* NULL is fine */
/* `to` is its return address: there the answer goes. */
enum rpc_outcome mcp_handle(struct client *, void *to,
                            const struct rpc_message *, int64_t now);
/* Appends an error, for the transport to answer a message of that id with. */
void mcp_error(const struct client *, struct buf *, struct json id, int code,
               const char *text);

/* room: how many bytes of answers the transport can take. What is answered late
 * is answered when there is room (P10). */
void mcp_poll_add(struct client *, size_t room, struct loop *);
void mcp_dispatch(struct client *, size_t room, const struct loop *);

/* The bytes that open calls hold. Above MCP_BACKLOG, which is more than one
 * message can hold, the transport takes no more calls (P10). */
enum { MCP_BACKLOG = 24 << 20 };
size_t mcp_backlog(const struct client *);

/* L1: terminates all commands; once. Turns go on until mcp_closed(). */
void mcp_close(struct client *, int64_t now);
bool mcp_closed(const struct client *);

#endif
