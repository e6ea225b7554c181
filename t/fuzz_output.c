/* libFuzzer target for output.c:
 *
 *     clang -fsanitize=fuzzer,address,undefined t/fuzz_output.c \
 *         output.c cut.c spool.c buf.c io.c
 *
 * What a stream shows must be what a second, slow reader makes of the bytes,
 * however they are split, under each truncation; and what is new from look to
 * look must add up to the text. Some inputs are repeated until they are long
 * enough to be truncated, and their lines for another row. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	LONG = 70000,         /* bytes that an input is repeated up to */
	COLUMNS = 8000,       /* of a row */
	TERMINAL = 200,       /* and of one on a terminal */
	SAMPLE = 4000,        /* bytes that say whether it is text */
	REPLACEMENT = 0xFFFD,
	NUL_SIGN = 0x2400
};

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static void *
memory(size_t n)
{
	void *p = calloc(n > 0 ? n : 1, 1);

	must(p != NULL);
	return p;
}

/* The slow reader: one byte and one cell at a time */

struct slow {
	struct buf text;     /* finished rows */
	uint32_t *cell;      /* the row: code points */
	size_t cells, col, width;
	bool back;           /* was anything overwritten or erased? */
	size_t bad;          /* bytes of the first 4,000 that are no text */
};

/* Could more bytes make of the code's first bits a scalar value of at least
 * min? `rest` of them are to come. */
static bool
possible(uint32_t code, int rest, uint32_t min)
{
	uint32_t low = code << 6 * rest, high = low | ((1u << 6 * rest) - 1);

	return high >= min && low <= 0x10FFFF &&
	       !(low >= 0xD800 && high <= 0xDFFF);
}

/* Bytes of the character at p, or of the part that U+FFFD stands for */
static size_t
slow_character(const uint8_t *p, size_t n, uint32_t *code)
{
	static const uint32_t min[] = {0, 0x80, 0x800, 0x10000};
	int more = *p >= 0xF0 ? 3 : *p >= 0xE0 ? 2 : 1, i;
	uint32_t c = *p & (0x3Fu >> more);

	*code = REPLACEMENT;
	if (*p < 0xC0 || *p > 0xF7 || !possible(c, more, min[more]))
		return 1;
	for (i = 1; i <= more; i++) {
		if ((size_t)i == n || (p[i] & 0xC0) != 0x80)
			return (size_t)i;
		c = c << 6 | (p[i] & 0x3F);
		if (!possible(c, more - i, min[more]))
			return (size_t)i;
	}
	*code = c;
	return (size_t)i;
}

static size_t
encode(uint32_t c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xC0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3F));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xE0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3F));
		to[2] = (char)(0x80 | (c & 0x3F));
		return 3;
	}
	to[0] = (char)(0xF0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3F));
	to[2] = (char)(0x80 | (c >> 6 & 0x3F));
	to[3] = (char)(0x80 | (c & 0x3F));
	return 4;
}

static void
slow_end_row(struct slow *s, bool newline)
{
	char bytes[4];
	size_t i;

	while (newline && s->width == TERMINAL && s->cells > 0 &&
	       (s->cell[s->cells - 1] == ' ' || s->cell[s->cells - 1] == '\t'))
		s->cells--;
	for (i = 0; i < s->cells; i++)
		buf_put(&s->text, bytes, encode(s->cell[i], bytes));
	if (newline)
		buf_putc(&s->text, '\n');
	s->cells = s->col = 0;
}

static void
slow_put(struct slow *s, uint32_t c)
{
	if (s->col == s->width)
		slow_end_row(s, s->width == TERMINAL);
	while (s->cells < s->col)
		s->cell[s->cells++] = ' ';
	s->back = s->back || s->col < s->cells;
	s->cell[s->col++] = c;
	if (s->cells < s->col)
		s->cells = s->col;
}

static void
slow_erase(struct slow *s, int what)
{
	size_t i;

	s->back = true;
	if (what == 0) {
		if (s->col < s->cells)
			s->cells = s->col;
	} else if (what == 2 || s->col >= s->cells) {
		s->cells = 0;
	} else {
		for (i = 0; i <= s->col; i++)
			s->cell[i] = ' ';
	}
}

