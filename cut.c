/* Needs nothing of the system but C99. */

#include "cut.h"

#include "buf.h"
#include "limits.h"

static const struct cut cuts[] = {
	[TRUNCATE_HEAD] = { HEAD_FIRST, { HEAD_FIRST, CUT_ALL, CUT_ALL },
		{ HEAD_LAST, CUT_ALL, CUT_ALL }, 5, 50 },
	[TRUNCATE_TAIL] = { CUT_ALL, { 0, 0, 0 },
		{ CUT_ALL, TAIL_BYTES, TAIL_LINES }, 0, 0 },
	[TRUNCATE_BOTH] = { BOTH_FIRST + BOTH_LAST,
		{ BOTH_FIRST, CUT_ALL, CUT_ALL },
		{ BOTH_LAST, CUT_ALL, CUT_ALL }, 2, 100 },
	[TRUNCATE_LOOK] = { LOOK_LAST, { 0, 0, 0 },
		{ LOOK_LAST, CUT_ALL, CUT_ALL }, 0, 0 }
}, no_text = { BINARY_FIRST, { BINARY_FIRST, CUT_ALL, CUT_ALL },
	{ 0, 0, 0 }, 6, 0 };

struct cut
cut_choose(enum truncate how, int64_t limit, bool binary)
{
	struct cut cut = binary ? no_text : cuts[how];

	if (limit > 0 && (limit < cut.all || !binary)) {
		cut.all = limit;
		cut.last.chars = limit * (6 - cut.sixths) / 6;
		cut.first.chars = limit - cut.last.chars;
		cut.last.bytes = cut.last.lines = CUT_ALL;
	}
	return cut;
}

bool
cut_is_over(const struct cut *cut, int64_t chars, int64_t bytes, int64_t lines)
{
	return chars > cut->all || bytes > cut->last.bytes ||
	    lines > cut->last.lines;
}

struct part
cut_start(const unsigned char *text, size_t len, const struct part *most)
{
	struct part s = { 0, 0, 0 };
	size_t i = 0;

	while (i < len && s.chars < most->chars && s.lines < most->lines) {
		s.bytes = (int64_t)i;
		while (++i < len && utf8_continues(text[i]))
			;
		if ((int64_t)i > most->bytes)
			return s;
		s.chars++;
		s.lines += text[i - 1] == '\n';
	}
	s.bytes = (int64_t)i;
	return s;
}

struct part
cut_end(const unsigned char *text, size_t from, size_t to,
        const struct cut *cut)
{
	const struct part *most = &cut->last;
	struct part e = { 0, 0, 0 }, whole = e;
	size_t i = to;

	while (i > from && e.lines < most->lines && e.chars < most->chars) {
		if (utf8_continues(text[--i]))
			continue;
		if ((int64_t)(to - i) > most->bytes)
			break;
		e.bytes = (int64_t)(to - i);
		e.chars++;
		if (i == 0 || text[i - 1] == '\n') {
			e.lines++;
			whole = e;
		}
	}
	return (size_t)e.bytes == to - from ||
	    whole.chars * 100 <= e.chars * cut->whole ? e : whole;
}

void
cut_share(int64_t room, int sixths, int64_t *first, int64_t *last)
{
	int64_t part;

	if (room < 6)
		room = 6;  /* start and end stand always */
	part = room * sixths / 6;
	*first = *first < part ? *first : part;
	*last = *last < room - part ? *last : room - part;
}

