/* SPDX-License-Identifier: MIT */
/*
 * reader.c - ELF files that no linker makes, for the reader, for the server's access to it, and for
 * the check of executables
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "elf/file.h"
#include "elf/program.h"

enum { NAMES = 4096, HOLE = 1 << 30, ID = 20 };

/* A library with a function, and with a hole instead of debug information. */
struct file {
	Elf64_Ehdr	head;
	Elf64_Phdr	load, notes;
	Elf64_Nhdr	note;
	char		owner[4];
	uint8_t		id[64];
	Elf64_Shdr	sections[4];
	Elf64_Rela	rela[2];
	Elf64_Sym	symbols[3];
	char		names[NAMES];
};

static struct file f;
static uint8_t wanted[64];
static struct elf_want want = { .id = wanted, .id_len = ID, .size = 4096 };
static int fd = -1;
static char path[64];

static int set_up(void **state)
{
	memset(&f, 0, sizeof(f));
	memcpy(f.head.e_ident, ELFMAG "\2\1\1", 7);
	f.head.e_type = ET_DYN;
	f.head.e_machine = EM_X86_64;
	f.head.e_phentsize = sizeof(Elf64_Phdr);
	f.head.e_phoff = offsetof(struct file, load);
	f.head.e_phnum = 2;
	f.head.e_shentsize = sizeof(Elf64_Shdr);
	f.head.e_shoff = offsetof(struct file, sections);
	f.head.e_shnum = 4;
	f.head.e_shstrndx = 3;
	f.load = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof(f),
			       .p_memsz = 4096 };
	f.notes = (Elf64_Phdr){ .p_type = PT_NOTE, .p_align = 4,
				.p_offset = offsetof(struct file, note),
				.p_filesz = sizeof(f.note) + sizeof(f.owner) + ID };
	f.note = (Elf64_Nhdr){ .n_namesz = 4, .n_descsz = ID, .n_type = NT_GNU_BUILD_ID };
	memcpy(f.owner, "GNU", 4);
	f.sections[1] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC };
	f.sections[2] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = 3,
				      .sh_size = sizeof(f.symbols),
				      .sh_offset = offsetof(struct file, symbols) };
	f.sections[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_size = NAMES,
				      .sh_offset = offsetof(struct file, names) };
	strcpy(f.names + 1, "one");
	f.symbols[1] = f.symbols[2] = (Elf64_Sym){ .st_name = 1, .st_shndx = 1, .st_value = 16,
						   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };
	f.symbols[2].st_name = 0;
	memset(wanted, 7, sizeof(wanted));
	memset(f.id, 7, sizeof(f.id));
	want.id_len = ID;
	fd = memfd_create("elf", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd < 0;
}

static int tear_down(void **state)
{
	close(fd);
	return 0;
}

static void save(void)
{
	assert_int_equal(pwrite(fd, &f, sizeof(f), 0), sizeof(f));
}

/* Returns the number of symbols, or -errno. */
static int count(void)
{
	struct elf_symbols s;
	int err, nr;

	save();
	err = elf_symbols_read(path, &want, &s);
	nr = err ? err : (int)s.nr;
	if (!err && nr)
		assert_int_equal(s.v[0].value, 16);
	elf_symbols_free(&s);
	return nr;
}

static void the_symbols_are_found(void **state)
{
	struct elf_symbols s;

	save();
	assert_int_equal(elf_symbols_read(path, &want, &s), 0);
	assert_int_equal(s.nr, 1);
	assert_string_equal(s.names + s.v[0].name, "one");
	assert_int_equal(s.v[0].type, 'T');
	assert_false(s.is_program);
	elf_symbols_free(&s);
}

/* Whether the symbol of that type and size comes before a function without a size at its address */
static bool is_name_of_it(unsigned int type, uint64_t symbol_size)
{
	struct elf_symbols s;
	bool first;

	strcpy(f.names + 1, "fn");
	strcpy(f.names + 101, "aa");
	f.symbols[2].st_name = 101;
	f.symbols[2].st_value = 16;
	f.symbols[2].st_size = symbol_size;
	f.symbols[2].st_info = ELF64_ST_INFO(STB_GLOBAL, type);
	save();
	assert_int_equal(elf_symbols_read(path, &want, &s), 0);
	assert_int_equal(s.nr, 2);
	first = !strcmp(s.names + s.v[0].name, "aa");
	elf_symbols_free(&s);
	return first;
}

