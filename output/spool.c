/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64  /* Support files over 2 GiB on 32-bit hosts. */

/* How a stream is saved:
 *
 * Most outputs are short and never need a file, so the first 64 KiB of a
 * stream are kept in memory. The file is created when the stream gets longer,
 * or when spool_report() has to name it because the result is truncated. From
 * then on all output is written to the file at once.
 *
 * Three limits apply: --save-limit for one file, four times --save-limit for
 * all files of the session, and the free space. The session uses at most a
 * quarter of the free space, and always leaves a tenth of the file system
 * free. If a limit of the session is reached, the oldest files of ended streams
 * are removed, except for the files of streams that are held, because a result
 * is being written that may name them. If that is not enough, the file remains
 * incomplete, and spool_report() reports the reason. */

#include "output/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/io.h"
#include "base/space.h"
#include "base/tempfile.h"

enum {
	KEPT_BYTES = 65536,     /* maximum length in bytes of a stream kept in
	                         * memory rather than in a file */
	MEASURE_BYTES = 65536,  /* number of bytes written between measurements
	                         * of free space */
	BLOCK_BYTES = 4096      /* number of bytes reserved for a file's last
	                         * block, which may be only partly used */
};

/* Reasons why a stream was not saved in full. A positive reason is an errno
 * value, and 0 means that there is no reason. */
enum {
	FILE_FULL = -1,
	SPOOL_FULL = -2,
	DISK_QUARTER = -3,
	DISK_TENTH = -4,
	MEMORY_QUARTER = -5,
	MEMORY_TENTH = -6,
	SAVING_OFF = -7,
	TOO_MANY_FILES = -8
};

struct spool_file {
	struct spool *spool;
	struct list_node node;    /* node in the list spool->saved; used only
	                           * while the saved file exists */
	char *path;               /* path of the saved file, or NULL if none
	                           * exists */
	int64_t size;             /* size of the saved file, in bytes */
	int fd;                   /* file descriptor for writing the saved file,
	                           * or -1 */
	struct buf kept;          /* output kept in memory until the file is
	                           * created */
	int reason;               /* reason why the output was not saved in
	                           * full, or 0 */
	bool ended;               /* whether the stream has ended; an ended
	                           * stream's file may be removed to free
	                           * space */
	bool held;                /* whether the file must not be removed to
	                           * free space, even if the stream has
	                           * ended */
	bool reported;            /* whether a result has reported the saved
	                           * file's path */
	bool closed;              /* whether spool_close() has been called; if
	                           * so, removing the file also frees the
	                           * struct */
};

static struct spool_file *
file_of(struct list_node *node)
{
	return LIST_ITEM(node, struct spool_file, node);
}

/* Removes the stream's file. If the stream is already closed, also frees the
 * stream. Otherwise, stores the given reason for spool_report(). */
static void
spool_remove(struct spool_file *f, int reason)
{
	list_remove(&f->spool->saved, &f->node);
	f->spool->total -= f->size;
	fd_close(&f->fd);
	tempfile_remove(f->spool->files, f->path);
	free(f->path);
	f->path = NULL;
	f->reason = reason;
	if (f->closed)
		free(f);
}

/* Messages used in results to explain why a stream was not saved in full
 * (O5) */
static const char *const reasons[] = {
	[0] = "",
	[-FILE_FULL] = "longer than --save-limit",
	[-SPOOL_FULL] = "the files of this session reached four times "
	    "--save-limit",
	[-DISK_QUARTER] = "the files of this session reached a quarter of the "
	    "free space",
	[-DISK_TENTH] = "less than a tenth of the file system is free",
	[-MEMORY_QUARTER] = "the files of this session reached a quarter of "
	    "the free memory",
	[-MEMORY_TENTH] = "less than a tenth of the memory is free",
	[-SAVING_OFF] = "--save-limit is 0",
	[-TOO_MANY_FILES] = "boris keeps at most 1,024 files"
};

/* Lowers a limit to the given number of bytes, and stores the reason with the
 * limit. A negative number counts as 0. Does nothing if the limit is already
 * that low. */
static void
lower_limit(struct spool_limit *limit, int64_t bytes, int reason)
{
	if (bytes < 0)
		bytes = 0;
	if (bytes < limit->bytes) {
		limit->bytes = bytes;
		limit->reason = reason;
	}
}

/* Measures the free space on the file system that contains the saved file. The
 * first measurement also sets the limit for all files of the session (O5). */
static void
spool_measure(struct spool_file *f)
{
	struct spool *s = f->spool;
	struct spool_limit quarter = { INT64_MAX, SPOOL_FULL };
	struct spool_limit all_but_tenth = quarter;
	struct space disk = space_on_disk(f->fd), memory;

	lower_limit(&quarter, disk.free / 4, DISK_QUARTER);
	lower_limit(&all_but_tenth,
	    disk.free - disk.total / 10 - BLOCK_BYTES, DISK_TENTH);
	if (space_is_memory(f->fd)) {
		memory = space_in_memory();
		lower_limit(&quarter, memory.free / 4, MEMORY_QUARTER);
		lower_limit(&all_but_tenth,
		    memory.free - memory.total / 10 - BLOCK_BYTES,
		    MEMORY_TENTH);
	}
	if (!s->has_measured)
		s->quarter_limit = quarter;
	s->has_measured = true;
	s->free_limit = all_but_tenth;
	s->unmeasured = 0;
}

/* Returns whether the stream's file may be removed to free space for other
 * streams. */
static bool
is_removable(const struct spool_file *f)
{
	return f->ended && !f->held;
}

/* Removes the oldest removable files until the session's files can grow by
 * `more` bytes without exceeding the limit. Never removes the file f. */
