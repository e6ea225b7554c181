#ifndef TRANSPORT_HTTP_H
#define TRANSPORT_HTTP_H

/* MCP over HTTP (H; MCP 2025-11-25 and 2026-07-28, transports). Each
 * Mcp-Session-Id is a client of its own (H5). All modern requests share one
 * client, which tracks no directory (H6). */

#include "base/io.h"
#include "base/options.h"

struct http;

/* Starts to listen, as the options say. If it cannot, ends boris with a message
 * and status 1. */
struct http *http_open(const struct options *);
/* Closes the connections and frees the clients. The rest of the memory is freed
 * when the process exits. */
void http_end(struct http *);
/* Returns http://ADDRESS:PORT. */
const char *http_origin(const struct http *);
void http_poll_add(struct http *, struct loop *);
/* Takes one turn. After a signal to exit it stops listening and closes all
 * sessions (H9). */
enum transport_state http_dispatch(struct http *, const struct loop *);

#endif
