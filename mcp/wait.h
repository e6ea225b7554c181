/* SPDX-License-Identifier: ISC */
#ifndef MCP_WAIT_H
#define MCP_WAIT_H

/* Decides when the response to an open call (call.h) and its progress messages
 * are due (W2, W3, K2, O7). calls.c sends them. */

#include <stdbool.h>
#include <stdint.h>
#include "mcp/call.h"
#include "session/session.h"

/* The times, in ms, at which the response to a call and its next progress
 * message are due. A time in the past means that the message is due
 * immediately. NEVER means that the call is waiting for an event. */
struct call_due {
	/* time at which the response is due */
	int64_t answer_at;
	bool by_limit;        /* the response is due because the client's
	                       * timeout is about to expire */
	int64_t progress_at;  /* time at which the next progress message is due,
	                       * or NEVER */
};

/* Returns the times at which the response to the call and the next progress
 * message are due. `now` is the current time, in ms. */
struct call_due wait_due(const struct call *, const struct session *,
                         int64_t now);

#endif
