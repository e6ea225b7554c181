#ifndef OUTPUT_SCREEN_H
#define OUTPUT_SCREEN_H

/* A terminal's screen: rows of characters and a cursor (ECMA-48, and what
 * xterm and the VT100 add to it). It turns the bytes that a program prints into
 * the text that a terminal would show. A row that scrolls off the top is final:
 * it is appended to the stream's text and never changes again.
 *
 * A terminal has 50 rows of 200 columns (I1), and an alternate screen of the
 * same size, whose rows never become text. A pipe has one row of 8,000 columns:
 * a newline finishes it, tabs and trailing blanks are kept, and moves to another
 * row are ignored (O1). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

enum {
	SCREEN_ROWS = 50,
	SCREEN_COLUMNS = 200,
	SCREEN_PIPE_COLUMNS = 8000,
	SCREEN_CELL_BYTES = 12,  /* of a character and two combining ones */
	/* Bytes of text that all rows have at most, each with a newline */
	SCREEN_STEP_MAX = SCREEN_ROWS *
	    (SCREEN_COLUMNS * SCREEN_CELL_BYTES + 1),
	SCREEN_LATE = 64         /* rows in the list of late ones */
};

struct screen;

/* Returns the number of bytes that screen_new() needs for the cells. */
size_t screen_memory(bool terminal);
/* Returns an empty screen, for a terminal or for a pipe. The memory for the
 * cells stays the caller's. */
struct screen *screen_new(bool terminal, void *memory);
/* Frees it; NULL is allowed. */
void screen_free(struct screen *);

/* Draws the first of the n > 0 bytes and appends the rows that become final to
 * `final`, as UTF-8, until less than SCREEN_STEP_MAX bytes of its memory are
 * left. Allocates nothing. Returns the number of bytes drawn. Any split of the
 * bytes into calls gives the same result. */
size_t screen_write(struct screen *, const void *bytes, size_t n,
                    struct buf *final);
/* Ends the output: an incomplete character is drawn as U+FFFD. */
void screen_end(struct screen *, struct buf *final);

/* Does the program draw a screen rather than print lines? It uses the alternate
 * screen, or has drawn text at an absolute position. */
bool screen_is_full(const struct screen *);

/* What has become final so far */
struct screen_final {
	int64_t rows;    /* rows; the number of the first row on the screen */
	int64_t chars;   /* characters, newlines included */
	int64_t lines;   /* newlines */
	int64_t bytes;
};
struct screen_final screen_final(const struct screen *);
/* Returns how many bytes so far were NUL or not UTF-8 (O9). */
int64_t screen_bad_bytes(const struct screen *);
/* Returns how many bytes of an incomplete character are not drawn yet. */
int64_t screen_pending_bytes(const struct screen *);

/* -- What is shown ----------------------------------------------------- */

/* Is it the alternate screen? */
bool screen_is_alternate(const struct screen *);
/* Returns the number of rows up to the last one that is not blank. */
int screen_height(const struct screen *);
/* Appends row i, from 0, as UTF-8, without trailing blanks or a newline. */
void screen_row(const struct screen *, int i, struct buf *);

/* -- The end of the text ----------------------------------------------- */

/* Returns how many rows of the main screen continue the final text, at least 1.
 * The last one is the one that the cursor, or text, has reached. */
int screen_lines(const struct screen *);
/* Appends row i of these, without a newline. Blanks before the cursor are kept,
 * and those that were read. */
void screen_line(const struct screen *, int i, struct buf *);

/* -- Changes ----------------------------------------------------------- */

/* Each change of a row gets a number, counted from 1. A reader keeps the number
 * of the last change that it has seen. 0: none yet. */
int64_t screen_change(const struct screen *);             /* the last one */
int64_t screen_row_change(const struct screen *, int i);  /* of a shown row */
/* Returns the number of the last change of a row of the text that did more than
 * continue the text at its end. */
int64_t screen_line_rewrite(const struct screen *, int i);

/* Notes that the rows of the text were read. If one of them is rewritten and
 * then becomes final, it is kept in a short list of late rows, so that readers
 * who have seen the earlier version can find it. */
void screen_mark_read(struct screen *);

struct screen_late {
	int64_t row;      /* its number */
	int64_t start, end;  /* bytes of the final text */
	int64_t rewrite;  /* as screen_line_rewrite() */
};
/* Returns the late row of index i, the oldest is 0; NULL: no more. */
const struct screen_late *screen_late(const struct screen *, int i);

/* -- Replies ----------------------------------------------------------- */

/* What the terminal answers to queries (cursor position, status, device
 * attributes), to be written to the program. The caller empties the buffer. */
struct buf *screen_replies(struct screen *);

#endif
