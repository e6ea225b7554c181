/* Needs nothing of the system but C99. */

#include "output.h"

#include <stdlib.h>
#include <string.h>

/* output_write() saves the bytes raw, takes out escape sequences and control
 * characters, and puts the rest at the cursor, which mostly is the end of
 * `text`. A CR moves the cursor to the start of the current line. Of a long
 * stream `text` holds the head and, right behind it, the end with the current
 * line; what was between them has been dropped. Positions are in bytes. */

enum {
	HEAD_CHARS = 30000,   /* kept of the start, 4 bytes each at most */
	END_BYTES = 80000,    /* and of the end: 20,000 such characters */
	MORE_BYTES = 24576,   /* between them, before any is dropped */
	STEP_BYTES = 4096,    /* taken at a time, at most */
	TEXT_BYTES = 4 * HEAD_CHARS + END_BYTES + MORE_BYTES + STEP_BYTES,
	LINE_BYTES = 8192,    /* as far back as a CR can reach: so many may have
	                       * to be moved for one character (P6) */
	BLANKS = 80,          /* erased columns kept in front of the cursor */
	MANY = INT32_MAX
};

/* What is shown of a long text (O3, O4, T3) */
static const struct bounds {
	int64_t all;    /* so many characters are shown whole */
	int64_t first;  /* of more, so many of the start, */
	int64_t chars, bytes, lines;  /* and of the end at most so much: */
	bool whole;     /* whole lines, unless the last is too long for that */
} bounds[] = {
	[TRUNCATE_HEAD] = { HEAD_CHARS, HEAD_CHARS, 2000, MANY, MANY, true },
	[TRUNCATE_TAIL] = { MANY, 0, MANY, 51200, 2000, true },
	[TRUNCATE_BOTH] = { 30000, 10000, 20000, MANY, MANY, false },
	[TRUNCATE_LOOK] = { 10000, 0, 10000, MANY, MANY, true }
}, everything = { MANY, 0, MANY, MANY, MANY, false };

static const char replacement[] = "\xEF\xBF\xBD";  /* U+FFFD */

enum state {
	TEXT,
	CHARACTER,    /* in one that was split between two reads */
	ESCAPE,       /* behind an ESC */
	ESCAPE_MORE,  /* in a sequence of more than two bytes */
	CSI,
	OSC,
	STRING        /* DCS, SOS, PM or APC */
};

struct output {
	struct spool_file *file;
	bool failed;          /* no memory: text is missing */
	bool ended;

	enum state state;
	unsigned param;       /* of a CSI; above 2: one that does not erase */
	unsigned char cut[4]; /* a CHARACTER so far */
	size_t cut_len;

	unsigned char *text;  /* TEXT_BYTES, allocated with the first byte */
	size_t len;           /* bytes in it */
	size_t head_len;      /* bytes of the head */
	int64_t head_left;    /* characters for which the head has room */
	int64_t dropped;      /* bytes dropped behind the head */
	size_t line;          /* where in `text` the current line begins */
	size_t cursor;        /* and where the next character goes */
	int64_t blanks;       /* columns from the line's end to the cursor */
	bool looked_at;       /* a reader has seen some of the line */
	unsigned rewrites;    /* changes of lines that were looked at */
	unsigned rewrites_before;  /* the same, when the line began */
	int64_t chars, lines; /* characters and newlines of all text */
};

/* -- The current line -------------------------------------------------- */

