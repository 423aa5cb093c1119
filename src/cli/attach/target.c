/* SPDX-License-Identifier: MIT */
/*
 * target.c - a process that is to be attached: whether it can be, its objects, its libc
 *
 * It may be of another root, so its files are opened below /proc/PID/root. Nothing that is read of
 * it is trusted: it may change meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/attach/attach.h"
#include "elf/program.h"
#include "session/array.h"

/* F2. What they call has their frames below it. */
static const char *const busy_functions[] = {
	"malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "memalign", "aligned_alloc",
	"posix_memalign", "valloc", "pvalloc", "malloc_trim", "malloc_info", "mallinfo",
	"mallinfo2", "mallopt", "malloc_usable_size", "dlopen", "dlmopen", "dlclose", "dlsym",
	"dlvsym", "dladdr", "dladdr1", "dlinfo", "dl_iterate_phdr", "_dl_find_object", "fork",
	"vfork", "_Fork", "__libc_fork", "posix_spawn", "posix_spawnp", "pthread_create",
	"pthread_exit", "exit", "_exit", "quick_exit", "abort", "__libc_freeres",
};

/* A thread in one of these holds no lock of an allocator. */
static const char *const waiting_functions[] = {
	"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "sem_wait",
	"sem_timedwait", "sem_clockwait", "pthread_join", "pthread_timedjoin_np",
	"pthread_clockjoin_np", "pthread_barrier_wait", "cnd_wait", "cnd_timedwait", "thrd_join",
};

static const char *const called_functions[NR_TARGET_FUNCTIONS] = {
	[TARGET_DLOPEN] = "dlopen", [TARGET_DLSYM] = "dlsym", [TARGET_DLERROR] = "dlerror",
	[TARGET_ERRNO] = "__errno_location", [TARGET_MMAP] = "mmap", [TARGET_MUNMAP] = "munmap",
};

static int target_refuse(char why[ATTACH_WHY], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int target_refuse(char why[ATTACH_WHY], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, ATTACH_WHY, format, args);
	va_end(args);
	return -1;
}

/* ---- What it is ---- */

