/* SPDX-License-Identifier: MIT */
/* notes_fixture.c - a library with a probe of its author, a note of USDT */
int noted(int x);

__attribute__((noinline)) int noted(int x)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n"
			 ".long 8, 992f - 991f, 3\n.asciz \"stapsdt\"\n"
			 "991: .quad 990b, 0, 0\n"
			 ".asciz \"fixture\", \"noted\", \"-4@%0\"\n"
			 "992: .balign 4\n.popsection" :: "r"(x));
	return x + 1;
}
