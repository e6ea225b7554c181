#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#define _GNU_SOURCE  /* O_PATH, syscall, unshare */
#endif
#define _POSIX_C_SOURCE 200809L

#include "run/fence.h"

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

#include "base/buf.h"
#include "base/message.h"
#include "base/text.h"

/* Ends boris: says that the option can't be had, why, and errno's reason. */
static void
refuse(const char *option, const char *why)
{
	fatal(1, "%s %s: %s", option, why, strerror(errno));
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

/* An instruction of a seccomp filter, as struct sock_filter in linux/filter.h.
 * A jump skips so many instructions. */
struct instruction {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t value;
};

struct filter {
	struct instruction instruction[64];
	unsigned short len;
};

/* A range of system calls that fail with ENOSYS. */
struct denied_calls {
	uint32_t architecture;  /* AUDIT_ARCH_* in linux/audit.h; 0: any */
	uint32_t first, last;   /* numbers */
};

/* add_key(), request_key() and keyctl(), whose numbers are consecutive. A
 * kernel for x86, ARM or MIPS also runs programs with other numbers. */
static const struct denied_calls key_calls[] = {
#if defined(__x86_64__) || defined(__i386__)
	{ 0xc000003e, 248, 250 }, { 0x40000003, 286, 288 }
#elif defined(__aarch64__) || defined(__arm__)
	{ 0xc00000b7, 217, 219 }, { 0x40000028, 309, 311 },
	{ 0x00000028, 309, 311 }
#elif defined(__mips__)
	{ 0, 4280, 4282 }, { 0, 5239, 5241 }, { 0, 6243, 6245 }
#else
	{ 0, SYS_add_key, SYS_add_key + 2 }
#endif
};

/* fsopen(): it can make an overlay, and that removes all that is in the
 * overlay's work directory. Landlock denies only mount(). */
static const struct denied_calls fsopen_calls[] = {
	{ 0, 430, 430 },
	{ 0, 4430, 4430 }, { 0, 5430, 5430 }, { 0, 6430, 6430 }  /* MIPS */
};

static void
add_instruction(struct filter *f, uint16_t code, uint32_t value,
                uint8_t if_true, uint8_t if_false)
{
	f->instruction[f->len++] = (struct instruction){
		.code = code, .value = value,
		.if_true = if_true, .if_false = if_false
	};
}

/* Appends instructions that let these calls fail. (Jumps and AND alone let the
 * kernel cache the answer for each call.) */
static void
deny_calls(struct filter *f, const struct denied_calls *calls, size_t n)
{
	enum {
		LOAD = 0x20, AND = 0x54, IS_EQUAL = 0x15, IS_GREATER = 0x25,
		IS_AT_LEAST = 0x35, RETURN = 0x06,  /* codes */
		NUMBER = 0, ARCHITECTURE = 4  /* offsets in seccomp_data */
	};

	for (; n > 0; calls++, n--) {
		if (calls->architecture != 0) {
			add_instruction(f, LOAD, ARCHITECTURE, 0, 0);
			add_instruction(f, IS_EQUAL, calls->architecture, 0, 5);
		}
		add_instruction(f, LOAD, NUMBER, 0, 0);
		/* The bit of x32's calls, which have the same numbers. */
		add_instruction(f, AND, ~(uint32_t)0x40000000, 0, 0);
		add_instruction(f, IS_AT_LEAST, calls->first, 0, 2);
		add_instruction(f, IS_GREATER, calls->last, 1, 0);
		add_instruction(f, RETURN, 0x50000 | ENOSYS, 0, 0);
	}
}

/* Denies the calls for kernel keys behind every fence, because a process can
 * reach its user's keys through any keyring, and fsopen() behind --write. Needs
 * CAP_SYS_ADMIN, or NO_NEW_PRIVS, which --write sets. Returns 0, or -1 with
 * errno set. */
static int
enter_filter(bool write)
{
	enum { FILTER = 2, RETURN = 0x06, ALLOW = 0x7fff0000 };
	struct filter f = { .len = 0 };
	struct { unsigned short len; const void *instruction; } program;

	deny_calls(&f, key_calls, sizeof(key_calls) / sizeof(key_calls[0]));
	if (write)
		deny_calls(&f, fsopen_calls,
		    sizeof(fsopen_calls) / sizeof(fsopen_calls[0]));
	add_instruction(&f, RETURN, ALLOW, 0, 0);
	program.len = f.len;
	program.instruction = f.instruction;
	return prctl(PR_SET_SECCOMP, FILTER, &program, 0, 0);
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
	bool ipc;
	const char *space = o->hide != NULL ? "--hide"
	    : o->no_network ? "--no-network" : "--write";
	const char *option = o->write != NULL ? "--write" : space;

	if (!spaces && o->write == NULL)
		return;
	if (spaces && !root && enter_user_namespace() < 0)
		refuse(space, "needs a user namespace");
	/* The kernel uses the keys of a session for file systems, too. */
	syscall(SYS_keyctl, 1, NULL);  /* KEYCTL_JOIN_SESSION_KEYRING */
	/* --write alone does not promise it: a container's root and ordinary
	 * users cannot have it without a user namespace (F3, F4). */
	ipc = unshare(CLONE_NEWIPC) == 0;
	if (spaces && !ipc)
		refuse(space, "needs an IPC namespace (as root: CAP_SYS_ADMIN)");
	if (o->no_network && (unshare(CLONE_NEWNET) < 0 ||
	    raise_loopback() < 0))
		refuse("--no-network", "needs a network namespace");
	if (o->hide != NULL && (unshare(CLONE_NEWNS) < 0 || cover(o->hide) < 0))
		refuse("--hide", "needs a mount namespace");
	if ((o->write != NULL || root) && enter_landlock(o, option) < 0)
		refuse(option,
		    "needs Landlock as in Linux 6.2 (5.19 without --write)");
	if (enter_filter(o->write != NULL) < 0)
		refuse(option, "needs seccomp filters");
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
