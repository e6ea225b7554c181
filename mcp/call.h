/* SPDX-License-Identifier: ISC */
#ifndef MCP_CALL_H
#define MCP_CALL_H

/* An open call is a request that has no response yet. Each client has a list of
 * its open calls (calls.c). Over HTTP, a call also exists while the transport
 * is writing its response.
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
	struct buf text;          /* buffer for the text of reply.id and
	                           * `token` */
	struct json token;        /* progress token; empty if the client did not
	                           * request progress */
	const struct tool *tool;  /* tool that was called; NULL for a
	                           * subscriptions/listen request */
	struct job *job;          /* job that the call runs or refers to; NULL
	                           * for a list of tasks or a subscription */
	struct call_request request;
	struct watch watch;       /* state of the search in the command's
	                           * output */
	enum terminal_mode mode;  /* terminal mode when the call's input was
	                           * typed */
	bool typed_plain;         /* true if the call's input contains no
	                           * control character, such as Enter */
	bool orphaned;            /* true if the client has disconnected; boris
	                           * then sends no response and marks no output
	                           * as reported */

	int64_t tasks_ended;      /* number of tasks in the session that had
	                           * ended when the wait started; only used if
	                           * the call lists tasks */

	/* The result. Set when the transport has accepted it. */
	bool sent;            /* the transport is still writing the result, and
	                       * the call is in the client's list `sent` */
	bool shows_end;       /* the result shows the end of the job, or there
	                       * is no job */
	bool shows_output;    /* the output in the result was marked as
	                       * reported */
	int64_t report;       /* number of the report of the events in the
	                       * result's notes (session.h) */
	/* Positions in stdout and stderr up to which earlier results have shown
	 * output */
	struct output_cursor out_before, err_before;

	/* Times, in ms */
	int64_t read_at;      /* time at which the request was read */
	int64_t wait_until;   /* time at which the requested wait ends; NEVER if
	                       * the call starts a job */
	int64_t answer_by;    /* latest time at which a wait for a task can end
	                       * within the client's time limit for calls; NEVER
	                       * if this limit does not apply to the wait */
	int64_t progress_at;  /* time of the next progress message */
	/* Positions in stdout and stderr up to which output has been sent in
	 * progress messages */
	struct output_cursor out_shown, err_shown;
};

#endif
