#ifndef RUN_MOUNTS_H
#define RUN_MOUNTS_H

/* The mount table, and whether one of its file systems can stop responding
 * because another host or process does (E11): NFS, sshfs. */

#include <stdbool.h>

struct mounts;

/* Opens the mount table of the current mount namespace. */
struct mounts *mounts_open(void);
void mounts_close(struct mounts *);

/* Reads the mount table again if it has changed. Returns whether all file
 * systems that boris can reach are local: the kernel serves them alone, from
 * memory or from a disk. This does not include what is reached by paths that
 * begin with "/proc/". Returns false if the table cannot be read, as on other
 * systems than Linux. */
bool mounts_refresh(struct mounts *);

/* Returns the same for the text of a mount table, /proc/self/mountinfo. */
bool mounts_all_local(const char *table);

#endif
