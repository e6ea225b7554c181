/* Needs nothing of the system but C99: no call, no locale, no state. */

#include "json.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct json none;

/* -- Buffers ----------------------------------------------------------- */

bool
buf_room(struct buf *b, size_t more)
{
	size_t cap = b->cap * 2 + 64;
	char *data = NULL;

	if (b->failed)
		return false;
	if (more <= b->cap - b->len)
		return true;
	if (cap < b->len + more)
		cap = b->len + more;
	/* More is never there, and the sum above may have wrapped around. */
	if (more <= SIZE_MAX / 2)
		data = realloc(b->data, cap);
	b->failed = data == NULL;
	if (b->failed)
		return false;
	b->data = data;
	b->cap = cap;
	return true;
}

void
buf_put(struct buf *b, const void *bytes, size_t n)
{
	if (n > 0 && buf_room(b, n)) {
		memcpy(b->data + b->len, bytes, n);
		b->len += n;
	}
}

void
buf_puts(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text));
}

void
buf_add_all(struct buf *b, ...)
{
	va_list strings;
	const char *s;

	va_start(strings, b);
	while ((s = va_arg(strings, const char *)) != NULL)
		buf_puts(b, s);
	va_end(strings);
}

void
buf_putc(struct buf *b, char c)
{
	if (buf_room(b, 1))
		b->data[b->len++] = c;
}

