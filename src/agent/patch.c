/* SPDX-License-Identifier: MIT */
/*
 * patch.c - sites of a DSO: made one instruction, and switched on and off while threads run through them
 *
 *     prepared, off        OFF d0 d1 d2 d3      one instruction of five bytes without effect
 *     on                   e8  d0 d1 d2 d3      a call over the distance d3d2d1d0
 *
 * P1  Both forms have the same bytes but the first and the same length, so that
 *     a switch is one store of one byte: no processor sees half of it, no thread
 *     has to be stopped, no site is in the way of another. The price is that all
 *     calls of a DSO go over one distance: its trampolines lie as far apart as
 *     its sites, in a mirror of the text.
 * P2  The bytes of the distance are such that, entered at any of them, they are
 *     nops up to the end of the site (0x66 before 0x90; or 0x90, and a segment
 *     prefix that does nothing to the next instruction, clc, stc or cmc: flags
 *     are dead at a function's start). So a thread that was preempted between
 *     two nops of a row goes on well when the row has been made a site, or a call.
 *     A row is made one by stores from its end to its start, each of which leaves nops.
 * P3  Other instructions (calls, longer nops) cannot be entered in the middle.
 *     They are changed behind a short jump: its two bytes, all processors
 *     serialized, the rest, serialized, the first two bytes, serialized.
 * P4  Who executes a site's old form after a switch has begun is harmless: the
 *     trampolines stay for as long as the text does.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/sites.h"
#include "agent/syscall.h"

enum { PAGE = 4096, SITE = 5, STUB = 16, MAX_DISTANCE_TRIES = 16, CALL = 0xe8 };

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* P2. Far ones first: what lies near a DSO are other DSOs. */
static const struct form {
	uint32_t	distance;
	uint8_t		off;		/* 0x66: a prefix like those that follow; 0xa9: test $distance, %eax */
} forms[] = {
	{ 0x90666666, 0x66 }, { 0x903e6666, 0x66 }, { 0x90266666, 0x66 },
	{ 0x3e909090, 0xa9 }, { 0x36909090, 0xa9 }, { 0x2e909090, 0xa9 }, { 0x26909090, 0xa9 },
	{ 0xf5909090, 0xa9 }, { 0xf8909090, 0xa9 }, { 0xf9909090, 0xa9 },
};

/* ---- Processors ---- */

