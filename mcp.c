#define _POSIX_C_SOURCE 200809L

#include "mcp.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "results.h"

enum {
	NAME_SHOWN = 120,      /* bytes of "Unknown tool: ..." */
	BATCH_MOST = 1000      /* messages of one array (P10) */
};

/* A new revision is a row here, the newest first. */
static const struct revision revisions[] = {
	{ "2026-07-28", true, false },
	{ "2025-11-25", false, false },
	{ "2025-06-18", false, false },
	{ "2025-03-26", false, true },
	{ "2024-11-05", false, false },
	{ NULL, false, false }
};

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define NEEDS_VERSION "params._meta needs " META_VERSION \
	" (a string); or begin with initialize"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"

struct client {
	struct calls calls;
	const struct mcp_options *options;
	enum mcp_peer peer;
	struct reader reader;  /* as the handshake has it */
};

/* A message being handled */
struct mcp_request {
	struct client *client;
	const struct mcp_message *message;
	struct reply reply;
	struct buf result;     /* its members */
};

/* -- Methods ----------------------------------------------------------- */

/* Each answers its request, now or later; or returns what is wrong with its
 * params. */

/* What this server is for (P11): at most 500 characters */
static void
put_instructions(struct mcp_request *r)
{
	const struct calls *c = &r->client->calls;
	bool bash = c->tools->bash;

	buf_add(&r->result, ",\"instructions\":\"", !bash && c->tools->edit
	    ? "Changes files on the host of this server, with the tool edit."
	    : !bash ? "Offers no tools: it was started with --no-bash."
	    : "Runs shell commands on the host of this server: builds, tests, "
	    "git, files, servers, long jobs. Use the tool bash for each "
	    "command, and task_output for what runs in the background. A "
	    "long job: run_in_background with wait; a program that talks "
	    "back: tty. Long output is saved in a file that the result "
	    "names. ", bash && c->tools->edit ? "Change files with edit. " : "",
	    !bash ? "" : session_stateless(c->session)
	    ? "Each command starts in the same directory, or in its cwd."
	    : "The working directory stays from call to call; variables do "
	    "not.", "\"");
}

/* Whom the answers are for: the client of this clientInfo */
static struct reader
find_reader(const struct client *c, const struct revision *v, struct json info)
{
	const struct mcp_options *o = c->options;
	struct reader r = { v, clients_find(info), false, 0, 0, 0 };

	r.bytes = o->result_limit < 0 ? r.client->bytes : o->result_limit;
	r.lines = o->result_limit < 0 ? r.client->lines : 0;
	r.call_limit = o->call_limit < 0 ? r.client->call_limit
	    : o->call_limit;
	r.data = o->structured == MCP_DATA_ON ||
	    (o->structured == MCP_DATA_AUTO && !r.client->shows_data);
	return r;
}

/* A string of the client's; one that is too long is no name */
static void
put_said(struct record *r, const char *name, struct json string)
{
	if (json_type(string) == JSON_STRING && string.len < NAME_SHOWN)
		log_json(r, name, string);
}

/* Who has sent that, as members of records (A1); nothing without a log */
static struct buf
describe_client(const struct mcp_request *r, struct json info)
{
	struct record members = { session_log(r->client->calls.session)->log,
	    { NULL, 0, 0, false } };

	if (members.log == NULL)
		return members.text;
	put_said(&members, "client", json_get(info, "name"));
	put_said(&members, "version", json_get(info, "version"));
	log_text(&members, "address", r->message->address);
	return members.text;
}

/* In the stateless era each call says that, since no session does. */
static struct buf
describe_caller(const struct mcp_request *r)
{
	struct buf nobody = { NULL, 0, 0, false };

	return reader_is_stateless(&r->reply.reader) ? describe_client(r,
	    json_get(r->message->meta, META_CLIENT)) : nobody;
}

static const char *
answer(struct mcp_request *r)
{
	answer_result(&r->reply, &r->result, "Out of memory");
	return NULL;
}

