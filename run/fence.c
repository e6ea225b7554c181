/* SPDX-License-Identifier: ISC */
#if defined(__linux__) && !defined(POSIX_ONLY)
#define ON_LINUX
#define _GNU_SOURCE  /* Request O_PATH, syscall() and unshare(). */
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

/* What the fences do
 *
 * fence_raise() restricts boris itself before it starts its first child. All
 * commands inherit the restrictions.
 *
 *	--write        a Landlock domain, in which only the given directories
 *	               are writable, and NO_NEW_PRIVS
 *	--hide         a mount namespace, in which an empty directory or file is
 *	               mounted over each given path
 *	--no-network   a network namespace with only a loopback interface
 *	each of them   an IPC namespace, a new session keyring, a seccomp filter
 *	               that denies access to kernel keys, and fewer capabilities
 *
 * Users other than root enter a user namespace first, because they need it to
 * create other namespaces. Landlock comes after the mounts, because it denies
 * mounting and writing to /proc. Root enters a Landlock domain with every
 * fence. Otherwise its commands could trace other processes of root that have
 * no further capabilities, and obtain their descriptors (F3). Other users
 * cannot do that from their user namespace. */

/* Reports that the option requires a feature that is not available, with the
 * reason from errno, and exits with status 1. */
static void
reject_option(const char *option, const char *requirement)
{
	fatal(1, "%s: requires %s: %s", option, requirement, strerror(errno));
}

#ifdef ON_LINUX

/* Reports that a path given as an option's value cannot be used, with the
 * reason from errno, and exits with status 1. */
static void
reject_path(const char *option, const char *path)
{
	fatal(1, "%s=%s: %s", option, path, strerror(errno));
}

/* These definitions are copied from linux/landlock.h, which is not installed on
 * every system. If the C library does not define the numbers of Landlock's
 * system calls, -1 is used instead, and the calls fail on every kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset (-1)
#define SYS_landlock_add_rule (-1)
#define SYS_landlock_restrict_self (-1)
#endif

enum {
	CREATE_RULESET_VERSION = 1,  /* flag to request only the ABI version */
	RULE_PATH_BENEATH = 1,
	REFER_ABI = 2,    /* earlier ABIs always deny cross-directory renames */
	TRUNCATE_ABI = 3  /* earlier ABIs cannot deny truncate(2) (F3) */
};

/* Landlock access rights for writing (LANDLOCK_ACCESS_FS_*). REFER is the right
 * to rename or link a file from one directory to another. */
enum {
	WRITE_FILE = 1 << 1, REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5,
	MAKE_CHAR = 1 << 6, MAKE_DIR = 1 << 7, MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9, MAKE_FIFO = 1 << 10, MAKE_BLOCK = 1 << 11,
	MAKE_SYM = 1 << 12, REFER = 1 << 13, TRUNCATE = 1 << 14,

	WRITING = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG |
	    MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE,
	/* rights to create device files, which --write and --hide always deny;
	 * otherwise root could write to a disk through a device file */
	DEVICES = MAKE_CHAR | MAKE_BLOCK
};

/* A seccomp filter instruction, with the same layout as struct sock_filter in
 * linux/filter.h. `if_true` and `if_false` are the numbers of instructions to
 * skip if a jump's condition is true or false. */
struct instruction {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t value;
};

struct filter {
	struct instruction instruction[64];
	unsigned short len;
};

/* A range of system calls that the seccomp filter denies with ENOSYS */
struct denied_calls {
	uint32_t architecture;  /* AUDIT_ARCH_* constant (linux/audit.h), or 0
	                         * for any architecture */
	uint32_t first, last;   /* system call numbers */
};

/* System call numbers of add_key(), request_key() and keyctl(), which are
 * consecutive. On x86, ARM and MIPS, there is one row per kernel ABI, because a
 * command may use an ABI different from boris's. */
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

/* System call numbers of fsopen(). With fsopen(), a command could create an
 * overlay file system whose work directory is outside the directories allowed
 * by --write, and the kernel would delete the files in that work directory.
 * Landlock denies mount(), but not fsopen(). */
