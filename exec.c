#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700  /* waitid */

#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "birth.h"
#include "group.h"
#include "scan.h"

enum {
	GRACE = 5000,           /* ms from SIGTERM to SIGKILL (E2) */
	GIVE_UP = 5000,         /* ms after SIGKILL: not even that ended it */
	PIPE_FULL = 1 << 20,    /* bytes no pipe holds more than, by default */
	READ_SIZE = 64 << 10,
	PIECE = (128 << 10) - 1,  /* what Linux takes as one argument (B3) */
	DIR_LIMIT = 16 << 10,     /* bytes a directory's name may have */
	SHORT_LIFE = 250          /* ms in which pids do not wrap around */
};

/* -- The script ------------------------------------------------------- */

static bool
has(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);
	const char *p = text, *end = text + len;

	while (n <= (size_t)(end - p) &&
	    (p = memchr(p, word[0], (size_t)(end - p) - n + 1)) != NULL) {
		if (memcmp(p, word, n) == 0)
			return true;
		p++;
	}
	return false;
}

/* A digit that the command's own redirections do not name: `exec 9>lock` is
 * common. One digit, since dash knows no others. */
int
exec_free_digit(const char *text, size_t len)
{
	static const char order[] = "7865943";
	bool used[10] = { false };
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			continue;
		if (i + 1 < len && (text[i + 1] == '<' || text[i + 1] == '>'))
			used[text[i] - '0'] = true;
		if (i > 0 && text[i - 1] == '&')
			used[text[i] - '0'] = true;
	}
	for (i = 0; order[i] != '\0'; i++) {
		if (!used[order[i] - '0'])
			return order[i] - '0';
	}
	return order[0] - '0';
}

/* The end of the shell prints, in one write: mark, directory, mark.
 *
 * bash: $DIRSTACK is what `pwd` would print, whatever became of PWD, without
 * the fork of a substitution. Its printf writes line by line, so a newline in
 * the name goes as "//.", which no name has behind its first byte.
 * Others: `cd .` sets PWD right again; yash believes PWD and is asked with
 * test. A function named command, or like what is used here, is not called.
 * pdksh's kind (KSH_VERSION begins with @) has no printf, traces to a copy of
 * standard error, and takes the trap's own exit code if it is not told.
 *
 * Standard output and error are closed meanwhile: neither `set -x` nor a DEBUG
 * trap shows anything of it. Where BASH_XTRACEFD says where traces go, the
 * redirection's own expansion, which no trace shows, sets that back first
 * (dear, so only for who names it). */
static void
put_trap(struct buf *b, bool bash, const char *mark, const char *fd,
         bool tracefd)
{
	if (bash) {
		buf_puts(b, "trap \"{ \\\\builtin printf ");
		buf_puts(b, mark);
		buf_puts(b, "%s");
		buf_puts(b, mark);
		buf_puts(b, " \\\"\\${DIRSTACK//$'\\n'///.}\\\" >&");
		if (tracefd) {
			buf_puts(b, "\\$((BASH_XTRACEFD=2,");
			buf_puts(b, fd);
			buf_puts(b, "))");
		} else {
			buf_puts(b, fd);
		}
		buf_puts(b, "; } >&- 2>&-\" EXIT\n");
		return;
	}
	buf_puts(b, "trap 'case ${KSH_VERSION-} in @*) set +x;; esac; "
	    "{ unset -f command; case ${YASH_VERSION-} in ?*) "
	    "PATH=/usr/bin:/bin; \\command test . -ef \"$PWD\" || "
	    "\\command cd -P .;; *) \\command cd .;; esac; "
	    "case ${KSH_VERSION-} in @*) \\command print -rn -- ");
	buf_puts(b, mark);
	buf_puts(b, "\"$PWD\"");
	buf_puts(b, mark);
	buf_puts(b, " >&");
	buf_puts(b, fd);
	buf_puts(b, "; exit;; *) \\command printf ");
	buf_puts(b, mark);
	buf_puts(b, "%s");
	buf_puts(b, mark);
	buf_puts(b, " \"$PWD\" >&");
	buf_puts(b, fd);
	buf_puts(b, ";; esac; } >&- 2>&-' EXIT\n");
}

static bool
is_bash(const char *shell)
{
	size_t n = strlen(shell);

	return n >= 4 && strcmp(shell + n - 4, "bash") == 0;
}

