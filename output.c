/* Needs nothing of the system but C99. */

#include "output.h"

#include <stdlib.h>
#include <string.h>

/* The way of a byte: output_write() saves it raw, takes out sequences and
 * controls, and puts what is left into `text`, where a CR may yet go back to
 * the start of the line. Lines that have ended are finished: they move to
 * `head` while that has room, then to `end`, a ring. So all of a stream is
 *
 *	head | what is kept no longer | end | text
 *
 * and positions in it are bytes from its start. Between two writes, `text` is
 * the current line alone. It is in two parts with a gap between them: what is
 * up to the cursor, and what is behind it. A character goes to the end of the
 * first part, and the one that it overwrites leaves the start of the second:
 * neither part has to move. A CR moves no more than was written since the last
 * one. So a byte costs the same however long the line is. */

enum {
	HEAD_CHARS = 30000,  /* kept of the start */
	END_BYTES = 80000,   /* and of the end: 20,000 characters of 4 bytes */
	LINE_BYTES = 32768,  /* as far back as a CR can reach */
	BATCH_BYTES = 4096,  /* of lines, finished together */
	BLANKS = 80,         /* erased columns kept in front of the cursor */
	TEXT_BYTES = BATCH_BYTES + LINE_BYTES + 8,  /* a newline and one more */
	MANY = INT32_MAX
};

/* What is shown of a long text (O3, O4, T3) */
static const struct bounds {
	int64_t all;    /* this many characters are still shown whole */
	int64_t first;  /* of more, these many of the start */
	int64_t chars, bytes, lines;  /* and of the end at most so much, */
	bool whole;     /* whole lines, unless the last is too long for it */
} bounds[] = {
	[TRUNCATE_HEAD] = { HEAD_CHARS, HEAD_CHARS, 2000, MANY, MANY, true },
	[TRUNCATE_TAIL] = { MANY, 0, MANY, 51200, 2000, true },
	[TRUNCATE_BOTH] = { 30000, 10000, 20000, MANY, MANY, false },
	[TRUNCATE_LOOK] = { 10000, 0, 10000, MANY, MANY, true }
};

enum state {
	TEXT,
	CHARACTER,    /* inside of one that a read has split */
	ESCAPE,       /* behind an ESC */
	ESCAPE_MORE,  /* in a sequence of more than two bytes */
	CSI,
	OSC,
	STRING        /* DCS, SOS, PM or APC */
};

/* Taken with the first byte. (The system gives its pages one by one, as they
 * are written to, so a short text costs little.) */
struct store {
	unsigned char text[TEXT_BYTES];
	unsigned char head[4 * HEAD_CHARS];
	unsigned char end[END_BYTES];
};

struct output {
	struct spool_file *file;
	struct store *store;
	bool failed;          /* no memory for it: text is missing */
	bool ended;
	enum truncate how;    /* as output_end() was told */

	enum state state;
	unsigned param;       /* of a CSI; above 2: none that erases */
	unsigned char cut[4]; /* a CHARACTER so far */
	size_t cut_len;

	size_t line;          /* where in `text` the current line begins */
	size_t cursor;        /* and where its first part ends */
	size_t after;         /* bytes of its second part, at text's end */
	int64_t blanks;       /* columns from the line's end to the cursor */
	bool looked_at;       /* a reader has seen some of the line */
	unsigned rewrites;    /* changes of lines that were looked at */

