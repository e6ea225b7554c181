#ifndef OUTPUT_SPOOL_H
#define OUTPUT_SPOOL_H

/* The saved output of one session (O5): for each long stream a file with all of
 * it, as it was printed, and one limit for all files. Whether a stream needs a
 * file is known when its result is cut; until then the first 64 KiB are kept in
 * memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"

struct tempfiles;
struct spool_file;  /* the output of one stream */

/* A limit of bytes, and the reason to give when it is reached */
struct spool_bound {
	int64_t bytes;
	int why;
};

struct spool {
	const char *dir;     /* absolute; the owner's */
	struct tempfiles *files;  /* records the names; the owner's */
	int64_t limit;       /* bytes of one file; 0: nothing is saved */
	int64_t total;       /* bytes in all files, at most four limits */
	bool measured;       /* `quarter` is known */
	struct spool_bound quarter;  /* of the space that was free at first */
	struct spool_bound free;  /* bytes that may be added to all files before
	                           * the last tenth of the space is used */
	int64_t unmeasured;  /* bytes written since `free` was measured */
	struct list saved;   /* the streams that have a file, oldest first */
};

/* Removes all files. */
void spool_free(struct spool *);

/* Returns a new stream, which must not outlive the spool. */
struct spool_file *spool_open(struct spool *);

/* Ends the stream. Its file is removed unless spool_tell() has named it. */
void spool_close(struct spool_file *);

/* Saves n bytes of output. If that fails, spool_tell() reports it. */
void spool_write(struct spool_file *, const void *bytes, size_t n);

/* Notes that there is no more output: from now on the file may be removed to
 * make room for others. */
void spool_end(struct spool_file *);

/* Creates the file if there is none yet, and appends "; full output: PATH"
 * ("; full output, raw: PATH"), or why the output is not saved completely. */
void spool_tell(struct spool_file *, bool raw, struct buf *);

/* Returns the path of the file, or NULL if there is none. */
const char *spool_path(const struct spool_file *);

#endif
