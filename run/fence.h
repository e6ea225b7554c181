#ifndef RUN_FENCE_H
#define RUN_FENCE_H

/* What boris and all that it starts may not do, enforced by the kernel (F):
 * boris gives up rights; children inherit that, and nobody gets them back.
 * Linux only; elsewhere whatever is asked for is refused. */

#include "base/options.h"

/* Raises what --write, --hide and --no-network ask for, once, before there is a
 * child. If one can't be had it ends boris: others may stand already (F3). */
void fence_raise(const struct options *);

#endif
