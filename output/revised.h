/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_REVISED_H
#define OUTPUT_REVISED_H

/* Records which rows of a screen were rewritten after they had been read, so
 * that readers reread them.
 *
 * The rows of a stream are numbered, and each change to its screen has a
 * sequence number. A reader remembers the sequence number of the last change
 * that it has seen. It must reread a row if the row's last rewrite has a higher
 * sequence number. As long as a row is on the screen, struct row_history
 * contains the sequence number of its last rewrite. A row that was read and
 * then rewritten before it became final is a revised row. The last 64 revised
 * rows are remembered, with their positions in the final text.
 *
 * For example, a reader reads three rows and remembers change 40. Then row 1 is
 * rewritten by change 41, and all three rows scroll off the screen:
 *
 *	row 0    is not remembered
 *	row 1    is remembered with rewrite 41, so the reader rereads it
 *	row 2    is remembered with its own, older rewrite, because its position
 *	         has changed if row 1 now has a different length; the reader
 *	         does not reread it */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REVISED_MAX = 64 };   /* maximum number of revised rows */

/* The history of one row on the screen: its changes, and how much of it has
 * been read. A zeroed struct represents a new row. If the row's number changes,
 * the row must be marked as rewritten. */
struct row_history {
	int64_t change;      /* sequence number of the last change to the row */
	int64_t rewrite;     /* sequence number of the row's last rewrite (any
	                      * change other than adding text at the end of the
	                      * stream) */
	int read_columns;    /* number of columns read since the row's last
	                      * rewrite */
	bool was_read;       /* whether any reader has read the row */
	bool is_revised;     /* whether a reader has read an outdated version of
	                      * this row, or a different row with the same
	                      * number */
};

/* A row that has scrolled off the screen, and its position in the stream's
 * text. Readers that have not seen the row's last rewrite must reread the
 * row. */
struct revised_row {
	int64_t row;         /* number of the row */
	int64_t start;       /* byte position of the row in the stream's text */
	int64_t end;         /* byte position of the row's end */
	int64_t rewrite;     /* sequence number of the row's last rewrite */
};

/* The changes to a screen. A zeroed struct represents an unchanged screen. */
struct revisions {
	int64_t change;      /* sequence number of the last change to the
	                      * screen */
	int64_t read_rows;   /* number of the first row not yet read by any
	                      * reader */
	bool shifted;        /* whether a row's position in the stream's text
	                      * may have changed since the row was read */
	struct revised_row revised[REVISED_MAX];  /* ring buffer */
	size_t count;        /* number of revised rows so far */
};

/* Records that text was added at the end of the stream's last row. */
void revised_append(struct revisions *, struct row_history *);

/* Records any change to a row, except for text added at the end of the stream's
 * last row. */
void revised_rewrite(struct revisions *, struct row_history *);

/* Records that one of the stream's readers has read the first `columns` columns
 * of the row with the number `row`. */
void revised_mark_read(struct revisions *, struct row_history *, int64_t row,
                       int columns);

/* Records that a row has scrolled off the screen and now occupies bytes `start`
 * to `end` - 1 of the stream's text. Remembers the row if a reader has read a
 * row with this number, and that row may have been replaced, rewritten or moved
 * in the text since then. */
void revised_finish(struct revisions *, const struct row_history *,
                    int64_t row, int64_t start, int64_t end);

/* Returns the remembered row with index i, or NULL if i is out of range. Index
 * 0 is the oldest row. */
const struct revised_row *revised_get(const struct revisions *, int i);

#endif