static FILE *proc_open(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

struct status {
	char		state;
	unsigned long	tracer, seccomp, parent, threads, uid[4];
	bool		has_memory, has_shadow;
};

static void status_line(struct status *s, const char *line)
{
	if (sscanf(line, "State: %c", &s->state) == 1 ||
	    sscanf(line, "TracerPid: %lu", &s->tracer) == 1 ||
	    sscanf(line, "Seccomp: %lu", &s->seccomp) == 1 ||
	    sscanf(line, "PPid: %lu", &s->parent) == 1 ||
	    sscanf(line, "Threads: %lu", &s->threads) == 1 ||
	    sscanf(line, "Uid: %lu %lu %lu %lu", &s->uid[0], &s->uid[1], &s->uid[2],
		   &s->uid[3]) == 4)
		return;
	s->has_memory |= !strncmp(line, "VmSize:", 7);
	s->has_shadow |= !strncmp(line, "x86_Thread_features:", 20) && strstr(line, "shstk");
}

/* name: of the file below /proc/PID */
static bool status_read(const struct target *t, const char *name, struct status *s)
{
	FILE *in = proc_open(t->pid, name);
	char line[256];

	*s = (struct status){ 0 };
	while (in && fgets(line, sizeof(line), in))
		status_line(s, line);
	if (in)
		fclose(in);
	return in;
}

bool target_sandboxed(const struct target *t, pid_t tid)
{
	struct status s;
	char name[32];

	snprintf(name, sizeof(name), "task/%d/status", (int)tid);
	return status_read(t, name, &s) && s.seccomp;
}

/* The program's own command could say anything; a name has no blanks that matter here. */
static void name_read(struct target *t)
{
	FILE *in = proc_open(t->pid, "comm");

	snprintf(t->name, sizeof(t->name), "?");
	if (in && fgets(t->name, sizeof(t->name), in))
		t->name[strcspn(t->name, "\n")] = '\0';
	for (char *c = t->name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	if (in)
		fclose(in);
}

/* An agent that the child loads would be in the parent, too. */
static bool shares_memory(pid_t pid, pid_t parent)
{
	return parent > 0 && !syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0);
}

static int target_permits(const struct target *t, char why[ATTACH_WHY])
{
	struct status s;

	if (!status_read(t, "status", &s))
		return target_refuse(why, "there is no such process");
	if ((s.state == 'Z' || s.state == 'X') && s.threads > 1)
		return target_refuse(why, "its first thread has ended");
	if (s.state == 'Z' || s.state == 'X')
		return target_refuse(why, "it has ended");
	if (!s.has_memory)
		return target_refuse(why, "it is a thread of the kernel");
	if (s.uid[0] != geteuid() || s.uid[1] != geteuid())
		return target_refuse(why, "it belongs to user %lu, and the session to user %u",
				     s.uid[1], (unsigned int)geteuid());
	if (s.state == 'T')
		return target_refuse(why, "it is stopped: kill -CONT %d", (int)t->pid);
	if (s.tracer)
		return target_refuse(why, "process %lu traces it: a debugger, or strace", s.tracer);
	if (s.has_shadow)
		return target_refuse(why, "its returns are checked (shadow stack), and it would be "
				     "ended for one that it did not call");
	if (shares_memory(t->pid, (pid_t)s.parent))
		return target_refuse(why, "it has the memory of its parent: it is a child of "
				     "vfork() that has not executed a program yet");
	if (s.seccomp)
		return target_refuse(why, "it is in a sandbox (seccomp), which may end it for the "
				     "system calls of a library that is loaded");
	return 0;
}

static long file_read(int fd, void *buf, size_t size, uint64_t at)
{
	return pread(fd, buf, size, (off_t)at);
}

/* Only a 64-bit program that is linked dynamically can load a library. */
static int target_is_dynamic(const struct target *t, char why[ATTACH_WHY])
{
	char path[64], loader[PROGRAM_PATH];
	struct program_file p;
	enum program_kind kind;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return target_refuse(why, "its program cannot be read: %s", strerror(errno));
	kind = program_open(&p, file_read, fd, loader);
	close(fd);
	if (kind == PROGRAM_DYNAMIC)
		return 0;
	return target_refuse(why, "its program %s",
			     kind == PROGRAM_32_BIT ? "is a 32-bit one" :
			     kind == PROGRAM_STATIC ? "is linked statically" :
			     "is of a kind that cannot be attached");
}

/* ---- Objects ---- */

static char *path_in(const struct target *t, const char *path)
{
	char *out;

	return asprintf(&out, "/proc/%d/root%s", (int)t->pid, path) < 0 ? NULL : out;
}

/* A file that was removed can be read by a user with CAP_SYS_ADMIN. */
static char *object_file(const struct target *t, const struct object *o)
{
	char *out;

	if (!o->deleted)
		return path_in(t, o->path);
	return asprintf(&out, "/proc/%d/map_files/%lx-%lx", (int)t->pid, o->low, o->first_end) < 0 ?
		       NULL : out;
}

bool target_sees(const struct target *t, const char *path)
{
	char *theirs = path_in(t, path);
	struct stat a, b;
	const bool same = theirs && !stat(theirs, &a) && !stat(path, &b) && a.st_dev == b.st_dev &&
			  a.st_ino == b.st_ino;

	free(theirs);
	return same;
}

bool target_load(const struct target *t, uint64_t at, void *out, size_t size)
{
	return pread(t->memory, out, size, (off_t)at) == (ssize_t)size;
}

bool target_store(const struct target *t, uint64_t at, const void *bytes, size_t size)
{
	return pwrite(t->memory, bytes, size, (off_t)at) == (ssize_t)size;
}

bool target_changed(const struct target *t, char why[ATTACH_WHY])
{
	struct status s;
	char byte;

	if (!status_read(t, "status", &s) || s.state == 'Z' || s.state == 'X')
		return !!target_refuse(why, "it has ended meanwhile");
	if (s.state == 'T')
		return !!target_refuse(why, "it was stopped meanwhile: kill -CONT %d", (int)t->pid);
	if (t->memory >= 0 && !target_load(t, t->libc->low, &byte, 1))
		return !!target_refuse(why, "it has executed another program meanwhile, or ended");
	return false;
}

struct map_line {
	uint64_t	low, high, offset;
	char		perms[5], path[PATH_MAX];
	bool		deleted;
};

/* Cuts off what the kernel appends to the path of a file that was removed. */
static bool path_cut(char *path)
{
	static const char mark[] = " (deleted)";
	const size_t len = strlen(path), end = sizeof(mark) - 1;

	if (len <= end || strcmp(path + len - end, mark))
		return false;
	path[len - end] = '\0';
	return true;
}

static bool map_parse(const char *line, struct map_line *m)
{
	int at = 0;

	if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &m->low, &m->high, m->perms, &m->offset,
		   &at) < 4 || !at)
		return false;
	snprintf(m->path, sizeof(m->path), "%s", line + at);
	m->path[strcspn(m->path, "\n")] = '\0';
	m->deleted = path_cut(m->path);
	return true;
}

