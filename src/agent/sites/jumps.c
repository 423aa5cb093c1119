/* SPDX-License-Identifier: MIT */
/*
 * jumps.c - functions that end in a jump out of their file, where somebody may look at who called
 *
 * Where libc's dlopen(), dlsym() and so on are as they were (callers.c), these are not hooked: libc would see
 * our return address. Nobody knows whom a PLT stub or a pointer leads to, or what that jumps to, so each such jump
 * counts, and then those to the functions that were found. What is found wrongly is a function less in the graph.
 */
#include <sys/mman.h>
#include "agent/sites/sites.h"
#include "elf/image.h"
#include "agent/syscall.h"
#include "agent/x86_64/instruction.h"

struct jumping {
	const struct image *im;
	bool		*leaves;	/* by the function's number; PLT stubs are one, too */
};

/* The instruction, whose bytes b lie before `end`, is a jump out of function number `from`. */
static bool leads_out(const struct jumping *j, size_t from, const struct insn *in, const unsigned char *b, uint64_t end)
{
	const unsigned int size = insn_distance(in);
	size_t function;
	uint64_t to;

	if (!size)
		return insn_jumps_by_memory(in);
	to = size == 4 ? relative(b + in->len - 4, end) : end + (uint64_t)(int64_t)(int8_t)b[in->len - 1];
	function = image_function(j->im, to);
	return function != from && (function == j->im->nr_starts || j->leaves[function]);
}

/* A jump by `ret` (a retpoline): to what `push` or `mov ..., (%rsp)` has just put there. */
static bool is_put(const struct insn *in, const unsigned char *b)
{
	if (in->map != INSN_BYTE)
		return false;
	return (in->opcode & 0xf8) == 0x50 || (in->opcode == 0x89 && (in->modrm & 0xc7) == 4 && b[in->len - 1] == 0x24);
}

static bool function_leaves(const struct jumping *j, size_t number)
{
	const uint64_t end = image_function_end(j->im, number);
	uint64_t at = image_function_start(j->im, number);
	size_t size = end - at;
	uint32_t flags;
	const unsigned char *b = image_address(j->im, at, &size, &flags);
	struct insn in;
	bool put = false;

	if (!b || size < end - at)
		return true;
	for (; at < end; at += in.len, b += in.len) {
		if (!insn_read(b, end - at, &in) || leads_out(j, number, &in, b, at + in.len) || (put && insn_returns(&in)))
			return true;
		put = is_put(&in, b);
	}
	return false;
}

static void jumping_find(const struct jumping *j)
{
	bool more;

	do {
		more = false;
		for (size_t i = 0; i < j->im->nr_starts; i++) {
			if (!j->leaves[i] && function_leaves(j, i))
				more = j->leaves[i] = true;
		}
	} while (more);
}

void sites_jumping(const void *file, size_t size, struct site *sites, size_t nr)
{
	struct jumping j;
	struct image im;
	long memory;

	if (!image_open(&im, file, size))
		return;
	memory = agent_syscall(SYS_mmap, 0, im.nr_starts, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	j = (struct jumping){ &im, is_error(memory) ? NULL : (bool *)memory };
	if (j.leaves)
		jumping_find(&j);
	for (size_t i = 0; i < nr; i++) {
		size_t function = image_function(&im, sites[i].at);

		/* Where functions begin is not known: any may. */
		sites[i].jumps = !j.leaves || function == im.nr_starts || j.leaves[function];
	}
	if (j.leaves)
		agent_syscall(SYS_munmap, memory, im.nr_starts);
}
