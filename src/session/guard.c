/* SPDX-License-Identifier: MIT */
/*
 * guard.c - reads of a truncated session file give zeros, not SIGBUS; a hit of the server ends at a
 * wrong address (R2)
 *
 * The handler maps a page of zeros where the file no longer has one, and the access happens again.
 * The table is global because a signal handler gets no argument. Entries are added before their
 * memory is used.
 *
 * Behind the data region lie addresses that only wrong offsets lead to. They get a page in the same
 * way, at most SPARE_PAGES of them. Then all these pages are unmapped; an address that is used
 * again gets a new page.
 *
 * The plane has no time to check what it finds in the data region. When the server makes a hit
 * itself, a wrong address ends the hit by siglongjmp(). A hit holds no lock, so there is nothing to
 * release.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include "plane/plane.h"
#include "session/region.h"
#include "session/session.h"

enum { GUARD_MAX = 128, SPARE_PAGES = 1024 };

/* size and spare are stored under guard_lock before base. */
static struct guard {
	/* 0: free; stored last, pairs with the acquire in guard_of() */
	_Atomic uintptr_t base;
	_Atomic uintptr_t size;
	_Atomic uintptr_t spare;	/* bytes behind the region where no file is */
	_Atomic unsigned int pages;	/* how many were mapped there */
} guards[GUARD_MAX];

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction guard_previous;

static struct guard *guard_of(uintptr_t addr)
{
	for (int i = 0; i < GUARD_MAX; i++) {
		/* Acquire: pairs with the release in guard_add(). size was stored before. */
		uintptr_t base = atomic_load_explicit(&guards[i].base, memory_order_acquire);

		/* Relaxed, both: stored before base. */
		if (base &&
		    addr - base <
			    atomic_load_explicit(&guards[i].size, memory_order_relaxed) +
				    atomic_load_explicit(&guards[i].spare, memory_order_relaxed))
			return &guards[i];
	}
	return NULL;
}

static void guard_pass_on(int sig, siginfo_t *info, void *context)
{
	if (guard_previous.sa_flags & SA_SIGINFO) {
		guard_previous.sa_sigaction(sig, info, context);
	} else if (guard_previous.sa_handler != SIG_DFL && guard_previous.sa_handler != SIG_IGN) {
		guard_previous.sa_handler(sig);
	} else {
		/*
		 * The access happens again and ends the process, as it would have without the
		 * handler.
		 */
		signal(sig, SIG_DFL);
	}
}

static bool page_put(uintptr_t addr)
{
	return mmap((void *)(addr & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* False: the address does not lie behind a region. */
static bool spare_fault(uintptr_t addr)
{
	struct guard *g = guard_of(addr);
	uintptr_t spare;

	if (!g)
		return false;
	/* Relaxed: loaded after the acquire in guard_of(). The number of pages is only a bound. */
	spare = atomic_load_explicit(&g->base, memory_order_relaxed) +
		atomic_load_explicit(&g->size, memory_order_relaxed);
	if (addr < spare)
		return false;
	if (atomic_fetch_add_explicit(&g->pages, 1, memory_order_relaxed) >= SPARE_PAGES) {
		mmap((void *)spare, atomic_load_explicit(&g->spare, memory_order_relaxed),
		     PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		atomic_store_explicit(&g->pages, 1, memory_order_relaxed);
	}
	return page_put(addr);
}

static void guard_fault(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (!guard_of((uintptr_t)info->si_addr) || !page_put((uintptr_t)info->si_addr))
		guard_pass_on(sig, info, context);
	errno = saved;
}

/* Checked each time: a library of the process may have installed its own handler meanwhile. */
static int guard_install(void)
{
	struct sigaction sa = { .sa_sigaction = guard_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK },
			 now;

	if (sigaction(SIGBUS, NULL, &now))
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == guard_fault)
		return 0;
	guard_previous = now;
	sigemptyset(&sa.sa_mask);
	return sigaction(SIGBUS, &sa, NULL) ? -errno : 0;
}

static void escape_install(void);

int guard_add(const void *base, size_t size, size_t spare)
{
	int err;

	pthread_mutex_lock(&guard_lock);
	err = guard_install();
	escape_install();
	for (int i = 0; !err && i <= GUARD_MAX; i++) {
		/* Relaxed: base is stored only under guard_lock. */
		if (i == GUARD_MAX) {
			err = -EMFILE;
		} else if (!atomic_load_explicit(&guards[i].base, memory_order_relaxed)) {
			/*
			 * Relaxed: stored before the release of base, which pairs with the acquire
			 * in guard_of().
			 */
			atomic_store_explicit(&guards[i].size, size, memory_order_relaxed);
			atomic_store_explicit(&guards[i].spare, spare, memory_order_relaxed);
			atomic_store_explicit(&guards[i].pages, 0, memory_order_relaxed);
			atomic_store_explicit(&guards[i].base, (uintptr_t)base,
					      memory_order_release);
			break;
		}
	}
	pthread_mutex_unlock(&guard_lock);
	return err;
}

void guard_remove(const void *base)
{
	struct guard *g;

	pthread_mutex_lock(&guard_lock);
	g = guard_of((uintptr_t)base);
	if (g)
		/* Relaxed: the memory is no longer used. */
		atomic_store_explicit(&g->base, 0, memory_order_relaxed);
	pthread_mutex_unlock(&guard_lock);
}

/* ---- hits of the server ---- */

static _Thread_local sigjmp_buf *escape;	/* NULL: this thread is not in a hit */

/* SIGSEGV: a wrong address. SIGFPE: a division by a number of pages that is 0. */
static struct escape_signal {
	int		sig;
	struct sigaction previous;
} escapes[] = { { .sig = SIGSEGV }, { .sig = SIGFPE } };

static void escape_fault(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *previous = &escapes[sig == SIGFPE].previous;
	int saved = errno;

	if (sig == SIGSEGV && spare_fault((uintptr_t)info->si_addr)) {
		errno = saved;
		return;
	}
	if (escape)
		siglongjmp(*escape, 1);
	if (previous->sa_flags & SA_SIGINFO)
		previous->sa_sigaction(sig, info, context);
	else if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN)
		previous->sa_handler(sig);
	else
		signal(sig, SIG_DFL);	/* the fault happens again and ends the process */
}

static void escape_install(void)
{
	struct sigaction sa = { .sa_sigaction = escape_fault, .sa_flags = SA_SIGINFO | SA_NODEFER },
			 now;

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		if (sigaction(escapes[i].sig, NULL, &now) ||
		    ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == escape_fault))
			continue;
		escapes[i].previous = now;
		sigaction(escapes[i].sig, &sa, NULL);
	}
}

uint64_t session_hit(struct session *s, struct slot *slot, const struct hit *h)
{
	uint64_t committed = 0;
	sigjmp_buf env;

	escape_install();
	if (!sigsetjmp(env, 1)) {
		escape = &env;
		committed = hit(session_plane(s), slot, h);
	}
	escape = NULL;
	return committed;
}
