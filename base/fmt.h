#ifndef BASE_FMT_H
#define BASE_FMT_H

/* Sentences with placeholders. Each text that a person or a model reads occurs
 * in the source as one format string; buf_fmt() fills it in. The conversions
 * are a subset of printf()'s, so that gcc and clang check the arguments:
 *
 *	%s      a string, const char *
 *	%.*s    so many bytes of one: int, const char *
 *	%-s     a string as printable text: control characters are escaped as
 *	        in JSON, so that it stays on its line
 *	%-.*s   exactly so many bytes as printable text, NULs too; data of a
 *	        struct buf may be NULL if there are none
 *	%d      an int
 *	%02d    an int, with zeros in front up to so many digits
 *	%jd     an int64_t
 *	%zu     a size_t
 *	%.1f    a double with so many decimals, 1 to 3, the rest cut off; for
 *	        seconds: fmt_seconds(milliseconds)
 *	%%      a percent sign
 *
 * Any other conversion is a mistake in boris and ends it with abort(). */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(__APPLE__)
#define FMT_CHECKED(format, first) \
	__attribute__((__format__(__printf__, format, first)))
#else
#define FMT_CHECKED(format, first)
#endif

/* Passes the text in pieces to put(), in order; it allocates nothing. */
void fmt_pieces(void (*put)(void *to, const char *bytes, size_t n), void *to,
                const char *format, va_list);

/* Converts milliseconds, at least 0, for %.1f. */
double fmt_seconds(int64_t ms);

#endif
