/* SPDX-License-Identifier: ISC */
/* Requires only C99.
 *
 * How bytes become text:
 *
 *	screen_write()   splits the bytes into text and control sequences
 *	  lines.c        copies complete lines of plain text, which are most of
 *	                 the output of pipes, directly to the final text
 *	  draw()         draws a character at the cursor
 *	  sequence.c     parses a control sequence
 *	  run_*()        execute the sequence: move the cursor, or erase, insert
 *	                 and delete cells
 *	finish_row()     appends a row that scrolls off to the final text
 *
 * Where terminals differ, the screen behaves like tmux. t/screen-oracle.py
 * compares the two and lists the exceptions. */

#include "output/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "output/lines.h"
#include "output/revised.h"
#include "output/row.h"
#include "output/sequence.h"
#include "output/width.h"

enum {
	REPLY_MAX = 32,       /* maximum length of a reply to a terminal query,
	                       * in bytes */
	REPLIES_MAX = 1024,   /* size of the reply buffer, in bytes */
	TAB_STOP = 8          /* distance of tab stops, in columns */
};

/* A cursor position. If x equals the number of columns, the next character is
 * drawn at the start of the next row. */
struct position {
	int x;                /* column, counted from 0 */
	int y;                /* row, counted from 0 */
};

struct screen {
	bool terminal;
	int columns;              /* number of columns */
	int height;               /* number of rows */
	struct row main[SCREEN_ROWS];
	struct row alternate[SCREEN_ROWS];
	struct row *rows;         /* rows of the active screen: `main` or
	                           * `alternate` */
	int last_line;            /* index of the main screen's last row that
	                           * contains text or was reached by a line
	                           * feed */
	struct position cursor;
	struct position saved;    /* cursor position saved by DECSC */
	struct position main_cursor;  /* saved cursor position of the main
	                               * screen while the alternate screen is
	                               * active */
	bool restores_cursor;     /* whether resetting mode 1049 restores the
	                           * cursor from `main_cursor` */
	int top;                  /* first row of the scrolling region */
	int bottom;               /* last row of the scrolling region */
	bool no_wrap;             /* whether autowrap (DECAWM) is off */
	bool insert;              /* whether insert mode (IRM) is on */
	bool drawing[2];          /* for each of the character sets G0 and G1,
	                           * whether it is set to line-drawing
	                           * characters */
	int charset;              /* active character set: 0 for G0, 1 for G1 */

	struct sequence sequence;
	unsigned char partial[4]; /* first bytes of a character that is split
	                           * across calls to screen_write() */
	size_t partial_len;       /* number of bytes in `partial` */
	uint32_t last_drawn;      /* character that REP repeats; 0 after a
	                           * control character or sequence */

	bool moved;               /* whether the cursor was moved to an absolute
	                           * position and nothing has been drawn
	                           * since */
	bool erased;              /* whether the screen was erased and nothing
	                           * has been drawn since */
	bool addressed;           /* whether the program has drawn text at an
	                           * absolute position */

	struct screen_final final;
	int64_t invalid_bytes;    /* number of received bytes that are NUL or
	                           * invalid UTF-8 */
	struct revisions revisions;
	char reply[REPLIES_MAX];  /* memory for `replies` */
	struct buf replies;       /* replies not yet sent to the program */
	struct buf *out;          /* buffer for rows that scroll off; valid only
	                           * during screen_write() and screen_end() */
};

/* -- Rows -------------------------------------------------------------- */

static struct row *
cursor_row(const struct screen *s)
{
	return &s->rows[s->cursor.y];
}

/* Returns whether the main screen is active. Only the main screen's rows are
 * added to the output. */
static bool
is_main(const struct screen *s)
{
	return s->rows == s->main;
}

static void
mark_rewritten(struct screen *s, struct row *r)
{
	revised_rewrite(&s->revisions, &r->history);
}

/* Records that text was drawn at column x of the cursor's row. `used` is the
 * row's previous length, in columns. Text drawn after the end of the last row
 * is recorded as added text, and any other text as a rewrite of the row
 * (revised.h). */
static void
mark_drawn(struct screen *s, int x, int used)
{
	struct row *r = cursor_row(s);

	if (x >= used && is_main(s) && s->cursor.y >= s->last_line)
		revised_append(&s->revisions, &r->history);
	else
		mark_rewritten(s, r);
	if (is_main(s) && s->last_line < s->cursor.y)
		s->last_line = s->cursor.y;
}

static void
mark_rows(struct screen *s, int first, int last)
{
	int i;

	for (i = first; i <= last; i++)
		mark_rewritten(s, &s->rows[i]);
}

static void
erase_row(struct screen *s, struct row *r)
{
	if (r > s->rows)
		r[-1].wraps = false;
	if (r->used > 0)
		mark_rewritten(s, r);
	r->used = 0;
}