/* Bytes of a string after its first, up to what ends it; an ESC is left. */
static size_t
slow_string(const uint8_t *p, size_t n, bool osc)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] == 0x1B || p[i] == '\n')
			return i;
		if (p[i] == 0x18 || p[i] == 0x1A || (osc && p[i] == 0x07))
			return i + 1;
	}
	return n;
}

/* Bytes of the sequence after its ESC */
static size_t
slow_sequence(struct slow *s, const uint8_t *p, size_t n)
{
	uint8_t kind = 0;  /* the first byte that is no control */
	int what = 0;      /* a CSI's parameter; over 2: another */
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] == 0x1B || p[i] == '\n' || p[i] >= 0x7F)
			return i;
		if (p[i] == 0x18 || p[i] == 0x1A)
			return i + 1;
		if (p[i] < 0x20)
			continue;
		if (kind == 0 && strchr("]PX^_", p[i]) != NULL)
			return i + 1 + slow_string(p + i + 1, n - i - 1,
			                           p[i] == ']');
		if (kind == 0) {
			kind = p[i];
			if (kind >= 0x30 && kind != '[')
				return i + 1;
		} else if (kind != '[') {
			if (p[i] >= 0x30)
				return i + 1;
		} else if (p[i] >= 0x40) {
			if (p[i] == 'K' && what <= 2)
				slow_erase(s, what);
			return i + 1;
		} else {
			what = p[i] < '0' || p[i] > '9' || what > 2 ? 3 :
			       what * 10 + (p[i] - '0');
		}
	}
	return n;
}

static void
slow_read(struct slow *s, const uint8_t *p, size_t n)
{
	uint32_t c;
	size_t i = 0, at;

	while (i < n) {
		if (p[i] == 0x1B) {
			i++;
			i += slow_sequence(s, p + i, n - i);
			continue;
		}
		if (p[i] >= 0x80) {
			at = i;
			i += slow_character(p + i, n - i, &c);
			if (c == REPLACEMENT && i <= SAMPLE &&
			    !(i - at == 3 && p[at] == 0xEF))
				s->bad += i - at;
			if (c >= 0xA0)
				slow_put(s, c);
			continue;
		}
		if (p[i] == '\n')
			slow_end_row(s, true);
		else if (p[i] == '\r')
			s->col = 0;
		else if (p[i] == '\b')
			s->col -= s->col > 0;
		else if (p[i] == 0)
			slow_put(s, NUL_SIGN), s->bad += i < SAMPLE;
		else if (p[i] == '\t' || (p[i] >= 0x20 && p[i] < 0x7F))
			slow_put(s, p[i]);
		i++;
	}
	slow_end_row(s, false);
}

/* What it would show */

#define NOT_SAVED "; full output not saved: it is over --save-limit"

static size_t
chars_in(const char *p, size_t n)
{
	size_t chars = 0;

	while (n-- > 0)
		chars += (*p++ & 0xC0) != 0x80;
	return chars;
}

static size_t
lines_in(const char *p, size_t n)
{
	size_t lines = n > 0 && p[n - 1] != '\n';

	while (n-- > 0)
		lines += *p++ == '\n';
	return lines;
}

/* Where character number `chars` starts */
static size_t
char_at(const char *p, size_t n, size_t chars)
{
	size_t i = 0;

	for (; i < n; i++)
		if ((p[i] & 0xC0) != 0x80 && chars-- == 0)
			return i;
	return n;
}

static void
end_with_newline(struct buf *b)
{
	if (b->len > 0 && b->data[b->len - 1] != '\n')
		buf_putc(b, '\n');
}

/* Where the last characters, or bytes, begin */
static size_t
chars_back(const char *p, size_t n, size_t chars)
{
	size_t all = chars_in(p, n);

	return char_at(p, n, all > chars ? all - chars : 0);
}

static size_t
bytes_back(const char *p, size_t n, size_t bytes)
{
	size_t at = n > bytes ? n - bytes : 0;

	while (at < n && (p[at] & 0xC0) == 0x80)
		at++;
	return at;
}

/* Where a line begins, there or behind it; there, where none does */
static size_t
line_at(const char *p, size_t n, size_t at)
{
	size_t i = at;

	while (i > 0 && i < n && p[i - 1] != '\n')
		i++;
	return i < n ? i : at;
}

