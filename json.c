/* Needs nothing of the system but C99: no call, no locale, no state. */

#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "scan.h"

static const struct json none;

/* Buffers */

bool
buf_room(struct buf *b, size_t more)
{
	size_t cap = b->cap < SIZE_MAX / 4 ? b->cap * 2 + 64 : SIZE_MAX;
	char *data = NULL;

	if (b->failed)
		return false;
	if (more <= b->cap - b->len)
		return true;
	if (more <= SIZE_MAX - b->len) {
		if (cap < b->len + more)
			cap = b->len + more;
		data = realloc(b->data, cap);
	}
	if (data == NULL) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void
buf_put(struct buf *b, const void *bytes, size_t n)
{
	if (n > 0 && buf_room(b, n)) {
		memcpy(b->data + b->len, bytes, n);
		b->len += n;
	}
}

void
buf_puts(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text));
}

void
buf_putc(struct buf *b, char c)
{
	buf_put(b, &c, 1);
}

void
buf_int(struct buf *b, int64_t n)
{
	char digits[20], *d = digits + sizeof digits;
	uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	do
		*--d = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (n < 0)
		*--d = '-';
	buf_put(b, d, (size_t)(digits + sizeof digits - d));
}

void
buf_drop(struct buf *b, size_t n)
{
	if (n < b->len)
		memmove(b->data, b->data + n, b->len - n);
	b->len -= n < b->len ? n : b->len;
}

void
buf_free(struct buf *b)
{
	static const struct buf empty;

	free(b->data);
	*b = empty;
}

/* Words: where nothing happens in a string, it is passed a word at a time.
 * Each test is for any byte of the word, so their order is no matter. */

enum { WORD = sizeof(size_t) };

#define EACH(byte) ((size_t)-1 / 255 * (byte))

static size_t
word_at(const char *s)
{
	size_t w;

	memcpy(&w, s, WORD);
	return w;
}

/* Bit 7 of each byte that is 0; perhaps of a 1 too, but not without a 0. */
static size_t
zeros(size_t w)
{
	return (w - EACH(1)) & ~w & EACH(0x80);
}

/* The same of each byte that ends a string, escapes or is forbidden in it. */
static size_t
specials(size_t w)
{
	return (((w ^ EACH('"')) - EACH(1)) | ((w ^ EACH('\\')) - EACH(1))
	        | (w - EACH(0x20))) & ~w & EACH(0x80);
}

static bool
ascii(size_t w)
{
	return (w & EACH(0x80)) == 0;
}

/* How far to go by bytes before words are tried again: soon enough for lines
 * of text, not too often for what is nothing but escapes. */
static const char *
bytes_end(const char *s, const char *end)
{
	return end - s > 16 ? s + 16 : end;
}

/* Blocks are tried where words do well, and not again for a while where they
 * did not: the test costs as much as some bytes do. */
static ptrdiff_t
retry_gap(size_t passed)
{
	return passed > 0 ? 0 : 4 * SCAN_BLOCK;
}

/* Bytes: where something happens, they go through a state machine without a
 * branch, since the processor could not guess where the next escape or
 * character begins. The byte chooses a row, the state is the number of a bit
 * in it, and the next state stands there; what a row does not name is 0, STOP.
 * The six bits of a state may have others above them: to take them off after
 * each byte would cost a third of the speed. */

/* The kind of each byte, a letter. */
static const unsigned char kind[] =
	"cccccccccccccccc" "cccccccccccccccc"  /* 00: c, controls */
	"ooqooooooooooooe" "hhhhhhhhhhoooooo"  /* 20: q " e / h 0-9 */
	"ohhhhhhooooooooo" "oooooooooooobooo"  /* 40: h A-F b \ */
	"ohfhhhfoooooooeo" "ooeoeuoooooooooo"  /* 60: e n r t, f both e, h */
	"xxxxxxxxxxxxxxxx" "yyyyyyyyyyyyyyyy"  /* 80: xyz, second and later */
	"zzzzzzzzzzzzzzzz" "zzzzzzzzzzzzzzzz"
	"vvllllllllllllll" "llllllllllllllll"  /* C0: i-n, first; v, never */
	"immmmmmmmmmmmdmm" "jnnnkvvvvvvvvvvv";

