/* SPDX-License-Identifier: ISC */
#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

/* The parts of a tool call that are not in its job: the requested action, the
 * maximum time to wait, and the choice of output to show. The command and its
 * options are in struct job. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/options.h"
#include "exec.h"

/* The action that a tool call requests: run a job, read a task, kill it, type
 * into its terminal, or list all tasks */
enum call_action { CALL_RUN, CALL_READ, CALL_KILL, CALL_TYPE, CALL_LIST };

/* The arguments of a tool call. A zeroed struct describes a call that runs a
 * job and has none of the other arguments below. */
struct call_request {
	enum call_action action;
	bool by_pid;             /* whether the call has the argument check_pid
	                          * or kill_pid */
	struct buf id;           /* the task's id, or its pid in decimal */
	int64_t pid;             /* the task's pid if the request contains it as
	                          * a number, or 0 */
	int64_t time;            /* maximum time to wait for the task to end or
	                          * to print the text `until`, in ms */
	struct buf until;        /* text to wait for in the output; empty if
	                          * none was given */
	bool only_new;           /* whether to show only output not shown in an
	                          * earlier result */
	struct buf input;        /* text to type, with CALL_TYPE */
	bool truncates;          /* whether the call itself sets `truncate` */
	enum truncate truncate;  /* how to truncate the output, if `truncates`
	                          * is set */
	int64_t limit;           /* maximum number of characters to show from
	                          * each of stdout and stderr; 0 if not given */

	/* The outcome of the call, set by calls.c before the result is
	 * written */
	bool limit_reached;         /* whether the wait ended early because the
	                             * client's timeout for the call is about to
	                             * expire */
	bool no_enter;              /* whether the program is probably waiting
	                             * for Enter after the typed text */
	bool until_missed;          /* whether the wait ended before the text
	                             * `until` was printed */
	struct prompt prompt;       /* whether the terminal is waiting for
	                             * input */
	pid_t stopped;              /* id of a stopped process group in the
	                             * terminal, or 0 if there is none */
	int stop_signal;            /* the signal that stopped the group; 0 if
	                             * unknown */
	bool secret;                /* whether the user can enter the requested
	                             * secret with boris --secret */
};

/* Frees the buffers of the request. */
void call_request_free(struct call_request *);

#endif
