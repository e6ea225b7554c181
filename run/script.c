#define _POSIX_C_SOURCE 200809L

#include "run/script.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum {
	PIECE = (128 << 10) - 1,  /* bytes of one argument on Linux (B3) */
	HELD = 64 << 10           /* bytes of a message, at most */
};

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    access(path, X_OK) == 0;
}

/* Returns the absolute path of a program that is found in PATH, or NULL.
 * Relative entries of PATH are skipped, since boris leaves its directory. */
static const char *
find_in_path(const char *name)
{
	const char *entry = getenv("PATH");
	struct buf path = { NULL, 0, 0 };
	size_t n;

	while (entry != NULL && *entry != '\0') {
		n = strcspn(entry, ":");
		path.len = 0;
		buf_put(&path, entry, n);
		buf_add(&path, "/", name);
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
	/* The second: FreeBSD, OpenBSD, Docker's bash; the third: NetBSD */
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

/* Looks for a | that is not part of ||, and for a descriptor that is unused
 * (9>lock uses 9); only up to 9, since sh can redirect no others. */
static bool
has_pipe(const struct buf *text, int *digit)
{
	const char *p = text->data, *end = p + text->len, *d = "7865943";
	bool used[UCHAR_MAX + 1] = { false }, pipe = false;
	char before = ' ', next;

	for (; p < end; before = *p++) {
		next = p + 1 < end ? p[1] : ' ';
		pipe = pipe || (*p == '|' && before != '|' && next != '|');
		if (before == '&' || next == '<' || next == '>')
			used[(unsigned char)*p] = true;
	}
	while (used[(unsigned char)*d] && d[1] != '\0')
		d++;
	*digit = *d - '0';
	return pipe;
}

/* Returns where a word begins in the text from p to end, or NULL. */
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

/* Returns whether the text seems to set an EXIT trap. This is a guess, and only
 * explains why a shell has reported no directory (D2). */
static bool
sets_exit_trap(const struct buf *text)
{
	const char *end = text->data + text->len;
	const char *trap = find_word(text->data, end, "trap ");

	return trap != NULL && (find_word(trap, end, "EXIT") != NULL ||
	    find_word(trap, end, " 0") != NULL);
}

/* The trap stands on the command's own first line, so that line numbers stay.
 * Standard error is closed in it, so that `set -x` shows nothing of it, and `!`
 * keeps `set -e` from acting on a failure in it. A backslash keeps aliases off,
 * `builtin` or `command` keeps functions off; only bash can have any before the
 * trap is set, from BASH_ENV or its environment. The exit codes of the last
 * pipeline (B7) are written only where there is one: that takes 20 us (Q3).
 *
 * The command stands unchanged at the end of the script, whatever it ends with:
 * a comment, a here-document, a backslash (D3). If it is too long for one
 * argument, it comes in pieces, which the script joins, and removes from the
 * positional parameters before the command could see them. */
bool
script_write(struct script *s, const char *shell, const struct buf *text,
             bool tells_dir, int fd)
{
	bool bash = strcmp(strrchr(shell, '/'), "/bash") == 0;
	int digit, n = 0;
	bool pipe = has_pipe(text, &digit) && bash;
	size_t at, size = strlen(shell) + 1;

	s->fd = tells_dir || pipe ? bash ? fd : digit : -1;
	if (s->fd >= 0)
		buf_add(&s->trap, bash ? "\\builtin " : "",
		    "trap '! { ", pipe ? "\\builtin printf "
		    "\"%s \" \"${PIPESTATUS[@]}\"; " : "",
		    bash ? "\\builtin" : "\\command",
		    " pwd; } 2>&- >&", NUM(s->fd), "' EXIT; ");
	/* What stands around each piece is much less than 1 KiB. */
	if (!buf_reserve(&s->args, text->len + (text->len / PIECE + 1) * 1024 +
	    s->trap.len + size))
		return false;
	buf_put(&s->args, "-c\0--", 6);
	buf_put(&s->args, s->trap.data, s->trap.len);
	if (s->trap.len + text->len > PIECE) {
		buf_add(&s->args, "eval \"set --; ");
		for (at = 0; at < text->len; at += PIECE)
			buf_add(&s->args, "${", NUM(++n), "}");
		buf_put(&s->args, "\"", 2);
		buf_put(&s->args, shell, size);
	}
	for (at = 0; at < text->len; at += PIECE) {
		buf_put(&s->args, text->data + at,
		    text->len - at < PIECE ? text->len - at : PIECE);
		buf_putc(&s->args, '\0');
	}
	if (s->fd >= 0)
		buf_add(&s->message, shell, bash ? ": -c: " : ": ");
	if (!bash)
		buf_free(&s->trap);  /* it quotes nothing of the command */
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

/* bash names a syntax error by "-c:" and may quote the first line of its script
 * in a second line; other shells name it by these words and quote nothing. */
static bool
is_syntax_error(const struct script *s)
{
	const struct buf *received = &s->received;

	if (received->len < s->message.len)
		return false;
	return s->trap.len > 0 || find_word(received->data, received->data +
	    strcspn(received->data, "\n"), "yntax error") != NULL;
}

bool
script_clean(struct script *s, const char *shown, size_t n, struct buf *b)
{
	struct buf *received = &s->received;
	size_t same, at = 0;
	const char *end;
	bool message;

	if (s->message.len == 0)
		return false;
	buf_put(received, shown, n);
	same = received->len < s->message.len ? received->len : s->message.len;
	message = memcmp(buf_text(received), s->message.data, same) == 0;
	while (message && at < received->len && (s->trap.len == 0 ||
	    strncmp(received->data + at, s->trap.data, s->trap.len) != 0))
		at++;
	end = strchr(received->data, '\n');
	if (end != NULL && s->trap.len > 0)
		end = strchr(end + 1, '\n');
	if (message && at == received->len && n > 0 && end == NULL && at < HELD)
		return true;  /* the line that matters is not complete yet */
	s->syntax_error = message && is_syntax_error(s);
	buf_put(b, received->data, at);
	at += message && at < received->len ? s->trap.len : 0;
	buf_put(b, received->data + at, received->len - at);
	script_free(s);
	return true;
}

/* Returns whether a failed part of a pipeline goes unnoticed: status, the
 * shell's, is 0 or that of the last part, and some part failed with another
 * code. 141 is SIGPIPE: that part has outlived its reader and did not fail. */
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

/* The trap writes exit codes with a space behind each, an absolute name and a
 * newline; all else is not from it. */
void
script_told(char *told, size_t n, int status, char **dir, char **codes)
{
	size_t len;

	if (told[n - 1] != '\n' || memchr(told, '\0', n) != NULL)
		return;
	told[n - 1] = '\0';
	len = strspn(told, "0123456789 ");
	if (told[len] != '/')
		return;
	*dir = mem_copy(told + len);
	if (len == 0)
		return;
	told[len - 1] = '\0';
	if (strchr(told, ' ') != NULL && hides_failure(told, status))
		*codes = mem_copy(told);
}
