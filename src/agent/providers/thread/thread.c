/* SPDX-License-Identifier: MIT */
/*
 * thread.c - thread:create, exit, name
 *
 * T1  thread_start() calls a thread's start routine. So the thread has its slot
 *     before, and its end is seen: by return, pthread_exit() or cancellation. For
 *     other threads (the first one, those from before the agent) only pthread_exit()
 *     is seen. Destructors of thread-local data run after thread:exit, and after
 *     the wakeup of the thread that joins it.
 *
 * T2  The child's number is in libc's descriptor of the thread, which may be freed
 *     as soon as the thread has ended. The same holds for the pthread_t that the
 *     creator gave. So the creator reads both only while the thread's routine has
 *     not begun:
 *
 *        creator                             thread
 *        NEW -> READING, reads, -> READ      NEW -> STARTED, its number is in the struct
 *        (found STARTED: reads that)         (found READING: waits for READ, and begins)
 *
 *     The one that comes second disposes of the struct: the thread, if the creator
 *     was first.
 *
 * T3  A thread frees nothing: free() gives a thread memory of its own (an arena),
 *     64 MiB of addresses, which a thread that allocates nothing may not have
 *     under RLIMIT_AS. The next thread's creator frees it.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include "agent/providers/hooks.h"
#include "agent/providers/process/exec.h"
#include "agent/providers/records.h"
#include "agent/syscall.h"
#include "plane/arch/counter.h"
#include "plane/arch/ring_commit.h"

#define START_TICKS (1ull << 31)	/* of the counter: about a second */

REAL_FUNCTION(pthread_create);
REAL_FUNCTION(pthread_exit);
REAL_FUNCTION(pthread_setname_np);
REAL_FUNCTION(prctl);
REAL_FUNCTION(thrd_create);
REAL_FUNCTION(thrd_exit);
REAL_FUNCTION(malloc);
REAL_FUNCTION(free);

/* ---- Start and end ---- */

enum start_state { START_NEW, START_STARTED, START_READING, START_READ };

struct start {
	void		*(*routine)(void *);
	int		(*c11)(void *);		/* instead of routine */
	void		*arg;
	bool		wanted;			/* the creator needs the number: T2 */
	_Atomic int	state;			/* enum start_state */
	int32_t		tid;
	bool		has_family;		/* new tasks are followed */
	struct pids_family family;		/* the creator's */
	bool		no_counter;
	struct start	*next;			/* T3 */
};

static _Atomic(struct start *) spent;

static void start_spent(struct start *s)
{
	/* Relaxed: the value is only stored; the thread that takes all reads what it points to. */
	s->next = atomic_load_explicit(&spent, memory_order_relaxed);
	/*
	 * Release: `next` is stored, and this thread has read all of it. Pairs with the acquire in
	 * spent_free(). Relaxed: as above.
	 */
	while (!atomic_compare_exchange_weak_explicit(&spent, &s->next, s, memory_order_release,
						      memory_order_relaxed))
		;
}

static void spent_free(void)
{
	/* Acquire: pairs with the release in start_spent(). */
	struct start *s = atomic_exchange_explicit(&spent, NULL, memory_order_acquire);

	while (s) {
		struct start *next = s->next;

		REAL(free)(s);
		s = next;
	}
}

/* The start routine of the thread; NULL: it was not started by thread_start(). */
static __thread const void *started __attribute__((tls_model("initial-exec")));

/* The thread may not read the time stamp counter, nor may threads that it makes. */
static __thread bool no_counter __attribute__((tls_model("initial-exec")));

static void counter_forbidden(void)
{
	no_counter = true;
	agent_thread_silence();
}

/* The offset of a thread's number in libc's descriptor; 0: not known. */
static size_t tid_offset;

static int32_t *tid_in(void *descriptor)
{
	return (int32_t *)((char *)descriptor + tid_offset);
}

__attribute__((constructor)) static void find_tid(void)
{
	char *self = __builtin_thread_pointer();
	const int32_t tid = agent_own_tid();
	/* Behind the descriptor's head, which is the same in all versions of libc. */
	enum { FIRST = 0x2c0, LAST = 0x300 };
	size_t at = FIRST;

	while (at < LAST && *(int32_t *)(self + at) != tid)
		at += sizeof(tid);
	/* 0: a sandbox does not permit to ask. */
	tid_offset = tid && at < LAST ? at : 0;
}

