/* SPDX-License-Identifier: ISC */
#ifndef SESSION_EDIT_H
#define SESSION_EDIT_H

/* Edits a file: replaces text in it, or creates it (X). Afterwards the file
 * contains either the complete old text or the complete new text, unless the
 * outcome is EDIT_BROKEN. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "session/job.h"

enum { EDIT_LINES = 20 };  /* maximum number of lines that a result reports
                            * (X4) */

enum edit_outcome {
	EDIT_FAILED,         /* `error` contains the reason; the file is
	                      * unchanged */
	EDIT_DONE,
	EDIT_IN_PLACE,       /* done, by overwriting the old file */
	EDIT_NOT_FOUND,      /* `old` does not occur in the file */
	EDIT_SPACE_DIFFERS,  /* `old` occurs in the file only if white space is
	                      * ignored */
	EDIT_AMBIGUOUS,      /* `old` occurs more than once, and `all` is
	                      * false */
	EDIT_CHANGED,        /* another program has changed the file during the
	                      * edit */
	EDIT_LOCKED,         /* another process keeps the file locked */
	EDIT_BROKEN          /* overwriting the file has failed, for the reason
	                      * in `error`; the file may contain parts of both
	                      * texts */
};

/* The request and the result of an edit, stored in the member `work` of a
 * job */
struct edit {
	char *path;           /* path as given; after opening, absolute and
	                       * without symbolic links */
	bool creates;         /* create a file with the text `new` */
	bool all;             /* replace all occurrences of `old` */
	struct buf old, new;  /* the text to find and its replacement; `new` is
	                       * empty after a file was created */

	enum edit_outcome outcome;
	int error;                  /* errno of EDIT_FAILED or EDIT_BROKEN;
	                             * otherwise 0 */
	int64_t count;              /* number of occurrences of `old` */
	int64_t lines[EDIT_LINES];  /* line numbers of the first occurrences, in
	                             * the new file if the edit was done,
	                             * otherwise in the old one */
	struct buf shown;           /* the lines around the occurrences, with
	                             * their numbers */

	/* Private to edit.c */
	int64_t locked_at;            /* time at which the file was first found
	                               * locked, in ms; or 0 */
	struct exchanged *exchanged;  /* files that finish_exchange() must
	                               * close, or NULL */
};

/* Makes the edit of the job, logs it, and stores the result in its struct edit.
 * `dir` is the absolute path of the directory in which a relative path starts.
 * Never waits, but may set job->work_at to the time of another call: to try
 * again if the file is locked, or to copy bytes that other programs still
 * append to the old file. Returns REJECT_NONE, or REJECT_NO_LOG with job->error
 * set if the log cannot be written; then the file is unchanged. */
enum job_rejection edit_run(struct job *, const char *dir, int64_t now);

/* Frees a struct edit. If edit_run() has left files open, closes them. */
void edit_free(void *);

#endif
