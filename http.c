#define _POSIX_C_SOURCE 200809L

#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proc.h"
#include "request.h"

enum {
	CONNS = 64,              /* at a time (H8) */
	LEAVERS = 64,            /* and those on their way out */
	VISITS = 64,             /* legacy sessions (H5) */
	BACKLOG_LIMIT = 4 << 20, /* bytes of commands a session has queued,
	                          * after which its calls wait (P10) */
	READ_SIZE = 16 << 10,
	SEND_SIZE = 64 << 10,    /* what the system holds for a slow reader */

	FIRST_TIME = 10000,      /* ms; for the first byte of all */
	HEAD_TIME = 10000,       /* from a request's first byte to its body */
	IDLE_TIME = 60000,       /* between requests */
	BODY_TIME = 60000,       /* without a byte of a body */
	REST_TIME = 60000,       /* for all that follows a refusal */
	WRITE_TIME = 60000,      /* without a byte being read by the peer */
	LEAVE_TIME = 2000,       /* for the peer to close after us */
	COMMENT_TIME = 15000,    /* silence on a stream (H7) */
	ACCEPT_PAUSE = 200       /* when there is no descriptor left (E7) */
};

enum {
	NOT_THE_HEADER = -32020,
	INVALID_REQUEST = -32600
};

#define JSON_TYPE "Content-Type: application/json\r\n"
#define TEXT_TYPE "Content-Type: text/plain\r\n"
#define ALLOW "Allow: POST, DELETE, OPTIONS\r\n"
#define ALLOW_HEALTH "Allow: GET, HEAD, OPTIONS\r\n"

enum conn_state {
	CONN_READING,     /* a request is to come, or on its way */
	CONN_WHOLE,       /* all is there, to be handed over */
	CONN_CALL,        /* handed over, the answer is to come */
	CONN_LEAVING,     /* answered for the last time: until the peer closes,
	                   * or what was answered could be lost */
	CONN_GONE         /* to be freed this turn */
};

struct conn {
	struct conn *next;
	int fd, place;
	enum conn_state state;
	int64_t deadline;     /* ms; what for depends on the state */
	int64_t write_by;     /* ms; when the peer must have read something */
	bool ended;           /* the peer sends no more */
	bool broken;          /* no memory for its answer */
	bool shut;            /* so do we */

	struct buf in;        /* received and not yet taken */
	struct request request;
	struct buf out;
	size_t written;       /* of it */
	size_t progress;      /* bytes at its front that are progress */

	/* Of the request, too; zeroed with its end */
	bool last;            /* the connection ends with it */
	bool answered;
	bool cors;            /* its Origin is to be told that it may */
	bool modern;
	bool waits;           /* for a place in the queue, if it is full */
	bool streaming;
	struct visit *opened; /* the session that it opens */
	struct client *client;  /* whose it is */
	struct mcp_message message;  /* of request.body */
};

struct visit {
	struct visit *next;
	struct client *client;
	char id[SESSION_ID];
	int64_t used;         /* ms; when a request was last in flight */
	bool ended;           /* nobody finds it any more */
};

struct http {
	const struct http_options *options;
	const struct mcp_options *mcp;
	struct client *anyone;    /* the modern requests' */
	struct visit *visits;
	struct conn *conns;
	struct buf origin;        /* this server's: http://ADDRESS:PORT, NUL */
	int fd, place;            /* it listens on; -1: no more */
	bool loopback;            /* only this machine can reach it */
	bool closing;
	int64_t accept_at;        /* ms; not before, after a failure (E7) */
	int64_t now;              /* ms, of this turn */
};

/* -- Words ------------------------------------------------------------- */

/* Takes as long whatever is wrong with `given` (H3). */
static bool
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

/* localhost, 127.1.2.3 or [::1], and perhaps a port */
static bool
loopback_host(const char *host)
{
	char name[24];
	size_t n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	struct in_addr v4;

	if (n >= sizeof(name))
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	if (host[0] != '[' || host[n - 1] != '\0')
		host += n;
	if (*host == ':')
		host += 1 + strspn(host + 1, "0123456789");
	if (*host != '\0')
		return false;
	return strcasecmp(name, "localhost") == 0 ||
	    strcmp(name, "[::1]") == 0 ||
	    (inet_pton(AF_INET, name, &v4) == 1 &&
	    ntohl(v4.s_addr) >> 24 == 127);
}

static bool
allowed_origin(const struct http *h, const char *origin)
{
	const char *list = h->options->origins;
	size_t n = strlen(origin), one;

	if (strncasecmp(origin, "http://", 7) == 0 &&
	    loopback_host(origin + 7))
		return true;
	if (strcasecmp(origin, h->origin.data) == 0)
		return true;
	for (; list != NULL && *list != '\0'; list += one) {
		list += strspn(list, " ");
		one = strcspn(list, " ");
		if (one > 0 && one == n && strncasecmp(list, origin, n) == 0)
			return true;
	}
	return false;
}

