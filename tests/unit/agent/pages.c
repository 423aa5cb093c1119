/* SPDX-License-Identifier: MIT */
/*
 * pages.c - code whose pages are exchanged while threads run it
 *
 * The code is this program's own: 256 pages, and on the edge of two of them a function whose
 * result is what was stored last.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/sites/pages.h"
#include "agent/sites/sites.h"
#include "agent/syscall.h"

enum { PAGE = 4096, PAGES = 256, EXCHANGES = 3000, THREADS = 2,
       ONE = 0x11111111, TWO = 0x22222222 };

/* The constant of pages_value() lies on two pages. */
__asm__(".text\n"
	".balign 4096\n"
	"pages_code:\n"
	"	.fill 4096 - 3, 1, 0xcc\n"
	"pages_value:\n"
	"	movl $0x11111111, %eax\n"
	"	ret\n"
	"pages_nops:\n"
	"	.fill 16, 1, 0x90\n"
	"	.balign 4096, 0xcc\n"
	"	.fill 254 * 4096, 1, 0xcc\n"
	".type pages_value, @function\n"
	".previous\n");

extern uint8_t pages_code[] __attribute__((visibility("hidden")));
extern uint8_t pages_nops[] __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) uint32_t pages_value(void);
extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));

_Atomic bool patch_asks;

bool patch_live(void)
{
	return !agent_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
			      0, 0);
}

static struct pages code_pages(void)
{
	struct pages p = pages_of(pages_code, (size_t)PAGES * PAGE);

	p.head = (uintptr_t)__ehdr_start;
	return p;
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* What E1 needs: from 5.14 on. */
static void need_kernel(void)
{
	unsigned int major, minor;
	struct utsname u;

	uname(&u);
	if (sscanf(u.release, "%u.%u", &major, &minor) == 2 && major * 1000 + minor < 5014)
		skip();
}

static void value_store(uint32_t value, bool copies)
{
	const struct pages p = code_pages();
	struct pages_open o = { .in_place = false };
	uint8_t *at;

	assert_int_equal(pages_begin(&o, &p, !copies), 0);
	assert_int_equal(o.copies != NULL, copies);
	at = pages_at(&o, (const uint8_t *)pages_value + 1, sizeof(value));
	memcpy(at, &value, sizeof(value));
	assert_int_equal(pages_end(&o), 0);
	assert_int_equal(pages_value(), value);
}

/* ---- Mappings ---- */

struct mappings {
	unsigned int	nr;		/* of the code */
	unsigned int	nr_others;	/* of another file, or offset, than the first one */
	unsigned int	nr_both;	/* anywhere: writable and executable */
};

static struct mappings mappings_read(void)
{
	const uintptr_t code = (uintptr_t)pages_code;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], is[5], file[256], first[256] = "";
	uintptr_t low, high, offset, delta = 0;
	struct mappings m = { 0 };

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		*file = '\0';
		sscanf(line, "%lx-%lx %4s %lx %*s %*s %255s", &low, &high, is, &offset, file);
		m.nr_both += is[1] == 'w' && is[2] == 'x';
		if (low >= code + (uintptr_t)PAGES * PAGE || high <= code)
			continue;
		if (!m.nr++) {
			delta = low - offset;
			strcpy(first, file);
		}
		m.nr_others += low - offset != delta || strcmp(first, file) != 0 || !*file;
	}
	fclose(f);
	return m;
}

/* ---- Threads ---- */

static _Atomic bool finished;
static _Atomic unsigned int nr_wrong, nr_both, nr_looks;

static void *call(void *arg)
{
	/* Relaxed, here and below: counts, and a flag that is seen soon. */
	while (!atomic_load_explicit(&finished, memory_order_relaxed)) {
		const uint32_t value = pages_value();

		if (value != ONE && value != TWO)
			atomic_fetch_add_explicit(&nr_wrong, 1, memory_order_relaxed);
	}
	return arg;
}

static void *look(void *arg)
{
	while (!atomic_load_explicit(&finished, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&nr_both, mappings_read().nr_both, memory_order_relaxed);
		atomic_fetch_add_explicit(&nr_looks, 1, memory_order_relaxed);
	}
	return arg;
}

