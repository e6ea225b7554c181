/* SPDX-License-Identifier: ISC */
/* Requires only C99.
 *
 * A reader first reads the text that it has missed, then the rows that were
 * rewritten after it had read them, then the added text, and then the changed
 * rows of the alternate screen. The changes of the screen are numbered to
 * determine which rows were rewritten (revised.h).
 *
 * For example, a program on a terminal prints three rows, with the numbers 0 to
 * 2. Then it rewrites row 1 and adds text to row 2:
 *
 *	the program prints      the reader reads
 *	"one\r\ntwo\r\nthree"   "one\ntwo\nthree", as added text
 *	"\r\e[ATWO"
 *	"\r\e[B\e[5C, four"     "TWO\n", as a rewritten row, and ", four", as
 *	                        added text
 *
 * After the first read, the reader's cursor is after byte 5 of row 2, and
 * contains the sequence number of the last change. At the second read, the last
 * rewrite of row 1 has a higher sequence number. Row 2 was not rewritten, so
 * the added text starts after its first 5 bytes.
 *
 * The rows that the reader has read can scroll off the screen before it reads
 * them again. Their positions in the stream's text then depend on how they were
 * rewritten. The only position that never changes is that of the first row that
 * was on the screen at the first read. To find the other rows, unread.c counts
 * the newlines after this position, because each row of a terminal that has
 * scrolled off its screen ends with a newline. The screen of a pipe has only
 * one row.
 *
 * A result for a full-screen program shows only the program's screen. Text that
 * has scrolled off the main screen before stays unread: the cursor records it
 * as missed. If the program uses the alternate screen, all unread text of the
 * main screen stays unread, and the cursor stays where it is. */

#include "output/unread.h"

#include <stdlib.h>
#include <string.h>

#include "output/kept.h"
#include "output/screen.h"

static bool
is_blank(const struct kept *k, size_t at, size_t end)
{
	return at == end || (end - at == 1 && k->text.data[at] == '\n');
}

/* Returns the number of the last row that the reader has read. */
static int64_t
last_row(const struct output_cursor *c)
{
	return c->reader.row + c->last;
}

/* Returns the index of the end of the row at the index `at`, including its
 * newline. Returns `end` if the row does not end before that. */
static size_t
row_end(const struct kept *k, size_t at, size_t end)
{
	const char *text = k->text.data;
	const char *newline = memchr(text + at, '\n', end - at);

	return newline == NULL ? end : (size_t)(newline - text) + 1;
}

/* Finds the next piece of the text that the reader has missed. The piece ends
 * where text was dropped from memory, or at the end of a part of the missed
 * text. Returns false if no such text exists. */
static bool
find_missed(const struct kept *k, const struct output_cursor *c,
            struct piece *p)
{
	const struct missed *m;
	int64_t start;
	size_t at, end, part_end;
	int i;

	for (i = 0; i < c->missed_parts; i++) {
		m = &c->missed[i];
		start = c->next > m->start ? c->next : m->start;
		at = kept_index(k, start);
		end = kept_index(k, m->end);
		part_end = kept_part_end(k, at);
		if (start >= m->end || at >= end)
			continue;
		*p = (struct piece){ READ_MISSED, at, end - at, false, m->end };
		if (end > part_end) {
			p->len = part_end - at;
			p->next = (int64_t)k->head_len + k->dropped;
		}
		return true;
	}
	return false;
}

/* Returns the number of the first row to check for rewrites. */
static int64_t
first_row(const struct output_cursor *c)
{
	return c->phase == READ_REWRITTEN ? c->next : 0;
}

/* Finds the next row that changed after the reader had read it and that has
 * scrolled off the screen. Returns false if no such row exists. */
static bool
find_final_row(const struct kept *k, const struct output_cursor *c,
               struct piece *p)
{
	size_t at = kept_index(k, c->start), part_end = kept_part_end(k, at);
	size_t end;
	int64_t row;
	int i;

	for (i = 0; i < c->last && c->reader.rewritten != 0; i++) {
		row = c->reader.row + i;
		end = row_end(k, at, part_end);
		if (row >= first_row(c) && !is_blank(k, at, end) &&
		    revised_is_rewritten(&c->reader, i)) {
			*p = (struct piece){ READ_REWRITTEN, at, end - at,
			    false, row + 1 };
			return true;
		}
		at = end;
	}
	return false;
}

/* Finds the next row that changed after the reader had read it and that is
 * still on the screen. Returns false if no such row exists. */
static bool
find_rewritten_line(const struct kept *k, const struct output_cursor *c,
                    struct piece *p)
{
	int64_t first = screen_final(k->screen).rows, row;
	size_t at, end;
	int i;

