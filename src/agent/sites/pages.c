/* SPDX-License-Identifier: MIT */
/*
 * pages.c - pages of code that are changed: copies of them take their places (X1, X2), or they are
 * writable for a while (X3 of pages.h)
 *
 *     file in memory    | head, r-- | ... | text, r-x                     |
 *     1 a second head   mremap(head, MREMAP_DONTUNMAP): the first one comes back from the file
 *     2 it grows        | head      | ... | text, rw-: none is read yet   |
 *     3 pages_at()      copies each page that is to change
 *     4 exchange_end()  mprotect(r-x), mremap(MREMAP_FIXED): run after run of copies moves over
 *                       its pages; the rest is unmapped
 *
 * E1  The second mapping needs no descriptor: the task may not open files (shed.c).
 * E2  Step 1 is only for a page that is as in its file. Memory without a file would be empty then:
 *     madvise(MADV_WIPEONFORK) fails for a file's. The program may have locked its memory, which
 *     would not hold for what moves: madvise(MADV_COLD) fails for locked pages. It may have locked
 *     some pages only, so each run is asked before it moves.
 * E3  mremap() removes the old page and puts the new one there while it has locked the address
 *     space. A thread that comes to the page meanwhile waits in its fault. The kernel checks first
 *     what may fail. Behind that only the kernel's own memory may be missing, and then the kernel
 *     ends processes anyway.
 * E4  Each run of pages is a mapping of its own afterwards. A process may have 65,530 mappings. So
 *     many runs move as one run, which has all pages in between.
 * E5  The kernel takes the old page from all processors before the new one is there. So no thread
 *     sees half a change, also of a jump that lies on two pages. The steps of text.c happen in the
 *     copies.
 * E6  A breakpoint of a debugger is an int3 that somebody else has stored. It may be removed after
 *     the page was copied. If the exchange brought it back, it would end the program. So no page
 *     with such a byte is exchanged: the bytes that differ from the file's are looked at, and those
 *     of our own jumps are known by their form. The page is read once for that, for its copy and
 *     for its sum. A breakpoint that comes later changes the sum, which is compared just before the
 *     exchange. In both cases the batch is stored in place. A breakpoint that comes in the half
 *     microsecond behind that is lost; that ends nobody. A probe of the kernel is in each mapping
 *     of the file, so also in the copy, where the kernel removes it, too.
 * E7  Beside other threads, code of a file is never exchanged. When a mapping with probes of the
 *     kernel goes, the kernel looks anew whether the process has any (MMF_RECALC_UPROBES). If the
 *     last one is removed meanwhile, another thread that has just met its int3 gets SIGTRAP. That
 *     ended programs after some ten thousand switches. Memory of ours has no such probes.
 * E8  Where the program is just being started, no code but ours runs, and the linker has just
 *     opened the file. So the pages are writable, not executable, for a moment: a sixth of the time
 *     of an exchange. If the right to execute is refused then, the pages of the file take their
 *     places again. Where it is known that it may be (a filter of system calls, PR_SET_MDWE,
 *     SELinux), the file is opened first, so that nothing has changed if that is refused. Other
 *     security modules that refuse it let the linker's file be opened.
 *
 * In place:
 *
 * I1  A program may make its own code writable (code that changes itself), and write it again
 *     later: such pages must stay writable. The kernel shows the permissions of a page only in
 *     /proc. To read them takes a descriptor, whose number might be one that the program is about
 *     to use. So each page is tested by an atomic addition of nothing, which the kernel makes for a
 *     futex: it fails where a store would fail. That takes microseconds a page, so only the pages
 *     of programs that may have changed permissions are tested (patch_asks).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "agent/sites/near.h"
#include "agent/sites/pages.h"
#include "agent/sites/sites.h"
#include "agent/sites/text.h"
#include "agent/syscall.h"
#include "elf/code/insn.h"
#include "elf/image.h"

enum {
	PAGE = 4096,
	RUNS_MOST = 64,		/* E4: of one exchange */
	PAGE_WORDS = PAGE / sizeof(uint64_t),
	TEST = 0xa9,
};

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_COLD
#define MADV_COLD 20
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif

