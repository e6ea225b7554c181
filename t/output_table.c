/* What output.h promises, case by case: t/output_table
 *
 * Files go into a directory of their own under $TMPDIR or /tmp. One line per
 * failure. */

#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../output.h"

#define TEXT(literal) { literal, sizeof literal - 1 }
#define COUNT(array) (sizeof array / sizeof array[0])
#define MIB (1024 * 1024)

/* A text that may hold NUL bytes. */
struct text {
	const char *bytes;
	size_t len;
};

/* What all tests share: how many went well, and one stream at a time. */
struct test {
	int passed, failed;
	const char *what;         /* is being tested */
	char dir[200];            /* for files */
	struct spool spool;
	struct output *o;
	int64_t limit;            /* of the next one (O8) */
	bool terminal;            /* the next one is a terminal's */
	struct buf shown;         /* what was shown last */
	struct output_view view;  /* with that */
};

/* Words */

static void
print_bytes(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < 100; i++) {
		if (s[i] >= ' ' && s[i] <= '~' && s[i] != '\\')
			putchar(s[i]);
		else
			printf("\\x%02x", (unsigned char)s[i]);
	}
	if (i < n)
		printf("... (%lu bytes)", (unsigned long)n);
}

static bool
expect(struct test *t, bool ok, const char *what)
{
	if (ok) {
		t->passed++;
		return true;
	}
	t->failed++;
	printf("%s: %s\n", t->what, what);
	return false;
}

static void
expect_bytes(struct test *t, const char *what, const char *is, size_t n,
             const char *wanted, size_t len)
{
	bool same = n == len && (n == 0 || memcmp(is, wanted, n) == 0);

	if (expect(t, same, what))
		return;
	printf("  is  ");
	print_bytes(is, n);
	printf("\n  not ");
	print_bytes(wanted, len);
	putchar('\n');
}

/* What was shown is this? */
static void
shows(struct test *t, const char *what, const char *wanted)
{
	expect_bytes(t, what, t->shown.data, t->shown.len, wanted,
	             strlen(wanted));
}

/* What was shown ends like this? Each %s in it stands for a string. */
static void
ends(struct test *t, const char *what, const char *format, ...)
{
	char wanted[1000];
	size_t n, from;
	va_list args;

	va_start(args, format);
	vsnprintf(wanted, sizeof wanted, format, args);
	va_end(args);
	n = strlen(wanted);
	from = t->shown.len > n ? t->shown.len - n : 0;
	expect_bytes(t, what, t->shown.data + from, t->shown.len - from,
	             wanted, n);
}

static void
begin(struct test *t, const char *what)
{
	t->what = what;
	output_free(t->o);
	t->o = output_new(&t->spool, t->limit, t->terminal);
	if (t->o == NULL)
		abort();
}

/* The stream, which now is its caller's */
static struct output *
keep(struct test *t)
{
	struct output *o = t->o;

	t->o = NULL;
	return o;
}

static void
feed(struct test *t, const char *text)
{
	output_write(t->o, text, strlen(text));
}

static void
repeat(struct test *t, const char *text, int times)
{
	struct buf b = {0};

	while (times-- > 0)
		buf_puts(&b, text);
	output_write(t->o, b.data, b.len);
	buf_free(&b);
}

/* Most tests save nothing, and only one of them is about how that is said. */
#define NOT_SAVED "; full output not saved: it is over --save-limit"

static void
drop_not_saved(struct test *t)
{
	size_t n = sizeof NOT_SAVED - 1, i;

	for (i = 0; t->spool.limit == 0 && i + n <= t->shown.len; i++) {
		if (memcmp(t->shown.data + i, NOT_SAVED, n) == 0) {
			memmove(t->shown.data + i, t->shown.data + i + n,
			        t->shown.len - i - n);
			t->shown.len -= n;
		}
	}
}

static void
show(struct test *t, enum truncate how)
{
	struct output_bounds most = { how, t->limit, 0, 0 };
	struct output_cursor c = {0};

	t->shown.len = 0;
	output_show(t->o, &c, false, &most, "stdout", &t->shown, &t->view);
	drop_not_saved(t);
}

static void
finish(struct test *t, enum truncate how)
{
	output_end(t->o);
	show(t, how);
}

static int
count(const struct test *t, const char *what)
{
	size_t n = strlen(what), i;
	int found = 0;

	for (i = 0; i + n <= t->shown.len; i++)
		found += memcmp(t->shown.data + i, what, n) == 0;
	return found;
}

/* Cleaning (O1, O2) */

