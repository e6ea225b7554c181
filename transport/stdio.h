#ifndef TRANSPORT_STDIO_H
#define TRANSPORT_STDIO_H

/* MCP over stdin and stdout: one message a line, in and out (MCP 2025-11-25,
 * transports; P5, P9, P10). Reading and writing never block. */

#include "base/io.h"
#include "base/options.h"

struct lines;

struct lines *lines_open(const struct options *);  /* or ends boris */
/* Undoes what would outlast the process; its memory goes with that. */
void lines_end(struct lines *);
void lines_poll_add(struct lines *, struct loop *);
/* When the end is to begin it terminates all commands (L1). */
enum transport_state lines_dispatch(struct lines *, const struct loop *);

#endif
