/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

int
hex_digit(char c)
{
	int letter = c | 0x20;

	if (letter >= 'a' && letter <= 'f')
		return letter - 'a' + 10;
	return c >= '0' && c <= '9' ? c - '0' : 16;
}

int64_t
digits_value(const char *text, int base, const char **end)
{
	int64_t n = 0;
	const char *p = text;

	for (; hex_digit(*p) < base; p++) {
		if (n >> 56 != 0)
			break;
		n = n * base + hex_digit(*p);
	}
	*end = p;
	return p == text || hex_digit(*p) < base ? -1 : n;
}

/* Returns the length in bytes of a UTF-8 character with this first byte.
 * Returns 0 if no character starts with the byte. */
static int
length_from_first(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xC2 || first > 0xF4)
		return 0;
	if (first < 0xE0)
		return 2;
	return first < 0xF0 ? 3 : 4;
}

/* Returns whether these two bytes can start a UTF-8 character (Unicode, table
 * 3-7; RFC 3629, section 4). `first` must be the first byte of a multibyte
 * character. */
static bool
is_second_byte(unsigned char first, unsigned char second)
{
	if (!utf8_continues(second))
		return false;
	switch (first) {
	case 0xE0:  /* A smaller second byte would be an overlong encoding. */
		return second >= 0xA0;
	case 0xED:  /* A larger second byte would encode a surrogate. */
		return second <= 0x9F;
	case 0xF0:  /* A smaller second byte would be an overlong encoding. */
		return second >= 0x90;
	case 0xF4:  /* A larger second byte would encode a code point above
	             * U+10FFFF. */
		return second <= 0x8F;
	default:
		return true;
	}
}

int
utf8_length(const unsigned char *p, size_t n)
{
	int len = length_from_first(p[0]), i;

	if (len < 2)
		return len == 1 ? 1 : -1;
	for (i = 1; i < len; i++) {
		if ((size_t)i == n)
			return 0;
		if (i == 1 && !is_second_byte(p[0], p[1]))
			return -1;
		if (!utf8_continues(p[i]))
			return -i;
	}
	return len;
}

bool
utf8_continues(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

uint32_t
utf8_decode(const unsigned char *p, int len)
{
	/* masks for the code point's bits in the first byte of a UTF-8
	 * character, indexed by the character's length in bytes */
	static const unsigned char first[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	uint32_t code = p[0] & first[len];
	int i;

	for (i = 1; i < len; i++)
		code = code << 6 | (p[i] & 0x3Fu);
	return code;
}

size_t
utf8_encode(uint32_t code, unsigned char *to)
{
	static const unsigned char first[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
	size_t len = 4, i;

	if (code < 0x80)
		len = 1;
	else if (code < 0x800)
		len = 2;
	else if (code < 0x10000)
		len = 3;
	for (i = len - 1; i > 0; i--) {
		to[i] = (unsigned char)(0x80 | (code & 0x3F));
		code >>= 6;
	}
	to[0] = (unsigned char)(first[len] | code);
	return len;
}

size_t
utf8_cut(const struct buf *text, int max)
{
	size_t i = 0;
	int n = 1;

	while (max > 0 && i < text->len && n != 0) {
		n = utf8_length((const unsigned char *)text->data + i,
		    text->len - i);
		i += (size_t)abs(n);
		max--;
	}
	return i;
}

/* Returns the length of the path's directory part, without the trailing
 * slash. */
static size_t
parent_length(const char *path, size_t len)
{
	while (len > 0) {
		len--;
		if (path[len] == '/')
			break;
	}
	return len;
}

void
path_tidy(char *path)
{
	size_t len = 0, part;
	const char *p;

	for (p = path; *p != '\0'; p += part) {
		p += strspn(p, "/");
		part = strcspn(p, "/");
		if (part == 2 && memcmp(p, "..", 2) == 0) {
			len = parent_length(path, len);
		} else if (part > 0 && !(part == 1 && p[0] == '.')) {
			path[len++] = '/';
			memmove(path + len, p, part);
			len += part;
		}
	}
	if (len == 0)
		path[len++] = '/';
	path[len] = '\0';
}

char *
path_from(const char *dir, const char *name)
{
	struct buf b = { NULL, 0, 0 };

	if (name[0] == '/')
		return mem_copy(name);
	if (strcmp(dir, "/") == 0)
		buf_fmt(&b, "/%s", name);
	else
		buf_fmt(&b, "%s/%s", dir, name);
	return buf_text(&b);
}

bool
pattern_open(struct pattern *p, const char *bytes, size_t len)
{
	size_t i;

	p->back = len > 0 ? malloc(len * sizeof(*p->back)) : NULL;
	if (p->back == NULL)
		return len == 0;
	p->bytes = bytes;
	p->len = len;
	p->back[0] = 0;
	for (i = 1; i < len; i++)
		p->back[i] = (uint32_t)pattern_step(p, p->back[i - 1],
		    bytes[i]);
	return true;
}

void
pattern_free(struct pattern *p)
{
	free(p->back);
	memset(p, 0, sizeof(*p));
}

size_t
pattern_step(const struct pattern *p, size_t matched, char c)
{
	while (matched > 0 && (matched == p->len || p->bytes[matched] != c))
		matched = p->back[matched - 1];
	return matched + (p->len > 0 && p->bytes[matched] == c);
}
