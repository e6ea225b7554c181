/* What json.h promises, case by case: t/json_table [DIR]
 *
 * DIR may hold the files of the JSON test suite (nst/JSONTestSuite): those
 * named y_ must be accepted, n_ refused, i_ either. One line per failure. */

#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../json.h"

struct tally {
	int passed, failed;
};

/* A text that may hold NUL bytes. */
struct text {
	const char *bytes;
	size_t len;
};

#define TEXT(literal) { literal, sizeof literal - 1 }
#define COUNT(array) (sizeof array / sizeof array[0])

/* Words */

/* Prints bytes so that a terminal survives them, the first 60 or so. */
static void
print_bytes(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < 60; i++) {
		if (s[i] >= ' ' && s[i] <= '~' && s[i] != '\\')
			putchar(s[i]);
		else
			printf("\\x%02x", (unsigned char)s[i]);
	}
	if (i < n)
		printf("... (%lu bytes)", (unsigned long)n);
}

static void
expect(struct tally *t, bool ok, const char *what, const char *s, size_t n)
{
	if (ok) {
		t->passed++;
		return;
	}
	t->failed++;
	printf("%s: ", what);
	print_bytes(s, n);
	putchar('\n');
}

/* Shows both sides when they differ. */
static void
expect_bytes(struct tally *t, struct text is, struct text wanted,
             const char *what, struct text in)
{
	bool same = is.len == wanted.len
		&& (is.len == 0 || memcmp(is.bytes, wanted.bytes, is.len) == 0);

	expect(t, same, what, in.bytes, in.len);
	if (same)
		return;
	printf("  is ");
	print_bytes(is.bytes, is.len);
	printf("\n  not ");
	print_bytes(wanted.bytes, wanted.len);
	putchar('\n');
}

static struct text
text_of(const struct buf *b)
{
	struct text text;

	text.bytes = b->data;
	text.len = b->len;
	return text;
}

/* A literal as a checked value. */
static struct json
value(const char *text)
{
	return json_check(text, strlen(text));
}

/* In memory of just its size, where a sanitizer sees a step too far. */
static bool
accepts(const char *text, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);
	bool ok;

	if (copy == NULL)
		abort();
	if (len > 0)
		memcpy(copy, text, len);
	ok = json_type(json_check(copy, len)) != JSON_NONE;
	free(copy);
	return ok;
}

/* Writes a checked value again, compactly, through all of the reader. Goes
 * into itself no deeper than JSON_DEPTH. */
static void
rewrite(struct json j, struct buf *b)
{
	struct json name, element;
	struct buf string = {0};
	enum json_type type = json_type(j);
	size_t at = 0;
	bool first = true;

	if (type == JSON_STRING) {
		json_decode(j, &string);
		json_string(b, string.data, string.len);
		buf_free(&string);
	} else if (type == JSON_ARRAY || type == JSON_OBJECT) {
		buf_putc(b, type == JSON_ARRAY ? '[' : '{');
		while (json_next(j, &at, &name, &element)) {
			if (!first)
				buf_putc(b, ',');
			first = false;
			if (type == JSON_OBJECT) {
				rewrite(name, b);
				buf_putc(b, ':');
			}
			rewrite(element, b);
		}
		buf_putc(b, type == JSON_ARRAY ? ']' : '}');
	} else {
		buf_put(b, j.text, j.len);
	}
}

/* What the reader accepts the writer reproduces: accepted again, and the
 * same when written once more. */
static bool
reproduces(const char *text, size_t len)
{
	struct buf once = {0}, twice = {0};
	struct json j = json_check(text, len);
	bool same;

	rewrite(j, &once);
	j = json_check(once.data, once.len);
	if (json_type(j) != JSON_NONE)
		rewrite(j, &twice);
	same = once.len == twice.len
		&& memcmp(once.data, twice.data, once.len) == 0;
	buf_free(&once);
	buf_free(&twice);
	return same;
}

/* The grammar */

static const struct text accepted[] = {
	/* literals, white space around them */
	TEXT("null"), TEXT("true"), TEXT("false"), TEXT(" null"),
	TEXT("null "), TEXT("\t\n\r true \r\n\t"), TEXT("\"\""), TEXT("[]"),
	TEXT("{}"), TEXT("0"),
	/* numbers */
	TEXT("-0"), TEXT("1"), TEXT("-1"), TEXT("10"), TEXT("1234567890"),
	TEXT("-9876543210"), TEXT("0.0"), TEXT("0.5"), TEXT("-0.5"),
	TEXT("1.0"), TEXT("1.10"), TEXT("10.01"), TEXT("1e1"), TEXT("1E1"),
	TEXT("1e+1"), TEXT("1E+1"), TEXT("1e-1"), TEXT("1e01"), TEXT("1e00"),
	TEXT("0e0"), TEXT("0E-0"), TEXT("-0e+1"), TEXT("1.5e10"),
	TEXT("1.5E-10"), TEXT("1e999999999"), TEXT("-1e-999999999"),
	TEXT("123456789012345678901234567890.123456789012345678901234567890"),
	/* strings */
	TEXT("\"a\""), TEXT("\" \""), TEXT("\"'\""), TEXT("\"/\""),
	TEXT("\"\\\"\""), TEXT("\"\\\\\""), TEXT("\"\\/\""), TEXT("\"\\b\""),
	TEXT("\"\\f\""), TEXT("\"\\n\""), TEXT("\"\\r\""), TEXT("\"\\t\""),
	TEXT("\"\\u0000\""), TEXT("\"\\u0020\""), TEXT("\"\\u00e9\""),
	TEXT("\"\\uABCD\""), TEXT("\"\\uabcd\""), TEXT("\"\\uAbCd\""),
	TEXT("\"\\uFFFF\""), TEXT("\"\\ud83d\\ude00\""), TEXT("\"\\ud83d\""),
	TEXT("\"\\ude00\""), TEXT("\"\\ude00\\ud83d\""), TEXT("\"\x7f\""),
	TEXT("\"\\\\u0041\""), TEXT("\"\\\\\\\\\""), TEXT("\"\\\\\\\"\""),
	TEXT("\"{}[],:\""), TEXT("\"\xC2\x80\""), TEXT("\"\xC2\x85\""),
	TEXT("\"\xE2\x80\xA8\""), TEXT("\"\xEF\xBB\xBF\""),
	TEXT("\"\xEF\xBF\xBF\""), TEXT("\"\xF4\x8F\xBF\xBF\""),
	/* arrays */
	TEXT("[1]"), TEXT("[1,2]"), TEXT("[ ]"), TEXT(" [ 1 , 2 ] "),
	TEXT("[[]]"), TEXT("[[],[]]"), TEXT("[{}]"), TEXT("[{},[]]"),
	TEXT("[null,true,false,0,\"\",[],{}]"), TEXT("[\n1\t,\r2 ]"),
	TEXT("[-1,-0]"), TEXT("[1e1,2]"), TEXT("[[[[[[[[]]]]]]]]"),
	/* objects */
	TEXT("{\"a\":1}"), TEXT("{\"a\":1,\"b\":2}"), TEXT("{ }"),
	TEXT(" { \"a\" : 1 , \"b\" : 2 } "), TEXT("{\"\":0}"),
	TEXT("{\"a\":1,\"a\":2}"), TEXT("{\"a\":{\"a\":{}}}"),
	TEXT("{\"a\":[]}"), TEXT("{\"a\":[{}]}"), TEXT("{\"\\u0061\":1}"),
	TEXT("{\"a\":{},\"b\":[]}"), TEXT("{\"a\":null}"),
	TEXT("{\"a\":\"b\"}"),
	TEXT("{\"\\u0000\":0}"), TEXT("{\"\\\"\":0}"), TEXT("{\"\\ud800\":0}")
};

