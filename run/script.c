/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "run/script.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/text.h"

/* The directory trap
 *
 * The shell reports the directory in which it exits, and the exit codes of the
 * last pipeline. To make it do that, boris inserts an EXIT trap before the
 * command. bash runs
 *
 *	bash -c -- "\builtin trap '! { \builtin printf "%s " "${PIPESTATUS[@]}";
 *	    \builtin pwd; } 2>&- >&250' EXIT; COMMAND"
 *
 * When it exits, it writes a line such as "0 1 0 /tmp" to descriptor 250, which
 * is a pipe to boris. (In sh there is no PIPESTATUS, and only descriptors up to
 * 9 can be redirected.) Each part of the trap has a reason:
 *
 * - The trap is on the same line as the start of the command, so that line
 *   numbers in error messages are not changed.
 * - `2>&-` closes stderr in the trap, so that `set -x` does not print it.
 * - `!` prevents `set -e` from acting on a failure in the trap.
 * - The backslash bypasses aliases, and `builtin` or `command` bypasses
 *   functions. Only bash can have aliases or functions before the trap is set,
 *   from BASH_ENV or the environment.
 * - The trap replaces one that was set by a file named by BASH_ENV (D3).
 * - The exit codes are reported only if the command seems to contain a
 *   pipeline. Therefore a background command without a pipeline needs no trap,
 *   and its shell can replace itself with the last program.
 *
 * The command is not changed and comes last, so it may end with a comment, a
 * here-document or a backslash (D3). If it is too long for one argument, it is
 * split into pieces, which are passed as positional parameters. The script
 * joins the pieces with eval, and removes the parameters before the command
 * runs:
 *
 *	bash -c -- "TRAP eval "set --; ${1}${2}"" bash PIECE1 PIECE2
 *
 * When bash reports a syntax error, it quotes the line with the error,
 * including the trap. script_clean() removes the trap from that message. */

enum {
	PIECE = (128 << 10) - 1,  /* maximum size of an argument on Linux, in
	                           * bytes (B3) */
	MESSAGE_MAX = 64 << 10    /* maximum number of bytes kept while waiting
	                           * for the end of an error message */
};

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    access(path, X_OK) == 0;
}

/* Searches the absolute directories of PATH for a program. Skips relative
 * directories, because boris changes its working directory. Returns the
 * absolute path, or NULL if the program is not found. */
static const char *
find_in_path(const char *name)
{
	const char *entry = getenv("PATH");
	struct buf path = { NULL, 0, 0 };
	size_t n;

	while (entry != NULL && *entry != '\0') {
		n = strcspn(entry, ":");
		path.len = 0;
		buf_fmt(&path, "%.*s/%s", (int)n, entry, name);
		if (*entry == '/' && is_program(buf_text(&path)))
			return path.data;
		entry += n;
		if (*entry == ':')
			entry++;
	}
	buf_free(&path);
	return NULL;
}

const char *
script_shell(void)
{
	/* /usr/local/bin/bash exists on FreeBSD, on OpenBSD and in Docker's
	 * bash image. /usr/pkg/bin/bash exists on NetBSD. */
	static const char *const fixed[] = {
		"/bin/bash", "/usr/local/bin/bash", "/usr/pkg/bin/bash"
	};
	const char *found;
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (is_program(fixed[i]))
			return fixed[i];
	}
	found = find_in_path("bash");  /* NixOS, Guix, Entware */
	if (found != NULL)
		return found;
	if (is_program("/bin/sh"))
		return "/bin/sh";
	found = find_in_path("sh");  /* Termux */
	return found != NULL ? found : "/bin/sh";
}

/* Returns whether the text contains a "|" that is not part of "||". */
static bool
has_pipe(const struct buf *text)
{
	const char *p = text->data, *end = p + text->len;
	char before = ' ', next;

	for (; p < end; p++) {
		next = p + 1 < end ? p[1] : ' ';
		if (*p == '|' && before != '|' && next != '|')
			return true;
		before = *p;
	}
	return false;
}

/* Returns a descriptor from 3 to 9 that the command does not seem to redirect.
 * For example, "9>lock" redirects descriptor 9. */
