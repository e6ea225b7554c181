#ifndef SESSION_SUBSTITUTE_H
#define SESSION_SUBSTITUTE_H

/* The replacement of one text by another in a third one, in memory (X2). Line
 * endings are kept: `old` matches lines that end in LF or CRLF, and `new` gets
 * the endings of the lines that it replaces. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

/* How `old` is compared with the text */
enum matching {
	MATCHING_EXACT,
	MATCHING_ANY_ENDING,  /* LF and CRLF are equal */
	MATCHING_NO_SPACE     /* white space is ignored, in both */
};

struct replacement {
	/* The request; all texts are the caller's */
	const struct buf *text;
	const struct buf *old, *new;
	bool all;            /* all occurrences are to be replaced */
	int64_t *lines;      /* array for the line numbers of the first
	                      * occurrences, as `result` counts them if all
	                      * are to be replaced, else as `text` does */
	int64_t lines_max;  /* length of that array */

	/* The result */
	int64_t count;       /* number of occurrences that do not overlap */
	enum matching matching;  /* how they were found */
	struct buf result;   /* `text` with each occurrence replaced; it is
	                      * longer than EDIT_MAX, and incomplete, if it
	                      * would be too long; freed by the caller */
};

/* Finds `old` and replaces it. If it is found only when white space is ignored,
 * `matching` is MATCHING_NO_SPACE, and `result` is of no use. Returns false if
 * allocation fails. */
bool replace_text(struct replacement *);

#endif
