#ifndef EXEC_H
#define EXEC_H

/* One command: its script, its process group, its pipes (SPEC.md E, B2-B5,
 * D2-D4). The shell leads a group and session of its own. It is reaped last:
 * as long as `group` is set the number is ours, dead or alive (E3). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "json.h"
#include "loop.h"
#include "output.h"

/* What to run; all of it the caller's, until exec_start() has returned. */
struct command {
	const char *shell;  /* absolute path; run as SHELL -c (B2) */
	const char *text;   /* without NUL bytes; `len` of them */
	size_t len;
	const char *dir;    /* absolute; where it starts */
	char **env;         /* env[0] is set to PWD; the rest is kept */
	const char *mark;   /* the session's sentinel; NULL: nobody asks where
	                     * it ended, so the shell gets no trap (D6) */
	struct buf *input;  /* what its stdin reads (B5), taken over; or NULL */
	bool crowded;       /* much was left behind (exec_leave) */
};

enum exec_state {
	EXEC_NONE,      /* not started */
	EXEC_RUNNING,
	EXEC_STOPPING,  /* SIGTERM sent, until the group is gone or `deadline` */
	EXEC_KILLED,    /* SIGKILL sent */
	EXEC_ENDED      /* its status and output are there; see exec_left() */
};

struct exec {
	enum exec_state state;
	pid_t group;          /* the leader's pid, until it is reaped; else 0 */
	int status;           /* 0 to 255, or 128+N; when leader_gone */
	bool leader_gone;     /* it is a zombie, or reaped */
	bool reminded;        /* the second SIGTERM of E2 has been sent */
	int64_t started;      /* ms */
	int64_t deadline;     /* ms; of the grace, while stopping */
	int64_t look;         /* ms; when to look at the group again */
	int64_t pause;        /* ms from that look to the next */
	int out, err, in;     /* our ends of its pipes; -1 closed */
	int out_place, err_place, in_place;
	struct crowd *crowd;  /* where `out` and `err` wait, once left behind */
	struct output *stdout_text, *stderr_text;  /* the owner's; NULL: nobody
	                                            * reads, it is let go */
	struct buf input;     /* still to be written to its stdin */
	size_t written;       /* of it */
	char *mark;           /* its sentinel; NULL: none */
	struct buf held;      /* what may be the beginning of one */
	char *dir;            /* where the shell ended, if it said so (D2) */
};

enum exec_failed { EXEC_FAILED_START, EXEC_FAILED_DIR };

/* Starts it. 0; or -1 with errno, nothing left open, and *what says whether
 * the directory could not be entered or the system is short (E7). */
int exec_start(struct exec *, const struct command *, struct output *out,
               struct output *err, int64_t now, enum exec_failed *what);

void exec_want(struct exec *, struct loop *);
void exec_ready(struct exec *, const struct loop *);
void exec_catch_up(struct exec *);  /* reads what has been printed by now */

void exec_stop(struct exec *, int64_t now);  /* E2: SIGTERM, 5 s, SIGKILL */
void exec_kill(struct exec *, int64_t now);  /* SIGKILL at once */
bool exec_over(struct exec *);  /* has its shell ended, as of now */

/* After the end: does something of it remain, in its group or at its pipes
 * (E4)? Then it has to be kept; exec_stop() still ends the group. */
bool exec_left(const struct exec *);

/* It moves into the crowd, where its pipes are emptied and nothing else is
 * done for it. False when there is no crowd: then it takes part in turns. */
bool exec_leave(struct exec *, struct crowd *);
bool exec_empty(struct exec *);  /* reads its pipes, lets it go; false: both
                                  * have closed */

/* Reaps those whose group has gone. Searches /proc once for all of them. */
void exec_review(struct exec *const list[], int n);

/* Closes and frees everything; a group that is left is forgotten. */
void exec_free(struct exec *);

/* The text given to the shell: trap, command and all (D2, D3). fd is the
 * descriptor for the sentinel. Pure text, for tests. */
void exec_script(struct buf *, const char *shell, const char *mark, int fd,
                 const char *text, size_t len);
int exec_free_digit(const char *text, size_t len);

#endif