static const struct text refused[] = {
	/* nothing, or not one value */
	TEXT(""), TEXT(" "), TEXT("\n"), TEXT("null null"), TEXT("1 2"),
	TEXT("1,2"), TEXT("1,"), TEXT(",1"), TEXT("[][]"), TEXT("[]{}"),
	TEXT("{}{}"), TEXT("\"\"\"\""), TEXT("nulll"), TEXT("null,"),
	TEXT("[]]"), TEXT("{}}"), TEXT("[]\""), TEXT("1]"), TEXT("null\0"),
	TEXT("null \0"), TEXT("\0"), TEXT("[]\0"),
	/* other white space, comments, a byte order mark */
	TEXT("\f1"), TEXT("1\v"), TEXT("\xC2\xA0" "1"), TEXT("1\xC2\xA0"),
	TEXT("\xE2\x80\xA8[]"), TEXT("\xEF\xBB\xBF"), TEXT("\xEF\xBB\xBF{}"),
	TEXT("/**/1"), TEXT("1//"), TEXT("#\n1"), TEXT("[1/**/]"),
	/* literals */
	TEXT("n"), TEXT("nul"), TEXT("Null"), TEXT("NULL"), TEXT("nul\0"),
	TEXT("t"), TEXT("tru"), TEXT("True"), TEXT("truE"), TEXT("trux"),
	TEXT("fals"), TEXT("FALSE"), TEXT("falsy"), TEXT("undefined"),
	TEXT("NaN"), TEXT("nan"), TEXT("-NaN"), TEXT("Infinity"),
	TEXT("-Infinity"), TEXT("inf"), TEXT("a"), TEXT("'a'"), TEXT("*"),
	/* numbers */
	TEXT("-"), TEXT("+"), TEXT("+1"), TEXT("--1"), TEXT("- 1"), TEXT("00"),
	TEXT("01"), TEXT("-01"), TEXT("-00"), TEXT("012"), TEXT("1."),
	TEXT("0."), TEXT("-1."), TEXT("."), TEXT(".5"), TEXT("-.5"),
	TEXT("1..2"), TEXT("1.2.3"), TEXT("1.e1"), TEXT("e1"), TEXT("1e"),
	TEXT("1E"), TEXT("1e+"), TEXT("1e-"), TEXT("1e+-1"), TEXT("1e1.5"),
	TEXT("1e1e1"), TEXT("1ee1"), TEXT("0e"), TEXT("0.e1"), TEXT("1.5e"),
	TEXT("0x10"), TEXT("0x"), TEXT("1f"), TEXT("1a"), TEXT("1_000"),
	TEXT("1 000"), TEXT("1,5"), TEXT("1-2"), TEXT("1+2"), TEXT("-a"),
	TEXT("\xEF\xBC\x91"), TEXT("1\xEF\xBC\x91"), TEXT("1\0"),
	/* strings */
	TEXT("\""), TEXT("\"a"), TEXT("a\""), TEXT("\"\\\""), TEXT("\"\\"),
	TEXT("\"\\\\\\\""), TEXT("\"a\"b\""), TEXT("\"\\a\""), TEXT("\"\\v\""),
	TEXT("\"\\0\""), TEXT("\"\\x41\""), TEXT("\"\\'\""), TEXT("\"\\ \""),
	TEXT("\"\\N\""), TEXT("\"\\U0041\""), TEXT("\"\\\n\""),
	TEXT("\"\\\0\""), TEXT("\"\\\xC3\xA9\""), TEXT("\"\\u\""),
	TEXT("\"\\u0\""), TEXT("\"\\u00\""), TEXT("\"\\u004\""),
	TEXT("\"\\u004g\""), TEXT("\"\\ug041\""), TEXT("\"\\u 041\""),
	TEXT("\"\\u-041\""), TEXT("\"\\u004"), TEXT("\"\\u0041"),
	TEXT("\"\\ud83d\\u\""), TEXT("\"\\ud83d\\ude0\""), TEXT("\"\\u:/@G\""),
	TEXT("\"\\u`fgh\""), TEXT("\"\0\""), TEXT("\"\x01\""), TEXT("\"\t\""),
	TEXT("\"\n\""), TEXT("\"\r\""), TEXT("\"\x1f\""), TEXT("\"a\0\""),
	/* arrays */
	TEXT("["), TEXT("]"), TEXT("[1"), TEXT("[1,"), TEXT("[,"), TEXT("[,]"),
	TEXT("[1,]"), TEXT("[,1]"), TEXT("[1,,2]"), TEXT("[1 2]"),
	TEXT("[1:2]"), TEXT("[\"a\":1]"), TEXT("[}"), TEXT("[1}"), TEXT("[[]"),
	TEXT("[]]"), TEXT("[[}]"), TEXT("[1]]"), TEXT("[\"a]"), TEXT("[a]"),
	TEXT("[\0]"), TEXT("[1\0]"), TEXT("[[],"), TEXT("[\xC3\xA9]"),
	/* objects */
	TEXT("{"), TEXT("}"), TEXT("{]"), TEXT("{\"a\""), TEXT("{\"a\":"),
	TEXT("{\"a\"}"), TEXT("{\"a\":}"), TEXT("{\"a\":1"), TEXT("{\"a\":1,"),
	TEXT("{\"a\":1,}"), TEXT("{,}"), TEXT("{,\"a\":1}"), TEXT("{:1}"),
	TEXT("{\"a\"::1}"), TEXT("{\"a\" 1}"), TEXT("{\"a\",1}"),
	TEXT("{\"a\":1,,\"b\":2}"), TEXT("{\"a\":1 \"b\":2}"),
	TEXT("{\"a\":1:2}"), TEXT("{\"a\":1]"), TEXT("{a:1}"), TEXT("{'a':1}"),
	TEXT("{1:1}"), TEXT("{null:1}"), TEXT("{[]:1}"), TEXT("{{}:1}"),
	TEXT("{\"a\":1}}"), TEXT("{{}}"), TEXT("{\"a\":b}"), TEXT("{\"a\"=1}"),
	TEXT("[{\"a\":1]}"), TEXT("{\"a\":[1}]"), TEXT("{\"a\n\":1}"),
	TEXT("{\"a\":1,\"b\"}"), TEXT("[1,\"a\":2]"), TEXT("{\"a\":[],}")
};

