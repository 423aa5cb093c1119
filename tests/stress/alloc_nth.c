/* SPDX-License-Identifier: MIT */
/*
 * alloc_nth.c - a library to be loaded first, by which one allocation of tracefuse fails
 *
 * Counts all calls of malloc(), calloc(), realloc() and similar functions that the command and its
 * server make from main() on. Call number $ALLOC_NTH returns NULL; with 0 none does. Calls by the C
 * library (strdup(), asprintf(), open_memstream() ...) count, too. In other programs, such as the
 * traced one, nothing is counted and nothing fails.
 *
 * $ALLOC_NTH_STATE is a file of at least eight bytes, which the processes share. It has the number
 * of calls so far. $ALLOC_NTH_LOG gets the stack of the call that failed, and "killed" with the
 * stack of a process that ends by its own fault.
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAMES = 30, LONGEST = 400 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

/* NULL: this process does not count. */
static uint64_t *calls;
static uint64_t nth;
static int log_fd = -1;

static void tell(const char *what, long number)
{
	void *frames[FRAMES];
	char line[LONGEST];
	int n = snprintf(line, sizeof(line), "%s %ld: %s\n", what, number,
			 program_invocation_short_name);

	if (write(log_fd, line, (size_t)n) == n)
		backtrace_symbols_fd(frames, backtrace(frames, FRAMES), log_fd);
}

static int fails(void)
{
	if (!calls || __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED) != nth)
		return 0;
	tell("failed call", (long)nth);
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t align, size_t size);
void *memalign(size_t align, size_t size)
{
	return fails() ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	void *p = memalign(align, size);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

/*
 * Lets the signal end the process, also if a handler of the session calls this one as the previous
 * handler.
 */
static void on_fault(int sig)
{
	calls = NULL;
	tell("killed by signal", sig);
	signal(sig, SIG_DFL);
	raise(sig);
}

static int is_tracefuse(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *base;

	path[n > 0 ? n : 0] = '\0';
	base = strrchr(path, '/');
	return base && !strcmp(base, "/tracefuse");
}

__attribute__((constructor)) static void begin(void)
{
	const char *number = getenv("ALLOC_NTH"), *state = getenv("ALLOC_NTH_STATE");
	const char *path = getenv("ALLOC_NTH_LOG");
	static const int faults[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };
	struct sigaction sa = { .sa_handler = on_fault,
			       .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) };
	void *frames[FRAMES], *shared;
	int fd;

	if (!number || !state || !path || !is_tracefuse())
		return;
	fd = open(state, O_RDWR | O_CLOEXEC);
	log_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (log_fd >= 0)
		log_fd = fcntl(log_fd, F_DUPFD_CLOEXEC, 900);
	shared = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED || log_fd < 0)
		return;
	nth = strtoull(number, NULL, 10);
	/* Lets the unwinder load its libraries now, so that taking a stack allocates nothing. */
	backtrace(frames, FRAMES);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], &sa, NULL);
	calls = shared;
}
