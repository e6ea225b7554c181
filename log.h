#ifndef LOG_H
#define LOG_H

/* The log (A): what was done, for who runs boris, a JSON object a line. Without
 * --log there is none: then all of this does nothing, and succeeds. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "buf.h"
#include "json.h"

struct log;  /* the file */

/* Opens it, or makes it with mode 0600 (A3). /dev/stderr is descriptor 2 as it
 * is. NULL: *why says why not. */
struct log *log_open(const char *file, const char **why);
void log_free(struct log *);  /* NULL is fine */

/* Whose records they are */
struct log_session {
	struct log *log;  /* NULL: none */
	const char *id;   /* "session"; NULL: boris's own */
};

/* A record that is being written: log_begin(), its fields, log_end(), which
 * frees it. No other is begun meanwhile. */
struct record {
	struct log *log;
	struct buf text;
};

/* With "time", "event" and "session". A text that is NULL, a value that is not
 * there and a flag that is false are left out. */
struct record log_begin(const struct log_session *, const char *event);
void log_text(struct record *, const char *name, const char *text);
void log_string(struct record *, const char *name, const void *bytes, size_t n);
void log_json(struct record *, const char *name, struct json);
void log_number(struct record *, const char *name, int64_t);
void log_flag(struct record *, const char *name, bool flag);
void log_members(struct record *, const struct buf *);  /* ,"name":value... */

/* Writes it as a whole line. 0; or -1 with errno: it is not in the log, and
 * what it tells of must not be done (A2). */
int log_end(struct record *);

#endif
