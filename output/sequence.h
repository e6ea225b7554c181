/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_SEQUENCE_H
#define OUTPUT_SEQUENCE_H

/* A parser for terminal control sequences (ECMA-48). A sequence can be split
 * across calls. */

#include <stdbool.h>
#include <stddef.h>

enum {
	SEQUENCE_PARAMETERS = 16  /* maximum number of parameters of a control
	                           * sequence */
};

/* The kind of sequence found by sequence_parse() */
enum sequence_kind {
	SEQUENCE_NONE,        /* no sequence to execute: the sequence is
	                       * incomplete or must be ignored */
	SEQUENCE_ESCAPE,      /* an escape sequence: ESC followed by `final` */
	SEQUENCE_CHARSET,     /* a sequence that designates a character set:
	                       * "ESC (" or "ESC )" followed by `final` */
	SEQUENCE_CONTROL      /* a control sequence: "ESC [" followed by
	                       * parameters and `final` */
};

/* The states of the parser */
enum sequence_state {
	PARSE_TEXT,           /* The next byte is not part of a sequence. */
	PARSE_ESCAPE,         /* The next byte follows ESC. */
	PARSE_CHARSET,        /* The next byte follows "ESC (" or "ESC )". */
	PARSE_ESCAPE_MORE,    /* The next byte follows ESC and at least one
	                       * intermediate byte. */
	PARSE_CSI,            /* The next byte is part of a control sequence
	                       * ("ESC ["). */
	PARSE_OSC,            /* The next byte is part of an operating system
	                       * command ("ESC ]"). */
	PARSE_STRING          /* The next byte is part of a DCS, SOS, PM or APC
	                       * string. */
};

/* The sequence being parsed, or the last one parsed. A zeroed struct is ready
 * for use. */
struct sequence {
	enum sequence_state state;  /* only for sequence.c */
	enum sequence_kind kind;
	char final;           /* final byte, which selects the function */
	int parameter[SEQUENCE_PARAMETERS];  /* parameters; -1 for an empty
	                       * one */
	int parameters;       /* number of parameters */
	char private_mark;    /* prefix of a private control sequence, such as
	                       * '?' or '>', or 0 */
	char intermediate;    /* last intermediate byte of a control sequence,
	                       * or 0 */
	int designated;       /* character set designated by a SEQUENCE_CHARSET
	                       * sequence: 0 for G0, 1 for G1 */
};

/* Starts parsing a sequence. The caller has already read its first byte,
 * ESC. */
void sequence_start(struct sequence *);

/* Returns whether a sequence has started and is not yet complete. */
bool sequence_is_open(const struct sequence *);

/* Parses bytes until the sequence ends or a byte cannot be part of it, and sets
 * `kind`. Returns the number of bytes parsed. A newline ends any sequence, so
 * that an unterminated string sequence hides at most one line of output
 * (O1). */
size_t sequence_parse(struct sequence *, const unsigned char *bytes, size_t n);

/* Returns parameter i of a control sequence, or the default value if the
 * parameter is missing. */
int sequence_parameter(const struct sequence *, int i, int default_value);

/* Returns the first parameter of a control sequence, or 1 if it is missing or
 * less than 1. */
int sequence_count(const struct sequence *);

#endif
