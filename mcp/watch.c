/* SPDX-License-Identifier: ISC */
/* A watch compares the output with two patterns at once: the awaited text, and
 * the typed line whose echo is expected next. A match of the awaited text is
 * ignored if it is part of an echo, of which there are two kinds (W5):
 *
 * - The terminal shows each line as it is typed. expect_line() makes the next
 *   typed line the pattern, and a match within it is ignored.
 * - A line editor redraws a line after its prompt. skip_redrawn() compares the
 *   output before a match with all lines that were typed into the task.
 *
 * For example, a call waits for the text "done" and types "make; echo done"
 * while the program is busy:
 *
 *	make; echo done      echo of the kernel: "done" is ignored, because it
 *	                     is a part of the expected line
 *	$ make; echo done    redrawn by readline: "done" is ignored, because
 *	                     "make; echo ", the output before it, is also the
 *	                     start of a typed line
 *	done                 output of the command: the text is found */
#define _POSIX_C_SOURCE 200809L

#include "mcp/watch.h"

#include <string.h>

enum {
	ECHO_MAX = 4096,     /* maximum number of bytes of typed input whose
	                      * echo is recognised */
	ECHO_MARGIN = 100,   /* length in bytes up to which a typed line is
	                      * assumed not to wrap or scroll */
	REDRAWN_MAX = 100,   /* maximum number of matches that are ignored
	                      * because they are part of a redrawn line */
	PRINTED_KEPT = 8192  /* number of bytes of recent output kept to
	                      * recognise redrawn lines */
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
	unread_close(&w->out.read);
	unread_close(&w->err.read);
}

void
watch_start(struct watch *w, const struct job *job)
{
	unread_copy(&w->out.read, &job->out.seen);
	unread_copy(&w->err.read, &job->err.seen);
}

/* -- The echo of typed lines --------------------------------------------- */

/* Advances to the next typed line, whose echo is then expected. After the last
 * line, no echo is expected. */
static void
expect_line(struct watch *w)
{
	size_t begin = w->next_line, end = begin;

	pattern_free(&w->echo_pattern);
	while (end < w->input.len && w->input.data[end] != '\n' &&
	    w->input.data[end] != '\r')
		end++;
	w->next_line = end + 1;
	/* If allocation of the pattern fails, do not expect an echo. Any echo
	 * is then treated as new output. */
	w->expects_echo = begin < w->input.len &&
	    pattern_open(&w->echo_pattern, w->input.data + begin, end - begin);
}

/* Appends the input to `typed` in the form in which the terminal echoes it. A
 * control character becomes a newline. A control sequence, such as that of a
 * bracketed paste, is omitted. Only the last ECHO_MAX bytes of `typed` are
 * kept. */
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
	/* Only the search in stdout needs resetting, because input can only be
	 * typed into a terminal, which has no separate stderr. */
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

/* -- Redrawn lines ------------------------------------------------------- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Skips backwards over the blanks before text[i], but not beyond text[begin].
 * Returns the index of the first of these blanks, or i if there are none. */
static size_t
skip_blanks_back(const char *text, size_t i, size_t begin)
{
	while (i > begin && is_blank(text[i - 1]))
		i--;
	return i;
}

/* Returns the index of the first byte in the line that contains byte i. */
static size_t
line_start(const struct buf *lines, size_t i)
{
	while (i > 0 && lines->data[i - 1] != '\n')
		i--;
	return i;
}

/* Returns the index of the newline at the end of the line that contains byte i,
 * or the length of the text if the line has no newline. */
static size_t
line_end(const struct buf *lines, size_t i)
{
	while (i < lines->len && lines->data[i] != '\n')
		i++;
	return i;
}

/* Returns whether '<' is the only character before printed[i] on its line.
 * readline replaces the start of a long line with '<'. */
static bool
is_scrolled_line(const char *printed, size_t i)
{
	if (i == 0 || printed[i - 1] != '<')
		return false;
	return i == 1 || printed[i - 2] == '\n';
}

/* Returns whether the output before printed[i] ends with the part of the typed
 * line that precedes typed_lines[at]. The caller must ensure that this part is
 * not blank. Blanks are ignored, because a terminal does not show blanks at the
 * end of a line. */
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
		/* The terminal may wrap a long line at the right margin. */
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

/* Returns whether other output, such as a prompt, precedes printed[i] on the
 * same line. */
static bool
follows_prompt(const char *printed, size_t i)
{
	i = skip_blanks_back(printed, i, 0);
	return i > 0 && printed[i - 1] != '\n';
}

/* Returns whether only blanks precede typed_lines[at] on its line. */
static bool
begins_line(const struct buf *typed_lines, size_t at)
{
	size_t begin = line_start(typed_lines, at);

	return skip_blanks_back(typed_lines->data, at, begin) == begin;
}

/* Returns whether the match at the end of s->printed must be ignored because it
 * is part of a typed line that a line editor has redrawn. Input typed while a
 * program is busy appears twice in the output: the kernel echoes it at once,
 * and the line editor redraws it after its next prompt. */
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
		/* The awaited text is at the start of this typed line, so there
		 * is no typed text before it to compare with the output. Only a
		 * prompt before the match indicates that the line was
		 * redrawn. */
		if (w->redraw && follows_prompt(s->printed.data, match)) {
			w->redraw = false;
			return true;
		}
	}
	return false;
}

/* -- Searching ------------------------------------------------------------ */

/* Appends output to s->printed. Keeps at least the last PRINTED_KEPT bytes, and
 * at most twice as many. */
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

/* Removes the unfinished last line from s->printed and resets all partial
 * matches, because the next output will not continue this line. */
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

/* Returns whether a newline at the current position is one that the terminal
 * adds to wrap the echo of a long typed line at the right margin. */
static bool
is_within_echo(const struct watch *w, const struct watched_stream *s)
{
	return w->expects_echo && s->echo_matched >= ECHO_MARGIN &&
	    !s->echo_complete;
}

/* Returns whether the output ends with the awaited text and this match is not
 * part of an echo. */
static bool
is_matched(const struct watch *w, const struct watched_stream *s)
{
	bool is_complete = s->text_matched == w->text.len && w->text.len > 0;

	return is_complete && s->echo_matched < s->text_matched;
}

/* Continues two searches with the next byte of the output: one for the awaited
 * text, and one for the expected echo (`echo_pattern`). Sets `new_output` if
 * the byte is neither part of an echo nor white space. */
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

/* Handles the end of a line of output. If the line was the echo of a typed
 * line, expects the echo of the next typed line. Otherwise, stops expecting
 * echo. */
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

/* Searches n bytes of new output for the awaited text. `typed_lines` contains
 * the lines typed into the task, so that their echo can be ignored. `now` is
 * the current time, in ms. */
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
