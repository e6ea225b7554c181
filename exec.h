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
	                 * may still be exiting */
	EXEC_ORPHANED,  /* the command has ended, but processes that it started
	                 * may still be running (E4) */
	EXEC_SURVIVED,  /* boris could not terminate one of the command's
	                 * processes (E12) */
	EXEC_STOPPING,  /* SIGTERM has been sent; SIGKILL will follow */
	EXEC_KILLED,    /* SIGKILL has been sent */
	EXEC_GONE       /* all processes of the command have exited */
};

/* Indexes of a command's pipes */
enum {
	EXEC_IN,       /* pipe to the command's stdin */
	EXEC_OUT,      /* pipe from the command's stdout, or the master side of
	                * its terminal */
	EXEC_ERR,      /* pipe from the command's stderr */
	EXEC_DIR,      /* pipe through which the EXIT trap reports the shell's
	                * last working directory */
	EXEC_PIPES,    /* number of pipes */
	/* index of boris's own descriptor for the terminal's slave side; boris
	 * keeps this side open because the program may close it */
	EXEC_SLAVE = EXEC_IN
};

/* The reason why a shell that exited on its own did not report its working
 * directory (D2) */
enum exec_report {
	REPORT_OK,        /* the shell reported its directory, or was not
	                   * expected to */
	REPORT_NO_FD,     /* the open-file limit left the shell without a
	                   * descriptor for its report */
	REPORT_REPLACED,  /* the shell was replaced by another program (exec) */
	REPORT_TRAP,      /* the command seems to set its own EXIT trap */
	REPORT_LOST       /* the reason is unknown */
};

struct exec {
	/* The members below are set by the caller of exec_start(). */
	struct buf text;      /* text of the command, not NUL-terminated */
	struct buf input;     /* bytes for the command's stdin (B5) */
	bool has_input;       /* true if stdin is a pipe through which `input`
	                       * is sent */
	bool terminal;        /* true if the command runs in a terminal; all
	                       * output then comes from EXEC_OUT (I1) */
	bool reports_dir;     /* true if the shell must report its working
	                       * directory when it exits */
	enum environment_kind env;

	/* The members below are set by exec.c. All modules may read them. */
	enum exec_state state;
	bool ended;           /* true once the exit status and all output are
	                       * available */
	bool starting;        /* true while the program is being started */
	struct proc_outcome outcome;  /* result of the attempt to start the
	                               * program, valid once `ended` is true */
	pid_t pid;            /* pid of the shell */
	bool shell_ended;     /* true if the shell has exited */
	int status;           /* exit status of the shell, 0 to 255, or 128 + N
	                       * after signal N */
	bool signalled;       /* true if the shell was killed by a signal; for a
	                       * command in a terminal, SIGINT (Ctrl-C) and
	                       * SIGQUIT (Ctrl-\) do not count */
	char *pipeline;       /* exit codes of the last pipeline, if one of its
	                       * programs failed but `status` does not reflect
	                       * this; otherwise NULL (B7) */
	char *dir;            /* working directory reported by the shell, or
	                       * NULL */
	enum exec_report report;
	bool orphans;         /* true if the command left processes running
	                       * (E4) */
	bool other_groups;    /* true if the command left processes running
	                       * outside its shell's process group */
	bool foreign;         /* true if the process that boris could not
	                       * terminate belongs to another user, false if the
	                       * process is stuck in the kernel */
	pid_t survivor;       /* pid of a process that boris could not
	                       * terminate, or 0 if unknown; valid in
	                       * EXEC_SURVIVED */
	bool open;            /* true while at least one of stdout and stderr is
	                       * open */
	bool no_terminal;     /* true if the command was not started because no
	                       * terminal was available */

