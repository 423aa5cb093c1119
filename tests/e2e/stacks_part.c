/* SPDX-License-Identifier: MIT */
/*
 * stacks_part.c - a library that calls back; SIZE says how much stack it takes, so the rows of two
 * such libraries differ at the same addresses
 */
#include "apart.h"

void part_enter(void (*back)(void));

static APART int part_inner(void (*back)(void), int n)
{
	volatile char room[SIZE];

	room[n] = 1;
	back();
	return room[n];
}

void part_enter(void (*back)(void))
{
	volatile int n = part_inner(back, 3);

	n++;
}