static void
spool_evict(struct spool *s, const struct spool_file *f, int64_t more,
            const struct spool_limit *limit)
{
	struct list_node *n = s->saved.first, *next;
	struct spool_file *old;

	while (n != NULL && s->total + more > limit->bytes) {
		next = n->next;
		old = file_of(n);
		if (is_removable(old) && old != f)
			spool_remove(old, limit->reason);
		n = next;
	}
}

/* Writes as much of the output to the saved file as the limits allow. Removes
 * older files of the session if necessary (O5). Sets f->reason if not all n
 * bytes are written. */
static void
spool_save(struct spool_file *f, const char *p, size_t n)
{
	struct spool *s = f->spool;
	struct spool_limit max = { 4 * s->limit, SPOOL_FULL };
	struct spool_limit allowed = { (int64_t)n, 0 };
	ssize_t done;

	lower_limit(&allowed, s->limit - f->size, FILE_FULL);
	lower_limit(&max, s->quarter_limit.bytes, s->quarter_limit.reason);
	spool_evict(s, f, allowed.bytes, &max);
	lower_limit(&allowed, max.bytes - s->total, max.reason);
	if (s->unmeasured >= MEASURE_BYTES ||
	    allowed.bytes > s->free_limit.bytes)
		spool_measure(f);
	lower_limit(&allowed, s->free_limit.bytes, s->free_limit.reason);
	f->reason = allowed.reason;
	/* write() does not fail with EINTR, because all signal handlers have
	 * SA_RESTART. */
	while (allowed.bytes > 0) {
		done = write(f->fd, p, (size_t)allowed.bytes);
		if (done < 0) {
			f->reason = errno;
			break;
		}
		f->size += done;
		s->total += done;
		s->free_limit.bytes -= done;
		s->unmeasured += done;
		allowed.bytes -= done;
		p += done;
	}
	if (f->reason != 0 || f->ended)
		fd_close(&f->fd);
}

/* Removes the oldest removable file because there are too many files. Returns
 * false if no such file exists. */
static bool
spool_remove_oldest(struct spool *s)
{
	struct list_node *n = s->saved.first;

	while (n != NULL && !is_removable(file_of(n)))
		n = n->next;
	if (n == NULL)
		return false;
	spool_remove(file_of(n), TOO_MANY_FILES);
	return true;
}

bool
spool_make_room(struct spool *s)
{
	if (!tempfile_is_full(s->files))
		return true;
	return spool_remove_oldest(s);
}

/* Creates the saved file. If there are too many files, first removes the
 * session's oldest removable file. Sets f->fd, or f->reason on failure. */
static void
spool_create(struct spool_file *f)
{
	if (!spool_make_room(f->spool)) {
		f->reason = TOO_MANY_FILES;
		return;
	}
	f->fd = tempfile_create(f->spool->files, &f->path);
	if (f->fd < 0)
		f->reason = errno;
}

/* Creates the saved file, and writes to it the output kept in memory. Does
 * nothing if the file already exists or f->reason is already set. */
static void
spool_start_file(struct spool_file *f)
{
	if (f->path != NULL || f->reason != 0)
		return;
	spool_create(f);
	if (f->fd >= 0) {
		list_append(&f->spool->saved, &f->node);
		spool_measure(f);
		spool_save(f, f->kept.data, f->kept.len);
	}
	buf_free(&f->kept);
}

void
spool_free(struct spool *s)
{
	/* clang-tidy reports a use-after-free here because it does not see that
	 * spool_remove() removes the file from the list. */
	while (s->saved.first != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		spool_remove(file_of(s->saved.first), 0);
}

struct spool_file *
spool_open(struct spool *s)
{
	struct spool_file *f = mem_get(sizeof(*f));

	f->spool = s;
	f->fd = -1;
	f->reason = s->limit > 0 ? 0 : SAVING_OFF;
	return f;
}

void
spool_close(struct spool_file *f)
{
	spool_end(f);
	buf_free(&f->kept);
	f->closed = true;
	if (f->path == NULL)
		free(f);
	else if (!f->reported)
		spool_remove(f, 0);
}

void
spool_write(struct spool_file *f, const void *bytes, size_t n)
{
	bool may_keep = f->path == NULL && f->reason == 0;

	/* Most streams never need a file, so keep short output in memory. If
	 * memory allocation fails, write the output to a file now. */
	if (may_keep && f->kept.len + n <= KEPT_BYTES &&
	    buf_reserve(&f->kept, n)) {
		buf_put(&f->kept, bytes, n);
		return;
	}
	spool_start_file(f);
	if (f->fd >= 0)
		spool_save(f, bytes, n);
}

void
spool_end(struct spool_file *f)
{
	f->ended = true;
	fd_close(&f->fd);
}

void
spool_hold(struct spool_file *f)
{
	f->held = true;
}

void
spool_release(struct spool_file *f)
{
	f->held = false;
}

void
spool_report(struct spool_file *f, bool raw, struct buf *b)
{
	const char *reason, *path;

	spool_start_file(f);
	f->reported = true;
	path = spool_path(f);
	reason = f->reason > 0 ? strerror(f->reason) : reasons[-f->reason];
	if (path == NULL && f->reason > 0)
		buf_fmt(b, "; full output not saved: %s: %s", f->spool->dir,
		    reason);
	else if (path == NULL)
		buf_fmt(b, "; full output not saved: %s", reason);
	else if (raw)
		buf_fmt(b, "; full raw output: %s", path);
	else
		buf_fmt(b, "; full output: %s", path);
	if (path != NULL && f->reason != 0)
		buf_fmt(b, " (incomplete: %s)", reason);
}

const char *
spool_path(const struct spool_file *f)
{
	return f->size > 0 ? f->path : NULL;
}
