/* SPDX-License-Identifier: ISC */
/* Requires only C99.
 *
 * output_write() saves the raw bytes and draws them on the screen. Rows that
 * scroll off the screen are final and never change again. One block of memory
 * contains the text:
 *
 *	head       the start of the final text
 *	           a gap, if text was dropped here
 *	tail       the end of the final text
 *	lines      the rows of the main screen, which continue the final text
 *	alternate  the rows of the alternate screen, if that is shown
 *
 * The head grows until a result cannot show more of the start. Then the oldest
 * text of the tail is dropped whenever new text needs the space, but the tail
 * always contains what a result may show of the end. The rows after the tail
 * are only copied there when the stream is read (update_rows()).
 *
 * A position in the text counts dropped bytes, too; an index is a position in
 * the block of memory. */

#include "output/output.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "output/cut.h"
#include "output/screen.h"

enum {
	SAMPLE_MAX = 4000,    /* number of bytes at the start of a stream that
	                       * are examined to detect binary output (O9) */
	SAMPLE_MIN = 200,     /* minimum number of bytes that are needed to
	                       * detect binary output (O9) */
	LAST_LINE = 400,      /* maximum length of the text that
	                       * output_last_line() appends, in bytes */
	REUSED_MAX = 8192,    /* maximum length of a stream whose memory is
	                       * reused, in bytes */
	BATCH = 64 << 10,     /* space for new text between two calls of
	                       * drop_middle(), in bytes */
	JOINED_MAX = 64 << 10,  /* maximum length of new text that is joined
	                         * with rewritten rows, in bytes */
	NOTICE = 220          /* maximum length of a truncation line without the
	                       * path of the saved file, in bytes */
};

static const struct extent unlimited = {
	CUT_UNLIMITED, CUT_UNLIMITED, CUT_UNLIMITED
};

struct output {
	const struct options *options;
	struct spool_file *file;
	struct screen *screen;
	bool terminal, ended;
	bool is_binary;       /* whether the output is not text (O9) */
	int64_t raw;          /* number of raw bytes received */

	unsigned char *memory;  /* block of memory for the screen's cells and
	                         * the text */
	size_t size;          /* size of that block, in bytes */
	struct buf text;      /* head and tail */
	size_t rows_max;      /* space for the screen's rows after the tail, in
	                       * bytes */
	size_t end_bytes;     /* length of the final text's end that is always
	                       * kept, in bytes */
	size_t head_len;      /* length of the head, in bytes */
	int64_t head_left;    /* number of characters by which the head may
	                       * grow */
	int64_t dropped;      /* number of bytes dropped after the head */

	bool drawn;           /* whether the members below describe the current
	                       * rows of the screen */
	int lines;            /* number of rows that continue the final text */
	int shown;            /* number of rows of the alternate screen */
	size_t line_at[SCREEN_ROWS + 1];   /* index of each line, and the index
	                                    * after the last one */
	size_t shown_at[SCREEN_ROWS + 1];  /* index of each row of the alternate
	                                    * screen, and the index after the
	                                    * last one */
	struct extent total;  /* size of the final text and the lines */
};

/* -- The text ---------------------------------------------------------- */

/* Drops text from the middle of the stream if the tail is longer than 5/4 of
 * end_bytes. A head that is not full first takes over text from the tail. The
 * last end_bytes of the text are always kept. */
static void
drop_middle(struct output *o)
{
	const size_t tail_max = o->end_bytes / 4 * 5;
	struct extent head = unlimited;
	struct buf *t = &o->text;
	size_t end, n;

	if (t->len - o->head_len < tail_max)
		return;
	head.chars = o->head_left;
	if (o->dropped == 0) {
		head = cut_start(t->data + o->head_len, t->len - o->head_len,
		    &head);
		o->head_len += (size_t)head.bytes;
		o->head_left -= head.chars;
	}
	if (t->len - o->head_len < tail_max)
		return;
	end = t->len - o->end_bytes;
	while (utf8_continues((unsigned char)t->data[end]))
		end--;
	n = end - o->head_len;
	memmove(t->data + o->head_len, t->data + end, t->len - end);
	o->dropped += (int64_t)n;
	t->len -= n;
}

