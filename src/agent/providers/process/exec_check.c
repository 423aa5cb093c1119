/* SPDX-License-Identifier: MIT */
/*
 * exec_check.c - whether a program can have the agent preloaded, would be broken by it, or ignores
 * LD_PRELOAD
 *
 * If a file is damaged, execve() refuses it.
 */
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
#include "elf/program.h"

enum { SCRIPTS = 5, LINE = 256 };

static long read_at(int fd, void *buf, size_t size, uint64_t at)
{
	return agent_syscall(SYS_pread64, fd, buf, size, at);
}

static bool is_sanitizer(void *arg, const char *library)
{
	return program_is_sanitizer(library);
}

/* Whether set-user-ids and capabilities of the file have no effect. */
static bool without_rights(int fd)
{
	struct statfs fs;

	return agent_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	       (!agent_syscall(SYS_fstatfs, fd, &fs) && (fs.f_flags & ST_NOSUID));
}

/* Whether the file gives more rights: then the dynamic linker preloads nothing. */
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

static enum untraced program_look(struct program_file *p, enum program_kind kind,
				  const char *path, const char *loader, bool sanitizer_first)
{
	if (kind == PROGRAM_32_BIT || kind == PROGRAM_FOREIGN)
		return UNTRACED_LIBC;
	if (kind == PROGRAM_STATIC)
		return program_is_loader(path) ? UNTRACED_REASONS : UNTRACED_STATIC;
	if (kind != PROGRAM_DYNAMIC)
		return UNTRACED_REASONS;
	if (!program_is_loader(loader))
		return UNTRACED_LIBC;
	if (!sanitizer_first && program_needs(p, is_sanitizer, NULL))
		return UNTRACED_SANITIZER;
	return gives_rights(p->fd) ? UNTRACED_RIGHTS : UNTRACED_REASONS;
}

/* The interpreter's path, cut out of the first line; NULL: it is no script. */
static const char *script_interpreter(int fd, char *line, size_t size)
{
	long n = read_at(fd, line, size - 1, 0);
	char *name;

	line[n > 0 ? n : 0] = 0;
	if (line[0] != '#' || line[1] != '!')
		return NULL;
	name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t\n")] = 0;
	return name;
}

enum untraced exec_look(const char *path, bool sanitizer_first)
{
	char line[LINE], loader[PROGRAM_PATH];
	struct program_file p;
	enum untraced why = UNTRACED_REASONS;

	for (int i = 0; path && i < SCRIPTS && agent_may_look(); i++) {
		int fd = (int)agent_syscall(SYS_openat, AT_FDCWD, path,
					    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		enum program_kind kind;

		if (fd < 0)
			return UNTRACED_REASONS;
		kind = program_open(&p, read_at, fd, loader);
		if (kind == PROGRAM_NO_ELF) {
			path = script_interpreter(fd, line, sizeof(line));
		} else {
			why = program_look(&p, kind, path, loader, sanitizer_first);
			path = NULL;
		}
		agent_syscall(SYS_close, fd);
	}
	return why;
}

/*
 * Only errors count that say that the file is not there or cannot be read: a table of descriptors
 * that is full now is not full after exec.
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
			/* An empty entry means the current directory. */
			memcpy(path + n + (n != 0), file, name);
			if (is_program(path))
				return exec_look(path, sanitizer_first);
		}
		dirs += n;
		if (!*dirs)
			return UNTRACED_REASONS;
	}
}
