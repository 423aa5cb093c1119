/* SPDX-License-Identifier: MIT */
/*
 * stacks_program.c - allocates memory below functions of many kinds, without frame pointers
 *
 * Its argument says which kind. Each allocation whose stack is looked at has WANTED bytes or more.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "apart.h"

enum { WANTED = 40000, ALIGNMENT = 64, STACK = 65536 };

volatile int stacks_sink;
static __thread void *volatile kept; /* storm() has several threads here */

APART int leaf(int n)
{
	kept = malloc((size_t)(WANTED + n));
	free(kept);
	stacks_sink++;
	return n + 1;
}

APART int with_array(int n)
{
	volatile char big[3000];

	big[n % 3000] = 1;
	n = leaf(n) + big[n % 3000];
	stacks_sink += n;
	return n;
}

/* The compiler aligns the stack; the CFA is in memory. */
APART int aligned(int n)
{
	_Alignas(ALIGNMENT) volatile char b[128];

	b[n % 128] = 2;
	n = with_array(n) + b[n % 128];
	stacks_sink += n;
	return n;
}

APART int by_alloca(int n)
{
	volatile char *b = alloca((size_t)n + 10);

	b[3] = 1;
	n = aligned(n) + b[3];
	stacks_sink += n;
	return n;
}

static APART void plain(void)
{
	by_alloca(1);
	stacks_sink++;
}

/* ---- Through libc ---- */

static int compare(const void *a, const void *b)
{
	by_alloca(2);
	stacks_sink++;
	return *(const int *)a - *(const int *)b;
}

static APART void sorted(void)
{
	int v[] = { 3, 2 };

	qsort(v, 2, sizeof(*v), compare);
	stacks_sink += v[0];
}

/* ---- Signals ---- */

static void on_signal(int sig)
{
	by_alloca(sig);
	stacks_sink++;
}

static APART void raised(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	stacks_sink++;
}

static sigjmp_buf again;

static void on_fault(int sig)
{
	by_alloca(sig);
	siglongjmp(again, 1);
}

/* A leaf without a frame: the signal comes where nothing was called. */
APART int faulting(volatile int *nowhere)
{
	return *nowhere + stacks_sink;
}

static void fault_handle(void)
{
	static char memory[STACK];
	const stack_t alternate = { .ss_sp = memory, .ss_size = STACK };
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &act, NULL);
}

static APART void faulted(void)
{
	int *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fault_handle();
	if (!sigsetjmp(again, 1))
		stacks_sink += faulting(nowhere);
}

/* Its stack pointer leads nowhere when the fault comes, but it has a row. */
__asm__(".text\n"
	".type wild, @function\n"
	"wild: .cfi_startproc\n mov $4096, %esp\n push %rax\n ret\n .cfi_endproc\n"
	".size wild, . - wild\n");
void wild(void);

static APART void astray(void)
{
	fault_handle();
	if (!sigsetjmp(again, 1))
		wild();
	printf("went on\n");
}

/* A handler that libc does not know: it returns by code of the program's own. */
__asm__(".text\n"
	"nop\n.type returning, @function\n"
	"returning: mov $15, %eax\n syscall\n"
	".size returning, . - returning\n");
void returning(void);

static APART void raw(void)
{
	const struct {
		void	(*handler)(int sig);
		unsigned long flags;
		void	(*restorer)(void);
		unsigned long mask;
	} act = { on_signal, 0x04000000, returning, 0 };

	syscall(SYS_rt_sigaction, SIGUSR2, &act, NULL, 8);
	raise(SIGUSR2);
	stacks_sink++;
}

/* ---- Threads and coroutines ---- */

static void *thread(void *arg)
{
	by_alloca(3);
	stacks_sink++;
	return arg;
}

static APART void threaded(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
}

static ucontext_t here, there;

static void coroutine(void)
{
	leaf(4);
	stacks_sink++;
}

/* The stack is a page: all of it is read. */
static APART void contexts(void)
{
	static _Alignas(4096) char memory[STACK];

	getcontext(&there);
	there.uc_stack.ss_sp = memory;
	there.uc_stack.ss_size = STACK;
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	swapcontext(&here, &there);
	stacks_sink++;
}

/* ---- Depth ---- */

APART int recursive(int n)
{
	n = n ? recursive(n - 1) + 1 : leaf(5);
	stacks_sink += n;
	return n;
}

/* ---- Assembly ---- */

/*
 * No rows: one with a frame pointer, one that has another value there. A tail: it is jumped to.
 */
