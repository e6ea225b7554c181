/* SPDX-License-Identifier: ISC */
/* Requires only C99. */

#include "output/row.h"

#include <string.h>

#include "base/text.h"

enum { CODE_BITS = 21, CODE_MASK = (1 << CODE_BITS) - 1 };

#define CELL_BLANK 0                   /* a cell without a character */
#define CELL_PADDING ((cell)1 << 63)   /* right half of a wide character */

/* Extends a row with blank cells to at least n columns. */
static void
widen_row(struct row *r, int n)
{
	while (r->used < n)
		r->cells[r->used++] = CELL_BLANK;
}

/* Blanks each wide character that crosses either edge of the n columns starting
 * at x, so that no half of the character remains. */
static void
split_wide(struct row *r, int x, int n)
{
	int i = x;

	if (x < r->used && (r->cells[x] & CELL_PADDING)) {
		while (i > 0 && (r->cells[i] & CELL_PADDING))
			r->cells[i--] = CELL_BLANK;
		r->cells[i] = CELL_BLANK;
	}
	for (i = x + n; i < r->used && (r->cells[i] & CELL_PADDING); i++)
		r->cells[i] = CELL_BLANK;
}

void
row_reset(struct row *r)
{
	r->used = 0;
	r->wraps = false;
	r->history = (struct row_history){ 0 };
}

int
row_trimmed(const struct row *r)
{
	int n = r->used;

	while (n > 0 && (r->cells[n - 1] == CELL_BLANK ||
	    r->cells[n - 1] == ' '))
		n--;
	return n;
}

static void
put_code(struct buf *b, uint32_t code)
{
	unsigned char p[4];
	size_t n = utf8_encode(code, p);

	buf_put(b, p, n);
}

static void
put_cell(struct buf *b, cell c)
{
	if (c & CELL_PADDING)
		return;
	if (c == CELL_BLANK) {
		buf_putc(b, ' ');
		return;
	}
	for (; c != 0; c >>= CODE_BITS)
		put_code(b, (uint32_t)(c & CODE_MASK));
}

void
row_put(const struct row *r, int n, struct buf *b)
{
	int i;

	for (i = 0; i < n; i++)
		put_cell(b, r->cells[i]);
}

bool
row_set(struct row *r, int x, uint32_t code, int width)
{
	cell *at = &r->cells[x];
	bool has_padding = width == 1 || at[1] == CELL_PADDING;

	if (x + width <= r->used && at[0] == code && has_padding)
		return false;
	split_wide(r, x, width);
	widen_row(r, x + width);
	at[0] = code;
	if (width == 2)
		at[1] = CELL_PADDING;
	return true;
}

void
row_append(struct row *r, int x, const unsigned char *ascii, int n)
{
	int i;

	widen_row(r, x);
	for (i = 0; i < n; i++)
		r->cells[x + i] = ascii[i];
	r->used = x + n;
}

bool
row_combine(struct row *r, int x, uint32_t code)
{
	cell c;

	x--;
	while (x >= 0 && x < r->used && (r->cells[x] & CELL_PADDING))
		x--;
	if (x < 0)
		return false;
	widen_row(r, x + 1);
	c = r->cells[x] == CELL_BLANK ? ' ' : r->cells[x];
	if (c >> CODE_BITS == 0)
		c |= (cell)code << CODE_BITS;
	else if (c >> (2 * CODE_BITS) == 0)
		c |= (cell)code << (2 * CODE_BITS);
	r->cells[x] = c;
	return true;
}

bool
row_insert(struct row *r, int x, int n, int columns)
{
	int i, end;

	if (x >= columns || x >= r->used)
		return false;
	if (n > columns - x)
		n = columns - x;
	split_wide(r, x, 0);
	end = r->used + n < columns ? r->used + n : columns;
	widen_row(r, end);
	for (i = end - 1; i >= x + n; i--)
		r->cells[i] = r->cells[i - n];
	for (i = x; i < x + n; i++)
		r->cells[i] = CELL_BLANK;
	return true;
}

bool
row_delete(struct row *r, int x, int n)
{
	if (x >= r->used)
		return false;
	if (n > r->used - x)
		n = r->used - x;
	split_wide(r, x, n);
	memmove(r->cells + x, r->cells + x + n,
	    (size_t)(r->used - x - n) * sizeof(*r->cells));
	r->used -= n;
	return true;
}

bool
row_erase(struct row *r, int first, int end)
{
	int i;

	if (end > r->used)
		end = r->used;
	if (first >= end)
		return false;
	split_wide(r, first, end - first);
	if (end == r->used) {
		r->used = first;
		return true;
	}
	for (i = first; i < end; i++)
		r->cells[i] = CELL_BLANK;
	return true;
}
