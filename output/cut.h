/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_CUT_H
#define OUTPUT_CUT_H

/* Decides which parts of a long text a result shows: the start, the end, or
 * both (O3, O4, O8, O9, T3, K3). A text within the limits is shown completely.
 * All texts are UTF-8, and no character is split. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/options.h"

enum { CUT_UNLIMITED = INT32_MAX };

/* The size of a text, or a limit on that size */
struct extent {
	int64_t chars, bytes, lines;
};

/* The limits that a tool call sets for the output in its result */
struct output_bounds {
	enum truncate mode;   /* the argument `truncate`, or its default */
	int64_t limit;        /* maximum length in characters (O8), or 0 for the
	                       * default of the truncation mode */
	int64_t bytes;        /* maximum length in bytes, including the line
	                       * that reports the truncation (K3), or 0 for no
	                       * limit */
	int64_t lines;        /* maximum number of lines, including the line
	                       * that reports the truncation (K3), or 0 for no
	                       * limit */
};

/* The parts of a long text that a result shows */
enum cut_parts {
	CUT_END,              /* only the end (truncation mode "tail") */
	CUT_START,            /* only the start (for binary output) */
	CUT_START_MOSTLY,     /* start and end; the start gets 5/6 of the limit
	                       * (truncation mode "head") */
	CUT_END_MOSTLY        /* start and end; the end gets 2/3 of the limit
	                       * (truncation mode "both") */
};

/* How to cut a text */
struct cut {
	enum cut_parts parts;
	struct extent whole;  /* maximum size of a text that is shown
	                       * completely */
	struct extent start;  /* maximum size of the start of a truncated
	                       * text */
	struct extent end;    /* maximum size of the end of a truncated text */
	int line_percent;     /* The shown end of a text starts at a line
	                       * boundary if more than this percentage of its
	                       * characters remains; 100: never */
};

/* Chooses how to truncate the output of a tool call. `binary` means that the
 * output is not text (O9). `notice` is the maximum length of the line that
 * reports the truncation, in bytes. */
struct cut cut_choose(const struct options *, const struct output_bounds *,
                      bool binary, int64_t notice);

/* Returns whether a text of this size must be truncated. */
bool cut_is_needed(const struct cut *, const struct extent *text);

/* Returns the size of the longest prefix of the text, which has `len` bytes,
 * that is within the limit. */
struct extent cut_start(const char *text, size_t len,
                        const struct extent *limit);

/* Returns the size of the longest suffix of text[from] to text[to - 1] that is
 * within the limit. A suffix that is only a part of one line counts as 0 lines.
 * For the percentage, see line_percent in struct cut. */
struct extent cut_end(const char *text, size_t from, size_t to,
                      const struct extent *limit, int line_percent);

#endif
