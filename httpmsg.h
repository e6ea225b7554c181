#ifndef HTTPMSG_H
#define HTTPMSG_H

/* HTTP/1.1 as text (RFC 9110, 9112; H8): requests read, responses written.
 * Bytes in, bytes out; makes no system call. It refuses what a proxy could
 * understand in another way (request smuggling). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"

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
	bool accepts_json, accepts_stream, accepts_given;
	struct buf head;    /* the texts below are in there */
	size_t head_taken;  /* bytes of it that have come (H8) */
	const char *verb;
	char *path;
	const char *field[FIELDS];  /* NULL: not there */
	struct buf body;    /* failed: there was no memory for it */
	int64_t left;       /* bytes to come of the body, or of a chunk */
	int64_t taken;      /* bytes of the body that have come */
	bool cors;          /* its origin may read the response (H4) */
	bool let_in;        /* it is for /mcp, and has shown the token (H3) */

	/* Also the caller's to set */
	bool last;          /* the connection ends with it */
	bool unwanted;      /* drop the body as it comes */
	const char *session_id;  /* of the session that it opens; or NULL */
};

enum {
	REQUEST_WAITS,      /* for more bytes */
	REQUEST_ASKS,       /* the headers are there: refuse it, or go on */
	REQUEST_ENDS        /* all of it is there */
};

/* Takes what it can use from the front of the input. Returns one of these, or
 * the status to refuse the request with: after 413 the body is dropped as it
 * comes; after any other nothing that follows can be understood. */
int request_take(struct request *, struct buf *input);
void request_free(struct request *);  /* zeroed again */

/* Does the header's value, which may be NULL, stand for that JSON string? What
 * headers can't hold comes as "=?base64?...?=" (MCP 2026-07-28, transports). */
bool header_says(const char *value, struct json string);

/* In a time that does not depend on what is wrong with `given` (H3) */
bool same_secret(const char *given, const char *secret);

/* Who may ask */
struct request_rules {
	bool loopback;        /* Host has to be this machine's (H4) */
	const char *origins;  /* and these, each with a NUL behind it, then an
	                       * empty one; NULL: none */
	const char *token;    /* NULL: none is asked for (H3) */
};

/* When the request ASKS: the status to refuse it with, and *why. 0: it is for
 * /mcp (POST, DELETE, OPTIONS) or for /health. own: this server's origin. */
int request_check(struct request *, const struct request_rules *,
                  const char *own, const char **why);

/* A response to the request; `type` is the body's, if there is one. */
void response_put(struct buf *, const struct request *, int status,
                  const char *type, const char *body, size_t len);

/* A stream of events as the response. HTTP/1.0 has no chunks: there the stream
 * ends with the connection. */
void stream_begin(struct buf *, const struct request *);
void stream_event(struct buf *, const struct request *,
                  const struct buf *message);  /* NULL: a comment */
void stream_end(struct buf *, const struct request *);

#endif
