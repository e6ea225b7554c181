/* SPDX-License-Identifier: ISC */
/* t/fuzz.c: each room's text against a second, slow reader of the same; the
 * switch is the environment's ROOM: json, output, httpmsg, or mcp, which says what
 * it is given to a boris ($BORIS) whose shell runs nothing. t/fuzz builds both. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fmt.h"
#include "base/text.h"
#include "json.h"
#include "output/output.h"
#include "output/screen.h"
#include "transport/httpmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static bool
same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len &&
	    (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static uint32_t
next_random(uint32_t *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

enum { REPLACEMENT = 0xFFFD };

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

	*code = *p < 0x80 ? *p : REPLACEMENT;
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

/* -- json: a reader as RFC 8259 is written, one function a rule; each returns
 * where the rule ends, or NULL ------------------------------------------ */

static const char *
slow_space(const char *s, const char *end)
{
	while (s < end && *s != '\0' && strchr(" \t\n\r", *s) != NULL)
		s++;
	return s;
}

static const char *
slow_digits(const char *s, const char *end)
{
	if (s == end || *s < '0' || *s > '9')
		return NULL;
	while (s < end && *s >= '0' && *s <= '9')
		s++;
	return s;
}

static const char *
slow_number(const char *s, const char *end)
{
	if (*s == '-' && ++s == end)
		return NULL;
	s = *s == '0' ? s + 1 : slow_digits(s, end);
	if (s != NULL && s < end && *s == '.')
		s = slow_digits(s + 1, end);
	if (s != NULL && s < end && (*s == 'e' || *s == 'E')) {
		s++;
		if (s < end && (*s == '+' || *s == '-'))
			s++;
		s = slow_digits(s, end);
	}
	return s;
}

static const char *
slow_quoted(const char *s, const char *end)
{
	uint32_t code;
	size_t n;
	int i;

	if (s == end || *s++ != '"')
		return NULL;
	while (s < end && *s != '"') {
		if (*s != '\\') {
			n = slow_character((const uint8_t *)s,
			    (size_t)(end - s), &code);
			if (code < 0x20 || (code == REPLACEMENT &&
			    (n < 3 || (uint8_t)*s != 0xEF)))
				return NULL;
			s += n;
			continue;
		}
		if (++s == end || *s == '\0')
			return NULL;
		if (strchr("\"\\/bfnrtu", *s) == NULL)
			return NULL;
		for (i = *s++ == 'u' ? 4 : 0; i > 0; i--, s++)
			if (s == end || *s == '\0'
			    || strchr("0123456789abcdefABCDEF", *s) == NULL)
				return NULL;
	}
	return s < end ? s + 1 : NULL;
}

static const char *slow_value(const char *s, const char *end, int depth);

static const char *
slow_list(const char *s, const char *end, int depth, char closing)
{
	if (depth == JSON_DEPTH)
		return NULL;
	s = slow_space(s + 1, end);
	if (s < end && *s == closing)
		return s + 1;
	for (;;) {
		if (closing == '}') {
			s = slow_quoted(slow_space(s, end), end);
			if (s == NULL)
				return NULL;
			s = slow_space(s, end);
			if (s == end || *s++ != ':')
				return NULL;
		}
		s = slow_value(slow_space(s, end), end, depth + 1);
		if (s == NULL)
			return NULL;
		s = slow_space(s, end);
		if (s < end && *s == closing)
			return s + 1;
		if (s == end || *s++ != ',')
			return NULL;
	}
}

static const char *
slow_value(const char *s, const char *end, int depth)
{
	static const char *const words[] = { "null", "true", "false" };
	size_t i;

	if (s == end)
		return NULL;
	for (i = 0; i < 3; i++)
		if ((size_t)(end - s) >= strlen(words[i])
		    && memcmp(s, words[i], strlen(words[i])) == 0)
			return s + strlen(words[i]);
	if (*s == '[')
		return slow_list(s, end, depth, ']');
	if (*s == '{')
		return slow_list(s, end, depth, '}');
	if (*s == '"')
		return slow_quoted(s, end);
	return slow_number(s, end);
}

static bool
slow_check(const char *text, size_t len)
{
	const char *end = text + len;
	const char *s = slow_value(slow_space(text, end), end, 0);

	return s != NULL && slow_space(s, end) == end;
}

