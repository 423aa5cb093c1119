/* SPDX-License-Identifier: MIT */
/*
 * gates_plant.c - hooks the `syscall` instructions of the objects that are loaded
 *
 *     code in memory -> gates_find() -> stubs near the code -> jumps to them
 *
 *     the instruction stays           it moves
 *     +---------------------+         +---------------------+
 *     | what is in front    |         | what is in front    |
 *     | gate_enter          |         | gate_enter          |
 *     | jmp to it           |         | syscall             |
 *     +---------------------+         | gate_leave          |
 *     | gate_leave          |         | what is behind it   |
 *     | what is behind it   |         | jmp behind that     |
 *     | jmp behind that     |         +---------------------+
 *     +---------------------+
 *
 * B1  Only if somebody asks for such an event. Else a program keeps its own bytes.
 * B2  The code is read from memory, because files may not be opened when this is done later.
 * B3  If somebody asks for them later, the program's next call does it, while the program has one
 *     thread. No thread is in the code that changes then.
 * B4  Other jumps of ours may stand in an object: traced functions, probes. What they displaced
 *     runs elsewhere and goes on behind them, and it cannot be read here. So such an object has no
 *     gates. If it is libc, the interposers make the events.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/libc.h"
#include "agent/probes/probes.h"
#include "agent/providers/syscalls/gates.h"
#include "agent/providers/syscalls/syscalls.h"
#include "agent/sites/hit.h"
#include "agent/sites/near.h"
#include "agent/sites/sites.h"
#include "agent/sites/state.h"
#include "agent/sites/text.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "agent/x86_64/relocate.h"
#include "elf/code/insn.h"
#include "elf/gates.h"

enum {
	PAGE = 4096, PHDRS_MOST = 24, STUB_MOST = 2 * RELOCATE_MOST + 96, GLUE = 26,
	WORD = 8, OBJECTS = 256,
	PLANT_ROOM = 32768,	/* bytes of stack */
};

struct planting {
	uintptr_t	bias;		/* of the object */
	struct near	*near;
	struct text_jump *jumps;
	size_t		nr;
	struct pages	texts[SITE_TEXTS];
	unsigned int	nr_texts;
	unsigned int	nr_refused;
	bool		alone;
};

/* An object that has been looked at. */
struct known_object {
	const void	*phdrs;
	uint64_t	unloads;	/* how many objects had been unloaded then */
	struct text_jump first;		/* its first jump; no address: it has no gates */
	unsigned int	nr_refused;	/* instructions that were counted as GATES_REFUSED */
};

static struct {
	bool		has_libc;	/* libc's gates are planted */
	struct known_object objects[OBJECTS];
} state;

/* ---- Stubs ---- */

/* Code that is written, and where it will run. The data is behind it. */
struct stub {
	uint8_t		bytes[STUB_MOST];
	size_t		len;
	size_t		data;		/* where the data begins */
};

static void stub_put(struct stub *s, const void *bytes, size_t nr)
{
	memcpy(s->bytes + s->len, bytes, nr);
	s->len += nr;
}

/* An instruction that ends in the distance to a place in the stub. */
static void put_near(struct stub *s, const char *op, size_t nr, size_t place)
{
	int32_t distance;

	stub_put(s, op, nr);
	distance = (int32_t)((int64_t)place - (int64_t)(s->len + sizeof(distance)));
	stub_put(s, &distance, sizeof(distance));
}

/* GLUE bytes. fn: the place of the function's address. */
static void put_glue(struct stub *s, size_t fn)
{
	stub_put(s, "\x48\x8d\x64\x24\x80", 5);		/* lea -128(%rsp), %rsp */
	put_near(s, "\x48\x8d\x0d", 3, s->data);	/* lea struct gate_site, %rcx */
	put_near(s, "\xff\x15", 2, fn);			/* call *fn */
	stub_put(s, "\x48\x8d\xa4\x24\x80\x00\x00\x00", 8);	/* lea 128(%rsp), %rsp */
}

static bool put_jump(struct stub *s, uintptr_t stub, uintptr_t to)
{
	const int64_t distance = (int64_t)(to - (stub + s->len + 5));
	const int32_t word = (int32_t)distance;

	stub_put(s, "\xe9", 1);
	stub_put(s, &word, sizeof(word));
	return word == distance;
}

/* The instructions at `from`, as far as they can be moved; without the jump back. */
static bool put_moved(struct stub *s, uintptr_t stub, uintptr_t from, size_t size, bool jump_back)
{
	struct relocated map;
	size_t len = size ? relocate((const uint8_t *)from, size, from, stub + s->len,
				     s->bytes + s->len, &map) : 0;

	if (!len)
		return false;
	s->len += jump_back ? len : len - RELOCATE_JUMP;
	return true;
}

