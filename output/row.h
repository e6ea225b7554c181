/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_ROW_H
#define OUTPUT_ROW_H

/* One row of a screen: cells with characters. No function checks that the row
 * has enough cells; the caller knows the number of columns. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "output/revised.h"

/* One column of a row: a character and up to two combining characters, with 21
 * bits each. Further combining characters are dropped. */
typedef uint64_t cell;

struct row {
	cell *cells;          /* cells, as many as the screen has columns */
	int used;             /* length of the row up to the last character, in
	                       * columns */
	bool wraps;           /* whether the text continues in the next row */
	struct row_history history;
};

/* Empties a row so that it can be reused as a new row, which no reader has
 * read. */
void row_reset(struct row *);

/* Returns the number of columns up to the last character that is not a
 * space. */
int row_trimmed(const struct row *);

/* Appends the first n columns to the buffer, as UTF-8. */
void row_put(const struct row *, int n, struct buf *);

/* Stores a character of one or two columns at column x. Wide characters of
 * which only one half is overwritten become blank. Returns false if the row
 * contains that character already. */
bool row_set(struct row *, int x, uint32_t code, int width);

/* Stores n characters of printable ASCII at column x, which must be at or after
 * the end of the row. */
void row_append(struct row *, int x, const unsigned char *ascii, int n);

/* Adds a combining character to the character before column x. Returns false if
 * no column precedes x. */
bool row_combine(struct row *, int x, uint32_t code);

/* Inserts n blank cells at column x. Cells that are moved past the last of
 * `columns` columns are lost. Returns false if nothing has changed. */
bool row_insert(struct row *, int x, int n, int columns);

/* Deletes n cells at column x. The following cells move to the left. Returns
 * false if nothing has changed. */
bool row_delete(struct row *, int x, int n);

/* Blanks the columns from `first` to `end` - 1. Returns false if nothing has
 * changed. */
bool row_erase(struct row *, int first, int end);

#endif
