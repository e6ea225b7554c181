#define _POSIX_C_SOURCE 200809L

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* printf() alone would take 7 KiB of a static binary (Q2). */
const char *
decimal(char room[24], int64_t n)
{
	uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	char *p = room + 23;

	do {
		*--p = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (n < 0)
		*--p = '-';
	return p;
}

const char *
seconds(char room[32], int64_t ms, int decimals)
{
	room[23] = '.';
	/* The 1 keeps the zeros behind the point, and is left out. */
	memcpy(room + 24, NUM(1000 + ms % 1000) + 1, (size_t)decimals);
	return decimal(room, ms / 1000);
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

bool
utf8_continues(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

size_t
utf8_cut(const struct buf *text, int most)
{
	size_t i = 0;
	int n = 1;

	for (; most > 0 && i < text->len && n != 0; most--) {
		n = utf8_length((const unsigned char *)text->data + i,
		    text->len - i);
		i += (size_t)(n > 0 ? n : -n);
	}
	return i;
}

void
path_tidy(char *path)
{
	size_t len = 0, part;
	const char *p;

	for (p = path; *p != '\0'; p += part) {
		p += strspn(p, "/");
		part = strcspn(p, "/");
		if (part == 2 && p[0] == '.' && p[1] == '.') {
			while (len > 0 && path[--len] != '/')
				;
		} else if (part > 1 || (part == 1 && p[0] != '.')) {
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
	buf_add(&b, dir[1] != '\0' ? dir : "", "/", name);
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
