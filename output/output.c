/* SPDX-License-Identifier: ISC */
/* Requires only C99.
 *
 * output_write() saves the raw bytes (spool.c) and draws them on a screen
 * (screen.c). Rows that scroll off the screen are final and never change again.
 * kept.c keeps the final text within a limited amount of memory, and unread.c
 * finds the text that a reader has not read yet. output_show() chooses the part
 * of the text that a result shows (cut.c), and writes the truncation line. */

#include "output/output.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "output/cut.h"
#include "output/kept.h"
#include "output/screen.h"

enum {
	SAMPLE_MAX = 4000,    /* number of bytes examined at the start of a
	                       * stream to detect binary output (O9) */
	SAMPLE_MIN = 200,     /* minimum number of bytes needed to decide
	                       * whether output is binary (O9) */
	LAST_LINE = 400,      /* maximum length in bytes of the line appended by
	                       * output_last_line() */
	REUSED_MAX = 8192,    /* maximum length in bytes of a stream whose
	                       * memory is reused after it is freed */
	NOTICE = 220          /* maximum length in bytes of the truncation line,
	                       * excluding the directory of the saved file */
};

static const struct extent unlimited = {
	CUT_UNLIMITED, CUT_UNLIMITED, CUT_UNLIMITED
};

/* The value that output_show() returns if the text is shown in full */
static const int64_t complete = -1;

struct output {
	const struct options *options;
	struct spool_file *file;
	bool terminal, ended;
	bool is_binary;       /* true if the output is binary (O9) */
	int64_t raw;          /* number of bytes received from the command */

	unsigned char *memory;  /* block of memory for `kept` */
	size_t size;          /* size of `memory`, in bytes */
	struct kept kept;     /* the text */
};

/* -- The stream -------------------------------------------------------- */

/* Returns a block of memory for a stream, preferably one from a freed stream.
 * Returns NULL if allocation fails. */
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

/* Keeps the stream's block of memory for a later stream, or frees the block.
 * The block of a stream longer than REUSED_MAX is always freed, because
 * otherwise the pages that the stream has written to would stay allocated. */
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
	/* Keep enough text for every truncation mode, because a result can use
	 * any of them. */
	int64_t heads[] = { limit, options->head_first, options->both_first,
	    options->binary_first };
	int64_t ends[] = { 4 * limit, 4 * options->head_last,
	    4 * options->both_last, 4 * options->recent_last,
	    options->tail_bytes, LAST_LINE };
	size_t head = max_of(heads, sizeof(heads) / sizeof(heads[0]));
	size_t end = max_of(ends, sizeof(ends) / sizeof(ends[0]));
	size_t size = kept_memory(head, end, terminal);
	unsigned char *memory = get_memory(options->store, size);
	struct output *o;

	if (memory == NULL)
		return NULL;
	o = mem_get(sizeof(*o));
	o->options = options;
	o->memory = memory;
	o->size = size;
	kept_open(&o->kept, head, end, terminal, memory);
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
	kept_close(&o->kept);
	return_memory(o);
	free(o);
}

/* Saves n bytes and draws them. Also checks the first SAMPLE_MAX bytes of the
 * stream to determine whether the output is binary. */
static void
write_part(struct output *o, const unsigned char *p, size_t n)
{
	spool_write(o->file, p, n);
	o->raw += (int64_t)n;
	kept_write(&o->kept, p, n);
	if (o->raw <= SAMPLE_MAX)
		o->is_binary = o->raw >= SAMPLE_MIN &&
		    screen_invalid_bytes(o->kept.screen) * 10 > o->raw;
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
	kept_finish(&o->kept);
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
	return !o->ended && screen_is_full_screen(o->kept.screen);
}

bool
output_ended_in_screen(const struct output *o)
{
	return o->ended && screen_is_alternate(o->kept.screen);
}

struct buf *
output_replies(struct output *o)
{
	return screen_replies(o->kept.screen);
}

int64_t
output_bytes(const struct output *o)
{
	return o->raw;
}

size_t
output_size(struct output *o)
{
	kept_update(&o->kept);
	return o->kept.shown_at[o->kept.shown];
}

bool
output_has_open_line(struct output *o)
{
	kept_update(&o->kept);
	return kept_has_open_line(&o->kept);
}

/* -- Reading ----------------------------------------------------------- */

bool
output_has_break(struct output *o, const struct output_cursor *c)
{
	struct piece p;

	return unread_find(&o->kept, c, &p) && !p.continues;
}

bool
output_has_new(struct output *o, const struct output_cursor *c)
{
	struct piece p;

	return unread_find(&o->kept, c, &p);
}

