/* SPDX-License-Identifier: MIT */
/*
 * exec.c - the process executes another program: exec*(); or a child does: posix_spawn*()
 *
 * The agent follows into children by LD_PRELOAD in their environment. A program that it
 * would break (exec_check.c) gets the environment without the agent, as it would
 * be without us. If that leaves a variable empty, the variable is left out.
 *
 * Everything is on the stack: these functions are called in children of vfork() and in
 * signal handlers.
 */
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "agent/providers/process/exec.h"
#include "agent/providers/syscalls/gates.h"
#include "agent/providers/syscalls/syscalls.h"
#include "session/preload.h"

#define PRELOAD "LD_PRELOAD="

REAL_FUNCTION(execve);
REAL_FUNCTION(execvpe);
REAL_FUNCTION(execveat);
REAL_FUNCTION(fexecve);
REAL_FUNCTION(posix_spawn);
REAL_FUNCTION(posix_spawnp);
REAL_FUNCTION(system);
REAL_FUNCTION(popen);

/* ---- The environment ---- */

struct environment {
	size_t		nr;		/* variables */
	const char	*list;		/* the value of LD_PRELOAD; NULL: there is none */
	const char	*agent;		/* the agent's word of the list, agent_len bytes */
	size_t		agent_len;
	bool		sanitizer_first;
};

/* The next word of a list, *len bytes, and the list behind it; NULL: no more. */
static const char *next_word(const char **list, size_t *len)
{
	const char *word = *list + strspn(*list, " :");

	*len = strcspn(word, " :");
	*list = word + *len;
	return *len ? word : NULL;
}

static bool environment_look(char *const *env, struct environment *out)
{
	const char *list, *word;
	size_t len;

	*out = (struct environment){ 0 };
	for (; env && env[out->nr]; out->nr++)
		if (!out->list && !strncmp(env[out->nr], PRELOAD, sizeof(PRELOAD) - 1))
			out->list = env[out->nr] + sizeof(PRELOAD) - 1;
	for (list = out->list; list && (word = next_word(&list, &len)); ) {
		if (preload_is_agent(word, len)) {
			out->agent = word;
			out->agent_len = len;
			return true;
		}
		out->sanitizer_first = true;	/* its author knows what has to come first */
	}
	return false;
}

/* "LD_PRELOAD=" and the list without the agent. False: the list had nothing else. */
static bool list_without(const char *list, char *out)
{
	const char *word;
	char *at = out + sizeof(PRELOAD) - 1;
	size_t len;

	memcpy(out, PRELOAD, sizeof(PRELOAD) - 1);
	while ((word = next_word(&list, &len))) {
		if (preload_is_agent(word, len))
			continue;
		if (at > out + sizeof(PRELOAD) - 1)
			*at++ = ':';
		memcpy(at, word, len);
		at += len;
	}
	*at = 0;
	return at > out + sizeof(PRELOAD) - 1;
}

/* `to` has room for all variables, `text` for the changed one. */
static void copy_without(char *const *env, const struct environment *e, char **to, char *text)
{
	for (; *env; env++) {
		if (*env + sizeof(PRELOAD) - 1 != e->list)
			*to++ = *env;
		else if (list_without(e->list, text))
			*to++ = text;
	}
	*to = NULL;
}

/* Whether the text is where the kernel has put it. Other memory may be read-only, or shared. */
static bool is_from_start(const char *text)
{
	return (uintptr_t)text > getauxval(AT_RANDOM) && (uintptr_t)text < getauxval(AT_EXECFN);
}

/* A child of vfork() has its parent's memory. */
static bool is_of_parent(void)
{
	const struct agent_thread *t = agent_thread_known();

	return t && t->no_rseq;
}

/*
 * system() and popen() take the program's own environment. If the agent would break what they
 * begin, they must not find it there. The list becomes shorter where it is. False: it does not.
 */
static bool list_shorten(const struct environment *e)
{
	char *head, *text;

	if (is_of_parent() || !is_from_start(e->list))
		return false;
	head = (char *)(uintptr_t)e->list - (sizeof(PRELOAD) - 1);
	text = __builtin_alloca(strlen(head) + 1);
	list_without(e->list, text);
	memcpy(head, text, strlen(text) + 1);
	return true;
}

