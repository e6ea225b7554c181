/* SPDX-License-Identifier: ISC */
/* A watch compares the output with two patterns at once: the text to search
 * for, and the typed line whose echo is expected next. A match of the text is
 * ignored if it is a part of an echo, of which there are two kinds (W5):
 *
 * - The terminal shows each line as it is typed. expect_line() makes the next
 *   typed line the pattern, and a match within it is ignored.
 * - A line editor draws a line again, after its prompt. skip_redrawn() compares
 *   the output before a match with all lines that were typed into the task.
 *
 * For example, a call waits for the text "done" and types "make; echo done"
 * while the program is busy:
 *
 *	make; echo done      echo of the kernel: "done" is ignored, because it
 *	                     is a part of the expected line
 *	$ make; echo done    drawn by readline: "done" is ignored, because
 *	                     "make; echo ", the output before it, is also the
 *	                     start of a typed line
 *	done                 output of the command: the text is found */
#define _POSIX_C_SOURCE 200809L

#include "mcp/watch.h"

#include <string.h>

enum {
	ECHO_MAX = 4096,     /* maximum size of typed input whose echo is
	                      * recognised, in bytes */
	ECHO_MARGIN = 100,   /* minimum length of a line that the terminal may
	                      * wrap or scroll, in bytes */
	REDRAWN_MAX = 100,   /* maximum number of redrawn lines recognised as
	                      * echo */
	PRINTED_KEPT = 8192  /* size of the recent output kept to recognise
	                      * redrawn lines, in bytes */
};

bool
watch_open(struct watch *w, const struct buf *text)
{
	return pattern_open(&w->text, text->data, text->len);
}

void
watch_free(struct watch *w)
{
	pattern_free(&w->text);
	pattern_free(&w->echo_pattern);
	buf_free(&w->input);
	buf_free(&w->out.printed);
	buf_free(&w->err.printed);
}

void
watch_start(struct watch *w, const struct job *job)
{
	w->out.read = job->out.seen;
	w->err.read = job->err.seen;
}

/* -- The echo of typed lines --------------------------------------------- */

/* Prepares to recognise the echo of the next typed line. */
static void
expect_line(struct watch *w)
{
	size_t begin = w->next_line, end = begin;

	pattern_free(&w->echo_pattern);
	while (end < w->input.len && w->input.data[end] != '\n' &&
	    w->input.data[end] != '\r')
		end++;
	w->next_line = end + 1;
	/* If memory is short, treat the echo as new output. */
	w->expects_echo = begin < w->input.len &&
	    pattern_open(&w->echo_pattern, w->input.data + begin, end - begin);
}

/* Appends the input to `typed` as the terminal echoes it: a control character
 * ends a line, and control sequences, such as those of a bracketed paste, are
 * left out. Keeps only the last ECHO_MAX bytes. */
static void
record_typed(struct buf *typed, const struct buf *input)
{
	size_t i = input->len > ECHO_MAX ? input->len - ECHO_MAX : 0;
	unsigned char c;

	for (; i < input->len; i++) {
		c = (unsigned char)input->data[i];
		if (c == 0x1b && i + 1 < input->len &&
		    input->data[i + 1] == '[') {
			i += 2;
			while (i < input->len && input->data[i] < '@')
				i++;
		} else {
			buf_putc(typed, c < ' ' || c == 0x7f ? '\n' : (char)c);
		}
	}
	buf_keep_end(typed, ECHO_MAX);
}

void
watch_restart(struct watch *w)
{
	w->printed_at = 0;
	w->seen_at = 0;
	w->new_output = false;
	/* Input is only typed into terminals, which have no separate stderr. */
	w->out.text_matched = 0;
	w->out.echo_matched = 0;
	w->out.echo_complete = false;
}

void
watch_typed(struct watch *w, struct job *job, const struct buf *input,
            enum terminal_mode mode)
{
	size_t kept = input->len < ECHO_MAX ? input->len : ECHO_MAX;

	buf_put(&w->input, input->data, kept);
	if (mode != TERMINAL_UNSEEN) {
		record_typed(&job->typed, input);
		expect_line(w);
	}
	w->redraw = mode == TERMINAL_LINES;
}

