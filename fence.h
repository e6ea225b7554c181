#ifndef FENCE_H
#define FENCE_H

/* What boris and all that it starts may not do, held by the kernel (F): its
 * own process gives up rights that children inherit and nobody gets back.
 * Linux only; elsewhere whatever is asked for is refused. */

#include <stdbool.h>

struct fence_options {
	const char *write;  /* --write: absolute names of directories, each
	                     * with a NUL behind it, then an empty one;
	                     * NULL: everywhere */
	bool no_network;    /* --no-network */
};

/* Raises what is asked for, once, while the process is alone and before it
 * has a child. NULL: the fences stand. Else what is missing, for a sentence,
 * and errno says why: the process is to end, for a part may stand (F3). */
const char *fence_raise(const struct fence_options *);

#endif
