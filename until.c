/* Needs nothing of the system but C99. */

#include "until.h"

#include <string.h>

enum { ECHO_MOST = 4096 };  /* bytes of a typed line that are recognised */

bool
until_open(struct until *u, const struct buf *text)
{
	return pattern_open(&u->text, text->data, text->len);
}

bool
until_type(struct until *u, const struct buf *input)
{
	size_t n = 0;

	while (n < input->len && n < ECHO_MOST && input->data[n] != '\n' &&
	    input->data[n] != '\r')
		n++;
	buf_put(&u->line, input->data, n);
	return !u->line.failed && pattern_open(&u->typed, u->line.data, n);
}

void
until_free(struct until *u)
{
	pattern_free(&u->text);
	pattern_free(&u->typed);
	buf_free(&u->line);
	memset(u, 0, sizeof(*u));
}

/* A newline: the echo that could stand in this line is over. */
static void
end_line(struct until *u, const struct until_place *at, bool keys)
{
	if (u->echo == ECHO_TWICE)
		u->echo = ECHO_LATER;
	else if (u->echo == ECHO_LINE || (at->whole && keys))
		u->echo = ECHO_NONE;
}

void
until_read(struct until *u, struct until_place *at, const char *bytes,
           size_t n, bool keys)
{
	const char *end = bytes + n;
	bool echo;

	for (; bytes < end; bytes++) {
		at->text = pattern_step(&u->text, at->text, *bytes);
		echo = u->echo != ECHO_NONE;
		if (echo) {
			at->typed = pattern_step(&u->typed, at->typed, *bytes);
			at->whole |= at->typed > 0 &&
			    at->typed == u->typed.len;
			echo = at->typed > 0 && (u->echo != ECHO_LATER || keys);
		}
		u->news |= !echo && (unsigned char)*bytes > ' ';
		if (at->text > 0 && at->text == u->text.len) {
			/* Is all of it a part of what was typed? */
			echo = echo && at->typed >= at->text;
			u->echoed |= echo;
			u->seen |= !echo;
		}
		if (*bytes == '\n') {
			end_line(u, at, keys);
			at->whole = false;
		}
	}
}
