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
 * contains the sequence number of its last rewrite. When the row scrolls off
 * the screen, this history is lost, so revised_finish() tells each reader
 * whether it must reread the row. A reader only needs this for the rows that
 * were on the screen when it read them, because all later rows are new to it.
 *
 * For example, a reader reads three rows and remembers change 40. Then row 1 is
 * rewritten by change 41, and all three rows scroll off the screen. Now bit 1
 * of the reader's member `rewritten` is set, and bits 0 and 2 are not. */

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"

/* The history of one row on the screen. A zeroed struct represents a new row.
 * If the row's number changes, the row must be marked as rewritten. */
struct row_history {
	int64_t change;      /* sequence number of the last change to the row */
	int64_t rewrite;     /* sequence number of the row's last rewrite (any
	                      * change other than adding text at the end of the
	                      * stream) */
	int read_columns;    /* number of columns that any reader has read since
	                      * the row's last rewrite */
};

/* What a reader has seen of the screen. A zeroed struct represents a reader
 * that has not read anything and is not attached. */
struct revised_reader {
	int64_t row;         /* number of the first row that was on the screen
	                      * when the reader last read it */
	int64_t change;      /* sequence number of the last change that the
	                      * reader has seen */
	uint64_t rewritten;  /* Bit i is set if row `row` + i has scrolled off
	                      * the screen and was rewritten after the reader
	                      * had read it. */

	/* Only for revised.c */
	struct list *readers;   /* the list that contains the reader, or NULL if
	                         * the reader is not attached */
	struct list_node node;  /* node in the list */
};

enum { REVISED_ROWS = 64 };  /* maximum number of rows on a screen, which is the
                              * number of bits in `rewritten` */

/* The changes to a screen. A zeroed struct represents an unchanged screen. */
struct revisions {
	int64_t change;      /* sequence number of the last change to the
	                      * screen */
	int64_t read_rows;   /* number of a row that is beyond the rows of all
	                      * readers */
	struct list readers; /* the attached readers */
};

/* Records that text was added at the end of the stream's last row. */
void revised_append(struct revisions *, struct row_history *);

/* Records any change to a row, except for text added at the end of the stream's
 * last row. */
void revised_rewrite(struct revisions *, struct row_history *);

/* Records that the row with the number `row` has scrolled off the screen. */
void revised_finish(struct revisions *, const struct row_history *,
                    int64_t row);

/* Records that a reader has read the screen. `row` is the number of the first
 * row on it. Attaches the reader, so that it must not be moved in memory until
 * it is detached. */
void revised_read(struct revisions *, struct revised_reader *, int64_t row);

/* Attaches a reader that was copied from another one by assignment to the same
 * screen, unless the other one is not attached. */
void revised_copy(struct revised_reader *);

/* Detaches a reader, which may already be detached. */
void revised_detach(struct revised_reader *);

/* Detaches all readers. */
void revised_free(struct revisions *);

/* Returns whether row `row` + i of the reader has scrolled off the screen and
 * was rewritten after the reader had read it. */
bool revised_is_rewritten(const struct revised_reader *, int i);

#endif
