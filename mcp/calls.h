#ifndef MCP_CALLS_H
#define MCP_CALLS_H

/* Requests that are held open: a call waits for its job (W), can be cancelled
 * (P8) and gets progress (O7). */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "base/list.h"
#include "mcp/rpc.h"
#include "session/session.h"
#include "mcp/tools.h"
#include "mcp/want.h"

/* A client with its open calls; mcp.c fills in what is above `now`, and keeps
 * `now` and `room` up to date. */
struct client {
	const struct options *options;
	struct caller caller;  /* as the handshake has it */
	struct buf said;       /* what the client called itself there: members
	                        * of the records of its jobs (A1) */
	struct session *session;
	struct answers answers;
	int64_t now;           /* ms, of this turn */
	size_t room;           /* bytes of answers that can be sent (P10) */
	struct list calls;     /* open ones, in the order they came */
	int waits;             /* calls without a job of their own */
	size_t bytes;          /* bytes of open ids and tokens (P10) */
	const struct job *just_read;  /* its output was read in this turn */
};

/* Each opens a call, unless it can answer now. token: for progress, if it is a
 * string or an integer. calls_tool() takes over the job, if any, and the want's
 * buffers; false: it has answered with an error, and they are the caller's. */
bool calls_tool(struct client *, const struct reply *, struct json token,
                const struct tool *, struct job *, const struct want *);
void calls_listen(struct client *, const struct reply *);

void calls_cancel(struct client *, struct json id);  /* P8: of that request */
/* A timer of the client has ended that request: its command goes on (E6). */
void calls_abandon(struct client *, struct json id);
/* `to` has gone: its calls are cancelled (E6), or carried out unanswered. */
void calls_forget(struct client *, void *to, bool cancel, int64_t now);
/* Returns whether `to` has an open call. */
bool calls_await(const struct client *, const void *to);
/* Returns whether there is an open call other than a subscription. */
bool calls_are_open(const struct client *);

void calls_poll_add(struct client *, struct loop *);
/* Searches what the jobs have printed; after session_read(). */
void calls_read(struct client *);
/* Sends the results and the progress that are due; after session_act(). */
void calls_act(struct client *);
void calls_close(struct client *);     /* ends the subscriptions */
void calls_free(struct client *);

#endif
