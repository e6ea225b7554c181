/* Needs nothing of the system but C99 and strcasecmp(). */
#define _POSIX_C_SOURCE 200809L

#include "httpmsg.h"

#include <string.h>
#include <strings.h>

enum {
	/* Headers that are lists, and may come in parts */
	LIST_ACCEPT = FIELDS, LIST_CONNECTION, ALL_FIELDS,

	GOES_ON = -1  /* not returned by request_take() */
};

static const char *const field_names[ALL_FIELDS] = {
	"Host", "Origin", "Authorization", "Content-Type", "Content-Length",
	"Transfer-Encoding", "Expect", "Access-Control-Request-Method",
	"Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name",
	"Accept", "Connection"
};

/* -- Words ------------------------------------------------------------- */

static bool
is_token(const char *s)
{
	size_t n = strspn(s, "!#$%&'*+-.^_`|~0123456789"
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return n > 0 && s[n] == '\0';
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

/* -- The head: 0, or the status of what is wrong ------------------------ */

/* GET /path HTTP/1.1 */
static int
parse_request_line(struct request *r, char *line)
{
	char *path = strchr(line, ' '), *version;

	if (path == NULL || (version = strchr(path + 1, ' ')) == NULL)
		return 400;
	*path++ = '\0';
	*version++ = '\0';
	if (!is_token(line) || *path == '\0' || strchr(path, '\t') != NULL ||
	    strncmp(version, "HTTP/", 5) != 0 ||
	    hex_digit(version[5]) > 9 || version[6] != '.' ||
	    hex_digit(version[7]) > 9 || version[8] != '\0')
		return 400;
	if (version[5] != '1')
		return 505;
	r->http10 = r->last = version[7] == '0';
	r->verb = line;
	r->path = path;
	path[strcspn(path, "?#")] = '\0';
	return 0;
}

/* Name: value. What another reader could take otherwise is refused (H8). */
static int
parse_field(struct request *r, char *line)
{
	char *value = strchr(line, ':'), *end;
	bool any;
	int i;

	if (value == NULL)
		return 400;
	*value++ = '\0';
	if (!is_token(line))
		return 400;
	value += strspn(value, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	for (i = 0; i < ALL_FIELDS &&
	    strcasecmp(line, field_names[i]) != 0; i++)
		;
	if (i == LIST_CONNECTION) {
		r->last |= field_lists(value, "close");
	} else if (i == LIST_ACCEPT) {
		any = field_lists(value, "*/*");
		r->accepts_given = true;
		r->accepts_json |= any || field_lists(value, "application/*") ||
		    field_lists(value, "application/json");
		r->accepts_stream |= any || field_lists(value, "text/*") ||
		    field_lists(value, "text/event-stream");
	} else if (i < FIELDS) {
		if (r->field[i] != NULL)
			return 400;
		r->field[i] = value;
	}
	return 0;
}

/* The host of http://host/path replaces the header's (RFC 9112, 3.2.2). */
static void
split_target(struct request *r)
{
	size_t n;

	if (strncasecmp(r->path, "http://", 7) != 0)
		return;
	n = strcspn(r->path + 7, "/");
	memmove(r->path, r->path + 7, n);
	r->path[n] = '\0';
	r->field[FIELD_HOST] = r->path;
	r->path += 7 + n;
}

/* The lines in r->head, each with a NUL behind it */
static int
parse_head(struct request *r)
{
	char *line = r->head.data, *end = line + r->head.len, *next;
	const char *length, *coding;
	int wrong = 0;

	for (; line < end && wrong == 0; line = next) {
		next = line + strlen(line) + 1;
		wrong = line == r->head.data ? parse_request_line(r, line)
		    : parse_field(r, line);
	}
	if (wrong != 0)
		return wrong;
	if (r->field[FIELD_HOST] == NULL && !r->http10)
		return 400;
	split_target(r);
	/* Smuggling takes two opinions about the body's length (H8). */
	length = r->field[FIELD_CONTENT_LENGTH];
	coding = r->field[FIELD_TRANSFER_ENCODING];
	if (coding != NULL && (length != NULL || r->http10))
		return 400;
	if (coding != NULL && strcasecmp(coding, "chunked") != 0)
		return 501;
	if (length != NULL) {
		r->left = digits_value(length, 10, &length);
		if (r->left < 0 || *length != '\0')
			return 400;
	}
	r->state = coding != NULL ? REQUEST_SIZE
	    : r->left > 0 ? REQUEST_BODY : REQUEST_WHOLE;
	return 0;
}

/* -- The request, as it comes ------------------------------------------- */

static int
use_line(struct request *r, const char *line)
{
	bool empty = *line == '\0';
	int wrong;

	switch (r->state) {
	case REQUEST_HEAD:
		if (empty && r->head.len > 0) {
			wrong = parse_head(r);
			return wrong != 0 ? wrong : REQUEST_ASKS;
		}
		/* Empty lines before it are ignored (RFC 9112, 2.2). */
		if (!empty)
			buf_put(&r->head, line, strlen(line) + 1);
		return r->head.failed ? 503 : GOES_ON;
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
take_line(struct request *r, struct buf *in)
{
	char *line = in->data, *c;
	char *end = in->len > 0 ? memchr(line, '\n', in->len) : NULL;
	size_t n = end != NULL ? (size_t)(end + 1 - line) : in->len;
	size_t before = r->state == REQUEST_HEAD ? r->head_taken : 0;
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
	r->head_taken += n;
	event = use_line(r, line);
	buf_drop(in, n);
	return event;
}

/* Bytes of the body, or of a chunk of it */
static int
take_bytes(struct request *r, struct buf *in)
{
	size_t n = (int64_t)in->len > r->left ? (size_t)r->left : in->len;

	if (!r->dropped && r->body.len + n > REQUEST_BODY_LIMIT) {
		request_drop(r);
		return 413;
	}
	if (!r->dropped)
		buf_put(&r->body, in->data, n);
	buf_drop(in, n);
	r->left -= (int64_t)n;
	r->taken += (int64_t)n;
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
		    : take_line(r, in);
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

/* -- Responses --------------------------------------------------------- */

void
response_put(struct buf *b, const struct request *r,
             const struct response *response)
{
	/* The reason phrase may be empty. */
	buf_number(b, "HTTP/1.1 ", response->status, " \r\n");
	if (response->len > 0)
		buf_add(b, "Content-Type: ", response->type, "\r\n");
	buf_put(b, response->headers->data, response->headers->len);
	b->failed |= response->headers->failed;
	if (response->last)
		buf_puts(b, "Connection: close\r\n");
	if (response->body == NULL) {
		buf_puts(b, "Content-Type: text/event-stream\r\n"
		    "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n");
		if (!r->http10)
			buf_puts(b, "Transfer-Encoding: chunked\r\n");
	} else if (response->status != 204) {
		buf_number(b, "Content-Length: ", (int64_t)response->len,
		    "\r\n");
	}
	buf_puts(b, "\r\n");
	if (r->verb == NULL || strcmp(r->verb, "HEAD") != 0)
		buf_put(b, response->body, response->len);
}

static void
put_hex(struct buf *b, size_t n)
{
	if (n > 15)
		put_hex(b, n >> 4);
	buf_putc(b, "0123456789abcdef"[n & 15]);
}

void
stream_event(struct buf *b, const struct request *r, const struct buf *message)
{
	const char *before = message != NULL ? "event: message\ndata: " : ":";
	size_t len = message != NULL ? message->len : 0;

	if (!r->http10) {
		put_hex(b, strlen(before) + len + 2);
		buf_puts(b, "\r\n");
	}
	buf_puts(b, before);
	if (message != NULL)
		buf_put(b, message->data, len);
	buf_puts(b, r->http10 ? "\n\n" : "\n\n\r\n");
	b->failed |= message != NULL && message->failed;
}

void
stream_end(struct buf *b, const struct request *r)
{
	buf_puts(b, r->http10 ? "" : "0\r\n\r\n");
}
