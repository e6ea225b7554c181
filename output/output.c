/* Needs nothing of the system but C99. */

#include "output/output.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "output/cut.h"

/* output_write() saves the bytes raw, takes out escape sequences and control
 * characters, and appends the rest to `text`. If the stream is long, `text` has
 * its head and, right behind, its end with the current row. A row is what CR,
 * backspace and erasing can reach: a line, or what a terminal would show of a
 * longer one in its last row. Positions are in bytes. */

enum {
	COLUMNS = 8000,       /* in a row (O1), */
	TERMINAL_COLUMNS = 200,  /* and in one on a terminal (I1, I6) */
	ROW_BYTES = 4 * COLUMNS,  /* bytes; no row and no append has more */
	SAMPLE = 4000,        /* bytes that say whether it is text, */
	SAMPLE_LEAST = 200,   /* fewer do not suffice for that (O9) */
	LAST_LINE = 400,      /* bytes at most from output_last_line() */
	REUSED_MOST = 8192,   /* bytes printed; then its memory is freed */
	NOTICE = 220          /* bytes of a truncation line without its path */
};

static const unsigned char replacement[] = "\xEF\xBF\xBD";  /* U+FFFD */
static const unsigned char nul_sign[] = "\xE2\x90\x80";  /* U+2400 */

enum state {
	TEXT, ESCAPE,  /* behind an ESC */
	ESCAPE_MORE,   /* in a sequence of more than two bytes */
	CSI, OSC, STRING  /* DCS, SOS, PM or APC */
};

struct output {
	const struct options *options;
	struct spool_file *file;
	bool ended, screen;   /* output_is_screen() */
	bool no_text;         /* O9 */
	int64_t raw;          /* bytes that came, */
	int64_t bad;          /* and of them NUL, or not UTF-8 */
	size_t width;         /* columns of a row */

	enum state state;
	char csi[16];         /* the start of what follows its ESC [ */
	size_t csi_len;
	unsigned char cut[4]; /* of a character that a read has split */
	size_t cut_len;

	unsigned char *text;
	size_t size;          /* bytes of its memory */
	size_t len;           /* bytes in it */
	size_t end_bytes;     /* kept of the end */
	size_t head_len;      /* bytes of the head, ... */
	int64_t head_left;    /* ... characters for which it has room, ... */
	int64_t dropped;      /* ... and bytes dropped behind it */
	int64_t chars, lines; /* characters and newlines of all text */

	size_t line;          /* where in `text` the current row begins */
	size_t seen;          /* bytes of it that a reader has seen */
	size_t cols;          /* characters in it */
	size_t col;           /* which one the next replaces; */
	size_t at;            /* that one's byte; 0 in an empty row */
	unsigned rewrites;    /* changes of rows that were seen */
	unsigned rewrites_before;  /* the same, when the row began */
};

/* -- The text ---------------------------------------------------------- */

/* Makes room for ROW_BYTES more: the head takes ended rows; once that is full,
 * all behind it goes but the last end_bytes, so never the current row. */
static void
text_make_room(struct output *o)
{
	const size_t most = o->end_bytes / 4 * 5;
	struct extent head = { o->head_left, CUT_UNLIMITED, CUT_UNLIMITED };
	size_t end, gone;

	if (o->len - o->head_len >= most) {
		head = cut_start((const char *)o->text + o->head_len,
		    o->line - o->head_len, &head);
		o->head_len += (size_t)head.bytes;
		o->head_left -= head.chars;
	}
	if (o->len - o->head_len < most)
		return;
	end = o->len - o->end_bytes;
	while (utf8_continues(o->text[end]))
		end--;
	gone = end - o->head_len;
	memmove(o->text + o->head_len, o->text + end, o->len - end);
	o->dropped += (int64_t)gone;
	o->line -= gone;
	o->len -= gone;
}

/* The length of the character at the start of n bytes; 0: it goes on behind
 * them. *shown bytes at *as are shown in its place. */
static size_t
read_char(struct output *o, const unsigned char *p, size_t n,
          const unsigned char **as, size_t *shown)
{
	int len = utf8_length(p, n);

	*as = len < 0 ? replacement : *p == 0 ? nul_sign : p;
	*shown = *as == p ? (size_t)len : 3;
	if (*p != 0 && ((*p < 0x20 && *p != '\t') || *p == 0x7F ||
	    (len == 2 && *p == 0xC2 && p[1] < 0xA0)))  /* C0, DEL, C1 */
		*shown = 0;
	len = len < 0 ? -len : len;
	o->bad += *as != p ? len : 0;
	return (size_t)len;
}