/* What is written for any bytes is a string; read again it is what they were,
 * but for what is not UTF-8. */
static void
visit_bytes(const char *bytes, size_t n)
{
	struct buf text = {0}, read = {0}, wanted = {0};
	struct json j;
	uint32_t code;
	size_t i, len;

	json_string(&text, bytes, n);
	must(slow_check(text.data, text.len));
	j = json_check(text.data, text.len);
	json_decode(j, &read);
	for (i = 0; i < n; i += len) {
		len = slow_character((const uint8_t *)bytes + i, n - i, &code);
		if (code == REPLACEMENT)
			buf_add(&wanted, "\xEF\xBF\xBD");
		else
			buf_put(&wanted, bytes + i, len);
	}
	must(same(&read, &wanted));
	buf_free(&text);
	buf_free(&read);
	buf_free(&wanted);
}

/* Checks json_int() against arithmetic on the decimal digits, for numbers that
 * are short enough for that. */
static void
visit_number(struct json j)
{
	char text[64], digits[160];
	char *exponent, *point;
	int64_t value = 0, wanted = 0;
	long shift = 0;
	size_t len, significant;
	bool is_integer;

	if (j.len >= sizeof(text))
		return;
	memcpy(text, j.text, j.len);
	text[j.len] = '\0';
	exponent = strpbrk(text, "eE");
	if (exponent != NULL) {
		shift = strtol(exponent + 1, NULL, 10);
		*exponent = '\0';
	}
	if (shift < -60 || shift > 60)
		return;
	/* The value is that of the digits without the point, times 10^shift. */
	memset(digits, '0', sizeof(digits));
	point = strchr(text, '.');
	len = strlen(text);
	if (point != NULL) {
		shift -= (long)(text + len - point - 1);
		memmove(point, point + 1, strlen(point));
		len--;
	}
	memcpy(digits, text + (*text == '-'), len - (*text == '-'));
	len -= *text == '-';
	is_integer = true;
	for (; shift < 0; shift++) {
		if (len > 0 && digits[--len] != '0')
			is_integer = false;
	}
	len += (size_t)shift;
	must(len < sizeof(digits));
	digits[len] = '\0';
	significant = strlen(digits + strspn(digits, "0"));
	wanted = significant > 18 ? INT64_C(1000000000000000000)
	    : strtoll(digits, NULL, 10);
	if (*text == '-')
		wanted = -wanted;
	must(json_int(j, &value) == is_integer);
	must(!is_integer || value == wanted);
}

/* All values in it, and nothing but punctuation between them */
static void
visit(struct json j)
{
	const char *from = j.text + 1;
	struct json name, value;
	struct buf b = {0};
	size_t at = 0;

	if (json_type(j) == JSON_NUMBER)
		visit_number(j);
	if (json_type(j) == JSON_STRING) {
		json_decode(j, &b);
		visit_bytes(b.data, b.len);
		buf_free(&b);
	}
	if (json_type(j) != JSON_ARRAY && json_type(j) != JSON_OBJECT)
		return;
	for (; json_next(j, &at, &name, &value); from = value.text + value.len) {
		if (json_type(j) == JSON_OBJECT) {
			must(slow_check(name.text, name.len));
			visit(name);
			must(*slow_space(name.text + name.len, value.text) == ':');
			from = value.text;
		}
		while (from < value.text)
			must(strchr(" \t\n\r,", *from++) != NULL);
		must(slow_check(value.text, value.len));
		visit(value);
	}
	must(slow_space(from, j.text + j.len) == j.text + j.len - 1);
}

static void
fuzz_json(const uint8_t *data, size_t size)
{
	struct json j = json_check((const char *)data, size);

	must((json_type(j) != JSON_NONE) ==
	    slow_check((const char *)data, size));
	if (json_type(j) != JSON_NONE)
		visit(j);
	visit_bytes((const char *)data, size);
}

/* -- output: one byte and one cell at a time ------------------------------ */

enum {
	LONG = 70000,         /* bytes that an input is repeated up to */
	COLUMNS = 8000,       /* of a row */
	TERMINAL = 200,       /* and of one on a terminal */
	SAMPLE = 4000         /* bytes that say whether it is text */
};