/* -- Answers ----------------------------------------------------------- */

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
put_status(struct buf *b, int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" },
		{ 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 403, "Forbidden" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
		{ 408, "Request Timeout" }, { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 417, "Expectation Failed" },
		{ 431, "Request Header Fields Too Large" },
		{ 501, "Not Implemented" }, { 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" }
	};
	size_t i;

	buf_puts(b, "HTTP/1.1 ");
	buf_int(b, status);
	buf_putc(b, ' ');
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].status == status)
			buf_puts(b, reasons[i].reason);
	}
	buf_puts(b, "\r\n");
}

/* The headers up to those about the body; `more` has whole lines. */
static void
put_head(struct conn *c, int status, const char *more)
{
	struct buf *b = &c->out;

	put_status(b, status);
	buf_puts(b, more);
	if (c->cors) {
		buf_puts(b, "Access-Control-Allow-Origin: ");
		buf_puts(b, c->request.field[FIELD_ORIGIN]);
		buf_puts(b, "\r\nVary: Origin\r\nAccess-Control-Expose-"
		    "Headers: Mcp-Session-Id, WWW-Authenticate\r\n");
	}
	if (c->opened != NULL && mcp_version(c->opened->client) != NULL) {
		buf_puts(b, "Mcp-Session-Id: ");
		buf_puts(b, c->opened->id);
		buf_puts(b, "\r\n");
	}
	if (c->last)
		buf_puts(b, "Connection: close\r\n");
	else if (c->request.old)
		buf_puts(b, "Connection: keep-alive\r\n");
}

static void
answer(struct conn *c, int status, const char *more, const char *body,
       size_t len)
{
	const char *verb = c->request.verb;

	put_head(c, status, more);
	if (status != 204) {
		buf_puts(&c->out, "Content-Length: ");
		buf_int(&c->out, (int64_t)len);
		buf_puts(&c->out, "\r\n");
	}
	buf_puts(&c->out, "\r\n");
	if (verb == NULL || strcmp(verb, "HEAD") != 0)
		buf_put(&c->out, body, len);
	c->answered = true;
}

static void
answer_text(struct conn *c, int status, const char *more, const char *text)
{
	struct buf b = { NULL, 0, 0, false };

	buf_puts(&b, more);
	buf_puts(&b, *text == '\0' ? "" : TEXT_TYPE);
	buf_putc(&b, '\0');
	if (b.failed)
		c->broken = true;
	else
		answer(c, status, b.data, text, strlen(text));
	buf_free(&b);
}

/* Refuses a message as JSON-RPC has it. */
static void
answer_error(struct http *h, struct conn *c, int status, int code,
             const char *message)
{
	struct buf b = { NULL, 0, 0, false };

	mcp_error(h->anyone, &b, &c->message, code, message);
	if (b.failed)
		c->broken = true;
	else
		answer(c, status, JSON_TYPE, b.data, b.len);
	buf_free(&b);
}

/* HTTP/1.0 has no chunks: there the end of the connection ends a stream. */
static void
put_event(struct conn *c, const struct buf *message)
{
	static const char before[] = "event: message\ndata: ";
	struct buf *b = &c->out;

	if (!c->request.old) {
		put_hex(b, sizeof(before) - 1 + message->len + 2);
		buf_puts(b, "\r\n");
	}
	buf_puts(b, before);
	buf_put(b, message->data, message->len);
	buf_puts(b, c->request.old ? "\n\n" : "\n\n\r\n");
}

/* So that nobody on the way takes silence for the end (H7) */
static void
put_comment(struct conn *c)
{
	buf_puts(&c->out, c->request.old ? ":\n\n" : "3\r\n:\n\n\r\n");
}

static void
begin_stream(struct http *h, struct conn *c)
{
	c->last = c->last || c->request.old;
	put_head(c, 200, "Content-Type: text/event-stream\r\n"
	    "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n");
	buf_puts(&c->out, c->request.old ? "\r\n"
	    : "Transfer-Encoding: chunked\r\n\r\n");
	c->streaming = true;
	c->deadline = h->now + COMMENT_TIME;
}

static void
end_stream(struct conn *c)
{
	if (!c->request.old)
		buf_puts(&c->out, "0\r\n\r\n");
	c->answered = true;
}

/* mcp.md 10 and 11: what a message's fate is called in HTTP */
static int
status_of(const struct conn *c, enum mcp_kind kind, int error)
{
	if (error == -32700 || error == INVALID_REQUEST)
		return 400;
	if (!c->modern || error == 0)
		return 200;
	if (error == -32601)
		return 404;
	return kind == MCP_REFUSAL ? 400 : 200;
}

/* Called from within mcp.c, so it only notes and queues; a peer without
 * memory for its answer is let go by whoever comes next. Progress enters an
 * empty queue alone, and what has not begun to be written gives way to the
 * response (mcp.md 14.9). */
