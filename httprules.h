#ifndef HTTPRULES_H
#define HTTPRULES_H

/* MCP's rules for HTTP: the endpoint and its methods, who may ask, what headers
 * have to say (H1, H3, H4; MCP 2025-11-25 and 2026-07-28, transports). */

#include <stdbool.h>
#include "httpmsg.h"
#include "json.h"

/* Who may ask */
struct http_rules {
	bool loopback;        /* Host has to be this machine's (H4) */
	const char *origins;  /* strings, the last one empty; NULL: none */
	const char *token;    /* NULL: none is asked for (H3) */
};

struct http_verdict {
	int status;           /* to refuse it with; 0: it is for us */
	const char *why;
	bool cors;            /* its origin may read the response (H4) */
	bool authorized;      /* it is for /mcp, and has shown the token (H3) */
};

/* When the request ASKS. own: this server's origin. */
struct http_verdict rules_check(const struct request *,
                                const struct http_rules *, const char *own);

/* Appends the response's headers; session_id: that it has opened, or NULL. */
void rules_headers(struct buf *, const struct request *, int status, bool cors,
                   const char *session_id);

/* Does the header's value, which may be NULL, stand for that JSON string? What
 * headers can't hold comes as "=?base64?...?=". */
bool rules_header_says(const char *value, struct json string);

/* In a time that does not depend on what is wrong with `given` (H3) */
bool same_secret(const char *given, const char *secret);

#endif
