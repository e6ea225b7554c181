/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L
/* With POSIX_ONLY, Linux-specific code is omitted, so that the portable code
 * can be tested on Linux. */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#endif

#include "run/mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"

/* Limits of the mount table
 *
 * /proc/self/mountinfo contains a line for each mount in boris's mount
 * namespace. Two kinds of mounts are not listed:
 *
 * - In a chroot, only mounts below the root directory are listed. If the root
 *   directory is not a mount point, the table has no line with the mount point
 *   "/". In this case, mounts_all_local() returns false.
 * - A link such as /proc/PID/root leads to the mounts of another process. The
 *   caller must therefore treat paths in /proc as not local, and mounts below
 *   /proc are ignored here. (With systemd, /proc/sys/fs/binfmt_misc is an
 *   automount point on most hosts.) */

struct mounts {
	int fd;      /* descriptor of the mount table, or -1 */
	bool local;  /* true if all file systems were local when the mount table
	              * was last read */
};

enum { READ_SIZE = 4096 };  /* bytes read at a time */

/* Local file system types. All other types are treated as not local. */
static const char *const local_types[] = {
	/* disks and flash memory */
	"bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs",
	"iso9660", "jffs2", "squashfs", "ubifs", "vfat", "xfs", "zfs",
	/* memory, and layers of other mounts */
	"devtmpfs", "hugetlbfs", "overlay", "ramfs", "rootfs", "tmpfs",
	/* interfaces of the kernel */
	"binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs",
	"devpts", "efivarfs", "fusectl", "mqueue", "nsfs", "proc", "pstore",
	"rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs"
};

static bool
is_local_type(const char *type, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(local_types) / sizeof(local_types[0]); i++) {
		if (strlen(local_types[i]) == len &&
		    memcmp(local_types[i], type, len) == 0)
			return true;
	}
	return false;
}

/* Skips n fields of a line. Returns the start of the next field, or the end of
 * the text. */
static const char *
skip_fields(const char *text, int n)
{
	for (; n > 0 && *text != '\0'; n--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return text;
}

/* Parses each line of the table. For example, in the line "36 35 98:0 /a /mnt
 * rw,noatime master:1 - ext3 /dev/root rw", the fifth field "/mnt" is the mount
 * point, and the field after the hyphen, "ext3", is the type. A space in a
 * field is written as "\040". */
bool
mounts_all_local(const char *table)
{
	const char *line = table, *point, *type, *end;
	bool has_root = false;

	for (; *line != '\0'; line = end + strspn(end, "\n")) {
		end = line + strcspn(line, "\n");
		point = skip_fields(line, 4);
		type = strstr(line, " - ");
		if (type == NULL || type >= end)
			return false;
		type += 3;
		if (strncmp(point, "/proc/", 6) == 0)
			continue;
		if (!is_local_type(type, strcspn(type, " ")))
			return false;
		if (strncmp(point, "/ ", 2) == 0)
			has_root = true;
	}
	return has_root;
}

/* Reads the mount table from its start. Returns whether all file systems in it
 * are local. Returns false if the table cannot be read. */
static bool
read_table(int fd)
{
	struct buf table = { NULL, 0, 0 };
	bool local = lseek(fd, 0, SEEK_SET) == 0;
	ssize_t n = 1;

	while (local && n > 0) {
		local = buf_reserve(&table, READ_SIZE);
		if (local)
			n = fd_read(fd, table.data + table.len, READ_SIZE);
		if (n > 0)
			table.len += (size_t)n;
	}
	local = local && n == 0 && mounts_all_local(buf_text(&table));
	buf_free(&table);
	return local;
}

struct mounts *
mounts_open(void)
{
	struct mounts *m = mem_get(sizeof(*m));

	m->fd = -1;
#ifdef ON_LINUX
	m->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (m->fd >= 0)
		m->local = read_table(m->fd);
#endif
	return m;
}

void
mounts_close(struct mounts *m)
{
	fd_close(&m->fd);
	free(m);
}

bool
mounts_refresh(struct mounts *m)
{
	struct pollfd change = { .fd = m->fd, .events = POLLPRI };

	if (m->fd < 0)
		return false;
	/* The kernel reports each change of the mount table once, with
	 * POLLPRI. */
	if (poll(&change, 1, 0) != 0)
		m->local = read_table(m->fd);
	return m->local;
}
