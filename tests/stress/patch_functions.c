/* SPDX-License-Identifier: MIT */
/*
 * patch_functions.c - a thousand functions with sites, and fifty thousand that consist only of a
 * site
 */
long patch_run(long seed);

#define APART __attribute__((noinline))
#define ONE(n)					\
	static APART long f##n(long a)		\
	{					\
		__asm__ volatile("" : "+r"(a));	\
		return a * 3 + 1##n;		\
	}
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define HUNDRED(m, n) TEN(m, n##0) TEN(m, n##1) TEN(m, n##2) TEN(m, n##3) TEN(m, n##4) TEN(m, \
	n##5) TEN(m, n##6) \
	TEN(m, n##7) TEN(m, n##8) TEN(m, n##9)
#define THOUSAND(m) HUNDRED(m, 0) HUNDRED(m, 1) HUNDRED(m, 2) HUNDRED(m, 3) HUNDRED(m, \
	4) HUNDRED(m, 5) \
	HUNDRED(m, 6) HUNDRED(m, 7) HUNDRED(m, 8) HUNDRED(m, 9)
#define CALL(n) seed = f##n(seed);

THOUSAND(ONE)

long patch_run(long seed)
{
	THOUSAND(CALL)
	return seed;
}

#if defined(MANY) && defined(__clang__)
/* Sleds of XRay: at the entry, and at the return. */
__asm__(".text\n"
	".rept 50000\n"
	".balign 16\n"
	"1: .cfi_startproc\n"
	".byte 0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00\n"
	".balign 2\n"
	"2: ret\n"
	".byte 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00\n"
	".cfi_endproc\n"
	".fill 230, 1, 0xcc\n"
	".pushsection xray_instr_map, \"ao\", @progbits, .text\n"
	".quad 1b - ., 1b - .\n"
	".byte 0, 1, 2\n"
	".zero 13\n"
	".quad 2b - ., 1b - .\n"
	".byte 1, 1, 2\n"
	".zero 13\n"
	".popsection\n"
	".endr\n");
#elif defined(MANY) && defined(MOVED)
/* No site: the first instruction is to be moved. */
__asm__(".text\n"
	".balign 16\n"
	".altmacro\n"
	".macro one n\n"
	".type many\\n, @function\n"
	"many\\n: .cfi_startproc\n"
	"movl $5, %eax\n"
	"ret\n"
	".cfi_endproc\n"
	".size many\\n, . - many\\n\n"
	".fill 250, 1, 0xcc\n"
	".endm\n"
	".set i, 0\n"
	".rept 50000\n"
	"one %i\n"
	".set i, i + 1\n"
	".endr\n");
#elif defined(MANY)
__asm__(".text\n"
	".balign 16\n"
	".rept 50000\n"
	"1: .cfi_startproc\n"
	".byte 0x90, 0x90, 0x90, 0x90, 0x90\n"
	"ret\n"
	".cfi_endproc\n"
	".fill 250, 1, 0xcc\n"
	".pushsection __patchable_function_entries, \"awo\", @progbits, .text\n"
	".balign 8\n"
	".quad 1b\n"
	".popsection\n"
	".endr\n");
#endif
