/* SPDX-License-Identifier: ISC */
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
#include "base/fmt.h"
#include "base/io.h"
#include "base/message.h"
#include "base/text.h"

#define TOKEN_FORM "1 to 4095 visible ASCII characters"
enum { TOKEN_MAX = 4095 };  /* maximum token length, in bytes (H3) */

/* An entry in the option table. It describes the command-line option, its
 * environment variable, and its --help text. */
struct option {
	const char *name;
	const char *value;   /* the value as shown in --help: a placeholder such
	                      * as DIR, or the allowed words, separated by "|";
	                      * NULL for a flag */
	/* Parses a value and stores it in the option's member of struct
	 * options. Returns false if the value is invalid. */
	bool (*read)(const struct option *, void *member, const char *value);
	const char *form;    /* description of a valid value, for error
	                      * messages; NULL for numbers and choices */
	int unit;            /* factor by which the given number is multiplied
	                      * before it is stored, such as 1000 for seconds */
	int min, max;        /* range of the given number, before it is
	                      * multiplied by `unit` */
	size_t member;       /* offset of the option's member in struct
	                      * options */
	unsigned flags;      /* flags from the enum below */
	const char *help;
};

/* Flags of an option */
enum {
	ALLOW_ZERO = 1,      /* 0 is accepted even if it is below `min` */
	DIR = 2,             /* the option takes a directory name */
	HTTP = 4,            /* the option requires --transport=http (C5) */
	TOKEN = 8,           /* the option sets the bearer token for HTTP; at
	                      * most one option of this kind may be given */
	/* an empty environment variable is an error, because treating it as
	 * unset would disable the protection that the option provides (F3,
	 * H3) */
	STRICT = 16,
	NO_VARIABLE = 32,    /* the option has no environment variable */
	NO_VALUE = 64        /* the option may be given without a value */
};

/* Appends the first n bytes of `text` to a list of strings. base/options.h
 * describes the format of such a list. */
static void
list_add(const char **list, const char *text, size_t n)
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

/* Returns whether the file is the directory itself or is anywhere below it. */
static bool
is_within(const char *dir, const char *file)
{
	size_t n = strlen(dir);

	if (strncmp(dir, file, n) != 0)
		return false;
	return n == 1 || file[n] == '/' || file[n] == '\0';
}

/* Returns the first path in the list that is the file itself or one of its
 * parent directories, or NULL if there is none. */
static const char *
find_cover(const char *list, const char *file)
{
	for (; list != NULL && *list != '\0'; list += strlen(list) + 1) {
		if (is_within(list, file))
			return list;
	}
	return NULL;
}

/* Returns the absolute path of a file. A relative path would not work later,
 * because boris leaves its initial directory. If `tidy` is true, also removes
 * "." and ".." components. Returns NULL with errno set if the current directory
 * cannot be determined. */
static char *
absolute(const char *name, bool tidy)
{
	char dir[PATH_LIMIT] = "/", *path;

	if (*name != '/' && getcwd(dir, sizeof(dir)) == NULL)
		return NULL;
	path = path_from(dir, name);
	if (tidy)
		path_tidy(path);
	return path;
}

/* Returns the absolute path of a file, or exits with status 2 on failure (C2).
 * The error message names `what`, the option or variable that the path comes
 * from. */
static char *
absolute_for(const char *what, const char *name, bool tidy)
{
	char *path = absolute(name, tidy);

	if (path == NULL)
		fatal(2, "%s=%s: cannot determine the current directory: %s; "
		    "use an absolute path", what, name, strerror(errno));
	return path;
}

static bool
is_token(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] > ' ' && s[i] < 127)
		i++;
	return n > 0 && n <= TOKEN_MAX && i == n;
}

static bool
read_number(const struct option *row, void *member, const char *value)
{
	const char *end;
	int64_t n = digits_value(value, 10, &end);
	bool in_bounds = n >= row->min && n <= row->max;
	bool allowed_zero = n == 0 && (row->flags & ALLOW_ZERO);

	if (*end != '\0' || !(in_bounds || allowed_zero))
		return false;
	*(int64_t *)member = n * row->unit;
	return true;
}

