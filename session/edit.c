/* SPDX-License-Identifier: ISC */
/* Edits a file safely. Afterwards, its name refers to the complete old file or
 * to the complete new one, even if boris is killed or the disk is full. No
 * change by another program is lost (X3). These are the steps:
 *
 *  open      open_directory() resolves symbolic links and opens the directory.
 *            All later steps use names within that directory.
 *  lock      open_file() opens the file and locks it against edits by other
 *            boris processes, and read_file() reads it.
 *  replace   replace_in_file() finds `old` and computes the new text.
 *  write     create_new_file() and fill_new_file() write the new text to a file
 *            with a random name in the same directory, give it the owner, mode
 *            and attributes of the old file, and flush it to disk.
 *  check     is_unchanged() checks that no other program has changed the old
 *            file since it was read.
 *  exchange  exchange_names() exchanges the names of the two files with one
 *            system call.
 *  verify    is_old_file() checks the old file again, which now has the random
 *            name. If it was changed after the check, the exchange is undone.
 *  carry     carry_over() copies bytes that other programs have appended to
 *  over      the old file, such as lines of a log, to the new one. Another call
 *            to edit_run() repeats this step after APPEND_WAIT.
 *
 * Finally the random name is removed. If the edit creates a file, there is no
 * old file, and take_free_name() replaces the steps exchange and verify.
 *
 * A file cannot be replaced if it has several hard links, or if boris cannot
 * write to its directory. Then write_in_place() overwrites the bytes that
 * differ. On failure it restores the old bytes; if that fails too, the outcome
 * is EDIT_BROKEN.
 *
 * No step waits, because boris serves other clients in the meantime (P6). A
 * step that would have to wait sets job->work_at, the time at which edit_run()
 * is called again. */

#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#define _DEFAULT_SOURCE  /* syscall */
#endif
#define _XOPEN_SOURCE 700
#define _DARWIN_C_SOURCE  /* O_NOFOLLOW on macOS */

#include "session/edit.h"

#include <errno.h>
#include <fcntl.h>
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

#include "base/fmt.h"
#include "base/random.h"
#include "base/text.h"
#include "run/guard.h"
#include "session/log.h"
#include "session/substitute.h"

#ifdef __APPLE__
#define st_ctim st_ctimespec
#endif
#if !defined(O_PATH) && defined(ON_LINUX)
#define O_PATH 010000000  /* <fcntl.h> defines O_PATH only if _GNU_SOURCE is
                           * defined */
#elif !defined(O_PATH)
#define O_PATH O_RDONLY  /* without O_PATH, opening a directory requires
                          * permission to read it */
#endif

/* Flags of renameat2(), from linux/fs.h */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1U
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2U
#endif

enum {
	CONTEXT = 3,                  /* number of lines shown before and after
	                               * each occurrence */
	LINE_SHOWN = 160,             /* maximum number of characters shown per
	                               * line */
	LOCK_WAIT = 1000,             /* maximum time to wait for the lock on a
	                               * file, in ms */
	LOCK_INTERVAL = 20,           /* interval between attempts to lock a
	                               * file, in ms */
	APPEND_WAIT = 2,              /* time, in ms, from the replacement of a
	                               * file until boris copies the last bytes
	                               * that other programs have appended to
	                               * the old file */
	APPENDED_MAX = 2 * EDIT_MAX,  /* maximum number of bytes to copy if
	                               * other programs append to a file while
	                               * it is being edited */
	COPY_BYTES = 65536            /* buffer size for reading a file, in
	                               * bytes */
};

/* The result of comparing a file's content with the text that was read from it
 * earlier */
enum comparison { SAME, APPENDED, DIFFERENT };

/* The result of an attempt to open and lock a file */
enum opening { OPEN_FAILED, OPEN_BUSY, OPEN_DONE };

/* A file that is being edited. boris identifies it by its descriptor, because
 * another program may rename it during the edit (X3). */
struct change {
	struct edit *edit;
	char *path;           /* absolute path with symbolic links resolved;
	                       * NULL if unknown */
	int dir;              /* descriptor of the file's directory */
	const char *name;     /* file name without its directory; points into
	                       * `path` */
	int fd;               /* descriptor of the old file, or -1 */
	struct stat stat;     /* attributes of the old file, taken before it was
	                       * read */
	struct buf old_text;  /* content of the old file */
	struct buf new_text;  /* content of the new file */
};

/* The new file, which has a random name until it replaces the old file */
struct new_file {
	struct buf path;
	const char *name;  /* file name without its directory; points into
	                    * `path` */
	int fd;
	bool kept;         /* the descriptor now belongs to edit->exchanged */
};

/* The old and new files after their names have been exchanged. Both stay open
 * and locked until bytes that other programs append to the old file have been
 * copied to the new one. */
struct exchanged {
	int old, new;  /* descriptors of the two files */
	size_t end;    /* offset in the old file of the next byte to copy */
	size_t limit;  /* offset in the old file at which copying stops */
};

/* Appends a line with its number. Omits control characters except tabs, because
 * they could move a terminal's cursor. */
