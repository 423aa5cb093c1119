/* SPDX-License-Identifier: MIT */
/*
 * patch.c - the sites of a DSO: makes each one an instruction, and switches it on and off while
 * threads run through it
 *
 *     prepared, off        OFF d0 d1 d2 d3      one instruction of five bytes without effect
 *     on                   e9  d0 d1 d2 d3      a jump over the distance d3d2d1d0
 *
 *     stub:                call the DSO's entry         which finds the site by what follows
 *                          jc   the DSO's through       the function's return is to be caught
 *                                                       (graph.S)
 *                          jmp  site + 5
 *     of a return site:    call what ends the function's frame (graph.S)
 *                          ret, or jmp site + 5
 *
 *     sleds of XRay        eb 09 | 9 bytes of nops       c3 | 10 bytes of nops
 *     prepared, off        eb 09 d1 d2 d3 ...            c3 09 d1 d2 d3 ...
 *     on                   e9 09 d1 d2 d3 ...            e9 09 d1 d2 d3 ...
 *
 * P1  Both forms have the same length and differ in the first byte only. So a
 *     switch is one store of one byte: no processor sees half of it, no thread
 *     has to be stopped, no site is in the way of another. The price is that all
 *     jumps of a DSO have the same distance: its stubs are as far apart as its
 *     sites, in a mirror of the text. If two sites are closer than a stub is long,
 *     the first one's stub is at the mirror's end.
 * P2  A thread that enters the bytes of the distance at any of them finds nops up
 *     to the end of the site. They are 0x66 before 0x90; or 0x90 and, last, a
 *     segment prefix that does nothing to the next instruction, or clc, stc or
 *     cmc: flags are dead at a function's start. So a thread that was preempted
 *     between two nops of a row runs on correctly after the row has become a
 *     site, or a jump. A row becomes a site by stores from its end to its start,
 *     and each of them leaves nops.
 * P3  Other instructions (calls, longer nops) cannot be entered in the middle.
 *     They are changed behind a short jump. The steps are: store the jump's two
 *     bytes, serialize all processors, store the rest, serialize, store the first
 *     two bytes, serialize.
 * P4  A thread may execute a site's old form after a switch has begun. That is
 *     harmless: the stubs exist as long as the text.
 * P5  A site that is on jumps, so that the stub may call the function and be
 *     returned to (graph.S). A jump does not tell where it came from, so each site
 *     has its own stub. The stub calls and is returned to, as the processor
 *     predicts.
 * P6  What follows the first instruction of a sled is never executed. So it can be written at any
 *     time, and no thread is ever inside a sled: an entry's stub continues behind it. The distances
 *     of such a DSO end in the 09 that the sleds have. XRay's own runtime may patch them at any
 *     time after patch_release(): they are as the compiler wrote them, but for dead bytes.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/sites/sites.h"
#include "agent/sites/stub.h"
#include "agent/sites/text.h"
#include "agent/syscall.h"
#include "elf/code/insn.h"

enum { PAGE = 4096, SITE = 5, MOST = 16 };

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* P2. Far distances first: other DSOs are near a DSO. */
static const struct form {
	uint32_t	distance;
	/* 0x66: a prefix like those that follow; 0xa9: test $distance, %eax */
	uint8_t		off;
} forms[] = {
	{ 0x90666666, 0x66 }, { 0x903e6666, 0x66 }, { 0x90266666, 0x66 },
	{ 0x3e909090, 0xa9 }, { 0x36909090, 0xa9 }, { 0x2e909090, 0xa9 }, { 0x26909090, 0xa9 },
	{ 0xf5909090, 0xa9 }, { 0xf8909090, 0xa9 }, { 0xf9909090, 0xa9 },
};

_Atomic bool patch_asks = true;

/* ---- Processors ---- */

bool patch_live(void)
{
	return !agent_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
			      0, 0);
}

/* ---- Memory ---- */

/* The byte that is switched. */
static unsigned char *address(const struct site_dso *d, const struct site *s)
{
	if (d->moved)
		return moved_head(d, s);
	return (unsigned char *)(d->bias + s->at - (s->kind == SITE_SLED ? SLED_HEAD : 0));
}

/* Where its function continues: `at` of an entry is five bytes before that, whatever its kind. */
static const unsigned char *patch_behind(const struct site_dso *d, const struct site *s)
{
	return (const unsigned char *)(d->bias + s->at + SITE);
}

static uint8_t off_byte(const struct site_dso *d, const struct site *s)
{
	if (s->kind == SITE_SLED)
		return INSN_OP_JMP_8;
	return s->kind == SITE_SLED_RETURN ? INSN_OP_RET : d->off;
}

