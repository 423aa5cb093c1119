/* SPDX-License-Identifier: MIT */
/*
 * limits.c - RLIMIT_AS and mlockall(), as if the session's memory were not in the program
 *
 * The session's memory is some GiB of addresses: a sparse file that is mostly not touched.
 *
 *   RLIMIT_AS   if the program has a limit, the kernel's limit is that plus
 *               agent_mapped(). The program sees and sets its own (room.c raised
 *               the first one).
 *   mlockall    MCL_CURRENT would fill the file, to its last page. So all mappings
 *               are locked when they are touched (MCL_ONFAULT fills nothing), and
 *               then the program's mappings are locked in full, one by one.
 *
 * If RLIMIT_MEMLOCK is infinite, the touched part of the session's memory stays locked.
 * If not, the program may lock only little memory, and the kernel counts addresses, not
 * pages that are there. Then the session's memory is not locked, and pages of a ring may
 * be swapped out.
 *
 * A child of posix_spawn(), system() or popen() has the raised limit: libc gives
 * no place to change it in the child only. Its agent takes that limit for the program's
 * and raises it again. So such a program sees a limit that is too high by agent_mapped().
 * Or, if the hard limit is finite and may not be raised, it runs untraced. To lower the
 * limit here meanwhile could make an mmap() of another thread fail.
 *
 * A program that asks the kernel without libc sees the raised limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include "agent/libc.h"
#include "agent/maps.h"
#include "agent/providers/syscalls/syscalls.h"
#include "agent/syscall.h"

enum { PAGE = 4096 };

static long as_libc(long r)
{
	if (r >= 0)
		return r;
	errno = (int)-r;
	return -1;
}

/* ---- RLIMIT_AS ---- */

static uint64_t limit_for_kernel(uint64_t limit)
{
	uint64_t more = agent_mapped();

	if (limit == RLIM_INFINITY)
		return limit;
	return limit < RLIM_INFINITY - more ? limit + more : RLIM_INFINITY - 1;
}

/* A limit that is lower than that was not set by these functions. */
static uint64_t limit_for_program(uint64_t limit)
{
	uint64_t more = agent_mapped();

	return limit == RLIM_INFINITY || limit < more ? limit : limit - more;
}

static void regions_unlock(void)
{
	struct agent_region regions[AGENT_REGIONS];
	unsigned int nr = agent_regions(regions);

	for (unsigned int i = 0; i < nr; i++)
		agent_syscall(SYS_munlock, regions[i].start, regions[i].size);
}

/* Whether the agent has to change the call. */
static bool is_ours(long pid, unsigned int resource)
{
	if ((resource != RLIMIT_AS && resource != RLIMIT_MEMLOCK) || !agent_mapped())
		return false;
	return !pid || pid == agent_own_pid() || pid == agent_own_tid();
}

/* prlimit() of this process. -> what the kernel returned */
static long limit_change(unsigned int resource, const struct rlimit *new, struct rlimit *old)
{
	struct rlimit set;
	long r;

	/* Memory that cannot be read must be refused before a limit that does not exist. */
	if (new && !agent_filtered() &&
	    agent_syscall(SYS_prlimit64, 0, RLIM_NLIMITS, new, 0) == -EFAULT)
		return -EFAULT;
	if (new)
		set = *new;
	if (new && resource == RLIMIT_AS)
		set = (struct rlimit){ limit_for_kernel(set.rlim_cur),
				      limit_for_kernel(set.rlim_max) };
	r = agent_syscall(SYS_prlimit64, 0, resource, new ? &set : NULL, old);
	if (r)
		return r;
	if (old && resource == RLIMIT_AS)
		*old = (struct rlimit){ limit_for_program(old->rlim_cur),
			limit_for_program(old->rlim_max) };
	if (new && resource == RLIMIT_MEMLOCK && set.rlim_cur != RLIM_INFINITY)
		regions_unlock();
	return 0;
}

typedef int (*real_getrlimit_call)(int, struct rlimit *);
typedef int (*real_setrlimit_call)(int, const struct rlimit *);
typedef int (*real_prlimit_call)(pid_t, int, const struct rlimit *, struct rlimit *);

REAL_FUNCTION_AS(getrlimit, real_getrlimit_call);
REAL_FUNCTION_AS(setrlimit, real_setrlimit_call);
REAL_FUNCTION_AS(prlimit, real_prlimit_call);

