/* SPDX-License-Identifier: ISC */
/* How a call is answered:
 *
 * 1. calls_tool() opens the call. If the call runs a job, open_job() queues the
 *    job. Otherwise open_wait() finds the task that the call is about, and
 *    types into it or kills it. If that fails, it answers with an error.
 * 2. In each iteration of the event loop, calls_read() searches the new output
 *    of the jobs (watch.c). Then calls_act() asks wait.c for each call whether
 *    an answer or a progress message is due.
 * 3. answer() writes the result (results.c) and sends it. If the transport has
 *    accepted it, mark_reported() marks the output and the events in it, so
 *    that no later result repeats them. close_call() removes the reference to
 *    the job.
 *
 * Over HTTP, the client may disconnect before the transport has written the
 * accepted result completely. Therefore, hold_result() keeps the call in the
 * list `sent` until calls_written() closes it. If the connection ends before
 * that, calls_forget() undoes mark_reported(), so that later results repeat
 * what the client has not received (H7).
 *
 * A call that is cancelled gets no answer, and its command is terminated. If
 * the client has cancelled the call because of a client-side timeout,
 * calls_abandon() keeps the command as a task (E6). */
#define _POSIX_C_SOURCE 200809L

#include "mcp/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "mcp/call.h"
#include "mcp/results.h"
#include "mcp/wait.h"
#include "session/log.h"
#include "session/secret.h"

enum {
	WAITS_MAX = 1000,          /* maximum number of unanswered requests that
	                            * have started neither a command nor an edit
	                            * (P6) */
	PROMPT_POLL = 50,          /* interval, in ms, at which boris checks
	                            * whether a terminal is waiting for input;
	                            * poll() does not report changed terminal
	                            * settings (I3) */
	/* Delay of a progress message after new output, in ms (O7). Without the
	 * delay, the message could arrive together with the response, and some
	 * clients would then lose the message. */
	PROGRESS_DELAY = 100,
	PROGRESS_SILENCE = 10000,  /* interval, in ms, between progress messages
	                            * while a command prints nothing */
	PROGRESS_SIZE = 4000,      /* maximum size of stdout or stderr in a
	                            * progress message, in bytes */
	PROGRESS_ENVELOPE = 2048,  /* maximum size of a progress message
	                            * excluding its output, in bytes */
	RESULT_SMALL = 4096,       /* maximum size, in bytes, of output that
	                            * boris sends without checking for free
	                            * memory */
	RESULT_FACTOR = 12         /* maximum memory for a result, as a multiple
	                            * of the size of its output */
};

#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* -- The list of open calls ------------------------------------------------ */

/* Returns the call that contains the list node, or NULL if the node is NULL. */
static struct call *
call_at(struct list_node *node)
{
	return node != NULL ? LIST_ITEM(node, struct call, node) : NULL;
}