/* States inside a string. TAIL2: two bytes to come of a UTF-8 character;
 * behind E0, ED, F0 and F4 not every second byte will do. */
enum {
	STOP = 0, PLAIN = 6, ESCAPE = 12, TAIL1 = 18, TAIL2 = 24, TAIL3 = 30,
	BEHIND_E0 = 36, BEHIND_ED = 42, BEHIND_F0 = 48, BEHIND_F4 = 54
};

#define ROW(letter) ((size_t)(letter) - 'b')
#define ON(state, next) ((uint64_t)(next) << (state))
#define TAIL (ON(TAIL1, PLAIN) | ON(TAIL2, TAIL1) | ON(TAIL3, TAIL2))
#define HEX ((uint64_t)1 << 63)  /* a bit to spare says: hex digit */

static const uint64_t rows[] = {
	[ROW('o')] = ON(PLAIN, PLAIN),
	[ROW('u')] = ON(PLAIN, PLAIN),  /* STOP: four digits to check */
	[ROW('e')] = ON(PLAIN, PLAIN) | ON(ESCAPE, PLAIN),
	[ROW('h')] = ON(PLAIN, PLAIN) | HEX,
	[ROW('f')] = ON(PLAIN, PLAIN) | ON(ESCAPE, PLAIN) | HEX,
	[ROW('b')] = ON(PLAIN, ESCAPE) | ON(ESCAPE, PLAIN),
	[ROW('q')] = ON(ESCAPE, PLAIN),
	/* Unicode 3.9, table 3-7 */
	[ROW('x')] = TAIL | ON(BEHIND_ED, TAIL1) | ON(BEHIND_F4, TAIL2),
	[ROW('y')] = TAIL | ON(BEHIND_ED, TAIL1) | ON(BEHIND_F0, TAIL2),
	[ROW('z')] = TAIL | ON(BEHIND_E0, TAIL1) | ON(BEHIND_F0, TAIL2),
	[ROW('l')] = ON(PLAIN, TAIL1), [ROW('i')] = ON(PLAIN, BEHIND_E0),
	[ROW('m')] = ON(PLAIN, TAIL2), [ROW('d')] = ON(PLAIN, BEHIND_ED),
	[ROW('n')] = ON(PLAIN, TAIL3), [ROW('j')] = ON(PLAIN, BEHIND_F0),
	[ROW('k')] = ON(PLAIN, BEHIND_F4)
};

#define OF(byte) rows[ROW(kind[(unsigned char)(byte)])]
#define NEXT(state, byte) (OF(byte) >> STATE(state))
#define STATE(state) ((state) & 63)

/* UTF-8 */

int
utf8_length(const unsigned char *p, size_t n)
{
	uint64_t state = PLAIN;
	int i;

	if (p[0] < 0x80)
		return 1;
	for (i = 0; (size_t)i < n; i++) {
		state = NEXT(state, p[i]);
		if (STATE(state) == PLAIN)
			return i + 1;
		if (STATE(state) == STOP)
			return i > 0 ? -i : -1;
	}
	return 0;
}

/* How many bytes are whole characters, up to the first that is none. */
static size_t
utf8_valid(const char *text, size_t n)
{
	const char *s = text, *end = text + n, *stop;
	int len;

	while (s < end) {
		while (end - s >= WORD && ascii(word_at(s)))
			s += WORD;
		for (stop = bytes_end(s, end); s < stop; s += len) {
			len = utf8_length((const unsigned char *)s,
			                  (size_t)(end - s));
			if (len <= 0)
				return (size_t)(s - text);
		}
	}
	return n;
}

