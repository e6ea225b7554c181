#ifndef TRANSPORT_HTTPMSG_H
#define TRANSPORT_HTTPMSG_H

/* HTTP/1.1 as text (RFC 9110, 9112; H8): requests are read, responses are
 * written. A request that a proxy could understand in another way is rejected
 * (request smuggling). Nothing here makes a system call. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

enum {
	REQUEST_HEAD_LIMIT = 16 << 10,  /* bytes of line and headers */
	REQUEST_BODY_LIMIT = 16 << 20   /* bytes, chunks joined */
};

enum request_field {  /* each may occur once in a request */
	FIELD_HOST, FIELD_ORIGIN, FIELD_AUTHORIZATION, FIELD_CONTENT_TYPE,
	FIELD_CONTENT_LENGTH, FIELD_TRANSFER_ENCODING, FIELD_EXPECT,
	FIELD_PREFLIGHT, FIELD_MCP_SESSION, FIELD_MCP_VERSION,
	FIELD_MCP_METHOD, FIELD_MCP_NAME, FIELDS
};

/* What is read next of a request */
enum request_state {
	REQUEST_HEAD,       /* the request line and the headers */
	REQUEST_SIZE,       /* the line before a chunk */
	REQUEST_BODY,       /* `left` bytes of the body, or of a chunk */
	REQUEST_CHUNK_END,  /* the empty line after a chunk */
	REQUEST_TRAILER,    /* the lines after the last chunk */
	REQUEST_DONE       /* nothing: the request is complete */
};

/* Zeroed: nothing has been read yet. */
struct request {
	enum request_state state;
	bool started;           /* at least one byte has been read */
	bool http10;          /* HTTP/1.0 */
	bool last;            /* the connection ends after its response */
	bool has_accept;      /* the header Accept occurs */
	bool accepts_json;    /* it lists application/json */
	bool accepts_events;  /* it lists text/event-stream */
	bool dropped;         /* the body is dropped as it arrives */
	struct buf head;      /* the text of `verb`, `path` and `field` */
	const char *verb;     /* HTTP's method */
	const char *path;     /* without a query */
	const char *field[FIELDS];  /* values of headers; NULL: it is missing */
	struct buf body;
	int64_t left;         /* bytes missing of the body, or of a chunk */
};

enum {
	REQUEST_NEEDS_INPUT,  /* the input ends before the next event */
	REQUEST_HAS_HEAD,     /* the headers are known; the body is to follow */
	REQUEST_COMPLETE
};

/* Reads the request from the front of the input, which it removes, up to the
 * next event. Returns the event, or the HTTP status to reject the request with.
 * After 413 (too long) and 503 (out of memory) request_drop() can skip the rest
 * of the body; after all others nothing that follows can be understood. */
int request_read(struct request *, struct buf *input);
/* Drops the body, also what is still to arrive. */
void request_drop(struct request *);
/* Frees its memory and zeroes it. */
void request_free(struct request *);

/* Returns whether the word is an element of a header's value. Parameters after
 * an element are ignored. */
bool field_lists(const char *value, const char *word);

/* Appends the status line and the first headers of a response with a body of
 * len bytes. Further headers and an empty line must follow. type: Content-Type,
 * which is left out if len is 0. */
void response_begin(struct buf *, struct request *, int status,
                    const char *type, size_t len);
/* The same for a stream of events, with status 200. */
void stream_begin(struct buf *, struct request *);
/* Each appends a part of the stream. A comment keeps the connection alive. */
void stream_event(struct buf *, const struct request *,
                  const struct buf *message);
void stream_comment(struct buf *, const struct request *);
void stream_end(struct buf *, const struct request *);

/* Appends a number in hexadecimal digits. */
void hex_put(struct buf *, size_t);

#endif