bool
output_has_new_to_show(struct output *o, const struct output_cursor *c)
{
	if (output_is_screen(o))
		return unread_has_new_screen(&o->kept, c);
	return output_has_new(o, c);
}

size_t
output_read(struct output *o, struct output_cursor *c, const char **text)
{
	struct piece p, next;

	*text = NULL;
	if (!unread_find(&o->kept, c, &p))
		return 0;
	*text = o->kept.text.data + p.at;
	unread_skip(c, &p);
	if (!unread_find(&o->kept, c, &next))
		output_mark_read(o, c);
	return p.len;
}

void
output_append_new(struct output *o, const struct output_cursor *cursor,
                  size_t limit, struct buf *b)
{
	struct output_cursor c = *cursor;
	struct extent max = { CUT_UNLIMITED, (int64_t)limit, CUT_UNLIMITED };
	struct extent e;
	size_t before = b->len, over;
	struct piece p;

	while (unread_find(&o->kept, &c, &p)) {
		e = cut_end(o->kept.text.data, p.at, p.at + p.len, &max, 100);
		buf_put(b, o->kept.text.data + p.at + p.len - e.bytes,
		    (size_t)e.bytes);
		unread_skip(&c, &p);
	}
	e = cut_end(b->data, before, b->len, &max, 100);
	over = b->len - before - (size_t)e.bytes;
	if (over > 0)
		memmove(b->data + before, b->data + before + over,
		    (size_t)e.bytes);
	b->len -= over;
}

void
output_last_line(struct output *o, struct buf *b)
{
	struct extent e = { CUT_UNLIMITED, LAST_LINE, 1 };
	const char *p = o->kept.text.data;
	size_t end;

	kept_update(&o->kept);
	end = kept_end(&o->kept);
	if (o->kept.shown > 0)
		end = o->kept.shown_at[o->kept.shown];
	while (end > 0 && p[end - 1] == '\n')
		end--;
	e = cut_end(p, 0, end, &e, 100);
	buf_put(b, p + end - e.bytes, (size_t)e.bytes);
}

void
output_mark_read(struct output *o, struct output_cursor *c)
{
	unread_mark_read(&o->kept, c);
}

void
output_mark_shown(struct output *o, struct output_cursor *c)
{
	if (output_is_screen(o))
		unread_mark_screen_read(&o->kept, c);
	else
		unread_mark_read(&o->kept, c);
}

/* -- Showing ----------------------------------------------------------- */

/* The text to show: all of a stream's text, the rows on its screen, or its
 * unread text. Text that is too long is truncated. */
struct region {
	const char *text;
	size_t at;            /* index in `text` of the region's first byte */
	size_t end;           /* index in `text` one past the region's last
	                       * byte */
	size_t gap;           /* index in `text` at which text was dropped, or
	                       * `end` if no text was dropped */
	struct extent size;   /* size of the region, including text dropped from
	                       * memory */
	bool is_new;          /* true if the region contains only unread text */
};

/* Returns whether the saved output differs from the text shown in results.
 * Output from a terminal always differs, because the kernel adds carriage
 * returns to it. */
static bool
is_saved_raw(const struct output *o)
{
	int64_t drawn = o->raw - screen_pending_bytes(o->kept.screen);

	return o->terminal || screen_invalid_bytes(o->kept.screen) > 0 ||
	    drawn != o->kept.total.bytes;
}

/* Appends the truncation line. `start` and `end` are the sizes of the parts
 * shown, and `all` is the size of the complete text. The line has at most
 * NOTICE bytes, excluding the directory of the saved file. */
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

/* Returns the size to report for a truncated region. If the region contains
 * only unread text, `lines` is the number of unread lines, which the truncation
 * line reports, but `chars` is the number of characters of the complete stream,
 * which output_show() returns. */
static struct extent
size_in_notice(const struct output *o, const struct region *r)
{
	struct extent all = r->size;

	if (r->is_new)
		all.chars = o->kept.total.chars;
	return all;
}

/* Chooses how to truncate the output, given the tool call's limits. */
static struct cut
choose_cut(const struct output *o, const struct output_bounds *bounds)
{
	return cut_choose(o->options, bounds, o->is_binary,
	    NOTICE + (int64_t)strlen(o->options->tmpdir));
}

/* Returns the size of the text from text[from] to text[to - 1]. A last line
 * without a newline counts as a line. */
static struct extent
measure(const char *text, size_t from, size_t to)
{
	struct extent e = cut_start(text + from, to - from, &unlimited);

	e.lines += to > from && text[to - 1] != '\n';
	return e;
}

