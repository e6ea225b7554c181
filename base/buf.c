/* More than POSIX: MAP_ANONYMOUS */
#ifdef __linux__
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#define _BSD_SOURCE  /* the same before glibc 2.20 */
#endif
#define _DARWIN_C_SOURCE  /* macOS */
#define _NETBSD_SOURCE

#include "base/buf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIECE = 512,           /* bytes; a pipe with room takes so many
	                        * (PIPE_BUF) */
	RESERVE_SMALL = 1024   /* bytes; fewer are taken from the spare memory */
};

/* A pipe or a terminal is opened anew, so that it does not wait: the flags of
 * descriptor 2 are shared with other processes. (A file does not wait, and
 * opened anew it would be written over.) If that fails, or this is not Linux,
 * it is given pieces when it has room, which can wait on a stopped terminal. */
size_t
stderr_write(const char *p, size_t n)
{
	struct pollfd out = { .fd = 2, .events = POLLOUT };
	size_t at = 0, most = n;
	ssize_t done = 1;
	struct stat st;
	int own = -1, error;

	if (fstat(2, &st) == 0 && !S_ISREG(st.st_mode)) {
		own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY |
		    O_CLOEXEC);
		out.fd = own < 0 ? 2 : own;
		most = own < 0 ? PIECE : n;
	}
	for (; at < n && done > 0; at += done > 0 ? (size_t)done : 0) {
		errno = EAGAIN;
		done = poll(&out, 1, 0);
		if (done > 0)
			done = write(out.fd, p + at, n - at < most ? n - at
			    : most);
	}
	error = errno;
	if (own >= 0)
		close(own);
	errno = error;
	return at;
}

void
stderr_all(const char *const *part)
{
	char line[1024];  /* there may be no memory to ask for */
	size_t n = 0;
	const char *c;

	for (; *part != NULL; part++) {
		for (c = *part; *c != '\0' && n < sizeof(line) - 1; c++)
			line[n++] = iscntrl((unsigned char)*c) ? '?' : *c;
	}
	line[n++] = '\n';
	stderr_write(line, n);  /* if it fails, there is nowhere to say so */
}

void
fatal(int status, const char *what, const char *value, const char *right)
{
	stderr_line("boris: ", what, value != NULL ? " " : "",
	    value != NULL ? value : "", ": ", right);
	exit(status);
}

/* Returns it; where there is none, boris ends (E7). */
static void *
there(void *p)
{
	if (p == NULL)
		fatal(1, "memory", NULL, "there is none left, so boris ends");
	return p;
}

void *
mem_resize(void *p, size_t n)
{
	return there(realloc(p, n));
}

void *
mem_get(size_t n)
{
	return there(calloc(1, n));  /* Untouched pages cost nothing. */
}

void *
mem_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fatal(1, "start", NULL, strerror(errno));
	return memory;
}

char *
mem_copy(const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(mem_resize(NULL, n), text, n);
}

bool
mem_is_there(size_t n)
{
	void *volatile p = malloc(n);  /* Else a compiler drops both. */

	free(p);
	return p != NULL;
}

void *
mem_try(size_t n)
{
	void *p = malloc(n);

	if (p != NULL && mem_is_there(MEM_SPARE))
		return p;
	free(p);
	return NULL;
}

/* Makes room for so many more. Returns false if the memory is refused. */
static bool
grow(struct buf *b, size_t more)
{
	size_t cap = b->cap * 2 + more + 64;
	char *data;

	if (more <= b->cap - b->len)
		return true;
	/* The sum must not wrap around. */
	if (more > SIZE_MAX / 4)
		return false;
	data = realloc(b->data, cap);
	if (data == NULL) {
		/* On a small host there may be enough for what is needed. */
		cap = b->len + more;
		data = realloc(b->data, cap);
	}
	if (data == NULL)
		return false;
	b->data = data;
	b->cap = cap;
	return true;
}

/* Gives memory back. */
static void
shrink(struct buf *b, size_t cap)
{
	char *data = NULL;

	if (cap == 0)
		free(b->data);
	else
		data = realloc(b->data, cap);
	if (cap > 0 && data == NULL)
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
	if (b->len + more <= RESERVE_SMALL || mem_is_there(MEM_SPARE))
		return true;
	/* Without the room to grow further there may be enough left. */
	shrink(b, b->len + more);
	if (mem_is_there(MEM_SPARE))
		return true;
	shrink(b, before);
	return false;
}

