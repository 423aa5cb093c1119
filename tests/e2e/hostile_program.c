/* SPDX-License-Identifier: MIT */
/*
 * hostile_program.c - a program that writes anything into the memory that it shares with its
 * session
 *
 *   hostile_program SECONDS SEED [cut]     cut: truncates the file in the end
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t x;

static uint64_t chance(void)
{
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return x;
}

/* The data region: shared, writable, of a file called data. */
static char *find_region(size_t *size, char path[4096])
{
	char line[4352], perms[8];
	unsigned long start, end;
	FILE *f = fopen("/proc/self/maps", "re");
	char *base = NULL;

	while (f && !base && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095[^\n]", &start, &end, perms, path) !=
		    4)
			continue;
		if (!strcmp(perms, "rw-s") && strlen(path) > 5 &&
		    !strcmp(path + strlen(path) - 5, "/data")) {
			base = (char *)start;
			*size = end - start;
		}
	}
	if (f)
		fclose(f);
	return base;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	size_t size = 0;
	char path[4096];
	char *base = find_region(&size, path);

	x = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9e3779b97f4a7c15ull | 1;
	if (!base) {
		fprintf(stderr, "no region\n");
		return 1;
	}
	/* The used part of the memory is at its start. */
	if (size > 64 << 20)
		size = 64 << 20;
	while (time(NULL) < end) {
		for (int i = 0; i < 100; i++) {
			size_t at = chance() % (chance() % 4 ? 4 << 20 : size) & ~7ul,
			       len = 8u << chance() % 6;

			for (size_t k = at; k < at + len && k + 8 <= size; k += 8) {
				uint64_t v = chance();

				v = v % 4 ? v : v >> 40;
				memcpy(base + k, &v, 8);
			}
		}
		usleep(1000);
	}
	if (argc > 3 && truncate(path, (off_t)(chance() % (1 << 20))))
		perror("truncate");
	/* Ends without code that reads overwritten data. */
	_exit(0);
}
