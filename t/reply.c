/* SPDX-License-Identifier: ISC */
/* reply: reads the output of boris, for the tests.
 *
 *	reply [-l] [-v | -s | -n | -k] [STEP ...] <JSON
 *	reply -c VARIABLE <LINES
 *	reply -p VARIABLE
 *	reply -1 SECONDS <LINES
 *
 * Each STEP is the name of a member or the index of an element. Prints the
 * value at that path as JSON, with one spelling for each string. Exits with
 * status 1 if the path does not exist, and with status 2 if the input is not
 * JSON.
 *
 *	-v  print the value as boris has written it
 *	-s  print the decoded string without a newline
 *	-n  print the number of elements, members or characters
 *	-k  print the names of the members, one on each line
 *	-l  read each line on its own, and print an empty line if the path does
 *	    not exist
 *	-c  print each complete line that violates the protocol, and the reason
 *	    (C3, B6), and exit with status 1 if there are any or if -p would
 *	    print a process
 *	-p  print the ids of the processes whose environment has a VARIABLE that
 *	    starts like this; exit with status 1 if there are none
 *	-1  read one line within SECONDS, and leave the following bytes in the
 *	    pipe */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "json.h"

/* The fields of a result in their order. Before the output, the text of a
 * result has a line for some of them, which starts with the second string
 * (B). */
