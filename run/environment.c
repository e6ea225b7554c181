/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "run/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fmt.h"

extern char **environ;

struct environment {
	char **variables[ENVIRONMENTS];  /* environment of each kind of command;
	                                  * the first entry is PWD */
	struct buf pwd;                  /* text of the entry for PWD */
};

/* Flags of a row in the table of variables: the kinds of commands to which the
 * row applies, and further conditions */
enum {
	PIPES = 1 << ENV_COMMAND | 1 << ENV_TASK,  /* all commands without a
	                                            * terminal */
	TERMINAL = 1 << ENV_TERMINAL,
	TASKS = 1 << ENV_TASK | TERMINAL,
	ALL = PIPES | TERMINAL,
	IF_UNSET = 1 << ENVIRONMENTS,    /* the row applies only if boris's
	                                  * environment lacks the variable */
	LOCALE = 2 << ENVIRONMENTS       /* the row applies only if
	                                  * needs_locale() returns true */
};

/* Differences between a command's environment and that of boris. NAME=VALUE
 * sets a variable, NAME removes it, and *END removes every variable whose name
 * ends with END. */
static const struct variable {
	const char *text;
	int where;
} variables[] = {
	{ "PWD", ALL },                  /* environment_get() adds it again */
	{ "OLDPWD", ALL },               /* previous directory of boris's
	                                  * parent */
	{ "BORIS_TOKEN", ALL },          /* secret of boris (H3) */
	{ "TERM=dumb", PIPES },          /* TERM=dumb makes most editors exit at
	                                  * once */
	/* output/screen.c implements the terminal type "linux". Every host has
	 * a description of this type, and its arrow keys send the same
	 * sequences in all modes, such as ESC [ A. */
	{ "TERM=linux", TERMINAL },
	{ "LC_CTYPE=C.UTF-8", ALL | LOCALE },
	/* If the editor of git is `true`, git keeps the existing text. If the
	 * editor of another program is `false`, the program fails at once
	 * instead of waiting. */
	{ "*EDITOR", PIPES },
	{ "GIT_EDITOR=true", PIPES },
	{ "EDITOR=false", PIPES },
	{ "VISUAL=false", PIPES },
	/* Let programs ask for a passphrase on the command's own terminal or
	 * not at all, but never on the terminal of the client. */
	{ "GPG_TTY", ALL },
	{ "SSH_ASKPASS_REQUIRE=never", ALL | IF_UNSET },
	{ "PAGER=cat", TERMINAL },
	{ "GIT_PAGER=cat", TERMINAL },
	{ "LINES", TERMINAL },           /* the terminal has its own size */
	{ "COLUMNS", TERMINAL },
	/* LVM prints a warning for each open descriptor above 2, and boris
	 * opens one in bash (D2). */
	{ "LVM_SUPPRESS_FD_WARNINGS=1", ALL | IF_UNSET },
	/* Disable buffering in Python, because the caller may wait for the
	 * output of a task (T1). */
	{ "PYTHONUNBUFFERED=1", TASKS | IF_UNSET }
};

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

static bool
is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0';
}

/* Returns whether the locale variables are unset and the host has the locale
 * C.UTF-8. Checks for the locale's file instead of calling setlocale(), because
 * a static boris has another C library than its commands. */
static bool
needs_locale(void)
{
	static const char *const files[] = {
		"/usr/lib/locale/C.utf8/LC_CTYPE",
		"/usr/lib/locale/C.UTF-8/LC_CTYPE",
		"/usr/share/locale/C.UTF-8/LC_CTYPE"  /* FreeBSD */
	};
	size_t i;

	if (is_set("LC_ALL") || is_set("LC_CTYPE") || is_set("LANG"))
		return false;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (access(files[i], R_OK) == 0)
			return true;
	}
	return false;
}

/* Returns whether the row matches a variable, which is given as NAME=VALUE. */
static bool
is_about(const struct variable *row, const char *text)
{
	size_t n = strcspn(text, "=");
	const char *name = row->text;

	if (*name == '*') {
		name++;
		if (n > strlen(name))
			text += n - strlen(name);
		n = strcspn(text, "=");
	}
	return strcspn(name, "=") == n && memcmp(name, text, n) == 0;
}

/* Returns the variable from boris's own environment as NAME=VALUE, or NULL if
 * it is unset. */
static char *
find_own(const struct variable *row)
{
	size_t i;

	for (i = 0; environ[i] != NULL; i++) {
		if (is_about(row, environ[i]))
			return environ[i];
	}
	return NULL;
}

/* Returns whether a row of the table applies to the given kind of command. */
static bool
applies_to(const struct variable *row, enum environment_kind kind)
{
	if (((row->where >> kind) & 1) == 0)
		return false;
	if ((row->where & LOCALE) && !needs_locale())
		return false;
	return (row->where & IF_UNSET) == 0 || find_own(row) == NULL;
}

/* Returns whether a row that applies sets or removes the variable. `text` is
 * NAME=VALUE. */
static bool
is_replaced(const bool applies[], const char *text)
{
	size_t i;

	for (i = 0; i < VARIABLES; i++) {
		if (applies[i] && is_about(&variables[i], text))
			return true;
	}
	return false;
}

/* Returns the environment of a kind of command, with NULL at the end. The first
 * entry is reserved for PWD. */
static char **
make_variables(enum environment_kind kind)
{
	bool applies[VARIABLES];
	size_t own = 0, kept = 1, i;
	char **list;

	while (environ[own] != NULL)
		own++;
	list = mem_get((1 + VARIABLES + own + 1) * sizeof(*list));
	for (i = 0; i < VARIABLES; i++) {
		applies[i] = applies_to(&variables[i], kind);
		if (applies[i] && strchr(variables[i].text, '=') != NULL)
			list[kept++] = (char *)variables[i].text;
	}
	for (i = 0; i < own; i++) {
		if (!is_replaced(applies, environ[i]))
			list[kept++] = environ[i];
	}
	return list;
}

struct environment *
environment_open(void)
{
	struct environment *e = mem_get(sizeof(*e));
	int kind;

	for (kind = 0; kind < ENVIRONMENTS; kind++)
		e->variables[kind] =
		    make_variables((enum environment_kind)kind);
	return e;
}

char **
environment_get(struct environment *e, enum environment_kind kind,
                const char *dir)
{
	e->pwd.len = 0;
	buf_fmt(&e->pwd, "PWD=%s", dir);
	e->variables[kind][0] = buf_text(&e->pwd);
	return e->variables[kind];
}
