#define _POSIX_C_SOURCE 200809L

#include "mcp/want.h"

void
want_free(struct want *want)
{
	buf_free(&want->id);
	buf_free(&want->until);
	buf_free(&want->input);
}
