/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_SEQUENCE_H
#define OUTPUT_SEQUENCE_H

/* A parser for terminal control sequences (ECMA-48). A sequence can be split
 * between two calls. */

#include <stdbool.h>
#include <stddef.h>

enum {
	SEQUENCE_PARAMETERS = 16  /* maximum number of parameters of a control
	                           * sequence */
};

/* The kind of the sequence that sequence_parse() has found */
enum sequence_kind {
	SEQUENCE_NONE,        /* an incomplete sequence, or a sequence without
	                       * effect */
	SEQUENCE_ESCAPE,      /* an escape sequence: ESC and `final` */
	SEQUENCE_CHARSET,     /* ESC ( or ESC ), and `final`: designates a
	                       * character set */
	SEQUENCE_CONTROL      /* a control sequence: ESC [, parameters and
	                       * `final` */
};

enum sequence_state {
	PARSE_TEXT,           /* outside of sequences */
	PARSE_ESCAPE,         /* after ESC */
	PARSE_CHARSET,        /* after ESC ( or ESC ) */
	PARSE_ESCAPE_MORE,    /* in an escape sequence of at least three
	                       * bytes */
	PARSE_CSI,            /* in a control sequence, after ESC [ */
	PARSE_OSC,            /* in an operating system command, after ESC ] */
	PARSE_STRING          /* in a DCS, SOS, PM or APC string */
};

/* The sequence that is being parsed or was parsed last. A zeroed struct is
 * ready for use. */
struct sequence {
	enum sequence_state state;  /* only for sequence.c */
	enum sequence_kind kind;
	char final;           /* final byte, which selects the function */
	int parameter[SEQUENCE_PARAMETERS];  /* parameters; -1 if a parameter is
	                       * empty */
	int parameters;       /* number of parameters */
	char private_mark;    /* prefix of a private control sequence, such as
	                       * '?' or '>', or 0 */
	char intermediate;    /* last intermediate byte of a control sequence,
	                       * or 0 */
	int designated;       /* character set that SEQUENCE_CHARSET designates,
	                       * 0 for G0 or 1 for G1 */
};

/* Starts a sequence after its first byte, ESC. */
void sequence_start(struct sequence *);

/* Returns whether a sequence has started and is not complete. */
bool sequence_is_open(const struct sequence *);

/* Parses bytes until the sequence ends, or up to a byte that cannot be part of
 * it. Sets `kind`. Returns the number of bytes parsed. A newline ends any
 * sequence, so that an unterminated string hides at most one line of output
 * (O1). */
size_t sequence_parse(struct sequence *, const unsigned char *bytes, size_t n);

/* Returns parameter i of a control sequence, or the default value if the
 * parameter is missing. */
int sequence_parameter(const struct sequence *, int i, int default_value);

/* Returns the first parameter of a control sequence, or 1 if it is missing or
 * less than 1. */
int sequence_count(const struct sequence *);

#endif
