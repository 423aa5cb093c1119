/* SPDX-License-Identifier: MIT */
/*
 * pages.c - makes pages of code writable and restores their permissions
 *
 * A program may make its own code writable (code that changes itself), and write
 * it again later: such pages must stay writable. The kernel shows the permissions
 * of a page only in /proc. To read them takes a descriptor, whose number might be
 * one that the program is about to use. So each page is tested by an atomic
 * addition of nothing, which the kernel makes for a futex: it fails where a store
 * would fail. That takes microseconds a page, so only the pages of programs that
 * may have changed permissions are tested (patch_asks).
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <sys/mman.h>
#include "agent/sites/pages.h"
#include "agent/syscall.h"

enum { PAGE = 4096 };

static bool is_writable(uintptr_t page)
{
	static uint32_t nobody;		/* no thread waits for this futex */
	const int add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0);

	return agent_syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, page,
			     add_nothing) >= 0;
}

static bool keep(struct pages_kept *k, uintptr_t page)
{
	if (k->nr && k->runs[k->nr - 1].high == page) {
		k->runs[k->nr - 1].high = page + PAGE;
		return true;
	}
	if (k->nr == PAGES_KEPT)
		return false;
	k->runs[k->nr].low = page;
	k->runs[k->nr++].high = page + PAGE;
	return true;
}

int pages_look(const struct pages *p, struct pages_kept *k)
{
	k->nr = 0;
	for (uintptr_t page = p->low; page < p->high && !(p->prot & PROT_WRITE); page += PAGE)
		if (is_writable(page) && !keep(k, page))
			return -E2BIG;
	return 0;
}

struct pages pages_of(const void *at, uintptr_t size)
{
	const uintptr_t low = (uintptr_t)at & -(uintptr_t)PAGE, high = (uintptr_t)at + size;

	return (struct pages){ low, (high + PAGE - 1) & -(uintptr_t)PAGE, PROT_READ | PROT_EXEC };
}

int pages_open(const struct pages *p, const struct pages_kept *kept)
{
	long err = agent_syscall(SYS_mprotect, p->low, p->high - p->low,
				 p->prot | PROT_READ | PROT_WRITE);

	/*
	 * mprotect() changes one mapping after the other: those before the one that failed are
	 * writable now.
	 */
	if (err)
		pages_close(p, kept);
	return (int)err;
}

static void close_to(const struct pages *p, uintptr_t low, uintptr_t high)
{
	if (low < high)
		agent_syscall(SYS_mprotect, low, high - low, p->prot);
}

void pages_close(const struct pages *p, const struct pages_kept *kept)
{
	uintptr_t at = p->low;

	for (unsigned int i = 0; i < kept->nr; i++) {
		close_to(p, at, kept->runs[i].low);
		at = kept->runs[i].high;
	}
	close_to(p, at, p->high);
}
