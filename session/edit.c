#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#define _DEFAULT_SOURCE  /* syscall */
#endif
#define _XOPEN_SOURCE 700
#define _DARWIN_C_SOURCE  /* O_NOFOLLOW on macOS */

#include "session/edit.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef ON_LINUX
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#endif

#include "base/random.h"
#include "base/text.h"
#include "run/guard.h"
#include "session/log.h"

#ifdef __APPLE__
#define st_ctim st_ctimespec
#endif
#if !defined(O_PATH) && defined(ON_LINUX)
#define O_PATH 010000000  /* as <fcntl.h> has it for GNU programs alone */
#elif !defined(O_PATH)
#define O_PATH O_RDONLY  /* a directory has to be readable */
#endif

/* Flags of renameat2(), as in linux/fs.h */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1U
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2U
#endif

enum {
	AROUND = 3,        /* lines shown before a place, and behind it */
	LINE_SHOWN = 160,  /* characters */
	LOCK_TRIES = 100,  /* attempts to lock a file, */
	LOCK_PACE = 10,    /* and the time between two of them, ms */
	APPEND_WAIT = 2    /* ms that the old file is watched */
};

/* How the file compares with the bytes that were read */
enum comparison { SAME, APPENDED, DIFFERENT };

/* How `old` is matched with the file */
enum matching {
	EXACT,
	ANY_ENDING,  /* each line ending with either, LF or CRLF */
	NO_SPACE     /* without white space */
};

/* What came of an attempt to open and lock a file */
enum opening { OPEN_FAILED, OPEN_BUSY, OPEN_DONE };

/* A file on its way from what it was to what it will be. It is known by what
 * was opened; names may be swapped meanwhile (X3). What fails sets errno. */
struct change {
	struct edit *edit;
	int dir;             /* its directory */
	const char *name;    /* its name there; in edit->path */
	int fd;              /* the old file; -1: there is none */
	struct stat stat;    /* from before it was read */
	struct buf was, will;
	bool literal;        /* line endings of `new` are written as given */
	int64_t new_lines;   /* newlines in `new` */
	size_t line_end;     /* end of the last line that was looked at, */
	bool line_has_crlf;  /* and whether that ends in CRLF */
};

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

/* Is this byte passed over when the text is matched? */
static bool
is_skipped(const struct buf *text, size_t at, enum matching how)
{
	const char *byte = text->data + at;

	if (how == NO_SPACE)
		return isspace((unsigned char)*byte);
	return how == ANY_ENDING && *byte == '\r' && at + 1 < text->len &&
	    byte[1] == '\n';
}

/* Does the line around this offset of the old file end in CRLF? If it is the
 * last one and has no end: does the one before it? Offsets must not decrease
 * from call to call. */
static bool
line_has_crlf(struct change *c, size_t at)
{
	const struct buf *was = &c->was;
	const char *lf;
	size_t end = was->len;

	if (at < c->line_end)
		return c->line_has_crlf;
	lf = memchr(was->data + at, '\n', was->len - at);
	if (lf != NULL) {
		end = (size_t)(lf - was->data) + 1;
		c->line_end = end;
	} else {
		while (end > 0 && was->data[end - 1] != '\n')
			end--;
		c->line_end = SIZE_MAX;
	}
	c->line_has_crlf = end > 1 && was->data[end - 2] == '\r';
	return c->line_has_crlf;
}

/* Appends `new` to the new file, instead of the old one's bytes from `from` up
 * to `to`. Its first line gets the ending of the first line of these, and so
 * on; if it has more lines, they get the last of these endings (X2). There has
 * to be room. */