_Atomic bool pages_may_move;
bool pages_alone;

static uintptr_t page_down(uintptr_t at)
{
	return at & -(uintptr_t)PAGE;
}

struct pages pages_of(const void *at, uintptr_t size)
{
	const uintptr_t low = (uintptr_t)at & -(uintptr_t)PAGE, high = (uintptr_t)at + size;

	return (struct pages){ .low = low, .high = (high + PAGE - 1) & -(uintptr_t)PAGE,
			       .prot = PROT_READ | PROT_EXEC };
}

/* ---- The second mapping ---- */

static const Elf64_Phdr *segment_at(const Elf64_Phdr *p, unsigned int nr, uintptr_t bias,
				    uintptr_t at)
{
	for (; nr--; p++)
		if (p->p_type == PT_LOAD && at >= page_down(bias + p->p_vaddr) &&
		    at < bias + p->p_vaddr + p->p_filesz)
			return p;
	return NULL;
}

static const Elf64_Phdr *segment_first(const Elf64_Phdr *p, unsigned int nr)
{
	while (nr && p->p_type != PT_LOAD)
		p++, nr--;
	return nr ? p : NULL;
}

/* Where the pages are in their file, which begins at `head` in memory. 0: that is not known. */
static uintptr_t offset_of(uintptr_t head, uintptr_t low)
{
	unsigned int nr = 0;
	const Elf64_Phdr *p = image_segments((const void *)head, PAGE, &nr);
	const Elf64_Phdr *first = p ? segment_first(p, nr) : NULL, *text;
	uintptr_t bias;

	/* Sites may be on an executable page: they would be off in step 1. */
	if (!first || page_down(first->p_offset) || first->p_flags & (PF_X | PF_W))
		return 0;
	bias = head - page_down(first->p_vaddr);
	text = segment_at(p, nr, bias, low);
	return text ? page_down(text->p_offset) + low - page_down(bias + text->p_vaddr) : 0;
}

/* E2. Also: part of it is not mapped. */
static bool is_locked(uintptr_t at, size_t size)
{
	return agent_syscall(SYS_madvise, at, size, MADV_COLD) < 0;
}

/* E2 */
static bool is_of_file(uintptr_t page)
{
	const long err = agent_syscall(SYS_madvise, page, PAGE, MADV_WIPEONFORK);

	if (!err)
		agent_syscall(SYS_madvise, page, PAGE, MADV_KEEPONFORK);
	return err == -EINVAL && !is_locked(page, PAGE);
}

static long head_again(uintptr_t head)
{
	const long at = agent_syscall(SYS_mremap, head, PAGE, PAGE,
				      MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);

	if (is_error(at) || !memcmp((const void *)at, (const void *)head, PAGE))
		return at;
	/* It was not as in its file. */
	agent_syscall(SYS_mremap, at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, head);
	return -EINVAL;
}

/* `size` bytes of the file from that offset on. */
static long file_again(uintptr_t head, uintptr_t offset, size_t size)
{
	const long at = head_again(head);
	long all;

	if (is_error(at))
		return at;
	all = agent_syscall(SYS_mremap, at, PAGE, offset + size, MREMAP_MAYMOVE);
	if (is_error(all)) {
		agent_syscall(SYS_munmap, at, PAGE);
		return all;
	}
	agent_syscall(SYS_munmap, all, offset);
	if (!agent_syscall(SYS_mprotect, all + (long)offset, size, PROT_READ | PROT_WRITE))
		return all + (long)offset;
	agent_syscall(SYS_munmap, all + (long)offset, size);
	return -EACCES;
}

