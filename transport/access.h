/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_ACCESS_H
#define TRANSPORT_ACCESS_H

/* Access control for HTTP: decides from the headers Authorization, Origin and
 * Host whether boris accepts a request (H3, H4). The functions only read their
 * arguments; none of them changes any state. */

#include <stdbool.h>
#include "base/options.h"

/* The configuration for access decisions. The caller owns what both members
 * point to. */
struct access {
	const struct options *options;  /* command-line options, whose token can
	                                 * change after SIGHUP */
	const char *own_origin;         /* the URL http://ADDRESS:PORT that
	                                 * boris listens on */
};

/* Returns whether boris accepts a request for the given host. `host` is the
 * value of the Host header, or NULL if the header is missing, which is
 * accepted. If boris listens on a loopback address, the host must be a name of
 * this machine. */
bool access_allows_host(const struct access *, const char *host);

/* Returns whether web pages of the given origin may send requests. boris allows
 * its own origin, under any name of this machine, and the origins that were
 * given with --allow-origin. */
bool access_allows_origin(const struct access *, const char *origin);

/* Returns whether the value of the Authorization header contains the configured
 * token. Returns false if the value is NULL or if no token is configured. */
bool access_has_token(const struct access *, const char *authorization);

/* Returns whether the two strings are equal. The duration does not depend on
 * the position of the first difference, so that an attacker cannot guess a
 * secret byte by byte. */
bool access_same_secret(const char *given, const char *secret);

#endif
