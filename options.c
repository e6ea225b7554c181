#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"

extern char **environ;

enum { TOKEN_LIMIT = 4096 };  /* bytes (H3) */

/* -- Saying things to people ------------------------------------------- */

void
say(const struct buf *b)
{
	struct pollfd p = { .fd = 2, .events = POLLOUT };

	if (!b->failed && poll(&p, 1, 0) == 1 && (p.revents & POLLOUT))
		if (write(2, b->data, b->len) < 0)
			return;  /* there is nowhere to report it */
}

void
fatal(int status, const char *what, const char *value, const char *right)
{
	struct buf b = { NULL, 0, 0, false };
	size_t i;

	buf_add(&b, "boris: ", what, value != NULL ? " " : "",
	    value != NULL ? value : "", ": ", right);
	/* A newline in a wrong value does not make two lines of it. */
	for (i = 0; i < b.len; i++) {
		if ((unsigned char)b.data[i] < ' ' || b.data[i] == 0x7f)
			b.data[i] = '?';
	}
	buf_putc(&b, '\n');
	say(&b);
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

/* -- Directories ------------------------------------------------------- */

/* The directory that boris was started in keeps the name that its user has for
 * it, $PWD; NULL stands for that directory. */
static char *
absolute(const char *name)
{
	const char *start = getenv("PWD");
	struct buf b = { NULL, 0, 0, false };
	struct stat named, real;
	char dir[4096];

	if (start == NULL || start[0] != '/' || stat(start, &named) < 0 ||
	    stat(".", &real) < 0 || named.st_dev != real.st_dev ||
	    named.st_ino != real.st_ino)
		start = getcwd(dir, sizeof(dir)) != NULL ? dir : "/";
	if (name == NULL)
		buf_puts(&b, start);
	else if (name[0] == '/')
		buf_puts(&b, name);
	else
		buf_add(&b, start, "/", name);
	return text_of(&b);
}

/* The directory given for `option`, or where boris is; ends boris if it can't
 * be entered (C2). as_cd: its dots are taken as `cd` takes them. */
static char *
find_dir(const char *option, const char *given, bool as_cd)
{
	struct stat st;
	char *dir = absolute(given);

	if (as_cd)
		session_tidy(dir);
	if (given != NULL && (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    access(dir, X_OK) < 0))
		fatal(2, option, given,
		    "must be a directory that is there and can be entered");
	return dir;
}

/* -- Options ----------------------------------------------------------- */

struct values {
	char *workdir;
	int64_t timeout, bg_timeout;   /* s */
	int64_t on_timeout, truncate, structured;  /* the place of the word
	                                * that was chosen in the row's value */
	int64_t no_bash;
	int64_t save_limit;            /* MiB */
	int64_t transport;             /* a choice; the rest is for http */
	char *listen, *token_file;
	struct buf token;
	struct buf origins;            /* each with a NUL behind it */
	int64_t port, session_timeout; /* s */
	struct buf write;              /* each with a NUL behind it */
	int64_t no_network;
	int64_t generate_token, allow_anyone;
	int64_t help, version;
};

enum { STDIO };  /* of --transport; else HTTP */

enum kind { TEXT, SECRET, ORIGINS, DIRS, NUMBER, CHOICE, FLAG };

/* An option is a row: --help is printed from it, it and its variable are read
 * by it, a wrong value is refused with it. */
static const struct option {
	const char *name, *env;
	const char *value;             /* for a CHOICE: all that there are */
	enum kind kind;
	size_t at;
	int64_t least, most, preset;   /* of a NUMBER */
	const char *help;              /* if it begins with "HTTP:", the option
	                                * counts only there (C5) */
} option_table[] = {
#define AT(member) offsetof(struct values, member)
#define TEXT_AT(member) TEXT, AT(member), 0, 0, 0
#define CHOICE_AT(member) CHOICE, AT(member), 0, 0, 0
#define FLAG_AT(member) NULL, FLAG, AT(member), 0, 0, 0
	{ "--workdir", "BORIS_WORKDIR", "DIR", TEXT_AT(workdir),
	  "initial working directory (default: where boris was started)" },
	{ "--timeout", "BORIS_TIMEOUT", "SECONDS",
	  NUMBER, AT(timeout), 1, 600, 120,
	  "time a command gets when the call names none, 1 to 600 (120)" },
	{ "--bg-timeout", "BORIS_BG_TIMEOUT", "SECONDS",
	  NUMBER, AT(bg_timeout), 0, 1000000000, 0,
	  "terminate a background task older than this (default 0: never)" },
	{ "--on-timeout", "BORIS_ON_TIMEOUT", "kill|background",
	  CHOICE_AT(on_timeout),
	  "what happens to a command after its timeout (default kill)" },
	{ "--truncate", "BORIS_TRUNCATE", "head|tail|both", CHOICE_AT(truncate),
	  "which end of long output is returned (default head)" },
	{ "--save-limit", "BORIS_SAVE_LIMIT", "MIB",
	  NUMBER, AT(save_limit), 0, 1000000, 64,
	  "how much of one long stream is saved in a file (default 64; "
	  "0: none)" },
	{ "--structured", "BORIS_STRUCTURED", "auto|on|off",
	  CHOICE_AT(structured),
	  "off: results are text alone; auto, the default: for clients that "
	  "would show the data" },
	{ "--write", "BORIS_WRITE", "DIR", DIRS, AT(write), 0, 0, 0,
	  "commands write nowhere but below DIR, in $TMPDIR (/tmp) and in "
	  "/dev (repeatable)" },
	{ "--no-network", "BORIS_NO_NETWORK", FLAG_AT(no_network),
	  "commands reach no network but a loopback of their own" },
	{ "--no-bash", "BORIS_NO_BASH", FLAG_AT(no_bash),
	  "do not offer the bash and task_output tools" },
	{ "--transport", "BORIS_TRANSPORT", "stdio|http", CHOICE_AT(transport),
	  "how clients come: over stdin and stdout, or HTTP (default stdio)" },
	{ "--listen", "BORIS_LISTEN", "ADDR", TEXT_AT(listen),
	  "HTTP: IPv4 or IPv6 address to listen on (default 127.0.0.1)" },
	{ "--port", "BORIS_PORT", "N", NUMBER, AT(port), 0, 65535, 8080,
	  "HTTP: port (default 8080; 0: a free one)" },
	{ "--token", "BORIS_TOKEN", "T",
	  SECRET, AT(token), 0, 0, 0,
	  "HTTP: what clients have to show: Authorization: Bearer T" },
	{ "--token-file", "BORIS_TOKEN_FILE", "FILE", TEXT_AT(token_file),
	  "HTTP: file with the token" },
	{ "--generate-token", NULL, FLAG_AT(generate_token),
	  "HTTP: make a token and say it on stderr" },
	{ "--allow-anyone", "BORIS_ALLOW_ANYONE", FLAG_AT(allow_anyone),
	  "HTTP: listen to other machines without a token" },
	{ "--allow-origin", "BORIS_ALLOW_ORIGIN", "ORIGIN",
	  ORIGINS, AT(origins), 0, 0, 0,
	  "HTTP: web pages that may call, as https://host (repeatable)" },
	{ "--session-timeout", "BORIS_SESSION_TIMEOUT", "SECONDS",
	  NUMBER, AT(session_timeout), 1, 1000000000, 1800,
	  "HTTP: end a session unused for this long (default 1800)" },
	{ "--help", NULL, FLAG_AT(help), "print this and exit" },
	{ "--version", NULL, FLAG_AT(version), "print the version and exit" }
};

enum { OPTIONS = sizeof(option_table) / sizeof(option_table[0]) };

/* `from` is the option or its variable. */
static void
refuse(const struct option *row, const char *from, const char *value)
{
	struct buf right = { NULL, 0, 0, false };

	buf_puts(&right, "must be ");
	switch (row->kind) {
	case TEXT:
	case SECRET:
	case DIRS:
		buf_add(&right, "given a value: ", row->value);
		break;
	case ORIGINS:
		buf_puts(&right, "an origin, as https://host or "
		    "http://host:8000");
		break;
	case NUMBER:
		buf_puts(&right, "a whole number from ");
		buf_int(&right, row->least);
		buf_puts(&right, " to ");
		buf_int(&right, row->most);
		break;
	case CHOICE:
		buf_add(&right, "one of ", row->value);
		break;
	case FLAG:
		buf_puts(&right, "1 or 0");
	}
	fatal(2, from, value, text_of(&right));
}

static bool
parse_number(const char *s, int64_t least, int64_t most, int64_t *n)
{
	*n = digits_value(s, 10, &s);
	return *s == '\0' && *n >= least && *n <= most;
}

/* Origins, with commas or spaces between: each a scheme and a host, perhaps a
 * port, and nothing behind that, as browsers send it. */
static bool
add_origins(struct buf *list, const char *value)
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
		buf_put(list, value, n);
		buf_putc(list, '\0');
		value += n;
		value += strspn(value, ", ");
	} while (*value != '\0');
	return true;
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