static const char *
do_initialize(struct mcp_request *r)
{
	struct json info = json_get(r->message->params, "clientInfo");
	struct buf client;
	struct json wanted = json_get(r->message->params, "protocolVersion");
	const struct revision *v = revisions;

	if (json_type(wanted) != JSON_STRING)
		return "params lack protocolVersion (a string)";
	while (v->name != NULL && (v->stateless || !json_is(wanted, v->name)))
		v++;
	if (v->name == NULL) {
		/* The newest that has a handshake is offered instead. */
		for (v = revisions; v->stateless; v++)
			;
	}
	r->client->reader = find_reader(r->client, v, info);
	client = describe_client(r, info);
	session_begin(r->client->calls.session, &client);
	buf_free(&client);
	buf_add(&r->result, "\"protocolVersion\":\"", v->name,
	    "\",\"capabilities\":{\"tools\":{}},"
	    "\"serverInfo\":" MCP_SERVER_INFO);
	put_instructions(r);
	return answer(r);
}

/* For how long, and for whom, a client may keep the answer (2026-07-28) */
#define CACHING(scope) ",\"ttlMs\":3600000,\"cacheScope\":\"" scope "\""

/* The versions that need no handshake, as an array */
static void
put_versions(struct buf *b)
{
	const struct revision *v;
	const char *before = "[\"";

	for (v = revisions; v->name != NULL; v++) {
		if (!v->stateless)
			continue;
		buf_add(b, before, v->name, "\"");
		before = ",\"";
	}
	buf_putc(b, ']');
}

static const char *
do_discover(struct mcp_request *r)
{
	buf_puts(&r->result, "\"supportedVersions\":");
	put_versions(&r->result);
	buf_puts(&r->result, ",\"capabilities\":{\"tools\":{}}"
	    CACHING("public"));
	put_instructions(r);
	return answer(r);
}

static const char *
do_list(struct mcp_request *r)
{
	if (json_type(json_get(r->message->params, "cursor")) != JSON_NONE)
		return "Unknown cursor: all tools are on the one page that is "
		    "asked for without";
	buf_puts(&r->result, "\"tools\":");
	tools_list(&r->result, r->client->calls.tools, &r->reply.reader,
	    session_stateless(r->client->calls.session));
	if (reader_is_stateless(&r->reply.reader))
		buf_puts(&r->result, CACHING("private"));
	return answer(r);
}

static const char *
do_listen(struct mcp_request *r)
{
	struct json wanted = json_get(r->message->params, "notifications");

	if (json_type(wanted) != JSON_OBJECT)
		return "params lack notifications (an object)";
	calls_listen(&r->client->calls, &r->reply);
	return NULL;
}

/* A call that is wrong. What is wrong with an `input` is not told: that may be
 * a secret. */
static void
log_wrong(const struct mcp_request *r, struct json why)
{
	struct record record = log_begin(
	    session_log(r->client->calls.session), "refused");
	struct buf caller = describe_caller(r);

	log_members(&record, &caller);
	buf_free(&caller);
	put_said(&record, "tool", r->message->name);
	if (json_get(r->message->arguments, "input").text == NULL)
		log_json(&record, "error", why);
	/* Nothing is done in any case. */
	log_end(&record);
}

/* The name is shown as its JSON text. If the cut splits a character,
 * json_string() mends that. */
static void
fail_unknown_tool(struct mcp_request *r)
{
	struct json name = r->message->name, no_more = { NULL, 0 };
	struct buf *text = &r->result;

	log_wrong(r, no_more);
	buf_puts(text, "Unknown tool: ");
	buf_put(text, name.text, name.len < NAME_SHOWN ? name.len : NAME_SHOWN);
	tools_names(text, r->client->calls.tools);
	buf_putc(text, '\0');
	answer_error(&r->reply, JSONRPC_INVALID_PARAMS,
	    text->failed ? "Unknown tool" : text->data, NULL);
	buf_free(text);
}