static size_t moved_size(uintptr_t from, size_t size)
{
	uint8_t out[RELOCATE_MOST];
	struct relocated map;

	return relocate((const uint8_t *)from, size, from, from, out, &map);
}

/* What a stub is for. */
enum part { PART_ENTER, PART_LEAVE, PART_BOTH };

static bool stub_fill(struct stub *s, uintptr_t stub, uintptr_t at, const struct gate *g,
		      enum part part)
{
	const uintptr_t behind = at + GATE_SIZE;
	const size_t enter = s->data + sizeof(struct gate_site), leave = enter + WORD;

	s->len = 0;
	if (part != PART_LEAVE) {
		if (!put_moved(s, stub, at - g->before, g->before, false))
			return false;
		put_glue(s, enter);
	}
	if (part == PART_ENTER)
		return put_jump(s, stub, at);
	if (part == PART_BOTH)
		stub_put(s, "\x0f\x05", GATE_SIZE);
	put_glue(s, leave);
	return g->after ? put_moved(s, stub, behind, g->after, true) : put_jump(s, stub, behind);
}

static size_t code_size(uintptr_t at, const struct gate *g, enum part part)
{
	const size_t before = part == PART_LEAVE ? 0 : moved_size(at - g->before, g->before);
	const size_t after = part == PART_ENTER || !g->after
				     ? 0 : moved_size(at + GATE_SIZE, g->after);

	if ((part != PART_LEAVE && !before) || (part != PART_ENTER && g->after && !after))
		return 0;
	return (before + after + 2 * GLUE + 2 * RELOCATE_JUMP + WORD - 1) & -(size_t)WORD;
}

static unsigned int inner_of(uintptr_t at, size_t size)
{
	unsigned int inner = 0;
	struct insn in;

	for (size_t i = 0; i < NEAR_JUMP && i < size; i += in.len) {
		if (!insn_read((const uint8_t *)at + i, size - i, &in))
			break;
		inner |= i ? 1u << i : 0;
	}
	return inner;
}

/* Adds the jump at `from` to a new stub, which replaces `size` bytes. */
static bool part_plant(struct planting *w, const struct gate *g, enum part part, uintptr_t from,
		       size_t size)
{
	const uintptr_t at = w->bias + g->at;
	const struct gate_site site = { .ip = at + GATE_SIZE, .number = g->number };
	void (*const functions[])(void) = { gate_enter, gate_leave };
	struct text_jump *j = &w->jumps[w->nr];
	struct stub s = { .data = code_size(at, g, part) };
	uint8_t *stub;

	*j = (struct text_jump){ .at = (uint8_t *)from };
	/* A thread may stand there only if the code has run. */
	j->inner = w->alone ? 0 : (uint8_t)inner_of(from, size);
	stub = s.data ? near_take(w->near, from, j->inner,
				  s.data + sizeof(site) + sizeof(functions)) : NULL;
	if (!stub || !stub_fill(&s, (uintptr_t)stub, at, g, part) || s.len > s.data)
		return false;
	memcpy(stub, s.bytes, s.len);
	memcpy(stub + s.data, &site, sizeof(site));
	memcpy(stub + s.data + sizeof(site), functions, sizeof(functions));
	memcpy(j->off, (const void *)from, NEAR_JUMP);
	near_jump(j->on, from, stub);
	w->nr++;
	return true;
}

static void gate_plant(struct planting *w, const struct gate *g)
{
	const uintptr_t at = w->bias + g->at;
	const size_t nr = w->nr;
	bool done;

	if (g->why) {
		/* The two bytes inside another instruction are no system call. */
		w->nr_refused += g->why != GATE_NOT_START && g->why != GATE_SIGNAL_FRAME;
		return;
	}
	if (g->moves)
		done = part_plant(w, g, PART_BOTH, at - g->before,
				  (size_t)g->before + GATE_SIZE + g->after);
	else
		done = part_plant(w, g, PART_ENTER, at - g->before, g->before) &&
		       (!g->after || part_plant(w, g, PART_LEAVE, at + GATE_SIZE, g->after));
	if (!done) {
		w->nr = nr;
		w->nr_refused++;
	}
}

/* ---- Objects ---- */

/* The object as an image, of which memory is the file. */
static bool image_of(const struct dl_phdr_info *info, struct image *im, Elf64_Phdr *phdrs,
		     struct planting *w)
{
	uint64_t low, high;

