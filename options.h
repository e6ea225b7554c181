#ifndef OPTIONS_H
#define OPTIONS_H

/* The command line (SPEC C): options and their variables, checked, and written
 * into the structs of the rooms; and messages to the person there. */

#include <stdbool.h>
#include "fence.h"
#include "http.h"
#include "mcp.h"

struct options {
	struct mcp_options mcp;
	struct fence_options fence;
	bool over_http;          /* else stdio */
	struct http_options http;
	const char *log;         /* --log, or NULL */
	const char *secret;      /* --secret: an ID, or empty; NULL: none */
	bool generate_token;     /* boris has made it, and has to print it */
	const char *token_file;
	bool no_bash, allow_anyone, help, version;
};

/* Ends the process for --help and --version, and if something is wrong (C2). */
void options_read(struct options *, char **argv);
void options_free(struct options *);

/* Prints these strings as one line on stderr, without blocking if that is full
 * or closed (C3). */
#define say(...) say_all((const char *const[]){ __VA_ARGS__, NULL })
void say_all(const char *const *part);

/* Prints "boris: WHAT VALUE: RIGHT" on stderr and ends the process. Before the
 * loop only. */
#ifdef __GNUC__
__attribute__((__noreturn__))  /* for compilers and other checkers */
#endif
void fatal(int status, const char *what, const char *value, const char *right);

#endif
