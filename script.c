#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* getrlimit */

#include "script.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

enum {
	PIECE = (128 << 10) - 1,  /* bytes of one argument on Linux (B3) */
	BASH_FD = 250             /* for the directory's pipe */
};

/* -- The shell and its environment ------------------------------------- */

const char *
script_shell(void)
{
	/* Also of FreeBSD, OpenBSD and Docker's image of bash; NetBSD */
	static const char *const bash[] = {
		"/bin/bash", "/usr/local/bin/bash", "/usr/pkg/bin/bash"
	};
	size_t i;

	for (i = 0; i < sizeof(bash) / sizeof(bash[0]); i++) {
		if (access(bash[i], X_OK) == 0)
			return bash[i];
	}
	return "/bin/sh";
}

/* Is it one of these words? */
static bool
is_one_of(const char *word, size_t n, const char *const *words)
{
	while (*words != NULL && (strlen(*words) != n ||
	    memcmp(*words, word, n) != 0))
		words++;
	return *words != NULL;
}

/* Without boris's token (H3) and OLDPWD, where `cd -` leads, with another TERM
 * and, where there is no terminal, without an editor, so that programs that
 * would draw or open one say so and end (B4). With a terminal there is no
 * pager, nor a variable that hides its size (I1). */
char **
script_environment(enum script_for use)
{
	bool terminal = use == SCRIPT_TERMINAL;
	static const char *const never[] = {
		"PWD", "OLDPWD", "TERM", "BORIS_TOKEN", NULL
	}, *const with_terminal[] = {
		"PAGER", "GIT_PAGER", "LINES", "COLUMNS", NULL
	}, *const without[] = {
		"EDITOR", "VISUAL", NULL
	};
	size_t n = 0, kept = 1, name;
	char **env, **e;

	while (environ[n] != NULL)
		n++;
	env = malloc((n + 6) * sizeof(*env));
	if (env == NULL)
		return NULL;
	env[0] = "PWD=/";
	env[kept++] = "TERM=dumb";
	if (terminal) {
		env[kept++] = "PAGER=cat";
		env[kept++] = "GIT_PAGER=cat";
	}
	/* Somebody waits for what a task prints (T1). */
	if (use != SCRIPT_COMMAND && getenv("PYTHONUNBUFFERED") == NULL)
		env[kept++] = "PYTHONUNBUFFERED=1";
	for (e = environ; *e != NULL; e++) {
		name = strcspn(*e, "=");
		if (!is_one_of(*e, name, never) &&
		    !is_one_of(*e, name, terminal ? with_terminal : without))
			env[kept++] = *e;
	}
	env[kept] = NULL;
	return env;
}

/* -- What the command names -------------------------------------------- */

static bool
is_bash(const char *shell)
{
	size_t n = strlen(shell);

	return n >= 4 && strcmp(shell + n - 4, "bash") == 0;
}

/* Does the text name this? */
static bool
names(const char *text, const char *end, const char *word)
{
	size_t n = strlen(word);

	while ((text = memchr(text, *word, (size_t)(end - text))) != NULL &&
	    (size_t)(end - text) >= n && memcmp(text, word, n) != 0)
		text++;
	return text != NULL && (size_t)(end - text) >= n;
}

/* May a command of it run what stands elsewhere? */
static bool
reads_commands(const char *text, const char *end)
{
	static const char *const reads[] = { ".", "eval", "source", NULL };
	static const char *const before[] = {
		"then", "do", "else", "elif", "if", "while", "until", "!", "{",
		"time", "command", NULL
	};
	bool first = true;  /* here a command may begin */
	size_t n;

	for (; text < end; text += n > 0 ? n : 1) {
		for (n = 0; text + n < end &&
		    strchr(" \t\n;&|()`", text[n]) == NULL; n++)
			;
		if (n == 0) {
			first = first || strchr(" \t", *text) == NULL;
			continue;
		}
		if (first && is_one_of(text, n, reads))
			return true;
		first = first && (is_one_of(text, n, before) ||
		    memchr(text, '=', n) != NULL);
	}
	return false;
}

