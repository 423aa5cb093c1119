/* SPDX-License-Identifier: MIT */
/*
 * jumps.c - functions that end in a jump out of their file, where somebody may look at who called
 *
 * dlopen(), dlmopen(), dlsym() and dlvsym() look at their return address. A function that ends in a
 * jump to libc's own must not be hooked: libc would see an address of ours. The interposers of
 * providers/dl/callers.c put the true one back.
 *
 * J1  Where no object of the process imports one of these names, no jump leads there. libc may load
 *     objects that do later, and the program has no pointers into these. dl_iterate_phdr() looks at
 *     its caller, too, but that matters behind a dlmopen() only.
 * J2  Elsewhere nobody knows whom a PLT stub or a pointer leads to, or what that jumps to. So each
 *     such jump counts, and each jump to a function that is found so. What is found wrongly is a
 *     function less in the graph.
 * J3  J1 and J2 hold only if the program may call libc's own past the interposers (L3 of
 *     callers.c). That is so if the agent was loaded late or has no providers, if there is another
 *     name space, if an object behind the interposers defines such a function besides libc, or if
 *     an object that imports one was loaded with RTLD_DEEPBIND. It may begin later, by dlopen().
 *     Then functions that were hooked before are looked at, too; calls that have begun stay hooked.
 */
#include <sys/mman.h>
#include "agent/sites/sites.h"
#include "elf/image.h"
#include "agent/syscall.h"
#include "elf/code/insn.h"

enum leaving {
	LEAVES_UNKNOWN,
	LEAVES,
	LEAVES_PERHAPS,		/* it jumps to functions of the file that do not leave so far */
	LEAVES_NEVER,
};

struct jumping {
	const struct image *im;
	uint8_t		*leaves;	/* by the function's number; PLT stubs have numbers, too */
};

/* ---- J1 ---- */

struct imports {
	const Elf64_Sym	*symbols;
	const char	*names;
	/* DT_GNU_HASH: number of buckets, first symbol in them, words of the filter, shift, ... */
	const uint32_t	*hash;
	const Elf64_Rela *relocations[2];	/* DT_JMPREL, DT_RELA */
	uint64_t	sizes[2];
};

enum { HASH_BUCKETS, HASH_FIRST, HASH_FILTER, HASH_HEAD = 4 };

/* The linker has changed the offsets to addresses, but not in the vdso. */
static const void *table_at(const Elf64_Dyn *dyn, uintptr_t bias)
{
	return (const void *)(dyn->d_un.d_ptr >= bias ? dyn->d_un.d_ptr : dyn->d_un.d_ptr + bias);
}

static struct sites_name looking[] = {
	{ "dlopen", 0, 0 }, { "dlmopen", 0, 0 }, { "dlsym", 0, 0 }, { "dlvsym", 0, 0 },
};

enum { NR_LOOKING = sizeof(looking) / sizeof(looking[0]) };

static bool is_looking(const struct imports *t, uint32_t symbol)
{
	const char *name = t->names + t->symbols[symbol].st_name;

	/* Most names differ in their first letter. */
	for (unsigned int i = 0; i < NR_LOOKING; i++)
		if (*name == *looking[i].name && !strcmp(name, looking[i].name))
			return true;
	return false;
}

/* Each object is asked for the same few names. Threads that are first compute the same. */
static uint32_t hash_of(struct sites_name *sought)
{
	uint32_t hash = __atomic_load_n(&sought->hash, __ATOMIC_RELAXED);

	if (!hash) {
		hash = image_hash(sought->name);
		__atomic_store_n(&sought->hash, hash, __ATOMIC_RELAXED);
	}
	return hash;
}

/*
 * An import whose address a program compares or passes on is the program's PLT entry, and stands
 * with what it exports.
 */
static bool is_in_buckets(const struct imports *t, struct sites_name *sought, bool imported)
{
	const uint32_t hash = hash_of(sought), nr = t->hash[HASH_BUCKETS];
	const uint32_t *buckets = t->hash + HASH_HEAD + 2 * t->hash[HASH_FILTER];
	uint32_t i = nr ? buckets[hash % nr] : 0;
	const uint32_t *chain = buckets + nr;

	if (i < t->hash[HASH_FIRST])
		return false;
	for (chain += i - t->hash[HASH_FIRST];; i++, chain++) {
		if ((*chain | 1) == (hash | 1) &&
		    (t->symbols[i].st_shndx == SHN_UNDEF) == imported &&
		    !strcmp(t->names + t->symbols[i].st_name, sought->name))
			return true;
		if (*chain & 1)
			return false;
	}
}

/*
 * If an object exports nothing, GNU ld does not record where its imports end. Those that it uses
 * have relocations.
 */
static bool is_used(const struct imports *t)
{
	for (unsigned int k = 0; k < 2; k++)
		for (uint64_t i = 0; t->relocations[k] && i < t->sizes[k] / sizeof(Elf64_Rela);
		     i++) {
			const uint32_t symbol =
				(uint32_t)ELF64_R_SYM(t->relocations[k][i].r_info);

			if (symbol && t->symbols[symbol].st_shndx == SHN_UNDEF &&
			    is_looking(t, symbol))
				return true;
		}
	return false;
}

static struct imports imports_of(const Elf64_Dyn *dyn, uintptr_t bias)
{
	struct imports t = { .symbols = NULL };

