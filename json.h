/* SPDX-License-Identifier: ISC */
#ifndef JSON_H
#define JSON_H

/* Reads and writes JSON (RFC 8259).
 *
 * json_check() validates a complete JSON text. All other functions that read
 * JSON, except for json_first_members(), may be used only on values in a text
 * that json_check() has accepted. The functions that write JSON produce valid
 * JSON for all arguments. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/* A JSON value in a text that json_check() has accepted */
struct json {
	const char *text;  /* start of the value, or NULL if there is no value
	                    * (JSON_NONE) */
	size_t len;        /* length in bytes */
};

enum json_type {
	JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY,
	JSON_OBJECT
};
enum { JSON_DEPTH = 128 };  /* maximum nesting depth of arrays and objects */

/* -- Reading ----------------------------------------------------------- */

/* Checks that a text of len bytes is a single JSON value in UTF-8. Returns the
 * value without surrounding white space, or JSON_NONE if the text is invalid.
 * Lone surrogates are accepted (P2). */
struct json json_check(const char *text, size_t len);

enum json_type json_type(struct json);

/* Returns whether the value is the literal `true`. */
bool json_true(struct json);

/* Finds the next element of an array or the next member of an object. *at must
 * be 0 before the first call. Sets *name for objects only; `name` may be NULL
 * for arrays. Returns false after the last element or member, or if the value
 * is neither an array nor an object. */
bool json_next(struct json, size_t *at, struct json *name, struct json *value);

/* Returns whether the value is a string whose decoded form equals the text. */
bool json_is(struct json string, const char *text);

/* Returns whether two values are equal. Strings are compared in decoded form,
 * and all other values as raw text. */
bool json_equal(struct json, struct json);

/* Finds n members of an object by name. Sets found[i] to the value of the
 * member names[i], or to JSON_NONE if there is no such member. If a name occurs
 * more than once, the last member wins. */
void json_members(struct json object, const char *const names[],
    struct json found[], int n);
/* Returns the value of the member with the given name, or JSON_NONE. */
struct json json_get(struct json object, const char *name);
/* Finds n members by name in an object that may be truncated or invalid. `len`
 * is the length of the text in bytes. Stops at the first incomplete member. If
 * that member's name is complete, sets its entry in found[] to a value of
 * length 0. Sets all other entries as json_members() does. */
void json_first_members(const char *text, size_t len, const char *const names[],
    struct json found[], int n);

/* Parses a number whose value is an integer in any notation, such as 5000.0,
 * 5e3, 1.5e3 or 1500e-1 (P4). Values above 10^18 or below -10^18 are clamped to
 * these limits. Returns false if the value is not an integer. */
bool json_int(struct json number, int64_t *value);

/* Decodes a JSON string and appends it to a buffer in UTF-8. A lone surrogate
 * becomes U+FFFD (P2). Appends nothing if the value is not a string. Returns
 * false if allocation fails (E7). */
bool json_decode(struct json string, struct buf *);

/* Appends a value as JSON text. The appended text is at most JSON_GROWTH times
 * as long as the value. Lone surrogates are replaced with \ufffd (P2). U+0085,
 * U+2028 and U+2029 are written as escapes (M14). */
void json_verbatim(struct json, struct buf *);
enum { JSON_GROWTH = 3 };

/* -- Writing ----------------------------------------------------------- */

/* Appends bytes as a JSON string in quotes. Each maximal subpart of an invalid
 * UTF-8 sequence becomes U+FFFD, as section 3.9 of the Unicode standard
 * recommends (O2). U+0085, U+2028 and U+2029 are written as escapes, because
 * some clients split lines at these characters. */
void json_string(struct buf *, const void *bytes, size_t n);
/* Appends bytes as json_string() does, but without the quotes. */
void json_escaped(struct buf *, const void *bytes, size_t n);

/* The functions below append a member to an object: a comma if needed, the
 * name, and the value. They append nothing if the text is NULL, the value is
 * JSON_NONE, or the flag is false. */

/* Appends a comma if needed, and a member's name and colon. The caller appends
 * the value. */
void json_name(struct buf *, const char *name);
void json_put(struct buf *, const char *name, const char *text);
void json_put_bytes(struct buf *, const char *name, const void *, size_t n);
/* Appends a string member that may be too large for the available memory,
 * because a client determines its size. Returns false if allocation fails (E7).
 * In that case, part of the member may have been appended. */
bool json_try_bytes(struct buf *, const char *name, const void *, size_t n);
void json_put_number(struct buf *, const char *name, int64_t);
void json_put_true(struct buf *, const char *name, bool flag);
void json_put_value(struct buf *, const char *name, struct json);

#endif
