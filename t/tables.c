/* SPDX-License-Identifier: ISC */
/* tables.c: table tests of modules that need no process: json, text, fmt, list,
 * mounts, access and httpmsg. A table consists of rows and a function. Each row
 * has an input and the output that the function must return for this input.
 *
 *	t/tables TABLE
 *
 * tables prints each row that fails, and then exits with status 1. The status
 * is 2 if no table has this name. */
#define _POSIX_C_SOURCE 200809L

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/fmt.h"
#include "base/list.h"
#include "base/text.h"
#include "json.h"
#include "run/mounts.h"
#include "transport/access.h"
#include "transport/httpmsg.h"

struct row {
	const char *input;
	const char *expected;
};

struct table {
	const char *name;
	/* Appends the output of the module for the input. */
	void (*apply)(const char *input, struct buf *output);
	const struct row *rows;  /* the input of the last row is NULL */
};

/* -- json ---------------------------------------------------------------- */

static const char *const type_names[] = {
	[JSON_NONE] = "none",
	[JSON_NULL] = "null",
	[JSON_BOOL] = "bool",
	[JSON_NUMBER] = "number",
	[JSON_STRING] = "string",
	[JSON_ARRAY] = "array",
	[JSON_OBJECT] = "object",
};

static struct json
checked(const char *text)
{
	return json_check(text, strlen(text));
}

static void
apply_json_check(const char *input, struct buf *output)
{
	buf_fmt(output, "%s", type_names[json_type(checked(input))]);
}

static const struct row json_check_rows[] = {
	{ "null", "null" },
	{ "true", "bool" },
	{ " false\t", "bool" },
	{ "\"\"", "string" },
	{ "[]", "array" },
	{ "{}", "object" },
	{ "[1,2]", "array" },
	{ "{\"a\":{\"b\":[]}}", "object" },
	{ "{\"a\":1,\"a\":2}", "object" },
	{ "\r\n [ ] \r\n", "array" },
	/* Numbers */
	{ "0", "number" },
	{ "-0", "number" },
	{ "-12.5e+3", "number" },
	{ "1E-2", "number" },
	{ "00", "none" },
	{ "01", "none" },
	{ "-", "none" },
	{ "+1", "none" },
	{ "1.", "none" },
	{ ".5", "none" },
	{ "1e", "none" },
	{ "1e+", "none" },
	{ "0x1", "none" },
	{ "NaN", "none" },
	{ "Infinity", "none" },
	/* Strings */
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"", "string" },
	{ "\"\xc3\xa9\"", "string" },
	{ "\"\\ud800\"", "string" },
	{ "\"", "none" },
	{ "\"\\\"", "none" },
	{ "\"\\x\"", "none" },
	{ "\"\\u12\"", "none" },
	{ "\"\\u12g4\"", "none" },
	{ "\"a\nb\"", "none" },
	{ "\"\x1f\"", "none" },
	{ "\"\xff\"", "none" },
	{ "\"\xc0\x80\"", "none" },
	{ "\"\xed\xa0\x80\"", "none" },
	{ "'a'", "none" },
	/* Structure */
	{ "", "none" },
	{ " ", "none" },
	{ "nul", "none" },
	{ "True", "none" },
	{ "[", "none" },
	{ "]", "none" },
	{ "[1,]", "none" },
	{ "[,1]", "none" },
	{ "[1 2]", "none" },
	{ "[1}", "none" },
	{ "{", "none" },
	{ "{\"a\"}", "none" },
	{ "{\"a\":}", "none" },
	{ "{\"a\":1,}", "none" },
	{ "{a:1}", "none" },
	{ "{1:1}", "none" },
	{ "{\"a\" 1}", "none" },
	{ "1 2", "none" },
	{ "[] []", "none" },
	{ "[1] // comment", "none" },
	{ "\xef\xbb\xbf[]", "none" },
	{ "\f[]", "none" },
	{ NULL, NULL }
};

