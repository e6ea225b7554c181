#ifndef BUF_H
#define BUF_H

/* Growing buffers, and the characters and digits in them. Write freely and look
 * once, at `failed`, before it is used: no more is appended without memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes written one behind the other. A zeroed buffer is empty. One over an
 * array that has room for all never fails, and is not freed. */
struct buf {
	char *data;
	size_t len, cap;  /* Of cap bytes the first len are written. */
	bool failed;  /* There was no memory; nothing more is appended. */
};

bool buf_room(struct buf *, size_t more);  /* false, and failed: no memory */
void buf_put(struct buf *, const void *bytes, size_t n);
void buf_puts(struct buf *, const char *text);
#define buf_add(b, ...) buf_add_all((b), __VA_ARGS__, (const char *)NULL)
void buf_add_all(struct buf *, ...);  /* strings, one behind the other */
void buf_putc(struct buf *, char c);
void buf_int(struct buf *, int64_t n);  /* in decimal */
void buf_seconds(struct buf *, int64_t ms, int decimals);  /* 1 or 3: 12.3 */
void buf_time(struct buf *, int64_t ms);  /* "12.3 s" */
void buf_number(struct buf *, const char *before, int64_t n,
                const char *behind);
void buf_end_line(struct buf *);  /* a newline, unless one ends it */
void buf_shrink(struct buf *);  /* no more memory than it needs */
void buf_drop(struct buf *, size_t n);  /* the first n bytes; memory stays */
void buf_free(struct buf *);  /* makes it a zeroed buffer; twice is fine */

/* The length of the UTF-8 character at the start of n > 0 bytes; 0: it goes on
 * behind them; below 0: minus that of what a U+FFFD replaces (Unicode 3.9). */
int utf8_length(const unsigned char *p, size_t n);

/* The length of the first `most` characters of a text */
size_t buf_cut(const struct buf *text, int most);

/* Is it a byte of a character behind its first one? */
bool utf8_continues(unsigned char);

int hex_digit(char);  /* its value, of either case; 16: it is none */

/* The digits' value, and what is behind; -1: there are none, or above 2^56. */
int64_t digits_value(const char *text, int base, const char **behind);

#endif
