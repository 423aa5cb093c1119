/* SPDX-License-Identifier: MIT */
/*
 * sites_find.c - the sites of an ELF file
 *
 *     __patchable_function_entries     addresses of rows of nops, of which some may lie before the
 *                                      function
 *     __mcount_loc                     addresses of calls or nops
 *     __return_loc                     addresses of nops before returns: sites_returns()
 *     xray_instr_map                   sleds at entries, returns and jumps out of functions
 *     relocations of __fentry__, mcount -> GOT entries -> PLT stubs -> the calls in the text
 *
 * The file has no list of the calls. Bytes count as a call if two things hold: the five or six
 * bytes lead to the stub or the GOT entry, and they are where compilers put the call. That is at a
 * function's start, or for mcount not far behind it. The table in .eh_frame_hdr has the functions'
 * starts; stripping does not remove it.
 */
#include "elf/sites.h"
#include "elf/code/insn.h"
#include "elf/image.h"

enum { PROLOGUE = 512, MAX_ROW = 64, MAX_LISTS = 64 };

struct list {
	struct site	*out;
	size_t		nr, room;
};

/* ---- Instructions ---- */

/* The length of the nop at b; 0: it is no nop. */
static size_t nop_length(const unsigned char *b, size_t room)
{
	size_t prefixes = 0, len;

	while (prefixes < room && (b[prefixes] == 0x66 || b[prefixes] == 0x2e))
		prefixes++;
	b += prefixes;
	room -= prefixes;
	if (room >= 1 && b[0] == 0x90)
		return prefixes + 1;
	if (room < 3 || b[0] != 0x0f || b[1] != 0x1f || (b[2] & 0x38))
		return 0;
	switch (b[2] >> 6) {
	case 0:	len = 3; break;
	case 1: len = 4; break;
	case 2: len = 7; break;
	default: return 0;
	}
	/* Forms that no compiler writes do not count as nops. */
	if ((b[2] & 7) == 4) {
		if (b[2] >> 6 == 0)
			return 0;
		len++;
	} else if ((b[2] & 7) == 5 && b[2] >> 6 == 0) {
		return 0;
	}
	return len <= room ? prefixes + len : 0;
}

/* Takes all nops from b on, and finds out whether each has one byte. */
size_t site_nops_length(const unsigned char *b, size_t room, bool *single)
{
	size_t all = 0, len;

	*single = true;
	while (all < MAX_ROW && (len = nop_length(b + all, room - all))) {
		*single &= len == 1;
		all += len;
	}
	return all;
}

/* ---- The list ---- */

static void list_add(struct list *l, struct site s)
{
	if (l->nr < l->room)
		l->out[l->nr] = s;
	l->nr++;
}

/* If two sites have the same address, the one that can be patched comes first. */
static bool is_before(const struct site *a, const struct site *b)
{
	return a->at != b->at ? a->at < b->at : a->skip < b->skip;
}

static void sift(struct site *s, size_t root, size_t nr)
{
	for (size_t child; (child = 2 * root + 1) < nr; root = child) {
		struct site swap = s[root];

		if (child + 1 < nr && is_before(&s[child], &s[child + 1]))
			child++;
		if (!is_before(&swap, &s[child]))
			return;
		s[root] = s[child];
		s[child] = swap;
	}
}

/* libc's qsort() may allocate, so this sorts by itself. Usually the sites are in order already. */
void sites_sort(struct site *s, size_t nr)
{
	size_t i = 1;

	while (i < nr && !is_before(&s[i], &s[i - 1]))
		i++;
	if (i >= nr)
		return;
	for (i = nr / 2; i--;)
		sift(s, i, nr);
	for (i = nr; i-- > 1;) {
		struct site swap = s[0];

		s[0] = s[i];
		s[i] = swap;
		sift(s, 0, i);
	}
}

static size_t list_unite(struct site *s, size_t nr)
{
	size_t to = 0;

	for (size_t i = 0; i < nr; i++)
		if (!to || s[to - 1].at != s[i].at)
			s[to++] = s[i];
	return to;
}

/* ---- Rows of nops ---- */

/*
 * The entry points to the first nop, which may lie before the function. Nops before the function
 * are not executed. If there is an endbr64 between the nops, the function begins at it, and the
 * other nops are behind it.
 */
