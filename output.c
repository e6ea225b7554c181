/* Needs nothing of the system but C99. */

#include "output.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"

/* output_write() saves the bytes raw, takes out escape sequences and control
 * characters, and appends the rest to `text`. Of a long stream that holds the
 * head and, right behind it, the end with the current row; what was between
 * them has been dropped. A row is what CR, backspace and erasing can reach: a
 * line, or what a terminal would show of a longer one in its last row. While a
 * row is changed in its middle it stands in `cells`, not in `text`: so no
 * change moves what is behind it. Positions are in bytes. */

enum {
	HEAD_CHARS = HEAD_FIRST, END_CHARS = BOTH_LAST,  /* kept, at least */
	COLUMNS = 8000,       /* in a row (O1), */
	TERMINAL = 200,       /* and in one on a terminal (I1, I6) */
	ROW_BYTES = 4 * COLUMNS,  /* and so many are taken at a time, at most */
	SAMPLE = 4000         /* bytes that say whether it is text (O9) */
};

static const unsigned char replacement[] = "\xEF\xBF\xBD";  /* U+FFFD */
static const unsigned char nul_sign[] = "\xE2\x90\x80";  /* U+2400 */

enum state {
	TEXT, CHARACTER,  /* in one that was split between two reads */
	ESCAPE,       /* behind an ESC */
	ESCAPE_MORE,  /* in a sequence of more than two bytes */
	CSI, OSC, STRING  /* DCS, SOS, PM or APC */
};

struct output {
	struct spool_file *file;
	bool ended, screen;   /* output_is_screen() */
	bool no_text;         /* O9 */
	int64_t raw;          /* bytes that came, */
	int64_t bad;          /* of them NUL, or not UTF-8, */
	int64_t lost;         /* and not in the text, for want of memory */
	size_t width;         /* columns of a row */

	enum state state;
	char csi[16];         /* what stands behind its ESC [, the start */
	size_t csi_len;
	unsigned char cut[4]; /* a CHARACTER so far */
	size_t cut_len;

	unsigned char *text;  /* allocated with the first byte */
	size_t len, size;     /* bytes in it; room in it, without `cells` */
	size_t end_bytes;     /* kept of the end */
	size_t head_len;      /* bytes of the head */
	int64_t head_left;    /* characters for which the head has room */
	int64_t dropped;      /* bytes dropped behind the head */
	int64_t chars, lines; /* characters and newlines of all text */

	size_t line;          /* where in `text` the current row begins */
	size_t seen;          /* bytes of it that a reader has seen */
	size_t cols;          /* characters in it */
	size_t col;           /* which one the next replaces; also behind it */
	unsigned char (*cells)[4];  /* COLUMNS, behind the text */
	bool editing;         /* the row is in `cells`, */
	size_t blanks;        /* and so many of the first are blank */
	unsigned rewrites;    /* changes of rows that were seen */
	unsigned rewrites_before;  /* the same, when the row began */
};

/* -- The text ---------------------------------------------------------- */

/* Makes room for ROW_BYTES more. (The head takes rows that have ended: until it
 * is full, what is behind it is no longer than a row.) */
static void
make_room(struct output *o)
{
	struct part head = { o->head_left, CUT_ALL, CUT_ALL };
	size_t end, gone;

	head = cut_start(o->text + o->head_len, o->line - o->head_len, &head);
	o->head_len += (size_t)head.bytes;
	o->head_left -= head.chars;
	if (o->len - o->head_len < o->end_bytes / 4 * 5)
		return;
	end = o->len - o->end_bytes;
	while (utf8_continues(o->text[end]))
		end--;
	gone = end - o->head_len;
	memmove(o->text + o->head_len, o->text + end, o->len - end);
	o->dropped += (int64_t)gone;
	o->len -= gone;
	o->line -= gone;
}

/* The length of the character at the start of n bytes; 0: it goes on behind
 * them. *shown bytes at *as are shown in its place. */
static size_t
read_char(const unsigned char *p, size_t n, const unsigned char **as,
          size_t *shown)
{
	int len = utf8_length(p, n);

	*as = len < 0 ? replacement : *p == 0 ? nul_sign : p;
	*shown = *as == p ? (size_t)len : 3;
	if (*p != 0 && ((*p < 0x20 && *p != '\t') || *p == 0x7F ||
	    (len == 2 && *p == 0xC2 && p[1] < 0xA0)))  /* C0, DEL, C1 */
		*shown = 0;
	return (size_t)(len < 0 ? -len : len);
}

