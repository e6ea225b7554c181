#ifndef BASE_BUF_H
#define BASE_BUF_H

/* Memory, and buffers of bytes that grow.
 *
 * Memory is of two kinds (E7). If a peer determines the size, it is taken with
 * buf_reserve() or mem_try(), which can fail. All other allocations are small:
 * if one of them fails, boris reports that on stderr and exits with status 1,
 * so that no caller has to check. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/fmt.h"

/* Return memory that the caller frees with free(), zeroed by mem_get(). boris
 * exits if there is none. */
void *mem_get(size_t n);
void *mem_resize(void *, size_t n);
/* Returns zeroed memory that child processes share. */
void *mem_shared(size_t n);
/* Returns a copy of a string. */
char *mem_copy(const char *text);
/* Returns memory for what a peer determines in size; or NULL, also if less than
 * MEM_SPARE bytes would be left. */
void *mem_try(size_t n);
/* Would an allocation of so many bytes succeed now? */
bool mem_is_available(size_t n);

/* bytes that must be left after an allocation that a peer determines in size:
 * without memory for the small allocations that follow, boris would exit */
enum { MEM_SPARE = 256 << 10 };

/* A growable byte buffer. Zeroed, it is empty. If `data` is an array, that has
 * to be large enough for all bytes that are put in, and is not freed. */
struct buf {
	char *data;
	size_t len;  /* number of bytes in use */
	size_t cap;  /* number of bytes allocated */
};

/* Allocates memory for so many more bytes, so that putting them in cannot fail.
 * Returns false, with the buffer unchanged, if allocation fails or less than
 * MEM_SPARE bytes would be left. */
bool buf_reserve(struct buf *, size_t more);

/* Append bytes; boris exits if allocation fails. */
void buf_put(struct buf *, const void *bytes, size_t n);
void buf_putc(struct buf *, char);
#define buf_add(b, ...) buf_add_all((b), __VA_ARGS__, (const char *)NULL)
void buf_add_all(struct buf *, ...);  /* strings; the last argument is NULL */
/* Append a text in the format that base/fmt.h describes. */
void buf_fmt(struct buf *, const char *format, ...) FMT_CHECKED(2, 3);
void buf_vfmt(struct buf *, const char *format, va_list);
/* Appends a newline unless the buffer is empty or ends with one. */
void buf_end_line(struct buf *);

/* Returns the bytes as a string: puts a NUL, which is not counted, at the end. */
char *buf_text(struct buf *);

/* Removes all bytes except for the last n. */
void buf_keep_end(struct buf *, size_t n);
/* Removes the first n bytes; the memory stays allocated. */
void buf_drop(struct buf *, size_t n);
/* Gives back memory that is not in use. */
void buf_shrink(struct buf *);
/* Frees the memory; the buffer is zeroed. */
void buf_free(struct buf *);

/* Does the buffer contain this character? */
bool buf_has(const struct buf *, char);
/* Returns the number of newlines in n bytes. */
int64_t buf_lines(const char *, size_t n);

#endif
