/* SPDX-License-Identifier: ISC */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

/* Random numbers that other users and programs cannot guess (T1). */

#include <stdbool.h>
#include <stddef.h>

enum { RANDOM_MAX = 16 };   /* maximum number of random bytes per call */

/* Writes n random bytes, at most RANDOM_MAX, as 2n lowercase hexadecimal digits
 * and a NUL. May block until the kernel's generator is ready. If that takes
 * more than one second, prints a message to stderr. Returns false, with an
 * empty string, if no random numbers are available. */
bool random_hex(char *hex, size_t n);

#endif
