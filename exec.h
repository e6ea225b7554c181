/* SPDX-License-Identifier: ISC */
#ifndef EXEC_H
#define EXEC_H

/* One command, from its start until all of its processes have exited (B4, B5,
 * E, I). This module starts the shell, reads its output, writes its input, and
 * terminates it. It does not depend on sessions. */

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
#include "run/prompt.h"
#include "run/script.h"
#include "run/spawn.h"
#include "run/terminal.h"

/* The states of a command. exec.c describes the transitions between them. */
enum exec_state {
	EXEC_NEW,       /* not started yet (the value of a zeroed struct) */
	EXEC_RUNNING,   /* the shell is running */
	EXEC_SETTLING,  /* the shell has exited; other processes of the command
	                 * may be about to exit */
	EXEC_ORPHANED,  /* the command has ended; processes that it started may
	                 * still be running (E4) */
	EXEC_SURVIVED,  /* boris could not terminate a process of the command
	                 * (E12) */
	EXEC_STOPPING,  /* SIGTERM was sent, and SIGKILL will follow */
	EXEC_KILLED,    /* SIGKILL was sent */
	EXEC_GONE       /* all processes of the command have exited */
};

/* Indexes of the pipes of a command */
enum {
	EXEC_IN,       /* pipe to the command's stdin */
	EXEC_OUT,      /* pipe from the command's stdout, or the master side of
	                * its terminal */
	EXEC_ERR,      /* pipe from the command's stderr */
	EXEC_DIR,      /* pipe through which the shell reports its last
	                * directory */
	EXEC_PIPES,    /* number of pipes */
	/* index of the terminal's slave side, which boris keeps open because
	 * the program may close its own descriptors */
	EXEC_SLAVE = EXEC_IN
};

/* The reason why a shell that exited by itself did not report its directory
 * (D2) */
enum exec_report {
	REPORT_OK,        /* the shell has reported its directory, or did not
	                   * need to */
	REPORT_NO_FD,     /* the descriptor for the report was not available */
	REPORT_REPLACED,  /* another program has replaced the shell (exec) */
	REPORT_TRAP,      /* the command seems to set its own EXIT trap */
	REPORT_LOST       /* the reason is unknown */
};

struct exec {
	/* The members below are set by the caller of exec_start(). */
	struct buf text;      /* text of the command, without a NUL */
	struct buf input;     /* bytes for the command's stdin (B5) */
	bool has_input;       /* true if stdin is a pipe that gets `input` */
	bool terminal;        /* true if the command runs in a terminal; all
	                       * output then comes from EXEC_OUT (I1) */
	bool reports_dir;     /* true if the shell must report its current
	                       * directory when it exits */
	enum environment_kind env;

	/* The members below are results. All modules may read them. */
	enum exec_state state;
	bool ended;           /* true if the exit status and the output are
	                       * complete */
	bool starting;        /* true if the program has not started yet */
	struct proc_outcome outcome;  /* result of starting the program, set
	                               * when the command has ended */
	pid_t pid;            /* pid of the shell */
	bool shell_ended;     /* true if the shell has exited */
	int status;           /* exit status of the shell, 0 to 255, or 128 + N
	                       * after signal N */
	bool signalled;       /* true if a signal has killed the shell, other
	                       * than Ctrl-C or Ctrl-\ in a terminal */
	char *pipeline;       /* exit codes of the last pipeline if `status`
	                       * hides a failure, or NULL (B7) */
	char *dir;            /* directory that the shell has reported, or
	                       * NULL */
	enum exec_report report;
	bool orphans;         /* true if the command has left processes running
	                       * (E4) */
	bool other_groups;    /* true if some of the processes left running are
	                       * in other process groups */
	bool foreign;         /* true if the process that boris could not
	                       * terminate belongs to another user, false if it
	                       * is stuck in the kernel */
	pid_t survivor;       /* pid of a process that boris could not
	                       * terminate, or 0 if unknown; set in
	                       * EXEC_SURVIVED */
	bool open;            /* true while stdout or stderr is open */
	bool no_terminal;     /* true if the command was not started because no
	                       * terminal was available */

