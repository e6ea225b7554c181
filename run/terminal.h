/* SPDX-License-Identifier: ISC */
#ifndef RUN_TERMINAL_H
#define RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Terminals (I). This module opens a terminal, finds out how it treats input,
 * and checks whether a program waits for input from it. A terminal is
 * identified by the descriptor of its master side. All checks return
 * immediately. */

/* Opens a terminal with 50 lines and 200 columns, whose descriptors are
 * close-on-exec. Sets *master, which is non-blocking, and *slave, the side that
 * programs use (I1). Returns 0, or -1 with errno set. */
int terminal_open(int *master, int *slave);

enum terminal_mode {
	TERMINAL_CLOSED,
	TERMINAL_KEYS,    /* programs read single keys, because ICANON is off */
	TERMINAL_UNSEEN,  /* programs read lines, and input is not echoed */
	TERMINAL_LINES    /* programs read lines, and input is echoed */
};

/* Returns the current mode of a terminal. */
enum terminal_mode terminal_mode(int master);
/* Returns the character to type for the Enter key (I2). In most terminal modes
 * it is '\n'. It is '\r' if a program, such as a full-screen editor, has turned
 * off the translation of carriage returns to newlines. Such a program reads
 * '\n' as Control-J. */
char terminal_enter(int master);
/* Returns whether the terminal contains input that no program has read yet. In
 * TERMINAL_LINES and TERMINAL_UNSEEN, only complete lines count. */
bool terminal_has_unread(int slave);

/* Whether the foreground process group of a terminal waits for input, according
 * to a single check (I3). prompt.h explains how boris decides. */
enum terminal_prompt {
	TERMINAL_BUSY,        /* no process waits for input */
	TERMINAL_MAY_PROMPT,  /* a process may wait for input: it waits for
	                       * events, or /proc does not show what it does */
	TERMINAL_PROMPTS      /* a process reads from the terminal */
};

/* Checks in /proc whether the foreground process group of a terminal waits for
 * input. `slave` is the slave side of the terminal. */
enum terminal_prompt terminal_prompts(int master, int slave);

/* Finds a stopped process in a session. The process must be in the terminal's
 * foreground process group or have an ancestor in that group, as with
 * timeout(1). Returns the group of the process, or 0. Sets *signo to the signal
 * that has stopped it, or to 0 if the signal is unknown. */
pid_t terminal_stopped(int master, pid_t session, int *signo);

#endif
