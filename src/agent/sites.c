/* SPDX-License-Identifier: MIT */
/*
 * sites.c - the sites of this process: prepared at attach, switched as the server says (R21)
 *
 *     attach -> each DSO's file -> sites_find() -> patch_prepare(), a table of words
 *     task:  wait for site_control.command -> words into the tables, patch_switch() of each DSO -> answer
 *
 * S2  The task is made by clone(), without libc: it is begun before libc's own
 *     constructor, and in a child of fork() at its first hit, which may lie
 *     inside malloc. Its thread area is zeros, in which the guard finds that it
 *     is in no hit; it calls nothing of libc. All its signals are blocked.
 * S3  `known` is written under the lock before the task begins, and then by the task only.
 *     A child of fork() has it as its parent left it: its text is the parent's.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "agent/sites.h"
#include "agent/sites_hit.h"
#include "agent/state.h"
#include "agent/syscall.h"

enum {
	TASK_STACK = 65536,
	TASK_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		     CLONE_SETTLS,
};

/* glibc 2.32 and later. */
extern char __libc_single_threaded __attribute__((weak));

bool patch_has_xsave;

static struct known {
	struct site_dso	dso;
	uint32_t	number;		/* in the session's table */
} known[LAYOUT_MAX_DSOS];
static uint32_t nr_known;

/* entry.S: clone() of a task that runs fn() on that stack and ends with it. -> its id or -errno */
long patch_clone(unsigned long flags, void *stack, void (*fn)(void), void *area);

static bool is_error(long at)
{
	return (unsigned long)at > -4096ul;
}

/* ---- Finding ---- */

static struct site *site_memory(size_t nr)
{
	long at = agent_syscall(SYS_mmap, 0, nr * sizeof(struct site), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return is_error(at) ? NULL : (struct site *)at;
}

static void dso_find_sites(struct site_dso *d, const void *file, size_t size)
{
	size_t room = sites_find(file, size, NULL, 0);

	if (!room)
		return;
	d->sites = site_memory(room);
	d->nr = d->sites ? sites_find(file, size, d->sites, room) : 0;
}

static void file_read(const char *path, struct site_dso *d)
{
	long fd = agent_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), at = -1;
	struct stat st;

	if (fd < 0)
		return;
	if (!agent_syscall(SYS_fstat, fd, &st) && S_ISREG(st.st_mode))
		at = agent_syscall(SYS_mmap, 0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	agent_syscall(SYS_close, fd);
	if (is_error(at))
		return;
	dso_find_sites(d, (const void *)at, (size_t)st.st_size);
	agent_syscall(SYS_munmap, at, st.st_size);
}

/* ---- The tables of words ---- */

/* What nobody touches takes no memory. */
static _Atomic uint32_t *words_map(uint64_t code)
{
	uint64_t bytes = (code + 3) & ~3ull;
	long at;

	if (room_make(bytes))
		return NULL;
	at = agent_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	if (is_error(at))
		return NULL;
	agent_syscall(SYS_madvise, at, bytes, MADV_DONTDUMP);
	return (_Atomic uint32_t *)at;
}

static struct site_table *table_publish(const struct dso_place *place)
{
	uint32_t nr = atomic_load_explicit(&nr_site_tables, memory_order_relaxed);
	struct site_table *table = &site_tables[nr % LAYOUT_MAX_DSOS];

	if (nr >= LAYOUT_MAX_DSOS)
		return NULL;
	table->words = words_map(place->code_end - place->code);
	if (!table->words)
		return NULL;
	table->code = place->code;
	table->delta = place->delta;
	/* Both pair with the acquires of those who look for a table. */
	atomic_store_explicit(&table->size, place->code_end - place->code, memory_order_release);
	atomic_store_explicit(&nr_site_tables, nr + 1, memory_order_release);
	return table;
}

static int dso_prepare(struct known *k, bool alone)
{
	struct dso_place place;
	int err;

	if (!dso_place(k->dso.bias + k->dso.sites[0].at, &place) || place.number == UINT32_MAX)
		return -ENOSPC;
	k->number = place.number;
	if (k->dso.bias + k->dso.sites[0].at < place.code ||
	    k->dso.bias + k->dso.sites[k->dso.nr - 1].at >= place.code_end)
		return -ENOEXEC;
	err = patch_prepare(&k->dso, alone);
	if (err)
		return err;
	k->dso.table = table_publish(&place);
	return k->dso.table ? 0 : -ENOMEM;
}

static int dso_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct known *k = &known[nr_known];
	int err;

