/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_SPOOL_H
#define OUTPUT_SPOOL_H

/* Saves the complete output of a session's commands to files (O5). A stream is
 * saved to a file if its result is truncated or if the stream is longer than
 * 64 KiB. The files of a session share one size limit, and the oldest files are
 * removed to free space. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"

struct tempfiles;
struct spool_file;  /* the saved output of a stream */

/* A limit on the size of saved files */
struct spool_limit {
	int64_t bytes;
	int reason;          /* reason to report when this limit is reached (a
	                      * constant defined in spool.c) */
};

/* The saved output of one session */
struct spool {
	const char *dir;     /* absolute path of the directory for saved files;
	                      * not owned by the spool */
	struct tempfiles *files;  /* list of all temporary files; not owned by
	                           * the spool */
	int64_t limit;       /* maximum size of one file, in bytes; 0 if output
	                      * is not saved */
	int64_t total;       /* total size of the saved files, in bytes; at most
	                      * four times `limit` */
	bool has_measured;   /* whether quarter_limit has been set */
	struct spool_limit quarter_limit;  /* limit on `total`: a quarter of the
	                                    * disk space or memory that was free
	                                    * when the first file was created */
	struct spool_limit free_limit;  /* number of bytes that may still be
	                                 * written if a tenth of the file system
	                                 * is to stay free */
	int64_t unmeasured;  /* bytes written since free_limit was measured */
	struct list saved;   /* streams with a saved file, oldest first */
};

/* Removes all files of the session. */
void spool_free(struct spool *);

/* If there are too many temporary files (base/tempfile.h), removes one of this
 * session's files: the oldest one of a stream that has ended and is not held by
 * spool_hold(). Returns whether another file can be created. */
bool spool_make_room(struct spool *);

/* Starts a new stream. The stream must be closed before the spool is freed. */
struct spool_file *spool_open(struct spool *);

/* Ends the stream and frees it. Removes its file, unless a result has reported
 * the file's path. */
void spool_close(struct spool_file *);

/* Saves n bytes of the stream's output, in memory or in its file. If saving
 * fails, spool_report() reports the reason. */
void spool_write(struct spool_file *, const void *bytes, size_t n);

/* Marks the stream as ended, so that its file may be removed to free space for
 * other streams. */
void spool_end(struct spool_file *);

/* Until spool_release() is called, keeps the stream's file from being removed
 * to free space for other streams. */
void spool_hold(struct spool_file *);
void spool_release(struct spool_file *);

/* Completes the truncation line with "; full output: PATH", or with
 * "; full raw output: PATH" if `raw` is true. If the output was not saved in
 * full, also appends the reason. Creates the saved file if it does not exist
 * yet. */
void spool_report(struct spool_file *, bool raw, struct buf *);

/* Returns the path of the saved file, or NULL if nothing was saved to a file.
 * The stream owns the path. The path is valid until another stream is saved or,
 * if spool_hold() has been called, until spool_release() is called. */
const char *spool_path(const struct spool_file *);

#endif
