/* Needs nothing of the system but C99. */

#include "output/output.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "output/cut.h"
#include "output/screen.h"

/* output_write() saves the bytes raw and draws them on the screen. What is kept
 * of the stream's text is in one piece of memory:
 *
 *	head    the start of the final text
 *	tail    its end; `dropped` bytes between the two are gone
 *	lines   the rows of the screen that continue the final text
 *	shown   the rows of the alternate screen, if it is shown
 *
 * The last two are drawn there when somebody reads (draw_rows()). A position in
 * the text counts the dropped bytes too, an index in the memory does not. */

enum {
	SAMPLE = 4000,        /* bytes that say whether it is text, */
	SAMPLE_MIN = 200,   /* fewer do not suffice for that (O9) */
	LAST_LINE = 400,      /* bytes at most from output_last_line() */
	REUSED_MAX = 8192,   /* bytes printed; then its memory is freed */
	BATCH = 64 << 10,     /* bytes that are drawn before the tail moves */
	JOINED_MAX = 64 << 10,  /* bytes of new text that can be copied */
	NOTICE = 220          /* bytes of a truncation line without its path */
};

static const struct extent unlimited = {
	CUT_UNLIMITED, CUT_UNLIMITED, CUT_UNLIMITED
};

struct output {
	const struct options *options;
	struct spool_file *file;
	struct screen *screen;
	bool terminal, ended;
	bool no_text;         /* O9 */
	int64_t raw;          /* bytes received */

	unsigned char *memory;  /* the screen's cells, then the text */
	size_t size;
	struct buf text;      /* head and tail, without room for the rows */
	size_t rows_max;     /* bytes of room for the rows after them */
	size_t end_bytes;     /* kept of the end */
	size_t head_len;      /* bytes of the head, ... */
	int64_t head_left;    /* ... characters for which it has room, ... */
	int64_t dropped;      /* ... and bytes dropped after it */

	bool drawn;           /* the following are up to date: */
	int lines, shown;     /* rows of both kinds */
	size_t line_at[SCREEN_ROWS + 1];   /* where each begins, and the end */
	size_t shown_at[SCREEN_ROWS + 1];
	struct extent all;    /* of the final text and the lines */
};

/* -- The text ---------------------------------------------------------- */

/* Makes room: the head takes text; once that is full, all after it goes but the
 * last end_bytes. */
static void
make_room(struct output *o)
{
	const size_t most = o->end_bytes / 4 * 5;
	struct extent head = unlimited;
	struct buf *t = &o->text;
	size_t end, gone;

	if (t->len - o->head_len < most)
		return;
	head.chars = o->head_left;
	if (o->dropped == 0) {
		head = cut_start(t->data + o->head_len, t->len - o->head_len,
		    &head);
		o->head_len += (size_t)head.bytes;
		o->head_left -= head.chars;
	}
	if (t->len - o->head_len < most)
		return;
	end = t->len - o->end_bytes;
	while (utf8_continues((unsigned char)t->data[end]))
		end--;
	gone = end - o->head_len;
	memmove(t->data + o->head_len, t->data + end, t->len - end);
	o->dropped += (int64_t)gone;
	t->len -= gone;
}

/* Draws the rows of the screen after the text, unless they are up to date. */
static void
draw_rows(struct output *o)
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
	o->all = (struct extent){ final.chars, final.bytes, final.lines };
	for (i = o->text.len; i < b.len; i++)
		o->all.chars += !utf8_continues((unsigned char)b.data[i]);
	o->all.bytes += (int64_t)(b.len - o->text.len);
	o->all.lines += o->lines - 1;
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

/* Returns the index of the end of the text; the rows have to be drawn. */
static size_t
text_end(const struct output *o)
{
	return o->line_at[o->lines];
}

/* Returns the index of that position; if it was dropped, of what follows. If
 * more rows have changed than the list of late ones holds, it may be within a
 * character: the next one follows. */
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

/* Returns the end of the part of the memory that the index is in: the gap
 * divides it into two. */
static size_t
part_end(const struct output *o, size_t at)
{
	return o->dropped > 0 && at < o->head_len ? o->head_len : text_end(o);
}

/* -- What is new ------------------------------------------------------- */

/* A row of the text that has changed may be read as a whole; the text after
 * what was read, as far as it is in one part; and rows of the screen that is
 * shown. */
enum piece_kind { PIECE_ROW, PIECE_TEXT, PIECE_SHOWN };

struct piece {
	enum piece_kind kind;
	size_t at, len;       /* in the memory */
	int64_t row;          /* of PIECE_ROW: its number; of PIECE_SHOWN, from
	                       * 0 */
	bool continues;       /* it follows what was read before */
};