	for (; dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			t.symbols = table_at(dyn, bias);
		else if (dyn->d_tag == DT_STRTAB)
			t.names = table_at(dyn, bias);
		else if (dyn->d_tag == DT_GNU_HASH)
			t.hash = table_at(dyn, bias);
		else if (dyn->d_tag == DT_JMPREL)
			t.relocations[0] = table_at(dyn, bias);
		else if (dyn->d_tag == DT_RELA)
			t.relocations[1] = table_at(dyn, bias);
		else if (dyn->d_tag == DT_PLTRELSZ)
			t.sizes[0] = dyn->d_un.d_val;
		else if (dyn->d_tag == DT_RELASZ)
			t.sizes[1] = dyn->d_un.d_val;
	}
	return t;
}

bool sites_looked_at(const Elf64_Dyn *dyn, uintptr_t bias)
{
	const struct imports t = imports_of(dyn, bias);

	if (!t.symbols || !t.names || !t.hash)
		return true;
	for (uint32_t i = 1; i < t.hash[HASH_FIRST]; i++)
		if (is_looking(&t, i))
			return true;
	for (unsigned int i = 0; i < NR_LOOKING; i++)
		if (is_in_buckets(&t, &looking[i], true))
			return true;
	return t.hash[HASH_FIRST] <= 1 && is_used(&t);
}

uint64_t sites_defines(const Elf64_Dyn *dyn, uintptr_t bias, struct sites_name *names,
		       unsigned int nr)
{
	const struct imports t = imports_of(dyn, bias);
	uint64_t which = 0;

	for (unsigned int i = 0; t.symbols && t.names && t.hash && i < nr; i++)
		if (is_in_buckets(&t, &names[i], false))
			which |= 1ull << names[i].bit;
	return which;
}

/* ---- J3 ---- */

bool sites_looks(const Elf64_Dyn *dyn, uintptr_t bias)
{
	const struct imports t = imports_of(dyn, bias);

	if (!t.symbols || !t.names || !t.hash)
		return true;
	for (unsigned int i = 0; i < NR_LOOKING; i++)
		if (is_in_buckets(&t, &looking[i], false))
			return true;
	return false;
}

/* ---- J2 ---- */

/* What the jump of function number `from` means; its bytes b come before `end`. */
static enum leaving leads_out(const struct jumping *j, size_t from, const struct insn *in,
			      const unsigned char *b, uint64_t end)
{
	const unsigned int size = insn_distance(in);
	size_t function;
	uint64_t to;

	if (!size)
		return insn_jumps_by_memory(in) ? LEAVES : LEAVES_NEVER;
	to = size == 4 ? relative(b + in->len - 4, end)
		       : end + (uint64_t)(int64_t)(int8_t)b[in->len - 1];
	function = image_function(j->im, to);
	if (function == from)
		return LEAVES_NEVER;
	return function == j->im->nr_starts ? LEAVES :
	       j->leaves[function] == LEAVES_UNKNOWN ? LEAVES_PERHAPS : j->leaves[function];
}

/* Whether it puts the address that a `ret` may jump to (a retpoline): `push`, `mov ..., (%rsp)`. */
static bool is_put(const struct insn *in, const unsigned char *b)
{
	if (in->map != INSN_BYTE)
		return false;
	return (in->opcode & 0xf8) == 0x50 ||
	       (in->opcode == 0x89 && (in->modrm & 0xc7) == 4 && b[in->len - 1] == 0x24);
}

static enum leaving function_leaves(const struct jumping *j, size_t number)
{
	const uint64_t end = image_function_end(j->im, number);
	uint64_t at = image_function_start(j->im, number);
	size_t size = end - at;
	uint32_t flags;
	const unsigned char *b = image_address(j->im, at, &size, &flags);
	enum leaving found = LEAVES_NEVER, leads;
	struct insn in;
	bool put = false;

	if (!b || size < end - at)
		return LEAVES;
	for (; at < end; at += in.len, b += in.len) {
		if (!insn_read(b, end - at, &in) || (put && insn_returns(&in)))
			return LEAVES;
		leads = leads_out(j, number, &in, b, at + in.len);
		if (leads == LEAVES)
			return LEAVES;
		found = leads == LEAVES_PERHAPS ? leads : found;
		put = is_put(&in, b);
	}
	return found;
}

static void jumping_find(const struct jumping *j)
{
	bool more;

	do {
		more = false;
		for (size_t i = 0; i < j->im->nr_starts; i++) {
			const uint8_t old = j->leaves[i];

			if (old == LEAVES || old == LEAVES_NEVER)
				continue;
			j->leaves[i] = (uint8_t)function_leaves(j, i);
			more |= j->leaves[i] != old;
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
	memory = agent_syscall(SYS_mmap, 0, im.nr_starts, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	j = (struct jumping){ &im, is_error(memory) ? NULL : (uint8_t *)memory };
	if (j.leaves)
		jumping_find(&j);
	for (size_t i = 0; i < nr; i++) {
		size_t function = image_function(&im, sites[i].at);

		/* If it is not known where functions begin, each one may leave. */
		sites[i].jumps =
			!j.leaves || function == im.nr_starts || j.leaves[function] == LEAVES;
	}
	if (j.leaves)
		agent_syscall(SYS_munmap, memory, im.nr_starts);
}
