/* SPDX-License-Identifier: MIT */
/*
 * unwinding.c - rows of .eh_frame: each row that readelf prints for Debian's own files, and what
 * damaged tables give
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/code/unwind.h"
#include "elf/image.h"

enum { PAGE = 4096, COLUMNS = 32, LINE = 512 };

/* A file as a program has it in memory, but that nothing of it can be executed. */
struct loaded {
	uint8_t		*bytes;
	size_t		size;
	uint8_t		*bias;
	struct unwind_tables tables;
};

static const Elf64_Phdr *segments(const uint8_t *file, size_t size, unsigned int *nr)
{
	const Elf64_Phdr *p = image_segments(file, size, nr);

	assert_non_null(p);
	return p;
}

static void segments_load(struct loaded *l, const uint8_t *file, const Elf64_Phdr *p,
			  unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (p[i].p_type == PT_LOAD)
			memcpy(l->bias + p[i].p_vaddr, file + p[i].p_offset, p[i].p_filesz);
	for (unsigned int i = 0; i < nr; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME)
			l->tables.header = l->bias + p[i].p_vaddr;
	assert_non_null(l->tables.header);
	for (unsigned int i = 0; i < nr; i++) {
		const uint8_t *at = l->bias + p[i].p_vaddr;

		if (p[i].p_type == PT_LOAD && l->tables.header >= at &&
		    l->tables.header < at + p[i].p_filesz) {
			l->tables.low = at;
			l->tables.high = at + p[i].p_filesz;
		}
	}
}