static bool
is_blank(const struct output *o, size_t at, size_t end)
{
	return at == end || (end - at == 1 && o->text.data[at] == '\n');
}

static const struct screen_late *
find_late(const struct output *o, int64_t row)
{
	const struct screen_late *late = NULL;
	int i;

	for (i = 0; i < SCREEN_LATE; i++) {
		late = screen_late(o->screen, i);
		if (late == NULL || late->row == row)
			return late;
	}
	return NULL;
}

/* Finds the first rewritten row before c->row that became final. */
static bool
find_late_row(const struct output *o, const struct output_cursor *c,
              struct piece *p)
{
	const struct screen_late *late;
	size_t at, end;
	int i;

	for (i = 0; i < SCREEN_LATE; i++) {
		late = screen_late(o->screen, i);
		if (late == NULL || late->row >= c->row)
			return false;
		if (late->row < c->next_row || late->rewrite <= c->change ||
		    is_dropped(o, late->start))
			continue;
		at = text_index(o, late->start);
		end = text_index(o, late->end);
		if (is_blank(o, at, end))
			continue;
		*p = (struct piece){ PIECE_ROW, at, end - at, late->row,
		    false };
		return true;
	}
	return false;
}

/* Finds the first rewritten row before c->row that is on the screen. */
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

/* Finds the first rewritten row before c->row. */
static bool
find_row(const struct output *o, const struct output_cursor *c,
         struct piece *p)
{
	return find_late_row(o, c, p) || find_rewritten_line(o, c, p);
}

/* Where the text after what was read begins */
struct position {
	int64_t at;
	bool continues;       /* after what was read of its row */
};

/* Returns where a row is read on that begins at `start`, has len bytes, and was
 * rewritten at last by that change. */
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
	const struct screen_late *late;
	struct position p = { c->start + c->bytes, true };
	int64_t start, len;
	int i;

	if (c->next_start > 0)
		return (struct position){ c->next_start, false };
	if (c->row >= final.rows + o->lines)
		return (struct position){ o->all.bytes, false };
	if (c->row >= final.rows) {
		i = (int)(c->row - final.rows);
		start = final.bytes + (int64_t)(o->line_at[i] - o->text.len);
		len = (int64_t)(o->line_at[i + 1] - o->line_at[i]);
		if (i < o->lines - 1)
			len--;  /* the newline */
		return position_in_row(c, start, len,
		    screen_line_rewrite(o->screen, i));
	}
	late = find_late(o, c->row);
	if (late != NULL)
		p = position_in_row(c, late->start, late->end - late->start,
		    late->rewrite);
	return p;
}

static bool
find_text(const struct output *o, const struct output_cursor *c,
          struct piece *p)
{
	struct position from = find_position(o, c);

	if (from.at >= o->all.bytes)
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

/* Finds the next piece of what is new after the cursor. */
static bool
find_piece(struct output *o, const struct output_cursor *c, struct piece *p)
{
	bool has_changed = screen_change(o->screen) > c->change;

	draw_rows(o);
	if (has_changed && c->next_start == 0 && find_row(o, c, p))
		return true;
	if (c->next_shown == 0 && find_text(o, c, p))
		return true;
	return has_changed && find_shown(o, c, p);
}

/* Moves the cursor after that piece, so that the next one can be found. */
static void
pass_piece(const struct output *o, struct output_cursor *c,
           const struct piece *p)
{
	switch (p->kind) {
	case PIECE_ROW:
		c->next_row = p->row + 1;
		break;
	case PIECE_TEXT:
		c->next_start = o->all.bytes;
		if (p->at + p->len < text_end(o))
			c->next_start = (int64_t)o->head_len + o->dropped;
		break;
	case PIECE_SHOWN:
		c->next_shown = (int)p->row + 1;
		break;
	}
}

bool
output_rewritten(struct output *o, const struct output_cursor *c)
{
	struct piece p;

	return find_piece(o, c, &p) && !p.continues;
}

bool
output_news(struct output *o, const struct output_cursor *c)
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
	pass_piece(o, c, &p);
	if (!find_piece(o, c, &next))
		output_skip(o, c);
	return p.len;
}

void
output_since(struct output *o, struct output_cursor *c, size_t limit,
             struct buf *b)
{
	struct extent most = { CUT_UNLIMITED, (int64_t)limit, CUT_UNLIMITED };
	struct extent e;
	size_t before = b->len, over;
	struct piece p;