/* A tail from there on, or of fewer lines */
static void
slow_tail(const char *p, size_t n, size_t from, size_t most, struct buf *b)
{
	size_t at = line_at(p, n, from), lines = lines_in(p + at, n - at);

	for (; lines > most; lines--)
		at = line_at(p, n, at + 1);
	buf_put(b, p + at, n - at);
	if (at == 0)
		return;
	end_with_newline(b);
	buf_puts(b, "[x: showing last ");
	buf_int(b, (int64_t)lines);
	buf_puts(b, " of ");
	buf_int(b, (int64_t)lines_in(p, n));
	buf_puts(b, " lines");
	if (p[at - 1] != '\n') {
		buf_puts(b, " (its last ");
		buf_int(b, (int64_t)(n - at));
		buf_puts(b, " bytes)");
	}
	buf_puts(b, NOT_SAVED "]");
}

static void
slow_show(const char *p, size_t n, const struct output_bounds *most,
          size_t no_text, struct buf *b)
{
	size_t chars = chars_in(p, n), all = 30000, from, head, last;
	enum truncate how = most->how;

	if (no_text > 0) {
		head = most->limit > 0 && most->limit < 1000 ?
		       (size_t)most->limit : 1000;
		buf_put(b, p, char_at(p, n, head));
		if (chars <= head)
			return;
		end_with_newline(b);
		buf_puts(b, "[x truncated: not text, ");
		buf_int(b, (int64_t)no_text);
		buf_puts(b, " bytes in total, first ");
		buf_int(b, (int64_t)head);
		buf_puts(b, " characters shown" NOT_SAVED "]");
		return;
	}
	if (n > 0 && (how == TRUNCATE_TAIL || how == TRUNCATE_LOOK)) {
		from = most->limit > 0 ?
		       chars_back(p, n, (size_t)most->limit) :
		       how == TRUNCATE_TAIL ? bytes_back(p, n, 51200) :
		       chars_back(p, n, 10000);
		slow_tail(p, n, from, how == TRUNCATE_TAIL &&
		          most->limit == 0 ? 2000 : n, b);
		return;
	}
	head = how == TRUNCATE_HEAD ? 30000 : 10000;
	last = how == TRUNCATE_HEAD ? 2000 : 20000;
	if (most->limit > 0) {
		all = (size_t)most->limit;
		last = how == TRUNCATE_HEAD ? all / 6 : all * 4 / 6;
		head = all - last;
	}
	if (chars <= all) {
		buf_put(b, p, n);
		return;
	}
	if (last > chars - head)
		last = chars - head;
	buf_put(b, p, char_at(p, n, head));
	end_with_newline(b);
	buf_puts(b, "[x truncated: ");
	buf_int(b, (int64_t)chars);
	buf_puts(b, " characters in total, ");
	if (how == TRUNCATE_HEAD) {
		from = chars_back(p, n, last);
		if (from > char_at(p, n, head))
			from = line_at(p, n, from);
		if (chars_in(p + from, n - from) * 2 <= last)
			from = chars_back(p, n, last);
		buf_puts(b, "first ");
		buf_int(b, (int64_t)head);
		buf_puts(b, " and last ");
		buf_int(b, (int64_t)chars_in(p + from, n - from));
		buf_puts(b, " shown");
	} else {
		from = chars_back(p, n, last);
		buf_int(b, (int64_t)(chars - head - last));
		buf_puts(b, " left out here");
	}
	buf_puts(b, NOT_SAVED "]\n");
	buf_put(b, p + from, n - from);
}

/* The fast one */

static uint32_t
next_random(uint32_t *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

static void
check_text(const struct buf *b)
{
	size_t i = 0, n;
	uint32_t c;

	while (i < b->len) {
		c = (unsigned char)b->data[i];
		n = 1;
		if (c >= 0x80) {
			n = slow_character((uint8_t *)b->data + i, b->len - i, &c);
			must(n > 1 && c >= 0xA0);
		}
		must(c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7F));
		i += n;
	}
}

