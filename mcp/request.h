/* SPDX-License-Identifier: ISC */
#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

/* The action that a tool call requests, how long to wait, and which output to
 * show. The command and its options are in struct job. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/options.h"
#include "exec.h"

/* The action of a call: run a job, read a task, kill it, type into its
 * terminal, or list all tasks */
enum call_action { CALL_RUN, CALL_READ, CALL_KILL, CALL_TYPE, CALL_LIST };

/* The arguments of a call. A zeroed struct asks to run a job and to wait only
 * for that job. */
struct call_request {
	enum call_action action;
	bool by_pid;             /* the task was named by check_pid or
	                          * kill_pid */
	struct buf id;           /* id of the task, or its pid as text */
	int64_t pid;             /* pid of the task; 0 if no number was given */
	int64_t time;            /* maximum time to wait for the task or for
	                          * `until`, in ms */
	struct buf until;        /* text to wait for; empty if none was given */
	bool only_new;           /* show only output that no earlier result has
	                          * shown */
	struct buf input;        /* text to type, with CALL_TYPE */
	bool truncates;          /* the call itself sets `truncate` */
	enum truncate truncate;  /* how to truncate the output, if `truncates`
	                          * is set */
	int64_t limit;           /* maximum number of characters of stdout and
	                          * of stderr in the result; 0 if not given */

	/* Facts for the result, set by calls.c */
	bool limit_reached;         /* the wait has ended early, because the
	                             * client's timeout for a call is near */
	bool no_enter;              /* the typed line probably needs an Enter at
	                             * its end */
	bool until_missed;          /* `until` was not printed in time */
	struct prompt prompt;       /* whether the terminal waits for input */
	pid_t stopped;              /* a stopped process group of the terminal,
	                             * or 0 */
	int stop_signal;            /* the signal that stopped the group; 0 if
	                             * unknown */
	bool secret;                /* a person can enter the requested secret
	                             * with boris --secret */
};

/* Frees the buffers of the request. */
void call_request_free(struct call_request *);

#endif
