#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

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
#include "limits.h"
#include "pattern.h"

enum {
	EDIT_MOST = EDIT_MOST_MIB << 20,  /* bytes */
	AROUND = 3,        /* lines shown before a place, and behind it */
	LINE_SHOWN = 160,  /* characters */
	NEAR_LEAST = 3     /* bytes that make a place a near one */
};

/* A file on its way from what it was to what it will be */
struct change {
	struct edit *edit;
	int fd;              /* the old file; -1: it is made */
	struct stat stat;
	struct buf was, will;
};

/* -- Lines ------------------------------------------------------------- */

static int64_t
newlines(const char *p, size_t n)
{
	int64_t lines = 0;
	size_t i;

	for (i = 0; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

/* Do most of its lines end in CRLF (X2)? */
static bool
has_crlf(const struct buf *b)
{
	int64_t more = 0;
	size_t i;

	for (i = 1; i < b->len; i++) {
		if (b->data[i] == '\n')
			more += b->data[i - 1] == '\r' ? 1 : -1;
	}
	return more > 0;
}

static void
make_crlf(struct buf *b)
{
	struct buf out = { NULL, 0, 0, b->failed };
	size_t i;

	for (i = 0; i < b->len; i++) {
		if (b->data[i] == '\n' && (i == 0 || b->data[i - 1] != '\r'))
			buf_putc(&out, '\r');
		buf_putc(&out, b->data[i]);
	}
	buf_free(b);
	*b = out;
}

/* Its number, and its text without what would move a terminal's cursor */
static void
show_line(struct buf *b, int64_t number, const struct buf *line)
{
	size_t cut = buf_cut(line, LINE_SHOWN), i;

	buf_number(b, "", number, "\t");
	for (i = 0; i < cut; i++) {
		if ((unsigned char)line->data[i] >= ' ' ||
		    line->data[i] == '\t')
			buf_putc(b, line->data[i]);
	}
	buf_puts(b, cut < line->len ? "...\n" : "\n");
}

/* The lines around the places, each of which goes on for `more` lines */
static void
show(struct edit *e, const struct buf *text, int64_t more)
{
	struct buf line = { text->data, 0, 0, false };
	size_t left = text->len;
	int64_t number = 1, last = 0;
	int i = 0, shown = 0;

	while (left > 0 && shown < EDIT_LINES && i < EDIT_LINES &&
	    i < e->count) {
		if (number > e->lines[i] + more + AROUND) {
			i++;
			continue;
		}
		for (line.len = 0; line.len < left; )
			if (line.data[line.len++] == '\n')
				break;
		if (number >= e->lines[i] - AROUND) {
			if (shown++ > 0 && number > last + 1)
				buf_puts(&e->shown, "...\n");
			show_line(&e->shown, number, &line);
			last = number;
		}
		line.data += line.len;
		left -= line.len;
		number++;
	}
}

/* -- Texts ------------------------------------------------------------- */

/* Replaces all places of `old` that do not overlap. Where that is asked for,
 * their lines are those of the new file. False: no memory. */
static bool
replace(struct change *c)
{
	const struct buf *was = &c->was;
	struct edit *e = c->edit;
	const struct buf *stays = e->all ? &e->new : &e->old;
	int64_t line = 1, more = newlines(stays->data, stays->len);
	struct pattern p = { NULL, 0, NULL };
	size_t at, begin, from = 0, matched = 0;

	if (e->old.failed || !pattern_open(&p, e->old.data, e->old.len))
		return false;
	for (at = 1; at <= was->len; at++) {
		matched = pattern_step(&p, matched, was->data[at - 1]);
		if (matched < p.len)
			continue;
		begin = at - p.len;
		line += newlines(was->data + from, begin - from);
		if (e->count < EDIT_LINES)
			e->lines[e->count] = line;
		e->count++;
		line += more;
		if (c->will.len <= EDIT_MOST) {
			buf_put(&c->will, was->data + from, begin - from);
			buf_put(&c->will, e->new.data, e->new.len);
		}
		from = at;
		matched = 0;
	}
	buf_put(&c->will, was->data + from, was->len - from);
	pattern_free(&p);
	return !e->new.failed;
}

/* Where the longest beginning of `old` stands, white space left out; at
 * least its first line, or half of it (X4). Without memory that is nowhere. */
static enum edit_outcome
find_near(struct edit *e, const struct buf *was)
{
	struct pattern p = { NULL, 0, NULL };
	struct buf old = { NULL, 0, 0, false };
	size_t i, first = 0, matched = 0, most = 0, end = 0;
	bool whole = false;

	for (i = 0; i < e->old.len; i++) {
		if (!isspace((unsigned char)e->old.data[i]))
			buf_putc(&old, e->old.data[i]);
		else if (e->old.data[i] == '\n' && first == 0)
			first = old.len;
	}
	if (first == 0 || first > old.len / 2)
		first = old.len / 2;
	if (!old.failed && pattern_open(&p, old.data, old.len)) {
		for (i = 0; i < was->len && !whole; i++) {
			if (isspace((unsigned char)was->data[i]))
				continue;
			matched = pattern_step(&p, matched, was->data[i]);
			if (matched > most) {
				most = matched;
				end = i + 1;
				whole = most == p.len;
			}
		}
	}
	pattern_free(&p);
	buf_free(&old);
	if (!whole && (most < first || most < NEAR_LEAST))
		return EDIT_NOT_FOUND;
	for (i = end; most > 0; )
		most -= !isspace((unsigned char)was->data[--i]);
	e->count = 1;
	e->lines[0] = newlines(was->data, i) + 1;
	show(e, was, newlines(was->data + i, end - i));
	return whole ? EDIT_SPACED : EDIT_BEGUN;
}

/* -- Writing ----------------------------------------------------------- */

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

/* Gives the new file what the old one has beside its bytes, ACLs among it, and
 * no more: nothing that files get from their directory. */
static bool
keep_attributes(const struct change *c, int fd)
{
#ifdef ON_LINUX
	char names[2048], value[4096];
	const char *name = names;
	ssize_t n, all;

	/* Fails where there is none */
	fremovexattr(fd, "system.posix_acl_access");
#endif
	if (fchown(fd, c->stat.st_uid, c->stat.st_gid) < 0 ||
	    fchmod(fd, c->stat.st_mode & 07777) < 0)
		return false;
#ifdef ON_LINUX
	all = flistxattr(c->fd, names, sizeof(names));
	if (all < 0)
		return errno == ENOTSUP;
	for (; name < names + all; name += strlen(name) + 1) {
		n = fgetxattr(c->fd, name, value, sizeof(value));
		if (n < 0 || fsetxattr(fd, name, value, (size_t)n, 0) < 0)
			return false;
	}
#endif
	return true;
}

/* The new file takes the name: one that is made not that of a file which has
 * come meanwhile. (FAT has no links, where the last look has to do.) */
static int
take_name(const struct change *c, const char *from)
{
	const char *to = c->edit->path;
	struct stat st;

	if (c->fd < 0 && link(from, to) == 0) {
		unlink(from);  /* it has its name, whatever becomes of this */
		return 0;
	}
	if (c->fd < 0 && (errno == EEXIST || lstat(to, &st) == 0)) {
		errno = EEXIST;
		return -1;
	}
	return rename(from, to);
}

/* So that the name outlives a loss of power, too. A directory that can't be
 * synced is as it is: the file is there, and has been. */
static void
sync_dir(char *name)
{
	int fd;

	strrchr(name, '/')[1] = '\0';
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* Writes it to a new file, which takes the name when it is whole; the guard
 * removes it if boris is killed before. 0; or -1 with errno, EPERM if it can't
 * be made as the old one is, and nothing has changed. */
static int
write_beside(const struct change *c, struct guard *guard, const char *unique)
{
	const char *path = c->edit->path;
	struct buf b = { NULL, 0, 0, false };
	int fd = -1, error = 0;

	buf_put(&b, path, (size_t)(strrchr(path, '/') + 1 - path));
	buf_add(&b, ".boris-", unique);
	buf_putc(&b, '\0');
	errno = ENOMEM;
	if (b.failed || guard_file(guard, b.data) < 0 ||
	    (fd = open(b.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    c->fd < 0 ? 0666 : 0600)) < 0 ||
	    write_part(fd, &c->will, 0, c->will.len) < 0)
		error = errno;
	else if (c->fd >= 0 && !keep_attributes(c, fd))
		error = EPERM;
	else if (fsync(fd) < 0 || take_name(c, b.data) < 0)
		error = errno;
	if (fd >= 0 && error != 0)
		unlink(b.data);
	if (fd >= 0)
		close(fd);  /* it was synced */
	guard_file(guard, NULL);
	if (error == 0)
		sync_dir(b.data);
	buf_free(&b);
	errno = error;
	return error == 0 ? 0 : -1;
}

/* What is longer comes first: if there is no room for that, nothing was
 * overwritten. What fails later is put back, which needs no more room. */
static enum edit_outcome
write_in_place(const struct change *c)
{
	const struct buf *was = &c->was, *will = &c->will;
	size_t both = was->len < will->len ? was->len : will->len;
	bool fits = both == will->len ||
	    (write_part(c->fd, will, both, will->len) == 0 &&
	    fsync(c->fd) == 0);
	int error;

	if (fits && write_part(c->fd, will, 0, both) == 0 &&
	    ftruncate(c->fd, (off_t)will->len) == 0 && fsync(c->fd) == 0)
		return EDIT_DONE;
	error = errno;
	fits = ftruncate(c->fd, (off_t)was->len) == 0 &&
	    (!fits || write_part(c->fd, was, 0, was->len) == 0) &&
	    fsync(c->fd) == 0;
	errno = error;
	return fits ? EDIT_FAILED : EDIT_BROKEN;
}

/* In place it is written where the file has several names, or where no new one
 * may be made that is as it is, or take its name. */
static enum edit_outcome
write_file(const struct change *c, struct guard *guard, const char *unique)
{
	if (c->fd >= 0 && c->stat.st_nlink > 1)
		return write_in_place(c);
	if (write_beside(c, guard, unique) == 0)
		return EDIT_DONE;
	return c->fd >= 0 && (errno == EACCES || errno == EPERM ||
	    errno == EROFS || errno == EBUSY) ? write_in_place(c)
	    : EDIT_FAILED;
}

/* -- The whole --------------------------------------------------------- */

/* Opens the file that is there, and reads it. -1 with errno: EINVAL: it is no
 * regular one. */
static int
read_file(struct change *c)
{
	char *path = realpath(c->edit->path, NULL);
	struct buf *b = &c->was;
	ssize_t n = 1;

	if (path == NULL || stat(path, &c->stat) < 0) {
		free(path);
		return -1;
	}
	free(c->edit->path);
	c->edit->path = path;
	errno = S_ISDIR(c->stat.st_mode) ? EISDIR
	    : !S_ISREG(c->stat.st_mode) ? EINVAL
	    : !(c->stat.st_mode & S_IWUSR) ? EACCES
	    : c->stat.st_size > EDIT_MOST ? EFBIG : 0;
	if (errno != 0 || (c->fd = open(path,
	    O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0)
		return -1;
	buf_room(b, (size_t)c->stat.st_size);
	while (n > 0 && b->len <= EDIT_MOST && buf_room(b, 1)) {
		n = read(c->fd, b->data + b->len, b->cap - b->len);
		b->len += n > 0 ? (size_t)n : 0;
	}
	if (n >= 0)
		errno = b->failed ? ENOMEM : EFBIG;  /* it grows */
	return n < 0 || b->failed || b->len > EDIT_MOST ? -1 : 0;
}

/* What the file will be; EDIT_DONE: so it can be. */
static enum edit_outcome
prepare(struct change *c)
{
	struct edit *e = c->edit;

	if (e->makes) {
		buf_put(&c->will, e->new.data, e->new.len);
	} else {
		if (read_file(c) < 0)
			return EDIT_FAILED;
		if (has_crlf(&c->was)) {
			make_crlf(&e->old);
			make_crlf(&e->new);
		}
		errno = ENOMEM;
		if (!replace(c))
			return EDIT_FAILED;
		if (e->count == 0)
			return find_near(e, &c->was);
		if (e->count > 1 && !e->all) {
			show(e, &c->was, newlines(e->old.data, e->old.len - 1));
			return EDIT_SEVERAL;
		}
	}
	errno = c->will.failed ? ENOMEM : EFBIG;
	return c->will.failed || c->will.len > EDIT_MOST ? EDIT_FAILED
	    : EDIT_DONE;
}

void
edit_run(struct edit *e, struct guard *guard, const char *name)
{
	struct change c;

	memset(&c, 0, sizeof(c));
	c.edit = e;
	c.fd = -1;
	e->outcome = prepare(&c);
	if (e->outcome == EDIT_DONE)
		e->outcome = write_file(&c, guard, name);
	e->error = errno;
	if (e->outcome == EDIT_DONE)
		show(e, &c.will, newlines(e->new.data,
		    e->new.len - (e->new.len > 0)));
	if (c.fd >= 0)
		close(c.fd);
	buf_free(&c.was);
	buf_free(&c.will);
	buf_free(&e->old);
	buf_free(&e->new);
}

void
edit_free(struct edit *e)
{
	if (e == NULL)
		return;
	free(e->path);
	buf_free(&e->old);
	buf_free(&e->new);
	buf_free(&e->shown);
	free(e);
}