/* May the command meet the trap? A DEBUG trap runs for each part of it, `set
 * -x` may show it elsewhere than on stderr. Other shells than bash know
 * descriptors of one digit alone, which a text from elsewhere may use. */
static bool
meets_trap(const char *text, const char *end, bool bash)
{
	return bash ? names(text, end, "BASH_XTRACEFD") ||
	    (names(text, end, "trap") && names(text, end, "DEBUG"))
	    : reads_commands(text, end);
}

/* Is there a | that is not part of ||? */
static bool
has_pipe(const char *text, const char *end)
{
	for (; (text = memchr(text, '|', (size_t)(end - text))) != NULL;
	    text += 2) {
		if (text + 1 == end || text[1] != '|')
			return true;
	}
	return false;
}

/* A descriptor that no redirection of it names: `exec 9>lock` is common. */
static int
free_digit(const char *text, const char *end)
{
	const char *digit = "7865943";
	bool used[UCHAR_MAX + 1] = { false };
	const char *p;

	for (p = text; p < end; p++) {
		if ((p > text && p[-1] == '&') ||
		    (p + 1 < end && (p[1] == '<' || p[1] == '>')))
			used[(unsigned char)*p] = true;
	}
	while (used[(unsigned char)*digit] && digit[1] != '\0')
		digit++;
	return *digit - '0';
}

/* 250, or the highest that there may be */
static int
bash_descriptor(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= BASH_FD)
		return (int)limit.rlim_cur - 1;
	return BASH_FD;
}

/* -- What the shell is given ------------------------------------------- */

/* May a function named `builtin` be there when a bash ends? */
static bool
shadows_builtin(const char *text, const char *end)
{
	return names(text, end, "builtin") || reads_commands(text, end) ||
	    getenv("BASH_ENV") != NULL ||
	    getenv("BASH_FUNC_builtin%%") != NULL;
}

/* It writes to the pipe what `pwd` prints, and with `codes` before it the exit
 * codes of the last pipeline (B7). A part that is not needed is left out: each
 * takes 20 us (Q3). No alias is called, since a backslash is before each word,
 * and no function: it is unset by a special builtin, which bash prefers to a
 * function named `unset` in POSIX mode alone. */
static void
put_bash_trap(struct buf *b, int fd, bool codes, bool shadowed)
{
	buf_add(b, "trap '! { ",
	    codes ? "__boris=(\"${PIPESTATUS[@]}\"); " : "",
	    shadowed ? "POSIXLY_CORRECT=1; \\unset -f unset builtin; "
	    "\\unset POSIXLY_CORRECT; " : "",
	    codes ? "\\builtin printf \"%s \" \"${__boris[@]}\"; " : "");
	buf_number(b, "\\builtin pwd; } 2>&- >&", fd, "' EXIT; ");
}

/* As above, for the other shells. mksh takes the trap's own exit code, and
 * shows under `set -x` whatever is not a `case`. */
static void
put_trap(struct buf *b, int fd, bool shadowed)
{
	const char *pwd = shadowed ? "! { \\unset -f command; \\command pwd; }"
	    : "! { \\pwd; }";

	buf_add(b, "case ${KSH_VERSION-} in *KSH*) trap 'case $- in *x*) ;; *) "
	    "__boris=$?; ", pwd);
	buf_number(b, " 2>&- >&", fd,
	    "; \\exit \"$__boris\" ;; esac' EXIT ;; ");
	buf_add(b, "*) trap '", pwd);
	buf_number(b, " 2>&- >&", fd, "' EXIT ;; esac; ");
}

/* The trap stands on the command's own first line, so that line numbers stay.
 * Standard error is closed in it, so that `set -x` shows nothing of it; after
 * `!` nothing ends it under `set -e`.
 * The command stands unchanged at the end of the script, whatever it ends with:
 * a comment, a here-document, a backslash (D3). If it is too long for one
 * argument, it comes in pieces, which the script joins, and removes from the
 * positional parameters before the command could see them. */