/* If the code segments are not known: the text from the first site to the last. */
static void texts_default(struct site_dso *d)
{
	const uintptr_t size = d->sites[d->nr - 1].at - d->sites[0].at + MOST;

	if (d->nr_texts)
		return;
	d->texts[0] = pages_of(address(d, &d->sites[0]), size);
	d->nr_texts = 1;
}

static bool patch_has_sites(const struct site_dso *d, const struct pages *p)
{
	const uintptr_t first = (uintptr_t)address(d, &d->sites[0]);

	return p->high > first && p->low < (uintptr_t)address(d, &d->sites[d->nr - 1]) + MOST;
}

/* -EAGAIN: some pages are as before. The same has to be stored in place (pages_end()). */
static int texts_close(struct site_dso *d, unsigned int nr)
{
	int err = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (patch_has_sites(d, &d->texts[i]) && pages_end(&d->open[i]))
			err = -EAGAIN;
	return err;
}

static int texts_open(struct site_dso *d, bool in_place)
{
	int err = 0;

	texts_default(d);
	for (unsigned int i = 0; !err && i < d->nr_texts; i++) {
		if (patch_has_sites(d, &d->texts[i]))
			err = pages_begin(&d->open[i], &d->texts[i], in_place);
		if (err)
			texts_close(d, i);
	}
	return err;
}

void *patch_stored_at(struct site_dso *d, const void *at, size_t size)
{
	for (unsigned int i = 0; i < d->nr_texts; i++)
		if ((uintptr_t)at >= d->texts[i].low && (uintptr_t)at < d->texts[i].high)
			return pages_at(&d->open[i], at, size);
	return (void *)(uintptr_t)at;
}

static void store_byte(unsigned char *at, unsigned char value)
{
	/* Relaxed: a processor takes the old byte or the new one (P1). */
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

/* Both bytes are in one aligned word of eight bytes, so no processor sees one without the other. */
static void store_head(unsigned char *at, unsigned char first, unsigned char second)
{
	uint16_t head = (uint16_t)(first | second << 8);

	__asm__ __volatile__("movw %1, %0" : "=m"(*(uint16_t *)at) : "r"(head) : "memory");
}

/* ---- The mirror ---- */

static uintptr_t stub_place(const struct site_dso *d, const struct site *s)
{
	return (uintptr_t)address(d, s) + SITE + (uintptr_t)(intptr_t)(int32_t)d->distance;
}

/*
 * Behind the last site's place, aligned: what all stubs of the DSO share, then the stubs that have
 * no room at their own places.
 */
struct mirror_end {
	struct stub_shared shared;
	uint8_t		stubs[][STUB];
};

/* Whether the stub of site i fits into its place: before the next site's. */
static bool has_room(const struct site_dso *d, size_t i)
{
	return i + 1 == d->nr || address(d, &d->sites[i + 1]) - address(d, &d->sites[i]) >= STUB;
}

static uintptr_t mirror_end_at(const struct site_dso *d)
{
	return (stub_place(d, &d->sites[d->nr - 1]) + 2 * STUB - 1) & -(uintptr_t)STUB;
}

static bool mirror_map(struct site_dso *d)
{
	uintptr_t low = stub_place(d, &d->sites[0]);
	uintptr_t high = mirror_end_at(d) + sizeof(struct mirror_end);
	long at;

	for (size_t i = 0; i < d->nr; i++)
		high += has_room(d, i) ? 0 : STUB;
	low &= -(uintptr_t)PAGE;
	d->mirror_size = (high - low + PAGE - 1) & -(uintptr_t)PAGE;
	/* On the wrong side of the text: the sum went over an end of the address space. */
	if (low < 65536 || high >> 47 ||
	    ((int32_t)d->distance < 0) != (low < d->bias + d->sites[0].at))
		return false;
	at = agent_syscall(SYS_mmap, low, d->mirror_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			   0);
	if ((unsigned long)at > -4096ul)
		return false;
	d->mirror = (char *)at;
	if ((uintptr_t)at == low)
		return true;
	/* A kernel before 4.17 takes the address as a hint. */
	agent_syscall(SYS_munmap, at, d->mirror_size);
	d->mirror = NULL;
	return false;
}

/* entry.S reads the last distance: it leads to the site. */
static void stub_fill(uint8_t *at, const struct site_dso *d, const struct site *s,
		      const struct stub_shared *m)
{
	at = stub_code(at, "\xe8", 1, s->kind == SITE_CALL_LATE ? m->enter_late : m->enter);
	at = stub_code(at, "\x0f\x82", 2, m->through);
	stub_code(at, "\xe9", 1, patch_behind(d, s));
}

static void return_stub_fill(uint8_t *at, const struct site_dso *d, const struct site *s,
			     const struct stub_shared *m)
{
	at = stub_code(at, "\xe8", 1, m->leave);
	if (s->kind == SITE_SLED_RETURN || *patch_behind(d, s) == INSN_OP_RET)
		at[0] = INSN_OP_RET;
	else
		stub_code(at, "\xe9", 1, patch_behind(d, s));
}

/* The mirror is never writable and executable at once. */
static bool mirror_fill(struct site_dso *d)
{
	struct mirror_end *m = (struct mirror_end *)mirror_end_at(d);
	size_t nr = 0;

	stub_share(&m->shared, d, patch_entry);
	for (size_t i = 0; i < d->nr; i++) {
		uint8_t *at = (uint8_t *)stub_place(d, &d->sites[i]);

		if (d->sites[i].skip)
			continue;
		if (!has_room(d, i)) {
			stub_code(at, "\xe9", 1, m->stubs[nr]);
			at = m->stubs[nr++];
		}
		if (site_is_return(&d->sites[i]))
			return_stub_fill(at, d, &d->sites[i], &m->shared);
		else
			stub_fill(at, d, &d->sites[i], &m->shared);
	}
	return !agent_syscall(SYS_mprotect, d->mirror, d->mirror_size, PROT_READ | PROT_EXEC);
}

static int mirror_make(struct site_dso *d)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		d->distance = forms[i].distance;
		if (d->sleds)
			d->distance = (d->distance & ~0xffu) | SLED_OVER;
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
	moved_late_forget(d);
	if (d->mirror)
		agent_syscall(SYS_munmap, d->mirror, d->mirror_size);
	d->mirror = NULL;
	d->prepared = d->moved = false;
}