/* Lines of a file follow one another, and its header is mapped first. */
static int object_add(struct target *t, const struct map_line *m)
{
	struct object *o = t->nr ? &t->objects[t->nr - 1] : NULL;

	if (m->path[0] == '[' && !strcmp(m->path, "[stack]"))
		t->main_stack = (struct range){ m->low, m->high };
	if (m->path[0] != '/')
		return 0;
	if (o && !strcmp(o->path, m->path) && m->offset) {
		o->high = m->high;
		o->has_code |= m->perms[2] == 'x';
		return 0;
	}
	if (array_room(&t->objects, t->nr, sizeof(*t->objects)))
		return -1;
	o = &t->objects[t->nr];
	*o = (struct object){ .path = strdup(m->path), .low = m->low, .high = m->high,
			      .first_end = m->high, .bias = m->low, .deleted = m->deleted,
			      .has_code = m->perms[2] == 'x' };
	t->nr += o->path != NULL;
	return o->path ? 0 : -1;
}

static int objects_read(struct target *t, char why[ATTACH_WHY])
{
	FILE *in = proc_open(t->pid, "maps");
	char *line = NULL;
	size_t room = 0;
	struct map_line m;
	int err = in ? 0 : -1;

	while (!err && getline(&line, &room, in) > 0)
		if (map_parse(line, &m))
			err = object_add(t, &m);
	free(line);
	if (in)
		fclose(in);
	return err ? target_refuse(why, "its mappings cannot be read: %s", strerror(errno)) : 0;
}

struct object *target_object(const struct target *t, uint64_t address)
{
	for (size_t i = 0; i < t->nr; i++)
		if (address >= t->objects[i].low && address < t->objects[i].high)
			return &t->objects[i];
	return NULL;
}

/* By the loader's rule for names: libc.so.6 is the soname of glibc. */
static void objects_name(struct target *t)
{
	char exe[PATH_MAX], link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)t->pid);
	len = readlink(link, exe, sizeof(exe) - 1);
	exe[len < 0 ? 0 : len] = '\0';
	path_cut(exe);
	t->program = t->objects;
	for (size_t i = 0; i < t->nr; i++) {
		const char *base = program_base(t->objects[i].path);

		if (!strcmp(t->objects[i].path, exe))
			t->program = &t->objects[i];
		/* A file may be mapped to be read, too. */
		if (!t->objects[i].has_code)
			continue;
		if (!strcmp(base, "libc.so.6"))
			t->libc = &t->objects[i];
		else if (program_is_loader(t->objects[i].path))
			t->loader = &t->objects[i];
	}
}

/* ---- Tables of an object ---- */

static const Elf64_Phdr *segment_of(const struct image *im, uint32_t type)
{
	for (unsigned int i = 0; i < im->nr_phdrs; i++)
		if (im->phdrs[i].p_type == type)
			return &im->phdrs[i];
	return NULL;
}

/* The object as it is mapped, without what it writes: what is not in the file is zeros. */
static void image_copy(struct object *o, const struct image *im, uint64_t low)
{
	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdrs[i];
		size_t size = p->p_filesz;
		uint32_t flags;
		const void *from;

		if (p->p_type != PT_LOAD || p->p_flags & PF_W)
			continue;
		from = image_address(im, p->p_vaddr, &size, &flags);
		if (from && p->p_vaddr - low + size <= o->high - o->low)
			memcpy(o->image + (p->p_vaddr - low), from, size);
	}
}

static bool defines_malloc(struct elf_file *f)
{
	struct elf_symbols s;
	bool found = false;

	if (elf_symbols_of(f, &s))
		return false;
	for (size_t i = 0; !found && i < s.nr; i++)
		found = !strcmp(s.names + s.v[i].name, "malloc") && s.v[i].type == 'T';
	elf_symbols_free(&s);
	return found;
}

