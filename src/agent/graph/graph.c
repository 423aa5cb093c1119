/* SPDX-License-Identifier: MIT */
/*
 * graph.c - the returns of traced functions: function_graph (R25)
 *
 *     site -> stub -> patch_hit() -> graph_through calls the function
 *                                                |
 *     caller  <- ret  <-  graph_leave()  <-  graph_returned  <- ret
 *
 *     stack                      mirror, at the slot's address ^ GRAPH_MIRROR
 *     +-----------------+        +-----------------+
 *     | graph_returned  | slot   | return address  |       struct graph_frame of the slot: what was
 *                                                          called, when
 *     +-----------------+        +-----------------+
 *
 * In this folder and in its assembly a slot is the place of a return address on the stack.
 *
 * M1  All that is known of a call follows from its slot. The return address is at the
 *     slot's address ^ GRAPH_MIRROR, which an unwinder can compute (x86_64/graph.S).
 *     The rest is in the slot's struct graph_frame, in memory that belongs to the
 *     piece of 2 MiB of addresses. So nothing has to be repaired when a program
 *     leaves functions without returning (exceptions, longjmp, cancellation,
 *     coroutines, fork), and recursion may be deep.
 * M2  Slots are multiples of 8. The ABI says 16, but compilers deviate where they
 *     know all callers. If two slots share a frame, the second call gets it, and
 *     the first one returns unrecorded.
 * M3  Only the depth and what a function inherits (set_graph_function,
 *     set_graph_notrace) come from the function above. That is the innermost hooked
 *     slot of the same stack that is above and still contains our label. On the
 *     thread's own stack it is graph.top. On another stack it is the innermost
 *     slot of the region of 16 KiB, else graph.top: so a handler on an alternate
 *     stack is below what it interrupted, and a coroutine is below the function
 *     that resumed it. A wrong guess prints a wrong depth and nothing else.
 * M4  A function that ends by a jump to another one (a tail call) leaves its slot
 *     to it. The first one's frame waits in the piece's tails, a stack of frames. The
 *     second returns to graph_returned, which finds the first one.
 * M5  A piece is mapped at the first hook in it, with signals blocked and under
 *     the lock of the slow paths, and never unmapped. If its mirror cannot be
 *     mapped (the addresses are in use), or recursion has no end, no function is
 *     hooked: counted as overrun.
 * M6  struct graph_config is read outside of a hit. It may be stale, or freed and
 *     then contain anything, for one call (as E1 of emit.c).
 * M7  A function that is left without returning has no return in the trace, but
 *     the profile gets its time. The time ends when the next hooked function of
 *     the thread's own stack begins or returns, or when the thread ends, or when the
 *     process ends in that thread by exit() or _exit(). Until then the function has
 *     its frame.
 * M8  If a function has return sites (sites/returns.c), nothing is replaced. The frame is
 *     FRAME_SITE, and its mirror has a copy of the return address, which shows whether the slot is
 *     still this call's. Its return finds the frame by the slot, too. So a call at the same slot
 *     that is not hooked removes an old frame there.
 * M9  A probe of a function's return has a frame of its own. Its hit is made by
 *     graph_returned_late before graph_leave() ends the frame (probes/hit.c). If function_graph has
 *     hooked the function, too, the two frames share the slot, as with a tail call. The probe's
 *     frame adds no depth.
 */
#include <errno.h>
#include <string.h>
#include "agent/emit/emit.h"
#include "agent/graph/frame.h"
#include "agent/sites/sites.h"
#include "agent/sites/hit.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "agent/x86_64/entry.h"
#include "agent/x86_64/emit.h"
#include "plane/arch/counter.h"
#include "plane/code.h"

enum {
	SHADOW_STACK_STATUS = 0x5005,	/* of arch_prctl() */
	PROLOGUE = 48,		/* bytes before a late site that may contain the prologue */
	CLOCK_THREAD = 3,	/* CLOCK_THREAD_CPUTIME_ID */
};

_Static_assert(sizeof(struct graph_frame) == 64 && (PIECE - 1) / ALIGN * 64 == FRAMES_MASK,
	       "one cache line a slot");
_Static_assert(FRAME_TAIL == 1ull << 8 * (FRAME_TAILS - FRAME_DEPTH) &&
		       MOST_TAILS == MOST_TAILS_WAIT,
	       "emit.S knows how many wait");
_Static_assert(offsetof(struct graph_frame, id) == FRAME_ID &&
		       offsetof(struct graph_frame, state) == FRAME_DEPTH &&
		       offsetof(struct graph_frame, up) == FRAME_UP &&
		       offsetof(struct graph_frame, func) == FRAME_FUNC &&
		       offsetof(struct graph_frame, time) == FRAME_TIME &&
		       offsetof(struct graph_frame, mask) == FRAME_MASK &&
		       offsetof(struct graph_frame, cpu_time) == FRAME_BELOW &&
		       offsetof(struct graph_frame, tail) == FRAME_GROUP &&
		       FRAME_PROFILED == 1ull << FRAME_PROFILED_BIT &&
		       FRAME_SITE == 1ull << FRAME_SITE_BIT && TAIL_GROUP == 1ull << 48,
	       "emit.S knows frames");
