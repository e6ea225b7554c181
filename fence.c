#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#define _GNU_SOURCE  /* O_PATH, syscall, unshare */
#endif
#define _POSIX_C_SOURCE 200809L

#include "fence.h"

#include <errno.h>
#include <stddef.h>

#ifdef ON_LINUX

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buf.h"

/* -- Writing (F1) ------------------------------------------------------ */

/* Landlock, as in linux/landlock.h, which not every libc comes with. An older
 * libc has no numbers for its calls; -1 is one that fails on every kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset (-1)
#define SYS_landlock_add_rule (-1)
#define SYS_landlock_restrict_self (-1)
#endif

enum {
	CREATE_RULESET_VERSION = 1,  /* a flag: only return the ABI's number */
	RULE_PATH_BENEATH = 1,
	TRUNCATE_ABI = 3  /* earlier ones leave truncate(2) open (F3) */
};

/* LANDLOCK_ACCESS_FS_*, those that write. REFER: between two directories. */
enum {
	WRITE_FILE = 1 << 1, REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5,
	MAKE_CHAR = 1 << 6, MAKE_DIR = 1 << 7, MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9, MAKE_FIFO = 1 << 10, MAKE_BLOCK = 1 << 11,
	MAKE_SYM = 1 << 12, REFER = 1 << 13, TRUNCATE = 1 << 14,

	ALLOWED = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG |
	    MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE,
	/* Allowed nowhere: through its own device file root writes a disk. */
	DEVICES = MAKE_CHAR | MAKE_BLOCK
};

/* struct landlock_path_beneath_attr */
struct landlock_rule {
	uint64_t allowed_access;
	int32_t parent_fd;
};

static int
allow_below(int ruleset, const char *dir)
{
	struct landlock_rule rule;

	rule.allowed_access = ALLOWED;
	rule.parent_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rule.parent_fd < 0 || syscall(SYS_landlock_add_rule, ruleset,
	    RULE_PATH_BENEATH, &rule, 0) < 0)
		return -1;
	close(rule.parent_fd);
	return 0;
}

/* Without directories it only keeps the process from making devices, mounting,
 * and reaching into processes outside (F5). *missing: what has failed. */
static int
restrict_writing(const char *dirs, const char **missing)
{
	/* struct landlock_ruleset_attr as of the first ABI */
	uint64_t handled_access_fs = dirs != NULL ? ALLOWED | DEVICES : DEVICES;
	int ruleset;
	long abi;

	errno = EOPNOTSUPP;
	abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
	    CREATE_RULESET_VERSION);
	if (abi < (dirs != NULL ? TRUNCATE_ABI : 1))
		return -1;
	ruleset = (int)syscall(SYS_landlock_create_ruleset,
	    &handled_access_fs, sizeof(handled_access_fs), 0);
	if (ruleset < 0)
		return -1;
	for (; dirs != NULL && *dirs != '\0'; dirs += strlen(dirs) + 1) {
		if (allow_below(ruleset, dirs) < 0) {
			*missing = dirs;
			return -1;
		}
	}
	/* The kernel asks it of everybody but root. With it no setuid program
	 * leads out of the fence either. */
	if ((dirs != NULL && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -1;
	close(ruleset);
	return 0;
}

/* -- Namespaces (F2, F5) ----------------------------------------------- */

/* Capabilities, as in linux/capability.h */
enum { CAPABILITY_VERSION_3 = 0x20080522 };

#define CAPABILITY(number) ((uint64_t)1 << (number))
/* With these root could take boris's descriptors; and get back: through the
 * kernel, into a process's mounts or network, by a file's handle, by a link. */
static const uint64_t of_any = CAPABILITY(19) /* SYS_PTRACE */,
    of_namespaces = CAPABILITY(16) /* SYS_MODULE */ |
	CAPABILITY(17) /* SYS_RAWIO */ | CAPABILITY(21) /* SYS_ADMIN */ |
	CAPABILITY(39) /* BPF */,
    of_hide = CAPABILITY(2) /* DAC_READ_SEARCH */,
    of_network = CAPABILITY(12) /* NET_ADMIN */;

struct capability_header {
	uint32_t version;
	int pid;  /* 0: this one */
};

struct capability_sets {  /* two of them: the lower 32, the upper */
	uint32_t effective, permitted, inheritable;
};

static int
write_file(const char *name, const void *text, size_t n)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return -1;
	close(fd);
	return 0;
}

/* In a user namespace of its own the process keeps this one id. */
static int
keep_id(const char *map, int64_t id)
{
	char text[64];
	struct buf b = { text, 0, sizeof(text), false };

	buf_number(&b, "", id, " ");
	buf_number(&b, "", id, " 1");
	return write_file(map, text, b.len);
}

static int
raise_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq interface = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &interface) < 0)
		return -1;
	close(fd);
	return 0;
}

/* For good: also out of the bounding set, so that exec gives none back. Who may
 * not change that set, as an ordinary user, gains nothing by exec. */
