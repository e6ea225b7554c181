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
	                                    * disk space or memory free when the
	                                    * first file was created */
	struct spool_limit free_limit;  /* number of bytes that may still be
	                                 * written; a tenth of the file system
	                                 * must stay free */
	int64_t unmeasured;  /* bytes written since free_limit was measured */
	struct list saved;   /* streams with a saved file, oldest first */
};

/* Removes all files of the session. */
void spool_free(struct spool *);

/* If there are too many temporary files (base/tempfile.h), removes the
 * session's oldest file of an ended stream. Returns whether another file can be
 * created. */
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
 * others. */
void spool_end(struct spool_file *);

/* Keeps the stream's file from being removed to free space for others, until
 * spool_release() is called. */
void spool_hold(struct spool_file *);
void spool_release(struct spool_file *);

/* Appends the end of the line that reports the truncation:
 * "; full output: PATH" or "; full raw output: PATH". Creates the saved file if
 * it does not exist yet. Also appends the reason if the output was not saved in
 * full. */
void spool_report(struct spool_file *, bool raw, struct buf *);

/* Returns the path of the saved file, or NULL if nothing was saved to a file.
 * The path is owned by the stream. It is valid until another stream is saved,
 * or until spool_release() if the file is held. */
const char *spool_path(const struct spool_file *);

#endif