static struct site row_site(const struct image *im, uint64_t at)
{
	struct site s = { .at = at, .kind = SITE_ROW, .skip = SITE_UNKNOWN };
	size_t room = 2 * MAX_ROW + ENDBR, before, len;
	uint64_t start;
	uint32_t flags;
	bool single;
	const unsigned char *b = image_address(im, at, &room, &flags);

	if (!b || !(flags & PF_X)) {
		s.skip = SITE_NOT_CODE;
		return s;
	}
	before = site_nops_length(b, room, &single);
	if (room - before >= ENDBR && !memcmp(b + before, endbr64, ENDBR)) {
		before += ENDBR;
	} else {
		start = image_start(im, at + before);
		/*
		 * This may be the start of the function before this one. Then nothing tells how
		 * many nops lie before the function.
		 */
		if (start < at && start + ENDBR != at)
			return s;
		before = start < at ? 0 : start - at;
	}
	len = site_nops_length(b + before, room - before, &single);
	s.at = at + before;
	s.kind = single ? SITE_ROW : SITE_NOP;
	s.len = (uint8_t)len;
	s.skip = len < 5 ? SITE_SHORT : SITE_GOOD;
	/* Of a longer row only 5 bytes are needed. A single long nop is replaced as a whole. */
	if (single && len > 5)
		s.len = 5;
	return s;
}

/* The compiler may have replaced the call at an address of __mcount_loc by a nop. */
static struct site loc_site(const struct image *im, uint64_t at)
{
	struct site s = { .at = at, .kind = SITE_CALL, .skip = SITE_UNKNOWN };
	size_t room = 16, len;
	uint32_t flags;
	const unsigned char *b = image_address(im, at, &room, &flags);

	if (!b || !(flags & PF_X)) {
		s.skip = SITE_NOT_CODE;
		return s;
	}
	len = nop_length(b, room);
	if (len >= 5) {
		s.kind = SITE_NOP;
		s.len = (uint8_t)len;
		s.skip = SITE_GOOD;
	}
	/* calls_scan() finds the calls at these addresses, and checks where they lead. */
	return s;
}

/* A call of __return__ is the program's own, and stays. */
static struct site return_site(const struct image *im, uint64_t at)
{
	static const unsigned char nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	struct site s = { .at = at, .kind = SITE_RETURN, .len = sizeof(nop), .skip = SITE_UNKNOWN };
	size_t room = sizeof(nop) + 1;
	uint32_t flags;
	const unsigned char *b = image_address(im, at, &room, &flags);

	if (!b || !(flags & PF_X))
		s.skip = SITE_NOT_CODE;
	else if (room > sizeof(nop) && !memcmp(b, nop, sizeof(nop)))
		s.skip = SITE_GOOD;
	return s;
}

/* Some linkers already write the value that the relocation will store. */
static bool stands_there(const unsigned char *b, size_t size, uint64_t offset, uint64_t value)
{
	return b && offset + 8 <= size && !memcmp(b + offset, &value, 8);
}

/*
 * Takes the addresses in a section: those that are written there, and those of relative
 * relocations.
 */
static void section_sites(const struct image *im, const Elf64_Shdr *s, struct list *l,
			  struct site (*site)(const struct image *im, uint64_t at))
{
	static const struct site counted;
	size_t size, r_size;
	const unsigned char *b = image_section(im, s, &size);
	uint64_t at;

	for (size_t i = 0; b && i + 8 <= size; i += 8) {
		memcpy(&at, b + i, 8);
		if (at)
			list_add(l, l->room ? site(im, at) : counted);
	}
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *r = &im->shdrs[i];
		const Elf64_Rela *rela = r->sh_type == SHT_RELA && (r->sh_flags & SHF_ALLOC) ?
					 image_section(im, r, &r_size) : NULL;

		for (size_t k = 0; rela && (k + 1) * sizeof(*rela) <= r_size; k++) {
			Elf64_Rela e;

			memcpy(&e, &rela[k], sizeof(e));
			if (e.r_offset - s->sh_addr < s->sh_size &&
			    ELF64_R_TYPE(e.r_info) == R_X86_64_RELATIVE && e.r_addend &&
			    !stands_there(b, size, e.r_offset - s->sh_addr, (uint64_t)e.r_addend))
				list_add(l, l->room ? site(im, (uint64_t)e.r_addend) : counted);
		}
	}
}

/* ---- Sleds ---- */

