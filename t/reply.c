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
 * basic: messages).
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
		return json_type(m[1]) == JSON_NULL ? "a result for null" : NULL;
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
