/* POSIX.1-2008: open, write, unlink; files past 2 GiB on 32 bit too. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RAW_BYTES = 65536 };  /* unsaved bytes in memory, until they spill */

/* Why not all of a stream is in its file; above 0: the errno. */
enum { SAVED_ALL = 0, STOPPED_LIMIT = -1, STOPPED_SESSION = -2, GONE = -3 };

/* A file in the store */
struct saved {
	struct saved *next;     /* the next younger */
	struct saving *saving;  /* whose it is; NULL: that is gone */
	char *path;
	int64_t size;
};

void
store_init(struct store *s, const char *dir, const char *name, int64_t limit)
{
	memset(s, 0, sizeof *s);
	s->dir = dir;
	s->name = name;
	s->limit = limit;
	s->oldest = NULL;
	s->newest = &s->oldest;
}

static void
close_file(struct saving *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void
remove_file(struct store *store, struct saved *f)
{
	struct saved **link = &store->oldest;

	while (*link != f)
		link = &(*link)->next;
	*link = f->next;
	if (store->newest == &f->next)
		store->newest = link;
	store->total -= f->size;
	if (f->saving != NULL) {
		close_file(f->saving);
		f->saving->file = NULL;
		f->saving->stopped = GONE;
	}
	unlink(f->path);  /* somebody else's removing it is no failure */
	free(f->path);
	free(f);
}

void
store_free(struct store *s)
{
	while (s->oldest != NULL)
		remove_file(s, s->oldest);
}

/* Bytes of `want` that fit, after the oldest finished files have gone. */
static int64_t
make_room(struct store *s, int64_t want)
{
	struct saved *f = s->oldest, *next;

	for (; f != NULL && s->total + want > 4 * s->limit; f = next) {
		next = f->next;
		if (f->saving == NULL || f->saving->ended)
			remove_file(s, f);
	}
	return want <= 4 * s->limit - s->total ? want : 4 * s->limit - s->total;
}

/* Saving one stream */

static void
stop_saving(struct saving *s, int why)
{
	close_file(s);
	buf_free(&s->raw);
	if (s->file != NULL && s->file->size == 0)
		remove_file(s->store, s->file);  /* nobody needs it */
	s->stopped = why;
}

/* 0, or the errno */
static int
write_file(struct saving *s, const unsigned char *p, int64_t n)
{
	ssize_t did;

	for (; n > 0; n -= did, p += did) {
		did = write(s->fd, p, (size_t)n);
		if (did < 0 && errno == EINTR) {
			did = 0;
			continue;
		}
		if (did <= 0)
			return did < 0 ? errno : ENOSPC;
		s->file->size += did;
		s->store->total += did;
	}
	return 0;
}

/* What fits is in the file also when not all does. */
static void
save_bytes(struct saving *s, const unsigned char *p, size_t n)
{
	int64_t want = (int64_t)n, room = s->store->limit - s->file->size;
	int why = SAVED_ALL, failed;

	if (want > room) {
		want = room;
		why = STOPPED_LIMIT;
	}
	room = make_room(s->store, want);
	if (want > room) {
		want = room;
		why = STOPPED_SESSION;
	}
	failed = write_file(s, p, want);
	if (failed != 0)
		why = failed;
	if (why != SAVED_ALL)
		stop_saving(s, why);
}

/* DIR/boris-NAME-N.log, or NULL without memory */
static char *
new_path(struct store *store)
{
	struct buf b = {0};

	buf_puts(&b, store->dir);
	buf_puts(&b, "/boris-");
	buf_puts(&b, store->name);
	buf_putc(&b, '-');
	buf_int(&b, (int64_t)++store->count);
	buf_put(&b, ".log", 5);
	if (b.failed)
		buf_free(&b);
	return b.data;
}

/* 0, or the errno with nothing left behind */
static int
open_file(struct saving *s)
{
	struct saved *f = calloc(1, sizeof *f);
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, why = ENOMEM;

	if (f == NULL)
		return ENOMEM;
	f->path = new_path(s->store);
	if (f->path == NULL)
		goto free_file;
	do
		s->fd = open(f->path, flags, 0600);
	while (s->fd < 0 && errno == EINTR);
	if (s->fd < 0) {
		why = errno;
		goto free_file;
	}
	f->saving = s;
	s->file = *s->store->newest = f;
	s->store->newest = &f->next;
	return 0;
free_file:
	free(f->path);
	free(f);
	return why;
}

/* Makes the file, with what was held back. */
static void
spill(struct saving *s)
{
	int why;

	if (s->file != NULL || s->stopped != SAVED_ALL || s->store->limit == 0)
		return;
	why = open_file(s);
	if (s->file == NULL) {
		stop_saving(s, why);
		return;
	}
	save_bytes(s, (unsigned char *)s->raw.data, s->raw.len);
	buf_free(&s->raw);
}

/* Only the end tells whether a stream has to be in a file; its first bytes
 * wait in memory for that. */
void
saving_add(struct saving *s, const unsigned char *p, size_t n)
{
	if (s->stopped != SAVED_ALL || s->store->limit == 0)
		return;
	if (s->file == NULL && s->raw.len + n <= RAW_BYTES) {
		buf_put(&s->raw, p, n);
		if (!s->raw.failed)
			return;
	}
	spill(s);
	if (s->fd >= 0)
		save_bytes(s, p, n);
}

/* `whole`: the stream was truncated, so all of it has to be in a file. */
void
saving_end(struct saving *s, bool whole)
{
	if (whole || s->named)
		spill(s);
	else if (s->file != NULL)
		remove_file(s->store, s->file);
	close_file(s);
	buf_free(&s->raw);
	s->ended = true;
}

/* The file stays in the store, if it can be told to anybody. */
void
saving_free(struct saving *s)
{
	close_file(s);
	buf_free(&s->raw);
	if (s->file != NULL && !s->ended)
		remove_file(s->store, s->file);
	if (s->file != NULL)
		s->file->saving = NULL;
}

static void
put_size(struct buf *b, int64_t bytes)
{
	bool whole = bytes % (1024 * 1024) == 0;

	buf_int(b, whole ? bytes / (1024 * 1024) : bytes);
	buf_puts(b, whole ? " MiB" : " bytes");
}

static void
put_why(const struct saving *s, struct buf *b)
{
	if (s->stopped == STOPPED_LIMIT) {
		buf_puts(b, "stopped at --save-limit, ");
		put_size(b, s->store->limit);
	} else if (s->stopped == STOPPED_SESSION) {
		buf_puts(b, "files of this session reached ");
		put_size(b, 4 * s->store->limit);
	} else {
		buf_puts(b, strerror(s->stopped));
	}
}

/* Where the whole stream is, in a truncation line. From now on the file
 * stays, whatever becomes of the stream. */
void
saving_tell(struct saving *s, struct buf *b)
{
	if (!s->ended)
		spill(s);
	s->named = true;
	if (s->file != NULL) {
		buf_puts(b, "; full output: ");
		/* Its own file is never evicted while it is being written.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		buf_puts(b, s->file->path);
		if (s->stopped != SAVED_ALL) {
			buf_puts(b, " (incomplete: ");
			put_why(s, b);
			buf_putc(b, ')');
		}
	} else if (s->stopped != SAVED_ALL && s->stopped != GONE) {
		buf_puts(b, "; full output not saved: ");
		put_why(s, b);
	}
}

void
saving_init(struct saving *s, struct store *store)
{
	memset(s, 0, sizeof *s);
	s->store = store;
	s->fd = -1;
}

const char *
saving_path(const struct saving *s)
{
	return s->file != NULL ? s->file->path : NULL;
}
