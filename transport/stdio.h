/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_STDIO_H
#define TRANSPORT_STDIO_H

/* MCP over stdin and stdout: one message per line, in both directions (MCP
 * 2025-11-25, transports; P5, P9, P10). Reading and writing never block. If the
 * client does not read its responses, boris stops reading requests. */

#include "base/io.h"
#include "base/options.h"

struct stdio;

/* Starts to serve the client on stdin and stdout. On failure, prints a message
 * and exits with status 1. */
struct stdio *stdio_open(const struct options *);
/* Frees the client and restores the file flags of stdin and stdout. The rest of
 * the memory is freed when the process exits. */
void stdio_end(struct stdio *);
void stdio_poll_add(struct stdio *, struct loop *);
/* Runs one turn of the event loop. After a signal to exit, terminates all
 * commands (L1). Returns the new state of the transport. */
enum transport_state stdio_dispatch(struct stdio *, const struct loop *);

#endif
