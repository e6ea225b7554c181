#ifndef JOB_H
#define JOB_H

/* One command as a client asked for it: the request, how it stands, what it has
 * printed. Its session changes it; the rooms above only move the cursors. */

#include <stdbool.h>
#include <stdint.h>
#include "buf.h"
#include "exec.h"
#include "output.h"

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
	bool background;
	bool terminal;           /* a task with a terminal of its own (I1) */
};
void job_request_free(struct job_request *);

enum job_state {
	JOB_QUEUED,
	JOB_RUNNING,             /* in the foreground */
	JOB_TASK,                /* in the background */
	JOB_FINISHED             /* ended, or refused */
};

enum job_refused {
	JOB_ACCEPTED,
	JOB_CLOSED,              /* the session is closed (L2) */
	JOB_WAITED,              /* as long as its client waits (K2) */
	JOB_TOO_MANY,            /* ten tasks run already (T2) */
	JOB_NO_DIR,              /* `dir` can't be entered (D7) */
	JOB_LOST_DIR,            /* `dir`, the tracked one, is gone (D5) */
	JOB_NO_START,            /* the system is short of something (E7) */
	JOB_NO_TERMINAL          /* or of terminals (I1) */
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
	struct exec_report end;  /* how its command stands, once started */
	int64_t started, ended;  /* ms; 0: not yet */
	bool timed_out, killed;
	bool moved;              /* the tracked directory has changed by it */
	bool by_server;          /* a task's deadline is that of --bg-timeout */
	bool no_room;            /* E5 or K2 found ten tasks running */
	int64_t held;            /* ms that its client waits, if it was handed
	                          * over or refused for that (K2); else 0 */
	bool first;              /* the first result of its session (K4) */
	bool behind_cancelled;   /* the command before it was cancelled (B7) */
	bool prompted;           /* a result has said that it prompts, */
	bool screen_reported;    /* that it draws a screen (I6), */
	bool end_reported;       /* that it has ended (T8) */
	struct job_stream out, err;
	int64_t reported;        /* ms; the prompt that was told last (I3) */

	struct {                 /* The session's alone: */
		struct job *next, *previous;  /* in the order they came */
		int holders;     /* calls that will let it go */
		bool read;       /* a finished task: its result was taken */
		bool cancelled;
		int64_t deadline;   /* ms; of its timeout */
		struct exec *exec;  /* until nothing of it remains; or NULL */
	} own;
};

void job_free(struct job *);  /* its exec has been freed */
bool job_is_task(const struct job *);  /* has it been in the background? */
int64_t job_elapsed(const struct job *, int64_t now);  /* ms */
/* Has a signal ended its shell that boris did not send, nor was typed (B7)? */
bool job_killed_by_others(const struct job *);
void job_read(struct job *, int64_t now);

/* As exec_type() and so on for a task; EPIPE too when it has ended. */
int job_type(struct job *, const struct buf *, int64_t now, bool *echoed);
bool job_reads_keys(const struct job *);
struct exec_prompt job_prompts(const struct job *, int64_t now);

#endif