static const struct {
	struct text raw, clean;
} cleaned[] = {
	{ TEXT(""), TEXT("") },
	{ TEXT("hello\nworld"), TEXT("hello\nworld") },
	{ TEXT("a\tb\n"), TEXT("a\tb\n") },
	/* Sequences */
	{ TEXT("\033[31mred\033[0m"), TEXT("red") },
	{ TEXT("\033[1;38:5:3;4mx\033[m"), TEXT("x") },
	{ TEXT("a\033[?25lb\033[2J\033[Hc"), TEXT("abc") },
	{ TEXT("a\033[ qb\033[!pc"), TEXT("abc") },
	{ TEXT("a\033c\0337\033Mb\033(Bc\033#8d\033%Ge"), TEXT("abcde") },
	{ TEXT("a\033$(Cb"), TEXT("ab") },
	{ TEXT("a\033"), TEXT("a") },
	{ TEXT("a\033["), TEXT("a") },
	{ TEXT("a\033[31"), TEXT("a") },
	{ TEXT("a\033\nb"), TEXT("a\nb") },
	{ TEXT("a\033[31\nb"), TEXT("a\nb") },
	{ TEXT("a\033[31\033[0mb"), TEXT("ab") },
	{ TEXT("a\033\033[0mb"), TEXT("ab") },
	{ TEXT("a\033[31\030b"), TEXT("ab") },
	{ TEXT("a\033[31\032b"), TEXT("ab") },
	{ TEXT("a\033[3\007\r1mb"), TEXT("ab") },
	{ TEXT("a\033[31\303\251b"), TEXT("a\303\251b") },
	{ TEXT("a\033\303\251b"), TEXT("a\303\251b") },
	{ TEXT("a\033[31\177b"), TEXT("ab") },
	/* Strings */
	{ TEXT("\033]0;title\007text"), TEXT("text") },
	{ TEXT("\033]0;title\033\\text"), TEXT("text") },
	{ TEXT("\033]8;;http://x\033\\link\033]8;;\033\\"), TEXT("link") },
	{ TEXT("a\033Pq#0;1\033\\b"), TEXT("ab") },
	{ TEXT("a\033Xx\033\\b\033^x\033\\c\033_x\033\\d"), TEXT("abcd") },
	{ TEXT("a\033Px\007y\033\\b"), TEXT("ab") },
	{ TEXT("a\033]0;t\303\251\377\177\r\tx\007b"), TEXT("ab") },
	{ TEXT("a\033]0;t\nb"), TEXT("a\nb") },
	{ TEXT("a\033]0;t\r\nb"), TEXT("a\nb") },
	{ TEXT("a\033]0;t\033[31mb"), TEXT("ab") },
	{ TEXT("a\033]0;t\030b"), TEXT("ab") },
	{ TEXT("a\033]0;t\032b"), TEXT("ab") },
	{ TEXT("a\033]0;t"), TEXT("a") },
	/* CR */
	{ TEXT("a\r\nb\r\n"), TEXT("a\nb\n") },
	{ TEXT("a\r\r\nb"), TEXT("a\nb") },
	{ TEXT("\r\r\nb"), TEXT("\nb") },
	{ TEXT("abcdef\rxy"), TEXT("xycdef") },
	{ TEXT("abcdef\rxy\nz"), TEXT("xycdef\nz") },
	{ TEXT("abcdef\r"), TEXT("abcdef") },
	{ TEXT("50%\rdone"), TEXT("done") },
	{ TEXT("1%\r22%\r333%\n"), TEXT("333%\n") },
	{ TEXT("a\nbcd\rx"), TEXT("a\nxcd") },
	{ TEXT("\303\251\303\274z\rab"), TEXT("abz") },
	{ TEXT("abc\r\303\251"), TEXT("\303\251bc") },
	{ TEXT("abc\r\360\237\230\200x"), TEXT("\360\237\230\200xc") },
	{ TEXT("\342\202\254b\ra\033[31mc"), TEXT("ac") },
	{ TEXT("abc\r\377"), TEXT("\357\277\275bc") },
	{ TEXT("abc\r\002\007x"), TEXT("xbc") },
	/* Erasing in the line */
	{ TEXT("50%\r\033[Kok"), TEXT("ok") },
	{ TEXT("abcdef\rab\033[K"), TEXT("ab") },
	{ TEXT("abcdef\rab\033[0K\n"), TEXT("ab\n") },
	{ TEXT("abcdef\033[Kg"), TEXT("abcdefg") },
	{ TEXT("abcdef\r\033[2Kxy"), TEXT("xy") },
	{ TEXT("abc\033[2Kxy"), TEXT("   xy") },
	{ TEXT("abc\033[2K\n"), TEXT("\n") },
	{ TEXT("abc\033[2K"), TEXT("") },
	{ TEXT("abc\033[2K\rx"), TEXT("x") },
	{ TEXT("\303\251\303\251\033[2K\033[002Kx"), TEXT("  x") },
	{ TEXT("abcdef\rab\033[1K"), TEXT("   def") },
	{ TEXT("abcdef\rab\033[1Kx"), TEXT("  xdef") },
	{ TEXT("\303\251\303\251c\ra\033[1Kx"), TEXT(" xc") },
	{ TEXT("abc\033[1Kx"), TEXT("   x") },
	{ TEXT("a\nbc\033[2Kx"), TEXT("a\n  x") },
	{ TEXT("abc\r\033[3Kx\033[?Ky\033[0;1Kz"), TEXT("xyz") },
	{ TEXT("abc\r\033[1;K\033[10K\033[K1"), TEXT("1") },
	/* Other controls */
	{ TEXT("a\001b\007c\013\014\016\177d"), TEXT("abcd") },
	{ TEXT("a\000b\000"), TEXT("a\342\220\200b\342\220\200") },
	{ TEXT("ab\r\000"), TEXT("\342\220\200b") },
	/* Backspace */
	{ TEXT("_\bX"), TEXT("X") },
	{ TEXT("N\bNA\bAM\bM\n"), TEXT("NAM\n") },
	{ TEXT("abc\b"), TEXT("abc") },
	{ TEXT("abc\b\n"), TEXT("abc\n") },
	{ TEXT("abc\b\b\b\b\bx"), TEXT("xbc") },
	{ TEXT("a\n\b\bb"), TEXT("a\nb") },
	{ TEXT("\303\251\b\342\202\254\b_\bx"), TEXT("x") },
	{ TEXT("ab\b\033[Kc"), TEXT("ac") },
	{ TEXT("abc\033[2K\bx"), TEXT("  x") },
	{ TEXT("abcd\b\b\033[1Kx\n"), TEXT("  xd\n") },
	{ TEXT("a\302\200b\302\233m\302\237c\302\240d"), TEXT("abmc\302\240d") },
	/* UTF-8 */
	{ TEXT("caf\303\251 \342\202\254 \360\237\230\200"),
	  TEXT("caf\303\251 \342\202\254 \360\237\230\200") },
	{ TEXT("a\377b"), TEXT("a\357\277\275b") },
	{ TEXT("\200\277"), TEXT("\357\277\275\357\277\275") },
	{ TEXT("\303"), TEXT("\357\277\275") },
	{ TEXT("\342\202"), TEXT("\357\277\275") },
	{ TEXT("\342\202x"), TEXT("\357\277\275x") },
	{ TEXT("\342\202\n"), TEXT("\357\277\275\n") },
	{ TEXT("\342\202\033[0mx"), TEXT("\357\277\275x") },
	{ TEXT("\360\237\230\342\202\254"), TEXT("\357\277\275\342\202\254") },
	{ TEXT("\355\240\200"), TEXT("\357\277\275\357\277\275\357\277\275") },
	{ TEXT("\300\257"), TEXT("\357\277\275\357\277\275") },
	{ TEXT("\364\220x"), TEXT("\357\277\275\357\277\275x") },
	{ TEXT("\302\302\205"), TEXT("\357\277\275") },
};

/* The raw bytes come in pieces of that size, in memory of just that size,
 * where a sanitizer sees a step too far. */
static void
feed_pieces(struct test *t, struct text raw, size_t size)
{
	char *copy;
	size_t i, n;

	for (i = 0; i < raw.len; i += n) {
		n = raw.len - i < size ? raw.len - i : size;
		copy = malloc(n);
		if (copy == NULL)
			abort();
		memcpy(copy, raw.bytes + i, n);
		output_write(t->o, copy, n);
		free(copy);
	}
}

