#ifndef BASE_BUF_H
#define BASE_BUF_H

/* Memory, and buffers of bytes that grow.
 *
 * Memory is of two kinds (E7). If a peer determines the size, it is taken with
 * buf_reserve() or mem_try(), which can fail. All other allocations are small:
 * if one of them fails, boris reports that on stderr and exits with status 1,
 * so that no caller has to check. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Freed by free() */
void *mem_get(size_t n);  /* zeroed */
void *mem_resize(void *, size_t n);
void *mem_shared(size_t n);  /* zeroed; child processes share it */
char *mem_copy(const char *text);
void *mem_try(size_t n);  /* NULL if it is refused, as by buf_reserve() */
bool mem_is_there(size_t n);  /* Would so many bytes be there now? */

/* Bytes written one behind the other. A zeroed buffer is empty. If `data` is an
 * array, it has to have room for all that is put in, and is not freed. */
struct buf {
	char *data;
	size_t len, cap;  /* Of cap bytes the first len are written. */
};

/* Makes room for so many more, which can be put in without further memory.
 * False: that is refused, and the buffer is as it was. It is also refused if
 * less than MEM_SPARE bytes would be left: without memory for the small things
 * that follow, boris would end. */
enum { MEM_SPARE = 256 << 10 };
bool buf_reserve(struct buf *, size_t more);
void buf_put(struct buf *, const void *bytes, size_t n);
void buf_putc(struct buf *, char);
void buf_keep_end(struct buf *, size_t n);  /* removes all but n bytes */
#define buf_add(b, ...) buf_add_all((b), __VA_ARGS__, (const char *)NULL)
void buf_add_all(struct buf *, ...);  /* strings, one behind the other */
char *buf_text(struct buf *);  /* as a string: a NUL, not counted, ends it */
void buf_end_line(struct buf *);  /* appends a newline, unless one ends it */
void buf_shrink(struct buf *);  /* no more memory than it needs */
void buf_drop(struct buf *, size_t n);  /* the first n bytes; memory stays */
void buf_free(struct buf *);  /* makes it a zeroed buffer; twice is fine */
bool buf_has(const struct buf *, char);
int64_t buf_lines(const char *, size_t n);  /* newlines in n bytes */

#endif