static void
test_grammar(struct tally *t)
{
	size_t i;

	for (i = 0; i < COUNT(accepted); i++) {
		const struct text *x = &accepted[i];

		expect(t, accepts(x->bytes, x->len), "not accepted",
		       x->bytes, x->len);
		expect(t, reproduces(x->bytes, x->len), "not reproduced",
		       x->bytes, x->len);
	}
	for (i = 0; i < COUNT(refused); i++) {
		const struct text *x = &refused[i];

		expect(t, !accepts(x->bytes, x->len), "not refused",
		       x->bytes, x->len);
	}
}

/* Each accepted text cut short anywhere: only a number, or what had white
 * space behind it, may be whole still. */
static void
test_cut_off(struct tally *t)
{
	size_t i, n;
	const char *s;

	for (i = 0; i < COUNT(accepted); i++) {
		s = accepted[i].bytes + strspn(accepted[i].bytes, " \t\n\r");
		if (strchr("[{\"ntf", *s) == NULL)
			continue;
		n = json_check(accepted[i].bytes, accepted[i].len).len;
		while (n-- > 0)
			expect(t, !accepts(s, n), "cut off, not refused", s, n);
	}
}

static void
test_depth(struct tally *t)
{
	enum { MANY = 100000 };
	char *text = malloc(2 * MANY);
	int i;

	if (text == NULL)
		abort();
	memset(text, '[', MANY);
	memset(text + JSON_DEPTH, ']', JSON_DEPTH);
	expect(t, accepts(text, 2 * JSON_DEPTH), "depth", text, 2 * JSON_DEPTH);
	expect(t, reproduces(text, 2 * JSON_DEPTH), "depth, again", text, 9);
	memset(text, '[', MANY);
	memset(text + JSON_DEPTH + 1, ']', JSON_DEPTH + 1);
	expect(t, !accepts(text, 2 * (JSON_DEPTH + 1)), "too deep", text,
	       2 * (JSON_DEPTH + 1));
	memset(text, '[', MANY);
	expect(t, !accepts(text, MANY), "too deep", text, MANY);
	memset(text + MANY, ']', MANY);
	expect(t, !accepts(text, 2 * MANY), "too deep", text, 2 * MANY);
	for (i = 0; i + 5 <= MANY; i += 5)
		memcpy(text + i, "{\"\":[", 5);
	expect(t, !accepts(text, MANY), "too deep", text, MANY);
	free(text);
}

/* Strings */

/* What may be in a string, and what may not, wherever it stands in it. */
static const struct text good_parts[] = {
	TEXT("\\\""), TEXT("\\\\"), TEXT("\\u0022"), TEXT("\\ud83d\\ude00"),
	TEXT("\\\\\\\\\\\""), TEXT("\xC3\xA9"), TEXT("\xE4\xB8\xAD"),
	TEXT("\xE0\xA0\x80"), TEXT("\xED\x9F\xBF"), TEXT("\xEE\x80\x80"),
	TEXT("\xF0\x90\x80\x80"), TEXT("\xF0\x9F\x98\x80"),
	TEXT("\xF4\x8F\xBF\xBF"), TEXT("\x7F"),
	TEXT("\\n\xC3\xA9\\u00e9\xC3\xA9")
};

static const struct text bad_parts[] = {
	TEXT("\n"), TEXT("\0"), TEXT("\x1F"), TEXT("\\x"), TEXT("\\u12x4"),
	TEXT("\\\xC3\xA9"), TEXT("\x80"), TEXT("\xBF"), TEXT("\xC0\x80"),
	TEXT("\xC1\xBF"), TEXT("\xC3"), TEXT("\xC3\xA9\xA9"),
	TEXT("\xE0\x9F\xBF"),
	TEXT("\xE4\xB8"), TEXT("\xED\xA0\x80"), TEXT("\xED\xBF\xBF"),
	TEXT("\xF0\x8F\xBF\xBF"), TEXT("\xF0\x9F\x98"),
	TEXT("\xF4\x90\x80\x80"),
	TEXT("\xF5\x80\x80\x80"), TEXT("\xFF"), TEXT("\xFE"),
	TEXT("\xF8\x88\x80\x80\x80"), TEXT("\xC3\\n"), TEXT("\xE4\\u00e9"),
	TEXT("\xC3u0041"), TEXT("\xE4\xB8u0041")
};

