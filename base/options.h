#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

/* The command line (C), read once and handed down whole: all rooms read this
 * struct, and none changes it but boris.c. */

#include <stdbool.h>
#include <stdint.h>

#define BORIS_VERSION "0.4.0"

enum truncate {
	TRUNCATE_HEAD, TRUNCATE_TAIL, TRUNCATE_BOTH,
	TRUNCATE_LOOK    /* of a task that runs (T3); no option has it */
};
enum structured { STRUCTURED_AUTO, STRUCTURED_ON, STRUCTURED_OFF };

/* Numbers of the contract that nobody may change */
enum {
	TIMEOUT_MOST = 600000,         /* ms; of a foreground command (B) */
	TIMEOUT_USUAL = 120000,        /* ms; when nothing names one (C) */
	TASK_TIMEOUT_MOST = 86400000,  /* ms; of a task (W4) */
	WAIT_MOST = 600000,            /* ms (W2) */
	PATH_MOST = 4096,              /* bytes of a name (D7, X1) */
	COMMAND_SHOWN = 200,           /* characters of it in a list (T7) */
	EDIT_MOST = 16 << 20,          /* bytes of a file (X3) */
#ifdef __linux__
	LINE_TYPED_MOST = 4095         /* bytes that a terminal takes (I2) */
#else
	LINE_TYPED_MOST = 255          /* POSIX promises no more (MAX_CANON) */
#endif
};

/* Numbers, flags and choices (a word's index in its row, as the enumerators
 * have it) are all int64_t, for options.c's table. Times are milliseconds. A
 * list is strings, each with a NUL behind it, then an empty one; NULL: none. */
struct options {
	const char *workdir;     /* where a session starts; absolute, tidy */
	int64_t timeout;         /* 0: none is named */
	int64_t bg_timeout;      /* 0: a task may run for ever (T5) */
	int64_t on_timeout;      /* a late command goes on in the background */
	int64_t truncate, structured;
	int64_t save_limit;      /* bytes of one stream (O5) */
	const char *write, *hide;  /* lists of absolute names (F1, F5) */
	int64_t no_network, edit, no_bash;
	const char *log_file;    /* NULL: none */
	int64_t call_limit;      /* below 0: the client's, 0: any (K2) */
	int64_t result_limit;    /* bytes; below 0: the client's, 0: any (K3) */
	int64_t http;            /* --transport=http; else stdio */
	const char *address;     /* an IPv4 or IPv6 literal */
	int64_t port;            /* 0: a free one */
	char *token;             /* what clients have to show; NULL: nothing */
	const char *token_file;
	int64_t generate_token;  /* boris.c makes it, and prints it */
	int64_t allow_anyone;
	const char *origins;     /* a list (H4) */
	int64_t session_timeout;
	const char *secret;      /* --secret: an ID or empty; NULL: not given */
	int64_t help, version;

	/* How much of a long stream is shown, in characters unless the name
	 * says lines or bytes (O3, O4, O9, T3); how many tasks (T2) */
	int64_t head_first, head_last, tail_lines, tail_bytes;
	int64_t both_first, both_last, binary_first, look_last;
	int tasks_most, unread_most;

	const char *tmpdir;      /* absolute: where long output is saved */
	int64_t bash;            /* not --no-bash */
	bool loopback;           /* `address` is this machine's alone (H4) */

	/* What a person types to start this boris again (I5): the name it was
	 * started by. A path is made absolute; else their shell finds it. */
	const char *self;

	/* What boris.c finds or makes at the start */
	const char *shell;       /* absolute (B2) */
	struct environment *environment;  /* of commands (B4) */
	int oom_score;           /* boris's own, open for writing, where fences
	                          * keep its children from theirs; else -1 */
	int no_input;            /* a descriptor that reads end of file (B4) */
	char name[9];            /* 8 random digits, in its sessions' names */
	bool visible;            /* proc_visible() */
	struct tempfiles *files;  /* those in tmpdir */
	struct guard *guard;     /* it ends what boris leaves (L4) */
	struct log *log;         /* NULL: none (A) */
	struct output_store *store;  /* NULL: none */
};

/* Fills it in from the arguments and the environment. Ends the process for
 * --help and --version, and if something is wrong (C2). */
void options_read(struct options *, char **argv);
/* Exits with status 2 if --hide covers the file; `what` says what it is for, as
 * in "must not cover /bin/bash, the shell" (F5). */
void options_need(const struct options *, const char *file, const char *what);
/* Reads --token-file into `token` anew (H9). flags: for open(); O_NONBLOCK does
 * not wait for a FIFO's writer. NULL; or why the old token stays. */
const char *options_read_token(struct options *, int flags);

#endif
