/* SPDX-License-Identifier: ISC */
#ifndef RUN_ENVIRONMENT_H
#define RUN_ENVIRONMENT_H

/* The environment of commands (B4, I1, T1). It is boris's own environment with
 * some variables set, replaced or removed, depending on the kind of command. */

enum environment_kind {
	ENV_COMMAND,   /* foreground command without a terminal */
	ENV_TASK,      /* background command without a terminal */
	ENV_TERMINAL,  /* command in a terminal */
	ENVIRONMENTS   /* number of kinds */
};

struct environment;

/* Creates one environment for each kind of command. The environments share
 * strings with boris's own environment, which must therefore not change
 * afterwards. */
struct environment *environment_open(void);

/* Returns the environment to pass to execve() for a command that starts in
 * `dir`. It is valid until the next call to this function. */
char **environment_get(struct environment *, enum environment_kind,
                       const char *dir);

#endif
