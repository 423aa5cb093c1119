/* SPDX-License-Identifier: MIT */
/*
 * returns_fixture.c - functions with return sites at all of their exits, at some, and at none
 *
 * Their names begin with the expected result: good_, cold_ (one part has no entry), bad_.
 */
#include <stdio.h>

long good_leaf(long a);
long good_two(long a);
long bad_tail(long a);
long good_switch(long a);
long cold_failing(long a);
long bad_return(long a);
long bad_jump(long a);
long bad_middle(long a);
long bad_call(long a);

#ifdef __clang__
#define WHOLE __attribute__((noinline))
/* An exit sled at the label 1. */
#define NOTED ".pushsection xray_instr_map, \"a\", @progbits\n.quad 1b - ., 0\n" \
	".byte 1, 0, 2\n.zero 13\n.popsection\n"
#else
#define WHOLE __attribute__((noinline, noipa))
#define NOTED ".pushsection __return_loc, \"a\", @progbits\n.quad 1b\n.popsection\n"
#endif

WHOLE long good_leaf(long a)
{
	return a + 1;
}

__attribute__((noinline)) long good_two(long a)
{
	if (a > 3)
		return good_leaf(a) * 2;
	return good_leaf(a + 1) + good_leaf(a + 2);
}

/* It lasts until the target of its jump returns. */
__attribute__((noinline)) long bad_tail(long a)
{
	return good_leaf(a * 2);
}

__attribute__((noinline)) long good_switch(long a)
{
	switch (a) {
	case 0: return good_leaf(3) + 1;
	case 1: return good_leaf(a) * 3;
	case 2: return good_two(a) - 1;
	case 3: return bad_tail(a) + 5;
	case 4: return good_leaf(a) ^ 77;
	case 5: return good_two(a) | 4;
	}
	return a;
}

__attribute__((noinline, cold)) static long unlikely(long a)
{
	return printf("%ld\n", a);
}

__attribute__((noinline)) long cold_failing(long a)
{
	if (__builtin_expect(a == 77, 0))
		return unlikely(a) + unlikely(a + 1);
	return good_leaf(a) + 1;
}

/* A return that the compiler does not know. */
__attribute__((noinline)) long bad_return(long a)
{
	if (a == 3)
		__asm__ volatile("ret");
	return good_leaf(a) + 1;
}

__attribute__((noinline)) long bad_jump(long a)
{
	if (a == 3)
		__asm__ volatile("jmp good_leaf@plt");
	return good_leaf(a) + 1;
}

/* Listed, but not an exit. */
__attribute__((noinline)) long bad_middle(long a)
{
	__asm__ volatile("1: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n" NOTED "nop");
	return good_leaf(a) + 1;
}

/* A call of __return__ is the program's own. */
__attribute__((noinline)) long bad_call(long a)
{
	if (a == 4)
		__asm__ volatile("1: call good_leaf@plt\n" NOTED "ret");
	return good_leaf(a) + 1;
}

int main(int argc, char **argv)
{
	return (int)(good_switch(argc) + cold_failing(argc) + bad_return(argc) + bad_jump(argc) +
		     bad_middle(argc) + bad_call(argc));
}
