#ifndef CALLS_H
#define CALLS_H

/* A client's calls: the requests whose answer comes later, what is heard of
 * them meanwhile, and how any request is answered (P8, O7, W). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "io.h"
#include "json.h"
#include "session.h"
#include "tools.h"

#define BORIS_VERSION "0.1.0"
#define MCP_SERVER_INFO \
	"{\"name\":\"boris\",\"version\":\"" BORIS_VERSION "\"}"

/* JSON-RPC 2.0, section 5.1; MCP 2026-07-28, basic */
enum {
	JSONRPC_PARSE_ERROR = -32700,
	JSONRPC_INVALID_REQUEST = -32600,
	JSONRPC_NO_METHOD = -32601,
	JSONRPC_INVALID_PARAMS = -32602,
	JSONRPC_INTERNAL = -32603,
	MCP_UNSUPPORTED_VERSION = -32022
};

enum mcp_kind {
	MCP_RESPONSE,          /* never dropped */
	MCP_REFUSAL,           /* so is this: no method was reached */
	MCP_NOTICE,            /* belongs to an open request: say it or fail */
	MCP_PROGRESS           /* may be refused when the reader is slow */
};

/* The transport's way out. `to` is the return address that came with the
 * request; error is the JSON-RPC code, 0 for a result. The message is the
 * caller's to free, and may have more put behind it. False: it was refused
 * (progress only). */
typedef bool mcp_send(void *transport, void *to, enum mcp_kind, int error,
                      struct buf *message);

struct call;

/* Its fields but for the last two are set by mcp_open(). */
struct calls {
	const struct tools_options *tools;
	struct session *session;
	mcp_send *send;
	void *transport;
	bool null_id;          /* an error that answers no request has "id":null
	                        * (JSON-RPC 2.0, section 5), else no id */
	int64_t now;           /* ms, of this turn */
	struct call *first;    /* the newest */
	int listening;         /* calls of subscriptions/listen among them */
};

enum mcp_era { ERA_UNKNOWN, ERA_LEGACY, ERA_STATELESS };

struct batch;

/* Where an answer goes, under which id and by whose rules */
struct reply_to {
	struct calls *calls;
	void *to;              /* the transport's */
	struct batch *batch;   /* the array that was asked in; NULL: none */
	enum mcp_era era;
	struct json id;        /* JSON_NONE: it could not be read */
};

/* -- Answers at once -- */

/* An error; `data` is JSON text, or NULL. */
void reply_error(const struct reply_to *, int code, const char *message,
                  const struct buf *data);
void reply_put_error(struct buf *, const struct calls *, struct json id, int code,
               const char *message, const struct buf *data);

/* A result up to its members, each of which the caller puts behind it, with
 * commas between; then reply_send(), which frees it. */
void reply_begin(struct buf *, const struct reply_to *);
void reply_send(const struct reply_to *, struct buf *);

/* The answers to one array are sent as one, when all are there. NULL: no
 * memory. Ends when batch_end() was called and no call of it is open; false:
 * some are. */
struct batch *batch_begin(void *to);
bool batch_end(struct calls *, struct batch *);

/* -- Answers later -- */

/* Each opens a call, with the progress token if that is one, and takes over
 * what is asked. False: it has been answered already. */
bool calls_run(const struct reply_to *, struct json token, struct tools_call *);
bool calls_look(const struct reply_to *, struct json token,
                struct tools_call *);
bool calls_listen(const struct reply_to *);

void calls_cancel(struct calls *, struct json id);  /* P8: of that request */

/* `to` is no longer there: its calls are cancelled, or carried out and answered
 * to nobody. */
void calls_forget(struct calls *, void *to, bool cancel);

bool calls_unanswered(const struct calls *);  /* any, but for listening */
bool calls_await(const struct calls *, const void *to);  /* any for there */

void calls_poll_add(struct calls *, struct loop *);
void calls_dispatch(struct calls *);  /* the session's turn has been before */
void calls_close(struct calls *);     /* nobody listens any more */
void calls_free(struct calls *);

#endif
