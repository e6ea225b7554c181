#ifndef FENCE_H
#define FENCE_H

/* What boris and all that it starts may not do, enforced by the kernel (F):
 * boris gives up rights; children inherit that, and nobody gets them back.
 * Linux only; elsewhere whatever is asked for is refused. */

#include <stdbool.h>

/* Lists: absolute names, each with a NUL behind it, then an empty one */
struct fence_options {
	const char *write;  /* --write: directories; NULL: everywhere */
	const char *hide;   /* --hide: no one below another; NULL: nothing */
	bool no_network;    /* --no-network */
};

/* Raises what is asked for, once, before the process has a thread or a child.
 * NULL: the fences stand. Otherwise the option that can't be had, *missing says
 * why not, or which of its names has failed, and errno for what reason; the
 * process has to end then, since a part may stand (F3). */
const char *fence_raise(const struct fence_options *, const char **missing);

#endif
