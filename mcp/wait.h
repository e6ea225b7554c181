/* SPDX-License-Identifier: ISC */
#ifndef MCP_WAIT_H
#define MCP_WAIT_H

/* Decides when the response to an open call and its progress messages are due
 * (W2, W3, K2, O7). calls.c sends them. */

#include <stdbool.h>
#include <stdint.h>
#include "mcp/call.h"
#include "session/session.h"

/* The times at which messages about a call are due, in ms. A time in the past
 * means now. NEVER means that the call waits for an event. */
struct call_due {
	/* time at which the response is due */
	int64_t answer_at;
	bool by_limit;        /* the response is due because the client's
	                       * timeout is near */
	int64_t progress_at;  /* time of the next progress message if the call
	                       * is still open then */
};

/* Returns when the next messages about the call are due. `now` is in ms. */
struct call_due wait_due(const struct call *, const struct session *,
                         int64_t now);

#endif
