#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif
#define _XOPEN_SOURCE 700
#define _DARWIN_C_SOURCE  /* O_NOFOLLOW on macOS */

#include "edit.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef ON_LINUX
#include <sys/xattr.h>
#endif

#include "guard.h"
#include "log.h"
#include "proc.h"

#ifdef __APPLE__
#define st_ctim st_ctimespec
#endif
#if !defined(O_PATH) && defined(ON_LINUX)
#define O_PATH 010000000  /* as <fcntl.h> has it for GNU programs alone */
#elif !defined(O_PATH)
#define O_PATH O_RDONLY  /* a directory has to be readable */
#endif

enum {
	AROUND = 3,        /* lines shown before a place, and behind it */
	LINE_SHOWN = 160   /* characters */
};

/* A file on its way from what it was to what it will be. It is known by what
 * was opened; names may be swapped meanwhile (X3). What fails sets errno. */
struct change {
	struct edit *edit;
	int dir;             /* its directory */
	const char *name;    /* its name there; in edit->path */
	int fd;              /* the old file; -1: there is none */
	struct stat stat;    /* from before it was read */
	struct buf was, will;
};

/* Appends it with CRLF for LF. False: the memory is refused. */
static bool
put_crlf(struct buf *out, const struct buf *b)
{
	size_t i;

	if (!buf_reserve(out, 2 * b->len))
		return false;
	for (i = 0; i < b->len; i++) {
		if (b->data[i] == '\n' && (i == 0 || b->data[i - 1] != '\r'))
			buf_putc(out, '\r');
		buf_putc(out, b->data[i]);
	}
	return true;
}

/* The lines around the places, each of which goes on for `more` lines: their
 * numbers, and their text without what would move a terminal's cursor */
static void
show_around(struct edit *e, const struct buf *text, int64_t more)
{
	int places = e->count < EDIT_LINES ? (int)e->count : EDIT_LINES;
	struct buf line = { text->data, 0, 0 }, *b = &e->shown;
	size_t left = text->len, cut, at;
	int64_t number = 0, last = 0;
	const char *end;
	int i = 0, shown = 0;

	for (; left > 0 && shown < EDIT_LINES; line.data += line.len) {
		end = memchr(line.data, '\n', left);
		line.len = end != NULL ? (size_t)(end + 1 - line.data) : left;
		left -= line.len;
		number++;
		while (i < places && number > e->lines[i] + more + AROUND)
			i++;
		if (i == places || number < e->lines[i] - AROUND)
			continue;
		buf_add(b, shown++ > 0 && number > last + 1 ? "...\n" : "",
		    NUM(number), "\t");
		cut = utf8_cut(&line, LINE_SHOWN);
		for (at = 0; at < cut; at++) {
			if ((unsigned char)line.data[at] >= ' ' ||
			    line.data[at] == '\t')
				buf_putc(b, line.data[at]);
		}
		buf_add(b, cut < line.len ? "...\n" : "\n");
		last = number;
	}
}

/* Replaces all places of `old` that do not overlap, and notes the lines of the
 * first few (as the new file counts them, if e->all). spaced: white space
 * between its bytes is passed over. False: the memory is refused. */
static bool
replace_all(struct change *c, const struct buf *old, bool spaced)
{
	const struct buf *was = &c->was;
	struct edit *e = c->edit;
	int64_t line = 1, more = buf_lines(e->new.data, e->new.len);
	size_t end, from = 0, at, matched = 0;
	struct pattern p = { NULL, 0, NULL };
	bool enough = pattern_open(&p, old->data, old->len);

	for (end = 1; end <= was->len && enough; end++) {
		if (spaced && isspace((unsigned char)was->data[end - 1]))
			continue;
		matched = pattern_step(&p, matched, was->data[end - 1]);
		if (matched < p.len)
			continue;
		for (at = end; matched > 0; at--)
			matched -= !spaced ||
			    !isspace((unsigned char)was->data[at - 1]);
		line += buf_lines(was->data + from, at - from);
		if (e->count < EDIT_LINES)
			e->lines[e->count] = line;
		e->count++;
		line += e->all && !spaced ? more
		    : buf_lines(was->data + at, end - at);
		if (c->will.len <= EDIT_MOST &&
		    (enough = buf_reserve(&c->will, at - from + e->new.len))) {
			buf_put(&c->will, was->data + from, at - from);
			buf_put(&c->will, e->new.data, e->new.len);
		}
		from = end;
	}
	pattern_free(&p);
	enough = enough && buf_reserve(&c->will, was->len - from);
	if (enough && e->count > 0 && from < was->len)
		buf_put(&c->will, was->data + from, was->len - from);
	return enough;
}

