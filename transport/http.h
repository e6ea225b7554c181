/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_HTTP_H
#define TRANSPORT_HTTP_H

/* MCP over HTTP (doc/SPEC, H1 to H9; MCP 2025-11-25 and 2026-07-28,
 * transports). Each Mcp-Session-Id has its own client and its own session (H5).
 * All stateless requests share one client, but they do not share a current
 * directory (H6). */

#include "base/io.h"
#include "base/options.h"

struct http;

/* Starts listening on the address and port given in the options. Returns the
 * server. On failure, prints a message and exits with status 1. */
struct http *http_open(const struct options *);
/* Closes all connections and frees all clients. Any other memory is freed when
 * the process exits. */
void http_end(struct http *);
/* Returns the URL of the server, http://ADDRESS:PORT. */
const char *http_origin(const struct http *);
/* Must be called after the token in the options has been replaced. From then
 * on, no connection counts as authenticated until a request with the new token
 * arrives on it (H8). */
void http_token_changed(struct http *);
void http_poll_add(struct http *, struct loop *);
/* Handles the events of one iteration of the event loop. Once a termination
 * signal has arrived, stops listening and closes all sessions (H9). Returns the
 * new state of the transport. */
enum transport_state http_dispatch(struct http *, const struct loop *);

#endif
