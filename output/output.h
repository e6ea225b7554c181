#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

/* One stream of what a command prints (O): raw bytes made into the text that a
 * terminal would show, counted, bounded, and saved raw if there are many; and
 * how much of it is shown. It takes 260 KB of memory at most, 1 MB with the
 * highest `limit`, 64 KB more before there is a file. */

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
 * lines break at its last column, and lose the blanks at their end (I6).
 * Returns NULL if the memory is refused: all that it needs is taken here, so
 * that nothing that a command prints can end boris (E7). */
struct output *output_new(const struct options *, struct spool *,
                          int64_t limit, bool terminal);
/* The file stays if a reader knows its path (O5). NULL is fine. */
void output_free(struct output *);
/* Takes raw bytes as they were read. Any split gives the same text. */
void output_write(struct output *, const void *bytes, size_t n);
/* No more will come: an unfinished character becomes U+FFFD. */
void output_end(struct output *);

bool output_ended(const struct output *);  /* after output_end() */
/* Has its program moved the cursor about, as a full-screen one does (I6)? */
bool output_is_screen(const struct output *);
int64_t output_bytes(const struct output *);  /* that came, raw */
size_t output_size(const struct output *);  /* bytes of text that can be shown */
bool output_within_line(const struct output *);  /* Is the last line open? */

/* How far a reader has looked. Zeroed: at the start. */
struct output_cursor {
	int64_t finished;   /* bytes of lines that had ended */
	int64_t lines;      /* their newlines */
	int64_t line;       /* bytes of the line that had not */
	unsigned rewrites;  /* the output's own `rewrites` at that time */
};

/* Is there a break between what was read before and what is read next? The open
 * line has changed, and is read anew; or bytes between the two are gone. */
bool output_rewritten(const struct output *, const struct output_cursor *);
/* Is there text behind the cursor? */
bool output_news(const struct output *, const struct output_cursor *);
/* The next piece of what is behind the cursor, in place, and its length; moves
 * the cursor behind it. It is all one piece; if bytes were dropped, two. */
size_t output_read(struct output *, struct output_cursor *, const char **);
/* Appends at most the last `limit` bytes of what is behind the cursor, and
 * moves it to the end; a line that was changed after a look is new (O7). */
void output_since(struct output *, struct output_cursor *, size_t limit,
                  struct buf *);
void output_last_line(const struct output *, struct buf *);  /* the end of it */
/* Moves the cursor to the end: all has been looked at. */
void output_skip(struct output *, struct output_cursor *);

/* What output_show() has shown */
struct output_view {
	int64_t chars;     /* characters in all, when truncated; else -1 */
	const char *file;  /* the saved file's path, the output's; or NULL */
};

/* Appends the text, or what is new of it behind the cursor (NULL: all of it),
 * cut as the bounds say. If less of it was kept than they allow, less is shown.
 * The news of a long stream are cut as TRUNCATE_TAIL or TRUNCATE_LOOK. The
 * truncation line calls the stream `name` ("stdout"). This may make the
 * file. */
struct output_view output_show(struct output *, const struct output_cursor *,
                               const struct output_bounds *, const char *name,
                               struct buf *);

#endif