void
exec_script(struct buf *b, const char *shell, const char *mark, int fd,
            const char *text, size_t len)
{
	char digit[2];

	digit[0] = (char)('0' + fd);
	digit[1] = '\0';
	if (mark != NULL)
		put_trap(b, is_bash(shell), mark, digit,
		    has(text, len, "XTRACEFD"));
	/* Last and as it is, so that whatever it ends with, a comment, a
	 * here-document, a backslash, meets the end of the script (D3). */
	if (len <= PIECE - b->len) {
		buf_put(b, text, len);
		return;
	}
	/* Too long for one argument: it comes as several, joined again. They
	 * are gone by the time the command could see them. */
	buf_puts(b, "eval \"shift $#\n");
	for (fd = 1; (size_t)(fd - 1) * PIECE < len; fd++) {
		buf_puts(b, "${");
		buf_int(b, fd);
		buf_puts(b, "}");
	}
	buf_puts(b, "\"");
}

/* -- The start --------------------------------------------------------- */

static void
close_pipe(int end[2])
{
	close(end[0]);
	close(end[1]);
}

static void
shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
no_delay(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* SHELL -c SCRIPT, and the pieces of a long command; NULL: no memory. One
 * block: the vector, then the texts. */
static char **
make_argv(const struct command *c, const struct buf *script, char *pwd)
{
	size_t pieces = 0, i, n;
	char **argv, *text;

	if (script->len < c->len)
		pieces = (c->len + PIECE - 1) / PIECE;
	argv = malloc((6 + pieces) * sizeof(*argv) + script->len + 1 +
	    (pieces ? c->len + pieces : 0));
	if (argv == NULL)
		return NULL;
	text = (char *)(argv + 6 + pieces);
	n = 0;
	argv[n++] = (char *)c->shell;
	argv[n++] = "-c";
	argv[n++] = text;
	memcpy(text, script->data, script->len);
	text[script->len] = '\0';
	text += script->len + 1;
	if (pieces > 0)
		argv[n++] = (char *)c->shell;
	for (i = 0; i < pieces; i++) {
		size_t at = i * PIECE;
		size_t size = c->len - at < PIECE ? c->len - at : PIECE;

		argv[n++] = text;
		memcpy(text, c->text + at, size);
		text[size] = '\0';
		text += size + 1;
	}
	argv[n] = NULL;
	c->env[0] = pwd;
	return argv;
}

/* Standard input: what the caller gave, or the end of file. */
static int
open_input(struct exec *x, const struct command *c, int end[2])
{
	if (c->input == NULL) {
		end[1] = -1;
		end[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (end[0] >= 0)
			return 0;
	}
	if (birth_pipe(end) < 0)
		return -1;
	if (c->input == NULL) {
		shut(&end[1]);  /* no /dev here: an empty pipe is as good */
		return 0;
	}
	no_delay(end[1]);
	x->input = *c->input;
	memset(c->input, 0, sizeof(*c->input));
	return 0;
}

static char *
join(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	char *s = malloc(n + m + 1);

	if (s != NULL) {
		memcpy(s, a, n);
		memcpy(s + n, b, m + 1);
	}
	return s;
}

int
exec_start(struct exec *x, const struct command *c, struct output *out,
           struct output *err, int64_t now, enum exec_failed *what)
{
	struct birth birth;
	struct buf script = { NULL, 0, 0, false };
	char *pwd = NULL;
	int in[2], o[2], e[2], saved;
	bool dir_failed;

	*what = EXEC_FAILED_START;
	memset(x, 0, sizeof(*x));
	memset(&birth, 0, sizeof(birth));
	x->out = x->err = x->in = -1;
	if (c->mark != NULL)
		birth.fd = exec_free_digit(c->text, c->len);
	exec_script(&script, c->shell, c->mark, birth.fd, c->text, c->len);
	pwd = join("PWD=", c->dir);
	if (c->mark != NULL)
		x->mark = join(c->mark, "");
	if (script.failed || pwd == NULL || (c->mark && x->mark == NULL)) {
		errno = ENOMEM;
		goto free_texts;
	}
	birth.argv = make_argv(c, &script, pwd);
	if (birth.argv == NULL || birth_pipe(o) < 0)
		goto free_texts;
	if (birth_pipe(e) < 0)
		goto close_out;
	if (open_input(x, c, in) < 0)
		goto close_err;
	birth.shell = c->shell;
	birth.dir = c->dir;
	birth.env = c->env;
	birth.in = in[0];
	birth.out = o[1];
	birth.err = e[1];
	birth.crowded = c->crowded;
	x->group = birth_give(&birth, &dir_failed);
	if (x->group < 0) {
		if (dir_failed)
			*what = EXEC_FAILED_DIR;
		goto close_in;
	}
	close(in[0]);
	close(o[1]);
	close(e[1]);
	x->out = o[0];
	x->err = e[0];
	x->in = in[1];
	no_delay(x->out);
	no_delay(x->err);
	x->stdout_text = out;
	x->stderr_text = err;
	x->started = now;
	x->state = EXEC_RUNNING;
	x->deadline = x->look = NEVER;
	c->env[0] = "PWD=/";
	free(birth.argv);
	buf_free(&script);
	free(pwd);
	return 0;

close_in:
	saved = errno;
	shut(&in[0]);
	shut(&in[1]);
	errno = saved;
close_err:
	saved = errno;
	close_pipe(e);
	errno = saved;
close_out:
	saved = errno;
	close_pipe(o);
	errno = saved;
free_texts:
	saved = errno;
	c->env[0] = "PWD=/";
	free(birth.argv);
	buf_free(&script);
	free(pwd);
	exec_free(x);
	errno = saved;
	return -1;
}

/* -- The sentinel ------------------------------------------------------ */

enum sentinel { SENTINEL_NONE, SENTINEL_CUT, SENTINEL_WHOLE };

/* Is there, at p, mark DIRECTORY mark? SENTINEL_CUT: as far as it goes. */
static enum sentinel
sentinel_at(const char *p, size_t n, const char *mark, size_t *dir_len)
{
	size_t m = strlen(mark), i;
	const char *q;

	if (memcmp(p, mark, n < m ? n : m) != 0)
		return SENTINEL_NONE;
	if (n <= m)
		return SENTINEL_CUT;
	if (p[m] != '/' && p[m] != mark[0])
		return SENTINEL_NONE;
	for (i = m; (q = memchr(p + i, mark[0], n - i)) != NULL; i++) {
		i = (size_t)(q - p);
		if (memcmp(q, mark, n - i < m ? n - i : m) != 0)
			continue;
		if (n - i < m)
			break;
		*dir_len = i - m;
		return SENTINEL_WHOLE;
	}
	return n > DIR_LIMIT + 2 * m ? SENTINEL_NONE : SENTINEL_CUT;
}

/* The name as it was before put_trap() packed its newlines; NULL: no memory,
 * or none there. */
static char *
unpack_dir(const char *p, size_t n)
{
	char *dir;
	size_t i, len = 0;

	if (n == 0 || (dir = malloc(n + 1)) == NULL)
		return NULL;
	for (i = 0; i < n; i++) {
		if (i > 0 && i + 2 < n && memcmp(p + i, "//.", 3) == 0) {
			dir[len++] = '\n';
			i += 2;
		} else {
			dir[len++] = p[i];
		}
	}
	dir[len] = '\0';
	return dir;
}

static void
give(struct exec *x, const char *bytes, size_t n)
{
	if (n > 0 && x->stdout_text != NULL)
		output_write(x->stdout_text, bytes, n);
}

/* Passes on what is not the sentinel, keeps the directory that it names, and
 * returns how many bytes at the end may be the beginning of one. */
static size_t
sift(struct exec *x, const char *p, size_t n)
{
	size_t start = 0, at = 0, dir_len = 0;
	const char *q;

	while ((q = scan_byte(p + at, x->mark[0], n - at)) != NULL) {
		at = (size_t)(q - p);
		switch (sentinel_at(q, n - at, x->mark, &dir_len)) {
		case SENTINEL_NONE:
			at++;
			continue;
		case SENTINEL_CUT:
			give(x, p + start, at - start);
			return n - at;
		case SENTINEL_WHOLE:
			give(x, p + start, at - start);
			free(x->dir);
			x->dir = unpack_dir(q + strlen(x->mark), dir_len);
			at += dir_len + 2 * strlen(x->mark);
			start = at;
			break;
		}
	}
	give(x, p + start, n - start);
	return 0;
}

static void
take_stdout(struct exec *x, const char *p, size_t n)
{
	size_t keep;

	if (x->mark == NULL) {
		give(x, p, n);
		return;
	}
	if (x->held.len > 0) {
		buf_put(&x->held, p, n);
		if (x->held.failed) {
			buf_free(&x->held);
			return;
		}
		keep = sift(x, x->held.data, x->held.len);
		if (keep == 0)
			buf_free(&x->held);
		else
			buf_drop(&x->held, x->held.len - keep);
		return;
	}
	keep = sift(x, p, n);
	if (keep > 0)
		buf_put(&x->held, p + n - keep, keep);
}

/* No more comes: what was held back was no sentinel. */
static void
let_go(struct exec *x)
{
	give(x, x->held.data, x->held.len);
	buf_free(&x->held);
}

/* -- The pipes --------------------------------------------------------- */

/* One read. What came; 0 at the end, and it is closed; -1 nothing now. */
static ssize_t
take(struct exec *x, int *fd)
{
	char bytes[READ_SIZE];
	ssize_t n;

	if (*fd < 0)
		return 0;
	while ((n = read(*fd, bytes, sizeof(bytes))) < 0 && errno == EINTR)
		;
	if (n < 0 && errno == EAGAIN)
		return -1;
	if (n <= 0) {
		if (x->crowd != NULL)
			crowd_remove(x->crowd, *fd);
		shut(fd);
		return 0;
	}
	if (fd == &x->out)
		take_stdout(x, bytes, (size_t)n);
	else if (x->stderr_text != NULL)
		output_write(x->stderr_text, bytes, (size_t)n);
	return n;
}

/* What was in the pipe when the shell ended, and no endless flood that others
 * go on printing: a pipe holds no more than PIPE_FULL. */
static void
take_rest(struct exec *x, int *fd)
{
	ssize_t n, sum = 0;

	while (sum < PIPE_FULL && (n = take(x, fd)) > 0)
		sum += n;
}

static void
write_input(struct exec *x)
{
	ssize_t n;

	if (x->in < 0)
		return;
	while (x->written < x->input.len) {
		n = write(x->in, x->input.data + x->written,
		    x->input.len - x->written);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;  /* EPIPE: it does not read it, no error (B5) */
		x->written += (size_t)n;
	}
	shut(&x->in);
	buf_free(&x->input);
}

/* -- The group --------------------------------------------------------- */

/* Is anything alive in it but the leader, a zombie by now? Where nobody can
 * tell, whoever holds a pipe is taken for one of it, and after SIGTERM the
 * whole grace is waited out. */
static bool
group_goes_on(const struct exec *x, int64_t now)
{
	int lives = group_lives(x->group, now - x->started < SHORT_LIFE);

	if (lives >= 0)
		return lives;
	return x->out >= 0 || x->err >= 0 || x->state == EXEC_STOPPING;
}

static void
reap(struct exec *x)
{
	if (x->group > 0) {
		while (waitpid(x->group, NULL, 0) < 0 && errno == EINTR)
			;
	}
	x->group = 0;
}

/* Ours to signal: the leader is reaped last, so until then the number cannot
 * have passed to a stranger (E3). */
static void
signal_group(const struct exec *x, int sig)
{
	if (x->group > 0)
		group_signal(x->group, sig);
}

/* -- The states -------------------------------------------------------- */

/* Has the leader ended? It stays a zombie for now (WNOWAIT). */
static void
look_at_leader(struct exec *x)
{
	siginfo_t info;

	if (x->leader_gone || x->group <= 0)
		return;
	memset(&info, 0, sizeof(info));
	if (waitid(P_PID, (id_t)x->group, &info,
	    WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return;
	x->leader_gone = true;
	x->status = info.si_code == CLD_EXITED ? info.si_status & 255
	    : 128 + info.si_status;
}

static void
end(struct exec *x)
{
	take_rest(x, &x->out);
	take_rest(x, &x->err);
	let_go(x);
	/* Who is left reads an end of file, as it would from a shell. */
	shut(&x->in);
	buf_free(&x->input);
	x->state = EXEC_ENDED;
	x->deadline = x->look = NEVER;
}

/* The terminated group, until it is gone (E2) */
static void
watch_group(struct exec *x, int64_t now)
{
	if (x->leader_gone && (!x->reminded || now >= x->look)) {
		if (!group_goes_on(x, now)) {
			end(x);
			reap(x);
			return;
		}
		if (!x->reminded && x->state == EXEC_STOPPING) {
			/* A child forked in the instant of the first signal
			 * has not seen it. */
			signal_group(x, SIGTERM);
		} else if (x->state == EXEC_KILLED) {
			signal_group(x, SIGKILL);  /* it may have forked */
		}
		x->pause = x->reminded ? x->pause * 2 : 1;
		if (x->pause > 32)
			x->pause = 32;
		x->reminded = true;
		x->look = now + x->pause;
	}
	if (now < x->deadline)
		return;
	if (x->state == EXEC_STOPPING) {
		exec_kill(x, now);
		return;
	}
	/* Not even SIGKILL ends what sleeps in the kernel: let it be. */
	end(x);
	if (x->leader_gone)
		reap(x);
	x->group = 0;
}

void
exec_want(struct exec *x, struct loop *loop)
{
	x->out_place = x->err_place = x->in_place = -1;
	if (x->state == EXEC_NONE)
		return;
	if (x->crowd == NULL) {
		x->out_place = loop_watch(loop, x->out, POLLIN);
		x->err_place = loop_watch(loop, x->err, POLLIN);
	}
	x->in_place = loop_watch(loop, x->in, POLLOUT);
	loop_until(loop, x->deadline);
	if (x->leader_gone)
		loop_until(loop, x->look);
}

void
exec_ready(struct exec *x, const struct loop *loop)
{
	if (loop_got(loop, x->out_place))
		take(x, &x->out);
	if (loop_got(loop, x->err_place))
		take(x, &x->err);
	if (loop_got(loop, x->in_place))
		write_input(x);
	if (loop->child)
		look_at_leader(x);
	if (x->state == EXEC_RUNNING && x->leader_gone) {
		end(x);
		if (!group_goes_on(x, loop->now))
			reap(x);
	} else if (x->state == EXEC_STOPPING || x->state == EXEC_KILLED) {
		watch_group(x, loop->now);
	}
}

void
exec_catch_up(struct exec *x)
{
	if (x->state == EXEC_NONE || x->crowd != NULL)
		return;
	take_rest(x, &x->out);
	take_rest(x, &x->err);
}

void
exec_stop(struct exec *x, int64_t now)
{
	if (x->group <= 0 || x->state == EXEC_STOPPING ||
	    x->state == EXEC_KILLED)
		return;
	signal_group(x, SIGTERM);
	x->state = EXEC_STOPPING;
	x->deadline = now + GRACE;
	x->look = now;
	x->reminded = false;
}

bool
exec_over(struct exec *x)
{
	look_at_leader(x);
	return x->leader_gone;
}

void
exec_kill(struct exec *x, int64_t now)
{
	if (x->group <= 0 || x->state == EXEC_KILLED)
		return;
	signal_group(x, SIGKILL);
	x->state = EXEC_KILLED;
	x->deadline = now + GIVE_UP;
	x->look = now;
	x->pause = 1;
}

bool
exec_left(const struct exec *x)
{
	return x->state != EXEC_NONE &&
	    (x->group > 0 || x->out >= 0 || x->err >= 0);
}

/* Out of the way of births to come, if there is room up there */
static void
move_up(int *fd)
{
	int high;

	if (*fd < 0 || *fd >= BIRTH_OTHERS)
		return;
	high = fcntl(*fd, F_DUPFD_CLOEXEC, BIRTH_OTHERS);
	if (high < 0)
		return;
	close(*fd);
	*fd = high;
}

bool
exec_leave(struct exec *x, struct crowd *crowd)
{
	x->stdout_text = x->stderr_text = NULL;
	move_up(&x->out);
	move_up(&x->err);
	if (x->out >= 0 && crowd_add(crowd, x->out, x) < 0)
		return false;
	if (x->err >= 0 && crowd_add(crowd, x->err, x) < 0) {
		if (x->out >= 0)
			crowd_remove(crowd, x->out);
		return false;
	}
	x->crowd = crowd;
	return true;
}

bool
exec_empty(struct exec *x)
{
	take(x, &x->out);
	take(x, &x->err);
	return x->out >= 0 || x->err >= 0;
}

void
exec_review(struct exec *const list[], int n)
{
	pid_t *group = calloc((size_t)n, sizeof(*group) + sizeof(bool));
	bool *lives;
	int i;

	if (group == NULL)
		return;  /* another time */
	lives = (bool *)(group + n);
	for (i = 0; i < n; i++)
		group[i] = list[i]->group;
	if (!group_search(group, lives, n)) {
		for (i = 0; i < n; i++)
			lives[i] = list[i]->group > 0 &&
			    group_goes_on(list[i], NEVER);
	}
	for (i = 0; i < n; i++) {
		if (!lives[i] && list[i]->leader_gone)
			reap(list[i]);
	}
	free(group);
}

void
exec_free(struct exec *x)
{
	if (x->state != EXEC_NONE) {
		shut(&x->out);
		shut(&x->err);
		shut(&x->in);
		if (x->leader_gone)
			reap(x);
	}
	buf_free(&x->input);
	buf_free(&x->held);
	free(x->mark);
	free(x->dir);
	memset(x, 0, sizeof(*x));
}