static void
put_new(struct change *c, size_t from, size_t to)
{
	const struct buf *new = &c->edit->new;
	const char *at = c->was.data + from, *end = c->was.data + to, *lf;
	bool crlf = false;
	size_t i;

	if (c->new_lines == 0 || c->literal) {
		buf_put(&c->will, new->data, new->len);
		return;
	}
	if (memchr(at, '\n', to - from) == NULL)
		crlf = line_has_crlf(c, to);
	for (i = 0; i < new->len; i++) {
		if (new->data[i] == '\n') {
			lf = memchr(at, '\n', (size_t)(end - at));
			if (lf != NULL) {
				crlf = lf > at && lf[-1] == '\r';
				at = lf + 1;
			}
			if (crlf && (i == 0 || new->data[i - 1] != '\r'))
				buf_putc(&c->will, '\r');
		}
		buf_putc(&c->will, new->data[i]);
	}
}

/* Replaces all occurrences of `old` that do not overlap, and notes the lines of
 * the first few (as the new file counts them, if e->all). Returns false if
 * allocation fails. */
static bool
replace_all(struct change *c, enum matching how)
{
	const struct buf *was = &c->was;
	struct edit *e = c->edit;
	struct buf old = { NULL, 0, 0 };
	struct pattern p = { NULL, 0, NULL };
	int64_t line = 1;
	size_t end, from = 0, at, matched = 0, i;
	size_t room = e->new.len + (size_t)c->new_lines;
	bool enough = buf_reserve(&old, e->old.len);

	for (i = 0; i < e->old.len && enough; i++) {
		if (!is_skipped(&e->old, i, how))
			buf_putc(&old, e->old.data[i]);
	}
	enough = enough && pattern_open(&p, old.data, old.len);
	for (end = 1; end <= was->len && enough && old.len > 0; end++) {
		if (is_skipped(was, end - 1, how))
			continue;
		matched = pattern_step(&p, matched, was->data[end - 1]);
		if (matched < p.len)
			continue;
		for (at = end; matched > 0; at--)
			matched -= !is_skipped(was, at - 1, how);
		/* If it begins with a line's end, that may be CRLF. */
		if (at > from && is_skipped(was, at - 1, ANY_ENDING) &&
		    how == ANY_ENDING)
			at--;
		line += buf_lines(was->data + from, at - from);
		if (e->count < EDIT_LINES)
			e->lines[e->count] = line;
		e->count++;
		line += e->all && how != NO_SPACE ? c->new_lines
		    : buf_lines(was->data + at, end - at);
		if (c->will.len <= EDIT_MOST) {
			enough = buf_reserve(&c->will, at - from + room);
			if (enough) {
				buf_put(&c->will, was->data + from, at - from);
				put_new(c, at, end);
			}
		}
		from = end;
	}
	pattern_free(&p);
	buf_free(&old);
	enough = enough && buf_reserve(&c->will, was->len - from);
	if (enough && e->count > 0 && from < was->len)
		buf_put(&c->will, was->data + from, was->len - from);
	return enough;
}

/* Replaces `old`. If it has an LF without a CR, this and all its line endings
 * match either ending; else it is matched as it is. If it is not found without
 * white space only, *how is NO_SPACE. Returns false if allocation fails. */
static bool
replace_lines(struct change *c, enum matching *how)
{
	const struct buf *old = &c->edit->old;
	size_t i, crlfs = 0;
	int64_t lines = buf_lines(old->data, old->len);

	for (i = 0; i < old->len; i++)
		crlfs += is_skipped(old, i, ANY_ENDING);
	c->literal = crlfs > 0;
	c->new_lines = buf_lines(c->edit->new.data, c->edit->new.len);
	*how = lines > (int64_t)crlfs ? ANY_ENDING : EXACT;
	if (!replace_all(c, *how))
		return false;
	if (c->edit->count == 0 && *how == ANY_ENDING && buf_has(old, '\r')) {
		*how = EXACT;
		if (!replace_all(c, *how))
			return false;
	}
	if (c->edit->count > 0)
		return true;
	*how = NO_SPACE;
	return replace_all(c, *how);
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

/* Locks the file against edits by other boris processes, without waiting.
 * Returns false if another process has locked it. Where files cannot be locked,
 * edits are made without a lock. */
static bool
try_lock(int fd)
{
#ifdef ON_LINUX
	return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
#else
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_SETLK, &lock) == 0 ||
	    (errno != EACCES && errno != EAGAIN);
#endif
}

