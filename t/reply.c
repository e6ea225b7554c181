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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../json.h"

/* The fields of a result, in their order (B) */
static const char *const order[] = {
	"status", "exit_code", "signal", "timed_out", "note", "task_id", "pid",
	"cwd", "elapsed_ms", "stdout", "stderr", "stdout_chars", "stderr_chars",
	"stdout_file", "stderr_file", "text", "tasks", NULL
};

/* The lines that the text has before its output, and the fields they tell */
static const char *const heads[][2] = {
	{ "Command timed out after ", "timed_out" }, { "status: ", "status" },
	{ "exit_code: ", "exit_code" }, { "task_id: ", "task_id" },
	{ "pid: ", "pid" }, { "cwd: ", "cwd" }, { "elapsed: ", "elapsed_ms" },
	{ "note: ", "note" }, { "(no output)", "stdout" },
	{ "(no new output)", "stdout" }, { NULL, NULL }
};

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

static long
count(struct json value)
{
	struct json name, member;
	struct buf text = {0};
	size_t at = 0;
	long n = 0;

	if (json_type(value) == JSON_STRING) {
		json_decode(value, &text);
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
print(struct json value, char how, struct buf *out)
{
	struct json name, member;
	struct buf text = {0};
	size_t at = 0;

	if (how == 's') {
		json_decode(value, out);
		return;
	}
	if (how == 'k') {
		while (json_next(value, &at, &name, &member)) {
			json_decode(name, out);
			buf_putc(out, '\n');
		}
		return;
	}
	if (how == 'n') {
		buf_int(out, count(value));
	} else if (how != 'v' && json_type(value) == JSON_STRING) {
		json_decode(value, &text);
		json_string(out, text.data, text.len);
		buf_free(&text);
	} else {
		buf_put(out, value.text, value.len);
	}
	buf_putc(out, '\n');
}

/* -- What boris must not write ----------------------------------------- */

static bool
has(const struct buf *text, const char *part, size_t len)
{
	size_t i;

	for (i = 0; i + len <= text->len; i++)
		if (memcmp(text->data + i, part, len) == 0)
			return true;
	return false;
}

/* Does the text have the string, or each of the notes that "; " divides? What a
 * timeout is told by stands at its beginning, the others further down. */
static bool
says(const struct buf *text, struct json string, bool notes)
{
	struct buf part = {0};
	size_t from = 0, i;
	bool all = true;

	json_decode(string, &part);
	for (i = 0; i <= part.len; i++) {
		if (i < part.len && (!notes || part.len - i < 2 ||
		    memcmp(part.data + i, "; ", 2) != 0))
			continue;
		all = all && has(text, part.data + from, i - from);
		from = i + 2;
	}
	buf_free(&part);
	return all;
}

/* Is each line before the output about something that the data has? */
static const char *
head_fault(const struct buf *text, struct json data)
{
	size_t from = 0, i;
	const char *end;

	while (from < text->len && text->data[from] != '\n') {
		for (i = 0; heads[i][0] != NULL; i++)
			if (strncmp(text->data + from, heads[i][0],
			    strlen(heads[i][0])) == 0)
				break;
		if (heads[i][0] == NULL)
			return "text with an unknown line";
		if (!there(json_get(data, heads[i][1])))
			return "text that the data does not have";
		end = strchr(text->data + from, '\n');
		from = end != NULL ? (size_t)(end - text->data) + 1 : text->len;
	}
	return NULL;
}

static const char *
data_fault(struct json data, const struct buf *text)
{
	struct json name, value, status = json_get(data, "status");
	struct json tasks = json_get(data, "tasks");
	size_t at = 0;
	int i = -1;

	while (json_next(data, &at, &name, &value)) {
		for (i++; order[i] != NULL && !json_is(name, order[i]); i++)
			;
		if (order[i] == NULL)
			return "data with an unknown field, or out of order";
		if (json_type(value) == JSON_STRING && !json_is(name, "cwd") &&
		    !json_is(name, "status") &&
		    !says(text, value, json_is(name, "note")))
			return "data that the text does not have";
	}
	for (at = 0; json_next(tasks, &at, NULL, &value);)
		if (!says(text, json_get(value, "task_id"), false) ||
		    !says(text, json_get(value, "status"), false))
			return "a task that the text does not have";
	if (there(tasks) || there(json_get(data, "text")))
		return NULL;
	if (!json_is(status, "completed") && !json_is(status, "running") &&
	    !json_is(status, "timed_out") && !json_is(status, "killed"))
		return "data without a good status";
	if (json_is(status, "running") == there(json_get(data, "exit_code")))
		return "running with an exit code, or ended without one";
	if (there(json_get(data, "task_id")) != there(json_get(data, "pid")))
		return "a task without task_id or pid";
	if (there(json_get(data, "task_id")) && !says(text, status, false))
		return "a task whose text has no status";
	return head_fault(text, data);
}

/* A tool's result: one text, and the same as data unless it is an error, or is
 * said as text alone */
static const char *
result_fault(struct json result)
{
	struct json content = json_get(result, "content");
	struct json data = json_get(result, "structuredContent");
	struct json text = json_get(step(content, "0"), "text");
	struct buf decoded = {0};
	const char *why;

	if (!there(content))
		return there(data) ? "data without a text" : NULL;
	if (count(content) != 1 || json_type(text) != JSON_STRING)
		return "content that is not one text";
	if (!there(data))
		return NULL;
	if (json_true(json_get(result, "isError")))
		return "an error with data";
	json_decode(text, &decoded);
	buf_putc(&decoded, '\0');
	decoded.len--;
	why = data_fault(data, &decoded);
	buf_free(&decoded);
	return why;
}

static const char *
line_fault(const char *text, size_t len)
{
	struct json m = json_check(text, len);
	struct json result = json_get(m, "result"), error = json_get(m, "error");

	if (json_type(m) == JSON_ARRAY)
		return NULL;
	if (json_type(m) != JSON_OBJECT || m.len != len)
		return "no object, or white space around it";
	if (!json_is(json_get(m, "jsonrpc"), "2.0"))
		return "no jsonrpc 2.0";
	if (json_type(json_get(m, "method")) == JSON_STRING)
		return count(m) == 2 + there(json_get(m, "params")) ? NULL :
		    "no good notification";
	if (count(m) != 3 || !there(json_get(m, "id")))
		return "neither response nor notification";
	if (json_type(result) == JSON_OBJECT)
		return result_fault(result);
	if (json_type(json_get(error, "code")) != JSON_NUMBER ||
	    json_type(json_get(error, "message")) != JSON_STRING)
		return "neither result nor error";
	return NULL;
}

/* -- Lines ------------------------------------------------------------- */

static int
read_text(const char *text, size_t len, char how, char **steps, struct buf *out)
{
	struct json value = json_check(text, len);
	const char *why;

	if (how == 'c') {
		why = line_fault(text, len);
		if (why == NULL)
			return 0;
		buf_puts(out, why);
		buf_puts(out, ": ");
		buf_put(out, text, len);
		buf_putc(out, '\n');
		return 1;
	}
	if (!there(value))
		return 2;
	while (*steps != NULL)
		value = step(value, *steps++);
	if (!there(value))
		return 1;
	print(value, how, out);
	return 0;
}

/* The last line may be torn: its writer was killed. */
static int
each_line(const struct buf *in, char how, char **steps, struct buf *out)
{
	size_t at, len;
	char *end;
	int fault, status = 0;

	for (at = 0; at < in->len; at += len + 1) {
		end = memchr(in->data + at, '\n', in->len - at);
		len = (end != NULL ? (size_t)(end - in->data) : in->len) - at;
		if (how == 'c' && end == NULL)
			break;
		fault = read_text(in->data + at, len, how, steps, out);
		if (how == 'c')
			status |= fault;
		else if (fault != 0 && how != 's')
			buf_putc(out, '\n');
	}
	return status;
}

/* A pipe cannot be looked into, so this takes a byte at a time. */
static int
one_line(unsigned seconds)
{
	char c;

	alarm(seconds);
	while (read(0, &c, 1) == 1) {
		if (c == '\n')
			return 0;
		putchar(c);
	}
	return 1;
}

int
main(int argc, char *argv[])
{
	struct buf in = {0}, out = {0};
	char bytes[65536], how = 0;
	bool lines = false;
	int c, status;
	size_t n;

	while ((c = getopt(argc, argv, "lvsnkc1")) != -1) {
		lines = lines || c == 'l' || c == 'c';
		if (c != 'l')
			how = (char)c;
	}
	if (how == '1')
		return one_line((unsigned)atoi(argv[optind]));
	while ((n = fread(bytes, 1, sizeof(bytes), stdin)) > 0)
		buf_put(&in, bytes, n);
	status = lines ? each_line(&in, how, argv + optind, &out) :
	    read_text(in.data, in.len, how, argv + optind, &out);
	fwrite(out.data, 1, out.len, stdout);
	buf_free(&in);
	buf_free(&out);
	return status;
}
