/* SPDX-License-Identifier: ISC */
#ifndef BASE_BUF_H
#define BASE_BUF_H

/* Memory allocation and growable byte buffers.
 *
 * There are two kinds of allocation (E7). Memory whose size a client determines
 * is allocated with buf_reserve() or mem_try(), which return an error if
 * allocation fails. All other allocations are small. If one of these fails,
 * boris reports that on stderr and exits with status 1, so callers do not check
 * for NULL. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/fmt.h"

/* Allocates n zeroed bytes, which the caller must free with free(). boris exits
 * if allocation fails. */
void *mem_get(size_t n);
/* Resizes an allocation to n bytes, like realloc(). boris exits if allocation
 * fails. */
void *mem_resize(void *, size_t n);
/* Allocates n zeroed bytes that boris shares with its child processes. boris
 * exits if allocation fails. */
void *mem_shared(size_t n);
/* Returns a copy of a string, which the caller must free. */
char *mem_copy(const char *text);
/* Allocates n bytes for data whose size a client determines. Returns NULL if
 * allocation fails or would leave less than MEM_SPARE bytes free. */
void *mem_try(size_t n);
/* Returns whether n bytes could be allocated now. */
bool mem_is_available(size_t n);

/* number of bytes that a large allocation must leave free for small
 * allocations, because boris exits if a small allocation fails */
enum { MEM_SPARE = 256 << 10 };

/* A growable byte buffer. A zeroed buffer is empty. `data` may also point to a
 * fixed array that is large enough for everything that is appended. Such a
 * buffer must not be freed. */
struct buf {
	char *data;
	size_t len;  /* number of bytes in use */
	size_t cap;  /* number of bytes allocated */
};

/* Reserves memory for `more` additional bytes, so that appending them cannot
 * fail. Returns false, with the buffer unchanged, if allocation fails or would
 * leave less than MEM_SPARE bytes free. */
bool buf_reserve(struct buf *, size_t more);

/* Append bytes to the buffer. boris exits if allocation fails. */
void buf_put(struct buf *, const void *bytes, size_t n);
void buf_putc(struct buf *, char);
#define buf_add(b, ...) buf_add_all((b), __VA_ARGS__, (const char *)NULL)
/* Appends strings to the buffer. The last argument must be NULL. */
void buf_add_all(struct buf *, ...);
/* Append formatted text to the buffer. base/fmt.h describes the format. */
void buf_fmt(struct buf *, const char *format, ...) FMT_CHECKED(2, 3);
void buf_vfmt(struct buf *, const char *format, va_list);
/* Appends a newline, unless the buffer is empty or already ends with a
 * newline. */
void buf_end_line(struct buf *);

/* Terminates the contents with a NUL and returns them as a string. `len` does
 * not count the NUL. */
char *buf_text(struct buf *);

/* Removes all but the last n bytes. */
void buf_keep_end(struct buf *, size_t n);
/* Removes the first n bytes from the buffer. Its memory stays allocated. */
void buf_drop(struct buf *, size_t n);
/* Frees the unused part of the buffer's memory. */
void buf_shrink(struct buf *);
/* Frees the buffer's memory and zeroes the buffer. */
void buf_free(struct buf *);

/* Returns whether the buffer contains the character. */
bool buf_has(const struct buf *, char);
/* Returns the number of newlines in a text of n bytes. */
int64_t buf_lines(const char *, size_t n);

#endif
