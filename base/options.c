#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "base/options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/message.h"
#include "base/text.h"

#define TOKEN_RIGHT "a token: visible ASCII, less than 4096 characters"
enum { TOKEN_MOST = 4095 };  /* bytes (H3) */

/* An option is a row: --help is printed from it, it and its variable are read
 * into its member of struct options, and a wrong value is refused with it. */
struct option {
	const char *name;
	const char *value;   /* its name in --help; of a choice: all there are;
	                      * NULL: the option is a flag */
	/* Stores a value in the member. False: it is not what is right. */
	bool (*read)(const struct option *, void *at, const char *value);
	const char *right;   /* of a refusal; bounds or choices follow it */
	int unit;            /* of a number: 1000 makes s to ms */
	int least, most;     /* of a number, as it is given */
	unsigned short at, flags;  /* the member's offset; those below */
	const char *help;
};

enum {
	OR_ZERO = 1,         /* below `least` 0 is right, too */
	LIST = 2,            /* of a name: it may be given again */
	DIR = 4,             /* of a name: it is a directory's */
	HTTP = 8,            /* counts only with --transport=http (C5) */
	TOKEN = 16,          /* a way to give one; they exclude each other */
	STRICT = 32,         /* An empty variable is wrong: if it counted as
	                      * none, boris would be open (F3, H3). */
	NO_VARIABLE = 64,
	NO_VALUE = 128       /* its value may be left out */
};

/* Appends n bytes to a list of strings, each with a NUL behind it, the last one
 * with two. NULL is an empty list. */
static void
words_add(const char **list, const char *text, size_t n)
{
	size_t len = 0;
	char *all;

	while (*list != NULL && (*list)[len] != '\0')
		len += strlen(*list + len) + 1;
	all = mem_resize((char *)*list, len + n + 2);
	memcpy(all + len, text, n);
	memset(all + len + n, 0, 2);
	*list = all;
}

/* Is the file that directory, or below it? */
static bool
is_within(const char *dir, const char *file)
{
	size_t n = strlen(dir);

	return strncmp(dir, file, n) == 0 &&
	    (n == 1 || file[n] == '/' || file[n] == '\0');
}

/* Returns the first of the list that is the file or a directory above it, or
 * NULL. */
static const char *
find_cover(const char *list, const char *file)
{
	for (; list != NULL && *list != '\0'; list += strlen(list) + 1) {
		if (is_within(list, file))
			return list;
	}
	return NULL;
}

/* Makes a name absolute, since boris leaves the directory it was started in.
 * Returns NULL with errno set if that directory is needed and unknown. */
static char *
absolute(const char *name, bool tidy)
{
	char dir[PATH_MOST] = "/", *path;

	if (*name != '/' && getcwd(dir, sizeof(dir)) == NULL)
		return NULL;
	path = path_from(dir, name);
	if (tidy)
		path_tidy(path);
	return path;
}

/* The same, but exits with status 2 if the directory is unknown (C2). what: the
 * option or variable that needs it. */
static char *
absolute_for(const char *what, const char *name, bool tidy)
{
	char *path = absolute(name, tidy);
	struct buf right = { NULL, 0, 0 };

	if (path == NULL) {
		buf_add(&right, "cannot find the current directory: ",
		    strerror(errno), "; give an absolute path");
		fatal(2, "%s %s: %s", what, name, buf_text(&right));
	}
	return path;
}

static bool
is_token(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] > ' ' && s[i] < 127)
		i++;
	return n > 0 && n <= TOKEN_MOST && i == n;
}

static bool
read_number(const struct option *row, void *at, const char *value)
{
	const char *end;
	int64_t n = digits_value(value, 10, &end);

	if (*end != '\0' || ((n < row->least || n > row->most) &&
	    (n != 0 || !(row->flags & OR_ZERO))))
		return false;
	*(int64_t *)at = n * row->unit;
	return true;
}

/* The value's place among words with | between them */
static bool
read_choice(const struct option *row, void *at, const char *value)
{
	const char *word;
	size_t n;
	int64_t *place = at;

	*place = 0;
	for (word = row->value; *word != '\0'; ++*place) {
		n = strcspn(word, "|");
		if (strlen(value) == n && memcmp(word, value, n) == 0)
			return true;
		word += n + (word[n] == '|');
	}
	return false;
}

