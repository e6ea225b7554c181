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

/* Other modules may read only the first two groups of members. The second group
 * is valid after kept_update(). */
struct kept {
	struct screen *screen;
	struct buf text;      /* start and end of the text that has scrolled off
	                       * the screen, then a copy of the rows on the
	                       * screen */
	size_t head_len;      /* length of the start of the text, in bytes */
	int64_t dropped;      /* number of bytes dropped from the middle of the
	                       * text */

	int lines;            /* number of rows of the main screen that belong
	                       * to the text, at least 1 */
	int shown;            /* number of rows of the alternate screen; 0 if it
	                       * is not shown */
	size_t line_at[SCREEN_ROWS + 1];   /* index of each of these rows in
	                                    * `text`, and of the end of the last
	                                    * row */
	size_t shown_at[SCREEN_ROWS + 1];  /* index of each row of the alternate
	                                    * screen in `text`, and of the end
	                                    * of the last row */
	struct extent total;  /* size of the complete text, including dropped
	                       * text and the rows of the main screen */

	/* Only for kept.c */
	bool drawn;           /* whether the copy of the screen's rows in `text`
	                       * is current */
	size_t rows_max;      /* memory for the copy of the screen's rows, in
	                       * bytes */
	size_t end_bytes;     /* minimum number of bytes to keep at the end of a
	                       * long stream */
	int64_t head_left;    /* number of characters that can still be added to
	                       * the head */
};

/* Returns the number of bytes of memory that kept_open() needs to keep the
 * first `head` characters and the last `end` bytes of a stream. */
size_t kept_memory(size_t head, size_t end, bool terminal);

/* Creates the screen and an empty text. `memory` has the size that
 * kept_memory() returns for the same arguments, and must not be freed before
 * kept_close(). */
void kept_open(struct kept *, size_t head, size_t end, bool terminal,
               unsigned char *memory);
void kept_close(struct kept *);

/* Draws n bytes on the screen, and stores the rows that scroll off it. */
void kept_write(struct kept *, const unsigned char *bytes, size_t n);

/* Ends the stream. An incomplete character becomes U+FFFD. */
void kept_finish(struct kept *);

/* Copies the rows on the screen to the end of the text, unless that copy is
 * current. */
void kept_update(struct kept *);

/* The functions below require that kept_update() was called after the last
 * change of the stream. */

/* Returns the index in memory of the end of the text. */
size_t kept_end(const struct kept *);

/* Returns whether the last line of the text lacks its newline. */
bool kept_has_open_line(const struct kept *);

/* Converts a position in the stream to an index in the memory block. If the
 * text there was dropped, returns the index of the first text after the dropped
 * part. If the position is inside a character, returns the index of the next
 * character. */
size_t kept_index(const struct kept *, int64_t position);

/* Returns whether the text at the position in the stream was dropped from
 * memory. */
bool kept_is_dropped(const struct kept *, int64_t position);

/* Returns the index up to which the text after a given index is contiguous: up
 * to the dropped part of the text, or up to its end. */
size_t kept_part_end(const struct kept *, size_t at);

#endif