/* Blanks columns `first` to `end` - 1 of a row. */
static void
erase_cells(struct screen *s, struct row *r, int first, int end)
{
	/* If the whole row is erased, a line that wrapped onto this row now
	 * ends with the row above, as in tmux. */
	if (first == 0 && end >= s->columns && r > s->rows)
		r[-1].wraps = false;
	if (row_erase(r, first, end))
		mark_rewritten(s, r);
}

/* Returns the length of a row as displayed, in columns. On a terminal, this
 * excludes trailing blanks (I6). */
static int
shown_columns(const struct screen *s, const struct row *r)
{
	return s->terminal ? row_trimmed(r) : r->used;
}

static int
min(int a, int b)
{
	return a < b ? a : b;
}

static int
max(int a, int b)
{
	return a > b ? a : b;
}

/* Returns the length of a row of the main screen in the output, in columns. On
 * a terminal, this includes trailing blanks only if a reader has read them or
 * if they precede the cursor, like the blank after a prompt. */
static int
text_columns(const struct screen *s, const struct row *r)
{
	int x = is_main(s) ? s->cursor.x : s->main_cursor.x;
	int y = is_main(s) ? s->cursor.y : s->main_cursor.y;
	int n = max(shown_columns(s, r), r->history.read_columns);

	if (r == &s->main[y])
		n = max(n, x);
	return min(n, r->used);
}

/* Adds the numbers of characters, lines and bytes in s->out, starting at index
 * `from`, to s->final, which is the size of the text that has scrolled off the
 * screen. */
static void
count_final(struct screen *s, size_t from)
{
	const unsigned char *p = (const unsigned char *)s->out->data;
	size_t i;

	for (i = from; i < s->out->len; i++) {
		s->final.chars += !utf8_continues(p[i]);
		s->final.lines += p[i] == '\n';
	}
	s->final.bytes += (int64_t)(s->out->len - from);
}

/* Appends a row to the output when it scrolls off the screen or is erased. If
 * the row ends a line, `newline` is true, and a newline follows the row. */
static void
finish_row(struct screen *s, const struct row *r, bool newline)
{
	size_t from = s->out->len;
	int columns = max(shown_columns(s, r), r->history.read_columns);

	row_put(r, min(columns, r->used), s->out);
	if (newline)
		buf_putc(s->out, '\n');
	count_final(s, from);
	revised_finish(&s->revisions, &r->history, s->final.rows);
	s->final.rows++;
}

/* -- Scrolling --------------------------------------------------------- */

/* Scrolls rows `first` to `last` up by one row. The contents of row `first` are
 * lost, and row `last` becomes empty. */
static void
rotate_up(struct screen *s, int first, int last)
{
	struct row row = s->rows[first];

	memmove(&s->rows[first], &s->rows[first + 1],
	    (size_t)(last - first) * sizeof(row));
	row_reset(&row);
	s->rows[last] = row;
}

/* Scrolls rows `first` to `last` down by one row. The contents of row `last`
 * are lost, and row `first` becomes empty. */
static void
rotate_down(struct screen *s, int first, int last)
{
	struct row row = s->rows[last];

	memmove(&s->rows[first + 1], &s->rows[first],
	    (size_t)(last - first) * sizeof(row));
	row_reset(&row);
	s->rows[first] = row;
	mark_rows(s, first, last);
	if (is_main(s) && s->last_line < last)
		s->last_line++;
}

static void
scroll_up(struct screen *s, bool newline)
{
	bool entire = s->top == 0 && s->bottom == s->height - 1;

	/* Below the top of the screen, the row's number changes when it becomes
	 * final, because it moves above the rows outside the region. */
	if (s->top > 0)
		mark_rewritten(s, &s->rows[s->top]);
	if (is_main(s))
		finish_row(s, &s->rows[s->top], newline);
	rotate_up(s, s->top, s->bottom);
	if (entire && is_main(s))
		return;
	/* Rows outside the scrolling region stay in place, but their numbers
	 * change, so readers must reread them. */
	mark_rows(s, 0, s->height - 1);
}

/* Moves the cursor to the next row, or scrolls at the bottom of the scrolling
 * region. `newline` is false if the line wraps onto the next row. The rows of a
 * wrapped line are separate lines in terminal output, but one line in pipe
 * output. */
static void
line_feed(struct screen *s, bool newline)
{
	if (!newline)
		cursor_row(s)->wraps = true;
	if (s->cursor.y == s->bottom) {
		scroll_up(s, newline || s->terminal);
		s->addressed = s->addressed && !is_main(s);
	} else if (s->cursor.y < s->height - 1) {
		s->cursor.y++;
	}
	if (is_main(s))
		s->last_line = max(s->last_line, s->cursor.y);
}

