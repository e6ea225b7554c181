#ifndef TOOLS_H
#define TOOLS_H

/* The two tools: what they offer, their arguments checked (P4), their results
 * as text and as data (B). Bytes in, bytes out. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "output.h"
#include "session.h"

struct tools_options {
	bool offered;            /* false: --no-bash */
	bool structured;         /* results as data too (B6) */
	bool background;         /* --on-timeout; for the description */
	const char *write;       /* where commands can write: names, each with
	                          * a NUL behind it, then an empty one; NULL:
	                          * everywhere (F1) */
	bool no_network;         /* for the description, as that is (F4) */
	int64_t timeout;         /* ms, when a call names none */
	enum truncate truncate;  /* when a call names none */
};

enum tools_action {
	TOOLS_UNKNOWN, TOOLS_REFUSED, TOOLS_RUN, TOOLS_LOOK, TOOLS_KILL
};

/* What a call asks for */
struct tools_call {
	enum tools_action action;
	struct job_request job;  /* TOOLS_RUN: what to run */
	bool by_pid;             /* check_pid or kill_pid, not task_output */
	int64_t pid;
	struct buf id;           /* of the task, and a NUL */
	int64_t wait;            /* ms */
	bool only_new;           /* what was printed since the last look (T3) */
};

/* The tools as JSON, for tools/list: [...] */
void tools_list(struct buf *, const struct tools_options *);

/* Reads the arguments (an object, or JSON_NONE) for the tool of that name.
 * TOOLS_REFUSED: `result` says why. tools_call_free() in any case. */
void tools_read(const struct tools_options *, struct json name,
                struct json arguments, struct tools_call *,
                struct buf *result);
void tools_call_free(struct tools_call *);

/* Each appends a result's members: "content":..., "structuredContent":...,
 * "isError":... How a task stands that is looked at; or, look being NULL, what
 * a command gave, or the start of a task. */
void tools_result(struct buf *, const struct tools_options *, struct job *,
                  const struct tools_call *look);
void tools_no_task(struct buf *, const struct tools_call *);

/* What the session refused: the 11th task (T2), a lost directory (D5), what
 * the system is short of (E7) */
void tools_refused(struct buf *, struct session *, const struct job *);

#endif
