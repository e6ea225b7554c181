#ifndef BASE_SPACE_H
#define BASE_SPACE_H

/* How much space is left for files, on a file system and in memory. */

#include <stdbool.h>
#include <stdint.h>

/* Bytes. Where they are unknown, `free` is INT64_MAX and `total` is 0. */
struct space {
	int64_t free;
	int64_t total;
};

/* Returns the space of the file system that has this open file. */
struct space space_on_disk(int fd);
/* Returns the memory of the host, or of boris's control group if that has less
 * left. */
struct space space_in_memory(void);
/* Do files on this file system occupy memory? Also true if the file system
 * reports no size, as ramfs does. */
bool space_is_memory(int fd);

#endif
