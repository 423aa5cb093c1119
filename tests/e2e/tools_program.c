/* SPDX-License-Identifier: MIT */
/* tools_program SECONDS - calls functions with sites and malloc(), opens files */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static void tools_leaf(void)
{
	void *volatile p = malloc(100);

	free(p);
}

__attribute__((noinline)) static void tools_outer(void)
{
	int fd = open("/etc/hostname", O_RDONLY);

	if (fd >= 0)
		close(fd);
	for (int i = 0; i < 10; i++)
		tools_leaf();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);

	while (time(NULL) < end) {
		tools_outer();
		usleep(1000);
	}
	return 0;
}
