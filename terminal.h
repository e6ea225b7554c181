#ifndef TERMINAL_H
#define TERMINAL_H

/* Terminals (SPEC I): how one is opened, what becomes of what is typed, whether
 * somebody waits for that. Each is known by its master's descriptor. */

#include <stdbool.h>
#include <stddef.h>
#include "buf.h"
#include "options.h"

/* A terminal of 50 lines and 200 columns that no program inherits: its master,
 * non-blocking, and what programs read and write (I1). 0, or -1 with errno. */
int terminal_open(int end[2]);

/* Does it take lines, and show what is typed? False: it has been closed. */
bool terminal_mode(int master, bool *lines, bool *shows);

/* Does its foreground process group wait for input, that is, ask (I3)? */
enum terminal_prompt {
	TERMINAL_BUSY,        /* no */
	TERMINAL_MAY_PROMPT,  /* perhaps: it waits for events; or unknown */
	TERMINAL_PROMPTS      /* yes: one of it reads the terminal */
};

/* slave: its other end. It takes a walk through /proc. */
enum terminal_prompt terminal_prompts(int master, int slave);

#endif