/*
 * A list that was shortened for a shell, whose threads may begin others. It is put back before the
 * next program that can load the agent. NONE -> BUSY -> IS -> BUSY -> NONE: who sets BUSY has the
 * rest to itself. Nobody waits for that: a child of fork() may find it.
 */
enum { TAKEN_NONE, TAKEN_BUSY, TAKEN_IS };

static struct {
	_Atomic uint32_t state;
	char		*list;
	size_t		agent, agent_len;	/* the agent's word of `whole` */
	char		whole[PATH_MAX];
} taken;

static bool taken_move(uint32_t from, uint32_t to)
{
	/* Pairs with the release in taken_set(). */
	return atomic_compare_exchange_strong_explicit(&taken.state, &from, to,
						       memory_order_acquire, memory_order_relaxed);
}

static void taken_set(uint32_t state)
{
	/* Pairs with the acquire in taken_move(). */
	atomic_store_explicit(&taken.state, state, memory_order_release);
}

/* Takes the agent out of the list until list_return(). A list that is too long stays short. */
static void list_take(const struct environment *e)
{
	const size_t size = strlen(e->list) + 1;
	const bool fits = size <= sizeof(taken.whole);

	if (!taken_move(TAKEN_NONE, TAKEN_BUSY))
		return;
	if (fits)
		memcpy(taken.whole, e->list, size);
	taken.list = (char *)(uintptr_t)e->list;
	taken.agent = (size_t)(e->agent - e->list);
	taken.agent_len = e->agent_len;
	taken_set(list_shorten(e) && fits ? TAKEN_IS : TAKEN_NONE);
}

/*
 * The process may have left its root by another chroot(): programs can load the agent again. If
 * the program has written to that memory since, as for a title of the process, it stays.
 */
static void list_return(void)
{
	char *head, *text;

	/* Relaxed: most processes have none. */
	if (atomic_load_explicit(&taken.state, memory_order_relaxed) != TAKEN_IS ||
	    !taken_move(TAKEN_IS, TAKEN_BUSY))
		return;
	if (!exec_preloads(taken.whole + taken.agent, taken.agent_len)) {
		taken_set(TAKEN_IS);
		return;
	}
	head = taken.list - (sizeof(PRELOAD) - 1);
	text = __builtin_alloca(sizeof(PRELOAD) + strlen(taken.whole));
	list_without(taken.whole, text);
	if (!strcmp(head, text))
		memcpy(taken.list, taken.whole, strlen(taken.whole) + 1);
	taken_set(TAKEN_NONE);
}

/* A filter would end a program that begins with the agent. */
void exec_environment_leave(void)
{
	struct environment e;

	if (agent_start_forbidden() && environment_look(environ, &e))
		list_shorten(&e);
}

