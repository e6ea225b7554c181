#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

/* Random numbers that cannot be guessed (T1). */

#include <stdbool.h>
#include <stddef.h>

enum { RANDOM_MAX = 16 };   /* random bytes asked for at a time, at most */

/* Writes n random bytes, at most RANDOM_MAX, as 2n lowercase hexadecimal
 * digits and a NUL. Waits if the kernel's generator is not ready yet, and
 * reports that on stderr after a second. Returns false, with an empty string,
 * if there is no source of random numbers, or no descriptor to read it. */
bool random_hex(char *hex, size_t n);

#endif
