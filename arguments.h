#ifndef ARGUMENTS_H
#define ARGUMENTS_H

/* The arguments of the tools: what each takes, as a schema, and what a call
 * gives, checked (P4). */

#include <stdbool.h>
#include "json.h"
#include "tools.h"

enum { BASH, TASK_OUTPUT, EDIT, TOOLS };
extern const char *const tool_names[TOOLS];

/* Reads them into the call. added: one that the client adds itself, or NULL.
 * False: one is wrong, and the refusal says what would be right. */
bool arguments_read(const struct tools_options *, int tool, const char *added,
                    struct json members, struct tools_call *,
                    struct buf *refusal);

/* Appends the tool's inputSchema, behind its description. */
void arguments_schema(struct buf *, int tool);

#endif
