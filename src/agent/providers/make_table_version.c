/* SPDX-License-Identifier: MIT */
/*
 * make_table_version.c - prints table_version.h, at build time
 *
 * Each program that starts tells the server which table it has. To compute
 * that there takes as long as all else of attaching: 700 events' texts.
 */
#include <inttypes.h>
#include <stdio.h>
#include "agent/providers/table.h"

int main(void)
{
	printf("#define PROVIDER_TABLE_VERSION 0x%016" PRIx64 "ull\n", provider_table_version());
	return ferror(stdout) || fflush(stdout);
}
