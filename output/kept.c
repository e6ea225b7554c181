/* SPDX-License-Identifier: ISC */
/* Requires only C99.
 *
 * The start of the text is kept up to the length that a result can show. After
 * that, the oldest text after the start is dropped to make space for new text.
 * The end of the text is always kept, up to the length that a result can show.
 * The rows on the screen are copied after it only when the stream is read. */

#include "output/kept.h"

#include <string.h>

#include "base/text.h"

enum {
	BATCH = 64 << 10      /* number of bytes that can be added to the text
	                       * before drop_middle() must be called again */
};

/* Returns the number of bytes of memory needed for the text that has scrolled
 * off the screen. A character has at most 4 bytes. */
static size_t
text_space(size_t head, size_t end)
{
	return 4 * head + end / 4 * 5 + SCREEN_STEP_MAX + BATCH;
}

/* Returns the number of bytes of memory needed for a copy of the rows on the
 * screen. */
static size_t
rows_space(bool terminal)
{
	return (terminal ? 2 : 1) * SCREEN_STEP_MAX;
}

size_t
kept_memory(size_t head, size_t end, bool terminal)
{
	return screen_memory(terminal) + text_space(head, end) +
	    rows_space(terminal);
}

void
kept_open(struct kept *k, size_t head, size_t end, bool terminal,
          unsigned char *memory)
{
	char *text = (char *)memory + screen_memory(terminal);

	memset(k, 0, sizeof(*k));
	k->screen = screen_new(terminal, memory);
	k->text = (struct buf){ text, 0, text_space(head, end) };
	k->rows_max = rows_space(terminal);
	k->head_left = (int64_t)head;
	k->end_bytes = end;
}

void
kept_close(struct kept *k)
{
	screen_free(k->screen);
}

/* Drops text from the middle of a long stream to make space for new text.
 * Always keeps the last end_bytes bytes. */
static void
drop_middle(struct kept *k)
{
	const size_t tail_max = k->end_bytes / 4 * 5;
	struct extent head = { k->head_left, CUT_UNLIMITED, CUT_UNLIMITED };
	struct buf *t = &k->text;
	size_t end, n;

	if (t->len - k->head_len < tail_max)
		return;
	if (k->dropped == 0) {
		head = cut_start(t->data + k->head_len, t->len - k->head_len,
		    &head);
		k->head_len += (size_t)head.bytes;
		k->head_left -= head.chars;
	}
	if (t->len - k->head_len < tail_max)
		return;
	end = t->len - k->end_bytes;
	while (utf8_continues((unsigned char)t->data[end]))
		end--;
	n = end - k->head_len;
	memmove(t->data + k->head_len, t->data + end, t->len - end);
	k->dropped += (int64_t)n;
	t->len -= n;
}

void
kept_write(struct kept *k, const unsigned char *bytes, size_t n)
{
	size_t done;

	k->drawn = false;
	while (n > 0) {
		drop_middle(k);
		done = screen_write(k->screen, bytes, n, &k->text);
		bytes += done;
		n -= done;
	}
}

void
kept_finish(struct kept *k)
{
	drop_middle(k);
	screen_end(k->screen, &k->text);
	k->drawn = false;
}

void
kept_update(struct kept *k)
{
	struct buf b = k->text;
	struct screen_final final = screen_final(k->screen);
	size_t i;
	int n;

	if (k->drawn)
		return;
	b.cap += k->rows_max;
	k->lines = screen_lines(k->screen);
	for (n = 0; n < k->lines; n++) {
		k->line_at[n] = b.len;
		screen_line(k->screen, n, &b);
		if (n < k->lines - 1)
			buf_putc(&b, '\n');
	}
	k->line_at[n] = b.len;
	k->total = (struct extent){ final.chars, final.bytes, final.lines };
	for (i = k->text.len; i < b.len; i++)
		k->total.chars += !utf8_continues((unsigned char)b.data[i]);
	k->total.bytes += (int64_t)(b.len - k->text.len);
	k->total.lines += k->lines - 1;
	k->shown = 0;
	if (screen_is_alternate(k->screen))
		k->shown = screen_height(k->screen);
	for (n = 0; n < k->shown; n++) {
		k->shown_at[n] = b.len;
		screen_row(k->screen, n, &b);
		buf_putc(&b, '\n');
	}
	k->shown_at[n] = b.len;
	k->drawn = true;
}

size_t
kept_end(const struct kept *k)
{
	return k->line_at[k->lines];
}

bool
kept_has_open_line(const struct kept *k)
{
	return k->line_at[k->lines - 1] < kept_end(k);
}

size_t
kept_index(const struct kept *k, int64_t position)
{
	int64_t head = (int64_t)k->head_len;
	size_t at = k->head_len, end = kept_end(k);

	if (position <= head)
		at = (size_t)position;
	else if (position >= head + k->dropped)
		at = (size_t)(position - k->dropped);
	while (at < end && utf8_continues((unsigned char)k->text.data[at]))
		at++;
	return at;
}

bool
kept_is_dropped(const struct kept *k, int64_t position)
{
	int64_t head = (int64_t)k->head_len;

	return position >= head && position < head + k->dropped;
}

size_t
kept_part_end(const struct kept *k, size_t at)
{
	return k->dropped > 0 && at < k->head_len ? k->head_len : kept_end(k);
}
