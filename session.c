#ifdef __linux__
#define _DEFAULT_SOURCE
#endif
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

#include "birth.h"

enum {
	REVIEW_FIRST = 10,   /* ms; looks at what was left behind get rarer */
	REVIEW_TIMED = 1000, /* ms; up to here they have turns of their own */
	REVIEW_LAST = 10000, /* ms */
	CROWD_TURN = 32,     /* of them emptied in one turn */
	FEW_LEFT = 8         /* that are no crowd to a birth (E9) */
};

/* A command that has ended with something of it running on, or with somebody
 * at its pipes (E4). */
struct left {
	struct left *next;
	struct exec exec;
};

/* -- Random ids -------------------------------------------------------- */

static bool
random_kernel(unsigned char *bytes, size_t n)
{
	ssize_t got = -1;
	int fd;

#if defined(__linux__) && defined(SYS_getrandom)
	got = syscall(SYS_getrandom, bytes, n, 1);  /* 1: rather fail than wait */
	if (got == (ssize_t)n)
		return true;
#endif
	fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, bytes, n);
		close(fd);
	}
	return got == (ssize_t)n;
}

static uint64_t
mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	return x;
}

/* A kernel without getrandom(), and no /dev: what differs from process to
 * process and from call to call, 16 random bytes of the kernel's among it
 * where there is an auxiliary vector. */
static void
random_scraps(unsigned char *bytes, size_t n)
{
	uint64_t pool[2] = { 0, 0 };
	struct timespec t;
	size_t i;

#ifdef __linux__
	const void *seed = (const void *)getauxval(AT_RANDOM);

	if (seed != NULL)
		memcpy(pool, seed, sizeof(pool));
#endif
	for (i = 0; i < n; i++) {
		clock_gettime(CLOCK_REALTIME, &t);
		pool[0] = mix(pool[0] + (uint64_t)t.tv_nsec +
		    ((uint64_t)t.tv_sec << 30));
		clock_gettime(CLOCK_MONOTONIC, &t);
		pool[1] = mix(pool[1] ^ pool[0] ^ ((uint64_t)t.tv_nsec << 20) ^
		    (uint64_t)getpid() ^ (uint64_t)(uintptr_t)bytes);
		bytes[i] = (unsigned char)(pool[1] >> 24);
	}
}

void
session_random(char *hex, size_t bytes)
{
	static const char digit[] = "0123456789abcdef";
	unsigned char raw[32];
	size_t i;

	if (bytes > sizeof(raw))
		bytes = sizeof(raw);
	if (!random_kernel(raw, bytes))
		random_scraps(raw, bytes);
	for (i = 0; i < bytes; i++) {
		hex[2 * i] = digit[raw[i] >> 4];
		hex[2 * i + 1] = digit[raw[i] & 15];
	}
	hex[2 * bytes] = '\0';
}

/* -- Jobs -------------------------------------------------------------- */

struct job *
job_new(void)
{
	return calloc(1, sizeof(struct job));
}

void
job_free(struct job *job)
{
	if (job == NULL)
		return;
	exec_free(&job->exec);
	output_free(job->out);
	output_free(job->err);
	buf_free(&job->text);
	buf_free(&job->input);
	free(job->cwd);
	free(job->dir);
	free(job);
}

static size_t
weight(const struct job *job)
{
	return sizeof(*job) + job->text.cap + job->input.cap;
}

static void
tell(struct session *s, struct job *job)
{
	if (job->cancelled) {
		if (job->state == JOB_FINISHED)
			job_free(job);
		return;
	}
	job->next = NULL;
	*s->ended_end = job;
	s->ended_end = &job->next;
}

