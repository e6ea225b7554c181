/* Needs nothing of the system but C99 and strcasecmp(). */
#define _POSIX_C_SOURCE 200809L

#include "httprules.h"

#include <string.h>
#include <strings.h>

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

static struct http_verdict
refuse(struct http_verdict v, int status, const char *why)
{
	v.status = status;
	v.why = why;
	return v;
}

struct http_verdict
rules_check(const struct request *r, const struct http_rules *rules,
            const char *own)
{
	const char *host = r->field[FIELD_HOST];
	const char *origin = r->field[FIELD_ORIGIN];
	const char *given = r->field[FIELD_AUTHORIZATION];
	const char *type = r->field[FIELD_CONTENT_TYPE];
	bool options = strcmp(r->verb, "OPTIONS") == 0;
	bool preflight = origin != NULL && options &&
	    r->field[FIELD_PREFLIGHT] != NULL;
	struct http_verdict v = { 0, "", false, false };

	if (rules->loopback && host != NULL && !is_loopback(host))
		return refuse(v, 403, "Host must be localhost\n");
	if (origin != NULL && !is_allowed(origin, own, rules->origins))
		return refuse(v, 403, "Origin is not allowed here; "
		    "see --allow-origin\n");
	v.cors = origin != NULL;
	if (strcmp(r->path, "/health") == 0)
		return strcmp(r->verb, "GET") == 0 ||
		    strcmp(r->verb, "HEAD") == 0 ? v
		    : refuse(v, 405, "GET it\n");
	if (strcmp(r->path, "/mcp") != 0)
		return refuse(v, 404, "there are /mcp and /health\n");
	if (rules->token != NULL && !preflight &&
	    (given == NULL || strncasecmp(given, "Bearer ", 7) != 0 ||
	    !same_secret(given + 7 + strspn(given + 7, " "), rules->token)))
		return refuse(v, 401,
		    "Authorization: Bearer TOKEN is missing or wrong\n");
	v.authorized = !preflight;
	if (options || strcmp(r->verb, "DELETE") == 0)
		return v;
	if (strcmp(r->verb, "POST") != 0)
		return refuse(v, 405, "POST a message\n");
	if (type == NULL || strchr(type, ',') != NULL ||
	    !field_lists(type, "application/json"))
		return refuse(v, 415,
		    "Content-Type must be application/json\n");
	if (r->accepts_given && !(r->accepts_json && r->accepts_stream))
		return refuse(v, 406, "Accept must list application/json and "
		    "text/event-stream\n");
	if (r->left > REQUEST_BODY_LIMIT)
		return refuse(v, 413, "a message can have 16 MiB\n");
	return v;
}

void
rules_headers(struct buf *b, const struct request *r, int status, bool cors,
              const char *session_id)
{
	bool options = strcmp(r->verb, "OPTIONS") == 0;

	if (status == 401)
		buf_puts(b, "WWW-Authenticate: Bearer\r\n");
	if (status == 405 || (status == 204 && options))
		buf_add(b, "Allow: ", strcmp(r->path, "/mcp") == 0
		    ? "POST, DELETE, OPTIONS" : "GET, HEAD", "\r\n");
	if (cors)
		buf_add(b, "Access-Control-Allow-Origin: ",
		    r->field[FIELD_ORIGIN], "\r\nVary: Origin\r\n"
		    "Access-Control-Expose-Headers: "
		    "Mcp-Session-Id, WWW-Authenticate\r\n");
	if (cors && options)
		buf_puts(b, "Access-Control-Allow-Methods: "
		    "GET, POST, DELETE\r\n"
		    "Access-Control-Allow-Headers: Authorization, "
		    "Content-Type, Accept, Mcp-Session-Id, "
		    "MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
		    "Last-Event-ID\r\n"
		    "Access-Control-Max-Age: 86400\r\n");
	if (session_id != NULL)
		buf_add(b, "Mcp-Session-Id: ", session_id, "\r\n");
}

/* Base64 with its padding (RFC 4648) and "?=" behind it. False: it is none.
 * `text` has room for what any header holds. */
static bool
decode(const char *s, char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
	    "nopqrstuvwxyz0123456789+/";
	size_t n = strspn(s, digits), padding = strspn(s + n, "="), i;
	unsigned bits = 0, have = 0;
	char *end = text;

	if (padding > 2 || (n + padding) % 4 != 0 ||
	    strcmp(s + n + padding, "?=") != 0)
		return false;
	for (i = 0; i < n; i++) {
		bits = bits << 6 | (unsigned)(strchr(digits, s[i]) - digits);
		have += 6;
		if (have >= 8) {
			have -= 8;
			*end++ = (char)(bits >> have & 255);
		}
	}
	*end = '\0';
	return strlen(text) == (size_t)(end - text);
}

bool
rules_header_says(const char *value, struct json string)
{
	static const char before[] = "=?base64?";
	char text[REQUEST_HEAD_LIMIT];

	if (value == NULL)
		return false;
	if (strncmp(value, before, strlen(before)) != 0)
		return json_is(string, value);
	return decode(value + strlen(before), text) && json_is(string, text);
}