_Static_assert(offsetof(struct agent_thread, graph.low) == GRAPH_LOW &&
	       offsetof(struct agent_thread, graph.size) == GRAPH_SIZE &&
	       offsetof(struct agent_thread, graph.piece) == GRAPH_PIECE &&
	       offsetof(struct agent_thread, graph.top) == GRAPH_TOP &&
	       offsetof(struct agent_thread, graph.state) == GRAPH_STATE &&
	       offsetof(struct agent_thread, graph.overrun) == GRAPH_OVERRUN &&
	       offsetof(struct agent_thread, graph.last) == GRAPH_LAST &&
	       offsetof(struct agent_thread, graph.counted) == GRAPH_COUNTED &&
	       offsetof(struct agent_thread, pid) == THREAD_PID &&
	       offsetof(struct agent_thread, busy) == THREAD_BUSY, "emit.S knows the thread");
_Static_assert(offsetof(struct site_dso, table) == DSO_TABLE &&
		       offsetof(struct site_table, code) == TABLE_CODE &&
		       offsetof(struct site_table, words) == TABLE_WORDS &&
		       offsetof(struct site_table, size) == TABLE_SIZE &&
		       offsetof(struct site_table, delta) == TABLE_DELTA &&
		       SITE_HOOKED == SITE_HOOKED_WORD && SITE_RETURNS == SITE_RETURNS_WORD &&
		       LAYOUT_GRAPH_EXIT == GRAPH_EXIT && GRAPH_MIRROR == MIRROR &&
		       GROUP_GRAPH == GROUP_FUNCTION + 1 && GROUP_FUNCTION == 0,
	       "emit.S knows sites");

static _Atomic uint64_t refusals;	/* 1 << enum returnless; 0: return addresses are replaced */

static const struct graph_config no_config;
static const _Atomic config_ref no_control;
/* Points to site_control.graph; set before any function is hooked. */
static const _Atomic config_ref *control = &no_control;

/* These and struct function_record are written in words of 8 bytes: see emit_try(). */
struct graph_entry_record {
	struct record_common common;
	uint64_t	func;
	uint32_t	depth;
};

/*
 * The same with the registers of arguments, if they are wanted (GRAPH_ARGS), or behind them the
 * address that the call returns to (GRAPH_RETADDR).
 */
struct graph_args_record {
	struct record_common common;
	uint64_t	func;
	uint64_t	depth;
	uint64_t	args[6];
	uint64_t	retaddr;
};

struct graph_exit_record {
	struct record_common common;
	uint64_t	func, retval;
	uint64_t	depth;		/* the upper half is overrun */
	uint64_t	calltime, rettime;
};

enum { ENTRY_SIZE = 20 };

enum { HIT_ROOM = 1536 };	/* bytes of stack for a hit */

/* ---- What keeps functions from being hooked ---- */

uint64_t graph_refusals(void)
{
	/* Relaxed: bits are never set back. */
	return atomic_load_explicit(&refusals, memory_order_relaxed);
}

/* whys: 1 << enum returnless */
static void refuse_all(uint64_t whys)
{
	/* Relaxed: as in graph_refusals(). */
	if (whys && !atomic_fetch_or_explicit(&refusals, whys, memory_order_relaxed))
		agent_say("returns of functions without return sites are not traced: "
			  "tracefuse doctor says why", 0);
}

static void graph_refuse(enum returnless why)
{
	refuse_all(1ull << why);
}

bool graph_refused(void)
{
	return graph_refusals();
}

bool graph_may_at_sites(void)
{
	return !(graph_refusals() >> RETURNLESS_COPIES & 1);
}

/*
 * V8, HotSpot and OCaml find what they know of a frame by its return address. V8 ends the program
 * if there is none; the others crash. LuaJIT reads its frame at _Unwind_GetCFA(), which is in the
 * mirror here. Embedded copies export their interface, too. Native programs of OCaml export their
 * table of return addresses; the interpreter of its bytecode has none, and looks at no stack of C.
 * Guile, PyPy and callcc of Ruby copy stacks, as greenlet does. gccgo's recover() compares return
 * addresses. The runtime of a static thread sanitizer notes the return address of each call, and
 * reports what it finds by them. MoarVM knows by the return address of a call from its JIT's code
 * where that code is, and changes it for an exception.
 */
