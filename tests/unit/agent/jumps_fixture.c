/* SPDX-License-Identifier: MIT */
/*
 * jumps_fixture.c - functions with sites that end in jumps, or do not; their names have the
 * expected result of sites_jumping()
 */
#include <dlfcn.h>
#include <stddef.h>

#define FAR __attribute__((noinline))

struct jumps_table {
	void		*(*unused)(const char *name), *(*open)(const char *name);
};

void *jumps_sym(const char *name);
void *jumps_chain(const char *name);
void *jumps_longer_chain(const char *name);
void *jumps_open(const char *name);
void *jumps_sometimes(const char *name, int how);
int jumps_other(void *object);
void *jumps_by_pointer(const char *name);
void *jumps_by_table(const struct jumps_table *table, const char *name);
void *jumps_by_hand(void);
void *jumps_into_middle(void);
int stays_call(const char *name);
int stays_call_by_pointer(const char *name);
int stays_inside(int nr);
int stays_alone(int nr);

FAR void *jumps_sym(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

FAR void *jumps_chain(const char *name)
{
	return jumps_sym(name + 1);
}

FAR void *jumps_longer_chain(const char *name)
{
	return jumps_chain(name + 1);
}

FAR void *jumps_open(const char *name)
{
	return dlopen(name, RTLD_NOW);
}

FAR void *jumps_sometimes(const char *name, int how)
{
	return how == 1 ? dlopen(name, RTLD_LAZY) : how == 2 ? jumps_chain(name) : NULL;
}

FAR int jumps_other(void *object)
{
	return dlclose(object);
}

/* A pointer that may come from dlsym(). */
void *(*volatile jumps_pointer)(const char *name);

FAR void *jumps_by_pointer(const char *name)
{
	return jumps_pointer(name);
}

FAR void *jumps_by_table(const struct jumps_table *table, const char *name)
{
	return table->open(name);
}

/* Like parts of functions that are rarely run. */
__asm__(".pushsection .text\n"
	".type jumps_by_hand, @function\n"
	".globl jumps_by_hand\n"
	"jumps_by_hand: .cfi_startproc\n"
	".pushsection __patchable_function_entries,\"awo\",@progbits,.text\n.balign 8\n.quad "
	"1f\n.popsection\n"
	"1: .rept 5\nnop\n.endr\n"
	"movl $0x25ff, %eax\n" /* the bytes of a jump inside another instruction */
	"2: jmp jumps_elsewhere + 2\n"
	".cfi_endproc\n"
	".size jumps_by_hand, . - jumps_by_hand\n"
	".type jumps_into_middle, @function\n"
	".globl jumps_into_middle\n"
	"jumps_into_middle: .cfi_startproc\n"
	".pushsection __patchable_function_entries,\"awo\",@progbits,.text\n.balign 8\n.quad "
	"1f\n.popsection\n"
	"1: .rept 5\nnop\n.endr\n"
	"testl %edi, %edi\n"
	"jne 2b\n"
	"ret\n"
	".cfi_endproc\n"
	".size jumps_into_middle, . - jumps_into_middle\n"
	"jumps_elsewhere: .cfi_startproc\n"
	"nop\nnop\n"
	"pushq %rax\n"
	"ret\n"
	".cfi_endproc\n"
	".popsection");

FAR int stays_call(const char *name)
{
	return dlsym(RTLD_DEFAULT, name) != NULL;
}

FAR int stays_call_by_pointer(const char *name)
{
	return jumps_pointer(name) != NULL;
}

static FAR int here(int nr)
{
	for (int i = 0; i < nr; i++)
		nr = nr * 3 + i;
	/* The bytes of a jump in a constant. */
	return nr ^ 0x25ffe0ff;
}

FAR int stays_inside(int nr)
{
	return here(nr + 1);
}

FAR int stays_alone(int nr)
{
	return here(nr) + 1;
}

