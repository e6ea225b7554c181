/* SPDX-License-Identifier: ISC */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

/* Messages on stderr. Writing a message never blocks, even if stderr is a full
 * pipe (C3). */

#include <stddef.h>
#include "base/fmt.h"

/* Writes as many of n bytes to stderr as it accepts without blocking. Returns
 * the number of bytes written, with errno set if that is less than n. */
size_t stderr_write(const char *bytes, size_t n);

/* Prints a formatted line on stderr. Control characters are replaced with "?".
 * The line is dropped if stderr does not accept it. */
void stderr_line(const char *format, ...) FMT_CHECKED(1, 2);

/* Prints "boris: " and a formatted line on stderr, and exits with the given
 * status. This function is for errors during startup and for small allocations
 * that fail. After any other error, boris keeps running (E7). */
#ifdef __GNUC__
__attribute__((__noreturn__))
#endif
void fatal(int status, const char *format, ...) FMT_CHECKED(2, 3);

#endif
