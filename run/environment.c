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
	char **variables[ENVIRONMENTS];  /* the first entry is PWD=... */
	struct buf pwd;                  /* the text of that entry */
};

/* In which kinds of command a row of the table applies, and when */
enum {
	PIPES = 1 << ENV_COMMAND | 1 << ENV_TASK,  /* without a terminal */
	TERMINAL = 1 << ENV_TERMINAL,
	TASKS = 1 << ENV_TASK | TERMINAL,
	ALL = PIPES | TERMINAL,
	IF_UNSET = 1 << ENVIRONMENTS,    /* boris's own takes precedence */
	LOCALE = 2 << ENVIRONMENTS       /* only if needs_locale() says so */
};

/* How a command's environment differs from boris's own: NAME=VALUE sets the
 * variable, NAME removes it, and *END removes every variable whose name ends
 * with END. */
static const struct variable {
	const char *text;
	int where;
} variables[] = {
	{ "PWD", ALL },                  /* environment_get() adds it */
	{ "OLDPWD", ALL },               /* where `cd -` leads */
	{ "BORIS_TOKEN", ALL },          /* H3 */
	{ "TERM=dumb", PIPES },          /* most editors exit then */
	/* output/screen.c implements it, each host has its description, and
	 * arrow keys are the same in all modes: ESC [ A. */
	{ "TERM=linux", TERMINAL },
	{ "LC_CTYPE=C.UTF-8", ALL | LOCALE },
	/* git uses the text that it has; other programs fail at once. */
	{ "*EDITOR", PIPES },
	{ "GIT_EDITOR=true", PIPES },
	{ "EDITOR=false", PIPES },
	{ "VISUAL=false", PIPES },
	/* A passphrase is asked for on the command's own terminal, or not at
	 * all: not on the client's screen. */
	{ "GPG_TTY", ALL },
	{ "SSH_ASKPASS_REQUIRE=never", ALL | IF_UNSET },
	{ "PAGER=cat", TERMINAL },
	{ "GIT_PAGER=cat", TERMINAL },
	{ "LINES", TERMINAL },           /* the terminal has its own size */
	{ "COLUMNS", TERMINAL },
	/* LVM's tools warn about each descriptor above 2, and bash holds one
	 * of boris's (D2). */
	{ "LVM_SUPPRESS_FD_WARNINGS=1", ALL | IF_UNSET },
	/* The caller waits for what a task prints (T1). */
	{ "PYTHONUNBUFFERED=1", TASKS | IF_UNSET }
};

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

static bool
is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0';
}

/* Returns whether no variable names a locale and the host has C.UTF-8. The
 * locale's file is looked for, since a static boris has another C library than
 * its commands, which setlocale() would ask. */
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

/* Returns whether the row is about the variable, given as NAME=VALUE. */
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

/* Returns boris's own value of the row's variable as NAME=VALUE, or NULL. */
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

/* Returns whether the row changes a command of that kind. */
static bool
applies_to(const struct variable *row, enum environment_kind kind)
{
	if (((row->where >> kind) & 1) == 0)
		return false;
	if ((row->where & LOCALE) && !needs_locale())
		return false;
	return (row->where & IF_UNSET) == 0 || find_own(row) == NULL;
}

/* Returns whether one of the rows sets or removes the variable NAME=VALUE. */
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

/* Returns the variables of a command of that kind, ended by NULL. The first
 * entry is left for PWD. */
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
		e->variables[kind] = make_variables((enum environment_kind)kind);
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