static void
expect_clean(struct test *t, struct text raw, struct text clean)
{
	size_t size;

	for (size = 1; size == 1 || size <= raw.len; size++) {
		begin(t, "cleaning");
		feed_pieces(t, raw, size);
		finish(t, TRUNCATE_HEAD);
		expect_bytes(t, raw.bytes, t->shown.data, t->shown.len,
		             clean.bytes, clean.len);
	}
}

/* The same behind other text */
static void
expect_clean_behind(struct test *t, struct text raw, struct text clean,
                    const char *text, int times)
{
	struct buf b = {0}, wanted = {0};
	struct text longer;

	while (times-- > 0)
		buf_puts(&b, text);
	buf_puts(&b, "\n");
	buf_put(&wanted, b.data, b.len);
	buf_put(&b, raw.bytes, raw.len);
	buf_put(&wanted, clean.bytes, clean.len);
	longer.bytes = b.data;
	longer.len = b.len;
	begin(t, "cleaning behind text");
	feed_pieces(t, longer, b.len);
	finish(t, TRUNCATE_HEAD);
	expect_bytes(t, raw.bytes, t->shown.data, t->shown.len, wanted.data,
	             wanted.len);
	buf_free(&b);
	buf_free(&wanted);
}

static void
test_cleaning(struct test *t)
{
	size_t i;
	int n;

	for (i = 0; i < COUNT(cleaned); i++) {
		expect_clean(t, cleaned[i].raw, cleaned[i].clean);
		for (n = 0; n < 140; n += 7) {
			expect_clean_behind(t, cleaned[i].raw,
			                    cleaned[i].clean, "x", n);
			expect_clean_behind(t, cleaned[i].raw,
			                    cleaned[i].clean, "\303\251", n);
		}
	}
}

/* The same bytes one by one and in one piece */
static void
expect_same(struct test *t, const unsigned char *raw, size_t n)
{
	struct buf wanted = {0};
	size_t i;

	begin(t, "characters");
	for (i = 0; i < n; i++)
		output_write(t->o, raw + i, 1);
	finish(t, TRUNCATE_HEAD);
	buf_put(&wanted, t->shown.data, t->shown.len);
	begin(t, "characters");
	output_write(t->o, raw, n);
	finish(t, TRUNCATE_HEAD);
	expect_bytes(t, "in one piece", t->shown.data, t->shown.len,
	             wanted.data, wanted.len);
	buf_free(&wanted);
}

/* Every lead with every byte behind it, and with up to two followers more */
static void
test_characters(struct test *t)
{
	unsigned char raw[140];
	int c, d, more;

	for (c = 0x80; c < 256; c++) {
		for (d = 0; d < 256; d += c < 0xC0 ? 51 : 1) {
			for (more = 0; more < 3; more++) {
				memset(raw, 'x', sizeof raw);
				raw[70] = (unsigned char)c;
				raw[71] = (unsigned char)d;
				memset(raw + 72, 0x80, (size_t)more);
				expect_same(t, raw, sizeof raw);
			}
		}
	}
}

/* A long line goes on in a next row, which a CR does not leave (O1). */
static void
test_long_line(struct test *t)
{
	begin(t, "long line");
	repeat(t, "\303\251", 8000);
	feed(t, "\ry\n");
	finish(t, TRUNCATE_HEAD);
	expect(t, t->shown.len == 16000 && t->shown.data[0] == 'y',
	       "rewritten from its start");
	begin(t, "long line");
	repeat(t, "x", 20000);
	feed(t, "\r\033[Ky\b\b\bz\n");
	finish(t, TRUNCATE_TAIL);
	expect(t, t->shown.len == 8000 * 2 + 2, "two rows stay");
	ends(t, "the third begins anew", "xxxz\n");
	begin(t, "long line");
	repeat(t, "x\b", 20000);
	repeat(t, "ab\b\b", 20000);
	repeat(t, "y", 7999);
	feed(t, "\rz\n");
	finish(t, TRUNCATE_HEAD);
	expect(t, t->shown.len == 8000 && t->shown.data[0] == 'z',
	       "what was rewritten takes no columns");
}

