/* SPDX-License-Identifier: MIT */
/*
 * thread.c - the calling thread: takes a slot at its first hit, and gives it back when it ends
 *
 * T1  The slow path runs with all signals blocked: no handler of this thread runs in
 *     between, so only one function at a time uses agent_self.
 * T2  here->lock keeps threads apart. A thread waits for it with a limit (A1).
 * T3  Slots that the server gave belong to this process until it ends. The server
 *     clears those of dead threads (MORE), and finishes what they left half done.
 *     Only without a server the process takes them itself.
 * T4  A new thread has restartable sequences when libc's start_thread() has registered them, and a
 *     thread that libc has not made need not have any. Functions of libc have hits before that.
 *     The word of the CPU is 0 then, or from the thread that had this stack before. So a first hit
 *     asks the kernel, by registering them. They do not stay: libc ends a program in which it
 *     cannot register them. Until it does, the word is -1, and each hit has them for itself.
 * T5  Who has a slot is known here, too: another program may write its owner. Two threads with
 *     one struct agent_thread would use each other's memory, of which one part is a stack.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include "agent/graph/graph.h"
#include "agent/libc.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "plane/arch/counter.h"
#include "plane/arch/ring_commit.h"
#include "plane/ring/ring.h"

enum { RETRY_TICKS = 1 << 28, LEASE_WAIT_SHORT_MS = 5, MAX_KEY = 32 };
/* Of the system call rseq: bytes, a flag, and what libc and rseq.h put before each abort. */
enum { RSEQ_SIZE = 32, RSEQ_UNREGISTER = 1, RSEQ_SIGNATURE = 0x53053053 };
/*
 * Bytes of a handler's alternate stack for a first hit: what graph.c requires, less the extended
 * state.
 */
enum { FIRST_ROOM = 1408 };

__thread struct agent_self agent_self;

/*
 * Blocks all signals but those that a fault raises: if one of these were blocked, it would end the
 * program, and the guard could not help. A fault raises SIGSYS if the program handles system calls
 * itself, and so also ours (PR_SET_SYSCALL_USER_DISPATCH). A signal that the program blocks stays
 * blocked, also one of these: a pending one would be delivered here.
 */
#define FAULT(sig) (1ull << ((sig) - 1))

uint64_t signals_block(void)
{
	uint64_t all = ~(FAULT(SIGBUS) | FAULT(SIGSEGV) | FAULT(SIGFPE) | FAULT(SIGILL) |
			 FAULT(SIGTRAP) | FAULT(SIGSYS)),
		 old = 0;

	agent_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof(all));
	return old;
}

void signals_restore(uint64_t old)
{
	agent_syscall(SYS_rt_sigprocmask, 2, &old, 0, sizeof(old));
}

/* ---- T2 ---- */

/*
 * A thread that is woken in vain, by a signal or because another thread was faster, goes on waiting
 * for the rest of the time.
 */
