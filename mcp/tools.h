/* SPDX-License-Identifier: ISC */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

/* The tools: their descriptions, their arguments, and the functions that write
 * their results (B, P4). Each tool and each argument is a row of a table in
 * tools.c. A tool call with invalid arguments has no effect. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "base/options.h"
#include "mcp/results.h"
#include "mcp/rpc.h"
#include "mcp/request.h"

struct arg_reader;

/* A tool of the server: one row of the table in tools.c */
struct tool {
	const char *name, *title;
	size_t option;              /* offset in struct options of the int64_t
	                             * option that enables the tool */
	const char *purpose;        /* text that describes the tool in the
	                             * server's MCP instructions, or NULL */
	/* Appends the tool's description, which depends on the options and the
	 * caller. */
	void (*describe)(struct buf *, const struct options *,
	    const struct caller *);
	const char *required;       /* JSON member "required" of the input
	                             * schema, followed by a comma; or an empty
	                             * string */
	const char *output_schema;  /* JSON members of the output schema */
	bool destroys;              /* value of the annotation
	                             * destructiveHint */
	/* Reads the arguments of a call to the tool. Returns false if the call
	 * is rejected. */
	bool (*read)(struct arg_reader *);
	/* Appends the JSON members of a job's result. The session must already
	 * have accepted the job. */
	void (*put)(struct buf *, const struct caller *, struct session *,
	    struct job *, const struct call_request *, int64_t now);
};

/* Appends the enabled tools as a JSON array for tools/list. */
void tools_list(struct buf *, const struct options *, const struct caller *);
/* Appends the JSON member "instructions", which describes the server in at most
 * 500 characters (P11). Appends nothing if no tool is enabled. */
void tools_instructions(struct buf *, const struct options *);

/* Returns the enabled tool with the given name. If there is none, writes an
 * error to `unknown` and returns NULL. The error lists the enabled tools. If
 * the name belongs to a tool of another shell server, such as KillShell, the
 * error also names the boris tool to use instead, if that tool is enabled. */
const struct tool *tools_find(const struct options *, struct json name,
                              struct buf *unknown);
/* Reads the arguments of a tool call into the request. `arguments` is a JSON
 * object or JSON_NONE. If the call runs a job, sets *job to a new job. If an
 * argument is invalid, writes the reason to `error` and returns false. In
 * either case, the caller must free the job and the request. */
bool tools_read(const struct tool *, const struct options *,
                const struct caller *, struct json arguments,
                struct job **job, struct call_request *, struct buf *error);

#endif
