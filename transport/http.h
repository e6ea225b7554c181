/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_HTTP_H
#define TRANSPORT_HTTP_H

/* MCP over HTTP (section H; MCP 2025-11-25 and 2026-07-28, transports). Each
 * Mcp-Session-Id has a client and a session of its own (H5). All stateless
 * requests share one client, which does not track a directory (H6). */

#include "base/io.h"
#include "base/options.h"

struct http;

/* Starts to listen on the address and port of the options. On failure, prints a
 * message and exits with status 1. */
struct http *http_open(const struct options *);
/* Closes all connections and frees all clients. The rest of the memory is freed
 * when the process exits. */
void http_end(struct http *);
/* Returns the URL of the server, http://ADDRESS:PORT. */
const char *http_origin(const struct http *);
void http_poll_add(struct http *, struct loop *);
/* Runs one turn of the event loop. After a signal to exit, stops listening and
 * closes all sessions (H9). Returns the new state of the transport. */
enum transport_state http_dispatch(struct http *, const struct loop *);

#endif