/* A terminal's lines end at its last column, and without blanks (I6). */
static void
test_terminal(struct test *t)
{
	struct output_cursor c = {0};

	t->terminal = true;
	begin(t, "terminal");
	feed(t, "$");
	repeat(t, " \t ", 20);
	feed(t, "\r\n x \b\t\b\n> ");
	show(t, TRUNCATE_HEAD);
	shows(t, "blanks", "$\n x\n> ");
	feed(t, "  \n");
	output_look(t->o, &c);
	repeat(t, "a", 200);
	feed(t, "\r\n");
	repeat(t, "b", 200);
	feed(t, "c\rd");
	repeat(t, " ", 199);
	feed(t, "e\bf\n");
	finish(t, TRUNCATE_HEAD);
	ends(t, "columns", "a\n%sb\nd\nf\n", "bbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	     "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	     "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	     "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
	expect(t, count(t, "\n") == 7 && count(t, "> \n") == 1, "lines");
	begin(t, "terminal");
	feed(t, "> ");
	output_look(t->o, &c);
	feed(t, "  \n");
	t->shown.len = 0;
	output_since(t->o, &c, 1000, &t->shown);
	shows(t, "what was seen stays", "\n");
	t->terminal = false;
}

static void
test_screen(struct test *t)
{
	static const struct {
		const char *text;
		bool screen;
	} cases[] = {
		{ "\033[1;31mred\033[0m \033[38;5;196mx\033[K\n", false },
		{ "10%\r\033[2K20%\r\033[K\033[?25l30%\033[?25h", false },
		{ "\033[H\033[2J\033[3J\033[1;1H\033[;Hcleared", false },
		{ "one\ntwo\n\033[1A\033[2K\033[1G\033[1Btwo", false },
		{ "\033[?2004h\033[?1l", false },
		{ "\033[?1049h", true }, { "\033[?47h", true },
		{ "x\033[2H", true }, { "x\033[10;20Hy", true },
		{ "x\033[1;40fy", true },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		begin(t, "screen");
		feed(t, cases[i].text);
		expect(t, output_is_screen(t->o) == cases[i].screen,
		       cases[i].text);
	}
}

/* What is no longer there is not counted. */
static void
test_erased(struct test *t)
{
	static const char *const gone[] = {
		"abcdef\r\033[K", "\303\251\303\251\033[2K\r", "abc\033[1K\r",
		"abcdef\rabc\033[1K\r\033[K", "\303\251\r\342\202\254\rx\r"
	};
	size_t i;

	for (i = 0; i < COUNT(gone); i++) {
		begin(t, "erased");
		repeat(t, gone[i], 20000);
		repeat(t, "x", 30000);
		finish(t, TRUNCATE_HEAD);
		expect(t, t->view.chars == -1 && t->shown.len == 30000,
		       gone[i]);
		begin(t, "erased");
		repeat(t, gone[i], 20000);
		repeat(t, "x", 30001);
		finish(t, TRUNCATE_HEAD);
		expect(t, t->view.chars == 30001, gone[i]);
	}
}

/* Truncating (O3, O4) */

static void
test_head(struct test *t)
{
	begin(t, "head");
	repeat(t, "x", 29999);
	finish(t, TRUNCATE_HEAD);
	expect(t, t->shown.len == 29999 && t->view.chars == -1, "29,999");
	begin(t, "head");
	repeat(t, "\303\251", 30000);
	finish(t, TRUNCATE_HEAD);
	expect(t, t->shown.len == 60000 && t->view.chars == -1, "30,000");
	begin(t, "head");
	repeat(t, "\342\202\254", 30001);
	finish(t, TRUNCATE_HEAD);
	ends(t, "30,001", "\254\n[stdout truncated: 30001 characters in "
	     "total, first 30000 and last 1 shown]\n\342\202\254");
	expect(t, count(t, "\342\202\254") == 30001, "whole characters");
	expect(t, t->view.chars == 30001 && t->view.file == NULL, "data");
	begin(t, "head");
	repeat(t, "x", 29999);
	feed(t, "\ny");
	finish(t, TRUNCATE_HEAD);
	ends(t, "no empty line", "xxx\n[stdout truncated: 30001 characters "
	     "in total, first 30000 and last 1 shown]\ny");
}

/* What stands behind the line of O3 */
static void
test_last(struct test *t)
{
	begin(t, "last");
	repeat(t, "x", 48000);
	repeat(t, "y", 2000);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "x\n[stdout truncated: 50000 characters in total, "
	       "first 30000 and last 2000 shown]\ny") == 1, "of one line");
	expect(t, count(t, "y") == 2000, "of one line");
	begin(t, "last");
	repeat(t, "\360\237\230\200", 50000);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "first 30000 and last 2000 shown]\n\360") == 1 &&
	       count(t, "\360\237\230\200") == 32000, "of long characters");
	begin(t, "last");
	repeat(t, "0123456789abcde\n", 10000);
	feed(t, "z\n");
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "first 30000 and last 1986 shown]\n01") == 1,
	       "from a line's start");
	ends(t, "to the end", "e\nz\n");
	begin(t, "last");
	repeat(t, "0123456789abcde\n", 10000);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "first 30000 and last 2000 shown]\n01") == 1,
	       "a line begins with its first character");
	begin(t, "last");
	repeat(t, "x\n", 15050);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "first 30000 and last 100 shown]\nx\n") == 1 &&
	       count(t, "x\n") == 15050, "none twice");
	begin(t, "last");
	repeat(t, "x", 30500);
	feed(t, "\n");
	repeat(t, "y", 999);
	feed(t, "\n");
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "first 30000 and last 1501 shown]\nxxx") == 1,
	       "all that is left");
	begin(t, "last");
	repeat(t, "x", 48800);
	feed(t, "\n");
	repeat(t, "y", 1199);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "first 30000 and last 1199 shown]\nyyy") == 1,
	       "a line that begins in the first half");
	begin(t, "last");
	repeat(t, "x", 49000);
	feed(t, "\n");
	repeat(t, "y", 999);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "first 30000 and last 2000 shown]\nxxx") == 1,
	       "none that begins in the second");
}

static void
test_tail_lines(struct test *t)
{
	begin(t, "tail");
	repeat(t, "y\n", 1999);
	feed(t, "z");
	finish(t, TRUNCATE_TAIL);
	expect(t, t->shown.len == 3999 && t->view.chars == -1, "2000 lines");
	begin(t, "tail");
	repeat(t, "y\n", 2000);
	feed(t, "z");
	finish(t, TRUNCATE_TAIL);
	expect(t, count(t, "y\n") == 1999, "2001 lines");
	ends(t, "2001 lines", "y\nz\n[stdout: showing last 2000 of 2001 "
	     "lines]");
	expect(t, t->view.chars == 4001, "2001 lines: data");
	begin(t, "tail");
	repeat(t, "line\n", 8500);
	finish(t, TRUNCATE_TAIL);
	ends(t, "8500 lines", "line\n[stdout: showing last 2000 of 8500 "
	     "lines]");
	begin(t, "tail");
	repeat(t, "\n", 100000);
	finish(t, TRUNCATE_TAIL);
	ends(t, "empty lines", "\n\n[stdout: showing last 2000 of 100000 "
	     "lines]");
}

static void
test_tail_bytes(struct test *t)
{
	begin(t, "tail");
	repeat(t, "0123456789abcde\n", 3200);
	finish(t, TRUNCATE_BOTH);
	show(t, TRUNCATE_TAIL);
	ends(t, "51,200 bytes", "\n[stdout: showing last 2000 of 3200 lines]");
	begin(t, "tail");
	repeat(t, "0123456789abcdef0123456789abcde\n", 1600);
	finish(t, TRUNCATE_TAIL);
	expect(t, t->shown.len == 51200 && t->view.chars == -1,
	       "51,200 bytes");
	begin(t, "tail");
	feed(t, "\n");
	repeat(t, "0123456789abcdef0123456789abcde\n", 1600);
	finish(t, TRUNCATE_TAIL);
	ends(t, "51,201 bytes", "\n[stdout: showing last 1600 of 1601 lines]");
	begin(t, "tail");
	repeat(t, "0123456789abcdef0123456789abcde\n", 1600);
	feed(t, "x");
	finish(t, TRUNCATE_TAIL);
	ends(t, "whole lines", "\nx\n[stdout: showing last 1600 of 1601 "
	     "lines]");
	begin(t, "tail");
	repeat(t, "0123456789abcdef0123456789abcde\n", 100000);
	finish(t, TRUNCATE_TAIL);
	ends(t, "long", "\n[stdout: showing last 1600 of 100000 lines]");
	begin(t, "tail");
	feed(t, "\303\251\n");
	repeat(t, "0123456789abcdef0123456789abcde\n", 100000);
	finish(t, TRUNCATE_TAIL);
	ends(t, "not ASCII", "\n[stdout: showing last 1600 of 100001 lines]");
}

