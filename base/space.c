/* SPDX-License-Identifier: ISC */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#define _DEFAULT_SOURCE  /* Request fstatfs() and sysinfo(). */
#endif
#define _POSIX_C_SOURCE 200809L
/* Support file systems larger than 2 GiB on 32-bit hosts. */
#define _FILE_OFFSET_BITS 64

#include "base/space.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef ON_LINUX
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#endif

#include "base/buf.h"
#include "base/text.h"

static const struct space unknown = { INT64_MAX, 0 };

/* Returns the product of the two numbers, or INT64_MAX if it would overflow. */
static int64_t
multiply(uint64_t blocks, uint64_t block_size)
{
	if (block_size > 0 && blocks > INT64_MAX / block_size)
		return INT64_MAX;
	return (int64_t)(blocks * block_size);
}

struct space
space_on_disk(int fd)
{
	struct statvfs st;
	struct space space;

	if (fstatvfs(fd, &st) < 0 || st.f_blocks == 0)
		return unknown;
	space.free = multiply(st.f_bavail, st.f_frsize);
	space.total = multiply(st.f_blocks, st.f_frsize);
	return space;
}

#ifdef ON_LINUX

/* The file system types of tmpfs and ramfs, as in linux/magic.h. This header is
 * not included, because some C libraries do not provide it. */
static const uint32_t tmpfs = 0x01021994;
static const uint32_t ramfs = 0x858458f6;

/* size of the buffer for the contents of /proc/self/cgroup, in bytes */
enum { GROUP_NAME = 1000 };

/* Reads at most size - 1 bytes of a file into `text`, and appends a NUL.
 * Returns false if the file cannot be read. */
static bool
read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return false;
	while (n > 0 && len < size - 1) {
		n = read(fd, text + len, size - 1 - len);
		if (n > 0)
			len += (size_t)n;
	}
	close(fd);
	text[len] = '\0';
	return n >= 0;
}

/* Finds the line that starts with the given word. Returns the number after the
 * word, or -1 if there is no such line. */
static int64_t
find_number(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *end;

	while (strncmp(text, word, len) != 0) {
		text = strchr(text, '\n');
		if (text == NULL)
			return -1;
		text++;
	}
	text += len;
	text += strspn(text, " ");
	return digits_value(text, 10, &end);
}

/* Reads the file memory.NAME of a control group. `path` is the group's
 * directory. Returns the number that follows `word` in the file, or -1 if it is
 * not found. */
static int64_t
group_number(const char *path, const char *name, const char *word)
{
	struct buf file = { NULL, 0, 0 };
	char text[8192];
	int64_t value = -1;

	buf_fmt(&file, "%s/memory.%s", path, name);
	if (read_text(buf_text(&file), text, sizeof(text)))
		value = find_number(text, word);
	buf_free(&file);
	return value;
}

/* Returns the available memory of the control group (version 2) in the given
 * directory. Page cache counts as available, because the kernel reclaims it
 * before it kills a process. */
static struct space
group_space(const char *path)
{
	int64_t limit = group_number(path, "max", "");
	int64_t used = group_number(path, "current", "");
	int64_t active, inactive;
	struct space space;

	if (limit < 0 || used < 0)
		return unknown;
	space.total = limit;
	space.free = limit - used;
	active = group_number(path, "stat", "active_file");
	inactive = group_number(path, "stat", "inactive_file");
	if (active > 0)
		space.free += active;
	if (inactive > 0)
		space.free += inactive;
	return space;
}

static struct space
host_space(void)
{
	struct space space = unknown;
	struct sysinfo info;
	char text[8192];
	int64_t available = -1, total = -1;

	if (read_text("/proc/meminfo", text, sizeof(text))) {
		total = find_number(text, "MemTotal:");
		available = find_number(text, "MemAvailable:");
	}
	if (total >= 0 && available >= 0) {
		space.free = multiply((uint64_t)available, 1024);
		space.total = multiply((uint64_t)total, 1024);
	} else if (sysinfo(&info) == 0) {
		/* Use sysinfo() if /proc is not mounted, or lacks MemAvailable,
		 * which was added in Linux 3.14. */
		space.free = multiply((uint64_t)info.freeram + info.bufferram,
		    info.mem_unit);
		space.total = multiply(info.totalram, info.mem_unit);
	}
	return space;
}

struct space
space_in_memory(void)
{
	static const char root[] = "/sys/fs/cgroup";
	struct space least = host_space(), group;
	char text[GROUP_NAME], path[sizeof(root) + GROUP_NAME], *name;

	if (!read_text("/proc/self/cgroup", text, sizeof(text)))
		return least;
	name = strstr(text, "0::/");
	if (name == NULL)
		return least;
	name += strlen("0::");
	name[strcspn(name, "\n")] = '\0';
	memcpy(path, root, strlen(root));
	memcpy(path + strlen(root), name, strlen(name) + 1);
	/* Check all parents of the control group, because their limits apply as
	 * well. */
	while (strlen(path) >= strlen(root)) {
		group = group_space(path);
		if (group.free < least.free)
			least = group;
		*strrchr(path, '/') = '\0';
	}
	return least;
}

bool
space_is_memory(int fd)
{
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return false;
	return st.f_blocks == 0 || (uint32_t)st.f_type == tmpfs ||
	    (uint32_t)st.f_type == ramfs;
}

#else

struct space
space_in_memory(void)
{
	return unknown;
}

bool
space_is_memory(int fd)
{
	(void)fd;
	return false;
}

#endif
