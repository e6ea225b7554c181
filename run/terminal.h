#ifndef RUN_TERMINAL_H
#define RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Terminals (SPEC I): how one is opened, what becomes of what is typed, whether
 * somebody waits for that. Each is known by its master's descriptor. */

/* A terminal of 50 lines and 200 columns that no program inherits: its master,
 * non-blocking, and what programs read and write (I1). 0, or -1 with errno. */
int terminal_open(int *master, int *slave);

enum terminal_mode {
	TERMINAL_CLOSED,
	TERMINAL_KEYS,    /* it takes single keys: ICANON is off */
	TERMINAL_UNSEEN,  /* it takes lines, and does not show them */
	TERMINAL_LINES
};

enum terminal_mode terminal_mode(int master);
/* Returns whether input is waiting for a program to read it: in TERMINAL_LINES
 * and TERMINAL_UNSEEN, a complete line. */
bool terminal_has_unread(int slave);

/* Does its foreground process group wait for input, that is, ask (I3)? */
enum terminal_prompt {
	TERMINAL_BUSY,        /* no */
	TERMINAL_MAY_PROMPT,  /* perhaps: it waits for events; or unknown */
	TERMINAL_PROMPTS      /* yes: one of it reads the terminal */
};

/* slave: its other end. It takes a walk through /proc. */
enum terminal_prompt terminal_prompts(int master, int slave);

/* Finds a stopped process of that session which is in the terminal's foreground
 * process group, or descends from one that is, as with timeout(1). Returns its
 * process group, and in *signo the signal, or 0 if that is unknown. Returns 0
 * if there is no such process, or if this cannot be found out. */
pid_t terminal_stopped(int master, pid_t session, int *signo);

#endif
