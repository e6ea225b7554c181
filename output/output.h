/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

/* One output stream of a command: stdout or stderr (O). The raw bytes are drawn
 * on a screen, so that the text is what a terminal would show. The size of the
 * text in memory is limited; a long stream is also saved to a file. All memory
 * except for the first 64 KiB of the saved stream is allocated at the start: up
 * to 700 KB, or 1.6 MB with the highest limit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/options.h"
#include "output/cut.h"
#include "output/spool.h"
#include "output/unread.h"

struct output;

/* Memory of freed streams, which new streams reuse. A zeroed struct is empty.
 * Without this, a call with short output would be 7 % slower. */
struct output_store {
	unsigned char *text[2];  /* blocks of memory, or NULL */
	size_t size[2];          /* size of each block, in bytes */
};

/* Creates an empty stream. `limit` is the highest limit in characters that will
 * be passed to output_show(). Returns NULL if allocation fails. Later drawing
 * allocates no memory, so that a command cannot exhaust it (E7). The screen of
 * a terminal has 50 rows (I6). */
struct output *output_new(const struct options *, struct spool *,
                          int64_t limit, bool terminal);

/* Frees the stream, which may be NULL. The saved file remains if a result has
 * shown its path (O5). */
void output_free(struct output *);

/* Adds n bytes of output to the stream. The bytes can end within a character or
 * a control sequence. */
void output_write(struct output *, const void *bytes, size_t n);

/* Ends the stream. An incomplete character becomes U+FFFD. */
void output_end(struct output *);

/* Returns whether output_end() was called. */
bool output_has_ended(const struct output *);

/* Returns whether the program uses the full screen instead of printing lines
 * (I6). */
bool output_is_screen(const struct output *);

/* Returns the terminal's replies to queries of the program. The caller sends
 * them to the program and empties the buffer. */
struct buf *output_replies(struct output *);

/* Returns the number of bytes received from the command. */
int64_t output_bytes(const struct output *);

/* Returns the size of the text in memory, in bytes. */
size_t output_size(struct output *);

/* Returns whether the last line of the text lacks its newline. */
bool output_has_open_line(struct output *);

/* Returns whether the unread text does not directly follow the text that was
 * read, because a row was rewritten or text was dropped. */
bool output_has_break(struct output *, const struct output_cursor *);

/* Returns whether the reader has unread text. */
bool output_has_new(struct output *, const struct output_cursor *);

/* Reads the next part of the unread text: first rows that were rewritten after
 * they were read, then added text, then changed rows of the alternate screen.
 * Sets *text, which is valid until the next call, and moves the cursor. Returns
 * the length of the part, or 0 if all text has been read. */
size_t output_read(struct output *, struct output_cursor *, const char **text);

/* Appends at most the last `limit` bytes of the unread text to the buffer, and
 * marks all text as read. Rewritten rows are unread text (O7). */
void output_append_new(struct output *, struct output_cursor *, size_t limit,
                       struct buf *);

/* Appends the last line of the stream to the buffer, or only its end if it is
 * long. */
void output_last_line(struct output *, struct buf *);

/* Marks all text of the stream as read. */
void output_mark_read(struct output *, struct output_cursor *);

/* Which text output_show() has appended */
struct output_view {
	int64_t chars;     /* total number of characters if the text was
	                    * truncated, or -1 */
	const char *file;  /* path of the saved file, or NULL; the stream owns
	                    * it */
};

/* Appends the text to the buffer. If the program uses the full screen, appends
 * the current screen instead. With a cursor, appends only unread text, or
 * nothing if all text has been read. Truncates text that is longer than the
 * bounds, and saves the complete text to a file. `name` is the stream's name
 * for the line that reports the truncation, such as "stdout". Unread text of a
 * long stream is truncated in the mode "tail" or TRUNCATE_RECENT. */
struct output_view output_show(struct output *, const struct output_cursor *,
                               const struct output_bounds *, const char *name,
                               struct buf *);

#endif
