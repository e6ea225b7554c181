/* SPDX-License-Identifier: ISC */
/* This file depends only on C99, not on the operating system. */

#include "base/fmt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The destination of the formatted text */
struct sink {
	void (*put)(void *to, const char *bytes, size_t n);
	void *to;
};

/* A conversion specification in a format string, such as %-.*s */
struct conversion {
	bool printable;  /* true if the '-' flag is given */
	int digits;      /* minimum number of digits */
	int precision;   /* precision, or -1 if none is given */
	char length;     /* length modifier: 'j' or 'z', or 0 if there is
	                  * none */
	char letter;
};

/* size, in bytes, of a buffer that holds any number in decimal */
enum { DIGITS_SIZE = 24 };

static void
put_bytes(const struct sink *s, const char *bytes, size_t n)
{
	if (n > 0)
		s->put(s->to, bytes, n);
}

/* Writes n in decimal, padded with leading zeros to at least `least` digits. */
static void
put_digits(const struct sink *s, uintmax_t n, int least)
{
	char digits[DIGITS_SIZE], *p = digits + sizeof(digits);

	for (; n > 0 || least > 0; least--) {
		*--p = (char)('0' + n % 10);
		n /= 10;
	}
	put_bytes(s, p, (size_t)(digits + sizeof(digits) - p));
}

static void
put_integer(const struct sink *s, intmax_t n, int least)
{
	if (n < 0)
		put_bytes(s, "-", 1);
	put_digits(s, n < 0 ? 0 - (uintmax_t)n : (uintmax_t)n, least);
}

/* Writes n / 1000 with the given number of decimal places, 1 to 3. Further
 * digits are truncated, not rounded. */
static void
put_thousandths(const struct sink *s, uintmax_t n, int decimals)
{
	uintmax_t fraction = n % 1000;
	int i;

	for (i = decimals; i < 3; i++)
		fraction /= 10;
	put_digits(s, n / 1000, 1);
	put_bytes(s, ".", 1);
	put_digits(s, fraction, decimals);
}

/* Returns the letter in the two-character JSON escape of a control character,
 * such as 'n' for a newline. Returns 0 if the character has no such escape. */
static char
short_escape(unsigned control)
{
	switch (control) {
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return 0;
	}
}

static void
put_escape(const struct sink *s, unsigned control)
{
	static const char hex[] = "0123456789abcdef";
	char letter = short_escape(control);
	char code[] = { '\\', 'u', '0', '0', hex[control >> 4],
	    hex[control & 15] };

	if (letter != 0)
		put_bytes(s, (const char[]){ '\\', letter }, 2);
	else
		put_bytes(s, code, sizeof(code));
}

/* Returns whether 0xC2 followed by the byte is a C1 control character in
 * UTF-8. */
static bool
is_c1(unsigned char c)
{
	return c >= 0x80 && c < 0xA0;
}

/* Writes n bytes of text to the sink. C0 controls, DEL and C1 controls are
 * written as JSON escapes. */
static void
put_printable(const struct sink *s, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i, from = 0;
	bool c1;

	for (i = 0; i < n; i++) {
		c1 = p[i] == 0xC2 && i + 1 < n && is_c1(p[i + 1]);
		if (!c1 && p[i] >= ' ' && p[i] != 0x7F)
			continue;
		put_bytes(s, text + from, i - from);
		if (c1)
			i++;
		put_escape(s, p[i]);
		from = i + 1;
	}
	if (n > 0)
		put_bytes(s, text + from, n - from);
}

/* Returns the number of bytes that a %s conversion prints. The precision of
 * %.*s is the maximum number of bytes. The precision of %-.*s is the exact
 * number of bytes, which may include NULs. */
static size_t
text_length(const struct conversion *c, const char *text)
{
	int max = c->precision;
	const char *end;

	if (max < 0)
		return strlen(text);
	if (c->printable)
		return (size_t)max;
	end = max > 0 ? memchr(text, '\0', (size_t)max) : text;
	return end != NULL ? (size_t)(end - text) : (size_t)max;
}

/* Parses a conversion specification. p points to the character after the '%'.
 * Sets *star to true if an argument gives the precision. Returns a pointer to
 * the text after the specification. */
static const char *
read_conversion(const char *p, struct conversion *c, bool *star)
{
	*c = (struct conversion){ .digits = 1, .precision = -1 };
	*star = false;
	if (*p == '-') {
		c->printable = true;
		p++;
	}
	if (*p == '0') {
		c->digits = p[1] - '0';
		p += 2;
	}
	if (*p == '.' && p[1] == '*') {
		*star = true;
		p += 2;
	} else if (*p == '.') {
		c->precision = p[1] - '0';
		p += 2;
	}
	if (*p == 'j' || *p == 'z')
		c->length = *p++;
	c->letter = *p;
	return p + 1;
}

void
fmt_pieces(void (*put)(void *to, const char *bytes, size_t n), void *to,
           const char *format, va_list arguments)
{
	struct sink s = { put, to };
	struct conversion c;
	const char *p = format, *text, *percent;
	bool star;
	size_t n;

	while ((percent = strchr(p, '%')) != NULL) {
		put_bytes(&s, p, (size_t)(percent - p));
		p = read_conversion(percent + 1, &c, &star);
		if (star)
			c.precision = va_arg(arguments, int);
		if (c.letter == 's') {
			text = va_arg(arguments, const char *);
			n = text_length(&c, text);
			if (c.printable)
				put_printable(&s, text, n);
			else
				put_bytes(&s, text, n);
		} else if (c.letter == 'd' && c.length == 'j') {
			put_integer(&s, va_arg(arguments, intmax_t), c.digits);
		} else if (c.letter == 'd') {
			put_integer(&s, va_arg(arguments, int), c.digits);
		} else if (c.letter == 'u' && c.length == 'z') {
			put_digits(&s, va_arg(arguments, size_t), 1);
		} else if (c.letter == 'f') {
			/* Add 0.5, because the conversion to an integer
			 * truncates. 1.001 would otherwise be printed as
			 * 1.000. */
			put_thousandths(&s, (uintmax_t)(va_arg(arguments,
			    double) * 1000 + 0.5), c.precision);
		} else if (c.letter == '%') {
			put_bytes(&s, "%", 1);
		} else {
			abort();
		}
	}
	put_bytes(&s, p, strlen(p));
}

double
fmt_seconds(int64_t ms)
{
	return (double)ms / 1000;
}
