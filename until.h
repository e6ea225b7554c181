#ifndef UNTIL_H
#define UNTIL_H

/* A text looked for in what a task prints, the echo of what was typed into its
 * terminal left out (W3). Bytes in, one pass, no copy of them. */

#include <stdbool.h>
#include <stddef.h>
#include "buf.h"
#include "pattern.h"

/* Zeroed: nothing is looked for, nothing was typed. */
struct until {
	struct pattern text;
	struct pattern typed;   /* the first line of what was typed, */
	struct buf line;        /* which is this */
	enum {
		ECHO_NONE,
		ECHO_LINE,      /* it may stand in the first new line, however
		                 * often that is drawn; there once, */
		ECHO_TWICE,     /* or, as the terminal did that, once more
		                 * when the program reads keys itself, */
		ECHO_LATER      /* which is still to come */
	} echo;
	bool seen;              /* the text was printed */
	bool echoed;            /* or only as an echo */
	bool news;              /* something but echo and white space was */
};

/* How much of either pattern stands at the end of what was read of a stream */
struct until_place {
	size_t text, typed;
	bool whole;             /* all of `typed` stands in this line */
};

/* The text that is looked for, which stays the caller's, in place; and what was
 * typed, of which the first line is copied. False: no memory. */
bool until_open(struct until *, const struct buf *text);
bool until_type(struct until *, const struct buf *input);
void until_free(struct until *);

/* Reads what a stream prints next. keys: its program reads single keys. */
void until_read(struct until *, struct until_place *, const char *bytes,
                size_t n, bool keys);

#endif
