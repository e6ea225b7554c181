/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_SCREEN_H
#define OUTPUT_SCREEN_H

/* A terminal's screen: rows of characters and a cursor (ECMA-48, VT100, xterm).
 * It turns the bytes that a program prints into the text that a terminal would
 * show. A row that scrolls off the top is final: it is appended to the stream's
 * text and never changes again.
 *
 * A terminal has 50 rows of 200 columns (I1) and an alternate screen of that
 * size, whose rows never become text. The screen of a pipe has one row of
 * 8,000 columns: a newline makes the row final, tabs and trailing blanks are
 * kept, and movements to other rows are ignored (O1). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "output/revised.h"

enum {
	SCREEN_ROWS = 50,        /* rows of a terminal, at most REVISED_ROWS */
	SCREEN_COLUMNS = 200,    /* columns of a terminal */
	SCREEN_PIPE_COLUMNS = 8000,  /* columns of the one-row screen of a
	                              * pipe */
	SCREEN_CELL_BYTES = 12,  /* maximum size of a character plus two
	                          * combining characters, in bytes */
	SCREEN_STEP_MAX = SCREEN_ROWS *
	    (SCREEN_COLUMNS * SCREEN_CELL_BYTES + 1)   /* maximum size in bytes
	                                                * of the text of all
	                                                * rows, with newlines */
};

struct screen;

/* Returns the number of bytes of memory that screen_new() needs for a terminal
 * or a pipe. */
size_t screen_memory(bool terminal);

/* Creates an empty screen for a terminal or a pipe. The screen stores its cells
 * in `memory`, which must be screen_memory() bytes long and remain valid until
 * screen_free(). */
struct screen *screen_new(bool terminal, void *memory);

/* Frees the screen, which may be NULL, and detaches all readers. */
void screen_free(struct screen *);

/* Draws n bytes of a program's output, which can end within a character or a
 * control sequence. Appends each row that scrolls off the screen to the buffer
 * `final`, as UTF-8. Stops when the buffer has less than SCREEN_STEP_MAX bytes
 * of free space. Never allocates memory. Returns the number of bytes drawn. */
size_t screen_write(struct screen *, const void *bytes, size_t n,
                    struct buf *final);

/* Marks the end of the program's output. If the output ends with an incomplete
 * character, draws U+FFFD in its place. */
void screen_end(struct screen *, struct buf *final);

/* Returns whether the program uses the full screen instead of printing lines:
 * the alternate screen is active, or the program has drawn text at an absolute
 * position. */
bool screen_is_full_screen(const struct screen *);

/* The size of the final text */
struct screen_final {
	int64_t rows;    /* number of rows that have scrolled off the screen,
	                  * and thus the number of the first row still on the
	                  * screen, counted from 0 */
	int64_t chars;   /* number of characters, including newlines */
	int64_t lines;   /* number of newlines */
	int64_t bytes;   /* size in bytes */
};

/* Returns the size of the text that has scrolled off the screen. */
struct screen_final screen_final(const struct screen *);

/* Returns the number of received bytes that were invalid UTF-8 or, on a pipe,
 * NUL (O9). */
int64_t screen_invalid_bytes(const struct screen *);

/* Returns the number of received bytes that have not been drawn yet because
 * they form an incomplete character. */
int64_t screen_pending_bytes(const struct screen *);

/* -- The active screen ------------------------------------------------- */

/* Returns whether the alternate screen is active. */
bool screen_is_alternate(const struct screen *);

/* Returns the number of rows, not counting trailing blank rows. */
int screen_height(const struct screen *);

/* Appends row i, counted from 0, to the buffer as UTF-8, without trailing
 * blanks and without a newline. */
void screen_row(const struct screen *, int i, struct buf *);

/* -- The rows of the main screen as text ------------------------------- */

/* Returns the number of rows of the main screen that belong to the output,
 * which is at least 1. The last of these rows is the last row with text or, if
 * line feeds have moved the cursor further down, the cursor's row. */
int screen_lines(const struct screen *);

/* Appends row i of the main screen to the buffer, without a newline. On a
 * terminal, omits trailing blanks, unless they precede the cursor or a reader
 * has already read them. */
void screen_line(const struct screen *, int i, struct buf *);

/* -- Changes; see revised.h -------------------------------------------- */

/* Returns the sequence number of the last change to the screen, or 0 if the
 * screen has never changed. A reader stores this number to determine later what
 * has changed since. */
int64_t screen_change(const struct screen *);

/* Returns the sequence number of the last change to row i of the active
 * screen. */
int64_t screen_row_change(const struct screen *, int i);

/* Returns the sequence number of the last rewrite of row i of the main screen.
 * Adding text at the end of the last row does not count as a rewrite. */
int64_t screen_line_rewrite(const struct screen *, int i);

/* Marks all rows of the main screen as read, and attaches the reader
 * (revised.h). */
void screen_mark_read(struct screen *, struct revised_reader *);

/* -- Replies ----------------------------------------------------------- */

/* Returns the buffer of replies to the program's queries for the cursor
 * position, the status and the device attributes. The caller sends the replies
 * to the program and then empties the buffer. */
struct buf *screen_replies(struct screen *);

#endif
