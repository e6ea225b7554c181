/* SPDX-License-Identifier: ISC */
/* Finds `old` and replaces it according to these rules (X2):
 *
 * 1. If `old` contains an LF without a CR, it is compared without regard to
 *    line endings: a CR before an LF is skipped in both texts. Otherwise `old`
 *    must match exactly.
 * 2. If nothing was found, white space is skipped in both texts. An occurrence
 *    that is found in this way is only reported, not replaced.
 * 3. `new` replaces each occurrence, with the line endings of the text that it
 *    replaces; see append_new(). If `old` contains CRLF, `new` is written as
 *    given.
 *
 * struct search searches for `old` without the skipped bytes, and then finds
 * the start of the occurrence in the complete text. */
#define _POSIX_C_SOURCE 200809L

#include "session/substitute.h"

#include <ctype.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"

/* The current state of replace_text() */
struct replacing {
	struct replacement *r;
	bool literal;        /* `old` contains CRLF, so `new` is inserted
	                      * unchanged */
	int64_t new_lines;   /* number of newlines in `new` */
	size_t line_end;     /* offset up to which `line_has_crlf` is valid */
	bool line_has_crlf;  /* last result of line_has_crlf() */
};

/* A search for all occurrences of a string, from the start of a text to its
 * end */
struct search {
	const struct buf *text;
	enum matching matching;
	struct buf old;          /* the string to find, with the bytes that
	                          * `matching` ignores (CRs or white space)
	                          * removed */
	struct pattern pattern;  /* search pattern for `old` */
	size_t from;             /* offset in `text` at which to resume the
	                          * search */
};

/* A range of a text, from the offset `start` up to but not including the offset
 * `end` */
struct range {
	size_t start, end;
};

/* Returns whether the byte at the offset `at` is ignored in comparisons. */
static bool
is_skipped(const struct buf *text, size_t at, enum matching matching)
{
	const char *byte = text->data + at;

	if (matching == MATCHING_NO_SPACE)
		return isspace((unsigned char)*byte);
	if (matching == MATCHING_EXACT || at + 1 == text->len)
		return false;
	return byte[0] == '\r' && byte[1] == '\n';
}

/* Starts a search. Returns false if allocation fails; search_close() must be
 * called even then. */
static bool
search_open(struct search *s, const struct buf *text, const struct buf *old,
            enum matching matching)
{
	size_t i;

	*s = (struct search){ .text = text, .matching = matching };
	if (!buf_reserve(&s->old, old->len))
		return false;
	for (i = 0; i < old->len; i++) {
		if (!is_skipped(old, i, matching))
			buf_putc(&s->old, old->data[i]);
	}
	return pattern_open(&s->pattern, s->old.data, s->old.len);
}

static void
search_close(struct search *s)
{
	pattern_free(&s->pattern);
	buf_free(&s->old);
}

/* Returns the start offset of the occurrence of `old` that ends at the offset
 * `end` (exclusive). */
static size_t
occurrence_start(const struct search *s, size_t end)
{
	size_t start = end, left = s->pattern.len;

	while (left > 0) {
		start--;
		if (!is_skipped(s->text, start, s->matching))
			left--;
	}
	/* If the occurrence starts with the LF of a CRLF, the CR is part of the
	 * occurrence as well. */
	if (s->matching == MATCHING_ANY_ENDING && start > s->from &&
	    is_skipped(s->text, start - 1, s->matching))
		start--;
	return start;
}

/* Finds the next occurrence of `old`, and stores its range in *found. Returns
 * false if there are no more. */
static bool
search_next(struct search *s, struct range *found)
{
	const struct buf *text = s->text;
	size_t at, matched = 0;

	if (s->pattern.len == 0)
		return false;
	for (at = s->from; at < text->len; at++) {
		if (is_skipped(text, at, s->matching))
			continue;
		matched = pattern_step(&s->pattern, matched, text->data[at]);
		if (matched == s->pattern.len) {
			found->start = occurrence_start(s, at + 1);
			found->end = at + 1;
			s->from = found->end;
			return true;
		}
	}
	return false;
}

/* Returns whether the line that contains the given offset ends in CRLF. If it
 * is the last line and has no line ending, examines the line before it. The
 * result is reused for all offsets before the end of the line, so callers must
 * pass offsets in ascending order. */
static bool
line_has_crlf(struct replacing *s, size_t at)
{
	const struct buf *text = s->r->text;
	const char *lf;
	size_t end = text->len;

	if (at < s->line_end)
		return s->line_has_crlf;
	lf = memchr(text->data + at, '\n', text->len - at);
	if (lf != NULL) {
		end = (size_t)(lf - text->data) + 1;
		s->line_end = end;
	} else {
		while (end > 0 && text->data[end - 1] != '\n')
			end--;
		s->line_end = SIZE_MAX;
	}
	s->line_has_crlf = end > 1 && text->data[end - 2] == '\r';
	return s->line_has_crlf;
}

