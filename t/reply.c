/* reply: reads what boris wrote, for the tests.
 *
 *	reply [-l] [-v | -s | -n | -k] [STEP ...] <JSON
 *	reply -c <LINES
 *	reply -1 SECONDS <LINES
 *
 * Each STEP is the name of a member or the index of an element. Prints what
 * is found there as JSON, strings in one spelling however they came in; with
 * -v as it was written; -s decoded, without a newline; -n how many elements,
 * members or characters it has; -k the members' names, a line each. Exit 1
 * when there is no such thing, 2 when the text is no JSON.
 *
 * -l does so for each line, and prints an empty one where there is nothing.
 * -c prints each whole line that boris must not write, and why (SPEC C3; MCP,
 * basic: messages): a tool's result has the fields that the outputSchema
 * describes, in their order, and says the same as text and as data (SPEC B).
 * -1 takes one line and leaves what is behind it in the pipe; a line that does
 * not end in time is the end of it (SIGALRM). */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../json.h"

static void
read_all(struct buf *b)
{
	ssize_t n;

	do {
		if (!buf_room(b, 65536)) {
			fprintf(stderr, "reply: no memory\n");
			exit(2);
		}
		n = read(0, b->data + b->len, 65536);
		if (n > 0)
			b->len += (size_t)n;
	} while (n > 0);
}

static struct json
element(struct json array, long index)
{
	struct json value;
	size_t at = 0;

	while (json_next(array, &at, NULL, &value))
		if (index-- == 0)
			return value;
	value.text = NULL;
	value.len = 0;
	return value;
}

static struct json
step(struct json value, const char *name)
{
	if (json_type(value) == JSON_ARRAY)
		return element(value, strtol(name, NULL, 10));
	return json_get(value, name);
}

static long
count(struct json value)
{
	struct json name, member;
	struct buf text = {0};
	size_t at = 0, i;
	long n = 0;

	if (json_type(value) == JSON_STRING) {
		json_decode(value, &text);
		for (i = 0; i < text.len; i++)
			n += (text.data[i] & 0xC0) != 0x80;
		buf_free(&text);
	} else if (json_type(value) == JSON_OBJECT) {
		while (json_next(value, &at, &name, &member))
			n++;
	} else {
		while (json_next(value, &at, NULL, &member))
			n++;
	}
	return n;
}

static void
print(struct json value, char how, struct buf *out)
{
	struct json name, member;
	struct buf text = {0};
	size_t at = 0;

	if (how == 'n') {
		buf_int(out, count(value));
	} else if (how == 'k') {
		while (json_next(value, &at, &name, &member)) {
			json_decode(name, out);
			buf_putc(out, '\n');
		}
		return;
	} else if (how == 's') {
		json_decode(value, out);
		return;
	} else if (how != 'v' && json_type(value) == JSON_STRING) {
		json_decode(value, &text);
		json_string(out, text.data, text.len);
		buf_free(&text);
	} else {
		buf_put(out, value.text, value.len);
	}
	buf_putc(out, '\n');
}

static int
pick(const char *text, size_t len, char how, char **steps, struct buf *out)
{
	struct json value = json_check(text, len);

	if (json_type(value) == JSON_NONE)
		return 2;
	while (*steps != NULL)
		value = step(value, *steps++);
	if (json_type(value) == JSON_NONE)
		return 1;
	print(value, how, out);
	return 0;
}

/* -- A tool's result --------------------------------------------------- */

struct field {
	const char *name;
	enum json_type type;
	const char *text;  /* how its value begins in the text; NULL: it need
	                    * not be there, or is looked for elsewhere */
};

/* The fields of SPEC B, X4 and T7, in their order. */
enum {
	STATUS, EXIT_CODE, SIGNAL, TIMED_OUT, NOTE, TASK_ID, PID, CWD, ELAPSED,
	STDOUT, STDERR, STDOUT_CHARS, STDERR_CHARS, STDOUT_FILE, STDERR_FILE,
	TEXT, TASKS, FIELDS
};