/* Closes the file if it is open. Unlocks it first, because a process that was
 * just forked may still have it open as well. */
static void
unlock_and_close(int *fd)
{
#ifdef ON_LINUX
	int error = errno;

	if (*fd >= 0)
		flock(*fd, LOCK_UN);
	errno = error;
#endif
	fd_close(fd);
}

/* Opens the directory of the edit's path. Returns false with errno set on
 * failure. */
static bool
open_directory(struct change *c)
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
	return c->dir >= 0;
}

/* Does the name lead to the file that is open? */
static bool
is_at(const struct change *c, const char *name, int fd)
{
	struct stat there, opened;

	return fstatat(c->dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(fd, &opened) == 0 && there.st_dev == opened.st_dev &&
	    there.st_ino == opened.st_ino;
}

/* Opens and locks the file if it may be changed. What is no regular file is not
 * even opened. If there is none and the edit makes one, that is OPEN_DONE with
 * no file open. OPEN_FAILED sets errno. */
static enum opening
open_name(struct change *c)
{
	if (fstatat(c->dir, c->name, &c->stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && c->edit->makes ? OPEN_DONE
		    : OPEN_FAILED;
	if (!may_change(c))
		return OPEN_FAILED;
	c->fd = openat(c->dir, c->name,
	    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (c->fd < 0)  /* EWOULDBLOCK: another process has a lease on it. */
		return errno == EWOULDBLOCK ? OPEN_BUSY : OPEN_FAILED;
	/* Another boris may have replaced the file before it was locked. */
	if (!try_lock(c->fd) || !is_at(c, c->name, c->fd)) {
		unlock_and_close(&c->fd);
		return OPEN_BUSY;
	}
	return OPEN_DONE;
}

/* Opens, locks and reads the file. Returns false with errno set on failure;
 * EWOULDBLOCK means that another process keeps it locked. */
static bool
open_file(struct change *c)
{
	enum opening opening;
	int tries = 1;

	if (!open_directory(c))
		return false;
	opening = open_name(c);
	for (; opening == OPEN_BUSY && tries < LOCK_TRIES; tries++) {
		poll(NULL, 0, LOCK_PACE);
		opening = open_name(c);
	}
	if (opening == OPEN_BUSY)
		errno = EWOULDBLOCK;
	if (opening != OPEN_DONE)
		return false;
	return c->fd < 0 || (fstat(c->fd, &c->stat) == 0 && may_change(c) &&
	    read_file(c));
}

/* Compares the file as it is now with the bytes that were read. */
static enum comparison
compare(const struct change *c)
{
	char bytes[65536];
	size_t at = 0;
	ssize_t n;

	for (;;) {
		n = pread(c->fd, bytes, sizeof(bytes), (off_t)at);
		if (n < 0)
			return DIFFERENT;
		if ((size_t)n > c->was.len - at) {
			n = (ssize_t)(c->was.len - at);
			return memcmp(bytes, c->was.data + at, (size_t)n) == 0
			    ? APPENDED : DIFFERENT;
		}
		if (n == 0)
			return at == c->was.len ? SAME : DIFFERENT;
		if (memcmp(bytes, c->was.data + at, (size_t)n) != 0)
			return DIFFERENT;
		at += (size_t)n;
	}
}

/* Does the name still lead to the file that was read, and is that unchanged; or
 * is there still no such file? The bytes are compared because two changes
 * within one tick of the clock get the same time. */
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
	    now.st_ctim.tv_nsec == was->st_ctim.tv_nsec &&
	    compare(c) == SAME;
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

/* Removes the bytes from `from` up to `to` by moving forward what follows them.
 * What others append meanwhile is moved as well, but not without end. Returns
 * 0, or -1 with errno set. */
static int
remove_range(int fd, off_t from, off_t to)
{
	off_t most = to + 2 * (off_t)EDIT_MOST;
	char bytes[65536];
	ssize_t n;

	for (;;) {
		n = pread(fd, bytes, sizeof(bytes), to);
		if (n == 0)
			return ftruncate(fd, from);
		if (n > 0 && to >= most)
			errno = EFBIG;
		if (n < 0 || to >= most)
			return -1;
		if (pwrite(fd, bytes, (size_t)n, from) != n)
			return -1;
		from += n;
		to += n;
	}
}

/* Appends these bytes to the file, where it ends at that moment, all or none of
 * them. Returns the offset behind them, or -1 with errno set. */
static off_t
append(int fd, const char *bytes, size_t len)
{
	int flags = fcntl(fd, F_GETFL);
	off_t end;
	ssize_t n;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_APPEND) < 0)
		return -1;
	n = write(fd, bytes, len);
	end = lseek(fd, 0, SEEK_CUR);
	fcntl(fd, F_SETFL, flags);
	if (n < 0 || (size_t)n == len)
		return n < 0 ? -1 : end;
	remove_range(fd, end - n, end);
	errno = ENOSPC;
	return -1;
}

/* Appends to the file `to` what another one, which had `len` bytes, has from
 * the offset `at` on. Returns the offset up to which it did. Bounded, because
 * the file's owner could let it grow without end. */
static size_t
carry_over(int from, size_t len, size_t at, int to)
{
	char bytes[65536];
	ssize_t n;

	while (at < len + 2 * EDIT_MOST) {
		n = pread(from, bytes, sizeof(bytes), (off_t)at);
		if (n <= 0 || append(to, bytes, (size_t)n) < 0)
			return at;
		at += (size_t)n;
	}
	return at;
}

/* renameat2() within the directory. Returns -1 with ENOSYS where the system
 * does not have it. */
static int
rename_with(const struct change *c, const char *from, const char *to,
            unsigned flags)
{
#if defined(ON_LINUX) && defined(SYS_renameat2)
	return (int)syscall(SYS_renameat2, c->dir, from, c->dir, to, flags);
#else
	(void)c, (void)from, (void)to, (void)flags;
	errno = ENOSYS;
	return -1;
#endif
}

/* Gives a file that was made its name, if no other file has that. */
static enum edit_outcome
take_free_name(const struct change *c, const char *from)
{
	if (linkat(c->dir, from, c->dir, c->name, 0) == 0)
		return EDIT_DONE;
	/* Some file systems have no hard links. */
	if (errno != EEXIST &&
	    rename_with(c, from, c->name, RENAME_NOREPLACE) == 0)
		return EDIT_DONE;
	/* Without renameat2() the last check must suffice. */
	if (errno != EEXIST && renameat(c->dir, from, c->dir, c->name) == 0)
		return EDIT_DONE;
	return EDIT_FAILED;
}

/* Is the file at this name the one that was read, and as it was, except for
 * what has been appended? (Its ctime has changed, because it was renamed.) */
static bool
is_old_file(const struct change *c, const char *name)
{
	const struct stat *was = &c->stat;
	struct stat now;

	return is_at(c, name, c->fd) && fstat(c->fd, &now) == 0 &&
	    now.st_mode == was->st_mode && now.st_nlink == was->st_nlink &&
	    now.st_uid == was->st_uid && now.st_gid == was->st_gid &&
	    now.st_size <= was->st_size + EDIT_MOST &&
	    compare(c) != DIFFERENT;
}

/* Undoes the exchange of names. `fd` is the new file, which is at the old one's
 * name. */
static void
exchange_back(const struct change *c, int fd, const char *name)
{
	bool was_old = is_at(c, name, c->fd);

	rename_with(c, name, c->name, RENAME_EXCHANGE);
	if (!is_at(c, name, fd))  /* Another program has taken the name. */
		rename_with(c, name, c->name, RENAME_EXCHANGE);
	else if (was_old)
		carry_over(fd, c->will.len, c->will.len, c->fd);
}

/* Gives the new file the old one's name. The two exchange their names if the
 * system can do that; so if another program has changed or replaced the old
 * file after the last check, that can be undone. */
static enum edit_outcome
take_name(const struct change *c, int fd, const char *name)
{
	size_t was = c->was.len, end;

	if (!is_unchanged(c))
		return EDIT_CHANGED;
	if (c->fd < 0)
		return take_free_name(c, name);
	/* Others wait until what was appended has been carried over. */
	try_lock(fd);
	if (rename_with(c, name, c->name, RENAME_EXCHANGE) == 0) {
		if (!is_old_file(c, name)) {
			exchange_back(c, fd, name);
			return EDIT_CHANGED;
		}
	} else if (errno == ENOENT) {
		return EDIT_CHANGED;
	} else if (renameat(c->dir, name, c->dir, c->name) < 0) {
		return EDIT_FAILED;
	}
	end = carry_over(c->fd, was, was, fd);
	/* A program that had opened the old file may be about to append. */
	poll(NULL, 0, APPEND_WAIT);
	carry_over(c->fd, was, end, fd);
	return EDIT_DONE;
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
	if (!random_hex(unique, 8))
		return EDIT_FAILED;
	buf_put(&path, c->edit->path, dir);
	buf_add(&path, ".boris-", unique);
	name = buf_text(&path) + dir;
	if (guard_file(guard, path.data) == 0)
		fd = openat(c->dir, name, O_RDWR | O_CREAT | O_EXCL |
		    O_CLOEXEC, c->fd < 0 ? 0666 : 0600);
	if (fd >= 0 && write_part(fd, &c->will, 0, c->will.len) == 0) {
		if (c->fd >= 0 && !keep_attributes(c, fd))
			errno = EPERM;
		else if (fsync(fd) == 0)
			outcome = take_name(c, fd, name);
	}
	error = errno;
	if (fd >= 0)  /* This name is now the old file's, or unused. */
		unlinkat(c->dir, name, 0);
	guard_file(guard, NULL);
	buf_free(&path);
	unlock_and_close(&fd);
	errno = error;
	return outcome;
}

/* A change in place: the bytes of the file from `start` up to `stop` are
 * overwritten. If the file grows, room is claimed at its end first. What others
 * have appended before that, `appended`, moves into the room:
 *
 *	was          appended  room      appended later
 *	will .............. appended     appended later
 */
struct overwrite {
	size_t start, stop;
	struct buf appended;
	size_t room, room_end;
};

/* Finds the bytes that differ, so that no others are overwritten. */
static void
find_difference(const struct change *c, struct overwrite *o)
{
	const struct buf *was = &c->was, *will = &c->will;

	o->stop = was->len < will->len ? was->len : will->len;
	while (o->start < o->stop &&
	    was->data[o->start] == will->data[o->start])
		o->start++;
	while (was->len == will->len && o->stop > o->start &&
	    was->data[o->stop - 1] == will->data[o->stop - 1])
		o->stop--;
}

/* Claims room for the file to grow, at its end. Returns false with errno set on
 * failure; then there is no room. */
static bool
claim_room(const struct change *c, struct overwrite *o)
{
	size_t more = c->will.len - c->was.len;
	off_t end = append(c->fd, c->will.data + c->was.len, more);
	int error;

	if (end < 0)
		return false;
	o->room = (size_t)end - more;
	o->room_end = (size_t)end;
	/* Some file systems do not report until fsync() that they are full. */
	if (fsync(c->fd) == 0)
		return true;
	error = errno;
	remove_range(c->fd, (off_t)o->room, end);
	errno = error;
	return false;
}

/* Reads what others have appended to the file before the room. Returns false if
 * that is too much, or cannot be read, or if the file has been cut. */
static bool
read_appended(const struct change *c, struct overwrite *o)
{
	size_t len = o->room - c->was.len;
	ssize_t n;

	if (o->room < c->was.len || len > EDIT_MOST ||
	    !buf_reserve(&o->appended, len))
		return false;
	if (len == 0)
		return true;
	n = pread(c->fd, o->appended.data, len, (off_t)c->was.len);
	o->appended.len = len;
	return n == (ssize_t)len;
}

/* Writes the bytes of `text` that differ, and what others have appended before
 * the room. Returns false with errno set on failure. */
static bool
overwrite(int fd, const struct buf *text, const struct overwrite *o)
{
	const struct buf *appended = &o->appended;
	size_t stop = o->room_end > 0 ? text->len : o->stop;

	if (write_part(fd, text, o->start, stop) < 0)
		return false;
	if (appended->len == 0)
		return true;
	return pwrite(fd, appended->data, appended->len, (off_t)text->len) ==
	    (ssize_t)appended->len;
}

/* Removes the room, if there is any. Returns false with errno set on
 * failure. */
static bool
release_room(const struct change *c, const struct overwrite *o)
{
	return o->room_end == 0 || remove_range(c->fd, (off_t)o->room,
	    (off_t)o->room_end) == 0;
}

/* Writes the change into the file. On failure this puts back what it has
 * overwritten, unless the file has been cut already. */
static enum edit_outcome
overwrite_file(const struct change *c, struct overwrite *o)
{
	size_t was = c->was.len, will = c->will.len;
	bool undone;
	int error;

	if (will > was && !claim_room(c, o))
		return EDIT_FAILED;
	if ((will > was && !read_appended(c, o)) || compare(c) == DIFFERENT)
		return release_room(c, o) ? EDIT_CHANGED : EDIT_BROKEN;
	if (!overwrite(c->fd, &c->will, o) || fsync(c->fd) < 0) {
		error = errno;
		undone = overwrite(c->fd, &c->was, o) && release_room(c, o) &&
		    fsync(c->fd) == 0;
		errno = error;
		return undone ? EDIT_FAILED : EDIT_BROKEN;
	}
	if (will < was && (remove_range(c->fd, (off_t)will, (off_t)was) < 0 ||
	    fsync(c->fd) < 0))
		return EDIT_BROKEN;
	return EDIT_IN_PLACE;
}

/* Writes the change into the file itself. What others append meanwhile is kept,
 * also on failure. */
static enum edit_outcome
write_in_place(const struct change *c)
{
	const struct buf *was = &c->was, *will = &c->will;
	struct overwrite o = { .start = 0 };
	enum edit_outcome outcome;
	int error;

	if (!is_unchanged(c))
		return EDIT_CHANGED;
	/* A file of the kernel's takes all at once, and cannot be cut. */
	if (c->stat.st_size == 0 && was->len > 0)
		return write_part(c->fd, will, 0, will->len) == 0
		    ? EDIT_IN_PLACE : EDIT_FAILED;
	find_difference(c, &o);
	outcome = overwrite_file(c, &o);
	error = errno;
	buf_free(&o.appended);
	errno = error;
	return outcome;
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
	enum matching how = EXACT;

	if (!open_file(c))
		return errno == EWOULDBLOCK ? EDIT_LOCKED : EDIT_FAILED;
	errno = ENOMEM;
	if (!e->makes && !replace_lines(c, &how))
		return EDIT_FAILED;
	if (!e->makes && e->count == 0)
		return EDIT_NOT_FOUND;
	if (how == NO_SPACE || (e->count > 1 && !e->all)) {
		show_around(e, &c->was, more);
		return how == NO_SPACE ? EDIT_SPACED : EDIT_SEVERAL;
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
		[EDIT_CHANGED] = "changed", [EDIT_LOCKED] = "locked",
		[EDIT_BROKEN] = "broken"
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
	unlock_and_close(&c.fd);
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
