#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

/* The command line (C). It is read once; all other modules read the struct
 * options that results, and only boris.c changes it. */

#include <stdbool.h>
#include <stdint.h>

#define BORIS_VERSION "0.4.0"

enum truncate {
	TRUNCATE_HEAD, TRUNCATE_TAIL, TRUNCATE_BOTH,
	TRUNCATE_RECENT    /* output of a running task (T3); not an option */
};
enum structured { STRUCTURED_AUTO, STRUCTURED_ON, STRUCTURED_OFF };

/* Limits that are part of the contract */
enum {
	TIMEOUT_MAX = 600000,         /* ms; of a foreground command (B) */
	TIMEOUT_DEFAULT = 120000,        /* ms; if none is given (C) */
	TASK_TIMEOUT_MAX = 86400000,  /* ms; of a task (W4) */
	WAIT_MAX = 600000,            /* ms (W2) */
	PATH_LIMIT = 4096,              /* bytes of a path (D7, X1) */
	COMMAND_SHOWN = 200,           /* characters of it in a list (T7) */
	EDIT_MAX = 16 << 20,          /* bytes of a file (X3) */
#ifdef __linux__
	LINE_TYPED_MAX = 4095         /* bytes that a terminal accepts (I2) */
#else
	LINE_TYPED_MAX = 255          /* POSIX promises no more (MAX_CANON) */
#endif
};

/* Numbers, flags and choices are all int64_t, because they are read with one
 * table. A choice is the index of the word in its row, as the enumerators have
 * it. Times are in milliseconds. A list is a series of strings, each with a NUL
 * after it, and an empty string at the end; NULL is an empty list. */
struct options {
	const char *workdir;     /* initial directory; absolute, tidy */
	int64_t timeout;         /* 0: not given */
	int64_t bg_timeout;      /* 0: no limit for tasks (T5) */
	int64_t on_timeout;      /* 1: a command continues as a task */
	int64_t truncate;        /* an enum truncate */
	int64_t structured;      /* an enum structured */
	int64_t save_limit;      /* bytes of one stream (O5) */
	const char *write;       /* list of absolute paths (F1) */
	const char *hide;        /* list of absolute paths (F5) */
	int64_t no_network;
	int64_t edit;
	int64_t no_bash;
	const char *log_file;    /* NULL: no log */
	int64_t call_limit;      /* -1: the client's; 0: none (K2) */
	int64_t result_limit;    /* bytes; -1: the client's; 0: none (K3) */
	int64_t http;            /* --transport=http; else stdio */
	const char *address;     /* an IPv4 or IPv6 literal */
	int64_t port;            /* 0: any free one */
	char *token;             /* that clients have to send, or NULL */
	const char *token_file;
	int64_t generate_token;  /* boris.c generates and prints it */
	int64_t allow_anyone;
	const char *origins;     /* list (H4) */
	int64_t session_timeout;
	const char *secret;      /* --secret: an ID or empty; NULL: not given */
	int64_t help;
	int64_t version;

	/* How much of a long stream is shown, in characters unless the name
	 * says lines or bytes (O3, O4, O9, T3) */
	int64_t head_first, head_last;
	int64_t tail_lines, tail_bytes;
	int64_t both_first, both_last;
	int64_t binary_first;
	int64_t recent_last;

	int tasks_max;          /* running tasks of a session (T2) */
	int unread_max;         /* ended tasks whose result is unread (T2) */

	const char *tmpdir;      /* absolute: where long output is saved */
	int64_t bash;            /* not --no-bash */
	bool loopback;           /* `address` is a loopback address (H4) */

	/* What a person types to start this boris again (I5): the name it was
	 * started by. A path is made absolute; the shell finds a name. */
	const char *self;

	/* Filled in by boris.c at the start */
	const char *shell;       /* absolute (B2) */
	struct environment *environment;  /* of commands (B4) */
	int oom_score;           /* boris's own, open for writing, or -1 */
	int no_input;            /* a descriptor that reads end of file (B4) */
	char name[9];            /* 8 random digits, in its sessions' names */
	bool visible;            /* proc_visible() */
	struct tempfiles *files;  /* the files in tmpdir */
	struct guard *guard;     /* ends what boris leaves (L4) */
	struct log *log;         /* NULL: no log (A) */
	struct output_store *store;  /* NULL: none */
};

/* Reads the options from the arguments and the environment. Answers --help and
 * --version, and exits with status 0. Exits with status 2 if an option is wrong
 * (C2). */
void options_read(struct options *, char **argv);

/* Exits with status 2 if --hide covers the file, which is needed. what: what it
 * is, as in "must not cover /bin/bash, the shell" (F5). */
void options_check_visible(const struct options *, const char *file,
                           const char *what);

/* Reads --token-file into `token` again (H9). flags: further flags for open();
 * with O_NONBLOCK it does not wait for the writer of a FIFO. Returns NULL; or a
 * text that says why the old token stays. */
const char *options_read_token(struct options *, int flags);

#endif
