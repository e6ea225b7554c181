#ifndef MCP_H
#define MCP_H

/* MCP messages, in all five revisions: envelope, methods, both eras, unanswered
 * calls, progress, cancelling. A client is one peer with one session, over
 * whichever transport. Bytes in, bytes out; makes no system call. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "calls.h"
#include "io.h"
#include "json.h"
#include "session.h"
#include "tools.h"

/* Filled in by main, changed by nobody. */
struct mcp_options {
	struct session_options session;
	struct tools_options tools;
};

/* Who a client is. Over HTTP an error that answers no request has no id, rather
 * than null (MCP 2025-11-25, transports). */
enum mcp_peer {
	MCP_STDIO,             /* one peer for good, of either era */
	MCP_HTTP,              /* one with a session of the transport's (H5) */
	MCP_HTTP_STATELESS     /* all those without: they share no directory,
	                        * and their calls run side by side (H6) */
};

struct client;

/* NULL: no memory. */
struct client *mcp_open(const struct mcp_options *, enum mcp_peer, mcp_send *,
                        void *transport);
void mcp_free(struct client *);  /* NULL is fine */

/* A message, taken apart once: slices of its text, which outlives it. What it
 * does not have is JSON_NONE. */
struct mcp_message {
	struct json whole;     /* none: the text is not JSON */
	struct json jsonrpc, id, method, params, result, error;
	struct json meta, name, arguments;  /* of params */
	struct json version;   /* the revision that _meta names: it is of the
	                        * stateless era then */
};

void mcp_parse(struct mcp_message *, const char *text, size_t len);

bool mcp_is_request(const struct mcp_message *);  /* a method and an id */

/* True: an answer to it is still to come. `to` is its return address. */
bool mcp_handle(struct client *, void *to, const struct mcp_message *,
                int64_t now);

/* Answers a message that was not read: it is over the limit (P5), or there was
 * no memory for it (E7). */
void mcp_unread(struct client *, void *to, bool too_long);

/* Writes an error that is the transport's to find, in answer to a message that
 * it does not hand on. */
void mcp_error(const struct client *, struct buf *,
               const struct mcp_message *, int code, const char *text);

void mcp_poll_add(struct client *, struct loop *);
void mcp_dispatch(struct client *, const struct loop *);

/* `to` is no longer there. Its calls are cancelled (E6), or carried out and
 * answered to nobody. */
void mcp_forget(struct client *, void *to, bool cancel, int64_t now);

size_t mcp_backlog(const struct client *);    /* bytes of commands queued */
bool mcp_unanswered(const struct client *);   /* calls, but for listens */
bool mcp_awaits(const struct client *, const void *to);  /* is an answer to
                                                          * come there */

/* L1; again or at_once: kill. Afterwards, until mcp_closed(): go on. */
void mcp_close(struct client *, int64_t now, bool at_once);
bool mcp_closed(const struct client *);

/* For the HTTP transport: the handshake's version, NULL before; and whether
 * a name is that of a revision, with handshake or stateless. */
const char *mcp_version(const struct client *);
bool mcp_speaks(const char *name, size_t len, bool stateless);

#endif