/* Writes a character; returns the end. */
static char *
utf8_write(char *d, uint32_t code)
{
	if (code < 0x80) {
		*d++ = (char)code;
		return d;
	}
	if (code < 0x800) {
		*d++ = (char)(0xC0 | code >> 6);
	} else if (code < 0x10000) {
		*d++ = (char)(0xE0 | code >> 12);
		*d++ = (char)(0x80 | (code >> 6 & 0x3F));
	} else {
		*d++ = (char)(0xF0 | code >> 18);
		*d++ = (char)(0x80 | (code >> 12 & 0x3F));
		*d++ = (char)(0x80 | (code >> 6 & 0x3F));
	}
	*d++ = (char)(0x80 | (code & 0x3F));
	return d;
}

/* Checking: s is where something must be, and its end is returned; or NULL,
 * when it is not there. */

static const char *
skip_space(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'))
		s++;
	return s;
}

static const char *
skip_digits(const char *s, const char *end)
{
	while (s < end && *s >= '0' && *s <= '9')
		s++;
	return s;
}

static const char *
check_digits(const char *s, const char *end)
{
	const char *stop = skip_digits(s, end);

	return stop > s ? stop : NULL;
}

static const char *
check_number(const char *s, const char *end)
{
	if (s < end && *s == '-')
		s++;
	if (s < end && *s == '0')
		s++;
	else if ((s = check_digits(s, end)) == NULL)
		return NULL;
	if (s < end && *s == '.' && (s = check_digits(s + 1, end)) == NULL)
		return NULL;
	if (s < end && (*s == 'e' || *s == 'E')) {
		s++;
		if (s < end && (*s == '+' || *s == '-'))
			s++;
		s = check_digits(s, end);
	}
	return s;
}

static const char *
check_hex4(const char *s, const char *end)
{
	if (end - s < 4)
		return NULL;
	return OF(s[0]) & OF(s[1]) & OF(s[2]) & OF(s[3]) & HEX ? s + 4 : NULL;
}

/* From behind the opening quote. */
static const char *
check_string(const char *s, const char *end)
{
	const char *stop;
	uint64_t state = PLAIN, before = PLAIN;
	ptrdiff_t retry = end - s;  /* with so many left, blocks are tried */
	size_t some;

	while (s < end) {
		for (stop = bytes_end(s, end); s < stop; ) {
			before = state;
			state = NEXT(state, *s++);
			if (STATE(state) == STOP)
				break;
		}
		if (STATE(state) == STOP) {
			if (s[-1] == '"' && STATE(before) == PLAIN)
				return s;
			if (s[-1] != 'u' || STATE(before) != ESCAPE)
				return NULL;
			if ((s = check_hex4(s, end)) == NULL)
				return NULL;
			state = PLAIN;
		}
		if (STATE(state) != PLAIN)
			continue;
		if (end - s <= retry && end - s >= SCAN_BLOCK
		    && specials(word_at(s)) == 0) {
			some = scan_string(s, (size_t)(end - s));
			s += some;
			retry = end - s - retry_gap(some);
		}
		while (end - s >= WORD && ascii(word_at(s))
		       && specials(word_at(s)) == 0)
			s += WORD;
	}
	return NULL;
}

static const char *
check_word(const char *s, const char *end, const char *word, size_t n)
{
	if ((size_t)(end - s) < n || memcmp(s, word, n) != 0)
		return NULL;
	return s + n;
}

static const char *
check_scalar(const char *s, const char *end)
{
	if (s == end)
		return NULL;
	switch (*s) {
	case '"': return check_string(s + 1, end);
	case 'n': return check_word(s, end, "null", 4);
	case 't': return check_word(s, end, "true", 4);
	case 'f': return check_word(s, end, "false", 5);
	}
	return check_number(s, end);
}