static void
row_begin(struct output *o, size_t at)
{
	o->line = at;
	o->cols = o->seen = 0;
	o->rewrites_before = o->rewrites;
}

/* The length of the colour (ECMA-48's SGR) that is whole at p; 0: none is. */
static size_t
colour_length(const unsigned char *p, size_t n)
{
	size_t i = 2;

	if (n < 3 || p[0] != 0x1B || p[1] != '[')
		return 0;
	while (i < n && ((p[i] >= '0' && p[i] <= '9') || p[i] == ';'))
		i++;
	return i < n && p[i] == 'm' ? i + 1 : 0;
}

/* Appends some of the bytes and returns how many, up to a control that moves
 * the cursor, or to a full row. The cursor has to be at the row's end, unless a
 * newline comes. (The loop changes locals alone, and few: with members of *o,
 * since each byte written may be one of them, it takes twice as long.) */
static size_t
row_append(struct output *o, const unsigned char *p, size_t n)
{
	const unsigned char *at = p, *stop = p + n, *end = stop, *as;
	unsigned char *start, *to, *row;  /* from where blanks are removed */
	const bool terminal = o->width == TERMINAL_COLUMNS;
	size_t len, shown, most;
	size_t inner = 0;   /* continuation bytes: no characters of their own */
	size_t before = 0;  /* how many of these are before `row` */
	int64_t lines = 0;

	text_make_room(o);
	start = to = o->text + o->len;
	row = o->text + o->line + o->seen;
	most = o->cols < o->width ? o->width - o->cols : *p == '\n';
	if (n > most)
		stop = p + most;
	for (;;) {
		for (len = 0; at + len < stop && at[len] >= 0x20 &&
		    at[len] < 0x7F; len++)
			to[len] = at[len];
		to += len;
		at += len;
		if (at >= stop)
			break;
		if (*at == '\n') {
			while (terminal && to > row &&
			    (to[-1] == ' ' || to[-1] == '\t'))
				to--;
			*to++ = *at++;
			row = to;
			before = inner;
			lines++;
			continue;
		}
		len = *at == '\r' && at + 1 < end && at[1] == '\n' ? 1
		    : colour_length(at, (size_t)(end - at));
		at += len;
		if (len > 0)
			continue;
		if (*at == 0x1B || *at == '\r' || *at == '\b')
			break;
		len = read_char(o, at, (size_t)(end - at), &as, &shown);
		if (len == 0)
			break;
		inner += shown > 0 ? shown - 1 : 0;
		memcpy(to, as, shown);
		to += shown;
		at += len;
	}
	o->len = (size_t)(to - o->text);
	o->chars += to - start - (ptrdiff_t)inner;
	o->lines += lines;
	if (lines > 0) {
		row_begin(o, (size_t)(row - o->text));
		start = row;
	}
	o->cols += (size_t)(to - start) - (inner - before);
	o->col = o->cols;
	o->at = o->len - o->line;
	return (size_t)(at - p);
}

/* Puts a character, not a newline, in place of the one at the cursor. */
static void
row_put(struct output *o, const unsigned char *p, size_t n)
{
	unsigned char *at;
	size_t old, blanks;

	text_make_room(o);
	if (o->col < o->cols) {
		at = o->text + o->line + o->at;
		old = (size_t)utf8_length(at, 4);
		if (old != n || memcmp(at, p, n) != 0)
			o->rewrites += o->seen > 0;
		if (old != n)
			memmove(at + n, at + old,
			    o->len - o->line - o->at - old);
		memcpy(at, p, n);
		o->len += n - old;
		o->at += n;
		o->col++;
		return;
	}
	if (o->col < o->width) {
		blanks = o->col - o->cols;
		memset(o->text + o->len, ' ', blanks);
		o->len += blanks;
		o->cols += blanks;
		o->chars += (int64_t)blanks;
	} else if (o->width == TERMINAL_COLUMNS) {
		row_append(o, (const unsigned char *)"\n", 1);
	} else {
		row_begin(o, o->len);
	}
	row_append(o, p, n);
}

/* CSI K: erases from the cursor on (0), up to and including it (1), or all of
 * the row (2). The cursor keeps its column, perhaps behind an empty row. */
