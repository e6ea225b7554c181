#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec.h"
#include "proc.h"
#include "spool.h"

enum {
	REVIEW = 10000  /* ms between looks at which orphans live */
};

/* A job with what is the session's alone; cast from what the rooms above see */
struct held_job {
	struct job job;
	struct held_job *next;   /* in the queue, or among those to be told */
	char id[SESSION_ID];     /* its task's, once it is one */
	int64_t deadline;        /* ms; of its timeout */
	bool cancelled;          /* nobody wants to hear of it */
	struct exec *exec;       /* NULL: not started, or ended */
};

/* What a command left running when it ended, or who holds its pipes (E4) */
struct orphan {
	struct orphan *next;
	struct exec *exec;
};

struct session {
	const struct session_options *options;
	bool stateless;          /* no tracked directory, side by side (H6) */
	bool closing;
	bool prepared;           /* proc_prepare() has been called */
	char name[17];           /* of its files: 64 random bits */
	char *dir;               /* the tracked directory */
	struct spool spool;
	struct held_job *queue, **queue_end;
	size_t queued;           /* bytes that the queue holds */
	struct held_job *news, **news_end;        /* with something to tell */
	struct held_job *running[SESSION_ASIDE];  /* in the foreground */
	int run;                 /* of them */
	struct held_job *task[SESSION_TASKS];
	int tasks;
	struct held_job *kept[SESSION_KEPT + 1];  /* finished tasks, oldest first; one
	                                      * too many until the next turn */
	int keeps;
	struct orphan *orphans;
	int orphaned;            /* of them */
	int64_t review;          /* ms; not before, whether they live */
	struct exec **execs;     /* all that there are; made new each turn */
	int room;                /* of it */
};

/* -- Jobs -------------------------------------------------------------- */

void
job_request_free(struct job_request *asked)
{
	buf_free(&asked->text);
	buf_free(&asked->input);
	free(asked->cwd);
	memset(asked, 0, sizeof(*asked));
}

static void
job_free(struct held_job *h)
{
	exec_free(h->exec);
	output_free(h->job.out.text);
	output_free(h->job.err.text);
	job_request_free(&h->job.asked);
	free(h->job.dir);
	free(h);
}

static size_t
job_bytes(const struct held_job *h)
{
	return sizeof(*h) + h->job.asked.text.cap + h->job.asked.input.cap;
}

static void
tell(struct session *s, struct held_job *h)
{
	if (h->cancelled) {
		if (h->job.state == JOB_FINISHED)
			job_free(h);
		return;
	}
	h->next = NULL;
	*s->news_end = h;
	s->news_end = &h->next;
}

static void
refuse(struct session *s, struct held_job *h, enum job_refused why)
{
	h->job.refused = why;
	h->job.state = JOB_FINISHED;
	tell(s, h);
}

static void
set_dir(struct held_job *h, char *dir)
{
	free(h->job.dir);
	h->job.dir = dir;
}

/* -- The directory ----------------------------------------------------- */

static char *
copy(const char *s)
{
	size_t n = strlen(s) + 1;
	char *c = malloc(n);

	if (c != NULL)
		memcpy(c, s, n);
	return c;
}

/* base/name as `cd` takes it: "." and ".." are taken by the letter (cd -L).
 * NULL: no memory. */
static char *
resolve(const char *base, const char *name)
{
	size_t n = strlen(base), len = 0, part;
	char *path = malloc(n + strlen(name) + 3);
	const char *p;

	if (path == NULL)
		return NULL;
	if (name[0] != '/') {
		memcpy(path, base, n);
		len = n;
	}
	while (len > 0 && path[len - 1] == '/')
		len--;
	for (p = name; *p != '\0'; p += part) {
		part = strcspn(p, "/");
		if (part == 0) {
			part = 1;
		} else if (part == 2 && p[0] == '.' && p[1] == '.') {
			while (len > 0 && path[--len] != '/')
				;
		} else if (part != 1 || p[0] != '.') {
			path[len++] = '/';
			memcpy(path + len, p, part);
			len += part;
		}
	}
	if (len == 0)
		path[len++] = '/';
	path[len] = '\0';
	return path;
}

