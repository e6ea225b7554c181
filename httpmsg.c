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

/* The string in Base64, with its padding */
static void
put_base64(struct buf *b, struct json string)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
	    "nopqrstuvwxyz0123456789+/";
	struct buf text = { NULL, 0, 0, false };
	unsigned long bits;
	size_t i, j;

	json_decode(string, &text);
	for (i = 0; i < text.len; i += 3) {
		bits = 0;
		for (j = i; j < i + 3; j++)
			bits = bits << 8 |
			    (j < text.len ? text.data[j] & 255u : 0);
		for (j = 0; j < 4; j++)
			buf_putc(b, i + j > text.len ? '='
			    : digits[bits >> (18 - 6 * j) & 63]);
	}
	b->failed = b->failed || text.failed;
	buf_free(&text);
}

bool
header_says(const char *value, struct json string)
{
	static const char before[] = "=?base64?";
	struct buf b = { NULL, 0, 0, false };
	bool same;

	if (value == NULL)
		return false;
	if (strncmp(value, before, strlen(before)) == 0) {
		buf_puts(&b, before);
		put_base64(&b, string);
		buf_puts(&b, "?=");
	} else {
		json_decode(string, &b);
	}
	buf_putc(&b, '\0');
	same = !b.failed && strlen(value) == b.len - 1 &&
	    memcmp(value, b.data, b.len) == 0;
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

/* Name: value. What another reader could take for two headers, or for none, is
 * refused (H8). */
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
		r->last |= lists(value, "close");
	} else if (i == LIST_ACCEPT) {
		any = lists(value, "*/*");
		r->accepts_given = true;
		r->accepts_json |= any || lists(value, "application/*") ||
		    lists(value, "application/json");
		r->accepts_stream |= any || lists(value, "text/*") ||
		    lists(value, "text/event-stream");
	} else if (i < FIELDS) {
		if (r->field[i] != NULL)
			return 400;
		r->field[i] = value;
	}
	return 0;
}

/* A target in absolute form, http://host/path: its host replaces that of the
 * header (RFC 9112, 3.2.2). */
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

	/* Its time runs from the first byte, also if that is an empty line's
	 * (H8). */
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

	if (!r->unwanted && r->body.len + n > REQUEST_BODY_LIMIT) {
		buf_free(&r->body);
		r->unwanted = true;
		return 413;
	}
	if (!r->unwanted)
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

/* The port of an http origin, with its colon; ":80" is left out there. */
static const char *
port_of(const char *origin)
{
	const char *port = strrchr(origin, ':');

	return port > origin + 4 && strchr(port, ']') == NULL ? port : ":80";
}

static bool
is_allowed(const char *origin, const char *own, const char *given)
{
	size_t n = strlen(own) - strlen(port_of(own));

	/* This server, perhaps under another name of this machine */
	if (strncasecmp(origin, "http://", 7) == 0 &&
	    strcmp(port_of(origin), port_of(own)) == 0 &&
	    (is_loopback(origin + 7) ||
	    (strncasecmp(origin, own, n) == 0 && (origin[n] == '\0' ||
	    strcmp(origin + n, port_of(own)) == 0))))
		return true;
	while (given != NULL && *given != '\0' &&
	    strcasecmp(given, origin) != 0)
		given += strlen(given) + 1;
	return given != NULL && *given != '\0';
}

int
request_check(struct request *r, const struct request_rules *rules,
              const char *own, const char **why)
{
	const char *host = r->field[FIELD_HOST];
	const char *origin = r->field[FIELD_ORIGIN];
	const char *given = r->field[FIELD_AUTHORIZATION];
	const char *type = r->field[FIELD_CONTENT_TYPE];
	bool options = strcmp(r->verb, "OPTIONS") == 0;
	bool preflight = origin != NULL && options &&
	    r->field[FIELD_PREFLIGHT] != NULL;

	*why = "Host must be localhost\n";
	if (rules->loopback && host != NULL && !is_loopback(host))
		return 403;
	*why = "Origin is not allowed here; see --allow-origin\n";
	if (origin != NULL && !is_allowed(origin, own, rules->origins))
		return 403;
	r->cors = origin != NULL;
	*why = "GET it\n";
	if (strcmp(r->path, "/health") == 0)
		return strcmp(r->verb, "GET") == 0 ||
		    strcmp(r->verb, "HEAD") == 0 ? 0 : 405;
	*why = "there are /mcp and /health\n";
	if (strcmp(r->path, "/mcp") != 0)
		return 404;
	*why = "Authorization: Bearer TOKEN is missing or wrong\n";
	if (rules->token != NULL && !preflight &&
	    (given == NULL || strncasecmp(given, "Bearer ", 7) != 0 ||
	    !same_secret(given + 7 + strspn(given + 7, " "), rules->token)))
		return 401;
	r->let_in = !preflight;
	if (options || strcmp(r->verb, "DELETE") == 0)
		return 0;
	*why = "POST a message\n";
	if (strcmp(r->verb, "POST") != 0)
		return 405;
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

/* -- Responses --------------------------------------------------------- */

/* All but what is said of the body's length */
static void
put_head(struct buf *b, const struct request *r, int status, const char *type)
{
	bool options = r->verb != NULL && strcmp(r->verb, "OPTIONS") == 0;

	buf_puts(b, "HTTP/1.1 ");
	buf_int(b, status);
	buf_puts(b, " \r\n");  /* the reason phrase may be empty */
	if (type != NULL)
		buf_add(b, "Content-Type: ", type, "\r\n");
	if (status == 401)
		buf_puts(b, "WWW-Authenticate: Bearer\r\n");
	if (status == 405 || (status == 204 && options))
		buf_add(b, "Allow: ", strcmp(r->path, "/mcp") == 0
		    ? "POST, DELETE, OPTIONS" : "GET, HEAD", "\r\n");
	if (r->cors)
		buf_add(b, "Access-Control-Allow-Origin: ",
		    r->field[FIELD_ORIGIN], "\r\nVary: Origin\r\n"
		    "Access-Control-Expose-Headers: "
		    "Mcp-Session-Id, WWW-Authenticate\r\n");
	if (r->cors && options)
		buf_puts(b, "Access-Control-Allow-Methods: "
		    "GET, POST, DELETE\r\n"
		    "Access-Control-Allow-Headers: Authorization, "
		    "Content-Type, Accept, Mcp-Session-Id, "
		    "MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
		    "Last-Event-ID\r\n"
		    "Access-Control-Max-Age: 86400\r\n");
	if (r->session_id != NULL)
		buf_add(b, "Mcp-Session-Id: ", r->session_id, "\r\n");
	if (r->last)
		buf_puts(b, "Connection: close\r\n");
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
stream_begin(struct buf *b, const struct request *r)
{
	put_head(b, r, 200, "text/event-stream");
	buf_puts(b, "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n");
	buf_puts(b, r->http10 ? "\r\n" : "Transfer-Encoding: chunked\r\n\r\n");
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
