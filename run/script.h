#ifndef RUN_SCRIPT_H
#define RUN_SCRIPT_H

/* The script around a command (B2, B3, B7, D2, D3): the arguments that its
 * shell gets, and the report that the shell writes at its end. This module
 * neither starts nor reads anything; it turns text into text. */

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"

/* Finds the shell (B2). Returns its absolute path, which is never freed; it is
 * "/bin/sh" if no shell was found. */
const char *script_shell(void);

/* Zeroed: empty */
struct script {
	struct buf args;     /* -c -- SCRIPT [SHELL PIECE...], with NULs */
	int fd;              /* the shell's, where the trap writes; or -1 */
	bool own_trap;       /* the command seems to set its own EXIT trap */
	bool syntax_error;   /* the first message is about one */
	struct buf trap;     /* text to be removed from the shell's message */
	struct buf message;  /* the start of such a message */
	struct buf received; /* the part of it that was received so far */
};

/* Fills in a zeroed script. reports_dir: the shell is to report its directory.
 * fd: the descriptor on which a bash does so. Returns false if allocation
 * fails. */
bool script_write(struct script *, const char *shell, const struct buf *text,
                  bool reports_dir, int fd);
void script_free(struct script *);

/* Filters the start of the shell's stderr: appends the n bytes without the text
 * of the EXIT trap, which bash quotes in a syntax error (D3), and notes such an
 * error. It may hold back a message that is incomplete; n is 0 at the end of
 * stderr. Returns false, and appends nothing, if there is nothing to filter:
 * the caller then uses the bytes as they are. */
bool script_clean(struct script *, const char *bytes, size_t n, struct buf *);

/* Reads the n > 0 bytes that the trap wrote, and changes them. Sets *dir to the
 * directory in them, absolute (D2), and *codes to the exit codes of the last
 * pipeline if the status hides a failure (B7). Both are to be freed by the
 * caller. Leaves them as they are if there is no such part. */
void script_read_report(char *report, size_t n, int status, char **dir,
                        char **codes);

#endif
