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

struct stdio {
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
stdio_flush(struct stdio *s)
{
	if (s->out_gone || queue_flush(&s->out, 1) < 0) {
		s->out_gone = true;
		queue_free(&s->out);
	}
}

/* Queues a message; if memory is short, only once the queue is written. */
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
	if (s->out_gone)
		return true;
	/* A message can be so long that there is no memory for this byte. */
	if (message->len > SHORT && !buf_reserve(message, 1))
		return false;
	buf_putc(message, '\n');
	if (kind == RPC_PROGRESS)
		return queue_progress(&s->out, message);
	if (!put_or_flush(s, message)) {
		if (error == 0 || message->len > SHORT)
			return false;
		/* A short error has to go out: without the memory for it boris
		 * ends. */
		buf_put(&s->out.bytes, message->data, message->len);
	}
	if (queue_unwritten(&s->out) >= FLUSH_SIZE)
		stdio_flush(s);
	return true;
}

/* Bytes of answers that may still be queued (P10). If memory is short, what is
 * queued has to be read first (E7). */
static size_t
stdio_room(const struct stdio *s)
{
	size_t unread = queue_unwritten(&s->out);

	if (s->closing)
		return SIZE_MAX;
	if (unread >= UNREAD_LIMIT)
		return 0;
	if (unread >= FLUSH_SIZE && !mem_is_there(MEM_SPARE))
		return 0;
	return UNREAD_LIMIT - unread;
}

/* Is so much to be sent, or to be done, that no more is taken (P10)? */
static bool
congested(const struct stdio *s)
{
	return stdio_room(s) == 0 || mcp_backlog(s->client) > MCP_BACKLOG;
}

/* Answers a line that is not accepted, with its own id if that is in its first
 * bytes: a client that matches responses by id would wait for ever. The rest of
 * the line is skipped. */
static void
reject_line(struct stdio *s, const char *start, size_t n, bool too_long)
{
	int code = too_long ? JSONRPC_INVALID_REQUEST : JSONRPC_INTERNAL;
	const char *why = too_long ? "The message is longer than 16 MiB, the "
	    "maximum" : "Out of memory for the message";
	struct buf b = { NULL, 0, 0 };

	mcp_error(s->client, &b, rpc_first_id(start, n), code, why);
	stdio_send(s, NULL, RPC_REFUSAL, code, &b);
	buf_free(&b);
	buf_free(&s->line);
	s->skipping = true;
}

/* Makes room for so many more bytes. Memory that is not written to costs nothing
 * but addresses, while a buffer that grows may be copied: so a long line gets
 * room for the longest one, if there is so much. */
static bool
reserve_line(struct stdio *s, size_t n)
{
	struct buf *line = &s->line;

	if (line->len >= LONG_LINE && buf_reserve(line, LINE_LIMIT - line->len))
		return true;
	return buf_reserve(line, n);
}

/* Appends to a line that is longer than what is read at once. */
static void
add_to_line(struct stdio *s, const char *p, size_t n)
{
	bool too_long = s->line.len + n > LINE_LIMIT, first;

	if (s->skipping)
		return;
	if (!too_long && reserve_line(s, n)) {
		buf_put(&s->line, p, n);
		return;
	}
	/* (Only now, as reserve_line() may have moved the line.) */
	first = s->line.len == 0;
	reject_line(s, first ? p : s->line.data, first ? n : s->line.len,
	    too_long);
}

static void
handle_line(struct stdio *s, const char *p, size_t n, int64_t now)
{
	struct rpc_message message;

	/* Some clients begin with a byte order mark. */
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

/* Is there something that was read and not yet searched for newlines? */
static bool
has_input(const struct stdio *s)
{
	return s->searched < s->got;
}

/* Handles the lines that were read, as long as the answers are read. */
static void
take_lines(struct stdio *s, int64_t now)
{
	const char *p, *end;
	size_t n;

	while (has_input(s) && !congested(s)) {
		p = s->bytes + s->searched;
		end = memchr(p, '\n', s->got - s->searched);
		s->searched = end != NULL ? (size_t)(end + 1 - s->bytes)
		    : s->got;
		p = s->bytes + s->taken;
		n = s->searched - s->taken - (end != NULL);
		if (s->line.len > 0 || s->skipping || n == sizeof(s->bytes)) {
			add_to_line(s, p, n);
			p = s->line.data;
			n = s->line.len;
		} else if (end == NULL) {
			break;
		}
		s->taken = s->searched;
		if (end == NULL)
			break;
		handle_line(s, p, n, now);
		s->skipping = false;
		buf_free(&s->line);
	}
}

/* Reads more, after the start of a line that is not complete. */
static void
read_lines(struct stdio *s)
{
	size_t kept = s->got - s->taken;
	ssize_t n;

	memmove(s->bytes, s->bytes + s->taken, kept);
	s->taken = 0;
	s->got = s->searched = kept;
	n = read(0, s->bytes + kept, sizeof(s->bytes) - kept);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->in_ended = n <= 0;
	if (s->in_ended)
		s->bytes[s->got++] = '\n';  /* for a last line without one */
	else
		s->got += (size_t)n;
}

struct stdio *
stdio_open(const struct options *options)
{
	struct stdio *s = mem_get(sizeof(*s));

	s->client = mcp_open(options, MCP_STDIO, stdio_send, s);
	if (s->client == NULL)
		fatal(1, "start: there is no random number");
	s->leave_by = NEVER;
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
	bool some = has_input(s), full = congested(s);

	if (some && !full)
		loop_until(loop, loop->now);
	s->in_poll = loop_add(loop, some || full || s->in_ended ? -1 : 0,
	    POLLIN);
	/* Also with nothing to write: its reader may hang up (P9). */
	s->out_poll = loop_add(loop, s->out_gone ? -1 : 1,
	    queue_unwritten(&s->out) > 0 ? POLLOUT : 0);
	loop_until(loop, s->leave_by);
	mcp_poll_add(s->client, stdio_room(s), loop);
}

enum transport_state
stdio_dispatch(struct stdio *s, const struct loop *loop)
{
	short out = loop_events(loop, s->out_poll);

	if ((out & (POLLERR | POLLHUP | POLLNVAL)) && !(out & POLLOUT))
		s->out_gone = true;
	if (loop_events(loop, s->in_poll))
		read_lines(s);
	take_lines(s, loop->now);
	mcp_dispatch(s->client, stdio_room(s), loop);
	stdio_flush(s);
	/* All requests have been answered, or nobody reads the answers (P9). */
	if (!s->closing && (loop->end || s->out_gone || (s->in_ended &&
	    !has_input(s) && !calls_await(s->client, NULL)))) {
		mcp_close(s->client, loop->now);
		s->closing = true;
	}
	/* After a signal: the reader has 200 ms once all have ended (P10). */
	if (loop->end || (s->leave_by != NEVER && !mcp_closed(s->client)))
		s->leave_by = loop->now + QUEUE_END_WAIT;
	if (!s->closing)
		return s->in_ended ? TRANSPORT_ENDS : TRANSPORT_SERVES;
	return !mcp_closed(s->client) || (queue_unwritten(&s->out) > 0 &&
	    loop->now < s->leave_by) ? TRANSPORT_ENDS : TRANSPORT_CLOSED;
}