static const char *
do_call(struct mcp_request *r)
{
	const struct mcp_message *m = r->message;
	struct buf refusal = { NULL, 0, 0, false };
	struct tools_call call;

	if (json_type(m->name) != JSON_STRING)
		return "params lack name (a string)";
	if (m->arguments.text != NULL && json_type(m->arguments) != JSON_OBJECT)
		return "arguments must be an object";
	tools_read(r->client->calls.tools, &r->reply.reader, m->name,
	    m->arguments, &call, &refusal);
	if (call.action == TOOLS_NONE) {
		fail_unknown_tool(r);
	} else if (call.action == TOOLS_REFUSED) {
		results_refusal(&r->result, r->client->calls.session,
		    &refusal);
		log_wrong(r, results_error(&r->result));
		answer_result(&r->reply, &r->result, "Out of memory");
	} else {
		call.job.client = describe_caller(r);
		calls_tool(&r->client->calls, &r->reply,
		    json_get(m->meta, "progressToken"), &call);
	}
	tools_call_free(&call);
	return NULL;
}

/* A method is a row: in which eras it exists, and the function that does it. */
static const struct method {
	const char *name;
	bool legacy, stateless;
	const char *(*run)(struct mcp_request *);
} methods[] = {
	{ "tools/call", true, true, do_call },
	{ "tools/list", true, true, do_list },
	{ "ping", true, false, answer },
	{ "initialize", true, false, do_initialize },
	{ "server/discover", false, true, do_discover },
	{ "subscriptions/listen", false, true, do_listen },
	{ NULL, false, false, NULL }
};

static const char *
run_method(struct mcp_request *r)
{
	bool stateless = reader_is_stateless(&r->reply.reader);
	const struct method *m;

	for (m = methods; m->name != NULL; m++) {
		if ((stateless ? m->stateless : m->legacy) &&
		    json_is(r->message->method, m->name))
			return m->run(r);
	}
	answer_error(&r->reply, JSONRPC_NO_METHOD, "Method not found", NULL);
	return NULL;
}

/* -- The two eras ------------------------------------------------------ */

static void
refuse_version(struct mcp_request *r)
{
	struct buf data = { NULL, 0, 0, false };

	buf_puts(&data, "{\"supported\":");
	put_versions(&data);
	buf_puts(&data, ",\"requested\":");
	json_verbatim(r->message->version, &data);
	buf_puts(&data, "}");
	answer_error(&r->reply, MCP_UNSUPPORTED_VERSION,
	    "Unsupported protocol version", data.failed ? NULL : &data);
	buf_free(&data);
}

/* A request with its own version (MCP 2026-07-28, basic): refused for that, for
 * the rest of _meta, for the method, for its params, in this order (M8). */
static const char *
handle_stateless(struct mcp_request *r)
{
	struct json version = r->message->version, meta = r->message->meta;
	struct json client = json_get(meta, META_CLIENT);
	const struct revision *v = revisions;

	if (json_type(version) != JSON_STRING)
		return NEEDS_VERSION;
	while (v->name != NULL && !(v->stateless && json_is(version, v->name)))
		v++;
	if (v->name == NULL) {
		refuse_version(r);
		return NULL;
	}
	if (json_type(json_get(meta, META_CAPABILITIES)) != JSON_OBJECT)
		return "params._meta lacks " META_CAPABILITIES " (an object)";
	if (client.text != NULL &&
	    (json_type(json_get(client, "name")) != JSON_STRING ||
	    json_type(json_get(client, "version")) != JSON_STRING))
		return "_meta's " META_CLIENT " must be an object with "
		    "strings name and version";
	r->reply.reader = find_reader(r->client, v, client);
	return run_method(r);
}

/* The era is decided message by message, by the first rule that fits (M3; MCP
 * 2026-07-28, versioning). */
static const char *
handle_request(struct mcp_request *r)
{
	const struct mcp_message *m = r->message;
	const struct client *c = r->client;
	bool opens = json_is(m->method, "initialize");

	if (m->params.text != NULL && json_type(m->params) != JSON_OBJECT)
		return "params must be an object";
	if (m->meta.text != NULL && json_type(m->meta) != JSON_OBJECT)
		return "params._meta must be an object";
	if (r->reply.batch != NULL && (m->version.text != NULL || opens)) {
		answer_error(&r->reply, JSONRPC_INVALID_REQUEST,
		    "Not allowed in a batch", NULL);
		return NULL;
	}
	if (m->version.text != NULL)
		return handle_stateless(r);
	if (!json_is(m->method, "server/discover") &&
	    (opens || c->reader.revision != NULL ||
	    (json_is(m->method, "ping") && c->peer != MCP_HTTP_STATELESS)))
		return run_method(r);
	return NEEDS_VERSION;
}

