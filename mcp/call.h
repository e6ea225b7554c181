/* SPDX-License-Identifier: ISC */
#ifndef MCP_CALL_H
#define MCP_CALL_H

/* An open call is a request that has no response yet. Each client has a list of
 * its open calls (calls.c).
 *
 * A client may stop waiting for the response after some time. Shortly before
 * that, call_limit ms (struct caller in clients.h) after the request was read,
 * one of two things happens (K2):
 *
 * - A command in the foreground is handed over: it becomes a task, and the
 *   response contains its output so far. The session does that at
 *   job->hand_over_at, for every client, because the next command would
 *   otherwise wait for this one. (due.c decides what happens to a command that
 *   is still queued.)
 * - A wait for a task ends, and the response contains the output so far. This
 *   happens at call->answer_by. For a client that accepts late answers, this
 *   time is NEVER, and the wait lasts as long as the request asks for.
 *
 * In both cases `limit_reached` is set for the result: in the job, or in the
 * request. A call has no timeout of its own. job->deadline, the end of the
 * command's timeout, does not depend on how long the call is open. */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"
#include "json.h"
#include "mcp/rpc.h"
#include "mcp/request.h"
#include "mcp/watch.h"
#include "session/job.h"

struct client;
struct tool;

struct call {
	struct list_node node;    /* node in the client's list of calls */
	struct client *client;
	struct reply reply;
	struct buf text;          /* the text that reply.id and `token` point
	                           * into */
	struct json token;        /* progress token; empty if the client wants
	                           * no progress */
	const struct tool *tool;  /* the tool that was called; NULL for
	                           * subscriptions/listen */
	struct job *job;          /* the job that the call refers to; NULL for a
	                           * list of tasks or a subscription */
	struct call_request request;
	struct watch watch;       /* search in the output of the command */
	enum terminal_mode mode;  /* mode of the terminal when the call typed
	                           * its input */
	bool typed_plain;         /* the typed input contains no Enter or other
	                           * control character */
	bool orphaned;            /* the client has disconnected, so the call
	                           * sends nothing and marks no output as
	                           * reported */

	/* Times, in ms */
	int64_t read_at;      /* time at which the request was read */
	int64_t wait_until;   /* time at which the requested wait ends; not used
	                       * if the call starts the job */
	int64_t answer_by;    /* deadline of the response, set by the client's
	                       * timeout; NEVER if there is none */
	int64_t progress_at;  /* time of the next progress message */
	/* Positions after the output that progress messages have already
	 * shown */
	struct output_cursor out_shown, err_shown;
};

#endif
