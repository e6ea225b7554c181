/* SPDX-License-Identifier: ISC */
#ifndef RUN_TERMINAL_H
#define RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Terminals (I). This module opens a pseudo-terminal, determines its input
 * mode, and checks whether a program is waiting for input from it. `master` and
 * `slave` are the descriptors of a terminal's two sides; programs use the slave
 * side. None of the checks blocks. */

/* Opens a pseudo-terminal with 50 lines and 200 columns (I1). Sets *master and
 * *slave to its descriptors. Both are close-on-exec, and *master is
 * non-blocking. Returns 0, or -1 with errno set. */
int terminal_open(int *master, int *slave);

enum terminal_mode {
	TERMINAL_CLOSED,
	TERMINAL_KEYS,    /* non-canonical mode: input is read key by key */
	TERMINAL_UNSEEN,  /* canonical mode without echo: input is read line by
	                   * line */
	TERMINAL_LINES    /* canonical mode with echo: input is read line by
	                   * line */
};

/* Returns the current input mode of a terminal, or TERMINAL_CLOSED if its
 * settings cannot be read. */
enum terminal_mode terminal_mode(int master);
/* Returns the character to type for the Enter key (I2). In most terminal modes
 * it is '\n'. It is '\r' if a program, such as a full-screen editor, has turned
 * off the translation of carriage returns to newlines. Such a program reads
 * '\n' as Control-J. */
char terminal_enter(int master);
/* Returns whether the terminal contains unread input. In the modes
 * TERMINAL_LINES and TERMINAL_UNSEEN, only complete lines count. */
bool terminal_has_unread(int slave);

/* Whether the foreground process group of a terminal is waiting for input,
 * according to a single check (I3). prompt.h explains how boris uses the
 * result. */
enum terminal_prompt {
	TERMINAL_BUSY,        /* no process is waiting for input */
	TERMINAL_MAY_PROMPT,  /* a process may be waiting for input: it is
	                       * waiting for events, or /proc does not reveal
	                       * what it is doing */
	TERMINAL_PROMPTS      /* a process is reading from the terminal */
};

/* Returns whether the foreground process group of a terminal is waiting for
 * input, according to /proc. */
enum terminal_prompt terminal_prompts(int master, int slave);

/* Finds a stopped process in a session. The process must be in the terminal's
 * foreground process group, or have an ancestor in that group, like a command
 * run by timeout(1). Returns its process group id, or 0 if there is no such
 * process. Sets *signo to the signal that stopped it, or to 0 if the signal is
 * unknown. */
pid_t terminal_stopped(int master, pid_t session, int *signo);

#endif