/* Copies the current rows of the screen to the memory after the tail, unless
 * the copy is up to date. */
static void
update_rows(struct output *o)
{
	struct buf b = o->text;
	struct screen_final final = screen_final(o->screen);
	size_t i;
	int n;

	if (o->drawn)
		return;
	b.cap += o->rows_max;
	o->lines = screen_lines(o->screen);
	for (n = 0; n < o->lines; n++) {
		o->line_at[n] = b.len;
		screen_line(o->screen, n, &b);
		if (n < o->lines - 1)
			buf_putc(&b, '\n');
	}
	o->line_at[n] = b.len;
	o->total = (struct extent){ final.chars, final.bytes, final.lines };
	for (i = o->text.len; i < b.len; i++)
		o->total.chars += !utf8_continues((unsigned char)b.data[i]);
	o->total.bytes += (int64_t)(b.len - o->text.len);
	o->total.lines += o->lines - 1;
	o->shown = 0;
	if (screen_is_alternate(o->screen))
		o->shown = screen_height(o->screen);
	for (n = 0; n < o->shown; n++) {
		o->shown_at[n] = b.len;
		screen_row(o->screen, n, &b);
		buf_putc(&b, '\n');
	}
	o->shown_at[n] = b.len;
	o->drawn = true;
}

/* Returns the index of the end of the text. The copy of the screen's rows must
 * be up to date. */
static size_t
text_end(const struct output *o)
{
	return o->line_at[o->lines];
}

/* Returns the index of a position in the text. If that text was dropped,
 * returns the index of the first text after the gap. The position may be
 * inside a character, because the screen only remembers a limited number of
 * revised rows. Then the index of the next character is returned. */
static size_t
text_index(const struct output *o, int64_t position)
{
	int64_t head = (int64_t)o->head_len;
	size_t at = o->head_len, end = text_end(o);

	if (position <= head)
		at = (size_t)position;
	else if (position >= head + o->dropped)
		at = (size_t)(position - o->dropped);
	while (at < end && utf8_continues((unsigned char)o->text.data[at]))
		at++;
	return at;
}

static bool
is_dropped(const struct output *o, int64_t position)
{
	int64_t head = (int64_t)o->head_len;

	return position >= head && position < head + o->dropped;
}

/* Returns the end of the contiguous text that contains an index: the gap, or
 * the end of the text. */
static size_t
part_end(const struct output *o, size_t at)
{
	return o->dropped > 0 && at < o->head_len ? o->head_len : text_end(o);
}

/* -- What is new ------------------------------------------------------- */

enum piece_kind {
	PIECE_ROW,            /* a row of the text that was rewritten */
	PIECE_TEXT,           /* text that was added after the cursor */
	PIECE_SHOWN           /* a row of the alternate screen that changed */
};

/* A piece of text that a reader has not read yet */
struct piece {
	enum piece_kind kind;
	size_t at;            /* index of the piece */
	size_t len;           /* length of the piece, in bytes */
	int64_t row;          /* number of the row for PIECE_ROW; index of the
	                       * row on the alternate screen for PIECE_SHOWN */
	bool continues;       /* whether the piece continues the text that was
	                       * read before */
};

static bool
is_blank(const struct output *o, size_t at, size_t end)
{
	return at == end || (end - at == 1 && o->text.data[at] == '\n');
}

static const struct screen_revised *
find_revised(const struct output *o, int64_t row)
{
	const struct screen_revised *revised = NULL;
	int i;

	for (i = 0; i < SCREEN_REVISED; i++) {
		revised = screen_revised(o->screen, i);
		if (revised == NULL || revised->row == row)
			return revised;
	}
	return NULL;
}

/* Finds the first row before the cursor that was rewritten and then became
 * final. Returns false if no such row exists. */
static bool
find_revised_row(const struct output *o, const struct output_cursor *c,
                 struct piece *p)
{
	const struct screen_revised *revised;
	size_t at, end;
	int i;

