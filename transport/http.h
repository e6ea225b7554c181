#ifndef TRANSPORT_HTTP_H
#define TRANSPORT_HTTP_H

/* MCP over HTTP (H; MCP 2025-11-25 and 2026-07-28, transports), the one door of
 * this wing; http.c has its map. Each Mcp-Session-Id is a client of its own
 * (H5); all modern requests share one, which tracks no directory (H6). */

#include "base/io.h"
#include "base/options.h"

struct http;

/* Begins to listen, or ends boris. */
struct http *http_open(const struct options *);
/* Undoes what would outlast the process; its memory goes with that. */
void http_end(struct http *);
const char *http_origin(const struct http *);  /* http://ADDRESS:PORT */
void http_poll_add(struct http *, struct loop *);
/* When the end is to begin it stops accepting and closes all sessions (H9). */
enum transport_state http_dispatch(struct http *, const struct loop *);

#endif
