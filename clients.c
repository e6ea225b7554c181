#include "clients.h"

#include <stddef.h>

/* A client is a row. */
static const struct known_client known[] = {
	{ "claude-code", "2.1.330", true },
	{ "codex-mcp-client", "0.169.0", true },
	{ "copilot-cli", "1.0.102", true },
	{ "gemini-cli-mcp-client", "0.61.0", false },
	{ "opencode", "1.18.33", false },
	{ NULL, NULL, false }
};

const struct known_client *
clients_find(struct json info)
{
	const struct known_client *k = known;

	while (k->name != NULL && !json_is(json_get(info, "name"), k->name))
		k++;
	return k;
}
