/* SPDX-License-Identifier: MIT */
/* elf.c - finds out by an executable's ELF headers why it, or its functions, cannot be traced */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/check.h"
#include "elf/file.h"
#include "elf/program.h"

struct reason {
	const char	*preload;	/* the value of LD_PRELOAD; NULL: not set */
	char		*why;
	size_t		size;
};

static long read_at(int fd, void *buf, size_t size, uint64_t at)
{
	return pread(fd, buf, size, (off_t)at);
}

/* A sanitizer's shared library refuses to work if another library is loaded before it. */
static bool is_against(void *arg, const char *library)
{
	const struct reason *r = arg;

	if (!program_is_sanitizer(library) || (r->preload && strstr(r->preload, library)))
		return false;
	snprintf(r->why, r->size,
		 "its %s has to be loaded first (with LD_PRELOAD=%s it is, and can be traced)",
		 library, library);
	return true;
}

static void check_program(struct program_file *p, const char *loader, struct reason *r)
{
	if (program_is_loader(loader))
		program_needs(p, is_against, r);
	else if (program_is_named(loader, "ld-musl"))
		snprintf(r->why, r->size, "it uses musl as its C library");
	else
		snprintf(r->why, r->size, "it uses another C library, that of %.128s",
			 program_base(loader));
}

int run_elf(int fd, const char *path, const char *preload, char *why, size_t size)
{
	struct reason r = { preload, why, size };
	char loader[PROGRAM_PATH];
	struct program_file p;

	switch (program_open(&p, read_at, fd, loader)) {
	case PROGRAM_NO_ELF:
		return -ENOEXEC;
	case PROGRAM_32_BIT:
		snprintf(why, size, "it is a 32-bit program");
		break;
	case PROGRAM_FOREIGN:
		snprintf(why, size, "it is a program for another kind of machine");
		break;
	case PROGRAM_STATIC:
		if (!program_is_loader(path))
			snprintf(why, size, "it is linked statically");
		break;
	case PROGRAM_DYNAMIC:
		check_program(&p, loader, &r);
		break;
	case PROGRAM_DAMAGED:		/* execve() will report the error */
		break;
	}
	return 0;
}

static const char *section_language(const char *name)
{
	static const char *const languages[][2] = {
		{ ".note.go.buildid", "Go" }, { ".gopclntab", "Go" }, { ".fpcdata", "Free Pascal" },
	};

	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		if (!strcmp(name, languages[i][0]))
			return languages[i][1];
	return NULL;
}

static const char *language_of(const struct image *im)
{
	const char *found = NULL;

	for (unsigned int i = 0; !found && i < im->nr_shdrs; i++)
		found = section_language(image_string(im, im->names, im->shdrs[i].sh_name));
	return found;
}

bool run_elf_no_functions(const char *path, char *why, size_t size)
{
	const char *language = NULL;
	struct elf_file f;

	*why = '\0';
	if (elf_file_open(path, NULL, &f))
		return false;
	if (f.image.names)
		language = language_of(&f.image);
	else
		snprintf(why, size, "its file has no section headers (sstrip, a packer)");
	if (language)
		snprintf(why, size, "the compiler of %s does not say where they begin (.eh_frame)",
			 language);
	elf_file_close(&f);
	return *why;
}
