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
	CUT_END,              /* end only; truncation modes "tail" and
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
	struct extent start;  /* maximum size of the start that is shown of
	                       * output larger than `whole` */
	struct extent end;    /* maximum size of the end that is shown of output
	                       * larger than `whole` */
	int line_percent;     /* An incomplete line at the beginning of the
	                       * shown end is omitted if more than this
	                       * percentage of the end's characters remain. At
	                       * 100, such a line is never omitted. */
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
 * within `limit`. If not all of the text is within `limit` and the suffix
 * begins with an incomplete line, omits this line if more than `line_percent`
 * percent of the suffix's characters remain. Only lines that start within the
 * suffix are counted. */
struct extent cut_end(const char *text, size_t from, size_t to,
                      const struct extent *limit, int line_percent);

#endif
