/* Needs nothing of the system but C99: no call, no locale, no state. */

#include "buf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool
buf_room(struct buf *b, size_t more)
{
	size_t cap = b->cap * 2 + more + 64;
	char *data = NULL;

	if (b->failed || more <= b->cap - b->len)
		return !b->failed;
	if (more <= SIZE_MAX / 4)  /* else the sum may have wrapped around */
		data = realloc(b->data, cap);
	if (data == NULL) {
		b->failed = true;
		return false;
	}
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

	/* printf alone would take 7 KiB of a static binary (Q2). */
	do {
		*--d = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (n < 0)
		*--d = '-';
	buf_put(b, d, (size_t)(digits + sizeof(digits) - d));
}

void
buf_seconds(struct buf *b, int64_t ms, int decimals)
{
	int unit = 100;

	buf_number(b, "", ms / 1000, ".");
	for (; decimals > 0; decimals--, unit /= 10)
		buf_int(b, ms / unit % 10);
}

void
buf_time(struct buf *b, int64_t ms)
{
	buf_seconds(b, ms, 1);
	buf_puts(b, " s");
}

void
buf_number(struct buf *b, const char *before, int64_t n, const char *behind)
{
	buf_puts(b, before);
	buf_int(b, n);
	buf_puts(b, behind);
}

void
buf_end_line(struct buf *b)
{
	if (b->len > 0 && b->data[b->len - 1] != '\n')
		buf_putc(b, '\n');
}

void
buf_shrink(struct buf *b)
{
	char *data = b->len > 0 ? realloc(b->data, b->len) : NULL;

	if (data != NULL) {
		b->data = data;
		b->cap = b->len;
	}
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

size_t
buf_cut(const struct buf *text, int most)
{
	size_t i = 0;
	int step = 1;

	for (; most > 0 && i < text->len && step > 0; most--) {
		step = utf8_length((const unsigned char *)text->data + i,
		    text->len - i);
		i += step > 0 ? (size_t)step : 0;
	}
	return i;
}

bool
utf8_continues(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

int
hex_digit(char c)
{
	int letter = c | 0x20;

	if (letter >= 'a' && letter <= 'f')
		return letter - 'a' + 10;
	return c >= '0' && c <= '9' ? c - '0' : 16;
}

int64_t
digits_value(const char *text, int base, const char **behind)
{
	int64_t n = 0;

	for (*behind = text; hex_digit(**behind) < base; ++*behind) {
		if (n >> 56 != 0)
			return -1;
		n = n * base + hex_digit(**behind);
	}
	return *behind == text ? -1 : n;
}
