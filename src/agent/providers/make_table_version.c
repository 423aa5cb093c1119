/* SPDX-License-Identifier: MIT */
/*
 * make_table_version.c - prints table_version.h, at build time
 *
 * Each program that starts reports the version of its table to the server. To compute
 * it there would take as long as the rest of attaching: it covers 700 events' texts.
 */
#include <inttypes.h>
#include <stdio.h>
#include "agent/providers/table.h"

int main(void)
{
	printf("#define PROVIDER_TABLE_VERSION 0x%016" PRIx64 "ull\n", provider_table_version());
	return ferror(stdout) || fflush(stdout);
}
