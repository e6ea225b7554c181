#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

/* The tools: their descriptions, how their arguments are read, and who writes
 * their results (B, P4). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "base/options.h"
#include "mcp/results.h"
#include "mcp/rpc.h"
#include "mcp/request.h"

/* A row of the table in tools.c */
struct arg_reader;
struct tool {
	const char *name, *title;
	size_t option;         /* offset in struct options of the int64_t that
	                        * says whether the tool is offered */
	const char *purpose;   /* its part of the server's instructions (P11);
	                        * or NULL */
	/* Appends the description, which depends on options and caller. */
	void (*describe)(struct buf *, const struct options *,
	    const struct caller *);
	const char *required;  /* member "required" of the input schema, with a
	                        * comma; or "" */
	const char *output_schema;  /* members of the output schema */
	bool destroys;         /* the annotation destructiveHint */
	/* Reads the arguments. Returns false if the call is refused. */
	bool (*read)(struct arg_reader *);
	/* Appends the members of the result of a job that was not refused. */
	void (*put)(struct buf *, const struct caller *, struct session *,
	    struct job *, const struct call_request *, int64_t now);
};

/* Appends the tools as a JSON array, for tools/list. */
void tools_list(struct buf *, const struct options *, const struct caller *);
/* Appends what the server is for, as a member "instructions" of at most 500
 * characters (P11). Appends nothing if no tool is offered. */
void tools_instructions(struct buf *, const struct options *);

/* Returns the tool of that name, if it is offered. Otherwise returns NULL, and
 * writes to `unknown` which tools are offered, and what to use instead of
 * another agent's tool of that name. */
const struct tool *tools_find(const struct options *, struct json name,
                              struct buf *unknown);
/* Reads the arguments of a call, an object or JSON_NONE, into the want. If
 * want->action is CALL_RUN, *job is set to a new job. Returns false if the
 * arguments are wrong, with the reason in `refusal`. The caller frees the job
 * and the want in any case. */
bool tools_read(const struct tool *, const struct options *,
                const struct caller *, struct json arguments,
                struct job **job, struct call_request *, struct buf *error);

#endif
