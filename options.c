#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "connection.h"
#include "path.h"
#include "proc.h"
#include "script.h"

enum { TOKEN_LIMIT = 4096 };  /* bytes (H3) */

/* -- Saying things to people ------------------------------------------- */

/* Control characters are shown as "?": a newline in a wrong value does not make
 * two lines of it. No memory is asked for: there may be none (E7). */
void
say_all(const char *const *part)
{
	struct pollfd p = { .fd = 2, .events = POLLOUT };
	char line[1024];
	size_t n = 0;
	const char *c;

	for (; *part != NULL; part++) {
		for (c = *part; *c != '\0' && n < sizeof(line) - 1; c++)
			line[n++] = (unsigned char)*c < ' ' || *c == 127 ? '?'
			    : *c;
	}
	line[n++] = '\n';
	if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT))
		if (write(2, line, n) < 0)
			return;  /* there is nowhere to report it */
}

void
fatal(int status, const char *what, const char *value, const char *right)
{
	say("boris: ", what, value != NULL ? " " : "",
	    value != NULL ? value : "", ": ", right);
	exit(status);
}

/* What the buffer holds, as a string */
static char *
text_of(struct buf *b)
{
	buf_putc(b, '\0');
	if (b->failed)
		fatal(1, "start", NULL, "out of memory");
	return b->data;
}

/* -- Values ------------------------------------------------------------ */

/* Appends n bytes to a list of strings, each with a NUL behind it, the last one
 * with two. NULL is an empty list. */
static void
append(const char **list, const char *text, size_t n)
{
	size_t len = 0;
	char *all;

	while (*list != NULL && (*list)[len] != '\0')
		len += strlen(*list + len) + 1;
	all = realloc((char *)*list, len + n + 2);
	if (all == NULL)
		fatal(1, "start", NULL, "out of memory");
	memcpy(all + len, text, n);
	memset(all + len + n, 0, 2);
	*list = all;
}

/* The directory that boris was started in keeps the name that its user has for
 * it, $PWD; NULL stands for that directory. */
static char *
absolute(const char *name)
{
	const char *start = getenv("PWD");
	struct stat named, real;
	char dir[4096], *path;

	if (start == NULL || start[0] != '/' || stat(start, &named) < 0 ||
	    stat(".", &real) < 0 || named.st_dev != real.st_dev ||
	    named.st_ino != real.st_ino)
		start = getcwd(dir, sizeof(dir)) != NULL ? dir
		    : errno == ENOMEM ? NULL : "/";
	path = start == NULL ? NULL
	    : path_from(start, name != NULL ? name : start);
	if (path == NULL)
		fatal(1, "start", NULL, "out of memory");
	return path;
}

/* Ends boris if the directory can't be entered (C2). as_cd: its dots are taken
 * as `cd` takes them. */
static char *
find_dir(const char *option, const char *given, bool as_cd)
{
	struct stat st;
	char *dir = absolute(given);

	if (as_cd)
		path_tidy(dir);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    access(dir, X_OK) < 0)
		fatal(2, option, given,
		    "must be a directory that is there and can be entered");
	return dir;
}

/* Is the file one of the list, or below one? */
static bool
is_below(const char *list, const char *file)
{
	size_t n;

	for (; list != NULL && *list != '\0'; list += n + 1) {
		n = strlen(list);
		if (strncmp(list, file, n) == 0 &&
		    (n == 1 || file[n] == '/' || file[n] == '\0'))
			return true;
	}
	return false;
}

/* The file under the one name that no link is in; false: it is not there. */
static bool
append_file(const char **list, const char *name)
{
	char *real = realpath(name, NULL);

	if (real != NULL && !is_below(*list, real))
		append(list, real, strlen(real));
	free(real);
	return real != NULL;
}

/* Origins, with commas or spaces between: each a scheme and a host, perhaps a
 * port, and nothing behind that, as browsers send it. */
