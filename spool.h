#ifndef SPOOL_H
#define SPOOL_H

/* The saved files of one session (O5): one directory, one bound for all of
 * them. What a stream prints is saved raw. Only its end tells whether a file
 * is needed; the first 64 KiB wait in memory for that. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"

struct spool_file;  /* what one stream prints; in spool.c */

struct spool {
	const char *dir;   /* absolute; the owner's */
	const char *name;  /* unguessable part of each name; the owner's */
	int64_t limit;     /* bytes one file may have; 0: nothing is saved */
	int64_t total;     /* bytes in all files, at most four limits */
	unsigned count;    /* files ever made: part of the next one's name */
	struct spool_file *oldest;  /* those that are there, by age */
};

void spool_init(struct spool *, const char *dir, const char *name,
                int64_t limit);
void spool_free(struct spool *);  /* removes every file */

/* A stream begins, without a file yet. NULL without memory. The spool has to
 * outlive it, or to be freed before anything more is written. */
struct spool_file *spool_open(struct spool *);

/* Its file stays in the spool once it has ended. NULL is fine. */
void spool_close(struct spool_file *);

/* Takes what is printed. A failure stops nobody: spool_tell() says it. */
void spool_write(struct spool_file *, const void *bytes, size_t n);

/* No more comes. needed: a reader misses some of the stream, so it has to be
 * in a file; else the file goes, unless spool_tell() has named it. */
void spool_end(struct spool_file *, bool needed);

/* Appends "; full output: PATH", or why there is none or not all of it. A
 * file that is named stays, whatever becomes of its stream. */
void spool_tell(struct spool_file *, struct buf *);

/* The file's path, the spool's, or NULL where there is none */
const char *spool_path(const struct spool_file *);

#endif
