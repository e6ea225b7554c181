/* Counts of gcov are written when a program ends by exit(). This, linked to a
 * boris that is built for t/coverage, writes those too of a process that ends by
 * _exit(), and of the guard, which mostly is killed while it sleeps in read(). */
#include <stdbool.h>
#include <sys/types.h>

void __gcov_dump(void);
void __gcov_reset(void);
void __real__exit(int status);
void __wrap__exit(int status);
pid_t __real_fork(void);
pid_t __wrap_fork(void);
ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);

static bool forked;

static void
flush(void)
{
	__gcov_dump();
	__gcov_reset();
}

void
__wrap__exit(int status)
{
	flush();
	__real__exit(status);
}

pid_t
__wrap_fork(void)
{
	pid_t pid = __real_fork();

	if (pid == 0) {
		forked = true;
		__gcov_reset();  /* the parent has what was counted until now */
	}
	return pid;
}

ssize_t
__wrap_read(int fd, void *p, size_t n)
{
	if (forked)
		flush();
	return __real_read(fd, p, n);
}