static void
test_tail_of_line(struct test *t)
{
	begin(t, "tail of a line");
	repeat(t, "x", 60000);
	finish(t, TRUNCATE_TAIL);
	ends(t, "ASCII", "xxx\n[stdout: showing last 1 of 1 lines (its last "
	     "51200 bytes)]");
	expect(t, count(t, "x") == 51200, "ASCII");
	begin(t, "tail of a line");
	feed(t, "first\n");
	repeat(t, "\342\202\254", 20000);
	feed(t, "\n");
	finish(t, TRUNCATE_TAIL);
	ends(t, "no character cut", "\254\n[stdout: showing last 1 of 2 "
	     "lines (its last 51199 bytes)]");
	expect(t, count(t, "\342\202\254") == 17066, "no character cut");
	begin(t, "tail of a line");
	repeat(t, "x", 60000);
	feed(t, "\nshort");
	finish(t, TRUNCATE_TAIL);
	shows(t, "a short one follows", "short\n[stdout: showing last 1 of 2 "
	      "lines]");
}

static void
test_both(struct test *t)
{
	begin(t, "both");
	repeat(t, "x", 30000);
	finish(t, TRUNCATE_BOTH);
	expect(t, t->shown.len == 30000 && t->view.chars == -1, "30,000");
	begin(t, "both");
	repeat(t, "x", 10000);
	feed(t, "yz");
	repeat(t, "w", 19999);
	finish(t, TRUNCATE_BOTH);
	expect(t, count(t, "x\n[stdout truncated: 30001 characters in total, "
	       "1 left out here]\nzw") == 1, "30,001");
	expect(t, t->view.chars == 30001, "data");
	begin(t, "both");
	repeat(t, "\303\251\360\237\230\200\n", 100000);
	finish(t, TRUNCATE_BOTH);
	expect(t, count(t, "\303\251\n[stdout truncated: 300000 characters "
	       "in total, 270000 left out here]\n\360\237\230\200\n") == 1,
	       "long characters");
	expect(t, count(t, "\360\237\230\200") == 3333 + 6667,
	       "long characters");
	begin(t, "both");
	repeat(t, "\360\237\230\200", 100000);
	finish(t, TRUNCATE_BOTH);
	expect(t, count(t, "\360\237\230\200") == 30000,
	       "the longest characters");
	begin(t, "both");
	repeat(t, "a\342\202\254\303\251", 20000);
	finish(t, TRUNCATE_BOTH);
	expect(t, t->view.chars == 60000, "characters of all lengths");
	begin(t, "both");
	repeat(t, "x", 60000);
	repeat(t, "\360\237\230\200", 3);
	finish(t, TRUNCATE_BOTH);
	ends(t, "characters after ASCII", "x\360\237\230\200\360\237\230\200"
	     "\360\237\230\200");
	expect(t, count(t, "x") == 10000 + 19997, "characters after ASCII");
}

/* A limit for both parts (O8) */
static void
test_limit(struct test *t)
{
	t->limit = 1200;
	begin(t, "limit");
	repeat(t, "\303\251", 1200);
	finish(t, TRUNCATE_HEAD);
	expect(t, t->view.chars == -1, "just so many");
	begin(t, "limit");
	repeat(t, "x", 1000);
	repeat(t, "y", 1000);
	show(t, TRUNCATE_BOTH);
	ends(t, "running", "y\n[stdout: showing last 1 of 1 lines (its last "
	     "1200 bytes)]");
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "x\n[stdout truncated: 2000 characters in total, "
	       "first 1000 and last 200 shown]\ny") == 1 &&
	       count(t, "y") == 200, "head");
	show(t, TRUNCATE_BOTH);
	expect(t, count(t, "x\n[stdout truncated: 2000 characters in total, "
	       "800 left out here]\ny") == 1 && count(t, "x") == 400, "both");
	show(t, TRUNCATE_TAIL);
	expect(t, count(t, "x") == 200 && count(t, "y\n[") == 1, "tail");
	t->limit = 100000;
	begin(t, "limit");
	repeat(t, "\360\237\230\200", 100000);
	finish(t, TRUNCATE_BOTH);
	expect(t, t->view.chars == -1 && t->shown.len == 400000, "the largest");
	begin(t, "limit");
	repeat(t, "\360\237\230\200", 300000);
	show(t, TRUNCATE_HEAD);
	expect(t, count(t, "\360") == 100000, "the largest, running");
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "\360") == 100000 &&
	       count(t, "first 83334 and last 16666 shown]") == 1,
	       "the largest, cut");
	t->limit = 0;
}

/* While it runs (T3) */

static void
test_running(struct test *t)
{
	begin(t, "running");
	feed(t, "abc\ndef\303");
	show(t, TRUNCATE_HEAD);
	shows(t, "short", "abc\ndef");
	feed(t, "\251\rg");
	show(t, TRUNCATE_BOTH);
	shows(t, "rewritten", "abc\ngef\303\251");
	feed(t, "\n");
	repeat(t, "x", 9991);
	show(t, TRUNCATE_HEAD);
	expect(t, t->view.chars == -1 && t->shown.len == 10001, "10,000");
	feed(t, "x");
	show(t, TRUNCATE_TAIL);
	expect(t, count(t, "x") == 9992 && t->view.chars == 10001 &&
	       count(t, "x\n[stdout: showing last 2 of 3 lines]") == 1,
	       "10,001");
	repeat(t, "x", 10);
	show(t, TRUNCATE_HEAD);
	ends(t, "of one line", "x\n[stdout: showing last 1 of 3 lines (its "
	     "last 10000 bytes)]");
	repeat(t, "\nline", 10000);
	show(t, TRUNCATE_HEAD);
	ends(t, "its end", "line\nline\n[stdout: showing last 2000 of 10003 "
	     "lines]");
	expect(t, t->shown.len < 10100, "its end: whole lines");
	show(t, TRUNCATE_BOTH);
	ends(t, "its end", "lines]");
	expect(t, t->view.chars == 60011, "its end: data");
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "[stdout truncated: 60011 characters in total, "
	       "first 30000 and last 1999 shown]\nline\n") == 1, "ended");
	feed(t, "more");
	show(t, TRUNCATE_HEAD);
	expect(t, t->view.chars == 60011, "ended: nothing more");
	begin(t, "running");
	repeat(t, "\342\202\254", 20000);
	show(t, TRUNCATE_HEAD);
	ends(t, "long characters", "\254\n[stdout: showing last 1 of 1 lines "
	     "(its last 30000 bytes)]");
	repeat(t, "\n", 20000);
	show(t, TRUNCATE_HEAD);
	ends(t, "empty lines", "\n\n[stdout: showing last 10000 of 20000 "
	     "lines]");
	finish(t, TRUNCATE_LOOK);
	ends(t, "ended, and still a look", "last 10000 of 20000 lines]");
}

