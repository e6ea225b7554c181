#ifndef OUTPUT_H
#define OUTPUT_H

/* One stream of what a command prints: raw bytes are cleaned as a terminal
 * would show them, counted, kept within bounds, and saved raw in a file once
 * they are long (SPEC.md O). Knows not whose stream it is. Whatever is printed,
 * memory is bounded: about 35 KB a stream, 90 KB with its end, twice that for
 * text of long characters; 64 KiB more until it is long enough for a file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "spool.h"

enum truncate { TRUNCATE_HEAD, TRUNCATE_TAIL, TRUNCATE_BOTH };

struct output;  /* in output.c */

/* A new empty stream. keep_end: the end may be asked for (truncation other
 * than head, progress, a task), so keep it too; else only the head is kept.
 * NULL without memory. */
struct output *output_new(struct spool *, bool keep_end);
/* Its file, if it names one and ended, stays in the spool. NULL is fine. */
void output_free(struct output *);

/* From now on the end is kept as well (a command that becomes a task, E5).
 * What was printed before is there as far as the head holds it. */
void output_keep_end(struct output *);

/* Takes raw bytes as they were read. Any split gives the same text. */
void output_write(struct output *, const void *bytes, size_t n);

/* No more will come: a cut-off character becomes U+FFFD, the file is closed,
 * or removed when nothing was truncated under this `truncate` and no reader
 * has been told its path. */
void output_end(struct output *, enum truncate);

struct output_view {
	int64_t chars;     /* characters in all, when truncated; else -1 */
	const char *file;  /* the saved file's path, or NULL; the output's */
};

/* Appends the text as a result shows it: O3, O4, with the truncation line,
 * which calls the stream `name` ("stdout"). Before output_end(): what there
 * is so far, its end when it is over the limit (T3). */
void output_show(struct output *, enum truncate, const char *name,
                 struct buf *, struct output_view *);

/* How far a reader has looked. Zeroed: at the start. */
struct output_mark {
	int64_t committed;  /* bytes of finished text */
	int64_t lines;      /* newlines in it */
	uint64_t line;      /* bytes seen of the line not finished yet */
	uint64_t rewrites;  /* how often lines had been rewritten then */
};

/* Is there text that the mark has not seen? Cheap. */
bool output_news(const struct output *, const struct output_mark *);

/* Moves the mark to the end. */
void output_look(struct output *, struct output_mark *);

/* Appends the text since the mark and moves the mark: at most `limit` bytes,
 * the last ones, no character cut; 0: as O4's tail, with its truncation line
 * (T3 `new`), which counts the lines since the mark. A line that was rewritten
 * since is given whole again. (Readers with marks of their own may make each
 * other see the start of a line twice, but miss nothing.) Needs keep_end. */
void output_since(struct output *, struct output_mark *, size_t limit,
                  const char *name, struct buf *);

#endif
