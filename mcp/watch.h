/* SPDX-License-Identifier: ISC */
#ifndef MCP_WATCH_H
#define MCP_WATCH_H

/* A watch searches a task's output for the awaited text, which is the argument
 * `until` (W3), or for any new output (W2). It ignores the echo, which is typed
 * text that appears in the output. The terminal echoes a line when it is typed,
 * and a line editor may redraw the line later. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/text.h"
#include "output/output.h"
#include "session/job.h"

/* State of a search in one output stream */
struct watched_stream {
	struct output_cursor read;  /* position up to which the output has been
	                             * searched */
	size_t text_matched;   /* number of trailing output bytes that match the
	                        * start of `text` */
	size_t echo_matched;   /* number of trailing output bytes that match the
	                        * start of `echo_pattern` */
	bool echo_complete;    /* true if the current line contains the complete
	                        * `echo_pattern` */
	struct buf printed;    /* most recent output, kept to recognise redrawn
	                        * lines */
};

/* State of a search of a task's output. Other modules may only read the members
 * `seen_at`, `new_output` and `printed_at`. */
struct watch {
	int64_t seen_at;     /* time at which the awaited text was printed, in
	                      * ms; 0 until then */
	int64_t printed_at;  /* time of the most recent output, in ms; 0 if
	                      * there was none */
	bool new_output;     /* true if the task has printed anything except
	                      * echo and white space */

	struct pattern text;   /* the awaited text; empty when waiting for any
	                        * new output */
	struct pattern echo_pattern;  /* the typed line that the terminal is
	                               * expected to echo next */
	bool expects_echo;     /* true if the echo of `echo_pattern` is
	                        * expected */
	struct buf input;      /* the start of the typed input */
	size_t next_line;      /* offset in `input` of the line after the one in
	                        * `echo_pattern` */
	bool redraw;           /* true if a line editor may yet redraw the first
	                        * typed line */
	int redrawn;           /* number of matches ignored so far because they
	                        * were part of a redrawn line */
	struct watched_stream out, err;
};

/* Prepares a zeroed watch to search for the awaited text, which must stay valid
 * until watch_free(). With an empty text, the watch only notes new output.
 * Returns false if allocation fails; the watch then never finds the text. */
bool watch_open(struct watch *, const struct buf *text);
void watch_free(struct watch *);
/* Starts the search at the first output that has not yet appeared in a
 * result. */
void watch_start(struct watch *, const struct job *);
/* Reads the output printed since the previous call to this function, and
 * searches it for the awaited text and for any new output. `now` is the current
 * time, in ms. */
void watch_read(struct watch *, const struct job *, int64_t now);
/* Ignores all output so far, because it cannot be a response to the input that
 * is typed next. */
void watch_restart(struct watch *);
/* Records input typed into the job's terminal, and the terminal's mode at that
 * time. */
void watch_typed(struct watch *, struct job *, const struct buf *input,
                 enum terminal_mode);
/* Returns whether a line was typed and the only output since then, apart from
 * white space, is the complete echo of this line. */
bool watch_has_only_echo(const struct watch *);

#endif
