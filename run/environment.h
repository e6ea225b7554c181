#ifndef RUN_ENVIRONMENT_H
#define RUN_ENVIRONMENT_H

/* The environment of commands (B4, I1, T1): boris's own with some variables
 * set, replaced or removed, depending on the kind of command. */

enum environment_kind {
	ENV_COMMAND,   /* a command in the foreground, without a terminal */
	ENV_TASK,      /* a background command without a terminal */
	ENV_TERMINAL,  /* a command with a terminal */
	ENVIRONMENTS   /* the number of kinds */
};

struct environment;

/* Makes the environments of all kinds from boris's own, which must not change
 * afterwards. */
struct environment *environment_open(void);

/* Returns the environment of a command of that kind that starts in dir, for
 * execve(). It is valid until the next call. */
char **environment_get(struct environment *, enum environment_kind,
                       const char *dir);

#endif
