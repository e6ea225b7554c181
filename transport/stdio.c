#define _POSIX_C_SOURCE 200809L

#include "transport/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "mcp/mcp.h"

enum {
	LINE_LIMIT = 16 << 20,   /* bytes of one message (P5) */
	LONG_LINE = 1 << 20,     /* bytes; reserve_line() */
	UNREAD_LIMIT = 4 << 20,  /* bytes queued: then no more is read (P10) */
	FLUSH_SIZE = 16 << 10,   /* bytes that are worth a write */
	SHORT = 4 << 10,         /* bytes; a longer message may be refused */
	READ_SIZE = 64 << 10     /* bytes; as much as a pipe holds */
};

struct lines {
	struct client *client;
	int in_poll, out_poll;
	int in_flags, out_flags;  /* as found: others share these files */
	bool in_ended;            /* end of file */
	bool out_gone;            /* its reader has hung up */
	bool closing;
	int64_t leave_by;         /* ms; until then the reader is waited for */

	/* What was read. A line that fits in here needs no other memory. */
	char bytes[READ_SIZE];
	size_t got;               /* bytes that were read */
	size_t taken;             /* bytes of lines that were handled */
	size_t searched;          /* bytes without another newline */
	struct buf line;          /* the start of a line that does not fit */
	bool skipping;            /* its rest is skipped; it was rejected */
	bool first_seen;          /* the first line was handled */
	struct queue out;
};

static void
lines_flush(struct lines *l)
{
	if (l->out_gone || queue_flush(&l->out, 1) < 0) {
		l->out_gone = true;
		queue_free(&l->out);
	}
}

/* Queues a message; if memory is short, only once the queue is written. */
static bool
put_or_flush(struct lines *l, struct buf *message)
{
	if (queue_put(&l->out, message))
		return true;
	lines_flush(l);
	return queue_put(&l->out, message);
}

static bool
lines_send(void *transport, void *to, enum rpc_kind kind, int error,
           struct buf *message)
{
	struct lines *l = transport;

	(void)to;
	if (l->out_gone)
		return true;
	/* A message can be so long that there is no memory for this byte. */
	if (message->len > SHORT && !buf_reserve(message, 1))
		return false;
	buf_putc(message, '\n');
	if (kind == RPC_PROGRESS)
		return queue_progress(&l->out, message);
	if (!put_or_flush(l, message)) {
		if (error == 0 || message->len > SHORT)
			return false;
		/* A short error has to go out: without the memory for it boris
		 * ends. */
		buf_put(&l->out.bytes, message->data, message->len);
	}
	if (queue_unwritten(&l->out) >= FLUSH_SIZE)
		lines_flush(l);
	return true;
}

/* Bytes of answers that may still be queued (P10). If memory is short, what is
 * queued has to be read first (E7). */
static size_t
lines_room(const struct lines *l)
{
	size_t unread = queue_unwritten(&l->out);

	if (l->closing)
		return SIZE_MAX;
	if (unread >= UNREAD_LIMIT)
		return 0;
	if (unread >= FLUSH_SIZE && !mem_is_there(MEM_SPARE))
		return 0;
	return UNREAD_LIMIT - unread;
}

/* Is so much to be sent, or to be done, that no more is taken (P10)? */
static bool
congested(const struct lines *l)
{
	return lines_room(l) == 0 || mcp_backlog(l->client) > MCP_BACKLOG;
}

/* Answers a line that is not accepted, with its own id if that is in its first
 * bytes: a client that matches responses by id would wait for ever. The rest of
 * the line is skipped. */
static void
reject_line(struct lines *l, const char *start, size_t n, bool too_long)
{
	int code = too_long ? JSONRPC_INVALID_REQUEST : JSONRPC_INTERNAL;
	const char *why = too_long ? "The message is longer than 16 MiB, the "
	    "maximum" : "Out of memory for the message";
	struct buf b = { NULL, 0, 0 };

	mcp_error(l->client, &b, rpc_first_id(start, n), code, why);
	lines_send(l, NULL, RPC_REFUSAL, code, &b);
	buf_free(&b);
	buf_free(&l->line);
	l->skipping = true;
}

/* Makes room for so many more bytes. Memory that is not written to costs nothing
 * but addresses, while a buffer that grows may be copied: so a long line gets
 * room for the longest one, if there is so much. */
static bool
reserve_line(struct lines *l, size_t n)
{
	struct buf *line = &l->line;

	if (line->len >= LONG_LINE && buf_reserve(line, LINE_LIMIT - line->len))
		return true;
	return buf_reserve(line, n);
}

/* Appends to a line that is longer than what is read at once. */
static void
add_to_line(struct lines *l, const char *p, size_t n)
{
	bool too_long = l->line.len + n > LINE_LIMIT, first;

	if (l->skipping)
		return;
	if (!too_long && reserve_line(l, n)) {
		buf_put(&l->line, p, n);
		return;
	}
	/* (Only now, as reserve_line() may have moved the line.) */
	first = l->line.len == 0;
	reject_line(l, first ? p : l->line.data, first ? n : l->line.len,
	    too_long);
}