	for (i = 0; i < SCREEN_REVISED; i++) {
		revised = screen_revised(o->screen, i);
		if (revised == NULL || revised->row >= c->row)
			return false;
		if (revised->row < c->next_row ||
		    revised->rewrite <= c->change ||
		    is_dropped(o, revised->start))
			continue;
		at = text_index(o, revised->start);
		end = text_index(o, revised->end);
		if (is_blank(o, at, end))
			continue;
		*p = (struct piece){ PIECE_ROW, at, end - at, revised->row,
		    false };
		return true;
	}
	return false;
}

/* Finds the first row before the cursor that was rewritten and is still on the
 * screen. Returns false if no such row exists. */
static bool
find_rewritten_line(const struct output *o, const struct output_cursor *c,
                    struct piece *p)
{
	int64_t first = screen_final(o->screen).rows, row;
	size_t at, end;
	int i;

	for (i = 0; i < o->lines && first + i < c->row; i++) {
		row = first + i;
		at = o->line_at[i];
		end = o->line_at[i + 1];
		if (row < c->next_row || is_blank(o, at, end) ||
		    screen_line_rewrite(o->screen, i) <= c->change)
			continue;
		*p = (struct piece){ PIECE_ROW, at, end - at, row, false };
		return true;
	}
	return false;
}

/* Finds the first row before the cursor that was rewritten since it was read.
 * Returns false if no such row exists. */
static bool
find_row(const struct output *o, const struct output_cursor *c,
         struct piece *p)
{
	return find_revised_row(o, c, p) || find_rewritten_line(o, c, p);
}

/* The start of the text that follows the cursor */
struct position {
	int64_t at;           /* position in the text, in bytes */
	bool continues;       /* whether the part of the row before this
	                       * position has been read */
};

/* Returns the position at which a reader continues to read a row of len bytes,
 * which begins at `start`. If the row was rewritten since the reader read it,
 * this is the start of the row. `rewrite` is the number of the last rewrite of
 * the row. */
static struct position
position_in_row(const struct output_cursor *c, int64_t start, int64_t len,
                int64_t rewrite)
{
	struct position p = { start, false };

	if (rewrite > c->change)
		return p;
	p.continues = true;
	p.at += c->bytes < len ? c->bytes : len;
	return p;
}

static struct position
find_position(const struct output *o, const struct output_cursor *c)
{
	struct screen_final final = screen_final(o->screen);
	const struct screen_revised *revised;
	struct position p = { c->start + c->bytes, true };
	int64_t start, len;
	int i;

	if (c->next_start > 0)
		return (struct position){ c->next_start, false };
	if (c->row >= final.rows + o->lines)
		return (struct position){ o->total.bytes, false };
	if (c->row >= final.rows) {
		i = (int)(c->row - final.rows);
		start = final.bytes + (int64_t)(o->line_at[i] - o->text.len);
		len = (int64_t)(o->line_at[i + 1] - o->line_at[i]);
		if (i < o->lines - 1)
			len--;  /* without the newline */
		return position_in_row(c, start, len,
		    screen_line_rewrite(o->screen, i));
	}
	revised = find_revised(o, c->row);
	if (revised != NULL)
		p = position_in_row(c, revised->start,
		    revised->end - revised->start, revised->rewrite);
	return p;
}

static bool
find_text(const struct output *o, const struct output_cursor *c,
          struct piece *p)
{
	struct position from = find_position(o, c);

	if (from.at >= o->total.bytes)
		return false;
	p->kind = PIECE_TEXT;
	p->at = text_index(o, from.at);
	p->len = part_end(o, p->at) - p->at;
	p->continues = from.continues && c->next_row == 0 &&
	    !is_dropped(o, from.at);
	return p->len > 0;
}

static bool
find_shown(const struct output *o, const struct output_cursor *c,
           struct piece *p)
{
	size_t at, end;
	int i;

	for (i = c->next_shown; i < o->shown; i++) {
		at = o->shown_at[i];
		end = o->shown_at[i + 1];
		if (screen_row_change(o->screen, i) <= c->change ||
		    is_blank(o, at, end))
			continue;
		*p = (struct piece){ PIECE_SHOWN, at, end - at, i, false };
		return true;
	}
	return false;
}