/* Copies the rows on the screen to the buffer `drawn`. Returns a region that
 * consists of these rows. */
static struct region
screen_region(const struct output *o, struct buf *drawn)
{
	int i, n = screen_height(o->kept.screen);
	struct region r = { "", 0, 0, 0, { 0, 0, 0 }, false };

	for (i = 0; i < n; i++) {
		screen_row(o->kept.screen, i, drawn);
		buf_putc(drawn, '\n');
	}
	if (n > 0)
		r.text = drawn->data;
	r.end = r.gap = drawn->len;
	r.size = measure(r.text, 0, r.end);
	return r;
}

/* Returns a region with the stream's complete text, including the rows on the
 * screen. */
static struct region
text_region(const struct output *o)
{
	const struct kept *k = &o->kept;
	struct region r = { k->text.data, 0, kept_end(k), kept_part_end(k, 0),
	    k->total, false };

	r.size.lines += kept_has_open_line(k);
	return r;
}

/* Returns a region with the text that was added since the reader last read the
 * stream. */
static struct region
added_region(const struct output *o, const struct output_cursor *c)
{
	const struct kept *k = &o->kept;
	int64_t from = unread_position(k, c);
	size_t at = kept_index(k, from), end = kept_end(k);
	struct region r = { k->text.data, at, end, kept_part_end(k, at),
	    { 0, 0, 0 }, true };

	if (from >= k->total.bytes)
		return r;
	if (kept_is_dropped(k, from))
		r.gap = r.at;
	r.size.bytes = k->total.bytes - from;
	r.size.lines = k->total.lines - c->lines + kept_has_open_line(k);
	/* Count each dropped byte as a character. The number need not be exact,
	 * because the text is truncated anyway. */
	r.size.chars = measure(r.text, r.at, r.end).chars + r.size.bytes -
	    (int64_t)(r.end - r.at);
	return r;
}

static struct extent
add_sizes(struct extent a, struct extent b)
{
	return (struct extent){ a.chars + b.chars, a.bytes + b.bytes,
	    a.lines + b.lines };
}

/* Returns a region with the missed text and the rewritten rows that the reader
 * has not read yet. Copies them to the buffer `joined`. */
static struct region
earlier_region(struct output *o, const struct output_cursor *cursor,
               struct buf *joined)
{
	const char *text = o->kept.text.data;
	struct extent dropped = unread_missed_size(cursor), part;
	struct region r = { "", 0, 0, 0, { 0, 0, 0 }, true };
	struct output_cursor c = *cursor;
	struct piece p;

	while (unread_find(&o->kept, &c, &p) && p.phase < READ_ADDED) {
		buf_put(joined, text + p.at, p.len);
		unread_skip(&c, &p);
		if (p.phase != READ_MISSED)
			continue;
		part = cut_start(text + p.at, p.len, &unlimited);
		dropped.bytes -= part.bytes;
		dropped.lines -= part.lines;
		/* Text is only dropped directly after the head. */
		if (p.at < o->kept.head_len)
			r.gap = joined->len;
	}
	dropped.chars = dropped.bytes;
	r.end = joined->len;
	if (r.end > 0)
		r.text = joined->data;
	if (dropped.bytes == 0)
		r.gap = r.end;
	r.size = add_sizes(measure(r.text, 0, r.end), dropped);
	return r;
}

/* Returns a region with the text that the reader has not read yet: first missed
 * text, then rewritten rows, then added text. If text was missed or rows were
 * rewritten, copies all unread text to the buffer `joined`. Omits the missed
 * text and the rewritten rows if the added text must be truncated, because a
 * result then includes only the end of the added text. */
static struct region
new_region(struct output *o, const struct output_cursor *c,
           const struct cut *cut, struct buf *joined)
{
	struct region added = added_region(o, c);
	struct region earlier = earlier_region(o, c, joined), r = earlier;
	bool fits = added.gap == added.end && !cut_is_needed(cut, &added.size);

	if (earlier.size.bytes == 0)
		return added;
	if (!fits) {
		added.size = add_sizes(added.size, earlier.size);
		return added;
	}
	buf_put(joined, added.text + added.at, added.end - added.at);
	r.text = joined->data;
	r.end = joined->len;
	r.size = add_sizes(earlier.size, added.size);
	if (earlier.size.bytes == (int64_t)earlier.end)
		r.gap = r.end;
	return r;
}

/* Appends the complete region. */
static int64_t
show_all(const struct region *r, struct buf *b)
{
	buf_put(b, r->text + r->at, r->end - r->at);
	return complete;
}

