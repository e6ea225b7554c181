/* SPDX-License-Identifier: ISC */
#ifndef RUN_PROMPT_H
#define RUN_PROMPT_H

/* Decides whether a program in a terminal waits for input (I3).
 *
 * terminal_prompts() in terminal.c checks in /proc whether a process in the
 * foreground reads from the terminal at this moment. This module decides when
 * such a check is made, and what its result means.
 *
 * Both depend on the time since the last activity, which is text that was typed
 * into the terminal or printed by a program. Soon after an activity, a program
 * may still be printing, or processing its input. The lines below the time axis
 * show the state of the terminal for each result of the last check:
 *
 *	            activity      100 ms         300 ms
 *	               +-------------+--------------+--------------> time
 *	                 no checks      checks at intervals of 250 ms
 *	last check:
 *	  PROMPTS        BUSY           PROMPTS       PROMPTS
 *	  MAY_PROMPT     BUSY           BUSY          MAY_PROMPT if the output
 *	                                              looks like a prompt, or
 *	                                              else BUSY
 *	  BUSY           BUSY           BUSY          BUSY
 *
 * Each activity restarts the timeline, and then earlier checks no longer count.
 * No checks are made, and the state is BUSY, while the terminal is closed or
 * contains input that no program has read. */

#include <stdbool.h>
#include <stdint.h>
#include "run/terminal.h"

/* The last activity in a terminal, and the last check for a prompt */
struct prompt_history {
	int64_t typed_at;    /* time of the last typed input or of the start of
	                      * the command, ms */
	int64_t printed_at;  /* time of the last output, ms; 0 if there was none
	                      * since the last input */
	int64_t checked_at;  /* time of the last check, ms; 0 if there was
	                      * none */
	enum terminal_prompt found;  /* result of the last check */
};

/* Whether a program waits for input */
struct prompt {
	enum terminal_prompt state;
	bool not_reading;    /* true if /proc shows that the program does not
	                      * read from the terminal */
	bool secret;         /* true if typed text must not be logged, because
	                      * the terminal does not echo it or is closed */
	int64_t since;       /* time of the last activity, ms */
	int64_t recheck_at;  /* time at which the state may change even without
	                      * activity, ms, or NEVER */
};

/* prompt_note_input() records that the command was started or text was typed.
 * prompt_note_output() records that a program has printed something. */
void prompt_note_input(struct prompt_history *, int64_t now);
void prompt_note_output(struct prompt_history *, int64_t now);

/* Returns the earliest time for a check, in ms. Returns NEVER if the terminal
 * is closed, or if `unread` is true because it contains input that no program
 * has read. */
int64_t prompt_checks_from(const struct prompt_history *, enum terminal_mode,
                           bool unread);
/* Returns whether the interval since the last check has passed. */
bool prompt_check_is_due(const struct prompt_history *, int64_t now);
/* Checks whether a program waits for input from the terminal. `visible` is true
 * if /proc is usable. The caller must then read the pending output, and call
 * prompt_note_output() if there was any. */
void prompt_check(struct prompt_history *, int master, int slave, bool visible,
                  int64_t now);

/* Returns whether the program waits for input, according to the last check and
 * the time since then. `open_line` is true if the last line of the output does
 * not end with a newline. */
struct prompt prompt_judge(const struct prompt_history *, enum terminal_mode,
                           bool open_line, int64_t now);
/* Returns a result that reports no prompt (TERMINAL_BUSY). */
struct prompt prompt_busy(const struct prompt_history *, enum terminal_mode,
                          int64_t recheck_at);

#endif
