/* libFuzzer target for json.c:
 *
 *     clang -fsanitize=fuzzer,address,undefined t/fuzz_json.c json.c buf.c
 *
 * json_check() must agree with a second, slow reader, and whatever it accepts
 * must come out of the other functions as it went in. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool ok)
{
	if (!ok)
		abort();
}

/* A reader as RFC 8259 is written: one function a rule, byte by byte, into
 * itself for what is nested. Returns where the rule ends, or NULL. */

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

/* By arithmetic, where json.c has ranges of bytes. */
static const char *
slow_character(const char *s, const char *end)
{
	const unsigned char *p = (const unsigned char *)s;
	int len = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2
		: p[0] < 0xF0 ? 3 : p[0] < 0xF8 ? 4 : 0;
	long code = len == 1 ? p[0] : p[0] & (0x7F >> len);
	int i;

	if (len == 0 || end - s < len)
		return NULL;
	for (i = 1; i < len; i++) {
		if ((p[i] & 0xC0) != 0x80)
			return NULL;
		code = code * 64 + (p[i] & 0x3F);
	}
	if ((len == 2 && code < 0x80) || (len == 3 && code < 0x800)
	    || (len == 4 && code < 0x10000) || code > 0x10FFFF
	    || (code >= 0xD800 && code <= 0xDFFF) || code < 0x20)
		return NULL;
	return s + len;
}