static void object_fill(struct object *o, struct elf_file *f)
{
	const Elf64_Phdr *frames;
	uint64_t low, high;
	void *image;

	o->allocates = defines_malloc(f);
	if (!image_span(f->image.phdrs, f->image.nr_phdrs, &low, &high))
		return;
	low &= ~(uint64_t)4095;
	o->bias = o->low - low;
	frames = segment_of(&f->image, PT_GNU_EH_FRAME);
	image = mmap(NULL, o->high - o->low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
		     MAP_NORESERVE, -1, 0);
	if (image == MAP_FAILED || !frames || frames->p_vaddr - low >= o->high - o->low) {
		if (image != MAP_FAILED)
			munmap(image, o->high - o->low);
		return;
	}
	o->image = image;
	image_copy(o, &f->image, low);
	o->tables = (struct unwind_tables){ o->image, o->image + (o->high - o->low),
					    o->image + (frames->p_vaddr - low) };
}

void object_read(const struct target *t, struct object *o)
{
	char *path = o->read ? NULL : object_file(t, o), magic[SELFMAG];
	struct elf_file f;

	if (o->read)
		return;
	o->read = true;
	if (path && !elf_file_open(path, NULL, &f)) {
		object_fill(o, &f);
		elf_file_close(&f);
	} else {
		/* It may be an allocator. */
		o->allocates = target_load(t, o->low, magic, SELFMAG) &&
			       !memcmp(magic, ELFMAG, SELFMAG);
	}
	free(path);
}

/* ---- libc ---- */

static uint64_t sigreturn_find(const struct object *libc)
{
	static const uint8_t call[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	const size_t size = libc->high - libc->low;
	const uint8_t *at = libc->image ? memmem(libc->image, size, call, sizeof(call)) : NULL;

	return at ? libc->low + (uint64_t)(at - libc->image) : 0;
}

static bool is_one_of(const char *name, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static int range_add(struct range **ranges, size_t *nr, uint64_t at, uint64_t size)
{
	if (array_room(ranges, *nr, sizeof(**ranges)))
		return -ENOMEM;
	(*ranges)[(*nr)++] = (struct range){ at, at + size };
	return 0;
}

static int libc_symbol(struct target *t, const struct elf_symbols *s, const struct elf_symbol *e)
{
	const char *name = s->names + e->name;
	const uint64_t at = t->libc->bias + e->value;

	for (unsigned int i = 0; i < NR_TARGET_FUNCTIONS; i++)
		if (!strcmp(called_functions[i], name) && !e->old)
			t->functions[i] = at;
	if (is_one_of(name, busy_functions, sizeof(busy_functions) / sizeof(*busy_functions)))
		return range_add(&t->busy, &t->nr_busy, at, e->size);
	if (is_one_of(name, waiting_functions,
		      sizeof(waiting_functions) / sizeof(*waiting_functions)))
		return range_add(&t->waits, &t->nr_waits, at, e->size);
	return 0;
}

static int libc_symbols(struct target *t)
{
	char *path = object_file(t, t->libc);
	struct elf_symbols s;
	int err = path ? elf_symbols_read(path, NULL, &s) : -ENOMEM;

	free(path);
	if (err)
		return err;
	for (size_t i = 0; !err && i < s.nr; i++)
		err = libc_symbol(t, &s, &s.v[i]);
	elf_symbols_free(&s);
	return err;
}

static int libc_read(struct target *t, char why[ATTACH_WHY])
{
	int err;

	if (!t->libc || !t->loader)
		return target_refuse(why, "it does not use glibc");
	object_read(t, t->libc);
	err = libc_symbols(t);
	if (err)
		return target_refuse(why, "its %s%s cannot be read: %s", t->libc->path,
				     t->libc->deleted ? ", which was removed since," : "",
				     strerror(-err));
	t->sigreturn = sigreturn_find(t->libc);
	for (unsigned int i = 0; i < NR_TARGET_FUNCTIONS; i++)
		if (!t->functions[i])
			return target_refuse(why, "its libc has no %s(): glibc 2.34 and later do",
					     called_functions[i]);
	if (!t->sigreturn)
		return target_refuse(why, "where its libc ends handlers of signals was not found");
	return 0;
}

int target_open(struct target *t, pid_t pid, char why[ATTACH_WHY])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	*t = (struct target){ .pid = pid };
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	name_read(t);
	if (target_permits(t, why) || target_is_dynamic(t, why) || objects_read(t, why))
		return -1;
	objects_name(t);
	return libc_read(t, why);
}

void target_close(struct target *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		if (t->objects[i].image)
			munmap(t->objects[i].image, t->objects[i].high - t->objects[i].low);
		free(t->objects[i].path);
	}
	free(t->objects);
	free(t->busy);
	free(t->waits);
	if (t->memory >= 0)
		close(t->memory);
	*t = (struct target){ 0 };
}