static bool
read_text(const struct option *row, void *at, const char *value)
{
	(void)row;
	*(const char **)at = value;
	return true;
}

static bool
read_address(const struct option *row, void *at, const char *value)
{
	unsigned char binary[16];

	return read_text(row, at, value) &&
	    (inet_pton(AF_INET, value, binary) == 1 ||
	    inet_pton(AF_INET6, value, binary) == 1);
}

static bool
read_token(const struct option *row, void *at, const char *value)
{
	char **token = at;

	(void)row;
	free(*token);
	*token = mem_copy(value);
	/* It must not stand in the list of processes (H3). */
	memset((char *)value, '*', strlen(value));
	return is_token(*token, strlen(*token));
}

/* Origins, with commas or spaces between: each a scheme and a host, perhaps a
 * port, and nothing behind that, as browsers send it. */
static bool
read_origins(const struct option *row, void *at, const char *value)
{
	size_t scheme, n;

	(void)row;
	do {
		n = strcspn(value, ", ");
		scheme = strcspn(value, ":/");
		if (scheme == 0 || n <= scheme + 3 ||
		    strncmp(value + scheme, "://", 3) != 0 ||
		    memchr(value + scheme + 3, '/', n - scheme - 3) != NULL)
			return false;
		words_add(at, value, n);
		value += n + strspn(value + n, ", ");
	} while (*value != '\0');
	return true;
}

/* A list's name is stored as realpath() has it. Dots in --workdir are resolved
 * as `cd` resolves them. */
static bool
read_name(const struct option *row, void *at, const char *value)
{
	const char **name = at;
	char *path = row->flags & LIST ? realpath(value, NULL)
	    : absolute_for(row->name, value, row->flags & DIR);
	struct stat st;
	bool right = path != NULL && *value != '\0' &&
	    (!(row->flags & DIR) || (stat(path, &st) == 0 &&
	    S_ISDIR(st.st_mode) && access(path, X_OK) == 0));

	if (right && !(row->flags & LIST)) {
		free((char *)*name);
		*name = path;
		return true;
	}
	if (right && find_cover(*name, path) == NULL)
		words_add(name, path, strlen(path));
	free(path);
	return right;
}

#define AT(member) offsetof(struct options, member)
#define NUMBER(unit, from, to) \
	read_number, "a whole number from ", (unit), (from), (to)
#define FLAG NUMBER(1, 0, 1)
#define CHOICE read_choice, "one of ", 0, 0, 0
#define VALUE(read, right) read, right, 0, 0, 0
#define NAME(right) VALUE(read_name, right)
#define DIRECTORY NAME("a directory that is there and can be entered")
#define LONG 1000000000

