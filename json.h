#ifndef JSON_H
#define JSON_H

/* JSON text (RFC 8259), read and written. A value is a slice of a text that
 * json_check() has found valid; the other readers rely on that. What is written
 * is valid whatever goes in. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/* A value inside a checked text. */
struct json {
	const char *text;  /* NULL where there is no value (JSON_NONE). */
	size_t len;
};

enum json_type {
	JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY,
	JSON_OBJECT
};
enum { JSON_DEPTH = 128 };  /* Deeper nesting is refused. */

/* The one value that the text is, without the white space around it; JSON_NONE:
 * it is not JSON, or not in UTF-8. Lone surrogates are let through (P2). */
struct json json_check(const char *text, size_t len);
enum json_type json_type(struct json);
bool json_true(struct json);  /* Is it the literal true? */

/* The next member of an array or object: start with *at = 0; false at the end.
 * name is set for objects only (pass NULL for arrays). */
bool json_next(struct json, size_t *at, struct json *name, struct json *value);

bool json_is(struct json string, const char *text);  /* same, once decoded? */
/* Are both the same string once decoded, or else values of the same text? */
bool json_equal(struct json, struct json);

/* The members of an object by name, in one walk: found[i] is the value under
 * names[i], or JSON_NONE. Of equal names the last counts. */
void json_members(struct json object, const char *const names[],
    struct json found[], int n);
struct json json_get(struct json object, const char *name);
/* The same for the start of a text that is not complete, or not checked: the
 * members up to the first that is cut off or wrong. That one's value has a
 * length of 0, if its name is there. */
void json_first_members(const char *text, size_t len, const char *const names[],
    struct json found[], int n);

/* Reads a number whose value is an integer, however it is written: 5000.0, 5e3,
 * 1.5e3 and 1500e-1 are integers (P4). One beyond 10^18 counts as that. Returns
 * false if it is not an integer. */
bool json_int(struct json number, int64_t *value);

/* Appends the string decoded to UTF-8. A peer sizes it: false, if the memory is
 * refused (E7). A lone surrogate becomes U+FFFD (P2). */
bool json_decode(struct json string, struct buf *);
/* Appends the value's own JSON text, but a lone surrogate as \ufffd (P2) and
 * U+0085, U+2028 and U+2029 as escapes (M14). The result has at most
 * JSON_GROWTH times as many bytes. */
void json_verbatim(struct json, struct buf *);
enum { JSON_GROWTH = 3 };

/* Appends the bytes as a JSON string, with its quotes. What is not UTF-8
 * becomes U+FFFD, one for each maximal part of a sequence (O2, Unicode 3.9).
 * U+0085, U+2028 and U+2029 are escaped: some clients split lines there. */
void json_string(struct buf *, const void *bytes, size_t n);
void json_escaped(struct buf *, const void *bytes, size_t n);  /* without */

/* Each appends a member to an object: a comma, unless the object or the buffer
 * begins there, the name and the value. A text that is NULL, a value that is
 * JSON_NONE and a flag that is false are left out. */
void json_name(struct buf *, const char *name);  /* the value is to follow */
void json_put(struct buf *, const char *name, const char *text);
void json_put_bytes(struct buf *, const char *name, const void *, size_t n);
/* The same for a text that a peer sizes. Returns false if the memory is refused
 * (E7); then a part of the member may have been appended. */
bool json_try_bytes(struct buf *, const char *name, const void *, size_t n);
void json_put_number(struct buf *, const char *name, int64_t);
void json_put_true(struct buf *, const char *name, bool flag);
void json_put_value(struct buf *, const char *name, struct json);

#endif
