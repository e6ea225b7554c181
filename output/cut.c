/* SPDX-License-Identifier: ISC */
/* Requires only C99.
 *
 * The truncation rules:
 *
 * Each truncation mode has its own limits: characters for "head" and "both",
 * bytes and lines for "tail". A limit in characters that the caller sets
 * replaces these limits. Limits in bytes and lines that the caller sets apply
 * in addition, and include the truncation line.
 *
 * A text that is longer than `whole` is cut:
 *
 *	head    start (5/6 of the limit)  [truncation line]  end (1/6)
 *	both    start (1/3 of the limit)  [truncation line]  end (2/3)
 *	tail    end  [truncation line]
 *	binary  start  [truncation line]
 *
 * The end starts at a line boundary for "tail" if a complete line fits, for
 * "head" if that keeps more than half of its characters, and never for "both".
 * output.c writes the truncation line. */

#include "output/cut.h"

#include "base/text.h"

enum {
	BYTES_MIN = 60,     /* lowest limit on the shown text in bytes, not
	                     * counting the truncation line; lower limits are
	                     * raised to this value */
	LINES_MIN = 6       /* lowest limit on the shown text in lines, not
	                     * counting the truncation line; lower limits are
	                     * raised to this value */
};

static const struct extent unlimited = {
	CUT_UNLIMITED, CUT_UNLIMITED, CUT_UNLIMITED
};

struct extent
cut_start(const char *text, size_t len, const struct extent *limit)
{
	const unsigned char *p = (const unsigned char *)text;
	struct extent e = { 0, 0, 0 };
	size_t at = 0, n;

	while (at < len && e.chars < limit->chars && e.lines < limit->lines) {
		n = (size_t)utf8_length(p + at, len - at);
		if ((int64_t)(at + n) > limit->bytes)
			break;
		at += n;
		e.chars++;
		e.lines += text[at - 1] == '\n';
	}
	e.bytes = (int64_t)at;
	return e;
}

struct extent
cut_end(const char *text, size_t from, size_t to, const struct extent *limit,
        int line_percent)
{
	const unsigned char *p = (const unsigned char *)text;
	struct extent e = { 0, 0, 0 }, lines = e;
	size_t i = to;

	while (i > from && e.lines < limit->lines && e.chars < limit->chars) {
		i--;
		if (utf8_continues(p[i]))
			continue;
		if ((int64_t)(to - i) > limit->bytes)
			break;
		e.bytes = (int64_t)(to - i);
		e.chars++;
		if (i == 0 || text[i - 1] == '\n') {
			e.lines++;
			lines = e;
		}
	}
	if ((size_t)e.bytes == to - from)
		return e;
	return lines.chars * 100 <= e.chars * line_percent ? e : lines;
}

bool
cut_is_needed(const struct cut *cut, const struct extent *text)
{
	return text->chars > cut->whole.chars ||
	    text->bytes > cut->whole.bytes || text->lines > cut->whole.lines;
}

static int64_t
min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns how much of the size limit is reserved for the end of truncated
 * text. */
static int64_t
share_of_end(enum cut_parts parts, int64_t limit)
{
	switch (parts) {
	case CUT_START:
		return 0;
	case CUT_START_MOSTLY:
		return limit / 6;
	case CUT_END_MOSTLY:
		return limit * 4 / 6;
	default:
		return limit;
	}
}

/* Lowers the three size limits in one unit (characters, bytes or lines). *whole
 * limits text that is shown in full, and is lowered to at most `max`. *start
 * and *end limit the two parts shown of a longer text, and are lowered to at
 * most `parts_max` in total. Changes nothing if `max` is 0. */
static void
limit_dimension(enum cut_parts parts, int64_t max, int64_t parts_max,
                int64_t *whole, int64_t *start, int64_t *end)
{
	int64_t share = share_of_end(parts, parts_max);

	if (max <= 0)
		return;
	*whole = min(*whole, max);
	*start = min(*start, parts_max - share);
	*end = min(*end, share);
}

/* Determines, from the truncation mode and the options, which parts of a long
 * text to show and their size limits. */
static void
choose_parts(struct cut *cut, const struct options *o, enum truncate mode)
{
	switch (mode) {
	case TRUNCATE_HEAD:
		cut->parts = CUT_START_MOSTLY;
		cut->whole.chars = cut->start.chars = o->head_first;
		cut->end.chars = o->head_last;
		cut->line_percent = 50;
		break;
	case TRUNCATE_BOTH:
		cut->parts = CUT_END_MOSTLY;
		cut->whole.chars = o->both_first + o->both_last;
		cut->start.chars = o->both_first;
		cut->end.chars = o->both_last;
		cut->line_percent = 100;
		break;
	default:
		cut->parts = CUT_END;
		cut->start.chars = 0;
		cut->whole.bytes = cut->end.bytes = o->tail_bytes;
		cut->whole.lines = cut->end.lines = o->tail_lines;
		break;
	}
}

struct cut
cut_choose(const struct options *o, const struct output_bounds *bounds,
           bool binary, int64_t notice)
{
	struct cut cut = { CUT_END, unlimited, unlimited, unlimited, 0 };
	int64_t limit = bounds->limit > 0 ? bounds->limit : CUT_UNLIMITED;
	int64_t bytes = bounds->bytes - notice, lines = bounds->lines - 1;

	if (binary) {
		cut.parts = CUT_START;
		limit = min(limit, o->binary_first);
	} else {
		choose_parts(&cut, o, bounds->mode);
	}
	if (!binary && bounds->mode == TRUNCATE_RECENT)
		limit = min(limit, o->recent_last);
	if (limit < CUT_UNLIMITED) {
		cut.whole = cut.start = cut.end = unlimited;
		limit_dimension(cut.parts, limit, limit, &cut.whole.chars,
		    &cut.start.chars, &cut.end.chars);
	}
	if (bytes < BYTES_MIN)
		bytes = BYTES_MIN;
	if (lines < LINES_MIN)
		lines = LINES_MIN;
	limit_dimension(cut.parts, bounds->bytes, bytes, &cut.whole.bytes,
	    &cut.start.bytes, &cut.end.bytes);
	limit_dimension(cut.parts, bounds->lines, lines, &cut.whole.lines,
	    &cut.start.lines, &cut.end.lines);
	return cut;
}