static bool
enterable(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	    access(dir, X_OK) == 0;
}

/* The tracked directory can't be entered any more (D5). */
static void
fall_back(struct session *s, struct held_job *h)
{
	const char *to = s->options->workdir;
	char *dir = copy(enterable(to) ? to : "/");

	h->job.refused = JOB_LOST_DIR;
	if (dir == NULL)
		return;  /* the next command says so again */
	set_dir(h, s->dir);
	s->dir = dir;
}

/* The directory that was tried can't be entered: `cwd`, or the tracked one. */
static void
refuse_dir(struct session *s, struct held_job *h, const char *tried)
{
	const char *cwd = h->job.asked.cwd;

	h->job.refused = JOB_NO_DIR;
	set_dir(h, copy(tried));
	if (!s->stateless &&
	    (cwd == NULL || (cwd[0] != '/' && !enterable(s->dir))))
		fall_back(s, h);
}

/* The shell of a foreground command says where it ended (D1). */
static void
track_dir(struct session *s, struct held_job *h)
{
	const char *dir = exec_report(h->exec)->dir;
	char *mine;

	if (dir == NULL || h->job.timed_out || h->job.killed ||
	    h->cancelled || strcmp(dir, s->dir) == 0)
		return;
	mine = copy(dir);
	if (mine == NULL)
		return;
	free(s->dir);
	s->dir = mine;
	h->job.moved = true;
}

/* -- Orphans (E4) ------------------------------------------------------- */

/* Something of it lives, or holds its pipes. */
static bool
remains(const struct exec *x)
{
	return exec_report(x)->lives || exec_report(x)->open;
}

/* What remains of an ended command goes on without it. */
static void
leave_running(struct session *s, struct held_job *h, int64_t now)
{
	struct exec *x = h->exec;
	struct orphan *orphan;

	h->exec = NULL;
	orphan = remains(x) ? malloc(sizeof(*orphan)) : NULL;
	if (orphan == NULL) {
		/* No memory to remember it by: then it may not stay (L3). */
		exec_kill(&x, 1, now);
		exec_free(x);
		return;
	}
	exec_forget_output(x);
	orphan->exec = x;
	orphan->next = s->orphans;
	s->orphans = orphan;
	s->orphaned++;
	if (s->closing)
		exec_stop(&x, 1, now);
}

static void
free_gone_orphans(struct session *s)
{
	struct orphan **at = &s->orphans, *orphan;

	while ((orphan = *at) != NULL) {
		if (remains(orphan->exec)) {
			at = &orphan->next;
			continue;
		}
		*at = orphan->next;
		exec_free(orphan->exec);
		free(orphan);
		s->orphaned--;
	}
}

/* Whose group has gone is seen when a command starts, not more often than
 * every ten seconds: it costs a walk through /proc, and an idle boris does not
 * wake up for it. */
static void
review_orphans(struct session *s, int64_t now)
{
	struct orphan *orphan;

	if (s->orphans == NULL || now < s->review)
		return;
	s->review = now + REVIEW;
	for (orphan = s->orphans; orphan != NULL; orphan = orphan->next)
		exec_look_again(orphan->exec);
}

/* -- The end of a command ---------------------------------------------- */

static void
take_from(struct held_job **list, int *n, const struct held_job *h)
{
	int i;

	for (i = 0; i < *n && list[i] != h; i++)
		;
	if (i == *n)
		return;
	memmove(list + i, list + i + 1, (size_t)(*n - i - 1) * sizeof(*list));
	--*n;
}

/* Too many have finished unread: the oldest is forgotten. */
static void
trim(struct session *s)
{
	while (s->keeps > SESSION_KEPT) {
		struct held_job *h = s->kept[0];

		take_from(s->kept, &s->keeps, h);
		job_free(h);
	}
}

/* One more than SESSION_KEPT may be there until the next turn: a task that was
 * killed is read in this one and should cost nobody its result. */
static void
keep(struct session *s, struct held_job *h)
{
	trim(s);
	s->kept[s->keeps++] = h;
}

