#ifndef JOB_H
#define JOB_H

/* One command as a client asked for it: the request, how it stands, its output.
 * Its session changes it; those above move cursors, and note what was said. */

#include <stdbool.h>
#include <stdint.h>
#include "buf.h"
#include "edit.h"
#include "exec.h"
#include "output.h"
#include "secret.h"

/* What a job is to do. Zeroed: nothing yet. */
struct job_request {
	struct buf text;         /* the command */
	struct buf input;        /* for its stdin (B5) */
	bool has_input;
	struct buf description;  /* for the list of tasks (T7) */
	char *cwd;               /* where it starts (D7), or NULL */
	int64_t timeout;         /* ms; in the background 0: none (W4) */
	bool capped;             /* `timeout` was above the most there can be */
	struct output_bounds bounds;  /* of what is shown of its output */
	bool background, terminal;  /* a task; with its own terminal (I1) */
	struct buf client;       /* whose it is: members of its records (A1) */
	struct edit *edit;       /* not a command, but this (X); or NULL */
};
void job_request_free(struct job_request *);

/* In the foreground; in the background; ended, or refused */
enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_TASK, JOB_FINISHED };

enum job_refused {
	JOB_ACCEPTED,
	JOB_CLOSED,              /* the session is closed (L2) */
	JOB_WAITED,              /* as long as its client waits (K2) */
	JOB_TOO_MANY,            /* ten tasks run already (T2) */
	JOB_NO_DIR,              /* `dir` can't be entered (D7) */
	JOB_LOST_DIR,            /* `dir`, the tracked one, is gone (D5) */
	JOB_NO_LOG, JOB_NO_START, JOB_NO_TERMINAL  /* for want of it (A2, E7) */
};

/* One stream of what it prints, and how far that has been looked at (T3) */
struct job_stream {
	struct output *text;     /* NULL: it has not been started */
	struct output_cursor seen;
};

enum { JOB_ID = 33 };  /* 128 random bits in hex, and a NUL */
struct job {
	struct job_request asked;
	enum job_state state;
	enum job_refused refused;
	int error;               /* errno, with JOB_NO_* and JOB_LOST_DIR */
	char *dir;               /* with JOB_*_DIR: the one that failed; at the
	                          * end: where the next command starts; NULL:
	                          * no memory */
	char id[JOB_ID];         /* of a task; else empty */
	int64_t call;            /* its number in the log; 0: not started */
	struct exec_report end;  /* how its command stands, once started */
	int64_t started, ended;  /* ms; 0: not yet */
	bool timed_out, killed;
	bool tells_dir;          /* its result, in the text too (B) */
	bool by_server;          /* a task's deadline is that of --bg-timeout */
	bool no_room;            /* E5 or K2 found ten tasks running */
	int64_t held;            /* ms its client waits, if that is over (K2) */
	bool behind_cancelled;   /* the command before it was cancelled (B7) */
	bool prompted, screen_reported, end_reported;  /* said: I3, I6, T8 */
	struct job_stream out, err;
	int64_t reported;        /* ms; the prompt that was told last (I3) */

	struct {                 /* Its session's and its secret's alone: */
		struct job *next, *previous;  /* in the order they came */
		int holders;     /* calls that will let it go */
		bool read, cancelled;  /* read: a task's result was taken */
		struct secret secret;  /* while its terminal asks for one */
		int64_t deadline;   /* ms; of its timeout */
		struct exec *exec;  /* until nothing of it remains; or NULL */
	} own;
};

void job_free(struct job *);  /* its exec has been freed */
bool job_is_task(const struct job *);  /* has it been in the background? */
int64_t job_elapsed(const struct job *, int64_t now);  /* ms */
const char *job_status(const struct job *, bool ended);  /* a result's (B) */
const char *job_signal(const struct job *);  /* of its exit code; or NULL */
/* Appends the last line of its output: that of a prompt, mostly. */
void job_last_line(const struct job *, struct buf *);
/* Has a signal ended its shell that boris did not send, nor was typed (B7)? */
bool job_killed_by_others(const struct job *);
void job_read(struct job *, int64_t now);

/* As exec_type() and so on for a task; EPIPE too when it has ended. */
bool job_takes_input(const struct job *);  /* while its terminal is there */
int job_type(struct job *, const struct buf *, int64_t now, bool *echoed);
bool job_reads_keys(const struct job *);
struct exec_prompt job_prompts(const struct job *, int64_t now);

#endif
