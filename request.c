/* Needs nothing of the system but C99 and strcasecmp(). */
#define _POSIX_C_SOURCE 200809L

#include "request.h"

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

bool
request_lists(const char *list, const char *word)
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
	r->old = version[7] == '0';
	r->last = r->old;
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
		if (request_lists(value, "close"))
			r->last = true;
		else if (r->old && request_lists(value, "keep-alive"))
			r->last = false;
		return;
	}
	r->takes_given = true;
	if (request_lists(value, "*/*"))
		r->takes_json = r->takes_stream = true;
	if (request_lists(value, "application/json") ||
	    request_lists(value, "application/*"))
		r->takes_json = true;
	if (request_lists(value, "text/event-stream") ||
	    request_lists(value, "text/*"))
		r->takes_stream = true;
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
		if (length != NULL || r->old)
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
	if (host == NULL && !r->old)
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

	while (in->len >= 2 && memcmp(in->data, "\r\n", 2) == 0) {
		buf_drop(in, 2);  /* RFC 9112, 2.2 */
		r->looked = 0;
	}
	r->begun = in->len > 0;
	if (!r->begun)
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
	size_t n = find_end(r, in, true, &bad), i;

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
	if (i == 0 || strchr("; \t\r", p[i]) == NULL ||
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
