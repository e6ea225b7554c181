/* SPDX-License-Identifier: ISC */
/* t/fuzz.c: fuzz targets for libFuzzer. The environment variable TARGET selects
 * json, output, screen, httpmsg or mcp. The first two compare boris's code with
 * a slow but simple implementation of the same task. mcp sends the input to a
 * boris ($BORIS) whose shell runs no commands. t/fuzz builds both programs. */
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
check(bool ok)
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

/* Returns whether `left` more bytes can complete the bits of code to a Unicode
 * scalar value of at least min. */
static bool
can_complete(uint32_t code, int left, uint32_t min)
{
	uint32_t low = code << 6 * left, high = low | ((1u << 6 * left) - 1);

	return high >= min && low <= 0x10FFFF &&
	       !(low >= 0xD800 && high <= 0xDFFF);
}

/* Sets *code to the character at p, or to U+FFFD if there is no valid one.
 * Returns the number of bytes of the character, or that U+FFFD replaces. */
static size_t
slow_character(const uint8_t *p, size_t n, uint32_t *code)
{
	static const uint32_t min[] = {0, 0x80, 0x800, 0x10000};
	int more = *p >= 0xF0 ? 3 : *p >= 0xE0 ? 2 : 1, i;
	uint32_t c = *p & (0x3Fu >> more);

	*code = *p < 0x80 ? *p : REPLACEMENT;
	if (*p < 0xC0 || *p > 0xF7 || !can_complete(c, more, min[more]))
		return 1;
	for (i = 1; i <= more; i++) {
		if ((size_t)i == n || (p[i] & 0xC0) != 0x80)
			return (size_t)i;
		c = c << 6 | (p[i] & 0x3F);
		if (!can_complete(c, more - i, min[more]))
			return (size_t)i;
	}
	*code = c;
	return (size_t)i;
}

/* -- json ----------------------------------------------------------------
 *
 * A parser with one function for each rule of RFC 8259. Each function returns
 * the end of the text that matches its rule, or NULL. */

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

/* Checks that json_string() writes a valid string for any bytes, and that
 * json_decode() returns the same bytes, with U+FFFD for invalid UTF-8. */
static void
check_string(const char *bytes, size_t n)
{
	struct buf text = {0}, decoded = {0}, expected = {0};
	struct json j;
	uint32_t code;
	size_t i, len;

	json_string(&text, bytes, n);
	check(slow_check(text.data, text.len));
	j = json_check(text.data, text.len);
	json_decode(j, &decoded);
	for (i = 0; i < n; i += len) {
		len = slow_character((const uint8_t *)bytes + i, n - i, &code);
		if (code == REPLACEMENT)
			buf_add(&expected, "\xEF\xBF\xBD");
		else
			buf_put(&expected, bytes + i, len);
	}
	check(same(&decoded, &expected));
	buf_free(&text);
	buf_free(&decoded);
	buf_free(&expected);
}

/* Compares json_int() with arithmetic on the decimal digits, if the number is
 * short enough for that. */
static void
check_number(struct json j)
{
	char text[64], digits[160];
	char *exponent, *point;
	int64_t value = 0, expected = 0;
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
	/* The value is the number without its point, times 10^shift. */
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
	check(len < sizeof(digits));
	digits[len] = '\0';
	significant = strlen(digits + strspn(digits, "0"));
	expected = significant > 18 ? INT64_C(1000000000000000000)
	    : strtoll(digits, NULL, 10);
	if (*text == '-')
		expected = -expected;
	check(json_int(j, &value) == is_integer);
	check(!is_integer || value == expected);
}

/* Checks a value and its members or elements, between which only punctuation is
 * allowed. */
static void
check_value(struct json j)
{
	const char *from = j.text + 1;
	struct json name, value;
	struct buf b = {0};
	size_t at = 0;

	if (json_type(j) == JSON_NUMBER)
		check_number(j);
	if (json_type(j) == JSON_STRING) {
		json_decode(j, &b);
		check_string(b.data, b.len);
		buf_free(&b);
	}
	if (json_type(j) != JSON_ARRAY && json_type(j) != JSON_OBJECT)
		return;
	while (json_next(j, &at, &name, &value)) {
		if (json_type(j) == JSON_OBJECT) {
			check(slow_check(name.text, name.len));
			check_value(name);
			from = slow_space(name.text + name.len, value.text);
			check(*from == ':');
			from = value.text;
		}
		while (from < value.text)
			check(strchr(" \t\n\r,", *from++) != NULL);
		check(slow_check(value.text, value.len));
		check_value(value);
		from = value.text + value.len;
	}
	check(slow_space(from, j.text + j.len) == j.text + j.len - 1);
}