/* Stores the index of the given word in the option's list of allowed words.
 * Returns false if the word is not in that list. */
static bool
read_choice(const struct option *row, void *member, const char *value)
{
	const char *word = row->value;
	int64_t *index = member;
	size_t n;

	*index = 0;
	while (*word != '\0') {
		n = strcspn(word, "|");
		if (strlen(value) == n && memcmp(word, value, n) == 0)
			return true;
		word += n + (word[n] == '|');
		++*index;
	}
	return false;
}

static bool
read_text(const struct option *row, void *member, const char *value)
{
	(void)row;
	*(const char **)member = value;
	return true;
}

static bool
read_address(const struct option *row, void *member, const char *value)
{
	unsigned char binary[16];

	read_text(row, member, value);
	return inet_pton(AF_INET, value, binary) == 1 ||
	    inet_pton(AF_INET6, value, binary) == 1;
}

static bool
read_token(const struct option *row, void *member, const char *value)
{
	char **token = member;

	(void)row;
	free(*token);
	*token = mem_copy(value);
	/* Overwrite the token so that it does not appear in the process list
	 * (H3). */
	memset((char *)value, '*', strlen(value));
	return is_token(*token, strlen(*token));
}

/* Returns whether the text is an origin in the form that browsers send: a
 * scheme, a host and an optional port, without a path. */
static bool
is_origin(const char *text, size_t n)
{
	size_t scheme = strcspn(text, ":/");
	const char *host;

	if (scheme == 0 || n <= scheme + strlen("://"))
		return false;
	host = text + scheme + strlen("://");
	return strncmp(text + scheme, "://", strlen("://")) == 0 &&
	    memchr(host, '/', (size_t)(text + n - host)) == NULL;
}

/* Adds the origins in a comma- or space-separated string to a list. Returns
 * false if one of them is invalid. */
static bool
read_origins(const struct option *row, void *member, const char *value)
{
	size_t n;

	(void)row;
	do {
		n = strcspn(value, ", ");
		if (!is_origin(value, n))
			return false;
		list_add(member, value, n);
		value += n + strspn(value + n, ", ");
	} while (*value != '\0');
	return true;
}

/* Returns whether boris can change to the directory. Sets errno if it
 * cannot. */
static bool
is_directory(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	errno = ENOTDIR;
	return S_ISDIR(st.st_mode) && access(path, X_OK) == 0;
}

/* Stores the absolute path of `value`, a file or directory. For a directory,
 * also resolves "." and ".." as `cd` does. Returns false if `value` is empty,
 * or if boris cannot change to the directory, in which case errno is set. */
static bool
read_path(const struct option *row, void *member, const char *value)
{
	bool is_dir = row->flags & DIR;
	const char **stored = member;
	char *path;
	int error;

	if (*value == '\0')
		return false;
	path = absolute_for(row->name, value, is_dir);
	if (is_dir && !is_directory(path)) {
		error = errno;
		free(path);
		errno = error;
		return false;
	}
	free((char *)*stored);
	*stored = path;
	return true;
}

/* Adds the real path of `value`, a file or directory, to a list, unless the
 * list already contains that path or one of its parent directories. Returns
 * false if `value` is empty, or if the file or directory is not accessible, in
 * which case errno is set. */
static bool
read_paths(const struct option *row, void *member, const char *value)
{
	const char **list = member;
	char *name, *path;
	bool valid;
	int error;

	if (*value == '\0')
		return false;
	name = absolute_for(row->name, value, false);
	path = realpath(name, NULL);
	valid = path != NULL && (!(row->flags & DIR) || is_directory(path));
	error = errno;
	free(name);
	if (valid && find_cover(*list, path) == NULL)
		list_add(list, path, strlen(path));
	free(path);
	errno = error;
	return valid;
}

#define MEMBER(name) .member = offsetof(struct options, name)
#define NUMBER(factor, from, to) .read = read_number, \
	.unit = (factor), .min = (from), .max = (to)