void
buf_put(struct buf *b, const void *bytes, size_t n)
{
	if (n == 0)
		return;  /* There may be no bytes: NULL. */
	there(grow(b, n) ? b : NULL);
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
	while ((s = va_arg(strings, const char *)) != NULL)
		buf_put(b, s, strlen(s));
	va_end(strings);
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
	b->cap = b->len + 1;  /* realloc() may not be asked for nothing. */
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

	for (i = 0; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

bool
buf_has(const struct buf *b, char c)
{
	return b->len > 0 && memchr(b->data, c, b->len) != NULL;
}

/* printf() alone would take 7 KiB of a static binary (Q2). */
const char *
decimal(char room[24], int64_t n)
{
	uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	char *p = room + 23;

	do {
		*--p = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (n < 0)
		*--p = '-';
	return p;
}

const char *
seconds(char room[32], int64_t ms, int decimals)
{
	room[23] = '.';
	/* The 1 keeps the zeros behind the point, and is left out. */
	memcpy(room + 24, NUM(1000 + ms % 1000) + 1, (size_t)decimals);
	return decimal(room, ms / 1000);
}

int
hex_digit(char c)
{
	int letter = c | 0x20;

	if (letter >= 'a' && letter <= 'f')
		return letter - 'a' + 10;
	return c >= '0' && c <= '9' ? c - '0' : 16;
}

int64_t
digits_value(const char *text, int base, const char **behind)
{
	int64_t n = 0;

	for (*behind = text; hex_digit(**behind) < base; ++*behind) {
		if (n >> 56 != 0)
			return -1;
		n = n * base + hex_digit(**behind);
	}
	return *behind == text ? -1 : n;
}

/* Unicode, table 3-7; RFC 3629, section 4 */
int
utf8_length(const unsigned char *p, size_t n)
{
	/* What the second byte may be; those behind are 0x80 to 0xBF. */
	unsigned char least = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
	unsigned char most = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
	int len = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	int i;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return -1;
	for (i = 1; i < len; i++) {
		if ((size_t)i == n)
			return 0;
		if (p[i] < least || p[i] > most)
			return -i;
		least = 0x80;
		most = 0xBF;
	}
	return len;
}

bool
utf8_continues(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

size_t
utf8_cut(const struct buf *text, int most)
{
	size_t i = 0;
	int n = 1;

	for (; most > 0 && i < text->len && n != 0; most--) {
		n = utf8_length((const unsigned char *)text->data + i,
		    text->len - i);
		i += (size_t)(n > 0 ? n : -n);
	}
	return i;
}

void
path_tidy(char *path)
{
	size_t len = 0, part;
	const char *p;

	for (p = path; *p != '\0'; p += part) {
		p += strspn(p, "/");
		part = strcspn(p, "/");
		if (part == 2 && p[0] == '.' && p[1] == '.') {
			while (len > 0 && path[--len] != '/')
				;
		} else if (part > 1 || (part == 1 && p[0] != '.')) {
			path[len++] = '/';
			memmove(path + len, p, part);
			len += part;
		}
	}
	if (len == 0)
		path[len++] = '/';
	path[len] = '\0';
}

char *
path_from(const char *dir, const char *name)
{
	struct buf b = { NULL, 0, 0 };

	if (name[0] == '/')
		return mem_copy(name);
	buf_add(&b, dir[1] != '\0' ? dir : "", "/", name);
	return buf_text(&b);
}

bool
pattern_open(struct pattern *p, const char *bytes, size_t len)
{
	size_t i;

	p->back = len > 0 ? malloc(len * sizeof(*p->back)) : NULL;
	if (p->back == NULL)
		return len == 0;
	p->bytes = bytes;
	p->len = len;
	p->back[0] = 0;
	for (i = 1; i < len; i++)
		p->back[i] = (uint32_t)pattern_step(p, p->back[i - 1],
		    bytes[i]);
	return true;
}

void
pattern_free(struct pattern *p)
{
	free(p->back);
	memset(p, 0, sizeof(*p));
}

size_t
pattern_step(const struct pattern *p, size_t matched, char c)
{
	while (matched > 0 && (matched == p->len || p->bytes[matched] != c))
		matched = p->back[matched - 1];
	return matched + (p->len > 0 && p->bytes[matched] == c);
}