static bool
continues(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

/* Is the valid character at p one of U+0080 to U+009F? */
static bool
is_c1(const unsigned char *p)
{
	return p[0] == 0xC2 && p[1] < 0xA0;
}

static int64_t
count_chars(const unsigned char *p, size_t n)
{
	int64_t chars = 0;

	while (n > 0)
		chars += !continues(p[--n]);
	return chars;
}

/* The bytes of the first *chars characters; lowers that by what it finds. */
static size_t
skip_chars(const unsigned char *p, size_t n, int64_t *chars)
{
	size_t i = 0;

	while (i < n && (*chars > 0 || continues(p[i])))
		*chars -= !continues(p[i++]);
	return i;
}

/* Makes room for STEP_BYTES more. (The head takes lines that have ended: until
 * it is full, what is behind it is no longer than a line.) */
static void
make_room(struct output *o)
{
	size_t end, gone;

	o->head_len += skip_chars(o->text + o->head_len,
	    o->line - o->head_len, &o->head_left);
	if (o->len - o->head_len < END_BYTES + MORE_BYTES)
		return;
	end = o->len - END_BYTES;
	while (continues(o->text[end]))
		end--;
	gone = end - o->head_len;
	memmove(o->text + o->head_len, o->text + end, o->len - end);
	o->dropped += (int64_t)gone;
	o->len -= gone;
	o->line -= gone;
	o->cursor -= gone;
}

/* A line too long is cut at the cursor, wherever reads have split it. */
static void
bound_line(struct output *o)
{
	if (o->len - o->line >= LINE_BYTES) {
		o->line = o->cursor;
		o->rewrites_before = o->rewrites;
	}
}

/* Puts n bytes in place of those between two indices, and the cursor behind. */
static void
replace(struct output *o, size_t from, size_t to, const void *p, size_t n)
{
	unsigned char *at = o->text + from;

	o->chars += count_chars(p, n) - count_chars(at, to - from);
	if (n != to - from)
		memmove(at + n, o->text + to, o->len - to);
	memcpy(at, p, n);
	o->len = o->len - (to - from) + n;
	o->cursor = from + n;
}

/* Puts a character other than a newline in place of the one at the cursor. */
static void
put(struct output *o, const void *p, size_t n)
{
	char blanks[BLANKS];
	int64_t one = 1;
	size_t old;

	make_room(o);
	if (o->blanks > 0) {
		memset(blanks, ' ', sizeof(blanks));
		replace(o, o->cursor, o->cursor, blanks, (size_t)o->blanks);
		o->blanks = 0;
	}
	old = skip_chars(o->text + o->cursor, o->len - o->cursor, &one);
	if (old > 0 && (old != n || memcmp(o->text + o->cursor, p, n) != 0))
		o->rewrites += o->looked_at;
	replace(o, o->cursor, o->cursor + old, p, n);
	bound_line(o);
}

/* CSI K: erases from the cursor on (0), up to and including it (1), or all of
 * the line (2). The cursor keeps its column, perhaps behind the end. */
static void
erase(struct output *o, unsigned what)
{
	size_t from = what > 0 ? o->line : o->cursor;
	size_t to = what == 1 ? o->cursor : o->len;

	if (from < o->len)
		o->rewrites += o->looked_at;
	o->blanks += count_chars(o->text + from, o->cursor - from);
	if (o->blanks > BLANKS)
		o->blanks = BLANKS;
	replace(o, from, to, "", 0);
	if (o->cursor < o->len) {
		put(o, " ", 1);
		o->cursor--;
	}
}

/* -- Reading ----------------------------------------------------------- */

/* Each of these takes some of the n bytes at p and returns how many. */

/* Text without controls at the end of the line, which nearly all bytes are.
 * (A byte is copied before it is looked at: there is room behind the end.) */
static size_t
append(struct output *o, const unsigned char *p, size_t n)
{
	size_t room = LINE_BYTES - (o->len - o->line);
	size_t i, line = 0, inner = 0;
	unsigned char *to;
	int len;

	make_room(o);
	to = o->text + o->len;
	n = n < room ? n : room;
	n = n < STEP_BYTES ? n : STEP_BYTES;
	for (i = 0; i < n; i++) {
		to[i] = p[i];
		if (p[i] >= 0x20 && p[i] < 0x7F)
			continue;
		if (p[i] == '\n') {
			o->lines++;
			line = i + 1;
		} else if (p[i] >= 0x80) {
			len = utf8_length(p + i, n - i);
			if (len <= 0 || is_c1(p + i))
				break;
			memcpy(to + i, p + i, (size_t)len);
			i += (size_t)len - 1;
			inner += (size_t)len - 1;
		} else if (p[i] != '\t') {
			break;
		}
	}
	if (line > 0) {
		o->line = o->len + line;
		o->looked_at = false;
		o->rewrites_before = o->rewrites;
	}
	o->chars += (int64_t)(i - inner);
	o->len += i;
	o->cursor = o->len;
	bound_line(o);
	return i;
}

static size_t
read_text(struct output *o, const unsigned char *p, size_t n)
{
	size_t done = 0;
	int len;

	if (*p == '\n') {
		o->cursor = o->len;
		o->blanks = 0;
	}
	if (o->cursor == o->len && o->blanks == 0)
		done = append(o, p, n);
	if (done > 0)
		return done;
	len = utf8_length(p, n);
	if (len == 0) {  /* cut off; p may be `cut` */
		memmove(o->cut, p, n);
		o->cut_len = n;
		o->state = CHARACTER;
		return n;
	}
	if (len < 0) {
		put(o, replacement, 3);
		return (size_t)-len;
	}
	if (*p == '\r') {
		o->cursor = o->line;
		o->blanks = 0;
	} else if (*p == '\t' || (*p >= 0x20 && *p != 0x7F && !is_c1(p))) {
		put(o, p, (size_t)len);
	}
	return (size_t)len;
}

/* The byte behind an unfinished character: both are read again, together. */
static size_t
read_character(struct output *o, const unsigned char *p)
{
	size_t n = o->cut_len;

	o->cut[n] = *p;
	o->state = TEXT;
	return read_text(o, o->cut, n + 1) - n;
}

/* A byte behind ESC [, not a control */
static void
read_csi(struct output *o, unsigned char c)
{
	if (c >= '0' && c <= '9' && o->param <= 9) {
		o->param = o->param * 10 + (c - '0');
	} else if (c < 0x40) {
		o->param = 99;
	} else {
		o->state = TEXT;
		if (c == 'K' && o->param <= 2)
			erase(o, o->param);
	}
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
			o->param = 0;
			o->state = p[i] == '[' ? CSI : p[i] == ']' ? OSC :
			    strchr("PX^_", p[i]) != NULL ? STRING :
			    p[i] < 0x30 ? ESCAPE_MORE : TEXT;
		} else if (p[i] >= 0x30) {
			o->state = TEXT;
		}
	}
	return i;
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

