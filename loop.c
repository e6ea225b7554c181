#define _POSIX_C_SOURCE 200809L

#include "loop.h"

#include <unistd.h>

/* tcc: with glibc, its struct epoll_event is not the kernel's. */
#if defined(__linux__) && !defined(__TINYC__)
#include <fcntl.h>
#include <sys/epoll.h>
#endif

#if defined(__linux__) && !defined(__TINYC__)

int
crowd_add(struct crowd *crowd, int fd, void *owner)
{
	struct epoll_event event;

	if (crowd->fd < 0)
		crowd->fd = epoll_create1(EPOLL_CLOEXEC);
	if (crowd->fd < 0)
		return -1;
	event.events = EPOLLIN;
	event.data.ptr = owner;
	return epoll_ctl(crowd->fd, EPOLL_CTL_ADD, fd, &event);
}

void
crowd_remove(struct crowd *crowd, int fd)
{
	struct epoll_event event;  /* not NULL: Linux before 2.6.9 */

	event.events = 0;
	event.data.ptr = NULL;
	epoll_ctl(crowd->fd, EPOLL_CTL_DEL, fd, &event);
}

int
crowd_ready(struct crowd *crowd, const struct loop *loop, void *owner[],
            int most)
{
	struct epoll_event event[64];
	int i, n;

	if (!loop_got(loop, crowd->place))
		return 0;
	n = epoll_wait(crowd->fd, event, most < 64 ? most : 64, 0);
	for (i = 0; i < n; i++)
		owner[i] = event[i].data.ptr;
	return n < 0 ? 0 : n;
}

#else

int
crowd_add(struct crowd *crowd, int fd, void *owner)
{
	(void)crowd;
	(void)fd;
	(void)owner;
	return -1;
}

void
crowd_remove(struct crowd *crowd, int fd)
{
	(void)crowd;
	(void)fd;
}

int
crowd_ready(struct crowd *crowd, const struct loop *loop, void *owner[],
            int most)
{
	(void)crowd;
	(void)loop;
	(void)owner;
	(void)most;
	return 0;
}

#endif

void
crowd_want(struct crowd *crowd, struct loop *loop)
{
	crowd->place = loop_watch(loop, crowd->fd, POLLIN);
}

void
crowd_free(struct crowd *crowd)
{
	if (crowd->fd >= 0)
		close(crowd->fd);
	crowd->fd = -1;
	crowd->place = -1;
}
