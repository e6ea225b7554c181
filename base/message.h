#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

/* Messages on stderr. Writing one never waits (C3). */

#include <stddef.h>
#include "base/fmt.h"

/* Writes to stderr as many of these bytes as it takes at once. Returns their
 * number, with errno set if that is not all. */
size_t stderr_write(const char *bytes, size_t n);

/* Prints one line on stderr. The format is that of buf_fmt(). Control
 * characters become "?". If stderr takes no more, the line is lost. */
void stderr_line(const char *format, ...) FMT_CHECKED(1, 2);

/* Prints "boris: " and one line on stderr, and exits with the status. For
 * mistakes at the start, and if small allocations fail; in all other cases
 * boris keeps running (E7). */
#ifdef __GNUC__
__attribute__((__noreturn__))
#endif
void fatal(int status, const char *format, ...) FMT_CHECKED(2, 3);

#endif
