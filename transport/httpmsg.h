/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_HTTPMSG_H
#define TRANSPORT_HTTPMSG_H

/* Parses HTTP/1.1 requests and writes responses as text (RFC 9110, RFC 9112).
 * Rejects requests that a proxy could parse differently, to prevent request
 * smuggling (H8). This module makes no system calls. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

enum {
	REQUEST_HEAD_LIMIT = 16 << 10,  /* maximum size of the request line and
	                                 * headers, in bytes */
	REQUEST_BODY_LIMIT = 16 << 20,  /* maximum body size in bytes, excluding
	                                 * chunk-size lines */
	REQUEST_DROP_LIMIT = 32 << 20   /* maximum number of bytes to discard
	                                 * from one request, including
	                                 * chunk-size lines and trailers */
};

enum request_field {  /* Request headers that boris reads and that may appear
                       * only once */
	FIELD_HOST, FIELD_ORIGIN, FIELD_AUTHORIZATION, FIELD_CONTENT_TYPE,
	FIELD_CONTENT_LENGTH, FIELD_TRANSFER_ENCODING, FIELD_EXPECT,
	FIELD_PREFLIGHT, FIELD_MCP_SESSION, FIELD_MCP_VERSION,
	FIELD_MCP_METHOD, FIELD_MCP_NAME, FIELDS
};

/* The state of a request, named after the part that is read next */
enum request_state {
	REQUEST_HEAD,       /* reading the request line and the headers */
	REQUEST_SIZE,       /* reading a chunk-size line */
	REQUEST_BODY,       /* reading the body, or one of its chunks */
	REQUEST_CHUNK_END,  /* reading the empty line that ends a chunk */
	REQUEST_TRAILER,    /* reading the trailer after the last chunk */
	REQUEST_DONE        /* the request is complete */
};

/* A request that is being read. The struct must be zeroed before the first byte
 * of the request is read. */
struct request {
	enum request_state state;
	bool started;               /* at least one byte has been read */
	bool http10;                /* the client uses HTTP/1.0 */
	bool last;                  /* the connection will be closed after the
	                             * response */
	bool has_accept;            /* the request has an Accept header */
	bool accepts_json;          /* the Accept header lists
	                             * application/json */
	bool accepts_events;        /* the Accept header lists
	                             * text/event-stream */
	bool dropped;               /* the request's body is discarded as it
	                             * arrives */
	size_t discarded;           /* number of bytes discarded so far */
	struct buf head;            /* the text that `verb`, `path` and `field`
	                             * point into */
	const char *verb;           /* the HTTP method */
	const char *path;           /* the path of the URL, without the query */
	const char *field[FIELDS];  /* header values; NULL if a header is
	                             * missing */
	struct buf body;
	int64_t left;               /* number of unread bytes of the body or the
	                             * current chunk */
};

enum {
	REQUEST_NEEDS_INPUT,  /* more input is needed for the next event */
	REQUEST_HAS_HEAD,     /* the headers are complete, and the body
	                       * follows */
	REQUEST_COMPLETE
};

/* Parses the input up to the next event and removes the parsed bytes. Returns
 * the event, or the HTTP status with which to reject the request. */
int request_read(struct request *, struct buf *input);
/* Returns whether the caller may skip the rest of the request with
 * request_drop() after request_read() has returned an error. This is the case
 * if the body is too long (413) or there is no memory for it (503). After any
 * other error, the start of the next request cannot be found or is too far
 * away. */
bool request_can_drop(const struct request *);
/* Discards the body: frees the bytes received so far, and makes request_read()
 * skip the rest. If the rest is longer than REQUEST_DROP_LIMIT,
 * request_read() returns 413. */
void request_drop(struct request *);
/* Frees the memory of the request and zeroes the struct. */
void request_free(struct request *);

/* Returns whether a header's value is a list that contains the given word.
 * Parameters of list elements are ignored. */
bool field_lists(const char *value, const char *word);

/* Appends the status line and the initial headers of a response with a body of
 * len bytes. The caller must append further headers and an empty line. `type`
 * is the value of Content-Type, which is omitted if len is 0. */
void response_begin(struct buf *, struct request *, int status,
                    const char *type, size_t len);
/* Appends the status line and the initial headers of an event stream. The
 * caller must append further headers and an empty line. */
void stream_begin(struct buf *, struct request *);
/* Appends a message to the event stream as a server-sent event (SSE). */
void stream_event(struct buf *, const struct request *,
                  const struct buf *message);
/* Appends an SSE comment, which clients ignore, to keep the connection
 * alive. */
void stream_comment(struct buf *, const struct request *);
/* Appends the end of the event stream. */
void stream_end(struct buf *, const struct request *);

/* Appends a number in hexadecimal digits. */
void hex_put(struct buf *, size_t);

#endif
