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
	READ_ADDED,      /* text that was added after the last reading */
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
	int64_t change;   /* number of the last change of the screen that the
	                   * reader has seen */

	/* The progress of a reading that is not complete. Both members are 0
	 * between two readings. */
	enum reading_phase phase;
	int64_t next;     /* where the phase continues: the number of a row, a
	                   * position in the text, or the index of a row on the
	                   * alternate screen, depending on the phase */
};

/* A part of the text that a reader has not read yet */
struct piece {
	enum reading_phase phase;
	size_t at;        /* index of the first byte of this text in memory */
	size_t len;       /* length of this text, in bytes */
	bool continues;   /* whether this text directly follows the text that
	                   * was read before */
	int64_t next;     /* value of `next` in the cursor after this text has
	                   * been read */
};

/* Finds the next part of the unread text without moving the cursor. Returns
 * false if all text has been read. Calls kept_update() first. */
bool unread_find(struct kept *, const struct output_cursor *, struct piece *);

/* Moves the cursor past the text that unread_find() has found. */
void unread_skip(struct output_cursor *, const struct piece *);

/* Marks all text of the stream as read. */
void unread_mark_read(struct kept *, struct output_cursor *);

/* Returns the start of the text that was added after the last reading. The
 * caller must call kept_update() first. */
int64_t unread_position(const struct kept *, const struct output_cursor *);

#endif
