#ifndef EXEC_H
#define EXEC_H

/* One command: its pipes or terminal, its process group, its states (B4, B5, E,
 * I). This module does not depend on sessions. */

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

enum exec_state {  /* exec.c describes what leads from one to the next. */
	EXEC_NEW,       /* zeroed: not started */
	EXEC_RUNNING,   /* its shell runs */
	EXEC_SETTLING,  /* its shell has ended; other processes may be ending */
	EXEC_LINGERS,   /* it has ended; processes that it has left running may
	                 * live (E4) */
	EXEC_SURVIVED,  /* boris cannot end a process of it (E12) */
	EXEC_STOPPING,  /* SIGTERM was sent, SIGKILL follows */
	EXEC_KILLED,    /* SIGKILL was sent */
	EXEC_GONE       /* it has ended, and no process of it lives */
};

/* The pipes of a command, as indexes */
enum {
	EXEC_IN,       /* to its stdin */
	EXEC_OUT,      /* from its stdout; or its terminal's master */
	EXEC_ERR,      /* from its stderr */
	EXEC_DIR,      /* from the shell, which reports its last directory */
	EXEC_PIPES,    /* the number of them */
	/* The terminal's slave, which boris keeps open since the program may
	 * close its own */
	EXEC_SLAVE = EXEC_IN
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
	/* What to run; filled in by the caller of exec_start() */
	struct buf text;      /* the command, without a NUL */
	struct buf input;     /* bytes for its stdin (B5) */
	bool has_input;       /* its stdin is a pipe, with `input` in it */
	bool terminal;        /* it gets a terminal, and prints to EXEC_OUT (I1) */
	bool reports_dir;     /* its shell is to report its last directory */
	enum environment_kind env;

	/* Results, for all modules to read */
	enum exec_state state;
	bool ended;           /* its status and output are complete */
	bool starting;        /* its program has not started yet */
	struct proc_outcome outcome;  /* once it has ended: how far it came */
	pid_t pid;            /* pid of its shell */
	bool shell_ended;     /* its shell is a zombie, or reaped */
	int status;           /* if shell_ended: 0 to 255, or 128+N */
	bool signalled;       /* it was killed by a signal, not by Ctrl-C */
	char *pipeline;       /* exit codes, if `status` hides a failure (B7) */
	char *dir;            /* the directory that it has reported; or NULL */
	enum exec_report report;
	bool orphans;         /* it has left processes running (E4) */
	bool elsewhere;       /* some of these have other groups of its session */
	bool foreign;         /* in EXEC_SURVIVED: the survivor belongs to
	                       * another user; else it is stuck in the kernel */
	pid_t survivor;       /* in EXEC_SURVIVED: a pid; 0: not known */
	bool open;            /* its output is read; more may come */
	bool no_terminal;     /* it was not started, as no terminal was
	                       * available */

	/* For exec.c alone */
	struct list_node node;  /* in the session's list, if `listed` */
	bool listed;
	const struct options *options;
	struct proc_group *group;  /* the guard's; NULL: not started, or gone */
	int64_t entered_at;   /* start of the current state, ms */
	int64_t deadline;     /* end of the current state, ms */
	int64_t poll_at;      /* time of the next poll of the group, ms */
	int64_t typed_at;     /* time of the last input or else the start, ms */
	int64_t printed_at;   /* time of the last output, ms; 0: none since the
	                       * last input */
	int64_t checked_at;   /* time when `prompt` was found, ms */
	enum terminal_prompt prompt;
	int64_t stopped_at;   /* time when `stopped` was found, ms */
	pid_t stopped;        /* a stopped process group on its terminal, or 0 */
	int stop_signal;      /* what has stopped it; 0: unknown */
	size_t line;          /* bytes in the unfinished line that was typed */
	int fd[EXEC_PIPES];   /* boris's ends of the pipes; -1: none, or closed */
	int poll[EXEC_PIPES]; /* their indexes in the poll set */
	int outcome_fd;       /* a pipe at its end if the start is over; or -1 */
	int outcome_poll;     /* its index in the poll set */
	struct output *sink[EXEC_PIPES];  /* the caller's; NULL: output is
	                                   * dropped */
	struct queue unread;  /* input that is not written yet */
	struct script script;
};

/* In the functions below the list has the commands of one session. */

/* Starts the command. Its output goes to `out` and `err` until it has ended.
 * Returns 0, or -1 with errno set, and the state is EXEC_NEW then. Whether its
 * program could be started in that directory is known later: `starting` is
 * false then, and if it failed, the command ends soon, with an error in
 * `outcome`. */
int exec_start(struct list *, struct exec *, const struct options *,
               const struct spawn_dirs *, struct output *out,
               struct output *err, int64_t now);
/* Removes the command from the list, if it is in it, and frees what exec.c has
 * allocated. `text`, `input`, `pipeline` and `dir` are the caller's. */
void exec_free(struct list *, struct exec *);
/* Starts to end the command; the first signal is sent in the next dispatch
 * (E2). Does nothing if a process of it is stuck in the kernel. */
void exec_stop(struct exec *, int64_t now);
/* Ends a command in EXEC_SURVIVED whose shell still runs. Its further output is
 * dropped. */
void exec_write_off(struct exec *, int64_t now);
/* Polls the commands that are being ended once more, before boris exits. Those
 * that boris cannot end are in EXEC_SURVIVED afterwards. */
void exec_poll_ending(struct list *, const struct options *, int64_t now);
/* Appends a sentence about the process that survives in EXEC_SURVIVED. */
void exec_put_survivor(const struct exec *, struct buf *);

/* Adds the commands' descriptors and deadlines to the poll set. */
void exec_poll_add(const struct list *, struct loop *);
/* Reads output, writes input, polls the groups and sends the signals that are
 * due. */
void exec_dispatch(struct list *, const struct options *,
                   const struct loop *);
/* Reads the output that is ready, and notes whether the shell has ended. */
void exec_read(struct exec *, int64_t now);

/* Returns the name of the signal in the status ("SIGPIPE"), or NULL. */
const char *exec_signal(const struct exec *);

/* Types text into the command's terminal, as fast as it is read (I2). Sets
 * *mode to the terminal's mode. Returns 0, or -1 with errno set, and then
 * nothing is typed: ENOTTY (no terminal), EPIPE (closed), E2BIG (a line is too
 * long), ENOBUFS (too much is unread), ENOMEM. */
int exec_type(struct exec *, const struct buf *, int64_t now,
              enum terminal_mode *mode);
/* Types a complete line into a terminal that does not echo. Returns 0, or -1 if
 * the terminal echoes. */
int exec_type_unseen(struct exec *, const char *line, size_t n, int64_t now);

/* Whether a command's terminal prompts for input (I3) */
struct exec_prompt {
	enum terminal_prompt state;
	bool at_work;   /* its program certainly does not read the terminal */
	bool secret;    /* the terminal does not echo, or is closed */
	int64_t since;  /* time of the last output or input, ms */
	int64_t again;  /* when the result may change, ms */
};
/* Finds out whether the terminal prompts, and reads its output. */
struct exec_prompt exec_read_prompt(struct exec *, int64_t now);
/* Does the same for a terminal that does not echo. Others are not checked, and
 * count as TERMINAL_BUSY. */
struct exec_prompt exec_read_secret_prompt(struct exec *, int64_t now);
/* Returns a stopped process group on its terminal, and by which signal it was
 * stopped, as terminal_stopped() does; or 0, also if its program may read the
 * terminal. */
pid_t exec_find_stopped(struct exec *, int64_t now, int *signo);

#endif