/* -- Messages ---------------------------------------------------------- */

static void
split(struct mcp_message *m, struct json whole)
{
	static const char *const names[] = {
		"jsonrpc", "id", "method", "params"
	}, *const of_params[] = { "_meta", "name", "arguments" };
	struct json found[4];

	memset(m, 0, sizeof(*m));
	json_members(whole, names, found, 4);
	m->whole = whole;
	m->jsonrpc = found[0];
	m->id = found[1];
	m->method = found[2];
	if (json_type(found[3]) != JSON_NULL)
		m->params = found[3];  /* null counts as absent */
	json_members(m->params, of_params, found, 3);
	if (json_type(found[0]) != JSON_NULL)
		m->meta = found[0];
	m->name = found[1];
	if (json_type(found[2]) != JSON_NULL)
		m->arguments = found[2];
	m->version = json_get(m->meta, META_VERSION);
}

void
mcp_parse(struct mcp_message *m, const char *text, size_t len)
{
	split(m, json_check(text, len));
}

bool
mcp_is_request(const struct mcp_message *m)
{
	return json_type(m->method) == JSON_STRING && m->id.text != NULL;
}

/* Can an answer have that id? */
static bool
good_id(struct json id)
{
	return json_type(id) == JSON_STRING || json_type(id) == JSON_NUMBER;
}

/* What is wrong with the envelope (JSON-RPC 2.0, sections 4 and 5), or NULL */
static const char *
wrong_envelope(const struct mcp_message *m)
{
	if (json_type(m->whole) != JSON_OBJECT)
		return "Not a request";
	if (m->id.text != NULL && !good_id(m->id))
		return "id must be a string or a number";
	if (!json_is(m->jsonrpc, "2.0"))
		return "jsonrpc must be \"2.0\"";
	if (json_type(m->method) != JSON_STRING)
		return "method must be a string";
	return NULL;
}

/* `reply` has no id yet. */
static void
handle(struct client *c, struct reply reply, const struct mcp_message *m)
{
	struct mcp_request r = { c, m, reply, { NULL, 0, 0, false } };
	const char *wrong = wrong_envelope(m);

	if (m->method.text == NULL &&
	    (json_get(m->whole, "result").text != NULL ||
	    json_get(m->whole, "error").text != NULL))
		return;  /* a response; boris has asked nothing */
	if (good_id(m->id))
		r.reply.id = m->id;
	if (m->whole.text == NULL) {
		answer_error(&r.reply, JSONRPC_PARSE_ERROR, "Parse error",
		    NULL);
	} else if (wrong != NULL) {
		answer_error(&r.reply, JSONRPC_INVALID_REQUEST, wrong, NULL);
	} else if (m->id.text != NULL) {
		wrong = handle_request(&r);
		if (wrong != NULL)
			answer_error(&r.reply, JSONRPC_INVALID_PARAMS, wrong,
			    NULL);
	} else if (json_is(m->method, "notifications/cancelled")) {
		calls_cancel(&c->calls, json_get(m->params, "requestId"));
	}
}

static struct reply
reply_to(struct client *c, void *to)
{
	struct reply reply = { &c->calls.answers, to, NULL, c->reader,
	    { NULL, 0 } };

	return reply;
}

