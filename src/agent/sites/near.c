/* SPDX-License-Identifier: MIT */
/*
 * near.c - memory near code
 *
 *     windows      -336 MB  -320  -304  -288    -192    -96  -80         text    +1.7 GB ...
 *                   ec       ed    ee    ef      f4      fa   fb                  6c 6d 6e 6f
 *
 * N1  The instructions hlt, cli, sti, in, out, ins and outs of one byte are not for user mode: they
 *     raise SIGSEGV and do nothing else. A distance whose last byte is one of them leads into a
 *     window of 16 MB. So all memory is taken from such windows, whatever the jump's inner starts.
 * N2  A page is writable while nothing on it can run, and executable from near_seal() on. It is
 *     never both. The next pieces come from other pages. All other pages of a window are executable
 *     and empty, so that the kernel has one mapping for a window, not one for each piece.
 * N3  Windows below the text come first: above a program its heap grows. Nobody asks what is
 *     mapped: MAP_FIXED_NOREPLACE fails where something is.
 * N4  A processor may know a jump by the low 24 bits of its address only. Then it takes code that
 *     lies a multiple of 16 MB from the text for that text, and predicts the jumps of the one in
 *     the other: each pass costs 10 ns more (Intel Xeon, model 167). A window begins such a
 *     multiple from the text. So pieces come from behind the bytes that the text would fill there,
 *     and from those bytes when the others are used up.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/sites/near.h"
#include "agent/syscall.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
	PAGE = 4096, PIECE = 16, WINDOW = 16 << 20,
	SPAN_MOST = 256 << 20,	/* of code: more has no memory near it */
	TRIES = 4096,
	DISTANCE_BYTES = 4,
};

/* N1, in the order of the windows (N3). */
static const uint8_t traps[NEAR_WINDOWS] = {
	0xfb, 0xfa, 0xf4, 0xef, 0xee, 0xed, 0xec, 0x6f, 0x6e, 0x6d, 0x6c,
};

bool near_is_trap(uint8_t byte)
{
	for (unsigned int i = 0; i < NEAR_WINDOWS; i++)
		if (traps[i] == byte)
			return true;
	return false;
}

/* ---- Bits ---- */