static bool
http_send(void *transport, void *to, enum mcp_kind kind, int error,
          struct buf *message)
{
	struct http *h = transport;
	struct conn *c = to;

	if (c == NULL)
		return true;
	if (kind == MCP_PROGRESS && (c->out.len > 0 || !c->streaming))
		return false;
	if (kind == MCP_NOTICE && !c->streaming)
		begin_stream(h, c);
	if (!c->streaming) {
		answer(c, status_of(c, kind, error), JSON_TYPE, message->data,
		    message->len);
		return true;
	}
	if (c->progress > 0 && c->written == 0) {
		buf_drop(&c->out, c->progress);
		c->progress = 0;
	}
	put_event(c, message);
	c->deadline = h->now + COMMENT_TIME;
	if (kind == MCP_PROGRESS)
		c->progress = c->out.len;
	else if (kind != MCP_NOTICE)
		end_stream(c);
	return true;
}

/* -- Connections ------------------------------------------------------- */

/* The peer is not there any more; its call, if it is a modern one, neither
 * (H7). */
static void
lose(struct http *h, struct conn *c)
{
	if (c->state == CONN_CALL)
		mcp_forget(c->client, c, c->modern, h->now);
	c->state = CONN_GONE;
}

/* Of progress and what follows it the first alone (O7) */
static ssize_t
write_some(struct conn *c)
{
	size_t end = c->progress > c->written ? c->progress : c->out.len;

	return write(c->fd, c->out.data + c->written, end - c->written);
}

/* Has nothing come yet of the next request? */
static bool
between(const struct conn *c)
{
	return c->state == CONN_READING && !c->request.begun;
}

static void
flush(struct http *h, struct conn *c)
{
	ssize_t n;

	if (c->out.failed || c->broken)
		lose(h, c);
	while (c->written < c->out.len && c->state != CONN_GONE) {
		n = write_some(c);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (c->write_by == NEVER)
				c->write_by = h->now + WRITE_TIME;
			return;
		}
		if (n < 0) {
			lose(h, c);
			return;
		}
		c->written += (size_t)n;
		c->write_by = NEVER;
		if (c->written >= c->progress)
			c->progress = 0;
	}
	if (c->out.len > 0 && between(c))
		c->deadline = h->now + IDLE_TIME;
	buf_free(&c->out);
	c->written = 0;
	c->write_by = NEVER;
}

static void
leave(struct conn *c)
{
	c->state = CONN_LEAVING;
	c->deadline = NEVER;  /* until all is written */
	buf_free(&c->in);
}

/* Nothing of the request is needed any more: on to the next one. */
static void
end_request(struct http *h, struct conn *c)
{
	bool last = c->last || h->closing;

	request_free(&c->request);
	memset((char *)c + offsetof(struct conn, last), 0,
	    sizeof(*c) - offsetof(struct conn, last));
	c->state = CONN_READING;
	c->deadline = h->now + IDLE_TIME;
	if (c->in.len == 0)
		buf_free(&c->in);
	if (last)
		leave(c);
	flush(h, c);
}

/* What comes after this request, if anything, cannot be understood. */
static void
break_off(struct http *h, struct conn *c, int status, const char *text)
{
	c->last = true;
	if (!c->answered)
		answer_text(c, status, "", text);
	end_request(h, c);
}

/* Answered before its body is there: that is let go as it comes. */
static void
skip_body(struct http *h, struct conn *c)
{
	buf_free(&c->request.body);
	c->request.unwanted = true;
	c->deadline = h->now + REST_TIME;
}

/* -- Sessions ---------------------------------------------------------- */

static struct visit *
find_visit(struct http *h, const char *id)
{
	struct visit *v;

	for (v = h->visits; v != NULL; v = v->next) {
		if (!v->ended && same_secret(id, v->id))
			return v;
	}
	return NULL;
}

/* NULL: there are too many, or no memory. */
static struct visit *
open_visit(struct http *h)
{
	struct visit *v;
	int n = 0;

	for (v = h->visits; v != NULL; v = v->next)
		n += !v->ended;
	v = n < VISITS ? malloc(sizeof(*v)) : NULL;
	if (v == NULL)
		return NULL;
	v->client = mcp_open(h->mcp, MCP_HTTP, http_send, h);
	if (v->client == NULL ||
	    !proc_random(v->id, (SESSION_ID - 1) / 2)) {
		mcp_free(v->client);
		free(v);
		return NULL;
	}
	v->used = h->now;
	v->ended = false;
	v->next = h->visits;
	h->visits = v;
	return v;
}

/* L1 goes on behind the scenes; free_visits() sees its end. */
static void
end_visit(struct http *h, struct visit *v, bool at_once)
{
	v->ended = true;
	mcp_close(v->client, h->now, at_once);
}