	/* The members below are private to exec.c. */
	struct list_node node;  /* node in the session's list of commands */
	bool listed;            /* true if `node` is in the list */
	const struct options *options;
	struct proc_group *group;  /* process group, in memory shared with the
	                            * guard process; NULL before the shell is
	                            * started and after all processes have
	                            * exited */
	int64_t entered_at;   /* time at which the current state was entered, in
	                       * ms */
	int64_t poll_at;      /* time of the next poll of the process group, in
	                       * ms */
	bool polled;          /* true if exec_dispatch() has polled the process
	                       * group in this iteration of the event loop */
	struct prompt_history history;  /* times of the last input, the last
	                                 * output and the last prompt check in
	                                 * the terminal */
	int64_t stopped_at;   /* time of the last search for a stopped process
	                       * group, in ms */
	pid_t stopped;        /* id of the stopped process group in the
	                       * terminal, or 0 */
	int stop_signal;      /* signal that stopped the process group; 0 if
	                       * unknown */
	size_t line;          /* length of the unfinished input line in the
	                       * terminal, in bytes */
	int fd[EXEC_PIPES];   /* boris's ends of the pipes, or -1 */
	int shell_fd[EXEC_PIPES];  /* the shell's ends of the pipes, or -1 */
	int poll[EXEC_PIPES]; /* poll set indexes of the descriptors in `fd`, or
	                       * -1 */
	int outcome_fd;       /* pipe that spawn() returns, or -1 */
	int outcome_poll;     /* index of outcome_fd in the poll set */
	struct output *sink[EXEC_PIPES];  /* destination of each pipe's output;
	                                   * NULL to discard it */
	struct queue unread;  /* input that is not written yet */
	struct script script;
};

/* The functions below take a list of one session's commands. */

/* Starts a command. Its output will be appended to `out` and `err`. Returns 0.
 * On failure, sets errno, leaves the command in the state EXEC_NEW and returns
 * -1. If the program cannot be executed, the function may still return 0. In
 * that case, the command ends shortly afterwards with an error in `outcome`. */
int exec_start(struct list *, struct exec *, const struct options *,
               const struct spawn_dirs *, struct output *out,
               struct output *err, int64_t now);
/* Removes a command from the list, if present, and frees what exec.c has
 * allocated. The caller frees `text`, `input`, `pipeline` and `dir`. */
void exec_free(struct list *, struct exec *);
/* Starts terminating a command. exec_dispatch() sends the signals (E2). Does
 * nothing if one of the command's processes has survived SIGKILL. */
void exec_stop(struct exec *, int64_t now);
/* Gives up on a command in EXEC_SURVIVED: ends it without waiting for its
 * shell, which boris could not terminate. Discards further output. */
void exec_end_survivor(struct exec *, int64_t now);
/* Polls the commands that are being terminated one last time before the session
 * is freed. A command enters EXEC_SURVIVED if its remaining processes belong to
 * another user, because boris cannot terminate them. */
void exec_poll_stopping(struct list *, const struct options *, int64_t now);
/* Appends a description of the process that boris could not terminate. The
 * command must be in the state EXEC_SURVIVED. */
void exec_put_survivor(const struct exec *, struct buf *);

/* Closes boris's copies of the write ends of the output pipes, so that a
 * long-running command uses fewer descriptors. */
void exec_close_shell_output(struct exec *);

/* Adds the commands' descriptors and deadlines to the poll set. */
void exec_poll_add(const struct list *, struct loop *);
/* Reads the output and writes the input of the commands, polls their process
 * groups, and sends the signals that are due. */
void exec_dispatch(struct list *, const struct options *,
                   const struct loop *);
/* Reads the output that is currently available, and checks whether the shell
 * has exited. */
void exec_read(struct exec *, int64_t now);

/* Returns the name of the signal that killed the shell, such as "SIGPIPE", or
 * NULL if there is none. Relies only on `status`, which is 128 + N for signal
 * N. */
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
 * the terminal is echoing or cannot accept the complete line. */
int exec_type_unseen(struct exec *, const char *line, size_t n, int64_t now);

/* Returns whether a program in the terminal is prompting for input (I3). May
 * read the command's output as a side effect. */
struct prompt exec_read_prompt(struct exec *, int64_t now);
/* Like exec_read_prompt(), but recognizes only prompts in a terminal that does
 * not echo. If the terminal echoes, the returned state is always
 * TERMINAL_BUSY. */
struct prompt exec_read_secret_prompt(struct exec *, int64_t now);
/* Returns a stopped process group in the terminal. Returns 0 if there is none,
 * or if a program may be reading from the terminal. Sets *signo to the signal
 * that stopped the group, or to 0 if the signal is unknown. */
pid_t exec_find_stopped(struct exec *, int64_t now, int *signo);

#endif