/* ---- Preparing ---- */

/*
 * The memory must contain what sites_find() saw in the file: a debugger may have set a breakpoint
 * there.
 */
static bool is_unchanged(const struct site *s, const unsigned char *b)
{
	switch (s->kind) {
	case SITE_SLED:
		return b[0] == INSN_OP_JMP_8 && b[1] == SLED_OVER;
	case SITE_SLED_RETURN:
		return b[0] == INSN_OP_RET;
	case SITE_ROW:
		return b[0] == 0x90 && b[1] == 0x90 && b[2] == 0x90 && b[3] == 0x90 && b[4] == 0x90;
	case SITE_NOP:
	case SITE_RETURN:
		return b[0] == 0x0f || b[0] == 0x66 || b[0] == 0x2e;
	default:
		return s->len == 6 ? b[0] == 0xff && b[1] == 0x15 : b[0] == INSN_OP_CALL;
	}
}

/* All bytes of a site that is off. */
static void form_of(const struct site_dso *d, const struct site *s, unsigned char *out)
{
	out[0] = off_byte(d, s);
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
		if (s->len > MOST)
			s->len = 5;
		if (!is_unchanged(s, address(d, s)))
			s->skip = SITE_CHANGED;
		else if (!alone && s->kind != SITE_ROW && !site_is_sled(s) &&
			 ((uintptr_t)address(d, s) & 7) == 7)
			s->skip = SITE_SPLIT;
	}
}

/* A DSO has one distance, by P6 or by P2. If it has sites of other kinds, its sleds are skipped. */
static void judge_sleds(struct site_dso *d)
{
	bool others = false;

	d->sleds = false;
	for (size_t i = 0; i < d->nr; i++) {
		if (d->sites[i].skip)
			continue;
		d->sleds |= site_is_sled(&d->sites[i]);
		others |= !site_is_sled(&d->sites[i]);
	}
	if (!d->sleds || !others)
		return;
	d->sleds = false;
	for (size_t i = 0; i < d->nr; i++)
		if (!d->sites[i].skip && site_is_sled(&d->sites[i]))
			d->sites[i].skip = SITE_MIXED;
}

