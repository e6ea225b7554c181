/* SPDX-License-Identifier: ISC */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

/* The command-line options (C). They are read into a struct options once, at
 * startup. After that, only boris.c changes the struct, and all other modules
 * only read it. */

#include <stdbool.h>
#include <stdint.h>

#define BORIS_VERSION "0.4.0"

enum truncate {
	TRUNCATE_HEAD, TRUNCATE_TAIL, TRUNCATE_BOTH,
	/* truncation mode for a task's recent output (T3); not a possible value
	 * of --truncate */
	TRUNCATE_RECENT
};
enum structured { STRUCTURED_AUTO, STRUCTURED_ON, STRUCTURED_OFF };

/* Limits that doc/SPEC defines */
enum {
	TIMEOUT_MAX = 600000,         /* maximum timeout of a foreground
	                               * command, in ms */
	TIMEOUT_DEFAULT = 120000,     /* default timeout of a foreground
	                               * command, in ms, for clients without a
	                               * call limit */
	TASK_TIMEOUT_MAX = 86400000,  /* maximum timeout of a task, in ms
	                               * (W4) */
	WAIT_MAX = 600000,            /* maximum time that a call can wait, in
	                               * ms (W2) */
	PATH_LIMIT = 4096,            /* maximum path length, in bytes (D7,
	                               * X1) */
	COMMAND_SHOWN = 200,          /* maximum length, in characters, of a
	                               * command in a list of tasks (T7) */
	EDIT_MAX = 16 << 20,          /* maximum size of an edited file, in
	                               * bytes (X3) */
	/* maximum length of a line of terminal input, in bytes (I2). POSIX
	 * guarantees only 255 (MAX_CANON). */
#ifdef __linux__
	LINE_TYPED_MAX = 4095
#else
	LINE_TYPED_MAX = 255
#endif
};

/* The values of all options.
 *
 * Numbers, flags and choices are all int64_t, because one table in options.c
 * describes them. The value of a choice is the index of its word in that table,
 * which equals its enumerator. Times are in milliseconds. A list is a series of
 * strings, each followed by a NUL, with an empty string at the end. A null
 * pointer is an empty list. */
struct options {
	const char *workdir;     /* initial directory, an absolute path without
	                          * "." or ".." components */
	int64_t timeout;         /* default timeout, in ms; 0 if not given */
	int64_t bg_timeout;      /* time limit for tasks, in ms; 0 for none
	                          * (T5) */
	int64_t on_timeout;      /* 1 if a command continues as a task after its
	                          * timeout, 0 if it is killed */
	int64_t truncate;        /* an enum truncate */
	int64_t structured;      /* an enum structured */
	int64_t save_limit;      /* maximum size of a saved output file, in
	                          * bytes (O5) */
	const char *write;       /* list of writable absolute paths (F1) */
	const char *hide;        /* list of hidden absolute paths (F5) */
	int64_t no_network;
	int64_t edit;
	int64_t no_bash;
	const char *log_file;    /* path of the log; NULL for no log */
	int64_t call_limit;      /* maximum duration of a call, in ms; 0 for no
	                          * limit, -1 for the client's limit (K2) */
	int64_t result_limit;    /* maximum size of a call's result, in bytes; 0
	                          * for no limit, -1 for the client's limit
	                          * (K3) */
	int64_t http;            /* 1 with --transport=http, 0 with stdio */
	const char *address;     /* IPv4 or IPv6 address to listen on */
	int64_t port;            /* port to listen on; 0 for any free port */
	char *token;             /* token that clients must send, or NULL */
	const char *token_file;
	int64_t generate_token;  /* 1 if boris.c must generate a token */
	int64_t allow_anyone;
	const char *origins;     /* list of allowed origins (H4) */
	int64_t session_timeout;
	const char *secret;      /* ID given with --secret; empty if --secret is
	                          * given without an ID, NULL if --secret is not
	                          * given */
	int64_t help;
	int64_t version;

	/* Limits on the output in a result (O3, O4, O9, T3). All are in
	 * characters, except tail_lines and tail_bytes. */
	int64_t head_first, head_last;
	int64_t tail_lines, tail_bytes;
	int64_t both_first, both_last;
	int64_t binary_first;
	int64_t recent_last;

	int tasks_max;           /* maximum number of running tasks in a session
	                          * (T2) */
	int unread_max;          /* maximum number of finished tasks with unread
	                          * results in a session (T2) */

	const char *tmpdir;      /* absolute path of $TMPDIR or /tmp */
	int64_t bash;            /* 1 unless --no-bash is given */
	bool loopback;           /* true if `address` is a loopback address
	                          * (H4) */

	/* command that the user can type to start this program (I5): its
	 * absolute path, or a name that the shell finds in PATH */
	const char *self;

	/* boris.c sets the members below at startup. */
	const char *shell;       /* absolute path of the shell (B2) */
	struct environment *environment;  /* environment of commands (B4) */
	int oom_score;           /* descriptor of boris's own oom_score_adj
	                          * file, open for writing, or -1 */
	int no_input;            /* descriptor that is always at end of file
	                          * (B4) */
	char name[9];            /* random name of this boris process, eight
	                          * hexadecimal digits, used in session names */
	bool visible;            /* result of proc_visible() */
	struct tempfiles *files;  /* temporary files in tmpdir */
	struct mounts *mounts;   /* mount table, used to determine whether
	                          * access to a directory may hang (E11) */
	struct guard *guard;     /* the guard process (L4) */
	struct log *log;         /* the log (A), or NULL */
	struct output_store *store;  /* memory that outputs reuse, or NULL */
};

/* Reads the options from the command line and the environment. If --help or
 * --version is given, prints the requested text to stdout and exits with status
 * 0. If an option is invalid, exits with status 2 (C2). */
void options_read(struct options *, char **argv);

/* Exits with status 2 if --hide covers a file that must stay visible (F5).
 * `what` is a description of the file for the error message. */
void options_check_visible(const struct options *, const char *file,
                           const char *what);

/* Reads the token from the file given with --token-file, at startup and
 * whenever the token is reloaded (H9). `flags` are additional flags for open(),
 * such as O_NONBLOCK to avoid waiting for the writer of a FIFO. Returns NULL on
 * success. On failure, keeps the old token and returns an error message. */
const char *options_read_token(struct options *, int flags);

#endif
