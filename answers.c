/* Needs nothing of the system but C99. */

#include "answers.h"

#include <stdlib.h>
#include <string.h>

enum {
	RESERVE = 2 << 10,     /* bytes put aside for an error (E7) */
	ARRAY_MOST = 8 << 20   /* bytes of results in one array: clients take no
	                        * line of 10 MiB; all is in memory (P10) */
};

#define META_SERVER "io.modelcontextprotocol/serverInfo"

struct batch {
	struct buf answers;
	int open;              /* answers still to come, +1 while it is read */
};

bool
answers_open(struct answers *a, mcp_send *send, void *transport, bool null_id)
{
	a->send = send;
	a->transport = transport;
	a->null_id = null_id;
	return buf_room(&a->reserve, RESERVE);
}

void
answers_free(struct answers *a)
{
	buf_free(&a->reserve);
}

/* -- One answer -------------------------------------------------------- */

/* False: there was no memory for it. (Of an array that is known at its end.) */
static bool
post(const struct reply *r, enum mcp_kind kind, int error,
     struct buf *message)
{
	struct answers *a = r->answers;
	struct buf *array;

	if (message->failed)
		return false;
	if (r->batch == NULL) {
		if (!a->send(a->transport, r->to, kind, error, message))
			return false;
		if (kind != MCP_NOTICE && kind != MCP_PROGRESS)
			a->outcome = MCP_ANSWERED;
		return true;
	}
	if (r->to == NULL && !a->null_id)
		return true;  /* over HTTP, and the connection has gone */
	array = &r->batch->answers;
	a->batched -= array->len;
	buf_putc(array, array->len > 0 ? ',' : '[');
	buf_put(array, message->data, message->len);
	a->batched += array->len;
	return true;
}

static void
put_envelope(struct buf *b, const struct answers *a, struct json id)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\"");
	if (id.text != NULL || a->null_id)
		buf_puts(b, ",\"id\":");
	if (id.text != NULL)
		json_verbatim(id, b);
	else if (a->null_id)
		buf_puts(b, "null");
}

void
answers_put_error(struct buf *b, const struct answers *a, struct json id,
                  int code, const char *message, const struct buf *data)
{
	put_envelope(b, a, id);
	buf_puts(b, ",\"error\":{\"code\":");
	buf_int(b, code);
	buf_puts(b, ",\"message\":");
	json_string(b, message, strlen(message));
	if (data != NULL) {
		buf_puts(b, ",\"data\":");
		buf_put(b, data->data, data->len);
	}
	buf_puts(b, "}}");
}

void
answer_error(const struct reply *r, int code, const char *message,
             const struct buf *data)
{
	enum mcp_kind kind = reader_is_stateless(&r->reader) ? MCP_RESPONSE
	    : MCP_REFUSAL;
	struct buf b = { NULL, 0, 0, false }, *reserve = &r->answers->reserve;
	const struct json no_id = { NULL, 0 };

	answers_put_error(&b, r->answers, r->id, code, message, data);
	if (!post(r, kind, code, &b)) {
		reserve->len = 0;
		answers_put_error(reserve, r->answers, r->id.len < RESERVE / 2
		    ? r->id : no_id, JSONRPC_INTERNAL,
		    code == JSONRPC_INTERNAL ? message : "Out of memory", NULL);
		if (!post(r, kind, JSONRPC_INTERNAL, reserve))
			r->answers->outcome = MCP_NO_MEMORY;
		/* The transport may have taken it over. */
		buf_room(reserve, RESERVE);
		reserve->failed = false;
	}
	buf_free(&b);
}

bool
answer_result(const struct reply *r, struct buf *members, const char *lost)
{
	struct buf b = { NULL, 0, 0, false };
	bool taken;

	put_envelope(&b, r->answers, r->id);
	buf_puts(&b, ",\"result\":{");
	if (reader_is_stateless(&r->reader))
		buf_puts(&b, "\"resultType\":\"complete\",\"_meta\":{\""
		    META_SERVER "\":" MCP_SERVER_INFO "},");
	buf_put(&b, members->data, members->len);
	buf_puts(&b, "}}");
	taken = !members->failed && (r->batch == NULL ||
	    r->batch->answers.len + b.len <= ARRAY_MOST) &&
	    post(r, MCP_RESPONSE, 0, &b);
	buf_free(&b);
	buf_free(members);
	if (!taken)
		answer_error(r, JSONRPC_INTERNAL, lost, NULL);
	return taken;
}

bool
answer_notice(const struct reply *r, enum mcp_kind kind, struct buf *message)
{
	struct answers *a = r->answers;

	return !message->failed && a->send(a->transport, r->to, kind, 0,
	    message);
}

/* -- Arrays ------------------------------------------------------------ */

bool
batch_begin(struct reply *r)
{
	r->batch = calloc(1, sizeof(*r->batch));
	if (r->batch != NULL)
		batch_join(r);
	return r->batch != NULL;
}

void
batch_join(struct reply *r)
{
	if (r->batch != NULL)
		r->batch->open++;
}

void
batch_end(struct reply *r)
{
	struct batch *batch = r->batch;
	bool failed;

	if (batch == NULL || --batch->open > 0)
		return;
	r->batch = NULL;
	r->answers->batched -= batch->answers.len;
	memset(&r->id, 0, sizeof(r->id));
	if (batch->answers.len > 0)
		buf_putc(&batch->answers, ']');
	failed = batch->answers.failed || (batch->answers.len > 0 &&
	    !post(r, MCP_RESPONSE, 0, &batch->answers));
	buf_free(&batch->answers);
	free(batch);
	if (failed)
		answer_error(r, JSONRPC_INTERNAL,
		    "Out of memory for the results", NULL);
}

void
batch_drop(struct reply *r)
{
	if (r->batch != NULL) {
		r->answers->batched -= r->batch->answers.len;
		buf_free(&r->batch->answers);
	}
}
