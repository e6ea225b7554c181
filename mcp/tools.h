#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

/* The tools: one table of what each offers, reads, and writes (B, P4). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "base/options.h"
#include "mcp/results.h"
#include "mcp/rpc.h"
#include "mcp/want.h"

/* A row of the table in tools.c */
struct reading;
struct tool {
	const char *name, *title;
	size_t option;         /* in struct options: is it offered? */
	const char *purpose;   /* its sentences of the server's instructions
	                        * (P11); or NULL */
	/* Appends its description, which depends on options and caller. */
	void (*describe)(struct buf *, const struct options *,
	    const struct caller *);
	const char *required;  /* that member of the input schema; or "" */
	const char *output_schema;  /* members of that object */
	bool destroys;         /* an annotation */
	bool (*read)(struct reading *);
	/* Appends the members of the result of a job that was not refused. */
	void (*put)(struct buf *, const struct caller *, struct session *,
	    struct job *, const struct want *, int64_t now);
};

/* The tools as a JSON array, for tools/list */
void tools_list(struct buf *, const struct options *, const struct caller *);
/* What the server is for, as a member (P11): at most 500 characters. Without
 * tools there is none. */
void tools_instructions(struct buf *, const struct options *);

/* The tool of that name, if it is offered. Else NULL, and `unknown` lists those
 * that are, and says what to use for another agent's tool of that name. */
const struct tool *tools_find(const struct options *, struct json name,
                              struct buf *unknown);
/* Reads the arguments of a call (an object, or JSON_NONE) into the want, and
 * into *job what is to be run: NULL, where want->action is not WANT_RUN. False:
 * they are refused, and `refusal` says why. The caller frees both anyway. */
bool tools_read(const struct tool *, const struct options *,
                const struct caller *, struct json arguments,
                struct job **job, struct want *, struct buf *refusal);

#endif
