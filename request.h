#ifndef REQUEST_H
#define REQUEST_H

/* One HTTP/1 request as it comes off a connection: its line, headers and body
 * (RFC 9110, 9112; SPEC.md H8). Bytes in; makes no system call, and has never
 * heard of MCP. Nothing is let pass that another reader of the same bytes
 * could understand in another way. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"

enum {
	REQUEST_HEAD_LIMIT = 16 << 10,  /* bytes of line and headers */
	REQUEST_BODY_LIMIT = 16 << 20   /* bytes, chunks joined */
};

/* The headers that matter; each may be there once. */
enum request_field {
	FIELD_HOST, FIELD_ORIGIN, FIELD_AUTHORIZATION, FIELD_CONTENT_TYPE,
	FIELD_CONTENT_LENGTH, FIELD_TRANSFER_ENCODING, FIELD_EXPECT,
	FIELD_PREFLIGHT, FIELD_MCP_SESSION, FIELD_MCP_VERSION,
	FIELD_MCP_METHOD, FIELD_MCP_NAME, FIELDS
};

enum request_state {
	REQUEST_HEAD,       /* line and headers are to come */
	REQUEST_BODY,       /* `left` bytes of it */
	REQUEST_SIZE,       /* the line before a chunk */
	REQUEST_CHUNK,      /* `left` bytes of it */
	REQUEST_CHUNK_END,  /* the end of line after it */
	REQUEST_TRAILER,    /* what follows the last chunk */
	REQUEST_WHOLE
};

/* Zeroed: nothing has come yet. */
struct request {
	enum request_state state;
	bool begun;         /* a byte of it is there */
	bool old;           /* HTTP/1.0 */
	bool last;          /* the connection ends with it, it says */
	bool takes_json, takes_stream, takes_given;  /* Accept */
	bool unwanted;      /* the caller's: let the body go as it comes */
	size_t looked;      /* of the input: no line ends there */
	struct buf head;    /* the texts below are in there */
	const char *verb, *path;
	const char *field[FIELDS];  /* NULL: not there */
	struct buf body;
	int64_t left;       /* bytes of the body, when its length was said; or
	                     * of a chunk */
};

enum request_event {
	REQUEST_WAITS,      /* for more bytes */
	REQUEST_ASKS,       /* the headers are there: refuse it, or go on */
	REQUEST_ENDS,       /* all of it is there */
	REQUEST_TOO_MUCH,   /* the body, for the limit (413) or for memory
	                     * (503): to go on it has to be unwanted */
	REQUEST_WRONG,      /* what follows cannot be understood: *status is
	                     * the answer, the last */
	REQUEST_GOES_ON     /* never returned */
};

/* Takes what it can use from the front of the input. */
enum request_event request_take(struct request *, struct buf *input,
                                int *status);
void request_free(struct request *);  /* zeroed again */

/* Is the word an element of that header's value, parameters left aside? */
bool request_lists(const char *value, const char *word);

#endif