static void refuse_runtimes(const Elf64_Dyn *dyn, uintptr_t bias)
{
	static struct sites_name runtimes[] = {
		{ "_ZN2v87Isolate10GetCurrentEv", RETURNLESS_V8, 0 },
		{ "JNI_CreateJavaVM", RETURNLESS_JVM, 0 },
		{ "luaJIT_setmode", RETURNLESS_LUAJIT, 0 },
		{ "caml_frametable", RETURNLESS_OCAML, 0 },
		{ "runtime.setdeferretaddr", RETURNLESS_GCCGO, 0 },
		{ "__tsan_func_entry", RETURNLESS_TSAN, 0 },
		{ "scm_init_guile", RETURNLESS_COPIES, 0 },
		{ "Init_continuation", RETURNLESS_COPIES, 0 },
		{ "pypy_main_startup", RETURNLESS_COPIES, 0 },
		{ "MVM_jit_code_enter", RETURNLESS_MOARVM, 0 },
	};

	refuse_all(sites_defines(dyn, bias, runtimes, sizeof(runtimes) / sizeof(runtimes[0])));
}

/* start: a slash and how the name of the file begins */
static bool file_begins(const char *path, const char *start)
{
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash, start, strlen(start));
}

bool graph_dso(const char *name, const Elf64_Dyn *dyn, uintptr_t bias)
{
	const bool before = graph_refused();

	/* It ignores the unwind rule for the stack pointer: exceptions would not be caught. */
	if (file_begins(name, "/libunwind.so.8"))
		graph_refuse(RETURNLESS_UNWINDER);
	/*
	 * It copies stacks back to their old addresses. The mirror there may have return addresses
	 * of later calls by then.
	 */
	if (file_begins(name, "/_greenlet."))
		graph_refuse(RETURNLESS_COPIES);
	refuse_runtimes(dyn, bias);
	return graph_refused() != before;
}

void graph_missed(uint64_t whys)
{
	struct losses *l = &((struct data_header *)agent.plane.data)->losses;

	/* Relaxed: bits that stay. */
	atomic_fetch_or_explicit(&l->returnless, whys, memory_order_relaxed);
}

int graph_error(void)
{
	return graph_refused() || piece_refused() ? -ENOTSUP : 0;
}

void graph_start(void)
{
	const struct site_control *c =
		plane_config(&agent.plane, plane_header(&agent.plane)->sites);
	uint64_t features = 0;

	control = &c->graph;

	if (!agent_syscall(SYS_arch_prctl, SHADOW_STACK_STATUS, &features) && (features & 1))
		graph_refuse(RETURNLESS_SHADOW);
}

/* ---- Whether, and how ---- */

static inline const struct graph_config *config_now(void)
{
	const struct plane *p = &agent.plane;
	/* M6. Acquire: pairs with the release in session_publish(). */
	config_ref ref = atomic_load_explicit(control, memory_order_acquire);

	return __builtin_expect(ref && ref + sizeof(struct graph_config) <= p->config_size, 1) ?
	       plane_config(p, ref) : &no_config;
}

bool graph_is_plain(void)
{
	const struct graph_config *c = config_now();

	return !c->max_depth && !c->flags && !c->thresh;
}

bool graph_is_only_profile(void)
{
	const uint32_t looked_at = GRAPH_PROFILE | GRAPH_CPU_TIME | GRAPH_SELF_TIME |
				   GRAPH_DETAILS;

	return (config_now()->flags & looked_at) == GRAPH_PROFILE;
}

static uint64_t cpu_time(void)
{
	return agent_restricted() ? 0 : clock_system(CLOCK_THREAD);
}

static inline bool is_armed(uint32_t entry)
{
	/* Relaxed: hit() loads it again with acquire. */
	return atomic_load_explicit(&plane_event(&agent.plane, entry)->plan,
				    memory_order_relaxed) != 0;
}

/* The same as entry_emit(), with the arguments. `saved`: the registers, as entry.S saves them. */
static __attribute__((noinline)) uint64_t args_emit(struct agent_thread *t,
						    const struct graph_config *c, uint32_t entry,
						    struct graph_args_record r,
						    const uint64_t *saved, uint64_t *time)
{
	static const uint8_t places[] = { SAVED_DI, SAVED_SI, SAVED_DX, SAVED_CX, SAVED_R8,
					  SAVED_R9 };

	if (!is_armed(entry) || site_out_of_section(t, entry))
		return 0;
	for (unsigned int i = 0; i < sizeof(places); i++)
		r.args[i] = saved[places[i] / 8];
	return emit_hit(t, &(struct hit){ .entry = entry, .record = &r,
			.size = c->flags & GRAPH_RETADDR ? sizeof(r) : sizeof(r) - 8,
			.ask = c->thresh }, time, NULL, EMIT_NEXT_LONG);
}