static int
find_unused_fd(const struct buf *text)
{
	static const char candidates[] = "7865943";
	const char *p = text->data, *end = p + text->len, *c;
	bool used[UCHAR_MAX + 1] = { false };
	char before = ' ', next;

	for (; p < end; p++) {
		next = p + 1 < end ? p[1] : ' ';
		if (before == '&' || next == '<' || next == '>')
			used[(unsigned char)*p] = true;
		before = *p;
	}
	c = candidates;
	while (used[(unsigned char)*c] && c[1] != '\0')
		c++;
	return *c - '0';
}

/* Returns the first occurrence of a word in the text from p to end, or NULL. */
static const char *
find_word(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	for (; (size_t)(end - p) >= n; p++) {
		if (memcmp(p, word, n) == 0)
			return p;
	}
	return NULL;
}

/* Guesses whether the command sets its own EXIT trap. The result is used only
 * to explain why a shell did not report its directory (D2). */
static bool
sets_exit_trap(const struct buf *text)
{
	const char *end = text->data + text->len;
	const char *trap = find_word(text->data, end, "trap ");

	return trap != NULL && (find_word(trap, end, "EXIT") != NULL ||
	    find_word(trap, end, " 0") != NULL);
}

/* Writes the text of boris's EXIT trap to s->trap. The trap reports the
 * directory in which the shell exits. If `codes` is true, the trap also reports
 * the exit codes of the last pipeline. */
static void
put_trap(struct script *s, bool bash, bool codes)
{
	if (codes)
		buf_fmt(&s->trap, "\\builtin trap '! { \\builtin printf \"%%s \" "
		    "\"${PIPESTATUS[@]}\"; \\builtin pwd; } 2>&- >&%d' EXIT; ",
		    s->fd);
	else if (bash)
		buf_fmt(&s->trap, "\\builtin trap '! { \\builtin pwd; } "
		    "2>&- >&%d' EXIT; ", s->fd);
	else
		buf_fmt(&s->trap, "trap '! { \\command pwd; } 2>&- >&%d' "
		    "EXIT; ", s->fd);
}

/* If a command is too long for one argument, it is passed to the shell in
 * pieces. This function writes the end of the script, which joins the pieces
 * with eval. It then writes the name of the shell, which becomes $0. `bytes` is
 * the length of the command. */
static void
put_join(struct script *s, const char *shell, size_t bytes)
{
	size_t at;
	int n = 1;

	buf_fmt(&s->args, "eval \"set --; ");
	for (at = 0; at < bytes; at += PIECE)
		buf_fmt(&s->args, "${%d}", n++);
	buf_put(&s->args, "\"", 2);  /* 2 bytes, to include the NUL */
	buf_put(&s->args, shell, strlen(shell) + 1);
}

/* Writes the command-line arguments of the shell to s->args. Returns false if
 * allocation fails. */
static bool
put_arguments(struct script *s, const char *shell, const struct buf *text)
{
	size_t at, n, pieces = text->len / PIECE + 1;

	/* For each piece of the command, reserve 1 KiB beyond the text itself.
	 * That is ample, because a piece adds only a few bytes to the
	 * arguments, such as a NUL and "${1}" in the script. */
	if (!buf_reserve(&s->args, text->len + pieces * 1024 + s->trap.len +
	    strlen(shell) + 1))
		return false;
	buf_put(&s->args, "-c\0--", 6);
	buf_put(&s->args, s->trap.data, s->trap.len);
	if (s->trap.len + text->len > PIECE)
		put_join(s, shell, text->len);
	for (at = 0; at < text->len; at += n) {
		n = text->len - at < PIECE ? text->len - at : PIECE;
		buf_put(&s->args, text->data + at, n);
		buf_putc(&s->args, '\0');
	}
	return true;
}

bool
script_write(struct script *s, const char *shell, const struct buf *text,
             bool reports_dir, int fd)
{
	bool bash = strcmp(strrchr(shell, '/'), "/bash") == 0;
	bool codes = bash && has_pipe(text);

	s->fd = -1;
	if (reports_dir || codes)
		s->fd = bash ? fd : find_unused_fd(text);
	if (s->fd >= 0)
		put_trap(s, bash, codes);
	if (!put_arguments(s, shell, text))
		return false;
	s->filtering = s->fd >= 0;
	if (s->filtering)
		buf_fmt(&s->message, bash ? "%s: -c: " : "%s: ", shell);
	if (!bash)
		/* sh never quotes the trap in its error messages, so
		 * script_clean() need not remove it. */
		buf_free(&s->trap);
	s->own_trap = sets_exit_trap(text);
	return true;
}

void
script_free(struct script *s)
{
	buf_free(&s->args);
	buf_free(&s->trap);
	buf_free(&s->message);
	buf_free(&s->received);
}