__asm__(".text\n"
	".type with_pointer, @function\n"
	"with_pointer: push %rbp\n mov %rsp, %rbp\n call tail_of_assembly\n pop %rbp\n ret\n"
	".size with_pointer, . - with_pointer\n"
	".type without_pointer, @function\n"
	"without_pointer: push %rbp\n mov $1, %ebp\n call tail_of_assembly\n pop %rbp\n ret\n"
	".size without_pointer, . - without_pointer\n");
/* The CFA of `elsewhere` is in r12; rbp is that of its caller, which has no row. */
__asm__(".text\n"
	".type around, @function\n"
	"around: push %rbp\n mov %rsp, %rbp\n call elsewhere\n pop %rbp\n ret\n"
	".size around, . - around\n"
	".type elsewhere, @function\n"
	"elsewhere: .cfi_startproc\n"
	"push %r12\n .cfi_def_cfa_offset 16\n .cfi_offset 12, -16\n"
	"lea 16(%rsp), %r12\n .cfi_def_cfa 12, 0\n call tail_of_assembly\n"
	"pop %r12\n .cfi_def_cfa 7, 8\n ret\n .cfi_endproc\n"
	".size elsewhere, . - elsewhere\n");
void around(void);
void with_pointer(void);
void without_pointer(void);

void tail_of_assembly(void);
APART void tail_of_assembly(void)
{
	leaf(6);
	stacks_sink++;
}

static APART void pointed(void)
{
	with_pointer();
	stacks_sink++;
}

static APART void based(void)
{
	around();
	stacks_sink++;
}

static APART void unpointed(void)
{
	without_pointer();
	stacks_sink++;
}

/* ---- Objects that come and go ---- */

static bool are_hidden;
static int nr_closed;

/* As if so many other objects had been closed since the first call. */
static void objects_close(void)
{
	void (*closed)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "tf_dso_closed_");
	static bool is_second;

	for (int i = 0; closed && is_second && i < nr_closed; i++)
		closed();
	is_second = true;
}

/* Takes away the memory of the tables of the object with `arg`. */
static int tables_hide(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uintptr_t at = (uintptr_t)arg;
	bool is_it = false;

	for (int i = 0; i < info->dlpi_phnum; i++)
		is_it |= at - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
			 info->dlpi_phdr[i].p_memsz;
	for (int i = 0; is_it && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			mprotect((void *)((info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & ~4095ul),
				 4096, PROT_NONE);
	return is_it && size;
}

static void called_back(void)
{
	objects_close();
	leaf(7);
	stacks_sink++;
}

static void object_use(const char *path)
{
	void *object = dlopen(path, RTLD_NOW);
	void (*enter)(void (*back)(void)) = object ? (void (*)(void (*)(void)))dlsym(object,
									      "part_enter") : NULL;

	if (!enter) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	if (are_hidden)
		dl_iterate_phdr(tables_hide, (void *)enter);
	enter(called_back);
	dlclose(object);
}

/* ---- All at once ---- */

static volatile int storm_ends;

/* It may have interrupted malloc(). */
static void on_storm(int sig)
{
	stacks_sink += getppid();
}

static void *storm_calls(void *arg)
{
	while (!storm_ends)
		by_alloca(8);
	return arg;
}

/* Signals meet two threads at any instruction, while libraries are loaded and unmapped. */
static void storm(char **parts, int nr)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	pthread_t threads[2];

	signal(SIGUSR1, on_storm);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, storm_calls, NULL);
	for (int i = 0; i < 600; i++) {
		pthread_kill(threads[i % 2], SIGUSR1);
		nanosleep(&pause, NULL);
		object_use(parts[i % nr]);
	}
	storm_ends = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("storm done");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void	(*run)(void);
	} kinds[] = {
		{ "plain", plain }, { "sorted", sorted }, { "raised", raised },
		{ "faulted", faulted }, { "astray", astray }, { "threaded", threaded },
		{ "contexts", contexts }, { "pointed", pointed }, { "unpointed", unpointed },
		{ "based", based }, { "raw", raw },
	};
	const char *kind = argc > 1 ? argv[1] : "";

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].name))
			kinds[i].run();
	if (!strcmp(kind, "deep"))
		recursive(100);
	if (!strcmp(kind, "storm") && argc > 2)
		storm(argv + 2, argc - 2);
	nr_closed = atoi(kind);
	are_hidden = !strcmp(kind, "hidden");
	for (int i = 2; i < argc; i++)
		object_use(argv[i]);
	stacks_sink++;
	return 0;
}
