/* SPDX-License-Identifier: ISC */
/* How boris decides whether to accept an HTTP request:
 *
 * Token   The header "Authorization: Bearer TOKEN" must contain the configured
 *         token (H3). Tokens are compared in constant time.
 * Origin  Browsers add this header to requests that a web page sends. boris
 *         accepts its own origin and those of --allow-origin. Otherwise any
 *         web page could run commands through the browser of its reader (H4).
 * Host    A web site can let its own domain name resolve to 127.0.0.1 (DNS
 *         rebinding). Browsers then treat boris as a part of that site. So if
 *         boris listens on a loopback address, this header must name a loopback
 *         address, localhost, or the address that boris listens on (H4). */
#define _POSIX_C_SOURCE 200809L

#include "transport/access.h"

#include <string.h>
#include <strings.h>

bool
access_same_secret(const char *given, const char *secret)
{
	size_t n = strlen(secret), i;
	volatile unsigned char differs = strlen(given) != n;

	for (i = 0; given[i] != '\0'; i++)
		differs |= (unsigned char)(given[i] ^ secret[i % n]);
	return !differs;
}

bool
access_has_token(const struct access *a, const char *authorization)
{
	static const char scheme[] = "Bearer ";
	const char *given;

	if (authorization == NULL || a->options->token == NULL)
		return false;
	if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return false;
	given = authorization + strlen(scheme);
	given += strspn(given, " ");
	return access_same_secret(given, a->options->token);
}

/* Returns the port that boris listens on, in the form ":PORT". */
static const char *
own_port(const struct access *a)
{
	return strrchr(a->own_origin, ':');
}

/* If `host` starts with localhost, a loopback address or the address that boris
 * listens on, returns a pointer to the text after that name. Otherwise returns
 * NULL. */
static const char *
skip_own_name(const struct access *a, const char *host)
{
	const char *own = a->own_origin + strlen("http://");
	size_t own_length = (size_t)(own_port(a) - own);

	if (strncasecmp(host, "localhost", 9) == 0)
		return host + 9;
	if (strncmp(host, "[::1]", 5) == 0)
		return host + 5;
	if (strncmp(host, "127.", 4) == 0)
		return host + 4 + strspn(host + 4, "0123456789.");
	if (strncasecmp(host, own, own_length) == 0)
		return host + own_length;
	return NULL;
}

/* If `host` names this machine, with or without a port, returns the text after
 * the name, which is "" or ":PORT". Otherwise returns NULL. */
static const char *
port_of_own_host(const struct access *a, const char *host)
{
	const char *port = skip_own_name(a, host), *end = port;

	if (port == NULL)
		return NULL;
	if (*end == ':')
		end += 1 + strspn(end + 1, "0123456789");
	return *end == '\0' ? port : NULL;
}

bool
access_allows_host(const struct access *a, const char *host)
{
	if (!a->options->loopback || host == NULL)
		return true;
	return port_of_own_host(a, host) != NULL;
}

/* Returns whether the origin is http://HOST:PORT, where HOST names this machine
 * and PORT is the port that boris listens on. */
static bool
is_own_origin(const struct access *a, const char *origin)
{
	const char *port;

	if (strncasecmp(origin, "http://", 7) != 0)
		return false;
	port = port_of_own_host(a, origin + 7);
	if (port == NULL)
		return false;
	if (*port == '\0')
		port = ":80";
	return strcmp(port, own_port(a)) == 0;
}

/* Returns whether the origin was given with --allow-origin. */
static bool
is_listed_origin(const struct access *a, const char *origin)
{
	const char *listed = a->options->origins;

	/* The list is a sequence of NUL-terminated strings, ended by an empty
	 * string. */
	if (listed == NULL)
		return false;
	for (; *listed != '\0'; listed += strlen(listed) + 1) {
		if (strcasecmp(listed, origin) == 0)
			return true;
	}
	return false;
}

bool
access_allows_origin(const struct access *a, const char *origin)
{
	return is_own_origin(a, origin) || is_listed_origin(a, origin);
}
