#ifndef STDIO_H
#define STDIO_H

/* MCP over stdio: one message a line, in and out (MCP 2025-11-25, transports;
 * P5, P9, P10). Reading and writing never block. (This is not the C library's
 * <stdio.h>, which boris does without: nothing is compiled with -I. here.) */

#include <stdbool.h>
#include <stdint.h>
#include "io.h"
#include "mcp.h"

struct stdio;

struct stdio *stdio_open(const struct mcp_options *);  /* NULL: no memory */
void stdio_free(struct stdio *);

void stdio_poll_add(struct stdio *, struct loop *);

/* When the end is to begin it terminates all commands (L1). */
enum transport_state stdio_dispatch(struct stdio *, const struct loop *);

#endif