/* Finds the next piece of new text after the cursor. Returns false if all text
 * has been read. */
static bool
find_piece(struct output *o, const struct output_cursor *c, struct piece *p)
{
	bool has_changed = screen_change(o->screen) > c->change;

	update_rows(o);
	if (has_changed && c->next_start == 0 && find_row(o, c, p))
		return true;
	if (c->next_shown == 0 && find_text(o, c, p))
		return true;
	return has_changed && find_shown(o, c, p);
}

/* Moves the cursor after a piece, so that find_piece() finds the next one. */
static void
skip_piece(const struct output *o, struct output_cursor *c,
           const struct piece *p)
{
	switch (p->kind) {
	case PIECE_ROW:
		c->next_row = p->row + 1;
		break;
	case PIECE_TEXT:
		c->next_start = o->total.bytes;
		if (p->at + p->len < text_end(o))
			c->next_start = (int64_t)o->head_len + o->dropped;
		break;
	case PIECE_SHOWN:
		c->next_shown = (int)p->row + 1;
		break;
	}
}

bool
output_has_break(struct output *o, const struct output_cursor *c)
{
	struct piece p;

	return find_piece(o, c, &p) && !p.continues;
}

bool
output_has_new(struct output *o, const struct output_cursor *c)
{
	struct piece p;

	return find_piece(o, c, &p);
}

size_t
output_read(struct output *o, struct output_cursor *c, const char **text)
{
	struct piece p, next;

	*text = NULL;
	if (!find_piece(o, c, &p))
		return 0;
	*text = o->text.data + p.at;
	skip_piece(o, c, &p);
	if (!find_piece(o, c, &next))
		output_mark_read(o, c);
	return p.len;
}

void
output_append_new(struct output *o, struct output_cursor *c, size_t limit,
                  struct buf *b)
{
	struct extent max = { CUT_UNLIMITED, (int64_t)limit, CUT_UNLIMITED };
	struct extent e;
	size_t before = b->len, over;
	struct piece p;

	while (find_piece(o, c, &p)) {
		e = cut_end(o->text.data, p.at, p.at + p.len, &max, 100);
		buf_put(b, o->text.data + p.at + p.len - e.bytes,
		    (size_t)e.bytes);
		skip_piece(o, c, &p);
	}
	e = cut_end(b->data, before, b->len, &max, 100);
	over = b->len - before - (size_t)e.bytes;
	if (over > 0)
		memmove(b->data + before, b->data + before + over,
		    (size_t)e.bytes);
	b->len -= over;
	output_mark_read(o, c);
}

void
output_last_line(struct output *o, struct buf *b)
{
	struct extent e = { CUT_UNLIMITED, LAST_LINE, 1 };
	const char *p = o->text.data;
	size_t end;

	update_rows(o);
	end = o->shown > 0 ? o->shown_at[o->shown] : text_end(o);
	while (end > 0 && p[end - 1] == '\n')
		end--;
	e = cut_end(p, 0, end, &e, 100);
	buf_put(b, p + end - e.bytes, (size_t)e.bytes);
}

void
output_mark_read(struct output *o, struct output_cursor *c)
{
	struct screen_final final = screen_final(o->screen);
	int last;

	update_rows(o);
	last = o->lines - 1;
	memset(c, 0, sizeof(*c));
	c->row = final.rows + last;
	c->start = final.bytes + (int64_t)(o->line_at[last] - o->text.len);
	c->bytes = (int64_t)(o->line_at[last + 1] - o->line_at[last]);
	c->lines = o->total.lines;
	c->change = screen_change(o->screen);
	screen_mark_read(o->screen);
}

/* -- The stream -------------------------------------------------------- */

/* Returns a block of memory, from the store if possible. Returns NULL if memory
 * cannot be allocated. */
static unsigned char *
get_memory(struct output_store *store, size_t size)
{
	unsigned char *text;
	int i;

	for (i = 0; store != NULL && i < 2; i++) {
		text = store->text[i];
		if (text != NULL && store->size[i] == size) {
			store->text[i] = NULL;
			return text;
		}
	}
	return mem_try(size);
}

