/* SPDX-License-Identifier: ISC */
#ifndef BASE_SPACE_H
#define BASE_SPACE_H

/* Finds out how much space is free on a file system and in memory. The values
 * are read from the system at each call. */

#include <stdbool.h>
#include <stdint.h>

/* Free and total space in bytes. If the space is unknown, `free` is INT64_MAX
 * and `total` is 0. */
struct space {
	int64_t free;
	int64_t total;
};

/* Returns the space on the file system that contains the open file. */
struct space space_on_disk(int fd);
/* Returns the available memory of the host or of boris's control group,
 * whichever is less. */
struct space space_in_memory(void);
/* Returns whether the open file is on a file system that keeps files in memory,
 * such as tmpfs. A file system that reports no size also counts, because ramfs
 * reports none. */
bool space_is_memory(int fd);

#endif
