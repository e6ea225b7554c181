#ifndef TRANSPORT_CONNECTION_H
#define TRANSPORT_CONNECTION_H

/* One connection of HTTP/1.1: its requests one after the other, each with its
 * response, and its deadlines for peers that are slow, silent or gone (H7, H8).
 * Which response a request gets is decided by http.c. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "transport/httpmsg.h"

enum connection_state {
	CONNECTION_READING,   /* a request, or the rest of its body, is read */
	CONNECTION_CALL,      /* the request is complete, without a response */
	CONNECTION_STREAM,    /* the response is an open stream of events */
	CONNECTION_WRITING,   /* the response is written */
	CONNECTION_CLOSING,   /* boris has ended it, and waits for the peer, so
	                       * that the peer receives everything */
	CONNECTION_GONE       /* to be freed */
};

/* http.c reads `state`, `ended`, `from`, `request` and `out`. It also drops a
 * request's body, and writes to `out`. */
struct connection {
	enum connection_state state;
	int fd;
	int in_poll;          /* index in the poll set */
	int64_t now;          /* ms, of this turn */
	int64_t deadline;     /* ms, of the current state */
	bool eof;           /* the peer sends no more */
	char from[64];        /* the peer's address and port, for the log */
	struct buf in;        /* bytes that were received and not yet used */
	struct queue out;
	struct request request;
};

/* Opens a socket that listens on an IPv4 or IPv6 literal. If *port is 0, sets
 * it to a free port. Returns the socket, or -1 with errno set. */
int connection_listen(const char *address, int *port);

/* Accepts a connection into a zeroed record. Returns false if no descriptor is
 * available for it. */
bool connection_accept(struct connection *, int listener, int64_t now);
void connection_free(struct connection *);

void connection_poll_add(struct connection *, struct loop *);
/* Reads what the peer has sent. */
void connection_read(struct connection *, const struct loop *);
/* Returns the next event of request_read(), or a status, that http.c has to
 * respond to. A malformed request is rejected here. If the body is dropped, the
 * event is REQUEST_NEEDS_INPUT. */
int connection_next(struct connection *);

/* Sends the response, which it frees. */
void connection_respond(struct connection *, struct buf *response);
/* Sends the head of a stream of events, which it frees. */
void connection_begin_stream(struct connection *, struct buf *head);
/* Sends an event of the stream. Returns false, and sends nothing, if memory is
 * short. */
bool connection_event(struct connection *, const struct buf *message);
/* The same for an event that may be lost: nothing is sent to a slow peer. */
bool connection_progress(struct connection *, const struct buf *message);
void connection_end_stream(struct connection *);

/* Rejects the request with that status, and closes the connection: what follows
 * cannot be understood. */
void connection_reject(struct connection *, int status);
/* Closes the connection after the response that is due or being written. */
void connection_close(struct connection *);
/* Closes the connection at once. */
void connection_abort(struct connection *);
/* Acts on the deadline, and writes what is queued. */
void connection_end_turn(struct connection *);

#endif
