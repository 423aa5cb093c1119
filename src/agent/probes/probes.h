/* SPDX-License-Identifier: MIT */
/*
 * probes.h - probes at instructions of this process: planted as the session's table says
 *
 *     table.c    site_control.probes -> points of the files that are loaded -> places, answer
 *     place.c    a place: its moved code, its jump, what a thread that met a trap executes
 *     hit.c      a hit: record by fetch_run(), and then as any event's
 *
 *     text                        near memory (sites/near.h)
 *     +-------------------+       +------------------------------------------------+
 *     | place: jmp -------|------>| instructions in front of the probed one, if any |
 *     |                   |       | lea -128(%rsp); push place; call probe_entry    |
 *     |                   |       | lea 136(%rsp)                                   |
 *     | the rest  <-------|-------| the other instructions; jmp                     |
 *     +-------------------+       +------------------------------------------------+
 *
 * Included by the C files of src/agent. All of it is under sites_lock() but for hits and traps.
 */
#ifndef TRACEFUSE_AGENT_PROBES_PROBES_H
#define TRACEFUSE_AGENT_PROBES_PROBES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "agent/sites/near.h"
#include "agent/sites/sites.h"
#include "agent/sites/text.h"
#include "elf/code/code.h"
#include "layout/layout.h"
#include "plane/fetch.h"

/* ---- table.c ---- */

/* Whether probes may come: then the process has a task. */
bool probes_may_come(void);
/* Plants what the session's table says, and takes the rest away. */
void probes_obey(void);
/* Stores in the answer what is planted. */
void probes_answer(struct site_answer *a);
/* The object with this dynamic section is going to be unmapped, or has been. */
void probes_forget(const void *ld);
/* Whether places of the object that is loaded there have been probed. Under the lock. */
bool probes_have_changed(uintptr_t bias);
/* In a child of fork(). */
void probes_look_again(void);
/* Whether the jump there is that of a probe that could carry a function's: the next one. */
bool probes_can_carry(uintptr_t at);
/*
 * A function begins there whose jump of ours would be this one: from now on the probe's moved code
 * executes it behind the hit. False: that cannot be. No hit of the probe is lost meanwhile.
 */
bool probes_carry(uintptr_t at, const uint8_t jump[NEAR_JUMP]);

/* ---- place.c ---- */

/* Bytes from the number of a CPU to that of the next one: config_header.hits */
enum { PROBE_HITS_ROW = LAYOUT_HITS_ROW * sizeof(uint64_t) };
/* Bytes of a record on the stack of a hit; larger ones are in the thread's memory. */
enum { PROBE_SMALL = 256 };

/* What one event does at a place. */
struct probe_run {
	uint32_t	event;
	uint32_t	flags;		/* enum probe_point_flags */
	uint64_t	ip, bias;
	uint32_t	room;		/* bytes of its record, with texts */
	bool		asks;		/* the kernel for memory: no fault may come there */
	/* probe_point.hits; 0: not counted */
	data_ref	hits;
	bool		session;	/* it asks for the session's address of something */
	const struct fetch_code *code;	/* a copy of the session's */
};

struct probe_runs {
	uint32_t	nr;
	bool		returns;	/* some are for the return */
	/*
	 * There is one, not for a return, and its code only stores registers, one behind the
	 * other, but not the address nor the flags: probe_try()
	 */
	bool		quick;
	struct probe_run runs[];
};

struct probe_object;

struct probe_place {
	/* First: hits read it. */
	_Atomic(const struct probe_runs *) runs;
	struct text_jump jump;
	uint8_t		*code;		/* in near memory; NULL: not made */
	struct probe_object *object;
	uint8_t		why;		/* enum code_why: refused in this process */
	uint8_t		tactic;
	uint8_t		nr;		/* instructions that are displaced */
	uint8_t		offsets[CODE_MOVED_MAX];
	uint16_t	moved[CODE_MOVED_MAX];	/* bytes from `code` */
	bool		is_on, wanted;
	uint32_t	nr_points;	/* of the table, when it is wanted */
	struct probe_place *next_free;	/* of those whose objects are gone */
};

/* table.c: no hit reads them any more. NULL: nothing */
void runs_free(const struct probe_runs *runs);

/* The place whose jump is at that address; makes one. NULL: there is no room for more. */
struct probe_place *place_get(uintptr_t at);
/* Makes the moved code. bytes: the displaced instructions, as memory has them. */
enum code_why place_make(struct probe_place *p, struct near *near, const struct probe_plan *plan,
			 const uint8_t *bytes);
/*
 * Makes other moved code, which executes `jump` behind the hit, and stores in `out` what leads to
 * it from now on. The old code stays (P1), for threads that are led on, too. False: there is no
 * room.
 */
bool place_make_carrying(const struct probe_place *p, struct near *near,
			 const uint8_t jump[NEAR_JUMP], struct text_jump *out);
/* The place whose jump is at that address; NULL: none. */
struct probe_place *place_find(uintptr_t at);
/* Whether a place there has its jump, and its moved code executes this jump. */
bool place_carries(uintptr_t at, const uint8_t jump[NEAR_JUMP]);
/* What the memory has there, without the jumps of probes. */
void places_bytes(uintptr_t at, uint8_t *out, size_t size);
/*
 * A thread has met a byte that traps. -> where it goes on; 0: it was none of ours.
 * Async-signal-safe.
 */
uintptr_t place_lead(uintptr_t ip);

void places_unwant(void);
/* Whether the object has places that are probed, or were. */
bool places_any(const struct probe_object *o);
/* The number of points whose places have their jumps. */
uint32_t places_points(void);
/* The object is gone, and with it all near memory of its places. */
void places_forget(const struct probe_object *o);
/* Finds out from the memory which places have their jumps. */
void places_look(bool (*is_there)(const struct probe_object *o));
/* Stores the jumps of an object's places that are wanted, or takes the others away. 0, -errno */
int places_switch(const struct probe_object *o, bool on, bool alone, const struct pages *texts,
		  unsigned int nr_texts);

/* ---- hit.c, x86_64/probe.S ---- */

void probe_entry(void);
/* From probe_entry_slow on the registers are where %rbx points, before where %rsp points. */
extern const char probe_entry_slow[] __attribute__((visibility("hidden")));
extern const char probe_entry_end[] __attribute__((visibility("hidden")));
/* Whether that was the whole hit. */
bool probe_try(const struct probe_registers *regs, const struct probe_place *p);
/* -> whether probe_hit_slow() is to be called, with all registers saved */
uint32_t probe_hit(struct probe_registers *regs, const struct probe_place *p);
/* extended: the program's vector registers, as XSAVE or FXSAVE has stored them */
void probe_hit_slow(struct probe_registers *regs, const struct probe_place *p,
		    const void *extended);
/*
 * A function returns whose return address was at `slot`; `others` are the flags and the registers
 * that it had to preserve. -> whether probe_return_slow() is to be called
 */
uint32_t probe_return(uintptr_t *slot, const uint64_t *others);
void probe_return_slow(uintptr_t *slot, const uint64_t *others, const void *extended);
extern const char probe_left[] __attribute__((visibility("hidden")));
extern const char probe_left_end[] __attribute__((visibility("hidden")));
/* -> bytes that were copied */
uint32_t probe_copy(void *to, uint64_t from, uint32_t size);
extern const char probe_copy_end[] __attribute__((visibility("hidden")));
extern const char probe_copy_left[] __attribute__((visibility("hidden")));

#endif