static void
show_line(struct buf *b, int64_t number, const struct buf *line)
{
	size_t cut = utf8_cut(line, LINE_SHOWN), i;
	bool control;

	buf_fmt(b, "%jd\t", number);
	for (i = 0; i < cut; i++) {
		control = (unsigned char)line->data[i] < ' ';
		if (!control || line->data[i] == '\t')
			buf_putc(b, line->data[i]);
	}
	buf_fmt(b, cut < line->len ? "...\n" : "\n");
}

/* Appends the lines of the occurrences to e->shown, with CONTEXT lines before
 * and after each occurrence. e->lines contains the line number at which each
 * occurrence starts, and each occurrence spans `more` + 1 lines. `text` is the
 * file's content. */
static void
show_around(struct edit *e, const struct buf *text, int64_t more)
{
	int64_t count = e->count < EDIT_LINES ? e->count : EDIT_LINES;
	struct buf line = { text->data, 0, 0 };
	size_t left = text->len;
	int64_t number = 0, last = 0, i = 0;
	const char *lf;
	int shown = 0;

	while (left > 0 && shown < EDIT_LINES) {
		lf = memchr(line.data, '\n', left);
		line.len = lf != NULL ? (size_t)(lf + 1 - line.data) : left;
		number++;
		while (i < count && number > e->lines[i] + more + CONTEXT)
			i++;
		if (i < count && number >= e->lines[i] - CONTEXT) {
			if (shown > 0 && number > last + 1)
				buf_fmt(&e->shown, "...\n");
			show_line(&e->shown, number, &line);
			last = number;
			shown++;
		}
		line.data += line.len;
		left -= line.len;
	}
}

/* Reads the open file to its end. Ignores its reported size, which is 0 for
 * files in /proc. Returns false with errno set on failure. */
static bool
read_file(struct change *c)
{
	size_t more = (size_t)c->stat.st_size + 1;
	struct buf *b = &c->old_text;
	ssize_t n = 1;

	while (n > 0 && b->len <= EDIT_MAX && buf_reserve(b, more)) {
		n = read(c->fd, b->data + b->len, b->cap - b->len);
		b->len += n > 0 ? (size_t)n : 0;
		more = 1;
	}
	if (n < 0)
		return false;
	if (b->len > 0 && c->edit->creates)
		errno = EEXIST;
	else if (b->len > EDIT_MAX)
		errno = EFBIG;
	else if (n > 0)
		errno = ENOMEM;
	else
		return true;
	return false;
}

/* Returns whether an edit that creates a file may replace the existing file,
 * which must be an empty regular file owned by the current user. */
static bool
is_empty_and_own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size == 0 &&
	    st->st_uid == geteuid();
}

/* Returns 0 if the file can be edited, or an errno value that gives the
 * reason. */
static int
find_obstacle(const struct change *c)
{
	mode_t mode = c->stat.st_mode;

	if (c->edit->creates && !is_empty_and_own(&c->stat))
		return EEXIST;
	if (S_ISDIR(mode))
		return EISDIR;
	if (!S_ISREG(mode))
		return EINVAL;
	if (!(mode & S_IWUSR))
		return EACCES;
	if (c->stat.st_size > EDIT_MAX)
		return EFBIG;
	return 0;
}

/* Locks the file against edits by other boris processes, without waiting.
 * Returns false if another process has locked it. If the file system does not
 * support locks, returns true, and the edit continues without a lock. */
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

/* Unlocks and closes the file if it is open. close() alone would not release
 * the lock while a newly forked child still holds the descriptor. */
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

