#ifndef SESSION_H
#define SESSION_H

/* One client's commands: their order (P7), the directory they go on from
 * (D1), the tasks in the background (T), closing (L). Has never heard of
 * JSON. What it is asked to do is a job; it never calls back: the room above
 * looks with session_ended(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exec.h"
#include "loop.h"
#include "output.h"

enum {
	SESSION_TASKS = 10,   /* run at a time (T2) */
	SESSION_KEPT = 10,    /* results not yet read (T2) */
	SESSION_ASIDE = 16,   /* commands side by side, at most (H6) */
	SESSION_ID = 33       /* 128 random bits in hex, and a NUL */
};

/* Filled in by main, changed by nobody. */
struct session_options {
	const char *shell;       /* absolute (B2) */
	const char *workdir;     /* absolute: where a session starts */
	const char *tmpdir;      /* absolute: where long output is saved */
	char **env;              /* what commands see; env[0] is for PWD */
	int64_t bg_timeout;      /* ms a task may run; 0: for ever (T5) */
	int64_t save_limit;      /* bytes of one stream (O5) */
	bool background;         /* a late command becomes a task (E5) */
};

enum job_state {
	JOB_NEW, JOB_QUEUED,
	JOB_RUNNING,             /* in the foreground */
	JOB_TASK,                /* in the background */
	JOB_FINISHED             /* nothing of it will change any more */
};

enum job_refused {
	JOB_ACCEPTED,
	JOB_CLOSED,              /* the session is (L2) */
	JOB_TOO_MANY,            /* tasks run already (T2) */
	JOB_NO_DIR,              /* `dir` cannot be entered (D7) */
	JOB_LOST_DIR,            /* nor the tracked one, `dir` (D5) */
	JOB_NO_START             /* the system is short of something (E7) */
};

struct job {
	struct job *next;        /* in the queue, or among the ended */
	void *call;              /* the room above's; not looked at */

	/* What is asked: by the room above, before session_run() */
	struct buf text;         /* the command */
	struct buf input;        /* for its stdin (B5) */
	bool has_input;
	char *cwd;               /* where this one starts (D7), or NULL */
	int64_t timeout;         /* ms */
	enum truncate truncate;
	bool background;
	bool progress;           /* somebody follows what it prints */

	/* What became of it: the session's */
	enum job_state state;
	enum job_refused refused;
	int error;               /* errno, with JOB_NO_* */
	char *dir;               /* with JOB_*_DIR: the one that failed; when
	                          * the end of a foreground command is told:
	                          * where the next one starts */
	char id[SESSION_ID];     /* of a task; else empty */
	pid_t pid;
	int64_t started, deadline;
	int exit_code;           /* when finished */
	bool moved;              /* the directory has changed by it */
	bool timed_out, killed;
	bool cancelled;          /* nobody wants to hear of it */
	bool crowded_out;        /* E5 found no room among the tasks */
	bool kept_end;
	struct output *out, *err;
	struct output_mark out_seen, err_seen;  /* looks at a task (T3) */
	struct exec exec;
};

struct left;  /* what a command left running */

struct session {
	const struct session_options *options;
	bool stateless;          /* no tracked directory, side by side (H6) */
	bool closing;
	bool prepared;           /* birth_prepare() has been called */
	char nonce[SESSION_ID];
	char mark[64];           /* the sentinel (D2) */
	char *dir;               /* the tracked directory */
	struct store store;
	struct job *queue, **queue_end;
	size_t queued;           /* bytes that the queue holds */
	struct job *ended, **ended_end;
	struct job *running[SESSION_ASIDE];
	int run;                 /* of them */
	struct job *task[SESSION_TASKS];
	int tasks;
	struct job *kept[SESSION_KEPT + 1];  /* oldest first; one too many
	                                      * until the next turn */
	int keeps;
	struct left *left;
	int lefts;               /* of them */
	bool uncrowded;          /* some are not in the crowd */
	struct crowd crowd;
	int64_t review;          /* ms; when to look whether they live */
	int64_t pause;           /* ms from that to the next time */
};

/* Lowercase hex of `bytes` random bytes, and a NUL. Good also where there is
 * no /dev (T1). */
void session_random(char *hex, size_t bytes);

int session_open(struct session *, const struct session_options *,
                 bool stateless);  /* 0, or -1 without memory */
void session_free(struct session *);

struct job *job_new(void);  /* NULL: no memory */
void job_free(struct job *);

/* Queues the job, which is the session's from now on. Its end, or that it
 * runs in the background now, or its refusal, comes from session_ended(). */
void session_run(struct session *, struct job *);

/* The next job that has something to tell its call; NULL: none. Afterwards
 * session_told(): the job is gone then, unless it is a task. */
struct job *session_ended(struct session *);
void session_told(struct session *, struct job *);

/* E6: takes it out of the queue or terminates it; nothing will be told. */
void session_cancel(struct session *, struct job *, int64_t now);

/* A task of this session, running or finished and unread; NULL: none. */
struct job *session_task(struct session *, const char *id);
struct job *session_task_by_pid(struct session *, int64_t pid);
void session_kill(struct session *, struct job *, int64_t now);  /* T4 */
void session_forget(struct session *, struct job *);  /* a finished one */

bool session_owns(const struct session *, pid_t);  /* one of its leaders? */

void session_want(struct session *, struct loop *);
void session_ready(struct session *, const struct loop *);

/* L1. Again, or at_once: what is left is killed now. */
void session_close(struct session *, int64_t now, bool at_once);
bool session_closed(const struct session *);  /* and nothing lives on */

#endif
