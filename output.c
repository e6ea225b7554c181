#define _POSIX_C_SOURCE 200809L

#include "output.h"

#include <stdlib.h>
#include <string.h>

#include "scan.h"

/* The way of a byte: output_write() saves it raw, takes sequences and
 * controls out, and appends what is left to `text`, where a CR may yet go back
 * to the start of the line. Finished lines are committed: counted, and kept in
 * `head` while that has room, else in `end`, a ring of the last bytes. So all
 * there is of a stream is
 *
 *	head | what nobody holds any more | end | text
 *
 * and positions in it are bytes from its start. Between two writes `text` is
 * the unfinished line alone.
 *
 * "Plain" are 0x20 to 0x7E, tab and newline. "Clean" are whole characters that
 * are plain, or U+00A0 and up: what may be in a result. */

enum {
	HEAD_CHARS = 30000,  /* O3 */
	BOTH_FIRST = 10000,  /* O4 */
	BOTH_LAST = 20000,
	TAIL_LINES = 2000,
	TAIL_BYTES = 51200,
	/* The ring while bytes are characters, with the byte before a tail: was
	 * it a newline, the first line is whole. */
	END_ASCII = TAIL_BYTES + 1,
	END_UTF8 = 4 * BOTH_LAST,  /* and once they are not */
	LINE_BYTES = 32768,  /* as far back as a CR can reach */
	BLOCK = SCAN_BLOCK,
	WORD = SCAN_WORD,    /* bytes of a uint64_t */
	COPY = 16,           /* bytes copied together */
	PIECE = 256          /* bytes appended together, at most */
};

enum state { TEXT, ESCAPE, ESCAPE_MORE, CSI, OSC, STRING };

struct ring {
	unsigned char *data;
	size_t cap, len;
	size_t next;  /* where the next byte goes */
};

struct output {
	bool keep_end, ended;

	enum state state;
	unsigned param;        /* of a CSI; above 2: none that erases */
	unsigned char cut[4];  /* a character that the last read cut off */
	size_t cuts;           /* its bytes */

	struct buf text;  /* not committed yet */
	size_t line;      /* in it: where the unfinished line begins */
	size_t at;        /* in it: the cursor */
	size_t pad;       /* columns from the line's end to the cursor */

	int64_t committed, chars, lines;  /* bytes, characters, newlines */
	unsigned char last;               /* byte that was committed */
	struct buf head;                  /* HEAD_CHARS at most */
	struct ring end;                  /* what came after the head */

	uint64_t rewrites;          /* changes of what was on a line */
	bool watched;               /* the current line has been looked at */
	int64_t watched_from;       /* `committed` at the latest look */
	uint64_t watched_rewrites;  /* `rewrites` when that line ended */

	struct spool_file *file;
};

/* Finished text */

