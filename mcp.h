#ifndef MCP_H
#define MCP_H

/* MCP messages, in all five revisions: envelope, methods, both eras. A client
 * is one peer with one session, over any transport. Bytes in, bytes out. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "calls.h"
#include "io.h"
#include "json.h"
#include "session.h"
#include "tools.h"

/* Are results said as data too? (B6) */
enum mcp_structured { MCP_DATA_AUTO, MCP_DATA_ON, MCP_DATA_OFF };

/* Filled in by main, changed by nobody. */
struct mcp_options {
	struct session_options session;
	struct tools_options tools;
	enum mcp_structured structured;
	int64_t call_limit;    /* ms (K2); below 0: the client's, 0: any */
	int64_t result_limit;  /* bytes (K3); below 0: the client's, 0: any */
};

/* Over HTTP an error that answers no request has no id, rather than null
 * (MCP 2025-11-25, transports). */
enum mcp_peer {
	MCP_STDIO,             /* one peer for good, of either era */
	MCP_HTTP,              /* one with a session of the transport's (H5) */
	MCP_HTTP_STATELESS     /* all those without: they share no directory,
	                        * and their calls run side by side (H6) */
};

/* NULL: no memory. */
struct client *mcp_open(const struct mcp_options *, enum mcp_peer, mcp_send *,
                        void *transport);
void mcp_free(struct client *);  /* NULL is fine */

/* A message taken apart: slices of its text, which has to outlive it. What it
 * does not have is JSON_NONE. */
struct mcp_message {
	struct json whole;     /* none: the text is not JSON */
	struct json jsonrpc, id, method, params;
	struct json meta, name, arguments;  /* of params */
	struct json version;   /* of meta: the stateless era's (M3) */
	const char *address;   /* its sender's, set by the transport; or NULL */
};

void mcp_parse(struct mcp_message *, const char *text, size_t len);
bool mcp_is_request(const struct mcp_message *);  /* a method and an id */

/* `to` is its return address: there the answer goes. */
enum mcp_outcome mcp_handle(struct client *, void *to,
                            const struct mcp_message *, int64_t now);

/* Answers what was not read: too much (P5), or for want of memory (E7). */
void mcp_refuse_unread(struct client *, void *to, bool too_long);

/* Appends an error, for the transport to answer that message with. */
void mcp_error(const struct client *, struct buf *,
               const struct mcp_message *, int code, const char *text);

/* How many bytes of answers the transport can take, to be said before each of
 * the next two: what is answered late is answered when there is room (P10). It
 * is SIZE_MAX where nothing is said. */
void mcp_set_room(struct client *, size_t bytes);
void mcp_poll_add(struct client *, struct loop *);
void mcp_dispatch(struct client *, const struct loop *);

/* `to` has gone: its calls are cancelled (E6), or carried out unanswered. */
void mcp_forget(struct client *, void *to, bool cancel, int64_t now);

/* The bytes that open calls hold. Above MCP_BACKLOG, which is more than one
 * message can hold, the transport takes no more calls (P10). */
enum { MCP_BACKLOG = 20 << 20 };
size_t mcp_backlog(const struct client *);
bool mcp_unanswered(const struct client *);   /* is there an open call, apart
                                               * from subscriptions? */
bool mcp_awaits(const struct client *, const void *to);  /* one from there? */

/* L1: terminates all commands; once. Turns go on until mcp_closed(). */
void mcp_close(struct client *, int64_t now);
bool mcp_closed(const struct client *);

/* The revision agreed on in the handshake, NULL before; and whether a name is
 * that of a revision of this era. */
const char *mcp_version(const struct client *);
bool mcp_speaks(const char *name, size_t len, bool stateless);

#endif
