#ifndef SCAN_H
#define SCAN_H

/* Long runs of bytes, looked through by the block: nearly all that goes
 * through boris is text in which nothing happens, and at that speed memory is
 * the limit. What is found is decided by bytes in the rooms above. */

#include <stdbool.h>
#include <stddef.h>

enum {
	SCAN_BLOCK = 64,  /* bytes looked at together */
	SCAN_WORD = 8     /* marks that follow a block's own */
};

struct scan_count {
	size_t newlines;
	size_t inner;  /* bytes that do not begin a character */
};

/* memchr(), quick also where the C library goes by words, as musl does. */
const void *scan_byte(const void *p, int byte, size_t n);

/* Bytes up to and with the last newline, or 0 */
size_t scan_lines(const unsigned char *p, size_t n);

struct scan_count scan_count(const unsigned char *p, size_t n);

/* Each of these: how many bytes at p are surely so, a multiple of a block but
 * for what is said. 0: there may be some all the same.
 *
 * Not this byte. */
size_t scan_without(const void *p, int byte, size_t n);

/* Controls below tab */
size_t scan_controls(const unsigned char *p, size_t n);

/* Whole UTF-8 characters (Unicode 3.9, table 3-7) as they may stand in a JSON
 * string (RFC 8259, section 7): no quote, no backslash, no control. A
 * character begins at p, and the 3 bytes before are there. */
size_t scan_string(const char *p, size_t n);

/* Whole UTF-8 characters that are printable, tab or newline: no control, of
 * C1 neither. The 3 bytes before p are such too. They are counted. */
size_t scan_clean(const unsigned char *p, size_t n, struct scan_count *);

/* Marks the bytes of the block at p that are not 0x20 to 0x7E, tab or newline,
 * and SCAN_WORD more behind them, as if there were one. */
void scan_mark(const unsigned char *p, unsigned char *marks);

#endif
