#ifndef OPTIONS_H
#define OPTIONS_H

/* The command line (SPEC C): options and their variables, checked, and made
 * into the structs of the rooms; and messages to the person there. */

#include <stdbool.h>
#include "fence.h"
#include "http.h"
#include "buf.h"
#include "mcp.h"

struct options {
	struct mcp_options mcp;
	struct fence_options fence;
	bool over_http;         /* else stdio */
	struct http_options http;
	struct buf token;       /* ours, for `http` */
	struct buf origins;
	struct buf write;       /* ours, for `fence` and the tools */
	bool say_token;         /* boris has made it, and has to print it */
};

/* Ends the process for --help and --version, and if something is wrong (C2). */
void options_read(struct options *, char **argv);
void options_free(struct options *);

/* Prints on stderr, without blocking if that is full or closed (C3). */
void say(const struct buf *);

/* Prints "boris: WHAT VALUE: RIGHT" on stderr and ends the process. Before the
 * loop only. */
#ifdef __GNUC__
__attribute__((__noreturn__))  /* for compilers and other checkers */
#endif
void fatal(int status, const char *what, const char *value, const char *right);

#endif
