/* SPDX-License-Identifier: ISC */
#ifndef MCP_RPC_H
#define MCP_RPC_H

/* JSON-RPC 2.0 as used by MCP: parses messages, writes responses, and passes
 * the responses to the transport. The values of a parsed message point into the
 * message's text. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "json.h"
#include "mcp/clients.h"

#define MCP_SERVER_INFO \
	"{\"name\":\"boris\",\"version\":\"" BORIS_VERSION "\"}"
#define RPC_META_VERSION "io.modelcontextprotocol/protocolVersion"

/* The error codes of JSON-RPC 2.0 (section 5.1), plus MCP's code for an
 * unsupported protocol version (MCP 2026-07-28, versioning) */
enum {
	JSONRPC_PARSE_ERROR = -32700, JSONRPC_INVALID_REQUEST = -32600,
	JSONRPC_NO_METHOD = -32601, JSONRPC_INVALID_PARAMS = -32602,
	JSONRPC_INTERNAL = -32603, MCP_UNSUPPORTED_VERSION = -32022
};

enum { RPC_ID_MAX = 1024 };  /* maximum size of an id or a progress token as
                              * JSON text, in bytes */

/* -- Messages ---------------------------------------------------------- */

/* A parsed message. Its values point into the text, which must outlive the
 * struct. Missing values are JSON_NONE. */
struct rpc_message {
	struct json root;     /* the complete message; JSON_NONE if the text is
	                       * not JSON */
	struct json jsonrpc, id, method, params;
	struct json meta, name, arguments;  /* members of params */
	struct json version;  /* protocol version given in _meta by a stateless
	                       * request */
	const char *address;  /* the sender's address, set by the transport;
	                       * NULL over stdio */
	bool in_doubt;        /* true if a response might not reach the sender;
	                       * set by the transport */
};

/* Parses a JSON-RPC message. The text need not be valid JSON. */
void rpc_parse(struct rpc_message *, const char *text, size_t len);

/* Finds the id of a message of which only the beginning has been read. Returns
 * JSON_NONE if the first 4 KiB contain no valid id, or if the message is a
 * response. */
struct json rpc_first_id(const char *text, size_t len);

/* Returns whether the message is a request, that is, whether it contains both a
 * method and an id. */
bool rpc_is_request(const struct rpc_message *);
/* Returns whether the message is a response, that is, whether it contains a
 * result or an error, and no method. */
bool rpc_is_response(const struct rpc_message *);

/* Checks the JSON members that every request and notification must contain
 * (JSON-RPC 2.0, sections 4 and 5). Returns NULL if they are valid. Otherwise,
 * returns an error message. */
const char *rpc_wrong_envelope(const struct rpc_message *);

/* -- Responses --------------------------------------------------------- */

/* The kinds of messages that boris sends to a client. Over HTTP, the status of
 * an error response depends on the kind of message and on the error code. */
enum rpc_kind {
	RPC_RESPONSE,   /* the result of a request, or the error response to a
	                 * stateless request whose _meta is valid */
	RPC_REJECTION,  /* any other error response */
	RPC_NOTICE,     /* a notification about an open request, but not about
	                 * its progress */
	RPC_PROGRESS    /* a progress notification, the only message that may be
	                 * dropped */
};

/* The transport's function that sends a message. `to` is the return address of
 * the request; over HTTP, it is NULL after the connection has been closed.
 * `error` is the JSON-RPC error code, or 0. The function may append to the
 * message or take over its memory; the caller frees the rest. Returns false if
 * the message is not sent: there is not enough memory, the connection is
 * closed, or the message is a progress notification for a slow client. */
typedef bool rpc_send(void *transport, void *to, enum rpc_kind, int error,
                      struct buf *message);

/* The state of the response to a received message */
enum rpc_outcome {
	RPC_NO_ANSWER,  /* the message needs no response */
	RPC_ANSWERED,   /* the response has been sent */
	RPC_LATER       /* the response will be sent later */
};

/* The connection through which responses are sent to one client */
struct rpc_channel {
	rpc_send *send;
	void *transport;           /* the first argument of send() */
	bool null_id;              /* whether the error for a request whose id
	                            * cannot be read contains "id":null
	                            * (JSON-RPC 2.0, section 5) instead of
	                            * omitting the id */
	bool confirms;             /* whether the transport reports that a
	                            * response has been written (calls_written()
	                            * in mcp/calls.h) */
	enum rpc_outcome outcome;  /* state of the response to the current
	                            * message */
};

/* Everything needed to respond to a request */
struct reply {
	struct rpc_channel *channel;
	void *to;        /* address to which the transport sends the response */
	struct caller caller;
	struct json id;  /* id of the request; omitted from the response if it
	                  * is invalid */
	bool in_doubt;   /* true if the response might not reach the client;
	                  * boris then sends it, but marks no output and no
	                  * notes as reported (H7) */
};

/* Passes a message about a request to the transport. Returns false if the
 * transport does not send the message (see rpc_send). */
bool rpc_post(const struct reply *, enum rpc_kind, int error,
              struct buf *message);

/* Appends an error response to the buffer. `data` is JSON text, or NULL. Omits
 * `data` if there is not enough memory for it. */
void rpc_put_error(struct buf *, const struct rpc_channel *, struct json id,
                   int code, const char *message, const struct buf *data);

/* Sends an error response. `data` is JSON text, or NULL. */
void rpc_error(const struct reply *, int code, const char *message,
               const struct buf *data);

/* Sends a result and frees `members`, the JSON text of its members. If the
 * result cannot be sent, for example because memory is short, sends an error
 * with the text RPC_NO_MEMORY instead, and returns false. */
#define RPC_NO_MEMORY "Out of memory for the result; a task can still be read"
bool rpc_result(const struct reply *, struct buf *members);

#endif
