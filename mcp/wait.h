#ifndef MCP_WAIT_H
#define MCP_WAIT_H

/* When an open call is answered, and when it gets progress (W2, W3, K2, O7).
 * These functions decide by the state of the call, its job and the session, and
 * change nothing; calls.c acts on what they return. */

#include <stdbool.h>
#include <stdint.h>
#include "mcp/call.h"
#include "session/session.h"

/* Times in ms. A time that has passed means now; NEVER, that it depends on
 * events. */
struct call_due {
	int64_t answer_at;
	bool by_limit;         /* the client's limit decides, not the wait */
	int64_t progress_at;   /* unless the call is answered before */
};

/* Returns what is due for the call, as far as that is known now. */
struct call_due wait_due(const struct call *, const struct session *,
                         int64_t now);

#endif