/* One of the three steps of P3 for all sites. The first one does all of P2 for rows. */
static void step(struct site_dso *d, int nr)
{
	unsigned char form[MOST];

	for (size_t i = 0; i < d->nr; i++) {
		const struct site *s = &d->sites[i];
		unsigned char *at;

		if (s->skip)
			continue;
		at = patch_stored_at(d, address(d, s), s->len);
		form_of(d, s, form);
		if (site_is_sled(s)) {
			for (int k = 1; nr == 0 && k < SITE; k++)
				store_byte(at + k, form[k]);
		} else if (s->kind == SITE_ROW) {
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
	text_serialize();
}

static void write_all(struct site_dso *d)
{
	unsigned char form[MOST];

	for (size_t i = 0; i < d->nr; i++) {
		if (d->sites[i].skip)
			continue;
		form_of(d, &d->sites[i], form);
		memcpy(patch_stored_at(d, address(d, &d->sites[i]), d->sites[i].len), form,
		       d->sites[i].len);
	}
}

/* Whether all are sites: the first and the last one set the mirror's bounds. */
static bool is_code(const struct site_dso *d)
{
	for (size_t i = 0; i < d->nr; i++)
		if (d->sites[i].skip == SITE_NOT_CODE)
			return false;
	return d->nr > 0;
}

static int moved_store(struct site_dso *d, bool in_place)
{
	const int err = texts_open(d, in_place);

	if (err)
		return err;
	moved_plant(d);
	return texts_close(d, d->nr_texts);
}

/* Afterwards the stubs are what is switched. */
static int moved_prepare(struct site_dso *d)
{
	int err = moved_map(d);

	if (err)
		return err;
	err = moved_store(d, false);
	/* Then jumps may lead to the stubs already: these stay, whatever comes of it. */
	if (err == -EAGAIN)
		err = moved_store(d, true);
	else if (err)
		patch_forget(d);
	if (err)
		return -EACCES;
	d->moved = true;
	d->texts[0] = pages_of(d->mirror, d->mirror_size);
	d->texts[0].head = PAGES_OWN;
	d->open[0] = (struct pages_open){ .in_place = false };
	d->nr_texts = 1;
	d->prepared = true;
	return 0;
}

static int sites_store(struct site_dso *d, bool alone, bool in_place)
{
	const int err = texts_open(d, in_place);

	if (err)
		return err;
	if (alone)
		write_all(d);
	for (int i = 0; !alone && i < 3; i++)
		step(d, i);
	return texts_close(d, d->nr_texts);
}

int patch_prepare(struct site_dso *d, bool alone)
{
	int err;

	if (!is_code(d))
		return -EINVAL;
	if (d->sites[0].kind == SITE_MOVED)
		return alone ? moved_prepare(d) : -EBUSY;
	if (!alone && !patch_live())
		return -ENOSYS;
	judge(d, alone);
	judge_sleds(d);
	err = mirror_make(d);
	if (err)
		return err;
	err = sites_store(d, alone, false);
	if (err == -EAGAIN)
		err = sites_store(d, alone, true);
	if (err) {
		patch_forget(d);
		return -EACCES;
	}
	d->prepared = true;
	return 0;
}

/* ---- Switching ---- */

static void site_switch(struct site_dso *d, const struct site *s, bool on)
{
	if (d->moved)
		moved_switch(d, s, on);
	else
		store_byte(patch_stored_at(d, address(d, s), 1), on ? INSN_OP_JMP : off_byte(d, s));
}

/*
 * -EAGAIN: pages could not be exchanged. in_place: once more then. What was exchanged nevertheless
 * is not known, and the program may not be able to read it: each site's byte is stored.
 */
static long switch_all(struct site_dso *d, bool (*wants)(void *arg, size_t index), void *arg,
		       bool in_place)
{
	bool writable = false;
	long nr = 0;

	for (size_t i = 0; d->prepared && i < d->nr; i++) {
		struct site *s = &d->sites[i];
		bool on = !s->skip && wants(arg, i);

		if (on == s->on && (s->skip || !in_place))
			continue;
		if (!writable && texts_open(d, in_place))
			return -EACCES;
		writable = true;
		site_switch(d, s, on);
		s->on = on;
		nr++;
	}
	if (!writable)
		return 0;
	text_serialize();
	return texts_close(d, d->nr_texts) ? -EAGAIN : nr;
}

long patch_switch(struct site_dso *d, bool (*wants)(void *arg, size_t index), void *arg)
{
	long nr;

	if (d->late)
		return moved_late_switch(d, wants, arg);
	nr = switch_all(d, wants, arg, false);
	return nr == -EAGAIN ? switch_all(d, wants, arg, true) : nr;
}

static void sleds_off(struct site_dso *d, uintptr_t low, uintptr_t high)
{
	for (size_t i = 0; i < d->nr; i++) {
		struct site *s = &d->sites[i];
		unsigned char *at = address(d, s);

		if (s->skip || !site_is_sled(s) || (uintptr_t)at < low || (uintptr_t)at >= high)
			continue;
		store_byte(at, off_byte(d, s));
		s->on = false;
		s->skip = SITE_CHANGED;
	}
}

void patch_release(struct site_dso *d)
{
	/* In place: the program itself is about to have these pages writable. */
	if (!d->prepared || !d->sleds || texts_open(d, true))
		return;
	sleds_off(d, 0, UINTPTR_MAX);
	text_serialize();
	texts_close(d, d->nr_texts);
}

void patch_release_open(struct site_dso *d, uintptr_t low, uintptr_t high)
{
	if (d->prepared && d->sleds)
		sleds_off(d, low, high);
}

void patch_look(struct site_dso *d)
{
	if (d->late) {
		moved_late_look(d);
		return;
	}
	for (size_t i = 0; d->prepared && i < d->nr; i++)
		d->sites[i].on = !d->sites[i].skip &&
				 (d->moved ? moved_is_on(d, &d->sites[i])
					   : *address(d, &d->sites[i]) == INSN_OP_JMP);
}