INTERPOSE int call_getrlimit(int, struct rlimit *) __asm__("getrlimit");
INTERPOSE int call_getrlimit64(int, struct rlimit *) __asm__("getrlimit64")
	__attribute__((alias("getrlimit")));
INTERPOSE int call_setrlimit(int, const struct rlimit *) __asm__("setrlimit");
INTERPOSE int call_setrlimit64(int, const struct rlimit *) __asm__("setrlimit64")
	__attribute__((alias("setrlimit")));
INTERPOSE int call_prlimit(pid_t, int, const struct rlimit *, struct rlimit *) __asm__("prlimit");
INTERPOSE int call_prlimit64(pid_t, int, const struct rlimit *, struct rlimit *)
	__asm__("prlimit64") __attribute__((alias("prlimit")));

/* prlimit() of this process, as an event, too. -> what libc returns */
static int limit_record(unsigned int resource, const struct rlimit *new, struct rlimit *old,
			const uint64_t args[4], const void *frame)
{
	long r;

	call_enter_own(SYSCALL_prlimit64, args, frame);
	r = limit_change(resource, new, old);
	call_exit_own(SYSCALL_prlimit64, r, frame);
	return (int)as_libc(r);
}

int call_getrlimit(int resource, struct rlimit *limit)
{
	const uint64_t args[] = { 0, (uint32_t)resource, 0, (uintptr_t)limit };
	int r;

	if (is_ours(0, (unsigned int)resource))
		return limit_record((unsigned int)resource, NULL, limit, args, CALL_FRAME);
	call_enter(SYSCALL_prlimit64, args, CALL_FRAME);
	r = REAL(getrlimit)(resource, limit);
	call_exit(SYSCALL_prlimit64, call_result(r), CALL_FRAME);
	return r;
}

int call_setrlimit(int resource, const struct rlimit *limit)
{
	const uint64_t args[] = { 0, (uint32_t)resource, (uintptr_t)limit, 0 };
	int r;

	/* There may be no descriptor for a connection later. */
	if (resource == RLIMIT_NOFILE)
		agent_join_now();
	if (is_ours(0, (unsigned int)resource))
		return limit_record((unsigned int)resource, limit, NULL, args, CALL_FRAME);
	call_enter(SYSCALL_prlimit64, args, CALL_FRAME);
	r = REAL(setrlimit)(resource, limit);
	call_exit(SYSCALL_prlimit64, call_result(r), CALL_FRAME);
	return r;
}

int call_prlimit(pid_t pid, int resource, const struct rlimit *new, struct rlimit *old)
{
	const uint64_t args[] = { (uint32_t)pid, (uint32_t)resource, (uintptr_t)new,
				 (uintptr_t)old };
	int r;

	if (resource == RLIMIT_NOFILE && new)
		agent_join_now();
	if (is_ours(pid, (unsigned int)resource))
		return limit_record((unsigned int)resource, new, old, args, CALL_FRAME);
	call_enter(SYSCALL_prlimit64, args, CALL_FRAME);
	r = REAL(prlimit)(pid, resource, new, old);
	call_exit(SYSCALL_prlimit64, call_result(r), CALL_FRAME);
	return r;
}

/* ---- exec ---- */

extern void *__libc_stack_end;

enum { STACK_GAP = 128 << 20, STACK_USED = 32 << 10 };

/*
 * Until the exec is done, the address space is larger than its limit, and the first
 * thread's stack could not grow: so it grows before. (No other stack can be so near
 * below its end, but an alternate one inside it.)
 */
static bool on_first_stack(void)
{
	stack_t alternate;

	if ((uintptr_t)__libc_stack_end - (uintptr_t)__builtin_frame_address(0) > STACK_GAP)
		return false;
	/* Not with a filter: it may kill for the call. */
	return agent_filtered() || (!agent_syscall(SYS_sigaltstack, 0, &alternate) &&
				    !(alternate.ss_flags & SS_ONSTACK));
}

static __attribute__((noinline)) void stack_grow(void)
{
	char below[STACK_USED];

	for (size_t at = STACK_USED; at >= PAGE; at -= PAGE)
		*(volatile char *)&below[at - PAGE] = 0;
}

/*
 * Whether the hard limit could be raised again after it was lowered, if the exec fails. If not, it
 * is not lowered, and the next agent has its room inside it.
 */
