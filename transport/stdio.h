#ifndef TRANSPORT_STDIO_H
#define TRANSPORT_STDIO_H

/* MCP over stdin and stdout: one message per line, in both directions (MCP
 * 2025-11-25, transports; P5, P9, P10). Reading and writing never block. */

#include "base/io.h"
#include "base/options.h"

struct stdio;

/* Starts to serve. If it cannot, ends boris with a message and status 1. */
struct stdio *stdio_open(const struct options *);
/* Frees the client and restores the flags of stdin and stdout. The rest of the
 * memory is freed when the process exits. */
void stdio_end(struct stdio *);
void stdio_poll_add(struct stdio *, struct loop *);
/* Takes one turn. After a signal to exit it terminates all commands (L1). */
enum transport_state stdio_dispatch(struct stdio *, const struct loop *);

#endif
