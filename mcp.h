#ifndef MCP_H
#define MCP_H

/* MCP messages (mcp.md): envelope, methods, both eras, unanswered calls,
 * progress, cancelling. A client is one peer with one session, over whichever
 * transport. Bytes in, bytes out; makes no system call. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "loop.h"
#include "session.h"
#include "tools.h"

#define BORIS_VERSION "0.1.0"

/* Filled in by main, changed by nobody. */
struct mcp_options {
	struct session_options session;
	struct tools_options tools;
};

enum mcp_kind {
	MCP_RESPONSE,          /* never dropped */
	MCP_REFUSAL,           /* so is this: no method was reached */
	MCP_NOTICE,            /* belongs to an open request: say it or fail */
	MCP_PROGRESS           /* may be refused when the reader is slow */
};

/* The transport's way out. `to` is the return address that came with the
 * request; error is the JSON-RPC code, 0 for a result. The bytes are the
 * caller's. False: it was refused (progress only). */
typedef bool mcp_send(void *transport, void *to, enum mcp_kind, int error,
                      const struct buf *message);

struct revision;
struct call;

struct client {
	const struct mcp_options *options;
	struct session session;
	mcp_send *send;
	void *transport;
	bool id_left_out;      /* no "id":null in errors (HTTP, mcp.md 10) */
	const struct revision *revision;  /* the handshake's; NULL before */
	struct call *calls;    /* commands not yet answered */
	struct call *waits;    /* for a task to end */
	struct call *listens;  /* subscriptions/listen, held open */
	int listening;
	struct buf list;       /* of the tools, once it has been asked for */
	struct buf spare;      /* empty: memory for the next answer */
	int64_t now;           /* ms, of this turn */
};

int mcp_open(struct client *, const struct mcp_options *, bool stateless,
             mcp_send *, void *transport);  /* 0, or -1 without memory */
void mcp_free(struct client *);

/* One message (or batch), whole. True: an answer to it is still to come. */
bool mcp_message(struct client *, void *to, const char *text, size_t len,
                 int64_t now);
void mcp_too_long(struct client *, void *to);  /* P5: a line over the limit */

void mcp_want(struct client *, struct loop *);
void mcp_ready(struct client *, const struct loop *);

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