/* Cursors */

static void
since(struct test *t, struct output_cursor *c, size_t limit, const char *what,
      const char *wanted)
{
	struct output_bounds most = { TRUNCATE_HEAD, 0, 0, 0 };
	struct output_view view;
	bool news = output_news(t->o, c);

	t->shown.len = 0;
	if (limit > 0)
		output_since(t->o, c, limit, &t->shown);
	else
		output_show(t->o, c, true, &most, "stdout", &t->shown, &view);
	shows(t, what, wanted);
	expect(t, news == (t->shown.len > 0), "news");
	expect(t, !output_news(t->o, c), "no news after it");
}

static void
test_cursors(struct test *t)
{
	struct output_cursor c = {0}, other = {0};

	begin(t, "cursors");
	since(t, &c, 4000, "nothing", "");
	feed(t, "abc");
	since(t, &c, 4000, "a line begins", "abc");
	since(t, &c, 4000, "nothing new", "");
	feed(t, "de");
	since(t, &c, 4000, "it goes on", "de");
	feed(t, "f\ngh");
	since(t, &c, 4000, "it ends", "f\ngh");
	feed(t, "\n\nx\ry\n");
	since(t, &c, 0, "a later one is rewritten", "\n\ny\n");
	feed(t, "12%");
	since(t, &c, 4000, "progress", "12%");
	feed(t, "\r");
	since(t, &c, 4000, "back is not new", "");
	feed(t, "12%");
	since(t, &c, 4000, "nor is the same", "");
	feed(t, "\r34%");
	since(t, &c, 4000, "rewritten", "34%");
	feed(t, "\r56%\nok");
	since(t, &c, 4000, "rewritten and ended", "56%\nok");
	feed(t, "!\n");
	since(t, &c, 4000, "not rewritten", "!\n");
	feed(t, "abc");
	since(t, &c, 4000, "to be erased", "abc");
	feed(t, "\r\033[K");
	expect(t, !output_news(t->o, &c), "erased: nothing to give");
	feed(t, "x");
	since(t, &c, 4000, "erased", "x");
	feed(t, "abc\nd");
	output_look(t->o, &other);
	feed(t, "e\nz\r");
	since(t, &c, 4000, "two readers: one", "abc\nde\nz");
	since(t, &other, 4000, "two readers: the other", "e\nz");
	feed(t, "y");
	since(t, &other, 4000, "two readers: rewritten", "y");
}

static void
show_since(struct test *t, struct output_cursor *c)
{
	struct output_bounds most = { TRUNCATE_HEAD, 0, 0, 0 };
	struct output_view view;

	t->shown.len = 0;
	output_show(t->o, c, true, &most, "stdout", &t->shown, &view);
	drop_not_saved(t);
}

static void
test_cursor_limits(struct test *t)
{
	struct output_cursor c = {0};

	begin(t, "bounds of what is new");
	repeat(t, "\303\251", 10);
	since(t, &c, 5, "no character cut", "\303\251\303\251");
	repeat(t, "x\n", 100000);
	since(t, &c, 4, "the last bytes", "x\nx\n");
	repeat(t, "x\n", 5000);
	show_since(t, &c);
	expect(t, t->shown.len == 10000, "10,000 characters");
	feed(t, "first\n");
	repeat(t, "x\n", 5000);
	show_since(t, &c);
	ends(t, "more", "x\n[stdout: showing last 5000 of 5001 lines]");
	repeat(t, "x\n", 100);
	repeat(t, "y", 60000);
	show_since(t, &c);
	ends(t, "a long line", "y\n[stdout: showing last 1 of 101 lines (its "
	     "last 10000 bytes)]");
	feed(t, "\n");
	repeat(t, "z\n", 2001);
	output_end(t->o);
	show_since(t, &c);
	ends(t, "ended", "z\n[stdout: showing last 2000 of 2002 lines]");
}

/* Once it has ended, nothing is kept back that its result would not. */
static void
test_cursor_at_end(struct test *t)
{
	struct output_cursor c = {0};

	begin(t, "new at the end");
	feed(t, "first\n");
	output_look(t->o, &c);
	repeat(t, "x\n", 10000);
	output_end(t->o);
	show_since(t, &c);
	expect(t, t->shown.len == 20000 && count(t, "x\n") == 10000, "all");
}

/* Files (O5) */

static bool
exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Does the file hold so many bytes, the text over and over? */
static bool
holds(const char *path, const char *text, int64_t size)
{
	size_t n = strlen(text), i = 0;
	FILE *f = fopen(path, "rb");
	int64_t got = 0;
	int c;

	if (f == NULL)
		return false;
	while ((c = getc(f)) != EOF && c == text[i]) {
		i = i + 1 < n ? i + 1 : 0;
		got++;
	}
	fclose(f);
	return c == EOF && got == size;
}

static void
new_spool(struct test *t, const char *dir, int64_t limit)
{
	output_free(t->o);
	t->o = NULL;
	spool_free(&t->spool);
	spool_init(&t->spool, dir, "test", limit);
}

static int
files(const struct test *t)
{
	int n = 0, found = 0;
	char path[300];

	for (n = 0; n < 20; n++) {
		snprintf(path, sizeof path, "%s/boris-test-%d.log", t->dir, n);
		found += exists(path);
	}
	return found;
}