/* -> the instances that want the function's return */
static uint64_t entry_emit(struct agent_thread *t, const struct graph_config *c, uint32_t word,
			   uint64_t func, uint64_t state, const uint64_t *saved, uint64_t *time,
			   const uintptr_t *slot)
{
	struct graph_entry_record r = { .func = func, .depth = (uint32_t)state };
	uint32_t entry = (word & SITE_GROUP) + GROUP_GRAPH;
	uint64_t mask;

	if (__builtin_expect(c->flags & (GRAPH_ARGS | GRAPH_RETADDR), 0)) {
		struct graph_args_record args = { .func = func, .depth = (uint32_t)state };

		if (c->flags & GRAPH_RETADDR)
			args.retaddr = agent_address(t, (const void *)graph_true(slot));
		return args_emit(t, c, entry, args, saved, time);
	}
	mask = c->thresh ? 0 : emit_try(t, entry, &r, ENTRY_SIZE, time, EMIT_ALL);
	if (mask)
		return mask;
	if (!is_armed(entry) || site_out_of_section(t, entry))
		return 0;
	return emit_hit(
		t,
		&(struct hit){ .entry = entry, .record = &r, .size = ENTRY_SIZE, .ask = c->thresh },
		time, NULL, c->thresh ? EMIT_NEXT_LONG : EMIT_NEXT_WAY);
}

/* ---- The profile ---- */

/* How many functions further out are looked at for the same one. */
enum { NESTED_LOOK = 32 };

static void profile_emit(struct agent_thread *t, const struct graph_frame *f,
			 struct profile_record *r)
{
	r->func = f->func;
	emit_hit(t,
		 &(struct hit){ .entry = (uint32_t)(f->tail / TAIL_GROUP) + GROUP_PROFILE,
			       .record = r,
			       .size = sizeof(*r) },
		 NULL, NULL, EMIT_NEXT_PROFILE);
}

/* ns of the calls below: stored in place of the time that the frame does not need. */
static uint64_t *below_of(struct graph_frame *f)
{
	return f->state & FRAME_CPU_TIME ? &f->time : &f->cpu_time;
}

static void profile_begin(struct agent_thread *t, struct graph_frame *f, uint32_t word)
{
	f->state |= FRAME_PROFILED;
	f->tail = f->tail % TAIL_GROUP + (word & SITE_GROUP) * TAIL_GROUP;
	profile_emit(t, f, &(struct profile_record){ .calls = 1 });
	if (!f->time && !(f->state & FRAME_CPU_TIME))
		f->time = emit_time();
	*below_of(f) = 0;
}

/* The caller, or the function that has jumped to this one. */
static struct graph_frame *caller_of(struct agent_thread *t, struct graph_piece *piece,
				     const struct graph_frame *f)
{
	return f->state >= FRAME_TAIL ? tail_look(piece, f) : frame_of(t, f->up);
}

/* The same for any frame further out. Frames that wait in another piece are passed over. */
static struct graph_frame *frame_outside(struct agent_thread *t, struct graph_piece *piece,
					 const struct graph_frame *f)
{
	const bool here = (uintptr_t)f - (uintptr_t)piece < sizeof(*piece);

	return here ? caller_of(t, piece, f) : frame_of(t, f->up);
}

/* Whether the function was called while it ran. A bound: a return must not walk a whole stack. */
static bool is_nested(struct agent_thread *t, struct graph_piece *piece,
		      const struct graph_frame *f)
{
	const struct graph_frame *up = f;

	for (unsigned int i = 0; i < NESTED_LOOK; i++) {
		up = frame_outside(t, piece, up);
		if (!up)
			return false;
		if (up->func == f->func && (up->state & FRAME_PROFILED))
			return true;
	}
	return false;
}

/*
 * With nograph-time, or with details, the function's time counts as time of calls below in its
 * caller. With nosleep-time the time when the thread was not running is left out, as in the kernel.
 */
static void profile_end(struct agent_thread *t, struct graph_piece *piece, struct graph_frame *f)
{
	uint64_t ns = f->state & FRAME_CPU_TIME ? cpu_time() - f->cpu_time : emit_time() - f->time;
	const uint64_t below = *below_of(f), self = ns - (below < ns ? below : ns);
	const uint32_t flags = config_now()->flags;
	struct profile_record r = { .self = self };
	struct graph_frame *up;

	if (flags & (GRAPH_SELF_TIME | GRAPH_DETAILS)) {
		up = caller_of(t, piece, f);
		if (up)
			*below_of(up) += ns;
	}
	r.time = flags & GRAPH_SELF_TIME ? self : ns;
	if (!(flags & GRAPH_DETAILS))
		r.squared = r.time * r.time;
	else if (!(flags & GRAPH_SELF_TIME) && is_nested(t, piece, f))
		r.squared = ns;
	profile_emit(t, f, &r);
}

/* M7: for a function that was left, and for those that wait behind it. */
static void profile_left(struct agent_thread *t, struct graph_piece *piece, struct graph_frame *f)
{
	for (; f; f = f->state >= FRAME_TAIL ? tail_look(piece, f) : NULL)
		if (f->state & FRAME_PROFILED) {
			profile_end(t, piece, f);
			f->state &= ~FRAME_PROFILED;
		}
}

