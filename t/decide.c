/* SPDX-License-Identifier: ISC */
/* decide: table tests of the functions that decide what is due. They start no
 * processes.
 *
 *	decide TABLE
 *
 * TABLE is `queue`, `jobs`, `calls`, `lists` or `prompts`. Each row of a table
 * has a state and the decision that is expected in that state at NOW. decide
 * prints the rows for which the function decides otherwise, and then exits with
 * status 1. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "mcp/tools.h"
#include "mcp/wait.h"
#include "run/prompt.h"
#include "session/due.h"

enum { NOW = 100000 };

static struct options keep_late = { .on_timeout = true };
static struct options end_late = { .on_timeout = false };

static enum job_rejection
do_nothing(struct job *job, const char *dir, int64_t now)
{
	(void)job;
	(void)dir;
	(void)now;
	return REJECT_NONE;
}

/* -- Jobs in the queue --------------------------------------------------- */

/* In a row, a hand_over_at of 0 stands for NEVER. */
static const struct {
	const char *name;
	struct job job;
	struct queue_state state;
	struct job_due due;
} queue[] = {
	{ "a job starts if no other job runs",
	  .due = { DUE_START, NOW } },
	{ "a job waits for the job before it",
	  .state.running_in_order = 1, .due = { DUE_NOTHING, NEVER } },
	{ "a job does not wait for parallel jobs",
	  .state.running_parallel = 16, .due = { DUE_START, NOW } },
	{ "a job waits while the queue is paused",
	  .state.paused = true, .due = { DUE_NOTHING, NEVER } },
	{ "an edit is made",
	  .job.do_work = do_nothing, .due = { DUE_WORK, NOW } },
	{ "an edit waits for the command before it",
	  .job.do_work = do_nothing, .state.running_in_order = 1,
	  .due = { DUE_NOTHING, NEVER } },
	{ "an edit is made even after the call limit",
	  .job = { .do_work = do_nothing, .hand_over_at = NOW - 1 },
	  .due = { DUE_WORK, NOW } },

	{ "an edit of a locked file waits until its next attempt",
	  .job = { .do_work = do_nothing, .work_at = NOW + 20 },
	  .state.edit_waits = true, .due = { DUE_NOTHING, NOW + 20 } },
	{ "an edit of a locked file is attempted again",
	  .job = { .do_work = do_nothing, .work_at = NOW },
	  .state.edit_waits = true, .due = { DUE_WORK, NOW } },
	{ "a job waits for an earlier edit of a locked file",
	  .state.edit_waits = true, .due = { DUE_NOTHING, NEVER } },

	{ "a parallel job starts even if the queue is paused",
	  .job.parallel = true,
	  .state = { .running_in_order = 1, .paused = true },
	  .due = { DUE_START, NOW } },
	{ "the sixteenth parallel job starts",
	  .job.parallel = true, .state.running_parallel = 15,
	  .due = { DUE_START, NOW } },
	{ "the seventeenth parallel job waits",
	  .job.parallel = true, .state.running_parallel = 16,
	  .due = { DUE_NOTHING, NEVER } },
	{ "a parallel task does not count as a parallel job",
	  .job = { .parallel = true, .background = true },
	  .state.running_parallel = 16, .due = { DUE_START, NOW } },

	{ "a task starts if no other job runs",
	  .job.background = true, .due = { DUE_START, NOW } },
	{ "a task waits for the command before it",
	  .job.background = true, .state.running_in_order = 1,
	  .due = { DUE_NOTHING, NEVER } },
	{ "a task is rejected if too many tasks run",
	  .job.background = true, .state.tasks_full = true,
	  .due = { DUE_REJECT_TASK, NOW } },
	{ "a foreground command starts even if too many tasks run",
	  .state.tasks_full = true, .due = { DUE_START, NOW } },

	{ "a queued job waits until its call limit",
	  .job.hand_over_at = NOW + 1, .state.running_in_order = 1,
	  .due = { DUE_NOTHING, NOW + 1 } },
	{ "a queued job is given up at its call limit",
	  .job.hand_over_at = NOW, .state.running_in_order = 1,
	  .due = { DUE_GIVE_UP, NOW } },
	{ "a queued job is not given up while the queue is paused",
	  .job.hand_over_at = NOW, .state.paused = true,
	  .due = { DUE_NOTHING, NEVER } },
	{ "a waiting parallel job is given up even if the queue is paused",
	  .job = { .parallel = true, .hand_over_at = NOW },
	  .state = { .running_parallel = 16, .paused = true },
	  .due = { DUE_GIVE_UP, NOW } },
	{ "a job that can start at its call limit starts as a task",
	  .job.hand_over_at = NOW, .due = { DUE_START_LATE, NOW } },
	{ "a job is rejected at its call limit if it cannot become a task",
	  .job.hand_over_at = NOW, .state.tasks_full = true,
	  .due = { DUE_REJECT_LATE, NOW } },
	{ "a job with under a second left is rejected if too many tasks run",
	  .job = { .hand_over_at = NOW + 999, .timeout = 11000 },
	  .state.tasks_full = true, .due = { DUE_REJECT_LATE, NOW } },
	{ "a job with under a second left starts if it can become a task",
	  .job = { .hand_over_at = NOW + 999, .timeout = 11000 },
	  .due = { DUE_START, NOW } },
	{ "a job with a second left starts even if too many tasks run",
	  .job = { .hand_over_at = NOW + 1000, .timeout = 600000 },
	  .state.tasks_full = true, .due = { DUE_START, NOW } },
	{ "a job starts if it has waited for less time than it has left",
	  .job = { .hand_over_at = NOW + 600, .queued_at = NOW - 600,
	    .timeout = 600000 },
	  .state.tasks_full = true, .due = { DUE_START, NOW } },
	{ "a job starts if its timeout expires soon after its call limit",
	  .job = { .hand_over_at = NOW + 600, .timeout = 10600 },
	  .state.tasks_full = true, .due = { DUE_START, NOW } },
	{ "a task starts as usual at its call limit",
	  .job = { .background = true, .hand_over_at = NOW },
	  .due = { DUE_START, NOW } },
};