/* An entry of xray_instr_map. */
struct sled {
	uint64_t	at;		/* from version 2 on, the distance from this word */
	uint64_t	function;
	uint8_t		kind;		/* enum sled_kind */
	uint8_t		always;
	uint8_t		version;
	uint8_t		unused[13];
};

enum sled_kind { SLED_ENTER, SLED_EXIT, SLED_TAIL, SLED_ENTER_LOGGED };
enum { SLED_DEAD = 9, SLED_RETURN_DEAD = 10 };	/* bytes of nops, in any number of instructions */

static bool sled_is_entry(const struct sled *e)
{
	return e->kind == SLED_ENTER || e->kind == SLED_ENTER_LOGGED;
}

static bool sled_is_exit(const struct sled *e)
{
	return e->kind == SLED_EXIT || e->kind == SLED_TAIL;
}

/*
 * Whether the sled is at the function's start. Between the two there may be only an endbr64 and a
 * byte that aligns the sled.
 */
static bool sled_stands_well(const struct image *im, const struct sled *e)
{
	size_t before = e->at - e->function, room = before;
	uint32_t flags;
	const unsigned char *b = before <= ENDBR + 1 ?
				 image_address(im, e->function, &room, &flags) : NULL;

	if (!b || room < before)
		return false;
	if (before >= ENDBR && !memcmp(b, endbr64, ENDBR)) {
		b += ENDBR;
		before -= ENDBR;
	}
	return !before || (before == 1 && *b == 0x90);
}

static bool sled_is_jump(const unsigned char *b, size_t room)
{
	bool single;

	return room >= 2 + SLED_DEAD && b[0] == INSN_OP_JMP_8 && b[1] == SLED_OVER &&
	       site_nops_length(b + 2, room - 2, &single) >= SLED_DEAD;
}

static bool sled_is_return(const unsigned char *b, size_t room)
{
	bool single;

	return room > SLED_RETURN_DEAD && b[0] == INSN_OP_RET &&
	       site_nops_length(b + 1, room - 1, &single) >= SLED_RETURN_DEAD;
}

static struct site sled_site(const struct image *im, const struct sled *e)
{
	struct site s = { .at = e->at, .kind = SITE_SLED_RETURN, .len = 5, .skip = SITE_UNKNOWN };
	size_t room = 2 * MAX_ROW;
	uint32_t flags;
	const unsigned char *b = image_address(im, e->at, &room, &flags);
	bool good = false;

	if (sled_is_entry(e)) {
		s.kind = SITE_SLED;
		s.at += SLED_HEAD;
	}
	if (!b || !(flags & PF_X))
		s.skip = SITE_NOT_CODE;
	else if (sled_is_entry(e))
		good = sled_is_jump(b, room) && sled_stands_well(im, e);
	else if (e->kind == SLED_EXIT)
		good = sled_is_return(b, room);
	if (good)
		s.skip = SITE_GOOD;
	return s;
}

static void map_sites(const struct image *im, const Elf64_Shdr *s, struct list *l,
		      bool (*wants)(const struct sled *e))
{
	static const struct site counted;
	size_t size;
	const unsigned char *b = image_section(im, s, &size);
	struct sled e;

	for (size_t i = 0; b && i + sizeof(e) <= size; i += sizeof(e)) {
		memcpy(&e, b + i, sizeof(e));
		if (!wants(&e))
			continue;
		if (e.version >= 2) {
			e.at += s->sh_addr + i;
			e.function += s->sh_addr + i + offsetof(struct sled, function);
		}
		list_add(l, l->room ? sled_site(im, &e) : counted);
	}
}

/* ---- Calls ---- */

static bool is_fentry(const char *name)
{
	return !strcmp(name, "__fentry__");
}

static bool is_mcount(const char *name)
{
	return !strcmp(name, "mcount") || !strcmp(name, "_mcount");
}

static bool call_stands_well(const struct image *im, uint64_t at, bool late)
{
	uint64_t start = image_start(im, at);

	if (!im->nr_starts)
		return false;
	return late ? at - start < PROLOGUE : at == start || at == start + ENDBR;
}

static void calls_of(const struct image *im, const unsigned char *b, size_t size, uint64_t base,
		     const struct targets *t, bool late, struct list *l)
{
	for (size_t i = 0; i + 5 <= size; i++) {
		struct site s = { .at = base + i, .kind = late ? SITE_CALL_LATE : SITE_CALL };

		if (b[i] == INSN_OP_CALL && is_stub(t, relative(b + i + 1, s.at + 5)))
			s.len = 5;
		else if (i + 6 <= size && b[i] == 0xff && b[i + 1] == 0x15 &&
			 is_got(t, relative(b + i + 2, s.at + 6)))
			s.len = 6;
		else
			continue;
		s.skip = call_stands_well(im, s.at, late) ? SITE_GOOD : SITE_UNKNOWN;
		list_add(l, s);
	}
}

