#ifndef HTTP_H
#define HTTP_H

/* MCP over HTTP (SPEC.md H; mcp.md 10 and 11): sockets, requests, which
 * Mcp-Session-Id is which client. Each legacy session is a client of its
 * own; all modern requests share one without a directory to track (H6). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "loop.h"
#include "mcp.h"

/* Filled in by main, changed by nobody. */
struct http_options {
	const char *address;      /* IPv4 or IPv6 literal */
	int port;                 /* 0: a free one */
	const char *token;        /* NULL: none is asked for (H3) */
	const char *origins;      /* allowed besides (H4), spaces between; or
	                           * NULL */
	int64_t session_timeout;  /* ms (H5) */
};

struct conn;
struct visit;  /* one Mcp-Session-Id */

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

/* Is that address one of this machine alone? -1: it is no address. */
int http_loopback(const char *address);

/* Listens. 0, or -1 with errno and nothing left open. */
int http_open(struct http *, const struct http_options *,
              const struct mcp_options *);
void http_free(struct http *);

void http_want(struct http *, struct loop *);
void http_ready(struct http *, const struct loop *);

/* H9. Again, or at_once: kill. Afterwards, until http_closed(): go on. */
void http_close(struct http *, int64_t now, bool at_once);
bool http_closed(const struct http *);

#endif