	/* Later than at load some may have come by dlopen(), and go without a word: only the program itself stays. */
	if (nr_known == LAYOUT_MAX_DSOS || !info->dlpi_name || (agent.late && *info->dlpi_name))
		return 0;
	*k = (struct known){ .dso.bias = info->dlpi_addr };
	file_read(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", &k->dso);
	if (!k->dso.nr)
		return 0;
	err = dso_prepare(k, *(bool *)arg);
	if (err)
		agent_say("functions of a program cannot be traced", err);
	nr_known++;
	return 0;
}

/* ---- Switching ---- */

struct wanted {
	const uint32_t	*words;
	size_t		nr;
};

static bool wants(void *arg, size_t index)
{
	const struct wanted *w = arg;

	return index < w->nr && w->words[index] != 0;
}

static struct wanted wanted_of(const struct site_control *c, uint32_t number)
{
	const struct site_set *set = &c->sets[number % LAYOUT_MAX_DSOS];
	/* Acquire: the words are there. Pairs with the server's release. */
	config_ref ref = atomic_load_explicit(&set->words, memory_order_acquire);
	uint32_t nr = atomic_load_explicit(&set->nr, memory_order_relaxed);

	if (number >= LAYOUT_MAX_DSOS || !ref || ref >= agent.plane.config_size ||
	    nr * 4ull > agent.plane.config_size - ref)
		return (struct wanted){ 0 };
	return (struct wanted){ plane_config(&agent.plane, ref), nr };
}

/*
 * The words of the sites that are on or will be. Those that go off lose theirs
 * before the byte, so from here on their calls are no hits (sites_hit.c, S2).
 */
static void words_set(struct known *k, const struct wanted *w)
{
	for (size_t i = 0; i < k->dso.nr; i++) {
		const struct site *s = &k->dso.sites[i];
		uint32_t word = i < w->nr && !s->skip ? w->words[i] : 0;

		/* Relaxed: see site_word(). */
		if (word || s->on)
			atomic_store_explicit(&k->dso.table->words[(k->dso.bias + s->at - k->dso.table->code) >> 2], word,
					      memory_order_relaxed);
	}
}

static void answer(uint32_t command, int err)
{
	struct program_tables *tables = plane_data(&agent.plane, plane_header(&agent.plane)->programs);
	uint32_t index = agent.here->process - 1;
	struct site_answer *a = &tables->sites[index % LAYOUT_MAX_PROCESSES];

	a->nr_sites = a->nr_skipped = a->nr_on = 0;
	for (uint32_t i = 0; i < nr_known; i++)
		for (size_t k = 0; k < known[i].dso.nr; k++) {
			a->nr_sites++;
			a->nr_skipped += !known[i].dso.prepared || known[i].dso.sites[k].skip;
			a->nr_on += known[i].dso.sites[k].on;
		}
	a->pid = agent.here->pid;
	a->err = err;
	/* Pairs with the server's acquire. */
	atomic_store_explicit(&a->command, command, memory_order_release);
}

static void obey(const struct site_control *c, uint32_t command)
{
	int err = 0;

	for (uint32_t i = 0; i < nr_known; i++) {
		struct wanted w = wanted_of(c, known[i].number);
		long n;

		/* It has gone. */
		if (!known[i].dso.table || dso_number(known[i].dso.bias + known[i].dso.sites[0].at) != known[i].number)
			known[i].dso.prepared = false;
		if (!known[i].dso.prepared)
			continue;
		words_set(&known[i], &w);
		n = patch_switch(&known[i].dso, wants, &w);
		err = n < 0 ? (int)n : err;
	}
	answer(command, err);
}

static void task(void)
{
	const struct site_control *c = plane_config(&agent.plane, plane_header(&agent.plane)->sites);

	agent_syscall(SYS_prctl, PR_SET_NAME, "tracefuse");
	/* Relaxed: the state only says when to end. */
	while (atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_DETACHED) {
		/* Acquire: the sets are those of this command at least. Pairs with the server's release. */
		uint32_t command = atomic_load_explicit(&c->command, memory_order_acquire);

		/* A sandbox may kill who changes its memory; waiting is what all threads do. */
		if (agent_restricted() || agent_filtered())
			answer(command, -EPERM);
		else
			obey(c, command);
		/* Memory that is gone: nothing will come any more. */
		if (agent_syscall(SYS_futex, &c->command, FUTEX_WAIT, command, 0) == -EFAULT)
			break;
	}
}

/* ---- Beginning ---- */

/* S2: stack, thread area downwards, its head. -> what clone() gave */
static long task_make(void (*fn)(void))
{
	uintptr_t self = (uintptr_t)&agent_self, area;
	long at;

	/* The linker cannot relax a subtraction of it. */
	__asm__("" : "+r"(self));
	area = (uintptr_t)__builtin_thread_pointer() - self;
	area = TASK_STACK + ((area + 63) & ~63ul);
	at = agent_syscall(SYS_mmap, 0, area + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (is_error(at))
		return at;
	area += (uintptr_t)at;
	*(uintptr_t *)area = area;
	return patch_clone(TASK_FLAGS, (char *)at + TASK_STACK, fn, (void *)area);
}

static void task_begin(void)
{
	uint64_t old = signals_block();

	task_make(task);
	signals_restore(old);
}

static void nothing(void)
{
}

/* In a process of its own: what the agent's task calls. A sandbox may end it. */
static void try_calls(void)
{
	long at = agent_syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t word = 0;

	if (is_error(at) || !patch_live() || agent_syscall(SYS_futex, &word, FUTEX_WAKE, 1))
		agent_syscall(SYS_exit_group, 1);
	agent_syscall(SYS_prctl, PR_SET_NAME, "tracefuse");
	if (task_make(nothing) < 0 ||
	    agent_syscall(SYS_mprotect, at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		agent_syscall(SYS_exit_group, 1);
	agent_syscall(SYS_munmap, at, 4096);
	agent_syscall(SYS_exit_group, 0);
}

/* Whether a sandbox that was there before the program lets the task do its work. */
static bool task_permitted(void)
{
	int status = 0;
	long pid, n;

	if (!agent_syscall(SYS_prctl, PR_GET_SECCOMP))
		return true;
	pid = agent_syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		try_calls();
	do
		n = pid < 0 ? pid : agent_syscall(SYS_wait4, pid, &status, __WALL, 0);
	while (n == -EINTR);
	return n == pid && pid > 0 && !status;
}

static void processor_look(void)
{
	unsigned int a, b, c = 0, d;

	__get_cpuid(1, &a, &b, &c, &d);
	patch_has_xsave = c & bit_OSXSAVE;
}

/* What is on already takes effect before the program runs. */
void sites_begin(void)
{
	const struct site_control *c = plane_config(&agent.plane, plane_header(&agent.plane)->sites);

	if (!nr_known || agent_restricted())
		return;
	obey(c, atomic_load_explicit(&c->command, memory_order_acquire));
	task_begin();
}

void sites_start(void)
{
	bool alone = &__libc_single_threaded && __libc_single_threaded;
	uint64_t old = signals_block();

	processor_look();
	if (!nr_known && task_permitted() && patch_live())
		dl_iterate_phdr(dso_look, &alone);
	signals_restore(old);
}

/* fork() may have come between a byte and what is known of it. */
void sites_again(void)
{
	for (uint32_t i = 0; i < nr_known; i++)
		patch_look(&known[i].dso);
	sites_begin();
}
