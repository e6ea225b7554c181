#ifndef SESSION_H
#define SESSION_H

/* One client's commands: their order (P7), the directory that one hands to the
 * next (D1), the tasks in the background (T), what commands left running (E4),
 * closing (L). Has never heard of JSON.
 *
 * What it is asked to run is a job. A session never calls back: the room above
 * holds the job that it waits for, looks at its state, and lets it go. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "buf.h"
#include "io.h"
#include "job.h"
#include "log.h"
#include "script.h"

struct guard;

enum { SESSION_ASIDE = 16 };  /* commands side by side, at most (H6) */

/* Filled in by main, changed by nobody. */
struct session_options {
	const char *shell;       /* absolute (B2) */
	const char *workdir;     /* where a session starts; tidy */
	const char *tmpdir;      /* absolute: where long output is saved */
	char **env[SCRIPT_KINDS];  /* what each kind of command sees */
	int no_input;            /* a descriptor that reads end of file (B4) */
	const char *name;        /* 16 random characters, in its files' names */
	struct guard *guard;     /* told of all groups (L4) */
	struct log *log;         /* A; or NULL */
	int64_t bg_timeout;      /* ms a task may run; 0: for ever (T5) */
	int64_t save_limit;      /* bytes of one stream (O5) */
	bool background;         /* a late command becomes a task (E5) */
};

struct session;

/* A session; stateless: without a tracked directory, commands side by side
 * (H6). NULL: errno says why. */
struct session *session_open(const struct session_options *, bool stateless);
void session_free(struct session *);
/* Its client has come: members of a record, for the log (A1). */
void session_begin(struct session *, const struct buf *client);

/* Queues what is asked for and takes it over. The job is the caller's to let
 * go; NULL: no memory. */
struct job *session_run(struct session *, struct job_request *);

/* A task of this session, running or finished and unread, by its id or, if that
 * is none's, by its pid; NULL: none. */
struct job *session_task(struct session *, const struct buf *id, int64_t pid);
/* Those that run or are unread, one after the other; NULL: no more. */
struct job *session_next_task(struct session *, const struct job *after);

/* As long as somebody holds a job, it is there. When the last one lets it go it
 * runs on, but once it has ended it is forgotten: a task not before its result
 * was taken, by whoever lets go and says `read` (T3). */
void session_hold(struct job *);
void session_let_go(struct session *, struct job *, bool read);

/* E6: takes it out of the queue or terminates it. T4: ends a task. */
void session_cancel(struct session *, struct job *, int64_t now);
void session_kill(struct job *, int64_t now);

/* K2: its call has been held open for so many ms, as long as its client waits.
 * It becomes a task, leaves the queue, or is terminated; or nothing, if its
 * timeout is due before long. */
void session_hand_over(struct session *, struct job *, int64_t held,
                       int64_t now);
/* The foreground command that runs, or NULL; and how many wait for it (T7) */
const struct job *session_running(const struct session *, int *waiting);

const char *session_dir(const struct session *);  /* the tracked one */
bool session_stateless(const struct session *);
const char *session_shell(const struct session *);
const struct log_session *session_log(const struct session *);

/* If that task's terminal asks for a secret, and a person can type it (I5): the
 * directory that its FIFO is in; else NULL */
const char *session_secret(const struct session *, struct job *, int64_t now);
size_t session_queued(const struct session *);  /* bytes that wait */

void session_poll_add(struct session *, struct loop *);
void session_dispatch(struct session *, const struct loop *);

void session_close(struct session *, int64_t now);  /* L1: once */
bool session_closed(const struct session *);  /* and nothing lives on */

#endif