static void
set_option(struct values *o, const struct option *row, const char *from,
           const char *value)
{
	void *at = (char *)o + row->at;
	bool right = *value != '\0';
	char *dir;

	switch (row->kind) {
	case TEXT:
		memcpy(at, &value, sizeof(value));
		break;
	case SECRET:
		buf_free(at);
		buf_puts(at, value);
		text_of(at);  /* without memory no token would be asked for */
		((struct buf *)at)->len--;
		/* It must not stand in the list of processes (H3). */
		memset((char *)value, '*', strlen(value));
		break;
	case ORIGINS:
		right = add_origins(at, value);
		break;
	case DIRS:
		dir = find_dir(from, value, false);
		buf_put(at, dir, strlen(dir) + 1);
		free(dir);
		break;
	case NUMBER:
		right = parse_number(value, row->least, row->most, at);
		break;
	case CHOICE:
		right = find_choice(row->value, value, at);
		break;
	case FLAG:
		right = parse_number(value, 0, 1, at);
	}
	if (!right)
		refuse(row, from, value);
}

/* --name=value, --name value, --flag; returns where the next one stands. */
static char **
read_option(struct values *o, char **word, bool given[])
{
	const struct option *row = option_table, *last = row + OPTIONS;
	size_t n = strcspn(*word, "=");
	const char *value = (*word)[n] == '=' ? *word + n + 1 : NULL;

	while (row < last && (strncmp(*word, row->name, n) != 0 ||
	    row->name[n] != '\0'))
		row++;
	if (row == last)
		fatal(2, *word, NULL, "not an option; see boris --help");
	if (row->kind == FLAG && value != NULL)
		fatal(2, *word, NULL, "must be given without a value");
	if (row->kind == FLAG)
		value = "1";
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
token_is_given(const struct values *o, const struct option *row)
{
	return (row->at == offsetof(struct values, token) ||
	    row->at == offsetof(struct values, token_file)) &&
	    (o->token.len > 0 || o->token_file != NULL || o->generate_token);
}

/* A flag beats its variable; an empty variable counts as none (C1). */
static void
read_values(struct values *o, char **argv)
{
	bool given[OPTIONS] = { false }, unused;
	const struct option *row;
	const char *value;
	int i;

	memset(o, 0, sizeof(*o));
	while (*argv != NULL)
		argv = read_option(o, argv, given);
	for (i = 0; i < OPTIONS && !o->help && !o->version; i++) {
		row = &option_table[i];
		value = row->env != NULL ? getenv(row->env) : NULL;
		/* --transport stands before these in the table. */
		unused = o->transport == STDIO &&
		    strncmp(row->help, "HTTP:", 5) == 0;
		if (given[i]) {
			/* The user would think that boris listens (C5). */
			if (unused)
				fatal(2, row->name, NULL,
				    "counts only with --transport=http");
		} else if (value != NULL && *value != '\0' && !unused &&
		    !token_is_given(o, row)) {
			set_option(o, row, row->env, value);
		} else if (row->kind == NUMBER) {
			memcpy((char *)o + row->at, &row->preset,
			    sizeof(row->preset));
		}
	}
}

/* Prints on stdout and ends the process. */
static void
print(const char *text)
{
	struct queue q = { { NULL, 0, 0, false }, 0, 0 };

	buf_puts(&q.bytes, text);
	exit(queue_flush(&q, 1) < 0 || queue_unwritten(&q) > 0);
}

static void
print_help(void)
{
	struct buf b = { NULL, 0, 0, false };
	const struct option *row;

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
		if (row->env != NULL)
			buf_add(&b, "  [", row->env,
			    row->kind == FLAG ? "=1]" : "]");
		buf_add(&b, "\n        ", row->help, "\n");
	}
	buf_puts(&b, "\nExit status: 0 after end of input or a signal, 1 when "
	    "it cannot start or\nlisten, 2 when an option is wrong.\n"
	    "The manual: man boris\n");
	print(text_of(&b));
}

