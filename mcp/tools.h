/* SPDX-License-Identifier: ISC */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

/* The tools: their descriptions, how their arguments are read, and which
 * function writes their results (B, P4). Each tool and each argument is a row
 * of a table in tools.c. A call with wrong arguments has no effect. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "base/options.h"
#include "mcp/results.h"
#include "mcp/rpc.h"
#include "mcp/request.h"

/* A tool of the server; each tool is a row of a table in tools.c */
struct arg_reader;
struct tool {
	const char *name, *title;
	size_t option;              /* offset in struct options of the int64_t
	                             * that says whether the tool is offered */
	const char *purpose;        /* the part of the server's instructions
	                             * about this tool; or NULL */
	/* Appends the description of the tool, which depends on the options and
	 * the caller. */
	void (*describe)(struct buf *, const struct options *,
	    const struct caller *);
	const char *required;       /* the member "required" of the input
	                             * schema, with a comma; or an empty
	                             * string */
	const char *output_schema;  /* members of the output schema */
	bool destroys;              /* value of the annotation
	                             * destructiveHint */
	/* Reads the arguments. Returns false if the call is rejected. */
	bool (*read)(struct arg_reader *);
	/* Appends the members of the result of a job that was not rejected. */
	void (*put)(struct buf *, const struct caller *, struct session *,
	    struct job *, const struct call_request *, int64_t now);
};

/* Appends the tools that are offered, as a JSON array for tools/list. */
void tools_list(struct buf *, const struct options *, const struct caller *);
/* Appends the member "instructions", which says in at most 500 characters what
 * the server is for (P11). Appends nothing if no tool is offered. */
void tools_instructions(struct buf *, const struct options *);

/* Returns the tool with the given name, if it is offered. Otherwise writes an
 * error to `unknown`, and returns NULL. The error lists the tools that are
 * offered and, for a tool of another agent, says what to use instead. */
const struct tool *tools_find(const struct options *, struct json name,
                              struct buf *unknown);
/* Reads the arguments of a call, an object or JSON_NONE, into the request. If
 * the call runs a job, sets *job to a new job. If the arguments are wrong,
 * writes the reason to `error` and returns false. In either case, the caller
 * has to free the job and the request. */
bool tools_read(const struct tool *, const struct options *,
                const struct caller *, struct json arguments,
                struct job **job, struct call_request *, struct buf *error);

#endif
