/* Needs nothing of the system but C99. */

#include "output/cut.h"

#include "base/text.h"

enum {
	BYTES_MIN = 60,     /* that a bound leaves for the text */
	LINES_MIN = 6
};

static const struct extent unlimited = {
	CUT_UNLIMITED, CUT_UNLIMITED, CUT_UNLIMITED
};

struct extent
cut_start(const char *text, size_t len, const struct extent *most)
{
	const unsigned char *p = (const unsigned char *)text;
	struct extent e = { 0, 0, 0 };
	size_t at = 0, n;

	while (at < len && e.chars < most->chars && e.lines < most->lines) {
		n = (size_t)utf8_length(p + at, len - at);
		if ((int64_t)(at + n) > most->bytes)
			break;
		at += n;
		e.chars++;
		e.lines += text[at - 1] == '\n';
	}
	e.bytes = (int64_t)at;
	return e;
}

struct extent
cut_end(const char *text, size_t from, size_t to, const struct extent *most,
        int line_percent)
{
	const unsigned char *p = (const unsigned char *)text;
	struct extent e = { 0, 0, 0 }, lines = e;
	size_t i = to;

	while (i > from && e.lines < most->lines && e.chars < most->chars) {
		i--;
		if (utf8_continues(p[i]))
			continue;
		if ((int64_t)(to - i) > most->bytes)
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
lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns the part of a limit that the end gets. */
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

/* Limits one dimension of a cut. most: of the whole text; 0: no limit. room:
 * what start and end share if the text is longer. */
static void
limit_dimension(enum cut_parts parts, int64_t most, int64_t room,
                int64_t *whole, int64_t *start, int64_t *end)
{
	int64_t share = share_of_end(parts, room);

	if (most <= 0)
		return;
	*whole = lesser(*whole, most);
	*start = lesser(*start, room - share);
	*end = lesser(*end, share);
}

/* Sets the parts and the limits of `how`, without a limit of the call's. */
static void
choose_parts(struct cut *cut, const struct options *o, enum truncate how)
{
	switch (how) {
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
cut_choose(const struct options *o, const struct output_bounds *most,
           bool binary, int64_t notice)
{
	struct cut cut = { CUT_END, unlimited, unlimited, unlimited, 0 };
	int64_t limit = most->limit > 0 ? most->limit : CUT_UNLIMITED;
	int64_t bytes = most->bytes - notice, lines = most->lines - 1;

	if (binary) {
		cut.parts = CUT_START;
		limit = lesser(limit, o->binary_first);
	} else {
		choose_parts(&cut, o, most->how);
	}
	if (!binary && most->how == TRUNCATE_RECENT)
		limit = lesser(limit, o->recent_last);
	if (limit < CUT_UNLIMITED) {
		cut.whole = cut.start = cut.end = unlimited;
		limit_dimension(cut.parts, limit, limit, &cut.whole.chars,
		    &cut.start.chars, &cut.end.chars);
	}
	if (bytes < BYTES_MIN)
		bytes = BYTES_MIN;
	if (lines < LINES_MIN)
		lines = LINES_MIN;
	limit_dimension(cut.parts, most->bytes, bytes, &cut.whole.bytes,
	    &cut.start.bytes, &cut.end.bytes);
	limit_dimension(cut.parts, most->lines, lines, &cut.whole.lines,
	    &cut.start.lines, &cut.end.lines);
	return cut;
}
