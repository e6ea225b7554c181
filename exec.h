#ifndef EXEC_H
#define EXEC_H

/* One command: its pipes or terminal, its process group, its states (SPEC B4,
 * B5, E, I). Has never heard of sessions. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "io.h"
#include "buf.h"
#include "output.h"
#include "terminal.h"

struct guard;
struct exec;

/* What to run; all of it is the caller's, until exec_start() has returned. */
struct exec_command {
	const char *shell;  /* absolute path; run as SHELL -c (B2) */
	const char *text;   /* without NUL bytes; `len` of them */
	size_t len;
	const char *dir;    /* absolute; where it starts */
	char **env;         /* env[0] is set to PWD; the rest is kept */
	bool tells_dir;     /* it tells in which directory it ends (D2) */
	bool terminal;      /* it gets one; `out` is all that it prints (I1) */
	bool no_terminal;   /* set by exec_start(): there was none to be had */
	int no_input;       /* a descriptor that reads end of file (B4) */
	struct guard *guard;  /* told of its group (L4); outlives the list */
	struct buf *input;  /* what its stdin reads (B5), taken over; or NULL */
};

enum exec_state {  /* exec.c has them drawn */
	EXEC_RUNNING,   /* its shell runs */
	EXEC_LEAVING,   /* its shell has ended: does anything of it go on? */
	EXEC_LEFT,      /* it has ended, what it left running may go on (E4) */
	EXEC_STOPPING,  /* SIGTERM sent, SIGKILL will be */
	EXEC_KILLED,    /* SIGKILL sent */
	EXEC_GONE       /* it has ended, and nothing of it is left to signal */
};

/* How a command stands: the caller's, filled in as long as there is a struct
 * exec. It stays as it is after exec_free(); `dir` is the caller's to free. */
struct exec_report {
	enum exec_state state;
	bool ended;           /* its status and output are there */
	pid_t pid;            /* the shell's */
	bool shell_ended;     /* it is a zombie, or reaped */
	int status;           /* then: 0 to 255, or 128+N */
	bool signalled;       /* it was ended by signal N */
	char pipeline[128];   /* exit codes, where its own hides one (B7) */
	char *dir;            /* where it ended, if it told (D2); or NULL */
	bool dir_lost;        /* it told, and there was no memory for that */
	bool orphans;         /* it has left processes running (E4), ... */
	bool elsewhere;       /* ... some in other groups of its session */
	bool open;            /* its pipes may still be written to */
};

struct exec_list {  /* of one session's commands; zeroed: none yet */
	struct exec *first;
	struct guard *guard;  /* of all of them */
};

/* Starts one, its output going to `out` and `err` until it has ended. NULL with
 * errno: it could not be started. */
struct exec *exec_start(struct exec_list *, struct exec_command *,
                        struct exec_report *, struct output *out,
                        struct output *err, int64_t now);
void exec_free(struct exec_list *, struct exec *);  /* the group is left */

/* The guard holds its pipes or terminal too, in case boris is killed (L1). */
void exec_share(const struct exec *);
/* Ends it; the first signal goes out in the next dispatch (E2). */
void exec_stop(struct exec *, int64_t now);

/* Reads what they print, polls their groups, sends the signals that are due. */
void exec_poll_add(struct exec_list *, struct loop *);
void exec_dispatch(struct exec_list *, const struct loop *);
void exec_read(struct exec *, int64_t now);  /* and sees whether it has ended */
/* Types into its terminal, as fast as it is read (I2). *echoed: it is printed
 * back. 0; or -1 with errno, and nothing is typed: ENOTTY it has none, EPIPE it
 * is closed, E2BIG a line would be cut, ENOBUFS too much is unread, ENOMEM. */
int exec_type(struct exec *, const struct buf *, int64_t now, bool *echoed);
bool exec_reads_keys(const struct exec *);  /* its terminal has ICANON off */
/* Does its terminal prompt for input (I3)? */
struct exec_prompt {
	enum terminal_prompt state;
	bool at_work;   /* its program does not read it, for certain */
	bool secret;    /* it takes lines unseen; or nobody knows */
	int64_t since;  /* ms; of what was last printed or typed */
	int64_t again;  /* ms; when there may be another answer */
};
struct exec_prompt exec_prompts(struct exec *, int64_t now);
/* The same of one that takes lines unseen. fresh: found anew (I5). */
struct exec_prompt exec_asks_secret(struct exec *, bool fresh, int64_t now);
/* Types a whole line there, unseen, and keeps no copy; -1: it does not. */
int exec_type_unseen(struct exec *, const char *line, size_t n, int64_t now);

#endif
