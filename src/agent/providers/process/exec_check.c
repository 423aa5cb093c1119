/* SPDX-License-Identifier: MIT */
/*
 * exec_check.c - whether a program can have the agent preloaded, would be broken by it, or takes no
 * notice
 *
 * A damaged file is execve()'s to refuse.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include "agent/agent.h"
#include "agent/providers/process/exec.h"
#include "agent/syscall.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#endif

enum { SCRIPTS = 5, SEGMENTS = 64, DYNAMIC = 512, LINE = 256, NAME = 64 };

struct image {
	int		fd;
	Elf64_Ehdr	head;
};

static bool read_at(int fd, void *buf, size_t size, uint64_t at)
{
	return agent_syscall(SYS_pread64, fd, buf, size, at) == (long)size;
}

/* Up to size - 1 bytes, 0-terminated; "": nothing there. */
static void read_text(int fd, char *buf, size_t size, uint64_t at)
{
	long n = agent_syscall(SYS_pread64, fd, buf, size - 1, at);

	buf[n > 0 ? n : 0] = 0;
}

static bool read_segment(const struct image *im, unsigned int i, Elf64_Phdr *out)
{
	return i < im->head.e_phnum && i < SEGMENTS &&
	       read_at(im->fd, out, sizeof(*out), im->head.e_phoff + i * sizeof(*out));
}

static bool find_segment(const struct image *im, uint32_t type, Elf64_Phdr *out)
{
	for (unsigned int i = 0; read_segment(im, i, out); i++)
		if (out->p_type == type)
			return true;
	return false;
}

/* Where an address lies in the file; 0: nowhere. */
static uint64_t file_offset(const struct image *im, uint64_t addr)
{
	Elf64_Phdr p;

	for (unsigned int i = 0; read_segment(im, i, &p); i++)
		if (p.p_type == PT_LOAD && addr >= p.p_vaddr && addr - p.p_vaddr < p.p_filesz)
			return p.p_offset + (addr - p.p_vaddr);
	return 0;
}

static bool begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool is_sanitizer(const char *library)
{
	return begins(library, "libasan.") || begins(library, "libtsan.") || begins(library, "liblsan.") ||
	       begins(library, "libhwasan.") || begins(library, "libclang_rt.");
}

static bool read_dynamic(const struct image *im, const Elf64_Phdr *p, unsigned int i, Elf64_Dyn *d)
{
	return i < p->p_filesz / sizeof(*d) && i < DYNAMIC &&
	       read_at(im->fd, d, sizeof(*d), p->p_offset + i * sizeof(*d)) && d->d_tag != DT_NULL;
}

static bool needs_sanitizer(const struct image *im)
{
	uint64_t strings = 0;
	char name[NAME];
	Elf64_Phdr p;
	Elf64_Dyn d;

	if (!find_segment(im, PT_DYNAMIC, &p))
		return false;
	for (unsigned int i = 0; !strings && read_dynamic(im, &p, i, &d); i++)
		if (d.d_tag == DT_STRTAB)
			strings = file_offset(im, d.d_un.d_ptr);
	for (unsigned int i = 0; strings && read_dynamic(im, &p, i, &d); i++) {
		if (d.d_tag != DT_NEEDED)
			continue;
		read_text(im->fd, name, sizeof(name), strings + d.d_un.d_val);
		if (is_sanitizer(name))
			return true;
	}
	return false;
}

static const char *base_of(const char *path)
{
	const char *base = strrchr(path, '/');

	return base ? base + 1 : path;
}

static bool is_our_loader(const struct image *im, const Elf64_Phdr *p)
{
	char path[LINE];

	read_text(im->fd, path, p->p_filesz < sizeof(path) ? p->p_filesz + 1 : sizeof(path), p->p_offset);
	return begins(base_of(path), "ld-linux");
}

/* Where ids and capabilities of a file count for nothing. */
static bool without_rights(int fd)
{
	struct statfs fs;

	return agent_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	       (!agent_syscall(SYS_fstatfs, fd, &fs) && (fs.f_flags & ST_NOSUID));
}