static void
finish(struct session *s, struct held_job *h, int64_t now)
{
	bool task = h->job.state == JOB_TASK;

	h->job.exit_code = exec_report(h->exec)->status;
	h->job.state = JOB_FINISHED;
	output_end(h->job.out.text, h->job.asked.truncate);
	output_end(h->job.err.text, h->job.asked.truncate);
	if (!task) {
		take_from(s->running, &s->run, h);
		track_dir(s, h);
		set_dir(h, copy(s->dir));
	} else {
		take_from(s->task, &s->tasks, h);
	}
	leave_running(s, h, now);
	if (!task)
		tell(s, h);
	else if (h->job.call == NULL)
		keep(s, h);  /* else its start has yet to be told */
}

/* -- The start --------------------------------------------------------- */

static void
become_task(struct session *s, struct held_job *h, int64_t now)
{
	int64_t limit = s->options->bg_timeout;

	memcpy(h->job.id, h->id, sizeof(h->id));
	h->job.state = JOB_TASK;
	h->deadline = limit > 0 ? now + limit : NEVER;
	s->task[s->tasks++] = h;
	tell(s, h);
}

/* Room for one more command in the list of all; 0, or -1 with errno */
static int
make_room(struct session *s)
{
	int n = s->run + s->tasks + s->orphaned + 1;
	struct exec **more;

	if (n <= s->room)
		return 0;
	more = realloc(s->execs, (size_t)n * 2 * sizeof(struct exec *));
	if (more == NULL)
		return -1;
	s->execs = more;
	s->room = n * 2;
	return 0;
}

/* What a job needs before its shell is begun; 0, or -1 with errno */
static int
prepare(struct session *s, struct held_job *h)
{
	if (!s->prepared)
		proc_prepare();
	s->prepared = true;
	if ((h->job.asked.background || s->options->background) &&
	    !proc_random(h->id, (SESSION_ID - 1) / 2))
		return -1;
	errno = ENOMEM;
	h->job.out.text = output_new(&s->spool);
	h->job.err.text = output_new(&s->spool);
	if (h->job.out.text == NULL || h->job.err.text == NULL)
		return -1;
	return make_room(s);
}

static void
start(struct session *s, struct held_job *h, int64_t now)
{
	const struct session_options *o = s->options;
	struct job_request *asked = &h->job.asked;
	struct exec_command command;
	enum exec_failed what = EXEC_FAILED_START;
	char *dir = asked->cwd != NULL ? resolve(s->dir, asked->cwd)
	    : copy(s->dir);

	memset(&command, 0, sizeof(command));
	command.shell = o->shell;
	command.text = asked->text.data;
	command.len = asked->text.len;
	command.dir = dir;
	command.env = o->env;
	command.tells_dir = !asked->background && !s->stateless;
	command.no_input = o->no_input;
	command.input = asked->has_input ? &asked->input : NULL;
	if (dir != NULL && prepare(s, h) == 0)
		h->exec = exec_start(&command, h->job.out.text, h->job.err.text,
		    now, &what);
	if (h->exec == NULL) {
		h->job.error = errno;
		h->job.refused = JOB_NO_START;
		if (what == EXEC_FAILED_DIR)
			refuse_dir(s, h, dir);
		free(dir);
		refuse(s, h, h->job.refused);
		return;
	}
	free(dir);
	buf_free(&asked->text);
	h->job.pid = exec_report(h->exec)->pid;
	h->job.started = now;
	review_orphans(s, now);
	if (asked->background) {
		become_task(s, h, now);
		return;
	}
	h->job.state = JOB_RUNNING;
	h->deadline = now + asked->timeout;
	s->running[s->run++] = h;
}

/* The queue moves on, in order: foreground commands one by one (P7). */
static void
start_next(struct session *s, int64_t now)
{
	struct held_job *h;

	while ((h = s->queue) != NULL) {
		if (s->run == (s->stateless ? SESSION_ASIDE : 1) &&
		    !(h->job.asked.background && s->stateless) && !s->closing)
			return;
		s->queue = h->next;
		if (s->queue == NULL)
			s->queue_end = &s->queue;
		s->queued -= job_bytes(h);
		if (s->closing)
			refuse(s, h, JOB_CLOSED);
		else if (h->job.asked.background && s->tasks == SESSION_TASKS)
			refuse(s, h, JOB_TOO_MANY);
		else
			start(s, h, now);
	}
}