static void threads_see_the_old_bytes_or_the_new_ones(void **state)
{
	pthread_t threads[THREADS + 1];

	need_kernel();
	for (unsigned int i = 0; i <= THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i ? call : look, NULL), 0);
	for (unsigned int i = 0; i < EXCHANGES || !nr_looks; i++)
		value_store(i & 1 ? ONE : TWO, true);
	finished = true;
	for (unsigned int i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(nr_wrong, 0);
	assert_int_equal(nr_both, 0);
}

/* ---- What is left behind ---- */

static void the_code_is_still_its_files(void **state)
{
	struct mappings m;

	need_kernel();
	value_store(TWO, true);
	m = mappings_read();
	assert_true(m.nr > 0);
	assert_int_equal(m.nr_others, 0);
	value_store(ONE, true);
	assert_memory_equal(__ehdr_start, ELFMAG, SELFMAG);
}

/* Stores a byte on each page of a stride. */
static void pages_store(unsigned int stride, uint8_t value)
{
	const struct pages p = code_pages();
	struct pages_open o = { .in_place = false };

	assert_int_equal(pages_begin(&o, &p, false), 0);
	assert_non_null(o.copies);
	for (unsigned int i = 2; i < PAGES; i += stride)
		*(uint8_t *)pages_at(&o, pages_code + i * PAGE, 1) = value;
	assert_int_equal(pages_end(&o), 0);
	for (unsigned int i = 2; i < PAGES; i++) {
		const uint8_t is = pages_code[i * PAGE], inside = pages_code[i * PAGE + 1];

		assert_int_equal(is, (i - 2) % stride ? 0xcc : value);
		assert_int_equal(inside, 0xcc);
	}
}

static void many_runs_move_as_one(void **state)
{
	unsigned int before;

	need_kernel();
	pages_store(16, 1);
	assert_in_range(mappings_read().nr, 16, 40);
	pages_store(16, 0xcc);
	pages_store(2, 1);
	before = mappings_read().nr;
	assert_in_range(before, 1, 3);
	pages_store(2, 0xcc);
	assert_int_equal(mappings_read().nr_others, 0);
}

/* A page of 0xcc, which the file has there. */
static void hole_fill(uint8_t *at)
{
	assert_ptr_equal(mmap(at, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), at);
	memset(at, 0xcc, PAGE);
	assert_int_equal(mprotect(at, PAGE, PROT_READ | PROT_EXEC), 0);
}