static const struct option option_table[] = {
	{ "--workdir", "DIR", DIRECTORY, AT(workdir), DIR,
	  "initial working directory (default: where boris was started)" },
	{ "--timeout", "SECONDS", NUMBER(1000, 1, 600), AT(timeout), 0,
	  "of a command that names none (default 120; some clients 600)" },
	{ "--bg-timeout", "SECONDS", NUMBER(1000, 0, LONG), AT(bg_timeout), 0,
	  "end a background task older than this (default 0: never)" },
	{ "--on-timeout", "kill|background", CHOICE, AT(on_timeout), 0,
	  "what happens to a command after its timeout (default kill)" },
	{ "--truncate", "head|tail|both", CHOICE, AT(truncate), 0,
	  "which end of long output is returned (default head)" },
	{ "--save-limit", "MIB", NUMBER(1 << 20, 0, 1000000), AT(save_limit), 0,
	  "how much of a long stream is saved (default 64; 0: none)" },
	{ "--structured", "auto|on|off", CHOICE, AT(structured), 0,
	  "results as data too (default auto: it depends on the client)" },
	{ "--write", "DIR", DIRECTORY, AT(write), DIR | LIST | STRICT,
	  "commands write only here, $TMPDIR (/tmp), /dev (repeatable)" },
	{ "--no-network", NULL, FLAG, AT(no_network), 0,
	  "commands reach no network but a loopback of their own" },
	{ "--hide", "PATH", NAME("a file or directory that is there"), AT(hide),
	  LIST | STRICT, "commands see nothing of it (repeatable)" },
	{ "--log", "FILE", NAME("the name of a file"), AT(log_file), 0,
	  "append a record of every command, in JSON; or /dev/stderr" },
	{ "--call-limit", "SECONDS", NUMBER(1000, 0, LONG), AT(call_limit), 0,
	  "how long a call is held open (default: the client's; 0: any)" },
	{ "--result-limit", "BYTES", NUMBER(1, 2000, LONG), AT(result_limit),
	  OR_ZERO, "of a result's text (default: the client's; 0: any)" },
	{ "--edit", NULL, FLAG, AT(edit), 0, "offer the tool edit" },
	{ "--no-bash", NULL, FLAG, AT(no_bash), 0,
	  "do not offer the bash and task_output tools" },
	{ "--transport", "stdio|http", CHOICE, AT(http), 0,
	  "how clients come: stdin and stdout, or HTTP (default stdio)" },
	{ "--listen", "ADDR",
	  VALUE(read_address, "an IPv4 or IPv6 address"), AT(address), HTTP,
	  "IPv4 or IPv6 address to listen on (default 127.0.0.1)" },
	{ "--port", "N", NUMBER(1, 0, 65535), AT(port), HTTP,
	  "port (default 8080; 0: a free one)" },
	{ "--token", "T", VALUE(read_token, TOKEN_RIGHT), AT(token),
	  HTTP | STRICT | TOKEN,
	  "what clients have to show: Authorization: Bearer T" },
	{ "--token-file", "FILE", NAME("the name of a file"), AT(token_file),
	  HTTP | TOKEN, "file with the token" },
	{ "--generate-token", NULL, FLAG, AT(generate_token),
	  HTTP | TOKEN | NO_VARIABLE, "make a token and say it on stderr" },
	{ "--allow-anyone", NULL, FLAG, AT(allow_anyone), HTTP,
	  "listen to other machines without a token" },
	{ "--allow-origin", "ORIGIN", VALUE(read_origins,
	  "an origin, as https://host or http://host:8000"), AT(origins), HTTP,
	  "web pages that may call, as https://host (repeatable)" },
	{ "--session-timeout", "SECONDS", NUMBER(1000, 1, LONG),
	  AT(session_timeout), HTTP, "end a session unused (default 1800)" },
	{ "--secret", "ID", VALUE(read_text, NULL), AT(secret),
	  NO_VARIABLE | NO_VALUE,
	  "type a secret into a terminal that asks (ID: of several)" },
	{ "--help", NULL, FLAG, AT(help), NO_VARIABLE, "print this (-h)" },
	{ "--version", NULL, FLAG, AT(version), NO_VARIABLE, "print that" }
};

enum { OPTIONS = sizeof(option_table) / sizeof(option_table[0]) };

/* Writes the name of its variable, BORIS_NO_BASH for --no-bash; or NULL */
static const char *
variable_of(const struct option *row, struct buf *name)
{
	const char *c;

	if (row->flags & NO_VARIABLE)
		return NULL;
	name->len = 0;
	buf_add(name, "BORIS_");
	for (c = row->name + strlen("--"); *c != '\0'; c++)
		buf_putc(name, *c == '-' ? '_' : (char)toupper(*c));
	return buf_text(name);
}

/* Reads a value; NULL: it is missing. `from` is the option or its variable. */
static void
set_option(struct options *o, const struct option *row, const char *from,
           const char *value)
{
	struct buf right = { NULL, 0, 0 };

	if (value != NULL && row->read(row, (char *)o + row->at, value))
		return;
	buf_add(&right, "must be ", row->right);
	if (row->read == read_choice)
		buf_add(&right, row->value);
	if (row->read == read_number)
		buf_add(&right, NUM(row->least), " to ", NUM(row->most),
		    row->flags & OR_ZERO ? ", or 0" : "");
	if (value == NULL)
		fatal(2, "%s: %s", from, buf_text(&right));
	fatal(2, "%s %s: %s", from, value, buf_text(&right));
}

