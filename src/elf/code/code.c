/* SPDX-License-Identifier: MIT */
/*
 * code.c - opens the code of a file: its segments, its functions
 */
#include "elf/code/state.h"

/* ---- Segments ---- */

/* Segments whose addresses overlap are those of no linker. False: one does. */
static bool segment_add(struct code_file *f, struct code_segment s)
{
	for (unsigned int i = 0; i < f->nr_segments; i++)
		if (s.low < f->segments[i].high && f->segments[i].low < s.high)
			return false;
	f->segments[f->nr_segments++] = s;
	return true;
}

static bool segments_find(struct code_file *f, const struct image *im)
{
	for (unsigned int i = 0; i < im->nr_phdrs && f->nr_segments < CODE_SEGMENTS; i++) {
		struct code_segment s = { .low = im->phdrs[i].p_vaddr };
		size_t size;

		s.bytes = image_code(im, i, &size);
		s.high = s.low + size;
		if (s.bytes && size && (s.high < s.low || !segment_add(f, s)))
			return false;
	}
	return f->nr_segments;
}

const struct code_segment *code_segment_at(const struct code_file *f, uint64_t at)
{
	for (unsigned int i = 0; i < f->nr_segments; i++) {
		const struct code_segment *s = &f->segments[i];

		if (at - s->low < s->high - s->low)
			return s;
	}
	return NULL;
}

/* ---- Functions ---- */

const struct code_function *code_function_at(const struct code_file *f, uint64_t at)
{
	size_t low = 0, high = f->nr_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->functions[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || at - f->functions[low - 1].start >= f->functions[low - 1].size)
		return NULL;
	return &f->functions[low - 1];
}

uint64_t code_entry(const struct code_function *fn)
{
	return fn->start + (fn->has & CODE_HAS_ENDBR ? ENDBR : 0);
}

/* Of two functions with one start, the one with an FDE comes first. */
static bool is_before(const struct code_function *a, const struct code_function *b)
{
	return a->start != b->start ? a->start < b->start
				    : (a->has & CODE_HAS_FDE) > (b->has & CODE_HAS_FDE);
}

static void sift(struct code_function *v, size_t root, size_t nr)
{
	for (size_t child; (child = 2 * root + 1) < nr; root = child) {
		const struct code_function swap = v[root];

		if (child + 1 < nr && is_before(&v[child], &v[child + 1]))
			child++;
		if (!is_before(&swap, &v[child]))
			return;
		v[root] = v[child];
		v[child] = swap;
	}
}

/* libc's qsort() may allocate. The table of the linker is in order already. */
static void sort(struct code_function *v, size_t nr)
{
	size_t i = 1;

	while (i < nr && !is_before(&v[i], &v[i - 1]))
		i++;
	if (i >= nr)
		return;
	for (i = nr / 2; i--;)
		sift(v, i, nr);
	for (i = nr; i-- > 1;) {
		const struct code_function swap = v[0];

		v[0] = v[i];
		v[i] = swap;
		sift(v, 0, i);
	}
}

/* Of functions with one start the first is left. No function reaches into the next one. */
static void functions_order(struct code_file *f)
{
	size_t to = 0;

	sort(f->functions, f->nr_functions);
	for (size_t i = 0; i < f->nr_functions; i++) {
		const struct code_function fn = f->functions[i];

		if (to && f->functions[to - 1].start == fn.start)
			continue;
		if (to && fn.start - f->functions[to - 1].start < f->functions[to - 1].size)
			f->functions[to - 1].size =
				(uint32_t)(fn.start - f->functions[to - 1].start);
		f->functions[to++] = fn;
	}
	f->nr_functions = to;
}

static void functions_mark(struct code_file *f)
{
	for (size_t i = 0; i < f->nr_functions; i++) {
		struct code_function *fn = &f->functions[i];
		const struct code_segment *s = code_segment_at(f, fn->start);
		uint8_t *marks = &s->marks[fn->start - s->low];

		*marks |= CODE_ENTRY | CODE_TARGET;
		if (fn->has & CODE_HAS_FDE)
			for (uint32_t k = 0; k < fn->size; k++)
				marks[k] |= CODE_COVERED;
		if (fn->size > ENDBR && !memcmp(s->bytes + (fn->start - s->low), endbr64, ENDBR))
			fn->has |= CODE_HAS_ENDBR;
	}
}

/* All stubs of a PLT have one FDE in common. */
static void stubs_leave(struct code_file *f)
{
	const struct image *im = f->image;

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];
		const struct code_function *fn;

		if (!(s->sh_flags & SHF_EXECINSTR) ||
		    strncmp(image_string(im, im->names, s->sh_name), ".plt", 4))
			continue;
		fn = code_function_at(f, s->sh_addr);
		if (fn && fn->why == CODE_GOOD)
			f->functions[fn - f->functions].why = CODE_PART;
	}
}

/* ---- The file ---- */

size_t code_room(const struct image *im)
{
	struct code_file f = { .nr_segments = 0 };
	size_t marks = 0;

	if (!image_is_code(im) || !im->nr_starts || !segments_find(&f, im))
		return 0;
	for (unsigned int i = 0; i < f.nr_segments; i++)
		marks += f.segments[i].high - f.segments[i].low;
	/* Two more: .init and .fini */
	return (im->nr_starts + refer_count(im) + 2) * sizeof(struct code_function) + marks;
}

bool code_open(struct code_file *f, const struct image *im, void *memory, size_t size)
{
	uint8_t *marks;

	*f = (struct code_file){ .image = im, .functions = memory, .room = 0 };
	if (!size || size != code_room(im) || !segments_find(f, im))
		return false;
	f->is_fixed = im->head.e_type == ET_EXEC;
	f->effort = (1 << 20) + 2 * (uint64_t)im->size;
	marks = (uint8_t *)memory + size;
	for (unsigned int i = 0; i < f->nr_segments; i++) {
		marks -= f->segments[i].high - f->segments[i].low;
		f->segments[i].marks = marks;
	}
	f->room = (size_t)(marks - (uint8_t *)memory) / sizeof(struct code_function);
	if (!fde_read_all(f))
		return false;
	functions_order(f);
	refer_symbols(f);
	functions_order(f);
	functions_mark(f);
	stubs_leave(f);
	return refer_mark(f) && sweep_all(f);
}
