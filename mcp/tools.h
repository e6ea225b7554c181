/* SPDX-License-Identifier: ISC */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

/* The tools: their descriptions, their arguments, and the functions that write
 * their results (B, P4). Each tool and each argument is a row of a table in
 * tools.c. A call with wrong arguments has no effect. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "base/options.h"
#include "mcp/results.h"
#include "mcp/rpc.h"
#include "mcp/request.h"

/* A tool of the server, a row of the table in tools.c */
struct arg_reader;
struct tool {
	const char *name, *title;
	size_t option;              /* offset in struct options of the option
	                             * that enables the tool, an int64_t */
	const char *purpose;        /* the server's instructions about this
	                             * tool, or NULL */
	/* Appends the description of the tool. It depends on the options and on
	 * the caller. */
	void (*describe)(struct buf *, const struct options *,
	    const struct caller *);
	const char *required;       /* member "required" of the input schema,
	                             * with a comma; or "" */
	const char *output_schema;  /* members of the output schema */
	bool destroys;              /* value of the annotation
	                             * destructiveHint */
	/* Reads the arguments. Returns false if it rejects the call. */
	bool (*read)(struct arg_reader *);
	/* Appends the members of a job's result. The session must have accepted
	 * the job. */
	void (*put)(struct buf *, const struct caller *, struct session *,
	    struct job *, const struct call_request *, int64_t now);
};

/* Appends the enabled tools as a JSON array for tools/list. */
void tools_list(struct buf *, const struct options *, const struct caller *);
/* Appends the JSON member "instructions", which describes the server in at most
 * 500 characters (P11). Appends nothing if no tool is enabled. */
void tools_instructions(struct buf *, const struct options *);

/* Returns the tool with the given name, if it is enabled. Otherwise writes an
 * error to `unknown` and returns NULL. The error lists the enabled tools. If
 * another agent has a tool with that name, the error also names the tool to use
 * instead. */
const struct tool *tools_find(const struct options *, struct json name,
                              struct buf *unknown);
/* Reads the arguments of a call, an object or JSON_NONE, into the request. If
 * the call runs a job, sets *job to a new job. If the arguments are wrong,
 * writes the reason to `error` and returns false. The caller must free the job
 * and the request in either case. */
bool tools_read(const struct tool *, const struct options *,
                const struct caller *, struct json arguments,
                struct job **job, struct call_request *, struct buf *error);

#endif