static const struct field fields[FIELDS] = {
	{ "status", JSON_STRING, NULL },
	{ "exit_code", JSON_NUMBER, "exit_code: " },
	{ "signal", JSON_STRING, "(" },
	{ "timed_out", JSON_BOOL, NULL },
	{ "note", JSON_STRING, NULL },
	{ "task_id", JSON_STRING, "" },
	{ "pid", JSON_NUMBER, "" },
	{ "cwd", JSON_STRING, NULL },
	{ "elapsed_ms", JSON_NUMBER, NULL },
	{ "stdout", JSON_STRING, "" },
	{ "stderr", JSON_STRING, "" },
	{ "stdout_chars", JSON_NUMBER, NULL },
	{ "stderr_chars", JSON_NUMBER, NULL },
	{ "stdout_file", JSON_STRING, "" },
	{ "stderr_file", JSON_STRING, "" },
	{ "text", JSON_STRING, "" },
	{ "tasks", JSON_ARRAY, NULL }
};

enum { LISTED = 7 };

static const struct field listed[LISTED] = {
	{ "task_id", JSON_STRING, "" },
	{ "pid", JSON_NUMBER, "" },
	{ "status", JSON_STRING, "" },
	{ "elapsed_ms", JSON_NUMBER, NULL },
	{ "exit_code", JSON_NUMBER, NULL },
	{ "description", JSON_STRING, NULL },
	{ "command", JSON_STRING, NULL }
};

/* What a line of the text begins with, before its output, and the field that
 * says the same as data. */
static const struct {
	const char *start;
	int field;
} heads[] = {
	{ "Command timed out after ", TIMED_OUT },
	{ "status: ", STATUS },
	{ "exit_code: ", EXIT_CODE },
	{ "task_id: ", TASK_ID },
	{ "pid: ", PID },
	{ "cwd: ", CWD },
	{ "elapsed: ", ELAPSED },
	{ "note: ", NOTE },
	{ "(no output)", STDOUT },
	{ "(no new output)", STDOUT }
};

static bool
there(struct json value)
{
	return json_type(value) != JSON_NONE;
}

/* Does the text have these bytes? */
static bool
has(const struct buf *text, const char *part, size_t len)
{
	const char *p = text->data, *end = text->data + text->len;

	if (len == 0)
		return true;
	while ((size_t)(end - p) >= len &&
	       (p = memchr(p, *part, (size_t)(end - p) - len + 1)) != NULL) {
		if (memcmp(p, part, len) == 0)
			return true;
		p++;
	}
	return false;
}

/* Does the text have this, and the value behind it? */
static bool
says(const struct buf *text, const char *before, struct json value)
{
	struct buf part = {0};
	bool found;

	buf_puts(&part, before);
	if (json_type(value) == JSON_STRING)
		json_decode(value, &part);
	else
		buf_put(&part, value.text, value.len);
	found = has(text, part.data, part.len);
	buf_free(&part);
	return found;
}

/* Does the text have each of the notes? What a timeout is told by stands at
 * its beginning, the others behind the exit code. */
static bool
says_notes(const struct buf *text, struct json value)
{
	struct buf note = {0};
	size_t at = 0, end;
	bool found = true;

	json_decode(value, &note);
	while (found && at < note.len) {
		end = at;
		while (end < note.len && (note.data[end] != ';' ||
		    end + 1 == note.len || note.data[end + 1] != ' '))
			end++;
		found = has(text, note.data + at, end - at);
		at = end + 2;
	}
	found = found && note.len > 0;
	buf_free(&note);
	return found;
}

/* Are the members all known, in order, and of the right type? Sets found[]
 * to them. */
static const char *
members_fault(struct json object, const struct field f[], struct json found[],
              int n)
{
	struct json name, value;
	size_t at = 0;
	int64_t whole;
	int i = -1;

	memset(found, 0, (size_t)n * sizeof(*found));
	if (json_type(object) != JSON_OBJECT)
		return "data that is no object";
	while (json_next(object, &at, &name, &value)) {
		for (i++; i < n && !json_is(name, f[i].name); i++)
			;
		if (i >= n)
			return "data with an unknown field, or out of order";
		if (json_type(value) != f[i].type ||
		    (f[i].type == JSON_NUMBER && !json_int(value, &whole)))
			return "data with a field of another type";
		found[i] = value;
	}
	return NULL;
}

