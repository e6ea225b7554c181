#ifndef EXEC_H
#define EXEC_H

/* One command: the script around it, its pipes or terminal, its process group
 * until that has gone (SPEC B2-B5, D2, D3, E, I). Has never heard of sessions.
 *
 * The shell leads a process group of its own and is reaped last: until then the
 * group's number cannot pass to another (E3). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "io.h"
#include "buf.h"
#include "output.h"

struct guard;

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
	struct guard *guard;  /* told of its group (L4); or NULL */
	struct buf *input;  /* what its stdin reads (B5), taken over; or NULL */
};

enum exec_state {
	EXEC_RUNNING,
	EXEC_STOPPING,  /* SIGTERM sent; SIGKILL follows at `deadline` */
	EXEC_KILLED,    /* SIGKILL sent */
	EXEC_ENDED      /* its status and output are there */
};

/* How a command stands: the caller's, filled in as long as there is a struct
 * exec. It stays as it is after exec_free(), which leaves nothing alive or open
 * as far as boris knows; `dir` is the caller's to free. */
struct exec_report {
	enum exec_state state;
	pid_t pid;            /* the shell's */
	bool shell_ended;     /* it is a zombie, or reaped */
	int status;           /* then: 0 to 255, or 128+N */
	bool signalled;       /* it was ended by signal N */
	char pipeline[128];   /* exit codes of its last pipeline, where its own
	                       * hides a failure (B7); else empty */
	char *dir;            /* where it ended, if it told (D2); or NULL */
	bool dir_lost;        /* it told, and there was no memory for that */
	bool lives;           /* its group does, and we hold the number: all of
	                       * it or, after the end, what it left (E4) */
	bool scattered;       /* of that, some has other groups of its session:
	                       * job control, timeout(1) */
	bool open;            /* its pipes may still be written to */
};

struct exec;

/* The commands of one session: one walk through /proc serves all of them.
 * Zeroed: none yet. */
struct exec_list {
	struct exec *first;
	int64_t review;  /* ms; when next to look which orphans live */
};

/* Starts one, its output going to `out` and `err` until it has ended. NULL: it
 * could not be started; errno says why. */
struct exec *exec_start(struct exec_list *, struct exec_command *,
                        struct exec_report *, struct output *out,
                        struct output *err, int64_t now);
/* Closes and frees everything; what is left of a group is forgotten. */
void exec_free(struct exec_list *, struct exec *);

/* From the next dispatch on: SIGTERM, after 5 s SIGKILL (E2); or SIGKILL at
 * once. With a terminal SIGHUP after 1 s, since shells ignore SIGTERM there
 * (T4). */
void exec_stop(struct exec *, bool at_once, int64_t now);

/* Reads what they print, looks at the groups of those whose shell has ended,
 * sends the signals that are due. */
void exec_poll_add(struct exec_list *, struct loop *);
void exec_dispatch(struct exec_list *, const struct loop *);

/* Reads what it has printed until now, and notes whether its shell has
 * ended. */
void exec_read(struct exec *, int64_t now);

/* Types into its terminal, as fast as it is read there (I2). *echoed: the text
 * will be printed back. Returns 0; or -1 with errno, and nothing is typed:
 * ENOTTY it has no terminal, EPIPE the terminal is closed, E2BIG a line is
 * longer than a terminal takes, ENOBUFS too much waits to be read, ENOMEM. */
int exec_type(struct exec *, const struct buf *text, bool *echoed);

/* Does the program on its terminal read single keys (ICANON is off)? */
bool exec_reads_keys(const struct exec *);

/* Does its terminal ask for input (I3)? When it last printed, in ms; 0: it does
 * not ask. *secret: what is typed is not shown. */
int64_t exec_asks(const struct exec *, int64_t now, bool *secret);

#endif
