/* SPDX-License-Identifier: ISC */
/* Requires only C99. */

#include "output/revised.h"

void
revised_append(struct revisions *v, struct row_history *h)
{
	h->change = ++v->change;
}

void
revised_rewrite(struct revisions *v, struct row_history *h)
{
	h->change = ++v->change;
	h->rewrite = v->change;
	h->read_columns = 0;
	h->is_revised = h->was_read;
}

void
revised_mark_read(struct revisions *v, struct row_history *h, int64_t row,
                  int columns)
{
	/* If a reader has already read a different row with this row's number,
	 * mark this row as revised, so that the reader reads it as well. */
	if (!h->was_read && row < v->read_rows)
		h->is_revised = true;
	h->was_read = true;
	h->read_columns = columns;
	if (v->read_rows <= row)
		v->read_rows = row + 1;
}

void
revised_finish(struct revisions *v, const struct row_history *h, int64_t row,
               int64_t start, int64_t end)
{
	if (row >= v->read_rows) {
		v->shifted = false;
		return;
	}
	if (!h->was_read || h->is_revised)
		v->shifted = true;
	if (!v->shifted)
		return;
	/* If no reader has read this row, all of its text is unread. In this
	 * case, store the sequence number of the row's last change instead of
	 * its last rewrite, because adding text does not count as a rewrite. */
	v->revised[v->count++ % REVISED_MAX] = (struct revised_row){
		row, start, end, h->was_read ? h->rewrite : h->change
	};
}

const struct revised_row *
revised_get(const struct revisions *v, int i)
{
	size_t n = v->count < REVISED_MAX ? v->count : REVISED_MAX;

	if (i < 0 || (size_t)i >= n)
		return NULL;
	return &v->revised[(v->count - n + (size_t)i) % REVISED_MAX];
}
