/* SPDX-License-Identifier: ISC */
/* Needs only C99. */

#include "mcp/rpc.h"

enum {
	ENVELOPE = 512,   /* maximum size of a response, not counting its id,
	                   * result and error data, in bytes */
	ID_WITHIN = 4096  /* number of bytes at the start of a message that are
	                   * searched for its id (P5) */
};

static struct json
unless_null(struct json value)
{
	if (json_type(value) == JSON_NULL)
		value.text = NULL;
	return value;
}

void
rpc_parse(struct rpc_message *m, const char *text, size_t len)
{
	static const char *const names[] = { "jsonrpc", "id", "method",
	    "params" }, *const of_params[] = { "_meta", "name", "arguments" };
	struct json root = json_check(text, len), found[4];

	json_members(root, names, found, 4);
	*m = (struct rpc_message){ .root = root, .jsonrpc = found[0],
	    .id = found[1], .method = found[2],
	    .params = unless_null(found[3]) };
	json_members(m->params, of_params, found, 3);
	m->meta = unless_null(found[0]);
	m->name = found[1];
	m->arguments = unless_null(found[2]);
	m->version = json_get(m->meta, RPC_META_VERSION);
}

bool
rpc_is_request(const struct rpc_message *m)
{
	return json_type(m->method) == JSON_STRING && m->id.text != NULL;
}

bool
rpc_is_response(const struct rpc_message *m)
{
	return m->method.text == NULL &&
	    (json_get(m->root, "result").text != NULL ||
	    json_get(m->root, "error").text != NULL);
}

static bool
is_id(struct json id)
{
	return id.len <= RPC_ID_MAX &&
	    (json_type(id) == JSON_STRING || json_type(id) == JSON_NUMBER);
}

struct json
rpc_first_id(const char *text, size_t len)
{
	static const char *const names[] = { "id", "method", "result",
	    "error" };
	struct json found[4], id;
	bool response;

	json_first_members(text, len < ID_WITHIN ? len : ID_WITHIN, names,
	    found, 4);
	id = found[0];
	response = found[1].text == NULL &&
	    (found[2].text != NULL || found[3].text != NULL);
	/* An error about a response from the client must not contain that
	 * response's id. The client could take the error for the response to
	 * one of its own requests. */
	if (response || id.len == 0 || !is_id(id))
		return (struct json){ NULL, 0 };
	return id;
}

const char *
rpc_wrong_envelope(const struct rpc_message *m)
{
	if (m->root.text == NULL)
		return "Parse error";
	if (json_type(m->root) == JSON_ARRAY)
		return "batches of messages are not supported; send each "
		    "message separately";
	if (m->id.text != NULL && !is_id(m->id))
		return "id must be a string or a number of at most 1024 bytes";
	if (!json_is(m->jsonrpc, "2.0"))
		return "jsonrpc must be \"2.0\"";
	if (json_type(m->method) != JSON_STRING)
		return "method must be a string";
	return NULL;
}

/* Begins a response: appends the JSON-RPC version and the id. */
static void
put_head(struct buf *b, const struct rpc_channel *c, struct json id)
{
	buf_add(b, "{\"jsonrpc\":\"2.0\"");
	if (is_id(id)) {
		buf_add(b, ",\"id\":");
		json_verbatim(id, b);
	} else if (c->null_id) {
		buf_add(b, ",\"id\":null");
	}
}

void
rpc_put_error(struct buf *b, const struct rpc_channel *c, struct json id,
              int code, const char *message, const struct buf *data)
{
	/* The error data can be large, because it may contain text supplied by
	 * the client. If there is not enough memory for the data, send the
	 * error without it (E7). */
	if (data != NULL && !buf_reserve(b, ENVELOPE +
	    JSON_GROWTH * RPC_ID_MAX + data->len))
		data = NULL;
	put_head(b, c, id);
	buf_add(b, ",\"error\":{");
	json_put_number(b, "code", code);
	json_put(b, "message", message);
	if (data != NULL) {
		buf_add(b, ",\"data\":");
		buf_put(b, data->data, data->len);
	}
	buf_add(b, "}}");
}

bool
rpc_post(const struct reply *r, enum rpc_kind kind, int error,
         struct buf *message)
{
	struct rpc_channel *c = r->channel;
	bool sent = c->send(c->transport, r->to, kind, error, message);

	if (sent && (kind == RPC_RESPONSE || kind == RPC_REJECTION))
		c->outcome = RPC_ANSWERED;
	return sent;
}

void
rpc_error(const struct reply *r, int code, const char *message,
          const struct buf *data)
{
	enum rpc_kind kind = caller_is_stateless(&r->caller) ? RPC_RESPONSE
	    : RPC_REJECTION;
	struct buf b = { NULL, 0, 0 };
	bool sent;

	rpc_put_error(&b, r->channel, r->id, code, message, data);
	sent = rpc_post(r, kind, code, &b);
	if (!sent && data != NULL) {
		buf_free(&b);
		rpc_put_error(&b, r->channel, r->id, code, message, NULL);
		rpc_post(r, kind, code, &b);
	}
	buf_free(&b);
}

/* The members that begin every result of a stateless request */
#define STATELESS_MEMBERS "\"resultType\":\"complete\"," \
	"\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" \
	MCP_SERVER_INFO "},"

static bool
send_result(const struct reply *r, const struct buf *members)
{
	struct buf b = { NULL, 0, 0 };
	bool sent;

	if (!buf_reserve(&b, ENVELOPE + JSON_GROWTH * r->id.len +
	    members->len))
		return false;
	put_head(&b, r->channel, r->id);
	buf_add(&b, ",\"result\":{");
	if (caller_is_stateless(&r->caller))
		buf_add(&b, STATELESS_MEMBERS);
	buf_put(&b, members->data, members->len);
	buf_add(&b, "}}");
	sent = rpc_post(r, RPC_RESPONSE, 0, &b);
	buf_free(&b);
	return sent;
}

bool
rpc_result(const struct reply *r, struct buf *members)
{
	bool sent = send_result(r, members);

	buf_free(members);
	if (!sent)
		rpc_error(r, JSONRPC_INTERNAL, RPC_NO_MEMORY, NULL);
	return sent;
}
