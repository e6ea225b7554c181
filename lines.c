#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scan.h"

enum {
	LINE_LIMIT = 16 << 20,   /* bytes of one message (P5) */
	UNREAD_LIMIT = 4 << 20,  /* bytes of responses, or of commands, after
	                          * which nothing more is read (P10) */
	FLUSH_SIZE = 60 << 10,   /* bytes worth a write of their own */
	LAG = 64 << 10,          /* bytes of responses, after which a client
	                          * is given time to read them */
	LAG_TIME = 20,           /* ms of that */
	READ_SIZE = 64 << 10,
	SHORT_READ = 512,        /* when there is no memory for that */
	KEEP_SIZE = 128 << 10,   /* bigger buffers go when they are empty */
	KEEP_TIME = 100,         /* ms after which those for input do */
	SAFE_WRITE = 4096        /* bytes poll() promises room for */
};

static bool
congested(const struct lines *io)
{
	return io->out_last ||
	    io->out.len - io->written > UNREAD_LIMIT ||
	    mcp_backlog(io->client) > UNREAD_LIMIT;
}

/* A client that reads, only slower than boris, is given some time for that:
 * to answer more of what it has asked would fill memory and nothing else. Not
 * for long, what comes next may be a cancellation; and who does not read, as it
 * writes first perhaps, is served up to the limit. */
static bool
lagging(struct lines *io)
{
	if (io->out.len - io->written <= LAG)
		io->lag_until = 0;
	else if (io->lag_until == 0)
		io->lag_until = io->now + LAG_TIME;
	return io->now < io->lag_until;
}

static void
drop_output(struct lines *io)
{
	buf_free(&io->out);
	io->written = io->progress = 0;
}

/* One write. Progress is never in the same one as what follows it (O7). */
static ssize_t
write_some(struct lines *io)
{
	size_t n = io->out.len - io->written;

	if (io->progress > io->written)
		n = io->progress - io->written;
	if (io->out_flags < 0 && n > SAFE_WRITE)
		n = SAFE_WRITE;  /* blocking, a terminal: in small bites */
	return write(1, io->out.data + io->written, n);
}

void
lines_flush(struct lines *io)
{
	ssize_t n;

	while (io->written < io->out.len && !io->out_gone) {
		n = write_some(io);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n < 0) {
			/* A full disk may get room; a pipe gets no reader. */
			io->out_gone = true;
			break;
		}
		io->written += (size_t)n;
		if (io->written >= io->progress)
			io->progress = 0;
		if (io->out_flags < 0)
			break;
	}
	if (io->out_last && io->written == io->out.len)
		io->out_gone = true;
	if (io->out_gone || io->written == io->out.len) {
		io->written = io->progress = 0;
		if (io->out.cap > KEEP_SIZE || io->out_gone)
			buf_free(&io->out);
		io->out.len = 0;
	} else if (io->written > io->out.len / 2 &&
	    io->written > FLUSH_SIZE) {
		buf_drop(&io->out, io->written);
		io->written = io->progress = 0;
	}
}

/* In the queue; where there is no memory, what has been written makes room. */
static bool
make_room(struct lines *io, size_t n)
{
	if (buf_room(&io->out, n))
		return true;
	io->out.failed = false;
	lines_flush(io);
	buf_drop(&io->out, io->written);
	io->progress -= io->progress < io->written ? io->progress
	    : io->written;
	io->written = 0;
	if (buf_room(&io->out, n))
		return true;
	io->out.failed = false;
	return false;
}

/* Progress only enters an empty queue, so it stands at the front, and what
 * has not begun to be written gives way to a response. */
static bool
lines_send(void *transport, void *to, enum mcp_kind kind, int error,
           const struct buf *message)
{
	struct lines *io = transport;

	(void)to;
	(void)error;
	if (io->out_gone || io->out_last)
		return true;
	if (kind == MCP_PROGRESS && io->out.len > 0)
		return false;
	if (kind != MCP_PROGRESS && io->progress > 0 && io->written == 0) {
		buf_drop(&io->out, io->progress);
		io->progress = 0;
	}
	if (!make_room(io, message->len + 1)) {
		/* No memory even for the queue: who waits for an answer that
		 * cannot come is better served by the end, after those that
		 * are there (E7). */
		io->out_last = true;
		return true;
	}
	buf_put(&io->out, message->data, message->len);
	buf_putc(&io->out, '\n');
	if (kind == MCP_PROGRESS) {
		io->progress = io->out.len;
		lines_flush(io);
	} else if (io->out.len - io->written >= FLUSH_SIZE) {
		lines_flush(io);
	}
	return true;
}