static const struct denied_calls fsopen_calls[] = {
	{ 0, 430, 430 },
	/* system call numbers for the three MIPS ABIs */
	{ 0, 4430, 4430 }, { 0, 5430, 5430 }, { 0, 6430, 6430 }
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

/* Appends instructions that make the given system calls fail with ENOSYS. They
 * use no arithmetic except AND, so that the kernel can cache the filter's
 * decision for each system call. */
static void
deny_calls(struct filter *f, const struct denied_calls *calls, size_t n)
{
	enum {
		LOAD = 0x20, AND = 0x54, IS_EQUAL = 0x15, IS_GREATER = 0x25,
		IS_AT_LEAST = 0x35, RETURN = 0x06,  /* instruction codes */
		NUMBER = 0, ARCHITECTURE = 4  /* offsets in struct
		                               * seccomp_data */
	};

	for (; n > 0; calls++, n--) {
		if (calls->architecture != 0) {
			add_instruction(f, LOAD, ARCHITECTURE, 0, 0);
			add_instruction(f, IS_EQUAL, calls->architecture, 0, 5);
		}
		add_instruction(f, LOAD, NUMBER, 0, 0);
		/* Clear the bit 0x40000000, which marks system calls of the x32
		 * ABI. Once it is cleared, the denied calls have the same
		 * numbers in x32 as in x86-64. */
		add_instruction(f, AND, ~(uint32_t)0x40000000, 0, 0);
		add_instruction(f, IS_AT_LEAST, calls->first, 0, 2);
		add_instruction(f, IS_GREATER, calls->last, 1, 0);
		add_instruction(f, RETURN, 0x50000 | ENOSYS, 0, 0);
	}
}

/* Installs a seccomp filter, which requires CAP_SYS_ADMIN or NO_NEW_PRIVS. The
 * filter denies the system calls for kernel keys, because a process can reach
 * all its user's keys through any keyring. With --write, it also denies
 * fsopen(). Returns 0, or -1 with errno set. */
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

/* The parameters of a Landlock domain */
struct landlock_plan {
	uint64_t handled;  /* access rights denied unless a rule allows them */
	uint64_t allowed;  /* access rights allowed beneath the directories in
	                    * `dirs` */
	const char *dirs;  /* list of directories (base/options.h) */
	long abi;          /* lowest sufficient Landlock ABI */
};

/* Returns the parameters of the Landlock domain. Every domain denies mounting
 * and ptrace access to processes outside the domain. With --hide, it also
 * denies the creation of device files. With --write, it also denies writing
 * outside the given directories. */
static struct landlock_plan
plan_landlock(const struct options *o)
{
	struct landlock_plan plan = {
		.handled = REFER, .allowed = REFER, .dirs = "/\0",
		.abi = REFER_ABI
	};

	if (o->hide != NULL)
		plan.handled = REFER | DEVICES;
	if (o->write != NULL) {
		plan.handled = WRITING | DEVICES;
		plan.allowed = WRITING;
		plan.dirs = o->write;
		plan.abi = TRUNCATE_ABI;
	}
	return plan;
}

/* Enters a Landlock domain, which restricts this process and its children.
 * Returns 0, or -1 with errno set. */
static int
enter_landlock(const struct options *o, const char *option)
{
	/* plan.handled is passed as struct landlock_ruleset_attr, whose only
	 * member in the first ABI is `handled_access_fs`. */
	struct landlock_plan plan = plan_landlock(o);
	struct {  /* struct landlock_path_beneath_attr */
		uint64_t allowed;
		int32_t fd;
	} rule;
	const char *dir;
	int ruleset;
	long abi;

	errno = EOPNOTSUPP;
	abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
	    CREATE_RULESET_VERSION);
	if (abi < plan.abi)
		return -1;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &plan.handled,
	    sizeof(plan.handled), 0);
	if (ruleset < 0)
		return -1;
	for (dir = plan.dirs; *dir != '\0'; dir += strlen(dir) + 1) {
		rule.allowed = plan.allowed;
		rule.fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (rule.fd < 0 || syscall(SYS_landlock_add_rule, ruleset,
		    RULE_PATH_BENEATH, &rule, 0) < 0)
			reject_path(option, dir);
		close(rule.fd);
	}
	/* Set NO_NEW_PRIVS, because only root can enter a Landlock domain
	 * without it. It also makes exec ignore setuid bits, so that no command
	 * can gain privileges to escape from the domain. */
	if (o->write != NULL && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -1;
	return close(ruleset);
}