/* -- What the other rooms need of them ---------------------------------- */

/* Is the variable one of these, each a name with its `='? */
static bool
is_one_of(const char *variable, const char *const *names)
{
	while (*names != NULL &&
	    strncmp(variable, *names, strlen(*names)) != 0)
		names++;
	return *names != NULL;
}

/* The environment of commands: boris's own, without its token (H3) and OLDPWD,
 * where `cd -` leads, with another TERM and, where there is no terminal,
 * without an editor, so that programs that would draw or open one say so and
 * end (B4). With a terminal there is no pager, nor a variable that hides its
 * size (I1). env[0] is for PWD, which each command gets its own of. */
static char **
make_environment(bool terminal)
{
	static const char *const never[] = {
		"PWD=", "OLDPWD=", "TERM=", "BORIS_TOKEN=", NULL
	}, *const with_terminal[] = {
		"PAGER=", "GIT_PAGER=", "LINES=", "COLUMNS=", NULL
	}, *const without[] = {
		"EDITOR=", "VISUAL=", NULL
	};
	size_t n = 0, kept = 1;
	char **env, **e;

	while (environ[n] != NULL)
		n++;
	env = malloc((n + 5) * sizeof(*env));
	if (env == NULL)
		fatal(1, "start", NULL, "out of memory");
	env[0] = "PWD=/";
	env[kept++] = "TERM=dumb";
	if (terminal) {
		env[kept++] = "PAGER=cat";
		env[kept++] = "GIT_PAGER=cat";
	}
	for (e = environ; *e != NULL; e++) {
		if (!is_one_of(*e, never) &&
		    !is_one_of(*e, terminal ? with_terminal : without))
			env[kept++] = *e;
	}
	env[kept] = NULL;
	return env;
}

