#include "clients.h"

#include <stddef.h>

/* A client is a row. A call's silence is ended by progress, so those that give
 * up on silence alone have no limit. Codex lets 40,000 bytes through, 12,000
 * for a model that it does not know; it does not say which it has. */
static const struct known_client known[] = {
	{ .name = "claude-code", .version = "2.1.330", .shows_data = true,
	  .bytes = 190000, .call_limit = 110000, .goes_on = true },
	{ .name = "codex-mcp-client", .version = "0.169.0", .shows_data = true,
	  .bytes = 36000, .call_limit = 290000 },
	{ .name = "copilot-cli", .version = "1.0.102", .shows_data = true,
	  .bytes = 20000 },
	{ .name = "gemini-cli-mcp-client", .version = "0.61.0", .bytes = 38000,
	  .call_limit = 585000, .adds = "wait_for_previous" },
	{ .name = "opencode", .version = "1.18.33", .bytes = 50000,
	  .lines = 1900 },
	{ .name = NULL }
};

const struct known_client *
clients_find(struct json info)
{
	const struct known_client *k = known;

	while (k->name != NULL && !json_is(json_get(info, "name"), k->name))
		k++;
	return k;
}
