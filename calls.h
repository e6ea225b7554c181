#ifndef CALLS_H
#define CALLS_H

/* Requests that are held open: a call waits for its job, can be cancelled (P8)
 * and gets progress (O7). */

#include <stdbool.h>
#include <stdint.h>
#include "answers.h"
#include "io.h"
#include "session.h"
#include "tools.h"

/* The open calls of a client; mcp_open() sets `room`, and all before `now`. */
struct calls {
	const struct tools_options *tools;
	struct session *session;
	struct answers answers;
	int64_t now;           /* ms, of this turn */
	struct call *first;    /* the newest */
	int open, waits, listens;  /* calls; those about tasks, subscriptions */
	size_t room;           /* bytes of answers that can be sent (P10) */
	const struct job *fresh;  /* read last in this turn; or NULL */
	size_t held;           /* bytes of open ids and tokens (P10) */
};

/* Each opens a call, unless it can answer now. `token`: for progress, if it is
 * a string or an integer. The first takes over what is asked for. */
void calls_tool(struct calls *, const struct reply *, struct json token,
                struct tools_call *);
void calls_listen(struct calls *, const struct reply *);

void calls_cancel(struct calls *, struct json id);  /* P8: of that request */
void calls_forget(struct calls *, void *to, bool cancel);  /* mcp_forget() */
bool calls_await(const struct calls *, const void *to);  /* mcp_awaits() */

void calls_poll_add(struct calls *, struct loop *);
void calls_dispatch(struct calls *);  /* after the session's turn */
void calls_close(struct calls *);     /* nobody listens any more */
void calls_free(struct calls *);

#endif
