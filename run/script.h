/* SPDX-License-Identifier: ISC */
#ifndef RUN_SCRIPT_H
#define RUN_SCRIPT_H

/* The script that runs a command (B2, B3, B7, D2, D3). This module composes the
 * arguments of the shell and parses the report that the shell writes when it
 * exits. It starts no processes and reads no files, except to find the
 * shell. */

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"

/* Finds the shell (B2). Returns its absolute path, or "/bin/sh" if no shell is
 * found. The path must not be freed. */
const char *script_shell(void);

/* The arguments of a shell, and the state of the filter for its error messages.
 * The struct must be zeroed before script_write(). */
struct script {
	struct buf args;     /* shell arguments, each with a NUL: -c -- SCRIPT
	                      * [SHELL PIECE...] */
	int fd;              /* descriptor to which the trap writes, or -1 for
	                      * no trap */
	bool own_trap;       /* true if the command seems to set its own EXIT
	                      * trap */
	bool syntax_error;   /* true if the shell has reported a syntax error */
	bool filtering;      /* true until the start of the shell's stderr has
	                      * been filtered */
	struct buf trap;     /* text of the trap, which script_clean() removes
	                      * from error messages */
	struct buf message;  /* prefix of the shell's error messages */
	struct buf received; /* output received so far, which may be an error
	                      * message of the shell */
};

/* Composes the arguments of the shell for a command. If `reports_dir` is true,
 * the shell reports its directory when it exits. bash writes the report to the
 * descriptor fd. Returns false if allocation fails. */
bool script_write(struct script *, const char *shell, const struct buf *text,
                  bool reports_dir, int fd);
void script_free(struct script *);

/* Filters the start of the shell's stderr. When bash reports a syntax error, it
 * also prints the EXIT trap (D3). This function appends n bytes to the buffer
 * without the trap, and sets syntax_error in that case. An incomplete message
 * is kept until more bytes follow; n must be 0 at the end of stderr. Returns
 * false if no filtering is needed. The caller then uses the bytes unchanged. */
bool script_clean(struct script *, const char *bytes, size_t n, struct buf *);

/* Parses a report of n bytes, at least 1, that the EXIT trap has written.
 * Modifies these bytes. Sets *dir to the absolute path of the directory (D2).
 * Sets *codes to the exit codes of the last pipeline if `status` hides a
 * failure (B7). The caller frees both. If a part is missing or not valid, its
 * pointer is not changed. */
void script_read_report(char *report, size_t n, int status, char **dir,
                        char **codes);

#endif
