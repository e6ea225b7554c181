#ifndef TRANSPORT_HTTPMSG_H
#define TRANSPORT_HTTPMSG_H

/* HTTP/1.1 as text (RFC 9110, 9112; H8): requests read, responses written. What
 * a proxy could understand in another way is refused (request smuggling). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

enum {
	REQUEST_HEAD_LIMIT = 16 << 10,  /* bytes of line and headers */
	REQUEST_BODY_LIMIT = 16 << 20   /* bytes, chunks joined */
};

enum request_field {  /* each may be there once */
	FIELD_HOST, FIELD_ORIGIN, FIELD_AUTHORIZATION, FIELD_CONTENT_TYPE,
	FIELD_CONTENT_LENGTH, FIELD_TRANSFER_ENCODING, FIELD_EXPECT,
	FIELD_PREFLIGHT, FIELD_MCP_SESSION, FIELD_MCP_VERSION,
	FIELD_MCP_METHOD, FIELD_MCP_NAME, FIELDS
};

enum request_state {
	REQUEST_HEAD,       /* line and headers are to come */
	REQUEST_SIZE,       /* the line before a chunk */
	REQUEST_BODY,       /* `left` bytes of it, or of a chunk */
	REQUEST_CHUNK_END,  /* the empty line after a chunk */
	REQUEST_TRAILER,    /* the lines after the last chunk */
	REQUEST_WHOLE
};

/* Zeroed: nothing has come yet. */
struct request {
	enum request_state state;
	bool begun;         /* a byte of it is there */
	bool http10;        /* HTTP/1.0 */
	bool last;          /* the connection ends behind its response */
	bool accepts;       /* Accept is there, and lists these: */
	bool takes_json, takes_events;
	bool dropped;       /* its body is dropped as it comes */
	struct buf head;    /* the texts below are in there */
	const char *verb, *path;
	const char *field[FIELDS];  /* NULL: not there */
	struct buf body;
	int64_t left;       /* bytes to come of the body, or of a chunk */
};

enum {
	REQUEST_WAITS,      /* for more bytes */
	REQUEST_ASKS,       /* the headers are there: refuse it, or go on */
	REQUEST_ENDS        /* all of it is there */
};

/* Takes what it can use from the front of the input. Returns one of these, or
 * the status to refuse the request with. After 413, and 503 (memory was
 * refused), request_drop() can skip the rest of the body; after all others
 * nothing that follows can be understood. */
int request_take(struct request *, struct buf *input);
void request_drop(struct request *);  /* its body, from now on */
void request_free(struct request *);  /* zeroed again */

/* Is the word an element of a header's value, parameters left aside? */
bool field_lists(const char *value, const char *word);

/* Appends a response's status and first headers, behind which go others and an
 * empty line. len: of its body; below 0: it is a stream of events. */
void response_begin(struct buf *, struct request *, int status,
                    const char *type, int64_t len);
void stream_event(struct buf *, const struct request *,
                  const struct buf *message);  /* NULL: a comment */
void hex_put(struct buf *, size_t);

#endif