#define FLAG NUMBER(1, 0, 1)
#define CHOICE(words) .value = (words), .read = read_choice
#define PATH .read = read_path
#define LONG 1000000000

static const struct option option_table[] = {
	{ .name = "--workdir", .value = "DIR", PATH,
	  .form = "the name of a directory", MEMBER(workdir), .flags = DIR,
	  .help = "start commands in DIR (default: the current directory)" },
	{ .name = "--timeout", .value = "SECONDS", NUMBER(1000, 1, 600),
	  MEMBER(timeout),
	  .help = "default timeout for a command (default: 120; 600 for some "
	  "clients)" },
	{ .name = "--bg-timeout", .value = "SECONDS", NUMBER(1000, 0, LONG),
	  MEMBER(bg_timeout),
	  .help =
	  "terminate background tasks after SECONDS (default: 0, never)" },
	{ .name = "--on-timeout", CHOICE("kill|background"), MEMBER(on_timeout),
	  .help = "what to do with a command that times out (default: kill)" },
	{ .name = "--truncate", CHOICE("head|tail|both"), MEMBER(truncate),
	  .help = "which part of long output to return (default: head)" },
	{ .name = "--save-limit", .value = "MIB", NUMBER(1 << 20, 0, 1000000),
	  MEMBER(save_limit),
	  .help = "maximum size of a saved output file (default: 64; 0: save "
	  "nothing)" },
	{ .name = "--structured", CHOICE("auto|on|off"), MEMBER(structured),
	  .help = "add structured content to results (default: depends on the "
	  "client)" },
	{ .name = "--write", .value = "DIR", .read = read_paths,
	  .form = "the name of a directory", MEMBER(write),
	  .flags = DIR | STRICT,
	  .help = "allow writing only below DIR, $TMPDIR (or /tmp) and /dev "
	  "(repeatable)" },
	{ .name = "--no-network", FLAG, MEMBER(no_network),
	  .help = "run commands without network access, except for loopback" },
	{ .name = "--hide", .value = "PATH", .read = read_paths,
	  .form = "the name of a file or directory", MEMBER(hide),
	  .flags = STRICT,
	  .help = "hide a file or directory from commands (repeatable)" },
	{ .name = "--log", .value = "FILE", PATH, .form = "the name of a file",
	  MEMBER(log_file),
	  .help = "append a JSON record of each command to FILE" },
	{ .name = "--call-limit", .value = "SECONDS", NUMBER(1000, 0, LONG),
	  MEMBER(call_limit),
	  .help =
	  "maximum duration of a tool call (default: depends on the client)" },
	{ .name = "--result-limit", .value = "BYTES", NUMBER(1, 2000, LONG),
	  MEMBER(result_limit), .flags = ALLOW_ZERO,
	  .help =
	  "maximum size of a result (default: depends on the client)" },
	{ .name = "--edit", FLAG, MEMBER(edit),
	  .help = "offer a tool that edits files" },
	{ .name = "--no-bash", FLAG, MEMBER(no_bash),
	  .help = "do not offer the bash and task_output tools" },
	{ .name = "--transport", CHOICE("stdio|http"), MEMBER(http),
	  .help =
	  "serve one client on stdin and stdout (default), or many over HTTP" },
	{ .name = "--listen", .value = "ADDR", .read = read_address,
	  .form = "an IPv4 or IPv6 address", MEMBER(address), .flags = HTTP,
	  .help = "IPv4 or IPv6 address to listen on (default: 127.0.0.1)" },
	{ .name = "--port", .value = "N", NUMBER(1, 0, 65535), MEMBER(port),
	  .flags = HTTP,
	  .help = "port to listen on (default: 8080; 0: any free port)" },
	{ .name = "--token", .value = "T", .read = read_token,
	  .form = TOKEN_FORM, MEMBER(token), .flags = HTTP | STRICT | TOKEN,
	  .help = "require clients to send this bearer token" },
	{ .name = "--token-file", .value = "FILE", PATH,
	  .form = "the name of a file", MEMBER(token_file),
	  .flags = HTTP | TOKEN,
	  .help = "read the bearer token from FILE" },
	{ .name = "--generate-token", FLAG, MEMBER(generate_token),
	  .flags = HTTP | TOKEN | NO_VARIABLE,
	  .help = "generate a bearer token and print it on stderr" },
	{ .name = "--allow-anyone", FLAG, MEMBER(allow_anyone), .flags = HTTP,
	  .help = "allow access from other machines without a token" },
	{ .name = "--allow-origin", .value = "ORIGIN", .read = read_origins,
	  .form = "an origin, such as https://host or http://host:8000",
	  MEMBER(origins), .flags = HTTP,
	  .help =
	  "accept requests from web pages served from ORIGIN (repeatable)" },
	{ .name = "--session-timeout", .value = "SECONDS",
	  NUMBER(1000, 1, LONG), MEMBER(session_timeout), .flags = HTTP,
	  .help =
	  "close a session after SECONDS without requests (default: 1800)" },
	{ .name = "--secret", .value = "ID", .read = read_text, MEMBER(secret),
	  .flags = NO_VARIABLE | NO_VALUE,
	  .help =
	  "type a password or other secret that a program run by boris asks for" },
	{ .name = "--help", FLAG, MEMBER(help), .flags = NO_VARIABLE,
	  .help = "print this help and exit (also -h)" },
	{ .name = "--version", FLAG, MEMBER(version), .flags = NO_VARIABLE,
	  .help = "print the version and exit" }
};