static bool
is_over(const struct output *o, enum truncate how)
{
	const struct bounds *most = &bounds[how];

	return o->chars > most->all || total_bytes(o) > most->bytes ||
	    total_lines(o) > most->lines;
}

/* The end of a text that is shown; lines: 0 if it is a part of one line */
struct end {
	int64_t bytes, chars, lines;
};

static struct end
find_end(const unsigned char *text, size_t len, const struct bounds *most)
{
	struct end e = { 0, 0, 0 }, whole = e;
	size_t i = len;

	while (i > 0 && e.lines < most->lines && e.chars < most->chars) {
		if (continues(text[--i]))
			continue;
		if ((int64_t)(len - i) > most->bytes)
			break;
		e.bytes = (int64_t)(len - i);
		e.chars++;
		if (i == 0 || text[i - 1] == '\n') {
			e.lines++;
			whole = e;
		}
	}
	return most->whole && whole.lines > 0 ? whole : e;
}

static void
put_number(struct buf *b, const char *before, int64_t n, const char *behind)
{
	buf_puts(b, before);
	buf_int(b, n);
	buf_puts(b, behind);
}

/* The truncation line, behind the stream's name */
static void
put_notice(struct output *o, const struct bounds *most, const struct end *e,
           int64_t lines, struct buf *b)
{
	if (most->first > 0)
		put_number(b, " truncated: ", o->chars,
		    " characters in total, ");
	if (most->first > 0 && most->whole) {
		put_number(b, "first ", most->first, " and ");
		put_number(b, "last ", e->chars, " shown");
	} else if (most->first > 0) {
		put_number(b, "", o->chars - most->first - e->chars,
		    " left out here");
	} else {
		put_number(b, ": showing last ", e->lines > 0 ? e->lines : 1,
		    " of ");
		put_number(b, "", lines, " lines");
		if (e->lines == 0)
			put_number(b, " (its last ", e->bytes, " bytes)");
	}
	spool_tell(o->file, b);
}

/* Shows the text from a position on, which has so many lines. The truncation
 * line stands between start and end, or behind the end if that is all that is
 * shown. False: nothing was left out. */
