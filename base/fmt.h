/* SPDX-License-Identifier: ISC */
#ifndef BASE_FMT_H
#define BASE_FMT_H

/* Formatted text.
 *
 * Each text that a person or a model reads occurs in the source as one format
 * string. The conversions are a subset of those of printf(), so gcc and clang
 * check the arguments:
 *
 *	%s      a string: const char *
 *	%.*s    at most N bytes of a string: int N, const char *
 *	%-s     a string as printable text: control characters are written
 *	        as JSON escapes, so that the text stays on one line
 *	%-.*s   exactly N bytes as printable text, including NULs. The pointer
 *	        may be NULL if N is 0.
 *	%d      an int
 *	%02d    an int with leading zeros up to that number of digits, 1 to 9
 *	%jd     an int64_t
 *	%zu     a size_t
 *	%.1f    a double with that number of decimal places, 1 to 3. Further
 *	        digits are truncated. For seconds, use
 *	        fmt_seconds(milliseconds).
 *	%%      a percent sign
 *
 * fmt_pieces() calls abort() for any other conversion. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(__APPLE__)
#define FMT_CHECKED(format, first) \
	__attribute__((__format__(__printf__, format, first)))
#else
#define FMT_CHECKED(format, first)
#endif

/* Formats text and passes it to put() in consecutive pieces. Allocates no
 * memory. */
void fmt_pieces(void (*put)(void *to, const char *bytes, size_t n), void *to,
                const char *format, va_list);

/* Converts milliseconds to seconds for printing with %.1f. The time must not be
 * negative. */
double fmt_seconds(int64_t ms);

#endif
