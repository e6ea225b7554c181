#ifndef TOOLS_H
#define TOOLS_H

/* The two tools: what they offer, their arguments checked (P4), their results
 * as text and as data (B). Bytes in, bytes out. */

#include <stdbool.h>
#include <stdint.h>
#include "json.h"
#include "session.h"

struct tools_options {
	bool offered;            /* false: --no-bash */
	bool structured;         /* results as data too (B6) */
	bool background;         /* --on-timeout; for the description */
	int64_t timeout;         /* ms, when a call names none */
	enum truncate truncate;  /* when a call names none */
};

enum tool { TOOL_NONE, TOOL_BASH, TOOL_TASK_OUTPUT };

enum wish_kind { WISH_RUN, WISH_LOOK, WISH_KILL };

/* What a call wants, its arguments being right. */
struct wish {
	enum wish_kind kind;
	struct job *job;         /* WISH_RUN: filled in; whoever takes it sets
	                          * this to NULL */
	bool by_pid;             /* WISH_LOOK: check_pid, not task_output */
	int64_t pid;
	struct buf id;           /* of the task, and a NUL */
	int64_t wait;            /* ms */
	bool news;               /* only what is new (T3) */
};

/* The tools as JSON, for tools/list: [...] */
void tools_list(struct buf *, const struct tools_options *);
enum tool tools_find(const struct tools_options *, struct json name);

/* Arguments (an object, or JSON_NONE) into a wish. False: a sentence for the
 * model is in `refusal` instead. wish_free() in any case. */
bool tools_read(const struct tools_options *, enum tool, struct json arguments,
                struct wish *, struct buf *refusal);
void wish_free(struct wish *);

/* The members of a result: "content":..., "structuredContent":...,
 * "isError":... What is said of a job depends on its state: a refusal, the
 * start of a task, what a command gave, a look at a task. */
void tools_result(struct buf *, const struct tools_options *, struct job *,
                  bool look, bool news);
void tools_refusal(struct buf *, const char *text, size_t len);
void tools_no_task(struct buf *, const struct wish *);

/* What the session says when it refuses, as text: the 11th task (T2), a lost
 * directory (D5), what the system is short of (E7). `hide`: no ids (H6). */
void tools_refused(struct buf *, const struct session *, const struct job *);

#endif
