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

enum { EDIT_LINES = 20 };  /* maximum number of lines that a result shows, and
                            * of line numbers that it lists (X4) */

enum edit_outcome {
	EDIT_FAILED,         /* the edit failed for the reason in `error`; the
	                      * file is unchanged */
	EDIT_DONE,
	EDIT_IN_PLACE,       /* done, by overwriting the old file */
	EDIT_NOT_FOUND,      /* `old` does not occur in the file */
	EDIT_SPACE_DIFFERS,  /* the file contains `old`, but with different
	                      * white space */
	EDIT_AMBIGUOUS,      /* `old` occurs more than once, and `all` is
	                      * false */
	EDIT_CHANGED,        /* another program changed the file during the
	                      * edit */
	EDIT_LOCKED,         /* another process keeps the file locked */
	EDIT_BROKEN          /* overwriting the file failed for the reason in
	                      * `error`; the file may contain a mix of old and
	                      * new text */
};

/* The request and result of an edit, stored in a job's `work` */
struct edit {
	char *path;           /* path as given in the request; edit_run() makes
	                       * it absolute and resolves symbolic links */
	bool creates;         /* create a file containing the text `new` */
	bool all;             /* replace all occurrences of `old` */
	struct buf old, new;  /* the text to find and its replacement;
	                       * edit_run() empties `new` if it creates a
	                       * file */

	enum edit_outcome outcome;
	int error;                  /* errno of the failure; 0 unless the
	                             * outcome is EDIT_FAILED or EDIT_BROKEN */
	int64_t count;              /* number of occurrences of `old` */
	int64_t lines[EDIT_LINES];  /* line numbers of the first occurrences, in
	                             * the new file if the edit was applied,
	                             * otherwise in the old one */
	struct buf shown;           /* the lines around the occurrences, with
	                             * line numbers */

	/* Private to edit.c */
	int64_t locked_at;            /* time at which the file was first found
	                               * locked, in ms; 0 if it was not
	                               * locked */
	struct exchanged *exchanged;  /* the old and new files, which
	                               * finish_exchange() must close; NULL if
	                               * there are none */
};

/* Performs the job's edit, logs it, and stores the result in its struct edit.
 * `dir` is the absolute path of the directory in which a relative path starts.
 * Never waits, but may set job->work_at to the time of the next call: to try
 * again if the file is locked, or to copy bytes that other programs still
 * append to the old file. Returns REJECT_NONE, or REJECT_NO_LOG with job->error
 * set if the log cannot be written; then the file is unchanged. */
enum job_rejection edit_run(struct job *, const char *dir, int64_t now);

/* Frees a struct edit, and closes any files that edit_run() left open. */
void edit_free(void *);

#endif
