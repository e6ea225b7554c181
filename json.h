#ifndef JSON_H
#define JSON_H

/* JSON text (RFC 8259), read and written. A value is a slice of a text that
 * json_check() has found valid; the other readers rely on that, and each is one
 * walk along it. What is written is valid whatever goes in. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "buf.h"

/* A value inside a checked text. */
struct json {
	const char *text;  /* NULL where there is no value (JSON_NONE). */
	size_t len;
};

enum json_type {
	JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING,
	JSON_ARRAY, JSON_OBJECT
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

/* The members of an object by name, in one walk: found[i] is the value under
 * names[i], or JSON_NONE. Of equal names the last counts. */
void json_members(struct json object, const char *const names[],
    struct json found[], int n);
struct json json_get(struct json object, const char *name);

/* Are both the same string once decoded, or numbers of the same text? */
bool json_equal(struct json, struct json);

/* The number's value if it is an integer (5000.0 and 5e3 are, P4); beyond 10^18
 * it counts as that. False: it is not one. */
bool json_int(struct json number, int64_t *value);

/* These append the string decoded to UTF-8; and the value's own JSON text. Lone
 * surrogates become U+FFFD, or \ufffd in the JSON text (P2). */
void json_decode(struct json string, struct buf *);
void json_verbatim(struct json, struct buf *);

/* Appends the bytes as a JSON string, with its quotes. What is not UTF-8
 * becomes U+FFFD, one for each maximal part of a sequence (O2, Unicode 3.9). */
void json_string(struct buf *, const void *bytes, size_t n);
void json_escaped(struct buf *, const void *bytes, size_t n);  /* without */

#endif