bool patch_live(void)
{
	return !agent_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

/* Every processor that runs a thread of ours has executed a serializing instruction. */
static void serialize(void)
{
	/* A child of fork() has not registered yet. */
	if (agent_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) && patch_live())
		agent_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

/* ---- Memory ---- */

static unsigned char *address(const struct site_dso *d, const struct site *s)
{
	return (unsigned char *)(d->bias + s->at);
}

/* The pages of the sites from the first to the last. */
static long protect(const struct site_dso *d, int prot)
{
	uintptr_t low = (uintptr_t)address(d, &d->sites[0]) & -(uintptr_t)PAGE;
	uintptr_t high = (uintptr_t)address(d, &d->sites[d->nr - 1]) + 16;

	return agent_syscall(SYS_mprotect, low, ((high - low) + PAGE - 1) & -(uintptr_t)PAGE, prot);
}

static void store_byte(unsigned char *at, unsigned char value)
{
	/* Relaxed: a processor takes the old byte or the new one (P1). */
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

/* In one aligned word of eight bytes, so no processor takes one of them without the other. */
static void store_head(unsigned char *at, unsigned char first, unsigned char second)
{
	uint16_t head = (uint16_t)(first | second << 8);

	__asm__ __volatile__("movw %1, %0" : "=m"(*(uint16_t *)at) : "r"(head) : "memory");
}

/* ---- The mirror ---- */

static uintptr_t slot(const struct site_dso *d, const struct site *s)
{
	return d->bias + s->at + SITE + (uintptr_t)(intptr_t)(int32_t)d->distance;
}

static bool mirror_map(struct site_dso *d)
{
	uintptr_t low = slot(d, &d->sites[0]), high = slot(d, &d->sites[d->nr - 1]) + SITE + 3 * STUB;
	long at;

	low &= -(uintptr_t)PAGE;
	d->mirror_size = (high - low + PAGE - 1) & -(uintptr_t)PAGE;
	/* Below the text and yet above: the sum went over an end of the addresses. */
	if (low < 65536 || high >> 47 || ((int32_t)d->distance < 0) != (low < d->bias + d->sites[0].at))
		return false;
	at = agent_syscall(SYS_mmap, low, d->mirror_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if ((unsigned long)at > -4096ul)
		return false;
	d->mirror = (char *)at;
	if ((uintptr_t)at == low)
		return true;
	/* A kernel before 4.17 takes the address for a wish. */
	agent_syscall(SYS_munmap, at, d->mirror_size);
	d->mirror = NULL;
	return false;
}

/* jmp *0(%rip); the address */
static void stub_write(unsigned char *at, void (*entry)(void))
{
	static const unsigned char jump[6] = { 0xff, 0x25 };

	memcpy(at, jump, sizeof(jump));
	memcpy(at + sizeof(jump), &entry, sizeof(entry));
}

/* Never writable and executable at once. */
static bool mirror_fill(struct site_dso *d)
{
	uintptr_t stubs = (slot(d, &d->sites[d->nr - 1]) + SITE + STUB - 1) & -(uintptr_t)STUB;

	stub_write((unsigned char *)stubs, patch_entry);
	stub_write((unsigned char *)stubs + STUB, patch_entry_late);
	for (size_t i = 0; i < d->nr; i++) {
		unsigned char *at = (unsigned char *)slot(d, &d->sites[i]);
		uintptr_t stub = stubs + (d->sites[i].kind == SITE_CALL_LATE ? STUB : 0);
		int32_t way = (int32_t)(stub - ((uintptr_t)at + SITE));

		if (d->sites[i].skip)
			continue;
		at[0] = 0xe9;
		memcpy(at + 1, &way, 4);
	}
	return !agent_syscall(SYS_mprotect, d->mirror, d->mirror_size, PROT_READ | PROT_EXEC);
}

static int mirror_make(struct site_dso *d)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		d->distance = forms[i].distance;
		d->off = forms[i].off;
		if (!mirror_map(d))
			continue;
		if (mirror_fill(d))
			return 0;
		patch_forget(d);
		return -EACCES;
	}
	return -ENOMEM;
}

void patch_forget(struct site_dso *d)
{
	if (d->mirror)
		agent_syscall(SYS_munmap, d->mirror, d->mirror_size);
	d->mirror = NULL;
	d->prepared = false;
}

/* ---- Preparing ---- */

/* What sites_find() saw in the file must be what lies in memory: somebody may have set a breakpoint there. */
static bool is_unchanged(const struct site *s, const unsigned char *b)
{
	switch (s->kind) {
	case SITE_ROW:
		return b[0] == 0x90 && b[1] == 0x90 && b[2] == 0x90 && b[3] == 0x90 && b[4] == 0x90;
	case SITE_NOP:
		return b[0] == 0x0f || b[0] == 0x66 || b[0] == 0x2e;
	default:
		return s->len == 6 ? b[0] == 0xff && b[1] == 0x15 : b[0] == CALL;
	}
}

/* The whole of a site that is off, as long as it is. */
static void form_of(const struct site_dso *d, const struct site *s, unsigned char *out)
{
	out[0] = d->off;
	memcpy(out + 1, &d->distance, 4);
	for (int i = SITE; i < s->len; i++)
		out[i] = i == s->len - 1 ? 0x90 : 0x66;
}

static void judge(struct site_dso *d, bool alone)
{
	for (size_t i = 0; i < d->nr; i++) {
		struct site *s = &d->sites[i];

		if (s->skip)
			continue;
		if (s->len > 16)
			s->len = 5;
		if (!is_unchanged(s, address(d, s)))
			s->skip = SITE_CHANGED;
		else if (!alone && s->kind != SITE_ROW && ((uintptr_t)address(d, s) & 7) == 7)
			s->skip = SITE_SPLIT;
	}
}

/* One of the steps of P3 for all sites, and in the first P2 for rows. */
static void step(struct site_dso *d, int nr)
{
	unsigned char form[16];

	for (size_t i = 0; i < d->nr; i++) {
		const struct site *s = &d->sites[i];
		unsigned char *at = address(d, s);

		if (s->skip)
			continue;
		form_of(d, s, form);
		if (s->kind == SITE_ROW) {
			for (int k = SITE; nr == 0 && k--;)
				store_byte(at + k, form[k]);
		} else if (nr == 0) {
			store_head(at, 0xeb, s->len - 2);
		} else if (nr == 1) {
			for (int k = 2; k < s->len; k++)
				store_byte(at + k, form[k]);
		} else {
			store_head(at, form[0], form[1]);
		}
	}
	serialize();
}

static void write_all(struct site_dso *d)
{
	unsigned char form[16];

	for (size_t i = 0; i < d->nr; i++) {
		if (d->sites[i].skip)
			continue;
		form_of(d, &d->sites[i], form);
		memcpy(address(d, &d->sites[i]), form, d->sites[i].len);
	}
}

/* The first and the last site tell the mirror's bounds, and have to be sites. */
static bool is_code(const struct site_dso *d)
{
	for (size_t i = 0; i < d->nr; i++)
		if (d->sites[i].skip == SITE_NOT_CODE)
			return false;
	return d->nr > 0;
}

int patch_prepare(struct site_dso *d, bool alone)
{
	int err;

	if (!is_code(d))
		return -EINVAL;
	if (!alone && !patch_live())
		return -ENOSYS;
	judge(d, alone);
	err = mirror_make(d);
	if (err)
		return err;
	/* Beside threads that run there it cannot be without PROT_EXEC for a moment. */
	if (protect(d, PROT_READ | PROT_WRITE | (alone ? 0 : PROT_EXEC))) {
		patch_forget(d);
		return -EACCES;
	}
	if (alone)
		write_all(d);
	else
		for (int i = 0; i < 3; i++)
			step(d, i);
	protect(d, PROT_READ | PROT_EXEC);
	d->prepared = true;
	return 0;
}

/* ---- Switching ---- */

long patch_switch(struct site_dso *d, bool (*wants)(void *arg, size_t index), void *arg)
{
	bool writable = false;
	long nr = 0;

	for (size_t i = 0; d->prepared && i < d->nr; i++) {
		struct site *s = &d->sites[i];
		bool on = !s->skip && wants(arg, i);

		if (on == s->on)
			continue;
		if (!writable && protect(d, PROT_READ | PROT_WRITE | PROT_EXEC))
			return -EACCES;
		writable = true;
		store_byte(address(d, s), on ? CALL : d->off);
		s->on = on;
		nr++;
	}
	if (!writable)
		return 0;
	serialize();
	protect(d, PROT_READ | PROT_EXEC);
	return nr;
}

void patch_look(struct site_dso *d)
{
	for (size_t i = 0; d->prepared && i < d->nr; i++)
		d->sites[i].on = !d->sites[i].skip && *address(d, &d->sites[i]) == CALL;
}
