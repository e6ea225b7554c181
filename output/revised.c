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
}

void
revised_finish(struct revisions *v, const struct row_history *h, int64_t row)
{
	struct revised_reader *reader;
	struct list_node *n;
	int64_t i;

	if (row >= v->read_rows)
		return;
	for (n = v->readers.first; n != NULL; n = n->next) {
		reader = LIST_ITEM(n, struct revised_reader, node);
		i = row - reader->row;
		if (i < REVISED_ROWS && h->rewrite > reader->change)
			reader->rewritten |= (uint64_t)1 << i;
	}
}

void
revised_read(struct revisions *v, struct revised_reader *reader, int64_t row)
{
	if (reader->readers == NULL) {
		reader->readers = &v->readers;
		list_append(reader->readers, &reader->node);
	}
	if (v->read_rows < row + REVISED_ROWS)
		v->read_rows = row + REVISED_ROWS;
	reader->row = row;
	reader->change = v->change;
	reader->rewritten = 0;
}

void
revised_copy(struct revised_reader *reader)
{
	if (reader->readers != NULL)
		list_append(reader->readers, &reader->node);
}

void
revised_detach(struct revised_reader *reader)
{
	if (reader->readers == NULL)
		return;
	list_remove(reader->readers, &reader->node);
	reader->readers = NULL;
}

void
revised_free(struct revisions *v)
{
	while (v->readers.first != NULL)
		revised_detach(LIST_ITEM(v->readers.first,
		    struct revised_reader, node));
}

bool
revised_is_rewritten(const struct revised_reader *reader, int i)
{
	return i < REVISED_ROWS && (reader->rewritten >> i & 1) != 0;
}