static void
reverse_line_feed(struct screen *s)
{
	if (s->cursor.y == s->top)
		rotate_down(s, s->top, s->bottom);
	else if (s->cursor.y > 0)
		s->cursor.y--;
}

/* Returns the last row that IL (insert lines) or DL (delete lines) would
 * move. */
static int
last_moved_row(const struct screen *s)
{
	bool inside = s->cursor.y >= s->top && s->cursor.y <= s->bottom;

	return inside ? s->bottom : s->height - 1;
}

/* Marks the row above the cursor as not wrapped. */
static void
end_row_before(struct screen *s)
{
	if (s->cursor.y > 0)
		cursor_row(s)[-1].wraps = false;
}

static void
insert_rows(struct screen *s, int n)
{
	int last = last_moved_row(s);

	end_row_before(s);
	for (; n > 0; n--)
		rotate_down(s, s->cursor.y, last);
}

static void
delete_rows(struct screen *s, int n)
{
	int last = last_moved_row(s);
	int i;

	end_row_before(s);
	for (i = 0; i < n; i++)
		rotate_up(s, s->cursor.y, last);
	mark_rows(s, s->cursor.y, last);
}

/* -- Drawing ----------------------------------------------------------- */

/* Records that the program is drawing text. A program that draws after moving
 * the cursor to an absolute position is considered a full-screen program. */
static void
record_drawing(struct screen *s)
{
	s->addressed = s->addressed || s->moved;
	s->moved = false;
	s->erased = false;
}

/* Inserts n blank cells at the cursor (ICH). */
static void
insert_cells(struct screen *s, int n)
{
	struct row *r = cursor_row(s);

	if (row_insert(r, s->cursor.x, n, s->columns))
		mark_rewritten(s, r);
}

/* Deletes n cells at the cursor (DCH). */
static void
delete_cells(struct screen *s, int n)
{
	struct row *r = cursor_row(s);

	if (row_delete(r, s->cursor.x, n))
		mark_rewritten(s, r);
}

/* Adds a combining character to the character before the cursor. */
static void
combine(struct screen *s, uint32_t code)
{
	int used = cursor_row(s)->used;

	if (row_combine(cursor_row(s), s->cursor.x, code))
		mark_drawn(s, s->cursor.x, used);
}

/* Stores a character in the cells at the cursor. The row counts as changed only
 * if the cells did not already contain that character. */
static void
put_character(struct screen *s, uint32_t code, int width)
{
	int used = cursor_row(s)->used;

	if (row_set(cursor_row(s), s->cursor.x, code, width))
		mark_drawn(s, s->cursor.x, used);
}

/* Draws a character at the cursor, and advances the cursor past it. */
static void
draw(struct screen *s, uint32_t code)
{
	int width = char_width(code);

	record_drawing(s);
	if (width == 0) {
		combine(s, code);
		return;
	}
	if (s->insert)
		insert_cells(s, width);
	if (s->cursor.x > s->columns - width) {
		if (s->no_wrap && width > 1)
			return;
		if (s->no_wrap) {
			s->cursor.x = s->columns - 1;
		} else {
			line_feed(s, false);
			s->cursor.x = 0;
		}
	}
	put_character(s, code, width);
	s->cursor.x += width;
	if (s->no_wrap && s->cursor.x >= s->columns)
		s->cursor.x = s->columns - 1;
	s->last_drawn = code;
}

/* Returns whether characters are drawn in the default way: with insert mode
 * off, autowrap on, and no line-drawing characters. */
static bool
is_plain_mode(const struct screen *s)
{
	return !s->insert && !s->no_wrap && !s->drawing[s->charset];
}

/* Draws the leading run of printable ASCII characters in p, up to the end of
 * the row, if the row has no text at or after the cursor. Returns the number of
 * characters drawn, or 0 if the characters must be drawn one by one. With this
 * fast path, drawing a 100 MB line is five times as fast. */
static size_t
draw_run(struct screen *s, const unsigned char *p, size_t n)
{
	struct row *r = cursor_row(s);
	int x = s->cursor.x, used = r->used;
	size_t columns = (size_t)(s->columns - x), i = 0;

	if (!is_plain_mode(s) || x < used)
		return 0;
	if (n > columns)
		n = columns;
	while (i < n && p[i] >= 0x20 && p[i] < 0x7F)
		i++;
	if (i == 0)
		return 0;
	record_drawing(s);
	row_append(r, x, p, (int)i);
	mark_drawn(s, x, used);
	s->cursor.x = r->used;
	s->last_drawn = p[i - 1];
	return i;
}

/* Returns the Unicode character for a character of DEC's line-drawing set. This
 * set replaces the characters from '`' to '~'. */