static bool
referred_to(const struct http *h, const struct visit *v)
{
	const struct conn *c;

	for (c = h->conns; c != NULL; c = c->next) {
		if (c->client == v->client)
			return true;
	}
	return false;
}

static void
free_visits(struct http *h, bool all)
{
	struct visit **at = &h->visits, *v;

	while ((v = *at) != NULL) {
		if (!all && !(v->ended && mcp_closed(v->client) &&
		    !referred_to(h, v))) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		mcp_free(v->client);
		free(v);
	}
}

/* H5: closed when no request has been in flight for long */
static void
expire_visits(struct http *h)
{
	struct visit *v;

	for (v = h->visits; v != NULL; v = v->next) {
		if (!v->ended &&
		    h->now >= v->used + h->options->session_timeout)
			end_visit(h, v, false);
	}
}

/* -- Messages ---------------------------------------------------------- */

/* Base64 up to its padding; false: it is none. */
static bool
decode_base64(struct buf *b, const char *s, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
	    "nopqrstuvwxyz0123456789+/";
	const char *digit;
	unsigned bits = 0;
	size_t i;

	if (n % 4 != 0)
		return false;
	while (n > 0 && s[n - 1] == '=')
		n--;
	for (i = 0; i < n; i++) {
		digit = memchr(digits, s[i], 64);
		if (digit == NULL)
			return false;
		bits = bits << 6 | (unsigned)(digit - digits);
		if (i % 4 != 0)
			buf_putc(b, (char)(bits >> (6 - i % 4 * 2)));
	}
	return true;
}

/* Does the header say what the message does? `=?base64?...?=` is for what
 * headers cannot say (mcp.md 11). */
static bool
header_says(const char *header, struct json string)
{
	struct buf says = { NULL, 0, 0, false }, is = { NULL, 0, 0, false };
	size_t n = header != NULL ? strlen(header) : 0;
	bool good = header != NULL;

	if (n >= 11 && memcmp(header, "=?base64?", 9) == 0 &&
	    memcmp(header + n - 2, "?=", 2) == 0)
		good = decode_base64(&says, header + 9, n - 11);
	else
		buf_put(&says, header, n);
	json_decode(string, &is);
	good = good && !is.failed && !says.failed && is.len == says.len &&
	    memcmp(is.len > 0 ? is.data : "", is.len > 0 ? says.data : "",
	    is.len) == 0;
	buf_free(&says);
	buf_free(&is);
	return good;
}

/* The header that is missing or says something else; NULL: none is. */
static const char *
wrong_header(const struct conn *c, const struct mcp_message *m)
{
	struct json name = m->name;

	if (json_type(m->version) == JSON_STRING &&
	    !header_says(c->request.field[FIELD_MCP_VERSION], m->version))
		return "MCP-Protocol-Version is not what _meta says";
	if (!header_says(c->request.field[FIELD_MCP_METHOD], m->method))
		return "Mcp-Method is not what method says";
	if (json_is(m->method, "tools/call") &&
	    json_type(name) == JSON_STRING &&
	    !header_says(c->request.field[FIELD_MCP_NAME], name))
		return "Mcp-Name is not what params.name says";
	return NULL;
}

/* Where the message goes to: c->client; or it is answered. */
static void
route_modern(struct http *h, struct conn *c, const struct mcp_message *m)
{
	const char *wrong;

	c->modern = true;
	if (json_type(m->method) == JSON_STRING && m->id.text == NULL) {
		/* One that cancels would be free to name anybody's call. */
		answer_text(c, 202, "", "");
		return;
	}
	wrong = mcp_is_request(m) && m->version.text != NULL
	    ? wrong_header(c, m) : NULL;
	if (wrong != NULL)
		answer_error(h, c, 400, NOT_THE_HEADER, wrong);
	else
		c->client = h->anyone;
}

static void
route_legacy(struct http *h, struct conn *c, const struct mcp_message *m)
{
	const char *id = c->request.field[FIELD_MCP_SESSION];
	const char *version = c->request.field[FIELD_MCP_VERSION];
	bool first = mcp_is_request(m) && json_is(m->method, "initialize");
	struct visit *v;

	if (version != NULL && !first &&
	    !mcp_speaks(version, strlen(version), false)) {
		answer_error(h, c, 400, INVALID_REQUEST,
		    "MCP-Protocol-Version is none that is spoken here");
		return;
	}
	if (id == NULL && !first) {
		answer_error(h, c, 400, INVALID_REQUEST,
		    "Mcp-Session-Id is missing; begin with initialize");
		return;
	}
	v = id != NULL ? find_visit(h, id) : open_visit(h);
	if (v == NULL && id != NULL) {
		answer_error(h, c, 404, INVALID_REQUEST,
		    "No such session; begin with initialize");
		return;
	}
	if (v == NULL) {
		answer_error(h, c, 503, INVALID_REQUEST,
		    "As many sessions are open as there can be");
		return;
	}
	v->used = h->now;
	c->client = v->client;
	if (id == NULL)
		c->opened = v;
}

