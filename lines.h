#ifndef LINES_H
#define LINES_H

/* MCP over stdio: one message a line, in and out (MCP 2025-11-25, transports;
 * P5, P9, P10). Reading and writing never block. */

#include <stdbool.h>
#include <stdint.h>
#include "io.h"
#include "mcp.h"

struct lines;

struct lines *lines_open(const struct mcp_options *);  /* NULL: no memory */
void lines_free(struct lines *);

void lines_poll_add(struct lines *, struct loop *);

/* False: it is closed, by a signal or the end of input, and what was to be sent
 * is sent, or nobody reads it. */
bool lines_dispatch(struct lines *, const struct loop *);

/* A signal has come: terminates all commands; the second one, or one after the
 * end of input, kills what is left (L1). */
void lines_close(struct lines *, int64_t now);

#endif
