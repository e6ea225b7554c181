#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

/* One stream of what a command prints (O): raw bytes drawn on a screen, so that
 * the text is what a terminal would show, counted, bounded, and saved raw if
 * there are many; and how much of it is shown. Its memory is taken at once: 700
 * KB of address space at most, 1.6 MB with the highest `limit`, of which a short
 * output uses little; and 64 KB more before there is a file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/options.h"
#include "output/cut.h"
#include "output/spool.h"

struct output;  /* in output.c */

/* The memory of ended outputs, for the next ones. Zeroed: there is none. (If
 * each call took and returned it, a short one would take 7 % longer.) */
struct output_store {
	unsigned char *text[2];  /* NULL: none */
	size_t size[2];          /* bytes of each */
};

/* Empty. With limits up to this one all that they allow is kept. terminal:
 * it is drawn on a screen of 50 rows (I6). Returns NULL if the memory is
 * refused: all that it needs is taken here, so that nothing that a command
 * prints can end boris (E7). */
struct output *output_new(const struct options *, struct spool *,
                          int64_t limit, bool terminal);
/* The file stays if a reader knows its path (O5). NULL is fine. */
void output_free(struct output *);
/* Takes raw bytes as they were read. Any split gives the same text. */
void output_write(struct output *, const void *bytes, size_t n);
/* No more will come: an unfinished character becomes U+FFFD. */
void output_end(struct output *);

bool output_ended(const struct output *);  /* after output_end() */
/* Does its program draw a screen rather than print lines (I6)? */
bool output_is_screen(const struct output *);
/* What a terminal answers to its program's queries; the caller empties it. */
struct buf *output_replies(struct output *);
int64_t output_bytes(const struct output *);  /* received, raw */
size_t output_size(struct output *);  /* bytes of text that can be shown */
bool output_within_line(struct output *);  /* Is the last line open? */

/* How far a reader has read. Zeroed: at the start. What follows is for
 * output.c. */
struct output_cursor {
	int64_t row;      /* number of the last row that was read */
	int64_t bytes;    /* read of that row */
	int64_t start;    /* position of that row in the text, if the rows
	                   * before it stay as they were */
	int64_t lines;    /* newlines before it */
	int64_t change;   /* number of the last change that was read */
	/* While output_read() reads piece by piece: */
	int64_t next_row;    /* rewritten rows before this one were read */
	int64_t next_start;  /* position up to which the text was read */
	int next_shown;      /* rows shown before this one were read */
};

/* Is there a break between what was read before and what is read next? A row
 * has changed, and is read anew; or bytes between the two are gone. */
bool output_rewritten(struct output *, const struct output_cursor *);
/* Is there text after the cursor? */
bool output_news(struct output *, const struct output_cursor *);
/* Returns the length of the next piece of what is after the cursor, in *text,
 * in place, and moves the cursor after it: rows that have changed since they
 * were read, each as a whole; what has been printed since then; and the rows
 * that have changed on the alternate screen. 0: there is none. */
size_t output_read(struct output *, struct output_cursor *, const char **text);
/* Appends at most the last `limit` bytes of what is after the cursor, and moves
 * it to the end; a row that has changed since it was read is new (O7). */
void output_since(struct output *, struct output_cursor *, size_t limit,
                  struct buf *);
void output_last_line(struct output *, struct buf *);  /* the end of it */
/* Moves the cursor to the end: all has been read. */
void output_skip(struct output *, struct output_cursor *);

/* What output_show() has shown */
struct output_view {
	int64_t chars;     /* characters in all, when truncated; else -1 */
	const char *file;  /* the saved file's path, the output's; or NULL */
};

/* Appends the text, or what is new of it after the cursor (NULL: all of it),
 * cut as the bounds say; of a full-screen program the screen as it is now, with
 * a cursor only if there is something new. If less of it was kept than they
 * allow, less is shown. The news of a long stream are cut as TRUNCATE_TAIL or
 * TRUNCATE_RECENT. The truncation line calls the stream `name` ("stdout"). This
 * may make the file. */
struct output_view output_show(struct output *, const struct output_cursor *,
                               const struct output_bounds *, const char *name,
                               struct buf *);

#endif