static bool
append_origins(const char **list, const char *value)
{
	const char *host;
	size_t n;

	do {
		n = strcspn(value, ", ");
		host = memchr(value, ':', n);
		if (host == NULL || host == value || host + 3 >= value + n ||
		    memcmp(host, "://", 3) != 0 ||
		    memchr(host + 3, '/', n - (size_t)(host + 3 - value)))
			return false;
		append(list, value, n);
		value += n;
		value += strspn(value, ", ");
	} while (*value != '\0');
	return true;
}

static bool
parse_number(const char *s, int64_t least, int64_t most, int64_t *n)
{
	*n = digits_value(s, 10, &s);
	return *s == '\0' && *n >= least && *n <= most;
}

/* The value's place among words with | between them; false: it is none. */
static bool
find_choice(const char *words, const char *value, int64_t *place)
{
	size_t n = strcspn(words, "|");

	for (*place = 0; strlen(value) != n || memcmp(words, value, n) != 0;
	    ++*place) {
		if (words[n] == '\0')
			return false;
		words += n + 1;
		n = strcspn(words, "|");
	}
	return true;
}

/* -- The table --------------------------------------------------------- */

/* PERHAPS is a text that may be left out. It and a SWITCH have no variable. */
enum kind {
	TEXT, SECRET, ORIGINS, DIR, DIRS, FILES, NUMBER, CHOICE, FLAG, PERHAPS,
	SWITCH
};

/* An option is a row: --help is printed from it, it and its variable are read
 * by it, a wrong value is refused with it, a right one goes into the struct of
 * the room that needs it. */
