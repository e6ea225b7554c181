/* SPDX-License-Identifier: ISC */
#ifndef MCP_WATCH_H
#define MCP_WATCH_H

/* A watch searches the output of a task for a text (W3) or for new output (W2).
 * It ignores the echo: typed lines that the terminal shows, or that a line
 * editor draws again. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/text.h"
#include "output/output.h"
#include "session/job.h"

/* The state of the search in one output stream */
struct watched_stream {
	struct output_cursor read;  /* position up to which the output was
	                             * searched */
	size_t text_matched;   /* number of bytes at the end of the output that
	                        * match the start of `text` */
	size_t echo_matched;   /* number of bytes at the end of the output that
	                        * match the start of `echo_pattern` */
	bool echo_complete;    /* whether the current line contains the complete
	                        * `echo_pattern` */
	struct buf printed;    /* the most recent output; empty until input is
	                        * typed */
};

/* A watch. Other modules may only read `seen_at`, `new_output` and
 * `printed_at`. */
struct watch {
	int64_t seen_at;     /* time at which the text was printed, in ms; 0
	                      * until then */
	int64_t printed_at;  /* time of the most recent output, in ms; 0 if
	                      * none */
	bool new_output;     /* the task printed something other than echo and
	                      * white space */

	struct pattern text;   /* the text to search for; empty when waiting for
	                        * any new output */
	struct pattern echo_pattern;  /* the typed line whose echo is
	                               * expected */
	bool expects_echo;     /* whether an echo of that line is expected */
	struct buf input;      /* the start of the typed input */
	size_t next_line;      /* offset in `input` of the line after the
	                        * expected one */
	bool redraw;           /* a line editor may draw the first typed line
	                        * again */
	int redrawn;           /* number of redrawn lines found so far */
	struct watched_stream out, err;
};

/* Prepares a zeroed watch to search for the text, which must outlive the watch.
 * If memory is short, returns false, and the text is never found. */
bool watch_open(struct watch *, const struct buf *text);
void watch_free(struct watch *);
/* Starts the search at the first output that no result has shown. */
void watch_start(struct watch *, const struct job *);
/* Searches the output printed since the last call. `now` is in ms. */
void watch_read(struct watch *, const struct job *, int64_t now);
/* Ignores all output until now, because it cannot be a response to the input
 * that is typed next. */
void watch_restart(struct watch *);
/* Records the input that was typed into the job's terminal, and the mode of the
 * terminal at that time. */
void watch_typed(struct watch *, struct job *, const struct buf *input,
                 enum terminal_mode);
/* Returns whether the terminal has shown only the echo of the typed line. */
bool watch_has_only_echo(const struct watch *);

#endif
