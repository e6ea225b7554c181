#ifndef OUTPUT_SPOOL_H
#define OUTPUT_SPOOL_H

/* The saved files of one session (O5), raw, with one bound for all. Whether one
 * is needed is known when a result is cut: till then 64 KiB wait in memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

struct tempfiles;
struct spool_file;  /* what one stream prints; in spool.c */

/* A limit of bytes, and the reason that is given when it is reached */
struct spool_bound {
	int64_t bytes;
	int why;
};

struct spool {
	const char *dir;   /* absolute; the owner's */
	struct tempfiles *files;  /* records the names; the owner's */
	int64_t limit;     /* bytes one file may have; 0: nothing is saved */
	int64_t total;     /* bytes in all files, at most four limits */
	bool measured;     /* `quarter` is known */
	struct spool_bound quarter;  /* of the space that was free at first */
	struct spool_bound free;  /* bytes that may be added to all files before
	                           * the last tenth of the space is used */
	int64_t unmeasured;  /* bytes written since `free` was measured */
	struct spool_file *oldest;  /* those that are there, by age */
};

void spool_free(struct spool *);  /* removes every file */

/* For a stream that begins; the spool has to outlive it. */
struct spool_file *spool_open(struct spool *);
void spool_close(struct spool_file *);  /* it stays if spool_tell() named it */
/* Takes what is printed. If it can't be saved, spool_tell() says so. */
void spool_write(struct spool_file *, const void *bytes, size_t n);
void spool_end(struct spool_file *);  /* no more will come */
/* Appends "; full output: PATH" ("..., raw: PATH"), or why it is not whole. */
void spool_tell(struct spool_file *, bool raw, struct buf *);
const char *spool_path(const struct spool_file *);  /* NULL: there is none */

#endif