static void
row_erase(struct output *o, int64_t what)
{
	unsigned char *row = o->text + o->line;
	size_t left = what > 0 ? 0 : o->col, bytes = o->len - o->line, gone;

	if (left >= o->cols)
		return;
	o->rewrites += o->seen > 0;
	if (what == 1 && o->col < o->cols) {
		gone = o->at + (size_t)utf8_length(row + o->at, 4);
		o->at = o->col;
		memmove(row + o->at + 1, row + gone, bytes - gone);
		memset(row, ' ', o->at + 1);
		o->len -= gone - (o->at + 1);
		return;
	}
	o->at = what > 0 ? 0 : o->at;
	o->len = o->line + o->at;
	o->chars -= (int64_t)(o->cols - left);
	o->cols = left;
}

/* Each of these takes some of the n bytes at p and returns how many. */

static size_t
clean_text(struct output *o, const unsigned char *p, size_t n)
{
	size_t len, shown;
	const unsigned char *as;

	if (*p == '\n')
		o->col = o->cols;
	if (o->col == o->cols && (len = row_append(o, p, n)) > 0)
		return len;
	if (*p == '\r') {
		o->col = o->at = 0;
		return 1;
	}
	if (*p == '\b') {
		o->col -= o->col > 0;
		while (o->at > 0 && utf8_continues(o->text[o->line + --o->at]))
			;
		return 1;
	}
	len = read_char(o, p, n, &as, &shown);
	if (len == 0) {  /* cut off; p may be `cut` */
		memmove(o->cut, p, n);
		o->cut_len = n;
		return n;
	}
	if (shown > 0)
		row_put(o, as, shown);
	return len;
}

/* A byte behind ESC [, not a control */
static void
clean_csi(struct output *o, unsigned char c)
{
	const char *behind;
	int64_t n;

	if (c < 0x40) {
		if (o->csi_len < sizeof(o->csi) - 1)
			o->csi[o->csi_len++] = (char)c;
		return;
	}
	o->state = TEXT;
	o->csi[o->csi_len] = '\0';
	if (c == 'h')
		o->screen = o->screen || strcmp(o->csi, "?1049") == 0 ||
		    strcmp(o->csi, "?1047") == 0 || strcmp(o->csi, "?47") == 0;
	if (c != 'K' && c != 'H' && c != 'f')
		return;
	n = digits_value(o->csi, 10, &behind);
	if (c == 'K' && *behind == '\0' && n <= 2)
		row_erase(o, n);
	else if (c != 'K' && (n > 1 || (*behind == ';' &&
	    digits_value(behind + 1, 10, &behind) > 1)))
		o->screen = true;
}

/* A sequence, up to its end, or to a byte that cannot be part of it */
static size_t
clean_sequence(struct output *o, const unsigned char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n && (o->state != TEXT || p[i] == 0x1B); i++) {
		if (o->state == CSI && p[i] >= 0x20 && p[i] < 0x7F) {
			clean_csi(o, p[i]);
		} else if (p[i] == '\n' || (p[i] >= 0x7F && o->state < OSC)) {
			o->state = TEXT;
			return i;
		} else if (p[i] == 0x1B) {  /* also of a string's ESC \ */
			o->state = ESCAPE;
		} else if (p[i] == 0x18 || p[i] == 0x1A ||
		    (p[i] == 0x07 && o->state == OSC)) {
			o->state = TEXT;
		} else if (p[i] < 0x20 || o->state >= OSC) {
			continue;
		} else if (o->state == ESCAPE) {
			o->csi_len = 0;
			o->state = p[i] == '[' ? CSI : p[i] == ']' ? OSC :
			    strchr("PX^_", p[i]) != NULL ? STRING :
			    p[i] < 0x30 ? ESCAPE_MORE : TEXT;
		} else if (p[i] >= 0x30) {
			o->state = TEXT;
		}
	}
	return i;
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

	for (i = 0; store != NULL && i < 2 && o->raw <= REUSED_MOST; i++) {
		if (store->text[i] == NULL) {
			store->text[i] = o->text;
			store->size[i] = o->size;
			return;
		}
	}
	free(o->text);
}

struct output *
output_new(const struct options *options, struct spool *spool, int64_t limit,
           bool terminal)
{
	struct output *o;
	size_t head_left = 0, end_bytes = 0, size, i;
	unsigned char *text;
	/* The most that is shown, and a row (no character has over 4 bytes) */
	int64_t heads[] = { limit, options->head_first, options->both_first,
	    options->binary_first };
	int64_t ends[] = { 4 * limit, 4 * options->head_last,
	    4 * options->both_last, 4 * options->look_last,
	    options->tail_bytes, ROW_BYTES };

	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		if (head_left < (size_t)heads[i])
			head_left = (size_t)heads[i];
	}
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (end_bytes < (size_t)ends[i])
			end_bytes = (size_t)ends[i];
	}
	size = 4 * head_left + end_bytes / 4 * 5 + ROW_BYTES;
	text = take_memory(options->store, size);
	if (text == NULL)
		return NULL;
	o = mem_get(sizeof(*o));
	o->options = options;
	o->text = text;
	o->size = size;
	o->head_left = (int64_t)head_left;
	o->end_bytes = end_bytes;
	o->width = terminal ? TERMINAL_COLUMNS : COLUMNS;
	o->file = spool_open(spool);
	return o;
}

