#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

/* Messages on stderr. Writing one never waits (C3). */

#include <stddef.h>

/* Writes to stderr what it takes at once, and returns how many bytes that were;
 * if not all, errno says why. It never waits (C3), whatever stderr is. */
size_t stderr_write(const char *bytes, size_t n);

/* Prints one line on stderr, control characters as "?"; or it is lost. */
#define stderr_line(...) stderr_all((const char *const[]){ __VA_ARGS__, NULL })
void stderr_all(const char *const *part);

/* Prints "boris: WHAT VALUE: RIGHT" on stderr, and ends the process. For what
 * is wrong at the start, and for want of memory; else boris stays up (E7). */
#ifdef __GNUC__
__attribute__((__noreturn__))
#endif
void fatal(int status, const char *what, const char *value, const char *right);

#endif
