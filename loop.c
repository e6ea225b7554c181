#define _POSIX_C_SOURCE 200809L

#include "loop.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* tcc: with glibc, its struct epoll_event is not the kernel's. */
#if defined(__linux__) && !defined(__TINYC__)
#include <fcntl.h>
#include <sys/epoll.h>
#endif

enum { SHORT_TURN = 10 };  /* ms, when something could not be watched */

static int64_t
clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
loop_init(struct loop *loop)
{
	loop->set = NULL;
	loop->count = loop->room = 0;
	loop->child = false;
	loop->until = NEVER;
	loop->now = clock_now();
}

void
loop_free(struct loop *loop)
{
	free(loop->set);
	loop->set = NULL;
	loop->count = loop->room = 0;
}

void
loop_begin(struct loop *loop)
{
	loop->count = 0;
	loop->until = NEVER;
	loop->child = false;
}

/* poll() takes whole milliseconds in an int. A deadline further off is only
 * an early turn. */
static int
patience(const struct loop *loop)
{
	int64_t left;

	if (loop->until == NEVER)
		return -1;
	left = loop->until - loop->now;
	if (left < 0)
		return 0;
	return left > 1000000 ? 1000000 : (int)left;
}

void
loop_wait(struct loop *loop)
{
	int i;

	/* Without memory for a turn's set the clock may be old (E7). */
	if (loop->until != NEVER)
		loop->now = clock_now();
	if (poll(loop->set, (nfds_t)loop->count, patience(loop)) < 0) {
		/* EINTR: the signal's byte is in its pipe, the next turn
		 * sees it. Nothing was reported for this one. */
		for (i = 0; i < loop->count; i++)
			loop->set[i].revents = 0;
	}
	loop->now = clock_now();
}

int
loop_watch(struct loop *loop, int fd, short events)
{
	struct pollfd *more;
	int room;

	if (fd < 0)
		return -1;
	if (loop->count == loop->room) {
		room = loop->room ? loop->room * 2 : 16;
		more = realloc(loop->set, (size_t)room * sizeof(*more));
		if (more == NULL) {
			loop_until(loop, loop->now + SHORT_TURN);
			return -1;
		}
		loop->set = more;
		loop->room = room;
	}
	loop->set[loop->count].fd = fd;
	loop->set[loop->count].events = events;
	loop->set[loop->count].revents = 0;
	return loop->count++;
}

short
loop_got(const struct loop *loop, int place)
{
	return place < 0 ? 0 : loop->set[place].revents;
}

void
loop_until(struct loop *loop, int64_t deadline)
{
	if (deadline < loop->until)
		loop->until = deadline;
}

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