void
output_free(struct output *o)
{
	if (o == NULL)
		return;
	spool_close(o->file);
	return_memory(o);
	free(o);
}

void
output_write(struct output *o, const void *bytes, size_t n)
{
	const unsigned char *p = bytes, *end;
	size_t sample = o->raw < SAMPLE ? SAMPLE - (size_t)o->raw : 0, cut;

	if (o->ended || n == 0)
		return;
	end = p + n;
	if (sample > 0 && n > sample) {
		output_write(o, p, sample);
		output_write(o, p + sample, n - sample);
		return;
	}
	spool_write(o->file, p, n);
	while (p < end) {
		cut = o->cut_len;
		if (cut > 0) {  /* It is read again, with one more byte. */
			o->cut[cut] = *p;
			o->cut_len = 0;
			p += clean_text(o, o->cut, cut + 1) - cut;
		} else if (o->state != TEXT || *p == 0x1B) {
			p += clean_sequence(o, p, (size_t)(end - p));
		} else {
			p += clean_text(o, p, (size_t)(end - p));
		}
	}
	o->raw += (int64_t)n;
	if (o->raw <= SAMPLE)
		o->no_text = o->raw >= SAMPLE_LEAST && o->bad * 10 > o->raw;
}

void
output_end(struct output *o)
{
	if (o->ended)
		return;
	if (o->cut_len > 0)  /* so there is a text */
		row_put(o, replacement, 3);
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
	return o->screen;
}

int64_t
output_bytes(const struct output *o)
{
	return o->raw;
}

size_t
output_size(const struct output *o)
{
	return o->len;
}

bool
output_within_line(const struct output *o)
{
	return o->len > 0 && o->text[o->len - 1] != '\n';
}

static int64_t
text_bytes(const struct output *o)
{
	return o->dropped + (int64_t)o->len;
}

/* The end of the piece of `text` that `at` is in: a gap splits it in two */
static size_t
text_piece(const struct output *o, size_t at)
{
	return o->dropped > 0 && at < o->head_len ? o->head_len : o->len;
}

bool
output_rewritten(const struct output *o, const struct output_cursor *c)
{
	/* A cursor in a line before is not concerned by changes of this one. */
	return c->rewrites != (c->finished == o->dropped + (int64_t)o->line
	    ? o->rewrites : o->rewrites_before);
}

/* Where the text behind it begins */
static int64_t
cursor_position(const struct output *o, const struct output_cursor *c)
{
	return c->finished + (output_rewritten(o, c) ? 0 : c->line);
}

/* That position's index in `text`; if it was dropped, of what is behind it */
static size_t
cursor_index(const struct output *o, const struct output_cursor *c)
{
	int64_t at = cursor_position(o, c), head = (int64_t)o->head_len;

	if (at > head)
		at = at < head + o->dropped ? head : at - o->dropped;
	return (size_t)at;
}

bool
output_news(const struct output *o, const struct output_cursor *c)
{
	return cursor_position(o, c) < text_bytes(o);
}

size_t
output_read(struct output *o, struct output_cursor *c, const char **text)
{
	size_t at = cursor_index(o, c);
	size_t end = text_piece(o, at);

	*text = o->len > 0 ? (const char *)o->text + at : NULL;
	output_skip(o, c);
	if (end < o->len) {
		c->finished = o->dropped + (int64_t)o->head_len;
		c->line = 0;
		c->rewrites = UINT_MAX;  /* never that many */
	}
	return end - at;
}

void
output_since(struct output *o, struct output_cursor *c, size_t limit,
             struct buf *b)
{
	struct extent e = { CUT_UNLIMITED, (int64_t)limit, CUT_UNLIMITED };

	e = cut_end((const char *)o->text, cursor_index(o, c), o->len, &e, 100);
	if (e.bytes > 0)
		buf_put(b, o->text + o->len - e.bytes, (size_t)e.bytes);
	output_skip(o, c);
}