static struct call *
first_call(const struct client *c)
{
	/* clang-tidy reports a use-after-free here because it does not see that
	 * close_call() removes the call from the list. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	return call_at(c->calls.first);
}

/* Returns the first call whose result the transport is still writing, or
 * NULL. */
static struct call *
first_sent(const struct client *c)
{
	/* As in first_call(), close_call() has removed a freed call. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	return call_at(c->sent.first);
}

/* Returns the next call in the list, or NULL at the end. */
static struct call *
next_call(const struct call *call)
{
	return call_at(call->node.next);
}

static bool
is_subscription(const struct call *call)
{
	return call->tool == NULL;
}

/* Returns whether the call is waiting for a job that it created itself. */
static bool
has_own_job(const struct call *call)
{
	return !is_subscription(call) && call->request.action == CALL_RUN;
}

/* Returns whether the call runs a command of its own, which may still be
 * queued. Returns false for an edit. */
static bool
runs_command(const struct call *call)
{
	return has_own_job(call) && call->job->do_work == NULL;
}

/* Returns NULL if the client can open another call. Otherwise, returns an error
 * message that gives the reason. `waits` is true if the new call only waits,
 * without starting a command or an edit. */
static const char *
find_shortage(const struct client *c, bool waits)
{
	if (waits && c->waits == WAITS_MAX)
		return "too many calls are waiting";
	/* Always accept the client's first open call. A client can open any
	 * number of calls, so accept further ones only while memory is
	 * available. */
	if (c->calls.first != NULL && !mem_is_available(MEM_SPARE))
		return "out of memory";
	return NULL;
}

/* Adds a new call to the client's list of open calls and returns it. `waits` is
 * true if the call only waits, without starting a command or an edit. Returns
 * NULL if there is not enough memory. */
static struct call *
add_call(struct client *c, const struct reply *r, struct json token, bool waits)
{
	struct buf text = { NULL, 0, 0 };
	struct call *call;
	int64_t number;
	size_t id_len;

	if (!buf_reserve(&text, JSON_GROWTH * (r->id.len + token.len)))
		return NULL;
	json_verbatim(r->id, &text);
	id_len = text.len;
	if (json_type(token) == JSON_STRING || json_int(token, &number))
		json_verbatim(token, &text);
	c->channel.outcome = RPC_LATER;
	call = mem_get(sizeof(*call));
	call->client = c;
	call->text = text;
	call->reply = *r;
	call->reply.id = (struct json){ text.data, id_len };
	call->token = (struct json){ text.data + id_len, text.len - id_len };
	call->wait_until = NEVER;
	call->answer_by = NEVER;
	call->read_at = c->now;
	call->progress_at = c->now + PROGRESS_SILENCE;
	list_append(&c->calls, &call->node);
	if (waits)
		c->waits++;
	c->bytes += call->text.len;
	return call;
}

/* Opens a call; see add_call(). If too many calls are waiting or there is not
 * enough memory, sends an error and returns NULL. */
static struct call *
open_call(struct client *c, const struct reply *r, struct json token,
          bool waits)
{
	const char *shortage = find_shortage(c, waits);
	struct call *call = NULL;

	if (shortage == NULL) {
		call = add_call(c, r, token, waits);
		shortage = "out of memory";
	}
	if (call == NULL)
		rpc_error(r, JSONRPC_INTERNAL, shortage, NULL);
	return call;
}

/* Removes a call from the client's list of open calls. */
static void
leave_open(struct call *call)
{
	struct client *c = call->client;

	list_remove(&c->calls, &call->node);
	if (!has_own_job(call))
		c->waits--;
	c->bytes -= call->text.len;
}

/* Removes a call from its list and frees it. `read` is true only if the call's
 * result has been sent and shows_end() is true for this result. In that case,
 * the session can remove a finished task that the call waited for (T3). */
static void
close_call(struct call *call, bool read)
{
	struct client *c = call->client;

	if (call->sent && call->job != NULL && !call->shows_end)
		call->job->sent_refs--;
	if (call->sent)
		list_remove(&c->sent, &call->node);
	else
		leave_open(call);
	if (call->job != NULL)
		session_unref(c->session, call->job, read);
	buf_free(&call->text);
	watch_free(&call->watch);
	unread_close(&call->out_shown);
	unread_close(&call->err_shown);
	unread_close(&call->out_before);
	unread_close(&call->err_before);
	call_request_free(&call->request);
	free(call);
}

/* Returns whether cancelling the call must terminate the call's task. In a
 * session of its own, a client can find a task that it has started in the
 * background, so the task continues (W2). A foreground command that has become
 * a task is terminated like any other foreground command, because the client
 * has not received the result that reports the task (E6). */
static bool
ends_with_call(const struct call *call)
{
	/* In a shared session, a task's id appears only in the response to the
	 * call that started the task. If this response is not sent, no client
	 * can terminate the task (H6, H7). */
	return call->client->session->shared || !call->job->background;
}

static void
cancel_call(struct call *call)
{
	struct client *c = call->client;
	struct job *job = call->job;

	if (has_own_job(call) && !job_has_id(job))
		session_cancel(c->session, job, c->now);
	else if (has_own_job(call) && ends_with_call(call))
		session_discard(job, c->now);
	close_call(call, false);
}

/* -- Results --------------------------------------------------------------- */

/* Returns whether the session can remove the call's job once the client has
 * received the call's result (T3). Returns false if the result reports the job
 * as a running task. The job may then end before the result has been written,
 * and a later result must report the end. */
static bool
shows_end(const struct call *call)
{
	const struct job *job = call->job;
	enum results_about about;

	if (job == NULL || job->rejected != REJECT_NONE)
		return true;
	about = results_about(job, &call->request);
	return job->state == JOB_FINISHED &&
	    (about == ABOUT_COMMAND_END || about == ABOUT_TASK_STATE);
}

/* Returns whether the program appears to be waiting for Enter after the call's
 * input was typed. A program that reads single keys reacts to each key, whereas
 * a line editor only echoes the input until Enter is typed. */
static bool
lacks_enter(const struct call *call)
{
	const struct job *job = call->job;

	if (!call->typed_plain)
		return false;
	if (call->mode != TERMINAL_KEYS)
		return true;
	return watch_has_only_echo(&call->watch) &&
	    job->prompt.state != TERMINAL_BUSY &&
	    !output_is_screen(job->out.text);
}

/* Returns whether there is enough memory for the result, whose size depends on
 * the job's output (E7). Up to four copies of the output may exist at once:
 * text, structured data, JSON, and the queued message. */
static bool
has_memory_for_result(const struct job *job)
{
	size_t n = 0;

	if (job != NULL && job->out.text != NULL)
		n = output_size(job->out.text) + output_size(job->err.text);
	return n <= RESULT_SMALL ||
	    mem_is_available(n * RESULT_FACTOR + MEM_SPARE);
}

/* Fills in the members of call->request that describe the outcome of the call,
 * such as `until_missed`. The call's result reports them. */
static void
fill_in_request(struct call *call)
{
	struct call_request *req = &call->request;
	struct job *job = call->job;

	req->until_missed = req->until.len > 0 && call->watch.seen_at == 0;
	req->prompt = job->prompt;
	/* While typed input is unread or there has been recent output, boris
	 * cannot determine whether the terminal is waiting for input. It can
	 * still detect a stopped process. */
	if (job_takes_input(job) && req->prompt.state == TERMINAL_BUSY)
		req->stopped = exec_find_stopped(&job->exec, call->client->now,
		    &req->stop_signal);
	req->no_enter = lacks_enter(call);
	req->secret = secret_offer(job);
}

/* Appends the members of the `result` object in the call's JSON-RPC
 * response. */
static void
put_result(struct buf *b, struct call *call)
{
	const struct caller *caller = &call->reply.caller;
	struct client *c = call->client;
	struct job *job = call->job;

	if (job == NULL) {
		results_list(b, caller, c->session, &call->request, c->now);
	} else if (job->rejected != REJECT_NONE) {
		results_rejected(b, caller, c->session, job, c->now);
	} else {
		fill_in_request(call);
		call->tool->put(b, caller, c->session, job, &call->request,
		    c->now);
	}
}

/* Marks the output and the events in the call's result as reported. Records
 * what undo_report() needs. */
static void
mark_reported(struct call *call)
{
	struct session *s = call->client->session;
	struct job *job = call->job;
	enum results_about about;

	call->shows_end = shows_end(call);
	if (job == NULL) {
		call->report = session_report_list(s);
		return;
	}
	call->report = session_report_notes(s);
	about = results_about(job, &call->request);
	call->shows_output = about != ABOUT_TASK_START;
	unread_copy(&call->out_before, &job->out.seen);
	unread_copy(&call->err_before, &job->err.seen);
	if (call->shows_output)
		job_mark_output_reported(job);
	if (about == ABOUT_TASK_STATE && job->out.text != NULL)
		job_mark_prompt_reported(job, &call->request.prompt);
	if (about == ABOUT_COMMAND_END)
		session_mark_dir_reported(s, job);
}

/* Marks the output of a result that was lost as not reported. */
static void
restore_output(const struct call *lost)
{
	struct job *job = lost->job;
	struct call *call;

	unread_copy(&job->out.seen, &lost->out_before);
	unread_copy(&job->err.seen, &lost->err_before);
	/* If one of these later results is lost too, the job must not skip the
	 * output of this one. */
	for (call = next_call(lost); call != NULL; call = next_call(call)) {
		if (call->job != job)
			continue;
		unread_copy(&call->out_before, &lost->out_before);
		unread_copy(&call->err_before, &lost->err_before);
	}
}

/* Undoes mark_reported() for a result that was not written completely. */
static void
undo_report(struct call *call)
{
	session_report_lost(call->client->session, call->report);
	if (call->shows_output) {
		restore_output(call);
		session_unread(call->job);
	}
	if (call->job != NULL)
		job_mark_prompt_lost(call->job, &call->request.prompt);
}

/* Returns whether the call has a job that no client can use without the call's
 * result: a command that has not ended, or a task whose id is only in the
 * result. */
static bool
needs_result(const struct call *call)
{
	const struct job *job = call->job;

	return has_own_job(call) &&
	    (job->state != JOB_FINISHED || job_has_id(job));
}

/* Closes a call whose result may not have reached the client. Later results of
 * the session repeat the output and notes of this result (H7). In a shared
 * session, later results cannot repeat them, and the call is cancelled instead
 * if its job is of no use without the result. */
static void
lose_result(struct call *call)
{
	struct session *s = call->client->session;

	if (s->shared && needs_result(call)) {
		cancel_call(call);
		return;
	}
	if (runs_command(call) && !s->shared)
		session_keep(s, call->job);
	close_call(call, false);
}

/* Closes a call whose result was not written completely. */
static void
lose_sent_result(struct call *call)
{
	undo_report(call);
	lose_result(call);
}

/* Closes a call whose result has been sent. */
static void
close_answered(struct call *call)
{
	session_report_sent(call->client->session, call->report);
	close_call(call, call->shows_end);
}

/* Keeps a call whose result the transport has accepted until the transport has
 * written the result. Closes the call at once if the transport does not report
 * this, or if no later result can repeat this one. */
static void
hold_result(struct call *call)
{
	struct client *c = call->client;

	if (!c->channel.confirms || c->session->closing) {
		close_answered(call);
		return;
	}
	leave_open(call);
	list_append(&c->sent, &call->node);
	call->sent = true;
	if (call->job != NULL && !call->shows_end)
		call->job->sent_refs++;
}

/* Sends the call's result, or an error if there is not enough memory for it.
 * Returns whether the transport has accepted the result. */
static bool
send_result(struct call *call)
{
	struct client *c = call->client;
	struct buf b = { NULL, 0, 0 };

	if (!has_memory_for_result(call->job)) {
		rpc_error(&call->reply, JSONRPC_INTERNAL, RPC_NO_MEMORY, NULL);
		return false;
	}
	put_result(&b, call);
	c->queue_space -= b.len < c->queue_space ? b.len : c->queue_space;
	return rpc_result(&call->reply, &b);
}

/* Sends the call's result, unless the client has disconnected, and closes the
 * call. */
static void
answer(struct call *call)
{
	bool accepted = !call->orphaned && send_result(call);

	if (accepted && !call->reply.in_doubt) {
		mark_reported(call);
		hold_result(call);
	} else if (call->orphaned || call->reply.in_doubt ||
	    call->client->session->shared) {
		lose_result(call);
	} else {
		close_call(call, false);
	}
}

/* -- Progress (O7, W1) ------------------------------------------------- */

/* Returns whether the command has printed output since the last progress
 * message. */
static bool
has_unsent_output(const struct call *call)
{
	const struct job *job = call->job;

	if (job == NULL || job->out.text == NULL)
		return false;
	return output_has_new(job->out.text, &call->out_shown) ||
	    output_has_new(job->err.text, &call->err_shown);
}

/* Returns the text of a progress message that names what the call is waiting
 * for. */
static const char *
find_reason_to_wait(const struct job *job)
{
	if (job == NULL)
		return "waiting for a task to end";
	if (job->parallel)
		return "waiting for one of the parallel commands to end";
	return "waiting for the previous command to end";
}

static void
send_progress(struct call *call)
{
	struct client *c = call->client;
	struct buf text = { NULL, 0, 0 }, b = text;
	const struct job *job = call->job;
	bool has_output = job != NULL && job->out.text != NULL;

	if (has_output) {
		output_append_new(job->out.text, &call->out_shown,
		    PROGRESS_SIZE, &text);
		output_append_new(job->err.text, &call->err_shown,
		    PROGRESS_SIZE, &text);
		/* A client displays only the latest progress message, so repeat
		 * the last line of output if there is no new output. */
		if (text.len == 0)
			output_last_line(job->out.text, &text);
	} else {
		buf_add(&text, find_reason_to_wait(job));
	}
	call->progress_at = c->now + PROGRESS_DELAY;
	if (!buf_reserve(&b, PROGRESS_ENVELOPE + text.len * 6)) {
		buf_free(&text);
		return;
	}
	buf_fmt(&b, "{\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/progress\",\"params\":{"
	    "\"progressToken\":%.*s,\"progress\":%.3f",
	    (int)call->token.len, call->token.text,
	    fmt_seconds(c->now - call->read_at));
	json_put_bytes(&b, "message", text.data, text.len);
	buf_add(&b, "}}");
	/* Mark the output as sent only if the transport has accepted this
	 * progress message. Otherwise, the next progress message will repeat
	 * the output. */
	if (rpc_post(&call->reply, RPC_PROGRESS, 0, &b)) {
		if (has_output) {
			output_mark_read(job->out.text, &call->out_shown);
			output_mark_read(job->err.text, &call->err_shown);
		}
		call->progress_at = c->now + PROGRESS_SILENCE;
	}
	buf_free(&text);
	buf_free(&b);
}

/* -- Read and act ---------------------------------------------------------- */

/* Searches the command's new output for the text `until` or for any output,
 * whichever the call is waiting for. Schedules a progress message if there is
 * new output to send. */
static void
read_call(struct call *call)
{
	int64_t now = call->client->now, soon = now + PROGRESS_DELAY;
	bool searches = call->request.until.len > 0 || call->request.only_new;

	if (searches && call->job != NULL)
		watch_read(&call->watch, call->job, now);
	if (call->progress_at > soon && has_unsent_output(call))
		call->progress_at = soon;
}

/* Sends the call's result if it is due. Otherwise, sends a progress message if
 * one is due. */
static void
act_on_call(struct call *call)
{
	struct client *c = call->client;
	struct call_due due = wait_due(call, c->session, c->now);

	if (c->now >= due.answer_at && c->queue_space > 0) {
		call->request.limit_reached = due.by_limit;
		answer(call);
	} else if (c->now >= due.progress_at) {
		send_progress(call);
	}
}

void
calls_poll_add(struct client *c, struct loop *loop)
{
	const struct call *call;
	struct call_due due;

	for (call = first_call(c); call != NULL; call = next_call(call)) {
		due = wait_due(call, c->session, loop->now);
		if (c->queue_space > 0)
			loop_until(loop, due.answer_at);
		loop_until(loop, due.progress_at);
		if (call->job != NULL && job_takes_input(call->job))
			loop_until(loop, loop->now + PROMPT_POLL);
	}
}

void
calls_read(struct client *c)
{
	struct call *call;

	c->just_read = NULL;
	for (call = first_call(c); call != NULL; call = next_call(call))
		read_call(call);
}

void
calls_act(struct client *c)
{
	struct call *call, *next;

	for (call = first_call(c); call != NULL; call = next) {
		next = next_call(call);
		act_on_call(call);
	}
}

/* -- New calls ------------------------------------------------------------- */

/* Returns whether the input contains no control characters, such as Enter. */
static bool
is_plain_text(const struct buf *input)
{
	unsigned char c;
	size_t i;

	for (i = 0; i < input->len; i++) {
		c = (unsigned char)input->data[i];
		if (c < ' ' || c == 0x7f)
			return false;
	}
	return true;
}

/* Logs the input before it is typed. Returns 0, or -1 with errno set. */
static int
log_typing(const struct call *call)
{
	const struct job *job = call->job;

	if (!job_takes_input(job) || call->client->options->log == NULL)
		return 0;
	return log_input(job, &call->request.input, job->prompt.secret);
}

/* Logs the call's input and types it into the task's terminal. If that fails,
 * writes an error result to `wrong`. */
static void
type_input(struct call *call, struct buf *wrong)
{
	const struct caller *caller = &call->reply.caller;
	const struct buf *input = &call->request.input;
	struct job *job = call->job;
	struct client *c = call->client;

	call->mode = TERMINAL_UNSEEN;
	if (input->len == 0 && job->exec.terminal)
		return;
	/* Skip output that was printed before the input was typed. */
	read_call(call);
	watch_restart(&call->watch);
	if (log_typing(call) < 0)
		results_unlogged(wrong, caller, c->session, errno);
	else if (exec_type(&job->exec, input, c->now, &call->mode) < 0)
		results_not_typed(wrong, caller, c->session, job, errno);
	call->typed_plain = is_plain_text(input);
	watch_typed(&call->watch, job, input, call->mode);
	buf_free(&call->request.input);
	job_read_prompt(job, c->now);
}

/* Reads the task's new output and checks whether its terminal is waiting for
 * input. Then lets every call that refers to the task search the new output,
 * because later output may overwrite it in memory. */
static void
read_task(struct client *c, struct job *job)
{
	struct call *call;

	/* Read a task only once per iteration of the event loop, so that all
	 * results of this iteration show the same output. */
	if (c->just_read == job || job->state != JOB_TASK)
		return;
	c->just_read = job;
	job_read_prompt(job, c->now);
	exec_read(&job->exec, c->now);
	for (call = first_call(c); call != NULL; call = next_call(call)) {
		if (call->job == job)
			read_call(call);
	}
}

/* Returns the task that the request names, or NULL if there is no such task. */
static struct job *
find_task(struct session *s, const struct call_request *req)
{
	struct job *job = session_find_task(s, &req->id, req->pid);

	if (job == NULL || !s->shared)
		return job;
	/* If the request contains a pid in addition to a task id, both must
	 * belong to the same task (H6). */
	if (req->by_pid && req->pid != 0 && job->exec.pid != req->pid)
		return NULL;
	return job;
}

/* Finds the task that the call names, and types into the task's terminal or
 * kills the task, if the call requests this. On failure, writes an error result
 * to `wrong`. */
static void
act_on_task(struct call *call, struct buf *wrong)
{
	struct client *c = call->client;
	struct call_request *req = &call->request;
	struct job *job = find_task(c->session, req);

	if (job == NULL) {
		results_no_task(wrong, &call->reply.caller, c->session, req,
		    c->now);
		return;
	}
	call->job = job;
	session_ref(job);
	watch_start(&call->watch, job);
	unread_copy(&call->out_shown, &job->out.seen);
	unread_copy(&call->err_shown, &job->err.seen);
	read_task(c, job);
	if (req->action == CALL_TYPE)
		type_input(call, wrong);
	else if (req->action == CALL_KILL)
		session_kill(job, c->now);
}

/* Sends an error result with the session's notes, and frees it. */
static void
answer_error(struct call *call, struct buf *result)
{
	if (!rpc_result(&call->reply, result) || call->reply.in_doubt) {
		close_call(call, false);
		return;
	}
	call->report = session_report_notes(call->client->session);
	hold_result(call);
}

/* Starts waiting for the task that the call names, or for any task if the call
 * lists tasks. Sends the result at once if no wait is needed. */
static void
open_wait(struct call *call)
{
	struct client *c = call->client;
	struct buf wrong = { NULL, 0, 0 };

	call->wait_until = c->now + call->request.time;
	call->tasks_ended = c->session->tasks_ended;
	if (call->request.action != CALL_LIST)
		act_on_task(call, &wrong);
	if (wrong.len == 0) {
		read_call(call);
		act_on_call(call);
		return;
	}
	answer_error(call, &wrong);
}

/* Queues the call's job. If its command is still running at `limit`, a time in
 * ms, the command becomes a task. */
static void
open_job(struct call *call, struct job *job, int64_t limit)
{
	call->job = job;
	job->queued_at = call->client->now;
	job->call_limit = call->reply.caller.call_limit;
	job->hand_over_at = limit;
	session_run(call->client->session, job);
}

bool
calls_tool(struct client *c, const struct reply *r, struct json token,
           const struct tool *tool, struct job *job,
           const struct call_request *request)
{
	struct call *call = open_call(c, r, token, job == NULL);
	int64_t limit = NEVER;

	if (call == NULL)
		return false;
	/* `limit` is the time at which a command in the foreground becomes a
	 * task, or a wait for a task ends (see mcp/call.h). */
	if (r->caller.call_limit > 0)
		limit = c->now + r->caller.call_limit;
	/* A wait for a task needs a limit only if the client ignores responses
	 * that arrive after its timeout (K2). */
	if (!r->caller.client->takes_late_answer)
		call->answer_by = limit;
	call->tool = tool;
	call->request = *request;
	/* Ignore a failure of watch_open(), although `until` is then never
	 * found. Such a failure is unlikely, because watch_open() allocates
	 * little memory, and large allocations always leave enough memory for
	 * small ones. */
	watch_open(&call->watch, &call->request.until);
	if (job != NULL)
		open_job(call, job, limit);
	else
		open_wait(call);
	return true;
}

void
calls_reject(struct client *c, const struct reply *r, struct buf *result)
{
	struct json no_token = { NULL, 0 };
	struct call *call = add_call(c, r, no_token, true);

	if (call != NULL) {
		answer_error(call, result);
		return;
	}
	buf_free(result);
	rpc_error(r, JSONRPC_INTERNAL, "out of memory", NULL);
}

void
calls_listen(struct client *c, const struct reply *r)
{
	struct json no_token = { NULL, 0 };
	struct buf b = { NULL, 0, 0 };
	struct call *call = open_call(c, r, no_token, true);

	if (call == NULL)
		return;
	buf_fmt(&b, "{\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/subscriptions/acknowledged\",\"params\":{"
	    "\"_meta\":{\"" META_SUBSCRIPTION "\":%.*s},"
	    "\"notifications\":{}}}",
	    (int)call->reply.id.len, call->reply.id.text);
	rpc_post(r, RPC_NOTICE, 0, &b);
	buf_free(&b);
}

/* -- The end of calls ------------------------------------------------------ */

/* Returns the call in the list that has the given request id, or NULL if there
 * is none. */
static struct call *
find_call(const struct list *calls, struct json id)
{
	struct call *call = call_at(calls->first);

	/* Requests with an id longer than RPC_ID_MAX are rejected. */
	if (id.len > RPC_ID_MAX)
		return NULL;
	while (call != NULL && !json_equal(call->reply.id, id))
		call = next_call(call);
	return call;
}

void
calls_cancel(struct client *c, struct json id)
{
	struct call *call = find_call(&c->calls, id);

	if (call != NULL)
		cancel_call(call);
}

void
calls_abandon(struct client *c, struct json id)
{
	struct call *call = find_call(&c->calls, id);

	if (call == NULL) {
		call = find_call(&c->sent, id);
		if (call != NULL)
			call->reply.in_doubt = true;
		return;
	}
	if (!runs_command(call) || c->session->shared) {
		cancel_call(call);
		return;
	}
	session_abandon(c->session, call->job, c->now);
	close_call(call, false);
}

void
calls_forget(struct client *c, void *to, bool cancel, int64_t now)
{
	struct call *call, *next;

	c->now = now;
	for (call = first_sent(c); call != NULL; call = next) {
		next = next_call(call);
		if (call->reply.to == to)
			lose_sent_result(call);
	}
	for (call = first_call(c); call != NULL; call = next) {
		next = next_call(call);
		if (call->reply.to != to)
			continue;
		call->reply.to = NULL;
		call->orphaned = true;
		if (cancel)
			cancel_call(call);
		else if (!has_own_job(call) || job_has_id(call->job))
			lose_result(call);
	}
}

void
calls_doubt(struct client *c, const void *to)
{
	struct call *call;

	for (call = first_call(c); call != NULL; call = next_call(call)) {
		if (call->reply.to == to)
			call->reply.in_doubt = true;
	}
	for (call = first_sent(c); call != NULL; call = next_call(call)) {
		if (call->reply.to == to)
			call->reply.in_doubt = true;
	}
}

void
calls_written(struct client *c, const void *to)
{
	struct call *call, *next;

	for (call = first_sent(c); call != NULL; call = next) {
		next = next_call(call);
		if (call->reply.to != to)
			continue;
		if (call->reply.in_doubt)
			lose_sent_result(call);
		else
			close_answered(call);
	}
}

/* Returns whether the list contains a call of the peer at the address `to`. */
static bool
has_call_of(const struct list *calls, const void *to)
{
	const struct call *call = call_at(calls->first);

	while (call != NULL && call->reply.to != to)
		call = next_call(call);
	return call != NULL;
}

bool
calls_await(const struct client *c, const void *to)
{
	return has_call_of(&c->calls, to) || has_call_of(&c->sent, to);
}

bool
calls_are_open(const struct client *c)
{
	const struct call *call = first_call(c);

	while (call != NULL && is_subscription(call))
		call = next_call(call);
	return call != NULL || c->sent.first != NULL;
}

void
calls_close(struct client *c)
{
	struct buf b = { NULL, 0, 0 };
	struct call *call, *next;

	/* No later result of the session can repeat these results. */
	while (c->sent.first != NULL)
		close_answered(first_sent(c));
	calls_read(c);
	calls_act(c);
	for (call = first_call(c); call != NULL; call = next) {
		/* clang-tidy reports a use-after-free here because it does not
		 * see that close_call() removes the call from the list. */
		next = next_call(call);  /* NOLINT(clang-analyzer-unix.Malloc) */
		if (!is_subscription(call))
			continue;
		/* Clear the protocol revision, because rpc_result() would add
		 * another _meta member for a stateless revision. */
		call->reply.caller.revision = NULL;
		buf_fmt(&b, "\"resultType\":\"complete\",\"_meta\":{"
		    "\"" META_SUBSCRIPTION "\":%.*s}",
		    (int)call->reply.id.len, call->reply.id.text);
		rpc_result(&call->reply, &b);
		close_call(call, false);
	}
}

void
calls_free(struct client *c)
{
	while (c->calls.first != NULL)  /* close_call() removes the call */
		close_call(first_call(c), false);
	while (c->sent.first != NULL)
		close_call(first_sent(c), false);
}
