#ifndef HTTP_H
#define HTTP_H

/* MCP over HTTP (H; MCP 2025-11-25 and 2026-07-28, transports), the one door of
 * this wing: who listens, who may ask, and which client a request belongs to.
 * Each Mcp-Session-Id is a client of its own (H5); all modern requests share
 * one, which tracks no directory (H6). */

#include "../io.h"
#include "../options.h"

struct http;

/* Begins to listen. NULL, with errno: it can't. */
struct http *http_open(const struct options *);
void http_free(struct http *);  /* NULL is fine */
const char *http_origin(const struct http *);  /* http://ADDRESS:PORT */
void http_poll_add(struct http *, struct loop *);
/* When the end is to begin it stops accepting and closes all sessions (H9). */
enum transport_state http_dispatch(struct http *, const struct loop *);

#endif