static const struct option {
	const char *name;
	const char *value;             /* for a CHOICE: all that there are */
	enum kind kind;
	int at, size;                  /* of its member in struct options: a
	                                * number of that size, or a string */
	int unit;                      /* of a NUMBER: 1000 makes s to ms */
	int least, most;               /* as it is given */
	int preset;                    /* in that unit; -1: what is known of
	                                * the client, and 0 can be given */
	const char *help;              /* if it begins with "HTTP:", the option
	                                * counts only there (C5) */
} option_table[] = {
#define AT(member) offsetof(struct options, member), \
	sizeof(((struct options *)NULL)->member)
#define PLAIN_AT(member) AT(member), 0, 0, 0, 0
#define FLAG_AT(member) NULL, FLAG, AT(member), 0, 0, 0, 0
#define SWITCH_AT(member) NULL, SWITCH, AT(member), 0, 0, 0, 0
	{ "--workdir", "DIR", DIR, PLAIN_AT(mcp.session.workdir),
	  "initial working directory (default: where boris was started)" },
	{ "--timeout", "SECONDS",
	  NUMBER, AT(mcp.tools.timeout), 1000, 1, 600, 0,
	  "time of a command that names none, 1 to 600 (120; for some clients "
	  "600)" },
	{ "--bg-timeout", "SECONDS",
	  NUMBER, AT(mcp.session.bg_timeout), 1000, 0, 1000000000, 0,
	  "terminate a background task older than this (default 0: never)" },
	{ "--on-timeout", "kill|background",
	  CHOICE, PLAIN_AT(mcp.session.background),
	  "what happens to a command after its timeout (default kill)" },
	{ "--truncate", "head|tail|both", CHOICE, PLAIN_AT(mcp.tools.truncate),
	  "which end of long output is returned (default head)" },
	{ "--save-limit", "MIB",
	  NUMBER, AT(mcp.session.save_limit), 1 << 20, 0, 1000000, 64 << 20,
	  "how much of one long stream is saved in a file (default 64; "
	  "0: none)" },
	{ "--structured", "auto|on|off", CHOICE, PLAIN_AT(mcp.structured),
	  "results as data too (default auto: not for clients that show it)" },
	{ "--write", "DIR", DIRS, PLAIN_AT(fence.write),
	  "commands write only below DIR, $TMPDIR (/tmp) and /dev "
	  "(repeatable)" },
	{ "--no-network", FLAG_AT(fence.no_network),
	  "commands reach no network but a loopback of their own" },
	{ "--hide", "PATH", FILES, PLAIN_AT(fence.hide),
	  "commands see nothing of this file or directory (repeatable)" },
	{ "--log", "FILE", TEXT, PLAIN_AT(log),
	  "append a record of every command, in JSON; /dev/stderr is stderr" },
	{ "--call-limit", "SECONDS",
	  NUMBER, AT(mcp.call_limit), 1000, 1, 1000000000, -1,
	  "how long a call may be held open (default: the client's; 0: no "
	  "limit)" },
	{ "--result-limit", "BYTES",
	  NUMBER, AT(mcp.result_limit), 1, 2000, 1000000000, -1,
	  "how long a result's text may be (default: the client's; 0: "
	  "--truncate)" },
	{ "--edit", FLAG_AT(mcp.tools.edit),
	  "offer the tool edit, which changes files" },
	{ "--no-bash", FLAG_AT(no_bash),
	  "do not offer the bash and task_output tools" },
	{ "--transport", "stdio|http", CHOICE, PLAIN_AT(over_http),
	  "how clients come: over stdin and stdout, or HTTP (default stdio)" },
	{ "--listen", "ADDR", TEXT, PLAIN_AT(http.address),
	  "HTTP: IPv4 or IPv6 address to listen on (default 127.0.0.1)" },
	{ "--port", "N", NUMBER, AT(http.port), 1, 0, 65535, 8080,
	  "HTTP: port (default 8080; 0: a free one)" },
	{ "--token", "T", SECRET, PLAIN_AT(http.rules.token),
	  "HTTP: what clients have to show: Authorization: Bearer T" },
	{ "--token-file", "FILE", TEXT, PLAIN_AT(token_file),
	  "HTTP: file with the token" },
	{ "--generate-token", SWITCH_AT(generate_token),
	  "HTTP: make a token and say it on stderr" },
	{ "--allow-anyone", FLAG_AT(allow_anyone),
	  "HTTP: listen to other machines without a token" },
	{ "--allow-origin", "ORIGIN", ORIGINS, PLAIN_AT(http.rules.origins),
	  "HTTP: web pages that may call, as https://host (repeatable)" },
	{ "--session-timeout", "SECONDS",
	  NUMBER, AT(http.session_timeout), 1000, 1, 1000000000, 1800000,
	  "HTTP: end a session unused for this long (default 1800)" },
	{ "--secret", "ID", PERHAPS, PLAIN_AT(secret),
	  "type a secret into a terminal that asks for one (ID: of several)" },
	{ "--help", SWITCH_AT(help), "print this and exit" },
	{ "--version", SWITCH_AT(version), "print the version and exit" }
};

enum { OPTIONS = sizeof(option_table) / sizeof(option_table[0]) };

/* Writes the name of its variable, BORIS_NO_BASH for --no-bash. NULL: it has
 * none. */
static const char *
variable_of(const struct option *row, struct buf *name)
{
	const char *c;

	if (row->kind >= PERHAPS)
		return NULL;
	name->len = 0;
	buf_puts(name, "BORIS_");
	for (c = row->name + strlen("--"); *c != '\0'; c++)
		buf_putc(name, *c == '-' ? '_' : (char)toupper(*c));
	return text_of(name);
}

/* `from` is the option or its variable. */
static void
refuse(const struct option *row, const char *from, const char *value)
{
	static const char *const must_be[] = {
		[ORIGINS] = "an origin, as https://host or http://host:8000",
		[FILES] = "a file or directory that is there",
		[NUMBER] = "a whole number from ",
		[CHOICE] = "one of ",
		[FLAG] = "1 or 0",
		[SWITCH] = NULL  /* one is never wrong */
	};
	const char *words = must_be[row->kind];
	struct buf right = { NULL, 0, 0, false };

	buf_add(&right, "must be ", words != NULL ? words : "given a value: ",
	    words == NULL || row->kind == CHOICE ? row->value : "");
	if (row->kind == NUMBER) {
		buf_number(&right, "", row->least, " to ");
		buf_number(&right, "", row->most,
		    row->preset < 0 ? ", or 0" : "");
	}
	fatal(2, from, value, text_of(&right));
}