/* Appends `new` to the result in place of the given range of the text. Each
 * line of `new` gets the line ending of the line that it replaces, and any
 * additional lines get the last of these line endings (X2). append_replaced()
 * has already reserved the memory for the result. */
static void
append_new(struct replacing *s, const struct range *replaced)
{
	const struct buf *new = s->r->new, *text = s->r->text;
	const char *at = text->data + replaced->start;
	const char *end = text->data + replaced->end, *lf;
	struct buf *result = &s->r->result;
	bool crlf = false;
	size_t i;

	if (s->new_lines == 0 || s->literal) {
		buf_put(result, new->data, new->len);
		return;
	}
	if (memchr(at, '\n', (size_t)(end - at)) == NULL)
		crlf = line_has_crlf(s, replaced->end);
	for (i = 0; i < new->len; i++) {
		if (new->data[i] == '\n') {
			lf = memchr(at, '\n', (size_t)(end - at));
			if (lf != NULL) {
				crlf = lf > at && lf[-1] == '\r';
				at = lf + 1;
			}
			if (crlf && (i == 0 || new->data[i - 1] != '\r'))
				buf_putc(result, '\r');
		}
		buf_putc(result, new->data[i]);
	}
}

/* Appends to the result the original text from the offset `from` up to the
 * range `replaced`, followed by `new`. Does nothing if the result is already
 * longer than EDIT_MAX. Returns false if allocation fails. */
static bool
append_replaced(struct replacing *s, size_t from, const struct range *replaced)
{
	struct replacement *r = s->r;
	size_t before = replaced->start - from;

	if (r->result.len > EDIT_MAX)
		return true;
	/* append_new() may add a carriage return before each newline in
	 * `new`. */
	if (!buf_reserve(&r->result,
	    before + r->new->len + (size_t)s->new_lines))
		return false;
	buf_put(&r->result, r->text->data + from, before);
	append_new(s, replaced);
	return true;
}

/* Appends the remaining text, from the offset `from` just after the last
 * occurrence of `old`, to the result. Returns false if allocation fails. */
static bool
append_rest(struct replacement *r, size_t from)
{
	size_t rest = r->text->len - from;

	if (!buf_reserve(&r->result, rest))
		return false;
	buf_put(&r->result, r->text->data + from, rest);
	return true;
}

/* Returns the number of newlines to count for an occurrence of `old` when
 * numbering lines. If all occurrences are replaced, line numbers refer to the
 * new text, so this is the number of newlines in `new`. Otherwise, it is the
 * number of newlines in the occurrence. */
static int64_t
lines_in(const struct replacing *s, const struct range *occurrence)
{
	const struct replacement *r = s->r;

	if (r->all && r->matching != MATCHING_NO_SPACE)
		return s->new_lines;
	return buf_lines(r->text->data + occurrence->start,
	    occurrence->end - occurrence->start);
}

static void
count_occurrence(struct replacement *r, int64_t line)
{
	if (r->count < r->lines_max)
		r->lines[r->count] = line;
	r->count++;
}

/* Replaces all occurrences of `old` in the text from left to right. An
 * occurrence that overlaps the previous one is not replaced. Returns false if
 * allocation fails. */
static bool
replace_all(struct replacing *s, enum matching matching)
{
	struct replacement *r = s->r;
	struct search search;
	struct range found;
	int64_t line = 1;
	size_t from = 0;
	bool allocated = search_open(&search, r->text, r->old, matching);

	r->matching = matching;
	while (allocated && search_next(&search, &found)) {
		line += buf_lines(r->text->data + from, found.start - from);
		count_occurrence(r, line);
		line += lines_in(s, &found);
		allocated = append_replaced(s, from, &found);
		from = found.end;
	}
	search_close(&search);
	if (!allocated || r->count == 0)
		return allocated;
	return append_rest(r, from);
}

/* Returns the number of CRLF line endings in the text. */
static int64_t
count_crlfs(const struct buf *text)
{
	int64_t crlfs = 0;
	size_t i;

	for (i = 0; i < text->len; i++)
		crlfs += is_skipped(text, i, MATCHING_ANY_ENDING);
	return crlfs;
}

bool
replace_text(struct replacement *r)
{
	const struct buf *old = r->old;
	int64_t crlfs = count_crlfs(old);
	struct replacing s = {
		.r = r, .literal = crlfs > 0,
		.new_lines = buf_lines(r->new->data, r->new->len)
	};

	/* If `old` contains an LF without a CR, ignore differences in line
	 * endings. If that finds nothing, try an exact match, since the CRs in
	 * `old` may have been meant literally. */
	if (buf_lines(old->data, old->len) > crlfs) {
		if (!replace_all(&s, MATCHING_ANY_ENDING))
			return false;
		if (r->count > 0)
			return true;
		if (buf_has(old, '\r') && !replace_all(&s, MATCHING_EXACT))
			return false;
	} else if (!replace_all(&s, MATCHING_EXACT)) {
		return false;
	}
	if (r->count > 0)
		return true;
	return replace_all(&s, MATCHING_NO_SPACE);
}
