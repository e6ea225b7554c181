#ifndef CALLS_H
#define CALLS_H

/* The answers to a client's requests, at once or later. A request that is
 * answered later is a call: it can be cancelled (P8) and gets progress (O7). */

#include <stdbool.h>
#include <stdint.h>
#include "io.h"
#include "json.h"
#include "session.h"
#include "tools.h"

#define BORIS_VERSION "0.2.0"
#define MCP_SERVER_INFO \
	"{\"name\":\"boris\",\"version\":\"" BORIS_VERSION "\"}"

/* JSON-RPC 2.0, section 5.1; the last one: MCP 2026-07-28, versioning */
enum {
	JSONRPC_PARSE_ERROR = -32700,
	JSONRPC_INVALID_REQUEST = -32600,
	JSONRPC_NO_METHOD = -32601,
	JSONRPC_INVALID_PARAMS = -32602,
	JSONRPC_INTERNAL = -32603,
	MCP_UNSUPPORTED_VERSION = -32022
};

enum mcp_kind {
	MCP_RESPONSE,
	MCP_REFUSAL,           /* an error before the method was reached */
	MCP_NOTICE,            /* a notification about an open request */
	MCP_PROGRESS           /* one that may be dropped, alone of these */
};

/* The transport's way out. `to` is the return address that came with the
 * request; over HTTP NULL, once that has been forgotten. error: the JSON-RPC
 * code, 0 for a result. The caller frees the message; the transport may append
 * to it, or take it over. False: it was not taken, since there is no memory, or
 * it is progress and the reader is slow. */
typedef bool mcp_send(void *transport, void *to, enum mcp_kind, int error,
                      struct buf *message);

/* What has become of a message */
enum mcp_outcome {
	MCP_WANTS_NONE,        /* it is to have no answer */
	MCP_ANSWERED,
	MCP_LATER,             /* its answer is to come */
	MCP_NO_MEMORY          /* not even for the error that says so */
};

enum { CALLS_RESERVE = 2 << 10 };  /* bytes put aside for an error (E7) */

/* The open calls of a client; mcp_open() sets the fields before `now`, and
 * `reserve`. */
struct calls {
	const struct tools_options *tools;
	struct session *session;
	mcp_send *send;
	void *transport;
	bool null_id;          /* an error that answers no request has "id":null
	                        * (JSON-RPC 2.0, section 5), else no id */
	int64_t now;           /* ms, of this turn */
	enum mcp_outcome outcome;  /* so far, of the message being handled */
	struct call *first;    /* the newest */
	int open, looks, listens;  /* calls; looks and subscriptions of them */
	size_t batched;        /* bytes of answers that wait for others (P10) */
	size_t held;           /* bytes of open ids and tokens (P10) */
	struct buf reserve;    /* memory put aside for the error that there is
	                        * no memory (E7) */
};

/* What it takes to answer a request */
struct calls_request {
	struct calls *calls;
	void *to;              /* the transport's address */
	struct calls_batch *batch;  /* the array that it came in, or NULL */
	bool stateless;        /* its revision has no handshake: results name
	                        * their type and the server */
	bool data;             /* results hold the data too (B6) */
	struct json id;        /* JSON_NONE: it could not be read */
};

/* Appends an error; or answers with one. `data` is JSON text, or NULL. */
void calls_put_error(struct buf *, const struct calls *, struct json id,
                     int code, const char *message, const struct buf *data);
void calls_error(const struct calls_request *, int code, const char *message,
                 const struct buf *data);

/* Answers with a result of these members, JSON text, which it frees. */
void calls_result(const struct calls_request *, struct buf *members);

/* The requests between these two are of one array, and are answered by one
 * array, once all answers are there. False: no memory. */
bool calls_batch_begin(struct calls_request *);
void calls_batch_end(struct calls_request *);

/* Each opens a call, unless it can answer now. `token`: for progress, if it is
 * a string or an integer. The first takes over what is asked for. */
void calls_tool(const struct calls_request *, struct json token,
                struct tools_call *);
void calls_listen(const struct calls_request *);

void calls_cancel(struct calls *, struct json id);  /* P8: of that request */
void calls_forget(struct calls *, void *to, bool cancel);  /* mcp_forget() */
bool calls_await(const struct calls *, const void *to);  /* mcp_awaits() */

void calls_poll_add(struct calls *, struct loop *);
void calls_dispatch(struct calls *);  /* after the session's turn */
void calls_close(struct calls *);     /* nobody listens any more */
void calls_free(struct calls *);

#endif