/* Into a bool, an enumeration or a number */
static void
store(struct options *o, const struct option *row, int64_t n)
{
	int small = (int)n;
	bool flag = n != 0;
	const void *from = row->size == sizeof(n) ? (void *)&n
	    : row->size == sizeof(small) ? (void *)&small : (void *)&flag;

	memcpy((char *)o + row->at, from, row->size);
}

static void
set_option(struct options *o, const struct option *row, const char *from,
           const char *value)
{
	const char **text = (const char **)(void *)((char *)o + row->at);
	bool right = *value != '\0' || row->kind == PERHAPS;
	int64_t n = 0;
	char *dir;

	if (!right)
		refuse(row, from, value);
	switch (row->kind) {
	case TEXT:
	case PERHAPS:
		*text = value;
		break;
	case SECRET:
		free((char *)*text);
		*text = NULL;
		append(text, value, strlen(value));
		/* It must not stand in the list of processes (H3). */
		memset((char *)value, '*', strlen(value));
		break;
	case ORIGINS:
		right = append_origins(text, value);
		break;
	case DIR:
		free((char *)*text);
		*text = find_dir(from, value, true);
		break;
	case DIRS:
		dir = find_dir(from, value, false);
		append(text, dir, strlen(dir));
		free(dir);
		break;
	case FILES:
		right = append_file(text, value);
		break;
	case NUMBER:
		right = parse_number(value, row->least, row->most, &n) ||
		    (row->preset < 0 && parse_number(value, 0, 0, &n));
		store(o, row, n * row->unit);
		break;
	case CHOICE:
		right = find_choice(row->value, value, &n);
		store(o, row, n);
		break;
	case FLAG:
	case SWITCH:
		right = parse_number(value, 0, 1, &n);
		store(o, row, n);
	}
	if (!right)
		refuse(row, from, value);
}

/* --name=value, --name value, --flag; returns where the next one stands. */
static char **
read_option(struct options *o, char **word, bool given[])
{
	const struct option *row = option_table, *last = row + OPTIONS;
	size_t n = strcspn(*word, "=");
	const char *value = (*word)[n] == '=' ? *word + n + 1 : NULL;

	while (row < last && (strncmp(*word, row->name, n) != 0 ||
	    row->name[n] != '\0'))
		row++;
	if (row == last)
		fatal(2, *word, NULL, "not an option; see boris --help");
	if (row->value == NULL && value != NULL)
		fatal(2, *word, NULL, "must be given without a value");
	if (row->value == NULL)
		value = "1";
	else if (value == NULL && row->kind == PERHAPS &&
	    (word[1] == NULL || word[1][0] == '-'))
		value = "";
	else if (value == NULL)
		value = *++word;
	if (value == NULL)
		refuse(row, row->name, NULL);
	else
		set_option(o, row, row->name, value);
	given[row - option_table] = true;
	return word + 1;
}

/* The three ways to give a token are one choice: a flag for one of them beats
 * the variable of another. */
static bool
token_is_given(const struct options *o, const struct option *row)
{
	return (row->at == offsetof(struct options, http.rules.token) ||
	    row->at == offsetof(struct options, token_file)) &&
	    (o->http.rules.token != NULL || o->token_file != NULL ||
	    o->generate_token);
}

/* A flag beats its variable; an empty variable counts as none (C1), but not
 * where that would leave boris open (F3, H3). */
