/* SPDX-License-Identifier: ISC */
#ifndef RUN_MOUNTS_H
#define RUN_MOUNTS_H

/* Finds out whether any mounted file system depends on another host or process,
 * as NFS and sshfs do, and may therefore stop responding (E11). This module
 * only reads the mount table. It never accesses the file systems. */

#include <stdbool.h>

struct mounts;

/* Opens the mount table of the current mount namespace. Never returns NULL. If
 * the table cannot be read, mounts_refresh() returns false. */
struct mounts *mounts_open(void);
void mounts_close(struct mounts *);

/* Rereads the mount table if it has changed. Returns true if all file systems
 * that boris can reach are local, so that the kernel itself serves them from
 * memory or a disk. Returns false if a file system is not local or the table
 * cannot be read, as on systems other than Linux. The result does not apply to
 * paths below /proc. */
bool mounts_refresh(struct mounts *);

/* Returns whether all file systems in a mount table are local. `table` is the
 * contents of /proc/self/mountinfo. */
bool mounts_all_local(const char *table);

#endif
