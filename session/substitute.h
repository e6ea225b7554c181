/* SPDX-License-Identifier: ISC */
#ifndef SESSION_SUBSTITUTE_H
#define SESSION_SUBSTITUTE_H

/* Replaces one string with another in the text of a file, in memory (X2). `old`
 * is the string to find, and `new` is its replacement. An LF in `old` also
 * matches a CRLF in the text. `new` takes on the line endings of the lines that
 * it replaces. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

/* How `old` is compared with the text of the file */
enum matching {
	MATCHING_EXACT,
	MATCHING_ANY_ENDING,  /* treat LF and CRLF as equal */
	MATCHING_NO_SPACE     /* ignore white space in `old` and in the file's
	                       * text */
};

struct replacement {
	/* The members below describe the request. The caller keeps ownership of
	 * the strings. */
	const struct buf *text;
	const struct buf *old, *new;
	bool all;           /* replace all occurrences, not only one */
	int64_t *lines;     /* array for the line numbers of the first
	                     * occurrences of `old`. The numbers refer to the
	                     * new text if all occurrences are replaced,
	                     * otherwise to the old text. */
	int64_t lines_max;  /* length of the array `lines` */

	/* The members below are the result. */
	int64_t count;           /* number of non-overlapping occurrences */
	enum matching matching;  /* the comparison that found the occurrences */
	struct buf result;       /* the new text, with all occurrences replaced,
	                          * which the caller must free. It is incomplete
	                          * if it is longer than EDIT_MAX. */
};

/* Finds the occurrences of `old`, and sets `count`, `matching`, `result` and
 * the array `lines`. If `old` is not found, `count` is 0. If `old` is found
 * only by ignoring white space, `matching` is MATCHING_NO_SPACE, and the member
 * `result` must not be used. Returns true, or false if allocation fails. */
bool replace_text(struct replacement *);

#endif