static const char *value_of(char *const *env, const char *name, size_t len)
{
	for (; env && *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/*
 * Why the program will not be traced. has: its environment has the agent. look: what its file says;
 * that it cannot reach the session comes before.
 */
static enum untraced why_untraced(char *const *env, bool has, enum untraced look, bool is_new)
{
	enum untraced reach;

	if (has && !value_of(env, "TRACEFUSE_SESSION", 17))
		return UNTRACED_ENVIRONMENT;
	reach = agent_exec_reach(is_new);
	if (reach != UNTRACED_REASONS)
		return reach;
	if (has)
		return look;
	return agent_start_forbidden() ? UNTRACED_REASONS : UNTRACED_ENVIRONMENT;
}

/* What keeps the agent of environment `e` out of a program; `look` is of its file. */
#define AGENT_LOOK(e, look) (exec_preloads((e).agent, (e).agent_len) ? (look) : UNTRACED_ROOT)

/*
 * If the agent would break the program, `env` becomes a copy on this function's stack without it.
 * Counts a program that will not be traced; FAILED() takes the count back. is_new: a new process
 * executes it.
 */
#define PREPARE(env, look, is_new)								\
	struct environment found_;								\
	const bool has_ = (list_return(), environment_look(env, &found_));			\
	const enum untraced look_ = has_ ? AGENT_LOOK(found_, look) : UNTRACED_REASONS;		\
	const enum untraced why_ = why_untraced(env, has_, look_, is_new);			\
												\
	agent_untraced(why_, 1);								\
	if (exec_breaks(look_) || (has_ && agent_start_forbidden())) {				\
		const size_t room_ = sizeof(PRELOAD) + strlen(found_.list);			\
		char **copy_ = __builtin_alloca((found_.nr + 1) * sizeof(char *));		\
												\
		copy_without(env, &found_, copy_, __builtin_alloca(room_));			\
		env = copy_;									\
	}

#define FAILED() agent_untraced(why_, -1)

#define PATH_LOOK(path) exec_look(path, found_.sanitizer_first)
#define FILE_LOOK(file) exec_file_look(file, value_of(environ, "PATH", 4), found_.sanitizer_first)

/* ---- exec ---- */

static int exec_path(const char *path, char *const *argv, char *const *env, const void *frame)
{
	struct rlimit limits;
	int r;

	PREPARE(env, PATH_LOOK(path), false)
	call_enter(SYSCALL_execve, (uint64_t[]){ (uintptr_t)path, (uintptr_t)argv, (uintptr_t)env },
		   frame);
	limits_exec(&limits);
	r = REAL(execve)(path, argv, env);
	FAILED();
	limits_exec_failed(&limits);
	call_exit(SYSCALL_execve, call_result(r), frame);
	return r;
}

static int exec_file(const char *file, char *const *argv, char *const *env, const void *frame)
{
	struct rlimit limits;
	int r;

	PREPARE(env, FILE_LOOK(file), false)
	call_enter(SYSCALL_execve, (uint64_t[]){ (uintptr_t)file, (uintptr_t)argv, (uintptr_t)env },
		   frame);
	limits_exec(&limits);
	r = REAL(execvpe)(file, argv, env);
	FAILED();
	limits_exec_failed(&limits);
	call_exit(SYSCALL_execve, call_result(r), frame);
	return r;
}

INTERPOSE int execve(const char *path, char *const argv[], char *const env[])
{
	return exec_path(path, argv, env, CALL_FRAME);
}

INTERPOSE int execv(const char *path, char *const argv[])
{
	return exec_path(path, argv, environ, CALL_FRAME);
}

INTERPOSE int execvp(const char *file, char *const argv[])
{
	return exec_file(file, argv, environ, CALL_FRAME);
}

INTERPOSE int execvpe(const char *file, char *const argv[], char *const env[])
{
	return exec_file(file, argv, env, CALL_FRAME);
}

/* "/proc/self/fd/N" */
static const char *path_of(int fd, char out[32])
{
	char digits[12];
	size_t nr = sizeof(digits);

	digits[--nr] = 0;
	do
		digits[--nr] = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	strcpy(out, "/proc/self/fd/");
	return strcat(out, digits + nr);
}

INTERPOSE int fexecve(int fd, char *const argv[], char *const env[])
{
	struct rlimit limits;
	char path[32];
	int r;

	PREPARE(env, fd >= 0 ? PATH_LOOK(path_of(fd, path)) : UNTRACED_REASONS, false)
	call_enter(SYSCALL_execveat,
		   (uint64_t[]){ (uint32_t)fd, (uintptr_t) "", (uintptr_t)argv, (uintptr_t)env,
				AT_EMPTY_PATH },
		   CALL_FRAME);
	limits_exec(&limits);
	r = REAL(fexecve)(fd, argv, env);
	FAILED();
	limits_exec_failed(&limits);
	call_exit(SYSCALL_execveat, call_result(r), CALL_FRAME);
	return r;
}

/* A path below a directory's descriptor is not examined. */
static enum untraced at_look(int fd, const char *path, bool sanitizer_first)
{
	char own[32];

	if (!path)
		return UNTRACED_REASONS;
	if (fd >= 0 && !*path)
		return exec_look(path_of(fd, own), sanitizer_first);
	return fd == AT_FDCWD || *path == '/' ? exec_look(path, sanitizer_first) : UNTRACED_REASONS;
}

INTERPOSE int execveat(int fd, const char *path, char *const argv[], char *const env[], int flags)
{
	struct rlimit limits;
	int r;

	PREPARE(env, at_look(fd, path, found_.sanitizer_first), false)
	call_enter(SYSCALL_execveat,
		   (uint64_t[]){ (uint32_t)fd, (uintptr_t)path, (uintptr_t)argv, (uintptr_t)env,
				(uint32_t)flags },
		   CALL_FRAME);
	limits_exec(&limits);
	r = REAL(execveat)(fd, path, argv, env, flags);
	FAILED();
	limits_exec_failed(&limits);
	call_exit(SYSCALL_execveat, call_result(r), CALL_FRAME);
	return r;
}

/* ---- Lists of arguments: they become the array that the kernel gets, as in libc itself ---- */

/* The number of arguments of a list, without `arg` before it and the NULL behind it. */
static size_t list_count(const char *arg, va_list ap)
{
	size_t n = 0;

	if (arg)
		while (va_arg(ap, char *))
			n++;
	return n;
}

static void list_read(const char *arg, va_list ap, char **argv)
{
	*argv = (char *)arg;
	while (*argv)
		*++argv = va_arg(ap, char *);
}

/*
 * Makes an array on the caller's stack: there may be no memory. Afterwards `ap` is behind the NULL.
 */
#define LIST(argv, arg, ap)								\
	do {										\
		va_start(ap, arg);							\
		argv = __builtin_alloca((2 + list_count(arg, ap)) * sizeof(char *));	\
		va_end(ap);								\
		va_start(ap, arg);							\
		list_read(arg, ap, argv);						\
	} while (0)

INTERPOSE int execl(const char *path, const char *arg, ...)
{
	char **argv;
	va_list ap;

	LIST(argv, arg, ap);
	va_end(ap);
	return exec_path(path, argv, environ, CALL_FRAME);
}

INTERPOSE int execle(const char *path, const char *arg, ...)
{
	char **argv, **env;
	va_list ap;

	LIST(argv, arg, ap);
	env = va_arg(ap, char **);
	va_end(ap);
	return exec_path(path, argv, env, CALL_FRAME);
}

INTERPOSE int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;

	LIST(argv, arg, ap);
	va_end(ap);
	return exec_file(file, argv, environ, CALL_FRAME);
}

/* ---- posix_spawn: its calls are inside libc, so interposers do not see them ---- */

typedef __typeof__(&posix_spawn) spawn_call;

/* The new program joins the sets of its creator. */
static int spawn_followed(spawn_call real, pid_t *pid, const char *path,
			  const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
			  char *const argv[], char *const env[])
{
	struct pids_family family;
	const bool follows = agent_family(&family);
	struct agent_thread *const t = fork_spawns();
	pid_t child;
	int r = real(pid ? pid : &child, path, actions, attr, argv, env);

	fork_took_back(t, true, false);
	if (!r && follows)
		agent_spawned((uint32_t)(pid ? *pid : child), &family);
	return r;
}

INTERPOSE int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	int r;

	PREPARE(env, PATH_LOOK(path), true)
	r = spawn_followed(REAL(posix_spawn), pid, path, actions, attr, argv, env);
	if (r)
		FAILED();
	return r;
}

