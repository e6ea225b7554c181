/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "transport/httpmsg.h"

#include <string.h>
#include <strings.h>

#include "base/fmt.h"
#include "base/text.h"

enum { CONTINUES = -1 };  /* result of read_line() and read_bytes() that makes
                           * request_read() parse more of the input */

/* The part of the input that has not been parsed yet */
struct unparsed {
	char *bytes;
	size_t len;
};

static const char *const field_names[FIELDS] = {
	[FIELD_HOST] = "Host",
	[FIELD_ORIGIN] = "Origin",
	[FIELD_AUTHORIZATION] = "Authorization",
	[FIELD_CONTENT_TYPE] = "Content-Type",
	[FIELD_CONTENT_LENGTH] = "Content-Length",
	[FIELD_TRANSFER_ENCODING] = "Transfer-Encoding",
	[FIELD_EXPECT] = "Expect",
	[FIELD_PREFLIGHT] = "Access-Control-Request-Method",
	[FIELD_MCP_SESSION] = "Mcp-Session-Id",
	[FIELD_MCP_VERSION] = "MCP-Protocol-Version",
	[FIELD_MCP_METHOD] = "Mcp-Method",
	[FIELD_MCP_NAME] = "Mcp-Name"
};

/* If s starts with an HTTP token (RFC 9110, 5.6.2) that is followed by the
 * character c, replaces c with a NUL and returns a pointer to the text after
 * the NUL. Otherwise returns NULL. */
