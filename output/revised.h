/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_REVISED_H
#define OUTPUT_REVISED_H

/* Records which rows of a screen were rewritten after they had been read, so
 * that readers read them again.
 *
 * The rows of a stream are numbered, and so are the changes of its screen. A
 * reader remembers the number of the last change that it has seen. It must read
 * a row again if the last rewrite of the row has a higher number. As long as a
 * row is on the screen, struct row_history contains that number. A row that was
 * read and then rewritten before it became final is a revised row. The last 64
 * revised rows are remembered, with their positions in the final text.
 *
 * For example, a reader reads three rows and remembers change 40. Then row 1 is
 * rewritten by change 41, and all three rows scroll off the screen:
 *
 *	row 0    is not remembered
 *	row 1    is remembered with rewrite 41, so the reader reads it again
 *	row 2    is remembered with its own, older rewrite, because its position
 *	         has changed if row 1 has another length now; the reader does
 *	         not read it again */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REVISED_MAX = 64 };   /* maximum number of revised rows */

/* The changes of one row on the screen, with 0 <= rewrite <= change. A zeroed
 * struct is a new row. If the number of a row changes, the row must be marked
 * as rewritten. */
struct row_history {
	int64_t change;      /* number of the last change of the row */
	int64_t rewrite;     /* number of the last change other than text added
	                      * at the end of the stream */
	int read_columns;    /* number of columns that were read and have not
	                      * changed since */
	bool was_read;       /* whether a reader has read the row */
	bool is_revised;     /* whether a reader has read an earlier version of
	                      * this row, or another row that had its number */
};

/* A row that has scrolled off the screen and must be read again by readers of
 * an earlier version */
struct revised_row {
	int64_t row;         /* number of the row */
	int64_t start;       /* position of the row's first byte in the stream's
	                      * text */
	int64_t end;         /* position after the row's last byte in the
	                      * stream's text */
	int64_t rewrite;     /* number of the change that last rewrote the row;
	                      * a reader that has not seen this change must read
	                      * the row again */
};

/* The changes of a screen. A zeroed struct describes a screen that has not
 * changed. */
struct revisions {
	int64_t change;      /* number of the last change */
	int64_t read_rows;   /* number of the first row that no reader has
	                      * read */
	bool shifted;        /* whether the position of a row in the text may
	                      * have changed since the row was read */
	struct revised_row revised[REVISED_MAX];  /* ring buffer */
	size_t count;        /* number of revised rows so far */
};

/* Records that text was added at the end of the stream's last row. */
void revised_append(struct revisions *, struct row_history *);

/* Records any change of a row other than text added at the end of the last
 * row. */
void revised_rewrite(struct revisions *, struct row_history *);

/* Records that a reader has read the first `columns` columns of the row with
 * the given number. */
void revised_mark_read(struct revisions *, struct row_history *, int64_t row,
                       int columns);

/* Records that a row has scrolled off the screen, and remembers it if readers
 * may need its position. The row has the positions `start` to `end` in the
 * stream's text. Readers may need the position even if they have not read this
 * row, because other rows can have had the same number. */
void revised_finish(struct revisions *, const struct row_history *,
                    int64_t row, int64_t start, int64_t end);

/* Returns one of the remembered rows that have scrolled off the screen. Index 0
 * is the oldest one. Returns NULL if the index is too large. */
const struct revised_row *revised_get(const struct revisions *, int i);

#endif
