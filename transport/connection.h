#ifndef TRANSPORT_CONNECTION_H
#define TRANSPORT_CONNECTION_H

/* A connection of HTTP/1.1: its requests one after the other, each with its
 * response, and peers that are slow, silent or gone (H7, H8). */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "transport/httpmsg.h"

enum connection_state {
	CONNECTION_READING,   /* a request comes, or what is left of its body */
	CONNECTION_CALL,      /* it is whole, and to be answered */
	CONNECTION_STREAM,    /* its answer takes long: a stream of events */
	CONNECTION_WRITING,   /* its answer is being written */
	CONNECTION_CLOSING,   /* the peer closes first, so it gets all of it */
	CONNECTION_GONE       /* to be freed */
};

/* Others read `state`, `ended`, `from`, `request` and `out`; http.c also drops
 * a request's body, and writes to `out`. */
struct connection {
	enum connection_state state;
	int fd, in_poll;
	int64_t now;          /* ms, of this turn */
	int64_t deadline;     /* ms; what for depends on the state */
	bool ended;           /* the peer sends no more */
	char from[64];        /* its peer's address, for the log */
	struct buf in;        /* received, not yet taken */
	struct queue out;
	struct request request;
};

/* A socket that listens; -1 with errno. For port 0 it is a free one. */
int connection_listen(const char *address, int *port);

/* Fills in a zeroed one. False: there is no descriptor for it. */
bool connection_accept(struct connection *, int listener, int64_t now);
void connection_free(struct connection *);
void connection_poll_add(struct connection *, struct loop *);
void connection_read(struct connection *, const struct loop *);
/* The next event of request_take(), to be answered. What is malformed is
 * answered here; a body that is dropped gives REQUEST_WAITS. */
int connection_take(struct connection *);

/* Takes over the answer, or the head of a stream. */
void connection_answer(struct connection *, struct buf *, bool stream);
/* A stream's event (NULL: a comment). False: nothing of it is sent: the peer is
 * slow to read progress, or the memory is refused. */
bool connection_event(struct connection *, const struct buf *, bool progress);
void connection_end_stream(struct connection *);

/* Ends it with that response: what may follow can't be understood. */
void connection_refuse(struct connection *, int status);
void connection_lose(struct connection *);  /* the peer has gone, or must */
void connection_close(struct connection *);  /* no further request */
void connection_end_turn(struct connection *);  /* writes what is to be sent */

#endif