/* How long the character is that starts with this byte of valid UTF-8. */
static size_t
character(unsigned char lead)
{
	return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static bool
continues(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

/* Bytes of the first `chars` characters */
static size_t
skip_chars(const unsigned char *p, size_t n, int64_t chars)
{
	size_t i = 0;

	for (; i < n && chars > 0; chars--)
		i += character(p[i]);
	return i;
}

static size_t
count_chars(const unsigned char *p, size_t n)
{
	return n - scan_count(p, n).inner;
}

static void
ring_copy(const struct ring *r, size_t from, size_t n, struct buf *b)
{
	size_t at = r->next + r->cap - r->len + from, first;

	if (at >= r->cap)
		at -= r->cap;
	first = n <= r->cap - at ? n : r->cap - at;
	buf_put(b, r->data + at, first);
	buf_put(b, r->data, n - first);
}

/* Without memory it stays as it is: the end is shorter then. */
static void
ring_grow(struct ring *r, size_t cap)
{
	struct buf b = {0};

	if (!buf_room(&b, cap))
		return;
	if (r->len > 0)
		ring_copy(r, 0, r->len, &b);
	free(r->data);
	r->data = (unsigned char *)b.data;
	r->cap = cap;
	r->next = r->len;
}

static void
ring_put(struct ring *r, const unsigned char *p, size_t n)
{
	size_t first;

	if (r->cap == 0) {
		r->len = 0;
		return;
	}
	if (n > r->cap) {
		p += n - r->cap;
		n = r->cap;
	}
	first = n <= r->cap - r->next ? n : r->cap - r->next;
	memcpy(r->data + r->next, p, first);
	memcpy(r->data, p + first, n - first);
	r->next += n;
	if (r->next >= r->cap)
		r->next -= r->cap;
	r->len = n <= r->cap - r->len ? r->len + n : r->cap;
}

static void
keep_end(struct output *o, const unsigned char *p, size_t n)
{
	size_t cap = o->chars == o->committed ? END_ASCII : END_UTF8;

	if (n == 0)
		return;
	if (o->end.cap < cap)
		ring_grow(&o->end, cap);
	ring_put(&o->end, p, n);
}

/* Bytes that the head took of a text of so many characters. */
static size_t
keep_head(struct output *o, const unsigned char *p, size_t n, int64_t chars)
{
	if (o->chars >= HEAD_CHARS)
		return 0;
	if (chars > HEAD_CHARS - o->chars)
		n = skip_chars(p, n, HEAD_CHARS - o->chars);
	buf_put(&o->head, p, n);
	return o->head.failed ? 0 : n;
}

/* Whole characters of finished text */
static void
commit_counted(struct output *o, const unsigned char *p, size_t n,
               struct scan_count c)
{
	int64_t chars = (int64_t)(n - c.inner);
	size_t first = keep_head(o, p, n, chars);

	o->committed += (int64_t)n;
	o->chars += chars;
	o->lines += (int64_t)c.newlines;
	o->last = p[n - 1];
	if (o->keep_end)
		keep_end(o, p + first, n - first);
}

static void
commit(struct output *o, const unsigned char *p, size_t n)
{
	if (n > 0)
		commit_counted(o, p, n, scan_count(p, n));
}

/* The current line */

static unsigned char *
text(struct output *o)
{
	return (unsigned char *)o->text.data;
}

static void
commit_lines(struct output *o)
{
	size_t n = o->line;

	if (n == 0)
		return;
	commit(o, text(o), n);
	buf_drop(&o->text, n);
	o->line = 0;
	o->at -= n;
}

/* All of the line is out of reach from now on. */
static void
commit_text(struct output *o)
{
	o->line = o->at = o->text.len;
	o->pad = 0;
	commit_lines(o);
}

/* Without memory the text so far makes room for more: it is out of reach then,
 * and what comes next follows it. */
static void
piece_room(struct output *o)
{
	if (o->text.cap - o->text.len >= 2 * PIECE ||
	    buf_room(&o->text, 2 * PIECE))
		return;
	o->text.failed = false;
	commit_text(o);
}

/* Appending does not look for newlines. Whoever needs to know where the line
 * begins does. */
static void
find_line(struct output *o)
{
	size_t n = scan_lines(text(o) + o->line, o->text.len - o->line);

	if (n > 0)
		o->watched = false;
	o->line += n;
}

/* A line that is too long is cut, its start put out of reach, at places that
 * depend on its text alone, not on how it was read. */
static void
bound_line(struct output *o)
{
	if (o->text.len - o->line < LINE_BYTES)
		return;
	find_line(o);
	while (o->text.len - o->line >= LINE_BYTES) {
		o->line += LINE_BYTES;
		while (o->line < o->text.len && continues(text(o)[o->line]))
			o->line++;
	}
	commit_lines(o);
}

/* Clean text, the cursor at its end */
static void
append(struct output *o, const unsigned char *p, size_t n)
{
	size_t some;

	for (; n > 0; p += some, n -= some) {
		some = n <= PIECE ? n : PIECE;
		while (some < n && continues(p[some]))
			some++;
		piece_room(o);
		memcpy(text(o) + o->text.len, p, some);
		o->text.len += some;
		o->at = o->text.len;
		bound_line(o);
	}
}

static void
rewritten(struct output *o)
{
	o->rewrites++;
	if (o->watched)
		o->watched_rewrites = o->rewrites;
}

static void
fill_pad(struct output *o)
{
	unsigned char spaces[PIECE];
	size_t pad = o->pad, some;

	if (pad == 0)
		return;
	o->pad = 0;
	memset(spaces, ' ', sizeof spaces);
	for (; pad > 0; pad -= some) {
		some = pad < PIECE ? pad : PIECE;
		append(o, spaces, some);
	}
}

/* memmove() by words: that of musl goes byte by byte for such a distance,
 * which a hostile stream can ask for over and over. */
static void
move(unsigned char *to, const unsigned char *from, size_t n)
{
	uint64_t x;

	for (; to > from && n >= WORD; n -= WORD) {
		memcpy(&x, from + n - WORD, WORD);
		memcpy(to + n - WORD, &x, WORD);
	}
	for (; to < from && n >= WORD; n -= WORD) {
		memcpy(&x, from, WORD);
		memcpy(to, &x, WORD);
		to += WORD;
		from += WORD;
	}
	memmove(to, from, n);
}

/* One character of n bytes where the cursor is */
static void
put(struct output *o, const unsigned char *c, size_t n)
{
	unsigned char *at;
	size_t old, i;
	bool new;

	fill_pad(o);
	piece_room(o);
	if (o->at == o->text.len) {
		append(o, c, n);
		return;
	}
	at = text(o) + o->at;
	old = character(*at);
	new = old != n;
	if (new)
		move(at + n, at + old, o->text.len - o->at - old);
	for (i = 0; i < n; i++) {
		new |= at[i] != c[i];
		at[i] = c[i];
	}
	o->text.len = o->text.len + n - old;
	o->at += n;
	if (new)
		rewritten(o);
	if (o->text.len - o->line >= LINE_BYTES) {
		o->line = o->at;  /* what comes next stays within reach */
		commit_lines(o);
	}
}

static void
put_newline(struct output *o)
{
	o->at = o->text.len;
	o->pad = 0;
	append(o, (const unsigned char *)"\n", 1);
}

static void
put_replacement(struct output *o)
{
	put(o, (const unsigned char *)"\xEF\xBF\xBD", 3);
}

static void
carriage_return(struct output *o)
{
	if (o->at == o->text.len)
		find_line(o);
	o->at = o->line;
	o->pad = 0;
}

/* 1K: what is up to the cursor becomes blank. */
static void
blank(struct output *o)
{
	unsigned char *line = text(o) + o->line;
	size_t old = o->at - o->line + character(text(o)[o->at]);
	size_t n = count_chars(line, old);

	memset(line, ' ', n);
	memmove(line + n, line + old, o->text.len - o->line - old);
	o->text.len -= old - n;
	o->at = o->line + n - 1;
	rewritten(o);
}

/* CSI K. The cursor keeps its column, which may lie behind the line then. */
static void
erase(struct output *o, unsigned what)
{
	size_t len = o->text.len;

	if (o->at == len && what > 0)
		find_line(o);
	if (what == 0) {
		o->text.len = o->at;
	} else if (what == 2 || (what == 1 && o->at == len)) {
		o->pad += count_chars(text(o) + o->line, o->at - o->line);
		o->text.len = o->at = o->line;
	} else if (what == 1) {
		blank(o);
	}
	if (o->text.len < len)
		rewritten(o);
}

/* What is clean */

static bool
plain(unsigned char c)
{
	return (c >= 0x20 && c < 0x7F) || c == '\t' || c == '\n';
}

/* U+0080 to U+009F, in the character of two bytes at p */
static bool
is_c1(const unsigned char *p)
{
	return p[0] == 0xC2 && p[1] < 0xA0;
}

/* Bytes of the clean character at p, or 0 */
static size_t
clean_character(const unsigned char *p, size_t n)
{
	int len;

	if (*p < 0x80)
		return plain(*p);
	len = utf8_length(p, n);
	return len > 0 && !is_c1(p) ? (size_t)len : 0;
}

/* Bytes taken of those at p, until one is not clean or the cursor is at the
 * end again */
static size_t
rewrite(struct output *o, const unsigned char *p, size_t n)
{
	size_t i = 0, some;

	for (; i < n && (o->at < o->text.len || o->pad > 0); i += some) {
		some = clean_character(p + i, n - i);
		if (some == 0)
			break;
		if (p[i] == '\n')
			put_newline(o);
		else
			put(o, p + i, some);
	}
	return i;
}

/* Bytes at p that change nothing while the cursor is at the end: a colour, a
 * CR before its LF. 0: the first may. */
static size_t
idle(const unsigned char *p, size_t n)
{
	size_t i = 2;

	if (n < 2)
		return 0;
	if (p[0] == '\r')
		return p[1] == '\n';
	if (p[0] != 0x1B || p[1] != '[')
		return 0;
	while (i < n && p[i] >= '0' && p[i] <= ';')
		i++;
	return i < n && p[i] == 'm' ? i + 1 : 0;
}

static size_t
next_mark(const unsigned char *marks, size_t i)
{
	uint64_t x;

	for (memcpy(&x, marks + i, WORD); x == 0; memcpy(&x, marks + i, WORD))
		i += WORD;
	while (marks[i] == 0)
		i++;
	return i;
}

/* Bytes taken of those at p, about a block, until one is not clean. Where
 * there are colours, text comes in short runs: these are found and copied
 * without a branch for each byte. */
static size_t
append_block(struct output *o, const unsigned char *p, size_t n)
{
	unsigned char marks[BLOCK + WORD], few[BLOCK + COPY];
	unsigned char *to = text(o) + o->text.len;
	size_t stop = n < BLOCK ? n : BLOCK, i = 0, run, some;

	if (n < sizeof few) {
		memset(few, 0, sizeof few);
		p = memcpy(few, p, n);
	}
	scan_mark(p, marks);
	while (i < stop) {
		run = next_mark(marks, i) - i;
		for (some = 0; some < run; some += COPY)
			memcpy(to + some, p + i + some, COPY);
		to += run;
		i += run;
		if (i >= stop)
			break;
		if (p[i] < 0x80) {
			some = idle(p + i, n - i);
		} else {
			some = clean_character(p + i, n - i);
			memcpy(to, p + i, 4);
			to += some;
		}
		if (some == 0)
			break;
		i += some;
	}
	o->text.len = o->at = (size_t)(to - text(o));
	return i;
}

/* Bytes at p that are out of reach once all n are appended: bound_line(), for
 * bytes that are not in `text` yet. */
static size_t
bound_blocks(struct output *o, const unsigned char *p, size_t n)
{
	size_t i = scan_lines(p, n), line = 0;

	find_line(o);
	if (i > 0)
		o->watched = false;
	else
		line = o->text.len - o->line;
	while (n - i + line >= LINE_BYTES) {
		i += LINE_BYTES - line;
		line = 0;
		while (i < n && continues(p[i]))
			i++;
	}
	return i;
}

/* Bytes taken of those at p, which follow clean ones: many lines, or a long
 * one, need not be copied to be committed. */
static size_t
append_blocks(struct output *o, const unsigned char *p, size_t n)
{
	struct scan_count sum = {0, 0};
	size_t out;

	n = scan_clean(p, n, &sum);
	if (n == 0)
		return 0;
	out = bound_blocks(o, p, n);
	if (out > 0) {
		commit_text(o);
		if (sum.inner > 0)
			sum.inner -= scan_count(p + out, n - out).inner;
		commit_counted(o, p, out, sum);
	}
	append(o, p + out, n - out);
	return n;
}

/* Bytes taken of those at p, until one is not clean. Only behind a long run
 * there may be many more: between colours it is in vain to look for them. */
static size_t
read_clean(struct output *o, const unsigned char *p, size_t n)
{
	size_t i = 0, some = BLOCK, run = 0, len;

	if (o->at < o->text.len || o->pad > 0)
		return rewrite(o, p, n);
	for (; some >= BLOCK && i < n; i += some) {
		piece_room(o);
		len = o->text.len;
		some = append_block(o, p + i, n - i);
		run = o->text.len - len == some ? run + some : 0;
		bound_line(o);
		if (some >= BLOCK && run >= PIECE) {
			some += append_blocks(o, p + i + some, n - i - some);
			run = 0;
		}
	}
	return i;
}

/* What is not clean */

/* Bytes taken of those at p: 0 when they are clean after all. */
static size_t
read_high(struct output *o, const unsigned char *p, size_t n)
{
	int len = utf8_length(p, n);

	if (len > 0)
		return is_c1(p) ? 2 : 0;
	if (len < 0) {
		put_replacement(o);
		return (size_t)-len;
	}
	memcpy(o->cut, p, n);
	o->cuts = n;
	return n;
}

/* Bytes of controls that do nothing; files of zeros are quick to pass. */
static size_t
controls(const unsigned char *p, size_t n)
{
	size_t i = scan_controls(p, n);

	while (i < n && p[i] < '\t')
		i++;
	return i > 0 ? i : 1;
}

/* Bytes taken of those at p: 0 when they are clean after all. */
static size_t
read_unclean(struct output *o, const unsigned char *p, size_t n)
{
	if (*p >= 0x80)
		return read_high(o, p, n);
	switch (*p) {
	case 0x1B:
		o->state = ESCAPE;
		return 1;
	case '\r':
		carriage_return(o);
		return 1;
	default:
		return plain(*p) ? 0 : controls(p, n);
	}
}

/* Is the byte the next of the cut-off character? */
static bool
join(struct output *o, unsigned char c)
{
	int len;

	o->cut[o->cuts] = c;
	len = utf8_length(o->cut, o->cuts + 1);
	if (len == 0) {
		o->cuts++;
		return true;
	}
	o->cuts = 0;
	if (len < 0)
		put_replacement(o);
	else if (!is_c1(o->cut))
		put(o, o->cut, (size_t)len);
	return len > 0;
}

static void
begin_sequence(struct output *o, unsigned char c)
{
	switch (c) {
	case '[':
		o->state = CSI;
		o->param = 0;
		break;
	case ']':
		o->state = OSC;
		break;
	case 'P': case 'X': case '^': case '_':  /* DCS SOS PM APC */
		o->state = STRING;
		break;
	default:
		o->state = c < 0x30 ? ESCAPE_MORE : TEXT;
	}
}

static void
read_csi(struct output *o, unsigned char c)
{
	if (c >= 0x40) {
		o->state = TEXT;
		if (c == 'K')
			erase(o, o->param);
	} else if (c < '0' || c > '9' || o->param > 9) {
		o->param = 99;
	} else {
		o->param = o->param * 10 + (c - '0');
	}
}

/* Is the byte part of the sequence? If not, it is text again. */
static bool
read_sequence(struct output *o, unsigned char c)
{
	bool string = o->state == OSC || o->state == STRING;

	if (c == 0x1B) {  /* also of the ST that ends a string: ESC \ */
		o->state = ESCAPE;
	} else if (c == 0x18 || c == 0x1A || (c == 0x07 && o->state == OSC)) {
		o->state = TEXT;
	} else if (c == '\n' || (c >= 0x7F && !string)) {
		o->state = TEXT;
		return false;
	} else if (c < 0x20 || string) {
		return true;
	} else if (o->state == CSI) {
		read_csi(o, c);
	} else if (o->state == ESCAPE) {
		begin_sequence(o, c);
	} else if (c >= 0x30) {
		o->state = TEXT;
	}
	return true;
}

/* The stream */

struct output *
output_new(struct spool *s, bool keep)
{
	struct output *o = calloc(1, sizeof *o);

	if (o == NULL)
		return NULL;
	if (!buf_room(&o->text, 2 * PIECE)) {
		free(o);
		return NULL;
	}
	o->file = spool_open(s);
	if (o->file == NULL) {
		buf_free(&o->text);
		free(o);
		return NULL;
	}
	o->keep_end = keep;
	return o;
}

void
output_free(struct output *o)
{
	if (o == NULL)
		return;
	spool_close(o->file);
	buf_free(&o->text);
	buf_free(&o->head);
	free(o->end.data);
	free(o);
}

void
output_keep_end(struct output *o)
{
	o->keep_end = true;
}

void
output_write(struct output *o, const void *bytes, size_t n)
{
	const unsigned char *p = bytes, *end = p + n;

	if (o->ended || n == 0)
		return;
	spool_write(o->file, p, n);
	while (p < end) {
		if (o->cuts > 0) {
			p += join(o, *p);
		} else if (o->state != TEXT) {
			p += read_sequence(o, *p);
		} else {
			p += read_clean(o, p, (size_t)(end - p));
			if (p < end)
				p += read_unclean(o, p, (size_t)(end - p));
		}
	}
	find_line(o);
	commit_lines(o);
}

/* All text there is, also what is on the unfinished line */

static int64_t
total_bytes(const struct output *o)
{
	return o->committed + (int64_t)o->text.len;
}

static int64_t
total_chars(const struct output *o)
{
	const unsigned char *p = (const unsigned char *)o->text.data;

	return o->chars + (int64_t)count_chars(p, o->text.len);
}

/* The last one counts when it is not finished too. */
static int64_t
total_lines(const struct output *o)
{
	bool open = o->committed > 0 && o->last != '\n';

	return o->lines + (open || o->text.len > 0);
}

/* From where on all text up to its end is still held */
static int64_t
held_from(const struct output *o)
{
	int64_t from = o->committed - (int64_t)o->end.len;

	return from <= (int64_t)o->head.len ? 0 : from;
}

/* Is there more than what is returned under this truncation? */
static bool
is_over(const struct output *o, enum truncate how)
{
	if (held_from(o) > 0)
		return true;
	if (how == TRUNCATE_TAIL)
		return total_lines(o) > TAIL_LINES ||
		       total_bytes(o) > TAIL_BYTES;
	return total_chars(o) > HEAD_CHARS;
}

/* The text from one position to another; all of it has to be held. */
static void
copy(const struct output *o, int64_t from, int64_t to, struct buf *b)
{
	int64_t head = (int64_t)o->head.len, n;
	int64_t end = o->committed - (int64_t)o->end.len;

	if (from < head && from < to) {
		n = (to < head ? to : head) - from;
		buf_put(b, o->head.data + from, (size_t)n);
		from += n;
	}
	if (from < o->committed && from < to) {
		n = (to < o->committed ? to : o->committed) - from;
		ring_copy(&o->end, (size_t)(from - end), (size_t)n, b);
		from += n;
	}
	if (from < to)
		buf_put(b, o->text.data + (from - o->committed),
		        (size_t)(to - from));
}

void
output_end(struct output *o, enum truncate how)
{
	if (o->ended)
		return;
	if (o->cuts > 0)
		put_replacement(o);
	o->cuts = 0;
	commit_text(o);
	buf_free(&o->text);
	spool_end(o->file, is_over(o, how));
	o->ended = true;
}

/* Showing */

/* What is in t from there on; t may be empty, its data NULL. */
static void
put_rest(struct buf *b, const struct buf *t, size_t at)
{
	if (at < t->len)
		buf_put(b, t->data + at, t->len - at);
}

/* A truncation line stands on a line of its own, after the text that begins
 * at `from`. */
static void
begin_notice(struct buf *b, size_t from, const char *name)
{
	if (b->len > from && b->data[b->len - 1] != '\n')
		buf_putc(b, '\n');
	buf_putc(b, '[');
	buf_puts(b, name);
}

static void
end_notice(struct output *o, struct buf *b)
{
	spool_tell(o->file, b);
	buf_putc(b, ']');
}

static void
put_total(const struct output *o, struct buf *b)
{
	buf_puts(b, " truncated: ");
	buf_int(b, total_chars(o));
	buf_puts(b, " characters in total, ");
}

/* O3 */
static void
show_head(struct output *o, const char *name, struct buf *b)
{
	bool all = held_from(o) == 0;
	size_t from = b->len, n;
	const unsigned char *text;

	copy(o, 0, all ? total_bytes(o) : (int64_t)o->head.len, b);
	if (b->failed)
		return;
	text = (const unsigned char *)b->data + from;
	n = skip_chars(text, b->len - from, HEAD_CHARS);
	b->len = from + n;
	n = count_chars(text, n);
	begin_notice(b, from, name);
	put_total(o, b);
	buf_puts(b, "first ");
	buf_int(b, (int64_t)n);
	buf_puts(b, " shown");
	end_notice(o, b);
}

/* O4, both */
static void
show_both(struct output *o, const char *name, struct buf *b)
{
	int64_t held = held_from(o), from = total_bytes(o) - END_UTF8, left;
	const unsigned char *head = (const unsigned char *)o->head.data;
	size_t first = skip_chars(head, o->head.len, BOTH_FIRST);
	size_t start = b->len, skip, chars;
	struct buf last = {0};

	if (from < held)
		from = held;
	if (from < (int64_t)first)
		from = (int64_t)first;
	copy(o, from, total_bytes(o), &last);
	/* Cut anywhere, it may start inside of a character; that is never
	 * among the last ones. */
	for (skip = 0; skip < last.len; skip++)
		if (!continues((unsigned char)last.data[skip]))
			break;
	buf_drop(&last, skip);
	chars = count_chars((unsigned char *)last.data, last.len);
	if (chars > BOTH_LAST) {
		buf_drop(&last, skip_chars((unsigned char *)last.data, last.len,
		                           (int64_t)chars - BOTH_LAST));
		chars = BOTH_LAST;
	}
	left = total_chars(o) - (int64_t)(count_chars(head, first) + chars);
	buf_put(b, head, first);
	begin_notice(b, start, name);
	put_total(o, b);
	buf_int(b, left);
	buf_puts(b, " left out here");
	end_notice(o, b);
	buf_putc(b, '\n');
	buf_put(b, last.data, last.len);
	b->failed |= last.failed;
	buf_free(&last);
}

/* The tail of a text, in what is held of its end */
struct tail {
	size_t at;      /* where it begins */
	int64_t lines;  /* that it has */
	bool partial;   /* it is the end of one line that is too long */
};

/* `cut`: more came before p. */
static struct tail
find_tail(const unsigned char *p, size_t n, bool cut)
{
	struct tail t = {0, 0, false};
	const unsigned char *newline;

	if (n == 0)
		return t;
	if (n > TAIL_BYTES)
		t.at = n - TAIL_BYTES;
	if (t.at > 0 ? p[t.at - 1] != '\n' : cut) {
		newline = memchr(p + t.at, '\n', n - t.at);
		t.partial = newline == NULL || newline + 1 == p + n;
		if (!t.partial)
			t.at = (size_t)(newline + 1 - p);
		while (t.at < n && continues(p[t.at]))
			t.at++;
	}
	t.lines = (int64_t)scan_count(p + t.at, n - t.at).newlines +
	          (p[n - 1] != '\n');
	for (; t.lines > TAIL_LINES; t.lines--) {
		newline = memchr(p + t.at, '\n', n - t.at);
		t.at = (size_t)(newline + 1 - p);
	}
	return t;
}

static void
put_tail_notice(struct output *o, const struct tail *t, int64_t bytes,
                int64_t lines, struct buf *b)
{
	buf_puts(b, ": showing last ");
	buf_int(b, t->lines);
	buf_puts(b, " of ");
	buf_int(b, lines);
	buf_puts(b, " lines");
	if (t->partial) {
		buf_puts(b, " (its last ");
		buf_int(b, bytes);
		buf_puts(b, " bytes)");
	}
	end_notice(o, b);
}

/* O4, tail, of the text from a position on, before which there were so many
 * newlines. False: it is all there, and nothing is said. */
static bool
show_tail(struct output *o, int64_t start, int64_t lines, const char *name,
          struct buf *b)
{
	int64_t held = held_from(o), from = total_bytes(o) - TAIL_BYTES - 1;
	size_t before = b->len;
	struct buf end = {0};
	struct tail t;
	bool cut;

	if (from < held)
		from = held;
	if (from < start)
		from = start;
	cut = from > start;
	copy(o, from, total_bytes(o), &end);
	t = find_tail((unsigned char *)end.data, end.len, cut);
	cut |= t.at > 0;
	put_rest(b, &end, t.at);
	if (cut) {
		begin_notice(b, before, name);
		put_tail_notice(o, &t, (int64_t)(end.len - t.at),
		                total_lines(o) - lines, b);
	}
	b->failed |= end.failed;
	buf_free(&end);
	return cut;
}

void
output_show(struct output *o, enum truncate how, const char *name,
            struct buf *b, struct output_view *view)
{
	bool cut = true;

	view->chars = -1;
	view->file = NULL;
	if (!is_over(o, how)) {
		copy(o, 0, total_bytes(o), b);
		return;
	}
	if (!o->keep_end)
		show_head(o, name, b);
	else if (!o->ended || how == TRUNCATE_TAIL)
		cut = show_tail(o, 0, 0, name, b);
	else if (how == TRUNCATE_BOTH)
		show_both(o, name, b);
	else
		show_head(o, name, b);
	if (cut) {
		view->chars = total_chars(o);
		view->file = spool_path(o->file);
	}
}

/* Marks */

/* Where the text begins that the mark has not seen. */
static int64_t
unseen(const struct output *o, const struct output_mark *m)
{
	uint64_t rewrites = m->committed == o->watched_from ?
	                    o->watched_rewrites : o->rewrites;

	if (rewrites != m->rewrites)
		return m->committed;
	return m->committed + (int64_t)m->line;
}

bool
output_news(const struct output *o, const struct output_mark *m)
{
	return unseen(o, m) < total_bytes(o);
}

void
output_look(struct output *o, struct output_mark *m)
{
	m->committed = o->watched_from = o->committed;
	m->line = o->text.len;
	m->lines = o->lines;
	m->rewrites = o->watched_rewrites = o->rewrites;
	o->watched = true;
}

void
output_since(struct output *o, struct output_mark *m, size_t limit,
             const char *name, struct buf *b)
{
	int64_t from = unseen(o, m), held = held_from(o);
	int64_t end = total_bytes(o);
	struct buf t = {0};
	size_t at = 0;

	if (limit == 0) {
		show_tail(o, from, m->lines, name, b);
	} else {
		if (from < held)
			from = held;
		if (end - from > (int64_t)limit)
			from = end - (int64_t)limit;
		copy(o, from, end, &t);
		while (at < t.len && continues((unsigned char)t.data[at]))
			at++;
		put_rest(b, &t, at);
		b->failed |= t.failed;
		buf_free(&t);
	}
	output_look(o, m);
}