/* Which era it belongs to (mcp.md 11, "Both eras on one path") */
static void
route(struct http *h, struct conn *c)
{
	const struct buf *body = &c->request.body;
	const char *version = c->request.field[FIELD_MCP_VERSION];
	struct mcp_message *m = &c->message;

	mcp_parse(m, body->len > 0 ? body->data : "", body->len);
	c->waits = json_is(m->method, "tools/call");
	if (m->version.text != NULL || (version != NULL &&
	    mcp_speaks(version, strlen(version), true) &&
	    !(mcp_is_request(m) && json_is(m->method, "initialize"))))
		route_modern(h, c, m);
	else if (m->whole.text == NULL)
		c->client = h->anyone;  /* who says that it is not JSON */
	else
		route_legacy(h, c, m);
}

/* What mcp.c had no answer to: no request */
static void
answer_nothing(struct http *h, struct conn *c)
{
	if (mcp_is_request(&c->message))
		answer_error(h, c, 503, -32603, "Out of memory");
	else if (c->modern)
		answer_error(h, c, 400, INVALID_REQUEST, "Not a request");
	else
		answer_text(c, 202, "", "");
}

/* False: not yet, or its answer comes later. */
static bool
hand_over(struct http *h, struct conn *c)
{
	struct visit *opened;
	bool later;

	if (c->client == NULL)
		route(h, c);
	if (!c->answered) {
		if (c->waits && mcp_backlog(c->client) > BACKLOG_LIMIT)
			return false;
		c->state = CONN_CALL;
		c->deadline = NEVER;
		later = mcp_handle(c->client, c, &c->message, h->now);
		if (!later && !c->answered)
			answer_nothing(h, c);
	}
	opened = c->opened;
	if (opened != NULL && mcp_version(opened->client) == NULL)
		end_visit(h, opened, true);  /* the handshake failed */
	buf_free(&c->request.body);
	if (!c->answered)
		return false;
	end_request(h, c);
	return true;
}

/* A call that was cancelled gets no answer; its stream ends all the same. */
static bool
look_at_call(struct http *h, struct conn *c)
{
	if (!c->answered) {
		if (mcp_awaits(c->client, c))
			return false;
		if (!c->streaming)
			begin_stream(h, c);
		end_stream(c);
	}
	end_request(h, c);
	return true;
}

/* -- Requests ---------------------------------------------------------- */

static void
answer_options(struct conn *c, const char *allow)
{
	struct buf b = { NULL, 0, 0, false };

	buf_puts(&b, allow);
	if (c->cors)
		buf_puts(&b, "Access-Control-Allow-Methods: GET, POST, DELETE"
		    "\r\nAccess-Control-Allow-Headers: Authorization, "
		    "Content-Type, Accept, Mcp-Session-Id, "
		    "MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
		    "Last-Event-ID\r\nAccess-Control-Max-Age: 86400\r\n");
	buf_putc(&b, '\0');
	answer(c, 204, b.failed ? "" : b.data, NULL, 0);
	buf_free(&b);
}

static void
answer_delete(struct http *h, struct conn *c)
{
	const char *id = c->request.field[FIELD_MCP_SESSION];
	struct visit *v = id != NULL ? find_visit(h, id) : NULL;

	if (id == NULL) {
		answer_text(c, 400, "", "Mcp-Session-Id is missing\n");
	} else if (v == NULL) {
		answer_text(c, 404, "", "no such session\n");
	} else {
		end_visit(h, v, false);
		answer(c, 204, "", NULL, 0);
	}
}

static bool
has_token(const struct http *h, const struct conn *c)
{
	const char *given = c->request.field[FIELD_AUTHORIZATION];

	if (h->options->token == NULL)
		return true;
	if (given == NULL || strncasecmp(given, "Bearer ", 7) != 0)
		return false;
	return same_secret(given + 7 + strspn(given + 7, " "),
	    h->options->token);
}

/* Of a message to come: whether it can be taken */
static void
check_post(struct conn *c)
{
	const struct request *r = &c->request;
	const char *type = r->field[FIELD_CONTENT_TYPE];

	if (type == NULL || strchr(type, ',') != NULL ||
	    !request_lists(type, "application/json"))
		answer_text(c, 415, "", "Content-Type must be "
		    "application/json\n");
	else if (r->takes_given && !(r->takes_json && r->takes_stream))
		answer_text(c, 406, "", "Accept must list application/json "
		    "and text/event-stream\n");
	else if (r->left > REQUEST_BODY_LIMIT)
		answer_text(c, 413, "", "a message can have 16 MiB\n");
}