/* A member up to its value. */
static const char *
check_name(const char *s, const char *end)
{
	if (s == end || *s != '"' || (s = check_string(s + 1, end)) == NULL)
		return NULL;
	s = skip_space(s, end);
	if (s == end || *s != ':')
		return NULL;
	return skip_space(s + 1, end);
}

struct json
json_check(const char *text, size_t len)
{
	const char *s, *end;
	struct json value;
	char closing[JSON_DEPTH + 1];  /* brackets that are due, by depth */
	int depth = 0;
	bool opened;

	if (len == 0)
		return none;
	end = text + len;
	s = value.text = skip_space(text, end);
	for (;;) {
		opened = s < end && (*s == '[' || *s == '{');
		if (opened) {
			if (depth == JSON_DEPTH)
				return none;
			closing[++depth] = *s == '[' ? ']' : '}';
			s = skip_space(s + 1, end);
		} else if ((s = check_scalar(s, end)) == NULL) {
			return none;
		}
		if (!opened || (s < end && *s == closing[depth])) {
			for (; depth > 0; depth--, s++) {
				s = skip_space(s, end);
				if (s == end || *s != closing[depth])
					break;
			}
			if (depth == 0)
				break;
			if (s == end || *s != ',')
				return none;
			s = skip_space(s + 1, end);
		}
		if (closing[depth] == '}' && (s = check_name(s, end)) == NULL)
			return none;
	}
	value.len = (size_t)(s - value.text);
	return skip_space(s, end) == end ? value : none;
}

/* Reading what has been checked */

enum json_type
json_type(struct json j)
{
	if (j.text == NULL)
		return JSON_NONE;
	switch (*j.text) {
	case 'n': return JSON_NULL;
	case 't':
	case 'f': return JSON_BOOL;
	case '"': return JSON_STRING;
	case '[': return JSON_ARRAY;
	case '{': return JSON_OBJECT;
	}
	return JSON_NUMBER;
}

bool
json_true(struct json j)
{
	return j.text != NULL && *j.text == 't';
}

/* Is the quote at s escaped, by an odd number of backslashes? The string's
 * opening quote ends the count. */
static bool
quote_escaped(const char *s)
{
	const char *p = s;

	while (p[-1] == '\\')
		p--;
	return (s - p) % 2 != 0;
}

/* May a quote in this word be the string's end? Surely not where it has a
 * single backslash before it. Looks two bytes back from s. */
static bool
end_in_word(const char *s)
{
	size_t quotes = zeros(word_at(s) ^ EACH('"'));
	size_t doubt;

	if (quotes == 0)
		return false;
	doubt = word_at(s - 1) ^ EACH('\\');
	doubt |= (doubt & EACH(0x7F)) + EACH(0x7F);  /* bit 7: no backslash */
	doubt |= zeros(word_at(s - 2) ^ EACH('\\'));
	return (quotes & doubt) != 0;
}

/* From behind the opening quote to behind the closing one. */
static const char *
skip_string(const char *s, const char *end)
{
	const char *stop;
	ptrdiff_t retry = end - s;
	size_t some;

	while (s < end) {
		for (stop = bytes_end(s, end); s < stop; s++)
			if (*s == '"' && !quote_escaped(s))
				return s + 1;
		if (end - s <= retry && end - s >= SCAN_BLOCK) {
			some = scan_without(s, '"', (size_t)(end - s));
			s += some;
			retry = end - s - retry_gap(some);
		}
		while (end - s >= WORD && !end_in_word(s))
			s += WORD;
	}
	return end;
}

/* From the opening bracket to behind the closing one. */
static const char *
skip_nested(const char *s, const char *end)
{
	int depth = 0;

	while (s < end) {
		switch (*s++) {
		case '"':
			s = skip_string(s, end);
			break;
		case '[':
		case '{':
			depth++;
			break;
		case ']':
		case '}':
			if (--depth == 0)
				return s;
		}
	}
	return end;
}