static void calls_scan(const struct image *im, bool (*is)(const char *name), bool late,
		       struct list *l)
{
	const unsigned char *b;
	struct targets t;
	size_t size;

	image_targets(im, is, &t);
	for (unsigned int i = 0; t.nr_got && i < im->nr_phdrs; i++) {
		b = image_code(im, i, &size);
		if (b)
			calls_of(im, b, size, im->phdrs[i].p_vaddr, &t, late, l);
	}
}

/* ---- All of a file ---- */

static void lists_add(const struct image *im, const char *section, struct list *l,
		      struct site (*site)(const struct image *im, uint64_t at))
{
	for (unsigned int i = 0, lists = 0; i < im->nr_shdrs && lists < MAX_LISTS; i++) {
		if (strcmp(image_string(im, im->names, im->shdrs[i].sh_name), section))
			continue;
		section_sites(im, &im->shdrs[i], l, site);
		lists++;
	}
}

static void maps_add(const struct image *im, struct list *l, bool (*wants)(const struct sled *e))
{
	for (unsigned int i = 0, maps = 0; i < im->nr_shdrs && maps < MAX_LISTS; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];

		if (strcmp(image_string(im, im->names, s->sh_name), "xray_instr_map"))
			continue;
		map_sites(im, s, l, wants);
		maps++;
	}
}

static size_t list_end(struct list *l)
{
	if (l->nr > l->room)
		return l->room ? 0 : l->nr;
	sites_sort(l->out, l->nr);
	return list_unite(l->out, l->nr);
}

static bool is_call(const struct site *s)
{
	return s->kind == SITE_CALL || s->kind == SITE_CALL_LATE;
}

/*
 * Drops a call behind the function's first site. -pg together with -fpatchable-function-entry makes
 * both, and each of them would record the same call of the function.
 */
static size_t list_drop_second(const struct image *im, struct site *s, size_t nr)
{
	const struct site *first = NULL;
	size_t to = 0;

	for (size_t i = 0; i < nr; i++) {
		if (first && is_call(&s[i]) && im->nr_starts &&
		    image_start(im, first->at) == image_start(im, s[i].at))
			continue;
		s[to] = s[i];
		if (s[to].skip == SITE_GOOD)
			first = &s[to];
		to++;
	}
	return to;
}

size_t sites_in_image(const struct image *im, struct site *out, size_t room)
{
	struct list l = { .out = out, .room = room };
	size_t nr;

	calls_scan(im, is_fentry, false, &l);
	calls_scan(im, is_mcount, true, &l);
	lists_add(im, "__patchable_function_entries", &l, row_site);
	lists_add(im, "__mcount_loc", &l, loc_site);
	maps_add(im, &l, sled_is_entry);
	nr = list_end(&l);
	return room ? list_drop_second(im, out, nr) : nr;
}

size_t sites_find(const void *file, size_t size, struct site *out, size_t room)
{
	struct image im;

	return image_open(&im, file, size) ? sites_in_image(&im, out, room) : 0;
}

size_t sites_returns(const void *file, size_t size, struct site *out, size_t room)
{
	struct list l = { .out = out, .room = room };
	struct image im;

	if (!image_open(&im, file, size))
		return 0;
	lists_add(&im, "__return_loc", &l, return_site);
	if (!l.nr)
		maps_add(&im, &l, sled_is_exit);
	return list_end(&l);
}

bool sites_profiled(const void *file, size_t size)
{
	struct image im;

	if (!image_open(&im, file, size))
		return false;
	for (unsigned int i = 0; i < im.nr_shdrs; i++) {
		struct image_symbols symbols;

		if (im.shdrs[i].sh_type != SHT_DYNSYM ||
		    !image_symbols(&im, &im.shdrs[i], &symbols))
			continue;
		for (size_t k = 0; k < symbols.nr; k++) {
			Elf64_Sym sym = image_symbol(&symbols, k);

			if (!strcmp(image_symbol_name(&symbols, &sym), "_mcleanup"))
				return true;
		}
	}
	return false;
}
