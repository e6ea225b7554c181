#ifdef __linux__
#define _GNU_SOURCE  /* O_PATH, syscall, unshare */
#endif
#define _POSIX_C_SOURCE 200809L

#include "fence.h"

#include <errno.h>
#include <stddef.h>

#ifdef __linux__

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buf.h"

/* -- Writing (F1) ------------------------------------------------------ */

/* Landlock, as in linux/landlock.h: repeated here because not every libc comes
 * with the kernel's headers. A libc older than Landlock has no numbers for its
 * calls; -1 is a call that fails on every kernel. */
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

/* LANDLOCK_ACCESS_FS_*, those that write. REFER: to link and to rename from one
 * directory to another. */
enum {
	WRITE_FILE = 1 << 1, REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5,
	MAKE_CHAR = 1 << 6, MAKE_DIR = 1 << 7, MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9, MAKE_FIFO = 1 << 10, MAKE_BLOCK = 1 << 11,
	MAKE_SYM = 1 << 12, REFER = 1 << 13, TRUNCATE = 1 << 14,

	ALLOWED = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG |
	    MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE,
	/* Root could write a disk through a device file of its own making, so
	 * these are allowed nowhere. */
	DEVICES = MAKE_CHAR | MAKE_BLOCK
};

/* struct landlock_path_beneath_attr */
struct landlock_rule {
	uint64_t allowed_access;
	int32_t parent_fd;
};

/* A directory that can't be opened is left out: that allows less, not more. */
static int
allow_below(int ruleset, const char *dir)
{
	struct landlock_rule rule;

	rule.allowed_access = ALLOWED;
	rule.parent_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule,
	    0) < 0)
		return -1;
	close(rule.parent_fd);
	return 0;
}

static int
restrict_writing(const char *dirs)
{
	/* struct landlock_ruleset_attr as of the first ABI */
	uint64_t handled_access_fs = ALLOWED | DEVICES;
	int ruleset;
	long abi;

	errno = EOPNOTSUPP;
	abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
	    CREATE_RULESET_VERSION);
	if (abi < TRUNCATE_ABI)
		return -1;
	ruleset = (int)syscall(SYS_landlock_create_ruleset,
	    &handled_access_fs, sizeof(handled_access_fs), 0);
	if (ruleset < 0)
		return -1;
	for (; *dirs != '\0'; dirs += strlen(dirs) + 1) {
		if (allow_below(ruleset, dirs) < 0)
			return -1;
	}
	/* The kernel asks it of everybody but root. With it no setuid program
	 * leads out of the fence either. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -1;
	close(ruleset);
	return 0;
}

/* -- The network (F2) -------------------------------------------------- */

/* Capabilities, as in linux/capability.h. With these root could get back: into
 * the network of any process, into a process there, by a link from one network
 * to another, or through the kernel itself. */
enum { CAPABILITY_VERSION_3 = 0x20080522 };

#define CAPABILITY(number) ((uint64_t)1 << (number))
static const uint64_t ways_back =
	CAPABILITY(12) /* NET_ADMIN */ | CAPABILITY(16) /* SYS_MODULE */ |
	CAPABILITY(17) /* SYS_RAWIO */ | CAPABILITY(19) /* SYS_PTRACE */ |
	CAPABILITY(21) /* SYS_ADMIN */ | CAPABILITY(39) /* BPF */;

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
	struct buf b = { NULL, 0, 0, false };
	int result;

	buf_int(&b, id);
	buf_puts(&b, " ");
	buf_int(&b, id);
	buf_puts(&b, " 1");
	result = b.failed ? -1 : write_file(map, b.data, b.len);
	buf_free(&b);
	return result;
}

static int
raise_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq interface;

	memset(&interface, 0, sizeof(interface));
	memcpy(interface.ifr_name, "lo", sizeof("lo"));
	interface.ifr_flags = IFF_UP;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &interface) < 0)
		return -1;
	close(fd);
	return 0;
}

/* For good: also out of the bounding set, so that exec gives none back. */
static int
give_up(uint64_t capabilities)
{
	struct capability_header header = { CAPABILITY_VERSION_3, 0 };
	struct capability_sets sets[2];
	uint32_t kept;
	int i;

	for (i = 0; i < 64; i++) {
		if ((capabilities & CAPABILITY(i)) != 0 &&
		    prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
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

/* Only root gets a network namespace without a user namespace of its own. In
 * that everybody else has all capabilities; they raise loopback, and go. */
static const char *
leave_network(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	bool root = uid == 0;

	if (unshare(root ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return root ? "--no-network needs a network namespace"
		    : "--no-network needs a user namespace";
	if (!root && (write_file("/proc/self/setgroups", "deny", 4) < 0 ||
	    keep_id("/proc/self/uid_map", (int64_t)uid) < 0 ||
	    keep_id("/proc/self/gid_map", (int64_t)gid) < 0))
		return "--no-network needs its ids in a user namespace";
	if (raise_loopback() < 0)
		return "--no-network needs a loopback interface";
	/* Nor can a command have boris's own HTTP socket, made outside, given
	 * to it by pidfd_getfd(), or trace boris. */
	if (give_up(root ? ways_back : ~(uint64_t)0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return "--no-network needs to give up capabilities";
	return NULL;
}

/* -- The door ---------------------------------------------------------- */

/* The network first: behind the other fence /proc can't be written. */
const char *
fence_raise(const struct fence_options *o)
{
	const char *missing = o->no_network ? leave_network() : NULL;

	if (missing != NULL)
		return missing;
	if (o->write != NULL && restrict_writing(o->write) < 0)
		return "--write needs Landlock, its third ABI or a later one "
		    "(Linux 6.2)";
	return NULL;
}

#else /* elsewhere */

const char *
fence_raise(const struct fence_options *o)
{
	if (!o->no_network && o->write == NULL)
		return NULL;
	errno = ENOSYS;
	return o->no_network ? "--no-network needs Linux"
	    : "--write needs Linux";
}

#endif