/* -- Time -------------------------------------------------------------- */

/* E5: it goes on in the background, or is terminated where there is no room. */
static void
run_late(struct session *s, struct held_job *h, int64_t now)
{
	if (s->options->background && s->tasks < SESSION_TASKS) {
		take_from(s->running, &s->run, h);
		become_task(s, h, now);
		return;
	}
	h->job.no_room = s->options->background;
	h->job.timed_out = true;
	exec_stop(&h->exec, 1, now);
}

static void
check_job(struct session *s, struct held_job *h, int64_t now)
{
	if (exec_report(h->exec)->state == EXEC_ENDED) {
		finish(s, h, now);
		return;
	}
	if (now < h->deadline ||
	    exec_report(h->exec)->state != EXEC_RUNNING)
		return;
	h->deadline = NEVER;
	if (h->job.state == JOB_RUNNING) {
		run_late(s, h, now);
	} else {
		h->job.timed_out = true;
		exec_stop(&h->exec, 1, now);
	}
}

/* -- The session ------------------------------------------------------- */

struct session *
session_open(const struct session_options *options, bool stateless)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->options = options;
	s->stateless = stateless;
	s->queue_end = &s->queue;
	s->news_end = &s->news;
	spool_init(&s->spool, options->tmpdir, s->name, options->save_limit);
	s->dir = copy(options->workdir);
	if (s->dir == NULL || !proc_random(s->name, (sizeof(s->name) - 1) / 2)) {
		session_free(s);
		return NULL;
	}
	return s;
}

static void
free_list(struct held_job *h)
{
	struct held_job *next;

	for (; h != NULL; h = next) {
		next = h->next;
		job_free(h);
	}
}

void
session_free(struct session *s)
{
	struct orphan *orphan;

	if (s == NULL)
		return;
	free_list(s->queue);
	free_list(s->news);
	while (s->run > 0)
		job_free(s->running[--s->run]);
	while (s->tasks > 0)
		job_free(s->task[--s->tasks]);
	while (s->keeps > 0)
		job_free(s->kept[--s->keeps]);
	while ((orphan = s->orphans) != NULL) {
		s->orphans = orphan->next;
		exec_free(orphan->exec);
		free(orphan);
	}
	spool_free(&s->spool);
	free(s->execs);
	free(s->dir);
	free(s);
}

struct job *
session_run(struct session *s, struct job_request *asked, void *call)
{
	struct held_job *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->job.asked = *asked;
	memset(asked, 0, sizeof(*asked));
	h->job.call = call;
	*s->queue_end = h;
	s->queue_end = &h->next;
	s->queued += job_bytes(h);
	return &h->job;
}

struct job *
session_next(struct session *s)
{
	struct held_job *h = s->news;

	if (h == NULL)
		return NULL;
	s->news = h->next;
	if (s->news == NULL)
		s->news_end = &s->news;
	return &h->job;
}

void
session_told(struct session *s, struct job *job)
{
	job->call = NULL;
	if (job->state == JOB_TASK)
		return;
	if (job->id[0] != '\0')
		keep(s, (struct held_job *)job);
	else
		job_free((struct held_job *)job);
}

static bool
leave_queue(struct session *s, const struct held_job *h)
{
	struct held_job **at = &s->queue;

	while (*at != NULL && *at != h)
		at = &(*at)->next;
	if (*at == NULL)
		return false;
	*at = h->next;
	if (*at == NULL)
		s->queue_end = at;
	s->queued -= job_bytes(h);
	return true;
}

void
session_cancel(struct session *s, struct job *job, int64_t now)
{
	struct held_job *h = (struct held_job *)job;

	job->call = NULL;
	h->cancelled = true;
	if (job->state == JOB_QUEUED && leave_queue(s, h))
		job_free(h);
	else if (h->exec != NULL)
		exec_stop(&h->exec, 1, now);
}