/* Tries it with CRLF for LF in both, if the first line ends in CRLF; then with
 * old as it is; then without white space, to say where it is (X2): *spaced. */
static bool
replace_lines(struct change *c, bool *spaced)
{
	const struct buf *was = &c->was;
	struct buf old = { NULL, 0, 0 }, new = { NULL, 0, 0 };
	struct edit *e = c->edit;
	const char *lf = was->len == 0 ? NULL
	    : memchr(was->data, '\n', was->len);
	bool enough = true;
	size_t i, n = 0;

	if (lf != NULL && lf != was->data && lf[-1] == '\r') {
		enough = put_crlf(&old, &e->old) && put_crlf(&new, &e->new);
		buf_free(&e->new);
		e->new = new;
		enough = enough && replace_all(c, &old, false);
		buf_free(&old);
	}
	if (!enough || (e->count == 0 && !replace_all(c, &e->old, false)))
		return false;
	*spaced = e->count == 0;
	for (i = 0; i < e->old.len && *spaced; i++) {
		if (!isspace((unsigned char)e->old.data[i]))
			e->old.data[n++] = e->old.data[i];
	}
	if (n == 0)
		return true;
	e->old.len = n;
	return replace_all(c, &e->old, true);
}

/* Reads what was opened, to its end: files of the kernel's have no size. */
static bool
read_file(struct change *c)
{
	size_t more = (size_t)c->stat.st_size + 1;
	struct buf *b = &c->was;
	ssize_t n = 1;

	while (n > 0 && b->len <= EDIT_MOST && buf_reserve(b, more)) {
		n = read(c->fd, b->data + b->len, b->cap - b->len);
		b->len += n > 0 ? (size_t)n : 0;
		more = 1;
	}
	if (n >= 0)
		errno = b->len > 0 && c->edit->makes ? EEXIST
		    : b->len > EDIT_MOST ? EFBIG : n > 0 ? ENOMEM : 0;
	return errno == 0;
}

static bool
may_change(const struct change *c)
{
	mode_t mode = c->stat.st_mode;
	off_t size = c->stat.st_size;

	/* It may be made over an empty file, but not over another user's. */
	errno = c->edit->makes && (!S_ISREG(mode) || size > 0 ||
	    c->stat.st_uid != geteuid()) ? EEXIST
	    : S_ISDIR(mode) ? EISDIR : !S_ISREG(mode) ? EINVAL
	    : !(mode & S_IWUSR) ? EACCES : size > EDIT_MOST ? EFBIG : 0;
	return errno == 0;
}

/* Opens the directory and the file that is there, if it may be changed, and
 * reads it. What is no regular file is not even opened. */