static const char *
skip_value(const char *s, const char *end)
{
	if (*s == '"')
		return skip_string(s + 1, end);
	if (*s == '[' || *s == '{')
		return skip_nested(s, end);
	while (s < end && *s > ' ' && *s != ',' && *s != ']' && *s != '}')
		s++;
	return s;
}

bool
json_next(struct json j, size_t *at, struct json *name, struct json *value)
{
	enum json_type type = json_type(j);
	const char *s, *end;

	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return false;
	end = j.text + j.len;
	s = skip_space(j.text + (*at > 0 ? *at : 1), end);
	if (*s == ',')
		s = skip_space(s + 1, end);
	*at = (size_t)(s - j.text);
	if (*s == ']' || *s == '}')
		return false;
	if (type == JSON_OBJECT) {
		name->text = s;
		s = skip_string(s + 1, end);
		name->len = (size_t)(s - name->text);
		s = skip_space(s, end);  /* to the colon */
		s = skip_space(s + 1, end);
	}
	value->text = s;
	s = skip_value(s, end);
	value->len = (size_t)(s - value->text);
	*at = (size_t)(s - j.text);
	return true;
}

/* In ASCII, letters have bit 6 and end in 1 to 6. */
static uint32_t
hex_digit(char c)
{
	return (uint32_t)((c & 15) + (c >> 6) * 9);
}

static uint32_t
hex4(const char *s)
{
	return hex_digit(s[0]) << 12 | hex_digit(s[1]) << 8
		| hex_digit(s[2]) << 4 | hex_digit(s[3]);
}

/* Reads \uXXXX, two of them where they are a pair; returns the length. */
static int
read_unicode(const char *s, uint32_t *code)
{
	uint32_t low;

	*code = hex4(s + 2);
	if (*code < 0xD800 || *code > 0xDFFF)
		return 6;
	/* There is more to look at, be it the closing quote. */
	if (*code < 0xDC00 && s[6] == '\\' && s[7] == 'u') {
		low = hex4(s + 8);
		if (low >= 0xDC00 && low <= 0xDFFF) {
			*code = 0x10000 + (*code - 0xD800) * 0x400
				+ (low - 0xDC00);
			return 12;
		}
	}
	*code = 0xFFFD;
	return 6;
}

