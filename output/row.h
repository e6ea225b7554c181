/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_ROW_H
#define OUTPUT_ROW_H

/* One row of a screen. The row_*() functions do not check their arguments, so
 * callers must pass only columns that exist on the screen. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "output/revised.h"

/* One column of a row: a character and up to two combining characters. Each
 * code point takes 21 bits. Further combining characters are dropped. */
typedef uint64_t cell;

struct row {
	cell *cells;          /* cells, one for each column of the screen */
	int used;             /* length of the row, in columns; all later
	                       * columns are blank */
	bool wraps;           /* whether the line continues on the next row */
	struct row_history history;
};

/* Empties a row and marks it as unread, so that it can be reused. */
void row_reset(struct row *);

/* Returns the length of the row without trailing spaces, in columns. */
int row_trimmed(const struct row *);

/* Appends the first n columns of the row to the buffer, as UTF-8. */
void row_put(const struct row *, int n, struct buf *);

/* Stores a character of one or two columns at column x. If this overwrites one
 * half of a wide character, the other half becomes blank. Returns false if
 * nothing changed because the row already contains the character at column
 * x. */
bool row_set(struct row *, int x, uint32_t code, int width);

/* Stores n printable ASCII characters at column x, which must not be less than
 * the row's length. */
void row_append(struct row *, int x, const unsigned char *ascii, int n);

/* Adds a combining character to the character preceding column x. Returns false
 * if x is the first column. */
bool row_combine(struct row *, int x, uint32_t code);

/* Inserts n blank cells at column x. Cells shifted past the end of the row,
 * which has `columns` columns, are lost. Returns false if nothing changed. */
bool row_insert(struct row *, int x, int n, int columns);

/* Deletes n cells at column x, and shifts the cells after them to the left.
 * Returns false if nothing changed. */
bool row_delete(struct row *, int x, int n);

/* Blanks columns `first` to `end` - 1. Returns false if nothing changed. */
bool row_erase(struct row *, int first, int end);

#endif
