/* Needs nothing of the system but C99. */

#include "pattern.h"

#include <stdlib.h>
#include <string.h>

bool
pattern_open(struct pattern *p, const char *bytes, size_t len)
{
	size_t i;

	if (len == 0)
		return true;
	p->back = malloc(len * sizeof(*p->back));
	if (p->back == NULL)
		return false;
	p->bytes = bytes;
	p->len = len;
	p->back[0] = 0;
	for (i = 1; i < len; i++)
		p->back[i] = (uint32_t)pattern_step(p, p->back[i - 1],
		    bytes[i]);
	return true;
}

void
pattern_free(struct pattern *p)
{
	free(p->back);
	memset(p, 0, sizeof(*p));
}

size_t
pattern_step(const struct pattern *p, size_t matched, char c)
{
	while (matched > 0 && (matched == p->len || p->bytes[matched] != c))
		matched = p->back[matched - 1];
	return matched + (p->len > 0 && p->bytes[matched] == c);
}