#define CAPABILITY(number) ((uint64_t)1 << (number))
/* Capabilities that root must drop. With them, commands could open any file by
 * its handle, obtain boris's descriptors, read the memory of any process, or
 * modify the kernel. Since Linux 6.16, PERFMON and SYS_ADMIN also allow
 * commands to read memory through /proc/PID/environ. With NET_ADMIN, they could
 * connect their network namespace to another one. */
static const uint64_t dangerous_capabilities =
	CAPABILITY(2) /* DAC_READ_SEARCH */ | CAPABILITY(16) /* SYS_MODULE */ |
	CAPABILITY(17) /* SYS_RAWIO */ | CAPABILITY(19) /* SYS_PTRACE */ |
	CAPABILITY(21) /* SYS_ADMIN */ | CAPABILITY(22) /* SYS_BOOT */ |
	CAPABILITY(38) /* PERFMON */ | CAPABILITY(39) /* BPF */;
static const uint64_t network_capabilities = CAPABILITY(12) /* NET_ADMIN */;

static int
write_file(const char *name, const void *text, size_t n)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return -1;
	return close(fd);
}

/* Maps a user or group id to itself in the new user namespace. `map` is the
 * path of the uid_map or gid_map file. Returns 0, or -1 with errno set. */
static int
keep_id(const char *map, int64_t id)
{
	char text[64];
	struct buf b = { text, 0, sizeof(text) };

	buf_fmt(&b, "%jd %jd 1", (intmax_t)id, (intmax_t)id);
	return write_file(map, text, b.len);
}

static int
raise_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq interface = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &interface) < 0)
		return -1;
	return close(fd);
}

/* Drops capabilities permanently. Also removes them from the bounding set, so
 * that exec does not restore them. If boris is not permitted to do that,
 * NO_NEW_PRIVS must be set, which also prevents exec from restoring them.
 * Returns 0, or -1 with errno set. */
static int
drop_capabilities(uint64_t capabilities)
{
	/* Arguments of capget(2) for this process, in version 3 of the format
	 * in linux/capability.h. `sets` contains the effective, permitted and
	 * inheritable sets for capabilities 0 to 31, followed by the same three
	 * sets for capabilities 32 to 63. */
	uint32_t header[] = { 0x20080522, 0 }, sets[6];
	int i, has;

	for (i = 0; i < 64; i++) {
		if ((capabilities & CAPABILITY(i)) == 0)
			continue;
		has = prctl(PR_CAPBSET_READ, i, 0, 0, 0);
		/* PR_CAPBSET_READ fails with EINVAL if the kernel does not
		 * support the capability. */
		if (has < 0 && errno != EINVAL)
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

/* Enters a user namespace, in which the process has all capabilities. Users
 * other than root need this to create other namespaces. Returns 0, or -1 with
 * errno set. */
static int
enter_user_namespace(void)
{
	int64_t uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER) < 0 ||
	    write_file("/proc/self/setgroups", "deny", 4) < 0)
		return -1;
	if (keep_id("/proc/self/uid_map", uid) < 0)
		return -1;
	return keep_id("/proc/self/gid_map", gid);
}

enum { COVER_FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC };

/* Mounts a read-only tmpfs over /proc, until cover() unmounts it. The tmpfs
 * contains an empty directory and an empty file, which cover() uses to hide
 * paths. Returns 0, or -1 with errno set. */
static int
mount_covers(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
	    mount("boris", "/proc", "tmpfs", COVER_FLAGS, NULL) < 0)
		return -1;
	if (mkdir("/proc/directory", 0555) < 0 ||
	    mknod("/proc/file", S_IFREG | 0444, 0) < 0)
		return -1;
	return mount(NULL, "/proc", NULL, MS_REMOUNT | MS_RDONLY | COVER_FLAGS,
	    NULL);
}