static uint32_t
line_drawing(uint32_t code)
{
	static const uint16_t drawn[] = {
		0x25C6, 0x2592, 0x2409, 0x240C, 0x240D, 0x240A, 0x00B0, 0x00B1,
		0x2424, 0x240B, 0x2518, 0x2510, 0x250C, 0x2514, 0x253C, 0x23BA,
		0x23BB, 0x2500, 0x23BC, 0x23BD, 0x251C, 0x2524, 0x2534, 0x252C,
		0x2502, 0x2264, 0x2265, 0x03C0, 0x2260, 0x00A3, 0x00B7
	};

	return code >= '`' && code <= '~' ? drawn[code - '`'] : code;
}

static void
draw_tab(struct screen *s)
{
	if (!s->terminal) {
		draw(s, '\t');
		return;
	}
	if (s->cursor.x >= s->columns - 1)
		return;
	s->cursor.x += TAB_STOP - s->cursor.x % TAB_STOP;
	if (s->cursor.x > s->columns - 1)
		s->cursor.x = s->columns - 1;
}

/* -- Erasing ----------------------------------------------------------- */

/* Returns the number of rows, not counting trailing empty rows. */
static int
used_rows(const struct screen *s)
{
	int n = s->height;

	while (n > 0 && s->rows[n - 1].used == 0)
		n--;
	return n;
}

/* Erases the screen. As in tmux, the erased rows become part of the output. */
static void
erase_all(struct screen *s)
{
	int i, n = used_rows(s);

	for (i = 0; i < n && is_main(s); i++) {
		finish_row(s, &s->rows[i], true);
		row_reset(&s->rows[i]);
	}
	for (i = 0; i < s->height; i++)
		erase_row(s, &s->rows[i]);
	if (is_main(s)) {
		s->last_line = 0;
		/* The rows on the screen have been renumbered, so treat every
		 * row as rewritten, even those that were blank. */
		mark_rows(s, 0, s->height - 1);
	}
	s->moved = false;
	s->erased = true;
	s->addressed = false;
}

/* Executes EL, which erases part of the row: from the cursor to the end (0),
 * from the start to the cursor (1), or the entire row (2). */
static void
erase_in_row(struct screen *s, int part)
{
	struct row *r = cursor_row(s);

	if (part == 0)
		erase_cells(s, r, s->cursor.x, s->columns);
	else if (part == 1)
		erase_cells(s, r, 0, s->cursor.x + 1);
	else if (part == 2)
		erase_cells(s, r, 0, s->columns);
}

/* Excludes the rows below the cursor, which are blank, from the stream's text.
 * The cursor's row becomes the last row, so text added to it does not count as
 * a rewrite anymore. Readers that have read the removed rows would miss this
 * text unless the row itself is marked as rewritten. */
static void
drop_rows_below(struct screen *s)
{
	if (!is_main(s) || s->last_line <= s->cursor.y)
		return;
	mark_rows(s, s->cursor.y, s->last_line);
	s->last_line = s->cursor.y;
}

/* Executes ED, which erases part of the screen. If the program moved the cursor
 * to the first cell with absolute positioning, as clear(1) does, the erased
 * rows remain in the output. If the program used relative movements, for
 * example to redraw its prompt, the erased rows are dropped. */
static void
erase_in_screen(struct screen *s, int part)
{
	bool at_home = s->cursor.x == 0 && s->cursor.y == 0 && s->moved;
	int i;

	if (!s->terminal) {
		/* On a pipe, ignore ED 2 (erase the screen), so that earlier
		 * text remains in the output. */
		if (part != 2)
			erase_in_row(s, part);
	} else if (part == 2 || (part == 0 && at_home)) {
		erase_all(s);
	} else if (part == 0) {
		erase_in_row(s, 0);
		for (i = s->cursor.y + 1; i < s->height; i++)
			erase_row(s, &s->rows[i]);
		drop_rows_below(s);
	} else if (part == 1) {
		for (i = 0; i < s->cursor.y; i++)
			erase_row(s, &s->rows[i]);
		erase_in_row(s, 1);
	}
}

/* -- The cursor -------------------------------------------------------- */

static int
clamp(int n, int low, int high)
{
	if (n < low)
		return low;
	return n > high ? high : n;
}

/* Moves the cursor to column x, counted from 0. */
static void
move_to_column(struct screen *s, int x)
{
	s->cursor.x = clamp(x, 0, s->columns - 1);
}

/* Moves the cursor to row y, counted from 0, and sets s->moved. Moving to the
 * first cell of an erased screen clears s->moved instead. */
static void
move_to_row(struct screen *s, int y)
{
	bool at_home;

	s->cursor.y = clamp(y, 0, s->height - 1);
	at_home = s->cursor.x == 0 && s->cursor.y == 0;
	s->moved = !(at_home && s->erased);
}

/* Executes BS: moves the cursor one column to the left. At the start of a row,
 * the cursor moves to the end of the previous row if that row was wrapped. */
