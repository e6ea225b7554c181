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

/* Memory of freed streams, kept for reuse by new streams. Without reuse, a tool
 * call with short output would be 7 % slower. A zeroed struct is an empty
 * store. */
struct output_store {
	unsigned char *text[2];  /* blocks of memory, or NULL */
	size_t size[2];          /* size of each block, in bytes */
};

/* Creates an empty stream, and allocates the memory for its text. Drawing the
 * output allocates no more memory, so that a command cannot exhaust the memory
 * (E7). `limit` is the highest limit in characters that will be passed to
 * output_show(). If `terminal` is true, the output is drawn on a screen with 50
 * rows (I6). Returns NULL if allocation fails. */
struct output *output_new(const struct options *, struct spool *,
                          int64_t limit, bool terminal);

/* Frees the stream, which may be NULL. The saved file remains if its path has
 * been reported in a result (O5). */
void output_free(struct output *);

/* Adds n bytes of output to the stream. The bytes may end in the middle of a
 * character or a control sequence. */
void output_write(struct output *, const void *bytes, size_t n);

/* Ends the stream. A trailing incomplete character becomes U+FFFD. */
void output_end(struct output *);

/* Returns whether output_end() has been called. */
bool output_has_ended(const struct output *);

/* Returns whether a full-screen program, rather than one that prints lines, is
 * running on the terminal (I6). Returns false once the stream has ended. */
bool output_is_screen(const struct output *);

/* Returns whether the stream has ended while the alternate screen was active.
 * The stream's text then lacks the rows of this screen (I6 i). */
bool output_ended_in_screen(const struct output *);

/* Returns the terminal's replies to queries from the program. The caller must
 * send the replies to the program and empty the buffer. */
struct buf *output_replies(struct output *);

/* Returns the number of bytes received from the command. */
int64_t output_bytes(const struct output *);

/* Returns the number of bytes of the stream's text that are held in memory. */
size_t output_size(struct output *);

/* Returns whether the last line of the text lacks a trailing newline. */
bool output_has_open_line(struct output *);

/* Returns whether there is a gap between the text that the reader has read and
 * the unread text: a row was rewritten, or text was dropped. Returns false if
 * all text has been read. */
bool output_has_break(struct output *, const struct output_cursor *);

/* Returns whether the stream contains text that the reader has not read yet. */
bool output_has_new(struct output *, const struct output_cursor *);

/* Returns whether output_show() with this cursor would append anything. This is
 * the case if the screen of a full-screen program has changed, or if a program
 * that prints lines has printed text that the reader has not read yet. */
bool output_has_new_to_show(struct output *, const struct output_cursor *);

/* Reads the next part of the unread text. The order is: text that was missed
 * during a full-screen program, rows that were rewritten after they were read,
 * added text, changed rows of the alternate screen. Sets *text to this part,
 * which is valid until the next call. Moves the reader's cursor after this
 * part. Returns the length of the part in bytes, or 0 if all text has been
 * read. */
size_t output_read(struct output *, struct output_cursor *, const char **text);

/* Appends the unread text, including rewritten rows, to the buffer (O7). If the
 * unread text is longer than `limit` bytes, appends only the last `limit`
 * bytes. Does not mark the text as read. */
void output_append_new(struct output *, const struct output_cursor *,
                       size_t limit, struct buf *);

/* Appends the last non-empty line of the stream to the buffer. If the line is
 * longer than 400 bytes, appends only its last 400 bytes. */
void output_last_line(struct output *, struct buf *);

/* Marks all text of the stream as read. */
void output_mark_read(struct output *, struct output_cursor *);

/* Marks the text that output_show() appends as read: all text of the stream or,
 * for a full-screen program, only the rows on its screen. */
void output_mark_shown(struct output *, struct output_cursor *);

/* Appends the text to the buffer. If output_is_screen() returns true, appends
 * the current screen instead. With a cursor, appends only unread text, or
 * nothing if all text has been read. Truncates text that is longer than the
 * bounds, and saves the complete text to a file. `name` is the stream's name in
 * the truncation line, such as "stdout". Unread text of a long stream is
 * truncated in the mode "tail" or TRUNCATE_RECENT. Returns the total number of
 * characters of the stream if the text is truncated, or -1 if it is shown in
 * full. */
int64_t output_show(struct output *, const struct output_cursor *,
                    const struct output_bounds *, const char *name,
                    struct buf *);

/* Appends the current screen to the buffer, or nothing if a cursor is given and
 * the screen has not changed since the reader read it. Truncates the screen as
 * output_show() does, and returns the same values. */
int64_t output_show_screen(struct output *, const struct output_cursor *,
                           const struct output_bounds *, const char *name,
                           struct buf *);

/* Returns the path of the stream's saved file, or NULL if nothing was saved to
 * a file. The stream owns the path. The path is valid until another stream is
 * saved or, if output_hold_file() has been called, until output_release_file()
 * is called. */
const char *output_file(const struct output *);

/* Until output_release_file() is called, keeps the stream's saved file from
 * being removed to free space for other streams. A result that names the files
 * of several streams must hold all of them, because saving one stream can
 * remove the files of others (O5). */
void output_hold_file(struct output *);
void output_release_file(struct output *);

#endif
