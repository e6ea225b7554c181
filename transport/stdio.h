/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_STDIO_H
#define TRANSPORT_STDIO_H

/* MCP over stdin and stdout (doc/SPEC, P5, P9 and P10; MCP 2025-11-25,
 * transports). Each line in either direction is one message. Reads and writes
 * never block. If the client does not read its responses, boris stops reading
 * requests. */

#include "base/io.h"
#include "base/options.h"

struct stdio;

/* Starts serving the client on stdin and stdout. Returns the server. On
 * failure, prints a message and exits with status 1. */
struct stdio *stdio_open(const struct options *);
/* Frees the client and restores the file flags of stdin and stdout. Any other
 * memory is freed when the process exits. */
void stdio_end(struct stdio *);
void stdio_poll_add(struct stdio *, struct loop *);
/* Handles the events of one iteration of the event loop. After a termination
 * signal, terminates all commands (L1). Returns the new state of the
 * transport. */
enum transport_state stdio_dispatch(struct stdio *, const struct loop *);

#endif
