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
	int64_t timeout;         /* ms, when a call names none */
	enum truncate truncate;  /* when a call names none */
};

enum tool { TOOL_NONE, TOOL_BASH, TOOL_TASK_OUTPUT };

enum tools_action { TOOLS_RUN, TOOLS_LOOK, TOOLS_KILL };

/* What a call asks for, its arguments being right */
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
enum tool tools_find(const struct tools_options *, struct json name);

/* Arguments (an object, or JSON_NONE) into a call. False: a sentence for the
 * model is in `refusal` instead. tools_call_free() in any case. */
bool tools_read(const struct tools_options *, enum tool, struct json arguments,
                struct tools_call *, struct buf *refusal);
void tools_call_free(struct tools_call *);

/* The members of a result: "content":..., "structuredContent":...,
 * "isError":... What is said of a job depends on its state: the start of a
 * task, what a command gave; or, asked for by `look`, how a task stands. */
void tools_result(struct buf *, const struct tools_options *, struct job *,
                  const struct tools_call *look);
void tools_refusal(struct buf *, const char *text, size_t len);
void tools_no_task(struct buf *, const struct tools_call *);

/* What the session says when it refuses: the 11th task (T2), a lost directory
 * (D5), what the system is short of (E7). */
void tools_refused(struct buf *, struct session *, const struct job *);

#endif
