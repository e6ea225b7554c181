/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* Request fchmod() on NetBSD. */

#include "base/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/random.h"

enum {
	FILES = 1024,     /* maximum number of temporary files */
	NAME_BYTES = 48,  /* maximum size of a file name including its NUL, in
	                   * bytes */
	ID_BYTES = 4,     /* number of random bytes in a file name */
	TRIES = 10        /* maximum number of attempts to find an unused file
	                   * name */
};

struct name {
	volatile bool in_use;
	char text[NAME_BYTES];
};

/* The list of temporary files, kept in memory shared with the guard process */
struct tempfiles {
	const char *dir;
	int used;  /* number of entries of `name` that are or were in use */
	struct name name[FILES];
};

struct tempfiles *
tempfile_open(const char *dir)
{
	struct tempfiles *t = mem_shared(sizeof(*t));

	t->dir = dir;
	return t;
}

static const char *
base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static struct name *
find_name(struct tempfiles *t, const char *path)
{
	struct name *at;

	for (at = t->name; at < t->name + t->used; at++) {
		if (at->in_use && strcmp(at->text, base_name(path)) == 0)
			return at;
	}
	return NULL;
}

/* Returns the index of the first name that is not in use, or FILES if all names
 * are in use. */
static int
find_free(const struct tempfiles *t)
{
	int i = 0;

	while (i < t->used && t->name[i].in_use)
		i++;
	return i;
}

bool
tempfile_is_full(const struct tempfiles *t)
{
	return find_free(t) == FILES;
}

int
tempfile_add(struct tempfiles *t, const char *path)
{
	int i = find_free(t);
	struct name *at = &t->name[i];

	if (i == FILES) {
		errno = EDQUOT;
		return -1;
	}
	if (i == t->used)
		t->used++;
	/* Copy the name before in_use is set. If boris is killed between these
	 * two steps, the guard process must not find an incomplete name. */
	memcpy(at->text, base_name(path), strlen(base_name(path)) + 1);
	at->in_use = true;
	return 0;
}

static void
forget(struct tempfiles *t, const char *path)
{
	struct name *at = find_name(t, path);

	if (at != NULL)
		at->in_use = false;
}

void
tempfile_remove(struct tempfiles *t, const char *path)
{
	/* It is not an error if another process has already removed the
	 * file. */
	unlink(path);
	forget(t, path);
}

/* Creates a file with a random name and stores its path in the buffer. Returns
 * the descriptor, or -1 with errno set. The error is EEXIST if the name is
 * already in use. */
static int
try_create(struct tempfiles *t, struct buf *path)
{
	char id[2 * ID_BYTES + 1];
	int fd;

	if (!random_hex(id, ID_BYTES)) {
		errno = EIO;
		return -1;
	}
	path->len = 0;
	buf_fmt(path, "%s/boris-%s.log", t->dir, id);
	if (tempfile_add(t, buf_text(path)) < 0)
		return -1;
	fd = open(path->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		forget(t, path->data);
	else
		/* Set the mode explicitly, because open() applies the umask. */
		fchmod(fd, 0600);
	return fd;
}

int
tempfile_create(struct tempfiles *t, char **path)
{
	struct buf b = { NULL, 0, 0 };
	int fd = try_create(t, &b), tries, error;

	for (tries = 1; tries < TRIES && fd < 0 && errno == EEXIST; tries++)
		fd = try_create(t, &b);
	if (fd >= 0) {
		*path = b.data;
		return fd;
	}
	error = errno;
	buf_free(&b);
	errno = error;
	return -1;
}

void
tempfile_remove_all(const struct tempfiles *t)
{
	const struct name *at;

	if (chdir(t->dir) < 0)
		return;
	for (at = t->name; at < t->name + t->used; at++) {
		if (at->in_use)
			unlink(at->text);
	}
}
