/* SPDX-License-Identifier: MIT */
/*
 * gates.c - finds the `syscall` instructions of a file's code
 *
 *     bytes 0f 05 -> the function that they are in -> its instructions and jumps -> what a jump of
 *     five bytes can replace in front of the instruction and behind it
 *
 * G1  Nothing jumps into the bytes that are displaced, nor to the instruction itself, nor to the
 *     one behind it: not from the function, whose instructions are all read, and not from elsewhere
 *     by a distance of 32 bits, for which the code is searched byte by byte.
 * G2  A function that jumps through a register or memory may jump anywhere in itself. In such a
 *     function the first displaced instruction has five bytes, so that no other one is overwritten:
 *     if something jumps to these, they do what they did, and the call is not seen.
 * G3  No instruction in front of the call is one that comes back: a call.
 */
#include "elf/code/insn.h"
#include "elf/gates.h"

enum {
	JUMP		= 5,
	MOST_BEFORE	= 4,	/* instructions */
	MOST_AFTER	= 4,
	MOST_BYTES	= 40,	/* displaced on one side */
	FUNCTION_MOST	= 65536,
	GATES_MOST	= 16384,
	SEGMENTS	= 4,
	NUMBER_MOST	= 511,
	SYS_RT_SIGRETURN = 15, SYS_EXIT = 60, SYS_EXIT_GROUP = 231,
};

/* What is known of a byte. */
enum mark {
	MARK_START	= 1,	/* an instruction begins there */
	MARK_TARGET	= 2,	/* something jumps there */
	MARK_TAKEN	= 4,	/* it is displaced */
};

struct segment {
	uint64_t	low, size;
	const uint8_t	*bytes;
	uint8_t		*inner;		/* a bit a byte: no jump may lead there */
};

struct finding {
	const struct image *image;
	struct segment	segments[SEGMENTS];
	unsigned int	nr_segments;
	struct gate	*gates;
	size_t		nr;
	/* The function that is being looked at. */
	const struct segment *s;
	uint64_t	start, end, next;	/* next: where the one behind it begins */
	bool		is_read;	/* all its bytes are instructions */
	bool		jumps_anywhere;	/* G2 */
	uint8_t		*marks;		/* of its bytes: enum mark, or'ed */
};

/* ---- Segments ---- */

static void segments_read(struct finding *f)
{
	const struct image *im = f->image;

	for (unsigned int i = 0; i < im->nr_phdrs && f->nr_segments < SEGMENTS; i++) {
		struct segment s = { .low = im->phdrs[i].p_vaddr };
		size_t size;

		s.bytes = image_code(im, i, &size);
		s.size = size;
		if (s.bytes && size && s.low + size > s.low)
			f->segments[f->nr_segments++] = s;
	}
}