static void
move_back(struct screen *s)
{
	if (s->cursor.x > 0) {
		s->cursor.x--;
	} else if (s->cursor.y > 0 && s->rows[s->cursor.y - 1].wraps) {
		s->cursor.y--;
		s->cursor.x = s->columns - 1;
	}
}

static void
cancel_wrap(struct screen *s)
{
	if (s->cursor.x == s->columns)
		s->cursor.x--;
}

/* Moves the cursor up by n rows, stopping at the top of the scrolling region or
 * of the screen. */
static void
move_up(struct screen *s, int n)
{
	int highest = s->cursor.y < s->top ? 0 : s->top;

	cancel_wrap(s);
	s->cursor.y = clamp(s->cursor.y - n, highest, s->height - 1);
}

static void
move_down(struct screen *s, int n)
{
	int lowest = s->cursor.y > s->bottom ? s->height - 1 : s->bottom;

	cancel_wrap(s);
	s->cursor.y = clamp(s->cursor.y + n, 0, lowest);
}

static void
back_tabs(struct screen *s, int n)
{
	for (; n > 0 && s->cursor.x > 0; n--)
		s->cursor.x = (s->cursor.x - 1) / TAB_STOP * TAB_STOP;
}

static void
set_region(struct screen *s, int top, int bottom)
{
	top = clamp(top, 0, s->height - 1);
	bottom = clamp(bottom, 0, s->height - 1);
	if (top >= bottom)
		return;
	s->top = top;
	s->bottom = bottom;
	s->cursor = (struct position){ 0, 0 };
}

static void
restore_cursor(struct screen *s)
{
	s->cursor = s->saved;
	cancel_wrap(s);
	s->moved = false;
}

/* -- The alternate screen, reset --------------------------------------- */

/* Switches to an empty alternate screen. If `restores_cursor` is true (mode
 * 1049), the cursor will return to its present position when the program leaves
 * the alternate screen by resetting mode 1049. */
static void
show_alternate(struct screen *s, bool restores_cursor)
{
	int i;

	if (!is_main(s) || !s->terminal)
		return;
	s->main_cursor = s->cursor;
	s->restores_cursor = restores_cursor;
	s->rows = s->alternate;
	for (i = 0; i < s->height; i++)
		row_reset(&s->rows[i]);
	s->moved = false;
}

static void
show_main(struct screen *s, bool restores)
{
	if (is_main(s))
		return;
	s->rows = s->main;
	s->addressed = false;
	if (restores && s->restores_cursor)
		s->cursor = s->main_cursor;
	cancel_wrap(s);
	s->moved = false;
}

static void
reset(struct screen *s)
{
	s->top = 0;
	s->bottom = s->height - 1;
	s->no_wrap = false;
	s->insert = false;
	s->drawing[0] = s->drawing[1] = false;
	s->charset = 0;
	s->saved = (struct position){ 0, 0 };
	s->cursor = (struct position){ 0, 0 };
	erase_all(s);
}

/* -- Control sequences ------------------------------------------------- */

/* The comment after each final byte is the function's name in ECMA-48 or in the
 * xterm documentation. */

static void
reply(struct screen *s, const char *text)
{
	if (s->terminal && s->replies.len + strlen(text) <= REPLIES_MAX)
		buf_put(&s->replies, text, strlen(text));
}

/* Replies to CSI 6 n with the cursor's row and column, counting from 1. */
static void
report_cursor(struct screen *s)
{
	char text[REPLY_MAX] = "";
	struct buf b = { text, 0, sizeof(text) };
	int x = clamp(s->cursor.x, 0, s->columns - 1);

	/* Some programs determine the terminal's size by moving the cursor to
	 * the last cell and querying its position. Such a move alone does not
	 * make a program a full-screen program. */
	s->moved = false;
	buf_fmt(&b, "\033[%d;%dR", s->cursor.y + 1, x + 1);
	reply(s, buf_text(&b));
}

/* Sets or resets a private mode (DECSET, DECRST). On a pipe, autowrap remains
 * on, so that no text of a long line is lost (O1). */
static void
set_private_mode(struct screen *s, int mode, bool on)
{
	if (mode == 7)
		s->no_wrap = !on && s->terminal;
	else if (mode == 1049 && on)
		show_alternate(s, true);
	else if (mode == 1049)
		show_main(s, true);
	else if ((mode == 47 || mode == 1047) && on)
		show_alternate(s, false);
	else if (mode == 47 || mode == 1047)
		show_main(s, false);
}

static void
set_modes(struct screen *s, bool on)
{
	const struct sequence *q = &s->sequence;
	int i;

	for (i = 0; i < q->parameters; i++) {
		if (q->private_mark == '?')
			set_private_mode(s, q->parameter[i], on);
		else if (q->private_mark == 0 && q->parameter[i] == 4)
			s->insert = on;
	}
}

/* Executes REP: repeats the last character n times, but not past the end of the
 * row. */
