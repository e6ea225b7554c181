#ifndef SESSION_H
#define SESSION_H

/* One client's commands: their order (P7), the directory that one hands to the
 * next (D1), the tasks in the background (T), what commands left running (E4),
 * closing (L). Has never heard of JSON.
 *
 * What it is asked to run is a job. A session never calls back: the room above
 * asks session_next() for jobs that have something to tell. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "io.h"
#include "buf.h"
#include "output.h"

struct guard;

enum {
	SESSION_ASIDE = 16,   /* commands side by side, at most (H6) */
	SESSION_ID = 33       /* 128 random bits in hex, and a NUL */
};

/* Takes "." and ".." out of an absolute name, as `cd` does by default (POSIX,
 * cd -L). */
void session_tidy(char *path);

/* Filled in by main, changed by nobody. */
struct session_options {
	const char *shell;       /* absolute (B2) */
	const char *workdir;     /* where a session starts; tidy */
	const char *tmpdir;      /* absolute: where long output is saved */
	char **env;              /* what commands see; env[0] is for PWD */
	char **terminal_env;     /* the same for those with a terminal */
	int no_input;            /* a descriptor that reads end of file (B4) */
	const char *name;        /* 16 random characters, in its files' names */
	struct guard *guard;     /* told of all groups (L4); or NULL */
	int64_t bg_timeout;      /* ms a task may run; 0: for ever (T5) */
	int64_t save_limit;      /* bytes of one stream (O5) */
	bool background;         /* a late command becomes a task (E5) */
};

/* What a job is to do. Zeroed: nothing yet. */
struct job_request {
	struct buf text;         /* the command */
	struct buf input;        /* for its stdin (B5) */
	bool has_input;
	struct buf description;  /* for the list of tasks (T7) */
	char *cwd;               /* where it starts (D7), or NULL */
	int64_t timeout;         /* ms; in the background 0: none (W4) */
	bool capped;             /* `timeout` was above the most there can be */
	enum truncate truncate;
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

/* A job, as far as the rooms above may see it. The session changes it; they
 * only move the cursors. */
struct job {
	struct job_request asked;
	void *call;              /* as session_run() was given it */
	enum job_state state;
	enum job_refused refused;
	int error;               /* errno, with JOB_NO_* and JOB_LOST_DIR */
	char *dir;               /* with JOB_*_DIR: the one that failed; at the
	                          * end of a foreground command: where the next
	                          * one starts; NULL if there was no memory */
	char id[SESSION_ID];     /* of a task; else empty */
	int64_t pid;
	int64_t started, ended;  /* ms; 0: not yet */
	int exit_code;           /* when finished */
	char pipeline[128];      /* exit codes of its last pipeline, where its
	                          * own hides a failure (B7); else empty */
	int64_t orphans;         /* group of what it left running (E4), or 0 */
	bool scattered;          /* not all of that is in the group */
	bool moved;              /* the tracked directory has changed by it */
	bool timed_out, killed;
	bool by_server;          /* a task's deadline is that of --bg-timeout */
	bool shot;               /* a signal that boris did not send has ended
	                          * the shell */
	bool no_room;            /* E5 found ten tasks running */
	struct job_stream out, err;
	int64_t told;            /* ms; session_asks() when a result last said
	                          * that the terminal asks (I3) */
};

struct session;

/* A session; stateless: without a tracked directory, commands side by side
 * (H6). NULL: errno says why. */
struct session *session_open(const struct session_options *, bool stateless);
void session_free(struct session *);

/* Queues what is asked for and takes it over; NULL: no memory. session_next()
 * returns the job when it has ended, runs in the background or is refused. */
struct job *session_run(struct session *, struct job_request *, void *call);

/* The next job that has something to tell its call; NULL: none. Afterwards
 * session_release(): the job is gone then, unless it is a task. */
struct job *session_next(struct session *);
void session_release(struct session *, struct job *);

/* E6: takes it out of the queue or terminates it; session_next() passes it. */
void session_cancel(struct session *, struct job *, int64_t now);
/* Reads what it has printed until now, before it is shown. */
void session_read(struct job *, int64_t now);

/* A task of this session, running or finished and unread, by its id or, that
 * being empty, by its pid; NULL: none. */
struct job *session_task(struct session *, const struct buf *id, int64_t pid);
/* Those that run or are unread, one after the other; NULL: no more. */
struct job *session_next_task(struct session *, const struct job *after);
void session_kill(struct job *, int64_t now);  /* T4 */
/* exec_type() and exec_asks() for a task; EPIPE too when it has ended. */
int session_type(struct job *, const struct buf *text, bool *echoed);
int64_t session_asks(const struct job *, int64_t now, bool *secret);
void session_forget(struct session *, struct job *);  /* a finished one */

const char *session_dir(const struct session *);  /* the tracked one */
bool session_stateless(const struct session *);
const char *session_shell(const struct session *);
size_t session_queued(const struct session *);  /* bytes that wait */

void session_poll_add(struct session *, struct loop *);
void session_dispatch(struct session *, const struct loop *);

/* L1: terminates all there is; when called again, or at_once, kills it. */
void session_close(struct session *, int64_t now, bool at_once);
bool session_closed(const struct session *);  /* and nothing lives on */

#endif
