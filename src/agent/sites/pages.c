/* SPDX-License-Identifier: MIT */
/*
 * pages.c - pages of code that are made writable and given back
 *
 * A program may make its own code writable (code that changes itself), and goes
 * on writing it. The kernel tells the permissions of a page in /proc alone,
 * where a descriptor is needed: its number might be what the program is just
 * about to use. So each page is asked: an atomic addition of nothing, made by
 * the kernel for a futex, fails where a store would. That takes microseconds a
 * page, so only a program that may have done so is asked (patch_asks).
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
	static uint32_t nobody;		/* waits for it */
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
	 * It goes from one mapping to the next: those before the one that it failed at are
	 * writable.
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
