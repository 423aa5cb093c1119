/* SPDX-License-Identifier: MIT */
/*
 * dlclose.c FIRST SECOND N - loads the two in turn at the same address; prints whether that worked
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *last = NULL;
	int again = 0;

	for (int i = 0; argc > 3 && i < atoi(argv[3]); i++) {
		void *object = dlopen(argv[1 + i % 2], RTLD_NOW);
		void (*part)(void) = object ? (void (*)(void))dlsym(object, "part") : NULL;

		if (!part)
			return 1;
		again += (void *)part == last;
		last = (void *)part;
		part();
		dlclose(object);
	}
	printf("%s\n", again ? "at the same address" : "never at the same address");
	return 0;
}