static void
apply_json_int(const char *input, struct buf *output)
{
	int64_t n;

	if (json_int(checked(input), &n))
		buf_fmt(output, "%jd", n);
}

static const struct row json_int_rows[] = {
	{ "0", "0" },
	{ "-0", "0" },
	{ "5000", "5000" },
	{ "-17", "-17" },
	{ "5000.0", "5000" },
	{ "5e3", "5000" },
	{ "5E+3", "5000" },
	{ "1.5e3", "1500" },
	{ "1500e-1", "150" },
	{ "0e9999999999", "0" },
	{ "1e18", "1000000000000000000" },
	{ "1e19", "1000000000000000000" },
	{ "-1e99999999999999999999", "-1000000000000000000" },
	{ "0.5", "" },
	{ "1.25e1", "" },
	{ "1e-1", "" },
	{ NULL, NULL }
};

static void
apply_json_decode(const char *input, struct buf *output)
{
	json_decode(checked(input), output);
}

static const struct row json_decode_rows[] = {
	{ "\"\"", "" },
	{ "\"plain\"", "plain" },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t" },
	{ "\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac" },
	{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
	{ "\"\\ud83d\"", "\xef\xbf\xbd" },
	{ "\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\"\\ud83dx\"", "\xef\xbf\xbdx" },
	{ "\"\xe2\x82\xac\"", "\xe2\x82\xac" },
	{ NULL, NULL }
};

static void
apply_json_string(const char *input, struct buf *output)
{
	json_string(output, input, strlen(input));
}

static const struct row json_string_rows[] = {
	{ "", "\"\"" },
	{ "plain", "\"plain\"" },
	{ "\"\\/", "\"\\\"\\\\/\"" },
	{ "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
	{ "\x1b[1m", "\"\\u001b[1m\"" },
	{ "caf\xc3\xa9", "\"caf\xc3\xa9\"" },
	{ "\xff", "\"\xef\xbf\xbd\"" },
	{ "\xe2\x82", "\"\xef\xbf\xbd\"" },
	{ "\xe2\x82x", "\"\xef\xbf\xbdx\"" },
	{ "\xed\xa0\x80",
	  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "\xc2\x85\xe2\x80\xa8\xe2\x80\xa9", "\"\\u0085\\u2028\\u2029\"" },
	{ NULL, NULL }
};

/* Output: the value of the member "a" */
static void
apply_json_get(const char *input, struct buf *output)
{
	struct json value = json_get(checked(input), "a");

	buf_fmt(output, "%.*s", (int)value.len, value.text);
}

static const struct row json_get_rows[] = {
	{ "{}", "" },
	{ "{\"b\":1}", "" },
	{ "{\"a\":1}", "1" },
	{ "{ \"a\" : [1, 2] , \"b\":3}", "[1, 2]" },
	{ "{\"a\":1,\"a\":2}", "2" },
	{ "{\"\\u0061\":true}", "true" },
	{ "{\"A\":1,\"aa\":2}", "" },
	{ "{\"b\":{\"a\":1}}", "" },
	{ "[\"a\",1]", "" },
	{ NULL, NULL }
};

/* Input: the start of a JSON text. Output: the value of the member "a", or
 * "missing" if the text does not contain that name */
static void
apply_json_first(const char *input, struct buf *output)
{
	static const char *const names[] = { "a" };
	struct json found[1] = { { NULL, 0 } };

	json_first_members(input, strlen(input), names, found, 1);
	if (found[0].text == NULL)
		buf_fmt(output, "missing");
	else
		buf_fmt(output, "%.*s", (int)found[0].len, found[0].text);
}

static const struct row json_first_rows[] = {
	{ "", "missing" },
	{ "{\"b\":1", "missing" },
	{ "{\"a\":\"x\",\"b\":[", "\"x\"" },
	{ "{\"a\":\"x", "" },
	{ "{\"a\":tru", "" },
	{ "{\"b\":?,\"a\":1}", "missing" },
	{ NULL, NULL }
};

/* Input: an array. Output: whether its first two elements are equal */
static void
apply_json_equal(const char *input, struct buf *output)
{
	struct json array = checked(input), one, two;
	size_t at = 0;

	json_next(array, &at, NULL, &one);
	json_next(array, &at, NULL, &two);
	buf_fmt(output, "%s", json_equal(one, two) ? "equal" : "different");
}

static const struct row json_equal_rows[] = {
	{ "[1,1]", "equal" },
	{ "[1,1.0]", "different" },
	{ "[1,\"1\"]", "different" },
	{ "[\"a\",\"a\"]", "equal" },
	{ "[\"a\",\"\\u0061\"]", "equal" },
	{ "[\"a\",\"ab\"]", "different" },
	{ "[\"\\u0061\",\"\\u0062\"]", "different" },
	{ "[\"\",\"\"]", "equal" },
	{ "[null,null]", "equal" },
	{ NULL, NULL }
};

static void
apply_json_verbatim(const char *input, struct buf *output)
{
	json_verbatim(checked(input), output);
}

static const struct row json_verbatim_rows[] = {
	{ "[1.0, \"a\\u0041\"]", "[1.0, \"a\\u0041\"]" },
	{ "\"\\ud800\"", "\"\\ufffd\"" },
	{ "\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"" },
	{ "\"\xe2\x80\xa8\"", "\"\\u2028\"" },
	{ "\"\xc2\x85\"", "\"\\u0085\"" },
	{ NULL, NULL }
};

/* -- text ---------------------------------------------------------------- */

static void
apply_path_tidy(const char *input, struct buf *output)
{
	char *path = mem_copy(input);

	path_tidy(path);
	buf_fmt(output, "%s", path);
	free(path);
}

static const struct row path_tidy_rows[] = {
	{ "/", "/" },
	{ "//", "/" },
	{ "/a/b", "/a/b" },
	{ "/a//b/", "/a/b" },
	{ "/a/./b/.", "/a/b" },
	{ "/a/../b", "/b" },
	{ "/a/b/../../..", "/" },
	{ "/../a", "/a" },
	{ "/...", "/..." },
	{ "/.a/..b", "/.a/..b" },
	{ NULL, NULL }
};

/* Input: a directory, a blank and a name */
static void
apply_path_from(const char *input, struct buf *output)
{
	const char *blank = strchr(input, ' ');
	char *dir = mem_copy(input), *path;

	dir[blank - input] = '\0';
	path = path_from(dir, blank + 1);
	buf_fmt(output, "%s", path);
	free(path);
	free(dir);
}

static const struct row path_from_rows[] = {
	{ "/ a", "/a" },
	{ "/d a", "/d/a" },
	{ "/d /a", "/a" },
	{ "/d ../a", "/d/../a" },
	{ NULL, NULL }
};

/* Output: the decimal number at the start of the input, '|' and the rest of the
 * input */
static void
apply_digits(const char *input, struct buf *output)
{
	const char *rest;
	int64_t n = digits_value(input, 10, &rest);

	buf_fmt(output, "%jd|%s", n, rest);
}

static const struct row digits_rows[] = {
	{ "0", "0|" },
	{ "007", "7|" },
	{ "123abc", "123|abc" },
	{ "", "-1|" },
	{ "x1", "-1|x1" },
	{ "-1", "-1|-1" },
	{ "72057594037927935", "72057594037927935|" },
	{ NULL, NULL }
};

/* Output: the length of each character of the input, up to the first length
 * of 0 */
static void
apply_utf8(const char *input, struct buf *output)
{
	size_t i = 0, n = strlen(input);
	int length = 1;

	while (i < n && length != 0) {
		length = utf8_length((const unsigned char *)input + i, n - i);
		buf_fmt(output, "%d ", length);
		i += (size_t)abs(length);
	}
}

static const struct row utf8_rows[] = {
	{ "a", "1 " },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "2 3 4 " },
	{ "\xf4\x8f\xbf\xbf", "4 " },
	{ "\xf4\x90\x80\x80", "-1 -1 -1 -1 " },
	{ "\x80", "-1 " },
	{ "\xc1\xbf", "-1 -1 " },
	{ "\xe0\x9f\xbf", "-1 -1 -1 " },
	{ "\xed\xa0\x80", "-1 -1 -1 " },
	{ "\xe2\x82z", "-2 1 " },
	{ "\xf0\x9f\x98z", "-3 1 " },
	{ "\xe2\x82", "0 " },
	{ "\xf0", "0 " },
	{ NULL, NULL }
};

/* Input: a pattern, '|' and a text. Output: the number of bytes up to the end
 * of the first match, or "none" */
static void
apply_pattern(const char *input, struct buf *output)
{
	const char *text = strchr(input, '|') + 1;
	size_t matched = 0, i;
	struct pattern p;

	memset(&p, 0, sizeof(p));
	pattern_open(&p, input, (size_t)(text - 1 - input));
	for (i = 0; text[i] != '\0'; i++) {
		matched = pattern_step(&p, matched, text[i]);
		if (matched == p.len)
			break;
	}
	if (text[i] != '\0')
		buf_fmt(output, "%zu", i + 1);
	else
		buf_fmt(output, "none");
	pattern_free(&p);
}

static const struct row pattern_rows[] = {
	{ "a|a", "1" },
	{ "a|", "none" },
	{ "ab|aab", "3" },
	{ "abab|aabacabab", "9" },
	{ "aab|aaaab", "5" },
	{ "abcabd|abcabcabd", "9" },
	{ "ab|ba", "none" },
	{ NULL, NULL }
};

/* -- fmt ----------------------------------------------------------------- */

/* Input: the name of a case. The cases are part of the function, so that the
 * compiler can check their arguments. */
static void
apply_fmt(const char *input, struct buf *output)
{
	if (strcmp(input, "strings") == 0)
		buf_fmt(output, "%s, %.*s", "one", 2, "two");
	else if (strcmp(input, "empty") == 0)
		buf_fmt(output, "[%s%.*s%-s]", "", 0, "x", "");
	else if (strcmp(input, "printable") == 0)
		buf_fmt(output, "%-s", "a\tb\n\x1b");
	else if (strcmp(input, "counted printable") == 0)
		buf_fmt(output, "%-.*s", 3, "a\0b");
	else if (strcmp(input, "integers") == 0)
		buf_fmt(output, "%d %d %d", 0, -1, 2147483647);
	else if (strcmp(input, "limits") == 0)
		buf_fmt(output, "%jd %zu", INT64_MIN, (size_t)4294967295u);
	else if (strcmp(input, "seconds") == 0)
		buf_fmt(output, "%.1f %.2f %.3f", fmt_seconds(12999),
		    fmt_seconds(1005), fmt_seconds(7));
	else if (strcmp(input, "percent") == 0)
		buf_fmt(output, "100%%");
}

static const struct row fmt_rows[] = {
	{ "strings", "one, tw" },
	{ "empty", "[]" },
	{ "printable", "a\\tb\\n\\u001b" },
	{ "counted printable", "a\\u0000b" },
	{ "integers", "0 -1 2147483647" },
	{ "limits", "-9223372036854775808 4294967295" },
	{ "seconds", "12.9 1.00 0.007" },
	{ "percent", "100%" },
	{ NULL, NULL }
};

/* -- list ---------------------------------------------------------------- */

struct letter {
	char name;
	struct list_node node;
};

static void
put_letter(struct buf *output, struct list_node *n)
{
	buf_putc(output, LIST_ITEM(n, struct letter, node)->name);
}

/* Input: letters to append to the list. A letter after '-' is removed instead.
 * Output: the list in order, and in reverse order */
static void
apply_list(const char *input, struct buf *output)
{
	struct letter letters[26];
	struct list list = { NULL, NULL };
	struct list_node *n;
	const char *p;

	memset(letters, 0, sizeof(letters));
	for (p = input; *p != '\0'; p++) {
		if (*p == '-') {
			p++;
			list_remove(&list, &letters[*p - 'a'].node);
		} else {
			letters[*p - 'a'].name = *p;
			list_append(&list, &letters[*p - 'a'].node);
		}
	}
	for (n = list.first; n != NULL; n = n->next)
		put_letter(output, n);
	buf_putc(output, ' ');
	for (n = list.last; n != NULL; n = n->previous)
		put_letter(output, n);
}

static const struct row list_rows[] = {
	{ "", " " },
	{ "a", "a a" },
	{ "abc", "abc cba" },
	{ "abc-a", "bc cb" },
	{ "abc-b", "ac ca" },
	{ "abc-c", "ab ba" },
	{ "ab-a-b", " " },
	{ "ab-aa", "ba ab" },
	{ NULL, NULL }
};

/* -- httpmsg ------------------------------------------------------------- */

/* Output: "incomplete", or the status with which the request is rejected, or
 * the method, path and body of the request, '|' and the rest of the input */
static void
apply_request(const char *input, struct buf *output)
{
	struct request r;
	struct buf in = { NULL, 0, 0 };
	int event;

	memset(&r, 0, sizeof(r));
	buf_put(&in, input, strlen(input));
	do {
		event = request_read(&r, &in);
	} while (event == REQUEST_HAS_HEAD);
	if (event == REQUEST_COMPLETE)
		buf_fmt(output, "%s %s %.*s|%.*s", r.verb, r.path,
		    (int)r.body.len, buf_text(&r.body), (int)in.len,
		    buf_text(&in));
	else if (event == REQUEST_NEEDS_INPUT)
		buf_fmt(output, "incomplete");
	else
		buf_fmt(output, "%d", event);
	request_free(&r);
	buf_free(&in);
}

#define HOST "Host: h\r\n"
#define CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"

static const struct row request_rows[] = {
	{ "GET / HTTP/1.1\r\n" HOST "\r\n", "GET / |" },
	{ "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", "GET / |" },
	{ "GET /mcp?a=b HTTP/1.1\r\n" HOST "\r\nnext", "GET /mcp |next" },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabcd",
	  "POST / abc|d" },
	{ CHUNKED "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nf", "POST / abcde|f" },
	{ CHUNKED "0\r\nTrailer: x\r\n\r\n", "POST / |" },
	/* Incomplete requests */
	{ "", "incomplete" },
	{ "GET / HTTP/1.1\r\n" HOST, "incomplete" },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nab",
	  "incomplete" },
	{ CHUNKED "3\r\nabc\r\n", "incomplete" },
	/* Requests that a proxy might read in a different way */
	{ "GET / HTTP/1.1\r\n\r\n", "400" },
	{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", "400" },
	{ "GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n", "400" },
	{ "GET / HTTP/1.1\r\n" HOST " folded: b\r\n\r\n", "400" },
	{ "GET  / HTTP/1.1\r\n" HOST "\r\n", "400" },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n"
	  "Content-Length: 3\r\n\r\nabc", "400" },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\nabc", "400" },
	{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n", "400" },
	{ CHUNKED "g\r\n", "400" },
	{ CHUNKED "3\r\nabcd\r\n", "400" },
	{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n",
	  "400" },
	{ "GET / HTTP/2.0\r\n" HOST "\r\n", "400" },
	{ NULL, NULL }
};

/* Input: a word, '|' and the value of a header. Output: whether the value lists
 * the word */
static void
apply_lists(const char *input, struct buf *output)
{
	const char *bar = strchr(input, '|');
	char *word = mem_copy(input);

	word[bar - input] = '\0';
	buf_fmt(output, "%s", field_lists(bar + 1, word) ? "yes" : "no");
	free(word);
}

static const struct row lists_rows[] = {
	{ "close|close", "yes" },
	{ "close|Keep-Alive, CLOSE", "yes" },
	{ "close|closed", "no" },
	{ "close|", "no" },
	{ "text/html|text/html;q=0.5", "yes" },
	{ "text/html|a/b ,text/html ; x", "yes" },
	{ "text/html|x;text/html", "no" },
	{ NULL, NULL }
};

/* -- access: the server listens on http://127.0.0.1:8080 ----------------- */

static char token[] = "secret";

static const struct options access_options = {
	.loopback = true, .token = token,
	.origins = "https://a.example\0http://b.example:1\0"
};

static const struct access rules = {
	&access_options, "http://127.0.0.1:8080"
};

static void
apply_host(const char *input, struct buf *output)
{
	buf_fmt(output, "%s", access_allows_host(&rules, input) ? "yes" : "no");
}

static const struct row host_rows[] = {
	{ "localhost", "yes" },
	{ "LocalHost:1", "yes" },
	{ "127.0.0.1:8080", "yes" },
	{ "127.1.2.3", "yes" },
	{ "[::1]:8080", "yes" },
	{ "localhost.example", "no" },
	{ "localhost:80x", "no" },
	{ "127.0.0.1.example", "no" },
	{ "128.0.0.1", "no" },
	{ "example", "no" },
	{ "", "no" },
	{ NULL, NULL }
};

static void
apply_origin(const char *input, struct buf *output)
{
	buf_fmt(output, "%s",
	    access_allows_origin(&rules, input) ? "yes" : "no");
}

static const struct row origin_rows[] = {
	{ "http://localhost:8080", "yes" },
	{ "HTTP://127.0.0.1:8080", "yes" },
	{ "https://a.example", "yes" },
	{ "http://B.example:1", "yes" },
	{ "http://localhost", "no" },
	{ "http://localhost:80", "no" },
	{ "https://localhost:8080", "no" },
	{ "http://a.example", "no" },
	{ "https://a.example.org", "no" },
	{ "null", "no" },
	{ "", "no" },
	{ NULL, NULL }
};

static void
apply_token(const char *input, struct buf *output)
{
	buf_fmt(output, "%s", access_has_token(&rules, input) ? "yes" : "no");
}

static const struct row token_rows[] = {
	{ "Bearer secret", "yes" },
	{ "bearer   secret", "yes" },
	{ "Bearer Secret", "no" },
	{ "Bearer secre", "no" },
	{ "Bearer secrets", "no" },
	{ "Bearer secretsecret", "no" },
	{ "Bearer ", "no" },
	{ "Basic secret", "no" },
	{ "secret", "no" },
	{ "", "no" },
	{ NULL, NULL }
};

/* -- mounts --------------------------------------------------------------- */

static void
apply_mounts(const char *input, struct buf *output)
{
	buf_fmt(output, "%s", mounts_all_local(input) ? "local" : "unknown");
}

#define ROOT "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"

static const struct row mounts_rows[] = {
	{ ROOT, "local" },
	{ ROOT "22 27 0:21 / /proc rw - proc proc rw\n", "local" },
	{ ROOT "30 27 0:9 / /a\\040b rw shared:1 master:2 - tmpfs a rw\n",
	  "local" },
	{ ROOT "30 27 0:9 / /mnt rw shared:1 - nfs4 host:/a rw\n", "unknown" },
	{ "30 27 0:9 / /mnt rw - nfs host:/a rw\n" ROOT, "unknown" },
	{ ROOT "30 27 0:9 / /mnt rw - fuse.sshfs host: rw\n", "unknown" },
	{ ROOT "30 27 8:1 / /mnt rw - fuseblk /dev/sda1 rw\n", "unknown" },
	{ ROOT "30 27 0:9 / /mnt rw - autofs systemd-1 rw\n", "unknown" },
	/* Types that begin or end like the name of a local type */
	{ ROOT "30 27 0:9 / /mnt rw - ext4x /dev/sda1 rw\n", "unknown" },
	{ ROOT "30 27 0:9 / /mnt rw - fs /dev/sda1 rw\n", "unknown" },
	/* A source and a path with the name of a local type */
	{ ROOT "30 27 0:9 / /ext4 rw - 9p ext4 rw\n", "unknown" },
	/* Mounts in /proc do not count, but mounts in /process do. */
	{ ROOT "30 22 0:9 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n",
	  "local" },
	{ ROOT "30 27 0:9 / /process rw - nfs host:/a rw\n", "unknown" },
	{ ROOT "30 27 0:9 / /a/proc/b rw - nfs host:/a rw\n", "unknown" },
	/* Without a mount at /, boris runs in a chroot. */
	{ "22 27 0:21 / /proc rw - proc proc rw\n", "unknown" },
	{ "22 27 0:21 / /a rw - ext4 /dev/vda rw\n", "unknown" },
	/* No mount table */
	{ "", "unknown" },
	{ "\n", "unknown" },
	{ "27 1 254:0 / / rw,relatime\n" ROOT, "unknown" },
	{ "/dev/vda / ext4 rw 0 0\n", "unknown" },
	{ NULL, NULL }
};

/* -- The driver ---------------------------------------------------------- */

static const struct table tables[] = {
	{ "json-check", apply_json_check, json_check_rows },
	{ "json-int", apply_json_int, json_int_rows },
	{ "json-decode", apply_json_decode, json_decode_rows },
	{ "json-string", apply_json_string, json_string_rows },
	{ "json-get", apply_json_get, json_get_rows },
	{ "json-first-members", apply_json_first, json_first_rows },
	{ "json-equal", apply_json_equal, json_equal_rows },
	{ "json-verbatim", apply_json_verbatim, json_verbatim_rows },
	{ "path-tidy", apply_path_tidy, path_tidy_rows },
	{ "path-from", apply_path_from, path_from_rows },
	{ "digits", apply_digits, digits_rows },
	{ "utf8", apply_utf8, utf8_rows },
	{ "pattern", apply_pattern, pattern_rows },
	{ "fmt", apply_fmt, fmt_rows },
	{ "list", apply_list, list_rows },
	{ "mounts", apply_mounts, mounts_rows },
	{ "request", apply_request, request_rows },
	{ "field-lists", apply_lists, lists_rows },
	{ "access-host", apply_host, host_rows },
	{ "access-origin", apply_origin, origin_rows },
	{ "access-token", apply_token, token_rows },
	{ NULL, NULL, NULL }
};

/* Returns the number of rows that fail. */
static int
run(const struct table *table)
{
	const struct row *row;
	int failed = 0;

	for (row = table->rows; row->input != NULL; row++) {
		struct buf output = { NULL, 0, 0 };

		table->apply(row->input, &output);
		if (strcmp(buf_text(&output), row->expected) != 0) {
			printf("%s: %s\n    expected: %s\n    actual:   %s\n",
			    table->name, row->input, row->expected,
			    buf_text(&output));
			failed++;
		}
		buf_free(&output);
	}
	return failed;
}

int
main(int argc, char **argv)
{
	const struct table *table;

	if (argc != 2) {
		fprintf(stderr, "usage: t/tables TABLE\n");
		return 2;
	}
	for (table = tables; table->name != NULL; table++) {
		if (strcmp(table->name, argv[1]) == 0)
			return run(table) > 0;
	}
	fprintf(stderr, "t/tables: no table %s\n", argv[1]);
	return 2;
}
