/* SPDX-License-Identifier: ISC */
#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

/* What a call asks for apart from its job: the action, how long to wait, and
 * which output to show. calls.c adds what the result has to report. The text of
 * a command and its options are in struct job. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/options.h"
#include "exec.h"

/* What a call asks for: to run a job, to read a task, to kill it, to type into
 * its terminal, or to list all tasks */
enum call_action { CALL_RUN, CALL_READ, CALL_KILL, CALL_TYPE, CALL_LIST };

/* The arguments of a call. A zeroed struct asks to run a job, and to wait for
 * nothing else. */
struct call_request {
	enum call_action action;
	bool by_pid;             /* the task was named by check_pid or
	                          * kill_pid */
	struct buf id;           /* id of the task, or its pid as text */
	int64_t pid;             /* pid of the task; 0 if no number was given */
	int64_t time;            /* time to wait for the end of the task or for
	                          * `until`, in ms */
	struct buf until;        /* text to wait for; empty if none was given */
	bool only_new;           /* show only output that is new since the last
	                          * result */
	struct buf input;        /* text to type, with CALL_TYPE */
	bool truncates;          /* `truncate` was given for this result */
	enum truncate truncate;  /* how the output is truncated, if `truncates`
	                          * is set */
	int64_t limit;           /* maximum number of characters of each stream;
	                          * 0 if no limit was given */

	/* Set by calls.c before the result is written */
	bool limit_reached;         /* the caller's call_limit has ended the
	                             * wait */
	bool no_enter;              /* a typed line seems to lack its Enter */
	bool until_missed;          /* `until` was not printed in time */
	struct prompt prompt;       /* whether the terminal waits for input */
	pid_t stopped;              /* a stopped process group on the terminal,
	                             * or 0 */
	int stop_signal;            /* signal that has stopped the group; 0 if
	                             * unknown */
	bool secret;                /* a person can type the secret that the
	                             * terminal asks for */
};

/* Frees the buffers of the request. */
void call_request_free(struct call_request *);

#endif