static void
fill_mcp(struct mcp_options *m, const struct values *o)
{
	const char *tmp = getenv("TMPDIR");

	memset(m, 0, sizeof(*m));
	m->session.shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash"
	    : "/bin/sh";
	m->session.workdir = find_dir("--workdir (BORIS_WORKDIR)", o->workdir,
	    true);
	m->session.tmpdir = absolute(tmp != NULL && *tmp != '\0' ? tmp
	    : "/tmp");
	m->session.env = make_environment(false);
	m->session.terminal_env = make_environment(true);
	m->session.bg_timeout = o->bg_timeout * 1000;
	m->session.save_limit = o->save_limit << 20;
	m->session.background = o->on_timeout == 1;
	m->tools.offered = !o->no_bash;
	m->structured = (enum mcp_structured)o->structured;
	m->tools.background = o->on_timeout == 1;
	m->tools.timeout = o->timeout * 1000;
	m->tools.truncate = (enum truncate)o->truncate;
}

/* Commands can write below what --write names, in the directory for saved files
 * and in /dev (F1). */
static void
fill_fence(struct options *options, struct values *o)
{
	const char *tmp = options->mcp.session.tmpdir;

	if (o->write.len > 0) {
		buf_put(&o->write, tmp, strlen(tmp) + 1);
		buf_put(&o->write, "/dev", sizeof("/dev"));
		options->fence.write = text_of(&o->write);
	}
	options->write = o->write;
	options->mcp.tools.write = options->fence.write;
	options->fence.no_network = o->no_network != 0;
	options->mcp.tools.no_network = options->fence.no_network;
}

