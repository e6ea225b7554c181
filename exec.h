#ifndef EXEC_H
#define EXEC_H

/* One command: the script around it, its pipes, its process group until that
 * has gone (SPEC B2-B5, D2, D3, E). Has never heard of sessions.
 *
 * The shell leads a group of its own and is reaped last: as long as a command
 * has a group the number is ours, dead or alive (E3). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "io.h"
#include "json.h"
#include "output.h"

/* What to run; all of it is the caller's, until exec_start() has returned. */
struct exec_command {
	const char *shell;  /* absolute path; run as SHELL -c (B2) */
	const char *text;   /* without NUL bytes; `len` of them */
	size_t len;
	const char *dir;    /* absolute; where it starts */
	char **env;         /* env[0] is set to PWD; the rest is kept */
	bool tells_dir;     /* it is asked in which directory it ends (D2) */
	int no_input;       /* a descriptor that reads end of file (B4) */
	volatile pid_t *place;  /* where its group's number is to stand as long as
	                     * that is ours, for the guard (L4); or NULL */
	struct buf *input;  /* what its stdin reads (B5), taken over; or NULL */
};

enum exec_state {
	EXEC_RUNNING,
	EXEC_STOPPING,  /* SIGTERM sent, until the group is gone or `deadline` */
	EXEC_KILLED,    /* SIGKILL sent */
	EXEC_ENDED      /* its status and output are there */
};

/* How a command stands */
struct exec_report {
	enum exec_state state;
	pid_t pid;            /* the shell's */
	bool shell_ended;     /* it is a zombie, or reaped */
	int status;           /* then: 0 to 255, or 128+N */
	bool signalled;       /* it was ended by signal N */
	char pipeline[128];   /* exit codes of its last pipeline, if it said so
	                       * and there were several; else empty (B7) */
	char *dir;            /* where it ended, if it said so (D2); or NULL */
	bool lives;           /* its number is held: all of it, or, after the
	                       * end, what it left running (E4) */
	bool open;            /* somebody may write to its pipes */
};

enum exec_failed { EXEC_FAILED_START, EXEC_FAILED_DIR };

struct exec;

/* Starts it, its output going to `out` and `err`. NULL: it could not be, for
 * the reason in errno, and *what says whether it was the directory. */
struct exec *exec_start(const struct exec_command *, struct output *out,
                        struct output *err, int64_t now,
                        enum exec_failed *what);
/* Closes and frees everything; what is left of a group is forgotten. */
void exec_free(struct exec *);

void exec_poll_add(struct exec *, struct loop *);
void exec_dispatch(struct exec *, const struct loop *);

/* Moves n commands on: looks at the groups of those whose shell has ended,
 * signals again, kills after the grace. One look into /proc does for many. */
void exec_advance(struct exec *const list[], int n, int64_t now);

const struct exec_report *exec_report(const struct exec *);
void exec_read(struct exec *);  /* what has been printed, and ended, by now */

/* To n commands at once: SIGTERM, after 5 s SIGKILL (E2); or that at once. */
void exec_stop(struct exec *const list[], int n, int64_t now);
void exec_kill(struct exec *const list[], int n, int64_t now);

/* After the end somebody may hold its pipes still (E4): what is printed there is
 * read, so that it is not blocked, and let go. */
void exec_forget_output(struct exec *);
void exec_look_again(struct exec *);  /* at its group, at the next advance */

#endif