static const char *const fields[][2] = {
	{ "status", "status: " }, { "exit_code", "exit_code: " },
	{ "signal", NULL }, { "timed_out", "Command timed out after " },
	{ "note", "note: " }, { "task_id", "task_id: " }, { "pid", "pid: " },
	{ "cwd", "cwd: " }, { "elapsed_ms", "elapsed: " }, { "stdout", "(no " },
	{ "screen", NULL },
	{ "stderr", NULL }, { "stdout_chars", NULL }, { "stderr_chars", NULL },
	{ "stdout_file", NULL }, { "stderr_file", NULL }, { "text", NULL },
	{ "tasks", NULL }
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static bool
exists(struct json value)
{
	return json_type(value) != JSON_NONE;
}

/* Returns the member or element with that name or index. */
static struct json
step(struct json value, const char *name)
{
	struct json each = {0};
	size_t at = 0;
	long index = strtol(name, NULL, 10);

	if (json_type(value) != JSON_ARRAY)
		return json_get(value, name);
	while (json_next(value, &at, NULL, &each))
		if (index-- == 0)
			return each;
	each.text = NULL;
	return each;
}

/* Returns the decoded string, with a NUL after it that does not count. */
static struct buf
decoded(struct json string)
{
	struct buf b = {0};

	json_decode(string, &b);
	buf_putc(&b, '\0');
	b.len--;
	return b;
}

/* Returns the number of characters, elements or members. */
static long
count(struct json value)
{
	struct json name, member;
	struct buf text;
	size_t at = 0;
	long n = 0;

	if (json_type(value) == JSON_STRING) {
		text = decoded(value);
		while (at < text.len)
			n += (text.data[at++] & 0xC0) != 0x80;
		buf_free(&text);
		return n;
	}
	while (json_next(value, &at, json_type(value) == JSON_OBJECT ? &name
	    : NULL, &member))
		n++;
	return n;
}

static void
print(struct json value, char option)
{
	struct json name, member;
	struct buf out = {0}, text;
	size_t at = 0;

	if (option == 's') {
		json_decode(value, &out);
	} else if (option == 'n') {
		printf("%ld\n", count(value));
	} else if (option == 'k') {
		while (json_next(value, &at, &name, &member)) {
			json_decode(name, &out);
			buf_putc(&out, '\n');
		}
	} else if (option != 'v' && json_type(value) == JSON_STRING) {
		text = decoded(value);
		json_string(&out, text.data, text.len);
		buf_putc(&out, '\n');
		buf_free(&text);
	} else {
		printf("%.*s\n", (int)value.len, value.text);
	}
	if (out.len > 0)
		fwrite(out.data, 1, out.len, stdout);
	buf_free(&out);
}

/* -- Violations of the protocol ---------------------------------------- */

/* Returns whether the text contains the string or, if notes is set, each of the
 * notes that "; " separates. */
static bool
contains(const char *text, struct json string, bool notes)
{
	struct buf b = decoded(string);
	char *part = b.data, *end = part;
	bool all = true;

	while (all && end != NULL) {
		end = notes ? strstr(part, "; ") : NULL;
		if (end != NULL)
			*end = '\0';
		all = strstr(text, part) != NULL;
		part = end != NULL ? end + 2 : part;
	}
	buf_free(&b);
	return all;
}

/* Checks that the text and the data of a result agree (B6). Returns the reason
 * if they do not, or NULL. */
static const char *
data_fault(struct json data, const char *text)
{
	struct json name, value, tasks = json_get(data, "tasks");
	bool task = exists(json_get(data, "task_id"));
	bool running = json_is(json_get(data, "status"), "running"), survives;
	const char *start;
	size_t at = 0;
	int i = -1;

	while (json_next(data, &at, &name, &value)) {
		for (i++; i < FIELDS && !json_is(name, fields[i][0]); i++)
			;
		if (i >= FIELDS)
			return "data with an unknown field, or out of order";
		if (json_type(value) == JSON_STRING && i > 0 &&
		    !json_is(name, "cwd") &&
		    !contains(text, value, json_is(name, "note")))
			return "data that is missing in the text";
	}
	for (at = 0; json_next(tasks, &at, NULL, &value);)
		if (!contains(text, json_get(value, "task_id"), false) ||
		    !contains(text, json_get(value, "status"), false))
			return "a task that is missing in the text";
	if (exists(tasks) || exists(json_get(data, "text")))
		return NULL;
	survives = json_type(json_get(data, "note")) == JSON_STRING &&
	    strstr(text, "still running") != NULL;
	if (!survives && running == exists(json_get(data, "exit_code")))
		return "a running command with an exit code, or a finished one "
		    "without";
	if (task != exists(json_get(data, "pid")) ||
	    (task && !contains(text, json_get(data, "status"), false)))
		return "a task without a pid, or without a status in the text";
	while (*text != '\0' && *text != '\n') {
		for (i = 0; i < FIELDS; i++) {
			start = fields[i][1];
			if (start != NULL &&
			    strncmp(text, start, strlen(start)) == 0)
				break;
		}
		if (i == FIELDS || !exists(json_get(data, fields[i][0])))
			return "text that is missing in the data";
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return NULL;
}

/* Returns whether the line contains U+0085, U+2028 or U+2029 (M14.19). */
static bool
has_line_break(const char *line, size_t len)
{
	size_t i;

	for (i = 0; i + 1 < len; i++) {
		if (memcmp(line + i, "\xC2\x85", 2) == 0)
			return true;
		if (i + 2 < len && (memcmp(line + i, "\xE2\x80\xA8", 3) == 0 ||
		    memcmp(line + i, "\xE2\x80\xA9", 3) == 0))
			return true;
	}
	return false;
}

/* Returns the reason why boris must not have written the line, or NULL. */
static const char *
line_fault(const char *line, size_t len)
{
	struct json m = json_check(line, len);
	struct json result = json_get(m, "result");
	struct json error = json_get(m, "error");
	struct json content = json_get(result, "content");
	struct json data = json_get(result, "structuredContent");
	struct json text = json_get(step(content, "0"), "text");
	struct buf b;
	const char *why = NULL;

	if (json_type(m) != JSON_OBJECT || m.len != len ||
	    !json_is(json_get(m, "jsonrpc"), "2.0"))
		return "not an object with jsonrpc 2.0, or surrounding white "
		    "space";
	if (has_line_break(line, len))
		return "an unescaped line break";
	if (json_type(json_get(m, "method")) == JSON_STRING)
		return count(m) == 2 + exists(json_get(m, "params")) ? NULL :
		    "an invalid notification";
	if (count(m) != 3 || !exists(json_get(m, "id")) ||
	    (json_type(result) != JSON_OBJECT &&
	    (json_type(json_get(error, "code")) != JSON_NUMBER ||
	    json_type(json_get(error, "message")) != JSON_STRING)))
		return "neither a response nor a notification";
	if (exists(content) ? count(content) != 1 ||
	    json_type(text) != JSON_STRING : exists(data))
		return "content that is not a single text";
	if (!exists(data))
		return NULL;
	if (json_true(json_get(result, "isError")))
		return "an error with structured data";
	b = decoded(text);
	why = data_fault(data, b.data);
	buf_free(&b);
	return why;
}

/* -- Lines ------------------------------------------------------------- */

static int
read_text(const char *text, size_t len, char option, char **steps)
{
	struct json value = json_check(text, len);
	const char *why = option == 'c' ? line_fault(text, len) : NULL;

	if (why != NULL)
		printf("%s: %.*s\n", why, (int)len, text);
	if (option == 'c')
		return why != NULL;
	if (!exists(value))
		return 2;
	while (*steps != NULL)
		value = step(value, *steps++);
	if (!exists(value))
		return 1;
	print(value, option);
	return 0;
}

/* Reads each line. Ignores an incomplete last line, whose writer may have been
 * killed. Returns the exit status. */
static int
each_line(const struct buf *in, char option, char **steps)
{
	size_t at, len;
	char *end;
	int fault, status = 0;

	for (at = 0; at < in->len; at += len + 1) {
		end = memchr(in->data + at, '\n', in->len - at);
		len = (end != NULL ? (size_t)(end - in->data) : in->len) - at;
		if (option == 'c' && end == NULL)
			break;
		fault = read_text(in->data + at, len, option, steps);
		if (option == 'c')
			status |= fault;
		else if (fault != 0 && option != 's')
			putchar('\n');
	}
	return status;
}

/* -- Processes --------------------------------------------------------- */

static void
read_all(FILE *file, struct buf *to)
{
	char bytes[65536];
	size_t n;

	while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0)
		buf_put(to, bytes, n);
}

/* Returns whether the environment of the process has a variable that starts
 * with the text. */
static bool
has_variable(const char *pid, const char *start)
{
	char path[300];
	struct buf environment = {0};
	size_t at = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	read_all(file, &environment);
	fclose(file);
	buf_putc(&environment, '\0');
	while (!found && at < environment.len) {
		found = strncmp(environment.data + at, start,
		    strlen(start)) == 0;
		at += strlen(environment.data + at) + 1;
	}
	buf_free(&environment);
	return found;
}

/* Prints the ids of the processes that have the variable. Returns whether there
 * are any. */
static bool
print_processes(const char *start)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool any = false;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (!isdigit((unsigned char)*entry->d_name) ||
		    !has_variable(entry->d_name, start))
			continue;
		puts(entry->d_name);
		any = true;
	}
	if (dir != NULL)
		closedir(dir);
	return any;
}

int
main(int argc, char *argv[])
{
	struct buf in = {0};
	char byte, option = 0;
	bool lines = false;
	int c, status;

	while ((c = getopt(argc, argv, "lvsnkcp1")) != -1) {
		lines = lines || c == 'l' || c == 'c';
		if (c != 'l')
			option = (char)c;
	}
	if (option == '1') {
		/* Read single bytes, since bytes cannot be put back into a
		 * pipe. */
		alarm((unsigned)atoi(argv[optind]));
		while ((c = (int)read(0, &byte, 1)) == 1 && byte != '\n')
			putchar(byte);
		return c != 1;
	}
	if (option == 'p')
		return !print_processes(argv[optind]);
	read_all(stdin, &in);
	status = lines ? each_line(&in, option, argv + optind) :
	    read_text(in.data, in.len, option, argv + optind);
	buf_free(&in);
	if (option == 'c' && print_processes(argv[optind]))
		status = 1;
	return status;
}
