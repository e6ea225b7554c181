/* SPDX-License-Identifier: ISC */
#ifndef BASE_SPACE_H
#define BASE_SPACE_H

/* Determines how much disk space and memory are free. The values are read from
 * the system on each call. */

#include <stdbool.h>
#include <stdint.h>

/* Free and total space in bytes. If the space is unknown, `free` is INT64_MAX
 * and `total` is 0, so that the space counts as unlimited. */
struct space {
	int64_t free;
	int64_t total;
};

/* Returns the free and total space of the file system that contains the open
 * file. */
struct space space_on_disk(int fd);
/* Returns the available and total memory of the host or of boris's control
 * group, whichever has less available memory. */
struct space space_in_memory(void);
/* Returns whether the open file is on a file system that keeps files in memory,
 * such as tmpfs. A file system that reports no size is assumed to keep files in
 * memory, because ramfs reports no size. */
bool space_is_memory(int fd);

#endif
