#ifndef EXEC_H
#define EXEC_H

/* One command: the script around it, its pipes or terminal, its process group
 * until that has gone (SPEC B2-B5, D2, D3, E, I). Has never heard of sessions.
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
	bool terminal;      /* it gets one, all that it prints is `out` (I1) */
	bool no_terminal;   /* exec_start() failed for want of that */
	int no_input;       /* a descriptor that reads end of file (B4) */
	volatile pid_t *slot;  /* where its group's number stands as long as that
	                     * is ours, for the guard (L4); or NULL */
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
	char pipeline[128];   /* exit codes of its last pipeline, where its own
	                       * hides a failure (B7); else empty */
	char *dir;            /* where it ended, if it said so (D2); or NULL */
	bool lives;           /* its number is held: all of it, or, after the
	                       * end, what it left running (E4) */
	bool open;            /* somebody may write to its pipes */
};

struct exec;

/* The commands of one session. One look into /proc, and one signal, does for
 * all of them. Zeroed: none yet. */
struct exec_list {
	struct exec *first;
	int64_t review;  /* ms; not before: look who of the orphans lives */
};

/* Starts one, its output going to `out` and `err` until it has ended. NULL: it
 * could not be, for the reason in errno. */
struct exec *exec_start(struct exec_list *, struct exec_command *,
                        struct output *out, struct output *err, int64_t now);
/* Closes and frees everything; what is left of a group is forgotten. */
void exec_free(struct exec_list *, struct exec *);

/* At the next dispatch: SIGTERM, after 5 s SIGKILL (E2); or that at once. With
 * a terminal SIGHUP after 1 s, since shells ignore SIGTERM there (T4). */
void exec_stop(struct exec *, bool at_once, int64_t now);

/* Reads what they print, looks at the groups of those whose shell has ended,
 * signals, kills after the grace. */
void exec_poll_add(struct exec_list *, struct loop *);
void exec_dispatch(struct exec_list *, const struct loop *);

const struct exec_report *exec_report(const struct exec *);
/* What has been printed, and ended, by now */
void exec_read(struct exec *, int64_t now);

/* Types into its terminal, as fast as it reads (I2). *echoed: the text will be
 * printed back. Returns 0; or -1 with errno, nothing typed: ENOTTY it has no
 * terminal, EPIPE that has been closed, E2BIG a line is longer than a terminal
 * takes, ENOBUFS too much waits to be read, ENOMEM. */
int exec_type(struct exec *, const struct buf *text, bool *echoed);

/* Does its terminal ask for input, or for a secret, which is not shown? (I3) */
bool exec_asks(const struct exec *, int64_t now, bool *secret);

#endif
