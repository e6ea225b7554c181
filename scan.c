/* Needs nothing of the system but C99. */

#include "scan.h"

#include <string.h>

/* Loops of a fixed length, all of them run through without a branch: compilers
 * make vector code of that. gcc has to be told under -Os, and before version
 * 12. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2", "tree-vectorize")
#endif

enum {
	BLOCK = SCAN_BLOCK,
	WIDE = 4 * BLOCK  /* what is tried where a block did well: it takes some
	                   * time to make one answer of 16 */
};

/* One block */

/* n is a BLOCK or WIDE: the compiler makes two functions of it. */
static inline bool
has(const unsigned char *p, unsigned char byte, int n)
{
	unsigned char found = 0;
	int i;

	for (i = 0; i < n; i++)
		found |= p[i] == byte;
	return found != 0;
}

static void
count_block(const unsigned char *p, struct scan_count *sum)
{
	unsigned char newlines = 0, inner = 0;
	int i;

	for (i = 0; i < BLOCK; i++) {
		newlines += p[i] == '\n';
		inner += (p[i] & 0xC0) == 0x80;
	}
	sum->newlines += newlines;
	sum->inner += inner;
}

static bool
control_block(const unsigned char *p)
{
	unsigned char bad = 0;
	int i;

	for (i = 0; i < BLOCK; i++)
		bad |= p[i] >= '\t';
	return bad == 0;
}

static bool
plain_block(const unsigned char *p, struct scan_count *sum)
{
	unsigned char good = 1, newlines = 0, newline;
	int i;

	for (i = 0; i < BLOCK; i++) {
		newline = p[i] == '\n';
		newlines += newline;
		good &= ((signed char)(p[i] + 1) > 0x20) | newline |
		        (p[i] == '\t');
	}
	if (!good)
		return false;
	sum->newlines += newlines;
	return true;
}

static inline bool
ascii_string(const unsigned char *p, int n)
{
	unsigned char bad = 0;
	int i;

	for (i = 0; i < n; i++)
		bad |= ((signed char)p[i] < 0x20) | (p[i] == '"') |
		       (p[i] == '\\');
	return bad == 0;
}

/* Is the byte c out of place behind a, b0 and b, the nearest last? Leads have
 * followers, and behind some leads the first of these has a bound. The last
 * character of a block may be cut off. s is c, with followers from -128 to
 * -65. */
#define MISPLACED(a, b0, b, c, s) \
	((((s) < -64) != (((b) >= 0xC0) | ((b0) >= 0xE0) | ((a) >= 0xF0))) | \
	 (((c) & 0xFE) == 0xC0) | ((c) > 0xF4) | \
	 (((b) == 0xE0) & ((s) < -96)) | (((b) == 0xED) & ((s) >= -96)) | \
	 (((b) == 0xF0) & ((s) < -112)) | (((b) == 0xF4) & ((s) >= -112)))

static bool
string_block(const unsigned char *p)
{
	unsigned char bad = 0, c;
	signed char s;
	int i;

	for (i = 0; i < BLOCK; i++) {
		c = p[i];
		s = (signed char)c;
		bad |= MISPLACED(p[i - 3], p[i - 2], p[i - 1], c, s) |
		       (c < 0x20) | (c == '"') | (c == '\\');
	}
	return bad == 0;
}

static bool
clean_block(const unsigned char *p, struct scan_count *sum)
{
	unsigned char bad = 0, newlines = 0, inner = 0, newline, b, c;
	signed char s;
	int i;

	for (i = 0; i < BLOCK; i++) {
		b = p[i - 1];
		c = p[i];
		s = (signed char)c;
		newline = c == '\n';
		newlines += newline;
		inner += s < -64;
		bad |= MISPLACED(p[i - 3], p[i - 2], b, c, s) |
		       ((b == 0xC2) & (s < -96)) |  /* C1 */
		       !(((signed char)(c + 1) > 0x20) | (s < 0) |
		         newline | (c == '\t'));
	}
	if (bad)
		return false;
	sum->newlines += newlines;
	sum->inner += inner;
	return true;
}

/* Where at the end of a checked block, at `end`, the cut-off character begins
 * or, when it is whole, `end` */
static const unsigned char *
whole_end(const unsigned char *end)
{
	const unsigned char *lead = end - 1;
	int len;

	while ((*lead & 0xC0) == 0x80)
		lead--;
	len = *lead < 0xC0 ? 1 : *lead < 0xE0 ? 2 : *lead < 0xF0 ? 3 : 4;
	return lead + len > end ? lead : end;
}

/* Many */

size_t
scan_without(const void *bytes, int byte, size_t n)
{
	const unsigned char *p = bytes;
	unsigned char c = (unsigned char)byte;
	size_t i = 0;

	while (n - i >= BLOCK && !has(p + i, c, BLOCK)) {
		i += BLOCK;
		while (n - i >= WIDE && !has(p + i, c, WIDE))
			i += WIDE;
	}
	return i;
}

const void *
scan_byte(const void *bytes, int byte, size_t n)
{
	const unsigned char *p = bytes;
	size_t i = scan_without(p, byte, n);

	return i < n ? memchr(p + i, byte, n - i) : NULL;
}

size_t
scan_lines(const unsigned char *p, size_t n)
{
	while (n >= BLOCK && !has(p + n - BLOCK, '\n', BLOCK))
		n -= BLOCK;
	while (n > 0 && p[n - 1] != '\n')
		n--;
	return n;
}

struct scan_count
scan_count(const unsigned char *p, size_t n)
{
	unsigned char rest[BLOCK] = {0};
	struct scan_count sum = {0, 0};

	for (; n >= BLOCK; p += BLOCK, n -= BLOCK)
		count_block(p, &sum);
	if (n > 0)
		count_block(memcpy(rest, p, n), &sum);
	return sum;
}

size_t
scan_controls(const unsigned char *p, size_t n)
{
	size_t i = 0;

	while (n - i >= BLOCK && control_block(p + i))
		i += BLOCK;
	return i;
}

size_t
scan_string(const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text, *s = p;
	bool ascii = true;

	while (n - (size_t)(s - p) >= BLOCK) {
		/* Where the last block was ASCII, the next one may be. */
		if (ascii && ascii_string(s, BLOCK)) {
			s += BLOCK;
			while (n - (size_t)(s - p) >= WIDE &&
			    ascii_string(s, WIDE))
				s += WIDE;
			continue;
		}
		if (!string_block(s))
			break;
		ascii = s[0] < 0x80 && s[BLOCK / 2] < 0x80 &&
		    s[BLOCK - 1] < 0x80;
		s = whole_end(s + BLOCK);
	}
	return (size_t)(s - p);
}

size_t
scan_clean(const unsigned char *p, size_t n, struct scan_count *sum)
{
	const unsigned char *s = p, *end;
	size_t inner = sum->inner;

	while (n - (size_t)(s - p) >= BLOCK) {
		if (inner == sum->inner && plain_block(s, sum)) {
			s += BLOCK;
			continue;
		}
		inner = sum->inner;
		if (!clean_block(s, sum))
			break;
		end = s + BLOCK;
		s = whole_end(end);
		if (s < end)
			sum->inner -= (size_t)(end - s) - 1;
	}
	return (size_t)(s - p);
}

void
scan_mark(const unsigned char *restrict p, unsigned char *restrict marks)
{
	int i;

	for (i = 0; i < BLOCK; i++)
		marks[i] = !(((signed char)(p[i] + 1) > 0x20) |
		             (p[i] == '\n') | (p[i] == '\t'));
	memset(marks + BLOCK, 1, SCAN_WORD);
}
