/* SPDX-License-Identifier: ISC */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

/* Messages to stderr. Writing a message never blocks, even if stderr is a full
 * pipe (C3). */

#include <stddef.h>
#include "base/fmt.h"

/* Writes as many of the n bytes to stderr as possible without blocking. Returns
 * the number of bytes written. If this is less than n, errno is set. */
size_t stderr_write(const char *bytes, size_t n);

/* Prints a formatted line to stderr. Control characters are replaced with "?".
 * The line is dropped if printing it would block. */
void stderr_line(const char *format, ...) FMT_CHECKED(1, 2);

/* Prints "boris: " and a formatted line to stderr, and exits with the given
 * status. This function is for errors during startup and for small allocations
 * that fail. After any other error, boris keeps running (E7). */
#ifdef __GNUC__
__attribute__((__noreturn__))
#endif
void fatal(int status, const char *format, ...) FMT_CHECKED(2, 3);

#endif