/* Returns whether the received output may be the beginning of an error message
 * from the shell. */
static bool
is_message(const struct script *s)
{
	size_t n = s->received.len;

	if (n > s->message.len)
		n = s->message.len;
	return memcmp(s->received.data, s->message.data, n) == 0;
}

/* Returns whether all lines of an error message from the shell have been
 * received. sh prints one line. On a second line, bash may quote the first line
 * of the script. */
static bool
is_message_complete(const struct script *s)
{
	const char *end = strchr(s->received.data, '\n');

	if (end != NULL && s->trap.len > 0)
		end = strchr(end + 1, '\n');
	return end != NULL;
}

/* Returns the offset of the text of boris's EXIT trap in the received output,
 * or the output's length if it does not contain that text. */
static size_t
find_trap(const struct script *s)
{
	const struct buf *received = &s->received;
	size_t at;

	if (s->trap.len == 0)
		return received->len;
	for (at = 0; at < received->len; at++) {
		if (strncmp(received->data + at, s->trap.data,
		    s->trap.len) == 0)
			return at;
	}
	return received->len;
}

/* Returns whether the shell's error message reports a syntax error. bash marks
 * such messages with "-c:", and other shells write "syntax error". */
static bool
is_syntax_error(const struct script *s)
{
	const struct buf *received = &s->received;

	if (received->len < s->message.len)
		return false;
	return s->trap.len > 0 || find_word(received->data, received->data +
	    strcspn(received->data, "\n"), "yntax error") != NULL;
}

/* Stops filtering the shell's stderr, and frees the buffers, which are no
 * longer needed. */
static void
stop_filtering(struct script *s)
{
	s->filtering = false;
	script_free(s);
}

/* Appends an error message from the shell to the buffer, omitting the text of
 * boris's EXIT trap. `trap` is the offset of that text in the message, or the
 * message's length if the message does not contain the text. */
static void
put_message(struct script *s, size_t trap, struct buf *b)
{
	const struct buf *received = &s->received;
	size_t after = trap;

	if (trap < received->len)
		after += s->trap.len;
	buf_put(b, received->data, trap);
	buf_put(b, received->data + after, received->len - after);
}

bool
script_clean(struct script *s, const char *bytes, size_t n, struct buf *b)
{
	struct buf *received = &s->received;
	bool more;  /* true if the rest of an error message may still arrive */
	size_t trap;

	if (!s->filtering)
		return false;
	buf_put(received, bytes, n);
	buf_text(received);  /* Terminate the output with a NUL. */
	if (!is_message(s)) {
		buf_put(b, received->data, received->len);
		stop_filtering(s);
		return true;
	}
	trap = find_trap(s);
	more = n > 0 && received->len < MESSAGE_MAX && !is_message_complete(s);
	if (trap == received->len && more)
		return true;
	s->syntax_error = is_syntax_error(s);
	put_message(s, trap, b);
	stop_filtering(s);
	return true;
}

/* Returns whether `status`, the shell's exit status, hides the failure of a
 * command in the last pipeline. `codes` contains the exit codes of the
 * pipeline's commands. A failure is hidden if `status` differs from the failed
 * command's exit code, and is 0 or the exit code of the last command. The exit
 * code 141 (SIGPIPE) does not count as a failure (B7 f). */
static bool
hides_failure(const char *codes, int status)
{
	bool hides = false;
	int64_t code = 0;

	while (*codes != '\0') {
		code = digits_value(codes, 10, &codes);
		if (code != 0 && code != 141 && code != status)
			hides = true;
		if (*codes == ' ')
			codes++;
	}
	return hides && (status == 0 || status == code);
}

/* The EXIT trap writes the exit codes, if any, each followed by a space. Then
 * it writes the absolute path of the shell's directory and a newline. Any other
 * text was written by the command and is ignored. */
void
script_read_report(char *report, size_t n, int status, char **dir, char **codes)
{
	size_t len;

	if (report[n - 1] != '\n' || memchr(report, '\0', n) != NULL)
		return;
	report[n - 1] = '\0';
	len = strspn(report, "0123456789 ");
	if (report[len] != '/')
		return;
	*dir = mem_copy(report + len);
	if (len == 0)
		return;
	report[len - 1] = '\0';
	if (strchr(report, ' ') != NULL && hides_failure(report, status))
		*codes = mem_copy(report);
}
