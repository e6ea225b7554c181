#define _POSIX_C_SOURCE 200809L

#include "stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LINE_LIMIT = 16 << 20,   /* bytes of one message (P5) */
	UNREAD_LIMIT = 4 << 20,  /* bytes queued: then no more is read (P10) */
	FLUSH_SIZE = 16 << 10,   /* bytes that are worth a write */
	ERRORS_SIZE = 8 << 10,   /* bytes of errors for want of memory (E7) */
	READ_SIZE = 64 << 10     /* as much as a pipe holds */
};

struct stdio {
	struct client *client;
	int in_poll, out_poll;
	int in_flags, out_flags;  /* as found: others share these files */
	bool begun;               /* past the place of a byte order mark */
	bool in_ended;            /* end of file */
	bool out_gone;            /* its reader has hung up */
	bool closing;
	int64_t leave_by;         /* ms; until then the reader is waited for */

	char bytes[READ_SIZE];    /* what was read last: */
	size_t taken, got;        /* of `got` bytes so many are taken */
	struct buf line;          /* the line so far */
	bool skipping;            /* it is too long, and has been answered */

	struct queue out;
	char errors[ERRORS_SIZE]; /* so many are to be written behind `out`: */
	size_t errors_len, errors_written;
	bool starved;             /* there was no room for one more */
};

/* -- Out --------------------------------------------------------------- */

static size_t
unwritten(const struct stdio *io)
{
	return queue_unwritten(&io->out) + io->errors_len;
}

/* 0; or -1 with errno: nobody reads. */
static int
flush_errors(struct stdio *io)
{
	ssize_t n;

	while (io->errors_written < io->errors_len) {
		n = write(1, io->errors + io->errors_written,
		    io->errors_len - io->errors_written);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		io->errors_written += (size_t)n;
	}
	io->errors_len = io->errors_written = 0;
	return 0;
}

/* No line is written into another one that is half written. */
static void
flush(struct stdio *io)
{
	if ((io->errors_written == 0 && queue_flush(&io->out, 1) < 0) ||
	    (queue_unwritten(&io->out) == 0 && flush_errors(io) < 0) ||
	    io->out_gone) {
		io->out_gone = true;
		queue_free(&io->out);
		io->errors_len = io->errors_written = 0;
	}
}

static bool
stdio_send(void *transport, void *to, enum mcp_kind kind, int error,
           struct buf *message)
{
	struct stdio *io = transport;
	bool taken;

	(void)to;
	if (io->out_gone)
		return true;
	buf_putc(message, '\n');
	if (kind == MCP_PROGRESS)
		return queue_progress(&io->out, message);
	if (error == JSONRPC_INTERNAL && !message->failed &&
	    message->len <= sizeof(io->errors) - io->errors_len) {
		memcpy(io->errors + io->errors_len, message->data,
		    message->len);
		io->errors_len += message->len;
		return true;
	}
	taken = queue_put(&io->out, message);
	io->starved |= !taken && error == JSONRPC_INTERNAL;
	if (queue_unwritten(&io->out) >= FLUSH_SIZE)
		flush(io);
	return taken;
}

/* Bytes of answers that may still be queued (P10) */
static size_t
room(const struct stdio *io)
{
	size_t unread = queue_unwritten(&io->out);

	if (io->closing)
		return SIZE_MAX;
	return io->errors_len == 0 && unread < UNREAD_LIMIT
	    ? UNREAD_LIMIT - unread : 0;
}

/* -- In ---------------------------------------------------------------- */

static bool
congested(const struct stdio *io)
{
	return io->starved || room(io) == 0 ||
	    mcp_backlog(io->client) > MCP_BACKLOG;
}

/* Puts a line together. If it gets too long (P5), or there is no memory for it
 * (E7), that is answered, and the rest of it is skipped. */
static void
add_to_line(struct stdio *io, const char *p, size_t n)
{
	bool too_long = io->line.len + n > LINE_LIMIT;

	if (io->skipping)
		return;
	/* Room for the longest line at once, if there is that much: pages
	 * not written take no memory; a buffer that grows is there twice. */
	if (!too_long && io->line.len > 0 &&
	    !buf_room(&io->line, LINE_LIMIT - io->line.len))
		io->line.failed = false;
	if (!too_long)
		buf_put(&io->line, p, n);
	if (too_long || io->line.failed) {
		mcp_refuse_unread(io->client, NULL, too_long);
		buf_free(&io->line);
		io->skipping = true;
	}
}

/* A whole line: in what was read last, which takes no memory (E7), or, if it
 * began before that, put together in io->line. */
