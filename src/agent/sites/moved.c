/* SPDX-License-Identifier: MIT */
/*
 * moved.c - functions without a compiler's sites: their first instructions move, and a jump to a
 * stub stands in their place
 *
 *     text                        stub area, near the text
 *     +-------------------+       +------------------------------------------+
 *     | f: jmp stub ------|------>| on:  call enter           off: jmp moved |
 *     |    (5 bytes)      |       |      jc through                          |
 *     |    the rest  <----|-------|-- moved: f's first instructions, jmp     |
 *     +-------------------+       +------------------------------------------+
 *
 *      0  e8 d0 d1 d2 d3     on: call enter        off: eb 1e d1 d2 d3
 *      5  72 09              jc 16
 *      7  eb 17              jmp 32
 *     12  the distance to the site + 5, as if it were a jump's: entry.S finds the site by it
 *     16  addq $.., -40(%rsp)        the function continues at `moved` (entry.S has stored another
 *                                    address there, which unwinders need)
 *     25  jmp through
 *     32  moved
 *
 * V1  The jump is stored before any code of the DSO runs, so no thread is ever inside the bytes
 *     that it replaces. Nothing changes in the text after that.
 * V2  A switch is a store of the stub's first two bytes, which lie in one aligned word: so no
 *     processor sees one without the other. The three bytes behind them are the same in both forms.
 *     A thread may execute the old form after a switch has begun, which is harmless.
 * V3  The instructions are moved by x86_64/relocate.c. Nothing jumps to those behind the first one:
 *     the plan of the file says so (elf/code).
 * V4  The area lies below the program, or far above it: right above it the heap grows, which begins
 *     up to 1 GB behind it. It begins a multiple of 16 MB behind the text, so its jumps are not
 *     taken for the text's (N4 of near.c). The 4 MB below a program that is not PIE come last: they
 *     are where a program maps memory at fixed addresses (emulators).
 */
#include <errno.h>
#include <sys/mman.h>
#include "agent/sites/near.h"
#include "agent/sites/stub.h"
#include "agent/syscall.h"
#include "elf/code/insn.h"

enum {
	PAGE = 4096,
	ALIKE = 16 << 20,	/* N4 of near.c */
	BELOW_STEP = 64 << 10,
	SITE_WORD = 12,		/* where the distance to the site is */
	CORRECTION = 16,
};

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct moved_area {
	struct stub_shared shared;
	uint32_t	stubs[];	/* by site, bytes from here */
};

/* V4. Distances from the text's start, in pieces of 64 MB. */
static const int8_t places[] = {
	-1, -2, -4, -8, -12, -16, -20, -24, 30, 27, 24, 20, 16, 12, 8, 4, -27,
};

static const struct moved_area *area_of(const struct site_dso *d)
{
	return (const struct moved_area *)d->mirror;
}

uint8_t *moved_head(const struct site_dso *d, const struct site *s)
{
	return (uint8_t *)d->mirror + area_of(d)->stubs[s - d->sites];
}

bool moved_is_on(const struct site_dso *d, const struct site *s)
{
	return *moved_head(d, s) == INSN_OP_CALL;
}

static uint16_t head_on(const uint8_t *stub, const void *enter)
{
	const uint32_t distance = (uint32_t)((const uint8_t *)enter - (stub + NEAR_JUMP));

	return (uint16_t)(INSN_OP_CALL | (distance & 0xff) << 8);
}

static uint16_t head_off(void)
{
	return INSN_OP_JMP_8 | (MOVED_HEAD - 2) << 8;
}

void moved_switch(struct site_dso *d, const struct site *s, bool on)
{
	const uint8_t *head = moved_head(d, s);
	const uint16_t value = on ? head_on(head, area_of(d)->shared.enter) : head_off();
	uint16_t *stored = patch_stored_at(d, head, sizeof(value));

	/* V2 */
	__asm__ __volatile__("movw %1, %0" : "=m"(*stored) : "r"(value) : "memory");
}

/* ---- The area ---- */

static bool is_planted(const struct site *s)
{
	return s->kind == SITE_MOVED && !s->skip;
}

static size_t aligned(size_t bytes)
{
	return (bytes + STUB - 1) & -(size_t)STUB;
}

static size_t area_head(const struct site_dso *d)
{
	return aligned(sizeof(struct moved_area) + d->nr * sizeof(uint32_t));
}

/* The bytes of the site's stub; 0: its instructions cannot be moved. */
static size_t stub_size(const struct site_dso *d, const struct site *s)
{
	const uintptr_t at = d->bias + s->at;
	uint8_t moved[RELOCATE_MOST];
	struct relocated map;
	size_t len = relocate((const uint8_t *)at, s->len, at, at, moved, &map);

	return len ? aligned(MOVED_HEAD + len) : 0;
}

/*
 * A uprobe of the kernel is in each mapping of the file, also in the one with which the agent has
 * compared this code.
 */
static enum site_skip why_unmoved(const struct site_dso *d, const struct site *s)
{
	return *(const uint8_t *)(d->bias + s->at) == INSN_OP_INT3 ? SITE_CHANGED : SITE_UNKNOWN;
}

/* -> the bytes of the whole area; skips sites that cannot be moved */
static size_t area_size(struct site_dso *d)
{
	size_t all = area_head(d);

	for (size_t i = 0; i < d->nr; i++) {
		struct site *s = &d->sites[i];
		const size_t size = is_planted(s) ? stub_size(d, s) : 0;

		if (!size && !s->skip)
			s->skip = why_unmoved(d, s);
		all += size;
	}
	return (all + PAGE - 1) & -(size_t)PAGE;
}