static bool
check_due(const char *name, struct job_due is, struct job_due should)
{
	if (is.action == should.action && is.at == should.at)
		return true;
	printf("%s: action %d at %jd, should be %d at %jd\n", name,
	    (int)is.action, (intmax_t)is.at, (int)should.action,
	    (intmax_t)should.at);
	return false;
}

static int
check_queue(void)
{
	struct job job;
	size_t i;
	int wrong = 0;

	for (i = 0; i < sizeof(queue) / sizeof(queue[0]); i++) {
		job = queue[i].job;
		if (job.hand_over_at == 0)
			job.hand_over_at = NEVER;
		if (!check_due(queue[i].name,
		    due_queued(&job, &queue[i].state, NOW), queue[i].due))
			wrong++;
	}
	return wrong;
}

/* -- Jobs that have been started ----------------------------------------- */

/* In a row, a deadline or hand_over_at of 0 stands for NEVER. */
static const struct {
	const char *name;
	struct job job;
	struct job_due due;
} jobs[] = {
	{ "nothing is due for a command without limits",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_RUNNING },
	  .due = { DUE_NOTHING, NEVER } },
	{ "a job ends with its command",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_ORPHANED,
	           .exec.ended = true },
	  .due = { DUE_END, NOW } },
	{ "a task ends with its command",
	  .job = { .state = JOB_TASK, .exec.state = EXEC_GONE,
	           .exec.ended = true },
	  .due = { DUE_END, NOW } },
	{ "a command that ends at its timeout has not timed out",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_GONE,
	           .exec.ended = true, .deadline = NOW },
	  .due = { DUE_END, NOW } },
	{ "a job fails if its program could not be started",
	  .job = { .state = JOB_RUNNING,
	           .exec = { .state = EXEC_GONE, .ended = true,
	                     .outcome.error = 2 } },
	  .due = { DUE_FAIL, NOW } },
	{ "nothing is due for a finished job",
	  .job = { .state = JOB_FINISHED, .exec.state = EXEC_GONE,
	           .exec.ended = true },
	  .due = { DUE_NOTHING, NEVER } },

	{ "a command continues until its timeout",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_RUNNING,
	           .deadline = NOW + 1 },
	  .due = { DUE_NOTHING, NOW + 1 } },
	{ "a command is terminated at its timeout",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_RUNNING,
	           .deadline = NOW },
	  .due = { DUE_TIME_OUT, NOW } },
	{ "with --on-timeout=background, a command is kept at its timeout",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_RUNNING,
	           .deadline = NOW, .options = &keep_late },
	  .due = { DUE_KEEP, NOW } },
	{ "with --on-timeout=background, a task is terminated at its timeout",
	  .job = { .state = JOB_TASK, .exec.state = EXEC_RUNNING,
	           .deadline = NOW, .options = &keep_late },
	  .due = { DUE_TIME_OUT, NOW } },
	{ "a command that is being terminated has no timeout",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_STOPPING,
	           .deadline = NOW },
	  .due = { DUE_NOTHING, NEVER } },

	{ "a command continues until its call limit",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_RUNNING,
	           .deadline = NOW + 60000, .hand_over_at = NOW + 1 },
	  .due = { DUE_NOTHING, NOW + 1 } },
	{ "a command is handed over at its call limit",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_RUNNING,
	           .deadline = NOW + 60000, .hand_over_at = NOW },
	  .due = { DUE_HAND_OVER, NOW } },
	{ "a command without a timeout is handed over at its call limit",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_RUNNING,
	           .hand_over_at = NOW },
	  .due = { DUE_HAND_OVER, NOW } },
	{ "a command is not handed over if its timeout expires soon",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_RUNNING,
	           .deadline = NOW + 10000, .hand_over_at = NOW },
	  .due = { DUE_NOTHING, NOW + 10000 } },
	{ "a command that is being terminated is not handed over",
	  .job = { .state = JOB_RUNNING, .exec.state = EXEC_SETTLING,
	           .hand_over_at = NOW },
	  .due = { DUE_NOTHING, NEVER } },
	{ "a task is not handed over",
	  .job = { .state = JOB_TASK, .exec.state = EXEC_RUNNING,
	           .hand_over_at = NOW },
	  .due = { DUE_NOTHING, NEVER } },
};

