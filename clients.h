#ifndef CLIENTS_H
#define CLIENTS_H

/* What is known of clients, by their clientInfo.name (K1). */

#include <stdbool.h>
#include <stdint.h>
#include "json.h"

struct known_client {
	const char *name;
	const char *version;   /* the one that was looked at */
	bool shows_data;       /* to the model, in place of the text or beside
	                        * it: as JSON, with its escapes, it is longer
	                        * (B6) */
	int64_t bytes, lines;  /* of a result's text that it lets through whole,
	                        * less a margin (K3); 0: all */
	int64_t call_limit;    /* ms that a call may take: shortly before it
	                        * gives up or goes on without it (K2); 0: any */
	bool goes_on;          /* without it, and hears of its end */
	const char *adds;      /* an argument of its own; or NULL */
};

/* The row of that clientInfo; of a client that is not known, one with nothing
 * in it. Never NULL. */
const struct known_client *clients_find(struct json info);

#endif
