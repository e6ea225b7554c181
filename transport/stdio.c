/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "transport/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "mcp/mcp.h"

enum {
	LINE_LIMIT = 16 << 20,   /* maximum size of a message, in bytes (P5) */
	LONG_LINE = 1 << 20,     /* when an incomplete line reaches this size,
	                          * in bytes, its buffer is enlarged to
	                          * LINE_LIMIT */
	UNREAD_LIMIT = 4 << 20,  /* output queue size, in bytes, at which boris
	                          * stops reading input (P10) */
	FLUSH_SIZE = 16 << 10,   /* output queue size, in bytes, that triggers
	                          * an immediate flush */
	SHORT = 4 << 10,         /* maximum size, in bytes, of a message that
	                          * counts as a small allocation (E7) */
	END_WAIT_MAX = 1000,     /* maximum time to wait for a slow client
	                          * after a termination signal, in ms */
	READ_SIZE = 64 << 10     /* size of the read buffer in bytes, equal to
	                          * the capacity of a pipe */
};

struct stdio {
	struct client *client;
	int in_poll, out_poll;    /* indices in the poll set */
	int in_flags, out_flags;  /* file flags of stdin and stdout at startup,
	                           * or -1 if unknown; restored when boris
	                           * exits, because other processes may share
	                           * the open file descriptions */
	bool in_eof;              /* stdin is at end of file */
	bool out_closed;          /* the client has closed stdout */
	bool closing;             /* all commands are being terminated */
	int64_t flush_until;      /* deadline, in ms, for the client to read
	                           * more of the last responses */
	int64_t end_until;        /* deadline, in ms, for the client to read all
	                           * of the last responses */

	/* The read buffer. A line that fits into this buffer needs no further
	 * allocation. */
	char bytes[READ_SIZE];
	size_t received;  /* number of bytes in the read buffer */
	size_t consumed;  /* number of bytes at the start of the read buffer
	                   * that are no longer needed */
	size_t searched;  /* number of bytes in the read buffer already searched
	                   * for newlines */
	struct buf line;  /* start of a line that is too long for the read
	                   * buffer */
	bool skipping;    /* skipping the rest of a rejected line */
	bool first_seen;  /* the first line has been handled */
	struct queue out;
};

static void
stdio_flush(struct stdio *s)
{
	if (s->out_closed || queue_flush(&s->out, 1) < 0) {
		s->out_closed = true;
		queue_free(&s->out);
	}
}

/* Queues a message. If allocation fails, flushes the queue and tries again.
 * Returns false if allocation fails again. */
static bool
put_or_flush(struct stdio *s, struct buf *message)
{
	if (queue_put(&s->out, message))
		return true;
	stdio_flush(s);
	return queue_put(&s->out, message);
}

static bool
stdio_send(void *transport, void *to, enum rpc_kind kind, int error,
           struct buf *message)
{
	struct stdio *s = transport;

	(void)to;
	if (s->out_closed)
		return true;
	/* Reserve memory for the newline of a long message, because buf_putc()
	 * would make boris exit if allocation failed. */
	if (message->len > SHORT && !buf_reserve(message, 1))
		return false;
	buf_putc(message, '\n');
	if (kind == RPC_PROGRESS)
		return queue_progress(&s->out, message);
	if (!put_or_flush(s, message)) {
		if (error == 0 || message->len > SHORT)
			return false;
		/* A short error must not be dropped, so let buf_put() make
		 * boris exit if allocation fails. While boris is closing, drop
		 * the error, so that a client that never reads its responses
		 * cannot change the exit status of boris. */
		if (!s->closing)
			buf_put(&s->out.bytes, message->data, message->len);
	}
	if (queue_unwritten(&s->out) >= FLUSH_SIZE)
		stdio_flush(s);
	return true;
}

/* Returns how many more bytes of responses may be queued (P10). If less than
 * MEM_SPARE bytes of memory are available, returns 0 until the client has read
 * most of the queued responses (E7). */
static size_t
queue_space(const struct stdio *s)
{
	size_t unread = queue_unwritten(&s->out);

	if (s->closing)
		return SIZE_MAX;
	if (unread >= UNREAD_LIMIT)
		return 0;
	if (unread >= FLUSH_SIZE && !mem_is_available(MEM_SPARE))
		return 0;
	return UNREAD_LIMIT - unread;
}

/* Returns whether boris must stop handling input, because the queued responses
 * take up too much space or the open calls use too much memory (P10). */
