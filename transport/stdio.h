#ifndef TRANSPORT_STDIO_H
#define TRANSPORT_STDIO_H

/* MCP over stdin and stdout: one message a line, in and out (MCP 2025-11-25,
 * transports; P5, P9, P10). Reading and writing never block. */

#include "base/io.h"
#include "base/options.h"

struct stdio;

struct stdio *stdio_open(const struct options *);  /* or ends boris */
/* Undoes what would outlast the process; its memory goes with that. */
void stdio_end(struct stdio *);
void stdio_poll_add(struct stdio *, struct loop *);
/* When the end is to begin it terminates all commands (L1). */
enum transport_state stdio_dispatch(struct stdio *, const struct loop *);

#endif