/* Puts the stream's memory into the store, or frees it. The memory of a long
 * stream is always freed, because the pages that were written would remain in
 * use. */
static void
return_memory(struct output *o)
{
	struct output_store *store = o->options->store;
	int i;

	for (i = 0; store != NULL && i < 2 && o->raw <= REUSED_MAX; i++) {
		if (store->text[i] == NULL) {
			store->text[i] = o->memory;
			store->size[i] = o->size;
			return;
		}
	}
	free(o->memory);
}

/* Returns the largest of n numbers. */
static size_t
max_of(const int64_t *number, size_t n)
{
	int64_t max = number[0];
	size_t i;

	for (i = 1; i < n; i++) {
		if (max < number[i])
			max = number[i];
	}
	return (size_t)max;
}

struct output *
output_new(const struct options *options, struct spool *spool, int64_t limit,
           bool terminal)
{
	/* Keep as much as any truncation mode shows. A character has at most
	 * 4 bytes. */
	int64_t heads[] = { limit, options->head_first, options->both_first,
	    options->binary_first };
	int64_t ends[] = { 4 * limit, 4 * options->head_last,
	    4 * options->both_last, 4 * options->recent_last,
	    options->tail_bytes, LAST_LINE };
	size_t head = max_of(heads, sizeof(heads) / sizeof(heads[0]));
	size_t end = max_of(ends, sizeof(ends) / sizeof(ends[0]));
	size_t cells = screen_memory(terminal);
	size_t text = 4 * head + end / 4 * 5 + SCREEN_STEP_MAX + BATCH;
	size_t rows = (terminal ? 2 : 1) * SCREEN_STEP_MAX;
	unsigned char *memory;
	struct output *o;

	memory = get_memory(options->store, cells + text + rows);
	if (memory == NULL)
		return NULL;
	o = mem_get(sizeof(*o));
	o->options = options;
	o->memory = memory;
	o->size = cells + text + rows;
	o->screen = screen_new(terminal, memory);
	o->text = (struct buf){ (char *)memory + cells, 0, text };
	o->rows_max = rows;
	o->head_left = (int64_t)head;
	o->end_bytes = end;
	o->terminal = terminal;
	o->file = spool_open(spool);
	return o;
}

void
output_free(struct output *o)
{
	if (o == NULL)
		return;
	spool_close(o->file);
	screen_free(o->screen);
	return_memory(o);
	free(o);
}

/* Saves and draws n bytes. Up to the first SAMPLE_MAX bytes of the stream, also
 * decides whether the output is text. */
static void
write_part(struct output *o, const unsigned char *p, size_t n)
{
	size_t done;

	spool_write(o->file, p, n);
	o->raw += (int64_t)n;
	o->drawn = false;
	while (n > 0) {
		drop_middle(o);
		done = screen_write(o->screen, p, n, &o->text);
		p += done;
		n -= done;
	}
	if (o->raw <= SAMPLE_MAX)
		o->is_binary = o->raw >= SAMPLE_MIN &&
		    screen_invalid_bytes(o->screen) * 10 > o->raw;
}

void
output_write(struct output *o, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	size_t sample = o->raw < SAMPLE_MAX ? SAMPLE_MAX - (size_t)o->raw : 0;

	if (o->ended)
		return;
	if (sample > n)
		sample = n;
	if (sample > 0)
		write_part(o, p, sample);
	if (n > sample)
		write_part(o, p + sample, n - sample);
}

void
output_end(struct output *o)
{
	if (o->ended)
		return;
	drop_middle(o);
	screen_end(o->screen, &o->text);
	o->drawn = false;
	spool_end(o->file);
	o->ended = true;
}

bool
output_has_ended(const struct output *o)
{
	return o->ended;
}

bool
output_is_screen(const struct output *o)
{
	return screen_is_full_screen(o->screen);
}

struct buf *
output_replies(struct output *o)
{
	return screen_replies(o->screen);
}

int64_t
output_bytes(const struct output *o)
{
	return o->raw;
}