enum { OPTIONS = sizeof(option_table) / sizeof(option_table[0]) };

/* Returns the name of an option's environment variable, such as BORIS_NO_BASH
 * for --no-bash. The name is stored in the given buffer. Returns NULL if the
 * option has no variable. */
static const char *
variable_of(const struct option *row, struct buf *name)
{
	const char *c;

	if (row->flags & NO_VARIABLE)
		return NULL;
	name->len = 0;
	buf_fmt(name, "BORIS_");
	for (c = row->name + strlen("--"); *c != '\0'; c++)
		buf_putc(name, *c == '-' ? '_' : (char)toupper(*c));
	return buf_text(name);
}

/* Appends the option's allowed words, for example "head, tail or both". */
static void
put_words(struct buf *b, const char *words)
{
	size_t n = strcspn(words, "|");
	const char *after;

	buf_put(b, words, n);
	for (words += n; *words != '\0'; words += n) {
		words++;
		n = strcspn(words, "|");
		after = words + n;
		buf_fmt(b, *after == '|' ? ", " : " or ");
		buf_put(b, words, n);
	}
}

/* Appends a description of the values that are valid for the option. */
static void
put_valid_form(struct buf *b, const struct option *row)
{
	buf_fmt(b, "must be ");
	if (row->read == read_choice)
		put_words(b, row->value);
	else if (row->read != read_number)
		buf_fmt(b, "%s", row->form);
	else if (row->flags & ALLOW_ZERO)
		buf_fmt(b, "0 or an integer from %d to %d", row->min,
		    row->max);
	else
		buf_fmt(b, "an integer from %d to %d", row->min, row->max);
}

/* Parses the value of an option and stores it. Exits with status 2 if the value
 * is invalid or missing (NULL). The error message names `from`, the option or
 * variable that the value comes from. */
static void
set_option(struct options *o, const struct option *row, const char *from,
           const char *value)
{
	struct buf form = { NULL, 0, 0 };
	bool is_path = row->read == read_path || row->read == read_paths;
	int error;

	errno = 0;
	if (value != NULL && row->read(row, (char *)o + row->member, value))
		return;
	error = is_path ? errno : 0;
	put_valid_form(&form, row);
	if (value == NULL)
		fatal(2, "%s: value missing; %s", from, buf_text(&form));
	if (error != 0 && (row->flags & DIR))
		fatal(2, "%s=%s: cannot change to directory: %s", from, value,
		    strerror(error));
	if (error != 0)
		fatal(2, "%s=%s: %s", from, value, strerror(error));
	fatal(2, "%s=%s: %s", from, value, buf_text(&form));
}