static void
begin_row(struct output *o, const unsigned char *at)
{
	o->line = (size_t)(at - o->text);
	o->cols = o->seen = 0;
	o->rewrites_before = o->rewrites;
}

/* Appends some of the bytes and returns how many, up to a control that moves
 * the cursor, or to a full row. The cursor is at the row's end, or a newline
 * follows. (A byte is copied before it is looked at.) */
static size_t
append(struct output *o, const unsigned char *p, size_t n)
{
	unsigned char *to, *from;  /* the row, or what is new of it */
	size_t i, len, shown, most, inner = 0;
	const unsigned char *as;

	make_room(o);
	to = from = o->text + o->len;
	most = o->cols < o->width ? o->width - o->cols : *p == '\n';
	for (i = 0; i < n && i < most; i++) {
		*to++ = p[i];
		if (p[i] >= 0x20 && p[i] < 0x7F)
			continue;
		to--;
		if (p[i] == '\r' && i + 1 < n && p[i + 1] == '\n')
			continue;
		if (p[i] == '\n') {
			while (o->width == TERMINAL &&
			    to > o->text + o->line + o->seen &&
			    (to[-1] == ' ' || to[-1] == '\t'))
				to--;
			*to++ = '\n';
			o->lines++;
			o->chars += to - from - (ptrdiff_t)inner;
			begin_row(o, from = to);
			inner = 0;
			continue;
		}
		if (p[i] == 0x1B || p[i] == '\r' || p[i] == '\b')
			break;
		if (p[i] == 0) {  /* 1.3 ns each, by read_char() 5.9 */
			memcpy(to, nul_sign, 3);
			to += 3;
			inner += 2;
			o->bad++;
			continue;
		}
		len = read_char(p + i, n - i, &as, &shown);
		if (len == 0)
			break;
		o->bad += as != p + i ? (int64_t)len : 0;
		inner += shown > 0 ? shown - 1 : 0;
		/* read_char() has set all that is shown.
		 * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
		for (; shown > 0; shown--)
			*to++ = *as++;  /* NOLINT */
		i += len - 1;
	}
	o->chars += to - from - (ptrdiff_t)inner;
	o->cols += (size_t)(to - from) - inner;
	o->col = o->cols;
	o->len = (size_t)(to - o->text);
	return i;
}

/* -- The current row --------------------------------------------------- */

static void
open_row(struct output *o)
{
	size_t i, at;
	unsigned char *cell;

	if (o->editing)
		return;
	make_room(o);
	for (i = 0, at = o->line; i < o->cols; i++) {
		cell = o->cells[i];
		memset(cell, 0, 4);
		do
			*cell++ = o->text[at++];
		while (at < o->len && utf8_continues(o->text[at]));
	}
	o->blanks = 0;
	o->chars -= (int64_t)o->cols;
	o->len = o->line;
	o->editing = true;
}

static void
close_row(struct output *o)
{
	size_t i, k;

	if (!o->editing)
		return;
	for (i = 0; i < o->cols; i++) {
		if (i < o->blanks)
			o->text[o->len++] = ' ';
		else for (k = 0; k < 4 && o->cells[i][k] != 0; k++)
			o->text[o->len++] = o->cells[i][k];
	}
	o->chars += (int64_t)o->cols;
	o->editing = false;
}

/* Puts a character other than a newline in place of the one at the cursor. */
static void
put(struct output *o, const unsigned char *p, size_t n)
{
	unsigned char cell[4] = { 0 };

	if (o->col == o->width) {
		close_row(o);
		if (o->width == TERMINAL)
			append(o, (const unsigned char *)"\n", 1);
		else
			begin_row(o, o->text + o->len);
		append(o, p, n);
		return;
	}
	open_row(o);
	if (o->cols == 0)
		o->cols = o->blanks = o->col;
	while (o->blanks > o->col)
		memcpy(o->cells[--o->blanks], " \0\0", 4);
	memcpy(cell, p, n);
	if (o->col == o->cols)
		o->cols++;
	else if (memcmp(o->cells[o->col], cell, 4) != 0)
		o->rewrites += o->seen > 0;
	memcpy(o->cells[o->col++], cell, 4);
}