static bool
is_space(const char *p, size_t n)
{
	while (n > 0 && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++, n--;
	return n == 0;
}

static void
handle_line(struct lines *io, const char *p, size_t n, int64_t now)
{
	struct mcp_message m;

	if (!io->begun && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3, n -= 3;
	io->begun = true;
	if (n > LINE_LIMIT) {
		mcp_unread(io->client, NULL, true);
	} else if (!is_space(p, n)) {
		mcp_parse(&m, p, n);
		mcp_handle(io->client, NULL, &m, now);
	}
}

/* The line that has begun is over the limit, or over what memory there is (E7):
 * it is answered so, and let go up to its newline. */
static void
skip_line(struct lines *io)
{
	if (!io->skipping)
		mcp_unread(io->client, NULL, true);
	io->skipping = true;
	buf_free(&io->in);
	io->taken = io->looked = 0;
}

/* A big buffer goes with its message (Q2), but for a moment: the next one may
 * be as long, and new memory would cost a third of the time to take it. */
static void
release_input(struct lines *io)
{
	if (io->in.len > 0 || io->in.cap <= KEEP_SIZE) {
		io->keep_until = NEVER;
	} else if (io->keep_until == NEVER) {
		io->keep_until = io->now + KEEP_TIME;
	} else if (io->now >= io->keep_until) {
		buf_free(&io->in);
		io->keep_until = NEVER;
	}
}

/* Handles the lines that are there; stops when nobody reads the answers. */
static void
handle_lines(struct lines *io)
{
	const char *line, *end;

	while (io->in.len > io->looked && !congested(io) && !lagging(io)) {
		end = scan_byte(io->in.data + io->looked, '\n',
		    io->in.len - io->looked);
		if (end == NULL) {
			io->looked = io->in.len;
			break;
		}
		line = io->in.data + io->taken;
		io->taken = io->looked = (size_t)(end - io->in.data) + 1;
		if (!io->skipping)
			handle_line(io, line, (size_t)(end - line), io->now);
		io->skipping = false;
	}
	if (io->taken > io->in.len / 2) {
		buf_drop(&io->in, io->taken);
		io->looked -= io->taken;
		io->taken = 0;
	}
	if (io->looked == io->in.len && (io->skipping ||
	    io->in.len - io->taken > LINE_LIMIT))
		skip_line(io);
	release_input(io);
}

/* One read; 0: there is nothing just now, or it was the end. */
static size_t
read_some(struct lines *io, char *bytes, size_t size)
{
	ssize_t n = read(0, bytes, size);

	if (n > 0)
		return (size_t)n;
	if (n == 0 || (errno != EINTR && errno != EAGAIN &&
	    errno != EWOULDBLOCK))
		io->in_ended = true;
	return 0;
}

/* Where there is no memory to read into: the line that has begun, or begins
 * here, is skipped. */
static void
read_past(struct lines *io)
{
	char bytes[SHORT_READ];
	size_t n = read_some(io, bytes, sizeof(bytes)), len = n;
	const char *rest = memchr(bytes, '\n', n);

	if (rest != NULL)
		len = (size_t)(rest++ - bytes);
	if (n == 0 && !io->in_ended) {
		io->in.failed = false;
		return;
	}
	if (io->in.len > io->taken || !is_space(bytes, len))
		skip_line(io);
	buf_free(&io->in);
	io->taken = io->looked = 0;
	if (rest == NULL)
		return;
	io->skipping = false;
	buf_put(&io->in, rest, n - (size_t)(rest - bytes));
	if (io->in.failed)
		skip_line(io);
}

static void
read_input(struct lines *io)
{
	size_t size = READ_SIZE;

	if (!buf_room(&io->in, size)) {
		io->in.failed = false;
		size = SHORT_READ;  /* a ping may find room yet */
	}
	if (buf_room(&io->in, size))
		io->in.len += read_some(io, io->in.data + io->in.len, size);
	else
		read_past(io);
	/* A last line without its newline is a line (mcp.md 1). */
	if (io->in_ended && io->in.len > 0 && !io->skipping &&
	    io->in.data[io->in.len - 1] != '\n') {
		buf_putc(&io->in, '\n');
		if (io->in.failed)
			skip_line(io);
	}
}

/* A pipe or socket is made non-blocking; for a terminal, which others use
 * too, poll() and small writes do. -1: it was not changed. */
static int
make_nonblocking(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) < 0 ||
	    (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)))
		return -1;
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return flags;
}

int
lines_open(struct lines *io, const struct mcp_options *options)
{
	memset(io, 0, sizeof(*io));
	io->keep_until = NEVER;
	io->in_flags = make_nonblocking(0);
	io->out_flags = make_nonblocking(1);
	io->client = mcp_open(options, MCP_STDIO, lines_send, io);
	return io->client == NULL ? -1 : 0;
}

void
lines_free(struct lines *io)
{
	mcp_free(io->client);
	io->client = NULL;
	buf_free(&io->in);
	buf_free(&io->out);
	if (io->out_flags >= 0)
		fcntl(1, F_SETFL, io->out_flags);
	if (io->in_flags >= 0)
		fcntl(0, F_SETFL, io->in_flags);
}

void
lines_want(struct lines *io, struct loop *loop)
{
	bool lines = io->in.len > io->looked;

	io->in_place = io->out_place = -1;
	loop_until(loop, io->keep_until);
	if (!congested(io)) {
		if (lines)
			loop_until(loop, lagging(io) ? io->lag_until
			    : loop->now);
		else if (!io->in_ended)
			io->in_place = loop_watch(loop, 0, POLLIN);
	}
	/* Also with nothing to write: whether its reader hangs up (P9) */
	if (!io->out_gone)
		io->out_place = loop_watch(loop, 1,
		    io->written < io->out.len ? POLLOUT : 0);
}

void
lines_ready(struct lines *io, const struct loop *loop)
{
	short got = loop_got(loop, io->out_place);

	io->now = loop->now;
	if (got & POLLOUT)
		lines_flush(io);
	else if (got & (POLLERR | POLLHUP | POLLNVAL))
		io->out_gone = true;
	if (io->out_gone)
		drop_output(io);
	if (loop_got(loop, io->in_place))
		read_input(io);
	handle_lines(io);
}

/* Everything that was read has been handled, and answered into the queue. */
bool
lines_done(const struct lines *io)
{
	return io->in_ended && io->in.len == io->looked &&
	    !mcp_unanswered(io->client);
}