	if (info->dlpi_phnum > PHDRS_MOST || !image_span(info->dlpi_phdr, info->dlpi_phnum, &low,
							 &high))
		return false;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		Elf64_Phdr *p = &phdrs[i];

		*p = info->dlpi_phdr[i];
		p->p_offset = p->p_vaddr - low;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		if (!(p->p_flags & PF_R) || w->nr_texts == SITE_TEXTS)
			return false;
		w->texts[w->nr_texts] = pages_of((const void *)(info->dlpi_addr + p->p_vaddr),
						 p->p_memsz);
		w->texts[w->nr_texts].head = info->dlpi_addr + low;
		w->texts[w->nr_texts++].prot = PROT_READ | PROT_EXEC |
					       (p->p_flags & PF_W ? PROT_WRITE : 0);
	}
	*im = (struct image){ .file = (const unsigned char *)(info->dlpi_addr + low),
			      .size = high - low, .phdrs = phdrs, .nr_phdrs = info->dlpi_phnum };
	image_functions(im);
	return w->nr_texts;
}

static void *memory_map(size_t size)
{
	const long at = agent_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return is_error(at) ? NULL : (void *)at;
}

static void memory_unmap(void *at, size_t size)
{
	if (at)
		agent_syscall(SYS_munmap, at, size);
}

/* Something that is in libc: then the interposers need not see the calls. */
REAL_FUNCTION_AS(_exit, void (*)(int));

static const void *libc_code(void)
{
	return (const void *)REAL(_exit);
}

static bool object_has(const struct planting *w, const void *at)
{
	for (unsigned int i = 0; i < w->nr_texts; i++)
		if ((uintptr_t)at >= w->texts[i].low && (uintptr_t)at < w->texts[i].high)
			return true;
	return false;
}

static int jumps_plant(struct planting *w, const struct gate *gates, size_t nr)
{
	uintptr_t low = UINTPTR_MAX, high = 0;
	int err;

	for (unsigned int i = 0; i < w->nr_texts; i++) {
		low = w->texts[i].low < low ? w->texts[i].low : low;
		high = w->texts[i].high > high ? w->texts[i].high : high;
	}
	sites_processor_look();
	w->near->low = low;
	w->near->high = high;
	for (size_t i = 0; i < nr; i++)
		gate_plant(w, &gates[i]);
	err = w->nr ? near_seal(w->near) : -ENOENT;
	return err ? err : text_switch(w->jumps, w->nr, true, w->alone, w->texts, w->nr_texts);
}

static void gates_count(enum gate_count what, uint64_t nr)
{
	struct losses *l = &((struct data_header *)agent.plane.data)->losses;

	/* Relaxed: a count. */
	atomic_fetch_add_explicit(&l->gates[what], nr, memory_order_relaxed);
}

/* B4 */
static bool has_other_jumps(const struct planting *w)
{
	return sites_have_changed(w->bias) || probes_have_changed(w->bias);
}

/* How many are system calls, as far as the object's code can be read. */
static unsigned int gates_number(const struct gate *gates, size_t nr)
{
	unsigned int number = 0;

	for (size_t i = 0; i < nr; i++)
		number += gates[i].why != GATE_NOT_START && gates[i].why != GATE_SIGNAL_FRAME;
	return number;
}

/* Plants the gates of an object that `k` is about. Under sites_lock(). */
static void object_plant(const struct dl_phdr_info *info, bool alone, struct known_object *k)
{
	struct planting w = { .bias = info->dlpi_addr, .alone = alone };
	Elf64_Phdr phdrs[PHDRS_MOST];
	struct gate *gates = NULL;
	size_t size, jumps, nr;
	struct image im;
	void *memory;
	int err = -ENOENT;

	if (!image_of(info, &im, phdrs, &w) || object_has(&w, (const void *)gate_enter))
		return;
	size = gates_room(&im);
	memory = size ? memory_map(size) : NULL;
	nr = memory ? gates_find(&im, memory, size, &gates) : 0;
	if (has_other_jumps(&w)) {
		w.nr_refused = object_has(&w, libc_code()) ? 0 : gates_number(gates, nr);
		nr = 0;		/* B4 */
	}
	/* As a program of Go that is linked with libc. */
	if (!im.nr_starts)
		w.nr_refused = (unsigned int)gates_guess(&im);
	jumps = nr * 2 * sizeof(struct text_jump);
	w.jumps = nr ? memory_map(jumps) : NULL;
	w.near = nr ? memory_map(sizeof(struct near)) : NULL;
	if (w.jumps && w.near)
		err = jumps_plant(&w, gates, nr);
	if (!err) {
		k->first = w.jumps[0];
		state.has_libc |= object_has(&w, libc_code());
	} else {
		w.nr_refused += (unsigned int)w.nr;
	}
	/* A file that is loaded again to the same place counts once. */
	if (w.nr_refused > k->nr_refused) {
		gates_count(GATES_REFUSED, w.nr_refused - k->nr_refused);
		k->nr_refused = w.nr_refused;
	}
	memory_unmap(w.jumps, jumps);
	memory_unmap(memory, size);
	/* The stubs stay; what describes their memory is not needed any more. */
	memory_unmap(w.near, sizeof(struct near));
}

