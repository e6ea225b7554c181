#ifndef EXEC_H
#define EXEC_H

/* One command: its pipes or terminal, its process group, its states (B4, B5, E,
 * I). Has never heard of sessions. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/io.h"
#include "base/list.h"
#include "base/options.h"
#include "output/output.h"
#include "run/environment.h"
#include "run/proc.h"
#include "run/script.h"
#include "run/spawn.h"
#include "run/terminal.h"

enum exec_state {  /* exec.c has them drawn */
	EXEC_NEW,       /* zeroed: not started */
	EXEC_RUNNING,   /* its shell runs */
	EXEC_SETTLING,  /* its shell has ended: does anything of it go on? */
	EXEC_LINGERS,   /* it has ended, what it left running may go on (E4) */
	EXEC_SURVIVED,  /* boris cannot end what is left of it (E12) */
	EXEC_STOPPING,  /* SIGTERM sent, SIGKILL will be */
	EXEC_KILLED,    /* SIGKILL sent */
	EXEC_GONE       /* it has ended, and nothing of it is left to signal */
};

/* A command's pipes: to its descriptors 0, 1 and 2, and the one over which its
 * shell tells the directory it ends in. A terminal's master is EXEC_OUT; boris
 * keeps the other end open as EXEC_SLAVE: its program may close its own. */
enum {
	EXEC_IN, EXEC_OUT, EXEC_ERR, EXEC_DIR, EXEC_PIPES, EXEC_SLAVE = EXEC_IN
};

/* Why a shell that exited by itself did not report its directory (D2) */
enum exec_report {
	REPORT_OK,        /* it did; or there is nothing to report */
	REPORT_NO_FD,     /* it lacked the descriptor for that */
	REPORT_REPLACED,  /* another program has replaced it (exec) */
	REPORT_TRAP,      /* the command seems to set its own EXIT trap */
	REPORT_LOST       /* for an unknown reason */
};

struct exec {
	/* What to run. Whoever starts it fills this in. */
	struct buf text;      /* the command, without a NUL */
	struct buf input;     /* what its stdin reads (B5) */
	bool has_input;
	bool terminal;        /* it gets one, and prints to EXEC_OUT (I1) */
	bool tells_dir;       /* it is to tell in what directory it ends */
	enum environment_kind env;

	/* How it stands. Others read it. */
	enum exec_state state;
	bool ended;           /* its status and output are there */
	bool starting;        /* its program has not started yet, ... */
	struct proc_outcome outcome;  /* ... how far it came, once it has ended */
	pid_t pid;            /* the shell's */
	bool shell_ended;     /* it is a zombie, or reaped */
	int status;           /* then: 0 to 255, or 128+N */
	bool signalled;       /* it was ended by a signal, not by Ctrl-C */
	char *pipeline;       /* exit codes, if `status` hides one (B7) */
	char *dir;            /* where it ended, if it told; or NULL */
	enum exec_report report;
	bool orphans;         /* it has left processes running (E4), ... */
	bool elsewhere;       /* ... some in other groups of its session */
	bool foreign;         /* EXEC_SURVIVED: it belongs to another user; else
	                       * it is stuck in the kernel */
	pid_t survivor;       /* EXEC_SURVIVED: its pid; 0: not known */
	bool open;            /* its pipes may still be written to */
	bool no_terminal;     /* it was not started for want of a terminal */

	/* exec.c's alone; times in ms */
	struct list_node node;  /* in the session's list, if `listed` */
	bool listed;
	const struct options *options;
	struct proc_group *group;  /* the guard's; NULL: not begun, or gone */
	int64_t deadline;     /* when the state ends by itself */
	int64_t poll_at;      /* when to poll an ended shell's group */
	int64_t typed_at;     /* when input came last, or the start */
	int64_t printed_at;   /* when output did; 0: none since then */
	int64_t checked_at;   /* when `prompt` was found */
	enum terminal_prompt prompt;
	size_t line;          /* bytes of the unfinished line that was typed */
	int fd[EXEC_PIPES];   /* our ends of its pipes; -1: none, or closed */
	int poll[EXEC_PIPES]; /* their indexes in the poll set */
	int outcome_fd;       /* at its end when `starting` is over; or -1 */
	int outcome_poll;     /* its index */
	struct output *sink[EXEC_PIPES];  /* the owner's; NULL: dropped */
	struct queue unread;  /* input that is still to be written, or typed */
	struct script script;
};

/* In the functions below the list has the commands of one session. */

/* Starts it; its output goes to `out` and `err` until it has ended. 0; or -1
 * with errno, and the state is EXEC_NEW. Whether its directory can be entered
 * and its program started is known later: `starting` is false then; if that
 * failed, the command ends soon, with an error in `outcome`. */
int exec_start(struct list *, struct exec *, const struct options *,
               const struct spawn_dirs *, struct output *out,
               struct output *err, int64_t now);
/* Takes it out of the list, if it is there, and frees what is exec.c's; `text`,
 * `input`, `pipeline` and `dir` are the owner's, the group is the guard's. */
void exec_free(struct list *, struct exec *);
/* Ends it; the first signal goes out in the next dispatch (E2). Does nothing if
 * a process of it is stuck in the kernel. */
void exec_stop(struct exec *, int64_t now);
/* Ends a command in EXEC_SURVIVED whose shell still runs: its further output is
 * dropped. */
void exec_abandon(struct exec *, int64_t now);
/* Polls the commands that are being ended once more, before boris exits. Those
 * that boris cannot end are in EXEC_SURVIVED afterwards. */
void exec_poll_ending(struct list *, const struct options *, int64_t now);
/* Appends a sentence about the process that survives in EXEC_SURVIVED. */
void exec_put_survivor(const struct exec *, struct buf *);

/* Reads what they print, polls their groups, sends the signals that are due. */
void exec_poll_add(const struct list *, struct loop *);
void exec_dispatch(struct list *, const struct options *,
                   const struct loop *);
void exec_read(struct exec *, int64_t now);  /* and sees whether it has ended */

/* The name of the signal in its status: "SIGPIPE"; or NULL */
const char *exec_signal(const struct exec *);

/* Types into its terminal, as fast as it is read (I2). *mode: how that is set.
 * 0; or -1 with errno, and nothing is typed: ENOTTY it has none, EPIPE it is
 * closed, E2BIG a line would be cut, ENOBUFS too much is unread, ENOMEM. */
int exec_type(struct exec *, const struct buf *, int64_t now,
              enum terminal_mode *mode);
/* Types a whole line that its terminal takes unseen; -1: it does not. */
int exec_type_unseen(struct exec *, const char *line, size_t n, int64_t now);

/* Does its terminal ask for input (I3)? */
struct exec_prompt {
	enum terminal_prompt state;
	bool at_work;   /* its program does not read it, for certain */
	bool secret;    /* what is typed is not shown; or it is closed */
	int64_t since;  /* ms; when something was last printed or typed */
	int64_t again;  /* ms; when there may be another answer */
};
/* EXEC_SECRET: only a terminal that takes lines unseen is looked at. */
enum exec_look { EXEC_ANY, EXEC_SECRET };
struct exec_prompt exec_prompts(struct exec *, enum exec_look, int64_t now);
/* Returns a stopped process group on its terminal, and by which signal it was
 * stopped, as terminal_stopped() does; or 0. */
pid_t exec_stopped(const struct exec *, int *signo);

#endif
