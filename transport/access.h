/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_ACCESS_H
#define TRANSPORT_ACCESS_H

/* Access control for HTTP: decides from the Authorization, Origin and Host
 * headers whether boris accepts a request (H3, H4). The functions change no
 * state. */

#include <stdbool.h>
#include "base/options.h"

/* The settings for access control. The members point to options and a URL that
 * the caller owns. */
struct access {
	const struct options *options;  /* command-line options; boris may
	                                 * replace the token in them after
	                                 * SIGHUP */
	const char *own_origin;         /* the URL http://ADDRESS:PORT that
	                                 * boris listens on */
};

/* Returns whether boris accepts a request for the given host. `host` is the
 * value of the Host header, or NULL if the header is missing. Requests without
 * the header are accepted. If boris listens on a loopback address, the host
 * must be localhost, a loopback address, or the address that boris listens
 * on. */
bool access_allows_host(const struct access *, const char *host);

/* Returns whether web pages from the given origin may send requests. boris
 * allows the origins given with --allow-origin, and its own origin,
 * http://HOST:PORT. HOST can be localhost, a loopback address, or the address
 * that boris listens on. */
bool access_allows_origin(const struct access *, const char *origin);

/* Returns whether the value of the Authorization header contains the configured
 * token. Returns false if the value is NULL or if no token is configured. */
bool access_has_token(const struct access *, const char *authorization);

/* Returns whether the two strings are equal. The comparison takes the same time
 * wherever they differ, so that an attacker cannot guess a secret byte by
 * byte. */
bool access_same_secret(const char *given, const char *secret);

#endif