size_t
output_size(struct output *o)
{
	update_rows(o);
	return o->shown_at[o->shown];
}

bool
output_has_open_line(struct output *o)
{
	update_rows(o);
	return o->line_at[o->lines - 1] < text_end(o);
}

/* -- Showing ----------------------------------------------------------- */

/* The text that a result may show */
struct region {
	const char *text;
	size_t at;            /* index of the first byte */
	size_t end;           /* index after the last byte */
	size_t gap;           /* index at which text was dropped, or `end` if no
	                       * text was dropped */
	struct extent size;   /* size of the region, including dropped text */
	bool is_new;          /* whether the region contains only new text */
};

/* Returns whether the saved file differs from the text of the stream. The file
 * of a terminal always differs, because the kernel adds carriage returns. */
static bool
is_saved_raw(const struct output *o)
{
	int64_t drawn = o->raw - screen_pending_bytes(o->screen);

	return o->terminal || screen_invalid_bytes(o->screen) > 0 ||
	    drawn != o->total.bytes;
}

/* Appends the truncation line. start and end are the sizes of the parts that
 * are shown, and all is the size of the complete text. Without the path of the
 * saved file, the line must not be longer than NOTICE. */
static void
show_notice(const struct output *o, enum cut_parts parts,
            const struct extent *start, const struct extent *end,
            const struct extent *all, const char *name, struct buf *b)
{
	if (parts == CUT_END && end->lines == 0)
		buf_fmt(b, "[%s: showing last 1 of %jd lines (its last %jd "
		    "bytes)", name, all->lines, end->bytes);
	else if (parts == CUT_END)
		buf_fmt(b, "[%s: showing last %jd of %jd lines", name,
		    end->lines, all->lines);
	else if (o->is_binary && start->chars == all->chars)
		buf_fmt(b, "[%s: binary data, %jd bytes in total, first %jd "
		    "characters shown", name, o->raw, start->chars);
	else if (o->is_binary)
		buf_fmt(b, "[%s truncated: binary data, %jd bytes in total, "
		    "first %jd characters shown", name, o->raw, start->chars);
	else if (parts == CUT_START_MOSTLY)
		buf_fmt(b, "[%s truncated: %jd characters in total, first %jd "
		    "and last %jd shown", name, all->chars, start->chars,
		    end->chars);
	else
		buf_fmt(b, "[%s truncated: %jd characters in total, %jd "
		    "omitted here",
		    name, all->chars, all->chars - start->chars -
		    end->chars);
	spool_report(o->file, is_saved_raw(o), b);
	buf_putc(b, ']');
}

static struct cut
choose_cut(const struct output *o, const struct output_bounds *bounds)
{
	return cut_choose(o->options, bounds, o->is_binary,
	    NOTICE + (int64_t)strlen(o->options->tmpdir));
}

/* Returns the size of text[from] to text[to - 1]. A last line without a newline
 * counts as a line. */
static struct extent
measure(const char *text, size_t from, size_t to)
{
	struct extent e = cut_start(text + from, to - from, &unlimited);

	e.lines += to > from && text[to - 1] != '\n';
	return e;
}

/* Copies the current screen to the buffer and returns it as a region. */
static struct region
screen_region(const struct output *o, struct buf *drawn)
{
	int i, n = screen_height(o->screen);
	struct region r = { "", 0, 0, 0, { 0, 0, 0 }, false };

	for (i = 0; i < n; i++) {
		screen_row(o->screen, i, drawn);
		buf_putc(drawn, '\n');
	}
	if (n > 0)
		r.text = drawn->data;
	r.end = r.gap = drawn->len;
	r.size = measure(r.text, 0, r.end);
	return r;
}

/* Returns the complete text as a region. */
static struct region
text_region(const struct output *o)
{
	struct region r = { o->text.data, 0, text_end(o), part_end(o, 0),
	    o->total, false };

	r.size.lines += o->line_at[o->lines - 1] < text_end(o);
	return r;
}