bool thread_runs(const void *descriptor)
{
	/* The kernel stores a 0 when the thread has ended. Relaxed: libc's join looks, too. */
	return !tid_offset ||
	       __atomic_load_n((const int32_t *)((const char *)descriptor + tid_offset),
			       __ATOMIC_RELAXED);
}

static void emit_exit(const void *routine, const void *frame)
{
	struct thread_exit r = { 0 };
	struct agent_thread *t = provider_armed(PROVIDER_EXIT) ? agent_thread() : NULL;

	if (!t)
		return;
	r.start_routine = routine ? agent_address(t, routine) : 0;
	r.pid = (int32_t)t->pid;
	__builtin_memcpy(r.comm, t->comm, sizeof(r.comm));
	provider_emit(t, PROVIDER_EXIT, &r, offsetof(struct thread_exit, comm) + sizeof(r.comm),
		      frame);
}

/*
 * T2: the creator still reads the descriptor. That takes some instructions; a second is more than
 * enough.
 */
static void start_await(struct start *s)
{
	enum { YIELDS = 100 };
	struct timespec pause = { .tv_nsec = 1000000 };
	const uint64_t begun = counter_read();

	for (unsigned int i = 0; counter_read() - begun < START_TICKS; i++) {
		/* Pairs with the release in child_tid(). */
		if (atomic_load_explicit(&s->state, memory_order_acquire) == START_READ) {
			start_spent(s);
			return;
		}
		if (!agent_restricted())
			agent_syscall(i < YIELDS && !agent_filtered() ? SYS_sched_yield
								      : SYS_nanosleep,
				      &pause, 0);
	}
}

/*
 * Wakes the thread that joins this one. A return from the start routine counts as pthread_exit().
 */
static void wake_joiner(const void *site, const void *frame)
{
	if (thread_wanted())
		thread_wake(__builtin_thread_pointer(), WAKE_JOIN, 1, (const void *)pthread_exit,
			    site, frame);
}

static void thread_end(void *unused)
{
	const void *frame = __builtin_frame_address(0);

	emit_exit(started, frame);
	wake_joiner(started, frame);
}

static bool anything_armed(void)
{
	for (unsigned int i = 0; i < PROVIDER_SYSCALLS; i++)
		if (provider_armed(i))
			return true;
	for (unsigned int i = 0; i < KERNEL_EVENTS; i++)
		if (kernel_armed(i))
			return true;
	return false;
}

/* In the new thread: *s becomes the caller's copy. */
static void thread_begin(struct start *s, struct start *copy)
{
	int32_t tid = tid_offset ? *tid_in(__builtin_thread_pointer()) : 0;
	int expected = START_NEW;

	copy->routine = s->routine;
	copy->c11 = s->c11;
	copy->arg = s->arg;
	started = s->c11 ? (const void *)s->c11 : (const void *)s->routine;
	if (s->no_counter)
		counter_forbidden();
	if (!tid && !agent_restricted())
		tid = (int32_t)agent_syscall(SYS_gettid);
	agent_born((uint32_t)tid, s->has_family ? &s->family : NULL);
	s->tid = tid;
	if (!s->wanted)
		start_spent(s);
	/* Release: tid. Pairs with the acquire in child_tid(). */
	else if (!atomic_compare_exchange_strong_explicit(&s->state, &expected, START_STARTED,
							  memory_order_acq_rel,
							  memory_order_acquire))
		start_await(s);
	if (anything_armed())
		agent_thread();
}

/* Cancellation and pthread_exit() use libc's list of handlers: see WAIT() in wait.c. */
static void *thread_start(void *arg)
{
	struct start s;
	void *volatile result = NULL;

	thread_begin(arg, &s);
	pthread_cleanup_push(thread_end, NULL);
	result = s.routine(s.arg);
	pthread_cleanup_pop(1);
	return result;
}

static int thread_start_c11(void *arg)
{
	struct start s;
	volatile int result = 0;

	thread_begin(arg, &s);
	pthread_cleanup_push(thread_end, NULL);
	result = s.c11(s.arg);
	pthread_cleanup_pop(1);
	return result;
}

