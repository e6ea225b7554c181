/* SPDX-License-Identifier: ISC */
/* Request the definition of MAP_ANONYMOUS, which is not part of POSIX. */
#ifdef __linux__
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define _BSD_SOURCE  /* needed by glibc before 2.20 */
#endif
#define _DARWIN_C_SOURCE  /* macOS */
#define _NETBSD_SOURCE

#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/message.h"

enum {
	RESERVE_SMALL = 1024   /* maximum size, in bytes, of a buffer that may
	                        * be allocated from the MEM_SPARE reserve */
};

/* Returns p, the result of an allocation. If it is NULL, prints an error and
 * exits with status 1 (E7). */
static void *
check_alloc(void *p)
{
	if (p == NULL)
		fatal(1, "out of memory");
	return p;
}

void *
mem_resize(void *p, size_t n)
{
	return check_alloc(realloc(p, n));
}

void *
mem_get(size_t n)
{
	/* calloc() does not touch pages fresh from the kernel, so unused memory
	 * costs nothing. */
	return check_alloc(calloc(1, n));
}

void *
mem_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fatal(1, "cannot allocate shared memory: %s",
		    strerror(errno));
	return memory;
}

char *
mem_copy(const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(mem_resize(NULL, n), text, n);
}

bool
mem_is_available(size_t n)
{
	/* Make the pointer volatile, so that the compiler cannot remove the
	 * call to malloc(). */
	void *volatile p = malloc(n);

	free(p);
	return p != NULL;
}

void *
mem_try(size_t n)
{
	void *p = malloc(n);

	if (p != NULL && mem_is_available(MEM_SPARE))
		return p;
	free(p);
	return NULL;
}

/* Allocates memory for `more` additional bytes. Returns false, with the buffer
 * unchanged, if allocation fails. */
static bool
grow(struct buf *b, size_t more)
{
	size_t cap = b->cap * 2 + more + 64;
	char *data;

	if (more <= b->cap - b->len)
		return true;
	/* Reject sizes for which b->len + more could overflow. */
	if (more > SIZE_MAX / 4)
		return false;
	data = realloc(b->data, cap);
	if (data == NULL) {
		/* Doubling the buffer may need too much memory, so try again
		 * with the exact size. */
		cap = b->len + more;
		data = realloc(b->data, cap);
	}
	if (data == NULL)
		return false;
	b->data = data;
	b->cap = cap;
	return true;
}

/* Shrinks the allocation to `cap` bytes. Leaves the buffer unchanged if
 * realloc() fails. */
static void
shrink(struct buf *b, size_t cap)
{
	char *data;

	if (cap == 0) {
		buf_free(b);
		return;
	}
	data = realloc(b->data, cap);
	if (data == NULL)
		return;
	b->data = data;
	b->cap = cap;
}

bool
buf_reserve(struct buf *b, size_t more)
{
	size_t before = b->cap;

	if (more <= b->cap - b->len)
		return true;
	if (!grow(b, more))
		return false;
	if (b->len + more <= RESERVE_SMALL || mem_is_available(MEM_SPARE))
		return true;
	/* grow() may have allocated more than is needed. Shrink the buffer to
	 * the exact size, and check again whether MEM_SPARE bytes of memory are
	 * free. */
	shrink(b, b->len + more);
	if (mem_is_available(MEM_SPARE))
		return true;
	shrink(b, before);
	return false;
}

void
buf_put(struct buf *b, const void *bytes, size_t n)
{
	if (n == 0)
		/* If n is 0, `bytes` may be NULL, which memcpy() does not
		 * allow. */
		return;
	if (!grow(b, n))
		check_alloc(NULL);
	memcpy(b->data + b->len, bytes, n);
	b->len += n;
}

void
buf_putc(struct buf *b, char c)
{
	buf_put(b, &c, 1);
}

void
buf_keep_end(struct buf *b, size_t n)
{
	if (b->len <= n)
		return;
	memmove(b->data, b->data + b->len - n, n);
	b->len = n;
}

void
buf_add_all(struct buf *b, ...)
{
	va_list strings;
	const char *s;

	va_start(strings, b);
	s = va_arg(strings, const char *);
	while (s != NULL) {
		buf_put(b, s, strlen(s));
		s = va_arg(strings, const char *);
	}
	va_end(strings);
}

static void
put_into_buf(void *to, const char *bytes, size_t n)
{
	buf_put(to, bytes, n);
}

void
buf_vfmt(struct buf *b, const char *format, va_list arguments)
{
	fmt_pieces(put_into_buf, b, format, arguments);
}

void
buf_fmt(struct buf *b, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	buf_vfmt(b, format, arguments);
	va_end(arguments);
}

char *
buf_text(struct buf *b)
{
	buf_putc(b, '\0');
	b->len--;
	return b->data;
}

void
buf_end_line(struct buf *b)
{
	if (b->len > 0 && b->data[b->len - 1] != '\n')
		buf_putc(b, '\n');
}

void
buf_shrink(struct buf *b)
{
	/* Add 1 because realloc(p, 0) may free p and return NULL. */
	b->cap = b->len + 1;
	b->data = mem_resize(b->data, b->cap);
}

void
buf_drop(struct buf *b, size_t n)
{
	b->len -= n;
	if (b->len > 0)
		memmove(b->data, b->data + n, b->len);
}

void
buf_free(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

int64_t
buf_lines(const char *p, size_t n)
{
	int64_t lines = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] == '\n')
			lines++;
	}
	return lines;
}

bool
buf_has(const struct buf *b, char c)
{
	return b->len > 0 && memchr(b->data, c, b->len) != NULL;
}

