/* SPDX-License-Identifier: MIT */
/*
 * site_file.h - an ELF file in memory, whole and damaged, for tests that look for its sites
 *
 * `fixture` is the name of the file; the test sets it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20 };

static const char *fixture;
static unsigned char *file;
static size_t size;

static bool file_load(void)
{
	FILE *f = fopen(fixture, "r");

	file = malloc(FILE_MOST);
	size = f ? fread(file, 1, FILE_MOST, f) : 0;
	return f && !fclose(f);
}

static int unload(void **state)
{
	free(file);
	return 0;
}

/* Calls look() for copies with wrong bytes, and for the beginnings of the file. */
static void file_damage(void (*look)(const unsigned char *bytes, size_t len))
{
	uint32_t random = 1;
	unsigned char *copy = malloc(size);

	for (int round = 0; round < 300; round++) {
		memcpy(copy, file, size);
		for (int i = 0; i < 40; i++) {
			random = random * 1664525 + 1013904223;
			copy[(random >> 8) % (i % 2 ? size : 1024)] = (unsigned char)(random >> 24);
		}
		memcpy(copy, file, 6);	/* it still is an ELF file of this machine */
		look(copy, size);
		look(copy, (random >> 4) % size);
	}
	free(copy);
}