void
session_read(struct job *job)
{
	struct held_job *h = (struct held_job *)job;

	if (h->exec != NULL)
		exec_read(h->exec);
}

/* -- Tasks ------------------------------------------------------------- */

/* By its id, or where that is NULL by its pid. The newest first: an old result
 * may bear a number that has been given to a new task since. */
static struct job *
find_task(struct held_job *const list[], int n, const char *id, int64_t pid)
{
	while (n-- > 0) {
		if (id != NULL ? strcmp(list[n]->job.id, id) == 0
		    : list[n]->job.pid == pid)
			return &list[n]->job;
	}
	return NULL;
}

struct job *
session_task(struct session *s, const char *id, int64_t pid)
{
	struct job *job = find_task(s->task, s->tasks, id, pid);

	return job != NULL ? job : find_task(s->kept, s->keeps, id, pid);
}

struct job *
session_task_at(struct session *s, int i)
{
	return i < s->tasks ? &s->task[i]->job : NULL;
}

void
session_kill(struct job *job, int64_t now)
{
	struct held_job *h = (struct held_job *)job;

	if (job->state != JOB_TASK)
		return;
	job->killed = !exec_report(h->exec)->shell_ended;
	h->deadline = NEVER;
	exec_kill(&h->exec, 1, now);
}

void
session_forget(struct session *s, struct job *job)
{
	take_from(s->kept, &s->keeps, (struct held_job *)job);
	job_free((struct held_job *)job);
}

const char *
session_dir(const struct session *s)
{
	return s->dir;
}

bool
session_stateless(const struct session *s)
{
	return s->stateless;
}

size_t
session_queued(const struct session *s)
{
	return s->queued;
}

/* -- Turns ------------------------------------------------------------- */

/* All commands that there are, into s->execs; how many */
static int
gather(struct session *s)
{
	struct orphan *orphan;
	int i, n = 0;

	for (i = 0; i < s->run; i++)
		s->execs[n++] = s->running[i]->exec;
	for (i = 0; i < s->tasks; i++)
		s->execs[n++] = s->task[i]->exec;
	for (orphan = s->orphans; orphan != NULL; orphan = orphan->next)
		s->execs[n++] = orphan->exec;
	return n;
}

void
session_poll_add(struct session *s, struct loop *loop)
{
	int i, n = gather(s);

	for (i = 0; i < n; i++)
		exec_poll_add(s->execs[i], loop);
	for (i = 0; i < s->run; i++)
		loop_until(loop, s->running[i]->deadline);
	for (i = 0; i < s->tasks; i++)
		loop_until(loop, s->task[i]->deadline);
	if (s->news != NULL || (s->queue != NULL && s->run == 0))
		loop_until(loop, loop->now);
}

void
session_dispatch(struct session *s, const struct loop *loop)
{
	int i, n = gather(s);

	trim(s);
	for (i = 0; i < n; i++)
		exec_dispatch(s->execs[i], loop);
	exec_advance(s->execs, n, loop->now);
	for (i = s->run; i-- > 0;)
		check_job(s, s->running[i], loop->now);
	for (i = s->tasks; i-- > 0;)
		check_job(s, s->task[i], loop->now);
	free_gone_orphans(s);
	start_next(s, loop->now);
}

void
session_close(struct session *s, int64_t now, bool at_once)
{
	int i, n = gather(s);

	for (i = 0; i < s->run; i++)
		s->running[i]->job.killed = true;
	if (at_once || s->closing)
		exec_kill(s->execs, n, now);
	else
		exec_stop(s->execs, n, now);
	s->closing = true;
	start_next(s, now);
}

bool
session_closed(const struct session *s)
{
	const struct orphan *orphan;

	for (orphan = s->orphans; orphan != NULL; orphan = orphan->next) {
		if (exec_report(orphan->exec)->lives)
			return false;
	}
	return s->closing && s->run == 0 && s->tasks == 0 && s->news == NULL;
}
