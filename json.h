#ifndef JSON_H
#define JSON_H

/* JSON (RFC 8259), read and written. A value that is read is a slice of a text
 * that json_check() has accepted; the other readers rely on that. What is
 * written is valid JSON, whatever the arguments are. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/* A value inside a checked text */
struct json {
	const char *text;  /* NULL: there is no value (JSON_NONE) */
	size_t len;        /* bytes */
};

enum json_type {
	JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY,
	JSON_OBJECT
};
enum { JSON_DEPTH = 128 };  /* arrays and objects inside each other, at most */

/* -- Reading ----------------------------------------------------------- */

/* Checks a text. Returns the one value that it consists of, without the white
 * space around it; or JSON_NONE if it is not JSON in UTF-8. Lone surrogates are
 * accepted (P2). */
struct json json_check(const char *text, size_t len);

enum json_type json_type(struct json);

/* Returns whether the value is the literal true. */
bool json_true(struct json);

/* Finds the next member of an array or object. Start with *at = 0. Returns
 * false at the end, and for other values. Sets *name for objects only; it may
 * be NULL for arrays. */
bool json_next(struct json, size_t *at, struct json *name, struct json *value);

/* Returns whether the value is a string that equals the text once decoded. */
bool json_is(struct json string, const char *text);

/* Returns whether both are the same string once decoded, or otherwise values
 * with the same text. */
bool json_equal(struct json, struct json);

/* Finds n members of an object by name: found[i] is the value of names[i], or
 * JSON_NONE. If a name occurs twice, the last member counts. */
void json_members(struct json object, const char *const names[],
    struct json found[], int n);
/* Returns the value of one member, or JSON_NONE. */
struct json json_get(struct json object, const char *name);
/* Finds members as json_members() does, but in the start of a text that may be
 * cut off, or wrong: up to the first member that is not complete. The value of
 * that one has a length of 0, if its name is known. */
void json_first_members(const char *text, size_t len, const char *const names[],
    struct json found[], int n);

/* Reads a number whose value is an integer, however it is written: 5000.0, 5e3,
 * 1.5e3 and 1500e-1 are integers (P4). One beyond 10^18 counts as 10^18.
 * Returns false if the value is not an integer. */
bool json_int(struct json number, int64_t *value);

/* Appends a string, decoded to UTF-8; a lone surrogate becomes U+FFFD (P2).
 * Other values append nothing. Returns false if memory is short (E7): a peer
 * determines the size. */
bool json_decode(struct json string, struct buf *);

/* Appends the JSON text of the value, with these changes: a lone surrogate
 * becomes \ufffd (P2), and U+0085, U+2028 and U+2029 are escaped (M14). The
 * result has at most JSON_GROWTH times as many bytes. */
void json_verbatim(struct json, struct buf *);
enum { JSON_GROWTH = 3 };

/* -- Writing ----------------------------------------------------------- */

/* Appends the bytes as a JSON string. Each maximal part of a sequence that is
 * not UTF-8 becomes U+FFFD (O2, Unicode 3.9). U+0085, U+2028 and U+2029 are
 * escaped, because some clients split lines there. */
void json_string(struct buf *, const void *bytes, size_t n);
/* The same without quotes. */
void json_escaped(struct buf *, const void *bytes, size_t n);

/* Each of the following appends a member to an object: a comma, unless it is
 * the first member or the buffer is empty, the name and the value. A text that
 * is NULL, a value that is JSON_NONE and a flag that is false append
 * nothing. */

/* Appends all but the value, which the caller appends. */
void json_name(struct buf *, const char *name);
void json_put(struct buf *, const char *name, const char *text);
void json_put_bytes(struct buf *, const char *name, const void *, size_t n);
/* The same for a text whose size a peer determines. Returns false if memory is
 * short (E7); a part of the member may have been appended then. */
bool json_try_bytes(struct buf *, const char *name, const void *, size_t n);
void json_put_number(struct buf *, const char *name, int64_t);
void json_put_true(struct buf *, const char *name, bool flag);
void json_put_value(struct buf *, const char *name, struct json);

#endif
