#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64  /* files past 2 GiB on 32 bit too */

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
	KEPT_BYTES = 65536,     /* kept in memory before a file is made */
	MEASURE_BYTES = 65536,  /* written before free space is measured anew */
	BLOCK_BYTES = 4096      /* file systems count files in blocks */
};

/* Why a stream is not saved, or not completely; else 0, or an errno */
enum {
	FILE_FULL = -1,
	SPOOL_FULL = -2,
	DISK_QUARTER = -3,
	DISK_TENTH = -4,
	MEMORY_QUARTER = -5,
	MEMORY_TENTH = -6,
	SAVING_OFF = -7
};

struct spool_file {
	struct spool *spool;
	struct list_node node;    /* in spool->saved, while there is a file */
	char *path;               /* NULL: there is no file */
	int64_t size;             /* of the file, bytes */
	int fd;                   /* -1 unless the file is being written */
	struct buf kept;          /* the output that is not in a file yet */
	int why;                  /* why the output is not saved completely;
	                           * 0 if it is */
	bool ended;               /* after spool_end(): it may be removed */
	bool named;               /* a reader knows the path */
	bool closed;              /* after spool_close(): the struct is freed
	                           * with the file */
};

static struct spool_file *
file_of(struct list_node *node)
{
	return LIST_ITEM(node, struct spool_file, node);
}

/* Removes the file, and frees the struct if spool_close() was called. */
static void
spool_remove(struct spool_file *f)
{
	list_remove(&f->spool->saved, &f->node);
	f->spool->total -= f->size;
	fd_close(&f->fd);
	tempfile_remove(f->spool->files, f->path);
	free(f->path);
	f->path = NULL;
	f->why = SPOOL_FULL;
	if (f->closed)
		free(f);
}

/* The reasons that the truncation line gives (O5) */
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
	[-SAVING_OFF] = "--save-limit is 0"
};

/* Lowers the bound to `bytes`, but not below 0, if it is higher. */
static void
lower(struct spool_bound *bound, int64_t bytes, int why)
{
	if (bytes < 0)
		bytes = 0;
	if (bytes < bound->bytes) {
		bound->bytes = bytes;
		bound->why = why;
	}
}

/* Measures how much space is free where the file is. The first time, this sets
 * the bound for all files of the session as well (O5). */
static void
spool_measure(struct spool_file *f)
{
	struct spool *s = f->spool;
	struct spool_bound quarter = { INT64_MAX, SPOOL_FULL }, free = quarter;
	struct space disk = space_on_disk(f->fd), memory;

	lower(&quarter, disk.free / 4, DISK_QUARTER);
	lower(&free, disk.free - disk.total / 10 - BLOCK_BYTES, DISK_TENTH);
	if (space_is_memory(f->fd)) {
		memory = space_in_memory();
		lower(&quarter, memory.free / 4, MEMORY_QUARTER);
		lower(&free, memory.free - memory.total / 10 - BLOCK_BYTES,
		    MEMORY_TENTH);
	}
	if (!s->measured)
		s->quarter = quarter;
	s->measured = true;
	s->free = free;
	s->unmeasured = 0;
}

/* Removes the oldest finished files, but not f, until `more` bytes fit into
 * `most` or no such file is left. */
static void
spool_evict(struct spool *s, const struct spool_file *f, int64_t more,
            int64_t most)
{
	struct list_node *n = s->saved.first, *next;
	struct spool_file *old;

	while (n != NULL && s->total + more > most) {
		next = n->next;
		old = file_of(n);
		if (old->ended && old != f)
			spool_remove(old);
		n = next;
	}
}

/* Writes as much as the bounds allow, after the oldest finished files have been
 * removed if necessary (O5). (All handlers have SA_RESTART, so there is no
 * EINTR.) */
static void
spool_save(struct spool_file *f, const char *p, size_t n)
{
	struct spool *s = f->spool;
	struct spool_bound most = { 4 * s->limit, SPOOL_FULL };
	struct spool_bound left = { (int64_t)n, 0 };
	ssize_t done;

	lower(&left, s->limit - f->size, FILE_FULL);
	lower(&most, s->quarter.bytes, s->quarter.why);
	spool_evict(s, f, left.bytes, most.bytes);
	lower(&left, most.bytes - s->total, most.why);
	if (s->unmeasured >= MEASURE_BYTES || left.bytes > s->free.bytes)
		spool_measure(f);
	lower(&left, s->free.bytes, s->free.why);
	f->why = left.why;
	while (left.bytes > 0) {
		done = write(f->fd, p, (size_t)left.bytes);
		if (done < 0) {
			f->why = errno;
			break;
		}
		f->size += done;
		s->total += done;
		s->free.bytes -= done;
		s->unmeasured += done;
		left.bytes -= done;
		p += done;
	}
	if (f->why != 0 || f->ended)
		fd_close(&f->fd);
}

/* Removes the oldest finished file of the session. Returns false if there is
 * none. */
static bool
spool_remove_oldest(struct spool *s)
{
	struct list_node *n = s->saved.first;

	while (n != NULL && !file_of(n)->ended)
		n = n->next;
	if (n == NULL)
		return false;
	spool_remove(file_of(n));
	return true;
}

/* Creates the file, after the session's oldest files have been removed if
 * there are too many. Sets f->fd, or f->why. */
static void
spool_create(struct spool_file *f)
{
	bool again = true;

	while (again) {
		f->fd = tempfile_create(f->spool->files, &f->path);
		again = f->fd < 0 && errno == EDQUOT &&
		    spool_remove_oldest(f->spool);
	}
	if (f->fd < 0)
		f->why = errno;
}

/* Creates the file, unless it exists or cannot be saved, and writes the output
 * that was kept in memory. */
static void
spool_make(struct spool_file *f)
{
	if (f->path != NULL || f->why != 0)
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
	/* The analyzer does not see that the file leaves the list. */
	while (s->saved.first != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		spool_remove(file_of(s->saved.first));
}

struct spool_file *
spool_open(struct spool *s)
{
	struct spool_file *f = mem_get(sizeof(*f));

	f->spool = s;
	f->fd = -1;
	f->why = s->limit > 0 ? 0 : SAVING_OFF;
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
	else if (!f->named)
		spool_remove(f);
}

void
spool_write(struct spool_file *f, const void *bytes, size_t n)
{
	bool undecided = f->path == NULL && f->why == 0;

	/* If there is no memory to keep it, the file is created at once. */
	if (undecided && f->kept.len + n <= KEPT_BYTES &&
	    buf_reserve(&f->kept, n)) {
		buf_put(&f->kept, bytes, n);
		return;
	}
	spool_make(f);
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
spool_tell(struct spool_file *f, bool raw, struct buf *b)
{
	const char *why, *path;

	spool_make(f);
	f->named = true;
	path = spool_path(f);
	why = f->why > 0 ? strerror(f->why) : reasons[-f->why];
	if (path == NULL && f->why > 0)
		buf_fmt(b, "; full output not saved: %s: %s", f->spool->dir,
		    why);
	else if (path == NULL)
		buf_fmt(b, "; full output not saved: %s", why);
	else if (raw)
		buf_fmt(b, "; full raw output: %s", path);
	else
		buf_fmt(b, "; full output: %s", path);
	if (path != NULL && f->why != 0)
		buf_fmt(b, " (incomplete: %s)", why);
}

const char *
spool_path(const struct spool_file *f)
{
	return f->size > 0 ? f->path : NULL;
}
