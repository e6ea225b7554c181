/* SPDX-License-Identifier: ISC */
/* Needs only C99. */

#include "mcp/clients.h"

/* The known clients. The comment after each name is the version that was
 * examined (K1). Some clients abandon a call only if it stays silent. They have
 * no limit here, because boris sends progress messages. Codex abandons a call
 * after 300 s. It truncates results at 40,000 bytes, or at 12,000 if it does
 * not recognise its model; boris cannot determine which limit applies. */
static const struct known_client known_clients[] = {
	{ .name = "claude-code",       /* 2.1.330 */
	  .bytes = 190000, .call_limit = 110000, .takes_late_answer = true,
	  .shows_data = true },
	{ .name = "codex-mcp-client",  /* 0.169.0 */
	  .bytes = 36000, .call_limit = 280000, .shows_data = true },
	{ .name = "copilot-cli",       /* 1.0.102 */
	  .bytes = 20000, .shows_data = true },
	{ .name = "gemini-cli-mcp-client",  /* 0.61.0 */
	  .extra_argument = "wait_for_previous", .bytes = 38000,
	  .call_limit = 585000 },
	{ .name = "opencode",          /* 1.18.33 */
	  .bytes = 50000, .lines = 1900 },
	{ .name = NULL }               /* any other client */
};

/* Returns the row of the client with the given name. If the name is unknown,
 * returns the last row, which applies to any other client. */
static const struct known_client *
find_known_client(struct json name)
{
	const struct known_client *k = known_clients;

	while (k->name != NULL && !json_is(name, k->name))
		k++;
	return k;
}

struct caller
caller_find(const struct options *o, const struct revision *revision,
            struct json info, bool shared)
{
	const struct known_client *k =
	    find_known_client(json_get(info, "name"));
	struct caller caller = { .revision = revision, .client = k,
	    .shared = shared, .bytes = k->bytes, .lines = k->lines,
	    .call_limit = k->call_limit };

	if (o->structured == STRUCTURED_AUTO)
		caller.data = !k->shows_data;
	else
		caller.data = o->structured == STRUCTURED_ON;
	if (o->result_limit >= 0) {
		caller.bytes = o->result_limit;
		caller.lines = 0;
	}
	if (o->call_limit >= 0)
		caller.call_limit = o->call_limit;
	return caller;
}

bool
caller_is_stateless(const struct caller *caller)
{
	return caller->revision != NULL && caller->revision->stateless;
}
