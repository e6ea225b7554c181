#ifndef HTTP_H
#define HTTP_H

/* MCP over HTTP (H; MCP 2025-11-25 and 2026-07-28, transports): who listens,
 * and which client a request belongs to. Each Mcp-Session-Id is a client of its
 * own (H5); all modern requests share one, which tracks no directory (H6). */

#include <stdbool.h>
#include <stdint.h>
#include "httprules.h"
#include "io.h"
#include "mcp.h"

/* Filled in by main, changed by nobody. */
struct http_options {
	const char *address;      /* IPv4 or IPv6 literal */
	int port;                 /* 0: a free one */
	struct http_rules rules;
	int64_t session_timeout;  /* ms (H5) */
};

struct http;

/* Begins to listen. NULL, with errno: it can't. */
struct http *http_open(const struct http_options *, const struct mcp_options *);
void http_free(struct http *);

const char *http_origin(const struct http *);  /* http://ADDRESS:PORT */

void http_poll_add(struct http *, struct loop *);

/* When the end is to begin it stops accepting and closes all sessions (H9). */
enum transport_state http_dispatch(struct http *, const struct loop *);

#endif
