/* SPDX-License-Identifier: MIT */
/*
 * late.c - a process that runs already begins its task when the session's first probe comes, or
 * when somebody asks for functions
 *
 *     server: a process has a file with probes, and no task; or site_control.asked was raised
 *         -> config_header.knock, the plan of events of calls that nobody asks for
 *     process: its next such call -> emit_long() -> late_begin() -> task, probes, answer
 *                                                                -> late_find() (unread.c)
 *     server: all of them have answered -> the events have no plan again
 *
 * A1  It is a hit in any thread, so the thread may hold any lock of libc. It waits for no lock: if
 *     that of the sites is taken, a later call does it. So it may also come inside fork(), which
 *     holds that lock.
 * A2  In a signal handler it is left for later, and so is a call of a child of vfork(), because
 *     that has its parent's memory.
 * A3  In a sandbox it makes no system call: it only answers that it cannot.
 * A4  The hit may be a probe's, at any instruction. So the processor's extended state is saved.
 */
#include "agent/sites/state.h"
#include "agent/syscall.h"

/* Bytes of an alternate stack. */
enum { LATE_ROOM = 16384 };

_Atomic uint32_t late_done;

/* A2 */
static bool may_begin_now(const struct agent_thread *t)
{
	const void *frame = __builtin_frame_address(0);
	uint8_t flags = t->flags;

	/* The handler may have been left by a jump. */
	if ((flags & AGENT_HANDLER) && agent_signal_flags)
		flags = agent_signal_flags(t, frame);
	return !t->no_rseq && !(flags & AGENT_HANDLER) &&
	       stack_has_room((uintptr_t)frame, LATE_ROOM);
}

/* Calls functions of libc, which change vector registers. From late_answer_kept(). */
void late_answer(void)
{
	const uint32_t wanted = late_wanted();

	if (!sites_lock_try())
		return;
	if (!sites_begin_late())
		sites_never_plants();
	/* Relaxed: it only says that nothing is to be done here. */
	atomic_store_explicit(&late_done, wanted, memory_order_relaxed);
	sites_unlock();
}

void late_begin(const struct agent_thread *t)
{
	const bool quiet = sites_quiet();	/* A3 */
	uint64_t old;

	if (!may_begin_now(t))
		return;
	if (!quiet && agent_syscall(SYS_getpid) != agent.here->own_pid)
		return;
	old = quiet ? 0 : signals_block();
	late_answer_kept();
	if (!quiet)
		signals_restore(old);
}
