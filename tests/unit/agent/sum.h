/* SPDX-License-Identifier: MIT */
/*
 * sum.h - for fixtures: a function of any number of arguments, which uses %al, the number of vector
 * registers
 */
#ifndef TRACEFUSE_TESTS_AGENT_SUM_H
#define TRACEFUSE_TESTS_AGENT_SUM_H

#include <stdarg.h>
#include "../../apart.h"

static APART double sum(int nr, ...)
{
	va_list args;
	double all = 0;

	va_start(args, nr);
	while (nr--)
		all += va_arg(args, double);
	va_end(args);
	return all;
}

#endif