static int
check_jobs(void)
{
	struct job job;
	size_t i;
	int wrong = 0;

	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		job = jobs[i].job;
		if (job.options == NULL)
			job.options = &end_late;
		if (job.deadline == 0)
			job.deadline = NEVER;
		if (job.hand_over_at == 0)
			job.hand_over_at = NEVER;
		if (!check_due(jobs[i].name, due_started(&job, NOW),
		    jobs[i].due))
			wrong++;
	}
	return wrong;
}

/* -- Calls ---------------------------------------------------------------- */

/* The wait of each call ends at END. In a row, a limit of 0 stands for NEVER.
 * RUNS makes the job a running task. */
enum { END = NOW + 30000 };
#define RUNS .state = JOB_TASK, .background = true
#define UNTIL { .data = "ready", .len = 5 }

static const struct {
	const char *name;
	struct call_request request;
	struct watch watch;
	struct job job;
	int64_t limit;
	bool printed;          /* the job has output that was not read */
	int64_t answer_at;     /* 0: immediately */
	bool by_limit;
} calls[] = {
	/* Calls that start a job */
	{ "a queued command has no answer",
	  .job.state = JOB_QUEUED, .limit = NOW, .answer_at = NEVER },
	{ "a running command has no answer",
	  .job.state = JOB_RUNNING, .limit = NOW, .answer_at = NEVER },
	{ "a finished command is answered",
	  .job.state = JOB_FINISHED },
	{ "a command that has become a task is answered",
	  .job.state = JOB_TASK },
	{ "the start of a task is answered at once",
	  .job = { RUNS, .started_at = NOW }, .answer_at = NOW },
	{ "the start of a task waits until its program has started",
	  .job = { RUNS, .started_at = NOW, .exec.starting = true },
	  .answer_at = NEVER },
	{ "the start of a task waits at most a second for its directory",
	  .job = { RUNS, .started_at = NOW - 1000, .exec.starting = true },
	  .answer_at = NOW - 1000 },
	{ "the wait of a start is counted from the start of the command",
	  .request.time = 5000, .job = { RUNS, .started_at = NOW - 1000 },
	  .answer_at = NOW + 4000 },

	/* The wait for a task */
	{ "a wait ends at its deadline",
	  .request.action = CALL_READ, .job = { RUNS }, .answer_at = END },
	{ "a wait ends when the task ends",
	  .request.action = CALL_READ, .job.state = JOB_FINISHED },
	{ "a wait ends at the call limit",
	  .request.action = CALL_READ, .job = { RUNS }, .limit = END - 1,
	  .answer_at = END - 1, .by_limit = true },
	{ "a wait that is shorter than the call limit ends at its deadline",
	  .request.action = CALL_READ, .job = { RUNS }, .limit = END + 1,
	  .answer_at = END },

	/* until */
	{ "a wait for a text continues until the text is printed",
	  .request = { .action = CALL_READ, .until = UNTIL, .only_new = true },
	  .job = { RUNS }, .watch = { .new_output = true, .printed_at = NOW },
	  .printed = true, .answer_at = END },
	{ "a wait for a text ends 100 ms after the text is printed",
	  .request = { .action = CALL_READ, .until = UNTIL }, .job = { RUNS },
	  .watch.seen_at = NOW, .answer_at = NOW + 100 },
	{ "the start of a task waits for a text",
	  .request = { .time = 9000, .until = UNTIL },
	  .job = { RUNS, .started_at = NOW }, .watch.seen_at = NOW + 7,
	  .answer_at = NOW + 107 },

	/* Quiet periods */
	{ "a wait for new output ends after 300 ms of silence",
	  .request = { .action = CALL_READ, .only_new = true }, .job = { RUNS },
	  .watch = { .new_output = true, .printed_at = NOW }, .printed = true,
	  .answer_at = NOW + 300 },
	{ "a wait for new output does not end without new output",
	  .request = { .action = CALL_READ, .only_new = true }, .job = { RUNS },
	  .watch = { .printed_at = NOW }, .printed = true,
	  .answer_at = END },
	{ "output that another call has returned is not new",
	  .request = { .action = CALL_READ, .only_new = true }, .job = { RUNS },
	  .watch = { .new_output = true, .printed_at = NOW },
	  .answer_at = END },
	{ "a quiet period does not extend the wait",
	  .request = { .action = CALL_READ, .only_new = true }, .job = { RUNS },
	  .watch = { .new_output = true, .printed_at = END - 1 },
	  .printed = true,
	  .answer_at = END },
	{ "the quiet period after input is 2 s",
	  .request = { .action = CALL_TYPE, .only_new = true }, .job = { RUNS },
	  .watch = { .new_output = true, .printed_at = NOW }, .printed = true,
	  .answer_at = NOW + 2000 },
	{ "silence after input does not end a wait if the program is at work",
	  .request = { .action = CALL_TYPE, .only_new = true },
	  .job = { RUNS, .prompt.not_reading = true },
	  .watch = { .new_output = true, .printed_at = NOW }, .printed = true,
	  .answer_at = END },

	/* Prompts */
	{ "a possible prompt ends a wait",
	  .request.action = CALL_READ,
	  .job = { RUNS, .prompt = { .state = TERMINAL_MAY_PROMPT,
	                             .since = 1 } } },
	{ "a prompt ends a wait for a text",
	  .request = { .action = CALL_READ, .until = UNTIL },
	  .job = { RUNS, .prompt = { .state = TERMINAL_PROMPTS,
	                             .since = 1 } } },
	{ "a possible prompt does not end a wait for a text",
	  .request = { .action = CALL_READ, .until = UNTIL },
	  .job = { RUNS, .prompt = { .state = TERMINAL_MAY_PROMPT,
	                             .since = 1 } }, .answer_at = END },
	{ "a prompt that was reported does not end another wait",
	  .request.action = CALL_READ,
	  .job = { RUNS, .asked_at = 1,
	           .prompt = { .state = TERMINAL_PROMPTS, .since = 1 } },
	  .answer_at = END },

	/* Killing */
	{ "a kill waits for the end of the task",
	  .request.action = CALL_KILL, .job = { RUNS, .kill_requested = true },
	  .answer_at = NEVER },
	{ "a kill is answered at the call limit",
	  .request.action = CALL_KILL, .job = { RUNS, .kill_requested = true },
	  .limit = NOW + 50, .answer_at = NOW + 50, .by_limit = true },
	{ "a kill is answered if boris cannot terminate the task",
	  .request.action = CALL_KILL,
	  .job = { RUNS, .exec.state = EXEC_SURVIVED } },
	{ "a kill of a task that is stuck in the kernel is answered",
	  .request.action = CALL_KILL,
	  .job = { RUNS, .exec.state = EXEC_SURVIVED,
	    .kill_requested = true } },
};