/* Finds the option whose name equals the first n bytes of `name`. Returns NULL
 * if there is no such option. */
static const struct option *
find_option(const char *name, size_t n)
{
	const struct option *row = option_table;

	for (; row < option_table + OPTIONS; row++) {
		if (strlen(row->name) == n && memcmp(name, row->name, n) == 0)
			return row;
	}
	return NULL;
}

/* Returns the value of an option that is given without "=": "1" for a flag, ""
 * if an optional value is omitted, or otherwise the next argument. In the last
 * case, sets *used to true. Returns NULL if a required value is missing. */
static const char *
value_without_sign(const struct option *row, const char *next, bool *used)
{
	bool looks_like_value = next != NULL && next[0] != '-';

	*used = false;
	if (row->value == NULL)
		return "1";
	if ((row->flags & NO_VALUE) && !looks_like_value)
		return "";
	*used = true;
	return next;
}

/* Parses one option, which has the form --name=value, --name value or --flag.
 * Returns a pointer to the argument that follows the option and its value. */
static char **
read_option(struct options *o, char **word, bool given[])
{
	const char *name = strcmp(*word, "-h") == 0 ? "--help" : *word;
	size_t n = strcspn(name, "=");
	const struct option *row = find_option(name, n);
	const char *value;
	bool next_used = false;

	if (name[0] != '-')
		fatal(2, "%s: unexpected argument; see boris --help", name);
	if (row == NULL)
		fatal(2, "%s: unknown option; see boris --help", name);
	/* `row` is not NULL here, because fatal() does not return. */
	/* cppcheck-suppress nullPointerRedundantCheck */
	if (row->value == NULL && name[n] == '=')
		fatal(2, "%s: this option takes no value", name);
	if (name[n] == '=')
		value = name + n + 1;
	else
		value = value_without_sign(row, word[1], &next_used);
	set_option(o, row, row->name, value);
	given[row - option_table] = true;
	return word + (next_used ? 2 : 1);
}

/* Returns whether any option read so far supplies a token. */
static bool
has_token(const struct options *o)
{
	return o->token != NULL || o->token_file != NULL || o->generate_token;
}

/* Reads the environment variable for an option, unless the option was given on
 * the command line (C1). A variable that would supply a token is ignored if
 * another option already supplies one. An empty variable counts as unset, but
 * is an error for an option with the flag STRICT. */
static void
read_variable(struct options *o, const struct option *row, bool given)
{
	struct buf b = { NULL, 0, 0 };
	const char *name = variable_of(row, &b);
	const char *value = name != NULL ? getenv(name) : NULL;
	bool overridden = given || (row->flags & TOKEN && has_token(o));
	bool is_set = value != NULL &&
	    (*value != '\0' || row->flags & STRICT);

	if (is_set && !overridden)
		set_option(o, row, name, value);
	buf_free(&b);
}

/* Reads the environment variables for all options. given[i] is true if option i
 * was given on the command line, which overrides its variable. */
static void
read_variables(struct options *o, const bool given[])
{
	const struct option *row;
	int i;

	for (i = 0; i < OPTIONS; i++) {
		row = &option_table[i];
		/* `http` is already set, because the table lists --transport
		 * before the options that depend on it. */
		if (!(row->flags & HTTP) || o->http)
			read_variable(o, row, given[i]);
		else if (given[i])
			/* The user who gave this option expects boris to serve
			 * HTTP, so reject the option instead of ignoring it
			 * (C5). */
			fatal(2, "%s: requires --transport=http",
			    row->name);
	}
}

/* Finds the manual page that was installed with this binary. Returns its path,
 * which the caller must free, or NULL if no manual page is found. */