static __attribute__((cold, noinline)) long area_try(uintptr_t at, size_t size)
{
	long got;

	if (at < 65536 || (at + size) >> 47)
		return -ENOMEM;
	got = agent_syscall(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			    0);
	if (is_error(got) || (uintptr_t)got == at)
		return got;
	/* A kernel before 4.17 takes the address as a hint. */
	agent_syscall(SYS_munmap, got, size);
	return -ENOMEM;
}

/* V4. 0: text and area together are larger than 16 MB. */
static size_t text_span(const struct site_dso *d, uintptr_t text)
{
	const struct site *last = &d->sites[d->nr - 1];
	const size_t span = (d->bias + last->at + PAGE - text + PAGE - 1) & -(size_t)PAGE;

	return span + d->mirror_size <= ALIKE ? span : 0;
}

/* Between the null page and a program that is not PIE. */
static long area_try_below(uintptr_t text, size_t size)
{
	uintptr_t at = (text - size) & -(uintptr_t)BELOW_STEP;
	long got = -ENOMEM;

	for (; is_error(got) && text < ALIKE && at < text && at; at -= BELOW_STEP)
		got = area_try(at, size);
	return got;
}

/* Whether all of the area is reached from all of the text. */
static bool area_reaches(const struct site_dso *d, uintptr_t text, uintptr_t at)
{
	const uintptr_t last = d->bias + d->sites[d->nr - 1].at + PAGE, end = at + d->mirror_size;

	return (intptr_t)(at - text) < 0 ? last - at <= INT32_MAX : end - text <= INT32_MAX;
}

static __attribute__((cold)) int area_map(struct site_dso *d)
{
	const uintptr_t text = (d->bias + d->sites[0].at) & -(uintptr_t)PAGE;
	size_t span;
	long at;

	d->mirror_size = area_size(d);
	span = text_span(d, text);
	at = -ENOMEM;
	for (size_t i = 0; is_error(at) && i < sizeof(places); i++) {
		const uintptr_t place = text + span + (uintptr_t)((intptr_t)places[i] << 26);

		if (area_reaches(d, text, place))
			at = area_try(place, d->mirror_size);
	}
	if (is_error(at))
		at = area_try_below(text, d->mirror_size);
	if (is_error(at))
		return (int)at;
	d->mirror = (char *)at;
	return 0;
}

size_t moved_stub_make(const struct stub_shared *shared, uintptr_t at, const uint8_t *bytes,
		       size_t size, uint8_t *stub, struct relocated *map)
{
	uint8_t *const moved = stub + MOVED_HEAD;
	const int32_t correction = (int32_t)((uintptr_t)moved - (at + 1));
	const int32_t to_site = (int32_t)(at + NEAR_JUMP - (uintptr_t)(stub + SITE_WORD + 4));
	const int64_t distance = (int64_t)((uintptr_t)stub - (at + NEAR_JUMP));
	size_t len;

	if (distance != (int32_t)distance)
		return 0;
	stub_code(stub, "\xe8", 1, shared->enter);
	memcpy(stub + 5, "\x72\x09\xeb\x17\xcc\xcc\xcc", 7);
	memcpy(stub + SITE_WORD, &to_site, sizeof(to_site));
	memcpy(stub + CORRECTION, "\x48\x81\x44\x24\xd8", 5);
	memcpy(stub + CORRECTION + 5, &correction, sizeof(correction));
	memcpy(stub_code(stub + CORRECTION + 9, "\xe9", 1, shared->through), "\xcc\xcc", 2);
	len = relocate(bytes, size, at, (uintptr_t)moved, moved, map);
	return len ? MOVED_HEAD + len : 0;
}

/* -> its size; 0: an operand is too far. It is off. */
static size_t stub_make(const struct site_dso *d, const struct site *s, uint8_t *stub)
{
	const uintptr_t at = d->bias + s->at;
	const uint16_t off = head_off();
	struct relocated map;
	const size_t size = moved_stub_make(&area_of(d)->shared, at, (const uint8_t *)at, s->len,
					    stub, &map);

	memcpy(stub, &off, sizeof(off));
	return size ? aligned(size) : 0;
}

static void area_fill(struct site_dso *d)
{
	struct moved_area *m = (struct moved_area *)d->mirror;
	uint8_t *stub = (uint8_t *)d->mirror + area_head(d);

	stub_share(&m->shared, d, patch_entry_moved);
	for (size_t i = 0; i < d->nr; i++) {
		const size_t size = is_planted(&d->sites[i]) ? stub_make(d, &d->sites[i], stub) : 0;

		if (!size && !d->sites[i].skip)
			d->sites[i].skip = why_unmoved(d, &d->sites[i]);
		m->stubs[i] = (uint32_t)(stub - (uint8_t *)d->mirror);
		stub += size;
	}
}

/* The area is never writable and executable at once here. */
__attribute__((cold)) int moved_map(struct site_dso *d)
{
	int err = area_map(d);

	if (err)
		return err;
	area_fill(d);
	err = (int)agent_syscall(SYS_mprotect, d->mirror, d->mirror_size, PROT_READ | PROT_EXEC);
	if (err)
		patch_forget(d);
	return err;
}

static void jump_plant(struct site_dso *d, const struct site *s)
{
	const uint8_t *at = (const uint8_t *)(d->bias + s->at);

	near_jump(patch_stored_at(d, at, NEAR_JUMP), (uintptr_t)at, moved_head(d, s));
}

void moved_plant(struct site_dso *d)
{
	for (size_t i = 0; i < d->nr; i++)
		if (is_planted(&d->sites[i]))
			jump_plant(d, &d->sites[i]);
}
