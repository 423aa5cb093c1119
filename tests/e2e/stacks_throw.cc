/* SPDX-License-Identifier: MIT */
/* stacks_throw.cc - throws an object of 40,100 bytes through a frame without a frame pointer */
#include <cstdlib>

#include "apart.h"

struct large {
	char bytes[40100];
};

static volatile int sink;

extern "C" APART void thrower(int n)
{
	if (n)
		throw large();
	sink = sink + 1;
}

extern "C" APART void between(int n)
{
	volatile char room[500];

	room[n] = 1;
	thrower(n);
	sink = sink + room[n];
}

extern "C" APART void catcher()
{
	try {
		between(1);
	} catch (const large &) {
		void *volatile p = malloc(40200);

		free(p);
	}
}

int main()
{
	catcher();
	sink = sink + 1;
	return 0;
}
