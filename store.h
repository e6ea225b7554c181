#ifndef STORE_H
#define STORE_H

/* The saved files of one session (SPEC.md O5): one directory, one bound. What
 * a stream prints is saved raw; only its end tells whether it has to be. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"

struct saved;  /* a file */

struct store {
	const char *dir;      /* absolute; the owner's */
	const char *name;     /* unguessable part of each file's name; the owner's */
	int64_t limit;        /* bytes a stream may have in a file; 0: none saved */
	int64_t total;        /* bytes all its files hold now, at most 4 limits */
	unsigned count;       /* files ever opened, part of the next name */
	struct saved *oldest, **newest;  /* files there now, by age */
};

/* What a stream has to do with files */
struct saving {
	struct store *store;
	struct buf raw;      /* until it is clear that a file is needed */
	struct saved *file;  /* or NULL */
	int fd;              /* -1 unless the file is being written */
	int stopped;         /* SAVED_ALL, or why the file is not whole */
	bool ended;          /* no more to save: the file may be evicted */
	bool named;          /* a reader has been told the file's path */
};

void store_init(struct store *, const char *dir, const char *name, int64_t limit);
void store_free(struct store *);  /* unlinks every file */

void saving_init(struct saving *, struct store *);
void saving_free(struct saving *);  /* its file, when ended, stays */

/* Takes what is printed. A failure stops no one: it is told, saving_tell(). */
void saving_add(struct saving *, const unsigned char *bytes, size_t n);

/* No more comes. whole: the stream was truncated, so all of it has to be in a
 * file; else its file goes, unless a reader has been told of it. */
void saving_end(struct saving *, bool whole);

/* "; full output: PATH", or why there is none or not all of it, for the
 * truncation line. From now on the file stays, whatever becomes of the stream. */
void saving_tell(struct saving *, struct buf *);

const char *saving_path(const struct saving *);  /* NULL: no file; the store's */

#endif