/* Pages between two others, of which the program has no use. */
static void what_cannot_be_read_stays(void **state)
{
	const struct pages p = code_pages();
	uint8_t *const inside = pages_code + 101 * PAGE;
	struct pages_open o = { .in_place = false };
	unsigned char resident;

	need_kernel();
	assert_int_equal(mprotect(inside, PAGE, PROT_NONE), 0);
	assert_int_equal(munmap(inside + 2 * PAGE, PAGE), 0);
	assert_int_equal(pages_begin(&o, &p, false), 0);
	assert_non_null(o.copies);
	for (unsigned int i = 2; i < PAGES; i += 2)
		*(uint8_t *)pages_at(&o, pages_code + i * PAGE, 1) = 1;
	assert_int_equal(pages_end(&o), 0);
	for (unsigned int i = 2; i < PAGES; i += 2)
		assert_int_equal(pages_code[i * PAGE], 1);
	/* A read would end the program: it is not mapped for it. */
	assert_int_equal(madvise(inside, PAGE, MADV_POPULATE_READ), -1);
	assert_int_equal(mincore(inside + 2 * PAGE, PAGE, &resident), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(mprotect(inside, PAGE, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(*inside, 0xcc);
	hole_fill(inside + 2 * PAGE);
	pages_store(2, 0xcc);
}

/* One that is to change is changed in place, or not at all. */
static void what_cannot_be_read_is_not_copied(void **state)
{
	const struct pages p = code_pages();
	uint8_t *const at = pages_code + 101 * PAGE;
	struct pages_open o = { .in_place = false };

	need_kernel();
	assert_int_equal(mprotect(at, PAGE, PROT_NONE), 0);
	assert_int_equal(pages_begin(&o, &p, false), 0);
	assert_non_null(o.copies);
	*(uint8_t *)pages_at(&o, at - PAGE, 1) = 1;
	pages_at(&o, at, 1);
	assert_int_not_equal(pages_end(&o), 0);
	assert_int_equal(at[-PAGE], 0xcc);
	assert_int_equal(mprotect(at, PAGE, PROT_READ | PROT_EXEC), 0);
}

/* As a debugger does: /proc/self/mem writes where the program may not. */
static void debugger_writes(const uint8_t *at, uint8_t value)
{
	const int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	assert_int_equal(pwrite(fd, &value, 1, (off_t)(uintptr_t)at), 1);
	close(fd);
}

/* Between a page's copy and its exchange, a breakpoint is taken back. */
static void what_a_debugger_writes_stays(void **state)
{
	const struct pages p = code_pages();
	uint8_t *const at = pages_code + 101 * PAGE;
	struct pages_open o = { .in_place = false };

	need_kernel();
	debugger_writes(at + 7, 0x90);
	assert_int_equal(pages_begin(&o, &p, false), 0);
	assert_non_null(o.copies);
	*(uint8_t *)pages_at(&o, at, 1) = 1;
	debugger_writes(at + 7, 0xcc);
	assert_int_not_equal(pages_end(&o), 0);
	assert_int_equal(at[7], 0xcc);
	assert_int_equal(at[0], 0xcc);
}

/* Stores bytes at the nops: by exchange, or not at all. */
static int nops_store(const void *bytes, size_t size)
{
	const struct pages p = code_pages();
	struct pages_open o = { .in_place = false };

	assert_int_equal(pages_begin(&o, &p, false), 0);
	assert_non_null(o.copies);
	memcpy(pages_at(&o, pages_nops, size), bytes, size);
	return pages_end(&o);
}

/* Its owner takes it back at any time, also from the old page just before the exchange. */
static void a_page_with_a_breakpoint_is_not_exchanged(void **state)
{
	static const uint8_t nop = 0x90, prefix = 0x66, jump[] = { 0xe9, 1, 2, 3, 4 };

	need_kernel();
	debugger_writes(pages_nops + 6, 0xcc);
	assert_int_not_equal(nops_store(&prefix, 1), 0);
	assert_int_equal(pages_nops[0], nop);
	/* Behind a jump of ours. */
	debugger_writes(pages_nops + 6, nop);
	assert_int_equal(nops_store(jump, sizeof(jump)), 0);
	debugger_writes(pages_nops + 5, 0xcc);
	assert_int_not_equal(nops_store(&prefix, 1), 0);
	/* On one of ours. */
	debugger_writes(pages_nops + 5, nop);
	debugger_writes(pages_nops, 0xcc);
	assert_int_not_equal(nops_store(&prefix, 1), 0);
	debugger_writes(pages_nops, 0xe9);
	assert_int_equal(nops_store("\x90\x90\x90\x90\x90", 5), 0);
}

/* A distance may have such a byte: nobody takes that one back. */
static void our_own_jumps_are_no_breakpoints(void **state)
{
	static const uint8_t starts[] = { 0xe9, 0xa9 };

	need_kernel();
	for (unsigned int start = 0; start < 2; start++)
		for (unsigned int at = 1; at < 5; at++) {
			uint8_t bytes[5] = { starts[start], 0x90, 0x90, 0x90, 0x90 };

			bytes[at] = 0xcc;
			assert_int_equal(nops_store(bytes, sizeof(bytes)), 0);
			assert_int_equal(nops_store("\xe9\xcc\xcc\xcc\xcc", 5), 0);
			assert_int_equal(nops_store("\x90\x90\x90\x90\x90", 5), 0);
		}
}

/* Also beside other threads. */
static void own_memory_is_exchanged(void **state)
{
	struct pages_open o = { .in_place = false };
	struct pages p;
	uint8_t *own = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	memset(own, 7, (size_t)3 * PAGE);
	mprotect(own, (size_t)3 * PAGE, PROT_READ | PROT_EXEC);
	p = pages_of(own, (size_t)3 * PAGE);
	p.head = PAGES_OWN;
	pages_alone = false;
	assert_int_equal(pages_begin(&o, &p, false), 0);
	pages_alone = true;
	assert_non_null(o.copies);
	memset(pages_at(&o, own + PAGE - 1, 2), 9, 2);
	assert_int_equal(own[PAGE - 1], 7);
	assert_int_equal(pages_end(&o), 0);
	assert_int_equal(own[PAGE - 2], 7);
	assert_int_equal(own[PAGE - 1], 9);
	assert_int_equal(own[PAGE], 9);
	assert_int_equal(own[PAGE + 1], 7);
	assert_int_equal(own[2 * PAGE], 7);
	munmap(own, (size_t)3 * PAGE);
}

/* ---- In place ---- */

static void head_write(uint8_t value)
{
	uint8_t *const at = (uint8_t *)(uintptr_t)__ehdr_start;

	assert_int_equal(mprotect(at, PAGE, PROT_READ | PROT_WRITE), 0);
	*(volatile uint8_t *)(at + EI_NIDENT - 1) = value;
	assert_int_equal(mprotect(at, PAGE, PROT_READ), 0);
}

static uint8_t head_read(void)
{
	return *(const volatile uint8_t *)(__ehdr_start + EI_NIDENT - 1);
}

static void assert_in_place(struct pages p)
{
	struct pages_open o = { .in_place = false };

	assert_int_equal(pages_begin(&o, &p, false), 0);
	assert_null(o.copies);
	assert_true(o.in_place);
	assert_int_equal(pages_end(&o), 0);
	assert_false(o.in_place);
}

static void a_changed_head_stays(void **state)
{
	head_write(5);
	assert_in_place(code_pages());
	assert_int_equal(head_read(), 5);
	value_store(TWO, false);
	head_write(0);
	value_store(ONE, false);
}

static void locked_memory_stays_locked(void **state)
{
	assert_int_equal(mlock(__ehdr_start, PAGE), 0);
	assert_in_place(code_pages());
	munlock(__ehdr_start, PAGE);
	assert_int_equal(mlock(pages_code, PAGE), 0);
	assert_in_place(code_pages());
	munlock(pages_code, PAGE);
}

/* Of a batch, only a page in the middle is locked: no run that has it moves. */
static void a_locked_page_of_many_stays_locked(void **state)
{
	const struct pages p = code_pages();
	uint8_t *const at = pages_code + 100 * PAGE;
	struct pages_open o = { .in_place = false };

	need_kernel();
	assert_int_equal(mlock(at, PAGE), 0);
	assert_int_equal(pages_begin(&o, &p, false), 0);
	assert_non_null(o.copies);
	*(uint8_t *)pages_at(&o, at, 1) = 1;
	assert_int_not_equal(pages_end(&o), 0);
	assert_int_equal(*at, 0xcc);
	/* It is locked as before. */
	assert_int_equal(msync(at, PAGE, MS_ASYNC | MS_INVALIDATE), -1);
	assert_int_equal(errno, EBUSY);
	munlock(at, PAGE);
	value_store(ONE, true);
}

static void other_memory_is_not_exchanged(void **state)
{
	struct pages p = code_pages();

	p.head = 0;
	assert_in_place(p);
	/* No header is there. */
	p.head = (uintptr_t)pages_code;
	assert_in_place(p);
	p = code_pages();
	pages_may_move = false;
	assert_in_place(p);
	pages_may_move = true;
	pages_alone = false;
	assert_in_place(p);
	pages_alone = true;
	p.prot |= PROT_WRITE;
	assert_in_place(p);
	mprotect(pages_code, (size_t)PAGES * PAGE, PROT_READ | PROT_EXEC);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_see_the_old_bytes_or_the_new_ones),
		cmocka_unit_test(the_code_is_still_its_files),
		cmocka_unit_test(many_runs_move_as_one),
		cmocka_unit_test(what_cannot_be_read_stays),
		cmocka_unit_test(what_cannot_be_read_is_not_copied),
		cmocka_unit_test(what_a_debugger_writes_stays),
		cmocka_unit_test(a_page_with_a_breakpoint_is_not_exchanged),
		cmocka_unit_test(our_own_jumps_are_no_breakpoints),
		cmocka_unit_test(own_memory_is_exchanged),
		cmocka_unit_test(a_changed_head_stays),
		cmocka_unit_test(locked_memory_stays_locked),
		cmocka_unit_test(a_locked_page_of_many_stays_locked),
		cmocka_unit_test(other_memory_is_not_exchanged),
	};

	pages_may_move = pages_alone = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
