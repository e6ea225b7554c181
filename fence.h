#ifndef FENCE_H
#define FENCE_H

/* What boris and all that it starts may not do, enforced by the kernel (F):
 * boris gives up rights; children inherit that, and nobody gets them back.
 * Linux only; elsewhere whatever is asked for is refused. */

#include "options.h"

/* Raises what --write, --hide and --no-network ask for, once, before there is a
 * child. NULL: the fences stand. Otherwise the option that can't be had; and
 * *missing says why not, or which of its names has failed, and errno for what
 * reason. The process has to end then, since a part may stand (F3). */
const char *fence_raise(const struct options *, const char **missing);

#endif
