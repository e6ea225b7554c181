/* SPDX-License-Identifier: ISC */
#ifndef TRANSPORT_CONNECTION_H
#define TRANSPORT_CONNECTION_H

/* One HTTP/1.1 connection. This module reads requests one at a time, writes
 * their responses, and enforces time limits for slow, silent and vanished peers
 * (H7, H8). http.c decides how to answer a request. No function blocks. */

#include <stdbool.h>
#include <stdint.h>
#include "base/io.h"
#include "transport/httpmsg.h"

enum connection_state {
	CONNECTION_READING,  /* reading a request; if its body is being
	                      * discarded, the response has already been
	                      * queued */
	CONNECTION_CALL,     /* the request is complete and is awaiting its
	                      * response */
	CONNECTION_STREAM,   /* the response is an open event stream */
	CONNECTION_WRITING,  /* the response is being written */
	CONNECTION_CLOSING,  /* boris has shut down its sending side and is
	                      * waiting for the peer to close the connection, so
	                      * that no response is lost */
	CONNECTION_GONE      /* closed; http.c must free the connection */
};

/* The state of one connection. http.c may read `state`, `hung_up`, `from`,
 * `request` and `out`, append to `out`, and discard the body of `request`. The
 * other members are private. */
struct connection {
	enum connection_state state;
	int fd;
	int in_poll;       /* index in the poll set */
	int64_t now;       /* current time, in ms, read once per iteration of
	                    * the event loop */
	int64_t deadline;  /* deadline of the current state, in ms */
	bool hung_up;      /* the peer has closed its sending side or the whole
	                    * connection */
	bool eof;          /* the peer has closed its sending side, and all its
	                    * bytes have been read */
	char from[64];     /* address and port of the peer, for the log */
	struct buf in;     /* bytes received but not yet parsed */
	struct queue out;
	struct request request;
};

/* Opens a listening socket on an address and a port. The address must be an
 * IPv4 or IPv6 literal. If *port is 0, the system chooses a free port, which is
 * stored in *port. Returns the socket, or -1 with errno set. */
int connection_listen(const char *address, int *port);

/* Accepts a connection and initializes its struct, which must have been zeroed.
 * `now` is the time in ms. Returns false if the connection cannot be accepted,
 * for example because boris has run out of descriptors. */
bool connection_accept(struct connection *, int listener, int64_t now);
void connection_free(struct connection *);

void connection_poll_add(struct connection *, struct loop *);
/* Reads any bytes that the peer has sent, and checks whether it has hung up. */
void connection_read(struct connection *, const struct loop *);
/* Parses the received bytes and returns the next event that http.c must handle:
 * REQUEST_HAS_HEAD, REQUEST_COMPLETE, or the HTTP status 413 or 503. Returns
 * REQUEST_NEEDS_INPUT if no event is pending. Rejects malformed requests
 * itself. */
int connection_next(struct connection *);

/* Queues the response and frees its buffer. If allocation fails, closes the
 * connection. */
void connection_respond(struct connection *, struct buf *response);
/* Starts an event stream as the response. Queues the status line and headers in
 * `head`, and frees this buffer. */
void connection_begin_stream(struct connection *, struct buf *head);
/* Queues the message as an event on the stream. Returns false, and queues
 * nothing, if allocation fails. */
bool connection_event(struct connection *, const struct buf *message);
/* Queues a progress message as an event on the stream. Returns false, and
 * queues nothing, if the queue is too long or contains anything other than
 * progress. */
bool connection_progress(struct connection *, const struct buf *message);
void connection_end_stream(struct connection *);

/* Returns whether the response to the last request has been written completely,
 * and the connection was not aborted. */
bool connection_has_responded(const struct connection *);

/* Rejects the request with the given HTTP status. The connection is closed
 * after the response, because the start of the next request cannot be found. */
void connection_reject(struct connection *, int status);
/* Closes the connection after the current response, if there is one. */
void connection_close(struct connection *);
/* Closes the connection immediately, without writing the queued bytes. */
void connection_abort(struct connection *);
/* Must be called at the end of each iteration of the event loop. Acts on an
 * expired deadline and writes queued bytes. */
void connection_end_turn(struct connection *);

#endif
