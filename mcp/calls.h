/* SPDX-License-Identifier: ISC */
#ifndef MCP_CALLS_H
#define MCP_CALLS_H

/* Open calls: requests without a response yet. They wait for their jobs (W),
 * can be cancelled (P8), and get progress messages (O7). In each turn,
 * calls_read() searches the new output of the jobs. Then calls_act() sends the
 * responses that wait.c finds to be due. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "base/list.h"
#include "mcp/rpc.h"
#include "session/session.h"
#include "mcp/tools.h"
#include "mcp/request.h"

/* A client and its open calls. mcp.c fills in the members before `now`, and
 * keeps `now` and `queue_space` up to date. */
struct client {
	const struct options *options;
	struct caller caller;         /* name, limits and protocol revision from
	                               * the handshake */
	struct buf log_names;         /* client name and version for the log, as
	                               * JSON members */
	struct session *session;
	struct rpc_channel channel;
	int64_t now;                  /* time of this turn of the event loop, in
	                               * ms */
	size_t queue_space;           /* number of bytes of responses that can
	                               * still be queued */
	struct list calls;            /* open calls, in the order of their
	                               * requests */
	int waits;                    /* number of open calls that started no
	                               * job */
	size_t bytes;                 /* size of the ids and progress tokens of
	                               * all open calls, in bytes */
	const struct job *just_read;  /* the task whose output was read in this
	                               * turn of the event loop, or NULL */
};

/* Opens a call of a tool, or answers it at once. `token` is the token for
 * progress messages; it is ignored unless it is a string or an integer. Takes
 * ownership of the job, if there is one, and of the request's buffers. If there
 * are too many calls or memory is short, sends an error and returns false, and
 * the caller keeps ownership. */
bool calls_tool(struct client *, const struct reply *, struct json token,
                const struct tool *, struct job *, const struct call_request *);
/* Opens a subscription for a subscriptions/listen request. */
void calls_listen(struct client *, const struct reply *);

/* Cancels the call with the given id, if there is one (P8). */
void calls_cancel(struct client *, struct json id);
/* Closes the call with the given id, because the client's timeout for it has
 * expired. The command of the call keeps running (E6). */
void calls_abandon(struct client *, struct json id);
/* Cancels the calls of the peer at the address `to`, which has disconnected
 * (E6). If `cancel` is false, its commands in the foreground keep running, but
 * no responses are sent. `now` is in ms. */
void calls_forget(struct client *, void *to, bool cancel, int64_t now);
/* Returns whether the peer at the address `to` has an open call. */
bool calls_await(const struct client *, const void *to);
/* Returns whether there is an open call other than a subscription. */
bool calls_are_open(const struct client *);

/* Adds the deadlines of the open calls to the poll set. */
void calls_poll_add(struct client *, struct loop *);
/* Searches the new output of the jobs. Must be called after session_read(). */
void calls_read(struct client *);
/* Sends the results and progress messages that are due. Must be called after
 * session_act(). */
void calls_act(struct client *);
/* Sends the final results when the session closes. Each subscription ends with
 * a result (MCP 2026-07-28). */
void calls_close(struct client *);
/* Closes all calls without sending responses. */
void calls_free(struct client *);

#endif
