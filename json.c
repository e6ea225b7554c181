/* Needs nothing of the system but C99: no call, no locale, no state. */

#include "json.h"

#include <stdlib.h>
#include <string.h>

/* Integers beyond this count as this: it is above every limit, and two of them
 * can be added without overflow. */
#define INT_LIMIT INT64_C(1000000000000000000)

static const struct json none;

/* -- Characters -------------------------------------------------------- */

/* Writes the character at d, RFC 3629, section 3; returns its length. */
static int
utf8_write(char *d, long code)
{
	static const int first[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
	int len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	int i;

	for (i = len - 1; i > 0; i--) {
		d[i] = (char)(0x80 | (code & 0x3F));
		code >>= 6;
	}
	d[0] = (char)(first[len] | code);
	return len;
}

/* Skips to the first byte that can't stand in a string as it is: a quote, a
 * backslash, a control character, or one that is not UTF-8. */
static const char *
skip_plain(const char *s, const char *end)
{
	int len;

	for (; s < end && *s != '"' && *s != '\\'; s += len) {
		len = utf8_length((const unsigned char *)s, (size_t)(end - s));
		if (len < 1 || (unsigned char)*s < ' ')
			break;
	}
	return s;
}

/* The code of the \uXXXX at s; -1 where there is none. */
static long
read_unicode(const char *s, const char *end)
{
	long code = 0;
	int i, digit;

	if (end - s < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (i = 2; i < 6; i++) {
		digit = hex_digit(s[i]);
		if (digit == 16)
			return -1;
		code = code * 16 + digit;
	}
	return code;
}

/* What stands behind the backslash of a short escape (RFC 8259, section 7) */
static const char meaning[] = {
	['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b',
	['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'
};

/* Reads the escape at s; returns its length, 0 where there is none. A pair of
 * surrogates is one character. */
static int
read_escape(const char *s, const char *end, long *code)
{
	unsigned char c;
	long low;

	if (end - s < 2 || *s != '\\')
		return 0;
	c = (unsigned char)s[1];
	*code = c < sizeof(meaning) ? meaning[c] : 0;
	if (*code != 0)
		return 2;
	*code = read_unicode(s, end);
	if (*code < 0)
		return 0;
	low = *code >= 0xD800 && *code < 0xDC00 ? read_unicode(s + 6, end) : 0;
	if (low >= 0xDC00 && low <= 0xDFFF) {
		*code = 0x10000 + (*code - 0xD800) * 0x400 + (low - 0xDC00);
		return 12;
	}
	if (*code >= 0xD800 && *code <= 0xDFFF)
		*code = 0xFFFD;
	return 6;
}

/* -- Checking ---------------------------------------------------------- */

/* These return the end of what must stand at s, or NULL if it does not. */

static const char *
skip_space(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
		s++;
	return s;
}

static const char *
check_digits(const char *s, const char *end)
{
	const char *from = s;

	while (s < end && *s >= '0' && *s <= '9')
		s++;
	return s > from ? s : NULL;
}

static const char *
check_number(const char *s, const char *end)
{
	if (s < end && *s == '-')
		s++;
	s = s < end && *s == '0' ? s + 1 : check_digits(s, end);
	if (s != NULL && s < end && *s == '.')
		s = check_digits(s + 1, end);
	if (s != NULL && s < end && (*s == 'e' || *s == 'E')) {
		s++;
		if (s < end && (*s == '+' || *s == '-'))
			s++;
		s = check_digits(s, end);
	}
	return s;
}

/* From behind the opening quote */
static const char *
check_string(const char *s, const char *end)
{
	long code;
	int len;

	do {
		s = skip_plain(s, end);
		len = read_escape(s, end, &code);
		s += len;
	} while (len > 0);
	return s < end && *s == '"' ? s + 1 : NULL;
}

static const char *
check_literal(const char *s, const char *end, const char *literal)
{
	size_t n = strlen(literal);

	if ((size_t)(end - s) < n || memcmp(s, literal, n) != 0)
		return NULL;
	return s + n;
}

static const char *
check_value(const char *s, const char *end, int depth)
{
	char close;

	if (s == end)
		return NULL;
	switch (*s) {
	case '"': return check_string(s + 1, end);
	case 'n': return check_literal(s, end, "null");
	case 't': return check_literal(s, end, "true");
	case 'f': return check_literal(s, end, "false");
	case '[': close = ']'; break;
	case '{': close = '}'; break;
	default: return check_number(s, end);
	}
	s = skip_space(s + 1, end);
	if (depth == JSON_DEPTH || s == end)
		return NULL;
	if (*s == close)
		return s + 1;
	for (;; s = skip_space(s + 1, end)) {
		if (close == '}') {
			if (s == end || *s != '"')
				return NULL;
			s = check_string(s + 1, end);
			s = s != NULL ? skip_space(s, end) : end;
			if (s == end || *s != ':')
				return NULL;
			s = skip_space(s + 1, end);
		}
		s = check_value(s, end, depth + 1);
		s = s != NULL ? skip_space(s, end) : end;
		if (s < end && *s == close)
			return s + 1;
		if (s == end || *s != ',')
			return NULL;
	}
}

struct json
json_check(const char *text, size_t len)
{
	const char *end;
	struct json value;

	if (len == 0)
		return none;
	end = text + len;
	value.text = skip_space(text, end);
	text = check_value(value.text, end, 0);
	if (text == NULL || skip_space(text, end) < end)
		return none;
	value.len = (size_t)(text - value.text);
	return value;
}

/* -- Reading ----------------------------------------------------------- */

/* What json_check() has found valid: what begins in it ends in it. */

enum json_type
json_type(struct json j)
{
	if (j.text == NULL)
		return JSON_NONE;
	switch (*j.text) {
	case 'n': return JSON_NULL;
	case 't':
	case 'f': return JSON_BOOL;
	case '"': return JSON_STRING;
	case '[': return JSON_ARRAY;
	case '{': return JSON_OBJECT;
	}
	return JSON_NUMBER;
}

bool
json_true(struct json j)
{
	return j.text != NULL && *j.text == 't';
}

/* From the opening quote to the closing one */
static const char *
skip_string(const char *s)
{
	for (s++; *s != '"'; s++) {
		if (*s == '\\')
			s++;
	}
	return s;
}

/* The name or value at *s. Moves *s to the colon, comma or bracket behind. */
static struct json
read_slice(const char **s)
{
	const char *p = *s;
	struct json j;
	int depth = 0;

	j.text = p;
	for (; depth > 0 || (*p != ',' && *p != ':'); p++) {
		if (*p == '"')
			p = skip_string(p);
		else if (*p == '[' || *p == '{')
			depth++;
		else if ((*p == ']' || *p == '}') && depth-- == 0)
			break;
	}
	*s = p;
	while (p[-1] <= ' ')  /* white space */
		p--;
	j.len = (size_t)(p - j.text);
	return j;
}

bool
json_next(struct json j, size_t *at, struct json *name, struct json *value)
{
	enum json_type type = json_type(j);
	const char *s, *end;

	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return false;
	/* At *at is a bracket or a comma. */
	end = j.text + j.len;
	s = skip_space(j.text + *at + 1, end);
	if (s == end || *s == ']' || *s == '}')
		return false;
	if (type == JSON_OBJECT) {
		*name = read_slice(&s);
		s = skip_space(s + 1, end);
	}
	*value = read_slice(&s);
	*at = (size_t)(s - j.text);
	return true;
}

/* A string that is decoded byte by byte */
struct decoder {
	const char *s, *end;
	char utf8[4];     /* a character that was escaped: */
	int at, len;      /* of its bytes so many are taken */
};

static struct decoder
decode(struct json string)
{
	struct decoder d = { string.text + 1, string.text + string.len - 1,
	    { 0 }, 0, 0 };

	return d;
}

/* -1: there are no more. */
static int
next_byte(struct decoder *d)
{
	long code;

	if (d->at == d->len && d->s < d->end && *d->s == '\\') {
		d->s += read_escape(d->s, d->end, &code);
		d->len = utf8_write(d->utf8, code);
		d->at = 0;
	}
	if (d->at < d->len)
		return (unsigned char)d->utf8[d->at++];
	return d->s < d->end ? (unsigned char)*d->s++ : -1;
}

bool
json_is(struct json string, const char *text)
{
	struct decoder d;
	int c;

	if (json_type(string) != JSON_STRING)
		return false;
	d = decode(string);
	while ((c = next_byte(&d)) > 0 && c == (unsigned char)*text)
		text++;
	return c < 0 && *text == '\0';
}

void
json_members(struct json object, const char *const names[],
    struct json found[], int n)
{
	struct json name, value;
	size_t at = 0;
	int i;

	for (i = 0; i < n; i++)
		found[i] = none;
	if (json_type(object) != JSON_OBJECT)
		return;
	while (json_next(object, &at, &name, &value)) {
		for (i = 0; i < n; i++) {
			if (json_is(name, names[i]))
				found[i] = value;
		}
	}
}

struct json
json_get(struct json object, const char *name)
{
	struct json value;

	json_members(object, &name, &value, 1);
	return value;
}

bool
json_equal(struct json a, struct json b)
{
	struct decoder d, e;
	int c;

	if (json_type(a) == JSON_NUMBER && json_type(b) == JSON_NUMBER)
		return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
	if (json_type(a) != JSON_STRING || json_type(b) != JSON_STRING)
		return false;
	d = decode(a);
	e = decode(b);
	while ((c = next_byte(&d)) == next_byte(&e)) {
		if (c < 0)
			return true;
	}
	return false;
}

static int64_t
add_digit(int64_t n, char digit)
{
	return n < INT_LIMIT / 10 ? n * 10 + (digit - '0') : INT_LIMIT;
}

bool
json_int(struct json number, int64_t *value)
{
	const char *s = number.text, *end, *e, *p;
	int64_t sum = 0, exponent = 0, left;

	if (json_type(number) != JSON_NUMBER)
		return false;
	end = s + number.len;
	if (*s == '-')
		s++;
	e = check_digits(s, end);
	left = e - s;
	while (e < end && *e != 'e' && *e != 'E')
		e++;
	for (p = e; p < end; p++) {
		if (*p >= '0' && *p <= '9')
			exponent = add_digit(exponent, *p);
	}
	/* The exponent moves the point: `left` digits stand before it then, and
	 * those behind it are all zeros if this is an integer. */
	left += end - e > 1 && e[1] == '-' ? -exponent : exponent;
	for (; s < e; s++) {
		if (*s != '.' && left-- > 0)
			sum = add_digit(sum, *s);
		else if (*s != '.' && *s != '0')
			return false;
	}
	while (left-- > 0 && sum > 0 && sum < INT_LIMIT)
		sum = add_digit(sum, '0');
	*value = *number.text == '-' ? -sum : sum;
	return true;
}

void
json_decode(struct json string, struct buf *b)
{
	const char *s, *end;
	long code;
	char *d;

	/* No escape is shorter than what it stands for. */
	if (json_type(string) != JSON_STRING || !buf_room(b, string.len))
		return;
	d = b->data + b->len;
	end = string.text + string.len - 1;
	for (s = string.text + 1; s < end; ) {
		if (*s != '\\') {
			*d++ = *s++;
		} else {
			s += read_escape(s, end, &code);
			d += utf8_write(d, code);
		}
	}
	b->len = (size_t)(d - b->data);
}

void
json_verbatim(struct json j, struct buf *b)
{
	const char *s = j.text, *end = s != NULL ? s + j.len : s;
	long code = 0;
	int len;

	for (; s < end; s += len) {
		len = *s == '\\' ? read_escape(s, end, &code) : 1;
		if (len == 6 && code == 0xFFFD && read_unicode(s, end) != code)
			buf_puts(b, "\\ufffd");
		else
			buf_put(b, s, (size_t)len);
	}
}

/* -- Writing ----------------------------------------------------------- */

static void
put_escape(struct buf *b, char c)
{
	const char *letter = "\"\\bfnrt";

	while (*letter != '\0' && meaning[(int)*letter] != c)
		letter++;
	buf_putc(b, '\\');
	if (*letter != '\0') {
		buf_putc(b, *letter);
	} else {
		buf_puts(b, c < 16 ? "u000" : "u001");
		buf_putc(b, "0123456789abcdef"[c & 15]);
	}
}

void
json_escaped(struct buf *b, const void *bytes, size_t n)
{
	const char *s = bytes, *end = n > 0 ? s + n : s, *stop;
	int len;

	for (;;) {
		stop = skip_plain(s, end);
		buf_put(b, s, (size_t)(stop - s));
		if (stop == end)
			break;
		len = utf8_length((const unsigned char *)stop,
		    (size_t)(end - stop));
		if (len == 1)
			put_escape(b, *stop);
		else
			buf_puts(b, "\xEF\xBF\xBD");
		s = len == 0 ? end : stop + abs(len);
	}
}

void
json_string(struct buf *b, const void *bytes, size_t n)
{
	buf_putc(b, '"');
	json_escaped(b, bytes, n);
	buf_putc(b, '"');
}