/* Appends the end of the region and, unless the complete region fits, the
 * truncation line. A region larger than cut->whole can fit within the limits on
 * the parts, because cut_choose() raises these limits if they are very low, but
 * not those in cut->whole. */
static int64_t
show_end(const struct output *o, const struct region *r, const struct cut *cut,
         const char *name, struct buf *b)
{
	const struct extent none = { 0, 0, 0 };
	size_t first = r->gap < r->end ? r->gap : r->at;
	struct extent all = size_in_notice(o, r);
	struct extent end = cut_end(r->text, first, r->end, &cut->end,
	    cut->line_percent);

	buf_put(b, r->text + r->end - end.bytes, (size_t)end.bytes);
	if (end.bytes == r->size.bytes)
		return complete;
	buf_end_line(b);
	show_notice(o, cut->parts, &none, &end, &all, name, b);
	return all.chars;
}

/* Appends the start of the region, the truncation line, and the end of the
 * region. Binary output is shown without the end. Omits the truncation line if
 * the complete region fits and the output is not binary. The comment on
 * show_end() explains why a region larger than cut->whole can fit. */
static int64_t
show_start_and_end(const struct output *o, const struct region *r,
                   const struct cut *cut, const char *name, struct buf *b)
{
	struct extent all = size_in_notice(o, r);
	struct extent start = cut_start(r->text + r->at, r->gap - r->at,
	    &cut->start);
	size_t rest = r->at + (size_t)start.bytes;
	struct extent end;

	if (start.bytes == r->size.bytes && !o->is_binary)
		return show_all(r, b);
	if (r->gap < r->end)
		rest = r->gap;
	end = cut_end(r->text, rest, r->end, &cut->end, cut->line_percent);
	buf_put(b, r->text + r->at, (size_t)start.bytes);
	buf_end_line(b);
	show_notice(o, cut->parts, &start, &end, &all, name, b);
	if (end.bytes > 0) {
		buf_putc(b, '\n');
		buf_put(b, r->text + r->end - end.bytes, (size_t)end.bytes);
	}
	return all.chars;
}

/* Appends the region. If it is too long, appends only the parts that the
 * truncation mode selects, and the truncation line. Binary output always gets a
 * truncation line. */
static int64_t
show_region(const struct output *o, const struct region *r,
            const struct cut *cut, const char *name, struct buf *b)
{
	bool is_whole = r->size.bytes == (int64_t)(r->end - r->at);
	bool fits = is_whole && !cut_is_needed(cut, &r->size);

	if (fits && !o->is_binary)
		return show_all(r, b);
	if (cut->parts == CUT_END)
		return show_end(o, r, cut, name, b);
	return show_start_and_end(o, r, cut, name, b);
}

int64_t
output_show_screen(struct output *o, const struct output_cursor *c,
                   const struct output_bounds *bounds, const char *name,
                   struct buf *b)
{
	int64_t chars = complete;
	struct cut cut = choose_cut(o, bounds);
	struct buf drawn = { NULL, 0, 0 };
	struct region r;

	if (c != NULL && !unread_has_new_screen(&o->kept, c))
		return chars;
	r = screen_region(o, &drawn);
	if (r.at < r.end)
		chars = show_region(o, &r, &cut, name, b);
	buf_free(&drawn);
	return chars;
}

int64_t
output_show(struct output *o, const struct output_cursor *c,
            const struct output_bounds *bounds, const char *name, struct buf *b)
{
	int64_t chars = complete;
	struct output_bounds tail = *bounds;
	struct cut cut = choose_cut(o, bounds);
	struct buf drawn = { NULL, 0, 0 };
	struct extent text;
	struct region r;

	if (output_is_screen(o))
		return output_show_screen(o, c, bounds, name, b);
	kept_update(&o->kept);
	tail.mode = TRUNCATE_TAIL;
	text = text_region(o).size;
	if (c != NULL && !output_has_new(o, c)) {
		return chars;
	} else if (c == NULL) {
		r = text_region(o);
	} else {
		if (bounds->mode != TRUNCATE_RECENT &&
		    cut_is_needed(&cut, &text))
			cut = choose_cut(o, &tail);
		r = new_region(o, c, &cut, &drawn);
	}
	if (r.at < r.end || (c == NULL && o->is_binary))
		chars = show_region(o, &r, &cut, name, b);
	buf_free(&drawn);
	return chars;
}

const char *
output_file(const struct output *o)
{
	return spool_path(o->file);
}

void
output_hold_file(struct output *o)
{
	spool_hold(o->file);
}

void
output_release_file(struct output *o)
{
	spool_release(o->file);
}
