/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

/* One stream of a command's output: stdout or stderr (O). Raw bytes are drawn
 * on a screen, so that the text is what a terminal would show. The text is
 * counted and its size is limited; a long stream is also saved raw. All memory
 * except for the first 64 KiB of the saved stream is allocated at the start:
 * up to 700 KB, or 1.6 MB with the highest limit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/options.h"
#include "output/cut.h"
#include "output/spool.h"
#include "output/unread.h"

struct output;

/* Memory of freed streams, which is reused for new streams. A zeroed struct is
 * empty. Allocating the memory for each call instead would make a call with a
 * short output 7 % slower. */
struct output_store {
	unsigned char *text[2];  /* blocks of memory, or NULL */
	size_t size[2];          /* size of each block, in bytes */
};

/* Creates an empty stream, which keeps as much text as output_show() needs for
 * limits of up to `limit` characters. The text of a terminal is drawn on a
 * screen of 50 rows (I6). Returns NULL if memory cannot be allocated. Drawing
 * output allocates no more memory, so that a command cannot exhaust it (E7). */
struct output *output_new(const struct options *, struct spool *,
                          int64_t limit, bool terminal);

/* Frees the stream, which may be NULL. The saved file remains if a reader knows
 * its path (O5). */
void output_free(struct output *);

/* Adds n raw bytes to the stream. The text does not depend on how the bytes are
 * split into calls. */
void output_write(struct output *, const void *bytes, size_t n);

/* Ends the stream. An incomplete character becomes U+FFFD. */
void output_end(struct output *);

/* Returns whether output_end() was called. */
bool output_has_ended(const struct output *);

/* Returns whether the program draws a screen instead of printing lines (I6). */
bool output_is_screen(const struct output *);

/* Returns the terminal's replies to queries of its program. The caller sends
 * the replies to the program and empties the buffer. */
struct buf *output_replies(struct output *);

/* Returns the number of raw bytes received. */
int64_t output_bytes(const struct output *);

/* Returns the size of the text that is kept, in bytes. */
size_t output_size(struct output *);

/* Returns whether the last line of the text has no newline yet. */
bool output_has_open_line(struct output *);

/* Returns whether the new text does not directly continue the text that was
 * read, because a row was rewritten or text was dropped. */
bool output_has_break(struct output *, const struct output_cursor *);

/* Returns whether there is new text after the cursor. */
bool output_has_new(struct output *, const struct output_cursor *);

/* Reads the next piece of new text and moves the cursor after it. Pieces are,
 * in this order: rows that were rewritten since the reader saw them, text that
 * was added, and changed rows of the alternate screen. Stores a pointer to the
 * piece, valid until the next call, in *text. Returns its length, or 0 at the
 * end. */
size_t output_read(struct output *, struct output_cursor *, const char **text);

/* Appends the last `limit` bytes of the new text to the buffer and moves the
 * cursor to the end. Rows that were rewritten are new text (O7). */
void output_append_new(struct output *, struct output_cursor *, size_t limit,
                       struct buf *);

/* Appends the last line, or the end of a long last line, to the buffer. */
void output_last_line(struct output *, struct buf *);

/* Moves the cursor to the end, so that all text counts as read. */
void output_mark_read(struct output *, struct output_cursor *);

/* What output_show() has shown */
struct output_view {
	int64_t chars;     /* number of characters of a text that was truncated,
	                    * or -1 if the text is complete */
	const char *file;  /* path of the saved file, owned by the stream, or
	                    * NULL */
};

/* Appends the text to the buffer, truncated to the bounds. If a cursor is
 * given, only new text is shown. For a full-screen program, its current screen
 * is shown instead, with a cursor only if the screen has changed. `name` is
 * the stream's name in the truncation line, such as "stdout". Creates the
 * saved file if the text is truncated. New text of a long stream is truncated
 * in the mode "tail" or TRUNCATE_RECENT. */
struct output_view output_show(struct output *, const struct output_cursor *,
                               const struct output_bounds *, const char *name,
                               struct buf *);

#endif