/* Returns the text after the cursor as a region. Rows before the cursor that
 * were rewritten are part of it: all pieces are copied to `joined`. If the text
 * after the cursor is long, the rows are omitted, because a result would only
 * show the end. */
static struct region
new_region(struct output *o, const struct output_cursor *cursor,
           struct buf *joined)
{
	struct region r = { o->text.data, text_end(o), text_end(o),
	    text_end(o), { 0, 0, 0 }, true };
	struct output_cursor c = *cursor;
	struct position from = find_position(o, &c);
	struct piece p;
	bool fits;

	r.at = text_index(o, from.at);
	r.gap = part_end(o, r.at);
	fits = r.gap == r.end && r.end - r.at <= JOINED_MAX;
	while (fits && find_piece(o, &c, &p) && p.kind != PIECE_SHOWN) {
		if (p.kind == PIECE_TEXT && joined->len == 0)
			break;
		buf_put(joined, o->text.data + p.at, p.len);
		skip_piece(o, &c, &p);
	}
	if (joined->len > 0) {
		r.text = joined->data;
		r.at = 0;
		r.end = r.gap = joined->len;
		r.size = measure(r.text, 0, r.end);
		return r;
	}
	r.size.bytes = o->total.bytes - from.at;
	r.size.lines = o->total.lines - c.lines + output_has_open_line(o);
	/* Count each dropped byte as a character. The exact number does not
	 * matter, because a region with a gap is always truncated. */
	r.size.chars = measure(r.text, r.at, r.end).chars + r.size.bytes -
	    (int64_t)(r.end - r.at);
	return r;
}

/* Appends the parts of a region that the cut selects. If the region is
 * truncated, the truncation line separates the two parts or follows the only
 * part. */
static struct output_view
show_region(struct output *o, const struct region *r, struct cut cut,
            const char *name, struct buf *b)
{
	struct output_view view = { -1, NULL };
	struct extent s, e, all = r->size;
	size_t start, end;

	if (!o->is_binary && r->gap == r->end && !cut_is_needed(&cut, &r->size))
		cut.start = cut.whole;
	s = cut_start(r->text + r->at, r->gap - r->at, &cut.start);
	start = r->at + (size_t)s.bytes;
	buf_put(b, r->text + r->at, start - r->at);
	if (start == r->end && !o->is_binary)
		return view;
	end = start < r->gap ? r->gap : start;
	if (r->gap == r->end)
		end = start;
	e = cut_end(r->text, end, r->end, &cut.end, cut.line_percent);
	end = r->end - (size_t)e.bytes;
	if (cut.parts == CUT_END) {
		buf_put(b, r->text + end, r->end - end);
		if (end == r->at)
			return view;
	}
	if (r->is_new)
		all.chars = o->total.chars;
	buf_end_line(b);
	show_notice(o, cut.parts, &s, &e, &all, name, b);
	if (cut.parts != CUT_END && end < r->end) {
		buf_putc(b, '\n');
		buf_put(b, r->text + end, r->end - end);
	}
	view.chars = all.chars;
	view.file = spool_path(o->file);
	return view;
}

struct output_view
output_show(struct output *o, const struct output_cursor *c,
            const struct output_bounds *bounds, const char *name, struct buf *b)
{
	struct output_view view = { -1, NULL };
	struct output_bounds tail = *bounds;
	struct cut cut = choose_cut(o, bounds);
	struct buf drawn = { NULL, 0, 0 };
	struct extent text;
	struct region r;

	update_rows(o);
	tail.mode = TRUNCATE_TAIL;
	text = text_region(o).size;
	if (c != NULL && !output_has_new(o, c)) {
		return view;
	} else if (screen_is_full_screen(o->screen)) {
		r = screen_region(o, &drawn);
	} else if (c == NULL) {
		r = text_region(o);
	} else {
		r = new_region(o, c, &drawn);
		if (bounds->mode != TRUNCATE_RECENT &&
		    cut_is_needed(&cut, &text))
			cut = choose_cut(o, &tail);
	}
	if (r.at < r.end || (c == NULL && o->is_binary))
		view = show_region(o, &r, cut, name, b);
	buf_free(&drawn);
	return view;
}