/* CSI K: erases from the cursor on (0), up to and including it (1), or all of
 * the row (2). The cursor keeps its column, perhaps behind the end. */
static void
erase(struct output *o, int64_t what)
{
	size_t left = what > 0 ? 0 : o->col;

	open_row(o);
	if (left >= o->cols)
		return;
	o->rewrites += o->seen > 0;
	if (what != 1 || o->col >= o->cols)
		o->cols = left;
	else if (o->blanks <= o->col)
		o->blanks = o->col + 1;
}

/* -- Reading ----------------------------------------------------------- */

/* Each of these takes some of the n bytes at p and returns how many. */

static size_t
read_text(struct output *o, const unsigned char *p, size_t n)
{
	size_t len = 1, shown;
	const unsigned char *as;

	if (*p == '\n') {
		close_row(o);
		o->col = o->cols;
	}
	if (!o->editing && o->col == o->cols) {
		len = append(o, p, n);
		if (len > 0)
			return len;
	}
	if (*p == '\r') {
		o->col = 0;
		return 1;
	}
	if (*p == '\b') {
		o->col -= o->col > 0;
		return 1;
	}
	len = read_char(p, n, &as, &shown);
	if (len == 0) {  /* cut off; p may be `cut` */
		memmove(o->cut, p, n);
		o->cut_len = n;
		o->state = CHARACTER;
		return n;
	}
	o->bad += as != p ? (int64_t)len : 0;
	if (shown > 0)
		put(o, as, shown);
	return len;
}

/* The byte behind an unfinished character: both are read again, together. */
static size_t
read_character(struct output *o, const unsigned char *p)
{
	size_t n = o->cut_len;

	o->cut[n] = *p;
	o->cut_len = 0;
	o->state = TEXT;
	return read_text(o, o->cut, n + 1) - n;
}

/* A byte behind ESC [, not a control */
static void
read_csi(struct output *o, unsigned char c)
{
	const char *behind;
	int64_t n;

	if (c < 0x40) {
		if (o->csi_len < sizeof(o->csi) - 1)
			o->csi[o->csi_len++] = (char)c;
		return;
	}
	o->state = TEXT;
	if (c != 'K' && c != 'H' && c != 'f' && c != 'h')
		return;
	o->csi[o->csi_len] = '\0';
	n = digits_value(o->csi, 10, &behind);
	if (c == 'K' && *behind == '\0' && n <= 2)
		erase(o, n);
	else if (c == 'h' && (strcmp(o->csi, "?1049") == 0 ||
	    strcmp(o->csi, "?1047") == 0 || strcmp(o->csi, "?47") == 0))
		o->screen = true;
	else if ((c == 'H' || c == 'f') && (n > 1 || (*behind == ';' &&
	    digits_value(behind + 1, 10, &behind) > 1)))
		o->screen = true;
}

