/* SPDX-License-Identifier: ISC */
#ifndef SESSION_SUBSTITUTE_H
#define SESSION_SUBSTITUTE_H

/* Replaces a text in another text, in memory (X2). Keeps the line endings:
 * `old` matches lines that end in LF or CRLF, and `new` gets the line endings
 * of the lines that it replaces. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

/* How `old` is compared with the text */
enum matching {
	MATCHING_EXACT,
	MATCHING_ANY_ENDING,  /* LF and CRLF are treated as equal */
	MATCHING_NO_SPACE     /* white space is ignored in both texts */
};

struct replacement {
	/* The request. The caller keeps ownership of all texts. */
	const struct buf *text;
	const struct buf *old, *new;
	bool all;           /* replace all occurrences, not only one */
	int64_t *lines;     /* array that receives the line numbers of the first
	                     * occurrences: in `result` if `all` is set,
	                     * otherwise in `text` */
	int64_t lines_max;  /* length of the array `lines` */

	/* The result */
	int64_t count;           /* number of occurrences that do not overlap */
	enum matching matching;  /* the comparison that found the occurrences */
	struct buf result;       /* `text` with all occurrences replaced; must
	                          * be freed by the caller; incomplete if longer
	                          * than EDIT_MAX */
};

/* Finds `old` and replaces it. If `old` is found only by ignoring white space,
 * `matching` is MATCHING_NO_SPACE, and `result` must not be used. Returns false
 * if allocation fails. */
bool replace_text(struct replacement *);

#endif