static int
give_up(uint64_t capabilities)
{
	struct capability_header header = { CAPABILITY_VERSION_3, 0 };
	struct capability_sets sets[2];
	uint32_t kept;
	int i, has;

	for (i = 0; i < 64; i++) {
		if ((capabilities & CAPABILITY(i)) == 0)
			continue;
		has = prctl(PR_CAPBSET_READ, i, 0, 0, 0);
		if (has < 0 && errno != EINVAL)  /* this kernel knows it */
			return -1;
		if (has == 1 && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 &&
		    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
			return -1;
	}
	if (syscall(SYS_capget, &header, sets) < 0)
		return -1;
	for (i = 0; i < 2; i++) {
		kept = ~(uint32_t)(capabilities >> 32 * i);
		sets[i].effective &= kept;
		sets[i].permitted &= kept;
		sets[i].inheritable &= kept;
	}
	return (int)syscall(SYS_capset, &header, sets);
}

/* Only root gets other namespaces without a user namespace of its own. In that
 * everybody else has all capabilities, for as long as the fences take. */
static int
enter_user_namespace(void)
{
	int64_t uid = geteuid(), gid = getegid();

	return unshare(CLONE_NEWUSER) < 0 ||
	    write_file("/proc/self/setgroups", "deny", 4) < 0 ||
	    keep_id("/proc/self/uid_map", uid) < 0 ||
	    keep_id("/proc/self/gid_map", gid) < 0 ? -1 : 0;
}

/* Mounts an empty directory or file on each path, which stays where a directory
 * above is renamed, from a read-only file system that is for now on /proc. What
 * is mounted outside still arrives here. *missing: the path that has failed. */
static int
cover(const char *paths, const char **missing)
{
	enum { FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC };
	struct stat st;
	int fd;

	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
	    mount("boris", "/proc", "tmpfs", FLAGS, NULL) < 0 ||
	    mkdir("/proc/directory", 0555) < 0)
		return -1;
	fd = open("/proc/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
	if (fd < 0 || close(fd) < 0 || mount(NULL, "/proc", NULL, MS_REMOUNT |
	    MS_RDONLY | FLAGS, NULL) < 0)
		return -1;
	for (; *paths != '\0'; paths += strlen(paths) + 1) {
		if (stat(paths, &st) < 0 || mount(S_ISDIR(st.st_mode)
		    ? "/proc/directory" : "/proc/file", paths, NULL, MS_BIND,
		    NULL) < 0) {
			*missing = paths;
			return -1;
		}
	}
	return umount2("/proc", MNT_DETACH);
}

/* -- The door ---------------------------------------------------------- */

/* Landlock comes last: behind it /proc can't be written, and nothing mounted.
 * Where root hides, a process outside of the same user could be used to look
 * from there, had it no capability that commands lack: Landlock forbids that,
 * and where boris is not root its user namespace does (F5). */
const char *
fence_raise(const struct fence_options *o, const char **missing)
{
	bool root = geteuid() == 0, spaces = o->no_network || o->hide != NULL;
	uint64_t unwanted = of_any;
	const char *option = o->write != NULL ? "--write"
	    : o->hide != NULL ? "--hide" : "--no-network";

	if (!spaces && o->write == NULL)
		return NULL;
	*missing = "needs a user namespace";
	if (spaces && !root && enter_user_namespace() < 0)
		return o->hide != NULL ? "--hide" : "--no-network";
	*missing = "needs a network namespace";
	if (o->no_network && (unshare(CLONE_NEWNET) < 0 ||
	    raise_loopback() < 0))
		return "--no-network";
	*missing = "needs a mount namespace";
	if (o->hide != NULL && (unshare(CLONE_NEWNS) < 0 ||
	    cover(o->hide, missing) < 0))
		return "--hide";
	*missing = o->write == NULL ? "needs Landlock (Linux 5.13) for root"
	    : "needs Landlock, its third ABI or a later one (Linux 6.2)";
	if ((o->write != NULL || (o->hide != NULL && root)) &&
	    restrict_writing(o->write, missing) < 0)
		return option;
	/* Nor can a command have a descriptor of boris's, its HTTP socket or a
	 * log, given to it by pidfd_getfd(), or trace boris. */
	*missing = "needs to give up capabilities";
	if (spaces)
		unwanted |= root ? of_namespaces : ~(uint64_t)0;
	if (o->hide != NULL)
		unwanted |= of_hide;
	if (o->no_network)
		unwanted |= of_network;
	if (give_up(unwanted) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return option;
	return NULL;
}

#else /* elsewhere */

const char *
fence_raise(const struct fence_options *o, const char **missing)
{
	errno = ENOSYS;
	*missing = "needs Linux";
	return o->no_network ? "--no-network" : o->write != NULL ? "--write"
	    : o->hide != NULL ? "--hide" : NULL;
}

#endif