static char *
end_token(char *s, char c)
{
	size_t n = strspn(s, "!#$%&'*+-.^_`|~0123456789"
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	if (n == 0 || s[n] != c)
		return NULL;
	s[n] = '\0';
	return s + n + 1;
}

bool
field_lists(const char *list, const char *word)
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

/* -- Reading a request ------------------------------------------------- */

/* Parses the HTTP version at the end of a request line. Returns false unless
 * the version is HTTP/1.0 to HTTP/1.9. */
static bool
parse_version(struct request *r, const char *version)
{
	int minor;

	if (strncmp(version, "HTTP/1.", 7) != 0)
		return false;
	minor = hex_digit(version[7]);
	if (minor > 9 || version[8] != '\0')
		return false;
	if (minor == 0) {
		r->http10 = true;
		r->last = true;
	}
	return true;
}

/* Parses a request line such as "GET /path HTTP/1.1". Must be called after the
 * headers have been parsed, because the request line can override the Host
 * header. Returns false if the line is malformed or a required Host header is
 * missing. */
static bool
parse_request_line(struct request *r, char *line)
{
	char *path = end_token(line, ' '), *version;
	size_t n;

	if (path == NULL)
		return false;
	version = strchr(path, ' ');
	if (version == NULL || version == path)
		return false;
	*version++ = '\0';
	if (strchr(path, '\t') != NULL || !parse_version(r, version))
		return false;
	if (r->field[FIELD_HOST] == NULL && !r->http10)
		return false;
	/* The host in an absolute-form request target overrides the Host header
	 * (RFC 9112, 3.2.2). */
	if (strncasecmp(path, "http://", 7) == 0) {
		n = strcspn(path + 7, "/?#");
		r->field[FIELD_HOST] = memmove(path, path + 7, n);
		path[n] = '\0';
		path += 7 + n;
	}
	r->verb = line;
	r->path = path;
	path[strcspn(path, "?#")] = '\0';
	return true;
}

static void
parse_accept(struct request *r, const char *value)
{
	/* The string is split so that tools do not mistake it for the end of a
	 * C comment. */
	bool all = field_lists(value, "*/" "*");

	r->has_accept = true;
	if (all || field_lists(value, "application/" "*") ||
	    field_lists(value, "application/json"))
		r->accepts_json = true;
	if (all || field_lists(value, "text/" "*") ||
	    field_lists(value, "text/event-stream"))
		r->accepts_events = true;
}

/* Parses a header such as "Name: value". Returns false if the header is
 * malformed, or if it is listed in `field_names` and has occurred before. In
 * the latter case, boris and a proxy could use different values, which would
 * allow request smuggling (H8). */
static bool
parse_field(struct request *r, char *line)
{
	char *value = end_token(line, ':'), *end;
	int i;

	if (value == NULL)
		return false;
	value += strspn(value, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	/* Connection and Accept contain lists, which a client may spread over
	 * several header lines. */
	if (strcasecmp(line, "Connection") == 0 && field_lists(value, "close"))
		r->last = true;
	if (strcasecmp(line, "Accept") == 0)
		parse_accept(r, value);
	for (i = 0; i < FIELDS; i++) {
		if (strcasecmp(line, field_names[i]) != 0)
			continue;
		if (r->field[i] != NULL)
			return false;
		r->field[i] = value;
	}
	return true;
}

/* Determines the length and the encoding of the body from the headers. Returns
 * false if a proxy could interpret the headers differently (H8). */
static bool
parse_body_length(struct request *r)
{
	const char *length = r->field[FIELD_CONTENT_LENGTH];
	const char *coding = r->field[FIELD_TRANSFER_ENCODING];

	if (coding != NULL) {
		if (length != NULL || r->http10 ||
		    strcasecmp(coding, "chunked") != 0)
			return false;
		r->state = REQUEST_SIZE;
		return true;
	}
	if (length != NULL) {
		r->left = digits_value(length, 10, &length);
		if (r->left < 0 || *length != '\0')
			return false;
	}
	r->state = r->left > 0 ? REQUEST_BODY : REQUEST_DONE;
	return true;
}

/* Parses the request line and the headers in r->head. In each line, read_line()
 * has replaced the CR before the LF with a NUL. Returns REQUEST_HAS_HEAD, or
 * 400 if the request is malformed. */
static int
parse_head(struct request *r)
{
	char *first = r->head.data, *line = first + strlen(first) + 2, *next;
	const char *expect;

	for (; line < first + r->head.len; line = next) {
		next = line + strlen(line) + 2;
		if (!parse_field(r, line))
			return 400;
	}
	if (!parse_request_line(r, first))
		return 400;
	/* Ignore Expect in HTTP/1.0 requests, and any expectation other than
	 * 100-continue (RFC 9110, 10.1.1). */
	expect = r->field[FIELD_EXPECT];
	if (expect != NULL && (r->http10 ||
	    !field_lists(expect, "100-continue")))
		r->field[FIELD_EXPECT] = NULL;
	return parse_body_length(r) ? REQUEST_HAS_HEAD : 400;
}

/* Parses a chunk-size line, ignoring any chunk extensions. Returns false if the
 * line is malformed. */
static bool
parse_chunk_size(struct request *r, const char *line)
{
	r->left = digits_value(line, 16, &line);
	line += strspn(line, " \t");
	if (r->left < 0 || (*line != '\0' && *line != ';'))
		return false;
	r->state = r->left > 0 ? REQUEST_BODY : REQUEST_TRAILER;
	return true;
}

/* Handles a line whose CR has been replaced with a NUL. n is the line's size in
 * bytes, including the NUL and the LF. Returns the value that request_read()
 * must return, or CONTINUES if more must be parsed first. */
static int
handle_line(struct request *r, const char *line, size_t n)
{
	bool empty = *line == '\0';

	switch (r->state) {
	case REQUEST_HEAD:
		if (empty && r->head.len > 0)
			return parse_head(r);
		/* Ignore empty lines before the request line (RFC 9112,
		 * 2.2). */
		if (empty)
			return CONTINUES;
		if (!buf_reserve(&r->head, n))
			return 503;
		buf_put(&r->head, line, n);
		return CONTINUES;
	case REQUEST_SIZE:
		return parse_chunk_size(r, line) ? CONTINUES : 400;
	case REQUEST_CHUNK_END:
		r->state = REQUEST_SIZE;
		return empty ? CONTINUES : 400;
	default:
		/* Ignore the trailers. */
		if (empty)
			r->state = REQUEST_DONE;
		return CONTINUES;
	}
}

/* Returns whether the text contains a control character other than a tab. */
static bool
has_control(const char *text, const char *end)
{
	for (; text < end; text++) {
		if ((unsigned char)*text < ' ' && *text != '\t')
			return true;
		if (*text == 127)
			return true;
	}
	return false;
}

/* Skips the first n bytes of the input, which have been parsed. */
static void
skip(struct unparsed *in, size_t n)
{
	in->bytes += n;
	in->len -= n;
}

/* Reads and handles the next line, which must end with CR LF. Returns the value
 * that request_read() must return, or CONTINUES if more must be parsed
 * first. */
static int
read_line(struct request *r, struct unparsed *in)
{
	char *line = in->bytes;
	char *end = in->len > 0 ? memchr(line, '\n', in->len) : NULL;
	size_t n = end != NULL ? (size_t)(end + 1 - line) : in->len;
	size_t before = r->state == REQUEST_HEAD ? r->head.len : 0;

	/* The time limit for the headers starts running at the first byte of a
	 * request, even if that byte belongs to an empty line (H8). */
	if (n > 0)
		r->started = true;
	if (before + n > REQUEST_HEAD_LIMIT)
		return 431;
	if (end == NULL)
		return REQUEST_NEEDS_INPUT;
	if (n < 2 || end[-1] != '\r')
		return 400;
	end--;
	if (has_control(line, end))
		return 400;
	*end = '\0';
	skip(in, n);
	return handle_line(r, line, n);
}

/* Reads bytes of a request's body, or of one chunk of it. Returns the value
 * that request_read() must return, or CONTINUES if more must be parsed
 * first. */
static int
read_bytes(struct request *r, struct unparsed *in)
{
	size_t n = (int64_t)in->len > r->left ? (size_t)r->left : in->len;

	if (n == 0)
		return REQUEST_NEEDS_INPUT;
	if (!r->dropped) {
		if (r->body.len + n > REQUEST_BODY_LIMIT)
			return 413;
		if (!buf_reserve(&r->body, n))
			return 503;
		buf_put(&r->body, in->bytes, n);
	}
	skip(in, n);
	r->left -= (int64_t)n;
	if (r->left > 0)
		return REQUEST_NEEDS_INPUT;
	r->state = r->field[FIELD_TRANSFER_ENCODING] == NULL ? REQUEST_DONE
	    : REQUEST_CHUNK_END;
	return CONTINUES;
}

int
request_read(struct request *r, struct buf *input)
{
	struct unparsed in = { input->data, input->len };
	int event = CONTINUES;
	size_t parsed;

	while (event == CONTINUES) {
		if (r->state == REQUEST_DONE)
			event = REQUEST_COMPLETE;
		else if (r->state == REQUEST_BODY)
			event = read_bytes(r, &in);
		else
			event = read_line(r, &in);
	}
	/* Remove all parsed bytes at once. Removing each line and each chunk
	 * separately would move the rest of the input every time, which takes
	 * quadratic time (Q6). */
	parsed = input->len - in.len;
	buf_drop(input, parsed);
	if (r->dropped)
		r->discarded += parsed;
	if (r->discarded > REQUEST_DROP_LIMIT)
		return 413;
	return event;
}

bool
request_can_drop(const struct request *r)
{
	return r->state == REQUEST_BODY && !r->dropped;
}

void
request_drop(struct request *r)
{
	buf_free(&r->body);
	r->dropped = true;
}

void
request_free(struct request *r)
{
	buf_free(&r->head);
	buf_free(&r->body);
	memset(r, 0, sizeof(*r));
}

/* -- Writing a response ------------------------------------------------ */

void
hex_put(struct buf *b, size_t n)
{
	if (n > 15)
		hex_put(b, n / 16);
	buf_putc(b, "0123456789abcdef"[n % 16]);
}

/* Appends the status line. If the connection is to be closed after the
 * response, also appends a Connection header. */
static void
put_status(struct buf *b, struct request *r, int status)
{
	/* A client that has sent "Expect: 100-continue" may or may not send its
	 * body after this response, so the start of the next request cannot be
	 * found. */
	if (r->state != REQUEST_DONE && r->field[FIELD_EXPECT] != NULL)
		r->last = true;
	/* HTTP allows an empty reason phrase. */
	buf_fmt(b, "HTTP/1.1 %d \r\n", status);
	if (r->last)
		buf_add(b, "Connection: close\r\n");
}

void
response_begin(struct buf *b, struct request *r, int status, const char *type,
               size_t len)
{
	put_status(b, r, status);
	if (len > 0)
		buf_fmt(b, "Content-Type: %s\r\n", type);
	if (status != 204)
		buf_fmt(b, "Content-Length: %zu\r\n", len);
}

/* HTTP/1.0 does not support chunked encoding, so closing the connection marks
 * the end of the stream. */
void
stream_begin(struct buf *b, struct request *r)
{
	put_status(b, r, 200);
	buf_add(b, "Content-Type: text/event-stream\r\n"
	    "Cache-Control: no-cache\r\n"
	    "X-Accel-Buffering: no\r\n");
	if (!r->http10)
		buf_add(b, "Transfer-Encoding: chunked\r\n");
}

/* Appends an event or a comment to the event stream. The event or comment
 * consists of the texts `start` and `rest` and an empty line. In HTTP/1.1, it
 * is sent as one chunk. */
static void
put_chunk(struct buf *b, const struct request *r, const char *start,
          const char *rest, size_t rest_length)
{
	static const char end[] = "\n\n";

	if (!r->http10) {
		hex_put(b, strlen(start) + rest_length + strlen(end));
		buf_add(b, "\r\n");
	}
	buf_add(b, start);
	buf_put(b, rest, rest_length);
	buf_add(b, end);
	if (!r->http10)
		buf_add(b, "\r\n");
}

void
stream_event(struct buf *b, const struct request *r, const struct buf *message)
{
	put_chunk(b, r, "event: message\ndata: ", message->data, message->len);
}

void
stream_comment(struct buf *b, const struct request *r)
{
	put_chunk(b, r, ":", "", 0);
}

void
stream_end(struct buf *b, const struct request *r)
{
	if (!r->http10)
		buf_add(b, "0\r\n\r\n");
}
