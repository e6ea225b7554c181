/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_UNREAD_H
#define OUTPUT_UNREAD_H

/* Finds the part of a stream's text that a reader has not yet read. Each reader
 * has a cursor, which records how far it has read the stream. The unread text
 * is read in one or more pieces. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/cut.h"
#include "output/revised.h"

struct kept;

enum { MISSED_MAX = 16 };  /* maximum number of parts of missed text */

/* The kinds of unread text, in the order in which they are read */
enum reading_phase {
	READ_MISSED,     /* final text that no result has shown, because a
	                  * full-screen program was running */
	READ_REWRITTEN,  /* rows rewritten after they were read */
	READ_ADDED,      /* text added since the reader's last read */
	READ_ALTERNATE   /* changed rows of the alternate screen */
};

/* A part of the text that has scrolled off the screen and that a reader has not
 * read, even though the reader has read later rows on the screen of a
 * full-screen program */
struct missed {
	int64_t start;       /* byte position in the stream's text */
	int64_t end;         /* byte position of the part's end */
	int64_t first_line;  /* number of newlines in the stream before
	                      * `start` */
	int64_t end_line;    /* number of newlines in the stream before
	                      * `end` */
};

/* The position up to which a reader has read the stream. A zeroed struct
 * represents the start of the stream. Only unread.c uses the members, apart
 * from `lines`, which output.c also reads.
 *
 * Once a reader has read the stream, its cursor is attached to the stream,
 * which keeps it up to date. The cursor must then not be moved in memory, and
 * must be closed with unread_close(), before or after the stream is freed. A
 * copy that was made by assignment is not attached. It can be used with
 * unread_find() and unread_skip() until the stream changes. */
struct output_cursor {
	struct revised_reader reader;  /* the rows that were on the screen when
	                                * the reader last read the stream */
	int64_t start;    /* byte position of row `reader.row` in the stream's
	                   * text; final, because earlier text is final */
	int last;         /* index of the last row read, counted from row
	                   * `reader.row` */
	int64_t bytes;    /* number of bytes of the last row already read */
	int64_t lines;    /* number of newlines in the stream before the last
	                   * row */
	int64_t screen_change;  /* sequence number of the last change that the
	                         * reader has seen on the screen of a
	                         * full-screen program */

	/* The parts of the text that the reader has missed, in ascending order.
	 * If there are too many parts, the last one also contains text that the
	 * reader has read, because repeating text is better than losing it. */
	struct missed *missed;  /* an array of MISSED_MAX parts, or NULL if no
	                         * text has been missed yet */
	int missed_parts;       /* number of parts in `missed` */

	/* The progress of a read that returns the reader's unread text in
	 * several pieces. Both members are 0 when no read is in progress. */
	enum reading_phase phase;
	int64_t next;     /* where reading resumes: a row number
	                   * (READ_REWRITTEN), a position in the stream's text
	                   * (READ_MISSED, READ_ADDED), or the index of a row
	                   * on the alternate screen (READ_ALTERNATE) */
};

/* A piece of text that a reader has not yet read */
struct piece {
	enum reading_phase phase;
	size_t at;        /* index of the piece's first byte in the `text`
	                   * member of struct kept */
	size_t len;       /* length of the piece, in bytes */
	bool continues;   /* whether the piece directly follows what the reader
	                   * has already read */
	int64_t next;     /* value for the cursor's `next` once the piece has
	                   * been read */
};

/* Finds the next piece of unread text without advancing the reader's cursor.
 * Returns false if all text has been read. Calls kept_update() first. */
bool unread_find(struct kept *, const struct output_cursor *, struct piece *);

/* Advances the reader's cursor past the piece that unread_find() found. */
void unread_skip(struct output_cursor *, const struct piece *);

/* Copies a cursor to *c, which must be zeroed or a cursor. The copy is attached
 * to the same stream. */
void unread_copy(struct output_cursor *c, const struct output_cursor *from);

/* Detaches a cursor from its stream. */
void unread_close(struct output_cursor *);

/* Marks all text of the stream as read, and attaches the cursor. */
void unread_mark_read(struct kept *, struct output_cursor *);

/* Marks only the rows on the screen of a full-screen program as read. Unread
 * text that is not on the screen stays unread. */
void unread_mark_screen_read(struct kept *, struct output_cursor *);

/* Returns whether the screen of a full-screen program has changed since the
 * reader last read the stream. */
bool unread_has_new_screen(const struct kept *, const struct output_cursor *);

/* Returns the start of the text that was added since the reader last read the
 * stream, as a byte position in the stream's text. The caller must call
 * kept_update() first. */
int64_t unread_position(const struct kept *, const struct output_cursor *);

/* Returns the size of the missed text, including text dropped from memory. Each
 * byte is counted as a character. */
struct extent unread_missed_size(const struct output_cursor *);

#endif