static void
test_file(struct test *t)
{
	struct stat st;
	char path[300];

	new_spool(t, t->dir, MIB);
	begin(t, "file");
	repeat(t, "\033[1mx\033[m\r\n", 2000);
	show(t, TRUNCATE_HEAD);
	expect(t, files(t) == 0, "none while it is short");
	repeat(t, "\033[1mx\033[m\r\n", 8000);
	expect(t, files(t) == 1, "early when it is long");
	repeat(t, "\033[1mx\033[m\r\n", 10000);
	finish(t, TRUNCATE_HEAD);
	if (!expect(t, t->view.file != NULL, "there when it is truncated"))
		return;
	expect(t, count(t, "first 30000 and last 2000 shown; full output: /")
	       == 1 && count(t, t->view.file) == 1, "named");
	expect(t, strncmp(t->view.file, t->dir, strlen(t->dir)) == 0, "where");
	expect(t, stat(t->view.file, &st) == 0 &&
	       (st.st_mode & 0777) == 0600, "for its owner alone");
	expect(t, holds(t->view.file, "\033[1mx\033[m\r\n", 200000), "raw");
	expect(t, t->spool.total == 200000, "counted");
	strcpy(path, t->view.file);
	output_free(t->o);
	t->o = NULL;
	expect(t, exists(path), "outlives the stream");
	spool_free(&t->spool);
	expect(t, !exists(path) && t->spool.total == 0, "goes with the spool");
	spool_free(&t->spool);
}

static void
test_no_file(struct test *t)
{
	struct output_bounds most = { TRUNCATE_HEAD, 0, 0, 0 };
	struct output_cursor c = {0};

	new_spool(t, t->dir, MIB);
	begin(t, "no file");
	repeat(t, "\033[1m", 30000);
	expect(t, files(t) == 1, "there while it may be needed");
	finish(t, TRUNCATE_HEAD);
	begin(t, "no file");
	expect(t, files(t) == 0 && t->spool.total == 0, "gone unnamed");
	repeat(t, "x", 100000);
	expect(t, files(t) == 1, "there");
	begin(t, "no file");
	expect(t, files(t) == 0, "freed before its end");
	repeat(t, "x", 50000);
	finish(t, TRUNCATE_TAIL);
	expect(t, t->view.file == NULL, "nothing truncated");
	new_spool(t, t->dir, 0);
	begin(t, "no file");
	repeat(t, "x", 100000);
	finish(t, TRUNCATE_HEAD);
	t->shown.len = 0;
	output_show(t->o, &c, false, &most, "stdout", &t->shown, &t->view);
	expect(t, count(t, "last 2000 shown" NOT_SAVED "]\n") == 1,
	       "none wanted");
	expect(t, files(t) == 0 && t->view.file == NULL, "none wanted");
}

/* What a client lets through: so many bytes and lines, with the line (K3) */
static void
expect_fit(struct test *t, enum truncate how, int64_t bytes, int64_t lines)
{
	struct output_bounds most = { how, 0, bytes, lines };
	struct output_cursor c = {0};
	int64_t shown;

	t->shown.len = 0;
	output_show(t->o, &c, false, &most, "stdout", &t->shown, &t->view);
	shown = count(t, "\n") + (t->shown.data[t->shown.len - 1] != '\n');
	expect(t, bytes == 0 || ((int64_t)t->shown.len <= bytes &&
	       (int64_t)t->shown.len > bytes - 50), "bytes");
	expect(t, lines == 0 || (shown <= lines && shown > lines - 3), "lines");
	expect(t, t->view.file != NULL && count(t, t->view.file) == 1, "file");
	expect(t, (how == TRUNCATE_TAIL) != (count(t, "first line") == 1) &&
	       count(t, "last line") == 1, "start and end");
}

static void
test_fit(struct test *t)
{
	static const int kept[] = { 100, 15000, 100000 };
	int how;
	size_t i;

	new_spool(t, t->dir, MIB);
	for (i = 0; i < COUNT(kept); i++) {
		begin(t, "fit");
		feed(t, "first line\n");
		repeat(t, "0123456789\303\251\n", kept[i]);
		feed(t, "last line\n");
		output_end(t->o);
		for (how = TRUNCATE_HEAD; how <= TRUNCATE_BOTH; how++) {
			expect_fit(t, (enum truncate)how, 380, 0);
			if (i > 0) {
				expect_fit(t, (enum truncate)how, 10000, 0);
				expect_fit(t, (enum truncate)how, 0, 256);
			}
			expect_fit(t, (enum truncate)how, 0, 50);
		}
	}
	show(t, TRUNCATE_HEAD);
	expect(t, count(t, "first 30000") == 1, "no bound");
}

/* What a reader has been told stays. */
static void
test_named_file(struct test *t)
{
	struct output_cursor c = {0};

	new_spool(t, t->dir, MIB);
	begin(t, "named file");
	repeat(t, "y\n", 5001);
	show_since(t, &c);
	ends(t, "named", "5001 lines; full output: %s/boris-test-1.log]",
	     t->dir);
	feed(t, "z\n");
	finish(t, TRUNCATE_HEAD);
	expect(t, t->view.chars == -1 && files(t) == 1, "stays");
	begin(t, "named file");
	repeat(t, "x", 29999);
	repeat(t, "y\n", 12000);
	show(t, TRUNCATE_HEAD);
	expect(t, t->view.file != NULL &&
	       strstr(t->view.file, "-2.log") != NULL, "while it runs");
	feed(t, "last");
	finish(t, TRUNCATE_HEAD);
	expect(t, t->spool.total == 10004 + 29999 + 24004, "written to its end");
}

static void
test_save_limit(struct test *t)
{
	new_spool(t, t->dir, MIB);
	begin(t, "save limit");
	repeat(t, "0123456789abcde\n", MIB / 16);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "-1.log]\n") == 1, "all of it");
	begin(t, "save limit");
	repeat(t, "0123456789abcde\n", MIB / 16);
	repeat(t, "0123456789abcde\n", MIB / 16);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "-2.log (incomplete: it is over --save-limit)]\n")
	       == 1, "told");
	expect(t, t->view.file != NULL &&
	       holds(t->view.file, "0123456789abcde\n", MIB), "up to it");
	expect(t, t->spool.total == 2 * MIB, "counted");
	new_spool(t, t->dir, 1000);
	begin(t, "save limit");
	repeat(t, "y\n", 50000);
	finish(t, TRUNCATE_BOTH);
	expect(t, count(t, "left out here; full output: ") == 1 &&
	       count(t, "-1.log (incomplete: it is over --save-limit)]\ny\n")
	       == 1, "both");
}

