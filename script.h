#ifndef SCRIPT_H
#define SCRIPT_H

/* The text around a command (SPEC B2-B4, B7, D2, D3): what its shell is given,
 * and what that says in which directory it has ended. Text in, text out. */

#include <stdbool.h>
#include <stddef.h>
#include "buf.h"

const char *script_shell(void);  /* absolute; looked for (B2) */

/* boris's own environment as each kind of command sees it (B4, I1, T1); its
 * first place is kept for PWD. NULL: no memory. */
enum script_for {
	SCRIPT_COMMAND, SCRIPT_TASK, SCRIPT_TERMINAL,
	SCRIPT_KINDS             /* how many there are */
};
char **script_environment(enum script_for);

/* Zeroed: empty */
struct script {
	struct buf args;  /* -c -- SCRIPT [SHELL PIECE...], each with a NUL */
	int fd;           /* the shell's, of a pipe for script_told(); or -1 */
	struct buf trap;  /* what is before the command, while it may show */
	struct buf message;  /* how a message begins that may show it */
	size_t begun;     /* so many bytes of that have been shown */
	size_t held;      /* and so many of the trap, at the end */
};

/* Fills in a zeroed one. args.failed: there was no memory. */
void script_write(struct script *, const char *shell, const char *text,
                  size_t len, bool tells_dir);
void script_free(struct script *);

/* Appends what the shell has shown on stderr or its terminal, without the trap
 * (D3); n is 0 at the end. False: not needed any more, and nothing appended. */
bool script_clean(struct script *, const char *shown, size_t n, struct buf *);

/* Changes the n bytes that the trap wrote. Returns the directory in them (D2),
 * absolute, and in *codes the exit codes of the last pipeline if the last one
 * hides a failure (B7), else "". NULL: the trap has not written it. */
char *script_told(char *told, size_t n, const char **codes);

#endif
