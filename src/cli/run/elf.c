/* SPDX-License-Identifier: MIT */
/*
 * elf.c - what an executable's ELF headers say about preloading something into it
 *
 * Read with pread() and believed in nothing: a damaged file is execve()'s to refuse.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/check.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
#error "which machine is this?"
#endif

enum { SEGMENTS = 64, NEEDED_MAX = 256, DYNAMIC_MAX = 512 };

struct image {
	int		fd;
	unsigned int	nr;
	Elf64_Phdr	segments[SEGMENTS];
};

static int read_at(int fd, void *buf, size_t size, uint64_t at)
{
	return pread(fd, buf, size, (off_t)at) == (ssize_t)size ? 0 : -1;
}

/* Up to size - 1 bytes, 0-terminated; false: nothing there. */
static int read_text(int fd, char *buf, size_t size, uint64_t at)
{
	ssize_t n = pread(fd, buf, size - 1, (off_t)at);

	if (n <= 0)
		return -1;
	buf[n] = 0;
	return 0;
}

static const Elf64_Phdr *segment(const struct image *im, uint32_t type)
{
	for (unsigned int i = 0; i < im->nr; i++)
		if (im->segments[i].p_type == type)
			return &im->segments[i];
	return NULL;
}

/* Where an address lies in the file; 0: nowhere. */
static uint64_t file_offset(const struct image *im, uint64_t addr)
{
	for (unsigned int i = 0; i < im->nr; i++) {
		const Elf64_Phdr *p = &im->segments[i];

		if (p->p_type == PT_LOAD && addr >= p->p_vaddr && addr - p->p_vaddr < p->p_filesz)
			return p->p_offset + (addr - p->p_vaddr);
	}
	return 0;
}

int run_is_sanitizer(const char *library)
{
	static const char *const names[] = { "asan", "tsan", "lsan", "hwasan", "msan" };
	const char *base = strrchr(library, '/');
	char start[32];

	base = base ? base + 1 : library;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(start, sizeof(start), "lib%s.so", names[i]);
		if (!strncmp(base, start, strlen(start)))
			return 1;
		snprintf(start, sizeof(start), "libclang_rt.%s", names[i]);
		if (!strncmp(base, start, strlen(start)))
			return 1;
	}
	return 0;
}

/* The sanitizer's library, linked as a shared one, refuses to work when something else was loaded before it. */
static void check_library(const char *library, const char *preload, char *why, size_t size)
{
	if (run_is_sanitizer(library) && !(preload && strstr(preload, library)))
		snprintf(why, size, "its %s has to be loaded first (with LD_PRELOAD=%s it is, and can be traced)",
			 library, library);
}

static void check_libraries(const struct image *im, const char *preload, char *why, size_t size)
{
	const Elf64_Phdr *p = segment(im, PT_DYNAMIC);
	uint64_t needed[NEEDED_MAX], strings = 0;
	unsigned int i, nr = 0;
	char name[256];
	Elf64_Dyn d;

	for (i = 0; p && i < p->p_filesz / sizeof(d) && i < DYNAMIC_MAX; i++) {
		if (read_at(im->fd, &d, sizeof(d), p->p_offset + i * sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			strings = file_offset(im, d.d_un.d_ptr);
		else if (d.d_tag == DT_NEEDED && nr < NEEDED_MAX)
			needed[nr++] = d.d_un.d_val;
	}
	for (i = 0; strings && i < nr && !*why; i++)
		if (!read_text(im->fd, name, sizeof(name), strings + needed[i]))
			check_library(name, preload, why, size);
}

static void check_loader(const char *loader, char *why, size_t size)
{
	const char *base = strrchr(loader, '/');

	base = base ? base + 1 : loader;
	if (!strncmp(base, "ld-linux", 8))
		return;
	if (!strncmp(base, "ld-musl", 7))
		snprintf(why, size, "it uses musl as its C library");
	else
		snprintf(why, size, "it uses another C library, that of %.128s", loader);
}

static void check_image(const struct image *im, const char *preload, char *why, size_t size)
{
	const Elf64_Phdr *p = segment(im, PT_INTERP);
	char loader[256];

	if (!p) {
		snprintf(why, size, "it is linked statically");
		return;
	}
	if (p->p_filesz >= sizeof(loader) || read_text(im->fd, loader, p->p_filesz + 1, p->p_offset))
		return;		/* execve() will say what is wrong */
	check_loader(loader, why, size);
	if (!*why)
		check_libraries(im, preload, why, size);
}

int run_elf(int fd, const char *preload, char *why, size_t size)
{
	struct image im = { .fd = fd };
	Elf64_Ehdr h;

	if (read_at(fd, &h, EI_NIDENT + 4, 0) || memcmp(h.e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (h.e_ident[EI_CLASS] == ELFCLASS32) {
		snprintf(why, size, "it is a 32-bit program");
		return 0;
	}
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != MACHINE) {
		snprintf(why, size, "it is a program for another kind of machine");
		return 0;
	}
	if (read_at(fd, &h, sizeof(h), 0) || h.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	im.nr = h.e_phnum < SEGMENTS ? h.e_phnum : SEGMENTS;
	if (!read_at(fd, im.segments, im.nr * sizeof(Elf64_Phdr), h.e_phoff))
		check_image(&im, preload, why, size);
	return 0;
}
