/* SPDX-License-Identifier: ISC */
/* Requires only C99. */

#include "output/lines.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "output/width.h"

/* Returns whether the byte is a parameter byte of a control sequence. */
static bool
is_parameter(unsigned char c)
{
	return (c >= '0' && c <= '9') || c == ';';
}

/* Returns the length in bytes of the colour (SGR) sequence at p. Returns 0 if
 * there is no complete colour sequence at p. */
static size_t
colour_length(const unsigned char *p, size_t n)
{
	size_t i = 2;

	if (n < 3 || p[0] != 0x1B || p[1] != '[')
		return 0;
	while (i < n && is_parameter(p[i]))
		i++;
	return i < n && p[i] == 'm' ? i + 1 : 0;
}

/* Returns the length in bytes of the multibyte character at p. Returns 0 if
 * there is no such character or if it must be drawn on the screen instead of
 * being copied. Combining characters must be drawn, because the screen drops
 * some of them. */
static size_t
plain_character(const unsigned char *p, size_t n)
{
	int len = utf8_length(p, n);
	uint32_t code;

	if (len < 2)
		return 0;
	code = utf8_decode(p, len);
	return code >= 0xA0 && char_width(code) > 0 ? (size_t)len : 0;
}

/* The state of lines_copy() */
struct copied {
	const unsigned char *from;  /* next byte to copy */
	unsigned char *to;          /* next free byte of the output */
	int64_t continuations;      /* number of UTF-8 continuation bytes copied
	                             * to the output, which do not count as
	                             * characters */
};

/* Copies a tab or a multibyte character at c->from, or skips a colour sequence
 * or a carriage return before a newline. Returns false if c->from points to
 * anything else, which must then be drawn on the screen. */
static bool
copy_character(struct copied *c, const unsigned char *end)
{
	size_t n = (size_t)(end - c->from), len;

	if (*c->from == '\t') {
		*c->to++ = *c->from++;
		return true;
	}
	if (*c->from == '\r' && n > 1 && c->from[1] == '\n') {
		c->from++;
		return true;
	}
	len = colour_length(c->from, n);
	if (len > 0) {
		c->from += len;
		return true;
	}
	len = plain_character(c->from, n);
	if (len == 0)
		return false;
	memcpy(c->to, c->from, len);
	c->to += len;
	c->from += len;
	c->continuations += (int64_t)len - 1;
	return true;
}

/* Using local variables instead of the members of *size reduces the time to
 * copy many short lines by a third. */
size_t
lines_copy(const unsigned char *p, size_t n, int columns, struct buf *b,
           struct extent *size)
{
	size_t space = b->cap - b->len;
	unsigned char *start = (unsigned char *)b->data + b->len;
	const unsigned char *end = p + (n < space ? n : space);
	struct copied at = { p, start, 0 }, line = at;
	int64_t lines = 0;

	for (;;) {
		while (at.from < end && *at.from >= 0x20 && *at.from < 0x7F)
			*at.to++ = *at.from++;
		if (at.from == end)
			break;
		if (*at.from != '\n') {
			if (!copy_character(&at, end))
				break;
			continue;
		}
		if (at.to - line.to > columns)
			break;
		*at.to++ = *at.from++;
		line = at;
		lines++;
	}
	b->len += (size_t)(line.to - start);
	size->bytes += line.to - start;
	size->chars += line.to - start - line.continuations;
	size->lines += lines;
	return (size_t)(line.from - p);
}

size_t
lines_copy_row(const unsigned char *p, size_t n, int columns, struct buf *b,
               struct extent *size)
{
	size_t row = (size_t)columns, i = 0;

	if (n <= row)
		return 0;
	while (i <= row && p[i] >= 0x20 && p[i] < 0x7F)
		i++;
	if (i <= row)
		return 0;
	buf_put(b, p, row);
	size->bytes += columns;
	size->chars += columns;
	return row;
}