static bool
show(struct output *o, const struct bounds *most, int64_t from, int64_t lines,
     const char *name, struct buf *b)
{
	int64_t first = most->first;
	size_t at = (size_t)(from - o->dropped), start, end;
	struct end e;

	b->failed = b->failed || o->failed;
	if (o->len == 0)
		return false;
	if (o->dropped > 0 && from < o->dropped + (int64_t)o->head_len)
		at = o->head_len;  /* the first byte that was not dropped */
	e = find_end(o->text + at, o->len - at, most);
	start = skip_chars(o->text, o->len, &first);
	if (e.chars > o->chars - most->first) {  /* some is in the start */
		e.chars = o->chars - most->first;
		e.bytes = total_bytes(o) - (int64_t)start;
	}
	end = o->len - (size_t)e.bytes;
	if (start > 0)
		buf_put(b, o->text, start);
	else
		buf_put(b, o->text + end, o->len - end);
	if (end > at && name != NULL) {
		if (o->text[(start > 0 ? start : o->len) - 1] != '\n')
			buf_putc(b, '\n');
		buf_add(b, "[", name);
		put_notice(o, most, &e, lines, b);
		buf_putc(b, ']');
	}
	if (start > 0) {
		buf_putc(b, '\n');
		buf_put(b, o->text + end, o->len - end);
	}
	return end > at;
}

/* -- The stream -------------------------------------------------------- */

struct output *
output_new(struct spool *s)
{
	struct output *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->head_left = HEAD_CHARS;
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
	const unsigned char *p = bytes, *end = p + n;

	if (o->ended)
		return;
	spool_write(o->file, p, n);
	if (o->text == NULL)
		o->text = malloc(TEXT_BYTES);
	o->failed = o->failed || o->text == NULL;
	while (p < end && !o->failed) {
		if (o->state == CHARACTER)
			p += read_character(o, p);
		else if (o->state != TEXT || *p == 0x1B)
			p += read_sequence(o, p, (size_t)(end - p));
		else
			p += read_text(o, p, (size_t)(end - p));
	}
}

void
output_end(struct output *o)
{
	if (o->ended)
		return;
	if (o->state == CHARACTER)
		put(o, replacement, 3);
	spool_end(o->file);
	o->ended = true;
}

static void
set_view(struct output *o, bool cut, struct output_view *view)
{
	view->chars = cut ? o->chars : -1;
	view->file = cut ? spool_path(o->file) : NULL;
}

void
output_show(struct output *o, const struct output_bounds *most,
            const char *name, struct buf *b, struct output_view *view)
{
	enum truncate how = o->ended ? most->how : TRUNCATE_LOOK;

	set_view(o, show(o, is_over(o, how) ? &bounds[how] : &everything, 0,
	    total_lines(o), name, b), view);
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

void
output_look(struct output *o, struct output_cursor *c)
{
	c->finished = o->dropped + (int64_t)o->line;
	c->lines = o->lines;
	c->line = (int64_t)(o->len - o->line);
	c->rewrites = o->rewrites;
	o->looked_at = true;
}

void
output_since(struct output *o, struct output_cursor *c, size_t limit,
             struct buf *b)
{
	struct bounds most = everything;
	int64_t from = position(o, c);

	/* Of a long text there is the start, too, if there is room for it. */
	if (o->dropped > 0 && from < (int64_t)o->head_len && limit > o->len) {
		buf_put(b, o->text + from, o->head_len - (size_t)from);
		buf_putc(b, '\n');
	}
	most.bytes = (int64_t)limit;
	show(o, &most, from, 0, NULL, b);
	output_look(o, c);
}

void
output_show_since(struct output *o, struct output_cursor *c,
                  const struct output_bounds *most, const char *name,
                  struct buf *b, struct output_view *view)
{
	const struct bounds *cut = !o->ended ? &bounds[TRUNCATE_LOOK] :
	    is_over(o, most->how) ? &bounds[TRUNCATE_TAIL] : &everything;

	set_view(o, show(o, cut, position(o, c), total_lines(o) - c->lines,
	    name, b), view);
	output_look(o, c);
}
