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
 * A position in the stream's text counts dropped bytes, too. An index counts
 * only the bytes in the block of memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "output/cut.h"
#include "output/screen.h"

/* The text of one stream. Other modules may read only the members up to
 * `total`. The members from `lines` to `total` are valid only after
 * kept_update(). */
struct kept {
	struct screen *screen;
	struct buf text;      /* the text that has scrolled off the screen (only
	                       * the start and the end of a long text), followed
	                       * by a copy of the rows on the screen */
	size_t head_len;      /* length in bytes of the head, the initial part
	                       * of the text, which is never dropped */
	int64_t dropped;      /* number of bytes dropped from the middle of the
	                       * text */

	int lines;            /* number of rows of the main screen copied to
	                       * `text`, at least 1 */
	int shown;            /* number of rows of the alternate screen copied
	                       * to `text`; 0 if the alternate screen is not
	                       * shown */
	size_t line_at[SCREEN_ROWS + 1];   /* index in `text` of each copied row
	                                    * of the main screen, followed by
	                                    * the index of the last row's end */
	size_t shown_at[SCREEN_ROWS + 1];  /* index in `text` of each copied row
	                                    * of the alternate screen, followed
	                                    * by the index of the last row's
	                                    * end */
	struct extent total;  /* total size of the stream's text, including
	                       * dropped text and the rows still on the main
	                       * screen */

	/* Only for kept.c */
	bool drawn;           /* true if the rows copied to `text` still match
	                       * the screen */
	size_t rows_max;      /* size in bytes of the space for copied rows in
	                       * `text` */
	size_t end_bytes;     /* minimum number of trailing bytes to keep of a
	                       * long stream */
	int64_t head_left;    /* number of characters that can still be added to
	                       * the head */
};

/* Returns the size, in bytes, of the memory that kept_open() requires to keep
 * the first `head` characters and the last `end` bytes of a stream. */
size_t kept_memory(size_t head, size_t end, bool terminal);

/* Initializes a new stream's text and creates its screen. `memory` must have
 * the size that kept_memory() returns for the same arguments, and must not be
 * freed before kept_close(). */
void kept_open(struct kept *, size_t head, size_t end, bool terminal,
               unsigned char *memory);
void kept_close(struct kept *);

/* Draws n bytes of output on the screen, and appends the rows that scroll off
 * it to the text. */
void kept_write(struct kept *, const unsigned char *bytes, size_t n);

/* Ends the stream. A trailing incomplete character becomes U+FFFD. */
void kept_finish(struct kept *);

/* Updates the copy of the screen's rows in `text`. Does nothing if the stream
 * has not changed since the last update. */
void kept_update(struct kept *);

/* The functions below require that kept_update() has been called since the last
 * change to the stream. */

/* Returns the end of the stream's text, as an index in `text`. Only rows of the
 * alternate screen can follow it. */
size_t kept_end(const struct kept *);

/* Returns whether the last line of the text lacks a trailing newline. */
bool kept_has_open_line(const struct kept *);

/* Converts a position in the stream to an index in `text`. If the text at that
 * position has been dropped, returns the index of the first byte after the
 * dropped part. If the position is inside a character, returns the index of the
 * next character. */
size_t kept_index(const struct kept *, int64_t position);

/* Returns whether the text at the given position in the stream has been dropped
 * from memory. */
bool kept_is_dropped(const struct kept *, int64_t position);

/* Returns the index in `text` of the first gap after `at`, where text was
 * dropped. Without a gap, returns the index of the end of the text. */
size_t kept_part_end(const struct kept *, size_t at);

#endif
