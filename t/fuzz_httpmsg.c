/* libFuzzer target for httpmsg.c and httprules.c:
 *
 *     clang -fsanitize=fuzzer,address,undefined t/fuzz_httpmsg.c \
 *         httpmsg.c httprules.c json.c buf.c
 *
 * What is understood of a connection's bytes must not depend on how they were
 * split; a body has the length that was said; and what is let pass has no
 * control in it and no second opinion about where the body ends. The first
 * byte says how long the pieces are, and which requests are refused. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../httprules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static void
note(struct buf *said, const char *text)
{
	const char *p;

	buf_puts(said, text == NULL ? "-" : text);
	buf_putc(said, '\n');
	for (p = text; p != NULL && *p != '\0'; p++)
		must(*p == '\t' || ((unsigned char)*p >= ' ' && *p != 127));
}

static void
note_head(struct buf *said, const struct request *r)
{
	const char *length = r->field[FIELD_CONTENT_LENGTH];
	const char *coding = r->field[FIELD_TRANSFER_ENCODING];
	int i;

	must(r->verb != NULL && *r->verb != '\0' && r->path != NULL);
	must(strpbrk(r->verb, " \t") == NULL && strchr(r->path, ' ') == NULL);
	must(length == NULL || coding == NULL);
	must(length == NULL || strspn(length, "0123456789") == strlen(length));
	must(r->http10 || r->field[FIELD_HOST] != NULL);
	must(r->left >= 0 && r->head.len <= REQUEST_HEAD_LIMIT + 1);
	must(r->state == (coding != NULL ? REQUEST_SIZE
	    : r->left > 0 ? REQUEST_BODY : REQUEST_WHOLE));
	note(said, r->verb);
	note(said, r->path);
	for (i = 0; i < FIELDS; i++)
		note(said, r->field[i]);
	buf_int(said, r->left);
	buf_int(said, r->http10 * 16 + r->last * 8 + r->accepts_json * 4 +
	    r->accepts_stream * 2 + r->accepts_given);
}

/* Whatever the request says, a response has whole lines, and its body after
 * the one that is empty. */
static void
note_response(struct buf *said, const struct request *r, bool loopback)
{
	struct http_rules rules = { loopback, "https://a.b\0",
	    loopback ? "a" : NULL };
	struct http_verdict v = rules_check(r, &rules, "http://127.0.0.1:8080");
	struct buf b = { NULL, 0, 0, false }, headers = b;
	struct response response = { 204, "text/plain", v.why, strlen(v.why),
	    &headers, r->last };
	const char *end, *p;

	must(v.status == 0 || (v.status >= 400 &&
	    v.why[response.len - 1] == '\n'));
	if (v.status != 0)
		response.status = v.status;
	rules_headers(&headers, r, response.status, v.cors, NULL);
	response_put(&b, r, &response);
	buf_putc(&b, '\0');
	end = strstr(b.data, "\r\n\r\n");
	must(end != NULL && strlen(b.data) == b.len - 1);
	for (p = b.data; p < end; p++)
		must(*p != '\n' || p[-1] == '\r');
	must(v.status == 0 || strcmp(r->verb, "HEAD") == 0
	    ? end[4] == '\0' : strcmp(end + 4, v.why) == 0);
	buf_puts(said, b.data);
	buf_free(&headers);
	buf_free(&b);
}

/* All that is said of the bytes, given in pieces */
static void
read_all(struct buf *said, const uint8_t *data, size_t size, size_t piece,
         unsigned refuse)
{
	struct buf in = { NULL, 0, 0, false };
	struct request r;
	int64_t length = 0;
	unsigned n = 0;
	size_t some;
	int event = REQUEST_WAITS;

	memset(&r, 0, sizeof(r));
	while (size > 0 && event < 400) {
		some = piece < size ? piece : size;
		buf_put(&in, data, some);
		data += some;
		size -= some;
		while ((event = request_take(&r, &in)) == REQUEST_ASKS ||
		    event == REQUEST_ENDS) {
			buf_int(said, event);
			if (event == REQUEST_ASKS) {
				note_head(said, &r);
				note_response(said, &r, refuse & 1);
				length = r.state != REQUEST_SIZE ? r.left : -1;
				if (refuse >> (n++ & 3) & 1)
					request_drop(&r);
				continue;
			}
			must(length < 0 || r.dropped ||
			    (size_t)length == r.body.len);
			must(!r.dropped || r.body.len == 0);
			buf_put(said, r.body.data, r.body.len);
			request_free(&r);
		}
	}
	must(event == REQUEST_WAITS || event >= 400);
	buf_int(said, event);
	buf_int(said, event == REQUEST_WAITS ? (int)r.state : 0);
	request_free(&r);
	buf_free(&in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = { NULL, 0, 0, false }, parts = whole, bytes = whole;
	unsigned refuse;

	if (size < 2)
		return 0;
	refuse = data[0] >> 4;
	read_all(&whole, data + 1, size - 1, size, refuse);
	read_all(&parts, data + 1, size - 1, 2 + data[0] % 16, refuse);
	read_all(&bytes, data + 1, size - 1, 1, refuse);
	must(whole.len == parts.len && whole.len == bytes.len);
	must(memcmp(whole.data, parts.data, whole.len) == 0);
	must(memcmp(whole.data, bytes.data, whole.len) == 0);
	buf_free(&whole);
	buf_free(&parts);
	buf_free(&bytes);
	return 0;
}