/* M7: for all from the innermost slot of the thread's own stack to `upto`; 0: all. */
static __attribute__((noinline)) void functions_left(struct agent_thread *t, uintptr_t upto)
{
	struct graph_frame *f;

	for (uintptr_t at = t->graph.top; at && at != upto; at = f->up) {
		bool refused;

		f = frame_of(t, at);
		if (!f)
			return;
		profile_left(t, piece_find(at & -(uintptr_t)PIECE, &refused), f);
	}
}

void graph_process_ends(struct agent_thread *t)
{
	functions_left(t, 0);
}

void graph_thread_ends(struct agent_thread *t)
{
	functions_left(t, 0);
	t->graph.top = 0;
}

/* ---- Calls ---- */

static uint32_t missed(struct agent_thread *t)
{
	struct slot *slot = t ? agent_slot(t) : NULL;

	if (slot)
		hit_miss(slot);
	else
		agent_thread_missed();
	return PATCH_PASS;
}

static bool is_left_out(const struct graph_config *c, uint64_t state)
{
	return (state & FRAME_NOTRACE) ||
	       ((c->flags & GRAPH_CHOSEN) && !(state & FRAME_IN_GRAPH)) ||
	       (c->max_depth && (uint32_t)state >= c->max_depth);
}

/* The state that the function inherits from the one above and gets from the filters. */
static uint64_t state_of(const struct above *up, uint32_t word)
{
	const bool inner = up->f && !(up->f->state & FRAME_OUTER);
	uint64_t state = inner ? (up->f->state & FRAME_INHERITED) + 1 : 0;

	if (word & SITE_IN_GRAPH)
		state |= FRAME_IN_GRAPH;
	if (word & SITE_IN_GRAPH_NOTRACE)
		state |= FRAME_NOTRACE;
	return state;
}

/* M8: a call that is not hooked. */
static uint32_t unhooked(const struct agent_thread *t, struct graph_piece *piece, uintptr_t slot)
{
	struct graph_frame *f = frame_in(piece, slot);

	if (f->id == frame_id(t, slot) && (f->state & FRAME_SITE) && !is_label(*(uintptr_t *)slot))
		f->id = 0;
	return PATCH_PASS;
}

/*
 * If the function was reached by a tail call, the slot does not contain a return address. late: the
 * registers of a late site, as general_save leaves them; NULL: those of another site are S below
 * the slot.
 */
static uint32_t hook(struct agent_thread *t, struct graph_piece *piece, uintptr_t *at,
		     uint32_t word, uint64_t func, const uint64_t *late)
{
	const struct graph_config *c = config_now();
	const uintptr_t slot = (uintptr_t)at, ret = *at;
	const bool tail = is_label(ret), at_site = word & SITE_RETURNS;
	const struct above up = above_of(t, piece, slot, tail);
	struct graph_frame *f = frame_in(piece, slot);
	const bool profiled =
		(c->flags & GRAPH_PROFILE) && is_armed((word & SITE_GROUP) + GROUP_PROFILE);
	uint64_t state = state_of(&up, word), time = 0, mask = 0;

	if (__builtin_expect(t->graph.top != up.slot, 0) && runs_on_own(t, slot))
		functions_left(t, up.slot);
	if (up.f && (up.f->state & FRAME_NOTRACE) && !profiled)
		return unhooked(t, piece, slot);
	if (up.slot == slot && tail_is_full(f)) {
		t->graph.overrun++;
		return PATCH_PASS;
	}
	if (!is_left_out(c, state))
		mask = entry_emit(t, c, word, func, state,
				  late ? late : (const uint64_t *)(slot - S), &time, at);
	/* The outermost function in set_graph_notrace is hooked, so that those below it know. */
	if (!mask && !profiled && !(state & FRAME_NOTRACE))
		return unhooked(t, piece, slot);
	if (up.slot == slot)
		state += tail_keep(piece, f) * FRAME_TAIL;
	else
		f->up = up.slot;
	state |= c->thresh ? FRAME_UNSEEN : 0;
	state |= at_site ? FRAME_SITE : 0;
	if (c->flags & GRAPH_CPU_TIME) {
		state |= FRAME_CPU_TIME;
		f->cpu_time = cpu_time();
	}
	f->id = frame_id(t, slot);
	f->state = late ? state | FRAME_LATE : state;
	f->func = func;
	f->time = time;
	f->mask = mask;
	if (profiled)
		profile_begin(t, f, word);
	if (!tail)
		*mirror_of(slot) = ret;
	inner_set(t, piece, slot, slot);
	if (at_site)
		return PATCH_PASS;
	if (!late)
		return PATCH_HOOKED;
	*at = (uintptr_t)graph_returned_late;
	return PATCH_PASS;
}

/* ---- Probes of returns (M9) ---- */

