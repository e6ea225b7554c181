/* SPDX-License-Identifier: ISC */
/* Needs only C99. */

#include "mcp/revisions.h"

#include <string.h>

#include "base/fmt.h"

/* All MCP revisions: those without a handshake, then those with one, newest
 * first in each group */
static const struct revision revisions[] = {
	{ .name = "2026-07-28", .stateless = true },
	{ .name = "2025-11-25" },
	{ .name = "2025-06-18" },
	{ .name = "2025-03-26" },
	{ .name = "2024-11-05" },
	{ .name = NULL }
};

const struct revision *
revision_find(const char *name, bool stateless)
{
	const struct revision *v;

	for (v = revisions; v->name != NULL; v++) {
		if (v->stateless == stateless && strcmp(v->name, name) == 0)
			return v;
	}
	return NULL;
}

const struct revision *
revision_find_json(struct json name, bool stateless)
{
	const struct revision *v;

	for (v = revisions; v->name != NULL; v++) {
		if (v->stateless == stateless && json_is(name, v->name))
			return v;
	}
	return NULL;
}

const struct revision *
revision_newest_with_handshake(void)
{
	const struct revision *v = revisions;

	while (v->stateless)
		v++;
	return v;
}

void
revisions_put_stateless(struct buf *b)
{
	const struct revision *v;

	for (v = revisions; v->stateless; v++)
		buf_fmt(b, v == revisions ? "[\"%s\"" : ",\"%s\"", v->name);
	buf_putc(b, ']');
}