static void
read_variables(struct options *o, const bool given[])
{
	const struct option *row;
	const char *name, *value;
	struct buf b = { NULL, 0, 0, false };
	bool unused, none;
	int i;

	for (i = 0; i < OPTIONS && !o->help && !o->version; i++) {
		row = &option_table[i];
		name = variable_of(row, &b);
		value = name != NULL ? getenv(name) : NULL;
		none = value == NULL || (*value == '\0' &&
		    row->kind != SECRET && row->kind != DIRS &&
		    row->kind != FILES);
		/* --transport stands before these in the table. */
		unused = !o->over_http && strncmp(row->help, "HTTP:", 5) == 0;
		if (given[i]) {
			/* The user would think that boris listens (C5). */
			if (unused)
				fatal(2, row->name, NULL,
				    "counts only with --transport=http");
		} else if (!none && !unused && !token_is_given(o, row)) {
			set_option(o, row, name, value);
		}
	}
	buf_free(&b);
}

/* -- --help ------------------------------------------------------------ */

/* Prints on stdout and ends the process. */
static void
print(const char *text)
{
	ssize_t n;

	for (; *text != '\0'; text += n) {
		n = write(1, text, strlen(text));
		if (n < 0)
			fatal(1, "stdout", NULL, strerror(errno));
	}
	exit(0);
}

static void
print_help(void)
{
	struct buf b = { NULL, 0, 0, false }, name = b;
	const struct option *row;
	const char *variable;

	buf_puts(&b, "boris " BORIS_VERSION ": a shell for an AI agent, as an "
	    "MCP server on stdin and stdout,\nor over HTTP\n\n"
	    "usage: boris [OPTION]...\n\n"
	    "An MCP client starts boris and speaks JSON-RPC with it, one "
	    "message a line.\n"
	    "boris runs what it is told, as the user it runs as.\n\n"
	    "An option is --name=value or --name value. It beats its "
	    "variable [in brackets].\n\n");
	for (row = option_table; row < option_table + OPTIONS; row++) {
		buf_add(&b, "  ", row->name, row->value != NULL ? "=" : "",
		    row->value != NULL ? row->value : "");
		variable = variable_of(row, &name);
		if (variable != NULL)
			buf_add(&b, "  [", variable,
			    row->kind == FLAG ? "=1]" : "]");
		buf_add(&b, "\n        ", row->help, "\n");
	}
	buf_puts(&b, "\nExit status: 0 after end of input or a signal, 1 when "
	    "it cannot start or\nlisten, 2 when an option is wrong.\n"
	    "The manual: man boris\n");
	print(text_of(&b));
}

/* -- What the other rooms need of them ---------------------------------- */

/* What commands need is not to be hidden from them (F5). */
static void
keep_visible(const struct options *o, const char *dir)
{
	char *real = realpath(dir, NULL);

	if (is_below(o->fence.hide, real != NULL ? real : dir))
		fatal(2, "--hide (BORIS_HIDE)", NULL, "must leave --workdir "
		    "and the directory for saved files ($TMPDIR)");
	free(real);
}

/* Commands can write below what --write names, in the directory for saved files
 * and in /dev (F1). */