static void
repeat(struct screen *s, uint32_t code, int n)
{
	int columns = s->columns - s->cursor.x;

	if (code == 0)
		return;
	for (n = min(n, columns); n > 0; n--)
		draw(s, code);
}

/* Executes a control sequence that affects only the cursor's row. Returns false
 * for any other sequence. */
static bool
run_row_control(struct screen *s, const struct sequence *q)
{
	int n = sequence_count(q);

	switch (q->final) {
	case 'C': case 'a':  /* CUF, HPR */
		cancel_wrap(s);
		move_to_column(s, s->cursor.x + n);
		return true;
	case 'D':  /* CUB */
		s->cursor.x = clamp(s->cursor.x - n, 0, s->columns - 1);
		return true;
	case 'G': case '`':  /* CHA, HPA */
		move_to_column(s, n - 1);
		return true;
	case 'Z':  /* CBT */
		back_tabs(s, n);
		return true;
	case 'J':  /* ED */
		erase_in_screen(s, sequence_parameter(q, 0, 0));
		return true;
	case 'K':  /* EL */
		erase_in_row(s, sequence_parameter(q, 0, 0));
		return true;
	case '@':  /* ICH */
		insert_cells(s, n);
		return true;
	case 'P':  /* DCH */
		delete_cells(s, n);
		return true;
	case 'X':  /* ECH */
		erase_cells(s, cursor_row(s), s->cursor.x, s->cursor.x + n);
		return true;
	case 's':  /* SCOSC */
		s->saved = s->cursor;
		return true;
	case 'u':  /* SCORC */
		restore_cursor(s);
		return true;
	}
	return false;
}

/* Executes a control sequence that can affect rows other than the cursor's row.
 * Such sequences are ignored if the output is a pipe, because the screen of a
 * pipe has only one row. */
static void
run_screen_control(struct screen *s, const struct sequence *q)
{
	int n = sequence_count(q), column = sequence_parameter(q, 1, 1);

	switch (q->final) {
	case 'A':  /* CUU */
		move_up(s, n);
		break;
	case 'B': case 'e':  /* CUD, VPR */
		move_down(s, n);
		break;
	case 'E':  /* CNL */
		s->cursor.x = 0;
		move_down(s, n);
		break;
	case 'F':  /* CPL */
		s->cursor.x = 0;
		move_up(s, n);
		break;
	case 'H': case 'f':  /* CUP, HVP */
		move_to_column(s, column - 1);
		move_to_row(s, n - 1);
		break;
	case 'd':  /* VPA */
		move_to_row(s, n - 1);
		break;
	case 'L':  /* IL */
		insert_rows(s, clamp(n, 1, s->height));
		break;
	case 'M':  /* DL */
		delete_rows(s, clamp(n, 1, s->height));
		break;
	case 'S':  /* SU */
		for (n = clamp(n, 1, s->bottom - s->top + 1); n > 0; n--)
			scroll_up(s, true);
		break;
	case 'T':  /* SD */
		for (n = clamp(n, 1, s->bottom - s->top + 1); n > 0; n--)
			rotate_down(s, s->top, s->bottom);
		break;
	case 'r':  /* DECSTBM */
		set_region(s, n - 1, sequence_parameter(q, 1, s->height) - 1);
		break;
	}
}

static void
run_control_sequence(struct screen *s, const struct sequence *q)
{
	uint32_t last = s->last_drawn;
	int status = sequence_parameter(q, 0, 0);
	char letter = q->final;

	s->last_drawn = 0;
	if (q->intermediate != 0)
		return;
	if (letter == 'h' || letter == 'l') {  /* SM, RM */
		set_modes(s, letter == 'h');
	} else if (letter == 'c' && q->private_mark == '>') {  /* DA2 */
		reply(s, "\033[>0;0;0c");
	} else if (q->private_mark != 0) {
		return;
	} else if (letter == 'c') {  /* DA */
		reply(s, "\033[?1;2c");
	} else if (letter == 'n' && status == 5) {  /* DSR */
		reply(s, "\033[0n");
	} else if (letter == 'n' && status == 6) {  /* CPR */
		report_cursor(s);
	} else if (letter == 'b') {  /* REP */
		repeat(s, last, sequence_count(q));
	} else if (!run_row_control(s, q) && s->terminal) {
		run_screen_control(s, q);
	}
}

static void
run_escape(struct screen *s, char letter)
{
	s->last_drawn = 0;
	switch (letter) {
	case '7':  /* DECSC */
		s->saved = s->cursor;
		break;
	case '8':  /* DECRC */
		restore_cursor(s);
		break;
	case 'D':  /* IND */
		line_feed(s, true);
		break;
	case 'E':  /* NEL */
		s->cursor.x = 0;
		line_feed(s, true);
		break;
	case 'M':  /* RI */
		if (s->terminal)
			reverse_line_feed(s);
		break;
	case 'c':  /* RIS */
		if (s->terminal)
			reset(s);
		break;
	}
}

