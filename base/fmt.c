/* Needs nothing of the system but C99. */

#include "base/fmt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where the text goes */
struct sink {
	void (*put)(void *to, const char *bytes, size_t n);
	void *to;
};

/* One conversion as the format spells it */
struct conversion {
	bool printable;  /* the flag '-' */
	int digits;      /* the least number of digits */
	int precision;   /* -1: none is given */
	char length;     /* 'j', 'z' or 0 */
	char letter;
};

enum { DIGITS_ROOM = 24 };  /* bytes that the digits of any number fit into */

static void
put_bytes(const struct sink *s, const char *bytes, size_t n)
{
	if (n > 0)
		s->put(s->to, bytes, n);
}

/* Writes the digits of n, at least `least` of them. */
static void
put_digits(const struct sink *s, uintmax_t n, int least)
{
	char room[DIGITS_ROOM], *p = room + sizeof(room);

	for (; n > 0 || least > 0; least--) {
		*--p = (char)('0' + n % 10);
		n /= 10;
	}
	put_bytes(s, p, (size_t)(room + sizeof(room) - p));
}

static void
put_integer(const struct sink *s, intmax_t n, int least)
{
	if (n < 0)
		put_bytes(s, "-", 1);
	put_digits(s, n < 0 ? 0 - (uintmax_t)n : (uintmax_t)n, least);
}

/* Writes a number that is at least 0, in thousandths, with 1 to 3 decimals. */
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

/* Returns the letter of the short escape that JSON has for a control character;
 * 0: it has none. */
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

/* Is it the second byte of a C1 control in UTF-8? */
static bool
is_c1(unsigned char c)
{
	return c >= 0x80 && c < 0xA0;
}

/* Writes n bytes; C0 controls, DEL and C1 controls as JSON escapes them. */
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

/* Returns the length of a %s. With a precision it is at most that; printable
 * text has exactly as many bytes as its precision says. */
static size_t
text_length(const struct conversion *c, const char *text)
{
	int most = c->precision;
	const char *end;

	if (most < 0)
		return strlen(text);
	if (c->printable)
		return (size_t)most;
	end = most > 0 ? memchr(text, '\0', (size_t)most) : text;
	return end != NULL ? (size_t)(end - text) : (size_t)most;
}

/* Reads the flag, precision, length and letter after a percent sign, and
 * returns the end of the conversion. star: it takes its precision from an
 * argument. */
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
			/* The half keeps 12.3 from becoming 12.299. */
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
