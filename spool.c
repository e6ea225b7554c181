#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* fchmod on NetBSD */
#define _FILE_OFFSET_BITS 64  /* files past 2 GiB on 32 bit too */

#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"

enum { KEPT_BYTES = 65536 };  /* kept in memory before a file is made */

/* Why a stream is not saved, or not all of it; else an errno */
enum { FILE_FULL = -1, SPOOL_FULL = -2 };

struct spool_file {
	struct spool *spool;
	struct spool_file *next;  /* the next younger that is there */
	char *path;               /* NULL: there is no file */
	int64_t size;             /* of the file */
	int fd;                   /* -1 unless it is being written */
	struct buf kept;          /* what is not in a file yet */
	int why;                  /* why it is not complete; 0: it is */
	bool ended;               /* after spool_end(): it may be evicted */
	bool named;               /* a reader knows the path */
	bool closed;              /* spool_close() left only the file */
};

static void
spool_remove(struct spool_file *f)
{
	struct spool_file **link = &f->spool->oldest;

	while (*link != f)
		link = &(*link)->next;
	*link = f->next;
	f->spool->total -= f->size;
	fd_close(&f->fd);
	unlink(f->path);  /* fails if somebody else has removed it: fine */
	free(f->path);
	f->path = NULL;
	f->why = SPOOL_FULL;
	if (f->closed)
		free(f);
}

/* Writes what fits, once the oldest finished files have made as much room as it
 * takes (O5). (All handlers have SA_RESTART, so there is no EINTR.) */
static void
spool_save(struct spool_file *f, const char *p, size_t n)
{
	struct spool *s = f->spool;
	struct spool_file *old = s->oldest, *next;
	int64_t left = (int64_t)n, most = 4 * s->limit;
	ssize_t done;

	if (left > s->limit - f->size) {
		left = s->limit - f->size;
		f->why = FILE_FULL;
	}
	for (; old != NULL && s->total + left > most; old = next) {
		next = old->next;
		if (old->ended && old != f)
			spool_remove(old);
	}
	if (left > most - s->total) {
		left = most - s->total;
		f->why = SPOOL_FULL;
	}
	while (left > 0 && (done = write(f->fd, p, (size_t)left)) >= 0) {
		f->size += done;
		s->total += done;
		left -= done;
		p += done;
	}
	if (left > 0)
		f->why = errno;
	if (f->why != 0 || f->ended)
		fd_close(&f->fd);
}

/* Makes the file, unless it is there, out of what is kept so far. */
static void
spool_make(struct spool_file *f)
{
	struct spool_file **link = &f->spool->oldest;
	struct buf path = { NULL, 0, 0 };

	if (f->path != NULL || f->why != 0)
		return;
	buf_add(&path, f->spool->dir, "/boris-", f->spool->name, "-",
	    NUM(++f->spool->count), ".log");
	f->fd = open(buf_text(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600);
	if (f->fd >= 0) {
		f->path = path.data;
		fchmod(f->fd, 0600);  /* whatever the umask */
		while (*link != NULL)
			link = &(*link)->next;
		*link = f;
		spool_save(f, f->kept.data, f->kept.len);
	} else {
		f->why = errno;
		buf_free(&path);
	}
	buf_free(&f->kept);
}

void
spool_free(struct spool *s)
{
	while (s->oldest != NULL)
		spool_remove(s->oldest);
}

struct spool_file *
spool_open(struct spool *s)
{
	struct spool_file *f = mem_get(sizeof(*f));

	f->spool = s;
	f->fd = -1;
	f->why = s->limit > 0 ? 0 : FILE_FULL;
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
	if (f->path == NULL && f->why == 0 && f->kept.len + n <= KEPT_BYTES) {
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
	const char *why;

	spool_make(f);
	f->named = true;
	why = f->why > 0 ? strerror(f->why) : f->why == FILE_FULL
	    ? "it is over --save-limit"
	    : "this session's files reached four times --save-limit";
	if (spool_path(f) == NULL)
		buf_add(b, "; full output not saved: ", f->why > 0
		    ? f->spool->dir : "", f->why > 0 ? ": " : "", why);
	else
		buf_add(b, "; full output", raw ? ", raw: " : ": ", f->path);
	if (spool_path(f) != NULL && f->why != 0)
		buf_add(b, " (incomplete: ", why, ")");
}

const char *
spool_path(const struct spool_file *f)
{
	return f->size > 0 ? f->path : NULL;
}