/* Of eight bytes at once: not 0 where one of them is 0f, and seldom elsewhere. */
static uint64_t bytes_0f(const uint8_t *at)
{
	uint64_t word;

	__builtin_memcpy(&word, at, sizeof(word));
	word ^= 0x0f0f0f0f0f0f0f0full;
	return (word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull;
}

static const uint8_t *next_gate(const uint8_t *at, const uint8_t *end)
{
	for (; end - at >= GATE_SIZE; at++) {
		while (end - at > 8 && !bytes_0f(at))
			at += 8;
		if (at[0] == 0x0f && at[1] == 0x05)
			return at;
	}
	return NULL;
}

static size_t bitmap_bytes(const struct segment *s)
{
	return (s->size / 8 + 8) & ~7ull;
}

size_t gates_room(const struct image *im)
{
	size_t size = FUNCTION_MOST + GATES_MOST * sizeof(struct gate);
	struct finding f = { .image = im };

	segments_read(&f);
	for (unsigned int i = 0; i < f.nr_segments; i++)
		size += bitmap_bytes(&f.segments[i]);
	return f.nr_segments && im->nr_starts ? size : 0;
}

/* ---- The instructions of a function ---- */

static const uint8_t *bytes_at(const struct finding *f, uint64_t at)
{
	return f->s->bytes + (at - f->s->low);
}

static uint8_t *marks_at(const struct finding *f, uint64_t at)
{
	return &f->marks[at - f->start];
}

static bool insn_at(const struct finding *f, uint64_t at, struct insn *in)
{
	return at < f->end && insn_read(bytes_at(f, at), f->end - at, in);
}

/* The number of the last function that begins at or before `at`; nr_starts: none. */
static size_t function_before(const struct image *im, uint64_t at)
{
	size_t low = 0, high = im->nr_starts;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (image_function_start(im, middle) <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : im->nr_starts;
}

/*
 * Reads the function that contains `at`. clone() ends its entry of .eh_frame in front of the
 * instruction, because it is wrong for the child: so what follows is taken for a part of it, up to
 * the next function. False: there is none.
 */
static bool function_read(struct finding *f, uint64_t at)
{
	const size_t number = function_before(f->image, at);
	struct insn in;

	if (number >= f->image->nr_starts)
		return false;
	f->start = image_function_start(f->image, number);
	f->end = image_function_end(f->image, number);
	f->next = number + 1 < f->image->nr_starts ? image_function_start(f->image, number + 1)
						   : f->end;
	if (at >= f->end)
		f->end = f->next;
	if (at < f->start || at >= f->end)
		return false;
	f->is_read = f->jumps_anywhere = false;
	if (f->start < f->s->low || f->end > f->s->low + f->s->size || f->start >= f->end ||
	    f->end - f->start > FUNCTION_MOST)
		return false;
	if (f->next < f->end || f->next > f->s->low + f->s->size)
		f->next = f->end;
	memset(f->marks, 0, f->end - f->start);
	for (uint64_t i = f->start; i < f->end; i += in.len) {
		if (!insn_at(f, i, &in))
			return true;
		*marks_at(f, i) |= MARK_START;
		f->jumps_anywhere |= in.flow == INSN_JUMP_INDIRECT;
		if (insn_has_target(&in)) {
			const uint64_t to = insn_target(&in, bytes_at(f, i), i + in.len);

			if (to >= f->start && to < f->end)
				*marks_at(f, to) |= MARK_TARGET;
		}
	}
	f->is_read = true;
	return true;
}

/* ---- The number ---- */

/* Whether the instruction may change %rax. */
static bool changes_rax(const struct insn *in)
{
	const bool reg = !(in->modrm >> 3 & 7) && !(in->rex & 4);
	const bool rm = in->modrm >> 6 == 3 && !(in->modrm & 7) && !(in->rex & 1);

	if (in->map == INSN_0F)
		return in->opcode >> 4 == 4 ? reg
			: !(in->opcode == 0x10 || in->opcode == 0x11 || in->opcode == 0x28 ||
			    in->opcode == 0x29 || in->opcode == 0x6f || in->opcode == 0x7f ||
			    in->opcode == 0x1f);
	if (in->map != INSN_BYTE)
		return true;
	switch (in->opcode) {
	case 0x8b: case 0x8d: case 0x63: case 0x03: case 0x0b: case 0x23: case 0x2b: case 0x33:
		return reg;
	case 0x89: case 0x88: case 0x01: case 0x09: case 0x21: case 0x29: case 0x31:
	case 0x80: case 0x81: case 0x83: case 0xc6: case 0xc7:
		return rm;
	case 0x84: case 0x85: case 0x38: case 0x39: case 0x3b: case 0x3c: case 0x3d:
		return false;
	}
	if (in->opcode >= 0x50 && in->opcode < 0x58)
		return false;
	if ((in->opcode >= 0x58 && in->opcode < 0x60) || (in->opcode >= 0xb8 && in->opcode < 0xc0))
		return !(in->opcode & 7) && !(in->rex & 1);
	return true;
}

/* -> the number that the instruction sets; GATE_NO_NUMBER: none */
static int32_t number_set(const struct insn *in, const uint8_t *b)
{
	int32_t number = GATE_NO_NUMBER;

	if (in->map != INSN_BYTE || in->prefix)
		return GATE_NO_NUMBER;
	if ((in->opcode == 0xb8 && !in->rex && in->imm_size == 4) ||
	    (in->opcode == 0xc7 && in->modrm == 0xc0 && !(in->rex & 1) && in->imm_size == 4))
		memcpy(&number, b + in->imm_at, sizeof(number));
	else if ((in->opcode == 0x31 || in->opcode == 0x33) && in->modrm == 0xc0 && !(in->rex & 5))
		number = 0;
	return number >= 0 && number <= NUMBER_MOST ? number : GATE_NO_NUMBER;
}

/* The start of the instruction in front of this one; 0: not known. */
static uint64_t previous(const struct finding *f, uint64_t at)
{
	uint64_t i = at;

	do {
		if (i == f->start)
			return 0;
		i--;
	} while (!(*marks_at(f, i) & MARK_START));
	return i;
}

/* Looks at what runs in front of the call without a jump in between. */
static int32_t constant_of(const struct finding *f, uint64_t gate)
{
	uint64_t at = gate;
	struct insn in;

	while (!(*marks_at(f, at) & MARK_TARGET) && (at = previous(f, at)) &&
	       insn_at(f, at, &in) && !insn_ends_flow(&in)) {
		const int32_t number = number_set(&in, bytes_at(f, at));

		if (number >= 0)
			return number;
		if (in.flow != INSN_BRANCH && (in.flow != INSN_NEXT || changes_rax(&in)))
			return GATE_NO_NUMBER;
	}
	return GATE_NO_NUMBER;
}

/* ---- What is displaced ---- */

static bool is_target(const struct finding *f, uint64_t at)
{
	return at < f->end && (*marks_at(f, at) & MARK_TARGET);
}

/* No byte of it is another gate's, and nothing jumps behind its first byte. */
static bool is_free(const struct finding *f, uint64_t at, unsigned int len, bool first)
{
	for (unsigned int i = 0; i < len; i++) {
		const uint8_t marks = at + i < f->end ? *marks_at(f, at + i) : 0;

		if ((marks & MARK_TAKEN) || ((i || !first) && (marks & MARK_TARGET)))
			return false;
	}
	return true;
}

static bool is_movable(const struct insn *in)
{
	switch (in->flow) {
	case INSN_TRAP: case INSN_STOP: case INSN_FAR: case INSN_BEGIN: case INSN_SYSCALL:
	case INSN_CALL_INDIRECT:
		return false;
	case INSN_JUMP: case INSN_BRANCH: case INSN_LOOP: case INSN_CALL:
		return !(in->prefix & INSN_66);
	}
	return !(insn_rip_relative(in) && (in->prefix & INSN_67));
}

/* -> the bytes in front of the gate that are displaced; 0: none can be */
static unsigned int before_of(const struct finding *f, uint64_t gate, bool *several)
{
	uint64_t at = gate;
	struct insn in;

	for (unsigned int i = 0; i < MOST_BEFORE; i++) {
		const uint64_t from = previous(f, at);

		/* `at` becomes an inner start: nothing may jump there (G1). */
		if (!from || is_target(f, at) || !insn_at(f, from, &in) ||
		    !is_movable(&in) || insn_ends_flow(&in) || insn_is_call(&in) ||
		    !is_free(f, from, in.len, true))
			return 0;
		at = from;
		if (gate - at >= JUMP) {
			*several |= in.len < JUMP;
			return in.len < JUMP && f->jumps_anywhere ? 0 : (unsigned int)(gate - at);
		}
	}
	return 0;
}

/* Bytes behind an instruction that ends the flow, up to the next function. */
static unsigned int padding_at(const struct finding *f, uint64_t at)
{
	struct insn in;

	if (at >= f->next || (at < f->end && (*marks_at(f, at) & MARK_TARGET)) ||
	    !insn_read(bytes_at(f, at), f->next - at, &in) || !insn_is_padding(&in))
		return 0;
	return in.len;
}

/* -> the bytes behind the gate that are displaced, with padding; 0: none can be */
static unsigned int after_of(const struct finding *f, uint64_t gate, bool *several)
{
	const uint64_t start = gate + GATE_SIZE;
	unsigned int nr = 0, len;
	uint64_t at = start;
	bool ended = false;
	struct insn in;

	for (; at - start < JUMP; at += len) {
		if (ended) {
			len = padding_at(f, at);
		} else {
			if (nr++ == MOST_AFTER || !insn_at(f, at, &in) || !is_movable(&in))
				return 0;
			ended = insn_ends_flow(&in);
			len = in.len;
			/* What the function returns to lies behind the jump. */
			if (insn_is_call(&in) && at + len - start < JUMP)
				return 0;
		}
		if (!len || !is_free(f, at, len, false))
			return 0;
	}
	*several |= nr > 1;
	return nr > 1 && f->jumps_anywhere ? 0 : (unsigned int)(at - start);
}

static bool never_returns(int32_t number)
{
	return number == SYS_EXIT || number == SYS_EXIT_GROUP;
}

static void take(const struct finding *f, uint64_t at, unsigned int len)
{
	for (unsigned int i = 0; i < len && at + i < f->end; i++)
		*marks_at(f, at + i) |= MARK_TAKEN;
}

/* The instruction stays. */
static enum gate_why gate_in_place(struct finding *f, struct gate *g)
{
	const bool returns = !never_returns(g->number);
	bool several = false;
	unsigned int before, after;

	if (returns && is_target(f, g->at + GATE_SIZE))
		return GATE_TARGET;
	before = before_of(f, g->at, &several);
	if (!before)
		return GATE_BEFORE;
	after = returns ? after_of(f, g->at, &several) : 0;
	if (returns && !after)
		return GATE_AFTER;
	g->before = (uint8_t)before;
	g->after = (uint8_t)after;
	g->is_inner = several;
	return GATE_GOOD;
}

/*
 * Whether `nr` instructions in front of the gate, the gate, and those behind it that a jump needs
 * can be displaced together.
 */
static bool gate_moves_with(struct finding *f, struct gate *g, uint64_t from)
{
	const uint64_t before = g->at - from;
	uint64_t end = g->at + GATE_SIZE;
	struct insn in;

	for (unsigned int nr = 0; end - from < JUMP; nr++, end += in.len)
		if (nr == MOST_AFTER || !insn_at(f, end, &in) || !is_movable(&in) ||
		    insn_is_call(&in) || !is_free(f, end, in.len, false))
			return false;
	g->is_inner = !insn_at(f, from, &in) || in.len < JUMP;
	if (g->is_inner && f->jumps_anywhere)
		return false;		/* G2 */
	g->before = (uint8_t)before;
	g->after = (uint8_t)(end - g->at - GATE_SIZE);
	g->moves = true;
	return true;
}

static bool gate_moves(struct finding *f, struct gate *g)
{
	uint64_t at = g->at;
	struct insn in;

	for (unsigned int i = 0; i < MOST_BEFORE; i++) {
		const uint64_t from = previous(f, at);

		if (!from || is_target(f, at) || !insn_at(f, from, &in) || !is_movable(&in) ||
		    insn_ends_flow(&in) || insn_is_call(&in) || !is_free(f, from, in.len, true))
			return false;
		at = from;
		if (gate_moves_with(f, g, at))
			return true;
	}
	return false;
}

static bool is_signal_frame(const struct finding *f, uint64_t at)
{
	static const uint8_t number[] = { 0x48, 0xc7, 0xc0, SYS_RT_SIGRETURN, 0, 0, 0 };

	return at - f->s->low >= sizeof(number) &&
	       !memcmp(bytes_at(f, at) - sizeof(number), number, sizeof(number));
}

static enum gate_why gate_look(struct finding *f, struct gate *g)
{
	enum gate_why why;

	if (is_signal_frame(f, g->at))
		return GATE_SIGNAL_FRAME;
	if (!(*marks_at(f, g->at) & MARK_START))
		return f->is_read ? GATE_NOT_START : GATE_NO_FUNCTION;
	if (!f->is_read)
		return GATE_NO_FUNCTION;
	g->number = constant_of(f, g->at);
	if (is_target(f, g->at))
		return GATE_TARGET;
	why = gate_in_place(f, g);
	if (why && !gate_moves(f, g))
		return why;
	take(f, g->at - g->before, g->before + GATE_SIZE + g->after);
	return GATE_GOOD;
}

/* ---- G1: jumps from elsewhere ---- */

static struct segment *segment_of(struct finding *f, uint64_t at)
{
	for (unsigned int i = 0; i < f->nr_segments; i++)
		if (at - f->segments[i].low < f->segments[i].size)
			return &f->segments[i];
	return NULL;
}

/* Behind the last byte that nothing may jump to. */
static uint64_t gate_end(const struct gate *g)
{
	return g->at + GATE_SIZE + g->after;
}

static void inner_note(struct segment *s, const struct gate *g)
{
	/* The first byte in front of the gate may be jumped to. */
	for (uint64_t at = g->at - g->before + 1; at < gate_end(g); at++)
		if (at - s->low < s->size)
			s->inner[(at - s->low) / 8] |= (uint8_t)(1 << (at - s->low) % 8);
}

static bool is_inner(const struct segment *s, uint64_t at)
{
	return at - s->low < s->size &&
	       (s->inner[(at - s->low) / 8] >> (at - s->low) % 8 & 1);
}

/* The gate whose displaced bytes contain `at`. Its own function has been read: that has no jump. */
static void gate_refuse(struct finding *f, uint64_t at, uint64_t from)
{
	for (size_t i = 0; i < f->nr; i++) {
		struct gate *g = &f->gates[i];

		if (!g->why && at > g->at - g->before && at < gate_end(g) &&
		    from - g->start >= g->size)
			g->why = GATE_TARGET;
	}
}

/* How an instruction may end in front of a distance: a jump, a call, or lea of an address. */
static const uint8_t ends[256] = {
	[0xe8] = 1, [0xe9] = 1,
	/* 0f 80 to 0f 8f */
	[0x80] = 2, [0x81] = 2, [0x82] = 2, [0x83] = 2, [0x84] = 2, [0x85] = 2, [0x86] = 2,
	[0x87] = 2, [0x88] = 2, [0x89] = 2, [0x8a] = 2, [0x8b] = 2, [0x8c] = 2, [0x8d] = 2,
	[0x8e] = 2, [0x8f] = 2,
	/* 8d 05, 8d 0d ... */
	[0x05] = 3, [0x0d] = 3, [0x15] = 3, [0x1d] = 3, [0x25] = 3, [0x2d] = 3, [0x35] = 3,
	[0x3d] = 3,
};

static bool is_end(uint8_t how, uint8_t before)
{
	return how == 1 || before == (how == 2 ? 0x0f : 0x8d);
}

static void far_jumps(struct finding *f, const struct segment *s)
{
	for (uint64_t i = 2; i + 4 <= s->size; i++) {
		const uint8_t how = ends[s->bytes[i - 1]];
		int32_t distance;
		uint64_t to;

		__builtin_memcpy(&distance, s->bytes + i, 4);
		to = i + 4 + (uint64_t)(int64_t)distance;
		/* One branch, which is seldom taken. */
		if (__builtin_expect((to < s->size) & (how != 0), 0) && is_inner(s, s->low + to) &&
		    is_end(how, s->bytes[i - 2]))
			gate_refuse(f, s->low + to, s->low + i);
	}
}

/* ---- All ---- */

static void gates_of(struct finding *f, const struct segment *s)
{
	const uint8_t *end = s->bytes + s->size;
	bool known = false;

	f->s = s;
	f->start = f->end = 0;
	for (const uint8_t *b = s->bytes; f->nr < GATES_MOST && (b = next_gate(b, end)); b++) {
		const uint64_t at = s->low + (uint64_t)(b - s->bytes);
		struct gate *g = &f->gates[f->nr];

		if (at < f->start || at >= f->end) {
			known = function_read(f, at);
			if (!known)
				f->start = f->end = 0;
		}
		*g = (struct gate){ .at = at, .number = GATE_NO_NUMBER, .start = f->start,
				   .size = (uint32_t)(f->end - f->start) };
		g->why = known ? (uint8_t)gate_look(f, g) : GATE_NO_FUNCTION;
		f->nr++;
	}
}

size_t gates_find(const struct image *im, void *memory, size_t size, struct gate **found)
{
	struct finding f = { .image = im };
	uint8_t *at = memory;
	bool any = false;

	if (!size || size != gates_room(im))
		return 0;
	segments_read(&f);
	f.marks = at;
	at += FUNCTION_MOST;
	for (unsigned int i = 0; i < f.nr_segments; i++) {
		f.segments[i].inner = at;
		at += bitmap_bytes(&f.segments[i]);
	}
	*found = f.gates = (struct gate *)(void *)at;
	for (unsigned int i = 0; i < f.nr_segments; i++)
		gates_of(&f, &f.segments[i]);
	for (size_t i = 0; i < f.nr; i++) {
		struct segment *s = segment_of(&f, f.gates[i].at);

		if (!s || f.gates[i].why)
			continue;
		inner_note(s, &f.gates[i]);
		any = true;
	}
	for (unsigned int i = 0; any && i < f.nr_segments; i++)
		far_jumps(&f, &f.segments[i]);
	return f.nr;
}

size_t gates_guess(const struct image *im)
{
	struct finding f = { .image = im };
	size_t nr = 0;

	segments_read(&f);
	for (unsigned int i = 0; i < f.nr_segments; i++) {
		const uint8_t *b = f.segments[i].bytes, *end = b + f.segments[i].size;

		for (; (b = next_gate(b, end)); b++)
			nr++;
	}
	return nr;
}
