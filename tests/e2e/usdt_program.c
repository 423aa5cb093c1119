/* SPDX-License-Identifier: MIT */
/*
 * usdt_program.c - a program with probes of its author, with notes as SystemTap's macros make them
 *
 *     N          passes the probes: usdt:twin 2N times, usdt:guarded if its semaphore is raised
 *     rare N     passes usdt:rare N times, whose arguments are where few programs have them; says
 *                what the last ones were
 *     same N     passes ours and theirs N times, one behind the other, with the same arguments
 *     handler N  a thread's first hit is in a handler, with N bytes left of its alternate stack
 *     wait       for each line of its input: says its semaphore, and passes the probes once
 */
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__asm__(".section .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base:\n.space 1\n"
	".size _.stapsdt.base, 1\n.previous\n");
__asm__(".section .probes, \"aw\"\n.globl usdt_semaphore\n.hidden usdt_semaphore\n"
	"usdt_semaphore: .short 0\n.previous\n");

extern volatile unsigned short usdt_semaphore __attribute__((visibility("hidden")));

#define NOTE(semaphore, name, arguments, ...)						\
	__asm__ volatile("990: nop\n"							\
			 ".pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n"	\
			 ".long 8, 992f - 991f, 3\n.asciz \"stapsdt\"\n"		\
			 "991: .quad 990b, _.stapsdt.base, " semaphore "\n"		\
			 ".asciz \"usdt-e2e\", \"" name "\", \"" arguments "\"\n"	\
			 "992: .balign 4\n.popsection" :: __VA_ARGS__)

static int guarded;
static long sums[3];

__attribute__((noinline)) static long pass(int i)
{
	long more = i * 3l;

	NOTE("0", "twin", "-4@%0 -8@%1", "r"(i), "r"(more));
	more += i;
	if (usdt_semaphore) {
		guarded++;
		NOTE("usdt_semaphore", "guarded", "-4@%0", "m"(i));
		more++;
	}
	NOTE("0", "twin", "-4@$-7 -8@%0", "r"(more));
	sums[i % 3] += 100 + i;
	/* Memory at symbols: a variable, its neighbour, one of several by a register. */
	NOTE("0", "static", "-4@%0 -8@%1 -8@%2", "m"(guarded), "m"(sums[1]), "m"(sums[i % 3]));
	return more + i;
}

/*
 * Two notes with the same arguments, so that two tracers can look at one call: a jump of the one
 * does not reach the instruction of the other.
 */
#define BOTH(arguments, ...)								\
	NOTE("0", "ours", arguments, __VA_ARGS__);					\
	__asm__ volatile(".skip 15, 0x90");						\
	NOTE("0", "theirs", arguments, __VA_ARGS__)

__attribute__((noinline)) static long same(int i)
{
	volatile long in_memory[4] = { i, -i, 5l * i, 7l * i };
	long more = i * 3l - 40;
	short small = (short)(i * 1000);
	unsigned char byte = (unsigned char)(i * 50);

	BOTH("-4@%k0 -8@%1 -2@%w2 1@%b3 -8@$-7 -8@%4 8@%5", "r"(i), "r"(more), "r"(small),
	     "r"(byte), "m"(in_memory[1]), "m"(in_memory[3]));
	return more + i;
}

static __thread long of_thread;
extern __thread long of_thread_too __attribute__((tls_model("initial-exec")));
__thread long of_thread_too;
static long block[2];

/*
 * In vector registers, from a thread's variables, of %gs:, of the GOT. The compiler itself writes
 * @tpoff and, for code that may be moved, @GOTPCREL.
 */
__attribute__((noinline)) static void rare(int i, double number, float half)
{
	static int (*volatile taken)(const char *);
	const double more = number * 4;

	taken = atoi;
	of_thread = 70 + i;
	of_thread_too = 80 + i;
	block[1] = 90 + i;
	NOTE("0", "rare", "-8f@%0 -4f@%1 8f@%2 -8@%3 8@atoi@GOTPCREL(%%rip) 8@%4 -8@%%gs:8 "
	     "-8@%%fs:of_thread_too@tpoff -8@$3 8@block@GOTPCREL(%%rip) 8@%5",
	     "x"(number), "x"(half), "m"(more), "m"(of_thread), "r"(taken), "r"(block));
	if (taken != atoi)
		abort();
}

/* A thread's first hit is made by the slow way. */
static void *rare_thread(void *times)
{
	syscall(SYS_arch_prctl, ARCH_SET_GS, block);
	for (int i = 0; i < *(const int *)times; i++)
		rare(i, (i + 1) / 2.0, (float)(-i - 1));
	return NULL;
}

enum { ALTERNATE = 32768, GUARD = 4096 };

static char *alternate;
static long left;

/* A function, for sessions that trace those. */
static __attribute__((noinline)) int in_handler_called(int sig)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop" : "+r"(sig));
	return sig;
}

static void handle(int sig)
{
	const long all = (char *)__builtin_frame_address(0) - alternate - 64;
	volatile char *rest = __builtin_alloca(all > left ? (size_t)(all - left) : 1);

	rest[0] = (char)in_handler_called(sig);
	NOTE("0", "handled", "8@%%xmm1 -4@%0", "r"(sig));
}

/* The page below the stack ends a program that needs more. */
static void *handler_thread(void *arg)
{
	stack_t st = { .ss_size = ALTERNATE };

	(void)arg;
	alternate = mmap(NULL, GUARD + ALTERNATE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (alternate == MAP_FAILED)
		abort();
	alternate += GUARD;
	if (mprotect(alternate, ALTERNATE, PROT_READ | PROT_WRITE))
		abort();
	st.ss_sp = alternate;
	if (sigaltstack(&st, NULL) || raise(SIGUSR1))
		abort();
	return NULL;
}

static int in_handler(const char *bytes)
{
	struct sigaction sa = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
	pthread_t thread;

	left = atol(bytes);
	if (sigaction(SIGUSR1, &sa, NULL) ||
	    pthread_create(&thread, NULL, handler_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	printf("handled\n");
	return 0;
}

int main(int argc, char **argv)
{
	char line[16];
	long sum = 0;

	if (argc > 1 && !strcmp(argv[1], "wait")) {
		for (int i = 0; fgets(line, sizeof(line), stdin); i++) {
			printf("semaphore %u\n", usdt_semaphore);
			sum += pass(i);
			printf("guarded %d\n", guarded);
			fflush(stdout);
		}
		return sum < 0;
	}
	if (argc > 2 && !strcmp(argv[1], "handler"))
		return in_handler(argv[2]);
	if (argc > 2 && !strcmp(argv[1], "rare")) {
		int n = atoi(argv[2]);
		pthread_t thread;

		if (pthread_create(&thread, NULL, rare_thread, &n) || pthread_join(thread, NULL))
			return 1;
		printf("atoi %p block %p\n", (void *)atoi, (void *)block);
		return 0;
	}
	for (int i = 0; argc > 2 && i < atoi(argv[2]); i++)
		sum += same(i);
	for (int i = 0; argc == 2 && i < atoi(argv[1]); i++)
		sum += pass(i);
	printf("guarded %d\n", guarded);
	return sum < 0;
}