	for (i = 0; i < k->lines && first + i < last_row(c); i++) {
		row = first + i;
		at = k->line_at[i];
		end = k->line_at[i + 1];
		if (row < first_row(c) || is_blank(k, at, end) ||
		    screen_line_rewrite(k->screen, i) <= c->reader.change)
			continue;
		*p = (struct piece){ READ_REWRITTEN, at, end - at, false,
		    row + 1 };
		return true;
	}
	return false;
}

/* Finds the next row that was rewritten after the reader had read it. Returns
 * false if no such row exists. If the first row that the reader has read was
 * dropped from memory, the other rows cannot be found. In this case, the added
 * text includes them (find_position()). */
static bool
find_row(const struct kept *k, const struct output_cursor *c,
         struct piece *p)
{
	if (kept_is_dropped(k, c->start))
		return false;
	return find_final_row(k, c, p) || find_rewritten_line(k, c, p);
}

/* The start of the text added since the reader last read the stream */
struct position {
	int64_t at;           /* byte position in the stream's text */
	bool continues;       /* whether the added text directly follows what
	                       * the reader has already read */
};

/* Returns the start of the unread text in the last row that the reader has
 * read. If the row has been rewritten since then, the complete row is unread.
 * Otherwise, only the text after the first c->bytes bytes is unread. `start` is
 * the row's position in the stream's text. */
static struct position
position_in_row(const struct output_cursor *c, int64_t start, bool is_rewritten)
{
	if (is_rewritten)
		return (struct position){ start, false };
	return (struct position){ start + c->bytes, true };
}

/* Returns the start of the unread text in the last row that the reader has
 * read, after this row has scrolled off the screen. If part of the rows that
 * the reader has read was dropped from memory, returns the position of the
 * dropped part. */
static struct position
position_in_final_row(const struct kept *k, const struct output_cursor *c)
{
	size_t first = kept_index(k, c->start), at = first;
	size_t end = kept_part_end(k, first);
	int64_t start;
	int i;

	for (i = 0; i < c->last; i++)
		at = row_end(k, at, end);
	start = c->start + (int64_t)(at - first);
	return position_in_row(c, start, kept_is_dropped(k, start) ||
	    revised_is_rewritten(&c->reader, c->last));
}

/* Returns the start of the text that was added since the reader last read the
 * stream. */
static struct position
find_position(const struct kept *k, const struct output_cursor *c)
{
	struct screen_final final = screen_final(k->screen);
	int64_t row = last_row(c), start;
	int i;

	if (c->phase == READ_ADDED)
		return (struct position){ c->next, false };
	if (kept_is_dropped(k, c->start))
		return (struct position){ c->start, false };
	if (row < final.rows)
		return position_in_final_row(k, c);
	if (row >= final.rows + k->lines)
		return (struct position){ k->total.bytes, false };
	i = (int)(row - final.rows);
	start = final.bytes + (int64_t)(k->line_at[i] - k->text.len);
	return position_in_row(c, start,
	    screen_line_rewrite(k->screen, i) > c->reader.change);
}

/* Finds the next part of the text added since the reader last read the stream.
 * The part ends where text was dropped from memory, or at the end of the
 * stream's text. Returns false if all text has been read. */
static bool
find_text(const struct kept *k, const struct output_cursor *c,
          struct piece *p)
{
	struct position from = find_position(k, c);

	if (from.at >= k->total.bytes)
		return false;
	p->phase = READ_ADDED;
	p->at = kept_index(k, from.at);
	p->len = kept_part_end(k, p->at) - p->at;
	p->continues = from.continues && c->next == 0 &&
	    !kept_is_dropped(k, from.at);
	p->next = k->total.bytes;
	if (p->at + p->len < kept_end(k))
		p->next = (int64_t)k->head_len + k->dropped;
	return p->len > 0;
}

/* Finds the next row of the alternate screen that has changed since the
 * reader's last read. Returns false if no such row exists. */
static bool
find_shown(const struct kept *k, const struct output_cursor *c,
           struct piece *p)
{
	int i = c->phase == READ_ALTERNATE ? (int)c->next : 0;
	size_t at, end;

	for (; i < k->shown; i++) {
		at = k->shown_at[i];
		end = k->shown_at[i + 1];
		if (screen_row_change(k->screen, i) <= c->screen_change ||
		    is_blank(k, at, end))
			continue;
		*p = (struct piece){ READ_ALTERNATE, at, end - at, false,
		    i + 1 };
		return true;
	}
	return false;
}

