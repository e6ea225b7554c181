#ifndef MCP_CALLS_H
#define MCP_CALLS_H

/* Requests that are held open: a call waits for its job (W), can be cancelled
 * (P8) and gets progress (O7). Each turn, calls_read() updates what the calls
 * know about their jobs; then calls_act() does what wait.c decides for each. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "base/list.h"
#include "mcp/rpc.h"
#include "session/session.h"
#include "mcp/tools.h"
#include "mcp/request.h"

/* A client with its open calls. mcp.c fills in the members before `now`, and
 * keeps `now` and `room` up to date. */
struct client {
	const struct options *options;
	struct caller caller;  /* as the handshake names it */
	struct buf log_names;       /* the client's name from there: JSON members for
	                        * the log (A1) */
	struct session *session;
	struct answers answers;
	int64_t now;           /* ms, of this turn */
	size_t queue_space;           /* bytes of answers that can be sent (P10) */
	struct list calls;     /* open calls, in the order of their requests */
	int waits;             /* number of calls without a job of their own */
	size_t bytes;          /* bytes of ids and tokens of open calls (P10) */
	const struct job *just_read;  /* its output was read in this turn */
};

/* Opens a call of a tool, unless it can be answered at once. token: for
 * progress, if it is a string or an integer. Takes over the job, if any, and
 * the buffers of the want. Returns false if there are too many calls or if out
 * of memory: that has been answered, and job and buffers stay the caller's. */
bool calls_tool(struct client *, const struct reply *, struct json token,
                const struct tool *, struct job *, const struct call_request *);
/* Opens a subscription (subscriptions/listen). */
void calls_listen(struct client *, const struct reply *);

/* Cancels the call with that id, if there is one (P8). */
void calls_cancel(struct client *, struct json id);
/* Closes the call with that id because a timer of the client has ended it. Its
 * command keeps running (E6). */
void calls_abandon(struct client *, struct json id);
/* Cancels all calls of `to`, a peer that has gone (E6); without `cancel` its
 * commands in the foreground keep running, and are not answered. */
void calls_forget(struct client *, void *to, bool cancel, int64_t now);
/* Returns whether `to` has an open call. */
bool calls_await(const struct client *, const void *to);
/* Returns whether there is an open call other than a subscription. */
bool calls_are_open(const struct client *);

/* Adds what the calls wait for to the poll set. */
void calls_poll_add(struct client *, struct loop *);
/* Searches what the jobs have printed; after session_read(). */
void calls_read(struct client *);
/* Sends the results and the progress that are due; after session_act(). */
void calls_act(struct client *);
/* Answers what is due once the session is closing, and ends the subscriptions,
 * each with a result (MCP 2026-07-28). */
void calls_close(struct client *);
/* Closes all calls without an answer. */
void calls_free(struct client *);

#endif