static void
fuzz_json(const uint8_t *data, size_t size)
{
	struct json j = json_check((const char *)data, size);

	check((json_type(j) != JSON_NONE) ==
	    slow_check((const char *)data, size));
	if (json_type(j) != JSON_NONE)
		check_value(j);
	check_string((const char *)data, size);
}

/* -- output ---------------------------------------------------------------
 *
 * Processes one byte and one cell at a time. */

enum {
	LONG = 70000,         /* length to which an input is repeated, bytes */
	COLUMNS = 8000,       /* columns of a row without a terminal */
	TERMINAL = 200,       /* columns of a row on a terminal */
	SAMPLE = 4000         /* bytes sampled to detect binary data */
};

struct slow {
	struct buf text;     /* finished rows */
	uint32_t *cell;      /* code points of the current row */
	size_t cells;        /* number of cells in the current row */
	size_t col;          /* column of the cursor, from 0 */
	size_t width;        /* columns of a row */
	bool back;           /* whether a cell was overwritten or erased */
	bool beyond;         /* whether the input had a control sequence, or a
	                      * character of another width than one column,
	                      * which this implementation does not support */
	size_t bad;          /* number of sampled bytes that are not text */
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
slow_erase(struct slow *s, int part)
{
	size_t i;

	s->back = true;
	if (part == 0) {
		if (s->col < s->cells)
			s->cells = s->col;
	} else if (part == 2 || s->col + 1 >= s->cells) {
		s->cells = 0;
	} else {
		for (i = 0; i <= s->col; i++)
			s->cell[i] = ' ';
	}
}

/* Returns the length of a control string after its first byte, including its
 * terminator, unless that is an ESC or a newline. */
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

/* Executes the sequence at p. Returns its length after the ESC. */
static size_t
slow_sequence(struct slow *s, const uint8_t *p, size_t n)
{
	uint8_t kind = 0;   /* first byte that is not a control character */
	int parameter = 0;  /* parameter of a CSI sequence, 3 if it is over 2 */
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
			if (p[i] == 'K' && parameter <= 2)
				slow_erase(s, parameter);
			else if (strchr("@CDGJKPXZ`abhlsu", p[i]) != NULL)
				s->beyond = true;
			return i + 1;
		} else {
			parameter = p[i] < '0' || p[i] > '9' || parameter > 2
			    ? 3 : parameter * 10 + (p[i] - '0');
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

/* The expected result */

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

/* Returns the position of a character, counted from 0. */
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

/* Returns the position of the last `chars` characters. */
static size_t
chars_back(const char *p, size_t n, size_t chars)
{
	size_t all = chars_in(p, n);

	return char_at(p, n, all > chars ? all - chars : 0);
}

/* Returns the position of the first character in the last `bytes` bytes. */
static size_t
bytes_back(const char *p, size_t n, size_t bytes)
{
	size_t at = n > bytes ? n - bytes : 0;

	while (at < n && (p[at] & 0xC0) == 0x80)
		at++;
	return at;
}

/* Returns the position of the first line that starts at or after `at`, or `at`
 * if no line starts there. */
static size_t
line_at(const char *p, size_t n, size_t at)
{
	size_t i = at;

	while (i > 0 && i < n && p[i - 1] != '\n')
		i++;
	return i < n ? i : at;
}

/* Appends the tail of the text from `from`, or fewer lines if it has more than
 * lines_max. */
static void
slow_tail(const char *p, size_t n, size_t from, size_t lines_max,
    struct buf *b)
{
	size_t at = line_at(p, n, from), lines = lines_in(p + at, n - at);

	for (; lines > lines_max; lines--)
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
slow_show(const char *p, size_t n, const struct output_bounds *bounds,
          size_t binary, struct buf *b)
{
	size_t chars = chars_in(p, n), all = 30000, from, head, last;
	enum truncate mode = bounds->mode;

	if (binary > 0) {
		head = bounds->limit > 0 && bounds->limit < 1000 ?
		       (size_t)bounds->limit : 1000;
		if (head > chars)
			head = chars;
		buf_put(b, p, char_at(p, n, head));
		end_with_newline(b);
		buf_fmt(b, head < chars
		    ? "[x truncated: binary data, %zu bytes in total, first "
		    "%zu characters shown" NOT_SAVED "]"
		    : "[x: binary data, %zu bytes in total, first %zu "
		    "characters shown" NOT_SAVED "]", binary, head);
		return;
	}
	if (n > 0 && (mode == TRUNCATE_TAIL || mode == TRUNCATE_RECENT)) {
		from = bounds->limit > 0 ?
		       chars_back(p, n, (size_t)bounds->limit) :
		       mode == TRUNCATE_TAIL ? bytes_back(p, n, 51200) :
		       chars_back(p, n, 10000);
		slow_tail(p, n, from, mode == TRUNCATE_TAIL &&
		          bounds->limit == 0 ? 2000 : n, b);
		return;
	}
	head = mode == TRUNCATE_HEAD ? 30000 : 10000;
	last = mode == TRUNCATE_HEAD ? 2000 : 20000;
	if (bounds->limit > 0) {
		all = (size_t)bounds->limit;
		last = mode == TRUNCATE_HEAD ? all / 6 : all * 4 / 6;
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
	if (mode == TRUNCATE_HEAD) {
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
			n = slow_character((uint8_t *)b->data + i, b->len - i,
			    &c);
			check(n > 1 && c >= 0xA0);
		}
		check(c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7F));
		i += n;
	}
}

/* Returns whether b is a suffix of the text. */
static bool
is_suffix(const struct buf *b, const struct buf *text)
{
	size_t n = b->len;

	return n <= text->len &&
	       (n == 0 || memcmp(b->data, text->data + text->len - n, n) == 0);
}

/* The default values (O3, O4, O8, O9) */
static const struct options defaults = {
	.head_first = 30000, .head_last = 2000, .tail_lines = 2000,
	.tail_bytes = 51200, .both_first = 10000, .both_last = 20000,
	.binary_first = 1000, .recent_last = 10000, .tmpdir = "/"
};

/* Writes the input in chunks of at most chunk_max bytes and appends the final
 * result to *shown. If pieces is not NULL, the output is also read at random
 * times, and *pieces gets the new output of each read. */
static void
run(const uint8_t *p, size_t n, size_t chunk_max, uint32_t seed, bool terminal,
    const struct output_bounds *bounds, struct buf *shown,
    struct buf *pieces)
{
	struct output_cursor cursor = {0}, small = {0}, read = {0};
	struct spool spool = { .dir = "/" };
	struct output *o = output_new(&defaults, &spool, bounds->limit,
	    terminal);
	struct output_bounds fit;
	int64_t chars;
	struct buf b = {0};
	size_t some, before;
	bool has_new, is_complete;

	for (; n > 0; p += some, n -= some) {
		some = chunk_max > 1 ? next_random(&seed) % chunk_max + 1 : 1;
		if (some > n)
			some = n;
		output_write(o, p, some);
		if (pieces == NULL || next_random(&seed) % 4 > 0)
			continue;
		has_new = output_has_new(o, &cursor);
		before = pieces->len;
		output_append_new(o, &cursor, SIZE_MAX / 2, pieces);
		output_mark_read(o, &cursor);
		check(has_new == (pieces->len > before));
		check(!output_has_new(o, &cursor));
		output_append_new(o, &small, 100, &b);
		output_mark_read(o, &small);
		check(b.len <= 100);
		check_text(&b);
		b.len = 0;
		if (next_random(&seed) % 8 > 0)
			continue;
		fit = *bounds;
		fit.bytes = 200 + next_random(&seed) % 2000;
		fit.lines = 10 + next_random(&seed) % 200;
		fit.limit = 200 + next_random(&seed) % 60000;
		output_show(o, NULL, &fit, "x", &b);
		check_text(&b);
		check(b.len <= (size_t)fit.bytes &&
		     lines_in(b.data, b.len) <= (size_t)fit.lines);
		b.len = 0;
		output_show(o, &read, bounds, "x", &b);
		output_mark_shown(o, &read);
		check_text(&b);
		b.len = 0;
	}
	output_end(o);
	if (pieces != NULL)
		output_append_new(o, &cursor, SIZE_MAX / 2, pieces);
	chars = output_show(o, NULL, bounds, "x", shown);
	check(output_file(o) == NULL);
	/* If the text is not truncated, it ends with the new output. */
	is_complete = chars < 0;
	output_show(o, &read, bounds, "x", &b);
	if (is_complete && !terminal)
		check(is_suffix(&b, shown));
	output_free(o);
	spool_free(&spool);
	buf_free(&b);
}

static void
check_output(const uint8_t *p, size_t n, uint32_t seed)
{
	struct output_bounds bounds = { (enum truncate)(seed / 64 % 4),
	    seed / 4096 % 3 == 0 ? 0 : 200 + seed / 8192 % 4000, 0, 0 };
	struct buf complete = {0}, split = {0}, expected = {0}, pieces = {0};
	struct slow s = {0};
	bool terminal = seed / 1024 % 4 == 0;
	size_t sample;

	s.cell = calloc(n + 1, sizeof(*s.cell));
	check(s.cell != NULL);
	s.width = terminal ? TERMINAL : COLUMNS;
	slow_read(&s, p, n);
	run(p, n, n + 1, 0, terminal, &bounds, &complete, NULL);
	/* On a terminal, reading the output would keep trailing blanks. */
	run(p, n, n > 1000 ? n / 20 : 50, seed, terminal, &bounds, &split,
	    terminal ? NULL : &pieces);
	check_text(&complete);
	check(same(&complete, &split));
	if (terminal) {
		split.len = 0;
		run(p, n, 50, seed, true, &bounds, &split, &pieces);
		check_text(&split);
		check_text(&pieces);
	}
	s.beyond = s.beyond || terminal;
	sample = n < SAMPLE ? n : SAMPLE;
	slow_show(s.text.data, s.text.len, &bounds,
	          n >= 200 && s.bad * 10 > sample ? n : 0, &expected);
	/* Skip inputs close to the limit for binary data, since the sample may
	 * end in the middle of a character. */
	if (!s.beyond &&
	    (s.bad * 10 + 40 < sample || s.bad * 10 > sample + 40))
		check(same(&complete, &expected));
	if (!s.back && !s.beyond && n < 12000)
		check(same(&pieces, &s.text));
	buf_free(&complete);
	buf_free(&split);
	buf_free(&expected);
	buf_free(&pieces);
	buf_free(&s.text);
	free(s.cell);
}

/* -- screen ---------------------------------------------------------------
 *
 * Any split of the bytes must result in the same rows, without writing outside
 * the memory of the screen. */

/* Draws the bytes in chunks of at most chunk_max bytes and appends the final
 * text and the rows to *drawn. If reads is set, marks the rows as read after
 * each chunk. */
static void
draw_screen(const uint8_t *p, size_t n, size_t chunk_max, bool terminal,
    bool reads, struct buf *drawn)
{
	void *cells = malloc(screen_memory(terminal));
	struct screen *s = screen_new(terminal, cells);
	struct buf text = { malloc(2 * SCREEN_STEP_MAX), 0,
	    2 * SCREEN_STEP_MAX };
	struct revised_reader reader = {0};
	int64_t bytes = 0;
	size_t done, some;
	int i;

	for (; n > 0; p += done, n -= done) {
		some = n < chunk_max ? n : chunk_max;
		done = screen_write(s, p, some, &text);
		check(done > 0 && done <= some && text.len <= text.cap);
		if (reads)
			screen_mark_read(s, &reader);
		bytes += (int64_t)text.len;
		buf_put(drawn, text.data, text.len);
		text.len = 0;
	}
	screen_end(s, &text);
	bytes += (int64_t)text.len;
	buf_put(drawn, text.data, text.len);
	check(bytes == screen_final(s).bytes);
	for (i = 0; i < screen_lines(s); i++) {
		text.len = 0;
		screen_line(s, i, &text);
		check(text.len <= SCREEN_STEP_MAX);
	}
	for (i = 0; i < screen_height(s); i++) {
		screen_row(s, i, drawn);
		buf_putc(drawn, '\n');
	}
	screen_free(s);
	free(cells);
	free(text.data);
}

static void
fuzz_screen(const uint8_t *data, size_t size)
{
	struct buf complete = {0}, split = {0};
	bool terminal = size % 4 > 0;

	draw_screen(data, size, size + 1, terminal, false, &complete);
	draw_screen(data, size, 1, terminal, false, &split);
	check(same(&complete, &split));
	check_text(&complete);
	/* Rows that have been read keep their trailing blanks, so these rows
	 * are not compared. */
	split.len = 0;
	draw_screen(data, size, 7, terminal, true, &split);
	check_text(&split);
	buf_free(&complete);
	buf_free(&split);
}

/* Repeats some of the inputs until they are long enough to be truncated. */
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

/* -- httpmsg --------------------------------------------------------------
 *
 * The parsed requests must not depend on how the bytes are split, and no
 * accepted request may have an ambiguous body length. */

/* Checks and appends the value of a header field, or "-" if it is missing. */
static void
append_field(struct buf *parsed, const char *text)
{
	const char *p;

	buf_add(parsed, text == NULL ? "-" : text);
	buf_putc(parsed, '\n');
	for (p = text; p != NULL && *p != '\0'; p++)
		check(*p == '\t' || ((unsigned char)*p >= ' ' && *p != 127));
}

static void
append_head(struct buf *parsed, const struct request *r)
{
	const char *length = r->field[FIELD_CONTENT_LENGTH];
	const char *coding = r->field[FIELD_TRANSFER_ENCODING];
	int i;

	check(r->verb != NULL && *r->verb != '\0' && r->path != NULL);
	check(strpbrk(r->verb, " \t") == NULL && strchr(r->path, ' ') == NULL);
	check(length == NULL || coding == NULL);
	check(length == NULL || strspn(length, "0123456789") == strlen(length));
	check(r->http10 || r->field[FIELD_HOST] != NULL);
	check(r->left >= 0 && r->head.len <= REQUEST_HEAD_LIMIT + 1);
	check(r->state == (coding != NULL ? REQUEST_SIZE
	    : r->left > 0 ? REQUEST_BODY : REQUEST_DONE));
	append_field(parsed, r->verb);
	append_field(parsed, r->path);
	for (i = 0; i < FIELDS; i++)
		append_field(parsed, r->field[i]);
	buf_fmt(parsed, "%jd%d", r->left, r->http10 * 2 + r->last);
}

/* Parses the bytes in chunks and appends the requests to *parsed. For each bit
 * that is set in drop, the body of a request is dropped. */
static void
read_http(struct buf *parsed, const uint8_t *data, size_t size, size_t chunk,
    unsigned drop)
{
	struct buf in = {0};
	struct request r;
	int64_t length = 0;
	unsigned n = 0;
	size_t some;
	int event = REQUEST_NEEDS_INPUT;

	memset(&r, 0, sizeof(r));
	while (size > 0 && event < 400) {
		some = chunk < size ? chunk : size;
		buf_put(&in, data, some);
		data += some;
		size -= some;
		while ((event = request_read(&r, &in)) == REQUEST_HAS_HEAD ||
		    event == REQUEST_COMPLETE) {
			buf_fmt(parsed, "%d", event);
			if (event == REQUEST_HAS_HEAD) {
				append_head(parsed, &r);
				length = r.state != REQUEST_SIZE ? r.left : -1;
				if (drop >> (n++ & 3) & 1)
					request_drop(&r);
				continue;
			}
			check(length < 0 || r.dropped ||
			    (size_t)length == r.body.len);
			check(!r.dropped || r.body.len == 0);
			buf_put(parsed, r.body.data, r.body.len);
			request_free(&r);
		}
	}
	check(event == REQUEST_NEEDS_INPUT || event >= 400);
	buf_fmt(parsed, "%d%d", event, event == REQUEST_NEEDS_INPUT
	    ? (int)r.state : 0);
	request_free(&r);
	buf_free(&in);
}

/* The first byte selects the length of the chunks and the bodies to drop. */
static void
fuzz_httpmsg(const uint8_t *data, size_t size)
{
	struct buf complete = {0}, parts = {0};
	size_t chunk[2], i;

	if (size < 2)
		return;
	chunk[0] = 1;
	chunk[1] = 2 + data[0] % 16;
	read_http(&complete, data + 1, size - 1, size, data[0] >> 4);
	for (i = 0; i < 2; i++) {
		read_http(&parts, data + 1, size - 1, chunk[i], data[0] >> 4);
		check(same(&complete, &parts));
		parts.len = 0;
	}
	buf_free(&complete);
	buf_free(&parts);
}

/* -- mcp ------------------------------------------------------------------
 *
 * boris must answer each request once, with the id of the request, and exit at
 * the end of its input. */

enum {
	REQUESTS_MAX = 400,  /* number of ids in an input that is tested */
	PATIENCE = 30000     /* longest time without any output, ms */
};

struct exchange {
	struct buf in, out;  /* messages to and from boris */
	struct {
		struct json id;
		int requests;    /* number of requests with this id */
		int responses;
	} id[REQUESTS_MAX];
	int ids;             /* number of different ids */
	int without_id;      /* number of expected errors with the id null */
	bool cancels;        /* whether a request may be cancelled, so that it
	                      * has no response */
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
find_id(const struct exchange *t, struct json id)
{
	size_t len = written_length(id);
	int i;

	for (i = 0; i < t->ids; i++)
		if (json_equal(t->id[i].id, id) &&
		    written_length(t->id[i].id) == len)
			break;
	return i;
}

/* Counts the responses that boris must send for a message. The error for a
 * message without a usable id has the id null. */
static void
count_request(struct exchange *t, const char *text, size_t len)
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
		t->without_id++;
		return;
	}
	i = find_id(t, id);
	if (i == REQUESTS_MAX)
		return;
	t->ids += i == t->ids;
	t->id[i].id = id;
	t->id[i].requests++;
}

/* Checks a message of boris and counts it if it is a response. */
static void
check_message(struct exchange *t, const char *text, size_t len)
{
	struct json m = json_check(text, len), id = json_get(m, "id");
	bool result = json_get(m, "result").text != NULL;
	int i;

	check(json_type(m) == JSON_OBJECT && m.len == len);
	check(json_is(json_get(m, "jsonrpc"), "2.0"));
	if (json_get(m, "method").text != NULL)
		return;
	check(result != (json_get(m, "error").text != NULL));
	if (json_type(id) == JSON_NULL) {
		check(!result && t->without_id-- > 0);
		return;
	}
	i = find_id(t, id);
	check(i < t->ids && ++t->id[i].responses <= t->id[i].requests);
}

/* Calls take() for each line. */
static void
for_each_line(struct exchange *t, const struct buf *b,
    void (*take)(struct exchange *, const char *, size_t))
{
	size_t at, i;

	for (at = 0; at < b->len; at = i + 1) {
		for (i = at; i < b->len && b->data[i] != '\n'; i++)
			;
		take(t, b->data + at, i - at);
	}
}

/* Runs boris with the input and reads all of its output. */
static void
run_boris(struct exchange *t)
{
	struct pollfd p[2];
	int in[2], out[2], status, ready;
	char bytes[65536];
	size_t written = 0;
	ssize_t n = 1;
	pid_t pid;

	check(pipe(in) == 0 && pipe(out) == 0);
	pid = fork();
	check(pid >= 0);
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
		if (written == t->in.len && in[1] >= 0) {
			close(in[1]);
			in[1] = -1;
		}
		p[0].fd = in[1];
		p[0].events = POLLOUT;
		p[1].fd = out[0];
		p[1].events = POLLIN;
		ready = poll(p, 2, PATIENCE);
		if (ready < 0 && errno == EINTR)
			continue;  /* a timer of libFuzzer */
		check(ready > 0);
		if (in[1] >= 0 && p[0].revents != 0 && (n = write(in[1],
		    t->in.data + written, t->in.len - written)) > 0)
			written += (size_t)n;
		n = 1;
		if (p[1].revents != 0 && (n = read(out[0], bytes,
		    sizeof(bytes))) > 0)
			buf_put(&t->out, bytes, (size_t)n);
	}
	close(out[0]);
	while (waitpid(pid, &status, 0) < 0)
		check(errno == EINTR);
	check(status == 0);
}

static void
fuzz_mcp(const uint8_t *data, size_t size)
{
	struct exchange t;
	int i;

	memset(&t, 0, sizeof(t));
	buf_put(&t.in, data, size);
	buf_putc(&t.in, '\n');
	for_each_line(&t, &t.in, count_request);
	if (t.ids < REQUESTS_MAX) {
		run_boris(&t);
		for_each_line(&t, &t.out, check_message);
	}
	for (i = 0; i < t.ids && !t.cancels; i++)
		check(t.id[i].responses == t.id[i].requests);
	buf_free(&t.in);
	buf_free(&t.out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *target = getenv("TARGET");

	switch (target != NULL ? *target : 0) {
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
		fprintf(stderr, "TARGET must be json, output, screen, "
		    "httpmsg or mcp\n");
		exit(2);
	}
	return 0;
}
