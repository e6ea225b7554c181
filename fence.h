#ifndef FENCE_H
#define FENCE_H

/* What boris and all that it starts may not do, enforced by the kernel (F):
 * boris gives up rights; children inherit that, and nobody gets them back.
 * Linux only; elsewhere whatever is asked for is refused. */

#include <stdbool.h>

struct fence_options {
	const char *write;  /* --write: absolute names of directories, each
	                     * with a NUL behind it, then an empty one;
	                     * NULL: everywhere */
	bool no_network;    /* --no-network */
};

/* Raises what is asked for, once, before the process has a thread or a child.
 * NULL: the fences stand. Otherwise what is missing, for a sentence, and errno
 * says why; the process has to end then, since a part may stand (F3). */
const char *fence_raise(const struct fence_options *);

#endif
