/* SPDX-License-Identifier: MIT */
/* disk.c - a program with events written as in the kernel: cc -I. $(pkg-config --cflags tracefuse) -I.../tracefuse/compat disk.c */
#include <stdio.h>

enum disk_direction { DISK_READ = 1, DISK_WRITE = 2 };

#define CREATE_TRACE_POINTS
#include "disk_events.h"

int main(void)
{
	for (unsigned long sector = 0; sector < 64; sector += 8) {
		enum disk_direction direction = sector % 24 ? DISK_WRITE : DISK_READ;

		trace_disk_issue("nvme0n1", direction, sector, 4096);
		trace_disk_complete("nvme0n1", direction, sector, 4096);
	}
	puts("8 requests");
	return 0;
}
