/* POSIX.1-2008: open, write, unlink; files past 2 GiB on 32 bit too. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* fchmod on NetBSD */
#define _FILE_OFFSET_BITS 64

#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"

enum { HELD_BYTES = 65536 };  /* kept in memory before a file is made */

/* Why a stream is not saved, or not all of it; or an errno */
enum { FILE_FULL = -1, SPOOL_FULL = -2 };

struct spool_file {
	struct spool *spool;
	struct spool_file *next;  /* the next younger that is there */
	char *path;               /* NULL: there is no file */
	int64_t size;             /* of the file */
	int fd;                   /* -1 unless it is being written */
	struct buf held;          /* what is not in a file yet */
	int why;                  /* it is not complete; 0 if it is */
	bool ended;               /* after spool_end(): it may be evicted */
	bool named;               /* a reader knows the path */
	bool closed;              /* after spool_close(): the file is all */
};

/* Nothing more will be written. */
static void
stop(struct spool_file *f)
{
	fd_close(&f->fd);
	buf_free(&f->held);
}

static void
remove_file(struct spool_file *f)
{
	struct spool_file **link = &f->spool->oldest;

	while (*link != f)
		link = &(*link)->next;
	*link = f->next;
	f->spool->total -= f->size;
	stop(f);
	unlink(f->path);  /* fails if somebody else has removed it: fine */
	free(f->path);
	f->path = NULL;
	f->why = SPOOL_FULL;
	if (f->closed)
		free(f);
}

/* Removes the oldest finished files but that one, as far as it takes, and
 * returns how many bytes may be written to it, at most `want` (O5). */
static int64_t
make_room(const struct spool_file *to, int64_t want)
{
	struct spool *s = to->spool;
	struct spool_file *f, *next;
	int64_t most = 4 * s->limit;

	for (f = s->oldest; f != NULL && s->total + want > most; f = next) {
		next = f->next;
		if (f->ended && f != to)
			remove_file(f);
	}
	return want < most - s->total ? want : most - s->total;
}

void
spool_init(struct spool *s, const char *dir, const char *name, int64_t limit)
{
	*s = (struct spool){ .dir = dir, .name = name, .limit = limit };
}

void
spool_free(struct spool *s)
{
	while (s->oldest != NULL)
		remove_file(s->oldest);
}

static void
fail(struct spool_file *f, int why)
{
	stop(f);
	if (f->path != NULL && f->size == 0)
		remove_file(f);
	/* It is being written, so it was not closed, nor freed.
	 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	f->why = why;
}

/* Writes what fits. (All handlers have SA_RESTART, so there is no EINTR.) */
static void
save(struct spool_file *f, const char *p, size_t n)
{
	int64_t want = (int64_t)n, most = f->spool->limit - f->size;
	int64_t fits = make_room(f, want < most ? want : most), left;
	ssize_t done;

	for (left = fits; left > 0; left -= done, p += done) {
		done = write(f->fd, p, (size_t)left);
		if (done < 0) {
			fail(f, errno);
			return;
		}
		f->size += done;
		f->spool->total += done;
	}
	if (fits < want)
		fail(f, fits == most ? FILE_FULL : SPOOL_FULL);
}

/* Makes the file, unless it is there, out of what was held so far. */
static void
make_file(struct spool_file *f)
{
	struct spool_file **link = &f->spool->oldest;
	struct buf path = { NULL, 0, 0, false };

	if (f->path != NULL || f->why != 0)
		return;
	buf_add(&path, f->spool->dir, "/boris-", f->spool->name);
	buf_number(&path, "-", ++f->spool->count, ".log");
	buf_putc(&path, '\0');
	if (!path.failed)
		f->fd = open(path.data, O_WRONLY | O_CREAT | O_EXCL |
		    O_CLOEXEC, 0600);
	if (f->fd < 0) {
		fail(f, path.failed ? ENOMEM : errno);
		buf_free(&path);
		return;
	}
	fchmod(f->fd, 0600);  /* whatever the umask */
	f->path = path.data;
	while (*link != NULL)
		link = &(*link)->next;
	*link = f;
	save(f, f->held.data, f->held.len);
	buf_free(&f->held);
}

struct spool_file *
spool_open(struct spool *s)
{
	struct spool_file *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->spool = s;
	f->fd = -1;
	f->why = s->limit > 0 ? 0 : FILE_FULL;
	return f;
}

void
spool_close(struct spool_file *f)
{
	if (f == NULL)
		return;
	stop(f);
	if (f->path != NULL && !(f->ended && f->named))
		remove_file(f);
	f->closed = true;
	if (f->path == NULL)
		free(f);
}

void
spool_write(struct spool_file *f, const void *bytes, size_t n)
{
	if (f->path == NULL && f->why == 0 && f->held.len + n <= HELD_BYTES) {
		buf_put(&f->held, bytes, n);
		if (!f->held.failed)
			return;
	}
	make_file(f);
	if (f->fd >= 0)
		save(f, bytes, n);
}

void
spool_end(struct spool_file *f)
{
	f->ended = true;
	if (f->fd >= 0)
		stop(f);
}

void
spool_tell(struct spool_file *f, bool raw, struct buf *b)
{
	make_file(f);
	if (f->ended)
		stop(f);
	f->named = true;
	if (f->path != NULL)
		buf_add(b, "; full output", raw ? ", raw: " : ": ", f->path);
	if (f->why != 0)
		buf_add(b, f->path != NULL ? " (incomplete: " :
		    "; full output not saved: ",
		    f->path == NULL && f->why > 0 ? f->spool->dir : "",
		    f->path == NULL && f->why > 0 ? ": " : "",
		    f->why == FILE_FULL ? "it is over --save-limit" :
		    f->why == SPOOL_FULL ? "this session's files reached four "
		    "times --save-limit" : strerror(f->why),
		    f->path != NULL ? ")" : "");
}

const char *
spool_path(const struct spool_file *f)
{
	return f->path;
}