/* -- What HTTP needs to know (H2 to H5) --------------------------------- */

/* The file's text without the newline at its end. It may be a pipe, and come in
 * parts (H3). */
static void
read_token_file(struct buf *token, const char *name)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && token->len < TOKEN_LIMIT &&
	    buf_room(token, TOKEN_LIMIT)) {
		n = read(fd, token->data + token->len, TOKEN_LIMIT);
		token->len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		fatal(2, "--token-file (BORIS_TOKEN_FILE)", name,
		    strerror(errno));
	if (n > 0)
		fatal(2, "--token-file (BORIS_TOKEN_FILE)", name,
		    "must be a token, of less than 4096 characters");
	close(fd);
	if (token->len > 0 && token->data[token->len - 1] == '\n')
		token->len--;
}

/* NULL: none is asked for. An empty BORIS_TOKEN is a mistake (H3). */
static const char *
find_token(struct buf *token, const struct values *o)
{
	int ways = (o->token.len > 0) + (o->token_file != NULL) +
	    (o->generate_token != 0);
	char hex[2 * PROC_RANDOM + 1];
	size_t i = 0;

	if (ways == 0 && getenv("BORIS_TOKEN") == NULL)
		return NULL;
	if (ways > 1)
		fatal(2, "--token, --token-file, --generate-token", NULL,
		    "must be given one at a time");
	if (o->token.len > 0) {
		*token = o->token;
	} else if (o->token_file != NULL) {
		read_token_file(token, o->token_file);
	} else if (o->generate_token) {
		if (!proc_random(hex, PROC_RANDOM))
			fatal(1, "--generate-token", NULL,
			    "no source of random numbers");
		buf_puts(token, hex);
	}
	while (i < token->len && token->data[i] > ' ' && token->data[i] < 127)
		i++;
	if (i == 0 || i < token->len)
		fatal(2, "the token", NULL,
		    "must be visible ASCII characters, at least one");
	return text_of(token);
}

static void
fill_http(struct options *options, const struct values *o)
{
	struct http_options *h = &options->http;
	int loopback;

	h->address = o->listen != NULL ? o->listen : "127.0.0.1";
	h->port = (int)o->port;
	h->rules.token = find_token(&options->token, o);
	h->rules.origins = text_of(&options->origins);
	h->session_timeout = o->session_timeout * 1000;
	options->say_token = o->generate_token != 0;
	loopback = address_is_loopback(h->address);
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
options_read(struct options *options, char **argv)
{
	struct values o;

	memset(options, 0, sizeof(*options));
	read_values(&o, argv);
	if (o.help)
		print_help();
	if (o.version)
		print("boris " BORIS_VERSION "\n");
	fill_mcp(&options->mcp, &o);
	fill_fence(options, &o);
	options->origins = o.origins;
	options->over_http = o.transport != STDIO;
	if (options->over_http)
		fill_http(options, &o);
}

void
options_free(struct options *options)
{
	struct mcp_options *m = &options->mcp;

	free((char *)m->session.workdir);
	free((char *)m->session.tmpdir);
	free(m->session.env);
	free(m->session.terminal_env);
	buf_free(&options->token);
	buf_free(&options->origins);
	buf_free(&options->write);
}