/* --name=value, --name value, --flag; returns where the next one stands. */
static char **
read_option(struct options *o, char **word, bool given[])
{
	const struct option *row = option_table, *last = row + OPTIONS;
	const char *name = strcmp(*word, "-h") == 0 ? "--help" : *word;
	size_t n = strcspn(name, "=");
	const char *value = name[n] == '=' ? name + n + 1 : NULL;

	while (row < last && (strncmp(name, row->name, n) != 0 ||
	    row->name[n] != '\0'))
		row++;
	if (row == last)
		fatal(2, "%s: not an option; see boris --help", name);
	if (row->value == NULL && value != NULL)
		fatal(2, "%s: must be given without a value", name);
	if (row->value == NULL)
		value = "1";
	else if (value == NULL && (!(row->flags & NO_VALUE) ||
	    (word[1] != NULL && word[1][0] != '-')))
		value = *++word;
	else if (value == NULL)
		value = "";
	set_option(o, row, row->name, value);
	given[row - option_table] = true;
	return word + 1;
}

/* A flag beats its variable; an empty variable counts as none (C1). Any way to
 * give a token beats the variables of the two others. */
static void
read_variables(struct options *o, const bool given[])
{
	const struct option *row = option_table;
	const char *name, *value;
	struct buf b = { NULL, 0, 0 };
	bool unused, beaten;

	for (; row < option_table + OPTIONS; row++, given++) {
		name = variable_of(row, &b);
		value = name != NULL ? getenv(name) : NULL;
		/* --transport stands before these in the table. */
		unused = row->flags & HTTP && !o->http;
		/* The user would think that boris listens (C5). */
		if (*given && unused)
			fatal(2, "%s: counts only with --transport=http",
			    row->name);
		beaten = *given || (row->flags & TOKEN && (o->token != NULL ||
		    o->token_file != NULL || o->generate_token));
		if (!beaten && !unused && value != NULL &&
		    (*value != '\0' || row->flags & STRICT))
			set_option(o, row, name, value);
	}
	buf_free(&b);
}

/* Where the manual is that came with this binary, or else how it is called */
static void
put_manual(struct buf *b)
{
	/* Of make install; a deb; the source; npm; mcpb */
	const char *at = "/../share/man/man1/boris.1\0"
	    "/../share/man/man1/boris.1.gz\0"
	    "/boris.1\0/../boris.1\0/../../boris.1\0";
	struct buf name = { NULL, 0, 0 };
	char self[4096] = "", *found = NULL;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
		*strrchr(self, '/') = '\0';
	for (; *at != '\0' && found == NULL; at += strlen(at) + 1) {
		name.len = 0;
		buf_add(&name, self, at);
		found = realpath(buf_text(&name), NULL);
	}
	buf_add(b, "The manual: man ", found != NULL ? found : "boris", "\n");
	buf_free(&name);
	free(found);
}

static void
print_help(bool help)
{
	struct buf b = { NULL, 0, 0 }, name = b;
	const struct option *row = option_table;
	const char *variable;

	buf_add(&b, "boris " BORIS_VERSION, !help ? "\n" : ": a shell for AI "
	    "agents, an MCP server on stdin and stdout, or HTTP\n\n"
	    "usage: boris [OPTION]...\n\nAn option is --name=value or --name "
	    "value. It beats its variable [in brackets].\n\n");
	for (; help && row < option_table + OPTIONS; row++) {
		variable = variable_of(row, &name);
		buf_add(&b, "  ", row->name, row->value != NULL ? "=" : "",
		    row->value != NULL ? row->value : "");
		if (variable != NULL)
			buf_add(&b, "  [", variable,
			    row->value == NULL ? "=1]" : "]");
		buf_add(&b, "\n        ", row->flags & HTTP ? "HTTP: " : "",
		    row->help, "\n");
	}
	buf_add(&b, help ? "\nSet up: claude mcp add boris -- boris\n" : "");
	if (help)
		put_manual(&b);
	errno = ENOSPC;  /* the reason if only a part is written */
	if (write(1, b.data, b.len) != (ssize_t)b.len)
		fatal(1, "stdout: %s", strerror(errno));
	exit(0);
}

void
options_need(const struct options *o, const char *file, const char *what)
{
	char *real = realpath(file, NULL);
	const char *cover = find_cover(o->hide, real != NULL ? real : file);
	struct buf why = { NULL, 0, 0 };

	if (cover != NULL) {
		buf_add(&why, "must not cover ", file, ", ", what);
		fatal(2, "--hide (BORIS_HIDE) %s: %s", cover, buf_text(&why));
	}
	free(real);
}