enum mcp_outcome
mcp_handle(struct client *c, void *to, const struct mcp_message *m,
           int64_t now)
{
	struct reply reply = reply_to(c, to);
	struct json element;
	struct mcp_message part;
	size_t at = 0;
	int elements = 1;

	c->calls.now = now;
	c->calls.answers.outcome = MCP_WANTS_NONE;
	if (json_type(m->whole) != JSON_ARRAY || c->reader.revision == NULL ||
	    !c->reader.revision->batches ||
	    !json_next(m->whole, &at, NULL, &element)) {
		handle(c, reply, m);
		return c->calls.answers.outcome;
	}
	while (elements <= BATCH_MOST &&
	    json_next(m->whole, &at, NULL, &element))
		elements++;
	if (elements > BATCH_MOST) {
		answer_error(&reply, JSONRPC_INVALID_REQUEST,
		    "An array can have 1000 messages, not more", NULL);
		return c->calls.answers.outcome;
	}
	if (!batch_begin(&reply)) {
		mcp_refuse_unread(c, to, false);
		return c->calls.answers.outcome;
	}
	at = 0;
	while (json_next(m->whole, &at, NULL, &element)) {
		split(&part, element);
		handle(c, reply, &part);
	}
	batch_end(&reply);
	return c->calls.answers.outcome;
}

void
mcp_refuse_unread(struct client *c, void *to, bool too_long)
{
	struct reply reply = reply_to(c, to);

	answer_error(&reply, too_long ? JSONRPC_INVALID_REQUEST
	    : JSONRPC_INTERNAL, too_long ? "The message is over 16 MiB long, "
	    "the most that is taken" : "Out of memory for the message", NULL);
}

void
mcp_error(const struct client *c, struct buf *b, const struct mcp_message *m,
          int code, const char *text)
{
	struct json id = { NULL, 0 };

	/* With a response's id the client could take it for an answer. */
	if (mcp_is_request(m) && good_id(m->id))
		id = m->id;
	answers_put_error(b, &c->calls.answers, id, code, text, NULL);
}

/* -- Turns ------------------------------------------------------------- */

struct client *
mcp_open(const struct mcp_options *options, enum mcp_peer peer, mcp_send *send,
         void *transport)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->options = options;
	c->reader = find_reader(c, NULL, (struct json){ NULL, 0 });
	c->peer = peer;
	c->calls.tools = &options->tools;
	c->calls.room = SIZE_MAX;
	c->calls.session = session_open(&options->session,
	    peer == MCP_HTTP_STATELESS);
	if (c->calls.session == NULL || !answers_open(&c->calls.answers, send,
	    transport, peer == MCP_STDIO)) {
		mcp_free(c);
		return NULL;
	}
	return c;
}

void
mcp_free(struct client *c)
{
	if (c == NULL)
		return;
	calls_free(&c->calls);
	session_free(c->calls.session);
	answers_free(&c->calls.answers);
	free(c);
}

void
mcp_set_room(struct client *c, size_t bytes)
{
	c->calls.room = bytes;
}

void
mcp_poll_add(struct client *c, struct loop *loop)
{
	session_poll_add(c->calls.session, loop);
	calls_poll_add(&c->calls, loop);
}

void
mcp_dispatch(struct client *c, const struct loop *loop)
{
	c->calls.now = loop->now;
	session_dispatch(c->calls.session, loop);
	calls_dispatch(&c->calls);
}

void
mcp_forget(struct client *c, void *to, bool cancel, int64_t now)
{
	c->calls.now = now;
	calls_forget(&c->calls, to, cancel);
}

size_t
mcp_backlog(const struct client *c)
{
	return session_queued(c->calls.session) + c->calls.answers.batched +
	    c->calls.held;
}

bool
mcp_unanswered(const struct client *c)
{
	return c->calls.open > c->calls.listens;
}

bool
mcp_awaits(const struct client *c, const void *to)
{
	return calls_await(&c->calls, to);
}

void
mcp_close(struct client *c, int64_t now)
{
	c->calls.now = now;
	session_close(c->calls.session, now);
	calls_close(&c->calls);
}

bool
mcp_closed(const struct client *c)
{
	return session_closed(c->calls.session);
}

const char *
mcp_version(const struct client *c)
{
	return c->reader.revision == NULL ? NULL : c->reader.revision->name;
}

bool
mcp_speaks(const char *name, size_t len, bool stateless)
{
	const struct revision *v;

	for (v = revisions; v->name != NULL; v++) {
		if (v->stateless == stateless && strlen(v->name) == len &&
		    memcmp(v->name, name, len) == 0)
			return true;
	}
	return false;
}