/* ["aPARTa",1] */
static size_t
place(char *text, int before, const struct text *part, int after)
{
	static const char start[] = "[\"a", end[] = "a\",1]";
	const char *tail = after > 0 ? end : end + 1;
	size_t len = before > 0 ? 3 : 2;

	memcpy(text, start, len);
	memcpy(text + len, part->bytes, part->len);
	len += part->len;
	memcpy(text + len, tail, strlen(tail));
	return len + strlen(tail);
}

/* Two values, a string and 1, and the string ends where it should. */
static bool
splits(const char *text, size_t len)
{
	struct json j = json_check(text, len), string, one, end;
	size_t at = 0;

	return json_next(j, &at, NULL, &string) && json_next(j, &at, NULL, &one)
		&& !json_next(j, &at, NULL, &end) && string.text == text + 1
		&& string.len == len - 4 && one.text == text + len - 2
		&& one.len == 1;
}

static void
test_place(struct tally *t, int before, int after)
{
	char text[64];
	size_t i, len;

	for (i = 0; i < COUNT(good_parts); i++) {
		len = place(text, before, &good_parts[i], after);
		expect(t, accepts(text, len) && splits(text, len)
		       && reproduces(text, len), "place", text, len);
	}
	for (i = 0; i < COUNT(bad_parts); i++) {
		len = place(text, before, &bad_parts[i], after);
		expect(t, !accepts(text, len), "bad place", text, len);
	}
}

static void
test_places(struct tally *t)
{
	test_place(t, 0, 0);
	test_place(t, 0, 1);
	test_place(t, 1, 0);
	test_place(t, 1, 1);
}

static const struct {
	const char *text;
	struct text bytes;
} decoded[] = {
	{ "\"\"", TEXT("") },
	{ "\"abc\"", TEXT("abc") },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", TEXT("\"\\/\b\f\n\r\t") },
	{ "\"\\u0000\"", TEXT("\0") },
	{ "\"a\\u0000b\"", TEXT("a\0b") },
	{ "\"\\u0041\\u007f\"", TEXT("A\x7F") },
	{ "\"\\u0080\\u07ff\"", TEXT("\xC2\x80\xDF\xBF") },
	{ "\"\\u0800\\uFFFF\"", TEXT("\xE0\xA0\x80\xEF\xBF\xBF") },
	{ "\"\\u00E9\\u00e9\"", TEXT("\xC3\xA9\xC3\xA9") },
	{ "\"\\uabcd\\uABCD\\uEf01\"",
	  TEXT("\xEA\xAF\x8D\xEA\xAF\x8D\xEE\xBC\x81") },
	{ "\"\\ud800\\udc00\"", TEXT("\xF0\x90\x80\x80") },
	{ "\"\\uD83D\\uDE00\"", TEXT("\xF0\x9F\x98\x80") },
	{ "\"\\udbff\\udfff\"", TEXT("\xF4\x8F\xBF\xBF") },
	{ "\"\\ud800\"", TEXT("\xEF\xBF\xBD") },
	{ "\"\\udc00\"", TEXT("\xEF\xBF\xBD") },
	{ "\"\\ud800x\"", TEXT("\xEF\xBF\xBDx") },
	{ "\"\\ud800\\n\"", TEXT("\xEF\xBF\xBD\n") },
	{ "\"\\ud800\\u0041\"", TEXT("\xEF\xBF\xBD" "A") },
	{ "\"\\ud800\\ud800\"", TEXT("\xEF\xBF\xBD\xEF\xBF\xBD") },
	{ "\"\\ud800\\ud800\\udc00\"", TEXT("\xEF\xBF\xBD\xF0\x90\x80\x80") },
	{ "\"\\udc00\\ud800\"", TEXT("\xEF\xBF\xBD\xEF\xBF\xBD") },
	{ "\"\\udc00\\udc00\"", TEXT("\xEF\xBF\xBD\xEF\xBF\xBD") },
	{ "\"\\ud800\\ue000\"", TEXT("\xEF\xBF\xBD\xEE\x80\x80") },
	{ "\"\\ud800\\\\udc00\"", TEXT("\xEF\xBF\xBD\\udc00") },
	{ "\"\\ud7ff\\ue000\"", TEXT("\xED\x9F\xBF\xEE\x80\x80") },
	{ "\"\\\\u0041\"", TEXT("\\u0041") },
	{ "\"a\\u00e9\xC3\xA9\\ud800\"",
	  TEXT("a\xC3\xA9\xC3\xA9\xEF\xBF\xBD") }
};

static void
test_decode(struct tally *t)
{
	static const struct text start = TEXT("start");
	struct buf b = {0};
	struct text in, tail;
	size_t i;

	for (i = 0; i < COUNT(decoded); i++) {
		in.bytes = decoded[i].text;
		in.len = strlen(in.bytes);
		b.len = 0;
		buf_puts(&b, start.bytes);
		json_decode(value(in.bytes), &b);
		tail.bytes = b.data + start.len;
		tail.len = b.len - start.len;
		expect_bytes(t, tail, decoded[i].bytes, "decoded", in);
		expect(t, !b.failed && memcmp(b.data, "start", 5) == 0,
		       "decoded behind", in.bytes, in.len);
	}
	b.len = 0;
	json_decode(value("12"), &b);
	json_decode(value("[\"a\"]"), &b);
	json_decode(json_check("", 0), &b);
	expect(t, b.len == 0, "decoded no string", b.data, b.len);
	buf_free(&b);
}