INTERPOSE int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	int r;

	PREPARE(env, FILE_LOOK(file), true)
	r = spawn_followed(REAL(posix_spawnp), pid, file, actions, attr, argv, env);
	if (r)
		FAILED();
	return r;
}

/* ---- a shell of libc's, which gets the program's environment as it is ---- */

static enum untraced shell_why(void)
{
	enum untraced look = UNTRACED_REASONS;
	struct environment e;
	bool has;

	list_return();
	has = environment_look(environ, &e);
	if (has)
		look = AGENT_LOOK(e, exec_look(_PATH_BSHELL, e.sanitizer_first));
	if (exec_breaks(look))
		list_take(&e);
	return why_untraced(environ, has, look, true);
}

INTERPOSE int system(const char *command)
{
	const enum untraced why = command ? shell_why() : UNTRACED_REASONS;
	struct agent_thread *const t = fork_spawns();
	const int status = REAL(system)(command);

	fork_took_back(t, true, false);
	if (status != -1)
		agent_untraced(why, 1);
	return status;
}

INTERPOSE FILE *popen(const char *command, const char *type)
{
	const enum untraced why = shell_why();
	struct agent_thread *const t = fork_spawns();
	FILE *f = REAL(popen)(command, type);

	fork_took_back(t, true, false);
	if (f)
		agent_untraced(why, 1);
	return f;
}
