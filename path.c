/* Needs nothing of the system but C99. */

#include "path.h"

#include <string.h>

#include "buf.h"

void
path_tidy(char *path)
{
	size_t len = 0, part;
	const char *p;

	for (p = path; *p != '\0'; p += part) {
		part = strcspn(p, "/");
		if (part == 0) {
			part = 1;
		} else if (part == 2 && p[0] == '.' && p[1] == '.') {
			while (len > 0 && path[--len] != '/')
				;
		} else if (part != 1 || p[0] != '.') {
			path[len++] = '/';
			memmove(path + len, p, part);
			len += part;
		}
	}
	if (len == 0)
		path[len++] = '/';
	path[len] = '\0';
}

char *
path_from(const char *dir, const char *name)
{
	struct buf b = { NULL, 0, 0, false };

	if (name[0] == '/')
		buf_puts(&b, name);
	else
		buf_add(&b, dir[1] != '\0' ? dir : "", "/", name);
	buf_putc(&b, '\0');
	if (b.failed)
		buf_free(&b);
	return b.data;
}