static void a_label_is_not_the_name_of_a_function(void **state)
{
	assert_true(is_name_of_it(STT_FUNC, 0));
	assert_true(is_name_of_it(STT_FUNC, 10));
	assert_false(is_name_of_it(STT_NOTYPE, 0));
	assert_false(is_name_of_it(STT_NOTYPE, 10));
	f.symbols[1].st_size = 10;
	assert_true(is_name_of_it(STT_FUNC, 10));
	assert_false(is_name_of_it(STT_FUNC, 0));
	assert_false(is_name_of_it(STT_NOTYPE, 10));
	f.symbols[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	assert_false(is_name_of_it(STT_NOTYPE, 0));
}

/* Two functions at 16 and 32, whose names are those. */
static struct elf_function find(const char *first, const char *second)
{
	struct elf_function out = { 0 };

	strcpy(f.names + 1, first);
	strcpy(f.names + 101, second);
	f.symbols[2].st_name = 101;
	f.symbols[2].st_value = 32;
	save();
	assert_int_equal(elf_function_find(path, "one", &out), 0);
	return out;
}

static void of_several_functions_the_usual_one_is_found(void **state)
{
	struct elf_function found = find("one", "one");

	assert_int_equal(found.address, 16);
	assert_int_equal(found.others, 1);
	f.symbols[2].st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	assert_int_equal(find("one", "one").others, 0);
	f.symbols[2].st_info = f.symbols[1].st_info;
	f.symbols[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	assert_int_equal(find("one", "one").address, 32);
	f.symbols[1].st_info = f.symbols[2].st_info;
	found = find("one@OLD", "one@@NEW");
	assert_int_equal(found.address, 32);
	assert_int_equal(found.others, 0);
	assert_int_equal(find("one@@NEW", "one@OLD").address, 16);
	assert_int_equal(find("one@OLDER", "one@OLD").others, 1);
	/* The versions of .dynsym are in a section of their own, one less than symbols. */
	f.sections[2].sh_type = SHT_DYNSYM;
	f.sections[1] = (Elf64_Shdr){ .sh_type = SHT_GNU_versym, .sh_flags = SHF_ALLOC,
				      .sh_offset = offsetof(struct file, names) + 200,
				      .sh_size = 2 * sizeof(Elf64_Versym), .sh_link = 2 };
	memcpy(f.names + 200, (Elf64_Versym[]){ 0, 0x8002 }, 2 * sizeof(Elf64_Versym));
	assert_int_equal(find("one", "one").address, 32);
	f.sections[1].sh_offset = 1ull << 40;
	assert_int_equal(find("one", "one").address, 16);
	assert_false(find("one", "one").chooses);
	f.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
	assert_true(find("one", "one").chooses);
}

static void another_file_is_told_from_it(void **state)
{
	wanted[ID - 1] = 6;
	assert_int_equal(count(), -ESTALE);
	wanted[ID - 1] = 7;
	want.id_len = ID - 1;
	assert_int_equal(count(), -ESTALE);
}

/* The program has room for 24 bytes. It treats a file with a longer id like one without an id. */
static void an_id_that_is_too_long_is_none(void **state)
{
	f.note.n_descsz = 32;
	f.notes.p_filesz += 32 - ID;
	want.id_len = 8;
	assert_int_equal(count(), 1);
	want.size = 8192;
	assert_int_equal(count(), -ESTALE);
	want.size = 4096;
}

static void what_is_no_elf_file_of_64_bits_is_refused(void **state)
{
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(count(), -EINVAL);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(count(), -EINVAL);
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_phoff = UINT64_MAX - 7;
	assert_int_equal(count(), -EINVAL);
	f.head.e_phoff = 1 << 20;
	assert_int_equal(count(), -EINVAL);
	f.head.e_phoff = offsetof(struct file, load);
	f.head.e_ident[0] = 'E';
	assert_int_equal(count(), -EINVAL);
	assert_int_equal(ftruncate(fd, 63), 0);
	assert_int_equal(elf_symbols_read(path, &want, &(struct elf_symbols){ 0 }), -EINVAL);
	assert_int_equal(elf_symbols_read("/dev/zero", &want, &(struct elf_symbols){ 0 }), -EINVAL);
	assert_int_equal(elf_symbols_read("/nowhere", &want, &(struct elf_symbols){ 0 }), -ENOENT);
}

static void without_a_good_table_of_sections_there_are_none(void **state)
{
	f.head.e_shoff = UINT64_MAX - 7;
	assert_int_equal(count(), 0);
	f.head.e_shoff = offsetof(struct file, sections) + 4;
	assert_int_equal(count(), 0);
	f.head.e_shoff = offsetof(struct file, sections);
	f.head.e_shnum = UINT16_MAX;
	assert_int_equal(count(), 0);
	f.head.e_shnum = 4;
	f.sections[2].sh_size = UINT64_MAX;
	assert_int_equal(count(), 0);
	f.sections[2].sh_size = sizeof(f.symbols);
	f.sections[2].sh_offset = UINT64_MAX;
	assert_int_equal(count(), 0);
	f.sections[2].sh_offset = offsetof(struct file, symbols);
	f.sections[2].sh_link = 4;
	assert_int_equal(count(), 0);
}

static void names_have_an_end(void **state)
{
	struct elf_symbols s;

	f.symbols[1].st_name = UINT32_MAX;
	assert_int_equal(count(), 0);
	memset(f.names + NAMES - 4, 'x', 4);
	f.symbols[1].st_name = NAMES - 4;
	assert_int_equal(count(), 0);
	memset(f.names + 16, 'x', 2000);
	f.symbols[1].st_name = 16;
	save();
	assert_int_equal(elf_symbols_read(path, &want, &s), 0);
	assert_int_equal(strlen(s.names + s.v[0].name), IMAGE_NAME_MAX);
	elf_symbols_free(&s);
}

static bool is_one(const char *name)
{
	return !strcmp(name, "one");
}

static void relocations_name_symbols_of_their_table(void **state)
{
	struct targets t;
	struct image im = { .file = (unsigned char *)&f, .size = sizeof(f) };

	f.sections[1] = (Elf64_Shdr){ .sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_link = 2,
				      .sh_size = sizeof(f.rela),
				      .sh_offset = offsetof(struct file, rela) };
	f.sections[2].sh_type = SHT_DYNSYM;
	f.symbols[1].st_shndx = f.symbols[2].st_shndx = SHN_UNDEF;
	f.symbols[2].st_name = f.symbols[1].st_name;
	f.rela[0] = (Elf64_Rela){ .r_offset = 100, .r_info = ELF64_R_INFO(1, R_X86_64_GLOB_DAT) };
	f.rela[1] = (Elf64_Rela){ .r_offset = 200, .r_info = ELF64_R_INFO(2, R_X86_64_GLOB_DAT) };
	assert_true(image_headers(&im));
	image_targets(&im, is_one, &t);
	assert_int_equal(t.nr_got, 2);
	f.sections[2].sh_size = 2 * sizeof(Elf64_Sym);
	image_targets(&im, is_one, &t);
	assert_int_equal(t.nr_got, 1);
	assert_int_equal(t.got[0], 100);
}

/* Only the needed bytes are read. */
static void of_a_large_file_little_is_read(void **state)
{
	struct elf_file file;
	struct elf_symbols s;

	save();
	assert_int_equal(pwrite(fd, &f.sections, sizeof(f.sections), HOLE), sizeof(f.sections));
	f.head.e_shoff = HOLE;
	assert_int_equal(pwrite(fd, &f.head, sizeof(f.head), 0), sizeof(f.head));
	assert_int_equal(elf_file_open(path, &want, &file), 0);
	assert_int_equal(elf_symbols_of(&file, &s), 0);
	assert_int_equal(s.nr, 1);
	assert_in_range(file.taken, sizeof(f), 1 << 17);
	elf_symbols_free(&s);
	elf_file_close(&file);
}

/* Another program may truncate the file at any time. */
static void a_file_that_is_cut_off_meanwhile_has_an_error(void **state)
{
	struct elf_file file;
	size_t size;

	save();
	assert_int_equal(ftruncate(fd, HOLE), 0);
	assert_int_equal(elf_file_open(path, &want, &file), 0);
	f.sections[1].sh_offset = HOLE / 2;
	f.sections[1].sh_size = 100;
	assert_non_null(image_section(&file.image, &f.sections[1], &size));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_non_null(image_section(&file.image, &f.sections[1], &size));
	assert_non_null(image_section(&file.image, &file.image.shdrs[2], &size));
	f.sections[1].sh_offset += 1 << 20;
	assert_null(image_section(&file.image, &f.sections[1], &size));
	assert_int_equal(file.err, -EINVAL);
	elf_file_close(&file);
}

/* Files may have holes of any size, for which no memory is allocated. */
static void there_is_a_most_that_is_read(void **state)
{
	struct elf_file file;

	save();
	assert_int_equal(ftruncate(fd, 8ll * HOLE), 0);
	assert_int_equal(elf_file_open(path, &want, &file), 0);
	assert_null(image_bytes(&file.image, 0, 7ull * HOLE));
	assert_int_equal(file.err, -E2BIG);
	elf_file_close(&file);
}

/* A file may have many sections that share one table. */
static void there_is_a_most_that_is_asked_for(void **state)
{
	const uint64_t size = 16 << 20, blocks = size >> 12, most = 1 << 26;
	struct elf_file file;
	uint64_t times = 0;

	save();
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(elf_file_open(path, &want, &file), 0);
	while (image_bytes(&file.image, 0, size))
		assert_true(++times * blocks <= most);
	assert_int_equal(file.err, -E2BIG);
	assert_in_range(times, most / blocks / 2, most / blocks);
	elf_file_close(&file);
}

/* ---- notes ---- */

static void notes_are_found_by_their_alignment(void **state)
{
	struct {
		Elf64_Nhdr	first;
		char		owner[4];
		uint32_t	property[3];
		uint32_t	pad;		/* if the alignment is 8 */
		Elf64_Nhdr	second;
		char		name[4];
		uint8_t		id[5];
	} n = { .first = { 4, 12, 5 }, .owner = "GNU", .second = { 4, 5, 3 }, .name = "GNU" };
	const size_t end = offsetof(__typeof__(n), id) + sizeof(n.id);
	size_t len;

	assert_ptr_equal(image_note(&n, end, 8, "GNU", 3, &len), n.id);
	assert_int_equal(len, 5);
	assert_null(image_note(&n, end, 4, "GNU", 3, &len));
	assert_null(image_note(&n, end - 1, 8, "GNU", 3, &len));
	assert_null(image_note(&n, end, 8, "GN", 3, &len));
	assert_null(image_note(&n, end, 8, "GNU", 4, &len));
	n.first.n_descsz = UINT32_MAX;
	assert_null(image_note(&n, end, 8, "GNU", 3, &len));
	n.first.n_namesz = UINT32_MAX;
	assert_null(image_note(&n, end, 8, "GNU", 3, &len));
}

/* ---- executables ---- */

static void sanitizers_are_known_by_their_names(void **state)
{
	assert_true(program_is_sanitizer("libasan.so.8"));
	assert_true(program_is_sanitizer("/usr/lib/libhwasan.so.0"));
	assert_true(program_is_sanitizer("libclang_rt.tsan-x86_64.so"));
	assert_false(program_is_sanitizer("libclang_rt.ubsan_standalone-x86_64.so"));
	assert_false(program_is_sanitizer("libasanalyse.so"));
	assert_false(program_is_sanitizer("asan.so"));
	assert_false(program_is_sanitizer("libc.so.6"));
	assert_true(program_is_loader("/lib64/ld-linux-x86-64.so.2"));
	assert_false(program_is_loader("/sbin/ldconfig"));
	assert_false(program_is_loader("/lib/ld-musl-x86_64.so.1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define READER_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		READER_TEST(the_symbols_are_found),
		READER_TEST(a_label_is_not_the_name_of_a_function),
		READER_TEST(of_several_functions_the_usual_one_is_found),
		READER_TEST(another_file_is_told_from_it),
		READER_TEST(an_id_that_is_too_long_is_none),
		READER_TEST(what_is_no_elf_file_of_64_bits_is_refused),
		READER_TEST(without_a_good_table_of_sections_there_are_none),
		READER_TEST(names_have_an_end),
		READER_TEST(relocations_name_symbols_of_their_table),
		READER_TEST(of_a_large_file_little_is_read),
		READER_TEST(a_file_that_is_cut_off_meanwhile_has_an_error),
		READER_TEST(there_is_a_most_that_is_read),
		READER_TEST(there_is_a_most_that_is_asked_for),
		READER_TEST(notes_are_found_by_their_alignment),
		READER_TEST(sanitizers_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