/* Returns an output, with a line that was not read if printed is set. Returns
 * NULL if allocation fails. */
static struct output *
make_output(bool printed)
{
	static struct options options;
	static struct spool spool = { .dir = "/" };
	struct output *output = output_new(&options, &spool, 0, false);

	if (output != NULL && printed)
		output_write(output, "news\n", 5);
	return output;
}

static int
check_calls(void)
{
	static const struct tool tool = { .name = "bash" };
	struct session session = { .tasks = 0 };
	struct call_due due;
	struct call call;
	struct job job;
	size_t i;
	int wrong = 0;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		job = calls[i].job;
		job.out.text = make_output(calls[i].printed);
		job.err.text = make_output(false);
		call = (struct call){ .tool = &tool, .job = &job,
		    .request = calls[i].request, .watch = calls[i].watch,
		    .wait_until = END, .answer_by = calls[i].limit };
		if (call.answer_by == 0)
			call.answer_by = NEVER;
		due = wait_due(&call, &session, NOW);
		if (due.answer_at != calls[i].answer_at ||
		    due.by_limit != calls[i].by_limit) {
			printf("%s: answer at %jd, should be at %jd\n",
			    calls[i].name, (intmax_t)due.answer_at,
			    (intmax_t)calls[i].answer_at);
			wrong++;
		}
		output_free(job.out.text);
		output_free(job.err.text);
	}
	return wrong;
}