static const char *
unsaid(const struct buf *text, const struct field f[],
       const struct json found[], int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (there(found[i]) && f[i].text != NULL &&
		    !says(text, f[i].text, found[i]))
			return "data that the text does not have";
	return NULL;
}

/* The list of tasks, which is alone (T7) */
static const char *
list_fault(struct json data, struct json tasks, const struct buf *text)
{
	struct json each, found[LISTED];
	const char *why = NULL;
	size_t at = 0;
	int i;

	if (count(data) != 1)
		return "tasks beside other fields";
	if (count(tasks) == 0 && !has(text, "no tasks", 8))
		return "no tasks, and the text does not say so";
	while (why == NULL && json_next(tasks, &at, NULL, &each)) {
		why = members_fault(each, listed, found, LISTED);
		for (i = 0; why == NULL && i < LISTED; i++)
			if (!there(found[i]) && strcmp(listed[i].name,
			    "exit_code") != 0 && strcmp(listed[i].name,
			    "description") != 0)
				why = "a task without one of its fields";
		if (why == NULL)
			why = unsaid(text, listed, found, LISTED);
	}
	return why;
}

/* Is each line before the output about something that the data has? */
static const char *
head_fault(const struct buf *text, const struct json found[])
{
	const char *line = text->data, *end = text->data + text->len, *stop;
	size_t i, n = sizeof(heads) / sizeof(heads[0]), len;

	while (line < end && *line != '\n') {
		stop = memchr(line, '\n', (size_t)(end - line));
		stop = stop != NULL ? stop : end;
		for (i = 0; i < n; i++) {
			len = strlen(heads[i].start);
			if ((size_t)(stop - line) >= len &&
			    memcmp(line, heads[i].start, len) == 0)
				break;
		}
		if (i == n)
			return "text with an unknown line";
		if (!there(found[heads[i].field]))
			return "text that the data does not have";
		line = stop < end ? stop + 1 : end;
	}
	return NULL;
}

static const char *
data_fault(struct json data, const struct buf *text)
{
	static const char *const states[] = {
		"completed", "running", "timed_out", "killed"
	};
	struct json found[FIELDS];
	const char *why = members_fault(data, fields, found, FIELDS);
	int64_t exit_code = 0;
	int i = 0;

	if (why != NULL)
		return why;
	if (there(found[TASKS]))
		return list_fault(data, found[TASKS], text);
	if (there(found[TEXT]))
		return count(data) == 2 && json_is(found[STATUS], states[0])
		    ? unsaid(text, fields, found, FIELDS)
		    : "an edit with other fields, or that is not completed";
	while (i < 4 && !json_is(found[STATUS], states[i]))
		i++;
	if (i == 4)
		return "data without a good status";
	if (json_is(found[STATUS], "running") == there(found[EXIT_CODE]))
		return "running with an exit code, or ended without one";
	json_int(found[EXIT_CODE], &exit_code);
	if (there(found[SIGNAL]) && exit_code <= 128)
		return "a signal without its exit code";
	if (there(found[TIMED_OUT]) ? !json_true(found[TIMED_OUT]) :
	    json_is(found[STATUS], "timed_out"))
		return "timed_out that is not true";
	if (there(found[TASK_ID]) != there(found[PID]))
		return "a task without task_id or pid";
	if (there(found[TASK_ID]) && !says(text, "status: ", found[STATUS]))
		return "a task whose text has no status";
	if (there(found[NOTE]) && !says_notes(text, found[NOTE]))
		return "a note that the text does not have";
	why = unsaid(text, fields, found, FIELDS);
	return why != NULL ? why : head_fault(text, found);
}

/* A result that is a tool's: one text, and the same as data unless it is an
 * error, or is said as text alone (--structured=off). */
static const char *
tool_fault(struct json result)
{
	struct json content = json_get(result, "content"), block;
	struct json data = json_get(result, "structuredContent");
	struct buf text = {0};
	const char *why = NULL;

	if (!there(content))
		return there(data) ? "data without a text" : NULL;
	block = element(content, 0);
	if (count(content) != 1 || !json_is(json_get(block, "type"), "text") ||
	    json_type(json_get(block, "text")) != JSON_STRING)
		return "content that is not one text";
	if (!there(data))
		return NULL;
	if (json_true(json_get(result, "isError")))
		return "an error with data";
	json_decode(json_get(block, "text"), &text);
	why = data_fault(data, &text);
	buf_free(&text);
	return why;
}

