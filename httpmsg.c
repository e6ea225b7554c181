/* Needs nothing of the system but C99 and strcasecmp(). */
#define _POSIX_C_SOURCE 200809L

#include "httpmsg.h"

#include <string.h>
#include <strings.h>

enum {
	SIZE_LIMIT = 256,  /* bytes of the line before a chunk */

	/* Headers that are lists, and may come in parts */
	LIST_ACCEPT = FIELDS, LIST_CONNECTION, ALL_FIELDS
};

static const char *const field_names[ALL_FIELDS] = {
	"Host", "Origin", "Authorization", "Content-Type", "Content-Length",
	"Transfer-Encoding", "Expect", "Access-Control-Request-Method",
	"Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name",
	"Accept", "Connection"
};

/* -- Words ------------------------------------------------------------- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_token(const char *s)
{
	static const char others[] = "!#$%&'*+-.^_`|~";
	char low;

	if (*s == '\0')
		return false;
	for (; *s != '\0'; s++) {
		low = (char)(*s | 32);
		if (!is_digit(*s) && (low < 'a' || low > 'z') &&
		    strchr(others, *s) == NULL)
			return false;
	}
	return true;
}

static int
hex_digit(char d)
{
	if (is_digit(d))
		return d - '0';
	d |= 32;
	return d >= 'a' && d <= 'f' ? d - 'a' + 10 : -1;
}

/* Is the word an element of that header's value, parameters left aside? */
static bool
lists(const char *list, const char *word)
{
	size_t n = strlen(word);

	while (*list != '\0') {
		list += strspn(list, " \t,");
		if (strncasecmp(list, word, n) == 0 &&
		    strchr(" \t,;", list[n]) != NULL)
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

/* Base64 with its padding */
static void
put_base64(struct buf *b, const unsigned char *s, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
	    "nopqrstuvwxyz0123456789+/";
	unsigned long bits;
	size_t i;

	for (i = 0; i < n; i += 3) {
		bits = (unsigned long)s[i] << 16;
		if (i + 1 < n)
			bits |= (unsigned long)s[i + 1] << 8;
		if (i + 2 < n)
			bits |= s[i + 2];
		buf_putc(b, digits[bits >> 18]);
		buf_putc(b, digits[bits >> 12 & 63]);
		buf_putc(b, i + 1 < n ? digits[bits >> 6 & 63] : '=');
		buf_putc(b, i + 2 < n ? digits[bits & 63] : '=');
	}
}

bool
header_says(const char *value, struct json string)
{
	static const char before[] = "=?base64?";
	struct buf text = { NULL, 0, 0, false }, b = text;
	bool same;

	if (value == NULL)
		return false;
	json_decode(string, &text);
	if (strncmp(value, before, strlen(before)) == 0) {
		buf_puts(&b, before);
		put_base64(&b, (const unsigned char *)text.data, text.len);
		buf_puts(&b, "?=");
	} else {
		buf_put(&b, text.data, text.len);
	}
	buf_putc(&b, '\0');
	same = !text.failed && !b.failed && strlen(value) == b.len - 1 &&
	    memcmp(value, b.data, b.len) == 0;
	buf_free(&text);
	buf_free(&b);
	return same;
}

bool
same_secret(const char *given, const char *secret)
{
	size_t n = strlen(secret), i = 0;
	volatile unsigned char wrong = strlen(given) != n;

	for (; *given != '\0'; given++) {
		wrong |= (unsigned char)(*given ^ secret[i]);
		i = i + 1 < n ? i + 1 : 0;
	}
	return !wrong;
}

/* -- The head ---------------------------------------------------------- */

/* GET /path HTTP/1.1; returns the status of what is wrong, 0 nothing. */
static int
parse_request_line(struct request *r, char *line)
{
	char *target = strchr(line, ' '), *version, *end;

	if (target == NULL || (version = strchr(target + 1, ' ')) == NULL)
		return 400;
	*target++ = '\0';
	*version++ = '\0';
	if (!is_token(line) || strncmp(version, "HTTP/", 5) != 0 ||
	    !is_digit(version[5]) || version[6] != '.' ||
	    !is_digit(version[7]) || version[8] != '\0')
		return 400;
	if (version[5] != '1')
		return 505;
	for (end = target; *end > ' ' && *end != 127; end++)
		;
	if (*end != '\0' || target[0] == '\0')
		return 400;
	r->http10 = version[7] == '0';
	r->last = r->http10;
	r->verb = line;
	target[strcspn(target, "?#")] = '\0';
	if (strncasecmp(target, "http://", 7) == 0) {
		/* As to a proxy: its host goes before the header's. */
		end = target + 7 + strcspn(target + 7, "/");
		memmove(target, target + 7, (size_t)(end - target) - 7);
		end[-7] = '\0';
		r->field[FIELD_HOST] = target;
		target = *end == '\0' ? "/" : end;
	}
	r->path = target;
	return 0;
}

static void
note_list(struct request *r, int field, const char *value)
{
	if (field == LIST_CONNECTION) {
		if (lists(value, "close"))
			r->last = true;
		return;
	}
	r->accepts_given = true;
	if (lists(value, "*/*"))
		r->accepts_json = r->accepts_stream = true;
	if (lists(value, "application/json") ||
	    lists(value, "application/*"))
		r->accepts_json = true;
	if (lists(value, "text/event-stream") ||
	    lists(value, "text/*"))
		r->accepts_stream = true;
}

/* Name: value; 0, or the status of what is wrong. Nothing that another reader
 * could take for two headers, or for none, is let pass (H8). */
static int
parse_field(struct request *r, char *line, const char **host)
{
	char *value = strchr(line, ':'), *end;
	const char **slot;
	int i;

	if (value == NULL)
		return 400;
	*value++ = '\0';
	value += strspn(value, " \t");
	for (end = value; *end != '\0'; end++) {
		if (((unsigned char)*end < ' ' && *end != '\t') ||
		    *end == 127)
			return 400;
	}
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	if (!is_token(line))
		return 400;
	for (i = 0; i < ALL_FIELDS &&
	    strcasecmp(line, field_names[i]) != 0; i++)
		;
	if (i == ALL_FIELDS)
		return 0;
	if (i >= FIELDS) {
		note_list(r, i, value);
		return 0;
	}
	slot = i == FIELD_HOST ? host : &r->field[i];
	if (*slot != NULL)
		return 400;
	*slot = value;
	return 0;
}

/* How long the body is; smuggling needs two opinions about that (H8). */
static int
parse_framing(struct request *r)
{
	const char *length = r->field[FIELD_CONTENT_LENGTH];
	const char *coding = r->field[FIELD_TRANSFER_ENCODING];
	size_t i;

	r->state = REQUEST_BODY;
	if (coding != NULL) {
		if (length != NULL || r->http10)
			return 400;
		if (strcasecmp(coding, "chunked") != 0)
			return 501;
		r->state = REQUEST_SIZE;
	}
	if (length == NULL)
		return 0;
	for (i = 0; length[i] != '\0'; i++) {
		if (!is_digit(length[i]) || i == 18)
			return 400;
		r->left = r->left * 10 + (length[i] - '0');
	}
	return i == 0 ? 400 : 0;
}

/* All lines of r->head; 0, or the status of what is wrong */
static int
parse_head(struct request *r)
{
	const char *host = NULL;
	char *line = r->head.data, *end;
	int wrong = 0;

	if (memchr(line, '\0', r->head.len) != NULL)
		return 400;
	buf_putc(&r->head, '\0');
	if (r->head.failed)
		return 503;
	line = r->head.data;
	/* find_end() has seen that all newlines come behind a CR. */
	while (wrong == 0 && (end = strchr(line, '\n') - 1) != line) {
		*end = '\0';
		wrong = line == r->head.data ? parse_request_line(r, line)
		    : parse_field(r, line, &host);
		line = end + 2;
	}
	if (wrong != 0)
		return wrong;
	if (host == NULL && !r->http10)
		return 400;
	if (r->field[FIELD_HOST] == NULL)
		r->field[FIELD_HOST] = host;
	return parse_framing(r);
}

/* Where a line ends that is empty, or any at all; 0: not there yet. *bad: one
 * ends without its carriage return. */
static size_t
find_end(struct request *r, const struct buf *in, bool any, bool *bad)
{
	const char *p = in->data, *end;
	size_t at;

	*bad = false;
	while (r->looked < in->len &&
	    (end = memchr(p + r->looked, '\n', in->len - r->looked))) {
		at = (size_t)(end - p);
		r->looked = at + 1;
		*bad = at == 0 || p[at - 1] != '\r';
		if (*bad || any || at == 1 || p[at - 2] == '\n') {
			r->looked = 0;
			return at + 1;
		}
	}
	r->looked = in->len;
	return 0;
}

static enum request_event
take_head(struct request *r, struct buf *in, int *status)
{
	size_t n;
	bool bad;

	/* An empty line before it is let pass (RFC 9112, 2.2), but its time
	 * counts from there. */
	r->begun = r->begun || in->len > 0;
	while (in->len >= 2 && memcmp(in->data, "\r\n", 2) == 0) {
		buf_drop(in, 2);
		r->looked = 0;
	}
	if (in->len == 0)
		return REQUEST_WAITS;
	n = find_end(r, in, false, &bad);
	if (bad) {
		*status = 400;
	} else if ((n == 0 ? in->len : n) > REQUEST_HEAD_LIMIT) {
		*status = 431;
	} else if (n == 0) {
		return REQUEST_WAITS;
	} else {
		buf_put(&r->head, in->data, n);
		buf_drop(in, n);
		*status = r->head.failed ? 503 : parse_head(r);
	}
	return *status != 0 ? REQUEST_WRONG : REQUEST_ASKS;
}

/* -- The body ---------------------------------------------------------- */

/* Bytes of the body, or of a chunk of it */
static enum request_event
take_body(struct request *r, struct buf *in, int *status)
{
	size_t n = in->len;

	if ((int64_t)n > r->left)
		n = (size_t)r->left;
	if (!r->unwanted && r->body.len + n > REQUEST_BODY_LIMIT)
		*status = 413;
	else if (!r->unwanted)
		buf_put(&r->body, in->data, n);
	if (r->body.failed)
		*status = 503;
	if (*status != 0) {
		buf_free(&r->body);
		r->unwanted = true;
		return REQUEST_TOO_MUCH;
	}
	buf_drop(in, n);
	r->left -= (int64_t)n;
	if (r->left > 0)
		return REQUEST_WAITS;
	r->state = r->state == REQUEST_BODY ? REQUEST_WHOLE
	    : REQUEST_CHUNK_END;
	return REQUEST_GOES_ON;
}

/* The line before a chunk: its size, perhaps extensions */
static enum request_event
take_size(struct request *r, struct buf *in, int *status)
{
	const char *p = in->data;
	bool bad;
	size_t n = find_end(r, in, true, &bad), digits, i;

	*status = 400;
	if (bad || (n == 0 ? in->len : n) > SIZE_LIMIT)
		return REQUEST_WRONG;
	if (n == 0) {
		*status = 0;
		return REQUEST_WAITS;
	}
	r->left = 0;
	for (i = 0; hex_digit(p[i]) >= 0 && r->left >> 56 == 0; i++)
		r->left = r->left << 4 | hex_digit(p[i]);
	digits = i;
	while (p[i] == ' ' || p[i] == '\t')
		i++;
	if (digits == 0 || (p[i] != ';' && p[i] != '\r') ||
	    memchr(p, '\0', n) != NULL || memchr(p, '\r', n) != p + n - 2)
		return REQUEST_WRONG;
	*status = 0;
	buf_drop(in, n);
	r->state = r->left > 0 ? REQUEST_CHUNK : REQUEST_TRAILER;
	return REQUEST_GOES_ON;
}

static enum request_event
take_chunk_end(struct request *r, struct buf *in, int *status)
{
	if (in->len < 2)
		return REQUEST_WAITS;
	if (memcmp(in->data, "\r\n", 2) != 0) {
		*status = 400;
		return REQUEST_WRONG;
	}
	buf_drop(in, 2);
	r->state = REQUEST_SIZE;
	return REQUEST_GOES_ON;
}

/* What follows the last chunk means nothing here. */
static enum request_event
take_trailer(struct request *r, struct buf *in, int *status)
{
	bool bad;
	size_t n = find_end(r, in, false, &bad);

	if (bad || (n == 0 ? in->len : n) > REQUEST_HEAD_LIMIT) {
		*status = bad ? 400 : 431;
		return REQUEST_WRONG;
	}
	if (n == 0)
		return REQUEST_WAITS;
	buf_drop(in, n);
	r->state = REQUEST_WHOLE;
	return REQUEST_GOES_ON;
}

/* -- The request ------------------------------------------------------- */

enum request_event
request_take(struct request *r, struct buf *in, int *status)
{
	enum request_event event = REQUEST_GOES_ON;

	*status = 0;
	while (event == REQUEST_GOES_ON) {
		switch (r->state) {
		case REQUEST_HEAD:
			event = take_head(r, in, status);
			break;
		case REQUEST_BODY:
		case REQUEST_CHUNK:
			event = take_body(r, in, status);
			break;
		case REQUEST_SIZE:
			event = take_size(r, in, status);
			break;
		case REQUEST_CHUNK_END:
			event = take_chunk_end(r, in, status);
			break;
		case REQUEST_TRAILER:
			event = take_trailer(r, in, status);
			break;
		case REQUEST_WHOLE:
			event = REQUEST_ENDS;
			break;
		}
	}
	return event;
}

void
request_free(struct request *r)
{
	buf_free(&r->head);
	buf_free(&r->body);
	memset(r, 0, sizeof(*r));
}

/* -- The rules --------------------------------------------------------- */

/* localhost, 127.0.0.1 or [::1], with a port or without */
static bool
is_loopback(const char *host)
{
	size_t n = 0;

	if (strncasecmp(host, "localhost", 9) == 0)
		n = 9;
	else if (strncmp(host, "[::1]", 5) == 0)
		n = 5;
	else if (strncmp(host, "127.", 4) == 0)
		n = 4 + strspn(host + 4, "0123456789.");
	if (n > 0 && host[n] == ':')
		n += 1 + strspn(host + n + 1, "0123456789");
	return n > 0 && host[n] == '\0';
}

static bool
is_allowed(const char *origin, const struct request_rules *rules)
{
	const char *list = rules->origins;
	size_t n = strlen(origin), one;

	if (strcasecmp(origin, rules->origin) == 0)
		return true;
	if (strncasecmp(origin, "http://", 7) == 0 && is_loopback(origin + 7))
		return true;
	for (; list != NULL && *list != '\0'; list += one) {
		list += strspn(list, " ");
		one = strcspn(list, " ");
		if (one > 0 && one == n && strncasecmp(list, origin, n) == 0)
			return true;
	}
	return false;
}

static bool
shows(const struct request *r, const char *token)
{
	const char *given = r->field[FIELD_AUTHORIZATION];

	if (token == NULL)
		return true;
	if (given == NULL || strncasecmp(given, "Bearer ", 7) != 0)
		return false;
	return same_secret(given + 7 + strspn(given + 7, " "), token);
}

/* Of a message to come: whether it can be taken */
static int
check_post(const struct request *r, const char **why)
{
	const char *type = r->field[FIELD_CONTENT_TYPE];

	*why = "Content-Type must be application/json\n";
	if (type == NULL || strchr(type, ',') != NULL ||
	    !lists(type, "application/json"))
		return 415;
	*why = "Accept must list application/json and text/event-stream\n";
	if (r->accepts_given && !(r->accepts_json && r->accepts_stream))
		return 406;
	*why = "a message can have 16 MiB\n";
	return r->left > REQUEST_BODY_LIMIT ? 413 : 0;
}

int
request_check(struct request *r, const struct request_rules *rules,
              const char **why)
{
	const char *host = r->field[FIELD_HOST];
	const char *origin = r->field[FIELD_ORIGIN];
	bool preflight;

	*why = "Host must be localhost\n";
	if (rules->loopback && host != NULL && !is_loopback(host))
		return 403;
	*why = "Origin is not allowed here; see --allow-origin\n";
	if (origin != NULL && !is_allowed(origin, rules))
		return 403;
	r->cors = origin != NULL;
	if (strcmp(r->path, "/mcp") != 0)
		return 0;
	preflight = r->cors && strcmp(r->verb, "OPTIONS") == 0 &&
	    r->field[FIELD_PREFLIGHT] != NULL;
	*why = "Authorization: Bearer TOKEN is missing or wrong\n";
	if (!preflight && !shows(r, rules->token))
		return 401;
	return strcmp(r->verb, "POST") == 0 ? check_post(r, why) : 0;
}

/* -- Responses --------------------------------------------------------- */

static void
put_hex(struct buf *b, size_t n)
{
	char digits[2 * sizeof(n)];
	size_t i = sizeof(digits);

	do
		digits[--i] = "0123456789abcdef"[n & 15];
	while ((n >>= 4) > 0);
	buf_put(b, digits + i, sizeof(digits) - i);
}

static void
put_header(struct buf *b, const char *name, const char *value)
{
	buf_puts(b, name);
	buf_puts(b, ": ");
	buf_puts(b, value);
	buf_puts(b, "\r\n");
}

/* All but what is said of the body's length */
static void
put_head(struct buf *b, const struct request *r, int status, const char *type)
{
	bool options = r->verb != NULL && strcmp(r->verb, "OPTIONS") == 0;

	buf_puts(b, "HTTP/1.1 ");
	buf_int(b, status);
	buf_puts(b, " \r\n");  /* a phrase for it may be left out */
	if (type != NULL)
		put_header(b, "Content-Type", type);
	if (status == 401)
		put_header(b, "WWW-Authenticate", "Bearer");
	if (status == 405 || (status == 204 && options))
		put_header(b, "Allow", strcmp(r->path, "/mcp") == 0
		    ? "POST, DELETE, OPTIONS" : "GET, HEAD");
	if (r->cors) {
		put_header(b, "Access-Control-Allow-Origin",
		    r->field[FIELD_ORIGIN]);
		put_header(b, "Vary", "Origin");
		put_header(b, "Access-Control-Expose-Headers",
		    "Mcp-Session-Id, WWW-Authenticate");
	}
	if (r->cors && options) {
		put_header(b, "Access-Control-Allow-Methods",
		    "GET, POST, DELETE");
		put_header(b, "Access-Control-Allow-Headers", "Authorization, "
		    "Content-Type, Accept, Mcp-Session-Id, "
		    "MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
		    "Last-Event-ID");
		put_header(b, "Access-Control-Max-Age", "86400");
	}
	if (r->session_id != NULL)
		put_header(b, "Mcp-Session-Id", r->session_id);
	if (r->last)
		put_header(b, "Connection", "close");
}

void
response_put(struct buf *b, const struct request *r, int status,
             const char *type, const char *body, size_t len)
{
	put_head(b, r, status, len > 0 ? type : NULL);
	if (status != 204) {
		buf_puts(b, "Content-Length: ");
		buf_int(b, (int64_t)len);
		buf_puts(b, "\r\n");
	}
	buf_puts(b, "\r\n");
	if (r->verb == NULL || strcmp(r->verb, "HEAD") != 0)
		buf_put(b, body, len);
}

void
response_continue(struct buf *b)
{
	buf_puts(b, "HTTP/1.1 100 Continue\r\n\r\n");
}

void
stream_begin(struct buf *b, const struct request *r)
{
	put_head(b, r, 200, "text/event-stream");
	put_header(b, "Cache-Control", "no-cache");
	put_header(b, "X-Accel-Buffering", "no");
	if (!r->http10)
		put_header(b, "Transfer-Encoding", "chunked");
	buf_puts(b, "\r\n");
}

static void
put_chunk(struct buf *b, const struct request *r, const char *before,
          const char *bytes, size_t n, const char *after)
{
	if (!r->http10) {
		put_hex(b, strlen(before) + n + strlen(after));
		buf_puts(b, "\r\n");
	}
	buf_puts(b, before);
	buf_put(b, bytes, n);
	buf_puts(b, after);
	if (!r->http10)
		buf_puts(b, "\r\n");
}

void
stream_event(struct buf *b, const struct request *r, const struct buf *message)
{
	put_chunk(b, r, "event: message\ndata: ", message->data, message->len,
	    "\n\n");
	if (message->failed)
		b->failed = true;
}

void
stream_comment(struct buf *b, const struct request *r)
{
	put_chunk(b, r, ":", NULL, 0, "\n\n");
}

void
stream_end(struct buf *b, const struct request *r)
{
	if (!r->http10)
		buf_puts(b, "0\r\n\r\n");
}
