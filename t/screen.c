/* SPDX-License-Identifier: ISC */
/* Table tests of output/screen.c, and a driver for t/screen-oracle.py. The file
 * needs only C99.
 *
 *	screen                  runs the tests
 *	screen -d [SEED]        runs the driver: each line of stdin contains the
 *	                        bytes that a terminal receives, and for each
 *	                        line the driver prints the final text, the
 *	                        screen and the replies, separated by commas.
 *	                        Input and output are in hexadecimal. If SEED is
 *	                        not 0, the bytes are split at random
 *	                        positions. */

#include "output/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "output/width.h"

enum { TEXT_MAX = 4 << 20 };  /* bytes of text in a test */

struct drawn {
	struct screen *screen;
	void *cells;
	struct buf text;
};

static void
draw_begin(struct drawn *d, bool terminal)
{
	d->cells = malloc(screen_memory(terminal));
	d->screen = screen_new(terminal, d->cells);
	d->text = (struct buf){ malloc(TEXT_MAX), 0, TEXT_MAX };
}

static void
draw_end(struct drawn *d)
{
	screen_free(d->screen);
	free(d->cells);
	free(d->text.data);
}

/* Draws the bytes, split at random positions unless seed is 0. */
static void
draw_bytes(struct drawn *d, const char *bytes, size_t n, unsigned seed)
{
	size_t at = 0, some;

	srand(seed);
	while (at < n) {
		some = n - at;
		if (seed != 0 && some > 7)
			some = 1 + (size_t)rand() % 7;
		at += screen_write(d->screen, bytes + at, some, &d->text);
	}
}

/* Appends the rows of the main screen to the text. */
static void
put_lines(struct drawn *d)
{
	int i, n = screen_lines(d->screen);

	for (i = 0; i < n; i++) {
		screen_line(d->screen, i, &d->text);
		if (i < n - 1)
			buf_putc(&d->text, '\n');
	}
}

/* Appends the rows of the screen that is shown. */
static void
put_screen(struct drawn *d)
{
	int i, n = screen_height(d->screen);

	for (i = 0; i < n; i++) {
		screen_row(d->screen, i, &d->text);
		buf_putc(&d->text, '\n');
	}
}

/* -- The driver -------------------------------------------------------- */

static void
print_hex(const char *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		printf("%02x", (unsigned char)bytes[i]);
}

static int
drive(unsigned seed)
{
	static char line[1 << 20], bytes[1 << 19];
	struct buf *replies;
	struct drawn d;
	size_t n, i;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		n = strcspn(line, "\n") / 2;
		for (i = 0; i < n; i++)
			bytes[i] = (char)(hex_digit(line[2 * i]) * 16 +
			    hex_digit(line[2 * i + 1]));
		draw_begin(&d, true);
		draw_bytes(&d, bytes, n, seed);
		print_hex(d.text.data, d.text.len);
		putchar(',');
		d.text.len = 0;
		put_screen(&d);
		print_hex(d.text.data, d.text.len);
		putchar(',');
		replies = screen_replies(d.screen);
		print_hex(replies->data, replies->len);
		putchar('\n');
		fflush(stdout);
		draw_end(&d);
	}
	return 0;
}

/* -- The tests --------------------------------------------------------- */

#define E "\033["