static const char *
slow_string(const char *s, const char *end)
{
	int i;

	if (s == end || *s++ != '"')
		return NULL;
	while (s < end && *s != '"') {
		if (*s != '\\') {
			if ((s = slow_character(s, end)) == NULL)
				return NULL;
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
			s = slow_string(slow_space(s, end), end);
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
		return slow_string(s, end);
	return slow_number(s, end);
}

static bool
slow_check(const char *text, size_t len)
{
	const char *end = text + len;
	const char *s = slow_value(slow_space(text, end), end, 0);

	return s != NULL && slow_space(s, end) == end;
}

/* What has been accepted */

static bool
same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len
		&& (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Decoded and written again it is the same string, in text and as decoded. */
static void
visit_string(struct json j)
{
	struct buf bytes = {0}, text = {0}, again = {0};
	struct json written;

	json_decode(j, &bytes);
	must(bytes.len <= j.len - 2);
	json_string(&text, bytes.data, bytes.len);
	written = json_check(text.data, text.len);
	must(written.text == text.data && written.len == text.len);
	must(json_equal(j, written) && json_equal(written, j));
	json_decode(written, &again);
	must(same(&bytes, &again));
	if (bytes.len == 0 || memchr(bytes.data, '\0', bytes.len) == NULL) {
		buf_putc(&bytes, '\0');
		must(json_is(j, bytes.data) && json_is(written, bytes.data));
	}
	buf_free(&bytes);
	buf_free(&text);
	buf_free(&again);
}

/* The value by digits and a power of ten: is it an integer? Beyond 10^18 it
 * counts as that, and of what is none there is no value. */
static bool
slow_int(struct json j, int64_t *value)
{
	const int64_t most = INT64_C(1000000000000000000);
	struct buf digits = {0};
	long power = 0, sign = 1, e = 0;
	size_t i = j.text[0] == '-';
	bool fraction = false, whole;

	for (; i < j.len && (j.text[i] | 0x20) != 'e'; i++) {
		if (j.text[i] == '.')
			fraction = true;
		else if (digits.len > 0 || j.text[i] != '0')
			buf_putc(&digits, j.text[i]);
		power -= fraction && j.text[i] != '.';
	}
	if (i < j.len && j.text[i + 1] == '-')
		sign = -1;
	for (; i < j.len; i++)
		if (j.text[i] >= '0' && j.text[i] <= '9' && e < 100000000)
			e = e * 10 + (j.text[i] - '0');
	power += sign * e;
	for (; digits.len > 0 && digits.data[digits.len - 1] == '0'; power++)
		digits.len--;
	whole = digits.len == 0 || power >= 0;
	*value = (long)digits.len + power > 18 && digits.len > 0 ? most : 0;
	for (i = 0; whole && *value < most && i < digits.len; i++)
		*value = *value * 10 + (digits.data[i] - '0');
	for (; *value > 0 && *value < most && power > 0; power--)
		*value *= 10;
	*value *= j.text[0] == '-' ? -1 : 1;
	buf_free(&digits);
	return whole;
}

static void
visit_number(struct json j)
{
	int64_t n = 0, slow;
	bool whole = slow_int(j, &slow);

	must(json_equal(j, j));
	must(json_int(j, &n) == whole && (!whole || n == slow));
}

/* Between what json_next() gives there is nothing but punctuation. */
static void
only(const char *from, const char *to, const char *bytes)
{
	for (; from < to; from++)
		must(*from != '\0' && strchr(bytes, *from) != NULL);
}

/* The last value under a name, with json_next() and json_decode() alone. */
static struct json
slow_get(struct json object, const struct buf *wanted)
{
	struct json name, value, found = { NULL, 0 };
	struct buf b = {0};
	size_t at = 0;

	while (json_next(object, &at, &name, &value)) {
		b.len = 0;
		json_decode(name, &b);
		if (same(&b, wanted))
			found = value;
	}
	buf_free(&b);
	return found;
}

static void
visit_name(struct json object, struct json name)
{
	struct buf b = {0};
	struct json slow, fast;

	json_decode(name, &b);
	slow = slow_get(object, &b);
	if (b.len == 0 || memchr(b.data, '\0', b.len) == NULL) {
		buf_putc(&b, '\0');
		fast = json_get(object, b.data);
		must(slow.text != NULL && fast.text == slow.text
		     && fast.len == slow.len);
	}
	buf_free(&b);
}

/* Two strings are equal if they are so once decoded. */
static void
visit_pair(struct json one, struct json other)
{
	struct buf a = {0}, b = {0};

	if (json_type(one) != JSON_STRING || json_type(other) != JSON_STRING)
		return;
	json_decode(one, &a);
	json_decode(other, &b);
	must(json_equal(one, other) == same(&a, &b));
	buf_free(&a);
	buf_free(&b);
}

/* Looks at a value and all in it, and writes it again. */
static void
visit(struct json j, struct buf *b)
{
	enum json_type type = json_type(j);
	bool object = type == JSON_OBJECT;
	const char *from = j.text + 1;
	struct json name, element;
	struct json before = { NULL, 0 };
	struct buf bytes = {0};
	size_t at = 0;
	int n = 0;

	if (type == JSON_STRING) {
		visit_string(j);
		json_decode(j, &bytes);
		json_string(b, bytes.data, bytes.len);
		buf_free(&bytes);
		return;
	}
	if (type == JSON_NUMBER)
		visit_number(j);
	if (type != JSON_ARRAY && type != JSON_OBJECT) {
		buf_put(b, j.text, j.len);
		return;
	}
	buf_putc(b, *j.text);
	for (; json_next(j, &at, &name, &element); from = j.text + at) {
		if (n++ > 0)
			buf_putc(b, ',');
		if (object) {
			only(from, name.text, " \t\n\r,");
			from = name.text + name.len;
			if (n <= 16)
				visit_name(j, name);
			visit(name, b);
			buf_putc(b, ':');
		}
		only(from, element.text, object ? " \t\n\r:" : " \t\n\r,");
		only(element.text + element.len, j.text + at, " \t\n\r");
		visit(element, b);
		visit_pair(before, element);
		before = element;
	}
	must(json_get(j, "no such name").text == NULL);
	only(from, j.text + j.len - 1, " \t\n\r");
	must(!json_next(j, &at, &name, &element));
	buf_putc(b, j.text[j.len - 1]);
}

static void
visit_text(struct json j)
{
	struct buf b = {0}, again = {0};
	struct json written;

	visit(j, &b);
	written = json_check(b.data, b.len);
	must(written.len == b.len && json_type(written) == json_type(j));
	visit(written, &again);
	must(same(&b, &again));

	b.len = again.len = 0;
	json_verbatim(j, &b);
	written = json_check(b.data, b.len);
	must(written.len == b.len && b.len == j.len);
	json_verbatim(written, &again);
	must(same(&b, &again));
	buf_free(&b);
	buf_free(&again);
}

/* Any bytes as a string: valid, and what is UTF-8 in them is kept. */
static void
visit_bytes(const char *s, size_t n)
{
	struct buf text = {0}, bytes = {0}, wanted = {0};
	struct json j;
	int len;

	json_string(&text, s, n);
	j = json_check(text.data, text.len);
	must(json_type(j) == JSON_STRING && j.len == text.len);
	json_decode(j, &bytes);
	for (; n > 0; s += len, n -= (size_t)len) {
		len = utf8_length((const unsigned char *)s, n);
		if (len > 0)
			buf_put(&wanted, s, (size_t)len);
		else
			buf_puts(&wanted, "\xEF\xBF\xBD");
		len = len == 0 ? (int)n : abs(len);
	}
	must(same(&bytes, &wanted));
	buf_free(&text);
	buf_free(&bytes);
	buf_free(&wanted);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct json j = json_check(text, size);

	must((json_type(j) != JSON_NONE) == slow_check(text, size));
	if (json_type(j) != JSON_NONE)
		visit_text(j);
	visit_bytes(text, size);
	return 0;
}
