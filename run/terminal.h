#ifndef RUN_TERMINAL_H
#define RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Terminals (I): how one is opened, how it treats input, and whether a program
 * waits for input. A terminal is identified by its master's descriptor. */

/* Opens a terminal of 50 lines and 200 columns that no program inherits. Sets
 * *master, which is non-blocking, and *slave, which programs read and write
 * (I1). Returns 0, or -1 with errno set. */
int terminal_open(int *master, int *slave);

enum terminal_mode {
	TERMINAL_CLOSED,
	TERMINAL_KEYS,    /* it passes on single keys: ICANON is off */
	TERMINAL_UNSEEN,  /* it passes on lines and does not echo them */
	TERMINAL_LINES    /* it passes on lines and echoes them */
};

/* Returns how the terminal is set now. */
enum terminal_mode terminal_mode(int master);
/* Returns whether input is waiting for a program to read it: in TERMINAL_LINES
 * and TERMINAL_UNSEEN, a complete line. */
bool terminal_has_unread(int slave);

/* Whether the terminal's foreground process group waits for input (I3) */
enum terminal_prompt {
	TERMINAL_BUSY,        /* it does not */
	TERMINAL_MAY_PROMPT,  /* it waits for events, or this is unknown */
	TERMINAL_PROMPTS      /* a process of it reads the terminal */
};

/* Finds that out by a walk through /proc. slave: the terminal's other end. */
enum terminal_prompt terminal_prompts(int master, int slave);

/* Finds a stopped process of that session which is in the terminal's foreground
 * process group, or descends from one that is, as with timeout(1). Returns its
 * process group, and in *signo the signal, or 0 if that is unknown. Returns 0
 * if there is no such process, or if this cannot be found out. */
pid_t terminal_stopped(int master, pid_t session, int *signo);

#endif
