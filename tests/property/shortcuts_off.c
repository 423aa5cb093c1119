/* SPDX-License-Identifier: MIT */
/*
 * shortcuts_off.c - shortcuts_off SESSION_DIR [MASK]: switches off the shortcuts of a session
 *
 * MASK: bits of enum shortcuts_off; without it all of them. The session must not have a trigger or
 * a program yet.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "layout/layout.h"

int main(int argc, char **argv)
{
	struct config_header *h;
	char path[4096];
	int fd;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: shortcuts_off SESSION_DIR [MASK]\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/config", argv[1]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	h = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED || h->magic != SESSION_MAGIC || h->version != SESSION_VERSION) {
		fprintf(stderr, "shortcuts_off: %s is no config region of a session\n", path);
		return 1;
	}
	h->shortcuts_off = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : UINT32_MAX;
	return 0;
}
