#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#define _GNU_SOURCE  /* O_PATH, syscall, unshare */
#endif
#define _POSIX_C_SOURCE 200809L

#include "fence.h"

#include <errno.h>
#include <string.h>

#ifdef ON_LINUX
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "buf.h"

/* Ends boris: says that the option can't be had, why, and errno's reason. */
static void
refuse(const char *option, const char *why)
{
	fatal(1, option, why, strerror(errno));
}

#ifdef ON_LINUX

/* As in linux/landlock.h, which not every libc comes with. An older libc has no
 * numbers for its calls; -1 is one that fails on every kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset (-1)
#define SYS_landlock_add_rule (-1)
#define SYS_landlock_restrict_self (-1)
#endif

enum {
	CREATE_RULESET_VERSION = 1,  /* a flag: only return the ABI's number */
	RULE_PATH_BENEATH = 1,
	REFER_ABI = 2,    /* earlier ones forbid what REFER stands for */
	TRUNCATE_ABI = 3  /* earlier ones leave truncate(2) open (F3) */
};

/* LANDLOCK_ACCESS_FS_*, those that write. REFER: rename and link between two
 * directories, which a domain forbids unless a rule allows it. */
enum {
	WRITE_FILE = 1 << 1, REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5,
	MAKE_CHAR = 1 << 6, MAKE_DIR = 1 << 7, MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9, MAKE_FIFO = 1 << 10, MAKE_BLOCK = 1 << 11,
	MAKE_SYM = 1 << 12, REFER = 1 << 13, TRUNCATE = 1 << 14,

	WRITING = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG |
	    MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE,
	/* Allowed nowhere: root could make a file for any disk, and open it. */
	DEVICES = MAKE_CHAR | MAKE_BLOCK
};

/* Lets fsopen() fail in all that is started. With it an overlay can be made,
 * which removes all in its work directory. Landlock refuses mount() only. */
static void
forbid_fsopen(void)
{
	static const struct {  /* as struct sock_filter in linux/filter.h */
		uint16_t code;
		uint8_t if_equal, if_not;  /* so many next steps are skipped */
		uint32_t value;
	} steps[] = {
		{ 0x20, 0, 0, 0 },             /* the call's number, */
		{ 0x54, 0, 0, ~0x40000000u },  /* without the bit of x32 */
		{ 0x15, 3, 0, 430 }, { 0x15, 2, 0, 4430 },  /* fsopen's; */
		{ 0x15, 1, 0, 5430 }, { 0x15, 0, 1, 6430 },  /* MIPS has more */
		{ 0x06, 0, 0, 0x50000 | ENOSYS }, { 0x06, 0, 0, 0x7fff0000 }
	};
	const struct { unsigned short n; const void *steps; } program =
	    { sizeof(steps) / sizeof(steps[0]), steps };

	if (prctl(PR_SET_SECCOMP, 2 /* a filter */, &program, 0, 0) < 0)
		refuse("--write", "needs seccomp filters");
}

/* Without --write it only forbids to mount and to reach into processes outside,
 * as every Landlock domain does; with --hide also to make device files. */
static int
enter_landlock(const struct options *o, const char *option)
{
	/* struct landlock_ruleset_attr as of the first ABI */
	uint64_t handled = o->write != NULL ? WRITING | DEVICES
	    : o->hide != NULL ? REFER | DEVICES : REFER;
	const char *dir = o->write != NULL ? o->write : "/\0";
	struct {  /* landlock_path_beneath_attr */
		uint64_t allowed;
		int32_t fd;
	} rule;
	int ruleset;
	long abi;

	errno = EOPNOTSUPP;
	abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
	    CREATE_RULESET_VERSION);
	if (abi < (o->write != NULL ? TRUNCATE_ABI : REFER_ABI))
		return -1;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled,
	    sizeof(handled), 0);
	if (ruleset < 0)
		return -1;
	for (; *dir != '\0'; dir += strlen(dir) + 1) {
		rule.allowed = o->write != NULL ? WRITING : REFER;
		rule.fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (rule.fd < 0 || syscall(SYS_landlock_add_rule, ruleset,
		    RULE_PATH_BENEATH, &rule, 0) < 0)
			refuse(option, dir);
		close(rule.fd);
	}
	/* NO_NEW_PRIVS, which the kernel asks for unless this is root: with it
	 * no setuid program leads out of the fence either. */
	if ((o->write != NULL && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -1;
	if (o->write != NULL)
		forbid_fsopen();
	return close(ruleset);
}

#define CAPABILITY(number) ((uint64_t)1 << (number))
/* Root could use these to open any file by its handle, take descriptors of
 * boris, read any process's memory (/proc/PID/environ with PERFMON or SYS_ADMIN
 * since Linux 6.16, /proc/kcore), or change the kernel. With NET_ADMIN it could
 * link its network to another. */
static const uint64_t of_any = CAPABILITY(2) /* DAC_READ_SEARCH */ |
	CAPABILITY(16) /* SYS_MODULE */ | CAPABILITY(17) /* SYS_RAWIO */ |
	CAPABILITY(19) /* SYS_PTRACE */ | CAPABILITY(21) /* SYS_ADMIN */ |
	CAPABILITY(22) /* SYS_BOOT */ | CAPABILITY(38) /* PERFMON */ |
	CAPABILITY(39) /* BPF */, of_network = CAPABILITY(12) /* NET_ADMIN */;

static int
write_file(const char *name, const void *text, size_t n)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, n) != (ssize_t)n ? -1 : close(fd);
}

