/* SPDX-License-Identifier: MIT */
/*
 * exec_check.c - whether a program can have the agent preloaded, would be broken by it, or ignores
 * LD_PRELOAD
 *
 * If a file is damaged, execve() refuses it.
 *
 * A shell executes the same few programs again and again, in children of vfork(), which share its
 * memory. So a look into a plain program is noted, and for a second one stat() replaces it.
 *
 * L1  Noted are programs that get the agent. Those that give rights are not: their rights also
 *     depend on the process and the mount. A script is not noted, its interpreter is.
 * L2  Whatever changes a file changes its st_ctime. A clock that has not ticked since would give
 *     two versions the same time. So a file that changed in the last seconds is not noted.
 * L3  Children of vfork(), threads and signal handlers write notes at the same time. One writes a
 *     note at a time (CAS on `seq`, odd meanwhile), and a reader looks at seq before and after. A
 *     writer that is killed leaves seq odd, and that note is not used again.
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
#include <time.h>
#include "agent/agent.h"
#include "agent/providers/process/exec.h"
#include "agent/syscall.h"
#include "elf/program.h"
#include "plane/arch/counter.h"

enum { SCRIPTS = 5, LINE = 256, NOTES = 16, SETTLED = 3 /* seconds, L2 */ };

/* How long a note is valid, in ticks of the counter: about a second. */
#define NOTE_TICKS (1ull << 31)

/* A file and the user who looked at it: only another one may have capabilities to look for. */
struct looked {
	dev_t		dev;
	ino_t		ino;
	off_t		size;
	struct timespec	changed;
	mode_t		mode;
	uid_t		user;
};

static struct note {
	_Atomic uint32_t seq;			/* L3 */
	struct looked	looked;
	uint64_t	until;
} notes[NOTES];

static long read_at(int fd, void *buf, size_t size, uint64_t at)
{
	return agent_syscall(SYS_pread64, fd, buf, size, at);
}

static bool is_sanitizer(void *arg, const char *library)
{
	return program_is_sanitizer(library);
}

/* ---- Notes ---- */

static uint32_t own_user(void)
{
	return (uint32_t)agent_syscall(SYS_getuid);
}

static struct looked looked_of(const struct stat *st)
{
	return (struct looked){ st->st_dev, st->st_ino, st->st_size, st->st_ctim, st->st_mode,
				own_user() };
}

static bool is_looked(const struct looked *a, const struct looked *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mode == b->mode &&
	       a->user == b->user && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

static struct note *note_of(const struct looked *l)
{
	return &notes[((l->ino ^ l->dev) * 0x9e3779b97f4a7c15ull >> 32) % NOTES];
}

static bool is_noted(const char *path)
{
	struct looked now, then;
	struct note *n;
	struct stat st;
	uint64_t until;
	uint32_t seq;

	if (!agent_may_ask() || agent_syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0))
		return false;
	now = looked_of(&st);
	n = note_of(&now);
	seq = atomic_load_explicit(&n->seq, memory_order_acquire);		/* L3 */
	if (!seq || (seq & 1))
		return false;
	then = n->looked;
	until = n->until;
	/* L3: pairs with the fence in note(): a copy of a note that was being written is seen. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&n->seq, memory_order_relaxed) == seq &&
	       is_looked(&now, &then) && counter_read() < until;
}

/* L2 */
static bool has_settled(const struct stat *st)
{
	struct timespec now;

	return !agent_syscall(SYS_clock_gettime, CLOCK_REALTIME, &now) &&
	       st->st_ctim.tv_sec + SETTLED < now.tv_sec;
}

static void note(const struct stat *st)
{
	const struct looked looked = looked_of(st);
	struct note *n = note_of(&looked);
	uint32_t seq = atomic_load_explicit(&n->seq, memory_order_relaxed);

	/* Acquire: pairs with the release below, by the thread that wrote it before. */
	if ((seq & 1) || !agent_may_ask() || !has_settled(st) ||
	    !atomic_compare_exchange_strong_explicit(&n->seq, &seq, seq + 1, memory_order_acquire,
						     memory_order_relaxed))
		return;
	/* L3: pairs with the fence in is_noted(). */
	atomic_thread_fence(memory_order_release);
	n->looked = looked;
	n->until = counter_read() + NOTE_TICKS;
	atomic_store_explicit(&n->seq, seq + 2, memory_order_release);		/* L3 */
}

/* ---- The look ---- */

/* Whether set-user-ids and capabilities of the file have no effect. */
static bool without_rights(int fd)
{
	struct statfs fs;

	return agent_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	       (!agent_syscall(SYS_fstatfs, fd, &fs) && (fs.f_flags & ST_NOSUID));
}

/* Whether the file has more rights than this process. */
static bool has_rights(int fd, const struct stat *st)
{
	const uint32_t user = own_user();

	return ((st->st_mode & S_ISUID) && st->st_uid != user) ||
	       ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) &&
		st->st_gid != (uint32_t)agent_syscall(SYS_getgid)) ||
	       (user && agent_syscall(SYS_fgetxattr, fd, "security.capability", 0, 0) > 0);
}

/* Whether the file gives its rights: then the dynamic linker preloads nothing. */
static enum untraced rights_look(int fd, const struct stat *st, bool sanitizer_first)
{
	if (has_rights(fd, st))
		return without_rights(fd) ? UNTRACED_REASONS : UNTRACED_RIGHTS;
	/* L1. With a sanitizer first nobody has looked for sanitizers. */
	if (!sanitizer_first && !(st->st_mode & (S_ISUID | S_ISGID)))
		note(st);
	return UNTRACED_REASONS;
}

/* st: the file before anything was read of it (L2). */
static enum untraced program_look(struct program_file *p, enum program_kind kind,
				  const struct stat *st, const char *path, const char *loader,
				  bool sanitizer_first)
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
	return rights_look(p->fd, st, sanitizer_first);
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
		enum program_kind kind;
		struct stat st;
		int fd;

		if (is_noted(path))
			return UNTRACED_REASONS;
		fd = (int)agent_syscall(SYS_openat, AT_FDCWD, path,
					O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			return UNTRACED_REASONS;
		if (agent_syscall(SYS_fstat, fd, &st))
			st = (struct stat){ 0 };
		kind = program_open(&p, read_at, fd, loader);
		if (kind == PROGRAM_NO_ELF) {
			path = script_interpreter(fd, line, sizeof(line));
		} else {
			why = program_look(&p, kind, &st, path, loader, sanitizer_first);
			path = NULL;
		}
		agent_syscall(SYS_close, fd);
	}
	return why;
}

/*
 * A file that the user may read takes no descriptor. faccessat() asks for the real user, and where
 * that is not the effective one the linker preloads nothing. Otherwise the error of open() counts,
 * if it says that the file is not there or cannot be read: a table of descriptors that is full now
 * is not full after exec.
 */
bool exec_preloads(const char *word, size_t len)
{
	char path[PATH_MAX];
	long fd;

	if (len >= sizeof(path) || !memchr(word, '/', len) || !agent_may_look())
		return true;
	memcpy(path, word, len);
	path[len] = 0;
	if (!agent_syscall(SYS_faccessat, AT_FDCWD, path, 4 /* R_OK */))
		return true;
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
