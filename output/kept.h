/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_KEPT_H
#define OUTPUT_KEPT_H

/* The text of a stream that is kept in memory. It consists of the final text,
 * of which the middle is dropped if the stream is long, and a copy of the rows
 * that are still on the screen.
 *
 * One block of memory contains the text:
 *
 *	head       the start of the final text
 *	           a gap, if text was dropped here
 *	tail       the end of the final text
 *	lines      the rows of the main screen, which continue the final text
 *	alternate  the rows of the alternate screen, if that is shown
 *
 * A position in the text counts dropped bytes, too; an index is a position in
 * the block of memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "output/cut.h"
#include "output/screen.h"

/* Other modules may read all members in the first group. Those in the second
 * group are valid after kept_update(). */
struct kept {
	struct screen *screen;
	struct buf text;      /* head and tail, followed by the copy of the
	                       * rows */
	size_t head_len;      /* length of the head, in bytes */
	int64_t dropped;      /* number of bytes dropped after the head */

	int lines;            /* number of rows that continue the final text, at
	                       * least 1 */
	int shown;            /* number of rows of the alternate screen; 0 if it
	                       * is not shown */
	size_t line_at[SCREEN_ROWS + 1];   /* index of each line, and the index
	                                    * after the last one */
	size_t shown_at[SCREEN_ROWS + 1];  /* index of each row of the alternate
	                                    * screen, and the index after the
	                                    * last one */
	struct extent total;  /* size of the final text and the lines */

	/* Only for kept.c */
	bool drawn;           /* whether the copy of the rows is up to date */
	size_t rows_max;      /* space for the copy of the rows, in bytes */
	size_t end_bytes;     /* length of the final text's end that is always
	                       * kept, in bytes */
	int64_t head_left;    /* number of characters by which the head may
	                       * grow */
};

/* Returns the size of the memory that kept_open() needs, in bytes. The first
 * `head` characters of the text are kept, and the last `end` bytes. */
size_t kept_memory(size_t head, size_t end, bool terminal);

/* Creates the screen and an empty text in the memory, which must not be freed
 * before kept_close(). `head` and `end` are as for kept_memory(). */
void kept_open(struct kept *, size_t head, size_t end, bool terminal,
               unsigned char *memory);
void kept_close(struct kept *);

/* Draws n bytes on the screen and keeps the rows that become final. */
void kept_write(struct kept *, const unsigned char *bytes, size_t n);

/* Ends the text. An incomplete character becomes U+FFFD. */
void kept_finish(struct kept *);

/* Copies the current rows of the screen to the memory after the tail, unless
 * the copy is up to date. */
void kept_update(struct kept *);

/* The following functions require that the copy of the rows is up to date. */

/* Returns the index of the end of the text. */
size_t kept_end(const struct kept *);

/* Returns whether the last line of the text has no newline yet. */
bool kept_has_open_line(const struct kept *);

/* Returns the index of a position in the text. If that text was dropped,
 * returns the index of the first text after the gap. The position may be
 * inside a character, because the screen only remembers a limited number of
 * revised rows. Then the index of the next character is returned. */
size_t kept_index(const struct kept *, int64_t position);

/* Returns whether the text at a position was dropped. */
bool kept_is_dropped(const struct kept *, int64_t position);

/* Returns the end of the contiguous text that contains an index: the gap, or
 * the end of the text. */
size_t kept_part_end(const struct kept *, size_t at);

#endif