static bool lock_take(_Atomic uint32_t *lock)
{
	const struct timespec wait = { .tv_nsec = AGENT_WAIT_MS * 1000000l / 10 };
	uint64_t end = counter_read() + AGENT_WAIT_TICKS;
	struct agent_patience patience;
	uint32_t free = 0;

	/* Pairs with the release in lock_give(). */
	if (atomic_compare_exchange_strong_explicit(lock, &free, 1, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	patience = patience_begin();	/* the lock's owner may wait for the server */
	while (atomic_exchange_explicit(lock, 2, memory_order_acquire)) {
		if (counter_read() >= end) {
			if (!patience_goes_on(&patience))
				return false;
			end = counter_read() + AGENT_WAIT_TICKS;
		}
		agent_syscall(SYS_futex, lock, FUTEX_WAIT_PRIVATE, 2, &wait);
	}
	return true;
}

static void lock_give(_Atomic uint32_t *lock)
{
	/* Pairs with the acquires in lock_take(). */
	if (atomic_exchange_explicit(lock, 0, memory_order_release) == 2)
		agent_syscall(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1);
}

/* ---- Slots ---- */

static bool thread_gone(uint32_t tid)
{
	return agent_syscall(SYS_tgkill, agent_syscall(SYS_getpid), tid, 0) == -ESRCH;
}

/*
 * dead: T3, without a server: also slots that dead threads have. A thread that died inside a hit
 * keeps its slot.
 */
static struct slot *slot_claim(uint32_t tid, bool dead)
{
	const struct agent_here *h = agent.here;

	for (uint32_t i = 0; i < h->nr_given; i++) {
		const struct agent_thread *t = &h->threads[h->given[i]];
		struct slot *slot = plane_slot(&agent.plane, h->given[i]);
		/* Relaxed, both: the compare-and-swap finds out; a dead thread stores no more. */
		uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
		uint32_t user = t->slot ? t->tid : owner;	/* T5 */

		if (owner &&
		    (!dead || atomic_load_explicit(&slot->depth, memory_order_relaxed)))
			continue;
		/*
		 * Pairs with the releases in slot_leave(), and in slot_recycle() and
		 * thread_finish() of the server.
		 */
		if ((!user || user == tid || thread_gone(user)) &&
		    atomic_compare_exchange_strong_explicit(
			    &slot->owner, &owner, tid, memory_order_acquire, memory_order_relaxed))
			return slot;
	}
	return NULL;
}

static struct slot *slot_take(uint32_t tid)
{
	struct slot *slot = NULL;
	int err = 0;

	/* One call of slot_claim(), which is put in its place: the library has a limit of size. */
	for (int i = 0; i < 2 && !slot; i++) {
		err = i ? attach_more() : 0;
		slot = slot_claim(tid, err == -ECONNREFUSED);
	}
	return slot;
}

/*
 * Asks the server for a ring of the slot's own and waits for it. If that was in vain (there
 * may be no server any more), later waits are short, until one succeeds.
 */
static void lease_await(struct slot *slot, uint64_t lease)
{
	static _Atomic bool in_vain;
	struct timespec pause = { .tv_nsec = 1000000 };
	/* Relaxed: it only says how long to wait. */
	int limit = atomic_load_explicit(&in_vain, memory_order_relaxed) ? LEASE_WAIT_SHORT_MS
									 : AGENT_WAIT_MS;
	bool got = false;

	/* Pairs with the acquire in ring_leases_serve(). */
	atomic_store_explicit(&slot->lease, lease | RING_LEASE_WANTED, memory_order_release);
	for (int i = 0; i < limit && !got; i++) {
		/* Acquire: pairs with the release in ring_lease_give(). */
		got = (uint32_t)atomic_load_explicit(&slot->lease, memory_order_acquire);
		if (!got)
			agent_syscall(SYS_nanosleep, &pause, 0);
	}
	/* Relaxed: as above. */
	atomic_store_explicit(&in_vain, !got, memory_order_relaxed);
}

/* A thread without restartable sequences needs rings of its own (R12), which the server makes. */
static void lease_take(struct slot *slot)
{
	/* Acquire: pairs with the release in ring_lease_give(). */
	uint64_t lease = atomic_load_explicit(&slot->lease, memory_order_acquire);

	if (!(uint32_t)lease && (rseq_cpu() < 0 || (lease & RING_LEASE_ONLY)))
		lease_await(slot, lease);
}

void agent_thread_lend(struct agent_thread *t)
{
	struct slot *slot = agent_slot(t);
	/* Acquire: pairs with the release in ring_lease_give(). */
	uint64_t lease = slot ? atomic_load_explicit(&slot->lease, memory_order_acquire) : 0;

	if (slot && !(uint32_t)lease && !agent_restricted())
		lease_await(slot, lease);
}

/* ---- The log of tasks ---- */

static void task_note(const struct agent_thread *t)
{
	struct program_tables *tables =
		plane_given(&agent.plane, plane_header(&agent.plane)->programs);
	/* Relaxed: each thread gets another number; the entry's seq says when it is complete. */
	uint64_t nr = atomic_fetch_add_explicit(&tables->next_task, 1, memory_order_relaxed);
	struct task_entry *e = &tables->tasks[nr % LAYOUT_TASKS];

	/*
	 * The fence pairs with the one in read_entry() (program/names.c): that reader sees the 0.
	 */
	atomic_store_explicit(&e->seq, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	e->pid = t->pid;
	e->tgid = t->tgid;
	memcpy(e->comm, t->comm, sizeof(e->comm));
	/* Pairs with the acquire in read_entry(). */
	atomic_store_explicit(&e->seq, nr + 1, memory_order_release);
}

void agent_thread_renamed(struct agent_thread *t)
{
	agent_syscall(SYS_prctl, PR_GET_NAME, t->comm);
	task_note(t);
}

void agent_other_renamed(uint32_t tid, const char *name)
{
	const struct agent_here *h = agent.here;

	/* Without the lock: pairs with the release in attach_slots(). */
	for (uint32_t i = 0;
	     agent_attached() && i < __atomic_load_n(&h->nr_given, __ATOMIC_ACQUIRE); i++) {
		struct agent_thread *t = &agent.here->threads[h->given[i]];

		if (!t->slot || t->tid != tid)
			continue;
		/*
		 * That thread may be in a hit just now, which then has parts of both names. The
		 * kernel does the same.
		 */
		for (unsigned int k = 0, end = 0; k < LAYOUT_COMM_LEN; k++) {
			end |= k == LAYOUT_COMM_LEN - 1 || !name[end ? 0 : k];
			t->comm[k] = end ? 0 : name[k];
		}
		task_note(t);
		return;
	}
}

/* ---- First and last ---- */

/* The word in which the kernel keeps this thread's CPU for libc. Without it: a negative number. */
static const volatile int32_t *cpu_word(void)
{
	static const volatile int32_t none = -1;

	if (!&__rseq_offset)
		return &none;
	return &((struct rseq_area *)((char *)__builtin_thread_pointer() + __rseq_offset))->cpu_id;
}

__attribute__((cold)) bool thread_rseq_begin(void)
{
	struct rseq_area *area = rseq_area();

	if (!agent_may_ask())
		return false;
	area->rseq_cs = 0;
	return !agent_syscall(SYS_rseq, area, RSEQ_SIZE, 0, RSEQ_SIGNATURE);
}

__attribute__((cold)) void thread_rseq_end(void)
{
	struct rseq_area *area = rseq_area();

	agent_syscall(SYS_rseq, area, RSEQ_SIZE, RSEQ_UNREGISTER, RSEQ_SIGNATURE);
	area->cpu_id = RSEQ_NOT_YET;
}

/* T4. born: the thread runs code of the program, behind start_thread(), or has had a slot. */
static bool rseq_is_missing(void)
{
	if (rseq_cpu() < 0 || agent_self.born || !thread_rseq_begin())
		return false;
	thread_rseq_end();
	return true;
}

static struct agent_thread *thread_make(struct slot *slot, uint32_t tid)
{
	struct agent_thread *t = &agent.here->threads[slot - plane_slot(&agent.plane, 0)];

	memset(t, 0, sizeof(*t));
	t->tid = tid;
	t->pid = attach_pid(tid);
	t->tgid = attach_pid((uint32_t)agent_syscall(SYS_getpid));
	/* Relaxed: the slot is this thread's own now, and it is in no hit. */
	atomic_store_explicit(&slot->depth, 0, memory_order_relaxed);
	t->cpu = cpu_word();
	t->rseq_missing = rseq_is_missing();
	if (!t->rseq_missing)
		lease_take(slot);
	stack_bounds(t);
	t->slot = slot;
	tasks_join(t);
	agent_thread_renamed(t);
	return t;
}

static struct agent_thread *thread_begin(void)
{
	uint32_t tid = (uint32_t)agent_syscall(SYS_gettid);
	struct agent_thread *t;
	struct slot *slot;

	if (attach_again())
		return NULL;
	slot = slot_take(tid);
	if (!slot)
		return NULL;
	t = thread_make(slot, tid);
	/*
	 * Pairs with the fence in attach_detach(): either that did not see this slot yet, and this
	 * thread sees the state, or it takes the slot.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_ON) {
		t->slot = NULL;
		return NULL;
	}
	/*
	 * Small keys take no memory. With a larger one, the server finds out that the thread has
	 * ended.
	 */
	if (agent.key >= 0 && agent.key < MAX_KEY)
		libc_pthread_setspecific((pthread_key_t)agent.key, t);
	return t;
}

/* Whether all signals are blocked but those that cannot be, and 32 and 33, which libc uses. */
static uint8_t thread_flags(const struct agent_thread *t, uint64_t mask)
{
	uint8_t flags = agent_signal_flags ? agent_signal_flags(t, __builtin_frame_address(0)) : 0;

	mask |= 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 3ull << 31;
	return mask == ~0ull ? flags | AGENT_SIGNALS_OFF : flags;
}

/*
 * The process's number for agent_self.lost. When it gets one the process is counted. No system call
 * is made for it: a sandbox may forbid that.
 */
static uint32_t process_lost(struct losses *l)
{
	uint32_t number = (uint32_t)counter_read() | 1, none = 0;

	/* Relaxed: counts. */
	if (!atomic_compare_exchange_strong_explicit(&agent.here->lost, &none, number,
						     memory_order_relaxed, memory_order_relaxed))
		return none;
	atomic_fetch_add_explicit(&l->processes, 1, memory_order_relaxed);
	return number;
}

/*
 * A hit without a slot is counted for the whole session: the process may have no slot at all, and
 * may end at once.
 */
void agent_thread_missed(void)
{
	struct losses *l = &((struct data_header *)agent.plane.data)->losses;
	/* Relaxed, all of them: counts. */
	uint32_t lost = atomic_load_explicit(&agent.here->lost, memory_order_relaxed);

	atomic_fetch_add_explicit(&l->hits, 1, memory_order_relaxed);
	if (lost && agent_self.lost == lost)
		return;
	agent_self.lost = lost ? lost : process_lost(l);
	atomic_fetch_add_explicit(&l->threads, 1, memory_order_relaxed);
	if (agent_restricted() &&
	    !atomic_exchange_explicit(&agent.here->refused, true, memory_order_relaxed))
		agent_untraced(UNTRACED_SANDBOX, 1);
}

bool thread_lock(void)
{
	uint64_t old = signals_block();

	if (!lock_take(&agent.here->lock)) {
		signals_restore(old);
		return false;
	}
	agent_self.signals = old;
	agent_self.first = 1;
	agent_self.was_busy = agent_self.thread ? agent_self.thread->busy : 0;
	if (agent_self.thread)
		agent_self.thread->busy = 1;
	return true;
}

void thread_unlock(void)
{
	request_rest();
	agent_self.first = 0;
	if (agent_self.thread)
		agent_self.thread->busy = agent_self.was_busy;
	lock_give(&agent.here->lock);
	signals_restore(agent_self.signals);
}

/*
 * A child of vfork() or posix_spawn() has its parent's memory, and may not join with it. Without
 * interposers nothing else says what it is. A child of fork() has 0 here, and joins.
 */
static bool is_spawned(void)
{
	return agent.late && agent.here->own_pid &&
	       agent_syscall(SYS_getpid) != agent.here->own_pid;
}

__attribute__((cold)) struct agent_thread *agent_thread_first(void)
{
	struct agent_thread *t = NULL;

	/*
	 * Pairs with the release in attach_start(): the code below uses agent.here and the session.
	 */
	if (atomic_load_explicit(&agent.state, memory_order_acquire) != AGENT_ON ||
	    agent_self.first)
		return NULL;
	/*
	 * A signal handler inside fork() cannot join. It does not wait for the lock either: another
	 * thread that joins may have it, and wait for the end of fork().
	 */
	if (agent_restricted() || agent_self.retry > counter_read() ||
	    (sites_wait_for_fork() && !agent_attached()) || is_spawned() ||
	    !stack_has_room((uintptr_t)__builtin_frame_address(0), FIRST_ROOM)) {
		agent_thread_missed();
		return NULL;
	}
	if (thread_lock()) {
		t = thread_begin();
		if (t)
			t->flags = thread_flags(t, agent_self.signals);
		agent_self.thread = t;
		agent_self.retry = t ? 0 : counter_read() + RETRY_TICKS;
		thread_unlock();
	}
	if (!t)
		agent_thread_missed();
	return t;
}

struct agent_thread *agent_thread_known(void)
{
	struct agent_thread *t = agent_self.thread;

	return t && t->slot ? t : NULL;
}

static void slot_leave(struct agent_thread *t)
{
	struct slot *slot = agent_slot(t);

	if (!slot)
		return;
	t->slot = NULL;
	pids_leave(&agent.plane, slot, t->pid);
	atomic_store_explicit(&slot->depth, 0, memory_order_relaxed);
	/* Pairs with the acquire in slot_claim(). */
	atomic_store_explicit(&slot->owner, 0, memory_order_release);
}

_Atomic bool agent_thread_stays;

static void thread_leave(struct agent_thread *t)
{
	uint64_t old;

	if (agent_restricted()) {
		agent_thread_silence();
		return;
	}
	old = signals_block();
	graph_thread_ends(t);
	agent_self.thread = NULL;
	slot_leave(t);
	signals_restore(old);
}

/* Asks to be called again until the last round: other destructors may still make hits. */
static void thread_end(void *arg)
{
	struct agent_thread *t = arg;

	if (t != agent_self.thread || !t->slot)
		return;
	if (++agent_self.leaving < PTHREAD_DESTRUCTOR_ITERATIONS)
		libc_pthread_setspecific((pthread_key_t)agent.key, t);
	/* Relaxed: set before there are threads, or late: then a hit takes a slot again. */
	else if (!atomic_load_explicit(&agent_thread_stays, memory_order_relaxed))
		thread_leave(t);
}

void agent_thread_exits(void)
{
	struct agent_thread *t = agent_thread_known();

	/* The first thread's process may go on, and a child of vfork() has its parent's slot. */
	if (t && !t->no_rseq)
		thread_leave(t);
}

void agent_process_exits(void)
{
	struct agent_thread *t = agent_thread_known();

	/*
	 * The functions that a child of vfork() seems to be in are its parent's, which goes on.
	 * busy: a handler has interrupted a slow hit.
	 */
	if (t && !t->no_rseq && !t->busy)
		graph_process_ends(t);
}

/* exit(), or the return of main(): behind the program's own handlers and destructors. */
__attribute__((destructor)) static void process_exits(void)
{
	agent_process_exits();
}

int thread_key_create(void)
{
	pthread_key_t key;

	return libc_pthread_key_create(&key, thread_end) ? -1 : (int)key;
}
