/* SPDX-License-Identifier: ISC */
#ifndef RUN_FENCE_H
#define RUN_FENCE_H

/* Fences are restrictions that the Linux kernel enforces on boris and on all
 * commands (F). Neither boris nor a command can lift a fence. On systems other
 * than Linux, boris exits if a fence is requested. */

#include "base/options.h"

/* Applies the restrictions of --write, --hide and --no-network to boris. Must
 * be called once, before boris starts its first child. Exits with status 1 if a
 * restriction is not available (F3). */
void fence_raise(const struct options *);

#endif