/* -- Lists, subscriptions and progress ------------------------------------ */

static const struct {
	const char *name;
	int running, unread;   /* number of running and of ended tasks */
	int ended;             /* number of tasks that ended during the wait */
	bool subscription;
	const char *token;     /* progress token, or NULL */
	int64_t answer_at, progress_at;
} lists[] = {
	{ "a list without tasks is answered", .progress_at = NEVER },
	{ "a list waits until its deadline while tasks run",
	  .running = 2, .answer_at = END, .progress_at = NEVER },
	{ "a list is answered if a task has ended",
	  .running = 2, .unread = 1, .progress_at = NEVER },
	{ "a list is answered if a task ended during the wait and was read",
	  .running = 2, .ended = 1, .progress_at = NEVER },
	{ "progress is due if the call has a progress token",
	  .running = 1, .token = "7", .answer_at = END,
	  .progress_at = NOW + 50 },
	{ "a subscription is never answered", .subscription = true,
	  .answer_at = NEVER, .progress_at = NEVER },
};

static int
check_lists(void)
{
	static const struct tool tool = { .name = "bash" };
	struct job tasks[8];
	struct session session;
	struct call_due due;
	struct call call;
	size_t i;
	int n, wrong = 0;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		session = (struct session){ .tasks = lists[i].running,
		    .tasks_ended = 3 + lists[i].ended };
		for (n = 0; n < lists[i].running + lists[i].unread; n++) {
			tasks[n] = (struct job){ .id = "12345678",
			    .state = n < lists[i].running ? JOB_TASK
			    : JOB_FINISHED };
			list_append(&session.list[LIST_BACKGROUND],
			    &tasks[n].node);
		}
		call = (struct call){ .request.action = CALL_LIST,
		    .wait_until = END, .answer_by = NEVER,
		    .tasks_ended = 3, .progress_at = NOW + 50 };
		if (!lists[i].subscription)
			call.tool = &tool;
		if (lists[i].token != NULL)
			call.token = (struct json){ lists[i].token,
			    strlen(lists[i].token) };
		due = wait_due(&call, &session, NOW);
		if (due.answer_at != lists[i].answer_at ||
		    due.progress_at != lists[i].progress_at) {
			printf("%s: answer at %jd, progress at %jd\n",
			    lists[i].name, (intmax_t)due.answer_at,
			    (intmax_t)due.progress_at);
			wrong++;
		}
	}
	return wrong;
}

/* -- Prompts of terminals -------------------------------------------------- */

