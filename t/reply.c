/* SPDX-License-Identifier: ISC */
/* reply: reads what boris wrote, for the tests.
 *
 *	reply [-l] [-v | -s | -n | -k] [STEP ...] <JSON
 *	reply -c <LINES
 *	reply -1 SECONDS <LINES
 *
 * Each STEP is the name of a member or the index of an element. Prints what is
 * found there as JSON, strings in one spelling; -v as it was written; -s decoded,
 * without a newline; -n how many elements, members or characters it has; -k the
 * members' names, a line each. Exit 1: there is no such thing; 2: it is no JSON.
 *
 * -l does so for each line, and prints an empty one where there is nothing. -c
 * prints each whole line that boris must not write, and why (C3, B6). -1 takes
 * one line, within so many seconds, and leaves what is behind it in the pipe. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "json.h"

/* The fields of a result in their order, each with how a line begins in front of
 * the output, in the text, that tells it (B) */
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
there(struct json value)
{
	return json_type(value) != JSON_NONE;
}

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

/* A string, decoded, with a NUL behind it */
static struct buf
decoded(struct json string)
{
	struct buf b = {0};

	json_decode(string, &b);
	buf_putc(&b, '\0');
	b.len--;
	return b;
}

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
print(struct json value, char how)
{
	struct json name, member;
	struct buf out = {0}, text;
	size_t at = 0;

	if (how == 's') {
		json_decode(value, &out);
	} else if (how == 'n') {
		printf("%ld\n", count(value));
	} else if (how == 'k') {
		while (json_next(value, &at, &name, &member)) {
			json_decode(name, &out);
			buf_putc(&out, '\n');
		}
	} else if (how != 'v' && json_type(value) == JSON_STRING) {
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

/* -- What boris must not write ----------------------------------------- */

/* Does the text have the string, or each of the notes that "; " divides? */
static bool
says(const char *text, struct json string, bool notes)
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

/* Data and text say the same (B6). */
static const char *
data_fault(struct json data, const char *text)
{
	struct json name, value, tasks = json_get(data, "tasks");
	bool task = there(json_get(data, "task_id"));
	bool running = json_is(json_get(data, "status"), "running"), survives;
	size_t at = 0;
	int i = -1;

	while (json_next(data, &at, &name, &value)) {
		for (i++; i < FIELDS && !json_is(name, fields[i][0]); i++)
			;
		if (i >= FIELDS)
			return "data with an unknown field, or out of order";
		if (json_type(value) == JSON_STRING && i > 0 &&
		    !json_is(name, "cwd") &&
		    !says(text, value, json_is(name, "note")))
			return "data that the text does not have";
	}
	for (at = 0; json_next(tasks, &at, NULL, &value);)
		if (!says(text, json_get(value, "task_id"), false) ||
		    !says(text, json_get(value, "status"), false))
			return "a task that the text does not have";
	if (there(tasks) || there(json_get(data, "text")))
		return NULL;
	survives = json_type(json_get(data, "note")) == JSON_STRING &&
	    strstr(text, "still running") != NULL;
	if (!survives && running == there(json_get(data, "exit_code")))
		return "running with an exit code, or ended without one";
	if (task != there(json_get(data, "pid")) ||
	    (task && !says(text, json_get(data, "status"), false)))
		return "a task without pid, or whose text has no status";
	while (*text != '\0' && *text != '\n') {
		for (i = 0; i < FIELDS && (fields[i][1] == NULL ||
		    strncmp(text, fields[i][1], strlen(fields[i][1])) != 0); i++)
			;
		if (i == FIELDS || !there(json_get(data, fields[i][0])))
			return "text that the data does not have";
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return NULL;
}

/* Does the line contain U+0085, U+2028 or U+2029 (M14.19)? */
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

static const char *
line_fault(const char *line, size_t len)
{
	struct json m = json_check(line, len);
	struct json result = json_get(m, "result"), error = json_get(m, "error");
	struct json content = json_get(result, "content");
	struct json data = json_get(result, "structuredContent");
	struct json text = json_get(step(content, "0"), "text");
	struct buf b;
	const char *why = NULL;

	if (json_type(m) != JSON_OBJECT || m.len != len ||
	    !json_is(json_get(m, "jsonrpc"), "2.0"))
		return "no object, or no jsonrpc 2.0, or white space around it";
	if (has_line_break(line, len))
		return "a line break that is not escaped";
	if (json_type(json_get(m, "method")) == JSON_STRING)
		return count(m) == 2 + there(json_get(m, "params")) ? NULL :
		    "no good notification";
	if (count(m) != 3 || !there(json_get(m, "id")) ||
	    (json_type(result) != JSON_OBJECT &&
	    (json_type(json_get(error, "code")) != JSON_NUMBER ||
	    json_type(json_get(error, "message")) != JSON_STRING)))
		return "neither response nor notification";
	if (there(content) ? count(content) != 1 ||
	    json_type(text) != JSON_STRING : there(data))
		return "content that is not one text";
	if (!there(data))
		return NULL;
	if (json_true(json_get(result, "isError")))
		return "an error with data";
	b = decoded(text);
	why = data_fault(data, b.data);
	buf_free(&b);
	return why;
}

/* -- Lines ------------------------------------------------------------- */

static int
read_text(const char *text, size_t len, char how, char **steps)
{
	struct json value = json_check(text, len);
	const char *why = how == 'c' ? line_fault(text, len) : NULL;

	if (why != NULL)
		printf("%s: %.*s\n", why, (int)len, text);
	if (how == 'c')
		return why != NULL;
	if (!there(value))
		return 2;
	while (*steps != NULL)
		value = step(value, *steps++);
	if (!there(value))
		return 1;
	print(value, how);
	return 0;
}

/* The last line may be torn: its writer was killed. */
static int
each_line(const struct buf *in, char how, char **steps)
{
	size_t at, len;
	char *end;
	int fault, status = 0;

	for (at = 0; at < in->len; at += len + 1) {
		end = memchr(in->data + at, '\n', in->len - at);
		len = (end != NULL ? (size_t)(end - in->data) : in->len) - at;
		if (how == 'c' && end == NULL)
			break;
		fault = read_text(in->data + at, len, how, steps);
		if (how == 'c')
			status |= fault;
		else if (fault != 0 && how != 's')
			putchar('\n');
	}
	return status;
}

int
main(int argc, char *argv[])
{
	struct buf in = {0};
	char bytes[65536], how = 0;
	bool lines = false;
	int c, status;
	size_t n;

	while ((c = getopt(argc, argv, "lvsnkc1")) != -1) {
		lines = lines || c == 'l' || c == 'c';
		if (c != 'l')
			how = (char)c;
	}
	if (how == '1') {
		/* A pipe cannot be looked into: a byte at a time. */
		alarm((unsigned)atoi(argv[optind]));
		while ((c = (int)read(0, bytes, 1)) == 1 && *bytes != '\n')
			putchar(*bytes);
		return c != 1;
	}
	while ((n = fread(bytes, 1, sizeof(bytes), stdin)) > 0)
		buf_put(&in, bytes, n);
	status = lines ? each_line(&in, how, argv + optind) :
	    read_text(in.data, in.len, how, argv + optind);
	buf_free(&in);
	return status;
}