static bool hard_can_return(const struct rlimit *now)
{
	struct rlimit more = { now->rlim_cur, now->rlim_max + PAGE };

	return now->rlim_max < RLIM_INFINITY - PAGE &&
	       !agent_syscall(SYS_prlimit64, 0, RLIMIT_AS, &more, 0);
}

void limits_exec(struct rlimit *limits)
{
	struct rlimit own;

	*limits = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	if (!agent_mapped() || agent_restricted() ||
	    agent_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, &own))
		return;
	if (own.rlim_cur == RLIM_INFINITY && own.rlim_max == RLIM_INFINITY)
		return;
	if (on_first_stack())
		stack_grow();
	*limits = own;
	if (hard_can_return(limits))
		own.rlim_max = limit_for_program(own.rlim_max);
	own.rlim_cur = limit_for_program(own.rlim_cur);
	agent_syscall(SYS_prlimit64, 0, RLIMIT_AS, &own, 0);
}

void limits_exec_failed(const struct rlimit *limits)
{
	if (limits->rlim_cur != RLIM_INFINITY || limits->rlim_max != RLIM_INFINITY)
		agent_syscall(SYS_prlimit64, 0, RLIMIT_AS, limits, 0);
}

/* ---- mlockall ---- */

/* What to do with each mapping that is not the agent's. */
struct walk {
	struct agent_region regions[AGENT_REGIONS];
	unsigned int	nr_regions;
	bool		count;		/* add up their sizes; otherwise lock them */
	unsigned int	flags;		/* of mlock2() */
	uint64_t	size;
};

/*
 * Errors for mappings that cannot be filled are ignored, as in the kernel's mlockall().
 */
static void lock(uintptr_t start, uint64_t size, unsigned int flags)
{
	if (flags)
		agent_syscall(SYS_mlock2, start, size, flags);
	else
		agent_syscall(SYS_mlock, start, size);
}

static void walk_piece(struct walk *w, uintptr_t start, uintptr_t end)
{
	if (start >= end)
		return;
	if (w->count)
		w->size += end - start;
	else
		lock(start, end - start, w->flags);
}

/* The kernel may show adjacent mappings as one. */
static void walk_mapping(struct walk *w, uintptr_t start, uintptr_t end)
{
	for (unsigned int i = 0; i < w->nr_regions; i++) {
		const struct agent_region *r = &w->regions[i];

		if (r->start + r->size <= start || r->start >= end)
			continue;
		walk_piece(w, start, r->start);
		start = r->start + r->size;
	}
	walk_piece(w, start, end);
}

static void read_more(struct maps_bounds *b, struct walk *w, const char *text, long len)
{
	for (long i = 0; i < len; i++) {
		if (text[i] == '\n') {
			*b = (struct maps_bounds){ .nr = 0 };
			continue;
		}
		if (b->nr == 2)
			continue;
		maps_bounds_add(b, text[i]);
		if (b->nr == 2 && (intptr_t)b->at[1] > 0) /* not the vsyscall page */
			walk_mapping(w, b->at[0], b->at[1]);
	}
}

/* Walks through /proc/self/maps, without an allocation. False: it cannot be read. */
static bool walk_all(struct walk *w)
{
	struct maps_bounds b = { .nr = 0 };
	char text[1024];
	bool any = false;
	long fd, n;

	w->nr_regions = agent_regions(w->regions);
	if (agent_filtered())		/* it may kill for calls of the agent */
		return false;
	fd = agent_syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = agent_syscall(SYS_read, fd, text, sizeof(text))) > 0 || n == -EINTR) {
		read_more(&b, w, text, n);
		any = any || n > 0;
	}
	agent_syscall(SYS_close, fd);
	return any;
}

static int lock_saved(struct dl_phdr_info *info, size_t size, void *data)
{
	struct walk *w = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD)
			walk_mapping(w, start & -(uintptr_t)PAGE,
				     (start + p->p_memsz + PAGE - 1) & -(uintptr_t)PAGE);
	}
	return 0;
}

/* Locks a page. False: the mapping ends before it, or the session's memory begins there. */
static bool lock_page(const struct walk *w, uintptr_t at)
{
	for (unsigned int i = 0; i < w->nr_regions; i++)
		if (at - w->regions[i].start < w->regions[i].size)
			return false;
	return !agent_syscall(SYS_mlock, at, PAGE);
}