void
buf_int(struct buf *b, int64_t n)
{
	char digits[20], *d = digits + sizeof(digits);
	uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	/* By hand: printf alone takes 7 KiB of a static binary (Q2). */
	do {
		*--d = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (n < 0)
		*--d = '-';
	buf_put(b, d, (size_t)(digits + sizeof(digits) - d));
}

void
buf_drop(struct buf *b, size_t n)
{
	if (n < b->len)
		memmove(b->data, b->data + n, b->len - n);
	b->len -= n < b->len ? n : b->len;
}

void
buf_free(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

/* -- Characters -------------------------------------------------------- */

/* Unicode, table 3-7; RFC 3629, section 4 */
int
utf8_length(const unsigned char *p, size_t n)
{
	/* What the second byte may be; those behind are 0x80 to 0xBF. */
	unsigned char least = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
	unsigned char most = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
	int len = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	int i;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return -1;
	for (i = 1; i < len; i++) {
		if ((size_t)i == n)
			return 0;
		if (p[i] < least || p[i] > most)
			return -i;
		least = 0x80;
		most = 0xBF;
	}
	return len;
}

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

/* To the first byte that cannot stand in a string as it is: a quote, a
 * backslash, a control, or what is not UTF-8. */
static const char *
skip_plain(const char *s, const char *end)
{
	unsigned char c;
	int len;

	while (s < end) {
		c = (unsigned char)*s;
		if (c >= ' ' && c < 0x80 && c != '"' && c != '\\') {
			s++;
			continue;
		}
		len = utf8_length((const unsigned char *)s, (size_t)(end - s));
		if (len < 2)
			break;
		s += len;
	}
	return s;
}

/* The code of the \uXXXX at s; -1 where there is none. */
static long
read_unicode(const char *s, const char *end)
{
	long code = 0;
	int i, small;

	if (end - s < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (i = 2; i < 6; i++) {
		small = s[i] | 0x20;
		if (small >= 'a' && small <= 'f')
			code = code * 16 + (small - 'a' + 10);
		else if (s[i] >= '0' && s[i] <= '9')
			code = code * 16 + (s[i] - '0');
		else
			return -1;
	}
	return code;
}

/* Reads the escape at s; returns its length, 0 where there is none. A pair of
 * surrogates is one character (RFC 8259, section 7). */
static int
read_escape(const char *s, const char *end, long *code)
{
	static const char meaning[256] = {
		['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b',
		['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'
	};
	long low;

	if (end - s < 2 || *s != '\\')
		return 0;
	*code = meaning[(unsigned char)s[1]];
	if (*code != 0)
		return 2;
	*code = read_unicode(s, end);
	if (*code < 0xD800 || *code > 0xDFFF)
		return *code < 0 ? 0 : 6;
	low = *code < 0xDC00 ? read_unicode(s + 6, end) : -1;
	if (low < 0xDC00 || low > 0xDFFF) {
		*code = 0xFFFD;
		return 6;
	}
	*code = 0x10000 + (*code - 0xD800) * 0x400 + (low - 0xDC00);
	return 12;
}

/* -- Checking ---------------------------------------------------------- */

/* In these, s is where something must be. They return its end, or NULL when
 * it is not there. */

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
	if (s < end && *s == '0')
		s++;
	else
		s = check_digits(s, end);
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

/* From behind the opening quote. */
static const char *
check_string(const char *s, const char *end)
{
	long code;
	int len;

	for (;;) {
		s = skip_plain(s, end);
		if (s < end && *s == '"')
			return s + 1;
		len = read_escape(s, end, &code);
		if (len == 0)
			return NULL;
		s += len;
	}
}

static const char *
check_literal(const char *s, const char *end, const char *literal)
{
	for (; *literal != '\0'; s++, literal++) {
		if (s == end || *s != *literal)
			return NULL;
	}
	return s;
}

static const char *
check_scalar(const char *s, const char *end)
{
	if (s == end)
		return NULL;
	switch (*s) {
	case '"': return check_string(s + 1, end);
	case 'n': return check_literal(s, end, "null");
	case 't': return check_literal(s, end, "true");
	case 'f': return check_literal(s, end, "false");
	}
	return check_number(s, end);
}

/* A member's name and colon. */
static const char *
check_name(const char *s, const char *end)
{
	if (s == end || *s != '"' || (s = check_string(s + 1, end)) == NULL)
		return NULL;
	s = skip_space(s, end);
	if (s == end || *s != ':')
		return NULL;
	return skip_space(s + 1, end);
}

struct json
json_check(const char *text, size_t len)
{
	const char *s, *end;
	struct json value;
	char closing[JSON_DEPTH];  /* the brackets that are due */
	int depth = 0;
	bool opened;

	if (len == 0)
		return none;
	end = text + len;
	s = value.text = skip_space(text, end);
	for (;;) {
		/* A value is due here. */
		opened = s < end && (*s == '[' || *s == '{');
		if (opened && depth == JSON_DEPTH)
			return none;
		if (opened) {
			closing[depth++] = *s == '[' ? ']' : '}';
			s++;
		} else if ((s = check_scalar(s, end)) == NULL) {
			return none;
		}
		/* What is around it may end with it. */
		for (; depth > 0; depth--) {
			s = skip_space(s, end);
			if (s == end || *s != closing[depth - 1])
				break;
			s++;
			opened = false;
		}
		if (depth == 0)
			break;
		if (!opened) {
			if (s == end || *s != ',')
				return none;
			s = skip_space(s + 1, end);
		}
		if (closing[depth - 1] == '}' &&
		    (s = check_name(s, end)) == NULL)
			return none;
	}
	value.len = (size_t)(s - value.text);
	return skip_space(s, end) == end ? value : none;
}

/* -- Reading ----------------------------------------------------------- */

/* These read what json_check() has passed, so they need not look out for the
 * end of the text inside a string or a bracket. */

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

/* From behind the opening quote to behind the closing one. A quote with an odd
 * number of backslashes before it is escaped; each is counted once. */
static const char *
skip_string(const char *s)
{
	const char *p;

	for (;; s++) {
		if (*s != '"')
			continue;
		for (p = s; p[-1] == '\\'; p--)
			;
		if ((s - p) % 2 == 0)
			return s + 1;
	}
}

/* The name or value at *s. Moves *s to the colon, comma or bracket behind. */
static struct json
read_slice(const char **s)
{
	const char *p = *s;
	struct json j;
	int depth = 0;

	j.text = p;
	for (;; p++) {
		if (*p == '"')
			p = skip_string(p + 1) - 1;
		else if (*p == '[' || *p == '{')
			depth++;
		else if (*p == ']' || *p == '}')
			depth--;
		if (depth < 0 || (depth == 0 && (*p == ',' || *p == ':')))
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
	/* At *at is the opening bracket, a comma, or the closing bracket. */
	if (*at == j.len - 1)
		return false;
	end = j.text + j.len;
	s = skip_space(j.text + *at + 1, end);
	if (*s == ']' || *s == '}')
		return false;
	if (type == JSON_OBJECT) {
		*name = read_slice(&s);
		s = skip_space(s + 1, end);
	}
	*value = read_slice(&s);
	*at = (size_t)(s - j.text);
	return true;
}

bool
json_is(struct json string, const char *text)
{
	const char *s, *end;
	char utf8[4];
	long code;
	int len;

	if (string.text == NULL || *string.text != '"')
		return false;
	end = string.text + string.len - 1;
	for (s = string.text + 1; s < end; ) {
		if (*s != '\\') {
			if (*s++ != *text++)
				return false;
			continue;
		}
		s += read_escape(s, end, &code);
		len = utf8_write(utf8, code);
		if (code == 0 || strncmp(text, utf8, (size_t)len) != 0)
			return false;
		text += len;
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

/* Decodes the character at *s, escaped or not, and moves *s behind it; returns
 * the length of what it wrote. */
static int
decode_char(const char **s, const char *end, char utf8[4])
{
	long code;
	int len;

	if (**s == '\\') {
		*s += read_escape(*s, end, &code);
		return utf8_write(utf8, code);
	}
	len = utf8_length((const unsigned char *)*s, (size_t)(end - *s));
	memcpy(utf8, *s, (size_t)len);
	*s += len;
	return len;
}

static bool
equal_strings(struct json a, struct json b)
{
	const char *s = a.text + 1, *s_end = a.text + a.len - 1;
	const char *t = b.text + 1, *t_end = b.text + b.len - 1;
	char one[4], other[4];
	int len;

	while (s < s_end && t < t_end) {
		len = decode_char(&s, s_end, one);
		if (decode_char(&t, t_end, other) != len ||
		    memcmp(one, other, (size_t)len) != 0)
			return false;
	}
	return s == s_end && t == t_end;
}

bool
json_equal(struct json a, struct json b)
{
	enum json_type type = json_type(a);
	int64_t m, n;

	if (type != json_type(b))
		return false;
	if (type == JSON_STRING)
		return equal_strings(a, b);
	if (type == JSON_NUMBER && a.len == b.len &&
	    memcmp(a.text, b.text, a.len) == 0)
		return true;
	/* The ends of int64_t stand for all that is beyond them. */
	return json_int(a, &m) && json_int(b, &n) && m == n &&
	    m > INT64_MIN && m < INT64_MAX;
}

/* The exponent, from its e to the end; 0 if there is none. It need not be exact
 * where no text is long enough to hold the digits that make up for it. */
static int64_t
read_exponent(const char *e, const char *end)
{
	int64_t n = 0;
	bool minus = false;

	for (; e < end && n < INT64_MAX / 20; e++) {
		if (*e == '-')
			minus = true;
		else if (*e >= '0' && *e <= '9')
			n = n * 10 + (*e - '0');
	}
	return minus ? -n : n;
}

bool
json_int(struct json number, int64_t *value)
{
	const char *s = number.text, *end, *dot, *e;
	uint64_t sum = 0;
	int64_t left;  /* digits up to where the exponent puts the point */
	char digit;

	if (json_type(number) != JSON_NUMBER)
		return false;
	end = s + number.len;
	if (*s == '-')
		s++;
	dot = check_digits(s, end);
	e = dot < end && *dot == '.' ? check_digits(dot + 1, end) : dot;
	left = dot - s + read_exponent(e, end);
	/* Behind the last digit come zeros, for as long as they matter. */
	while (s < e || (left > 0 && sum > 0 && sum < UINT64_MAX)) {
		digit = s < e ? *s++ : '0';
		if (digit == '.')
			continue;
		if (left-- > 0)
			sum = sum < UINT64_MAX / 10 ?
			    sum * 10 + (uint64_t)(digit - '0') : UINT64_MAX;
		else if (digit != '0')
			return false;
	}
	if (*number.text == '-')
		*value = sum > INT64_MAX ? INT64_MIN : -(int64_t)sum;
	else
		*value = sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
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
		if (*s == '\\') {
			s += read_escape(s, end, &code);
			d += utf8_write(d, code);
		} else {
			*d++ = *s++;
		}
	}
	b->len = (size_t)(d - b->data);
}

void
json_verbatim(struct json j, struct buf *b)
{
	const char *s, *end;
	long code;
	int len;

	if (j.text == NULL)
		return;
	end = j.text + j.len;
	for (s = j.text; s < end; ) {
		if (*s != '\\') {
			buf_putc(b, *s++);
			continue;
		}
		len = read_escape(s, end, &code);
		if (code == 0xFFFD && read_unicode(s, end) != 0xFFFD)
			buf_puts(b, "\\ufffd");
		else
			buf_put(b, s, (size_t)len);
		s += len;
	}
}

/* -- Writing ----------------------------------------------------------- */

static void
put_escape(struct buf *b, char c)
{
	static const char letters[] = {
		['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'
	};

	buf_putc(b, '\\');
	if (letters[(int)c] != 0) {
		buf_putc(b, letters[(int)c]);
	} else {
		buf_puts(b, c < 16 ? "u000" : "u001");
		buf_putc(b, "0123456789abcdef"[c & 15]);
	}
}

void
json_string(struct buf *b, const void *bytes, size_t n)
{
	const char *s = bytes, *end = n > 0 ? s + n : s, *stop;
	int len;

	buf_putc(b, '"');
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
	buf_putc(b, '"');
}