	int64_t finished;     /* bytes */
	bool open;            /* they end inside of a line */
	int64_t head_left;    /* characters that the head has room for */
	size_t head_len;
	size_t end_len;
	size_t end_next;      /* where in `end` the next byte goes */
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

/* Bytes of the first characters; takes these off *chars. */
static size_t
skip_chars(const unsigned char *p, size_t n, int64_t *chars)
{
	size_t i = 0;

	while (i < n && (*chars > 0 || continues(p[i])))
		*chars -= !continues(p[i++]);
	return i;
}

/* The first n bytes of the text are out of reach from now on. */
static void
finish(struct output *o, size_t n)
{
	unsigned char *text = o->store->text;
	size_t i, some;

	if (n == 0)
		return;
	i = skip_chars(text, n, &o->head_left);
	memcpy(o->store->head + o->head_len, text, i);
	o->head_len += i;
	for (; i < n; i += some) {
		some = END_BYTES - o->end_next;
		some = n - i < some ? n - i : some;
		memcpy(o->store->end + o->end_next, text + i, some);
		o->end_next = (o->end_next + some) % END_BYTES;
		if (o->end_len < END_BYTES)
			o->end_len += some;
	}
	o->finished += (int64_t)n;
	o->open = text[n - 1] != '\n';
	memmove(text, text + n, o->cursor - n);
	o->cursor -= n;
	o->line = 0;
}

static size_t
line_bytes(const struct output *o)
{
	return o->cursor - o->line + o->after;
}

static unsigned char *
after(const struct output *o)
{
	return o->store->text + TEXT_BYTES - o->after;
}

/* A line that is too long is cut at the cursor, whatever the reads. */
static void
bound_line(struct output *o)
{
	if (line_bytes(o) >= LINE_BYTES)
		finish(o, o->cursor);
}

static void
carriage_return(struct output *o)
{
	size_t n = o->cursor - o->line;

	memmove(after(o) - n, o->store->text + o->line, n);
	o->after += n;
	o->cursor = o->line;
	o->blanks = 0;
}

static void
go_to_end(struct output *o)
{
	memmove(o->store->text + o->cursor, after(o), o->after);
	o->cursor += o->after;
	o->after = 0;
	o->blanks = 0;
}

static void
fill_blanks(struct output *o)
{
	memset(o->store->text + o->cursor, ' ', (size_t)o->blanks);
	o->cursor += (size_t)o->blanks;
	o->chars += o->blanks;
	o->blanks = 0;
}

/* A character other than a newline, in place of the one at the cursor */
static void
put(struct output *o, const unsigned char *p, size_t n)
{
	int64_t one = 1;
	size_t old = skip_chars(after(o), o->after, &one);

	if (o->blanks > 0)
		fill_blanks(o);
	if (old == 0)
		o->chars++;
	else if (old != n || memcmp(after(o), p, n) != 0)
		o->rewrites += o->looked_at;
	o->after -= old;
	memcpy(o->store->text + o->cursor, p, n);
	o->cursor += n;
	bound_line(o);
}

static void
put_replacement(struct output *o)
{
	put(o, (const unsigned char *)"\xEF\xBF\xBD", 3);
}

/* CSI K: what is behind the cursor (0), or up to and with it (1), or all of
 * the line (2). The cursor keeps its column, perhaps behind the line's end. */
static void
erase(struct output *o, unsigned what)
{
	size_t before = what > 0 ? o->cursor - o->line : 0, first;
	int64_t columns = count_chars(o->store->text + o->line, before);
	int64_t one = 1;

	if (o->after > 0 || columns > 0)
		o->rewrites += o->looked_at;
	if (what > 0) {
		o->cursor = o->line;
		o->chars -= columns;
		o->blanks += columns;
		if (o->blanks > BLANKS)
			o->blanks = BLANKS;
	}
	if (what == 1 && o->after > 0) {
		first = skip_chars(after(o), o->after, &one);
		o->after -= first - 1;
		*after(o) = ' ';
		fill_blanks(o);
	} else {
		o->chars -= count_chars(after(o), o->after);
		o->after = 0;
	}
}

/* -- Reading ----------------------------------------------------------- */

/* Each of these takes some of the n bytes at p and returns how many. */

/* Clean text, at the end of the line: where nearly all bytes go. (Bytes from
 * the cursor on are free here, so each is copied before it is judged.) */
static size_t
append(struct output *o, const unsigned char *p, size_t n)
{
	size_t room = LINE_BYTES - (o->cursor - o->line);
	size_t i, character = 0, inner = 0, line = 0;
	unsigned char *to = o->store->text + o->cursor;
	int len;

	if (room > BATCH_BYTES)
		room = BATCH_BYTES;
	if (n > room)
		n = room;
	for (i = 0; i < n; i++) {
		to[i] = p[i];
		if (p[i] >= 0x20 && p[i] < 0x7F)
			continue;
		if (p[i] == '\n') {
			line = i + 1;
			o->lines++;
		} else if (p[i] >= 0x80 && i >= character) {
			len = utf8_length(p + i, n - i);
			if (len <= 0 || is_c1(p + i))
				break;
			character = i + (size_t)len;
			inner += (size_t)len - 1;
		} else if (p[i] < 0x80 && p[i] != '\t') {
			break;
		}
	}
	if (line > 0) {
		o->line = o->cursor + line;
		o->looked_at = false;
	}
	o->cursor += i;
	o->chars += (int64_t)(i - inner);
	if (o->line >= BATCH_BYTES)
		finish(o, o->line);
	bound_line(o);
	return i;
}

static size_t
read_text(struct output *o, const unsigned char *p, size_t n)
{
	size_t done = 0;
	int len;

	if (*p == 0x1B) {
		o->state = ESCAPE;
		return 1;
	}
	if (*p == '\n')
		go_to_end(o);
	if (o->after == 0 && o->blanks == 0)
		done = append(o, p, n);
	if (done > 0)
		return done;
	len = utf8_length(p, n);
	if (len == 0) {  /* cut off */
		memmove(o->cut, p, n);
		o->cut_len = n;
		o->state = CHARACTER;
		return n;
	}
	if (len < 0) {
		put_replacement(o);
		return (size_t)-len;
	}
	if (*p == '\r')
		carriage_return(o);
	else if (*p == '\t' || (*p >= 0x20 && *p != 0x7F && !is_c1(p)))
		put(o, p, (size_t)len);
	return (size_t)len;
}

/* The next byte of a character that was cut off, if it is that: together
 * they are read again. */
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