/* ---- All objects ---- */

/* An object that has been unmapped may have left its place to another one. The program stays. */
static bool is_known(const struct known_object *k, const struct dl_phdr_info *info)
{
	return k->phdrs == info->dlpi_phdr &&
	       (k->unloads == info->dlpi_subs || !*info->dlpi_name);
}

static bool is_planted(const struct known_object *k, const struct dl_phdr_info *info)
{
	return k->phdrs == info->dlpi_phdr && k->first.at &&
	       !memcmp(k->first.at, k->first.on, NEAR_JUMP);
}

/* Where to note the object. NULL: nothing is to be done, or there is no room. */
static struct known_object *object_place(const struct dl_phdr_info *info)
{
	struct known_object *place = NULL;

	for (unsigned int i = 0; i < OBJECTS; i++) {
		struct known_object *k = &state.objects[i];

		if (is_planted(k, info) || (!k->first.at && is_known(k, info))) {
			k->unloads = info->dlpi_subs;
			return NULL;
		}
		if (!place && (!k->phdrs || k->phdrs == info->dlpi_phdr))
			place = k;
	}
	return place;
}

static int object_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const bool *alone = arg;
	struct known_object *k;

	/* The vdso has no directory, and makes its calls only where the kernel has no other way. */
	if (*info->dlpi_name && !strchr(info->dlpi_name, '/'))
		return 0;
	sites_lock();
	k = object_place(info);
	if (k) {
		*k = (struct known_object){ .phdrs = info->dlpi_phdr, .unloads = info->dlpi_subs,
					    .nr_refused = k->phdrs ? k->nr_refused : 0 };
		pages_alone = sites_one_thread();
		object_plant(info, *alone, k);
		pages_alone = false;
	}
	sites_unlock();
	return 0;
}

/* alone: no thread is in code that has not been looked at. With signals blocked. */
static void objects_look(bool alone)
{
	libc_dl_iterate_phdr(object_look, &alone);
}

/* ---- When ---- */

static __attribute__((section(".text.begin"))) bool any_armed(void)
{
	/* Relaxed: a call that is armed from now on plants them (B3). */
	if (!atomic_load_explicit(&plane_header(&agent.plane)->calls, memory_order_relaxed))
		return false;
	for (unsigned int i = 0; i < SYSCALL_COUNT; i++)
		if (call_asked(i))
			return true;
	return false;
}

static void begin(void)
{
	const uint64_t old = signals_block();

	gates_prepare();
	objects_look(true);
	gates_count(state.has_libc ? GATES_PROCESSES : GATES_WITHOUT, 1);
	/* Relaxed: the program has one thread. */
	if (state.has_libc)
		atomic_store_explicit(&agent_thread_stays, true, memory_order_relaxed);
	atomic_store_explicit(&gates_state, state.has_libc ? GATES_ON : GATES_NEVER,
			      memory_order_relaxed);
	signals_restore(old);
}

/* Each start calls it: order.ld puts it with the rest of a start. */
__attribute__((section(".text.begin"))) void agent_providers_begin(bool late)
{
	/* B1 */
	if (!late && any_armed() && !agent_restricted() && !agent_filtered())
		begin();
}

/* B3. In a signal handler it is left for later: that may have interrupted such code. */
bool gates_try(void)
{
	const struct agent_thread *t = agent_thread_known();
	uint8_t expected = GATES_NOT_YET;

	if (!t || t->no_rseq || (t->flags & AGENT_HANDLER) || agent_restricted() ||
	    agent_filtered() || !stack_has_room((uintptr_t)&expected, PLANT_ROOM))
		return false;
	/* Relaxed: only one thread goes on. */
	if (!atomic_compare_exchange_strong_explicit(&gates_state, &expected, GATES_NEVER,
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	if (!sites_one_thread()) {
		gates_count(GATES_WITHOUT, 1);
		return false;
	}
	begin();
	return gates_see();
}

void agent_providers_objects(void)
{
	uint64_t old;

	if (!gates_see() || agent_restricted() || agent_filtered())
		return;
	old = signals_block();
	objects_look(true);
	signals_restore(old);
}