/* A sequence, up to its end, or to a byte that cannot be part of it */
static size_t
read_sequence(struct output *o, const unsigned char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n && (o->state != TEXT || p[i] == 0x1B); i++) {
		if (o->state == CSI && p[i] >= 0x20 && p[i] < 0x7F) {
			read_csi(o, p[i]);
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

static void
read_bytes(struct output *o, const unsigned char *p, size_t n)
{
	const unsigned char *end = p + n;

	while (p < end) {
		if (o->state == CHARACTER)
			p += read_character(o, p);
		else if (o->state != TEXT || *p == 0x1B)
			p += read_sequence(o, p, (size_t)(end - p));
		else
			p += read_text(o, p, (size_t)(end - p));
	}
}

/* -- Showing ----------------------------------------------------------- */

static int64_t
total_bytes(const struct output *o)
{
	return o->dropped + (int64_t)o->len;
}

bool
output_within_line(const struct output *o)
{
	return o->len > 0 && o->text[o->len - 1] != '\n';
}

/* The last one counts also when it has no newline. */
static int64_t
total_lines(const struct output *o)
{
	return o->lines + output_within_line(o);
}

/* The end of a line in brackets */
static void
tell_file(const struct output *o, struct buf *b)
{
	/* On a terminal each newline came with a CR, but rows end, too. */
	spool_tell(o->file, o->bad > 0 || o->width == TERMINAL ||
	    o->raw - (int64_t)o->cut_len != total_bytes(o), b);
	buf_putc(b, ']');
}

/* The truncation line; behind the reader's position are so many lines. */
static void
put_notice(struct output *o, const struct cut *cut, int64_t first,
           const struct part *e, int64_t lines, const char *name,
           struct buf *b)
{
	buf_add(b, "[", name);
	if (o->no_text)
		buf_number(b, " truncated: not text, ", o->raw,
		    " bytes in total, ");
	else if (cut->sixths > 0)
		buf_number(b, " truncated: ", o->chars,
		    " characters in total, ");
	if (o->no_text) {
		buf_number(b, "first ", first, " characters shown");
	} else if (cut->sixths == 5) {
		buf_number(b, "first ", first, " and ");
		buf_number(b, "last ", e->chars, " shown");
	} else if (cut->sixths > 0) {
		buf_number(b, "", o->chars - first - e->chars,
		    " left out here");
	} else {
		buf_number(b, ": showing last ", e->lines > 0 ? e->lines : 1,
		    " of ");
		buf_number(b, "", lines, " lines");
		if (e->lines == 0)
			buf_number(b, " (its last ", e->bytes, " bytes)");
	}
	tell_file(o, b);
}

/* Makes both parts fit, with the truncation line between them (K3). */
static void
fit(struct output *o, struct cut *cut, const struct output_bounds *most,
    int64_t lines, const char *name)
{
	struct part long_numbers = { o->chars, total_bytes(o), 0 };
	struct buf b = { NULL, 0, 0, false };

	if (most->bytes > 0)
		put_notice(o, cut, o->chars, &long_numbers, lines, name, &b);
	if (most->bytes > 0)
		cut_share(most->bytes - (int64_t)b.len - 2, cut->sixths,
		    &cut->first.bytes, &cut->last.bytes);
	if (most->lines > 0)
		cut_share(most->lines - 1, cut->sixths, &cut->first.lines,
		    &cut->last.lines);
	buf_free(&b);
}

/* Where a position is in `text`; of one that was dropped: what comes next */
static size_t
index_of(const struct output *o, int64_t position)
{
	int64_t kept = (int64_t)o->head_len;

	if (position < kept || position < kept + o->dropped)
		return (size_t)(position < kept ? position : kept);
	return (size_t)(position - o->dropped);
}

/* Shows the text from a position on, which has so many lines. The truncation
 * line stands between start and end, or behind an end that stands alone. */
static void
show(struct output *o, struct cut cut, const struct output_bounds *most,
     int64_t from, int64_t lines, const char *name, struct buf *b,
     struct output_view *view)
{
	size_t at = index_of(o, from), start, rest, end;
	int64_t bytes = total_bytes(o) - from;
	struct part s = { CUT_ALL, CUT_ALL, CUT_ALL }, e;

	view->chars = -1;
	view->file = NULL;
	if (o->len == 0)
		return;
	/* Each byte that was dropped counts as a character: there are many. */
	s = cut_start(o->text + at, o->len - at, &s);
	s.chars += bytes - s.bytes;
	if (cut_is_over(&cut, s.chars, bytes, lines) ||
	    (most->bytes > 0 && bytes > most->bytes) ||
	    (most->lines > 0 && lines > most->lines))
		fit(o, &cut, most, lines, name);
	else
		cut.first.chars = CUT_ALL;
	rest = o->dropped > 0 && at < o->head_len ? o->head_len : o->len;
	s = cut_start(o->text + at, rest - at, &cut.first);
	start = at + (size_t)s.bytes;
	buf_put(b, o->text + at, start - at);
	if (start == o->len)
		return;
	rest = o->dropped > 0 && start < o->head_len ? o->head_len : start;
	e = cut_end(o->text, rest, o->len, &cut);
	end = o->len - (size_t)e.bytes;
	if (cut.sixths == 0)
		buf_put(b, o->text + end, o->len - end);
	if (cut.sixths == 0 && end == at)
		return;
	buf_end_line(b);
	put_notice(o, &cut, s.chars, &e, lines, name, b);
	if (cut.sixths > 0 && end < o->len) {
		buf_putc(b, '\n');
		buf_put(b, o->text + end, o->len - end);
	}
	view->chars = o->chars;
	view->file = spool_path(o->file);
}

/* -- The stream -------------------------------------------------------- */

struct output *
output_new(struct spool *s, int64_t limit, bool terminal)
{
	struct output *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->head_left = limit > HEAD_CHARS ? limit : HEAD_CHARS;
	o->end_bytes = 4 * (size_t)(limit > END_CHARS ? limit : END_CHARS);
	o->size = 4 * (size_t)o->head_left + o->end_bytes / 4 * 5 + ROW_BYTES;
	o->width = terminal ? TERMINAL : COLUMNS;
	o->file = spool_open(s);
	if (o->file != NULL)
		return o;
	free(o);
	return NULL;
}

void
output_free(struct output *o)
{
	if (o == NULL)
		return;
	spool_close(o->file);
	free(o->text);
	free(o);
}

void
output_write(struct output *o, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	size_t step;

	if (o->ended || n == 0)
		return;
	spool_write(o->file, p, n);
	if (o->text == NULL)
		o->text = malloc(o->size + ROW_BYTES);
	if (o->text != NULL)
		o->cells = (unsigned char (*)[4])(o->text + o->size);
	else
		o->lost += (int64_t)n;
	for (; n > 0; n -= step, p += step) {
		step = o->raw < SAMPLE && n > (size_t)(SAMPLE - o->raw)
		    ? (size_t)(SAMPLE - o->raw) : n;
		if (o->text != NULL)
			read_bytes(o, p, step);
		o->raw += (int64_t)step;
		if (o->raw <= SAMPLE)
			o->no_text = o->raw >= 200 && o->bad * 10 > o->raw;
	}
	close_row(o);
}

void
output_end(struct output *o)
{
	if (o->ended)
		return;
	if (o->state == CHARACTER) {  /* so there is a text */
		put(o, replacement, 3);
		close_row(o);
	}
	spool_end(o->file);
	o->ended = true;
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

/* -- Cursors ----------------------------------------------------------- */

bool
output_rewritten(const struct output *o, const struct output_cursor *c)
{
	/* A cursor in a line before is not concerned by changes of this one. */
	return c->rewrites != (c->finished == o->dropped + (int64_t)o->line
	    ? o->rewrites : o->rewrites_before);
}

/* Where the text behind it begins */
static int64_t
position(const struct output *o, const struct output_cursor *c)
{
	return c->finished + (output_rewritten(o, c) ? 0 : c->line);
}

bool
output_news(const struct output *o, const struct output_cursor *c)
{
	return position(o, c) < total_bytes(o);
}

/* Moves it to the end. */
static void
look(struct output *o, struct output_cursor *c)
{
	c->finished = o->dropped + (int64_t)o->line;
	c->lines = o->lines;
	c->line = (int64_t)(o->len - o->line);
	c->rewrites = o->rewrites;
	if (o->seen < o->len - o->line)
		o->seen = o->len - o->line;
}

size_t
output_read(struct output *o, struct output_cursor *c, const char **text)
{
	size_t at = index_of(o, position(o, c));
	size_t end = o->dropped > 0 && at < o->head_len ? o->head_len : o->len;

	*text = o->len > 0 ? (const char *)o->text + at : NULL;
	look(o, c);
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
	struct cut cut = { 0, { 0, 0, 0 }, { CUT_ALL, 0, CUT_ALL }, 0, 100 };
	size_t at = index_of(o, position(o, c));
	struct part e;

	cut.last.bytes = (int64_t)limit;
	e = cut_end(o->text, at, o->len, &cut);
	if (e.bytes > 0)
		buf_put(b, o->text + o->len - e.bytes, (size_t)e.bytes);
	look(o, c);
}

void
output_show(struct output *o, struct output_cursor *c, bool only_new,
            const struct output_bounds *most, const char *name, struct buf *b,
            struct output_view *view)
{
	struct cut cut = cut_choose(o->ended ? most->how : TRUNCATE_LOOK,
	    most->limit, o->no_text);

	if (only_new && most->how != TRUNCATE_LOOK &&
	    cut_is_over(&cut, o->chars, total_bytes(o), total_lines(o)))
		cut = cut_choose(o->ended ? TRUNCATE_TAIL : TRUNCATE_LOOK,
		    most->limit, o->no_text);
	show(o, cut, most, only_new ? position(o, c) : 0,
	    total_lines(o) - (only_new ? c->lines : 0), name, b, view);
	look(o, c);
	if (o->lost == 0)
		return;
	buf_end_line(b);
	buf_add(b, "[", name);
	buf_number(b, ": ", o->lost, " bytes are missing, for want of memory");
	tell_file(o, b);
	view->file = spool_path(o->file);
}
