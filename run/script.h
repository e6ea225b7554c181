/* SPDX-License-Identifier: ISC */
#ifndef RUN_SCRIPT_H
#define RUN_SCRIPT_H

/* Builds the shell's arguments for a command, including the script, and parses
 * the report that the shell writes when it exits (B2, B3, B7, D2, D3). This
 * module starts no processes and reads no files, except to find the shell. */

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"

/* Finds the shell (B2). Returns its absolute path, or "/bin/sh" if no shell is
 * found. The path must not be freed. */
const char *script_shell(void);

/* The command-line arguments of a command's shell, and the state of
 * script_clean(), which filters the shell's error messages. The caller must
 * zero the struct before it calls script_write(). */
struct script {
	struct buf args;     /* command-line arguments of the shell, each
	                      * terminated by a NUL */
	int fd;              /* descriptor to which boris's EXIT trap writes its
	                      * report, or -1 if there is no such trap */
	bool own_trap;       /* true if the command seems to set its own EXIT
	                      * trap */
	bool syntax_error;   /* true if the shell, or a shell that the command
	                      * started, reported a syntax error */
	bool filtering;      /* true while script_clean() must still filter the
	                      * start of the shell's stderr */
	struct buf trap;     /* text of boris's EXIT trap, which script_clean()
	                      * removes from error messages */
	struct buf message;  /* prefix of the shell's error messages */
	struct buf received; /* output received so far that may be an error
	                      * message from the shell */
};

/* Builds the shell's argument list for a command. If `reports_dir` is true, the
 * shell reports its directory when it exits. bash writes the report to the
 * descriptor `fd`. Returns false if allocation fails. */
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