/* Four limits for a session: the oldest finished go first. */
static void
test_eviction(struct test *t)
{
	struct output *o[5];
	int i;

	new_spool(t, t->dir, MIB);
	for (i = 0; i < 4; i++) {
		begin(t, "eviction");
		repeat(t, "0123456789abcde\n", MIB / 16);
		if (i > 0)
			output_end(t->o);
		o[i] = keep(t);
	}
	expect(t, files(t) == 4 && t->spool.total == 4 * MIB, "four fit");
	begin(t, "eviction");
	repeat(t, "x", 100000);
	finish(t, TRUNCATE_HEAD);
	expect(t, files(t) == 4 && t->spool.total == 3 * MIB + 100000,
	       "one has gone");
	expect(t, t->view.file != NULL, "the new one has its file");
	o[4] = keep(t);
	t->o = o[1];
	show(t, TRUNCATE_HEAD);
	expect(t, t->view.file == NULL, "the oldest finished has none");
	expect(t, count(t, "shown; full output not saved: this session's files "
	       "reached four times --save-limit]\n") == 1, "and says so");
	t->o = o[0];
	finish(t, TRUNCATE_HEAD);
	expect(t, t->view.file != NULL, "the running one has its file");
	t->o = NULL;
	for (i = 0; i < 5; i++)
		output_free(o[i]);
	expect(t, files(t) == 2, "freed ones stay if they were named");
}

static void
test_running_alone(struct test *t)
{
	struct output *o[6];
	int i;

	new_spool(t, t->dir, MIB);
	for (i = 0; i < 5; i++) {
		begin(t, "running alone");
		repeat(t, "0123456789abcde\n", MIB / 16 - 6000);
		o[i] = keep(t);
	}
	expect(t, t->spool.total == 4 * MIB, "all are within four limits");
	t->o = o[4];
	finish(t, TRUNCATE_TAIL);
	ends(t, "told", "; full output: %s/boris-test-5.log (incomplete: "
	     "this session's files reached four times --save-limit)]", t->dir);
	expect(t, holds(t->view.file, "0123456789abcde\n", 4 * 96000),
	       "as far as it was saved");
	o[4] = keep(t);
	begin(t, "running alone");
	repeat(t, "x", 200000);
	expect(t, files(t) == 5, "the finished one has gone");
	o[5] = keep(t);
	t->o = o[4];
	show(t, TRUNCATE_TAIL);
	ends(t, "and is not named", "; full output not saved: this session's "
	     "files reached four times --save-limit]");
	t->o = NULL;
	for (i = 0; i < 6; i++)
		output_free(o[i]);
	expect(t, files(t) == 0 && t->spool.total == 0, "none ended");
}

/* Nothing at all could be saved: told, and nothing left behind. */
static void
test_failures(struct test *t)
{
	struct rlimit old, low;
	char dir[300];

	snprintf(dir, sizeof dir, "%s/none", t->dir);
	new_spool(t, dir, MIB);
	begin(t, "failures");
	repeat(t, "x", 100000);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "shown; full output not saved: ") == 1 &&
	       count(t, strerror(ENOENT)) == 1, "no directory");
	expect(t, t->view.file == NULL && t->spool.total == 0, "no directory");
	new_spool(t, t->dir, MIB);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = 70001;
	setrlimit(RLIMIT_FSIZE, &low);
	begin(t, "failures");
	repeat(t, "0123456789abcde\n", 2000);
	repeat(t, "0123456789abcde\n", 98000);
	finish(t, TRUNCATE_TAIL);
	ends(t, "no room", "of 100000 lines; full output: %s/boris-test-1.log "
	     "(incomplete: %s)]", t->dir, strerror(EFBIG));
	expect(t, t->view.file != NULL &&
	       holds(t->view.file, "0123456789abcde\n", 70001) &&
	       t->spool.total == 70001, "what fits is there");
	low.rlim_cur = 0;
	setrlimit(RLIMIT_FSIZE, &low);
	begin(t, "failures");
	repeat(t, "x", 100000);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "; full output not saved: ") == 1 &&
	       count(t, strerror(EFBIG)) == 1, "no room at all");
	expect(t, t->view.file == NULL && files(t) == 1, "no empty file");
	setrlimit(RLIMIT_FSIZE, &old);
}

/* Somebody else's file of that name is left alone. */
static void
test_foreign_file(struct test *t)
{
	char path[300];
	FILE *f;

	new_spool(t, t->dir, MIB);
	snprintf(path, sizeof path, "%s/boris-test-1.log", t->dir);
	f = fopen(path, "w");
	if (f == NULL || fputs("mine", f) < 0 || fclose(f) != 0)
		abort();
	begin(t, "foreign file");
	repeat(t, "x", 100000);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "; full output not saved: ") == 1 &&
	       count(t, strerror(EEXIST)) == 1, "told");
	expect(t, holds(path, "mine", 4), "not written to");
	unlink(path);
	begin(t, "foreign file");
	repeat(t, "x", 100000);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "boris-test-2.log]") == 1, "the next");
}

/* The spool may go first (a session that closes). */
static void
test_spool_first(struct test *t)
{
	new_spool(t, t->dir, MIB);
	begin(t, "spool freed first");
	repeat(t, "x", 100000);
	spool_free(&t->spool);
	expect(t, files(t) == 0, "removes what is being written");
	repeat(t, "x", 100000);
	finish(t, TRUNCATE_HEAD);
	expect(t, count(t, "full output: ") == 0, "names none");
	expect(t, files(t) == 0, "saves no more");
}

int
main(void)
{
	struct test t = {0};
	const char *tmp = getenv("TMPDIR");

	snprintf(t.dir, sizeof t.dir, "%s/boris-table-XXXXXX",
	         tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(t.dir) == NULL) {
		perror(t.dir);
		return 1;
	}
	spool_init(&t.spool, t.dir, "test", 0);
	test_cleaning(&t);
	test_characters(&t);
	test_long_line(&t);
	test_terminal(&t);
	test_screen(&t);
	test_erased(&t);
	test_head(&t);
	test_last(&t);
	test_tail_lines(&t);
	test_tail_bytes(&t);
	test_tail_of_line(&t);
	test_both(&t);
	test_limit(&t);
	test_running(&t);
	test_cursors(&t);
	test_cursor_limits(&t);
	test_cursor_at_end(&t);
	test_file(&t);
	test_no_file(&t);
	test_fit(&t);
	test_named_file(&t);
	test_save_limit(&t);
	test_eviction(&t);
	test_running_alone(&t);
	test_failures(&t);
	test_foreign_file(&t);
	test_spool_first(&t);
	output_free(t.o);
	spool_free(&t.spool);
	buf_free(&t.shown);
	if (rmdir(t.dir) < 0) {
		perror(t.dir);
		t.failed++;
	}
	printf("%d passed, %d failed\n", t.passed, t.failed);
	return t.failed > 0;
}