struct slow {
	struct buf text;     /* finished rows */
	uint32_t *cell;      /* the row: code points */
	size_t cells, col, width;
	bool back;           /* was anything overwritten or erased? */
	bool beyond;         /* was there a control, or a character that does
	                      * not take one column, which this does not know? */
	size_t bad;          /* bytes of the first 4,000 that are no text */
};

static void
put_utf8(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf_putc(b, (char)c);
		return;
	}
	if (c >= 0x10000)
		buf_putc(b, (char)(0xF0 | c >> 18));
	if (c >= 0x800)
		buf_putc(b, (char)((c < 0x10000 ? 0xE0 | c >> 12 : 0x80 |
		    (c >> 12 & 0x3F))));
	buf_putc(b, (char)(c < 0x800 ? 0xC0 | c >> 6 : 0x80 | (c >> 6 & 0x3F)));
	buf_putc(b, (char)(0x80 | (c & 0x3F)));
}

static void
slow_end_row(struct slow *s, bool newline)
{
	size_t i;

	while (newline && s->width == TERMINAL && s->cells > 0 &&
	       (s->cell[s->cells - 1] == ' ' || s->cell[s->cells - 1] == '\t'))
		s->cells--;
	for (i = 0; i < s->cells; i++)
		put_utf8(&s->text, s->cell[i]);
	if (newline)
		buf_putc(&s->text, '\n');
	s->cells = s->col = 0;
}

static void
slow_put(struct slow *s, uint32_t c)
{
	s->beyond = s->beyond || (c >= 0x300 && c != REPLACEMENT);
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
	} else if (what == 2 || s->col + 1 >= s->cells) {
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
			s->beyond = s->beyond || strchr("78DE()", kind) != NULL;
			if (kind >= 0x30 && kind != '[')
				return i + 1;
		} else if (kind != '[') {
			if (p[i] >= 0x30)
				return i + 1;
		} else if (p[i] >= 0x40) {
			if (p[i] == 'K' && what <= 2)
				slow_erase(s, what);
			else if (strchr("@CDGJKPXZ`abhlsu", p[i]) != NULL)
				s->beyond = true;
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
			s->bad += i < SAMPLE;
		else if (p[i] == '\t' || (p[i] >= 0x20 && p[i] < 0x7F))
			slow_put(s, p[i]);
		i++;
	}
	slow_end_row(s, false);
}

/* What it would show */

#define NOT_SAVED "; full output not saved: --save-limit is 0"

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
	if (p[at - 1] == '\n')
		buf_fmt(b, "[x: showing last %zu of %zu lines" NOT_SAVED "]",
		    lines, lines_in(p, n));
	else
		buf_fmt(b, "[x: showing last %zu of %zu lines (its last %zu "
		    "bytes)" NOT_SAVED "]", lines, lines_in(p, n), n - at);
}

