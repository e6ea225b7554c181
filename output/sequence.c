/* SPDX-License-Identifier: ISC */
/* Requires only C99. */

#include "output/sequence.h"

#include <string.h>

enum { PARAMETER_MAX = 9999 };  /* maximum value of a parameter */

void
sequence_start(struct sequence *q)
{
	q->state = PARSE_ESCAPE;
}

bool
sequence_is_open(const struct sequence *q)
{
	return q->state != PARSE_TEXT;
}

/* Records that the byte `final` completes the sequence. `kind` is SEQUENCE_NONE
 * if the sequence must be ignored. */
static void
finish(struct sequence *q, enum sequence_kind kind, unsigned char final)
{
	q->state = PARSE_TEXT;
	q->kind = kind;
	q->final = (char)final;
}

static void
begin_control(struct sequence *q)
{
	q->state = PARSE_CSI;
	q->parameters = 0;
	q->private_mark = 0;
	q->intermediate = 0;
}

static void
parse_digit(struct sequence *q, int digit)
{
	int *p;

	if (q->parameters == 0)
		q->parameter[q->parameters++] = -1;
	p = &q->parameter[q->parameters - 1];
	*p = (*p < 0 ? 0 : *p) * 10 + digit;
	if (*p > PARAMETER_MAX)
		*p = PARAMETER_MAX;
}

/* Starts the next parameter of a control sequence. If the sequence already has
 * SEQUENCE_PARAMETERS parameters, the new parameter overwrites the last one. */
static void
parse_separator(struct sequence *q)
{
	if (q->parameters == 0)
		q->parameter[q->parameters++] = -1;
	if (q->parameters < SEQUENCE_PARAMETERS)
		q->parameters++;
	q->parameter[q->parameters - 1] = -1;
}

/* Parses a byte that follows "ESC [" in a control sequence. The byte must not
 * be a control character. */
static void
parse_control(struct sequence *q, unsigned char c)
{
	if (c >= '0' && c <= '9')
		parse_digit(q, c - '0');
	else if (c == ';' || c == ':')
		parse_separator(q);
	else if (c >= '<' && c <= '?')
		q->private_mark = (char)c;
	else if (c < 0x30)
		q->intermediate = (char)c;
	else
		finish(q, SEQUENCE_CONTROL, c);
}

/* Parses the byte after ESC. It must be in the range 0x20 to 0x7E. */
static void
parse_escape(struct sequence *q, unsigned char c)
{
	if (c == '[') {
		begin_control(q);
	} else if (c == ']') {
		q->state = PARSE_OSC;
	} else if (strchr("PX^_", c) != NULL) {
		q->state = PARSE_STRING;
	} else if (c == '(' || c == ')') {
		q->designated = c == ')';
		q->state = PARSE_CHARSET;
	} else if (c < 0x30) {
		q->state = PARSE_ESCAPE_MORE;
	} else {
		finish(q, SEQUENCE_ESCAPE, c);
	}
}

/* Returns whether the parser is inside a string sequence, such as OSC or DCS.
 * String sequences are ignored. */
static bool
is_in_string(const struct sequence *q)
{
	return q->state == PARSE_OSC || q->state == PARSE_STRING;
}

/* Parses a control character within a sequence. ESC ends the sequence and
 * starts another one, which may be ST, the terminator of a string. CAN and SUB
 * end any sequence. BEL ends an operating system command. */
static void
parse_control_character(struct sequence *q, unsigned char c)
{
	if (c == 0x1B)
		q->state = PARSE_ESCAPE;
	else if (c == 0x18 || c == 0x1A)
		q->state = PARSE_TEXT;
	else if (c == 0x07 && q->state == PARSE_OSC)
		q->state = PARSE_TEXT;
}

/* Parses a byte that is not a control character. */
static void
parse_byte(struct sequence *q, unsigned char c)
{
	switch (q->state) {
	case PARSE_ESCAPE:
		parse_escape(q, c);
		break;
	case PARSE_CSI:
		parse_control(q, c);
		break;
	case PARSE_CHARSET:
		finish(q, SEQUENCE_CHARSET, c);
		break;
	case PARSE_ESCAPE_MORE:
		if (c >= 0x30)
			finish(q, SEQUENCE_NONE, c);
		break;
	case PARSE_OSC: case PARSE_STRING: case PARSE_TEXT:
		break;
	}
}

size_t
sequence_parse(struct sequence *q, const unsigned char *p, size_t n)
{
	size_t i;

	q->kind = SEQUENCE_NONE;
	for (i = 0; i < n && q->state != PARSE_TEXT; i++) {
		if (p[i] == '\n' || (p[i] >= 0x7F && !is_in_string(q))) {
			q->state = PARSE_TEXT;
			return i;
		}
		if (p[i] < 0x20)
			parse_control_character(q, p[i]);
		else
			parse_byte(q, p[i]);
	}
	return i;
}

int
sequence_parameter(const struct sequence *q, int i, int default_value)
{
	if (i >= q->parameters || q->parameter[i] < 0)
		return default_value;
	return q->parameter[i];
}

int
sequence_count(const struct sequence *q)
{
	int n = sequence_parameter(q, 0, 1);

	return n < 1 ? 1 : n;
}
