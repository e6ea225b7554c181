#ifndef MCP_CALL_H
#define MCP_CALL_H

/* An open call: a request that is held until it is answered or cancelled. Its
 * client has a list of them (calls.c).
 *
 * Its client may stop waiting for the response after some time. Just before
 * that, call_limit ms (struct caller in clients.h) after the request was read,
 * one of two things happens (K2):
 *
 * - A command in the foreground is handed over: it becomes a task, and the call
 *   is answered with its state. The session does that at job->hand_over_at, for
 *   every client. Otherwise the next commands would wait for this one. (due.c
 *   decides what happens to a command that is still queued.)
 * - A wait for a task ends, and the call is answered with what there is, at
 *   call->answer_by. For a client that accepts late answers this is NEVER, and
 *   the wait lasts as long as was asked for.
 *
 * In both cases `limit_reached` is set for the result: in the job, or in the
 * want. A call has no timeout of its own. job->deadline is the end of the
 * command's timeout, however long its call is open. */

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
	struct list_node node; /* in the client's list */
	struct client *client;
	struct reply reply;
	struct buf text;       /* what reply.id and `token` point into */
	struct json token;     /* for progress; empty: none is wanted */
	const struct tool *tool;  /* NULL: subscriptions/listen */
	struct job *job;       /* which it holds; NULL: a list of tasks, or a
	                        * subscription */
	struct call_request request;
	struct watch watch;    /* of the job's output */
	enum terminal_mode mode;  /* of the terminal when it was typed into */
	bool typed_plain;      /* what was typed has no control character, such
	                        * as Enter */
	bool orphaned;         /* its peer has gone: it gets neither progress
	                        * nor a result, so nothing counts as reported,
	                        * and it does not wait for a task */

	/* Times in ms */
	int64_t read_at;       /* when the request was read */
	int64_t wait_until;    /* end of the wait that it asks for; not used
	                        * if it starts the job */
	int64_t answer_by;     /* when it reaches call_limit; NEVER: there is
	                        * none, or the client accepts a late answer */
	int64_t progress_at;   /* when the next progress is due */
	struct output_cursor out_shown, err_shown;  /* as progress */
};

#endif