/* Executes a complete sequence. */
static void
run_sequence(struct screen *s, const struct sequence *q)
{
	switch (q->kind) {
	case SEQUENCE_CONTROL:
		run_control_sequence(s, q);
		break;
	case SEQUENCE_ESCAPE:
		run_escape(s, q->final);
		break;
	case SEQUENCE_CHARSET:
		s->drawing[q->designated] = q->final == '0';
		break;
	case SEQUENCE_NONE:
		break;
	}
}

/* Executes a control character that is not part of a sequence. */
static void
run_control(struct screen *s, unsigned char c)
{
	s->last_drawn = 0;
	switch (c) {
	case '\n':
		if (!s->terminal)
			s->cursor.x = 0;
		line_feed(s, true);
		break;
	case '\v': case '\f':
		if (s->terminal)
			line_feed(s, true);
		break;
	case '\r':
		s->cursor.x = 0;
		break;
	case '\b':
		move_back(s);
		break;
	case '\t':
		draw_tab(s);
		break;
	case 0x0E: case 0x0F:  /* SO, SI */
		s->charset = c == 0x0E;
		break;
	}
}

/* -- Text -------------------------------------------------------------- */

/* Draws one character or executes one control character. Returns its length in
 * bytes, or 0 if the character is incomplete. */
static size_t
parse_text(struct screen *s, const unsigned char *p, size_t n)
{
	int len = utf8_length(p, n);
	uint32_t code;

	if (len == 0)
		return 0;
	/* Programs send NUL to terminals as padding, so NUL is invalid only on
	 * a pipe. */
	if (*p == '\0' && !s->terminal)
		s->invalid_bytes++;
	if (len < 0) {
		s->invalid_bytes -= len;
		draw(s, 0xFFFD);
		return (size_t)-len;
	}
	code = utf8_decode(p, len);
	if (code < 0x20)
		run_control(s, *p);
	else if (code >= 0x7F && code < 0xA0)
		return (size_t)len;  /* Ignore DEL and C1 controls. */
	else if (s->drawing[s->charset])
		draw(s, line_drawing(code));
	else
		draw(s, code);
	return (size_t)len;
}

/* -- Whole lines ------------------------------------------------------- */

/* Returns whether plain text can be copied to the output without being drawn.
 * For this, the screen must be the one-row screen of a pipe, the row must be
 * empty, and all modes must have their default values. */
static bool
can_copy(const struct screen *s)
{
	bool is_new = s->cursor.x == 0 && s->rows[0].history.change == 0;

	return is_plain_mode(s) && is_new && !s->terminal;
}

/* Copies plain text from p to the output without drawing it. Copies either
 * complete lines or, if the first line is too long, one full row of this line.
 * Returns the number of bytes read from p, or 0 if the text must be drawn. */
static size_t
copy_text(struct screen *s, const unsigned char *p, size_t n)
{
	struct extent size = { 0, 0, 0 };
	size_t done = lines_copy(p, n, s->columns, s->out, &size);

	s->final.rows += size.lines;
	if (done == 0) {
		done = lines_copy_row(p, n, s->columns, s->out, &size);
		s->final.rows += done > 0;
	}
	s->final.bytes += size.bytes;
	s->final.chars += size.chars;
	s->final.lines += size.lines;
	if (done > 0)
		row_reset(&s->rows[0]);
	return done;
}

/* -- The screen -------------------------------------------------------- */

size_t
screen_memory(bool terminal)
{
	size_t cells = SCREEN_PIPE_COLUMNS;

	if (terminal)
		cells = 2 * SCREEN_ROWS * SCREEN_COLUMNS;
	return cells * sizeof(cell);
}

struct screen *
screen_new(bool terminal, void *memory)
{
	struct screen *s = mem_get(sizeof(*s));
	cell *cells = memory;
	int i;

	s->terminal = terminal;
	s->columns = terminal ? SCREEN_COLUMNS : SCREEN_PIPE_COLUMNS;
	s->height = terminal ? SCREEN_ROWS : 1;
	s->bottom = s->height - 1;
	s->rows = s->main;
	s->replies = (struct buf){ s->reply, 0, sizeof(s->reply) };
	for (i = 0; i < s->height; i++) {
		s->main[i].cells = cells;
		cells += s->columns;
	}
	for (i = 0; i < s->height && terminal; i++) {
		s->alternate[i].cells = cells;
		cells += s->columns;
	}
	return s;
}

void
screen_free(struct screen *s)
{
	if (s != NULL)
		revised_free(&s->revisions);
	free(s);
}

/* Adds the byte c to the incomplete character left over from the previous call
 * to screen_write(). If c does not continue that character, draws U+FFFD in its
 * place and returns false, and the caller must then process c as new text. */
