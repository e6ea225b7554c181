/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_UNREAD_H
#define OUTPUT_UNREAD_H

/* Finds the text of a stream that a reader has not read yet. Each reader has
 * its own cursor and reads the text in pieces. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept;

/* The kinds of unread text, in the order of reading */
enum reading_phase {
	READ_REWRITTEN,  /* rewritten rows before the cursor */
	READ_ADDED,      /* text that was added after the cursor */
	READ_ALTERNATE   /* changed rows of the alternate screen */
};

/* The position up to which a reader has read the stream. A zeroed struct is the
 * start of the stream. Only unread.c uses the members, except that output.c
 * reads `lines`. */
struct output_cursor {
	int64_t row;      /* number of the last row that was read */
	int64_t bytes;    /* number of bytes of the last row that were read */
	int64_t start;    /* position of the last row in the text; valid unless
	                   * an earlier row was rewritten later */
	int64_t lines;    /* number of newlines before the last row that was
	                   * read */
	int64_t change;   /* number of the last change of the screen that was
	                   * read */

	/* The progress of an incomplete reading. Both members are 0 between
	 * readings. */
	enum reading_phase phase;
	int64_t next;     /* where the phase continues, for each phase in order:
	                   * row number, position in the text, or row index on
	                   * the alternate screen */
};

/* A piece of text that a reader has not read yet */
struct piece {
	enum reading_phase phase;
	size_t at;        /* index of the first byte of the piece */
	size_t len;       /* length of the piece, in bytes */
	bool continues;   /* whether the piece continues the text that was read
	                   * before */
	int64_t next;     /* value of `next` in the cursor after the piece is
	                   * read */
};

/* Finds the next piece after the cursor, but does not move the cursor. Returns
 * false if all text has been read. Calls kept_update() first. */
bool unread_find(struct kept *, const struct output_cursor *, struct piece *);

/* Moves the cursor after a piece, so that unread_find() finds the next one. */
void unread_skip(struct output_cursor *, const struct piece *);

/* Moves the cursor to the end, so that all text counts as read. */
void unread_mark_read(struct kept *, struct output_cursor *);

/* Returns the position of the text that was added after the cursor.
 * kept_update() must have been called after the last change. */
int64_t unread_position(const struct kept *, const struct output_cursor *);

#endif