void
output_last_line(const struct output *o, struct buf *b)
{
	struct extent e = { CUT_UNLIMITED, LAST_LINE, 1 };
	size_t end = o->len;

	while (end > 0 && o->text[end - 1] == '\n')
		end--;
	e = cut_end((const char *)o->text, 0, end, &e, 100);
	if (e.bytes > 0)
		buf_put(b, o->text + end - e.bytes, (size_t)e.bytes);
}

void
output_skip(struct output *o, struct output_cursor *c)
{
	c->finished = o->dropped + (int64_t)o->line;
	c->lines = o->lines;
	c->line = (int64_t)(o->len - o->line);
	c->rewrites = o->rewrites;
	if (o->seen < o->len - o->line)
		o->seen = o->len - o->line;
}

/* -- Showing ----------------------------------------------------------- */

/* Appends the truncation line. start, end: the sizes of what is shown; lines:
 * of the text in all. */
static void
show_notice(const struct output *o, enum cut_parts parts,
            const struct extent *start, const struct extent *end,
            int64_t lines, const char *name, struct buf *b)
{
	/* A terminal adds carriage returns to all lines. */
	bool is_raw = o->bad > 0 || o->width == TERMINAL_COLUMNS ||
	    o->raw - (int64_t)o->cut_len != text_bytes(o);

	if (parts == CUT_END && end->lines == 0)
		buf_fmt(b, "[%s: showing last 1 of %jd lines (its last %jd "
		    "bytes)", name, lines, end->bytes);
	else if (parts == CUT_END)
		buf_fmt(b, "[%s: showing last %jd of %jd lines", name,
		    end->lines, lines);
	else if (o->no_text && start->chars == o->chars)
		buf_fmt(b, "[%s: not text, %jd bytes in total, first %jd "
		    "characters shown", name, o->raw, start->chars);
	else if (o->no_text)
		buf_fmt(b, "[%s truncated: not text, %jd bytes in total, first "
		    "%jd characters shown", name, o->raw, start->chars);
	else if (parts == CUT_START_MOSTLY)
		buf_fmt(b, "[%s truncated: %jd characters in total, first %jd "
		    "and last %jd shown", name, o->chars, start->chars,
		    end->chars);
	else
		buf_fmt(b, "[%s truncated: %jd characters in total, %jd left "
		    "out here", name, o->chars, o->chars - start->chars -
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

/* The truncation line is between start and end, or after a lone end. */
struct output_view
output_show(struct output *o, const struct output_cursor *c,
            const struct output_bounds *most, const char *name, struct buf *b)
{
	struct output_view view = { -1, NULL };
	struct output_bounds tail = *most;
	struct cut cut = choose_cut(o, most);
	struct extent s = { CUT_UNLIMITED, CUT_UNLIMITED, CUT_UNLIMITED };
	struct extent e, text = { o->chars, text_bytes(o),
	    o->lines + output_within_line(o) };
	const char *p = (const char *)o->text;
	size_t at = c != NULL ? cursor_index(o, c) : 0, start, end;
	bool has_gap;

	if (at == o->len && (c != NULL || !o->no_text))
		return view;
	if (c != NULL) {
		tail.how = TRUNCATE_TAIL;
		if (most->how != TRUNCATE_LOOK && cut_is_needed(&cut, &text))
			cut = choose_cut(o, &tail);
		text.bytes -= cursor_position(o, c);
		text.lines -= c->lines;
		/* Dropped bytes count as a character each: it is cut anyway. */
		s = cut_start(p + at, o->len - at, &s);
		text.chars = s.chars + text.bytes - s.bytes;
	}
	/* If bytes were dropped after the cursor, there is a gap to mark. */
	has_gap = text_piece(o, at) < o->len;
	if (!o->no_text && !has_gap && !cut_is_needed(&cut, &text))
		cut.start = cut.whole;
	s = cut_start(p + at, text_piece(o, at) - at, &cut.start);
	start = at + (size_t)s.bytes;
	buf_put(b, p + at, start - at);
	if (start == o->len && !o->no_text)
		return view;
	end = o->dropped > 0 && start < o->head_len ? o->head_len : start;
	e = cut_end(p, end, o->len, &cut.end, cut.line_percent);
	end = o->len - (size_t)e.bytes;
	if (cut.parts == CUT_END) {
		buf_put(b, p + end, o->len - end);
		if (end == at)
			return view;
	}
	buf_end_line(b);
	show_notice(o, cut.parts, &s, &e, text.lines, name, b);
	if (cut.parts != CUT_END && end < o->len) {
		buf_putc(b, '\n');
		buf_put(b, p + end, o->len - end);
	}
	view.chars = o->chars;
	view.file = spool_path(o->file);
	return view;
}