static void
end_line(struct stdio *io, const char *line, size_t n, int64_t now)
{
	struct mcp_message message;
	size_t i = 0;

	if (!io->begun && n >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
		i = 3;
	io->begun = true;
	while (i < n && memchr(" \t\r", line[i], 3) != NULL)
		i++;
	if (i < n) {
		mcp_parse(&message, line + i, n - i);
		io->starved |= mcp_handle(io->client, NULL, &message, now) ==
		    MCP_NO_MEMORY;
	}
	io->skipping = false;
	buf_free(&io->line);
}

/* Takes the lines out of what was read, as long as the answers are read. */
static void
take_lines(struct stdio *io, int64_t now)
{
	const char *p, *end;
	size_t n;

	while (io->taken < io->got && !congested(io)) {
		p = io->bytes + io->taken;
		end = memchr(p, '\n', io->got - io->taken);
		n = end != NULL ? (size_t)(end - p) : io->got - io->taken;
		io->taken += n + (end != NULL);
		if (end == NULL || io->line.len > 0 || io->skipping) {
			add_to_line(io, p, n);
			p = io->line.data;
			n = io->line.len;
		}
		if (end != NULL)
			end_line(io, p, n, now);
	}
}

static void
read_input(struct stdio *io, int64_t now)
{
	ssize_t n = read(0, io->bytes, sizeof(io->bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	io->taken = 0;
	io->got = n > 0 ? (size_t)n : 0;
	if (n <= 0) {
		io->in_ended = true;
		/* The last one needs no newline. */
		end_line(io, io->line.data, io->line.len, now);
	}
}

/* -- The whole --------------------------------------------------------- */

struct stdio *
stdio_open(const struct mcp_options *options)
{
	struct stdio *io = calloc(1, sizeof(*io));

	if (io == NULL)
		return NULL;
	io->client = mcp_open(options, MCP_STDIO, stdio_send, io);
	if (io->client == NULL) {
		free(io);
		return NULL;
	}
	io->leave_by = NEVER;
	io->in_flags = fd_nonblocking(0);
	io->out_flags = fd_nonblocking(1);
	return io;
}

void
stdio_free(struct stdio *io)
{
	if (io == NULL)
		return;
	mcp_free(io->client);
	buf_free(&io->line);
	queue_free(&io->out);
	if (io->out_flags >= 0)
		fcntl(1, F_SETFL, io->out_flags);
	if (io->in_flags >= 0)
		fcntl(0, F_SETFL, io->in_flags);
	free(io);
}

void
stdio_poll_add(struct stdio *io, struct loop *loop)
{
	short events = unwritten(io) > 0 ? POLLOUT : 0;
	bool some = io->taken < io->got, full = congested(io);

	if (some && !full)
		loop_until(loop, loop->now);
	io->in_poll = loop_add(loop, some || full || io->in_ended ? -1 : 0,
	    POLLIN);
	/* Also with nothing to write: its reader may hang up (P9). */
	io->out_poll = loop_add(loop, io->out_gone ? -1 : 1, events);
	if (io->leave_by > loop->now)
		loop_until(loop, io->leave_by);
	mcp_set_room(io->client, room(io));
	mcp_poll_add(io->client, loop);
}

static void
begin_end(struct stdio *io, int64_t now)
{
	if (!io->closing)
		mcp_close(io->client, now);
	io->closing = true;
}

enum transport_state
stdio_dispatch(struct stdio *io, const struct loop *loop)
{
	short out = loop_events(loop, io->out_poll);

	if (loop->end) {
		begin_end(io, loop->now);
		io->leave_by = loop->now + QUEUE_END_WAIT;
	}
	if ((out & (POLLERR | POLLHUP | POLLNVAL)) && !(out & POLLOUT))
		io->out_gone = true;
	if (loop_events(loop, io->in_poll))
		read_input(io, loop->now);
	take_lines(io, loop->now);
	mcp_set_room(io->client, room(io));
	mcp_dispatch(io->client, loop);
	flush(io);
	/* What commands printed as they ended is to be read, too (P10). */
	if (io->leave_by != NEVER && !mcp_closed(io->client))
		io->leave_by = loop->now + QUEUE_END_WAIT;
	/* All requests have been answered, or nobody reads the answers (P9). */
	if (io->out_gone || (io->in_ended && io->taken == io->got &&
	    !mcp_unanswered(io->client)))
		begin_end(io, loop->now);
	if (io->starved && unwritten(io) == 0)
		return TRANSPORT_STARVED;
	if (!io->closing)
		return io->in_ended ? TRANSPORT_ENDS : TRANSPORT_SERVES;
	return !mcp_closed(io->client) || (unwritten(io) > 0 &&
	    loop->now < io->leave_by) ? TRANSPORT_ENDS : TRANSPORT_CLOSED;
}