static bool
open_file(struct change *c)
{
	struct edit *e = c->edit;
	char *path = realpath(e->path, NULL), *name, first;

	if (path != NULL) {
		free(e->path);
		e->path = path;
	} else if (errno != ENOENT || !e->makes) {
		return false;
	}
	name = strrchr(e->path, '/') + 1;
	first = *name;
	*name = '\0';
	c->dir = open(e->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*name = first;
	c->name = first != '\0' ? name : ".";
	if (c->dir < 0)
		return false;
	if (fstatat(c->dir, c->name, &c->stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && e->makes;
	if (!may_change(c))
		return false;
	c->fd = openat(c->dir, c->name,
	    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return c->fd >= 0 && fstat(c->fd, &c->stat) == 0 && may_change(c) &&
	    read_file(c);
}

/* Has its name still the file that was read, as it was; or still none? */
static bool
is_unchanged(const struct change *c)
{
	const struct stat *was = &c->stat;
	struct stat now;

	if (fstatat(c->dir, c->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return c->fd < 0;
	return c->fd >= 0 && now.st_dev == was->st_dev &&
	    now.st_ino == was->st_ino && now.st_size == was->st_size &&
	    now.st_ctim.tv_sec == was->st_ctim.tv_sec &&
	    now.st_ctim.tv_nsec == was->st_ctim.tv_nsec;
}

/* Writes these bytes of it to where they belong. 0, or -1 with errno. */
static int
write_part(int fd, const struct buf *b, size_t from, size_t to)
{
	ssize_t n;

	for (; from < to; from += (size_t)n) {
		n = pwrite(fd, b->data + from, to - from, (off_t)from);
		if (n < 0)
			return -1;
	}
	return 0;
}

/* Gives the new file what the old one has beside its bytes, ACLs and labels
 * among it, and no more: nothing that files get from their directory. */
static bool
keep_attributes(const struct change *c, int fd)
{
	bool kept = fchown(fd, c->stat.st_uid, c->stat.st_gid) == 0;
#ifdef ON_LINUX
	char names[2048], value[4096];
	ssize_t n, all = flistxattr(c->fd, names, sizeof(names));
	const char *name = names;

	kept = kept && (all >= 0 || errno == ENOTSUP);
	/* Fails where there is none */
	fremovexattr(fd, "system.posix_acl_access");
	for (; kept && name - names < all; name += strlen(name) + 1) {
		n = fgetxattr(c->fd, name, value, sizeof(value));
		kept = n >= 0 && fsetxattr(fd, name, value, (size_t)n, 0) == 0;
	}
#endif
	return kept && fchmod(fd, c->stat.st_mode & 07777) == 0;
}

/* The new file takes the name; if there was no old one, only while it is free.
 * (Where there are no hard links the last look must suffice.) */
static int
take_name(const struct change *c, const char *from)
{
	if (c->fd < 0 && linkat(c->dir, from, c->dir, c->name, 0) == 0)
		return 0;
	if (c->fd < 0 && errno == EEXIST)
		return -1;
	return renameat(c->dir, from, c->dir, c->name);
}

/* If a mode was set or bytes appended after the last look, copies that; returns
 * the new end. Bounded: a file's owner could grow it without end. */
static off_t
carry_over(const struct change *c, int fd)
{
	off_t at = (off_t)c->was.len, to = (off_t)c->will.len;
	char bytes[4096];
	struct stat st;
	ssize_t n;

	if (fstat(c->fd, &st) == 0 && st.st_mode != c->stat.st_mode)
		fchmod(fd, st.st_mode & 07777);
	for (; at < 2 * EDIT_MOST &&
	    (n = pread(c->fd, bytes, sizeof(bytes), at)) > 0 &&
	    pwrite(fd, bytes, (size_t)n, to) == n; to += n)
		at += n;
	return to;
}

/* Writes it to a new file, which takes the name when it is whole; the guard
 * removes it if boris is killed before. EPERM: it can't get the old one's mode,
 * owner or attributes. */
static enum edit_outcome
write_beside(const struct change *c, const struct job *job)
{
	enum edit_outcome outcome = EDIT_FAILED;
	struct guard *guard = job->options->guard;
	struct buf path = { NULL, 0, 0 };
	size_t dir = (size_t)(c->name - c->edit->path);
	int fd = -1, error;
	char *name, unique[17];

	/* Nobody can foresee the name, and take it first. */
	if (!proc_random(unique, 8))
		return EDIT_FAILED;
	buf_put(&path, c->edit->path, dir);
	buf_add(&path, ".boris-", unique);
	name = buf_text(&path) + dir;
	if (guard_file(guard, path.data) == 0)
		fd = openat(c->dir, name, O_WRONLY | O_CREAT | O_EXCL |
		    O_CLOEXEC, c->fd < 0 ? 0666 : 0600);
	if (fd >= 0 && write_part(fd, &c->will, 0, c->will.len) == 0) {
		if (c->fd >= 0 && !keep_attributes(c, fd))
			errno = EPERM;
		else if (fsync(fd) == 0)
			outcome = !is_unchanged(c) ? EDIT_CHANGED
			    : take_name(c, name) == 0 ? EDIT_DONE : EDIT_FAILED;
	}
	error = errno;
	if (outcome == EDIT_DONE && c->fd >= 0)
		carry_over(c, fd);
	if (fd >= 0 && (outcome != EDIT_DONE || c->fd < 0))
		unlinkat(c->dir, name, 0);
	guard_file(guard, NULL);
	buf_free(&path);
	fd_close(&fd);
	errno = error;
	return outcome;
}

/* First comes what is beyond the shorter one's length: if there is no room for
 * that, nothing was overwritten. What fails is put back, which needs no room. A
 * file of the kernel's takes all at once, and can't be cut or synced. */
static enum edit_outcome
write_in_place(const struct change *c)
{
	const struct buf *was = &c->was, *will = &c->will;
	size_t both = was->len < will->len ? was->len : will->len;
	bool done;
	int error;

	if (!is_unchanged(c))
		return EDIT_CHANGED;
	if (c->stat.st_size == 0 && was->len > 0)
		return write_part(c->fd, will, 0, will->len) == 0
		    ? EDIT_IN_PLACE : EDIT_FAILED;
	if (write_part(c->fd, will, both, will->len) == 0 &&
	    fsync(c->fd) == 0 && write_part(c->fd, will, 0, both) == 0 &&
	    (both == was->len || ftruncate(c->fd, carry_over(c, c->fd)) == 0) &&
	    fsync(c->fd) == 0)
		return EDIT_IN_PLACE;
	error = errno;
	done = ftruncate(c->fd, (off_t)was->len) == 0 &&
	    write_part(c->fd, was, 0, was->len) == 0 && fsync(c->fd) == 0;
	errno = error;
	return done ? EDIT_FAILED : EDIT_BROKEN;
}

/* Written in place where the file has several names, or where no new one can be
 * made like it, or take its name. */
static enum edit_outcome
write_change(const struct change *c, const struct job *job)
{
	enum edit_outcome outcome = EDIT_FAILED;

	errno = c->will.len > EDIT_MOST ? EFBIG : EPERM;
	if (errno == EPERM && (c->fd < 0 || c->stat.st_nlink == 1))
		outcome = write_beside(c, job);
	if (outcome == EDIT_FAILED && c->fd >= 0 && (errno == EACCES ||
	    errno == EPERM || errno == EROFS || errno == EBUSY ||
	    errno == ENOENT))
		outcome = write_in_place(c);
	return outcome;
}

/* EDIT_FAILED and EDIT_BROKEN set errno. */
static enum edit_outcome
change_file(struct change *c, const struct job *job)
{
	struct edit *e = c->edit;
	int64_t more = buf_lines(e->old.data, e->old.len - (e->old.len > 0));
	enum edit_outcome outcome;
	bool spaced = false;

	if (!open_file(c))
		return EDIT_FAILED;
	errno = ENOMEM;
	if (!e->makes && !replace_lines(c, &spaced))
		return EDIT_FAILED;
	if (spaced && e->count == 0)
		return EDIT_NOT_FOUND;
	if (spaced || (e->count > 1 && !e->all)) {
		show_around(e, &c->was, more);
		return spaced ? EDIT_SPACED : EDIT_SEVERAL;
	}
	if (e->makes) {
		c->will = e->new;
		memset(&e->new, 0, sizeof(e->new));
	}
	outcome = write_change(c, job);
	if (outcome == EDIT_DONE || outcome == EDIT_IN_PLACE)
		show_around(e, &c->will, buf_lines(e->new.data,
		    e->new.len - (e->new.len > 0)));
	return outcome;
}

void
edit_run(struct job *job, const char *dir)
{
	static const char *const status[] = {
		[EDIT_FAILED] = "failed", [EDIT_DONE] = "done",
		[EDIT_IN_PLACE] = "in_place", [EDIT_NOT_FOUND] = "not_found",
		[EDIT_SPACED] = "not_found", [EDIT_SEVERAL] = "several",
		[EDIT_CHANGED] = "changed", [EDIT_BROKEN] = "broken"
	};
	struct edit *e = job->work;
	struct change c = { .edit = e, .dir = -1, .fd = -1 };
	char *path = path_from(dir, e->path);

	free(e->path);
	e->path = path;
	if (log_start(job, "edit", e->path) < 0) {
		job->refused = JOB_NO_LOG;  /* A2 */
		job->error = errno;
		return;
	}
	e->outcome = change_file(&c, job);
	e->error = errno;
	log_end(job, e->outcome == EDIT_DONE && e->makes ? "made"
	    : status[e->outcome], e->outcome == EDIT_FAILED ||
	    e->outcome == EDIT_BROKEN ? strerror(e->error) : NULL,
	    e->path, job->started_at);
	fd_close(&c.dir);
	fd_close(&c.fd);
	buf_free(&c.was);
	buf_free(&c.will);
}

void
edit_free(void *work)
{
	struct edit *e = work;

	free(e->path);
	buf_free(&e->old);
	buf_free(&e->new);
	buf_free(&e->shown);
	free(e);
}