static char *
find_manual(void)
{
	/* Possible paths of the manual page, relative to the binary's
	 * directory */
	static const char *const candidates[] = {
		"/../share/man/man1/boris.1",     /* make install */
		"/../share/man/man1/boris.1.gz",  /* a Debian package */
		"/doc/boris.1",                   /* the source tree */
		"/../boris.1",                    /* npm */
		"/../../boris.1"                  /* mcpb */
	};
	struct buf name = { NULL, 0, 0 };
	char self[4096] = "", *found = NULL;
	size_t i;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
		*strrchr(self, '/') = '\0';
	for (i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		name.len = 0;
		buf_fmt(&name, "%s%s", self, candidates[i]);
		found = realpath(buf_text(&name), NULL);
		if (found != NULL)
			break;
	}
	buf_free(&name);
	return found;
}

/* Appends one option's entry to the --help text. */
static void
put_option(struct buf *b, const struct option *row)
{
	struct buf name = { NULL, 0, 0 };
	const char *variable = variable_of(row, &name);

	buf_fmt(b, "  %s", row->name);
	if (row->flags & NO_VALUE)
		buf_fmt(b, "[=%s]", row->value);
	else if (row->value != NULL)
		buf_fmt(b, "=%s", row->value);
	if (variable != NULL && row->value != NULL)
		buf_fmt(b, "  [%s]", variable);
	else if (variable != NULL)
		buf_fmt(b, "  [%s=1]", variable);
	if (row->flags & HTTP)
		buf_fmt(b, "\n        HTTP: %s\n", row->help);
	else
		buf_fmt(b, "\n        %s\n", row->help);
	buf_free(&name);
}

static void
put_help(struct buf *b)
{
	char *manual = find_manual();
	int i;

	buf_fmt(b, "boris " BORIS_VERSION ", an MCP server that gives an AI "
	    "agent a shell\n"
	    "\n"
	    "usage: boris [OPTION]...\n"
	    "\n"
	    "Options are given as --name=value or --name value. They override "
	    "the\n"
	    "environment variables that are shown in brackets.\n"
	    "\n");
	for (i = 0; i < OPTIONS; i++)
		put_option(b, &option_table[i]);
	buf_fmt(b, "\n"
	    "To add boris to Claude Code: claude mcp add boris -- boris\n"
	    "Manual: man %s\n", manual != NULL ? manual : "boris");
	free(manual);
}

/* Prints the text to stdout and exits with status 0, or with status 1 if the
 * text cannot be written. */
static void
print_and_exit(const struct buf *b)
{
	/* A partial write() does not set errno. Assume ENOSPC in that case,
	 * because the disk is probably full. */
	errno = ENOSPC;
	if (write(1, b->data, b->len) != (ssize_t)b->len)
		fatal(1, "cannot write to stdout: %s", strerror(errno));
	exit(0);
}

void
options_check_visible(const struct options *o, const char *file,
                      const char *what)
{
	char *real = realpath(file, NULL);
	const char *cover = find_cover(o->hide, real != NULL ? real : file);

	if (cover != NULL)
		fatal(2, "--hide=%s: must not contain %s, %s", cover, file,
		    what);
	free(real);
}

/* Exits if --hide covers a file that boris, a shell script or a terminal needs,
 * or if a --hide path is below /proc. run/fence.c could not hide a path there,
 * because it mounts a file system on /proc before it hides any paths (F5). */
static void
check_hidden(const struct options *o)
{
	const char *path = o->hide;

	options_check_visible(o, o->workdir, "the working directory");
	options_check_visible(o, o->tmpdir,
	    "the directory for saved files ($TMPDIR)");
	options_check_visible(o, "/proc", "where boris finds processes");
	options_check_visible(o, "/dev/null", "which shell scripts need");
	options_check_visible(o, "/dev/ptmx", "which terminals need");
	options_check_visible(o, "/dev/pts", "which terminals need");
	for (; path != NULL && *path != '\0'; path += strlen(path) + 1) {
		if (is_within("/proc", path))
			fatal(2, "--hide=%s: must not be below /proc, which "
			    "boris needs", path);
	}
}