/* A frame with a return site is still this call's: the slot is not to be taken from it. */
static bool has_return_site(const struct agent_thread *t, const struct graph_frame *f,
			    uintptr_t slot)
{
	return f->id == frame_id(t, slot) && (f->state & FRAME_SITE) &&
	       *mirror_of(slot) == *(const uintptr_t *)slot;
}

static void probe_hook(struct agent_thread *t, struct graph_piece *piece, uintptr_t *at,
		       const void *place)
{
	const uintptr_t slot = (uintptr_t)at, ret = *at;
	const bool tail = is_label(ret);
	const struct above up = above_of(t, piece, slot, tail);
	struct graph_frame *f = frame_in(piece, slot);
	uint64_t state = FRAME_LATE | FRAME_PROBED;

	if (__builtin_expect(t->graph.top != up.slot, 0) && runs_on_own(t, slot))
		functions_left(t, up.slot);
	if ((up.slot == slot && tail_is_full(f)) || has_return_site(t, f, slot)) {
		missed(t);
		return;
	}
	state |= up.f ? up.f->state & (FRAME_INHERITED | FRAME_OUTER) : FRAME_OUTER;
	if (up.slot == slot)
		state += tail_keep(piece, f) * FRAME_TAIL;
	else
		f->up = up.slot;
	f->id = frame_id(t, slot);
	f->state = state;
	f->func = (uintptr_t)place;
	f->time = f->mask = 0;
	if (!tail)
		*mirror_of(slot) = ret;
	inner_set(t, piece, slot, slot);
	*at = (uintptr_t)graph_returned_late;
}

bool graph_probe(struct agent_thread *t, uintptr_t *slot, const void *place, bool slow)
{
	struct graph_piece *piece;
	bool refused = false;

	if (graph_refused())
		return true;
	piece = slow ? piece_make(t, (uintptr_t)slot) : piece_of(t, (uintptr_t)slot, &refused);
	if (!piece && !refused && !slow)
		return false;
	if (piece)
		probe_hook(t, piece, slot, place);
	else
		missed(t);
	return true;
}

/* ---- Returns ---- */

/*
 * Sets the times of a return without an entry record, and those of the processor. False: the call
 * was shorter than tracing_thresh.
 */
static bool exit_times(const struct graph_frame *f, struct graph_exit_record *r)
{
	uint64_t thresh = config_now()->thresh;

	r->rettime = emit_time();
	if (f->state & FRAME_CPU_TIME)
		r->calltime = r->rettime - (cpu_time() - f->cpu_time);
	return !thresh || r->rettime - r->calltime >= thresh;
}

static void exit_long(struct agent_thread *t, const struct graph_frame *f,
		      struct graph_exit_record *r)
{
	uint64_t *time = &r->rettime;

	if (!f->mask || !is_armed(LAYOUT_GRAPH_EXIT))
		return;
	if (f->state & (FRAME_UNSEEN | FRAME_CPU_TIME)) {
		if (!exit_times(f, r))
			return;
		time = NULL;
	}
	emit_hit(t, &(struct hit){ .entry = LAYOUT_GRAPH_EXIT, .record = r, .size = sizeof(*r),
				   .mask = f->mask }, time, NULL, EMIT_NEXT_WAY);
}

static bool exit_short(struct agent_thread *t, const struct graph_frame *f,
		       struct graph_exit_record *r)
{
	return !(f->state & (FRAME_UNSEEN | FRAME_CPU_TIME | FRAME_PROFILED)) &&
	       emit_try(t, LAYOUT_GRAPH_EXIT, r, sizeof(*r), &r->rettime, f->mask);
}

static struct graph_exit_record exit_of(const struct agent_thread *t, const struct graph_frame *f,
					uint64_t retval)
{
	return (struct graph_exit_record){ .func = f->func,
					  .retval = retval,
					  .calltime = f->time,
					  .depth = (uint32_t)f->state | (uint64_t)t->graph.overrun
										<< 32 };
}

/* Ends the frame. -> where to return to */
static uintptr_t frame_end(struct agent_thread *t, struct graph_piece *piece, struct graph_frame *f,
			   uintptr_t slot)
{
	if (f->state >= FRAME_TAIL && tail_take(piece, f))
		return (uintptr_t)(f->state & FRAME_LATE ? graph_returned_late : graph_returned);
	/* Those that waited have been overwritten: their returns are not recorded. */
	t->graph.overrun += f->state / FRAME_TAIL;
	f->id = 0;
	inner_set(t, piece, slot, f->up);
	return *mirror_of(slot);
}

void graph_tail(uintptr_t *at, uint64_t func, uint64_t time, uint64_t mask)
{
	struct agent_graph *g = &agent_self.thread->graph;
	struct graph_frame *f = frame_in(g->piece, (uintptr_t)at);

	f->state = g->state + tail_keep(g->piece, f) * FRAME_TAIL;
	f->func = func;
	f->time = time;
	f->mask = mask;
	g->state++;
}