static bool
same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len &&
	       (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* The end of that text, or all of it */
static bool
ends_so(const struct buf *b, const struct buf *text)
{
	size_t n = b->len;

	return n <= text->len &&
	       (n == 0 || memcmp(b->data, text->data + text->len - n, n) == 0);
}

/* One way to split the input; `pieces` takes what is new at each look. */
static void
run(const uint8_t *p, size_t n, size_t most, uint32_t seed, bool terminal,
    const struct output_bounds *most_shown, struct buf *shown,
    struct buf *pieces)
{
	struct output_cursor cursor = {0}, small = {0}, look = {0}, all = {0};
	struct output_bounds fit;
	struct output_view view;
	struct spool spool;
	struct output *o;
	struct buf b = {0};
	size_t some, before;
	bool news, whole;

	spool_init(&spool, "/", "x", 0);
	o = output_new(&spool, most_shown->limit, terminal);
	must(o != NULL);
	for (; n > 0; p += some, n -= some) {
		some = most > 1 ? next_random(&seed) % most + 1 : 1;
		if (some > n)
			some = n;
		output_write(o, p, some);
		if (pieces == NULL || next_random(&seed) % 4 > 0)
			continue;
		news = output_news(o, &cursor);
		before = pieces->len;
		output_since(o, &cursor, SIZE_MAX / 2, pieces);
		must(news == (pieces->len > before));
		must(!output_news(o, &cursor));
		output_since(o, &small, 100, &b);
		must(b.len <= 100);
		check_text(&b);
		b.len = 0;
		if (next_random(&seed) % 8 > 0)
			continue;
		all = small;
		fit = *most_shown;
		fit.bytes = 200 + next_random(&seed) % 2000;
		fit.lines = 10 + next_random(&seed) % 200;
		output_show(o, &all, false, &fit, "x", &b, &view);
		check_text(&b);
		must(b.len <= (size_t)fit.bytes &&
		     lines_in(b.data, b.len) <= (size_t)fit.lines);
		b.len = 0;
		output_show(o, &look, true, most_shown, "x", &b, &view);
		check_text(&b);
		b.len = 0;
	}
	output_end(o);
	if (pieces != NULL)
		output_since(o, &cursor, SIZE_MAX / 2, pieces);
	output_show(o, &all, false, most_shown, "x", shown, &view);
	must(view.file == NULL && !shown->failed);
	/* What is new at the end is the end of a short text. */
	whole = view.chars < 0;
	output_show(o, &look, true, most_shown, "x", &b, &view);
	if (whole)
		must(ends_so(&b, shown));
	output_free(o);
	spool_free(&spool);
	buf_free(&b);
}

static void
check(const uint8_t *p, size_t n, uint32_t seed)
{
	struct output_bounds how = { (enum truncate)(seed / 64 % 4),
	    seed / 4096 % 3 == 0 ? 0 : 200 + seed / 8192 % 4000, 0, 0 };
	struct buf whole = {0}, split = {0}, wanted = {0}, pieces = {0};
	struct slow s = {0};
	bool terminal = seed / 1024 % 4 == 0;
	size_t sample;

	s.cell = memory((n + 1) * sizeof *s.cell);
	s.width = terminal ? TERMINAL : COLUMNS;
	slow_read(&s, p, n);
	run(p, n, n + 1, 0, terminal, &how, &whole, NULL);
	/* Of a terminal a look keeps the blanks that it has shown. */
	run(p, n, n > 1000 ? n / 20 : 50, seed, terminal, &how, &split,
	    terminal ? NULL : &pieces);
	check_text(&whole);
	must(same(&whole, &split));
	sample = n < SAMPLE ? n : SAMPLE;
	slow_show(s.text.data, s.text.len, &how,
	          n >= 200 && s.bad * 10 > sample ? n : 0, &wanted);
	/* A character may have been cut where it is decided. */
	if (s.bad * 10 + 40 < sample || s.bad * 10 > sample + 40)
		must(same(&whole, &wanted));
	if (!s.back && !terminal && n < 12000)
		must(same(&pieces, &s.text));
	buf_free(&whole);
	buf_free(&split);
	buf_free(&wanted);
	buf_free(&pieces);
	buf_free(&s.text);
	free(s.cell);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t seed = 2166136261u;
	uint8_t *copy;
	size_t i, times = 1, n;

	for (i = 0; i < size; i++)
		seed = (seed ^ data[i]) * 16777619;
	if (size > 0 && seed % 256 == 0)
		times = LONG / size;
	n = size * times;
	copy = memory(n);
	for (i = 0; i < times; i++)
		if (size > 0)
			memcpy(copy + i * size, data, size);
	check(copy, n, seed);
	free(copy);
	return 0;
}