/* Locks the pages around an address, as far as there are any. */
static void lock_around(const struct walk *w, uintptr_t addr)
{
	addr &= -(uintptr_t)PAGE;
	for (uintptr_t at = addr; lock_page(w, at); at += PAGE)
		;
	for (uintptr_t at = addr - PAGE; lock_page(w, at); at -= PAGE)
		;
}

/* Without /proc: locks the program and its libraries, the heap and the stack. */
static void lock_known(struct walk *w)
{
	libc_dl_iterate_phdr(lock_saved, w);
	lock_around(w, (uintptr_t)agent_syscall(SYS_brk, 0) - 1);
	lock_around(w, (uintptr_t)__builtin_frame_address(0));
}

static void lock_each(int flags)
{
	struct walk w = { .flags = flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0 };

	if (!walk_all(&w) && !w.flags)
		lock_known(&w);
}

static uint64_t lock_limit(void)
{
	struct rlimit r;

	return agent_syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, &r) ? 0 : r.rlim_cur;
}

/*
 * Whether the program's own memory is within RLIMIT_MEMLOCK, as the kernel would decide without the
 * agent. If that cannot be known, it is.
 */
static bool fits_limit(void)
{
	uint64_t own = agent_mapped();
	struct walk w = { .count = true };

	if (!walk_all(&w))
		return true;
	for (unsigned int i = 0; i < w.nr_regions; i++)
		own -= w.regions[i].size < own ? w.regions[i].size : own;
	return (w.size > own ? w.size - own : 0) <= lock_limit();
}

/*
 * The kernel has refused to lock so many addresses. mlockall() without MCL_FUTURE also
 * ends an earlier MCL_FUTURE; here munlockall() has to do that.
 */
static long lock_within_limit(int flags)
{
	if (!fits_limit())
		return -ENOMEM;
	if (flags & MCL_FUTURE)
		agent_syscall(SYS_mlockall, flags & ~MCL_CURRENT);
	else
		agent_syscall(SYS_munlockall);
	lock_each(flags);
	return 0;
}

/* mlockall() with MCL_CURRENT. -> what the kernel would return */
static long lock_all(int flags)
{
	long r = agent_syscall(SYS_mlockall, flags | MCL_ONFAULT);

	if (r == -ENOMEM)
		return lock_within_limit(flags);
	if (r)
		return r;
	if (lock_limit() != RLIM_INFINITY)
		regions_unlock();
	if (flags & MCL_ONFAULT)
		return 0;
	/* MCL_FUTURE first: the walk may or may not see a mapping that is made meanwhile. */
	if (flags & MCL_FUTURE)
		agent_syscall(SYS_mlockall, MCL_FUTURE);
	lock_each(flags);
	return 0;
}

REAL_FUNCTION(mlockall);

INTERPOSE int mlockall(int flags)
{
	const uint64_t args[] = { (uint32_t)flags };
	long r;

	if (flags & MCL_CURRENT && agent_mapped()) {
		call_enter_own(SYSCALL_mlockall, args, CALL_FRAME);
		r = lock_all(flags);
		call_exit_own(SYSCALL_mlockall, r, CALL_FRAME);
		return (int)as_libc(r);
	}
	call_enter(SYSCALL_mlockall, args, CALL_FRAME);
	r = REAL(mlockall)(flags);
	call_exit(SYSCALL_mlockall, call_result(r), CALL_FRAME);
	return (int)r;
}

/* ---- syscall() ---- */

long limits_syscall(long nr, const uint64_t args[6])
{
	bool set = nr == SYS_setrlimit, other = nr == SYS_prlimit64;
	unsigned int resource = (unsigned int)args[other];

	if (nr == SYS_mlockall && args[0] & MCL_CURRENT && agent_mapped())
		return as_libc(lock_all((int)args[0]));
	if (nr != SYS_mlockall && resource == RLIMIT_NOFILE)
		agent_join_now();
	if (nr == SYS_mlockall || !is_ours(other ? (pid_t)args[0] : 0, resource))
		return as_libc(agent_syscall(nr, args[0], args[1], args[2], args[3]));
	if (other)
		return as_libc(limit_change(resource, (const struct rlimit *)args[2],
					    (struct rlimit *)args[3]));
	return as_libc(limit_change(resource, set ? (const struct rlimit *)args[1] : NULL,
				    set ? NULL : (struct rlimit *)args[1]));
}