static void
complete_mcp(struct options *o)
{
	struct session_options *s = &o->mcp.session;
	struct tools_options *t = &o->mcp.tools;
	const char *tmp = getenv("TMPDIR"), *file;
	int i;

	s->shell = script_shell();
	if (s->workdir == NULL)
		s->workdir = absolute(NULL);
	s->tmpdir = absolute(tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	for (i = 0; i < SCRIPT_KINDS; i++) {
		s->env[i] = script_environment((enum script_for)i);
		if (s->env[i] == NULL)
			fatal(1, "start", NULL, "out of memory");
	}
	if (o->fence.write != NULL) {
		append(&o->fence.write, s->tmpdir, strlen(s->tmpdir));
		append(&o->fence.write, "/dev", strlen("/dev"));
	}
	t->bash = !o->no_bash;
	t->background = s->background;
	t->write = o->fence.write;
	t->no_network = o->fence.no_network;
	for (file = o->fence.hide; file != NULL && *file != '\0';
	    file += strlen(file) + 1)
		t->hidden++;
	keep_visible(o, s->workdir);
	keep_visible(o, s->tmpdir);
}

/* -- What HTTP needs to know (H2 to H5) --------------------------------- */

/* The file's text without the newline at its end. It may be a pipe, and come in
 * parts (H3). */
static void
read_token_file(const char **token, const char *name)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : 1;
	char text[TOKEN_LIMIT];
	size_t len = 0;

	while (n > 0 && len < sizeof(text)) {
		n = read(fd, text + len, sizeof(text) - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		fatal(2, "--token-file (BORIS_TOKEN_FILE)", name,
		    strerror(errno));
	if (n > 0)
		fatal(2, "--token-file (BORIS_TOKEN_FILE)", name,
		    "must be a token, of less than 4096 characters");
	close(fd);
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (memchr(text, '\0', len) != NULL)
		len = 0;  /* refused as an empty one is */
	append(token, text, len);
}

/* rules.token: NULL: none is asked for. */
static void
find_token(struct options *o)
{
	const char **token = &o->http.rules.token;
	char hex[2 * PROC_RANDOM + 1];
	size_t n = 0;

	if ((*token != NULL) + (o->token_file != NULL) + o->generate_token > 1)
		fatal(2, "--token, --token-file, --generate-token", NULL,
		    "must be given one at a time");
	if (o->token_file != NULL)
		read_token_file(token, o->token_file);
	if (o->generate_token) {
		if (!proc_random(hex, PROC_RANDOM))
			fatal(1, "--generate-token", NULL,
			    "no source of random numbers");
		append(token, hex, strlen(hex));
	}
	while (*token != NULL && (*token)[n] > ' ' && (*token)[n] < 127)
		n++;
	if (*token != NULL && (n == 0 || (*token)[n] != '\0'))
		fatal(2, "the token", NULL,
		    "must be visible ASCII characters, at least one");
}

static void
complete_http(struct options *o)
{
	struct http_options *h = &o->http;
	int loopback;

	if (h->address == NULL)
		h->address = "127.0.0.1";
	find_token(o);
	loopback = connection_is_loopback(h->address);
	h->rules.loopback = loopback == 1;
	if (loopback < 0)
		fatal(2, "--listen (BORIS_LISTEN)", h->address,
		    "must be an IPv4 or IPv6 address");
	if (loopback == 0 && h->rules.token == NULL && !o->allow_anyone)
		fatal(2, "--listen (BORIS_LISTEN)", h->address,
		    "other machines could run commands here; must come with "
		    "a token (--token-file, --generate-token) or "
		    "--allow-anyone");
}

/* -- The door ---------------------------------------------------------- */

void
options_read(struct options *o, char **argv)
{
	const struct option *row;
	bool given[OPTIONS] = { false };

	memset(o, 0, sizeof(*o));
	for (row = option_table; row < option_table + OPTIONS; row++) {
		if (row->kind == NUMBER)
			store(o, row, row->preset);
	}
	while (*argv != NULL)
		argv = read_option(o, argv, given);
	read_variables(o, given);
	if (o->help)
		print_help();
	if (o->version)
		print("boris " BORIS_VERSION "\n");
	complete_mcp(o);
	if (o->over_http)
		complete_http(o);
}

void
options_free(struct options *o)
{
	int i;

	free((char *)o->mcp.session.workdir);
	free((char *)o->mcp.session.tmpdir);
	for (i = 0; i < SCRIPT_KINDS; i++)
		free(o->mcp.session.env[i]);
	free((char *)o->fence.write);
	free((char *)o->fence.hide);
	free((char *)o->http.rules.token);
	free((char *)o->http.rules.origins);
}
