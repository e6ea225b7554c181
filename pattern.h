#ifndef PATTERN_H
#define PATTERN_H

/* Bytes looked for in bytes that come one by one: as much work for each of
 * them, whatever they are. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is to be found, which stays the caller's, and for each of its bytes how
 * much of the start still fits when the next one does not (Knuth, Morris and
 * Pratt). Zeroed, it is found nowhere. */
struct pattern {
	const char *bytes;
	size_t len;
	uint32_t *back;
};

/* False: no memory. */
bool pattern_open(struct pattern *, const char *bytes, size_t len);
void pattern_free(struct pattern *);  /* zeroed again */

/* How much of the start ends with c, when so much ended before it; all of it:
 * found */
size_t pattern_step(const struct pattern *, size_t matched, char c);

#endif
