/* SPDX-License-Identifier: ISC */
#ifndef MCP_CALLS_H
#define MCP_CALLS_H

/* Open calls are requests that have not been answered yet. They wait for their
 * jobs (W), can be cancelled (P8), and report progress (O7). In each iteration
 * of the event loop, calls_read() searches the jobs' new output. Then
 * calls_act() sends the responses that are due according to wait.c. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "base/list.h"
#include "mcp/rpc.h"
#include "session/session.h"
#include "mcp/tools.h"
#include "mcp/request.h"

/* A client and its open calls. mcp.c sets `options`, `caller`, `log_names`,
 * `session` and `channel`, and updates `now` and `queue_space` in each
 * iteration of the event loop. */
struct client {
	const struct options *options;
	struct caller caller;         /* the client's limits and protocol
	                               * revision, determined by the
	                               * handshake */
	struct buf log_names;         /* client name and version for the log, as
	                               * JSON members */
	struct session *session;
	struct rpc_channel channel;
	int64_t now;                  /* time of this iteration of the event
	                               * loop, in ms */
	size_t queue_space;           /* space left for responses in the
	                               * transport's queue, in bytes */
	struct list calls;            /* open calls, in the order of their
	                               * requests */
	struct list sent;             /* calls whose results the transport is
	                               * still writing, in the order of their
	                               * results */
	int waits;                    /* number of open calls that run neither a
	                               * command nor an edit of their own */
	size_t bytes;                 /* total size of the ids and progress
	                               * tokens of all open calls, in bytes */
	const struct job *just_read;  /* the task whose output was read during
	                               * this iteration of the event loop, or
	                               * NULL */
};

/* Opens a tool call, or answers it at once. `token` is the progress token. It
 * is ignored unless it is a string or an integer. Takes ownership of the job,
 * if there is one, and of the request's buffers. If too many calls are waiting
 * or there is not enough memory, sends an error and returns false, and the
 * caller keeps ownership. */
bool calls_tool(struct client *, const struct reply *, struct json token,
                const struct tool *, struct job *, const struct call_request *);
/* Opens a subscription for a subscriptions/listen request. */
void calls_listen(struct client *, const struct reply *);

/* Rejects a call with invalid arguments. `result` contains the members of the
 * error result, which includes the session's notes, and is freed. */
void calls_reject(struct client *, const struct reply *, struct buf *result);

/* Handles the result of the peer at the address `to`, which the transport has
 * written completely. Only called if the channel's `confirms` is set. */
void calls_written(struct client *, const void *to);

/* Cancels the call with the given id, if there is one (P8). */
void calls_cancel(struct client *, struct json id);
/* Closes the call with the given id, whose client-side timeout has expired. The
 * call's command keeps running (E6), except in a shared session. If the result
 * is already being written, later results repeat it, because the client
 * probably ignores it. */
void calls_abandon(struct client *, struct json id);
/* Handles the open calls of the peer at the address `to`, which has
 * disconnected. If `cancel` is true, cancels these calls (E6). Otherwise, keeps
 * open the calls that run a foreground command or an edit, and closes all other
 * calls. All commands and tasks keep running, but no response is sent, and a
 * later result reports what became of the commands (H7). The same applies to a
 * call whose result was not written completely. `now` is the current time, in
 * ms. */
void calls_forget(struct client *, void *to, bool cancel, int64_t now);
/* Records that the responses to the open calls of the peer at the address `to`
 * might not reach the peer. boris still sends these responses, but later
 * results repeat their output and notes (H7). */
void calls_doubt(struct client *, const void *to);
/* Returns whether any call of the peer at the address `to` is still open, or
 * its result has not been written completely. */
bool calls_await(const struct client *, const void *to);
/* Returns whether any call other than a subscription is still open, or its
 * result has not been written completely. */
bool calls_are_open(const struct client *);

/* Adds the deadlines of the open calls to the poll set. */
void calls_poll_add(struct client *, struct loop *);
/* Searches the jobs' new output for what the open calls are waiting for.
 * Schedules progress messages that contain new output. Must be called after
 * session_read(), which reads the output. */
void calls_read(struct client *);
/* Sends the results and progress messages that are due. Must be called after
 * session_act(). */
void calls_act(struct client *);
/* Sends all results that are due now that the session is closing. Also sends
 * each subscription's final result, which MCP 2026-07-28 requires. */
void calls_close(struct client *);
/* Closes all calls without sending responses. */
void calls_free(struct client *);

#endif
