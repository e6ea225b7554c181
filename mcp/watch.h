#ifndef MCP_WATCH_H
#define MCP_WATCH_H

/* A watcher of a task's output: it searches what is printed for a text (W3) and
 * for news (W2). A terminal shows what is typed into it. This echo, and the
 * same line drawn again by a line editor, is neither the text nor news. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/text.h"
#include "output/output.h"
#include "session/job.h"

/* How far one stream has been searched */
struct watched_stream {
	struct output_cursor read;
	size_t text, typed;    /* bytes of each pattern matched so far */
	bool complete;         /* the line contains the complete typed line */
	struct buf printed;    /* the last output, if something was typed */
};

/* Others read `seen_at`, `news` and `printed_at`. */
struct watch {
	int64_t seen_at;       /* ms; when the text was printed; 0: not yet */
	int64_t printed_at;    /* ms; of the last output; 0: none yet */
	bool news;             /* output other than echo and white space */

	struct pattern text;   /* the text to search for; empty: only news */
	struct pattern typed;  /* the typed line whose echo is expected */
	bool expects_echo;     /* of the line in `typed` */
	struct buf input;      /* the start of what was typed */
	size_t next_line;      /* where in `input` the line after it begins */
	bool redraw;           /* a line editor may draw the first line again */
	int redrawn;           /* number of typed lines that were drawn again */
	struct watched_stream out, err;
};

/* Sets up a zeroed watch for the text, which stays the caller's. Returns false
 * if out of memory: the text is then never found. */
bool watch_open(struct watch *, const struct buf *text);
void watch_free(struct watch *);
/* Begins to read where the last result that showed the job's output ended. */
void watch_begin(struct watch *, const struct job *);
/* Searches the output that has been printed since the last time. */
void watch_read(struct watch *, const struct job *, int64_t now);
/* Forgets what was printed before input is typed, since it is not an answer. */
void watch_restart(struct watch *);
/* Notes what was typed into the terminal of the job, which was in that mode. */
void watch_typed(struct watch *, struct job *, const struct buf *input,
                 enum terminal_mode);
/* Returns whether the terminal has shown the typed line, and nothing else. */
bool watch_has_only_echo(const struct watch *);

#endif
