/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_CUT_H
#define OUTPUT_CUT_H

/* Decides which parts of a long text a result shows: the start, the end, or
 * both (O3, O4, O8, O9, T3, K3). A text within the limits is shown in full.
 * Otherwise, the truncation line in the result reports that text was omitted.
 * All texts are UTF-8, and no character is split. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/options.h"

enum { CUT_UNLIMITED = INT32_MAX };

/* The size of a text in characters, bytes and lines. A size limit gives a
 * maximum for each. */
struct extent {
	int64_t chars, bytes, lines;
};

/* Limits on the output included in the result of a tool call */
struct output_bounds {
	enum truncate mode;   /* the argument `truncate`, or its default */
	int64_t limit;        /* maximum number of characters (O8), or 0 for the
	                       * truncation mode's default */
	int64_t bytes;        /* maximum number of bytes, including the
	                       * truncation line (K3), or 0 for no limit */
	int64_t lines;        /* maximum number of lines, including the
	                       * truncation line (K3), or 0 for no limit */
};

/* Which parts of a long text are shown in a result */
enum cut_parts {
	CUT_END,              /* end only; truncation mode "tail" or
	                       * TRUNCATE_RECENT */
	CUT_START,            /* start only; binary output */
	CUT_START_MOSTLY,     /* start (5/6 of the size limit) and end (1/6);
	                       * truncation mode "head" */
	CUT_END_MOSTLY        /* start (1/3 of the size limit) and end (2/3);
	                       * truncation mode "both" */
};

/* How to truncate a text */
struct cut {
	enum cut_parts parts;
	struct extent whole;  /* maximum size of output shown in full */
	struct extent start;  /* maximum size of the shown start of output that
	                       * exceeds `whole` */
	struct extent end;    /* maximum size of the shown end of output that
	                       * exceeds `whole` */
	int line_percent;     /* The shown end starts at a line boundary if that
	                       * leaves more than this percentage of its
	                       * characters. 100 means never. */
};

/* Chooses how to truncate the output of a tool call. `binary` is true for
 * binary output (O9). `notice` is the maximum length of the truncation line, in
 * bytes. */
struct cut cut_choose(const struct options *, const struct output_bounds *,
                      bool binary, int64_t notice);

/* Returns whether text of this size must be truncated. */
bool cut_is_needed(const struct cut *, const struct extent *text);

/* Returns the size of the longest prefix of the len-byte text that is within
 * `limit`. */
struct extent cut_start(const char *text, size_t len,
                        const struct extent *limit);

/* Returns the size of the longest suffix of text[from] to text[to - 1] that is
 * within `limit`. Drops an incomplete first line from this suffix if more than
 * `line_percent` percent of the characters remain. A line counts only if it
 * starts within the suffix. */
struct extent cut_end(const char *text, size_t from, size_t to,
                      const struct extent *limit, int line_percent);

#endif
