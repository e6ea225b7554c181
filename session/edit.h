#ifndef SESSION_EDIT_H
#define SESSION_EDIT_H

/* An edit of a file: the replacement of a text in it, or the creation of a file
 * (X). Afterwards the file has the old content or the new one, in full, unless
 * the outcome is EDIT_BROKEN. Does not depend on JSON. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"

enum { EDIT_LINES = 20 };  /* most line numbers and lines reported (X4) */

enum edit_outcome {
	EDIT_FAILED,        /* `error` says why; the file is as it was */
	EDIT_DONE,
	EDIT_IN_PLACE,      /* done by overwriting the old file */
	EDIT_NOT_FOUND,     /* `old` does not occur */
	EDIT_SPACE_DIFFERS,        /* `old` occurs only if white space is ignored */
	EDIT_AMBIGUOUS,       /* `old` occurs more than once, without `all` */
	EDIT_CHANGED,       /* another program changed the file meanwhile */
	EDIT_LOCKED,        /* another process keeps the file locked */
	EDIT_BROKEN         /* `error` says why writing in place failed; the
	                     * file may have parts of both contents */
};

/* The request and its result; the `work` of a job */
struct edit {
	char *path;         /* as given; later absolute, without links */
	bool creates;         /* create a file with the text `new` */
	bool all;           /* replace all occurrences of `old` */
	struct buf old, new;  /* `new` is empty after a file was created */

	enum edit_outcome outcome;
	int error;          /* errno */
	int64_t count;      /* number of occurrences */
	int64_t lines[EDIT_LINES];  /* line numbers of the first occurrences,
	                             * in the new file if the edit was done,
	                             * else in the old one */
	struct buf shown;   /* the lines around these, with their numbers */

	/* For edit.c only */
	int64_t locked_at;  /* ms; when the file was first found locked; or 0 */
	struct exchanged *exchanged;  /* files to finish with; NULL: none */
};

/* Makes the edit that is the job's work, and logs it. dir, an absolute path, is
 * where a relative path starts. Does not wait: if the file is locked, or if
 * others may still append to the old file, sets job->work_at, the time to call
 * it again with the same dir. The result is in the struct edit; if the log
 * cannot be written, nothing is done, and job->refused is REJECT_NO_LOG. */
void edit_run(struct job *, const char *dir, int64_t now);

/* Frees a struct edit, and finishes it if edit_run() has not. */
void edit_free(void *);

#endif
