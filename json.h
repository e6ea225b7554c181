#ifndef JSON_H
#define JSON_H

/* JSON text (RFC 8259): growing buffers, reading, writing.
 *
 * A value is a slice of its line. json_check() has to pass a whole text
 * once; every other reader here takes slices of such a text, trusts them,
 * and costs no more than a walk along the slice. What is written is valid
 * UTF-8 JSON whatever bytes go in. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows as it is written to. Without memory it remembers `failed` and takes
 * nothing more: write freely, look once before sending. Zeroed is empty. */
struct buf {
	char *data;
	size_t len, cap;
	bool failed;
};

bool buf_room(struct buf *, size_t more);  /* false, and failed: no memory */
void buf_put(struct buf *, const void *bytes, size_t n);
void buf_puts(struct buf *, const char *text);
void buf_putc(struct buf *, char c);
void buf_int(struct buf *, int64_t n);  /* decimal */
void buf_drop(struct buf *, size_t n);  /* the first n bytes; keeps memory */
void buf_free(struct buf *);  /* empty and unfailed again; twice is fine */

/* Where the UTF-8 character at p (n > 0 bytes) ends: its length, 1 to 4;
 * or minus the length of the part that is not UTF-8 (U+FFFD stands for it);
 * or 0 when it is cut off by the end but good so far (Unicode 3.9). */
int utf8_length(const unsigned char *p, size_t n);

/* A value inside a checked text; text NULL: there is none (JSON_NONE). */
struct json {
	const char *text;
	size_t len;
};

enum json_type {
	JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING,
	JSON_ARRAY, JSON_OBJECT
};

enum { JSON_DEPTH = 128 };  /* deeper nesting is refused; costs no C stack */

/* The value that the text is, white space around it allowed; JSON_NONE when
 * the text is not exactly one RFC 8259 value in UTF-8 (mcp.md 1). A lone
 * surrogate escape passes: it is read as U+FFFD (P2). */
struct json json_check(const char *text, size_t len);

enum json_type json_type(struct json);
bool json_true(struct json);  /* is it the literal true */

/* Goes through an array or object: start with *at = 0; false at the end.
 * name is set for objects only (pass NULL for arrays). */
bool json_next(struct json, size_t *at, struct json *name, struct json *value);

bool json_is(struct json string, const char *text);  /* decoded, same? */

/* The members of an object by name, in one walk: found[i] is the value of
 * names[i], JSON_NONE where it is missing or the value is no object. Of equal
 * names the last counts; names may be escaped; NUL bytes are compared. */
void json_members(struct json object, const char *const names[],
                  struct json found[], int n);
struct json json_get(struct json object, const char *name);

/* Same JSON: strings as decoded, numbers as text or as the same integer
 * (5 and 5.0); other types never. */
bool json_equal(struct json, struct json);

/* The number's value when it is an integer (5000.0 and 5e3 are, P4) within
 * int64_t; out of it, the nearest end of int64_t. false: it is none. */
bool json_int(struct json number, int64_t *value);

/* Appends the string decoded to UTF-8; lone surrogates become U+FFFD (P2). */
void json_decode(struct json string, struct buf *);

/* Appends an id's or token's own text; lone surrogate escapes in it become
 * \ufffd, so that the text is valid Unicode (P2). */
void json_verbatim(struct json, struct buf *);

/* Appends the bytes as a string, quotes and all. What is not UTF-8 becomes
 * U+FFFD, once for each maximal part of a sequence (O2, Unicode 3.9). */
void json_string(struct buf *, const void *bytes, size_t n);

#endif
