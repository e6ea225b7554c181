#ifndef BASE_BUF_H
#define BASE_BUF_H

/* Bytes, and what is made of them: memory, buffers that grow, UTF-8, numbers
 * and names as text, a text looked for in others; and a line on stderr.
 *
 * Memory is of two kinds (E7). What a peer sizes is taken by buf_reserve(), and
 * that may refuse. All else is small: it is there, or boris says so on stderr
 * and ends with status 1. So nobody looks whether it was. */

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

/* A number as a string, which lasts as long as the block that this stands in:
 * "80"; and milliseconds in seconds: "12.3". (They want zeroed room.) */
#define NUM(n) decimal((char[24]){ 0 }, (n))
#define SECS(ms) seconds((char[32]){ 0 }, (ms), 1)
const char *decimal(char room[24], int64_t n);
const char *seconds(char room[32], int64_t ms, int decimals);  /* 1 to 3 */

int hex_digit(char);  /* its value, of either case; 16: it is none */
/* The digits' value, and what is behind; -1: none, or too large (2^56). */
int64_t digits_value(const char *text, int base, const char **behind);

/* The length of the character at the start of n > 0 bytes; 0: it goes on
 * behind them; -k: one U+FFFD replaces the first k bytes (Unicode 3.9). */
int utf8_length(const unsigned char *p, size_t n);
bool utf8_continues(unsigned char);  /* Is it no character's first byte? */
size_t utf8_cut(const struct buf *text, int most);  /* bytes in `most` chars */

void path_tidy(char *path);  /* takes "." and ".." out, as `cd -L` does */
char *path_from(const char *dir, const char *name);  /* absolute */

/* A text to be found, which stays the caller's, with its failure function
 * (Knuth, Morris and Pratt). Zeroed, it is found nowhere. pattern_open()
 * returns false where the memory is refused. */
struct pattern {
	const char *bytes;
	size_t len;
	uint32_t *back;
};

bool pattern_open(struct pattern *, const char *bytes, size_t len);
void pattern_free(struct pattern *);  /* zeroed again */
/* How many bytes match up to c, if `matched` did before it; all: found */
size_t pattern_step(const struct pattern *, size_t matched, char c);

/* Writes to stderr what it takes at once, and returns how many bytes that were;
 * if not all, errno says why. It never waits (C3), whatever stderr is. */
size_t stderr_write(const char *bytes, size_t n);

/* Prints one line on stderr, control characters as "?"; or it is lost. */
#define stderr_line(...) stderr_all((const char *const[]){ __VA_ARGS__, NULL })
void stderr_all(const char *const *part);

/* Prints "boris: WHAT VALUE: RIGHT" on stderr, and ends the process. For what
 * is wrong at the start, and for want of memory; else boris stays up (E7). */
#ifdef __GNUC__
__attribute__((__noreturn__))
#endif
void fatal(int status, const char *what, const char *value, const char *right);

#endif
