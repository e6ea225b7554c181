#ifndef TRANSPORT_ACCESS_H
#define TRANSPORT_ACCESS_H

/* Who may use boris over HTTP: the rules for the headers Authorization, Origin
 * and Host of a request (H3, H4). None of these functions changes anything. */

#include <stdbool.h>
#include "base/options.h"

/* What the rules depend on. Both stay the caller's. */
struct access {
	const struct options *options;  /* its token can change (H9) */
	const char *own_origin;         /* http://ADDRESS:PORT, where boris
	                                 * listens */
};

/* Returns whether a request for this host is accepted. A web page can give a
 * name of its own the address 127.0.0.1 (DNS rebinding). So if boris listens on
 * a loopback address, the host must be this machine. host: NULL if the request
 * does not name one, which is accepted. */
bool access_allows_host(const struct access *, const char *host);

/* Returns whether web pages of this origin may send requests: the server's own
 * origin, by any name of this machine, and those of --allow-origin. */
bool access_allows_origin(const struct access *, const char *origin);

/* Returns whether the header Authorization, which may be NULL, contains the
 * token; false also if boris has no token. */
bool access_has_token(const struct access *, const char *authorization);

/* Returns whether both strings are the same. The time that it takes does not
 * depend on where they differ. */
bool access_same_secret(const char *given, const char *secret);

#endif
