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
	char **variables[ENVIRONMENTS];  /* environment for each kind of
	                                  * command; the first variable is
	                                  * PWD */
	struct buf pwd;                  /* the variable PWD, as
	                                  * PWD=DIRECTORY */
};

/* Flags of a row in the table `variables`: the kinds of commands to which the
 * row applies, and the conditions IF_UNSET and LOCALE */
enum {
	PIPES = 1 << ENV_COMMAND | 1 << ENV_TASK,  /* all commands without a
	                                            * terminal */
	TERMINAL = 1 << ENV_TERMINAL,
	TASKS = 1 << ENV_TASK | TERMINAL,
	ALL = PIPES | TERMINAL,
	IF_UNSET = 1 << ENVIRONMENTS,    /* the row applies only if boris's own
	                                  * environment does not set the
	                                  * variable */
	LOCALE = 2 << ENVIRONMENTS       /* the row applies only if
	                                  * needs_locale() returns true */
};

/* Differences between a command's environment and boris's own. NAME=VALUE sets
 * a variable, NAME removes it, and *END removes every variable whose name ends
 * with END. */
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
	/* output/screen.c emulates a terminal of type `linux`. Even minimal
	 * systems have a terminfo entry for this type. With `linux`, an arrow
	 * key always sends the same bytes, such as ESC [ A for the up arrow.
	 * With `xterm`, these bytes depend on a mode that programs set. */
	{ "TERM=linux", TERMINAL },
	{ "LC_CTYPE=C.UTF-8", ALL | LOCALE },
	/* Commands without a terminal cannot use an editor. With `true` as its
	 * editor, git keeps the existing text, such as a default commit
	 * message. With `false` as their editor, other programs fail at once
	 * instead of waiting. */
	{ "*EDITOR", PIPES },
	{ "GIT_EDITOR=true", PIPES },
	{ "EDITOR=false", PIPES },
	{ "VISUAL=false", PIPES },
	/* Let programs ask for a passphrase on the command's own terminal or
	 * not at all, but never on the client's terminal. */
	{ "GPG_TTY", ALL },
	{ "SSH_ASKPASS_REQUIRE=never", ALL | IF_UNSET },
	{ "PAGER=cat", TERMINAL },
	{ "GIT_PAGER=cat", TERMINAL },
	{ "LINES", TERMINAL },           /* the terminal has its own size */
	{ "COLUMNS", TERMINAL },
	/* LVM tools print a warning for each open descriptor above 2. boris
	 * opens such a descriptor in the shell, which reports its working
	 * directory on it (D2). This variable suppresses the warnings. */
	{ "LVM_SUPPRESS_FD_WARNINGS=1", ALL | IF_UNSET },
	/* Disable Python's output buffering, because the caller may be waiting
	 * for a task's output (T1). */
	{ "PYTHONUNBUFFERED=1", TASKS | IF_UNSET }
};

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

static bool
is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0';
}

/* Returns whether no locale variable is set and the host provides the C.UTF-8
 * locale. Looks for the locale's file instead of calling setlocale(), because a
 * statically linked boris and its commands use different C libraries. */
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

/* Returns whether a row of `variables` sets or removes the variable in `text`,
 * which has the form NAME=VALUE. */
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

/* Searches boris's own environment for the variable named by a row of
 * `variables`. Returns the variable in the form NAME=VALUE, or NULL if it is
 * unset. */
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

/* Returns whether a row of `variables` applies to commands of the given
 * kind. */
static bool
applies_to(const struct variable *row, enum environment_kind kind)
{
	if (((row->where >> kind) & 1) == 0)
		return false;
	if ((row->where & LOCALE) && !needs_locale())
		return false;
	return (row->where & IF_UNSET) == 0 || find_own(row) == NULL;
}

/* `applies` tells which rows of `variables` apply to a command. Returns whether
 * one of these rows sets or removes the variable in `text`, which has the form
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

/* Returns the environment for commands of the given kind, as a NULL-terminated
 * array of NAME=VALUE strings. The first element is reserved for PWD. */
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