bool
watch_has_only_echo(const struct watch *w)
{
	return w->expects_echo && !w->new_output &&
	    w->out.echo_matched == w->echo_pattern.len;
}

/* -- Typed lines that are drawn again ------------------------------------ */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Returns the index of the first of the blanks that directly precede text[i].
 * Searches no further than text[begin]. */
static size_t
skip_blanks_back(const char *text, size_t i, size_t begin)
{
	while (i > begin && is_blank(text[i - 1]))
		i--;
	return i;
}

/* Returns the index of the start of the line that contains lines[i]. */
static size_t
line_start(const struct buf *lines, size_t i)
{
	while (i > 0 && lines->data[i - 1] != '\n')
		i--;
	return i;
}

/* Returns the index of the end of the line that contains lines[i]. */
static size_t
line_end(const struct buf *lines, size_t i)
{
	while (i < lines->len && lines->data[i] != '\n')
		i++;
	return i;
}

/* Returns whether the line contains only '<' before printed[i]. readline shows
 * '<' instead of the start of a long line. */
static bool
is_scrolled_line(const char *printed, size_t i)
{
	if (i == 0 || printed[i - 1] != '<')
		return false;
	return i == 1 || printed[i - 2] == '\n';
}

/* Returns whether the output before printed[i] ends with the same text as the
 * typed line before typed_lines[at], which is not blank. Ignores blanks,
 * because a terminal does not show blanks at the end of a line. */
static bool
shows_start(const struct buf *typed_lines, size_t at, const char *printed,
            size_t i)
{
	const char *typed = typed_lines->data;
	size_t begin = line_start(typed_lines, at), same = 0;
	bool is_long = line_end(typed_lines, at) - begin > ECHO_MARGIN;

	for (;;) {
		at = skip_blanks_back(typed, at, begin);
		if (at == begin || same == ECHO_MARGIN)
			return true;
		i = skip_blanks_back(printed, i, 0);
		/* The terminal may break a long line at its margin. */
		if (is_long && i > 0 && printed[i - 1] == '\n')
			i = skip_blanks_back(printed, i - 1, 0);
		if (i == 0 || printed[i - 1] != typed[at - 1])
			break;
		i--;
		at--;
		same++;
	}
	return is_long && same > 0 && is_scrolled_line(printed, i);
}

/* Returns whether other output, such as a prompt, precedes printed[i] in the
 * same line. */
static bool
follows_prompt(const char *printed, size_t i)
{
	i = skip_blanks_back(printed, i, 0);
	return i > 0 && printed[i - 1] != '\n';
}

/* Returns whether a typed line begins with typed_lines[at], not counting
 * blanks. */
static bool
begins_line(const struct buf *typed_lines, size_t at)
{
	size_t begin = line_start(typed_lines, at);

	return skip_blanks_back(typed_lines->data, at, begin) == begin;
}

/* Returns whether the match at the end of s->printed is part of a typed line
 * that a line editor has drawn again. The kernel echoes input typed while a
 * program is busy, and the line editor draws the line again after its
 * prompt. */
static bool
skip_redrawn(struct watch *w, const struct watched_stream *s,
             const struct buf *typed_lines)
{
	size_t match, at;

	if (w->redrawn == REDRAWN_MAX || s->printed.len < w->text.len)
		return false;
	match = s->printed.len - w->text.len;
	for (at = 0; at + w->text.len <= typed_lines->len; at++) {
		if (memcmp(typed_lines->data + at, w->text.bytes,
		    w->text.len) != 0)
			continue;
		if (!begins_line(typed_lines, at)) {
			if (!shows_start(typed_lines, at, s->printed.data,
			    match))
				continue;
			w->redrawn++;
			return true;
		}
		/* The match is at the start of the typed line, so only a prompt
		 * before it shows that the line is redrawn. */
		if (w->redraw && follows_prompt(s->printed.data, match)) {
			w->redraw = false;
			return true;
		}
	}
	return false;
}

/* -- Searching ------------------------------------------------------------ */