uintptr_t graph_tail_left(uintptr_t *at)
{
	struct agent_thread *t = agent_self.thread;
	struct graph_piece *piece = t->graph.piece;

	return frame_end(t, piece, frame_in(piece, (uintptr_t)at), (uintptr_t)at);
}

/* The thread's frame of the slot; NULL: none. */
static struct graph_frame *frame_leaving(struct agent_thread *t, uintptr_t slot,
					 struct graph_piece **piece)
{
	struct graph_frame *f;
	bool refused;

	/* In a child of fork() that has had no hit yet the thread must not be written. */
	*piece = t && t->slot ? piece_of(t, slot, &refused) : NULL;
	f = *piece ? frame_in(*piece, slot) : NULL;
	return f && f->id == frame_id(t, slot) ? f : NULL;
}

/* Records the return. -> where to return to */
static uintptr_t frame_leave(struct agent_thread *t, struct graph_piece *piece,
			     struct graph_frame *f, uintptr_t slot, uint64_t retval)
{
	struct graph_exit_record r;

	if (__builtin_expect(t->graph.top != slot, 0) && runs_on_own(t, slot))
		functions_left(t, slot);
	emit_levels_left(t, slot - (SAVED - 8));
	r = exit_of(t, f, retval);
	if ((f->mask || (f->state & FRAME_PROFILED)) && !exit_short(t, f, &r)) {
		exit_long(t, f, &r);
		if (f->state & FRAME_PROFILED)
			profile_end(t, piece, f);
	}
	return frame_end(t, piece, f, slot);
}

const void *graph_probed(uintptr_t *at, uintptr_t *ret)
{
	struct graph_piece *piece;
	const struct graph_frame *f =
		frame_leaving(agent_self.thread, (uintptr_t)at, &piece);

	*ret = *mirror_of((uintptr_t)at);
	return f && (f->state & FRAME_PROBED) ? (const void *)(uintptr_t)f->func : NULL;
}

uintptr_t graph_leave(uintptr_t *at, uint64_t retval)
{
	struct agent_thread *t = agent_self.thread;
	const uintptr_t slot = (uintptr_t)at;
	struct graph_piece *piece;
	struct graph_frame *f = frame_leaving(t, slot, &piece);

	return f ? frame_leave(t, piece, f, slot, retval) : *mirror_of(slot);
}

void agent_caller_restore(uintptr_t *slot)
{
	/* Functions that have jumped to each other one after the other share the slot. */
	while (is_label(*slot))
		*slot = graph_leave(slot, 0);
}

void graph_left(uintptr_t *at, uint64_t retval)
{
	struct agent_thread *t = agent_self.thread;
	const uintptr_t slot = (uintptr_t)at;
	struct graph_piece *piece;
	struct graph_frame *f = frame_leaving(t, slot, &piece);

	if (f && (f->state & FRAME_SITE))
		frame_leave(t, piece, f, slot, retval);
}

/* ---- What sites call ---- */

static inline bool is_on(void)
{
	/* Relaxed: one call more or less does not matter. */
	return atomic_load_explicit(&agent.state, memory_order_relaxed) == AGENT_ON;
}

/* A plain hit. short_left: entry.S has tried the short way in vain. */
static inline bool function_plain(struct agent_thread *t, uint32_t entry, struct function_record *r,
				  bool short_left)
{
	uint64_t time;

	if (!short_left && emit_try(t, entry, r, sizeof(*r), &time, EMIT_ALL))
		return true;
	return !site_out_of_section(t, entry) && emit_plain(t, entry, r, sizeof(*r));
}

/* The function event. False: it has to be emitted with all registers saved. */
static inline bool function_emit(struct agent_thread *t, const struct site_table *table,
				 uint32_t word, uintptr_t ip, uintptr_t parent, bool short_left)
{
	struct function_record r = { .ip = ip + table->delta, .parent_ip = parent + table->delta };

	if (__builtin_expect(site_table_has(table, parent), 1) &&
	    __builtin_expect(
		    function_plain(t, (word & SITE_GROUP) + GROUP_FUNCTION, &r, short_left), 1))
		return true;
	return !sites_hit(ip, parent);
}

/*
 * Most calls with set_graph_function are like this: on the thread's own stack, below no hooked
 * function.
 */
static inline bool is_outside(const struct agent_thread *t, uintptr_t slot, uint32_t word)
{
	return !t->graph.top && piece_short(t, slot) &&
	       !(word & (SITE_IN_GRAPH | SITE_IN_GRAPH_NOTRACE)) &&
	       (config_now()->flags & (GRAPH_CHOSEN | GRAPH_PROFILE)) == GRAPH_CHOSEN;
}

/*
 * If a function aligns the stack itself, gcc's prologue copies the return address
 * into the frame that %rbp points to: push -8(%r10); push %rbp; mov %rsp, %rbp. The
 * function returns by the original, so a late site cannot change where it returns.
 */