bool
unread_find(struct kept *k, const struct output_cursor *c, struct piece *p)
{
	bool has_changed = screen_change(k->screen) > c->reader.change;

	kept_update(k);
	if (c->phase == READ_MISSED && find_missed(k, c, p))
		return true;
	if (has_changed && c->phase <= READ_REWRITTEN && find_row(k, c, p))
		return true;
	if (c->phase != READ_ALTERNATE && find_text(k, c, p))
		return true;
	return unread_has_new_screen(k, c) && find_shown(k, c, p);
}

void
unread_skip(struct output_cursor *c, const struct piece *p)
{
	c->phase = p->phase;
	c->next = p->next;
}

int64_t
unread_position(const struct kept *k, const struct output_cursor *c)
{
	return find_position(k, c).at;
}

/* Marks all text of the stream as read, apart from missed text. */
static void
mark_rows_read(struct kept *k, struct output_cursor *c)
{
	int last;

	kept_update(k);
	last = k->lines - 1;
	screen_mark_read(k->screen, &c->reader);
	c->start = screen_final(k->screen).bytes;
	c->last = last;
	c->bytes = (int64_t)(k->line_at[last + 1] - k->line_at[last]);
	c->lines = k->total.lines;
	c->screen_change = screen_change(k->screen);
	c->phase = READ_MISSED;
	c->next = 0;
}

void
unread_mark_read(struct kept *k, struct output_cursor *c)
{
	mark_rows_read(k, c);
	c->missed_parts = 0;
}

void
unread_copy(struct output_cursor *c, const struct output_cursor *from)
{
	int i;

	unread_close(c);
	*c = *from;
	revised_copy(&c->reader);
	if (from->missed_parts == 0) {
		c->missed = NULL;
		return;
	}
	c->missed = mem_get(MISSED_MAX * sizeof(*c->missed));
	for (i = 0; i < from->missed_parts; i++)
		c->missed[i] = from->missed[i];
}

void
unread_close(struct output_cursor *c)
{
	revised_detach(&c->reader);
	free(c->missed);
	c->missed = NULL;
	c->missed_parts = 0;
}

/* Records that the reader has missed a part of the text, which must not be
 * before other missed text. Omits a blank part, such as the newline after the
 * last row that the reader has read. */
static void
add_missed(const struct kept *k, struct output_cursor *c, struct missed m)
{
	struct missed *last;

	if (m.start >= m.end ||
	    is_blank(k, kept_index(k, m.start), kept_index(k, m.end)))
		return;
	if (c->missed == NULL)
		c->missed = mem_get(MISSED_MAX * sizeof(m));
	if (c->missed_parts == 0) {
		c->missed[c->missed_parts++] = m;
		return;
	}
	last = &c->missed[c->missed_parts - 1];
	if (last->end == m.start || c->missed_parts == MISSED_MAX) {
		last->end = m.end;
		last->end_line = m.end_line;
	} else {
		c->missed[c->missed_parts++] = m;
	}
}

/* Records that the reader has missed the rewritten rows that have scrolled off
 * the screen. */
static void
add_missed_rows(const struct kept *k, struct output_cursor *c)
{
	struct output_cursor rest = *c;
	struct piece p;
	struct missed m;

	while (find_final_row(k, &rest, &p)) {
		m.start = c->start + (int64_t)(p.at - kept_index(k, c->start));
		m.end = m.start + (int64_t)p.len;
		/* Each row is a line. p.next is the number of the row after
		 * this one. */
		m.end_line = c->lines - (last_row(c) - p.next);
		m.first_line = m.end_line - 1;
		add_missed(k, c, m);
		unread_skip(&rest, &p);
	}
}

void
unread_mark_screen_read(struct kept *k, struct output_cursor *c)
{
	struct screen_final final = screen_final(k->screen);
	struct missed added = { 0, final.bytes, c->lines, final.lines };

	kept_update(k);
	c->screen_change = screen_change(k->screen);
	if (screen_is_alternate(k->screen))
		return;
	added.start = find_position(k, c).at;
	if (!kept_is_dropped(k, c->start))
		add_missed_rows(k, c);
	add_missed(k, c, added);
	mark_rows_read(k, c);
}

struct extent
unread_missed_size(const struct output_cursor *c)
{
	struct extent size = { 0, 0, 0 };
	int i;

	for (i = 0; i < c->missed_parts; i++) {
		size.bytes += c->missed[i].end - c->missed[i].start;
		size.lines += c->missed[i].end_line - c->missed[i].first_line;
	}
	size.chars = size.bytes;
	return size;
}

bool
unread_has_new_screen(const struct kept *k, const struct output_cursor *c)
{
	return screen_change(k->screen) > c->screen_change;
}
