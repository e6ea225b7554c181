#ifndef MCP_CALL_H
#define MCP_CALL_H

/* An open call: a request that is held until it is answered or cancelled. Its
 * client has a list of them (calls.c). */

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"
#include "json.h"
#include "mcp/rpc.h"
#include "mcp/want.h"
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
	struct want want;
	struct watch watch;    /* of the job's output */
	enum terminal_mode mode;  /* of the terminal when it was typed into */
	bool typed_plain;      /* what was typed has no control character, such
	                        * as Enter */
	bool orphaned;         /* its peer has gone: it gets neither progress
	                        * nor a result, so nothing counts as reported,
	                        * and it does not wait for a task */

	/* Times in ms */
	int64_t read_at;       /* when the request was read */
	int64_t deadline;      /* end of its wait; unless it starts the job */
	int64_t limit;         /* when its client stops waiting (K2); NEVER: the
	                        * client accepts a late answer */
	int64_t progress_at;   /* when the next progress is due */
	struct output_cursor out_shown, err_shown;  /* as progress */
};

#endif
