#ifndef RUN_FENCE_H
#define RUN_FENCE_H

/* Fences: restrictions of boris and of all that it starts, enforced by the
 * kernel (F). boris gives up rights. Its children inherit that, and no process
 * can get the rights back. On other systems than Linux, the options are
 * rejected. */

#include "base/options.h"

/* Raises the fences of --write, --hide and --no-network, once, before the first
 * child. If one is not available it ends boris, since others may be in effect
 * already (F3). */
void fence_raise(const struct options *);

#endif
