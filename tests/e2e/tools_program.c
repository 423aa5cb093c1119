/* SPDX-License-Identifier: MIT */
/* tools_program.c - functions and blocks of memory, again and again, for tools to look at */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static __attribute__((noinline)) int work_one(int n)
{
	void *volatile p = malloc((size_t)n % 100 + 1);

	free(p);
	return n + 1;
}

static __attribute__((noinline)) int work_two(int n)
{
	close(open("/dev/null", O_RDONLY | O_CLOEXEC));
	return work_one(n) + work_one(n + 1);
}

/* Until its parent kills it. */
int main(void)
{
	volatile int sum = 0;

	for (int i = 0;; i++) {
		sum += work_two(i % 1000);
		usleep(5000);
	}
}