static void
check_mcp(struct http *h, struct conn *c)
{
	const char *verb = c->request.verb;
	bool options = strcmp(verb, "OPTIONS") == 0;

	if (options && c->cors && c->request.field[FIELD_PREFLIGHT] != NULL)
		answer_options(c, ALLOW);
	else if (!has_token(h, c))
		answer_text(c, 401, "WWW-Authenticate: Bearer\r\n",
		    "Authorization: Bearer TOKEN is missing or wrong\n");
	else if (options)
		answer_options(c, ALLOW);
	else if (strcmp(verb, "POST") == 0)
		check_post(c);
	else if (strcmp(verb, "DELETE") == 0)
		answer_delete(h, c);
	else
		answer_text(c, 405, ALLOW, "POST a message\n");
}

static void
check_health(struct conn *c)
{
	static const char ok[] = "{\"status\":\"ok\"}";
	const char *verb = c->request.verb;

	if (strcmp(verb, "GET") == 0 || strcmp(verb, "HEAD") == 0)
		answer(c, 200, JSON_TYPE, ok, sizeof(ok) - 1);
	else if (strcmp(verb, "OPTIONS") == 0)
		answer_options(c, ALLOW_HEALTH);
	else
		answer_text(c, 405, ALLOW_HEALTH, "GET it\n");
}

/* Answers all that needs no body to be answered, refusals above all. */
static void
check_request(struct http *h, struct conn *c)
{
	const struct request *r = &c->request;
	const char *host = r->field[FIELD_HOST];
	const char *origin = r->field[FIELD_ORIGIN];

	if (h->loopback && host != NULL && !loopback_host(host)) {
		answer_text(c, 403, "", "Host must be localhost\n");
		return;
	}
	if (origin != NULL && !allowed_origin(h, origin)) {
		answer_text(c, 403, "", "Origin is not allowed here; see "
		    "--allow-origin\n");
		return;
	}
	c->cors = origin != NULL;
	if (strcmp(r->path, "/mcp") == 0)
		check_mcp(h, c);
	else if (strcmp(r->path, "/health") == 0)
		check_health(c);
	else
		answer_text(c, 404, "", "there are /mcp and /health\n");
}

/* "Expect: 100-continue": to be told to go on. Who is refused instead may
 * send the body or not, so nobody can tell what comes next. */
