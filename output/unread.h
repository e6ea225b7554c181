/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_UNREAD_H
#define OUTPUT_UNREAD_H

/* The text of a stream that a reader has not read yet. Each reader has a cursor
 * and reads the text in pieces. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept;

/* The phases of a reading, in their order */
enum reading_phase {
	READ_REWRITTEN,  /* rows before the cursor that were rewritten */
	READ_ADDED,      /* text that was added after the cursor */
	READ_ALTERNATE   /* rows of the alternate screen that have changed */
};

/* The position up to which a reader has read the stream. A zeroed struct is the
 * start of the stream. The members are private to unread.c, but output.c reads
 * `lines`. */
struct output_cursor {
	int64_t row;      /* number of the last row that was read */
	int64_t bytes;    /* number of bytes of the last row that were read */
	int64_t start;    /* position of the last row in the text, valid if no
	                   * earlier row was rewritten later */
	int64_t lines;    /* number of newlines before the last row that was
	                   * read */
	int64_t change;   /* number of the last change of the screen that was
	                   * read */

	/* The progress of a reading that is not complete. Between two readings,
	 * both members are 0. */
	enum reading_phase phase;
	int64_t next;     /* where the phase continues: a row's number, a
	                   * position in the text, or a row's index on the
	                   * alternate screen, in the order of the phases */
};

/* A piece of text that a reader has not read yet */
struct piece {
	enum reading_phase phase;
	size_t at;        /* index of the piece */
	size_t len;       /* length of the piece, in bytes */
	bool continues;   /* whether the piece continues the text that was read
	                   * before */
	int64_t next;     /* value of the cursor's `next` after the piece */
};

/* Finds the next piece after the cursor, which does not move. Returns false if
 * all text has been read. Brings the copy of the rows up to date. */
bool unread_find(struct kept *, const struct output_cursor *, struct piece *);

/* Moves the cursor after a piece, so that unread_find() finds the next one. */
void unread_skip(struct output_cursor *, const struct piece *);

/* Moves the cursor to the end, so that all text counts as read. */
void unread_mark_read(struct kept *, struct output_cursor *);

/* Returns the position of the text that was added after the cursor. The copy of
 * the rows must be up to date. */
int64_t unread_position(const struct kept *, const struct output_cursor *);

#endif
