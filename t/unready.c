/* SPDX-License-Identifier: ISC */
/* unready: runs a program as if the kernel's random number generator were not
 * ready yet, or did not exist.
 *
 * 	unready MILLISECONDS PROGRAM [ARGUMENT ...]
 * 	unready -ERROR PROGRAM [ARGUMENT ...]
 *
 * For MILLISECONDS, getrandom() blocks, or fails with EAGAIN if GRND_NONBLOCK
 * is set. With -ERROR, it always fails with that error number. A seccomp filter
 * passes each getrandom() to a second process, which decides. The exit status
 * is 77 if the kernel does not allow such a filter. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GIVE_UP = 77, WAITING = 64 };

extern char **environ;

static long long
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Installs the filter. Returns the descriptor that reports calls, or -1. */
static int
filter_getrandom(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog program = { 4, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void
pass_descriptor(int socket, int fd)
{
	union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } c;
	struct iovec byte = { "", 1 };
	struct msghdr m = { .msg_iov = &byte, .msg_iovlen = 1,
	    .msg_control = &c, .msg_controllen = sizeof(c) };

	memset(&c, 0, sizeof(c));
	c.header.cmsg_level = SOL_SOCKET;
	c.header.cmsg_type = SCM_RIGHTS;
	c.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&c.header), &fd, sizeof(fd));
	if (sendmsg(socket, &m, 0) != 1)
		_exit(GIVE_UP);
}

static int
receive_descriptor(int socket)
{
	union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } c;
	char byte;
	struct iovec one = { &byte, 1 };
	struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1,
	    .msg_control = &c, .msg_controllen = sizeof(c) };
	int fd;

	if (recvmsg(socket, &m, 0) != 1)
		_exit(1);
	memcpy(&fd, CMSG_DATA(&c.header), sizeof(fd));
	return fd;
}

static void
answer(int listener, unsigned long long id, int error)
{
	struct seccomp_notif_resp response = { .id = id, .error = error };

	if (error == 0)
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Answers all calls until the program and its children have exited. */
static void
decide(int listener, long long wait)
{
	unsigned long long waiting[WAITING];
	long long ready = now() + wait;
	struct pollfd p = { listener, POLLIN, 0 };
	struct seccomp_notif call;
	int count = 0;

	while (!(p.revents & POLLHUP)) {
		while (now() >= ready && wait >= 0 && count > 0)
			answer(listener, waiting[--count], 0);
		if (poll(&p, 1, 10) <= 0 || !(p.revents & POLLIN))
			continue;
		memset(&call, 0, sizeof(call));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
			continue;
		if (wait < 0)
			answer(listener, call.id, (int)wait);
		else if (now() >= ready)
			answer(listener, call.id, 0);
		else if ((call.data.args[2] & 1) != 0 || count == WAITING)
			answer(listener, call.id, -EAGAIN);
		else
			waiting[count++] = call.id;
	}
}

int
main(int argc, char *argv[])
{
	int sockets[2], fd, i;
	pid_t pid;

	if (argc < 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		return GIVE_UP;
	pid = fork();
	if (pid == 0 && fork() > 0)
		_exit(0);
	if (pid == 0) {
		/* Close inherited pipes, so that the program receives their end
		 * of file. Clear the environment, so that no test takes this
		 * process for a child of boris. */
		setsid();
		for (i = 0; environ[i] != NULL; i++)
			memset(environ[i], 0, strlen(environ[i]));
		for (fd = 0; fd < 256; fd++) {
			if (fd != sockets[0])
				close(fd);
		}
		decide(receive_descriptor(sockets[0]), atoll(argv[1]));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	fd = filter_getrandom();
	if (fd < 0)
		return GIVE_UP;
	pass_descriptor(sockets[1], fd);
	close(fd);
	close(sockets[0]);
	close(sockets[1]);
	execvp(argv[2], argv + 2);
	return 127;
}