static bool
continue_character(struct screen *s, unsigned char c)
{
	unsigned char bytes[sizeof(s->partial) + 1];
	size_t n = s->partial_len, done;

	memcpy(bytes, s->partial, n);
	bytes[n++] = c;
	done = parse_text(s, bytes, n);
	if (done == 0) {
		s->partial[s->partial_len++] = c;
		return true;
	}
	s->partial_len = 0;
	return done == n;
}

static bool
is_printable(unsigned char c)
{
	return c >= 0x20 && c < 0x7F;
}

/* Returns whether the screen is the one-row screen of a pipe, its row is full,
 * and insert mode is off. */
static bool
is_row_full(const struct screen *s)
{
	return !s->terminal && s->cursor.x == s->columns && !s->insert;
}

/* Processes the text at p, which must not start inside a sequence or a
 * character. Copies the text to the output if possible, and otherwise draws it
 * on the screen. If the text starts with ESC, starts parsing a sequence.
 * Returns the number of bytes processed, which is at least 1. */
static size_t
write_text(struct screen *s, const unsigned char *p, size_t n)
{
	size_t done = 0;

	/* When a long line has filled the one-row screen of a pipe, start a new
	 * row. The rest of the line can then be copied to the output without
	 * being drawn. */
	if (is_row_full(s) && is_printable(*p)) {
		line_feed(s, false);
		s->cursor.x = 0;
	}
	if (can_copy(s))
		done = copy_text(s, p, n);
	if (done > 0)
		return done;
	if (*p == 0x1B) {
		sequence_start(&s->sequence);
		return 1;
	}
	done = draw_run(s, p, n);
	if (done == 0)
		done = parse_text(s, p, n);
	if (done > 0)
		return done;
	s->partial_len = n;
	memcpy(s->partial, p, n);
	return n;
}

size_t
screen_write(struct screen *s, const void *bytes, size_t n, struct buf *final)
{
	const unsigned char *p = bytes, *end = p + n;

	s->out = final;
	while (p < end && final->cap - final->len >= SCREEN_STEP_MAX) {
		n = (size_t)(end - p);
		if (s->partial_len > 0) {
			p += continue_character(s, *p);
		} else if (sequence_is_open(&s->sequence)) {
			p += sequence_parse(&s->sequence, p, n);
			run_sequence(s, &s->sequence);
		} else {
			p += write_text(s, p, n);
		}
	}
	s->out = NULL;
	return (size_t)(p - (const unsigned char *)bytes);
}

void
screen_end(struct screen *s, struct buf *final)
{
	s->out = final;
	if (s->partial_len > 0) {
		s->invalid_bytes += (int64_t)s->partial_len;
		draw(s, 0xFFFD);
	}
	s->partial_len = 0;
	s->out = NULL;
}

bool
screen_is_full_screen(const struct screen *s)
{
	return !is_main(s) || s->addressed;
}

struct screen_final
screen_final(const struct screen *s)
{
	return s->final;
}

int64_t
screen_invalid_bytes(const struct screen *s)
{
	return s->invalid_bytes;
}

int64_t
screen_pending_bytes(const struct screen *s)
{
	return (int64_t)s->partial_len;
}

/* Returns the number of rows, not counting trailing blank rows. */
static int
height_of(const struct screen *s, const struct row *rows)
{
	int n = s->height;

	while (n > 0 && shown_columns(s, &rows[n - 1]) == 0)
		n--;
	return n;
}

int
screen_height(const struct screen *s)
{
	return height_of(s, s->rows);
}

void
screen_row(const struct screen *s, int i, struct buf *b)
{
	row_put(&s->rows[i], shown_columns(s, &s->rows[i]), b);
}

int64_t
screen_row_change(const struct screen *s, int i)
{
	return s->rows[i].history.change;
}

bool
screen_is_alternate(const struct screen *s)
{
	return !is_main(s);
}

int
screen_lines(const struct screen *s)
{
	int y = is_main(s) ? s->cursor.y : s->main_cursor.y;

	return max(height_of(s, s->main), min(y, s->last_line) + 1);
}

void
screen_line(const struct screen *s, int i, struct buf *b)
{
	row_put(&s->main[i], text_columns(s, &s->main[i]), b);
}

int64_t
screen_line_rewrite(const struct screen *s, int i)
{
	return s->main[i].history.rewrite;
}

int64_t
screen_change(const struct screen *s)
{
	return s->revisions.change;
}

void
screen_mark_read(struct screen *s, struct revised_reader *reader)
{
	int i, n = screen_lines(s);
	struct row *r;

	for (i = 0; i < n; i++) {
		r = &s->main[i];
		r->history.read_columns = text_columns(s, r);
	}
	revised_read(&s->revisions, reader, s->final.rows);
}

struct buf *
screen_replies(struct screen *s)
{
	return &s->replies;
}