static long memory_again(size_t size)
{
	return agent_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static long copies_map(const struct pages *p)
{
	const size_t size = p->high - p->low;
	uintptr_t offset;

	if (p->head == PAGES_OWN)
		return memory_again(size);
	offset = p->head ? offset_of(p->head, p->low) : 0;
	if (!offset || !is_of_file(p->head) || !is_of_file(p->low))
		return -EINVAL;
	return file_again(p->head, offset, size);
}

/* What is known of each page; behind that, a page as it is now. */
static size_t taken_size(const struct pages *p)
{
	const size_t size = (p->high - p->low) / PAGE * sizeof(struct page_taken);

	return ((size + PAGE - 1) & -(size_t)PAGE) + PAGE;
}

static bool may_move(const struct pages *p)
{
	/* Relaxed: see pages.h. */
	return !(p->prot & PROT_WRITE) && (pages_alone || p->head == PAGES_OWN) &&
	       atomic_load_explicit(&pages_may_move, memory_order_relaxed);
}

static int exchange_begin(struct pages_open *o)
{
	const size_t size = taken_size(&o->pages);
	long copies, taken;

	if (!may_move(&o->pages))
		return -EPERM;
	taken = memory_again(size);
	if (is_error(taken))
		return (int)taken;
	copies = copies_map(&o->pages);
	if (is_error(copies)) {
		agent_syscall(SYS_munmap, taken, size);
		return (int)copies;
	}
	o->taken = (struct page_taken *)taken;
	o->copies = (uint8_t *)copies;
	return 0;
}

/* ---- The exchange ---- */

/* E6. Each word counts by its place, so that no change of one byte is hidden. */
static uint64_t sum_add(uint64_t sum, uint64_t word)
{
	return (sum ^ word) * 0x9e3779b97f4a7c15;
}

static uint64_t page_sum(uintptr_t page)
{
	const volatile uint64_t *const words = (const volatile uint64_t *)page;
	uint64_t sum = 1;

	for (unsigned int i = 0; i < PAGE_WORDS; i++)
		sum = sum_add(sum, words[i]);
	return sum;
}

/*
 * An instruction of ours begins at q: a jump, or the test that has its length. It differs from the
 * file's by a byte that is not an int3.
 */
static bool of_our_jump(const uint8_t *page, const uint8_t *file, unsigned int q)
{
	if (page[q] != INSN_OP_JMP && page[q] != TEST)
		return false;
	for (unsigned int i = q; i < q + NEAR_JUMP && i < PAGE; i++)
		if (page[i] != file[i] && page[i] != INSN_OP_INT3)
			return true;
	return false;
}

/* E6. The byte at i differs from the file's. */
static bool is_breakpoint(const uint8_t *page, const uint8_t *file, unsigned int i)
{
	if (page[i] != INSN_OP_INT3)
		return false;
	for (unsigned int back = 1; back < NEAR_JUMP && back <= i; back++)
		if (of_our_jump(page, file, i - back))
			return false;
	return true;
}

static bool has_breakpoint(const uint8_t *page, const uint8_t *file)
{
	for (unsigned int i = 0; i < PAGE; i++) {
		/* Most words are the file's. */
		if (i % 8 == 0 && !memcmp(page + i, file + i, 8))
			i += 7;
		else if (page[i] != file[i] && is_breakpoint(page, file, i))
			return true;
	}
	return false;
}

/* Each word is read once: what is looked at, summed and copied is the same. */
static uint64_t page_read(uint64_t *out, uintptr_t page)
{
	const volatile uint64_t *const words = (const volatile uint64_t *)page;
	uint64_t sum = 1;

	for (unsigned int i = 0; i < PAGE_WORDS; i++) {
		out[i] = words[i];
		sum = sum_add(sum, out[i]);
	}
	return sum;
}

/* 0, -errno: it is not taken */
static int page_take(const struct pages_open *o, size_t i)
{
	const uintptr_t page = o->pages.low + i * PAGE;
	uint8_t *const now = (uint8_t *)o->taken + taken_size(&o->pages) - PAGE;
	uint8_t *const copy = o->copies + i * PAGE;
	long err;

	if (o->taken[i].is)
		return 0;
	err = agent_syscall(SYS_madvise, page, PAGE, MADV_POPULATE_READ);
	if (err)
		return (int)err;
	o->taken[i].sum = page_read((uint64_t *)now, page);
	/* A store, so that one fault makes the copy. It has the bytes of the file. */
	__atomic_fetch_add(copy, 0, __ATOMIC_RELAXED);
	if (o->pages.head != PAGES_OWN && has_breakpoint(now, copy))
		return -EAGAIN;
	memcpy(copy, now, PAGE);
	o->taken[i].is = true;
	return 0;
}

void *pages_at(struct pages_open *o, const void *at, uintptr_t size)
{
	const uintptr_t from = (uintptr_t)at - o->pages.low;

	if (!o->copies)
		return (void *)(uintptr_t)at;
	for (uintptr_t i = from / PAGE; i <= (from + size - 1) / PAGE; i++) {
		const int err = page_take(o, i);

		o->err = err ? err : o->err;
	}
	return o->copies + from;
}

/* The end of the run of pages that are taken, or not, as page i. */
static size_t run_end(const struct pages_open *o, size_t i, size_t nr)
{
	const bool is = o->taken[i].is;

	while (i < nr && o->taken[i].is == is)
		i++;
	return i;
}

static uint32_t runs_count(const struct pages_open *o, size_t nr)
{
	uint32_t runs = 0;

	for (size_t i = 0; i < nr; i = run_end(o, i, nr))
		runs += o->taken[i].is;
	return runs;
}

/* E4 */
static void runs_join(struct pages_open *o, size_t nr)
{
	if (runs_count(o, nr) <= RUNS_MOST)
		return;
	for (size_t i = 0; i < nr; i++)
		page_take(o, i);
}

/* E6 */
static bool is_as_copied(const struct pages_open *o, size_t i, size_t end)
{
	while (i < end && page_sum(o->pages.low + i * PAGE) == o->taken[i].sum)
		i++;
	return i == end;
}

static int run_move(const struct pages_open *o, size_t i, size_t end)
{
	const uintptr_t to = o->pages.low + i * PAGE;
	const size_t size = (end - i) * PAGE;
	long at;

	if (is_locked(to, size) || !is_as_copied(o, i, end))
		return -EAGAIN;
	at = agent_syscall(SYS_mremap, o->copies + i * PAGE, size, size,
			   MREMAP_MAYMOVE | MREMAP_FIXED, to);
	return is_error(at) ? (int)at : 0;
}

/* A moved run is not unmapped: the program may have mapped something there by then. */
static int runs_move(const struct pages_open *o, size_t nr, int err)
{
	size_t end;

	for (size_t i = 0; i < nr; i = end) {
		end = run_end(o, i, nr);
		if (!err && o->taken[i].is)
			err = run_move(o, i, end);
		if (err || !o->taken[i].is)
			agent_syscall(SYS_munmap, o->copies + i * PAGE, (end - i) * PAGE);
	}
	return err;
}

static int exchange_end(struct pages_open *o)
{
	const size_t nr = (o->pages.high - o->pages.low) / PAGE;
	int err = o->err;

	if (!err)
		runs_join(o, nr);
	if (!err)
		err = (int)agent_syscall(SYS_mprotect, o->copies, nr * PAGE, o->pages.prot);
	err = runs_move(o, nr, err);
	text_serialize();
	agent_syscall(SYS_munmap, o->taken, taken_size(&o->pages));
	o->copies = NULL;
	return err;
}

/* ---- At the program's start: E8 ---- */

static long start_file(const struct pages *p)
{
	return agent_syscall(SYS_openat, AT_FDCWD, p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void start_close(const struct pages_open *o)
{
	if (o->file >= 0)
		agent_syscall(SYS_close, o->file);
}

/* E8: whether the system is known to refuse memory that was written its right to execute. */
static bool may_refuse(void)
{
	return agent_syscall(SYS_prctl, PR_GET_SECCOMP) ||
	       agent_syscall(SYS_prctl, PR_GET_MDWE, 0, 0, 0, 0) > 0 ||
	       !agent_syscall(SYS_faccessat, AT_FDCWD, "/sys/fs/selinux/enforce", 0 /* F_OK */);
}

static int start_begin(struct pages_open *o)
{
	const struct pages *p = &o->pages;
	int err;

	o->offset = offset_of(p->head, p->low);
	if (!o->offset)
		return -EINVAL;
	o->file = -1;
	if (may_refuse()) {
		o->file = (int)start_file(p);
		if (o->file < 0)
			return o->file;
	}
	err = (int)agent_syscall(SYS_mprotect, p->low, p->high - p->low, PROT_READ | PROT_WRITE);
	if (err)
		start_close(o);
	o->starts = !err;
	return err;
}

static int start_end(struct pages_open *o)
{
	const struct pages *p = &o->pages;
	const int err = (int)agent_syscall(SYS_mprotect, p->low, p->high - p->low, p->prot);

	if (err && o->file < 0)
		o->file = (int)start_file(p);
	if (err)
		agent_syscall(SYS_mmap, p->low, p->high - p->low, p->prot,
			      MAP_PRIVATE | MAP_FIXED, o->file, o->offset);
	start_close(o);
	o->starts = false;
	return err;
}

/* ---- In place ---- */

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

/* 0, -E2BIG */
static int pages_look(const struct pages *p, struct pages_kept *k)
{
	k->nr = 0;
	for (uintptr_t page = p->low; page < p->high && !(p->prot & PROT_WRITE); page += PAGE)
		if (is_writable(page) && !keep(k, page))
			return -E2BIG;
	return 0;
}

static void close_to(const struct pages *p, uintptr_t low, uintptr_t high)
{
	if (low < high)
		agent_syscall(SYS_mprotect, low, high - low, p->prot);
}

static void pages_restore(struct pages_open *o)
{
	uintptr_t at = o->pages.low;

	for (unsigned int i = 0; i < o->kept.nr; i++) {
		close_to(&o->pages, at, o->kept.runs[i].low);
		at = o->kept.runs[i].high;
	}
	close_to(&o->pages, at, o->pages.high);
	o->in_place = false;
}

static int pages_open(struct pages_open *o)
{
	const struct pages *p = &o->pages;
	long err;

	/*
	 * Stored first: a child that is forked now has pages that are writable, and knows their old
	 * permissions.
	 */
	o->in_place = true;
	atomic_signal_fence(memory_order_seq_cst);
	err = agent_syscall(SYS_mprotect, p->low, p->high - p->low,
			    p->prot | PROT_READ | PROT_WRITE);
	/*
	 * mprotect() changes one mapping after the other: those before the one that failed are
	 * writable now.
	 */
	if (err)
		pages_restore(o);
	return (int)err;
}

/* ---- Either ---- */

int pages_begin(struct pages_open *o, const struct pages *p, bool in_place)
{
	int err = 0;

	o->copies = NULL;
	o->err = 0;
	o->starts = false;
	o->pages = *p;
	/* Relaxed: code made writable just now counts as made so a moment later. */
	if (!o->in_place) {
		o->kept.nr = 0;
		if (atomic_load_explicit(&patch_asks, memory_order_relaxed))
			err = pages_look(p, &o->kept);
	}
	if (err)
		return err;
	if (!in_place && !o->in_place && !o->kept.nr &&
	    ((p->path && may_move(p) && !start_begin(o)) || !exchange_begin(o)))
		return 0;
	return pages_open(o);
}

int pages_end(struct pages_open *o)
{
	if (o->starts)
		return start_end(o);
	if (o->copies)
		return exchange_end(o);
	pages_restore(o);
	return 0;
}
