#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#define _DARWIN_C_SOURCE  /* O_NOFOLLOW on macOS */

#include "ask.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "options.h"
#include "secret.h"

enum { ANSWER_TIME = 10000 };  /* ms for boris to take what was written */

/* -- The FIFOs that wait ------------------------------------------------ */

/* The ID in the name of a FIFO; NULL: it is none, or not that of `wanted`. */
static const char *
id_in(const char *name, const char *wanted)
{
	const size_t before = strlen("boris-") + SECRET_SESSION + strlen("-");
	const char *id = name + before;

	if (strlen(name) != before + SECRET_ID + strlen(SECRET_FIFO) ||
	    strncmp(name, "boris-", strlen("boris-")) != 0 ||
	    strcmp(id + SECRET_ID, SECRET_FIFO) != 0 ||
	    (*wanted != '\0' && strncmp(id, wanted, SECRET_ID) != 0))
		return NULL;
	return id;
}

/* Says "ID: the terminal's last line"; the name is as id_in() has found it. */
static void
show_prompt(const char *name, const char *id)
{
	char path[64], line[512], digits[SECRET_ID + 1] = "";
	size_t n = (size_t)(id + SECRET_ID - name);
	ssize_t got = 0;
	int fd;

	memcpy(path, name, n);
	memcpy(path + n, SECRET_PROMPT, sizeof(SECRET_PROMPT));
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0) {
		got = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[got > 0 ? got : 0] = '\0';
	memcpy(digits, id, SECRET_ID);
	say(digits, ": ", line);
}

/* Opens those in the process's directory that are this user's and that somebody
 * reads, and shows their prompts. Returns how many; *fd is the last one's. */
static int
find(const char *wanted, int *fd)
{
	const struct dirent *entry;
	DIR *dir = opendir(".");
	const char *id;
	struct stat st;
	int one, n = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		id = id_in(entry->d_name, wanted);
		one = id == NULL ? -1 : open(entry->d_name,
		    O_WRONLY | O_NONBLOCK | O_NOFOLLOW);
		if (one < 0)
			continue;
		if (fstat(one, &st) == 0 && S_ISFIFO(st.st_mode) &&
		    st.st_uid == geteuid()) {
			show_prompt(entry->d_name, id);
			*fd = one;
			n++;
		} else {
			close(one);
		}
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

/* -- The secret --------------------------------------------------------- */

/* A line from stdin; a terminal does not show it. Its length, with its newline,
 * which the last line of a file may lack; 0: there is none. Ctrl-C ends a line
 * rather than the process, which has to set the terminal right again. */
static size_t
read_line(char *line)
{
	struct termios before, hidden;
	bool terminal = tcgetattr(0, &before) == 0;
	size_t len = 0;
	ssize_t n;

	if (terminal) {
		hidden = before;
		hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
		hidden.c_cc[VEOL] = before.c_cc[VINTR];
		tcsetattr(0, TCSAFLUSH, &hidden);
	}
	do {
		n = read(0, line + len, SECRET_LINE - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && !terminal && len < SECRET_LINE &&
	    line[len - 1] != '\n');
	if (terminal)
		tcsetattr(0, TCSAFLUSH, &before);
	if (n == 0 && len > 0)
		line[len++] = '\n';
	return len > 0 && line[len - 1] == '\n' ? len : 0;
}

/* Once boris has closed its end, the FIFO's mode is the answer. (SIGPIPE is
 * blocked.) */
static bool
hand_in(int fd, const char *line, size_t len)
{
	struct pollfd closed = { .fd = fd, .events = 0 };
	struct stat st;

	return write(fd, line, len) == (ssize_t)len &&
	    poll(&closed, 1, ANSWER_TIME) > 0 && fstat(fd, &st) == 0 &&
	    (st.st_mode & 0777) == SECRET_TAKEN;
}

int
ask_secret(const char *dir, const char *id)
{
	char line[SECRET_LINE + 1];
	bool taken = false;
	int fd = -1, n = chdir(dir) == 0 ? find(id, &fd) : 0;
	sigset_t only;
	size_t len;

	if (n != 1) {
		say("boris: ", n > 1 ? "several ask: give --secret=ID"
		    : "no such terminal of yours asks for a secret, in ",
		    n > 1 ? "" : dir);
		return 1;
	}
	sigemptyset(&only);
	sigaddset(&only, SIGPIPE);
	sigprocmask(SIG_SETMASK, &only, NULL);
	say("boris: type it, unseen, and Enter");
	len = read_line(line);
	if (len > 0)
		taken = hand_in(fd, line, len);
	secret_wipe(line, sizeof(line));
	say("boris: ", taken ? "taken" : len > 0
	    ? "not taken: too late, or the log is full"
	    : "nothing was typed");
	return taken ? 0 : 1;
}