	for (i = 0; i < n && o->state != TEXT; i++) {
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

/* -- All the text ------------------------------------------------------ */

static int64_t
total_bytes(const struct output *o)
{
	return o->finished + (int64_t)line_bytes(o);
}

/* The last one counts also when it has no newline. */
static int64_t
total_lines(const struct output *o)
{
	return o->lines + (o->open || line_bytes(o) > 0);
}

/* Appends these bytes but for the first *skip, and takes them off that. */
static void
copy_part(struct buf *b, int64_t *skip, const unsigned char *p, size_t n)
{
	if (*skip < (int64_t)n)
		buf_put(b, p + *skip, n - (size_t)*skip);
	*skip = *skip > (int64_t)n ? *skip - (int64_t)n : 0;
}

/* The text from a position on, or from where all of it is still kept */
static void
copy(const struct output *o, int64_t from, struct buf *b)
{
	const struct store *s = o->store;
	int64_t gap = o->finished - (int64_t)(o->head_len + o->end_len);

	if (s == NULL)
		return;
	if (gap > 0)
		from -= (int64_t)o->head_len + gap;
	if (from < 0)
		from = 0;
	if (gap == 0)
		copy_part(b, &from, s->head, o->head_len);
	if (o->end_len == END_BYTES)
		copy_part(b, &from, s->end + o->end_next,
		    END_BYTES - o->end_next);
	copy_part(b, &from, s->end, o->end_next);
	copy_part(b, &from, s->text, o->cursor);
	copy_part(b, &from, after(o), o->after);
}

/* -- Showing ----------------------------------------------------------- */

static bool
is_over(const struct output *o, enum truncate how)
{
	const struct bounds *most = &bounds[how];

	return o->chars > most->all || total_bytes(o) > most->bytes ||
	    total_lines(o) > most->lines;
}

/* What is shown of the end of a text; lines: 0 if it is the end of one */
struct end {
	int64_t bytes, chars, lines;
};

static struct end
find_end(const struct buf *text, const struct bounds *most)
{
	struct end e = { 0, 0, 0 }, whole = e;
	size_t i = text->len;

	while (i > 0 && e.lines < most->lines && e.chars < most->chars) {
		if (continues((unsigned char)text->data[--i]))
			continue;
		if ((int64_t)(text->len - i) > most->bytes)
			break;
		e.bytes = (int64_t)(text->len - i);
		e.chars++;
		if (i == 0 || text->data[i - 1] == '\n') {
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

/* What the truncation line says of that end, and of the file */
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

/* What is shown of the text from a position on, which has so many lines. The
 * truncation line stands in front of the end, if the start is shown, too. */
static void
show(struct output *o, const struct bounds *most, int64_t from, int64_t lines,
     const char *name, struct buf *b)
{
	int64_t first = most->first, least = total_bytes(o) - END_BYTES;
	struct buf text = { NULL, 0, 0, false };
	size_t start = b->len, n;
	struct end e;

	copy(o, from > least ? from : least, &text);
	if (text.failed) {
		b->failed = true;
		buf_free(&text);
		return;
	}
	e = find_end(&text, most);
	if (e.chars > o->chars - first) {  /* some of it is in the start */
		e.chars = o->chars - first;
		e.bytes = total_bytes(o) - (int64_t)o->head_len;
	}
	n = (size_t)e.bytes;
	if (first > 0)
		buf_put(b, o->store->head,
		    skip_chars(o->store->head, o->head_len, &first));
	else if (n > 0)
		buf_put(b, text.data + text.len - n, n);
	if (n < text.len && name != NULL) {
		if (b->len > start && b->data[b->len - 1] != '\n')
			buf_putc(b, '\n');
		buf_putc(b, '[');
		buf_puts(b, name);
		put_notice(o, most, &e, lines, b);
		buf_putc(b, ']');
	}
	if (most->first > 0) {
		buf_putc(b, '\n');
		buf_put(b, text.data + text.len - n, n);
	}
	buf_free(&text);
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
	if (o->file == NULL) {
		free(o);
		return NULL;
	}
	return o;
}

void
output_free(struct output *o)
{
	if (o == NULL)
		return;
	spool_close(o->file);
	free(o->store);
	free(o);
}

void
output_write(struct output *o, const void *bytes, size_t n)
{
	const unsigned char *p = bytes, *end = p + n;

	if (o->ended)
		return;
	spool_write(o->file, p, n);
	if (o->store == NULL)
		o->store = malloc(sizeof(*o->store));
	if (o->store == NULL) {
		o->failed = true;
		return;
	}
	while (p < end) {
		if (o->state == TEXT)
			p += read_text(o, p, (size_t)(end - p));
		else if (o->state == CHARACTER)
			p += read_character(o, p);
		else
			p += read_sequence(o, p, (size_t)(end - p));
	}
	finish(o, o->line);
}

void
output_end(struct output *o, enum truncate how)
{
	if (o->ended)
		return;
	if (o->state == CHARACTER)
		put_replacement(o);
	if (o->store != NULL) {
		go_to_end(o);
		finish(o, o->cursor);
	}
	spool_end(o->file, is_over(o, how));
	o->how = how;
	o->ended = true;
}

void
output_show(struct output *o, enum truncate how, const char *name,
            struct buf *b, struct output_view *view)
{
	if (!o->ended)
		how = TRUNCATE_LOOK;
	b->failed = b->failed || o->failed;
	view->chars = -1;
	view->file = NULL;
	if (!is_over(o, how)) {
		copy(o, 0, b);
		return;
	}
	show(o, &bounds[how], 0, total_lines(o), name, b);
	view->chars = o->chars;
	view->file = spool_path(o->file);
}

/* -- Cursors ----------------------------------------------------------- */

/* Where the text behind it begins */
static int64_t
position(const struct output *o, const struct output_cursor *c)
{
	bool same = c->rewrites == o->rewrites;

	return c->finished + (same ? (int64_t)c->line : 0);
}

bool
output_news(const struct output *o, const struct output_cursor *c)
{
	return position(o, c) < total_bytes(o);
}

void
output_look(struct output *o, struct output_cursor *c)
{
	c->finished = o->finished;
	c->lines = o->lines;
	c->line = line_bytes(o);
	c->rewrites = o->rewrites;
	o->looked_at = true;
}

void
output_since(struct output *o, struct output_cursor *c, size_t limit,
             struct buf *b)
{
	struct bounds most = { MANY, 0, MANY, 0, MANY, false };

	most.bytes = (int64_t)limit;
	show(o, &most, position(o, c), 0, NULL, b);
	output_look(o, c);
}

void
output_show_since(struct output *o, struct output_cursor *c, const char *name,
                  struct buf *b)
{
	enum truncate how = o->ended ? TRUNCATE_TAIL : TRUNCATE_LOOK;
	int64_t lines = total_lines(o) - c->lines;

	b->failed = b->failed || o->failed;
	if (o->ended && !is_over(o, o->how))
		copy(o, position(o, c), b);
	else
		show(o, &bounds[how], position(o, c), lines, name, b);
	output_look(o, c);
}