/* Exits if more than one option supplies a token. */
static void
check_single_token(const struct options *o)
{
	int tokens = 0;

	if (o->token != NULL)
		tokens++;
	if (o->token_file != NULL)
		tokens++;
	if (o->generate_token)
		tokens++;
	if (tokens > 1)
		fatal(2, "--token, --token-file and --generate-token cannot be "
		    "used together");
}

/* Checks the HTTP options, reads the token file, and sets `loopback`. Exits if
 * an option is invalid (H3, H4). */
static void
complete_http(struct options *o)
{
	const char *why;

	check_single_token(o);
	why = o->token_file != NULL ? options_read_token(o, 0) : NULL;
	if (why != NULL)
		fatal(2, "--token-file=%s: cannot read the token: %s",
		    o->token_file, why);
	o->loopback = strncmp(o->address, "127.", 4) == 0 ||
	    strcmp(o->address, "::1") == 0;
	if (!o->loopback && !has_token(o) && !o->allow_anyone)
		fatal(2, "--listen=%s: other machines can reach this address; "
		    "add --token-file, --generate-token or --allow-anyone",
		    o->address);
}

/* Sets all options to their defaults. `timeout` stays 0, because its default
 * depends on the client (see default_timeout() in mcp/tools.c). `self` is the
 * name under which boris was started, or NULL. */
static void
set_defaults(struct options *o, const char *self)
{
	*o = (struct options){
		.save_limit = 64 << 20, .call_limit = -1, .result_limit = -1,
		.address = "127.0.0.1", .port = 8080,
		.session_timeout = 1800000,
		.head_first = 30000, .head_last = 2000,
		.tail_lines = 2000, .tail_bytes = 51200,
		.both_first = 10000, .both_last = 20000,
		.binary_first = 1000, .recent_last = 10000,
		.tasks_max = 10, .unread_max = 10
	};
	if (self == NULL)
		self = "boris";
	if (strchr(self, '/') != NULL)
		o->self = absolute(self, true);
	if (o->self == NULL)
		o->self = self;
}

void
options_read(struct options *o, char **argv)
{
	bool given[OPTIONS] = { false };
	const char *tmp = getenv("TMPDIR");
	struct buf text = { NULL, 0, 0 };

	set_defaults(o, argv[0]);
	if (*argv != NULL)
		argv++;
	while (*argv != NULL)
		argv = read_option(o, argv, given);
	if (o->help) {
		put_help(&text);
		print_and_exit(&text);
	}
	if (o->version) {
		buf_fmt(&text, "boris " BORIS_VERSION "\n");
		print_and_exit(&text);
	}
	read_variables(o, given);
	o->bash = !o->no_bash;
	if (o->workdir == NULL)
		o->workdir = absolute_for("--workdir", ".", true);
	if (tmp == NULL || *tmp == '\0')
		tmp = "/tmp";
	o->tmpdir = absolute_for("TMPDIR", tmp, false);
	/* If --write is given, commands may also write to these directories
	 * (F1). */
	if (o->write != NULL) {
		list_add(&o->write, o->tmpdir, strlen(o->tmpdir));
		list_add(&o->write, "/dev", strlen("/dev"));
	}
	check_hidden(o);
	if (o->http)
		complete_http(o);
}

/* Reads a file or FIFO until its end, or until `size` bytes have been read.
 * Returns the number of bytes read, or -1 with errno set. */
static ssize_t
read_whole(const char *file, int flags, char *text, size_t size)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | flags);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -1;
	while (n > 0 && len < size) {
		n = read(fd, text + len, size - len);
		if (n > 0)
			len += (size_t)n;
	}
	fd_close(&fd);
	return n < 0 ? -1 : (ssize_t)len;
}

const char *
options_read_token(struct options *o, int flags)
{
	/* The two extra bytes are for a newline and for detecting a token that
	 * is too long. */
	char text[TOKEN_MAX + 2] = "";
	ssize_t len = read_whole(o->token_file, flags, text, sizeof(text));

	if (len < 0)
		return strerror(errno);
	if (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	if (!is_token(text, (size_t)len))
		return "must be " TOKEN_FORM;
	free(o->token);
	o->token = mem_copy(text);
	return NULL;
}