/* Appends output to s->printed, and keeps only the last part. */
static void
keep_printed(struct watched_stream *s, const char *bytes, size_t n)
{
	if (n > PRINTED_KEPT) {
		bytes += n - PRINTED_KEPT;
		n = PRINTED_KEPT;
	}
	buf_put(&s->printed, bytes, n);
	if (s->printed.len > 2 * PRINTED_KEPT)
		buf_keep_end(&s->printed, PRINTED_KEPT);
}

/* Removes the unfinished last line from s->printed, because the caller reads
 * this line again. */
static void
forget_line(struct watched_stream *s)
{
	struct buf *b = &s->printed;

	s->text_matched = 0;
	s->echo_matched = 0;
	s->echo_complete = false;
	while (b->len > 0 && b->data[b->len - 1] != '\n')
		b->len--;
}

/* Returns whether a newline only wraps the echo of a long line at the
 * terminal's margin. */
static bool
is_within_echo(const struct watch *w, const struct watched_stream *s)
{
	return w->expects_echo && s->echo_matched >= ECHO_MARGIN &&
	    !s->echo_complete;
}

/* Returns whether the output ends with the text that the call waits for, and
 * this text is not part of an echo. */
static bool
is_matched(const struct watch *w, const struct watched_stream *s)
{
	bool is_complete = s->text_matched == w->text.len && w->text.len > 0;

	return is_complete && s->echo_matched < s->text_matched;
}

/* Compares the next byte of the output with the text and with the expected
 * echo. */
static void
match_byte(struct watch *w, struct watched_stream *s, char c)
{
	s->text_matched = pattern_step(&w->text, s->text_matched, c);
	if (w->expects_echo)
		s->echo_matched = pattern_step(&w->echo_pattern,
		    s->echo_matched, c);
	if (s->echo_matched > 0 && s->echo_matched == w->echo_pattern.len)
		s->echo_complete = true;
	if (s->echo_matched == 0 && (unsigned char)c > ' ')
		w->new_output = true;
}

/* Handles the end of a line of output. If this line was an echo, prepares to
 * recognise the echo of the next typed line. */
static void
end_line(struct watch *w, struct watched_stream *s)
{
	if (w->expects_echo && (s->echo_complete || w->echo_pattern.len == 0))
		expect_line(w);
	else
		w->expects_echo = false;
	s->echo_matched = 0;
	s->echo_complete = false;
}

/* Searches new output for the text. `typed_lines` contains the lines that were
 * typed into the task. */
static void
search_bytes(struct watch *w, struct watched_stream *s,
             const struct buf *typed_lines, const char *bytes, size_t n,
             int64_t now)
{
	const char *end = bytes + n, *unkept = bytes;

	for (; bytes < end; bytes++) {
		if (*bytes == '\n' && is_within_echo(w, s))
			continue;
		match_byte(w, s, *bytes);
		if (w->seen_at == 0 && is_matched(w, s)) {
			keep_printed(s, unkept, (size_t)(bytes + 1 - unkept));
			unkept = bytes + 1;
			if (!skip_redrawn(w, s, typed_lines))
				w->seen_at = now;
		}
		if (*bytes == '\n')
			end_line(w, s);
	}
	if (w->text.len > 0 && typed_lines->len > 0)
		keep_printed(s, unkept, (size_t)(end - unkept));
}

static void
search_stream(struct watch *w, struct watched_stream *s,
              struct output *printed, const struct buf *typed_lines,
              int64_t now)
{
	const char *bytes;
	size_t n;

	while (output_has_new(printed, &s->read)) {
		if (output_has_break(printed, &s->read))
			forget_line(s);
		n = output_read(printed, &s->read, &bytes);
		w->printed_at = now;
		search_bytes(w, s, typed_lines, bytes, n, now);
	}
}

void
watch_read(struct watch *w, const struct job *job, int64_t now)
{
	if (job->out.text == NULL)
		return;
	search_stream(w, &w->out, job->out.text, &job->typed, now);
	search_stream(w, &w->err, job->err.text, &job->typed, now);
}
