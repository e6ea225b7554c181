#ifndef MCP_RPC_H
#define MCP_RPC_H

/* JSON-RPC 2.0, as MCP has it: a message taken apart, an answer put together
 * and sent to who asked. Bytes in, bytes out. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "json.h"
#include "mcp/clients.h"

#define MCP_SERVER_INFO \
	"{\"name\":\"boris\",\"version\":\"" BORIS_VERSION "\"}"
#define RPC_META_VERSION "io.modelcontextprotocol/protocolVersion"

/* JSON-RPC 2.0, section 5.1; the last one: MCP 2026-07-28, versioning */
enum {
	JSONRPC_PARSE_ERROR = -32700, JSONRPC_INVALID_REQUEST = -32600,
	JSONRPC_NO_METHOD = -32601, JSONRPC_INVALID_PARAMS = -32602,
	JSONRPC_INTERNAL = -32603, MCP_UNSUPPORTED_VERSION = -32022
};

enum { RPC_ID_MOST = 1024 };  /* bytes of an id or a token, as JSON text */

/* A message taken apart: slices of its text, which has to outlive it. What it
 * does not have is JSON_NONE. */
struct rpc_message {
	struct json whole;     /* JSON_NONE: the text is not JSON */
	struct json jsonrpc, id, method, params;
	struct json meta, name, arguments;  /* of params */
	struct json version;   /* of meta: the stateless era's (M3) */
	const char *address;   /* its sender's, set by the transport; or NULL */
};
void rpc_parse(struct rpc_message *, const char *text, size_t len);
/* The id of a message of which only the start is known: none if it is not in the
 * first 4 KiB, or if the message is a response. */
struct json rpc_first_id(const char *text, size_t len);
bool rpc_is_request(const struct rpc_message *);  /* a method and an id */
bool rpc_is_response(const struct rpc_message *);
/* What is wrong with the message (sections 4 and 5); NULL: nothing */
const char *rpc_wrong_envelope(const struct rpc_message *);

enum rpc_kind {
	RPC_RESPONSE,          /* a result; or an error of a stateless request
	                        * whose _meta is right */
	RPC_REFUSAL,           /* any other error */
	RPC_NOTICE,            /* a notification about an open request */
	RPC_PROGRESS           /* the only kind that may be dropped */
};

/* The transport's way out. `to` is the return address that came with the
 * request; over HTTP NULL, once its connection has gone. error: the JSON-RPC
 * code, 0 for a result. The transport may append to the message, or take it
 * over; what is left of it the caller frees. False: it was not taken, for want
 * of memory, or as progress for a slow caller. */
typedef bool rpc_send(void *transport, void *to, enum rpc_kind, int error,
                      struct buf *message);

/* What has become of a message; RPC_LATER: its answer is still to come */
enum rpc_outcome { RPC_NO_ANSWER, RPC_ANSWERED, RPC_LATER };

/* The answers to one client */
struct answers {
	rpc_send *send;
	void *transport;
	bool null_id;          /* an error that answers no request has "id":null
	                        * (JSON-RPC 2.0, section 5), else no id */
	enum rpc_outcome outcome;  /* so far, of the message being handled */
};

/* What it takes to answer a request */
struct reply {
	struct answers *answers;
	void *to;              /* the transport's address */
	struct caller caller;
	struct json id;        /* left out if it is not valid */
};
/* Sends a message about a request. False: it was not taken. */
bool rpc_post(const struct reply *, enum rpc_kind, int error,
              struct buf *message);
/* Appends an error; or answers with one. `data` is JSON text, or NULL. */
void rpc_put_error(struct buf *, const struct answers *, struct json id,
                   int code, const char *message, const struct buf *data);
void rpc_error(const struct reply *, int code, const char *message,
               const struct buf *data);
/* Answers with a result of these members, JSON text, which it frees. False: the
 * memory for it was refused, and the answer is an error that says so. */
#define RPC_NO_MEMORY "Out of memory for the result; a task can still be read"
bool rpc_result(const struct reply *, struct buf *members);

#endif