static bool
is_congested(const struct stdio *s)
{
	return queue_space(s) == 0 || mcp_backlog(s->client) > MCP_BACKLOG;
}

/* Rejects a line with an error, and skips the rest of the line. `start`
 * contains the line's first n bytes. If they include the request's id, the
 * error carries that id, because a client that matches responses by id would
 * otherwise wait forever. */
static void
reject_line(struct stdio *s, const char *start, size_t n, int code,
            const char *why)
{
	struct buf b = { NULL, 0, 0 };

	mcp_error(s->client, &b, rpc_first_id(start, n), code, why);
	stdio_send(s, NULL, RPC_REJECTION, code, &b);
	buf_free(&b);
	buf_free(&s->line);
	s->skipping = true;
}

/* Reserves memory for n more bytes of a line. For a long line, reserves memory
 * for the maximum length at once, because growing the buffer step by step could
 * mean copying it. Memory that is never written to costs only address space.
 * Returns false if allocation fails. */
static bool
reserve_line(struct stdio *s, size_t n)
{
	struct buf *line = &s->line;

	if (line->len >= LONG_LINE && buf_reserve(line, LINE_LIMIT - line->len))
		return true;
	return buf_reserve(line, n);
}

/* Appends n bytes to a line that is too long for the read buffer. Rejects the
 * line if it exceeds LINE_LIMIT or if allocation fails. */
static void
add_to_line(struct stdio *s, const char *p, size_t n)
{
	const char *start = p;
	size_t known = n;
	bool too_long = s->line.len + n > LINE_LIMIT;

	if (s->skipping)
		return;
	if (!too_long && reserve_line(s, n)) {
		buf_put(&s->line, p, n);
		return;
	}
	/* Take the line's address only now, because reserve_line() may have
	 * moved the line. */
	if (s->line.len > 0) {
		start = s->line.data;
		known = s->line.len;
	}
	if (too_long)
		reject_line(s, start, known, JSONRPC_INVALID_REQUEST,
		    "the message is longer than 16 MiB, the maximum");
	else
		reject_line(s, start, known, JSONRPC_INTERNAL,
		    "out of memory for the message");
}

static void
handle_line(struct stdio *s, const char *p, size_t n, int64_t now)
{
	struct rpc_message message;

	/* Some clients send a byte order mark before their first message. */
	if (!s->first_seen && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		n -= 3;
	}
	s->first_seen = true;
	for (; n > 0 && memchr(" \t\r", *p, 3) != NULL; n--)
		p++;
	if (n > 0) {
		rpc_parse(&message, p, n);
		mcp_handle(s->client, NULL, &message, now);
	}
}

/* Returns whether the read buffer contains bytes that have not yet been
 * searched for newlines. */
static bool
has_input(const struct stdio *s)
{
	return s->searched < s->received;
}

/* Handles the next line in the read buffer. If the line is incomplete, keeps
 * the partial line until more input is read. */
static void
handle_next_line(struct stdio *s, int64_t now)
{
	const char *from = s->bytes + s->searched;
	const char *line = s->bytes + s->consumed;
	const char *newline = memchr(from, '\n', s->received - s->searched);
	size_t n;

	if (newline != NULL) {
		n = (size_t)(newline - line);
		s->searched = (size_t)(newline + 1 - s->bytes);
	} else {
		n = s->received - s->consumed;
		s->searched = s->received;
	}
	if (s->line.len > 0 || s->skipping || n == sizeof(s->bytes)) {
		add_to_line(s, line, n);
		line = s->line.data;
		n = s->line.len;
		s->consumed = s->searched;
	}
	if (newline == NULL)
		return;
	s->consumed = s->searched;
	handle_line(s, line, n, now);
	s->skipping = false;
	buf_free(&s->line);
}

/* Handles the lines in the read buffer. Stops early if the queued responses
 * take up too much space or the open calls use too much memory (P10). */
static void
handle_lines(struct stdio *s, int64_t now)
{
	while (has_input(s) && !is_congested(s))
		handle_next_line(s, now);
}

/* Reads more input. An incomplete line is left in the read buffer. */
static void
read_lines(struct stdio *s)
{
	size_t kept = s->received - s->consumed;
	ssize_t n;

	memmove(s->bytes, s->bytes + s->consumed, kept);
	s->consumed = 0;
	s->received = s->searched = kept;
	n = read(0, s->bytes + kept, sizeof(s->bytes) - kept);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->in_eof = n <= 0;
	if (s->in_eof)
		s->bytes[s->received++] = '\n';  /* complete the last line */
	else
		s->received += (size_t)n;
}