/* The bytes that are printed on a pipe or a terminal, and the resulting text */
static const struct test {
	const char *name;
	bool terminal;
	const char *bytes;
	const char *text;
} tests[] = {
	{ "pipe: plain text is not changed", false,
	    "one\n\ttwo  \n\n", "one\n\ttwo  \n\n" },
	{ "pipe: CRLF counts as a newline", false, "a\r\nb\r\n", "a\nb\n" },
	{ "pipe: CR returns to the first column", false, "abc\rx", "xbc" },
	{ "pipe: BS moves one column back", false, "ab\bc", "ac" },
	{ "pipe: BS stops at the first column", false, "a\b\bb", "b" },
	{ "pipe: BEL, DEL and C1 are dropped", false,
	    "a\a\177\302\205b", "ab" },
	{ "pipe: CUF moves to the right", false,
	    "hello" E "1Cworld", "hello world" },
	{ "pipe: CUB moves to the left", false, "50%" E "3D75%", "75%" },
	{ "pipe: CHA moves to a column", false, "abc" E "2Gx" E "Gy", "yxc" },
	{ "pipe: HPA moves to a column", false, "abc" E "2`x", "axc" },
	{ "pipe: CBT moves to the previous tab stop", false,
	    "0123456789" E "Zx", "01234567x9" },
	{ "pipe: EL erases to the end of the row", false,
	    "abcdef" E "3D" E "K", "abc" },
	{ "pipe: EL 1 erases to the start of the row", false,
	    "abcdef" E "3D" E "1K", "    ef" },
	{ "pipe: EL 2 erases the row", false, "abc" E "2K" E "1Gd", "d" },
	{ "pipe: ED erases to the end of the row", false, "abc\r" E "Jd", "d" },
	{ "pipe: ED 2 does not erase the row", false, "abc" E "2Jd", "abcd" },
	{ "pipe: ICH inserts blanks", false, "abc" E "2G" E "2@", "a  bc" },
	{ "pipe: DCH deletes characters", false, "abcd" E "2G" E "2P", "ad" },
	{ "pipe: ECH erases characters", false,
	    "abcdef" E "2G" E "3X", "a   ef" },
	{ "pipe: REP repeats the last character", false, "ab" E "3b", "abbbb" },
	{ "pipe: insert mode moves characters to the right", false,
	    "ac" E "2G" E "4hb" E "4l", "abc" },
	{ "pipe: the cursor is saved and restored", false,
	    "a" "\0337" "bc" "\0338" "x" E "s" "y" E "uz", "axz" },
	{ "pipe: movements to other rows are ignored", false,
	    "a" E "A" E "B" E "5;5H" E "3db", "ab" },
	{ "pipe: colours and unknown sequences are dropped", false,
	    E "1;31ma" E "m" E "?25l" E "38:2::1:2:3mb" E "5 qc" "\033=d",
	    "abcd" },
	{ "pipe: BEL, ST, CAN, SUB, ESC or a newline ends a string", false,
	    "\033]0;t\007a\033Pq\033\\b\033_x\030c\033^x\032d\033]x\ne",
	    "abcd\ne" },
	{ "pipe: an unterminated sequence is dropped", false, "a" E "31", "a" },
	{ "pipe: a wide character takes two columns", false,
	    "\345\255\227b\rxy", "xyb" },
	{ "pipe: half of a wide character becomes a blank", false,
	    "\345\255\227\by", " y" },
	{ "pipe: a combining character joins the one before it", false,
	    "e\314\201\rx", "x" },
	{ "pipe: line-drawing characters are translated", false,
	    "\033(0lqk\033(B", "\342\224\214\342\224\200\342\224\220" },
	{ "pipe: bytes that are not UTF-8 become U+FFFD", false,
	    "a\377\303b", "a\357\277\275\357\277\275b" },
	{ "terminal: rows become lines", true, "one\r\ntwo\r\n", "one\ntwo\n" },
	{ "terminal: blanks at the end of a line are not shown", true,
	    "a  \r\nb", "a\nb" },
	{ "terminal: a blank before the cursor is shown", true,
	    "name: ", "name: " },
	{ "terminal: LF keeps the column", true, "a\nb", "a\n b" },
	{ "terminal: VT and FF are line feeds", true, "a\vb\fc", "a\n b\n  c" },
	{ "terminal: HT moves to the next multiple of 8 columns", true,
	    "a\tb", "a       b" },
	{ "terminal: CUU moves up", true, "a\r\nb" E "A\rc", "c\nb" },
	{ "terminal: CUD moves down", true, "a\r\n" E "A" E "Bb", "a\nb" },
	{ "terminal: CPL and CNL move to the first column", true,
	    "a\r\nb" E "Fc" E "Ed", "c\nd" },
	{ "terminal: CUP and HVP move to a row and column", true,
	    "ab" E "1;2Hc" E "1;1fd", "dc" },
	{ "terminal: VPA moves to a row", true,
	    "a\r\n\r\nb" E "1dc", "ac\n\nb" },
	{ "terminal: nested progress bars take one line each", true,
	    "a 1\r\nb 1\r" E "Aa 2\r\nb 2\r" E "Aa 3\r\nb 3\r",
	    "a 3\nb 3" },
	{ "terminal: a redrawn progress bar takes one line", true,
	    E "2K" E "1Gstep 1" E "2K" E "1Gstep 2" E "2K" E "1Gall done",
	    "all done" },
	{ "terminal: lines that are erased upwards are not shown", true,
	    "a\r\nb\r\nc" E "2K" E "1A" E "2K" E "1A" E "2K" E "Gd", "d" },
	{ "terminal: ED erases the rows below the cursor", true,
	    "a\r\nb\r\nc" E "2A\r" E "J", "" },
	{ "terminal: CUP and ED keep the screen in the text", true,
	    "a\r\nb\r\n" E "H" E "Jc", "a\nb\nc" },
	{ "terminal: a redrawn prompt replaces the old one", true,
	    "? A\r\n> 1" E "1A\r" E "J? A\r\n> 2", "? A\n> 2" },
	{ "terminal: CUP and ED 2 keep the screen in the text", true,
	    "a\r\nb" E "H" E "2Jc", "a\nb\nc" },
	{ "terminal: IL and DL insert and delete rows", true,
	    "a\r\nb\r\nc" E "2d" E "Lx" E "1d" E "M", " x\nb\nc" },
	{ "terminal: RI scrolls down in the first row", true,
	    "a\r\033Mb", "b\na" },
	{ "terminal: IND and NEL move down", true,
	    "a\033Db\033Ec", "a\n b\nc" },
	{ "terminal: SU moves rows to the text", true, "a\r\nb" E "Sc",
	    "a\nb\n c" },
	{ "terminal: SD scrolls down", true, "a" E "Tb", " b\na" },
	{ "terminal: DECSTBM limits scrolling to a region", true,
	    "a\r\nb\r\nc" E "1;2r" E "2;1H\nd", "a\nb\nd\nc" },
	{ "terminal: the alternate screen is not text", true,
	    "a" E "?1049hxyz" E "?1049lb", "ab" },
	{ "terminal: output without autowrap causes no error", true,
	    E "?7l" E "199Gabcd" E "?7h",
	    NULL }
};