void
script_write(struct script *s, const char *shell, const char *text, size_t len,
             bool tells_dir)
{
	const char *end = text + len;
	bool bash = is_bash(shell);
	size_t at, room = PIECE;
	int n = 0;

	s->fd = -1;
	if ((tells_dir || (bash && has_pipe(text, end))) &&
	    !meets_trap(text, end, bash)) {
		s->fd = bash ? bash_descriptor() : free_digit(text, end);
		if (bash)
			put_bash_trap(&s->trap, s->fd, has_pipe(text, end),
			    shadows_builtin(text, end));
		else
			put_trap(&s->trap, s->fd, names(text, end, "pwd"));
		room -= s->trap.len;
	}
	if (bash)
		buf_add(&s->message, shell, ": -c: ");
	buf_put(&s->args, "-c\0--", 6);
	buf_put(&s->args, s->trap.data, s->trap.len);
	s->args.failed |= s->trap.failed || s->message.failed;
	if (!bash)
		buf_free(&s->trap);
	if (len <= room) {
		buf_put(&s->args, text, len);
		buf_putc(&s->args, '\0');
		return;
	}
	buf_puts(&s->args, "eval \"set --; ");
	for (at = 0; at < len; at += PIECE)
		buf_number(&s->args, "${", ++n, "}");
	buf_put(&s->args, "\"", 2);
	buf_put(&s->args, shell, strlen(shell) + 1);
	for (at = 0; at < len; at += PIECE) {
		buf_put(&s->args, text + at,
		    len - at < PIECE ? len - at : PIECE);
		buf_putc(&s->args, '\0');
	}
}

/* Nobody shows the trap any more. */
static void
forget_trap(struct script *s)
{
	buf_free(&s->trap);
	buf_free(&s->message);
}

void
script_free(struct script *s)
{
	buf_free(&s->args);
	forget_trap(s);
}

/* -- What the shell shows and tells ------------------------------------ */

bool
script_clean(struct script *s, const char *shown, size_t n, struct buf *b)
{
	size_t i = 0;

	while (i < n && s->begun < s->message.len &&
	    shown[i] == s->message.data[s->begun]) {
		s->begun++;
		i++;
	}
	if (i < n && s->begun < s->message.len)
		forget_trap(s);
	if (s->trap.len == 0)
		return false;
	buf_put(b, shown, i);
	for (; i < n && s->held < s->trap.len; i++) {
		if (shown[i] == s->trap.data[s->held]) {
			s->held++;
			continue;
		}
		buf_put(b, s->trap.data, s->held);
		s->held = shown[i] == *s->trap.data;
		if (s->held == 0)
			buf_putc(b, shown[i]);
	}
	if (n == 0)
		buf_put(b, s->trap.data, s->held);
	if (n == 0 || s->held == s->trap.len)
		forget_trap(s);
	if (i < n)
		buf_put(b, shown + i, n - i);
	return true;
}

/* Did a part of a pipeline of several fail, other than by SIGPIPE, whose cause
 * is that its reader had ended? */
static bool
hides_failure(const char *codes)
{
	if (strchr(codes, ' ') == NULL)
		return false;
	for (; *codes != '\0'; codes += strcspn(codes, " ")) {
		codes += strspn(codes, " ");
		if (atoi(codes) != 0 && atoi(codes) != 141)
			return true;
	}
	return false;
}

/* The trap writes exit codes with a space behind each, an absolute name and a
 * newline. Anything else was not written by it. */
char *
script_told(char *told, size_t n, const char **codes)
{
	size_t len;

	*codes = "";
	if (n == 0 || told[n - 1] != '\n' || memchr(told, '\0', n) != NULL)
		return NULL;
	told[n - 1] = '\0';
	len = strspn(told, "0123456789 ");
	if (told[len] != '/')
		return NULL;
	if (len > 0)
		told[len - 1] = '\0';
	if (len > 0 && hides_failure(told))
		*codes = told;
	return told + len;
}
