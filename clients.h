#ifndef CLIENTS_H
#define CLIENTS_H

/* What is known of clients, by their clientInfo.name (K1). */

#include <stdbool.h>
#include "json.h"

struct known_client {
	const char *name;
	const char *version;  /* the one that was looked at */
	bool shows_data;      /* to the model, in place of the text or beside it:
	                       * as JSON, with its escapes, it is longer (B6) */
};

/* The row of that clientInfo; of a client that is not known, one with nothing
 * in it. Never NULL. */
const struct known_client *clients_find(struct json info);

#endif