static int
check_text(const struct test *t)
{
	size_t seed;
	int failed = 0;
	struct drawn d;

	for (seed = 0; seed < 20; seed++) {
		draw_begin(&d, t->terminal);
		draw_bytes(&d, t->bytes, strlen(t->bytes), (unsigned)seed);
		put_lines(&d);
		buf_putc(&d.text, '\0');
		if (t->text != NULL && strcmp(d.text.data, t->text) != 0) {
			printf("not ok: %s (split %zu): %s\n", t->name, seed,
			    d.text.data);
			failed = 1;
		}
		draw_end(&d);
	}
	return failed;
}

/* Whether these bytes make a program a full-screen program, and the replies of
 * the terminal */
static const struct query {
	const char *bytes;
	bool is_full;
	const char *replies;
} queries[] = {
	{ "text\r\n", false, "" },
	{ E "?1049h", true, "" },
	{ E "?1049h" E "?1049l", false, "" },
	{ E "?47h", true, "" },
	{ E "?1047hx" E "?1047l", false, "" },
	{ E "5;1Hx", true, "" },
	{ E "5dx", true, "" },
	{ E "Hx", true, "" },
	{ E "5;1H", false, "" },
	{ E "H" E "2Jx", false, "" },
	{ E "2J" E "Hx", false, "" },
	{ E "H" E "Jx", false, "" },
	{ E "5;1Hx" E "H" E "2J", false, "" },
	{ E "5;1Hx" E "50;1H\n", false, "" },
	{ "\0337" E "999;999f" E "6n\0338x", false, E "50;200R" },
	{ E "999;999H" E "6nx", false, E "50;200R" },
	{ "ab" E "6n", false, E "1;3R" },
	{ E "5n", false, E "0n" },
	{ E "c", false, E "?1;2c" },
	{ E "0c", false, E "?1;2c" },
	{ E ">c", false, E ">0;0;0c" },
	{ E "6n" E "5n" E "c", false, E "1;1R" E "0n" E "?1;2c" }
};

static int
check_query(const struct query *q)
{
	struct drawn d;
	struct buf *replies;
	bool is_right;

	draw_begin(&d, true);
	draw_bytes(&d, q->bytes, strlen(q->bytes), 0);
	replies = screen_replies(d.screen);
	is_right = screen_is_full_screen(d.screen) == q->is_full &&
	    replies->len == strlen(q->replies) &&
	    memcmp(replies->data, q->replies, replies->len) == 0;
	if (!is_right)
		printf("not ok: %s: full %d, replies %.*s\n", q->bytes + 1,
		    screen_is_full_screen(d.screen), (int)replies->len,
		    replies->data);
	draw_end(&d);
	return !is_right;
}

static const struct width {
	uint32_t code;
	int columns;
} widths[] = {
	{ 'a', 1 }, { 0xAD, 1 }, { 0xE4, 1 }, { 0x300, 0 }, { 0x1100, 2 },
	{ 0x1160, 0 }, { 0x200B, 0 }, { 0x200D, 0 }, { 0x2500, 1 },
	{ 0x26A1, 2 }, { 0x3042, 2 }, { 0x4E00, 2 }, { 0xAC00, 2 },
	{ 0xFE0F, 0 }, { 0xFF01, 2 }, { 0xFFFD, 1 }, { 0x1F600, 2 },
	{ 0x20000, 2 }, { 0x10FFFF, 1 }
};

static int
check_width(const struct width *w)
{
	int columns = char_width(w->code);

	if (columns == w->columns)
		return 0;
	printf("not ok: U+%04X takes %d columns\n", (unsigned)w->code,
	    columns);
	return 1;
}

#define COUNT(array) (sizeof(array) / sizeof(array[0]))

int
main(int argc, char **argv)
{
	size_t all = COUNT(tests) + COUNT(queries) + COUNT(widths), i;
	int failed = 0;

	if (argc > 1 && strcmp(argv[1], "-d") == 0)
		return drive(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
	for (i = 0; i < COUNT(tests); i++)
		failed += check_text(&tests[i]);
	for (i = 0; i < COUNT(queries); i++)
		failed += check_query(&queries[i]);
	for (i = 0; i < COUNT(widths); i++)
		failed += check_width(&widths[i]);
	printf("%d passed, %d failed\n", (int)all - failed, failed);
	return failed > 0;
}
