/* SPDX-License-Identifier: ISC */
/* This file depends only on C99. It makes no system calls, and uses neither the
 * locale nor global state. */

#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"

enum {
	PIECE = 4096,          /* maximum size of the pieces in which a long
	                        * text is written, in bytes */
	REPLACEMENT = 0xFFFD,  /* U+FFFD, which replaces invalid characters */
	ESCAPE_MAX = 6         /* length in bytes of the longest escapes, such
	                        * as \u0001 */
};

#define REPLACEMENT_UTF8 "\xEF\xBF\xBD"

/* Integers above INT_LIMIT or below -INT_LIMIT are clamped to these limits.
 * INT_LIMIT is greater than the largest value that any argument accepts, and
 * the sum of two clamped integers does not overflow. */
#define INT_LIMIT INT64_C(1000000000000000000)

/* Returns the length of a code point's UTF-8 encoding, in bytes. */
static size_t
utf8_size(long code)
{
	if (code < 0x80)
		return 1;
	if (code < 0x800)
		return 2;
	if (code < 0x10000)
		return 3;
	return 4;
}

/* Writes a code point to d as UTF-8 (RFC 3629, section 3). Returns the number
 * of bytes. */
static size_t
utf8_write(char *d, long code)
{
	static const int first[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
	size_t len = utf8_size(code), i;

	for (i = len - 1; i > 0; i--) {
		d[i] = (char)(0x80 | (code & 0x3F));
		code >>= 6;
	}
	d[0] = (char)(first[len] | code);
	return len;
}

/* Returns the length in bytes of the character at s if it can appear literally
 * in a JSON string. Returns 0 if it must be escaped or is not valid UTF-8. */
static size_t
plain_length(const char *s, const char *end)
{
	int len;

	if (*s == '"' || *s == '\\' || (unsigned char)*s < ' ')
		return 0;
	if (!(*s & 0x80))
		return 1;
	len = utf8_length((const unsigned char *)s, (size_t)(end - s));
	return len > 0 ? (size_t)len : 0;
}

/* Finds the first character that cannot appear literally in a JSON string: a
 * quote, a backslash, a control character, or an invalid byte. Returns a
 * pointer to it, or `end` if there is none. */
static const char *
skip_plain(const char *s, const char *end)
{
	size_t len;

	while (s < end) {
		len = plain_length(s, end);
		if (len == 0)
			break;
		s += len;
	}
	return s;
}

/* Returns the code point of the \uXXXX escape at s, or -1 if there is none. */
static long
read_unicode(const char *s, const char *end)
{
	long code = 0;
	int i;

	if (end - s < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (i = 2; i < 6; i++) {
		if (hex_digit(s[i]) > 15)
			return -1;
		code = code * 16 + hex_digit(s[i]);
	}
	return code;
}

/* Characters with a two-character escape such as \n, indexed by the letter
 * after the backslash (RFC 8259, section 7) */
static const char short_escapes[] = {
	['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b',
	['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'
};

static bool
is_high_surrogate(long code)
{
	return code >= 0xD800 && code <= 0xDBFF;
}

static bool
is_low_surrogate(long code)
{
	return code >= 0xDC00 && code <= 0xDFFF;
}

/* Parses the escape at s, or two escapes that form a surrogate pair. Sets *code
 * to the code point, which is U+FFFD for a lone surrogate. Returns the number
 * of bytes parsed, or 0 if there is no valid escape. */
static int
read_escape(const char *s, const char *end, long *code)
{
	unsigned char c;
	long low;

	if (end - s < 2 || *s != '\\')
		return 0;
	c = (unsigned char)s[1];
	*code = c < sizeof(short_escapes) ? short_escapes[c] : 0;
	if (*code != 0)
		return 2;
	*code = read_unicode(s, end);
	if (*code < 0)
		return 0;
	if (is_high_surrogate(*code)) {
		low = read_unicode(s + 6, end);
		if (is_low_surrogate(low)) {
			*code = 0x10000 + (*code - 0xD800) * 0x400 +
			    (low - 0xDC00);
			return 12;
		}
	}
	if (is_high_surrogate(*code) || is_low_surrogate(*code))
		*code = REPLACEMENT;
	return 6;
}

/* -- Checking ---------------------------------------------------------- */

/* Each check_...() function checks the part of a JSON text that starts at s. It
 * returns the end of that part, or NULL if the part is invalid. */

static bool
is_space(char c)
{
	switch (c) {
	case ' ': case '\t': case '\r': case '\n': return true;
	default: return false;
	}
}

static const char *
skip_space(const char *s, const char *end)
{
	while (s < end && is_space(*s))
		s++;
	return s;
}

/* Returns whether the next character of the text, at s, is c. */
static bool
has(const char *s, const char *end, char c)
{
	return s < end && *s == c;
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
check_exponent(const char *s, const char *end)
{
	if (has(s, end, '+') || has(s, end, '-'))
		s++;
	return check_digits(s, end);
}

static const char *
check_number(const char *s, const char *end)
{
	if (has(s, end, '-'))
		s++;
	if (has(s, end, '0'))
		s++;
	else
		s = check_digits(s, end);
	if (s != NULL && has(s, end, '.'))
		s = check_digits(s + 1, end);
	if (s != NULL && (has(s, end, 'e') || has(s, end, 'E')))
		s = check_exponent(s + 1, end);
	return s;
}

/* Checks the syntax of a string, starting at the first character after the
 * opening quote. */
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
	return has(s, end, '"') ? s + 1 : NULL;
}

static const char *
check_literal(const char *s, const char *end, const char *literal)
{
	size_t n = strlen(literal);

	if ((size_t)(end - s) < n || memcmp(s, literal, n) != 0)
		return NULL;
	return s + n;
}

/* Checks a member's name and the colon after it. Returns the start of the
 * value, or NULL if the name or the colon is missing or invalid. */
static const char *
check_name(const char *s, const char *end)
{
	if (!has(s, end, '"'))
		return NULL;
	s = check_string(s + 1, end);
	if (s == NULL)
		return NULL;
	s = skip_space(s, end);
	return has(s, end, ':') ? skip_space(s + 1, end) : NULL;
}

static const char *check_value(const char *s, const char *end, int depth);

/* Checks the syntax of an array or object, starting after the opening bracket
 * and any white space. `close` is the closing bracket, "]" or "}". */
static const char *
check_members(const char *s, const char *end, char close, int depth)
{
	if (has(s, end, close))
		return s + 1;
	for (;;) {
		if (close == '}')
			s = check_name(s, end);
		if (s != NULL)
			s = check_value(s, end, depth);
		if (s == NULL)
			return NULL;
		s = skip_space(s, end);
		if (has(s, end, close))
			return s + 1;
		if (!has(s, end, ','))
			return NULL;
		s = skip_space(s + 1, end);
	}
}

/* Checks the syntax of a value. `depth` is the number of arrays and objects
 * enclosing the value. */
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
	if (depth == JSON_DEPTH)
		return NULL;
	return check_members(skip_space(s + 1, end), end, close, depth + 1);
}

struct json
json_check(const char *text, size_t len)
{
	const char *end = len > 0 ? text + len : text;
	struct json value = { skip_space(text, end), 0 };

	text = check_value(value.text, end, 0);
	if (text == NULL || skip_space(text, end) < end)
		return (struct json){ NULL, 0 };
	value.len = (size_t)(text - value.text);
	return value;
}

/* -- Reading a checked text -------------------------------------------- */

enum json_type
json_type(struct json j)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	switch (j.text != NULL ? *j.text : '\0') {
	case '\0': return JSON_NONE;
	case 'n': return JSON_NULL;
	case 't': case 'f': return JSON_BOOL;
	case '"': return JSON_STRING;
	case '[': return JSON_ARRAY;
	case '{': return JSON_OBJECT;
	default: return JSON_NUMBER;
	}
}

bool
json_true(struct json j)
{
	return j.text != NULL && *j.text == 't';
}

/* Returns the end of the value or member name at s. The text must be valid
 * JSON, because this function only looks for the white space or punctuation
 * after the value. */
static const char *
skip_value(const char *s, const char *end)
{
	int depth = 0;

	for (; s < end; s++) {
		if (depth == 0 && strchr(",:]} \t\r\n", *s) != NULL)
			break;
		switch (*s) {
		case '[': case '{': depth++; break;
		case ']': case '}': depth--; break;
		case '"':
			s = skip_plain(s + 1, end);
			while (*s == '\\')
				s = skip_plain(s + 2, end);
		}
	}
	return s;
}

bool
json_next(struct json j, size_t *at, struct json *name, struct json *value)
{
	enum json_type type = json_type(j);
	const char *s, *end;

	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return false;
	/* Skip the opening bracket or comma at offset *at. */
	end = j.text + j.len;
	s = skip_space(j.text + *at + 1, end);
	if (s == end || *s == ']' || *s == '}')
		return false;
	if (type == JSON_OBJECT) {
		name->text = s;
		s = skip_value(s, end);
		name->len = (size_t)(s - name->text);
		s = skip_space(skip_space(s, end) + 1, end);
	}
	value->text = s;
	s = skip_value(s, end);
	value->len = (size_t)(s - value->text);
	*at = (size_t)(skip_space(s, end) - j.text);
	return true;
}

/* Decodes the byte or escape at *s into d, an array of 4 bytes, and advances *s
 * past it. Returns the number of bytes written. */
static size_t
decode(const char **s, const char *end, char *d)
{
	long code;

	if (**s != '\\') {
		*d = *(*s)++;
		return 1;
	}
	*s += read_escape(*s, end, &code);
	return utf8_write(d, code);
}

bool
json_is(struct json string, const char *text)
{
	const char *s, *end;
	size_t len;
	char c[4];

	if (json_type(string) != JSON_STRING)
		return false;
	end = string.text + string.len - 1;
	for (s = string.text + 1; s < end; text += len) {
		len = decode(&s, end, c);
		if (strncmp(text, c, len) != 0 || c[0] == '\0')
			return false;
	}
	return *text == '\0';
}

void
json_members(struct json object, const char *const names[],
    struct json found[], int n)
{
	struct json name, value;
	size_t at = 0;
	int i;

	memset(found, 0, (size_t)n * sizeof(*found));
	while (json_type(object) == JSON_OBJECT &&
	    json_next(object, &at, &name, &value)) {
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

/* Parses one member of an object that may be truncated or invalid. If the name
 * or the colon is incomplete, sets name->text to NULL. If the value is
 * incomplete, sets value->len to 0. Returns the comma or closing bracket after
 * the member, or NULL if there is none. */
static const char *
first_member(const char *s, const char *end, struct json *name,
             struct json *value)
{
	const char *stop;

	*name = (struct json){ NULL, 0 };
	*value = *name;
	value->text = check_name(s, end);
	if (value->text == NULL)
		return NULL;
	stop = check_string(s + 1, end);
	*name = (struct json){ s, (size_t)(stop - s) };
	stop = check_value(value->text, end, 1);
	if (stop == NULL)
		return NULL;
	s = skip_space(stop, end);
	/* The value is complete only if a comma or bracket follows. Otherwise
	 * the text may be truncated in the middle of a number. */
	if (!has(s, end, ',') && !has(s, end, '}'))
		return NULL;
	value->len = (size_t)(stop - value->text);
	return s;
}

void
json_first_members(const char *text, size_t len, const char *const names[],
    struct json found[], int n)
{
	const char *end = text + len, *s = skip_space(text, end);
	struct json name, value;
	int i;

	memset(found, 0, (size_t)n * sizeof(*found));
	if (!has(s, end, '{'))
		return;
	do {
		s = first_member(skip_space(s + 1, end), end, &name, &value);
		for (i = 0; i < n && name.text != NULL; i++) {
			if (json_is(name, names[i]))
				found[i] = value;
		}
	} while (s != NULL && *s == ',');
}

static bool
has_escape(struct json string)
{
	return memchr(string.text, '\\', string.len) != NULL;
}

static bool
same_decoded(struct json a, struct json b)
{
	struct buf d = { NULL, 0, 0 }, e = d;
	bool same = json_decode(a, &d) && json_decode(b, &e) &&
	    d.len == e.len;

	if (same && d.len > 0)
		same = memcmp(d.data, e.data, d.len) == 0;
	buf_free(&d);
	buf_free(&e);
	return same;
}

bool
json_equal(struct json a, struct json b)
{
	if (a.text == NULL || b.text == NULL)
		return false;
	if (a.len == b.len && memcmp(a.text, b.text, a.len) == 0)
		return true;
	if (json_type(a) != JSON_STRING || json_type(b) != JSON_STRING)
		return false;
	/* An escape is at most six times as long as the character that it
	 * represents. Two strings whose lengths differ by more than this factor
	 * cannot be equal. */
	if (a.len / 6 > b.len || b.len / 6 > a.len)
		return false;
	return (has_escape(a) || has_escape(b)) && same_decoded(a, b);
}

static int64_t
add_digit(int64_t n, char digit)
{
	return n < INT_LIMIT / 10 ? n * 10 + (digit - '0') : INT_LIMIT;
}

/* Parses a number's exponent, starting after the "e". */
static int64_t
read_exponent(const char *s, const char *end)
{
	bool negative = *s == '-';
	int64_t n = 0;

	if (*s == '-' || *s == '+')
		s++;
	for (; s < end; s++)
		n = add_digit(n, *s);
	return negative ? -n : n;
}

bool
json_int(struct json number, int64_t *value)
{
	const char *s = number.text, *end, *digits, *digits_end;
	bool negative;
	int64_t sum = 0;
	int64_t whole;  /* number of digits before the decimal point once the
	                 * exponent has been applied */

	if (json_type(number) != JSON_NUMBER)
		return false;
	end = s + number.len;
	negative = *s == '-';
	digits = negative ? s + 1 : s;
	s = check_digits(digits, end);
	whole = s - digits;
	while (s < end && *s != 'e' && *s != 'E')
		s++;
	digits_end = s;
	if (digits_end < end)
		whole += read_exponent(digits_end + 1, end);
	for (s = digits; s < digits_end; s++) {
		if (*s == '.')
			continue;
		if (whole > 0)
			sum = add_digit(sum, *s);
		else if (*s != '0')
			return false;
		whole--;
	}
	for (; whole > 0 && sum > 0 && sum < INT_LIMIT; whole--)
		sum = add_digit(sum, '0');
	*value = negative ? -sum : sum;
	return true;
}

bool
json_decode(struct json string, struct buf *b)
{
	const char *s, *end;
	char *d;

	if (json_type(string) != JSON_STRING)
		return true;
	/* Reserving string.len bytes is enough, because an escape is at least
	 * as long as the character that it represents. */
	if (!buf_reserve(b, string.len))
		return false;
	d = b->data + b->len;
	end = string.text + string.len - 1;
	for (s = string.text + 1; s < end; )
		d += decode(&s, end, d);
	b->len = (size_t)(d - b->data);
	return true;
}

/* A character at which some clients split lines: U+0085, U+2028 or U+2029 */
struct line_break {
	const char *utf8;
	const char *escape;
};

/* Returns the table entry for the character at s, or NULL if it is not U+0085,
 * U+2028 or U+2029. */
static const struct line_break *
find_line_break(const char *s, const char *end)
{
	static const struct line_break breaks[] = {
		{ "\xC2\x85", "\\u0085" },
		{ "\xE2\x80\xA8", "\\u2028" },
		{ "\xE2\x80\xA9", "\\u2029" }
	};
	size_t i, len;

	if (*s != '\xC2' && *s != '\xE2')
		return NULL;
	for (i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		len = strlen(breaks[i].utf8);
		if ((size_t)(end - s) >= len &&
		    memcmp(s, breaks[i].utf8, len) == 0)
			return &breaks[i];
	}
	return NULL;
}

void
json_verbatim(struct json j, struct buf *b)
{
	const char *s, *end = j.len > 0 ? j.text + j.len : j.text;
	const struct line_break *found;
	bool lone_surrogate;
	long code = 0;
	int len;

	for (s = j.text; s < end; s += len) {
		len = *s == '\\' ? read_escape(s, end, &code) : 1;
		lone_surrogate = len == 6 && code == REPLACEMENT &&
		    read_unicode(s, end) != REPLACEMENT;
		found = find_line_break(s, end);
		if (found != NULL) {
			/* Escape U+0085, U+2028 and U+2029, because some
			 * clients split lines at these characters. In valid
			 * JSON they occur only in strings, where escapes are
			 * allowed. */
			buf_add(b, found->escape);
			len = (int)strlen(found->utf8);
		} else if (lone_surrogate) {
			buf_add(b, "\\ufffd");
		} else {
			buf_put(b, s, (size_t)len);
		}
	}
}

/* -- Writing ----------------------------------------------------------- */

/* Appends an ASCII character as a JSON escape. */
static void
put_escape(struct buf *b, char c)
{
	static const char hex[] = "0123456789abcdef";
	const char *found = NULL;

	if (c != '\0')
		found = memchr(short_escapes, c, sizeof(short_escapes));
	if (found != NULL)
		buf_put(b, (char[]){ '\\', (char)(found - short_escapes) }, 2);
	else
		buf_put(b, (char[]){ '\\', 'u', '0', '0', hex[c >> 4],
		    hex[c & 15] }, 6);
}

/* Appends text that can appear literally in a JSON string. U+0085, U+2028 and
 * U+2029 are escaped nevertheless, because some clients split lines at these
 * characters. */
static void
put_plain(struct buf *b, const char *s, const char *end)
{
	const struct line_break *found;
	const char *from = s;

	while (s < end) {
		found = find_line_break(s, end);
		if (found == NULL) {
			s++;
			continue;
		}
		buf_put(b, from, (size_t)(s - from));
		buf_add(b, found->escape);
		s += strlen(found->utf8);
		from = s;
	}
	buf_put(b, from, (size_t)(s - from));
}

void
json_escaped(struct buf *b, const void *bytes, size_t n)
{
	const char *s = bytes, *end = n > 0 ? s + n : s, *stop;
	int len;

	while (s < end) {
		stop = skip_plain(s, end);
		put_plain(b, s, stop);
		if (stop == end)
			break;
		len = utf8_length((const unsigned char *)stop,
		    (size_t)(end - stop));
		if (len == 1)
			put_escape(b, *stop);
		else
			buf_add(b, REPLACEMENT_UTF8);
		/* If the text ends inside a character, utf8_length() returns 0.
		 * The U+FFFD that was just appended replaces all bytes of this
		 * incomplete character. */
		s = len != 0 ? stop + abs(len) : end;
	}
}

void
json_string(struct buf *b, const void *bytes, size_t n)
{
	buf_putc(b, '"');
	json_escaped(b, bytes, n);
	buf_putc(b, '"');
}

void
json_name(struct buf *b, const char *name)
{
	if (b->len > 0 && b->data[b->len - 1] != '{')
		buf_putc(b, ',');
	buf_fmt(b, "\"%s\":", name);
}

void
json_put_bytes(struct buf *b, const char *name, const void *bytes, size_t n)
{
	json_name(b, name);
	json_string(b, bytes, n);
}

/* Returns the length in bytes of a text's first piece. The text must be longer
 * than PIECE bytes. The piece is at most PIECE bytes long and does not split a
 * character. */
static size_t
piece_end(const char *text)
{
	size_t end = PIECE;

	while (end > PIECE - 4 && utf8_continues((unsigned char)text[end]))
		end--;
	/* A UTF-8 character has at most three continuation bytes, so four in a
	 * row are invalid, and the text may be split between them. */
	return end == PIECE - 4 ? PIECE : end;
}

bool
json_try_bytes(struct buf *b, const char *name, const void *bytes, size_t n)
{
	const char *p = bytes;
	size_t piece;

	json_name(b, name);
	buf_putc(b, '"');
	for (; n > 0; n -= piece, p += piece) {
		piece = n > PIECE ? piece_end(p) : n;
		if (!buf_reserve(b, piece * ESCAPE_MAX + 1))
			return false;
		json_escaped(b, p, piece);
	}
	buf_putc(b, '"');
	return true;
}

void
json_put(struct buf *b, const char *name, const char *text)
{
	if (text != NULL)
		json_put_bytes(b, name, text, strlen(text));
}

void
json_put_number(struct buf *b, const char *name, int64_t n)
{
	json_name(b, name);
	buf_fmt(b, "%jd", n);
}

void
json_put_true(struct buf *b, const char *name, bool flag)
{
	if (flag) {
		json_name(b, name);
		buf_add(b, "true");
	}
}

void
json_put_value(struct buf *b, const char *name, struct json value)
{
	if (json_type(value) != JSON_NONE) {
		json_name(b, name);
		json_verbatim(value, b);
	}
}