/* Opens the file's directory. Returns false with errno set on failure. */
static bool
open_directory(struct change *c)
{
	const struct edit *e = c->edit;
	char *name, first;

	c->path = realpath(e->path, NULL);
	if (c->path == NULL && errno == ENOENT && e->creates)
		c->path = mem_copy(e->path);
	if (c->path == NULL)
		return false;
	name = strrchr(c->path, '/') + 1;
	first = *name;
	*name = '\0';
	c->dir = open(c->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*name = first;
	c->name = first != '\0' ? name : ".";
	return c->dir >= 0;
}

/* Returns whether both structs describe the same file, regardless of its
 * content. */
static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns whether the name in the directory refers to the open file. */
static bool
is_at(const struct change *c, const char *name, int fd)
{
	struct stat named, opened;

	return fstatat(c->dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(fd, &opened) == 0 && is_same_file(&named, &opened);
}

/* Returns whether the name in the directory refers to a file other than the
 * open one. Returns false if the name does not exist, or if boris cannot tell
 * which file it refers to. */
static bool
is_at_other(const struct change *c, const char *name, int fd)
{
	struct stat named, opened;

	return fstatat(c->dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(fd, &opened) == 0 && !is_same_file(&named, &opened);
}

/* Tries to open and lock the file, which need not exist if the edit creates it.
 * Returns OPEN_DONE on success. Returns OPEN_BUSY if another process has locked
 * the file or has just replaced it. Otherwise returns OPEN_FAILED with errno
 * set, for instance if the file is a FIFO or a device. */
static enum opening
try_open(struct change *c)
{
	if (fstatat(c->dir, c->name, &c->stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && c->edit->creates ? OPEN_DONE
		    : OPEN_FAILED;
	errno = find_obstacle(c);
	if (errno != 0)
		return OPEN_FAILED;
	c->fd = openat(c->dir, c->name,
	    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (c->fd < 0)  /* EWOULDBLOCK: another process has a lease on the
	                 * file */
		return errno == EWOULDBLOCK ? OPEN_BUSY : OPEN_FAILED;
	/* Another boris process may have replaced the file before this one
	 * locked it. */
	if (!try_lock(c->fd) || !is_at(c, c->name, c->fd)) {
		unlock_and_close(&c->fd);
		return OPEN_BUSY;
	}
	return OPEN_DONE;
}

/* Opens the file's directory, then tries to open and lock the file. If the
 * directory cannot be opened, returns OPEN_FAILED with errno set. Otherwise
 * returns the result of try_open(). */
static enum opening
open_file(struct change *c)
{
	return open_directory(c) ? try_open(c) : OPEN_FAILED;
}

/* Reads the file's original content into c->old_text, if the file exists.
 * Returns false with errno set on failure. */
static bool
read_old_file(struct change *c)
{
	if (c->fd < 0)
		return true;
	/* The file may have changed before it was locked, so read its
	 * attributes again. */
	if (fstat(c->fd, &c->stat) < 0)
		return false;
	errno = find_obstacle(c);
	return errno == 0 && read_file(c);
}

/* Compares the file's current content with c->old_text, the content that boris
 * read at the start of the edit. Returns APPENDED if bytes were only added at
 * the end. Returns DIFFERENT if the file cannot be read. */
static enum comparison
compare(const struct change *c)
{
	char bytes[COPY_BYTES];
	size_t at = 0;
	ssize_t n;

	for (;;) {
		n = pread(c->fd, bytes, sizeof(bytes), (off_t)at);
		if (n < 0)
			return DIFFERENT;
		if ((size_t)n > c->old_text.len - at) {
			n = (ssize_t)(c->old_text.len - at);
			return memcmp(bytes, c->old_text.data + at,
			    (size_t)n) == 0 ? APPENDED : DIFFERENT;
		}
		if (n == 0)
			return at == c->old_text.len ? SAME : DIFFERENT;
		if (memcmp(bytes, c->old_text.data + at, (size_t)n) != 0)
			return DIFFERENT;
		at += (size_t)n;
	}
}

/* Returns whether both structs describe the same file with the same size and
 * ctime. Two changes in quick succession can leave the ctime unchanged, because
 * file timestamps are coarse. */
static bool
is_same_version(const struct stat *a, const struct stat *b)
{
	if (!is_same_file(a, b) || a->st_size != b->st_size)
		return false;
	return a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	    a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Returns whether the file is the one that boris read, and has not changed
 * since. If there was no file at that time, returns whether there is still
 * none. Also compares the content, because file timestamps are coarse. */
static bool
is_unchanged(const struct change *c)
{
	struct stat now;

	if (fstatat(c->dir, c->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return c->fd < 0;
	return c->fd >= 0 && is_same_version(&now, &c->stat) &&
	    compare(c) == SAME;
}

/* Writes a range of the buffer at the same offsets in the file. `from` is the
 * offset of the first byte, and `to` is the offset just past the last byte.
 * Returns 0, or -1 with errno set. */
static int
write_part(int fd, const struct buf *b, size_t from, size_t to)
{
	ssize_t n;

	while (from < to) {
		n = pwrite(fd, b->data + from, to - from, (off_t)from);
		if (n < 0)
			return -1;
		from += (size_t)n;
	}
	return 0;
}

#ifdef ON_LINUX

/* Copies the extended attributes, including ACLs and security labels. Removes
 * an ACL that the new file has inherited from its directory. Returns false on
 * failure. */
static bool
copy_xattrs(int from, int to)
{
	char names[2048], value[4096];
	ssize_t all = flistxattr(from, names, sizeof(names)), n;
	const char *name;

	if (all < 0 && errno != ENOTSUP)
		return false;
	fremovexattr(to, "system.posix_acl_access");  /* fails if there is no
	                                               * ACL */
	for (name = names; name - names < all; name += strlen(name) + 1) {
		n = fgetxattr(from, name, value, sizeof(value));
		if (n < 0 || fsetxattr(to, name, value, (size_t)n, 0) < 0)
			return false;
	}
	return true;
}

#else

static bool
copy_xattrs(int from, int to)
{
	(void)from, (void)to;
	return true;
}

#endif

/* Copies the old file's owner, group, mode and extended attributes to the new
 * file. Returns false if that is not possible. */
static bool
copy_attributes(const struct change *c, int fd)
{
	/* Set the mode last, because changing the owner clears some bits of the
	 * mode. */
	return fchown(fd, c->stat.st_uid, c->stat.st_gid) == 0 &&
	    copy_xattrs(c->fd, fd) && fchmod(fd, c->stat.st_mode & 07777) == 0;
}

/* Returns whether the file is larger than `size` bytes. Returns false if its
 * size cannot be determined. */
static bool
is_longer(int fd, off_t size)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_size > size;
}

/* Removes a range of bytes from the file. `from` is the offset of its first
 * byte, and `to` is the offset just past its last byte. Moves the bytes after
 * the range down to `from`, even if other programs append more bytes in the
 * meantime. Returns 0, or -1 with errno set, for instance if there are more
 * than APPENDED_MAX bytes to move. */
static int
remove_range(int fd, off_t from, off_t to)
{
	off_t limit = to + APPENDED_MAX;
	char bytes[COPY_BYTES];
	ssize_t n;

	for (;;) {
		n = pread(fd, bytes, sizeof(bytes), to);
		/* Another program may have appended bytes to the file since
		 * pread(). */
		if (n == 0 && is_longer(fd, to))
			continue;
		if (n == 0)
			return ftruncate(fd, from);
		if (n > 0 && to >= limit)
			errno = EFBIG;
		if (n < 0 || to >= limit)
			return -1;
		if (pwrite(fd, bytes, (size_t)n, from) != n)
			return -1;
		from += n;
		to += n;
	}
}

/* Appends the given bytes to the file, either all of them or none. Returns the
 * offset just past the appended bytes, or -1 with errno set. */
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
	if (n < 0)
		return -1;
	if ((size_t)n == len)
		return end;
	remove_range(fd, end - n, end);
	errno = ENOSPC;
	return -1;
}

/* Appends one file's bytes, starting at the offset `at`, to another file. Stops
 * at the end of the file, on failure, or when it reaches the offset `limit`.
 * Returns the offset reached. */
static size_t
carry_over(int from, size_t at, size_t limit, int to)
{
	char bytes[COPY_BYTES];
	ssize_t n;

	while (at < limit) {
		n = pread(from, bytes, sizeof(bytes), (off_t)at);
		if (n <= 0 || append(to, bytes, (size_t)n) < 0)
			return at;
		at += (size_t)n;
	}
	return at;
}

/* Copies to the new file the bytes that other programs have appended to the old
 * one. Limits their number, because a program might append bytes forever. Keeps
 * both files open, because a program that has opened the old file may still
 * append to it. */
static void
carry_over_and_keep(struct change *c, struct new_file *file)
{
	struct exchanged *x = mem_get(sizeof(*x));

	x->old = c->fd;
	x->new = file->fd;
	x->limit = c->old_text.len + APPENDED_MAX;
	x->end = carry_over(x->old, c->old_text.len, x->limit, x->new);
	c->edit->exchanged = x;
	c->fd = -1;
	file->kept = true;
}

/* Copies to the new file any bytes that other programs have appended to the old
 * one since the last copy, and closes both files. */
static void
finish_exchange(struct edit *e)
{
	struct exchanged *x = e->exchanged;

	carry_over(x->old, x->end, x->limit, x->new);
	unlock_and_close(&x->old);
	unlock_and_close(&x->new);
	free(x);
	e->exchanged = NULL;
}

/* Calls renameat2() for two names in the directory. Returns 0, or -1 with errno
 * set. errno is ENOSYS if the system does not support renameat2(). */
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

/* Gives a new file its final name. Fails if another file already has that name.
 * Returns EDIT_DONE, or EDIT_FAILED with errno set. */
static enum edit_outcome
take_free_name(const struct change *c, const char *from)
{
	if (linkat(c->dir, from, c->dir, c->name, 0) == 0)
		return EDIT_DONE;
	/* Some file systems do not support hard links. */
	if (errno != EEXIST &&
	    rename_with(c, from, c->name, RENAME_NOREPLACE) == 0)
		return EDIT_DONE;
	/* If renameat2() is not available, use renameat(). It would overwrite
	 * an existing file at c->name, but is_unchanged() has checked that no
	 * such file exists. */
	if (errno != EEXIST && renameat(c->dir, from, c->dir, c->name) == 0)
		return EDIT_DONE;
	return EDIT_FAILED;
}

/* Returns whether both structs have the same mode, number of hard links, owner
 * and group. If they differ, another program has changed the file. */
static bool
has_same_owner_and_mode(const struct stat *a, const struct stat *b)
{
	if (a->st_mode != b->st_mode || a->st_nlink != b->st_nlink)
		return false;
	return a->st_uid == b->st_uid && a->st_gid == b->st_gid;
}

/* Returns whether the name refers to the old file, unchanged except for
 * appended bytes. Ignores the file's ctime, because renaming changes it. */
static bool
is_old_file(const struct change *c, const char *name)
{
	struct stat now;

	if (!is_at(c, name, c->fd) || fstat(c->fd, &now) < 0)
		return false;
	return has_same_owner_and_mode(&now, &c->stat) &&
	    now.st_size <= c->stat.st_size + EDIT_MAX &&
	    compare(c) != DIFFERENT;
}

/* Exchanges the names of the old and new files again. Bytes that other programs
 * have appended to the new file are copied to the old one. The table shows the
 * file to which each name refers, if no other program interferes (left) or if
 * one puts its own file at c->name after the exchange (right):
 *
 *                                  c->name  file->name     c->name  file->name
 *   before the exchange            old      new            old      new
 *   exchange_names()               new      old            new      old
 *   the other program                                      other    old
 *   first exchange back            old      new            old      other
 *   second exchange back                                   other    old
 *
 * In this table, "old" is the old file, or another program's replacement of it.
 * Finally, the file with the name file->name is removed. */
static void
exchange_back(const struct change *c, const struct new_file *file)
{
	bool old_still_there = is_at(c, file->name, c->fd);
	size_t len = c->new_text.len;

	/* Ignore a failure of renameat2(), which means that another program has
	 * removed the edited file. */
	rename_with(c, file->name, c->name, RENAME_EXCHANGE);
	/* If another program had put its own file at c->name, exchange the
	 * names again to put that file back. */
	if (is_at_other(c, file->name, file->fd))
		rename_with(c, file->name, c->name, RENAME_EXCHANGE);
	else if (old_still_there)
		carry_over(file->fd, len, len + APPENDED_MAX, c->fd);
}

/* Exchanges the names of the old and new files. Undoes the exchange if another
 * program has changed or replaced the old file since the last check. If the
 * system cannot exchange names, renames the new file over the old one. */
static enum edit_outcome
exchange_names(const struct change *c, const struct new_file *file)
{
	if (rename_with(c, file->name, c->name, RENAME_EXCHANGE) == 0) {
		if (is_old_file(c, file->name))
			return EDIT_DONE;
		exchange_back(c, file);
		return EDIT_CHANGED;
	}
	/* ENOENT means that another program has removed the old or new file. */
	if (errno == ENOENT)
		return EDIT_CHANGED;
	/* If the system or the file system does not support RENAME_EXCHANGE,
	 * rename the new file over the old one. */
	if (renameat(c->dir, file->name, c->dir, c->name) < 0)
		return EDIT_FAILED;
	return EDIT_DONE;
}

/* Creates the new file. Its random name prevents other users from creating it
 * first. If boris is killed, its guard process removes the file. Returns false
 * with errno set on failure. */
static bool
create_new_file(const struct change *c, struct guard *guard,
                struct new_file *file)
{
	size_t dir = (size_t)(c->name - c->path);
	mode_t mode = c->fd < 0 ? 0666 : 0600;
	char unique[17];

	*file = (struct new_file){ .fd = -1 };
	/* random_hex() may fail without setting errno, so set errno first.
	 * EPERM makes write_change() overwrite the old file instead, because
	 * there is no name for a new one; see forbids_new_file(). */
	errno = EPERM;
	if (!random_hex(unique, 8))
		return false;
	buf_fmt(&file->path, "%.*s.boris-%s", (int)dir, c->path, unique);
	file->name = buf_text(&file->path) + dir;
	if (guard_file(guard, file->path.data) == 0)
		file->fd = openat(c->dir, file->name,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return file->fd >= 0;
}

/* Writes the new file and flushes it to disk. Returns false with errno set on
 * failure. EPERM means that the old file's attributes could not be copied. */
static bool
fill_new_file(const struct change *c, int fd)
{
	if (write_part(fd, &c->new_text, 0, c->new_text.len) < 0)
		return false;
	if (c->fd >= 0 && !copy_attributes(c, fd)) {
		errno = EPERM;
		return false;
	}
	return fsync(fd) == 0;
}

/* Gives the new file its final name. If there is an old file, exchanges the
 * names of the two files. */
static enum edit_outcome
take_name(struct change *c, struct new_file *file)
{
	enum edit_outcome outcome;

	if (c->fd < 0)
		return take_free_name(c, file->name);
	/* Lock the new file so that a concurrent edit waits until boris has
	 * copied the bytes that other programs append to the old file. */
	try_lock(file->fd);
	outcome = exchange_names(c, file);
	if (outcome == EDIT_DONE)
		carry_over_and_keep(c, file);
	return outcome;
}

/* Removes the name file->name, which refers to the old file after an exchange
 * of names, and to the new file otherwise. Closes the new file unless it must
 * stay open. Preserves errno. */
static void
close_new_file(const struct change *c, struct guard *guard,
               struct new_file *file)
{
	int error = errno;

	if (file->fd >= 0)
		unlinkat(c->dir, file->name, 0);
	guard_file(guard, NULL);
	buf_free(&file->path);
	if (!file->kept)
		unlock_and_close(&file->fd);
	errno = error;
}

/* Writes the new text to a new file, which then replaces the old one. If the
 * outcome is EDIT_FAILED, errno is set; see fill_new_file(). */
static enum edit_outcome
write_new_file(struct change *c, const struct job *job)
{
	struct guard *guard = job->options->guard;
	enum edit_outcome outcome = EDIT_FAILED;
	struct new_file file;

	if (create_new_file(c, guard, &file) && fill_new_file(c, file.fd))
		outcome = is_unchanged(c) ? take_name(c, &file) : EDIT_CHANGED;
	close_new_file(c, guard, &file);
	return outcome;
}

/* An edit in place. If the new text is longer than the old one, boris first
 * appends the last part of the new text, the extension, to the file. Bytes that
 * other programs append before the extension are moved to the end of the new
 * text. Bytes that they append later stay where they are:
 *
 * 	before   | old text | appended | extension | later |
 * 	after    | new text            | appended  | later | */
struct overwrite {
	size_t start;          /* offset of the first byte changed by the
	                        * edit */
	size_t stop;           /* offset just past the last byte to overwrite;
	                        * not used if the new text is longer than the
	                        * old one */
	struct buf appended;   /* bytes that other programs appended; they lie
	                        * between the old text and the extension */
	size_t extension;      /* offset of the extension in the file */
	size_t extension_end;  /* offset just past the extension; 0 if there is
	                        * none */
};

/* Finds the range of bytes that differ, so that only these are overwritten. If
 * the texts differ in length, the range ends at the end of the shorter one. */
static void
find_difference(const struct change *c, struct overwrite *o)
{
	const struct buf *old_text = &c->old_text, *new_text = &c->new_text;

	o->stop = old_text->len < new_text->len ? old_text->len : new_text->len;
	while (o->start < o->stop &&
	    old_text->data[o->start] == new_text->data[o->start])
		o->start++;
	while (old_text->len == new_text->len && o->stop > o->start &&
	    old_text->data[o->stop - 1] == new_text->data[o->stop - 1])
		o->stop--;
}

/* Appends the extension to the file: the part of the new text beyond the length
 * of the old text. On failure, returns false with errno set and leaves the
 * file's size unchanged. */
static bool
extend_file(const struct change *c, struct overwrite *o)
{
	size_t more = c->new_text.len - c->old_text.len;
	off_t end = append(c->fd, c->new_text.data + c->old_text.len, more);
	int error;

	if (end < 0)
		return false;
	o->extension = (size_t)end - more;
	o->extension_end = (size_t)end;
	/* Some file systems report a full disk only at fsync(). */
	if (fsync(c->fd) == 0)
		return true;
	error = errno;
	remove_range(c->fd, (off_t)o->extension, end);
	errno = error;
	return false;
}

/* Removes the extension, the last part of the new text, if boris has appended
 * it to the file. Returns false with errno set on failure. */
static bool
remove_extension(const struct change *c, const struct overwrite *o)
{
	return o->extension_end == 0 || remove_range(c->fd,
	    (off_t)o->extension, (off_t)o->extension_end) == 0;
}

/* Reads the bytes that other programs appended to the file before boris
 * appended the extension. Returns false if there are more than EDIT_MAX such
 * bytes, if they cannot be read, or if the file has become shorter. */
static bool
read_appended(const struct change *c, struct overwrite *o)
{
	size_t len = o->extension - c->old_text.len;
	ssize_t n;

	if (o->extension < c->old_text.len || len > EDIT_MAX ||
	    !buf_reserve(&o->appended, len))
		return false;
	if (len == 0)
		return true;
	n = pread(c->fd, o->appended.data, len, (off_t)c->old_text.len);
	o->appended.len = len;
	return n == (ssize_t)len;
}

/* Writes the changed bytes of `text` to the file. Then writes the bytes in
 * o->appended after the end of `text`. Other programs appended these bytes, so
 * they must not be lost. Returns false with errno set on failure. */
static bool
write_over(int fd, const struct buf *text, const struct overwrite *o)
{
	const struct buf *appended = &o->appended;
	size_t stop = o->extension_end > 0 ? text->len : o->stop;

	if (write_part(fd, text, o->start, stop) < 0)
		return false;
	if (appended->len == 0)
		return true;
	return pwrite(fd, appended->data, appended->len, (off_t)text->len) ==
	    (ssize_t)appended->len;
}

/* Undoes a failed overwrite: writes the old bytes back, and removes what boris
 * appended to the file. Returns false on failure. Always preserves errno. */
static bool
undo_overwrite(const struct change *c, const struct overwrite *o)
{
	int error = errno;
	bool undone = write_over(c->fd, &c->old_text, o) &&
	    remove_extension(c, o) && fsync(c->fd) == 0;

	errno = error;
	return undone;
}

/* Removes from the file the part of the old text beyond the length of the new
 * text. Returns false with errno set on failure. */
static bool
shorten_file(const struct change *c)
{
	off_t from = (off_t)c->new_text.len, to = (off_t)c->old_text.len;

	return remove_range(c->fd, from, to) == 0 && fsync(c->fd) == 0;
}

/* Overwrites the file with the new text. On failure, restores the old text,
 * except when shortening the file fails. */
static enum edit_outcome
overwrite_file(const struct change *c, struct overwrite *o)
{
	bool grows = c->new_text.len > c->old_text.len;
	bool shrinks = c->new_text.len < c->old_text.len;

	if (grows && !extend_file(c, o))
		return EDIT_FAILED;
	if ((grows && !read_appended(c, o)) || compare(c) == DIFFERENT)
		return remove_extension(c, o) ? EDIT_CHANGED : EDIT_BROKEN;
	if (!write_over(c->fd, &c->new_text, o) || fsync(c->fd) < 0)
		return undo_overwrite(c, o) ? EDIT_FAILED : EDIT_BROKEN;
	if (shrinks && !shorten_file(c))
		return EDIT_BROKEN;
	return EDIT_IN_PLACE;
}

/* Writes the new text to a file in /proc or /sys. Such a file must be written
 * with one write() and cannot be truncated. */
static enum edit_outcome
write_kernel_file(const struct change *c)
{
	if (write_part(c->fd, &c->new_text, 0, c->new_text.len) < 0)
		return EDIT_FAILED;
	return EDIT_IN_PLACE;
}

/* Overwrites the old file with the new text. Preserves any bytes that other
 * programs append in the meantime, even on failure. If the outcome is
 * EDIT_FAILED or EDIT_BROKEN, errno is set. */
static enum edit_outcome
write_in_place(const struct change *c)
{
	struct overwrite o = { .start = 0 };
	enum edit_outcome outcome;
	int error;

	if (!is_unchanged(c))
		return EDIT_CHANGED;
	if (c->stat.st_size == 0 && c->old_text.len > 0)
		return write_kernel_file(c);
	find_difference(c, &o);
	outcome = overwrite_file(c, &o);
	error = errno;
	buf_free(&o.appended);
	errno = error;
	return outcome;
}

/* Returns whether `error`, the errno value of write_new_file(), means that
 * boris cannot replace the file with a new one. In that case, boris may still
 * be able to overwrite the file in place. */
static bool
forbids_new_file(int error)
{
	switch (error) {
	case EACCES:  /* boris has no permission to write to the directory */
	case EPERM:   /* no random number is available for the new file's name,
	               * or the old file's attributes cannot be copied */
	case EROFS:   /* the file is on a writable mount, but its directory is
	               * on a read-only one */
	case EBUSY:   /* the file is a mount point */
	case ENOENT:  /* no file can be created in the directory, for instance
	               * in /proc */
		return true;
	default:
		return false;
	}
}

/* Writes the new text to a new file if possible, or else in place. If the
 * outcome is EDIT_FAILED or EDIT_BROKEN, errno is set. */
static enum edit_outcome
write_change(struct change *c, const struct job *job)
{
	enum edit_outcome outcome;

	if (c->new_text.len > EDIT_MAX) {
		errno = EFBIG;
		return EDIT_FAILED;
	}
	/* Overwrite a file with several hard links in place. If it were
	 * replaced, its other names would still refer to the old content. */
	if (c->fd >= 0 && c->stat.st_nlink != 1)
		return write_in_place(c);
	outcome = write_new_file(c, job);
	if (outcome == EDIT_FAILED && c->fd >= 0 && forbids_new_file(errno))
		return write_in_place(c);
	return outcome;
}

/* Returns the number of lines that follow the first line of the text. */
static int64_t
lines_after_first(const struct buf *text)
{
	return text->len > 0 ? buf_lines(text->data, text->len - 1) : 0;
}

/* Computes the file's new text. Returns EDIT_DONE on success; the caller must
 * then write the text. Otherwise returns the outcome of the edit; if it is
 * EDIT_FAILED, errno is set. */
static enum edit_outcome
replace_in_file(struct change *c)
{
	struct edit *e = c->edit;
	struct replacement r = {
		.text = &c->old_text, .old = &e->old, .new = &e->new,
		.all = e->all, .lines = e->lines, .lines_max = EDIT_LINES
	};
	bool replaced = replace_text(&r);

	c->new_text = r.result;
	e->count = r.count;
	if (!replaced) {
		errno = ENOMEM;
		return EDIT_FAILED;
	}
	if (r.count == 0)
		return EDIT_NOT_FOUND;
	if (r.matching == MATCHING_NO_SPACE) {
		show_around(e, &c->old_text, lines_after_first(&e->old));
		return EDIT_SPACE_DIFFERS;
	}
	if (r.count > 1 && !e->all) {
		show_around(e, &c->old_text, lines_after_first(&e->old));
		return EDIT_AMBIGUOUS;
	}
	return EDIT_DONE;
}

/* Moves the text of a file to create from the edit's `new` to c->new_text.
 * Always returns EDIT_DONE, as replace_in_file() does on success. */
static enum edit_outcome
use_new_text(struct change *c)
{
	c->new_text = c->edit->new;
	memset(&c->edit->new, 0, sizeof(c->edit->new));
	return EDIT_DONE;
}

/* Edits the file after open_file() has returned OPEN_DONE. If the outcome is
 * EDIT_FAILED or EDIT_BROKEN, errno is set. */
static enum edit_outcome
change_file(struct change *c, const struct job *job)
{
	struct edit *e = c->edit;
	enum edit_outcome outcome;

	if (!read_old_file(c))
		return EDIT_FAILED;
	outcome = e->creates ? use_new_text(c) : replace_in_file(c);
	if (outcome != EDIT_DONE)
		return outcome;
	outcome = write_change(c, job);
	if (outcome == EDIT_DONE || outcome == EDIT_IN_PLACE)
		show_around(e, &c->new_text, lines_after_first(&e->new));
	return outcome;
}

/* Returns the status to log for the outcome of the edit, such as "done"
 * (A1). */
static const char *
status_for_log(const struct edit *e)
{
	static const char *const status[] = {
		[EDIT_FAILED] = "failed", [EDIT_DONE] = "done",
		[EDIT_IN_PLACE] = "in_place", [EDIT_NOT_FOUND] = "not_found",
		[EDIT_SPACE_DIFFERS] = "not_found",
		[EDIT_AMBIGUOUS] = "several",
		[EDIT_CHANGED] = "changed", [EDIT_LOCKED] = "locked",
		[EDIT_BROKEN] = "broken"
	};

	if (e->outcome == EDIT_DONE && e->creates)
		return "made";
	return status[e->outcome];
}

/* Closes the files that are still open and frees the buffers. */
static void
end_change(struct change *c)
{
	fd_close(&c->dir);
	unlock_and_close(&c->fd);
	buf_free(&c->old_text);
	buf_free(&c->new_text);
	free(c->path);
}

/* Records the time at which the file was first found locked. Returns whether
 * boris should try again to lock it. */
static bool
record_lock_attempt(struct edit *e, int64_t now)
{
	if (e->locked_at == 0)
		e->locked_at = now;
	return now - e->locked_at < LOCK_WAIT;
}

/* Stores the outcome of the edit. If the outcome is EDIT_FAILED or EDIT_BROKEN,
 * also stores `error`, the errno value of the failure. */
static void
set_outcome(struct edit *e, enum edit_outcome outcome, int error)
{
	e->outcome = outcome;
	if (outcome == EDIT_FAILED || outcome == EDIT_BROKEN)
		e->error = error;
}

/* Edits the file if open_file() could open it, and stores the outcome in any
 * case. `opening` is the result of open_file(), and `open_error` is the errno
 * value if that result is OPEN_FAILED. */
static void
finish_change(struct change *c, struct job *job, enum opening opening,
              int open_error)
{
	struct edit *e = c->edit;
	enum edit_outcome outcome;

	switch (opening) {
	case OPEN_BUSY:
		set_outcome(e, EDIT_LOCKED, 0);
		break;
	case OPEN_FAILED:
		set_outcome(e, EDIT_FAILED, open_error);
		break;
	case OPEN_DONE:
		outcome = change_file(c, job);
		set_outcome(e, outcome, errno);
		break;
	}
	if (c->path != NULL) {
		free(e->path);
		e->path = mem_copy(c->path);
	}
}

/* Logs the outcome of the edit. */
static void
log_outcome(const struct job *job)
{
	const struct edit *e = job->work;
	const char *reason = e->error != 0 ? strerror(e->error) : NULL;

	/* Read the clock again, because writing the file may have taken
	 * time. */
	log_end(job, status_for_log(e), reason, e->path, clock_now());
}

/* Opens and edits the file. If another process has locked the file, does not
 * edit it yet, but sets job->work_at to the time of the next attempt. Gives up
 * after LOCK_WAIT. Returns REJECT_NO_LOG with job->error set if the log cannot
 * be written, otherwise REJECT_NONE. */
static enum job_rejection
make_edit(struct job *job, struct change *c, int64_t now)
{
	struct edit *e = c->edit;
	enum opening opening = open_file(c);
	int open_error = errno;

	if (opening == OPEN_BUSY && record_lock_attempt(e, now)) {
		job->work_at = now + LOCK_INTERVAL;
		return REJECT_NONE;
	}
	job->work_started = true;
	/* Do not edit the file if the edit cannot be logged (A2). */
	if (log_start(job, "edit", e->path) < 0) {
		job->error = errno;
		return REJECT_NO_LOG;
	}
	finish_change(c, job, opening, open_error);
	log_outcome(job);
	if (e->exchanged != NULL)
		job->work_at = now + APPEND_WAIT;
	return REJECT_NONE;
}

enum job_rejection
edit_run(struct job *job, const char *dir, int64_t now)
{
	struct edit *e = job->work;
	struct change c = { .edit = e, .dir = -1, .fd = -1 };
	enum job_rejection rejected;
	char *path;

	if (e->exchanged != NULL) {
		finish_exchange(e);
		return REJECT_NONE;
	}
	path = path_from(dir, e->path);
	free(e->path);
	e->path = path;
	rejected = make_edit(job, &c, now);
	end_change(&c);
	return rejected;
}

void
edit_free(void *work)
{
	struct edit *e = work;

	if (e->exchanged != NULL)
		finish_exchange(e);
	free(e->path);
	buf_free(&e->old);
	buf_free(&e->new);
	buf_free(&e->shown);
	free(e);
}
