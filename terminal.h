#ifndef TERMINAL_H
#define TERMINAL_H

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

/* Does its foreground process group wait for input, that is, ask (I3)? */
enum terminal_prompt {
	TERMINAL_BUSY,        /* no */
	TERMINAL_MAY_PROMPT,  /* perhaps: it waits for events; or unknown */
	TERMINAL_PROMPTS      /* yes: one of it reads the terminal */
};

/* slave: its other end. It takes a walk through /proc. */
enum terminal_prompt terminal_prompts(int master, int slave);

#endif
