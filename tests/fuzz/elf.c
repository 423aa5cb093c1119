/* SPDX-License-Identifier: MIT */
/*
 * elf.c - any bytes as an ELF file, for the server, for `run`, and for the agent
 *
 *     server    src/elf: file.c, symbols.c, choices.c, sites.c, names.c, and packed.c from a pipe
 *     run       src/cli/run: check.c, elf.c
 *     agent     src/elf/sites_find.c, src/agent/sites: jumps.c, returns.c, from memory of just that
 *               size
 *     both      src/elf/code: functions, plans, notes
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/sites/sites.h"
#include "cli/run/check.h"
#include "elf/code/code.h"
#include "elf/file.h"
#include "elf/moved.h"
#include "elf/packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "elf: %s\n", what);
	abort();
}

/* The description of the DSO that makes the file the right one: the span of its segments. */
static struct elf_want span(const uint8_t *data, size_t size)
{
	static const uint8_t id[20] = "a build-id of a seed";
	uint64_t low = UINT64_MAX, high = 0;
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (size >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		for (unsigned int i = 0; i < h.e_phnum && h.e_phoff < size; i++) {
			if (size - h.e_phoff < (i + 1) * sizeof(p))
				break;
			memcpy(&p, data + h.e_phoff + i * sizeof(p), sizeof(p));
			if (p.p_type != PT_LOAD)
				continue;
			low = p.p_vaddr < low ? p.p_vaddr : low;
			high = p.p_vaddr + p.p_memsz > high ? p.p_vaddr + p.p_memsz : high;
		}
	}
	low &= ~4095ull;
	return (struct elf_want){ .id = id, .id_len = sizeof(id), .load = low, .size = high - low };
}

static void read_names(const struct elf_symbols *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		check(s->v[i].name < s->names_len, "a name outside the names");
		check(memchr(s->names + s->v[i].name, 0, s->names_len - s->v[i].name),
		      "a name without an end");
	}
}

/* What the first symbols may stand for, as if each were an indirect function. */
static void read_choices(const struct elf_symbols *s)
{
	uint64_t out[ELF_CHOICES];

	for (size_t i = 0; i < s->nr && i < 8; i++) {
		const struct elf_function f = { .address = s->v[i].value, .size = s->v[i].size,
						.chooses = true };

		check(elf_choices(path, &f, out) <= ELF_CHOICES, "more choices than room");
	}
}

static void server_reads(const struct elf_want *want)
{
	struct elf_symbols symbols;
	struct elf_sites sites;

	if (!elf_symbols_read(path, want, &symbols)) {
		read_names(&symbols);
		read_choices(&symbols);
		elf_symbols_free(&symbols);
	}
	if (!elf_sites_read(path, want, &sites)) {
		read_names(&sites.symbols);
		for (size_t i = 1; i < sites.nr; i++)
			check(sites.v[i - 1].at < sites.v[i].at, "sites that are not in order");
		elf_sites_free(&sites);
	}
}

static void through_pipe(const struct elf_sites *sites)
{
	struct elf_sites again;
	char *bytes;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	check(!packed_write(sites, out) && !fclose(out), "no memory");
	check(!packed_read(bytes, size, true, &again),
	      "what a file has is refused behind the pipe");
	check(again.nr == sites->nr && again.symbols.nr == sites->symbols.nr,
	      "something was lost in the pipe");
	elf_sites_free(&again);
	free(bytes);
}

/* The bytes as those of a pipe, and what a file has on its way through one. */
static void pipe_reads(const uint8_t *data, size_t size, const struct elf_want *want)
{
	void *copy = malloc(size);
	struct elf_sites sites;

	memcpy(copy, data, size);
	if (!packed_read(copy, size, true, &sites)) {
		read_names(&sites.symbols);
		elf_sites_free(&sites);
	}
	free(copy);
	if (!elf_moved_read(path, want, &sites)) {
		through_pipe(&sites);
		elf_sites_free(&sites);
	}
}