static struct start *start_make(void *(*routine)(void *), int (*c11)(void *), void *arg)
{
	struct start *s;

	spent_free();
	s = REAL(malloc)(sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct start){ .routine = routine, .c11 = c11, .arg = arg, .no_counter = no_counter,
			     .wanted = provider_armed(PROVIDER_CREATE) && !no_counter };
	s->has_family = agent_family(&s->family);
	return s;
}

/* T2. thread: the pthread_t or thrd_t that the creator gave. 0: not known. */
static int32_t child_tid(struct start *s, const void *thread)
{
	int expected = START_NEW;
	int32_t tid;

	/* Acquire: tid. Pairs with the release in thread_begin(). */
	if (!atomic_compare_exchange_strong_explicit(&s->state, &expected, START_READING,
						     memory_order_acq_rel, memory_order_acquire)) {
		tid = s->tid;
		REAL(free)(s);
		return tid;
	}
	tid = tid_offset ? *tid_in(*(void *const *)thread) : 0;
	/* Release: the descriptor has been read. Pairs with the acquire in start_await(). */
	atomic_store_explicit(&s->state, START_READ, memory_order_release);
	return tid;
}

/* After the thread was created, or not (error). */
static void thread_made(struct start *s, bool wanted, const void *thread, const void *routine,
			int error, const void *site, const void *frame)
{
	struct thread_create r = { .ret = -error };
	struct agent_thread *t;

	if (error)
		REAL(free)(s);
	else if (wanted)
		r.child_pid = child_tid(s, thread);
	t = provider_armed(PROVIDER_CREATE) ? agent_thread() : NULL;
	if (!t)
		return;
	/* In a name space of the process's own, the number means nothing outside of it. */
	if (t->pid != t->tid)
		r.child_pid = 0;
	r.call_site = agent_address(t, site);
	r.start_routine = agent_address(t, routine);
	provider_emit(t, PROVIDER_CREATE, &r, sizeof(r), frame);
}

SLOW static int create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
		       void *arg, const void *site)
{
	struct start *s = start_make(routine, NULL, arg);
	bool wanted = s && s->wanted;
	int error;

	if (!s)
		return REAL(pthread_create)(thread, attr, routine, arg);
	error = REAL(pthread_create)(thread, attr, thread_start, s);
	thread_made(s, wanted, thread, (const void *)routine, error, site, FRAME_BELOW(site));
	return error;
}

/*
 * The routine is wrapped also while nothing is armed: a thread:exit that is armed later sees the
 * thread's end.
 */
INTERPOSE int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
			     void *(*routine)(void *), void *restrict arg)
{
	if (!agent_provider_id)
		return REAL(pthread_create)(thread, attr, routine, arg);
	return create(thread, attr, routine, arg, CALL_SITE);
}

SLOW static int create_c11(thrd_t *thread, thrd_start_t routine, void *arg, const void *site)
{
	struct start *s = start_make(NULL, routine, arg);
	bool wanted = s && s->wanted;
	int r;

	if (!s)
		return REAL(thrd_create)(thread, routine, arg);
	r = REAL(thrd_create)(thread, thread_start_c11, s);
	thread_made(s, wanted, thread, (const void *)routine,
		    r == thrd_success ? 0
		    : r == thrd_nomem ? ENOMEM
				      : EAGAIN,
		    site, FRAME_BELOW(site));
	return r;
}

INTERPOSE int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	if (!agent_provider_id)
		return REAL(thrd_create)(thread, routine, arg);
	return create_c11(thread, routine, arg, CALL_SITE);
}

/* A thread that thread_start() began is seen when its frames are unwound. */
INTERPOSE void pthread_exit(void *value)
{
	if (!started) {
		emit_exit(NULL, CALL_FRAME);
		wake_joiner(CALL_SITE, CALL_FRAME);
	}
	REAL(pthread_exit)(value);
	__builtin_unreachable();
}

INTERPOSE void thrd_exit(int value)
{
	if (!started) {
		emit_exit(NULL, CALL_FRAME);
		wake_joiner(CALL_SITE, CALL_FRAME);
	}
	REAL(thrd_exit)(value);
	__builtin_unreachable();
}