/* Refuses a --hide that covers what boris or every shell script needs. Even a
 * part of /proc cannot be hidden, as cover() in fence.c mounts on it (F5). */
static void
check_hidden(const struct options *o)
{
	const char *path = o->hide;

	options_need(o, o->workdir, "the working directory");
	options_need(o, o->tmpdir, "the directory for saved files ($TMPDIR)");
	options_need(o, "/proc", "where boris finds processes");
	options_need(o, "/dev/null", "which shell scripts need");
	options_need(o, "/dev/ptmx", "which opens terminals");
	options_need(o, "/dev/pts", "the directory of terminals");
	for (; path != NULL && *path != '\0'; path += strlen(path) + 1) {
		if (is_within("/proc", path))
			fatal(2, "--hide (BORIS_HIDE) %s: must not be below "
			    "/proc, which boris needs", path);
	}
}

static void
complete_http(struct options *o)
{
	const char *why;

	if ((o->token != NULL) + (o->token_file != NULL) +
	    o->generate_token > 1)
		fatal(2, "--token, --token-file, --generate-token: must be "
		    "given one at a time");
	why = o->token_file != NULL ? options_read_token(o, 0) : NULL;
	if (why != NULL)
		fatal(2, "--token-file (BORIS_TOKEN_FILE) %s: %s",
		    o->token_file, why);
	o->loopback = strncmp(o->address, "127.", 4) == 0 ||
	    strcmp(o->address, "::1") == 0;
	if (!o->loopback && o->token == NULL && !o->generate_token &&
	    !o->allow_anyone)
		fatal(2, "--listen (BORIS_LISTEN) %s: other machines could run "
		    "commands here; must come with a token (--token-file, "
		    "--generate-token) or --allow-anyone", o->address);
}

void
options_read(struct options *o, char **argv)
{
	bool given[OPTIONS] = { false };
	const char *tmp = getenv("TMPDIR");
	const char *self = *argv != NULL ? *argv++ : "boris";
	const char *self_path = strchr(self, '/') != NULL
	    ? absolute(self, true) : NULL;

	*o = (struct options){
		.save_limit = 64 << 20, .call_limit = -1, .result_limit = -1,
		.self = self_path != NULL ? self_path : self,
		.address = "127.0.0.1", .port = 8080,
		.session_timeout = 1800000,
		.head_first = 30000, .head_last = 2000,
		.tail_lines = 2000, .tail_bytes = 51200,
		.both_first = 10000, .both_last = 20000,
		.binary_first = 1000, .look_last = 10000,
		.tasks_most = 10, .unread_most = 10
	};
	while (*argv != NULL)
		argv = read_option(o, argv, given);
	if (o->help || o->version)
		print_help(o->help);
	read_variables(o, given);
	o->bash = !o->no_bash;
	if (o->workdir == NULL)
		o->workdir = absolute_for("--workdir", ".", true);
	o->tmpdir = absolute_for("TMPDIR", tmp != NULL && *tmp != '\0' ? tmp
	    : "/tmp", false);
	/* Commands can write in these, too (F1). */
	if (o->write != NULL) {
		words_add(&o->write, o->tmpdir, strlen(o->tmpdir));
		words_add(&o->write, "/dev", strlen("/dev"));
	}
	check_hidden(o);
	if (o->http)
		complete_http(o);
}

/* The file's text without the newline at its end. It may be a pipe, and come in
 * parts (H3). */
const char *
options_read_token(struct options *o, int flags)
{
	char text[TOKEN_MOST + 2] = "";  /* a newline, and one too many */
	int fd = open(o->token_file, O_RDONLY | O_CLOEXEC | flags);
	ssize_t n = fd < 0 ? -1 : 1;
	size_t len = 0;

	for (; n > 0 && len < sizeof(text); len += n > 0 ? (size_t)n : 0)
		n = read(fd, text + len, sizeof(text) - len);
	fd_close(&fd);
	if (n < 0)
		return strerror(errno);
	if (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	if (!is_token(text, len))
		return "must be " TOKEN_RIGHT;
	free(o->token);
	o->token = mem_copy(text);
	return NULL;
}
