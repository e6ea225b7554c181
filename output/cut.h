#ifndef OUTPUT_CUT_H
#define OUTPUT_CUT_H

/* Which part of a long text is shown (O3, O4, O8, O9, T3, K3). Texts are UTF-8.
 * A text that fits is shown whole; of a longer one its start, its end or both
 * are shown. output.c writes the line that says so. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/options.h"

enum { CUT_UNLIMITED = INT32_MAX };

/* A size of a text, or a limit for one */
struct extent {
	int64_t chars, bytes, lines;
};

/* What the caller asks for */
struct output_bounds {
	enum truncate how;
	int64_t limit;        /* characters at most (O8); 0: as `how` has it */
	int64_t bytes, lines; /* at most, the truncation line included (K3);
	                       * 0: no limit */
};

/* Which parts of a text that is too long are shown */
enum cut_parts {
	CUT_END,              /* the end alone (tail) */
	CUT_START,            /* the start alone (binary output) */
	CUT_START_MOSTLY,     /* five sixths of a limit for the start (head) */
	CUT_END_MOSTLY        /* two thirds of a limit for the end (both) */
};

struct cut {
	enum cut_parts parts;
	struct extent whole;  /* up to this size a text is shown whole */
	struct extent start, end;  /* of a longer one, at most so much */
	int line_percent;     /* the end is shortened to start with a whole line
	                       * if more than this percentage of its characters
	                       * remains; 100: it is never shortened */
};

/* Chooses how to cut. binary: the text is not text (O9). notice: bytes that the
 * truncation line takes. */
struct cut cut_choose(const struct options *, const struct output_bounds *,
                      bool binary, int64_t notice);
/* Is a text of this size too long to be shown whole? */
bool cut_is_needed(const struct cut *, const struct extent *text);

/* Returns the size of the longest start of a text of `len` bytes that stays
 * within the limits. */
struct extent cut_start(const char *text, size_t len,
                        const struct extent *most);
/* Returns the size of the longest end of the bytes `from` to `to` of a text
 * that stays within the limits. Its lines are 0 if it is a part of one line. */
struct extent cut_end(const char *text, size_t from, size_t to,
                      const struct extent *most, int line_percent);

#endif