	while (find_piece(o, c, &p)) {
		e = cut_end(o->text.data, p.at, p.at + p.len, &most, 100);
		buf_put(b, o->text.data + p.at + p.len - e.bytes,
		    (size_t)e.bytes);
		pass_piece(o, c, &p);
	}
	e = cut_end(b->data, before, b->len, &most, 100);
	over = b->len - before - (size_t)e.bytes;
	if (over > 0)
		memmove(b->data + before, b->data + before + over,
		    (size_t)e.bytes);
	b->len -= over;
	output_skip(o, c);
}

void
output_last_line(struct output *o, struct buf *b)
{
	struct extent e = { CUT_UNLIMITED, LAST_LINE, 1 };
	const char *p = o->text.data;
	size_t end;

	draw_rows(o);
	end = o->shown > 0 ? o->shown_at[o->shown] : text_end(o);
	while (end > 0 && p[end - 1] == '\n')
		end--;
	e = cut_end(p, 0, end, &e, 100);
	buf_put(b, p + end - e.bytes, (size_t)e.bytes);
}

void
output_skip(struct output *o, struct output_cursor *c)
{
	struct screen_final final = screen_final(o->screen);
	int last;

	draw_rows(o);
	last = o->lines - 1;
	memset(c, 0, sizeof(*c));
	c->row = final.rows + last;
	c->start = final.bytes + (int64_t)(o->line_at[last] - o->text.len);
	c->bytes = (int64_t)(o->line_at[last + 1] - o->line_at[last]);
	c->lines = o->all.lines;
	c->change = screen_change(o->screen);
	screen_mark_read(o->screen);
}

/* -- The stream -------------------------------------------------------- */

/* Returns memory for a text; NULL if that is refused. */
static unsigned char *
take_memory(struct output_store *store, size_t size)
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

/* Keeps the memory for another output, or frees it: pages that were written to
 * stay in use, so it is not kept if there are many. */
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

/* Returns the greatest of n numbers. */
static size_t
greatest(const int64_t *number, size_t n)
{
	int64_t most = number[0];
	size_t i;

	for (i = 1; i < n; i++) {
		if (most < number[i])
			most = number[i];
	}
	return (size_t)most;
}