static void
refuse(struct session *s, struct job *job, enum job_refused why)
{
	job->refused = why;
	job->state = JOB_FINISHED;
	tell(s, job);
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

/* The tracked directory cannot be entered any more (D5). */
static void
fall_back(struct session *s, struct job *job)
{
	const char *to = s->options->workdir;
	char *dir;

	free(job->dir);
	job->dir = s->dir;
	job->refused = JOB_LOST_DIR;
	dir = copy(enterable(to) && !s->stateless ? to : "/");
	s->dir = dir != NULL ? dir : job->dir;
	if (dir == NULL)
		job->dir = NULL;
}

static void
no_dir(struct session *s, struct job *job, char *tried)
{
	job->refused = JOB_NO_DIR;
	job->dir = tried;
	if (s->stateless)
		return;
	if (job->cwd == NULL || (job->cwd[0] != '/' && !enterable(s->dir)))
		fall_back(s, job);
}

/* -- What is left behind (E4) ------------------------------------------ */

/* What remains of an ended command goes on without it. */
static void
leave(struct session *s, struct job *job, int64_t now)
{
	struct left *left;

	if (!exec_left(&job->exec)) {
		exec_free(&job->exec);
		return;
	}
	left = malloc(sizeof(*left));
	if (left == NULL) {
		/* Not to be remembered, so not to be left either (L3) */
		exec_kill(&job->exec, now);
		exec_free(&job->exec);
		return;
	}
	left->exec = job->exec;
	memset(&job->exec, 0, sizeof(job->exec));
	buf_free(&left->exec.held);
	if (!exec_leave(&left->exec, &s->crowd))
		s->uncrowded = true;
	if (s->left == NULL)
		s->review = now + REVIEW_LAST;
	s->lefts++;
	left->next = s->left;
	s->left = left;
	if (s->closing)
		exec_stop(&left->exec, now);
}

/* Frees those of whom nothing remains. */
static void
bury(struct session *s)
{
	struct left **at = &s->left, *left;

	while ((left = *at) != NULL) {
		if (exec_left(&left->exec)) {
			at = &left->next;
			continue;
		}
		*at = left->next;
		exec_free(&left->exec);
		free(left);
		s->lefts--;
	}
}

/* Looks whose group lives on. That searches /proc, so it happens soon after
 * pipes have closed and else ever more rarely, and never wakes an idle boris
 * for its own sake. */
static void
review(struct session *s, int64_t now)
{
	struct exec **list;
	struct left *left;
	int n = 0;

	if (now < s->review)
		return;
	list = malloc((size_t)s->lefts * sizeof(*list));
	for (left = s->left; left != NULL && list != NULL; left = left->next)
		list[n++] = &left->exec;
	if (n > 0)
		exec_review(list, n);
	free(list);
	bury(s);
	s->pause = s->pause > REVIEW_LAST / 2 ? REVIEW_LAST : s->pause * 2;
	s->review = now + s->pause;
}

/* Somebody's pipes have closed: most end with that. */
static void
review_soon(struct session *s, int64_t now)
{
	s->pause = REVIEW_FIRST;
	if (s->review > now + s->pause)
		s->review = now + s->pause;
}

/* -- The end of a command ---------------------------------------------- */

static void
take_from(struct job **list, int *n, const struct job *job)
{
	int i;

	for (i = 0; i < *n && list[i] != job; i++)
		;
	if (i == *n)
		return;
	memmove(list + i, list + i + 1, (size_t)(*n - i - 1) * sizeof(*list));
	--*n;
}

/* The shell of a foreground command says where it ended (D1). */
static void
follow(struct session *s, struct job *job)
{
	struct exec *x = &job->exec;

	if (x->dir == NULL || job->timed_out || job->killed ||
	    job->cancelled || s->stateless)
		return;
	job->moved = strcmp(x->dir, s->dir) != 0;
	free(s->dir);
	s->dir = x->dir;
	x->dir = NULL;
}

/* Too many have finished unread: the oldest is forgotten. */
static void
trim(struct session *s, int most)
{
	struct job *job;

	while (s->keeps > most) {
		job = s->kept[0];
		take_from(s->kept, &s->keeps, job);
		job_free(job);
	}
}

/* One more than SESSION_KEPT may be there until the next turn: a task that was
 * killed is read in this one and should cost nobody its result. */
static void
keep(struct session *s, struct job *job)
{
	trim(s, SESSION_KEPT);
	s->kept[s->keeps++] = job;
}

static void
finish(struct session *s, struct job *job, int64_t now)
{
	bool task = job->state == JOB_TASK;

	job->exit_code = job->exec.status;
	job->state = JOB_FINISHED;
	output_end(job->out, job->truncate);
	output_end(job->err, job->truncate);
	if (!task) {
		take_from(s->running, &s->run, job);
		follow(s, job);
		job->dir = copy(s->dir);
	} else {
		take_from(s->task, &s->tasks, job);
	}
	leave(s, job, now);
	if (!task)
		tell(s, job);
	else if (job->call == NULL)
		keep(s, job);  /* else its start has yet to be told */
}

/* -- The start --------------------------------------------------------- */

static void
become_task(struct session *s, struct job *job, int64_t now)
{
	int64_t limit = s->options->bg_timeout;

	session_random(job->id, (SESSION_ID - 1) / 2);
	job->state = JOB_TASK;
	job->deadline = limit > 0 ? now + limit : NEVER;
	s->task[s->tasks++] = job;
}

static int
make_outputs(struct session *s, struct job *job)
{
	bool end = job->background || job->progress ||
	    job->truncate != TRUNCATE_HEAD;

	job->out = output_new(&s->store, end);
	job->err = output_new(&s->store, end);
	if (job->out != NULL && job->err != NULL)
		return 0;
	errno = ENOMEM;
	return -1;
}

static void
start(struct session *s, struct job *job, int64_t now)
{
	const struct session_options *o = s->options;
	struct command command;
	enum exec_failed what = EXEC_FAILED_START;
	char *dir;

	if (!s->prepared)
		birth_prepare();
	s->prepared = true;
	dir = job->cwd != NULL ? resolve(s->dir, job->cwd) : copy(s->dir);
	if (dir == NULL)
		errno = ENOMEM;
	memset(&command, 0, sizeof(command));
	command.shell = o->shell;
	command.text = job->text.data;
	command.len = job->text.len;
	command.dir = dir;
	command.env = o->env;
	command.mark = job->background || s->stateless ? NULL : s->mark;
	command.input = job->has_input ? &job->input : NULL;
	command.crowded = s->lefts > FEW_LEFT;
	if (dir == NULL || make_outputs(s, job) < 0 ||
	    exec_start(&job->exec, &command, job->out, job->err, now,
	    &what) < 0) {
		job->error = errno;
		job->refused = JOB_NO_START;
		if (what == EXEC_FAILED_DIR)
			no_dir(s, job, dir);
		else
			free(dir);
		refuse(s, job, job->refused);
		return;
	}
	free(dir);
	buf_free(&job->text);
	job->pid = job->exec.group;
	job->started = now;
	if (job->background) {
		become_task(s, job, now);
		tell(s, job);
		return;
	}
	job->state = JOB_RUNNING;
	job->deadline = now + job->timeout;
	s->running[s->run++] = job;
}

/* The queue moves on, in order: foreground commands one by one (P7). */
static void
start_next(struct session *s, int64_t now)
{
	struct job *job;

	while ((job = s->queue) != NULL) {
		if (s->run == (s->stateless ? SESSION_ASIDE : 1) &&
		    !(job->background && s->stateless) && !s->closing)
			return;
		s->queue = job->next;
		if (s->queue == NULL)
			s->queue_end = &s->queue;
		s->queued -= weight(job);
		if (s->closing)
			refuse(s, job, JOB_CLOSED);
		else if (job->background && s->tasks == SESSION_TASKS)
			refuse(s, job, JOB_TOO_MANY);
		else
			start(s, job, now);
	}
}

/* -- Time -------------------------------------------------------------- */

/* E5: it goes on in the background, or is terminated where there is no room. */
static void
run_late(struct session *s, struct job *job, int64_t now)
{
	job->deadline = NEVER;
	if (s->options->background && s->tasks < SESSION_TASKS) {
		take_from(s->running, &s->run, job);
		output_keep_end(job->out);
		output_keep_end(job->err);
		become_task(s, job, now);
		tell(s, job);
		return;
	}
	job->crowded_out = s->options->background;
	job->timed_out = true;
	exec_stop(&job->exec, now);
}

static void
check_job(struct session *s, struct job *job, const struct loop *loop)
{
	exec_ready(&job->exec, loop);
	if (job->exec.state == EXEC_ENDED) {
		finish(s, job, loop->now);
		return;
	}
	if (loop->now < job->deadline || job->exec.state != EXEC_RUNNING)
		return;
	if (job->state == JOB_RUNNING) {
		run_late(s, job, loop->now);
	} else {
		job->deadline = NEVER;
		job->timed_out = true;
		exec_stop(&job->exec, loop->now);
	}
}

/* -- The session ------------------------------------------------------- */

int
session_open(struct session *s, const struct session_options *options,
             bool stateless)
{
	static const struct crowd nobody = CROWD_EMPTY;

	memset(s, 0, sizeof(*s));
	s->options = options;
	s->stateless = stateless;
	s->crowd = nobody;
	s->pause = REVIEW_LAST;
	s->queue_end = &s->queue;
	s->ended_end = &s->ended;
	session_random(s->nonce, 8);
	memcpy(s->mark, "__BORIS_CWD_", 12);
	memcpy(s->mark + 12, s->nonce, 16);
	memcpy(s->mark + 28, "__", 3);
	/* Files are named apart from it: their names are shown. */
	session_random(s->nonce, 8);
	store_init(&s->store, options->tmpdir, s->nonce, options->save_limit);
	s->dir = copy(options->workdir);
	return s->dir == NULL ? -1 : 0;
}

static void
free_list(struct job *job)
{
	struct job *next;

	for (; job != NULL; job = next) {
		next = job->next;
		job_free(job);
	}
}

void
session_free(struct session *s)
{
	struct left *left;

	if (s->options == NULL)
		return;
	free_list(s->queue);
	free_list(s->ended);
	while (s->run > 0)
		job_free(s->running[--s->run]);
	while (s->tasks > 0)
		job_free(s->task[--s->tasks]);
	while (s->keeps > 0)
		job_free(s->kept[--s->keeps]);
	while ((left = s->left) != NULL) {
		s->left = left->next;
		exec_free(&left->exec);
		free(left);
	}
	crowd_free(&s->crowd);
	store_free(&s->store);
	free(s->dir);
	memset(s, 0, sizeof(*s));
}

void
session_run(struct session *s, struct job *job)
{
	job->state = JOB_QUEUED;
	job->next = NULL;
	*s->queue_end = job;
	s->queue_end = &job->next;
	s->queued += weight(job);
}

struct job *
session_ended(struct session *s)
{
	struct job *job = s->ended;

	if (job == NULL)
		return NULL;
	s->ended = job->next;
	if (s->ended == NULL)
		s->ended_end = &s->ended;
	job->next = NULL;
	return job;
}

void
session_told(struct session *s, struct job *job)
{
	job->call = NULL;
	if (job->state == JOB_TASK)
		return;
	if (job->id[0] != '\0')
		keep(s, job);
	else
		job_free(job);
}

static bool
leave_queue(struct session *s, const struct job *job)
{
	struct job **at;

	for (at = &s->queue; *at != NULL; at = &(*at)->next) {
		if (*at != job)
			continue;
		*at = job->next;
		if (*at == NULL)
			s->queue_end = at;
		s->queued -= weight(job);
		return true;
	}
	return false;
}

void
session_cancel(struct session *s, struct job *job, int64_t now)
{
	job->call = NULL;
	job->cancelled = true;
	if (leave_queue(s, job))
		job_free(job);
	else
		exec_stop(&job->exec, now);
}

struct job *
session_task(struct session *s, const char *id)
{
	int i;

	for (i = 0; i < s->tasks; i++) {
		if (strcmp(s->task[i]->id, id) == 0)
			return s->task[i];
	}
	for (i = 0; i < s->keeps; i++) {
		if (strcmp(s->kept[i]->id, id) == 0)
			return s->kept[i];
	}
	return NULL;
}

/* The newest first: an old result may bear a number that has been given to a
 * new task since. */
struct job *
session_task_by_pid(struct session *s, int64_t pid)
{
	int i;

	for (i = s->tasks; i-- > 0;) {
		if (s->task[i]->pid == pid)
			return s->task[i];
	}
	for (i = s->keeps; i-- > 0;) {
		if (s->kept[i]->pid == pid)
			return s->kept[i];
	}
	return NULL;
}

void
session_kill(struct session *s, struct job *job, int64_t now)
{
	(void)s;
	if (job->state != JOB_TASK)
		return;
	job->killed = !exec_over(&job->exec);
	job->deadline = NEVER;
	exec_kill(&job->exec, now);
}

void
session_forget(struct session *s, struct job *job)
{
	take_from(s->kept, &s->keeps, job);
	job_free(job);
}

bool
session_owns(const struct session *s, pid_t pid)
{
	const struct left *left;
	int i;

	for (i = 0; i < s->run; i++) {
		if (s->running[i]->exec.group == pid)
			return true;
	}
	for (i = 0; i < s->tasks; i++) {
		if (s->task[i]->exec.group == pid)
			return true;
	}
	for (left = s->left; left != NULL; left = left->next) {
		if (left->exec.group == pid)
			return true;
	}
	return false;
}

/* Those left behind take part in turns one by one only while they are being
 * terminated, or where there is no crowd. */
static bool
lefts_take_part(const struct session *s)
{
	return s->closing || s->uncrowded;
}

void
session_want(struct session *s, struct loop *loop)
{
	struct left *left;
	int i;

	for (i = 0; i < s->run; i++) {
		exec_want(&s->running[i]->exec, loop);
		loop_until(loop, s->running[i]->deadline);
	}
	for (i = 0; i < s->tasks; i++) {
		exec_want(&s->task[i]->exec, loop);
		loop_until(loop, s->task[i]->deadline);
	}
	crowd_want(&s->crowd, loop);
	if (lefts_take_part(s)) {
		for (left = s->left; left != NULL; left = left->next)
			exec_want(&left->exec, loop);
	}
	if (s->left != NULL && s->pause <= REVIEW_TIMED)
		loop_until(loop, s->review);
}

static void
left_ready(struct session *s, const struct loop *loop)
{
	void *owner[CROWD_TURN];
	struct left *left;
	int i, n;

	n = crowd_ready(&s->crowd, loop, owner, CROWD_TURN);
	for (i = 0; i < n; i++) {
		if (!exec_empty(owner[i]))
			review_soon(s, loop->now);
	}
	if (lefts_take_part(s)) {
		for (left = s->left; left != NULL; left = left->next)
			exec_ready(&left->exec, loop);
		bury(s);
	}
	review(s, loop->now);
}

void
session_ready(struct session *s, const struct loop *loop)
{
	int i;

	trim(s, SESSION_KEPT);
	for (i = s->run; i-- > 0;)
		check_job(s, s->running[i], loop);
	for (i = s->tasks; i-- > 0;)
		check_job(s, s->task[i], loop);
	if (s->left != NULL)
		left_ready(s, loop);
	start_next(s, loop->now);
}

static void
end_exec(struct exec *x, int64_t now, bool at_once)
{
	if (at_once)
		exec_kill(x, now);
	else
		exec_stop(x, now);
}

void
session_close(struct session *s, int64_t now, bool at_once)
{
	struct left *left;
	int i;

	at_once = at_once || s->closing;
	s->closing = true;
	for (i = 0; i < s->run; i++) {
		s->running[i]->killed = true;
		end_exec(&s->running[i]->exec, now, at_once);
	}
	for (i = 0; i < s->tasks; i++)
		end_exec(&s->task[i]->exec, now, at_once);
	for (left = s->left; left != NULL; left = left->next)
		end_exec(&left->exec, now, at_once);
	start_next(s, now);
}

bool
session_closed(const struct session *s)
{
	const struct left *left;

	for (left = s->left; left != NULL; left = left->next) {
		if (left->exec.group > 0)
			return false;
	}
	return s->closing && s->run == 0 && s->tasks == 0;
}