static void
heed_expectation(struct conn *c)
{
	if (strcasecmp(c->request.field[FIELD_EXPECT], "100-continue") != 0)
		answer_text(c, 417, "", "");
	else if (c->in.len == 0 &&
	    (c->request.left > 0 || c->request.state == REQUEST_SIZE))
		buf_puts(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
}

static void
begin_request(struct http *h, struct conn *c)
{
	const struct request *r = &c->request;
	bool expects = r->field[FIELD_EXPECT] != NULL && !r->old;

	c->last = r->last || expects;
	check_request(h, c);
	if (expects && !c->answered)
		heed_expectation(c);
	c->deadline = h->now + BODY_TIME;
	if (!c->answered)
		c->last = r->last;
	else if (expects)
		end_request(h, c);
	else
		skip_body(h, c);
}

static bool
read_request(struct http *h, struct conn *c)
{
	struct request *r = &c->request;
	bool begun = r->begun;
	size_t had = r->body.len;
	enum request_event event;
	int status;

	if (r->state == REQUEST_HEAD && c->out.len > 0)
		return false;  /* who does not read is not asked again */
	event = request_take(r, &c->in, &status);
	if (r->begun && !begun)
		c->deadline = h->now + HEAD_TIME;
	else if (r->body.len > had)
		c->deadline = h->now + BODY_TIME;
	switch (event) {
	case REQUEST_ASKS:
		begin_request(h, c);
		return true;
	case REQUEST_TOO_MUCH:
		answer_text(c, status, "", status == 413
		    ? "a message can have 16 MiB\n" : "out of memory\n");
		skip_body(h, c);
		return true;
	case REQUEST_ENDS:
		c->state = CONN_WHOLE;
		return true;
	case REQUEST_WRONG:
		break_off(h, c, status, "");
		return false;
	default:
		return false;
	}
}

static bool
take_whole(struct http *h, struct conn *c)
{
	if (!c->answered)
		return hand_over(h, c);
	end_request(h, c);
	return true;
}

/* Goes on with what is there as far as that gets. */
static void
advance(struct http *h, struct conn *c)
{
	bool on = true;

	while (on) {
		switch (c->state) {
		case CONN_READING:
			on = read_request(h, c);
			break;
		case CONN_WHOLE:
			on = take_whole(h, c);
			break;
		case CONN_CALL:
			on = look_at_call(h, c);
			break;
		case CONN_LEAVING:
		case CONN_GONE:
			on = false;
			break;
		}
	}
}

/* The peer has closed, its side at least. A legacy call is still carried out,
 * and answered if it may only have closed that. */
static void
end_of_input(struct http *h, struct conn *c)
{
	if (c->state == CONN_LEAVING) {
		if (c->out.len == 0)
			c->state = CONN_GONE;
	} else if (c->state == CONN_WHOLE || c->state == CONN_CALL) {
		if (c->modern)
			lose(h, c);
	} else if (c->out.len == 0) {
		c->state = CONN_GONE;
	} else if (c->in.len == 0) {
		leave(c);
	}
}

static void
receive(struct http *h, struct conn *c)
{
	ssize_t n;

	if (!buf_room(&c->in, READ_SIZE)) {
		lose(h, c);
		return;
	}
	n = read(c->fd, c->in.data + c->in.len, READ_SIZE);
	if (n < 0 && (errno == EINTR || errno == EAGAIN ||
	    errno == EWOULDBLOCK))
		return;
	if (n < 0)
		lose(h, c);
	else if (n == 0)
		c->ended = true;
	else if (c->state != CONN_LEAVING)
		c->in.len += (size_t)n;
}

static void
conn_dispatch(struct http *h, struct conn *c, const struct loop *loop)
{
	short got = loop_events(loop, c->place);

	c->place = -1;
	if (got & POLLOUT)
		flush(h, c);
	if (got & POLLIN)
		receive(h, c);
	else if (got & (POLLERR | POLLHUP | POLLNVAL))
		lose(h, c);
	advance(h, c);
}

/* Whatever the state waited for has not come. */
static void
expire(struct http *h, struct conn *c)
{
	switch (c->state) {
	case CONN_READING:
		if (c->request.state == REQUEST_HEAD && c->out.len > 0)
			break;
		if (c->request.begun)
			break_off(h, c, 408, "");
		else
			c->state = CONN_GONE;
		break;
	case CONN_CALL:
		if (c->streaming && c->out.len == 0)
			put_comment(c);
		c->deadline = h->now + COMMENT_TIME;
		break;
	case CONN_LEAVING:
		c->state = CONN_GONE;
		break;
	case CONN_WHOLE:
	case CONN_GONE:
		break;
	}
}

/* The end of a turn: what mcp.c had to say is there. */
static void
settle(struct http *h, struct conn *c)
{
	if (c->state == CONN_CALL && !look_at_call(h, c) && !c->streaming)
		begin_stream(h, c);
	if (h->now >= c->deadline)
		expire(h, c);
	if (h->now >= c->write_by)
		lose(h, c);
	if (c->out.len > 0)
		flush(h, c);
	if (c->ended)
		end_of_input(h, c);
	if (c->state != CONN_LEAVING || c->out.len > 0 || c->shut)
		return;
	shutdown(c->fd, SHUT_WR);
	c->shut = true;
	c->deadline = h->now + LEAVE_TIME;
}

static void
free_conn(struct conn *c)
{
	close(c->fd);
	buf_free(&c->in);
	buf_free(&c->out);
	request_free(&c->request);
	free(c);
}

static void
free_conns(struct http *h, bool all)
{
	struct conn **at = &h->conns, *c;

	while ((c = *at) != NULL) {
		if (!all && c->state != CONN_GONE) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free_conn(c);
		h->accept_at = 0;  /* there is a descriptor again */
	}
}

/* -- Listening --------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Its length, 0: it is no address. */
static socklen_t
parse_address(union address *a, const char *text, int port)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((uint16_t)port);
		return sizeof(a->v4);
	}
	if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons((uint16_t)port);
		return sizeof(a->v6);
	}
	return 0;
}

