/* SPDX-License-Identifier: ISC */
#ifndef MCP_WAIT_H
#define MCP_WAIT_H

/* Decides when an open call is answered, and when it gets a progress message
 * (W2, W3, K2, O7). The decisions depend on the states of the call, its job and
 * the session. The functions change nothing; calls.c carries out what they
 * return. */

#include <stdbool.h>
#include <stdint.h>
#include "mcp/call.h"
#include "session/session.h"

/* What is due for a call, as times in ms. A time in the past means now. NEVER
 * means that the time is not known yet, since it depends on an event. */
struct call_due {
	/* time at which the call is answered */
	int64_t answer_at;
	bool by_limit;        /* the call is answered because of the client's
	                       * limit, not because its wait is over */
	int64_t progress_at;  /* time of the next progress message, unless the
	                       * call is answered before */
};

/* Returns what is due for the call, as far as that is known at the time `now`,
 * in ms. */
struct call_due wait_due(const struct call *, const struct session *,
                         int64_t now);

#endif
