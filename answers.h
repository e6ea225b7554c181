#ifndef ANSWERS_H
#define ANSWERS_H

/* Answers as JSON-RPC has them: results and errors in their envelope, arrays,
 * and what is left to say without memory (E7). */

#include <stdbool.h>
#include <stddef.h>
#include "json.h"
#include "reader.h"

#define BORIS_VERSION "0.3.0"
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
	MCP_REFUSAL,           /* an error; of a modern request only one
	                        * before its method was reached */
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

/* The answers to one client */
struct answers {
	mcp_send *send;
	void *transport;
	bool null_id;          /* an error that answers no request has "id":null
	                        * (JSON-RPC 2.0, section 5), else no id */
	enum mcp_outcome outcome;  /* so far, of the message being handled */
	size_t batched;        /* bytes of answers that wait for others (P10) */
	struct buf reserve;    /* memory put aside for the error that there is
	                        * no memory (E7) */
};

/* False: no memory for the reserve. */
bool answers_open(struct answers *, mcp_send *send, void *transport,
                  bool null_id);
void answers_free(struct answers *);

/* What it takes to answer a request */
struct reply {
	struct answers *answers;
	void *to;              /* the transport's address */
	struct batch *batch;   /* the array that it came in, or NULL */
	struct reader reader;
	struct json id;        /* JSON_NONE: it could not be read */
};

/* Appends an error; or answers with one. `data` is JSON text, or NULL. */
void answers_put_error(struct buf *, const struct answers *, struct json id,
                       int code, const char *message, const struct buf *data);
void answer_error(const struct reply *, int code, const char *message,
                  const struct buf *data);

/* Answers with a result of these members, JSON text, which it frees. False:
 * there was no memory for it, or its array gets longer than clients take, and
 * the answer is an error that says `lost`. */
bool answer_result(const struct reply *, struct buf *members,
                   const char *lost);

/* Sends a notification about a request that is not answered yet. */
bool answer_notice(const struct reply *, enum mcp_kind, struct buf *message);

/* The requests between these two are of one array, and are answered by one
 * array, once all answers are there. A request that is answered later joins
 * it, and ends it for its part. False: no memory. */
bool batch_begin(struct reply *);
void batch_join(struct reply *);
void batch_end(struct reply *);
void batch_drop(struct reply *);  /* nobody reads its answers */

#endif
