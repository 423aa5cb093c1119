/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - changed .eh_frame: this program's own tables with other bytes, and a row of them
 *
 * The input is a number that chooses a function, and changes: two or three bytes say where, one
 * says what. The tables are in memory of just their size. The changes are undone afterwards.
 */
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/code/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHANGES = 64, CHANGE = 4, TABLES_MOST = 1 << 20 };

static struct unwind_tables tables;
static uint8_t *copy;

/* The first object is this program. */
static int tables_copy(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Phdr) *p = info->dlpi_phdr;
	uintptr_t header = 0;

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME)
			header = p[i].p_vaddr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		size_t left = p[i].p_vaddr + p[i].p_filesz - header;

		if (p[i].p_type != PT_LOAD || header - p[i].p_vaddr >= p[i].p_filesz)
			continue;
		left = left < TABLES_MOST ? left : TABLES_MOST;
		copy = malloc(left);
		if (!copy)
			abort();
		memcpy(copy, (const void *)(info->dlpi_addr + header), left);
		tables = (struct unwind_tables){ copy, copy + left, copy };
	}
	return 1;
}

static uint32_t place_of(const uint8_t *change)
{
	const uint32_t n = (uint32_t)(tables.high - tables.low);
	const uint32_t at = change[0] | (uint32_t)change[1] << 8;

	/* Near the header, or in any entry. */
	return (at & 1 ? at / 2 : at * 61 + change[2]) % n;
}

static uintptr_t address_of(const uint8_t *data)
{
	uint32_t nr, i = data[0] | (uint32_t)data[1] << 8;
	int32_t start;

	memcpy(&nr, copy + 8, 4);
	if (!nr || nr > (size_t)(tables.high - copy - 12) / 8)
		return (uintptr_t)copy;
	memcpy(&start, copy + 12 + 8 * (size_t)(i % nr), 4);
	return (uintptr_t)copy + (uintptr_t)(intptr_t)start + data[2];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t was[CHANGES];
	size_t nr = 0;

	if (!copy)
		dl_iterate_phdr(tables_copy, NULL);
	if (!copy || size < 3)
		return 0;
	for (; nr < CHANGES && 3 + (nr + 1) * CHANGE <= size; nr++) {
		const uint8_t *change = data + 3 + nr * CHANGE;

		was[nr] = copy[place_of(change)];
		copy[place_of(change)] = change[3];
	}
	unwind_find(&tables, address_of(data));
	unwind_find(&tables, (uintptr_t)data[0] << 12);
	while (nr--)
		copy[place_of(data + 3 + nr * CHANGE)] = was[nr];
	return 0;
}