static void run_reads(void)
{
	struct run_check c;

	run_check(path, NULL, &c);
	check(memchr(c.untraced, 0, sizeof(c.untraced)) != NULL, "a reason without an end");
	check(!c.status || c.status == RUN_NOT_EXECUTABLE || c.status == RUN_NOT_FOUND,
	      "another status");
}

static void agent_reads(const uint8_t *data, size_t size)
{
	void *copy = malloc(size);
	size_t room = 0, returns, nr;
	struct site *sites = NULL;

	memcpy(copy, data, size);
	sites_profiled(copy, size);
	room = sites_find(copy, size, NULL, 0);
	returns = room ? sites_returns(copy, size, NULL, 0) : 0;
	if (room)
		sites = calloc(room + returns, sizeof(*sites));
	nr = room ? sites_find(copy, size, sites, room) : 0;
	check(nr <= room, "more sites than it said");
	sites_jumping(copy, size, sites, nr);
	if (nr && nr <= room) {
		size_t nr_returns = sites_returns(copy, size, sites + nr, returns);

		check(nr_returns <= returns, "more return sites than it said");
		nr = sites_pair(copy, size, sites, nr, nr_returns);
		check(nr <= room + returns, "more of both");
		sites_unpair(sites, nr);
	}
	free(sites);
	free(copy);
}

static void plan_read(struct code_file *f, uint64_t at)
{
	struct code_plan p;

	if (!code_plan(f, at, 0, &p))
		return;
	check(code_segment_at(f, p.at) && code_segment_at(f, p.at + p.len - 1),
	      "a plan outside the code");
	check(p.nr && p.nr <= CODE_MOVED_MAX && p.before < p.nr, "a plan without its address");
	code_own(f, &p, true);
	check(!code_plan(f, at, 0, &p) && p.why == CODE_OWNED, "bytes of two probes");
}

static void moved_read(struct code_file *f)
{
	struct site *v = calloc(f->nr_functions + 1, sizeof(*v));
	const size_t nr = v ? moved_sites(f, v) : 0;

	check(nr <= f->nr_functions, "more sites than functions");
	for (size_t i = 0; i < nr; i++) {
		check(v[i].kind == SITE_MOVED && v[i].number == i, "a site of another kind");
		check(v[i].skip || (v[i].len >= CODE_JUMP && code_segment_at(f, v[i].at)),
		      "moved code that is not there");
	}
	free(v);
}

static void notes_read(const struct image *im)
{
	struct code_argument arguments[CODE_ARGUMENTS];
	struct code_notes w = { .image = im };
	struct code_note n;

	while (code_note_next(&w, &n)) {
		const unsigned int nr = code_note_arguments(&n, arguments);

		for (unsigned int i = 0; i < nr; i++)
			check(arguments[i].text_len <= strlen(n.arguments), "a text too long");
	}
}

static void code_reads(const uint8_t *data, size_t size)
{
	void *copy = malloc(size), *memory;
	struct image im;
	struct code_file f;
	size_t room;

	memcpy(copy, data, size);
	room = image_open(&im, copy, size) ? code_room(&im) : 0;
	memory = room ? calloc(1, room) : NULL;
	if (memory && code_open(&f, &im, memory, room)) {
		moved_read(&f);
		memset(memory, 0, room);
		check(code_open(&f, &im, memory, room), "code that is read twice");
		for (size_t i = 0; i < f.nr_functions; i++) {
			plan_read(&f, f.functions[i].start);
			plan_read(&f, f.functions[i].start + f.functions[i].size / 2);
		}
	}
	if (room)
		notes_read(&im);
	free(memory);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elf_want want;

	if (fd < 0) {
		fd = memfd_create("elf", MFD_CLOEXEC);
		if (fd < 0 || fchmod(fd, 0755))
			abort();
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (!size || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	want = span(data, size);
	server_reads(&want);
	pipe_reads(data, size, &want);
	run_reads();
	agent_reads(data, size);
	code_reads(data, size);
	return 0;
}