/* Then the dynamic linker preloads nothing. */
static bool gives_rights(int fd)
{
	const uint32_t user = (uint32_t)agent_syscall(SYS_getuid);
	struct stat st;
	bool more;

	if (agent_syscall(SYS_fstat, fd, &st))
		return false;
	more = ((st.st_mode & S_ISUID) && st.st_uid != user) ||
	       ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
		st.st_gid != (uint32_t)agent_syscall(SYS_getgid)) ||
	       (user && agent_syscall(SYS_fgetxattr, fd, "security.capability", 0, 0) > 0);
	return more && !without_rights(fd);
}

/* The dynamic linker as a program preloads, too. */
static enum untraced image_look(const struct image *im, const char *path, bool sanitizer_first)
{
	Elf64_Phdr p;

	if (im->head.e_ident[EI_CLASS] != ELFCLASS64 || im->head.e_machine != MACHINE)
		return UNTRACED_LIBC;
	if (im->head.e_phentsize != sizeof(p))
		return UNTRACED_REASONS;
	if (!find_segment(im, PT_INTERP, &p))
		return begins(base_of(path), "ld") ? UNTRACED_REASONS : UNTRACED_STATIC;
	if (!is_our_loader(im, &p))
		return UNTRACED_LIBC;
	if (!sanitizer_first && needs_sanitizer(im))
		return UNTRACED_SANITIZER;
	return gives_rights(im->fd) ? UNTRACED_RIGHTS : UNTRACED_REASONS;
}

/* The interpreter's path, cut out of the first line; NULL: no script. */
static const char *script_interpreter(int fd, char *line, size_t size)
{
	char *name;

	read_text(fd, line, size, 0);
	if (line[0] != '#' || line[1] != '!')
		return NULL;
	name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t\n")] = 0;
	return name;
}

enum untraced exec_look(const char *path, bool sanitizer_first)
{
	char line[LINE];
	struct image im;
	enum untraced why = UNTRACED_REASONS;

	for (int i = 0; path && i < SCRIPTS && agent_may_look(); i++) {
		im.fd = (int)agent_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (im.fd < 0)
			return UNTRACED_REASONS;
		if (!read_at(im.fd, &im.head, sizeof(im.head), 0) ||
		    memcmp(im.head.e_ident, ELFMAG, SELFMAG)) {
			path = script_interpreter(im.fd, line, sizeof(line));
		} else {
			why = image_look(&im, path, sanitizer_first);
			path = NULL;
		}
		agent_syscall(SYS_close, im.fd);
	}
	return why;
}

/*
 * Only what says that nobody finds it there counts: a table of descriptors that is full is not full
 * after exec.
 */
bool exec_preloads(const char *word, size_t len)
{
	char path[PATH_MAX];
	long fd;

	if (len >= sizeof(path) || !memchr(word, '/', len) || !agent_may_look())
		return true;
	memcpy(path, word, len);
	path[len] = 0;
	fd = agent_syscall(SYS_openat, AT_FDCWD, path,
			   O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		agent_syscall(SYS_close, fd);
	return fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES && fd != -ELOOP;
}

static bool is_program(const char *path)
{
	struct stat st;

	return !agent_syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0) && S_ISREG(st.st_mode) &&
	       !agent_syscall(SYS_faccessat, AT_FDCWD, path, 1 /* X_OK */);
}

enum untraced exec_file_look(const char *file, const char *dirs, bool sanitizer_first)
{
	char path[PATH_MAX];
	size_t name = strlen(file) + 1;

	if (strchr(file, '/'))
		return exec_look(file, sanitizer_first);
	if (!agent_may_look())
		return UNTRACED_REASONS;
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;; dirs++) {
		size_t n = strcspn(dirs, ":");

		if (n + 1 + name <= sizeof(path)) {
			memcpy(path, dirs, n);
			path[n] = '/';
			/* An empty directory is the present one. */
			memcpy(path + n + (n != 0), file, name);
			if (is_program(path))
				return exec_look(path, sanitizer_first);
		}
		dirs += n;
		if (!*dirs)
			return UNTRACED_REASONS;
	}
}
