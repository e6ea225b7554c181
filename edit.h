#ifndef EDIT_H
#define EDIT_H

/* One edit of a file: bytes replaced by others, or a file made (X). Whatever
 * happens, the file is the old one or the new one. Has never heard of JSON. */

#include <stdbool.h>
#include <stdint.h>
#include "buf.h"

struct guard;

enum { EDIT_LINES = 20 };  /* that are named, and shown (X4) */

enum edit_outcome {
	EDIT_FAILED,        /* `error` says why; the file is as it was */
	EDIT_DONE,
	EDIT_NOT_FOUND,
	EDIT_SPACED,        /* so; but for white space it stands in lines[0], */
	EDIT_BEGUN,         /* or its first line does, or half of it */
	EDIT_SEVERAL,       /* `old` stands there more than once */
	EDIT_BROKEN         /* `error`, while it was written in place, and it
	                     * could not be put back: it is neither */
};

/* What is asked for, and what has come of it. Zeroed: nothing yet. */
struct edit {
	char *path;         /* absolute; afterwards no link is in it */
	bool makes;         /* a file of `new`; there is no `old` */
	bool all;           /* all places, not the only one */
	struct buf old, new;  /* afterwards freed */

	enum edit_outcome outcome;
	int error;          /* errno */
	int64_t count;      /* places */
	int64_t lines[EDIT_LINES];  /* in which the first of them begin: in the
	                             * new file if it was done, else the old */
	struct buf shown;   /* the lines around, each with its number */
};

/* name: makes that of a file beside the other one nobody else's. */
void edit_run(struct edit *, struct guard *, const char *name);
void edit_free(struct edit *);  /* calloc() has made it; NULL is fine */

#endif