static bool returns_elsewhere(const struct site_table *table, uintptr_t ip)
{
	const uint64_t prologue = 0xe5894855f870ff41, which = 0x070000;	/* %r8 to %r15 */
	uint64_t word;

	for (uintptr_t at = ip - PROLOGUE; at <= ip - sizeof(word); at++) {
		if (!site_table_has(table, at))
			continue;
		memcpy(&word, (const void *)at, sizeof(word));
		if ((word & ~which) == prologue)
			return true;
	}
	return false;
}

/*
 * `how`, to do it with all registers saved, if the stack has room for that. A signal handler's
 * stack may not have it: then the call is missed.
 */
static __attribute__((noinline)) uint32_t slowly(struct agent_thread *t, const uintptr_t *slot,
						 uint32_t how)
{
	return stack_has_room((uintptr_t)slot, t ? STACK_SLOW : STACK_FIRST) ? how : missed(t);
}

/* Runs behind the function event. */
static uint32_t hook_long(struct agent_thread *t, uintptr_t *slot, uint32_t word, uint64_t func,
			  const uint64_t *late)
{
	struct graph_piece *piece;
	bool refused;

	if (graph_refused() && !(word & SITE_RETURNS))
		return PATCH_PASS;
	piece = piece_of(t, (uintptr_t)slot, &refused);
	if (!piece) {
		t->graph.overrun += refused;
		return refused ? PATCH_PASS : slowly(t, slot, PATCH_SLOW_GRAPH);
	}
	return hook(t, piece, slot, word, func, late);
}

static inline __attribute__((always_inline)) uint32_t hit_at(struct site_dso *d, uintptr_t after,
							     uintptr_t *slot,
							     const uint64_t *late)
{
	struct agent_thread *t = agent_self.thread;
	const struct site_table *table = d->table;
	uintptr_t ip = after - 5;
	uint32_t word;

	if (__builtin_expect(!table, 0))
		return PATCH_PASS;
	word = site_word(table, ip);
	if (__builtin_expect(!word, 0))
		return PATCH_PASS;
	if (__builtin_expect(!t || !t->slot, 0))
		return is_on() ? slowly(NULL, slot, PATCH_SLOW) : PATCH_PASS;
	if (emit_stranger(t) || __builtin_expect(t->busy, 0))
		return PATCH_PASS;
	if (__builtin_expect(t->flags & AGENT_HANDLER, 0) &&
	    !stack_has_room((uintptr_t)slot, HIT_ROOM))
		return missed(t);
	if (!late)
		emit_levels_left(t, (uintptr_t)slot - S);
	if (!(word & SITE_HOOKED))
		return function_emit(t, table, word, ip, graph_true(slot), !late)
			       ? PATCH_PASS
			       : slowly(t, slot, PATCH_SLOW);
	if (is_armed((word & SITE_GROUP) + GROUP_FUNCTION) &&
	    __builtin_expect(!function_emit(t, table, word, ip, graph_true(slot), false), 0))
		return slowly(t, slot, PATCH_SLOW);
	if (is_outside(t, (uintptr_t)slot, word))
		return unhooked(t, t->graph.piece, (uintptr_t)slot);
	if (late && returns_elsewhere(table, ip))
		return PATCH_PASS;
	return hook_long(t, slot, word, ip + table->delta, late);
}

uint32_t patch_hit(struct site_dso *d, uintptr_t after, uintptr_t *slot)
{
	return hit_at(d, after, slot, NULL);
}

uint32_t patch_hit_late(struct site_dso *d, uintptr_t after, uintptr_t *slot,
			const uint64_t *saved)
{
	return hit_at(d, after, slot, saved);
}

static uint32_t hit_slowly(struct agent_thread *t, struct site_call *c, const uint64_t *saved,
			   const struct site_table *table, uintptr_t ip, uint32_t word)
{
	struct graph_piece *piece;

	c->parent = graph_true(c->slot);
	if (c->done == PATCH_SLOW)
		sites_hit_slow(ip, c->parent, site_call_frame(c));
	if (!(word & SITE_HOOKED) || (graph_refused() && !(word & SITE_RETURNS)) ||
	    (c->late && returns_elsewhere(table, ip)))
		return PATCH_PASS;
	piece = piece_make(t, (uintptr_t)c->slot);
	if (!piece)
		return PATCH_PASS;
	return hook(t, piece, c->slot, word, ip + table->delta, c->late ? saved : NULL);
}

uint32_t patch_hit_slow(struct site_call *c, const uint64_t *saved)
{
	struct agent_thread *t = agent_thread();
	const struct site_table *table = c->dso->table;
	uintptr_t ip = c->after - 5;
	uint32_t word = table ? site_word(table, ip) : 0, how;

	if (!t || !word || emit_stranger(t) || t->busy)
		return PATCH_PASS;
	/* It calls functions of libc, which may have sites. */
	t->busy = 1;
	how = hit_slowly(t, c, saved, table, ip, word);
	t->busy = 0;
	return how;
}
