#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* Text: digits, UTF-8, file names, and a search for one text in another. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/* Returns the value of a hexadecimal digit of either case, or 16 for any other
 * character. */
int hex_digit(char);
/* Reads the digits that a text starts with. Returns their value, or -1 if there
 * are none or the value is too large (about 2^60). Sets *end to the first
 * character that was not read. */
int64_t digits_value(const char *text, int base, const char **end);

/* Returns the length of the character that n > 0 bytes start with; 0 if these
 * are only the start of a character; -k if the first k bytes are no character,
 * and one U+FFFD is to replace them (Unicode 3.9). */
int utf8_length(const unsigned char *p, size_t n);
/* Returns the code point of the character of len bytes at p, which utf8_length()
 * has found. */
uint32_t utf8_decode(const unsigned char *p, int len);
/* Writes a code point as UTF-8 and returns the number of bytes, 1 to 4. */
size_t utf8_encode(uint32_t code, unsigned char *to);
/* Can this byte only follow others in a character? */
bool utf8_continues(unsigned char);
/* Returns the length in bytes of the first `most` characters. */
size_t utf8_cut(const struct buf *text, int most);

/* Removes "." and ".." from an absolute path, as `cd -L` does. */
void path_tidy(char *path);
/* Returns the path of a name that is relative to the absolute path dir, or
 * absolute itself; the caller frees it. */
char *path_from(const char *dir, const char *name);

/* A text to search for, with its failure function (Knuth, Morris and Pratt).
 * Zeroed, it is never found. */
struct pattern {
	const char *bytes;  /* the caller's */
	size_t len;
	uint32_t *back;
};

/* Prepares the search. Returns false if allocation fails. */
bool pattern_open(struct pattern *, const char *bytes, size_t len);
/* Frees the failure function; the pattern is zeroed. */
void pattern_free(struct pattern *);
/* Returns how many bytes of the pattern match the text up to and including c,
 * if `matched` of them match the text before it. At len, the pattern is
 * found. */
size_t pattern_step(const struct pattern *, size_t matched, char c);

#endif