struct stdio *
stdio_open(const struct options *options)
{
	struct stdio *s = mem_get(sizeof(*s));

	s->client = mcp_open(options, MCP_STDIO, stdio_send, s);
	if (s->client == NULL)
		fatal(1, "cannot start: no source of random numbers");
	s->flush_until = NEVER;
	s->end_until = NEVER;
	s->in_flags = fd_nonblocking(0);
	s->out_flags = fd_nonblocking(1);
	return s;
}

void
stdio_end(struct stdio *s)
{
	mcp_free(s->client);
	if (s->out_flags >= 0)
		fcntl(1, F_SETFL, s->out_flags);
	if (s->in_flags >= 0)
		fcntl(0, F_SETFL, s->in_flags);
}

void
stdio_poll_add(struct stdio *s, struct loop *loop)
{
	bool unhandled = has_input(s), congested = is_congested(s);
	bool reading = !unhandled && !congested && !s->in_eof;
	short out_events = queue_unwritten(&s->out) > 0 ? POLLOUT : 0;

	if (unhandled && !congested)
		loop_until(loop, loop->now);
	s->in_poll = loop_add(loop, reading ? 0 : -1, POLLIN);
	/* Poll stdout even if no bytes are queued, to detect that the client
	 * has closed stdout (P9). */
	s->out_poll = loop_add(loop, s->out_closed ? -1 : 1, out_events);
	loop_until(loop, s->flush_until);
	mcp_poll_add(s->client, queue_space(s), loop);
}

/* Returns whether stdin is at end of file and all requests have been
 * answered. */
static bool
is_finished(const struct stdio *s)
{
	return s->in_eof && !has_input(s) && !calls_are_open(s->client);
}

/* Terminates all commands if a termination signal has arrived, if the client
 * has closed stdout, or if stdin is at end of file and all requests have been
 * answered (P9). */
static void
close_if_due(struct stdio *s, const struct loop *loop)
{
	if (s->closing)
		return;
	if (loop->end || s->out_closed || is_finished(s)) {
		mcp_close(s->client, loop->now);
		s->closing = true;
	}
}

static enum transport_state
state_of(const struct stdio *s, int64_t now)
{
	if (!s->closing)
		return s->in_eof ? TRANSPORT_ENDS : TRANSPORT_SERVES;
	if (!mcp_closed(s->client))
		return TRANSPORT_ENDS;
	if (queue_unwritten(&s->out) > 0 && now < s->flush_until)
		return TRANSPORT_ENDS;
	return TRANSPORT_CLOSED;
}

/* After a termination signal, sets the deadlines for the client to read the
 * last responses (P10). Until the last command has ended, sets the deadlines
 * again in each iteration of the event loop, so that their time starts when
 * that command ends. `was_closed` is true if all commands had ended before this
 * iteration, and `read` is true if the client has read more of the responses in
 * this iteration. */
static void
set_flush_deadline(struct stdio *s, const struct loop *loop, bool was_closed,
                   bool read)
{
	if (loop->end || (s->flush_until != NEVER && !was_closed)) {
		s->flush_until = loop->now + QUEUE_END_WAIT;
		s->end_until = loop->now + END_WAIT_MAX;
	} else if (s->flush_until != NEVER && read) {
		s->flush_until = loop->now + QUEUE_END_WAIT;
	}
	if (s->flush_until > s->end_until)
		s->flush_until = s->end_until;
}

enum transport_state
stdio_dispatch(struct stdio *s, const struct loop *loop)
{
	short out = loop_events(loop, s->out_poll);
	bool was_closed = mcp_closed(s->client);
	size_t unwritten;

	if ((out & (POLLERR | POLLHUP | POLLNVAL)) && !(out & POLLOUT))
		s->out_closed = true;
	if (loop_events(loop, s->in_poll))
		read_lines(s);
	handle_lines(s, loop->now);
	mcp_dispatch(s->client, queue_space(s), loop);
	unwritten = queue_unwritten(&s->out);
	stdio_flush(s);
	close_if_due(s, loop);
	set_flush_deadline(s, loop, was_closed,
	    queue_unwritten(&s->out) < unwritten);
	return state_of(s, loop->now);
}
