/* HTTP/1.1 as text, without a system call: a request read, a response written.
 * Sockets are connection.c's; http.c has the map of HTTP. */
#define _POSIX_C_SOURCE 200809L

#include "transport/httpmsg.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { GOES_ON = -1 };  /* not returned by request_take() */

static const char *const field_names[FIELDS] = {
	"Host", "Origin", "Authorization", "Content-Type", "Content-Length",
	"Transfer-Encoding", "Expect", "Access-Control-Request-Method",
	"Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
};

/* Ends the token at the start of s, which c must follow, with a NUL. Returns
 * what is behind c, or NULL. */
static char *
behind_word(char *s, char c)
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

/* GET /path HTTP/1.1, once the fields are known. False: it is none. */
static bool
parse_request_line(struct request *r, char *line)
{
	char *path = behind_word(line, ' ');
	char *version = path != NULL ? strchr(path, ' ') : NULL;
	size_t n;

	if (version == NULL || version == path)
		return false;
	*version++ = '\0';
	if (strchr(path, '\t') != NULL ||
	    strncmp(version, "HTTP/1.", 7) != 0 ||
	    hex_digit(version[7]) > 9 || version[8] != '\0')
		return false;
	r->http10 = version[7] == '0';
	r->last |= r->http10;
	if (r->field[FIELD_HOST] == NULL && !r->http10)
		return false;
	/* The host of a whole URL takes its place (RFC 9112, 3.2.2). */
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

/* Name: value. False: it is none, or is there twice: what another reader could
 * take otherwise is refused (H8). */
static bool
parse_field(struct request *r, char *line)
{
	char *value = behind_word(line, ':'), *end;
	int i;

	if (value == NULL)
		return false;
	value += strspn(value, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	/* These two are lists, and may come in parts. */
	r->last |= strcasecmp(line, "Connection") == 0 &&
	    field_lists(value, "close");
	if (strcasecmp(line, "Accept") == 0) {
		r->accepts = true;
		r->takes_json |= field_lists(value, "*/*") ||
		    field_lists(value, "application/*") ||
		    field_lists(value, "application/json");
		r->takes_events |= field_lists(value, "*/*") ||
		    field_lists(value, "text/*") ||
		    field_lists(value, "text/event-stream");
	}
	for (i = 0; i < FIELDS; i++) {
		if (strcasecmp(line, field_names[i]) != 0)
			continue;
		if (r->field[i] != NULL)
			return false;
		r->field[i] = value;
	}
	return true;
}

/* The lines in r->head, each with a NUL and a LF behind it. REQUEST_ASKS:
 * nothing is wrong. */
static int
parse_head(struct request *r)
{
	char *first = r->head.data, *line = first + strlen(first) + 2, *next;
	const char *length, *coding, *expect;

	for (; line < first + r->head.len; line = next) {
		next = line + strlen(line) + 2;
		if (!parse_field(r, line))
			return 400;
	}
	if (!parse_request_line(r, first))
		return 400;
	/* HTTP/1.0 has no such expectation, and no other one is known (RFC
	 * 9110, 10.1.1). */
	expect = r->field[FIELD_EXPECT];
	if (expect != NULL && (r->http10 ||
	    !field_lists(expect, "100-continue")))
		r->field[FIELD_EXPECT] = NULL;
	/* Smuggling takes two opinions about the body's length (H8). */
	length = r->field[FIELD_CONTENT_LENGTH];
	coding = r->field[FIELD_TRANSFER_ENCODING];
	if (coding != NULL && (length != NULL || r->http10 ||
	    strcasecmp(coding, "chunked") != 0))
		return 400;
	if (length != NULL) {
		r->left = digits_value(length, 10, &length);
		if (r->left < 0 || *length != '\0')
			return 400;
	}
	r->state = coding != NULL ? REQUEST_SIZE
	    : r->left > 0 ? REQUEST_BODY : REQUEST_WHOLE;
	return REQUEST_ASKS;
}

/* n: its bytes, with what ends it */
static int
use_line(struct request *r, const char *line, size_t n)
{
	bool empty = *line == '\0';

	switch (r->state) {
	case REQUEST_HEAD:
		/* Empty lines before it are ignored (RFC 9112, 2.2). */
		if (empty)
			return r->head.len > 0 ? parse_head(r) : GOES_ON;
		if (!buf_reserve(&r->head, n))
			return 503;
		buf_put(&r->head, line, n);
		return GOES_ON;
	case REQUEST_SIZE:
		r->left = digits_value(line, 16, &line);
		line += strspn(line, " \t");
		if (r->left < 0 || (*line != '\0' && *line != ';'))
			return 400;
		r->state = r->left > 0 ? REQUEST_BODY : REQUEST_TRAILER;
		return GOES_ON;
	case REQUEST_CHUNK_END:
		r->state = REQUEST_SIZE;
		return empty ? GOES_ON : 400;
	default:
		/* Trailers are ignored. */
		if (empty)
			r->state = REQUEST_WHOLE;
		return GOES_ON;
	}
}

/* A line ends with CR LF, and holds no other control characters but tabs. */
static int
take_http_line(struct request *r, struct buf *in)
{
	char *line = in->data, *c;
	char *end = in->len > 0 ? memchr(line, '\n', in->len) : NULL;
	size_t n = end != NULL ? (size_t)(end + 1 - line) : in->len;
	size_t before = r->state == REQUEST_HEAD ? r->head.len : 0;
	int event;

	/* Its time runs from the first byte, an empty line's too (H8). */
	r->begun |= n > 0;
	if (before + n > REQUEST_HEAD_LIMIT)
		return 431;
	if (end == NULL)
		return REQUEST_WAITS;
	if (n < 2 || *--end != '\r')
		return 400;
	for (c = line; c < end; c++) {
		if (((unsigned char)*c < ' ' && *c != '\t') || *c == 127)
			return 400;
	}
	*end = '\0';
	event = use_line(r, line, n);
	buf_drop(in, n);
	return event;
}

/* Bytes of the body, or of a chunk of it */
static int
take_bytes(struct request *r, struct buf *in)
{
	size_t n = (int64_t)in->len > r->left ? (size_t)r->left : in->len;

	if (!r->dropped) {
		if (r->body.len + n > REQUEST_BODY_LIMIT)
			return 413;
		if (!buf_reserve(&r->body, n))
			return 503;
		buf_put(&r->body, in->data, n);
	}
	buf_drop(in, n);
	r->left -= (int64_t)n;
	if (r->left > 0)
		return REQUEST_WAITS;
	r->state = r->field[FIELD_TRANSFER_ENCODING] == NULL ? REQUEST_WHOLE
	    : REQUEST_CHUNK_END;
	return GOES_ON;
}

int
request_take(struct request *r, struct buf *in)
{
	int event = GOES_ON;

	while (event == GOES_ON && r->state != REQUEST_WHOLE)
		event = r->state == REQUEST_BODY ? take_bytes(r, in)
		    : take_http_line(r, in);
	return event == GOES_ON ? REQUEST_ENDS : event;
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

void
hex_put(struct buf *b, size_t n)
{
	if (n > 15)
		hex_put(b, n / 16);
	buf_putc(b, "0123456789abcdef"[n % 16]);
}

void
response_begin(struct buf *b, struct request *r, int status, const char *type,
               int64_t len)
{
	/* A peer that expects "100 Continue" may send its body or not: nobody
	 * knows what comes behind the request. */
	r->last |= r->state != REQUEST_WHOLE && r->field[FIELD_EXPECT] != NULL;
	/* The reason phrase may be empty. */
	buf_add(b, "HTTP/1.1 ", NUM(status), " \r\n",
	    r->last ? "Connection: close\r\n" : "");
	if (len != 0)
		buf_add(b, "Content-Type: ", type, "\r\n");
	if (len < 0)
		buf_add(b, "Cache-Control: no-cache\r\n"
		    "X-Accel-Buffering: no\r\n",
		    r->http10 ? "" : "Transfer-Encoding: chunked\r\n");
	else if (status != 204)
		buf_add(b, "Content-Length: ", NUM(len), "\r\n");
}

/* HTTP/1.0 has no chunks: there a stream ends with the connection. */
void
stream_event(struct buf *b, const struct request *r, const struct buf *message)
{
	const char *before = message != NULL ? "event: message\ndata: " : ":";
	size_t len = message != NULL ? message->len : 0;

	if (!r->http10) {
		hex_put(b, strlen(before) + len + 2);
		buf_add(b, "\r\n");
	}
	buf_add(b, before);
	if (message != NULL)
		buf_put(b, message->data, len);
	buf_add(b, r->http10 ? "\n\n" : "\n\n\r\n");
}
