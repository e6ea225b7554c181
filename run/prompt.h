/* SPDX-License-Identifier: ISC */
#ifndef RUN_PROMPT_H
#define RUN_PROMPT_H

/* Decides whether a program in a terminal is waiting for input (I3).
 *
 * terminal_prompts() in terminal.c checks in /proc whether a process in the
 * foreground is reading from the terminal. This module decides when such a
 * check is made, and what its result means.
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

/* The times of a terminal's last input and output, and the time and result of
 * the last check for a prompt */
struct prompt_history {
	int64_t typed_at;    /* time of the last input, in ms, or the command's
	                      * start time if there was none */
	int64_t printed_at;  /* time of the last output, in ms; 0 if there was
	                      * none since the last input */
	int64_t checked_at;  /* time of the last check for a prompt, in ms; 0 if
	                      * there was none */
	enum terminal_prompt found;  /* result of the last check */
};

/* Whether a program is waiting for input */
struct prompt {
	enum terminal_prompt state;
	bool not_reading;    /* true if /proc shows that the program is not
	                      * reading from the terminal */
	bool secret;         /* true if typed text may be a secret and must not
	                      * be logged */
	int64_t since;       /* time of the last input or output, in ms */
	int64_t recheck_at;  /* earliest time, in ms, at which `state` can
	                      * change without input or output; NEVER if it
	                      * cannot change */
};

/* prompt_note_input() records that the command was started or that text was
 * typed. prompt_note_output() records that a program printed something. */
void prompt_note_input(struct prompt_history *, int64_t now);
void prompt_note_output(struct prompt_history *, int64_t now);

/* Returns the earliest time for the next check for a prompt, in ms, or NEVER if
 * the terminal is closed or `unread` is true. `unread` is true if the terminal
 * contains input that no program has read. */
int64_t prompt_checks_from(const struct prompt_history *, enum terminal_mode,
                           bool unread);
/* Returns whether enough time has passed since the last check for a prompt to
 * make another one. */
bool prompt_check_is_due(const struct prompt_history *, int64_t now);
/* Checks whether a program is waiting for input from the terminal. `visible` is
 * true if /proc is usable. After the check, the caller must read the pending
 * output, and must call prompt_note_output() if there was any. */
void prompt_check(struct prompt_history *, int master, int slave, bool visible,
                  int64_t now);

/* Returns whether the program is waiting for input at the time `now`. The
 * result depends on the last check for a prompt and on the time since the last
 * input or output. `open_line` is true if the output's last line has no
 * trailing newline. */
struct prompt prompt_judge(const struct prompt_history *, enum terminal_mode,
                           bool open_line, int64_t now);
/* Returns a result with the state TERMINAL_BUSY, which means that no program is
 * waiting for input. */
struct prompt prompt_busy(const struct prompt_history *, enum terminal_mode,
                          int64_t recheck_at);

#endif
