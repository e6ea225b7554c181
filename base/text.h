#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* Text: numbers in decimal, UTF-8, file names, and a search for one text in
 * another. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/* A number as a string, which lasts as long as the block that this stands in:
 * "80"; and milliseconds in seconds: "12.3". (They want zeroed room.) */
#define NUM(n) decimal((char[24]){ 0 }, (n))
#define SECS(ms) seconds((char[32]){ 0 }, (ms), 1)
const char *decimal(char room[24], int64_t n);
const char *seconds(char room[32], int64_t ms, int decimals);  /* 1 to 3 */

int hex_digit(char);  /* its value, of either case; 16: it is none */
/* The digits' value, and what is behind; -1: none, or too large (2^56). */
int64_t digits_value(const char *text, int base, const char **behind);

/* The length of the character at the start of n > 0 bytes; 0: it goes on
 * behind them; -k: one U+FFFD replaces the first k bytes (Unicode 3.9). */
int utf8_length(const unsigned char *p, size_t n);
bool utf8_continues(unsigned char);  /* Is it no character's first byte? */
size_t utf8_cut(const struct buf *text, int most);  /* bytes in `most` chars */

void path_tidy(char *path);  /* takes "." and ".." out, as `cd -L` does */
char *path_from(const char *dir, const char *name);  /* absolute */

/* A text to be found, which stays the caller's, with its failure function
 * (Knuth, Morris and Pratt). Zeroed, it is found nowhere. pattern_open()
 * returns false where the memory is refused. */
struct pattern {
	const char *bytes;
	size_t len;
	uint32_t *back;
};

bool pattern_open(struct pattern *, const char *bytes, size_t len);
void pattern_free(struct pattern *);  /* zeroed again */
/* How many bytes match up to c, if `matched` did before it; all: found */
size_t pattern_step(const struct pattern *, size_t matched, char c);

#endif