/* What stands behind a backslash, but for u. */
static const char meant[] = {
	['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f',
	['n'] = '\n', ['r'] = '\r', ['t'] = '\t'
};

/* Reads the escape whose backslash is at s; returns its length. */
static int
read_escape(const char *s, uint32_t *code)
{
	if (s[1] == 'u')
		return read_unicode(s, code);
	*code = (uint32_t)meant[(int)s[1]];
	return 2;
}

bool
json_is(struct json string, const char *text)
{
	const char *s, *end;
	char utf8[4], *d, *stop;
	uint32_t code;

	if (json_type(string) != JSON_STRING)
		return false;
	end = string.text + string.len - 1;
	for (s = string.text + 1; s < end; ) {
		if (*s != '\\') {
			if (*s++ != *text++)
				return false;
			continue;
		}
		s += read_escape(s, &code);
		stop = utf8_write(utf8, code);
		for (d = utf8; d < stop; d++)
			if (*text == '\0' || *d != *text++)
				return false;
	}
	return *text == '\0';
}

void
json_members(struct json object, const char *const names[],
             struct json found[], int n)
{
	struct json name, value;
	size_t at = 0;
	char first;
	int i;

	for (i = 0; i < n; i++)
		found[i] = none;
	if (json_type(object) != JSON_OBJECT)
		return;
	while (json_next(object, &at, &name, &value)) {
		first = name.text[1];
		for (i = 0; i < n; i++)
			if ((first == names[i][0] || first == '\\'
			     || first == '"') && json_is(name, names[i]))
				found[i] = value;
	}
}

struct json
json_get(struct json object, const char *name)
{
	struct json value;

	json_members(object, &name, &value, 1);
	return value;
}

/* The exponent from s on. Where it is longer than any text, so that no digits
 * can make up for it, it need not be exact. */
static int64_t
read_exponent(const char *s, const char *end)
{
	const int64_t most = INT64_MAX / 100;  /* ten times that fits as well */
	bool minus = s < end && *s == '-';
	int64_t value = 0;

	if (s < end && (*s == '-' || *s == '+'))
		s++;
	for (; s < end && value < most; s++)
		value = value * 10 + (*s - '0');
	return minus ? -value : value;
}

/* Appends a digit to *sum; false: there is no room for it any more. */
static bool
add_digit(uint64_t *sum, int digit)
{
	if (*sum > (UINT64_MAX - 9) / 10)
		return false;
	*sum = *sum * 10 + (unsigned)digit;
	return true;
}

/* json_int(), and whether the number is within int64_t. */
static bool
read_int(struct json number, int64_t *value, bool *fits)
{
	const char *s = number.text, *end, *dot, *e;
	uint64_t sum = 0, most = INT64_MAX;
	int64_t left;  /* digits to come of the integer */

	if (json_type(number) != JSON_NUMBER)
		return false;
	end = s + number.len;
	if (*s == '-') {
		most++;
		s++;
	}
	dot = skip_digits(s, end);
	e = dot < end && *dot == '.' ? skip_digits(dot + 1, end) : dot;
	left = dot - s + read_exponent(e < end ? e + 1 : end, end);
	for (*fits = true; s < e; s++) {
		if (*s == '.')
			continue;
		if (left-- > 0)
			*fits = *fits && add_digit(&sum, *s - '0');
		else if (*s != '0')
			return false;
	}
	for (; left > 0 && sum > 0 && *fits; left--)
		*fits = add_digit(&sum, 0);
	*fits = *fits && sum <= most;
	if (!*fits)
		sum = most;
	/* -INT64_MAX - 1 has no positive to be the negative of. */
	*value = *number.text == '-' && sum > 0
		? -(int64_t)(sum - 1) - 1 : (int64_t)sum;
	return true;
}

/* Reads the character at *s, escaped or not, and goes behind it. */
static uint32_t
read_char(const char **s)
{
	uint32_t code = (unsigned char)**s;
	int tails;

	if (code == '\\') {
		*s += read_escape(*s, &code);
		return code;
	}
	++*s;
	if (code < 0x80)
		return code;
	tails = code >= 0xF0 ? 3 : code >= 0xE0 ? 2 : 1;
	code &= 0x3Fu >> tails;
	while (tails-- > 0)
		code = code << 6 | (*(*s)++ & 0x3F);
	return code;
}

static bool
equal_strings(struct json a, struct json b)
{
	const char *s = a.text + 1, *s_end = a.text + a.len - 1;
	const char *t = b.text + 1, *t_end = b.text + b.len - 1;

	while (s < s_end && t < t_end)
		if (read_char(&s) != read_char(&t))
			return false;
	return s == s_end && t == t_end;
}

static bool
equal_integers(struct json a, struct json b)
{
	int64_t m, n;
	bool fits;

	return read_int(a, &m, &fits) && fits
		&& read_int(b, &n, &fits) && fits && m == n;
}

bool
json_equal(struct json a, struct json b)
{
	enum json_type type = json_type(a);

	if (type != json_type(b))
		return false;
	if (type != JSON_STRING && type != JSON_NUMBER)
		return false;
	if (a.len == b.len && memcmp(a.text, b.text, a.len) == 0)
		return true;
	return type == JSON_STRING ? equal_strings(a, b) : equal_integers(a, b);
}

bool
json_int(struct json number, int64_t *value)
{
	bool fits;

	return read_int(number, value, &fits);
}

/* Decodes from s to end; returns the end of what it wrote. That is never
 * more than it has read, so a whole word may be copied in advance. */
static char *
decode(char *d, const char *s, const char *end)
{
	uint32_t code;

	while (s < end) {
		if (*s == '\\' && s[1] != 'u') {
			*d++ = meant[(int)s[1]];
			s += 2;
		} else if (*s == '\\') {
			s += read_unicode(s, &code);
			d = utf8_write(d, code);
		} else if (end - s < WORD) {
			*d++ = *s++;
		} else {
			memcpy(d, s, WORD);
			if (zeros(word_at(s) ^ EACH('\\')) == 0) {
				s += WORD;
				d += WORD;
				continue;
			}
			for (; *s != '\\'; s++)
				d++;
		}
	}
	return d;
}

void
json_decode(struct json string, struct buf *b)
{
	char *d;

	if (json_type(string) != JSON_STRING || string.len == 2)
		return;
	if (!buf_room(b, string.len - 2))
		return;
	d = decode(b->data + b->len, string.text + 1,
	           string.text + string.len - 1);
	b->len = (size_t)(d - b->data);
}

void
json_verbatim(struct json j, struct buf *b)
{
	const char *s = j.text, *from = s;  /* not yet appended */
	size_t left = j.len;
	uint32_t code;
	int len;

	for (; left > 0; s += len, left -= (size_t)len) {
		len = *s == '\\' ? read_escape(s, &code) : 1;
		/* \ufffd itself stays as it was spelled. */
		if (len == 6 && code == 0xFFFD && (s[2] | 0x20) == 'd') {
			buf_put(b, from, (size_t)(s - from));
			buf_puts(b, "\\ufffd");
			from = s + len;
		}
	}
	buf_put(b, from, (size_t)(s - from));
}

/* Writing */

/* Writes UTF-8 as the inside of a string, where there is room for six times
 * as much and one more; returns the end. */
static char *
escape(char *d, const char *s, const char *end)
{
	/* What follows the backslash; 0 for what needs none. */
	static const char letters[256] = {
		'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u',
		'b', 't', 'n', 'u', 'f', 'r', 'u', 'u',
		'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u',
		'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u',
		['"'] = '"', ['\\'] = '\\'
	};
	const char *stop;
	char c, letter;

	while (s < end) {
		while (end - s >= WORD && specials(word_at(s)) == 0) {
			memcpy(d, s, WORD);
			d += WORD;
			s += WORD;
		}
		for (stop = bytes_end(s, end); s < stop; s++) {
			c = *s;
			letter = letters[(unsigned char)c];
			d[0] = letter != 0 ? '\\' : c;
			d[1] = letter;  /* or nothing yet */
			d += 1 + (letter != 0);
			if (letter == 'u') {
				memcpy(d, c < 0x10 ? "000" : "001", 3);
				d[3] = "0123456789abcdef"[c & 15];
				d += 4;
			}
		}
	}
	return d;
}

/* A part at a time, so that room for the worst case is cheap to have. */
static void
put_escaped(struct buf *b, const char *s, size_t n)
{
	size_t part;
	char *d;

	for (; n > 0; s += part, n -= part) {
		part = n < 4096 ? n : 4096;
		if (!buf_room(b, part * 6 + 1))
			return;
		d = escape(b->data + b->len, s, s + part);
		b->len = (size_t)(d - b->data);
	}
}

void
json_string(struct buf *b, const void *bytes, size_t n)
{
	const char *s = bytes;
	size_t part;
	int len;

	buf_putc(b, '"');
	while (n > 0) {
		part = utf8_valid(s, n);
		put_escaped(b, s, part);
		s += part;
		n -= part;
		if (n == 0)
			break;
		buf_puts(b, "\xEF\xBF\xBD");
		len = utf8_length((const unsigned char *)s, n);
		part = len < 0 ? (size_t)-len : n;
		s += part;
		n -= part;
	}
	buf_putc(b, '"');
}
