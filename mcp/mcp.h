#ifndef MCP_MCP_H
#define MCP_MCP_H

/* MCP: the methods of all revisions. (revisions.c lists the revisions.) A
 * client is one peer with one session, over any transport. The transport passes
 * each message to mcp_handle() and gives the client a turn with mcp_poll_add()
 * and mcp_dispatch(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "mcp/calls.h"
#include "base/io.h"
#include "base/options.h"
#include "mcp/rpc.h"

/* What a client is to its transport. Over HTTP, an error that belongs to no
 * request has no id; over stdio it has the id null (MCP 2025-11-25,
 * transports). */
enum mcp_peer {
	MCP_STDIO,             /* the only peer, of either era */
	MCP_HTTP,              /* a peer with a session of the transport (H5) */
	MCP_HTTP_SHARED        /* all peers without one: they share no
	                        * directory, and their calls run side by side
	                        * (H6) */
};

/* Opens a client, to which send() sends messages. Returns NULL if no random
 * number is available for its session. */
struct client *mcp_open(const struct options *, enum mcp_peer, rpc_send *,
                        void *transport);
void mcp_free(struct client *);  /* NULL is fine */

/* Handles a message. Its response is sent with the return address `to`, now or
 * later. Returns what has become of the message. */
enum rpc_outcome mcp_handle(struct client *, void *to,
                            const struct rpc_message *, int64_t now);

/* Appends an error that the transport sends itself, in response to a message
 * with that id, which may be JSON_NONE. */
void mcp_error(const struct client *, struct buf *, struct json id, int code,
               const char *text);

/* Both take room, the number of bytes of responses that the transport can
 * queue. Responses that are not sent at once wait until there is room (P10). */
void mcp_poll_add(struct client *, size_t queue_space, struct loop *);
void mcp_dispatch(struct client *, size_t queue_space, const struct loop *);

/* Returns how many bytes the open calls occupy. Above MCP_BACKLOG, which is
 * more than one message can occupy, the transport accepts no more calls
 * (P10). */
enum { MCP_BACKLOG = 24 << 20 };
size_t mcp_backlog(const struct client *);

/* Terminates all commands (L1). It may be called once. The client needs further
 * turns until mcp_closed() returns true. */
void mcp_close(struct client *, int64_t now);
bool mcp_closed(const struct client *);

#endif