struct output *
output_new(const struct options *options, struct spool *spool, int64_t limit,
           bool terminal)
{
	/* The most that is shown; no character has more than 4 bytes. */
	int64_t heads[] = { limit, options->head_first, options->both_first,
	    options->binary_first };
	int64_t ends[] = { 4 * limit, 4 * options->head_last,
	    4 * options->both_last, 4 * options->recent_last,
	    options->tail_bytes, LAST_LINE };
	size_t head = greatest(heads, sizeof(heads) / sizeof(heads[0]));
	size_t end = greatest(ends, sizeof(ends) / sizeof(ends[0]));
	size_t cells = screen_memory(terminal);
	size_t text = 4 * head + end / 4 * 5 + SCREEN_STEP_MAX + BATCH;
	size_t rows = (terminal ? 2 : 1) * SCREEN_STEP_MAX;
	unsigned char *memory;
	struct output *o;

	memory = take_memory(options->store, cells + text + rows);
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

/* Draws the bytes, and decides with those of the sample whether it is text. */
static void
write_part(struct output *o, const unsigned char *p, size_t n)
{
	size_t done;

	spool_write(o->file, p, n);
	o->raw += (int64_t)n;
	o->drawn = false;
	while (n > 0) {
		make_room(o);
		done = screen_write(o->screen, p, n, &o->text);
		p += done;
		n -= done;
	}
	if (o->raw <= SAMPLE)
		o->no_text = o->raw >= SAMPLE_MIN &&
		    screen_bad_bytes(o->screen) * 10 > o->raw;
}

void
output_write(struct output *o, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	size_t sample = o->raw < SAMPLE ? SAMPLE - (size_t)o->raw : 0;

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
	make_room(o);
	screen_end(o->screen, &o->text);
	o->drawn = false;
	spool_end(o->file);
	o->ended = true;
}

bool
output_ended(const struct output *o)
{
	return o->ended;
}

bool
output_is_screen(const struct output *o)
{
	return screen_is_full(o->screen);
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
	draw_rows(o);
	return o->shown_at[o->shown];
}

bool
output_within_line(struct output *o)
{
	draw_rows(o);
	return o->line_at[o->lines - 1] < text_end(o);
}

/* -- Showing ----------------------------------------------------------- */

/* A text to be shown: from byte `at` on, perhaps with a gap */
struct region {
	const char *text;
	size_t at, end;
	size_t gap;           /* where the gap is; `end`: there is none */
	struct extent size;   /* with what was dropped in the gap */
	bool is_new;          /* what follows a cursor, with no start to keep */
};

/* Appends the truncation line. start, end: the sizes of what is shown; all:
 * of the text. If the line gets longer, raise NOTICE, which leaves room for
 * it. */
static void
show_notice(const struct output *o, enum cut_parts parts,
            const struct extent *start, const struct extent *end,
            const struct extent *all, const char *name, struct buf *b)
{
	/* A terminal adds carriage returns to all lines. */
	bool is_raw = o->terminal || screen_bad_bytes(o->screen) > 0 ||
	    o->raw - screen_pending_bytes(o->screen) != o->all.bytes;

	if (parts == CUT_END && end->lines == 0)
		buf_fmt(b, "[%s: showing last 1 of %jd lines (its last %jd "
		    "bytes)", name, all->lines, end->bytes);
	else if (parts == CUT_END)
		buf_fmt(b, "[%s: showing last %jd of %jd lines", name,
		    end->lines, all->lines);
	else if (o->no_text && start->chars == all->chars)
		buf_fmt(b, "[%s: binary data, %jd bytes in total, first %jd "
		    "characters shown", name, o->raw, start->chars);
	else if (o->no_text)
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
	spool_tell(o->file, is_raw, b);
	buf_putc(b, ']');
}

static struct cut
choose_cut(const struct output *o, const struct output_bounds *most)
{
	return cut_choose(o->options, most, o->no_text,
	    NOTICE + (int64_t)strlen(o->options->tmpdir));
}

/* Returns the size of the text; a last line without a newline counts. */
static struct extent
measure(const char *text, size_t from, size_t to)
{
	struct extent e = cut_start(text + from, to - from, &unlimited);

	e.lines += to > from && text[to - 1] != '\n';
	return e;
}

/* Draws the screen as it is shown now. */
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

/* Returns all of the text. */
static struct region
text_region(const struct output *o)
{
	struct region r = { o->text.data, 0, text_end(o), part_end(o, 0),
	    o->all, false };

	r.size.lines += o->line_at[o->lines - 1] < text_end(o);
	return r;
}

/* Returns the text after the cursor. If rows before it were rewritten, they are
 * joined with it in `joined`, unless that is long: then only its end would be
 * shown anyway. */
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
		pass_piece(o, &c, &p);
	}
	if (joined->len > 0) {
		r.text = joined->data;
		r.at = 0;
		r.end = r.gap = joined->len;
		r.size = measure(r.text, 0, r.end);
		return r;
	}
	r.size.bytes = o->all.bytes - from.at;
	r.size.lines = o->all.lines - c.lines + output_within_line(o);
	/* Dropped bytes count as a character each: it is cut anyway. */
	r.size.chars = measure(r.text, r.at, r.end).chars + r.size.bytes -
	    (int64_t)(r.end - r.at);
	return r;
}

/* Appends what the cut leaves of the region, with the truncation line between
 * start and end, or after a lone end. */
static struct output_view
show_region(struct output *o, const struct region *r, struct cut cut,
            const char *name, struct buf *b)
{
	struct output_view view = { -1, NULL };
	struct extent s, e, all = r->size;
	size_t start, end;

	if (!o->no_text && r->gap == r->end && !cut_is_needed(&cut, &r->size))
		cut.start = cut.whole;
	s = cut_start(r->text + r->at, r->gap - r->at, &cut.start);
	start = r->at + (size_t)s.bytes;
	buf_put(b, r->text + r->at, start - r->at);
	if (start == r->end && !o->no_text)
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
		all.chars = o->all.chars;
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
            const struct output_bounds *most, const char *name, struct buf *b)
{
	struct output_view view = { -1, NULL };
	struct output_bounds tail = *most;
	struct cut cut = choose_cut(o, most);
	struct buf drawn = { NULL, 0, 0 };
	struct extent text;
	struct region r;

	draw_rows(o);
	tail.how = TRUNCATE_TAIL;
	text = text_region(o).size;
	if (c != NULL && !output_news(o, c)) {
		return view;
	} else if (screen_is_full(o->screen)) {
		r = screen_region(o, &drawn);
	} else if (c == NULL) {
		r = text_region(o);
	} else {
		r = new_region(o, c, &drawn);
		if (most->how != TRUNCATE_RECENT && cut_is_needed(&cut, &text))
			cut = choose_cut(o, &tail);
	}
	if (r.at < r.end || (c == NULL && o->no_text))
		view = show_region(o, &r, cut, name, b);
	buf_free(&drawn);
	return view;
}