static const struct {
	struct text bytes;
	const char *text;
} written[] = {
	{ TEXT(""), "\"\"" },
	{ TEXT("abc"), "\"abc\"" },
	{ TEXT("\"\\/"), "\"\\\"\\\\/\"" },
	{ TEXT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
	{ TEXT("\0"), "\"\\u0000\"" },
	{ TEXT("\x01\x0B\x0E\x0F\x10\x1B\x1F"),
	  "\"\\u0001\\u000b\\u000e\\u000f\\u0010\\u001b\\u001f\"" },
	{ TEXT("\x7F\xC2\x80\xE2\x80\xA8"), "\"\x7F\xC2\x80\xE2\x80\xA8\"" },
	{ TEXT("\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80"),
	  "\"\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\"" },
	/* once per maximal part: Unicode 3.9, tables 3-8 to 3-11 */
	{ TEXT("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82" "A"),
	  "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
	  "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" "A\"" },
	{ TEXT("\xED\xA0\x80\xED\xBF\xBF\xED\xAF" "A"),
	  "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
	  "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" "A\"" },
	{ TEXT("\xF4\x91\x92\x93\xFF" "A\x80\xBF" "B"),
	  "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" "A"
	  "\xEF\xBF\xBD\xEF\xBF\xBD" "B\"" },
	{ TEXT("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF" "A"),
	  "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" "A\"" },
	/* cut off by the end */
	{ TEXT("a\xC3"), "\"a\xEF\xBF\xBD\"" },
	{ TEXT("a\xE4\xB8"), "\"a\xEF\xBF\xBD\"" },
	{ TEXT("a\xF0\x9F\x98"), "\"a\xEF\xBF\xBD\"" },
	{ TEXT("\xF0\x9F\xE4\xB8\xC3"),
	  "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" },
	{ TEXT("\xC3\"\xE4\\\xF0\n"),
	  "\"\xEF\xBF\xBD\\\"\xEF\xBF\xBD\\\\\xEF\xBF\xBD\\n\"" }
};

static void
test_string(struct tally *t)
{
	struct buf b = {0};
	struct text wanted;
	char byte[3] = "aaa";
	size_t i;

	for (i = 0; i < COUNT(written); i++) {
		b.len = 0;
		json_string(&b, written[i].bytes.bytes, written[i].bytes.len);
		wanted.bytes = written[i].text;
		wanted.len = strlen(wanted.bytes);
		expect_bytes(t, text_of(&b), wanted, "written",
		             written[i].bytes);
	}
	/* Each byte among plain ones. */
	for (i = 0; i < 256; i++) {
		byte[1] = (char)i;
		b.len = 0;
		json_string(&b, byte, sizeof byte);
		expect(t, accepts(b.data, b.len) && reproduces(b.data, b.len),
		       "written", b.data, b.len);
	}
	buf_free(&b);
}

/* UTF-8 by its definition, for utf8_length() to be compared with. */

/* Could these n bytes be the start, or the whole, of a character? */
static bool
begins_character(const unsigned char *p, size_t n)
{
	static const long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len, i;
	long from, to;  /* what characters might begin so */

	if (p[0] < 0x80)
		return n == 1;
	for (len = 0; len < 8 && (p[0] << len & 0x80) != 0; len++)
		;
	if (len < 2 || len > 4 || n > len)
		return false;
	from = to = p[0] & (0x7F >> len);
	for (i = 1; i < len; i++) {
		if (i < n && (p[i] & 0xC0) != 0x80)
			return false;
		from = from * 64 + (i < n ? p[i] & 0x3F : 0);
		to = to * 64 + (i < n ? p[i] & 0x3F : 0x3F);
	}
	if (from < least[len])
		from = least[len];
	if (to > 0x10FFFF)
		to = 0x10FFFF;
	return from <= to && !(from >= 0xD800 && to <= 0xDFFF);
}

static int
naive_length(const unsigned char *p, size_t n)
{
	size_t i;
	int len = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;

	for (i = 1; i <= n; i++) {
		if (!begins_character(p, i))
			return i == 1 ? -1 : -(int)(i - 1);
		if (i == (size_t)len)
			return len;
	}
	return 0;
}

static void
test_utf8(struct tally *t)
{
	static const unsigned char edges[] = {
		0x00, 0x22, 0x5C, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
		0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
		0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF
	};
	static const unsigned char last[] = { 0x22, 0x7F, 0x80, 0xBF, 0xC0 };
	enum { N = sizeof edges, M = sizeof last };
	unsigned char *p;
	char text[6];
	size_t n, i;

	for (i = 0; i < (size_t)256 * N * N * M; i++) {
		p = (unsigned char *)text + 1;
		p[0] = (unsigned char)(i / (N * N * M));
		p[1] = edges[i / (N * M) % N];
		p[2] = edges[i / M % N];
		p[3] = last[i % M];
		for (n = 1; n <= 4; n++)
			if (utf8_length(p, n) != naive_length(p, n))
				expect(t, false, "utf8_length", text + 1, n);
		text[0] = text[5] = '"';
		n = (size_t)abs(naive_length(p, 4));
		if (p[0] >= 0x80 && n > 0) {
			text[n + 1] = '"';
			if (accepts(text, n + 2) != (naive_length(p, n) > 0))
				expect(t, false, "UTF-8", text, n + 2);
		}
	}
	expect(t, true, "utf8_length", "", 0);
}

/* Numbers */

#define MOST INT64_C(1000000000000000000)

static const struct {
	const char *text;
	bool is;
	int64_t value;
} integers[] = {
	{ "0", true, 0 }, { "-0", true, 0 }, { "7", true, 7 },
	{ "-7", true, -7 }, { "5000.0", true, 5000 }, { "5e3", true, 5000 },
	{ "5E3", true, 5000 }, { "5.0e+3", true, 5000 },
	{ "50000e-1", true, 5000 }, { "5000000e-3", true, 5000 },
	{ "0.5e4", true, 5000 }, { "0.005e6", true, 5000 },
	{ "1.25e2", true, 125 }, { "1.250e2", true, 125 },
	{ "-1.5e1", true, -15 }, { "0.0", true, 0 }, { "-0.0e-5", true, 0 },
	{ "0e999999999", true, 0 }, { "0e-999999999", true, 0 },
	{ "0.0000e99999999999999999999", true, 0 }, { "100e-2", true, 1 },
	{ "1e0", true, 1 }, { "1e-0", true, 1 },
	{ "1e00000000003", true, 1000 },
	{ "1.5", false, 0 }, { "0.5", false, 0 }, { "-0.5", false, 0 },
	{ "1e-1", false, 0 }, { "15e-1", false, 0 }, { "1.25e1", false, 0 },
	{ "5000.01", false, 0 }, { "1e-999999999", false, 0 },
	{ "0.1e0", false, 0 }, { "100e-3", false, 0 },
	{ "99999999999999999999.5", false, 0 },
	{ "1e-99999999999999999999999", false, 0 },
	{ "999999999999999999", true, MOST - 1 },
	{ "-999999999999999999", true, 1 - MOST },
	{ "99999999999999999.9e1", true, MOST - 1 },
	{ "1e18", true, MOST }, { "1000000000000000001", true, MOST },
	{ "9223372036854775807", true, MOST },
	{ "-9223372036854775808", true, -MOST },
	{ "-9223372036854775809", true, -MOST },
	{ "18446744073709551616", true, MOST },
	{ "1e19", true, MOST }, { "-1e19", true, -MOST },
	{ "1e999999999", true, MOST }, { "-1e999999999", true, -MOST },
	{ "1e99999999999999999999999", true, MOST },
	{ "0.000000000000000000000000000001e30", true, 1 },
	{ "1000000000000000000000000000000e-30", true, 1 },
	{ "true", false, 0 }, { "null", false, 0 }, { "\"5\"", false, 0 },
	{ "[5]", false, 0 }, { "{}", false, 0 }
};

static void
test_int(struct tally *t)
{
	size_t i;
	int64_t n;
	bool is;

	for (i = 0; i < COUNT(integers); i++) {
		n = 0;
		is = json_int(value(integers[i].text), &n);
		expect(t, is == integers[i].is
		       && (!is || n == integers[i].value), "json_int",
		       integers[i].text, strlen(integers[i].text));
	}
	expect(t, !json_int(json_check("", 0), &n), "json_int of none", "", 0);
}

/* Looking up */

static const struct {
	const char *a, *b;
	bool equal;
} pairs[] = {
	{ "1", "1", true }, { "1", "2", false }, { "1", "\"1\"", false },
	{ "5", "5.0", false }, { "1.5", "1.5", true }, { "5", "55", false },
	{ "-5", "5", false }, { "1e400", "1e400", true },
	{ "9223372036854775808", "9223372036854775809", false },
	{ "\"\"", "12", false }, { "\"\"", "[]", false },
	{ "\"\"", "\"\"", true }, { "\"a\"", "\"a\"", true },
	{ "\"a\"", "\"b\"", false }, { "\"a\"", "\"\\u0061\"", true },
	{ "\"\\u00e9\"", "\"\xC3\xA9\"", true }, { "\"a\"", "\"ab\"", false },
	{ "\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\"", true },
	{ "\"\\u4e2d\"", "\"\xE4\xB8\xAD\"", true },
	{ "\"\\ud800\"", "\"\xEF\xBF\xBD\"", true },
	{ "\"\\ud800\"", "\"\\udfff\"", true },
	{ "\"\\u0000\"", "\"\"", false },
	{ "\"\\u0000\"", "\"\\u0000\"", true },
	{ "\"\\/\"", "\"/\"", true }, { "\"\\n\"", "\"\\u000a\"", true },
	{ "\"\\n\"", "\"n\"", false }, { "\"\\\\n\"", "\"\\n\"", false },
	{ "null", "null", false }, { "true", "true", false },
	{ "[]", "[]", false }, { "{}", "{}", false }
};

static void
test_equal(struct tally *t)
{
	struct json a, b;
	size_t i;

	for (i = 0; i < COUNT(pairs); i++) {
		a = value(pairs[i].a);
		b = value(pairs[i].b);
		expect(t, json_equal(a, b) == pairs[i].equal
		       && json_equal(b, a) == pairs[i].equal, "json_equal",
		       pairs[i].a, strlen(pairs[i].a));
	}
	a = json_check("", 0);
	expect(t, !json_equal(a, a), "json_equal of none", "", 0);
}

static const struct {
	const char *string, *text;
	bool is;
} names[] = {
	{ "\"id\"", "id", true }, { "\"id\"", "i", false },
	{ "\"id\"", "idx", false }, { "\"id\"", "ie", false },
	{ "\"\"", "", true }, { "\"\"", "a", false }, { "\"a\"", "", false },
	{ "\"\\u0069d\"", "id", true }, { "\"i\\u0064\"", "id", true },
	{ "\"id\\u0000\"", "id", false }, { "\"\\u0000\"", "", false },
	{ "\"\\u0000id\"", "", false }, { "\"i\\u0000d\"", "id", false },
	{ "\"\\n\"", "\n", true }, { "\"\\n\"", "n", false },
	{ "\"\\u00e9\"", "\xC3\xA9", true }, { "\"\\u00e9\"", "\xC3", false },
	{ "\"\\u00e9\"", "\xC3\xA8", false },
	{ "\"\xC3\xA9\"", "\xC3\xA9", true },
	{ "\"\\ud800\"", "\xEF\xBF\xBD", true }, { "5", "5", false },
	{ "null", "null", false }, { "[\"a\"]", "a", false }
};

static void
test_is(struct tally *t)
{
	size_t i;

	for (i = 0; i < COUNT(names); i++)
		expect(t, json_is(value(names[i].string), names[i].text)
		       == names[i].is, "json_is", names[i].string,
		       strlen(names[i].string));
	expect(t, !json_is(json_check("", 0), ""), "json_is of none", "", 0);
}

/* A JSON text, and the text of what is found in it under "id", "params" and
 * the empty name; NULL: nothing. */
static const struct {
	const char *text, *id, *params, *empty;
} members[] = {
	{ "{}", NULL, NULL, NULL },
	{ "[]", NULL, NULL, NULL },
	{ "[\"id\",1]", NULL, NULL, NULL },
	{ "\"id\"", NULL, NULL, NULL },
	{ "{\"id\":1}", "1", NULL, NULL },
	{ " { \"id\" : 1 , \"params\" : [ 2 ] } ", "1", "[ 2 ]", NULL },
	{ "{\"params\":{\"id\":2}}", NULL, "{\"id\":2}", NULL },
	{ "{\"params\":{\"id\":2},\"id\":3}", "3", "{\"id\":2}", NULL },
	{ "{\"id\":1,\"id\":2}", "2", NULL, NULL },
	{ "{\"id\":1,\"\\u0069d\":2}", "2", NULL, NULL },
	{ "{\"\\u0069\\u0064\":1,\"x\":0}", "1", NULL, NULL },
	{ "{\"id\\u0000\":1,\"ids\":2,\"i\":3,\"Id\":4}", NULL, NULL, NULL },
	{ "{\"\":5,\"id\":\"\"}", "\"\"", NULL, "5" },
	{ "{\"\\u0000\":5}", NULL, NULL, NULL },
	{ "{\"x\":\"\\\"id\\\":1\",\"id\":2}", "2", NULL, NULL },
	{ "{\"x\":\"}\",\"y\":[\"]\",{\"}\":0}],\"id\":null}", "null", NULL,
	  NULL },
	{ "{\"x\":\"\\\\\",\"id\":1}", "1", NULL, NULL },
	{ "{\"x\":\"\\\\\\\"\",\"id\":1}", "1", NULL, NULL }
};

static void
expect_slice(struct tally *t, struct json j, const char *wanted,
             const char *text)
{
	bool ok = wanted == NULL ? j.text == NULL : j.text != NULL
		&& j.len == strlen(wanted)
		&& memcmp(j.text, wanted, j.len) == 0;

	expect(t, ok, "member", text, strlen(text));
}

static void
test_members(struct tally *t)
{
	static const char *const wanted[] = { "id", "params", "", "id" };
	struct json found[4], object;
	size_t i;

	for (i = 0; i < COUNT(members); i++) {
		object = value(members[i].text);
		json_members(object, wanted, found, 4);
		expect_slice(t, found[0], members[i].id, members[i].text);
		expect_slice(t, found[1], members[i].params, members[i].text);
		expect_slice(t, found[2], members[i].empty, members[i].text);
		expect_slice(t, found[3], members[i].id, members[i].text);
		expect_slice(t, json_get(object, "id"), members[i].id,
		             members[i].text);
	}
	json_members(json_check("", 0), wanted, found, 4);
	expect(t, found[0].text == NULL && found[3].text == NULL,
	       "members of none", "", 0);
}

static void
test_next(struct tally *t)
{
	static const char text[] = " { \"a\" : [ 1 , \"]\" ] , \"\\\"\":{}, "
		"\"b\" : -1.5e3\n} ";
	static const char *const wanted[] = {
		"\"a\"", "[ 1 , \"]\" ]", "\"\\\"\"", "{}", "\"b\"", "-1.5e3"
	};
	struct json j = value(text), name, element;
	size_t at = 0, i;

	for (i = 0; i < COUNT(wanted); i += 2) {
		expect(t, json_next(j, &at, &name, &element), "json_next",
		       text, strlen(text));
		expect_slice(t, name, wanted[i], text);
		expect_slice(t, element, wanted[i + 1], text);
	}
	expect(t, !json_next(j, &at, &name, &element)
	       && !json_next(j, &at, &name, &element), "json_next at the end",
	       text, strlen(text));
	at = 0;
	expect(t, !json_next(value("5"), &at, NULL, &element)
	       && !json_next(json_check("", 0), &at, NULL, &element)
	       && !json_next(value("[ ]"), &at, NULL, &element),
	       "json_next of nothing", "", 0);
}

static const struct {
	const char *text, *out;
} verbatim[] = {
	{ "1.0", "1.0" }, { "1e5", "1e5" }, { "\"\"", "\"\"" },
	{ "\"a\\u0062\\n\"", "\"a\\u0062\\n\"" }, { "null", "null" },
	{ "\"\xC3\xA9\\/\"", "\"\xC3\xA9\\/\"" },
	{ "\"\\uD83D\\uDE00\"", "\"\\uD83D\\uDE00\"" },
	{ "\"\\ud83d\"", "\"\\ufffd\"" }, { "\"\\uDE00\"", "\"\\ufffd\"" },
	{ "\"a\\uDBFFb\\ud800c\"", "\"a\\ufffdb\\ufffdc\"" },
	{ "\"\\ud800\\ud800\\udc00\"", "\"\\ufffd\\ud800\\udc00\"" },
	{ "\"\\udc00\\ud800\"", "\"\\ufffd\\ufffd\"" },
	{ "\"\\\\ud800\"", "\"\\\\ud800\"" },
	{ "\"\\uFFFD\\ufffd\\uFffD\"", "\"\\uFFFD\\ufffd\\uFffD\"" },
	{ "[\"\\ud800\",1]", "[\"\\ufffd\",1]" },
	{ "\"\\uD7FF\\uE000\"", "\"\\uD7FF\\uE000\"" }
};

static void
test_verbatim(struct tally *t)
{
	struct buf b = {0};
	struct text in, wanted;
	size_t i;

	for (i = 0; i < COUNT(verbatim); i++) {
		in.bytes = verbatim[i].text;
		in.len = strlen(in.bytes);
		wanted.bytes = verbatim[i].out;
		wanted.len = strlen(wanted.bytes);
		b.len = 0;
		json_verbatim(value(in.bytes), &b);
		expect_bytes(t, text_of(&b), wanted, "verbatim", in);
	}
	b.len = 0;
	json_verbatim(json_check("", 0), &b);
	expect(t, b.len == 0, "verbatim of none", "", 0);
	buf_free(&b);
}

static void
test_types(struct tally *t)
{
	static const char *const texts[] = {
		"", "null", "false", "-1", "\"\"", "[]", "{}"
	};
	size_t i;

	for (i = 0; i < COUNT(texts); i++)
		expect(t, json_type(value(texts[i])) == (enum json_type)i,
		       "json_type", texts[i], strlen(texts[i]));
	expect(t, json_type(json_check(NULL, 0)) == JSON_NONE, "NULL", "", 0);
	expect(t, json_true(value("true")) && !json_true(value("false"))
	       && !json_true(value("\"true\"")) && !json_true(value("")),
	       "json_true", "", 0);
}

/* Buffers */

static void
test_buf(struct tally *t)
{
	static const struct text wanted =
		TEXT("ab\0c-9223372036854775808 9223372036854775807 0");
	static const struct text rest = TEXT("c-9");
	struct buf b = {0};

	buf_put(&b, NULL, 0);
	buf_puts(&b, "");
	buf_drop(&b, 0);
	expect(t, b.data == NULL && b.cap == 0, "empty buf", "", 0);
	buf_put(&b, "ab\0", 3);
	buf_putc(&b, 'c');
	buf_int(&b, INT64_MIN);
	buf_putc(&b, ' ');
	buf_int(&b, INT64_MAX);
	buf_puts(&b, " ");
	buf_int(&b, 0);
	expect_bytes(t, text_of(&b), wanted, "buf", wanted);
	buf_drop(&b, 3);
	b.len = 3;
	expect_bytes(t, text_of(&b), rest, "buf_drop", rest);
	buf_drop(&b, 4);
	expect(t, b.len == 0 && b.cap > 0, "buf_drop of all", "", 0);
	buf_puts(&b, "x");
	expect(t, !buf_room(&b, SIZE_MAX) && b.failed, "buf_room", "", 0);
	buf_putc(&b, 'y');
	buf_put(&b, "yy", 2);
	json_string(&b, "y", 1);
	expect(t, !buf_room(&b, 1) && b.len == 1, "failed buf", "", 0);
	buf_free(&b);
	buf_free(&b);
	expect(t, buf_room(&b, 1) && b.len == 0, "buf after buf_free", "", 0);
	buf_free(&b);
}

/* Size: none of these may take long. */

enum { BIG = 16 * 1024 * 1024 };

static void
fill(struct buf *b, const char *part, size_t upto)
{
	size_t len = strlen(part);

	while (b->len + len <= upto)
		buf_put(b, part, len);
}

static void
test_big_strings(struct tally *t)
{
	static const char *const parts[] = {
		"a", "\\n", "\\\"", "\\\\", "\xC3\xA9", "\\u0001", "\\ud800"
	};
	struct buf b = {0};
	size_t i;

	for (i = 0; i < COUNT(parts); i++) {
		b.len = 0;
		buf_puts(&b, "[\"");
		fill(&b, parts[i], BIG - 4);
		buf_puts(&b, "\",1]");
		expect(t, accepts(b.data, b.len) && splits(b.data, b.len)
		       && reproduces(b.data, b.len), "big", b.data, b.len);
	}
	buf_free(&b);
}

static void
test_big_objects(struct tally *t)
{
	static const char *const names[] = { "key", "key\\\\\\\\\\\\" };
	static const char *const decoded_names[] = { "key", "key\\\\\\" };
	enum { KEYS = 100000 };
	struct buf b = {0};
	int64_t n = 0;
	int i, k;

	for (k = 0; k < 2; k++) {
		b.len = 0;
		for (i = 0; i < KEYS; i++) {
			buf_puts(&b, i == 0 ? "{\"" : ",\"");
			buf_puts(&b, names[k]);
			buf_puts(&b, "\":");
			buf_int(&b, i);
		}
		buf_putc(&b, '}');
		expect(t, json_int(json_get(json_check(b.data, b.len),
		       decoded_names[k]), &n) && n == KEYS - 1, "repeated",
		       b.data, b.len);
	}
	buf_free(&b);
}

/* 0.000...7e8388607, and 700...0e-8388607 */
static void
test_big_numbers(struct tally *t)
{
	struct buf b = {0}, c = {0};
	int64_t n = 0;

	buf_puts(&b, "0.");
	fill(&b, "0", BIG / 2);
	buf_puts(&b, "7e");
	buf_int(&b, BIG / 2 - 1);
	expect(t, json_int(json_check(b.data, b.len), &n) && n == 7,
	       "long number", b.data, b.len);
	b.len = 0;
	buf_puts(&b, "7");
	fill(&b, "0", BIG / 2);
	buf_puts(&b, "e-");
	buf_int(&b, BIG / 2 - 1);
	expect(t, json_int(json_check(b.data, b.len), &n) && n == 7,
	       "long number", b.data, b.len);
	json_verbatim(json_check(b.data, b.len), &c);
	expect(t, c.len == b.len, "long verbatim", b.data, b.len);
	b.len = 0;
	buf_puts(&b, "1e");
	fill(&b, "0", BIG);
	buf_puts(&b, "2");
	expect(t, json_int(json_check(b.data, b.len), &n) && n == 100,
	       "long exponent", b.data, b.len);
	buf_free(&b);
	buf_free(&c);
}

/* The test suite's files */

static void
test_file(struct tally *t, const char *dir, const char *name)
{
	char path[1024], part[4096];
	struct buf b = {0};
	FILE *file;
	size_t n;
	bool ok;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	file = fopen(path, "rb");
	if (file == NULL) {
		expect(t, false, "cannot open", path, strlen(path));
		return;
	}
	while ((n = fread(part, 1, sizeof part, file)) > 0)
		buf_put(&b, part, n);
	fclose(file);
	ok = accepts(b.data, b.len);
	expect(t, name[0] == 'i' || ok == (name[0] == 'y'),
	       ok ? "not refused" : "not accepted", name, strlen(name));
	if (ok)
		expect(t, reproduces(b.data, b.len), "not reproduced", name,
		       strlen(name));
	buf_free(&b);
}

static void
test_suite(struct tally *t, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (dir == NULL) {
		printf("no directory %s: its files are not tested\n", path);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		if (strchr("yni", entry->d_name[0]) != NULL
		    && entry->d_name[1] == '_')
			test_file(t, path, entry->d_name);
	closedir(dir);
}

int
main(int argc, char *argv[])
{
	struct tally t = {0};

	test_grammar(&t);
	test_cut_off(&t);
	test_depth(&t);
	test_places(&t);
	test_decode(&t);
	test_string(&t);
	test_utf8(&t);
	test_int(&t);
	test_equal(&t);
	test_is(&t);
	test_members(&t);
	test_next(&t);
	test_verbatim(&t);
	test_types(&t);
	test_buf(&t);
	test_big_strings(&t);
	test_big_objects(&t);
	test_big_numbers(&t);
	if (argc > 1)
		test_suite(&t, argv[1]);
	printf("%d passed, %d failed\n", t.passed, t.failed);
	return t.failed > 0;
}