/* Hides each path in a list by mounting an empty directory or file over it. A
 * path stays hidden even if its parent directory is renamed. File systems that
 * are later mounted outside boris's mount namespace still appear inside it.
 * Returns 0, or -1 with errno set. */
static int
cover(const char *path)
{
	const char *empty;
	struct stat st;

	if (mount_covers() < 0)
		return -1;
	for (; *path != '\0'; path += strlen(path) + 1) {
		if (stat(path, &st) < 0)
			reject_path("--hide", path);
		empty = S_ISDIR(st.st_mode) ? "/proc/directory" : "/proc/file";
		if (mount(empty, path, NULL, MS_BIND, NULL) < 0)
			reject_path("--hide", path);
	}
	return umount2("/proc", MNT_DETACH);
}

/* Enters the IPC, network and mount namespaces that --hide and --no-network
 * need. If a namespace is not available, prints an error message that names the
 * option, and exits. Both options need the IPC namespace; if that namespace is
 * not available, the message names `option`. */
static void
enter_namespaces(const struct options *o, const char *option)
{
	if (unshare(CLONE_NEWIPC) < 0)
		reject_option(option,
		    "an IPC namespace (root needs CAP_SYS_ADMIN)");
	if (o->no_network && (unshare(CLONE_NEWNET) < 0 ||
	    raise_loopback() < 0))
		reject_option("--no-network", "a network namespace");
	if (o->hide != NULL && (unshare(CLONE_NEWNS) < 0 || cover(o->hide) < 0))
		reject_option("--hide", "a mount namespace");
}

/* Returns the capabilities that boris must drop. `user_namespace` is true if
 * boris has entered a user namespace. In that case, boris must drop all
 * capabilities, since it gained all of them on entry. */
static uint64_t
find_unneeded_capabilities(const struct options *o, bool user_namespace)
{
	if (user_namespace)
		return ~(uint64_t)0;
	if (o->no_network)
		return dangerous_capabilities | network_capabilities;
	return dangerous_capabilities;
}

/* Returns the option to name in the error message if several options need a
 * feature that is not available. Prefers --hide to --no-network, and
 * --no-network to --write. */
static const char *
find_option(const struct options *o)
{
	if (o->hide != NULL)
		return "--hide";
	return o->no_network ? "--no-network" : "--write";
}

void
fence_raise(const struct options *o)
{
	bool root = geteuid() == 0;
	bool namespaces = o->no_network || o->hide != NULL;
	const char *option = o->write != NULL ? "--write" : find_option(o);
	uint64_t unneeded = find_unneeded_capabilities(o, namespaces && !root);

	if (!namespaces && o->write == NULL)
		return;
	if (namespaces && !root && enter_user_namespace() < 0)
		reject_option(find_option(o), "a user namespace");
	/* Replace the inherited session keyring with a new one. Otherwise the
	 * kernel could use the inherited keys when a command accesses a file
	 * system. */
	syscall(SYS_keyctl, 1, NULL);  /* KEYCTL_JOIN_SESSION_KEYRING */
	if (namespaces)
		enter_namespaces(o, find_option(o));
	else
		/* Ignore failure to create an IPC namespace, which requires
		 * CAP_SYS_ADMIN. Ordinary users, and root in most containers,
		 * do not have this capability, but --write must still work for
		 * them (F3, F4). */
		(void)unshare(CLONE_NEWIPC);
	if ((o->write != NULL || root) && enter_landlock(o, option) < 0)
		reject_option(option,
		    "Landlock of Linux 6.2 or later (5.19 without --write)");
	if (enter_filter(o->write != NULL) < 0)
		reject_option(option, "seccomp filters");
	/* Drop capabilities and make boris non-dumpable, so that commands
	 * cannot trace boris or obtain its log and HTTP socket descriptors with
	 * pidfd_getfd(). */
	if (drop_capabilities(unneeded) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		fatal(1, "%s: cannot drop capabilities: %s", option,
		    strerror(errno));
}

#else /* not Linux */

void
fence_raise(const struct options *o)
{
	errno = ENOSYS;
	if (o->no_network)
		reject_option("--no-network", "Linux");
	if (o->write != NULL)
		reject_option("--write", "Linux");
	if (o->hide != NULL)
		reject_option("--hide", "Linux");
}

#endif