static bool bit_is(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void bit_set(uint64_t *bits, size_t i)
{
	bits[i / 64] |= 1ull << i % 64;
}

static void bit_clear(uint64_t *bits, size_t i)
{
	bits[i / 64] &= ~(1ull << i % 64);
}

static size_t words_for(size_t bits)
{
	return (bits + 63) / 64;
}

/* ---- Windows ---- */

static long map(uintptr_t at, size_t size, int prot, int flags)
{
	return agent_syscall(SYS_mmap, at, size, prot,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

static size_t books_bytes(size_t window)
{
	return (words_for(window / PIECE) + 2 * words_for(window / PAGE)) * sizeof(uint64_t);
}

static bool books_map(struct near_window *w)
{
	const long at = map(0, books_bytes(w->size), PROT_READ | PROT_WRITE, 0);

	if (is_error(at))
		return false;
	w->taken = (uint64_t *)at;
	w->open = w->taken + words_for(w->size / PIECE);
	w->sealed = w->open + words_for(w->size / PAGE);
	return true;
}

static bool window_map_at(struct near_window *w, uintptr_t base)
{
	long at;

	if (base < 65536 || (base + w->size) >> 47)
		return false;
	at = map(base, w->size, PROT_READ | PROT_EXEC, MAP_FIXED_NOREPLACE);
	if (is_error(at))
		return false;
	/* A kernel before 4.17 takes the address as a hint. */
	if ((uintptr_t)at == base && books_map(w)) {
		w->base = base;
		return true;
	}
	agent_syscall(SYS_munmap, at, w->size);
	return false;
}

/* N4. Text of more than half of 16 MB leaves too few other bytes. */
static uint32_t behind_text(size_t span)
{
	return span <= WINDOW / 2 ? (uint32_t)span : 0;
}

/* The window that jumps reach whose distance ends in that byte. */
static bool window_open(struct near *n, unsigned int i)
{
	struct near_window *w = &n->windows[i];
	const intptr_t distance = (intptr_t)(int32_t)((uint32_t)traps[i] << 24);
	const uintptr_t low = n->low & -(uintptr_t)PAGE;
	const size_t span = (n->high - low + PAGE - 1) & -(size_t)PAGE;

	if (w->tried)
		return w->base != 0;
	w->tried = true;
	w->size = WINDOW + span;
	for (unsigned int k = 0; k < sizeof(w->next) / sizeof(w->next[0]); k++)
		w->next[k] = behind_text(span);
	return n->high > n->low && span <= SPAN_MOST &&
	       window_map_at(w, low + (uintptr_t)distance);
}

/* ---- Places ---- */

/* The least byte that traps and is not below b; -1: none. */
static int trap_from(uint8_t b)
{
	int found = -1;

	for (unsigned int i = 0; i < NEAR_WINDOWS; i++)
		if (traps[i] >= b && (found < 0 || traps[i] < found))
			found = traps[i];
	return found;
}

static uint8_t byte_of(uint32_t distance, unsigned int i)
{
	return (uint8_t)(distance >> 8 * i);
}

/* The least distance from *distance on that ends in `last` and traps at the inner starts. */
static bool distance_next(uint32_t *distance, unsigned int inner, uint8_t last)
{
	uint32_t d = *distance;

	if (byte_of(d, DISTANCE_BYTES - 1) != last)
		return false;
	for (unsigned int i = DISTANCE_BYTES - 1; i--;) {
		const uint32_t unit = 1u << 8 * i;
		const int trap = inner >> (i + 1) & 1 ? trap_from(byte_of(d, i)) : byte_of(d, i);

		if (trap == byte_of(d, i))
			continue;
		if (trap >= 0) {
			d = (d & ~(256 * unit - 1)) | (uint32_t)trap * unit;
		} else {
			/* A byte further up is raised, and everything is looked at again. */
			d = (d & ~(256 * unit - 1)) + 256 * unit;
			i = DISTANCE_BYTES - 1;
		}
		if (byte_of(d, DISTANCE_BYTES - 1) != last)
			return false;
	}
	*distance = d;
	return true;
}

/* -> 0: the bytes from `off` on are free; else where to look further */
static uint32_t taken_until(const struct near_window *w, uint32_t off, size_t size)
{
	for (uint32_t page = off / PAGE; page <= (off + size - 1) / PAGE; page++)
		if (bit_is(w->sealed, page))
			return (page + 1) * PAGE;
	for (uint32_t i = off / PIECE; i <= (off + size - 1) / PIECE; i++)
		if (bit_is(w->taken, i))
			return (i + 1) * PIECE;
	return 0;
}

/* N2. */
static bool pages_open_for(struct near_window *w, uint32_t off, size_t size)
{
	for (uint32_t page = off / PAGE; page <= (off + size - 1) / PAGE; page++) {
		if (bit_is(w->open, page))
			continue;
		if (agent_syscall(SYS_mprotect, w->base + (uintptr_t)page * PAGE, PAGE,
				  PROT_READ | PROT_WRITE))
			return false;
		bit_set(w->open, page);
	}
	return true;
}

static void *window_take(struct near_window *w, uint32_t off, size_t size)
{
	if (!pages_open_for(w, off, size))
		return NULL;
	for (uint32_t i = off / PIECE; i <= (off + size - 1) / PIECE; i++)
		bit_set(w->taken, i);
	return (void *)(w->base + off);
}

static void *window_seek(struct near_window *w, uintptr_t at, unsigned int inner, uint8_t last,
			 size_t size)
{
	const uintptr_t end = at + NEAR_JUMP;
	uint32_t *next = &w->next[inner];
	uint32_t off = *next;

	for (unsigned int i = 0; i < TRIES; i++) {
		uint32_t distance = (uint32_t)(w->base + off - end), more;
		const uint32_t before = distance;

		if (!distance_next(&distance, inner, last))
			return NULL;
		off += distance - before;
		if ((size_t)off + size > w->size)
			return NULL;
		more = taken_until(w, off, size);
		if (!more) {
			*next = off + (uint32_t)size;
			return window_take(w, off, size);
		}
		off = more;
	}
	*next = off;
	return NULL;
}

/* From a later instruction the window's first bytes are reached by distances with another end. */
static void *window_seek_on(struct near_window *w, uintptr_t at, unsigned int inner, uint8_t last,
			    size_t size)
{
	const uintptr_t first = at + NEAR_JUMP +
				(uintptr_t)(intptr_t)(int32_t)((uint32_t)last << 24);

	if (w->base + w->next[inner] < first)
		w->next[inner] = (uint32_t)(first - w->base);
	return window_seek(w, at, inner, last, size);
}

/* N4: at the end it begins at the window's start, once. */
static void *window_search(struct near_window *w, uintptr_t at, unsigned int inner, uint8_t last,
			   size_t size)
{
	void *got = window_seek_on(w, at, inner, last, size);

	if (got || w->again >> inner & 1)
		return got;
	w->again |= 1u << inner;
	w->next[inner] = 0;
	return window_seek_on(w, at, inner, last, size);
}

void *near_take(struct near *n, uintptr_t at, unsigned int inner, size_t size)
{
	void *got = NULL;

	inner &= 0x1e;
	for (unsigned int i = 0; !got && i < NEAR_WINDOWS; i++)
		if (window_open(n, i))
			got = window_search(&n->windows[i], at, inner, traps[i], size);
	return got;
}

/* ---- Sealing ---- */

/* Pages that cannot be sealed stay open. Nothing may lead to them; the next call tries again. */
static int pages_seal(struct near_window *w, size_t first, size_t nr)
{
	const long err = agent_syscall(SYS_mprotect, w->base + first * PAGE, nr * PAGE,
				       PROT_READ | PROT_EXEC);

	for (size_t i = first; !err && i < first + nr; i++) {
		bit_clear(w->open, i);
		bit_set(w->sealed, i);
	}
	return (int)err;
}

static int window_seal(struct near_window *w)
{
	const size_t pages = w->size / PAGE;
	int err = 0;

	for (size_t i = 0; i < pages; i++) {
		size_t nr = 0;
		int one;

		if (i % 64 == 0 && !w->open[i / 64]) {
			i += 63;
			continue;
		}
		while (i + nr < pages && bit_is(w->open, i + nr))
			nr++;
		if (!nr)
			continue;
		one = pages_seal(w, i, nr);
		err = one ? one : err;
		i += nr - 1;
	}
	return err;
}

int near_seal(struct near *n)
{
	int err = 0;

	for (unsigned int i = 0; i < NEAR_WINDOWS; i++) {
		const int one = n->windows[i].base ? window_seal(&n->windows[i]) : 0;

		err = one ? one : err;
	}
	return err;
}

void near_free(struct near *n)
{
	for (unsigned int i = 0; i < NEAR_WINDOWS; i++) {
		struct near_window *w = &n->windows[i];

		if (w->base) {
			agent_syscall(SYS_munmap, w->taken, books_bytes(w->size));
			agent_syscall(SYS_munmap, w->base, w->size);
		}
	}
	memset(n->windows, 0, sizeof(n->windows));
}
