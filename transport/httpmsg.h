/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_HTTPMSG_H
#define TRANSPORT_HTTPMSG_H

/* HTTP/1.1 messages as text (RFC 9110, RFC 9112; H8): parses requests and
 * writes responses. Rejects requests that a proxy could parse differently
 * (request smuggling). This module makes no system calls. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

enum {
	REQUEST_HEAD_LIMIT = 16 << 10,  /* maximum size of the request line and
	                                 * headers, in bytes */
	REQUEST_BODY_LIMIT = 16 << 20   /* maximum size of a body without chunk
	                                 * headers, in bytes */
};

enum request_field {  /* The request headers that boris reads. Each may occur
                       * once. */
	FIELD_HOST, FIELD_ORIGIN, FIELD_AUTHORIZATION, FIELD_CONTENT_TYPE,
	FIELD_CONTENT_LENGTH, FIELD_TRANSFER_ENCODING, FIELD_EXPECT,
	FIELD_PREFLIGHT, FIELD_MCP_SESSION, FIELD_MCP_VERSION,
	FIELD_MCP_METHOD, FIELD_MCP_NAME, FIELDS
};

/* The part of a request that is read next */
enum request_state {
	REQUEST_HEAD,       /* the request line and the headers */
	REQUEST_SIZE,       /* the line with the size of the next chunk */
	REQUEST_BODY,       /* `left` more bytes of the body or of a chunk */
	REQUEST_CHUNK_END,  /* the empty line after a chunk */
	REQUEST_TRAILER,    /* the trailer lines after the last chunk */
	REQUEST_DONE        /* nothing, since the request is complete */
};

/* A request while it is being read. A zeroed struct is ready to read one. */
struct request {
	enum request_state state;
	bool started;               /* at least one byte was read */
	bool http10;                /* the client uses HTTP/1.0 */
	bool last;                  /* the connection is closed after the
	                             * response */
	bool has_accept;            /* the request has an Accept header */
	bool accepts_json;          /* the Accept header lists
	                             * application/json */
	bool accepts_events;        /* the Accept header lists
	                             * text/event-stream */
	bool dropped;               /* the body is discarded as it arrives */
	struct buf head;            /* the text that `verb`, `path` and `field`
	                             * point into */
	const char *verb;           /* the HTTP method */
	const char *path;           /* the path of the URL, without the query */
	const char *field[FIELDS];  /* values of the headers; NULL if a header
	                             * is missing */
	struct buf body;
	int64_t left;               /* number of bytes of the body or the
	                             * current chunk that are not read yet */
};

enum {
	REQUEST_NEEDS_INPUT,  /* more input is needed for the next event */
	REQUEST_HAS_HEAD,     /* the headers are complete, and the body
	                       * follows */
	REQUEST_COMPLETE
};

/* Parses the start of the input up to the next event, and removes the parsed
 * bytes. Returns the event, or the HTTP status with which to reject the
 * request. After 413 (too long) and 503 (out of memory), request_drop() can
 * skip the rest of the body. After any other status, the next request cannot be
 * found. */
int request_read(struct request *, struct buf *input);
/* Discards the body, including bytes that are still to be received. */
void request_drop(struct request *);
/* Frees the memory of the request and zeroes the struct. */
void request_free(struct request *);

/* Returns whether a header's value is a list that contains the word. Parameters
 * of list elements are ignored. */
bool field_lists(const char *value, const char *word);

/* Appends the status line and the first headers of a response with a body of
 * len bytes. The caller must append further headers and an empty line. `type`
 * is the value of Content-Type, which is omitted if len is 0. */
void response_begin(struct buf *, struct request *, int status,
                    const char *type, size_t len);
/* Appends the status line and the first headers of a stream of events. The
 * caller must append further headers and an empty line. */
void stream_begin(struct buf *, struct request *);
/* Appends a message as an event of the stream. */
void stream_event(struct buf *, const struct request *,
                  const struct buf *message);
/* Appends a comment to the stream to keep the connection alive. */
void stream_comment(struct buf *, const struct request *);
/* Appends the end of the stream. */
void stream_end(struct buf *, const struct request *);

/* Appends a number in hexadecimal digits. */
void hex_put(struct buf *, size_t);

#endif
