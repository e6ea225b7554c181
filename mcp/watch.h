/* SPDX-License-Identifier: ISC */
#ifndef MCP_WATCH_H
#define MCP_WATCH_H

/* A watch searches the output of a task for a text (W3), and for new output
 * (W2). The terminal echoes typed lines, and a line editor may draw them again.
 * This echo counts neither as the text nor as new output. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/text.h"
#include "output/output.h"
#include "session/job.h"

/* The state of the search in one output stream */
struct watched_stream {
	struct output_cursor read;  /* end of the output that was searched */
	size_t text_matched;   /* number of bytes at the start of `text` that
	                        * the output ends with */
	size_t echo_matched;   /* number of bytes at the start of
	                        * `echo_pattern` that the output ends with */
	bool echo_complete;    /* whether the current line contains the complete
	                        * `echo_pattern` */
	struct buf printed;    /* the last output, kept only if something was
	                        * typed */
};

/* The state of a watch. Other modules may read `seen_at`, `new_output` and
 * `printed_at`. */
struct watch {
	int64_t seen_at;     /* time at which the text was printed, in ms; 0
	                      * until then */
	int64_t printed_at;  /* time of the last output, in ms; 0 if there was
	                      * none */
	bool new_output;     /* there was output other than echo and white
	                      * space */

	struct pattern text;   /* the text to search for; empty if only new
	                        * output counts */
	struct pattern echo_pattern;  /* the typed line whose echo is
	                               * expected */
	bool expects_echo;     /* whether an echo of that line is expected */
	struct buf input;      /* the start of the typed input */
	size_t next_line;      /* offset in `input` of the line after the
	                        * expected one */
	bool redraw;           /* a line editor may draw the first typed line
	                        * again */
	int redrawn;           /* number of typed lines that were drawn again */
	struct watched_stream out, err;
};

/* Sets up a zeroed watch for the text. The caller keeps ownership of the text.
 * Returns false if memory is short; the text is then never found. */
bool watch_open(struct watch *, const struct buf *text);
void watch_free(struct watch *);
/* Starts to search after the output that the last result has shown. */
void watch_start(struct watch *, const struct job *);
/* Searches the output that was printed since the last call. `now` is the time
 * in ms. */
void watch_read(struct watch *, const struct job *, int64_t now);
/* Forgets the output so far, because input is going to be typed and earlier
 * output is not a response to it. */
void watch_restart(struct watch *);
/* Records the input that was typed into the job's terminal, and the mode of the
 * terminal at that time. */
void watch_typed(struct watch *, struct job *, const struct buf *input,
                 enum terminal_mode);
/* Returns whether the terminal has shown the typed line and nothing else. */
bool watch_has_only_echo(const struct watch *);

#endif
