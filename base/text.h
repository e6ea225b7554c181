/* SPDX-License-Identifier: ISC */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* Text functions: numbers, UTF-8, file names, and pattern search. None of them
 * depends on the locale. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/* Returns the value of a hexadecimal digit, or 16 for any other character. */
int hex_digit(char);
/* Parses the digits, in the given base, at the start of a string. Returns their
 * value, or -1 if there are no digits or the value is too large (above about
 * 2^60). Sets *end to the first character after the digits. */
int64_t digits_value(const char *text, int base, const char **end);

/* Checks the UTF-8 character at the start of p, which holds n bytes (at least
 * 1). Returns the character's length in bytes, or 0 if the character is
 * incomplete. If the bytes are invalid, returns -k, where k is the number of
 * leading bytes that must be replaced with one U+FFFD (Unicode, section
 * 3.9). */
int utf8_length(const unsigned char *p, size_t n);
/* Returns the code point of the UTF-8 character at p. `len` is the result of
 * utf8_length(), which must be positive. */
uint32_t utf8_decode(const unsigned char *p, int len);
/* Writes a code point as UTF-8. Returns the number of bytes, 1 to 4. */
size_t utf8_encode(uint32_t code, unsigned char *to);
/* Returns whether the byte is a UTF-8 continuation byte. */
bool utf8_continues(unsigned char);
/* Returns the number of bytes in the first `max` characters of a UTF-8 text. */
size_t utf8_cut(const struct buf *text, int max);

/* Removes "." and ".." components from an absolute path without resolving
 * symbolic links, as `cd -L` does. */
void path_tidy(char *path);
/* Returns the absolute path of a file. The caller must free it. A relative name
 * is appended to `dir`, which must be an absolute path. */
char *path_from(const char *dir, const char *name);

/* A search string, preprocessed for the Knuth-Morris-Pratt algorithm. A zeroed
 * pattern never matches. */
struct pattern {
	const char *bytes;  /* not copied; must stay valid */
	size_t len;
	uint32_t *back;
};

/* Prepares a zeroed pattern to search for a string of `len` bytes. Returns
 * false if allocation fails. */
bool pattern_open(struct pattern *, const char *bytes, size_t len);
/* Frees the memory that pattern_open() allocated, and zeroes the pattern. */
void pattern_free(struct pattern *);
/* Advances a search by the byte c. `matched` is the number of bytes of the
 * pattern that matched before c; it is 0 at the start. Returns the new number
 * of matched bytes. The pattern has been found when this number equals its
 * length. */
size_t pattern_step(const struct pattern *, size_t matched, char c);

#endif
