/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_SPOOL_H
#define OUTPUT_SPOOL_H

/* Saves the complete output of a session's commands to files (O5). A stream
 * gets a file if its result is truncated or if it is longer than 64 KiB. The
 * files of a session share one limit, and the oldest files are removed to make
 * space. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"

struct tempfiles;
struct spool_file;  /* the saved output of a stream */

/* A limit on the size of saved files, and the reason for the limit */
struct spool_limit {
	int64_t bytes;
	int reason;          /* reason to report when the limit is reached, a
	                      * constant from spool.c */
};

/* The saved output of one session */
struct spool {
	const char *dir;     /* absolute path of the directory for saved files,
	                      * owned by the caller */
	struct tempfiles *files;  /* list of all temporary files, owned by the
	                           * caller */
	int64_t limit;       /* maximum size of one file, in bytes; 0 if output
	                      * is not saved */
	int64_t total;       /* size of all files, in bytes; at most four times
	                      * `limit` */
	bool has_measured;   /* whether quarter_limit has been set */
	struct spool_limit quarter_limit;  /* limit for all files: a quarter of
	                                    * the free space when the first file
	                                    * was created */
	struct spool_limit free_limit;  /* number of bytes that may be written
	                                 * until only a tenth of the file system
	                                 * is free */
	int64_t unmeasured;  /* bytes written since free_limit was measured */
	struct list saved;   /* streams with a file, the oldest first */
};

/* Removes all files of the session. */
void spool_free(struct spool *);

/* Starts a new stream. The stream must be closed before the spool is freed. */
struct spool_file *spool_open(struct spool *);

/* Ends the stream and frees it. Removes its file, unless a result has shown the
 * path. */
void spool_close(struct spool_file *);

/* Saves n bytes of output in memory or in the file. If this fails,
 * spool_report() reports the reason. */
void spool_write(struct spool_file *, const void *bytes, size_t n);

/* Marks the stream as complete, so that its file may be removed to make space
 * for others. */
void spool_end(struct spool_file *);

/* Appends the end of the line that reports a truncation: "; full output: PATH"
 * or "; full raw output: PATH". Creates the file if it does not exist yet. Also
 * appends the reason if the output is not saved completely. */
void spool_report(struct spool_file *, bool raw, struct buf *);

/* Returns the path of the file, or NULL if the stream has no file. */
const char *spool_path(const struct spool_file *);

#endif