/* In a row, a mode of 0 is TERMINAL_CLOSED. */
static const struct {
	const char *name;
	struct prompt_history history;
	enum terminal_mode mode;
	bool open_line;
	enum terminal_prompt state;
	bool not_reading, secret;
} prompts[] = {
	{ "a program that reads waits 100 ms after its last output",
	  .history = { NOW - 900, NOW - 100, NOW, TERMINAL_PROMPTS },
	  .mode = TERMINAL_LINES, .state = TERMINAL_PROMPTS },
	{ "a check less than 100 ms after the last output does not count",
	  .history = { NOW - 900, NOW - 99, NOW, TERMINAL_PROMPTS },
	  .mode = TERMINAL_LINES },
	{ "a check less than 100 ms after the last input does not count",
	  .history = { NOW - 99, 0, NOW, TERMINAL_BUSY },
	  .mode = TERMINAL_LINES },
	{ "a check before the last output does not count",
	  .history = { NOW - 900, NOW - 1, NOW - 200, TERMINAL_PROMPTS },
	  .mode = TERMINAL_LINES },
	{ "a program that reads waits even if it has printed nothing",
	  .history = { NOW - 100, 0, NOW, TERMINAL_PROMPTS },
	  .mode = TERMINAL_LINES, .state = TERMINAL_PROMPTS },
	{ "a program that does not read is at work",
	  .history = { NOW - 900, NOW - 800, NOW, TERMINAL_BUSY },
	  .mode = TERMINAL_LINES, .open_line = true, .not_reading = true },
	{ "a program may wait 300 ms after it has printed an open line",
	  .history = { NOW - 900, NOW - 300, NOW, TERMINAL_MAY_PROMPT },
	  .mode = TERMINAL_LINES, .open_line = true,
	  .state = TERMINAL_MAY_PROMPT },
	{ "a program with an open line does not wait before 300 ms",
	  .history = { NOW - 900, NOW - 299, NOW, TERMINAL_MAY_PROMPT },
	  .mode = TERMINAL_LINES, .open_line = true },
	{ "a complete line is no prompt",
	  .history = { NOW - 900, NOW - 300, NOW, TERMINAL_MAY_PROMPT },
	  .mode = TERMINAL_LINES },
	{ "a complete line may be a prompt if the program reads keys",
	  .history = { NOW - 900, NOW - 300, NOW, TERMINAL_MAY_PROMPT },
	  .mode = TERMINAL_KEYS, .state = TERMINAL_MAY_PROMPT },
	{ "a complete line may be a prompt if the terminal does not echo",
	  .history = { NOW - 900, NOW - 300, NOW, TERMINAL_MAY_PROMPT },
	  .mode = TERMINAL_UNSEEN, .state = TERMINAL_MAY_PROMPT,
	  .secret = true },
	{ "an open line that was printed before the last input is no prompt",
	  .history = { NOW - 900, 0, NOW, TERMINAL_MAY_PROMPT },
	  .mode = TERMINAL_LINES, .open_line = true },
	{ "input for a closed terminal is secret",
	  .history = { NOW, 0, NOW, TERMINAL_BUSY }, .secret = true },
};

static int
check_prompts(void)
{
	struct prompt p;
	size_t i;
	int wrong = 0;

	for (i = 0; i < sizeof(prompts) / sizeof(prompts[0]); i++) {
		p = prompt_judge(&prompts[i].history, prompts[i].mode,
		    prompts[i].open_line, NOW);
		if (p.state != prompts[i].state ||
		    p.not_reading != prompts[i].not_reading ||
		    p.secret != prompts[i].secret) {
			printf("%s: state %d, not_reading %d, secret %d\n",
			    prompts[i].name, (int)p.state, p.not_reading,
			    p.secret);
			wrong++;
		}
	}
	return wrong;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*check)(void);
	} tables[] = {
		{ "queue", check_queue }, { "jobs", check_jobs },
		{ "calls", check_calls }, { "lists", check_lists },
		{ "prompts", check_prompts }
	};
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (argc == 2 && strcmp(argv[1], tables[i].name) == 0)
			return tables[i].check() > 0;
	}
	fprintf(stderr, "usage: decide queue|jobs|calls|lists|prompts\n");
	return 2;
}