	/* The members below are private to exec.c. */
	struct list_node node;  /* node in the session's list of commands */
	bool listed;            /* true if `node` is in the list */
	const struct options *options;
	struct proc_group *group;  /* process group, shared with the guard
	                            * process; NULL before the start and in
	                            * EXEC_GONE */
	int64_t entered_at;   /* start of the current state, ms */
	int64_t poll_at;      /* time of the next poll of the group, ms */
	bool polled;          /* true if exec_dispatch() has polled the group in
	                       * this turn */
	struct prompt_history history;  /* times of input and output in the
	                                 * terminal, and the last check for a
	                                 * prompt */
	int64_t stopped_at;   /* time of the last search for a stopped process
	                       * group, ms */
	pid_t stopped;        /* stopped process group in the terminal, or 0 */
	int stop_signal;      /* signal that has stopped the process group; 0 if
	                       * unknown */
	size_t line;          /* length of the unfinished input line in the
	                       * terminal, bytes */
	int fd[EXEC_PIPES];   /* boris's ends of the pipes, or -1 */
	int shell_fd[EXEC_PIPES];  /* ends of the pipes that the shell gets, or
	                            * -1 */
	int poll[EXEC_PIPES]; /* indexes of the pipes in the poll set */
	int outcome_fd;       /* pipe that spawn() returns, or -1 */
	int outcome_poll;     /* index of outcome_fd in the poll set */
	struct output *sink[EXEC_PIPES];  /* destinations of the output; NULL to
	                                   * discard it */
	struct queue unread;  /* input that is not written yet */
	struct script script;
};

/* The functions below take a list of the commands of one session. */

/* Starts a command, whose output is appended to `out` and `err`. Returns 0, or
 * -1 with errno set and the state EXEC_NEW. The result can be 0 even if the
 * program cannot be executed. In that case, the command ends soon with an error
 * in `outcome`. */
int exec_start(struct list *, struct exec *, const struct options *,
               const struct spawn_dirs *, struct output *out,
               struct output *err, int64_t now);
/* Removes a command from the list, if it is in the list, and frees what exec.c
 * has allocated. The caller frees `text`, `input`, `pipeline` and `dir`. */
void exec_free(struct list *, struct exec *);
/* Starts to terminate a command. exec_dispatch() sends the signals (E2). Does
 * nothing if a process of the command has survived SIGKILL. */
void exec_stop(struct exec *, int64_t now);
/* Ends a command in EXEC_SURVIVED although its shell is still running. Discards
 * further output. */
void exec_end_survivor(struct exec *, int64_t now);
/* Polls all commands that are being terminated, before boris exits. A command
 * enters EXEC_SURVIVED if one of its processes belongs to another user. */
void exec_poll_stopping(struct list *, const struct options *, int64_t now);
/* Appends a description of the process that boris could not terminate. The
 * command must be in EXEC_SURVIVED. */
void exec_put_survivor(const struct exec *, struct buf *);

/* Closes boris's copies of the writing ends of the output pipes, so that a
 * command that runs for a long time uses fewer descriptors. */
void exec_close_shell_output(struct exec *);

/* Adds the descriptors and deadlines of the commands to the poll set. */
void exec_poll_add(const struct list *, struct loop *);
/* Reads the output and writes the input of the commands, polls their process
 * groups, and sends the signals that are due. */
void exec_dispatch(struct list *, const struct options *,
                   const struct loop *);
/* Reads the output that is available now, and checks whether the shell has
 * exited. */
void exec_read(struct exec *, int64_t now);

/* Returns the name of the signal that has killed the shell, such as "SIGPIPE",
 * or NULL. */
const char *exec_signal(const struct exec *);

/* Types text into the terminal of a command. Text that the terminal does not
 * accept yet is queued (I2). Sets *mode to the mode of the terminal. Returns 0,
 * or -1 with errno set if nothing was typed. ENOTTY means that the command has
 * no terminal, EPIPE that the terminal is closed, E2BIG that a line is too
 * long, ENOBUFS that too much input is unread, and ENOMEM that memory is
 * short. */
int exec_type(struct exec *, const struct buf *, int64_t now,
              enum terminal_mode *mode);
/* Types a complete line into a terminal that does not echo. Returns 0, or -1 if
 * the terminal echoes or does not accept the line. */
int exec_type_unseen(struct exec *, const char *line, size_t n, int64_t now);

/* Reads the output of a terminal, and returns whether a program prompts for
 * input in it (I3). */
struct prompt exec_read_prompt(struct exec *, int64_t now);
/* Returns whether a program prompts for input in a terminal that does not echo.
 * If the terminal echoes, the returned state is always TERMINAL_BUSY. */
struct prompt exec_read_secret_prompt(struct exec *, int64_t now);
/* Returns a stopped process group in the terminal. Returns 0 if there is none,
 * or if a program may be reading from the terminal. Sets *signo to the signal
 * that has stopped the group, or to 0 if the signal is unknown. */
pid_t exec_find_stopped(struct exec *, int64_t now, int *signo);

#endif
