#ifndef RUN_SCRIPT_H
#define RUN_SCRIPT_H

/* The text around a command (B2-B4, B7, D2, D3): what its shell is given, and
 * what that tells at its end. Text in, text out. */

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
	struct buf trap;     /* to be cut out of a message of the shell's */
	struct buf message;  /* how such a message begins */
	struct buf received; /* what has come of it so far */
};

/* Fills in a zeroed one. tells_dir: the shell is to tell its directory; fd: a
 * bash does so on this descriptor. False: the memory for it is refused. */
bool script_write(struct script *, const char *shell, const struct buf *text,
                  bool tells_dir, int fd);
void script_free(struct script *);

/* Appends what the shell printed, less the trap that syntax errors quote (D3),
 * and notes such an error. n is 0 at the end. False: it needs no cleaning, and
 * nothing is appended. */
bool script_clean(struct script *, const char *shown, size_t n, struct buf *);

/* Changes the n > 0 bytes that the trap wrote. Sets *dir to the directory in
 * them, absolute (D2), and *codes to the exit codes of the last pipeline if the
 * status hides a failure (B7), both to be freed; or leaves them. */
void script_told(char *told, size_t n, int status, char **dir, char **codes);

#endif
