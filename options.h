#ifndef OPTIONS_H
#define OPTIONS_H

/* The command line (SPEC C): options and their variables, checked, in the
 * words of the rooms that need them; and what is said to the person there. */

#include <stdbool.h>
#include "fence.h"
#include "http.h"
#include "json.h"
#include "mcp.h"

struct options {
	struct mcp_options mcp;
	struct fence_options fence;
	bool over_http;         /* else stdio */
	struct http_options http;
	struct buf token;       /* ours, for `http` */
	struct buf origins;
	struct buf write;       /* ours, for `fence` and the tools */
	bool say_token;         /* it was made up, so it has to be said */
};

/* Ends the process for --help, --version and what is wrong (C2). */
void options_read(struct options *, char **argv);
void options_free(struct options *);

/* Onto stderr. Neither blocks nor fails, whatever became of that (C3). */
void say(const struct buf *);

/* "boris: WHAT VALUE: RIGHT" on stderr, and the end. Before the loop only. */
#ifdef __GNUC__
__attribute__((__noreturn__))  /* for those who look for mistakes in code */
#endif
void fatal(int status, const char *what, const char *value, const char *right);

#endif
