#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

/* The arguments of a call that are not the job's: what it asks for, how long it
 * waits, which output it shows. And what its result reports besides the job. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/options.h"
#include "exec.h"

/* Run a job; read a task; kill it; type into its terminal; list all tasks */
enum call_action { CALL_RUN, CALL_READ, CALL_KILL, CALL_TYPE, CALL_LIST };

/* Zeroed, it asks to run a job and waits for nothing else. */
struct call_request {
	enum call_action action;
	bool by_pid;             /* check_pid or kill_pid was given */
	struct buf id;           /* the task's id, or its pid as text */
	int64_t pid;             /* its pid; 0: no number was given */
	int64_t time;            /* ms to wait, for its end or for `until` */
	struct buf until;        /* the text to wait for (W3); empty: none */
	bool only_new;           /* output since the last result (T3) */
	struct buf input;        /* what to type, with CALL_TYPE (I2) */
	bool truncates;          /* `truncate` was given for this result */
	enum truncate truncate;  /* if so, how its output is cut */
	int64_t limit;           /* characters of each stream; 0: not given */

	/* Set by calls.c before the result is written */
	bool limit_reached;      /* the caller's call_limit has ended it (K2) */
	bool no_enter;           /* a typed line seems to lack its Enter */
	bool until_missed;       /* `until` was not printed in time */
	struct exec_prompt prompt;  /* whether its terminal asks (I3) */
	pid_t stopped;           /* a stopped process group of the terminal; or
	                          * 0 */
	int stop_signal;         /* what stopped it; 0: unknown */
	bool secret;             /* a person can type what it asks for (I5) */
};

/* Frees the buffers. */
void call_request_free(struct call_request *);

#endif