static void load(struct loaded *l, const char *path)
{
	int fd = open(path, O_RDONLY);
	const Elf64_Phdr *p;
	const uint8_t *file;
	uint64_t low, high;
	unsigned int nr;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(file != MAP_FAILED);
	p = segments(file, (size_t)st.st_size, &nr);
	assert_true(image_span(p, nr, &low, &high));
	*l = (struct loaded){ .size = high - low + PAGE };
	l->bytes = mmap(NULL, l->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(l->bytes != MAP_FAILED);
	l->bias = l->bytes - (low & -(uint64_t)PAGE);
	segments_load(l, file, p, nr);
	munmap((void *)file, (size_t)st.st_size);
	close(fd);
}

static void unload(struct loaded *l)
{
	munmap(l->bytes, l->size);
}

/* ---- What readelf prints ---- */

/* The columns of one FDE, and where each is. */
struct columns {
	char	name[COLUMNS][8];
	unsigned int nr;
};

/* One row: the texts below LOC, CFA, rbx ... */
struct printed {
	uint64_t at;
	char	text[COLUMNS][24];
	unsigned int nr;
};

static void columns_read(struct columns *c, char *line)
{
	c->nr = 0;
	for (char *w = strtok(line, " \n"); w && c->nr < COLUMNS; w = strtok(NULL, " \n"))
		snprintf(c->name[c->nr++], sizeof(c->name[0]), "%.7s", w);
}

/* "r8 (r8)" is one column. */
static void names_remove(char *line)
{
	for (char *open = strchr(line, '('); open; open = strchr(open, '('))
		while (*open && *open != ' ' && *open != '\n')
			*open++ = ' ';
}

static bool row_read(struct printed *r, char *line)
{
	char *end, *w;

	names_remove(line);
	w = strtok(line, " \n");
	r->nr = 0;
	if (!w || strlen(w) != 16)
		return false;
	r->at = strtoull(w, &end, 16);
	if (*end)
		return false;
	for (; w && r->nr < COLUMNS; w = strtok(NULL, " \n"))
		snprintf(r->text[r->nr++], sizeof(r->text[0]), "%.23s", w);
	return r->nr > 2;
}

static const char *text_of(const struct columns *c, const struct printed *r, const char *name)
{
	for (unsigned int i = 0; i < c->nr && i < r->nr; i++)
		if (!strcmp(c->name[i], name))
			return r->text[i];
	return "u";
}

static void unpack(uint64_t word, struct unwind_row *r)
{
	*r = (struct unwind_row){ .kind = unwind_kind(word), .is_signal = unwind_is_signal(word),
				  .cfa = unwind_cfa(word), .ret = unwind_ret(word) };
	unwind_saved_unpack(word >> 32, &r->bp_base, &r->bp);
	unwind_saved_unpack(word >> 48, &r->bx_base, &r->bx);
}

static void saved_text(enum unwind_base base, int32_t offset, char *out, size_t room)
{
	if (base == UNWIND_AT_CFA)
		snprintf(out, room, "c%+d", offset);
	else
		snprintf(out, room, "%s", base == UNWIND_AT_BP ? "exp" : "u");
}

/* "u" and "s": in the register; readelf does not say an expression's contents. */
static bool is_saved(const char *want, enum unwind_base base, int32_t offset)
{
	char got[24];

	saved_text(base, offset, got, sizeof(got));
	return !strcmp(*want == 's' ? "u" : want, got) ||
	       (base == UNWIND_LOST && (strchr("vr", *want) || !strcmp(want, "exp")));
}

static const char *base_of(enum unwind_kind kind)
{
	switch (kind) {
	case UNWIND_SP: return "rsp";
	case UNWIND_BP: return "rbp";
	case UNWIND_BX: return "rbx";
	default: return "other";
	}
}

static bool is_followed(const char *cfa)
{
	return !strncmp(cfa, "rsp", 3) || !strncmp(cfa, "rbp", 3) || !strncmp(cfa, "rbx", 3);
}

struct counts {
	unsigned long rows, plain, expressions, ends, unknown;
};

static bool row_agrees(const struct columns *c, const struct printed *p, uint64_t word,
		       struct counts *n)
{
	const char *cfa = text_of(c, p, "CFA"), *ret = text_of(c, p, "ra");
	struct unwind_row row;
	char got[24];

	unpack(word, &row);
	if (!strcmp(ret, "u")) {
		n->ends++;
		return row.kind == UNWIND_END;
	}
	if (!strcmp(cfa, "exp") || !strcmp(ret, "exp")) {
		n->expressions++;
		n->unknown += row.kind == UNWIND_UNREAD;
		return row.kind != UNWIND_END && row.kind != UNWIND_NONE;
	}
	if (*ret == 'r' || !is_followed(cfa)) {
		n->unknown++;
		return row.kind == UNWIND_UNREAD;
	}
	n->plain++;
	snprintf(got, sizeof(got), "%s%+d", base_of(row.kind), row.cfa);
	return !strcmp(got, cfa) && is_saved(text_of(c, p, "rbp"), row.bp_base, row.bp) &&
	       is_saved(text_of(c, p, "rbx"), row.bx_base, row.bx);
}

static void rows_compare(FILE *in, const struct loaded *l, struct counts *n)
{
	struct columns columns = { .nr = 0 };
	struct printed row;
	char line[LINE], copy[LINE];
	bool is_fde = false;

	while (fgets(line, sizeof(line), in)) {
		strcpy(copy, line);
		if (strstr(line, " FDE ") || strstr(line, " CIE "))
			is_fde = strstr(line, " FDE ");
		else if (strstr(line, "LOC"))
			columns_read(&columns, line);
		else if (is_fde && row_read(&row, line)) {
			n->rows++;
			if (!row_agrees(&columns, &row,
					unwind_find(&l->tables, (uintptr_t)(l->bias + row.at)), n))
				fail_msg("another row than readelf's: %s", copy);
		}
	}
}

static struct counts file_compare(const char *path)
{
	struct counts n = { 0 };
	struct loaded l;
	char command[LINE];
	FILE *in;

	snprintf(command, sizeof(command),
		 "LC_ALL=C readelf -wF '%s' 2>/dev/null | grep -v '^Contents'", path);
	load(&l, path);
	in = popen(command, "r");
	assert_non_null(in);
	rows_compare(in, &l, &n);
	pclose(in);
	unload(&l);
	print_message("# %s: %lu rows, %lu plain, %lu by expressions, %lu ends, %lu not known\n",
		      path, n.rows, n.plain, n.expressions, n.ends, n.unknown);
	return n;
}

/* Debian's own: at most one row in fifty is such that no word says it (libcrypto has most). */
static void file_agrees(const char *path)
{
	struct counts n;

	if (access(path, R_OK)) {
		print_message("# %s is not here\n", path);
		return;
	}
	n = file_compare(path);
	assert_true(n.rows > 100);
	assert_true(n.unknown * 50 < n.rows);
}

static void rows_of_libc(void **state)
{
	file_agrees("/lib/x86_64-linux-gnu/libc.so.6");
}

static void rows_of_libstdcxx(void **state)
{
	file_agrees("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
}

static void rows_of_python(void **state)
{
	file_agrees("/usr/bin/python3");
}

static void rows_of_libcrypto(void **state)
{
	file_agrees("/usr/lib/x86_64-linux-gnu/libcrypto.so.3");
}

/* ---- Single rows ---- */

/* Each field comes back as it was, at its bounds, too. */
static void word_keeps_a_row(void **state)
{
	static const int32_t offsets[] = { 0, 8, -8, -16, 32752, -32768, -32760 };
	const struct unwind_row r = { UNWIND_BP, true, -8388600, 4, UNWIND_AT_CFA, UNWIND_AT_BP,
				      -16, 24 };
	struct unwind_row got;

	unpack(unwind_pack(&r), &got);
	/* Not the bytes between the fields. */
	assert_true(got.kind == r.kind && got.is_signal == r.is_signal && got.cfa == r.cfa &&
		    got.ret == r.ret && got.bp_base == r.bp_base && got.bp == r.bp &&
		    got.bx_base == r.bx_base && got.bx == r.bx);
	for (unsigned int i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		struct unwind_row one = r;

		one.bp = offsets[i];
		one.bx = -one.bp / 2 & ~7;
		unpack(unwind_pack(&one), &got);
		assert_int_equal(got.bp, one.bp);
		assert_int_equal(got.bx, one.bx);
	}
}

/* Outside of all functions there is no row. */
static void no_row(void **state)
{
	struct loaded l;

	load(&l, "/lib/x86_64-linux-gnu/libc.so.6");
	assert_int_equal(unwind_find(&l.tables, 0), 0);
	assert_int_equal(unwind_find(&l.tables, (uintptr_t)l.bias), 0);
	assert_int_equal(unwind_find(&l.tables, (uintptr_t)l.tables.header), 0);
	assert_int_equal(unwind_find(&l.tables, UINTPTR_MAX), 0);
	unload(&l);
}

/*
 * Bytes are changed at random. The tables are the last ones of their memory: the page behind them
 * is not there.
 */
static void damaged_tables(void **state)
{
	struct loaded l;
	uint32_t seed = 1, nr;

	load(&l, "/proc/self/exe");
	l.tables.high -= (uintptr_t)l.tables.high % 8;
	memcpy(&nr, l.tables.header + 8, 4);
	for (unsigned int i = 0; i < 200000; i++) {
		uint8_t *at = (uint8_t *)l.tables.header +
			      (seed = seed * 1664525 + 1013904223) %
				      (uint32_t)(l.tables.high - l.tables.header);
		const uint8_t was = *at;
		int32_t start;

		*at = (uint8_t)(seed >> 24);
		seed = seed * 1664525 + 1013904223;
		memcpy(&start, l.tables.header + 12 + 8 * (seed % nr), 4);
		unwind_find(&l.tables, (uintptr_t)l.tables.header + (uintptr_t)start + seed % 64);
		if (i % 16)
			*at = was;
	}
	unload(&l);
}

/* Tables that end anywhere: nothing behind the end is read. */
static void cut_tables(void **state)
{
	struct unwind_tables t;
	struct loaded l;
	uint8_t *copy;
	int32_t start;
	size_t size;

	load(&l, "/proc/self/exe");
	size = (size_t)(l.tables.high - l.tables.header);
	copy = mmap(NULL, size + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	assert_true(copy != MAP_FAILED);
	memcpy(&start, l.tables.header + 12, 4);
	size = size < 20000 ? size : 20000;
	for (size_t cut = 0; cut < size; cut += 1 + cut / 200) {
		uint8_t *end = copy + (size + PAGE - 1) / PAGE * PAGE;

		mprotect(end, PAGE, PROT_NONE);
		memcpy(end - cut, l.tables.header, cut);
		t = (struct unwind_tables){ end - cut, end, end - cut };
		unwind_find(&t, (uintptr_t)t.header + (uintptr_t)start);
		mprotect(end, PAGE, PROT_READ | PROT_WRITE);
	}
	unload(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(word_keeps_a_row),
		cmocka_unit_test(rows_of_libc),
		cmocka_unit_test(rows_of_libstdcxx),
		cmocka_unit_test(rows_of_python),
		cmocka_unit_test(rows_of_libcrypto),
		cmocka_unit_test(no_row),
		cmocka_unit_test(damaged_tables),
		cmocka_unit_test(cut_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