static void
set_up(int fd)
{
	int on = 1;

	fd_cloexec(fd);
	fd_nonblocking(fd);
	/* Small answers do not wait for the peer's acknowledgements. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void
add_conn(struct http *h, int fd)
{
	struct conn *c;
	int here = 0, all = 0;

	for (c = h->conns; c != NULL; c = c->next) {
		here += c->state != CONN_LEAVING && c->state != CONN_GONE;
		all++;
	}
	c = all < CONNS + LEAVERS ? calloc(1, sizeof(*c)) : NULL;
	if (c == NULL) {
		close(fd);
		return;
	}
	set_up(fd);
	c->fd = fd;
	c->place = -1;
	c->write_by = NEVER;
	c->deadline = h->now + FIRST_TIME;
	c->next = h->conns;
	h->conns = c;
	if (here >= CONNS)
		break_off(h, c, 503, "as many connections are open as there "
		    "can be\n");
}

/* E7: without a descriptor for it, who waits is let wait: poll() would say
 * again and again that somebody is there. */
static void
admit(struct http *h, const struct loop *loop)
{
	int fd, i;

	if (!loop_events(loop, h->place))
		return;
	for (i = 0; i < CONNS; i++) {
		fd = accept(h->fd, NULL, NULL);
		if (fd >= 0) {
			add_conn(h, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM)
			h->accept_at = h->now + ACCEPT_PAUSE;
		if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

static int
listen_on(struct http *h, union address *a, socklen_t len)
{
	int on = 1, size = SEND_SIZE;

	h->fd = socket(a->any.sa_family, SOCK_STREAM, 0);
	if (h->fd < 0)
		return -1;
	set_up(h->fd);
	setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(h->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (bind(h->fd, &a->any, len) == 0 && listen(h->fd, 128) == 0 &&
	    getsockname(h->fd, &a->any, &len) == 0)
		return 0;
	on = errno;
	close(h->fd);
	h->fd = -1;
	errno = on;
	return -1;
}

int
http_loopback(const char *address)
{
	union address a;

	if (parse_address(&a, address, 0) == 0)
		return -1;
	if (a.any.sa_family == AF_INET)
		return ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
}

void
http_free(struct http *h)
{
	if (h == NULL)
		return;
	free_conns(h, true);
	free_visits(h, true);
	mcp_free(h->anyone);
	buf_free(&h->origin);
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}

struct http *
http_open(const struct http_options *options, const struct mcp_options *mcp)
{
	bool v6 = strchr(options->address, ':') != NULL;
	struct http *h = calloc(1, sizeof(*h));
	union address a;
	socklen_t len = parse_address(&a, options->address, options->port);

	if (h == NULL)
		return NULL;
	h->options = options;
	h->mcp = mcp;
	h->place = -1;
	h->loopback = http_loopback(options->address) == 1;
	if (listen_on(h, &a, len) < 0) {
		free(h);
		return NULL;
	}
	buf_puts(&h->origin, v6 ? "http://[" : "http://");
	buf_puts(&h->origin, options->address);
	buf_puts(&h->origin, v6 ? "]:" : ":");
	buf_int(&h->origin, ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port));
	buf_putc(&h->origin, '\0');
	h->anyone = mcp_open(mcp, MCP_HTTP_STATELESS, http_send, h);
	if (h->origin.failed || h->anyone == NULL) {
		http_free(h);
		errno = ENOMEM;
		return NULL;
	}
	return h;
}

const char *
http_origin(const struct http *h)
{
	return h->origin.data;
}

/* -- Turns ------------------------------------------------------------- */

static bool
reads_head(const struct conn *c)
{
	return c->state == CONN_READING && c->request.state == REQUEST_HEAD;
}

static void
conn_poll_add(struct conn *c, struct loop *loop)
{
	short events = 0;

	if (c->out.len > 0)
		events |= POLLOUT;
	if (!c->ended && c->in.len <= REQUEST_HEAD_LIMIT &&
	    (!reads_head(c) || c->out.len == 0))
		events |= POLLIN;
	c->place = loop_add(loop, c->fd, events);
	loop_until(loop, c->write_by);
	if (reads_head(c) && c->out.len > 0)
		return;
	if (c->state != CONN_WHOLE)
		loop_until(loop, c->deadline);
	else if (mcp_backlog(c->client) <= BACKLOG_LIMIT)
		loop_until(loop, loop->now);
	/* What came behind an answered request has not been looked at. */
	if (between(c) && c->in.len > 0)
		loop_until(loop, loop->now);
}

void
http_poll_add(struct http *h, struct loop *loop)
{
	struct conn *c;
	struct visit *v;

	h->place = -1;
	if (loop->now >= h->accept_at)
		h->place = loop_add(loop, h->fd, POLLIN);
	else
		loop_until(loop, h->accept_at);
	for (c = h->conns; c != NULL; c = c->next)
		conn_poll_add(c, loop);
	mcp_poll_add(h->anyone, loop);
	for (v = h->visits; v != NULL; v = v->next) {
		mcp_poll_add(v->client, loop);
		if (!v->ended && !mcp_unanswered(v->client))
			loop_until(loop,
			    v->used + h->options->session_timeout);
	}
}

void
http_dispatch(struct http *h, const struct loop *loop)
{
	struct conn *c;
	struct visit *v;

	h->now = loop->now;
	admit(h, loop);
	for (c = h->conns; c != NULL; c = c->next)
		conn_dispatch(h, c, loop);
	mcp_dispatch(h->anyone, loop);
	for (v = h->visits; v != NULL; v = v->next) {
		/* Also of a call that this turn will answer. */
		if (mcp_unanswered(v->client))
			v->used = h->now;
		mcp_dispatch(v->client, loop);
	}
	for (c = h->conns; c != NULL; c = c->next)
		settle(h, c);
	free_conns(h, false);
	expire_visits(h);
	free_visits(h, false);
}

void
http_close(struct http *h, int64_t now)
{
	bool at_once = h->closing;
	struct conn *c;
	struct visit *v;

	h->now = now;
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	mcp_close(h->anyone, now, at_once);
	for (v = h->visits; v != NULL; v = v->next) {
		if (!v->ended || at_once)
			end_visit(h, v, at_once);
	}
	h->closing = true;
	for (c = h->conns; c != NULL; c = c->next) {
		c->last = true;
		if (c->state < CONN_WHOLE)
			leave(c);
	}
}

bool
http_closed(const struct http *h)
{
	return h->closing && h->visits == NULL && mcp_closed(h->anyone);
}
