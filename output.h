#ifndef OUTPUT_H
#define OUTPUT_H

/* One stream of what a command prints (O): raw bytes are cleaned as a terminal
 * would show them, counted, kept within bounds, and saved raw when they are
 * long. It takes 240 KB of memory at most, and 64 before there is a file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "spool.h"

/* What is shown of a long text: O3, O4, or as of a running task (T3). */
enum truncate {
	TRUNCATE_HEAD, TRUNCATE_TAIL, TRUNCATE_BOTH, TRUNCATE_LOOK
};

struct output;  /* in output.c */

struct output *output_new(struct spool *);  /* empty; NULL without memory */
void output_free(struct output *);  /* its file may stay (O5); NULL is fine */

/* Takes raw bytes as they were read. Any split gives the same text. */
void output_write(struct output *, const void *bytes, size_t n);

/* No more will come: a cut-off character becomes U+FFFD, and the file stays
 * only if this truncation leaves something out or a reader knows its path. */
void output_end(struct output *, enum truncate);

struct output_view {
	int64_t chars;     /* characters in all, when truncated; else -1 */
	const char *file;  /* the saved file's path, or NULL; the output's */
};

/* Appends the text so far, with the truncation line, which calls the stream
 * `name` ("stdout"). Before output_end() always as TRUNCATE_LOOK; afterwards
 * pass what was passed there. Without memory the buf has failed. */
void output_show(struct output *, enum truncate, const char *name,
                 struct buf *, struct output_view *);

/* How far a reader has looked. Zeroed: at the start. */
struct output_cursor {
	int64_t finished;   /* bytes of lines that had ended */
	int64_t lines;      /* their newlines */
	int64_t line;       /* bytes of the line that had not */
	unsigned rewrites;  /* changes of lines after a look at them, so far */
};

/* Has it stopped in the middle of a line, as behind a prompt? */
bool output_within_line(const struct output *);

/* Is there text behind the cursor? */
bool output_news(const struct output *, const struct output_cursor *);
void output_look(struct output *, struct output_cursor *);  /* to the end */

/* Both append what is behind the cursor and move it; a line that was changed
 * after any look at it is given whole again. The first: the last bytes, at most
 * `limit` (O7). The other: as a running task is shown; once it has ended all,
 * or as O4's tail if the stream is too long (T3, `new`). */
void output_since(struct output *, struct output_cursor *, size_t limit,
                  struct buf *);
void output_show_since(struct output *, struct output_cursor *,
                       const char *name, struct buf *, struct output_view *);

#endif