/* -- A message --------------------------------------------------------- */

/* What is wrong with a message, or NULL. */
static const char *
fault(struct json message)
{
	static const char *const names[] = {
		"jsonrpc", "id", "method", "result", "error", "params"
	};
	struct json m[6], code, text;
	int i, known = 0;

	if (json_type(message) != JSON_OBJECT)
		return "no object";
	json_members(message, names, m, 6);
	for (i = 0; i < 6; i++)
		known += json_type(m[i]) != JSON_NONE;
	if (known != count(message))
		return "a member too many";
	if (!json_is(m[0], "2.0"))
		return "no jsonrpc 2.0";
	if (json_type(m[2]) == JSON_STRING)
		return known == 2 + (json_type(m[5]) == JSON_OBJECT) ?
		       NULL : "no good notification";
	if (known != 3 || json_type(m[1]) == JSON_NONE)
		return "neither response nor notification";
	if (json_type(m[3]) == JSON_OBJECT)
		return json_type(m[1]) == JSON_NULL ? "a result for null" :
		       tool_fault(m[3]);
	if (json_type(m[4]) != JSON_OBJECT)
		return "neither result nor error";
	code = json_get(m[4], "code");
	text = json_get(m[4], "message");
	if (json_type(code) != JSON_NUMBER || memchr(code.text, '.', code.len))
		return "error.code is no integer";
	return json_type(text) == JSON_STRING ? NULL : "no error.message";
}

static const char *
line_fault(const char *text, size_t len)
{
	struct json value = json_check(text, len), each;
	const char *why = NULL;
	size_t at = 0;

	if (json_type(value) == JSON_NONE)
		return "no JSON";
	if (value.len != len)
		return "white space around it";
	if (json_type(value) != JSON_ARRAY)
		return fault(value);
	if (count(value) == 0)
		return "an empty batch";
	while (why == NULL && json_next(value, &at, NULL, &each))
		why = fault(each);
	return why;
}

static int
check(const char *text, size_t len, struct buf *out)
{
	const char *why = line_fault(text, len);

	if (why == NULL)
		return 0;
	buf_puts(out, why);
	buf_puts(out, ": ");
	buf_put(out, text, len);
	buf_putc(out, '\n');
	return 1;
}

static int
each_line(struct buf *in, char how, char **steps, struct buf *out)
{
	size_t at = 0, len;
	char *end;
	int status = 0;

	while (at < in->len) {
		end = memchr(in->data + at, '\n', in->len - at);
		len = (end != NULL ? (size_t)(end - in->data) : in->len) - at;
		if (how == 'c' && end == NULL)
			break;  /* killed while it was writing */
		else if (how == 'c')
			status |= check(in->data + at, len, out);
		else if (pick(in->data + at, len, how, steps, out) != 0 &&
		         how != 's')
			buf_putc(out, '\n');
		at += len + 1;
	}
	return status;
}

/* A pipe cannot be looked into, so this takes a byte at a time. */
static int
one_line(unsigned seconds, struct buf *out)
{
	char c;

	alarm(seconds);
	while (read(0, &c, 1) == 1) {
		if (c == '\n')
			return 0;
		buf_putc(out, c);
	}
	return 1;
}

int
main(int argc, char *argv[])
{
	struct buf in = {0}, out = {0};
	bool lines = false;
	char how = 0;
	int c, status;
	size_t done = 0;
	ssize_t n;

	while ((c = getopt(argc, argv, "lvsnkc1")) != -1) {
		if (c == '?')
			return 2;
		if (c == 'l' || c == 'c')
			lines = true;
		if (c != 'l')
			how = (char)c;
	}
	if (how == '1') {
		status = optind == argc ? 2 :
		         one_line((unsigned)atoi(argv[optind]), &out);
	} else {
		read_all(&in);
		status = lines ? each_line(&in, how, argv + optind, &out) :
		         pick(in.data, in.len, how, argv + optind, &out);
	}
	while (done < out.len &&
	       (n = write(1, out.data + done, out.len - done)) > 0)
		done += (size_t)n;
	buf_free(&in);
	buf_free(&out);
	return status;
}
