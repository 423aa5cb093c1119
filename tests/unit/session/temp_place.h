/* SPDX-License-Identifier: MIT */
/* temp_place.h - makes a directory on tmpfs for the sessions of a test program */
#ifndef TRACEFUSE_TESTS_TEMP_PLACE_H
#define TRACEFUSE_TESTS_TEMP_PLACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static char temp_place_dir[64];

static inline void temp_place_remove(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/tracefuse", temp_place_dir);
	rmdir(path);
	rmdir(temp_place_dir);
}

/*
 * Makes the directory. False: this system has no tmpfs at /dev/shm, and the test has to be skipped.
 */
static inline int temp_place(void)
{
	struct statfs st;

	if (statfs("/dev/shm", &st) || st.f_type != 0x01021994)
		return 0;
	strcpy(temp_place_dir, "/dev/shm/tracefuse-test-XXXXXX");
	if (!mkdtemp(temp_place_dir))
		return 0;
	setenv("XDG_RUNTIME_DIR", temp_place_dir, 1);
	return 1;
}

/* Skips the test program; for main() without tmpfs. */
static inline int temp_place_skip(void)
{
	puts("TAP version 13\n1..0 # SKIP no tmpfs at /dev/shm");
	return 0;
}

#endif