static void
handle_line(struct lines *l, const char *p, size_t n, int64_t now)
{
	struct rpc_message message;

	/* Some clients begin with a byte order mark. */
	if (!l->first_seen && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		n -= 3;
	}
	l->first_seen = true;
	for (; n > 0 && memchr(" \t\r", *p, 3) != NULL; n--)
		p++;
	if (n > 0) {
		rpc_parse(&message, p, n);
		mcp_handle(l->client, NULL, &message, now);
	}
}

/* Is there something that was read and not yet searched for newlines? */
static bool
has_input(const struct lines *l)
{
	return l->searched < l->got;
}

/* Handles the lines that were read, as long as the answers are read. */
static void
take_lines(struct lines *l, int64_t now)
{
	const char *p, *end;
	size_t n;

	while (has_input(l) && !congested(l)) {
		p = l->bytes + l->searched;
		end = memchr(p, '\n', l->got - l->searched);
		l->searched = end != NULL ? (size_t)(end + 1 - l->bytes)
		    : l->got;
		p = l->bytes + l->taken;
		n = l->searched - l->taken - (end != NULL);
		if (l->line.len > 0 || l->skipping || n == sizeof(l->bytes)) {
			add_to_line(l, p, n);
			p = l->line.data;
			n = l->line.len;
		} else if (end == NULL) {
			break;
		}
		l->taken = l->searched;
		if (end == NULL)
			break;
		handle_line(l, p, n, now);
		l->skipping = false;
		buf_free(&l->line);
	}
}

/* Reads more, after the start of a line that is not complete. */
static void
read_lines(struct lines *l)
{
	size_t kept = l->got - l->taken;
	ssize_t n;

	memmove(l->bytes, l->bytes + l->taken, kept);
	l->taken = 0;
	l->got = l->searched = kept;
	n = read(0, l->bytes + kept, sizeof(l->bytes) - kept);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	l->in_ended = n <= 0;
	if (l->in_ended)
		l->bytes[l->got++] = '\n';  /* for a last line without one */
	else
		l->got += (size_t)n;
}

struct lines *
lines_open(const struct options *options)
{
	struct lines *l = mem_get(sizeof(*l));

	l->client = mcp_open(options, MCP_STDIO, lines_send, l);
	if (l->client == NULL)
		fatal(1, "start", NULL, "there is no random number");
	l->leave_by = NEVER;
	l->in_flags = fd_nonblocking(0);
	l->out_flags = fd_nonblocking(1);
	return l;
}

void
lines_end(struct lines *l)
{
	mcp_free(l->client);
	if (l->out_flags >= 0)
		fcntl(1, F_SETFL, l->out_flags);
	if (l->in_flags >= 0)
		fcntl(0, F_SETFL, l->in_flags);
}

void
lines_poll_add(struct lines *l, struct loop *loop)
{
	bool some = has_input(l), full = congested(l);

	if (some && !full)
		loop_until(loop, loop->now);
	l->in_poll = loop_add(loop, some || full || l->in_ended ? -1 : 0,
	    POLLIN);
	/* Also with nothing to write: its reader may hang up (P9). */
	l->out_poll = loop_add(loop, l->out_gone ? -1 : 1,
	    queue_unwritten(&l->out) > 0 ? POLLOUT : 0);
	loop_until(loop, l->leave_by);
	mcp_poll_add(l->client, lines_room(l), loop);
}

enum transport_state
lines_dispatch(struct lines *l, const struct loop *loop)
{
	short out = loop_events(loop, l->out_poll);

	if ((out & (POLLERR | POLLHUP | POLLNVAL)) && !(out & POLLOUT))
		l->out_gone = true;
	if (loop_events(loop, l->in_poll))
		read_lines(l);
	take_lines(l, loop->now);
	mcp_dispatch(l->client, lines_room(l), loop);
	lines_flush(l);
	/* All requests have been answered, or nobody reads the answers (P9). */
	if (!l->closing && (loop->end || l->out_gone || (l->in_ended &&
	    !has_input(l) && !calls_await(l->client, NULL)))) {
		mcp_close(l->client, loop->now);
		l->closing = true;
	}
	/* After a signal: the reader has 200 ms once all have ended (P10). */
	if (loop->end || (l->leave_by != NEVER && !mcp_closed(l->client)))
		l->leave_by = loop->now + QUEUE_END_WAIT;
	if (!l->closing)
		return l->in_ended ? TRANSPORT_ENDS : TRANSPORT_SERVES;
	return !mcp_closed(l->client) || (queue_unwritten(&l->out) > 0 &&
	    loop->now < l->leave_by) ? TRANSPORT_ENDS : TRANSPORT_CLOSED;
}
