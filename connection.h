#ifndef CONNECTION_H
#define CONNECTION_H

/* A connection of HTTP/1.1: its requests one after the other, each with its
 * response, and peers that are slow, silent or gone (H7, H8). */

#include <stdbool.h>
#include <stdint.h>
#include "httpmsg.h"
#include "io.h"

enum connection_state {
	CONNECTION_READING,   /* a request is to come, or is on its way */
	CONNECTION_DROPPING,  /* it has been answered; its body still comes */
	CONNECTION_CALL,      /* it is whole, and to be answered */
	CONNECTION_STREAM,    /* its answer takes long: a stream of events */
	CONNECTION_WRITING,   /* its answer is being written */
	CONNECTION_CLOSING,   /* the peer closes first, so it gets all of it */
	CONNECTION_GONE       /* to be freed */
};

/* Others only read `state`, `ended` and `request`. */
struct connection {
	enum connection_state state;
	int fd, in_poll;
	int64_t now;          /* ms, of this turn */
	int64_t deadline;     /* ms; what for depends on the state */
	int64_t read_by;      /* ms; when the peer must have read something */
	bool ended;           /* the peer sends no more */
	bool last;            /* it closes behind this response */
	char from[64];        /* its peer's address, for the log */
	struct buf in;        /* received, not yet taken */
	struct queue out;
	struct request request;
};

/* Is that IPv4 or IPv6 literal one of this machine alone? -1: it is none. */
int connection_is_loopback(const char *address);

/* A socket that listens; -1 with errno. For port 0 it is a free one. */
int connection_listen(const char *address, int *port);

/* Fills in a zeroed one. False: there is no descriptor for it. */
bool connection_accept(struct connection *, int listener, int64_t now);
void connection_free(struct connection *);
void connection_poll_add(struct connection *, struct loop *);
void connection_read(struct connection *, const struct loop *);

/* The next of what has come. REQUEST_ASKS: the headers of `request`, which can
 * be answered now, or go on. REQUEST_ENDS: all of it, to be answered. 413: too
 * long. REQUEST_WAITS: nothing for now; what is no HTTP has been answered. */
int connection_take(struct connection *);
void connection_go_on(struct connection *);

/* The answer, its headers given; or the head of a stream, and what follows.
 * False: there is no memory, and nothing of it is sent. */
bool connection_answer(struct connection *, struct response *);
enum connection_event { EVENT_PROGRESS, EVENT_MORE, EVENT_LAST };
bool connection_event(struct connection *, enum connection_event,
                      const struct buf *);  /* NULL: a comment, or none */

/* Ends it with that response: what may follow can't be understood. */
void connection_refuse(struct connection *, int status, const char *text);
/* No memory for an answer, so it ends with this short error, or NULL (E7). */
enum { CONNECTION_ERROR = 2 << 10 };  /* bytes: as answers.c's RESERVE */
void connection_fail(struct connection *, const struct buf *error);
void connection_lose(struct connection *);  /* the peer has gone, or must */
void connection_close(struct connection *);  /* no further request */
void connection_end_turn(struct connection *);  /* writes what is to be sent */

#endif