/* In a user namespace of its own the process keeps this one id. */
static int
keep_id(const char *map, int64_t id)
{
	char text[64];
	struct buf b = { text, 0, sizeof(text) };

	buf_add(&b, NUM(id), " ", NUM(id), " 1");
	return write_file(map, text, b.len);
}

static int
raise_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq interface = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &interface) < 0 ? -1
	    : close(fd);
}

/* For good: also out of the bounding set, so that exec gives none back. An
 * ordinary user may not change that set, but gains nothing by exec anyway. */
static int
give_up(uint64_t capabilities)
{
	/* As in linux/capability.h: version 3, this process; and its effective,
	 * permitted and inheritable ones, the lower 32, then the upper */
	uint32_t header[] = { 0x20080522, 0 }, sets[6];
	int i, has;

	for (i = 0; i < 64; i++) {
		has = (capabilities & CAPABILITY(i)) == 0 ? 0
		    : prctl(PR_CAPBSET_READ, i, 0, 0, 0);
		if (has < 0 && errno != EINVAL)  /* EINVAL: unknown here */
			return -1;
		if (has == 1 && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 &&
		    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
			return -1;
	}
	if (syscall(SYS_capget, header, sets) < 0)
		return -1;
	for (i = 0; i < 6; i++)
		sets[i] &= ~(uint32_t)(capabilities >> (i / 3 * 32));
	return (int)syscall(SYS_capset, header, sets);
}

/* Root gets the other namespaces without a user namespace. All others need one,
 * and have all capabilities in it, until the fences stand. */
static int
enter_user_namespace(void)
{
	int64_t uid = geteuid(), gid = getegid();

	return unshare(CLONE_NEWUSER) < 0 ||
	    write_file("/proc/self/setgroups", "deny", 4) < 0 ||
	    keep_id("/proc/self/uid_map", uid) < 0 ||
	    keep_id("/proc/self/gid_map", gid) < 0 ? -1 : 0;
}

/* Covers each path with an empty directory or file of a read-only tmpfs, which
 * is mounted on /proc meanwhile. A cover stays if a directory above is renamed.
 * What is mounted outside still arrives here. */
static int
cover(const char *paths)
{
	enum { FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC };
	struct stat st;

	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
	    mount("boris", "/proc", "tmpfs", FLAGS, NULL) < 0 ||
	    mkdir("/proc/directory", 0555) < 0 ||
	    mknod("/proc/file", S_IFREG | 0444, 0) < 0 ||
	    mount(NULL, "/proc", NULL, MS_REMOUNT | MS_RDONLY | FLAGS,
	    NULL) < 0)
		return -1;
	for (; *paths != '\0'; paths += strlen(paths) + 1) {
		if (stat(paths, &st) < 0 || mount(S_ISDIR(st.st_mode)
		    ? "/proc/directory" : "/proc/file", paths, NULL, MS_BIND,
		    NULL) < 0)
			refuse("--hide", paths);
	}
	return umount2("/proc", MNT_DETACH);
}

/* Landlock comes behind the mounts: it forbids them, and writing to /proc. Root
 * needs it with every fence: else its commands could trace those of root's
 * processes that have only the same capabilities, and take their descriptors.
 * Other users are kept from that by their user namespace (F3). */
void
fence_raise(const struct options *o)
{
	bool root = geteuid() == 0, spaces = o->no_network || o->hide != NULL;
	const char *space = o->hide != NULL ? "--hide"
	    : o->no_network ? "--no-network" : "--write";
	const char *option = o->write != NULL ? "--write" : space;

	if (!spaces && o->write == NULL)
		return;
	if (spaces && !root && enter_user_namespace() < 0)
		refuse(space, "needs a user namespace");
	/* Keys and System V memory of processes outside are out of reach. */
	syscall(SYS_keyctl, 1, NULL);  /* KEYCTL_JOIN_SESSION_KEYRING */
	if ((spaces || root) && unshare(CLONE_NEWIPC) < 0)
		refuse(space, "needs a System V namespace");
	if (o->no_network && (unshare(CLONE_NEWNET) < 0 ||
	    raise_loopback() < 0))
		refuse("--no-network", "needs a network namespace");
	if (o->hide != NULL && (unshare(CLONE_NEWNS) < 0 || cover(o->hide) < 0))
		refuse("--hide", "needs a mount namespace");
	if ((o->write != NULL || root) && enter_landlock(o, option) < 0)
		refuse(option,
		    "needs Landlock as in Linux 6.2 (5.19 without --write)");
	/* These two keep commands from tracing boris, and from taking its HTTP
	 * socket or log by pidfd_getfd(). With a user namespace boris has got
	 * all capabilities, and gives up all. */
	if (give_up(spaces && !root ? ~(uint64_t)0
	    : of_any | (o->no_network ? of_network : 0)) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		refuse(option, "needs to give up capabilities");
}

#else /* elsewhere */

void
fence_raise(const struct options *o)
{
	errno = ENOSYS;
	if (o->no_network || o->write != NULL || o->hide != NULL)
		refuse(o->no_network ? "--no-network" : o->write != NULL
		    ? "--write" : "--hide", "needs Linux");
}

#endif