/* ---- Names ---- */

static void copy_name(char *to, const char *name)
{
	unsigned int i = 0;

	for (; i < LAYOUT_COMM_LEN - 1 && name[i]; i++)
		to[i] = name[i];
	for (; i < LAYOUT_COMM_LEN; i++)
		to[i] = 0;
}

static void emit_name(struct agent_thread *t, const struct thread_name *r, const void *frame)
{
	struct thread_name copy = *r;

	provider_emit(t, PROVIDER_NAME, &copy,
		      offsetof(struct thread_name, newcomm) + sizeof(copy.newcomm), frame);
}

/* The calling thread has a new name. */
void thread_named(const void *frame)
{
	bool armed = provider_armed(PROVIDER_NAME);
	struct agent_thread *t = armed ? agent_thread() : agent_thread_known();
	struct thread_name r = { 0 };

	if (!t)
		return;
	r.pid = (int32_t)t->pid;
	__builtin_memcpy(r.oldcomm, t->comm, sizeof(r.oldcomm));
	agent_thread_renamed(t);
	__builtin_memcpy(r.newcomm, t->comm, sizeof(r.newcomm));
	if (armed)
		emit_name(t, &r, frame);
}

/* Another thread has a new name; its descriptor exists, or the call would not have been allowed. */
static void other_named(pthread_t thread, const char *name, const void *frame)
{
	int32_t tid = agent_provider_id && tid_offset ? *tid_in((void *)thread) : 0;
	struct agent_thread *t;
	struct thread_name r = { 0 };

	if (tid > 0)
		agent_other_renamed((uint32_t)tid, name);
	t = provider_armed(PROVIDER_NAME) ? agent_thread() : NULL;
	if (!t)
		return;
	if (t->pid == t->tid)
		r.pid = tid;
	copy_name(r.newcomm, name);
	emit_name(t, &r, frame);
}

SLOW static int setname(pthread_t thread, const char *name, const void *site)
{
	int error = REAL(pthread_setname_np)(thread, name);

	if (!error && (void *)thread == __builtin_thread_pointer())
		thread_named(FRAME_BELOW(site));
	else if (!error)
		other_named(thread, name, FRAME_BELOW(site));
	return error;
}

INTERPOSE int pthread_setname_np(pthread_t thread, const char *name)
{
	return setname(thread, name, CALL_SITE);
}

bool thread_restricts(long option)
{
	return option == PR_SET_SECCOMP || option == PR_SET_TSC || option == PR_CAPBSET_DROP;
}

void thread_restricted(long option, unsigned long how, unsigned long filter)
{
	if (option == PR_SET_SECCOMP && how == SECCOMP_MODE_STRICT)
		agent_sandboxed(NULL);
	else if (option == PR_SET_SECCOMP)
		agent_sandboxed((const void *)filter);
	else if (option == PR_SET_TSC && how == PR_TSC_SIGSEGV)
		counter_forbidden();
	if (option == PR_SET_SECCOMP)
		exec_environment_leave();
}

SLOW static int prctl_slow(int option, const unsigned long *a, const void *site)
{
	const void *frame = FRAME_BELOW(site);
	const uint64_t args[6] = { (uint32_t)option, a[0], a[1], a[2], a[3] };
	const bool ended = option == PR_SET_SECCOMP && agent_task_end();
	int saved = errno, ret;

	if (option == PR_CAPBSET_DROP)
		agent_task_unbind();
	syscall_enter(SYS_prctl, args, frame);
	ret = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
	if (ret == 0)
		thread_restricted(option, a[0], a[1]);
	if (ended)
		agent_task_again();
	syscall_exit(SYS_prctl, ret < 0 ? -errno : ret, frame);
	if (ret == 0 && option == PR_SET_NAME) {
		errno = saved;
		thread_named(frame);
	}
	return ret;
}

INTERPOSE int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	/* Only the kernel knows how many arguments there are: all four are read. */
	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (LIKELY(option != PR_SET_NAME && !thread_restricts(option) &&
		   !syscall_wanted(SYS_prctl)))
		return REAL(prctl)(option, a[0], a[1], a[2], a[3]);
	return prctl_slow(option, a, CALL_SITE);
}
