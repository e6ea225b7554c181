#ifndef NOTES_H
#define NOTES_H

/* What a model has to know beyond the output, and can do next: the note of a
 * result (B7). */

#include <stdbool.h>
#include <stdint.h>
#include "buf.h"
#include "limits.h"
#include "session.h"
#include "tools.h"

#define NOTES_TASKS_FULL SAID(TASKS_MOST) \
	" background tasks are running, the most there can be"

/* What a result is about */
struct subject {
	struct session *session;
	struct job *job;
	const struct tools_call *asked;
	bool looks;        /* it shows how a task stands; else the end of a
	                    * command, or a start that nobody waits for */
	bool task;         /* of a task, not of a foreground command */
	bool ended;
};

/* Appends all notes, with "; " between them. Returns the bytes of the one that
 * the text begins with; 0: there is none. */
size_t notes_put(struct buf *, const struct subject *);

/* Appends which tasks have ended since that was last said, unless a call waits
 * for them (T8). */
void notes_put_ended(struct buf *, struct session *);

#endif