static void
slow_show(const char *p, size_t n, const struct output_bounds *most,
          size_t no_text, struct buf *b)
{
	size_t chars = chars_in(p, n), all = 30000, from, head, last;
	enum truncate how = most->mode;

	if (no_text > 0) {
		head = most->limit > 0 && most->limit < 1000 ?
		       (size_t)most->limit : 1000;
		if (head > chars)
			head = chars;
		buf_put(b, p, char_at(p, n, head));
		end_with_newline(b);
		buf_fmt(b, head < chars
		    ? "[x truncated: binary data, %zu bytes in total, first "
		    "%zu characters shown" NOT_SAVED "]"
		    : "[x: binary data, %zu bytes in total, first %zu "
		    "characters shown" NOT_SAVED "]", no_text, head);
		return;
	}
	if (n > 0 && (how == TRUNCATE_TAIL || how == TRUNCATE_RECENT)) {
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
	if (how == TRUNCATE_HEAD) {
		from = chars_back(p, n, last);
		if (from > char_at(p, n, head))
			from = line_at(p, n, from);
		if (chars_in(p + from, n - from) * 2 <= last)
			from = chars_back(p, n, last);
		buf_fmt(b, "[x truncated: %zu characters in total, first %zu "
		    "and last %zu shown" NOT_SAVED "]\n", chars, head,
		    chars_in(p + from, n - from));
	} else {
		from = chars_back(p, n, last);
		buf_fmt(b, "[x truncated: %zu characters in total, %zu "
		    "omitted here" NOT_SAVED "]\n", chars, chars - head - last);
	}
	buf_put(b, p + from, n - from);
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

/* The end of that text, or all of it */
static bool
ends_so(const struct buf *b, const struct buf *text)
{
	size_t n = b->len;

	return n <= text->len &&
	       (n == 0 || memcmp(b->data, text->data + text->len - n, n) == 0);
}

/* As the contract has it */
static const struct options usual = {
	.head_first = 30000, .head_last = 2000, .tail_lines = 2000,
	.tail_bytes = 51200, .both_first = 10000, .both_last = 20000,
	.binary_first = 1000, .recent_last = 10000, .tmpdir = "/"
};

/* One way to split the input; `pieces` takes what is new at each look. */
static void
run(const uint8_t *p, size_t n, size_t most, uint32_t seed, bool terminal,
    const struct output_bounds *most_shown, struct buf *shown,
    struct buf *pieces)
{
	struct output_cursor cursor = {0}, small = {0}, look = {0};
	struct spool spool = { .dir = "/" };
	struct output *o = output_new(&usual, &spool, most_shown->limit, terminal);
	struct output_bounds fit;
	struct output_view view;
	struct buf b = {0};
	size_t some, before;
	bool news, whole;

	for (; n > 0; p += some, n -= some) {
		some = most > 1 ? next_random(&seed) % most + 1 : 1;
		if (some > n)
			some = n;
		output_write(o, p, some);
		if (pieces == NULL || next_random(&seed) % 4 > 0)
			continue;
		news = output_has_new(o, &cursor);
		before = pieces->len;
		output_append_new(o, &cursor, SIZE_MAX / 2, pieces);
		must(news == (pieces->len > before));
		must(!output_has_new(o, &cursor));
		output_append_new(o, &small, 100, &b);
		must(b.len <= 100);
		check_text(&b);
		b.len = 0;
		if (next_random(&seed) % 8 > 0)
			continue;
		fit = *most_shown;
		fit.bytes = 200 + next_random(&seed) % 2000;
		fit.lines = 10 + next_random(&seed) % 200;
		fit.limit = 200 + next_random(&seed) % 60000;
		output_show(o, NULL, &fit, "x", &b);
		check_text(&b);
		must(b.len <= (size_t)fit.bytes &&
		     lines_in(b.data, b.len) <= (size_t)fit.lines);
		b.len = 0;
		output_show(o, &look, most_shown, "x", &b);
		output_mark_read(o, &look);
		check_text(&b);
		b.len = 0;
	}
	output_end(o);
	if (pieces != NULL)
		output_append_new(o, &cursor, SIZE_MAX / 2, pieces);
	view = output_show(o, NULL, most_shown, "x", shown);
	must(view.file == NULL);
	/* What is new at the end is the end of a short text. */
	whole = view.chars < 0;
	output_show(o, &look, most_shown, "x", &b);
	if (whole && !terminal)
		must(ends_so(&b, shown));
	output_free(o);
	spool_free(&spool);
	buf_free(&b);
}

static void
check_output(const uint8_t *p, size_t n, uint32_t seed)
{
	struct output_bounds how = { (enum truncate)(seed / 64 % 4),
	    seed / 4096 % 3 == 0 ? 0 : 200 + seed / 8192 % 4000, 0, 0 };
	struct buf whole = {0}, split = {0}, wanted = {0}, pieces = {0};
	struct slow s = {0};
	bool terminal = seed / 1024 % 4 == 0;
	size_t sample;

	s.cell = calloc(n + 1, sizeof(*s.cell));
	must(s.cell != NULL);
	s.width = terminal ? TERMINAL : COLUMNS;
	slow_read(&s, p, n);
	run(p, n, n + 1, 0, terminal, &how, &whole, NULL);
	/* Of a terminal a look keeps the blanks that it has shown. */
	run(p, n, n > 1000 ? n / 20 : 50, seed, terminal, &how, &split,
	    terminal ? NULL : &pieces);
	check_text(&whole);
	must(same(&whole, &split));
	if (terminal) {
		split.len = 0;
		run(p, n, 50, seed, true, &how, &split, &pieces);
		check_text(&split);
		check_text(&pieces);
	}
	s.beyond = s.beyond || terminal;
	sample = n < SAMPLE ? n : SAMPLE;
	slow_show(s.text.data, s.text.len, &how,
	          n >= 200 && s.bad * 10 > sample ? n : 0, &wanted);
	/* A character may have been cut where it is decided. */
	if (!s.beyond &&
	    (s.bad * 10 + 40 < sample || s.bad * 10 > sample + 40))
		must(same(&whole, &wanted));
	if (!s.back && !s.beyond && n < 12000)
		must(same(&pieces, &s.text));
	buf_free(&whole);
	buf_free(&split);
	buf_free(&wanted);
	buf_free(&pieces);
	buf_free(&s.text);
	free(s.cell);
}

/* -- screen: any split of the bytes gives the same rows, within the memory ---- */

/* Draws the bytes in pieces of at most `most` and appends the final text and the
 * rows. reads: the rows are read meanwhile. */
static void
draw_screen(const uint8_t *p, size_t n, size_t most, bool terminal, bool reads,
            struct buf *seen)
{
	void *cells = malloc(screen_memory(terminal));
	struct screen *s = screen_new(terminal, cells);
	struct buf text = { malloc(2 * SCREEN_STEP_MAX), 0,
	    2 * SCREEN_STEP_MAX };
	int64_t bytes = 0;
	size_t done, some;
	int i;

	for (; n > 0; p += done, n -= done) {
		some = n < most ? n : most;
		done = screen_write(s, p, some, &text);
		must(done > 0 && done <= some && text.len <= text.cap);
		if (reads)
			screen_mark_read(s);
		bytes += (int64_t)text.len;
		buf_put(seen, text.data, text.len);
		text.len = 0;
	}
	screen_end(s, &text);
	bytes += (int64_t)text.len;
	buf_put(seen, text.data, text.len);
	must(bytes == screen_final(s).bytes);
	for (i = 0; i < screen_lines(s); i++) {
		text.len = 0;
		screen_line(s, i, &text);
		must(text.len <= SCREEN_STEP_MAX);
	}
	for (i = 0; i < screen_height(s); i++) {
		screen_row(s, i, seen);
		buf_putc(seen, '\n');
	}
	screen_free(s);
	free(cells);
	free(text.data);
}

static void
fuzz_screen(const uint8_t *data, size_t size)
{
	struct buf whole = {0}, split = {0};
	bool terminal = size % 4 > 0;

	draw_screen(data, size, size + 1, terminal, false, &whole);
	draw_screen(data, size, 1, terminal, false, &split);
	must(same(&whole, &split));
	check_text(&whole);
	/* A row that was read keeps its trailing blanks. */
	split.len = 0;
	draw_screen(data, size, 7, terminal, true, &split);
	check_text(&split);
	buf_free(&whole);
	buf_free(&split);
}

/* Some inputs are repeated until they are long enough to be cut. */
static void
fuzz_output(const uint8_t *data, size_t size)
{
	uint32_t seed = 2166136261u;
	struct buf copy = {0};
	size_t i;

	for (i = 0; i < size; i++)
		seed = (seed ^ data[i]) * 16777619;
	do
		buf_put(&copy, data, size);
	while (size > 0 && seed % 256 == 0 && copy.len < LONG);
	check_output((uint8_t *)copy.data, copy.len, seed);
	buf_free(&copy);
}

/* -- httpmsg: what is understood does not depend on how the bytes were split,
 * and nothing that passes has a second opinion about where its body ends ---- */

static void
note(struct buf *said, const char *text)
{
	const char *p;

	buf_add(said, text == NULL ? "-" : text);
	buf_putc(said, '\n');
	for (p = text; p != NULL && *p != '\0'; p++)
		must(*p == '\t' || ((unsigned char)*p >= ' ' && *p != 127));
}

static void
note_head(struct buf *said, const struct request *r)
{
	const char *length = r->field[FIELD_CONTENT_LENGTH];
	const char *coding = r->field[FIELD_TRANSFER_ENCODING];
	int i;

	must(r->verb != NULL && *r->verb != '\0' && r->path != NULL);
	must(strpbrk(r->verb, " \t") == NULL && strchr(r->path, ' ') == NULL);
	must(length == NULL || coding == NULL);
	must(length == NULL || strspn(length, "0123456789") == strlen(length));
	must(r->http10 || r->field[FIELD_HOST] != NULL);
	must(r->left >= 0 && r->head.len <= REQUEST_HEAD_LIMIT + 1);
	must(r->state == (coding != NULL ? REQUEST_SIZE
	    : r->left > 0 ? REQUEST_BODY : REQUEST_DONE));
	note(said, r->verb);
	note(said, r->path);
	for (i = 0; i < FIELDS; i++)
		note(said, r->field[i]);
	buf_fmt(said, "%jd%d", r->left, r->http10 * 2 + r->last);
}

/* All that is said of the bytes, given in pieces */
static void
read_http(struct buf *said, const uint8_t *data, size_t size, size_t piece,
    unsigned refuse)
{
	struct buf in = {0};
	struct request r;
	int64_t length = 0;
	unsigned n = 0;
	size_t some;
	int event = REQUEST_NEEDS_INPUT;

	memset(&r, 0, sizeof(r));
	while (size > 0 && event < 400) {
		some = piece < size ? piece : size;
		buf_put(&in, data, some);
		data += some;
		size -= some;
		while ((event = request_read(&r, &in)) == REQUEST_HAS_HEAD ||
		    event == REQUEST_COMPLETE) {
			buf_fmt(said, "%d", event);
			if (event == REQUEST_HAS_HEAD) {
				note_head(said, &r);
				length = r.state != REQUEST_SIZE ? r.left : -1;
				if (refuse >> (n++ & 3) & 1)
					request_drop(&r);
				continue;
			}
			must(length < 0 || r.dropped ||
			    (size_t)length == r.body.len);
			must(!r.dropped || r.body.len == 0);
			buf_put(said, r.body.data, r.body.len);
			request_free(&r);
		}
	}
	must(event == REQUEST_NEEDS_INPUT || event >= 400);
	buf_fmt(said, "%d%d", event, event == REQUEST_NEEDS_INPUT
	    ? (int)r.state : 0);
	request_free(&r);
	buf_free(&in);
}

/* The first byte says how long the pieces are, and what is refused. */
static void
fuzz_httpmsg(const uint8_t *data, size_t size)
{
	struct buf whole = {0}, parts = {0};
	size_t piece[2], i;

	if (size < 2)
		return;
	piece[0] = 1;
	piece[1] = 2 + data[0] % 16;
	read_http(&whole, data + 1, size - 1, size, data[0] >> 4);
	for (i = 0; i < 2; i++) {
		read_http(&parts, data + 1, size - 1, piece[i], data[0] >> 4);
		must(same(&whole, &parts));
		parts.len = 0;
	}
	buf_free(&whole);
	buf_free(&parts);
}

/* -- mcp: whatever is said to boris, each request is answered once, under its
 * own id, and boris ends when its input does --------------------------------- */

enum { MOST = 400, PATIENCE = 30000 };  /* requests; ms without a byte */

struct talk {
	struct buf in, out;
	struct { struct json id; int asked, answers; } id[MOST];
	int ids, nulls;
	bool cancels;
};

/* Returns the length of an id as boris writes it. */
static size_t
written_length(struct json id)
{
	struct buf text = { NULL, 0, 0 };
	size_t len;

	json_verbatim(id, &text);
	len = text.len;
	buf_free(&text);
	return len;
}

static int
find_id(const struct talk *t, struct json id)
{
	size_t len = written_length(id);
	int i;

	for (i = 0; i < t->ids; i++)
		if (json_equal(t->id[i].id, id) &&
		    written_length(t->id[i].id) == len)
			break;
	return i;
}

/* A message as boris has to see it: a request has an id, errors about what has
 * none bear null. */
static void
expect(struct talk *t, const char *text, size_t len)
{
	struct json m = json_check(text, len), id = json_get(m, "id");
	struct json method = json_get(m, "method");
	enum json_type type = json_type(id);
	int i;

	if (slow_space(text, text + len) == text + len)
		return;
	if (method.text == NULL && (json_get(m, "result").text != NULL ||
	    json_get(m, "error").text != NULL))
		return;
	t->cancels |= json_is(method, "notifications/cancelled");
	if (type == JSON_NONE && json_type(method) == JSON_STRING &&
	    json_is(json_get(m, "jsonrpc"), "2.0"))
		return;
	if (type != JSON_STRING && type != JSON_NUMBER) {
		t->nulls++;
		return;
	}
	i = find_id(t, id);
	if (i == MOST)
		return;
	t->ids += i == t->ids;
	t->id[i].id = id;
	t->id[i].asked++;
}

static void
hear(struct talk *t, const char *text, size_t len)
{
	struct json m = json_check(text, len), id = json_get(m, "id");
	bool result = json_get(m, "result").text != NULL;
	int i;

	must(json_type(m) == JSON_OBJECT && m.len == len);
	must(json_is(json_get(m, "jsonrpc"), "2.0"));
	if (json_get(m, "method").text != NULL)
		return;
	must(result != (json_get(m, "error").text != NULL));
	if (json_type(id) == JSON_NULL) {
		must(!result && t->nulls-- > 0);
		return;
	}
	i = find_id(t, id);
	must(i < t->ids && ++t->id[i].answers <= t->id[i].asked);
}

static void
each_line(struct talk *t, const struct buf *b,
    void (*take)(struct talk *, const char *, size_t))
{
	size_t at, i;

	for (at = 0; at < b->len; at = i + 1) {
		for (i = at; i < b->len && b->data[i] != '\n'; i++)
			;
		take(t, b->data + at, i - at);
	}
}

/* Says all of it to a boris and takes all that it answers. */
static void
converse(struct talk *t)
{
	struct pollfd p[2];
	int in[2], out[2], status, ready;
	char bytes[65536];
	size_t said = 0;
	ssize_t n = 1;
	pid_t pid;

	must(pipe(in) == 0 && pipe(out) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl(getenv("BORIS"), "boris", "--bg-timeout=1", "--edit",
		    "--write=/dev", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	while (n > 0) {
		if (said == t->in.len && in[1] >= 0) {
			close(in[1]);
			in[1] = -1;
		}
		p[0].fd = in[1];
		p[0].events = POLLOUT;
		p[1].fd = out[0];
		p[1].events = POLLIN;
		ready = poll(p, 2, PATIENCE);
		if (ready < 0 && errno == EINTR)
			continue;  /* libFuzzer's own clock */
		must(ready > 0);
		if (in[1] >= 0 && p[0].revents != 0 && (n = write(in[1],
		    t->in.data + said, t->in.len - said)) > 0)
			said += (size_t)n;
		n = 1;
		if (p[1].revents != 0 && (n = read(out[0], bytes,
		    sizeof(bytes))) > 0)
			buf_put(&t->out, bytes, (size_t)n);
	}
	close(out[0]);
	while (waitpid(pid, &status, 0) < 0)
		must(errno == EINTR);
	must(status == 0);
}

static void
fuzz_mcp(const uint8_t *data, size_t size)
{
	struct talk t;
	int i;

	memset(&t, 0, sizeof(t));
	buf_put(&t.in, data, size);
	buf_putc(&t.in, '\n');
	each_line(&t, &t.in, expect);
	if (t.ids < MOST) {
		converse(&t);
		each_line(&t, &t.out, hear);
	}
	for (i = 0; i < t.ids && !t.cancels; i++)
		must(t.id[i].answers == t.id[i].asked);
	buf_free(&t.in);
	buf_free(&t.out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *room = getenv("ROOM");

	switch (room != NULL ? *room : 0) {
	case 'j':
		fuzz_json(data, size);
		break;
	case 'o':
		fuzz_output(data, size);
		break;
	case 's':
		fuzz_screen(data, size);
		break;
	case 'h':
		fuzz_httpmsg(data, size);
		break;
	case 'm':
		signal(SIGPIPE, SIG_IGN);
		fuzz_mcp(data, size);
		break;
	default:
		fprintf(stderr, "which ROOM?\n");
		exit(2);
	}
	return 0;
}
