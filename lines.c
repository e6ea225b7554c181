#define _POSIX_C_SOURCE 200809L

#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "mcp.h"

enum {
	LINE_LIMIT = 16 << 20,   /* bytes of one message (P5) */
	UNREAD_LIMIT = 4 << 20,  /* bytes queued: then no more is read (P10) */
	FLUSH_SIZE = 16 << 10,   /* bytes that are worth a write */
	READ_SIZE = 64 << 10     /* as much as a pipe holds */
};

struct lines {
	struct client *client;
	int in_poll, out_poll;
	int in_flags, out_flags;  /* as found: others share these files */
	bool in_ended;            /* end of file */
	bool out_gone;            /* its reader has hung up */
	bool closing;
	int64_t leave_by;         /* ms; until then the reader is waited for */

	char bytes[READ_SIZE];    /* what was read last: */
	size_t taken, got;        /* of `got` bytes so many are taken */
	struct buf line;          /* the line so far */
	bool skipping;            /* it is too long, and has been answered */
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

static bool
lines_send(void *transport, void *to, enum rpc_kind kind, int error,
           struct buf *message)
{
	struct lines *l = transport;

	(void)to;
	if (l->out_gone)
		return true;
	/* A result can be so long that there is no memory for this byte. */
	if (error == 0 && !buf_reserve(message, 1))
		return false;
	buf_putc(message, '\n');
	if (kind == RPC_PROGRESS)
		return queue_progress(&l->out, message);
	if (!queue_put(&l->out, message)) {
		if (error == 0)
			return false;
		/* An error has to go out: without memory this ends boris. */
		buf_put(&l->out.bytes, message->data, message->len);
	}
	if (queue_unwritten(&l->out) >= FLUSH_SIZE)
		lines_flush(l);
	return true;
}

/* Bytes of answers that may still be queued (P10) */
static size_t
lines_room(const struct lines *l)
{
	size_t unread = queue_unwritten(&l->out);

	return l->closing ? SIZE_MAX
	    : unread < UNREAD_LIMIT ? UNREAD_LIMIT - unread : 0;
}

/* Is so much to be sent, or to be done, that no more is taken (P10)? */
static bool
congested(const struct lines *l)
{
	return lines_room(l) == 0 || mcp_backlog(l->client) > MCP_BACKLOG;
}

/* Puts a line together. If it gets too long (P5), or the memory for it is
 * refused, that is answered, and the rest of it is skipped. */
static void
add_to_line(struct lines *l, const char *p, size_t n)
{
	bool too_long = l->line.len + n > LINE_LIMIT;
	int code = too_long ? JSONRPC_INVALID_REQUEST : JSONRPC_INTERNAL;
	const struct rpc_message none = { .address = NULL };
	struct buf b = { NULL, 0, 0 };

	if (l->skipping)
		return;
	/* Room for the longest line, at once: pages that are not written take
	 * no memory, while a buffer that grows is copied. */
	if (!too_long && buf_reserve(&l->line, LINE_LIMIT - l->line.len)) {
		buf_put(&l->line, p, n);
		return;
	}
	mcp_error(l->client, &b, &none, code, too_long ? "The message is over "
	    "16 MiB long, the most that is taken"
	    : "Out of memory for the message");
	lines_send(l, NULL, RPC_REFUSAL, code, &b);
	buf_free(&b);
	buf_free(&l->line);
	l->skipping = true;
}

/* Takes the lines out of what was read, as long as the answers are read. Only a
 * line that began in an earlier read is copied, to be put together. */
static void
take_lines(struct lines *l, int64_t now)
{
	struct rpc_message message;
	const char *p, *end;
	size_t n;

	while (l->taken < l->got && !congested(l)) {
		p = l->bytes + l->taken;
		end = memchr(p, '\n', l->got - l->taken);
		n = end != NULL ? (size_t)(end - p) : l->got - l->taken;
		l->taken += n + (end != NULL);
		if (end == NULL || l->line.len > 0 || l->skipping) {
			add_to_line(l, p, n);
			p = l->line.data;
			n = l->line.len;
		}
		if (end == NULL)
			break;
		for (; n > 0 && memchr(" \t\r", *p, 3) != NULL; n--)
			p++;
		if (n > 0) {
			rpc_parse(&message, p, n);
			mcp_handle(l->client, NULL, &message, now);
		}
		l->skipping = false;
		buf_free(&l->line);
	}
}

static void
read_lines(struct lines *l)
{
	ssize_t n = read(0, l->bytes, sizeof(l->bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Some clients begin with a byte order mark. */
	l->taken = l->got == 0 && n >= 3 &&
	    memcmp(l->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	l->got = n > 0 ? (size_t)n : 1;
	l->in_ended = n <= 0;
	if (l->in_ended)
		l->bytes[0] = '\n';  /* for a last line that has none */
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
	bool some = l->taken < l->got, full = congested(l);

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
	    l->taken == l->got && !calls_await(l->client, NULL)))) {
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
