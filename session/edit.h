#ifndef SESSION_EDIT_H
#define SESSION_EDIT_H

/* One edit of a file: bytes replaced by others, or a file made (X). It leaves
 * the old file or the new one, but for EDIT_BROKEN. Has never heard of JSON. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"

enum { EDIT_LINES = 20 };  /* that are named, and shown (X4) */

enum edit_outcome {
	EDIT_FAILED,        /* `error` says why; the file is as it was */
	EDIT_DONE,
	EDIT_IN_PLACE,      /* done, but not by a new file that took the name */
	EDIT_NOT_FOUND,
	EDIT_SPACED,        /* but for white space it is there, in `lines` */
	EDIT_SEVERAL,       /* `old` stands there more than once */
	EDIT_CHANGED,       /* somebody has changed the file meanwhile */
	EDIT_LOCKED,        /* another process kept the file locked */
	EDIT_BROKEN         /* `error` while in place: neither old nor new */
};

/* What is asked for, and what has come of it: a job's work. Zeroed: nothing. */
struct edit {
	char *path;         /* as given; then absolute, without links */
	bool makes;         /* a file of `new`; there is no `old` */
	bool all;           /* all places, not the only one */
	struct buf old, new;  /* changed by edit_run() */

	enum edit_outcome outcome;
	int error;          /* errno */
	int64_t count;      /* places */
	int64_t lines[EDIT_LINES];  /* in which the first of them begin: in the
	                             * new file if it was done, else the old */
	struct buf shown;   /* the lines around, each with its number */
};

void edit_run(struct job *, const char *dir);  /* a job's `do_work` */
void edit_free(void *);  /* its `free_work` */

#endif
