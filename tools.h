#ifndef TOOLS_H
#define TOOLS_H

/* The tools: what they offer, and a call as it was asked (B, P4). Bytes in,
 * bytes out. */

#include <stdbool.h>
#include <stdint.h>
#include "json.h"
#include "output.h"
#include "reader.h"
#include "session.h"

struct tools_options {
	bool bash;               /* offered, with task_output; not: --no-bash */
	bool edit;               /* --edit: offered (X1) */
	bool background;         /* --on-timeout, for the description */
	const char *write;       /* --write, for the description: names, each
	                          * with a NUL behind it, then an empty one;
	                          * NULL: commands write everywhere (F4) */
	bool no_network;         /* --no-network, for the description */
	int hidden;              /* paths of --hide, for the description */
	int64_t timeout;         /* ms, when a call names none; 0: as long as a
	                          * command may take without (K2) */
	enum truncate truncate;  /* when a call names none */
};

enum tools_action {
	TOOLS_NONE,              /* no such tool; open: a subscription */
	TOOLS_REFUSED,           /* wrong arguments */
	TOOLS_RUN, TOOLS_LOOK, TOOLS_KILL, TOOLS_TYPE, TOOLS_LIST
};

/* What a call asks for */
struct tools_call {
	enum tools_action action;
	struct job_request job;  /* TOOLS_RUN: what to run, or to edit */
	bool by_pid;             /* check_pid or kill_pid, not task_output */
	int64_t pid;             /* 0: not by a number */
	struct buf id;           /* of the task; or its pid as text */
	int64_t wait;            /* ms, for its end or what follows */
	struct buf until;        /* or until this has been printed (W3) */
	bool only_new;           /* only output since the last look (T3) */
	struct buf input;        /* TOOLS_TYPE: what to type (I2) */

	/* What has come of it, filled in by calls.c */
	int64_t held;            /* ms, as long as its client waits, after
	                          * which the wait was ended; else 0 (K2) */
	int64_t queued;          /* ms that its command waited for others */
	bool no_enter;           /* a line was typed without its newline */
	bool unseen;             /* `until` was not printed in time */
	bool echoed;             /* or it was, as the echo of `input` */
	bool prompts, certain, secret;  /* the terminal does, surely (I3) */
	const char *secret_dir;  /* where a person's way to it is; NULL: none */
};

/* The tools as a JSON array, for tools/list. shared: by clients without a
 * session (H6). */
void tools_list(struct buf *, const struct tools_options *,
                const struct reader *, bool shared);

bool tools_offer(const struct tools_options *, int tool);

/* Appends "; there are: bash ...", if any are offered. */
void tools_names(struct buf *, const struct tools_options *);

/* A call of the tool of that name, with these arguments (an object, or
 * JSON_NONE). TOOLS_REFUSED: the refusal says why.
 * tools_call_free() in any case. */
void tools_read(const struct tools_options *, const struct reader *,
                struct json name, struct json arguments, struct tools_call *,
                struct buf *refusal);
void tools_call_free(struct tools_call *);

#endif
