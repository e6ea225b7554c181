#ifndef MCP_RPC_H
#define MCP_RPC_H

/* JSON-RPC 2.0 as MCP uses it: messages are parsed, responses are composed and
 * handed to the transport. Nothing here knows what a method does. */

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

enum { RPC_ID_MAX = 1024 };  /* bytes of an id or a token, as JSON text */

/* -- Messages ---------------------------------------------------------- */

/* A parsed message. The values are slices of its text, which has to outlive it;
 * those that it does not have are JSON_NONE. */
struct rpc_message {
	struct json root;     /* JSON_NONE: the text is not JSON */
	struct json jsonrpc, id, method, params;
	struct json meta, name, arguments;  /* of params */
	struct json version;   /* of meta; stateless requests have it (M3) */
	const char *address;   /* the sender's, set by the transport; or NULL */
};

/* Fills in the message from a text, which may be anything. */
void rpc_parse(struct rpc_message *, const char *text, size_t len);

/* Returns the id of a message of which only the start is known. It is JSON_NONE
 * if it is not in the first 4 KiB, or if the message is a response. */
struct json rpc_first_id(const char *text, size_t len);

/* Each returns whether the message has the members that make it one. */
bool rpc_is_request(const struct rpc_message *);
bool rpc_is_response(const struct rpc_message *);

/* Returns what is wrong with the message (sections 4 and 5), or NULL. */
const char *rpc_wrong_envelope(const struct rpc_message *);

/* -- Responses --------------------------------------------------------- */

/* What a message to a client is */
enum rpc_kind {
	RPC_RESPONSE,          /* a result; or an error of a stateless request
	                        * whose _meta is right */
	RPC_REJECTION,           /* any other error */
	RPC_NOTICE,            /* a notification about an open request */
	RPC_PROGRESS           /* the only kind that may be dropped */
};

/* The transport's function that sends a message. `to` is the return address
 * that came with the request; over HTTP it is NULL once the connection has
 * gone. error: the JSON-RPC code, 0 for a result. The transport may append to
 * the message or take its memory; the caller frees what is left. Returns false
 * if the message is not sent, because memory is short, because the connection
 * has gone, or because it is progress for a slow client. */
typedef bool rpc_send(void *transport, void *to, enum rpc_kind, int error,
                      struct buf *message);

/* What has become of a received message */
enum rpc_outcome {
	RPC_NO_ANSWER,         /* it needs no response */
	RPC_ANSWERED,          /* its response has been sent */
	RPC_LATER              /* its response is still to come */
};

/* How one client gets its responses */
struct answers {
	rpc_send *send;
	void *transport;       /* the first argument of send() */
	bool null_id;          /* an error that belongs to no request has
	                        * "id":null (JSON-RPC 2.0, section 5), or
	                        * otherwise no id */
	enum rpc_outcome outcome;  /* so far, of the message being handled */
};

/* What is needed to respond to a request */
struct reply {
	struct answers *answers;
	void *to;              /* the transport's return address */
	struct caller caller;
	struct json id;        /* left out of the response if it is not valid */
};

/* Sends a message about a request. Returns false if it is not sent. */
bool rpc_post(const struct reply *, enum rpc_kind, int error,
              struct buf *message);

/* Appends an error response. data: JSON text, or NULL; it is left out if memory
 * is short. */
void rpc_put_error(struct buf *, const struct answers *, struct json id,
                   int code, const char *message, const struct buf *data);

/* Sends an error response. */
void rpc_error(const struct reply *, int code, const char *message,
               const struct buf *data);

/* Sends a result with these members, JSON text, which it frees. If memory is
 * short, sends an error with the text RPC_NO_MEMORY instead, and returns
 * false. */
#define RPC_NO_MEMORY "Out of memory for the result; a task can still be read"
bool rpc_result(const struct reply *, struct buf *members);

#endif
